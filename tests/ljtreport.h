/*
** ljtreport.h - helpers of the parser's tests: recorded streams, reports as
** text, and comparing reports whose ties may stand in any order.
*/
#ifndef LJTREPORT_H
#define LJTREPORT_H

#include "ljtest.h"
#include "ljtstream.h"

/* A write callback that gathers. */
static inline int ljt_gather(void *user, const void *p, size_t size)
{
  ljt_raw((ljt_bytes *)user, p, size);
  return 0;
}

/* What `gzip -dc` makes of a file, in a heap block; NULL: none. Runs in a
** process of its own, so that the memory sanitizer sees what it wrote. */
static inline unsigned char *ljt_gunzip(const char *path, size_t *size)
{
  char cmd[1200];
  ljt_bytes t = {NULL, 0, 0};
  char buf[16384];
  size_t n;
  FILE *f;
  if (strchr(path, '\'')) return NULL;
  snprintf(cmd, sizeof(cmd), "gzip -dc '%s'", path);
  f = popen(cmd, "r");
  if (!f) return NULL;
  while ((n = fread(buf, 1, sizeof(buf), f)) != 0) ljt_raw(&t, buf, n);
  if (pclose(f) != 0) {
    ljt_bytes_free(&t);
    return NULL;
  }
  *size = t.size;
  return (unsigned char *)realloc(t.data, t.size ? t.size : 1);
}

/* -- comparing reports -- */

typedef struct ljt_piece {
  const char *p;
  size_t size;
} ljt_piece;

static inline int ljt_piece_cmp(const void *a, const void *b)
{
  const ljt_piece *x = (const ljt_piece *)a, *y = (const ljt_piece *)b;
  size_t n = x->size < y->size ? x->size : y->size;
  int order = n ? memcmp(x->p, y->p, n) : 0;
  return order ? order : (x->size > y->size) - (x->size < y->size);
}

static inline const char *ljt_next_line(const char *p, const char *end)
{
  const char *nl = (const char *)memchr(p, '\n', (size_t)(end - p));
  return nl ? nl + 1 : end;
}

/* Line at p, with its overrides and the empty line after them. */
static inline ljt_piece ljt_piece_at(const char *p, const char *end)
{
  ljt_piece piece;
  const char *q = ljt_next_line(p, end);
  int under = 0;
  while (q < end && (*q == '\t' || (under && *q == '\n'))) {
    under = *q == '\t';
    q = ljt_next_line(q, end);
  }
  piece.p = p;
  piece.size = (size_t)(q - p);
  return piece;
}

/* First number of a line, which sorts it: "N events" or "holds NB". */
static inline uint64_t ljt_piece_number(ljt_piece piece)
{
  const char *end = piece.p + piece.size, *p;
  uint64_t n = UINT64_MAX;
  for (p = piece.p; p < end && *p != '\n'; p++) {
    if (end - p > 7 && memcmp(p, " holds ", 7) == 0)
      n = strtoull(p + 7, NULL, 10);
    if (end - p > 8 && memcmp(p, " events\t", 8) == 0) {
      const char *q = p;
      while (q > piece.p && q[-1] >= '0' && q[-1] <= '9') q--;
      n = strtoull(q, NULL, 10);
    }
  }
  return n;
}

/* Lines of a report up to its aliases, those of equal numbers that follow
** each other sorted. Returns their count; *rest is what was not cut up. */
static inline size_t ljt_pieces(const char *p, size_t size, ljt_piece **out,
                                ljt_piece *rest)
{
  const char *end = p + size;
  size_t n = 0, cap = 64, from = 0, i;
  *out = (ljt_piece *)malloc(cap * sizeof(**out));
  while (p < end && (end - p < 8 || memcmp(p, "ALIASES:", 8) != 0)) {
    ljt_piece piece = ljt_piece_at(p, end);
    if (n == cap) {
      cap *= 2;
      *out = (ljt_piece *)realloc(*out, cap * sizeof(**out));
    }
    if (!*out) abort();
    (*out)[n++] = piece;
    p += piece.size;
  }
  for (i = 1; i <= n; i++) {
    if (i < n && ljt_piece_number((*out)[i]) != UINT64_MAX &&
        ljt_piece_number((*out)[i]) == ljt_piece_number((*out)[from]))
      continue;
    qsort(*out + from, i - from, sizeof(**out), ljt_piece_cmp);
    from = i;
  }
  rest->p = p;
  rest->size = (size_t)(end - p);
  return n;
}

/* Whether two reports say the same, order of ties aside. */
static inline int ljt_same_report(const char *have, size_t have_size,
                                  const char *want, size_t want_size,
                                  const char *file, int line)
{
  ljt_piece *h, *w, hr, wr;
  size_t hn = ljt_pieces(have, have_size, &h, &hr), i;
  size_t wn = ljt_pieces(want, want_size, &w, &wr);
  int ok = 1;
  ljt.checks++;
  for (i = 0; ok && (i < hn || i < wn); i++) {
    if (i < hn && i < wn && ljt_piece_cmp(&h[i], &w[i]) == 0) continue;
    ok = ljt_fail(file, line);
    printf("line %zu of the report:\n  have %.*s\n  want %.*s\n", i + 1,
           i < hn ? (int)h[i].size : 0, i < hn ? h[i].p : "",
           i < wn ? (int)w[i].size : 0, i < wn ? w[i].p : "");
  }
  if (ok && ljt_piece_cmp(&hr, &wr) != 0) {
    ok = ljt_fail(file, line);
    printf("aliases differ\n");
  }
  free(h);
  free(w);
  return ok;
}
#define LJT_SAME_REPORT(have, hn, want, wn) \
  ljt_same_report((have), (hn), (want), (wn), __FILE__, __LINE__)

/* Replaces " bytes" by "B", as older commits' reports differ. */
static inline void ljt_modern_units(char *p, size_t *size)
{
  char *to = p, *end = p + *size;
  while (p < end) {
    if (end - p >= 6 && memcmp(p, " bytes", 6) == 0) {
      *to++ = 'B';
      p += 6;
    } else {
      *to++ = *p++;
    }
  }
  *size -= (size_t)(end - to);
}

#endif /* LJTREPORT_H */
