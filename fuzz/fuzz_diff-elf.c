/*
** fuzz_diff-elf - the input is an ELF file: what we take for its functions is
** what libelf takes for them, by the same rules written a second time.
** libs: elf
** dict: elf
** longest: 16384
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "mutate_elf.h"
#include "fuzz_main.h"
#include "elfbuild.h"
#include "elfref.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  ljm_image img;
  ljt_ref ref;
  Elf *elf;
  char *copy;
  if (elf_version(EV_CURRENT) == EV_NONE) abort();
  if (ljm_image_open_memory(&img, data, size, NULL, NULL) != LJM_OK) return 0;
  copy = (char *)malloc(size); /* libelf changes what it reads. */
  if (!copy) abort();
  memcpy(copy, data, size);
  elf = elf_memory(copy, size);
  /* Only tables found by sections have a second opinion. */
  if (ljt_ref_open(&ref, elf) && !ref.odd && ref.count != 0)
    LJF_CHECK(ljt_ref_differs(&ref, &img) == SIZE_MAX);
  free(ref.v);
  elf_end(elf);
  free(copy);
  ljm_image_free(&img);
  return 0;
}
