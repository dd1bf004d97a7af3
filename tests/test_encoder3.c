/* Format 3 byte by byte, and what the encoder does when its sink fails. */
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

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(records);
  LJT_CASE(uleb);
  return ljt_end();
}
