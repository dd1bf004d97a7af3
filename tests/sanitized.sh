#!/usr/bin/env bash
# sanitized.sh KIND LUAJIT PROGRAM [ARGUMENTS...] - builds tests/PROGRAM.c, the
# recorder (lj_memprof.c with both headers) and the host with a sanitizer, the
# rest of LuaJIT as it is, and runs it. KIND: thread, or address,undefined.
set -euo pipefail
kind=$1 luajit=$2 program=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$(cd "$(dirname "$luajit")/.." && pwd)
src=$prefix/source/src
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
[ -e "$src/libluajit.a" ] || { echo "FAIL no built source in $src"; exit 1; }
# As LuaJIT's Makefile compiles it.
flags=$(make -C "$src" -n -W lj_memprof.c lj_memprof.o Q= 2>/dev/null |
        grep -m 1 -- '-c -o lj_memprof.o' | grep -oE -- ' -[DU][^ ]+' || true)
# shellcheck disable=SC2086 # words
gcc -g -O1 "-fsanitize=$kind" -fno-sanitize-recover=all $flags -w -I "$src" \
  -c "$src/lj_memprof.c" -o "$dir/lj_memprof.o"
cp "$src/libluajit.a" "$dir"
ar d "$dir/libluajit.a" lj_memprof.o
gcc -g -O1 "-fsanitize=$kind" -fno-sanitize-recover=all -Wall \
  -I "$here/.." -I "$here" -isystem "$prefix/include/luajit-2.1" \
  "$here/$program.c" "$dir/lj_memprof.o" "$dir/libluajit.a" \
  -o "$dir/$program" -Wl,-E -lm -ldl -lpthread
ASAN_OPTIONS=detect_stack_use_after_return=0 "$dir/$program" "$@"
