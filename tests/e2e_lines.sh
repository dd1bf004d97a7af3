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

# An upvalue dies where it is closed: the PC is that of the last call then, not
# this function's. Its free is nobody's, least of all that line's. The collector
# goes on nowhere but there, so some are dead then.
cat >"$dir/closing.lua" <<'END'
local keep, n = {}, 0
for i = 1, 64 do keep[i] = false end
local function made(i)
  n = n % 64 + 1
  keep[n] = { i }
  collectgarbage("step", 0)
end
local function closes(i)
  local x = i
  local f = function() return x end
  f = nil
  made(i)
end
local memprof = require("jit.memprof")
memprof.start(arg[1], "depth=1")
for i = 1, 50000 do closes(i) end
memprof.stop()
END
"$luajit" -joff "$dir/closing.lua" "$dir/closing.bin"
"$ljparse" "$dir/closing.bin" | sed -n '/^DEALLOCATIONS/,/^HEAP/p' >"$dir/frees"
if grep '^@.*closing\.lua:[4-6]: ' "$dir/frees"; then
  fail "frees have the line of another function"
fi
grep -q '^(unknown): ' "$dir/frees" || fail "no upvalue died where it was closed"
echo "ok   a line is its own function's"

[ -n "$runs" ] || exit 0
# Machine code where another trace's was, which is of another line. The areas
# are elsewhere each time, unless they are put there.
cat >"$dir/areas.c" <<'END'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *gone;
void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
  if (at && gone && fd == -1 && size <= 65536) { at = gone; gone = NULL; }
  return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}
void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
  return mmap(at, size, prot, flags, fd, offset);
}
int munmap(void *at, size_t size)
{
  if (size <= 65536) gone = at;
  return (int)syscall(SYS_munmap, at, size);
}
END
cat >"$dir/again.lua" <<'END'
local code = "return function(t) for i = 1, 200 do t[1] = { i } end end"
local one, two = loadstring(code, "=one")(), loadstring(code, "=two")()
local mc, t, places, same = require("jit.util").tracemc, {}, {}, 0
local function runs(f)
  jit.flush()
  collectgarbage()
  f(t)
  local _, at = mc(1)
  if places[at] then same = same + 1 end
  places[at or 0] = true
end
jit.off(runs)
local memprof = require("jit.memprof")
memprof.start(arg[1], "depth=" .. arg[2])
for _ = 1, 10 do runs(one) runs(two) end
memprof.stop()
os.exit(same >= 10)
END
if gcc -shared -fPIC -O1 "$dir/areas.c" -o "$dir/areas.so" 2>"$dir/said" &&
   LD_PRELOAD=$dir/areas.so "$luajit" "$dir/again.lua" "$dir/again.bin" 1 \
     2>>"$dir/said"; then
  for depth in 1 8; do
    LD_PRELOAD=$dir/areas.so "$luajit" "$dir/again.lua" "$dir/again.bin" $depth
    for line in one two; do
      n=$("$ljparse" "$dir/again.bin" | sed -n '/^ALLOC/,/^REALLOC/p' |
          sed -n "s/^=$line:1: \([0-9]*\) events.*/\1/p")
      # Few more: a trace is made, and left.
      [ "${n:-0}" -ge 2000 ] && [ "$n" -le 2020 ] ||
        fail "depth $depth: $line has ${n:-0} allocations of 2000"
    done
  done
  echo "ok   machine code that is in another's place"
else
  echo "left out: machine code in another's place (it cannot be put there)"
fi
