/*
** bench_format4.c - speed of reading format 4. By hand:
**   bench_format4 FILE       a stream, as bench_encoder FILE leaves it
** Decoder alone, with a handler that adds sizes up; fed whole and in pieces
** of 64 KiB. Best of 9.
*/
#define _POSIX_C_SOURCE 200809L
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "../ljtest.h"

#include <time.h>

typedef struct sums {
  uint64_t events, bytes;
} sums;

static ljp_status on_events(void *user, const ljp_event *ev, size_t count,
                            size_t *failed)
{
  sums *s = (sums *)user;
  size_t i;
  (void)failed;
  s->events += count;
  for (i = 0; i < count; i++) s->bytes += ev[i].size + ev[i].old_size;
  return LJP_OK;
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double run(const unsigned char *p, size_t size, size_t step, sums *s)
{
  ljp_handler h;
  ljp_decoder *d = NULL;
  size_t at, n;
  double t;
  memset(s, 0, sizeof(*s));
  h.on_events = on_events;
  h.on_record = NULL;
  h.user = s;
  if (ljp_decoder_new(&d, &h, NULL) != LJP_OK) exit(1);
  t = now();
  for (at = 0; at < size; at += n) {
    n = step < size - at ? step : size - at;
    if (ljp_decoder_feed(d, p + at, n) > LJP_MORE) exit(1);
  }
  if (ljp_decoder_finish(d) != LJP_END) exit(1);
  t = now() - t;
  ljp_decoder_free(d);
  return t;
}

int main(int argc, char **argv)
{
  static const size_t steps[] = {SIZE_MAX, 65536};
  size_t size = 0, k;
  unsigned char *p;
  if (argc != 2 || (p = ljt_read_file(argv[1], &size)) == NULL) return 1;
  for (k = 0; k < 2; k++) {
    double best = 1e9, t;
    sums s;
    int i;
    for (i = 0; i < 9; i++)
      if ((t = run(p, size, steps[k], &s)) < best) best = t;
    printf("%s  %7.1f M events/s  %6.2f GB/s  %5.2f bytes an event\n",
           k ? "64 KiB" : "whole ", (double)s.events / best * 1e-6,
           (double)size / best * 1e-9, (double)size / (double)s.events);
  }
  free(p);
  return 0;
}
