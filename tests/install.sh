#!/usr/bin/env bash
# install.sh BUILD_DIR - every way to get the headers into a host: a plain
# copy, cmake --install with find_package and with pkg-config, FetchContent.
# A small host is built and run each way.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/host.c" <<'END'
#define LJM_IMPLEMENTATION
#include <ljmemprof.h>
#define LJP_IMPLEMENTATION
#include <ljparse.h>
#include <stdio.h>
int main(void)
{
  printf("%s %s\n", LJM_VERSION_STRING, LJP_VERSION_STRING);
  return 0;
}
END
version=$(sed -n 's/^project(ljmemprof VERSION \([0-9.]*\).*/\1/p' \
          "$top/CMakeLists.txt")

# ran WAY PROGRAM: the program says the version that CMake has.
ran()
{
  local have
  have=$("$2")
  [ "$have" = "$version $version" ] || {
    echo "FAIL $1: says '$have', want '$version $version'"
    exit 1
  }
  echo "ok   $1"
}

# cmake_host WAY LINES: configures and builds a host whose CMakeLists.txt gets
# the target by these lines.
cmake_host()
{
  local way=$1
  mkdir "$dir/$way"
  cp "$dir/host.c" "$dir/$way/"
  cat >"$dir/$way/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.15)
project(host LANGUAGES C)
$2
add_executable(host host.c)
target_link_libraries(host PRIVATE ljmemprof::ljmemprof)
if(TARGET ljparse)
  message(FATAL_ERROR "tools were added to the host's build")
endif()
END
  cmake -S "$dir/$way" -B "$dir/$way/build" "-DCMAKE_PREFIX_PATH=$dir/prefix" \
    >"$dir/log" 2>&1 && cmake --build "$dir/$way/build" >>"$dir/log" 2>&1 || {
      cat "$dir/log"
      echo "FAIL $way"
      exit 1
    }
  ran "$way" "$dir/$way/build/host"
}

mkdir "$dir/copy"
cp "$top/ljmemprof.h" "$top/ljparse.h" "$dir/host.c" "$dir/copy/"
gcc -I "$dir/copy" "$dir/copy/host.c" -o "$dir/copy/host"
ran "plain copy" "$dir/copy/host"

cmake --install "$build" --prefix "$dir/prefix" >"$dir/log"
cmake_host find_package "find_package(ljmemprof ${version%.*} REQUIRED)"
cmake_host fetch_content "include(FetchContent)
FetchContent_Declare(ljmemprof SOURCE_DIR \"$top\")
FetchContent_MakeAvailable(ljmemprof)"

# The prefix was given at installation, so pkg-config is told of it too.
pc=$(dirname "$(find "$dir/prefix" -name ljmemprof.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --define-prefix --cflags ljmemprof)
mkdir "$dir/pc"
# shellcheck disable=SC2086 # the flags are words
gcc $flags "$dir/host.c" -o "$dir/pc/host"
[ "$(PKG_CONFIG_PATH=$pc pkg-config --modversion ljmemprof)" = "$version" ]
grep -q -- "-I$dir/prefix" <<<"$flags" || {
  echo "FAIL pkg-config: flags $flags"
  exit 1
}
ran "pkg-config" "$dir/pc/host"

# The programs with their pages and completion; the patched libraries that
# were built here.
there() { [ -e "$dir/prefix/$1" ] || { echo "FAIL no $1 installed"; exit 1; }; }
for tool in ljparse ljelfsym ljrecord; do
  [ -x "$build/$tool" ] || continue
  there "bin/$tool"
  there "share/man/man1/$tool.1"
  there "share/bash-completion/completions/$tool"
done
for lib in "$top"/build/luajit/*/lib/libluajit-5.1.so.2; do
  if [ ! -x "$build/ljrecord" ] || ! grep -qs ljmctl1 "$lib"; then continue; fi
  tree=$(basename "$(dirname "$(dirname "$lib")")")
  found=$(find "$dir/prefix" -path "*/ljmemprof/$tree/libluajit-5.1.so.2")
  [ -n "$found" ] || {
    echo "FAIL the library of $tree is not installed"
    exit 1
  }
done
echo "ok   tools, pages, libraries"
