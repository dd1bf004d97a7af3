#!/usr/bin/env bash
# programs.sh [LUAJIT] - compiles and runs the programs that the
# documentation shows: the C and Lua blocks of README.md, and the program in
# the first comment of each header. LUAJIT is the patched one; without it,
# programs that need it are counted, not run.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
luajit=${1:+$(realpath "$1")}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ran=0 left=0

# Splits README's blocks into files readme-N.c and readme-N.lua, those of the
# headers into HEADER.c.
awk -v dir="$dir" '
  /^```$/ { out = "" }
  out { print > out }
  /^```(c|lua)$/ { out = dir "/readme-" ++n "." substr($0, 4) }' \
  "$top/README.md"
for h in ljmemprof ljparse; do
  awk '/^\*\/$/ { exit }
       /^\*\* +#(define|include)/ && !on { on = 1; match($0, /#/)
                                           from = RSTART }
       on { print substr($0, from) }
       on && substr($0, from) == "}" { exit }' "$top/$h.h" >"$dir/$h.c"
done

cd "$dir"
for f in *.c *.lua; do
  [ -s "$f" ] || { rm -f "$f"; continue; }
  case $f in
    *.c)
      grep -q '^int main' "$f" || continue
      flags=(-std=c99 -Wall -Wextra -Werror -I "$top") libs=()
      if grep -q '<lua' "$f"; then
        if [ -z "$luajit" ]; then left=$((left + 1)); continue; fi
        prefix=$(dirname "$(dirname "$luajit")")
        flags+=(-I "$prefix/include/luajit-2.1")
        libs=("$prefix/lib/libluajit-5.1.a" -rdynamic -lm -ldl)
      fi
      gcc "${flags[@]}" "$f" -o program "${libs[@]}" &&
        ./program </dev/null >out ||
        { cat -n "$f"; echo "FAIL $f"; exit 1; } ;;
    *.lua)
      if [ -z "$luajit" ]; then left=$((left + 1)); continue; fi
      "$luajit" "$f" || { cat -n "$f"; echo "FAIL $f"; exit 1; } ;;
  esac
  echo "ok   $f"
  ran=$((ran + 1))
done
echo "$ran programs ran, $left need the patched LuaJIT"
[ $((ran + left)) -gt 0 ]
