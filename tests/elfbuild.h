/*
** elfbuild.h - builds small ELF files of either class and byte order, breaks
** one field of them, and opens them as a file or as a module in memory. After
** ljmemprof.h with LJM_IMPLEMENTATION, and ljtest.h.
**
** Link-time addresses are base + offset, in three PT_LOADs without a gap:
** headers and dynamic tables, .text, .dynamic. Sections stand in the order of
** ljt_section.
*/
#ifndef ELFBUILD_H
#define ELFBUILD_H

typedef enum ljt_section {
  LJT_S_NULL, LJT_S_NOTE, LJT_S_HASH, LJT_S_GNU_HASH, LJT_S_DYNSYM,
  LJT_S_DYNSTR, LJT_S_VERSYM, LJT_S_TEXT, LJT_S_DYNAMIC, LJT_S_SYMTAB,
  LJT_S_STRTAB, LJT_S_SHNDX, LJT_S_SHSTRTAB, LJT_S_COUNT
} ljt_section;

typedef enum ljt_segment {
  LJT_P_TABLES, LJT_P_TEXT, LJT_P_DATA, LJT_P_DYNAMIC, LJT_P_NOTE, LJT_P_COUNT
} ljt_segment;

/* Order of the dynamic section's entries. */
typedef enum ljt_dynamic {
  LJT_D_HASH, LJT_D_GNU_HASH, LJT_D_STRTAB, LJT_D_SYMTAB, LJT_D_STRSZ,
  LJT_D_SYMENT, LJT_D_VERSYM, LJT_D_NULL, LJT_D_COUNT
} ljt_dynamic;

#define LJT_TEXT_SIZE 0x100
#define LJT_FUNC 2
#define LJT_OBJECT 1
#define LJT_NOTYPE 0
#define LJT_IFUNC 10
#define LJT_LOCAL 0
#define LJT_GLOBAL 1
#define LJT_WEAK 2

typedef struct ljt_elf_sym {
  const char *name;
  uint64_t at, size; /* Bytes from .text on. */
  unsigned type, bind;
  unsigned section; /* An ljt_section, or a reserved number. */
} ljt_elf_sym;

typedef struct ljt_elf {
  int is64, big;
  uint64_t base;
  unsigned machine;
  const ljt_elf_sym *syms, *dynsyms; /* Without the null symbol. */
  size_t sym_count, dynsym_count;
  unsigned hash_word;    /* 4, or 8 on two machines. */
  unsigned gnu_buckets;
  unsigned char data[8192];
  size_t text_off; /* Place of .text; 0: 0x800. */
  size_t size, phdr_off, shdr_off;
  size_t off[LJT_S_COUNT], len[LJT_S_COUNT];
} ljt_elf;

/* -- fields: offset and size by class ----------------------------------- */

typedef struct ljt_field {
  const char *name;
  unsigned off64, size64, off32, size32;
} ljt_field;

static const ljt_field ljt_ehdr_type = {"e_type", 16, 2, 16, 2};
static const ljt_field ljt_ehdr_version = {"e_version", 20, 4, 20, 4};
static const ljt_field ljt_ehdr_phoff = {"e_phoff", 32, 8, 28, 4};
static const ljt_field ljt_ehdr_shoff = {"e_shoff", 40, 8, 32, 4};
static const ljt_field ljt_ehdr_phentsize = {"e_phentsize", 54, 2, 42, 2};
static const ljt_field ljt_ehdr_phnum = {"e_phnum", 56, 2, 44, 2};
static const ljt_field ljt_ehdr_shentsize = {"e_shentsize", 58, 2, 46, 2};
static const ljt_field ljt_ehdr_shnum = {"e_shnum", 60, 2, 48, 2};
static const ljt_field ljt_ehdr_shstrndx = {"e_shstrndx", 62, 2, 50, 2};
static const ljt_field ljt_phdr_type = {"p_type", 0, 4, 0, 4};
static const ljt_field ljt_phdr_flags = {"p_flags", 4, 4, 24, 4};
static const ljt_field ljt_phdr_offset = {"p_offset", 8, 8, 4, 4};
static const ljt_field ljt_phdr_vaddr = {"p_vaddr", 16, 8, 8, 4};
static const ljt_field ljt_phdr_filesz = {"p_filesz", 32, 8, 16, 4};
static const ljt_field ljt_phdr_memsz = {"p_memsz", 40, 8, 20, 4};
static const ljt_field ljt_phdr_align = {"p_align", 48, 8, 28, 4};
static const ljt_field ljt_shdr_type = {"sh_type", 4, 4, 4, 4};
static const ljt_field ljt_shdr_flags = {"sh_flags", 8, 8, 8, 4};
static const ljt_field ljt_shdr_addr = {"sh_addr", 16, 8, 12, 4};
static const ljt_field ljt_shdr_offset = {"sh_offset", 24, 8, 16, 4};
static const ljt_field ljt_shdr_size = {"sh_size", 32, 8, 20, 4};
static const ljt_field ljt_shdr_link = {"sh_link", 40, 4, 24, 4};
static const ljt_field ljt_shdr_info = {"sh_info", 44, 4, 28, 4};
static const ljt_field ljt_shdr_entsize = {"sh_entsize", 56, 8, 36, 4};
static const ljt_field ljt_sym_name = {"st_name", 0, 4, 0, 4};
static const ljt_field ljt_sym_info = {"st_info", 4, 1, 12, 1};
static const ljt_field ljt_sym_shndx = {"st_shndx", 6, 2, 14, 2};
static const ljt_field ljt_sym_value = {"st_value", 8, 8, 4, 4};
static const ljt_field ljt_sym_size = {"st_size", 16, 8, 8, 4};
static const ljt_field ljt_dyn_tag = {"d_tag", 0, 8, 0, 4};
static const ljt_field ljt_dyn_val = {"d_val", 8, 8, 4, 4};
static const ljt_field ljt_word0 = {"word 0", 0, 4, 0, 4};
static const ljt_field ljt_word1 = {"word 1", 4, 4, 4, 4};
static const ljt_field ljt_word2 = {"word 2", 8, 4, 8, 4};
static const ljt_field ljt_word3 = {"word 3", 12, 4, 12, 4};

static inline void ljt_store(unsigned char *p, unsigned size, int big,
                             uint64_t value)
{
  unsigned i;
  for (i = 0; i < size; i++)
    p[big ? size - 1 - i : i] = (unsigned char)(value >> (8 * i));
}

/* Sets a field of the struct at `off`. */
static inline void ljt_set(ljt_elf *b, size_t off, const ljt_field *f,
                           uint64_t value)
{
  ljt_store(b->data + off + (b->is64 ? f->off64 : f->off32),
            b->is64 ? f->size64 : f->size32, b->big, value);
}

static inline uint64_t ljt_get(const ljt_elf *b, size_t off,
                               const ljt_field *f)
{
  unsigned size = b->is64 ? f->size64 : f->size32, i;
  const unsigned char *p = b->data + off + (b->is64 ? f->off64 : f->off32);
  uint64_t v = 0;
  for (i = 0; i < size; i++)
    v |= (uint64_t)p[b->big ? size - 1 - i : i] << (8 * i);
  return v;
}

static inline size_t ljt_sym_struct(const ljt_elf *b)
{
  return b->is64 ? 24 : 16;
}

static inline size_t ljt_phdr(const ljt_elf *b, unsigned i)
{
  return b->phdr_off + i * (b->is64 ? 56u : 32u);
}

static inline size_t ljt_shdr(const ljt_elf *b, unsigned i)
{
  return b->shdr_off + i * (b->is64 ? 64u : 40u);
}

/* Symbol `i` of a table, the null symbol being 0. */
static inline size_t ljt_sym(const ljt_elf *b, ljt_section table, unsigned i)
{
  return b->off[table] + i * ljt_sym_struct(b);
}

static inline size_t ljt_dyn(const ljt_elf *b, unsigned i)
{
  return b->off[LJT_S_DYNAMIC] + i * (b->is64 ? 16u : 8u);
}

/* -- building ----------------------------------------------------------- */

/* Opens a section at the next multiple of 8. */
static inline void ljt_open_section(ljt_elf *b, ljt_section s)
{
  b->size = (b->size + 7) & ~(size_t)7;
  b->off[s] = b->size;
}

static inline void ljt_close_section(ljt_elf *b, ljt_section s)
{
  b->len[s] = b->size - b->off[s];
}

static inline void ljt_add(ljt_elf *b, unsigned size, uint64_t value)
{
  ljt_store(b->data + b->size, size, b->big, value);
  b->size += size;
}

static inline uint32_t ljt_add_string(ljt_elf *b, ljt_section s,
                                      const char *text)
{
  size_t at = b->size - b->off[s];
  memcpy(b->data + b->size, text, strlen(text) + 1);
  b->size += strlen(text) + 1;
  return (uint32_t)at;
}

/* A symbol table and its names. .text's place is known already. */
static inline void ljt_add_symbols(ljt_elf *b, ljt_section table,
                                   ljt_section names, const ljt_elf_sym *v,
                                   size_t n)
{
  size_t i;
  ljt_open_section(b, table);
  b->size += (n + 1) * ljt_sym_struct(b);
  ljt_close_section(b, table);
  ljt_open_section(b, names);
  ljt_add(b, 1, 0);
  for (i = 0; i < n; i++) {
    size_t at = ljt_sym(b, table, (unsigned)i + 1);
    uint64_t value = v[i].section == 0 ? 0 : b->base + b->text_off + v[i].at;
    ljt_set(b, at, &ljt_sym_name,
            v[i].name[0] ? ljt_add_string(b, names, v[i].name) : 0);
    ljt_set(b, at, &ljt_sym_info, v[i].bind << 4 | v[i].type);
    ljt_set(b, at, &ljt_sym_shndx, v[i].section);
    ljt_set(b, at, &ljt_sym_value, value);
    ljt_set(b, at, &ljt_sym_size, v[i].size);
  }
  ljt_close_section(b, names);
}

static inline void ljt_add_note(ljt_elf *b)
{
  unsigned i;
  ljt_open_section(b, LJT_S_NOTE);
  ljt_add(b, 4, 4);
  ljt_add(b, 4, 20);
  ljt_add(b, 4, 3);
  memcpy(b->data + b->size, "GNU", 4);
  b->size += 4;
  for (i = 0; i < 20; i++) ljt_add(b, 1, 0xa0 + i);
  ljt_close_section(b, LJT_S_NOTE);
}

/* Names are not hashed: nothing looks symbols up by name. All chains are in
** order, all symbols but the null one hashed. */
static inline void ljt_add_hashes(ljt_elf *b)
{
  size_t n = b->dynsym_count + 1, i, per;
  ljt_open_section(b, LJT_S_HASH);
  ljt_add(b, b->hash_word, 1);
  ljt_add(b, b->hash_word, n);
  ljt_add(b, b->hash_word, n > 1 ? 1 : 0);
  for (i = 0; i < n; i++)
    ljt_add(b, b->hash_word, i == 0 || i + 1 == n ? 0 : i + 1);
  ljt_close_section(b, LJT_S_HASH);
  ljt_open_section(b, LJT_S_GNU_HASH);
  ljt_add(b, 4, b->gnu_buckets);
  ljt_add(b, 4, 1);
  ljt_add(b, 4, 1);
  ljt_add(b, 4, 6);
  ljt_add(b, b->is64 ? 8 : 4, UINT64_MAX);
  per = (n - 1 + b->gnu_buckets - 1) / b->gnu_buckets;
  for (i = 0; i < b->gnu_buckets; i++)
    ljt_add(b, 4, 1 + i * per < n ? 1 + i * per : 0);
  for (i = 1; i < n; i++)
    ljt_add(b, 4, 0x1000 + 2 * i + ((i % per == 0 || i + 1 == n) ? 1 : 0));
  ljt_close_section(b, LJT_S_GNU_HASH);
}

static inline void ljt_add_dynamic(ljt_elf *b)
{
  static const uint64_t tags[LJT_D_COUNT] = {
    4, 0x6ffffef5, 5, 6, 10, 11, 0x6ffffff0, 0
  };
  uint64_t vals[LJT_D_COUNT];
  unsigned i;
  vals[LJT_D_HASH] = b->base + b->off[LJT_S_HASH];
  vals[LJT_D_GNU_HASH] = b->base + b->off[LJT_S_GNU_HASH];
  vals[LJT_D_STRTAB] = b->base + b->off[LJT_S_DYNSTR];
  vals[LJT_D_SYMTAB] = b->base + b->off[LJT_S_DYNSYM];
  vals[LJT_D_STRSZ] = b->len[LJT_S_DYNSTR];
  vals[LJT_D_SYMENT] = ljt_sym_struct(b);
  vals[LJT_D_VERSYM] = b->base + b->off[LJT_S_VERSYM];
  vals[LJT_D_NULL] = 0;
  ljt_open_section(b, LJT_S_DYNAMIC);
  for (i = 0; i < LJT_D_COUNT; i++) {
    ljt_set(b, b->size, &ljt_dyn_tag, tags[i]);
    ljt_set(b, b->size, &ljt_dyn_val, vals[i]);
    b->size += b->is64 ? 16 : 8;
  }
  ljt_close_section(b, LJT_S_DYNAMIC);
}

static inline void ljt_set_phdr(ljt_elf *b, unsigned i, unsigned type,
                                unsigned flags, size_t from, size_t to)
{
  size_t at = ljt_phdr(b, i);
  ljt_set(b, at, &ljt_phdr_type, type);
  ljt_set(b, at, &ljt_phdr_flags, flags);
  ljt_set(b, at, &ljt_phdr_offset, from);
  ljt_set(b, at, &ljt_phdr_vaddr, b->base + from);
  ljt_set(b, at, &ljt_phdr_filesz, to - from);
  ljt_set(b, at, &ljt_phdr_memsz, to - from);
  ljt_set(b, at, &ljt_phdr_align, 4);
}

static inline void ljt_add_shdrs(ljt_elf *b)
{
  static const unsigned types[LJT_S_COUNT] = {
    0, 7, 5, 0x6ffffff6, 11, 3, 0x6fffffff, 1, 6, 2, 3, 18, 3
  };
  unsigned i;
  ljt_open_section(b, LJT_S_NULL);
  b->shdr_off = b->off[LJT_S_NULL];
  for (i = 1; i < LJT_S_COUNT; i++) {
    size_t at = ljt_shdr(b, i);
    ljt_set(b, at, &ljt_shdr_type, types[i]);
    ljt_set(b, at, &ljt_shdr_flags, i == LJT_S_TEXT ? 6 : 2);
    ljt_set(b, at, &ljt_shdr_addr, i < LJT_S_SYMTAB ? b->base + b->off[i] : 0);
    ljt_set(b, at, &ljt_shdr_offset, b->off[i]);
    ljt_set(b, at, &ljt_shdr_size, b->len[i]);
  }
  ljt_set(b, ljt_shdr(b, LJT_S_DYNSYM), &ljt_shdr_link, LJT_S_DYNSTR);
  ljt_set(b, ljt_shdr(b, LJT_S_DYNSYM), &ljt_shdr_entsize, ljt_sym_struct(b));
  ljt_set(b, ljt_shdr(b, LJT_S_SYMTAB), &ljt_shdr_link, LJT_S_STRTAB);
  ljt_set(b, ljt_shdr(b, LJT_S_SYMTAB), &ljt_shdr_entsize, ljt_sym_struct(b));
  ljt_set(b, ljt_shdr(b, LJT_S_SHNDX), &ljt_shdr_link, LJT_S_SYMTAB);
  ljt_set(b, ljt_shdr(b, LJT_S_SHNDX), &ljt_shdr_entsize, 4);
  b->size += LJT_S_COUNT * (b->is64 ? 64u : 40u);
}

static inline void ljt_set_ehdr(ljt_elf *b)
{
  memcpy(b->data, "\177ELF", 4);
  b->data[4] = b->is64 ? 2 : 1;
  b->data[5] = b->big ? 2 : 1;
  b->data[6] = 1;
  ljt_set(b, 0, &ljt_ehdr_type, 3);
  ljt_store(b->data + 18, 2, b->big, b->machine);
  ljt_set(b, 0, &ljt_ehdr_version, 1);
  ljt_set(b, 0, &ljt_ehdr_phoff, b->phdr_off);
  ljt_set(b, 0, &ljt_ehdr_shoff, b->shdr_off);
  ljt_set(b, 0, &ljt_ehdr_phentsize, b->is64 ? 56 : 32);
  ljt_set(b, 0, &ljt_ehdr_phnum, LJT_P_COUNT);
  ljt_set(b, 0, &ljt_ehdr_shentsize, b->is64 ? 64 : 40);
  ljt_set(b, 0, &ljt_ehdr_shnum, LJT_S_COUNT);
  ljt_set(b, 0, &ljt_ehdr_shstrndx, LJT_S_SHSTRTAB);
}

/* Builds it all from the first fields of `b`. */
static inline void ljt_elf_build(ljt_elf *b)
{
  size_t i;
  if (b->hash_word == 0) b->hash_word = 4;
  if (b->gnu_buckets == 0) b->gnu_buckets = 2;
  memset(b->data, 0, sizeof(b->data));
  b->phdr_off = b->is64 ? 64 : 52;
  if (b->text_off == 0) b->text_off = 0x800;
  b->size = ljt_phdr(b, LJT_P_COUNT);
  ljt_add_note(b);
  ljt_add_hashes(b);
  ljt_add_symbols(b, LJT_S_DYNSYM, LJT_S_DYNSTR, b->dynsyms, b->dynsym_count);
  ljt_open_section(b, LJT_S_VERSYM);
  for (i = 0; i <= b->dynsym_count; i++) ljt_add(b, 2, 1);
  ljt_close_section(b, LJT_S_VERSYM);
  if (b->size > b->text_off) abort();
  b->size = b->text_off;
  ljt_open_section(b, LJT_S_TEXT);
  b->size += LJT_TEXT_SIZE;
  ljt_close_section(b, LJT_S_TEXT);
  ljt_add_dynamic(b);
  ljt_add_symbols(b, LJT_S_SYMTAB, LJT_S_STRTAB, b->syms, b->sym_count);
  ljt_open_section(b, LJT_S_SHNDX);
  b->size += 4 * (b->sym_count + 1);
  ljt_close_section(b, LJT_S_SHNDX);
  ljt_open_section(b, LJT_S_SHSTRTAB);
  ljt_add(b, 1, 0);
  ljt_close_section(b, LJT_S_SHSTRTAB);
  ljt_set_phdr(b, LJT_P_TABLES, 1, 4, 0, b->text_off);
  ljt_set_phdr(b, LJT_P_TEXT, 1, 5, b->text_off, b->off[LJT_S_DYNAMIC]);
  ljt_set_phdr(b, LJT_P_DATA, 1, 6, b->off[LJT_S_DYNAMIC],
               b->off[LJT_S_DYNAMIC] + b->len[LJT_S_DYNAMIC]);
  ljt_set_phdr(b, LJT_P_DYNAMIC, 2, 6, b->off[LJT_S_DYNAMIC],
               b->off[LJT_S_DYNAMIC] + b->len[LJT_S_DYNAMIC]);
  ljt_set_phdr(b, LJT_P_NOTE, 4, 4, b->off[LJT_S_NOTE],
               b->off[LJT_S_NOTE] + b->len[LJT_S_NOTE]);
  ljt_add_shdrs(b);
  ljt_set_ehdr(b);
  if (b->size > sizeof(b->data)) abort();
}

/* -- opening ------------------------------------------------------------ */

/* A file loaded at a bias: run-time addresses lead through its PT_LOADs. */
typedef struct ljt_mapped {
  const unsigned char *data;
  size_t size;
  uint64_t bias;
  const ljmi_elf *elf;
} ljt_mapped;

static inline ptrdiff_t ljt_mapped_read(void *user, uint64_t addr, void *data,
                                        size_t size)
{
  const ljt_mapped *m = (const ljt_mapped *)user;
  uint64_t vaddr = addr - m->bias, off;
  const ljmi_seg *s = ljmi_elf_load(m->elf, vaddr);
  if (!s || vaddr - s->vaddr >= s->file_size) return -EFAULT;
  off = s->pos + (vaddr - s->vaddr);
  if (size > s->file_size - (vaddr - s->vaddr))
    size = (size_t)(s->file_size - (vaddr - s->vaddr));
  if (off < s->pos || off >= m->size) return -EFAULT;
  if (size > m->size - off) size = (size_t)(m->size - off);
  memcpy(data, m->data + off, size);
  return (ptrdiff_t)size;
}

/* Opens a file as if it were loaded at `bias`: dynamic symbols from memory,
** as the resolver does. The image's memory is `mem`. */
static inline ljm_status ljt_open_mapped(ljm_image *img, ljm_memory *mem,
                                         const unsigned char *data,
                                         size_t size, uint64_t bias,
                                         const ljm_elf_limits *limits)
{
  ljmi_bytes bytes;
  ljt_mapped mapped;
  ljm_reader file, memory;
  ljmi_elf in_file, e;
  ljm_status status;
  size_t i;
  bytes.data = data;
  bytes.size = size;
  file.read = ljmi_bytes_read;
  file.user = &bytes;
  file.size = size;
  ljmi_image_init(img, mem);
  status = ljmi_elf_begin(&in_file, img, &file, limits);
  mapped.data = data;
  mapped.size = size;
  mapped.bias = bias;
  mapped.elf = &in_file;
  memory.read = ljt_mapped_read;
  memory.user = &mapped;
  memory.size = UINT64_MAX;
  if (status == LJM_OK) {
    status = ljmi_elf_init(&e, img, &memory, limits);
    e.is64 = in_file.is64;
    e.big = in_file.big;
    e.machine = in_file.machine;
    e.bias = bias;
    for (i = 0; i < in_file.segs_count && status == LJM_OK; i++) {
      ljmi_seg s = in_file.segs[i];
      s.pos = bias + s.vaddr;
      status = ljmi_elf_add_seg(&e, &s);
    }
    if (status == LJM_OK) status = ljmi_image_from_dynamic(&e, LJM_FROM_MEMORY);
    ljmi_elf_end(&e);
  }
  ljmi_elf_end(&in_file);
  if (status != LJM_OK) ljm_image_free(img);
  return status;
}

/* -- checking ----------------------------------------------------------- */

/* What covers an address, symbol by symbol: SIZE_MAX if nothing does. */
static inline size_t ljt_find_slowly(const ljm_image *img, uint64_t vaddr)
{
  size_t i, best = SIZE_MAX;
  for (i = 0; i < img->count; i++) {
    const ljmi_entry *e = &img->entries[i];
    if (vaddr < e->vaddr || vaddr - e->vaddr >= ljmi_entry_size(img, *e))
      continue;
    if (best == SIZE_MAX || e->vaddr > img->entries[best].vaddr) best = i;
  }
  return best;
}

/* The order that ljm_image_symbol promises, told a second time. */
static inline int ljt_in_order(const ljm_image *img, size_t i)
{
  const ljmi_entry *a = &img->entries[i], *b = &img->entries[i + 1];
  int c;
  if (a->vaddr != b->vaddr) return a->vaddr < b->vaddr;
  c = (int)(a->name >> 31) - (int)(b->name >> 31);
  if (c == 0) c = (int)(a->name >> 30 & 1) - (int)(b->name >> 30 & 1);
  if (c == 0) c = (int)(a->name >> 29 & 1) - (int)(b->name >> 29 & 1);
  if (c == 0) c = strcmp(img->names + (a->name & LJMI_ENT_NAME),
                         img->names + (b->name & LJMI_ENT_NAME));
  return c <= 0;
}

/* Names of all symbols with blanks between them; until the next call. */
static inline const char *ljt_image_names(const ljm_image *img)
{
  static char text[512];
  ljm_symbol sym;
  size_t i;
  text[0] = 0;
  for (i = 0; ljm_image_symbol(img, i, &sym) == LJM_OK; i++)
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
             i ? " " : "", sym.name);
  return text;
}

/* Walks an open image: every symbol, their order, names, and what is found
** at and around each `step`th of them. Returns what is wrong, or NULL. */
static inline const char *ljt_check_image(const ljm_image *img, size_t step)
{
  ljm_symbol sym, other;
  size_t i, k, sum = 0;
  if (ljm_image_symbol(img, img->count, &sym) != LJM_E_ARG) return "count";
  for (i = 0; i < img->count; i++) {
    uint64_t at[4];
    if (ljm_image_symbol(img, i, &sym) != LJM_OK) return "symbol";
    if (sym.name < img->names || sym.name_size == 0) return "name";
    if ((size_t)(sym.name - img->names) + sym.name_size >= img->names_size ||
        sym.name[sym.name_size] != 0)
      return "name's end";
    sum += sym.name_size;
    if (sym.size > UINT64_MAX - sym.vaddr) return "wrapping size";
    if (i + 1 < img->count && !ljt_in_order(img, i)) return "order";
    if (i % step != 0) continue;
    at[0] = sym.vaddr;
    at[1] = sym.vaddr + sym.size / 2;
    at[2] = sym.vaddr + sym.size;
    at[3] = sym.vaddr - 1;
    for (k = 0; k < 4; k++) {
      size_t want = ljt_find_slowly(img, at[k]);
      ljm_status status = ljm_image_find(img, at[k], &sym);
      if ((status == LJM_OK) != (want != SIZE_MAX)) return "found or not";
      if (status != LJM_OK) continue;
      if (ljm_image_symbol(img, want, &other) != LJM_OK) return "index";
      if (sym.name != other.name || sym.vaddr != other.vaddr ||
          sym.size != other.size)
        return "found another";
    }
    ljm_image_symbol(img, i, &sym);
  }
  if (sum > (img->names_size << 4) + (1u << 20)) return "names' sum";
  if ((img->from == LJM_FROM_NONE) != (img->count == 0)) return "from";
  return NULL;
}

#endif /* ELFBUILD_H */
