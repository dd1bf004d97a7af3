/*
** fuzz_lines.c - every line report of a stream in every unit and order:
** nothing for a terminal to act upon, JSON that is JSON, the same in any
** split, no leak where memory or the output ends.
** dict: stream
*/
#define LJP_IMPLEMENTATION
#include "mutate_stream.h"
#include "parse_help.h"
#include "ljtjson.h"
#include "ljtwalk.h"

typedef struct ljf_page {
  char *p;
  size_t size, cap;
} ljf_page;

static int ljf_gather(void *user, const void *p, size_t size)
{
  ljf_page *page = (ljf_page *)user;
  if (size > page->cap - page->size) {
    page->cap = (page->size + size) * 2;
    page->p = (char *)realloc(page->p, page->cap + 1);
    LJF_CHECK(page->p != NULL);
  }
  memcpy(page->p + page->size, p, size);
  page->size += size;
  page->p[page->size] = 0;
  return 0;
}

static ljp_profile *ljf_parse(const uint8_t *data, size_t size, size_t most,
                              ljp_options *o)
{
  ljp_profile *p;
  size_t at, n;
  LJF_CHECK(ljp_profile_new(&p, o) == LJP_OK);
  for (at = 0; at < size; at += n) {
    n = most < size - at ? most : size - at;
    if (ljp_profile_feed(p, data + at, n) > LJP_MORE) break;
  }
  ljp_profile_finish(p);
  ljt_check_profile(p);
  return p;
}

/* The JSON report, in one unit and order. */
static void ljf_json(ljp_profile *p, unsigned pick)
{
  ljf_page page = {NULL, 0, 0};
  ljp_report_options o;
  memset(&o, 0, sizeof(o));
  o.by = (ljp_by)(pick & 3);
  o.sort = (ljp_sort)(pick >> 2 & 3);
  o.limit = pick >> 4 & 3;
  o.leak_only = pick >> 6 & 1;
  LJF_CHECK(ljp_profile_report(p, LJP_JSON, &o, ljf_gather, &page) ==
            LJP_OK);
  LJF_CHECK(page.size == strlen(page.p) && ljt_json_valid(page.p));
  free(page.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t hash = ljf_hash(data, size), left = hash % 4000;
  unsigned model;
  for (model = 0; model < 2; model++) {
    ljt_heap heap;
    ljp_options o = ljt_heap_options(&heap);
    ljp_profile *a, *b;
    ljp_format format = model ? LJP_CLASSIC : LJP_TEXT;
    ljp_status st;
    o.model = model ? LJP_MODEL_CLASSIC : LJP_MODEL_TRUE;
    o.limits.memory = 8u << 20;
    a = ljf_parse(data, size, SIZE_MAX, &o);
    b = ljf_parse(data, size, (size_t)(1 + hash % 97), &o);
    LJF_CHECK(ljt_check_reports(a) == ljt_check_reports(b));
    if (!model) ljf_json(a, (unsigned)(hash >> 8) & 127);
    st = ljp_profile_report(b, format, NULL, ljf_swallow, &left);
    LJF_CHECK(st == LJP_OK || st == LJP_E_IO);
    heap.fail_at = heap.calls + 1 + hash % 12;
    left = UINT64_MAX;
    st = ljp_profile_report(b, format, NULL, ljf_swallow, &left);
    LJF_CHECK(st == LJP_OK || st == LJP_E_NOMEM);
    heap.fail_at = 0;
    ljp_profile_free(a);
    ljp_profile_free(b);
    ljf_all_freed(&heap);
  }
  return 0;
}
