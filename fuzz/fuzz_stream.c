/*
** fuzz_stream.c - a whole stream of any version through the decoder and the
** aggregate: whole, in pieces, byte by byte, cut, refused half-way, with
** little memory; then the reports.
** longest: 2048
** compares: off
** entropic: off
*/
#include "mutate_stream.h"
#include "parse_help.h"

LJF_UNCOVERED_BEGIN

static ljf_log log_whole, log_other;

/* One way of feeding, into `log`; memory is counted. */
static ljp_status ljf_feed(ljf_log *log, const uint8_t *data, size_t size,
                           ljf_split split, uint64_t refuse_at, ljt_rng *rng,
                           ljp_error *err)
{
  ljt_heap heap;
  ljp_options o = ljt_heap_options(&heap);
  ljp_handler h = ljf_handler(log);
  ljp_decoder *d;
  ljp_status st;
  log->refuse_at = refuse_at;
  LJF_CHECK(ljp_decoder_new(&d, &h, &o) == LJP_OK);
  st = ljf_decode(d, log, data, size, split, rng, err);
  ljp_decoder_free(d);
  ljf_all_freed(&heap);
  return st;
}

static ljp_status ljf_other(const uint8_t *data, size_t size, ljf_split split,
                            uint64_t refuse_at, ljt_rng *rng, ljp_error *err)
{
  return ljf_feed(&log_other, data, size, split, refuse_at, rng, err);
}

/* In pieces it is what it is as a whole. */
static void ljf_split_alike(const uint8_t *data, size_t size, ljf_split split,
                            ljt_rng *rng, ljp_status want,
                            const ljp_error *whole)
{
  ljp_error other;
  LJF_CHECK(ljf_other(data, size, split, 0, rng, &other) == want);
  ljf_same_error(whole, &other);
  LJF_CHECK(log_whole.count == log_other.count);
  ljf_is_prefix(&log_other, log_other.count, &log_whole);
}

static void ljf_decoder(const uint8_t *data, size_t size, ljt_rng *rng)
{
  ljp_error whole, other;
  ljp_status st = ljf_feed(&log_whole, data, size, LJF_WHOLE, 0, rng, &whole);
  size_t cut = size ? (size_t)ljt_below(rng, size) : 0;
  ljf_split_alike(data, size, LJF_BYTES, rng, st, &whole);
  /* A longer one is in such pieces there, before and behind the window. */
  if (size <= LJF_WINDOW)
    ljf_split_alike(data, size, LJF_PIECES, rng, st, &whole);
  /* What finish says of a cut stream of format 4 is about what is lost. */
  (void)ljf_other(data, cut, LJF_WHOLE, 0, rng, &other);
  ljf_is_prefix(&log_other, log_other.fed, &log_whole);
  if (!log_whole.count) return;
  /* What the handler refuses is the end. */
  cut = 1 + (size_t)ljt_below(rng, log_whole.count);
  LJF_CHECK(ljf_other(data, size, LJF_WHOLE, cut, rng, &other) == LJP_E_IO);
  LJF_CHECK(log_other.count == cut - 1);
  ljf_is_prefix(&log_other, cut - 1, &log_whole);
}

static void ljf_reports(ljp_profile *p, ljp_format format, uint64_t room)
{
  ljp_report_options ro;
  uint64_t left = room;
  ljp_status st;
  memset(&ro, 0, sizeof(ro));
  st = ljp_profile_report(p, format, &ro, ljf_swallow, &left);
  LJF_CHECK(st == LJP_OK || (st == LJP_E_IO && room < UINT64_MAX) ||
            st == LJP_E_LIMIT || st == LJP_E_NOMEM);
}

/* The whole way, with limits of memory and of each kind. */
static void ljf_profile(const uint8_t *data, size_t size, ljp_model model,
                        ljt_rng *rng)
{
  ljt_heap heap;
  ljp_options o = ljt_heap_options(&heap);
  ljp_profile *p;
  ljp_status st;
  o.model = model;
  o.limits.memory = ljt_below(rng, 2) ? 1 << 20 : 2000 + ljt_below(rng, 60000);
  o.limits.string = ljt_below(rng, 4) ? 0 : 1 + ljt_below(rng, 16);
  o.limits.records = ljt_below(rng, 4) ? 0 : 1 + ljt_below(rng, 64);
  o.limits.live = ljt_below(rng, 4) ? 0 : 1 + ljt_below(rng, 16);
  o.limits.sites = ljt_below(rng, 4) ? 0 : 1 + ljt_below(rng, 16);
  o.limits.symbols = ljt_below(rng, 4) ? 0 : 1 + ljt_below(rng, 8);
  if (ljt_below(rng, 8) == 0) heap.fail_at = 1 + ljt_below(rng, 40);
  st = ljp_profile_new(&p, &o);
  LJF_CHECK(st == LJP_OK || st == LJP_E_LIMIT || st == LJP_E_NOMEM);
  if (st == LJP_OK) {
    st = ljp_profile_feed(p, data, size);
    LJF_CHECK(ljf_status_known(st));
    st = ljp_profile_finish(p);
    LJF_CHECK(ljf_status_known(st));
    LJF_CHECK(st == LJP_END || ljp_profile_error(p)->status == st);
    LJF_CHECK(ljp_profile_peak(p) <= o.limits.memory);
    LJF_CHECK(heap.live_size <= o.limits.memory);
    if (model == LJP_MODEL_TRUE)
      (void)ljf_walk_results(ljp_profile_aggregate(p),
                             ljp_profile_symbols(p));
    if (ljt_below(rng, 4) == 0)
      ljf_reports(p, model == LJP_MODEL_TRUE ? LJP_TEXT : LJP_CLASSIC,
                  ljt_below(rng, 4) ? UINT64_MAX : 100);
    ljp_profile_free(p);
  }
  ljf_all_freed(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  ljt_rng rng = ljt_rng_make(ljf_hash(data, size));
  ljf_decoder(data, size, &rng);
  ljf_profile(data, size, LJP_MODEL_TRUE, &rng);
  ljf_profile(data, size, LJP_MODEL_CLASSIC, &rng);
  return 0;
}

LJF_UNCOVERED_END
