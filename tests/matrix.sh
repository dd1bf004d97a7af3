#!/usr/bin/env bash
# matrix.sh [--slice|--all] [--write] [ROW...] - patches and builds LuaJIT tree
# by tree and option by option, and runs the tests that need it on each.
#   --slice   a few rows that differ most (default); --all: every row
#   --write   puts the results into tests/MATRIX.md
#   --report  runs nothing, puts the results that there are into it
#   --list    names the rows
# A row that has passed is not run again until something changes that it is
# made of, so a run that was broken off goes on where it was. `upstream` needs a network, or
# LJM_UPSTREAM=DIR with a checkout of LuaJIT's v2.1. i686 and arm64 are
# cross-built, arm64 runs under qemu-user.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$top/build/matrix

# NAME  arguments for make, with ";" between them. All but the first three are
# compiled once, as a shared library with its luajit, not as a static one too.
options='
default
static      BUILDMODE=static
off         XCFLAGS=-DLUAJIT_DISABLE_MEMPROF
nogc64      XCFLAGS=-DLUAJIT_DISABLE_GC64
nojit       XCFLAGS=-DLUAJIT_DISABLE_JIT
noffi       XCFLAGS=-DLUAJIT_DISABLE_FFI
sysmalloc   XCFLAGS=-DLUAJIT_USE_SYSMALLOC
asserts     XCFLAGS=-DLUA_USE_ASSERT -DLUA_USE_APICHECK
nodebug     XCFLAGS=-DLUAJIT_DISABLE_DEBUGINFO
amalg       amalg
nogc64-nojit     XCFLAGS=-DLUAJIT_DISABLE_GC64 -DLUAJIT_DISABLE_JIT
nogc64-noffi     XCFLAGS=-DLUAJIT_DISABLE_GC64 -DLUAJIT_DISABLE_FFI
nogc64-sysmalloc XCFLAGS=-DLUAJIT_DISABLE_GC64 -DLUAJIT_USE_SYSMALLOC
nogc64-asserts   XCFLAGS=-DLUAJIT_DISABLE_GC64 -DLUA_USE_ASSERT -DLUA_USE_APICHECK
nojit-noffi      XCFLAGS=-DLUAJIT_DISABLE_JIT -DLUAJIT_DISABLE_FFI
i686        CROSS=i686-linux-gnu-;HOST_CC=i686-linux-gnu-gcc -static
arm64       CROSS=aarch64-linux-gnu-;HOST_CC=gcc
arm64-norecords  CROSS=aarch64-linux-gnu-;HOST_CC=gcc;TARGET_CFLAGS=-fomit-frame-pointer
'
trees='debian-2022 openresty-2023 openresty-2025 upstream'
slice='debian-2022:nogc64 debian-2022:nojit-noffi debian-2022:off
       openresty-2023:asserts openresty-2023:nogc64-nojit
       openresty-2025:amalg openresty-2025:nogc64-asserts'

all_rows()
{
  local tree option
  for tree in $trees; do
    for option in $(awk 'NF { print $1 }' <<<"$options"); do
      echo "$tree:$option"
    done
  done
}

rows=() write=''
for arg; do
  case $arg in
    --slice) ;;
    --all) mapfile -t rows < <(all_rows) ;;
    --write) write=1 ;;
    --report) write=1 slice='' ;;
    --list) all_rows; exit 0 ;;
    -*) sed -n '2,/^set/s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    *) rows+=("$arg") ;;
  esac
done
# shellcheck disable=SC2206 # the words of the list
[ ${#rows[@]} -gt 0 ] || rows=($slice)
mkdir -p "$out"
commit=$(git -C "$top" describe --always --exclude='*' 2>/dev/null || echo none)
[ -z "$(git -C "$top" status --porcelain -- . ':!tests/MATRIX.md' 2>&1)" ] ||
  commit+=-dirty
# What rows are made of. (Not MATRIX.md: writing it must change nothing.)
stamp=$(cd "$top" && find ljmemprof.h ljparse.h luajit-patch examples/ljparse.c \
          tests/*.[ch] tests/*.sh tests/*.txt tests/lua -type f | sort |
        xargs cat | cksum | cut -d' ' -f1)

# Programs of the i686 rows find their libc where the cross compiler has it.
i686=/usr/i686-linux-gnu/lib
i686=-Wl,--dynamic-linker=$i686/ld-linux.so.2,--disable-new-dtags,-rpath,$i686

# arguments OPTION NAME: its arguments for make, one a line.
arguments()
{
  local link=-Wl,-rpath,$out/$2/luajit/lib
  awk -v o="$1" '$1 == o { $1 = ""; print substr($0, 2) }' <<<"$options" |
    tr ';' '\n' | grep . || true
  case $1 in
    default|static|off) return ;;
    i686) link+=" $i686" ;;
  esac
  printf '%s\n' BUILDMODE=dynamic "TARGET_LDFLAGS=$link"
}

# build_row TREE OPTION NAME: prints the path of luajit.
build_row()
{
  local source=$1 args
  [ "$1" != upstream ] || source=${LJM_UPSTREAM:-upstream}
  mapfile -t args < <(arguments "$2" "$3")
  bash "$top/luajit-patch/build.sh" "--name=../matrix/$3/luajit" "$source" \
    "${args[@]}"
}

# test_row LUAJIT BUILD [CMAKE-ARGUMENT...]: the tests labelled luajit. Our own
# programs are not optimised, which compiles in a third of the time.
test_row()
{
  local luajit=$1 build=$2
  shift 2
  cmake -S "$top" -B "$build" "-DLJM_LUAJIT=$luajit" \
    "-DLJM_STREAMS=${LJM_STREAMS:-$top/../shared/streams}" \
    "-DLJM_WORKLOADS=${LJM_WORKLOADS:-$top/../shared/workloads}" \
    -DCMAKE_BUILD_TYPE=Debug "$@" >/dev/null &&
    cmake --build "$build" --target luajit_tests >/dev/null || return 1
  (cd "$build" &&
   ctest -L '^luajit$' --no-tests=error --output-on-failure --timeout 1800)
}

# A build that leaves the profiler out says so at each way in.
without()
{
  local luajit=$1 dir
  dir=$(mktemp -d)
  (cd "$dir" && "$luajit" -e '
    local function refused(ok, message, errno)
      assert(ok == nil and message == "profiler misuse" and errno == 22)
    end
    local jm = require("jit.memprof")
    refused(misc.memprof.start("stream"))
    refused(misc.memprof.stop())
    refused(jm.start("stream", "depth=1"))
    for _, name in ipairs({ "stop", "flush", "mark" }) do refused(jm[name]()) end
    assert(jm.running() == false)' &&
   LJMEMPROF=file=stream "$luajit" -e 'local t = {}' &&
   ! "$luajit" -jmemprof=stream -e 'print("ran")' >said 2>&1 &&
   grep 'profiler misuse' said && ! grep '^ran' said && [ ! -e stream ]) &&
    ! nm "$(dirname "$luajit")/../lib/libluajit-5.1.a" | grep -E 'lj[mp]i?_'
}

qemu='qemu-aarch64 -L /usr/aarch64-linux-gnu'

# emulated PROGRAM SCRIPT: a script that runs it.
emulated()
{
  printf '#!/bin/sh\nexec %s %s "$@"\n' "$qemu" "$1" >"$2"
  chmod +x "$2"
}

# run_row TREE OPTION NAME: builds and tests.
run_row()
{
  local luajit build=$out/$3/build
  luajit=$(build_row "$@") || return 1
  case $2 in
    off) without "$luajit" && echo '100% tests passed' ;;
    i686)
      echo 'left out: lpeg (a C module)'
      test_row "$luajit" "$build" -DLJM_CROSS=ON \
        -DCMAKE_C_COMPILER=i686-linux-gnu-gcc \
        "-DCMAKE_EXE_LINKER_FLAGS=$i686" ;;
    arm64*)
      echo 'left out: lpeg (a C module)'
      [ "$2" = arm64 ] || set -- "$@" -DLJM_NORECORDS=ON
      emulated "$luajit" "$luajit-qemu"
      emulated "$build/ljparse" "$out/$3/ljparse-qemu"
      test_row "$luajit-qemu" "$build" "-DLJM_LJPARSE=$out/$3/ljparse-qemu" \
        -DLJM_CROSS=ON -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
        -DCMAKE_SYSTEM_NAME=Linux        -DCMAKE_SYSTEM_PROCESSOR=aarch64 "${@:4}" \
        "-DCMAKE_CROSSCOMPILING_EMULATOR=${qemu// /;}" ;;
    *) test_row "$luajit" "$build" ;;
  esac
}

bad=0
for row in "${rows[@]}"; do
  tree=${row%:*} option=${row#*:} name=${row/:/+}
  result=$out/$name.result
  if [ "$(cat "$out/$name.stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "$row: passed before"
    continue
  fi
  start=$SECONDS
  if run_row "$tree" "$option" "$name" >"$out/$name.log" 2>&1; then
    verdict=passed
    echo "$stamp" >"$out/$name.stamp"
  else
    verdict=failed bad=1
    tail -n 60 "$out/$name.log"
  fi
  said=$(sed -nE 's/^[0-9]+% tests passed, .*failed out of ([0-9]+)/\1 tests/p
                  s/.*left out: */without /p' "$out/$name.log" \
         "$out/$name/build/Testing/Temporary/LastTest.log" 2>/dev/null |
         sort -u | paste -sd, | sed 's/,/, /g' || true)
  echo "$commit $verdict $(date -u +%F) $said" >"$result"
  echo "$row: $verdict, $((SECONDS - start)) s," \
    "$(grep -E '^[0-9]+% tests passed' "$out/$name.log" || echo 'not built')"
done

[ -z "$write" ] || {
  echo '# LuaJIT trees and options, as they were run'
  echo
  echo 'Written by `tests/matrix.sh --all --write` on x86-64; what has no row was'
  echo 'not run. Of a row that passed, the result counts the tests of ctest and'
  echo 'what they said was left out for that build.'
  echo
  echo '| tree | option | commit | result | date |'
  echo '|---|---|---|---|---|'
  for f in "$out"/*.result; do
    name=$(basename "$f" .result)
    read -r c v d rest <"$f"
    echo "| ${name%+*} | ${name#*+} | $c | $v${rest:+: $rest} | $d |"
  done
  printf '\n| option | arguments for make |\n|---|---|\n'
  awk 'NF {
    name = $1
    $1 = ""
    gsub(/^ /, "")
    gsub(/;/, "`, `")
    print "| " name " | " (NF && $0 != "" ? "`" $0 "`" : "none") " |"
  }' <<<"$options"
  echo
  echo 'All but default, static and off have `BUILDMODE=dynamic` too.'
} >"$top/tests/MATRIX.md"
exit $bad
