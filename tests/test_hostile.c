/*
** test_hostile.c - input made to be slow: addresses chosen so that the table
** of live blocks can neither grow, split nor shrink. Work is measured in calls
** of the allocator, which each rebuilding makes.
*/
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtest.h"

/* The address whose hash is `h`: ljpi_mix turned back. */
static uint64_t unmix(uint64_t h)
{
  h ^= h >> 32;
  h *= UINT64_C(0x96de1b173f119089);
  h ^= h >> 29 ^ h >> 58;
  h *= UINT64_C(0xf1de83e19937733d);
  return h ^ h >> 32;
}

/* Top bits 0; `home` of 7168; `salt` tells apart. */
static uint64_t address(uint64_t home, uint64_t salt)
{
  return unmix(salt << 33 | ((home << 32) / LJPI_SEG_MAX + 1));
}

typedef struct bench {
  ljt_heap heap;
  ljp_symbols *symbols;
  ljp_aggregate *a;
} bench;

static void bench_begin(bench *b)
{
  ljp_options o;
  memset(b, 0, sizeof(*b));
  memset(&o, 0, sizeof(o));
  o.allocator.alloc = ljt_heap_alloc;
  o.allocator.realloc = ljt_heap_realloc;
  o.allocator.free = ljt_heap_free;
  o.allocator.user = &b->heap;
  LJT_EQ(ljp_symbols_new(&b->symbols, &o), LJP_OK);
  LJT_EQ(ljp_aggregate_new(&b->a, b->symbols, &o), LJP_OK);
}

static void bench_end(bench *b)
{
  ljp_aggregate_free(b->a);
  ljp_symbols_free(b->symbols);
  LJT_EQ(b->heap.live_count, 0);
  LJT_EQ(b->heap.bad_frees, 0);
}

static void event(bench *b, ljp_event_kind kind, uint64_t addr)
{
  ljp_event ev;
  memset(&ev, 0, sizeof(ev));
  ev.kind = (uint8_t)kind;
  ev.source = LJP_SOURCE_INTERNAL;
  if (kind == LJP_EVENT_ALLOC) {
    ev.addr = addr;
    ev.size = addr & 0xffff;
  } else {
    ev.old_addr = addr;
    ev.old_size = addr & 0xffff;
  }
  if (ljp_aggregate_events(b->a, &ev, 1, NULL) != LJP_OK)
    LJT_OK(!"refused");
}

static void holds(const bench *b, uint64_t addr, int want)
{
  ljp_block block;
  int have = ljp_aggregate_find(b->a, addr, &block);
  if (have != want || (have && block.size != (addr & 0xffff)))
    LJT_OK(!"lost or wrong");
}

static void mix_is_turned_back(void)
{
  uint64_t i;
  for (i = 0; i < 1000; i++)
    LJT_EQ(ljpi_mix(unmix(i * UINT64_C(0x123456789abcdef))),
           i * UINT64_C(0x123456789abcdef));
}

/* All hashes begin with the same bits: no split parts them. */
static void no_split(void)
{
  bench b;
  uint64_t i, calls;
  bench_begin(&b);
  for (i = 0; i < 20000; i++)
    event(&b, LJP_EVENT_ALLOC, address(i % LJPI_SEG_MAX, i));
  calls = b.heap.calls;
  for (i = 0; i < 20000; i++) {
    event(&b, LJP_EVENT_ALLOC, address(i % LJPI_SEG_MAX, 30000));
    holds(&b, address(i % LJPI_SEG_MAX, 30000), 1);
    event(&b, LJP_EVENT_FREE, address(i % LJPI_SEG_MAX, 30000));
    holds(&b, address(i % LJPI_SEG_MAX, 30000), 0);
  }
  LJT_OK(b.heap.calls - calls < 200);
  for (i = 0; i < 20000; i++) holds(&b, address(i % LJPI_SEG_MAX, i), 1);
  bench_end(&b);
}

/* A segment that is nearly empty, but has a part that fits no smaller one. */
static void no_shrink(void)
{
  bench b;
  uint64_t i, calls;
  bench_begin(&b);
  for (i = 0; i < 5000; i++)
    event(&b, LJP_EVENT_ALLOC, address(i + 1300, i));
  for (i = 0; i < 300; i++)
    event(&b, LJP_EVENT_ALLOC, address(1000 + i * 2 / 3, 50000 + i));
  for (i = 0; i < 5000; i++)
    event(&b, LJP_EVENT_FREE, address(i + 1300, i));
  calls = b.heap.calls;
  for (i = 0; i < 20000; i++) {
    event(&b, LJP_EVENT_ALLOC, address(7000, 9));
    event(&b, LJP_EVENT_FREE, address(7000, 9));
  }
  LJT_OK(b.heap.calls - calls < 200);
  for (i = 0; i < 300; i++) holds(&b, address(1000 + i * 2 / 3, 50000 + i), 1);
  bench_end(&b);
}

/* Random steps among chosen addresses, against flags. */
static void like_a_set(void)
{
  enum { COUNT = 9000 };
  static uint64_t addr[COUNT];
  static int in[COUNT];
  ljt_rng r = ljt_rng_make(ljt.seed);
  bench b;
  size_t i, k;
  bench_begin(&b);
  memset(in, 0, sizeof(in));
  for (i = 0; i < COUNT; i++)
    addr[i] = i % 3 ? address(1000 + i % 150, i) : address(i % 7168, i);
  for (i = 0; i < 200000; i++) {
    k = (size_t)ljt_below(&r, i / 50000 % 2 ? 400 : COUNT);
    if (i % 50000 > 30000 && !in[k]) continue;
    event(&b, in[k] ? LJP_EVENT_FREE : LJP_EVENT_ALLOC, addr[k]);
    in[k] = !in[k];
    holds(&b, addr[k], in[k]);
  }
  for (i = 0; i < COUNT; i++) holds(&b, addr[i], in[i]);
  LJT_EQ(b.heap.bad_frees, 0);
  bench_end(&b);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(mix_is_turned_back);
  LJT_CASE(no_split);
  LJT_CASE(no_shrink);
  LJT_CASE(like_a_set);
  return ljt_end();
}
