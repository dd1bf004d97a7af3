#!/usr/bin/env bash
# rock.sh LJPARSE LUAJIT - the Lua module: installed by luarocks, on a patched
# LuaJIT and on a Lua that has no profiler.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$here"/../../examples/rock/* "$dir"
cd "$dir"
luarocks --lua-version=5.1 --tree="$dir/tree" make ljmemprof-*.rockspec \
  >log 2>&1 || { cat log; exit 1; }
export LUA_PATH="$dir/tree/share/lua/5.1/?.lua;;"
cat >use.lua <<'END'
local memprof = require("ljmemprof")
local function fill()
  local t = {}
  for i = 1, 500 do t[i] = { i } end
  return #t, "done"
end
if arg[1] == "stock" then
  assert(not memprof.available)
  local ok, why = memprof.start("p.bin")
  assert(ok == nil and why:find("no memory profiler"))
  assert(memprof.stop() == nil and memprof.mark("x") == nil)
  return
end
assert(memprof.available)
local n, word = memprof.record("p.bin", { depth = 1 }, fill)
assert(n == 500 and word == "done")
local fine, why = pcall(memprof.record, "e.bin", nil, error, "mine")
assert(not fine and why == "mine")
assert(memprof.start("e.bin") and memprof.mark("x") and memprof.flush() and
       memprof.stop())
assert(select(2, memprof.record("/nowhere/x", nil, fill)))
END
"$2" use.lua
"$1" -o report.txt p.bin
grep -q '^@use.lua:4: 5[0-9][0-9] events' report.txt || {
  echo "FAIL the profile"
  exit 1
}
lua5.1 use.lua stock
echo "ok   rock"
