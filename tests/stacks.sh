#!/usr/bin/env bash
# stacks.sh LUAJIT LJPARSE - the call stacks of lua/stacks.lua are the ones
# that its comments say, whole and cut at depth limits, with the JIT off and
# on, recorded from cold and after all traces were made.
set -euo pipefail
luajit=$(realpath -s "$1") ljparse=$2
lua=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lua
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL $*"; exit 1; }

# Asked so that one that does not run is no answer.
lines=$("$luajit" -e 'print(debug.getinfo(1, "l").currentline == 1)')
[ "$lines" = true ] || {
  echo "left out: this LuaJIT keeps no lines"
  exit 77
}

# The comments as folded stacks, cut at depth $1.
wanted()
{
  awk -v depth="$1" '
    !/^--/ && match($0, /--= .*/) {
      text = substr($0, RSTART + 4)
      name = text
      sub(/;.*/, "", name)
      at[name] = "stacks.lua:" FNR
      if (text ~ /;/) { sub(/[^;]*; /, "", text); stack[name] = text }
    }
    END {
      for (name in stack) {
        s = "pmain " stack[name] " " name
        gsub(/\(resumed by\)/, "(resumed_by)", s)
        sub(/ work /, " run ", s)
        n = split(s, f, " ")
        out = n > depth && depth > 1 ? "(cut at the depth limit)" : ""
        for (i = n > depth ? n - depth + 1 : 1; i <= n; i++)
          out = out (out == "" ? "" : ";") (f[i] in at ? at[f[i]] : f[i])
        gsub(/_by\)/, " by)", out)
        print out
      }
    }' "$lua/stacks.lua" | sort -u
}

# What a recording says: stacks that end in a line, without their numbers.
recorded()
{
  (cd "$lua" && "$luajit" "-j$1" stacks.lua "$dir/stream" "$2" "depth=$3")
  "$ljparse" --format=folded --metric=alloc.count --min-share=0 \
    "$dir/stream" | grep 'stacks\.lua:[0-9]* [0-9]*$' |
    sed 's/ [0-9]*$//' | sort -u
}

modes=off
if "$luajit" -jon -e '' 2>/dev/null; then modes='off on'; fi
for depth in 64 7 3 1; do
  wanted $depth >"$dir/wanted"
  [ "$depth" != 64 ] || [ "$(wc -l <"$dir/wanted")" -ge 15 ] ||
    fail "too few stacks are looked at"
  for mode in $modes; do
    for run in cold warm; do
      recorded $mode $run $depth >"$dir/have"
      diff "$dir/wanted" "$dir/have" ||
        fail "depth $depth, JIT $mode, $run (< wanted, > recorded)"
    done
  done
  echo "ok   depth $depth: $(wc -l <"$dir/wanted") stacks"
done
