/* The decoder on format 4: against the slow one, in splits, cut, with each
** block damaged, and on hostile blocks. */
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljparse.h"
#include "ljtest.h"
#include "ljtgen4.h"
#include "ljtheap.h"
#include "ljttold.h"

/* Feeds pieces of `step` bytes, 0: whole, SIZE_MAX: random ones. */
static ljp_status decode_with(const unsigned char *data, size_t size,
                              size_t step, const ljp_options *o, ljt_told *t,
                              ljp_error *err)
{
  ljp_decoder *d = NULL;
  ljp_handler h;
  ljp_status st;
  ljt_rng r = ljt_rng_make(size);
  size_t at = 0, n;
  memset(err, 0, sizeof(*err));
  h = ljt_told_handler(t);
  st = ljp_decoder_new(&d, &h, o);
  if (st != LJP_OK) {
    err->status = st;
    return st;
  }
  st = LJP_MORE;
  while (at < size && st <= LJP_MORE) {
    n = step == SIZE_MAX ? 1 + (size_t)ljt_below(&r, 300) : step;
    if (n == 0 || n > size - at) n = size - at;
    st = ljp_decoder_feed(d, data + at, n);
    at += n;
  }
  if (st > LJP_MORE) LJT_EQ(ljp_decoder_feed(d, data, 1), st);
  st = ljp_decoder_finish(d);
  *err = *ljp_decoder_error(d);
  ljp_decoder_free(d);
  return st;
}

static ljp_status decode(const unsigned char *data, size_t size, ljt_told *t,
                         ljp_error *err)
{
  return decode_with(data, size, 0, NULL, t, err);
}

/* Exactly as many bytes as there are. */
static unsigned char *exact(const void *data, size_t size)
{
  unsigned char *p = (unsigned char *)malloc(size ? size : 1);
  if (!p) abort();
  if (size) memcpy(p, data, size);
  return p;
}

static void same_text(void)
{
  static const size_t steps[] = {0, 1, 31, 4096, SIZE_MAX};
  uint64_t seed;
  size_t i;
  for (seed = 0; seed < 20; seed++) {
    ljt_sink s;
    ljt_bytes want = {NULL, 0, 0};
    size_t offset;
    LJT_OK(ljt_gen4(&s, ljt.seed + seed, 50 + 200 * (size_t)seed,
                    seed & 1 ? 4096 : 65536));
    LJT_EQ(ljt_dump(s.data, s.size, 0, &want, NULL, &offset), LJT_CLEAN);
    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
      ljt_told t;
      ljp_error err;
      unsigned char *p = exact(s.data, s.size);
      LJT_EQ(decode_with(p, s.size, steps[i], NULL, &t, &err), LJP_END);
      LJT_EQ(t.damage_count, 0);
      LJT_MEM(t.text.data, t.text.size, want.data, want.size);
      ljt_told_free(&t);
      free(p);
    }
    ljt_bytes_free(&want);
    ljt_sink_free(&s);
  }
}

/* Cut at each byte (with a wide stride, at those near a block's start):
** TRUNCATED there, and a beginning of the whole text. */
static void cuts(void)
{
  ljt_sink s;
  ljt_bytes want = {NULL, 0, 0};
  static ljt_blocks b;
  size_t offset, size, block = 0;
  LJT_OK(ljt_gen4(&s, ljt.seed, 700, 4096));
  LJT_EQ(ljt_dump(s.data, s.size, 0, &want, &b, &offset), LJT_CLEAN);
  LJT_OK(b.count > 8);
  for (size = 0; size < s.size; size++) {
    ljt_told t;
    ljp_error err;
    unsigned char *p;
    while (block < b.count && b.offset[block] <= size) block++;
    if (block && size - b.offset[block - 1] > 40 &&
        size % (1 + ljt.stride / 12) != 0)
      continue;
    p = exact(s.data, size);
    LJT_EQ(decode_with(p, size, size % 3 ? 0 : 500, NULL, &t, &err),
           LJP_E_TRUNCATED);
    LJT_EQ(err.off, size);
    if (block) LJT_EQ(err.record_off, b.offset[block - 1]);
    LJT_EQ(t.damage_count, 0);
    LJT_OK(t.text.size <= want.size);
    LJT_MEM(t.text.data, t.text.size, want.data, t.text.size);
    ljt_told_free(&t);
    free(p);
  }
  ljt_bytes_free(&want);
  ljt_sink_free(&s);
}

/* -- Damage */

static size_t block_size(const unsigned char *block)
{
  return 32 + ((size_t)block[12] | (size_t)block[13] << 8 |
               (size_t)block[14] << 16);
}

static uint64_t block_events(const unsigned char *block)
{
  return (uint64_t)block[16] | (uint64_t)block[17] << 8 |
         (uint64_t)block[18] << 16;
}

/* The text without block `lost`; from there on copies are read. */
static void text_without(const unsigned char *data, const ljt_blocks *b,
                         size_t lost, ljt_bytes *text)
{
  size_t i;
  text->size = 0;
  ljt_text(text, "events 4\n");
  for (i = 0; i < b->count; i++) {
    const unsigned char *p = data + b->offset[i];
    ljt_reader in = {NULL, 0, 0, LJT_CLEAN};
    in.data = p + 32;
    in.size = block_size(p) - 32;
    if (i == lost || (p[5] && i < lost)) continue;
    ljt_rpayload(&in, text, p[4]);
  }
}

typedef struct damaged {
  unsigned char *data;
  size_t size;
} damaged;

/* What is done to block i, and what must come out. */
static void one_damage(const unsigned char *good, const ljt_blocks *b,
                       size_t i, const damaged *bad, uint64_t off,
                       uint64_t size, uint64_t lost_events,
                       uint64_t lost_blocks)
{
  ljt_told t;
  ljp_error err;
  ljt_bytes want = {NULL, 0, 0};
  ljp_status st = decode_with(bad->data, bad->size, i % 2 ? 0 : 100, NULL, &t,
                              &err);
  text_without(good, b, i, &want);
  LJT_MEM(t.text.data, t.text.size, want.data, want.size);
  LJT_EQ(t.damage_count, 1);
  LJT_EQ(t.off[0], off);
  LJT_EQ(t.size[0], size);
  LJT_EQ(t.lost_events[0], lost_events);
  LJT_EQ(t.lost_blocks[0], lost_blocks);
  LJT_EQ(st, LJP_E_MALFORMED);
  LJT_EQ(err.off, off);
  LJT_EQ(err.section, LJP_SECTION_BLOCKS);
  ljt_told_free(&t);
  ljt_bytes_free(&want);
}

/* `at` bytes behind the start of block i lie `cut` bytes that go and `put`
** new ones. */
static damaged edit(const ljt_sink *s, size_t at, size_t cut,
                    const void *data, size_t put)
{
  damaged d;
  d.size = s->size - cut + put;
  d.data = (unsigned char *)malloc(d.size + 1);
  if (!d.data) abort();
  memcpy(d.data, s->data, at);
  if (put) memcpy(d.data + at, data, put);
  memcpy(d.data + at + put, s->data + at + cut, s->size - at - cut);
  return d;
}

static void damage_one_block(const ljt_sink *s, const ljt_blocks *b, size_t i)
{
  size_t off = b->offset[i], size = block_size(s->data + off), k;
  uint64_t events = block_events(s->data + off);
  damaged d;
  /* Bits of the payload; of the header, whose counts then are lost too. */
  for (k = 32; k < size; k += 1 + size / 7) {
    d = edit(s, off, 0, NULL, 0);
    d.data[off + k] ^= (unsigned char)(1u << (k & 7));
    one_damage(s->data, b, i, &d, off, size, events, 0);
    free(d.data);
  }
  for (k = i % 2; k < 32; k += 1 + (size_t)ljt.stride / 12) {
    d = edit(s, off, 0, NULL, 0);
    d.data[off + k] ^= (unsigned char)(1u << (k & 7));
    /* A sum of the payload is the header's, so the header's sum is wrong. */
    one_damage(s->data, b, i, &d, off, size, 0, i + 1 < b->count);
    free(d.data);
  }
}

/* Bytes gone from a block, the whole block gone, bytes put in. */
static void shift_one_block(const ljt_sink *s, const ljt_blocks *b, size_t i)
{
  static const unsigned char junk[] = {0x9d, 'l', 'j', 'b', 1, 0x9d, 0x9d};
  size_t off = b->offset[i], size = block_size(s->data + off), k;
  uint64_t events = block_events(s->data + off);
  damaged d;
  for (k = 33; k < size; k += 1 + size / 3) {
    d = edit(s, off + k, 1, NULL, 0);
    one_damage(s->data, b, i, &d, off, size - 1, events, 0);
    free(d.data);
    d = edit(s, off + k, 0, junk, sizeof(junk));
    one_damage(s->data, b, i, &d, off, size + sizeof(junk), events, 0);
    free(d.data);
  }
  d = edit(s, off, size, NULL, 0);
  one_damage(s->data, b, i, &d, off, 0, 0, 1);
  free(d.data);
}

static void damaged_blocks(void)
{
  ljt_sink s;
  ljt_bytes text = {NULL, 0, 0};
  static ljt_blocks b;
  size_t offset, i;
  LJT_OK(ljt_gen4(&s, ljt.seed + 3, 1500, 4096));
  LJT_EQ(ljt_dump(s.data, s.size, 0, &text, &b, &offset), LJT_CLEAN);
  LJT_OK(b.count > 12 && b.copies > 3);
  /* END has its own case: nothing comes after it. */
  for (i = 0; i + 1 < b.count; i++) {
    damage_one_block(&s, &b, i);
    shift_one_block(&s, &b, i);
  }
  ljt_bytes_free(&text);
  ljt_sink_free(&s);
}

static void damaged_end(void)
{
  ljt_sink s;
  ljt_bytes text = {NULL, 0, 0};
  static ljt_blocks b;
  size_t offset, off, size, k;
  damaged d;
  LJT_OK(ljt_gen4(&s, ljt.seed + 4, 200, 4096));
  LJT_EQ(ljt_dump(s.data, s.size, 0, &text, &b, &offset), LJT_CLEAN);
  off = b.offset[b.count - 1];
  size = s.size - off;
  for (k = 0; k < size; k++) {
    d = edit(&s, off, 0, NULL, 0);
    d.data[off + k] ^= 16;
    one_damage(s.data, &b, b.count - 1, &d, off, size, 0, 0);
    free(d.data);
  }
  d = edit(&s, s.size, 0, "x", 1);
  {
    ljt_told t;
    ljp_error err;
    LJT_EQ(decode(d.data, d.size, &t, &err), LJP_E_MALFORMED);
    LJT_EQ(err.off, s.size);
    LJT_EQ(t.damage_count, 0);
    LJT_MEM(t.text.data, t.text.size, text.data, text.size);
    ljt_told_free(&t);
  }
  free(d.data);
  /* A zero-filled tail is no data, and no clean cut. */
  d = edit(&s, off, size, text.data, 100);
  memset(d.data + off, 0, 100);
  one_damage(s.data, &b, b.count - 1, &d, off, 100, 0, 0);
  free(d.data);
  ljt_bytes_free(&text);
  ljt_sink_free(&s);
}

/* Makes the sums of a block right. */
static void reseal(unsigned char *block, size_t size)
{
  ljt_bytes b = {NULL, 0, 0};
  ljt_le(&b, ljt_crc32c(block + 32, size - 32), 4);
  memcpy(block + 24, b.data, 4);
  b.size = 0;
  ljt_le(&b, ljt_crc32c(block, 28), 4);
  memcpy(block + 28, b.data, 4);
  ljt_bytes_free(&b);
}

/* Two blocks damaged, side by side and apart; a block that comes twice. */
static void more_damage(void)
{
  ljt_sink s;
  ljt_bytes text = {NULL, 0, 0};
  static ljt_blocks b;
  size_t offset, i;
  damaged d;
  ljt_told t;
  ljp_error err;
  LJT_OK(ljt_gen4(&s, ljt.seed + 5, 1500, 4096));
  LJT_EQ(ljt_dump(s.data, s.size, 0, &text, &b, &offset), LJT_CLEAN);
  for (i = 1; i + 2 < b.count; i++) {
    d = edit(&s, 0, 0, NULL, 0);
    d.data[b.offset[i] + 32] ^= 1;
    d.data[b.offset[i + 1] + 32] ^= 1;
    LJT_EQ(decode(d.data, d.size, &t, &err), LJP_E_MALFORMED);
    LJT_EQ(t.damage_count, 2);
    LJT_EQ(t.off[0] + t.size[0], t.off[1]);
    LJT_EQ(t.off[1] + t.size[1], b.offset[i + 2]);
    ljt_told_free(&t);
    free(d.data);
    d = edit(&s, b.offset[i], 0, s.data + b.offset[i],
             b.offset[i + 1] - b.offset[i]);
    LJT_EQ(decode(d.data, d.size, &t, &err), LJP_E_MALFORMED);
    LJT_EQ(t.damage_count, 1);
    LJT_EQ(t.off[0], b.offset[i + 1]);
    LJT_EQ(t.size[0], b.offset[i + 1] - b.offset[i]);
    LJT_EQ(t.lost_blocks[0], 0);
    ljt_told_free(&t);
    free(d.data);
  }
  ljt_bytes_free(&text);
  ljt_sink_free(&s);
}

/* Each bit: never clean, never more than one block's events gone. */
static void every_bit(void)
{
  ljt_sink s;
  ljt_bytes text = {NULL, 0, 0};
  static ljt_blocks b;
  size_t offset, i;
  uint64_t most = 0, all;
  ljt_told t;
  ljp_error err;
  LJT_OK(ljt_gen4(&s, ljt.seed + 6, 300, 4096));
  LJT_EQ(ljt_dump(s.data, s.size, 0, &text, &b, &offset), LJT_CLEAN);
  LJT_EQ(decode(s.data, s.size, &t, &err), LJP_END);
  all = t.events;
  ljt_told_free(&t);
  for (i = 0; i < b.count; i++)
    if (block_events(s.data + b.offset[i]) > most)
      most = block_events(s.data + b.offset[i]);
  for (i = 14 * 8; i < s.size * 8; i += (size_t)ljt.stride) {
    s.data[i / 8] ^= (unsigned char)(1u << (i & 7));
    LJT_EQ(decode(s.data, s.size, &t, &err), LJP_E_MALFORMED);
    LJT_OK(t.events + most >= all && t.events <= all);
    s.data[i / 8] ^= (unsigned char)(1u << (i & 7));
    ljt_told_free(&t);
  }
  ljt_bytes_free(&text);
  ljt_sink_free(&s);
}

/* -- Hostile blocks, whose sums are right */

#define ID 0x11223344u

static void put_end(ljt_bytes *b, uint32_t sequence)
{

  ljt_block(b, 5, 0, sequence, 0, ID, "\0\0\0\0\0\0\0\0\0\0\0\0\0", 13);
}

static const struct payload {
  const char *name;
  unsigned kind;
  uint32_t events;
  const char *bytes;
  size_t size;
  int bad_at; /* -1: none is bad. */
  uint64_t lost_events;
} payloads[] = {
#define P(name, kind, events, bytes, bad, lost) \
  {name, kind, events, bytes, sizeof(bytes) - 1, bad, lost}
  P("string", 2, 0, "\x01\x05\x01x", -1, 0),
  P("empty", 2, 0, "", -1, 0),
  P("kind 0", 2, 0, "\x00\x01\x00", 0, 0),
  P("kind 9", 2, 0, "\x01\x01\x00\x09\x01\x00", 3, 0),
  P("id step 0", 2, 0, "\x01\x00\x00", 0, 0),
  P("id wraps", 2, 0, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"
    "\x01\x01\x00", 12, 0),
  P("id is last", 2, 0, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
    -1, 0),
  P("id too big", 2, 0, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00",
    0, 0),
  P("id too long", 2, 0, "\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    0, 0),
  P("string too long", 2, 0, "\x01\x01\x02x", 0, 0),
  P("string of 2^63", 2, 0,
    "\x01\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0, 0),
  P("module", 2, 0, "\x02\x01\x00\x01x\x01\x02\x03", -1, 0),
  P("module cut", 2, 0, "\x02\x01\x00\x01x\x01\x02", 0, 0),
  P("csym cut", 2, 0, "\x03\x01\x00\x01\x02", 0, 0),
  P("function cut", 2, 0, "\x04\x01\x00\x80", 0, 0),
  P("frame tag 6", 2, 0, "\x05\x01\x06\x00\x00", 0, 0),
  P("frame state 10", 2, 0, "\x05\x01\x02\x0a", -1, 0),
  P("frame state 11", 2, 0, "\x05\x01\x02\x0b", 0, 0),
  P("frame gap 0", 2, 0, "\x05\x01\x05\x00", 0, 0),
  P("frame gap 6", 2, 0, "\x05\x01\x05\x06", -1, 0),
  P("frame gap 7", 2, 0, "\x05\x01\x05\x07", 0, 0),
  P("frame cut", 2, 0, "\x05\x01", 0, 0),
  P("stack of itself", 2, 0, "\x06\x02\x00\x01", 0, 0),
  P("stack root", 2, 0, "\x06\x02\x02\x01", -1, 0),
  P("stack below root", 2, 0, "\x06\x02\x03\x01", 0, 0),
  P("site state 11", 2, 0, "\x07\x01\x01\x0b\x00", 0, 0),
  P("site object 17", 2, 0, "\x07\x01\x01\x0a\x11", -1, 0),
  P("site object 18", 2, 0, "\x07\x01\x01\x0a\x12", 0, 0),
  P("trace cut", 2, 0, "\x08\x01\x01", 0, 0),
  P("meta", 1, 0, "\x01k\x01v\x00\x00", -1, 0),
  P("meta odd", 1, 0, "\x01k\x01v\x00", 4, 0),
  P("alloc", 3, 1, "\x40\x01\x08", -1, 0),
  P("alloc cut", 3, 1, "\x40\x01", 0, 1),
  P("alloc cut later", 3, 3, "\x40\x01\x08\x00\x01\x00", 5, 1),
  P("all widths", 3, 1, "\xfc\x01\x02\x03\x01\x02\x03\x04\x05\x06\x07\x08"
    "\x01\x02\x03\x04\x05\x06\x07\x08", -1, 0),
  P("all widths cut", 3, 1, "\xfc\x01\x02\x03\x01\x02\x03\x04\x05\x06\x07"
    "\x08\x01\x02\x03\x04\x05\x06\x07", 0, 1),
  P("realloc", 3, 1, "\x02\x01\x08\x00\x09", -1, 0),
  P("realloc cut", 3, 1, "\x02\x01\x08\x00\x80", 0, 1),
  P("realloc of size code", 3, 1, "\x42\x01\x08\x00\x09", 0, 1),
  P("realloc too long", 3, 1, "\x02\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80"
    "\x80\x01\x00\x09", 0, 1),
  P("sub 6", 3, 0, "\x1b\x01\x01", -1, 0),
  P("sub 7", 3, 0, "\x1f\x01\x01", 0, 0),
  P("sub 63", 3, 0, "\xff\x01\x01", 0, 0),
  P("failed cut", 3, 1, "\x03\x01", 0, 1),
  P("weight alone", 3, 0, "\x0b\x05", -1, 0),
  P("weight for a free", 3, 1, "\x0b\x05\x41\x01\x08", -1, 0),
  P("mark reason 0", 3, 0, "\x0f\x00\x00\x00\x00\x00\x00", 0, 0),
  P("mark reason 4", 3, 0, "\x0f\x04\x00\x00\x00\x00\x00", -1, 0),
  P("mark reason 5", 3, 0, "\x0f\x05\x00\x00\x00\x00\x00", 0, 0),
  P("fewer events than said", 3, 5, "\x40\x01\x08", 3, 4),
  P("more events than said", 3, 0, "\x40\x01\x08", 3, 0),
  P("live", 4, 0, "\x11\x02", -1, 0),
  P("live object 18", 4, 0, "\x12\x02", 0, 0),
  P("live cut", 4, 0, "\x00\x02\x00", 2, 0),
#undef P
};

static void hostile_payloads(void)
{
  size_t i, offset;
  for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
    const struct payload *p = &payloads[i];
    ljt_bytes b = {NULL, 0, 0}, text = {NULL, 0, 0};
    ljt_told t;
    ljp_error err;
    ljp_status st;
    unsigned char *data;
    ljt.row = p->name;
    ljt_stream4(&b);
    ljt_block(&b, 1, 0, 0, 0, ID, "", 0);
    ljt_block(&b, p->kind, 0, 1, p->events, ID, p->bytes, p->size);
    ljt_block(&b, 2, 0, 2, 0, ID, "\x01\x63\x05" "after", 8);
    data = exact(b.data, b.size);
    st = decode_with(data, b.size, i % 2 ? 7 : 0, NULL, &t, &err);
    LJT_EQ(st, LJP_E_TRUNCATED); /* No END. */
    LJT_EQ(t.damage_count, p->bad_at >= 0);
    if (p->bad_at >= 0) {
      LJT_EQ(t.off[0], 14u + 32 + 32 + (unsigned)p->bad_at);
      LJT_EQ(t.size[0], p->size - (unsigned)p->bad_at);
      LJT_EQ(t.lost_events[0], p->lost_events);
      LJT_EQ(t.lost_blocks[0], 0);
    }
    /* What comes after is read all the same. */
    LJT_OK(t.text.size > 18);
    LJT_MEM(t.text.data + t.text.size - 18, 18, "string 99 'after'\n", 18);
    /* The slow decoder judges alike. */
    LJT_EQ(ljt_dump(b.data, b.size, 0, &text, NULL, &offset),
           p->bad_at >= 0 ? LJT_BAD : LJT_CUT);
    if (p->bad_at < 0)
      LJT_MEM(text.data, text.size, t.text.data, t.text.size);
    ljt_told_free(&t);
    free(data);
    ljt_bytes_free(&text);
    ljt_bytes_free(&b);
  }
}

/* -- Headers */

static const struct head {
  const char *name;
  unsigned at, value; /* Of the 32 bytes; the header's sum is made right. */
  unsigned kind, size; /* Of the block before that. */
} heads[] = {
  {"magic", 0, 0x9c, 3, 3}, {"kind 0", 4, 0, 2, 3}, {"kind 6", 4, 6, 2, 3},
  {"kind 0 with events", 4, 0, 3, 3}, {"kind 255", 4, 255, 2, 3},
  {"flag 2", 5, 2, 2, 3}, {"flag 3", 5, 3, 2, 3},
  {"copy of events", 5, 1, 3, 3}, {"copy of blocks in use", 5, 1, 4, 3},
  {"events of definitions", 16, 1, 2, 3},
  {"events of blocks in use", 16, 1, 4, 3}, {"reserved", 6, 1, 3, 3},
  {"reserved, high", 7, 128, 3, 3}, {"sequence again", 8, 0, 3, 3},
  {"size one over the limit", 14, 0x10, 2, 1},
  {"size over the limit", 14, 0x11, 3, 3}, {"size 2^31", 15, 0x80, 3, 3},
  {"another stream", 20, 1, 3, 3},
};

static void hostile_headers(void)
{
  size_t i, offset;
  for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
    ljt_bytes b = {NULL, 0, 0}, text = {NULL, 0, 0};
    ljt_told t;
    ljp_error err;
    unsigned char *h;
    const char *payload = heads[i].kind == 2   ? "\x01\x01\x00"
                          : heads[i].kind == 3 ? "\x40\x01\x08"
                                               : "\x11\x80\x00";
    ljt.row = heads[i].name;
    ljt_stream4(&b);
    ljt_block(&b, 1, 0, 0, 0, ID, "", 0);
    ljt_block(&b, heads[i].kind, 0, 1, heads[i].kind == 3, ID,
              payload, heads[i].size);
    h = b.data + 14 + 32;
    h[heads[i].at] = (unsigned char)heads[i].value;
    reseal(h, 32 + heads[i].size);
    put_end(&b, 2);
    LJT_EQ(decode(b.data, b.size, &t, &err), LJP_E_MALFORMED);
    LJT_EQ(t.damage_count, 1);
    LJT_EQ(t.events, 0);
    LJT_EQ(t.off[0], 14 + 32);
    LJT_EQ(t.size[0], 32 + heads[i].size);
    LJT_EQ(t.lost_blocks[0], 1);
    /* The slow decoder judges alike. */
    LJT_EQ(ljt_dump(b.data, b.size, 0, &text, NULL, &offset), LJT_BAD);
    LJT_EQ(offset, 14 + 32);
    ljt_told_free(&t);
    ljt_bytes_free(&text);
    ljt_bytes_free(&b);
  }
}

static const struct start {
  const char *name;
  unsigned at, value;
  ljp_status status;
  unsigned off;
} starts[] = {
  {"good", 3, 4, LJP_E_TRUNCATED, 14},
  {"magic", 0, 'x', LJP_E_MALFORMED, 0},
  {"version 5", 3, 5, LJP_E_UNSUPPORTED, 3},
  {"reserved", 4, 1, LJP_E_MALFORMED, 4},
  {"second magic", 7, 'x', LJP_E_MALFORMED, 7},
  {"second version 3", 10, 3, LJP_E_UNSUPPORTED, 10},
  {"second version 5", 10, 5, LJP_E_UNSUPPORTED, 10},
  {"second reserved", 13, 1, LJP_E_MALFORMED, 13},
};

static void stream_start(void)
{
  size_t i, step;
  for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
    for (step = 0; step < 4; step++) {
      ljt_bytes b = {NULL, 0, 0};
      ljt_told t;
      ljp_error err;
      ljt.row = starts[i].name;
      ljt_stream4(&b);
      b.data[starts[i].at] = (unsigned char)starts[i].value;
      LJT_EQ(decode_with(b.data, b.size, step, NULL, &t, &err),
             starts[i].status);
      LJT_EQ(err.off, starts[i].off);
      ljt_told_free(&t);
      ljt_bytes_free(&b);
    }
  }
}

/* The end's totals are wrong by one. */
static void totals(void)
{
  unsigned k;
  for (k = 0; k < 13; k++) {
    ljt_bytes b = {NULL, 0, 0};
    ljt_told t;
    ljp_error err;
    unsigned char end[13] = {0, 0, 0, 1, 8, 1, 7, 1, 1, 2, 1, 0, 0};
    ljt_stream4(&b);
    ljt_block(&b, 1, 0, 0, 0, ID, "", 0);
    ljt_block(&b, 3, 0, 1, 4, ID, "\x40\x01\x08\x41\x01\x07\x02\x01\x01\x00"
              "\x02\x03\x01\x01", 14);
    end[k]++;
    ljt_block(&b, 5, 0, 2, 0, ID, end, 13);
    if (k < 3 || k > 10) {
      LJT_EQ(decode(b.data, b.size, &t, &err), LJP_END);
    } else {
      LJT_EQ(decode(b.data, b.size, &t, &err), LJP_E_MALFORMED);
      LJT_EQ(t.damage_count, 1);
      LJT_EQ(err.off, 14 + 32 + 32 + 14 + 32);
    }
    LJT_EQ(t.events, 4);
    ljt_told_free(&t);
    ljt_bytes_free(&b);
  }
}

/* Ends that are not right by themselves: read as the end, with damage. */
static void bad_ends(void)
{
  static const struct row {
    const char *bytes;
    size_t size;
  } rows[] = {
    {"", 0}, {"\0\0\0\0\0\0\0\0\0\0\0\0", 12},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 14},
    {"\7\0\0\0\0\0\0\0\0\0\0\0\0", 13}, {"\x80", 1},
  };
  size_t i, offset;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljt_bytes b = {NULL, 0, 0}, text = {NULL, 0, 0};
    ljt_told t;
    ljp_error err;
    ljt_stream4(&b);
    ljt_block(&b, 5, 0, 0, 0, ID, rows[i].bytes, rows[i].size);
    LJT_EQ(decode(b.data, b.size, &t, &err), LJP_E_MALFORMED);
    LJT_EQ(t.damage_count, 1);
    LJT_EQ(err.off, t.off[0]);
    LJT_EQ(ljt_dump(b.data, b.size, 0, &text, NULL, &offset), LJT_BAD);
    ljt_told_free(&t);
    ljt_bytes_free(&text);
    ljt_bytes_free(&b);
  }
}

/* Headers every 32 bytes that each claim a large payload: the sums tried are
** bounded by the input, and so is memory. */
static void nested_headers(void)
{
  ljt_bytes b = {NULL, 0, 0};
  ljp_decoder *d = NULL;
  ljp_handler h;
  ljp_options o;
  ljt_heap heap;
  ljt_told t;
  uint32_t i, n = 100000;
  size_t at = 14;
  o = ljt_heap_options(&heap);
  ljt_stream4(&b);
  for (i = 0; i < n; i++) {
    unsigned char head[32] = {0x9d, 'l', 'j', 'b', 3};
    uint32_t crc, k;
    memcpy(head + 8, &i, 4);
    head[14] = 0x10; /* 1 MiB */
    crc = ljt_crc32c(head, 28);
    for (k = 0; k < 4; k++) head[28 + k] = (unsigned char)(crc >> (8 * k));
    ljt_raw(&b, head, 32);
  }
  h = ljt_told_handler(&t);
  LJT_EQ(ljp_decoder_new(&d, &h, &o), LJP_OK);
  LJT_EQ(ljp_decoder_feed(d, b.data, 14), LJP_MORE);
  while (at < b.size) {
    size_t step = b.size - at < 65536 ? b.size - at : 65536;
    LJT_EQ(ljp_decoder_feed(d, b.data + at, step), LJP_MORE);
    at += step;
  }
  LJT_OK(ljp_decoder_finish(d) >= LJP_E_MALFORMED);
  LJT_OK(d->blocks.vain <= 9 * (b.size + LJP_FMT_PAYLOAD_MAX));
  LJT_OK(d->blocks.vain > 0);
  LJT_OK(heap.peak_size <= 4 * LJP_FMT_PAYLOAD_MAX + 65536);
  ljp_decoder_free(d);
  LJT_EQ(heap.live_count, 0);
  ljt_told_free(&t);
  ljt_bytes_free(&b);
}

/* -- What the end may be */

/* A stream of one block, then `size` bytes of `tail`. */
static void one_tail(const void *tail, size_t size, ljp_status want,
                     uint64_t record_off)
{
  ljt_bytes b = {NULL, 0, 0};
  ljt_told t;
  ljp_error err;
  unsigned char *data;
  uint64_t start;
  ljt_stream4(&b);
  ljt_block(&b, 1, 0, 0, 0, ID, "", 0);
  start = b.size;
  ljt_raw(&b, tail, size);
  data = exact(b.data, b.size);
  LJT_EQ(decode(data, b.size, &t, &err), want);
  LJT_EQ(t.damage_count, want == LJP_E_MALFORMED);
  LJT_EQ(err.off, want == LJP_E_MALFORMED ? start : b.size);
  LJT_EQ(err.record_off, start + record_off);
  if (want == LJP_E_MALFORMED) LJT_EQ(t.size[0], size);
  ljt_told_free(&t);
  free(data);
  ljt_bytes_free(&b);
}

static void tails(void)
{
  static const unsigned char magic[40] = {0x9d, 'l', 'j', 'b'};
  ljt_bytes block = {NULL, 0, 0};
  unsigned char junk[40];
  size_t n;
  memset(junk, 'x', sizeof(junk));
  ljt_block(&block, 2, 0, 1, 0, ID, "\x01\x63\x05" "after", 8);
  one_tail("", 0, LJP_E_TRUNCATED, 0);
  for (n = 1; n <= 40; n++) {
    one_tail(junk, n, LJP_E_MALFORMED, 0);
    one_tail(magic, n, n < 32 ? LJP_E_TRUNCATED : LJP_E_MALFORMED, 0);
    one_tail(block.data, n, LJP_E_TRUNCATED, n < 40 ? 0 : 40);
  }
  for (n = 0; n < 3; n++) { /* Magic but for its last byte. */
    memcpy(junk, magic, n + 1);
    one_tail(junk, n + 2, LJP_E_MALFORMED, 0);
  }
  ljt_bytes_free(&block);
}

/* After lost bytes a header is one as soon as it is whole. */
static void lost_tails(void)
{
  size_t n;
  for (n = 0; n <= 40; n++) {
    ljt_bytes b = {NULL, 0, 0};
    ljt_told t;
    ljp_error err;
    unsigned char *data;
    size_t size = 14 + 32 + 3 + n;
    ljt_stream4(&b);
    ljt_block(&b, 1, 0, 0, 0, ID, "", 0);
    ljt_raw(&b, "xyz", 3);
    ljt_block(&b, 2, 0, 1, 0, ID, "\x01\x63\x05" "after", 8);
    data = exact(b.data, size);
    LJT_EQ(decode(data, size, &t, &err),
           n < 32 ? LJP_E_MALFORMED : LJP_E_TRUNCATED);
    LJT_EQ(t.damage_count, 1);
    LJT_EQ(t.off[0], 14 + 32);
    LJT_EQ(t.size[0], n < 32 ? 3 + n : 3);
    LJT_EQ(t.lost_blocks[0], 0);
    ljt_told_free(&t);
    free(data);
    ljt_bytes_free(&b);
  }
}

/* A payload of 1 MiB is the largest. */
static void largest_payload(void)
{
  size_t size, i;
  for (size = LJP_FMT_PAYLOAD_MAX; size <= LJP_FMT_PAYLOAD_MAX + 2; size++) {
    ljt_bytes b = {NULL, 0, 0};
    ljt_told t;
    ljp_error err;
    unsigned char *payload = (unsigned char *)malloc(size);
    if (!payload) abort();
    for (i = 0; i < size; i++) payload[i] = i % 2 ? 5 : 0x0b; /* Weights. */
    ljt_stream4(&b);
    ljt_block(&b, 1, 0, 0, 0, ID, "", 0);
    ljt_block(&b, 3, 0, 1, 0, ID, payload, size);
    put_end(&b, 2);
    LJT_EQ(decode(b.data, b.size, &t, &err),
           size == LJP_FMT_PAYLOAD_MAX ? LJP_END : LJP_E_MALFORMED);
    LJT_EQ(t.damage_count, size > LJP_FMT_PAYLOAD_MAX);
    if (size > LJP_FMT_PAYLOAD_MAX) LJT_EQ(t.off[0], 14 + 32);
    ljt_told_free(&t);
    ljt_bytes_free(&b);
    free(payload);
  }
}

/* Payloads with wrong sums are looked into until eight times the input and
** 8 MiB more were summed in vain; then they are passed over. */
static void summed_in_vain(void)
{
  static ljp_decoder d;
  static unsigned char data[2000];
  ljpi_block_head b;
  ljpi_cursor c;
  int more;
  memset(&b, 0, sizeof(b));
  b.size = 1000;
  for (more = 0; more < 2; more++) {
    memset(&d, 0, sizeof(d));
    d.begin = c.p = data;
    c.end = data + sizeof(data);
    d.blocks.vain = 8 * (uint64_t)LJP_FMT_PAYLOAD_MAX - 1000;
    if (more) d.blocks.vain += 8;
    LJT_EQ(ljpi_block_bad(&d, &c, &b), LJP_OK);
    LJT_EQ(c.p - data, more ? 32 + 1000 : 32);
    LJT_EQ(d.blocks.lost_off, 0);
  }
}

/* -- Memory and limits */

static void failing_memory(void)
{
  ljt_sink s;
  ljp_options o;
  ljt_heap heap;
  uint64_t n;
  ljp_status st = LJP_E_NOMEM;
  LJT_OK(ljt_gen4(&s, ljt.seed + 7, 2000, 65536));
  o = ljt_heap_options(&heap);
  for (n = 1; st != LJP_END && n < 100; n++) {
    ljt_told t;
    ljp_error err;
    memset(&heap, 0, sizeof(heap));
    heap.fail_at = n;
    st = decode_with(s.data, s.size, 1000, &o, &t, &err);
    LJT_OK(st == LJP_END || st == LJP_E_NOMEM);
    LJT_EQ(heap.live_count, 0);
    LJT_EQ(heap.bad_frees, 0);
    ljt_told_free(&t);
  }
  LJT_OK(n > 3 && n < 100);
  ljt_sink_free(&s);
}

static ljp_status limited(const ljt_sink *s, const ljp_limits *limits,
                          ljp_error *err)
{
  ljt_told t;
  ljp_options o;
  ljp_status st;
  memset(&o, 0, sizeof(o));
  o.limits = *limits;
  st = decode_with(s->data, s->size, 1000, &o, &t, err);
  ljt_told_free(&t);
  return st;
}

/* The least value with which the stream is read, by halves; one less is
** LIMIT and says which. */
static void one_limit(const ljt_sink *s, ljp_limits *l, uint64_t *value,
                      ljp_limit which, uint64_t most)
{
  uint64_t low = 0, high = most;
  ljp_error err;
  *value = most;
  LJT_EQ(limited(s, l, &err), LJP_END);
  while (high - low > 1) {
    *value = low + (high - low) / 2;
    if (limited(s, l, &err) == LJP_END) high = *value;
    else low = *value;
  }
  LJT_OK(low > 0);
  *value = low;
  LJT_EQ(limited(s, l, &err), LJP_E_LIMIT);
  LJT_EQ(err.limit, which);
  *value = high;
  LJT_EQ(limited(s, l, &err), LJP_END);
  *value = high + 1;
  LJT_EQ(limited(s, l, &err), LJP_END);
  *value = 1;
  LJT_EQ(limited(s, l, &err), LJP_E_LIMIT);
  *value = 0;
}

static void limits(void)
{
  ljt_sink s;
  ljp_limits l;
  LJT_OK(ljt_gen4(&s, ljt.seed + 8, 2000, 65536));
  memset(&l, 0, sizeof(l));
  one_limit(&s, &l, &l.memory, LJP_LIMIT_MEMORY, 1u << 20);
  one_limit(&s, &l, &l.string, LJP_LIMIT_STRING, 64);
  one_limit(&s, &l, &l.records, LJP_LIMIT_RECORDS, 4000);
  ljt_sink_free(&s);
}

/* Each byte of each payload changed, the block's sums made right again: read
** to some end, the same in pieces. */
static void resealed(void)
{
  ljt_sink s;
  ljt_bytes text = {NULL, 0, 0};
  static ljt_blocks b;
  size_t offset, i, k, at, size;
  LJT_OK(ljt_gen4(&s, ljt.seed + 9, 120, 4096));
  LJT_EQ(ljt_dump(s.data, s.size, 0, &text, &b, &offset), LJT_CLEAN);
  for (i = 0; i < b.count; i++) {
    unsigned char *h = s.data + b.offset[i];
    size = block_size(h);
    for (at = 32; at < size; at += 1 + (size_t)ljt.stride / 8) {
      unsigned char old = h[at], sums[8];
      memcpy(sums, h + 24, 8);
      for (k = 0; k < 4; k++) {
        static const unsigned char values[] = {0, 255};
        ljt_told whole, pieces;
        ljp_error a, c;
        ljp_status st;
        h[at] = (unsigned char)(k < 2 ? old + 2 * k - 1 : values[k - 2]);
        reseal(h, size);
        st = decode(s.data, s.size, &whole, &a);
        LJT_OK(st == LJP_END || st == LJP_E_MALFORMED);
        LJT_EQ(st == LJP_END, whole.damage_count == 0);
        LJT_EQ(decode_with(s.data, s.size, 61, NULL, &pieces, &c), st);
        LJT_EQ(c.off, a.off);
        LJT_MEM(pieces.text.data, pieces.text.size, whole.text.data,
                whole.text.size);
        ljt_told_free(&whole);
        ljt_told_free(&pieces);
      }
      h[at] = old;
      memcpy(h + 24, sums, 8);
    }
  }
  ljt_bytes_free(&text);
  ljt_sink_free(&s);
}

/* Each reason that a stream may end for. */
static void all_ends(void)
{
  unsigned reason;
  for (reason = 0; reason <= 6; reason++) {
    ljt_bytes b = {NULL, 0, 0};
    unsigned char end[13] = {0};
    ljt_told t;
    ljp_error err;
    ljt_stream4(&b);
    end[0] = (unsigned char)reason;
    ljt_block(&b, 5, 0, 0, 0, ID, end, 13);
    LJT_EQ(decode(b.data, b.size, &t, &err), LJP_END);
    LJT_EQ(t.damage_count, 0);
    ljt_told_free(&t);
    ljt_bytes_free(&b);
  }
}

/* Events of a block are handed on 64 at once, failed ones as others. */
static void full_batches(void)
{
  static const char *const events[] = {"\x40\x01\x08", "\x03\x01\x08"};
  size_t n, i;
  int kind;
  for (kind = 0; kind < 2; kind++) {
    for (n = 0; n < 300; n++) {
      ljt_bytes b = {NULL, 0, 0}, payload = {NULL, 0, 0};
      ljt_batches got = {0, 0, 0, LJP_OK};
      ljp_handler h = {ljt_count_batch, NULL, NULL};
      ljp_decoder *d;
      h.user = &got;
      for (i = 0; i < n; i++) ljt_raw(&payload, events[kind], 3);
      ljt_stream4(&b);
      ljt_block(&b, 3, 0, 0, (uint32_t)n, ID, payload.data, payload.size);
      LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
      LJT_EQ(ljp_decoder_feed(d, b.data, b.size), LJP_MORE);
      LJT_EQ(got.events, n);
      LJT_EQ(got.calls, (n + 63) / 64);
      LJT_EQ(got.most, n < 64 ? n : 64);
      ljp_decoder_free(d);
      ljt_bytes_free(&payload);
      ljt_bytes_free(&b);
    }
  }
}

/* Who refuses events is not called again, though the block has more. */
static void refused_batch(void)
{
  ljt_bytes b = {NULL, 0, 0}, payload = {NULL, 0, 0};
  ljt_batches got = {0, 0, 0, LJP_E_NOMEM};
  ljp_handler h = {ljt_count_batch, NULL, NULL};
  ljp_decoder *d;
  size_t i;
  h.user = &got;
  for (i = 0; i < 500; i++) ljt_raw(&payload, "\x40\x01\x08", 3);
  ljt_stream4(&b);
  ljt_block(&b, 3, 0, 0, 500, ID, payload.data, payload.size);
  LJT_EQ(ljp_decoder_new(&d, &h, NULL), LJP_OK);
  LJT_EQ(ljp_decoder_feed(d, b.data, b.size), LJP_E_NOMEM);
  LJT_EQ(got.calls, 1);
  LJT_EQ(ljp_decoder_finish(d), LJP_E_NOMEM);
  LJT_EQ(got.calls, 1);
  ljp_decoder_free(d);
  ljt_bytes_free(&payload);
  ljt_bytes_free(&b);
}

/* The tables' last word too: each byte in each place of eight. */
static void crc_words(void)
{
  static uint32_t table[LJPI_CRC_TABLE_COUNT];
  unsigned i, at;
  memset(table, 0xee, sizeof(table));
  ljpi_crc_fill(table);
  for (at = 0; at < 8; at++) {
    for (i = 0; i < 256; i++) {
      unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
      data[at] = (unsigned char)i;
      LJT_EQ(ljpi_crc_tables(table, data, 8), ljt_crc32c(data, 8));
    }
  }
}

static void crc(void)
{
  static uint32_t table[LJPI_CRC_TABLE_COUNT];
  unsigned char data[80];
  size_t from, n;
  ljt_rng r = ljt_rng_make(ljt.seed);
  for (n = 0; n < sizeof(data); n++) data[n] = (unsigned char)ljt_rand(&r);
  ljpi_crc_fill(table);
  for (from = 0; from < 9; from++) {
    for (n = 0; n + from <= sizeof(data); n++) {
      LJT_EQ(ljpi_crc_tables(table, data + from, n),
             ljt_crc32c(data + from, n));
#ifdef LJPI_CRC_NATIVE
      if (LJPI_CRC_NATIVE())
        LJT_EQ(ljpi_crc_native(data + from, n), ljt_crc32c(data + from, n));
#endif
    }
  }
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(same_text);
  LJT_CASE(cuts);
  LJT_CASE(damaged_blocks);
  LJT_CASE(damaged_end);
  LJT_CASE(more_damage);
  LJT_CASE(every_bit);
  LJT_CASE(hostile_payloads);
  LJT_CASE(hostile_headers);
  LJT_CASE(stream_start);
  LJT_CASE(totals);
  LJT_CASE(bad_ends);
  LJT_CASE(nested_headers);
  LJT_CASE(tails);
  LJT_CASE(lost_tails);
  LJT_CASE(largest_payload);
  LJT_CASE(summed_in_vain);
  LJT_CASE(failing_memory);
  LJT_CASE(limits);
  LJT_CASE(resealed);
  LJT_CASE(all_ends);
  LJT_CASE(full_batches);
  LJT_CASE(refused_batch);
  LJT_CASE(crc);
  LJT_CASE(crc_words);
  return ljt_end();
}
