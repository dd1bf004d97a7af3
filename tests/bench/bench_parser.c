/*
** bench_parser.c - speed and memory of ljparse.h. By hand or from run.sh,
** never as a test.
**
**   bench_parser [--events=N] [--rounds=N] [STREAM...]
**
** Prints, for the given streams of 3/3 (repeated in memory until about N
** events, each time at other addresses), or else for generated ones, the
** median of the rounds:
**   decode   the decoder with a handler that adds up sizes, MB/s, M events/s
**   true     decoder, symbols and aggregate of the true model, M events/s
**   classic  the same with the classic model
** and the bytes a live block takes at the most blocks live.
*/
#define _POSIX_C_SOURCE 200809L
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "../ljtreport.h"

#include <time.h>

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* -- generated streams -- */

typedef struct block {
  uint64_t addr, size;
} block;

/* An allocator as a program sees it: freed addresses are soon used again. */
typedef struct world {
  ljt_bytes out;
  ljt_rng rng;
  block *live, *spare;
  size_t live_count, spare_count;
  uint64_t fresh;
} world;

static void where(world *w, unsigned event, unsigned source)
{
  uint64_t site = ljt_below(&w->rng, 2000);
  /* Few places do most. */
  if (ljt_below(&w->rng, 4)) site %= 60;
  ljt_b(&w->out, source << 2 | event);
  if (source == 2) {
    ljt_u(&w->out, UINT64_C(0x7f3a5c001000) + site / 8 * 0x1e8);
    ljt_u(&w->out, 10 + site % 300);
  } else if (source == 3) {
    ljt_u(&w->out, UINT64_C(0x55d0c0a04010) + site % 40 * 0x130);
  } else if (source == 4) {
    ljt_u(&w->out, 1 + site % 90);
  }
}

static unsigned source_of(world *w)
{
  uint64_t n = ljt_below(&w->rng, 100);
  return n < 10 ? 1 : n < 65 ? 2 : n < 75 ? 3 : 4;
}

static void alloc(world *w, size_t live)
{
  static const uint64_t sizes[] = {24, 32, 40, 48, 64, 88, 120, 256, 1040};
  block b;
  uint64_t pick = ljt_below(&w->rng, sizeof(sizes) / sizeof(sizes[0]));
  b.size = sizes[pick];
  if (w->spare_count) {
    b.addr = w->spare[--w->spare_count].addr;
  } else {
    b.addr = w->fresh;
    w->fresh += 16 * (1 + ljt_below(&w->rng, 8));
  }
  where(w, 1, source_of(w));
  ljt_u(&w->out, b.addr);
  ljt_u(&w->out, b.size);
  if (w->live_count < live) w->live[w->live_count++] = b;
}

static void drop(world *w, size_t i)
{
  block b = w->live[i];
  w->live[i] = w->live[--w->live_count];
  where(w, 2, 1);
  ljt_u(&w->out, b.addr);
  ljt_u(&w->out, b.size);
  w->spare[w->spare_count++] = b;
}

static void grow(world *w, size_t i)
{
  block *b = &w->live[i];
  where(w, 3, source_of(w));
  ljt_u(&w->out, b->addr);
  ljt_u(&w->out, b->size);
  b->size *= 2;
  if (b->size > 65536) b->size = 64;
  ljt_u(&w->out, b->addr);
  ljt_u(&w->out, b->size);
}

static void head(world *w)
{
  unsigned i;
  ljt_raw(&w->out, "ljs\3\0\0\0", 7);
  for (i = 0; i < 250; i++) {
    char name[40];
    snprintf(name, sizeof(name), "@src/module_%u.lua", i % 60);
    ljt_b(&w->out, 0);
    ljt_u(&w->out, UINT64_C(0x7f3a5c001000) + i * 0x1e8u);
    ljt_str(&w->out, name);
    ljt_u(&w->out, 10);
  }
  ljt_raw(&w->out, "\x80ljm\3\0\0\0", 8);
}

/* `live` blocks are kept and then allocations and frees alternate: of young
** blocks, as garbage collectors' sweeps do (`young`), or of any. */
static ljt_bytes generate(size_t events, size_t live, int young)
{
  world w;
  size_t n;
  memset(&w, 0, sizeof(w));
  w.rng = ljt_rng_make(7);
  w.fresh = UINT64_C(0x7f3a60000000);
  w.live = (block *)malloc((live + 1) * sizeof(block));
  w.spare = (block *)malloc((live + events) * sizeof(block));
  if (!w.live || !w.spare) abort();
  head(&w);
  for (n = 0; n < live; n++) alloc(&w, live + 1);
  for (n = 0; n < events; n++) {
    size_t span = young && w.live_count > 4000 ? 4000 : w.live_count;
    size_t i = w.live_count - 1 - (size_t)ljt_below(&w.rng, span);
    if (young && ljt_below(&w.rng, 20) == 0) grow(&w, i);
    else if (w.live_count >= live) drop(&w, i);
    else alloc(&w, live + 1);
  }
  ljt_b(&w.out, 0x80);
  free(w.live);
  free(w.spare);
  return w.out;
}

/* -- measuring -- */

typedef struct sink {
  uint64_t events, sum;
} sink;

static ljp_status on_events(void *user, const ljp_event *ev, size_t count,
                            size_t *failed)
{
  sink *s = (sink *)user;
  size_t i;
  (void)failed;
  for (i = 0; i < count; i++) s->sum += ev[i].size;
  s->events += count;
  return LJP_OK;
}

/* Seconds for one pass. */
static double decode(const ljt_bytes *b, sink *s)
{
  ljp_handler h = {on_events, NULL, NULL};
  ljp_decoder *d;
  double t = now();
  h.user = s;
  s->events = 0;
  if (ljp_decoder_new(&d, &h, NULL) != LJP_OK) abort();
  ljp_decoder_feed(d, b->data, b->size);
  if (ljp_decoder_finish(d) > LJP_END) abort();
  ljp_decoder_free(d);
  return now() - t;
}

static double aggregate(const ljt_bytes *b, ljp_model model, double *block)
{
  ljp_options o;
  ljp_profile *p;
  double t = now();
  size_t at, n;
  uint64_t most = 0;
  memset(&o, 0, sizeof(o));
  o.model = model;
  if (ljp_profile_new(&p, &o) != LJP_OK) abort();
  for (at = 0; at < b->size; at += n) {
    const ljp_aggregate *a = ljp_profile_aggregate(p);
    n = b->size - at < 262144 ? b->size - at : 262144;
    ljp_profile_feed(p, b->data + at, n);
    if (a->live.count > most) {
      most = a->live.count;
      *block = (double)ljp_aggregate_table_size(a) / (double)most;
    }
  }
  if (ljp_profile_finish(p) > LJP_END) abort();
  t = now() - t;
  ljp_profile_free(p);
  return t;
}

/* A function of its own, so that callgrind can count in it alone. */
__attribute__((noinline)) static double aggregate_true(const ljt_bytes *b,
                                                       double *block)
{
  return aggregate(b, LJP_MODEL_TRUE, block);
}

static void measure(const char *name, const ljt_bytes *b, unsigned rounds)
{
  double t[3][64], block = 0, ignored;
  sink s = {0, 0};
  unsigned i;
  if (rounds > 64) rounds = 64;
  for (i = 0; i < rounds; i++) {
    t[0][i] = decode(b, &s);
    t[1][i] = aggregate_true(b, &block);
    t[2][i] = aggregate(b, LJP_MODEL_CLASSIC, &ignored);
  }
  for (i = 0; i < 3; i++) qsort(t[i], rounds, sizeof(double), by_value);
  printf("%-24s %9.1f MB %6.2f M events; decode %6.0f MB/s %6.1f M/s; true "
         "%5.1f M/s; classic %5.1f M/s; %.1f bytes a block\n", name,
         (double)b->size / 1e6, (double)s.events / 1e6,
         (double)b->size / 1e6 / t[0][rounds / 2],
         (double)s.events / 1e6 / t[0][rounds / 2],
         (double)s.events / 1e6 / t[1][rounds / 2],
         (double)s.events / 1e6 / t[2][rounds / 2], block);
}

/* A recorded stream whose event part comes again and again, up to `events`
** events, each time at other addresses: what one pass leaves live stays. */
static void again(ljt_bytes *out, const unsigned char *p, size_t size,
                  uint64_t shift)
{
  ljt_reader r = {NULL, 0, 0, LJT_CLEAN};
  unsigned h, k;
  uint64_t n;
  r.data = p;
  r.size = size;
  while ((h = ljt_rb(&r)) < 32 && (h & 3) != 0 && h >> 2 != 0) {
    ljt_b(out, h);
    for (k = h >> 2 == 1 ? 0 : h >> 2 == 2 ? 2 : 1; k > 0; k--)
      ljt_u(out, ljt_ru(&r));
    for (k = 0; k < ((h & 3) == 3 ? 4u : 2u); k++) {
      n = ljt_ru(&r);
      ljt_u(out, k % 2 == 0 && n ? n + shift : n);
    }
  }
}

/* Plain events only: symbols that come among them are left out of the
** repetitions. */
static ljt_bytes plain(const unsigned char *data, size_t size)
{
  ljt_bytes out = {NULL, 0, 0};
  ljt_reader r = {NULL, 0, 0, LJT_CLEAN};
  r.data = data;
  r.size = size;
  while (r.at < r.size && data[r.at] < 0x80) {
    size_t at = r.at;
    unsigned h = ljt_rb(&r), k = 0;
    if ((h & 3) != 0) {
      k = h >> 2 == 1 ? 0 : h >> 2 == 2 ? 2 : 1;
      for (k += (h & 3) == 3 ? 4 : 2; k > 0; k--) (void)ljt_ru(&r);
      ljt_raw(&out, data + at, r.at - at);
      continue;
    }
    (void)ljt_ru(&r);
    if (h >> 2 == 4) (void)ljt_ru(&r);
    else r.at += (size_t)ljt_ru(&r);
    if (h >> 2 != 3) (void)ljt_ru(&r);
  }
  ljt_b(&out, 0x80);
  return out;
}

static ljt_bytes repeated(const char *path, size_t events)
{
  ljt_bytes out = {NULL, 0, 0}, one = {NULL, 0, 0}, part;
  size_t size = 0, from = 0;
  uint64_t shift = 0;
  sink s = {0, 0};
  unsigned char *data = strstr(path, ".gz") ? ljt_gunzip(path, &size)
                                            : ljt_read_file(path, &size);
  if (!data || size < 16) {
    printf("cannot read %s\n", path);
    exit(1);
  }
  one.data = data;
  one.size = size;
  decode(&one, &s);
  while (from + 8 < size && memcmp(data + from, "ljm\3\0\0\0", 7) != 0) from++;
  from += 7;
  part = plain(data + from, size - from);
  ljt_raw(&out, data, from);
  do {
    again(&out, part.data, part.size, shift);
    shift += UINT64_C(1) << 32;
  } while (s.events && shift >> 32 < events / s.events);
  ljt_b(&out, 0x80);
  ljt_bytes_free(&part);
  free(data);
  return out;
}

static void measure_generated(size_t events, unsigned rounds)
{
  ljt_bytes b = generate(events, 185000, 1);
  measure("generated, 185 k live", &b, rounds);
  ljt_bytes_free(&b);
  b = generate(events, 1000000, 0);
  measure("generated, 1 M random", &b, rounds);
  ljt_bytes_free(&b);
}

static void measure_recorded(const char *path, size_t events, unsigned rounds)
{
  const char *slash = strrchr(path, '/');
  ljt_bytes b = repeated(path, events);
  measure(slash ? slash + 1 : path, &b, rounds);
  ljt_bytes_free(&b);
}

int main(int argc, char **argv)
{
  size_t events = 10000000;
  unsigned rounds = 5;
  int i, given = 0;
  for (i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--events=", 9) == 0)
      events = (size_t)strtoull(argv[i] + 9, NULL, 10);
    else if (strncmp(argv[i], "--rounds=", 9) == 0)
      rounds = (unsigned)strtoul(argv[i] + 9, NULL, 10);
    else
      given = 1;
  }
  if (!given) measure_generated(events, rounds);
  for (i = 1; i < argc; i++)
    if (argv[i][0] != '-') measure_recorded(argv[i], events, rounds);
  return 0;
}
