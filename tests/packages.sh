#!/usr/bin/env bash
# packages.sh SECTION... - installs what packages.txt lists for these sections
# and is missing. Asks the network for nothing if all of it is there.
# LJM_NO_INSTALL=1: installs nothing, fails if something is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -gt 0 ] || { echo "usage: packages.sh SECTION..." >&2; exit 2; }

# Prints the entries of the sections named, one a line.
entries()
{
  awk -v want=" $* " '
    { sub(/#.*/, ""); gsub(/[ \t]+$/, "") }
    /^\[/ {
      n = split(substr($0, 2, length($0) - 2), of, " ")
      for (on = i = 0; i++ < n;) if (index(want, " " of[i] " ")) on = 1
      next
    }
    on && NF { print $1 }' "$here/packages.txt" | sort -u
}

# Prints those of the entries that no installed package satisfies.
missing()
{
  local have entry name found
  have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' |
         sed -n 's/^installed //p')
  for entry in "$@"; do
    found=
    for name in ${entry//|/ }; do
      grep -qxF "$name" <<<"$have" && { found=1; break; }
    done
    [ -n "$found" ] || echo "$entry"
  done
}

# Prints the first alternative of the entry that apt can install.
pick()
{
  local name
  for name in ${1//|/ }; do
    if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; return; fi
  done
  echo "packages.sh: apt knows none of: ${1//|/ }" >&2
  return 1
}

mapfile -t list < <(entries "$@")
[ ${#list[@]} -gt 0 ] || { echo "packages.sh: no section $*" >&2; exit 2; }
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  if [ "${LJM_NO_INSTALL:-}" = 1 ]; then exit 0; fi
  echo "packages.sh: this is no Debian or Ubuntu. Install the equivalents of:"
  printf '  %s\n' "${list[@]}"
  echo "then run again with LJM_NO_INSTALL=1."
  exit 1
fi >&2
mapfile -t need < <(missing "${list[@]}")
[ ${#need[@]} -gt 0 ] || exit 0
if [ "${LJM_NO_INSTALL:-}" = 1 ]; then
  echo "packages.sh: missing: ${need[*]}" >&2
  exit 1
fi
sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "packages.sh: missing: ${need[*]}; be root, or install sudo" >&2
    exit 1
  }
  sudo=(sudo)
fi
echo "-- installing: ${need[*]}" >&2
"${sudo[@]}" apt-get update -qq >&2
names=()
for entry in "${need[@]}"; do names+=("$(pick "$entry")"); done
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
  --no-install-recommends -o Dpkg::Use-Pty=0 "${names[@]}" |
  sed -un 's/^Setting up /   /p' >&2
mapfile -t need < <(missing "${list[@]}")
[ ${#need[@]} -eq 0 ] || {
  echo "packages.sh: still missing: ${need[*]}" >&2
  exit 1
}
