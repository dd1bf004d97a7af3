/*
** livetop - runs a Lua script and shows, while it runs, which lines hold the
** most memory: the recorder's bytes go straight into the parser.
**
**   $ livetop [SECONDS] script.lua
**   1.2 MB in 10413 blocks
**      884736  9216  @script.lua:12
**      131168     2  @script.lua:3
**      ...
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

#define LJX_ROWS 10

typedef struct ljx_top {
  ljp_profile *profile;
  double every;
  time_t shown;
} ljx_top;

/* A site is one call path here; a line that stands in several is added up. */
static void ljx_table(const ljx_top *top)
{
  const ljp_place *at;
  ljp_tree *t;
  uint32_t i, row, best;
  uint64_t *size, *count, all = 0, blocks = 0;
  size_t n, len;
  if (ljp_profile_tree(top->profile, NULL, &t) != LJP_OK) return;
  n = ljp_tree_place_count(t) + 1;
  size = (uint64_t *)calloc(2 * n, sizeof(*size));
  count = size + n;
  for (i = 1; size && i < ljp_tree_path_count(t); i++) {
    const ljp_path *path = ljp_tree_path_at(t, i);
    all += path->self[LJP_INUSE_SIZE];
    blocks += path->self[LJP_INUSE_COUNT];
    size[path->place] += path->self[LJP_INUSE_SIZE];
    count[path->place] += path->self[LJP_INUSE_COUNT];
  }
  printf("%.1f MB in %llu blocks\n", (double)all / 1e6,
         (unsigned long long)blocks);
  for (row = 0; size && row < LJX_ROWS; row++) {
    for (i = best = 0; i < n; i++)
      if (size[i] > size[best]) best = i;
    if (size[best] == 0) break;
    at = ljp_tree_place_at(t, best);
    printf("%10llu %6llu  %s%s:%llu\n", (unsigned long long)size[best],
           (unsigned long long)count[best], ljp_tree_text(t, at->name, &len),
           ljp_tree_text(t, at->file, &len), (unsigned long long)at->line);
    size[best] = 0;
  }
  fflush(stdout);
  free(size);
  ljp_tree_free(t);
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
  ljm_sink sink = {ljx_take, NULL, NULL};
  lua_State *L = luaL_newstate();
  int failed;
  if (argc < 2 || !L || ljp_profile_new(&top.profile, NULL) != LJP_OK) {
    fprintf(stderr, "usage: livetop [SECONDS] script.lua\n");
    return 1;
  }
  sink.user = &top;
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
