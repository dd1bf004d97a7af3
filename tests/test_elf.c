/*
** test_elf - symbols of ELF files: tables of good, rare and broken files in
** both classes and byte orders, and sweeps over them.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"
#include "ljtmem.h"
#include "elfbuild.h"

#include <sys/stat.h>
#include <unistd.h>

#define T LJT_S_TEXT

static const ljt_elf_sym syms[] = {
  {"alpha", 0x10, 0x20, LJT_FUNC, LJT_LOCAL, T},
  {"asm_beta", 0x30, 0, LJT_NOTYPE, LJT_GLOBAL, T},
  {"a_local", 0x30, 0x10, LJT_FUNC, LJT_LOCAL, T},
  {"beta_alias", 0x30, 0x10, LJT_FUNC, LJT_GLOBAL, T},
  {"beta", 0x30, 0x10, LJT_FUNC, LJT_GLOBAL, T},
  {"asm_one", 0x50, 0, LJT_NOTYPE, LJT_LOCAL, T},
  {"chosen", 0x60, 8, LJT_IFUNC, LJT_GLOBAL, T},
  {"data", 0x70, 8, LJT_OBJECT, LJT_GLOBAL, T},
  {"printf", 0, 0, LJT_FUNC, LJT_GLOBAL, 0},
  {"$x", 0x80, 0, LJT_NOTYPE, LJT_LOCAL, T},
  {"$d.7", 0x88, 0, LJT_NOTYPE, LJT_LOCAL, T},
  {"", 0x8c, 4, LJT_FUNC, LJT_LOCAL, T},
  {"last", 0x90, 0, LJT_FUNC, LJT_WEAK, T}
};
#define SYM_COUNT (sizeof(syms) / sizeof(syms[0]))
/* Numbers in the table. */
enum { ALPHA = 1, ASM_ONE = 6, DATA = 8, LAST = 13 };

static const ljt_elf_sym dynsyms[] = {
  {"printf", 0, 0, LJT_FUNC, LJT_GLOBAL, 0},
  {"zero", 0xa0, 0, LJT_FUNC, LJT_GLOBAL, T},
  {"beta", 0x30, 0x10, LJT_FUNC, LJT_GLOBAL, T},
  {"chosen", 0x60, 8, LJT_IFUNC, LJT_GLOBAL, T}
};
#define DYNSYM_COUNT (sizeof(dynsyms) / sizeof(dynsyms[0]))

static const char all[] =
  "alpha beta beta_alias a_local asm_beta asm_one chosen last";
static const char dynamic[] = "beta chosen zero";

/* Each class and byte order: 0 to 3. */
static void make(ljt_elf *b, int variant)
{
  memset(b, 0, sizeof(*b));
  b->is64 = variant & 1;
  b->big = variant >> 1;
  b->base = 0x10000;
  b->machine = 62;
  b->syms = syms;
  b->sym_count = SYM_COUNT;
  b->dynsyms = dynsyms;
  b->dynsym_count = DYNSYM_COUNT;
  ljt_elf_build(b);
}

/* Opens `size` bytes with exact blocks; what must hold of any file holds. */
static ljm_status check_open(const unsigned char *data, size_t size,
                             const ljm_elf_limits *limits, ljm_image *img,
                             ljt_heap *heap)
{
  ljm_allocator a;
  unsigned char *copy = (unsigned char *)malloc(size ? size : 1);
  ljm_status status;
  a = ljt_allocator(heap);
  memcpy(copy, data, size);
  status = ljm_image_open_memory(img, copy, size, &a, limits);
  free(copy);
  if (status == LJM_OK)
    LJT_STR(ljt_check_image(img, 1), NULL);
  else
    LJT_OK(heap->live_count == 0 && img->error.status == status);
  return status;
}

static void check_free(ljm_image *img, ljt_heap *heap)
{
  ljm_image_free(img);
  ljm_image_free(img);
  LJT_OK(heap->live_count == 0 && heap->live_size == 0 &&
         heap->bad_frees == 0);
}

/* -- edits -------------------------------------------------------------- */

typedef enum where {
  END, EHDR, PHDR, SHDR, SYM, DSYM, DYN, BYTE, NAME_END
} where;

/* Sets a field; PLUS_SIZE adds the file's size to the value. */
typedef struct edit {
  where what;
  unsigned idx;
  const ljt_field *field;
  uint64_t value;
} edit;

#define EDITS 6
#define PLUS_SIZE (UINT64_C(1) << 62)
#define WRAPS (~UINT64_C(0) - 15)

typedef struct row {
  const char *name;
  edit edits[EDITS];
  ljm_status want64, want32;
  const char *names; /* NULL: all. */
} row;

static void apply(ljt_elf *b, const edit *e)
{
  uint64_t value = e->value;
  if (value >= PLUS_SIZE && value < PLUS_SIZE + 0x20000)
    value = value - PLUS_SIZE + b->size;
  switch (e->what) {
  case EHDR: ljt_set(b, 0, e->field, value); break;
  case PHDR: ljt_set(b, ljt_phdr(b, e->idx), e->field, value); break;
  case SHDR: ljt_set(b, ljt_shdr(b, e->idx), e->field, value); break;
  case SYM:
    ljt_set(b, ljt_sym(b, LJT_S_SYMTAB, e->idx), e->field, value);
    break;
  case DSYM:
    ljt_set(b, ljt_sym(b, LJT_S_DYNSYM, e->idx), e->field, value);
    break;
  case DYN: ljt_set(b, ljt_dyn(b, e->idx), e->field, value); break;
  case BYTE: b->data[e->idx] = (unsigned char)value; break;
  case NAME_END: /* Last byte of .strtab. */
    b->data[b->off[LJT_S_STRTAB] + b->len[LJT_S_STRTAB] - 1] =
      (unsigned char)value;
    break;
  default: break;
  }
}

#define OK LJM_OK
#define MAL LJM_E_MALFORMED
#define CUT LJM_E_TRUNCATED
#define UNS LJM_E_UNSUPPORTED
#define LIM LJM_E_LIMIT
/* No sections, and a last segment that is longer than the file. */
#define LONG_SEGMENT {EHDR, 0, &ljt_ehdr_shoff, 0}, \
  {EHDR, 0, &ljt_ehdr_shnum, 0}, \
  {PHDR, LJT_P_DATA, &ljt_phdr_filesz, 0x10000}, \
  {PHDR, LJT_P_DATA, &ljt_phdr_memsz, 0x10000}
#define NO_SYMTAB {SHDR, LJT_S_SYMTAB, &ljt_shdr_type, 1}

static const row rows[] = {
  {"good", {{END, 0, NULL, 0}}, OK, OK, NULL},
  /* Valid but rare (E1, E2). */
  {"count in section 0",
   {{EHDR, 0, &ljt_ehdr_shnum, 0},
    {SHDR, 0, &ljt_shdr_size, LJT_S_COUNT}}, OK, OK, NULL},
  {"string section in section 0",
   {{EHDR, 0, &ljt_ehdr_shstrndx, 0xffff},
    {SHDR, 0, &ljt_shdr_link, LJT_S_SHSTRTAB}}, OK, OK, NULL},
  {"segment count in section 0",
   {{EHDR, 0, &ljt_ehdr_phnum, 0xffff},
    {SHDR, 0, &ljt_shdr_info, LJT_P_COUNT}}, OK, OK, NULL},
  {"sections none", {{EHDR, 0, &ljt_ehdr_shoff, 0},
                     {EHDR, 0, &ljt_ehdr_shnum, 0}}, OK, OK, dynamic},
  {"sections none, place wild",
   {{EHDR, 0, &ljt_ehdr_shoff, UINT64_MAX},
    {EHDR, 0, &ljt_ehdr_shnum, 0}}, OK, OK, dynamic},
  {"sections none, size too",
   {{EHDR, 0, &ljt_ehdr_shoff, 0}, {EHDR, 0, &ljt_ehdr_shnum, 0},
    {EHDR, 0, &ljt_ehdr_shentsize, 0}}, OK, OK, dynamic},
  {"dynsym only", {NO_SYMTAB}, OK, OK, dynamic},
  {"no table", {NO_SYMTAB, {SHDR, LJT_S_DYNSYM, &ljt_shdr_type, 1},
                {PHDR, LJT_P_DYNAMIC, &ljt_phdr_type, 0}}, OK, OK, ""},
  {"two symtabs", {{SHDR, LJT_S_DYNSYM, &ljt_shdr_type, 2}}, OK, OK, dynamic},
  {"two symtabs, first empty",
   {{SHDR, LJT_S_DYNSYM, &ljt_shdr_type, 2},
    {SHDR, LJT_S_DYNSYM, &ljt_shdr_size, 0}}, OK, OK, NULL},
  {"symtab empty", {{SHDR, LJT_S_SYMTAB, &ljt_shdr_size, 0}}, OK, OK, dynamic},
  {"segments not ascending",
   {{PHDR, LJT_P_TABLES, &ljt_phdr_vaddr, 0x40000000}}, OK, OK, NULL},
  {"segments none", {{EHDR, 0, &ljt_ehdr_phnum, 0}}, OK, OK, NULL},
  {"executable", {{EHDR, 0, &ljt_ehdr_type, 2}}, OK, OK, NULL},
  /* What is a function (E3). */
  {"function undefined", {{SYM, ALPHA, &ljt_sym_shndx, 0}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last"},
  {"function absolute", {{SYM, ALPHA, &ljt_sym_shndx, 0xfff1}}, OK, OK, NULL},
  {"function common", {{SYM, ALPHA, &ljt_sym_shndx, 0xfff2}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last"},
  {"function of a data section",
   {{SYM, ALPHA, &ljt_sym_shndx, LJT_S_DYNAMIC}}, OK, OK, NULL},
  {"untyped in data", {{SYM, ASM_ONE, &ljt_sym_shndx, LJT_S_DYNAMIC}}, OK, OK,
   "alpha beta beta_alias a_local asm_beta chosen last"},
  {"untyped absolute", {{SYM, ASM_ONE, &ljt_sym_shndx, 0xfff1}}, OK, OK,
   "alpha beta beta_alias a_local asm_beta chosen last"},
  {"untyped, section past the last",
   {{SYM, ASM_ONE, &ljt_sym_shndx, LJT_S_COUNT}}, OK, OK,
   "alpha beta beta_alias a_local asm_beta chosen last"},
  {"unsized, section past the last",
   {{SYM, LAST, &ljt_sym_shndx, LJT_S_COUNT}}, OK, OK, NULL},
  {"code ends at 0", {{SHDR, LJT_S_TEXT, &ljt_shdr_addr, 0},
                      {SHDR, LJT_S_TEXT, &ljt_shdr_size, 0}}, OK, OK, NULL},
  {"code wraps", {{SHDR, LJT_S_TEXT, &ljt_shdr_addr, UINT64_MAX},
                  {SHDR, LJT_S_TEXT, &ljt_shdr_size, UINT64_MAX}},
   OK, OK, NULL},
  {"untyped, no code at all",
   {{SHDR, LJT_S_TEXT, &ljt_shdr_flags, 2}}, OK, OK,
   "alpha beta beta_alias a_local chosen last"},
  {"section symbol", {{SYM, DATA, &ljt_sym_info, 3}}, OK, OK, NULL},
  {"thread symbol", {{SYM, DATA, &ljt_sym_info, 6}}, OK, OK, NULL},
  {"symbol 0", /* Reserved, whatever it says. */
   {{SYM, 0, &ljt_sym_name, 1}, {SYM, 0, &ljt_sym_info, LJT_FUNC},
    {SYM, 0, &ljt_sym_value, 0x10010}, {SYM, 0, &ljt_sym_shndx, T}},
   OK, OK, NULL},
  {"section in a second table", {{SYM, ASM_ONE, &ljt_sym_shndx, 0xffff}},
   OK, OK, "alpha beta beta_alias a_local asm_beta chosen last"},
  /* Headers (E5). */
  {"sections past the end",
   {{EHDR, 0, &ljt_ehdr_shoff, PLUS_SIZE + 8}}, CUT, CUT, ""},
  {"sections reach past the end",
   {{EHDR, 0, &ljt_ehdr_shnum, LJT_S_COUNT + 1}}, CUT, CUT, ""},
  {"sections wrap", {{EHDR, 0, &ljt_ehdr_shoff, WRAPS}}, MAL, CUT, ""},
  {"sections 65535", {{EHDR, 0, &ljt_ehdr_shnum, 0xffff}}, CUT, CUT, ""},
  {"sections 2^32-1",
   {{EHDR, 0, &ljt_ehdr_shnum, 0}, {SHDR, 0, &ljt_shdr_size, 0xffffffff}},
   LIM, LIM, ""},
  {"section size 0", {{EHDR, 0, &ljt_ehdr_shentsize, 0}}, MAL, MAL, ""},
  {"section size small", {{EHDR, 0, &ljt_ehdr_shentsize, 39}}, MAL, MAL, ""},
  {"segments past the end",
   {{EHDR, 0, &ljt_ehdr_phoff, PLUS_SIZE}}, CUT, CUT, ""},
  {"segments wrap", {{EHDR, 0, &ljt_ehdr_phoff, WRAPS}}, MAL, CUT, ""},
  {"segments 65534", {{EHDR, 0, &ljt_ehdr_phnum, 0xfffe}}, CUT, CUT, ""},
  {"segments 2^32-1",
   {{EHDR, 0, &ljt_ehdr_phnum, 0xffff},
    {SHDR, 0, &ljt_shdr_info, 0xffffffff}}, LIM, LIM, ""},
  {"segment size small", {{EHDR, 0, &ljt_ehdr_phentsize, 31}}, MAL, MAL, ""},
  {"segment wraps", {{PHDR, LJT_P_DATA, &ljt_phdr_memsz, UINT64_MAX}},
   MAL, OK, NULL},
  {"segment larger in the file",
   {{PHDR, LJT_P_DATA, &ljt_phdr_memsz, 8}}, MAL, MAL, ""},
  /* Tables (E6). */
  {"entry size 0", {{SHDR, LJT_S_SYMTAB, &ljt_shdr_entsize, 0}}, MAL, MAL, ""},
  {"entry size small",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_entsize, 15}}, MAL, MAL, ""},
  {"entry size huge",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_entsize, UINT64_MAX}}, OK, OK, dynamic},
  {"names' section 0", {{SHDR, LJT_S_SYMTAB, &ljt_shdr_link, 0}},
   MAL, MAL, ""},
  {"names' section past the last",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_link, LJT_S_COUNT}}, MAL, MAL, ""},
  {"names' section 2^32-1",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_link, 0xffffffff}}, MAL, MAL, ""},
  {"names' section itself",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_link, LJT_S_SYMTAB}}, MAL, MAL, ""},
  {"names' section is code",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_link, LJT_S_TEXT}}, MAL, MAL, ""},
  {"names without bytes",
   {{SHDR, LJT_S_STRTAB, &ljt_shdr_type, 8}}, MAL, MAL, ""},
  {"table without bytes",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_type, 8}}, OK, OK, dynamic},
  {"names compressed",
   {{SHDR, LJT_S_STRTAB, &ljt_shdr_flags, 0x800}}, UNS, UNS, ""},
  {"table compressed",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_flags, 0x800}}, UNS, UNS, ""},
  {"code called a table",
   {{SHDR, LJT_S_TEXT, &ljt_shdr_type, 2}}, MAL, MAL, ""},
  {"table past the end",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_offset, PLUS_SIZE + 1}}, CUT, CUT, ""},
  {"table wraps", {{SHDR, LJT_S_SYMTAB, &ljt_shdr_offset, WRAPS}},
   MAL, CUT, ""},
  {"table of 2^63 bytes",
   {{SHDR, LJT_S_SYMTAB, &ljt_shdr_size, (UINT64_C(1) << 63) - 1}},
   CUT, CUT, ""},
  {"names past the end",
   {{SHDR, LJT_S_STRTAB, &ljt_shdr_offset, PLUS_SIZE + 1}}, CUT, CUT, ""},
  {"names of 2^63 bytes",
   {{SHDR, LJT_S_STRTAB, &ljt_shdr_size, UINT64_C(1) << 63 | 0x80000000u}},
   CUT, CUT, ""},
  {"sections' numbers past the end",
   {{SYM, ASM_ONE, &ljt_sym_shndx, 0xffff},
    {SHDR, LJT_S_SHNDX, &ljt_shdr_offset, PLUS_SIZE + 1}}, MAL, MAL, ""},
  {"sections' numbers short",
   {{SYM, LAST, &ljt_sym_shndx, 0xffff},
    {SHDR, LJT_S_SHNDX, &ljt_shdr_size, 8}}, OK, OK, NULL},
  {"hash tables reach past the end",
   {LONG_SEGMENT, {DYN, LJT_D_HASH, &ljt_dyn_val, 0x10900},
    {DYN, LJT_D_GNU_HASH, &ljt_dyn_val, 0x10900}}, OK, OK, dynamic},
  {"dynamic table reaches past the end",
   {LONG_SEGMENT,
    {DYN, LJT_D_SYMTAB, &ljt_dyn_val, PLUS_SIZE + 0x10000 - 8}}, MAL, MAL, ""},
  /* Names and values (E7). */
  {"names none", {{SHDR, LJT_S_STRTAB, &ljt_shdr_size, 0}}, OK, OK, dynamic},
  {"names without an end", {{NAME_END, 0, NULL, 'x'}}, OK, OK,
   "alpha beta beta_alias a_local asm_beta asm_one chosen"},
  {"name empty", {{SYM, ALPHA, &ljt_sym_name, sizeof("alpha")}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last"},
  {"name past the end", {{SYM, ALPHA, &ljt_sym_name, 100000}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last"},
  {"name 2^32-1", {{SYM, ALPHA, &ljt_sym_name, 0xffffffff}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last"},
  {"end wraps", {{SYM, ALPHA, &ljt_sym_value, WRAPS}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last"},
  {"end wraps by size", {{SYM, ALPHA, &ljt_sym_size, UINT64_MAX}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last"},
  {"ends at 2^64-1", {{SYM, ALPHA, &ljt_sym_value, ~UINT64_C(0) - 0x20}},
   OK, OK, "beta beta_alias a_local asm_beta asm_one chosen last alpha"},
  {"ends at 2^32", {{SYM, ALPHA, &ljt_sym_value, 0xffffffe0}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last alpha"},
  {"value 2^63", {{SYM, ALPHA, &ljt_sym_value,
                   UINT64_C(1) << 63 | 0x80000000u}}, OK, OK,
   "beta beta_alias a_local asm_beta asm_one chosen last alpha"},
  {"size 2^40", {{SYM, ALPHA, &ljt_sym_size, UINT64_C(1) << 40 | 0x20}},
   OK, OK, NULL},
  /* Kinds of files (E8). */
  {"relocatable", {{EHDR, 0, &ljt_ehdr_type, 1}}, UNS, UNS, ""},
  {"core", {{EHDR, 0, &ljt_ehdr_type, 4}}, UNS, UNS, ""},
  {"no kind", {{EHDR, 0, &ljt_ehdr_type, 0}}, UNS, UNS, ""},
  {"magic", {{BYTE, 0, NULL, 0x7e}}, MAL, MAL, ""},
  {"magic's end", {{BYTE, 3, NULL, 'f'}}, MAL, MAL, ""},
  {"archive", {{BYTE, 0, NULL, '!'}, {BYTE, 1, NULL, '<'},
               {BYTE, 2, NULL, 'a'}, {BYTE, 3, NULL, 'r'}}, MAL, MAL, ""},
  {"class 0", {{BYTE, 4, NULL, 0}}, MAL, MAL, ""},
  {"class 3", {{BYTE, 4, NULL, 3}}, MAL, MAL, ""},
  {"order 0", {{BYTE, 5, NULL, 0}}, MAL, MAL, ""},
  {"order 3", {{BYTE, 5, NULL, 3}}, MAL, MAL, ""},
  {"version 0", {{BYTE, 6, NULL, 0}}, MAL, MAL, ""},
  {"version 2", {{BYTE, 6, NULL, 2}}, MAL, MAL, ""},
  {"version 2 again", {{EHDR, 0, &ljt_ehdr_version, 2}}, MAL, MAL, ""}
};

static void one_field(void)
{
  static ljt_elf b;
  size_t i, k;
  int variant;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    for (variant = 0; variant < 4; variant++) {
      const row *r = &rows[i];
      ljt_heap heap;
      ljm_image img;
      ljm_status status;
      memset(&heap, 0, sizeof(heap));
      ljt.row = r->name;
      make(&b, variant);
      for (k = 0; k < EDITS; k++) apply(&b, &r->edits[k]);
      status = check_open(b.data, b.size, NULL, &img, &heap);
      if (!LJT_EQ(status, b.is64 ? r->want64 : r->want32))
        printf("  class %d, order %d\n", b.is64, b.big);
      if (status == LJM_OK)
        LJT_STR(ljt_image_names(&img), r->names ? r->names : all);
      check_free(&img, &heap);
    }
  }
  ljt.row = NULL;
}

/* Where a failure is said to be. */
static void failure_offsets(void)
{
  static ljt_elf b;
  static const struct {
    const char *name;
    edit e;
    uint64_t want; /* SHDR: of the symbol table's header is added. */
    int in_shdr;
  } at[] = {
    {"magic", {BYTE, 0, NULL, 0}, 0, 0},
    {"class", {BYTE, 4, NULL, 9}, 4, 0},
    {"order", {BYTE, 5, NULL, 9}, 5, 0},
    {"version", {BYTE, 6, NULL, 9}, 6, 0},
    {"kind", {EHDR, 0, &ljt_ehdr_type, 1}, 16, 0},
    {"entry size", {SHDR, LJT_S_SYMTAB, &ljt_shdr_entsize, 1}, 0, 1},
    {"names' section", {SHDR, LJT_S_SYMTAB, &ljt_shdr_link, LJT_S_TEXT}, 0, 1},
    {"table", {SHDR, LJT_S_SYMTAB, &ljt_shdr_offset, 0x7fff0000}, 0x7fff0000,
     0}
  };
  size_t i;
  for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
    ljm_image img;
    ljt.row = at[i].name;
    make(&b, 1);
    apply(&b, &at[i].e);
    LJT_OK(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL) != LJM_OK);
    LJT_EQ(img.error.offset, at[i].want +
           (at[i].in_shdr ? ljt_shdr(&b, LJT_S_SYMTAB) : 0));
    ljm_image_free(&img);
  }
  ljt.row = NULL;
}

/* -- forms of tables ---------------------------------------------------- */

/* A copy of .symtab at an odd place, its entries `stride` bytes apart. */
static void move_symtab(ljt_elf *b, size_t stride)
{
  size_t i, from = b->off[LJT_S_SYMTAB], to = b->size | 1;
  size_t n = SYM_COUNT + 1, unit = ljt_sym_struct(b);
  memset(b->data + b->size, 0xee, sizeof(b->data) - b->size);
  for (i = 0; i < n; i++)
    memcpy(b->data + to + i * stride, b->data + from + i * unit, unit);
  b->size = to + n * stride;
  ljt_set(b, ljt_shdr(b, LJT_S_SYMTAB), &ljt_shdr_offset, to);
  ljt_set(b, ljt_shdr(b, LJT_S_SYMTAB), &ljt_shdr_size, n * stride);
  ljt_set(b, ljt_shdr(b, LJT_S_SYMTAB), &ljt_shdr_entsize, stride);
}

static void odd_tables(void)
{
  static ljt_elf b;
  static const size_t strides[] = {24, 25, 31, 100};
  size_t i;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    for (i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
      ljm_image img;
      make(&b, variant);
      move_symtab(&b, strides[i]);
      LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
      LJT_STR(ljt_image_names(&img), all);
      ljm_image_free(&img);
    }
  }
}

static void section_numbers(void)
{
  static ljt_elf b;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    ljm_image img;
    make(&b, variant);
    ljt_set(&b, ljt_sym(&b, LJT_S_SYMTAB, ASM_ONE), &ljt_sym_shndx, 0xffff);
    ljt_store(b.data + b.off[LJT_S_SHNDX] + 4 * ASM_ONE, 4, b.big, T);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), all);
    ljm_image_free(&img);
    /* The numbers end just before it. */
    ljt_set(&b, ljt_shdr(&b, LJT_S_SHNDX), &ljt_shdr_size, 4 * ASM_ONE);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img),
            "alpha beta beta_alias a_local asm_beta chosen last");
    ljm_image_free(&img);
    ljt_set(&b, ljt_shdr(&b, LJT_S_SHNDX), &ljt_shdr_size, 4 * (LAST + 1));
    /* One that is there, and not for this table, says nothing. */
    ljt_set(&b, ljt_shdr(&b, LJT_S_SHNDX), &ljt_shdr_link, LJT_S_DYNSYM);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img),
            "alpha beta beta_alias a_local asm_beta chosen last");
    ljm_image_free(&img);
  }
}

/* Numbers from 0xff00 on are reserved in a symbol, though so many sections
** are there; the table beside may name them. */
static void reserved_numbers(void)
{
  static const struct {
    uint32_t shndx, beside, code; /* `code` is the section that is code. */
    int kept;
  } rows_of[] = {
    {0xfeff, 0, 0xfeff, 1}, {0xff00, 0, 0xff00, 0}, {0xff3f, 0, 0xff3f, 0},
    {0xffff, 0xff00, 0xff00, 1}, {0xffff, 0xff40, 0xff40, 1},
    {0xffff, 0xff41, 0xff40, 0}, /* None has that number. */
  };
  static ljt_elf b;
  size_t i, n = 0xff41, at, size;
  unsigned char *data;
  make(&b, 1);
  ljt_set(&b, 0, &ljt_ehdr_shnum, 0);
  ljt_set(&b, ljt_shdr(&b, 0), &ljt_shdr_size, n);
  at = (b.size + 7) & ~(size_t)7;
  ljt_set(&b, 0, &ljt_ehdr_shoff, at);
  size = at + n * 64;
  data = (unsigned char *)calloc(1, size);
  for (i = 0; i < sizeof(rows_of) / sizeof(rows_of[0]); i++) {
    ljm_image img;
    ljt_set(&b, ljt_sym(&b, LJT_S_SYMTAB, ASM_ONE), &ljt_sym_shndx,
            rows_of[i].shndx);
    ljt_store(b.data + b.off[LJT_S_SHNDX] + 4 * ASM_ONE, 4, b.big,
              rows_of[i].beside);
    memset(data + at, 0, n * 64);
    memcpy(data, b.data, b.size);
    memcpy(data + at, b.data + b.shdr_off, LJT_S_COUNT * 64);
    memcpy(data + at + 64 * (size_t)rows_of[i].code,
           b.data + ljt_shdr(&b, LJT_S_TEXT), 64);
    LJT_EQ(ljm_image_open_memory(&img, data, size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), rows_of[i].kept ? all :
            "alpha beta beta_alias a_local asm_beta chosen last");
    ljm_image_free(&img);
  }
  free(data);
}

/* What is a part of a file, and why what is not is none. */
static void regions(void)
{
  static const struct {
    uint64_t off, len, size;
    ljm_status want;
  } rows_of[] = {
    {0, 0, 0, OK}, {8, 0, 8, OK}, {9, 0, 8, CUT}, {4, 4, 8, OK},
    {4, 5, 8, CUT}, {UINT64_MAX, 0, 8, CUT}, {8, UINT64_MAX - 8, 8, CUT},
    {8, UINT64_MAX - 7, 8, MAL}, {UINT64_MAX, 1, 8, MAL},
    {1, UINT64_MAX - 1, UINT64_MAX, OK}, {UINT64_MAX, 0, UINT64_MAX, OK},
  };
  size_t i;
  for (i = 0; i < sizeof(rows_of) / sizeof(rows_of[0]); i++)
    LJT_EQ(ljmi_region(rows_of[i].off, rows_of[i].len, rows_of[i].size),
           rows_of[i].want);
}

/* Number 0 is no section, whatever its header says. */
static void section_zero(void)
{
  static ljt_elf b;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    ljm_image img;
    make(&b, variant);
    memcpy(b.data + ljt_shdr(&b, 0), b.data + ljt_shdr(&b, LJT_S_SYMTAB),
           ljt_shdr(&b, 1) - ljt_shdr(&b, 0));
    ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_type, 1);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), dynamic);
    ljm_image_free(&img);
    /* Their number may stand there only if it is as large as one. */
    make(&b, variant);
    ljt_set(&b, 0, &ljt_ehdr_shnum, 0);
    ljt_set(&b, ljt_shdr(&b, 0), &ljt_shdr_size, LJT_S_COUNT);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), all);
    ljm_image_free(&img);
    ljt_set(&b, 0, &ljt_ehdr_shentsize, ljt_shdr(&b, 1) - ljt_shdr(&b, 0) - 1);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), dynamic);
    ljm_image_free(&img);
  }
}

/* More segments than fit at first; the build-id is looked for in 16. */
static void many_segments(void)
{
  static ljt_elf b;
  unsigned extra, i;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    for (extra = 0; extra < 30; extra++) {
      ljm_image img;
      ljm_build_id id;
      size_t from, one;
      make(&b, variant);
      from = b.phdr_off;
      one = ljt_phdr(&b, 1) - from;
      b.size = (b.size + 7) & ~(size_t)7;
      b.phdr_off = b.size;
      b.size += (LJT_P_COUNT + extra) * one;
      memcpy(b.data + b.phdr_off, b.data + from, LJT_P_NOTE * one);
      memcpy(b.data + ljt_phdr(&b, LJT_P_NOTE + extra),
             b.data + from + LJT_P_NOTE * one, one);
      for (i = 0; i < extra; i++) /* Empty notes before. */
        ljt_set_phdr(&b, LJT_P_NOTE + i, 4, 4, 64, 64);
      ljt_set(&b, 0, &ljt_ehdr_phoff, b.phdr_off);
      ljt_set(&b, 0, &ljt_ehdr_phnum, LJT_P_COUNT + extra);
      LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
      LJT_STR(ljt_image_names(&img), all);
      id = img.build_id;
      LJT_EQ(id.size, extra < 15 ? 20 : 0);
      ljm_image_free(&img);
    }
  }
}

/* More symbol tables than are looked at. */
static void many_tables(void)
{
  static ljt_elf b;
  unsigned extra, i;
  for (extra = 0; extra < 6; extra++) {
    ljm_image img;
    size_t from;
    make(&b, 1);
    from = b.shdr_off;
    b.size = (b.size + 7) & ~(size_t)7;
    b.shdr_off = b.size;
    b.size = ljt_shdr(&b, LJT_S_COUNT + extra);
    memcpy(b.data + b.shdr_off, b.data + from, LJT_S_COUNT * 64);
    for (i = 0; i < extra; i++)
      memcpy(b.data + ljt_shdr(&b, LJT_S_COUNT + i),
             b.data + ljt_shdr(&b, i % 2 ? LJT_S_SYMTAB : LJT_S_DYNSYM), 64);
    ljt_set(&b, 0, &ljt_ehdr_shoff, b.shdr_off);
    ljt_set(&b, 0, &ljt_ehdr_shnum, LJT_S_COUNT + extra);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), all);
    ljm_image_free(&img);
  }
}

/* Functions of the fourth table are found behind empty ones, those of the
** fifth are not looked for. */
static void fifth_table(void)
{
  static ljt_elf b;
  unsigned empty, i;
  for (empty = 3; empty <= 4; empty++) {
    ljm_image img;
    size_t from, full;
    make(&b, 1);
    from = b.shdr_off;
    b.size = (b.size + 7) & ~(size_t)7;
    b.shdr_off = b.size;
    b.size = ljt_shdr(&b, LJT_S_COUNT + 5);
    memcpy(b.data + b.shdr_off, b.data + from, LJT_S_COUNT * 64);
    full = ljt_shdr(&b, LJT_S_DYNSYM);
    for (i = 0; i < 5; i++)
      memcpy(b.data + ljt_shdr(&b, LJT_S_COUNT + i), b.data + full, 64);
    for (i = 0; i < empty; i++)
      ljt_set(&b, ljt_shdr(&b, LJT_S_COUNT + i), &ljt_shdr_size, 24);
    ljt_set(&b, full, &ljt_shdr_type, 1);
    ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_type, 1);
    ljt_set(&b, 0, &ljt_ehdr_shoff, b.shdr_off);
    ljt_set(&b, 0, &ljt_ehdr_shnum, LJT_S_COUNT + empty + 1);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), empty == 3 ? dynamic : "");
    ljm_image_free(&img);
  }
}

/* Of a segment of notes the first 4096 bytes are read. */
static void long_notes(void)
{
  static const struct { size_t size, id; } sizes[] = {
    {4095, 0}, {4096, 20}, {4097, 20}
  };
  static ljt_elf b;
  size_t i, at;
  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    ljm_image img;
    make(&b, 0);
    at = sizeof(b.data) - 4100;
    if (b.size > at) abort();
    ljt_store(b.data + at + 4, 4, b.big, 4048); /* Skipped. */
    ljt_store(b.data + at + 8, 4, b.big, 1);
    memcpy(b.data + at + 4060, b.data + b.off[LJT_S_NOTE], 36);
    ljt_set_phdr(&b, LJT_P_NOTE, 4, 4, at, at + sizes[i].size);
    b.size = sizeof(b.data);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_EQ(img.build_id.size, sizes[i].id);
    ljm_image_free(&img);
  }
}

/* A segment may end at the last address; each byte of a header is hashed. */
static void segment_ends(void)
{
  ljm_memory m;
  ljmi_elf e;
  ljmi_seg s;
  LJT_EQ(ljmi_memory_init(&m, NULL, 1 << 20), LJM_OK);
  memset(&e, 0, sizeof(e));
  memset(&s, 0, sizeof(s));
  e.mem = &m;
  s.type = LJMI_PT_LOAD;
  s.vaddr = 1;
  s.mem_size = UINT64_MAX;
  LJT_EQ(ljmi_elf_add_seg(&e, &s), LJM_E_MALFORMED);
  s.mem_size = UINT64_MAX - 1;
  LJT_EQ(ljmi_elf_add_seg(&e, &s), LJM_OK);
  s.file_size = s.mem_size + 1;
  LJT_EQ(ljmi_elf_add_seg(&e, &s), LJM_E_MALFORMED);
  s.file_size = s.mem_size;
  LJT_EQ(ljmi_elf_add_seg(&e, &s), LJM_OK);
  LJT_EQ(e.load_count, 2);
  ljmi_free_array(&m, e.segs, e.segs_cap, sizeof(*e.segs));
  LJT_OK(ljmi_hash_word(1, UINT64_C(1) << 56) != ljmi_hash_word(1, 0));
  LJT_OK(ljmi_hash_word(1, 1) != ljmi_hash_word(1, 0));
}

/* Notes: names and contents are filled up to 4 bytes, or to 8. Sizes and
** kinds are the first words; the build-id that is found has `want` bytes. */
static void notes(void)
{
  static const struct {
    const char *name;
    uint32_t words[24];
    size_t size;
    unsigned align;
    size_t want;
  } note[] = {
    {"one", {4, 4, 3, 0x554e47, 1}, 20, 4, 4},
    {"cut", {4, 4, 3, 0x554e47, 1}, 19, 4, 0},
    {"no content", {4, 0, 3, 0x554e47}, 16, 4, 0},
    {"header only", {0, 0, 3}, 12, 4, 0},
    {"header cut", {0, 0, 3}, 11, 4, 0},
    {"second", {4, 8, 5, 0x554e47, 1, 2, 4, 4, 3, 0x554e47, 3}, 44, 4, 4},
    {"second, 5 bytes before",
     {4, 5, 5, 0x554e47, 1, 2, 4, 4, 3, 0x554e47, 3}, 44, 4, 4},
    {"filled up to 8", {4, 4, 5, 0x554e47, 1, 0, 4, 4, 3, 0x554e47, 3}, 44, 8,
     4},
    {"filled up to 4, not 8",
     {4, 4, 5, 0x554e47, 1, 4, 4, 3, 0x554e47, 3}, 40, 4, 4},
    {"63 bytes", {4, 63, 3, 0x554e47, 1}, 80, 4, 63},
    {"64 bytes", {4, 64, 3, 0x554e47, 1}, 80, 4, 64},
    {"65 bytes, cut to 64", {4, 65, 3, 0x554e47, 1}, 84, 4, 64},
    {"none, then one", {4, 0, 3, 0x554e47, 4, 4, 3, 0x554e47, 1}, 36, 4, 4},
    {"another name", {4, 4, 3, 0x554e48, 1}, 20, 4, 0},
    {"longer name", {5, 4, 3, 0x554e47, 0, 1}, 24, 4, 0},
    {"name 2^32-1", {0xffffffff, 4, 3, 0x554e47, 1}, 20, 4, 0},
    {"content 2^32-1", {4, 0xffffffff, 3, 0x554e47, 1}, 20, 4, 0},
    {"skipped 2^32-1", {4, 0xffffffff, 5, 0x554e47, 1}, 20, 4, 0}
  };
  size_t i, k;
  int big;
  for (i = 0; i < sizeof(note) / sizeof(note[0]); i++) {
    for (big = 0; big < 2; big++) {
      unsigned char *exact = (unsigned char *)malloc(note[i].size), w[96];
      ljm_build_id id;
      ljmi_elf e;
      memset(&e, 0, sizeof(e));
      memset(&id, 0, sizeof(id));
      e.big = big;
      for (k = 0; k < 24; k++)
        ljt_store(w + 4 * k, 4, note[i].words[k] == 0x554e47 ? 0 : big,
                  note[i].words[k]);
      memcpy(exact, w, note[i].size);
      ljt.row = note[i].name;
      LJT_EQ(ljmi_notes_build_id(&e, exact, note[i].size, note[i].align, &id),
             note[i].want != 0);
      LJT_EQ(id.size, note[i].want);
      free(exact);
    }
  }
  ljt.row = NULL;
}

static void thumb_bit(void)
{
  static ljt_elf b;
  static const ljt_elf_sym odd[] = {
    {"thumb", 0x11, 8, LJT_FUNC, LJT_GLOBAL, T},
    {"untyped", 0x31, 8, LJT_NOTYPE, LJT_GLOBAL, T}
  };
  static const unsigned machines[] = {40, 183};
  int i;
  for (i = 0; i < 2; i++) {
    ljm_image img;
    ljm_symbol sym;
    make(&b, 0);
    b.machine = machines[i];
    b.syms = odd;
    b.sym_count = 2;
    ljt_elf_build(&b);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_EQ(ljm_image_symbol(&img, 0, &sym), LJM_OK);
    LJT_EQ(sym.vaddr, b.base + b.text_off + (i == 0 ? 0x10 : 0x11));
    LJT_EQ(ljm_image_symbol(&img, 1, &sym), LJM_OK);
    LJT_EQ(sym.vaddr, b.base + b.text_off + 0x31);
    ljm_image_free(&img);
  }
}

/* Names that are mapping symbols, and some that look like it. */
static void mapping_symbols(void)
{
  static const struct { const char *name; unsigned type; int kept; } m[] = {
    {"$a", 0, 0}, {"$d", 0, 0}, {"$t", 0, 0}, {"$x", 0, 0}, {"$d.12", 0, 0},
    {"$x.text", 0, 0}, {"$xrv64i2p1", 0, 0}, {"$", 0, 1}, {"$b", 0, 1},
    {"$dollar", 0, 1}, {"$xy", 0, 1}, {"$xrx", 0, 1}, {"$yrv", 0, 1},
    {"$$", 0, 1}, {"x$d", 0, 1}, {"$d", LJT_FUNC, 1}
  };
  static ljt_elf b;
  size_t i;
  for (i = 0; i < sizeof(m) / sizeof(m[0]); i++) {
    ljt_elf_sym one = {"", 0x20, 4, 0, LJT_LOCAL, T};
    ljm_image img;
    one.name = m[i].name;
    one.type = m[i].type;
    ljt.row = m[i].name;
    make(&b, 1);
    b.syms = &one;
    b.sym_count = 1;
    b.dynsym_count = 0;
    ljt_elf_build(&b);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), m[i].kept ? m[i].name : "");
    ljm_image_free(&img);
  }
  ljt.row = NULL;
}

/* -- lookups (E4) ------------------------------------------------------- */

static void check_find(const ljm_image *img, uint64_t text, uint64_t at,
                       const char *want)
{
  ljm_symbol sym;
  char have[64];
  if (ljm_image_find(img, text + at, &sym) == LJM_OK)
    snprintf(have, sizeof(have), "%s+%x", sym.name,
             (unsigned)(text + at - sym.vaddr));
  else
    strcpy(have, "?");
  if (!LJT_STR(have, want)) printf("  at .text+%x\n", (unsigned)at);
}

static void lookups(void)
{
  static const struct { uint64_t at; const char *symtab, *dynsym; } find[] = {
    {0xf, "?", "?"}, {0x10, "alpha+0", "?"}, {0x2f, "alpha+1f", "?"},
    {0x30, "beta+0", "beta+0"}, {0x3f, "beta+f", "beta+f"},
    {0x40, "asm_beta+10", "?"}, {0x4f, "asm_beta+1f", "?"},
    {0x50, "asm_one+0", "?"}, {0x5f, "asm_one+f", "?"},
    {0x60, "chosen+0", "chosen+0"}, {0x67, "chosen+7", "chosen+7"},
    {0x68, "?", "?"}, {0x8f, "?", "?"}, {0x90, "last+0", "?"},
    {0x9f, "last+f", "?"}, {0xa0, "last+10", "zero+0"},
    {0xa1, "last+11", "?"}, {0xff, "last+6f", "?"}, {0x100, "?", "?"},
    {UINT64_MAX, "?", "?"}
  };
  static ljt_elf b;
  size_t i;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    ljm_image img;
    uint64_t text;
    make(&b, variant);
    text = b.base + b.text_off;
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_EQ(img.from, LJM_FROM_SYMTAB);
    for (i = 0; i < sizeof(find) / sizeof(find[0]); i++)
      check_find(&img, text, find[i].at, find[i].symtab);
    LJT_EQ(ljm_image_find(&img, 0, NULL), LJM_E_NOTFOUND);
    ljm_image_free(&img);
    ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_type, 1);
    LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
    LJT_EQ(img.from, LJM_FROM_DYNSYM);
    for (i = 0; i < sizeof(find) / sizeof(find[0]); i++)
      check_find(&img, text, find[i].at, find[i].dynsym);
    ljm_image_free(&img);
  }
}

/* Symbols inside others, ties of unlike sizes. */
static void nested(void)
{
  static const ljt_elf_sym in[] = {
    {"outer", 0, 0x80, LJT_FUNC, LJT_GLOBAL, T},
    {"inner", 0x20, 0x10, LJT_FUNC, LJT_GLOBAL, T},
    {"innermost", 0x28, 4, LJT_FUNC, LJT_LOCAL, T},
    {"tie_a", 0x90, 4, LJT_FUNC, LJT_GLOBAL, T},
    {"tie_b", 0x90, 0x20, LJT_FUNC, LJT_GLOBAL, T},
    {"tie_c", 0x90, 0x10, LJT_FUNC, LJT_GLOBAL, T},
    {"huge", 0xc0, UINT64_C(1) << 40, LJT_FUNC, LJT_GLOBAL, T}
  };
  static const struct { uint64_t at; const char *want; } find[] = {
    {0x1f, "outer+1f"}, {0x20, "inner+0"}, {0x28, "innermost+0"},
    {0x2b, "innermost+3"}, {0x2c, "inner+c"}, {0x2f, "inner+f"},
    {0x30, "outer+30"}, {0x7f, "outer+7f"}, {0x80, "?"}, {0x90, "tie_a+0"},
    {0x93, "tie_a+3"}, {0x94, "tie_b+4"}, {0xaf, "tie_b+1f"}, {0xb0, "?"},
    {0x7000000, "huge+6ffff40"}, {(UINT64_C(1) << 40) + 0xc0, "?"}
  };
  static ljt_elf b;
  ljm_symbol sym;
  ljm_image img;
  size_t i;
  make(&b, 1);
  b.syms = in;
  b.sym_count = sizeof(in) / sizeof(in[0]);
  ljt_elf_build(&b);
  LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
  for (i = 0; i < sizeof(find) / sizeof(find[0]); i++)
    check_find(&img, b.base + b.text_off, find[i].at, find[i].want);
  LJT_EQ(ljm_image_symbol(&img, 6, &sym), LJM_OK);
  LJT_EQ(sym.size, UINT64_C(1) << 40);
  LJT_STR(ljt_check_image(&img, 1), NULL);
  ljm_image_free(&img);
}

/* An image of `n` symbols of one name at multiples of 16, none of a size. */
static void make_image(ljm_image *img, ljm_memory *mem, size_t n)
{
  size_t i;
  LJT_EQ(ljmi_memory_init(mem, NULL, 1 << 20), LJM_OK);
  ljmi_image_init(img, mem);
  img->from = LJM_FROM_SYMTAB;
  img->names_size = img->names_cap = 3;
  img->names = (char *)ljmi_alloc_array(mem, 3, 1);
  memcpy(img->names, "\0x", 3);
  img->count = img->entry_cap = n;
  img->entries = (ljmi_entry *)ljmi_alloc_array(mem, n, sizeof(ljmi_entry));
  for (i = 0; i < n; i++) {
    img->entries[i].vaddr = 16 * i;
    img->entries[i].size = 0;
    img->entries[i].name = 1;
  }
}

/* Some symbols reach over many others: groups of 64, and groups of those,
** that are full or have one more or less. */
static void nested_groups(void)
{
  static const size_t counts[] = {2, 3, 63, 64, 65, 128, 4095, 4096, 4097,
                                  8192};
  size_t i, k;
  for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    ljm_memory mem;
    ljm_image img;
    make_image(&img, &mem, counts[i]);
    for (k = 0; k < counts[i]; k++)
      img.entries[k].size = k % 100 == 0 ? 16 * 90 : 8;
    if (counts[i] > 1) img.entries[1].size = (uint32_t)(counts[i] * 8);
    LJT_EQ(ljmi_image_is_nested(&img), 1);
    LJT_EQ(ljmi_image_build_ends(&img), LJM_OK);
    LJT_STR(ljt_check_image(&img, 1 + counts[i] / 128), NULL);
    ljm_image_free(&img);
  }
}

/* Only symbols that reach over the next address, or too many at one, make a
** search of more than that address necessary. */
static void is_nested(void)
{
  static const struct {
    const char *name;
    size_t count, ties;
    uint32_t size;
    int want;
  } rows_of[] = {
    {"one", 1, 1, 100, 0}, {"side by side", 3, 1, 16, 0},
    {"one byte too long", 3, 1, 17, 1}, {"64 at one address", 64, 64, 16, 0},
    {"65 at one address", 65, 65, 16, 1}, {"64 of each", 192, 64, 16, 0},
    {"65 of each", 130, 65, 16, 1}, {"64, too long", 128, 64, 17, 1}
  };
  size_t i, k;
  for (i = 0; i < sizeof(rows_of) / sizeof(rows_of[0]); i++) {
    ljm_memory mem;
    ljm_image img;
    ljt.row = rows_of[i].name;
    make_image(&img, &mem, rows_of[i].count);
    for (k = 0; k < rows_of[i].count; k++) {
      img.entries[k].vaddr = k / rows_of[i].ties * 16;
      img.entries[k].size = rows_of[i].size;
    }
    LJT_EQ(ljmi_image_is_nested(&img), rows_of[i].want);
    ljm_image_free(&img);
  }
  ljt.row = NULL;
}

/* Symbols that nothing tells apart: sorting stays within them. */
static void twins(void)
{
  static const size_t counts[] = {2, 16, 17, 40, 200};
  size_t i, k;
  for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    ljm_memory mem;
    ljm_image img;
    make_image(&img, &mem, counts[i]);
    for (k = 0; k < counts[i]; k++) img.entries[k].vaddr = 7;
    ljmi_entry_sort(&img, img.entries, counts[i]);
    for (k = 0; k < counts[i]; k++) LJT_EQ(img.entries[k].vaddr, 7);
    ljm_image_free(&img);
  }
}

/* Code may end at the last address: so far its last symbol reaches. */
static void code_at_the_top(void)
{
  static ljt_elf b;
  ljm_image img;
  make(&b, 1);
  ljt_set(&b, ljt_shdr(&b, LJT_S_TEXT), &ljt_shdr_addr, UINT64_MAX - 0x100);
  ljt_set(&b, ljt_shdr(&b, LJT_S_TEXT), &ljt_shdr_size, 0x100);
  ljt_set(&b, ljt_sym(&b, LJT_S_SYMTAB, LAST), &ljt_sym_value,
          UINT64_MAX - 0x20);
  LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
  check_find(&img, UINT64_MAX, 0 - UINT64_C(0x20), "last+0");
  check_find(&img, UINT64_MAX, 0 - UINT64_C(1), "last+1f");
  check_find(&img, UINT64_MAX, 0, "?");
  ljm_image_free(&img);
}

/* Several of unknown size at one address all reach to the next one. */
static void unsized_ties(void)
{
  static const ljt_elf_sym in[] = {
    {"tie_b", 0x10, 0, LJT_FUNC, LJT_GLOBAL, T},
    {"tie_a", 0x10, 0, LJT_FUNC, LJT_GLOBAL, T},
    {"next", 0x20, 0, LJT_FUNC, LJT_GLOBAL, T}
  };
  static ljt_elf b;
  ljm_image img;
  make(&b, 1);
  b.syms = in;
  b.sym_count = 3;
  ljt_elf_build(&b);
  LJT_EQ(ljm_image_open_memory(&img, b.data, b.size, NULL, NULL), LJM_OK);
  check_find(&img, b.base + b.text_off, 0x10, "tie_a+0");
  check_find(&img, b.base + b.text_off, 0x1f, "tie_a+f");
  check_find(&img, b.base + b.text_off, 0x20, "next+0");
  ljm_image_free(&img);
}

/* -- readers (E9), limits, memory --------------------------------------- */

typedef struct slow_reader {
  const unsigned char *data;
  size_t size, most; /* Bytes given at a time. */
  uint64_t stop;     /* From here on: `answer`. */
  ptrdiff_t answer;
} slow_reader;

static ptrdiff_t slow_read(void *user, uint64_t off, void *data, size_t size)
{
  const slow_reader *r = (const slow_reader *)user;
  uint64_t stop = r->stop < r->size ? r->stop : r->size;
  if (off >= stop) return r->answer;
  if (size > r->most) size = r->most;
  if (size > stop - off) size = (size_t)(stop - off);
  memcpy(data, r->data + off, size);
  return (ptrdiff_t)size;
}

static void short_reads(void)
{
  static ljt_elf b;
  slow_reader s;
  ljm_reader reader;
  ljm_image img;
  size_t n;
  make(&b, 1);
  s.data = b.data;
  s.size = b.size;
  reader.read = slow_read;
  reader.user = &s;
  reader.size = b.size;
  s.stop = UINT64_MAX;
  s.answer = 0;
  for (n = 1; n < 70; n++) {
    s.most = n;
    LJT_EQ(ljm_image_open(&img, &reader, NULL, NULL), LJM_OK);
    LJT_STR(ljt_image_names(&img), all);
    ljm_image_free(&img);
  }
  /* The end comes early, at each offset, though the size promises more. */
  for (n = 0; n < b.size; n += 1 + (size_t)(ljt.stride - 1)) {
    ljm_status status;
    s.stop = n;
    s.most = 7;
    s.answer = 0;
    status = ljm_image_open(&img, &reader, NULL, NULL);
    LJT_OK(status == LJM_E_TRUNCATED ||
           (status == LJM_OK && strcmp(ljt_image_names(&img), all) == 0));
    ljm_image_free(&img);
    s.answer = -EIO;
    status = ljm_image_open(&img, &reader, NULL, NULL);
    LJT_OK(status == LJM_OK ||
           (status == LJM_E_IO && img.error.sys_errno == EIO));
    ljm_image_free(&img);
  }
  s.stop = 16;
  s.answer = 1000; /* More than was asked for. */
  LJT_EQ(ljm_image_open(&img, &reader, NULL, NULL), LJM_E_IO);
  LJT_EQ(ljm_image_open(&img, NULL, NULL, NULL), LJM_E_ARG);
}

static void limits(void)
{
  static ljt_elf b;
  struct { const char *name; uint64_t *limit, need; } of[4];
  ljm_elf_limits l;
  size_t i;
  int more;
  make(&b, 1);
  of[0].name = "file";
  of[0].limit = &l.file_size;
  of[0].need = b.size;
  of[1].name = "sections";
  of[1].limit = &l.section_count;
  of[1].need = LJT_S_COUNT;
  of[2].name = "segments";
  of[2].limit = &l.segment_count;
  of[2].need = LJT_P_COUNT;
  of[3].name = "symbols";
  of[3].limit = &l.symbol_count;
  of[3].need = SYM_COUNT + 1;
  for (i = 0; i < 4; i++) {
    for (more = -1; more <= 1; more++) {
      ljt_heap heap;
      ljm_image img;
      ljt.row = of[i].name;
      memset(&heap, 0, sizeof(heap));
      memset(&l, 0, sizeof(l));
      *of[i].limit = of[i].need + (uint64_t)(int64_t)more;
      LJT_EQ(check_open(b.data, b.size, &l, &img, &heap),
             more < 0 ? LJM_E_LIMIT : LJM_OK);
      check_free(&img, &heap);
    }
  }
  ljt.row = NULL;
}

/* A reader whose call `at` fails; past the data there are zeros. */
typedef struct failing_reader {
  const ljt_elf *b;
  uint64_t calls, at;
  ptrdiff_t answer;
} failing_reader;

static ptrdiff_t failing_read(void *user, uint64_t off, void *data,
                              size_t size)
{
  failing_reader *f = (failing_reader *)user;
  if (++f->calls == f->at) return f->answer;
  memset(data, 0, size);
  if (off < f->b->size)
    memcpy(data, f->b->data + off,
           size < f->b->size - off ? size : (size_t)(f->b->size - off));
  return (ptrdiff_t)size;
}

/* Files that lead to every part: section numbers beside the table, counts in
** section 0, symbols by way of the dynamic segment. */
static void make_kind(ljt_elf *b, int variant, int kind)
{
  make(b, variant);
  ljt_set(b, ljt_sym(b, LJT_S_SYMTAB, ASM_ONE), &ljt_sym_shndx, 0xffff);
  ljt_store(b->data + b->off[LJT_S_SHNDX] + 4 * ASM_ONE, 4, b->big, T);
  if (kind == 1) {
    ljt_set(b, 0, &ljt_ehdr_shnum, 0);
    ljt_set(b, ljt_shdr(b, 0), &ljt_shdr_size, LJT_S_COUNT);
  }
  if (kind < 2) return;
  ljt_set(b, 0, &ljt_ehdr_shoff, 0);
  ljt_set(b, ljt_dyn(b, kind == 2 ? LJT_D_HASH : LJT_D_GNU_HASH),
          &ljt_dyn_tag, 0x6ffffabc);
}

/* Each read fails in turn, or finds the end: nothing is half read. */
static void read_fails(void)
{
  static ljt_elf b;
  int i;
  for (i = 0; i < 4 * 4 * 2; i++) {
    int kind = i / 4 % 4, ends = i / 16;
    failing_reader f;
    ljm_reader reader;
    make_kind(&b, i % 4, kind);
    f.b = &b;
    f.answer = ends ? 0 : -EIO;
    reader.read = failing_read;
    reader.user = &f;
    reader.size = b.size;
    for (f.at = 1; ; f.at++) {
      ljm_image img;
      ljm_status status;
      f.calls = 0;
      status = ljm_image_open(&img, &reader, NULL, NULL);
      if (f.calls < f.at) {
        LJT_EQ(status, LJM_OK);
        LJT_STR(ljt_image_names(&img), kind < 2 ? all : dynamic);
        ljm_image_free(&img);
        break;
      }
      LJT_EQ(status, ends ? LJM_E_TRUNCATED : LJM_E_IO);
      LJT_EQ(img.error.sys_errno, ends ? 0 : EIO);
      LJT_EQ(img.count, 0);
      ljm_image_free(&img);
    }
    LJT_OK(f.at > 5);
  }
}

/* With limits of the caller's that allow anything, what cannot be is told. */
static void no_limits(void)
{
  static ljt_elf b;
  failing_reader f;
  ljm_reader reader;
  ljm_elf_limits l;
  ljm_image img;
  memset(&l, 0xff, sizeof(l));
  make(&b, 1);
  f.b = &b;
  f.at = f.calls = 0;
  reader.read = failing_read;
  reader.user = &f;
  reader.size = UINT64_MAX;
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_size, 0x10000001);
  LJT_EQ(ljm_image_open(&img, &reader, NULL, &l), LJM_E_LIMIT);
  LJT_EQ(img.error.offset, b.off[LJT_S_STRTAB]);
  ljm_image_free(&img);
  make(&b, 1);
  ljt_set(&b, 0, &ljt_ehdr_shnum, 0);
  ljt_set(&b, ljt_shdr(&b, 0), &ljt_shdr_size, UINT64_MAX / 8);
  LJT_EQ(ljm_image_open(&img, &reader, NULL, &l), LJM_E_MALFORMED);
  ljm_image_free(&img);
  /* As many as 2^64 - 1 bytes have room for: not from there on. */
  ljt_set(&b, ljt_shdr(&b, 0), &ljt_shdr_size, UINT64_MAX / 64);
  reader.size = UINT64_MAX / 2;
  LJT_EQ(ljm_image_open(&img, &reader, NULL, &l), LJM_E_MALFORMED);
  ljt_set(&b, 0, &ljt_ehdr_phnum, 0);
  ljt_set(&b, 0, &ljt_ehdr_shoff, 32); /* Over what were segments. */
  ljt_set(&b, 32, &ljt_shdr_size, UINT64_MAX / 64);
  LJT_EQ(ljm_image_open(&img, &reader, NULL, &l), LJM_E_TRUNCATED);
  ljm_image_free(&img);
}

/* Names of 2^28 bytes are more than an entry can tell apart; of one less they
** are read, here until the data ends. */
static void most_names(void)
{
  static ljt_elf b;
  slow_reader s;
  ljm_reader reader;
  ljm_elf_limits l;
  ljm_image img;
  memset(&l, 0xff, sizeof(l));
  make(&b, 1);
  s.data = b.data;
  s.size = s.most = b.size;
  s.stop = UINT64_MAX;
  s.answer = -EIO;
  reader.read = slow_read;
  reader.user = &s;
  reader.size = UINT64_MAX;
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_size, 0x10000000);
  LJT_EQ(ljm_image_open(&img, &reader, NULL, &l), LJM_E_LIMIT);
  ljm_image_free(&img);
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_size, 0x0fffffff);
  LJT_EQ(ljm_image_open(&img, &reader, NULL, &l), LJM_E_IO);
  ljm_image_free(&img);
}

static void *refuse(void *user, size_t size)
{
  (void)size;
  ++*(int *)user;
  return NULL;
}

static void *refuse_more(void *user, void *p, size_t old, size_t size)
{
  (void)p;
  (void)old;
  return refuse(user, size);
}

static void free_none(void *user, void *p, size_t size)
{
  (void)user;
  (void)p;
  (void)size;
}

/* The allocator is asked for what a size_t can count, and for no more. */
static void largest_arrays(void)
{
  static const size_t sizes[] = {1, 7, 8, 24};
  ljm_memory m;
  ljm_allocator a;
  int asked = 0;
  size_t i;
  a.alloc = refuse;
  a.realloc = refuse_more;
  a.free = free_none;
  a.user = &asked;
  LJT_EQ(ljmi_memory_init(&m, &a, UINT64_MAX), LJM_OK);
  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    size_t n = SIZE_MAX / sizes[i];
    LJT_OK(ljmi_alloc_array(&m, n, sizes[i]) == NULL);
    LJT_EQ(m.status, LJM_E_NOMEM);
    LJT_EQ(asked, i + 1);
    if (sizes[i] == 1) continue;
    LJT_OK(ljmi_alloc_array(&m, n + 1, sizes[i]) == NULL);
    LJT_EQ(m.status, LJM_E_LIMIT);
    LJT_EQ(asked, i + 1);
  }
}

/* An order of which each split by the median of three takes two: the work
** passes its bound, and heapsort ends it. */
static void bad_order(void)
{
  static ljmi_entry v[128];
  size_t n = sizeof(v) / sizeof(v[0]), i;
  memset(v, 0, sizeof(v));
  for (i = 0; i < n; i++) v[i].vaddr = n;
  for (i = 0; i < 18; i++) {
    v[2 * i].vaddr = 2 * i;
    v[n / 2 + i].vaddr = 2 * i + 1;
  }
  ljmi_entry_sort(NULL, v, n);
  for (i = 0; i < n; i++) LJT_EQ(v[i].vaddr, i < 36 ? i : n);
  for (i = 0; i < n; i++) v[i].vaddr = i * 37 % n;
  ljmi_heap_sort(NULL, v, n);
  for (i = 0; i < n; i++) LJT_EQ(v[i].vaddr, i);
}

/* Each budget below what is needed is a clean refusal; so is each failure of
** the allocator. One symbol is so large that its size stands elsewhere and
** all others lie in it. */
static void memory(void)
{
  static ljt_elf b;
  ljt_heap heap;
  ljm_image img;
  ljm_elf_limits l;
  ljm_status status;
  uint64_t peak, n;
  make(&b, 1);
  ljt_set(&b, ljt_sym(&b, LJT_S_SYMTAB, ALPHA), &ljt_sym_size,
          UINT64_C(1) << 33);
  memset(&l, 0, sizeof(l));
  memset(&heap, 0, sizeof(heap));
  LJT_EQ(check_open(b.data, b.size, &l, &img, &heap), LJM_OK);
  peak = heap.peak_size;
  check_free(&img, &heap);
  for (n = 1; n < peak; n += 1 + n / 16) {
    l.memory_size = n;
    LJT_EQ(check_open(b.data, b.size, &l, &img, &heap), LJM_E_LIMIT);
    check_free(&img, &heap);
  }
  l.memory_size = peak;
  LJT_EQ(check_open(b.data, b.size, &l, &img, &heap), LJM_OK);
  check_free(&img, &heap);
  for (n = 1; ; n++) {
    memset(&heap, 0, sizeof(heap));
    heap.fail_at = n;
    status = check_open(b.data, b.size, NULL, &img, &heap);
    check_free(&img, &heap);
    if (status == LJM_OK) break;
    LJT_EQ(status, LJM_E_NOMEM);
  }
  LJT_OK(n > 4);
}

/* Names that all end alike are many times their bytes: refused. */
static void shared_names(void)
{
  static unsigned char file[1 << 20];
  static ljt_elf b;
  size_t n = 30000, names = 1 << 18, i, at, symtab;
  ljm_image img;
  make(&b, 1);
  memcpy(file, b.data, b.size);
  symtab = (b.size + 7) & ~(size_t)7;
  at = symtab + n * 24;
  memset(file + at, 'n', names - 1);
  for (i = 1; i < n; i++) {
    unsigned char *p = file + symtab + i * 24;
    ljt_store(p, 4, 0, i);
    p[4] = LJT_FUNC;
    ljt_store(p + 6, 2, 0, T);
    ljt_store(p + 8, 8, 0, b.base + b.text_off);
  }
  ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_offset, symtab);
  ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_size, n * 24);
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_offset, at);
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_size, names);
  memcpy(file, b.data, b.size);
  LJT_EQ(ljm_image_open_memory(&img, file, at + names, NULL, NULL),
         LJM_E_LIMIT);
  ljm_image_free(&img);
  /* With a short table of names it is 30000 symbols at one address. */
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_offset,
          at + names - 32);
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_size, 32);
  memcpy(file, b.data, b.size);
  LJT_EQ(ljm_image_open_memory(&img, file, at + names, NULL, NULL), LJM_OK);
  LJT_EQ(img.count, 30);
  LJT_EQ(img.skipped, n - 32);
  ljm_image_free(&img);
}

/* Names of 262144 bytes may add up to 5242880 with their ends, no more. */
static void longest_names(void)
{
  static unsigned char file[1 << 19];
  static ljt_elf b;
  size_t names = 1 << 18, n = 22, i, at, symtab, last;
  make(&b, 1);
  symtab = (b.size + 7) & ~(size_t)7;
  at = symtab + n * 24;
  ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_offset, symtab);
  ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_size, n * 24);
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_offset, at);
  ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_size, names);
  memcpy(file, b.data, b.size);
  memset(file + at, 'n', names - 1);
  for (last = 20; last <= 21; last++) { /* 20 names of 262143, and this. */
    ljm_image img;
    for (i = 1; i < n; i++) {
      unsigned char *p = file + symtab + i * 24;
      ljt_store(p, 4, 0, i + 1 < n ? 1 : names - last);
      p[4] = LJT_FUNC;
      ljt_store(p + 6, 2, 0, T);
      ljt_store(p + 8, 8, 0, b.base + b.text_off + i);
    }
    LJT_EQ(ljm_image_open_memory(&img, file, at + names, NULL, NULL),
           last == 20 ? LJM_OK : LJM_E_LIMIT);
    LJT_EQ(img.count, last == 20 ? 21 : 0);
    ljm_image_free(&img);
  }
}

/* -- sweeps ------------------------------------------------------------- */

static void prefixes(void)
{
  static ljt_elf b;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    size_t n;
    make(&b, variant);
    for (n = 0; n < b.size; n++) {
      ljt_heap heap;
      ljm_image img;
      ljm_status status;
      memset(&heap, 0, sizeof(heap));
      status = check_open(b.data, n, NULL, &img, &heap);
      /* The section headers come last: nothing is whole without them. */
      LJT_EQ(status, LJM_E_TRUNCATED);
      check_free(&img, &heap);
    }
  }
}

static void bytes(void)
{
  static ljt_elf b;
  static const int steps[] = {1, -1, 0, 255};
  int variant;
  for (variant = 0; variant < 4; variant++) {
    uint64_t n;
    make(&b, variant);
    for (n = 0; n < b.size * 12; n += ljt.stride) {
      unsigned char *p = b.data + n / 12, old = *p;
      unsigned k = (unsigned)(n % 12);
      ljt_heap heap;
      ljm_image img;
      memset(&heap, 0, sizeof(heap));
      if (k < 8) *p = (unsigned char)(old ^ (1u << k));
      else if (k < 10) *p = (unsigned char)(old + steps[k - 8]);
      else *p = (unsigned char)steps[k - 8];
      (void)check_open(b.data, b.size, NULL, &img, &heap);
      LJT_OK(heap.peak_size < 128 * 1024);
      check_free(&img, &heap);
      *p = old;
    }
  }
}

/* Random symbols against the linear search: many ties, all kinds of sizes. */
static void random_tables(void)
{
  static unsigned char file[1 << 18];
  static ljt_elf b;
  ljt_rng rng = ljt_rng_make(ljt.seed);
  size_t round, i, n, symtab, names;
  for (round = 0; round < 60; round++) {
    ljt_heap heap;
    ljm_image img;
    uint64_t span = UINT64_C(1) << (1 + ljt_below(&rng, 40));
    uint64_t most = UINT64_C(1) << ljt_below(&rng, 42);
    memset(&heap, 0, sizeof(heap));
    make(&b, 1);
    n = 1 + (size_t)ljt_below(&rng, round % 4 == 0 ? 6000 : 300);
    symtab = (b.size + 7) & ~(size_t)7;
    names = symtab + n * 24;
    for (i = 0; i < n; i++) {
      unsigned char *p = file + symtab + i * 24;
      memset(p, 0, 24);
      ljt_store(p, 4, 0, 1 + ljt_below(&rng, 50));
      p[4] = (unsigned char)(ljt_below(&rng, 2) << 4 |
                             (ljt_below(&rng, 3) ? LJT_FUNC : LJT_NOTYPE));
      ljt_store(p + 6, 2, 0, T);
      ljt_store(p + 8, 8, 0, b.base + b.text_off + ljt_below(&rng, span));
      ljt_store(p + 16, 8, 0,
                ljt_below(&rng, 4) ? ljt_below(&rng, most) : 0);
    }
    for (i = 0; i < 64; i++)
      file[names + i] =
        (unsigned char)(i % 9 == 8 || i == 63 ? 0 : 'a' + i % 26);
    ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_offset, symtab);
    ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_size, n * 24);
    ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_offset, names);
    ljt_set(&b, ljt_shdr(&b, LJT_S_STRTAB), &ljt_shdr_size, 64);
    memcpy(file, b.data, b.size);
    LJT_EQ(ljm_image_open_memory(&img, file, names + 64, NULL, NULL), LJM_OK);
    LJT_STR(ljt_check_image(&img, 1 + img.count / 400), NULL);
    ljm_image_free(&img);
  }
}

/* -- paths -------------------------------------------------------------- */

static void paths(void)
{
  static const struct { const char *path; ljm_status want; } p[] = {
    {".", LJM_E_UNSUPPORTED}, {"/dev/zero", LJM_E_UNSUPPORTED},
    {"/dev/null", LJM_E_UNSUPPORTED}, {"/no/such/file", LJM_E_IO},
    {"", LJM_E_IO}, {"/etc/passwd", LJM_E_MALFORMED}
  };
  char name[] = "test_elf_XXXXXX", fifo[64];
  static ljt_elf b;
  ljm_image img;
  size_t i;
  int fd;
  for (i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
    ljt.row = p[i].path;
    errno = 77;
    LJT_EQ(ljm_image_open_path(&img, p[i].path, NULL, NULL), p[i].want);
    LJT_EQ(errno, 77);
    ljm_image_free(&img);
  }
  ljt.row = NULL;
  LJT_EQ(ljm_image_open_path(&img, NULL, NULL, NULL), LJM_E_ARG);
  LJT_EQ(ljm_image_open_path(&img, "/no/such/file", NULL, NULL), LJM_E_IO);
  LJT_EQ(img.error.sys_errno, ENOENT);
  fd = mkstemp(name);
  LJT_OK(fd >= 0);
  make(&b, 1);
  LJT_EQ(write(fd, b.data, b.size), b.size);
  close(fd);
  LJT_EQ(ljm_image_open_path(&img, name, NULL, NULL), LJM_OK);
  LJT_STR(ljt_image_names(&img), all);
  LJT_EQ(img.build_id.size, 20);
  LJT_EQ(img.build_id.data[0], 0xa0);
  ljm_image_free(&img);
  unlink(name);
  snprintf(fifo, sizeof(fifo), "%s.fifo", name);
  LJT_EQ(mkfifo(fifo, 0600), 0);
  LJT_EQ(ljm_image_open_path(&img, fifo, NULL, NULL), LJM_E_UNSUPPORTED);
  unlink(fifo);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(one_field);
  LJT_CASE(failure_offsets);
  LJT_CASE(odd_tables);
  LJT_CASE(section_numbers);
  LJT_CASE(reserved_numbers);
  LJT_CASE(regions);
  LJT_CASE(section_zero);
  LJT_CASE(many_segments);
  LJT_CASE(many_tables);
  LJT_CASE(fifth_table);
  LJT_CASE(notes);
  LJT_CASE(long_notes);
  LJT_CASE(segment_ends);
  LJT_CASE(thumb_bit);
  LJT_CASE(mapping_symbols);
  LJT_CASE(lookups);
  LJT_CASE(nested);
  LJT_CASE(nested_groups);
  LJT_CASE(is_nested);
  LJT_CASE(twins);
  LJT_CASE(code_at_the_top);
  LJT_CASE(unsized_ties);
  LJT_CASE(short_reads);
  LJT_CASE(read_fails);
  LJT_CASE(no_limits);
  LJT_CASE(most_names);
  LJT_CASE(largest_arrays);
  LJT_CASE(bad_order);
  LJT_CASE(limits);
  LJT_CASE(memory);
  LJT_CASE(shared_names);
  LJT_CASE(longest_names);
  LJT_CASE(random_tables);
  LJT_CASE(prefixes);
  LJT_CASE(bytes);
  LJT_CASE(paths);
  return ljt_end();
}
