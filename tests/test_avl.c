/*
** test_avl.c - the public AVL tree against a sorted array; and what it stands
** on: counted memory, a caller's buffer, sorting, numbers.
*/
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtest.h"
#include "ljtheap.h"

typedef struct model {
  uint64_t key[8192], value[8192];
  size_t count;
} model;

static model m;
static ljp_avl *t;

/* First index whose key is not below `key`. */
static size_t model_at(uint64_t key)
{
  size_t i = 0;
  while (i < m.count && m.key[i] < key) i++;
  return i;
}

static void insert(uint64_t key, uint64_t value)
{
  size_t i = model_at(key);
  uint64_t old = 77;
  int had = 9, there = i < m.count && m.key[i] == key;
  LJT_EQ(ljp_avl_insert(t, key, value, &old, &had), LJP_OK);
  LJT_EQ(had, there);
  LJT_EQ(old, there ? m.value[i] : 77);
  if (!there) {
    memmove(m.key + i + 1, m.key + i, (m.count - i) * sizeof(uint64_t));
    memmove(m.value + i + 1, m.value + i, (m.count - i) * sizeof(uint64_t));
    m.count++;
    m.key[i] = key;
  }
  m.value[i] = value;
}

static void take(uint64_t key)
{
  size_t i = model_at(key);
  uint64_t value = 77;
  int there = i < m.count && m.key[i] == key;
  LJT_EQ(ljp_avl_remove(t, key, &value), there);
  if (!there) return;
  LJT_EQ(value, m.value[i]);
  m.count--;
  memmove(m.key + i, m.key + i + 1, (m.count - i) * sizeof(uint64_t));
  memmove(m.value + i, m.value + i + 1, (m.count - i) * sizeof(uint64_t));
}

static void look(uint64_t key)
{
  size_t i = model_at(key);
  uint64_t value = 77, found = 77;
  int there = i < m.count && m.key[i] == key;
  LJT_EQ(ljp_avl_find(t, key, &value), there);
  LJT_EQ(value, there ? m.value[i] : 77);
  i += (size_t)there;
  LJT_EQ(ljp_avl_floor(t, key, &found, &value), i > 0);
  if (i > 0) {
    LJT_EQ(found, m.key[i - 1]);
    LJT_EQ(value, m.value[i - 1]);
  }
}

static size_t walked;

static int step(void *user, uint64_t key, uint64_t value)
{
  size_t stop = *(size_t *)user;
  if (walked < m.count) {
    LJT_EQ(key, m.key[walked]);
    LJT_EQ(value, m.value[walked]);
  }
  return ++walked == stop ? 5 : 0;
}

/* Order, balance, count and height. */
static void check(void)
{
  size_t most = 0, below = 0, least = 1, stop = 0;
  LJT_OK(ljp_avl_validate(t));
  LJT_EQ(ljp_avl_count(t), m.count);
  /* A tree of height h has at least F(h+2)-1 nodes. */
  while (least <= m.count) {
    size_t next = least + below + 1;
    below = least;
    least = next;
    most++;
  }
  LJT_OK(ljp_avl_height(t) <= most);
  LJT_OK(m.count < (size_t)1 << ljp_avl_height(t));
  walked = 0;
  LJT_EQ(ljp_avl_walk(t, step, &stop), 0);
  LJT_EQ(walked, m.count);
}

static void begin(void)
{
  m.count = 0;
  if (!LJT_EQ(ljp_avl_new(&t, NULL), LJP_OK)) abort();
}

/* Next permutation of v[0..n-1]; 0 after the last. */
static int permute(unsigned *v, size_t n)
{
  size_t i = n - 1, j = n - 1, k;
  unsigned swap;
  while (i > 0 && v[i - 1] >= v[i]) i--;
  if (i == 0) return 0;
  while (v[j] <= v[i - 1]) j--;
  swap = v[i - 1];
  v[i - 1] = v[j];
  v[j] = swap;
  for (k = n - 1; i < k; i++, k--) {
    swap = v[i];
    v[i] = v[k];
    v[k] = swap;
  }
  return 1;
}

/* All orders of inserting 1..8 keys; then removed in that order or in the
** opposite one. */
static void all_orders(void)
{
  size_t n, i;
  for (n = 1; n <= 8; n++) {
    unsigned v[8];
    uint64_t round = 0;
    for (i = 0; i < n; i++) v[i] = (unsigned)i;
    do {
      begin();
      for (i = 0; i < n; i++) {
        insert(v[i] * 10 + 10, v[i]);
        LJT_OK(ljp_avl_validate(t));
      }
      check();
      if (n < 8 || round % 64 == 0)
        for (i = 0; i <= n * 10 + 20; i += 5) look(i);
      for (i = 0; i < n; i++) {
        take(v[round % 2 ? i : n - 1 - i] * 10 + 10);
        LJT_OK(ljp_avl_validate(t));
      }
      check();
      ljp_avl_free(t);
      round++;
    } while (permute(v, n));
  }
}

/* All orders of removing from a tree of 1..7 keys. */
static void all_removals(void)
{
  size_t n, i;
  for (n = 1; n <= 7; n++) {
    unsigned v[8];
    for (i = 0; i < n; i++) v[i] = (unsigned)i;
    do {
      begin();
      for (i = 0; i < n; i++) insert(i + 1, i);
      for (i = 0; i < n; i++) {
        take(v[i] + 1);
        check();
      }
      ljp_avl_free(t);
    } while (permute(v, n));
  }
}

static void random_runs(void)
{
  static const uint64_t spans[] = {30, 300, 5000, 0};
  size_t s;
  for (s = 0; s < sizeof(spans) / sizeof(spans[0]); s++) {
    ljt_rng rng = ljt_rng_make(ljt.seed + s);
    uint64_t i, n = 20000;
    begin();
    for (i = 0; i < n; i++) {
      uint64_t key = ljt_rand(&rng);
      unsigned grow = i < n / 2 ? 6 : 3;
      if (spans[s]) key %= spans[s];
      /* Without a span, mostly keys that are there. */
      else if (m.count && ljt_below(&rng, 3))
        key = m.key[ljt_below(&rng, m.count)] + ljt_below(&rng, 3) - 1;
      if (ljt_below(&rng, 10) < grow && m.count < 8000) insert(key, i);
      else take(key);
      look(ljt_below(&rng, 2) ? key : ljt_rand(&rng));
      if (i % 500 == 0) check();
    }
    check();
    while (m.count) take(m.key[ljt_below(&rng, m.count)]);
    check();
    ljp_avl_free(t);
  }
}

static void ends_of_the_range(void)
{
  begin();
  look(0);
  look(UINT64_MAX);
  insert(UINT64_MAX, 1);
  look(0);
  insert(0, 2);
  look(0);
  look(UINT64_MAX);
  look(UINT64_MAX - 1);
  insert(0, 3);
  check();
  take(0);
  take(UINT64_MAX);
  check();
  ljp_avl_free(t);
  ljp_avl_free(NULL);
}

/* A walk stops when told to. */
static void walk_stops(void)
{
  size_t stop = 3, i;
  begin();
  for (i = 0; i < 10; i++) insert(i, i);
  walked = 0;
  LJT_EQ(ljp_avl_walk(t, step, &stop), 5);
  LJT_EQ(walked, 3);
  ljp_avl_free(t);
}

/* Who wants no answer gives no place for it. */
static void no_outputs(void)
{
  begin();
  insert(5, 50);
  LJT_EQ(ljp_avl_insert(t, 5, 51, NULL, NULL), LJP_OK);
  LJT_EQ(ljp_avl_count(t), 1);
  LJT_EQ(ljp_avl_find(t, 5, NULL), 1);
  LJT_EQ(ljp_avl_find(t, 6, NULL), 0);
  LJT_EQ(ljp_avl_floor(t, 6, NULL, NULL), 1);
  LJT_EQ(ljp_avl_floor(t, 4, NULL, NULL), 0);
  m.value[0] = 51;
  look(5);
  LJT_EQ(ljp_avl_remove(t, 5, NULL), 1);
  LJT_EQ(ljp_avl_remove(t, 5, NULL), 0);
  LJT_EQ(ljp_avl_count(t), 0);
  ljp_avl_free(t);
}

/* Every allocation fails in turn: nothing is lost, nothing leaks. */
static void memory_fails(void)
{
  uint64_t at;
  ljp_status st;
  for (at = 1;; at++) {
    ljt_heap h;
    ljp_options o = ljt_heap_options(&h);
    uint64_t i;
    h.fail_at = at;
    st = ljp_avl_new(&t, &o);
    LJT_OK(st == LJP_OK || (st == LJP_E_NOMEM && !t));
    for (i = 0; st == LJP_OK && i < 3000; i++) {
      st = ljp_avl_insert(t, i * 7 % 3001, i, NULL, NULL);
      if (st != LJP_OK) {
        LJT_EQ(st, LJP_E_NOMEM);
        LJT_EQ(ljp_avl_count(t), i);
        LJT_OK(ljp_avl_validate(t));
      }
    }
    ljp_avl_free(t);
    LJT_EQ(h.live_count, 0);
    LJT_EQ(h.bad_frees, 0);
    if (st == LJP_OK) break;
  }
  LJT_OK(at > 5);
}

/* 24 bytes a node and a few chunks' worth of the rest. */
static void memory_limit(void)
{
  ljt_heap h;
  ljp_options o = ljt_heap_options(&h);
  uint64_t i;
  ljp_status st = LJP_OK;
  o.limits.memory = 1 << 20;
  LJT_EQ(ljp_avl_new(&t, &o), LJP_OK);
  for (i = 0; st == LJP_OK; i++) st = ljp_avl_insert(t, i, i, NULL, NULL);
  LJT_EQ(st, LJP_E_LIMIT);
  LJT_OK(ljp_avl_count(t) * 24 > (1 << 20) - 20000);
  LJT_OK(h.peak_size <= 1 << 20);
  LJT_OK(ljp_avl_validate(t));
  ljp_avl_free(t);
  LJT_EQ(h.live_count, 0);
  o.limits.memory = 10;
  LJT_EQ(ljp_avl_new(&t, &o), LJP_E_LIMIT);
  for (i = 0; i < 7; i++) { /* A bit for each function that is there. */
    ljp_options part = o;
    if (!(i & 1)) part.allocator.alloc = NULL;
    if (!(i & 2)) part.allocator.realloc = NULL;
    if (!(i & 4)) part.allocator.free = NULL;
    LJT_EQ(ljp_avl_new(&t, &part), i ? LJP_E_ARG : LJP_E_LIMIT);
  }
  LJT_EQ(ljp_avl_new(NULL, NULL), LJP_E_ARG);
}

/* Over a caller's buffer, of any alignment. */
static void over_a_buffer(void)
{
  static unsigned char buf[40000];
  size_t off;
  for (off = 0; off < 9; off++) {
    ljp_arena arena;
    ljp_options o;
    ljp_status st = LJP_OK;
    uint64_t i;
    memset(&o, 0, sizeof(o));
    ljp_arena_init(&arena, buf + off, 30000, &o.allocator);
    memset(buf, 0x5a, sizeof(buf));
    LJT_EQ(ljp_avl_new(&t, &o), LJP_OK);
    for (i = 0; st == LJP_OK; i++)
      st = ljp_avl_insert(t, i ^ 55, i, NULL, NULL);
    LJT_EQ(st, LJP_E_NOMEM);
    LJT_EQ(ljp_avl_count(t), 1023);
    LJT_OK(ljp_avl_validate(t));
    LJT_OK(off == 0 || buf[off - 1] == 0x5a);
    LJT_EQ(buf[off + 30000], 0x5a);
    ljp_avl_free(t);
  }
}

/* -- What the tree stands on -------------------------------------------- */

/* Arrays of counted memory: to the last byte of the limit, no size wraps. */
static void arrays(void)
{
  ljt_heap h;
  ljp_options o = ljt_heap_options(&h);
  ljpi_mem mem;
  void *p = NULL, *q = NULL;
  size_t cap = 0;
  o.limits.memory = 1000;
  LJT_EQ(ljpi_mem_init(&mem, &o), LJP_OK);
  LJT_EQ(ljpi_alloc_array(&mem, &p, 125, 8), LJP_OK);
  LJT_EQ(mem.used, 1000);
  LJT_EQ(ljpi_alloc_array(&mem, &q, 1, 1), LJP_E_LIMIT);
  LJT_EQ(mem.hit, LJP_LIMIT_MEMORY);
  ljpi_free_array(&mem, p, 125, 8);
  LJT_EQ(mem.used, 0);
  LJT_EQ(mem.peak, 1000);
  p = NULL;
  LJT_EQ(ljpi_grow(&mem, &p, &cap, 1, 4), LJP_OK);
  LJT_EQ(cap, 8);
  h.calls = 0;
  LJT_EQ(ljpi_grow(&mem, &p, &cap, 8, 4), LJP_OK);
  LJT_EQ(h.calls, 0); /* There was room. */
  LJT_EQ(ljpi_grow(&mem, &p, &cap, 9, 4), LJP_OK);
  LJT_EQ(cap, 16);
  LJT_EQ(ljpi_grow(&mem, &p, &cap, 64, 4), LJP_OK);
  LJT_EQ(cap, 64);
  LJT_EQ(ljpi_grow(&mem, &p, &cap, 251, 4), LJP_E_LIMIT);
  LJT_EQ(mem.used, 256);
  mem.limit = UINT64_MAX;
  h.calls = 0;
  LJT_EQ(ljpi_grow(&mem, &p, &cap, SIZE_MAX, 4), LJP_E_NOMEM);
  LJT_EQ(ljpi_grow(&mem, &p, &cap, SIZE_MAX / 4, 4), LJP_E_NOMEM);
  LJT_EQ(ljpi_alloc_array(&mem, &q, SIZE_MAX / 8 + 1, 8), LJP_E_NOMEM);
  LJT_EQ(h.calls, 0); /* Nobody was asked. */
  h.fail_at = 1;
  LJT_EQ(ljpi_grow(&mem, &p, &cap, 65, 4), LJP_E_NOMEM);
  LJT_EQ(cap, 64);
  LJT_EQ(mem.used, 256);
  ljpi_free_array(&mem, p, cap, 4);
  LJT_EQ(ljpi_alloc_array(&mem, &q, SIZE_MAX / 8, 8), LJP_E_NOMEM);
  LJT_EQ(h.calls, 2); /* That fits a size. */
  LJT_EQ(h.live_count, 0);
  LJT_EQ(h.bad_frees, 0);
}

/* Blocks in a caller's buffer: the last one grows and goes in place. */
static void buffer_blocks(void)
{
  static unsigned char buf[136];
  ljp_arena arena;
  ljp_allocator a;
  unsigned char *base = buf + (0 - (uintptr_t)buf) % 8, *p, *q;
  ljp_arena_init(&arena, base, 64, &a);
  p = (unsigned char *)a.alloc(a.user, 24);
  q = (unsigned char *)a.alloc(a.user, 40);
  LJT_OK(p == base && q == base + 24);
  LJT_OK(!a.alloc(a.user, 1));
  a.free(a.user, p, 24); /* Not the last: stays. */
  LJT_OK(!a.alloc(a.user, 1));
  a.free(a.user, q, 40);
  a.free(a.user, NULL, 1);
  q = (unsigned char *)a.alloc(a.user, 8);
  LJT_OK(q == base + 24);
  LJT_OK(a.realloc(a.user, q, 8, 40) == q);
  LJT_OK(!a.realloc(a.user, q, 40, 41));
  LJT_OK(a.realloc(a.user, q, 40, 16) == q);
  memcpy(p, "first", 6);
  q = (unsigned char *)a.realloc(a.user, p, 24, 6);
  LJT_OK(q == base + 40);
  LJT_STR((char *)q, "first");
  ljp_arena_init(&arena, base + 1, 7, &a);
  LJT_OK(!a.alloc(a.user, 1)); /* All of it is lost to alignment. */
  LJT_OK(!a.realloc(a.user, NULL, 0, 1));
  ljp_arena_init(&arena, base + 1, 6, &a); /* And more than there is. */
  LJT_OK(!a.alloc(a.user, 1));
  ljp_arena_init(&arena, base, 8, &a);
  LJT_OK(a.realloc(a.user, NULL, 0, 1) == base);
  ljp_arena_init(&arena, base + 1, 8, &a);
  LJT_OK(a.alloc(a.user, 1) == base + 8);
}

static int cmp_tens(const void *ctx, uint32_t a, uint32_t b)
{
  const unsigned *key = (const unsigned *)ctx;
  return (key[a] / 10 > key[b] / 10) - (key[a] / 10 < key[b] / 10);
}

/* Sorted by tens; among equals in the order given. */
static void sorting(void)
{
  enum { MOST = 70 };
  unsigned key[MOST] = {0};
  uint32_t v[MOST], tmp[MOST];
  ljt_rng rng = ljt_rng_make(ljt.seed);
  size_t n, i;
  for (n = 0; n <= MOST; n++) {
    for (i = 0; i < n; i++) {
      key[i] = (unsigned)ljt_below(&rng, 60);
      v[i] = (uint32_t)i;
    }
    ljpi_sort(v, tmp, n, cmp_tens, key);
    LJT_OK(n < 2 || v[0] != v[1]);
    for (i = 1; i < n; i++) {
      int c = cmp_tens(key, v[i - 1], v[i]);
      LJT_OK(c < 0 || (c == 0 && v[i - 1] < v[i]));
    }
  }
}

/* Numbers in blocks of exactly their size; cut, and too long. */
static void numbers(void)
{
  static const struct {
    const char *bytes;
    size_t size;
    uint64_t value;
  } rows[] = {
    {"\0", 1, 0}, {"\x7f", 1, 127}, {"\x80\1", 2, 128},
    {"\xff\x7f", 2, 16383}, {"\x80\x80\1", 3, 16384},
    {"\xff\xff\xff\xff\xff\xff\xff\x7f", 8, UINT64_MAX >> 8},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9, UINT64_MAX >> 1},
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\1", 10, UINT64_C(1) << 63},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10, UINT64_MAX},
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\0", 10, 0},
  };
  size_t i, n;
  uint64_t v;
  ljpi_cursor c;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    for (n = 1; n <= rows[i].size; n++) {
      unsigned char *p = (unsigned char *)malloc(n);
      if (!p) abort();
      memcpy(p, rows[i].bytes, n);
      c.p = p;
      c.end = p + n;
      v = 1;
      LJT_EQ(ljpi_get_uleb(&c, &v), n < rows[i].size ? LJP_MORE : LJP_OK);
      LJT_EQ(c.p - p, n < rows[i].size ? 0 : n);
      if (n == rows[i].size) LJT_EQ(v, rows[i].value);
      free(p);
    }
  }
  for (i = 0; i < 2; i++) { /* 65 bits; 11 bytes. */
    unsigned char long_one[11];
    memset(long_one, 0xff, 11);
    long_one[9] = i ? 0x81 : 2;
    long_one[10] = 0;
    c.p = long_one;
    c.end = long_one + 10 + i;
    LJT_EQ(ljpi_get_uleb(&c, &v), LJP_E_MALFORMED);
    LJT_OK(c.p == long_one);
  }
  v = UINT64_MAX - 5;
  ljpi_add(&v, 5);
  LJT_EQ(v, UINT64_MAX);
  ljpi_add(&v, 1);
  LJT_EQ(v, UINT64_MAX);
  v = 5;
  ljpi_sub(&v, 4);
  LJT_EQ(v, 1);
  ljpi_sub(&v, 2);
  LJT_EQ(v, 0);
}

#if defined(__GNUC__)
static void read_event(ljpi_read read, const unsigned char *p, ljpi_reader *r,
                       ljp_event *ev)
{
  memset(r, 0, sizeof(*r));
  memset(ev, 0, sizeof(*ev));
  r->p = p;
  r->at = 1;
  r->ends = ljpi_ends(p) & ~UINT64_C(1);
  ljpi_event(read, r, ljpi_lines(LJP_TRACE_WITH_ADDR), ev);
}

static void same_event(ljpi_read read, const unsigned char *p,
                       const ljpi_reader *want, const ljp_event *ev)
{
  ljpi_reader r;
  ljp_event mine;
  read_event(read, p, &r, &mine);
  if (r.bad > 7 || r.at > LJPI_QUICK_MAX) return;
  LJT_EQ(r.at, want->at);
  LJT_OK(want->bad == 0 && memcmp(&mine, ev, sizeof(mine)) == 0);
}

/* Each way of reading an event, on any bytes behind its header: what the short
** ones take, they take as the long one. */
static void readers_agree(void)
{
  ljt_rng rng = ljt_rng_make(ljt.seed);
  unsigned i, k, far = 0;
  for (i = 0; i < 20000; i++) {
    unsigned char p[2 * LJPI_EVENT_MAX];
    ljpi_reader want;
    ljp_event ev;
    unsigned more = (unsigned)ljt_below(&rng, 20);
    for (k = 1; k < sizeof(p); k++)
      p[k] = (unsigned char)((ljt_below(&rng, 20) < more ? 0x80u : 0u) |
                             ljt_below(&rng, 128));
    p[0] = (unsigned char)(1 + ljt_below(&rng, 3) + 4 * (i % 4 + 1));
    read_event(ljpi_read_any, p, &want, &ev);
    same_event(ljpi_read_plain, p, &want, &ev);
#ifdef LJPI_SQUEEZE_NATIVE
    if (LJPI_SQUEEZE_NATIVE()) same_event(ljpi_read_native, p, &want, &ev);
#endif
    far += want.bad == 0 && want.at > 16;
  }
  LJT_OK(far > 1000);
}
#endif

/* A tree that is not in order is found out. */
static void validate_finds(void)
{
  uint32_t i, swap;
  unsigned side;
  begin();
  for (i = 1; i <= 12; i++) insert(i * 10, i);
  LJT_OK(ljp_avl_validate(t));
  t->count++;
  LJT_OK(!ljp_avl_validate(t));
  t->count -= 2;
  LJT_OK(!ljp_avl_validate(t));
  t->count++;
  for (i = 1; i <= 12; i++) {
    ljpi_node *node = ljpi_at(&t->nodes, i), was = *node;
    node->key += 10; /* That of the next, or more than the last. */
    LJT_EQ(ljp_avl_validate(t), i == 12);
    *node = was;
    for (side = 0; side < 3; side++) {
      ljpi_set_heavy(node, side);
      LJT_EQ(ljp_avl_validate(t), memcmp(node, &was, sizeof(was)) == 0);
      *node = was;
    }
    node->link[0] |= LJPI_HEAVY;
    node->link[1] |= LJPI_HEAVY;
    LJT_OK(!ljp_avl_validate(t));
    *node = was;
    for (side = 0; side < 2; side++) {
      ljpi_set_link(node, side, t->root); /* Round and round. */
      LJT_OK(!ljp_avl_validate(t));
      *node = was;
    }
    swap = node->link[0];
    node->link[0] = node->link[1];
    node->link[1] = swap;
    LJT_EQ(ljp_avl_validate(t), node->link[0] == node->link[1]);
    *node = was;
  }
  LJT_OK(ljp_avl_validate(t));
  t->nodes.fresh = LJPI_HEAVY; /* No index is left. */
  LJT_EQ(ljp_avl_insert(t, 5, 5, NULL, NULL), LJP_E_NOMEM);
  LJT_EQ(ljp_avl_count(t), 12);
  ljp_avl_free(t);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(all_orders);
  LJT_CASE(all_removals);
  LJT_CASE(random_runs);
  LJT_CASE(ends_of_the_range);
  LJT_CASE(walk_stops);
  LJT_CASE(no_outputs);
  LJT_CASE(memory_fails);
  LJT_CASE(memory_limit);
  LJT_CASE(over_a_buffer);
  LJT_CASE(arrays);
  LJT_CASE(buffer_blocks);
  LJT_CASE(sorting);
  LJT_CASE(numbers);
#if defined(__GNUC__)
  LJT_CASE(readers_agree);
#endif
  LJT_CASE(validate_finds);
  return ljt_end();
}
