#!/usr/bin/env bash
# cases.sh LUAJIT LJPARSE - the programs of lua/cases, in both formats, JIT off
# and on. A line's comment says what the report must say of it, and lines
# without one must not be in it:
#   --@ N  so many allocations; +: some, may be none; NAME: as many as the
#          program prints as NAME=N
#   --# N  so many bytes held at the end; +: some
# In format 3 with the JIT on a part of a line's allocations has the name of
# its trace: then lines have at most so many.
set -euo pipefail
luajit=$1 ljparse=$2
cases=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lua/cases
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

"$luajit" -e '' # Else it would be taken for one that has nothing.
has() { "$luajit" -e "$1" >/dev/null 2>&1; }
modes='off on'
has 'assert(jit.status())' || modes=off

# compare NAME MODE FORMAT: the report in $dir/report with the comments.
compare()
{
  awk -v file="@$1.lua" -v atmost="$([ "$2$3" = on3 ] && echo 1 || echo 0)" '
    function bad(text) { print "  " text; failed = 1 }
    function value(v) { return v in printed ? printed[v] : v }
    FILENAME ~ /printed$/ { split($0, kv, "="); printed[kv[1]] = kv[2]; next }
    FILENAME ~ /\.lua$/ {
      if (match($0, /--@ [^ ]+/)) want[FNR] = substr($0, RSTART + 4, RLENGTH - 4)
      if (match($0, /--# [^ ]+/)) holds[FNR] = substr($0, RSTART + 4, RLENGTH - 4)
      next
    }
    /^[A-Z]+/ && !/:/ { section = $1 }
    # Where a closed upvalue was freed is not known to the VM itself.
    section == "ALLOCATIONS" && /unknown|\?/ { bad("names nothing: " $0) }
    index($1, file ":") != 1 { next }
    { line = substr($1, length(file) + 2) + 0 }
    section == "ALLOCATIONS" { have[line] = $2 }
    / holds / { held[line] = $3 + 0 }
    END {
      for (l in have)
        if (!(l in want)) bad("line " l " has " have[l] " allocations, want none")
      for (l in held)
        if (!(l in want)) bad("line " l " holds " held[l] " bytes, want none")
      for (l in want) {
        if (want[l] == "+") continue
        w = value(want[l]) + 0
        checked++
        if (atmost ? have[l] + 0 > w : have[l] + 0 != w)
          bad("line " l " has " have[l] + 0 " allocations, want " w)
      }
      for (l in holds)
        if (holds[l] != "+" && held[l] + 0 != holds[l] + 0)
          bad("line " l " holds " held[l] + 0 " bytes, want " holds[l])
      if (!checked) bad("nothing was checked")
      exit failed
    }' "$dir/printed" "$cases/$1.lua" "$dir/report"
}

run()
{
  local name=$1 mode=$2 format=$3 step=luajit
  (cd "$cases" && "$luajit" "-j$mode" "$name.lua" "$dir/stream" "$format") \
    >"$dir/printed" && step=ljparse && "$ljparse" "$dir/stream" >"$dir/report" &&
    step=numbers && compare "$name" "$mode" "$format" && {
      echo "ok   $name, JIT $mode, format $format"
      return
    }
  echo "FAIL $name, JIT $mode, format $format: $step"
  failures=$((failures + 1))
}

has 'assert(debug.getinfo(1, "l").currentline == 1)' || {
  echo "left out: all (this LuaJIT keeps no lines)"
  exit 77
}
for path in "$cases"/*.lua; do
  name=$(basename "$path" .lua)
  if [ "$name" = ffi ] && ! has 'require("ffi")'; then
    echo "left out: $name (this LuaJIT has no FFI)"
    continue
  fi
  for mode in $modes; do
    for format in 3 4; do run "$name" "$mode" "$format"; done
  done
done
exit $((failures != 0))
