/*
** test_resolver_threads - threads resolve, each with its own resolver, while
** others load and unload libraries and walk the loader's list themselves: no
** deadlock (a watchdog kills it), no race (built with -fsanitize=thread), no
** wrong name. --libs=DIR: where the libraries made from elflib.c are.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#define CHANGES 60 /* Each seeker sees so many, then it is over. */
#define SEEKERS 3

static const char *libs;
static int stop; /* Set by the last loader; read and written atomically. */

static int stopped(void) { return __atomic_load_n(&stop, __ATOMIC_ACQUIRE); }

/* What a seeker counts; `changes` is read by others. */
typedef struct seeker {
  uint64_t lookups, wrong, strange, named, unknown, changes;
} seeker;

static seeker seekers[SEEKERS];

static int all_have_seen(void)
{
  int i, n = 0;
  for (i = 0; i < SEEKERS; i++)
    n += __atomic_load_n(&seekers[i].changes, __ATOMIC_ACQUIRE) >= CHANGES;
  return n == SEEKERS;
}

static void path_of(char *path, size_t size, const char *name, int slashes)
{
  snprintf(path, size, "%s/%.*slibljt_%s.so", libs, slashes, "///////", name);
}

#ifdef __SANITIZE_THREAD__
const char *__tsan_default_suppressions(void);

/* The loader writes a module's name under its own lock, which ThreadSanitizer
** does not see. It forgives a reader of the list all of the name but the byte
** that ends it; which it then reports where that byte begins a word. */
const char *__tsan_default_suppressions(void) { return "race:ld-linux\n"; }
#endif

/* The place where libraries of one size land: probed by seekers also while
** nothing, or another one, is there. */
static uint64_t hot[4];

static void *load_and_unload(void *arg)
{
  const char **names = (const char **)arg;
  unsigned i;
  for (i = 0; !all_have_seen(); i++) {
    char path[4096];
    void *lib, *sym;
    void *(*address)(int);
    path_of(path, sizeof(path), names[i & 1], (int)(i >> 1 & 7));
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    sym = lib ? dlsym(lib, "ljt_address") : NULL;
    if (!sym) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
    memcpy(&address, &sym, sizeof(address));
    __atomic_store_n(&hot[i & 3], (uint64_t)(uintptr_t)address(0),
                     __ATOMIC_RELEASE);
    sched_yield();
    dlclose(lib);
  }
  return NULL;
}

static int count_modules(struct dl_phdr_info *info, size_t size, void *user)
{
  (void)info;
  (void)size;
  ++*(size_t *)user;
  return 0;
}

/* Holds the loader's lock as others do: in callbacks of its own. */
static void *walk(void *arg)
{
  size_t n = 0;
  (void)arg;
  while (!stopped()) dl_iterate_phdr(count_modules, &n);
  return n ? arg : NULL;
}

/* Is the symbol one of the module's, as far as names tell? What is loaded
** there may be neither of the libraries. */
static int own_name(const ljm_location *loc)
{
  const char *tag = strstr(loc->module->path, "libljt_");
  size_t n;
  if (!tag) return 1;
  tag += 7;
  n = strcspn(tag, "_.");
  return strncmp(loc->symbol.name, tag, n) == 0 ||
         loc->symbol.name[0] == '_' || strstr(loc->symbol.name, "ljt_") != NULL;
}

static void *seek(void *arg)
{
  seeker *s = (seeker *)arg;
  ljm_resolver r;
  ljm_location loc;
  if (ljm_resolver_init(&r, NULL) != LJM_OK) {
    s->wrong++;
    return NULL;
  }
  while (!stopped()) {
    uint64_t at = __atomic_load_n(&hot[s->lookups & 3], __ATOMIC_ACQUIRE);
    ljm_status status = ljm_resolver_lookup(&r, (uintptr_t)qsort, &loc);
    s->lookups++;
    /* libc never goes: always its own. */
    if (status != LJM_OK || !loc.module || !loc.symbol.name ||
        !strstr(loc.symbol.name, "qsort"))
      s->wrong++;
    __atomic_store_n(&s->changes, ljm_resolver_generation(&r),
                     __ATOMIC_RELEASE);
    if (at == 0) continue;
    /* What stands there changes all the time; a name is of one of the two, at
    ** its own start. */
    status = ljm_resolver_lookup(&r, at, &loc);
    if (status == LJM_E_NOTFOUND)
      s->unknown++;
    else if (status != LJM_OK)
      s->strange++;
    else if (loc.symbol.name)
      s->named++;
    if (status == LJM_OK && loc.symbol.name && !own_name(&loc)) s->wrong++;
  }
  ljm_resolver_free(&r);
  return NULL;
}

static void loading_meanwhile(void)
{
  static const char *pairs[2][2] = {
    {"alpha", "beta"}, {"both_stripped", "noid"}
  };
  pthread_t loaders[2], threads[SEEKERS], walker;
  seeker *s = seekers;
  int i;
  for (i = 0; i < SEEKERS; i++)
    LJT_EQ(pthread_create(&threads[i], NULL, seek, &s[i]), 0);
  LJT_EQ(pthread_create(&walker, NULL, walk, s), 0);
  for (i = 0; i < 2; i++) {
    LJT_EQ(pthread_create(&loaders[i], NULL, load_and_unload, pairs[i]), 0);
  }
  for (i = 0; i < 2; i++) pthread_join(loaders[i], NULL);
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  pthread_join(walker, NULL);
  for (i = 0; i < SEEKERS; i++) {
    pthread_join(threads[i], NULL);
    LJT_EQ(s[i].wrong, 0);
    LJT_EQ(s[i].strange, 0);
    LJT_OK(s[i].lookups > 0);
    printf("  %" PRIu64 " rounds, %" PRIu64 " named, %" PRIu64
           " unknown, %" PRIu64 " changes\n", s[i].lookups, s[i].named,
           s[i].unknown, s[i].changes);
  }
}

/* -- in a constructor --------------------------------------------------- */

static ljm_resolver *constructing; /* Of the thread that loads. */
static int in_constructor, checked;
static ljm_location constructed;

void ljt_constructed(void *address);

/* Called by libljt_slow's constructor. The thread that loads looks its own
** library up; then the constructor waits until another thread has read the
** loader's counters: if that waited for constructors, this would never end. */
void ljt_constructed(void *address)
{
  ljm_resolver_lookup(constructing, (uintptr_t)address, &constructed);
  __atomic_store_n(&in_constructor, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&checked, __ATOMIC_ACQUIRE)) sched_yield();
}

static void *load_slowly(void *arg)
{
  char path[4096];
  void *lib;
  path_of(path, sizeof(path), "slow", 0);
  lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    fprintf(stderr, "%s\n", dlerror());
    __atomic_store_n(&in_constructor, 1, __ATOMIC_RELEASE);
    return NULL;
  }
  dlclose(lib);
  return arg;
}

static void while_constructing(void)
{
  ljm_resolver r, own;
  ljm_location loc;
  pthread_t loader;
  void *loaded = NULL;
  LJT_EQ(ljm_resolver_init(&own, NULL), LJM_OK);
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  constructing = &own;
  LJT_EQ(pthread_create(&loader, NULL, load_slowly, &r), 0);
  while (!__atomic_load_n(&in_constructor, __ATOMIC_ACQUIRE)) sched_yield();
  LJT_EQ(ljm_resolver_check(&r), 1);
  LJT_EQ(ljm_resolver_lookup(&r, (uintptr_t)qsort, &loc), LJM_OK);
  __atomic_store_n(&checked, 1, __ATOMIC_RELEASE);
  pthread_join(loader, &loaded);
  LJT_OK(loaded != NULL);
  LJT_STR(constructed.symbol.name, "slow_open");
  ljm_resolver_free(&r);
  ljm_resolver_free(&own);
}

int main(int argc, char **argv)
{
  int i;
  ljt_begin(argc, argv);
  for (i = 1; i < argc; i++)
    if (strncmp(argv[i], "--libs=", 7) == 0) libs = argv[i] + 7;
  if (!libs) return 2;
  alarm(240); /* The watchdog: a deadlock ends as SIGALRM. */
  LJT_CASE(loading_meanwhile);
  LJT_CASE(while_constructing);
  return ljt_end();
}
