/*
** fuzz_report.c - any stream into a call tree, and that into every report of
** call paths: sums hold, JSON is JSON that may stand in a page, protobuf is
** protobuf, folding loses nothing, what is compared with itself has not
** changed, all with little memory and with a full disk.
** dict: stream
*/
#include "mutate_stream.h"
#include "parse_help.h"
#include "ljtjson.h"
#include "ljttree.h"
#include "ljtpprof.h"

static ljt_text text;

static ljp_profile *ljf_read(const uint8_t *data, size_t size,
                             const ljp_options *o)
{
  ljp_profile *p;
  ljp_status st = ljp_profile_new(&p, o);
  if (st != LJP_OK) {
    LJF_CHECK(st == LJP_E_NOMEM || st == LJP_E_LIMIT);
    return NULL;
  }
  (void)ljp_profile_feed(p, data, size);
  LJF_CHECK(ljf_status_known(ljp_profile_finish(p)));
  return p;
}

static void ljf_json(ljp_tree *t, ljp_status (*write)(ljp_tree *, ljp_write,
                                                      void *))
{
  text.size = 0;
  LJF_CHECK(write(t, ljt_text_write, &text) == LJP_OK);
  LJF_CHECK(ljt_json_valid(text.data));
  LJF_CHECK(strpbrk(text.data, "<>&") == NULL);
}

/* Folded lines of a metric add up to the tree's sum. */
static void ljf_folded(ljp_tree *t, ljp_metric m)
{
  uint64_t sum = 0;
  char *s, *end;
  text.size = 0;
  LJF_CHECK(ljp_tree_folded(t, m, ljt_text_write, &text) == LJP_OK);
  for (s = text.data; text.size && *s; s = end + 1) {
    end = strchr(s, '\n');
    LJF_CHECK(end != NULL);
    *end = 0;
    LJF_CHECK(strrchr(s, ' ') != NULL);
    sum += strtoull(strrchr(s, ' '), NULL, 10);
  }
  LJF_CHECK(sum == ljt_sum(t, m));
}

/* Sums stop at their end, so they are compared where none is near it. */
static int ljf_small(const ljp_tree *t)
{
  uint32_t i;
  unsigned m;
  for (i = 0; i < ljp_tree_path_count(t); i++)
    for (m = 0; m < LJP_METRIC_COUNT; m++)
      if (ljp_tree_path_at(t, i)->self[m] >> 40) return 0;
  return 1;
}

/* pprof's file adds up to the tree's sums, less those it is compared with, and
** names nothing that is not in it. */
static void ljf_pprof(ljp_tree *t)
{
  static const ljp_metric shown[] = {LJP_ALLOC_COUNT, LJP_ALLOC_SIZE,
                                     LJP_INUSE_COUNT, LJP_INUSE_SIZE};
  uint64_t places = ljp_tree_place_count(t);
  ljt_pprof r;
  uint32_t i, k;
  text.size = 0;
  LJF_CHECK(ljp_tree_pprof(t, ljt_text_write, &text) == LJP_OK);
  ljt_pprof_read(&r, &text, places);
  LJF_CHECK(r.bad == 0 && r.type_count == 4);
  LJF_CHECK(r.places == places && r.functions == places);
  for (i = 0; i < 4; i++) {
    uint64_t changed = 0;
    for (k = 0; k < ljp_tree_path_count(t); k++)
      changed += ljp_tree_path_at(t, k)->self[shown[i]] -
                 ljp_tree_old(t, k, shown[i]);
    LJF_CHECK(r.sum[i] == changed);
  }
}

static void ljf_tree(const ljp_profile *p, ljt_rng *rng)
{
  ljp_tree_options how;
  ljp_tree *t, *old;
  ljp_budget b;
  ljp_budget_result r;
  uint64_t before[LJP_METRIC_COUNT];
  unsigned m;
  memset(&how, 0, sizeof(how));
  how.show_source = ljt_below(rng, 2) == 0;
  how.stable_names = ljt_below(rng, 2) == 0;
  LJF_CHECK(ljp_profile_tree(p, &how, &t) == LJP_OK);
  LJF_CHECK(ljp_profile_tree(p, &how, &old) == LJP_OK);
  for (m = 0; m < LJP_METRIC_COUNT; m++)
    before[m] = ljt_sum(t, (ljp_metric)m);
  memset(&b, 0, sizeof(b));
  b.metric = (ljp_metric)ljt_below(rng, LJP_METRIC_COUNT);
  b.most = before[b.metric];
  LJF_CHECK(ljp_tree_budget(t, &b, &r) == LJP_OK);
  LJF_CHECK(!ljf_small(t) || (r.n == before[b.metric] && !r.over));
  if (ljt_below(rng, 2)) {
    size_t paths = ljp_tree_path_count(t);
    LJF_CHECK(ljp_tree_diff(t, old) == LJP_OK);
    LJF_CHECK(ljp_tree_path_count(t) == paths);
  }
  LJF_CHECK(ljp_tree_prune(t, ljt_below(rng, 4) * 10000,
                           1 + (size_t)ljt_below(rng, 64)) == LJP_OK);
  if (ljf_small(t))
    for (m = 0; m < LJP_METRIC_COUNT; m++)
      LJF_CHECK(ljt_sum(t, (ljp_metric)m) == before[m]);
  ljf_folded(t, (ljp_metric)ljt_below(rng, LJP_METRIC_COUNT));
  ljf_json(t, ljp_tree_speedscope);
  ljf_json(t, ljp_tree_model);
  ljf_pprof(t);
  ljp_tree_free(t);
  ljp_tree_free(old);
}

/* Memory that ends, a disk that is full. */
static void ljf_scarce(const uint8_t *data, size_t size, ljt_rng *rng)
{
  ljt_heap heap;
  ljp_options o = ljt_heap_options(&heap);
  ljp_profile *p;
  ljp_tree *t = NULL;
  ljp_status st;
  if (ljt_below(rng, 2)) o.limits.memory = 40000 + ljt_below(rng, 60000);
  o.temp_within = (unsigned)ljt_below(rng, 300);
  o.lifetimes = ljt_below(rng, 2) == 0;
  o.from_event = ljt_below(rng, 4);
  o.to_event = ljt_below(rng, 8);
  p = ljf_read(data, size, &o);
  if (p) {
    if (ljt_below(rng, 2)) heap.fail_at = heap.calls + 1 + ljt_below(rng, 60);
    st = ljp_profile_tree(p, NULL, &t);
    if (st == LJP_OK) st = ljp_tree_prune(t, 100, 1000);
    text.size = 0;
    text.fail_at = text.calls + 1 + ljt_below(rng, 4);
    if (st == LJP_OK) st = ljp_tree_model(t, ljt_text_write, &text);
    text.fail_at = 0;
    LJF_CHECK(st == LJP_OK || st == LJP_E_IO || st == LJP_E_NOMEM ||
              st == LJP_E_LIMIT);
    ljp_tree_free(t);
    ljp_profile_free(p);
  }
  ljf_all_freed(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  ljt_rng rng = ljt_rng_make(ljf_hash(data, size));
  ljt_heap heap;
  ljp_options o = ljt_heap_options(&heap);
  ljp_profile *p = ljf_read(data, size, &o);
  LJF_CHECK(p != NULL);
  ljf_tree(p, &rng);
  ljp_profile_free(p);
  ljf_all_freed(&heap);
  ljf_scarce(data, size, &rng);
  return 0;
}
