/*
** test_parse_live.c - the table of live blocks under every pattern of
** addresses: what is in it, what it takes; memory of hostile headers, of
** endless pairs, over a caller's buffer; objects that cannot be made.
*/
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtheap.h"
#include "ljtstream.h"
#include "ljtwalk.h"

typedef struct pattern {
  const char *name;
  uint64_t first, step;
  int kind;                /* 0 steps, 1 random, 2 bits reversed */
} pattern;

static const pattern patterns[] = {
  {"every 16 bytes", UINT64_C(0x7f1200000000), 16, 0},
  {"every 8 bytes, downwards", UINT64_C(0x7f12ffff0000),
   UINT64_C(0xfffffffffffffff8), 0},
  {"every byte from 1", 1, 1, 0},
  {"pages", 0x10000, 4096, 0},
  {"2^20 apart", 0x10000, 1 << 20, 0},
  {"2^32 apart", 0x10000, UINT64_C(1) << 32, 0},
  {"2^44 apart", 0x10000, UINT64_C(1) << 44, 0},
  {"up to 2^64", UINT64_MAX - 16 * 60000, 16, 0},
  {"golden steps", 3, UINT64_C(0x9e3779b97f4a7c15), 0},
  {"inverse golden steps", 3, UINT64_C(0xf1de83e19937733d), 0},
  {"random", 1, 0, 1},
  {"bits reversed", 1, 0, 2}
};

#define BLOCKS 60000u

static uint64_t reverse(uint64_t v)
{
  uint64_t r = 0;
  unsigned i;
  for (i = 0; i < 64; i++, v >>= 1) r = r << 1 | (v & 1);
  return r;
}

static uint64_t address(const pattern *p, uint64_t i)
{
  ljt_rng rng = ljt_rng_make(i);
  if (p->kind == 1) return ljt_rand(&rng) | 1;
  if (p->kind == 2) return reverse(i + 1);
  return p->first + i * p->step;
}

static void send(ljp_aggregate *a, int kind, uint64_t addr, uint64_t size)
{
  ljp_event ev;
  memset(&ev, 0, sizeof(ev));
  ev.kind = (uint8_t)kind;
  ev.source = LJP_SOURCE_INTERNAL;
  if (kind == LJP_EVENT_ALLOC) {
    ev.addr = addr;
    ev.size = size;
  } else {
    ev.old_addr = addr;
    ev.old_size = size;
  }
  if (ljp_aggregate_events(a, &ev, 1, NULL) != LJP_OK) abort();
}

/* Sizes of all kinds, big ones among them. */
static uint64_t size_of(uint64_t i)
{
  return i % 1000 == 7 ? UINT64_C(0xfffffffe) + i % 3 : i % 5000;
}

static void check_all(const ljp_aggregate *a, const pattern *p,
                      uint64_t from)
{
  ljp_block b;
  uint64_t i, wrong = 0;
  for (i = 0; i < BLOCKS; i++) {
    int there = ljp_aggregate_find(a, address(p, i), &b);
    if (there != (i >= from)) wrong++;
    else if (there && (b.size != size_of(i) || b.addr != address(p, i)))
      wrong++;
  }
  LJT_EQ(wrong, 0);
  LJT_EQ(a->live.count, BLOCKS - from);
  ljt_check_live(a);
}

static void all_patterns(void)
{
  size_t k;
  for (k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++) {
    const pattern *p = &patterns[k];
    ljp_symbols *s;
    ljp_aggregate *a;
    uint64_t i, most = 0;
    ljt.row = p->name;
    LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
    LJT_EQ(ljp_aggregate_new(&a, s, NULL), LJP_OK);
    for (i = 0; i < BLOCKS; i++) {
      uint64_t size;
      send(a, LJP_EVENT_ALLOC, address(p, i), size_of(i));
      size = ljp_aggregate_table_size(a);
      if (size > most) most = size;
      /* All in, at every step: 32 bytes a block, and what a small table
      ** has to begin with. */
      if (size > 32 * (i + 1) + (256 << 10)) LJT_EQ(size, 32 * (i + 1));
    }
    check_all(a, p, 0);
    for (i = 0; i < BLOCKS / 3; i++)
      send(a, LJP_EVENT_FREE, address(p, i), size_of(i));
    check_all(a, p, BLOCKS / 3);
    for (; i < BLOCKS; i++)
      send(a, LJP_EVENT_FREE, address(p, i), size_of(i));
    check_all(a, p, BLOCKS);
    /* Segments shrink as they empty. */
    LJT_OK(ljp_aggregate_table_size(a) < most / 2);
    LJT_EQ(a->totals.live_size, 0);
    ljp_aggregate_free(a);
    ljp_symbols_free(s);
  }
  ljt.row = NULL;
}

/* Blocks with chosen hashes: one home, one directory entry. */
static void one_home(void)
{
  ljp_symbols *s;
  ljp_aggregate *a;
  uint64_t i, addr, n = 0;
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  LJT_EQ(ljp_aggregate_new(&a, s, NULL), LJP_OK);
  /* Sought, not computed: this test does not know the hash's inverse. */
  for (i = 1; n < 3000; i++) {
    addr = i * 16;
    if ((ljpi_hash_addr(addr) & 0xffffffffu) >> 22 != 0) continue;
    send(a, LJP_EVENT_ALLOC, addr, 1);
    n++;
  }
  LJT_EQ(a->live.count, n);
  LJT_OK(a->live.tree_count > 0);
  LJT_OK(ljp_aggregate_table_size(a) <= 32 * n + (256 << 10));
  ljt_check_live(a);
  for (addr = 16; addr < i * 16; addr += 16) {
    ljp_block b;
    if (!ljp_aggregate_find(a, addr, &b)) continue;
    send(a, LJP_EVENT_FREE, addr, 1);
    n--;
  }
  LJT_EQ(n, 0);
  LJT_EQ(a->live.count, 0);
  LJT_EQ(a->live.tree_count, 0);
  ljt_check_live(a);
  ljp_aggregate_free(a);
  ljp_symbols_free(s);
}

/* Many events at once: what was looked up for those that follow has to be
** looked up again where the table moves under them. Blocks come and go in the
** same order, three to one, so that a small table grows and shrinks often. */
static void in_batches(void)
{
  static ljp_event ev[64];
  ljp_symbols *s;
  ljp_aggregate *a;
  uint64_t i, made = 0, freed = 0;
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  LJT_EQ(ljp_aggregate_new(&a, s, NULL), LJP_OK);
  for (i = 0; i < 64 * 4000; i++) {
    int up = i / 6000 % 2 == 0;
    ljp_event *e = &ev[i % 64];
    memset(e, 0, sizeof(*e));
    e->source = LJP_SOURCE_INTERNAL;
    if (made == freed || (i % 4 != 0) == up) {
      e->kind = LJP_EVENT_ALLOC;
      e->addr = 16 * ++made;
      e->size = 40;
    } else {
      e->kind = LJP_EVENT_FREE;
      e->old_addr = 16 * ++freed;
      e->old_size = 40;
    }
    if (i % 64 != 63) continue;
    LJT_EQ(ljp_aggregate_events(a, ev, 64, NULL), LJP_OK);
    LJT_EQ(a->live.count, made - freed);
  }
  ljt_check_live(a);
  LJT_EQ(a->totals.before_count + a->totals.again_count, 0);
  LJT_EQ(a->totals.live_count, made - freed);
  ljp_aggregate_free(a);
  ljp_symbols_free(s);
}

/* Any number of pairs from one line: flat. */
static void endless_pairs(void)
{
  ljp_symbols *s;
  ljp_aggregate *a;
  uint64_t i, size = 0;
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  LJT_EQ(ljp_aggregate_new(&a, s, NULL), LJP_OK);
  for (i = 0; i < 1000000; i++) {
    send(a, LJP_EVENT_ALLOC, UINT64_C(0x7f0000000000) + i * 48, 40);
    send(a, LJP_EVENT_FREE, UINT64_C(0x7f0000000000) + i * 48, 40);
    if (i == 1000) size = a->mem->used;
  }
  LJT_EQ(a->mem->used, size);
  LJT_OK(size < 64 << 10);
  ljp_aggregate_free(a);
  ljp_symbols_free(s);
}

/* Claims of much in little. */
static void hostile_headers(void)
{
#define CLAIM "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
  static const char *const heads[] = {
    "ljs\1\0\0\0\0\1" CLAIM, "ljs\3\0\0\0\1\1" CLAIM,
    "ljs\3\0\0\0\1\1\xff\xff\xff\7", "ljs\2\0\0\0\1\1" CLAIM CLAIM CLAIM,
    "ljs\3\0\0\0\x80ljm\3\0\0\0\5" CLAIM CLAIM,
    "ljs\3\0\0\0\x80ljm\3\0\0\0\x0c\1" CLAIM,
    "ljs\4\0\0\0ljm\4\0\0\0\x9dljb\3\0\0\0\0\0\0\0\xff\xff\x0f\0" CLAIM
  };
  static const size_t sizes[] = {18, 18, 13, 36, 34, 26, 40};
#undef CLAIM
  size_t i;
  for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
    unsigned char data[40];
    ljt_heap heap;
    ljp_options o;
    ljp_profile *p;
    o = ljt_heap_options(&heap);
    memset(data, 0x7f, sizeof(data));
    memcpy(data, heads[i], sizes[i] < 40 ? sizes[i] : 40);
    LJT_EQ(ljp_profile_new(&p, &o), LJP_OK);
    ljp_profile_feed(p, data, sizeof(data));
    LJT_OK(ljp_profile_finish(p) > LJP_MORE);
    LJT_OK(heap.peak_size < 1 << 20);
    LJT_OK(heap.calls < 100);
    ljp_profile_free(p);
    LJT_EQ(heap.live_count, 0);
  }
}

/* A profile that lives in a buffer of the caller's. */
static void over_a_buffer(void)
{
  static unsigned char buf[1 << 20];
  ljt_bytes b = {NULL, 0, 0};
  ljp_arena arena;
  ljp_options o;
  ljp_profile *p;
  ljt_output out = {0, 0, 0};
  size_t size, i;
  ljt_raw(&b, "ljs\3\0\0\0\0\x10\2@a\1\x80ljm\3\0\0\0", 21);
  for (i = 0; i < 2000; i++) {
    ljt_b(&b, 9);
    ljt_u(&b, 16);
    ljt_u(&b, i % 50);
    ljt_u(&b, i * 16);
    ljt_u(&b, 8);
  }
  ljt_b(&b, 0x80);
  for (size = 1000; size < sizeof(buf); size += size / 3) {
    ljp_status st;
    memset(&o, 0, sizeof(o));
    memset(buf, 0x5a, sizeof(buf));
    ljp_arena_init(&arena, buf, size, &o.allocator);
    st = ljp_profile_new(&p, &o);
    LJT_OK(st == LJP_OK || st == LJP_E_NOMEM);
    if (st == LJP_OK) {
      ljp_profile_feed(p, b.data, b.size);
      st = ljp_profile_finish(p);
      LJT_OK(st == LJP_END || st == LJP_E_NOMEM);
      ljt_check_profile(p);
      (void)ljp_profile_report(p, LJP_TEXT, NULL, ljt_output_write, &out);
      ljp_profile_free(p);
    }
    LJT_EQ(buf[size], 0x5a);
  }
  LJT_OK(out.size > 1000);
  ljt_bytes_free(&b);
}

/* Objects that cannot be made: nothing is left of them. */
static void new_fails(void)
{
  uint64_t n;
  int i, made;
  for (i = 0, n = 1; i < 4; i += made, n = made ? 1 : n + 1) {
    ljt_heap heap;
    ljp_options o;
    ljp_handler h = {NULL, NULL, NULL};
    ljp_symbols *s = NULL, *other = NULL;
    ljp_aggregate *a = NULL;
    ljp_decoder *d = NULL;
    ljp_profile *p = NULL;
    ljp_status st;
    o = ljt_heap_options(&heap);
    LJT_EQ(ljp_symbols_new(&other, NULL), LJP_OK);
    heap.fail_at = n;
    st = i == 0 ? ljp_symbols_new(&s, &o)
         : i == 1 ? ljp_aggregate_new(&a, other, &o)
         : i == 2 ? ljp_decoder_new(&d, &h, &o) : ljp_profile_new(&p, &o);
    made = st == LJP_OK;
    LJT_EQ(s || a || d || p, made);
    if (!made) LJT_EQ(st, LJP_E_NOMEM);
    ljp_profile_free(p);
    ljp_decoder_free(d);
    ljp_aggregate_free(a);
    ljp_symbols_free(s);
    ljp_symbols_free(other);
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.bad_frees, 0);
  }
}

/* What is not asked for, or no object. */
static void refusals(void)
{
  ljp_options o;
  ljp_symbols *s;
  ljp_aggregate *a;
  ljp_profile *p;
  ljp_event ev;
  uint64_t n[2] = {7, 7};
  size_t size = 7;
  memset(&o, 0, sizeof(o));
  LJT_EQ(ljp_symbols_new(NULL, NULL), LJP_E_ARG);
  LJT_EQ(ljp_profile_new(NULL, NULL), LJP_E_ARG);
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  LJT_EQ(ljp_aggregate_new(NULL, s, NULL), LJP_E_ARG);
  LJT_EQ(ljp_aggregate_new(&a, NULL, NULL), LJP_E_ARG);
  o.allocator.alloc = ljt_heap_alloc; /* One of three. */
  LJT_EQ(ljp_aggregate_new(&a, s, &o), LJP_E_ARG);
  LJT_EQ(ljp_profile_new(&p, &o), LJP_E_ARG);
  LJT_OK(!a && !p);
  o.allocator.alloc = NULL;
  o.limits.sites = UINT64_MAX;
  o.limits.live = 1;
  LJT_EQ(ljp_aggregate_new(&a, s, &o), LJP_OK);
  memset(&ev, 0, sizeof(ev));
  ev.kind = LJP_EVENT_ALLOC;
  ev.source = LJP_SOURCE_INTERNAL;
  ev.addr = 64;
  ev.size = 8;
  LJT_EQ(ljp_aggregate_events(a, &ev, 1, NULL), LJP_OK);
  ev.addr = 128;
  LJT_EQ(ljp_aggregate_events(a, &ev, 1, NULL), LJP_E_LIMIT);
  LJT_EQ(ljp_aggregate_limit(a), LJP_LIMIT_LIVE);
  ljp_aggregate_lives(a, 64, &n[0], &n[1]);
  LJT_OK(n[0] == 0 && n[1] == 0);
  ljp_aggregate_lives(a, 0, NULL, NULL);
  LJT_STR(ljp_symbols_string(s, (uint32_t)s->strings.count, &size), "");
  LJT_EQ(size, 0);
  LJT_EQ(ljp_symbols_alias(s, (uint32_t)s->strings.count), 0);
  ljp_aggregate_free(a);
  ljp_symbols_free(s);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(all_patterns);
  LJT_CASE(one_home);
  LJT_CASE(in_batches);
  LJT_CASE(endless_pairs);
  LJT_CASE(hostile_headers);
  LJT_CASE(over_a_buffer);
  LJT_CASE(new_fails);
  LJT_CASE(refusals);
  return ljt_end();
}
