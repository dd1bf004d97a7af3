/*
** ljtjson.h - strict JSON for tests: checks syntax, finds values.
** A value is the text where it begins; every function takes NULL and then
** gives NULL, so look-ups can be chained.
*/
#ifndef LJTJSON_H
#define LJTJSON_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline const char *ljt_json_space(const char *s)
{
  while (s && (*s == ' ' || *s == '\n' || *s == '\r' || *s == '\t')) s++;
  return s;
}

/* After the string at s (which begins with a quote). */
static inline const char *ljt_json_string(const char *s)
{
  if (*s++ != '"') return NULL;
  for (; *s != '"'; s++) {
    if ((unsigned char)*s < 0x20) return NULL;
    if (*s != '\\') continue;
    s++;
    if (*s == 'u') {
      if (strspn(s + 1, "0123456789abcdefABCDEF") < 4) return NULL;
      s += 4;
    } else if (*s == 0 || !strchr("\"\\/bfnrt", *s)) {
      return NULL;
    }
  }
  return s + 1;
}

/* After the number at s, written as RFC 8259 wants it. */
static inline const char *ljt_json_number(const char *s)
{
  static const char digits[] = "0123456789";
  if (*s == '-') s++;
  if (*s == '0') s++;
  else if (strspn(s, digits) == 0) return NULL;
  else s += strspn(s, digits);
  if (*s == '.') {
    if (strspn(++s, digits) == 0) return NULL;
    s += strspn(s, digits);
  }
  if (*s == 'e' || *s == 'E') {
    s++;
    if (*s == '-' || *s == '+') s++;
    if (strspn(s, digits) == 0) return NULL;
    s += strspn(s, digits);
  }
  return s;
}

/* After the value at s, NULL if it is none; nesting to 64 levels. */
static inline const char *ljt_json_skip(const char *s)
{
  static const char *const words[] = {"true", "false", "null"};
  char open[64];
  size_t depth = 0, i;
  for (;;) {
    s = ljt_json_space(s);
    if (!s) return NULL;
    if (*s == '{' || *s == '[') {
      if (depth == sizeof(open)) return NULL;
      open[depth++] = *s;
      s = ljt_json_space(s + 1);
      if (*s != (open[depth - 1] == '{' ? '}' : ']')) {
        if (open[depth - 1] == '[') continue;
        s = ljt_json_string(s);
        s = ljt_json_space(s);
        if (!s || *s++ != ':') return NULL;
        continue;
      }
    } else if (*s == '"') {
      s = ljt_json_string(s);
    } else if (*s == '-' || (*s >= '0' && *s <= '9')) {
      s = ljt_json_number(s);
    } else {
      for (i = 0; i < 3 && strncmp(s, words[i], strlen(words[i])); i++) {}
      if (i == 3) return NULL;
      s += strlen(words[i]);
    }
    for (;;) { /* After a value, or at the end of an empty one. */
      s = ljt_json_space(s);
      if (!s) return NULL;
      if (depth == 0) return s;
      if (*s == (open[depth - 1] == '{' ? '}' : ']')) {
        s++;
        depth--;
        if (depth == 0) return s;
        continue;
      }
      if (*s++ != ',') return NULL;
      if (open[depth - 1] == '{') {
        s = ljt_json_space(s);
        s = ljt_json_string(s);
        s = ljt_json_space(s);
        if (!s || *s++ != ':') return NULL;
      }
      break;
    }
  }
}

/* The whole text is one value. */
static inline int ljt_json_valid(const char *s)
{
  s = ljt_json_space(ljt_json_skip(s));
  return s && *s == 0;
}

/* Value of a key (one without escapes) of the object at s. */
static inline const char *ljt_json_get(const char *s, const char *key)
{
  size_t n = strlen(key);
  s = ljt_json_space(s);
  if (!s || *s++ != '{') return NULL;
  for (;;) {
    int hit;
    s = ljt_json_space(s);
    if (*s != '"') return NULL;
    hit = strncmp(s + 1, key, n) == 0 && s[n + 1] == '"';
    s = ljt_json_space(ljt_json_string(s));
    if (!s || *s != ':') return NULL;
    s = ljt_json_space(s + 1);
    if (hit) return s;
    s = ljt_json_space(ljt_json_skip(s));
    if (!s || *s++ != ',') return NULL;
  }
}

/* First element of the array at s; NULL if it has none. */
static inline const char *ljt_json_first(const char *s)
{
  s = ljt_json_space(s);
  if (!s || *s != '[') return NULL;
  s = ljt_json_space(s + 1);
  return *s == ']' ? NULL : s;
}

/* Element after the one at s, NULL after the last. */
static inline const char *ljt_json_next(const char *s)
{
  s = ljt_json_space(ljt_json_skip(s));
  return s && *s == ',' ? ljt_json_space(s + 1) : NULL;
}

static inline const char *ljt_json_at(const char *s, size_t i)
{
  s = ljt_json_first(s);
  while (s && i-- > 0) s = ljt_json_next(s);
  return s;
}

static inline uint64_t ljt_json_u64(const char *s)
{
  return s ? strtoull(s, NULL, 10) : UINT64_MAX;
}

/* The string at s is this text, as it stands in the JSON. */
static inline int ljt_json_is(const char *s, const char *text)
{
  size_t n = strlen(text);
  return s && *s == '"' && strncmp(s + 1, text, n) == 0 && s[n + 1] == '"';
}

#endif /* LJTJSON_H */
