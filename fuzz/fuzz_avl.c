/*
** fuzz_avl.c - the input as calls of the AVL tree, against a sorted array;
** order, balance and height after each step.
*/
#include "parse_help.h"

#define LJF_KEYS 512

typedef struct ljf_array {
  uint64_t key[LJF_KEYS], value[LJF_KEYS];
  size_t count, walked;
} ljf_array;

static ljf_array array;

/* First index whose key is not below. */
static size_t ljf_place(uint64_t key)
{
  size_t i = 0;
  while (i < array.count && array.key[i] < key) i++;
  return i;
}

static int ljf_has(size_t i, uint64_t key)
{
  return i < array.count && array.key[i] == key;
}

static void ljf_insert(ljp_avl *t, uint64_t key, uint64_t value)
{
  size_t i = ljf_place(key);
  uint64_t old = 0;
  int had, there = ljf_has(i, key);
  ljp_status st;
  if (!there && array.count == LJF_KEYS) return;
  st = ljp_avl_insert(t, key, value, &old, &had);
  if (st != LJP_OK) {
    LJF_CHECK(st == LJP_E_NOMEM && !there);
    return;
  }
  LJF_CHECK(had == there && (!there || old == array.value[i]));
  if (!there) {
    size_t n = (array.count++ - i) * sizeof(uint64_t);
    memmove(array.key + i + 1, array.key + i, n);
    memmove(array.value + i + 1, array.value + i, n);
    array.key[i] = key;
  }
  array.value[i] = value;
}

static void ljf_remove(ljp_avl *t, uint64_t key)
{
  size_t i = ljf_place(key), n;
  uint64_t value = 0;
  int there = ljf_has(i, key);
  LJF_CHECK(ljp_avl_remove(t, key, &value) == there);
  if (!there) return;
  LJF_CHECK(value == array.value[i]);
  n = (--array.count - i) * sizeof(uint64_t);
  memmove(array.key + i, array.key + i + 1, n);
  memmove(array.value + i, array.value + i + 1, n);
}

static void ljf_look(const ljp_avl *t, uint64_t key)
{
  size_t i = ljf_place(key);
  uint64_t value = 0, found = 0;
  int there = ljf_has(i, key);
  LJF_CHECK(ljp_avl_find(t, key, &value) == there);
  LJF_CHECK(!there || value == array.value[i]);
  i += (size_t)there;
  LJF_CHECK(ljp_avl_floor(t, key, &found, &value) == (i > 0));
  LJF_CHECK(i == 0 || (found == array.key[i - 1] &&
                       value == array.value[i - 1]));
}

static int ljf_step(void *user, uint64_t key, uint64_t value)
{
  (void)user;
  LJF_CHECK(array.walked < array.count);
  LJF_CHECK(array.key[array.walked] == key);
  LJF_CHECK(array.value[array.walked] == value);
  array.walked++;
  return 0;
}

static void ljf_whole(const ljp_avl *t)
{
  unsigned h = ljp_avl_height(t);
  LJF_CHECK(ljp_avl_validate(t));
  LJF_CHECK(ljp_avl_count(t) == array.count);
  /* 1.44 log2(n + 2), rounded up. */
  LJF_CHECK(h <= 14 && array.count < (size_t)1 << h);
  array.walked = 0;
  LJF_CHECK(ljp_avl_walk(t, ljf_step, NULL) == 0);
  LJF_CHECK(array.walked == array.count);
}

/* A key of 1 to 8 bytes; short ones meet again. */
static uint64_t ljf_key(const uint8_t *data, size_t size, size_t *at)
{
  uint64_t key = 0;
  size_t n = *at < size ? 1 + (data[*at] >> 4 & 7) : 0;
  for ((*at)++; n > 0 && *at < size; n--) key = key << 8 | data[(*at)++];
  return key;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  ljt_heap heap;
  ljp_options o = ljt_heap_options(&heap);
  ljp_avl *t;
  size_t at = 0, steps = 0;
  array.count = 0;
  if (ljf_hash(data, size) % 8 == 0)
    heap.fail_at = 2 + ljf_hash(data, size) / 8 % 8;
  if (ljp_avl_new(&t, &o) == LJP_OK) {
    while (at < size && steps < 4096) {
      unsigned op = data[at] & 15;
      uint64_t key = ljf_key(data, size, &at);
      if (op < 8) ljf_insert(t, key, steps);
      else if (op < 12) ljf_remove(t, key);
      ljf_look(t, key);
      if (steps++ % 8 == 0) ljf_whole(t);
    }
    ljf_whole(t);
    ljp_avl_free(t);
  }
  ljf_all_freed(&heap);
  return 0;
}
