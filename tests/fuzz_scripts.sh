#!/usr/bin/env bash
# fuzz_scripts.sh - fuzz/run.sh and fuzz/merge.sh on two tiny targets: a sound
# one must pass, a planted fault must be found, minimised and shown again.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL $*"; exit 1; }

mkdir -p "$dir/fuzz/corpus/bad" "$dir/fuzz/corpus/good" "$dir/tests"
cp "$top"/*.h "$dir/"
cp "$top/tests/ljtest.h" "$dir/tests/"
cp "$top"/fuzz/{fuzz_main.h,uncovered.h,lib.sh,run.sh,merge.sh} "$dir/fuzz/"
cat >"$dir/fuzz/fuzz_good.c" <<'END'
#include "fuzz_main.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  return size > 2 && data[0] == 'a' ? (data[1] == 'b' ? -1 : 0) : 0;
}
END
cat >"$dir/fuzz/fuzz_bad.c" <<'END'
#include "fuzz_main.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  LJF_CHECK(!(size > 3 && data[0] == 'b' && data[1] == 'u' && data[2] == 'g'));
  return 0;
}
END
echo seed >"$dir/fuzz/corpus/good/seed"
echo seed >"$dir/fuzz/corpus/bad/seed"
cd "$dir"

fuzz/run.sh good --runs=5000 --seed=1 >good.log || fail "a sound target fails"
grep -q '^good .* 0 findings$' good.log || fail "no line for the sound target"
# What grows is kept; the next run starts from it.
fuzz/run.sh good --minutes=0.05 >grown.log || fail "a sound target fails"
grep -lsq '^a' build-fuzz/corpus/good/* || fail "nothing was kept"

# Another engine and compiler are taken, also where one was built before.
cat >engine.c <<'END'
#include <stdint.h>
#include <stdio.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int main(void)
{
  int i;
  for (i = 0; i < 77; i++)
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"abc", 3);
  puts("stat::number_of_executed_units: 77");
  return 0;
}
END
gcc -c engine.c -o engine.o
CC=gcc CXX=g++ CFLAGS=-g LIB_FUZZING_ENGINE=$dir/engine.o \
  fuzz/run.sh good --runs=5000 >engine.log || fail "another engine"
grep -q '^good .* 77 runs' engine.log || fail "another engine is not taken"

# Ended by a signal: its status, no finding, no fuzzer left.
for signal in TERM HUP; do
  rm -rf build-fuzz/libfuzzer/state-good
  fuzz/run.sh good --minutes=5 >stopped.log 2>&1 &
  pid=$!
  until grep -q INITED build-fuzz/libfuzzer/state-good/job0.0.log 2>/dev/null
  do kill -0 $pid && sleep 0.1; done
  status=0
  kill -"$signal" $pid
  wait $pid || status=$?
  [ $status = $((128 + $(kill -l $signal))) ] || fail "$signal: status $status"
  if grep -qE "[0-9] findings$" stopped.log; then fail "$signal: reports findings"; fi
  if grep -lsq "^$PWD/build-fuzz/" /proc/[0-9]*/cmdline; then
    fail "$signal: leaves the fuzzer running"
  fi
done
# A planted fault: found, told, minimised, shown again.
for engine in libfuzzer afl; do
  status=0
  fuzz/run.sh bad --engine=$engine --runs=500000 --seed=1 --record=rows \
    >bad.log 2>&1 || status=$?
  [ $status = 1 ] || { cat bad.log; fail "$engine: exit status $status, not 1"; }
  again=$(sed -n 's/^  reproduce: //p' bad.log | head -n 1)
  [ -n "$again" ] || fail "$engine: no command to reproduce it"
  eval "$again" &>/dev/null && fail "$engine: does not reproduce it: $again"
  [ "$(wc -c <"${again##*[ <]}")" = 4 ] || fail "$engine: not minimised: $again"
  grep -q "| bad | $engine |.*| [1-9][0-9]* |" rows || fail "no row recorded"
done
# What AFL++ kept, a seed too, has the name that libFuzzer would give it.
[ -f "build-fuzz/corpus/bad/$(sha1sum <fuzz/corpus/bad/seed | cut -c1-40)" ] ||
  fail "afl: nothing was kept"
for file in build-fuzz/corpus/bad/*; do
  [ "${file##*/}" = "$(sha1sum <"$file" | cut -c1-40)" ] ||
    fail "afl: what was kept is not named by its sum: $file"
done
rm -rf build-fuzz/corpus
fuzz/merge.sh good --from=build-fuzz/findings/bad >merge.log ||
  fail "merge.sh fails"
[ -f fuzz/corpus/good/seed ] || fail "merge.sh lost a seed"
echo "ok   fuzz scripts"
