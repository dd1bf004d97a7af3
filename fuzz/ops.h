/*
** ops.h - an input as calls of the encoders: what the targets roundtrip and
** sink share. Include ljmemprof.h before, with its implementation.
*/
#ifndef FUZZ_OPS_H
#define FUZZ_OPS_H

#include "ljtstream.h"

typedef struct ljf_ops {
  const uint8_t *data;
  size_t size, at;
} ljf_ops;

static inline unsigned ljf_byte(ljf_ops *o)
{
  return o->at < o->size ? o->data[o->at++] : 0;
}

/* A number whose width the input chooses. */
static inline uint64_t ljf_number(ljf_ops *o)
{
  uint64_t v = 0;
  unsigned i, n = ljf_byte(o) & 15;
  if (n >= 8) return n;
  for (i = 0; i <= n; i++) v = v << 8 | ljf_byte(o);
  return v;
}

/* Up to 300 bytes of the input. */
static inline const char *ljf_string(ljf_ops *o, size_t *size)
{
  const uint8_t *p;
  size_t n = ljf_byte(o);
  if (n > 250) n = (n - 250) * 60;
  if (n > o->size - o->at) n = o->size - o->at;
  p = o->data + o->at;
  o->at += n;
  *size = n;
  return (const char *)p;
}

static inline uint64_t ljf_clock(void *user)
{
  return *(uint64_t *)user;
}

/* -- Format 3; `text` gets what ljt_dump must find among the events */

static inline void ljf_where(ljf_ops *o, ljm_where *w, ljt_bytes *text,
                             const char *word)
{
  static const char *const names[] = {"", "internal", "lua", "c", "trace"};
  w->source = (ljm_source)(1 + (ljf_byte(o) & 3));
  w->address = ljf_number(o);
  w->line = ljf_number(o);
  ljt_text(text, "%s %s", word, names[w->source]);
  if (w->source != LJM_SOURCE_INTERNAL)
    ljt_text(text, " %" PRIu64, w->address);
  if (w->source == LJM_SOURCE_LUA) ljt_text(text, " %" PRIu64, w->line);
}

static inline void ljf_symbol3(ljm_encoder *e, ljf_ops *o, unsigned what,
                               ljt_bytes *text)
{
  uint64_t a = ljf_number(o) | 1, b = ljf_number(o), c = ljf_number(o);
  size_t size = 0;
  const char *name = ljf_string(o, &size);
  static const char *const words[] = {"proto", "csym", "trace"};
  ljt_text(text, "symbol %s %" PRIu64, words[what], a);
  if (what == 2) {
    ljm_encoder_trace(e, a, b, c);
    ljt_text(text, " %" PRIu64 " %" PRIu64 "\n", b, c);
    return;
  }
  ljt_text(text, " '");
  ljt_text_str(text, (const unsigned char *)name, size);
  ljt_text(text, "'");
  if (what == 1) {
    ljm_encoder_csym(e, a, name, size);
  } else {
    ljm_encoder_proto(e, a, name, size, b);
    ljt_text(text, " %" PRIu64, b);
  }
  ljt_text(text, "\n");
}

static inline void ljf_op3(ljm_encoder *e, ljf_ops *o, ljt_bytes *text,
                           uint64_t *now)
{
  unsigned op = ljf_byte(o) % 9;
  uint64_t a, n, b, k;
  ljm_where w;
  if (op < 3) {
    ljf_symbol3(e, o, op, text);
  } else if (op < 5) {
    ljf_where(o, &w, text, op == 3 ? "alloc" : "free");
    a = ljf_number(o) | 1;
    n = ljf_number(o);
    if (op == 3) ljm_encoder_alloc(e, &w, a, n);
    else ljm_encoder_dealloc(e, &w, a, n);
    ljt_text(text, " %" PRIu64 " %" PRIu64 "\n", a, n);
  } else if (op < 7) {
    ljf_where(o, &w, text, "realloc");
    a = ljf_number(o);
    n = ljf_number(o);
    b = ljf_number(o);
    k = ljf_number(o);
    ljm_encoder_realloc(e, &w, a, n, b, k);
    ljt_text(text, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", a, n,
             b, k);
  } else if (op == 7) {
    *now += ljf_number(o);
  } else {
    ljm_encoder_flush(e);
  }
}

/* -- Format 4; `text` gets the events' lines */

static inline void ljf_def4(ljm_encoder4 *e, ljf_ops *o)
{
  uint32_t a = (uint32_t)ljf_number(o), b = (uint32_t)ljf_number(o);
  uint64_t n = ljf_number(o), k = ljf_number(o);
  size_t size = 0;
  const char *s = ljf_string(o, &size);
  ljm_module m;
  switch (ljf_byte(o) % 13) {
  case 0: ljm_encoder4_string(e, s, size); break;
  case 1:
    m.path = a;
    m.build_id = s;
    m.build_id_size = size;
    m.base = n;
    m.size = k;
    m.bias = b;
    ljm_encoder4_module(e, &m);
    break;
  case 2: ljm_encoder4_csym(e, a, n, k, b); break;
  case 3: ljm_encoder4_function(e, a, n, k); break;
  case 4: ljm_encoder4_frame_lua(e, a, n); break;
  case 5: ljm_encoder4_frame_c(e, n, a, b); break;
  case 6: ljm_encoder4_frame_vm(e, (ljm_state)(a % 11)); break;
  case 7: ljm_encoder4_frame_jit(e, n, a); break;
  case 8: ljm_encoder4_frame_fast(e, a); break;
  case 9: ljm_encoder4_frame_gap(e, (ljm_gap)(1 + a % 6)); break;
  case 10: ljm_encoder4_stack(e, a, b); break;
  case 11:
    ljm_encoder4_site(e, a, (ljm_state)(b % 11), (ljm_object)(n % 18));
    break;
  default: ljm_encoder4_trace(e, n, a); break;
  }
}

#define LJF_U " %" PRIu64

static inline void ljf_other4(ljm_encoder4 *e, ljf_ops *o, ljt_bytes *text,
                              uint64_t *now)
{
  uint32_t a = (uint32_t)ljf_number(o) & 16777215u;
  uint64_t n = ljf_number(o), k = ljf_number(o), i = ljf_number(o);
  ljm_mark m;
  switch (ljf_byte(o) % 8) {
  case 0:
    ljm_encoder4_alloc_failed(e, a, n);
    ljt_text(text, "alloc-failed %u" LJF_U "\n", a, n);
    break;
  case 1:
    ljm_encoder4_realloc_failed(e, a, n, k, i);
    ljt_text(text, "realloc-failed %u" LJF_U LJF_U LJF_U "\n", a, n, k, i);
    break;
  case 2:
    m.reason = LJM_MARK_FLUSH;
    m.label = a;
    m.gc_total = n;
    m.gc_threshold = k;
    m.rss = i;
    ljt_text(text, "mark 2 %u" LJF_U LJF_U LJF_U LJF_U "\n", a, *now, n, k,
             i);
    ljm_encoder4_mark(e, &m);
    break;
  case 3:
    ljm_encoder4_loaded(e, a);
    ljt_text(text, "loaded %u\n", a);
    break;
  case 4:
    ljm_encoder4_unloaded(e, a);
    ljt_text(text, "unloaded %u\n", a);
    break;
  case 5:
    ljm_encoder4_dropped(e, n, k);
    ljt_text(text, "dropped" LJF_U LJF_U "\n", n, k);
    break;
  case 6: *now += n; break;
  default: ljm_encoder4_flush(e); break;
  }
}

static inline void ljf_op4(ljm_encoder4 *e, ljf_ops *o, ljt_bytes *text,
                           uint64_t *now)
{
  unsigned op = ljf_byte(o) % 8;
  uint32_t site;
  uint64_t a, n, b, k, w;
  if (op == 0) { ljf_other4(e, o, text, now); return; }
  if (op == 1) { ljf_def4(e, o); return; }
  site = (uint32_t)ljf_number(o) & 16777215u;
  a = ljf_number(o) | 1;
  n = ljf_number(o);
  if (op < 4) {
    ljm_encoder4_dealloc(e, site, a, n);
    ljt_text(text, "free %u" LJF_U LJF_U "\n", site, a, n);
    return;
  }
  w = op & 1 ? ljf_number(o) : 0;
  if (w) ljt_text(text, "weight" LJF_U "\n", w);
  if (op < 6) {
    if (w) ljm_encoder4_alloc_sample(e, site, a, n, w);
    else ljm_encoder4_alloc(e, site, a, n);
    ljt_text(text, "alloc %u" LJF_U LJF_U "\n", site, a, n);
    return;
  }
  b = ljf_number(o);
  k = ljf_number(o);
  if (w) ljm_encoder4_realloc_sample(e, site, a, n, b, k, w);
  else ljm_encoder4_realloc(e, site, a, n, b, k);
  ljt_text(text, "realloc %u" LJF_U LJF_U LJF_U LJF_U "\n", site, a, n, b, k);
}

static inline ljm_encoder_options ljf_options(uint64_t *now)
{
  ljm_encoder_options o;
  memset(&o, 0, sizeof(o));
  o.buffer_size = 4096;
  o.stream_id = 1;
  o.clock = ljf_clock;
  o.clock_user = now;
  o.max_stacks = 100;
  return o;
}

/* The whole input as one stream into `sink`; the events' text is added. What
** finish said; errors before it too. */
static inline ljm_error ljf_stream3(const uint8_t *data, size_t size,
                                    const ljm_sink *sink, ljt_bytes *text,
                                    ljm_encoder *e)
{
  ljf_ops ops = {NULL, 0, 0};
  uint64_t now = 5;
  ljm_encoder_options o = ljf_options(&now);
  ljm_error err;
  ops.data = data;
  ops.size = size;
  if (ljm_encoder_init(e, sink, &o) != LJM_OK) abort();
  ljm_encoder_open(e);
  while (ops.at < size) ljf_op3(e, &ops, text, &now);
  ljm_encoder_finish(e);
  err = e->b.out.error;
  ljm_encoder_free(e);
  return err;
}

static inline ljm_error ljf_stream4(const uint8_t *data, size_t size,
                                    const ljm_sink *sink, ljt_bytes *text,
                                    ljm_encoder4 *e)
{
  static const ljm_meta meta[] = {{"arch", "x64"}};
  ljf_ops ops = {NULL, 0, 0};
  uint64_t now = 0;
  ljm_encoder_options o = ljf_options(&now);
  ljm_error err;
  ops.data = data;
  ops.size = size;
  if (ljm_encoder4_init(e, sink, &o, meta, 1) != LJM_OK) abort();
  while (ops.at < size) ljf_op4(e, &ops, text, &now);
  ljm_encoder4_finish(e, LJM_END_STOPPED, 1);
  err = e->b.out.error;
  ljm_encoder4_free(e);
  return err;
}

#endif /* FUZZ_OPS_H */
