#!/usr/bin/env bash
# e2e_norecords.sh LUAJIT LJPARSE - a LuaJIT for arm64 whose C code keeps no
# frame records, so that the way to JIT code is not known: what traces allocate
# is the JIT code's, no line gets what is not its own, nothing is lost.
set -euo pipefail
luajit=$1 ljparse=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL $*"; exit 1; }

for jit in off on; do
  "$luajit" "-j$jit" "$here/lua/lines.lua" "$dir/stream" warm depth=1
  "$ljparse" --format=folded --metric=alloc.count --min-share=0 \
    "$dir/stream" | sort >"$dir/$jit"
done
awk '
  { n = $NF; name = $0; sub(/ [0-9]+$/, "", name) }
  FILENAME ~ /off$/ { off[name] = n; next }
  { if (name ~ /lines\.lua:/) lines += n
    if (name ~ /JIT code/) jit += n
    if (name ~ /lines\.lua:/ && n > off[name]) {
      print "FAIL " name ": " n ", with the JIT off " off[name] + 0; failed = 1
    } }
  END {
    print lines + 0 " of lines, " jit + 0 " of JIT code"
    if (jit < 10000 || lines + jit < 14000) { print "FAIL too few"; failed = 1 }
    exit failed
  }' "$dir/off" "$dir/on" || fail "lines with the JIT on"
