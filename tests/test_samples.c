/*
** test_samples - sampling is unbiased: over many seeds the weights of the
** samples add up to what was allocated, also where sizes or their period
** collide with the mean distance; frees are those of samples alone, of all of
** them; and the error that the parser states is one that holds.
*/
#include <math.h>
#include <sys/mman.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "ljmemprof.h"
#include "ljparse.h"
#include "ljtest.h"
#include "ljtsink.h"
#include "ljtstream.h"

#define SEEDS 200
#define MEAN 4096

/* Bytes asked for while `counting`. */
typedef struct counter {
  lua_Alloc inner;
  void *ud;
  uint64_t bytes, calls;
} counter;

static void *count_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  counter *c = (counter *)ud;
  if (size) {
    c->bytes += size;
    c->calls++;
  }
  return c->inner(c->ud, p, old_size, size);
}

typedef struct estimate {
  uint64_t weight, samples, frees;
} estimate;

static void read_stream(const ljt_sink *s, estimate *e)
{
  ljt_bytes text = {NULL, 0, 0};
  const char *p, *end;
  size_t off;
  LJT_EQ(ljt_dump(s->data, s->size, 0, &text, NULL, &off), 0);
  p = (const char *)text.data;
  for (end = p + text.size; p < end; p = strchr(p, '\n') + 1) {
    if (strncmp(p, "weight ", 7) == 0) {
      e->weight += strtoull(p + 7, NULL, 10);
      e->samples++;
    }
    if (strncmp(p, "free ", 5) == 0) e->frees++;
  }
  ljt_bytes_free(&text);
}

/* What the parser makes of it. */
static void parse(const ljt_sink *s, ljp_totals *t)
{
  ljp_profile *p = NULL;
  memset(t, 0, sizeof(*t));
  if (!LJT_EQ(ljp_profile_new(&p, NULL), LJP_OK)) return;
  (void)ljp_profile_feed(p, s->data, s->size);
  LJT_EQ(ljp_profile_finish(p), LJP_END);
  ljp_aggregate_totals(ljp_profile_aggregate(p), t);
  ljp_profile_free(p);
}

/* Allocates by a pattern of sizes, `period` of them, over and over. */
static void allocate(lua_State *L, const size_t *sizes, size_t period,
                     size_t count)
{
  size_t i;
  for (i = 0; i < count; i++) {
    lua_newuserdata(L, sizes[i % period]);
    lua_pop(L, 1);
    if (i % 100 == 99) lua_gc(L, LUA_GCCOLLECT, 0);
  }
  lua_gc(L, LUA_GCCOLLECT, 0);
}

static void pattern(const char *name, const size_t *sizes, size_t period,
                    size_t count)
{
  double sum = 0, squares = 0, truth = 0, mean, error;
  double stated = 0;
  uint64_t seed, samples = 0, frees = 0, covered = 0;
  ljt.row = name;
  for (seed = 1; seed <= SEEDS; seed++) {
    lua_State *L = luaL_newstate();
    counter c;
    ljt_sink kept;
    ljm_sink sink = ljt_sink_make(&kept);
    estimate e = {0, 0, 0};
    ljp_totals t;
    ljm_options o;
    double d;
    memset(&o, 0, sizeof(o));
    o.format = 4;
    o.depth = 1;
    o.sample = MEAN;
    o.seed = seed;
    o.no_live = 1;
    c.inner = lua_getallocf(L, &c.ud);
    lua_setallocf(L, count_alloc, &c);
    LJT_EQ(ljm_recorder_start(L, &sink, &o, NULL), LJM_OK);
    c.bytes = c.calls = 0;
    allocate(L, sizes, period, count);
    truth = (double)c.bytes;
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    read_stream(&kept, &e);
    LJT_OK(e.frees <= e.samples);
    d = (double)e.weight - truth;
    parse(&kept, &t);
    LJT_EQ(t.alloc_size + t.realloc_new_size, e.weight);
    LJT_EQ(t.sampled_count, e.samples);
    covered += fabs(d) <= (double)t.alloc_error;
    stated += (double)t.alloc_error / SEEDS;
    sum += d;
    squares += d * d;
    samples += e.samples;
    frees += e.frees;
    lua_close(L);
    ljt_sink_free(&kept);
  }
  mean = sum / SEEDS;
  error = sqrt((squares / SEEDS - mean * mean) / SEEDS);
  printf("  %s: %.0f bytes, off by %.1f, standard error %.1f, %.0f samples; "
         "of %d %d within the stated error, %.0f on average\n",
         name, truth, mean, error, (double)samples / SEEDS, SEEDS,
         (int)covered, stated);
  LJT_OK(fabs(mean) <= 3 * error);
  LJT_OK(covered >= SEEDS * 9 / 10);
  /* Nor is it larger than it need be: two standard errors of one recording. */
  error *= sqrt(SEEDS);
  LJT_OK(stated < 2.5 * error);
  LJT_OK(samples > 20 * SEEDS);
  /* Everything was freed. */
  LJT_OK(frees > samples - samples / 10);
  ljt.row = NULL;
}

static void case_unbiased(void)
{
  static const size_t equal[] = {MEAN - 40};
  static const size_t divisor[] = {MEAN / 16 - 40};
  static const size_t period[] = {MEAN / 2 - 40, MEAN / 4 - 40,
                                  MEAN / 4 - 40};
  static const size_t mixed[] = {16, 16, 16, 16, 16, 16, 16, 10 * MEAN};
  static const size_t small[] = {8};
  pattern("equal", equal, 1, 300);
  pattern("divisor", divisor, 1, 2000);
  pattern("period", period, 3, 600);
  pattern("mixed", mixed, 8, 1200);
  pattern("small", small, 1, 6000);
}

/* Blocks of the VM's that are larger than BIG, each where the recorder's
** filter of sampled addresses counts it with all the others. */
#define BIG 20000
#define CROWD 300
#ifdef MAP_32BIT /* A VM without GC64 takes no others. */
#define LOW MAP_32BIT
#else
#define LOW 0
#endif

typedef struct crowd {
  lua_Alloc inner;
  void *ud;
  uintptr_t next;
} crowd;

static void *crowd_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  crowd *c = (crowd *)ud;
  uintptr_t page;
  if ((p ? old_size : size) <= BIG) return c->inner(c->ud, p, old_size, size);
  if (size == 0) return NULL;
  LJT_OK(p == NULL && size < 2 * BIG);
  /* Not the last ones of its places: they run into the next page. */
  do page = c->next += 65536; while ((page >> 16 & 0xfff) > 0xf00);
  return (void *)(page | (page >> 16 & 0xfff) << 4);
}

/* More at a place than it can count: no free of one is missed. */
static void case_crowded_filter(void)
{
  size_t size = (CROWD + 0x102) * (size_t)65536;
  void *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | LOW, -1, 0);
  lua_State *L = luaL_newstate();
  ljt_sink kept;
  ljm_sink sink = ljt_sink_make(&kept);
  ljt_bytes text = {NULL, 0, 0};
  ljm_options o;
  const char *p, *end;
  unsigned long long bytes;
  size_t off, allocs = 0, frees = 0;
  crowd c;
  int i;
  if (!LJT_OK(room != MAP_FAILED)) return;
  c.next = (uintptr_t)room & ~(uintptr_t)65535;
  c.inner = lua_getallocf(L, &c.ud);
  lua_setallocf(L, crowd_alloc, &c);
  memset(&o, 0, sizeof(o));
  o.format = 4;
  o.depth = 1;
  o.sample = 100; /* Every one of so many bytes. */
  o.no_live = 1;
  LJT_EQ(ljm_recorder_start(L, &sink, &o, NULL), LJM_OK);
  lua_createtable(L, CROWD, 0);
  for (i = 1; i <= CROWD; i++) {
    lua_newuserdata(L, BIG + 1);
    lua_rawseti(L, -2, i);
  }
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_EQ(ljt_dump(kept.data, kept.size, 0, &text, NULL, &off), 0);
  p = (const char *)text.data;
  for (end = p + text.size; p < end; p = strchr(p, '\n') + 1) {
    if (sscanf(p, "alloc %*u %*u %llu", &bytes) == 1)
      allocs += bytes > BIG;
    if (sscanf(p, "free %*u %*u %llu", &bytes) == 1)
      frees += bytes > BIG;
  }
  LJT_EQ(allocs, CROWD);
  LJT_EQ(frees, CROWD);
  ljt_bytes_free(&text);
  lua_close(L);
  ljt_sink_free(&kept);
  munmap(room, size);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(case_unbiased);
  LJT_CASE(case_crowded_filter);
  return ljt_end();
}
