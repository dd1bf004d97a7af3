/*
** ljttree.h - what the tests of call trees share: a report kept as text, sums
** over all paths. ljparse.h comes before it.
*/
#ifndef LJTTREE_H
#define LJTTREE_H

#include <stdlib.h>
#include <string.h>

/* A report, with a NUL behind it. */
typedef struct ljt_text {
  char *data;
  size_t size, cap;
  uint64_t calls, fail_at; /* Fail this call and later ones; 0: none. */
} ljt_text;

static inline int ljt_text_write(void *user, const void *data, size_t size)
{
  ljt_text *t = (ljt_text *)user;
  t->calls++;
  if (t->fail_at && t->calls >= t->fail_at) return 1;
  if (t->cap - t->size <= size) {
    t->cap = (t->size + size + 1) * 2;
    t->data = (char *)realloc(t->data, t->cap);
    if (!t->data) abort();
  }
  memcpy(t->data + t->size, data, size);
  t->size += size;
  t->data[t->size] = 0;
  return 0;
}

static inline void ljt_text_drop(ljt_text *t)
{
  free(t->data);
  memset(t, 0, sizeof(*t));
}

/* What all paths have of `m` by themselves. */
static inline uint64_t ljt_sum(const ljp_tree *t, ljp_metric m)
{
  uint64_t n = 0;
  uint32_t i;
  for (i = 0; i < ljp_tree_path_count(t); i++)
    n += ljp_tree_path_at(t, i)->self[m];
  return n;
}

#endif /* LJTTREE_H */
