#!/usr/bin/env bash
# analyze.sh TOOL - static analysis of both headers. TOOL: gcc (-fanalyzer),
# clang-tidy, cppcheck; mingw compiles ljparse.h for Windows.
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

case ${1:-} in
  gcc)
    for h in ljmemprof ljparse; do
      gcc -std=c99 -O2 -fanalyzer -I "$top" "${warn[@]}" -c "$dir/$h.c" \
        -o "$dir/$h.o"
    done ;;
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
