/* stubhost WORD [ARG]: a host for tests of the launcher; prints which library
** it got and its environment, then ends as the word says. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *luaL_newstate(void);

static volatile sig_atomic_t got;
static void on_signal(int sig) { got = sig; }

int main(int argc, char **argv)
{
  const char *word = argc > 1 ? argv[1] : "exit";
  int n = argc > 2 ? atoi(argv[2]) : 0;
  const char *path = getenv("LUA_PATH"), *cpath = getenv("LUA_CPATH");
  signal(SIGUSR1, on_signal);
  printf("library %s\n", luaL_newstate());
  printf("LUA_PATH %s\nLUA_CPATH %s\n", path ? path : "-",
         cpath ? cpath : "-");
  fflush(stdout);
  if (!strcmp(word, "raise")) raise(n);
  if (!strcmp(word, "wait")) {
    while (!got) usleep(1000);
    return got == SIGUSR1 ? 31 : 32;
  }
  if (!strcmp(word, "fork")) {
    if (fork() == 0) luaL_newstate();
  }
  return n;
}
