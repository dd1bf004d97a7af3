/*
** livetop - runs a Lua script and shows, while it runs, which lines hold the
** most memory: the recorder's bytes go straight into the parser.
**
**   $ livetop [SECONDS] script.lua
**   HEAP SUMMARY:
**   @script.lua:12 holds 864KiB: 9216 allocs, 0 frees
**   @script.lua:3 holds 128.09KiB: 2 allocs, 0 frees
**   ...
**
** A table every SECONDS (default 1; 0: with each write of the recorder), and
** one at the end. Links with the library of a patched LuaJIT.
*/
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljmemprof.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct ljx_top {
  ljp_profile *profile;
  double every;
  time_t shown;
} ljx_top;

static int ljx_put(void *user, const void *data, size_t size)
{
  (void)user;
  return fwrite(data, 1, size, stdout) == size ? 0 : 1;
}

static void ljx_table(const ljx_top *top)
{
  ljp_report_options held = {1, 1, LJP_BY_LINE, LJP_SORT_BYTES, 10};
  ljp_profile_report(top->profile, LJP_TEXT, &held, ljx_put, NULL);
  fflush(stdout);
}

/* The recorder's sink. It runs inside the VM's allocator: it may look at the
** bytes, and must leave the VM alone. */
static ptrdiff_t ljx_take(void *user, const void *data, size_t size)
{
  ljx_top *top = (ljx_top *)user;
  time_t now = time(NULL);
  ljp_profile_feed(top->profile, data, size);
  if (difftime(now, top->shown) >= top->every) {
    top->shown = now;
    ljx_table(top);
  }
  return (ptrdiff_t)size;
}

int main(int argc, char **argv)
{
  ljx_top top = {NULL, argc > 2 ? atof(argv[1]) : 1, 0};
  ljm_sink sink = {ljx_take, NULL, &top};
  lua_State *L = luaL_newstate();
  int failed;
  if (argc < 2 || !L || ljp_profile_new(&top.profile, NULL) != LJP_OK) {
    fprintf(stderr, "usage: livetop [SECONDS] script.lua\n");
    return 1;
  }
  top.shown = time(NULL);
  luaL_openlibs(L);
  if (ljm_recorder_start(L, &sink, NULL, NULL) != LJM_OK) return 1;
  failed = luaL_dofile(L, argv[argc - 1]);
  if (failed) fprintf(stderr, "livetop: %s\n", lua_tostring(L, -1));
  ljm_recorder_stop(L, NULL);
  ljx_table(&top);
  lua_close(L);
  ljp_profile_free(top.profile);
  return failed;
}
