#!/usr/bin/env bash
# debian.sh LJPARSE - Debian's own source package with the series:
# it builds, and its library records a stock nvim or luajit. Needs debhelper.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
parse=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir

# The source, with a list of sources of its own, from the machine's mirror.
mirror=${LJM_DEBIAN_URI:-$(apt-get indextargets --format '$(REPO_URI)' |
                           grep -m 1 -E '/debian/?$' || true)}
[ -n "$mirror" ] || {
  echo "FAIL no Debian mirror among the apt sources; set LJM_DEBIAN_URI"
  exit 1
}
mkdir -p "$dir"/apt/{parts,lists/partial,cache/archives/partial}
cat >"$dir/apt/parts/debian.sources" <<END
Types: deb-src
URIs: $mirror
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
opts=(-q -o Dir::Etc::SourceList=/dev/null
      -o "Dir::Etc::SourceParts=$dir/apt/parts"
      -o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache"
      -o APT::Sandbox::User=root)
cd "$dir"
{ apt-get "${opts[@]}" update && apt-get "${opts[@]}" source --download-only luajit
} >log 2>&1 || { cat log; echo "FAIL no source package"; exit 1; }
dpkg-source -x ./*.dsc src >log 2>&1 || { cat log; exit 1; }

bash "$here/../../luajit-patch/debian.sh" src
if bash "$here/../../luajit-patch/debian.sh" src 2>/dev/null; then
  echo "FAIL debian.sh adds the series twice"
  exit 1
fi
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)"
export DEB_BUILD_OPTIONS
(cd src && timeout 1500 dpkg-buildpackage -b -us -uc -d) >log 2>&1 || {
  tail -n 40 log
  exit 1
}
for deb in libluajit-5.1-2_*.deb libluajit-5.1-common_*.deb luajit_*.deb; do
  dpkg-deb -x "$deb" root
done
lib=$(find root/usr/lib -name 'libluajit-5.1.so.2')
[ -n "$(find root -path '*/jit/memprof.lua')" ] || {
  echo "FAIL jit/memprof.lua is in no package"
  exit 1
}
grep -q ' T ljm_recorder_start$' <<<"$(nm -D "$lib")" || {
  echo "FAIL the library does not export the recorder"
  exit 1
}
echo 'local t = {} for i = 1, 1000 do t[i] = { i } end' >kept.lua
LD_LIBRARY_PATH=$(dirname "$lib") LJMEMPROF=file=p.bin root/usr/bin/luajit \
  kept.lua
"$parse" -o report.txt p.bin
grep -q '^@kept.lua:1: 1[0-9][0-9][0-9] events' report.txt || {
  echo "FAIL the profile of the packaged luajit"
  exit 1
}
# A host of the distribution, with the package's library for the stock one.
LD_LIBRARY_PATH=$(dirname "$lib") LJMEMPROF=file=n.bin \
  nvim --headless -u NONE -c qa!
"$parse" -o report.txt n.bin
grep -q '^luaopen_base:0x' report.txt || {
  echo "FAIL the profile of nvim"
  exit 1
}
echo "ok   debian"
