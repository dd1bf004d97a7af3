/*
** ljtmodel.h - a slow, plain model of what the text and classic reports must
** say of a stream of format 1 to 3: lists that are searched from end to end.
** Nothing of it is the parser's but the rule which characters are shown.
*/
#ifndef LJTMODEL_H
#define LJTMODEL_H

#include "ljtstream.h"

/* -- lists -- */

#define LJT_PUSH(type, list, count) \
  ((list) = (type *)ljt_room((list), (count), sizeof(type)), \
   &(list)[(count)++])

/* Grows at powers of two. No error to speak of in a test. */
#define ljt_room(list, count, elem) \
  (((count) & ((count) - 1)) == 0 \
   ? realloc((list), ((count) ? 2 * (count) : 1) * (elem)) : (list))

typedef struct ljt_mproto { uint64_t addr; char *name; } ljt_mproto;
typedef struct ljt_mcsym {
  uint64_t addr;
  char *name;
  size_t before;          /* + 1, of the same bucket */
} ljt_mcsym;
typedef struct ljt_mtrace {
  uint64_t number, mcode, proto, line;
  char *start;            /* Chunk, once known. */
} ljt_mtrace;

/* A location: what the event has. */
typedef struct ljt_mplace { uint64_t source, id, line; } ljt_mplace;

typedef struct ljt_mblock {
  struct ljt_mblock *next;
  uint64_t addr, size;
  size_t label, key;
} ljt_mblock;

/* A row: of a label (text) or of a location (classic), and a kind. */
typedef struct ljt_mrow {
  size_t label, key, kind;
  uint64_t count, plus, minus;
} ljt_mrow;

typedef struct ljt_mover {
  size_t row, label, key;
  uint64_t count, plus, minus;
} ljt_mover;

typedef struct ljt_mheld {
  size_t label;
  uint64_t plus, minus, allocs, frees;
} ljt_mheld;

#define LJT_BUCKETS 4096

typedef struct ljt_model {
  int classic;
  ljt_mproto *proto; size_t proto_count;
  ljt_mcsym *csym; size_t csym_count;
  ljt_mtrace *trace; size_t trace_count;
  char **alias; size_t alias_count;
  char **label; size_t label_count;
  ljt_mplace *key; size_t key_count;
  ljt_mrow *row; size_t row_count;
  ljt_mover *over; size_t over_count;
  ljt_mheld *held; size_t held_count;
  char **garbage; size_t garbage_count;
  ljt_mblock *live[LJT_BUCKETS];
  size_t csyms[LJT_BUCKETS];  /* Last of each, + 1. */
  uint64_t events, live_count, live_size, peak_count, peak_size;
  uint64_t temp_count, temp_size, before_count, before_size;
  uint64_t failed, again, differs, null_frees, strays, last;
} ljt_model;

/* -- names -- */

static inline char *ljt_mkeep(ljt_model *m, char *text)
{
  if (!text) abort();
  *LJT_PUSH(char *, m->garbage, m->garbage_count) = text;
  return text;
}

static inline char *ljt_mname(ljt_model *m, const unsigned char *p, size_t n)
{
  char *name = (char *)malloc(n + 1);
  if (!name) abort();
  memcpy(name, p, n);
  name[n] = 0;
  return ljt_mkeep(m, name);
}

/* Text of a printf, kept as long as the model. */
__attribute__((format(printf, 2, 3))) static inline char *
ljt_mprint(ljt_model *m, const char *form, ...)
{
  va_list ap;
  int n;
  char *text;
  va_start(ap, form);
  n = vsnprintf(NULL, 0, form, ap);
  va_end(ap);
  if (n < 0) abort();
  text = (char *)malloc((size_t)n + 1);
  if (!text) abort();
  va_start(ap, form);
  vsnprintf(text, (size_t)n + 1, form, ap);
  va_end(ap);
  return ljt_mkeep(m, text);
}

static inline char *ljt_mproto_at(const ljt_model *m, uint64_t addr)
{
  size_t i;
  for (i = m->proto_count; i-- > 0;)
    if (m->proto[i].addr == addr) return m->proto[i].name;
  return NULL;
}

/* Whether a page-aligned address has had two names. */
static inline int ljt_mimports(const ljt_model *m, size_t at)
{
  size_t i;
  if (m->classic || m->csym[at].addr % 4096 != 0) return 0;
  for (i = 0; i < m->csym_count; i++)
    if (m->csym[i].addr == m->csym[at].addr &&
        strcmp(m->csym[i].name, m->csym[at].name) != 0) return 1;
  return 0;
}

/* Nearest symbol at or below; of one address the last. */
static inline const ljt_mcsym *ljt_mcsym_at(const ljt_model *m,
                                            uint64_t addr)
{
  const ljt_mcsym *best = NULL;
  size_t i;
  for (i = 0; i < m->csym_count; i++) {
    if (m->csym[i].addr > addr || ljt_mimports(m, i)) continue;
    if (!best || m->csym[i].addr >= best->addr) best = &m->csym[i];
  }
  return best;
}

static inline char *ljt_mchunk(ljt_model *m, const char *name, uint64_t line)
{
  size_t i;
  for (i = 0; i < m->alias_count; i++)
    if (strcmp(m->alias[i], name) == 0)
      return ljt_mprint(m, "function_alias_%zu:%" PRIu64, i + 1, line);
  return ljt_mprint(m, "%s:%" PRIu64, name, line);
}

static inline char *ljt_mhex(ljt_model *m, uint64_t v)
{
  return v ? ljt_mprint(m, "0x%" PRIx64, v) : ljt_mprint(m, "0");
}

static inline char *ljt_maddr(ljt_model *m, uint64_t addr)
{
  const ljt_mcsym *c = ljt_mcsym_at(m, addr);
  if (!c) return ljt_mprint(m, "CFUNC %s", ljt_mhex(m, addr));
  if (m->classic || c->addr == addr)
    return ljt_mprint(m, "%s:%s", c->name, ljt_mhex(m, c->addr));
  return ljt_mprint(m, "%s+%s?", c->name, ljt_mhex(m, addr - c->addr));
}

/* A prototype's address with a line, or where the classic report takes it
** for one. */
static inline char *ljt_mlua(ljt_model *m, uint64_t addr, uint64_t line)
{
  char *name = ljt_mproto_at(m, addr);
  if (m->classic && addr == 0) return ljt_mprint(m, "INTERNAL");
  if (name) return ljt_mchunk(m, name, line);
  if (m->classic) return ljt_maddr(m, addr);
  return ljt_mprint(m, "LFUNC %s:%" PRIu64, ljt_mhex(m, addr), line);
}

static inline char *ljt_mtrace_label(ljt_model *m, uint64_t n, uint64_t mcode)
{
  ljt_mtrace *t = NULL;
  char *head, *start;
  size_t i;
  if (!m->classic && (n == 0 || n > 65535))
    return ljt_mprint(m, "unknown trace");
  for (i = m->trace_count; i-- > 0 && !t;)
    if (m->trace[i].number == n) t = &m->trace[i];
  head = ljt_mprint(m, mcode ? "TRACE [%" PRIu64 "] 0x%" PRIx64
                             : "TRACE [%" PRIu64 "]", n, mcode);
  if (!t || t->mcode != mcode) return head;
  if (!t->start) t->start = ljt_mproto_at(m, t->proto);
  start = !m->classic && t->start ? ljt_mchunk(m, t->start, t->line)
                                  : ljt_mlua(m, t->proto, t->line);
  return ljt_mprint(m, "%s started at %s", head, start);
}

static inline char *ljt_mlabel(ljt_model *m, const ljt_mplace *p)
{
  if (p->source == 4 && (p->id || !m->classic))
    return ljt_mtrace_label(m, p->id, p->line);
  if (p->source == 4) return ljt_mlua(m, p->line, 0);
  if (p->source == 1 || p->id == 0) return ljt_mprint(m, "INTERNAL");
  if (p->source == 2 || m->classic) return ljt_mlua(m, p->id, p->line);
  return ljt_maddr(m, p->id);
}

static inline size_t ljt_mlabel_index(ljt_model *m, const ljt_mplace *p)
{
  char *text = ljt_mlabel(m, p);
  size_t i;
  for (i = 0; i < m->label_count; i++)
    if (strcmp(m->label[i], text) == 0) return i;
  *LJT_PUSH(char *, m->label, m->label_count) = text;
  return m->label_count - 1;
}

/* Classic: number of (address, line, trace). */
static inline size_t ljt_mkey_index(ljt_model *m, ljt_mplace p)
{
  size_t i;
  if (p.source != 4) {
    p.source = 0;
  } else if (p.id == 0) {
    p.source = 0;
    p.id = p.line;
    p.line = 0;
  }
  for (i = 0; i < m->key_count; i++)
    if (m->key[i].source == p.source && m->key[i].id == p.id &&
        m->key[i].line == p.line) return i;
  *LJT_PUSH(ljt_mplace, m->key, m->key_count) = p;
  return m->key_count - 1;
}

/* -- events -- */

static inline ljt_mrow *ljt_mrow_of(ljt_model *m, size_t kind, size_t label,
                                    size_t key)
{
  size_t i;
  ljt_mrow *r;
  for (i = 0; i < m->row_count; i++) {
    r = &m->row[i];
    if (r->kind == kind && (m->classic ? r->key == key : r->label == label))
      return r;
  }
  r = LJT_PUSH(ljt_mrow, m->row, m->row_count);
  memset(r, 0, sizeof(*r));
  r->kind = kind;
  r->label = label;
  r->key = key;
  return r;
}

static inline ljt_mover *ljt_mover_of(ljt_model *m, size_t row, size_t label,
                                      size_t key)
{
  size_t i;
  ljt_mover *o;
  for (i = 0; i < m->over_count; i++) {
    o = &m->over[i];
    if (o->row == row && (m->classic ? o->key == key : o->label == label))
      return o;
  }
  o = LJT_PUSH(ljt_mover, m->over, m->over_count);
  memset(o, 0, sizeof(*o));
  o->row = row;
  o->label = label;
  o->key = key;
  return o;
}

static inline ljt_mheld *ljt_mheld_of(ljt_model *m, size_t label)
{
  size_t i;
  ljt_mheld *h;
  for (i = 0; i < m->held_count; i++)
    if (m->held[i].label == label) return &m->held[i];
  h = LJT_PUSH(ljt_mheld, m->held, m->held_count);
  memset(h, 0, sizeof(*h));
  h->label = label;
  return h;
}

/* Place in the list where a block is or would be. */
static inline ljt_mblock **ljt_mfind(ljt_model *m, uint64_t addr)
{
  ljt_mblock **b = &m->live[addr / 8 % LJT_BUCKETS];
  while (*b && (*b)->addr != addr) b = &(*b)->next;
  return b;
}

/* A block ceases to be; what it was, in *was. */
static inline int ljt_mdrop(ljt_model *m, uint64_t addr, ljt_mblock *was)
{
  ljt_mblock **b = ljt_mfind(m, addr), *gone = *b;
  if (!gone) return 0;
  *was = *gone;
  *b = gone->next;
  free(gone);
  m->live_count--;
  m->live_size -= was->size;
  if (!m->classic) {
    ljt_mheld_of(m, was->label)->minus += was->size;
    ljt_mheld_of(m, was->label)->frees++;
  }
  return 1;
}

static inline void ljt_mmake(ljt_model *m, uint64_t addr, uint64_t size,
                             size_t label, size_t key)
{
  ljt_mblock was, *b = (ljt_mblock *)malloc(sizeof(*b));
  if (!b) abort();
  if (ljt_mdrop(m, addr, &was)) m->again++;
  b->next = *ljt_mfind(m, addr);
  b->addr = addr;
  b->size = size;
  b->label = label;
  b->key = key;
  *ljt_mfind(m, addr) = b;
  m->live_count++;
  m->live_size += size;
  if (m->live_size > m->peak_size) {
    m->peak_size = m->live_size;
    m->peak_count = m->live_count;
  }
  if (!m->classic) {
    ljt_mheld_of(m, label)->plus += size;
    ljt_mheld_of(m, label)->allocs++;
  }
}

typedef struct ljt_mevent {
  unsigned kind;          /* 1 alloc, 2 free, 3 realloc */
  ljt_mplace place;
  uint64_t old_addr, old_size, addr, size;
} ljt_mevent;

/* The old block of a free or realloc. */
static inline void ljt_mold(ljt_model *m, const ljt_mevent *e, ljt_mrow *row)
{
  ljt_mblock was;
  ljt_mover *o;
  size_t at = (size_t)(row - m->row);
  if (!ljt_mdrop(m, e->old_addr, &was)) {
    if (e->old_addr) {
      m->before_count++;
      m->before_size += e->old_size;
    }
    return;
  }
  if (was.size != e->old_size) m->differs++;
  if (e->kind == 2 && m->last == e->old_addr) {
    m->temp_count++;
    m->temp_size += was.size;
  }
  o = ljt_mover_of(m, at, was.label, was.key);
  o->count++;
  o->plus += e->size;
  o->minus += was.size;
}

static inline void ljt_mevent_add(ljt_model *m, const ljt_mevent *e)
{
  size_t label, key;
  ljt_mrow *row;
  if (!m->classic && e->kind == 2 && e->old_addr == 0) {
    m->null_frees++;
    return;
  }
  m->events++;
  label = ljt_mlabel_index(m, &e->place);
  key = m->classic ? ljt_mkey_index(m, e->place) : 0;
  if (!m->classic && e->kind != 2 && e->addr == 0) {
    m->failed++;
  } else {
    row = ljt_mrow_of(m, e->kind, label, key);
    row->count++;
    row->plus += e->size;
    row->minus += e->old_size;
    if (e->kind != 1) ljt_mold(m, e, row);
    if (e->kind != 2) ljt_mmake(m, e->addr, e->size, label, key);
  }
  m->last = e->kind == 1 ? e->addr : 0;
}

/* -- reading -- */

/* Repeated tables would make this model too slow even for a test: what is the
** last of its address already adds nothing. */
static inline void ljt_mcsym_add(ljt_model *m, uint64_t addr, char *name)
{
  size_t *bucket = &m->csyms[addr / 16 % LJT_BUCKETS], i = *bucket;
  ljt_mcsym c;
  while (i && m->csym[i - 1].addr != addr) i = m->csym[i - 1].before;
  if (i && strcmp(m->csym[i - 1].name, name) == 0) return;
  c.addr = addr;
  c.name = name;
  c.before = *bucket;
  *LJT_PUSH(ljt_mcsym, m->csym, m->csym_count) = c;
  *bucket = m->csym_count;
}

static inline void ljt_mdefine(ljt_model *m, ljt_reader *r, int what,
                               int mcode)
{
  uint64_t addr = ljt_ru(r), n;
  char *name;
  if (what == 2) {
    ljt_mtrace t, *old = NULL;
    size_t i;
    t.number = addr;
    t.mcode = mcode ? ljt_ru(r) : 0;
    t.proto = ljt_ru(r);
    t.line = ljt_ru(r);
    t.start = ljt_mproto_at(m, t.proto);
    if (r->status != LJT_CLEAN) return;
    for (i = m->trace_count; i-- > 0 && !old;)
      if (m->trace[i].number == t.number) old = &m->trace[i];
    if (old && old->mcode == t.mcode && old->proto == t.proto &&
        old->line == t.line && !t.start) return;
    *LJT_PUSH(ljt_mtrace, m->trace, m->trace_count) = t;
    return;
  }
  n = ljt_ru(r);
  if (r->status == LJT_CLEAN && n > r->size - r->at) r->status = LJT_CUT;
  if (r->status != LJT_CLEAN) return;
  name = ljt_mname(m, r->data + r->at, (size_t)n);
  r->at += (size_t)n;
  if (what == 1) {
    ljt_mcsym_add(m, addr, name);
  } else {
    ljt_mproto p;
    size_t i = 0;
    (void)ljt_ru(r);
    if (r->status != LJT_CLEAN) return;
    p.addr = addr;
    p.name = name;
    *LJT_PUSH(ljt_mproto, m->proto, m->proto_count) = p;
    while (i < m->alias_count && strcmp(m->alias[i], name) != 0) i++;
    if (strchr(name, '\n') && i == m->alias_count)
      *LJT_PUSH(char *, m->alias, m->alias_count) = name;
  }
}

/* One event; 0 at the end or a fault. */
static inline int ljt_mread(ljt_model *m, ljt_reader *r, int mcode)
{
  ljt_mevent e;
  unsigned h = ljt_rb(r);
  memset(&e, 0, sizeof(e));
  if (r->status != LJT_CLEAN || h >= 0x80) return 0;
  if (h == 1 || (h & 3) == 0) {
    m->strays += h == 1;
    ljt_mdefine(m, r, h == 1 ? 1 : (int)(h >> 2) - 2, mcode);
    return r->status == LJT_CLEAN;
  }
  e.kind = h & 3;
  e.place.source = h >> 2;
  if (e.place.source != 1) e.place.id = ljt_ru(r);
  if (e.place.source == 2 || (e.place.source == 4 && mcode))
    e.place.line = ljt_ru(r);
  if (e.kind != 1) {
    e.old_addr = ljt_ru(r);
    e.old_size = ljt_ru(r);
  }
  if (e.kind != 2) {
    e.addr = ljt_ru(r);
    e.size = ljt_ru(r);
  }
  if (r->status != LJT_CLEAN) return 0;
  ljt_mevent_add(m, &e);
  return 1;
}

/* Reads a well-formed stream up to its end or cut. */
static inline void ljt_model_run(ljt_model *m, const unsigned char *data,
                                 size_t size, int mcode, int classic)
{
  ljt_reader r = {NULL, 0, 0, LJT_CLEAN};
  unsigned s, version;
  memset(m, 0, sizeof(*m));
  m->classic = classic;
  r.data = data;
  r.size = size;
  if (!ljt_rmagic(&r, 's', &s)) return;
  while (r.status == LJT_CLEAN) {
    unsigned h = ljt_rb(&r);
    if (r.status != LJT_CLEAN || h & 0x80) break;
    ljt_mdefine(m, &r, s == 2 && h == 1 ? 2 : (int)h, mcode);
  }
  if (r.status == LJT_CLEAN && ljt_rmagic(&r, 'm', &version))
    while (ljt_mread(m, &r, mcode)) continue;
}

static inline void ljt_model_free(ljt_model *m)
{
  size_t i;
  for (i = 0; i < m->garbage_count; i++) free(m->garbage[i]);
  for (i = 0; i < LJT_BUCKETS; i++)
    while (m->live[i]) {
      ljt_mblock *next = m->live[i]->next;
      free(m->live[i]);
      m->live[i] = next;
    }
  free(m->garbage);
  free(m->proto);
  free(m->csym);
  free(m->trace);
  free(m->alias);
  free(m->label);
  free(m->key);
  free(m->row);
  free(m->over);
  free(m->held);
}

/* -- report -- */

static const ljt_model *ljt_msorted;

static inline int ljt_mcmp_row(const void *a, const void *b)
{
  const ljt_mrow *x = &ljt_msorted->row[*(const size_t *)a];
  const ljt_mrow *y = &ljt_msorted->row[*(const size_t *)b];
  int order = (x->count < y->count) - (x->count > y->count);
  if (order == 0)
    order = strcmp(ljt_msorted->label[x->label], ljt_msorted->label[y->label]);
  return order ? order : (x > y) - (x < y);
}

static inline int ljt_mcmp_held(const void *a, const void *b)
{
  const ljt_mheld *x = &ljt_msorted->held[*(const size_t *)a];
  const ljt_mheld *y = &ljt_msorted->held[*(const size_t *)b];
  uint64_t m = x->plus - x->minus, n = y->plus - y->minus;
  int order = (m < n) - (m > n);
  return order ? order : strcmp(ljt_msorted->label[x->label],
                                ljt_msorted->label[y->label]);
}

static inline int ljt_mcmp_over(const void *a, const void *b)
{
  return strcmp(
      ljt_msorted->label[ljt_msorted->over[*(const size_t *)a].label],
      ljt_msorted->label[ljt_msorted->over[*(const size_t *)b].label]);
}

/* Indices 0..n-1. */
static inline size_t *ljt_mindex(size_t n)
{
  size_t *v = (size_t *)malloc((n + 1) * sizeof(*v)), i;
  if (!v) abort();
  for (i = 0; i < n; i++) v[i] = i;
  return v;
}

/* A text; in the default report what cannot be shown is \xNN. */
static inline void ljt_mshow(const ljt_model *m, ljt_bytes *out,
                             const char *text)
{
  const unsigned char *p = (const unsigned char *)text;
  size_t n = strlen(text), i = 0, k;
  while (i < n) {
    k = m->classic ? 1 : ljpi_utf8(p + i, n - i);
    if (k) ljt_raw(out, p + i, k);
    else ljt_text(out, "\\x%02x", p[i]);
    i += k ? k : 1;
  }
}

static inline void ljt_mrows(const ljt_model *m, size_t kind,
                             const char *title, ljt_bytes *out)
{
  size_t *rows = ljt_mindex(m->row_count), i, k, n;
  size_t *over = ljt_mindex(m->over_count);
  ljt_text(out, "%s\n", title);
  qsort(rows, m->row_count, sizeof(*rows), ljt_mcmp_row);
  for (i = 0; i < m->row_count; i++) {
    const ljt_mrow *r = &m->row[rows[i]];
    if (r->kind != kind) continue;
    ljt_mshow(m, out, m->label[r->label]);
    ljt_text(out, ": %" PRIu64 " events\t+%" PRIu64 "B\t-%" PRIu64 "B\n",
             r->count, r->plus, r->minus);
    for (k = n = 0; k < m->over_count; k++)
      if (m->over[k].row == rows[i]) over[n++] = k;
    qsort(over, n, sizeof(*over), ljt_mcmp_over);
    if (n) ljt_text(out, "\tOverrides:\n");
    for (k = 0; k < n; k++) {
      ljt_raw(out, "\t\t", 2);
      ljt_mshow(m, out, m->label[m->over[over[k]].label]);
      ljt_raw(out, "\n", 1);
    }
    if (n) ljt_raw(out, "\n", 1);
  }
  ljt_raw(out, "\n", 1);
  free(rows);
  free(over);
}

/* Classic sums: from allocation rows and overrides. */
static inline void ljt_mclassic_held(ljt_model *m)
{
  size_t i;
  for (i = 0; i < m->row_count; i++) {
    const ljt_mrow *r = &m->row[i];
    if (r->kind != 1 || r->plus == 0) continue;
    ljt_mheld_of(m, r->label)->plus += r->plus;
    ljt_mheld_of(m, r->label)->allocs += r->count;
  }
  for (i = 0; i < m->over_count; i++) {
    const ljt_mover *o = &m->over[i];
    ljt_mheld *h = ljt_mheld_of(m, o->label);
    h->plus += o->plus;
    h->minus += o->minus;
    if (o->plus) h->allocs += o->count;
    if (o->minus) h->frees += o->count;
  }
}

static inline void ljt_mheap(const ljt_model *m, ljt_bytes *out)
{
  size_t *held = ljt_mindex(m->held_count), i;
  ljt_text(out, "HEAP SUMMARY:\n");
  qsort(held, m->held_count, sizeof(*held), ljt_mcmp_held);
  for (i = 0; i < m->held_count; i++) {
    const ljt_mheld *h = &m->held[held[i]];
    if (h->plus <= h->minus) continue;
    ljt_mshow(m, out, m->label[h->label]);
    ljt_text(out, " holds %" PRIu64 "B: %" PRIu64 " allocs, %" PRIu64
             " frees\n", h->plus - h->minus, h->allocs, h->frees);
  }
  ljt_raw(out, "\n", 1);
  free(held);
}

static inline void ljt_maliases(const ljt_model *m, ljt_bytes *out)
{
  size_t i;
  if (m->alias_count) ljt_text(out, "ALIASES:\n");
  for (i = 0; i < m->alias_count; i++) {
    char *copy = (char *)malloc(strlen(m->alias[i]) + 1), *line;
    unsigned n = 0;
    if (!copy) abort();
    strcpy(copy, m->alias[i]);
    ljt_text(out, "function_alias_%zu:\n", i + 1);
    for (line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
      ljt_text(out, "%u\t| ", ++n);
      ljt_mshow(m, out, line);
      ljt_raw(out, "\n", 1);
    }
    ljt_text(out, "\n\n");
    free(copy);
  }
}

static inline void ljt_msum(ljt_model *m, size_t kind, ljt_mrow *sum)
{
  size_t i;
  memset(sum, 0, sizeof(*sum));
  for (i = 0; i < m->row_count; i++) {
    if (m->row[i].kind != kind) continue;
    sum->count += m->row[i].count;
    sum->plus += m->row[i].plus;
    sum->minus += m->row[i].minus;
  }
}

static inline void ljt_mif(ljt_bytes *out, const char *what, uint64_t n)
{
  if (n) ljt_text(out, "%s: %" PRIu64 "\n", what, n);
}

static inline void ljt_mtotals(ljt_model *m, ljt_bytes *out)
{
  ljt_mrow a, f, r;
  ljt_msum(m, 1, &a);
  ljt_msum(m, 2, &f);
  ljt_msum(m, 3, &r);
  ljt_text(out, "TOTALS:\nevents: %" PRIu64 "\nallocations: %" PRIu64 ", +%"
           PRIu64 "B\nreallocations: %" PRIu64 ", +%" PRIu64 "B, -%" PRIu64
           "B\n", m->events, a.count, a.plus, r.count, r.plus, r.minus);
  ljt_text(out, "deallocations: %" PRIu64 ", -%" PRIu64 "B\n"
           "held at the end: %" PRIu64 " blocks, %" PRIu64 "B\n"
           "held at the most: %" PRIu64 " blocks, %" PRIu64 "B\n", f.count,
           f.minus, m->live_count, m->live_size, m->peak_count, m->peak_size);
  ljt_text(out, "freed by the next event: %" PRIu64 " blocks, %" PRIu64
           "B\nfrom before the start: %" PRIu64 " blocks, %" PRIu64 "B\n",
           m->temp_count, m->temp_size, m->before_count, m->before_size);
  ljt_mif(out, "failed calls", m->failed);
  ljt_mif(out, "anomaly, allocated while live", m->again);
  ljt_mif(out, "anomaly, old size differs", m->differs);
  ljt_mif(out, "frees of address 0, left out", m->null_frees);
  ljt_mif(out, "stray records, read as C symbols", m->strays);
}

/* The report, once; the totals without their last line. */
static inline void ljt_model_report(ljt_model *m, ljt_bytes *out)
{
  ljt_msorted = m;
  ljt_mrows(m, 1, "ALLOCATIONS", out);
  ljt_mrows(m, 3, "REALLOCATIONS", out);
  ljt_mrows(m, 2, "DEALLOCATIONS", out);
  if (m->classic) ljt_mclassic_held(m);
  ljt_mheap(m, out);
  ljt_maliases(m, out);
  if (!m->classic) ljt_mtotals(m, out);
}

#endif /* LJTMODEL_H */
