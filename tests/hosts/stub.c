/* Stands for a libluajit where only the launcher is tested. With -DPATCHED it
** does as a patched one with its environment, without recording anything. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PATCHED
/* LJMEMPROF as ljrecord writes it: log first, file last, one %p in it. */
static void stub_record(void)
{
  const char *env = getenv("LJMEMPROF"), *file, *p;
  char log[512], path[1024];
  FILE *f;
  if (!env || strncmp(env, "log=", 4) || !(file = strstr(env, "file="))) return;
  snprintf(log, sizeof(log), "%.*s", (int)strcspn(env + 4, ","), env + 4);
  p = strstr(file += 5, "%p");
  snprintf(path, sizeof(path), "%.*s%ld%s", (int)(p ? p - file : 0), file,
           (long)getpid(), p ? p + 2 : "");
  f = fopen(path, "w");
  if (f) fprintf(f, "%s\n", env);
  if (f) fclose(f);
  f = fopen(log, "a");
  if (!f) return;
  fprintf(f, "begin\t%ld\t1\t%s\n", (long)getpid(), path);
  if (!getenv("STUB_KILLED"))
    fprintf(f, "end\t%ld\t1\tstubbed\n", (long)getpid());
  fclose(f);
}
const char *ljmctl = "ljmctl1";
#endif

const char *lua_paths(void);
const char *lua_paths(void)
{
#ifdef PATCHED
  return "./?.lua;/patched/?.lua" "\0" "./?.so;/patched/?.so";
#else
  return "./?.lua;/host/?.lua" "\0" "./?.so;/host/?.so";
#endif
}

const char *luaL_newstate(void);
const char *luaL_newstate(void)
{
#ifdef PATCHED
  stub_record();
#endif
  return WHICH;
}

#ifdef EXTRA
void lua_extra(void);
void lua_extra(void) {}
#endif
