/* From a stream to its call tree: names of strangers come out harmless and
** source text unseen, sums are the aggregate's, budgets and windows count
** what they say. With --write=FILE it only writes the hostile stream. */
#include "ljparse.h"
#include "ljtest.h"
#include "ljtheap.h"
#include "ljtjson.h"
#include "ljttree.h"

typedef struct ljt_bytes {
  unsigned char data[65536];
  size_t size;
} ljt_bytes;

static ljt_bytes stream, text;

static void ljt_put(ljt_bytes *b, const void *p, size_t size)
{
  if (size > sizeof(b->data) - b->size) abort();
  memcpy(b->data + b->size, p, size);
  b->size += size;
}

static int ljt_write(void *user, const void *p, size_t size)
{
  ljt_put((ljt_bytes *)user, p, size);
  return 0;
}

static void ljt_num(ljt_bytes *b, uint64_t n)
{
  unsigned char c;
  for (; n >= 0x80; n >>= 7) {
    c = (unsigned char)(n | 0x80);
    ljt_put(b, &c, 1);
  }
  c = (unsigned char)n;
  ljt_put(b, &c, 1);
}

/* Chunk names as attackers write them, and how they must be shown. */
static const struct {
  const char *bytes;
  size_t size;
  const char *shown;
} names[] = {
#define ROW(bytes, shown) {bytes, sizeof(bytes) - 1, shown}
  ROW("@</script><script>window.intruder=1</script>.lua",
      "</script><script>window.intruder=1</script>.lua:1"),
  ROW("@<img src=x onerror=window.intruder=1>", "<img src=x onerror="),
  ROW("@\033]0;owned\007\033[31mred.lua", "\\x1b]0;owned\\x07\\x1b[31mred"),
  ROW("@\"';`${7*7}{{7*7}}%s%n.lua", "\"';`${7*7}{{7*7}}%s%n.lua:4"),
  ROW("@bad\377utf\300\2578.lua", "bad\\xffutf\\xc0\\xaf8.lua:5"),
  ROW("@turn\342\200\256lua.exe", "turn\\xe2\\x80\\xaelua.exe:6"),
  ROW("@\303\251t\303\251/\344\270\255\346\226\207.lua",
      "\303\251t\303\251/\344\270\255\346\226\207.lua:7"),
  ROW("@a;b c.lua", "a;b c.lua:8"),
  ROW("local secret = 'hunter2'\nreturn secret", "[source text #"),
  ROW("return 'one line', 42", "[source text #"),
  ROW("=stdin", "stdin:11"),
  ROW("plugin/init", "plugin/init:12"),
  ROW("@<!--<script>", "<!--<script>:13"),
  ROW("@line\nbreak\r\t\0nul", "line\\x0abreak\\x0d\\x09\\x00nul:14"),
  ROW("", "?")
#undef ROW
};
#define NAMES (sizeof(names) / sizeof(*names))

/* A format 3 stream: chunk i allocates i + 1 times 100 bytes at line i + 1,
** and frees the first of them if it has more than one. */
static void ljt_hostile(ljt_bytes *b)
{
  size_t i, k;
  uint64_t addr = 0x10000;
  b->size = 0;
  ljt_put(b, "ljs\3\0\0\0", 7);
  for (i = 0; i < NAMES; i++) {
    ljt_put(b, "\0", 1);
    ljt_num(b, 0x1000 + i * 16);
    ljt_num(b, names[i].size);
    ljt_put(b, names[i].bytes, names[i].size);
    ljt_num(b, 1);
  }
  ljt_put(b, "\200ljm\3\0\0\0", 8);
  for (i = 0; i < NAMES; i++) {
    for (k = 0; k <= i; k++) {
      ljt_num(b, 2 << 2 | 1);
      ljt_num(b, 0x1000 + i * 16);
      ljt_num(b, i + 1);
      ljt_num(b, addr + k * 128);
      ljt_num(b, 100);
    }
    if (i) {
      ljt_num(b, 2 << 2 | 2);
      ljt_num(b, 0x1000 + i * 16);
      ljt_num(b, i + 1);
      ljt_num(b, addr);
      ljt_num(b, 100);
    }
    addr += 0x10000;
  }
  ljt_put(b, "\200", 1);
}

static ljp_profile *ljt_profile(const ljp_options *options)
{
  ljp_profile *p = NULL;
  ljt_hostile(&stream);
  LJT_EQ(ljp_profile_new(&p, options), LJP_OK);
  LJT_EQ(ljp_profile_feed(p, stream.data, stream.size), LJP_END);
  LJT_EQ(ljp_profile_finish(p), LJP_END);
  return p;
}

static ljp_tree *ljt_tree(const ljp_options *options,
                          const ljp_tree_options *how)
{
  ljp_profile *p = ljt_profile(options);
  ljp_tree *t = NULL;
  LJT_EQ(ljp_profile_tree(p, how, &t), LJP_OK);
  ljp_profile_free(p);
  return t;
}

/* The text as JSON without the quotes around it, to be found in the model. */
static void ljt_quote(const char *s, char *out)
{
  for (; *s; s++) {
    if (strchr("\"\\<>&", *s))
      out += sprintf(out, "\\u%04x", (unsigned char)*s);
    else
      *out++ = *s;
  }
  *out = 0;
}

static void model_is_harmless(void)
{
  ljp_tree *t = ljt_tree(NULL, NULL);
  size_t i;
  LJT_EQ(ljp_tree_prune(t, 0, 100000), LJP_OK);
  text.size = 0;
  LJT_EQ(ljp_tree_model(t, ljt_write, &text), LJP_OK);
  ljt_put(&text, "", 1);
  LJT_OK(ljt_json_valid((const char *)text.data));
  for (i = 0; i + 1 < text.size; i++)
    if (text.data[i] != '\n' && (text.data[i] < 0x20 || text.data[i] == 0x7f ||
                                 strchr("<>&", text.data[i])))
      break;
  LJT_EQ(i + 1, text.size);
  for (i = 0; i + 1 < NAMES; i++) {
    char shown[256], *colon;
    ljt.row = names[i].shown;
    ljt_quote(names[i].shown, shown);
    colon = strrchr(shown, ':'); /* The line stands apart. */
    if (colon) *colon = 0;
    LJT_OK(strstr((const char *)text.data, shown) != NULL);
  }
  ljt.row = NULL;
  LJT_OK(strstr((const char *)text.data, "hunter2") == NULL);
  LJT_OK(strstr((const char *)text.data, "one line") == NULL);
  ljp_tree_free(t);
}

static void source_is_shown_if_asked(void)
{
  ljp_tree_options how;
  ljp_tree *t;
  memset(&how, 0, sizeof(how));
  how.show_source = 1;
  t = ljt_tree(NULL, &how);
  LJT_EQ(ljp_tree_prune(t, 0, 100000), LJP_OK);
  text.size = 0;
  LJT_EQ(ljp_tree_model(t, ljt_write, &text), LJP_OK);
  ljt_put(&text, "", 1);
  LJT_OK(strstr((const char *)text.data, "hunter2") != NULL);
  ljp_tree_free(t);
}

/* No separator and no control byte in a frame, names still apart. */
static void folded_lines(void)
{
  ljp_tree *t = ljt_tree(NULL, NULL);
  uint64_t sum = 0;
  size_t lines = 0;
  char *s, *end;
  LJT_EQ(ljp_tree_prune(t, 0, 100000), LJP_OK);
  text.size = 0;
  LJT_EQ(ljp_tree_folded(t, LJP_ALLOC_SIZE, ljt_write, &text), LJP_OK);
  ljt_put(&text, "", 1);
  for (s = (char *)text.data; *s; s = end + 1, lines++) {
    end = strchr(s, '\n');
    *end = 0;
    LJT_OK(strchr(s, ';') == NULL);
    sum += strtoull(strrchr(s, ' '), NULL, 10);
  }
  LJT_EQ(lines, NAMES);
  LJT_EQ(sum, ljt_sum(t, LJP_ALLOC_SIZE));
  LJT_EQ(sum, 100 * NAMES * (NAMES + 1) / 2);
  ljp_tree_free(t);
}

static void sums_are_the_aggregates(void)
{
  ljp_profile *p = ljt_profile(NULL);
  ljp_totals s;
  ljp_tree *t = NULL;
  LJT_EQ(ljp_profile_tree(p, NULL, &t), LJP_OK);
  ljp_aggregate_totals(ljp_profile_aggregate(p), &s);
  LJT_EQ(ljt_sum(t, LJP_ALLOC_SIZE), s.alloc_size + s.realloc_new_size);
  LJT_EQ(ljt_sum(t, LJP_ALLOC_COUNT), s.alloc_count + s.realloc_count);
  LJT_EQ(ljt_sum(t, LJP_INUSE_SIZE), s.live_size);
  LJT_EQ(ljt_sum(t, LJP_INUSE_COUNT), s.live_count);
  LJT_EQ(ljt_sum(t, LJP_PEAK_SIZE), s.peak_size);
  LJT_EQ(ljt_sum(t, LJP_PEAK_COUNT), s.peak_count);
  LJT_EQ(ljt_sum(t, LJP_TEMP_SIZE), s.temp_size);
  LJT_EQ(ljt_sum(t, LJP_INUSE_COUNT), NAMES * (NAMES + 1) / 2 - (NAMES - 1));
  ljp_tree_free(t);
  ljp_profile_free(p);
}

/* What a model's totals say under a name. */
static uint64_t ljt_total(const char *model, const char *name)
{
  const char *v = ljt_json_first(ljt_json_get(model, "totals"));
  for (; v; v = ljt_json_next(v))
    if (ljt_json_is(ljt_json_at(v, 0), name))
      return ljt_json_u64(ljt_json_at(v, 1));
  LJT_OK(!name);
  return 0;
}

/* "Allocated" is one thing on the page, in its sums and in its lists. */
static void totals_are_the_sums(void)
{
  /* 100 bytes are allocated, then made 250. */
  static const unsigned char events[] = {
    'l', 'j', 's', 3, 0, 0, 0, 0x80, 'l', 'j', 'm', 3, 0, 0, 0,
    1 << 2 | 1, 16, 100, 1 << 2 | 3, 16, 100, 32, 0xfa, 1, 0x80
  };
  ljp_profile *p = NULL;
  ljp_tree *t = NULL;
  const char *model = (const char *)text.data;
  LJT_EQ(ljp_profile_new(&p, NULL), LJP_OK);
  LJT_EQ(ljp_profile_feed(p, events, sizeof(events)), LJP_END);
  LJT_EQ(ljp_profile_tree(p, NULL, &t), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 0, 100), LJP_OK);
  text.size = 0;
  LJT_EQ(ljp_tree_model(t, ljt_write, &text), LJP_OK);
  ljt_put(&text, "", 1);
  LJT_EQ(ljt_sum(t, LJP_ALLOC_SIZE), 350);
  LJT_EQ(ljt_total(model, "allocated"), 350);
  LJT_EQ(ljt_total(model, "allocations"), 2);
  LJT_EQ(ljt_total(model, "allocated: new blocks"), 100);
  LJT_EQ(ljt_total(model, "allocations: new blocks"), 1);
  LJT_EQ(ljt_total(model, "allocated: blocks made another size, new sizes"),
         250);
  LJT_EQ(ljt_total(model, "allocations: blocks made another size"), 1);
  LJT_EQ(ljt_total(model, "their old sizes"), 100);
  ljp_tree_free(t);
  ljp_profile_free(p);
}

static void budgets(void)
{
  static const struct {
    const char *name;
    ljp_budget budget;
    uint64_t n;
    int over;
  } rows[] = {
    {"all, at the edge", {LJP_ALLOC_SIZE, 12000, NULL, 0}, 12000, 0},
    {"all, one over", {LJP_ALLOC_SIZE, 11999, NULL, 0}, 12000, 1},
    {"blocks still held", {LJP_INUSE_COUNT, 0, NULL, 0}, 106, 1},
    {"the largest line", {LJP_ALLOC_SIZE, 1499, NULL, 1}, 1500, 1},
    {"one line by name", {LJP_ALLOC_SIZE, 1099, "stdin", 0}, 1100, 1},
    {"by line number", {LJP_ALLOC_COUNT, 12, "init:12", 0}, 12, 0},
    {"two lines", {LJP_ALLOC_COUNT, 0, "<script>", 0}, 14, 1},
    {"largest of two", {LJP_ALLOC_COUNT, 13, "<script>", 1}, 13, 0},
    {"no such line", {LJP_ALLOC_COUNT, 0, "nowhere", 0}, 0, 0}
  };
  ljp_tree *t = ljt_tree(NULL, NULL);
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_budget_result r;
    ljt.row = rows[i].name;
    LJT_EQ(ljp_tree_budget(t, &rows[i].budget, &r), LJP_OK);
    LJT_EQ(r.n, rows[i].n);
    LJT_EQ(r.over, rows[i].over);
    LJT_EQ(r.place != 0, rows[i].n != 0);
  }
  ljp_tree_free(t);
}

static void windows(void)
{
  static const struct {
    const char *name;
    uint64_t from, to, events, allocs;
  } rows[] = {
    {"all", 0, 0, 134, 120}, {"all by number", 1, 134, 134, 120},
    {"first", 1, 1, 1, 1}, {"first three", 0, 3, 3, 3},
    {"a free only", 4, 4, 1, 0}, {"from 100", 100, 0, 35, 32},
    {"beyond", 1000, 0, 0, 0}, {"empty", 5, 4, 0, 0},
    {"middle", 31, 40, 10, 9}
  };
  size_t i, step;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
    for (step = 1; step < 4096; step *= 15) { /* Batches of any size. */
      ljp_options o;
      ljp_profile *p;
      ljp_totals s;
      size_t at;
      ljt.row = rows[i].name;
      memset(&o, 0, sizeof(o));
      o.from_event = rows[i].from;
      o.to_event = rows[i].to;
      ljt_hostile(&stream);
      LJT_EQ(ljp_profile_new(&p, &o), LJP_OK);
      for (at = 0; at < stream.size; at += step)
        ljp_profile_feed(p, stream.data + at,
                         stream.size - at < step ? stream.size - at : step);
      LJT_EQ(ljp_profile_finish(p), LJP_END);
      ljp_aggregate_totals(ljp_profile_aggregate(p), &s);
      LJT_EQ(s.events, rows[i].events);
      LJT_EQ(s.alloc_count, rows[i].allocs);
      ljp_profile_free(p);
    }
}

static void timeline(void)
{
  ljp_tree *t = ljt_tree(NULL, NULL);
  const char *points, *v;
  uint64_t at = 0, most = 0, now = 0;
  LJT_EQ(ljp_tree_prune(t, 0, 100), LJP_OK);
  text.size = 0;
  LJT_EQ(ljp_tree_model(t, ljt_write, &text), LJP_OK);
  ljt_put(&text, "", 1);
  points = ljt_json_get((const char *)text.data, "timeline");
  v = ljt_json_first(ljt_json_get(points, "points"));
  for (; v; v = ljt_json_next(v)) {
    LJT_OK(ljt_json_u64(ljt_json_at(v, 0)) >= at);
    at = ljt_json_u64(ljt_json_at(v, 0));
    now = ljt_json_u64(ljt_json_at(v, 1));
    if (now > most) most = now;
  }
  LJT_EQ(at, 134);
  LJT_EQ(now, 10600);
  LJT_EQ(most, ljt_sum(t, LJP_PEAK_SIZE)); /* The peak is a point. */
  LJT_EQ(ljt_json_u64(ljt_json_at(ljt_json_get(points, "peak"), 1)), most);
  ljp_tree_free(t);
}

/* Events as text: +N allocates block N of 100 bytes, -N frees it, =N moves
** it to 100 + N. */
static ljp_aggregate *ljt_events(const char *s, const ljp_options *o,
                                 ljp_symbols **symbols)
{
  ljp_aggregate *a;
  LJT_EQ(ljp_symbols_new(symbols, NULL), LJP_OK);
  LJT_EQ(ljp_aggregate_new(&a, *symbols, o), LJP_OK);
  for (; *s; s += 2) {
    uint64_t addr = 0x1000u * (uint64_t)(s[1] - '0');
    ljp_event ev;
    memset(&ev, 0, sizeof(ev));
    ev.source = LJP_SOURCE_INTERNAL;
    ev.kind = *s == '+' ? LJP_EVENT_ALLOC
              : *s == '-' ? LJP_EVENT_FREE : LJP_EVENT_REALLOC;
    if (*s != '-') ev.size = 100;
    if (*s != '+') ev.old_size = 100;
    if (*s != '+') ev.old_addr = addr;
    ev.addr = *s == '+' ? addr : *s == '=' ? addr + 0x100000 : 0;
    LJT_EQ(ljp_aggregate_events(a, &ev, 1, NULL), LJP_OK);
  }
  return a;
}

static void temporary_blocks(void)
{
  static const struct {
    const char *events;
    unsigned within;
    uint64_t temporary;
  } rows[] = {
    {"+1-1", 0, 1}, {"+1-1", 1, 1}, {"+1+2-1", 0, 0}, {"+1+2-1", 1, 0},
    {"+1+2-1", 2, 1}, {"+1+2-2-1", 0, 1}, {"+1+2-2-1", 2, 2},
    {"+1+2+3+4-1", 3, 0}, {"+1+2+3+4-1", 4, 1}, {"+1+2-2+2-2+2-2-1", 3, 3},
    {"+1+2-2+2-2+2-2-1", 4, 4}, {"-1", 5, 0}, {"+1-1-1", 5, 1}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_options o;
    ljp_symbols *symbols;
    ljp_aggregate *a;
    ljp_totals sum;
    ljt.row = rows[i].events;
    memset(&o, 0, sizeof(o));
    o.temp_within = rows[i].within;
    a = ljt_events(rows[i].events, &o, &symbols);
    ljp_aggregate_totals(a, &sum);
    LJT_EQ(sum.temp_count, rows[i].temporary);
    LJT_EQ(sum.temp_size, 100 * rows[i].temporary);
    ljp_aggregate_free(a);
    ljp_symbols_free(symbols);
  }
}

static void lifetimes(void)
{
  static const struct {
    const char *events;
    uint64_t count, life;
    unsigned class_;           /* Of the last one freed. */
  } rows[] = {
    {"+1", 0, 0, 0}, {"+1-1", 1, 0, 0}, {"+1+2-1", 1, 100, 7},
    {"+1+2+3+4-1", 1, 300, 9}, {"+1+2+3-3-1", 2, 200, 8},
    {"+1=1", 0, 0, 0}, {"-1", 0, 0, 0}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_options o;
    ljp_symbols *symbols;
    ljp_aggregate *a;
    ljp_site s;
    uint64_t count = 0, size = 0;
    ljt.row = rows[i].events;
    memset(&o, 0, sizeof(o));
    o.lifetimes = 1;
    a = ljt_events(rows[i].events, &o, &symbols);
    ljp_aggregate_site(a, 0, &s);
    LJT_EQ(s.life_count, rows[i].count);
    LJT_EQ(s.life_size, rows[i].life);
    ljp_aggregate_lives(a, rows[i].class_, &count, &size);
    LJT_EQ(count != 0, rows[i].count != 0);
    LJT_EQ(size, count * 100);
    ljp_aggregate_lives(a, 64, &count, NULL);
    LJT_EQ(count, 0);
    ljp_aggregate_free(a);
    ljp_symbols_free(symbols);
  }
}

/* Samples of sites 1 and 2: what they make, own, and in all. A sample of 2000
** bytes that had 1500 has a variance of 2000 * 500, its root is 1000. */
static void samples_state_their_error(void)
{
  enum { A = LJP_EVENT_ALLOC, F = LJP_EVENT_FREE, R = LJP_EVENT_REALLOC };
  static const struct {
    uint8_t kind;
    unsigned site;
    uint64_t old_addr, addr, size, weight;
    uint64_t made[3], live[3]; /* Errors of sites 1 and 2, and of all. */
  } rows[] = {
    {A, 1, 0, 1, 1500, 0, {0, 0, 0}, {0, 0, 0}},
    {A, 1, 0, 2, 1500, 2000, {2000, 0, 2000}, {2000, 0, 2000}},
    {A, 2, 0, 3, 3000, 4000, {2000, 4000, 4473}, {2000, 4000, 4473}},
    {A, 1, 0, 4, 1500, 2000, {2829, 4000, 4899}, {2829, 4000, 4899}},
    {F, 2, 1, 0, 0, 0, {2829, 4000, 4899}, {2829, 4000, 4899}},
    {F, 2, 2, 0, 0, 0, {2829, 4000, 4899}, {2000, 4000, 4473}},
    {R, 2, 4, 5, 1500, 2000, {2829, 4000, 4899}, {0, 4473, 4473}},
    {A, 1, 0, 6, 1500, 1500, {2829, 4000, 4899}, {0, 4473, 4473}},
    {A, 1, 0, 7, 1500, 1400, {2829, 4000, 4899}, {0, 4473, 4473}},
    {F, 1, 3, 0, 0, 0, {2829, 4000, 4899}, {0, 2000, 2000}},
    {F, 1, 5, 0, 0, 0, {2829, 4000, 4899}, {0, 0, 0}},
    {A, 1, 0, 8, 0, UINT64_MAX, {UINT64_MAX, 4000, UINT64_MAX},
     {UINT64_MAX, 0, UINT64_MAX}},
  };
  static const uint64_t sizes[] = {0, 1500, 1500, 3000, 1500, 1500};
  ljp_symbols *symbols;
  ljp_aggregate *a;
  ljp_totals sum;
  ljp_site site;
  size_t i, k;
  LJT_EQ(ljp_symbols_new(&symbols, NULL), LJP_OK);
  LJT_EQ(ljp_aggregate_new(&a, symbols, NULL), LJP_OK);
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_event ev;
    memset(&ev, 0, sizeof(ev));
    ev.kind = rows[i].kind;
    ev.source = LJP_SOURCE_C;
    ev.id = rows[i].site;
    ev.old_addr = rows[i].old_addr * 64;
    ev.addr = rows[i].addr * 64;
    ev.size = rows[i].size;
    ev.weight = rows[i].weight;
    ev.old_size = sizes[rows[i].old_addr];
    LJT_EQ(ljp_aggregate_events(a, &ev, 1, NULL), LJP_OK);
    for (k = 0; k < ljp_aggregate_site_count(a); k++) {
      ljp_aggregate_site(a, k, &site);
      LJT_EQ(site.alloc_error, rows[i].made[site.id - 1]);
      LJT_EQ(site.live_error, rows[i].live[site.id - 1]);
    }
    ljp_aggregate_totals(a, &sum);
    LJT_EQ(sum.alloc_error, rows[i].made[2]);
    LJT_EQ(sum.live_error, rows[i].live[2]);
  }
  ljp_aggregate_free(a);
  ljp_symbols_free(symbols);
}

static void every_allocation_fails(void)
{
  uint64_t n = 1;
  ljp_status st;
  ljt_heap heap;
  do {
    ljp_options o;
    ljp_profile *p;
    ljp_tree *t = NULL;
    o = ljt_heap_options(&heap);
    p = ljt_profile(&o);
    heap.fail_at = heap.calls + n;
    st = ljp_profile_tree(p, NULL, &t);
    if (st != LJP_OK) {
      LJT_EQ(st, LJP_E_NOMEM);
      LJT_OK(t == NULL);
    }
    ljp_tree_free(t);
    ljp_profile_free(p);
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.bad_frees, 0);
    n++;
  } while (st != LJP_OK && n < 1000);
  LJT_OK(n > 10);
  LJT_OK(n < 1000);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  if (argc == 2 && strncmp(argv[1], "--write=", 8) == 0) {
    FILE *f = fopen(argv[1] + 8, "wb");
    ljt_hostile(&stream);
    if (!f || fwrite(stream.data, 1, stream.size, f) != stream.size) return 1;
    return fclose(f) != 0;
  }
  LJT_CASE(model_is_harmless);
  LJT_CASE(source_is_shown_if_asked);
  LJT_CASE(folded_lines);
  LJT_CASE(sums_are_the_aggregates);
  LJT_CASE(totals_are_the_sums);
  LJT_CASE(budgets);
  LJT_CASE(windows);
  LJT_CASE(timeline);
  LJT_CASE(temporary_blocks);
  LJT_CASE(lifetimes);
  LJT_CASE(samples_state_their_error);
  LJT_CASE(every_allocation_fails);
  return ljt_end();
}
