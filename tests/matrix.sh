#!/usr/bin/env bash
# matrix.sh [--slice|--all] [--write] [ROW...] - patches and builds LuaJIT tree
# by tree and option by option, and runs the tests that need it on each.
#   --slice   a few rows that differ most (default); --all: every row
#   --write   puts the results into tests/MATRIX.md and the README's table
#   --report  runs nothing, puts the results that there are into it
#   --list    names the rows
# A row that has passed is not run again until something changes that it is
# made of, so a run that was broken off goes on where it was. `upstream` needs a network, or
# LJM_UPSTREAM=DIR with a checkout of LuaJIT's v2.1. i686 and arm64 are
# cross-built, arm64 runs under qemu-user.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$top/build/matrix

# NAME  argument for make. An option is one of them or several, "-" between;
# the -D of several make one XCFLAGS.
parts='
static      BUILDMODE=static
amalg       amalg
off         -DLUAJIT_DISABLE_MEMPROF
nogc64      -DLUAJIT_DISABLE_GC64
nojit       -DLUAJIT_DISABLE_JIT
noffi       -DLUAJIT_DISABLE_FFI
sysmalloc   -DLUAJIT_USE_SYSMALLOC
asserts     -DLUA_USE_ASSERT -DLUA_USE_APICHECK
nodebug     -DLUAJIT_DISABLE_DEBUGINFO
i686        CROSS=i686-linux-gnu-;HOST_CC=i686-linux-gnu-gcc -static
arm64       CROSS=aarch64-linux-gnu-;HOST_CC=gcc
norecords   TARGET_CFLAGS=-fomit-frame-pointer
'
trees='debian-2022 openresty-2023 openresty-2025 upstream'

# Of each tree. Not there, since without the series they do not build either:
# nogc64-sysmalloc (LuaJIT for x86-64 without GC64 must have its own allocator)
# and nojit as a static library of the OpenResty trees (lj_init.c).
options='default static amalg off nogc64 nojit noffi sysmalloc asserts nodebug
  nogc64-nojit nogc64-noffi nogc64-asserts nogc64-amalg nojit-noffi
  i686 arm64 arm64-norecords'

# With debian-2022:default, which tests/run.sh has built: each tree with and
# without GC64, and of any two parts both, either and neither, in some tree;
# each part with and without in each tree. `pairs` sees to it.
slice='debian-2022:nogc64-asserts-static-amalg
  debian-2022:nojit-noffi-sysmalloc-static
  debian-2022:off
  openresty-2023:nogc64-nojit-asserts-amalg
  openresty-2023:nogc64-noffi-asserts
  openresty-2023:noffi-sysmalloc-static-amalg
  openresty-2025:nojit-sysmalloc-asserts-amalg
  openresty-2025:nogc64-noffi-static'

# pairs ROW...: fails, and says of which, unless they hold all pairs.
pairs()
{
  printf '%s\n' "$@" | awk -F '[:-]' '
    # Column 0 is the tree (two words), the others are the parts.
    BEGIN { n = split("static amalg nogc64 nojit noffi sysmalloc asserts",
                      part, " ") }
    {
      trees[$2] = 1
      for (i = 1; i <= n; i++) {
        has[i] = 0
        for (k = 3; k <= NF; k++) if ($k == part[i]) has[i] = 1
        seen[$2, i, has[i]] = 1
        for (j = 1; j < i; j++) seen[i, has[i], j, has[j]] = 1
      }
    }
    function want(what, words) {
      if (what in seen) return
      print "matrix.sh: no row of the slice has " words
      bad = 1
    }
    END {
      for (i = 1; i <= n; i++) for (a = 0; a < 2; a++) {
        word = (a ? "" : "no ") part[i]
        for (t in trees) want(t SUBSEP i SUBSEP a, t " with " word)
        for (j = 1; j < i; j++) for (b = 0; b < 2; b++)
          if (!(a && b && part[j] == "nogc64" && part[i] == "sysmalloc"))
            want(i SUBSEP a SUBSEP j SUBSEP b,
                 word " with " (b ? "" : "no ") part[j])
      }
      exit bad
    }' >&2
}

all_rows()
{
  local tree option
  for tree in $trees; do
    for option in $options; do echo "$tree:$option"; done
  done
  # shellcheck disable=SC2086 # the words of the list
  printf '%s\n' $slice
}

rows=() write=''
for arg; do
  case $arg in
    --slice) ;;
    --all) mapfile -t rows < <(all_rows | sort -u) ;;
    --write) write=1 ;;
    --report) write=1 slice='' ;;
    --list) all_rows | sort -u; exit 0 ;;
    -*) sed -n '2,/^set/s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    *) rows+=("$arg") ;;
  esac
done
if [ ${#rows[@]} = 0 ] && [ -n "$slice" ]; then
  # shellcheck disable=SC2206 # the words of the list
  rows=($slice)
  pairs debian-2022:default "${rows[@]}"
fi
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

# argument PART: its argument for make, or -D for the compiler.
argument() { awk -v p="$1" '$1 == p { $1 = ""; print substr($0, 2) }' <<<"$parts"; }

# arguments OPTION NAME: its arguments for make, one a line. LuaJIT itself is
# compiled without optimisation, in a third of the time, and once, as a shared
# library or a static one (off: both); but default and static alone are as users
# have them.
arguments()
{
  local link=-Wl,-rpath,$out/$2/luajit/lib part said flags=''
  for part in ${1//-/ }; do
    [ "$part" != default ] || continue
    said=$(argument "$part")
    case $said in
      -D*) flags+=" $said" ;;
      ?*) tr ';' '\n' <<<"$said" ;;
      *) echo "matrix.sh: no part $part" >&2; return 1 ;;
    esac
    [ "$part" != i686 ] || link+=" $i686"
  done
  [ -z "$flags" ] || echo "XCFLAGS=${flags# }"
  case -$1- in
    -default-|-static-) ;;
    *-static-*|-off-) echo 'CCOPT=-O0 -fomit-frame-pointer' ;;
    *) printf '%s\n' 'CCOPT=-O0 -fomit-frame-pointer' BUILDMODE=dynamic \
         "TARGET_LDFLAGS=$link" ;;
  esac
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
    cmake --build "$build" -j "$(nproc)" --target luajit_tests >/dev/null ||
    return 1
  (cd "$build" &&
   ctest -L '^luajit$' --no-tests=error --output-on-failure --timeout 1800 \
     -j "$(nproc)")
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
  # What skipped itself is not among those that passed.
  said=$({ awk '/\.\. +Passed/ { ran++ } /\*\*\*Skipped/ { skipped++ }
             END { if (ran) print ran " tests"
                   if (skipped) print skipped " skipped" }' "$out/$name.log"
           sed -nE 's/.*left out: */without /p' "$out/$name.log" \
             "$out/$name/build/Testing/Temporary/LastTest.log" 2>/dev/null |
             sort -u; } | paste -sd, | sed 's/,/, /g' || true)
  echo "$commit $verdict $(date -u +%F) $said" >"$result"
  echo "$row: $verdict, $((SECONDS - start)) s, ${said:-no tests}"
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
  echo
  echo 'An option is made of these parts:'
  echo
  echo '| part | argument for make |'
  echo '|---|---|'
  awk 'NF {
    name = $1
    $1 = ""
    gsub(/^ /, "")
    gsub(/;/, "`, `")
    sub(/^-D/, "XCFLAGS=&")
    print "| " name " | `" $0 "` |"
  }' <<<"$parts"
  echo
  echo 'All but default and static are built with `CCOPT=-O0' \
    '-fomit-frame-pointer`,'
  echo 'and without static and off with `BUILDMODE=dynamic`.'
} >"$top/tests/MATRIX.md"
[ -z "$write" ] || python3 "$top/tests/matrix_readme.py"
exit $bad
