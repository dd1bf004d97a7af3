#!/usr/bin/env bash
# lint.sh CHECK - rules of the tree that no compiler knows. One ctest entry a
# check:
#   names    prefixes of all that the headers name; names they must not take
#   layout   80 columns, no tabs, length of functions and of examples
#   contents the headers' parts are those that their first comment announces;
#            the fuzz target `api` calls every public function
#   tree     nothing at the top but what belongs there; scripts executable
#   docs     files that the documentation names exist; the README's table of
#            LuaJIT trees is that of the results; each finding is in the index
#   shell    shellcheck over the scripts
#   series   the patches' hunks are as long as their headers say
set -euo pipefail
export LC_ALL=C
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

fail() { echo "FAIL $*"; bad=1; }

# The tree's files, of a checkout or of an unpacked archive.
files()
{
  if [ -e .git ]; then
    git ls-files
  else
    find . -path './build*' -prune -o -type f -print | sed 's|^\./||'
  fi
}

# The header without comments and string literals.
code() { gcc -w -fpreprocessed -dD -E -P -x c "$1" | sed 's/"[^"]*"/""/g'; }

# Names at file scope of a unit, from its debug information, which also has
# those that no function uses.
scope_names()
{
  gcc -std=c99 -g3 -O0 -fno-eliminate-unused-debug-types \
    -fno-eliminate-unused-debug-symbols -fkeep-static-functions -I . -w \
    -c -x c - -o "$1.o"
  # Declarations alone are the libc functions that get called.
  readelf --debug-dump=info "$1.o" 2>/dev/null | awk '
    function done() { if (name != "" && !declared) print name }
    /^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev Number/ {
      done()
      split($0, part, /[<>]/)
      wanted = part[2] == 1 &&
               $NF ~ /typedef|struct|union|enumeration|subprogram|variable/ ||
               part[2] == 2 && $NF ~ /enumerator\)/
      name = ""; declared = 0
    }
    /DW_AT_name/ && wanted { name = $NF }
    /DW_AT_declaration/ { declared = 1 }
    END { done() }' | sort -u
}

names()
{
  local h p word
  for h in ljmemprof:LJM ljparse:LJP; do
    IFS=: read -r h p <<<"$h"
    printf '#define %s_IMPLEMENTATION\n#include "%s.h"\n' "$p" "$h" \
      >"$dir/ours.c"
    scope_names "$dir/ours" <"$dir/ours.c" >"$dir/ours.txt"
    # The system's headers that it includes, by themselves.
    { echo '#define _GNU_SOURCE'
      gcc -std=c99 -I . -E -H "$dir/ours.c" 2>&1 >"$dir/ours.i" |
        sed -nE 's/^\.\. (.*)$/#include "\1"/p'
    } | scope_names "$dir/base" >"$dir/base.txt"
    comm -13 "$dir/base.txt" "$dir/ours.txt" >"$dir/new.txt"
    cat "$dir/new.txt" >>"$dir/all.txt"
    word=$(grep -vE "^(${p,,}i?_[a-z0-9_]+|${p}I?_[A-Z0-9_]+)$" \
           "$dir/new.txt") && fail "$h.h: names without prefix:" "$word"
    # Macros and functions as written, so that parts compiled elsewhere count.
    # The guard has its own name, a libc's feature macro its libc's, and what
    # LuaJIT's list of fast functions is written with LuaJIT's.
    word=$(code "$h.h" | grep -oE '^ *# *define +\w+' | awk '{ print $NF }' |
           grep -vE "^(${p}I?_[A-Z0-9_]+|${p,,}i_[a-z0-9_]+)$" |
           grep -vxE "${h^^}_H|_GNU_SOURCE|FFDEF") &&
      fail "$h.h: macros without prefix:" "$word"
    word=$(code "$h.h" | grep -E '^[A-Za-z][^;=]*\(' | grep -v '^typedef' |
           sed -E 's/\(.*//; s/.*[ *]//' |
           grep -vE "^(${p,,}i?_[a-z0-9_]+|${p}I?_[A-Z0-9_]+)$" | sort -u) &&
      fail "$h.h: functions without prefix:" "$word"
    word=$(code "$h.h" | grep -oE '\b[A-Za-z_0-9]*__[A-Za-z_0-9]*\b' |
           grep -vxE "$known" | sort -u) &&
      fail "$h.h: double underscores:" "$word"
    # Internal macros end with the header.
    word=$(code "$h.h" | grep -oE '^ *# *undef +\w+' | awk '{ print $NF }' |
           grep -vE "^(${p}I_|${p,,}i_|FFDEF$)") &&
      fail "$h.h: undefines:" "$word"
  done
  [ -s "$dir/all.txt" ] || fail "no names found"
  word=$(grep -nowE "$foreign" ljmemprof.h ljparse.h) &&
    fail "names that Tarantool's fork owns:" "$word"
  return 0
}

# Compilers' and systems' own names.
known='__cplusplus|__linux__|__ELF__|__GNUC__|__GNUC_MINOR__|__clang__'
known+='|__attribute__|__has_attribute|__builtin_[a-z0-9_]+|__BYTE_ORDER__'
known+='|__ORDER_[A-Z_]+__|__SIZEOF_[A-Z_0-9]+__|__func__|__x86_64__|__i386__'
known+='|__aarch64__|__GLIBC__|__USE_GNU|__SSE[0-9_]+__|__STDC_[A-Z_]+__'
known+='|__mips__|__riscv|__s390x__|__alpha__|__APPLE__|__FreeBSD__|__arm__'
known+='|__ARM_FEATURE_[A-Z0-9]+|__crc32c[bd]|__asm__|__vector_size__|__clang_major__|__always_inline__|__noinline__|__cold__|__unused__|__target__'
known+='|__atomic_(load|store)_n|__ATOMIC_(RELAXED|ACQUIRE|RELEASE)'
foreign='ljm_header|ljs_header|ljp_header|LJM_CURRENT_FORMAT_VERSION'
foreign+='|LJM_CURRENT_VERSION|LJM_EPILOGUE_HEADER|LJM_MAGIC|LJS_[A-Z0-9_]+'
foreign+='|LJP_FORMAT_VERSION|LJP_CURRENT_VERSION|LJP_FRAME_[A-Z0-9_]+'
foreign+='|LJP_SYMTAB_[A-Z0-9_]+|LJP_MAGIC|LJP_EPILOGUE_[A-Z0-9_]+'

layout()
{
  local f word
  for f in ljmemprof.h ljparse.h tests/*.[ch] fuzz/*.[ch] examples/*.[ch]; do
    [ -e "$f" ] || continue
    word=$(awk 'length > 80 { print FILENAME ":" FNR ": over 80 columns" }
                /\t/ { print FILENAME ":" FNR ": tab" }
                /[ \t]$/ { print FILENAME ":" FNR ": trailing blank" }
                /(^|[ \t])\/\/ / { print FILENAME ":" FNR ": // comment" }' \
           "$f")
    [ -z "$word" ] || fail "$word"
    # A function: from a brace alone at a line's begin to the closing one.
    word=$(awk '/^{$/ { start = FNR }
                /^}$/ && start {
                  if (FNR - start + 1 >= 60)
                    print FILENAME ":" start ": function of " \
                          FNR - start + 1 " lines"
                  start = 0
                }' "$f")
    [ -z "$word" ] || fail "$word"
  done
  # What people start from is read in one go; ljparse and the like are tools.
  for f in examples/*.c examples/*.sh; do
    case $f in */ljparse.c|*/ljrecord.c|*/ljelfsym.c) continue ;; esac
    [ "$(wc -l <"$f")" -lt 80 ] || fail "$f: 80 lines or more"
  done
}

contents()
{
  local h word
  for h in ljmemprof.h ljparse.h; do
    word=$(diff <(announced "$h") <(ruled "$h")) ||
      fail "$h: contents announced (<) and rule lines (>) differ:" "$word"
  done
  # All but those that are in a patched LuaJIT only.
  for word in $(public | grep -v '^ljm_recorder_'); do
    grep -qw "$word" fuzz/fuzz_api.c fuzz/parse_help.h ||
      fail "fuzz/fuzz_api.c: calls no $word"
  done
}

# Functions that the headers declare.
public()
{
  grep -hA1 -E '^LJ[MP]_API' ljmemprof.h ljparse.h |
    grep -oE '\blj[mp]_[a-z0-9_]+\(' | tr -d '(' | sort -u
}

# Parts that the contents of the first comment name, one a line.
announced()
{
  awk '/^\*\/$/ { exit }
       on { sub(/^\*\* */, ""); printf "%s ", $0 }
       /^\*\* -- Contents/ { on = 1 }' "$1" |
    sed -E 's/Interface: //; s/Implementation: /| /' |
    tr '|' '\n' | sed -E 's/ +/ /g; s/^ //; s/ $//' | grep .
}

# Parts that rule lines open.
ruled() { sed -nE 's|^/\* -- (.*[^ ]) -+ \*/$|\1|p' "$1" | grep -v '^Licence'; }

tree()
{
  local f word
  files >"$dir/files"
  word=$(cut -d/ -f1 "$dir/files" | sort -u | grep -vE '^\.' |
         grep -vxE "$top_level") && fail "does not belong at the top:" "$word"
  while read -r f; do
    # A file without an interpreter's line is for sourcing.
    [ -x "$f" ] || [ "$(head -c 2 "$f")" != '#!' ] ||
      fail "$f is not executable"
    bash -n "$f" || fail "$f does not parse"
  done < <(scripts)
  word=$(grep -E '\.(o|a|so|bin\.gz)$' "$dir/files") &&
    fail "built or recorded files in the tree:" "$word"
  return 0
}

top_level='ljmemprof\.h|ljparse\.h|luajit-patch|fuzz|tests|examples'
top_level+='|CMakeLists\.txt|README\.md|LICENSE|CHANGELOG\.md'

scripts() { files | grep -E '\.sh$|^\.ci/run$'; }

# Paths in links and in `code` of each page, relative to it or to the top.
docs()
{
  local page word
  for page in $(files | grep -E '\.md$'); do
    while read -r word; do
      [ -e "$word" ] || [ -e "$(dirname "$page")/$word" ] ||
        fail "$page names $word, which does not exist"
    done < <(
      { grep -oE '\]\([^)#: ]+' "$page" | cut -c3-
        grep -oE '`[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*`' "$page" | tr -d '`' |
          grep -E '/|\.(sh|h|c|md|txt)$' | grep -vE '^(\.\.|build|jit)/'
      } | sort -u)
  done
  word=$(sed -n 's/^cmake_minimum_required(VERSION \(.*\))$/\1/p' \
         CMakeLists.txt)
  grep -q "CMake $word or newer" README.md ||
    fail "README.md does not ask for CMake $word"
  word=$(python3 tests/matrix_readme.py --check 2>&1) || fail "$word"
  word=$(diff <(sed -nE 's/^\| ([0-9]{4}) \| ([a-z, -]+) \|.*/\1 \2/p' \
                  fuzz/regress/INDEX.md |
                awk '{ for (i = 2; i <= NF; i++) {
                         sub(/,$/, "", $i); print $i, $1 } }' | sort) \
              <(find fuzz/regress -mindepth 2 -type f |
                sed -nE 's|.*/([^/]+)/([0-9]{4})-.*|\1 \2|p' | sort)) ||
    fail "fuzz/regress: in the index (<), in the folders (>):" "$word"
}

# Hunks that were edited, or merged, without their counts: patch cuts them off.
series()
{
  local p word
  for p in luajit-patch/series/*.patch; do
    word=$(awk '
      function done() {
        if (open && (old != want_old || new != want_new))
          print FILENAME ": " header ": has " old " old lines, " new " new"
        open = 0
      }
      function count(text,  part) {
        return split(text, part, ",") > 1 ? part[2] : 1
      }
      /^@@ / { done(); open = 1; header = $2 " " $3; old = new = 0
               want_old = count($2); want_new = count($3); next }
      /^diff / { done() }
      !open { next }
      /^ / || /^$/ { old++; new++ }
      /^-/ { old++ }
      /^\+/ { new++ }
      END { done() }' "$p")
    [ -z "$word" ] || fail "$word"
  done
}

shell()
{
  local list
  mapfile -t list < <(scripts)
  # Not those that take a function's local array for the script's variable,
  # or -Wl,OPTION for two words.
  shellcheck -x -S warning -e SC2178,SC2128,SC2054 "${list[@]}" || bad=1
  # What is still writing when grep has seen enough dies by SIGPIPE, and under
  # pipefail the whole fails, now and then.
  grep -nE '[^|]\| *grep (-[^ ]+ )*-[a-zA-Z]*q' "${list[@]}" &&
    fail "grep -q behind a pipe: give it a here-string or a file"
  return 0
}

check=$1
"$check"
[ $bad = 0 ] && echo "ok   $check"
exit $bad
