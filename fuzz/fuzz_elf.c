/*
** fuzz_elf - the input is an ELF file. Whole, through short reads, and under
** small limits it gives the same, or a clean refusal; what is found is what a
** linear search finds; memory stays within a small factor of the input.
** longest: 16384
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "mutate_elf.h"
#include "fuzz_main.h"
LJF_UNCOVERED_BEGIN
#include "elfbuild.h"

/* A part of the input, a few bytes at a time. */
typedef struct ljf_reader {
  const uint8_t *data;
  size_t size, most;
} ljf_reader;

static ptrdiff_t ljf_read(void *user, uint64_t off, void *data, size_t size)
{
  const ljf_reader *r = (const ljf_reader *)user;
  if (off >= r->size) return 0;
  if (size > r->most) size = r->most;
  if (size > r->size - off) size = (size_t)(r->size - off);
  memcpy(data, r->data + off, size);
  return (ptrdiff_t)size;
}

static void ljf_allocator(ljm_allocator *a, ljt_heap *heap)
{
  memset(heap, 0, sizeof(*heap));
  a->alloc = ljt_heap_alloc;
  a->realloc = ljt_heap_realloc;
  a->free = ljt_heap_free;
  a->user = heap;
}

static int ljf_allowed(ljm_status status)
{
  return status == LJM_OK || status == LJM_E_MALFORMED ||
         status == LJM_E_TRUNCATED || status == LJM_E_UNSUPPORTED ||
         status == LJM_E_LIMIT;
}

/* The same symbols? */
static int ljf_equal(const ljm_image *a, const ljm_image *b)
{
  size_t i;
  if (a->count != b->count || a->from != b->from || a->skipped != b->skipped)
    return 0;
  for (i = 0; i < a->count; i++) {
    ljm_symbol x, y;
    ljm_image_symbol(a, i, &x);
    ljm_image_symbol(b, i, &y);
    if (x.vaddr != y.vaddr || x.size != y.size || strcmp(x.name, y.name) != 0)
      return 0;
  }
  return 1;
}

/* Opens it once more, through `r`, with one more burden; never better. */
static void ljf_again(const ljm_image *img, ljm_status want, ljf_reader *r,
                      uint64_t hash)
{
  ljm_elf_limits limits;
  ljm_reader reader;
  ljm_allocator a;
  ljm_image other;
  ljm_status status;
  ljt_heap heap;
  ljf_allocator(&a, &heap);
  memset(&limits, 0, sizeof(limits));
  switch (hash & 3) {
  case 1: heap.fail_at = 1 + (hash >> 8) % 12; break;
  case 2: limits.memory_size = 1 + (hash >> 8) % 70000; break;
  case 3:
    limits.section_count = 1 + (hash >> 8) % 32;
    limits.symbol_count = 1 + (hash >> 16) % 64;
    break;
  default: break;
  }
  reader.read = ljf_read;
  reader.user = r;
  reader.size = r->size;
  status = ljm_image_open(&other, &reader, &a, &limits);
  if (status == want && status == LJM_OK)
    LJF_CHECK(ljf_equal(img, &other));
  else if ((hash & 3) == 0)
    LJF_CHECK(status == want && other.error.offset == img->error.offset);
  else
    LJF_CHECK(status == want || status == LJM_E_LIMIT ||
              status == LJM_E_NOMEM);
  ljm_image_free(&other);
  LJF_CHECK(heap.live_count == 0 && heap.bad_frees == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t hash = ljf_hash(data, size);
  ljm_allocator a;
  ljm_image img;
  ljm_status status;
  ljf_reader r;
  ljt_heap heap;
  ljf_allocator(&a, &heap);
  status = ljm_image_open_memory(&img, data, size, &a, NULL);
  LJF_CHECK(ljf_allowed(status));
  LJF_CHECK(heap.peak_size < 65536 + 16 * (uint64_t)size);
  if (status == LJM_OK)
    LJF_CHECK(ljt_check_image(&img, 1 + img.count / 32) == NULL);
  else
    LJF_CHECK(img.error.status == status && heap.live_count == 0);
  r.data = data;
  r.size = size;
  r.most = 1 + (size_t)(hash >> 32) % 5000;
  ljf_again(&img, status, &r, hash >> 2 & ~UINT64_C(3));
  ljf_again(&img, status, &r, hash | 1);
  ljf_again(&img, status, &r, (hash | 1) ^ 3);
  ljm_image_free(&img);
  LJF_CHECK(heap.live_count == 0 && heap.bad_frees == 0);
  return 0;
}

LJF_UNCOVERED_END
