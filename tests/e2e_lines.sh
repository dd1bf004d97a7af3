#!/usr/bin/env bash
# e2e_lines.sh LUAJIT LJPARSE - allocations in JIT code have the line and the
# call stack that they have without the JIT: counted stack by stack, recorded
# from cold and after all traces were made.
set -euo pipefail
luajit=$1 ljparse=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Asked so that one that does not run is no answer.
lines=$("$luajit" -e 'print(debug.getinfo(1, "l").currentline == 1)')
[ "$lines" = true ] || {
  echo "left out: this LuaJIT keeps no lines"
  exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL $*"; exit 1; }

# record JIT MODE OPTION: folded stacks into $dir/JIT-MODE-OPTION
record()
{
  "$luajit" "-j$1" "$here/lua/lines.lua" "$dir/stream" "$2" "$3"
  "$ljparse" --format=folded --metric=alloc.count --min-share=0 \
    "$dir/stream" | sort >"$dir/$1-$2-$3"
}

# Lines of Lua code: without the VM's own work, without the strings' lines.
first=$(grep -n 'put("a"' "$here/lua/lines.lua" | cut -d: -f1)
lua_lines()
{
  grep 'lines\.lua:[0-9]* [0-9]*$' "$1" |
    grep -vE "lines\.lua:($first|$((first + 1))|$((first + 2))) [0-9]*\$"
}

runs='on-cold on-warm'
jit=$("$luajit" -e 'print((jit.status()))')
[ "$jit" = true ] || {
  echo "this LuaJIT has no JIT: only the interpreter is tried"
  runs=''
}
for depth in 1 64; do
  record off cold depth=$depth
  for run in $runs; do
    record on "${run#on-}" depth=$depth
    diff <(lua_lines "$dir/off-cold-depth=$depth") \
         <(lua_lines "$dir/$run-depth=$depth") ||
      fail "$run, depth $depth: counts differ (< JIT off, > JIT on)"
    # No stack that the interpreter does not have, not one without a line.
    comm -13 <(sed 's/ [0-9]*$//' "$dir/off-cold-depth=$depth" | sort -u) \
             <(sed 's/ [0-9]*$//' "$dir/$run-depth=$depth" | sort -u) |
      grep -vE '^(garbage collector|trace |recorder|optimi|assembler|JIT)' \
        >"$dir/new" || true
    if grep -E 'lines\.lua|TRACE|\[JIT' "$dir/new"; then
      fail "$run, depth $depth: stacks that do not occur with the JIT off"
    fi
  done
  total=$(lua_lines "$dir/off-cold-depth=$depth" | awk '{ n += $NF } END { print n }')
  [ "$total" -gt 14000 ] || fail "only $total allocations"
  echo "ok   depth $depth: $total allocations, $(
    lua_lines "$dir/off-cold-depth=$depth" | wc -l) stacks"
done

# A line that two functions share has one row in a comparison.
cat >"$dir/two.lua" <<'END'
local keep = {}
local function outer(i)
  keep[i] = (function() return { i } end)()
end
local memprof = require("jit.memprof")
memprof.start(arg[1], "depth=8")
for i = 1, tonumber(arg[2]) do outer(i) end
memprof.stop()
END
for n in 0 50; do "$luajit" -joff "$dir/two.lua" "$dir/$n.bin" $n; done
rows=$("$ljparse" --leak-only --diff "$dir/0.bin" "$dir/50.bin" |
       grep -c 'two\.lua:3: ' || true)
[ "$rows" = 1 ] || fail "a line of two functions has $rows rows"
echo "ok   one row for a line"
