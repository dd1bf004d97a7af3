/*
** test_elf_dynamic - dynamic symbols of modules in memory: tables of good,
** rare and broken ones in both classes and byte orders, at several biases.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"
#include "elfbuild.h"

#define T LJT_S_TEXT

static const ljt_elf_sym dynsyms[] = {
  {"printf", 0, 0, LJT_FUNC, LJT_GLOBAL, 0},
  {"zero", 0xa0, 0, LJT_FUNC, LJT_GLOBAL, T},
  {"beta", 0x30, 0x10, LJT_FUNC, LJT_GLOBAL, T},
  {"object", 0x40, 8, LJT_OBJECT, LJT_GLOBAL, T},
  {"chosen", 0x60, 8, LJT_IFUNC, LJT_GLOBAL, T},
  {"untyped", 0x70, 4, LJT_NOTYPE, LJT_GLOBAL, T},
  {"last", 0x80, 0x10, LJT_FUNC, LJT_WEAK, T}
};
#define COUNT (sizeof(dynsyms) / sizeof(dynsyms[0]))
enum { BETA = 3, UNTYPED = 6, LAST = 7 };

static const char all[] = "beta chosen untyped last zero";

static void make(ljt_elf *b, int variant)
{
  memset(b, 0, sizeof(*b));
  b->is64 = variant & 1;
  b->big = variant >> 1 & 1;
  b->base = 0x10000;
  b->machine = 62;
  b->dynsyms = dynsyms;
  b->dynsym_count = COUNT;
  ljt_elf_build(b);
}

/* -- edits -------------------------------------------------------------- */

/* HASH and GNU: a word of the table; BUCKET and CHAIN: of .gnu.hash. */
typedef enum where {
  END, PHDR, DYN, DSYM, HASH, GNU, BUCKET, CHAIN
} where;

typedef struct edit {
  where what;
  unsigned idx;
  const ljt_field *field;
  uint64_t value;
} edit;

typedef struct row {
  const char *name;
  edit edits[4];
  ljm_status want;
  const char *names; /* NULL: all. */
} row;

static void apply(ljt_elf *b, const edit *e)
{
  size_t gnu = b->off[LJT_S_GNU_HASH];
  size_t buckets = gnu + 16 + (b->is64 ? 8 : 4);
  switch (e->what) {
  case PHDR: ljt_set(b, ljt_phdr(b, e->idx), e->field, e->value); break;
  case DYN: ljt_set(b, ljt_dyn(b, e->idx), e->field, e->value); break;
  case DSYM:
    ljt_set(b, ljt_sym(b, LJT_S_DYNSYM, e->idx), e->field, e->value);
    break;
  case HASH:
    ljt_store(b->data + b->off[LJT_S_HASH] + 4 * e->idx, 4, b->big, e->value);
    break;
  case GNU: ljt_store(b->data + gnu + 4 * e->idx, 4, b->big, e->value); break;
  case BUCKET:
    ljt_store(b->data + buckets + 4 * e->idx, 4, b->big, e->value);
    break;
  case CHAIN:
    ljt_store(b->data + buckets + 4 * b->gnu_buckets + 4 * (e->idx - 1), 4,
              b->big, e->value);
    break;
  default: break;
  }
}

#define OK LJM_OK
#define MAL LJM_E_MALFORMED
/* A tag nobody knows. */
#define GONE 0x6ffffabc
#define NO_HASH {DYN, LJT_D_HASH, &ljt_dyn_tag, GONE}
#define NO_GNU {DYN, LJT_D_GNU_HASH, &ljt_dyn_tag, GONE}
#define NO_VERSYM {DYN, LJT_D_VERSYM, &ljt_dyn_tag, GONE}

static const row rows[] = {
  {"good", {{END, 0, NULL, 0}}, OK, NULL},
  /* Counting (M1, M12). */
  {"sysv only", {NO_GNU}, OK, NULL},
  {"gnu only", {NO_HASH}, OK, NULL},
  {"neither: bounds", {NO_HASH, NO_GNU}, OK, NULL},
  {"neither, no versions", {NO_HASH, NO_GNU, NO_VERSYM}, OK, NULL},
  {"neither, names first",
   {NO_HASH, NO_GNU, NO_VERSYM,
    {DYN, LJT_D_STRTAB, &ljt_dyn_val, 0x10000}}, OK, ""},
  {"no table", {{DYN, LJT_D_SYMTAB, &ljt_dyn_tag, GONE}}, OK, ""},
  {"no names", {{DYN, LJT_D_STRTAB, &ljt_dyn_tag, GONE}}, OK, ""},
  {"no dynamic segment",
   {{PHDR, LJT_P_DYNAMIC, &ljt_phdr_type, 0}}, OK, ""},
  /* DT_GNU_HASH (M2). */
  {"gnu: no buckets", {NO_HASH, {GNU, 0, NULL, 0}}, OK, ""},
  {"gnu: buckets 2^32-1", {NO_HASH, {GNU, 0, NULL, 0xffffffff}}, OK, NULL},
  {"gnu: all buckets empty",
   {NO_HASH, {BUCKET, 0, NULL, 0}, {BUCKET, 1, NULL, 0}}, OK, ""},
  {"gnu: all buckets empty, none hashed",
   {NO_HASH, {BUCKET, 0, NULL, 0}, {BUCKET, 1, NULL, 0},
    {GNU, 1, NULL, COUNT + 1}}, OK, NULL},
  {"gnu: bucket below the first", {NO_HASH, {GNU, 1, NULL, 4}}, OK, NULL},
  {"gnu: bucket past the table",
   {NO_HASH, {BUCKET, 1, NULL, 0x7fffffff}}, OK, NULL},
  {"gnu: chain without an end",
   {NO_HASH, {CHAIN, COUNT, NULL, 2}}, OK, NULL},
  {"gnu: no filter words", {NO_HASH, {GNU, 2, NULL, 0}}, OK, NULL},
  {"gnu: filter words 3", {NO_HASH, {GNU, 2, NULL, 3}}, OK, NULL},
  {"gnu: filter words 2^31",
   {NO_HASH, {GNU, 2, NULL, 0x80000000u}}, OK, NULL},
  {"gnu: shift 32", {NO_HASH, {GNU, 3, NULL, 32}}, OK, NULL},
  {"gnu: shift 2^32-1", {NO_HASH, {GNU, 3, NULL, 0xffffffff}}, OK, NULL},
  {"gnu: shorter than its header",
   {NO_HASH, {DYN, LJT_D_GNU_HASH, &ljt_dyn_val, 0x10000 + 0x800 - 15}},
   OK, NULL},
  {"gnu: its first word only",
   {NO_HASH, {DYN, LJT_D_GNU_HASH, &ljt_dyn_val, 0x10000 + 0x800 - 7}},
   OK, NULL},
  {"gnu: two words only",
   {NO_HASH, {DYN, LJT_D_GNU_HASH, &ljt_dyn_val, 0x10000 + 0x800 - 11}},
   OK, NULL},
  {"fewer versions than symbols",
   {NO_GNU, {DYN, LJT_D_HASH, &ljt_dyn_tag, 13},
    {DYN, LJT_D_HASH, &ljt_dyn_val, 0x10000 + 0x7f0},
    {DYN, LJT_D_VERSYM, &ljt_dyn_val, 0x10000 + 0x7ee}}, OK, ""},
  {"gnu: outside", {NO_HASH, {DYN, LJT_D_GNU_HASH, &ljt_dyn_val, 0x90000}},
   OK, NULL},
  {"gnu: first 2^32-1", {NO_HASH, {GNU, 1, NULL, 0xffffffff}}, OK, NULL},
  /* DT_HASH (M3). */
  {"hash: no buckets", {NO_GNU, {HASH, 0, NULL, 0}}, OK, NULL},
  {"hash: buckets 2^32-1", {NO_GNU, {HASH, 0, NULL, 0xffffffff}}, OK, NULL},
  {"hash: none", {NO_GNU, {HASH, 1, NULL, 0}}, OK, NULL},
  {"hash: 2^32-1", {NO_GNU, {HASH, 1, NULL, 0xffffffff}}, OK, NULL},
  {"hash: one", {NO_GNU, {HASH, 1, NULL, 1}}, OK, ""},
  {"hash: outside", {NO_GNU, {DYN, LJT_D_HASH, &ljt_dyn_val, 0x90000}},
   OK, NULL},
  {"hash: at the end", {NO_GNU, {DYN, LJT_D_HASH, &ljt_dyn_val,
                                 0x10000 + 0x800 - 7}}, OK, NULL},
  {"hash bad, gnu good", {{HASH, 1, NULL, 0xffffffff}}, OK, NULL},
  /* The dynamic section (M4). */
  {"no end mark", {{DYN, LJT_D_NULL, &ljt_dyn_tag, GONE}}, OK, NULL},
  {"ends at once", {{DYN, 0, &ljt_dyn_tag, 0}}, OK, ""},
  {"a tag twice: the last", {{DYN, LJT_D_VERSYM, &ljt_dyn_tag, 6},
                             {DYN, LJT_D_VERSYM, &ljt_dyn_val, 0}}, OK, ""},
  {"table at 0", {{DYN, LJT_D_SYMTAB, &ljt_dyn_val, 0}}, OK, ""},
  {"names at 0", {{DYN, LJT_D_STRTAB, &ljt_dyn_val, 0}}, OK, ""},
  {"table outside", {{DYN, LJT_D_SYMTAB, &ljt_dyn_val, 0x90000}}, OK, ""},
  {"table wild",
   {{DYN, LJT_D_SYMTAB, &ljt_dyn_val, UINT64_MAX - 7}}, OK, ""},
  {"table at the end", {{DYN, LJT_D_SYMTAB, &ljt_dyn_val,
                         0x10000 + 0x800 - 8}}, OK, ""},
  {"names' size missing", {{DYN, LJT_D_STRSZ, &ljt_dyn_tag, GONE}}, MAL, ""},
  {"names' size wild", {{DYN, LJT_D_STRSZ, &ljt_dyn_val, UINT64_MAX}},
   MAL, ""},
  {"names' size 0", {{DYN, LJT_D_STRSZ, &ljt_dyn_val, 0}}, OK, ""},
  {"names' size 1", {{DYN, LJT_D_STRSZ, &ljt_dyn_val, 1}}, OK, ""},
  {"names past the segment",
   {{DYN, LJT_D_STRSZ, &ljt_dyn_val, 0x801}}, MAL, ""},
  {"entry size 0", {{DYN, LJT_D_SYMENT, &ljt_dyn_val, 0}}, MAL, ""},
  {"entry size 8", {{DYN, LJT_D_SYMENT, &ljt_dyn_val, 8}}, MAL, ""},
  {"entry size missing", {{DYN, LJT_D_SYMENT, &ljt_dyn_tag, GONE}}, OK, NULL},
  {"dynamic segment outside",
   {{PHDR, LJT_P_DYNAMIC, &ljt_phdr_vaddr, 0x90000}}, MAL, ""},
  {"dynamic segment too long",
   {{PHDR, LJT_P_DYNAMIC, &ljt_phdr_filesz, 0x10000}}, MAL, ""},
  {"dynamic segment empty",
   {{PHDR, LJT_P_DYNAMIC, &ljt_phdr_filesz, 0}}, OK, ""},
  {"segments not ascending",
   {{PHDR, LJT_P_TABLES, &ljt_phdr_vaddr, 0x40000000}}, MAL, ""},
  /* Symbols. */
  {"symbol 0",
   {{DSYM, 0, &ljt_sym_name, 1}, {DSYM, 0, &ljt_sym_info, LJT_FUNC},
    {DSYM, 0, &ljt_sym_value, 0x10010}, {DSYM, 0, &ljt_sym_shndx, T}},
   OK, NULL},
  {"no name", {{DSYM, BETA, &ljt_sym_name, 0}}, OK,
   "chosen untyped last zero"},
  {"untyped outside code",
   {{DSYM, UNTYPED, &ljt_sym_value, 0x10010}}, OK, "beta chosen last zero"},
  {"function outside the module",
   {{DSYM, LAST, &ljt_sym_value, 0x900000}}, OK, "beta chosen untyped zero"},
  {"function undefined",
   {{DSYM, BETA, &ljt_sym_shndx, 0}}, OK, "chosen untyped last zero"},
  {"name past the end",
   {{DSYM, BETA, &ljt_sym_name, 0x7000}}, OK, "chosen untyped last zero"},
  {"size wraps", {{DSYM, BETA, &ljt_sym_size, UINT64_MAX}}, OK,
   "chosen untyped last zero"}
};

/* Adds the bias to the pointers of the dynamic section, as glibc does. */
static void relocate(ljt_elf *b, uint64_t bias)
{
  static const unsigned pointers[] = {
    LJT_D_HASH, LJT_D_GNU_HASH, LJT_D_STRTAB, LJT_D_SYMTAB, LJT_D_VERSYM
  };
  size_t i;
  for (i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
    size_t at = ljt_dyn(b, pointers[i]);
    ljt_set(b, at, &ljt_dyn_val, ljt_get(b, at, &ljt_dyn_val) + bias);
  }
}

static ljm_status open_at(const ljt_elf *b, uint64_t bias, ljm_image *img,
                          ljt_heap *heap, ljm_memory *mem)
{
  ljm_allocator a;
  ljm_status status;
  a.alloc = ljt_heap_alloc;
  a.realloc = ljt_heap_realloc;
  a.free = ljt_heap_free;
  a.user = heap;
  LJT_EQ(ljmi_memory_init(mem, &a, 1 << 20), LJM_OK);
  status = ljt_open_mapped(img, mem, b->data, b->size, bias, NULL);
  if (status == LJM_OK) LJT_STR(ljt_check_image(img, 1), NULL);
  return status;
}

static void close_at(ljm_image *img, const ljt_heap *heap)
{
  ljm_image_free(img);
  LJT_OK(heap->live_count == 0 && heap->bad_frees == 0);
}

/* Biases of a 64-bit and a 32-bit module, of an ET_EXEC, of one loaded below
** its link-time address. */
static const uint64_t biases[] = {
  0, UINT64_C(0x7f1234560000), 0x40000000, 0 - UINT64_C(0x8000)
};

static void one_field(void)
{
  static ljt_elf b;
  size_t i, k;
  int variant;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    /* Variants: class, order, relocated or not, bias. */
    for (variant = 0; variant < 32; variant++) {
      const row *r = &rows[i];
      uint64_t bias = biases[variant >> 3];
      ljt_heap heap;
      ljm_memory mem;
      ljm_image img;
      ljt.row = r->name;
      memset(&heap, 0, sizeof(heap));
      make(&b, variant);
      if (!b.is64 && bias >> 32) continue;
      for (k = 0; k < 4; k++) apply(&b, &r->edits[k]);
      if (variant & 4) relocate(&b, bias);
      if (!LJT_EQ(open_at(&b, bias, &img, &heap, &mem), r->want) ||
          (r->want == LJM_OK &&
           !LJT_STR(ljt_image_names(&img), r->names ? r->names : all)))
        printf("  class %d, order %d, bias %llx, relocated %d\n", b.is64,
               b.big, (unsigned long long)bias, variant >> 2 & 1);
      if (r->want == LJM_OK) LJT_EQ(img.from, img.count ? 3 : 0);
      close_at(&img, &heap);
    }
  }
  ljt.row = NULL;
}

/* DT_HASH of 64-bit words: s390x (big-endian), alpha (little-endian). */
static void wide_hash(void)
{
  static const struct { unsigned machine; int big; int is64; unsigned word; }
    m[] = {{22, 1, 1, 8}, {0x9026, 0, 1, 8}, {22, 1, 0, 4}};
  static ljt_elf b;
  size_t i;
  for (i = 0; i < sizeof(m) / sizeof(m[0]); i++) {
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    memset(&heap, 0, sizeof(heap));
    make(&b, m[i].is64 | m[i].big << 1);
    b.machine = m[i].machine;
    b.hash_word = m[i].word;
    ljt_elf_build(&b);
    /* Names stand before: without the table nothing else counts them. */
    ljt_set(&b, ljt_dyn(&b, LJT_D_GNU_HASH), &ljt_dyn_tag, GONE);
    ljt_set(&b, ljt_dyn(&b, LJT_D_VERSYM), &ljt_dyn_tag, GONE);
    LJT_EQ(open_at(&b, 0, &img, &heap, &mem), LJM_OK);
    LJT_STR(ljt_image_names(&img), all);
    close_at(&img, &heap);
    /* One symbol less, and it shows. */
    ljt_store(b.data + b.off[LJT_S_HASH] + m[i].word, m[i].word, b.big,
              COUNT);
    LJT_EQ(open_at(&b, 0, &img, &heap, &mem), LJM_OK);
    LJT_STR(ljt_image_names(&img), "beta chosen untyped zero");
    close_at(&img, &heap);
  }
}

/* A table of wide words that ends within its first two: bounds count. */
static void wide_hash_short(void)
{
  static const struct { unsigned machine; int big; unsigned left; } m[] = {
    {22, 1, 3}, {22, 1, 7}, {22, 1, 15}, {0x9026, 0, 3}, {0x9026, 0, 12},
    {0x9026, 0, 15}
  };
  static ljt_elf b;
  size_t i;
  for (i = 0; i < sizeof(m) / sizeof(m[0]); i++) {
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    memset(&heap, 0, sizeof(heap));
    make(&b, 1 | m[i].big << 1);
    b.machine = m[i].machine;
    ljt_elf_build(&b);
    ljt_set(&b, ljt_dyn(&b, LJT_D_GNU_HASH), &ljt_dyn_tag, GONE);
    ljt_set(&b, ljt_dyn(&b, LJT_D_HASH), &ljt_dyn_val,
            b.base + 0x800 - m[i].left);
    memset(b.data + 0x800 - m[i].left, 0, m[i].left);
    LJT_EQ(open_at(&b, 0, &img, &heap, &mem), LJM_OK);
    LJT_STR(ljt_image_names(&img), all);
    close_at(&img, &heap);
  }
}

/* A count that is too high does not take what stands behind the table for a
** symbol: the names here start like one. */
static void too_many(void)
{
  static ljt_elf b;
  int gnu;
  for (gnu = 0; gnu < 2; gnu++) {
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    ljm_symbol sym;
    size_t at;
    edit e = {CHAIN, COUNT, NULL, 2};
    memset(&heap, 0, sizeof(heap));
    make(&b, 1);
    at = b.off[LJT_S_DYNSTR];
    LJT_EQ(at, b.off[LJT_S_DYNSYM] + b.len[LJT_S_DYNSYM]);
    memset(b.data + at, 0, 24);
    ljt_set(&b, at, &ljt_sym_name, b.len[LJT_S_DYNSTR] - 5);
    ljt_set(&b, at, &ljt_sym_info, LJT_FUNC);
    ljt_set(&b, at, &ljt_sym_shndx, T);
    ljt_set(&b, at, &ljt_sym_value, b.base + b.text_off + 0xf0);
    if (gnu)
      apply(&b, &e);
    else
      ljt_store(b.data + b.off[LJT_S_HASH] + 4, 4, b.big, COUNT + 2);
    ljt_set(&b, ljt_dyn(&b, gnu ? LJT_D_HASH : LJT_D_GNU_HASH), &ljt_dyn_tag,
            GONE);
    ljt_set(&b, ljt_dyn(&b, LJT_D_VERSYM), &ljt_dyn_tag, GONE);
    LJT_EQ(open_at(&b, 0, &img, &heap, &mem), LJM_OK);
    LJT_EQ(ljm_image_find(&img, b.base + b.text_off + 0xf0, &sym),
           LJM_E_NOTFOUND);
    close_at(&img, &heap);
  }
}

/* The first address behind the module is not in it, the last one is. */
static void at_the_end(void)
{
  static ljt_elf b;
  int variant, behind;
  for (variant = 0; variant < 4; variant++) {
    for (behind = 0; behind < 2; behind++) {
      uint64_t end;
      ljt_heap heap;
      ljm_memory mem;
      ljm_image img;
      memset(&heap, 0, sizeof(heap));
      make(&b, variant);
      end = b.base + b.off[LJT_S_DYNAMIC] + b.len[LJT_S_DYNAMIC];
      ljt_set(&b, ljt_sym(&b, LJT_S_DYNSYM, BETA), &ljt_sym_value,
              end - (behind ? 0 : 1));
      LJT_EQ(open_at(&b, 0, &img, &heap, &mem), LJM_OK);
      LJT_EQ(img.count, behind ? 4 : 5);
      close_at(&img, &heap);
    }
  }
}

/* Buckets and chains of all shapes count the same. */
static void bucket_counts(void)
{
  static ljt_elf b;
  unsigned n;
  for (n = 1; n < 20; n++) {
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    memset(&heap, 0, sizeof(heap));
    make(&b, 1);
    b.gnu_buckets = n;
    ljt_elf_build(&b);
    ljt_set(&b, ljt_dyn(&b, LJT_D_HASH), &ljt_dyn_tag, GONE);
    LJT_EQ(open_at(&b, 0, &img, &heap, &mem), LJM_OK);
    LJT_STR(ljt_image_names(&img), all);
    close_at(&img, &heap);
  }
}

/* What the module says it has is not there: no memory is taken for it. */
static void claims(void)
{
  static ljt_elf b;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    static const edit edits[] = {
      {PHDR, LJT_P_DATA, &ljt_phdr_filesz, 0x7000000},
      {PHDR, LJT_P_DATA, &ljt_phdr_memsz, 0x7000000},
      {DYN, LJT_D_STRSZ, &ljt_dyn_val, 0x6000000}
    };
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    size_t k;
    memset(&heap, 0, sizeof(heap));
    make(&b, variant);
    for (k = 0; k < 3; k++) apply(&b, &edits[k]);
    ljt_set(&b, ljt_dyn(&b, LJT_D_STRTAB), &ljt_dyn_val,
            b.base + b.off[LJT_S_DYNAMIC]);
    LJT_EQ(open_at(&b, 0, &img, &heap, &mem), LJM_E_IO);
    LJT_OK(heap.peak_size < 256 * 1024);
    close_at(&img, &heap);
  }
}

static void memory(void)
{
  static ljt_elf b;
  ljm_memory mem;
  ljm_image img;
  ljm_allocator a;
  ljm_status status;
  ljt_heap heap;
  uint64_t n;
  make(&b, 1);
  for (n = 1; ; n++) {
    memset(&heap, 0, sizeof(heap));
    heap.fail_at = n;
    a.alloc = ljt_heap_alloc;
    a.realloc = ljt_heap_realloc;
    a.free = ljt_heap_free;
    a.user = &heap;
    ljmi_memory_init(&mem, &a, 1 << 20);
    status = ljt_open_mapped(&img, &mem, b.data, b.size, 0, NULL);
    close_at(&img, &heap);
    if (status == LJM_OK) break;
    LJT_EQ(status, LJM_E_NOMEM);
  }
  LJT_OK(n > 4);
}

static void bytes(void)
{
  static ljt_elf b;
  int variant;
  for (variant = 0; variant < 8; variant++) {
    uint64_t n;
    make(&b, variant);
    if (variant & 4) ljt_set(&b, ljt_dyn(&b, LJT_D_HASH), &ljt_dyn_tag, GONE);
    for (n = 0; n < b.size * 12; n += ljt.stride) {
      unsigned char *p = b.data + n / 12, old = *p;
      unsigned k = (unsigned)(n % 12);
      ljt_heap heap;
      ljm_memory mem;
      ljm_image img;
      memset(&heap, 0, sizeof(heap));
      if (k < 8) *p = (unsigned char)(old ^ (1u << k));
      else if (k < 10) *p = (unsigned char)(old + (k == 8 ? 1 : -1));
      else *p = k == 10 ? 0 : 255;
      (void)open_at(&b, 0x40000000, &img, &heap, &mem);
      LJT_OK(heap.peak_size < 128 * 1024);
      close_at(&img, &heap);
      *p = old;
    }
  }
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(one_field);
  LJT_CASE(wide_hash);
  LJT_CASE(wide_hash_short);
  LJT_CASE(too_many);
  LJT_CASE(at_the_end);
  LJT_CASE(bucket_counts);
  LJT_CASE(claims);
  LJT_CASE(memory);
  LJT_CASE(bytes);
  return ljt_end();
}
