#!/usr/bin/env bash
# run.sh - builds fuzz targets, fuzzes, minimises what is found, says how much
# was done. Exits 1 on a finding, 2 if an engine failed, 128 + N on signal N.
set -euo pipefail
# shellcheck source=fuzz/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage()
{
  cat <<'END'
usage: fuzz/run.sh TARGET...|all [options]
  --engine=libfuzzer|afl  (default libfuzzer)
  --minutes=N     processor minutes for each target and job (default 1)
  --runs=N        so many executions for each target and job instead
  --seed=S        seed of the engine's random numbers (with --runs: the same
                  executions each time)
  --jobs=N        processes for each target (default 1)
  --record=FILE   append a row for each target (see fuzz/CAMPAIGNS.md)
  --list          list the targets
environment: CC, CXX, CFLAGS, LIB_FUZZING_ENGINE (libfuzzer only);
  LJF_WORK (default build-fuzz): programs, corpora that grow, findings
END
}

engine=libfuzzer minutes=1 runs='' seed='' jobs=1 record='' names=()
for arg; do
  case $arg in
    --engine=libfuzzer|--engine=afl) engine=${arg#*=} ;;
    --minutes=*) minutes=${arg#*=} ;;
    --runs=*) runs=${arg#*=} ;;
    --seed=*) seed=${arg#*=} ;;
    --jobs=*) jobs=${arg#*=} ;;
    --record=*) record=${arg#*=} ;;
    --list) all_targets; exit 0 ;;
    -h|--help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) names+=("$arg") ;;
  esac
done
[ ${#names[@]} -gt 0 ] || { usage >&2; exit 2; }
list=$(targets "${names[@]}")
names=()
mapfile -t names <<<"$list"
seconds=$(awk -v m="$minutes" 'BEGIN { printf "%d", m * 60 }')
[ -n "$runs" ] || [ "$seconds" -gt 0 ] || die "--minutes=$minutes"

# timed FILE COMMAND...: runs it quietly, notes its processor seconds.
timed()
{
  local file=$1 status=0
  shift
  local TIMEFORMAT='%U %S'
  { time "$@" >"$file.log" 2>&1 </dev/null; } 2>"$file.time" || status=$?
  return $status
}

# apart COMMAND...: starts it in a process group of its own, so that it can be
# stopped with all that it starts.
apart()
{
  set -m
  "$@" &
  set +m
}

# stop SIGNAL: ends what `apart` started, and this script as by that signal.
stop()
{
  local group groups tries=0
  trap '' HUP INT TERM
  mapfile -t groups < <(jobs -p)
  for group in "${groups[@]}"; do
    kill -TERM -- "-$group" 2>/dev/null || true
  done
  for group in "${groups[@]}"; do
    while kill -0 -- "-$group" 2>/dev/null && [ $tries -lt 50 ]; do
      sleep 0.1
      tries=$((tries + 1))
    done
    kill -KILL -- "-$group" 2>/dev/null || true
  done
  echo "${0##*/}: stopped; what was found is in $work/findings" >&2
  exit $((128 + $1))
}

# used BASE: processor seconds noted by `timed` for BASE*
used() { cat "$1"*.time | awk '{ s += $1 + $2 } END { printf "%.1f", s }'; }

# -- libFuzzer --------------------------------------------------------------

# one_libfuzzer TARGET JOB EXE: one process until its time or runs are spent.
one_libfuzzer()
{
  local name=$1 job=$2 exe=$3 spent=0 slice=0 base args dirs
  base=$state/job$job
  args=(-print_final_stats=1 -timeout=20 -rss_limit_mb=2048
        "-max_len=$(longest "$name")" "-artifact_prefix=$found/")
  [ -z "$(dict "$name")" ] || args+=("-dict=$(dict "$name")")
  mapfile -t -O "${#args[@]}" args < <(schedule "$name")
  mapfile -t dirs < <(folders "$name")
  if [ -n "$runs" ]; then
    # The same executions each time: nothing but committed inputs at start.
    mkdir "$state/new$job"
    args+=("-runs=$runs" "-seed=$((${seed:-1} + job))")
    timed "$base.0" "$exe" "${args[@]}" "$state/new$job" "${dirs[@]}"
    return
  fi
  [ -z "$seed" ] || args+=("-seed=$((seed + job))")
  while [ "$spent" -lt "$seconds" ]; do
    timed "$base.$slice" "$exe" "${args[@]}" \
      "-max_total_time=$((seconds - spent))" "$corpus" "${dirs[@]}" ||
      return
    slice=$((slice + 1))
    spent=$(used "$base.")
    spent=${spent%.*}
  done
}

# What the logs say: runs, edges reached, edges there are.
stats_libfuzzer()
{
  awk '/^stat::number_of_executed_units/ { runs += $2 }
       /INFO: Loaded .* inline 8-bit counters/ {
         for (i = 1; i <= NF; i++) if ($i ~ /^\(/) {
           all = substr($i, 2) + 0
           break
         }
       }
       / cov: / { for (i = 1; i < NF; i++)
                    if ($i == "cov:" && $(i + 1) > cov) cov = $(i + 1) }
       END { print runs + 0, cov + 0, all + 0 }' "$state"/*.log
}

# minimise_libfuzzer FILE TO
minimise_libfuzzer()
{
  "$exe" -minimize_crash=1 -max_total_time=10 "-exact_artifact_path=$2" \
    "$1" >"$state/minimise" 2>&1 || true
}

fails_libfuzzer() { ! "$exe" -timeout=20 -rss_limit_mb=2048 "$1" &>/dev/null; }

# Slow ones count if a build without sanitizers needs over a second for them.
slow_libfuzzer()
{
  local f replay
  compgen -G "$found/slow-unit-*" >/dev/null || return 0
  replay=$(build_replay "$1")
  for f in "$found"/slow-unit-*; do
    if "$replay" --slow=1 "$f" &>/dev/null; then rm "$f"; fi
  done
}

# -- AFL++ ------------------------------------------------------------------

# compile_afl TARGET EXE: main with sanitizers, compared values (CMPLOG),
# comparisons split (laf-intel), and the mutator. For use in a condition, where
# nothing but `return` ends it.
compile_afl()
{
  local name=$1 exe=$2 args
  mapfile -t args < <(sources "$name"; libs "$name")
  args=(-g -O2 "${args[@]}" -o)
  AFL_USE_ASAN=1 AFL_USE_UBSAN=1 afl-clang-fast "${args[@]}" "$exe" || return
  AFL_LLVM_CMPLOG=1 afl-clang-fast "${args[@]}" "$exe-cmplog" || return
  # Splitting what has been inlined takes the compiler minutes.
  AFL_LLVM_LAF_ALL=1 afl-clang-fast -fno-inline "${args[@]/-O2/-O1}" \
    "$exe-laf" || return
  rm -f "$exe-mutator.so"
  [ -n "$(mutator "$name")" ] || return 0
  "${CC:-cc}" -O2 -shared -fPIC -DLJF_MUTATOR_ONLY -I "$top" \
    -I "$top/tests" -I "$fuzz" -include "$(mutator "$name")" \
    "$fuzz/afl_mutator.c" -o "$exe-mutator.so"
}

build_afl()
{
  local name=$1 exe=$work/afl/fuzz_$1 log=$work/afl-build-$1.log from
  mapfile -t from < <(depends "$name")
  if ! up_to_date "$exe.done" "${from[@]}"; then
    need afl-clang-fast afl-fuzz afl-tmin
    mkdir -p "$work/afl"
    compile_afl "$name" "$exe" >"$log" 2>&1 || {
      cat "$log" >&2
      exit 2
    }
    touch "$exe.done"
  fi
  echo "$exe"
}

# afl_part TARGET ROLE NAME EXE SECONDS RUNS [ARGS]: one instance until its
# processor time is spent. AFL++ counts the clock; so in slices.
afl_part()
{
  local name=$1 role=$2 id=$3 exe=$4 most=$5 count=$6 spent=0 slice=0 limit in
  local base=$state/$id
  shift 6
  in=$state/in
  while [ "$spent" -lt "$most" ]; do
    limit=(-V $((most - spent > 30 ? most - spent : 30)))
    [ -z "$count" ] || limit=(-E "$count")
    timed "$base.$slice" afl-fuzz -i "$in" -o "$state/out" "$role" "$id" \
      -m none -t 5000 -G "$(longest "$name")" "${limit[@]}" "${afl_args[@]}" "$@" -- "$exe" \
      || { tail -n 20 "$base.$slice.log" >&2; die "afl-fuzz failed"; }
    # Executions count from the start of the instance, over resumptions too.
    cp "$state/out/$id/fuzzer_stats" "$base.stats"
    [ -z "$count" ] || return 0
    in=-
    # What ran the target may outlive afl-fuzz by a moment, and its lock too.
    flock -w 60 "$state/out/$id" true || die "afl-fuzz holds on to its folder"
    slice=$((slice + 1))
    spent=$(used "$base.")
    spent=${spent%.*}
  done
}

# one_afl TARGET JOB EXE: the first job runs with sanitizers and CMPLOG, the
# second laf-intel; a job alone takes both, one after the other.
one_afl()
{
  local name=$1 job=$2 exe=$3 main=$seconds laf=$seconds
  afl_args=()
  [ -z "$(dict "$name")" ] || afl_args+=(-x "$(dict "$name")")
  [ -z "$seed" ] || afl_args+=(-s "$((seed + job))")
  if [ "$jobs" = 1 ]; then
    main=$((seconds * 2 / 3))
    laf=$((seconds - main))
  fi
  if [ "$job" = 0 ]; then
    afl_part "$name" -M main "$exe" "$main" "$runs" -c "$exe-cmplog"
  fi
  if [ "$job" = 1 ] || [ "$jobs" = 1 ]; then
    afl_part "$name" -S laf "$exe-laf" "$laf" "$runs"
  fi
  if [ "$job" -gt 1 ]; then
    afl_part "$name" -S "more$job" "$exe" "$seconds" "$runs"
  fi
}

afl_environment()
{
  export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1
  export AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_TRY_AFFINITY=0
  export AFL_FAST_CAL=1 AFL_NO_STARTUP_CALIBRATION=1 AFL_IMPORT_FIRST=1
  export ASAN_OPTIONS=$ASAN_OPTIONS:abort_on_error=1:symbolize=0:detect_leaks=0
  unset AFL_CUSTOM_MUTATOR_LIBRARY
  [ ! -e "$1-mutator.so" ] ||
    export AFL_CUSTOM_MUTATOR_LIBRARY="$1-mutator.so"
}

# copy_by_sum PREFIX: copies the files on its input (names ended by 0 bytes) to
# PREFIX with the sum of what each holds. Many to one sha1sum: to start one
# takes longer than to read.
copy_by_sum()
{
  local sum f
  xargs -0r sha1sum -z | while read -rd '' sum f; do
    [ -e "$1$sum" ] || cp "$f" "$1$sum"
  done
}

# prepare_afl TARGET: the folder of inputs to start from.
prepare_afl()
{
  local dir
  mkdir "$state/in"
  while read -r dir; do
    find "$dir" -maxdepth 1 -type f -print0 | copy_by_sum "$state/in/"
  done < <(folders "$1"; [ -n "$runs" ] || echo "$corpus")
}

stats_afl()
{
  awk -F' *: *' '$1 == "execs_done" { runs += $2 }
       # The others may be built with other edges.
       $1 == "edges_found" && FILENAME ~ /main/ { cov = $2 }
       $1 == "total_edges" && FILENAME ~ /main/ { all = $2 }
       END { print runs + 0, cov + 0, all + 0 }' "$state"/*.stats
}

# kept_afl KIND PREFIX: to PREFIX what AFL++ kept as such.
kept_afl()
{
  [ ! -d "$state/out" ] ||
    find "$state/out" -path "*/$1/id:*" -type f -print0 | copy_by_sum "$2"
}

# What AFL++ kept goes to the growing corpus and the findings.
collect_afl()
{
  kept_afl queue "$corpus/"
  kept_afl crashes "$found/crash-"
  kept_afl hangs "$found/timeout-"
}

minimise_afl()
{
  afl-tmin -m none -t 5000 -i "$1" -o "$2" -- "$exe" >"$state/minimise" 2>&1 \
    || true
}

fails_afl() { ! timeout 20 "$exe" <"$1" &>/dev/null; }

slow_afl() { :; }

# -- Report -----------------------------------------------------------------

# Each file in $found, minimised, with the command that shows it again.
report_findings()
{
  local f small size
  for f in "$found"/*; do
    [ -f "$f" ] || continue
    case $f in */min-*) continue ;; esac
    small=$found/min-${f##*/}
    case $f in
      */crash-*|*/leak-*) minimise_"$engine" "$f" "$small" ;;
    esac
    if [ ! -s "$small" ] || ! fails_"$engine" "$small"; then
      cp "$f" "$small"
    fi
    size=$(wc -c <"$small")
    echo "FINDING $1: $small ($size bytes)"
    case $engine in
      libfuzzer) echo "  reproduce: $exe $small" ;;
      afl) echo "  reproduce: $exe <$small" ;;
    esac
    echo "  once mended: keep it as fuzz/regress/$1/NNNN-what.bin"
    findings=$((findings + 1))
  done
}

# What the engine said of it.
show_logs()
{
  local log
  for log in "$state"/*.log; do
    grep -E '^==|does not hold|runtime error|^ERROR|SUMMARY|^ *#[0-9]+ .*lj' \
      "$log" | head -n 16 | cut -c 1-120 | sed 's/^/  | /' >&2 || true
  done
}

# crashed STATUS: libFuzzer's exits for a fault, a sanitizer's, or a signal's.
crashed()
{
  case $1 in
    1|70|71|77|132|134|135|136|139) return 0 ;;
    *) return 1 ;;
  esac
}

run_target()
{
  local name=$1 job status=0 pids=() pid cpu count cov all
  state=$work/$engine/state-$name found=$work/findings/$name
  corpus=$work/corpus/$name
  findings=0
  rm -rf "$state"
  mkdir -p "$state" "$found" "$corpus"
  if [ -n "$(ls "$found")" ]; then # From an earlier run; not this one's.
    mkdir -p "$work/findings/earlier"
    mv "$found" "$(mktemp -d "$work/findings/earlier/$name.XXXXXX")"
    mkdir "$found"
  fi
  exe=$(build_"$engine" "$name")
  if [ "$engine" = afl ]; then
    afl_environment "$exe"
    prepare_afl "$name"
  fi
  for ((job = 0; job < jobs; job++)); do
    apart one_"$engine" "$name" "$job" "$exe"
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  [ "$engine" != afl ] || collect_afl
  slow_"$engine" "$name"
  report_findings "$name"
  if [ $status != 0 ]; then
    show_logs
    if [ "$findings" = 0 ] && crashed "$status"; then
      findings=1
    elif [ "$findings" = 0 ]; then
      echo "$name: $engine failed (status $status); its logs: $state" >&2
      failed=1
    fi
  fi
  cpu=$(used "$state/")
  read -r count cov all < <(stats_"$engine")
  summary "$name" "$count" "$cov" "$all" "$cpu"
  total=$((total + findings))
}

# summary TARGET RUNS EDGES ALL SECONDS
summary()
{
  local rate share minutes
  rate=$(awk -v n="$2" -v s="$5" 'BEGIN { printf "%d", (s > 0 ? n / s : 0) }')
  share=$(awk -v n="$3" -v a="$4" \
          'BEGIN { printf "%.1f", (a > 0 ? 100 * n / a : 0) }')
  minutes=$(awk -v s="$5" 'BEGIN { printf "%.1f", s / 60 }')
  printf '%-12s %-9s %11d runs %8d /s %6s min  edges %5d/%5d (%s %%)  %s\n' \
    "$1" "$engine" "$2" "$rate" "$minutes" "$3" "$4" "$share" \
    "$findings findings"
  [ -z "$record" ] ||
    printf '| %s | %s | %s | %d | %d | %s | %d of %d (%s %%) | %d | %s |\n' \
      "$(date -u +%Y-%m-%d)" "$1" "$engine" "$2" "$rate" "$minutes" "$3" \
      "$4" "$share" "$findings" \
      "$(git -C "$top" rev-parse --short HEAD 2>/dev/null || echo '-')" \
      >>"$record"
}

# Builds all targets, as many at once as there are processors. What fails is
# said when the target's turn comes.
prebuild()
{
  local name
  for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
    apart build_"$engine" "$name" >/dev/null 2>&1
  done
  wait || true
}

total=0 failed=0
mkdir -p "$work"
# No block outlives a run, so few freed ones need be kept to catch their use.
# Where one was made is told when a finding is shown again.
export ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=1:${ASAN_OPTIONS:-}
trap 'stop 1' HUP
trap 'stop 2' INT
trap 'stop 15' TERM
[ ${#names[@]} = 1 ] || prebuild
for name in "${names[@]}"; do run_target "$name"; done
if [ "$total" -gt 0 ]; then
  echo "$total findings"
  exit 1
fi
[ $failed = 0 ] || die "an engine failed; no findings otherwise"
echo "no findings"
