/*
** seeds.c - writes the seeds of the stream targets into a folder: formats 1
** to 3 by the tests' own encoder and by the writer, format 4 by the writer.
**   cc -I.. -I../tests seeds.c -o seeds && ./seeds corpus/stream
** Deterministic; the result is committed.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljtsink.h"
#include "ljtstream.h"

static const char *folder;

static void save(const char *name, const void *data, size_t size)
{
  char path[1024];
  FILE *f;
  snprintf(path, sizeof(path), "%s/%s.bin", folder, name);
  f = fopen(path, "wb");
  if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
    perror(path);
    exit(1);
  }
}

/* -- Formats 1 to 3 ----------------------------------------------------- */

static void numbers(ljt_bytes *b, unsigned count, const uint64_t *v)
{
  while (count--) ljt_u(b, *v++);
}

static void trace_symbol(ljt_bytes *b, int mcode)
{
  ljt_u(b, 1);
  if (mcode) ljt_u(b, 0x7fff1000);
  ljt_u(b, 0x41000);
  ljt_u(b, 3);
}

/* Alloc, realloc, free of one block at one place. */
static void three_events(ljt_bytes *b, unsigned source, unsigned where,
                         const uint64_t *place, uint64_t at)
{
  uint64_t v[4] = {0, 32, 0, 64};
  v[0] = at;
  v[2] = at + 64;
  ljt_b(b, source << 2 | 1);
  numbers(b, where, place);
  numbers(b, 2, v);
  ljt_b(b, source << 2 | 3);
  numbers(b, where, place);
  numbers(b, 4, v);
  ljt_b(b, source << 2 | 2);
  numbers(b, where, place);
  numbers(b, 2, v + 2);
}

static void old_stream(const char *name, unsigned ljs, unsigned ljm, int mcode)
{
  static const uint64_t lua[] = {0x41000, 7}, c[] = {0x55555010},
                        trace[] = {1, 0x7fff1000};
  ljt_bytes b = {NULL, 0, 0};
  ljt_raw(&b, "ljs", 3);
  ljt_le(&b, ljs, 4);
  ljt_b(&b, 0);
  ljt_u(&b, 0x41000);
  ljt_str(&b, "@a.lua");
  ljt_u(&b, 1);
  if (ljs == 2) {
    ljt_b(&b, 1);
    trace_symbol(&b, mcode);
  }
  if (ljs == 3) {
    ljt_b(&b, 1);
    ljt_u(&b, 0x55555000);
    ljt_str(&b, "lj_f");
    ljt_b(&b, 2);
    trace_symbol(&b, mcode);
  }
  ljt_raw(&b, "\x80ljm", 4);
  ljt_le(&b, ljm, 4);
  three_events(&b, 1, 0, NULL, 0x7f0000001000);
  three_events(&b, 2, 2, lua, 0x7f0000002000);
  three_events(&b, 3, 1, c, 0x7f0000003000);
  if (ljm > 1) three_events(&b, 4, mcode ? 2 : 1, trace, 0x7f0000004000);
  if (ljm == 3) {
    ljt_b(&b, 2 << 2);
    ljt_u(&b, 0x42000);
    ljt_str(&b, "return 1\n-- two lines");
    ljt_u(&b, 0);
    ljt_b(&b, 4 << 2);
    trace_symbol(&b, mcode);
    ljt_b(&b, 1); /* A stray record. */
    ljt_u(&b, 0x55555000);
    ljt_str(&b, "lj_g");
  }
  ljt_b(&b, 0x80);
  save(name, b.data, b.size);
  ljt_bytes_free(&b);
}

static void written3(void)
{
  static const char name[] = "=\"<\x1b\xff&;%s'\\";
  ljm_encoder e;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljm_where w = {LJM_SOURCE_LUA, 0x41000, 9};
  ljm_encoder_init(&e, &sink, NULL);
  ljm_encoder_proto(&e, 0x41000, name, sizeof(name) - 1, 1);
  ljm_encoder_open(&e);
  ljm_encoder_csym(&e, 0x400100, "malloc_hook", 11);
  ljm_encoder_alloc(&e, &w, 0x1000, 48);
  ljm_encoder_alloc(&e, &w, 0x1000, 49); /* Never freed. */
  w.source = LJM_SOURCE_C;
  w.address = 0x400100;
  ljm_encoder_realloc(&e, &w, 0x1000, 49, 0x2000, UINT64_C(1) << 40);
  ljm_encoder_realloc(&e, &w, 0x2000, UINT64_C(1) << 40, 0, UINT64_MAX);
  ljm_encoder_dealloc(&e, &w, 0x9999, 5); /* Never seen made. */
  ljm_encoder_finish(&e);
  save("written3", s.data, s.size);
  ljm_encoder_free(&e);
  ljt_sink_free(&s);
}

/* -- Format 4 ----------------------------------------------------------- */

static uint64_t tick(void *user)
{
  uint64_t *t = (uint64_t *)user;
  return *t += 1000;
}

/* Sites of every kind of frame; their number in *count. */
static void sites(ljm_encoder4 *e, uint32_t *site, size_t *count)
{
  ljm_module m;
  uint32_t frame[12], n = 0, stack = 0, lua, module, csym, i;
  memset(&m, 0, sizeof(m));
  m.path = ljm_encoder4_string(e, "/usr/lib/liba.so", 16);
  m.build_id = "\1\2\3\4\5\6\7\x8";
  m.build_id_size = 8;
  m.base = 0x7f0010000000;
  m.size = 0x20000;
  m.bias = m.base;
  module = ljm_encoder4_module(e, &m);
  csym = ljm_encoder4_csym(e, module, 0x7f0010001000, 64,
                           ljm_encoder4_string(e, "a_new", 5));
  lua = ljm_encoder4_function(e, ljm_encoder4_string(e, "@a.lua", 6), 1, 9);
  frame[n++] = ljm_encoder4_frame_lua(e, lua, 3);
  frame[n++] = ljm_encoder4_frame_lua(e, lua, 4);
  frame[n++] = ljm_encoder4_frame_c(e, 0x7f0010001010, csym, module);
  frame[n++] = ljm_encoder4_frame_c(e, 0x7f0010009000, 0, module);
  frame[n++] = ljm_encoder4_frame_vm(e, LJM_STATE_GC);
  frame[n++] = ljm_encoder4_frame_fast(e, ljm_encoder4_string(e, "insert", 6));
  frame[n++] = ljm_encoder4_frame_gap(e, LJM_GAP_RESUMED);
  frame[n++] = ljm_encoder4_frame_jit(e, 1,
                                      ljm_encoder4_trace(e, 1, frame[0]));
  ljm_encoder4_loaded(e, module);
  for (i = 0; i < n; i++) {
    stack = ljm_encoder4_stack(e, i % 3 ? stack : 0, frame[i]);
    site[i] = ljm_encoder4_site(e, stack, (ljm_state)i, (ljm_object)(2 * i));
  }
  ljm_encoder4_unloaded(e, module);
  *count = n;
}

static void events4(ljm_encoder4 *e, size_t rounds)
{
  uint32_t site[12];
  size_t count, i;
  ljm_mark mark = {LJM_MARK_PROGRAM, 0, 1000, 2000, 4096};
  sites(e, site, &count);
  for (i = 0; i < rounds; i++) {
    uint64_t at = 0x7f0020000000 + 64 * i, n = 16 + i % 300;
    ljm_encoder4_alloc(e, site[i % count], at, n);
    if (i % 3 == 0) ljm_encoder4_dealloc(e, site[1], at, n);
    if (i % 3 == 1)
      ljm_encoder4_realloc(e, site[2], at, n, at + (1 << 20), n * 2);
  }
  ljm_encoder4_alloc_failed(e, site[0], UINT64_C(1) << 50);
  ljm_encoder4_realloc_failed(e, site[1], 0x7f0020000080, 20, 1 << 30);
  ljm_encoder4_alloc_sample(e, site[2], 0x5001, 100, 524288);
  mark.label = ljm_encoder4_string(e, "here", 4);
  ljm_encoder4_mark(e, &mark);
  ljm_encoder4_dropped(e, 3, 300);
  ljm_encoder4_live(e, LJM_OBJECT_TABLE, 0x7f0020000080);
}

static void written4(const char *name, size_t rounds, size_t flushes)
{
  static const ljm_meta meta[] = {{"arch", "x64"}, {"sample", "0"}};
  ljm_encoder_options o;
  ljm_encoder4 e;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  uint64_t now = 0;
  size_t i;
  memset(&o, 0, sizeof(o));
  o.stream_id = 1;
  o.flush_ns = UINT64_MAX;
  o.clock = tick;
  o.clock_user = &now;
  ljm_encoder4_init(&e, &sink, &o, meta, 2);
  for (i = 0; i < flushes; i++) ljm_encoder4_flush(&e);
  events4(&e, rounds);
  for (i = 0; i < flushes; i++) ljm_encoder4_flush(&e);
  ljm_encoder4_finish(&e, LJM_END_STOPPED, 12345);
  save(name, s.data, s.size);
  /* Cut in the last block; damaged in the first. */
  if (flushes && s.size > 100) {
    save("cut4", s.data, s.size - 20);
    s.data[60] ^= 1;
    save("damaged4", s.data, s.size);
  }
  ljm_encoder4_free(&e);
  ljt_sink_free(&s);
}

int main(int argc, char **argv)
{
  folder = argc > 1 ? argv[1] : ".";
  old_stream("v1v1", 1, 1, 0);
  old_stream("v1v2", 1, 2, 1);
  old_stream("v2v2", 2, 2, 1);
  old_stream("v2v3-mcode", 2, 3, 1);
  old_stream("v2v3-plain", 2, 3, 0);
  old_stream("v3v3", 3, 3, 0);
  written3();
  written4("written4", 4, 0);
  written4("blocks4", 12, 2);
  save("empty4", "ljs\4\0\0\0ljm\4\0\0\0", 14);
  save("version5", "ljs\5\0\0\0", 7);
  return 0;
}
