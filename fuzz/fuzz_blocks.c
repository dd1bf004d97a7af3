/*
** fuzz_blocks.c - format 4 to the decoder: whole and in pieces alike, damage
** told in order, memory bounded; the slow decoder agrees on what is whole.
** dict: stream
*/
#include "mutate_stream.h"
#include "fuzz_main.h"

#include "ljparse.h"
#include "ljtheap.h"
#include "ljttold.h"

typedef struct run {
  ljp_status status;
  ljp_error err;
  ljt_told told;
  uint64_t last_off; /* Records come in the order of their offsets. */
  ljt_heap heap;
} run;

static ljp_status on_record(void *user, const ljp_record *r)
{
  run *t = (run *)user;
  LJF_CHECK(r->off >= t->last_off);
  t->last_off = r->off;
  if (r->kind == LJP_RECORD_DAMAGE) t->last_off = r->off + r->size;
  return ljt_told_record(&t->told, r);
}

static ljp_status on_events(void *user, const ljp_event *ev, size_t count,
                            size_t *failed)
{
  run *t = (run *)user;
  size_t i;
  for (i = 0; i < count; i++) {
    LJF_CHECK(ev[i].off >= t->last_off);
    LJF_CHECK(ev[i].id <= 16777215 || ev[i].kind > LJP_EVENT_REALLOC);
    t->last_off = ev[i].off;
  }
  return ljt_told_events(&t->told, ev, count, failed);
}

/* Pieces of `step` bytes; 0: of random sizes. */
static void decode(run *t, const uint8_t *data, size_t size, size_t step)
{
  ljp_decoder *d = NULL;
  ljp_handler h;
  ljp_options o;
  ljt_rng r = ljt_rng_make(size);
  size_t at = 0, n;
  memset(t, 0, sizeof(*t));
  o = ljt_heap_options(&t->heap);
  h.on_events = on_events;
  h.on_record = on_record;
  h.user = t;
  LJF_CHECK(ljp_decoder_new(&d, &h, &o) == LJP_OK);
  t->status = LJP_MORE;
  while (at < size && t->status <= LJP_MORE) {
    n = step ? step : 1 + (size_t)ljt_below(&r, 64);
    if (n > size - at) n = size - at;
    t->status = ljp_decoder_feed(d, data + at, n);
    at += n;
  }
  t->status = ljp_decoder_finish(d);
  t->err = *ljp_decoder_error(d);
  ljp_decoder_free(d);
  LJF_CHECK(t->heap.live_count == 0 && t->heap.bad_frees == 0);
  /* Twice what is kept back, and the decoder itself. */
  LJF_CHECK(t->heap.peak_size <= 4 * size + 65536);
}

static void same(const run *a, const run *b)
{
  LJF_CHECK(a->status == b->status && a->err.off == b->err.off);
  LJF_CHECK(a->err.record_off == b->err.record_off);
  LJF_CHECK(a->told.events == b->told.events);
  LJF_CHECK(a->told.damage_count == b->told.damage_count);
  LJF_CHECK(a->told.text.size == b->told.text.size);
  LJF_CHECK(a->told.text.size == 0 ||
            memcmp(a->told.text.data, b->told.text.data,
                   a->told.text.size) == 0);
}

/* What the slow decoder reads before its first fault stands first. */
static void compare(const run *t, const uint8_t *data, size_t size)
{
  ljt_bytes text = {NULL, 0, 0};
  size_t offset = 0;
  int status;
  if (size < 14 || memcmp(data, "ljs\4\0\0\0ljm\4\0\0\0", 14) != 0) return;
  status = ljt_dump(data, size, 0, &text, NULL, &offset);
  /* Sums that END states wrongly are no matter of the slow one. A bad record
  ** in a copy is none of the decoder's, which skips it. */
  if (status == LJT_CLEAN)
    LJF_CHECK(t->status == LJP_END ||
              (t->status == LJP_E_MALFORMED && t->told.damage_count == 1));
  if (status == LJT_CUT) LJF_CHECK(t->status != LJP_END);
  if (t->told.damage_count == 0 && status != LJT_BAD) {
    LJF_CHECK(text.size == t->told.text.size);
    LJF_CHECK(memcmp(text.data, t->told.text.data, text.size) == 0);
  }
  ljt_bytes_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static run whole, pieces;
  /* The older formats have a target of their own. */
  if (size < 4 || data[3] != 4) return 0;
  decode(&whole, data, size, size);
  LJF_CHECK(whole.status == LJP_END || whole.status == LJP_E_MALFORMED ||
            whole.status == LJP_E_TRUNCATED ||
            whole.status == LJP_E_UNSUPPORTED);
  decode(&pieces, data, size, size < 4096 ? 1 : 61);
  same(&whole, &pieces);
  ljt_told_free(&pieces.told);
  decode(&pieces, data, size, 0);
  same(&whole, &pieces);
  ljt_told_free(&pieces.told);
  compare(&whole, data, size);
  ljt_told_free(&whole.told);
  return 0;
}
