/* What the reports say of single cases: a row is a stream, and lines that the
** report must and must not have. */
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtjson.h"
#include "ljtreport.h"
#include "ljtwalk.h"

#define S1 "ljs\1\0\0\0"
#define S3 "ljs\3\0\0\0"
#define M1 "\x80ljm\1\0\0\0"
#define M3 "\x80ljm\3\0\0\0"
#define PROTO(addr, name) "\0" addr name "\1"
#define A(addr, line, size) "\x09\x10" line addr size  /* alloc, proto 10 */
#define F(addr, size) "\6" addr size                   /* free, internal */

typedef struct row {
  const char *name;
  const char *bytes;
  size_t size;
  ljp_report_options o;
  const char *has;     /* Whole lines, each must stand there, in this order. */
  const char *lacks;   /* Text that must not, or NULL. */
} row;

#define ROW(name, bytes, has, lacks) \
  {name, bytes, sizeof(bytes) - 1, {0, 0, LJP_BY_LINE, LJP_SORT_DEFAULT, 0}, \
   has, lacks}
#define WITH(name, bytes, by, sort, limit, has, lacks) \
  {name, bytes, sizeof(bytes) - 1, {0, 0, by, sort, limit}, has, lacks}

#define LINES \
  S1 "\0\x10\x07@d/a.ly\x05\0\x20\x06@d/b.l\x09\0\x30\2=c\1" M1 \
  "\x09\x10\6\1\x40" "\x09\x10\7\2\x40" "\x09\x20\6\3\x20" "\x09\x30\1\4\x08" \
  "\x0d\x50\5\1" "\5\6\2" "\x80"

static const row rows[] = {
  /* S7 */
  ROW("free of a block never seen",
      S1 PROTO("\x10", "\2@a") M1 A("\1", "\7", "\x20") F("\2", "\x30") "\x80",
      "INTERNAL: 1 events\t+0B\t-48B\n@a:7 holds 32B: 1 allocs, 0 frees\n"
      "from before the start: 1 blocks, 48B\n", "anomaly"),
  ROW("realloc of a block never seen",
      S1 PROTO("\x10", "\2@a") M1 "\x0b\x10\7\2\x30\3\x40\x80",
      "@a:7: 1 events\t+64B\t-48B\n@a:7 holds 64B: 1 allocs, 0 frees\n"
      "from before the start: 1 blocks, 48B\n", "Overrides"),
  ROW("free of address 0",
      S1 M1 F("\0", "\0") F("\0", "\7") "\x80",
      "events: 0\ndeallocations: 0, -0B\nfrees of address 0, left out: 2\n",
      "INTERNAL"),
  ROW("allocated twice: the newer wins",
      S1 PROTO("\x10", "\2@a") M1 A("\1", "\7", "\x20") A("\1", "\x08", "\x30")
      "\x80", "@a:8 holds 48B: 1 allocs, 0 frees\n"
      "held at the end: 1 blocks, 48B\nanomaly, allocated while live: 1\n",
      "@a:7 holds"),
  ROW("another old size than recorded",
      S1 M1 "\5\1\x20" F("\1", "\x21") "\x80",
      "held at the end: 0 blocks, 0B\nanomaly, old size differs: 1\n", "holds"),
  /* S8 */
  ROW("a prototype's address is used again",
      S3 PROTO("\x10", "\2@a") M3 A("\1", "\7", "\x20")
      "\x08\x10\2@b\1" A("\2", "\7", "\x30") "\x80",
      "@a:7: 1 events\t+32B\t-0B\n@b:7: 1 events\t+48B\t-0B\n"
      "@b:7 holds 48B: 1 allocs, 0 frees\n@a:7 holds 32B: 1 allocs, 0 frees\n",
      NULL),
  ROW("the same name again is no other line",
      S3 PROTO("\x10", "\2@a") M3 A("\1", "\7", "\x20")
      "\x08\x10\2@b\1" A("\2", "\7", "\x30") "\x08\x10\2@a\1"
      A("\3", "\7", "\x20") "\x80", "@a:7: 2 events\t+64B\t-0B\n"
      "@b:7: 1 events\t+48B\t-0B\n", NULL),
  ROW("two prototypes, one line",
      S1 PROTO("\x10", "\2@a") PROTO("\x20", "\2@a") M1 A("\1", "\7", "\x20")
      "\x09\x20\7\2\x20\x80", "@a:7: 2 events\t+64B\t-0B\n", NULL),
  ROW("a prototype that is defined too late keeps what came before",
      S3 M3 A("\1", "\7", "\x20") "\x08\x10\2@a\1" A("\2", "\7", "\x20")
      "\x80", "@a:7: 1 events\t+32B\t-0B\nLFUNC 0x10:7: 1 events\t+32B\t-0B\n",
      NULL),
  ROW("a C address is used again",
      S3 "\1\x10\1f" M3 "\x0d\x10\1\1\x0c\x10\1g\x0d\x10\2\1\x80",
      "f:0x10: 1 events\t+1B\t-0B\ng:0x10: 1 events\t+1B\t-0B\n", NULL),
  ROW("a trace number is used again",
      S3 PROTO("\x10", "\2@a") "\2\7\x10\3" M3 "\x11\7\1\1\x10\7\x10\4"
      "\x11\7\2\1\x80", "TRACE [7] started at @a:3: 1 events\t+1B\t-0B\n"
      "TRACE [7] started at @a:4: 1 events\t+1B\t-0B\n", NULL),
  ROW("a trace keeps the name of where it started",
      S3 PROTO("\x10", "\2@a") "\2\7\x10\3" M3 "\x08\x10\2@b\1\x11\7\1\1\x80",
      "TRACE [7] started at @a:3: 1 events\t+1B\t-0B\n", "@b"),
  /* S9 */
  ROW("a C address outside every symbol",
      S3 "\1\x20\1f" M3 "\x0d\x10\1\1\x0d\x20\2\1\x0d\x21\3\1\x80",
      "CFUNC 0x10: 1 events\t+1B\t-0B\nf+0x1?: 1 events\t+1B\t-0B\n"
      "f:0x20: 1 events\t+1B\t-0B\n", NULL),
  ROW("imports at a library's base never count",
      S3 "\1\x80\x20\1p\1\x80\x40\1f\1\x80\x40\1g" M3 "\x0d\x90\x40\1\1\x80",
      "p+0x1010?: 1 events\t+1B\t-0B\n", "g+0x"),
  ROW("no symbols at all", S1 M1 "\x0d\x90\x40\1\1\x80",
      "CFUNC 0x2010: 1 events\t+1B\t-0B\n", NULL),
  /* S10 */
  ROW("names that would act on a terminal",
      S1 PROTO("\x10", "\x0b\x1b[2J\x7f\r\x85\xff%s;") M1
      A("\1", "\7", "\x20") "\x80",
      "\\x1b[2J\\x7f\\x0d\\x85\\xff%s;:7: 1 events\t+32B\t-0B\n", "\x1b"),
  ROW("UTF-8 stays, broken UTF-8 and turned text do not",
      S1 PROTO("\x10", "\x0c" "caf\xc3\xa9 \xe2\x80\xae \xe2\x80") M1
      A("\1", "\7", "\x20") "\x80",
      "caf\xc3\xa9 \\xe2\\x80\\xae \\xe2\\x80:7: 1 events\t+32B\t-0B\n",
      "\xe2"),
  ROW("source text for a name",
      S1 PROTO("\x10", "\6a\n\nb\tc") M1 A("\1", "\7", "\x20") "\x80",
      "function_alias_1:7: 1 events\t+32B\t-0B\nALIASES:\n"
      "function_alias_1:\n1\t| a\n2\t| b\\x09c\n", NULL),
  /* S16 */
  ROW("a realloc moves the bytes to its place",
      S1 PROTO("\x10", "\2@a") M1 A("\1", "\7", "\x20")
      "\x0b\x10\x08\1\x20\2\x40\x80",
      "\tOverrides:\n\t\t@a:7\n@a:8 holds 64B: 1 allocs, 0 frees\n",
      "@a:7 holds"),
  ROW("a realloc in place does so too",
      S1 PROTO("\x10", "\2@a") M1 A("\1", "\7", "\x20")
      "\x0b\x10\x08\1\x20\1\x40\x80",
      "@a:8 holds 64B: 1 allocs, 0 frees\nheld at the end: 1 blocks, 64B\n",
      "anomaly"),
  ROW("a realloc of address 0 is an allocation",
      S1 PROTO("\x10", "\2@a") M1 "\x0b\x10\x08\0\0\1\x40\x80",
      "@a:8 holds 64B: 1 allocs, 0 frees\n"
      "from before the start: 0 blocks, 0B\n", NULL),
  /* S17 */
  ROW("a failed allocation holds nothing",
      S1 PROTO("\x10", "\2@a") M1 A("\0", "\7", "\x20") "\x80",
      "events: 1\nallocations: 0, +0B\nheld at the end: 0 blocks, 0B\n"
      "failed calls: 1\n", "@a"),
  ROW("after a failed realloc the old block lives on",
      S1 PROTO("\x10", "\2@a") M1 A("\1", "\7", "\x20")
      "\x0b\x10\x08\1\x20\0\x40\x80",
      "@a:7 holds 32B: 1 allocs, 0 frees\nfailed calls: 1\n", "@a:8"),
  /* S18 */
  ROW("garbage trace numbers are one row",
      S3 M3 "\x11\0\1\1\x11\x80\x80\4\2\1\x11\xff\xff\xff\xff\xff\1\3\1\x80",
      "unknown trace: 3 events\t+3B\t-0B\n", "TRACE"),
  ROW("trace 65535 may be one", S3 M3 "\x11\xff\xff\3\1\1\x80",
      "TRACE [65535]: 1 events\t+1B\t-0B\n", "unknown"),
  ROW("stray record",
      S3 M3 "\1\x20\1f\x0d\x20\2\1\x80", "f:0x20: 1 events\t+1B\t-0B\n"
      "stray records, read as C symbols: 1\n", NULL),
  /* S1, S6 */
  ROW("cut: the report of what came before",
      S1 PROTO("\x10", "\2@a") M1 A("\1", "\7", "\x20") "\x09\x10",
      "@a:7 holds 32B: 1 allocs, 0 frees\n"
      "incomplete: cut at byte 28 (event part; whole up to byte 26)\n", NULL),
  ROW("bytes after the end",
      S1 PROTO("\x10", "\2@a") M1 A("\1", "\7", "\x20") "\x80\0",
      "@a:7 holds 32B: 1 allocs, 0 frees\nincomplete: malformed at byte 27 "
      "(bytes after the end; record at byte 27)\n", NULL),
  ROW("nothing", "", "ALLOCATIONS\nREALLOCATIONS\nDEALLOCATIONS\n"
      "HEAP SUMMARY:\nTOTALS:\nevents: 0\n", "ALIASES"),
  /* S2 */
  ROW("numbers to 2^64-1", S1 M1 "\5\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"
      "\x80", "INTERNAL: 1 events\t+18446744073709551615B\t-0B\n"
      "INTERNAL holds 18446744073709551615B: 1 allocs, 0 frees\n", NULL),
  /* Freed by the very next event. */
  ROW("temporary blocks",
      S1 M1 "\5\1\7" F("\1", "\7") "\5\1\x09\5\2\x0a" F("\1", "\x09") "\x80",
      "freed by the next event: 1 blocks, 7B\n", NULL),
  /* Units, order, limit. */
  WITH("by function", LINES, LJP_BY_FUNCTION, LJP_SORT_DEFAULT, 0,
       "@d/a.ly function at line 5: 2 events\t+128B\t-0B\n"
       "=c function at line 1: 1 events\t+8B\t-0B\n"
       "@d/b.l function at line 9: 1 events\t+32B\t-0B\n"
       "CFUNC 0x50: 1 events\t+1B\t-0B\n", "a.ly:"),
  WITH("by file", LINES, LJP_BY_FILE, LJP_SORT_DEFAULT, 0,
       "@d/a.ly: 2 events\t+128B\t-0B\n=c: 1 events\t+8B\t-0B\n"
       "C functions: 1 events\t+1B\t-0B\n", NULL),
  WITH("by dir", LINES, LJP_BY_DIR, LJP_SORT_DEFAULT, 0,
       "@d/: 3 events\t+160B\t-0B\n@d/ holds 160B: 3 allocs, 0 frees\n",
       "a.ly"),
  WITH("by bytes", LINES, LJP_BY_LINE, LJP_SORT_BYTES, 0,
       "@d/a.ly:6: 1 events\t+64B\t-0B\n@d/a.ly:7: 1 events\t+64B\t-0B\n"
       "@d/b.l:6: 1 events\t+32B\t-0B\n=c:1: 1 events\t+8B\t-0B\n", NULL),
  WITH("by name", LINES, LJP_BY_LINE, LJP_SORT_NAME, 0,
       "=c:1: 1 events\t+8B\t-0B\n@d/a.ly:6: 1 events\t+64B\t-0B\n"
       "CFUNC 0x50: 1 events\t+1B\t-0B\n", NULL),
  WITH("limited", LINES, LJP_BY_LINE, LJP_SORT_BYTES, 2,
       "@d/a.ly:7: 1 events\t+64B\t-0B\n(4 more lines)\n", "b.l")
};

static void text_of(const row *r, ljp_format format, ljt_bytes *out)
{
  ljp_profile *p;
  ljp_report_options o = r->o;
  if (!LJT_EQ(ljp_profile_new(&p, NULL), LJP_OK)) abort();
  ljp_profile_feed(p, r->bytes, r->size);
  ljp_profile_finish(p);
  ljt_check_profile(p);
  LJT_EQ(ljp_profile_report(p, format, &o, ljt_gather, out), LJP_OK);
  ljt_raw(out, "", 1);
  ljp_profile_free(p);
}

static void table(void)
{
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const row *r = &rows[i];
    ljt_bytes out = {NULL, 0, 0};
    const char *want = r->has, *at;
    ljt.row = r->name;
    text_of(r, LJP_TEXT, &out);
    at = (const char *)out.data;
    while (*want && at) {
      char line[300];
      size_t n = strcspn(want, "\n") + 1;
      memcpy(line, want, n);
      line[n] = 0;
      at = strstr(at, line);
      if (at && at != (const char *)out.data && at[-1] != '\n') at = NULL;
      if (!LJT_OK(at != NULL)) printf("  no line %s%s", line, out.data);
      want += n;
    }
    if (r->lacks && !LJT_OK(!strstr((const char *)out.data, r->lacks)))
      printf("  has %s\n%s", r->lacks, out.data);
    ljt_bytes_free(&out);
  }
}

/* JSON of every row is JSON, and says the same sums. */
static void json(void)
{
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljt_bytes out = {NULL, 0, 0};
    const char *p, *totals, *held;
    ljt.row = rows[i].name;
    text_of(&rows[i], LJP_JSON, &out);
    p = (const char *)out.data;
    LJT_OK(strncmp(p, "{\"schema\": \"ljparse-report-1\"", 28) == 0);
    LJT_OK(ljt_json_valid(p));
    totals = strstr(p, "\"live_bytes\": ");
    held = strstr(p, "\"rows\": [");
    LJT_OK(totals && held && totals < held);
    ljt_bytes_free(&out);
  }
  ljt.row = NULL;
}

/* Exact text of one, since its schema is promised. */
static void json_exact(void)
{
  static const row r = ROW("", S1 PROTO("\x10", "\4@a\"\xff") M1
                           A("\1", "\7", "\x20") F("\1", "\x20")
                           A("\2", "\7", "\x30") "\x80", "", NULL);
  static const char want[] =
    "{\"schema\": \"ljparse-report-1\", \"by\": \"line\",\n"
    "\"complete\": true, \"error\": null,\n"
    "\"totals\": {\"events\": 3, \"alloc_count\": 2, \"alloc_bytes\": 80, "
    "\"realloc_count\": 0, \"realloc_new_bytes\": 0, "
    "\"realloc_old_bytes\": 0, \"free_count\": 1, \"free_bytes\": 32, "
    "\"failed_count\": 0, \"live_count\": 1, \"live_bytes\": 48, "
    "\"peak_count\": 1, \"peak_bytes\": 48, \"peak_event\": 3, "
    "\"temp_count\": 1, \"temp_bytes\": 32, \"before_count\": 0, "
    "\"before_bytes\": 0, \"again_count\": 0, \"size_count\": 0, "
    "\"null_free_count\": 0, \"stray_count\": 0, \"sampled_count\": 0, "
    "\"alloc_error\": 0, \"live_error\": 0},\n"
    "\"rows\": [\n"
    "{\"label\": \"@a\\u0022\\ufffd:7\", \"kind\": \"lua\", "
    "\"name\": \"@a\\u0022\\ufffd\", \"line\": 7, \"trace\": null, "
    "\"alloc_count\": 2, \"alloc_bytes\": 80, \"realloc_count\": 0, "
    "\"realloc_new_bytes\": 0, \"realloc_old_bytes\": 0, "
    "\"free_count\": 0, \"free_bytes\": 0, \"failed_count\": 0, "
    "\"live_count\": 1, \"live_bytes\": 48, \"taken_count\": 2, "
    "\"given_count\": 1, \"peak_count\": 1, \"peak_bytes\": 48, "
    "\"temp_count\": 1, \"temp_bytes\": 32, \"alloc_error\": 0, "
    "\"live_error\": 0,\n"
    " \"frees\": [], \"moves\": []},\n"
    "{\"label\": \"INTERNAL\", \"kind\": \"internal\", \"name\": null, "
    "\"line\": null, \"trace\": null, "
    "\"alloc_count\": 0, \"alloc_bytes\": 0, \"realloc_count\": 0, "
    "\"realloc_new_bytes\": 0, \"realloc_old_bytes\": 0, "
    "\"free_count\": 1, \"free_bytes\": 32, \"failed_count\": 0, "
    "\"live_count\": 0, \"live_bytes\": 0, \"taken_count\": 0, "
    "\"given_count\": 0, \"peak_count\": 0, \"peak_bytes\": 0, "
    "\"temp_count\": 0, \"temp_bytes\": 0, \"alloc_error\": 0, "
    "\"live_error\": 0,\n"
    " \"frees\": [\"@a\\u0022\\ufffd:7\"], \"moves\": []}\n"
    "],\n\"rows_left_out\": 0}\n";
  ljt_bytes out = {NULL, 0, 0};
  text_of(&r, LJP_JSON, &out);
  LJT_STR((const char *)out.data, want);
  ljt_bytes_free(&out);
}

static int refuse(void *user, const void *p, size_t size)
{
  uint64_t *left = (uint64_t *)user;
  (void)p;
  if (size > *left) return 1;
  *left -= size;
  return 0;
}

/* What does not fit is refused; a write that fails is told. */
static void refusals(void)
{
  ljp_profile *p;
  ljp_options o;
  ljp_report_options ro;
  uint64_t left = 10, all = UINT64_MAX;
  memset(&o, 0, sizeof(o));
  memset(&ro, 0, sizeof(ro));
  LJT_EQ(ljp_profile_new(&p, &o), LJP_OK);
  LJT_EQ(ljp_profile_report(p, LJP_CLASSIC, NULL, refuse, &all), LJP_E_ARG);
  LJT_EQ(ljp_profile_report(p, (ljp_format)9, NULL, refuse, &all), LJP_E_ARG);
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, NULL, NULL, NULL), LJP_E_ARG);
  ro.by = (ljp_by)4;
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, &ro, refuse, &all), LJP_E_ARG);
  ro.by = LJP_BY_LINE;
  ro.sort = (ljp_sort)4;
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, &ro, refuse, &all), LJP_E_ARG);
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, NULL, refuse, &left), LJP_E_IO);
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, NULL, refuse, &all), LJP_OK);
  ljp_profile_free(p);
  o.model = LJP_MODEL_CLASSIC;
  LJT_EQ(ljp_profile_new(&p, &o), LJP_OK);
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, NULL, refuse, &all), LJP_E_ARG);
  LJT_EQ(ljp_profile_report(p, LJP_JSON, NULL, refuse, &all), LJP_E_ARG);
  LJT_EQ(ljp_profile_report(p, LJP_CLASSIC, NULL, refuse, &all), LJP_OK);
  ljp_profile_free(p);
  ljp_profile_free(NULL);
  LJT_EQ(ljp_profile_new(NULL, NULL), LJP_E_ARG);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(table);
  LJT_CASE(json);
  LJT_CASE(json_exact);
  LJT_CASE(refusals);
  return ljt_end();
}
