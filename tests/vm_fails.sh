#!/usr/bin/env bash
# vm_fails.sh LUAJIT [TREE [STRIDE]] - each call of the VM's allocator fails in
# turn, in a LuaJIT without the series and in LUAJIT, a patched one of the same
# tree, not recorded and recorded: no crash and no leak that the plain one has
# not got at the same call. Lists what the plain one has.
set -euo pipefail
prefix=$(cd "$(dirname "$1")/.." && pwd)
tree=${2:-debian-2022} stride=${3:-1}
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
plain=$(bash "$top/luajit-patch/build.sh" --plain "--name=plain-$(basename "$tree")" "$tree")
plain=$(cd "$(dirname "$plain")/.." && pwd)

# build NAME PREFIX [FLAGS...]
build()
{
  gcc -g -O1 -Wall -Wextra -Werror -I "$top" -I "$top/tests" \
    -isystem "$2/include/luajit-2.1" "${@:3}" "$top/tests/vm_fails.c" \
    "$2/lib/libluajit-5.1.so" "-Wl,-rpath,$2/lib" -o "$dir/$1"
}
build plain "$plain"
build patched "$prefix" -DRECORDED
"$dir/plain" 0 "--stride=$stride" >"$dir/want"
calls=$(sed -n 's/^calls //p' "$dir/want")
echo "$tree without the series, of $calls calls:"
grep -v calls "$dir/want" | cut -d' ' -f2,3 | sort | uniq -c || echo '  all go well'
[ "$calls" -gt 1000 ] || { echo "FAIL only $calls calls"; exit 1; }
bad=0
for format in 0 3 4; do
  "$dir/patched" $format "--stride=$stride" >"$dir/have"
  if diff "$dir/want" "$dir/have" >"$dir/diff"; then
    echo "ok   the same with the series, format $format (0: not recorded)"
  else
    echo "FAIL format $format (< plain, > patched):"
    head -n 40 "$dir/diff"
    bad=1
  fi
done
exit $bad
