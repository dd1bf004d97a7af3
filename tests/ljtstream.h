/*
** ljtstream.h - a second, slow encoder and decoder of all stream formats,
** written from the grammar in ljmemprof.h alone. The decoder turns a stream
** into text, one line a record; tests compare texts.
*/
#ifndef LJTSTREAM_H
#define LJTSTREAM_H

#include <stdarg.h>

#include "ljtest.h"

/* -- Bytes that grow ---------------------------------------------------- */

typedef struct ljt_bytes {
  unsigned char *data;
  size_t size, cap;
} ljt_bytes;

static inline void ljt_raw(ljt_bytes *b, const void *data, size_t size)
{
  if (size > b->cap - b->size) {
    b->cap = (b->size + size) * 2 + 64;
    b->data = (unsigned char *)realloc(b->data, b->cap);
    if (!b->data) abort();
  }
  if (size) memcpy(b->data + b->size, data, size);
  b->size += size;
}

static inline void ljt_bytes_free(ljt_bytes *b)
{
  free(b->data);
  memset(b, 0, sizeof(*b));
}

static inline void ljt_b(ljt_bytes *b, unsigned v)
{
  unsigned char c = (unsigned char)v;
  ljt_raw(b, &c, 1);
}

/* The low `n` bytes of v, lowest first. */
static inline void ljt_le(ljt_bytes *b, uint64_t v, unsigned n)
{
  for (; n > 0; n--, v >>= 8) ljt_b(b, (unsigned)(v & 255));
}

static inline void ljt_u(ljt_bytes *b, uint64_t v)
{
  while (v >= 128) {
    ljt_b(b, (unsigned)(v & 127) | 128);
    v >>= 7;
  }
  ljt_b(b, (unsigned)v);
}

static inline uint64_t ljt_zigzag(uint64_t v)
{
  return v >> 63 ? ~(v << 1) : v << 1;
}

static inline void ljt_z(ljt_bytes *b, uint64_t v) { ljt_u(b, ljt_zigzag(v)); }

static inline void ljt_s(ljt_bytes *b, const void *s, size_t size)
{
  ljt_u(b, size);
  ljt_raw(b, s, size);
}

static inline void ljt_str(ljt_bytes *b, const char *s)
{
  ljt_s(b, s, strlen(s));
}

__attribute__((format(printf, 2, 3))) static inline void
ljt_text(ljt_bytes *b, const char *fmt, ...)
{
  char line[512];
  va_list ap;
  int n;
  va_start(ap, fmt);
  n = vsnprintf(line, sizeof(line), fmt, ap);
  va_end(ap);
  if (n < 0 || (size_t)n >= sizeof(line)) abort();
  ljt_raw(b, line, (size_t)n);
}

/* A string with all but plain characters as \xx. */
static inline void ljt_text_str(ljt_bytes *b, const unsigned char *s,
                                size_t size)
{
  size_t i;
  for (i = 0; i < size; i++) {
    if (s[i] > 32 && s[i] < 127 && s[i] != '\\')
      ljt_b(b, s[i]);
    else
      ljt_text(b, "\\%02x", s[i]);
  }
}

/* -- Format 4, writing -------------------------------------------------- */

static inline uint32_t ljt_crc32c(const unsigned char *p, size_t n)
{
  uint32_t c = 0xffffffffu;
  int k;
  for (; n > 0; n--, p++) {
    c ^= *p;
    for (k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
  }
  return ~c;
}

static inline void ljt_stream4(ljt_bytes *b)
{
  ljt_raw(b, "ljs\4\0\0\0ljm\4\0\0\0", 14);
}

static inline void ljt_block(ljt_bytes *b, unsigned kind, unsigned flags,
                             uint32_t sequence, uint32_t event_count,
                             uint32_t stream_id, const void *payload,
                             size_t size)
{
  size_t at = b->size;
  ljt_raw(b, "\x9dljb", 4);
  ljt_b(b, kind);
  ljt_b(b, flags);
  ljt_le(b, 0, 2);
  ljt_le(b, sequence, 4);
  ljt_le(b, size, 4);
  ljt_le(b, event_count, 4);
  ljt_le(b, stream_id, 4);
  ljt_le(b, ljt_crc32c((const unsigned char *)payload, size), 4);
  ljt_le(b, ljt_crc32c(b->data + at, 28), 4);
  ljt_raw(b, payload, size);
}

/* The last event of each op, in one block. */
typedef struct ljt_last4 {
  uint64_t site[3], address[3], size[3];
  uint64_t weight; /* Of the next alloc or realloc, 0: none. */
} ljt_last4;

/* Alloc (0), free (1) or realloc (2). Of a realloc `size` and `address` are
** the old ones. */
static inline void ljt_event4(ljt_bytes *b, ljt_last4 *l, unsigned op,
                              uint64_t site, uint64_t address, uint64_t size,
                              uint64_t new_address, uint64_t new_size)
{
  uint64_t d = address - l->address[op], z = 0;
  unsigned site_code = 3, address_code = 3, size_code = 3;
  if (site == l->site[op]) site_code = 0;
  else if (site < 256) site_code = 1;
  else if (site < 65536) site_code = 2;
  if (d % 8 == 0) {
    z = d >> 63 ? ljt_zigzag(~(~d / 8)) : ljt_zigzag(d / 8);
    if (z < 256) address_code = 0;
    else if (z < 65536) address_code = 1;
    else if (z < 16777216) address_code = 2;
  }
  if (op == 2 || size == l->size[op]) size_code = 0;
  else if (size < 256) size_code = 1;
  else if (size < 65536) size_code = 2;
  ljt_b(b, size_code << 6 | address_code << 4 | site_code << 2 | op);
  ljt_le(b, site, site_code);
  if (address_code == 3) ljt_le(b, address, 8);
  else ljt_le(b, z, address_code + 1);
  l->site[op] = site;
  l->address[op] = address;
  if (op == 2) {
    ljt_u(b, size);
    ljt_z(b, new_address - address);
    ljt_u(b, new_size);
    l->address[op] = new_address;
  } else {
    ljt_le(b, size, size_code == 3 ? 8 : size_code);
    l->size[op] = size;
  }
}

/* -- Reading ------------------------------------------------------------ */

enum { LJT_CLEAN = 0, LJT_CUT = 1, LJT_BAD = 2 };

typedef struct ljt_reader {
  const unsigned char *data;
  size_t size, at;
  int status; /* First fault; everything reads as 0 after it. */
} ljt_reader;

static inline unsigned ljt_rb(ljt_reader *r)
{
  if (r->status == LJT_CLEAN && r->at == r->size) r->status = LJT_CUT;
  if (r->status != LJT_CLEAN) return 0;
  return r->data[r->at++];
}

static inline uint64_t ljt_rle(ljt_reader *r, unsigned n)
{
  uint64_t v = 0;
  unsigned i;
  for (i = 0; i < n; i++) v |= (uint64_t)ljt_rb(r) << (8 * i);
  return v;
}

static inline uint64_t ljt_ru(ljt_reader *r)
{
  uint64_t v = 0;
  unsigned i, c;
  for (i = 0; i < 10; i++) {
    c = ljt_rb(r);
    if (i == 9 && c > 1) break;
    v |= (uint64_t)(c & 127) << (7 * i);
    if (c < 128) return v;
  }
  if (r->status == LJT_CLEAN) r->status = LJT_BAD;
  return 0;
}

static inline uint64_t ljt_rz(ljt_reader *r)
{
  uint64_t v = ljt_ru(r);
  return v & 1 ? ~(v >> 1) : v >> 1;
}

/* Prints the string too. */
static inline void ljt_rs(ljt_reader *r, ljt_bytes *text)
{
  uint64_t n = ljt_ru(r);
  if (r->status == LJT_CLEAN && n > r->size - r->at) r->status = LJT_CUT;
  if (r->status != LJT_CLEAN) return;
  ljt_text(text, " '");
  ljt_text_str(text, r->data + r->at, (size_t)n);
  ljt_text(text, "'");
  r->at += (size_t)n;
}

static inline void ljt_rbad(ljt_reader *r)
{
  if (r->status == LJT_CLEAN) r->status = LJT_BAD;
}

/* Reads `n` U and prints each after a space. */
static inline void ljt_rus(ljt_reader *r, ljt_bytes *text, int n)
{
  for (; n > 0; n--) ljt_text(text, " %" PRIu64, ljt_ru(r));
}

/* -- Formats 1 to 3, reading -------------------------------------------- */

static inline int ljt_rmagic(ljt_reader *r, char part, unsigned *version)
{
  unsigned a = ljt_rb(r), b = ljt_rb(r), c = ljt_rb(r);
  *version = ljt_rb(r);
  ljt_rle(r, 3);
  if (a != 'l' || b != 'j' || c != (unsigned)part) ljt_rbad(r);
  return r->status == LJT_CLEAN;
}

/* what: 0 proto, 1 C symbol, 2 trace. */
static inline void ljt_rsymbol(ljt_reader *r, ljt_bytes *text, unsigned what,
                               int mcode)
{
  static const char *const names[] = {"proto", "csym", "trace"};
  ljt_text(text, "%s", names[what]);
  ljt_rus(r, text, 1);
  if (what == 2) {
    ljt_rus(r, text, mcode ? 3 : 2);
  } else {
    ljt_rs(r, text);
    if (what == 0) ljt_rus(r, text, 1);
  }
  ljt_text(text, "\n");
}

static inline void ljt_rsymbols(ljt_reader *r, ljt_bytes *text,
                                unsigned version, int mcode)
{
  while (r->status == LJT_CLEAN) {
    size_t line = text->size;
    unsigned kind = ljt_rb(r);
    if (r->status == LJT_CLEAN && kind & 0x80) return;
    if (kind > 2 || (version < 3 && kind == 2) || (version < 2 && kind))
      ljt_rbad(r);
    if (r->status == LJT_CLEAN)
      ljt_rsymbol(r, text, version == 2 && kind == 1 ? 2 : kind, mcode);
    if (r->status != LJT_CLEAN) text->size = line;
  }
}

static inline void ljt_revent(ljt_reader *r, ljt_bytes *text, unsigned head,
                              unsigned version, int mcode)
{
  static const char *const events[] = {"symbol", "alloc", "free", "realloc"};
  static const char *const sources[] = {"", "internal", "lua", "c", "trace"};
  unsigned event = head & 3, source = head >> 2 & 7;
  if (head & 0x60 || source < 1 || source > 4 ||
      (event == 0 && (source == 1 || version < 3))) {
    ljt_rbad(r);
    return;
  }
  if (event == 0) {
    ljt_text(text, "symbol ");
    ljt_rsymbol(r, text, source - 2, mcode);
    return;
  }
  ljt_text(text, "%s %s", events[event], sources[source]);
  if (source == 2) ljt_rus(r, text, 2);
  if (source == 3) ljt_rus(r, text, 1);
  if (source == 4) ljt_rus(r, text, mcode ? 2 : 1);
  ljt_rus(r, text, event == 3 ? 4 : 2);
  ljt_text(text, "\n");
}

static inline void ljt_revents(ljt_reader *r, ljt_bytes *text,
                               unsigned version, int mcode)
{
  while (r->status == LJT_CLEAN) {
    size_t line = text->size;
    unsigned head = ljt_rb(r);
    if (r->status == LJT_CLEAN && head == 0x80) return;
    if (r->status == LJT_CLEAN && head & 0x80) ljt_rbad(r);
    if (r->status == LJT_CLEAN) ljt_revent(r, text, head, version, mcode);
    if (r->status != LJT_CLEAN) text->size = line;
  }
}

/* -- Format 4, reading -------------------------------------------------- */

/* A byte from `least` to `most`, as text. */
static inline void ljt_rbetween(ljt_reader *r, ljt_bytes *text,
                                unsigned least, unsigned most)
{
  unsigned v = ljt_rb(r);
  if (r->status == LJT_CLEAN && (v < least || v > most)) ljt_rbad(r);
  ljt_text(text, " %u", v);
}

static inline void ljt_rdef(ljt_reader *r, ljt_bytes *text, uint64_t *last)
{
  static const char *const names[] = {
    "", "string", "module", "csym", "function", "frame", "stack", "site",
    "trace"
  };
  static const int frame_numbers[] = {2, 3, 0, 2, 1, 0};
  unsigned kind = ljt_rb(r), tag;
  uint64_t step, parent;
  if (kind < 1 || kind > 8) { ljt_rbad(r); return; }
  step = ljt_ru(r);
  if (step == 0 || step > UINT64_MAX - last[kind]) { ljt_rbad(r); return; }
  last[kind] += step;
  ljt_text(text, "%s %" PRIu64, names[kind], last[kind]);
  switch (kind) {
  case 1: ljt_rs(r, text); break;
  case 2: ljt_rus(r, text, 1); ljt_rs(r, text); ljt_rus(r, text, 3); break;
  case 3: ljt_rus(r, text, 4); break;
  case 4: ljt_rus(r, text, 3); break;
  case 5:
    tag = ljt_rb(r);
    if (tag > 5) { ljt_rbad(r); return; }
    ljt_text(text, " %u", tag);
    ljt_rus(r, text, frame_numbers[tag]);
    if (tag == 2) ljt_rbetween(r, text, 0, 10);
    if (tag == 5) ljt_rbetween(r, text, 1, 6);
    break;
  case 6:
    parent = ljt_ru(r);
    if (parent == 0 || parent > last[kind]) { ljt_rbad(r); return; }
    ljt_text(text, " %" PRIu64, last[kind] - parent);
    ljt_rus(r, text, 1);
    break;
  case 7:
    ljt_rus(r, text, 1);
    ljt_rbetween(r, text, 0, 10);
    ljt_rbetween(r, text, 0, 17);
    break;
  default: ljt_rus(r, text, 2); break;
  }
  ljt_text(text, "\n");
}

/* Is the number that comes next from `least` to `most`? */
static inline void ljt_rfirst(ljt_reader *r, uint64_t least, uint64_t most)
{
  ljt_reader ahead = *r;
  uint64_t v = ljt_ru(&ahead);
  if (ahead.status == LJT_CLEAN && (v < least || v > most)) ljt_rbad(r);
}

static inline void ljt_rother(ljt_reader *r, ljt_bytes *text, ljt_last4 *l,
                              unsigned sub)
{
  static const char *const names[] = {
    "alloc-failed", "realloc-failed", "weight", "mark", "loaded", "unloaded",
    "dropped"
  };
  static const int numbers[] = {2, 4, 1, 6, 1, 1, 2};
  if (sub > 6) { ljt_rbad(r); return; }
  if (sub == 2) { l->weight = ljt_ru(r); return; }
  ljt_text(text, "%s", names[sub]);
  if (sub == 3) ljt_rfirst(r, 1, 4);
  ljt_rus(r, text, numbers[sub]);
  ljt_text(text, "\n");
}

static inline void ljt_revent4(ljt_reader *r, ljt_bytes *text, ljt_last4 *l)
{
  static const char *const names[] = {"alloc", "free", "realloc"};
  unsigned c = ljt_rb(r), op = c & 3;
  unsigned size_code = c >> 6, address_code = c >> 4 & 3;
  uint64_t z, old, move;
  if (op == 3) { ljt_rother(r, text, l, c >> 2); return; }
  if (op == 2 && size_code) { ljt_rbad(r); return; }
  if (op != 1 && l->weight) {
    ljt_text(text, "weight %" PRIu64 "\n", l->weight);
    l->weight = 0;
  }
  if (c >> 2 & 3) l->site[op] = ljt_rle(r, c >> 2 & 3);
  if (address_code == 3) {
    l->address[op] = ljt_rle(r, 8);
  } else {
    z = ljt_rle(r, address_code + 1);
    l->address[op] += (z & 1 ? ~(z >> 1) : z >> 1) * 8;
  }
  ljt_text(text, "%s %" PRIu64 " %" PRIu64, names[op], l->site[op],
           l->address[op]);
  if (op == 2) {
    old = ljt_ru(r);
    move = ljt_rz(r);
    l->address[op] += move;
    ljt_text(text, " %" PRIu64 " %" PRIu64 " %" PRIu64, old, l->address[op],
             ljt_ru(r));
  } else {
    if (size_code) l->size[op] = ljt_rle(r, size_code == 3 ? 8 : size_code);
    ljt_text(text, " %" PRIu64, l->size[op]);
  }
  ljt_text(text, "\n");
}

/* The records of a payload; how many count as events. A fault in it is
** LJT_BAD. */
static inline uint64_t ljt_rpayload(ljt_reader *r, ljt_bytes *text,
                                    unsigned kind)
{
  ljt_last4 l;
  uint64_t count = 0;
  uint64_t last[9] = {0}, address = 0;
  memset(&l, 0, sizeof(l));
  if (kind == 5 && r->size == 0) ljt_rbad(r); /* The end says something. */
  while (r->at < r->size && r->status == LJT_CLEAN) {
    size_t line = text->size;
    switch (kind) {
    case 1:
      ljt_text(text, "meta");
      ljt_rs(r, text);
      ljt_rs(r, text);
      ljt_text(text, "\n");
      break;
    case 2: ljt_rdef(r, text, last); break;
    case 3:
      count += (r->data[r->at] & 3) != 3 || r->data[r->at] >> 2 < 2;
      ljt_revent4(r, text, &l);
      break;
    case 4:
      ljt_text(text, "live");
      ljt_rbetween(r, text, 0, 17);
      address += ljt_rz(r);
      ljt_text(text, " %" PRIu64 "\n", address);
      break;
    default:
      ljt_text(text, "end");
      ljt_rfirst(r, 0, 6);
      ljt_rus(r, text, 13);
      ljt_text(text, "\n");
      if (r->at != r->size) ljt_rbad(r);
      break;
    }
    if (r->status != LJT_CLEAN) text->size = line;
  }
  if (r->status == LJT_CUT) r->status = LJT_BAD;
  return count;
}

/* What the blocks of a stream came to. */
typedef struct ljt_blocks {
  size_t count, copies;
  uint64_t stream_id;  /* Of the first, and so of all. */
  size_t offset[4096]; /* Of each block's header. */
} ljt_blocks;

/* One block; copies are read and their text thrown away. */
static inline void ljt_rblock(ljt_reader *r, ljt_bytes *text,
                              ljt_blocks *blocks, int *ended)
{
  size_t at = r->at, line = text->size;
  const unsigned char *h = r->data + at;
  ljt_reader in = {NULL, 0, 0, LJT_CLEAN};
  ljt_reader head = *r;
  uint64_t sequence, size, events, id;
  unsigned kind, flags;
  if (r->size - at < 32) { r->status = LJT_CUT; return; }
  head.at += 4;
  kind = ljt_rb(&head);
  flags = ljt_rb(&head);
  if (memcmp(h, "\x9dljb", 4) != 0 || ljt_rle(&head, 2) != 0) ljt_rbad(r);
  sequence = ljt_rle(&head, 4);
  size = ljt_rle(&head, 4);
  events = ljt_rle(&head, 4);
  id = ljt_rle(&head, 4);
  if (blocks->count == 0) blocks->stream_id = id;
  head.at += 4;
  if (ljt_rle(&head, 4) != ljt_crc32c(h, 28) || kind < 1 || kind > 5 ||
      flags > (kind <= 2) || size > 1048576 || (events && kind != 3) ||
      id != blocks->stream_id || sequence != blocks->count || *ended)
    ljt_rbad(r);
  if (r->status != LJT_CLEAN) return;
  r->at += 32;
  if (size > r->size - r->at) { r->status = LJT_CUT; return; }
  in.data = r->data + r->at;
  in.size = (size_t)size;
  head.at = at + 24;
  if (ljt_rle(&head, 4) != ljt_crc32c(in.data, in.size)) ljt_rbad(r);
  if (ljt_rpayload(&in, text, kind) != events) ljt_rbad(r);
  if (in.status != LJT_CLEAN) r->status = in.status;
  if (flags & 1) {
    text->size = line;
    blocks->copies++;
  }
  if (blocks->count < 4096) blocks->offset[blocks->count] = at;
  blocks->count++;
  r->at += (size_t)size;
  if (kind == 5) *ended = 1;
}

/* -- Whole streams ------------------------------------------------------ */

/* The stream as text; `mcode`: traces have a machine-code address. Returns
** LJT_CLEAN, LJT_CUT or LJT_BAD; *offset is where it stopped. `blocks` may be
** NULL. Damaged format 4 streams are LJT_BAD at the damage. */
static inline int ljt_dump(const unsigned char *data, size_t size, int mcode,
                           ljt_bytes *text, ljt_blocks *blocks,
                           size_t *offset)
{
  ljt_reader r = {NULL, 0, 0, LJT_CLEAN};
  static ljt_blocks own;
  unsigned symbols = 0, events = 0;
  int ended = 0;
  if (!blocks) blocks = &own;
  memset(blocks, 0, sizeof(*blocks));
  r.data = data;
  r.size = size;
  if (ljt_rmagic(&r, 's', &symbols) && symbols >= 1 && symbols <= 3)
    ljt_rsymbols(&r, text, symbols, mcode);
  if (symbols > 4) ljt_rbad(&r);
  if (r.status == LJT_CLEAN && ljt_rmagic(&r, 'm', &events)) {
    ljt_text(text, "events %u\n", events);
    if (events >= 1 && events <= 3 && symbols <= 3)
      ljt_revents(&r, text, events, mcode);
    else if (events == 4 && symbols == 4)
      while (r.status == LJT_CLEAN && !(ended && r.at == r.size))
        ljt_rblock(&r, text, blocks, &ended);
    else
      ljt_rbad(&r);
  }
  if (r.status == LJT_CLEAN && r.at != r.size) r.status = LJT_BAD;
  *offset = r.at;
  return r.status;
}

#endif /* LJTSTREAM_H */
