#!/usr/bin/env bash
# tsan_host.sh LUAJIT - the recorder under the thread sanitizer: the host and
# lj_memprof.c with both headers are instrumented, the rest of LuaJIT is not
# (a wholly instrumented one dies of its own errors). LUAJIT is one of
# luajit-patch/build.sh, whose objects lie beside it.
set -euo pipefail
prefix=$(cd "$(dirname "$1")/.." && pwd)
src=$prefix/source/src
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tsan=(-g -O1 -fno-omit-frame-pointer -fsanitize=thread)

cp "$src/libluajit.a" "$dir/"
# As LuaJIT's Makefile does it, with the build's own XCFLAGS.
xcflags=$(sed -n 's/^XCFLAGS=//p' "$prefix/arguments")
# shellcheck disable=SC2086 # words of flags
gcc "${tsan[@]}" -D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE -DLUAJIT_UNWIND_EXTERNAL \
  $xcflags -I"$src" -c "$src/lj_memprof.c" -o "$dir/lj_memprof.o"
ar t "$dir/libluajit.a" | grep -x lj_memprof.o >/dev/null ||
  { echo "FAIL no lj_memprof.o in $src/libluajit.a"; exit 1; }
ar r "$dir/libluajit.a" "$dir/lj_memprof.o"
gcc "${tsan[@]}" -I"$top" -I"$top/tests" -isystem "$prefix/include/luajit-2.1" \
  "$top/tests/test_recorder.c" "$dir/libluajit.a" -Wl,-E -lm -ldl -lpthread \
  -o "$dir/test_recorder"
nm "$dir/lj_memprof.o" | grep __tsan_ >/dev/null || { echo "FAIL not instrumented"; exit 1; }
# Children after fork may start threads of their own; races end the run.
TSAN_OPTIONS=halt_on_error=1:exitcode=66:die_after_fork=0 \
  setarch -R "$dir/test_recorder" case_threads case_moves case_close case_fork \
  case_twice case_allocator case_sink_calls_back
