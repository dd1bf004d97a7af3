#!/usr/bin/env bash
# debian.sh DIR - makes a Debian source package of LuaJIT one with the
# profiler. DIR is what `apt-get source luajit` (or luajit2) has unpacked. The
# series goes to debian/patches behind Debian's own, the new symbols to the
# symbols file, an entry to the changelog; then
#   cd DIR && sudo apt-get build-dep . && dpkg-buildpackage -b -us -uc
# gives a libluajit-5.1-2 that takes the place of the stock one. Nothing is
# recorded by it unless a program or LJMEMPROF asks for that.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 1 ] && [ -e "$1/debian/patches/series" ] || {
  echo "usage: luajit-patch/debian.sh DIR (an unpacked Debian source package)"
  exit 1
} >&2
cd "$1"
patches=debian/patches
if grep -q '^memprof-' "$patches/series"; then
  echo "debian.sh: the series is there already" >&2
  exit 1
fi
version=$(sed -nE 's/^#define LJM_VERSION_STRING "(.*)"/\1/p' \
          "$here/../ljmemprof.h")

# The header, as a patch that adds a file.
{
  echo "Description: ljmemprof $version, the recorder of the memory profiler"
  echo "Forwarded: not-needed"
  echo "--- /dev/null"
  echo "+++ b/src/ljmemprof.h"
  echo "@@ -0,0 +1,$(wc -l <"$here/../ljmemprof.h") @@"
  sed 's/^/+/' "$here/../ljmemprof.h"
} >"$patches/memprof-0000-header.patch"
echo memprof-0000-header.patch >>"$patches/series"
for p in "$here"/series/*.patch; do
  cp "$p" "$patches/memprof-$(basename "$p")"
  echo "memprof-$(basename "$p")" >>"$patches/series"
done

# dpkg-gensymbols refuses symbols that it was not told of.
for symbols in debian/libluajit*.symbols; do
  printf ' (regex)"^ljm_[a-z0-9_]+@Base$" %s\n' \
    "$(dpkg-parsechangelog -S Version)+ljmemprof" >>"$symbols"
  printf ' (optional)luaopen_misc@Base %s\n' \
    "$(dpkg-parsechangelog -S Version)+ljmemprof" >>"$symbols"
done

{
  printf '%s (%s+ljmemprof%s) UNRELEASED; urgency=medium\n\n' \
    "$(dpkg-parsechangelog -S Source)" "$(dpkg-parsechangelog -S Version)" \
    "$version"
  printf '  * Add the memory profiler ljmemprof.\n\n'
  printf ' -- %s <%s>  %s\n\n' "${DEBFULLNAME:-ljmemprof}" \
    "${DEBEMAIL:-ljmemprof@localhost}" "$(date -R)"
  cat debian/changelog
} >debian/changelog.new
mv debian/changelog.new debian/changelog
echo "$(dpkg-parsechangelog -S Source) $(dpkg-parsechangelog -S Version)"
