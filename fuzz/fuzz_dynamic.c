/*
** fuzz_dynamic - the input is a module in memory: its program headers, its
** dynamic section, hash tables and symbols, at several biases.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "mutate_elf.h"
#include "fuzz_main.h"
#include "elfbuild.h"

/* Opens it at a bias; every symbol lies in the module. */
static void ljf_at(const uint8_t *data, size_t size, uint64_t bias,
                   uint64_t fail_at)
{
  ljm_allocator a;
  ljm_memory mem;
  ljm_image img;
  ljm_symbol sym;
  ljm_status status;
  ljt_heap heap;
  size_t i;
  memset(&heap, 0, sizeof(heap));
  heap.fail_at = fail_at;
  a.alloc = ljt_heap_alloc;
  a.realloc = ljt_heap_realloc;
  a.free = ljt_heap_free;
  a.user = &heap;
  LJF_CHECK(ljmi_memory_init(&mem, &a, UINT64_C(1) << 28) == LJM_OK);
  status = ljt_open_mapped(&img, &mem, data, size, bias, NULL);
  LJF_CHECK(heap.peak_size < 131072 + 16 * (uint64_t)size);
  LJF_CHECK(status == LJM_OK || status == LJM_E_MALFORMED ||
            status == LJM_E_TRUNCATED || status == LJM_E_UNSUPPORTED ||
            status == LJM_E_LIMIT || status == LJM_E_IO ||
            (status == LJM_E_NOMEM && fail_at != 0));
  if (status == LJM_OK) {
    LJF_CHECK(ljt_check_image(&img, 1 + img.count / 32) == NULL);
    LJF_CHECK(img.from == (img.count ? LJM_FROM_MEMORY : LJM_FROM_NONE));
    for (i = 0; ljm_image_symbol(&img, i, &sym) == LJM_OK; i++)
      LJF_CHECK(sym.name_size < size);
  }
  ljm_image_free(&img);
  LJF_CHECK(heap.live_count == 0 && heap.bad_frees == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t hash = ljf_hash(data, size);
  ljf_at(data, size, 0, 0);
  ljf_at(data, size, hash & 0x7ffffffff000u, 0);
  ljf_at(data, size, hash & 1 ? 0 - (hash >> 40 << 12) : 0x40000000,
         1 + (hash >> 8) % 16);
  return 0;
}
