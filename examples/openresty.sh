#!/usr/bin/env bash
# openresty.sh - what does a request leave behind? Records a stock nginx with
# Lua and two workers under load, and prints what each worker still held when
# it ended. Needs nginx, its Lua module and ab; ljrecord and ljparse in PATH; a
# tree that fits the system's library: luajit-patch/build.sh openresty-2023.
#
# A server that runs already: start it by
#   ljrecord --wait --sample=512k -o /var/tmp/ngx.%p nginx -g 'daemon off;'
# then ljrecord --start PID, --snapshot PID, --stop PID of a worker, any time.
set -euo pipefail
dir=$(mktemp -d)
chmod 755 "$dir"
trap 'rm -rf "$dir"' EXIT
port=$((20000 + $$ % 20000))

# Stands for an application: a cache without a limit.
cat >"$dir/cache.lua" <<'END'
local cache = {}
return function(key)
  local entry = cache[key]
  if not entry then
    entry = { key = key, text = string.rep(key, 100) }
    cache[key] = entry
  end
  return entry.text
end
END
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
  lua_package_path "$dir/?.lua;;";
  server {
    listen 127.0.0.1:$port;
    location / {
      content_by_lua_block { ngx.say(require("cache")(tostring(ngx.now()))) }
    }
  }
}
END

ljrecord -o "$dir/nginx.%p.bin" nginx -e "$dir/start.log" -c "$dir/nginx.conf" &
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  kill -0 $!
  sleep 0.1
done
ab -q -n 5000 -c 4 "http://127.0.0.1:$port/" | grep '^Requests per second'
kill -QUIT "$(cat "$dir/pid")"
wait $!

for profile in "$dir"/nginx.*.bin; do
  # The master never ran a request.
  ljparse --leak-only --human-readable "$profile" >"$dir/report"
  grep -q '/cache.lua:5 ' "$dir/report" || continue
  echo "worker $(basename "$profile" .bin) held:"
  sed -n '2,4p' "$dir/report"
done
