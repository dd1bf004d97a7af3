/*
** fuzz_api.c - sequences of public calls with hostile arguments: NULL where it
** is allowed, lengths that cannot be, ids never given, calls after an error,
** after the end, from within the sink; on all objects of both headers. Only
** ljm_recorder_*, which a patched LuaJIT has, are not called.
** longest: 512
*/
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

/* What a writer wrote, whatever was asked of it, is no malformed stream. */
static void ljf_can_be_read(const ljt_sink *s)
{
  ljp_handler h = {NULL, NULL, NULL};
  ljp_decoder *d = NULL;
  ljp_status st;
  LJF_CHECK(ljp_decoder_new(&d, &h, NULL) == LJP_OK);
  (void)ljp_decoder_feed(d, s->data, s->size);
  st = ljp_decoder_finish(d);
  LJF_CHECK(st == LJP_END || st == LJP_E_TRUNCATED);
  ljp_decoder_free(d);
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
    ljf_can_be_read(&s);
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
  mark.reason = (ljm_mark_reason)(id % 6);
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
  case 8:
    LJF_W(a & 1 ? ljm_encoder4_loaded(e, id) : ljm_encoder4_unloaded(e, id));
    break;
  case 9: LJF_W(ljm_encoder4_dropped(e, a, b)); break;
  case 10:
    if (b > 1000) LJF_W(ljm_encoder4_live(e, (ljm_object)(a % 20), b));
    break;
  case 11: LJF_W(ljm_encoder4_flush(e)); break;
  case 12:
    if (b > UINT32_MAX)
      LJF_W(ljm_encoder4_finish(e, (ljm_end_reason)(id % 8), a));
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
    ljf_can_be_read(&s);
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

/* Paths of the writer, none of which leaves a file behind. */
static void ljf_writer_file(ljf_in *in)
{
  static const char *const paths[] = {
    NULL, "", "%", "%x", "/dev/null", "/dev/full", "/", "/nowhere/%p%%",
    "/dev/null/%p"
  };
  ljm_allocator alloc;
  ljm_encoder e;
  ljm_error err;
  ljm_file f;
  ljm_sink sink;
  ljt_heap heap;
  ljm_status st;
  ljm_encoder_options o;
  ljf_writer_options(in, &o, &heap);
  alloc = o.alloc;
  LJF_CHECK(ljm_file_open(NULL, &sink, "/dev/null", NULL, &err) == LJM_E_ARG);
  LJF_CHECK(ljm_file_open(&f, NULL, "/dev/null", NULL, &err) == LJM_E_ARG);
  st = ljm_file_open(&f, &sink, paths[ljf_byte(in) % 9], &alloc,
                     ljf_byte(in) & 1 ? &err : NULL);
  LJF_W(st);
  if (st == LJM_OK && ljm_encoder_init(&e, &sink, &o) == LJM_OK) {
    while (in->p < in->end) ljf_encoder3_call(&e, in);
    ljm_encoder_free(&e);
  } else if (st == LJM_OK) {
    LJF_CHECK(sink.close(sink.user) == 0);
  }
  LJF_CHECK(heap.live_count == 0 && heap.bad_frees == 0);
}

/* -- Resolver ----------------------------------------------------------- */

/* What is told of modules agrees with what is listed. */
typedef struct ljf_told {
  size_t loaded, unloaded;
} ljf_told;

static void ljf_on_module(void *user, const ljm_loaded_module *m)
{
  ljf_told *told = (ljf_told *)user;
  LJF_CHECK(m->id != 0 && m->path != NULL);
  if (m->loaded) told->loaded++;
  else told->unloaded++;
}

/* Reading a module's symbols takes long: seldom. */
static void ljf_module(ljm_resolver *r, ljf_in *in)
{
  size_t n = ljm_resolver_module_count(r), i = (size_t)ljf_number(in);
  const ljm_loaded_module *m = ljm_resolver_module(r, i);
  const ljm_image *img;
  ljm_symbol sym;
  LJF_CHECK((m != NULL) == (i < n));
  LJF_CHECK(ljm_resolver_module(r, n) == NULL);
  if (!m || ljf_byte(in) < 250) return;
  LJF_CHECK(m->id == i + 1);
  img = ljm_resolver_symbols(r, m);
  if (img && img->count)
    LJF_CHECK(ljm_image_symbol(img, img->count - 1, &sym) == LJM_OK);
}

static void ljf_resolver(ljf_in *in)
{
  ljm_resolver_options o;
  ljm_resolver r;
  ljm_location loc;
  ljt_heap heap;
  ljf_told told = {0, 0};
  memset(&o, 0, sizeof(o));
  memset(&heap, 0, sizeof(heap));
  o.alloc.alloc = ljt_heap_alloc;
  o.alloc.realloc = ljt_heap_realloc;
  o.alloc.free = ljt_heap_free;
  o.alloc.user = &heap;
  if (ljf_byte(in) > 250) o.alloc.free = NULL;
  if (ljf_byte(in) > 200) heap.fail_at = 1 + ljf_byte(in) % 24;
  if (ljf_byte(in) > 200) o.limits.module_count = ljf_number(in);
  o.limits.memory_size = ljf_byte(in) > 200 ? ljf_number(in) : 1 << 22;
  o.on_module = ljf_on_module;
  o.user = &told;
  if (ljm_resolver_init(&r, &o) == LJM_OK) {
    while (in->p < in->end) {
      uint64_t was = ljm_resolver_generation(&r);
      switch (ljf_byte(in) % 5) {
      case 0:
        ljm_resolver_mark_dirty(&r);
        LJF_CHECK(ljm_resolver_check(&r));
        break;
      case 1: LJF_W(ljm_resolver_refresh(&r)); break;
      case 2: ljf_module(&r, in); break;
      default: LJF_W(ljm_resolver_lookup(&r, ljf_number(in), &loc));
      }
      LJF_CHECK(ljm_resolver_generation(&r) >= was);
    }
    LJF_CHECK(told.loaded - told.unloaded <= ljm_resolver_module_count(&r));
    ljm_resolver_free(&r);
    ljm_resolver_free(&r);
  }
  LJF_CHECK(heap.live_count == 0 && heap.bad_frees == 0);
}

/* -- Arenas ------------------------------------------------------------- */

/* A block whose bytes say which it is. */
typedef struct ljf_piece_of {
  unsigned char *p;
  size_t size;
} ljf_piece_of;

static void ljf_fill(const ljf_piece_of *b, size_t i)
{
  LJF_CHECK((uintptr_t)b->p % sizeof(uint64_t) == 0);
  memset(b->p, (int)i + 1, b->size);
}

static void ljf_whole_block(const ljf_piece_of *b, size_t i, size_t size)
{
  size_t k;
  for (k = 0; k < size; k++) LJF_CHECK(b->p[k] == (unsigned char)(i + 1));
}

/* Both headers' arenas: no block meets another or leaves the buffer. */
static void ljf_arena(ljf_in *in)
{
  static uint64_t room[64];
  unsigned char *buf = (unsigned char *)room + ljf_byte(in) % 9;
  size_t size = (size_t)ljf_number(in) % (sizeof(room) - 8), i, k;
  ljf_piece_of b[8];
  ljp_arena parser;
  ljm_arena writer;
  ljm_allocator wa;
  ljp_allocator a;
  ljp_arena_init(&parser, buf, size, &a);
  if (ljf_byte(in) & 1) {
    ljm_arena_allocator(&wa, &writer, buf, size);
    a.alloc = wa.alloc;
    a.realloc = wa.realloc;
    a.free = wa.free;
    a.user = wa.user;
  }
  memset(b, 0, sizeof(b));
  while (in->p < in->end) {
    size_t want = (size_t)ljf_number(in);
    void *q;
    i = ljf_byte(in) % 8;
    if (want == 0 && b[i].p) {
      a.free(a.user, b[i].p, b[i].size);
      b[i].p = NULL;
    }
    if (want == 0) continue;
    q = b[i].p ? a.realloc(a.user, b[i].p, b[i].size, want)
               : a.alloc(a.user, want);
    if (q) {
      LJF_CHECK((unsigned char *)q >= buf && want <= size &&
                (size_t)((unsigned char *)q - buf) <= size - want);
      if (b[i].p) {
        b[i].p = (unsigned char *)q;
        ljf_whole_block(&b[i], i, want < b[i].size ? want : b[i].size);
      }
      b[i].p = (unsigned char *)q;
      b[i].size = want;
      ljf_fill(&b[i], i);
    }
    for (k = 0; k < 8; k++)
      if (b[k].p) ljf_whole_block(&b[k], k, b[k].size);
  }
}

/* -- Parser ------------------------------------------------------------- */

static void ljf_any_options(ljf_in *in, ljp_options *o, ljt_heap *heap)
{
  *o = ljt_heap_options(heap);
  o->limits.memory = ljf_number(in);
  o->limits.string = ljf_number(in);
  o->limits.records = ljf_number(in);
  o->limits.symbols = ljf_number(in);
  o->limits.sites = ljf_number(in);
  o->limits.live = ljf_number(in);
  o->limits.hold = ljf_number(in);
  o->model = ljf_byte(in) & 1 ? LJP_MODEL_CLASSIC : LJP_MODEL_TRUE;
  o->trace_layout = (ljp_trace_layout)(ljf_byte(in) % 3);
  o->temp_within = (unsigned)ljf_number(in);
  o->lifetimes = ljf_byte(in) & 1;
  if (ljf_byte(in) > 250) o->allocator.realloc = NULL;
  if (ljf_byte(in) > 200) heap->fail_at = 1 + ljf_byte(in) % 24;
}

static void ljf_any_window(ljf_in *in, ljp_options *o)
{
  unsigned bits = ljf_byte(in);
  if (bits & 1) o->from_event = ljf_number(in);
  if (bits & 2) o->to_event = ljf_number(in);
  if (bits & 4) o->from_time = ljf_number(in);
  if (bits & 8) o->to_time = ljf_number(in);
  if (bits & 16) o->from_mark = bits & 32 ? "" : "a";
  if (bits & 64) o->to_mark = bits & 32 ? "a" : "";
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

/* Questions of any kind. */
static void ljf_ask(ljf_in *in, const ljp_aggregate *a, const ljp_symbols *s)
{
  uint64_t count = 1, size = 1;
  unsigned class_ = (unsigned)ljf_number(in);
  ljp_label label;
  ljp_aggregate_lives(a, class_, &count, &size);
  if (class_ > 63) LJF_CHECK(count == 0 && size == 0);
  ljp_aggregate_lives(a, class_, NULL, NULL);
  LJF_CHECK(ljp_aggregate_limit(a) <= LJP_LIMIT_LIVE);
  (void)ljp_aggregate_table_size(a);
  ljp_symbols_site(s, ljf_number(in), &label);
  LJF_CHECK(label.kind <= LJP_LABEL_LOST);
  (void)ljp_symbols_epoch(s);
  (void)ljp_symbols_count(s);
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
        ljf_ask(in, a, s);
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
  ljf_any_window(in, &o);
  LJF_CHECK(ljp_profile_new(NULL, &o) == LJP_E_ARG);
  if (ljp_profile_new(&p, &o) == LJP_OK) {
    while (in->p < in->end) {
      uint64_t left = ljf_number(in);
      size_t size = ljf_byte(in);
      ljp_tree *t;
      switch (ljf_byte(in) % 6) {
      case 0: LJF_CHECK(ljf_status_known(ljp_profile_finish(p))); break;
      case 3:
        ljf_ask(in, ljp_profile_aggregate(p), ljp_profile_symbols(p));
        LJF_CHECK(o.limits.memory == 0 ||
                  ljp_profile_peak(p) <= o.limits.memory);
        if (!o.to_event && !o.to_time && !o.to_mark)
          LJF_CHECK(ljp_profile_window_ended(p));
        break;
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

static void ljf_decoder_calls(ljf_in *in)
{
  static ljf_log log;
  ljp_handler h = ljf_handler(&log);
  ljp_options o;
  ljt_heap heap;
  ljp_decoder *d = NULL;
  unsigned which = ljf_byte(in);
  ljf_any_options(in, &o, &heap);
  if (which & 1) h.on_events = NULL;
  if (which & 2) h.on_record = NULL;
  if (which & 4) log.refuse_at = 1 + which / 8;
  LJF_CHECK(ljp_decoder_new(NULL, &h, &o) == LJP_E_ARG);
  LJF_CHECK(ljp_decoder_new(&d, NULL, &o) == LJP_E_ARG && d == NULL);
  if (ljp_decoder_new(&d, &h, &o) == LJP_OK) {
    while (in->p < in->end) {
      size_t size = ljf_byte(in);
      ljp_status before = ljp_decoder_error(d)->status, st;
      uint64_t off = ljp_decoder_offset(d);
      if (size > (size_t)(in->end - in->p)) size = (size_t)(in->end - in->p);
      st = size ? ljp_decoder_feed(d, in->p, size)
         : ljf_byte(in) & 1 ? ljp_decoder_feed(d, NULL, 0)
         : ljp_decoder_finish(d);
      LJF_CHECK(ljf_status_known(st));
      LJF_CHECK(before == LJP_OK || st == before);
      LJF_CHECK(ljp_decoder_offset(d) - off <= size);
      in->p += size;
    }
    ljp_decoder_free(d);
  }
  ljp_decoder_free(NULL);
  ljf_all_freed(&heap);
}

static int ljf_stop(void *user, uint64_t key, uint64_t value)
{
  (void)value;
  return key >= *(uint64_t *)user ? 5 : 0;
}

/* What fuzz_avl leaves out: NULL wherever it may be, walks that stop. */
static void ljf_avl_calls(ljf_in *in)
{
  ljp_options o;
  ljt_heap heap;
  ljp_avl *t;
  ljf_any_options(in, &o, &heap);
  LJF_CHECK(ljp_avl_new(NULL, &o) == LJP_E_ARG);
  if (ljp_avl_new(&t, &o) == LJP_OK) {
    while (in->p < in->end) {
      uint64_t key = ljf_number(in), found = 0;
      size_t count = ljp_avl_count(t);
      int there = ljp_avl_find(t, key, NULL);
      switch (ljf_byte(in) % 4) {
      case 0:
        LJF_CHECK(ljp_avl_remove(t, key, NULL) == there);
        LJF_CHECK(ljp_avl_count(t) == count - (size_t)there);
        break;
      case 1:
        LJF_CHECK(ljp_avl_floor(t, key, NULL, NULL) ==
                  ljp_avl_floor(t, key, &found, NULL));
        LJF_CHECK(found <= key && (!there || found == key));
        break;
      case 2:
        if (there) LJF_CHECK(ljp_avl_walk(t, ljf_stop, &key) == 5);
        break;
      default:
        if (ljp_avl_insert(t, key, key, NULL, NULL) == LJP_OK)
          LJF_CHECK(ljp_avl_count(t) == count + (size_t)!there);
      }
      LJF_CHECK(ljp_avl_validate(t));
      LJF_CHECK((ljp_avl_height(t) == 0) == (ljp_avl_count(t) == 0));
    }
    ljp_avl_free(t);
  }
  ljp_avl_free(NULL);
  ljf_all_freed(&heap);
}

/* Words of a tree. */
static void ljf_tree_word(ljp_tree *t, ljf_in *in)
{
  static const char *const words[] = {"", "a", "\n;<&>\"\xff", "\xc3\xa4"};
  const char *w = words[ljf_byte(in) % 4];
  size_t size;
  const char *s = ljf_string(in, &size);
  switch (ljf_byte(in) % 8) {
  case 0: ljp_tree_title(t, w); break;
  case 1: ljp_tree_fact(t, w, words[size % 4]); break;
  case 2: ljp_tree_total(t, w, ljf_number(in), size & 1); break;
  case 3: ljp_tree_kind(t, w, ljf_number(in), ljf_number(in)); break;
  case 4: ljp_tree_note(t, w); break;
  case 5: ljp_tree_warn(t, w); break;
  case 6: ljp_tree_mark(t, ljf_number(in), s, size); break;
  default: {
    ljp_point point;
    point.at = ljf_number(in);
    point.live_size = ljf_number(in);
    point.gc_total = ljf_number(in);
    point.gc_threshold = ljf_number(in);
    point.rss = ljf_number(in);
    ljp_tree_point(t, &point);
  }
  }
}

/* A path below any other, with a number. */
static void ljf_tree_grow(ljp_tree *t, ljf_in *in)
{
  ljp_place at;
  size_t size, paths = ljp_tree_path_count(t);
  const char *s = ljf_string(in, &size);
  uint32_t id, up = (uint32_t)(ljf_number(in) % paths);
  ljp_metric m = (ljp_metric)(ljf_byte(in) % LJP_METRIC_COUNT);
  memset(&at, 0, sizeof(at));
  at.kind = ljf_byte(in) % 7;
  at.line = ljf_number(in);
  at.addr = ljf_number(in);
  (void)ljp_tree_string(t, s, size, ljf_byte(in) & 1 ? &at.name : &at.file);
  if (ljf_byte(in) & 1)
    (void)ljp_tree_module(t, at.file, at.name, at.addr, at.line, &at.module);
  if (ljp_tree_place(t, &at, &id) != LJP_OK) return;
  LJF_CHECK(id >= 1 && id <= ljp_tree_place_count(t));
  LJF_CHECK(ljp_tree_place_at(t, id)->line == at.line);
  if (ljp_tree_path(t, up, id, &id) != LJP_OK) return;
  LJF_CHECK(ljp_tree_path_at(t, id)->parent == up);
  ljp_tree_add(t, id, m, ljf_number(in));
  LJF_CHECK(ljp_tree_old(t, id, m) == 0 || ljp_tree_path_count(t) == paths);
  LJF_CHECK(ljp_tree_text(t, at.name, &size)[size] == 0);
  LJF_CHECK(ljp_tree_text(t, UINT32_MAX, &size) != NULL && size == 0);
}

static ljp_status ljf_tree_report(ljp_tree *t, ljf_in *in)
{
  ljp_budget b;
  ljp_budget_result r;
  uint64_t left = ljf_number(in);
  memset(&b, 0, sizeof(b));
  b.metric = (ljp_metric)(ljf_byte(in) % LJP_METRIC_COUNT);
  b.most = ljf_number(in);
  b.match = ljf_byte(in) & 1 ? "a" : NULL;
  b.each_line = ljf_byte(in) & 1;
  switch (ljf_byte(in) % 6) {
  case 0: return ljp_tree_folded(t, b.metric, ljf_swallow, &left);
  case 1: return ljp_tree_pprof(t, ljf_swallow, &left);
  case 2: return ljp_tree_speedscope(t, ljf_swallow, &left);
  case 3: return ljp_tree_model(t, ljf_swallow, &left);
  case 4: return ljp_tree_changes(t, NULL, ljf_swallow, &left);
  default: return ljp_tree_budget(t, &b, &r);
  }
}

/* Two trees, so that each can be compared with the other at any time. */
static void ljf_tree_calls(ljf_in *in)
{
  ljp_options o;
  ljt_heap heap;
  ljp_tree *t[2] = {NULL, NULL};
  ljf_any_options(in, &o, &heap);
  LJF_CHECK(ljp_tree_new(NULL, &o) == LJP_E_ARG);
  if (ljp_tree_new(&t[0], &o) == LJP_OK &&
      ljp_tree_new(&t[1], &o) == LJP_OK) {
    while (in->p < in->end) {
      unsigned which = ljf_byte(in);
      ljp_tree *one = t[which & 1], *other = t[~which & 1];
      ljp_status before = ljp_tree_status(one), st = LJP_OK;
      switch (which / 2 % 8) {
      case 0: ljf_tree_word(one, in); break;
      case 1: st = ljf_tree_report(one, in); break;
      case 2: if (which > 127) st = ljp_tree_diff(one, other); break;
      case 3:
        if (which > 127)
          st = ljp_tree_prune(one, ljf_number(in), (size_t)ljf_number(in));
        break;
      default: ljf_tree_grow(one, in);
      }
      LJF_CHECK(st == LJP_E_ARG || ljf_status_known(st));
      LJF_CHECK(before == LJP_OK || ljp_tree_status(one) == before);
    }
  }
  ljp_tree_free(t[0]);
  ljp_tree_free(t[1]);
  ljp_tree_free(NULL);
  ljf_all_freed(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static void (*const kinds[])(ljf_in *in) = {
    ljf_encoder3, ljf_encoder4, ljf_image, ljf_parts, ljf_profile_calls,
    ljf_writer_file, ljf_resolver, ljf_arena, ljf_decoder_calls, ljf_avl_calls,
    ljf_tree_calls
  };
  ljf_in in;
  if (size == 0) return 0;
  in.p = data + 1;
  in.end = data + size;
  LJF_CHECK(ljm_status_text((ljm_status)data[0]) != NULL);
  LJF_CHECK(ljp_status_text((ljp_status)data[0]) != NULL);
  kinds[data[0] % (sizeof(kinds) / sizeof(kinds[0]))](&in);
  return 0;
}
