#!/usr/bin/env bash
# run.sh [--quick] - measures every figure that the README prints, on a
# machine with nothing else to do: builds in build-bench/, then the parser,
# the encoder, the resolver, and what recording costs against a plain tree;
# at the end each figure beside its goal. About 10 minutes.
# --quick: shorter programs, 3 rounds, no big heap: a look, not a figure.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$top/build-bench
quick=() rounds=5
case ${1:-} in
  '') ;;
  --quick) quick=(--quick) rounds=3 ;;
  *) sed -n '2,7s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 1 ;;
esac
step() { printf '\n== %s\n' "$1"; }
step "Packages, builds"
bash "$top/tests/packages.sh" base luajit bench
# Its random seeds fixed, a tree counts the same from run to run.
flags='XCFLAGS=-DLUAJIT_SECURITY_PRNG=0'
plain=$("$top/luajit-patch/build.sh" --plain --name=bench-plain debian-2022 \
        "$flags")
patched=$("$top/luajit-patch/build.sh" --name=bench-patched debian-2022 \
          "$flags")
cmake -S "$top" -B "$build" -DCMAKE_BUILD_TYPE=Release -DLJM_LUAJIT= \
  >/dev/null
cmake --build "$build" -j "$(nproc)" --target ljparse bench_encoder \
  bench_format4 bench_parser bench_resolver >/dev/null
export LJPARSE=$build/ljparse
sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1
git -C "$top" describe --always --dirty 2>/dev/null || true

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# parser_counts STREAM: what callgrind counts in the true model of one pass. Its
# caches are simulated: as large as this machine's, but nothing more.
parser_counts()
{
  valgrind --tool=callgrind --cache-sim=yes --branch-sim=yes \
    '--toggle-collect=aggregate_true*' --callgrind-out-file="$tmp/counts" \
    "$build/tests/bench_parser" --events=1 --rounds=1 "$1" >"$tmp/said" 2>&1
  awk '{ gsub(/,/, "") }
       / M events;/ { for (i = 1; i < NF; i++) if ($(i + 1) == "M") n = $i * 1e6 }
       / I +refs:/ { instructions = $4 }
       / Mispredicts:/ { branches = $3 }
       / D1 +misses:/ { first = $4 }
       / LLd misses:/ { last = $4 }
       END { printf "an event: %d instructions, %.2f mispredicted branches, " \
                    "%.2f misses of the first cache, %.2f of the last\n",
                    instructions / n, branches / n, first / n, last / n }' \
    "$tmp/said"
}

measure()
{
  step "Encoder (ns and bytes an event)"
  "$build/tests/bench_encoder"
  "$build/tests/bench_encoder" "$tmp/e.bin"

  step "Parser, format 4"
  "$build/tests/bench_format4" "$tmp/e.bin"
  rm -f "$tmp/e.bin"

  step "Parser, format 3, and a recorded stream"
  LUA_PATH="/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua;;" \
    LUA_CPATH="/usr/lib/$(gcc -print-multiarch)/lua/5.1/?.so;;" \
    "$patched" "-jmemprof=$tmp/l.bin,format=3" /usr/bin/luacheck --quiet \
    --no-cache --no-config /usr/share/lua/5.1/luacheck >/dev/null ||
    [ $? = 1 ] # It has warned of something.
  "$build/tests/bench_parser"
  "$build/tests/bench_parser" "$tmp/l.bin"
  echo "Once, not over and over:"
  mv "$tmp/l.bin" "$tmp/once.bin"
  "$build/tests/bench_parser" --events=1 "$tmp/once.bin"
  parser_counts "$tmp/once.bin"
  rm -f "$tmp/once.bin"

  step "Resolver"
  "$build/tests/bench_resolver"

  step "Recording"
  python3 "$top/tests/bench/record.py" "${quick[@]}" --rounds=$rounds \
    "$plain" "$patched"
}

measure | tee "$tmp/log"
step "Goals"
python3 "$top/tests/bench/goals.py" "$tmp/log"
