/* frames - a game-like loop that shows which lines make garbage each frame,
** while it runs: the recorder's bytes go straight into the parser, no file.
**
**   $ frames
**   frames 1-60: 25015 bytes a frame
**   ALLOCATIONS
**   @game.lua:9: 12063 events       +824696B        -0B */

#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include "ljmemprof.h"
#define LJP_IMPLEMENTATION
#include "ljparse.h"

static const char game[] =
  "local bullets, log = {}, {}\n"
  "function update(frame)\n"
  "  for i = 1, 100 do\n"
  "    bullets[i] = { x = i, y = frame }\n"                /* garbage */
  "  end\n"
  "  if frame % 30 == 0 then log[#log + 1] = 'f' .. frame end\n"
  "  for i = 1, #bullets do\n"
  "    local b = bullets[i]\n"
  "    b.name = 'bullet ' .. b.x .. ':' .. frame\n"        /* garbage */
  "  end\nend\n";

static ptrdiff_t feed(void *user, const void *data, size_t size)
{
  return ljp_profile_feed((ljp_profile *)user, data, size) <= LJP_MORE
         ? (ptrdiff_t)size : -1;
}

/* The report's first section alone: what was allocated. */
static int put(void *user, const void *p, size_t n)
{
  int *done = (int *)user;
  const char *s = (const char *)p;
  for (; n && !*done; n--, s++) {
    putchar(*s);
    *done = n > 1 && s[0] == '\n' && s[1] == '\n';
  }
  return 0;
}

int main(void)
{
  ljp_report_options top = {0};
  ljm_options opts = {0};
  ljm_sink sink = {feed, NULL, NULL};
  ljp_profile *prof;
  ljp_totals sums;
  uint64_t before = 0;
  int frame, done;
  lua_State *L = luaL_newstate();
  if (!L || ljp_profile_new(&prof, NULL) != LJP_OK) return 1;
  if (luaL_loadbuffer(L, game, sizeof(game) - 1, "@game.lua") ||
      lua_pcall(L, 0, 0, 0)) return 1;
  sink.user = prof;
  opts.depth = 1; /* The line alone; opts.sample would make it cheaper. */
  top.limit = 3;  /* Lines of each section. */
  if (ljm_recorder_start(L, &sink, &opts, NULL) != LJM_OK) return 1;
  for (frame = 1; frame <= 120; frame++) {
    lua_getglobal(L, "update");
    lua_pushinteger(L, frame);
    if (lua_pcall(L, 1, 0, 0)) return 1;
    if (frame % 60) continue;
    ljm_recorder_flush(L);
    ljp_aggregate_totals(ljp_profile_aggregate(prof), &sums);
    printf("frames %d-%d: %llu bytes a frame\n", frame - 59, frame,
           (unsigned long long)(sums.alloc_size - before) / 60);
    before = sums.alloc_size;
    done = 0;
    ljp_profile_report(prof, LJP_TEXT, &top, put, &done);
  }
  lua_close(L);
  ljp_profile_free(prof);
  return 0;
}
