#!/usr/bin/env bash
# prefixes.sh [TREE] - each prefix of the series builds, our part without warnings,
# and runs; the profiler is off until the last patch.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
plain=$(bash "$top/luajit-patch/build.sh" --source --plain --name=patch-plain \
        "${1:-debian-2022}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -R "$plain/." "$dir"
# A user who goes by the README copies it when the series is in.
cp "$top/ljmemprof.h" "$dir/src/"
series=("$top"/luajit-patch/series/*.patch)
for p in "${series[@]}"; do
  name=$(basename "$p" .patch)
  patch -d "$dir" -p1 -F0 -s -f --no-backup-if-mismatch <"$p"
  make -C "$dir/src" -j "$(nproc)" 'CCOPT=-O0 -fomit-frame-pointer' \
    >"$dir/log" 2>&1 || { tail "$dir/log"; echo "FAIL $name: does not build"; exit 1; }
  ! grep -E '(memprof|lib_misc).*warning:' "$dir/log" ||
    { echo "FAIL $name: warnings"; exit 1; }
  last=$([ "$p" != "${series[-1]}" ] || echo yes) "$dir/src/luajit" -e '
    local last = os.getenv("last") == "yes"
    for i = 1, 1000 do local t = { i } end
    assert((misc ~= nil) == last)
    assert(not last or select(2, misc.memprof.stop()) == "profiler is not running")' \
    2>"$dir/said" || { cat "$dir/said"; echo "FAIL $name"; exit 1; }
  echo "ok   $name"
done
