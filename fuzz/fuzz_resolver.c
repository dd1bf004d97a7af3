/*
** fuzz_resolver - the input is a list of symbols: lookups among them against
** a search through the list that knows nothing of the index. Symbols are 8
** bytes: address (16 bits, little-endian), size (16 bits; its top bit: times
** 2^20), name (of 16), type, binding, where it is. The first byte says which
** kind of table it is.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "fuzz_main.h"
#include "elfbuild.h"

#define LJF_MOST 512

typedef struct ljf_sym {
  uint64_t at, size; /* From .text on. */
  unsigned name, type, bind, section;
  int used; /* It counts as a function. */
} ljf_sym;

/* Names by number; some are none, some are mapping symbols. */
static const char *const ljf_names[16] = {
  "", "a", "b", "ab", "aa", "$d", "$x.1", "$y", "zz", "z", "_Z1fv", "f", "g",
  "$t", "$axe", "ff"
};

static void ljf_take(ljf_sym *s, const uint8_t *p)
{
  static const unsigned types[8] = {2, 2, 2, 10, 0, 0, 1, 3};
  static const unsigned sections[4] = {LJT_S_TEXT, LJT_S_TEXT, 0, 0xfff1};
  s->at = (uint64_t)(p[0] | (unsigned)p[1] << 8) & 0x1ff;
  s->size = p[2] | (p[3] & 127u) << 8;
  if (p[3] & 128) s->size <<= 20;
  s->name = p[4] & 15;
  s->type = types[p[5] & 7];
  s->bind = p[6] & 3;
  s->section = sections[p[7] & 3];
}

/* Functions by CASES' rules: types, places, names. */
static int ljf_is_function(const ljf_sym *s)
{
  const char *n = ljf_names[s->name];
  if (s->section == 0 || n[0] == 0) return 0;
  if (s->type == 2 || s->type == 10) return 1;
  if (s->type != 0 || s->section != LJT_S_TEXT) return 0;
  return !(n[0] == '$' && strchr("adtx", n[1]) && (!n[2] || n[2] == '.'));
}

/* Does `a` stand before `b` at one address? */
static int ljf_before(const ljf_sym *a, const ljf_sym *b)
{
  int c = (a->size == 0) - (b->size == 0);
  if (c == 0) c = (a->bind == 0) - (b->bind == 0);
  if (c == 0) c = (a->type == 0) - (b->type == 0);
  if (c == 0) c = strcmp(ljf_names[a->name], ljf_names[b->name]);
  if (c == 0) c = a->size < b->size ? -1 : a->size > b->size;
  return c < 0;
}

/* Where `s` ends, exclusive. */
static uint64_t ljf_end(const ljf_sym *v, size_t n, const ljf_sym *s,
                        int dynamic)
{
  uint64_t end = LJT_TEXT_SIZE;
  size_t i;
  if (s->size != 0) return s->at + s->size;
  if (dynamic || s->section != LJT_S_TEXT || s->at >= end) return s->at + 1;
  for (i = 0; i < n; i++)
    if (v[i].used && v[i].at > s->at && v[i].at < end) end = v[i].at;
  return end;
}

static const ljf_sym *ljf_search(const ljf_sym *v, size_t n, uint64_t at,
                                 int dynamic)
{
  const ljf_sym *best = NULL;
  size_t i;
  for (i = 0; i < n; i++) {
    if (!v[i].used || v[i].at > at) continue;
    if (at >= ljf_end(v, n, &v[i], dynamic)) continue;
    if (!best || v[i].at > best->at ||
        (v[i].at == best->at && ljf_before(&v[i], best)))
      best = &v[i];
  }
  return best;
}

/* Writes the file: the builder's, with these symbols behind it. */
static size_t ljf_write(ljt_elf *b, uint8_t *file, const ljf_sym *v, size_t n,
                        ljt_section table)
{
  static ljt_elf one; /* A symbol at a time. */
  size_t unit, symtab, names, i, at[16];
  ljt_elf_build(b);
  unit = ljt_sym_struct(b);
  symtab = b->size;
  names = symtab + (n + 1) * unit;
  memset(file + symtab, 0, unit);
  for (i = 0; i < 16; i++) {
    at[i] = i == 0 ? 1 : at[i - 1] + strlen(ljf_names[i - 1]) + 1;
    strcpy((char *)file + names + at[i], ljf_names[i]);
  }
  file[names] = 0;
  ljt_set(b, ljt_shdr(b, table), &ljt_shdr_offset, symtab);
  ljt_set(b, ljt_shdr(b, table), &ljt_shdr_size, (n + 1) * unit);
  ljt_set(b, ljt_shdr(b, table + 1), &ljt_shdr_offset, names);
  ljt_set(b, ljt_shdr(b, table + 1), &ljt_shdr_size, at[15] + 3);
  for (i = 0; i < n; i++) {
    one.is64 = b->is64;
    one.big = b->big;
    ljt_set(&one, 0, &ljt_sym_name, at[v[i].name]);
    ljt_set(&one, 0, &ljt_sym_info, v[i].bind << 4 | v[i].type);
    ljt_set(&one, 0, &ljt_sym_shndx, v[i].section);
    ljt_set(&one, 0, &ljt_sym_value, b->base + b->text_off + v[i].at);
    ljt_set(&one, 0, &ljt_sym_size, v[i].size);
    memcpy(file + symtab + (i + 1) * unit, one.data, unit);
  }
  memcpy(file, b->data, b->size);
  return names + at[15] + 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const ljt_elf_sym none[1] = {{"", 0, 0, 0, 0, 0}};
  static ljt_elf b;
  static uint8_t file[sizeof(b.data) + LJF_MOST * 24 + 512];
  static ljf_sym v[LJF_MOST];
  size_t n, i, count = 0, total;
  ljm_image img;
  uint64_t at;
  int dynamic;
  if (size < 1) return 0;
  memset(&b, 0, sizeof(b));
  b.is64 = data[0] & 1;
  b.big = data[0] >> 1 & 1;
  dynamic = data[0] >> 2 & 1;
  b.base = 0x10000;
  b.machine = 62;
  b.syms = b.dynsyms = none;
  n = (size - 1) / 8;
  if (n > LJF_MOST) n = LJF_MOST;
  for (i = 0; i < n; i++) {
    ljf_take(&v[i], data + 1 + 8 * i);
    if (!b.is64) v[i].size &= 0x7fffffff;
    v[i].used = ljf_is_function(&v[i]);
    count += (size_t)v[i].used;
  }
  total = ljf_write(&b, file, v, n, dynamic ? LJT_S_DYNSYM : LJT_S_SYMTAB);
  LJF_CHECK(ljm_image_open_memory(&img, file, total, NULL, NULL) == LJM_OK);
  LJF_CHECK(img.count == count && img.skipped == 0);
  LJF_CHECK(ljt_check_image(&img, 1 + count / 8) == NULL);
  for (at = 0; at < 0x600 + (uint64_t)n * 8; at += 1 + n / 8) {
    const ljf_sym *want;
    ljm_symbol sym;
    uint64_t probe = at < 0x200 ? at : (at - 0x200) << 16;
    ljm_status status =
      ljm_image_find(&img, b.base + b.text_off + probe, &sym);
    want = ljf_search(v, n, probe, dynamic);
    LJF_CHECK((status == LJM_OK) == (want != NULL));
    if (!want) continue;
    LJF_CHECK(strcmp(sym.name, ljf_names[want->name]) == 0);
    LJF_CHECK(sym.vaddr == b.base + b.text_off + want->at);
    LJF_CHECK(sym.size == want->size);
  }
  ljm_image_free(&img);
  return 0;
}
