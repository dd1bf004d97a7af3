#!/usr/bin/env bash
# build.sh - gets a LuaJIT source, applies the patch series, builds it, and
# prints the path of its luajit (and nothing else) on standard output.
set -euo pipefail

usage()
{
  cat >&2 <<'END'
usage: luajit-patch/build.sh [--name=NAME] [--source] [--plain]
                             [TREE|DIR [MAKE-ARGUMENT...]]
  TREE   debian-2022 (default), openresty-2023, openresty-2025, upstream
  DIR    a LuaJIT source tree of your own; it is copied, not changed
  --name=NAME   build into build/luajit/NAME (default: TREE, or DIR's name,
                with _ for what LuaJIT's make does not take in a path)
  --source      only unpack and patch; prints the source folder
  --plain       leave the series out (to compare with)
  MAKE-ARGUMENT as for LuaJIT's make, such as XCFLAGS=-DLUAJIT_DISABLE_GC64
environment:
  LJM_SOURCES     folder for downloaded sources (default: build/luajit/src)
  LJM_DEBIAN_URI  a Debian mirror; default: the one this machine uses
END
  exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
sources=${LJM_SOURCES:-$top/build/luajit/src}
name='' only_source='' plain=''
while [ $# -gt 0 ]; do
  case $1 in
    --name=*) name=${1#*=} ;;
    --source) only_source=1 ;;
    --plain) plain=1 ;;
    -*) usage ;;
    *) break ;;
  esac
  shift
done
tree=${1:-debian-2022}
[ $# = 0 ] || shift

die() { echo "build.sh: $*" >&2; exit 1; }

case $tree in
  debian-2022|openresty-2023|openresty-2025|upstream) ;;
  *)
    [ -e "$tree/src/lj_obj.h" ] ||
      die "'$tree' is neither a TREE nor a LuaJIT source"
    tree=$(cd "$tree" && pwd) ;;
esac

# need MAKE-ARGUMENT...: tells of all that is missing before anything is done.
need()
{
  local tools=(patch) missing=() tool
  case $tree in
    upstream) tools+=(git) ;;
    debian-2022|openresty-*) tools+=(tar xz) ;;
  esac
  if [ -z "$only_source" ]; then
    tools+=(make)
    case " $*" in *" CC="*|*" CROSS="*) ;; *) tools+=(gcc) ;; esac
  fi
  for tool in "${tools[@]}"; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} = 0 ] ||
    die "missing: ${missing[*]}; on Debian and Ubuntu tests/packages.sh luajit installs it"
}

# The first address among the machine's apt sources that ends in $1.
apt_mirror()
{
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
        /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    awk -v end="/$1(\\\\.list)?/?\$" '
      /^deb |^URIs:/ { for (i = 2; i <= NF; i++)
                         if ($i ~ end) { print $i; exit } }'
}

# A deb-src entry for suite $1 on the machine's own Debian mirror. Ubuntu has
# none: there it is the running release's, whose LuaJIT is another.
apt_entry()
{
  local suite=$1 from=debian parts=main uri=${LJM_DEBIAN_URI:-} key
  [ -n "$uri" ] || uri=$(apt_mirror debian)
  if [ -z "$uri" ]; then
    uri=$(apt_mirror ubuntu)
    from=ubuntu parts='main universe'
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -z "$uri" ] ||
      echo "build.sh: no Debian mirror; taking the LuaJIT of Ubuntu $suite" >&2
  fi
  [ -n "$uri" ] ||
    die "no Debian mirror among the apt sources; set LJM_DEBIAN_URI or give a DIR"
  key=/usr/share/keyrings/$from-archive-keyring.gpg
  [ -e "$key" ] || die "$key is missing: install $from-archive-keyring"
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: %s\nSigned-By: %s\n' \
    "$uri" "$suite" "$parts" "$key"
}

# apt_source SUITE PACKAGE: the upstream archive of a source package. The
# system's apt configuration stays as it is.
apt_source()
{
  local suite=$1 package=$2 apt
  apt=$(mktemp -d)
  mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
  apt_entry "$suite" >"$apt/parts/ljm.sources"
  local opts=(-q -o Dir::Etc::SourceList=/dev/null
              -o "Dir::Etc::SourceParts=$apt/parts"
              -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
              -o APT::Sandbox::User=root)
  mkdir -p "$sources/$tree.part"
  ( cd "$sources/$tree.part"
    apt-get "${opts[@]}" update &&
      apt-get "${opts[@]}" source --download-only --tar-only "$package"
  ) >"$sources/$tree.log" 2>&1 || {
    cat "$sources/$tree.log" >&2
    rm -rf "$apt"
    die "cannot get the source of $package ($suite)"
  }
  rm -rf "$apt" "${sources:?}/$tree"
  mv "$sources/$tree.part" "$sources/$tree"
}

# LuaJIT's own repository.
clone()
{
  rm -rf "$sources/upstream.part"
  git clone -q --depth 1 -b v2.1 https://github.com/LuaJIT/LuaJIT \
    "$sources/upstream.part" >&2 || die "cannot clone LuaJIT; give a DIR"
  mv "$sources/upstream.part" "$sources/upstream"
}

# Puts a pristine source of $tree into the empty folder $1.
unpack()
{
  local into=$1 archive
  case $tree in
    debian-2022) set -- bookworm luajit ;;
    openresty-2023) set -- bookworm luajit2 ;;
    openresty-2025) set -- trixie luajit ;;
    upstream) set -- git ;;
    *) set -- dir ;;
  esac
  if [ "$1" = dir ]; then
    cp -R "$tree/." "$into"
    chmod -R u+w "$into" # It may be read-only.
  else
    mkdir -p "$sources"
    exec 8>"$sources/lock" # Others may share the folder.
    flock 8
    if [ "$1" = git ]; then
      [ -d "$sources/upstream" ] || clone
      cp -R "$sources/upstream/." "$into"
    else
      ls "$sources/$tree"/*.orig.tar.* >/dev/null 2>&1 || apt_source "$1" "$2"
      archive=$(ls "$sources/$tree"/*.orig.tar.*)
      tar x -C "$into" -f "$archive"
      # One archive has a top folder, another has none.
      [ -e "$into/src" ] || { mv "$into"/*/* "$into"/*/.[!.]* "$into"; }
    fi
    exec 8>&-
  fi
  # Newer trees take their version from git or from this file.
  if [ -e "$into/.git" ]; then
    git -C "$into" show -s --format=%ct >"$into/.relver" 2>/dev/null || rm -f "$into/.relver"
    rm -rf "$into/.git"
  fi
  grep -qs '^[0-9]' "$into/.relver" || echo 0 >"$into/.relver"
  make -C "$into/src" clean >/dev/null 2>&1 || true
}

# What the unpacked tree and the build depend on.
stamp_source()
{
  { echo "$tree" "$plain"
    [ -n "$plain" ] || cat "$here"/series/*.patch
    case $tree in
      /*) find "$tree" -name .git -prune -o -type f -newer "$out/source.stamp" \
                -print 2>/dev/null || true ;;
    esac
  } | cksum
}
stamp_build() { { stamp_source; cat "$top/ljmemprof.h"; printf '%s\n' "$@"; } | cksum; }

# Applies the series to the copy in $src, or says why it cannot be.
patch_source()
{
  local p
  [ ! -e "$src/src/lj_memprof.h" ] ||
    die "$tree has the series already. Give a tree without it (luajit-patch/README.md says how to take it out), or --plain to build it as it is"
  ! grep -q $'\r' "$src/src/lj_obj.h" ||
    die "the lines of $tree end in CR LF. Give a tree whose lines end in LF (git clone -c core.autocrlf=false)"
  for p in "$here"/series/*.patch; do
    # -f: it asks nobody.
    patch -d "$src" -p1 -F0 -s -f --no-backup-if-mismatch <"$p" >&2 ||
      die "$(basename "$p") does not apply to $tree: what patch says of it is above, which trees it fits is in luajit-patch/README.md"
  done
}

need "$@"
: "${name:=$(basename "$tree" | tr -c 'A-Za-z0-9._+\n-' _)}"
out=$top/build/luajit/$name
case $out in
  *[[:space:]\'\"\$\#\;\&\*\?\\\(\)\<\>\|\`]*)
    [ -n "$only_source" ] ||
      die "LuaJIT's make does not take blanks and quotes in a path, as in $out: move this folder to another one" ;;
esac
src=$out/source
mkdir -p "$out"
exec 9>"$out/lock"
flock 9

if [ "$(cat "$out/source.stamp" 2>/dev/null)" != "$(stamp_source)" ]; then
  rm -rf "$src" "$out/source.stamp" "$out/build.stamp"
  mkdir -p "$src"
  unpack "$src"
  [ -n "$plain" ] || patch_source
  stamp_source >"$out/source.stamp"
fi
[ -n "$plain" ] || cmp -s "$top/ljmemprof.h" "$src/src/ljmemprof.h" ||
  cp "$top/ljmemprof.h" "$src/src/"
if [ -n "$only_source" ]; then echo "$src"; exit; fi

luajit=$out/bin/luajit
stamp=$(stamp_build "$@")
if [ "$(cat "$out/build.stamp" 2>/dev/null)" != "$stamp" ] || [ ! -x "$luajit" ]; then
  # Other arguments: objects of the last build do not fit.
  printf '%s\n' "$@" >"$out/arguments.new"
  cmp -s "$out/arguments.new" "$out/arguments" || make -C "$src/src" clean >/dev/null 2>&1
  mv "$out/arguments.new" "$out/arguments"
  { make -C "$src" -j "$(nproc)" PREFIX="$out" TARGET_STRIP=: "$@" &&
      make -C "$src" install PREFIX="$out" LDCONFIG=: TARGET_STRIP=: \
             "$@"; } >"$out/build.log" 2>&1 || {
    tail -n 40 "$out/build.log" >&2
    die "the build failed, see $out/build.log"
  }
  if [ ! -e "$luajit" ]; then
    for f in "$out"/bin/luajit-*; do ln -sf "$(basename "$f")" "$luajit"; done
  fi
  echo "$stamp" >"$out/build.stamp"
fi
echo "$luajit"
