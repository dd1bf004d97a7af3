/*
** write - a recording of one's own allocator, without any LuaJIT.
**
** Writes "write.bin": two call paths, a block that leaks, a mark. Prints
**   wrote 490 bytes, 5 events
** and `ljparse write.bin` then shows that cache.lua:7 holds 4096 bytes.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include <inttypes.h>
#include <stdio.h>

static ljm_encoder4 encoder;

/* The stack of `line` in `function`, called from `caller`. */
static uint32_t call(uint32_t caller, uint32_t function, uint64_t line)
{
  return ljm_encoder4_stack(&encoder, caller,
                            ljm_encoder4_frame_lua(&encoder, function, line));
}

static void record(ljm_encoder4 *e)
{
  uint32_t main_chunk = ljm_encoder4_string(e, "@main.lua", 9);
  uint32_t cache_chunk = ljm_encoder4_string(e, "@cache.lua", 10);
  uint32_t run = ljm_encoder4_function(e, main_chunk, 0, 20);
  uint32_t put = ljm_encoder4_function(e, cache_chunk, 5, 9);
  uint32_t outer = call(0, run, 12);
  uint32_t entry = ljm_encoder4_site(e, call(outer, put, 7),
                                     LJM_STATE_INTERP, LJM_OBJECT_TABLE);
  uint32_t text = ljm_encoder4_site(e, outer, LJM_STATE_INTERP,
                                    LJM_OBJECT_STRING);
  ljm_mark mark = {LJM_MARK_PROGRAM, 0, 4224, 8192, 0};
  ljm_encoder4_alloc(e, entry, 0x10000, 64);
  ljm_encoder4_alloc(e, text, 0x10040, 32);
  ljm_encoder4_realloc(e, entry, 0x10000, 64, 0x20000, 4096);
  mark.label = ljm_encoder4_string(e, "loaded", 6);
  ljm_encoder4_mark(e, &mark);
  ljm_encoder4_dealloc(e, text, 0x10040, 32);
  ljm_encoder4_alloc_failed(e, entry, UINT64_C(1) << 40);
  ljm_encoder4_live(e, LJM_OBJECT_TABLE, 0x20000);
}

int main(int argc, char **argv)
{
  static const ljm_meta meta[] = {{"writer", "examples/write.c"}};
  ljm_file file;
  ljm_sink sink;
  ljm_error err;
  ljm_status st = ljm_file_open(&file, &sink, argc > 1 ? argv[1] : "write.bin",
                                NULL, &err);
  if (st == LJM_OK) {
    st = ljm_encoder4_init(&encoder, &sink, NULL, meta, 1);
    if (st != LJM_OK) sink.close(sink.user);
  }
  if (st == LJM_OK) {
    record(&encoder);
    st = ljm_encoder4_finish(&encoder, LJM_END_STOPPED, 4096);
    err = encoder.b.out.error;
  }
  if (st != LJM_OK) {
    fprintf(stderr, "%s: %s\n", ljm_status_text(st), strerror(err.sys_errno));
    return 1;
  }
  printf("wrote %" PRIu64 " bytes, %" PRIu64 " events\n",
         encoder.b.out.written, encoder.totals.allocs + encoder.totals.frees +
         encoder.totals.reallocs + encoder.totals.failed);
  ljm_encoder4_free(&encoder);
  return 0;
}
