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

/* The text report of a stream, and how reading it ended. */
static inline ljp_status ljt_report(const unsigned char *data, size_t size,
                                    ljt_text *t)
{
  ljp_profile *p = NULL;
  ljp_status st;
  memset(t, 0, sizeof(*t));
  if (ljp_profile_new(&p, NULL) != LJP_OK) abort();
  (void)ljp_profile_feed(p, data, size);
  st = ljp_profile_finish(p);
  (void)ljp_profile_report(p, LJP_TEXT, NULL, ljt_text_write, t);
  ljp_profile_free(p);
  return st;
}

/* The sum of the numbers behind "NAME: " or "NAME:0xADDR: " in the first
** section that has such rows. (A function of a library that came back to
** another place has two.) */
static inline uint64_t ljt_row(const ljt_text *t, const char *name)
{
  size_t n = strlen(name);
  uint64_t sum = 0;
  int found = 0;
  const char *p = t->data;
  for (; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
    const char *colon;
    if (*p == '\n' && found) break;
    if (strncmp(p, name, n) != 0 || p[n] != ':') continue;
    colon = strchr(p + n, ' ');
    sum += colon ? strtoull(colon, NULL, 10) : 0;
    found = 1;
  }
  return sum;
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
