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
  "$build/tests/bench_parser" "$tmp/l.bin"
  rm -f "$tmp/l.bin"

  step "Resolver"
  "$build/tests/bench_resolver"

  step "Recording"
  python3 "$top/tests/bench/record.py" "${quick[@]}" --rounds=$rounds \
    "$plain" "$patched"
}

measure | tee "$tmp/log"
step "Goals"
python3 "$top/tests/bench/goals.py" "$tmp/log"
