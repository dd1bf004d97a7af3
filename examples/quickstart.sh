#!/usr/bin/env bash
# quickstart.sh [LUA-FILE-OR-FOLDER...] - from nothing to a profile: installs
# what is missing (Debian, Ubuntu; as root or with sudo), gets and patches
# LuaJIT, builds the report tool, records luacheck linting real Lua sources
# with the JIT on, and prints the top of the report.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$top/build/quickstart

say() { printf '\n== %s\n' "$*"; }

say "Packages"
bash "$top/tests/packages.sh" quickstart luajit

say "LuaJIT, patched"
luajit=$(bash "$top/luajit-patch/build.sh" debian-2022)
echo "$luajit"

say "The report tool"
mkdir -p "$out"
cmake -S "$top" -B "$top/build" >"$out/build.log" 2>&1 &&
  cmake --build "$top/build" --target ljparse >>"$out/build.log" 2>&1 || {
    cat "$out/build.log"
    exit 1
  }
echo "$top/build/ljparse"

say "Recording luacheck"
# Debian's Lua modules, which a LuaJIT of one's own does not look for.
export LUA_PATH="/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua;;"
LUA_CPATH="/usr/lib/$(gcc -print-multiarch)/lua/5.1/?.so;;"
export LUA_CPATH
if [ $# = 0 ]; then set -- /usr/share/lua/5.1; fi
status=0
# luacheck exits 1 or 2 where it found something to say about the sources.
"$luajit" "-jmemprof=$out/luacheck.bin" \
  /usr/bin/luacheck --quiet --no-color --no-cache "$@" >"$out/luacheck.txt" || status=$?
if [ $status -gt 2 ]; then
  cat "$out/luacheck.txt"
  echo "quickstart.sh: luacheck failed with status $status" >&2
  exit 1
fi
tail -n 1 "$out/luacheck.txt"
ls -l "$out/luacheck.bin"

say "Report"
ljparse=$top/build/ljparse
"$ljparse" --human-readable -o "$out/report.txt" "$out/luacheck.bin"
"$ljparse" --format=html -o "$out/report.html" "$out/luacheck.bin"
# The first rows of three sections.
awk -v rows=10 '
  /^[A-Z ]+:?$/ { shown = /^(ALLOCATIONS|HEAP SUMMARY:|TOTALS:)$/; n = 0 }
  shown && !/^\t/ && n++ <= rows { print }' "$out/report.txt"
cat <<END

The whole report:       $out/report.txt
A page for a browser:   $out/report.html
What is still held:     $ljparse --leak-only $out/luacheck.bin
END
