/*
** mutate_stream.h - mutations that know the stream formats 1 to 4: fields and
** records are edited as such, block sizes, event counts and checksums are
** kept right most of the time (LJF_REPAIR). Written from the grammar in
** ljmemprof.h, independent of the parser. Include before fuzz_main.h.
*/
#ifndef MUTATE_STREAM_H
#define MUTATE_STREAM_H

#include "uncovered.h"

LJF_UNCOVERED_BEGIN

#define LJF_MUTATE ljf_stream_mutate
#define LJF_REPAIR ljf_stream_repair

#define LJF_NONE ((size_t)-1)
#define LJF_BLOCK_HEADER 32

typedef enum ljf_kind {
  LJF_BYTE, LJF_ULEB, LJF_TEXT, LJF_FIXED
} ljf_kind;

typedef struct ljf_field {
  size_t off, size;
  ljf_kind kind;
} ljf_field;

typedef struct ljf_record {
  size_t off, end;
  size_t block; /* Offset of the block's header, or LJF_NONE. */
} ljf_record;

/* What a walk found, as far as there was room. */
typedef struct ljf_map {
  const uint8_t *data;
  size_t size, pos, end; /* `end`: of the part that is being read. */
  size_t block;
  size_t field_count, record_count, block_count;
  uint32_t events; /* Events counted in this block. */
  ljf_field field[768];
  ljf_record record[256];
  size_t blocks[64];
} ljf_map;

/* -- Reading ------------------------------------------------------------ */

static inline void ljf_note(ljf_map *m, size_t size, ljf_kind kind)
{
  if (m->field_count < sizeof(m->field) / sizeof(m->field[0])) {
    ljf_field *f = &m->field[m->field_count++];
    f->off = m->pos;
    f->size = size;
    f->kind = kind;
  }
  m->pos += size;
}

/* Each of these gives 0 where the part ends too early. */
static inline int ljf_fixed(ljf_map *m, size_t size)
{
  if (m->end - m->pos < size) return 0;
  if (size) ljf_note(m, size, size == 1 ? LJF_BYTE : LJF_FIXED);
  return 1;
}

static inline int ljf_uleb(ljf_map *m, uint64_t *value)
{
  size_t n = 0;
  uint64_t v = 0;
  do {
    if (n == 10 || n == m->end - m->pos) return 0;
    v |= (uint64_t)(m->data[m->pos + n] & 0x7f) << (7 * n);
  } while (m->data[m->pos + n++] & 0x80);
  ljf_note(m, n, LJF_ULEB);
  if (value) *value = v;
  return 1;
}

static inline int ljf_ulebs(ljf_map *m, int count)
{
  while (count-- > 0)
    if (!ljf_uleb(m, NULL)) return 0;
  return 1;
}

static inline int ljf_string(ljf_map *m)
{
  uint64_t size;
  if (!ljf_uleb(m, &size) || size > m->end - m->pos) return 0;
  if (size) ljf_note(m, (size_t)size, LJF_TEXT);
  return 1;
}

static inline void ljf_note_record(ljf_map *m, size_t off)
{
  ljf_record *r;
  if (m->record_count == sizeof(m->record) / sizeof(m->record[0])) return;
  r = &m->record[m->record_count++];
  r->off = off;
  r->end = m->pos;
  r->block = m->block;
}

static inline int ljf_symbol(ljf_map *m, int kind)
{
  switch (kind) {
  case 0: return ljf_uleb(m, NULL) && ljf_string(m) && ljf_uleb(m, NULL);
  case 1: return ljf_uleb(m, NULL) && ljf_string(m);
  case 2: return ljf_ulebs(m, 3);
  case 3: return ljf_ulebs(m, 4); /* A trace with an mcode address. */
  default: return 0;
  }
}

static inline int ljf_event123(ljf_map *m, uint8_t header, int mcode)
{
  static const int fields[4] = {0, 2, 2, 4};
  int source = header >> 2 & 7, event = header & 3;
  if (source < 1 || source > 4 || header & 0x60) return 0;
  if (event == 0) {
    if (source == 1) return 0;
    return ljf_symbol(m, source == 4 ? 2 + mcode : source - 2);
  }
  if (source == 2 && !ljf_ulebs(m, 2)) return 0;
  if (source == 3 && !ljf_ulebs(m, 1)) return 0;
  if (source == 4 && !ljf_ulebs(m, 1 + mcode)) return 0;
  return ljf_ulebs(m, fields[event]);
}

static inline int ljf_prologue(ljf_map *m, char part)
{
  size_t p = m->pos;
  if (m->end - p < 7 || m->data[p] != 'l' || m->data[p + 1] != 'j' ||
      m->data[p + 2] != (uint8_t)part)
    return 0;
  m->pos += 3;
  return ljf_fixed(m, 1) && ljf_fixed(m, 3);
}

static inline void ljf_walk123(ljf_map *m)
{
  int version, mcode;
  size_t off;
  if (!ljf_prologue(m, 's')) return;
  version = m->data[3];
  mcode = version == 2 && (m->size & 1); /* Either guess, steadily. */
  while ((off = m->pos) < m->end && !(m->data[off] & 0x80)) {
    int kind = m->data[off];
    if (version == 2 && kind == 1) kind = 2 + mcode;
    if (!ljf_fixed(m, 1) || !ljf_symbol(m, kind)) return;
    ljf_note_record(m, off);
  }
  if (!ljf_fixed(m, 1) || !ljf_prologue(m, 'm')) return;
  while ((off = m->pos) < m->end) {
    if (!ljf_fixed(m, 1) || !ljf_event123(m, m->data[off], mcode)) return;
    ljf_note_record(m, off);
  }
}

static inline uint32_t ljf_get32(const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

static inline void ljf_put32(uint8_t *p, uint32_t v)
{
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
  p[2] = (uint8_t)(v >> 16);
  p[3] = (uint8_t)(v >> 24);
}

static inline int ljf_frame4(ljf_map *m)
{
  if (!ljf_fixed(m, 1)) return 0;
  switch (m->data[m->pos - 1]) {
  case 0: case 3: return ljf_ulebs(m, 2);
  case 1: return ljf_ulebs(m, 3);
  case 2: case 5: return ljf_fixed(m, 1);
  case 4: return ljf_ulebs(m, 1);
  default: return 0;
  }
}

static inline int ljf_def4(ljf_map *m)
{
  if (!ljf_fixed(m, 1)) return 0;
  switch (m->data[m->pos - 1]) {
  case 1: return ljf_ulebs(m, 1) && ljf_string(m);
  case 2: return ljf_ulebs(m, 2) && ljf_string(m) && ljf_ulebs(m, 3);
  case 3: return ljf_ulebs(m, 5);
  case 4: return ljf_ulebs(m, 4);
  case 5: return ljf_ulebs(m, 1) && ljf_frame4(m);
  case 6: case 8: return ljf_ulebs(m, 3);
  case 7: return ljf_ulebs(m, 2) && ljf_fixed(m, 1) && ljf_fixed(m, 1);
  default: return 0;
  }
}

static inline int ljf_other4(ljf_map *m, int sub)
{
  m->events += sub < 2;
  switch (sub) {
  case 0: case 6: return ljf_ulebs(m, 2);
  case 1: return ljf_ulebs(m, 4);
  case 2: case 4: case 5: return ljf_ulebs(m, 1);
  case 3: return ljf_ulebs(m, 6);
  default: return 0;
  }
}

static inline int ljf_event4(ljf_map *m)
{
  static const size_t site[4] = {0, 1, 2, 3}, address[4] = {1, 2, 3, 8},
                      size[4] = {0, 1, 2, 8};
  int c;
  if (!ljf_fixed(m, 1)) return 0;
  c = m->data[m->pos - 1];
  if ((c & 3) == 3) return ljf_other4(m, c >> 2);
  m->events++;
  if (!ljf_fixed(m, site[c >> 2 & 3]) || !ljf_fixed(m, address[c >> 4 & 3]))
    return 0;
  return (c & 3) == 2 ? ljf_ulebs(m, 3) : ljf_fixed(m, size[c >> 6]);
}

static inline int ljf_item4(ljf_map *m, int kind)
{
  switch (kind) {
  case 1: return ljf_string(m) && ljf_string(m);
  case 2: return ljf_def4(m);
  case 3: return ljf_event4(m);
  case 4: return ljf_fixed(m, 1) && ljf_ulebs(m, 1);
  case 5: return ljf_ulebs(m, 1);
  default: return 0;
  }
}

/* Offset of the next block's header from `pos` on, or LJF_NONE. */
static inline size_t ljf_next_block(const uint8_t *data, size_t size,
                                    size_t pos)
{
  for (; size >= LJF_BLOCK_HEADER && pos <= size - LJF_BLOCK_HEADER; pos++)
    if (data[pos] == 0x9d && data[pos + 1] == 0x6c && data[pos + 2] == 0x6a &&
        data[pos + 3] == 0x62)
      return pos;
  return LJF_NONE;
}

/* Reads the block at `off`; 1 if its payload was understood wholly. */
static inline int ljf_walk_block(ljf_map *m, size_t off)
{
  size_t i, size = ljf_get32(m->data + off + 12);
  static const uint8_t at[] = {4, 5, 6, 8, 12, 16, 20};
  m->block = off;
  m->events = 0;
  for (i = 0; i < sizeof(at); i++) {
    m->pos = off + at[i];
    ljf_note(m, at[i] < 6 ? 1 : at[i] == 6 ? 2 : 4, LJF_FIXED);
  }
  m->pos = off + LJF_BLOCK_HEADER;
  m->end = m->size;
  if (size < m->end - m->pos) m->end = m->pos + size;
  while (m->pos < m->end) {
    size_t start = m->pos;
    if (!ljf_item4(m, m->data[off + 4])) break;
    ljf_note_record(m, start);
  }
  return m->pos == m->end;
}

static inline void ljf_walk4(ljf_map *m)
{
  size_t off = 14;
  while ((off = ljf_next_block(m->data, m->size, off)) != LJF_NONE) {
    if (m->block_count == sizeof(m->blocks) / sizeof(m->blocks[0])) break;
    m->blocks[m->block_count++] = off;
    (void)ljf_walk_block(m, off);
    off = m->end;
  }
}

static inline int ljf_is4(const uint8_t *data, size_t size)
{
  return size >= 14 && data[3] == 4 && data[7] == 'l';
}

static inline void ljf_walk(ljf_map *m, const uint8_t *data, size_t size)
{
  m->data = data;
  m->size = m->end = size;
  m->pos = 0;
  m->block = LJF_NONE;
  m->field_count = m->record_count = m->block_count = 0;
  if (ljf_is4(data, size)) ljf_walk4(m);
  else ljf_walk123(m);
}

/* -- Sealing ------------------------------------------------------------ */

static inline uint32_t ljf_crc32c(const uint8_t *p, size_t size)
{
  static uint32_t table[256];
  uint32_t crc = 0xffffffffu, i, k;
  if (!table[1]) {
    for (i = 0; i < 256; i++) {
      uint32_t c = i;
      for (k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
      table[i] = c;
    }
  }
  while (size--) crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
  return ~crc;
}

/* Makes event counts and checksums of all whole blocks right. */
static inline void ljf_stream_repair(uint8_t *data, size_t size)
{
  static ljf_map m;
  size_t off = 14;
  if (!ljf_is4(data, size)) return;
  while ((off = ljf_next_block(data, size, off)) != LJF_NONE) {
    uint8_t *p = data + off;
    size_t n = ljf_get32(p + 12);
    if (n > size - off - LJF_BLOCK_HEADER) {
      n = size - off - LJF_BLOCK_HEADER;
      ljf_put32(p + 12, (uint32_t)n);
    }
    m.data = data;
    m.size = size;
    m.field_count = m.record_count = 0;
    if (ljf_walk_block(&m, off)) ljf_put32(p + 16, m.events);
    ljf_put32(p + 24, ljf_crc32c(p + LJF_BLOCK_HEADER, n));
    ljf_put32(p + 28, ljf_crc32c(p, 28));
    off += LJF_BLOCK_HEADER + n;
  }
}

/* -- Editing ------------------------------------------------------------ */

/* Puts `n` bytes in the place of `old`; a block's size follows. */
static inline size_t ljf_splice(uint8_t *data, size_t size, size_t max_size,
                                size_t block, size_t off, size_t old,
                                const uint8_t *bytes, size_t n)
{
  if (n > old && n - old > max_size - size) return size;
  memmove(data + off + n, data + off + old, size - off - old);
  if (n) memcpy(data + off, bytes, n);
  if (block != LJF_NONE)
    ljf_put32(data + block + 12,
              (uint32_t)(ljf_get32(data + block + 12) + n - old));
  return size + n - old;
}

static inline size_t ljf_write_uleb(uint8_t *p, uint64_t v)
{
  size_t n = 0;
  for (; v > 127; v >>= 7) p[n++] = (uint8_t)(v | 128);
  p[n++] = (uint8_t)v;
  return n;
}

static inline uint64_t ljf_value(ljt_rng *rng)
{
  static const uint64_t edge[] = {
    0, 1, 2, 63, 127, 128, 255, 256, 4095, 16383, 16384, 65535, 16777215,
    16777216, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 47, INT64_MAX,
    UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX
  };
  switch (ljt_below(rng, 4)) {
  case 0: return edge[ljt_below(rng, sizeof(edge) / sizeof(edge[0]))];
  case 1: return 0x1000 + 16 * ljt_below(rng, 24);
  case 2: return ljt_below(rng, 40);
  default: return ljt_rand(rng) >> ljt_below(rng, 64);
  }
}

/* Writes a number: plain, a little off, as another field has it, too long. */
static inline size_t ljf_new_uleb(uint8_t *out, const ljf_map *m, size_t i,
                                  ljt_rng *rng)
{
  const ljf_field *f = &m->field[i];
  size_t n;
  switch (ljt_below(rng, 5)) {
  case 0:
    f = &m->field[ljt_below(rng, m->field_count)];
    if (f->kind == LJF_ULEB) {
      memcpy(out, m->data + f->off, f->size);
      return f->size;
    }
    break;
  case 1: /* The same with an unneeded byte, or two. */
    memcpy(out, m->data + f->off, f->size);
    n = f->size + 1 + (size_t)ljt_below(rng, 2);
    memset(out + f->size, 0x80, n - f->size);
    out[f->size - 1] |= 0x80;
    out[n - 1] = 0;
    return n;
  case 2: /* Ten or eleven bytes. */
    n = 10 + (size_t)ljt_below(rng, 2);
    memset(out, 0xff, n);
    out[n - 1] = (uint8_t)ljt_below(rng, 4);
    return n;
  case 3: /* One more or less. */
    memcpy(out, m->data + f->off, f->size);
    out[0] = (uint8_t)((out[0] & 0x80) |
                       ((out[0] + (ljt_below(rng, 2) ? 1 : 127)) & 0x7f));
    return f->size;
  default: break;
  }
  return ljf_write_uleb(out, ljf_value(rng));
}

static inline size_t ljf_edit_field(uint8_t *data, size_t size,
                                    size_t max_size, const ljf_map *m,
                                    ljt_rng *rng)
{
  uint8_t bytes[64];
  size_t k, n, i = (size_t)ljt_below(rng, m->field_count), block = LJF_NONE;
  const ljf_field *f = &m->field[i];
  for (k = 0; k < m->block_count && m->blocks[k] <= f->off; k++)
    block = m->blocks[k];
  if (block != LJF_NONE && f->off < block + LJF_BLOCK_HEADER) block = LJF_NONE;
  switch (f->kind) {
  case LJF_ULEB:
    n = ljf_new_uleb(bytes, m, i, rng);
    return ljf_splice(data, size, max_size, block, f->off, f->size, bytes, n);
  case LJF_BYTE:
    data[f->off] = (uint8_t)(ljt_below(rng, 2) ? ljt_below(rng, 18)
                                               : ljt_rand(rng));
    return size;
  case LJF_TEXT: /* Other bytes; rarely another length, its number a lie. */
    k = f->off + (size_t)ljt_below(rng, f->size);
    data[k] = (uint8_t)"\n\"%<;\x1b\xff\0/&\\'{a"[ljt_below(rng, 15)];
    if (ljt_below(rng, 8) != 0) return size;
    return ljf_splice(data, size, max_size, block, k, 1, bytes, 0);
  default: break;
  }
  k = (size_t)ljt_below(rng, f->size);
  if (ljt_below(rng, 2)) data[f->off + k] ^= (uint8_t)(1u << ljt_below(rng, 8));
  else if (ljt_below(rng, 2)) data[f->off + k]++;
  else memset(data + f->off, (int)(ljt_below(rng, 3) * 127), f->size);
  return size;
}

/* Deletes, doubles, moves or copies over a record. */
static inline size_t ljf_edit_record(uint8_t *data, size_t size,
                                     size_t max_size, const ljf_map *m,
                                     ljt_rng *rng)
{
  const ljf_record *a = &m->record[ljt_below(rng, m->record_count)];
  const ljf_record *b = &m->record[ljt_below(rng, m->record_count)];
  uint8_t bytes[512];
  size_t n = b->end - b->off;
  if (n > sizeof(bytes)) n = sizeof(bytes);
  memcpy(bytes, data + b->off, n);
  switch (ljt_below(rng, 4)) {
  case 0:
    return ljf_splice(data, size, max_size, a->block, a->off,
                      a->end - a->off, bytes, 0);
  case 1:
    return ljf_splice(data, size, max_size, a->block, a->off,
                      a->end - a->off, bytes, n);
  default:
    return ljf_splice(data, size, max_size, a->block,
                      ljt_below(rng, 2) ? a->off : a->end, 0, bytes, n);
  }
}

/* Some bytes that make an event of formats 1 to 3. */
static inline size_t ljf_make123(uint8_t *p, ljt_rng *rng)
{
  static const int fields[4] = {0, 2, 2, 4}, where[5] = {0, 0, 2, 1, 1};
  int source = 1 + (int)ljt_below(rng, 4), event = (int)ljt_below(rng, 4), i;
  size_t n = 1;
  p[0] = (uint8_t)(source << 2 | event);
  if (event == 0 && source < 4) {
    p[n++] = (uint8_t)ljt_below(rng, 8);
    p[n++] = 3;
    memcpy(p + n, ljt_below(rng, 2) ? "=a\n" : "f.c", 3);
    n += 3;
    if (source == 2) p[n++] = (uint8_t)ljt_below(rng, 9);
    return n;
  }
  for (i = event ? fields[event] + where[source] : 3; i > 0; i--)
    n += ljf_write_uleb(p + n, ljt_below(rng, 3)
                        ? ljt_below(rng, 12) * 16 : ljf_value(rng));
  return n;
}

/* The same for items of a block of format 4. */
static inline size_t ljf_make4(uint8_t *p, int kind, ljt_rng *rng)
{
  static const int ulebs[9] = {0, 1, 2, 5, 4, 1, 3, 2, 3};
  size_t n = 1, i;
  int tag = 1 + (int)ljt_below(rng, 8), k;
  if (kind == 3) {
    p[0] = (uint8_t)ljt_rand(rng);
    for (i = 1; i < 14; i++) p[i] = (uint8_t)ljt_below(rng, 9);
    if (p[0] >> 4 & 1 && p[0] >> 5 & 1) p[i - 1] = 0;
    return i;
  }
  if (kind != 2) {
    p[0] = (uint8_t)ljt_below(rng, 5);
    p[1] = 2;
    memcpy(p + 2, "\"\n\x01z", 4);
    return 6;
  }
  p[0] = (uint8_t)tag;
  for (k = 0; k < ulebs[tag]; k++)
    n += ljf_write_uleb(p + n, ljt_below(rng, 8) ? ljt_below(rng, 6)
                                                 : ljf_value(rng));
  if (tag == 1) {
    memcpy(p + n, "\4<b>;", 5);
    n += 5;
  } else if (tag == 2) {
    memcpy(p + n, "\2\xaa\xbb\x90\x40\x80\x02\0", 8);
    n += 8;
  } else if (tag == 5) {
    p[n] = (uint8_t)ljt_below(rng, 6);
    for (i = 1; i < 4; i++) p[n + i] = (uint8_t)ljt_below(rng, 6);
    n += p[n] == 1 ? 4 : p[n] == 0 || p[n] == 3 ? 3 : 2;
  } else if (tag == 7) {
    p[n++] = (uint8_t)ljt_below(rng, 11);
    p[n++] = (uint8_t)ljt_below(rng, 18);
  }
  return n;
}

static inline size_t ljf_insert(uint8_t *data, size_t size, size_t max_size,
                                const ljf_map *m, ljt_rng *rng)
{
  const ljf_record *r = &m->record[ljt_below(rng, m->record_count)];
  uint8_t bytes[96];
  size_t n = r->block == LJF_NONE ? ljf_make123(bytes, rng)
                                  : ljf_make4(bytes, data[r->block + 4], rng);
  return ljf_splice(data, size, max_size, r->block, r->end, 0, bytes, n);
}

/* Deletes, doubles (as a copy or not), swaps, relabels or makes a block. */
static inline size_t ljf_edit_block(uint8_t *data, size_t size,
                                    size_t max_size, const ljf_map *m,
                                    ljt_rng *rng)
{
  uint8_t bytes[2048];
  size_t a = m->blocks[ljt_below(rng, m->block_count)];
  size_t to = m->blocks[ljt_below(rng, m->block_count)];
  size_t n = LJF_BLOCK_HEADER + ljf_get32(data + a + 12);
  if (n > size - a || n < LJF_BLOCK_HEADER) n = size - a;
  switch (ljt_below(rng, 6)) {
  case 0:
    return ljf_splice(data, size, max_size, LJF_NONE, a, n, bytes, 0);
  case 1: case 2:
    if (n > sizeof(bytes)) break;
    memcpy(bytes, data + a, n);
    bytes[5] = (uint8_t)ljt_below(rng, 2);
    ljf_put32(bytes + 8, (uint32_t)m->block_count);
    return ljf_splice(data, size, max_size, LJF_NONE,
                      ljt_below(rng, 2) ? to : size, 0, bytes, n);
  case 3:
    data[a + 4] = (uint8_t)(1 + ljt_below(rng, 6));
    break;
  case 4: /* Numbers again from 0. */
    for (n = 0; n < m->block_count; n++)
      ljf_put32(data + m->blocks[n] + 8, (uint32_t)n);
    break;
  default: /* A new one with some items. */
    memcpy(bytes, data + a, LJF_BLOCK_HEADER);
    bytes[4] = (uint8_t)(1 + ljt_below(rng, 5));
    ljf_put32(bytes + 8, (uint32_t)m->block_count);
    n = LJF_BLOCK_HEADER;
    while (n < 512 && ljt_below(rng, 12) != 0)
      n += ljf_make4(bytes + n, bytes[4], rng);
    ljf_put32(bytes + 12, (uint32_t)(n - LJF_BLOCK_HEADER));
    return ljf_splice(data, size, max_size, LJF_NONE, size, 0, bytes, n);
  }
  return size;
}

/* A whole small stream, for what is none. */
static inline size_t ljf_fresh(uint8_t *data, size_t max_size, ljt_rng *rng)
{
  static const char head[] = "ljs\3\0\0\0\x80ljm\3\0\0";
  uint8_t bytes[160];
  size_t n = 15;
  memset(bytes, 0, sizeof(bytes));
  if (max_size < sizeof(bytes)) return 0;
  if (ljt_below(rng, 2)) {
    memcpy(bytes, "ljs\4\0\0\0ljm\4\0\0", 13);
    memcpy(bytes + 14, "\x9d\x6c\x6a\x62\1", 5);
    memcpy(bytes + 46, "\x9d\x6c\x6a\x62\2", 5);
    bytes[54] = 1;
    memcpy(bytes + 78, "\x9d\x6c\x6a\x62\3", 5);
    bytes[86] = 2;
    n = 110;
  } else {
    memcpy(bytes, head, 14);
    bytes[3] = (uint8_t)(1 + ljt_below(rng, 3));
    bytes[11] = (uint8_t)(1 + ljt_below(rng, 3));
    while (n < 100) n += ljf_make123(bytes + n, rng);
    bytes[n++] = 0x80;
  }
  memcpy(data, bytes, n);
  return n;
}

/* One mutation. */
static inline size_t ljf_stream_mutate(uint8_t *data, size_t size,
                                       size_t max_size, ljt_rng *rng)
{
  static ljf_map m;
  ljf_walk(&m, data, size);
  if (m.field_count == 0) {
    if (ljt_below(rng, 4) != 0) return size;
    return ljf_fresh(data, max_size, rng);
  }
  if (m.block_count && ljt_below(rng, 4) == 0)
    return ljf_edit_block(data, size, max_size, &m, rng);
  if (m.record_count) {
    switch (ljt_below(rng, 5)) {
    case 0: return ljf_edit_record(data, size, max_size, &m, rng);
    case 1: return ljf_insert(data, size, max_size, &m, rng);
    default: break;
    }
  }
  return ljf_edit_field(data, size, max_size, &m, rng);
}

LJF_UNCOVERED_END

#endif /* MUTATE_STREAM_H */
