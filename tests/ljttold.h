/*
** ljttold.h - what the decoder of ljparse.h tells of a format 4 stream, as the
** text that ljt_dump writes. Include ljparse.h before.
*/
#ifndef LJTTOLD_H
#define LJTTOLD_H

#include "ljtest.h"
#include "ljtstream.h"

#define LJT_U " %" PRIu64

/* Damage beyond 64 places is counted only. */
typedef struct ljt_told {
  ljt_bytes text;
  uint64_t events;
  uint64_t damage_count;
  uint64_t off[64], size[64], lost_events[64], lost_blocks[64];
} ljt_told;

/* An event's line: what its kind has of site, addresses and sizes. */
static inline void ljt_told_event(ljt_bytes *b, const ljp_event *ev)
{
  static const char *const words[] = {
    "", "alloc", "free", "realloc", "alloc-failed", "realloc-failed"
  };
  ljt_text(b, "%s" LJT_U, words[ev->kind], ev->id);
  if (ev->kind != LJP_EVENT_ALLOC && ev->kind != LJP_EVENT_FAILED_ALLOC)
    ljt_text(b, LJT_U LJT_U, ev->old_addr, ev->old_size);
  if (ev->kind == LJP_EVENT_ALLOC || ev->kind == LJP_EVENT_REALLOC)
    ljt_text(b, LJT_U, ev->addr);
  if (ev->kind != LJP_EVENT_FREE) ljt_text(b, LJT_U, ev->size);
  ljt_text(b, "\n");
}

static inline ljp_status ljt_told_events(void *user, const ljp_event *ev,
                                         size_t count, size_t *failed)
{
  ljt_told *t = (ljt_told *)user;
  size_t i;
  *failed = 0;
  t->events += count;
  for (i = 0; i < count; i++) {
    if (ev[i].source != LJP_SOURCE_SITE || ev[i].kind < LJP_EVENT_ALLOC ||
        ev[i].kind > LJP_EVENT_FAILED_REALLOC)
      return LJP_E_ARG;
    if (ev[i].weight) ljt_text(&t->text, "weight" LJT_U "\n", ev[i].weight);
    ljt_told_event(&t->text, &ev[i]);
  }
  return LJP_OK;
}

static inline void ljt_told_quoted(ljt_told *t, const char *s, size_t size)
{
  ljt_text(&t->text, " '");
  ljt_text_str(&t->text, (const unsigned char *)s, size);
  ljt_text(&t->text, "'");
}

static inline void ljt_told_numbers(ljt_told *t, const ljp_record *r,
                                    size_t from)
{
  size_t i;
  for (i = from; i < r->n_count; i++) ljt_text(&t->text, LJT_U, r->n[i]);
}

static inline void ljt_told_definition(ljt_told *t, const ljp_record *r)
{
  static const char *const names[] = {
    "string", "module", "csym", "function", "frame", "stack", "site", "trace"
  };
  ljt_text(&t->text, "%s" LJT_U, names[r->kind - LJP_RECORD_STRING], r->id);
  if (r->kind == LJP_RECORD_STRING) ljt_told_quoted(t, r->name, r->name_size);
  if (r->kind != LJP_RECORD_MODULE) {
    ljt_told_numbers(t, r, 0);
  } else {
    ljt_text(&t->text, LJT_U, r->n[0]);
    ljt_told_quoted(t, r->name, r->name_size);
    ljt_told_numbers(t, r, 1);
  }
  ljt_text(&t->text, "\n");
}

static inline ljp_status ljt_told_record(void *user, const ljp_record *r)
{
  static const char *const others[] = {
    "mark", "loaded", "unloaded", "dropped", "live", "end"
  };
  ljt_told *t = (ljt_told *)user;
  uint64_t k = t->damage_count;
  if (r->kind == LJP_RECORD_VERSIONS) {
    ljt_text(&t->text, "events 4\n");
  } else if (r->kind == LJP_RECORD_META) {
    ljt_text(&t->text, "meta");
    ljt_told_quoted(t, r->name, r->name_size);
    ljt_told_quoted(t, r->text, r->text_size);
    ljt_text(&t->text, "\n");
  } else if (r->kind == LJP_RECORD_DAMAGE) {
    if (k < 64) {
      t->off[k] = r->off;
      t->size[k] = r->size;
      t->lost_events[k] = r->n[0];
      t->lost_blocks[k] = r->n[1];
    }
    t->damage_count++;
  } else if (r->kind <= LJP_RECORD_START) {
    ljt_told_definition(t, r);
  } else {
    ljt_text(&t->text, "%s", others[r->kind - LJP_RECORD_MARK]);
    ljt_told_numbers(t, r, 0);
    if (r->kind == LJP_RECORD_LIVE) ljt_text(&t->text, LJT_U, r->addr);
    ljt_text(&t->text, "\n");
  }
  return LJP_OK;
}

static inline void ljt_told_free(ljt_told *t)
{
  ljt_bytes_free(&t->text);
}

static inline ljp_handler ljt_told_handler(ljt_told *t)
{
  ljp_handler h;
  memset(t, 0, sizeof(*t));
  h.on_events = ljt_told_events;
  h.on_record = ljt_told_record;
  h.user = t;
  return h;
}

/* What on_events was called with, and what it is to answer. */
typedef struct ljt_batches {
  uint64_t calls, events, most;
  ljp_status answer;
} ljt_batches;

static inline ljp_status ljt_count_batch(void *user, const ljp_event *events,
                                         size_t count, size_t *failed)
{
  ljt_batches *b = (ljt_batches *)user;
  (void)events;
  (void)failed;
  b->calls++;
  b->events += count;
  if (count > b->most) b->most = count;
  return b->answer;
}

#endif /* LJTTOLD_H */
