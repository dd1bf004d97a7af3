#!/usr/bin/env bash
# matrix.sh [--slice|--all] [--write] [ROW...] - patches and builds LuaJIT tree
# by tree and option by option, and runs the tests that need it on each.
#   --slice   a few rows that differ most (default); --all: every row
#   --write   puts the results into tests/MATRIX.md
#   --list    names the rows
# A row that has passed for this commit is not run again, so a run that was
# broken off goes on where it was. `upstream` needs a network, or
# LJM_UPSTREAM=DIR with a checkout of LuaJIT's v2.1.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$top/build/matrix

# NAME  arguments for make. An option is left out of a tree by the list below.
options='
default
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
'
trees='debian-2022 openresty-2023 openresty-2025 upstream'
slice='debian-2022:nogc64 openresty-2023:asserts openresty-2025:default
       debian-2022:nojit-noffi'

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
    --list) all_rows; exit 0 ;;
    -*) sed -n '2,/^set/s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    *) rows+=("$arg") ;;
  esac
done
# shellcheck disable=SC2206 # the words of the list
[ ${#rows[@]} -gt 0 ] || rows=($slice)
mkdir -p "$out"
commit=$(git -C "$top" describe --always --dirty 2>/dev/null || echo none)

# run_row TREE OPTION NAME: builds and tests; prints the closing line.
run_row()
{
  local tree=$1 option=$2 name=$3 args luajit source=$1
  args=$(awk -v o="$option" '$1 == o { $1 = ""; print substr($0, 2) }' \
         <<<"$options")
  [ "$tree" != upstream ] || source=${LJM_UPSTREAM:-upstream}
  luajit=$(bash "$top/luajit-patch/build.sh" "--name=../matrix/$name/luajit" "$source" \
           ${args:+"$args"}) || return 1
  cmake -S "$top" -B "$out/$name/build" "-DLJM_LUAJIT=$luajit" \
    "-DLJM_STREAMS=${LJM_STREAMS:-$top/../shared/streams}" \
    "-DLJM_WORKLOADS=${LJM_WORKLOADS:-$top/../shared/workloads}" >/dev/null &&
    cmake --build "$out/$name/build" --target luajit_tests >/dev/null || return 1
  (cd "$out/$name/build" &&
   ctest -L '^luajit$' --no-tests=error --output-on-failure --timeout 900)
}

bad=0
for row in "${rows[@]}"; do
  tree=${row%:*} option=${row#*:} name=${row/:/+}
  result=$out/$name.result
  if [ "$(cut -d' ' -f1,2 "$result" 2>/dev/null)" = "$commit passed" ]; then
    echo "$row: passed before"
    continue
  fi
  start=$SECONDS
  if run_row "$tree" "$option" "$name" >"$out/$name.log" 2>&1; then
    verdict=passed
  else
    verdict=failed bad=1
    tail -n 60 "$out/$name.log"
  fi
  echo "$commit $verdict $(date -u +%F)" >"$result"
  echo "$row: $verdict, $((SECONDS - start)) s," \
    "$(grep -E '^[0-9]+% tests passed' "$out/$name.log" || echo 'not built')"
done

[ -z "$write" ] || {
  echo '# LuaJIT trees and options, as they were run'
  echo
  echo 'Written by `tests/matrix.sh --all --write`, x86-64.'
  echo
  echo '| tree | option | commit | result | date |'
  echo '|---|---|---|---|---|'
  for f in "$out"/*.result; do
    name=$(basename "$f" .result)
    read -r c v d <"$f"
    echo "| ${name%+*} | ${name#*+} | $c | $v | $d |"
  done
} >"$top/tests/MATRIX.md"
exit $bad
