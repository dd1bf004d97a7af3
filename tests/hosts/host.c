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
  if (!strcmp(word, "vms")) {
    int i;
    for (i = 0; i < n; i++) lua_close(vm(10));
    return 0;
  }
  lua_close(vm(n));
  return 0;
}
