#!/usr/bin/env bash
# seeds_elf.sh - makes the seeds of the ELF targets anew: built ones from
# seeds_elf.c, and small libraries by the compilers of several machines.
set -euo pipefail
fuzz=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
corpus=${1:-$fuzz/corpus}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir -p "$corpus"/{elf,dynamic,diff-elf,resolver}
gcc -std=gnu99 -I "$fuzz/.." -I "$fuzz/../tests" "$fuzz/seeds_elf.c" \
  -o "$tmp/seeds"
"$tmp/seeds" "$corpus"

cat >"$tmp/lib.c" <<'END'
int other(int n);
static __attribute__((noinline)) int hidden(int n) { return other(n) + 1; }
int shown(int n) { return hidden(n); }
__asm__(".text\n.globl plain\nplain: .space 8\n");
END
small=(-shared -fPIC -Os -nostdlib -fno-asynchronous-unwind-tables
       "-Wl,-z,noseparate-code" "-Wl,-z,max-page-size=64"
       "-Wl,-z,common-page-size=64" "-Wl,-z,norelro" "-Wl,--build-id=sha1")
for machine in x86_64:both i686:gnu aarch64:gnu s390x:sysv; do
  name=${machine%:*}
  "$name-linux-gnu-gcc" "${small[@]}" "-Wl,--hash-style=${machine#*:}" \
    "$tmp/lib.c" -o "$tmp/$name.so"
  # strip of any machine knows all of them only where it is built so.
  "$name-linux-gnu-strip" -s -o "$tmp/$name-stripped.so" "$tmp/$name.so"
  for target in elf diff-elf; do
    cp "$tmp/$name.so" "$corpus/$target/gcc-$name.elf"
  done
  cp "$tmp/$name-stripped.so" "$corpus/elf/gcc-$name-stripped.elf"
  cp "$tmp/$name-stripped.so" "$corpus/dynamic/gcc-$name.elf"
done
