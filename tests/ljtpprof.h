/*
** ljtpprof.h - a reader of pprof's protobuf, written from profile.proto: sums,
** counts, and how much in it is wrong: numbers that are cut, wire types that
** are not used, ids of what is not there. After ljttree.h.
*/
#ifndef LJTPPROF_H
#define LJTPPROF_H

#include <string.h>

typedef struct ljt_pb {
  const unsigned char *p, *end;
} ljt_pb;

typedef struct ljt_pprof {
  uint64_t sum[4], samples, places, functions, mappings, strings;
  uint64_t default_type, types[4], type_count;
  uint64_t top_string;     /* The highest string that something names. */
  uint64_t bad;
} ljt_pprof;

static inline uint64_t ljt_pb_num(ljt_pprof *r, ljt_pb *b)
{
  uint64_t n = 0;
  unsigned shift = 0;
  while (b->p < b->end && shift < 64) {
    unsigned char c = *b->p++;
    n |= (uint64_t)(c & 0x7f) << shift;
    if (c < 0x80) return n;
    shift += 7;
  }
  r->bad++;
  b->p = b->end;
  return n;
}

/* Next field: its number, 0 at the end; bytes in *in, else the number. */
static inline unsigned ljt_pb_field(ljt_pprof *r, ljt_pb *b, uint64_t *n,
                                    ljt_pb *in)
{
  uint64_t tag;
  *n = 0;
  if (b->p == b->end) return 0;
  tag = ljt_pb_num(r, b);
  *n = ljt_pb_num(r, b);
  in->p = in->end = b->p;
  if ((tag & 7) == 2 && *n <= (uint64_t)(b->end - b->p)) {
    b->p += *n;
    in->end = b->p;
  } else if ((tag & 7) != 0 || tag >> 3 == 0) {
    r->bad++;
    b->p = b->end;
    return 0;
  }
  return (unsigned)(tag >> 3);
}

static inline void ljt_pprof_sample(ljt_pprof *r, ljt_pb s, uint64_t places)
{
  uint64_t n;
  ljt_pb in;
  unsigned f;
  r->samples++;
  while ((f = ljt_pb_field(r, &s, &n, &in)) != 0) {
    size_t k = 0;
    while (in.p < in.end) {
      uint64_t v = ljt_pb_num(r, &in);
      if (f == 1) r->bad += v == 0 || v > places;
      else if (f == 2 && k < 4) r->sum[k++] += v;
      else r->bad++;
    }
    r->bad += f == 2 && k != 4;
  }
}

static inline void ljt_pprof_string(ljt_pprof *r, uint64_t id)
{
  if (id > r->top_string) r->top_string = id;
}

/* A function's fields 2 to 4 are strings, a location's lines name one. */
static inline void ljt_pprof_place(ljt_pprof *r, ljt_pb place, int function,
                                   uint64_t places)
{
  uint64_t n, v;
  ljt_pb in, sub;
  unsigned f, g;
  while ((f = ljt_pb_field(r, &place, &n, &in)) != 0) {
    if (f == 1) r->bad += n == 0 || n > places;
    if (function && f >= 2 && f <= 4) ljt_pprof_string(r, n);
    if (function || f != 4) continue;
    while ((g = ljt_pb_field(r, &in, &v, &sub)) != 0)
      r->bad += g == 1 && (v == 0 || v > places);
  }
}

/* Reads a profile of a tree with so many places. */
static inline void ljt_pprof_read(ljt_pprof *r, const ljt_text *t,
                                  uint64_t places)
{
  ljt_pb b, in, sub;
  uint64_t n, v;
  unsigned f;
  memset(r, 0, sizeof(*r));
  b.p = (const unsigned char *)t->data;
  b.end = b.p + t->size;
  while ((f = ljt_pb_field(r, &b, &n, &in)) != 0) {
    if (f == 1) {
      r->bad += ljt_pb_field(r, &in, &v, &sub) != 1;
      if (r->type_count < 4) r->types[r->type_count] = v;
      r->type_count++;
      ljt_pprof_string(r, v);
    }
    if (f == 2) ljt_pprof_sample(r, in, places);
    r->mappings += f == 3;
    r->places += f == 4;
    r->functions += f == 5;
    if (f == 4 || f == 5) ljt_pprof_place(r, in, f == 5, places);
    r->bad += f == 6 && r->strings == 0 && n != 0;
    r->strings += f == 6;
    if (f == 14) r->default_type = n;
  }
  r->bad += r->top_string >= r->strings;
}

#endif /* LJTPPROF_H */
