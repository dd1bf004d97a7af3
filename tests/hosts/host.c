/* host WORD [ARG]: a host on the real library, for tests of self-start. Its
** VMs run a chunk that keeps some tables and drops others. */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"
#include "ljmemprof.h"

static const char chunk[] =
  "kept = kept or {}\n"
  "for i = 1, ... do\n"
  "  kept[#kept + 1] = { i }\n" /* kept:3 */
  "end\n";

static void run(lua_State *L, int n)
{
  if (luaL_loadbuffer(L, chunk, sizeof(chunk) - 1, "@kept")) abort();
  lua_pushinteger(L, n);
  lua_call(L, 1, 0);
}

static lua_State *vm(int n)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  run(L, n);
  return L;
}

static void *thread(void *arg)
{
  lua_State *L = vm(*(int *)arg);
  lua_close(L);
  return NULL;
}

static int threads(int n)
{
  pthread_t id[8];
  int i;
  for (i = 0; i < 8; i++) pthread_create(&id[i], NULL, thread, &n);
  for (i = 0; i < 8; i++) pthread_join(id[i], NULL);
  return 0;
}

/* A server: one VM made by the master, used in its workers. */
static int workers(int n, int killed)
{
  lua_State *L = vm(10);
  int i, status;
  pid_t pid[3];
  for (i = 0; i < 3; i++) {
    if ((pid[i] = fork()) != 0) continue;
    run(L, n);
    if (killed) kill(getpid(), SIGKILL);
    lua_close(L);
    exit(0);
  }
  for (i = 0; i < 3; i++) waitpid(pid[i], &status, 0);
  lua_close(L);
  return 0;
}

/* A daemon: closes all files, opens one of its own under a number that the
** recorder had. */
static int closing(int n, const char *name)
{
  lua_State *L = vm(10);
  FILE *f;
  int i;
  for (i = 3; i < 64; i++) close(i);
  f = fopen(name, "w");
  for (i = 0; i < 8; i++) dup(fileno(f));
  run(L, n);
  lua_close(L);
  return fclose(f);
}

/* Runs until it is told to end by a signal; the VM allocates all the time,
** but not much. */
static volatile sig_atomic_t ended;
static void end(int sig) { ended = sig; }

static int serve(void)
{
  lua_State *L = vm(10);
  signal(SIGTERM, end);
  puts("ready");
  fflush(stdout);
  while (!ended) {
    luaL_dostring(L, "kept = {}; for i = 1, 10 do kept[i] = { i } end");
    usleep(500);
  }
  lua_close(L);
  return 0;
}

/* VMs that live at the same time; the oldest goes first. */
static int vms(int n)
{
  lua_State **L = (lua_State **)calloc((size_t)n, sizeof(*L));
  int i;
  for (i = 0; i < n; i++) L[i] = vm(10);
  for (i = 0; i < n; i++) lua_close(L[i]);
  free(L);
  return 0;
}

/* A file with Lua code. */
static int code(const char *path)
{
  lua_State *L = vm(10);
  int bad = luaL_dofile(L, path);
  if (bad) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return bad;
}

/* Puts an allocator of its own before what the VM has, for good. */
static lua_Alloc inner;
static void *inner_ud;
static int inner_calls;

static void *replacement(void *ud, void *p, size_t old_size, size_t size)
{
  inner_calls++;
  return inner(inner_ud, p, old_size, size);
}

static int replaced(int n)
{
  lua_State *L = vm(n);
  int bad, calls;
  inner = lua_getallocf(L, &inner_ud);
  lua_setallocf(L, replacement, NULL);
  run(L, n);
  bad = lua_getallocf(L, NULL) != replacement || inner_calls < n;
  calls = inner_calls;
  lua_close(L);
  return bad || inner_calls < calls + n;
}

/* Somebody who may write into the page that takes orders, and a sink of ours
** whose writes allocate. Returns the number of the first check that fails. */
static ljm_control *page;
static lua_State *orders_L;
static int armed, obeyed_inside;

static ljm_control *find_page(void)
{
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long at = 0;
  while (at == 0 && fgets(line, sizeof(line), f))
    if (strstr(line, "memfd:ljmemprof")) at = strtoul(line, NULL, 16);
  fclose(f);
  return (ljm_control *)at;
}

static ptrdiff_t orders_write(void *user, const void *data, size_t size)
{
  if (!armed) return (ptrdiff_t)size;
  armed = 0;
  page->order = 0x200 | LJM_ORDER_STOP;
  lua_newuserdata(orders_L, 10);
  lua_pop(orders_L, 1);
  obeyed_inside = page->answer == page->order;
  return (ptrdiff_t)size;
}

static int orders(void)
{
  ljm_sink sink = {orders_write, NULL, NULL};
  lua_State *L = orders_L = vm(10);
  page = find_page();
  if (!page || page->recording) return 1;
  page->order = 0x100 | 99; /* No such order. */
  run(L, 10);
  if (page->answer != page->order || page->status != LJM_E_ARG) return 2;
  if (ljm_recorder_start(L, &sink, NULL, NULL) != LJM_OK) return 3;
  run(L, 10);
  armed = 1;
  if (ljm_recorder_flush(L) != LJM_OK || armed || obeyed_inside) return 4;
  run(L, 10);
  if (page->answer != page->order || page->status != LJM_OK) return 5;
  if (ljm_recorder_running(L) || page->recording) return 6;
  lua_close(L);
  return 0;
}

/* An allocator that gives the order to stop after its free number `stop_at`,
** and leaves nothing in what it frees. */
static int frees, stop_at;

static void *swept_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  (void)ud;
  if (size) return realloc(p, size);
  if (p) memset(p, 0xdd, old_size);
  free(p);
  if (p && ++frees == stop_at) page->order = 0x300 | LJM_ORDER_STOP;
  return NULL;
}

/* Orders that come in the middle of a sweep, of each chain of strings there is
** one: it is in order again before anything is allocated. */
static int swept(void)
{
  ljm_sink sink = {orders_write, NULL, NULL};
  lua_State *L = lua_newstate(swept_alloc, NULL);
  int n;
  if (!L) return 0; /* Not where the VM must know where its memory is. */
  page = find_page();
  if (!page) return 1;
  for (n = 1; n < 400; n += 5) {
    page->order = 0x200 | 99;
    if (luaL_dostring(L, "for i = 1, 400 do local s = 'x' .. i end")) return 2;
    if (ljm_recorder_start(L, &sink, NULL, NULL) != LJM_OK) return 3;
    frees = 0;
    stop_at = n;
    lua_gc(L, LUA_GCCOLLECT, 0);
    if (frees < n) return 4;
    run(L, 10);
    if (page->answer != page->order || page->status != LJM_OK) return 5;
    if (ljm_recorder_running(L)) return 6;
  }
  lua_close(L);
  return 0;
}

int main(int argc, char **argv)
{
  const char *word = argc > 1 ? argv[1] : "run";
  int n = argc > 2 ? atoi(argv[2]) : 1000;
  if (!strcmp(word, "threads")) return threads(n);
  if (!strcmp(word, "workers")) return workers(n, 0);
  if (!strcmp(word, "killed")) return workers(n, 1);
  if (!strcmp(word, "closing")) return closing(n, argv[3]);
  if (!strcmp(word, "serve")) return serve();
  if (!strcmp(word, "open")) {  /* Does not close its VM. */
    vm(n);
    return 0;
  }
  if (!strcmp(word, "vms")) return vms(n);
  if (!strcmp(word, "code")) return code(argv[2]);
  if (!strcmp(word, "replaced")) return replaced(n);
  if (!strcmp(word, "orders")) return orders();
  if (!strcmp(word, "swept")) return swept();
  lua_close(vm(n));
  return 0;
}
