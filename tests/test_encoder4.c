/* Format 4: each record byte by byte, totals, what the encoder refuses. */
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljtest.h"
#include "ljtsink.h"
#include "ljtstream.h"

static uint64_t no_clock(void *user)
{
  (void)user;
  return 0;
}

static ljm_encoder_options fixed_options(void)
{
  ljm_encoder_options o;
  memset(&o, 0, sizeof(o));
  o.stream_id = 0x04030201;
  o.clock = no_clock;
  return o;
}

/* What one call adds to the block it belongs to. */
typedef struct row {
  const char *name;
  void (*call)(ljm_encoder4 *e);
  unsigned kind; /* Of the block. */
  const char *bytes;
  size_t size;
  uint32_t event_count;
} row;

#define CALL(name, ...) \
  static void call_##name(ljm_encoder4 *e) { __VA_ARGS__; }

CALL(string, LJT_EQ(ljm_encoder4_string(e, "@a\0", 3), 1))
CALL(string_twice, ljm_encoder4_string(e, "x", 1);
     LJT_EQ(ljm_encoder4_string(e, "", 0), 2);
     LJT_EQ(ljm_encoder4_string(e, "x", 1), 1))
CALL(csym, LJT_EQ(ljm_encoder4_csym(e, 1, 128, 0, 2), 1))
CALL(function, LJT_EQ(ljm_encoder4_function(e, 1, 0, UINT64_MAX), 1))
CALL(frames, ljm_encoder4_frame_lua(e, 1, 128);
     ljm_encoder4_frame_c(e, 255, 1, 2);
     ljm_encoder4_frame_vm(e, LJM_STATE_GC);
     ljm_encoder4_frame_jit(e, 7, 9);
     ljm_encoder4_frame_fast(e, 3);
     ljm_encoder4_frame_gap(e, LJM_GAP_HOST);
     LJT_EQ(ljm_encoder4_frame_c(e, 255, 1, 2), 2))
CALL(stacks, LJT_EQ(ljm_encoder4_stack(e, 0, 5), 1);
     LJT_EQ(ljm_encoder4_stack(e, 1, 6), 2);
     LJT_EQ(ljm_encoder4_stack(e, 1, 7), 3);
     LJT_EQ(ljm_encoder4_stack(e, 1, 6), 2);
     LJT_EQ(ljm_encoder4_stack(e, 4, 6), 0);
     LJT_EQ(ljm_encoder4_stack(e, 0, 0), 0))
CALL(site, LJT_EQ(ljm_encoder4_site(e, 3, LJM_STATE_JIT, LJM_OBJECT_ARRAY), 1))
CALL(trace, LJT_EQ(ljm_encoder4_trace(e, 200, 1), 1);
     LJT_EQ(ljm_encoder4_trace(e, 200, 1), 2))

static void call_module(ljm_encoder4 *e)
{
  ljm_module m;
  memset(&m, 0, sizeof(m));
  m.path = 1;
  m.build_id = "\xab\xcd";
  m.build_id_size = 2;
  m.base = 4096;
  m.size = 1;
  m.bias = 2;
  LJT_EQ(ljm_encoder4_module(e, &m), 1);
}

CALL(alloc, ljm_encoder4_alloc(e, 1, 8, 32);
     ljm_encoder4_alloc(e, 1, 0, 32);
     ljm_encoder4_alloc(e, 300, 2048, 300);
     ljm_encoder4_alloc(e, 70000, 2048 + 524288, 70000);
     ljm_encoder4_alloc(e, 1, UINT64_C(0x1122334455667788), 0);
     ljm_encoder4_alloc(e, 1, UINT64_C(0x1122334455667789), 0))
CALL(dealloc, ljm_encoder4_dealloc(e, 2, 16, 1);
     ljm_encoder4_dealloc(e, 2, 0, 1);
     ljm_encoder4_alloc(e, 2, 16, 1))
CALL(realloc, ljm_encoder4_realloc(e, 1, 8, 1, 24, 200);
     ljm_encoder4_realloc(e, 1, 24, 200, 8, 0))
CALL(failed, ljm_encoder4_alloc_failed(e, 1, 128);
     ljm_encoder4_realloc_failed(e, 2, 3, 4, 5))
CALL(sample, ljm_encoder4_alloc_sample(e, 0, 8, 1, 524288);
     ljm_encoder4_realloc_sample(e, 0, 8, 1, 8, 2, 3))
CALL(loaded, ljm_encoder4_loaded(e, 1); ljm_encoder4_unloaded(e, 300))
CALL(dropped, ljm_encoder4_dropped(e, 2, 130); LJT_EQ(e->b.dropped, 2))
CALL(live, ljm_encoder4_live(e, LJM_OBJECT_TABLE, 64);
     ljm_encoder4_live(e, LJM_OBJECT_STRING, 0);
     LJT_EQ(ljm_encoder4_alloc(e, 1, 8, 8), LJM_E_ARG))

static void call_mark(ljm_encoder4 *e)
{
  ljm_mark m;
  memset(&m, 0, sizeof(m));
  m.reason = LJM_MARK_PROGRAM;
  m.label = 5;
  m.gc_total = 128;
  m.gc_threshold = 2;
  m.rss = 3;
  ljm_encoder4_mark(e, &m);
}

#define ROW(name, kind, bytes, count) \
  {#name, call_##name, kind, bytes, sizeof(bytes) - 1, count}
static const row rows[] = {
  ROW(string, 2, "\x01\x01\x03@a\0", 0),
  ROW(string_twice, 2, "\x01\x01\x01x\x01\x01\x00", 0),
  ROW(module, 2, "\x02\x01\x01\x02\xab\xcd\x80\x20\x01\x02", 0),
  ROW(csym, 2, "\x03\x01\x01\x80\x01\x00\x02", 0),
  ROW(function, 2, "\x04\x01\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
      0),
  ROW(frames, 2, "\x05\x01\x00\x01\x80\x01" "\x05\x01\x01\xff\x01\x01\x02"
      "\x05\x01\x02\x03" "\x05\x01\x03\x07\x09" "\x05\x01\x04\x03"
      "\x05\x01\x05\x04", 0),
  ROW(stacks, 2, "\x06\x01\x01\x05" "\x06\x01\x01\x06" "\x06\x01\x02\x07", 0),
  ROW(site, 2, "\x07\x01\x03\x08\x0a", 0),
  ROW(trace, 2, "\x08\x01\xc8\x01\x01\x08\x01\xc8\x01\x01", 0),
  ROW(alloc, 3, "\x44\x01\x02\x20" "\x00\x01" "\x98\x2c\x01\x00\x02\x2c\x01"
      "\xec\x70\x11\x01\x00\x00\x02\x70\x11\x01\x00\x00\x00\x00\x00"
      "\x74\x01\x88\x77\x66\x55\x44\x33\x22\x11\x00"
      "\x30\x89\x77\x66\x55\x44\x33\x22\x11", 6),
  ROW(dealloc, 3, "\x45\x02\x04\x01" "\x44\x02\x04\x01", 2),
  ROW(realloc, 3, "\x06\x01\x02\x01\x20\xc8\x01" "\x02\x00\xc8\x01\x1f\x00",
      2),
  ROW(failed, 3, "\x03\x01\x80\x01" "\x07\x02\x03\x04\x05", 2),
  ROW(sample, 3, "\x0b\x80\x80\x20\x40\x02\x01" "\x0b\x03\x02\x02\x01\x00\x02",
      2),
  ROW(mark, 3, "\x0f\x04\x05\x00\x80\x01\x02\x03", 0),
  ROW(loaded, 3, "\x13\x01" "\x17\xac\x02", 0),
  ROW(dropped, 3, "\x1b\x02\x82\x01", 0),
  ROW(live, 4, "\x08\x80\x01" "\x01\x7f", 0),
};
#undef ROW

/* The stream that holds one payload, the other blocks as they must be. */
static void expected(ljt_bytes *b, const row *r, const char *end, size_t size)
{
  uint32_t n = 0, id = 0x04030201;
  static const char meta[] = "\x01k\x02vw";
  ljt_stream4(b);
  ljt_block(b, 1, 0, n++, 0, id, meta, 5);
  ljt_block(b, r->kind, 0, n++, r->event_count, id, r->bytes, r->size);
  ljt_block(b, 1, 1, n++, 0, id, meta, 5);
  if (r->kind == 2) ljt_block(b, 2, 1, n++, 0, id, r->bytes, r->size);
  ljt_block(b, 5, 0, n++, 0, id, end, size);
}

static void records(void)
{
  static const ljm_meta meta[] = {{"k", "vw"}};
  ljm_encoder_options o = fixed_options();
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    ljm_encoder4 e;
    ljt_bytes want = {NULL, 0, 0}, end = {NULL, 0, 0};
    ljm_totals t;
    ljt.row = rows[i].name;
    LJT_EQ(ljm_encoder4_init(&e, &sink, &o, meta, 1), LJM_OK);
    rows[i].call(&e);
    t = e.totals;
    LJT_EQ(ljm_encoder4_finish(&e, LJM_END_EXIT, 300), LJM_OK);
    LJT_EQ(ljm_encoder4_finish(&e, LJM_END_EXIT, 300), LJM_OK);
    ljt_raw(&end, "\x02\x00\x00", 3);
    ljt_u(&end, t.allocs);
    ljt_u(&end, t.alloc_size);
    ljt_u(&end, t.frees);
    ljt_u(&end, t.freed_size);
    ljt_u(&end, t.reallocs);
    ljt_u(&end, t.old_size);
    ljt_u(&end, t.new_size);
    ljt_u(&end, t.failed);
    ljt_u(&end, e.b.dropped);
    ljt_u(&end, 300);
    expected(&want, &rows[i], (const char *)end.data, end.size);
    LJT_MEM(s.data, s.size, want.data, want.size);
    LJT_EQ(s.closed, 1);
    ljm_encoder4_free(&e);
    LJT_EQ(ljm_encoder4_finish(&e, LJM_END_EXIT, 0), LJM_E_ARG);
    ljt_bytes_free(&want);
    ljt_bytes_free(&end);
    ljt_sink_free(&s);
  }
}

/* Each width of site, address and size at its edges, against the slow
** encoder's bytes. */
static void widths(void)
{
  static const uint64_t edges[] = {
    0, 1, 2, 254, 255, 256, 257, 65534, 65535, 65536, 65537, 16777213,
    16777214, 16777215, 16777216, 16777217, UINT64_MAX / 8, UINT64_MAX - 9
  };
  const size_t n = sizeof(edges) / sizeof(edges[0]);
  ljm_encoder_options o = fixed_options();
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljm_encoder4 e;
  ljt_bytes want = {NULL, 0, 0};
  ljt_last4 last;
  size_t i, j;
  unsigned op;
  uint64_t address = 0;
  memset(&last, 0, sizeof(last));
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  for (i = 0; i < n * 2; i++) {
    /* Each site and size twice, as in a loop. */
    for (j = 0; j < n * 2; j++) {
      size_t k = j / 2;
      uint64_t z = edges[i / 2], d = (z & 1 ? ~(z >> 1) : z >> 1) * 8;
      uint32_t site = (uint32_t)edges[k] & 16777215;
      address += d + (i & 1 ? 0 : k == 3);
      for (op = 0; op < 3; op++)
        ljt_event4(&want, &last, op, site, address, edges[k], address + d, z);
      for (op = LJM_FMT_OP_ALLOC; op <= LJM_FMT_OP_FREE; op++)
        (void)ljmi_encoder4_event(&e, op, site, address, edges[k]);
      (void)ljmi_encoder4_moved(&e, site, address, edges[k], address + d, z);
    }
  }
  LJT_EQ(s.calls, 0);
  LJT_MEM(e.b.buf, (size_t)(e.b.p - e.b.buf), want.data, want.size);
  ljm_encoder4_free(&e);
  ljt_bytes_free(&want);
  ljt_sink_free(&s);
}

static void totals(void)
{
  ljm_encoder_options o = fixed_options();
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljm_encoder4 e;
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  ljm_encoder4_alloc(&e, 1, 64, 100);
  ljm_encoder4_alloc(&e, 1, 128, 11);
  ljm_encoder4_realloc(&e, 1, 64, 100, 256, 300);
  ljm_encoder4_realloc_sample(&e, 1, 256, 300, 256, 2, 9);
  ljm_encoder4_dealloc(&e, 1, 128, 11);
  ljm_encoder4_alloc_failed(&e, 1, 5000);
  LJT_EQ(e.totals.allocs, 2);
  LJT_EQ(e.totals.alloc_size, 111);
  LJT_EQ(e.totals.reallocs, 2);
  LJT_EQ(e.totals.old_size, 400);
  LJT_EQ(e.totals.new_size, 302);
  LJT_EQ(e.totals.frees, 1);
  LJT_EQ(e.totals.freed_size, 11);
  LJT_EQ(e.totals.failed, 1);
  ljm_encoder4_free(&e);
  LJT_EQ(s.closed, 1);
  LJT_EQ(s.calls, 0);
  ljt_sink_free(&s);
}

/* -- What is refused */

#define DEFS 13
#define CALLS 11

/* Definition number `i`. */
static uint32_t define(ljm_encoder4 *e, int i, uint32_t n)
{
  ljm_module m;
  switch (i) {
  case 0: return ljm_encoder4_string(e, (const char *)&n, sizeof(n));
  case 1:
    memset(&m, 0, sizeof(m));
    return ljm_encoder4_module(e, &m);
  case 2: return ljm_encoder4_csym(e, n, n, n, n);
  case 3: return ljm_encoder4_function(e, n, n, n);
  case 4: return ljm_encoder4_frame_lua(e, n, n);
  case 5: return ljm_encoder4_frame_c(e, n, n, n);
  case 6: return ljm_encoder4_frame_vm(e, (ljm_state)(n % 11));
  case 7: return ljm_encoder4_frame_jit(e, n, n);
  case 8: return ljm_encoder4_frame_fast(e, n);
  case 9: return ljm_encoder4_frame_gap(e, (ljm_gap)(1 + n % 6));
  case 10: return ljm_encoder4_trace(e, n, n);
  case 11: return ljm_encoder4_stack(e, 0, n + 1);
  default: return ljm_encoder4_site(e, n, LJM_STATE_C, LJM_OBJECT_TABLE);
  }
}

/* Record number `i`. */
static ljm_status record(ljm_encoder4 *e, int i)
{
  ljm_mark m;
  switch (i) {
  case 0: return ljm_encoder4_alloc(e, 1, 8, 8);
  case 1: return ljm_encoder4_dealloc(e, 1, 8, 8);
  case 2: return ljm_encoder4_realloc(e, 1, 8, 8, 16, 8);
  case 3: return ljm_encoder4_alloc_sample(e, 1, 8, 8, 9);
  case 4: return ljm_encoder4_realloc_sample(e, 1, 8, 8, 16, 8, 9);
  case 5: return ljm_encoder4_alloc_failed(e, 1, 8);
  case 6: return ljm_encoder4_realloc_failed(e, 1, 8, 8, 16);
  case 7:
    memset(&m, 0, sizeof(m));
    m.reason = LJM_MARK_PROGRAM;
    return ljm_encoder4_mark(e, &m);
  case 8: return ljm_encoder4_loaded(e, 1);
  case 9: return ljm_encoder4_dropped(e, 1, 8);
  default: return ljm_encoder4_live(e, LJM_OBJECT_TABLE, 64);
  }
}

static void refuses(ljm_encoder4 *e, ljm_status want)
{
  int i;
  for (i = 0; i < DEFS; i++) LJT_EQ(define(e, i, 1), 0);
  for (i = 0; i < CALLS; i++) LJT_EQ(record(e, i), want);
  LJT_EQ(ljm_encoder4_flush(e), want);
}

/* What META may not be. */
static void bad_meta(const ljm_sink *sink)
{
  static char name[4096];
  ljm_encoder_options o = fixed_options();
  ljm_encoder4 e;
  ljm_meta meta[2];
  size_t room = 4096 / 2 - 20, i;
  o.buffer_size = 4096;
  meta[0].key = meta[0].value = meta[1].key = meta[1].value = "";
  LJT_EQ(ljm_encoder4_init(&e, sink, &o, NULL, 1), LJM_E_ARG);
  meta[1].key = NULL;
  LJT_EQ(ljm_encoder4_init(&e, sink, &o, meta, 2), LJM_E_ARG);
  meta[1].key = "";
  meta[1].value = NULL;
  LJT_EQ(ljm_encoder4_init(&e, sink, &o, meta, 2), LJM_E_ARG);
  for (i = 0; i < 4; i++) {
    memset(name, 0, sizeof(name));
    memset(name, 'x', room + (i & 1));
    if (i < 2) meta[0].key = name;
    else meta[0].key = "", meta[0].value = name;
    LJT_EQ(ljm_encoder4_init(&e, sink, &o, meta, 1),
           i & 1 ? LJM_E_ARG : LJM_OK);
    if (i & 1) continue;
    meta[1].value = "";
    LJT_EQ(e.base != NULL, 1);
    e.b.out.open = 0; /* The sink is not to be closed. */
    ljm_encoder4_free(&e);
    LJT_EQ(ljm_encoder4_init(&e, sink, &o, meta, 2), LJM_E_ARG);
  }
}

/* Before the first, behind the last, and the last if it were cut to a byte. */
static int bad_code(int i, int last)
{
  return i == 0 ? -1 : i == 1 ? last + 1 : 256 + last;
}

static void refused_mark(ljm_encoder4 *e, int reason)
{
  ljm_mark m;
  memset(&m, 0, sizeof(m));
  m.reason = (ljm_mark_reason)reason;
  LJT_EQ(ljm_encoder4_mark(e, &m), LJM_E_ARG);
}

/* Codes that the grammar has not: nothing is written of them. */
static void refused_codes(ljm_encoder4 *e)
{
  size_t used = e->defs_used;
  const unsigned char *p = e->b.p;
  int i;
  for (i = 0; i < 3; i++) {
    ljm_object object = (ljm_object)bad_code(i, LJM_OBJECT_JIT);
    ljm_state state = (ljm_state)bad_code(i, LJM_STATE_FINALIZER);
    ljm_gap gap = (ljm_gap)bad_code(i, LJM_GAP_UNKNOWN);
    LJT_EQ(ljm_encoder4_site(e, 0, LJM_STATE_C, object), 0);
    LJT_EQ(ljm_encoder4_site(e, 0, state, LJM_OBJECT_TABLE), 0);
    LJT_EQ(ljm_encoder4_site(e, 0, state, LJM_OBJECT_UNKNOWN), 0);
    LJT_EQ(ljm_encoder4_frame_vm(e, state), 0);
    LJT_EQ(ljm_encoder4_frame_gap(e, gap), 0);
    LJT_EQ(ljm_encoder4_live(e, object, 64), LJM_E_ARG);
    refused_mark(e, bad_code(i, LJM_MARK_PROGRAM));
    LJT_EQ(ljm_encoder4_finish(
             e, (ljm_end_reason)bad_code(i, LJM_END_REPLACED), 0), LJM_E_ARG);
  }
  LJT_EQ(ljm_encoder4_frame_gap(e, (ljm_gap)0), 0);
  refused_mark(e, 0);
  LJT_EQ(e->defs_used, used);
  LJT_OK(e->b.p == p && !e->ended);
}

static void refusals(void)
{
  static char name[70];
  ljm_encoder_options o = fixed_options();
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s), none = sink;
  ljm_encoder4 e;
  ljm_module m;
  LJT_EQ(ljm_encoder4_init(NULL, &sink, NULL, NULL, 0), LJM_E_ARG);
  LJT_EQ(ljm_encoder4_init(&e, NULL, NULL, NULL, 0), LJM_E_ARG);
  none.write = NULL;
  LJT_EQ(ljm_encoder4_init(&e, &none, NULL, NULL, 0), LJM_E_ARG);
  o.alloc.alloc = ljt_heap_alloc; /* One of three. */
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_E_ARG);
  o.alloc.alloc = NULL;
  bad_meta(&sink);
  memset(&e, 0, sizeof(e));
  refuses(NULL, LJM_E_ARG);
  refuses(&e, LJM_E_ARG);
  LJT_EQ(ljm_encoder4_finish(NULL, LJM_END_EXIT, 0), LJM_E_ARG);
  ljm_encoder4_free(NULL);
  ljm_encoder4_free(&e);
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  LJT_EQ(ljm_encoder4_string(&e, NULL, 1), 0);
  LJT_EQ(ljm_encoder4_string(&e, NULL, 0), 1);
  LJT_EQ(ljm_encoder4_module(&e, NULL), 0);
  memset(&m, 0, sizeof(m));
  m.build_id_size = 1;
  LJT_EQ(ljm_encoder4_module(&e, &m), 0);
  m.build_id = name;
  m.build_id_size = sizeof(name); /* Cut to 64. */
  LJT_EQ(ljm_encoder4_module(&e, &m), 1);
  LJT_EQ(e.defs_used, 32 + 3 + 3 + 1 + 64 + 3);
  LJT_EQ(ljm_encoder4_mark(&e, NULL), LJM_E_ARG);
  refused_codes(&e);
  LJT_EQ(ljm_encoder4_alloc(&e, LJM_FMT_SITE_MAX, 8, 8), LJM_OK);
  LJT_EQ(ljm_encoder4_alloc(&e, LJM_FMT_SITE_MAX + 1, 8, 8), LJM_E_ARG);
  LJT_EQ(ljm_encoder4_finish(&e, LJM_END_EXIT, 0), LJM_OK);
  refuses(&e, LJM_E_NOTRUNNING);
  LJT_EQ(s.closed, 1);
  ljm_encoder4_free(&e);
  refuses(&e, LJM_E_ARG);
  ljt_sink_free(&s);
}

/* Each definition and record until a sink that takes nothing is asked. */
static void failing_sink(void)
{
  int which, n;
  for (which = 0; which < DEFS + CALLS; which++) {
    ljm_encoder_options o = fixed_options();
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    ljm_encoder4 e;
    ljm_status st = LJM_OK;
    uint32_t id = 1;
    o.buffer_size = 4096;
    s.fail_at = 1;
    s.result = -5;
    LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
    for (n = 0; n < 5000 && st == LJM_OK && id; n++) {
      if (which < DEFS) id = define(&e, which, (uint32_t)n);
      else st = record(&e, which - DEFS);
    }
    /* Of states and gaps there are too few to fill a block. */
    if (which == 6 || which == 9) LJT_EQ(ljm_encoder4_flush(&e), LJM_E_IO);
    else if (which < DEFS) LJT_EQ(id, 0);
    else LJT_EQ(st, LJM_E_IO);
    LJT_EQ(ljm_encoder4_finish(&e, LJM_END_SINK, 0), LJM_E_IO);
    LJT_EQ(e.b.out.error.sys_errno, 5);
    ljm_encoder4_free(&e);
    LJT_EQ(s.closed, 1);
    ljt_sink_free(&s);
  }
}

/* Where as many as are looked at have the same place in a table of ids, the
** next ones find none: they are defined at each use, under a new id, and the
** first ones keep theirs. */
static uint32_t crowd_string(ljm_encoder4 *e, uint32_t n)
{
  return ljm_encoder4_string(e, (const char *)&n, sizeof(n));
}

static uint32_t crowd_frame(ljm_encoder4 *e, uint32_t n)
{
  return ljm_encoder4_frame_lua(e, 1, n);
}

static uint32_t crowd_stack(ljm_encoder4 *e, uint32_t n)
{
  return ljm_encoder4_stack(e, 0, n);
}

static uint32_t place_string(uint32_t n)
{
  return (uint32_t)(ljmi_hash_bytes((const char *)&n, sizeof(n)) >> 32);
}

static uint32_t place_frame(uint32_t n)
{
  uint32_t key[5] = {LJM_FMT_FRAME_LUA, 0, 0, 1, 0};
  key[1] = n;
  return ljmi_hash_words(key, 5);
}

static uint32_t place_stack(uint32_t n) { return ljmi_stack_hash(0, n); }

#define CROWD (LJMI_PROBES + 8)

static void crowds(void)
{
  static const struct {
    const char *name;
    uint32_t (*define)(ljm_encoder4 *e, uint32_t n);
    uint32_t (*place)(uint32_t n);
  } kinds[] = {
    {"strings", crowd_string, place_string},
    {"frames", crowd_frame, place_frame},
    {"stacks", crowd_stack, place_stack}
  };
  size_t i;
  for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    ljm_encoder_options o = fixed_options();
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    ljm_encoder4 e;
    uint32_t n, id[CROWD], of[CROWD], count = 0, k;
    ljt.row = kinds[i].name;
    LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
    for (n = 1; count < CROWD; n++)
      if (kinds[i].place(n) % 2048 == 7) of[count++] = n;
    /* The table has grown before its crowd comes. */
    for (n = 1; n < 700; n++)
      if (kinds[i].place(n) % 2048 > 200)
        LJT_OK(kinds[i].define(&e, n) != 0);
    for (k = 0; k < CROWD; k++) {
      id[k] = kinds[i].define(&e, of[k]);
      if (k > 0) LJT_EQ(id[k], id[k - 1] + 1);
    }
    for (k = 0; k < LJMI_PROBES; k++)
      LJT_EQ(kinds[i].define(&e, of[k]), id[k]);
    for (; k < CROWD; k++) LJT_EQ(kinds[i].define(&e, of[k]), id[k] + 8);
    LJT_EQ(ljm_encoder4_finish(&e, LJM_END_STOPPED, 0), LJM_OK);
    ljm_encoder4_free(&e);
    ljt_sink_free(&s);
  }
  ljt.row = NULL;
}

/* Names of any length, again and again; those too long are cut. */
static void long_strings(void)
{
  static char name[70000];
  ljm_encoder_options o = fixed_options();
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljm_encoder4 e;
  size_t n;
  uint32_t id = 0;
  o.buffer_size = 1048576;
  o.name_limit = 1048576 / 4;
  memset(name, 'n', sizeof(name));
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  for (n = 0; n < sizeof(name); n += 6999)
    LJT_EQ(ljm_encoder4_string(&e, name, n), ++id);
  LJT_EQ(ljm_encoder4_string(&e, name, sizeof(name)), ++id);
  id = 0;
  for (n = 0; n < sizeof(name); n += 6999)
    LJT_EQ(ljm_encoder4_string(&e, name, n), ++id);
  LJT_EQ(ljm_encoder4_string(&e, name, sizeof(name)), ++id);
  ljm_encoder4_free(&e);
  o.name_limit = 64;
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  id = ljm_encoder4_string(&e, name, 65);
  LJT_EQ(ljm_encoder4_string(&e, name, 65), id);
  LJT_OK(ljm_encoder4_string(&e, name, 66) != id);
  LJT_OK(ljm_encoder4_string(&e, name, 64) != id);
  LJT_EQ(e.strings.texts[id - 1].size, 64);
  ljm_encoder4_free(&e);
  ljt_sink_free(&s);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(records);
  LJT_CASE(widths);
  LJT_CASE(totals);
  LJT_CASE(refusals);
  LJT_CASE(failing_sink);
  LJT_CASE(crowds);
  LJT_CASE(long_strings);
  return ljt_end();
}
