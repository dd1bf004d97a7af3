/*
** ljtsink.h - a sink that keeps what it gets and fails on demand.
*/
#ifndef LJTSINK_H
#define LJTSINK_H

#include "ljtest.h"

typedef struct ljt_sink {
  unsigned char *data;
  size_t size, cap;
  uint64_t calls;      /* Of write. */
  uint64_t closed;     /* Calls of close. */
  uint64_t fail_at;    /* Call (from 1) that goes wrong; 0: none. */
  uint64_t fail_count; /* How many in a row do; 0: all from there on. */
  ptrdiff_t result;    /* What a wrong call returns; LJT_SHORT: takes 1. */
  int close_result;
  void (*inside)(void *arg); /* Called in write and close, or NULL. */
  void *arg;
} ljt_sink;

#define LJT_SHORT PTRDIFF_MAX

static inline ptrdiff_t ljt_sink_write(void *user, const void *data,
                                       size_t size)
{
  ljt_sink *s = (ljt_sink *)user;
  int wrong;
  s->calls++;
  if (s->inside) s->inside(s->arg);
  wrong = s->fail_at && s->calls >= s->fail_at &&
          (!s->fail_count || s->calls < s->fail_at + s->fail_count);
  if (wrong && s->result != LJT_SHORT) return s->result;
  if (wrong) size = 1;
  if (size > s->cap - s->size) {
    s->cap = (s->size + size) * 2;
    s->data = (unsigned char *)realloc(s->data, s->cap);
    if (!s->data) abort();
  }
  memcpy(s->data + s->size, data, size);
  s->size += size;
  return (ptrdiff_t)size;
}

static inline int ljt_sink_close(void *user)
{
  ljt_sink *s = (ljt_sink *)user;
  s->closed++;
  if (s->inside) s->inside(s->arg);
  return s->close_result;
}

/* For interfaces that take {write, close, user}; `s` is set to empty. */
#ifdef LJMEMPROF_H
static inline ljm_sink ljt_sink_make(ljt_sink *s)
{
  ljm_sink sink;
  memset(s, 0, sizeof(*s));
  sink.write = ljt_sink_write;
  sink.close = ljt_sink_close;
  sink.user = s;
  return sink;
}
#endif

static inline void ljt_sink_free(ljt_sink *s)
{
  free(s->data);
  s->data = NULL;
}

#endif /* LJTSINK_H */
