/* The text and classic reports against a slow model of the tests' own: every
** recorded stream, and random lists of events. */
#define _POSIX_C_SOURCE 200809L
#define LJP_IMPLEMENTATION
#include "ljparse.h"
#include "ljtmodel.h"
#include "ljtreport.h"
#include "ljtwalk.h"

#include <dirent.h>

/* Cuts the totals' last lines off, which the model does not have. */
static void cut_end(ljt_bytes *b)
{
  size_t i;
  for (i = 0; i + 12 < b->size; i++)
    if (memcmp(b->data + i, "\nincomplete:", 12) == 0 ||
        memcmp(b->data + i, "\ncovered:", 9) == 0) {
      b->size = i + 1;
      return;
    }
}

static void compare(const unsigned char *data, size_t size, ljp_model model,
                    ljp_trace_layout layout)
{
  ljp_options o;
  ljp_profile *p;
  ljt_model m;
  ljt_bytes have = {NULL, 0, 0}, want = {NULL, 0, 0};
  int classic = model == LJP_MODEL_CLASSIC;
  memset(&o, 0, sizeof(o));
  o.model = model;
  o.trace_layout = layout;
  if (!LJT_EQ(ljp_profile_new(&p, &o), LJP_OK)) return;
  ljp_profile_feed(p, data, size);
  ljp_profile_finish(p);
  LJT_OK(ljp_profile_error(p)->status == LJP_OK ||
         ljp_profile_error(p)->status == LJP_E_TRUNCATED);
  ljt_check_profile(p);
  LJT_EQ(ljp_profile_report(p, classic ? LJP_CLASSIC : LJP_TEXT, NULL,
                            ljt_gather, &have), LJP_OK);
  if (!classic) cut_end(&have);
  ljt_model_run(&m, data, size,
                p->decoder.layout == LJP_TRACE_WITH_ADDR, classic);
  ljt_model_report(&m, &want);
  LJT_MEM(have.data, have.size, want.data, want.size);
  ljt_model_free(&m);
  ljt_bytes_free(&have);
  ljt_bytes_free(&want);
  ljp_profile_free(p);
}

static void recorded(void)
{
  DIR *d = opendir(ljt.data_dir);
  struct dirent *e;
  while (d && (e = readdir(d)) != NULL) {
    char path[1200];
    size_t size = 0;
    unsigned char *data;
    if (!strstr(e->d_name, ".bin.gz")) continue;
    snprintf(path, sizeof(path), "%s/%s", ljt.data_dir, e->d_name);
    data = ljt_gunzip(path, &size);
    ljt.row = e->d_name;
    if (!LJT_OK(data != NULL)) continue;
    compare(data, size, LJP_MODEL_TRUE, LJP_TRACE_AUTO);
    compare(data, size, LJP_MODEL_CLASSIC, LJP_TRACE_AUTO);
    free(data);
  }
  if (d) closedir(d);
}

/* -- random streams, in a small world so that numbers meet again -- */

static const char *const names[] = {
  "@a.lua", "@b.lua", "=c", "x\ny\n\nz", "x\ny", "\x1b[2J%s;</script>",
  "", "caf\xc3\xa9", "bad\xff utf", "\n", "free", "malloc"
};

static uint64_t some_addr(ljt_rng *rng)
{
  return 0x1000 + 0x800 * ljt_below(rng, 6);
}

static void some_symbol(ljt_bytes *b, ljt_rng *rng, unsigned kind, int mcode)
{
  ljt_u(b, kind == 2 ? 1 + ljt_below(rng, 3)
           : kind == 1 && ljt_below(rng, 9) == 0 ? 0 : some_addr(rng));
  if (kind == 2) {
    if (mcode) ljt_u(b, ljt_below(rng, 3) * 0x99);
    ljt_u(b, ljt_below(rng, 9) ? some_addr(rng) : 0);
  } else {
    ljt_str(b, names[ljt_below(rng, sizeof(names) / sizeof(names[0]))]);
  }
  if (kind != 1) ljt_u(b, ljt_below(rng, 20));
}

static void some_event(ljt_bytes *b, ljt_rng *rng, unsigned sources,
                       int mcode)
{
  static const uint64_t sizes[] = {0, 1, 16, 40, UINT64_C(0xfffffffe),
                                   UINT64_C(0xffffffff),
                                   UINT64_C(0x100000000), 1 << 20};
  unsigned source = 1 + (unsigned)ljt_below(rng, sources), k;
  unsigned event = 1 + (unsigned)ljt_below(rng, 3);
  ljt_b(b, source << 2 | event);
  if (source == 2 || source == 3) ljt_u(b, ljt_below(rng, 9)
      ? some_addr(rng) + ljt_below(rng, 3) * 0x10 : 0);
  if (source == 4) ljt_u(b, ljt_below(rng, 5) + (ljt_below(rng, 30) == 0) *
                                                    UINT64_C(70000));
  if (source == 2) ljt_u(b, ljt_below(rng, 5));
  if (source == 4 && mcode) ljt_u(b, ljt_below(rng, 3) * 0x99);
  for (k = 0; k < (event == 3 ? 2u : 1u); k++) {
    ljt_u(b, ljt_below(rng, 40) * 16);
    ljt_u(b, sizes[ljt_below(rng, ljt_below(rng, 4) ? 4 : 8)]);
  }
}

static void random_stream(ljt_bytes *b, ljt_rng *rng, unsigned s, unsigned m,
                          int mcode)
{
  uint64_t i, n = ljt_below(rng, 12);
  ljt_raw(b, "ljs", 3);
  ljt_le(b, s, 4);
  for (i = 0; i < n; i++) {
    unsigned kind = (unsigned)ljt_below(rng, s);
    ljt_b(b, kind);
    some_symbol(b, rng, s == 2 && kind == 1 ? 2 : kind, mcode);
  }
  ljt_raw(b, "\x80ljm", 4);
  ljt_le(b, m, 4);
  n = ljt_below(rng, 400);
  for (i = 0; i < n; i++) {
    if (m == 3 && ljt_below(rng, 12) == 0) {
      unsigned kind = (unsigned)ljt_below(rng, 3);
      ljt_b(b, (kind + 2) << 2);
      some_symbol(b, rng, kind, mcode);
    } else if (m == 3 && ljt_below(rng, 60) == 0) {
      ljt_b(b, 1);
      some_symbol(b, rng, 1, mcode);
    } else {
      some_event(b, rng, m == 1 ? 3 : 4, mcode);
    }
  }
  ljt_b(b, 0x80);
}

static void random_lists(void)
{
  static const unsigned pairs[][2] = {{1, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 3}};
  uint64_t round, rounds = 4000 / ljt.stride;
  for (round = 0; round < rounds; round++) {
    ljt_rng rng = ljt_rng_make(ljt.seed * 1000003 + round);
    const unsigned *pair = pairs[ljt_below(&rng, 5)];
    int mcode = pair[1] == 2 || (pair[0] == 2 && ljt_below(&rng, 2));
    ljt_bytes b = {NULL, 0, 0};
    char row[40];
    snprintf(row, sizeof(row), "round %" PRIu64, round);
    ljt.row = row;
    random_stream(&b, &rng, pair[0], pair[1], mcode);
    compare(b.data, b.size, LJP_MODEL_TRUE,
            mcode ? LJP_TRACE_WITH_ADDR : LJP_TRACE_WITHOUT_ADDR);
    compare(b.data, b.size, LJP_MODEL_CLASSIC,
            mcode ? LJP_TRACE_WITH_ADDR : LJP_TRACE_WITHOUT_ADDR);
    ljt_bytes_free(&b);
    if (ljt.failures > 20) break;
  }
  ljt.row = NULL;
}

int main(int argc, char **argv)
{
  DIR *d;
  ljt_begin(argc, argv);
  LJT_CASE(random_lists);
  d = ljt.data_dir ? opendir(ljt.data_dir) : NULL;
  if (d) {
    closedir(d);
    LJT_CASE(recorded);
  } else if (ljt.data_dir) {
    printf("NO STREAMS: %s is absent; recorded streams are not compared\n",
           ljt.data_dir);
    return ljt_end() ? 1 : 77;
  }
  return ljt_end();
}
