/*
** elfref.h - the functions of an ELF file in libelf's opinion, by the rules
** that ljm_image_open follows, written a second time. After elfbuild.h.
*/
#ifndef ELFREF_H
#define ELFREF_H

#include <gelf.h>
#include <libelf.h>

typedef struct ljt_ref_sym {
  uint64_t vaddr, size;
  const char *name;
  int unsized, local, untyped;
} ljt_ref_sym;

typedef struct ljt_ref {
  ljt_ref_sym *v;
  size_t count;
  int odd; /* Sizes of headers or entries that libelf takes otherwise, or more
            ** symbol tables than the resolver looks at. */
} ljt_ref;

static inline int ljt_ref_mapping(const char *name)
{
  if (name[0] != '$') return 0;
  if (name[1] != 'a' && name[1] != 'd' && name[1] != 't' && name[1] != 'x')
    return 0;
  return name[2] == 0 || name[2] == '.' || strncmp(name + 1, "xrv", 3) == 0;
}

static inline int ljt_ref_compare(const void *a, const void *b)
{
  const ljt_ref_sym *x = (const ljt_ref_sym *)a, *y = (const ljt_ref_sym *)b;
  int c;
  if (x->vaddr != y->vaddr) return x->vaddr < y->vaddr ? -1 : 1;
  if (x->unsized != y->unsized) return x->unsized - y->unsized;
  if (x->local != y->local) return x->local - y->local;
  if (x->untyped != y->untyped) return x->untyped - y->untyped;
  c = strcmp(x->name, y->name);
  if (c != 0) return c;
  return x->size < y->size ? -1 : x->size > y->size;
}

/* Adds symbol `s` if it is a function; `wide` is its section's number where
** that does not fit, SHN_XINDEX if nothing tells it. */
static inline void ljt_ref_add(ljt_ref *ref, Elf *elf, const GElf_Ehdr *h,
                               const GElf_Shdr *table, const GElf_Sym *s,
                               Elf32_Word wide)
{
  unsigned type = GELF_ST_TYPE(s->st_info);
  int func = type == STT_FUNC || type == STT_GNU_IFUNC;
  size_t idx = s->st_shndx == SHN_XINDEX ? wide : s->st_shndx;
  uint64_t top = h->e_ident[EI_CLASS] == ELFCLASS32 ? UINT64_C(1) << 32
                                                    : UINT64_MAX;
  GElf_Shdr shdr;
  const char *name;
  ljt_ref_sym *r;
  if (!func && type != STT_NOTYPE) return;
  if (idx == SHN_UNDEF || s->st_shndx == SHN_COMMON || s->st_name == 0)
    return;
  if (!func) {
    Elf_Scn *scn;
    if (s->st_shndx >= SHN_LORESERVE && s->st_shndx != SHN_XINDEX) return;
    scn = elf_getscn(elf, idx);
    if (!scn || !gelf_getshdr(scn, &shdr)) return;
    if (!(shdr.sh_flags & SHF_EXECINSTR)) return;
  }
  name = elf_strptr(elf, table->sh_link, s->st_name);
  if (!name || !name[0]) return;
  if (!func && ljt_ref_mapping(name)) return;
  if (s->st_size > top - s->st_value) return;
  r = &ref->v[ref->count++];
  r->vaddr = s->st_value;
  if (func && h->e_machine == EM_ARM) r->vaddr &= ~UINT64_C(1);
  r->size = s->st_size;
  r->name = name;
  r->unsized = s->st_size == 0;
  r->local = GELF_ST_BIND(s->st_info) == STB_LOCAL;
  r->untyped = type == STT_NOTYPE;
}

/* The functions of one table. */
static inline void ljt_ref_table(ljt_ref *ref, Elf *elf, const GElf_Ehdr *h,
                                 Elf_Scn *scn, const GElf_Shdr *shdr)
{
  Elf_Data *data = elf_getdata(scn, NULL), *wide = NULL;
  Elf_Scn *other = NULL;
  size_t unit = h->e_ident[EI_CLASS] == ELFCLASS32 ? 16 : 24, n, i;
  if (shdr->sh_entsize != unit) ref->odd = 1;
  if (!data) {
    if (shdr->sh_size != 0) ref->odd = 1;
    return;
  }
  while ((other = elf_nextscn(elf, other)) != NULL && !wide) {
    GElf_Shdr s;
    if (gelf_getshdr(other, &s) && s.sh_type == SHT_SYMTAB_SHNDX &&
        s.sh_link == elf_ndxscn(scn)) {
      wide = elf_getdata(other, NULL);
      if (s.sh_size % 4 != 0) ref->odd = 1; /* Not read at all. */
    }
  }
  n = data->d_size / unit;
  ref->v = (ljt_ref_sym *)calloc(n + 1, sizeof(*ref->v));
  ref->count = 0;
  for (i = 1; i < n && ref->v; i++) {
    Elf32_Word idx = SHN_XINDEX;
    GElf_Sym s;
    if (wide && i < wide->d_size / 4 &&
        gelf_getsymshndx(data, wide, (int)i, &s, &idx))
      ljt_ref_add(ref, elf, h, shdr, &s, idx);
    else if (gelf_getsym(data, (int)i, &s))
      ljt_ref_add(ref, elf, h, shdr, &s, SHN_XINDEX);
  }
  qsort(ref->v, ref->count, sizeof(*ref->v), ljt_ref_compare);
}

/* Symbol tables that a file's sections name. */
static inline unsigned ljt_ref_tables(Elf *elf)
{
  Elf_Scn *scn = NULL;
  GElf_Shdr shdr;
  unsigned n = 0;
  while ((scn = elf_nextscn(elf, scn)) != NULL)
    n += gelf_getshdr(scn, &shdr) &&
         (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM);
  return n;
}

/* The functions of a file: of its first table of the kind that has any. 0 if
** libelf does not take it for an ELF executable or library. */
static inline int ljt_ref_open(ljt_ref *ref, Elf *elf)
{
  static const Elf32_Word kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
  GElf_Ehdr h;
  int k;
  memset(ref, 0, sizeof(*ref));
  if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &h)) return 0;
  if (h.e_type != ET_EXEC && h.e_type != ET_DYN) return 0;
  ref->odd = h.e_shentsize != (h.e_ident[EI_CLASS] == ELFCLASS32 ? 40 : 64) ||
             ljt_ref_tables(elf) > 4;
  for (k = 0; k < 2 && ref->count == 0; k++) {
    Elf_Scn *scn = NULL;
    while (ref->count == 0 && (scn = elf_nextscn(elf, scn)) != NULL) {
      GElf_Shdr shdr;
      if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != kinds[k]) continue;
      free(ref->v);
      ref->v = NULL;
      ljt_ref_table(ref, elf, &h, scn, &shdr);
    }
  }
  return 1;
}

/* First symbol in which the two differ, SIZE_MAX if none. */
static inline size_t ljt_ref_differs(const ljt_ref *ref, const ljm_image *img)
{
  ljm_symbol sym;
  size_t i;
  for (i = 0; i < ref->count; i++) {
    const ljt_ref_sym *r = &ref->v[i];
    if (ljm_image_symbol(img, i, &sym) != LJM_OK) return i;
    if (sym.vaddr != r->vaddr || sym.size != r->size ||
        strcmp(sym.name, r->name) != 0)
      return i;
  }
  return img->count == ref->count ? SIZE_MAX : ref->count;
}

#endif /* ELFREF_H */
