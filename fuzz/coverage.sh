#!/usr/bin/env bash
# coverage.sh - line and branch coverage of both headers by the tests and the
# replayed corpora (llvm-cov), with the lines and branches never reached.
set -euo pipefail
# shellcheck source=fuzz/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
  cat <<'END'
usage: fuzz/coverage.sh [options]
  --build=DIR     build folder (default build-coverage)
  --streams=DIR   recorded streams (default ../shared/streams)
  --tree=NAME     patches and builds that LuaJIT (luajit-patch/build.sh):
                  counts the LuaJIT binding too
  --only=REGEX    only tests whose name matches
  --min=L,B       fail below L percent of lines or B percent of branches
END
}

cover='-fprofile-instr-generate -fcoverage-mapping'
build=$top/build-coverage streams=$top/../shared/streams tree='' luajit='' only=.
min=0,0
for arg; do
  case $arg in
    --build=*) build=${arg#*=} ;;
    --streams=*) streams=${arg#*=} ;;
    --tree=*) tree=${arg#*=} ;;
    --only=*) only=${arg#*=} ;;
    --min=*) min=${arg#*=} ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

# tool NAME: the clang's own llvm-NAME.
tool()
{
  local version
  version=$("${CC:-clang}" --version | sed -nE '1s/.*version ([0-9]+).*/\1/p')
  command -v "llvm-$1-$version" || command -v "llvm-$1" ||
    die "llvm-$1 is missing (tests/packages.sh fuzz installs it)"
}

need "${CC:-clang}" cmake python3
cov=$(tool cov)
profdata=$(tool profdata)
if [ -n "$tree" ]; then
  luajit=$("$top/luajit-patch/build.sh" --name=coverage "$tree" \
           CC="${CC:-clang}" XCFLAGS="$cover" LDFLAGS=-fprofile-instr-generate)
fi
cmake -S "$top" -B "$build" -DCMAKE_C_COMPILER="${CC:-clang}" \
  -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=-g -O1 $cover" \
  "-DLJM_STREAMS=$streams" "-DLJM_LUAJIT=$luajit" -DLJM_OTHER_COMPILER=OFF \
  -DLJM_BENCH=OFF \
  >/dev/null
cmake --build "$build" -j "$(nproc)" >/dev/null
rm -rf "$build/raw"
mkdir -m 1777 "$build/raw" # Some hosts run as another user.
export LLVM_PROFILE_FILE=$build/raw/%m-%p.profraw
# All but what runs no code of the headers, or a LuaJIT that it builds itself,
# and what needs that one.
(cd "$build" && ctest --no-tests=error --output-on-failure -j "$(nproc)" \
   --timeout 1800 -LE '^full$' \
   -E '^(headers|lint|install|host_nvim|example_neovim)' -R "$only") | tail -n 8
"$profdata" merge -sparse "$build"/raw/*.profraw -o "$build/all.profdata"
rm -rf "$build/raw"

# Every program that has the headers inside. LuaJIT has a copy in its tree.
objects=() files=("$top/ljmemprof.h" "$top/ljparse.h")
if [ -n "$luajit" ]; then
  copy=$(dirname "$luajit")/../source/src/ljmemprof.h
  cmp "$copy" "$top/ljmemprof.h" || die "$luajit is not of this ljmemprof.h"
  files+=("$(realpath "$copy")")
fi
while read -r exe; do objects+=(-object "$exe"); done < <(
  find "$build" -type f -perm -u+x ! -name '*.so*' ! -path '*/CMakeFiles/*' |
    sort
  [ -z "$luajit" ] || find "$(dirname "$luajit")/../lib" -type f \
    -name 'libluajit*.so*'
  [ -z "$luajit" ] || echo "$luajit")
"$cov" export -instr-profile="$build/all.profdata" "${objects[@]:1}" \
  "${files[@]}" >"$build/coverage.json" \
  2>"$build/coverage.log" || { cat "$build/coverage.log" >&2; exit 1; }
python3 "$fuzz/coverage.py" "$build/coverage.json" "$min"
