/* An input as calls of the encoders and as what their sink returns: what was
** written is a beginning of what a good sink gets, and the first failure is
** kept and told. */
#include "fuzz_main.h"

#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljtsink.h"
#include "ops.h"

typedef struct moody {
  ljt_bytes got;
  ljf_ops ops;
  int failed;      /* errno of the first answer that is final, */
  unsigned tries;  /* answers to try again in a row. */
  int closed, after;
  ljm_buffer *inside; /* Called back into at each call. */
} moody;

/* Must not change anything. */
static void call_back(ljm_buffer *b)
{
  LJF_CHECK(ljmi_reserve(b, 1) == NULL);
  LJF_CHECK(b->out.busy);
}

static ptrdiff_t moody_write(void *user, const void *data, size_t size)
{
  moody *m = (moody *)user;
  unsigned c = ljf_byte(&m->ops);
  if (m->failed) m->after++;
  LJF_CHECK(size > 0 && !m->closed);
  call_back(m->inside);
  if (c >= 0xf8) {
    static const int finals[] = {EIO, ENOSPC, EPIPE, EFBIG};
    m->failed = c & 4 ? finals[c & 3] : EIO;
    return c & 4 ? -(ptrdiff_t)m->failed : c & 1 ? 0 : PTRDIFF_MAX;
  }
  if (c >= 0xe0) {
    if (++m->tries == LJMI_RETRIES) m->failed = c & 1 ? EINTR : EAGAIN;
    return c & 1 ? -EINTR : -EAGAIN;
  }
  m->tries = 0;
  if (c & 1 && size > c) size = c;
  ljt_raw(&m->got, data, size);
  return (ptrdiff_t)size;
}

static int moody_close(void *user)
{
  moody *m = (moody *)user;
  LJF_CHECK(!m->closed);
  call_back(m->inside);
  m->closed = 1;
  return 0;
}

/* The answers are the input from its end on. */
static ljm_sink make_moody(moody *m, const uint8_t *answers, size_t size,
                           ljm_buffer *b)
{
  ljm_sink sink;
  memset(m, 0, sizeof(*m));
  m->ops.data = answers;
  m->ops.size = size;
  m->inside = b;
  sink.write = moody_write;
  sink.close = moody_close;
  sink.user = m;
  return sink;
}

static void judge(moody *m, const ljt_sink *good, ljm_error err)
{
  LJF_CHECK(m->closed && m->after == 0);
  LJF_CHECK(m->got.size <= good->size);
  LJF_CHECK(m->got.size == 0 ||
            memcmp(m->got.data, good->data, m->got.size) == 0);
  if (m->failed) {
    LJF_CHECK(err.status == LJM_E_IO && err.sys_errno == m->failed);
    LJF_CHECK(err.offset == m->got.size);
  } else {
    LJF_CHECK(err.status == LJM_OK && m->got.size == good->size);
  }
  ljt_bytes_free(&m->got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static ljm_encoder e3;
  static ljm_encoder4 e4;
  size_t split = size - size / 8, repeat;
  ljt_bytes program = {NULL, 0, 0}, text = {NULL, 0, 0};
  ljt_sink good;
  ljm_sink sink = ljt_sink_make(&good);
  moody m;
  ljm_error err;
  if (size > 20000) return 0;
  /* Often enough for several writes. */
  for (repeat = 0; repeat < 8 && program.size < 20000; repeat++)
    ljt_raw(&program, data, split);
  ljf_stream3(program.data, program.size, &sink, &text, &e3);
  if (size) data += split; /* May be NULL. */
  size -= split;
  sink = make_moody(&m, data, size, &e3.b);
  err = ljf_stream3(program.data, program.size, &sink, &text, &e3);
  judge(&m, &good, err);
  ljt_sink_free(&good);
  sink = ljt_sink_make(&good);
  ljf_stream4(program.data, program.size, &sink, &text, &e4);
  sink = make_moody(&m, data, size, &e4.b);
  err = ljf_stream4(program.data, program.size, &sink, &text, &e4);
  judge(&m, &good, err);
  ljt_sink_free(&good);
  ljt_bytes_free(&program);
  ljt_bytes_free(&text);
  return 0;
}
