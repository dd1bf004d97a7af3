/*
** fuzz_main.h - makes a program of fuzz_<target>.c; include it first.
**
** A target defines LLVMFuzzerTestOneInput and nothing else of a program:
**   #include "mutate_stream.h"      (optional: a structure-aware mutator)
**   #include "fuzz_main.h"
**   int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
**   { ...; LJF_CHECK(what must hold); ...; return 0; }
** Inputs have no header of the harness: run every mode on each, or derive a
** choice from ljf_hash. No state may survive a run.
**
** how it is built       what it becomes
** -DLJF_ENGINE          nothing more: the engine (libFuzzer, or what
**                       LIB_FUZZING_ENGINE names) has main and copies inputs
** afl-clang-fast        AFL++: persistent loop, input in shared memory
** any compiler          replay: runs files and folders given; see ljf_usage
*/
#ifndef FUZZ_MAIN_H
#define FUZZ_MAIN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uncovered.h"

#ifdef __cplusplus
extern "C"
#endif
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

LJF_UNCOVERED_BEGIN

/* -- For targets -------------------------------------------------------- */

static inline void ljf_failed(const char *expr, const char *file, int line)
{
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, expr);
  abort();
}

/* A promise; its breach is a finding in every build. */
#define LJF_CHECK(expr) \
  ((expr) ? (void)0 : ljf_failed(#expr, __FILE__, __LINE__))

/* What a target derives its choices from: any bit of any byte changes it. */
static inline uint64_t ljf_hash(const uint8_t *data, size_t size)
{
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  size_t i;
  for (i = 0; i < size; i++) h = (h ^ data[i]) * UINT64_C(0x100000001b3);
  h ^= h >> 29;
  h *= UINT64_C(0xbf58476d1ce4e5b9);
  return h ^ (h >> 32);
}

/* -- Mutation ----------------------------------------------------------- */

/*
** LJF_MUTATE(data, size, max_size, rng) of a mutate_*.h changes an input in
** place and returns its new size; LJF_REPAIR(data, size) makes checksums
** right. Both engines and the replay's --mutate use them.
*/
static inline size_t ljf_bytes(uint8_t *data, size_t size, size_t max_size,
                               ljt_rng *rng)
{
  static const uint8_t special[] = {0, 1, 2, 4, 16, 64, 127, 128, 129, 255};
  size_t at = size ? (size_t)ljt_below(rng, size) : 0, n;
  switch (ljt_below(rng, 7)) {
  case 0:
    if (size) data[at] ^= (uint8_t)(1u << ljt_below(rng, 8));
    break;
  case 1:
    if (size) data[at] = (uint8_t)(data[at] + 1 + ljt_below(rng, 255));
    break;
  case 2:
    if (size) data[at] = special[ljt_below(rng, sizeof(special))];
    break;
  case 3: /* Cut out. */
    n = size ? (size_t)ljt_below(rng, (size - at < 17 ? size - at : 17)) : 0;
    memmove(data + at, data + at + n, size - at - n);
    size -= n;
    break;
  case 4: /* Put in: a copy of what stands there. */
    n = (size_t)ljt_below(rng, 17);
    if (n > size - at) n = size - at;
    if (n > max_size - size) n = max_size - size;
    memmove(data + at + n, data + at, size - at);
    size += n;
    break;
  case 5: /* Copy a piece over another place. */
    n = size ? (size_t)ljt_below(rng, size) : 0;
    if (n > size - at) n = size - at;
    if (n > 64) n = 64;
    memmove(data + at, data + (size ? ljt_below(rng, size - n + 1) : 0), n);
    break;
  default: /* Cut off. */
    if (ljt_below(rng, 4) == 0) size = at;
    break;
  }
  return size;
}

/* One step of whatever this target has. */
static inline size_t ljf_mutate(uint8_t *data, size_t size, size_t max_size,
                                ljt_rng *rng)
{
  uint64_t i, steps = 1 + ljt_below(rng, 4);
  for (i = 0; i < steps; i++) {
#ifdef LJF_MUTATE
    if (ljt_below(rng, 3) != 0) {
      size = LJF_MUTATE(data, size, max_size, rng);
      continue;
    }
#endif
    size = ljf_bytes(data, size, max_size, rng);
  }
#ifdef LJF_REPAIR
  if (ljt_below(rng, 16) != 0) LJF_REPAIR(data, size);
#endif
  return size;
}

/* -- Programs ----------------------------------------------------------- */

#if !defined(LJF_ENGINE) && !defined(LJF_MUTATOR_ONLY)
/* A heap block of exactly the input's size, so that over-reads are seen. */
static inline void ljf_run(const uint8_t *data, size_t size)
{
  uint8_t *copy = (uint8_t *)malloc(size ? size : 1);
  if (!copy) abort();
  if (size) memcpy(copy, data, size);
  if (!size) {
    free(copy);
    copy = NULL; /* As engines do: nothing may be read. */
  }
  (void)LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}
#endif

#if defined(LJF_ENGINE)

#ifdef LJF_MUTATE
#ifdef __cplusplus
extern "C" {
#endif
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed);
#ifdef __cplusplus
}
#endif

/* A third of the steps is the engine's, which knows compared values. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed)
{
  ljt_rng rng = ljt_rng_make(seed);
  if (ljt_below(&rng, 3) != 0) return ljf_mutate(data, size, max_size, &rng);
  size = LLVMFuzzerMutate(data, size, max_size);
#ifdef LJF_REPAIR
  if (ljt_below(&rng, 8) != 0) LJF_REPAIR(data, size);
#endif
  return size;
}
#endif

#elif defined(__AFL_FUZZ_TESTCASE_LEN)

#include <unistd.h>
__AFL_FUZZ_INIT();

int main(void)
{
  unsigned char *buf;
  __AFL_INIT();
  buf = __AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(20000)) ljf_run(buf, (size_t)__AFL_FUZZ_TESTCASE_LEN);
  return 0;
}

#elif !defined(LJF_MUTATOR_ONLY)

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>

typedef struct ljf_replay {
  uint64_t files, runs, mutate, seed;
  double slow; /* Seconds of processor time an input may take; 0: any. */
  int verbose, bad;
} ljf_replay;

static inline int ljf_usage(const char *name)
{
  fprintf(stderr,
          "usage: %s [--mutate=N] [--seed=S] [--slow=SECONDS] [-v] PATH...\n"
          "Runs each file and each file of each folder; with --mutate, N\n"
          "mutations of them too. No file at all is a failure.\n", name);
  return 2;
}

/* N mutations, each of the one before, from the file again every 8. */
static inline void ljf_mutations(ljf_replay *r, const uint8_t *data,
                                 size_t size)
{
  ljt_rng rng = ljt_rng_make(r->seed ^ ljf_hash(data, size));
  size_t n = size, max_size = size * 2 + 256;
  uint8_t *buf = (uint8_t *)malloc(max_size);
  uint64_t i;
  if (!buf) abort();
  for (i = 0; i < r->mutate; i++) {
    if (i % 8 == 0) {
      n = size;
      if (size) memcpy(buf, data, size);
    }
    n = ljf_mutate(buf, n, max_size, &rng);
    ljf_run(buf, n);
    r->runs++;
  }
  free(buf);
}

static inline void ljf_file(ljf_replay *r, const char *path)
{
  size_t size;
  uint8_t *data = ljt_read_file(path, &size);
  clock_t start = clock();
  double took;
  if (!data) {
    fprintf(stderr, "cannot read %s\n", path);
    r->bad = 1;
    return;
  }
  if (r->verbose) fprintf(stderr, "%s\n", path);
  r->files++;
  r->runs++;
  ljf_run(data, size);
  took = (double)(clock() - start) / CLOCKS_PER_SEC;
  if (r->slow > 0 && took > r->slow) {
    fprintf(stderr, "slow: %s took %.2f s\n", path, took);
    r->bad = 1;
  }
  if (r->mutate) ljf_mutations(r, data, size);
  free(data);
}

static inline void ljf_path(ljf_replay *r, const char *path)
{
  struct dirent **names;
  struct stat st;
  char file[4096];
  int i, n;
  if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
    ljf_file(r, path);
    return;
  }
  n = scandir(path, &names, NULL, alphasort);
  if (n < 0) {
    fprintf(stderr, "cannot read %s\n", path);
    r->bad = 1;
    return;
  }
  for (i = 0; i < n; i++) {
    snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
    if (names[i]->d_name[0] != '.' && stat(file, &st) == 0 &&
        S_ISREG(st.st_mode))
      ljf_file(r, file);
    free(names[i]);
  }
  free(names);
}

int main(int argc, char **argv)
{
  ljf_replay r;
  int i;
  memset(&r, 0, sizeof(r));
  r.seed = 1;
  for (i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (strncmp(a, "--mutate=", 9) == 0) r.mutate = strtoull(a + 9, NULL, 0);
    else if (strncmp(a, "--seed=", 7) == 0) r.seed = strtoull(a + 7, NULL, 0);
    else if (strncmp(a, "--slow=", 7) == 0) r.slow = strtod(a + 7, NULL);
    else if (strcmp(a, "-v") == 0) r.verbose = 1;
    else if (a[0] == '-') return ljf_usage(argv[0]);
    else ljf_path(&r, a);
  }
  printf("%" PRIu64 " files replayed, %" PRIu64 " runs\n", r.files, r.runs);
  if (r.files == 0) fprintf(stderr, "no file replayed\n");
  return r.bad || r.files == 0;
}

#endif

LJF_UNCOVERED_END

#endif /* FUZZ_MAIN_H */
