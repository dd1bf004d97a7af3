#!/usr/bin/env bash
# real.sh HOST LJRECORD LJPARSE - a stock program of the distribution, under
# ljrecord: the profile has the right lines and C functions, the program does
# what it does. HOST is nvim, nginx, sysbench, or kresd. Loopback only.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$(dirname "$here")")
host=$1 record=$2 parse=$3
dir=$(mktemp -d)
trap '[ -n "${KEEP:-}" ] || rm -rf "$dir"' EXIT
export TMPDIR=$dir LC_ALL=C
bad=0

fail() { echo "FAIL $*"; bad=1; }
ok() { echo "ok   $*"; }
equal() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: $2, want $3"; fi; }

# fit PROGRAM ARGS...: builds trees until one fits the system's library.
fit()
{
  local tree
  for tree in debian-2022 openresty-2023 openresty-2025; do
    if timeout 60 "$record" -q -o "$dir/fit.bin" -- "$@" >"$dir/fit" 2>&1
    then return; fi
    if ! grep -qE 'is missing from|no patched library' "$dir/fit"; then break
    fi
    bash "$top/luajit-patch/build.sh" "$tree" >/dev/null
  done
  timeout 60 "$record" -q -o "$dir/fit.bin" -- "$@" >"$dir/fit" 2>&1 || {
    cat "$dir/fit"
    echo "real.sh: no tree fits $1"
    exit 1
  }
}

# report FILE: its text in report.txt.
report()
{
  "$parse" -o "$dir/report.txt" "$1" || fail "ljparse $1"
}

# events PATTERN: events of the allocations whose label matches.
events()
{
  awk -v re="$1" '/^ALLOCATIONS/ { on = 1 } /^$/ { on = 0 }
                  on && $0 ~ re { sub(/.*: /, ""); n += $1 }
                  END { print n + 0 }' "$dir/report.txt"
}

# between NAME N LOW HIGH
between()
{
  if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then ok "$1"
  else fail "$1: $2, want $3 to $4"; fi
}

# The library's own functions have names; a stripped program's have the
# program's name and the distance, never that of another.
symbols()
{
  between libraries "$(events '^luaopen_base:0x')" 20 400
  if grep -qE "$1" "$dir/report.txt"; then ok functions
  else fail "functions: none like $1"; fi
}

nvim()
{
  local args=(--headless -u NONE -i NONE -c "luafile $here/plugin.lua" -c qa!)
  fit nvim --headless -u NONE -c qa!
  timeout 60 "$record" --stacks -o "$dir/p.bin" nvim "${args[@]}" 2>"$dir/err"
  grep -q 'recorded .*p.bin' "$dir/err" || fail "recorded: $(cat "$dir/err")"
  report "$dir/p.bin"
  between kept "$(events 'plugin.lua:5: ')" 1000 1020
  between temporary "$(events 'vim/shared.lua:')" 20000 1000000
  symbols '(/nvim\+0x|^nlua_|^nvim_)[0-9a-z_:]+: '
  "$parse" --format=folded --metric=alloc.count -o "$dir/folded" "$dir/p.bin"
  if grep -q 'plugin.lua:11.*shared.lua' "$dir/folded"; then ok stacks
  else fail "stacks: no path from plugin.lua:11 to shared.lua"; fi
  "$parse" --leak-only -o "$dir/report.txt" "$dir/p.bin"
  if grep -q 'plugin.lua:5 holds' "$dir/report.txt"; then ok leak
  else fail "leak: plugin.lua:5 is not among what is held"; fi
}

# A port that nobody listens on.
free_port()
{
  local port
  for port in $(seq $((20000 + $$ % 20000)) 65000); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

nginx()
{
  local port
  port=$(free_port)
  cat >"$dir/nginx.conf" <<END
include /etc/nginx/modules-enabled/*.conf;
worker_processes 2;
daemon off;
pid $dir/pid;
error_log $dir/error.log info;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path $dir/tmp; proxy_temp_path $dir/tmp;
  fastcgi_temp_path $dir/tmp; uwsgi_temp_path $dir/tmp;
  scgi_temp_path $dir/tmp;
  lua_package_path "$here/?.lua;;";
  server {
    listen 127.0.0.1:$port;
    location / { content_by_lua_block { require("app").run() } }
  }
}
END
  chmod 755 "$dir"
  fit nginx -t -e "$dir/start.log" -c "$dir/nginx.conf"
  timeout 120 "$record" -o "$dir/p.bin" nginx -e "$dir/start.log" \
    -c "$dir/nginx.conf" 2>"$dir/err" &
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 $! || { cat "$dir/err"; exit 1; }
    sleep 0.1
  done
  timeout 60 ab -q -n 4000 -c 4 "http://127.0.0.1:$port/" >"$dir/ab"
  equal requests "$(awk '/^Complete requests/ { print $3 }' "$dir/ab")" 4000
  equal failures "$(awk '/^Failed requests/ { print $3 }' "$dir/ab")" 0
  kill -QUIT "$(cat "$dir/pid")"
  wait $!
  equal profiles "$(ls "$dir"/p.bin.* | wc -l)" 3
  local f kept=0 text=0 n
  for f in "$dir"/p.bin.*; do
    report "$f"
    n=$(events 'app.lua:7: ')
    kept=$((kept + n))
    n=$(events 'app.lua:14: ')
    text=$((text + n))
  done
  # Four entries a request, each a table and its hash part, and the growing
  # list of each worker. String parts are new but for the first of each.
  between kept "$kept" 32000 32200
  between text "$text" 100 400000
  report "$(ls "$dir"/p.bin.* | head -n 1)"
  symbols '^lj_cf_package_(loader_lua|require):0x'
}

sysbench()
{
  fit sysbench --version
  timeout 60 "$record" -o "$dir/p.bin" sysbench "$here/sysbench.lua" \
    --threads=3 --events=3000 --time=10 run >"$dir/out" 2>"$dir/err"
  local f n=0 all=0
  for f in "$dir"/p.bin*; do
    report "$f"
    n=$(events 'sysbench.lua:3: ')
    all=$((all + n))
  done
  between kept "$all" 3000 3200
  between threads "$(ls "$dir"/p.bin* | wc -l)" 4 8
  symbols '(/sysbench\+0x|^sb_lua|^\(host C code\))'
}

# A DNS question, asked over UDP; prints how many bytes came back.
ask()
{
  local q='\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03foo\x03com\x00'
  exec 5<>"/dev/udp/127.0.0.1/$1"
  printf "$q"'\x00\x01\x00\x01' >&5
  timeout 5 head -c 25 <&5 | wc -c
  exec 5>&-
}

kresd()
{
  local answers=0 pid
  TEST_PORT=$(free_port)
  export TEST_PORT
  mkdir "$dir/run"
  fit kresd --version
  timeout 120 "$record" -o "$dir/p.bin" kresd -n -q -c "$here/kresd.lua" \
    "$dir/run" >"$dir/out" 2>"$dir/err" &
  pid=$!
  for _ in $(seq 100); do
    [ "$(ask "$TEST_PORT" 2>/dev/null)" = 25 ] && break
    sleep 0.1
  done
  for _ in $(seq 50); do
    [ "$(ask "$TEST_PORT")" = 25 ] && answers=$((answers + 1))
  done
  equal answers "$answers" 50
  kill "$(pgrep -x kresd -P "$(pgrep -P $pid)")"
  wait $pid
  report "$dir/p.bin"
  # A table and its hash part each; the first question may have come early.
  between kept "$(events 'kresd.lua:5: ')" 100 140
  symbols '(/kresd\+0x|libkres[^ ]*\+0x|^engine_|^l_|^\(host C code\))'
}

for tool in "$host" ${needs:-}; do
  type -P "$tool" >/dev/null || { echo "real.sh: no $tool"; exit 1; }
done
"$host"
exit $bad
