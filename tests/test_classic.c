/* The classic report against every recorded stream and the peer's reports. */
#define _POSIX_C_SOURCE 200809L
#include "ljparse.h"
#include "ljtreport.h"

#include <dirent.h>

/* How a stream ends: a status, and where the last whole record did. */
typedef struct row {
  const char *name;
  ljp_status status;
  uint64_t off, whole;
  uint64_t stray;
  const char *differs;   /* Why its report is not what is to be printed. */
} row;

static const char generations[] =
  "this commit's parser split rows by generations of a redefined address or "
  "trace, which it gave up later";

static const row rows[] = {
#define WHOLE(name) {name, LJP_END, 0, 0, 0, NULL}
#define CUT(name, size, whole) {name, LJP_E_TRUNCATED, size, whole, 0, NULL}
  WHOLE("v1v1-lint"), WHOLE("v1v1-mix-a"), WHOLE("v1v2-mix-a"),
  WHOLE("v2v2-mix-a"), WHOLE("v2v2-pl"), WHOLE("v2v3-addr-mix-a"),
  {"v2v3-noaddr-mix-a", LJP_END, 0, 0, 0, generations},
  {"v2v3-noaddr-reuse", LJP_END, 0, 0, 0, generations},
  CUT("v2v3-noaddr-cut-xfsz", 102400, 102393),
  {"v3v3-88d2-mix-a", LJP_END, 0, 0, 0, generations},
  {"v3v3-0895-lfs", LJP_END, 0, 0, 0, generations},
  WHOLE("v3v3-0895-mix-a"), WHOLE("master-bytecode"),
  WHOLE("master-chunks-a"), WHOLE("master-cjson-dlopen"),
  WHOLE("master-coro-a"), WHOLE("master-errs-a"), WHOLE("master-ffi-a"),
  WHOLE("master-fullsym"), WHOLE("master-fullsym-a"), WHOLE("master-grow-a"),
  {"master-lastresort", LJP_END, 0, 0, 4, NULL},
  WHOLE("master-lint-jit"), WHOLE("master-lint-nojit"),
  WHOLE("master-load-mediator"), WHOLE("master-mix-a"),
  WHOLE("master-mix-b-32bit"), WHOLE("master-nostop"),
  WHOLE("master-nostop-error"), WHOLE("master-oom"), WHOLE("master-pl-jit"),
  WHOLE("master-reuse-a"), WHOLE("master-twice"), WHOLE("master-unload-a"),
  CUT("master-cut-empty", 0, 0), CUT("master-cut-enospc", 65536, 65533),
  CUT("master-cut-kill9", 8388602, 8388594),
  CUT("master-cut-string", 307200, 307183),
  CUT("master-cut-symtab", 65536, 65523)
#undef WHOLE
#undef CUT
};

static char *path_of(const char *name, const char *end)
{
  static char path[1024];
  snprintf(path, sizeof(path), "%s/%s%s", ljt.data_dir, name, end);
  return path;
}

/* Compares with one of the peer's reports, if the stream has it. */
static size_t compare(ljp_profile *p, const row *r, const char *end,
                      const ljp_report_options *o)
{
  ljt_bytes have = {NULL, 0, 0};
  size_t size = 0;
  char *want = (char *)ljt_read_file(path_of(r->name, end), &size);
  if (!want) return 0;
  ljt_modern_units(want, &size);
  LJT_EQ(ljp_profile_report(p, LJP_CLASSIC, o, ljt_gather, &have), LJP_OK);
  LJT_SAME_REPORT((char *)have.data, have.size, want, size);
  ljt_bytes_free(&have);
  free(want);
  return 1;
}

/* Feeds in pieces of 1..most bytes. */
static ljp_profile *parse(const unsigned char *data, size_t size, size_t most,
                          ljp_status *status)
{
  ljp_options options;
  ljp_profile *p;
  ljt_rng rng = ljt_rng_make(ljt.seed);
  size_t at = 0;
  memset(&options, 0, sizeof(options));
  options.model = LJP_MODEL_CLASSIC;
  if (!LJT_EQ(ljp_profile_new(&p, &options), LJP_OK)) abort();
  while (at < size) {
    size_t n = 1 + (size_t)ljt_below(&rng, most);
    if (n > size - at) n = size - at;
    if (ljp_profile_feed(p, data + at, n) > LJP_MORE) break;
    at += n;
  }
  *status = ljp_profile_finish(p);
  return p;
}

static void check(const row *r, const unsigned char *data, size_t size,
                  size_t most)
{
  ljp_status st;
  ljp_profile *p = parse(data, size, most, &st);
  const ljp_error *e = ljp_profile_error(p);
  ljp_report_options o;
  ljp_totals totals;
  size_t found = 0;
  memset(&o, 0, sizeof(o));
  LJT_EQ(st, r->status);
  LJT_EQ(e->off, r->off);
  LJT_EQ(e->record_off, r->whole);
  ljp_aggregate_totals(ljp_profile_aggregate(p), &totals);
  LJT_EQ(totals.stray_count, r->stray);
  if (!r->differs) {
    found += compare(p, r, ".report.txt", &o);
    o.leak_only = 1;
    found += compare(p, r, ".leaks.txt", &o);
    o.leak_only = 0;
    o.human_readable = 1;
    found += compare(p, r, ".human.txt", &o);
    /* Two streams are cut before there was anything to report. */
    LJT_OK(found >= 2 || r->off == r->whole || strstr(r->name, "symtab"));
  }
  ljp_profile_free(p);
}

static void streams(void)
{
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    size_t size = 0;
    unsigned char *data = ljt_gunzip(path_of(rows[i].name, ".bin.gz"), &size);
    ljt.row = rows[i].name;
    if (!LJT_OK(data != NULL)) continue;
    check(&rows[i], data, size, SIZE_MAX / 2);
    check(&rows[i], data, size, 1);
    check(&rows[i], data, size, 300);
    free(data);
  }
}

/* No stream of the folder is left out of the table. */
static void table_is_complete(void)
{
  DIR *d = opendir(ljt.data_dir);
  struct dirent *e;
  size_t i;
  if (!LJT_OK(d != NULL)) return;
  while ((e = readdir(d)) != NULL) {
    const char *end = strstr(e->d_name, ".bin.gz");
    if (!end) continue;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
      if (strlen(rows[i].name) == (size_t)(end - e->d_name) &&
          strncmp(rows[i].name, e->d_name, strlen(rows[i].name)) == 0)
        break;
    ljt.row = e->d_name;
    LJT_OK(i < sizeof(rows) / sizeof(rows[0]));
  }
  closedir(d);
}

int main(int argc, char **argv)
{
  DIR *d;
  ljt_begin(argc, argv);
  d = ljt.data_dir ? opendir(ljt.data_dir) : NULL;
  if (!d) {
    printf("NO STREAMS: %s is absent; the classic report is not tested\n",
           ljt.data_dir ? ljt.data_dir : "(no --data)");
    return 77;
  }
  closedir(d);
  LJT_CASE(table_is_complete);
  LJT_CASE(streams);
  return ljt_end();
}
