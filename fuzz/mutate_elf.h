/*
** mutate_elf.h - mutations that know ELF: one field of a header, section,
** segment, symbol, dynamic entry or hash table gets a lie, in the file's own
** class and byte order. Written from the gABI, independent of the reader.
** Include before fuzz_main.h.
*/
#ifndef MUTATE_ELF_H
#define MUTATE_ELF_H

#include "uncovered.h"

LJF_UNCOVERED_BEGIN

#define LJF_MUTATE ljf_elf_mutate

typedef struct ljf_elf {
  uint8_t *data;
  size_t size;
  int wide, big; /* ELFCLASS64, ELFDATA2MSB */
  uint64_t shoff, phoff;
  uint64_t shnum, shsize, phnum, phsize;
} ljf_elf;

/* Widths of a structure's fields in order, per class; 0 ends. */
typedef struct ljf_layout {
  uint8_t narrow[16], wide[16];
} ljf_layout;

static const ljf_layout ljf_ehdr = {
  {2, 2, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 0},
  {2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2, 0}
};
static const ljf_layout ljf_shdr = {
  {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0}, {4, 4, 8, 8, 8, 8, 4, 4, 8, 8, 0}
};
static const ljf_layout ljf_phdr = {
  {4, 4, 4, 4, 4, 4, 4, 4, 0}, {4, 4, 8, 8, 8, 8, 8, 8, 0}
};
static const ljf_layout ljf_sym = {
  {4, 4, 4, 1, 1, 2, 0}, {4, 1, 1, 2, 8, 8, 0}
};
static const ljf_layout ljf_dyn = {{4, 4, 0}, {8, 8, 0}};

static inline uint64_t ljf_elf_get(const ljf_elf *e, size_t off, unsigned n)
{
  uint64_t v = 0;
  unsigned i;
  if (n > e->size || off > e->size - n) return 0;
  for (i = 0; i < n; i++)
    v |= (uint64_t)e->data[off + i] << 8 * (e->big ? n - 1 - i : i);
  return v;
}

static inline void ljf_elf_put(ljf_elf *e, uint64_t off, unsigned n,
                               uint64_t v)
{
  unsigned i;
  if (n > e->size || off > e->size - n) return;
  for (i = 0; i < n; i++)
    e->data[off + i] = (uint8_t)(v >> 8 * (e->big ? n - 1 - i : i));
}

static inline void ljf_elf_open(ljf_elf *e, uint8_t *data, size_t size)
{
  e->data = data;
  e->size = size;
  e->wide = data[4] == 2;
  e->big = data[5] == 2;
  e->phoff = ljf_elf_get(e, e->wide ? 32 : 28, e->wide ? 8 : 4);
  e->shoff = ljf_elf_get(e, e->wide ? 40 : 32, e->wide ? 8 : 4);
  e->phsize = ljf_elf_get(e, e->wide ? 54 : 42, 2);
  e->phnum = ljf_elf_get(e, e->wide ? 56 : 44, 2);
  e->shsize = ljf_elf_get(e, e->wide ? 58 : 46, 2);
  e->shnum = ljf_elf_get(e, e->wide ? 60 : 48, 2);
  if (e->shnum == 0) e->shnum = ljf_elf_get(e, (size_t)e->shoff +
                                            (e->wide ? 32 : 20), 4);
}

/* Numbers that are wrong in a way that matters. */
static inline uint64_t ljf_elf_value(const ljf_elf *e, uint64_t old,
                                     ljt_rng *rng)
{
  uint64_t n = e->size;
  const uint64_t lies[] = {
    0, 1, 2, 3, 4, 7, 8, 16, 24, 63, 64, 0x7f, 0xff, 0xff00, 0xfff1, 0xfff2,
    0xffff, 0x10000, 0x7fffffff, 0x80000000, UINT32_MAX, n, n - 1, n + 1,
    n / 2, old + 1, old - 1, old * 2, old / 2, old ^ 1, 0 - old, 0 - n,
    INT64_MAX, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 7, 0x6ffffef5,
    0x6ffffff6, 0x1000, old + 0x1000, old + n
  };
  size_t count = sizeof(lies) / sizeof(lies[0]);
  if (ljt_below(rng, 8) == 0) return ljt_rand(rng) >> ljt_below(rng, 64);
  if (ljt_below(rng, 4) == 0) return old + ljt_below(rng, 64) - 32;
  return lies[ljt_below(rng, count)];
}

/* Changes one field of the structure at `off`. */
static inline void ljf_elf_lie(ljf_elf *e, uint64_t off, const ljf_layout *l,
                               ljt_rng *rng)
{
  const uint8_t *width = e->wide ? l->wide : l->narrow;
  size_t count = 0, i, pick;
  while (width[count]) count++;
  pick = (size_t)ljt_below(rng, count);
  for (i = 0; i < pick; i++) off += width[i];
  if (off > e->size) return;
  ljf_elf_put(e, off, width[pick],
              ljf_elf_value(e, ljf_elf_get(e, (size_t)off, width[pick]), rng));
}

static inline uint64_t ljf_elf_section(const ljf_elf *e, uint64_t idx)
{
  return e->shoff + idx * e->shsize;
}

/* A section whose type is one of `mask` (bit n: type n), or any at last. */
static inline uint64_t ljf_elf_pick(const ljf_elf *e, uint32_t mask,
                                    ljt_rng *rng)
{
  uint64_t i, s = 0, n = e->shnum < 4096 ? e->shnum : 4096;
  for (i = 0; n && i < 24; i++) {
    uint64_t type;
    s = ljf_elf_section(e, ljt_below(rng, n));
    type = s < e->size ? ljf_elf_get(e, (size_t)s + 4, 4) : 0;
    if (type < 32 && mask >> type & 1) break;
  }
  return s;
}

/* Where the bytes of the section at `s` are; 0 if nowhere. */
static inline uint64_t ljf_elf_bytes(const ljf_elf *e, uint64_t s,
                                     uint64_t *size)
{
  uint64_t off;
  *size = 0;
  if (s >= e->size) return 0;
  off = ljf_elf_get(e, (size_t)s + (e->wide ? 24 : 16), e->wide ? 8 : 4);
  *size = ljf_elf_get(e, (size_t)s + (e->wide ? 32 : 20), e->wide ? 8 : 4);
  if (off >= e->size) return 0;
  if (*size > e->size - off) *size = e->size - off;
  return off;
}

/* One entry of a table: symbols, dynamic entries, words of others. */
static inline void ljf_elf_entry(ljf_elf *e, ljt_rng *rng)
{
  uint64_t s, off, size, type, one;
  s = ljf_elf_pick(e, 1u << 2 | 1u << 11 | 1u << 6 | 1u << 5 | 1u << 18, rng);
  off = ljf_elf_bytes(e, s, &size);
  if (size < 8) return;
  type = ljf_elf_get(e, (size_t)s + 4, 4);
  one = type == 6 ? (e->wide ? 16 : 8) : e->wide ? 24 : 16;
  if (type == 2 || type == 11 || type == 6) {
    if (size < one) return;
    off += one * ljt_below(rng, size / one);
    ljf_elf_lie(e, off, type == 6 ? &ljf_dyn : &ljf_sym, rng);
    return;
  }
  off += 4 * ljt_below(rng, size / 4);
  ljf_elf_put(e, off, 4,
              ljf_elf_value(e, ljf_elf_get(e, (size_t)off, 4), rng));
}

/* One entry becomes another's copy: equal and overlapping symbols, tags
** twice, sections twice. */
static inline void ljf_elf_double(ljf_elf *e, ljt_rng *rng)
{
  uint64_t s, off, size, one, a, b;
  if (ljt_below(rng, 4) == 0 && e->shnum && e->shsize) {
    off = e->shoff;
    one = e->shsize;
    size = e->shnum * one;
  } else {
    s = ljf_elf_pick(e, 1u << 2 | 1u << 11 | 1u << 6, rng);
    off = ljf_elf_bytes(e, s, &size);
    one = e->wide ? 24 : 16;
    if (ljf_elf_get(e, (size_t)s + 4, 4) == 6) one = e->wide ? 16 : 8;
  }
  if (size < one || off > e->size || size > e->size - off) return;
  a = off + one * ljt_below(rng, size / one);
  b = off + one * ljt_below(rng, size / one);
  memmove(e->data + a, e->data + b, (size_t)one);
}

/* A section gets another meaning. */
static inline void ljf_elf_retype(ljf_elf *e, ljt_rng *rng)
{
  static const uint32_t types[] = {0, 1, 2, 3, 5, 6, 7, 8, 11, 18, 0x6ffffff6};
  uint64_t s;
  if (!e->shnum) return;
  s = ljf_elf_section(e, ljt_below(rng, e->shnum));
  if (s < e->size)
    ljf_elf_put(e, s + 4, 4,
                types[ljt_below(rng, sizeof(types) / sizeof(types[0]))]);
}

/* The last entry of the hash table at random: whole word overwritten. */
static inline void ljf_elf_word(ljf_elf *e, ljt_rng *rng)
{
  uint64_t s, off, size, i;
  if (!e->shnum) return;
  s = ljf_elf_section(e, ljt_below(rng, e->shnum));
  off = ljf_elf_bytes(e, s, &size);
  if (size < 4) return;
  /* Headers of tables matter most. */
  i = ljt_below(rng, ljt_below(rng, 2) || size < 32 ? size / 4 : 6);
  off += 4 * i;
  ljf_elf_put(e, off, 4,
              ljf_elf_value(e, ljf_elf_get(e, (size_t)off, 4), rng));
}

static inline size_t ljf_elf_mutate(uint8_t *data, size_t size,
                                    size_t max_size, ljt_rng *rng)
{
  static const uint8_t head[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  ljf_elf e;
  if (size < 64 || memcmp(data, head, 4) != 0) {
    if (max_size < 512 || ljt_below(rng, 4) != 0) return size;
    if (size < 512) memset(data + size, 0, 512 - size);
    memcpy(data, head, sizeof(head));
    data[16] = 3;
    return size < 512 ? 512 : size;
  }
  ljf_elf_open(&e, data, size);
  switch (ljt_below(rng, 12)) {
  case 0:
    ljf_elf_lie(&e, 16, &ljf_ehdr, rng);
    break;
  case 1: case 2:
    if (e.shnum)
      ljf_elf_lie(&e, ljf_elf_section(&e, ljt_below(rng, e.shnum)), &ljf_shdr,
                  rng);
    break;
  case 3:
    if (e.phnum)
      ljf_elf_lie(&e, e.phoff + e.phsize * ljt_below(rng, e.phnum), &ljf_phdr,
                  rng);
    break;
  case 4: ljf_elf_retype(&e, rng); break;
  case 5: ljf_elf_double(&e, rng); break;
  case 6: ljf_elf_word(&e, rng); break;
  case 7: /* Class, byte order, version. */
    if (ljt_below(rng, 8) == 0)
      data[4 + ljt_below(rng, 3)] = (uint8_t)ljt_below(rng, 4);
    break;
  case 8: /* Cut off. */
    if (ljt_below(rng, 8) == 0) return (size_t)ljt_below(rng, size);
    break;
  default:
    ljf_elf_entry(&e, rng);
    break;
  }
  return size;
}

LJF_UNCOVERED_END

#endif /* MUTATE_ELF_H */
