/*
** ljtlua.h - what hosts of the patched library share in the tests: a VM with
** all libraries, and a chunk that must run.
*/
#ifndef LJTLUA_H
#define LJTLUA_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "ljtest.h"

static inline lua_State *new_state(void)
{
  lua_State *L = luaL_newstate();
  if (!L) abort();
  luaL_openlibs(L);
  return L;
}

static inline void run(lua_State *L, const char *code)
{
  if (!LJT_EQ(luaL_dostring(L, code), 0)) {
    printf("  %s\n", lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

#endif /* LJTLUA_H */
