#!/usr/bin/env bash
# headers.sh CHECK [ARGS] - checks the two headers as files. One ctest entry a
# check:
#   compile COMPILER [FLAGS]  each way of including them, C99 to C++11
#   macros COMPILER           each documented macro, and none but those
#   symbols COMPILER          what the object exports, imports and keeps
#   library COMPILER FILE     what a patched LuaJIT's library exports
set -euo pipefail
export LC_ALL=C
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wcast-align
      -Werror)
checks=0

fail() { echo "FAIL $*"; exit 1; }

# unit NAME [part] <<text: a translation unit. `main` is added to those that lack
# it, so that each can be linked and run.
unit()
{
  { cat; [ "${2:-}" = part ] || echo 'int main(void) { return 0; }'; } \
    >"$dir/$1.c"
}

write_units()
{
  local h
  for h in ljmemprof ljparse; do
    echo "#include \"$h.h\"" | unit "$h-alone"
    printf '#include "%s.h"\n' "$h" "$h" | unit "$h-twice"
  done
  printf '#include "ljmemprof.h"\n#include "ljparse.h"\n' | unit both
  printf '#include "ljparse.h"\n#include "ljmemprof.h"\n' | unit both-turned
  unit impl <<'END'
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljparse.h"
#include "ljparse.h"
#include "ljmemprof.h"
END
  unit impl-turned <<'END'
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
END
  # A host's file, which includes other things first.
  unit impl-after-libc <<'END'
#include <stdio.h>
#include <stdlib.h>
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#define LJP_IMPLEMENTATION
#include "ljparse.h"
END
  # Systems whose loader is not known: they have no <link.h>.
  unit impl-elsewhere <<'END'
#undef __linux__
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#ifndef LJM_NO_RESOLVER
#error "the resolver asks for a loader that is not there"
#endif
#ifdef ElfW
#error "<link.h> is included"
#endif
END
  # Interface first, implementation by a second inclusion.
  unit impl-late <<'END'
#include "ljmemprof.h"
#include "ljparse.h"
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljparse.h"
END
}

# program NAME CC... SOURCE...: compiled, linked, run.
program()
{
  local name=$1
  shift
  "$@" -o "$dir/out" || fail "$name does not compile: $*"
  "$dir/out" || fail "$name does not run: $*"
  checks=$((checks + 1))
}

# Modules are known also where libc hides what lists them.
compile_strict()
{
  unit strict part <<'END'
#include <stdio.h>
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
static int ljt_own(int n) { return n + 1; }
int main(void)
{
  int (*volatile own)(int) = ljt_own;
  ljm_resolver r;
  ljm_location at;
  int bad = ljm_resolver_init(&r, NULL) != LJM_OK ||
            ljm_resolver_lookup(&r, (uintptr_t)own, &at) != LJM_OK ||
            !at.symbol.name || !strstr(at.symbol.name, "ljt_own") ||
            ljm_resolver_check(&r) != 0;
  ljm_resolver_free(&r);
  return bad;
}
END
  program "after libc's headers" "$@" -O0 "$dir/strict.c"
}

# LJM_STATIC and LJP_STATIC; what a host leaves unused is no concern of the
# headers'.
compile_static()
{
  unit static <<'END'
#define LJM_STATIC
#define LJP_STATIC
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljparse.h"
END
  program static "$@" -O0 -Wno-unused-function "$dir/static.c"
}

# The interface in one unit, the implementation in another.
compile_two()
{
  printf '#include "ljmemprof.h"\n#include "ljparse.h"\n' | unit two-user
  unit two-impl part <<'END'
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljparse.h"
END
  program "two units" "$@" -O0 "$dir/two-user.c" "$dir/two-impl.c"
}

compile()
{
  local cc=$1 lang src
  shift
  write_units
  for lang in -std=c99 -std=c11 -std=gnu17 '-x c++ -std=c++11'; do
    # A cross compiler has no C++ beside it.
    case $cc:$lang in *-linux-gnu-gcc:*c++*) continue ;; esac
    case $lang in
      *c++*) local extra=() ;;
      *) local extra=(-Wc++-compat -Wstrict-prototypes) ;;
    esac
    # shellcheck disable=SC2206 # $lang is two words
    local run=("$cc" "$@" -I "$top" "${warn[@]}" "${extra[@]}" $lang)
    for src in "$dir"/ljmemprof-*.c "$dir"/ljparse-*.c "$dir"/both*.c \
               "$dir"/impl*.c; do
      "${run[@]}" -fsyntax-only "$src" || fail "$lang $(basename "$src")"
      checks=$((checks + 1))
    done
    # The dialects in between add nothing to code that was generated; optimised
    # C99 is built by `symbols`.
    case $lang in
      -std=c11|-std=gnu17) continue ;;
      *c++*) program "both headers" "${run[@]}" -O2 "$dir/impl.c" ;;
    esac
    compile_static "${run[@]}"
    compile_two "${run[@]}"
    compile_strict "${run[@]}"
  done
}

# The configuration macros that a header documents: the first words of the
# lines of the table that its first comment has under "Macros".
documented()
{
  awk '/^\*\/$/ { exit }
       /^\*\* -- / { on = ($3 == "Macros" || $3 == "Configuration") }
       on && $2 ~ /^LJ[MP]_[A-Z]/ { print $2 }' "$1" | sort -u
}

# Those it asks for: tested with #if or #ifdef, and not defined by itself
# outside an #ifndef of the same name.
asked()
{
  grep -hoE '^ *# *(if|ifdef|ifndef|elif)\b.*' "$1" |
    grep -oE '\bLJ[MP]_[A-Z0-9_]+\b' | grep -vE '_IMPLEMENTATION_DONE$' |
    sort -u
}

macros()
{
  local cc=$1 h m def
  for h in ljmemprof ljparse; do
    documented "$top/$h.h" >"$dir/documented"
    asked "$top/$h.h" >"$dir/asked"
    diff "$dir/documented" "$dir/asked" ||
      fail "$h.h: macros documented (<) and asked for (>) differ"
    while read -r m; do
      case $m in
        LJM_LUAJIT) continue ;; # Needs LuaJIT's own headers.
        *_API) def="$m=extern" ;;
        *_ASSERT) def="$m(x)=((void)(x))" ;;
        *) def=$m ;;
      esac
      printf '#define %s_IMPLEMENTATION\n#include "%s.h"\n' \
        "$(grep -oE '^LJ[MP]' <<<"$m")" "$h" | grep -vxF "#define $m" |
        unit macro
      program "$h.h with $def" "$cc" -I "$top" "${warn[@]}" -std=c99 \
        -Wno-unused-function "-D$def" "$dir/macro.c"
    done <"$dir/documented"
  done
}

# object CC HEADER PREFIX FLAGS...: the implementation as one object.
object()
{
  local cc=$1 h=$2 p=$3
  shift 3
  printf '#define %s_IMPLEMENTATION\n#include "%s.h"\n' "$p" "$h" |
    unit object part
  "$cc" -I "$top" -std=c99 -c "$@" "$dir/object.c" -o "$dir/object.o"
}

# No printing, no exiting, no process-wide state, no stack allocation.
forbidden='v?f?printf|puts|putchar|perror|abort|_?exit|atexit|signal|sigaction'
forbidden+='|system|setenv|putenv|setlocale|strtok|rand|srand|alloca|environ'
forbidden+='|setjmp|longjmp|__assert_fail'

symbols()
{
  local cc=$1 h p bad
  for h in ljmemprof ljparse; do
    p=LJ$(sed 's/ljmemprof/M/; s/ljparse/P/' <<<"$h")
    object "$cc" "$h" "$p" -O2 "${warn[@]}"
    nm -g --defined-only "$dir/object.o" | awk '{ print $3 }' | sort \
      >"$dir/exported"
    bad=$(grep -vE "^${p,,}_[a-z0-9_]+$" "$dir/exported") || true
    [ -z "$bad" ] || fail "$h.h exports $bad"
    # Each function declared is defined, and each defined one is declared.
    printf '#include "%s.h"\n' "$h" |
      "$cc" -E -P -I "$top" "-D${p}_API=LJT_DECLARED" -x c - |
      tr '\n' ' ' | grep -oE "LJT_DECLARED [^;{]*" |
      grep -oE "\b${p,,}_[a-z0-9_]+ *\(" | tr -d ' (' | sort -u \
      >"$dir/declared" || fail "$h.h declares no function"
    # The recorder's are defined in a patched LuaJIT, and nowhere else.
    diff <(grep -v '^ljm_recorder_' "$dir/declared") "$dir/exported" ||
      fail "$h.h: declared (<) and defined (>) functions differ"
    # Types first in a declaration never have a parenthesis behind them, so
    # the names above are the functions' and their callbacks' alone.
    bad=$(nm -u "$dir/object.o" | awk '{ print $2 }' |
          grep -xE "$forbidden") || true
    [ -z "$bad" ] || fail "$h.h calls $bad"
    bad=$(mutable "$dir/object.o")
    [ -z "$bad" ] || fail "$h.h keeps mutable globals: $bad"
    object "$cc" "$h" "$p" -O0 "-D${p}_STATIC"
    bad=$(nm -g --defined-only "$dir/object.o")
    [ -z "$bad" ] || fail "$h.h with ${p}_STATIC exports $bad"
    checks=$((checks + 5))
  done
}

# The functions that the patched library $2 exports beside LuaJIT's own.
library()
{
  local cc=$1
  echo '#include "ljmemprof.h"' |
    "$cc" -E -P -I "$top" -x c - | grep -oE '\bljm_recorder_[a-z0-9_]+ *\(' |
    tr -d ' (' | sort -u >"$dir/declared"
  nm -D --defined-only "$2" | awk '{ print $3 }' | grep -vE '^lua' |
    sort >"$dir/exported"
  comm -23 "$dir/declared" "$dir/exported" >"$dir/absent"
  [ -s "$dir/declared" ] && [ ! -s "$dir/absent" ] ||
    fail "the library lacks: $(cat "$dir/absent")"
  grep -vE '^ljm_[a-z0-9_]+$' "$dir/exported" &&
    fail "the library exports more than it should"
  checks=$((checks + 2))
}

# Sections of an object that can be written to and are not empty.
mutable()
{
  readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' |
    awk '$1 ~ /^\.(data|bss|tdata|tbss)/ && $1 !~ /^\.data\.rel\.ro/ &&
         $5 !~ /^0+$/ { print $1 " of 0x" $5 " bytes" }'
}

check=$1
shift
"$check" "$@"
echo "ok   $check $* ($checks checks)"
[ "$checks" -gt 0 ]
