/* The decoder by table, in all splits, and against a second decoder. */
#define _POSIX_C_SOURCE 200809L
#include "ljparse.h"
#include "ljtdecode.h"
#include "ljttold.h"

#define S1 "ljs\1\0\0\0"
#define S2 "ljs\2\0\0\0"
#define S3 "ljs\3\0\0\0"
#define M1 "\x80ljm\1\0\0\0"
#define M2 "\x80ljm\2\0\0\0"
#define M3 "\x80ljm\3\0\0\0"
#define BIG9 "\xff\xff\xff\xff\xff\xff\xff\xff\xff"
#define NONE (UINT64_MAX)

typedef struct row {
  const char *name;
  const char *bytes;
  size_t size;
  ljp_status status;
  uint64_t off, record;      /* Of the error; NONE: not checked. */
  const char *text;          /* NULL: not checked. */
  unsigned version;
  ljp_limit limit;
} row;

#define ROW(name, bytes, status, off, record, text) \
  {name, bytes, sizeof(bytes) - 1, status, off, record, text, 0, \
   LJP_LIMIT_NONE}
#define VERSION(name, bytes, off, version) \
  {name, bytes, sizeof(bytes) - 1, LJP_E_UNSUPPORTED, off, NONE, NULL, \
   version, LJP_LIMIT_NONE}
#define GOOD(name, bytes, text) ROW(name, bytes, LJP_END, 0, 0, text)
#define BAD(name, bytes, off, record) \
  ROW(name, bytes, LJP_E_MALFORMED, off, record, NULL)
#define CUT(name, bytes, record) \
  ROW(name, bytes, LJP_E_TRUNCATED, sizeof(bytes) - 1, record, NULL)

static const row rows[] = {
  /* Ends. */
  CUT("nothing", "", 0),
  CUT("one byte", "l", 0),
  CUT("header without version", "ljs", 0),
  CUT("header cut", "ljs\3\0\0", 0),
  CUT("header only", S3, 7),
  CUT("symbols without end", S3 "\0\1\1a\1", 12),
  CUT("symbol part only", S3 "\x80", 8),
  CUT("event header cut", S3 "\x80ljm\3\0", 8),
  CUT("no epilogue", S3 M3, 15),
  CUT("events, no epilogue", S3 M3 "\5\1\1", 18),
  CUT("event cut in a number", S3 M3 "\5\1\1\5\x81", 18),
  CUT("event cut in its header's fields", S3 M3 "\5", 15),
  CUT("name cut", S3 "\1\5\7abc", 7),
  CUT("long name cut", S3 "\1\5\xff\x7f" "abc", 7),
  GOOD("no events", S3 M3 "\x80", "events 3\n"),
  GOOD("reserved bytes are not looked at", "ljs\3\1\2\3\xffljm\3\4\5\6\x80",
       "events 3\n"),
  BAD("after the end", S3 M3 "\x80\x80", 16, 16),
  BAD("zeros after the end", S3 M3 "\x80\0\0\0\0", 16, 16),
  BAD("a second stream", S3 M3 "\x80" S3 M3 "\x80", 16, 16),
  /* Magic and versions. */
  BAD("wrong magic", "ljx\3\0\0\0", 0, 0),
  BAD("wrong magic, first byte", "x", 0, 0),
  BAD("text", "{\"events\":[]}", 0, 0),
  BAD("event part first", "ljm\3\0\0\0\x80", 0, 0),
  BAD("wrong second magic", S3 "\x80ljs\3\0\0\0\x80", 8, 8),
  BAD("zeros for the second magic", S3 "\x80\0\0\0\0\0\0\0\0", 8, 8),
  VERSION("symbols 0", "ljs\0\0\0\0\x80", 3, 0),
  VERSION("symbols 5", "ljs\5", 3, 5),
  VERSION("symbols 255", "ljs\xff", 3, 255),
  VERSION("events 0", S3 "\x80ljm\0\0\0\0\x80", 11, 0),
  VERSION("events 4 after symbols 3", S3 "\x80ljm\4\0\0\0\x80", 11, 4),
  VERSION("events 5", S3 "\x80ljm\5\0\0\0\x80", 11, 5),
  VERSION("events 255", S1 "\x80ljm\xff\0\0\0\x80", 11, 255),
  VERSION("pair 1/3", S1 M3 "\x80", 11, 3),
  VERSION("pair 2/1", S2 M1 "\x80", 11, 1),
  VERSION("pair 3/1", S3 M1 "\x80", 11, 1),
  VERSION("pair 3/2", S3 M2 "\x80", 11, 2),
  /* Symbols. */
  GOOD("symbols 1", S1 "\0\x05\2@a\7" M1 "\x80",
       "proto 5 '@a' 7\nevents 1\n"),
  GOOD("symbols 3", S3 "\0\x05\2@a\7\1\0\0\2\1\5\x09" M3 "\x80",
       "proto 5 '@a' 7\ncsym 0 ''\ntrace 1 5 9\nevents 3\n"),
  BAD("csym in 1", S1 "\1\x05\1a", 7, 7),
  BAD("trace in 1", S1 "\2\x05\1a", 7, 7),
  BAD("kind 2 in 2", S2 "\2\x05\1a", 7, 7),
  BAD("kind 3 in 3", S3 "\3\x05\1a", 7, 7),
  BAD("kind 4", S3 "\4\x05\1a", 7, 7),
  BAD("unused bit of a kind", S3 "\x40\x05\1a\1", 7, 7),
  BAD("prototype 0", S3 "\0\0\1a\1", 8, 7),
  BAD("trace 0", S3 "\2\0\1\1", 8, 7),
  BAD("zero-filled symbol part", S3 "\0\0\0\0\0\0\0\0\0\0", 8, 7),
  GOOD("end byte ff", S3 "\xffljm\3\0\0\0\x80", "events 3\n"),
  GOOD("first line 2^64-1", S1 "\0\5\2@b" BIG9 "\1" M1 "\x80",
       "proto 5 '@b' 18446744073709551615\nevents 1\n"),
  /* Numbers. */
  GOOD("2^64-1 everywhere", S3 M3 "\x0b" BIG9 "\1" BIG9 "\1" BIG9 "\1" BIG9
       "\1" BIG9 "\1" BIG9 "\1\x80",
       "events 3\nrealloc lua 18446744073709551615 18446744073709551615 "
       "18446744073709551615 18446744073709551615 18446744073709551615 "
       "18446744073709551615\n"),
  GOOD("2^63, 2^56, 2^49", S3 M3 "\x0b\x80\x80\x80\x80\x80\x80\x80\x80\x80\1"
       "\x80\x80\x80\x80\x80\x80\x80\x80\1\x80\x80\x80\x80\x80\x80\x80\1"
       "\1\1\1\x80",
       "events 3\nrealloc lua 9223372036854775808 72057594037927936 "
       "562949953421312 1 1 1\n"),
  GOOD("longer than need be", S3 M3 "\5\x81\x80\0\x81\x80\x80\x80\x80\x80\x80"
       "\x80\x80\0\x80", "events 3\nalloc internal 1 1\n"),
  BAD("11 bytes", S3 M3 "\5\1" BIG9 "\x80\0\x80", 17, 15),
  BAD("tenth byte 2", S3 M3 "\5" BIG9 "\2\1\x80", 16, 15),
  BAD("tenth byte 127", S3 M3 "\5" BIG9 "\x7f\1\x80", 16, 15),
  BAD("all ff", S3 M3 "\x0b\1\2" BIG9 BIG9, 18, 15),
  BAD("long number in a symbol", S3 "\0" BIG9 "\2", 8, 7),
  CUT("number of 10 cut after 9", S3 M3 "\5" BIG9, 15),
  /* Strings: a length is refused before anything is allocated. */
  {"name of 2^63", S3 "\1\5\x80\x80\x80\x80\x80\x80\x80\x80\x80\1", 19,
   LJP_E_LIMIT, 9, 7, "", 0, LJP_LIMIT_STRING},
  {"name over the limit", S3 "\1\5\x81\x80\x80\x08" "abc", 16, LJP_E_LIMIT, 9,
   7, "", 0, LJP_LIMIT_STRING},
  CUT("name of 16 MiB cut", S3 "\1\5\x80\x80\x80\x08" "abc", 7),
  GOOD("name with any bytes", S3 "\1\5\4\0\n\x80 " M3 "\x80",
       "csym 5 '\\00\\0a\\80\\20'\nevents 3\n"),
  /* Events. */
  GOOD("every source of 1", S1 M1 "\5\1\2\x09\3\4\5\6\x0d\7\x08\x09\x80",
       "events 1\nalloc internal 1 2\nalloc lua 3 4 5 6\nalloc c 7 8 9\n"),
  BAD("trace in events 1", S1 M1 "\x11\1\2\3\x80", 15, 15),
  GOOD("trace in events 2", S1 M2 "\x11\1\2\3\4\x12\1\2\3\4\x80",
       "events 2\nalloc trace 1 2 3 4\nfree trace 1 2 3 4\n"),
  GOOD("trace in events 3", S3 M3 "\x11\1\2\3\x13\1\2\3\4\5\x80",
       "events 3\nalloc trace 1 2 3\nrealloc trace 1 2 3 4 5\n"),
  BAD("symbol event in 1", S1 M1 "\x08\1\1a\1\x80", 15, 15),
  BAD("symbol event in 2", S2 M2 "\x0c\1\1a\x80", 15, 15),
  GOOD("symbol events", S3 M3 "\x08\1\1a\2\x0c\0\1b\x10\3\4\5\x80",
       "events 3\nsymbol proto 1 'a' 2\nsymbol csym 0 'b'\n"
       "symbol trace 3 4 5\n"),
  BAD("symbol event, prototype 0", S3 M3 "\x08\0\1a\2", 16, 15),
  BAD("symbol event, trace 0", S3 M3 "\x10\0\1\2", 16, 15),
  BAD("symbol event of source internal", S3 M3 "\4\1\2", 15, 15),
  BAD("source 0, symbol", S3 M3 "\0\1\2", 15, 15),
  BAD("source 0, free", S3 M3 "\2\1\2", 15, 15),
  BAD("source 0, realloc", S3 M3 "\3\1\2\3\4", 15, 15),
  BAD("source 5", S3 M3 "\x15\1\2", 15, 15),
  BAD("source 7", S3 M3 "\x1d\1\2", 15, 15),
  BAD("unused bit 5", S3 M3 "\x25\1\2", 15, 15),
  BAD("unused bit 6", S3 M3 "\x45\1\2", 15, 15),
  BAD("end with another bit", S3 M3 "\x81", 15, 15),
  BAD("end ff", S3 M3 "\xff", 15, 15),
  BAD("zero-filled event part", S3 M3 "\0\0\0\0\0\0\0\0", 15, 15),
  BAD("zeros after events", S3 M3 "\5\1\1\0\0\0\0\0", 18, 18),
  ROW("what came before a fault", S3 M3 "\5\1\1\6\1\1\x45\1\2",
      LJP_E_MALFORMED, 21, 21,
      "events 3\nalloc internal 1 1\nfree internal 1 1\n"),
  ROW("what came before a cut", S3 M3 "\5\1\1\6\1", LJP_E_TRUNCATED, 20, 18,
      "events 3\nalloc internal 1 1\n"),
  /* Stray records: a known writer's fault, in 3/3 and 2/3. */
  GOOD("stray record", S3 M3 "\1\7\1x\5\1\1\x80",
       "events 3\nsymbol csym 7 'x'\nalloc internal 1 1\n"),
  BAD("stray record in 2", S1 M2 "\1\7\1x\x80", 15, 15),
  CUT("stray record cut", S3 M3 "\1\7\2x", 15),
  /* Traces of 2/2 and 2/3. */
  GOOD("2/2", S2 "\1\1\2\3\4" M2 "\x11\1\2\3\4\x80",
       "trace 1 2 3 4\nevents 2\nalloc trace 1 2 3 4\n"),
  GOOD("2/3 with address", S2 "\1\1\2\3\4\0\5\1a\2" M3 "\x11\1\2\3\4\x80",
       "trace 1 2 3 4\nproto 5 'a' 2\nevents 3\nalloc trace 1 2 3 4\n"),
  GOOD("2/3 without", S2 "\1\1\3\4\0\5\1a\2" M3 "\x11\1\3\4\x80",
       "trace 1 3 4\nproto 5 'a' 2\nevents 3\nalloc trace 1 3 4\n"),
  GOOD("2/3, one trace with address", S2 "\1\1\2\3\4" M3 "\x80",
       "trace 1 2 3 4\nevents 3\n"),
  GOOD("2/3, one trace without", S2 "\1\1\3\4" M3 "\x80",
       "trace 1 3 4\nevents 3\n"),
  /* Both layouts reach "ljm" at one place: four traces without address are
  ** three with (1 1 1 1 | 1 1 1 ...). */
  GOOD("2/3, both fit", S2 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1" M3
       "\x80", "trace 1 1 1\ntrace 1 1 1\ntrace 1 1 1\ntrace 1 1 1\n"
       "trace 1 1 1\nevents 3\n"),
  GOOD("2/2, both fit", S2 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1" M2
       "\x80", "trace 1 1 1 1\ntrace 1 1 1 1\ntrace 1 1 1 1\n"
       "trace 1 1 1 1\nevents 2\n"),
  BAD("2/?, neither fits", S2 "\1\1\2\3\4\5\6", 12, 12),
  CUT("2/?, cut while both fit", S2 "\1\1\1\1\1\1\1\1", 15),
  GOOD("2/3, no trace symbols, a trace location", S2 M3 "\x11\1\2\3\4\x80",
       "events 3\nalloc trace 1 2 3 4\n"),
  GOOD("2/3, no trace symbols, a trace symbol event",
       S2 M3 "\x10\1\2\3\x11\1\2\3\x80",
       "events 3\nsymbol trace 1 2 3\nalloc trace 1 2 3\n"),
  /* Where the layout that got further ends: at the version that forbids it. */
  BAD("2/2 whose traces have no address", S2 "\1\1\3\4\0\5\1a\2" M2 "\x80",
      17, 17)
};

static void check(const row *r, size_t most)
{
  ljt_decoded d;
  ljt_decode(&d, r->bytes, r->size, most, NULL);
  LJT_EQ(d.status, r->status);
  if (r->status == LJP_END) LJT_EQ(d.error.status, LJP_OK);
  else LJT_EQ(d.error.status, r->status);
  if (r->off != NONE) LJT_EQ(d.error.off, r->off);
  if (r->record != NONE) LJT_EQ(d.error.record_off, r->record);
  LJT_EQ(d.error.version, r->version);
  LJT_EQ(d.error.limit, r->limit);
  if (r->text)
    LJT_MEM(d.text.data, d.text.size, r->text, strlen(r->text));
  ljt_bytes_free(&d.text);
}

static void table(void)
{
  size_t i, most;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljt.row = rows[i].name;
    for (most = 0; most < 20; most++) check(&rows[i], most);
  }
}

/* An option overrides what the data tell of a 2/3 stream. */
static void layout_option(void)
{
  static const char both[] =
    S2 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1" M3 "\x80";
  static const char none[] = S2 M3 "\x11\1\2\3\4\1\2\x80";
  static const char four[] = S2 "\1\1\3\4" "\x80ljm\4\0\0\0";
  static const char tie[] = S2 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1" "w";
  ljp_options o;
  ljt_decoded d;
  memset(&o, 0, sizeof(o));
  o.trace_layout = LJP_TRACE_WITH_ADDR;
  ljt_decode(&d, both, sizeof(both) - 1, 0, &o);
  LJT_EQ(d.status, LJP_END);
  LJT_EQ(d.records, 5);
  ljt_bytes_free(&d.text);
  o.trace_layout = LJP_TRACE_WITHOUT_ADDR;
  ljt_decode(&d, both, sizeof(both) - 1, 3, &o);
  LJT_EQ(d.status, LJP_END);
  LJT_EQ(d.records, 6);
  ljt_bytes_free(&d.text);
  /* 11 1 2 3 is then an event, 4 a symbol of source internal. */
  ljt_decode(&d, none, sizeof(none) - 1, 0, &o);
  LJT_EQ(d.status, LJP_E_MALFORMED);
  LJT_EQ(d.error.off, 19);
  ljt_bytes_free(&d.text);
  /* A version that nothing is known of says nothing of the layout. */
  o.trace_layout = LJP_TRACE_WITH_ADDR;
  ljt_decode(&d, four, sizeof(four) - 1, 0, &o);
  LJT_EQ(d.status, LJP_E_UNSUPPORTED);
  LJT_EQ(d.error.version, 4);
  LJT_EQ(d.records, 1);
  ljt_bytes_free(&d.text);
  /* Both ways come to the same malformed byte: then without address. */
  ljt_decode(&d, tie, sizeof(tie) - 1, 0, NULL);
  LJT_EQ(d.status, LJP_E_MALFORMED);
  LJT_EQ(d.records, 5);
  ljt_bytes_free(&d.text);
}

/* A stream of random records of a version pair, as the grammar has them. */
static void random_stream(ljt_bytes *b, ljt_rng *rng, unsigned s, unsigned m,
                          int mcode)
{
  uint64_t i, n = ljt_below(rng, 30);
  ljt_raw(b, "ljs", 3);
  ljt_le(b, s, 4);
  for (i = 0; i < n; i++) {
    unsigned kind = (unsigned)ljt_below(rng, s == 1 ? 1 : s);
    ljt_b(b, kind);
    ljt_u(b, 1 + (ljt_rand(rng) >> ljt_below(rng, 64)) / 2);
    if (kind == (s == 3 ? 2u : 1u)) {
      if (mcode) ljt_u(b, 1 + ljt_below(rng, 1u << 30));
      ljt_u(b, ljt_rand(rng) >> ljt_below(rng, 64));
    } else {
      ljt_s(b, "chunk name", (size_t)ljt_below(rng, 11));
    }
    if (kind != 1 || s == 2) ljt_u(b, ljt_rand(rng) >> ljt_below(rng, 64));
  }
  ljt_raw(b, "\x80ljm", 4);
  ljt_le(b, m, 4);
  n = ljt_below(rng, 200);
  for (i = 0; i < n; i++) {
    unsigned event = 1 + (unsigned)ljt_below(rng, 3);
    unsigned source = 1 + (unsigned)ljt_below(rng, m == 1 ? 3 : 4), k;
    ljt_b(b, source << 2 | event);
    if (source > 1) ljt_u(b, ljt_rand(rng) >> ljt_below(rng, 64));
    if (source == 2 || (source == 4 && mcode))
      ljt_u(b, 1 + (ljt_rand(rng) >> ljt_below(rng, 64)) / 2);
    for (k = 0; k < (event == 3 ? 4u : 2u); k++)
      ljt_u(b, ljt_rand(rng) >> ljt_below(rng, 64));
  }
  ljt_b(b, 0x80);
}

/* Whole streams and their prefixes say the same as the second decoder. */
static void against_second_decoder(void)
{
  static const unsigned pairs[][2] = {{1, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 3}};
  ljt_rng rng = ljt_rng_make(ljt.seed);
  uint64_t round, rounds = 3000 / ljt.stride;
  for (round = 0; round < rounds; round++) {
    const unsigned *pair = pairs[ljt_below(&rng, 5)];
    int mcode = pair[1] == 2 || (pair[0] == 2 && ljt_below(&rng, 2));
    ljt_bytes b = {NULL, 0, 0}, text = {NULL, 0, 0};
    ljp_options o;
    ljt_decoded d;
    size_t size, stop;
    int want;
    memset(&o, 0, sizeof(o));
    o.trace_layout = mcode ? LJP_TRACE_WITH_ADDR : LJP_TRACE_WITHOUT_ADDR;
    random_stream(&b, &rng, pair[0], pair[1], mcode);
    size = ljt_below(&rng, 2) ? b.size : (size_t)ljt_below(&rng, b.size + 1);
    want = ljt_dump(b.data, size, mcode, &text, NULL, &stop);
    ljt_decode(&d, b.data, size, (size_t)ljt_below(&rng, 100), &o);
    if (want == LJT_CLEAN) LJT_EQ(d.status, LJP_END);
    if (want == LJT_CUT) LJT_EQ(d.status, LJP_E_TRUNCATED);
    /* A symbol part that is held back is not handed on before its end. */
    if (d.in_events || pair[0] != 2)
      LJT_MEM(d.text.data, d.text.size, text.data, text.size);
    ljt_bytes_free(&d.text);
    ljt_bytes_free(&text);
    ljt_bytes_free(&b);
  }
}

/* Calls go on giving the first error; a free of NULL is none. */
static void errors_stick(void)
{
  ljp_handler h = {NULL, NULL, NULL};
  ljp_decoder *d;
  LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
  LJT_EQ(ljp_decoder_feed(d, "", 0), LJP_MORE);
  LJT_EQ(ljp_decoder_feed(d, "ljs\3\0\0\0\x40", 8), LJP_E_MALFORMED);
  LJT_EQ(ljp_decoder_feed(d, "\x80", 1), LJP_E_MALFORMED);
  LJT_EQ(ljp_decoder_finish(d), LJP_E_MALFORMED);
  LJT_EQ(ljp_decoder_error(d)->off, 7);
  ljp_decoder_free(d);
  LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
  LJT_EQ(ljp_decoder_finish(d), LJP_E_TRUNCATED);
  LJT_EQ(ljp_decoder_feed(d, "l", 1), LJP_E_TRUNCATED);
  ljp_decoder_free(d);
  LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
  LJT_EQ(ljp_decoder_feed(d, S3 M3 "\x80", 16), LJP_END);
  LJT_EQ(ljp_decoder_feed(d, "", 0), LJP_END);
  LJT_EQ(ljp_decoder_finish(d), LJP_END);
  LJT_EQ(ljp_decoder_offset(d), 16);
  LJT_EQ(ljp_decoder_feed(d, "x", 1), LJP_E_MALFORMED);
  LJT_EQ(ljp_decoder_error(d)->section, LJP_SECTION_AFTER_END);
  ljp_decoder_free(d);
  LJT_EQ(ljp_decoder_new(NULL, &h, NULL), LJP_E_ARG);
  LJT_EQ(ljp_decoder_new(&d, NULL, NULL), LJP_E_ARG);
  ljp_decoder_free(NULL);
}

typedef struct stopper {
  uint64_t events, stop_at;
} stopper;

static ljp_status stop_at(void *user, const ljp_event *ev, size_t count,
                          size_t *failed)
{
  stopper *s = (stopper *)user;
  size_t i;
  (void)ev;
  for (i = 0; i < count; i++)
    if (++s->events == s->stop_at) {
      *failed = i;
      return LJP_E_NOMEM;
    }
  return LJP_OK;
}

/* A handler's refusal stops the decoder at that event's offset. */
static void handler_stops(void)
{
  uint64_t at;
  for (at = 1; at <= 300; at++) {
    stopper s = {0, 0};
    ljp_handler h = {stop_at, NULL, NULL};
    ljp_decoder *d;
    uint64_t i;
    s.stop_at = at;
    h.user = &s;
    LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
    LJT_EQ(ljp_decoder_feed(d, S3 M3, 15), LJP_MORE);
    for (i = 0; i < 300; i += 100) {
      static char events[300];
      size_t k;
      for (k = 0; k < sizeof(events); k++) events[k] = k % 3 ? 1 : 5;
      if (ljp_decoder_feed(d, events, sizeof(events)) > LJP_MORE) break;
    }
    LJT_EQ(ljp_decoder_finish(d), LJP_E_NOMEM);
    LJT_EQ(ljp_decoder_error(d)->off, 15 + 3 * (at - 1));
    LJT_EQ(s.events, at);
    ljp_decoder_free(d);
  }
}

/* Limits at n-1, n, n+1, with where they strike. */
static void limits(void)
{
  static const char name[] = S3 "\1\5\3abc" M3 "\5\1\1\5\2\2\x80";
  static const char held[] = S2 "\1\1\2\3\4\0\5\1a\2" M3 "\x80";
  ljp_options o;
  ljt_decoded d;
  uint64_t n;
  for (n = 1; n <= 6; n++) {
    memset(&o, 0, sizeof(o));
    o.limits.string = n;
    ljt_decode(&d, name, sizeof(name) - 1, 0, &o);
    LJT_EQ(d.status, n < 3 ? LJP_E_LIMIT : LJP_END);
    if (n < 3) LJT_EQ(d.error.limit, LJP_LIMIT_STRING);
    ljt_bytes_free(&d.text);
    /* A name, the versions, two events. */
    memset(&o, 0, sizeof(o));
    o.limits.records = n;
    ljt_decode(&d, name, sizeof(name) - 1, 4, &o);
    LJT_EQ(d.status, n < 4 ? LJP_E_LIMIT : LJP_END);
    if (n < 4) LJT_EQ(d.error.limit, LJP_LIMIT_RECORDS);
    if (n == 2) LJT_EQ(d.error.off, 21);
    if (n == 3) LJT_EQ(d.error.off, 24);
    LJT_EQ(d.events, n < 2 ? 0 : n < 4 ? n - 2 : 2);
    ljt_bytes_free(&d.text);
  }
  for (n = 1; n < 30; n++) {
    memset(&o, 0, sizeof(o));
    o.limits.hold = n;
    ljt_decode(&d, held, sizeof(held) - 1, 1, &o);
    /* The held part and the four bytes after it that tell. */
    LJT_EQ(d.status, n < 15 ? LJP_E_LIMIT : LJP_END);
    if (n < 15) LJT_EQ(d.error.limit, LJP_LIMIT_HOLD);
    ljt_bytes_free(&d.text);
  }
}

/* A long record in small pieces takes time in proportion to its length. */
static void long_name_in_pieces(void)
{
  ljt_bytes b = {NULL, 0, 0};
  ljt_decoded d;
  size_t i;
  ljt_raw(&b, S3 "\1\5", 9);
  ljt_u(&b, 3000000);
  for (i = 0; i < 3000000; i++) ljt_b(&b, 'n');
  ljt_raw(&b, M3 "\x80", 9);
  memset(&d, 0, sizeof(d));
  {
    ljp_handler h = {NULL, NULL, NULL};
    ljp_decoder *dec;
    LJT_EQ(ljp_decoder_new(&dec, &h, NULL), LJP_OK);
    for (i = 0; i < b.size; i++) ljp_decoder_feed(dec, b.data + i, 1);
    LJT_EQ(ljp_decoder_finish(dec), LJP_END);
    ljp_decoder_free(dec);
  }
  ljt_bytes_free(&b);
}

/* Every word of an error, in rooms of any size. */
static void texts(void)
{
  static const char *const statuses[] = {
    "no error", "end of stream", "more bytes expected", "bad argument",
    "out of memory", "cannot write", "limit reached", "malformed",
    "unsupported version", "cut"
  };
  static const struct said {
    ljp_error e;
    const char *text;
  } said[] = {
    {{LJP_OK, LJP_SECTION_NONE, LJP_LIMIT_NONE, 0, 1, 0},
     "no error at byte 1 (stream)"},
    {{LJP_E_IO, LJP_SECTION_BLOCKS, LJP_LIMIT_NONE, 0, 2, 1},
     "cannot write at byte 2 (blocks)"},
    {{LJP_E_TRUNCATED, LJP_SECTION_SYMBOL_HEADER, LJP_LIMIT_NONE, 0, 3, 1},
     "cut at byte 3 (header of the symbol part; whole up to byte 1)"},
    {{LJP_E_UNSUPPORTED, LJP_SECTION_EVENT_HEADER, LJP_LIMIT_NONE, 9, 3, 0},
     "version 9 at byte 3 (header of the event part), this tool reads 1-4 in "
     "the pairs that exist"},
    {{LJP_E_MALFORMED, LJP_SECTION_AFTER_END, LJP_LIMIT_NONE, 0, 7, 6},
     "malformed at byte 7 (bytes after the end; record at byte 6)"},
    {{LJP_E_MALFORMED, (ljp_section)99, LJP_LIMIT_NONE, 0, 7, 6},
     "malformed at byte 7 (stream; record at byte 6)"},
#define LIMIT(which, text) \
    {{LJP_E_LIMIT, LJP_SECTION_EVENTS, which, 0, 4, 4}, \
     "limit reached at byte 4 (event part): " text}
    LIMIT(LJP_LIMIT_NONE, "none"), LIMIT((ljp_limit)99, "none"),
    LIMIT(LJP_LIMIT_MEMORY, "memory"),
    LIMIT(LJP_LIMIT_STRING, "string length"),
    LIMIT(LJP_LIMIT_HOLD, "bytes held back to tell the trace layout"),
    LIMIT(LJP_LIMIT_RECORDS, "number of records"),
    LIMIT(LJP_LIMIT_SYMBOLS, "number of symbols"),
    LIMIT(LJP_LIMIT_SITES, "number of sites"),
    LIMIT(LJP_LIMIT_LIVE, "number of live blocks"),
#undef LIMIT
  };
  size_t i, size;
  for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
    LJT_STR(ljp_status_text((ljp_status)i), statuses[i]);
  LJT_STR(ljp_status_text((ljp_status)i), "unknown status");
  for (i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
    char buf[200], all[200];
    LJT_STR(ljp_error_text(&said[i].e, all, sizeof(all)), said[i].text);
    for (size = 0; size < 30; size++) {
      memset(buf, '~', sizeof(buf));
      LJT_OK(ljp_error_text(&said[i].e, buf, size) == buf);
      if (size && strlen(all) >= size) all[size - 1] = 0;
      if (size) LJT_STR(buf, all);
      LJT_EQ(buf[size], '~');
      snprintf(all, sizeof(all), "%s", said[i].text);
    }
  }
}

/* Events are handed on 64 at once, what is left at the end of a piece; also
** where the last of them are read one by one. */
static void full_batches(void)
{
  size_t n, i;
  for (n = 0; n < 300; n++) {
    ljt_bytes b = {NULL, 0, 0};
    ljt_batches got = {0, 0, 0, LJP_OK};
    ljp_handler h = {ljt_count_batch, NULL, NULL};
    ljp_decoder *d;
    h.user = &got;
    ljt_raw(&b, S3 M3, 15);
    for (i = 0; i < n; i++) ljt_raw(&b, "\5\1\1", 3);
    LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
    LJT_EQ(ljp_decoder_feed(d, b.data, b.size), LJP_MORE);
    LJT_EQ(got.events, n);
    LJT_EQ(got.calls, (n + 63) / 64);
    LJT_EQ(got.most, n < 64 ? n : 64);
    ljp_decoder_free(d);
    ljt_bytes_free(&b);
  }
}

/* Nobody listens: records and events are read and dropped. */
static void no_handlers(void)
{
  static const char bytes[] = S3 "\1\5\1a" M3 "\5\1\1\x80";
  ljp_handler h;
  ljp_decoder *d;
  memset(&h, 0, sizeof(h));
  LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
  LJT_EQ(ljp_decoder_feed(d, bytes, sizeof(bytes) - 1), LJP_END);
  LJT_EQ(ljp_decoder_finish(d), LJP_END);
  LJT_EQ(ljp_decoder_offset(d), sizeof(bytes) - 1);
  LJT_EQ(ljp_decoder_error(d)->status, LJP_OK);
  ljp_decoder_free(d);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(table);
  LJT_CASE(layout_option);
  LJT_CASE(against_second_decoder);
  LJT_CASE(errors_stick);
  LJT_CASE(handler_stops);
  LJT_CASE(no_handlers);
  LJT_CASE(full_batches);
  LJT_CASE(limits);
  LJT_CASE(long_name_in_pieces);
  LJT_CASE(texts);
  return ljt_end();
}
