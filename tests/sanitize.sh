#!/usr/bin/env bash
# sanitize.sh gcc|clang|msan [ctest options] - builds all that runs without
# LuaJIT with sanitizers, in a build folder of its own, and runs its tests.
#   gcc, clang  address, undefined behaviour and leaks, no recovery
#   msan        reads of memory never written (clang)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kind=${1:-}
ub=undefined,float-divide-by-zero
case $kind in
  gcc) cc=gcc flags="-fsanitize=address,$ub" ;;
  clang) cc=clang flags="-fsanitize=address,$ub,unsigned-shift-base" ;;
  msan) cc=clang flags="-fsanitize=memory -fsanitize-memory-track-origins" ;;
  *) echo "usage: sanitize.sh gcc|clang|msan [ctest options]" >&2; exit 2 ;;
esac
shift
build=$top/build-$kind
cmake -S "$top" -B "$build" -DCMAKE_C_COMPILER="$cc" -DLJM_LUAJIT= \
  -DCMAKE_BUILD_TYPE=None -DLJM_WERROR="${LJM_WERROR:-OFF}" \
  -DLJM_STREAMS="${LJM_STREAMS:-$top/../shared/streams}" \
  -DCMAKE_C_FLAGS="-g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all $flags" \
  >/dev/null
cmake --build "$build" -j "$(nproc)"
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1 MSAN_OPTIONS=exit_code=99
cd "$build"
# Tests that run no program built here say nothing new under a sanitizer.
ctest --no-tests=error --output-on-failure --timeout 900 -j "$(nproc)" \
  -LE '^(full|plain)$' "$@" 2>&1 | tee ctest.log
