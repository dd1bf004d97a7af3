#!/usr/bin/env bash
# elfsym_cli.sh LJELFSYM - the program's output, refusals and exit statuses.
set -euo pipefail
tool=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0

# check NAME STATUS WANT COMMAND...: status, and output or error text.
check()
{
  local name=$1 want=$2 text=$3 status=0 have
  shift 3
  have=$("$@" 2>&1) || status=$?
  if [ "$status" = "$want" ] && [ "$have" = "$text" ]; then
    echo "ok   $name"
    return
  fi
  printf 'FAIL %s: status %d, want %d\n%s\n' "$name" "$status" "$want" \
    "$(diff <(echo "$have") <(echo "$text"))"
  failed=1
}

# Functions of known sizes at known distances; their section starts a page.
cat >lib.s <<'END'
.text
.balign 4096
.globl first, alias, untyped, other
.type first, %function
.type alias, %function
.type other, %function
.type hidden, %function
alias: first: .space 16
.size first, 16
.size alias, 16
untyped: .space 16
hidden: .space 8
.size hidden, 8
.space 8
other: .space 16
.size other, 16
END
gcc -shared -nostdlib -Wl,--build-id=none lib.s -o lib.so
# Names may hold any byte but NUL.
objcopy --redefine-sym other=$'tab\there\x7f\xc3\xa9' lib.so odd.so
strip -s -o stripped.so lib.so
text=$(readelf -SW lib.so | sed -n 's/.* \.text *PROGBITS *\([0-9a-f]*\).*/\1/p')
at() { printf '%016x' $((0x$text + $1)); }
far() { printf '0x%x' $((0x$text + $1)); }

check "all functions" 0 "$(at 0) 16 alias
$(at 0) 16 first
$(at 16) 0 untyped
$(at 32) 8 hidden
$(at 48) 16 other" "$tool" lib.so
check "raw names, escaped" 0 "$(at 48) 16 "$'tab\\x09here\\x7f\xc3\xa9' \
  bash -c "'$tool' odd.so | tail -n 1"
check "addresses" 0 "alias+0x0
alias+0xf
untyped+0x1
hidden+0x7
?
other+0x0
?
?" "$tool" lib.so "$(far 0)" "$(far 15)" "$(far 17)" "$(far 39)" "$(far 40)" \
  "$(far 48)" "$(far 64)" 0xffffffffffffffff
check "stripped: no size, no reach" 0 "alias+0x3
untyped+0x0
?
?" "$tool" stripped.so "$(far 3)" "$(far 16)" "$(far 17)" "$(far 32)"

usage='usage: ljelfsym FILE [0xADDR...]'
check "no arguments" 1 "$usage" "$tool"
for word in 1000 0x 0xg 0x1g 0x-1 -0x1 0x10000000000000000 '0x 1' ''; do
  check "address '$word'" 1 "$usage" "$tool" lib.so 0x1 "$word"
done
check "no such file" 1 "ljelfsym: nowhere: No such file or directory" \
  "$tool" nowhere
check "a folder" 2 "ljelfsym: .: unsupported input at byte 0" \
  "$tool" .
head -c 100 lib.so >cut.so
gcc -c lib.s -o lib.o
for file in cut.so lib.s lib.o; do
  status=0
  "$tool" $file >out 2>err || status=$?
  if [ "$status" = 2 ] && [ ! -s out ] &&
     grep -qx "ljelfsym: $file: .* at byte [0-9]*" err; then
    echo "ok   $file"
  else
    echo "FAIL $file: status $status, $(cat out err)"
    failed=1
  fi
done
check "output full" 1 "ljelfsym: cannot write: No space left on device" \
  bash -c "'$tool' lib.so >/dev/full"
exit $failed
