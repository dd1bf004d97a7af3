#!/usr/bin/env bash
# fresh.sh [COMMAND...] - runs both commands of the README (or those given) on
# a machine that has nothing: a minimal Debian made by debootstrap, with this
# tree's last commit cloned into it. Proves that tests/packages.txt is complete.
# As root, with network and debootstrap. Variables: FRESH_DIR (folder to work
# in, kept: the second run starts from the cached base), FRESH_SUITE (bookworm),
# FRESH_MIRROR (this machine's), LJM_STREAMS.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=${FRESH_SUITE:-bookworm}
mirror=${FRESH_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' |
                         awk '/\/debian\/$/ && !n++')}
dir=${FRESH_DIR:-$top/build/fresh}
base=$dir/base-$suite
root=$dir/root-$suite
streams=${LJM_STREAMS:-$top/../shared/streams}
[ $# -gt 0 ] || set -- examples/quickstart.sh tests/run.sh

command -v debootstrap >/dev/null || {
  echo "fresh.sh: install debootstrap first" >&2
  exit 1
}
mkdir -p "$dir"
if [ ! -e "$base.done" ]; then
  rm -rf "$base"
  debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$dir/base.log"
  touch "$base.done"
fi
rm -rf "$root"
cp -a --reflink=auto "$base" "$root"
git clone -q "$top" "$root/home/source"
if [ -d "$streams" ]; then cp -r "$streams/.." "$root/home/shared"; fi

for command; do
  echo "== fresh $suite: $command"
  start=$SECONDS
  # A mount namespace of its own: /proc goes when the command ends.
  unshare --mount --pid --fork bash -c '
    mount -t proc proc "$1/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
      chroot "$1" bash -c "cd /home/source && bash $2"' _ "$root" "$command" ||
    { echo "FAIL fresh $suite: $command"; exit 1; }
  echo "== ok: $command, $((SECONDS - start)) s"
done
