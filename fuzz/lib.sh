# lib.sh - what the scripts of this folder share. Sourced.
# shellcheck shell=bash
fuzz=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$fuzz")
work=${LJF_WORK:-$top/build-fuzz}

# shellcheck disable=SC2034 # for those who source this
sanitize='address,undefined'

die() { echo "${0##*/}: $*" >&2; exit 2; }

need()
{
  local tool
  for tool; do
    command -v "$tool" >/dev/null ||
      die "$tool is missing (tests/packages.sh fuzz installs it)"
  done
}

# All targets: fuzz_<target>.c.
all_targets()
{
  local f
  for f in "$fuzz"/fuzz_*.c; do
    f=${f##*/fuzz_}
    echo "${f%.c}"
  done
}

# targets NAME...: checks the names, writes out "all".
targets()
{
  local name
  for name; do
    if [ "$name" = all ]; then
      all_targets
    elif [ -f "$fuzz/fuzz_$name.c" ]; then
      echo "$name"
    else
      die "no target $name; there are: $(all_targets | tr '\n' ' ')"
    fi
  done
}

# libs TARGET: libraries that its first comment asks for ("** libs: elf").
libs()
{
  sed -nE 's/^\*\* libs: *(.*)$/\1/p' "$fuzz/fuzz_$1.c" |
    tr -s ' ' '\n' | sed 's/^./-l&/'
}

# longest TARGET: bytes an input may have ("** longest: 16384" there).
longest()
{
  local n
  n=$(sed -nE 's/^\*\* longest: *([0-9]+).*$/\1/p' "$fuzz/fuzz_$1.c")
  echo "${n:-4096}"
}

# compares TARGET: the flag for one whose first comment says "** compares: off",
# for what its mutator knows the engine need not learn from compared values.
compares()
{
  ! grep -q '^\*\* compares: off$' "$fuzz/fuzz_$1.c" ||
    echo -fno-sanitize-coverage=trace-cmp
}

# schedule TARGET: the flag for one whose first comment says "** entropic: off",
# for a fast one with so many features that weighing them by how rare they are
# takes a third of the time.
schedule()
{
  ! grep -q '^\*\* entropic: off$' "$fuzz/fuzz_$1.c" || echo -entropic=0
}

# mutator TARGET: the mutate_*.h that it includes, if any.
mutator()
{
  sed -nE 's/^#include "(mutate_[a-z0-9_]+\.h)".*$/\1/p' \
    "$fuzz/fuzz_$1.c" | head -n 1
}

# sources TARGET: arguments to compile it, the headers' functions included, but
# not inlined: within the harness their edges would not be seen.
sources()
{
  printf '%s\n' -DLJM_IMPLEMENTATION= -DLJP_IMPLEMENTATION= \
    '-DLJM_API=extern __attribute__((noinline))' \
    '-DLJP_API=extern __attribute__((noinline))' \
    -I "$top" -I "$top/tests" -I "$fuzz" "$fuzz/fuzz_$1.c"
}

# dict TARGET: its dictionary, its own or another's ("** dict: stream" there),
# if there is one.
dict()
{
  local name
  name=$(sed -nE 's/^\*\* dict: *(.*)$/\1/p' "$fuzz/fuzz_$1.c")
  name=$fuzz/dict/${name:-$1}.dict
  [ ! -f "$name" ] || echo "$name"
}

# folders TARGET: the committed inputs.
folders()
{
  local dir
  for dir in "$fuzz/corpus/$1" "$fuzz/regress/$1"; do
    [ ! -d "$dir" ] || echo "$dir"
  done
}

# up_to_date FILE FROM...: FILE is newer than all of them.
up_to_date()
{
  local file=$1 from
  shift
  [ -e "$file" ] || return 1
  for from; do [ "$file" -nt "$from" ] || return 1; done
}

# depends TARGET: files that change what it is.
depends()
{
  printf '%s\n' "$top"/*.h "$top"/tests/*.h "$fuzz"/*.h "$fuzz"/*.c \
    "$fuzz/lib.sh"
}

# build_libfuzzer TARGET: prints the program's path. Honours CC, CXX, CFLAGS,
# LIB_FUZZING_ENGINE (a flag, or the path of an engine's library).
build_libfuzzer()
{
  local name=$1 dir=$work/libfuzzer engine how
  local exe=$dir/fuzz_$name flags from
  engine=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}
  mapfile -t from < <(depends "$name")
  read -ra flags <<<"${CFLAGS:--g1 -O2 -fno-omit-frame-pointer \
    -fsanitize=fuzzer-no-link,$sanitize -fno-sanitize-recover=all \
    $(compares "$name")}"
  # Another compiler or engine makes another program.
  how="${CC:-clang} ${CXX:-clang++} $engine ${flags[*]}"
  if ! up_to_date "$exe" "${from[@]}" ||
     [ "$(cat "$exe.how" 2>/dev/null)" != "$how" ]; then
    need "${CC:-clang}"
    mkdir -p "$dir"
    mapfile -t from < <(sources "$name")
    "${CC:-clang}" -DLJF_ENGINE "${flags[@]}" -c "${from[@]}" \
      -o "$exe.o" >&2
    mapfile -t from < <(libs "$name")
    # Engines are C++.
    "${CXX:-clang++}" "${flags[@]}" "$exe.o" "$engine" "${from[@]}" \
      -o "$exe" >&2
    rm "$exe.o"
    echo "$how" >"$exe.how"
  fi
  echo "$exe"
}

# build_replay TARGET: no engine, no sanitizer; for times and for coverage.
build_replay()
{
  local name=$1 dir=$work/replay exe from
  exe=$dir/fuzz_$name
  mapfile -t from < <(depends "$name")
  if ! up_to_date "$exe" "${from[@]}"; then
    mkdir -p "$dir"
    mapfile -t from < <(sources "$name"; libs "$name")
    "${CC:-cc}" -g -O2 "${from[@]}" -o "$exe" >&2
  fi
  echo "$exe"
}
