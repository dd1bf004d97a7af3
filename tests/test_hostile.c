/*
** test_hostile.c - input made to be slow: addresses chosen so that the table
** of live blocks can neither grow, split nor shrink. Work is measured in calls
** of the allocator, which each rebuilding makes; names whose hashes collide;
** streams whose report would be the square of their size.
*/
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtheap.h"
#include "ljtstream.h"

/* The number whose hash is `h`: ljpi_mix turned back. */
static uint64_t unmix(uint64_t h)
{
  h ^= h >> 32;
  h *= UINT64_C(0x96de1b173f119089);
  h ^= h >> 29 ^ h >> 58;
  h *= UINT64_C(0xf1de83e19937733d);
  return h ^ h >> 32;
}

/* An address that fits a lane: the top bits of its hash are 0, and it belongs
** to `home` of LJPI_SEG_MAX; `salt`, up to 2^16, tells apart. */
static uint64_t address(uint64_t home, uint64_t salt)
{
  static uint64_t known[1 << 16][2]; /* Each takes 2^16 tries. */
  uint64_t low = (home << 32) / LJPI_SEG_MAX + 1, key = home << 32 | salt;
  uint64_t *k = known[ljpi_mix(key + 1) >> 48], addr, h;
  if (k[0] == key + 1) return k[1];
  /* ljpi_hash_addr turned back, hash by hash. */
  h = (salt << 32 | low) * UINT64_C(0x96de1b173f119089);
  do {
    addr = (h ^ h >> 32) * UINT64_C(0xf1de83e19937733d);
    h += UINT64_C(0x96de1b173f119089);
  } while (addr >> 48 != 0);
  k[0] = key + 1;
  k[1] = addr;
  return addr;
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
  o = ljt_heap_options(&b->heap);
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
    LJT_STR("refused", "taken");
}

static void holds(const bench *b, uint64_t addr, int want)
{
  ljp_block block;
  int have = ljp_aggregate_find(b->a, addr, &block);
  if (have != want || (have && block.size != (addr & 0xffff)))
    LJT_STR("lost or wrong", "there, of its size");
}

static void hashes_are_turned_back(void)
{
  uint64_t i, n, h;
  for (i = 0, n = 0; i < 1000; i++, n += UINT64_C(0x123456789abcdef))
    LJT_EQ(ljpi_mix(unmix(n)), n);
  for (i = 0; i < 100; i++) {
    h = ljpi_hash_addr(address(20 * i, 655 * i));
    LJT_EQ(h >> 32, 655 * i);
    LJT_EQ((h & UINT32_MAX) * LJPI_SEG_MAX >> 32, 20 * i);
  }
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

/* -- Names that collide -------------------------------------------------- */

static uint32_t intern(ljpi_strings *s, const char *p, size_t size)
{
  uint32_t idx = 0;
  LJT_EQ(ljpi_intern(s, p, size, &idx), LJP_OK);
  LJT_EQ(s->v[idx].size, size);
  LJT_OK(size == 0 || memcmp(s->v[idx].p, p, size) == 0);
  return idx;
}

static void strings_begin(ljpi_strings *s, ljpi_mem *mem)
{
  memset(s, 0, sizeof(*s));
  LJT_EQ(ljpi_mem_init(mem, NULL), LJP_OK);
  s->mem = mem;
}

/* Another name of 7 bytes with the same 32 bits of hash. */
static void twin_of(const char *p, char *twin)
{
  uint64_t start = 7 * UINT64_C(0x9e3779b97f4a7c15), h, last, high;
  int i;
  h = ljpi_hash_bytes(p, 7) & UINT32_MAX;
  for (high = 0;; high++) {
    last = unmix(high << 32 | h) ^ start;
    for (i = 0; i < 7; i++) twin[i] = (char)(last >> (8 * (6 - i)));
    if (last >> 56 == 0 && memcmp(p, twin, 7) != 0) return;
  }
}

static void same_hash(void)
{
  ljpi_strings s;
  ljpi_mem mem;
  char twin[7];
  uint32_t a, b;
  strings_begin(&s, &mem);
  twin_of("twins-1", twin);
  LJT_EQ((uint32_t)ljpi_hash_bytes("twins-1", 7),
         (uint32_t)ljpi_hash_bytes(twin, 7));
  a = intern(&s, "twins-1", 7);
  b = intern(&s, twin, 7);
  LJT_OK(a != b);
  LJT_EQ(intern(&s, "twins-1", 7), a);
  LJT_EQ(intern(&s, twin, 7), b);
  LJT_EQ(intern(&s, "", 0), 3);
  LJT_EQ(intern(&s, NULL, 0), 3);
  LJT_EQ(s.count, 4);
  ljpi_strings_free(&s);
  LJT_EQ(mem.used, 0);
}

/* All of one place: as many as are probed are found again, more are kept
** twice. */
static void same_place(void)
{
  ljpi_strings s;
  ljpi_mem mem;
  uint64_t i;
  uint32_t n = 0;
  strings_begin(&s, &mem);
  for (i = 0; n <= LJPI_NAME_PROBES; i++) {
    if ((ljpi_hash_bytes((const char *)&i, 8) & 4095) != 4095) continue;
    LJT_EQ(intern(&s, (const char *)&i, 8), ++n);
    LJT_OK(s.table_cap <= 4096);
    LJT_EQ(intern(&s, (const char *)&i, 8),
           n <= LJPI_NAME_PROBES ? n : n + 1);
  }
  ljpi_strings_free(&s);
}

/* Of names as programs have them none is kept twice. */
static void names_once(void)
{
  ljpi_strings s;
  ljpi_mem mem;
  uint32_t i, n = 100000 / (uint32_t)ljt.stride;
  int again;
  strings_begin(&s, &mem);
  for (again = 0; again < 2; again++) {
    for (i = 0; i < n; i++) {
      char name[48];
      int size = snprintf(name, sizeof(name), "@src/part%u/file_%u.lua",
                          (unsigned)(i % 97), (unsigned)i);
      uint32_t idx = 0;
      LJT_OK(ljpi_intern(&s, name, (size_t)size, &idx) == LJP_OK &&
             idx == i + 1);
    }
  }
  LJT_EQ(s.count, n + 1);
  ljpi_strings_free(&s);
}

static size_t slots_taken(const ljpi_strings *s)
{
  size_t i, n = 0;
  for (i = 0; i < s->table_cap; i++) n += s->table[i] != 0;
  return n;
}

/* The table is at most half full, a slot a name; blocks of bytes double up to
** 256 KiB. */
static void names_grow(void)
{
  ljpi_strings s;
  ljpi_mem mem;
  size_t block = 1024;
  uint64_t i, limit;
  char *room = NULL;
  strings_begin(&s, &mem);
  for (i = 1; i < 40; i++) {
    LJT_EQ(intern(&s, (const char *)&i, 8), i);
    LJT_EQ(s.table_cap, i < 32 ? 64 : 128);
    LJT_EQ(slots_taken(&s), i);
  }
  LJT_EQ(s.blocks->size, block);
  for (i = 0; i < 12; i++) {
    s.free_size = 64; /* As if the rest were taken. */
    LJT_EQ(ljpi_strings_room(&s, 64, &room), LJP_OK);
    LJT_EQ(s.blocks->size, block);
    LJT_EQ(ljpi_strings_room(&s, 1, &room), LJP_OK);
    if (block < 262144) block *= 2;
    LJT_EQ(s.blocks->size, block);
  }
  LJT_EQ(ljpi_strings_room(&s, 300000, &room), LJP_OK);
  LJT_EQ(s.blocks->size, 300000 + sizeof(ljpi_block));
  mem.limit = mem.used;
  LJT_EQ(ljpi_strings_room(&s, SIZE_MAX / 2, &room), LJP_E_LIMIT);
  LJT_EQ(ljpi_strings_room(&s, SIZE_MAX / 2 + 1, &room), LJP_E_NOMEM);
  limit = s.cap;
  if (sizeof(size_t) > 4) { /* No index is left. */
    s.cap = (size_t)UINT32_MAX + 2;
    s.count = UINT32_MAX;
    LJT_EQ(ljpi_strings_grow(&s), LJP_E_NOMEM);
    s.cap = (size_t)limit;
  }
  ljpi_strings_free(&s);
  LJT_EQ(mem.used, 0);
}

/* -- Definitions far apart ----------------------------------------------- */

/* Each id is the next that an array would have no room for. */
static void far_ids(void)
{
  bench b;
  ljp_record r;
  uint64_t before, id;
  memset(&r, 0, sizeof(r));
  bench_begin(&b);
  before = b.heap.peak_size;
  r.kind = LJP_RECORD_STRING;
  r.name = "name";
  r.name_size = 4;
  for (id = 512; id <= 1 << 22; id *= 2) {
    r.id = id - 1;
    LJT_EQ(ljp_symbols_define(b.symbols, &r), LJP_OK);
    r.id = id;
    LJT_EQ(ljp_symbols_define(b.symbols, &r), LJP_OK);
  }
  LJT_OK(b.heap.peak_size - before < 50000);
  bench_end(&b);
}

/* -- Reports of bounded size -------------------------------------------- */

static int add_size(void *user, const void *p, size_t size)
{
  (void)p;
  *(uint64_t *)user += size;
  return 0;
}

static ljp_profile *read_all(const ljt_bytes *b, ljp_model model)
{
  ljp_profile *p;
  ljp_options o;
  memset(&o, 0, sizeof(o));
  o.model = model;
  LJT_EQ(ljp_profile_new(&p, &o), LJP_OK);
  LJT_OK(ljp_profile_feed(p, b->data, b->size) <= LJP_MORE);
  (void)ljp_profile_finish(p);
  return p;
}

/* A chain of 100,000 callers, each of which allocates. */
static void deep_stacks(void)
{
  enum { DEEP = 100000 };
  ljt_bytes b = {NULL, 0, 0}, defs = {NULL, 0, 0}, events = {NULL, 0, 0};
  ljt_last4 last;
  uint64_t i, size = 0;
  ljp_profile *p;
  ljp_tree *t;
  memset(&last, 0, sizeof(last));
  ljt_stream4(&b);
  ljt_block(&b, 1, 0, 0, 0, 1, "", 0);
  ljt_raw(&defs, "\1\1\6@a.lua\4\1\1\1\11\5\1\0\1\3", 19);
  for (i = 0; i < DEEP; i++) ljt_raw(&defs, "\6\1\1\1", 4);
  ljt_block(&b, 2, 0, 1, 0, 1, defs.data, defs.size);
  defs.size = 0;
  for (i = 1; i <= DEEP; i++) {
    ljt_raw(&defs, "\7\1", 2);
    ljt_u(&defs, i);
    ljt_raw(&defs, "\1\10", 2);
    ljt_event4(&events, &last, 0, i, 64 * i, 32, 0, 0);
  }
  ljt_block(&b, 2, 0, 2, 0, 1, defs.data, defs.size);
  ljt_block(&b, 3, 0, 3, DEEP, 1, events.data, events.size);
  p = read_all(&b, LJP_MODEL_TRUE);
  LJT_EQ(ljp_profile_tree(p, NULL, &t), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 0, SIZE_MAX), LJP_OK);
  LJT_EQ(ljp_tree_folded(t, LJP_ALLOC_SIZE, add_size, &size), LJP_OK);
  LJT_OK(size > 1000000 && size < 100000000);
  size = 0;
  LJT_EQ(ljp_tree_pprof(t, add_size, &size), LJP_OK);
  LJT_OK(size < 100000000);
  for (i = size = 0; i < ljp_tree_path_count(t); i++)
    size += ljp_tree_path_at(t, (uint32_t)i)->self[LJP_ALLOC_SIZE];
  LJT_EQ(size, 32 * DEEP); /* Nothing is lost. */
  ljp_tree_free(t);
  ljp_profile_free(p);
  ljt_bytes_free(&b);
  ljt_bytes_free(&defs);
  ljt_bytes_free(&events);
}

/* Two chunk names of 200,000 bytes, alike but for the last, 3000 lines. */
static void long_names(void)
{
  enum { LONG = 200000 };
  ljt_bytes b = {NULL, 0, 0};
  static char name[LONG];
  uint64_t i, size;
  int model;
  memset(name, 'x', LONG);
  ljt_raw(&b, "ljs\3\0\0\0", 7);
  for (i = 0; i < 2; i++) {
    name[LONG - 1] = (char)('a' + i);
    ljt_b(&b, 0);
    ljt_u(&b, 1 + i);
    ljt_s(&b, name, LONG);
    ljt_u(&b, 0);
  }
  ljt_raw(&b, "\x80ljm\3\0\0\0", 8);
  for (i = 0; i < 3000; i++) {
    ljt_b(&b, 2 << 2 | 1);
    ljt_u(&b, 1 + i % 2);
    ljt_u(&b, i / 2);
    ljt_u(&b, 64 + 64 * i);
    ljt_u(&b, 8);
  }
  ljt_b(&b, 0x80);
  for (model = 0; model < 2; model++) {
    ljp_profile *p = read_all(&b, (ljp_model)model);
    size = 0;
    LJT_EQ(ljp_profile_report(p, model ? LJP_CLASSIC : LJP_TEXT, NULL,
                              add_size, &size), LJP_OK);
    /* 6000 lines, both names told apart. */
    LJT_OK(size > 6000 * 1024 && size < 80000000);
    ljp_profile_free(p);
  }
  ljt_bytes_free(&b);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(hashes_are_turned_back);
  LJT_CASE(no_split);
  LJT_CASE(no_shrink);
  LJT_CASE(like_a_set);
  LJT_CASE(same_hash);
  LJT_CASE(same_place);
  LJT_CASE(names_once);
  LJT_CASE(names_grow);
  LJT_CASE(far_ids);
  LJT_CASE(deep_stacks);
  LJT_CASE(long_names);
  return ljt_end();
}
