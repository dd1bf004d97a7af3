/*
** seeds_elf.c - writes the built seeds of the ELF targets to a folder with
** the targets' folders in it. See seeds_elf.sh.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"
#include "elfbuild.h"

#define T LJT_S_TEXT

static const ljt_elf_sym syms[] = {
  {"f", 0x10, 0x20, LJT_FUNC, LJT_LOCAL, T},
  {"asm", 0x30, 0, LJT_NOTYPE, LJT_GLOBAL, T},
  {"g", 0x30, 0x10, LJT_FUNC, LJT_GLOBAL, T},
  {"i", 0x60, 8, LJT_IFUNC, LJT_GLOBAL, T},
  {"$x", 0x80, 0, LJT_NOTYPE, LJT_LOCAL, T}
};
static const ljt_elf_sym dynsyms[] = {
  {"u", 0, 0, LJT_FUNC, LJT_GLOBAL, 0},
  {"g", 0x30, 0x10, LJT_FUNC, LJT_GLOBAL, T},
  {"z", 0xa0, 0, LJT_FUNC, LJT_GLOBAL, T}
};

static const char *top;

static void save(const char *target, const char *name, const void *data,
                 size_t size)
{
  char path[4096];
  FILE *f;
  snprintf(path, sizeof(path), "%s/%s/%s", top, target, name);
  f = fopen(path, "wb");
  if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
    perror(path);
    exit(1);
  }
}

static void make(ljt_elf *b, int variant)
{
  memset(b, 0, sizeof(*b));
  b->is64 = variant & 1;
  b->big = variant >> 1;
  b->base = 0x10000;
  b->machine = b->big ? (b->is64 ? 22 : 20) : (b->is64 ? 62 : 40);
  b->hash_word = b->machine == 22 ? 8 : 4;
  b->text_off = 0x300;
  b->syms = syms;
  b->sym_count = sizeof(syms) / sizeof(syms[0]);
  b->dynsyms = dynsyms;
  b->dynsym_count = sizeof(dynsyms) / sizeof(dynsyms[0]);
  ljt_elf_build(b);
}

static void save_elf(const char *form, const ljt_elf *b)
{
  char name[64];
  snprintf(name, sizeof(name), "built-%d%s-%s.elf", b->is64 ? 64 : 32,
           b->big ? "be" : "le", form);
  save("elf", name, b->data, b->size);
  save("diff-elf", name, b->data, b->size);
}

static void files(int variant)
{
  static ljt_elf b;
  make(&b, variant);
  save_elf("all", &b);
  ljt_set(&b, ljt_shdr(&b, LJT_S_SYMTAB), &ljt_shdr_type, 1);
  save_elf("dynsym", &b);
  make(&b, variant);
  ljt_set(&b, 0, &ljt_ehdr_shnum, 0);
  ljt_set(&b, ljt_shdr(&b, 0), &ljt_shdr_size, LJT_S_COUNT);
  ljt_set(&b, 0, &ljt_ehdr_phnum, 0xffff);
  ljt_set(&b, ljt_shdr(&b, 0), &ljt_shdr_info, LJT_P_COUNT);
  ljt_set(&b, ljt_sym(&b, LJT_S_SYMTAB, 2), &ljt_sym_shndx, 0xffff);
  ljt_store(b.data + b.off[LJT_S_SHNDX] + 8, 4, b.big, T);
  save_elf("extended", &b);
  make(&b, variant);
  ljt_set(&b, 0, &ljt_ehdr_shnum, 0);
  ljt_set(&b, 0, &ljt_ehdr_shoff, 0);
  save_elf("segments", &b);
}

static void modules(int variant)
{
  static const struct { const char *name; int hash, gnu, versions; } form[] = {
    {"both", 1, 1, 1}, {"sysv", 1, 0, 1}, {"gnu", 0, 1, 1},
    {"bounds", 0, 0, 1}, {"strings", 0, 0, 0}
  };
  static ljt_elf b;
  size_t i;
  for (i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
    char name[64];
    make(&b, variant);
    if (!form[i].hash)
      ljt_set(&b, ljt_dyn(&b, LJT_D_HASH), &ljt_dyn_tag, 0x6ffffabc);
    if (!form[i].gnu)
      ljt_set(&b, ljt_dyn(&b, LJT_D_GNU_HASH), &ljt_dyn_tag, 0x6ffffabc);
    if (!form[i].versions)
      ljt_set(&b, ljt_dyn(&b, LJT_D_VERSYM), &ljt_dyn_tag, 0x6ffffabc);
    /* Memory has neither sections nor .symtab. */
    ljt_set(&b, 0, &ljt_ehdr_shoff, 0);
    ljt_set(&b, 0, &ljt_ehdr_shnum, 0);
    snprintf(name, sizeof(name), "built-%d%s-%s.elf", b.is64 ? 64 : 32,
             b.big ? "be" : "le", form[i].name);
    save("dynamic", name, b.data, b.off[LJT_S_DYNAMIC] + b.len[LJT_S_DYNAMIC]);
  }
}

/* Lists of fuzz_resolver: rows of address, size, name, type, binding, place. */
static void lists(void)
{
  static const unsigned char two[] = {
    1, 16, 0, 8, 0, 1, 0, 1, 0, 32, 0, 0, 0, 2, 4, 0, 0
  };
  static const unsigned char nested[] = {
    0, 0, 0, 255, 0, 1, 0, 1, 0, 16, 0, 16, 0, 2, 0, 0, 0, 20, 0, 4, 0, 3, 0,
    1, 1
  };
  unsigned char many[1 + 200 * 8];
  ljt_rng rng = ljt_rng_make(1);
  size_t i;
  for (i = 0; i < sizeof(many); i++) many[i] = (unsigned char)ljt_rand(&rng);
  many[0] = 1;
  save("resolver", "two.bin", two, sizeof(two));
  save("resolver", "nested.bin", nested, sizeof(nested));
  save("resolver", "random-symtab.bin", many, sizeof(many));
  many[0] = 4 | 2;
  save("resolver", "random-dynsym.bin", many, sizeof(many));
  for (i = 0; i < 200; i++) { /* All at a few addresses, long and short. */
    many[1 + 8 * i] &= 3;
    many[2 + 8 * i] = 0;
  }
  many[0] = 3;
  save("resolver", "ties.bin", many, sizeof(many));
  for (i = 0; i < 200; i++) many[3 + 8 * i] = many[4 + 8 * i] = 0;
  save("resolver", "unsized.bin", many, sizeof(many));
}

int main(int argc, char **argv)
{
  int variant;
  if (argc != 2) return 2;
  top = argv[1];
  for (variant = 0; variant < 4; variant++) {
    files(variant);
    modules(variant);
  }
  lists();
  return 0;
}
