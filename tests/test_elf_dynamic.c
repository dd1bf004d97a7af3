/*
** test_elf_dynamic - dynamic symbols of modules in memory: tables of good,
** rare and broken ones in both classes and byte orders, at several biases.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"
#include "ljtmem.h"
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

/* HASH and GNU: a word of the table; BUCKET and CHAIN: of .gnu.hash; TEXT: of
** the code. LEFT: moves a section, of which as much is left in its segment as
** the part given and `value` bytes. SYMS_END, VERS_END: address behind so many
** half symbols, or versions; MODULE_END: so many bytes before that end. */
typedef enum where {
  END, PHDR, DYN, DSYM, HASH, GNU, BUCKET, CHAIN, TEXT, HASH_LEFT, GNU_LEFT,
  SYMS_END, VERS_END, MODULE_END
} where;

/* Parts of .gnu.hash. */
enum { HEADER, FILTER, BUCKETS, WHOLE };

typedef struct edit {
  where what;
  unsigned idx;
  const ljt_field *field;
  uint64_t value;
} edit;

#define EDITS 6
/* A tag nobody knows. */
#define GONE 0x6ffffabc

typedef struct row {
  const char *name;
  edit edits[EDITS];
  ljm_status want;
  const char *names; /* NULL: all. */
} row;

/* Moves a section, so that `left` bytes of it are in the first segment. */
static void move(ljt_elf *b, ljt_section s, ljt_dynamic dyn, size_t left)
{
  size_t to = b->text_off - left;
  memmove(b->data + to, b->data + b->off[s], b->len[s]);
  b->off[s] = to;
  ljt_set(b, ljt_dyn(b, dyn), &ljt_dyn_val, b->base + to);
}

static size_t gnu_part(const ljt_elf *b, unsigned part)
{
  size_t filter = 16 + (b->is64 ? 8 : 4);
  switch (part) {
  case HEADER: return 16;
  case FILTER: return filter;
  case BUCKETS: return filter + 4 * b->gnu_buckets;
  default: return b->len[LJT_S_GNU_HASH];
  }
}

/* Moves the symbol table behind all else and drops the versions: nothing is
** known of its end but that its segment has room for `room` symbols. */
static void move_last(ljt_elf *b, size_t room)
{
  size_t unit = ljt_sym_struct(b), at = (b->size + 7) & ~(size_t)7, size;
  memcpy(b->data + at, b->data + b->off[LJT_S_DYNSYM], (COUNT + 1) * unit);
  b->off[LJT_S_DYNSYM] = at;
  b->size = at + room * unit;
  size = b->size - b->off[LJT_S_DYNAMIC];
  ljt_set(b, ljt_dyn(b, LJT_D_SYMTAB), &ljt_dyn_val, b->base + at);
  ljt_set(b, ljt_dyn(b, LJT_D_VERSYM), &ljt_dyn_tag, GONE);
  ljt_set(b, ljt_phdr(b, LJT_P_DATA), &ljt_phdr_filesz, size);
  ljt_set(b, ljt_phdr(b, LJT_P_DATA), &ljt_phdr_memsz, size);
}

static void apply(ljt_elf *b, const edit *e)
{
  size_t gnu = b->off[LJT_S_GNU_HASH];
  size_t buckets = gnu + gnu_part(b, FILTER);
  size_t end = b->off[LJT_S_DYNAMIC] + b->len[LJT_S_DYNAMIC];
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
  case TEXT:
    ljt_store(b->data + b->text_off + 4 * e->idx, 4, b->big, e->value);
    break;
  case HASH_LEFT:
    move(b, LJT_S_HASH, LJT_D_HASH, b->len[LJT_S_HASH] + (size_t)e->value);
    break;
  case GNU_LEFT:
    move(b, LJT_S_GNU_HASH, LJT_D_GNU_HASH,
         gnu_part(b, e->idx) + (size_t)e->value);
    break;
  case SYMS_END:
    ljt_set(b, ljt_dyn(b, e->idx), &ljt_dyn_val,
            b->base + b->off[LJT_S_DYNSYM] +
            e->value * ljt_sym_struct(b) / 2);
    break;
  case VERS_END:
    ljt_set(b, ljt_dyn(b, e->idx), &ljt_dyn_val,
            b->base + b->off[LJT_S_VERSYM] + 2 * e->value);
    break;
  case MODULE_END:
    ljt_set(b, ljt_dyn(b, e->idx), &ljt_dyn_val, b->base + end - e->value);
    break;
  default: break;
  }
}

#define OK LJM_OK
#define MAL LJM_E_MALFORMED
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
  {"gnu: half a word, behind it no memory",
   {NO_HASH, {MODULE_END, LJT_D_GNU_HASH, NULL, 3}}, OK, NULL},
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
  {"hash: half a word, behind it no memory",
   {NO_GNU, {MODULE_END, LJT_D_HASH, NULL, 7}}, OK, NULL},
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
  {"dynamic segment empty, outside",
   {{PHDR, LJT_P_DYNAMIC, &ljt_phdr_vaddr, 0x90000},
    {PHDR, LJT_P_DYNAMIC, &ljt_phdr_filesz, 0}}, MAL, ""},
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

#define FEWER "beta chosen untyped zero"
#define ROOM (COUNT + 1)
#define LESS UINT64_MAX /* One byte. */

/* Of modules whose symbol table is the last: nothing but what is tried here
** says how many symbols there are. */
static const struct {
  row r;
  size_t room;
} last_rows[] = {
  {{"sysv", {NO_GNU}, OK, NULL}, ROOM},
  {{"gnu", {NO_HASH}, OK, NULL}, ROOM},
  {{"neither", {NO_HASH, NO_GNU}, OK, ""}, ROOM},
  {{"sysv, room for fewer", {NO_GNU}, OK, ""}, ROOM - 1},
  {{"gnu, room for fewer", {NO_HASH}, OK, ""}, ROOM - 1},
  {{"sysv to the segment's end",
    {NO_GNU, {HASH_LEFT, 0, NULL, 0}}, OK, NULL}, ROOM},
  {{"sysv past the segment's end",
    {NO_GNU, {HASH_LEFT, 0, NULL, LESS}}, OK, ""}, ROOM},
  {{"sysv: no buckets, past the end",
    {NO_GNU, {HASH, 0, NULL, 0}, {HASH_LEFT, 0, NULL, LESS}}, OK, NULL}, ROOM},
  {{"sysv: buckets 2^32-1", {NO_GNU, {HASH, 0, NULL, 0xffffffff}}, OK, ""},
   ROOM},
  {{"sysv: buckets 2^32-1, symbols 2",
    {NO_GNU, {HASH, 0, NULL, 0xffffffff}, {HASH, 1, NULL, 2}}, OK, ""}, ROOM},
  {{"sysv: none", {NO_GNU, {HASH, 1, NULL, 0}}, OK, ""}, ROOM},
  {{"sysv bad, gnu good", {{HASH, 1, NULL, ROOM + 1}}, OK, NULL}, ROOM},
  {{"gnu to the segment's end",
    {NO_HASH, {GNU_LEFT, WHOLE, NULL, 0}}, OK, NULL}, ROOM},
  {{"gnu past the segment's end",
    {NO_HASH, {GNU_LEFT, WHOLE, NULL, LESS}}, OK, ""}, ROOM},
  {{"gnu: its chain ends past the segment's end",
    {NO_HASH, {CHAIN, COUNT, NULL, 2}, {GNU_LEFT, WHOLE, NULL, 0},
     {TEXT, 0, NULL, 1}}, OK, ""}, ROOM + 1},
  {{"gnu: filter words 2^31", {NO_HASH, {GNU, 2, NULL, 0x80000000u}}, OK, ""},
   ROOM},
  {{"gnu: filter words 3", {NO_HASH, {GNU, 2, NULL, 3}}, OK, ""}, ROOM},
  {{"gnu: no filter words", {NO_HASH, {GNU, 2, NULL, 0}}, OK, ""}, ROOM},
  {{"gnu: shift 31", {NO_HASH, {GNU, 3, NULL, 31}}, OK, NULL}, ROOM},
  {{"gnu: shift 32", {NO_HASH, {GNU, 3, NULL, 32}}, OK, ""}, ROOM},
  {{"gnu: bucket below the first", {NO_HASH, {GNU, 1, NULL, 2}}, OK, ""},
   ROOM},
  {{"gnu: bucket past the table",
    {NO_HASH, {BUCKET, 1, NULL, 0x7fffffff}}, OK, ""}, ROOM},
  {{"gnu: header only",
    {NO_HASH, {GNU, 0, NULL, 0}, {GNU, 1, NULL, ROOM}, {GNU, 2, NULL, 0},
     {GNU_LEFT, HEADER, NULL, 0}}, OK, NULL}, ROOM},
  {{"gnu: header cut",
    {NO_HASH, {GNU, 0, NULL, 0}, {GNU, 1, NULL, ROOM}, {GNU, 2, NULL, 0},
     {GNU_LEFT, HEADER, NULL, LESS}}, OK, ""}, ROOM},
  {{"gnu: filter only",
    {NO_HASH, {GNU, 0, NULL, 0}, {GNU, 1, NULL, ROOM},
     {GNU_LEFT, FILTER, NULL, 0}}, OK, NULL}, ROOM},
  {{"gnu: filter cut",
    {NO_HASH, {GNU, 0, NULL, 0}, {GNU, 1, NULL, ROOM},
     {GNU_LEFT, FILTER, NULL, LESS}}, OK, ""}, ROOM},
  {{"gnu: buckets only",
    {NO_HASH, {BUCKET, 0, NULL, 0}, {BUCKET, 1, NULL, 0}, {GNU, 1, NULL, ROOM},
     {GNU_LEFT, BUCKETS, NULL, 0}}, OK, NULL}, ROOM},
  {{"gnu: buckets cut",
    {NO_HASH, {BUCKET, 0, NULL, 0}, {BUCKET, 1, NULL, 0}, {GNU, 1, NULL, ROOM},
     {GNU_LEFT, BUCKETS, NULL, LESS}}, OK, ""}, ROOM},
  /* What else counts symbols: the next table, here DT_PLTGOT; versions. */
  {{"next table",
    {NO_HASH, NO_GNU, {DYN, LJT_D_VERSYM, &ljt_dyn_tag, 3},
     {SYMS_END, LJT_D_VERSYM, NULL, 2 * ROOM}}, OK, NULL}, ROOM + 1},
  {{"next table, fewer",
    {NO_HASH, NO_GNU, {DYN, LJT_D_VERSYM, &ljt_dyn_tag, 3},
     {SYMS_END, LJT_D_VERSYM, NULL, 2 * COUNT}}, OK, FEWER}, ROOM + 1},
  {{"versions",
    {NO_GNU, {DYN, LJT_D_VERSYM, &ljt_dyn_tag, 0x6ffffff0},
     {DYN, LJT_D_HASH, &ljt_dyn_tag, 13}, {VERS_END, LJT_D_HASH, NULL, ROOM}},
    OK, NULL}, ROOM + 1},
  {{"versions, fewer",
    {NO_GNU, {DYN, LJT_D_VERSYM, &ljt_dyn_tag, 0x6ffffff0},
     {DYN, LJT_D_HASH, &ljt_dyn_tag, 13}, {VERS_END, LJT_D_HASH, NULL, COUNT}},
    OK, FEWER}, ROOM + 1},
  {{"next table in the first symbol",
    {NO_GNU, {DYN, LJT_D_VERSYM, &ljt_dyn_tag, 3},
     {SYMS_END, LJT_D_VERSYM, NULL, 1}}, OK, ""}, ROOM}
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
  a = ljt_allocator(heap);
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

/* A row with the symbol table where it is (`room` 0) or last. Variants: class,
** order, relocated or not, bias. */
static void try_row(const row *r, size_t room)
{
  static ljt_elf b;
  size_t k;
  int variant;
  ljt.row = r->name;
  for (variant = 0; variant < 32; variant++) {
    uint64_t bias = biases[variant >> 3];
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    memset(&heap, 0, sizeof(heap));
    make(&b, variant);
    if (!b.is64 && bias >> 32) continue;
    if (room) move_last(&b, room);
    for (k = 0; k < EDITS; k++) apply(&b, &r->edits[k]);
    if (variant & 4) relocate(&b, bias);
    if (!LJT_EQ(open_at(&b, bias, &img, &heap, &mem), r->want) ||
        (r->want == LJM_OK &&
         !LJT_STR(ljt_image_names(&img), r->names ? r->names : all)))
      printf("  class %d, order %d, bias %llx, relocated %d\n", b.is64, b.big,
             (unsigned long long)bias, variant >> 2 & 1);
    if (r->want == LJM_OK) LJT_EQ(img.from, img.count ? 3 : 0);
    close_at(&img, &heap);
  }
  ljt.row = NULL;
}

static void one_field(void)
{
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) try_row(&rows[i], 0);
}

static void table_last(void)
{
  size_t i;
  for (i = 0; i < sizeof(last_rows) / sizeof(last_rows[0]); i++)
    try_row(&last_rows[i].r, last_rows[i].room);
}

/* Link-time address 0 is an address: the symbol table stands there, in a
** segment of its own. */
static void table_at_zero(void)
{
  static const unsigned pointers[] = {
    LJT_D_HASH, LJT_D_GNU_HASH, LJT_D_STRTAB, LJT_D_VERSYM
  };
  static const ljt_section sections[] = {
    LJT_S_HASH, LJT_S_GNU_HASH, LJT_S_DYNSTR, LJT_S_VERSYM
  };
  static ljt_elf b;
  int variant;
  for (variant = 0; variant < 8; variant++) {
    const uint64_t place = 0x20000;
    size_t i, size;
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    memset(&heap, 0, sizeof(heap));
    make(&b, variant);
    size = b.len[LJT_S_DYNSYM];
    ljt_set_phdr(&b, LJT_P_TABLES, 1, 4, b.off[LJT_S_DYNSYM],
                 b.off[LJT_S_DYNSYM] + size);
    ljt_set(&b, ljt_phdr(&b, LJT_P_TABLES), &ljt_phdr_vaddr, 0);
    size = b.off[LJT_S_DYNAMIC] + b.len[LJT_S_DYNAMIC];
    ljt_set_phdr(&b, LJT_P_DATA, 1, 6, 0, size);
    ljt_set(&b, ljt_phdr(&b, LJT_P_DATA), &ljt_phdr_vaddr, place);
    ljt_set(&b, ljt_phdr(&b, LJT_P_DYNAMIC), &ljt_phdr_vaddr,
            place + b.off[LJT_S_DYNAMIC]);
    for (i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
      ljt_set(&b, ljt_dyn(&b, pointers[i]), &ljt_dyn_val,
              place + b.off[sections[i]]);
    ljt_set(&b, ljt_dyn(&b, LJT_D_SYMTAB), &ljt_dyn_val, 0);
    LJT_EQ(open_at(&b, biases[variant & 4 ? 2 : 0], &img, &heap, &mem), OK);
    LJT_STR(ljt_image_names(&img), all);
    close_at(&img, &heap);
  }
}

/* The size of the names is no address, where it looks like one that is in the
** symbol table. */
static void names_size(void)
{
  static ljt_elf b;
  int variant;
  for (variant = 0; variant < 4; variant++) {
    ljt_heap heap;
    ljm_memory mem;
    ljm_image img;
    memset(&heap, 0, sizeof(heap));
    make(&b, variant);
    b.base = 0;
    ljt_elf_build(&b);
    ljt_set(&b, ljt_dyn(&b, LJT_D_STRSZ), &ljt_dyn_val,
            ljt_sym(&b, LJT_S_DYNSYM, 1));
    LJT_EQ(open_at(&b, 0, &img, &heap, &mem), OK);
    LJT_STR(ljt_image_names(&img), all);
    close_at(&img, &heap);
  }
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
    /* Nothing but this table counts the symbols. */
    move_last(&b, ROOM);
    ljt_set(&b, ljt_dyn(&b, LJT_D_GNU_HASH), &ljt_dyn_tag, GONE);
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
    /* Of what looks like the second word, too much is missing. */
    if (m[i].left > 8) b.data[0x800 - m[i].left + 8] = 1;
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
    a = ljt_allocator(&heap);
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
  LJT_CASE(table_last);
  LJT_CASE(table_at_zero);
  LJT_CASE(names_size);
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
