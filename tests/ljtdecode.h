/*
** ljtdecode.h - the decoder's callbacks as text, in the form that ljt_dump of
** ljtstream.h gives; feeding in pieces. Include after ljparse.h.
*/
#ifndef LJTDECODE_H
#define LJTDECODE_H

#include "ljtstream.h"

typedef struct ljt_decoded {
  ljt_bytes text;
  uint64_t events, records, strays;
  int in_events;
  ljp_status status;
  ljp_error error;
} ljt_decoded;

static inline ljp_status ljt_on_events(void *user, const ljp_event *ev,
                                       size_t count, size_t *failed)
{
  static const char *const kinds[] = {"", "alloc", "free", "realloc"};
  static const char *const sources[] = {"", "internal", "lua", "c", "trace"};
  ljt_decoded *d = (ljt_decoded *)user;
  size_t i;
  (void)failed;
  d->events += count;
  for (i = 0; i < count; i++, ev++) {
    ljt_text(&d->text, "%s %s", kinds[ev->kind], sources[ev->source]);
    if (ev->source != LJP_SOURCE_INTERNAL)
      ljt_text(&d->text, " %" PRIu64, ev->id);
    if (ev->source == LJP_SOURCE_LUA || ev->line)
      ljt_text(&d->text, " %" PRIu64, ev->line);
    if (ev->kind != LJP_EVENT_ALLOC)
      ljt_text(&d->text, " %" PRIu64 " %" PRIu64, ev->old_addr,
               ev->old_size);
    if (ev->kind != LJP_EVENT_FREE)
      ljt_text(&d->text, " %" PRIu64 " %" PRIu64, ev->addr, ev->size);
    ljt_text(&d->text, "\n");
  }
  return LJP_OK;
}

static inline void ljt_record_text(ljt_decoded *d, const ljp_record *r)
{
  ljt_bytes *t = &d->text;
  static const char *const names[] = {"", "", "proto", "csym", "trace"};
  ljt_text(t, "%s%s %" PRIu64, d->in_events ? "symbol " : "", names[r->kind],
           r->id);
  if (r->kind == LJP_RECORD_TRACE) {
    if (r->mcode) ljt_text(t, " %" PRIu64, r->mcode);
    ljt_text(t, " %" PRIu64 " %" PRIu64, r->addr, r->line);
  } else {
    ljt_text(t, " '");
    ljt_text_str(t, (const unsigned char *)r->name, r->name_size);
    ljt_text(t, "'");
    if (r->kind == LJP_RECORD_PROTO) ljt_text(t, " %" PRIu64, r->line);
  }
  ljt_text(t, "\n");
}

static inline ljp_status ljt_on_record(void *user, const ljp_record *r)
{
  ljt_decoded *d = (ljt_decoded *)user;
  d->records++;
  switch (r->kind) {
  case LJP_RECORD_VERSIONS:
    d->in_events = 1;
    ljt_text(&d->text, "events %u\n", (unsigned)r->size);
    break;
  case LJP_RECORD_STRAY: d->strays++; break;
  default: ljt_record_text(d, r);
  }
  return LJP_OK;
}

/* How input comes: in pieces of 1..most bytes, or all at once (most 0). */
static inline void ljt_decode(ljt_decoded *d, const void *data, size_t size,
                              size_t most, const ljp_options *options)
{
  const unsigned char *p = (const unsigned char *)data;
  ljp_handler h;
  ljp_decoder *dec;
  ljt_rng rng = ljt_rng_make(size + most);
  size_t at, n;
  memset(d, 0, sizeof(*d));
  h.on_events = ljt_on_events;
  h.on_record = ljt_on_record;
  h.user = d;
  if (ljp_decoder_new(&dec, &h, options) != LJP_OK) abort();
  for (at = 0; at < size; at += n) {
    unsigned char *piece;
    n = most ? 1 + (size_t)ljt_below(&rng, most) : size;
    if (n > size - at) n = size - at;
    /* A heap block of its own, gone after the call. */
    piece = (unsigned char *)malloc(n);
    if (!piece) abort();
    memcpy(piece, p + at, n);
    d->status = ljp_decoder_feed(dec, piece, n);
    free(piece);
    if (d->status > LJP_MORE) break;
  }
  d->status = ljp_decoder_finish(dec);
  d->error = *ljp_decoder_error(dec);
  ljp_decoder_free(dec);
}

#endif /* LJTDECODE_H */
