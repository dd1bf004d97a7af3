/*
** test_elf_libelf - every ELF executable and library under the folders named
** has the same functions for us and for libelf, in the same order.
** test_elf_libelf all_files DIR...; --stride=N takes every Nth file. A folder
** without such a file is a failure.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"
#include "elfbuild.h"
#include "elfref.h"

#include <fcntl.h>
#include <ftw.h>
#include <unistd.h>

static uint64_t files, seen, symbols, odd;

/* Is it an ELF executable or library? */
static int wanted(const char *path)
{
  unsigned char h[20];
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(h, 1, sizeof(h), f) : 0;
  unsigned type;
  if (f) fclose(f);
  if (n < sizeof(h) || memcmp(h, "\177ELF", 4) != 0) return 0;
  type = h[5] == 2 ? (unsigned)h[16] << 8 | h[17]
                   : (unsigned)h[17] << 8 | h[16];
  return (type == ET_EXEC || type == ET_DYN) && h[4] >= 1 && h[4] <= 2 &&
         h[5] >= 1 && h[5] <= 2;
}

static void compare(const char *path, const ljm_image *img)
{
  ljt_ref ref;
  size_t at;
  int fd = open(path, O_RDONLY);
  Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
  if (LJT_OK(ljt_ref_open(&ref, elf))) {
    size_t sections = 0;
    symbols += ref.count;
    elf_getshdrnum(elf, &sections);
    if (ref.odd || sections == 0) {
      odd++;
    } else {
      at = ljt_ref_differs(&ref, img);
      if (!LJT_EQ(at, SIZE_MAX))
        printf("  %s: symbol %zu of %zu (we have %zu): %s\n", path, at,
               ref.count, img->count,
               at < ref.count ? ref.v[at].name : "(none)");
    }
  }
  free(ref.v);
  if (elf) elf_end(elf);
  if (fd >= 0) close(fd);
}

static int visit(const char *path, const struct stat *st, int kind,
                 struct FTW *ftw)
{
  ljm_image img;
  (void)ftw;
  if (kind != FTW_F || !S_ISREG(st->st_mode) || !wanted(path)) return 0;
  if (seen++ % ljt.stride != 0) return 0;
  files++;
  if (LJT_EQ(ljm_image_open_path(&img, path, NULL, NULL), LJM_OK)) {
    LJT_STR(ljt_check_image(&img, 1 + img.count / 16), NULL);
    compare(path, &img);
    ljm_image_free(&img);
  } else {
    printf("  %s: %s at %" PRIu64 "\n", path, ljm_status_text(img.error.status),
           img.error.offset);
  }
  return 0;
}

static void all_files(void)
{
  int i;
  for (i = 1; i < ljt.argc; i++) {
    uint64_t before = files;
    if (ljt.argv[i][0] != '/') continue;
    nftw(ljt.argv[i], visit, 32, FTW_PHYS);
    if (!LJT_OK(files > before)) printf("  none under %s\n", ljt.argv[i]);
  }
  LJT_OK(files > 0);
  printf("%" PRIu64 " files, %" PRIu64 " functions; %" PRIu64
         " files not compared (no sections, or larger entries)\n", files,
         symbols, odd);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  if (elf_version(EV_CURRENT) == EV_NONE) return 2;
  ljt_run("all_files", all_files);
  return ljt_end();
}
