#!/usr/bin/env bash
# ljparse from the command line: exit codes, what goes where, several files,
# standard input, output that fails.
#   parse_cli.sh LJPARSE
# LJM_EMULATOR: what runs it, with options, where the machine itself cannot.
set -uo pipefail
read -ra ljparse <<<"${LJM_EMULATOR:-}"
ljparse+=("$(realpath "$1")")
seeds=$(cd "$(dirname "$0")/../fuzz/corpus/stream" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0 failures=0

fail() { failures=$((failures + 1)); echo "FAIL $*"; head -3 err; }
# exits CODE ARGUMENTS...: output in out, messages in err.
exits() {
  local want=$1 have=0
  shift
  checks=$((checks + 1))
  "${ljparse[@]}" "$@" >out 2>err || have=$?
  [ "$have" = "$want" ] || fail "exit code $have, want $want: ljparse $*"
}
has() { # FILE TEXT
  checks=$((checks + 1))
  grep -qF -- "$2" "$1" || fail "$1 lacks: $2"
}
empty() {
  checks=$((checks + 1))
  [ ! -s "$1" ] || fail "$1 is not empty"
}

cp "$seeds/v1v1.bin" good.bin
head -c -1 good.bin >cut.bin
{ cat good.bin; echo; } >after.bin
printf 'text' >text.bin
: >nothing.bin
mkdir folder
size=$(wc -c <cut.bin)

exits 0 good.bin
has out "HEAP SUMMARY:"
has out "TOTALS:"
empty err
exits 0 --leak-only --human-readable good.bin
exits 0 --format=classic good.bin
exits 0 --format=json --by=file --sort=name --limit=3 good.bin
has out '"by": "file"'
exits 0 "$seeds/v3v3.bin"
has err "remark: 1 stray records"
exits 0 --help
has out "usage: ljparse"
exits 0 --version

exits 2 cut.bin
has err "cut.bin: cut at byte $size"
has out "HEAP SUMMARY:"
has out "incomplete: cut at byte $size"
exits 2 after.bin
has err "malformed at byte $((size + 1))"
has out "HEAP SUMMARY:"
exits 2 text.bin
has err "text.bin: no recording of a memory profiler: malformed at byte 0"
exits 2 nothing.bin
has err "cut at byte 0"
exits 2 "$seeds/version5.bin"
has err "version 5"

exits 1 missing.bin
has err "missing.bin: cannot open: No such file or directory"
exits 1 folder
has err "folder: cannot read"
exits 1 --no-such-option good.bin
has err "unknown option: --no-such-option"
# Every option that takes its value behind an equals sign says so.
"${ljparse[@]}" --help | grep -oE '^  --[a-z-]+=' | tr -d ' =' >valued
[ "$(wc -l <valued)" -ge 10 ] || fail "only $(wc -l <valued) options in --help"
while read -r option; do
  exits 1 "$option" html good.bin
  has err "write the value behind an equals sign: $option=html"
done <valued
exits 1 --format=xml good.bin
exits 1 --by=week good.bin
exits 1 --sort=size good.bin
exits 1 --limit=0 good.bin
exits 1 --limit=3x good.bin
exits 1 -o
empty out

# Several files: one report each; of several failures the lowest code.
exits 0 good.bin good.bin
has out "==> good.bin <=="
[ "$(grep -c 'HEAP SUMMARY:' out)" = 2 ] || fail "not two reports"
exits 2 good.bin cut.bin
exits 1 cut.bin missing.bin good.bin
[ "$(grep -c 'HEAP SUMMARY:' out)" = 2 ] || fail "a file was left out"

# Standard input, named or not; nothing at all is wrong usage.
exits 0 - <good.bin
cp out named
exits 0 <good.bin
checks=$((checks + 1))
cmp -s out named || fail "standard input says something else"
exits 1 </dev/null
has err "no file given"
exits 2 - </dev/null

# Output.
exits 0 -o report.txt good.bin
empty out
checks=$((checks + 1))
cmp -s report.txt named || fail "-o writes something else"
exits 1 -o folder/none/report.txt good.bin

# A file of -o keeps its content when there is nothing to report, and a
# recording is never written over by its own report.
keeps() { # FILE CODE ARGUMENTS...
  local file=$1 code=$2
  shift 2
  cp "$file" kept
  exits "$code" "$@"
  checks=$((checks + 1))
  cmp -s "$file" kept || fail "$file was changed: ljparse $*"
}
ln -s good.bin link.bin
for format in text json html folded; do
  for input in missing.bin folder; do
    keeps report.txt 1 "--format=$format" -o report.txt "$input"
  done
  for input in text.bin nothing.bin; do
    keeps report.txt 2 "--format=$format" -o report.txt "$input"
  done
  keeps good.bin 1 "--format=$format" -o good.bin good.bin
  keeps good.bin 1 "--format=$format" -o link.bin good.bin
done
for format in text html folded pprof; do
  keeps report.txt 1 "--format=$format" -o report.txt --diff missing.bin \
    good.bin
done
has err "missing.bin: cannot open"
exits 1 --format=json good.bin good.bin
has err "take one FILE"
exits 1 --from=no-such-mark good.bin
has err "no event lies between --from and --to"
if [ -c /dev/full ]; then
  for format in text html; do
    exits 1 --format=$format -o /dev/full good.bin
    has err "/dev/full: cannot write: No space left on device"
    checks=$((checks + 1))
    [ "$(wc -l <err)" = 1 ] || fail "a full disk is told twice"
  done
fi
checks=$((checks + 1))
"${ljparse[@]}" good.bin >&- 2>err && fail "a closed output is no failure"
cp good.bin -- -dash.bin
exits 0 -- -dash.bin

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
