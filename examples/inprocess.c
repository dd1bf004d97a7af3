/*
** inprocess - the writer's bytes go straight into the parser: a program looks
** at its own recording while it runs.
**
** Prints, every hundred events, how much is held and by how many blocks:
**   100 events: 3200 bytes in 50 blocks
**   200 events: 6400 bytes in 100 blocks
**   300 events: 9600 bytes in 150 blocks
** and at the end the report.
*/
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljparse.h"

#include <inttypes.h>
#include <stdio.h>

static ptrdiff_t into_parser(void *user, const void *data, size_t size)
{
  ljp_status st = ljp_profile_feed((ljp_profile *)user, data, size);
  return st > LJP_MORE ? -(ptrdiff_t)EIO : (ptrdiff_t)size;
}

static int print(void *user, const void *data, size_t size)
{
  return fwrite(data, 1, size, (FILE *)user) == size ? 0 : -1;
}

static void look(const ljp_profile *p)
{
  ljp_totals t;
  ljp_aggregate_totals(ljp_profile_aggregate(p), &t);
  printf("%" PRIu64 " events: %" PRIu64 " bytes in %" PRIu64 " blocks\n",
         t.events, t.live_size, t.live_count);
}

int main(void)
{
  static ljm_encoder4 e;
  ljp_profile *profile = NULL;
  ljm_sink sink = {into_parser, NULL, NULL};
  uint32_t site, i;
  if (ljp_profile_new(&profile, NULL) != LJP_OK) return 1;
  sink.user = profile;
  if (ljm_encoder4_init(&e, &sink, NULL, NULL, 0) != LJM_OK) return 1;
  site = ljm_encoder4_function(&e, ljm_encoder4_string(&e, "@a.lua", 6), 1, 9);
  site = ljm_encoder4_frame_lua(&e, site, 3);
  site = ljm_encoder4_site(&e, ljm_encoder4_stack(&e, 0, site),
                           LJM_STATE_INTERP, LJM_OBJECT_TABLE);
  for (i = 1; i <= 300; i++) {
    if (i % 4 == 0) ljm_encoder4_dealloc(&e, site, i * 64 - 128, 64);
    else ljm_encoder4_alloc(&e, site, i * 64, 64);
    if (i % 100) continue;
    ljm_encoder4_flush(&e);
    look(profile);
  }
  if (ljm_encoder4_finish(&e, LJM_END_STOPPED, 0) != LJM_OK) return 1;
  ljm_encoder4_free(&e);
  if (ljp_profile_finish(profile) != LJP_END) return 1;
  ljp_profile_report(profile, LJP_TEXT, NULL, print, stdout);
  ljp_profile_free(profile);
  return 0;
}
