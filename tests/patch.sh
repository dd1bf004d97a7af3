#!/usr/bin/env bash
# patch.sh [TREE] - the series on trees as people have them, by build.sh and by
# hand: patched already, changed, read-only, lines ending in CR LF, blanks in
# the path; taken out again. Compiles nothing.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
plain=$(bash "$top/luajit-patch/build.sh" --source --plain --name=patch-plain \
        "${1:-debian-2022}")
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
fail() { echo "FAIL $*"; exit 1; }

# repo PATH: what build.sh needs of this one, so that it builds elsewhere.
repo()
{
  mkdir -p "$1"
  cp -R "$top/luajit-patch" "$top/ljmemprof.h" "$1"
}
repo "$dir/repo"
cp -R "$plain" "$dir/tree"
cd "$dir"

# build WANT-STATUS ARGUMENT...: build.sh, its words in $dir/out and $dir/said.
# Not as root, who may write what is read-only; nor may it ask.
user=()
if [ "$(id -u)" = 0 ]; then
  user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chown -R 65534:65534 "$dir"
fi
build()
{
  local want=$1 status=0
  shift
  setsid "${user[@]}" bash "$dir/repo/luajit-patch/build.sh" "$@" \
    </dev/null >"$dir/out" 2>"$dir/said" || status=$?
  [ $status = "$want" ] || { cat "$dir/said"; fail "$*: exit status $status"; }
}
said() { grep -qF -- "$1" "$dir/said" || { cat "$dir/said"; fail "not said: $1"; }; }
patched() { [ -e "$(cat "$dir/out")/src/lj_memprof.c" ] || fail "$1: not patched"; }

build 0 --source tree
patched "a tree"
cp -R repo/build/luajit/tree/source "$dir/again"
build 1 --source again
said "$dir/again has the series already"
said "take it out"
build 0 --source --plain again

cp -R tree changed
echo '/* Mine. */' >>changed/src/lj_gc.c
build 0 --source changed
patched "a changed tree"
grep -q 'Mine' "$(cat out)/src/lj_gc.c" || fail "a change is gone"
echo '/* Later. */' >>changed/src/lj_obj.c
touch -d '+2 seconds' changed/src/lj_obj.c # Clocks of files are coarse.
build 0 --source changed
grep -q 'Later' "$(cat out)/src/lj_obj.c" || fail "a later change is not seen"
echo '/* Another file. */' >changed/src/lj_func.c
touch -d '+4 seconds' changed/src/lj_func.c
build 1 --source changed
said "FAILED"
said "0004-memprof-Tell-when-prototypes-are-freed.patch does not apply"

cp -R tree crlf
find crlf/src -name '*.[ch]' -exec sed -i 's/$/\r/' {} +
build 1 --source crlf
said "end in CR LF"

cp -R tree ro
[ ${#user[@]} = 0 ] || chown -R 65534:65534 ro
chmod -R a-w ro
build 0 --source ro
patched "a read-only tree"
build 0 --source ro

# What LuaJIT's make takes no blanks in is where it is installed.
cp -R tree "with blanks"
build 0 --source "$dir/with blanks"
[ "$(cat out)" = "$dir/repo/build/luajit/with_blanks/source" ] ||
  fail "built into $(cat out)"
mv repo "our repo"
repo "$dir/repo"
build 1 nothing
said "'nothing' is neither a TREE nor a LuaJIT source"
mv repo spare
mkdir "a b"
repo "$dir/a b/repo"
chmod -R a+rX "a b"
if bash "$dir/a b/repo/luajit-patch/build.sh" tree >out 2>said; then
  fail "builds below a path with blanks"
fi
said "does not take blanks"
mv spare repo

# From inside of it.
[ ${#user[@]} = 0 ] || chown -R 65534:65534 repo
cd tree
build 0 --source .
[ "$(cat ../out)" = "$dir/repo/build/luajit/tree/source" ] ||
  fail "'.' is built into $(cat ../out)"
cd ..
echo "ok   build.sh"

# By hand, and back.
series=("$dir"/repo/luajit-patch/series/*.patch)
cp -R tree hand
cd hand
for p in "${series[@]}"; do patch -s -f -p1 <"$p" >/dev/null; done
cmp -s src/lj_memprof.c ../again/src/lj_memprof.c || fail "by hand it is another"
mapfile -t series < <(printf '%s\n' "${series[@]}" | sort -r)
for p in "${series[@]}"; do patch -s -f -R -p1 <"$p" >/dev/null; done
find . -name '*.orig' -delete
cd ..
diff -r tree hand || fail "what is taken out leaves something"
echo "ok   by hand, and back"

export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x
export GIT_COMMITTER_EMAIL=x GIT_CONFIG_GLOBAL=/dev/null
cp -R tree git
cd git
git init -q .
git add -Af .
git commit -qm plain
mapfile -t series < <(printf '%s\n' "${series[@]}" | sort)
git am -q "${series[@]}" || fail "git am"
[ -z "$(git status --porcelain)" ] || fail "git am leaves something"
git reset -q --hard "HEAD~${#series[@]}"
diff -r -x .git ../tree . || fail "git reset leaves something"
grep -q "HEAD~${#series[@]}\`" "$top/luajit-patch/README.md" ||
  fail "README.md says another number of patches"
echo "ok   git am, and back"
