#!/usr/bin/env bash
# e2e_ends.sh LUAJIT LJPARSE - however a program ends, its stream is whole, or
# says that it is cut and keeps what was flushed; the command line's messages.
set -euo pipefail
luajit=$1 ljparse=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAIL $*"; exit 1; }

# ends NAME WANT-STATUS-OF-LJPARSE OPTION CODE: runs CODE under -jmemprof.
ends()
{
  local name=$1 want=$2 option=$3 code=$4 status=0
  rm -f stream
  { "$luajit" "-jmemprof=stream,$option" -e "$code" >out || true; } 2>>out
  "$ljparse" -o report stream 2>err || status=$?
  [ $status = "$want" ] || { cat out err; fail "$name: ljparse exits $status"; }
  grep -q ' events' report || fail "$name: no events"
  echo "ok   $name ($option)"
}

work='local t = {} for i = 1, 5000 do t[i % 9] = { i } end '
for option in format=4 format=3; do
  ends end 0 $option "$work"
  ends os.exit 0 $option "$work os.exit(3)"
  ends os.exit-close 0 $option "$work os.exit(0, true)"
  ends error 0 $option "$work error('x')"
  ends stop 0 $option "$work require('jit.memprof').stop()"
  ends signal 2 $option,flush=0 "$work for i = 1, 9e4 do t[i % 9] = { i } end
    local f = io.open('/proc/self/stat') local pid = f:read('*n') f:close()
    os.execute('kill -9 ' .. pid)"
done

# Pending bytes go out when an event finds them too old.
"$luajit" "-jmemprof=stream,flush=0.05" -e 'local t
  for i = 1, 100 do t = { i } end
  local c = os.clock() while os.clock() - c < 0.1 do end
  for i = 1, 500 do t = { i } end
  os.execute("cp stream early")' || fail "flush"
[ "$(stat -c %s early)" -gt 500 ] || fail "nothing was flushed in time"
echo "ok   flush by time"

# A name with the process id; the default name.
"$luajit" '-jmemprof=out-%p' -e 'local t = {}'
ls out-[0-9]* >/dev/null || fail "no file of that name"
"$luajit" -jmemprof -e 'local t = {}'
[ -s memprof.bin ] || fail "no memprof.bin"
echo "ok   names"

# refused ARGUMENT TEXT
refused()
{
  local status=0
  "$luajit" "-jmemprof=$1" -e 'print("ran")' >out 2>&1 || status=$?
  if [ $status = 0 ] || grep -q '^ran' out; then fail "$1 is taken"; fi
  grep -qF -- "$2" out || { cat out; fail "$1: another message"; }
  echo "ok   $1: $(head -n 1 out | sed 's/.*luajit[^:]*: //')"
}
refused /nonexistent/x 'No such file or directory'
refused /dev/full 'No space left on device'
refused x,dpeth=3 "unknown option 'dpeth'"
refused x,y "unknown option 'y'"
refused x,depth=z "bad value for option 'depth'"
refused x,format=9 'invalid argument'

# The garbage collector runs as often as without.
pace='require("jit.memprof")
  local n = 0
  local function again() local p = newproxy(true)
    getmetatable(p).__gc = function() n = n + 1 again() end end
  again()
  local t for i = 1, 2e6 do t = { i } end
  print(n)'
without=$("$luajit" -joff -e "$pace")
with=$("$luajit" -joff -jmemprof=/dev/null -e "$pace")
if [ "$without" -lt 100 ] || [ $((with * 100)) -lt $((without * 95)) ] ||
   [ $((with * 95)) -gt $((without * 100)) ]; then
  fail "$without GC cycles without, $with with recording"
fi
echo "ok   GC cycles: $without without, $with with recording"
