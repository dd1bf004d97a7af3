#!/usr/bin/env bash
# run.sh - does everything from nothing: installs what is missing (Debian and
# Ubuntu; as root or with sudo), patches and builds LuaJIT, builds this
# project, runs its tests through ctest.
set -euo pipefail

usage()
{
  cat <<'END'
usage: tests/run.sh [options] [NAME...]
  NAME            run only the tests whose name matches (a regular expression)
  --full          the wide matrix too (labels full, tests/matrix.sh --all);
                  installs much more
  --label=L       only the tests with this label
  --list          list the tests, run none
  --build=DIR     build folder (default: build)
  --streams=DIR   recorded streams (default: ../shared/streams)
  --workloads=DIR programs behind them (default: ../shared/workloads)
  --jobs=N        parallel jobs (default: number of processors)
  --no-install    install nothing; fail if a package is missing
  --no-luajit     leave out what needs the patched LuaJIT (is reported)
environment: CC, CFLAGS; LJM_WERROR=ON turns warnings into errors
END
}

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build
streams=$top/../shared/streams
workloads=$top/../shared/workloads
jobs=$(nproc)
full=OFF luajit=ON list='' names=() select=()
for arg; do
  case $arg in
    --full) full=ON ;;
    --label=*) select+=(-L "^${arg#*=}\$") ;;
    --list) list=1 ;;
    --build=*) build=${arg#*=} ;;
    --streams=*) streams=${arg#*=} ;;
    --workloads=*) workloads=${arg#*=} ;;
    --jobs=*) jobs=${arg#*=} ;;
    --no-install) export LJM_NO_INSTALL=1 ;;
    --no-luajit) luajit=OFF ;;
    -h|--help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) names+=("$arg") ;;
  esac
done

# From here on they hold in any folder.
build=$(realpath -m -- "$build") streams=$(realpath -m -- "$streams")
workloads=$(realpath -m -- "$workloads")

step() { printf '== %s (%s)\n' "$1" "$(date +%T)"; }
loud() { printf '\n'; printf '!!! %s\n' "$@"; }

step "packages"
sections=(base)
[ $full = OFF ] || sections+=(full)
[ $luajit = OFF ] || sections+=(luajit)
bash "$top/tests/packages.sh" "${sections[@]}"

config=(-S "$top" -B "$build" "-DLJM_STREAMS=$streams"
        "-DLJM_WORKLOADS=$workloads" "-DLJM_FULL=$full"
        "-DLJM_WERROR=${LJM_WERROR:-OFF}")
if [ $luajit = ON ]; then
  step "LuaJIT, patched"
  config+=("-DLJM_LUAJIT=$(bash "$top/luajit-patch/build.sh" debian-2022)")
else
  config+=("-DLJM_LUAJIT=")
fi

step "configure and build"
cmake "${config[@]}" >"$build.configure.log" 2>&1 || {
  cat "$build.configure.log"
  exit 1
}
mv "$build.configure.log" "$build/configure.log"
cmake --build "$build" -j "$jobs"

[ $full = ON ] || select+=(-LE '^full$')
if [ ${#names[@]} -gt 0 ]; then
  select+=(-R "$(IFS='|'; echo "${names[*]}")")
fi
cd "$build"
if [ -n "$list" ]; then ctest -N "${select[@]}"; exit; fi

step "tests"
log=$build/ctest.log
status=0
ctest --no-tests=error --output-on-failure --timeout 900 -j "$jobs" \
  "${select[@]}" 2>&1 | tee "$log" || status=$?

# Hours, the first time; goes on where it was broken off.
if [ $full = ON ] && [ $luajit = ON ] && [ ${#select[@]} = 0 ]; then
  step "LuaJIT tree by tree, option by option"
  LJM_STREAMS=$streams LJM_WORKLOADS=$workloads \
    bash "$top/tests/matrix.sh" --all --write || status=1
fi

# What did not run is said last but one, the verdict last.
skipped=$(grep -c '\*\*\*Skipped' "$log" || true)
absent=()
for folder in "$streams" "$workloads"; do
  [ -d "$folder" ] || absent+=("$folder")
done
if [ ${#absent[@]} -gt 0 ]; then
  loud "ABSENT: ${absent[*]}" "Tests not run for that: $skipped." \
       "--streams=DIR and --workloads=DIR say where these folders are."
elif [ "$skipped" != 0 ]; then
  loud "NOT RUN: $skipped tests skipped themselves, see above."
  status=1
fi
if [ $luajit = OFF ]; then
  loud "NO LUAJIT: the tests that need the patched LuaJIT were left out."
fi
echo
grep -E '^[0-9]+% tests passed' "$log" || true
exit $status
