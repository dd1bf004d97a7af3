/* An input as calls of the encoders: what the decoder tells of the streams,
** and the slow decoder, is what was called. */
#include "fuzz_main.h"

#include "ljmemprof.h"
#include "ljparse.h"
#include "ljtsink.h"
#include "ljttold.h"
#include "ops.h"

/* Lines that are no definitions, and those before and after the events. */
static void events_only(ljt_bytes *text)
{
  static const char *const words[] = {
    "string ", "module ", "csym ", "function ", "frame ", "stack ", "site ",
    "trace ", "events ", "meta ", "end "
  };
  size_t at = 0, to = 0, n, i;
  while (at < text->size) {
    const char *line = (const char *)text->data + at;
    int keep = 1;
    n = 1;
    while (line[n - 1] != '\n') n++;
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
      if (strncmp(line, words[i], strlen(words[i])) == 0) keep = 0;
    if (keep) {
      memmove(text->data + to, line, n);
      to += n;
    }
    at += n;
  }
  text->size = to;
}

static void equal(const ljt_bytes *a, const ljt_bytes *b)
{
  LJF_CHECK(a->size == b->size);
  LJF_CHECK(a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static void round3(const uint8_t *data, size_t size)
{
  static ljm_encoder e;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljt_bytes want = {NULL, 0, 0}, text = {NULL, 0, 0};
  size_t offset = 0;
  ljm_error err = ljf_stream3(data, size, &sink, &want, &e);
  LJF_CHECK(err.status == LJM_OK && e.b.dropped == 0);
  LJF_CHECK(ljt_dump(s.data, s.size, 0, &text, NULL, &offset) == LJT_CLEAN);
  /* Its first line names the version. */
  memmove(text.data, text.data + 9, text.size -= 9);
  equal(&text, &want);
  ljt_bytes_free(&text);
  ljt_bytes_free(&want);
  ljt_sink_free(&s);
}

static ljp_status decode(const ljt_sink *s, ljt_told *t)
{
  ljp_decoder *d = NULL;
  ljp_handler h = ljt_told_handler(t);
  ljp_status st;
  LJF_CHECK(ljp_decoder_new(&d, &h, NULL) == LJP_OK);
  (void)ljp_decoder_feed(d, s->data, s->size);
  st = ljp_decoder_finish(d);
  ljp_decoder_free(d);
  return st;
}

static void round4(const uint8_t *data, size_t size)
{
  static ljm_encoder4 e;
  static ljt_told t;
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljt_bytes want = {NULL, 0, 0}, text = {NULL, 0, 0};
  size_t offset = 0;
  ljm_error err = ljf_stream4(data, size, &sink, &want, &e);
  LJF_CHECK(err.status == LJM_OK);
  LJF_CHECK(ljt_dump(s.data, s.size, 0, &text, NULL, &offset) == LJT_CLEAN);
  LJF_CHECK(decode(&s, &t) == LJP_END && t.damage_count == 0);
  equal(&t.text, &text);
  events_only(&text);
  equal(&text, &want);
  ljt_told_free(&t);
  ljt_bytes_free(&text);
  ljt_bytes_free(&want);
  ljt_sink_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size > 100000) return 0;
  round3(data, size);
  round4(data, size);
  return 0;
}
