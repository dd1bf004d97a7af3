/*
** fuzz_api.c - sequences of public calls with hostile arguments: NULL where it
** is allowed, lengths that cannot be, ids never given, calls after an error,
** after the end, from within the sink; on all objects of both headers.
** longest: 512
*/
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"
#include "parse_help.h"
#include "ljtsink.h"

/* What the input says, a few bytes at a time; 0 at its end. */
typedef struct ljf_in {
  const uint8_t *p, *end;
} ljf_in;

static unsigned ljf_byte(ljf_in *in)
{
  return in->p < in->end ? *in->p++ : 0;
}

/* Small numbers, borders, and any. */
static uint64_t ljf_number(ljf_in *in)
{
  static const uint64_t border[] = {
    0, 1, 2, 63, 64, 255, 4095, 4096, 65536, UINT32_MAX,
    UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX
  };
  unsigned c = ljf_byte(in);
  uint64_t v = 0;
  int i;
  if (c < 128) return c % 24;
  if (c < 224) return border[c % (sizeof(border) / sizeof(border[0]))];
  for (i = 0; i < 8; i++) v = v << 8 | ljf_byte(in);
  return v;
}

/* Bytes of the input itself as a string; NULL with size 0 at times. */
static const char *ljf_string(ljf_in *in, size_t *size)
{
  const char *s = (const char *)in->p;
  *size = ljf_byte(in) % 32;
  if (*size > (size_t)(in->end - in->p)) *size = (size_t)(in->end - in->p);
  if (*size == 0) return ljf_byte(in) & 1 ? NULL : "";
  s = (const char *)in->p;
  in->p += *size;
  return s;
}

/* -- Writer ------------------------------------------------------------- */

static int ljf_writer_status(ljm_status st)
{
  return st >= LJM_OK && st <= LJM_E_NOTRUNNING;
}

#define LJF_W(call) LJF_CHECK(ljf_writer_status(call))

/* The sink calls back: refused, and nothing breaks. */
static void ljf_call_back3(void *arg)
{
  ljm_encoder *e = (ljm_encoder *)arg;
  ljm_where w = {LJM_SOURCE_C, 1, 2};
  LJF_CHECK(ljm_encoder_alloc(e, &w, 64, 1) != LJM_OK);
  LJF_CHECK(ljm_encoder_flush(e) != LJM_OK);
  LJF_CHECK(ljm_encoder_finish(e) == LJM_E_RUNNING);
  ljm_encoder_free(e);
}

static void ljf_call_back4(void *arg)
{
  ljm_encoder4 *e = (ljm_encoder4 *)arg;
  LJF_CHECK(ljm_encoder4_string(e, "new to it", 9) == 0);
  LJF_CHECK(ljm_encoder4_alloc(e, 1, 64, 1) != LJM_OK);
  LJF_CHECK(ljm_encoder4_finish(e, LJM_END_STOPPED, 0) == LJM_E_RUNNING);
  ljm_encoder4_free(e);
}

static void ljf_writer_options(ljf_in *in, ljm_encoder_options *o,
                               ljt_heap *heap)
{
  memset(o, 0, sizeof(*o));
  memset(heap, 0, sizeof(*heap));
  if (ljf_byte(in) & 1) o->buffer_size = 4096;
  if (ljf_byte(in) > 240) o->buffer_size = (size_t)ljf_number(in);
  if (ljf_byte(in) > 240) o->name_limit = (size_t)ljf_number(in);
  o->flush_ns = ljf_byte(in) & 1 ? UINT64_MAX : 1;
  if (ljf_byte(in) > 240) o->max_memory = ljf_number(in);
  if (ljf_byte(in) > 200) o->max_stacks = (uint32_t)ljf_number(in);
  o->alloc.alloc = ljt_heap_alloc;
  o->alloc.realloc = ljt_heap_realloc;
  o->alloc.free = ljt_heap_free;
  o->alloc.user = heap;
  if (ljf_byte(in) > 250) o->alloc.free = NULL; /* Partly filled. */
  if (ljf_byte(in) > 200) heap->fail_at = 1 + ljf_byte(in) % 24;
}

static void ljf_bad_sink(ljf_in *in, ljt_sink *s)
{
  static const ptrdiff_t results[] = {0, -1, -4, -11, -28, LJT_SHORT};
  if (ljf_byte(in) < 160) return;
  s->fail_at = 1 + ljf_byte(in) % 6;
  s->fail_count = ljf_byte(in) % 3;
  s->result = results[ljf_byte(in) % 6];
  s->close_result = ljf_byte(in) & 1 ? 5 : 0;
}

static void ljf_encoder3_call(ljm_encoder *e, ljf_in *in)
{
  ljm_where w;
  const char *s;
  size_t n;
  w.source = (ljm_source)(ljf_byte(in) % 6);
  w.address = ljf_number(in);
  w.line = ljf_number(in);
  switch (ljf_byte(in) % 10) {
  case 0:
    s = ljf_string(in, &n);
    LJF_W(ljm_encoder_proto(e, w.address, s, n, w.line));
    break;
  case 1:
    s = ljf_string(in, &n);
    LJF_W(ljm_encoder_csym(e, w.address, s, n));
    break;
  case 2: LJF_W(ljm_encoder_trace(e, w.address, w.line, 1)); break;
  case 3: LJF_W(ljm_encoder_open(e)); break;
  case 4: LJF_W(ljm_encoder_flush(e)); break;
  case 5: LJF_W(ljm_encoder_dealloc(e, &w, ljf_number(in), 1)); break;
  case 6:
    LJF_W(ljm_encoder_realloc(e, &w, ljf_number(in), ljf_number(in),
                              ljf_number(in), ljf_number(in)));
    break;
  case 7:
    LJF_CHECK(ljm_encoder_alloc(e, NULL, 1, 1) != LJM_OK);
    LJF_CHECK(ljm_encoder_proto(e, 1, NULL, 1, 1) != LJM_OK);
    LJF_CHECK(ljm_encoder_csym(e, 1, NULL, SIZE_MAX) != LJM_OK);
    break;
  case 8: if (ljf_byte(in) > 200) LJF_W(ljm_encoder_finish(e)); break;
  default: LJF_W(ljm_encoder_alloc(e, &w, ljf_number(in), ljf_number(in)));
  }
}

static void ljf_encoder3(ljf_in *in)
{
  ljm_encoder_options o;
  ljm_encoder e;
  ljt_heap heap;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljf_writer_options(in, &o, &heap);
  ljf_bad_sink(in, &s);
  if (ljf_byte(in) > 200) {
    s.inside = ljf_call_back3;
    s.arg = &e;
  }
  LJF_CHECK(ljm_encoder_init(NULL, &sink, &o) == LJM_E_ARG);
  LJF_CHECK(ljm_encoder_init(&e, NULL, &o) == LJM_E_ARG);
  LJF_CHECK(ljm_encoder_finish(NULL) == LJM_E_ARG);
  ljm_encoder_free(NULL);
  if (ljm_encoder_init(&e, &sink, &o) == LJM_OK) {
    while (in->p < in->end) ljf_encoder3_call(&e, in);
    if (ljf_byte(in) & 1) LJF_W(ljm_encoder_finish(&e));
    ljm_encoder_free(&e);
    ljm_encoder_free(&e);
    LJF_CHECK(s.closed == 1);
  }
  LJF_CHECK(heap.live_count == 0 && heap.bad_frees == 0);
  ljt_sink_free(&s);
}

static void ljf_define4(ljm_encoder4 *e, ljf_in *in)
{
  uint32_t a = (uint32_t)ljf_number(in), b = (uint32_t)ljf_number(in);
  uint64_t n = ljf_number(in);
  ljm_module m;
  const char *s;
  size_t size;
  s = ljf_string(in, &size);
  switch (ljf_byte(in) % 13) {
  case 0: (void)ljm_encoder4_string(e, s, size); break;
  case 1:
    memset(&m, 0, sizeof(m));
    m.path = a;
    m.build_id = s;
    m.build_id_size = s ? size : 0;
    m.base = n;
    m.bias = 0 - n;
    (void)ljm_encoder4_module(e, &m);
    break;
  case 2: (void)ljm_encoder4_csym(e, a, n, n, b); break;
  case 3: (void)ljm_encoder4_function(e, a, n, b); break;
  case 4: (void)ljm_encoder4_frame_lua(e, a, n); break;
  case 5: (void)ljm_encoder4_frame_c(e, n, a, b); break;
  case 6: (void)ljm_encoder4_frame_vm(e, (ljm_state)(a % 12)); break;
  case 7: (void)ljm_encoder4_frame_jit(e, n, a); break;
  case 8: (void)ljm_encoder4_frame_fast(e, a); break;
  case 9: (void)ljm_encoder4_frame_gap(e, (ljm_gap)(a % 8)); break;
  case 10: (void)ljm_encoder4_stack(e, a, b); break;
  case 11:
    (void)ljm_encoder4_site(e, a, (ljm_state)(b % 12), (ljm_object)(n % 20));
    break;
  default: (void)ljm_encoder4_trace(e, n, a);
  }
}

static void ljf_encoder4_call(ljm_encoder4 *e, ljf_in *in)
{
  uint32_t id = (uint32_t)ljf_number(in);
  uint64_t a = ljf_number(in), b = ljf_number(in);
  ljm_mark mark = {LJM_MARK_PROGRAM, 0, 0, 0, 0};
  mark.label = id;
  mark.rss = a;
  switch (ljf_byte(in) % 14) {
  case 0: LJF_W(ljm_encoder4_alloc(e, id, a, b)); break;
  case 1: LJF_W(ljm_encoder4_dealloc(e, id, a, b)); break;
  case 2: LJF_W(ljm_encoder4_realloc(e, id, a, b, b, a)); break;
  case 3: LJF_W(ljm_encoder4_alloc_failed(e, id, a)); break;
  case 4: LJF_W(ljm_encoder4_realloc_failed(e, id, a, b, b)); break;
  case 5: LJF_W(ljm_encoder4_alloc_sample(e, id, a, b, a)); break;
  case 6: LJF_W(ljm_encoder4_realloc_sample(e, id, a, b, b, a, b)); break;
  case 7: LJF_W(ljm_encoder4_mark(e, &mark)); break;
  case 8: LJF_W(ljm_encoder4_loaded(e, id)); break;
  case 9: LJF_W(ljm_encoder4_dropped(e, a, b)); break;
  case 10:
    if (b > 1000) LJF_W(ljm_encoder4_live(e, (ljm_object)(a % 20), b));
    break;
  case 11: LJF_W(ljm_encoder4_flush(e)); break;
  case 12:
    if (b > UINT32_MAX) LJF_W(ljm_encoder4_finish(e, LJM_END_EXIT, a));
    break;
  default: ljf_define4(e, in);
  }
}

static void ljf_encoder4(ljf_in *in)
{
  static const ljm_meta meta[] = {{"a", "b"}};
  ljm_encoder_options o;
  ljm_encoder4 e;
  ljt_heap heap;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljf_writer_options(in, &o, &heap);
  ljf_bad_sink(in, &s);
  if (ljf_byte(in) > 200) {
    s.inside = ljf_call_back4;
    s.arg = &e;
  }
  LJF_CHECK(ljm_encoder4_init(NULL, &sink, &o, NULL, 0) == LJM_E_ARG);
  LJF_CHECK(ljm_encoder4_finish(NULL, LJM_END_EXIT, 0) == LJM_E_ARG);
  ljm_encoder4_free(NULL);
  if (ljm_encoder4_init(&e, &sink, &o, meta, ljf_byte(in) & 1) == LJM_OK) {
    while (in->p < in->end) ljf_encoder4_call(&e, in);
    if (ljf_byte(in) & 1) LJF_W(ljm_encoder4_finish(&e, LJM_END_CLOSED, 1));
    ljm_encoder4_free(&e);
    ljm_encoder4_free(&e);
    LJF_CHECK(s.closed == 1);
  }
  LJF_CHECK(heap.live_count == 0 && heap.bad_frees == 0);
  ljt_sink_free(&s);
}

static void ljf_image(ljf_in *in)
{
  ljm_image img;
  ljm_symbol sym;
  ljm_reader none = {NULL, NULL, 64};
  ljm_elf_limits lim;
  ljm_status st;
  memset(&lim, 0, sizeof(lim));
  lim.memory_size = ljf_number(in);
  lim.symbol_count = ljf_number(in);
  LJF_CHECK(ljm_image_open(&img, NULL, NULL, &lim) == LJM_E_ARG);
  ljm_image_free(&img);
  LJF_CHECK(ljm_image_open(&img, &none, NULL, NULL) == LJM_E_ARG);
  LJF_CHECK(ljm_image_open_path(&img, NULL, NULL, NULL) == LJM_E_ARG);
  st = ljm_image_open_memory(&img, in->p, (size_t)(in->end - in->p), NULL,
                             &lim);
  LJF_W(st);
  LJF_CHECK(ljm_image_symbol(&img, img.count, &sym) == LJM_E_ARG);
  LJF_CHECK(ljm_image_symbol(&img, SIZE_MAX, &sym) == LJM_E_ARG);
  LJF_W(ljm_image_find(&img, ljf_number(in), &sym));
  ljm_image_free(&img);
  ljm_image_free(&img);
}

/* -- Parser ------------------------------------------------------------- */

static void ljf_any_options(ljf_in *in, ljp_options *o, ljt_heap *heap)
{
  *o = ljf_options(heap);
  o->limits.memory = ljf_number(in);
  o->limits.string = ljf_number(in);
  o->limits.records = ljf_number(in);
  o->limits.symbols = ljf_number(in);
  o->limits.sites = ljf_number(in);
  o->limits.live = ljf_number(in);
  o->limits.hold = ljf_number(in);
  o->model = ljf_byte(in) & 1 ? LJP_MODEL_CLASSIC : LJP_MODEL_TRUE;
  o->trace_layout = (ljp_trace_layout)(ljf_byte(in) % 3);
  if (ljf_byte(in) > 250) o->allocator.realloc = NULL;
  if (ljf_byte(in) > 200) heap->fail_at = 1 + ljf_byte(in) % 24;
}

static void ljf_any_event(ljf_in *in, ljp_event *ev)
{
  memset(ev, 0, sizeof(*ev));
  ev->kind = (uint8_t)(1 + ljf_byte(in) % 5);
  ev->source = (uint8_t)(1 + ljf_byte(in) % 5);
  ev->id = ljf_number(in);
  ev->line = ljf_number(in);
  if (ev->kind != LJP_EVENT_FREE) {
    ev->addr = ev->kind > LJP_EVENT_REALLOC ? 0 : ljf_number(in);
    ev->size = ljf_number(in);
  }
  if (ev->kind != LJP_EVENT_ALLOC) {
    ev->old_addr = ljf_number(in);
    ev->old_size = ljf_number(in);
  }
  if (ljf_byte(in) > 200 && ev->kind != LJP_EVENT_FREE)
    ev->weight = ljf_number(in);
}

static void ljf_any_record(ljf_in *in, ljp_record *r, uint64_t *n)
{
  static const uint8_t counts[] = {0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 3, 4, 2, 3, 2,
                                   6, 1, 1, 2, 1, 13, 2};
  size_t i;
  memset(r, 0, sizeof(*r));
  r->kind = (ljp_record_kind)(1 + ljf_byte(in) % 21);
  r->id = ljf_number(in);
  r->addr = ljf_number(in);
  r->line = ljf_number(in);
  r->mcode = ljf_number(in);
  r->name = ljf_string(in, &r->name_size);
  r->text = ljf_string(in, &r->text_size);
  r->n = n;
  r->n_count = counts[r->kind];
  for (i = 0; i < r->n_count; i++) n[i] = ljf_number(in);
  if (r->kind == LJP_RECORD_FRAME) n[0] %= 6;
  if (r->kind == LJP_RECORD_STACK && n[0] >= r->id) n[0] = 0;
}

static void ljf_parts(ljf_in *in)
{
  ljp_options o;
  ljt_heap heap;
  ljp_symbols *s = NULL;
  ljp_aggregate *a = NULL;
  ljp_label label;
  ljf_any_options(in, &o, &heap);
  LJF_CHECK(ljp_symbols_new(NULL, &o) == LJP_E_ARG);
  LJF_CHECK(ljp_aggregate_new(&a, NULL, &o) == LJP_E_ARG);
  if (ljp_symbols_new(&s, &o) == LJP_OK &&
      ljp_aggregate_new(&a, s, &o) == LJP_OK) {
    while (in->p < in->end) {
      uint64_t n[13], left = UINT64_MAX;
      size_t size, failed = 0;
      ljp_record r;
      ljp_event ev;
      ljp_block block;
      ljp_status st = LJP_OK;
      switch (ljf_byte(in) % 6) {
      case 0:
        ljf_any_record(in, &r, n);
        st = ljp_symbols_define(s, &r);
        break;
      case 1:
        st = ljp_symbols_resolve(s, (ljp_model)(ljf_byte(in) & 1),
                                 1 + ljf_byte(in) % 5, ljf_number(in),
                                 ljf_number(in), &label);
        break;
      case 2:
        (void)ljp_symbols_string(s, (uint32_t)ljf_number(in), &size);
        (void)ljp_symbols_alias(s, (uint32_t)ljf_number(in));
        (void)ljp_aggregate_find(a, ljf_number(in), &block);
        break;
      case 3:
        st = ljp_report(a, (ljp_format)(ljf_byte(in) % 5), NULL, ljf_swallow,
                        &left);
        if (st == LJP_E_ARG) st = LJP_OK; /* Not of this model. */
        break;
      default:
        ljf_any_event(in, &ev);
        st = ljp_aggregate_events(a, &ev, 1, &failed);
        LJF_CHECK(failed == 0);
      }
      LJF_CHECK(ljf_status_known(st));
    }
    if (o.model == LJP_MODEL_TRUE) (void)ljf_walk_results(a, s);
  }
  ljp_aggregate_free(a);
  ljp_symbols_free(s);
  ljf_all_freed(&heap);
}

static void ljf_profile_calls(ljf_in *in)
{
  ljp_options o;
  ljt_heap heap;
  ljp_profile *p;
  char text[256];
  ljp_error err;
  ljf_any_options(in, &o, &heap);
  LJF_CHECK(ljp_profile_new(NULL, &o) == LJP_E_ARG);
  if (ljp_profile_new(&p, &o) == LJP_OK) {
    while (in->p < in->end) {
      uint64_t left = ljf_number(in);
      size_t size = ljf_byte(in);
      ljp_tree *t;
      switch (ljf_byte(in) % 5) {
      case 0: LJF_CHECK(ljf_status_known(ljp_profile_finish(p))); break;
      case 1:
        (void)ljp_profile_report(p, (ljp_format)(ljf_byte(in) % 5), NULL,
                                 ljf_swallow, &left);
        break;
      case 2:
        if (ljp_profile_tree(p, NULL, &t) == LJP_OK) ljp_tree_free(t);
        break;
      default:
        if (size > (size_t)(in->end - in->p)) size = (size_t)(in->end - in->p);
        LJF_CHECK(ljf_status_known(ljp_profile_feed(p, in->p, size)));
        in->p += size;
      }
    }
    err = *ljp_profile_error(p);
    (void)ljp_error_text(&err, text, sizeof(text));
    (void)ljp_error_text(&err, text, 1);
    LJF_CHECK(text[0] == 0);
    ljp_profile_free(p);
  }
  ljp_profile_free(NULL);
  ljf_all_freed(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  ljf_in in;
  if (size == 0) return 0;
  in.p = data + 1;
  in.end = data + size;
  LJF_CHECK(ljm_status_text((ljm_status)data[0]) != NULL);
  LJF_CHECK(ljp_status_text((ljp_status)data[0]) != NULL);
  switch (data[0] % 5) {
  case 0: ljf_encoder3(&in); break;
  case 1: ljf_encoder4(&in); break;
  case 2: ljf_image(&in); break;
  case 3: ljf_parts(&in); break;
  default: ljf_profile_calls(&in);
  }
  return 0;
}
