#!/usr/bin/env bash
# The report formats of ljparse from the command line: what is written, what
# is refused, exit codes, and that the page is the one in examples/html.
#   report_cli.sh LJPARSE TEST_REPORT_PROFILE
# LJM_EMULATOR: what runs them, with options, where the machine itself cannot.
set -uo pipefail
read -ra emulator <<<"${LJM_EMULATOR:-}"
ljparse=("${emulator[@]}" "$1") writer=("${emulator[@]}" "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0 failures=0

ok() { # ok WHAT COMMAND...
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" >"$work/log" 2>&1 && return
  failures=$((failures + 1))
  echo "FAIL $what: $*"
  head -5 "$work/log"
}
exits() { # exits CODE ARGUMENTS...
  local want=$1 have=0
  shift
  checks=$((checks + 1))
  "${ljparse[@]}" "$@" >"$work/out" 2>"$work/err" || have=$?
  [ "$have" = "$want" ] && return
  failures=$((failures + 1))
  echo "FAIL exit code $have, want $want: ljparse $*"
  head -3 "$work/err"
}
has() { ok "$1 has $2" grep -qF -- "$2" "$work/$1"; }
lacks() {
  checks=$((checks + 1))
  grep -qF -- "$2" "$work/$1" || return 0
  failures=$((failures + 1))
  echo "FAIL $1 has $2"
}

s=$work/hostile.bin
"${writer[@]}" "--write=$s" || exit 1

ok "the page is embedded" bash "$here/../examples/html/embed.sh" --check

exits 0 --format=html "$s"
cp "$work/out" "$work/page.html"
has page.html "Content-Security-Policy"
ok "one page" test "$(grep -c '</html>' "$work/page.html")" = 1
ok "two ends of scripts" test "$(grep -c '</script>' "$work/page.html")" = 2
lacks page.html "</script><script>window"
lacks page.html "hunter2"
lacks page.html "@MODEL@"
ok "nothing is loaded" bash -c \
  "! grep -nE '(src|href)=|url\(|@import|https?:' '$work/page.html' |
   grep -vE 'w3.org/2000/svg|createElementNS|onerror='"
exits 0 --format=html --show-source "$s"
has out "hunter2"

exits 0 --format=folded --metric=alloc "$s"
ok "folded sums to the total" test \
  "$(awk '{ n += $NF } END { print n }' "$work/out")" = 12000
exits 0 --format=folded --metric=alloc.count --min-share=50 "$s"
ok "pruned sums to the total" test \
  "$(awk '{ n += $NF } END { print n }' "$work/out")" = 120
has out "(pruned)"
exits 0 --format=speedscope "$s"
has out "speedscope.app/file-format-schema.json"
exits 0 --format=pprof -o "$work/p.pb" "$s"
ok "pprof's types" grep -qa inuse_space "$work/p.pb"

exits 0 --diff "$s" "$s"
has out "all: +0B (10600B to 10600B)"
exits 0 --diff="$s" --format=folded --metric=alloc "$s"
ok "two numbers a line" test \
  "$(awk '$NF != $(NF-1)' "$work/out" | wc -l)" = 0
exits 0 --diff="$s" --from=3 --to=20 --leak-only "$s"
has out "HEAP SUMMARY, compared:"
lacks out "ALLOCATIONS, compared:"
exits 0 --diff "$s" --format=html "$s"
has out '"old_title":'
exits 1 --diff "$work/none" "$s"
exits 1 --diff "$s" --format=classic "$s"
exits 1 --diff "$s" --format=speedscope "$s"
exits 1 --diff "$s" --format=json "$s"

exits 0 --budget=alloc:12000 "$s"
exits 3 --budget=alloc:11999 "$s"
has err "over budget alloc:11999: 12000"
exits 3 --budget=line.alloc.count:14 --format=html "$s"
exits 0 --budget=inuse:12K "$s"
exits 3 --budget=inuse:10K --budget=peak:1G "$s"
exits 0 --budget=inuse:100@nowhere "$s"
exits 3 --budget=inuse.count:9@stdin "$s"
head -c 900 "$s" >"$work/cut.bin"
exits 2 --budget=alloc:1 "$work/cut.bin"
has err "over budget"
exits 1 --budget=alloc:1 "$work/none"
for bad in alloc alloc: alloc:x all:1 alloc:1x line.:1 alloc:99999999999999999999
do exits 1 "--budget=$bad" "$s"; done
for bad in x 101 1.2.3 ''; do exits 1 "--min-share=$bad" "$s"; done
exits 1 --metric=none "$s"
for format in html pprof speedscope; do exits 1 --format=$format "$s" "$s"; done
exits 0 --format=folded "$s" "$s"
exits 1 --from=5x "$s"
exits 1 --from= "$s"
exits 1 --from=nowhere --budget=alloc:0 "$s"
exits 0 --to=2.5s "$s"
has err "remark: what --to names did not come"
exits 0 --to=20 "$s"
lacks err remark
exits 0 --to=1000 "$s"
has err "remark: what --to names did not come"
exits 1 --temp-within=0 "$s"
exits 1 --temp-within=257 "$s"
exits 0 --temp-within=8 --lifetimes --format=html "$s"
has out '"lives":['
has out 'less than 4 KiB'
exits 0 --temp-within=256 "$s"
has out "freed within 256 allocations: 14 blocks, 1400B"
exits 0 "$s"
has out "freed by the next event: 0 blocks, 0B"
exits 1 --diff

# Full and closed outputs are failures of the tool, not of the stream.
checks=$((checks + 1))
for format in html folded pprof speedscope; do
  "${ljparse[@]}" --format=$format "$s" >/dev/full 2>"$work/err"
  [ $? = 1 ] || { failures=$((failures + 1)); echo "FAIL $format to a full disk"; }
done

echo "$checks checks, $failures failures"
[ $failures = 0 ]
