#!/usr/bin/env bash
# launcher.sh LJRECORD - what ljrecord does around a host, with stub libraries:
# which library is chosen, what is refused, exit status, signals, names.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
cc=${CC:-gcc}
so=libluajit-5.1.so.2
export TMPDIR=$dir

# lib PATH WHICH [FLAGS]: a stub library.
lib()
{
  mkdir -p "$1"
  "$cc" -w -fPIC -shared "-Wl,-soname,$so" -DWHICH="\"$2\"" "${@:3}" \
    "$here/stub.c" -o "$1/$so"
}
lib "$dir/sys" host
lib "$dir/new" newer -DEXTRA
lib "$dir/2025" openresty -DEXTRA -Dlua_extra=lua_getexdata
lib "$dir/2023" openresty -DEXTRA -Dlua_extra=lua_getexdata \
  '-DWHICH="LuaJIT 2.1.0-beta3"'
mkdir -p "$dir/bin"
cp "$1" "$dir/bin/ljrecord"
lib "$dir/lib/ljmemprof/tree-a" tree-a -DPATCHED
lib "$dir/lib/ljmemprof/tree-b" tree-b -DPATCHED -DEXTRA
"$cc" -w "$here/stubhost.c" -o "$dir/host" "$dir/sys/$so"
"$cc" -w "$here/stubhost.c" -o "$dir/rpath" "$dir/sys/$so" \
  "-Wl,--disable-new-dtags,-rpath,$dir/sys"
"$cc" -w -DWHICH='"own"' "$here/stubhost.c" "$here/stub.c" -o "$dir/static" \
  -static
printf 'const char *v = "LuaJIT 2.1.0";\nint main(void) { return !v; }\n' \
  >"$dir/own.c"
"$cc" -w "$dir/own.c" -o "$dir/own"
printf '#!/usr/bin/env %s/host\n' "$dir" >"$dir/script"
cp "$dir/host" "$dir/setgid"
chmod 755 "$dir" "$dir/script"
mkdir -m 777 "$dir/tmp"
export LD_LIBRARY_PATH=$dir/sys
cd "$dir"
record=$dir/bin/ljrecord

# want NAME STATUS PATTERN COMMAND...: exit status, and a line of its output.
want()
{
  local name=$1 status=$2 pattern=$3 rc=0
  shift 3
  "$@" >"$dir/out" 2>&1 || rc=$?
  if [ $rc != "$status" ] || ! grep -qE -- "$pattern" "$dir/out"; then
    echo "FAIL $name: status $rc, want $status; no line like: $pattern"
    sed 's/^/    /' "$dir/out"
    bad=1
  else
    echo "ok   $name"
  fi
}

want plain 0 '^library host$' ./host
want recorded 0 '^library tree-a$' "$record" ./host
want told 0 '^ljrecord: recorded memprof.bin \(process [0-9]+, stubbed\)$' \
  "$record" ./host
want how 0 'ljparse --human-readable memprof.bin$' "$record" ./host
want orders 0 ',control,file=/.*%p' cat memprof.bin
want path 0 '^LUA_PATH ./\?.lua;/host/\?.lua$' "$record" ./host
want cpath 0 '^LUA_CPATH ./\?.so;/host/\?.so$' "$record" ./host
want path_set 0 '^LUA_PATH /x/\?.lua;./\?.lua;/host/\?.lua;$' \
  env 'LUA_PATH=/x/?.lua;;' "$record" ./host
want path_whole 0 '^LUA_PATH /x/\?.lua$' env 'LUA_PATH=/x/?.lua' "$record" ./host
want more_functions 0 '^library tree-b$' \
  env "LD_LIBRARY_PATH=$dir/new" "$record" ./host
want by_name 0 '^library tree-b$' "$record" --library=tree-b ./host
want by_folder 0 '^library tree-b$' \
  "$record" --library "$dir/lib/ljmemprof/tree-b" ./host
want by_file 0 '^library tree-b$' \
  "$record" "--library=$dir/lib/ljmemprof/tree-b/$so" ./host
want no_such_tree 125 'no patched library called tree-c' \
  "$record" --library=tree-c ./host
want fits_not 125 'lua_extra is missing from' \
  env "LD_LIBRARY_PATH=$dir/new" "$record" --library=tree-a ./host
for year in 2023 2025; do
  want "likely_$year" 125 "build.sh openresty-$year\$" \
    env "LD_LIBRARY_PATH=$dir/$year" "$record" ./host
  want "uses_none_$year" 125 '^ljrecord: .*/true does not use a shared' \
    env "LD_LIBRARY_PATH=$dir/$year" "$record" /bin/true
done
want rpath 0 '^library tree-a$' "$record" ./rpath
want status 7 '^library' "$record" ./host exit 7
want option_of_host 7 '^library' "$record" -- ./host exit 7
want output 0 'recorded some%name ' "$record" -o 'some%%name' ./host
want output_pid 0 'recorded p\.[0-9]+\.x ' "$record" --output=p.%p.x ./host
want two 0 'recorded two\.[0-9]+ ' "$record" -o two ./host fork
want quiet 0 '^library' "$record" -q ./host
want script 0 '^library tree-a$' "$record" ./script
want killed 0 'killed: the end' env STUB_KILLED=1 "$record" ./host
want nothing 0 'nothing was recorded' "$record" /bin/true
want later 0 'does not use a shared libluajit-5.1' "$record" /bin/true
want child 3 '^library tree-a$' "$record" sh -c './host; exit 3'
# As somebody who is not root, who has other privileges in a setuid program.
as=()
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chown 65533:65533 "$dir/setgid"
fi
as+=(env "TMPDIR=$dir/tmp")
chmod g+s "$dir/setgid"
want as_user 0 '^library tree-a$' "${as[@]}" "$record" -o "$dir/tmp/u" ./host
if [ "$(id -u)" = 0 ]; then
  want setgid 125 'setuid or setgid' "${as[@]}" "$record" ./setgid
else
  want setuid 125 'setuid or setgid' "$record" su
fi
want unwritable 125 'no/ljrecord\.[A-Za-z0-9]+: No such' \
  env "TMPDIR=$dir/no" "$record" ./host

mkdir -m 755 "$dir/a,b"
want comma 0 '^ljrecord: recorded' env "TMPDIR=$dir/a,b" "$record" ./host

# Ends by a signal as the host does.
want raise 143 '^ljrecord: recorded' \
  bash -c '"$1" ./host raise 15; exit $?' - "$record"
# A signal from another process goes to the host; ljrecord outlives it.
"$record" -o sig ./host wait >"$dir/waits" 2>&1 &
pid=$!
until grep -q LUA_CPATH "$dir/waits"; do sleep 0.01; done
kill -USR1 $pid
rc=0
wait $pid || rc=$?
want signal 31 'recorded sig ' bash -c 'cat "$1"; exit "$2"' - "$dir/waits" $rc

want static 125 'linked statically' "$record" ./static
want built_in 125 'has LuaJIT built in' "$record" ./own
want not_found 127 'not found' "$record" ./none
want not_executable 126 'Permission denied' "$record" ./own.c
want folder 126 'Is a directory' "$record" ./lib
want no_program 125 'no program' "$record" -o x
want bad_option 125 'unknown option --stack ' "$record" --stack ./host
want bad_sample 125 'is no number of bytes' "$record" --sample=lots ./host
want bad_duration 125 'is no number of seconds' "$record" --duration=-1 ./host
want bad_pid 125 'is no process id' "$record" --stop x
want gone_pid 125 'there is none' "$record" --stop 99999999
want no_orders 125 'takes no orders' "$record" --status $$
want help 0 '^usage: ljrecord' "$record" --help
want version 0 '^ljrecord [0-9]+\.' "$record" --version
exit $bad
