/*
** bench_encoder.c - time and bytes of an event, encoder alone. By hand:
**   bench_encoder [FILE]     (default /dev/null)
** Events: 16-byte granules as lj_alloc.c gives them, sizes and sites as a
** program has them (few often, many seldom), blocks freed in bursts as a
** collector does, one realloc in 30. Best of 7 runs.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include <stdio.h>

#define COUNT 1000000u
#define SITES 2000u
#define LIVE 65536u

typedef struct event {
  uint64_t address, old_address;
  uint32_t size, old_size, site, op;
} event;

typedef struct block {
  uint64_t address;
  uint32_t size, pad;
} block;

static event events[COUNT];
static block live[LIVE], holes[LIVE];
static ljmi_place places[SITES];
static uint64_t random_state = 88172645463325252u;

static uint32_t rnd(uint32_t n)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 33) % n;
}

/* Small numbers often. */
static uint32_t skewed(uint32_t n)
{
  uint32_t bits = 1 + rnd(24), v = rnd(1u << bits);
  return v % n;
}

static uint32_t some_size(void)
{
  static const uint32_t sizes[] = {40, 24, 32, 64, 48, 16, 56, 128, 96, 256};
  return rnd(10) < 8 ? sizes[skewed(10)] : 17 + skewed(3000);
}

static uint64_t place(uint32_t size, uint32_t *hole_count, uint64_t *top)
{
  uint64_t a;
  if (*hole_count && holes[*hole_count - 1].size >= size)
    return holes[--*hole_count].address;
  a = *top;
  *top += (size + 23) & ~15u;
  return a;
}

static void make_events(void)
{
  uint64_t top = 0x7f2a40000010u;
  uint32_t n = 0, live_count = 0, hole_count = 0, burst = 0, k;
  while (n < COUNT) {
    event *e = &events[n++];
    e->site = 1 + skewed(SITES - 1);
    if (live_count == LIVE || (burst == 0 && live_count > 4096 &&
                               rnd(6000) == 0))
      burst = live_count / 2;
    if (burst) {
      burst--;
      k = rnd(8) < live_count ? live_count - 1 - rnd(8) : 0;
      e->op = 1;
      e->address = live[k].address;
      e->size = live[k].size;
      if (hole_count < LIVE) holes[hole_count++] = live[k];
      memmove(&live[k], &live[k + 1], (--live_count - k) * sizeof(live[0]));
    } else if (live_count && rnd(30) == 0) {
      k = rnd(live_count);
      e->op = 2;
      e->old_address = live[k].address;
      e->old_size = live[k].size;
      e->size = live[k].size = live[k].size * 2 % 100000;
      e->address = live[k].address = place(e->size, &hole_count, &top);
    } else {
      e->op = 0;
      e->size = some_size();
      e->address = place(e->size, &hole_count, &top);
      live[live_count].address = e->address;
      live[live_count++].size = e->size;
    }
  }
}

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int open_sink(ljm_file *f, ljm_sink *s, const char *path)
{
  if (ljm_file_open(f, s, path, NULL, NULL) == LJM_OK) return 1;
  fprintf(stderr, "cannot open %s\n", path);
  return 0;
}

static double run3(const char *path, uint64_t *bytes)
{
  static ljm_encoder e;
  ljm_file f;
  ljm_sink s;
  uint32_t i;
  double t;
  if (!open_sink(&f, &s, path) || ljm_encoder_init(&e, &s, NULL) != LJM_OK)
    exit(1);
  ljm_encoder_open(&e);
  t = seconds();
  for (i = 0; i < COUNT; i++) {
    const event *v = &events[i];
    if (v->op == 2)
      (void)ljmi_encoder_moved(&e, &places[v->site], v->old_address,
                               v->old_size, v->address, v->size);
    else
      (void)ljmi_encoder_event(&e, &places[v->site],
                               v->op ? LJM_FMT_FREE : LJM_FMT_ALLOC,
                               v->address, v->size);
  }
  ljm_encoder_finish(&e);
  t = seconds() - t;
  *bytes = e.b.out.written;
  ljm_encoder_free(&e);
  return t;
}

static double run4(const char *path, uint64_t *bytes)
{
  static ljm_encoder4 e;
  ljm_file f;
  ljm_sink s;
  uint32_t i;
  double t;
  if (!open_sink(&f, &s, path) ||
      ljm_encoder4_init(&e, &s, NULL, NULL, 0) != LJM_OK)
    exit(1);
  for (i = 1; i < SITES; i++) {
    uint32_t frame = ljm_encoder4_frame_lua(&e, 1 + i / 8, i);
    ljm_encoder4_site(&e, ljm_encoder4_stack(&e, i / 2, frame),
                      LJM_STATE_INTERP, LJM_OBJECT_UNKNOWN);
  }
  t = seconds();
  for (i = 0; i < COUNT; i++) {
    const event *v = &events[i];
    if (v->op == 2)
      (void)ljmi_encoder4_moved(&e, v->site, v->old_address, v->old_size,
                                v->address, v->size);
    else if (v->op == 1)
      (void)ljmi_encoder4_event(&e, LJM_FMT_OP_FREE, v->site, v->address,
                                v->size);
    else
      (void)ljmi_encoder4_event(&e, LJM_FMT_OP_ALLOC, v->site, v->address,
                                v->size);
  }
  ljm_encoder4_finish(&e, LJM_END_STOPPED, 0);
  t = seconds() - t;
  *bytes = e.b.out.written;
  ljm_encoder4_free(&e);
  return t;
}

static double run_stacks(void)
{
  static ljm_encoder4 e;
  ljm_file f;
  ljm_sink s;
  uint32_t i, k, id = 0;
  double t;
  if (!open_sink(&f, &s, "/dev/null") ||
      ljm_encoder4_init(&e, &s, NULL, NULL, 0) != LJM_OK)
    exit(1);
  t = seconds();
  for (i = 0; i < COUNT / 16; i++)
    for (k = 0, id = 0; k < 16; k++)
      id = ljmi_encoder4_stack(&e, id, 1 + k * 4 + (k > 12 ? rnd(4) : 0));
  t = seconds() - t;
  ljm_encoder4_finish(&e, LJM_END_STOPPED, id);
  ljm_encoder4_free(&e);
  return t;
}

/* Memory of a format 4 encoder, alone and for each stack with a site. */
static void report_memory(void)
{
  static ljm_encoder4 e;
  ljm_file f;
  ljm_sink s;
  uint64_t empty;
  uint32_t i, id = 0;
  if (!open_sink(&f, &s, "/dev/null") ||
      ljm_encoder4_init(&e, &s, NULL, NULL, 0) != LJM_OK)
    exit(1);
  empty = e.mem.used_size;
  for (i = 1; i <= COUNT; i++) {
    id = ljm_encoder4_stack(&e, i / 2, 1 + i % 4096);
    (void)ljm_encoder4_site(&e, id, LJM_STATE_INTERP, LJM_OBJECT_UNKNOWN);
  }
  printf("memory                 %6.0f KiB, %.0f bytes a stack of %u\n",
         (double)empty / 1024, (double)(e.mem.used_size - empty) / id, id);
  ljm_encoder4_finish(&e, LJM_END_STOPPED, 0);
  ljm_encoder4_free(&e);
}

static void report(const char *name, double best, uint64_t bytes)
{
  printf("%-22s %6.2f ns", name, best * 1e9 / COUNT);
  if (bytes) printf("  %5.2f bytes", (double)bytes / COUNT);
  printf("\n");
}

int main(int argc, char **argv)
{
  const char *path = argc > 1 ? argv[1] : "/dev/null";
  double best3 = 1e9, best4 = 1e9, best_stacks = 1e9, t;
  uint64_t bytes3 = 0, bytes4 = 0;
  uint32_t i;
  make_events();
  for (i = 0; i < SITES; i++) {
    ljm_where w;
    w.source = LJM_SOURCE_LUA;
    w.address = 0x7f2a41000000u + i / 8 * 184;
    w.line = 10 + i;
    ljmi_place_set(&places[i], &w);
  }
  for (i = 0; i < 7; i++) {
    if ((t = run3(path, &bytes3)) < best3) best3 = t;
    if ((t = run4(path, &bytes4)) < best4) best4 = t;
    if ((t = run_stacks()) < best_stacks) best_stacks = t;
  }
  report("format 3, an event", best3, bytes3);
  report("format 4, an event", best4, bytes4);
  report("stack, a frame", best_stacks, 0);
  report_memory();
  return 0;
}
