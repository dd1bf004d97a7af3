/*
** ljelfsym - the function symbols of an ELF file, as the resolver sees them.
**
**   ljelfsym FILE             one line each, by address: address, size, name
**   ljelfsym FILE 0xADDR...   what covers a link-time address, as NAME+0xOFF
**
** Exit status: 0; 1 usage, cannot read or write, no memory; 2 the file is no
** executable or library, damaged, or over a limit.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include <inttypes.h>
#include <stdio.h>

/* Names are printed as they are, but for control bytes. */
static void print_name(const char *name)
{
  const unsigned char *p;
  for (p = (const unsigned char *)name; *p; p++) {
    if (*p < 0x20 || *p == 0x7f)
      printf("\\x%02x", *p);
    else
      putchar(*p);
  }
}

static void print_all(const ljm_image *img)
{
  ljm_symbol sym;
  size_t i;
  for (i = 0; ljm_image_symbol(img, i, &sym) == LJM_OK; i++) {
    printf("%016" PRIx64 " %" PRIu64 " ", sym.vaddr, sym.size);
    print_name(sym.name);
    putchar('\n');
  }
}

static void print_at(const ljm_image *img, uint64_t addr)
{
  ljm_symbol sym;
  if (ljm_image_find(img, addr, &sym) != LJM_OK) {
    puts("?");
    return;
  }
  print_name(sym.name);
  printf("+0x%" PRIx64 "\n", addr - sym.vaddr);
}

/* An address as 0x and hexadecimal digits. */
static int read_address(const char *text, uint64_t *addr)
{
  char *end;
  if (text[0] != '0' || (text[1] | 32) != 'x' || text[2] == 0) return 0;
  if (!strchr("0123456789abcdefABCDEF", text[2])) return 0;
  errno = 0;
  *addr = strtoull(text, &end, 16);
  return *end == 0 && errno == 0;
}

static int complain(const char *path, const ljm_error *err)
{
  if (err->status == LJM_E_IO) {
    fprintf(stderr, "ljelfsym: %s: %s\n", path, strerror(err->sys_errno));
    return 1;
  }
  fprintf(stderr, "ljelfsym: %s: %s at byte %" PRIu64 "\n", path,
          ljm_status_text(err->status), err->offset);
  return err->status == LJM_E_NOMEM ? 1 : 2;
}

int main(int argc, char **argv)
{
  ljm_image img;
  uint64_t addr = 0;
  int i;
  for (i = 2; i < argc && read_address(argv[i], &addr); i++) continue;
  if (argc < 2 || i < argc) {
    fputs("usage: ljelfsym FILE [0xADDR...]\n", stderr);
    return 1;
  }
  if (ljm_image_open_path(&img, argv[1], NULL, NULL) != LJM_OK)
    return complain(argv[1], &img.error);
  if (argc == 2) print_all(&img);
  for (i = 2; i < argc; i++) {
    read_address(argv[i], &addr);
    print_at(&img, addr);
  }
  ljm_image_free(&img);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "ljelfsym: cannot write: %s\n", strerror(errno));
    return 1;
  }
  return 0;
}
