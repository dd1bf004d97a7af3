/*
** fuzz_symtab.c - the input as the records of a symbol part of version 3;
** what addresses, prototypes and traces mean is asked while they come, and
** compared with lists that are searched from end to end.
*/
#include "parse_help.h"

#define LJF_SYMBOLS 200

typedef struct ljf_symbol {
  ljp_record_kind kind;
  uint64_t id, line, proto;
  uint32_t name;            /* What the table calls it. */
  char text[24];            /* Its beginning. */
  size_t size;
  uint64_t whole;           /* A hash of all of it. */
} ljf_symbol;

typedef struct ljf_list {
  ljp_symbols *table;
  ljf_symbol symbol[LJF_SYMBOLS];
  size_t count;
} ljf_list;

static ljf_list list;

/* Last of a kind with this id, or NULL. */
static const ljf_symbol *ljf_last(ljp_record_kind kind, uint64_t id)
{
  size_t i;
  for (i = list.count; i-- > 0;)
    if (list.symbol[i].kind == kind && list.symbol[i].id == id)
      return &list.symbol[i];
  return NULL;
}

/* Whether a page-aligned address has had two names. */
static int ljf_imports(uint64_t addr)
{
  size_t i;
  const ljf_symbol *last = ljf_last(LJP_RECORD_CSYM, addr);
  for (i = 0; addr % 4096 == 0 && i < list.count; i++) {
    const ljf_symbol *s = &list.symbol[i];
    if (s->kind == LJP_RECORD_CSYM && s->id == addr &&
        s->whole != last->whole)
      return 1;
  }
  return 0;
}

static void ljf_same_name(const ljp_label *l, const ljf_symbol *s)
{
  size_t size;
  const char *p = ljp_symbols_string(list.table, l->name, &size);
  LJF_CHECK(size >= s->size && memcmp(p, s->text, s->size) == 0);
}

static void ljf_ask_c(ljp_model model, uint64_t addr)
{
  const ljf_symbol *best = NULL;
  ljp_label l;
  size_t i;
  if (addr == 0) return;
  for (i = 0; i < list.count; i++) {
    const ljf_symbol *s = &list.symbol[i];
    if (s->kind != LJP_RECORD_CSYM || s->id > addr) continue;
    if (model == LJP_MODEL_TRUE && ljf_imports(s->id)) continue;
    if (!best || s->id >= best->id) best = s;
  }
  if (ljp_symbols_resolve(list.table, model, LJP_SOURCE_C, addr, 0, &l) !=
      LJP_OK) return;
  if (model == LJP_MODEL_CLASSIC && ljf_last(LJP_RECORD_PROTO, addr)) return;
  if (!best) {
    LJF_CHECK(l.kind == LJP_LABEL_CFUNC && l.value == addr);
    return;
  }
  ljf_same_name(&l, best);
  if (model == LJP_MODEL_CLASSIC || best->id == addr)
    LJF_CHECK(l.kind == LJP_LABEL_CSYM && l.value == best->id);
  else
    LJF_CHECK(l.kind == LJP_LABEL_NEAR && l.value == addr - best->id);
}

static void ljf_ask_lua(uint64_t addr, uint64_t line)
{
  const ljf_symbol *s = ljf_last(LJP_RECORD_PROTO, addr);
  ljp_label l;
  if (addr == 0 || ljp_symbols_resolve(list.table, LJP_MODEL_TRUE,
                                       LJP_SOURCE_LUA, addr, line, &l) !=
                       LJP_OK) return;
  LJF_CHECK(l.kind == (s ? LJP_LABEL_LUA : LJP_LABEL_LFUNC));
  if (!s) return;
  ljf_same_name(&l, s);
  LJF_CHECK(l.value == line && l.line == s->line);
}

static void ljf_ask_trace(uint64_t number)
{
  const ljf_symbol *t = ljf_last(LJP_RECORD_TRACE, number);
  ljp_label l;
  if (ljp_symbols_resolve(list.table, LJP_MODEL_TRUE, LJP_SOURCE_TRACE,
                          number, 0, &l) != LJP_OK) return;
  if (number == 0 || number > 65535) {
    LJF_CHECK(l.kind == LJP_LABEL_UNKNOWN_TRACE);
    return;
  }
  LJF_CHECK(l.trace == number && l.trace_kind == 1);
  LJF_CHECK((l.kind != LJP_LABEL_NONE) == (t != NULL));
  if (l.kind == LJP_LABEL_LUA) LJF_CHECK(l.value == t->line);
}

static ljp_status ljf_define(void *user, const ljp_record *r)
{
  ljf_symbol *s = &list.symbol[list.count];
  uint64_t epoch = ljp_symbols_epoch(list.table);
  ljp_status st;
  (void)user;
  if (r->kind > LJP_RECORD_TRACE || r->kind < LJP_RECORD_PROTO)
    return LJP_OK;
  if (list.count == LJF_SYMBOLS) return LJP_E_IO;
  st = ljp_symbols_define(list.table, r);
  if (st != LJP_OK) return st;
  s->kind = r->kind;
  s->id = r->id;
  s->line = r->line;
  s->proto = r->addr;
  s->size = r->name_size < sizeof(s->text) ? r->name_size : sizeof(s->text);
  if (s->size) memcpy(s->text, r->name, s->size);
  s->whole = ljf_hash((const uint8_t *)r->name, r->name_size);
  list.count++;
  LJF_CHECK(ljp_symbols_epoch(list.table) >= epoch);
  LJF_CHECK(ljp_symbols_count(list.table) <= list.count);
  /* The same again is nothing new. */
  epoch = ljp_symbols_epoch(list.table);
  LJF_CHECK(ljp_symbols_define(list.table, r) == LJP_OK);
  LJF_CHECK(ljp_symbols_epoch(list.table) == epoch);
  ljf_ask_c(LJP_MODEL_TRUE, r->id);
  ljf_ask_c(LJP_MODEL_CLASSIC, r->id + 1);
  ljf_ask_c(LJP_MODEL_TRUE, r->id + 17);
  ljf_ask_lua(r->id, r->id % 100);
  ljf_ask_trace(r->id);
  return LJP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  ljt_heap heap;
  ljp_options o = ljt_heap_options(&heap);
  ljp_handler h;
  ljp_decoder *d;
  memset(&h, 0, sizeof(h));
  memset(&list, 0, sizeof(list));
  h.on_record = ljf_define;
  LJF_CHECK(ljp_symbols_new(&list.table, &o) == LJP_OK);
  LJF_CHECK(ljp_decoder_new(&d, &h, &o) == LJP_OK);
  LJF_CHECK(ljp_decoder_feed(d, "ljs\3\0\0\0", 7) == LJP_MORE);
  LJF_CHECK(ljf_status_known(ljp_decoder_feed(d, data, size)));
  ljp_decoder_finish(d);
  ljp_decoder_free(d);
  ljp_symbols_free(list.table);
  ljf_all_freed(&heap);
  return 0;
}
