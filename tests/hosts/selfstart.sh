#!/usr/bin/env bash
# selfstart.sh LJRECORD LJPARSE LUAJIT - a host that knows nothing of the
# profiler on the real patched library: start by the environment, several VMs,
# threads, children, files closed behind our back, orders from outside.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
record=$1 parse=$2
tree=$(cd "$(dirname "$3")/.." && pwd)
dir=$(mktemp -d)
chmod 755 "$dir"
trap 'rm -rf "$dir"' EXIT
cc=${CC:-gcc}
bad=0
cd "$dir"
"$cc" -w -O1 "$here/host.c" -I "$tree/source/src" -o host \
  "$tree/lib/libluajit-5.1.so.2" -lpthread
export LD_LIBRARY_PATH=$tree/lib TMPDIR=$dir LUA_PATH="./?.lua"

fail() { echo "FAIL $*"; bad=1; }
ok() { echo "ok   $*"; }

# equal NAME HAVE WANT
equal() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: $2, want $3"; fi; }

# kept FILE: how many allocations the profile has at the line that keeps, JIT
# or not, by the start of the lines of the report.
kept()
{
  local rc=0
  "$parse" --format=text -o report.txt "$1" 2>parse.err || rc=$?
  [ $rc = 0 ] || [ $rc = "${2:-0}" ] || { echo "ljparse: $rc"; return; }
  awk '/^ALLOCATIONS/ { on = 1 } /^$/ { on = 0 }
       on && /kept:[23]/ { sub(/.*: /, ""); n += $1 }
       END { print n + 0 }' report.txt
}

# await COMMAND...: until it succeeds; gives up after 30 s.
await()
{
  local n
  for ((n = 0; n < 1500; n++)); do
    if "$@"; then return; fi
    sleep 0.02
  done
  fail "waited in vain for: $*"
  exit 1
}

# serve ARGUMENTS...: a serving host under ljrecord; sets pid and host. The
# file is emptied here, since the shell in the background does it too late:
# what the host before this one said would be taken for this one's.
serve()
{
  : >out
  "$record" "--library=$tree" "$@" ./host serve >out 2>err &
  pid=$!
  await grep -q ready out
  host=$(pgrep -P $pid)
}
idle() { "$record" --status "$host" >answer && grep -q idle answer; }

# The table, and now and then the array it goes to.
near() { [ "$1" -ge "$2" ] && [ "$1" -le $(($2 + $2 / 4 + 40)) ]; }

LJMEMPROF="log=log,file=a,b.bin" ./host run 1000
n=$(kept a,b.bin)
if near "$n" 1000; then ok run; else fail "run: $n events"; fi
equal log "$(awk '{ print $1, $3 }' log | tr '\n' ' ')" "begin 1 end 1 "
if grep -q "VM closed" log; then ok reason; else fail "reason: $(cat log)"; fi

rm -f log
LJMEMPROF="log=log,file=open.bin" ./host open 1000
if near "$(kept open.bin)" 1000; then ok open; else fail "open"; fi
if grep -q "process exit" log; then ok exit; else fail "exit: $(cat log)"; fi

for value in file=no/x stack,file=x vms=0,file=x control "x" "file=" \
             "vms=9999999999999999999999,file=x" "log=,file=x" "sample=/,file=x" \
             "sample=:,file=x" "sample=k,file=x" "sample=5x,file=x" \
             "sample=1kk,file=x" "stacks=0,file=x" "log=log,file=x" \
             "sample=99999999999g,file=x" "stacks=5000,file=x" \
             "stacks=5000000000,file=x"; do
  rm -f log
  LJMEMPROF="log=log,$value" ./host run 10 2>/dev/null
  if grep -q '^fail' log && [ ! -e x ]; then ok "refused $value"
  else fail "refused $value: $(cat log)"; fi
done
LJMEMPROF="" ./host run 10
ok empty
LJMEMPROF="stacks=4,vms=5000000000,file=numbers.bin" ./host run 1000
n=$(kept numbers.bin)
if near "$n" 1000; then ok numbers; else fail "numbers: $n events"; fi
LJMEMPROF="sample=64k,file=100%%.bin" ./host run 1000
if "$parse" 100%.bin >/dev/null; then ok unit; else fail "unit: $(ls)"; fi

# Standard error hears of a wrong value, and of what no log takes, once.
# heard NAME VALUE WANT: what a host with several VMs says.
heard() { equal "hears of $1" "$(LJMEMPROF=$2 ./host vms 5 2>&1 >/dev/null)" "$3"; }
heard word "stack,file=x" \
  'ljmemprof: LJMEMPROF: "stack" is not understood; nothing is recorded'
heard control $'\e[1m,file=x' \
  'ljmemprof: LJMEMPROF: "?[1m" is not understood; nothing is recorded'
heard number "sample=0,file=x" \
  'ljmemprof: LJMEMPROF: "sample=0" is not understood; nothing is recorded'
heard "no file" "stacks" \
  'ljmemprof: LJMEMPROF: no file=PATH at its end; nothing is recorded'
heard "no name" "stacks,file=" \
  'ljmemprof: LJMEMPROF: "file=" is not understood; nothing is recorded'
heard folder "file=no/x" \
  'ljmemprof: no/x: No such file or directory; nothing is recorded'
heard DEL $'a\177b,file=x' \
  'ljmemprof: LJMEMPROF: "a?b" is not understood; nothing is recorded'
heard "a log nowhere" "log=no/log,file=no/x" \
  'ljmemprof: no/x: No such file or directory; nothing is recorded'
zeros=$(printf %05000d 0)
for value in "$zeros,file=x" "log=$zeros,file=x" "file=$zeros"; do
  heard "5000 zeros" "$value" "ljmemprof: LJMEMPROF: \"${value:0:64}\" is not\
 understood; nothing is recorded"
done
heard "a log" "log=log,file=no/x" ''
heard "a log and a word" "log=log,stack,file=x" \
  'ljmemprof: LJMEMPROF: "stack" is not understood; nothing is recorded'
# ends NAME COMMAND...: it does, well.
ends()
{
  local name=$1 rc=0
  shift
  "$@" || rc=$?
  if [ $rc = 0 ]; then ok "$name"; else fail "$name: $rc"; fi
}
export LJMEMPROF=stack
ends "nobody hears" ./host run 10 2>&-
ends "nobody listens" ./host run 10 2> >(exec true)
# A pipe that is full: the host does not wait for its reader.
mkfifo full
exec 7<>full
dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>dd.err || true
ends "nobody reads" timeout 60 ./host run 10 2>&7
exec 7>&-
unset LJMEMPROF
rm -f log

rm -f log
LJMEMPROF="log=log,file=t.bin" ./host threads 200
equal threads "$(grep -c '^end.*VM closed' log)" 8
n=0
for f in t.bin t.bin.{2..8}; do near "$(kept $f)" 200 && n=$((n + 1)); done
equal threads_right "$n" 8

rm -f log
LJMEMPROF="log=log,vms=5,file=v.bin" ./host vms 20
equal limit "$(grep -c ^begin log) $(ls v.bin* | wc -l)" "5 5"

# Each worker has a file of its own; the parent's ends as if nothing were.
rm -f log
LJMEMPROF="log=log,file=w.%p.bin" ./host workers 300
equal workers "$(grep -c '^end.*VM closed' log)" 4
n=0
for f in w.*.bin; do near "$(kept "$f")" 300 && n=$((n + 1)); done
equal workers_right "$n" 3

rm -f log w.*
LJMEMPROF="log=log,file=w.bin" ./host workers 300
equal not_followed "$(grep -c ^begin log) $(ls w.bin*)" "1 w.bin"
near "$(kept w.bin)" 10 && ok parent || fail "parent: $(kept w.bin)"

# The same where each takes orders; where all wait for one; where there was
# nothing to go on with; and where the children's files cannot be.
rm -f log w.*
LJMEMPROF="log=log,control,file=w.%p.bin" ./host workers 300
equal workers_control "$(grep -c '^end.*VM closed' log)" 4
n=0
for f in w.*.bin; do near "$(kept "$f")" 300 && n=$((n + 1)); done
equal workers_control_right "$n" 3
rm -f log w.*
LJMEMPROF="log=log,wait,file=w.%p.bin" ./host workers 300
equal workers_wait "$(cat log; compgen -G 'w.*' || true)" ""
LJMEMPROF="log=log,file=no/%p" ./host workers 300
equal workers_nothing "$(grep -c ^fail log) $(grep -c ^begin log)" "1 0"
rm -f log
LJMEMPROF="log=log,control,file=%p/w.bin" \
  bash -c 'mkdir $$ && exec ./host workers 300'
equal workers_nowhere "$(grep -c ^fail log) $(grep -c ^end log)" "3 1"

# Killed workers: what was written can be read, and the parent's is whole.
rm -f log
LJMEMPROF="log=log,file=k.%p.bin" ./host killed 200000
equal killed "$(grep -c ^begin log) $(grep -c ^end log)" "4 1"
n=0
for f in k.*.bin; do
  case $(kept "$f" 2) in ljparse*) ;; [0-9]?????*) n=$((n + 1)) ;; esac
done
equal killed_readable "$n" 3

# Nothing of ours goes into files that the host opened under our numbers.
rm -f log
LJMEMPROF="log=log,control,file=c.bin" ./host closing 20000 theirs
equal closing "$(wc -c <theirs)" 0
rm -f log
LJMEMPROF="log=log,control,file=c.bin" ./host closing 20000 /dev/null
equal closing_device "$(grep -c ^begin log) $(grep -c ^end log)" "1 0"

# The host's own allocator stays, whether something is recorded or not.
for word in control wait; do
  rm -f log
  LJMEMPROF="log=log,$word,file=r.bin" ends "replaced, $word" \
    ./host replaced 100
  [ $word = wait ] || equal replaced_log \
    "$(sed -nE 's/^end.*\t(.*), [0-9]+ bytes/\1/p' log)" \
    "allocator replaced by the host"
done

# What stands in the page comes from outside, too.
LJMEMPROF="wait,file=o.bin" ends orders ./host orders
LJMEMPROF="wait,file=o.bin" ends swept ./host swept

# Privileges that the user lacks: nothing is recorded, nothing is written.
if [ "$(id -u)" = 0 ]; then
  rm -f log
  cp host priv
  # In a place that another user can read, as the tree's need not be.
  mkdir lib
  cp "$tree/lib/libluajit-5.1.so.2" lib/
  chown 65533:65533 priv
  chmod 2755 priv
  # The loader ignores LD_LIBRARY_PATH here: the path is built in.
  "$cc" -w -O1 "$here/host.c" -I "$tree/source/src" -o priv.new \
    "$tree/lib/libluajit-5.1.so.2" -lpthread "-Wl,-rpath,$dir/lib"
  cat priv.new >priv
  chmod 2755 priv
  mkdir -m 777 open
  touch open/log && chmod 666 open/log
  LJMEMPROF="log=open/log,file=$dir/open/p.bin" \
    setpriv --reuid=65534 --regid=65534 --clear-groups ./priv.new run 10
  equal unprivileged "$(grep -c ^begin open/log)" 1
  rm -f open/p.bin; : >open/log
  LJMEMPROF="log=open/log,file=$dir/open/p.bin" \
    setpriv --reuid=65534 --regid=65534 --clear-groups ./priv run 10
  equal privileged "$(cat open/log)$(ls open)" "log"
else
  echo "NOT RUN: privileged: only root can make a setgid program of others"
fi

# compiled NAME SOURCE [FLAG]: a program on the library as it is, or with the
# recorder compiled with a flag.
compiled()
{
  cp "$tree/lib/libluajit-5.1.a" "$1.a"
  if [ $# = 3 ]; then
    "$cc" -w -O1 "$3" -I "$tree/source/src" -c "$tree/source/src/lj_memprof.c"
    ar r "$1.a" lj_memprof.o
  fi
  "$cc" -w -O1 "$2" -I "$tree/source/src" -o "$1" "$1.a" -Wl,-E -lm -ldl \
    -lpthread
}

# Start by the environment left out: nothing starts, nothing is said.
compiled with "$here/host.c"
compiled without "$here/host.c" -DLJM_NO_SELFSTART
for kind in with without; do
  LJMEMPROF="control,file=$kind.bin" ./$kind run 10
  LJMEMPROF="stack,file=x" ./$kind run 10 2>$kind.err
done
equal "compiled in" "$(ls with*.bin) $(wc -l <with.err)" "with.bin 1"
equal "compiled out" "$(cat without.err; find . -name 'without*.bin')" ""

# The resolver left out: C functions are addresses, in both formats.
compiled nameless "$tree/source/src/luajit.c" -DLJM_NO_RESOLVER
search="for i = 1, 100 do pcall(require, 'none' .. i) end"
LJMEMPROF=file=nameless.4 ./nameless -e "$search"
./nameless -e "assert(misc.memprof.start('nameless.3')) $search
               assert(misc.memprof.stop())"
for format in 3 4; do
  "$parse" nameless.$format >report.txt
  if grep -qE '^CFUNC 0x[0-9a-f]+: [1-9][0-9]{2,} events' report.txt &&
     ! grep -qE '^[a-zA-Z_0-9]+:0x|\+0x' report.txt; then ok "nameless $format"
  else fail "nameless $format: $(head -n 3 report.txt)"; fi
done

# Orders from outside, to a host under ljrecord.
serve -o s.bin
order()
{
  local rc=0
  "$record" "$1" "$host" >answer 2>&1 || rc=$?
  echo "$rc $(sed -E 's/, file [^ ]*(\.[0-9])?,/,/; s/[0-9]+ bytes/N bytes/' answer)"
}
equal page_mode "$(stat -L -c %a "$(find "/proc/$host/fd" -lname '/memfd:ljm*')")" 600
equal status "$(order --status)" \
  "0 VM 1: recording, N bytes written, 0 events dropped"
equal start_twice "$(order --start | head -n 1)" \
  "1 ljrecord: VM 1: it is being recorded already"
equal snapshot "$(order --snapshot | head -n 1)" \
  "0 VM 1: recording, N bytes written, 0 events dropped"
# The place that it tells holds a recording, which goes on.
place=$(sed -nE 's/^ljrecord: all events up to now are in (.*): read .*/\1/p' answer)
rc=0
"$parse" "$place" >report.txt 2>parse.err || rc=$?
equal snapshot_place "$rc" 2
if grep -q "^@\?kept:.* events" report.txt; then ok snapshot_read
else fail "snapshot_read: $(head -n 5 report.txt)"; fi
# ljrecord's own number stands for the host's, and for all other ones below.
equal launcher "$("$record" --status $pid | sed -E 's/, file .*//')" \
  "process $host, VM 1: recording"
equal stop "$(order --stop)" "0 VM 1: idle, N bytes written, 0 events dropped"
equal stop_twice "$(order --stop | head -n 1)" \
  "1 ljrecord: VM 1: it is not being recorded"
equal snapshot_idle "$(order --snapshot | head -n 1)" \
  "1 ljrecord: VM 1: it is not being recorded"
equal start "$(order --start)" \
  "0 VM 1: recording, N bytes written, 0 events dropped"
kill "$host"
rc=0
wait $pid || rc=$?
equal served "$rc $(grep -c '^ljrecord: recorded s.bin' err)" "0 2"
for f in s.bin.*; do
  if [ "$(kept "$f")" != "ljparse: 2" ]; then ok "whole ${f##*.}"
  else fail "$f: $(cat parse.err)"; fi
done

# Recording ends after a time, the host goes on; recording waits for an order.
serve --duration=0.3 -o d.bin
await idle
kill "$host"
wait $pid || fail "exit status $?: $(cat err)"
if grep -q 'recorded d.bin .*stopped' err; then ok duration
else fail "duration: $(cat err)"; fi

serve --wait -o e.bin
equal waits "$(order --status)" "0 VM 1: idle, N bytes written, 0 events dropped"
equal waited "$(order --start)" \
  "0 VM 1: recording, N bytes written, 0 events dropped"
kill "$host"
wait $pid || fail "exit status $?: $(cat err)"
if grep -q 'recorded e.bin .*VM closed' err; then ok late
else fail "late: $(cat err)"; fi
exit $bad
