/*
** afl_mutator.c - a mutate_*.h as AFL++'s custom mutator library:
**   cc -shared -fPIC -DLJF_MUTATOR_ONLY -include mutate_X.h afl_mutator.c
** fuzz/run.sh builds it and sets AFL_CUSTOM_MUTATOR_LIBRARY.
*/
#include "fuzz_main.h"

typedef struct ljf_afl {
  ljt_rng rng;
  uint8_t *buf;
  size_t cap;
} ljf_afl;

ljf_afl *afl_custom_init(void *afl, unsigned int seed);
size_t afl_custom_fuzz(ljf_afl *m, uint8_t *buf, size_t buf_size,
                       uint8_t **out, uint8_t *add, size_t add_size,
                       size_t max_size);
void afl_custom_deinit(ljf_afl *m);

ljf_afl *afl_custom_init(void *afl, unsigned int seed)
{
  ljf_afl *m = (ljf_afl *)calloc(1, sizeof(*m));
  (void)afl;
  if (m) m->rng = ljt_rng_make(seed);
  return m;
}

size_t afl_custom_fuzz(ljf_afl *m, uint8_t *buf, size_t buf_size,
                       uint8_t **out, uint8_t *add, size_t add_size,
                       size_t max_size)
{
  (void)add;
  (void)add_size;
  if (max_size > m->cap) {
    uint8_t *p = (uint8_t *)realloc(m->buf, max_size);
    if (!p) return 0;
    m->buf = p;
    m->cap = max_size;
  }
  if (buf_size > max_size) buf_size = max_size;
  memcpy(m->buf, buf, buf_size);
  *out = m->buf;
  return ljf_mutate(m->buf, buf_size, max_size, &m->rng);
}

void afl_custom_deinit(ljf_afl *m)
{
  free(m->buf);
  free(m);
}
