/*
** ljtgen4.h - random format 4 streams by the encoder. Include ljmemprof.h
** with its implementation before.
*/
#ifndef LJTGEN4_H
#define LJTGEN4_H

#include "ljtest.h"
#include "ljtsink.h"

static inline uint64_t ljt_gen_clock(void *user)
{
  (void)user;
  return 0;
}

/* Small ones, large ones, edges. */
static inline uint64_t ljt_gen_number(ljt_rng *r)
{
  uint64_t v = ljt_rand(r) >> ljt_below(r, 64);
  return ljt_below(r, 8) ? v : UINT64_MAX - (v & 3);
}

static inline uint64_t ljt_gen_address(ljt_rng *r)
{
  uint64_t base = UINT64_C(0x7f1200000000);
  switch (ljt_below(r, 4)) {
  case 0: return base + ljt_below(r, 64) * 16;
  case 1: return base + ljt_below(r, 100000) * 8;
  case 2: return base + ljt_below(r, 100000000) + 1;
  default: return ljt_gen_number(r) | 1;
  }
}

static inline void ljt_gen_def(ljm_encoder4 *e, ljt_rng *r)
{
  char name[32];
  ljm_module m;
  uint32_t a = (uint32_t)ljt_below(r, 20), b = (uint32_t)ljt_below(r, 9);
  uint64_t n = ljt_gen_number(r);
  size_t i, size = (size_t)ljt_below(r, sizeof(name));
  for (i = 0; i < size; i++) name[i] = (char)ljt_rand(r);
  switch (ljt_below(r, 12)) {
  case 0:
    memset(&m, 0, sizeof(m));
    m.path = a;
    m.build_id = name;
    m.build_id_size = size;
    m.base = n;
    ljm_encoder4_module(e, &m);
    break;
  case 1: ljm_encoder4_csym(e, a, n, b, a); break;
  case 2: ljm_encoder4_function(e, a, b, n); break;
  case 3: ljm_encoder4_frame_lua(e, a, b); break;
  case 4: ljm_encoder4_frame_c(e, n, a, b); break;
  case 5: ljm_encoder4_frame_vm(e, (ljm_state)b); break;
  case 6: ljm_encoder4_frame_jit(e, n, a); break;
  case 7: ljm_encoder4_frame_fast(e, a); break;
  case 8: ljm_encoder4_frame_gap(e, (ljm_gap)(1 + b % 6)); break;
  case 9: ljm_encoder4_trace(e, n, a); break;
  case 10: ljm_encoder4_string(e, name, size); break;
  default:
    a = ljm_encoder4_stack(e, (uint32_t)ljt_below(r, e->stacks.count), a + 1);
    ljm_encoder4_site(e, a, (ljm_state)b, (ljm_object)(n % 18));
    break;
  }
}

static inline void ljt_gen_event(ljm_encoder4 *e, ljt_rng *r)
{
  uint32_t site = (uint32_t)ljt_gen_number(r) & 16777215u;
  uint64_t a = ljt_gen_address(r), b = ljt_gen_address(r);
  uint64_t n = ljt_gen_number(r), k = ljt_gen_number(r);
  ljm_mark mark;
  switch (ljt_below(r, 14)) {
  case 0: ljm_encoder4_alloc_failed(e, site, n); break;
  case 1: ljm_encoder4_realloc_failed(e, site, a, n, k); break;
  case 2:
    memset(&mark, 0, sizeof(mark));
    mark.reason = LJM_MARK_PROGRAM;
    mark.label = site;
    mark.rss = n;
    ljm_encoder4_mark(e, &mark);
    break;
  case 3: ljm_encoder4_loaded(e, site); break;
  case 4: ljm_encoder4_unloaded(e, site); break;
  case 5: ljm_encoder4_alloc_sample(e, site, a, n, k | 1); break;
  case 6: ljm_encoder4_realloc_sample(e, site, a, n, b, k, k | 1); break;
  case 7: ljm_encoder4_realloc(e, site, a, n, b, k); break;
  case 8: ljm_encoder4_dropped(e, 1, n); break;
  case 9: case 10: ljm_encoder4_dealloc(e, site, a, n); break;
  default: ljm_encoder4_alloc(e, site, a, n); break;
  }
}

/* `count` random records into `s`, which is set up; blocks of up to
** `buffer_size`. False: the encoder failed. */
static inline int ljt_gen4(ljt_sink *s, uint64_t seed, size_t count,
                           size_t buffer_size)
{
  static const ljm_meta meta[] = {{"arch", "x64"}, {"tree", "random"}};
  ljm_encoder4 e;
  ljm_encoder_options o;
  ljt_rng r = ljt_rng_make(seed);
  ljm_sink sink = ljt_sink_make(s);
  size_t i;
  ljm_status st;
  memset(&o, 0, sizeof(o));
  o.buffer_size = buffer_size;
  o.clock = ljt_gen_clock;
  o.stream_id = (uint32_t)seed + 1;
  if (ljm_encoder4_init(&e, &sink, &o, meta, 2) != LJM_OK) return 0;
  for (i = 0; i < count; i++) {
    if (ljt_below(&r, 10) < 3) ljt_gen_def(&e, &r);
    else ljt_gen_event(&e, &r);
    if (ljt_below(&r, 400) == 0) ljm_encoder4_flush(&e);
  }
  for (i = 0; i < count / 10; i++)
    ljm_encoder4_live(&e, (ljm_object)ljt_below(&r, 18), ljt_gen_address(&r));
  st = ljm_encoder4_finish(&e, LJM_END_STOPPED, count);
  ljm_encoder4_free(&e);
  return st == LJM_OK;
}

#endif /* LJTGEN4_H */
