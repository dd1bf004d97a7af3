/*
** ljtwalk.h - touches every reachable byte of the parser's objects and checks
** what must hold of them; tests, sweeps and fuzz targets share it. Include
** after ljparse.h with LJP_IMPLEMENTATION. A breach is printed and aborts.
*/
#ifndef LJTWALK_H
#define LJTWALK_H

#include "ljtest.h"

static inline void ljt_must(int ok, const char *expr, int line)
{
  if (ok) return;
  fprintf(stderr, "ljtwalk.h:%d: does not hold: %s\n", line, expr);
  abort();
}
#define LJT_MUST(expr) ljt_must((expr) ? 1 : 0, #expr, __LINE__)

/* -- the table of live blocks -- */

typedef struct ljt_walk {
  const ljpi_live *live;
  uint64_t count, size, big;
  const ljp_aggregate *a;
} ljt_walk;

static inline void ljt_walk_block(ljt_walk *w, uint64_t addr, uint32_t site)
{
  ljpi_ref ref;
  ljp_block b;
  LJT_MUST(ljpi_live_find(w->live, addr, &ref));
  ljpi_live_get(w->live, &ref, &b);
  LJT_MUST(b.addr == addr && b.site == site);
  LJT_MUST(site < w->a->place_count);
  w->count++;
  ljpi_add(&w->size, b.size);
  w->big += b.size >= LJPI_BIG;
}

static inline int ljt_walk_tree(void *user, uint64_t key, uint64_t value)
{
  ljt_walk *w = (ljt_walk *)user;
  ljt_walk_block(w, key, (uint32_t)(value >> 32));
  return 0;
}

static inline int ljt_walk_big(void *user, uint64_t key, uint64_t value)
{
  ljt_walk *w = (ljt_walk *)user;
  ljpi_ref ref;
  LJT_MUST(value >= LJPI_BIG);
  LJT_MUST(ljpi_live_find(w->live, key, &ref));
  w->big--;
  return 0;
}

/* How many blocks a bucket passed on, by what lies behind it. */
static inline uint32_t ljt_passed(const ljpi_seg *seg, const ljpi_bucket *at)
{
  uint32_t passed = 0, i;
  const ljpi_bucket *b = at;
  unsigned far, m;
  for (far = 1; far < LJPI_REACH; far++) {
    b = ljpi_behind(seg, (ljpi_bucket *)b);
    for (m = b->used & LJPI_FULL; m; m &= m - 1) {
      const ljpi_bucket *home = ljpi_home(seg,
                                          ljpi_hash_lane(b, ljpi_lowest(m)));
      i = (uint32_t)(b - home);
      if (b < home) i += seg->buckets;
      passed += i >= far && i < LJPI_REACH;
    }
  }
  return passed;
}

static inline uint64_t ljt_walk_segment(ljt_walk *w, const ljpi_seg *seg)
{
  uint32_t i, count = 0;
  unsigned m;
  for (i = 0; i < seg->buckets; i++) {
    const ljpi_bucket *b = &seg->bucket[i];
    LJT_MUST(b->used / LJPI_PASSED == ljt_passed(seg, b));
    for (m = b->used & LJPI_FULL; m; m &= m - 1) {
      unsigned lane = ljpi_lowest(m);
      count++;
      ljt_walk_block(w, (b->rest[lane] >> 48) << 32 | b->low[lane],
                     (uint32_t)(b->rest[lane] >> 24) & LJPI_SITE_MAX);
    }
  }
  LJT_MUST(count == seg->count);
  return ljpi_seg_size(seg->buckets);
}

/* Returns the sum of the blocks' sizes. */
static inline uint64_t ljt_check_live(const ljp_aggregate *a)
{
  const ljpi_live *l = &a->live;
  ljt_walk w = {NULL, 0, 0, 0, NULL};
  size_t i = 0, j, n, all = (size_t)1 << l->depth;
  uint64_t bytes = 0;
  w.live = l;
  w.a = a;
  while (i < all) {
    const ljpi_seg *seg = l->dir[i];
    LJT_MUST(seg->depth <= l->depth);
    n = (size_t)1 << (l->depth - seg->depth);
    LJT_MUST(i % n == 0);
    for (j = 0; j < n; j++) LJT_MUST(l->dir[i + j] == seg);
    bytes += ljt_walk_segment(&w, seg);
    i += n;
  }
  LJT_MUST(bytes == l->size);
  LJT_MUST(l->shift == 63 - l->depth);
  LJT_MUST(w.count + l->tree_count == l->count);
  ljpi_tree_walk(&l->nodes, l->tree, ljt_walk_tree, &w);
  LJT_MUST(w.count == l->count && l->count <= l->peak);
  ljpi_tree_walk(&l->nodes, l->big, ljt_walk_big, &w);
  LJT_MUST(w.big == 0);
  LJT_MUST(ljp_aggregate_table_size(a) <=
           LJPI_LIVE_SLACK + 32 * l->peak + LJPI_CHUNK * sizeof(ljpi_node));
  return w.size;
}

/* -- sums -- */

static inline void ljt_check_sums(const ljp_aggregate *a)
{
  ljp_totals t, sum;
  ljp_site s;
  size_t i, size;
  uint64_t bytes = ljt_check_live(a);
  memset(&sum, 0, sizeof(sum));
  ljp_aggregate_totals(a, &t);
  for (i = 0; i < ljp_aggregate_site_count(a); i++) {
    const ljp_label *l;
    ljp_aggregate_site(a, i, &s);
    l = ljp_aggregate_label(a, s.label);
    ljp_symbols_string(a->symbols, l->name, &size);
    LJT_MUST(l->name == 0 || l->name < a->symbols->strings.count);
    sum.live_count += s.live_count;
    ljpi_add(&sum.live_size, s.live_size);
    ljpi_add(&sum.peak_size, s.peak_size);
    sum.peak_count += s.peak_count;
    /* Of samples both are estimates, from sizes that may not agree. */
    LJT_MUST(a->sampled || s.live_count <= s.taken_count);
    LJT_MUST(a->sampled || s.temp_count <= s.taken_count);
  }
  if (a->model != LJP_MODEL_TRUE || a->sampled) return;
  LJT_MUST(sum.live_count == t.live_count && t.live_count == a->live.count);
  LJT_MUST(sum.peak_count == t.peak_count);
  /* Sums that have reached their end are not exact any more. */
  if (t.alloc_size == UINT64_MAX || t.realloc_new_size == UINT64_MAX ||
      t.peak_size == UINT64_MAX)
    return;
  LJT_MUST(sum.live_size == t.live_size && bytes == t.live_size);
  LJT_MUST(sum.peak_size == t.peak_size && t.peak_size >= t.live_size);
}

/* -- reports -- */

typedef struct ljt_output {
  uint64_t size, hash;
  int control;            /* Bytes that a terminal would act upon. */
} ljt_output;

static inline int ljt_output_write(void *user, const void *p, size_t size)
{
  ljt_output *o = (ljt_output *)user;
  const unsigned char *q = (const unsigned char *)p;
  size_t i;
  for (i = 0; i < size; i++) {
    o->hash = (o->hash ^ q[i]) * UINT64_C(0x100000001b3);
    if ((q[i] < 0x20 && q[i] != '\n' && q[i] != '\t') || q[i] == 0x7f)
      o->control = 1;
  }
  o->size += size;
  return 0;
}

/* Hash of all line reports that the model has. */
static inline uint64_t ljt_check_reports(ljp_profile *p)
{
  int classic = p->aggregate.model == LJP_MODEL_CLASSIC;
  ljt_output out = {0, 0, 0};
  ljp_report_options o;
  unsigned i;
  for (i = 0; i < 8; i++) {
    memset(&o, 0, sizeof(o));
    o.leak_only = i == 1;
    o.human_readable = i == 2;
    o.by = (ljp_by)(i & 3);
    o.sort = (ljp_sort)(i & 3);
    o.limit = i;
    if (i >= 5 && classic) break;
    LJT_MUST(ljp_profile_report(p, classic ? LJP_CLASSIC
                                   : i < 5 ? LJP_TEXT : LJP_JSON,
                                &o, ljt_output_write, &out) == LJP_OK);
  }
  LJT_MUST(out.size > 0);
  LJT_MUST(classic || !out.control);
  return out.hash;
}

/* Everything of a profile but its reports. */
static inline void ljt_check_profile(const ljp_profile *p)
{
  const ljp_error *e = ljp_profile_error(p);
  char text[200], cut[8];
  LJT_MUST(strlen(ljp_error_text(e, text, sizeof(text))) < sizeof(text) - 1);
  LJT_MUST(strlen(ljp_error_text(e, cut, sizeof(cut))) < sizeof(cut));
  LJT_MUST(e->record_off <= e->off || e->status != LJP_E_TRUNCATED);
  LJT_MUST(p->decoder.batch_count == 0);
  ljt_check_sums(&p->aggregate);
}

#endif /* LJTWALK_H */
