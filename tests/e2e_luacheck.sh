#!/usr/bin/env bash
# e2e_luacheck.sh LUAJIT LJPARSE - a real program, luacheck: what it allocates
# with the JIT on stands at lines that allocate with the JIT off, and no line
# has more. What differs from run to run is left room for: tables are walked
# in another order, and a trace that is left in the middle of a line allocates
# again for that line what it had before.
set -euo pipefail
luajit=$1 ljparse=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Asked so that one that does not run is no answer.
lines=$("$luajit" -e 'print(debug.getinfo(1, "l").currentline == 1)')
[ "$lines" = true ] || {
  echo "left out: luacheck (this LuaJIT keeps no lines)"
  exit 77
}
jit=$("$luajit" -e 'print((jit.status()))')
[ "$jit" = true ] || {
  echo "left out: luacheck (this LuaJIT has no JIT)"
  exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# record JIT NAME: allocations by line. Nothing is collected: whether a string
# is there already does not depend on when that would have been.
record()
{
  "$luajit" "-j$1" -e 'collectgarbage("stop")' "$here/lua/luacheck.lua" \
    "$dir/stream" depth=1 live=0 >"$dir/said"
  "$ljparse" --format=folded --metric=alloc.count --min-share=0 \
    "$dir/stream" | grep -E '^[^;]*\.lua:[0-9]+ [0-9]+$' >"$dir/$2"
}

for n in 1 2 3; do record off off$n; done
for n in 1 2 3 4 5; do record on on$n; done
# Of a line the most that it had without the JIT, the fewest with it: which
# traces are left in its middle differs, what is wrong is so each time.
awk '
  { n = $NF; name = $0; sub(/ [0-9]+$/, "", name) }
  FILENAME ~ /off.$/ { if (n > off[name]) off[name] = n; next }
  {
    all += n
    if (!(name in off)) elsewhere += n
    if (runs[name]++ == 0 || n < on[name]) on[name] = n
  }
  END {
    for (name in on) {
      more = on[name] - off[name]
      if (runs[name] < 5 || !(name in off) || more <= 0) continue
      sum += more
      if (more > most) { most = more; where = name }
    }
    printf "%d allocations in five runs; %d at lines that do not allocate " \
           "with the JIT off; in each run %d more than there, %d of them at " \
           "%s\n", all, elsewhere, sum, most, where
    if (all < 250000) { print "FAIL too few"; bad = 1 }
    if (elsewhere * 1000 > all) { print "FAIL wrong lines"; bad = 1 }
    if (sum * 500 > all || most * 1000 > all)
      { print "FAIL more than with the JIT off"; bad = 1 }
    exit bad
  }' "$dir"/off? "$dir"/on?
