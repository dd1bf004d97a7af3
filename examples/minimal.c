/* minimal - a host that records one script. Link a patched libluajit; the
** recorder is in there, ljmemprof.h only declares it.
**
**   $ minimal script.lua && ljparse --leak-only memprof.bin */

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "ljmemprof.h"

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate();
  ljm_error err;
  ljm_result res;
  int failed;
  if (!L || argc != 2) return 2;
  luaL_openlibs(L);
  if (ljm_recorder_start_file(L, "memprof.bin", NULL, &err) != LJM_OK) {
    fprintf(stderr, "memprof.bin: %s\n",
            err.sys_errno ? strerror(err.sys_errno)
                          : ljm_status_text(err.status));
    return 2;
  }
  failed = luaL_dofile(L, argv[1]);
  if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  /* lua_close would end the recording as well; this way its fate is known. */
  if (ljm_recorder_stop(L, &res) != LJM_OK)
    fprintf(stderr, "memprof.bin: %s\n", ljm_status_text(res.error.status));
  printf("%llu bytes written, %llu events dropped\n",
         (unsigned long long)res.written, (unsigned long long)res.dropped);
  lua_close(L);
  return failed;
}
