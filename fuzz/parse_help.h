/*
** parse_help.h - what the targets of ljparse.h share: a handler that notes
** each record as a hash, ways of feeding, a walk over all results.
*/
#ifndef PARSE_HELP_H
#define PARSE_HELP_H

#include "ljparse.h"
#include "fuzz_main.h"

#define LJF_RECORDS 4096

LJF_UNCOVERED_BEGIN

#include "ljtheap.h"

/* Hashes of the records in order; those past the room only count. */
typedef struct ljf_log {
  size_t count;
  size_t fed; /* Records before finish was called. */
  uint64_t hash[LJF_RECORDS];
  uint64_t refuse_at; /* Number (from 1) of the record that fails; 0: none. */
} ljf_log;

static inline uint64_t ljf_add(uint64_t h, uint64_t v)
{
  h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 29;
}

static inline ljp_status ljf_note_hash(ljf_log *log, uint64_t h)
{
  if (log->refuse_at && log->count + 1 >= log->refuse_at) return LJP_E_IO;
  if (log->count < LJF_RECORDS) log->hash[log->count] = h;
  log->count++;
  return LJP_OK;
}

static inline ljp_status ljf_on_events(void *user, const ljp_event *events,
                                       size_t count, size_t *failed)
{
  size_t i;
  LJF_CHECK(count > 0);
  for (i = 0; i < count; i++) {
    const ljp_event *e = &events[i];
    uint64_t h = (uint64_t)e->kind << 8 | e->source;
    h = ljf_add(h, e->off);
    h = ljf_add(ljf_add(h, e->id), e->line);
    h = ljf_add(ljf_add(h, e->addr), e->size);
    h = ljf_add(ljf_add(ljf_add(h, e->old_addr), e->old_size), e->weight);
    if (ljf_note_hash((ljf_log *)user, h) == LJP_OK) continue;
    *failed = i;
    return LJP_E_IO;
  }
  return LJP_OK;
}

static inline ljp_status ljf_on_record(void *user, const ljp_record *r)
{
  uint64_t h = 0x100u + (unsigned)r->kind;
  size_t i;
  LJF_CHECK(r->kind >= LJP_RECORD_VERSIONS && r->kind <= LJP_RECORD_DAMAGE);
  for (i = 0; i < r->n_count; i++) h = ljf_add(h, r->n[i]);
  if (r->text_size) h ^= ljf_hash((const uint8_t *)r->text, r->text_size);
  h = ljf_add(ljf_add(h, r->off), r->id);
  h = ljf_add(ljf_add(h, r->addr), r->line);
  h = ljf_add(ljf_add(h, r->size), r->mcode);
  if (r->name_size) h ^= ljf_hash((const uint8_t *)r->name, r->name_size);
  return ljf_note_hash((ljf_log *)user, h);
}

static inline ljp_handler ljf_handler(ljf_log *log)
{
  ljp_handler h;
  memset(&h, 0, sizeof(h));
  log->count = 0;
  log->refuse_at = 0;
  h.on_events = ljf_on_events;
  h.on_record = ljf_on_record;
  h.user = log;
  return h;
}

static inline void ljf_all_freed(const ljt_heap *heap)
{
  LJF_CHECK(heap->live_count == 0 && heap->live_size == 0);
  LJF_CHECK(heap->bad_frees == 0);
}

static inline int ljf_status_known(ljp_status st)
{
  return st >= LJP_OK && st <= LJP_E_TRUNCATED && st != LJP_E_ARG;
}

static inline void ljf_same_error(const ljp_error *a, const ljp_error *b)
{
  LJF_CHECK(a->status == b->status);
  LJF_CHECK(a->section == b->section);
  LJF_CHECK(a->limit == b->limit);
  LJF_CHECK(a->version == b->version);
  LJF_CHECK(a->off == b->off);
  LJF_CHECK(a->record_off == b->record_off);
}

/* The first log's `n` records are the other's first ones. */
static inline void ljf_is_prefix(const ljf_log *a, size_t n, const ljf_log *b)
{
  LJF_CHECK(n <= b->count);
  if (n > LJF_RECORDS) n = LJF_RECORDS;
  LJF_CHECK(n == 0 || memcmp(a->hash, b->hash, n * sizeof(*a->hash)) == 0);
}

/* How to cut an input into pieces. */
typedef enum ljf_split {
  LJF_WHOLE,
  LJF_PIECES, /* Of random length. */
  LJF_BYTES   /* One by one; of a longer input 128, in pieces the rest. */
} ljf_split;

#define LJF_WINDOW 128

/* Length of the piece at `at`; the window begins at `window`. */
static inline size_t ljf_piece(ljf_split split, size_t at, size_t size,
                               size_t window, ljt_rng *rng)
{
  size_t most = size / 5 + 1, left = size - at;
  if (split == LJF_WHOLE) return left;
  if (split == LJF_BYTES && at < window) left = window - at;
  else if (split == LJF_BYTES && at - window < LJF_WINDOW) return 1;
  return 1 + (size_t)ljt_below(rng, most < left ? most : left);
}

/* Feeds a decoder, finishes it. Returns what finish says; *err gets the
** error. */
static inline ljp_status ljf_decode(ljp_decoder *d, ljf_log *log,
                                    const uint8_t *data, size_t size,
                                    ljf_split split, ljt_rng *rng,
                                    ljp_error *err)
{
  size_t at = 0, window = 0;
  ljp_status st = LJP_MORE, end;
  if (size > LJF_WINDOW)
    window = (size_t)ljt_below(rng, size - LJF_WINDOW + 1);
  while (at < size && st <= LJP_MORE) {
    size_t n = ljf_piece(split, at, size, window, rng);
    st = ljp_decoder_feed(d, data + at, n);
    LJF_CHECK(ljf_status_known(st));
    LJF_CHECK(st != LJP_OK);
    at += n;
    if (st <= LJP_MORE) LJF_CHECK(ljp_decoder_offset(d) == at);
  }
  log->fed = log->count;
  end = ljp_decoder_finish(d);
  LJF_CHECK(ljf_status_known(end) && end != LJP_OK && end != LJP_MORE);
  if (st > LJP_MORE) LJF_CHECK(end == st);
  if (end != LJP_END) LJF_CHECK(ljp_decoder_finish(d) == end);
  *err = *ljp_decoder_error(d);
  LJF_CHECK((err->status == LJP_OK) == (end == LJP_END));
  if (end != LJP_END) LJF_CHECK(err->status == end);
  LJF_CHECK(err->off <= size && err->record_off <= err->off);
  if (size) LJF_CHECK(end == LJP_END || ljp_decoder_feed(d, data, 1) == end);
  return end;
}

/* Touches every byte of the results that can be reached. */
static inline uint64_t ljf_walk_results(const ljp_aggregate *a,
                                        const ljp_symbols *s)
{
  ljp_totals t;
  size_t i, n = ljp_aggregate_site_count(a), k, size;
  uint64_t sum = 0, live = 0, count = 0;
  ljp_aggregate_totals(a, &t);
  LJF_CHECK(t.sampled_count || (t.alloc_error == 0 && t.live_error == 0));
  for (i = 0; i < n; i++) {
    const ljp_label *label;
    const char *p;
    ljp_site site;
    ljp_aggregate_site(a, i, &site);
    label = ljp_aggregate_label(a, site.label);
    LJF_CHECK(label->kind <= LJP_LABEL_SITE);
    LJF_CHECK(site.alloc_error <= t.alloc_error);
    LJF_CHECK(site.live_error <= t.live_error);
    p = ljp_symbols_string(s, label->name, &size);
    for (k = 0; k < size; k++) sum += (unsigned char)p[k];
    sum += ljp_symbols_alias(s, label->name);
    live += site.live_size;
    count += site.live_count;
  }
  if (t.alloc_size < UINT64_C(1) << 60 &&
      t.realloc_new_size < UINT64_C(1) << 60) { /* Else sums saturate. */
    LJF_CHECK(live == t.live_size);
    /* A sample stands for as many blocks as its size says, and a free may
    ** give another size. */
    LJF_CHECK(count == t.live_count || t.sampled_count);
  }
  return sum;
}

/* A write callback that counts, and fails when `*left` bytes are out. */
static inline int ljf_swallow(void *user, const void *data, size_t size)
{
  uint64_t *left = (uint64_t *)user;
  (void)data;
  LJF_CHECK(size > 0);
  if (size > *left) return 1;
  *left -= size;
  return 0;
}

LJF_UNCOVERED_END

#endif /* PARSE_HELP_H */
