#!/usr/bin/env bash
# refused.sh LJPARSE LUAJIT - a VM that starts by its environment when the
# system refuses what it asks for: each call of a kind fails in turn. The host
# runs as ever, and a stream that there is is whole.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
parse=$1
tree=$(cd "$(dirname "$2")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc=${CC:-gcc}
bad=0
cd "$dir"
"$cc" -w -O1 "$here/host.c" -I "$tree/source/src" -o host \
  "$tree/lib/libluajit-5.1.so.2" -lpthread
"$cc" -w -O1 -shared -fPIC "$here/refuse.c" -o refuse.so -ldl
export LD_LIBRARY_PATH=$tree/lib

fail() { echo "FAIL $*"; bad=1; }
ok() { echo "ok   $*"; }

# refuse NAME AT COMMAND...: call AT of NAME fails; is there such a call? What
# the command comes to is in `rc`, its outputs in `out` and `err`.
refuse()
{
  local name=$1 at=$2
  shift 2
  rm -f told log ./*.bin
  rc=0
  env "REFUSE=$name" "REFUSE_AT=$at" REFUSE_TOLD=told "LD_PRELOAD=./refuse.so" \
    "$@" >out 2>err || rc=$?
  [ -e told ]
}

# whole NAME AT: the host ended well, and so did its stream, if there is one; or
# the log tells why not.
whole()
{
  local read=0
  [ $rc = 0 ] || { fail "$1 $2: the host's status is $rc: $(cat err)"; return; }
  [ -e a.bin ] || return 0
  "$parse" a.bin >report.txt 2>parse.err || read=$?
  [ $read = 0 ] || grep -qE '^fail|writing failed' log ||
    fail "$1 $2: $(cat parse.err log)"
}

# each NAME STEP COMMAND...: call 1, 2, ... of NAME fails, each of the first
# 16, then every STEPth one; sets `last`, the last call there was.
each()
{
  local name=$1 step=$2 at=1
  shift 2
  last=0
  while refuse "$name" $at "$@"; do
    whole "$name" $at
    last=$at
    at=$((at < 16 ? at + 1 : at + step))
  done
}

# A start, orders and an end: what the log says instead.
export LJMEMPROF=log=log,control,file=a.bin
for call in memfd_create fchmod ftruncate fcntl mmap; do
  refuse $call 1 ./host run 100 || fail "$call: not called"
  whole $call 1
  if grep -q '^fail.*control is not possible here$' log &&
     grep -q '^end.*VM closed' log && [ -e a.bin ]; then ok "$call"
  else fail "$call: $(cat log)"; fi
done
each fstat 1 ./host run 100
if [ $last -ge 5 ]; then ok "fstat, $last calls"; else fail "fstat: $last"; fi
refuse fstat 1 ./host run 100
if grep -q 'log=log" is not understood' err && [ ! -e a.bin ]; then ok "no log"
else fail "no log: $(cat err)"; fi

# Memory of the recorder, and of the notes on traces. The program has traces
# with many lines that allocate, and objects that a trace makes when it is left.
cat >code.lua <<'END'
local lines = { 'local keep, n = ... ' }
for i = 1, 90 do lines[#lines + 1] = 'keep[' .. i .. '] = { n }\n' end
lines[#lines + 1] = 'local a, b, c = { n }, { x = n }, { n, n }\n'
lines[#lines + 1] = 'if n % 64 == 0 then keep[91], keep[92] = a, { b, c } end\n'
lines[#lines + 1] = 'return #a + b.x + #c\n'
local f = assert(loadstring(table.concat(lines), '=lines'))
local keep, sum = {}, 0
for i = 1, 500 do sum = sum + f(keep, i) end
print(sum, keep[91][1], keep[92][1].x)
END
export LJMEMPROF=log=log,file=a.bin
./host code code.lua >want
for call in malloc realloc; do
  each $call 9 ./host code code.lua
  if [ $last -ge 5 ]; then ok "$call, $last calls"; else fail "$call: $last"; fi
done

# Nothing for the recorder itself: the environment's, and one of a program.
refuse malloc 1 ./host run 10 || fail "malloc: not called"
if [ ! -s err ] && [ ! -e a.bin ]; then ok "no recorder"
else fail "no recorder: $(cat err)"; fi
unset LJMEMPROF
echo 'print(misc.memprof.start("a.bin"))' >start.lua
refuse malloc 1 ./host code start.lua || fail "malloc: not called by start"
case $(cat out) in
  nil*memory*) ok "no start" ;;
  *) fail "no start: $(cat out err)" ;;
esac
exit $bad
