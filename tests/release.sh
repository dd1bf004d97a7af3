#!/usr/bin/env bash
# release.sh [--quick] [OUT] - makes ljmemprof-VERSION.tar.gz of the commit
# that is checked out, in OUT (default: build/release), and tests what it
# made: unpacks, builds, runs all tests, installs. --quick builds the programs
# alone and runs the tests that take seconds.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quick=
if [ "${1:-}" = --quick ]; then quick=1; shift; fi
out=${1:-$top/build/release}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$top"
die() { echo "release.sh: $*" >&2; exit 1; }

# One version everywhere.
version=$(sed -n 's/^project(ljmemprof VERSION \([0-9.]*\).*/\1/p' \
          CMakeLists.txt)
IFS=. read -r major minor patch <<<"$version"
number=$((major * 10000 + minor * 100 + patch))
for h in ljmemprof:LJM ljparse:LJP; do
  IFS=: read -r name p <<<"$h"
  grep -q "^#define ${p}_VERSION $number\$" "$name.h" &&
    grep -q "^#define ${p}_VERSION_STRING \"$version\"\$" "$name.h" &&
    grep -q "$name.h - $version - " <<<"$(sed -n 2p "$name.h")" ||
    die "$name.h is not of version $version ($number)"
done
for page in examples/man/*.1; do
  grep -q "\"ljmemprof $version\"" "$page" || die "$page: not $version"
done
grep -q "^## $version\b" CHANGELOG.md || die "CHANGELOG.md: no $version"
[ -n "$quick" ] || ! grep -q "^## $version (unreleased)" CHANGELOG.md ||
  echo "release.sh: remark: CHANGELOG.md says unreleased" >&2

# What is committed, and the same bytes each time.
[ -z "$(git status --porcelain)" ] || die "there are changes not committed"
name=ljmemprof-$version
mkdir -p "$out"
git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$out/$name.tar.gz"

# What a person who has nothing but this file does.
tar x -C "$dir" -f "$out/$name.tar.gz"
cd "$dir/$name"
if [ -n "$quick" ]; then
  { cmake -S . -B build -DLJM_TESTS=OFF && cmake --build build &&
      bash tests/hosts/launcher.sh build/ljrecord &&
      bash tests/hosts/pages.sh build/ljrecord build/ljparse
  } >"$dir/log" 2>&1
else
  shared=$top/../shared
  bash tests/run.sh --no-install "--streams=${LJM_STREAMS:-$shared/streams}" \
    "--workloads=${LJM_WORKLOADS:-$shared/workloads}" >"$dir/log" 2>&1
fi || {
  tail -n 60 "$dir/log"
  die "the tests of the archive fail"
}
cmake --install build --prefix "$dir/prefix" >/dev/null
[ "$("$dir/prefix/bin/ljrecord" --version)" = "ljrecord $version" ] ||
  die "the installed ljrecord is of another version"
[ -e "$dir/prefix/share/man/man1/ljrecord.1" ] || die "no manual pages"
grep -E '^[0-9]+% tests passed' "$dir/log" || echo "quick tests passed"
cd "$out"
sha256sum "$name.tar.gz"
