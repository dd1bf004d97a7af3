#!/usr/bin/env bash
# pages.sh LJRECORD LJPARSE - the manual pages and the completion know the
# programs' options, all and no others; man can show the pages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
examples=$here/../../examples
bad=0

options() { grep -oE -- '(^|[^a-z0-9-])--?[a-z][a-z-]*' | grep -oE -- '--?[a-z].*' |
  sort -u; }

# complete WORD...: what bash would offer.
completions()
{
  bash -c '. "$1"; shift; compopt() { :; }
           COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1"
           printf "%s\n" "${COMPREPLY[@]}"' - \
    "$examples/completion/ljmemprof.bash" "$@"
}

same()
{
  if [ "$2" = "$3" ]; then echo "ok   $1"; return; fi
  echo "FAIL $1:"
  diff <(echo "$2") <(echo "$3") || true
  bad=1
}

for tool in "$1" "$2"; do
  name=$(basename "$tool")
  page=$examples/man/$name.1
  # Options stand at a help line's beginning.
  help=$("$tool" --help | sed -nE 's/^(usage:|      ) *ljrecord//p
         /^  -/p' | options)
  man=$(awk '/^\.SH OPTIONS/ { on = 1; next } /^\.SH/ { on = 0 }
             on && head { print; head = 0 } /^\.TP/ { head = on }' "$page" |
        sed -E 's/\\f.[^"]*$|\\f[A-Z]+//g; s/\\//g; s/"[, ]*"/ /g' | options)
  same "$name page" "$man" "$help"
  offered=$(completions "$name" - | sed 's/=$//' | sort -u)
  same "$name completion" "$offered" "$help"
done
same formats "$(completions ljparse --format = pp)" pprof
same program "$(completions ljrecord --stacks bas | sort -u | grep -x bash)" bash
for page in "$examples"/man/*.1; do
  warnings=$(MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
  same "$(basename "$page")" "$warnings" ""
  same "$(basename "$page"), mandoc" "$(mandoc -T lint -W warning "$page")" ""
done
exit $bad
