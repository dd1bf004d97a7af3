/*
** casemod - the code of two shared libraries of one shape, which get the same
** address when one is loaded after the other was unloaded. NAME: alpha, beta.
*/
#include <lauxlib.h>
#include <lua.h>

#define CASE_JOIN_(a, b) a##b
#define CASE_JOIN(a, b) CASE_JOIN_(a, b)

int CASE_JOIN(NAME, _tables)(lua_State *L);
int CASE_JOIN(NAME, _udata)(lua_State *L);
int CASE_JOIN(luaopen_, NAME)(lua_State *L);

/* As many tables as the argument says. */
int CASE_JOIN(NAME, _tables)(lua_State *L)
{
  int i, n = (int)lua_tointeger(L, 1);
  for (i = 0; i < n; i++) {
    lua_newtable(L);
    lua_pop(L, 1);
  }
  return 0;
}

int CASE_JOIN(NAME, _udata)(lua_State *L)
{
  lua_newuserdata(L, (size_t)lua_tointeger(L, 1));
  return 1;
}

/* Has no name where the library is stripped. */
__attribute__((noinline)) static int CASE_JOIN(NAME, _hidden)(lua_State *L)
{
  lua_newuserdata(L, 8);
  return 1;
}

int CASE_JOIN(luaopen_, NAME)(lua_State *L)
{
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, CASE_JOIN(NAME, _tables));
  lua_setfield(L, -2, "tables");
  lua_pushcfunction(L, CASE_JOIN(NAME, _hidden));
  lua_setfield(L, -2, "hidden");
  return 1;
}
