/*
** ljtmem.h - the writer's allocator with memory that is counted and can fail;
** after ljmemprof.h.
*/
#ifndef LJTMEM_H
#define LJTMEM_H

#include "ljtest.h"

static inline ljm_allocator ljt_allocator(ljt_heap *heap)
{
  ljm_allocator a;
  a.alloc = ljt_heap_alloc;
  a.realloc = ljt_heap_realloc;
  a.free = ljt_heap_free;
  a.user = heap;
  return a;
}

/* Empties `heap`; where it fails is set after this. */
static inline ljm_allocator ljt_fresh_allocator(ljt_heap *heap)
{
  memset(heap, 0, sizeof(*heap));
  return ljt_allocator(heap);
}

#endif /* LJTMEM_H */
