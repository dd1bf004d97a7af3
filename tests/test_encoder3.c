/* Format 3 byte by byte, and what the encoder refuses. */
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljtest.h"
#include "ljtsink.h"

#define SYM "ljs\x03\0\0\0"
#define EVT "\x80ljm\x03\0\0\0"

typedef struct rec {
  char what; /* p proto, c csym, t trace, o open, a, f, r */
  ljm_source source;
  uint64_t n[6];
  const char *name;
} rec;

static ljm_status feed(ljm_encoder *e, const rec *r)
{
  ljm_where w;
  const uint64_t *n = r->n;
  size_t len = r->name ? strlen(r->name) : 0;
  w.source = r->source;
  w.address = n[0];
  w.line = n[1];
  switch (r->what) {
  case 'p': return ljm_encoder_proto(e, n[0], r->name, len, n[1]);
  case 'c': return ljm_encoder_csym(e, n[0], r->name, len);
  case 't': return ljm_encoder_trace(e, n[0], n[1], n[2]);
  case 'o': return ljm_encoder_open(e);
  case 'a': return ljm_encoder_alloc(e, &w, n[2], n[3]);
  case 'f': return ljm_encoder_dealloc(e, &w, n[2], n[3]);
  default: return ljm_encoder_realloc(e, &w, n[2], n[3], n[4], n[5]);
  }
}

static const struct row {
  const char *name;
  rec r[3];
  const char *bytes;
  size_t size;
} rows[] = {
#define ROW(name, bytes, ...) {name, {__VA_ARGS__}, bytes, sizeof(bytes) - 1}
#define OPEN {'o', LJM_SOURCE_LUA, {0, 0, 0, 0, 0, 0}, NULL}
#define R(what, src, a, b, c, d, e, f, name) \
  {what, LJM_SOURCE_##src, {a, b, c, d, e, f}, name}
  ROW("empty", SYM EVT "\x80", OPEN),
  ROW("proto entry", SYM "\x00\x80\x02\x02@a\x07" EVT "\x80",
      R('p', LUA, 256, 7, 0, 0, 0, 0, "@a"), OPEN),
  ROW("csym entry", SYM "\x01\x00\x01x" EVT "\x80",
      R('c', C, 0, 0, 0, 0, 0, 0, "x"), OPEN),
  ROW("trace entry", SYM "\x02\x01\x80\x01\x09" EVT "\x80",
      R('t', TRACE, 1, 128, 9, 0, 0, 0, NULL), OPEN),
  ROW("proto event", SYM EVT "\x08\x05\x00\x00\x80", OPEN,
      R('p', LUA, 5, 0, 0, 0, 0, 0, "")),
  ROW("csym event", SYM EVT "\x0c\x7f\x02yz\x80", OPEN,
      R('c', C, 127, 0, 0, 0, 0, 0, "yz")),
  ROW("trace event", SYM EVT "\x10\x01\x02\x03\x80", OPEN,
      R('t', TRACE, 1, 2, 3, 0, 0, 0, NULL)),
  ROW("alloc internal", SYM EVT "\x05\x10\x20\x80", OPEN,
      R('a', INTERNAL, 0, 0, 16, 32, 0, 0, NULL)),
  ROW("alloc lua", SYM EVT "\x09\x01\x02\x10\x20\x80", OPEN,
      R('a', LUA, 1, 2, 16, 32, 0, 0, NULL)),
  ROW("alloc c", SYM EVT "\x0d\x01\x10\x20\x80", OPEN,
      R('a', C, 1, 2, 16, 32, 0, 0, NULL)),
  ROW("alloc trace", SYM EVT "\x11\x01\x10\x20\x80", OPEN,
      R('a', TRACE, 1, 2, 16, 32, 0, 0, NULL)),
  ROW("alloc failed", SYM EVT "\x05\x00\x20\x80", OPEN,
      R('a', INTERNAL, 0, 0, 0, 32, 0, 0, NULL)),
  ROW("free", SYM EVT "\x0a\x01\x02\x10\x20\x80", OPEN,
      R('f', LUA, 1, 2, 16, 32, 0, 0, NULL)),
  ROW("free of nothing", SYM EVT "\x80", OPEN,
      R('f', LUA, 1, 2, 0, 0, 0, 0, NULL)),
  ROW("realloc", SYM EVT "\x0b\x01\x02\x10\x20\x11\x21\x80", OPEN,
      R('r', LUA, 1, 2, 16, 32, 17, 33, NULL)),
  ROW("numbers", SYM EVT "\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x01"
      "\xff\xff\xff\xff\xff\xff\xff\x7f\x80\x80\x80\x80\x80\x80\x80\x80\x01"
      "\xff\x7f\x80\x80\x01\x80", OPEN,
      R('r', LUA, UINT64_MAX, 128, (UINT64_C(1) << 56) - 1, UINT64_C(1) << 56,
        16383, 16384, NULL)),
#undef ROW
#undef R
};

static void records(void)
{
  size_t i, k;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljt_sink s;
    ljm_encoder e;
    ljm_sink sink = ljt_sink_make(&s);
    ljt.row = rows[i].name;
    LJT_EQ(ljm_encoder_init(&e, &sink, NULL), LJM_OK);
    for (k = 0; k < 3 && rows[i].r[k].what; k++)
      LJT_EQ(feed(&e, &rows[i].r[k]), LJM_OK);
    LJT_EQ(s.calls, 0);
    LJT_EQ(ljm_encoder_finish(&e), LJM_OK);
    LJT_EQ(ljm_encoder_finish(&e), LJM_OK);
    LJT_MEM(s.data, s.size, rows[i].bytes, rows[i].size);
    LJT_EQ(s.closed, 1);
    ljm_encoder_free(&e);
    LJT_EQ(s.closed, 1);
    ljt_sink_free(&s);
  }
}

/* Every power of two and its neighbours, against a loop. */
static void uleb(void)
{
  unsigned bit;
  int d;
  for (bit = 0; bit < 64; bit++) {
    for (d = -1; d <= 1; d++) {
      uint64_t v = (UINT64_C(1) << bit) + (uint64_t)(int64_t)d;
      unsigned char a[16] = {0}, b[16] = {0};
      size_t na = (size_t)(ljmi_put_uleb(a, v) - a);
      size_t nb = (size_t)(ljmi_put_uleb_loop(b, v) - b);
      LJT_MEM(a, na, b, nb);
    }
  }
}

/* Each call but init, finish and free. */
static void refuses(ljm_encoder *e, ljm_status want)
{
  ljm_where w;
  w.source = LJM_SOURCE_C;
  w.address = w.line = 1;
  LJT_EQ(ljm_encoder_proto(e, 1, "x", 1, 1), want);
  LJT_EQ(ljm_encoder_csym(e, 1, "x", 1), want);
  LJT_EQ(ljm_encoder_trace(e, 1, 1, 1), want);
  LJT_EQ(ljm_encoder_open(e), want);
  LJT_EQ(ljm_encoder_alloc(e, &w, 8, 8), want);
  LJT_EQ(ljm_encoder_dealloc(e, &w, 8, 8), want);
  LJT_EQ(ljm_encoder_realloc(e, &w, 8, 8, 16, 8), want);
  LJT_EQ(ljm_encoder_flush(e), want);
}

static void bad_where(ljm_encoder *e, const ljm_where *w)
{
  LJT_EQ(ljm_encoder_alloc(e, w, 8, 8), LJM_E_ARG);
  LJT_EQ(ljm_encoder_dealloc(e, w, 8, 8), LJM_E_ARG);
  LJT_EQ(ljm_encoder_realloc(e, w, 8, 8, 16, 8), LJM_E_ARG);
}

static void refusals(void)
{
  ljt_sink s;
  ljm_encoder e;
  ljm_encoder_options o;
  ljm_sink sink = ljt_sink_make(&s), none = sink;
  ljm_where w;
  none.write = NULL;
  LJT_EQ(ljm_encoder_init(NULL, &sink, NULL), LJM_E_ARG);
  LJT_EQ(ljm_encoder_init(&e, NULL, NULL), LJM_E_ARG);
  LJT_EQ(ljm_encoder_init(&e, &none, NULL), LJM_E_ARG);
  memset(&o, 0, sizeof(o));
  o.alloc.free = ljt_heap_free; /* One of three. */
  LJT_EQ(ljm_encoder_init(&e, &sink, &o), LJM_E_ARG);
  memset(&e, 0, sizeof(e));
  refuses(NULL, LJM_E_ARG);
  refuses(&e, LJM_E_ARG);
  LJT_EQ(ljm_encoder_finish(NULL), LJM_E_ARG);
  LJT_EQ(ljm_encoder_finish(&e), LJM_E_ARG);
  ljm_encoder_free(NULL);
  ljm_encoder_free(&e);
  LJT_EQ(ljm_encoder_init(&e, &sink, NULL), LJM_OK);
  w.source = LJM_SOURCE_C;
  w.address = w.line = 1;
  LJT_EQ(ljm_encoder_alloc(&e, &w, 8, 8), LJM_E_ARG); /* Not open yet. */
  LJT_EQ(ljm_encoder_open(&e), LJM_OK);
  LJT_EQ(ljm_encoder_open(&e), LJM_E_ARG);
  LJT_EQ(ljm_encoder_proto(&e, 0, "x", 1, 1), LJM_E_ARG);
  LJT_EQ(ljm_encoder_proto(&e, 1, NULL, 1, 1), LJM_E_ARG);
  LJT_EQ(ljm_encoder_csym(&e, 1, NULL, 1), LJM_E_ARG);
  LJT_EQ(ljm_encoder_trace(&e, 0, 1, 1), LJM_E_ARG);
  bad_where(&e, NULL);
  w.source = (ljm_source)0;
  bad_where(&e, &w);
  w.source = (ljm_source)5;
  bad_where(&e, &w);
  LJT_EQ(ljm_encoder_proto(&e, 1, NULL, 0, 1), LJM_OK);
  LJT_EQ(ljm_encoder_csym(&e, 1, NULL, 0), LJM_OK);
  LJT_EQ(ljm_encoder_finish(&e), LJM_OK);
  LJT_MEM(s.data, s.size, SYM EVT "\x08\1\0\1\x0c\1\0\x80", 23);
  refuses(&e, LJM_E_NOTRUNNING);
  ljm_encoder_free(&e);
  refuses(&e, LJM_E_ARG);
  ljt_sink_free(&s);
}

/* Symbols until a sink that takes nothing is asked. */
static void failing_symbols(void)
{
  int which, i;
  for (which = 0; which < 4; which++) {
    ljt_sink s;
    ljm_encoder e;
    ljm_encoder_options o;
    ljm_sink sink = ljt_sink_make(&s);
    ljm_status st = LJM_OK;
    memset(&o, 0, sizeof(o));
    o.buffer_size = 4096;
    s.fail_at = 1;
    s.result = -5;
    LJT_EQ(ljm_encoder_init(&e, &sink, &o), LJM_OK);
    for (i = 0; i < 2000 && st == LJM_OK; i++)
      st = which == 0 ? ljm_encoder_proto(&e, 1, "x", 1, 1)
           : which == 1 ? ljm_encoder_csym(&e, 1, "x", 1)
                        : ljm_encoder_trace(&e, 1, 1, 1);
    LJT_EQ(st, LJM_E_IO);
    if (which == 3) LJT_EQ(ljm_encoder_open(&e), LJM_E_IO);
    LJT_EQ(ljm_encoder_finish(&e), LJM_E_IO);
    LJT_EQ(e.b.out.error.sys_errno, 5);
    ljm_encoder_free(&e);
    ljt_sink_free(&s);
  }
}

static void status_texts(void)
{
  static const char *const texts[] = {
    "no error", "invalid argument", "not enough memory",
    "cannot read or write", "limit reached", "malformed input",
    "unsupported input", "input ends too early", "not found",
    "profiler is running already", "profiler is not running"
  };
  static const ljm_status statuses[] = {
    LJM_OK, LJM_E_ARG, LJM_E_NOMEM, LJM_E_IO, LJM_E_LIMIT, LJM_E_MALFORMED,
    LJM_E_UNSUPPORTED, LJM_E_TRUNCATED, LJM_E_NOTFOUND, LJM_E_RUNNING,
    LJM_E_NOTRUNNING
  };
  size_t i;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
    LJT_STR(ljm_status_text(statuses[i]), texts[i]);
  LJT_STR(ljm_status_text((ljm_status)-1), "unknown status");
  LJT_STR(ljm_status_text((ljm_status)999), "unknown status");
  LJT_EQ(ljmi_fail(NULL, LJM_E_IO, 1, 2), LJM_E_IO);
}

/* Blocks in a caller's buffer: the last one grows and goes in place. */
static void buffer_blocks(void)
{
  static union { uint64_t align[2]; unsigned char b[256]; } buf;
  ljm_arena arena;
  ljm_allocator a;
  unsigned char *base, *p, *q;
  size_t lost = (size_t)(0 - (uintptr_t)buf.b) & 15;
  base = buf.b + lost;
  ljm_arena_allocator(&a, &arena, base, 96);
  p = (unsigned char *)a.alloc(a.user, 20);
  q = (unsigned char *)a.alloc(a.user, 64);
  LJT_OK(p == base && q == base + 32);
  LJT_OK(!a.alloc(a.user, 1));
  a.free(a.user, p, 20); /* Not the last: stays. */
  LJT_OK(!a.alloc(a.user, 1));
  a.free(a.user, q, 64);
  q = (unsigned char *)a.alloc(a.user, 16);
  LJT_OK(q == base + 32);
  LJT_OK(a.realloc(a.user, q, 16, 64) == q);
  LJT_OK(!a.realloc(a.user, q, 64, 65));
  LJT_OK(a.realloc(a.user, q, 64, 16) == q);
  memcpy(p, "first", 6);
  q = (unsigned char *)a.realloc(a.user, p, 20, 6);
  LJT_OK(q == base + 48);
  LJT_STR((char *)q, "first");
  p = (unsigned char *)a.realloc(a.user, p, 20, 30);
  LJT_OK(p == base + 64);
  LJT_STR((char *)p, "first");
  ljm_arena_allocator(&a, &arena, base + 1, 14);
  LJT_OK(!a.alloc(a.user, 1)); /* All of it is lost to alignment. */
  LJT_OK(!a.realloc(a.user, base, 8, 9));
  ljm_arena_allocator(&a, &arena, base + 1, 16);
  LJT_OK(a.alloc(a.user, 1) == base + 16);
}

static void array_sizes(void)
{
  ljm_memory m;
  ljm_allocator a;
  void *p;
  memset(&a, 0, sizeof(a));
  LJT_EQ(ljmi_memory_init(&m, &a, 1000), LJM_OK);
  LJT_OK(!ljmi_alloc_array(&m, 0, 8));
  LJT_EQ(m.status, LJM_E_LIMIT);
  LJT_OK(!ljmi_alloc_array(&m, SIZE_MAX / 8 + 1, 8));
  LJT_OK(!ljmi_alloc_array(&m, 126, 8));
  p = ljmi_alloc_array(&m, 125, 8);
  LJT_OK(p != NULL);
  LJT_EQ(m.used_size, 1000);
  LJT_OK(!ljmi_grow_array(&m, p, 125, 126, 8));
  p = ljmi_grow_array(&m, p, 125, 125, 8);
  LJT_OK(p != NULL);
  LJT_EQ(m.used_size, 1000);
  ljmi_free_array(&m, p, 125, 8);
  ljmi_free_array(&m, NULL, 125, 8);
  LJT_EQ(m.used_size, 0);
  a.realloc = ljt_heap_realloc;
  LJT_EQ(ljmi_memory_init(&m, &a, 1000), LJM_E_ARG);
  a.alloc = ljt_heap_alloc;
  LJT_EQ(ljmi_memory_init(&m, &a, 1000), LJM_E_ARG);
}

/* Addresses and sizes come many times: at first a check of the clock is due,
** later their highest bits are those kept and there is room at hand. What is
** written is the same as by a loop. */
static void near(void)
{
  static const uint64_t sizes[] = {1, 0x7f, 0x80, 0x3fff, 0x4000, UINT64_MAX};
  unsigned bit, k;
  for (bit = 0; bit < 64; bit++) {
    for (k = 0; k < 18; k++) {
      uint64_t a = (UINT64_C(1) << bit) + (uint64_t)((int64_t)(k % 3) - 1);
      unsigned char want[64 * 32] = {0}, *p = want;
      ljm_where w = {LJM_SOURCE_C, 300, 0};
      ljt_sink s;
      ljm_encoder e;
      ljm_sink sink = ljt_sink_make(&s);
      int i;
      if (a == 0) continue;
      LJT_EQ(ljm_encoder_init(&e, &sink, NULL), LJM_OK);
      for (i = 0; i < 64; i++) {
        *p++ = 0x0d;
        p = ljmi_put_uleb_loop(ljmi_put_uleb_loop(p, 300), a);
        p = ljmi_put_uleb_loop(p, sizes[k / 3]);
        if (i == 0) LJT_EQ(ljm_encoder_open(&e), LJM_OK);
        LJT_EQ(ljm_encoder_alloc(&e, &w, a, sizes[k / 3]), LJM_OK);
      }
      LJT_EQ(ljm_encoder_finish(&e), LJM_OK);
      LJT_MEM(s.data + 15, s.size - 16, want, (size_t)(p - want));
      ljm_encoder_free(&e);
      ljt_sink_free(&s);
    }
  }
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(records);
  LJT_CASE(uleb);
  LJT_CASE(refusals);
  LJT_CASE(failing_symbols);
  LJT_CASE(status_texts);
  LJT_CASE(buffer_blocks);
  LJT_CASE(array_sizes);
  LJT_CASE(near);
  return ljt_end();
}
