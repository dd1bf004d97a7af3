/* Reports of call paths, over profiles made here: every format adds up to
** the same numbers, pruning moves and never loses, names are harmless. */
#include "ljparse.h"
#include "ljtest.h"
#include "ljtheap.h"
#include "ljtjson.h"
#include "ljttree.h"
#include "ljtpprof.h"

static ljt_heap heap;

static uint32_t ljt_id(ljp_tree *t, const char *s)
{
  uint32_t id = 0;
  ljp_tree_string(t, s, strlen(s), &id);
  return id;
}

/* One random place: Lua lines of a few files, C functions, the VM. */
static uint32_t ljt_place(ljp_tree *t, ljt_rng *r, uint32_t module)
{
  char b[64];
  ljp_place at;
  uint32_t id = 0;
  memset(&at, 0, sizeof(at));
  if (ljt_below(r, 8) == 0) {
    at.kind = LJP_PLACE_C;
    snprintf(b, sizeof(b), "cfun%u", (unsigned)ljt_below(r, 9));
    at.name = ljt_id(t, b);
    at.file = ljt_id(t, "/usr/lib/lib;x.so");
    at.module = module;
    at.addr = 0x7f0000001000;
  } else if (ljt_below(r, 12) == 0) {
    at.kind = LJP_PLACE_VM;
    at.name = ljt_id(t, "garbage collector");
  } else {
    snprintf(b, sizeof(b), "/app/%c/m%u.lua", 'a' + (int)ljt_below(r, 3),
             (unsigned)ljt_below(r, 5));
    at.file = ljt_id(t, b);
    at.first_line = 1 + 10 * ljt_below(r, 9);
    at.line = at.first_line + ljt_below(r, 9);
  }
  ljp_tree_place(t, &at, &id);
  return id;
}

static void ljt_grow(ljp_tree *t, uint64_t seed, unsigned stacks,
                     uint32_t module)
{
  ljt_rng r = ljt_rng_make(seed);
  unsigned i, k;
  for (i = 0; i < stacks; i++) {
    uint32_t at = 0, deep = (uint32_t)ljt_below(&r, 12) + 1;
    while (deep-- > 0) {
      uint32_t place = ljt_place(t, &r, module);
      if (ljp_tree_path(t, at, place, &at) != LJP_OK) return;
    }
    for (k = 0; k < LJP_METRIC_COUNT; k++)
      ljp_tree_add(t, at, (ljp_metric)k, ljt_below(&r, 1000));
  }
}

static ljp_status ljt_tree(ljp_tree **out, const ljp_options *options,
                           uint64_t seed, unsigned stacks)
{
  uint32_t module;
  ljp_point point = {1, 2, 3, UINT64_MAX, UINT64_MAX};
  ljp_tree *t;
  ljp_status st = ljp_tree_new(out, options);
  if (st != LJP_OK) return st;
  t = *out;
  ljp_tree_title(t, "a \"title\" </script>");
  ljp_tree_module(t, ljt_id(t, "/usr/lib/lib;x.so"), ljt_id(t, "c0ffee"),
                  0x7f0000000000, 0x100000, &module);
  ljp_tree_note(t, "a remark");
  ljp_tree_warn(t, "a warning");
  ljp_tree_fact(t, "pid", "7");
  ljp_tree_total(t, "events", 42, 0);
  ljp_tree_kind(t, "table", 100, 3);
  ljp_tree_point(t, &point);
  ljp_tree_mark(t, 1, "here", 4);
  ljt_grow(t, seed, stacks, module);
  return ljp_tree_status(t);
}

/* Callers first, and every subtree in one piece. */
static int ljt_ordered(const ljp_tree *t)
{
  uint32_t i, at = 0;
  for (i = 1; i < ljp_tree_path_count(t); i++) {
    while (at != ljp_tree_path_at(t, i)->parent) {
      if (at == 0) return 0;
      at = ljp_tree_path_at(t, at)->parent;
    }
    at = i;
  }
  return 1;
}

/* -- Folded -- */

static void folded_sums(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *t;
  unsigned m;
  LJT_EQ(ljt_tree(&t, &options, ljt.seed, 500), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 0, 100000), LJP_OK);
  for (m = 0; m < LJP_METRIC_COUNT; m++) {
    ljt_text text;
    char *s;
    uint64_t sum = 0;
    memset(&text, 0, sizeof(text));
    LJT_EQ(ljp_tree_folded(t, (ljp_metric)m, ljt_text_write, &text), LJP_OK);
    for (s = text.data; s && *s; s = strchr(s, '\n') + 1) {
      char *end = strchr(s, '\n'), *space = end;
      while (*space != ' ') space--;
      sum += strtoull(space, NULL, 10);
      if (strstr(s, "lib;") && strstr(s, "lib;") < end) LJT_OK(0);
    }
    LJT_EQ(sum, ljt_sum(t, (ljp_metric)m));
    ljt_text_drop(&text);
  }
  ljp_tree_free(t);
  LJT_EQ(heap.live_count, 0);
  LJT_EQ(heap.bad_frees, 0);
}

/* -- pprof -- */

static void pprof_sums(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *t;
  ljt_text text;
  ljt_pprof r;
  memset(&text, 0, sizeof(text));
  LJT_EQ(ljt_tree(&t, &options, ljt.seed, 500), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 1000, 100000), LJP_OK);
  LJT_EQ(ljp_tree_pprof(t, ljt_text_write, &text), LJP_OK);
  ljt_pprof_read(&r, &text, ljp_tree_place_count(t));
  LJT_EQ(r.sum[0], ljt_sum(t, LJP_ALLOC_COUNT));
  LJT_EQ(r.sum[1], ljt_sum(t, LJP_ALLOC_SIZE));
  LJT_EQ(r.sum[2], ljt_sum(t, LJP_INUSE_COUNT));
  LJT_EQ(r.sum[3], ljt_sum(t, LJP_INUSE_SIZE));
  LJT_EQ(r.places, ljp_tree_place_count(t));
  LJT_EQ(r.functions, ljp_tree_place_count(t));
  LJT_EQ(r.mappings, 1);
  LJT_EQ(r.bad, 0);
  LJT_EQ(r.type_count, 4);
  LJT_EQ(r.default_type, r.types[3]);
  LJT_OK(r.types[3] < r.strings);
  ljt_text_drop(&text);
  ljp_tree_free(t);
  LJT_EQ(heap.live_count, 0);
}

/* -- Speedscope -- */

static void ljt_speed_profile(const char *s, uint64_t frames, uint64_t sum)
{
  uint32_t open[64];
  size_t depth = 0, events = 0;
  uint64_t at = 0;
  const char *e = ljt_json_first(ljt_json_get(s, "events"));
  LJT_OK(ljt_json_is(ljt_json_get(s, "type"), "evented"));
  LJT_EQ(ljt_json_u64(ljt_json_get(s, "endValue")), sum);
  for (; e; e = ljt_json_next(e), events++) {
    uint64_t frame = ljt_json_u64(ljt_json_get(e, "frame"));
    uint64_t now = ljt_json_u64(ljt_json_get(e, "at"));
    if (!LJT_OK(frame < frames) || !LJT_OK(now >= at)) return;
    at = now;
    if (ljt_json_is(ljt_json_get(e, "type"), "O")) {
      if (!LJT_OK(depth < 64)) return;
      open[depth++] = (uint32_t)frame;
    } else if (!LJT_OK(depth > 0) || !LJT_EQ(open[--depth], frame)) {
      return;
    }
  }
  LJT_EQ(depth, 0);
  LJT_EQ(at, sum);
  LJT_OK(events > 0);
}

static void speedscope_events(void)
{
  static const ljp_metric shown[] = {
    LJP_INUSE_SIZE, LJP_ALLOC_SIZE, LJP_PEAK_SIZE, LJP_TEMP_SIZE,
    LJP_INUSE_COUNT, LJP_ALLOC_COUNT
  };
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *t;
  ljt_text text;
  const char *s;
  size_t i;
  memset(&text, 0, sizeof(text));
  LJT_EQ(ljt_tree(&t, &options, ljt.seed, 60), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 0, 100000), LJP_OK);
  LJT_EQ(ljp_tree_speedscope(t, ljt_text_write, &text), LJP_OK);
  LJT_OK(ljt_json_valid(text.data));
  s = ljt_json_get(text.data, "profiles");
  for (i = 0; i < sizeof(shown) / sizeof(*shown); i++)
    ljt_speed_profile(ljt_json_at(s, i), ljp_tree_place_count(t),
                      ljt_sum(t, shown[i]));
  LJT_OK(ljt_json_at(s, i) == NULL);
  ljt_text_drop(&text);
  ljp_tree_free(t);
  LJT_EQ(heap.live_count, 0);
}

/* -- The HTML report's model -- */

static void model_numbers(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *t;
  ljt_text text;
  const char *v, *self;
  uint64_t sum = 0, n = 0;
  memset(&text, 0, sizeof(text));
  LJT_EQ(ljt_tree(&t, &options, ljt.seed, 300), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 0, 100000), LJP_OK);
  LJT_EQ(ljp_tree_model(t, ljt_text_write, &text), LJP_OK);
  LJT_OK(ljt_json_valid(text.data));
  LJT_OK(strpbrk(text.data, "<>&") == NULL);
  LJT_OK(ljt_json_get(text.data, "old") == NULL);
  self = ljt_json_get(text.data, "self");
  v = ljt_json_first(ljt_json_get(self, "alloc_size"));
  for (; v; v = ljt_json_next(v), n++) sum += ljt_json_u64(v);
  LJT_EQ(sum, ljt_sum(t, LJP_ALLOC_SIZE));
  LJT_EQ(n, ljp_tree_path_count(t) - 1);
  v = ljt_json_first(ljt_json_get(text.data, "parent"));
  for (n = 1; v; v = ljt_json_next(v), n++)
    if (ljt_json_u64(v) != n - ljp_tree_path_at(t, (uint32_t)n)->parent) break;
  LJT_EQ(n, ljp_tree_path_count(t));
  LJT_OK(ljt_json_is(ljt_json_at(ljt_json_get(text.data, "notes"), 0),
                     "a remark"));
  ljt_text_drop(&text);
  ljp_tree_free(t);
  LJT_EQ(heap.live_count, 0);
}

/* -- Pruning -- */

/* Sums by line in a model; what was folded has none of its own. */
static uint64_t ljt_line_sum(const char *model)
{
  const char *v = ljt_json_get(ljt_json_get(model, "lines"), "alloc_size");
  uint64_t sum = 0, last = 0;
  for (v = ljt_json_first(v); v; v = ljt_json_next(v))
    sum += last = ljt_json_u64(v);
  LJT_EQ(last, 0); /* (pruned) is the last place. */
  return sum;
}

static void prune_keeps_sums(void)
{
  static const struct {
    const char *name;
    uint64_t share;
    size_t most;
  } rows[] = {
    {"nothing", 0, 1000000}, {"1 ppm", 1, 1000000}, {"1 %", 10000, 1000000},
    {"all", 1000000, 1000000}, {"at most 50", 0, 50}, {"at most 1", 0, 1}
  };
  size_t i;
  unsigned m;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_options options = ljt_heap_options(&heap);
    ljp_tree *t;
    ljt_text text;
    uint64_t before[LJP_METRIC_COUNT];
    uint32_t k, rest = 0;
    ljt.row = rows[i].name;
    memset(&text, 0, sizeof(text));
    LJT_EQ(ljt_tree(&t, &options, ljt.seed + i, 400), LJP_OK);
    for (m = 0; m < LJP_METRIC_COUNT; m++)
      before[m] = ljt_sum(t, (ljp_metric)m);
    LJT_EQ(ljp_tree_prune(t, rows[i].share, rows[i].most), LJP_OK);
    for (m = 0; m < LJP_METRIC_COUNT; m++)
      LJT_EQ(ljt_sum(t, (ljp_metric)m), before[m]);
    LJT_OK(ljt_ordered(t));
    for (k = 1; k < ljp_tree_path_count(t); k++)
      rest += ljp_tree_place_at(t, ljp_tree_path_at(t, k)->place)->kind ==
              LJP_PLACE_PRUNED;
    LJT_EQ(ljp_tree_model(t, ljt_text_write, &text), LJP_OK);
    LJT_EQ(rest == 0, strstr(text.data, "as (pruned) under") == NULL);
    LJT_EQ(ljt_line_sum(text.data), before[LJP_ALLOC_SIZE]);
    ljt_text_drop(&text);
    LJT_EQ(rest == 0, rows[i].share < 2 && rows[i].most > 50);
    LJT_OK(ljp_tree_path_count(t) - rest <= rows[i].most || rows[i].most == 1);
    /* Again: sums by line are still those of the whole tree. */
    LJT_EQ(ljp_tree_prune(t, 1000000, 1), LJP_OK);
    LJT_EQ(ljp_tree_model(t, ljt_text_write, &text), LJP_OK);
    LJT_EQ(ljt_line_sum(text.data), before[LJP_ALLOC_SIZE]);
    ljt_text_drop(&text);
    for (m = 0; m < LJP_METRIC_COUNT; m++)
      LJT_EQ(ljt_sum(t, (ljp_metric)m), before[m]);
    ljp_tree_free(t);
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.bad_frees, 0);
  }
}

/* -- Differences -- */

static void diff_sides(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *a, *b;
  ljt_text text;
  ljt_pprof r;
  uint64_t was, is, old = 0;
  size_t paths;
  uint32_t i;
  memset(&text, 0, sizeof(text));
  LJT_EQ(ljt_tree(&a, &options, ljt.seed, 300), LJP_OK);
  /* The first 200 of the same. */
  LJT_EQ(ljt_tree(&b, &options, ljt.seed, 200), LJP_OK);
  is = ljt_sum(a, LJP_ALLOC_SIZE);
  was = ljt_sum(b, LJP_ALLOC_SIZE);
  paths = ljp_tree_path_count(a);
  LJT_EQ(ljp_tree_diff(a, b), LJP_OK);
  LJT_EQ(ljp_tree_path_count(a), paths); /* All of b's paths were found. */
  LJT_EQ(ljp_tree_prune(a, 0, 100000), LJP_OK);
  for (i = 0; i < ljp_tree_path_count(a); i++)
    old += ljp_tree_old(a, i, LJP_ALLOC_SIZE);
  LJT_EQ(old, was);
  LJT_EQ(ljt_sum(a, LJP_ALLOC_SIZE), is);
  LJT_EQ(ljp_tree_pprof(a, ljt_text_write, &text), LJP_OK);
  ljt_pprof_read(&r, &text, ljp_tree_place_count(a));
  LJT_EQ(r.sum[1], is - was);
  text.size = 0;
  LJT_EQ(ljp_tree_model(a, ljt_text_write, &text), LJP_OK);
  LJT_OK(ljt_json_valid(text.data));
  LJT_OK(ljt_json_get(ljt_json_get(text.data, "old"), "alloc_size") != NULL);
  ljt_text_drop(&text);
  ljp_tree_free(a);
  ljp_tree_free(b);
  LJT_EQ(heap.live_count, 0);
  LJT_EQ(heap.bad_frees, 0);
}

/* -- Names -- */

/* Texts, and what is shown of them. */
static const struct {
  const char *name, *bytes;
  size_t size;
  const char *want;
} cleaned[] = {
  {"plain", "a b", 3, "a b"},
  {"ESC", "\033[31m", 5, "\\x1b[31m"},
  {"newline and DEL", "a\nb\177", 4, "a\\x0ab\\x7f"},
  {"NUL inside", "a\0b", 3, "a\\x00b"},
  {"two, three, four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
   "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
  {"C1 control", "\xc2\x9b", 2, "\\xc2\\x9b"},
  {"stray byte", "\xff" "a", 2, "\\xffa"},
  {"cut character", "\xe2\x82", 2, "\\xe2\\x82"},
  {"overlong", "\xc0\xaf", 2, "\\xc0\\xaf"},
  {"overlong, three bytes", "\xe0\x80\xaf", 3, "\\xe0\\x80\\xaf"},
  {"overlong, four bytes", "\xf0\x8f\xbf\xbf", 4, "\\xf0\\x8f\\xbf\\xbf"},
  {"first of four bytes", "\xf0\x90\x80\x80", 4, "\xf0\x90\x80\x80"},
  {"U+200D", "\xe2\x80\x8d", 3, "\xe2\x80\x8d"},
  {"U+200E", "\xe2\x80\x8e", 3, "\\xe2\\x80\\x8e"},
  {"U+200F", "\xe2\x80\x8f", 3, "\\xe2\\x80\\x8f"},
  {"U+2010", "\xe2\x80\x90", 3, "\xe2\x80\x90"},
  {"U+2028", "\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8"},
  {"U+202E", "\xe2\x80\xae", 3, "\\xe2\\x80\\xae"},
  {"U+202F", "\xe2\x80\xaf", 3, "\xe2\x80\xaf"},
  {"U+2066", "\xe2\x81\xa6", 3, "\\xe2\\x81\\xa6"},
  {"U+2069", "\xe2\x81\xa9", 3, "\\xe2\\x81\\xa9"},
  {"U+206A", "\xe2\x81\xaa", 3, "\xe2\x81\xaa"},
  {"surrogate", "\xed\xa0\x80", 3, "\\xed\\xa0\\x80"},
  {"past the last", "\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"},
  {"empty", "", 0, ""}
};

static void names_are_cleaned(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *t;
  char big[2000];
  const char *text;
  uint32_t id, other;
  size_t i, n;
  LJT_EQ(ljp_tree_new(&t, &options), LJP_OK);
  for (i = 0; i < sizeof(cleaned) / sizeof(*cleaned); i++) {
    ljt.row = cleaned[i].name;
    LJT_EQ(ljp_tree_string(t, cleaned[i].bytes, cleaned[i].size, &id), LJP_OK);
    text = ljp_tree_text(t, id, &n);
    LJT_MEM(text, n, cleaned[i].want, strlen(cleaned[i].want));
    LJT_EQ(ljp_tree_string(t, cleaned[i].bytes, cleaned[i].size, &other),
           LJP_OK);
    LJT_EQ(id, other);
  }
  ljt.row = "long ones are cut and stay apart";
  memset(big, 'x', sizeof(big));
  LJT_EQ(ljp_tree_string(t, big, sizeof(big), &id), LJP_OK);
  ljp_tree_text(t, id, &n);
  LJT_EQ(n, 412);
  big[1999] = 'y';
  LJT_EQ(ljp_tree_string(t, big, sizeof(big), &other), LJP_OK);
  LJT_OK(id != other);
  for (i = 0; i < sizeof(big); i++) big[i] = i % 4 ? '\200' : '\360';
  LJT_EQ(ljp_tree_string(t, big + 1, sizeof(big) - 1, &id), LJP_OK);
  ljp_tree_text(t, id, &n);
  LJT_OK(n <= 420);
  LJT_STR(ljp_tree_text(t, UINT32_MAX, &n), "");
  LJT_EQ(n, 0);
  ljp_tree_free(t);
  LJT_EQ(heap.live_count, 0);
}

/* -- When things fail -- */

static ljp_status ljt_reports(ljp_tree *t, ljt_text *text)
{
  ljp_status st = ljp_tree_folded(t, LJP_ALLOC_SIZE, ljt_text_write, text);
  if (st == LJP_OK) st = ljp_tree_speedscope(t, ljt_text_write, text);
  if (st == LJP_OK) st = ljp_tree_pprof(t, ljt_text_write, text);
  if (st == LJP_OK) st = ljp_tree_model(t, ljt_text_write, text);
  return st;
}

static ljp_status ljt_everything(const ljp_options *options, ljt_text *text)
{
  ljp_tree *t, *old;
  ljp_status st = ljt_tree(&t, options, 3, 40), st2;
  if (!t) return st;
  st2 = ljt_tree(&old, options, 4, 40);
  if (st == LJP_OK) st = st2;
  if (old && st == LJP_OK) st = ljp_tree_diff(t, old);
  if (st == LJP_OK) st = ljp_tree_prune(t, 100, 1000);
  if (st == LJP_OK) st = ljt_reports(t, text);
  if (st == LJP_OK) st = ljp_tree_changes(t, NULL, ljt_text_write, text);
  if (st == LJP_OK) {
    ljp_budget_result result;
    ljp_budget budget;
    memset(&budget, 0, sizeof(budget));
    st = ljp_tree_budget(t, &budget, &result);
  }
  ljp_tree_free(t);
  ljp_tree_free(old);
  return st;
}

static void misuse_is_refused(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_place at;
  ljp_tree *t;
  ljt_text text;
  uint32_t id;
  memset(&text, 0, sizeof(text));
  memset(&at, 0, sizeof(at));
  LJT_EQ(ljp_tree_new(NULL, &options), LJP_E_ARG);
  LJT_EQ(ljt_tree(&t, &options, 1, 3), LJP_OK);
  LJT_EQ(ljt_reports(t, &text), LJP_E_ARG);
  LJT_EQ(ljp_tree_prune(t, 0, 10), LJP_OK);
  LJT_EQ(ljp_tree_place(t, &at, &id), LJP_E_ARG);
  LJT_EQ(ljp_tree_path(t, 0, 1, &id), LJP_E_ARG);
  LJT_EQ(ljp_tree_model(t, NULL, NULL), LJP_E_ARG);
  LJT_EQ(ljp_tree_status(t), LJP_OK);
  LJT_EQ(ljt_reports(t, &text), LJP_OK);
  ljt_text_drop(&text);
  ljp_tree_free(t);
  ljp_tree_free(NULL);
  LJT_EQ(heap.live_count, 0);
}

/* The older side's numbers stand beside the paths there are then. */
static void a_comparison_takes_no_more(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_place at;
  ljp_tree *t, *old;
  uint32_t id, more = 7;
  memset(&at, 0, sizeof(at));
  at.kind = LJP_PLACE_VM;
  LJT_EQ(ljt_tree(&t, &options, 1, 3), LJP_OK);
  LJT_EQ(ljt_tree(&old, &options, 1, 3), LJP_OK);
  LJT_EQ(ljp_tree_place(t, &at, &id), LJP_OK);
  LJT_EQ(ljp_tree_diff(t, old), LJP_OK);
  LJT_EQ(ljp_tree_place(t, &at, &more), LJP_E_ARG);
  LJT_EQ(more, 0);
  LJT_EQ(ljp_tree_path(t, 0, id, &more), LJP_E_ARG);
  LJT_EQ(ljp_tree_diff(t, old), LJP_E_ARG);
  LJT_EQ(ljp_tree_prune(old, 0, SIZE_MAX), LJP_OK);
  LJT_EQ(ljp_tree_diff(old, t), LJP_E_ARG);
  LJT_EQ(ljp_tree_status(t), LJP_OK);
  LJT_EQ(ljp_tree_status(old), LJP_OK);
  ljp_tree_free(t);
  ljp_tree_free(old);
  LJT_EQ(heap.live_count, 0);
}

static void an_empty_tree(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *t;
  ljt_text text;
  memset(&text, 0, sizeof(text));
  LJT_EQ(ljp_tree_new(&t, &options), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 100, 1), LJP_OK);
  LJT_EQ(ljp_tree_folded(t, LJP_ALLOC_SIZE, ljt_text_write, &text), LJP_OK);
  LJT_EQ(text.size, 0);
  LJT_EQ(ljp_tree_model(t, ljt_text_write, &text), LJP_OK);
  LJT_OK(ljt_json_valid(text.data));
  text.size = 0;
  LJT_EQ(ljp_tree_speedscope(t, ljt_text_write, &text), LJP_OK);
  LJT_OK(ljt_json_valid(text.data));
  ljt_text_drop(&text);
  ljp_tree_free(t);
  LJT_EQ(heap.live_count, 0);
}

/* A place with what it holds. */
static void ljt_hold(ljp_tree *t, const char *name, uint64_t size,
                     uint64_t count)
{
  ljp_place at;
  uint32_t place, path;
  memset(&at, 0, sizeof(at));
  at.kind = LJP_PLACE_C;
  at.name = ljt_id(t, name);
  LJT_EQ(ljp_tree_place(t, &at, &place), LJP_OK);
  LJT_EQ(ljp_tree_path(t, 0, place, &path), LJP_OK);
  ljp_tree_add(t, path, LJP_INUSE_SIZE, size);
  ljp_tree_add(t, path, LJP_INUSE_COUNT, count);
}

/* Comparisons: most changed first, what is the same not at all. */
static void changes(void)
{
  static const char held[] = "HEAP SUMMARY, compared:\n"
    "all: -66B (2334B to 2268B)\t-7 (15 to 8)\n"
    "up: +1024B (1024B to 2048B)\t+1 (1 to 2)\n"
    "gone: -700B (700B to 0B)\t-7 (7 to 0)\n"
    "down: -400B (500B to 100B)\t-4 (5 to 1)\n"
    "tie 1: +5B (0B to 5B)\t+1 (0 to 1)\n"
    "tie 2: +5B (0B to 5B)\t+1 (0 to 1)\n"
    "count: +0B (10B to 10B)\t+1 (1 to 2)\n\n";
  static const char allocated[] = "ALLOCATIONS, compared:\n"
    "all: +0B (0B to 0B)\t+0 (0 to 0)\n\n";
  ljp_options options = ljt_heap_options(&heap);
  ljp_report_options ro;
  ljp_tree *t, *old;
  ljt_text text;
  memset(&text, 0, sizeof(text));
  memset(&ro, 0, sizeof(ro));
  LJT_EQ(ljp_tree_new(&t, &options), LJP_OK);
  LJT_EQ(ljp_tree_new(&old, &options), LJP_OK);
  ljt_hold(t, "up", 2048, 2);
  ljt_hold(t, "same", 100, 1);
  ljt_hold(t, "down", 100, 1);
  ljt_hold(t, "tie 1", 5, 1);
  ljt_hold(t, "tie 2", 5, 1);
  ljt_hold(t, "count", 10, 2);
  ljt_hold(old, "down", 500, 5);
  ljt_hold(old, "gone", 700, 7);
  ljt_hold(old, "same", 100, 1);
  ljt_hold(old, "up", 1024, 1);
  ljt_hold(old, "count", 10, 1);
  LJT_EQ(ljp_tree_prune(old, 0, SIZE_MAX), LJP_OK);
  LJT_EQ(ljp_tree_changes(old, NULL, ljt_text_write, &text), LJP_E_ARG);
  LJT_EQ(text.size, 0);
  LJT_EQ(ljp_tree_diff(t, old), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 0, SIZE_MAX), LJP_OK);
  LJT_EQ(ljp_tree_changes(t, NULL, ljt_text_write, &text), LJP_OK);
  LJT_MEM(text.data, sizeof(held) - 1, held, sizeof(held) - 1);
  LJT_STR(text.data + sizeof(held) - 1, allocated);
  text.size = 0;
  ro.leak_only = 1;
  LJT_EQ(ljp_tree_changes(t, &ro, ljt_text_write, &text), LJP_OK);
  LJT_STR(text.data, held);
  text.size = 0;
  ro.human_readable = 1;
  LJT_EQ(ljp_tree_changes(t, &ro, ljt_text_write, &text), LJP_OK);
  LJT_OK(strstr(text.data, "up: +1KiB (1KiB to 2KiB)\t+1 (1 to 2)\n"));
  ljt_text_drop(&text);
  ljp_tree_free(t);
  ljp_tree_free(old);
  LJT_EQ(heap.live_count, 0);
}

static void every_allocation_fails(void)
{
  uint64_t n = 1;
  ljp_status s;
  do {
    ljp_options options = ljt_heap_options(&heap);
    ljt_text text;
    memset(&text, 0, sizeof(text));
    heap.fail_at = n;
    s = ljt_everything(&options, &text);
    if (s != LJP_OK) LJT_EQ(s, LJP_E_NOMEM);
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.bad_frees, 0);
    ljt_text_drop(&text);
    n += ljt.stride;
  } while (s != LJP_OK && n < 10000);
  LJT_OK(n > 20);
  LJT_OK(n < 10000);
}

static void every_write_fails(void)
{
  uint64_t n = 1;
  ljp_status s;
  do {
    ljp_options options = ljt_heap_options(&heap);
    ljt_text text;
    memset(&text, 0, sizeof(text));
    text.fail_at = n;
    s = ljt_everything(&options, &text);
    if (s != LJP_OK) {
      LJT_EQ(s, LJP_E_IO);
      LJT_EQ(text.calls, n);
    }
    LJT_EQ(heap.live_count, 0);
    ljt_text_drop(&text);
    n += ljt.stride;
  } while (s != LJP_OK && n < 10000);
  LJT_OK(n > 20);
  LJT_OK(n < 10000);
}

static void limit_is_kept(void)
{
  ljp_options options = ljt_heap_options(&heap);
  ljp_tree *t;
  options.limits.memory = 100000;
  LJT_EQ(ljp_tree_new(&t, &options), LJP_OK);
  ljt_grow(t, 1, 5000, 0);
  LJT_EQ(ljp_tree_status(t), LJP_E_LIMIT);
  LJT_OK(heap.peak_size <= 200000); /* A realloc may hold both blocks. */
  ljp_tree_free(t);
  LJT_EQ(heap.live_count, 0);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(folded_sums);
  LJT_CASE(pprof_sums);
  LJT_CASE(speedscope_events);
  LJT_CASE(model_numbers);
  LJT_CASE(prune_keeps_sums);
  LJT_CASE(diff_sides);
  LJT_CASE(names_are_cleaned);
  LJT_CASE(misuse_is_refused);
  LJT_CASE(a_comparison_takes_no_more);
  LJT_CASE(an_empty_tree);
  LJT_CASE(changes);
  LJT_CASE(every_allocation_fails);
  LJT_CASE(every_write_fails);
  LJT_CASE(limit_is_kept);
  return ljt_end();
}
