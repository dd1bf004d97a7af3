/* Random records through the encoders, read back by the slow decoder; cut
** anywhere; with each allocation of the encoder failing in turn. */
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljtest.h"
#include "ljtmem.h"
#include "ljtgen4.h"
#include "ljtstream.h"

/* -- Format 3, against the bytes it must have */

static void put3(ljt_bytes *want, unsigned op, const ljm_where *w,
                 const uint64_t *n)
{
  ljt_b(want, (unsigned)w->source << 2 | op);
  if (w->source != LJM_SOURCE_INTERNAL) ljt_u(want, w->address);
  if (w->source == LJM_SOURCE_LUA) ljt_u(want, w->line);
  ljt_u(want, n[0]);
  ljt_u(want, n[1]);
  if (op == 3) {
    ljt_u(want, n[2]);
    ljt_u(want, n[3]);
  }
}

static void one3(ljm_encoder *e, ljt_bytes *want, ljt_rng *r)
{
  ljm_where w;
  uint64_t n[4];
  char name[300];
  size_t i, size = (size_t)ljt_below(r, 300);
  w.source = (ljm_source)(1 + ljt_below(r, 4));
  w.address = ljt_gen_number(r) | 1;
  w.line = ljt_gen_number(r);
  for (i = 0; i < 4; i++) n[i] = ljt_gen_number(r) | 1;
  for (i = 0; i < size; i++) name[i] = (char)ljt_rand(r);
  switch (ljt_below(r, 8)) {
  case 0:
    LJT_EQ(ljm_encoder_proto(e, n[0], name, size, n[1]), LJM_OK);
    ljt_b(want, 8);
    ljt_u(want, n[0]);
    ljt_s(want, name, size);
    ljt_u(want, n[1]);
    break;
  case 1:
    LJT_EQ(ljm_encoder_trace(e, n[0], n[1], n[2]), LJM_OK);
    ljt_b(want, 16);
    for (i = 0; i < 3; i++) ljt_u(want, n[i]);
    break;
  case 2: case 3: case 4:
    LJT_EQ(ljm_encoder_alloc(e, &w, n[0], n[1]), LJM_OK);
    put3(want, 1, &w, n);
    break;
  case 5: case 6:
    LJT_EQ(ljm_encoder_dealloc(e, &w, n[0], n[1]), LJM_OK);
    put3(want, 2, &w, n);
    break;
  default:
    LJT_EQ(ljm_encoder_realloc(e, &w, n[0], n[1], n[2], n[3]), LJM_OK);
    put3(want, 3, &w, n);
    break;
  }
}

static void random3(void)
{
  uint64_t seed;
  for (seed = 0; seed < 40; seed++) {
    ljt_rng r = ljt_rng_make(ljt.seed * 1000 + seed);
    ljm_encoder_options o;
    ljm_encoder e;
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    ljt_bytes want = {NULL, 0, 0}, text = {NULL, 0, 0};
    size_t offset, i, count = 1 + (size_t)ljt_below(&r, 2000);
    memset(&o, 0, sizeof(o));
    o.buffer_size = 4096;
    LJT_EQ(ljm_encoder_init(&e, &sink, &o), LJM_OK);
    LJT_EQ(ljm_encoder_open(&e), LJM_OK);
    ljt_raw(&want, "ljs\3\0\0\0\x80ljm\3\0\0\0", 15);
    for (i = 0; i < count; i++) one3(&e, &want, &r);
    ljt_b(&want, 0x80);
    LJT_EQ(ljm_encoder_finish(&e), LJM_OK);
    LJT_MEM(s.data, s.size, want.data, want.size);
    LJT_EQ(ljt_dump(s.data, s.size, 0, &text, NULL, &offset), LJT_CLEAN);
    ljm_encoder_free(&e);
    ljt_bytes_free(&want);
    ljt_bytes_free(&text);
    ljt_sink_free(&s);
  }
}

/* Names at the limit and over it. */
static void long_names(void)
{
  static char name[5000];
  size_t limit, size;
  for (size = 0; size < sizeof(name); size++)
    name[size] = (char)('a' + size % 26);
  for (limit = 64; limit <= 1024; limit += 64) {
    ljm_encoder_options o;
    ljm_encoder e;
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    ljt_reader rd = {NULL, 0, 0, LJT_CLEAN};
    uint64_t n;
    memset(&o, 0, sizeof(o));
    o.buffer_size = 4096;
    o.name_limit = limit;
    LJT_EQ(ljm_encoder_init(&e, &sink, &o), LJM_OK);
    for (size = limit - 1; size <= limit + 3; size++)
      LJT_EQ(ljm_encoder_csym(&e, 1, name, size), LJM_OK);
    name[4000] ^= 1;
    LJT_EQ(ljm_encoder_csym(&e, 1, name, 5000), LJM_OK);
    name[4000] ^= 1;
    LJT_EQ(ljm_encoder_csym(&e, 1, name, 5000), LJM_OK);
    LJT_EQ(ljm_encoder_finish(&e), LJM_OK);
    rd.data = s.data;
    rd.size = s.size;
    rd.at = 7;
    for (size = limit - 1; size <= limit + 5; size++) {
      rd.at += 2;
      n = ljt_ru(&rd);
      LJT_EQ(n, size < limit ? size : limit);
      if (size > limit) {
        LJT_MEM(s.data + rd.at, limit - 20, name, limit - 20);
        LJT_MEM(s.data + rd.at + limit - 20, 4, "...#", 4);
      }
      rd.at += (size_t)n;
    }
    /* Names that differ behind the cut stay two. */
    LJT_OK(memcmp(s.data + rd.at - limit, s.data + rd.at - 2 * limit - 4,
                  limit) != 0);
    ljm_encoder_free(&e);
    ljt_sink_free(&s);
  }
}

/* A cut does not go through a character. */
static void long_names_utf8(void)
{
  char name[200], out[64];
  size_t i, size = 0;
  for (i = 0; i < 200; i += 4) memcpy(name + i, "\xf0\x9f\x8c\x99", 4);
  for (i = 1; i <= 4; i++) {
    ljmi_cut_name(out, name + i, 190, 64, &size);
    LJT_EQ(size, i == 4 ? 64 : 60 + (4 - i));
    LJT_MEM(out + size - 20, 4, "...#", 4);
  }
  memset(name, 0x80, sizeof(name)); /* Not UTF-8: three back at most. */
  ljmi_cut_name(out, name, 190, 64, &size);
  LJT_EQ(size, 61);
}

/* -- Format 4, against texts that a slow model makes */

typedef struct model {
  ljt_bytes defs, events; /* Lines. */
  char *keys[9][4096];    /* By kind: the text of each definition. */
  uint32_t count[9];
} model;

static model m;

/* The id of a definition with this text after its id. */
static uint32_t define(unsigned kind, const char *word, const char *text)
{
  uint32_t i;
  int fresh = kind == 2 || kind == 8;
  for (i = 0; i < m.count[kind] && !fresh; i++)
    if (strcmp(m.keys[kind][i], text) == 0) return i + 1;
  i = m.count[kind]++;
  m.keys[kind][i] = strdup(text);
  ljt_text(&m.defs, "%s %u%s\n", word, i + 1, text);
  return i + 1;
}

static void model_free(void)
{
  unsigned k;
  uint32_t i;
  for (k = 0; k < 9; k++)
    for (i = 0; i < m.count[k]; i++) free(m.keys[k][i]);
  ljt_bytes_free(&m.defs);
  ljt_bytes_free(&m.events);
  memset(&m, 0, sizeof(m));
}

static void define_string(ljm_encoder4 *e, ljt_rng *r)
{
  char name[16];
  ljt_bytes text = {NULL, 0, 0};
  size_t i, size = (size_t)ljt_below(r, 4);
  for (i = 0; i < size; i++) name[i] = (char)('a' + ljt_below(r, 5));
  ljt_text(&text, " '");
  ljt_text_str(&text, (const unsigned char *)name, size);
  ljt_text(&text, "'%c", 0);
  LJT_EQ(ljm_encoder4_string(e, name, size),
         define(1, "string", (const char *)text.data));
  ljt_bytes_free(&text);
}

static uint32_t any_id(ljt_rng *r, unsigned kind)
{
  return (uint32_t)ljt_below(r, m.count[kind] + 1u);
}

static void define_frame(ljm_encoder4 *e, ljt_rng *r)
{
  char text[128];
  uint64_t n = ljt_below(r, 300), wide = ljt_gen_number(r);
  uint32_t a = any_id(r, 4), id = 0;
  unsigned tag = (unsigned)ljt_below(r, 6), b = (unsigned)ljt_below(r, 6);
  switch (tag) {
  case 0:
    snprintf(text, sizeof(text), " 0 %u %" PRIu64, a, n);
    id = ljm_encoder4_frame_lua(e, a, n);
    break;
  case 1:
    snprintf(text, sizeof(text), " 1 %" PRIu64 " %u %u", wide, a, b);
    id = ljm_encoder4_frame_c(e, wide, a, b);
    break;
  case 2:
    snprintf(text, sizeof(text), " 2 %u", b);
    id = ljm_encoder4_frame_vm(e, (ljm_state)b);
    break;
  case 3:
    snprintf(text, sizeof(text), " 3 %" PRIu64 " %u", n, a);
    id = ljm_encoder4_frame_jit(e, n, a);
    break;
  case 4:
    snprintf(text, sizeof(text), " 4 %u", a);
    id = ljm_encoder4_frame_fast(e, a);
    break;
  default:
    snprintf(text, sizeof(text), " 5 %u", b + 1);
    id = ljm_encoder4_frame_gap(e, (ljm_gap)(b + 1));
    break;
  }
  LJT_EQ(id, define(5, "frame", text));
}

static void define_any(ljm_encoder4 *e, ljt_rng *r)
{
  char text[128];
  uint32_t a = any_id(r, 1), b = any_id(r, 5) + 1, parent = any_id(r, 6);
  uint64_t n = ljt_below(r, 30), wide = ljt_gen_number(r);
  ljm_module mod;
  switch (ljt_below(r, 7)) {
  case 0: define_string(e, r); break;
  case 1:
    memset(&mod, 0, sizeof(mod));
    mod.path = a;
    mod.base = wide;
    mod.size = n;
    snprintf(text, sizeof(text), " %u '' %" PRIu64 " %" PRIu64 " 0", a, wide,
             n);
    LJT_EQ(ljm_encoder4_module(e, &mod), define(2, "module", text));
    break;
  case 2:
    snprintf(text, sizeof(text), " %u %" PRIu64 " %" PRIu64 " %u", b, wide, n,
             a);
    LJT_EQ(ljm_encoder4_csym(e, b, wide, n, a), define(3, "csym", text));
    break;
  case 3:
    snprintf(text, sizeof(text), " %u %" PRIu64 " %" PRIu64, a, n, wide);
    LJT_EQ(ljm_encoder4_function(e, a, n, wide), define(4, "function", text));
    break;
  case 4: define_frame(e, r); break;
  case 5:
    snprintf(text, sizeof(text), " %u %u", parent, b);
    LJT_EQ(ljm_encoder4_stack(e, parent, b), define(6, "stack", text));
    break;
  default:
    snprintf(text, sizeof(text), " %u %u %u", parent, (unsigned)n % 11, 3u);
    LJT_EQ(ljm_encoder4_site(e, parent, (ljm_state)(n % 11),
                             LJM_OBJECT_THREAD), define(7, "site", text));
    break;
  }
}

static uint32_t some_site(ljt_rng *r)
{
  switch (ljt_below(r, 4)) {
  case 0: return (uint32_t)ljt_below(r, 3);
  case 1: return (uint32_t)ljt_below(r, 70000);
  case 2: return 16777215;
  default: return (uint32_t)ljt_below(r, 256);
  }
}

#define LINE(...) ljt_text(&m.events, __VA_ARGS__)
#define U "%" PRIu64

static void event_other(ljm_encoder4 *e, ljt_rng *r)
{
  uint32_t site = some_site(r);
  uint64_t n[4];
  ljm_mark mark;
  size_t i;
  for (i = 0; i < 4; i++) n[i] = ljt_gen_number(r);
  switch (ljt_below(r, 5)) {
  case 0:
    LJT_EQ(ljm_encoder4_alloc_failed(e, site, n[0]), LJM_OK);
    LINE("alloc-failed %u " U "\n", site, n[0]);
    break;
  case 1:
    LJT_EQ(ljm_encoder4_realloc_failed(e, site, n[0], n[1], n[2]), LJM_OK);
    LINE("realloc-failed %u " U " " U " " U "\n", site, n[0], n[1], n[2]);
    break;
  case 2:
    mark.reason = LJM_MARK_FLUSH;
    mark.label = site;
    mark.gc_total = n[0];
    mark.gc_threshold = n[1];
    mark.rss = n[2];
    LJT_EQ(ljm_encoder4_mark(e, &mark), LJM_OK);
    LINE("mark 2 %u 0 " U " " U " " U "\n", site, n[0], n[1], n[2]);
    break;
  case 3:
    LJT_EQ(ljm_encoder4_loaded(e, site), LJM_OK);
    LJT_EQ(ljm_encoder4_unloaded(e, site), LJM_OK);
    LINE("loaded %u\nunloaded %u\n", site, site);
    break;
  default:
    LJT_EQ(ljm_encoder4_dropped(e, n[0], n[1]), LJM_OK);
    LINE("dropped " U " " U "\n", n[0], n[1]);
    break;
  }
}

static void event_any(ljm_encoder4 *e, ljt_rng *r)
{
  uint32_t site = some_site(r);
  uint64_t a = ljt_gen_address(r), b = ljt_gen_address(r);
  uint64_t w = ljt_gen_number(r) | 1;
  uint64_t n = ljt_gen_number(r), k = ljt_gen_number(r);
  int sample = ljt_below(r, 10) == 0;
  switch (ljt_below(r, 6)) {
  case 0: event_other(e, r); break;
  case 1:
    if (sample) LINE("weight " U "\n", w);
    LINE("realloc %u " U " " U " " U " " U "\n", site, a, n, b, k);
    LJT_EQ(sample ? ljm_encoder4_realloc_sample(e, site, a, n, b, k, w)
                  : ljm_encoder4_realloc(e, site, a, n, b, k), LJM_OK);
    break;
  case 2: case 3:
    LINE("free %u " U " " U "\n", site, a, n);
    LJT_EQ(ljm_encoder4_dealloc(e, site, a, n), LJM_OK);
    break;
  default:
    if (sample) LINE("weight " U "\n", w);
    LINE("alloc %u " U " " U "\n", site, a, n);
    LJT_EQ(sample ? ljm_encoder4_alloc_sample(e, site, a, n, w)
                  : ljm_encoder4_alloc(e, site, a, n), LJM_OK);
    break;
  }
}

/* Lines of a dump that are definitions, and the others. */
static void sort_lines(const ljt_bytes *text, ljt_bytes *defs,
                       ljt_bytes *events)
{
  static const char *const words[] = {
    "string ", "module ", "csym ", "function ", "frame ", "stack ", "site ",
    "trace "
  };
  size_t at = 0, end, i;
  while (at < text->size) {
    const char *line = (const char *)text->data + at;
    int def = 0;
    end = at;
    while (text->data[end] != '\n') end++;
    for (i = 0; i < 8; i++)
      if (strncmp(line, words[i], strlen(words[i])) == 0) def = 1;
    if (strncmp(line, "events ", 7) != 0 && strncmp(line, "meta ", 5) != 0 &&
        strncmp(line, "end ", 4) != 0)
      ljt_raw(def ? defs : events, line, end + 1 - at);
    at = end + 1;
  }
}

static void compare(const unsigned char *data, size_t size, int status)
{
  ljt_bytes text = {NULL, 0, 0}, defs = {NULL, 0, 0}, events = {NULL, 0, 0};
  size_t offset;
  LJT_EQ(ljt_dump(data, size, 0, &text, NULL, &offset), status);
  sort_lines(&text, &defs, &events);
  if (status == LJT_CLEAN) {
    LJT_MEM(defs.data, defs.size, m.defs.data, m.defs.size);
    LJT_MEM(events.data, events.size, m.events.data, m.events.size);
  } else {
    LJT_OK(defs.size <= m.defs.size && events.size <= m.events.size);
    LJT_MEM(defs.data, defs.size, m.defs.data, defs.size);
    LJT_MEM(events.data, events.size, m.events.data, events.size);
  }
  ljt_bytes_free(&text);
  ljt_bytes_free(&defs);
  ljt_bytes_free(&events);
}

static void live_any(ljm_encoder4 *e, ljt_rng *r)
{
  uint64_t a = ljt_gen_address(r);
  ljm_object object = (ljm_object)ljt_below(r, 18);
  LJT_EQ(ljm_encoder4_live(e, object, a), LJM_OK);
  LINE("live %u " U "\n", (unsigned)object, a);
}

/* A random stream into `s` and the model. */
static void stream4(ljt_sink *s, uint64_t seed, size_t count)
{
  static const ljm_meta meta[] = {{"arch", "x64"}};
  static ljm_encoder4 e;
  ljt_rng r = ljt_rng_make(seed);
  ljm_encoder_options o;
  ljm_sink sink = ljt_sink_make(s);
  size_t i;
  memset(&o, 0, sizeof(o));
  o.buffer_size = 4096;
  o.clock = ljt_gen_clock;
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, meta, 1), LJM_OK);
  for (i = 0; i < count; i++) {
    if (ljt_below(&r, 10) < 3) define_any(&e, &r);
    else event_any(&e, &r);
    if (ljt_below(&r, 500) == 0) LJT_EQ(ljm_encoder4_flush(&e), LJM_OK);
  }
  for (i = 0; i < count / 10; i++) live_any(&e, &r);
  LJT_EQ(e.undefined, 0);
  LJT_EQ(ljm_encoder4_finish(&e, LJM_END_STOPPED, 5), LJM_OK);
  ljm_encoder4_free(&e);
}

static void random4(void)
{
  uint64_t seed;
  for (seed = 0; seed < 60; seed++) {
    ljt_sink s;
    stream4(&s, ljt.seed * 1000 + seed, 10 + (size_t)seed * 60);
    compare(s.data, s.size, LJT_CLEAN);
    model_free();
    ljt_sink_free(&s);
  }
}

/* Cut at each byte: what is left is a beginning of it. */
static void cut4(void)
{
  ljt_sink s;
  size_t size;
  stream4(&s, ljt.seed, 1200);
  LJT_OK(s.size > 3 * 4096);
  for (size = 14; size < s.size; size += 1 + (size_t)ljt.stride / 2)
    compare(s.data, size, LJT_CUT);
  model_free();
  ljt_sink_free(&s);
}

/* Each definition stands in two blocks, or in the end the copy does. */
static void copies4(void)
{
  ljt_sink s;
  static ljt_blocks b;
  ljt_bytes text = {NULL, 0, 0};
  size_t offset, i, defs = 0;
  stream4(&s, ljt.seed, 5000);
  LJT_EQ(ljt_dump(s.data, s.size, 0, &text, &b, &offset), LJT_CLEAN);
  LJT_OK(b.count < 4096 && b.copies > 3);
  for (i = 0; i < b.count; i++)
    if (s.data[b.offset[i] + 4] <= 2) defs++;
  LJT_EQ(defs, 2 * b.copies);
  ljt_bytes_free(&text);
  model_free();
  ljt_sink_free(&s);
}

/* -- Memory that fails */

/* A stream of definitions and events; the number of calls it made. */
static uint64_t fill(ljm_encoder_options *o, ljt_heap *heap, ljt_sink *s)
{
  ljm_sink sink = ljt_sink_make(s);
  static ljm_encoder4 e;
  uint32_t i, stack = 0;
  char name[80];
  ljm_status st = ljm_encoder4_init(&e, &sink, o, NULL, 0);
  if (st != LJM_OK) {
    LJT_EQ(st, heap->fail_at ? LJM_E_NOMEM : LJM_E_LIMIT);
    LJT_EQ(s->closed, 0);
    return heap->calls;
  }
  for (i = 1; i < 3000; i++) {
    uint32_t f, site, chunk;
    snprintf(name, sizeof(name), "@chunk-%050u", i % 700);
    chunk = ljm_encoder4_string(&e, name, strlen(name));
    f = ljm_encoder4_frame_lua(&e, ljm_encoder4_function(&e, chunk, i, i), i);
    stack = ljm_encoder4_stack(&e, i % 7 ? stack : 0, f);
    site = ljm_encoder4_site(&e, stack, LJM_STATE_INTERP, LJM_OBJECT_TABLE);
    ljm_encoder4_csym(&e, 1, i, 1, 2);
    LJT_EQ(ljm_encoder4_alloc(&e, site, i * UINT64_C(16), 16), LJM_OK);
  }
  LJT_OK((heap->fail_at == 0) == (e.undefined == 0));
  LJT_EQ(ljm_encoder4_finish(&e, LJM_END_STOPPED, 0), LJM_OK);
  LJT_EQ(e.totals.allocs, 2999);
  ljm_encoder4_free(&e);
  return heap->calls;
}

static void failing_memory(void)
{
  ljt_heap heap;
  ljm_encoder_options o;
  uint64_t calls, n;
  ljt_sink s;
  ljt_bytes text = {NULL, 0, 0};
  size_t offset;
  memset(&o, 0, sizeof(o));
  o.buffer_size = 4096;
  o.alloc = ljt_fresh_allocator(&heap);
  calls = fill(&o, &heap, &s);
  ljt_sink_free(&s);
  LJT_OK(calls > 20);
  LJT_EQ(heap.live_count, 0);
  for (n = 1; n <= calls; n++) {
    o.alloc = ljt_fresh_allocator(&heap);
    heap.fail_at = n;
    fill(&o, &heap, &s);
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.live_size, 0);
    LJT_EQ(heap.bad_frees, 0);
    if (s.size)
      LJT_EQ(ljt_dump(s.data, s.size, 0, &text, NULL, &offset), LJT_CLEAN);
    text.size = 0;
    ljt_sink_free(&s);
  }
  ljt_bytes_free(&text);
}

/* A budget one byte short of each step behaves as no memory does. */
static void memory_limit(void)
{
  ljt_heap heap;
  ljm_encoder_options o;
  ljt_sink s;
  ljm_encoder e;
  ljm_sink sink = ljt_sink_make(&s);
  memset(&o, 0, sizeof(o));
  o.buffer_size = 4096;
  o.alloc = ljt_fresh_allocator(&heap);
  o.max_memory = 4095;
  LJT_EQ(ljm_encoder_init(&e, &sink, &o), LJM_E_LIMIT);
  o.max_memory = 4096;
  LJT_EQ(ljm_encoder_init(&e, &sink, &o), LJM_OK);
  ljm_encoder_free(&e);
  fill(&o, &heap, &s);
  LJT_EQ(heap.live_count, 0);
  heap.fail_at = 1;
  LJT_EQ(ljm_encoder_init(&e, &sink, &o), LJM_E_NOMEM);
}

/* Limits of stacks and sites at n-1, n, n+1. */
static void stack_limit(void)
{
  ljm_encoder_options o;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  static ljm_encoder4 e;
  uint32_t i;
  memset(&o, 0, sizeof(o));
  o.max_stacks = 100;
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  for (i = 1; i <= 100; i++) LJT_EQ(ljm_encoder4_stack(&e, 0, i), i);
  LJT_EQ(ljm_encoder4_stack(&e, 0, 101), 0);
  LJT_EQ(ljm_encoder4_stack(&e, 0, 50), 50);
  LJT_EQ(e.undefined, 1);
  LJT_EQ(ljm_encoder4_alloc(&e, 16777216, 8, 8), LJM_E_ARG);
  LJT_EQ(ljm_encoder4_alloc(&e, 16777215, 8, 8), LJM_OK);
  ljm_encoder4_free(&e);
  ljt_sink_free(&s);
}

static void options(void)
{
  static const struct row {
    size_t buffer_size, name_limit;
    ljm_status status;
  } rows[] = {
    {0, 0, LJM_OK}, {4095, 0, LJM_E_ARG}, {4096, 0, LJM_OK},
    {4096, 1024, LJM_OK}, {4096, 1025, LJM_E_ARG}, {0, 63, LJM_E_ARG},
    {0, 64, LJM_OK}, {1048576, 262144, LJM_OK}, {1048577, 0, LJM_E_ARG},
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljm_encoder_options o;
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    ljm_encoder e;
    ljm_encoder4 e4;
    memset(&o, 0, sizeof(o));
    o.buffer_size = rows[i].buffer_size;
    o.name_limit = rows[i].name_limit;
    LJT_EQ(ljm_encoder_init(&e, &sink, &o), rows[i].status);
    if (rows[i].status == LJM_OK) ljm_encoder_free(&e);
    LJT_EQ(ljm_encoder4_init(&e4, &sink, &o, NULL, 0), rows[i].status);
    if (rows[i].status == LJM_OK) ljm_encoder4_free(&e4);
  }
}

/* An arena in place of the heap: as much as its buffer holds. */
static void arena(void)
{
  static unsigned char buf[100000];
  ljm_arena a;
  ljm_encoder_options o;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  static ljm_encoder4 e;
  uint32_t i, undefined = 0;
  memset(&o, 0, sizeof(o));
  o.buffer_size = 4096;
  ljm_arena_allocator(&o.alloc, &a, buf, sizeof(buf));
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  for (i = 1; i < 20000; i++) undefined += ljm_encoder4_stack(&e, 0, i) == 0;
  LJT_OK(undefined > 0 && undefined < 19000);
  LJT_EQ(ljm_encoder4_finish(&e, LJM_END_STOPPED, 0), LJM_OK);
  LJT_OK(a.used <= sizeof(buf));
  ljm_encoder4_free(&e);
  ljm_arena_allocator(&o.alloc, &a, buf, 1000);
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_E_NOMEM);
  ljt_sink_free(&s);
}

/* The table-driven sum and the machine's instruction agree with the slow one;
** the value is the one of RFC 3720, B.4. */
static void crc(void)
{
  static uint32_t table[LJMI_CRC_TABLE_COUNT];
  unsigned char data[80];
  size_t from, n;
  ljt_rng r = ljt_rng_make(ljt.seed);
  for (n = 0; n < sizeof(data); n++) data[n] = (unsigned char)ljt_rand(&r);
  ljmi_crc_fill(table);
  LJT_EQ(ljmi_crc_tables(table, 0, (const unsigned char *)"123456789", 9),
         0xe3069283u);
  for (from = 0; from < 9; from++) {
    for (n = 0; n + from <= sizeof(data); n++) {
      LJT_EQ(ljmi_crc_tables(table, 0, data + from, n),
             ljt_crc32c(data + from, n));
#ifdef LJMI_CRC_NATIVE
      if (ljmi_crc_has_native())
        LJT_EQ(ljmi_crc_native(NULL, 0, data + from, n),
               ljt_crc32c(data + from, n));
#endif
    }
  }
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(random3);
  LJT_CASE(long_names);
  LJT_CASE(long_names_utf8);
  LJT_CASE(random4);
  LJT_CASE(cut4);
  LJT_CASE(copies4);
  LJT_CASE(failing_memory);
  LJT_CASE(memory_limit);
  LJT_CASE(stack_limit);
  LJT_CASE(options);
  LJT_CASE(arena);
  LJT_CASE(crc);
  return ljt_end();
}
