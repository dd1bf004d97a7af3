/* The public AVL tree against a sorted array. */
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtest.h"

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

/* Every allocation fails in turn: nothing is lost, nothing leaks. */
static void memory_fails(void)
{
  uint64_t at;
  ljp_status st;
  for (at = 1;; at++) {
    ljt_heap h;
    ljp_options o;
    uint64_t i;
    memset(&h, 0, sizeof(h));
    memset(&o, 0, sizeof(o));
    h.fail_at = at;
    o.allocator.alloc = ljt_heap_alloc;
    o.allocator.realloc = ljt_heap_realloc;
    o.allocator.free = ljt_heap_free;
    o.allocator.user = &h;
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
  ljp_options o;
  ljt_heap h;
  uint64_t i;
  ljp_status st = LJP_OK;
  memset(&h, 0, sizeof(h));
  memset(&o, 0, sizeof(o));
  o.limits.memory = 1 << 20;
  o.allocator.alloc = ljt_heap_alloc;
  o.allocator.realloc = ljt_heap_realloc;
  o.allocator.free = ljt_heap_free;
  o.allocator.user = &h;
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
  o.allocator.realloc = NULL;
  LJT_EQ(ljp_avl_new(&t, &o), LJP_E_ARG);
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

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(all_orders);
  LJT_CASE(all_removals);
  LJT_CASE(random_runs);
  LJT_CASE(ends_of_the_range);
  LJT_CASE(walk_stops);
  LJT_CASE(memory_fails);
  LJT_CASE(memory_limit);
  LJT_CASE(over_a_buffer);
  return ljt_end();
}
