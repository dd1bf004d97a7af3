/*
** test_parse_sweep.c - every small seed of format 1 to 4, swept: each
** allocation fails in turn, each prefix, each bit, each byte +1, -1, 0, 255,
** each limit around its value. Seeds are the folder of the stream fuzzer
** (--data) and streams made here.
*/
#define _POSIX_C_SOURCE 200809L
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtstream.h"
#include "ljtwalk.h"

#include <dirent.h>

#define SEED_MAX 4096

typedef struct outcome {
  ljp_status made, read, status;   /* status: of the first report that fails */
  ljp_error error;
  uint64_t events, hash, peak;
} outcome;

static int discard(void *user, const void *p, size_t size)
{
  ljt_output *o = (ljt_output *)user;
  return ljt_output_write(o, p, size);
}

static ljp_status report(ljp_profile *p, uint64_t *hash)
{
  static const ljp_format formats[] = {LJP_TEXT, LJP_JSON};
  ljt_output o = {0, 0, 0};
  ljp_status st = LJP_OK;
  size_t i;
  if (p->aggregate.model == LJP_MODEL_CLASSIC) {
    st = ljp_profile_report(p, LJP_CLASSIC, NULL, discard, &o);
  } else {
    for (i = 0; i < 2 && st == LJP_OK; i++)
      st = ljp_profile_report(p, formats[i], NULL, discard, &o);
  }
  *hash = o.hash;
  return st;
}

/* One run over an allocator that counts; nothing may be left. */
static void run(const unsigned char *data, size_t size, ljp_options *o,
                uint64_t fail_at, size_t piece, outcome *out)
{
  ljt_heap heap;
  ljp_profile *p;
  size_t at, n;
  memset(out, 0, sizeof(*out));
  memset(&heap, 0, sizeof(heap));
  heap.fail_at = fail_at;
  o->allocator.alloc = ljt_heap_alloc;
  o->allocator.realloc = ljt_heap_realloc;
  o->allocator.free = ljt_heap_free;
  o->allocator.user = &heap;
  out->made = ljp_profile_new(&p, o);
  if (out->made == LJP_OK) {
    for (at = 0; at < size; at += n) {
      n = piece && piece < size - at ? piece : size - at;
      if (ljp_profile_feed(p, data + at, n) > LJP_MORE) break;
    }
    out->read = ljp_profile_finish(p);
    out->error = *ljp_profile_error(p);
    out->events = p->aggregate.totals.events;
    ljt_check_profile(p);
    out->status = report(p, &out->hash);
    ljp_profile_free(p);
  }
  out->peak = heap.peak_size;
  if (heap.live_count || heap.bad_frees) {
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.bad_frees, 0);
  }
}

/* Same status, error, sums and reports in any split. */
static void splits_agree(const unsigned char *data, size_t size,
                         ljp_options *o)
{
  outcome a, b;
  run(data, size, o, 0, 0, &a);
  run(data, size, o, 0, 1, &b);
  LJT_MUST(a.made == LJP_OK && b.made == LJP_OK);
  LJT_MUST(a.status == LJP_OK && b.status == LJP_OK);
  LJT_MUST(a.read == b.read && a.error.status == b.error.status);
  LJT_MUST(a.error.off == b.error.off);
  LJT_MUST(a.error.record_off == b.error.record_off);
  LJT_MUST(a.events == b.events && a.hash == b.hash);
}

static ljp_options options_of(unsigned model)
{
  ljp_options o;
  memset(&o, 0, sizeof(o));
  o.model = model ? LJP_MODEL_CLASSIC : LJP_MODEL_TRUE;
  return o;
}

/* Every allocation fails in turn, until none does. */
static void sweep_memory(const unsigned char *data, size_t size)
{
  unsigned model;
  for (model = 0; model < 2; model++) {
    ljp_options o = options_of(model);
    uint64_t at = 1;
    outcome out, whole;
    run(data, size, &o, 0, 0, &whole);
    do {
      run(data, size, &o, at, 0, &out);
      LJT_MUST(out.made == LJP_OK || out.made == LJP_E_NOMEM);
      if (out.made == LJP_OK)
        LJT_MUST(out.read == LJP_E_NOMEM || out.read == whole.read);
      LJT_MUST(out.status == LJP_OK || out.status == LJP_E_NOMEM);
      LJT_MUST(out.events <= whole.events);
      at += ljt.stride;
    } while (out.made != LJP_OK || out.read == LJP_E_NOMEM ||
             out.status == LJP_E_NOMEM);
    LJT_EQ(out.hash, whole.hash);
  }
}

static void sweep_prefixes(const unsigned char *data, size_t size)
{
  ljp_options o = options_of(0);
  size_t n;
  uint64_t events = 0;
  for (n = 0; n <= size; n++) {
    unsigned char *copy = (unsigned char *)malloc(n ? n : 1);
    outcome out;
    if (!copy) abort();
    memcpy(copy, data, n);
    run(copy, n, &o, 0, 0, &out);
    LJT_MUST(out.events >= events);
    events = out.events;
    /* Format 4 tells of a cut only at the end of what it has. */
    LJT_MUST(n == size || out.read != LJP_END);
    if (n < size && out.read == LJP_E_TRUNCATED)
      LJT_MUST(out.error.off == n);
    if (n % (4 * ljt.stride) == 0) splits_agree(copy, n, &o);
    free(copy);
  }
  LJT_OK(events > 0 || size < 60);
}

/* Every bit, and every byte +1, -1, 0, 255. */
static void sweep_bytes(const unsigned char *data, size_t size)
{
  ljp_options o = options_of(0);
  unsigned char *copy = (unsigned char *)malloc(size ? size : 1);
  uint64_t runs = 0;
  size_t i;
  unsigned k;
  if (!copy) abort();
  memcpy(copy, data, size);
  for (i = 0; i < size; i++) {
    for (k = 0; k < 12; k++) {
      outcome out;
      unsigned c = k < 8 ? data[i] ^ (1u << k) : k == 8 ? data[i] + 1u
                   : k == 9 ? data[i] - 1u : k == 10 ? 0u : 255u;
      if ((i * 12 + k) % ljt.stride) continue;
      copy[i] = (unsigned char)(c & 255);
      run(copy, size, &o, 0, 0, &out);
      LJT_MUST(out.made == LJP_OK && out.status == LJP_OK);
      LJT_MUST(out.peak < (2 << 20));
      if (runs++ % 8 == 0) splits_agree(copy, size, &o);
    }
    copy[i] = data[i];
  }
  LJT_OK(runs > 0 || size == 0);
  free(copy);
}

/* Each limit at n-1, n and n+1, n being what the stream needs: found by
** halving. */
static void sweep_limits(const unsigned char *data, size_t size)
{
  static const size_t field[] = {
    offsetof(ljp_limits, memory), offsetof(ljp_limits, string),
    offsetof(ljp_limits, hold), offsetof(ljp_limits, records),
    offsetof(ljp_limits, symbols), offsetof(ljp_limits, sites),
    offsetof(ljp_limits, live)
  };
  ljp_options plain = options_of(0);
  outcome whole, out;
  size_t i;
  run(data, size, &plain, 0, 0, &whole);
  for (i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
    ljp_options o = options_of(0);
    uint64_t *limit = (uint64_t *)(void *)((char *)&o.limits + field[i]);
    uint64_t low = 0, high = 1 << 24, n;
    while (high - low > 1) {
      *limit = low + (high - low) / 2;
      run(data, size, &o, 0, 0, &out);
      if (out.made == LJP_E_LIMIT || out.read == LJP_E_LIMIT) low = *limit;
      else high = *limit;
    }
    for (n = high - 1; n <= high + 1; n++) {
      if (n == 0) continue;
      *limit = n;
      run(data, size, &o, 0, 0, &out);
      if (n < high) {
        LJT_OK(out.made == LJP_E_LIMIT || out.read == LJP_E_LIMIT);
        if (out.made == LJP_OK) {
          LJT_EQ(out.error.limit, i + 1);
          LJT_EQ(out.status, LJP_OK);
        }
      } else {
        LJT_EQ(out.read, whole.read);
        LJT_EQ(out.events, whole.events);
        LJT_EQ(out.hash, whole.hash);
      }
    }
  }
}

static void sweep(const char *name, const unsigned char *data, size_t size)
{
  ljp_options o = options_of(0), c = options_of(1);
  ljt.row = name;
  splits_agree(data, size, &o);
  splits_agree(data, size, &c);
  sweep_memory(data, size);
  sweep_prefixes(data, size);
  sweep_bytes(data, size);
  sweep_limits(data, size);
  ljt.row = NULL;
}

/* -- seeds made here: a record of each kind, sources that meet again -- */

#define RAW(b, bytes) ljt_raw((b), bytes, sizeof(bytes) - 1)

static void symbols(ljt_bytes *b, unsigned s, int mcode)
{
  ljt_raw(b, "ljs", 3);
  ljt_le(b, s, 4);
  RAW(b, "\0\x20\7@dir/a.\5\0\x10\3x\ny\6");
  if (s == 3) RAW(b, "\1\0\4root\1\x40\3foo");
  if (s == 1) return;
  ljt_b(b, s == 3 ? 2 : 1);
  ljt_u(b, 7);
  if (mcode) ljt_u(b, 99);
  ljt_u(b, 0x20);
  ljt_u(b, 8);
}

static void events(ljt_bytes *b, unsigned m, int mcode)
{
  unsigned source, event, k;
  ljt_raw(b, "\x80ljm", 4);
  ljt_le(b, m, 4);
  if (m == 3) RAW(b, "\x08\x30\2@c\1\x0c\x48\2ba");
  for (source = 1; source <= (m == 1 ? 3u : 4u); source++)
    for (event = 1; event <= 3; event++) {
      ljt_b(b, source << 2 | event);
      if (source > 1) ljt_u(b, source == 4 ? 7 : source * 0x10);
      if (source == 2 || (source == 4 && mcode)) ljt_u(b, 99);
      for (k = 0; k < (event == 3 ? 2u : 1u); k++) {
        ljt_u(b, 0x1000 + event / 3 * k * 64);
        ljt_u(b, source == 3 && event != 2 ? UINT64_C(5000000000) : 40);
      }
    }
  if (m == 3) RAW(b, "\x05\0\x10\1\x44\1z\6\0\0");
  ljt_b(b, 0x80);
}

static void made_here(void)
{
  static const struct { unsigned s, m; int mcode; const char *name; } v[] = {
    {1, 1, 0, "1/1"}, {1, 2, 1, "1/2"}, {2, 2, 1, "2/2"},
    {2, 3, 1, "2/3 with address"}, {2, 3, 0, "2/3 without"}, {3, 3, 0, "3/3"}
  };
  size_t i;
  for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
    ljt_bytes b = {NULL, 0, 0};
    symbols(&b, v[i].s, v[i].mcode);
    events(&b, v[i].m, v[i].mcode);
    sweep(v[i].name, b.data, b.size);
    ljt_bytes_free(&b);
  }
}

/* Named seeds of the fuzzer (others have a hash for a name). */
static void named_seeds(void)
{
  DIR *d = opendir(ljt.data_dir);
  struct dirent *e;
  size_t seeds = 0;
  if (!LJT_OK(d != NULL)) return;
  while ((e = readdir(d)) != NULL) {
    char path[1200];
    size_t size = 0;
    unsigned char *data;
    if (!strstr(e->d_name, ".bin")) continue;
    if (strspn(e->d_name, "0123456789abcdef") == 12) continue;
    snprintf(path, sizeof(path), "%s/%s", ljt.data_dir, e->d_name);
    data = ljt_read_file(path, &size);
    if (data && size <= SEED_MAX) {
      sweep(e->d_name, data, size);
      seeds++;
    }
    free(data);
  }
  closedir(d);
  LJT_OK(seeds > 5);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(made_here);
  if (ljt.data_dir) LJT_CASE(named_seeds);
  return ljt_end();
}
