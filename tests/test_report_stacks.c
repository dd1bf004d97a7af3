/* Format 4 in the reports: names of all kinds of frames, whole stacks, marks,
** kinds, definitions in any order, damage to any one block. */
#include "ljmemprof.h"
#include "ljparse.h"
#include "ljtest.h"
#include "ljtgen4.h"
#include "ljtheap.h"
#include "ljtjson.h"
#include "ljtsink.h"
#include "ljttree.h"

static uint64_t now; /* The encoder's clock. */

static uint64_t ljt_clock(void *user)
{
  (void)user;
  return now;
}

static uint32_t ljt_str(ljm_encoder4 *e, const char *s)
{
  return ljm_encoder4_string(e, s, strlen(s));
}

static uint32_t ljt_line(ljm_encoder4 *e, const char *chunk, uint64_t first,
                         uint64_t line)
{
  return ljm_encoder4_frame_lua(e, ljm_encoder4_function(e, ljt_str(e, chunk),
                                                         first, first + 9),
                                line);
}

static void ljt_mark(ljm_encoder4 *e, const char *label, uint64_t gc)
{
  ljm_mark m;
  memset(&m, 0, sizeof(m));
  m.reason = LJM_MARK_PROGRAM;
  m.label = label ? ljt_str(e, label) : 0;
  m.gc_total = gc;
  m.gc_threshold = 2 * gc;
  m.rss = 3 * gc;
  ljm_encoder4_mark(e, &m);
}

/* A stack from frames, outermost first, 0 at the end. */
static uint32_t ljt_stack(ljm_encoder4 *e, const uint32_t *frame)
{
  uint32_t at = 0;
  for (; *frame; frame++) at = ljm_encoder4_stack(e, at, *frame);
  return at;
}

/* One event at each of these, of 100, 200, ... bytes; what folded says. */
static const char *const expected[] = {
  "main.lua:3;util.lua:15 100",
  "main.lua:3;string.rep 200",
  "main.lua:3;cjson_decode 300",
  "main.lua:3;cjson.so+0x1234 400",
  "main.lua:3;CFUNC 0x99 500",
  "main.lua:3;TRACE [7] 600",
  "start-up 700",
  "main.lua:3;garbage collector 800",
  "(resumed by);main.lua:3;(tail calls);[source text #",
  "trace recorder 1000",
  "host only:5 1100"
};
#define SITES (sizeof(expected) / sizeof(*expected))

static size_t ljt_sites(ljm_encoder4 *e, uint32_t *site)
{
  static const unsigned char id[] = {0xca, 0xfe, 0x00};
  ljm_module m;
  uint32_t top = ljt_line(e, "@main.lua", 1, 3), module, f[5], n = 0;
  memset(&m, 0, sizeof(m));
  memset(f, 0, sizeof(f));
  m.path = ljt_str(e, "/usr/lib/lua/cjson.so");
  m.build_id = id;
  m.build_id_size = sizeof(id);
  m.base = 0x7f0000000000;
  m.size = 0x10000;
  m.bias = 0x7f0000000000;
  module = ljm_encoder4_module(e, &m);
  f[0] = top;
#define SITE(state, object) \
  site[n++] = ljm_encoder4_site(e, ljt_stack(e, f), state, object)
  f[1] = ljt_line(e, "@util.lua", 11, 15);
  SITE(LJM_STATE_INTERP, LJM_OBJECT_TABLE);
  f[1] = ljm_encoder4_frame_fast(e, ljt_str(e, "string.rep"));
  SITE(LJM_STATE_C, LJM_OBJECT_STRING);
  f[1] = ljm_encoder4_frame_c(e, 0x7f0000001100,
           ljm_encoder4_csym(e, module, 0x7f0000001000, 0x200,
                             ljt_str(e, "cjson_decode")), module);
  SITE(LJM_STATE_C, LJM_OBJECT_TABLE);
  f[1] = ljm_encoder4_frame_c(e, 0x7f0000001234, 0, module);
  SITE(LJM_STATE_C, LJM_OBJECT_UNKNOWN);
  f[1] = ljm_encoder4_frame_c(e, 0x99, 0, 0);
  SITE(LJM_STATE_C, LJM_OBJECT_UNKNOWN);
  f[1] = ljm_encoder4_frame_jit(e, 7, ljm_encoder4_trace(e, 7, top));
  SITE(LJM_STATE_JIT, LJM_OBJECT_CDATA);
  f[0] = 0;
  SITE(LJM_STATE_START, LJM_OBJECT_VM);
  f[0] = top;
  f[1] = 0;
  SITE(LJM_STATE_GC, LJM_OBJECT_STRTAB);
  f[0] = ljm_encoder4_frame_gap(e, LJM_GAP_RESUMED);
  f[1] = top;
  f[2] = ljm_encoder4_frame_gap(e, LJM_GAP_TAILCALLS);
  f[3] = ljt_line(e, "local x\nreturn x", 1, 2);
  SITE(LJM_STATE_INTERP, LJM_OBJECT_FUNCTION);
  f[0] = ljm_encoder4_frame_vm(e, LJM_STATE_RECORD);
  f[1] = 0;
  SITE(LJM_STATE_RECORD, LJM_OBJECT_JIT);
  f[0] = ljt_line(e, "=host only", 1, 5);
  SITE(LJM_STATE_HOST, LJM_OBJECT_USERDATA);
#undef SITE
  return n;
}

/* Each site allocates (i + 1) * 100 bytes; the first, of 100, is freed. Before
** them stand `more` other lines, of a byte each. */
static void ljt_record_after(ljt_sink *s, uint32_t more)
{
  static const ljm_meta meta[] = {{"tree", "test"}, {"start", "1700000000"},
                                  {"sample", "0"}};
  ljm_encoder4 e;
  ljm_encoder_options o;
  ljm_sink sink = ljt_sink_make(s);
  uint32_t site[SITES];
  size_t i, n;
  memset(&o, 0, sizeof(o));
  o.buffer_size = 4096;
  o.clock = ljt_clock;
  o.stream_id = 99;
  now = 0;
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, meta, 3), LJM_OK);
  ljt_mark(&e, NULL, 1000);
  for (i = 0; i < more; i++) {
    char name[24];
    uint32_t frames[2] = {0, 0};
    snprintf(name, sizeof(name), "@m%u.lua", (unsigned)i);
    frames[0] = ljt_line(&e, name, 1, 2);
    ljm_encoder4_alloc(&e, ljm_encoder4_site(&e, ljt_stack(&e, frames),
                                             LJM_STATE_INTERP,
                                             LJM_OBJECT_TABLE),
                       0x1000000 + i * 64, 1);
  }
  n = ljt_sites(&e, site);
  LJT_EQ(n, SITES);
  for (i = 0; i < n; i++) {
    LJT_OK(site[i] != 0);
    now += 1000000000;
    ljm_encoder4_alloc(&e, site[i], 0x10000 + i * 4096, (i + 1) * 100);
    if (i == 4) ljt_mark(&e, "half", 2000);
    if (i == 7) ljm_encoder4_flush(&e);
  }
  ljt_mark(&e, "end", 3000);
  ljm_encoder4_dealloc(&e, site[0], 0x10000, 100);
  now += 1000000000;
  ljt_mark(&e, NULL, 2500);
  for (i = 1; i < n; i++)
    ljm_encoder4_live(&e, i % 2 ? LJM_OBJECT_TABLE : LJM_OBJECT_STRING,
                      0x10000 + i * 4096);
  LJT_EQ(ljm_encoder4_finish(&e, LJM_END_STOPPED, 7000), LJM_OK);
  ljm_encoder4_free(&e);
}

static void ljt_record(ljt_sink *s) { ljt_record_after(s, 0); }

static ljp_profile *ljt_read(const ljt_sink *s, const ljp_options *options)
{
  ljp_profile *p = NULL;
  LJT_EQ(ljp_profile_new(&p, options), LJP_OK);
  ljp_profile_feed(p, s->data, s->size);
  ljp_profile_finish(p);
  return p;
}

static ljp_tree *ljt_plant(const ljp_profile *p)
{
  ljp_tree *t = NULL;
  LJT_EQ(ljp_profile_tree(p, NULL, &t), LJP_OK);
  LJT_EQ(ljp_tree_prune(t, 0, SIZE_MAX), LJP_OK);
  return t;
}

static void stacks_and_names(void)
{
  ljt_sink s;
  ljt_text out;
  ljp_profile *p;
  ljp_tree *t;
  size_t i;
  memset(&out, 0, sizeof(out));
  ljt_record(&s);
  p = ljt_read(&s, NULL);
  LJT_EQ(ljp_profile_error(p)->status, LJP_OK);
  t = ljt_plant(p);
  LJT_EQ(ljp_tree_folded(t, LJP_ALLOC_SIZE, ljt_text_write, &out), LJP_OK);
  for (i = 0; i < SITES; i++) {
    ljt.row = expected[i];
    LJT_OK(strstr(out.data, expected[i]) != NULL);
  }
  ljt.row = NULL;
  LJT_EQ(ljt_sum(t, LJP_ALLOC_SIZE), 6600);
  LJT_EQ(ljt_sum(t, LJP_INUSE_SIZE), 6500);
  LJT_OK(strstr(out.data, "local x") == NULL);
  out.size = 0;
  LJT_EQ(ljp_tree_pprof(t, ljt_text_write, &out), LJP_OK);
  for (i = 0; i + 8 < out.size; i++)
    if (memcmp(out.data + i, "\x32\6cafe00", 8) == 0) break;
  LJT_OK(i + 8 < out.size); /* A string: the module's build-id. */
  ljp_tree_free(t);
  ljp_profile_free(p);
  free(out.data);
  free(s.data);
}

/* A place anywhere on the path counts, with a line or without. */
static void budgets_of_stacks(void)
{
  static const struct {
    const char *name;
    ljp_budget budget;
    uint64_t n;
  } rows[] = {
    {"a caller", {LJP_ALLOC_SIZE, 0, "main.lua:3", 0}, 3800},
    {"the line alone", {LJP_ALLOC_SIZE, 0, "main.lua:3", 1}, 200},
    {"what it calls", {LJP_ALLOC_SIZE, 0, "string.rep", 1}, 200},
    {"a module", {LJP_ALLOC_SIZE, 0, "cjson", 0}, 700},
    {"a C function", {LJP_ALLOC_SIZE, 0, "cjson_decode", 0}, 300},
    {"a state", {LJP_ALLOC_SIZE, 0, "collector", 0}, 800}
  };
  ljt_sink s;
  ljp_profile *p;
  ljp_tree *t;
  size_t i;
  ljt_record(&s);
  p = ljt_read(&s, NULL);
  t = ljt_plant(p);
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_budget_result r;
    ljt.row = rows[i].name;
    LJT_EQ(ljp_tree_budget(t, &rows[i].budget, &r), LJP_OK);
    LJT_EQ(r.n, rows[i].n);
  }
  ljt.row = NULL;
  ljp_tree_free(t);
  ljp_profile_free(p);
  free(s.data);
}

static void text_names_leaves(void)
{
  static const char *const rows[] = {
    "@util.lua:15: 1 events\t+100B\t-0B\n",
    "@main.lua:3: 1 events\t+200B\t-0B\n", /* string.rep's caller */
    "cjson_decode:0x7f0000001000: 1 events\t+300B\t-0B\n",
    "/usr/lib/lua/cjson.so+0x1234: 1 events\t+400B\t-0B\n",
    "CFUNC 0x99: 1 events\t+500B\t-0B\n",
    "TRACE [7] started at @main.lua:3: 1 events\t+600B\t-0B\n",
    "INTERNAL, start-up: 1 events\t+700B\t-0B\n",
    "INTERNAL, garbage collector: 1 events\t+800B\t-0B\n",
    "function_alias_1:2: 1 events\t+900B\t-0B\n",
    "INTERNAL, trace recorder: 1 events\t+1000B\t-0B\n",
    "=host only:5: 1 events\t+1100B\t-0B\n"
  };
  ljt_sink s;
  ljt_text out;
  ljp_profile *p;
  size_t i;
  memset(&out, 0, sizeof(out));
  ljt_record(&s);
  p = ljt_read(&s, NULL);
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, NULL, ljt_text_write, &out), LJP_OK);
  for (i = 0; i < SITES; i++) {
    ljt.row = rows[i];
    LJT_OK(strstr(out.data, rows[i]) != NULL);
  }
  ljp_profile_free(p);
  free(out.data);
  free(s.data);
}

/* The model's words: facts, kinds, timeline by time. */
static void words_and_timeline(void)
{
  ljt_sink s;
  ljt_text out;
  ljp_profile *p;
  ljp_tree *t;
  const char *line, *v;
  uint64_t at = 0, most = 0, n;
  memset(&out, 0, sizeof(out));
  ljt_record(&s);
  p = ljt_read(&s, NULL);
  t = ljt_plant(p);
  LJT_EQ(ljp_tree_model(t, ljt_text_write, &out), LJP_OK);
  LJT_OK(ljt_json_valid(out.data));
  LJT_OK(strstr(out.data, "[\"tree\",\"test\"]") != NULL);
  LJT_OK(strstr(out.data, "[\"ended\",\"stopped\"]") != NULL);
  LJT_OK(strstr(out.data, "[\"run time\",\"12.000 s\"]") != NULL);
  LJT_OK(strstr(out.data, "[\"string\",3500,5]") != NULL);
  LJT_OK(strstr(out.data, "[\"table\",3000,5]") != NULL);
  LJT_OK(strstr(out.data, "\"stacks\":true") != NULL);
  line = ljt_json_get(out.data, "timeline");
  LJT_OK(ljt_json_is(ljt_json_get(line, "unit"), "time"));
  v = ljt_json_first(ljt_json_get(line, "points"));
  for (n = 0; v; v = ljt_json_next(v), n++) {
    LJT_OK(ljt_json_u64(ljt_json_at(v, 0)) >= at);
    at = ljt_json_u64(ljt_json_at(v, 0));
    if (ljt_json_u64(ljt_json_at(v, 1)) > most)
      most = ljt_json_u64(ljt_json_at(v, 1));
  }
  LJT_EQ(at, 12000000000);
  LJT_EQ(most, 6600);
  LJT_OK(n >= 5);
  v = ljt_json_at(ljt_json_get(line, "marks"), 0);
  LJT_EQ(ljt_json_u64(ljt_json_at(v, 0)), 5000000000);
  LJT_OK(ljt_json_is(ljt_json_at(v, 1), "half"));
  ljp_tree_free(t);
  ljp_profile_free(p);
  free(out.data);
  free(s.data);
}

static void windows_by_marks(void)
{
  static const struct {
    const char *name, *from, *to;
    uint64_t from_time, to_time, events;
    int ended;
  } rows[] = {
    {"all", NULL, NULL, 0, 0, 12, 1}, {"from half", "half", NULL, 0, 0, 7, 1},
    {"to half", NULL, "half", 0, 0, 5, 1},
    {"half to end", "half", "end", 0, 0, 6, 1},
    {"from end", "end", NULL, 0, 0, 1, 1},
    {"never", "no such", NULL, 0, 0, 0, 1},
    {"end to half", "end", "half", 0, 0, 1, 0},
    {"to never", NULL, "no such", 0, 0, 12, 0},
    {"to 99 s", NULL, NULL, 0, 99000000000, 12, 0},
    {"from 5 s", NULL, NULL, 5000000000, 0, 7, 1},
    {"to 5 s", NULL, NULL, 0, 5000000000, 5, 1},
    {"to 4 s, first mark after", NULL, NULL, 0, 4000000000, 5, 1},
    {"half to 11 s", "half", NULL, 0, 11000000000, 6, 1}
  };
  ljt_sink s;
  size_t i;
  ljt_record(&s);
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_options o;
    ljp_profile *p;
    ljp_totals sum;
    ljt.row = rows[i].name;
    memset(&o, 0, sizeof(o));
    o.from_mark = rows[i].from;
    o.to_mark = rows[i].to;
    o.from_time = rows[i].from_time;
    o.to_time = rows[i].to_time;
    p = ljt_read(&s, &o);
    ljp_aggregate_totals(ljp_profile_aggregate(p), &sum);
    LJT_EQ(sum.events, rows[i].events);
    LJT_EQ(ljp_profile_window_ended(p), rows[i].ended);
    ljp_profile_free(p);
  }
  free(s.data);
}

/* -- Definitions in any order, of any id -- */

static void ljt_define(ljp_symbols *s, ljp_record_kind kind, uint64_t id,
                       const char *name, uint64_t a, uint64_t b, uint64_t c)
{
  uint64_t n[4];
  ljp_record r;
  memset(&r, 0, sizeof(r));
  n[0] = a;
  n[1] = b;
  n[2] = c;
  n[3] = 0;
  r.kind = kind;
  r.id = id;
  r.name = name;
  r.name_size = name ? strlen(name) : 0;
  r.n = n;
  r.n_count = name ? 0 : 4;
  LJT_EQ(ljp_symbols_define(s, &r), LJP_OK);
}

static void definitions_in_any_order(void)
{
  static const uint64_t ids[] = {1, 2, 1000, 1025, 70000, UINT32_MAX,
                                 UINT64_C(1) << 40, UINT64_MAX};
  size_t i;
  for (i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
    uint64_t id = ids[i], stack = id < UINT32_MAX ? id : 77;
    ljp_symbols *s;
    ljp_label l;
    size_t size;
    LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
    ljp_symbols_site(s, id, &l);
    LJT_EQ(l.kind, LJP_LABEL_SITE);
    LJT_EQ(l.value, id);
    ljt_define(s, LJP_RECORD_SITE, id, NULL, stack, 1, 8);
    ljp_symbols_site(s, id, &l);
    LJT_EQ(l.kind, LJP_LABEL_SITE);
    ljt_define(s, LJP_RECORD_STACK, stack, NULL, 0, 5, 0);
    ljt_define(s, LJP_RECORD_FRAME, 5, NULL, LJP_FRAME4_LUA, id, 42);
    ljt_define(s, LJP_RECORD_FUNCTION, id, NULL, id, 40, 50);
    ljt_define(s, LJP_RECORD_STRING, id, "@late.lua", 0, 0, 0);
    ljt_define(s, LJP_RECORD_STRING, id, "@again.lua", 0, 0, 0);
    ljt_define(s, LJP_RECORD_SITE, id, NULL, 3, 3, 8);
    ljp_symbols_site(s, id, &l);
    LJT_EQ(l.kind, LJP_LABEL_LUA);
    LJT_EQ(l.value, 42);
    LJT_MEM(ljp_symbols_string(s, l.name, &size), 9, "@late.lua", 9);
    LJT_EQ(size, 9);
    ljp_symbols_free(s);
  }
}

/* The last numbers that a stack can name: its parent's and its frame's. */
static void largest_parent(void)
{
  ljp_symbols *s;
  ljp_label l;
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  ljt_define(s, LJP_RECORD_STRING, 1, "@a.lua", 0, 0, 0);
  ljt_define(s, LJP_RECORD_FUNCTION, 1, NULL, 1, 40, 50);
  ljt_define(s, LJP_RECORD_FRAME, UINT32_MAX, NULL, LJP_FRAME4_LUA, 1, 42);
  ljt_define(s, LJP_RECORD_FRAME, 6, NULL, LJP_FRAME4_FAST, 1, 0);
  ljt_define(s, LJP_RECORD_STACK, UINT32_MAX, NULL, 0, UINT32_MAX, 0);
  ljt_define(s, LJP_RECORD_STACK, 9, NULL, UINT32_MAX, 6, 0);
  ljt_define(s, LJP_RECORD_SITE, 1, NULL, 9, 1, 8);
  ljp_symbols_site(s, 1, &l);
  LJT_EQ(l.kind, LJP_LABEL_LUA);
  LJT_EQ(l.value, 42);
  ljp_symbols_free(s);
}

/* What the VM does by itself in some states is no line's, the rest is. */
static void states_of_the_vm(void)
{
  uint64_t state;
  ljp_symbols *s;
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  ljt_define(s, LJP_RECORD_STRING, 1, "@a.lua", 0, 0, 0);
  ljt_define(s, LJP_RECORD_FUNCTION, 1, NULL, 1, 40, 50);
  ljt_define(s, LJP_RECORD_FRAME, 1, NULL, LJP_FRAME4_LUA, 1, 42);
  ljt_define(s, LJP_RECORD_STACK, 1, NULL, 0, 1, 0);
  for (state = 0; state < 12; state++) {
    int own = state == 0 || (state > 2 && state < 8);
    ljp_label l;
    ljt_define(s, LJP_RECORD_SITE, state + 1, NULL, 1, state, 8);
    ljp_symbols_site(s, state + 1, &l);
    LJT_EQ(l.kind, own ? LJP_LABEL_STATE : LJP_LABEL_LUA);
    LJT_EQ(l.value, own ? state : 42);
  }
  ljp_symbols_free(s);
}

/* A trace whose prototype came late began in the first that was told of; the
** peer's reports take the last. */
static void late_prototype(void)
{
  static const struct {
    const char *name;
    ljp_label_kind want;
  } rows[] = {
    {NULL, LJP_LABEL_LFUNC}, {"@a.lua", LJP_LABEL_LUA},
    {"@b.lua", LJP_LABEL_LUA}
  };
  ljp_symbols *s;
  ljp_label l;
  ljp_record r;
  size_t i, size;
  memset(&r, 0, sizeof(r));
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  r.kind = LJP_RECORD_TRACE;
  r.id = 7;
  r.addr = 0x1000;
  r.line = 42;
  LJT_EQ(ljp_symbols_define(s, &r), LJP_OK);
  r.kind = LJP_RECORD_PROTO;
  r.id = 0x1000;
  r.name_size = 6;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    r.name = rows[i].name;
    r.line = 40 + i;
    if (r.name) LJT_EQ(ljp_symbols_define(s, &r), LJP_OK);
    LJT_EQ(ljp_symbols_resolve(s, LJP_MODEL_TRUE, LJP_SOURCE_TRACE, 7, 0, &l),
           LJP_OK);
    LJT_EQ(l.kind, rows[i].want);
    if (!r.name) continue;
    LJT_STR(ljp_symbols_string(s, l.name, &size), "@a.lua");
    LJT_EQ(l.value, 42);
    LJT_EQ(l.line, 41);
    LJT_EQ(ljp_symbols_resolve(s, LJP_MODEL_CLASSIC, LJP_SOURCE_TRACE, 7, 0,
                               &l), LJP_OK);
    LJT_STR(ljp_symbols_string(s, l.name, &size), r.name);
  }
  ljp_symbols_free(s);
}

/* Below so many fast functions their caller is looked for, no deeper. */
static void fast_functions(void)
{
  uint64_t fast;
  for (fast = 0; fast < 6; fast++) {
    ljp_symbols *s;
    ljp_label l;
    uint64_t i;
    LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
    ljt_define(s, LJP_RECORD_STRING, 1, "@a.lua", 0, 0, 0);
    ljt_define(s, LJP_RECORD_STRING, 2, "pcall", 0, 0, 0);
    ljt_define(s, LJP_RECORD_FUNCTION, 1, NULL, 1, 40, 50);
    ljt_define(s, LJP_RECORD_FRAME, 1, NULL, LJP_FRAME4_LUA, 1, 42);
    ljt_define(s, LJP_RECORD_FRAME, 2, NULL, LJP_FRAME4_FAST, 2, 0);
    ljt_define(s, LJP_RECORD_STACK, 1, NULL, 0, 1, 0);
    for (i = 1; i <= fast; i++)
      ljt_define(s, LJP_RECORD_STACK, i + 1, NULL, i, 2, 0);
    ljt_define(s, LJP_RECORD_SITE, 1, NULL, fast + 1, 1, 8);
    ljp_symbols_site(s, 1, &l);
    LJT_EQ(l.kind, fast < 4 ? LJP_LABEL_LUA : LJP_LABEL_BUILTIN);
    ljp_symbols_free(s);
  }
}

/* Two symbols are let in; one that is named again is one still. */
static void symbols_limited(void)
{
  static const struct {
    uint64_t id;
    const char *name;
    ljp_status want;
  } rows[] = {
    {0x10, "a", LJP_OK}, {0x10, "b", LJP_OK}, {0x20, "c", LJP_OK},
    {0x30, "d", LJP_E_LIMIT}, {0x20, "e", LJP_OK}
  };
  ljp_symbols *s;
  ljp_options o;
  ljp_record r;
  size_t i;
  memset(&o, 0, sizeof(o));
  memset(&r, 0, sizeof(r));
  o.limits.symbols = 2;
  r.kind = LJP_RECORD_CSYM;
  r.name_size = 1;
  LJT_EQ(ljp_symbols_new(&s, &o), LJP_OK);
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    r.id = rows[i].id;
    r.name = ljt.row = rows[i].name;
    LJT_EQ(ljp_symbols_define(s, &r), rows[i].want);
  }
  ljt.row = NULL;
  ljp_symbols_free(s);
}

/* What a site is called whose innermost frame is no function. */
static void frames_without_functions(void)
{
  static const struct {
    const char *name;
    uint64_t kind, n;
    ljp_label_kind want;
  } rows[] = {
    {"a state", LJP_FRAME4_VM, 9, LJP_LABEL_STATE},
    {"a state nobody knows", LJP_FRAME4_VM, 99, LJP_LABEL_STATE},
    {"a gap", LJP_FRAME4_GAP, 2, LJP_LABEL_GAP},
    {"a gap nobody knows", LJP_FRAME4_GAP, 99, LJP_LABEL_GAP}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljp_symbols *s;
    ljp_label l;
    ljt.row = rows[i].name;
    LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
    ljt_define(s, LJP_RECORD_FRAME, 5, NULL, rows[i].kind, rows[i].n, 0);
    ljt_define(s, LJP_RECORD_STACK, 3, NULL, 0, 5, 0);
    ljt_define(s, LJP_RECORD_SITE, 1, NULL, 3, 1, 8);
    ljp_symbols_site(s, 1, &l);
    LJT_EQ(l.kind, rows[i].want);
    LJT_EQ(l.value, rows[i].n);
    ljp_symbols_free(s);
  }
  ljt.row = NULL;
}

/* Of an event of trace 0 the peer keeps the machine code's address alone. */
static void trace_number_zero(void)
{
  ljp_symbols *s;
  ljp_label trace, c;
  ljp_record r;
  memset(&r, 0, sizeof(r));
  r.kind = LJP_RECORD_CSYM;
  r.id = 0x1000;
  r.name = "symbol";
  r.name_size = 6;
  LJT_EQ(ljp_symbols_new(&s, NULL), LJP_OK);
  LJT_EQ(ljp_symbols_define(s, &r), LJP_OK);
  LJT_EQ(ljp_symbols_resolve(s, LJP_MODEL_CLASSIC, LJP_SOURCE_TRACE, 0,
                             0x1008, &trace), LJP_OK);
  LJT_EQ(ljp_symbols_resolve(s, LJP_MODEL_CLASSIC, LJP_SOURCE_C, 0x1008, 0,
                             &c), LJP_OK);
  LJT_OK(trace.kind != LJP_LABEL_NONE && trace.trace_kind == 0);
  LJT_MEM(&trace, sizeof(trace), &c, sizeof(c));
  LJT_EQ(ljp_symbols_resolve(s, LJP_MODEL_TRUE, LJP_SOURCE_TRACE, 0, 0x1008,
                             &trace), LJP_OK);
  LJT_EQ(trace.kind, LJP_LABEL_UNKNOWN_TRACE);
  ljp_symbols_free(s);
}

/* -- Damage to each block in turn -- */

static uint32_t ljt_u32(const unsigned char *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

static void one_damaged_block(void)
{
  ljt_sink s;
  size_t at, blocks = 0, damaged = 0;
  ljt_record(&s);
  for (at = 14; at < s.size; at += 32 + ljt_u32(s.data + at + 12), blocks++) {
    unsigned kind = s.data[at + 4];
    uint32_t events = ljt_u32(s.data + at + 16), i, lost = 0;
    ljp_profile *p;
    ljp_tree *t;
    ljt_text out;
    memset(&out, 0, sizeof(out));
    if (ljt_u32(s.data + at + 12) == 0) continue;
    s.data[at + 32] ^= 0xff;
    p = ljt_read(&s, NULL);
    LJT_EQ(ljp_profile_error(p)->status, LJP_E_MALFORMED);
    t = ljt_plant(p);
    LJT_EQ(ljt_sum(t, LJP_ALLOC_COUNT) +
             (kind == 3 ? events : 0) >= SITES, 1);
    for (i = 1; i <= ljp_tree_place_count(t); i++) {
      size_t size;
      const char *name = ljp_tree_text(t, ljp_tree_place_at(t, i)->name,
                                       &size);
      lost += strcmp(name, "(name lost)") == 0;
    }
    LJT_EQ(lost, 0);
    LJT_EQ(ljp_tree_model(t, ljt_text_write, &out), LJP_OK);
    LJT_OK(ljt_json_first(ljt_json_get(out.data, "warnings")) != NULL);
    LJT_OK(strstr(out.data, "damaged: ") != NULL);
    damaged++;
    free(out.data);
    ljp_tree_free(t);
    ljp_profile_free(p);
    s.data[at + 32] ^= 0xff;
  }
  LJT_OK(blocks >= 6);
  LJT_OK(damaged >= 6);
  free(s.data);
}

/* All DEFS gone: the events count under "name lost", which tells of the bytes
** from the first that were lost to the last. */
static void all_definitions_lost(void)
{
  char want[80];
  ljt_sink s;
  size_t at, size, from = 0, to = 0;
  ljp_profile *p;
  ljp_tree *t;
  ljt_text out;
  memset(&out, 0, sizeof(out));
  ljt_record(&s);
  for (at = 14; at < s.size; at += size) {
    size = 32 + ljt_u32(s.data + at + 12);
    if (s.data[at + 4] != 2) continue;
    s.data[at + 32] ^= 0xff;
    if (from == 0) from = at;
    to = at + size;
  }
  p = ljt_read(&s, NULL);
  t = ljt_plant(p);
  LJT_EQ(ljt_sum(t, LJP_ALLOC_SIZE), 6600);
  LJT_EQ(ljp_tree_path_count(t), 2);
  LJT_EQ(ljp_tree_folded(t, LJP_ALLOC_SIZE, ljt_text_write, &out), LJP_OK);
  LJT_STR(out.data, "(name lost) 6600\n");
  out.size = 0;
  LJT_EQ(ljp_profile_report(p, LJP_TEXT, NULL, ljt_text_write, &out), LJP_OK);
  snprintf(want, sizeof(want),
           "\nname lost, bytes %zu-%zu: 11 events\t+6600B\t-0B\n", from, to);
  LJT_OK(strstr(out.data, want) != NULL);
  free(out.data);
  ljp_tree_free(t);
  ljp_profile_free(p);
  free(s.data);
}

/* -- Random streams -- */

/* What the sites say, if no sum over several of them can stop at its end. */
static int ljt_site_sums(const ljp_profile *p, uint64_t *alloc, uint64_t *live)
{
  const ljp_aggregate *a = ljp_profile_aggregate(p);
  size_t i;
  *alloc = *live = 0;
  for (i = 0; i < ljp_aggregate_site_count(a); i++) {
    ljp_site s;
    ljp_aggregate_site(a, i, &s);
    if (s.alloc_count >> 40 || s.realloc_count >> 40 || s.live_count >> 40)
      return 0;
    *alloc += s.alloc_count + s.realloc_count;
    *live += s.live_count;
  }
  return 1;
}

static void random_streams(void)
{
  uint64_t seed, compared = 0;
  for (seed = ljt.seed; seed < ljt.seed + 40; seed++) {
    ljt_sink s;
    ljp_profile *p;
    ljp_tree *t;
    uint64_t alloc, live;
    ljt_text out;
    memset(&out, 0, sizeof(out));
    LJT_OK(ljt_gen4(&s, seed, seed % 2 ? 3000 : 60, 4096));
    if (seed % 4 == 3) s.data[s.size / 2] ^= 1;
    p = ljt_read(&s, NULL);
    t = ljt_plant(p);
    if (ljt_site_sums(p, &alloc, &live)) {
      LJT_EQ(ljt_sum(t, LJP_ALLOC_COUNT), alloc);
      LJT_EQ(ljt_sum(t, LJP_INUSE_COUNT), live);
      compared++;
    }
    LJT_EQ(ljp_tree_folded(t, LJP_INUSE_COUNT, ljt_text_write, &out), LJP_OK);
    out.size = 0;
    LJT_EQ(ljp_tree_pprof(t, ljt_text_write, &out), LJP_OK);
    out.size = 0;
    LJT_EQ(ljp_tree_speedscope(t, ljt_text_write, &out), LJP_OK);
    LJT_OK(ljt_json_valid(out.data));
    out.size = 0;
    LJT_EQ(ljp_tree_model(t, ljt_text_write, &out), LJP_OK);
    LJT_OK(ljt_json_valid(out.data));
    out.size = 0;
    LJT_EQ(ljp_profile_report(p, LJP_TEXT, NULL, ljt_text_write, &out),
           LJP_OK);
    free(out.data);
    ljp_tree_free(t);
    ljp_profile_free(p);
    free(s.data);
  }
  LJT_OK(compared > 4);
}

static void every_allocation_fails(void)
{
  ljt_sink s;
  ljt_heap heap;
  uint64_t n = 1;
  ljp_status st;
  ljt_record(&s);
  do {
    ljp_options o;
    ljp_profile *p = NULL;
    ljp_tree *t = NULL;
    o = ljt_heap_options(&heap);
    heap.fail_at = n++;
    st = ljp_profile_new(&p, &o);
    if (st == LJP_OK) {
      ljp_profile_feed(p, s.data, s.size);
      st = ljp_profile_finish(p);
      if (st == LJP_END) st = ljp_profile_tree(p, NULL, &t);
      if (st != LJP_OK) LJT_EQ(st, LJP_E_NOMEM);
    }
    ljp_tree_free(t);
    ljp_profile_free(p);
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.bad_frees, 0);
  } while (st != LJP_OK && n < 2000);
  LJT_OK(n > 30);
  LJT_OK(n < 2000);
  free(s.data);
}

typedef struct failing {
  uint64_t writes, fail_at;
} failing;

/* The tables of a tree grow now and then: with more and more lines before
** them, each of the other places is the one that needs memory, and gets none;
** in the making, in a comparison and in pruning. */
static ljp_status ljt_tree_steps(const ljp_profile *p, ljt_heap *heap,
                                 const ljp_tree_options *how, uint64_t n)
{
  ljp_tree *t = NULL, *old = NULL;
  ljp_status st = ljp_profile_tree(p, how, &old);
  if (st == LJP_OK) {
    heap->fail_at = heap->calls + n;
    st = ljp_profile_tree(p, NULL, &t);
    if (st == LJP_OK) st = ljp_tree_diff(t, old);
    if (st == LJP_OK) st = ljp_tree_prune(t, 0, SIZE_MAX);
    if (t) LJT_EQ(ljp_tree_status(t), st);
  }
  heap->fail_at = 0;
  ljp_tree_free(t);
  ljp_tree_free(old);
  return st;
}

static void trees_of_all_sizes(void)
{
  uint32_t more;
  for (more = 0; more < 70; more++) {
    ljp_tree_options how;
    ljp_options o;
    ljp_profile *p;
    ljt_heap heap;
    ljt_sink s;
    uint64_t n = 0;
    ljp_status st;
    memset(&how, 0, sizeof(how));
    how.stable_names = more & 1;
    how.show_source = more >> 1 & 1;
    o = ljt_heap_options(&heap);
    ljt_record_after(&s, more);
    p = ljt_read(&s, &o);
    do {
      uint64_t before = heap.live_count;
      st = ljt_tree_steps(p, &heap, &how, ++n);
      LJT_OK(st == LJP_OK || st == LJP_E_NOMEM);
      LJT_EQ(heap.live_count, before);
    } while (st != LJP_OK);
    LJT_OK(n > 20);
    ljp_profile_free(p);
    LJT_EQ(heap.live_count + heap.bad_frees, 0);
    free(s.data);
  }
}

/* So many marks that some are left out: the timeline still has its ends, and
** of the words before the first block as many as there is room for. */
static void many_marks(void)
{
  static ljm_meta meta[40];
  static char keys[40][16];
  ljm_encoder4 e;
  ljm_encoder_options o;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljt_text out;
  ljp_profile *p;
  ljp_tree *t;
  const char *v;
  uint64_t at = 0, points = 0;
  uint32_t i;
  memset(&out, 0, sizeof(out));
  memset(&o, 0, sizeof(o));
  o.clock = ljt_clock;
  for (i = 0; i < 40; i++) {
    snprintf(keys[i], sizeof(keys[i]), "key%u", (unsigned)i);
    meta[i].key = keys[i];
    meta[i].value = "v";
  }
  now = 0;
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, meta, 40), LJM_OK);
  for (i = 1; i <= 3000; i++) {
    now = i * UINT64_C(1000000);
    ljm_encoder4_alloc(&e, ljm_encoder4_site(&e, 0, LJM_STATE_GC,
                                             LJM_OBJECT_TABLE), i * 16, 10);
    ljt_mark(&e, NULL, i);
  }
  LJT_EQ(ljm_encoder4_finish(&e, LJM_END_STOPPED, 0), LJM_OK);
  ljm_encoder4_free(&e);
  p = ljt_read(&s, NULL);
  t = ljt_plant(p);
  LJT_EQ(ljp_tree_model(t, ljt_text_write, &out), LJP_OK);
  LJT_OK(strstr(out.data, "[\"key31\",\"v\"]") != NULL);
  LJT_OK(strstr(out.data, "key32") == NULL);
  v = ljt_json_get(ljt_json_get(out.data, "timeline"), "points");
  for (v = ljt_json_first(v); v; v = ljt_json_next(v), points++) {
    LJT_OK(ljt_json_u64(ljt_json_at(v, 0)) >= at);
    at = ljt_json_u64(ljt_json_at(v, 0));
  }
  LJT_OK(points > 300 && points <= 520);
  LJT_OK(at > 2900 * UINT64_C(1000000));
  ljp_tree_free(t);
  ljp_profile_free(p);
  free(out.data);
  free(s.data);
}

static int ljt_failing_write(void *user, const void *data, size_t size)
{
  failing *f = (failing *)user;
  (void)data;
  (void)size;
  return ++f->writes == f->fail_at;
}

/* Each allocation and each write of each report fails in turn. */
static void reports_fail(void)
{
  ljt_sink s;
  ljt_heap heap;
  ljp_options o;
  ljp_profile *p;
  unsigned i;
  ljt_record(&s);
  o = ljt_heap_options(&heap);
  p = ljt_read(&s, &o);
  for (i = 0; i < 8; i++) {
    uint64_t n = 0, live = heap.live_count;
    ljp_report_options ro;
    failing f;
    ljp_status st;
    memset(&ro, 0, sizeof(ro));
    ro.by = (ljp_by)(i / 2);
    do {
      memset(&f, 0, sizeof(f));
      heap.fail_at = heap.calls + ++n;
      st = ljp_profile_report(p, i % 2 ? LJP_JSON : LJP_TEXT, &ro,
                              ljt_failing_write, &f);
      LJT_OK(st == LJP_OK || st == LJP_E_NOMEM);
      LJT_EQ(heap.live_count, live);
    } while (st != LJP_OK && n < 1000);
    LJT_OK(n > 1 && n < 1000);
    heap.fail_at = 0;
    for (n = f.writes; n > 0; n--) {
      memset(&f, 0, sizeof(f));
      f.fail_at = n;
      LJT_EQ(ljp_profile_report(p, i % 2 ? LJP_JSON : LJP_TEXT, &ro,
                                ljt_failing_write, &f), LJP_E_IO);
      LJT_EQ(f.writes, n);
      LJT_EQ(heap.live_count, live);
    }
  }
  ljp_profile_free(p);
  LJT_EQ(heap.live_count, 0);
  LJT_EQ(heap.bad_frees, 0);
  free(s.data);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(stacks_and_names);
  LJT_CASE(text_names_leaves);
  LJT_CASE(budgets_of_stacks);
  LJT_CASE(words_and_timeline);
  LJT_CASE(windows_by_marks);
  LJT_CASE(definitions_in_any_order);
  LJT_CASE(largest_parent);
  LJT_CASE(states_of_the_vm);
  LJT_CASE(late_prototype);
  LJT_CASE(fast_functions);
  LJT_CASE(symbols_limited);
  LJT_CASE(frames_without_functions);
  LJT_CASE(trace_number_zero);
  LJT_CASE(one_damaged_block);
  LJT_CASE(all_definitions_lost);
  LJT_CASE(random_streams);
  LJT_CASE(every_allocation_fails);
  LJT_CASE(trees_of_all_sizes);
  LJT_CASE(many_marks);
  LJT_CASE(reports_fail);
  return ljt_end();
}
