/*
** vm_fails - each call of a VM's allocator fails in turn, each time in a
** process of its own, while a script runs with the JIT off:
**   vm_fails FORMAT [--stride=N]     FORMAT 0: not recorded; 3, 4
** Says of each call number what did not go well ("N signal S", "N leaks B",
** "N wrong"), then how many calls there are. Without RECORDED it compiles for
** a LuaJIT that has no profiler; vm_fails.sh compares the two.
*/
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>

#ifdef RECORDED
#include "ljmemprof.h"
#endif
#include "ljtest.h"
#include "ljtvm.h"

/* The libraries of every LuaJIT, without those that the series adds: so calls
** of the allocator have the same numbers with and without it. */
static void open_libs(lua_State *L)
{
  static const luaL_Reg libs[] = {
    {"", luaopen_base},
    {LUA_LOADLIBNAME, luaopen_package},
    {LUA_TABLIBNAME, luaopen_table},
    {LUA_IOLIBNAME, luaopen_io},
    {LUA_OSLIBNAME, luaopen_os},
    {LUA_STRLIBNAME, luaopen_string},
    {LUA_MATHLIBNAME, luaopen_math},
    {LUA_DBLIBNAME, luaopen_debug},
    {LUA_BITLIBNAME, luaopen_bit},
    {LUA_JITLIBNAME, luaopen_jit},
  };
  size_t i;
  for (i = 0; i < sizeof(libs) / sizeof(libs[0]); i++) {
    lua_pushcfunction(L, libs[i].func);
    lua_pushstring(L, libs[i].name);
    lua_call(L, 1, 0);
  }
}

/* What a child tells. */
typedef struct told {
  uint64_t failed;  /* There was such a call. */
  uint64_t leaked;  /* Bytes that are left when the VM is closed. */
  uint64_t checks, failures;
} told;

static int protected_work(lua_State *L)
{
  (void)luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  open_libs(L);
  run_work(L);
  return 0;
}

#ifdef RECORDED
static ljt_sink kept;

static void start(lua_State *L, uint32_t format)
{
  ljm_sink sink = ljt_sink_make(&kept);
  ljm_options o;
  if (!format) return;
  memset(&o, 0, sizeof(o));
  o.format = format;
  LJT_EQ(ljm_recorder_start(L, &sink, &o, NULL), LJM_OK);
}

static void stop(lua_State *L, uint32_t format, const vm_heap *h)
{
  int status;
  if (!format) return;
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  /* Format 3 has failed calls as events, at address 0. */
  LJT_EQ(count_events(&kept, &status),
         h->done + (h->calls >= h->fail_at && format == 3));
  LJT_EQ(status, LJT_CLEAN);
}
#else
#define start(L, format) ((void)0)
#define stop(L, format, h) ((void)0)
#endif

static void child_main(uint64_t at, uint32_t format, told *t)
{
  vm_heap h;
  lua_State *L = vm_state(&h);
  (void)format;
  start(L, format);
  h.calls = h.done = 0;
  h.fail_at = at;
  (void)lua_cpcall(L, protected_work, NULL);
  t->failed = h.calls >= at;
  stop(L, format, &h);
  lua_close(L);
  t->leaked = h.live;
  t->failures = ljt.failures;
}

/* Returns whether there was such a call. */
static int fails_at(uint64_t at, uint32_t format, told *t)
{
  int status = -1;
  pid_t child;
  memset(t, 0, sizeof(*t));
  t->failed = 1; /* If it does not live to tell. */
  fflush(NULL);
  child = fork();
  if (child < 0) abort();
  if (child == 0) {
    child_main(at, format, t);
    fflush(NULL);
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child) abort();
  if (WIFSIGNALED(status))
    printf("%" PRIu64 " signal %d\n", at, WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0 || t->failures)
    printf("%" PRIu64 " wrong\n", at);
  else if (t->leaked)
    printf("%" PRIu64 " leaks %" PRIu64 "\n", at, t->leaked);
  return t->failed != 0;
}

int main(int argc, char **argv)
{
  uint32_t format = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
  uint64_t at = 1;
  told *t = (told *)mmap(NULL, sizeof(told), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (t == (told *)MAP_FAILED) abort();
  ljt_begin(argc, argv);
  while (fails_at(at, format, t)) at += ljt.stride;
  printf("calls %" PRIu64 "\n", at - 1);
  return 0;
}
