#!/usr/bin/env bash
# variant.sh KIND [ctest options] - builds all that runs without LuaJIT in one
# other way, in build-KIND, and runs its tests there. KIND:
#   asan-gcc, asan-clang  address, undefined behaviour, leaks; no recovery
#   msan                  reads of memory never written (clang)
#   tsan                  data races (gcc)
#   i686                  32-bit x86
#   s390x, arm64          under qemu-user; s390x is big-endian
#   musl                  another libc, linked statically
#   musl-shared           its loader: the resolver over libraries
#   valgrind              the plain build under valgrind
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kind=${1:-}
cc=gcc flags='' link='' emulator='' type=None cross='' targets=() select=()
asan="-fsanitize=address,undefined,float-divide-by-zero"
case $kind in
  asan-gcc) flags=$asan ;;
  asan-clang) cc=clang flags=$asan ;;
  # Where what it finds comes from: -fsanitize-memory-track-origins, by hand;
  # it takes the compiler half as long again.
  msan) cc=clang flags='-fsanitize=memory -O1' ;;
  tsan) flags='-fsanitize=thread' ;;
  i686) cc=i686-linux-gnu-gcc link=-static type=RelWithDebInfo ;;
  s390x) cc=s390x-linux-gnu-gcc link=-static type=RelWithDebInfo cross=s390x
         emulator=qemu-s390x ;;
  arm64) cc=aarch64-linux-gnu-gcc link=-static type=RelWithDebInfo
         cross=aarch64 emulator=qemu-aarch64 ;;
  musl) cc=musl-gcc link=-static type=RelWithDebInfo ;;
  musl-shared) cc=musl-gcc type=RelWithDebInfo
               targets=(--target test_resolver test_resolver_libs)
               select=(-R '^test_resolver(_libs)?$') ;;
  valgrind) type=RelWithDebInfo cross=$(uname -m)
            emulator='valgrind;-q;--error-exitcode=99;--leak-check=full'
            emulator+=";--suppressions=$top/tests/valgrind.supp" ;;
  *) sed -n '2,/^set/s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
shift
if [ $type = None ]; then
  # Unoptimised: compiled in a quarter of the time, and nothing is optimised
  # away before a sanitizer sees it. (MSan's code is too slow for that.)
  flags="-g1 -O0 -fno-omit-frame-pointer -fno-sanitize-recover=all $flags"
fi

build=$top/build-$kind
streams=$(realpath -m -- "${LJM_STREAMS:-$top/../shared/streams}")
config=("-DCMAKE_C_COMPILER=$cc" "-DCMAKE_C_FLAGS=$flags"
        "-DCMAKE_BUILD_TYPE=$type" "-DCMAKE_EXE_LINKER_FLAGS=$link"
        "-DLJM_STREAMS=$streams"
        "-DLJM_WERROR=${LJM_WERROR:-OFF}" -DLJM_LUAJIT= -DLJM_BENCH=OFF
        -DLJM_MODEL_STRIDE=16)
if [ -n "$cross" ]; then
  config+=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$cross"
           "-DCMAKE_CROSSCOMPILING_EMULATOR=$emulator")
fi
cmake -S "$top" -B "$build" "${config[@]}" >/dev/null
cmake --build "$build" -j "$(nproc)" "${targets[@]}"

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1 MSAN_OPTIONS=exit_code=99
cd "$build"
# Plain tests run no program built here, so say nothing new; native ones
# need what the machine itself is.
ctest --no-tests=error --output-on-failure --timeout 1800 -j "$(nproc)" \
  -LE '^(full|plain|native)$' "${select[@]}" "$@" 2>&1 | tee ctest.log

# A stranger may lack the recorded streams; with them nothing is skipped.
skipped=$(grep -c '\*\*\*Skipped' ctest.log || true)
[ "$skipped" = 0 ] || {
  printf '\n!!! NOT RUN: %d tests skipped themselves, see above.\n' "$skipped" >&2
  [ ! -d "$streams" ] || exit 1
}
