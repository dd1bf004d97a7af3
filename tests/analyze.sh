#!/usr/bin/env bash
# analyze.sh TOOL [LUAJIT] - static analysis of both headers. TOOL: gcc
# (-fanalyzer), clang-tidy, cppcheck; mingw compiles ljparse.h for Windows.
# LUAJIT: as luajit-patch/build.sh prints it, for gcc to see the binding too.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for h in ljmemprof:LJM ljparse:LJP; do
  printf '#define %s_IMPLEMENTATION\n#include "%s.h"\n' "${h#*:}" "${h%:*}" \
    >"$dir/${h%:*}.c"
done
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wcast-align
      -Wno-unused-function -Werror)

# follow OPTION...: gcc's analyzer. Not optimised, it sees more. Leaks are left
# to tests: a block whose pointer is in an object is lost to gcc 12 as soon as
# anything else of that object is written.
follow()
{
  gcc -O0 -fanalyzer -Wno-analyzer-malloc-leak -Werror \
    --param=analyzer-max-enodes-per-program-point=16 \
    --param=analyzer-bb-explosion-factor=100 -c -o "$dir/out.o" "$@"
}

# sees HEADER SED: a fault put in is found, else the analyzer looks at nothing.
sees()
{
  mkdir "$dir/faulty"
  sed "$2" "$dir/$1.h" >"$dir/faulty/$1.h"
  ! cmp -s "$dir/$1.h" "$dir/faulty/$1.h" || { echo "no place for $2"; exit 1; }
  cp "$dir/$1.c" "$dir/faulty"
  if follow -std=c99 "$dir/faulty/$1.c" 2>"$dir/found"; then
    echo "not found: $2"
    exit 1
  fi
  grep -q 'Werror=analyzer' "$dir/found" || { cat "$dir/found"; exit 1; }
  rm -r "$dir/faulty"
}

case ${1:-} in
  gcc)
    for h in ljmemprof ljparse; do
      python3 "$top/tests/alone.py" "$top/$h.h" >"$dir/$h.h"
      follow -std=c99 "$dir/$h.c"
    done
    sees ljmemprof '/^ *if (!m) return r->mem.status;$/d'
    sees ljparse 's/^  if (p) memset/  memset/'
    if [ -n "${2:-}" ]; then
      tree=${2%/bin/*}/source/src
      cp "$tree/lj_memprof.c" "$dir"
      follow -std=gnu99 -I "$tree" "$dir/lj_memprof.c"
    else
      echo "no LUAJIT given: its part of ljmemprof.h is not looked at"
    fi ;;
  clang-tidy)
    # Left out: rules of names and of swappable parameters, which are taste,
    # and those that ask for functions of Annex K, which libcs do not have.
    # Further: results of snprintf, whose buffers may cut (err33-c); sizes of
    # pointers, as arrays of them are meant; products of small constants; names
    # that are counted and need no NUL.
    # Nor clang-analyzer-*, which looks at no function of an included file.
    checks='-*,bugprone-*,cert-*'
    checks+=',-bugprone-easily-swappable-parameters,-cert-dcl37-c'
    checks+=',-cert-dcl51-cpp,-bugprone-reserved-identifier'
    checks+=',-cert-err33-c,-bugprone-sizeof-expression'
    checks+=',-bugprone-implicit-widening-of-multiplication-result'
    checks+=',-bugprone-not-null-terminated-result'
    clang-tidy --quiet --checks="$checks" --warnings-as-errors='*' \
      --header-filter='ljm|ljp' "$dir/ljmemprof.c" "$dir/ljparse.c" -- \
      -std=c99 -I "$top" ;;
  cppcheck)
    cppcheck --quiet --std=c99 --enable=warning,portability,performance \
      --error-exitcode=1 --inline-suppr --suppress=missingIncludeSystem \
      -I "$top" "$dir/ljmemprof.c" "$dir/ljparse.c" ;;
  mingw)
    for cc in x86_64-w64-mingw32-gcc i686-w64-mingw32-gcc; do
      "$cc" -std=c99 -O2 -I "$top" "${warn[@]}" -c \
        "$dir/ljparse.c" -o "$dir/ljparse.o"
    done ;;
  *) sed -n '2,/^set/s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
echo "ok   ${1:-}"
