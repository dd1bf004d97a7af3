/*
** ljtheap.h - the parser's options with memory that is counted and can fail;
** after ljparse.h.
*/
#ifndef LJTHEAP_H
#define LJTHEAP_H

#include "ljtest.h"

/* Empties `heap`; where it fails is set after this. */
static inline ljp_options ljt_heap_options(ljt_heap *heap)
{
  ljp_options o;
  memset(&o, 0, sizeof(o));
  memset(heap, 0, sizeof(*heap));
  o.allocator.alloc = ljt_heap_alloc;
  o.allocator.realloc = ljt_heap_realloc;
  o.allocator.free = ljt_heap_free;
  o.allocator.user = heap;
  return o;
}

#endif /* LJTHEAP_H */
