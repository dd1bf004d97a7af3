#!/usr/bin/env bash
# merge.sh - keeps the committed corpora small: of all inputs, those with a
# name (seeds) and the fewest others that reach each edge.
set -euo pipefail
# shellcheck source=fuzz/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
  cat <<'END'
usage: fuzz/merge.sh TARGET...|all [options]
  --from=DIR      inputs from there too (of several targets: DIR/TARGET)
  --max-size=N    no input over N bytes but seeds (default 4096)
  --counts        keep what reaches an edge more often, too: much more
Inputs come from fuzz/corpus/TARGET and from what fuzz/run.sh found
(LJF_WORK, default build-fuzz); the result replaces fuzz/corpus/TARGET.
A seed is a file whose name is not a number of 12 hexadecimal digits.
END
}

outside='' max_size=4096 counts=0 names=()
for arg; do
  case $arg in
    --from=*) outside=${arg#*=} ;;
    --max-size=*) max_size=${arg#*=} ;;
    --counts) counts=1 ;;
    -h|--help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) names+=("$arg") ;;
  esac
done
[ ${#names[@]} -gt 0 ] || { usage >&2; exit 2; }
list=$(targets "${names[@]}")
mapfile -t names <<<"$list"

# copy_if DIR TO [find's conditions]: copies files, a few processes in all.
copy_if()
{
  local dir=$1 to=$2
  shift 2
  [ ! -d "$dir" ] ||
    find "$dir" -maxdepth 1 -type f "$@" -print0 | xargs -0r cp -t "$to"
}

found=(-regextype posix-extended -regex '.*/[0-9a-f]{12}(\.bin)?')

merge_target()
{
  local name=$1 dir exe f kept=$fuzz/corpus/$1 extra=$outside
  dir=$(mktemp -d "$work/merge.XXXXXX")
  exe=$(build_libfuzzer "$name")
  mkdir -p "$dir/seeds" "$dir/others" "$dir/new" "$kept"
  [ -z "$outside" ] || [ ${#names[@]} = 1 ] || extra=$outside/$name
  copy_if "$kept" "$dir/seeds" "${found[@]:0:2}" ! "${found[@]:2}"
  copy_if "$kept" "$dir/others" "${found[@]}"
  copy_if "$work/corpus/$name" "$dir/others" -size "-$((max_size + 1))c"
  [ -z "$extra" ] ||
    copy_if "$extra" "$dir/others" -size "-$((max_size + 1))c"
  cp -r "$dir/seeds/." "$dir/new"
  "$exe" -merge=1 -use_counters=$counts -timeout=20 "$dir/new" "$dir/others" \
    >"$dir/log" 2>&1 || { tail -n 20 "$dir/log" >&2; die "merge failed"; }
  rm -rf "$dir/kept"
  mkdir "$dir/kept"
  for f in "$dir/new"/*; do
    [ -f "$f" ] || continue
    if [ -f "$dir/seeds/${f##*/}" ]; then
      cp "$f" "$dir/kept/"
    else
      cp "$f" "$dir/kept/$(sha1sum <"$f" | cut -c1-12).bin"
    fi
  done
  printf '%-12s %5d inputs in, %4d kept, of them %3d seeds, %7d bytes\n' \
    "$name" "$(find "$dir/seeds" "$dir/others" -type f | wc -l)" \
    "$(find "$dir/kept" -type f | wc -l)" \
    "$(find "$dir/seeds" -type f | wc -l)" \
    "$(cat "$dir/kept"/* 2>/dev/null | wc -c)"
  rm -rf "$kept"
  mv "$dir/kept" "$kept"
  rm -rf "$dir"
}

mkdir -p "$work"
for name in "${names[@]}"; do merge_target "$name"; done
