/* allocator - a host with an allocator of its own, as games and embedded
** programs have. The recorder sits in front of it and calls it with the very
** `ud`, so budgets and arenas work as ever; the recorder's own memory is not
** taken from it.
**
**   $ allocator && ljparse allocator.bin */

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "ljmemprof.h"

/* Memory of one VM with a budget. */
typedef struct budget {
  size_t used, most, limit;
} budget;

static void *allocate(void *ud, void *p, size_t old_size, size_t size)
{
  budget *b = (budget *)ud;
  void *q;
  if (!p) old_size = 0;
  if (size > old_size && size - old_size > b->limit - b->used) return NULL;
  q = size ? realloc(p, size) : (free(p), (void *)NULL);
  if (size && !q) return NULL;
  b->used += size - old_size;
  if (b->used > b->most) b->most = b->used;
  return q;
}

static const char script[] =
  "local t = {}\n"
  "for i = 1, math.huge do t[i] = ('x'):rep(1000) .. i end\n";

int main(void)
{
  budget b = {0, 0, 8 << 20};
  lua_State *L = lua_newstate(allocate, &b);
  if (!L || ljm_recorder_start_file(L, "allocator.bin", NULL, NULL) != LJM_OK)
    return 1;
  luaL_openlibs(L);
  if (luaL_loadbuffer(L, script, sizeof(script) - 1, "@fill.lua")) return 1;
  if (lua_pcall(L, 0, 0, 0)) printf("script: %s\n", lua_tostring(L, -1));
  lua_close(L); /* Ends the recording, too. */
  printf("%zu of %zu bytes at the most, %zu left\n", b.most, b.limit, b.used);
  return 0;
}
