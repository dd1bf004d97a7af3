/*
** ljtest.h - what the test programs share: checks, cases, seeds, and an
** allocator that counts and verifies.
**
** A program registers cases in main:
**   int main(int argc, char **argv)
**   {
**     ljt_begin(argc, argv);
**     LJT_CASE(uleb_limits);
**     return ljt_end();
**   }
** Arguments: names of the cases to run (all otherwise), --seed=N, --stride=N
** (heavy sweeps take every Nth step), --data=DIR.
** A run in which no check was made fails.
*/
#ifndef LJTEST_H
#define LJTEST_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ljt_state {
  int argc;
  char **argv;
  const char *case_name;  /* Running case. */
  const char *row;        /* Row of its table, or NULL. */
  const char *data_dir;   /* --data, or NULL. */
  uint64_t seed;
  uint64_t stride;
  uint64_t checks, failures, cases;
} ljt_state;

static ljt_state ljt;

static inline void ljt_begin(int argc, char **argv)
{
  int i;
  ljt.argc = argc;
  ljt.argv = argv;
  ljt.seed = 1;
  ljt.stride = 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--seed=", 7) == 0)
      ljt.seed = strtoull(argv[i] + 7, NULL, 0);
    else if (strncmp(argv[i], "--stride=", 9) == 0)
      ljt.stride = strtoull(argv[i] + 9, NULL, 0);
    else if (strncmp(argv[i], "--data=", 7) == 0)
      ljt.data_dir = argv[i] + 7;
  }
  if (ljt.stride == 0) ljt.stride = 1;
}

static inline int ljt_wanted(const char *name)
{
  int i, named = 0;
  for (i = 1; i < ljt.argc; i++) {
    if (ljt.argv[i][0] == '-') continue;
    named = 1;
    if (strcmp(ljt.argv[i], name) == 0) return 1;
  }
  return !named;
}

static inline void ljt_run(const char *name, void (*fn)(void))
{
  uint64_t before = ljt.failures, checks = ljt.checks;
  if (!ljt_wanted(name)) return;
  ljt.case_name = name;
  ljt.row = NULL;
  ljt.cases++;
  fn();
  if (ljt.checks == checks) {
    ljt.failures++;
    printf("FAIL %s: made no check\n", name);
  }
  if (ljt.failures == before)
    printf("ok   %s (%" PRIu64 " checks)\n", name, ljt.checks - checks);
}
#define LJT_CASE(fn) ljt_run(#fn, fn)

static inline int ljt_end(void)
{
  if (ljt.cases == 0) {
    printf("FAIL no case of that name\n");
    return 1;
  }
  printf("%" PRIu64 " cases, %" PRIu64 " checks, %" PRIu64 " failures\n",
         ljt.cases, ljt.checks, ljt.failures);
  return ljt.failures != 0;
}

static inline int ljt_fail(const char *file, int line)
{
  ljt.failures++;
  printf("FAIL %s:%d: %s%s%s: ", file, line,
         ljt.case_name ? ljt.case_name : "-", ljt.row ? "/" : "",
         ljt.row ? ljt.row : "");
  return 0;
}

static inline int ljt_check_u64(uint64_t have, uint64_t want,
                                const char *expr, const char *file, int line)
{
  ljt.checks++;
  if (have == want) return 1;
  ljt_fail(file, line);
  printf("%s: have %" PRIu64 " (0x%" PRIx64 "), want %" PRIu64
         " (0x%" PRIx64 ")\n", expr, have, have, want, want);
  return 0;
}

static inline int ljt_check_mem(const void *have, size_t have_size,
                                const void *want, size_t want_size,
                                const char *expr, const char *file, int line)
{
  const unsigned char *h = (const unsigned char *)have;
  const unsigned char *w = (const unsigned char *)want;
  size_t i = 0, n = have_size < want_size ? have_size : want_size;
  ljt.checks++;
  while (i < n && h[i] == w[i]) i++;
  if (i == have_size && i == want_size) return 1;
  ljt_fail(file, line);
  printf("%s: %zu bytes, want %zu; first difference at %zu", expr, have_size,
         want_size, i);
  if (i < n) printf(" (have 0x%02x, want 0x%02x)", h[i], w[i]);
  printf("\n");
  return 0;
}

static inline int ljt_check_str(const char *have, const char *want,
                                const char *expr, const char *file, int line)
{
  ljt.checks++;
  if (have && want ? strcmp(have, want) == 0 : have == want) return 1;
  ljt_fail(file, line);
  printf("%s: have \"%s\", want \"%s\"\n", expr, have ? have : "(null)",
         want ? want : "(null)");
  return 0;
}

static inline int ljt_check_true(int ok, const char *expr, const char *file,
                                 int line)
{
  ljt.checks++;
  if (ok) return 1;
  ljt_fail(file, line);
  printf("%s does not hold\n", expr);
  return 0;
}

#define LJT_EQ(have, want) \
  ljt_check_u64((uint64_t)(have), (uint64_t)(want), #have, __FILE__, __LINE__)
#define LJT_STR(have, want) \
  ljt_check_str((have), (want), #have, __FILE__, __LINE__)
#define LJT_MEM(have, hn, want, wn) \
  ljt_check_mem((have), (hn), (want), (wn), #have, __FILE__, __LINE__)
#define LJT_OK(expr) ljt_check_true((expr) ? 1 : 0, #expr, __FILE__, __LINE__)

/* -- Random numbers: xorshift64*, same on every machine ---------------- */

typedef struct ljt_rng { uint64_t s; } ljt_rng;

static inline ljt_rng ljt_rng_make(uint64_t seed)
{
  ljt_rng r;
  r.s = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
  if (r.s == 0) r.s = 1;
  return r;
}

static inline uint64_t ljt_rand(ljt_rng *r)
{
  r->s ^= r->s >> 12;
  r->s ^= r->s << 25;
  r->s ^= r->s >> 27;
  return r->s * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0..n-1; n is not 0. */
static inline uint64_t ljt_below(ljt_rng *r, uint64_t n)
{
  return ljt_rand(r) % n;
}

/* -- Allocator: exact blocks, sizes verified, peak kept, Nth call fails -- */

typedef struct ljt_heap {
  uint64_t live_size, live_count, peak_size, calls;
  uint64_t fail_at;     /* Fail this call (from 1) and all later; 0: none. */
  uint64_t bad_frees;   /* Sizes on free or realloc that were wrong. */
} ljt_heap;

/* A guard of 16 bytes before each block keeps its size. */
static inline void *ljt_heap_alloc(void *user, size_t size)
{
  ljt_heap *h = (ljt_heap *)user;
  unsigned char *p;
  h->calls++;
  if (size == 0) h->bad_frees++;
  if (h->fail_at && h->calls >= h->fail_at) return NULL;
  p = (unsigned char *)malloc(size + 16);
  if (!p) return NULL;
  memcpy(p, &size, sizeof(size));
  h->live_size += size;
  h->live_count++;
  if (h->live_size > h->peak_size) h->peak_size = h->live_size;
  return p + 16;
}

static inline void ljt_heap_free(void *user, void *block, size_t size)
{
  ljt_heap *h = (ljt_heap *)user;
  unsigned char *p = (unsigned char *)block;
  size_t have;
  if (!p) return;
  memcpy(&have, p - 16, sizeof(have));
  if (have != size) h->bad_frees++;
  h->live_size -= have;
  h->live_count--;
  free(p - 16);
}

static inline void *ljt_heap_realloc(void *user, void *block, size_t old_size,
                                     size_t size)
{
  void *p = ljt_heap_alloc(user, size);
  if (!p || !block) return p;
  memcpy(p, block, old_size < size ? old_size : size);
  ljt_heap_free(user, block, old_size);
  return p;
}

/* -- Files -------------------------------------------------------------- */

/* Whole file in a heap block of exactly its size (1 byte if empty), or NULL.
** The caller frees it. */
static inline unsigned char *ljt_read_file(const char *path, size_t *size)
{
  FILE *f = fopen(path, "rb");
  unsigned char *buf = NULL;
  size_t cap = 0, n = 0, got;
  if (!f) return NULL;
  do {
    if (n == cap) {
      unsigned char *q;
      cap = cap ? cap * 2 : 65536;
      q = (unsigned char *)realloc(buf, cap);
      if (!q) { free(buf); fclose(f); return NULL; }
      buf = q;
    }
    got = fread(buf + n, 1, cap - n, f);
    n += got;
  } while (got != 0);
  fclose(f);
  *size = n;
  return (unsigned char *)realloc(buf, n ? n : 1);
}

#endif /* LJTEST_H */
