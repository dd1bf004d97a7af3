#!/usr/bin/env bash
# load.sh LJRECORD [ROUNDS] - by hand: what recording costs an nginx with Lua:
# processor time of its workers for each request, in microseconds, median of
# the rounds, in each way, all ways in each round. Also nvim's plugin script.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
record=$1 rounds=${2:-5} requests=${REQUESTS:-20000}
dir=$(mktemp -d)
chmod 1777 "$dir"
trap 'rm -rf "$dir"' EXIT
port=$((20000 + $$ % 20000))
ways=(plain off exact stacks sample)
cat >"$dir/nginx.conf" <<END
include /etc/nginx/modules-enabled/*.conf;
worker_processes 2;
daemon off;
pid $dir/pid;
error_log $dir/error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path $dir/t; proxy_temp_path $dir/t;
  fastcgi_temp_path $dir/t; uwsgi_temp_path $dir/t; scgi_temp_path $dir/t;
  lua_package_path "$here/?.lua;;";
  server {
    listen 127.0.0.1:$port;
    location / { content_by_lua_block { require("app").run() } }
  }
}
END

# as WAY COMMAND...: "off" is the patched library, recording nothing. Without
# ljrecord, whose own time is not the program's.
as()
{
  local way=$1 lib path words
  shift
  read -r lib path <"$dir/off"
  case $way in
    plain) "$@"; return ;;
    off) words= ;;
    exact) words=file=$dir/p.%p ;;
    stacks) words=stacks,file=$dir/p.%p ;;
    sample) words=stacks,sample=512k,file=$dir/p.%p ;;
  esac
  LD_LIBRARY_PATH=$lib LUA_PATH=$path LJMEMPROF=$words "$@"
}

# Microseconds that the workers took for a request.
serve()
{
  as "$1" nginx -e "$dir/start.log" -c "$dir/nginx.conf" &
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.1; done
  ab -q -n 2000 -c 4 "http://127.0.0.1:$port/" >/dev/null
  local before after
  before=$(ticks)
  ab -q -n "$requests" -c 4 "http://127.0.0.1:$port/" >/dev/null
  after=$(ticks)
  kill -QUIT "$(cat "$dir/pid")"
  wait $!
  rm -f "$dir"/p.*
  awk -v t=$((after - before)) -v n="$requests" -v hz="$(getconf CLK_TCK)" \
    'BEGIN { printf "%.2f\n", t / hz / n * 1e6 }'
}

ticks()
{
  local pid sum=0 f
  for pid in $(pgrep -P "$(cat "$dir/pid")"); do
    read -r -a f < <(sed 's/.*) //' "/proc/$pid/stat")
    sum=$((sum + f[11] + f[12]))
  done
  echo $sum
}

edit()
{
  local t
  t=$( { TIMEFORMAT='%U %S'
         time as "$1" nvim --headless -u NONE -i NONE \
           -c "luafile $here/plugin.lua" -c qa! >/dev/null 2>&1
       } 2>&1 )
  rm -f "$dir"/p.*
  awk '{ print ($1 + $2) * 1000 }' <<<"$t"
}

"$record" -q -o "$dir/p.%p" sh -c 'echo "${LD_LIBRARY_PATH%%:*} $LUA_PATH"' \
  >"$dir/off" 2>/dev/null
for _ in $(seq "$rounds"); do
  for way in "${ways[@]}"; do
    serve "$way" >>"$dir/nginx.$way"
    edit "$way" >>"$dir/nvim.$way"
  done
done
for what in nginx nvim; do
  base=
  for way in "${ways[@]}"; do
    median=$(sort -n "$dir/$what.$way" | awk '{ v[NR] = $1 }
                                              END { print v[int((NR + 1) / 2)] }')
    : "${base:=$median}"
    awk -v w="$what" -v way="$way" -v m="$median" -v b="$base" 'BEGIN {
      printf "%-6s %-7s %8.2f %s  %.2f x\n", w, way, m,
             w == "nginx" ? "us/request" : "ms", m / b }'
  done
done
