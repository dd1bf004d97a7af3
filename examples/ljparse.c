/*
** ljparse - prints reports of LuaJIT memory profiler streams.
**
**   ljparse memprof.bin
**   ljparse --leak-only --human-readable memprof.bin
**
** Output of the second, shortened:
**   HEAP SUMMARY:
**   @inventory.lua:7 holds 7.75KiB: 339 allocs, 222 frees
**   =late:3 holds 5.97KiB: 86 allocs, 27 frees
**   ...
*/
#define LJP_IMPLEMENTATION
#define LJP_STATIC
#include "ljparse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__unix__) || defined(__APPLE__)
#define LJC_POSIX 1
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { LJC_GOOD = 0, LJC_FAILED = 1, LJC_DAMAGED = 2, LJC_OVER = 3 };

/* Reports that are made from a call tree, beside those of ljp_format. */
enum {
  LJC_TREE = 100, LJC_FOLDED = 100, LJC_PPROF, LJC_SPEEDSCOPE, LJC_HTML
};

static const char ljc_help[] =
"usage: ljparse [OPTIONS] FILE...\n"
"\n"
"Reads what a LuaJIT memory profiler recorded (misc.memprof.start(FILE) or\n"
"luajit -jmemprof script.lua, which writes memprof.bin) and prints which\n"
"lines of Lua and which C functions allocated, and what they still hold.\n"
"FILE may be - for the standard input. Each FILE gets a report of its own.\n"
"\n"
"  --leak-only           only what was still held at the end\n"
"  --human-readable      sizes as 1.5KiB instead of 1536B\n"
"  --format=FORMAT       text (default) or classic: the numbers that\n"
"                        Tarantool's parser prints, its faults included;\n"
"                        html: one page with all of it, for a browser;\n"
"                        pprof, speedscope, folded: for go tool pprof,\n"
"                        speedscope, flamegraph.pl and inferno\n"
"                        json: for programs (its schema: ljparse.h)\n"
"  --by=UNIT             lines of the report stand for a line of source (the\n"
"                        default), a function, a file or a dir\n"
"  --sort=ORDER          events, bytes, name (default: events, held: bytes)\n"
"  --limit=N             at most N lines in each section\n"
"  -o FILE               write the report to FILE instead of the terminal\n"
"  --metric=WHAT         what folded counts: inuse (default), alloc, peak,\n"
"                        temp: bytes; with .count behind it: blocks\n"
"  --diff OLD            compare with an older recording: text, html, folded\n"
"                        (OLD NEW on each line) and pprof (NEW - OLD)\n"
"  --min-share=PERCENT   fold call paths below this share of everything\n"
"                        (default 0.001; what is folded is said)\n"
"  --show-source         show chunk names that are source text\n"
"  --budget=WHAT:AMOUNT[@TEXT]\n"
"                        fail with exit code 3 if WHAT (see --metric) is more\n"
"                        than AMOUNT (K, M, G allowed), counting only call\n"
"                        paths through a line whose name has TEXT in it;\n"
"                        line.WHAT: if any single line is over it\n"
"  --from=P, --to=P      only what happened from P on, up to P: the number\n"
"                        of an event, a time (2.5s, 300ms), a mark's label\n"
"  --temp-within=N       temporary is what is freed before N (at most 256)\n"
"                        more allocations; default: by the very next event\n"
"  --lifetimes           keep how long blocks lived (html shows it)\n"
"  --trace-address=HOW   how traces are laid out in streams of version 2/3:\n"
"                        auto (default), with, without\n"
"  --help, --version\n"
"\n"
"How to read the report:\n"
"  ALLOCATIONS, REALLOCATIONS, DEALLOCATIONS: what happened where, most\n"
"    first; +BYTES came into use there, -BYTES went. \"Overrides\" names the\n"
"    places whose blocks were moved or freed there.\n"
"  HEAP SUMMARY: what each place still held at the end: leaks, caches, live\n"
"    data.\n"
"  @file.lua:7 is a line; name:0x1234 a C function; name+0x10? perhaps that\n"
"    one; INTERNAL the VM itself; TRACE [n] compiled code.\n"
"\n"
"Exit codes: 0 read to its end; 1 wrong usage, cannot open, read or write, no\n"
"memory; 2 the input is cut, damaged, of an unknown version or over a limit\n"
"(what could be read is reported all the same); 3 a --budget is passed.\n";

#define LJC_BUDGETS 64

typedef struct ljc_args {
  int format;               /* ljp_format, or one from LJC_TREE on */
  ljp_options options;
  ljp_report_options report;
  ljp_tree_options tree;
  const char *output;
  const char *old;          /* --diff */
  ljp_metric metric;
  uint64_t share;           /* Millionths. */
  ljp_budget budget[LJC_BUDGETS];
  const char *budget_text[LJC_BUDGETS];
  int budget_count;
  const char **file;        /* Into argv. */
  int file_count;
} ljc_args;

static void ljc_complain(const char *form, ...)
{
  va_list ap;
  va_start(ap, form);
  fputs("ljparse: ", stderr);
  vfprintf(stderr, form, ap);
  fputc('\n', stderr);
  va_end(ap);
}

static int ljc_usage(const char *what, const char *arg)
{
  ljc_complain("%s%s%s (ljparse --help explains)", what, *arg ? ": " : "",
               arg);
  return LJC_FAILED;
}

/* -- options -- */

typedef struct ljc_word {
  const char *word;
  int value;
} ljc_word;

static const ljc_word ljc_formats[] = {
  {"text", LJP_TEXT}, {"classic", LJP_CLASSIC}, {"json", LJP_JSON},
  {"folded", LJC_FOLDED},
  {"pprof", LJC_PPROF}, {"speedscope", LJC_SPEEDSCOPE}, {"html", LJC_HTML},
  {NULL, 0}
};
static const ljc_word ljc_metrics[] = {
  {"alloc", LJP_ALLOC_SIZE}, {"alloc.count", LJP_ALLOC_COUNT},
  {"inuse", LJP_INUSE_SIZE}, {"inuse.count", LJP_INUSE_COUNT},
  {"peak", LJP_PEAK_SIZE}, {"peak.count", LJP_PEAK_COUNT},
  {"temp", LJP_TEMP_SIZE}, {"temp.count", LJP_TEMP_COUNT}, {NULL, 0}
};
static const ljc_word ljc_units[] = {
  {"line", LJP_BY_LINE}, {"function", LJP_BY_FUNCTION}, {"file", LJP_BY_FILE},
  {"dir", LJP_BY_DIR}, {NULL, 0}
};
static const ljc_word ljc_sorts[] = {
  {"events", LJP_SORT_EVENTS}, {"bytes", LJP_SORT_BYTES},
  {"name", LJP_SORT_NAME}, {NULL, 0}
};
static const ljc_word ljc_layouts[] = {
  {"auto", LJP_TRACE_AUTO}, {"with", LJP_TRACE_WITH_ADDR},
  {"without", LJP_TRACE_WITHOUT_ADDR}, {NULL, 0}
};

/* Value of a word, or -1. */
static int ljc_lookup(const ljc_word *words, const char *word)
{
  for (; words->word; words++)
    if (strcmp(words->word, word) == 0) return words->value;
  return -1;
}

/* What follows "NAME=" in arg, or NULL. */
static const char *ljc_value(const char *arg, const char *name)
{
  size_t n = strlen(name);
  return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

/* A number with K, M or G (1024) behind it; *end: what follows. 0: none. */
static int ljc_number(const char *s, uint64_t *n, const char **end)
{
  unsigned shift = 0;
  *n = 0;
  *end = s;
  while (**end >= '0' && **end <= '9') {
    unsigned digit = (unsigned)(*(*end)++ - '0');
    if (*n > (UINT64_MAX - digit) / 10) return 0;
    *n = *n * 10 + digit;
  }
  if (*end == s) return 0;
  if (**end == 'K') shift = 10;
  else if (**end == 'M') shift = 20;
  else if (**end == 'G') shift = 30;
  if (shift) (*end)++;
  if (*n > UINT64_MAX >> shift) return 0;
  *n <<= shift;
  return 1;
}

/* "[line.]WHAT:AMOUNT[@TEXT]" */
static int ljc_budget(ljc_args *a, const char *value)
{
  const char *colon = strchr(value, ':'), *end;
  ljp_budget *b = &a->budget[a->budget_count];
  char word[16];
  int n, line = strncmp(value, "line.", 5) == 0 ? 5 : 0;
  if (a->budget_count == LJC_BUDGETS) return ljc_usage("too many budgets", "");
  if (!colon || (size_t)(colon - value) >= sizeof(word) + (size_t)line)
    return ljc_usage("a budget is WHAT:AMOUNT[@TEXT], not", value);
  snprintf(word, sizeof(word), "%.*s", (int)(colon - value) - line,
           value + line);
  n = ljc_lookup(ljc_metrics, word);
  if (n < 0) return ljc_usage("unknown metric", word);
  if (!ljc_number(colon + 1, &b->most, &end) || (*end && *end != '@'))
    return ljc_usage("a budget is WHAT:AMOUNT[@TEXT], not", value);
  b->metric = (ljp_metric)n;
  b->match = *end ? end + 1 : NULL;
  b->each_line = line != 0;
  a->budget_text[a->budget_count++] = value;
  return LJC_GOOD;
}

/* "0.01" percent as millionths. */
static int ljc_share(ljc_args *a, const char *value)
{
  uint64_t whole = 0, part = 0, unit = 1000;
  const char *s = value;
  for (; *s >= '0' && *s <= '9' && whole < 1000; s++)
    whole = whole * 10 + (unsigned)(*s - '0');
  if (s != value && *s == '.')
    for (s++; *s >= '0' && *s <= '9'; s++, unit /= 10)
      part += unit * (unsigned)(*s - '0');
  if (s == value || *s || whole > 100)
    return ljc_usage("--min-share is a percentage, not", value);
  a->share = whole * 10000 + part;
  return LJC_GOOD;
}

/* A moment: the number of an event, a time, or the label of a mark. */
static int ljc_moment(const char *value, uint64_t *event, uint64_t *time,
                      const char **mark)
{
  char *end;
  double n = strtod(value, &end);
  const char *rest;
  if (*value < '0' || *value > '9') {
    *mark = value;
    return *value ? LJC_GOOD : ljc_usage("an empty moment", "");
  }
  if (ljc_number(value, event, &rest) && *rest == 0) return LJC_GOOD;
  *event = 0;
  if (strcmp(end, "s") == 0) n *= 1e9;
  else if (strcmp(end, "ms") == 0) n *= 1e6;
  else return ljc_usage("neither a number of events nor a time", value);
  if (n < 1 || n > 1e18) return ljc_usage("not a time", value);
  *time = (uint64_t)n;
  return LJC_GOOD;
}

static int ljc_temp_within(ljc_args *a, const char *value)
{
  uint64_t n;
  const char *end;
  if (!ljc_number(value, &n, &end) || *end || n < 1 || n > 256)
    return ljc_usage("--temp-within is a number from 1 to 256, not", value);
  a->options.temp_within = (unsigned)n;
  return LJC_GOOD;
}

/* One option of the reports that are made from a call tree; -1: it is none. */
static int ljc_tree_option(ljc_args *a, const char *arg)
{
  const char *value;
  int n;
  if (strcmp(arg, "--show-source") == 0) {
    a->tree.show_source = 1;
  } else if (strcmp(arg, "--lifetimes") == 0) {
    a->options.lifetimes = 1;
  } else if ((value = ljc_value(arg, "--metric")) != NULL) {
    n = ljc_lookup(ljc_metrics, value);
    if (n < 0) return ljc_usage("unknown metric", value);
    a->metric = (ljp_metric)n;
  } else if ((value = ljc_value(arg, "--min-share")) != NULL) {
    return ljc_share(a, value);
  } else if ((value = ljc_value(arg, "--budget")) != NULL) {
    return ljc_budget(a, value);
  } else if ((value = ljc_value(arg, "--diff")) != NULL) {
    a->old = value;
  } else if ((value = ljc_value(arg, "--from")) != NULL) {
    return ljc_moment(value, &a->options.from_event, &a->options.from_time,
                      &a->options.from_mark);
  } else if ((value = ljc_value(arg, "--to")) != NULL) {
    return ljc_moment(value, &a->options.to_event, &a->options.to_time,
                      &a->options.to_mark);
  } else if ((value = ljc_value(arg, "--temp-within")) != NULL) {
    return ljc_temp_within(a, value);
  } else {
    return -1;
  }
  return LJC_GOOD;
}

/* One option of the line reports; -1: it is none. */
static int ljc_line_option(ljc_args *a, const char *arg)
{
  const char *value, *end;
  uint64_t lines;
  int n;
  if ((value = ljc_value(arg, "--by")) != NULL) {
    n = ljc_lookup(ljc_units, value);
    if (n < 0) return ljc_usage("unknown unit", value);
    a->report.by = (ljp_by)n;
  } else if ((value = ljc_value(arg, "--sort")) != NULL) {
    n = ljc_lookup(ljc_sorts, value);
    if (n < 0) return ljc_usage("unknown order", value);
    a->report.sort = (ljp_sort)n;
  } else if ((value = ljc_value(arg, "--limit")) != NULL) {
    if (!ljc_number(value, &lines, &end) || *end || !lines ||
        lines > SIZE_MAX)
      return ljc_usage("no number of lines", value);
    a->report.limit = (size_t)lines;
  } else {
    return -1;
  }
  return LJC_GOOD;
}

/* Is it an option whose value is missing, or stands apart from it? */
static int ljc_lacks_value(const char *arg)
{
  static const char *const names[] = {
    "--format", "--by", "--sort", "--limit", "--metric", "--min-share",
    "--budget", "--from", "--to", "--temp-within", "--trace-address"
  };
  size_t i;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (strcmp(arg, names[i]) == 0) return 1;
  return 0;
}

/* One option; -1: it is none. */
static int ljc_option(ljc_args *a, const char *arg)
{
  const char *value;
  int n;
  if (strcmp(arg, "--leak-only") == 0) {
    a->report.leak_only = 1;
  } else if (strcmp(arg, "--human-readable") == 0) {
    a->report.human_readable = 1;
  } else if ((value = ljc_value(arg, "--format")) != NULL) {
    n = ljc_lookup(ljc_formats, value);
    if (n < 0) return ljc_usage("unknown format", value);
    a->format = n;
  } else if ((value = ljc_value(arg, "--trace-address")) != NULL) {
    n = ljc_lookup(ljc_layouts, value);
    if (n < 0) return ljc_usage("unknown trace layout", value);
    a->options.trace_layout = (ljp_trace_layout)n;
  } else {
    n = ljc_line_option(a, arg);
    return n < 0 ? ljc_tree_option(a, arg) : n;
  }
  return LJC_GOOD;
}

/* Options that do not go together. */
static int ljc_consistent(const ljc_args *a)
{
  if (a->old && (a->format == LJP_CLASSIC || a->format == LJP_JSON ||
                 a->format == LJC_SPEEDSCOPE))
    return ljc_usage("--diff compares as text, html, folded or pprof", "");
  if (a->file_count > 1 &&
      (a->format > LJC_FOLDED || a->format == (int)LJP_JSON))
    return ljc_usage("json, html, pprof and speedscope take one FILE", "");
  if (a->budget_count && a->format == LJP_CLASSIC)
    return ljc_usage("--budget needs another format than classic", "");
#ifdef LJC_POSIX
  if (a->format == LJC_PPROF && !a->output && isatty(1))
    return ljc_usage("pprof is binary: give -o FILE", "");
#endif
  return LJC_GOOD;
}

/* Fills *a; files move to the front of argv. */
static int ljc_parse(ljc_args *a, int argc, char **argv)
{
  int i, plain = 0, st;
  a->file = (const char **)argv;
  a->share = 10;
  a->metric = LJP_INUSE_SIZE;
  for (i = 1; i < argc; i++) {
    const char *arg = argv[i];
    if (plain || arg[0] != '-' || arg[1] == 0) {
      a->file[a->file_count++] = arg;
    } else if (strcmp(arg, "--") == 0) {
      plain = 1;
    } else if (strcmp(arg, "-o") == 0) {
      if (++i == argc) return ljc_usage("-o needs a file", "");
      a->output = argv[i];
    } else if (strcmp(arg, "--diff") == 0) {
      if (++i == argc) return ljc_usage("--diff needs a file", "");
      a->old = argv[i];
    } else {
      st = ljc_option(a, arg);
      if (st < 0 && ljc_lacks_value(arg)) {
        ljc_complain("write the value behind an equals sign: %s=%s", arg,
                     i + 1 < argc ? argv[i + 1] : "VALUE");
        return LJC_FAILED;
      }
      if (st < 0) return ljc_usage("unknown option", arg);
      if (st != LJC_GOOD) return st;
    }
  }
  if (a->format == LJP_CLASSIC) a->options.model = LJP_MODEL_CLASSIC;
  return ljc_consistent(a);
}

/* Under a limit of address space, leave room for the report. */
static void ljc_limit_memory(ljc_args *a)
{
#ifdef LJC_POSIX
  struct rlimit r;
  if (getrlimit(RLIMIT_AS, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return;
  a->options.limits.memory = (uint64_t)r.rlim_cur / 4 * 3;
#else
  (void)a;
#endif
}

/* -- input -- */

#define LJC_BLOCK 262144

typedef struct ljc_progress {
  const char *name;
  uint64_t done, size;      /* size 0: not known */
  time_t shown;
  int wanted;
} ljc_progress;

static void ljc_progress_begin(ljc_progress *p, const char *name, FILE *f)
{
  long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : 0;
  memset(p, 0, sizeof(*p));
  if (size > 0) p->size = (uint64_t)size;
  rewind(f);
  p->name = name;
  p->shown = time(NULL);
#ifdef LJC_POSIX
  p->wanted = isatty(2);
#endif
}

/* A line a second on a terminal. */
static void ljc_progress_step(ljc_progress *p, size_t n)
{
  time_t now;
  p->done += n;
  if (!p->wanted || (now = time(NULL)) == p->shown) return;
  p->shown = now;
  fprintf(stderr, "\rljparse: %s: %llu MB", p->name,
          (unsigned long long)(p->done >> 20));
  if (p->size)
    fprintf(stderr, " of %llu", (unsigned long long)(p->size >> 20));
  fputs("\033[K", stderr);
}

static void ljc_progress_end(const ljc_progress *p)
{
  if (p->wanted) fputs("\r\033[K", stderr);
}

/* Feeds a file. *empty: there was nothing in it. */
static int ljc_read(ljp_profile *prof, FILE *f, const char *name, int *empty)
{
  char *buf = (char *)malloc(LJC_BLOCK);
  ljc_progress progress;
  size_t n;
  int failed = 0;
  if (!buf) {
    ljc_complain("%s: out of memory", name);
    return LJC_FAILED;
  }
  *empty = 1;
  ljc_progress_begin(&progress, name, f);
  errno = 0;
  while ((n = fread(buf, 1, LJC_BLOCK, f)) != 0) {
    *empty = 0;
    ljc_progress_step(&progress, n);
    if (ljp_profile_feed(prof, buf, n) > LJP_MORE) break;
  }
  failed = ferror(f) != 0;
  ljc_progress_end(&progress);
  if (failed) ljc_complain("%s: cannot read: %s", name, strerror(errno));
  free(buf);
  return failed ? LJC_FAILED : LJC_GOOD;
}

/* -- output -- */

/* Where the report goes. A file of -o is opened at the first byte, so that
** one that is there keeps its content when there is nothing to report. */
typedef struct ljc_out {
  const char *path; /* NULL: standard output. */
  FILE *f;          /* NULL: not open yet. */
  int failed;       /* errno of opening or writing, -1 where it is not known. */
} ljc_out;

static int ljc_out_open(ljc_out *o)
{
  if (o->f || o->failed) return o->failed;
  errno = 0;
  o->f = o->path ? fopen(o->path, "wb") : stdout;
  if (!o->f) o->failed = errno ? errno : -1;
  return o->failed;
}

static int ljc_write(void *user, const void *p, size_t n)
{
  ljc_out *o = (ljc_out *)user;
  if (ljc_out_open(o)) return -1;
  errno = 0;
  if (fwrite(p, 1, n, o->f) == n) return 0;
  o->failed = errno ? errno : -1;
  return -1;
}

/* Says why a report failed; if it could not be written, ljc_out_close does. */
static int ljc_no_report(const char *name, ljp_status st, const ljc_out *out)
{
  if (!out->failed)
    ljc_complain("%s: report: %s%s%s", name, ljp_status_text(st),
                 errno ? ": " : "", errno ? strerror(errno) : "");
  return LJC_FAILED;
}

/* Whether the report would be written over what it is made from. */
static int ljc_out_is(const ljc_out *o, FILE *f)
{
#ifdef LJC_POSIX
  struct stat in, out;
  return o->path && !o->f && stat(o->path, &out) == 0 &&
         fstat(fileno(f), &in) == 0 && S_ISREG(out.st_mode) &&
         in.st_dev == out.st_dev && in.st_ino == out.st_ino;
#else
  (void)o;
  (void)f;
  return 0;
#endif
}

/* The rest goes out; the worst of what was met. */
static int ljc_out_close(ljc_out *o, int st)
{
  if (st == LJC_GOOD) ljc_out_open(o); /* A report may be empty. */
  errno = 0;
  if (o->f && fflush(o->f) != 0 && !o->failed) o->failed = errno ? errno : -1;
  if (o->f && o->path && fclose(o->f) != 0 && !o->failed)
    o->failed = errno ? errno : -1;
  if (!o->failed) return st;
  ljc_complain("%s: cannot write%s%s", o->path ? o->path : "standard output",
               o->failed > 0 ? ": " : "",
               o->failed > 0 ? strerror(o->failed) : "");
  return LJC_FAILED;
}

/* How the reading ended, to stderr and as an exit code. */
static int ljc_outcome(const ljp_profile *prof, const char *name)
{
  const ljp_error *e = ljp_profile_error(prof);
  ljp_totals totals;
  char text[160];
  ljp_aggregate_totals(ljp_profile_aggregate(prof), &totals);
  if (totals.stray_count)
    ljc_complain("%s: remark: %llu stray records read as C symbols", name,
                 (unsigned long long)totals.stray_count);
  if (!ljp_profile_window_ended(prof))
    ljc_complain("%s: remark: what --to names did not come, nothing is left "
                 "out at the end", name);
  if (e->status == LJP_OK) return LJC_GOOD;
  ljc_complain("%s: %s%s", name,
               e->status == LJP_E_MALFORMED && e->record_off == 0 &&
               e->off == 0 ? "no recording of a memory profiler: " : "",
               ljp_error_text(e, text, sizeof(text)));
  return e->status == LJP_E_NOMEM ? LJC_FAILED : LJC_DAMAGED;
}

/* The worse of two exit codes: the lower one, 0 aside. */
static int ljc_worse(int a, int b)
{
  return a == LJC_GOOD ? b : b == LJC_GOOD || a < b ? a : b;
}

/* -- call trees -- */

/* HTML page: see the end of this file. */
static ljp_status ljc_page(ljp_tree *t, ljc_out *out);

/* A tree of the file that --diff names, NULL if there is none to be had. */
static ljp_tree *ljc_old_tree(const ljc_args *a, int *worst)
{
  ljp_tree_options options = a->tree;
  ljp_profile *prof;
  ljp_tree *t = NULL;
  int empty;
  FILE *f = fopen(a->old, "rb");
  ljp_status st;
  if (!f) {
    ljc_complain("%s: cannot open: %s", a->old, strerror(errno));
    *worst = LJC_FAILED;
    return NULL;
  }
  st = ljp_profile_new(&prof, &a->options);
  if (st == LJP_OK) {
    *worst = ljc_worse(*worst, ljc_read(prof, f, a->old, &empty));
    ljp_profile_finish(prof);
    *worst = ljc_worse(*worst, ljc_outcome(prof, a->old));
    options.title = a->old;
    options.stable_names = 1;
    st = ljp_profile_tree(prof, &options, &t);
    ljp_profile_free(prof);
  }
  fclose(f);
  if (st == LJP_OK) return t;
  ljc_complain("%s: %s", a->old, ljp_status_text(st));
  *worst = LJC_FAILED;
  return NULL;
}

/* Holds the recording against the budgets given. */
static int ljc_budgets(const ljc_args *a, ljp_tree *t, const char *name)
{
  int i, st = LJC_GOOD;
  for (i = 0; i < a->budget_count; i++) {
    ljp_budget_result r;
    const char *text = "", *file = "";
    char line[24] = "";
    size_t size;
    if (ljp_tree_budget(t, &a->budget[i], &r) != LJP_OK) return LJC_FAILED;
    if (!r.over) continue;
    if (r.place) {
      const ljp_place *at = ljp_tree_place_at(t, r.place);
      text = ljp_tree_text(t, at->name, &size);
      file = ljp_tree_text(t, at->file, &size);
      if (at->line)
        snprintf(line, sizeof(line), ":%llu", (unsigned long long)at->line);
    }
    ljc_complain("%s: over budget %s: %llu; most by %s%s%s%s", name,
                 a->budget_text[i], (unsigned long long)r.n, text,
                 *text && *file ? " " : "", file, line);
    st = LJC_OVER;
  }
  return st;
}

/* More paths than this slow the viewers down. A folded line can be long. */
static size_t ljc_path_max(const ljc_args *a)
{
  if (a->share == 0) return SIZE_MAX;
  return a->format == LJC_FOLDED ? 30000 : 100000;
}

static ljp_status ljc_write_tree(const ljc_args *a, ljp_tree *t, ljc_out *out)
{
  ljp_status st = ljp_tree_prune(t, a->format == LJP_TEXT ? 0 : a->share,
                                 ljc_path_max(a));
  if (st != LJP_OK) return st;
  switch (a->format) {
  case LJC_FOLDED: return ljp_tree_folded(t, a->metric, ljc_write, out);
  case LJC_PPROF: return ljp_tree_pprof(t, ljc_write, out);
  case LJC_SPEEDSCOPE: return ljp_tree_speedscope(t, ljc_write, out);
  case LJC_HTML: return ljc_page(t, out);
  default: return ljp_tree_changes(t, &a->report, ljc_write, out);
  }
}

/* The tree's part of a report: budgets, comparison, export. */
static int ljc_tree(const ljc_args *a, const ljp_profile *prof,
                    const char *name, ljc_out *out)
{
  ljp_tree_options options = a->tree;
  ljp_tree *t, *old = NULL;
  int worst = LJC_GOOD;
  ljp_status st;
  options.title = name;
  options.stable_names = a->old != NULL;
  st = ljp_profile_tree(prof, &options, &t);
  if (st == LJP_OK) {
    worst = ljc_budgets(a, t, name);
    if (a->old) {
      old = ljc_old_tree(a, &worst);
      st = old ? ljp_tree_diff(t, old) : LJP_OK;
    }
    errno = 0;
    if (st == LJP_OK && (a->old ? old != NULL : a->format >= LJC_TREE))
      st = ljc_write_tree(a, t, out);
    ljp_tree_free(old);
    ljp_tree_free(t);
  }
  if (st == LJP_OK) return worst;
  return ljc_no_report(name, st, out);
}

/* Whether there is something to report, with a word where not: nothing was
** read, or nothing that lies between --from and --to. */
static int ljc_nothing(const ljc_args *a, const ljp_profile *prof,
                       const char *name, const ljc_out *out, int *worst)
{
  const ljp_options *o = &a->options;
  ljp_totals totals;
  ljp_aggregate_totals(ljp_profile_aggregate(prof), &totals);
  if (totals.events != 0) return 0;
  if (*worst != LJC_GOOD) return out->path != NULL;
  if (!(o->from_event || o->from_time || o->from_mark)) return 0;
  ljc_complain("%s: no event lies between --from and --to", name);
  *worst = LJC_FAILED;
  return 1;
}

/* Reports one open file. */
static int ljc_report(const ljc_args *a, FILE *f, const char *name,
                      ljc_out *out)
{
  ljp_profile *prof;
  int st, worst, empty = 0;
  ljp_status status = ljp_profile_new(&prof, &a->options);
  if (status != LJP_OK) {
    ljc_complain("%s: %s", name, ljp_status_text(status));
    return LJC_FAILED;
  }
  worst = ljc_read(prof, f, name, &empty);
  if (empty && a->file_count == 0) {
    ljp_profile_free(prof);
    return ljc_usage("no file given", "");
  }
  ljp_profile_finish(prof);
  st = ljc_outcome(prof, name);
  worst = ljc_worse(worst, st);
  if (ljc_nothing(a, prof, name, out, &worst)) {
    ljp_profile_free(prof);
    return worst;
  }
  if (a->format >= LJC_TREE || a->old || a->budget_count)
    worst = ljc_worse(worst, ljc_tree(a, prof, name, out));
  errno = 0;
  if (a->format < LJC_TREE && !a->old)
    status = ljp_profile_report(prof, (ljp_format)a->format, &a->report,
                                ljc_write, out);
  if (status != LJP_OK) worst = ljc_no_report(name, status, out);
  ljp_profile_free(prof);
  return worst;
}

/* Reports one file by name; - is the standard input. */
static int ljc_file(const ljc_args *a, const char *name, ljc_out *out)
{
  FILE *f = stdin;
  int st;
  if (strcmp(name, "-") != 0) {
    f = fopen(name, "rb");
    if (!f) {
      ljc_complain("%s: cannot open: %s", name, strerror(errno));
      return LJC_FAILED;
    }
  }
  if (ljc_out_is(out, f)) {
    ljc_complain("%s: the report would be written over it", name);
    if (f != stdin) fclose(f);
    return LJC_FAILED;
  }
  if (a->file_count > 1) {
    ljc_write(out, "==> ", 4);
    ljc_write(out, name, strlen(name));
    ljc_write(out, " <==\n", 5);
  }
  st = ljc_report(a, f, name, out);
  if (f != stdin) fclose(f);
  return st;
}

/* All files; of several failures the lowest code. */
static int ljc_all(const ljc_args *a, ljc_out *out)
{
  int i, st, worst = LJC_GOOD;
  if (a->file_count == 0) return ljc_file(a, "-", out);
  for (i = 0; i < a->file_count; i++) {
    st = ljc_file(a, a->file[i], out);
    worst = ljc_worse(worst, st);
  }
  return worst;
}

static int ljc_output(const ljc_args *a)
{
  ljc_out out;
  memset(&out, 0, sizeof(out));
  if (a->output && strcmp(a->output, "-") != 0) out.path = a->output;
  return ljc_out_close(&out, ljc_all(a, &out));
}

int main(int argc, char **argv)
{
  ljc_args args;
  int i, st;
  memset(&args, 0, sizeof(args));
#ifdef LJC_POSIX
  signal(SIGPIPE, SIG_IGN);
#endif
  for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(ljc_help, stdout);
      return fflush(stdout) == 0 ? LJC_GOOD : LJC_FAILED;
    }
    if (strcmp(argv[i], "--version") == 0) {
      puts("ljparse " LJP_VERSION_STRING);
      return fflush(stdout) == 0 ? LJC_GOOD : LJC_FAILED;
    }
  }
  st = ljc_parse(&args, argc, argv);
  if (st != LJC_GOOD) return st;
  ljc_limit_memory(&args);
#ifdef LJC_POSIX
  if (args.file_count == 0 && isatty(0)) return ljc_usage("no file given", "");
#endif
  return ljc_output(&args);
}

/* -- HTML page: made from html/template.html by html/embed.sh ---------- */

static const char *const ljc_page_head[] = {
  "<!doctype html>\n",
  "<html lang=\"en\">\n",
  "<head>\n",
  "<meta charset=\"utf-8\">\n",
  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'no"
  "ne';\n",
  " script-src 'sha256-YS+W9LfskC8QK7+NMG7NCjaUZ+6nVnKAGRCXou0dmjU='; sty"
  "le-src 'sha256-NQ63aoxaTms8d+2sl08fSM2XmK+kl14D0Z3e3u6yi/c=';\n",
  " base-uri 'none'; form-action 'none'\">\n",
  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\""
  ">\n",
  "<meta name=\"referrer\" content=\"no-referrer\">\n",
  "<title>Memory profile</title>\n",
  "<style>\n",
  ":root{color-scheme:light;--bg:#f6f5f2;--card:#fff;--ink:#1c1b1a;\n",
  " --soft:#6b6862;--line:#e4e1da;--hover:#f1efea;--acc:#b4501e;\n",
  " --accbg:#fbf1ea;--accline:#e3a47f;--live:#b4501e;--livebg:#b4501e2b;\n",
  " --gc:#2f6f9f;--rss:#7b6aa8;--thr:#8a9a5b;--hit:#d6249f;--up:#c8322b;\n",
  " --down:#2a6fbb;--bar:#edb793;--warn:#fff4d6;--warnline:#e5c76b;\n",
  " --shadow:0 1px 2px #1c1b1a0d,0 4px 16px #1c1b1a0a}\n",
  ":root[data-theme=dark]{color-scheme:dark;--bg:#131416;--card:#1b1d20;\n",
  " --ink:#ecebe8;--soft:#9c9a95;--line:#2d3035;--hover:#25282c;--acc:#f0"
  "935c;\n",
  " --accbg:#2d221b;--accline:#8a5232;--live:#f0935c;--livebg:#f0935c30;\n",
  " --gc:#6db3e6;--rss:#b4a3e6;--thr:#a9bd72;--hit:#ff5ec4;--up:#ff6b61;\n",
  " --down:#66a8f2;--bar:#7a4a2d;--warn:#332a13;--warnline:#6d5a22;\n",
  " --shadow:none}\n",
  "*{box-sizing:border-box}\n",
  "html{-webkit-text-size-adjust:100%}\n",
  "body{margin:0;background:var(--bg);color:var(--ink);\n",
  " font:15px/1.45 system-ui,-apple-system,\"Segoe UI\",Roboto,sans-serif"
  ";\n",
  " font-variant-numeric:tabular-nums}\n",
  "[hidden]{display:none!important}\n",
  "header,main,footer{max-width:1680px;margin:auto;padding:0 24px}\n",
  "header{display:flex;gap:16px;align-items:flex-start;padding-top:22px}\n",
  "header>div:first-child{flex:1;min-width:0}\n",
  "h1{font-size:24px;line-height:1.2;margin:2px 0 4px;letter-spacing:-.01"
  "em;\n",
  " overflow-wrap:anywhere}\n",
  ".eye{margin:0;color:var(--acc);font-size:12px;font-weight:600;\n",
  " letter-spacing:.07em;text-transform:uppercase}\n",
  ".sub{margin:0;color:var(--soft);font-size:13.5px;overflow-wrap:anywher"
  "e}\n",
  "button,input{font:inherit;color:inherit}\n",
  "button{cursor:pointer;background:none;border:0;padding:0}\n",
  ":focus-visible{outline:2px solid var(--acc);outline-offset:2px}\n",
  ".icon{width:36px;height:36px;border:1px solid var(--line);\n",
  " border-radius:9px;background:var(--card);font-size:16px}\n",
  ".icon:hover{background:var(--hover)}\n",
  ".acts{display:flex;gap:8px}\n",
  ".card{background:var(--card);border:1px solid var(--line);\n",
  " border-radius:14px;box-shadow:var(--shadow);margin-top:14px}\n",
  ".banner{background:var(--warn);border:1px solid var(--warnline);\n",
  " border-radius:10px;padding:9px 14px;margin-top:14px;\n",
  " overflow-wrap:anywhere}\n",
  ".tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:12px;\n",
  " margin-top:16px}\n",
  ".tile{display:flex;flex-direction:column;text-align:left;background:va"
  "r(--card);border:1px solid var(--line);\n",
  " border-radius:14px;padding:13px 16px 12px;box-shadow:var(--shadow);\n",
  " min-width:0}\n",
  ".tile:hover{border-color:var(--accline)}\n",
  ".tile[aria-checked=true]{background:var(--accbg);\n",
  " border-color:var(--acc);box-shadow:inset 0 0 0 1px var(--acc)}\n",
  ".tile>span{display:block}\n",
  ".tl{font-size:13px;font-weight:600}\n",
  ".tv{font-size:27px;font-weight:650;letter-spacing:-.02em;line-height:1"
  ".25;\n",
  " white-space:nowrap}\n",
  ".tv small{font-size:15px;font-weight:500;letter-spacing:0;margin-left:"
  "3px}\n",
  ".ts{color:var(--soft);font-size:13px}\n",
  ".up{color:var(--up)}.down{color:var(--down)}\n",
  ".first{display:grid;gap:14px;margin-top:14px}\n",
  ".first .card{margin-top:0;min-width:0;display:flex;flex-direction:colu"
  "mn}\n",
  "#verdict{padding:12px 16px;font-size:13px}\n",
  "#verdict h2{font-size:14px;margin:0 0 2px}\n",
  "#verdict ol{list-style:none;margin:0;padding:0}\n",
  "#verdict li{padding:5px 0 4px;border-bottom:1px solid var(--line)}\n",
  "#verdict li>div{display:flex;gap:0 12px;align-items:baseline}\n",
  "#verdict .lnk{flex:1;font-weight:600}\n",
  "#verdict b{white-space:nowrap}\n",
  "#verdict p,#verdict div>span{color:var(--soft);white-space:normal}\n",
  "#verdict p{margin:0}#verdict li+p,#verdict ol+p{margin-top:7px}\n",
  "#verdict summary{cursor:pointer;color:var(--acc)}\n",
  ".pill{background:var(--accbg);border:1px solid var(--accline);\n",
  " border-radius:99px;padding:0 8px;color:var(--acc)!important;\n",
  " font-weight:600;white-space:nowrap!important}\n",
  ".cap{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:baseline;\n",
  " padding:12px 16px 0;font-size:13px;color:var(--soft)}\n",
  ".cap h2{font-size:14px;margin:0;color:var(--ink)}\n",
  ".key{display:inline-flex;gap:6px;align-items:center}\n",
  ".key i{width:14px;height:3px;border-radius:2px;background:currentColor"
  "}\n",
  ".k-live{color:var(--live)}.k-gc{color:var(--gc)}\n",
  ".k-rss{color:var(--rss)}.k-thr{color:var(--thr)}\n",
  ".key span{color:var(--soft)}\n",
  "#tread{margin-left:auto;color:var(--ink)}\n",
  "#plot{display:block;width:100%;flex:1 0 170px;height:170px;\n",
  " touch-action:pan-y}\n",
  "#plot text{font-size:11px;fill:var(--soft)}\n",
  "#plot .grid{stroke:var(--line)}\n",
  "#plot .peak{fill:var(--ink);font-weight:600;paint-order:stroke;\n",
  " stroke:var(--card);stroke-width:5px;stroke-linejoin:round}\n",
  "#plot path{fill:none;stroke-width:1.7;stroke-linejoin:round;\n",
  " vector-effect:non-scaling-stroke;stroke:currentColor}\n",
  "#plot .area{fill:var(--livebg);stroke:none}\n",
  "#plot .dash{stroke-dasharray:4 4;stroke-width:1.2}\n",
  "#plot .dots{stroke-dasharray:0 6;stroke-width:2.4;stroke-linecap:round"
  "}\n",
  "#plot .mark{stroke:var(--soft);stroke-dasharray:2 3}\n",
  "#plot .cross{stroke:var(--ink);opacity:.55}\n",
  "#plot circle{fill:var(--live);stroke:var(--card);stroke-width:2}\n",
  ".bar{display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;\n",
  " padding:10px 14px;border-bottom:1px solid var(--line)}\n",
  ".tabs{display:flex;gap:2px;overflow-x:auto;scrollbar-width:none}\n",
  ".tabs button{padding:7px 12px;border-radius:8px;white-space:nowrap;\n",
  " color:var(--soft);font-weight:550}\n",
  ".tabs button:hover{background:var(--hover)}\n",
  ".tabs button[aria-selected=true]{color:var(--ink);background:var(--hov"
  "er);\n",
  " box-shadow:inset 0 -2px var(--acc);border-radius:8px 8px 4px 4px}\n",
  ".tabs :focus-visible,.seg :focus-visible{outline-offset:-2px}\n",
  ".seg{display:inline-flex;border:1px solid var(--line);border-radius:9p"
  "x;\n",
  " overflow:hidden}\n",
  ".seg button{padding:5px 12px;font-size:14px;color:var(--soft)}\n",
  ".seg button[aria-checked=true]{background:var(--accbg);color:var(--acc"
  ");\n",
  " font-weight:600}\n",
  ".find{margin-left:auto;display:flex;align-items:center;\n",
  " flex:0 1 420px;min-width:0}\n",
  ".find input{flex:1;min-width:0;padding:6px 12px;border-radius:9px;\n",
  " border:1px solid var(--line);background:var(--bg)}\n",
  "#hits:not(:empty){margin-left:10px}\n",
  "#hits{font-size:13px;color:var(--hit);white-space:nowrap;font-weight:6"
  "00}\n",
  ".crumbs{display:flex;flex-wrap:wrap;gap:2px;padding:8px 14px 0;\n",
  " font-size:13px;align-items:center;min-height:34px}\n",
  ".crumbs button{padding:2px 7px;border-radius:6px;max-width:32ch;\n",
  " overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n",
  ".crumbs button:hover{background:var(--hover)}\n",
  ".crumbs button:last-of-type{font-weight:600}\n",
  ".crumbs i{color:var(--soft);font-style:normal}\n",
  ".crumbs .hint{margin-left:auto;color:var(--soft)}\n",
  ".flame{margin:4px 14px 0;max-height:58vh;overflow:hidden auto}\n",
  "#cv{display:block;width:100%;border-radius:6px;touch-action:pan-y}\n",
  ".legend{display:flex;flex-wrap:wrap;gap:4px 6px;padding:10px 14px 0;\n",
  " font-size:12.5px}\n",
  ".legend button,.legend span{display:inline-flex;gap:6px;padding:2px 9p"
  "x;\n",
  " border:1px solid var(--line);border-radius:99px;color:var(--soft);\n",
  " align-items:center;max-width:100%;overflow-wrap:anywhere}\n",
  ".legend button:hover{background:var(--hover)}\n",
  ".legend i{flex:none;width:10px;height:10px;border-radius:3px}\n",
  "#detail{margin:12px 14px 14px;padding:12px 14px;border-radius:10px;\n",
  " background:var(--bg);font-size:14px}\n",
  "#detail .do{display:flex;gap:8px;margin-top:8px}\n",
  "#detail .do button{border:1px solid var(--line);border-radius:9px;\n",
  " padding:3px 12px;background:var(--card)}\n",
  "#detail h4{margin:10px 0 0;font-size:14px}\n",
  "#detail h3{margin:0 0 2px;font-size:15px;overflow-wrap:anywhere}\n",
  "#detail p{margin:0;color:var(--soft);overflow-wrap:anywhere}\n",
  "#detail table{margin-top:6px}\n",
  "#detail td,#detail th{padding:1px 18px 1px 0;border:0;background:none;"
  "\n",
  " position:static}\n",
  "#detail .by td:last-child{text-align:left;white-space:normal;padding:0"
  "}\n",
  "#detail ol{margin:6px 0 0;padding-left:2.6em;max-height:16em;\n",
  " overflow:auto}\n",
  "#detail summary{cursor:pointer;color:var(--soft);margin-top:6px}\n",
  "code,.mono,#tip b{font-family:ui-monospace,SFMono-Regular,Menlo,Consol"
  "as,\n",
  " \"DejaVu Sans Mono\",monospace;font-size:.93em;overflow-wrap:anywhere"
  "}\n",
  ".scroll{overflow:auto;max-height:78vh;border-radius:0 0 14px 14px}\n",
  "table{border-collapse:collapse;font-size:14px}\n",
  ".scroll table{width:100%}\n",
  "th,td{text-align:right;padding:5px 12px;white-space:nowrap;\n",
  " border-bottom:1px solid var(--line)}\n",
  "th:first-child,td:first-child{text-align:left}\n",
  "thead th{position:sticky;top:0;background:var(--card);z-index:1;\n",
  " font-weight:600;color:var(--soft);font-size:13px}\n",
  "thead button{font-weight:inherit;color:inherit;white-space:nowrap}\n",
  "thead button:hover{color:var(--ink)}\n",
  "th[aria-sort] button{color:var(--acc)}\n",
  "tbody tr:hover td{background:var(--hover)}\n",
  "td.zero{color:var(--soft);opacity:.6}\n",
  ".scroll td:first-child{min-width:15em;max-width:46vw;white-space:norma"
  "l}\n",
  ".scroll th:first-child,.scroll td:first-child{position:sticky;left:0;\n",
  " background:var(--card)}\n",
  ".scroll thead th:first-child{z-index:2}\n",
  "tbody tr:hover td:first-child{background:var(--hover)}\n",
  ".go{cursor:pointer}\n",
  ".side{margin:0;padding:7px 14px 0;font-size:12.5px;color:var(--soft)}\n",
  ".lnk{text-align:left;font-family:ui-monospace,SFMono-Regular,Menlo,\n",
  " Consolas,\"DejaVu Sans Mono\",monospace;font-size:13px;\n",
  " overflow-wrap:anywhere}\n",
  ".lnk:hover{color:var(--acc);text-decoration:underline}\n",
  ".dir{opacity:.62}\n",
  ".hit{color:var(--hit);font-weight:600}\n",
  ".sh{display:block;height:4px;border-radius:2px;background:var(--bar);\n",
  " margin-top:3px;min-width:1px}\n",
  ".tog{width:1.4em;color:var(--soft);display:inline-block;flex:none}\n",
  ".row{display:flex;align-items:baseline}\n",
  ".more{padding:10px 14px;text-align:center}\n",
  ".more button{padding:6px 16px;border:1px solid var(--line);\n",
  " border-radius:9px}\n",
  ".about{padding:6px 18px 18px;display:grid;gap:4px 40px;\n",
  " grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr))}\n",
  ".about h3{font-size:15px;margin:14px 0 6px}\n",
  ".about table{width:100%}\n",
  ".about td,.about th{white-space:normal;overflow-wrap:anywhere;\n",
  " padding-left:0}\n",
  ".about td:last-child{padding-right:0}.about .n{white-space:nowrap}\n",
  ".about th{text-align:left;font-weight:500}\n",
  ".about ul{margin:0;padding-left:1.2em;overflow-wrap:anywhere}\n",
  ".about p{margin:4px 0;overflow-wrap:anywhere}\n",
  ".empty{padding:34px;text-align:center;color:var(--soft)}\n",
  "#tip{position:fixed;z-index:9;pointer-events:none;max-width:min(560px,"
  "92vw);\n",
  " background:var(--card);border:1px solid var(--line);border-radius:10p"
  "x;\n",
  " padding:8px 12px;font-size:13px;box-shadow:0 6px 24px #0004}\n",
  "#tip b{display:block}\n",
  "#tip span{color:var(--soft);overflow-wrap:anywhere}\n",
  "@media(min-width:1100px){.first.two{grid-template-columns:1fr 1fr}}\n",
  "dialog{border:1px solid var(--line);border-radius:14px;padding:18px 22"
  "px;\n",
  " background:var(--card);color:var(--ink);max-width:min(560px,94vw)}\n",
  "dialog::backdrop{background:#0007}\n",
  "dialog h2{margin:0 0 8px;font-size:17px}\n",
  "dialog td,dialog th{white-space:normal;text-align:left;\n",
  " vertical-align:top;padding-left:0}\n",
  "dialog h2+table{margin-bottom:14px}\n",
  "dialog form{text-align:right;margin-top:10px}\n",
  "dialog form button{padding:6px 18px;border:1px solid var(--line);\n",
  " border-radius:9px}\n",
  "kbd{border:1px solid var(--line);border-bottom-width:2px;border-radius"
  ":5px;\n",
  " padding:0 6px;background:var(--bg);font:12.5px/1.6 ui-monospace,monos"
  "pace}\n",
  "footer{color:var(--soft);font-size:12.5px;padding-top:14px;\n",
  " padding-bottom:28px;overflow-wrap:anywhere}\n",
  ".vh{position:absolute;width:1px;height:1px;overflow:hidden;\n",
  " clip-path:inset(50%)}\n",
  "@media(max-width:760px){\n",
  " header,main,footer{padding-left:12px;padding-right:12px}\n",
  " header{padding-top:14px}h1{font-size:20px}\n",
  " .tiles{grid-template-columns:1fr 1fr;gap:8px}\n",
  " .tile{padding:10px 12px}.tv{font-size:21px}\n",
  " .ts .of{display:none}\n",
  " .bar{padding:8px}.tabs{flex:1 0 100%;justify-content:space-between}.f"
  "ind{flex:1 0 100%;margin:0}\n",
  " .flame{margin:4px 8px 0}.crumbs .hint{flex:1 0 100%}\n",
  " #verdict li>div{flex-wrap:wrap}#verdict .lnk{flex:1 0 100%}\n",
  " .scroll td:first-child{max-width:46vw;min-width:11em}\n",
  " .scroll thead th,.scroll thead button{white-space:normal;min-width:0}"
  "\n",
  " .scroll .lnk{font-size:12px}\n",
  " th,td{padding:6px 9px}#plot{height:140px}\n",
  " .legend{max-height:64px;overflow:auto}\n",
  " .tabs button{padding:7px 5px;font-size:13px}\n",
  " .lnk{display:flex;flex-direction:column-reverse}.dir{font-size:11px}\n",
  " #detail{margin:10px 8px 8px;padding:10px}\n",
  " #detail td,#detail th{padding-right:10px;font-size:13px}\n",
  " .tv small{font-size:13px}.ts{font-size:12px}}\n",
  "@media print{.acts,.bar,.find{display:none}body{background:#fff}}\n",
  "@media(prefers-reduced-motion:no-preference){\n",
  " .tile,.tabs button{transition:background .12s,border-color .12s}}\n",
  "</style>\n",
  "</head>\n",
  "<body>\n",
  "<noscript><p>This report needs JavaScript (its own, nothing is loaded)"
  ".\n",
  "Without it: <code>ljparse FILE</code> prints text.</p></noscript>\n",
  "<header>\n",
  "<div><p class=\"eye\" id=\"eye\">LuaJIT memory profile</p><h1 id=\"tit"
  "le\"></h1>\n",
  "<p class=\"sub\" id=\"sub\"></p></div>\n",
  "<div class=\"acts\">\n",
  "<button class=\"icon\" id=\"theme\" aria-label=\"Dark colours\">&#9680"
  ";</button>\n",
  "<button class=\"icon\" id=\"help\" aria-label=\"Help: words and keys\""
  ">\?</button>\n",
  "</div>\n",
  "</header>\n",
  "<main>\n",
  "<div id=\"banners\" role=\"status\"></div>\n",
  "<div class=\"tiles\" id=\"tiles\" role=\"radiogroup\" aria-label=\"Mea"
  "sure\"></div>\n",
  "<div class=\"first\" id=\"first\">\n",
  "<section class=\"card\" id=\"verdict\" aria-label=\"Lines with most\">"
  "</section>\n",
  "<section class=\"card\" id=\"time\" aria-label=\"Timeline\" hidden>\n",
  "<div class=\"cap\" id=\"tcap\"><h2>Timeline</h2></div>\n",
  "<svg id=\"plot\" tabindex=\"0\" role=\"img\"></svg>\n",
  "</section>\n",
  "</div>\n",
  "<section class=\"card\" aria-label=\"Profile\">\n",
  "<div class=\"bar\">\n",
  "<div class=\"tabs\" id=\"tabs\" role=\"tablist\" aria-label=\"Views\">"
  "</div>\n",
  "<div class=\"seg\" id=\"unit\" role=\"radiogroup\" aria-label=\"Unit\""
  "></div>\n",
  "<div class=\"find\"><input type=\"search\" id=\"q\" autocomplete=\"off"
  "\"\n",
  " spellcheck=\"false\" placeholder=\"Search lines, files, functions\"\n",
  " aria-label=\"Search\"><output id=\"hits\" for=\"q\"></output></div>\n",
  "</div>\n",
  "<div id=\"p-flame\" role=\"tabpanel\" tabindex=\"-1\">\n",
  "<nav class=\"crumbs\" id=\"crumbs\" aria-label=\"Zoom\"></nav>\n",
  "<div class=\"flame\"><canvas id=\"cv\" tabindex=\"0\" role=\"applicati"
  "on\"\n",
  " aria-describedby=\"detail\"></canvas></div>\n",
  "<div class=\"legend\" id=\"legend\"></div>\n",
  "<div id=\"detail\" aria-live=\"polite\"></div>\n",
  "</div>\n",
  "<div id=\"p-sites\" role=\"tabpanel\" tabindex=\"-1\" hidden></div>\n",
  "<div id=\"p-files\" role=\"tabpanel\" tabindex=\"-1\" hidden></div>\n",
  "<div id=\"p-about\" role=\"tabpanel\" tabindex=\"-1\" hidden></div>\n",
  "</section>\n",
  "</main>\n",
  "<footer id=\"foot\"></footer>\n",
  "<div id=\"tip\" role=\"tooltip\" hidden></div>\n",
  "<dialog id=\"keys\" aria-label=\"Help\"><h2>Words</h2>\n",
  "<table><tbody id=\"words\"></tbody></table><h2>Keyboard</h2><table><tb"
  "ody>\n",
  "<tr><td><kbd>/</kbd></td><td>search; <kbd>Esc</kbd> clears</td></tr>\n",
  "<tr><td><kbd>1</kbd>&ndash;<kbd>4</kbd></td>\n",
  "<td>allocated, in use, peak, temporary</td></tr>\n",
  "<tr><td><kbd>b</kbd></td><td>bytes or count</td></tr>\n",
  "<tr><td><kbd>f</kbd> <kbd>i</kbd> <kbd>s</kbd> <kbd>d</kbd> <kbd>a</kb"
  "d></td>\n",
  "<td>flame graph, inverted, sites, files and directories, about</td></t"
  "r>\n",
  "<tr><td><kbd>&larr;</kbd> <kbd>&rarr;</kbd> <kbd>&uarr;</kbd>\n",
  " <kbd>&darr;</kbd></td><td>in the flame graph: move between boxes</td>"
  "</tr>\n",
  "<tr><td><kbd>Enter</kbd></td><td>zoom into the box;\n",
  " <kbd>Backspace</kbd> zooms out, <kbd>Home</kbd> shows all</td></tr>\n",
  "<tr><td><kbd>t</kbd></td><td>light or dark</td></tr>\n",
  "</tbody></table><form method=\"dialog\"><button>Close</button></form><"
  "/dialog>\n",
  "<script type=\"application/json\" id=\"model\">",
};

static const char *const ljc_page_tail[] = {
  "</script>\n",
  "<script>\n",
  "\"use strict\";\n",
  "(function(){\n",
  "const $=id=>document.getElementById(id);\n",
  "const D=JSON.parse($(\"model\").textContent);\n",
  "\n",
  "/* -- Elements and text: everything goes through textContent ---------"
  "---- */\n",
  "function el(tag,props,...kids){\n",
  "  const e=document.createElement(tag);\n",
  "  for(const k in props||{}){\n",
  "    if(k===\"on\")for(const t in props.on)e.addEventListener(t,props.o"
  "n[t]);\n",
  "    else if(k===\"cls\")e.className=props.cls;\n",
  "    else if(props[k]!==null)e.setAttribute(k,props[k]);\n",
  "  }\n",
  "  for(const k of kids)if(k!==null&&k!==undefined)e.append(k);\n",
  "  return e;\n",
  "}\n",
  "/* Controls, separators and text direction marks are shown, not obeyed"
  ". */\n",
  "const ODD=new RegExp(\"[\\\\u0000-\\\\u001f\\\\u007f-\\\\u00a0\\\\u00a"
  "d\\\\u061c\"+\n",
  "  \"\\\\u200b-\\\\u200f\\\\u2028-\\\\u202f\\\\u2060-\\\\u206f\\\\ufeff"
  "\\\\ufff9-\\\\ufffb]\",\"g\");\n",
  "const vis=s=>s.replace(ODD,c=>{\n",
  "  const n=c.charCodeAt(0);\n",
  "  return n<256\?\"\\\\x\"+(256+n).toString(16).slice(1)\n",
  "    :\"\\\\u\"+(65536+n).toString(16).slice(1);});\n",
  "const many=(n,one)=>num(n)+\" \"+one+(n===1\?\"\":\"s\");\n",
  "const num=n=>Math.round(n).toLocaleString(\"en-US\");\n",
  "function bytes(n){\n",
  "  const a=Math.abs(n),u=[\"B\",\"KiB\",\"MiB\",\"GiB\",\"TiB\",\"PiB\""
  "];\n",
  "  let i=0,v=a;\n",
  "  while(v>=1024&&i<5){v/=1024;i++;}\n",
  "  const t=i===0||v>=100\?v.toFixed(0):v>=10\?v.toFixed(1):v.toFixed(2)"
  ";\n",
  "  return(n<0\?\"\\u2212\":\"\")+t+\" \"+u[i];\n",
  "}\n",
  "const amount=(n,unit)=>unit===\"size\"\?bytes(n):unit===\"share\"\?pct"
  "(n,100)\n",
  "  :num(n).replace(\"-\",\"\\u2212\");\n",
  "const signed=(n,unit)=>(n>0\?\"+\":\"\")+amount(n,unit);\n",
  "function pct(a,b){\n",
  "  if(!b)return\"0\\u00a0%\";\n",
  "  const p=100*a/b;\n",
  "  return(p>=100||p===0\?p.toFixed(0):p>=99.95\?\">99.9\":p>=10\?p.toFi"
  "xed(1)\n",
  "    :p>=0.01\?p.toFixed(2):\"<0.01\")+\"\\u00a0%\";\n",
  "}\n",
  "function span(ns){\n",
  "  const s=ns/1e9;\n",
  "  return s===0\?\"0 s\":s<1e-3\?(s*1e6).toFixed(0)+\" \\u00b5s\":s<1\?"
  "(s*1e3).toFixed(0)+\" ms\"\n",
  "    :s<100\?s.toFixed(2)+\" s\":Math.floor(s/60)+\" min \"+(s%60).toFi"
  "xed(0)+\" s\";\n",
  "}\n",
  "\n",
  "/* -- Model ----------------------------------------------------------"
  "----- */\n",
  "const MEASURES=[\n",
  "  {k:\"alloc\",t:\"Allocated\",d:\"everything allocated, freed since o"
  "r not\",\n",
  "   of:\"allocation\"},\n",
  "  {k:\"inuse\",t:\"Still in use\",d:\"not freed by the end of the reco"
  "rding\",\n",
  "   of:\"block\"},\n",
  "  {k:\"peak\",t:\"Peak\",d:\"held at the moment when most was held\",\n",
  "   of:\"block\"},\n",
  "  {k:\"temp\",t:\"Temporary\",d:\"freed again almost at once\",\n",
  "   of:\"allocation\"}];\n",
  "if(D.temp_within)MEASURES[3].d=\"freed before \"+\n",
  "  D.temp_within.toLocaleString(\"en-US\")+\" more allocations were mad"
  "e\";\n",
  "else MEASURES[3].d=\"freed by the very next event\";\n",
  "MEASURES[0].d+=\"; a reallocation counts with its new size\";\n",
  "const KEPT=\"of what a line allocated (reallocations counted too), how"
  " much \"+\n",
  "  \"is still in use: by number of blocks, not by bytes; a table that g"
  "rew is \"+\n",
  "  \"one block after several allocations\",\n",
  "  THRU=\"with what others allocated while it was on the call stack; ca"
  "ll \"+\n",
  "  \"paths that were folded into (pruned) above it do not count\";\n",
  "const WORDS=MEASURES.map(m=>[m.t,m.d]).concat([[\"Kept\",KEPT],\n",
  "  [\"Average\",\"bytes of one allocation\"],[\"With callees\",THRU],\n",
  "  [\"(pruned)\",\"call paths with less than a small share of everythin"
  "g, \"+\n",
  "   \"folded into one box under their caller; sums of lines still have "
  "them\"],\n",
  "  [\"mode\",\"exact: every allocation was recorded; sample: one of so "
  "many \"+\n",
  "   \"bytes on average (the number at \\\"sample\\\"), and numbers are "
  "scaled up \"+\n",
  "   \"from these: small ones are rough\"],\n",
  "  [\"sample\",\"mean bytes between samples, 0: exact\"],\n",
  "  [\"stacks\",\"frames of a call stack recorded at most, the innermost"
  " ones\"]]);\n",
  "const word=t=>(WORDS.find(w=>w[0]===t)||[])[1]||null;\n",
  "const DIFF=!!D.old,N=D.frame.length+1,FN=D.frames.length/5;\n",
  "const par=new Int32Array(N),frm=new Int32Array(N).fill(-1);\n",
  "for(let i=1;i<N;i++){par[i]=i-D.parent[i-1];frm[i]=D.frame[i-1];}\n",
  "const cols={},sums=new Map();\n",
  "function col(key,old){\n",
  "  const id=key+(old\?\"'\":\"\");\n",
  "  if(!cols[id]){\n",
  "    const c=cols[id]=new Float64Array(N),s=(old\?D.old:D.self)[key]||["
  "];\n",
  "    for(let i=0;i<s.length;i++)c[i+1]=s[i];\n",
  "  }\n",
  "  return cols[id];\n",
  "}\n",
  "/* What decides a box's width: in a diff the larger side of each stack"
  ". */\n",
  "function wide(key){\n",
  "  if(!DIFF)return col(key);\n",
  "  const id=key+\"w\";\n",
  "  if(!cols[id]){\n",
  "    const a=col(key),b=col(key,1);\n",
  "    cols[id]=a.map((v,i)=>Math.max(v,b[i]));\n",
  "  }\n",
  "  return cols[id];\n",
  "}\n",
  "function total(self){\n",
  "  let t=sums.get(self);\n",
  "  if(!t){\n",
  "    sums.set(self,t=Float64Array.from(self));\n",
  "    for(let i=N-1;i>0;i--)t[par[i]]+=t[i];\n",
  "  }\n",
  "  return t;\n",
  "}\n",
  "/* Children in one array: kid[at[n]] to kid[at[n+1]-1]. */\n",
  "const at=new Int32Array(N+1),kid=new Int32Array(N);\n",
  "(function(){\n",
  "  for(let i=1;i<N;i++)at[par[i]+1]++;\n",
  "  for(let i=0;i<N;i++)at[i+1]+=at[i];\n",
  "  const next=at.slice();\n",
  "  for(let i=1;i<N;i++)kid[next[par[i]]++]=i;\n",
  "})();\n",
  "\n",
  "/* -- Frames: names and colours --------------------------------------"
  "---- */\n",
  "/* kinds: 0 Lua, 1 C, 2 VM, 3 JIT code, 4 built in, 5 missing, 6 prune"
  "d */\n",
  "const KIND=[\"Lua\",\"C\",\"LuaJIT itself\",\"JIT code\",\"built-in fu"
  "nction\",\n",
  "  \"not recorded\",\"pruned\"],PRUNED=6;\n",
  "const fk=f=>D.frames[5*f],str=i=>D.strings[i]||\"\";\n",
  "const fname=f=>str(D.frames[5*f+1]),ffile=f=>str(D.frames[5*f+2]);\n",
  "const fline=f=>D.frames[5*f+3],ffirst=f=>D.frames[5*f+4];\n",
  "const lab=[],full=[],low=[];\n",
  "for(let f=0;f<FN;f++){\n",
  "  const file=vis(ffile(f)),line=fline(f)\?\":\"+fline(f):\"\";\n",
  "  const name=vis(fname(f));\n",
  "  const short=file.slice(file.lastIndexOf(\"/\")+1);\n",
  "  lab[f]=name||short+line||\"\?\";\n",
  "  full[f]=name\?(file\?name+\" (\"+short+line+\")\":name):file+line||"
  "\"\?\";\n",
  "  low[f]=(full[f]+\" \"+file).toLowerCase();\n",
  "}\n",
  "/* The line that is charged: a built-in function's part is its caller'"
  "s,\n",
  "** where that is a line of Lua. */\n",
  "const site=frm.slice();\n",
  "for(let i=1;i<N;i++){\n",
  "  const up=par[i]\?frm[par[i]]:-1;\n",
  "  if(fk(frm[i])===4&&up>=0&&fk(up)===0)site[i]=up;\n",
  "}\n",
  "/* Whether a path has numbers of its own, of any measure. */\n",
  "const owns=new Uint8Array(N);\n",
  "for(const m of MEASURES)for(const u of[\"_size\",\"_count\"])\n",
  "  for(const old of DIFF\?[0,1]:[0])\n",
  "    col(m.k+u,old).forEach((x,i)=>{if(x)owns[i]=1;});\n",
  "const base=p=>p.slice(p.lastIndexOf(\"/\")+1);\n",
  "const dirOf=p=>p.slice(0,p.lastIndexOf(\"/\")+1);\n",
  "/* Lua frames are coloured by directory, or by file if there is but on"
  "e. */\n",
  "const groups=[],groupOf=new Int32Array(FN).fill(-1);\n",
  "(function(){\n",
  "  const sum=new Float64Array(FN),w=wide(\"alloc_size\"),lua=[],by=new "
  "Map();\n",
  "  for(let i=1;i<N;i++)sum[frm[i]]+=w[i];\n",
  "  for(let f=0;f<FN;f++)if(fk(f)===0)lua.push(f);\n",
  "  const many=new Set(lua.map(f=>dirOf(ffile(f)))).size>1;\n",
  "  for(const f of lua){\n",
  "    const n=many&&dirOf(ffile(f))||ffile(f);\n",
  "    let g=by.get(n);\n",
  "    if(!g)by.set(n,g={name:n,sum:0,fs:[]});\n",
  "    g.sum+=sum[f];g.fs.push(f);\n",
  "  }\n",
  "  groups.push(...[...by.values()].sort((a,b)=>b.sum-a.sum));\n",
  "  groups.forEach((g,i)=>g.fs.forEach(f=>{groupOf[f]=i;}));\n",
  "})();\n",
  "const HUES=[22,205,145,265,48,335,178,90,235,8,300,120];\n",
  "let dark=false;\n",
  "function hash(s){\n",
  "  let h=7;\n",
  "  for(let i=0;i<s.length;i++)h=(h*31+s.charCodeAt(i))|0;\n",
  "  return(h>>>0)/4294967296;\n",
  "}\n",
  "function shade(h,s,l){return\"hsl(\"+h+\" \"+s+\"% \"+l+\"%)\";}\n",
  "let colours=[];\n",
  "function frameColour(f){\n",
  "  if(colours[f])return colours[f];\n",
  "  const k=fk(f),v=hash(lab[f])*8-4;\n",
  "  let c;\n",
  "  if(k===0){\n",
  "    const g=groupOf[f],h=g<12\?HUES[g]:(g*137.5)%360;\n",
  "    c=dark\?shade(h,g<12\?44:25,36+v):shade(h,g<12\?70:38,77+v);\n",
  "  }else if(k===1)c=dark\?shade(215,18,38+v):shade(215,28,80+v);\n",
  "  else if(k===2)c=dark\?shade(40,5,36+v):shade(40,9,80+v);\n",
  "  else if(k===3)c=dark\?shade(185,30,30+v):shade(185,38,76+v);\n",
  "  else if(k===4)c=dark\?shade(225,14,42+v):shade(225,24,86+v);\n",
  "  else c=dark\?shade(40,3,27):shade(40,12,91);\n",
  "  return colours[f]=c;\n",
  "}\n",
  "function groupColour(i){\n",
  "  const h=i<12\?HUES[i]:(i*137.5)%360;\n",
  "  return dark\?shade(h,44,46):shade(h,68,70);\n",
  "}\n",
  "/* Red: grew, blue: shrank; strength by the share of the larger side. "
  "*/\n",
  "function diffColour(was,is){\n",
  "  const m=Math.max(was,is),t=m\?(is-was)/m:0,a=Math.abs(t);\n",
  "  if(a<0.005)return dark\?shade(40,3,32):shade(40,10,88);\n",
  "  return dark\?shade(t>0\?3:212,28+40*a,30+14*a)\n",
  "    :shade(t>0\?6:212,40+42*a,92-26*a);\n",
  "}\n",
  "\n",
  "/* -- State ----------------------------------------------------------"
  "----- */\n",
  "const TABS=[{k:\"flame\",t:\"Flame graph\",p:\"flame\"},\n",
  "  {k:\"inv\",t:\"Inverted\",p:\"flame\"},{k:\"sites\",t:\"Sites\",p:\""
  "sites\"},\n",
  "  {k:\"files\",t:\"Files\",p:\"files\"},{k:\"about\",t:\"About\",p:\"a"
  "bout\"}];\n",
  "const S={m:\"inuse\",unit:\"size\",tab:\"flame\",q:\"\",sort:null,desc"
  ":true};\n",
  "const key=()=>S.m+\"_\"+S.unit;\n",
  "const measure=k=>MEASURES.find(m=>m.k===k);\n",
  "const sumOf=(k,old)=>total(col(k,old))[0];\n",
  "if(!sumOf(\"inuse_size\")&&!(DIFF&&sumOf(\"inuse_size\",1)))S.m=\"allo"
  "c\";\n",
  "(function(){\n",
  "  for(const p of location.hash.slice(1).split(\"&\")){\n",
  "    const[k,v]=p.split(\"=\");\n",
  "    try{\n",
  "      if(k===\"m\"&&measure(v))S.m=v;\n",
  "      if(k===\"u\"&&(v===\"size\"||v===\"count\"))S.unit=v;\n",
  "      if(k===\"v\"&&TABS.some(t=>t.k===v))S.tab=v;\n",
  "      if(k===\"q\")S.q=decodeURIComponent(v);\n",
  "    }catch(e){/* a damaged link shows the default */}\n",
  "  }\n",
  "})();\n",
  "function keep(){\n",
  "  try{\n",
  "    history.replaceState(null,\"\",\"#m=\"+S.m+\"&u=\"+S.unit+\"&v=\"+"
  "S.tab+\n",
  "      (S.q\?\"&q=\"+encodeURIComponent(S.q):\"\"));\n",
  "  }catch(e){/* not every viewer allows it */}\n",
  "}\n",
  "\n",
  "/* -- Views: two trees with one face ---------------------------------"
  "---- */\n",
  "/* Both: val, par, frame of a node, its children (largest first), and "
  "the\n",
  "** numbers of a measure as [self, all] of one side. Node 0 is the root"
  ". */\n",
  "function topDown(k){\n",
  "  const t=total(wide(k)),sorted=new Map();\n",
  "  return{k,inv:false,par:n=>par[n],frame:n=>frm[n],val:n=>t[n],\n",
  "    kids(n){\n",
  "      if(!sorted.has(n))\n",
  "        sorted.set(n,Array.from(kid.subarray(at[n],at[n+1]))\n",
  "          .filter(c=>t[c]>0).sort((a,b)=>t[b]-t[a]));\n",
  "      return sorted.get(n);\n",
  "    },\n",
  "    nums:(n,m,old)=>[col(m,old)[n],total(col(m,old))[n]]};\n",
  "}\n",
  "/* Leaf first: a node keeps the leaves it stands for and where each of"
  " them\n",
  "** has got to on its way to the root; children are made when asked for"
  ". */\n",
  "function bottomUp(k){\n",
  "  const w=wide(k),P=[0],Fr=[-1],V=[0],E=[],K=[];\n",
  "  function grow(n){\n",
  "    const by=new Map();\n",
  "    for(const[a,leaf]of E[n]){\n",
  "      const up=n===0\?a:par[a];\n",
  "      if(up===0)continue;\n",
  "      let c=by.get(frm[up]);\n",
  "      if(c===undefined){\n",
  "        c=P.length;by.set(frm[up],c);\n",
  "        P.push(n);Fr.push(frm[up]);V.push(0);E.push([]);\n",
  "      }\n",
  "      E[c].push([up,leaf]);V[c]+=w[leaf];\n",
  "    }\n",
  "    return[...by.values()].sort((a,b)=>V[b]-V[a]);\n",
  "  }\n",
  "  /* Also what has nothing of this measure: a box tells all measures. "
  "*/\n",
  "  E[0]=[];\n",
  "  for(let i=1;i<N;i++)if(owns[i]){\n",
  "    E[0].push([site[i]===frm[i]\?i:par[i],i]);V[0]+=w[i];}\n",
  "  return{k,inv:true,par:n=>P[n],frame:n=>Fr[n],val:n=>V[n],\n",
  "    leaves:n=>E[n],\n",
  "    kids:n=>K[n]||(K[n]=grow(n).filter(c=>V[c]>0)),\n",
  "    nums(n,m,old){\n",
  "      const c=col(m,old);\n",
  "      let s=0;\n",
  "      if(n===0)return[0,total(c)[0]];\n",
  "      if(P[n]===0&&fk(Fr[n])!==PRUNED){\n",
  "        s=byFrame(m,old)[Fr[n]];\n",
  "        return[s,s];\n",
  "      }\n",
  "      for(const e of E[n])s+=c[e[1]];\n",
  "      return[P[n]===0\?s:0,s];\n",
  "    }};\n",
  "}\n",
  "const views={};\n",
  "function view(){\n",
  "  const inv=S.tab===\"inv\",id=key()+inv;\n",
  "  return views[id]||(views[id]=inv\?bottomUp(key()):topDown(key()));\n",
  "}\n",
  "function pathOf(v,n){\n",
  "  const p=[];\n",
  "  for(;n!==0;n=v.par(n))p.push(v.frame(n));\n",
  "  return p.reverse();\n",
  "}\n",
  "/* The node reached by the longest part of a path of frames. */\n",
  "function follow(v,path){\n",
  "  let n=0;\n",
  "  for(const f of path){\n",
  "    const c=v.kids(n).find(x=>v.frame(x)===f);\n",
  "    if(c===undefined)break;\n",
  "    n=c;\n",
  "  }\n",
  "  return n;\n",
  "}\n",
  "\n",
  "/* -- Search ---------------------------------------------------------"
  "----- */\n",
  "let found=null,cut=null;\n",
  "function search(){\n",
  "  const q=S.q.trim().toLowerCase();\n",
  "  found=null;\n",
  "  if(!q){$(\"hits\").textContent=\"\";return;}\n",
  "  found=new Uint8Array(FN);\n",
  "  let any=0;\n",
  "  for(let f=0;f<FN;f++)if(low[f].includes(q)){found[f]=1;any++;}\n",
  "  const t=total(wide(key())),in_=new Uint8Array(N);\n",
  "  let sum=0;\n",
  "  for(let i=1;i<N;i++){\n",
  "    in_[i]=in_[par[i]]||found[frm[i]];\n",
  "    if(in_[i]&&!in_[par[i]])sum+=t[i];\n",
  "  }\n",
  "  $(\"hits\").textContent=any\?pct(sum,t[0])+\" \\u00b7 \"+num(any)+\n",
  "    (any===1\?\" line\":\" lines\")+\" on stacks\":\"no match\";\n",
  "}\n",
  "\n",
  "/* -- Flame graph ----------------------------------------------------"
  "----- */\n",
  "const cv=$(\"cv\"),g2=cv.getContext(\"2d\"),ROW=21,DEEP=400;\n",
  "let rows=[],zoom=0,sel=0,hover=-1,zoomPath=[],width=0,focused=false;\n",
  "let placed=null; /* The view that `rows` is of. */\n",
  "function place(){\n",
  "  const v=placed=view(),up=[];\n",
  "  rows=[];cut=0;\n",
  "  for(let n=zoom;n!==0;n=v.par(n))up.unshift(n);\n",
  "  up.unshift(0);\n",
  "  up.forEach((n,d)=>{rows[d]=[{n,x:0,w:width,up:n!==zoom}];});\n",
  "  const todo=[{n:zoom,x:0,w:width,d:up.length-1}];\n",
  "  while(todo.length){\n",
  "    const b=todo.pop(),all=v.val(b.n),ks=v.kids(b.n);\n",
  "    let x=b.x;\n",
  "    for(const c of ks){\n",
  "      const w=b.w*v.val(c)/all;\n",
  "      if(w<0.6){cut+=1;break;}\n",
  "      if(b.d+1>=DEEP){cut+=1;break;}\n",
  "      (rows[b.d+1]||(rows[b.d+1]=[])).push({n:c,x,w,up:false});\n",
  "      todo.push({n:c,x,w,d:b.d+1});\n",
  "      x+=w;\n",
  "    }\n",
  "  }\n",
  "  for(const r of rows)r.sort((a,b)=>a.x-b.x);\n",
  "}\n",
  "function ellipsis(s,w){\n",
  "  const need=g2.measureText(s).width;\n",
  "  if(need<=w)return s;\n",
  "  const n=Math.floor(s.length*w/need)-1;\n",
  "  return n<2\?\"\":s.slice(0,n)+\"\\u2026\";\n",
  "}\n",
  "/* Of a line of Lua, as much of the file's name as there is room for: "
  "its\n",
  "** folder and its ending may go, then its middle, the line's number la"
  "st. */\n",
  "function boxText(f,w){\n",
  "  const fits=t=>g2.measureText(t).width<=w;\n",
  "  if(fk(f)!==0||fname(f)||!fline(f))\n",
  "    return ellipsis(fits(full[f])\?full[f]:lab[f],w);\n",
  "  const line=\":\"+fline(f),base=lab[f].slice(0,-line.length);\n",
  "  const stem=base.replace(/\\.lua$/,\"\");\n",
  "  const near=full[f].replace(/^.*\\/(\?=[^/]+\\/)/,\"\");\n",
  "  for(const t of[near,lab[f],stem+line])if(fits(t))return t;\n",
  "  const room=Math.floor(w/g2.measureText(\"m\").width)-line.length-1;\n",
  "  return room>1\?stem.slice(0,room)+\"\\u2026\"+line:fits(line)\?line:"
  "\"\";\n",
  "}\n",
  "function boxColour(v,n,f){\n",
  "  if(f<0)return dark\?\"#34373c\":\"#e2ded6\";\n",
  "  if(found&&found[f])return dark\?\"#ff5ec4\":\"#f07cc6\";\n",
  "  if(DIFF)return diffColour(v.nums(n,key(),1)[1],v.nums(n,key())[1]);\n",
  "  return frameColour(f);\n",
  "}\n",
  "function draw(){\n",
  "  const v=placed,r=window.devicePixelRatio||1,h=Math.max(1,rows.length"
  ")*ROW;\n",
  "  cv.width=Math.round(width*r);cv.height=Math.round(h*r);\n",
  "  cv.style.height=h+\"px\";\n",
  "  g2.setTransform(r,0,0,r,0,0);\n",
  "  g2.font=\"12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
  "\";\n",
  "  g2.textBaseline=\"middle\";\n",
  "  const ink=dark\?\"#f1efeb\":\"#25221f\";\n",
  "  rows.forEach((row,d)=>{\n",
  "    for(const b of row){\n",
  "      const f=v.frame(b.n),hit=found&&f>=0&&found[f],y=d*ROW;\n",
  "      g2.globalAlpha=b.up\?0.55:found&&!hit&&f>=0\?0.4:1;\n",
  "      g2.fillStyle=boxColour(v,b.n,f);\n",
  "      g2.fillRect(b.x,y,Math.max(b.w-(b.w>3\?1:0),0.5),ROW-1);\n",
  "      if(b.w>26){\n",
  "        g2.fillStyle=hit&&dark\?\"#2a0a20\":ink;\n",
  "        g2.globalAlpha=found&&!hit&&f>=0\?0.6:1;\n",
  "        g2.fillText(f<0\?ellipsis(rootName(),b.w-9):boxText(f,b.w-9),\n",
  "          b.x+4,y+ROW/2);\n",
  "      }\n",
  "      if(b.n===hover||(b.n===sel&&(sel!==zoom||focused))){\n",
  "        g2.globalAlpha=1;\n",
  "        g2.strokeStyle=b.n===sel\?(dark\?\"#fff\":\"#000\"):\"#8888\";"
  "\n",
  "        g2.lineWidth=b.n===sel\?1.6:1.2;\n",
  "        g2.strokeRect(b.x+.8,y+.8,Math.max(b.w-2.4,1),ROW-2.6);\n",
  "      }\n",
  "    }\n",
  "  });\n",
  "  g2.globalAlpha=1;\n",
  "}\n",
  "function rootName(){\n",
  "  return(S.tab===\"inv\"\?\"all, allocating line first: \":\"all: \")+"
  "\n",
  "    cells((k,old)=>view().nums(0,k,old)[1],S.m,S.unit);\n",
  "}\n",
  "function flame(){\n",
  "  const v=view(),box=cv.parentElement;\n",
  "  zoom=follow(v,zoomPath);\n",
  "  if(sel===0)sel=zoom;\n",
  "  width=Math.max(60,box.clientWidth);\n",
  "  place();draw();\n",
  "  if(box.clientWidth<width){ /* A scroll bar has come. */\n",
  "    width=box.clientWidth;\n",
  "    place();draw();\n",
  "  }\n",
  "  crumbs();detail();legend();\n",
  "  cv.setAttribute(\"aria-label\",(v.inv\?\"Inverted flame graph of \":"
  "\n",
  "    \"Flame graph of \")+measure(S.m).t.toLowerCase()+\", \"+\n",
  "    num(rows.reduce((s,r)=>s+r.length,0))+\" boxes. Arrow keys move, "
  "\"+\n",
  "    \"Enter zooms, Backspace zooms out.\");\n",
  "}\n",
  "function zoomTo(n){\n",
  "  const v=view();\n",
  "  zoomPath=pathOf(v,n);sel=n;hover=lone=-1;\n",
  "  flame();\n",
  "}\n",
  "function crumbs(){\n",
  "  const v=view(),c=$(\"crumbs\"),p=[0];\n",
  "  c.textContent=\"\";\n",
  "  for(let n=zoom;n!==0;n=v.par(n))p.splice(1,0,n);\n",
  "  p.forEach((n,i)=>{\n",
  "    if(i)c.append(el(\"i\",{\"aria-hidden\":\"true\"},\"\\u203a\"));\n",
  "    c.append(el(\"button\",{on:{click:()=>zoomTo(n)},\n",
  "      \"aria-current\":n===zoom\?\"location\":null},n\?lab[v.frame(n)]"
  ":\"All\"));\n",
  "  });\n",
  "  if(v.val(0)===0)c.append(el(\"span\",{cls:\"hint\"},\"nothing to sho"
  "w here\"));\n",
  "  else c.append(el(\"span\",{cls:\"hint\"},(matchMedia(\"(pointer:coar"
  "se)\").matches\n",
  "    \?zoom\?\"a second tap on the last box, or All, zooms out\"\n",
  "      :\"tap a box to see it, tap it again to zoom\"\n",
  "    :zoom\?\"\":\"click a box to zoom\")+\n",
  "    (DIFF&&!zoom\?\" \\u00b7 red grew, blue shrank\":\"\")));\n",
  "}\n",
  "function legend(){\n",
  "  const box=$(\"legend\");\n",
  "  box.textContent=\"\";\n",
  "  if(DIFF)return;\n",
  "  groups.slice(0,10).forEach((g,i)=>{\n",
  "    const c=el(\"i\",{});\n",
  "    c.style.background=groupColour(i);\n",
  "    box.append(el(\"button\",{title:\"search for it\",on:{click:()=>{\n",
  "      $(\"q\").value=S.q=S.q===g.name\?\"\":g.name;refresh();}}},c,\n",
  "      vis(g.name)));\n",
  "  });\n",
  "  for(const k of[1,2,3,4]){\n",
  "    let f=0;\n",
  "    while(f<FN&&fk(f)!==k)f++;\n",
  "    if(f===FN)continue;\n",
  "    const c=el(\"i\",{});\n",
  "    c.style.background=frameColour(f);\n",
  "    box.append(el(\"span\",{},c,KIND[k]));\n",
  "  }\n",
  "}\n",
  "function about(f){\n",
  "  if(f<0)return\"everything recorded\";\n",
  "  const k=fk(f);\n",
  "  if(k===PRUNED)return word(\"(pruned)\");\n",
  "  let t=KIND[k]+(k===1&&ffile(f)\?\" in \"+vis(base(ffile(f))):\"\");\n",
  "  if(k===0&&ffirst(f))t+=\", in the function that begins at line \"+ff"
  "irst(f);\n",
  "  return t;\n",
  "}\n",
  "/* A measure's number as text, of a comparison both; get(key,old). */\n",
  "function cells(get,m,unit){\n",
  "  const k=m+\"_\"+unit,t=amount(get(k),unit);\n",
  "  return DIFF\?amount(get(k,1),unit)+\" \\u2192 \"+t:t;\n",
  "}\n",
  "/* What is selected: a box, or a line that has no box in this view. */"
  "\n",
  "let lone=-1;\n",
  "function detail(){\n",
  "  const v=view(),n=sel,box=$(\"detail\"),f=n\?v.frame(n):lone;\n",
  "  box.textContent=\"\";\n",
  "  if(f<0){\n",
  "    box.append(el(\"p\",{},\"Choose a box or a line: its numbers and i"
  "ts \"+\n",
  "      \"callers stand here then.\"));\n",
  "    return;\n",
  "  }\n",
  "  const get=n\?(k,old)=>v.nums(n,k,old)[1]:(k,old)=>byFrame(k,old)[f];"
  "\n",
  "  const part=DIFF&&n\?v.val(n):get(key()),tb=el(\"tbody\",{});\n",
  "  box.append(el(\"h3\",{cls:\"mono\"},full[f]),el(\"p\",{title:\n",
  "    fk(f)===1\?vis(ffile(f)):null},about(f)+\" \\u00b7 \"+pct(part,v.v"
  "al(0))+\n",
  "    \" of all \"+measure(S.m).t.toLowerCase()));\n",
  "  for(const m of MEASURES)\n",
  "    tb.append(el(\"tr\",{},el(\"th\",{scope:\"row\",title:m.d},m.t),\n",
  "      el(\"td\",{},cells(get,m.k,\"size\")),\n",
  "      el(\"td\",{},cells(get,m.k,\"count\")+\" \"+m.of+\n",
  "        (get(m.k+\"_count\")===1\?\"\":\"s\"))));\n",
  "  box.append(el(\"table\",{cls:\"nums\"},tb));\n",
  "  if(!n)box.append(el(\"p\",{},\"No box of its own here: \"+(part\?\n",
  "    \"its call paths are too small to be shown.\":\"it has nothing of "
  "this.\")));\n",
  "  if(n===0||v.inv&&v.par(n)===0)wholeLine(box,f);\n",
  "  if(n)stack(box,v,n);\n",
  "}\n",
  "/* Of a line as a whole: what became of it, and who calls it. */\n",
  "function wholeLine(box,f){\n",
  "  if(fk(f)===PRUNED)return;\n",
  "  if(!DIFF)box.append(el(\"p\",{},sentence(keeps(f))+\" \"+held(f)));\n",
  "  if(D.stacks)callers(box,f);\n",
  "}\n",
  "/* Callers of a line by what they had it allocate. A line that calls i"
  "tself\n",
  "** is passed over: its first other caller counts. */\n",
  "function callersOf(f){\n",
  "  const by=new Map(),w=wide(key());\n",
  "  for(let i=1;i<N;i++){\n",
  "    if(!owns[i]||site[i]!==f)continue;\n",
  "    let x=par[frm[i]===f\?i:par[i]];\n",
  "    const path=[f];\n",
  "    for(;x&&frm[x]===f;x=par[x])path.push(f);\n",
  "    const g=x\?frm[x]:-1;\n",
  "    let r=by.get(g);\n",
  "    if(!r)by.set(g,r={g,sum:0,most:-1,of:[],\n",
  "      get:(k,old)=>r.of.reduce((s,i)=>s+col(k,old)[i],0)});\n",
  "    r.of.push(i);r.sum+=w[i];\n",
  "    if(w[i]>r.most){r.most=w[i];r.path=path.concat(g);}\n",
  "  }\n",
  "  return[...by.values()].filter(r=>r.sum>0).sort((a,b)=>b.sum-a.sum);\n",
  "}\n",
  "function callers(box,f){\n",
  "  const all=callersOf(f),tb=el(\"tbody\",{}),most=12;\n",
  "  const row=(get,...name)=>tb.append(el(\"tr\",{},\n",
  "    el(\"td\",{},cells(get,S.m,\"size\")),el(\"td\",{},cells(get,S.m,"
  "\"count\")),\n",
  "    el(\"td\",{},...name)));\n",
  "  const sum=rs=>(k,old)=>rs.reduce((s,r)=>s+r.get(k,old),0);\n",
  "  for(const r of all.slice(0,most))\n",
  "    if(r.g<0)row(r.get,\"nobody: it stands outermost\");\n",
  "    else row(r.get,named({cls:\"lnk\",title:\"show this caller\",on:{c"
  "lick:()=>{\n",
  "      S.tab=\"inv\";\n",
  "      zoomTo(follow(view(),r.path));cv.focus();}}},full[r.g]),\n",
  "      r.path.length>2\?\" (calls itself in between)\":\"\");\n",
  "  if(all.length>most)row(sum(all.slice(most)),\n",
  "    many(all.length-most,\"more caller\"));\n",
  "  const seen=sum(all),rest=(k,old)=>byFrame(k,old)[f]-seen(k,old);\n",
  "  if(rest(key())>0)row(rest,el(\"span\",{title:word(\"(pruned)\")},\n",
  "    \"on call paths too small to be shown\"));\n",
  "  if(!tb.firstChild)return;\n",
  "  box.append(el(\"h4\",{},\"Called from (\"+\n",
  "    measure(S.m).t.toLowerCase()+\": bytes, \"+measure(S.m).of+\"s)\")"
  ",el(\"table\",{cls:\"by\"},\n",
  "    el(\"caption\",{cls:\"vh\"},\"Callers of this line\"),tb));\n",
  "}\n",
  "/* The way to a box; touching it twice is not the only way to zoom. */"
  "\n",
  "function stack(box,v,n){\n",
  "  const ol=el(\"ol\",{cls:\"mono\"}),p=pathOf(v,n),act=el(\"div\",{cls"
  ":\"do\"});\n",
  "  const to=(x,t)=>act.append(el(\"button\",{on:{click:()=>{\n",
  "    zoomTo(x);cv.focus();}}},t));\n",
  "  if(n!==zoom)to(n,\"Zoom in\");\n",
  "  if(zoom)to(v.par(zoom),\"Zoom out\");\n",
  "  box.append(act);\n",
  "  if(p.length<2)return;\n",
  "  if(v.inv)p.reverse();\n",
  "  for(const x of p)ol.append(el(\"li\",{},full[x]));\n",
  "  box.append(el(\"details\",{},el(\"summary\",{},\"Stack, \"+many(p.le"
  "ngth,\"line\")+\n",
  "    (v.inv\?\" up to the allocating one\":\", outermost first\")),\n",
  "    ol));\n",
  "}\n",
  "\n",
  "/* -- Verdict: the lines with most, and what became of it ------------"
  "------ */\n",
  "const lineSum=(f,m,u)=>byFrame(m+\"_\"+u)[f];\n",
  "const sentence=t=>t[0].toUpperCase()+t.slice(1)+\".\";\n",
  "function keeps(f){\n",
  "  const made=lineSum(f,\"alloc\",\"count\"),kept=lineSum(f,\"inuse\","
  "\"count\");\n",
  "  return made\?num(kept)+\" of its \"+many(made,\"allocation\")+\" sti"
  "ll in use (\"+pct(kept,made)+\" kept)\"\n",
  "    :\"nothing allocated in the part that was read\";\n",
  "}\n",
  "/* More at the end than at an earlier peak: it grew. */\n",
  "function held(f){\n",
  "  return\"Held at the peak\"+(T.peak\?\" (\"+when(T.peak[0])+\")\":\""
  "\")+\" \"+\n",
  "    bytes(lineSum(f,\"peak\",\"size\"))+\", at the end \"+\n",
  "    bytes(lineSum(f,\"inuse\",\"size\"))+\".\";\n",
  "}\n",
  "function fate(f){\n",
  "  const k=key(),made=lineSum(f,\"alloc\",\"count\");\n",
  "  if(DIFF)return amount(byFrame(k,1)[f],S.unit)+\" \\u2192 \"+\n",
  "    amount(byFrame(k)[f],S.unit);\n",
  "  if(S.m===\"temp\")return num(lineSum(f,\"temp\",\"count\"))+\" of it"
  "s \"+\n",
  "    many(made,\"allocation\")+\" \"+measure(\"temp\").d;\n",
  "  if(S.m===\"alloc\")return many(made,\"allocation\")+\" of \"+\n",
  "    bytes(made\?lineSum(f,\"alloc\",\"size\")/made:0)+\" on average, "
  "\"+\n",
  "    pct(lineSum(f,\"inuse\",\"count\"),made)+\" kept\";\n",
  "  return keeps(f)+\" \\u00b7 \"+(S.m===\"peak\"\?\"at the end \"+\n",
  "    bytes(lineSum(f,\"inuse\",\"size\")):\"at the peak \"+\n",
  "    bytes(lineSum(f,\"peak\",\"size\")));\n",
  "}\n",
  "function suspect(f){\n",
  "  const large=m=>lineSum(f,m,\"size\")>=sumOf(m+\"_size\")/20;\n",
  "  return!DIFF&&S.m===\"inuse\"&&large(\"inuse\")&&large(\"peak\")&&\n",
  "    lineSum(f,\"inuse\",\"count\")>=0.9*lineSum(f,\"alloc\",\"count\")"
  ";\n",
  "}\n",
  "/* The middle of the recording, as --from takes it. */\n",
  "function middle(){\n",
  "  const p=T.points,x=p.length\?(p[0][0]+p[p.length-1][0])/2:0;\n",
  "  return!x\?\"TIME\":T.unit!==\"time\"\?String(Math.round(x))\n",
  "    :x>=1e9\?(x/1e9).toFixed(1)+\"s\":Math.ceil(x/1e6)+\"ms\";\n",
  "}\n",
  "function verdict(){\n",
  "  const box=$(\"verdict\"),m=measure(S.m),is=byFrame(key()),all=sumOf("
  "key());\n",
  "  const was=DIFF\?byFrame(key(),1):null,fs=[],ol=el(\"ol\",{});\n",
  "  const size=f=>DIFF\?Math.abs(is[f]-was[f]):is[f];\n",
  "  for(let f=0;f<FN;f++)if(size(f)>0)fs.push(f);\n",
  "  fs.sort((a,b)=>size(b)-size(a));\n",
  "  box.textContent=\"\";\n",
  "  box.append(el(\"h2\",{},DIFF\?\"Changed most: \"+m.t.toLowerCase()\n",
  "    :m.t+\": lines with most\"));\n",
  "  for(const f of fs.slice(0,4))\n",
  "    ol.append(el(\"li\",{},el(\"div\",{},named({cls:\"lnk\",\n",
  "      on:{click:()=>goTo(f)}},full[f]),suspect(f)\?el(\"span\",{cls:\""
  "pill\",\n",
  "      title:\"at least 5 % of what is in use and of the peak, 90 % kep"
  "t\"},\n",
  "      \"suspect\"):null,el(\"b\",{},DIFF\?signed(is[f]-was[f],S.unit)\n",
  "      :amount(is[f],S.unit)),el(\"span\",{},DIFF\?\"\":pct(is[f],all))"
  "),\n",
  "      el(\"p\",{},fate(f))));\n",
  "  box.append(ol);\n",
  "  if(!fs.length)box.append(el(\"p\",{},DIFF\?\"No difference.\":\"Noth"
  "ing.\"));\n",
  "  if(!DIFF&&(S.m===\"inuse\"||S.m===\"peak\"))rule(box);\n",
  "}\n",
  "function rule(box){\n",
  "  box.append(el(\"p\",{},\"A leak is large in Still in use and in Peak"
  ", with \"+\n",
  "    \"Kept near 100 %. Large in one of them only: garbage not yet \"+\n",
  "    \"collected, or given back in time.\"),\n",
  "    el(\"details\",{},el(\"summary\",{},\"A leak, or data that is need"
  "ed\?\"),\n",
  "    el(\"p\",{},\"What is loaded once and used for good looks alike; a"
  " leak \"+\n",
  "    \"grows. Of a line the recording has what it held at the peak and "
  "at the \"+\n",
  "    \"end, not the course in between: more at the end than at an earli"
  "er \"+\n",
  "    \"peak is growth. To be sure read the second half alone, \",\n",
  "    el(\"code\",{},\"ljparse --format=html --from=\"+middle()+\" FILE"
  "\"),\n",
  "    \": what is in use there was allocated after that. Or record a lon"
  "ger \"+\n",
  "    \"run and compare, \",el(\"code\",{},\"--diff OLD\"),\". No report"
  " here says \"+\n",
  "    \"what keeps a block alive: see where the line's result is stored."
  "\")));\n",
  "}\n",
  "function boxAt(e){\n",
  "  const r=cv.getBoundingClientRect(),x=e.clientX-r.left;\n",
  "  const row=rows[Math.floor((e.clientY-r.top)/ROW)]||[];\n",
  "  let a=0,b=row.length;\n",
  "  while(a<b){const m=(a+b)>>1;if(row[m].x<=x)a=m+1;else b=m;}\n",
  "  return a&&x<row[a-1].x+row[a-1].w\?row[a-1]:null;\n",
  "}\n",
  "function tip(e,lines){\n",
  "  const t=$(\"tip\");\n",
  "  t.textContent=\"\";\n",
  "  if(!lines){t.hidden=true;return;}\n",
  "  t.append(el(\"b\",{},lines[0]));\n",
  "  for(const l of lines.slice(1))t.append(el(\"span\",{},l),el(\"br\",{"
  "}));\n",
  "  t.hidden=false;\n",
  "  const w=t.offsetWidth,h=t.offsetHeight;\n",
  "  t.style.left=Math.max(6,Math.min(e.clientX+14,innerWidth-w-8))+\"px"
  "\";\n",
  "  t.style.top=(e.clientY+h+24>innerHeight\?e.clientY-h-12\n",
  "    :e.clientY+18)+\"px\";\n",
  "}\n",
  "cv.addEventListener(\"pointermove\",e=>{\n",
  "  if(e.pointerType===\"touch\")return;\n",
  "  const b=boxAt(e),v=view(),n=b\?b.n:-1;\n",
  "  cv.style.cursor=b\?\"pointer\":\"\";\n",
  "  if(n!==hover){hover=n;draw();}\n",
  "  if(!b)return tip(e,null);\n",
  "  const f=v.frame(n),x=v.nums(n,key()),l=[f<0\?\"All\":full[f]];\n",
  "  l.push(amount(x[1],S.unit)+\" \\u00b7 \"+pct(v.val(n),v.val(0))+\n",
  "    (zoom\?\" \\u00b7 \"+pct(v.val(n),v.val(zoom))+\" of the zoomed\":"
  "\"\"));\n",
  "  if(DIFF){\n",
  "    const o=v.nums(n,key(),1)[1];\n",
  "    l.push(signed(x[1]-o,S.unit)+\" against \"+amount(o,S.unit));\n",
  "  }else if(!v.inv&&x[0]!==x[1])\n",
  "    l.push(amount(x[0],S.unit)+\" by this line itself\");\n",
  "  tip(e,l);\n",
  "});\n",
  "cv.addEventListener(\"pointerleave\",e=>{hover=-1;draw();tip(e,null);}"
  ");\n",
  "for(const t of[\"focus\",\"blur\"])cv.addEventListener(t,()=>{\n",
  "  focused=cv.matches(\":focus-visible\");draw();});\n",
  "cv.addEventListener(\"click\",e=>{\n",
  "  const b=boxAt(e);\n",
  "  if(!b)return;\n",
  "  const touch=e.pointerType===\"touch\";\n",
  "  tip(e,null);\n",
  "  if(touch&&b.n!==sel){sel=b.n;draw();detail();}\n",
  "  else zoomTo(b.n===zoom&&zoom\?view().par(zoom):b.n);\n",
  "});\n",
  "cv.addEventListener(\"keydown\",e=>{\n",
  "  const v=view();\n",
  "  let n=sel;\n",
  "  if(e.ctrlKey||e.altKey||e.metaKey)return;\n",
  "  if(e.key===\"ArrowUp\")n=v.par(sel);\n",
  "  else if(e.key===\"ArrowDown\"){\n",
  "    const k=v.kids(sel)[0];\n",
  "    if(k!==undefined&&rows.some(r=>r.some(b=>b.n===k)))n=k;\n",
  "  }else if(e.key===\"ArrowLeft\"||e.key===\"ArrowRight\"){\n",
  "    const row=rows.find(r=>r.some(b=>b.n===sel))||rows[0];\n",
  "    const i=row.findIndex(b=>b.n===sel)+(e.key===\"ArrowLeft\"\?-1:1);"
  "\n",
  "    if(row[i])n=row[i].n;\n",
  "  }else if(e.key===\"Enter\"||e.key===\" \")return e.preventDefault(),"
  "zoomTo(sel);\n",
  "  else if(e.key===\"Backspace\")return e.preventDefault(),zoomTo(v.par"
  "(zoom));\n",
  "  else if(e.key===\"Home\")return e.preventDefault(),zoomTo(0);\n",
  "  else return;\n",
  "  e.preventDefault();\n",
  "  sel=n;hover=lone=-1;draw();detail();\n",
  "  const d=rows.findIndex(r=>r.some(b=>b.n===sel)),box=cv.parentElement"
  ";\n",
  "  if(d*ROW<box.scrollTop)box.scrollTop=d*ROW;\n",
  "  else if((d+2)*ROW>box.scrollTop+box.clientHeight)\n",
  "    box.scrollTop=(d+2)*ROW-box.clientHeight;\n",
  "});\n",
  "\n",
  "/* -- Tables ---------------------------------------------------------"
  "----- */\n",
  "/* Self numbers by frame: what each line allocated itself. */\n",
  "const lines={};\n",
  "function byFrame(k,old){\n",
  "  const id=k+(old\?\"'\":\"\");\n",
  "  if(!lines[id]){\n",
  "    /* From before small paths were folded, so these are exact. */\n",
  "    const s=lines[id]=new Float64Array(FN),\n",
  "      c=(old\?D.old_lines:D.lines)[k]||[];\n",
  "    for(let i=0;i<c.length;i++)s[i]=c[i];\n",
  "  }\n",
  "  return lines[id];\n",
  "}\n",
  "function columns(){\n",
  "  const c=(k,t)=>({t,unit:k.split(\"_\")[1],get:r=>r.v(k),k,\n",
  "    d:measure(k.split(\"_\")[0]).d});\n",
  "  if(!DIFF){\n",
  "    /* The measure shown comes first: a narrow screen shows it at once"
  ". */\n",
  "    const all={alloc:[c(\"alloc_size\",\"Allocated\"),\n",
  "      c(\"alloc_count\",\"Allocations\")],\n",
  "    inuse:[c(\"inuse_size\",\"In use\"),c(\"inuse_count\",\"Blocks\")]"
  ",\n",
  "    peak:[c(\"peak_size\",\"Peak\"),c(\"peak_count\",\"Peak blocks\")]"
  ",\n",
  "    temp:[c(\"temp_size\",\"Temporary\"),c(\"temp_count\",\"Temp. coun"
  "t\")]};\n",
  "    /* What is kept of what was made: a leak stands out by it. */\n",
  "    const kept={t:\"Kept (blocks)\",unit:\"share\",k:\"kept\",d:KEPT,g"
  "et:r=>r.v(\"alloc_count\")\?\n",
  "      100*r.v(\"inuse_count\")/r.v(\"alloc_count\"):0};\n",
  "    all.inuse.push(kept);\n",
  "    return all[S.m].concat(...Object.keys(all).filter(m=>m!==S.m).map("
  "m=>\n",
  "      all[m]),[{t:\"Average\",unit:\"size\",k:\"avg\",\n",
  "      d:word(\"Average\"),get:r=>r.v(\"alloc_count\")\?\n",
  "      r.v(\"alloc_size\")/r.v(\"alloc_count\"):0}]);\n",
  "  }\n",
  "  const k=key(),u=S.unit;\n",
  "  return[{t:\"Change\",k:\"delta\",unit:u,get:r=>r.v(k)-r.v(k,1),sign:"
  "true},\n",
  "    {t:\"Old\",k:\"old\",unit:u,get:r=>r.v(k,1)},\n",
  "    {t:\"New\",k:\"new\",unit:u,get:r=>r.v(k)}];\n",
  "}\n",
  "/* The column sorted by: the one chosen, else the measure shown. */\n",
  "function sorter(cs){\n",
  "  return cs.find(c=>c.k===S.sort)||cs.find(c=>c.k===key())||\n",
  "    cs.find(c=>c.k===S.m+\"_size\")||cs[0];\n",
  "}\n",
  "function order(c){\n",
  "  const g=DIFF&&c.sign\?r=>Math.abs(c.get(r)):c.get;\n",
  "  return S.desc\?(a,b)=>g(b)-g(a):(a,b)=>g(a)-g(b);\n",
  "}\n",
  "function head(cs,first,again){\n",
  "  const tr=el(\"tr\",{},el(\"th\",{scope:\"col\"},first)),by=sorter(cs"
  ");\n",
  "  for(const c of cs){\n",
  "    const on=c===by;\n",
  "    tr.append(el(\"th\",{scope:\"col\",\"aria-sort\":on\?\n",
  "      (S.desc\?\"descending\":\"ascending\"):null},\n",
  "      el(\"button\",{title:c.d||null,on:{click:()=>{\n",
  "        S.desc=on\?!S.desc:true;S.sort=c.k;again(c.t);}}},\n",
  "        c.t+(on\?(S.desc\?\" \\u2193\":\" \\u2191\"):\"\"))));\n",
  "  }\n",
  "  return el(\"thead\",{},tr);\n",
  "}\n",
  "function valueCells(tr,cs,r,max){\n",
  "  const by=sorter(cs);\n",
  "  for(const c of cs){\n",
  "    const x=c.get(r),td=el(\"td\",{cls:x===0\?\"zero\":c.sign\?\n",
  "      (x>0\?\"up\":\"down\"):\"\"},c.sign\?signed(x,c.unit):amount(x,c"
  ".unit));\n",
  "    if(c===by&&max>0){\n",
  "      const b=el(\"span\",{cls:\"sh\"});\n",
  "      b.style.width=(100*Math.abs(x)/max)+\"%\";\n",
  "      b.style.marginLeft=\"auto\";\n",
  "      if(c.sign)b.style.background=\"currentColor\";\n",
  "      td.append(b);\n",
  "    }\n",
  "    tr.append(td);\n",
  "  }\n",
  "  return tr;\n",
  "}\n",
  "/* A text with the searched part marked. */\n",
  "function marked(tag,props,s){\n",
  "  const e=el(tag,props),q=S.q.trim().toLowerCase();\n",
  "  const i=q\?s.toLowerCase().indexOf(q):-1;\n",
  "  if(i<0)e.append(s);\n",
  "  else e.append(s.slice(0,i),el(\"span\",{cls:\"hit\"},s.slice(i,i+q.l"
  "ength)),\n",
  "    s.slice(i+q.length));\n",
  "  return e;\n",
  "}\n",
  "/* A file name with its directory apart: a narrow screen puts it below"
  ". */\n",
  "function named(props,s){\n",
  "  const i=s.indexOf(\" \")<0\?s.lastIndexOf(\"/\")+1:0;\n",
  "  if(!i)return marked(\"button\",props,s);\n",
  "  return el(\"button\",props,marked(\"span\",{cls:\"dir\"},s.slice(0,i"
  ")),\n",
  "    marked(\"span\",{},s.slice(i)));\n",
  "}\n",
  "/* The scrolled place that holds a table, refilled in place. */\n",
  "function refill(box,table,focus){\n",
  "  let s=box.querySelector(\".scroll\");\n",
  "  if(!s)box.append(s=el(\"div\",{cls:\"scroll\",tabindex:\"0\",role:\""
  "region\",\n",
  "    \"aria-label\":\"Table\"}));\n",
  "  s.textContent=\"\";s.append(table);\n",
  "  let hint=box.querySelector(\".side\");\n",
  "  if(!hint)s.before(hint=el(\"p\",{cls:\"side\"},\"The table goes on t"
  "o the \"+\n",
  "    \"right: scroll it sideways. \\u2192\"));\n",
  "  hint.hidden=s.scrollWidth<=s.clientWidth;\n",
  "  if(focus)for(const b of s.querySelectorAll(\"thead button\"))\n",
  "    if(b.textContent.startsWith(focus))b.focus();\n",
  "  return s;\n",
  "}\n",
  "/* A row of which all may be clicked; the button in it is for the keyb"
  "oard. */\n",
  "function clickable(act,...name){\n",
  "  return el(\"tr\",{cls:\"go\",on:{click:e=>{\n",
  "    if(e.target.closest(\"button\")||!String(getSelection()))act();}}}"
  ",el(\"td\",{},...name));\n",
  "}\n",
  "let shown=200;\n",
  "function sites(focus){\n",
  "  const cs=columns(),all=[];\n",
  "  for(let f=0;f<FN;f++){\n",
  "    if(found&&!found[f])continue;\n",
  "    const r={f,v:(k,old)=>byFrame(k,old)[f]};\n",
  "    if(cs.some(c=>c.get(r)!==0))all.push(r);\n",
  "  }\n",
  "  const by=sorter(cs);\n",
  "  all.sort(order(by));\n",
  "  const max=all.reduce((m,r)=>Math.max(m,Math.abs(by.get(r))),0);\n",
  "  const tb=el(\"tbody\",{});\n",
  "  for(const r of all.slice(0,shown))\n",
  "    tb.append(valueCells(clickable(()=>goTo(r.f),named({cls:\"lnk\",\n",
  "      title:\"who calls this line\"},full[r.f])),cs,r,max));\n",
  "  const s=refill($(\"p-sites\"),el(\"table\",{},el(\"caption\",{cls:\""
  "vh\"},\n",
  "    \"Allocating lines\"),head(cs,num(all.length)+\n",
  "    (all.length===1\?\" allocating line\":\" allocating lines\"),sites"
  "),tb),focus);\n",
  "  if(all.length>shown)s.append(el(\"div\",{cls:\"more\"},el(\"button\""
  ",{on:{\n",
  "    click:()=>{shown*=5;sites();}}},\"Show more\")));\n",
  "  if(!all.length)s.append(el(\"div\",{cls:\"empty\"},\"No line matches"
  ".\"));\n",
  "}\n",
  "/* In the inverted view a line has one box, also without call stacks, "
  "where\n",
  "** it may stand below several traces' starts. */\n",
  "function goTo(f){\n",
  "  S.tab=\"inv\";\n",
  "  const v=view(),n=v.kids(0).find(x=>v.frame(x)===f);\n",
  "  zoomPath=n\?[f]:[];sel=n||0;lone=n\?-1:f;\n",
  "  refresh();\n",
  "  cv.focus();\n",
  "}\n",
  "/* Directories, files and lines as one tree. \"thru\" adds what was al"
  "located\n",
  "** by others while a line of that place was on the stack. */\n",
  "let tree=null;\n",
  "function placeOf(f){\n",
  "  const k=fk(f);\n",
  "  if(k===1)return[\"C functions\"].concat(ffile(f)\?[ffile(f)]:[]);\n",
  "  if(k===2)return[\"LuaJIT itself\"];\n",
  "  if(k===3)return[\"JIT code\"];\n",
  "  if(k===4)return[\"built-in functions\"];\n",
  "  if(k>4)return[\"not recorded\"];\n",
  "  const parts=ffile(f).split(\"/\");\n",
  "  if(parts[0]===\"\"&&parts.length>1)parts.splice(0,2,\"/\"+parts[1]);"
  "\n",
  "  return parts;\n",
  "}\n",
  "function fileTree(){\n",
  "  if(tree)return tree;\n",
  "  tree={name:\"\",sub:new Map(),fs:[],open:true,id:0,up:null};\n",
  "  const all=[tree],of=[];\n",
  "  for(let f=0;f<FN;f++){\n",
  "    let t=tree;const chain=of[f]=[];\n",
  "    if(fk(f)===PRUNED)continue;\n",
  "    for(const p of placeOf(f)){\n",
  "      const is=(fk(f)\?\"\\n\":\"\")+p; /* A folder may have such a na"
  "me. */\n",
  "      let c=t.sub.get(is);\n",
  "      if(!c){\n",
  "        c={name:p,sub:new Map(),fs:[],open:false,id:all.length,up:t,\n",
  "          group:t===tree&&fk(f)>0};\n",
  "        t.sub.set(is,c);all.push(c);\n",
  "      }\n",
  "      t=c;chain.push(c.id);\n",
  "    }\n",
  "    t.fs.push(f);\n",
  "  }\n",
  "  tree.all=all;tree.of=of;\n",
  "  unfold(all);\n",
  "  return tree;\n",
  "}\n",
  "/* At first the table shows a handful of rows: the largest folder is o"
  "pened\n",
  "** again and again. */\n",
  "function unfold(all){\n",
  "  const sum=byPlaceOf(all,\"alloc_size\");\n",
  "  let rows=tree.sub.size;\n",
  "  for(;;){\n",
  "    const t=all.filter(x=>x.up&&x.up.open&&!x.open&&x.sub.size)\n",
  "      .sort((a,b)=>sum[b.id]-sum[a.id])[0];\n",
  "    if(!t||t.sub.size>1&&rows+t.sub.size>16)return;\n",
  "    t.open=true;\n",
  "    rows+=t.sub.size===1\?0:t.sub.size;\n",
  "  }\n",
  "}\n",
  "/* Chains of directories with one entry are shown as one row; of a lib"
  "rary\n",
  "** the name without its directories. */\n",
  "function squeeze(t){\n",
  "  const part=x=>x.up.group\?base(x.name):x.name;\n",
  "  let n=part(t);\n",
  "  while(t.sub.size===1&&!t.fs.length){\n",
  "    t=t.sub.values().next().value;n+=(t.up.group\?\" in \":\"/\")+part"
  "(t);\n",
  "  }\n",
  "  return[t,n];\n",
  "}\n",
  "const places={};\n",
  "function byPlace(k,old){\n",
  "  const id=k+(old\?\"'\":\"\");\n",
  "  if(places[id])return places[id];\n",
  "  return places[id]=byPlaceOf(fileTree().all,k,old);\n",
  "}\n",
  "function byPlaceOf(all,k,old){\n",
  "  const s=new Float64Array(all.length),b=byFrame(k,old);\n",
  "  for(let f=0;f<FN;f++)for(const p of tree.of[f])s[p]+=b[f];\n",
  "  return s;\n",
  "}\n",
  "/* Sums of what passes through each of `count` things; of(f): those th"
  "at a\n",
  "** frame belongs to. A thing that is on a stack twice counts once. */\n",
  "function passing(k,count,of){\n",
  "  const s=new Float64Array(count),all=total(col(k));\n",
  "  const on=new Int32Array(count),path=[];\n",
  "  for(let i=1;i<N;i++){\n",
  "    while(path.length&&path[path.length-1]!==par[i])\n",
  "      for(const p of of(frm[path.pop()]))on[p]--;\n",
  "    for(const p of of(frm[i]))if(on[p]++===0)s[p]+=all[i];\n",
  "    path.push(i);\n",
  "  }\n",
  "  return s;\n",
  "}\n",
  "/* \"with callees\", never less than what is known to be a place's own"
  ": small\n",
  "** paths are folded, sums of lines are not. */\n",
  "function through(k){\n",
  "  const id=k+\" thru\",t=fileTree();\n",
  "  if(!places[id]){\n",
  "    const own=byPlace(k),mine=byFrame(k);\n",
  "    places[id]={place:passing(k,t.all.length,f=>t.of[f])\n",
  "        .map((x,i)=>Math.max(x,own[i])),\n",
  "      line:passing(k,FN,f=>t.of[f].length\?[f]:[])\n",
  "        .map((x,f)=>Math.max(x,mine[f]))};\n",
  "  }\n",
  "  return places[id];\n",
  "}\n",
  "function files(focus){\n",
  "  const t=fileTree(),cs=columns(),k=key();\n",
  "  if(D.stacks)cs.splice(DIFF\?3:2,0,{t:\"with callees\",\n",
  "    k:\"thru\",unit:S.unit,d:THRU,get:r=>r.thru(k)});\n",
  "  const by=sorter(cs),tb=el(\"tbody\",{}),cmp=order(by);\n",
  "  const rowOf=(x,f)=>x\?{x,v:(m,o)=>byPlace(m,o)[x.id],\n",
  "    thru:m=>through(m).place[x.id]}\n",
  "    :{f,v:(m,o)=>byFrame(m,o)[f],thru:m=>through(m).line[f]};\n",
  "  const kids=x=>[...x.sub.values()].map(c=>rowOf(c)).concat(\n",
  "    x.fs.map(f=>rowOf(null,f))).filter(r=>\n",
  "    cs.some(c=>c.get(r)!==0)).sort(cmp);\n",
  "  const top=kids(t),max=top.reduce((m,r)=>\n",
  "    Math.max(m,Math.abs(by.get(r))),0);\n",
  "  const todo=top.map(r=>({r,d:0})).reverse();\n",
  "  while(todo.length){\n",
  "    const{r,d}=todo.pop();\n",
  "    let name,row,act,open=null;\n",
  "    if(r.x){\n",
  "      const[x,n]=squeeze(r.x);\n",
  "      open=x.open;\n",
  "      act=()=>{x.open=!x.open;files();\n",
  "        const b=$(\"p-files\").querySelectorAll(\"tbody button\");\n",
  "        for(const e of b)if(e.dataset.id===String(x.id))e.focus();};\n",
  "      name=marked(\"button\",{cls:\"lnk\",\"aria-expanded\":String(ope"
  "n),\n",
  "        title:vis(x.name)},vis(n)+(x.sub.size&&!x.group\?\"/\":\"\"));"
  "\n",
  "      name.dataset.id=x.id;\n",
  "      if(open)for(const c of kids(x).reverse())todo.push({r:c,d:d+1});"
  "\n",
  "    }else{\n",
  "      act=()=>goTo(r.f);\n",
  "      name=marked(\"button\",{cls:\"lnk\",title:\"who calls this line"
  "\"},\n",
  "        fk(r.f)===0\?\"line \"+fline(r.f)+(fname(r.f)\?\" \"+lab[r.f]:"
  "\"\")\n",
  "        :lab[r.f]);\n",
  "    }\n",
  "    row=el(\"div\",{cls:\"row\"},el(\"span\",{cls:\"tog\",\"aria-hidde"
  "n\":\"true\"},\n",
  "      open===null\?\"\":open\?\"\\u25be\":\"\\u25b8\"),name);\n",
  "    row.style.paddingLeft=(d*16)+\"px\";\n",
  "    tb.append(valueCells(clickable(act,row),cs,r,max));\n",
  "  }\n",
  "  refill($(\"p-files\"),el(\"table\",{},el(\"caption\",{cls:\"vh\"},\n",
  "    \"Files and directories\"),head(cs,\"Directory, file, line\",files"
  "),tb),\n",
  "    focus);\n",
  "}\n",
  "function panelAbout(){\n",
  "  const box=$(\"p-about\");\n",
  "  if(box.firstChild)return;\n",
  "  const g=el(\"div\",{cls:\"about\"});\n",
  "  const part=(t,...x)=>g.append(el(\"section\",{},el(\"h3\",{},t),...x"
  "));\n",
  "  const rows=list=>{\n",
  "    const tb=el(\"tbody\",{});\n",
  "    for(const r of list)tb.append(el(\"tr\",{},...r.map((c,i)=>\n",
  "      el(i\?\"td\":\"th\",i\?{cls:/^[\\d.,]+( \\S+)\?( \\([\\d,]+\\))"
  "\?$/.test(c)\?\"n\":\"\"}\n",
  "        :{scope:\"row\",title:word(c)},vis(String(c))))));\n",
  "    return el(\"table\",{},tb);\n",
  "  };\n",
  "  if(D.kinds&&D.kinds.length)part(\"What is still in use, by kind\",\n",
  "    rows(D.kinds.slice().sort((a,b)=>b[1]-a[1]).map(k=>\n",
  "      [k[0],bytes(k[1]),many(k[2],\"block\")])));\n",
  "  if(D.lives&&D.lives.length)part(\"How long freed blocks lived\",\n",
  "    rows(D.lives.map(k=>[k[0],many(k[2],\"block\"),bytes(k[1])])),\n",
  "    el(\"p\",{},\"Counted in bytes allocated by others meanwhile.\"));"
  "\n",
  "  part(\"Recording\",rows(D.facts.map(f=>[f[0],fact(f)])));\n",
  "  if(D.totals.length)part(\"Totals\",rows(D.totals.map(r=>\n",
  "    [r[0],r[2]===\"size\"\?bytes(r[1])+\" (\"+num(r[1])+\")\":num(r[1]"
  ")])));\n",
  "  const ul=el(\"ul\",{});\n",
  "  for(const n of D.notes)ul.append(el(\"li\",{},vis(n)));\n",
  "  if(D.notes.length)part(\"Remarks\",ul);\n",
  "  part(\"What the words mean\",rows(WORDS),el(\"p\",{},\"A line is cha"
  "rged with \"+\n",
  "    \"what it allocates itself; boxes of the flame graph are as wide a"
  "s all \"+\n",
  "    \"that was allocated below them. Machine code, memory from other "
  "\"+\n",
  "    \"allocators (malloc in C libraries) and the allocator's own slack"
  " are \"+\n",
  "    \"not part of any number here.\"));\n",
  "  box.append(g);\n",
  "}\n",
  "\n",
  "/* -- Timeline -------------------------------------------------------"
  "----- */\n",
  "const T=D.timeline||{points:[],marks:[]};\n",
  "const SERIES=[{i:1,c:\"live\",t:\"in use (live blocks)\"},\n",
  "  {i:2,c:\"gc\",t:\"GC total\",look:\"dots\"},{i:3,c:\"thr\",t:\"GC th"
  "reshold\",look:\"dash\"},\n",
  "  {i:4,c:\"rss\",t:\"resident set\"}];\n",
  "const when=x=>T.unit===\"time\"\?span(x):\"event \"+num(x);\n",
  "function svg(tag,props,text){\n",
  "  const e=document.createElementNS(\"http://www.w3.org/2000/svg\",tag)"
  ";\n",
  "  for(const k in props)e.setAttribute(k,props[k]);\n",
  "  if(text!==undefined)e.textContent=text;\n",
  "  return e;\n",
  "}\n",
  "function niceStep(max){\n",
  "  let s=1;\n",
  "  while(s*4<max)s*=2;\n",
  "  return s;\n",
  "}\n",
  "/* Round distances: 1, 2 or 5 of a power of ten; above a minute, of mi"
  "nutes\n",
  "** or hours. */\n",
  "function tickStep(range,most){\n",
  "  const min=Math.max(1,range/most);\n",
  "  const steps=T.unit===\"time\"\?[6e10,12e10,3e11,6e11,12e11,18e11,36e"
  "11]:[];\n",
  "  if(T.unit!==\"time\"||min<3e10)\n",
  "    for(let p=1;p<1e18;p*=10)for(const k of[1,2,5])\n",
  "      if(p*k>=min&&(T.unit!==\"time\"||p*k<6e10))return p*k;\n",
  "  for(const s of steps)if(s>=min)return s;\n",
  "  return Math.ceil(min/36e11)*36e11;\n",
  "}\n",
  "/* A tick's text, in the unit of the distance between ticks. */\n",
  "function tickText(x,tick){\n",
  "  if(T.unit!==\"time\")return num(x)+(x===tick\?\" events\":\"\");\n",
  "  if(x===0)return\"0 s\";\n",
  "  if(tick>=6e10)return num(x/6e10)+\" min\";\n",
  "  for(const[u,n]of[[1e9,\"s\"],[1e6,\"ms\"],[1e3,\"\\u00b5s\"]])\n",
  "    if(tick>=u/10)return+(x/u).toFixed(1)+\" \"+n;\n",
  "  return num(x)+\" ns\";\n",
  "}\n",
  "let cursor=-1,plotted=0; /* The height it is drawn for. */\n",
  "function timeline(){\n",
  "  const P=T.points,box=$(\"plot\");\n",
  "  if(P.length<2)return;\n",
  "  $(\"time\").hidden=false;\n",
  "  $(\"first\").classList.add(\"two\");\n",
  "  const w=box.clientWidth||600,h=plotted=box.clientHeight||170,l=66,r="
  "16,t=20,b=22;\n",
  "  const has=SERIES.filter(s=>P.some(p=>p[s.i]>0));\n",
  "  let max=1;\n",
  "  for(const p of P)for(const s of has)max=Math.max(max,p[s.i]||0);\n",
  "  const x0=P[0][0],x1=P[P.length-1][0];\n",
  "  const X=x=>l+(w-l-r)*(x-x0)/Math.max(1,x1-x0);\n",
  "  const step=niceStep(max),top=Math.ceil(max/step)*step;\n",
  "  const Y=y=>h-b-(h-t-b)*y/top;\n",
  "  box.textContent=\"\";\n",
  "  box.setAttribute(\"viewBox\",\"0 0 \"+w+\" \"+h);\n",
  "  for(let y=step;y<=top;y+=step)\n",
  "    box.append(svg(\"line\",{\"class\":\"grid\",x1:l,x2:w-r,y1:Y(y),\n",
  "      y2:Y(y)}),svg(\"text\",{x:l-8,y:Y(y)+4,\n",
  "      \"text-anchor\":\"end\"},bytes(y).replace(/\\.0+ /,\" \")));\n",
  "  box.append(svg(\"line\",{\"class\":\"grid\",x1:l,x2:w-r,y1:Y(0),y2:Y"
  "(0)}),\n",
  "    svg(\"text\",{x:l-8,y:Y(0)+4,\"text-anchor\":\"end\"},\"0\"));\n",
  "  const tick=tickStep(x1-x0,w>500\?8:4);\n",
  "  for(let x=Math.ceil(x0/tick)*tick;x<=x1;x+=tick){\n",
  "    const far=X(x)>w-r-30;\n",
  "    box.append(svg(\"line\",{\"class\":\"grid\",x1:X(x),x2:X(x),y1:Y(0"
  "),\n",
  "      y2:Y(0)+4}),svg(\"text\",{\"class\":\"tick\",x:far\?w-r:X(x),y:h"
  "-5,\n",
  "      \"text-anchor\":far\?\"end\":\"middle\"},tickText(x,tick)));\n",
  "  }\n",
  "  for(const s of SERIES.slice().reverse().filter(s=>has.includes(s))\n",
  "    .sort((a,b)=>(a.look===\"dots\")-(b.look===\"dots\"))){\n",
  "    let d=\"\";\n",
  "    const on=P.filter(p=>p[s.i]!==null&&p[s.i]!==undefined);\n",
  "    if(s.i===1&&T.peak){ /* Seldom at one of the points. */\n",
  "      const i=on.findIndex(p=>p[0]>=T.peak[0]);\n",
  "      on.splice(i<0\?on.length:i,0,T.peak);\n",
  "    }\n",
  "    on.forEach((p,i)=>{d+=(i\?\"L\":\"M\")+X(p[0]).toFixed(1)+\" \"+\n",
  "      Y(p[s.i]).toFixed(1);});\n",
  "    if(s.i===1)box.append(svg(\"path\",{\"class\":\"area\",d:d+\"L\"+\n",
  "      X(on[on.length-1][0]).toFixed(1)+\" \"+Y(0)+\"L\"+X(on[0][0]).to"
  "Fixed(1)+\n",
  "      \" \"+Y(0)+\"Z\"}));\n",
  "    box.append(svg(\"path\",{\"class\":\"k-\"+s.c+\" \"+(s.look||\"\")"
  ",d}));\n",
  "  }\n",
  "  let used=0; /* By labels of marks, which may not overlap. */\n",
  "  T.marks.forEach(m=>{\n",
  "    if(!m[1])return;\n",
  "    const x=X(m[0]),line=svg(\"line\",{\"class\":\"mark\",x1:x,x2:x,y1"
  ":t-6,\n",
  "      y2:Y(0)}),text=svg(\"text\",{\"class\":\"label\",y:t-6},vis(m[1]"
  ").slice(0,40));\n",
  "    line.append(svg(\"title\",{},vis(m[1])));\n",
  "    box.append(line,text);\n",
  "    const long=text.getComputedTextLength(),left=x+3+long>w\?x-3-long:"
  "x+3;\n",
  "    if(left<used)text.remove();\n",
  "    else{text.setAttribute(\"x\",left);used=left+long+6;}\n",
  "  });\n",
  "  if(T.peak){\n",
  "    const x=X(T.peak[0]),right=x>w/2;\n",
  "    box.append(svg(\"circle\",{cx:x,cy:Y(T.peak[1]),r:4}),\n",
  "      svg(\"text\",{\"class\":\"peak\",x:x+(right\?-8:8),y:Y(T.peak[1]"
  ")-6,\n",
  "        \"text-anchor\":right\?\"end\":\"start\"},\"peak \"+bytes(T.pe"
  "ak[1])));\n",
  "  }\n",
  "  const c=svg(\"line\",{\"class\":\"cross\",y1:t-6,y2:Y(0),visibility:"
  "\"hidden\"});\n",
  "  box.append(c);\n",
  "  const read=i=>{\n",
  "    cursor=i;\n",
  "    const out=$(\"tread\");\n",
  "    out.textContent=\"\";\n",
  "    if(i<0){\n",
  "      c.setAttribute(\"visibility\",\"hidden\");\n",
  "      if(T.peak)out.textContent=\"peak \"+bytes(T.peak[1])+\" at \"+\n",
  "        when(T.peak[0]);\n",
  "      return;\n",
  "    }\n",
  "    const p=P[i];\n",
  "    c.setAttribute(\"x1\",X(p[0]));c.setAttribute(\"x2\",X(p[0]));\n",
  "    c.setAttribute(\"visibility\",\"visible\");\n",
  "    out.textContent=when(p[0])+\": \"+has.filter(s=>p[s.i]).map(s=>\n",
  "      s.t+\" \"+bytes(p[s.i])).join(\", \");\n",
  "  };\n",
  "  box.onpointermove=e=>{\n",
  "    const x=(e.clientX-box.getBoundingClientRect().left)*w/\n",
  "      Math.max(1,box.clientWidth);\n",
  "    let best=0;\n",
  "    P.forEach((p,i)=>{\n",
  "      if(Math.abs(X(p[0])-x)<Math.abs(X(P[best][0])-x))best=i;});\n",
  "    read(best);\n",
  "  };\n",
  "  box.onpointerleave=box.onblur=()=>read(-1);\n",
  "  box.onkeydown=e=>{\n",
  "    if(e.key!==\"ArrowLeft\"&&e.key!==\"ArrowRight\")return;\n",
  "    e.preventDefault();\n",
  "    read(Math.max(0,Math.min(P.length-1,\n",
  "      (cursor<0\?0:cursor)+(e.key===\"ArrowLeft\"\?-1:1))));\n",
  "  };\n",
  "  const cap=$(\"tcap\");\n",
  "  cap.textContent=\"\";\n",
  "  cap.append(el(\"h2\",{},\"Timeline\"));\n",
  "  for(const s of has)cap.append(el(\"span\",{cls:\"key k-\"+s.c},el(\""
  "i\",{}),\n",
  "    el(\"span\",{},s.t)));\n",
  "  cap.append(el(\"output\",{id:\"tread\"}));\n",
  "  box.setAttribute(\"aria-label\",\"Live bytes over the run\"+(T.peak"
  "\?\n",
  "    \", peak \"+bytes(T.peak[1])+\" at \"+when(T.peak[0]):\"\")+\n",
  "    \". Arrow keys read values.\");\n",
  "  read(-1);\n",
  "}\n",
  "\n",
  "/* -- Page -----------------------------------------------------------"
  "----- */\n",
  "/* Arrow keys move inside a group of which one button is in the tab or"
  "der. */\n",
  "function rove(box,pick){\n",
  "  box.addEventListener(\"keydown\",e=>{\n",
  "    const d={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[e.key];"
  "\n",
  "    const b=[...box.children],i=b.indexOf(document.activeElement);\n",
  "    if(!d||i<0)return;\n",
  "    e.preventDefault();\n",
  "    const n=b[(i+d+b.length)%b.length];\n",
  "    pick(n.dataset.k);\n",
  "    const again=[...box.children].find(x=>x.dataset.k===n.dataset.k);\n",
  "    again.focus();\n",
  "  });\n",
  "}\n",
  "function choice(role,k,on,props,...kids){\n",
  "  const b=el(\"button\",Object.assign({role,tabindex:on\?\"0\":\"-1\"}"
  ",props),\n",
  "    ...kids);\n",
  "  b.setAttribute(role===\"tab\"\?\"aria-selected\":\"aria-checked\",St"
  "ring(on));\n",
  "  b.dataset.k=k;\n",
  "  return b;\n",
  "}\n",
  "function setMeasure(k){S.m=k;afresh();}\n",
  "function setUnit(u){S.unit=u;afresh();}\n",
  "function afresh(){S.sort=null;S.desc=true;sel=0;lone=-1;refresh();}\n",
  "function setTab(t){\n",
  "  const flip=(S.tab===\"inv\")!==(t===\"inv\")&&(t===\"inv\"||t===\"fl"
  "ame\");\n",
  "  S.tab=t;\n",
  "  if(flip){zoomPath=[];}\n",
  "  sel=0;lone=-1;\n",
  "  refresh();\n",
  "}\n",
  "function tiles(){\n",
  "  const box=$(\"tiles\"),had=box.contains(document.activeElement);\n",
  "  box.textContent=\"\";\n",
  "  for(const m of MEASURES){\n",
  "    const v=sumOf(m.k+\"_\"+S.unit),o=DIFF\?sumOf(m.k+\"_\"+S.unit,1):"
  "0;\n",
  "    const other=S.unit===\"size\"\?\"count\":\"size\",w=sumOf(m.k+\"_"
  "\"+other);\n",
  "    const all=sumOf(\"alloc_\"+S.unit),p=amount(v,S.unit).split(\" \")"
  ";\n",
  "    let sub=S.unit===\"size\"\?many(w,m.of):bytes(w),of=\"\";\n",
  "    if(DIFF)sub=v===o\?\"as before\":signed(v-o,S.unit)+\" (\"+\n",
  "      (o\?(v>o\?\"+\":\"\\u2212\")+pct(Math.abs(v-o),o):\"none before"
  "\")+\")\";\n",
  "    else if(m.k!==\"alloc\"){sub+=\" \\u00b7 \"+pct(v,all);of=\" of al"
  "located\";}\n",
  "    box.append(choice(\"radio\",m.k,S.m===m.k,{cls:\"tile\",\n",
  "      title:m.d,on:{\n",
  "      click:()=>setMeasure(m.k)}},el(\"span\",{cls:\"tl\"},m.t),\n",
  "      el(\"span\",{cls:\"tv\"},p[0],p[1]\?el(\"small\",{},p[1]):null),"
  "\n",
  "      el(\"span\",{cls:\"ts\"+(DIFF&&v!==o\?v>o\?\" up\":\" down\":\""
  "\")},sub,\n",
  "        of\?el(\"span\",{cls:\"of\"},of):null)));\n",
  "  }\n",
  "  if(had)box.querySelector(\"[aria-checked=true]\").focus();\n",
  "}\n",
  "function bar(){\n",
  "  const t=$(\"tabs\"),had=t.contains(document.activeElement);\n",
  "  t.textContent=\"\";\n",
  "  for(const x of TABS)t.append(choice(\"tab\",x.k,S.tab===x.k,{\n",
  "    id:\"t-\"+x.k,\"aria-controls\":\"p-\"+x.p,on:{click:()=>setTab(x."
  "k)}},x.t));\n",
  "  if(had)t.querySelector(\"[aria-selected=true]\").focus();\n",
  "  const u=$(\"unit\"),hadU=u.contains(document.activeElement);\n",
  "  u.textContent=\"\";\n",
  "  for(const[k,n]of[[\"size\",\"Bytes\"],[\"count\",\"Count\"]])\n",
  "    u.append(choice(\"radio\",k,S.unit===k,{on:{click:()=>setUnit(k)}}"
  ",n));\n",
  "  if(hadU)u.querySelector(\"[aria-checked=true]\").focus();\n",
  "}\n",
  "function refresh(){\n",
  "  const on=TABS.find(t=>t.k===S.tab);\n",
  "  tiles();bar();search();keep();verdict();\n",
  "  if(!$(\"time\").hidden&&$(\"plot\").clientHeight!==plotted)timeline("
  ");\n",
  "  for(const p of[\"flame\",\"sites\",\"files\",\"about\"]){\n",
  "    $(\"p-\"+p).hidden=p!==on.p;\n",
  "    if(p===on.p)$(\"p-\"+p).setAttribute(\"aria-labelledby\",\"t-\"+on"
  ".k);\n",
  "  }\n",
  "  if(on.p===\"flame\")flame();\n",
  "  else if(on.p===\"sites\"){shown=200;sites();}\n",
  "  else if(on.p===\"files\")files();\n",
  "  else panelAbout();\n",
  "}\n",
  "function theme(d,store){\n",
  "  dark=d;colours=[];\n",
  "  document.documentElement.dataset.theme=d\?\"dark\":\"light\";\n",
  "  $(\"theme\").setAttribute(\"aria-label\",d\?\"Light colours\":\"Dark"
  " colours\");\n",
  "  try{if(store)localStorage.setItem(\"ljparse-theme\",d\?\"dark\":\"li"
  "ght\");}\n",
  "  catch(e){/* storage may be off */}\n",
  "}\n",
  "function fact(f){\n",
  "  const v=String(f[1]);\n",
  "  return f[0]===\"start\"&&/^\\d{9,10}$/.test(v)\n",
  "    \?new Date(v*1000).toISOString().slice(0,19).replace(\"T\",\" \")+"
  "\" UTC\"\n",
  "    :vis(v);\n",
  "}\n",
  "function start(){\n",
  "  document.title=vis(D.title)+\" \\u2013 memory profile\";\n",
  "  $(\"title\").textContent=(DIFF\?vis(D.old_title)+\" \\u2192 \":\"\")"
  "+vis(D.title);\n",
  "  if(DIFF)$(\"eye\").textContent=\"LuaJIT memory profile, compared\";\n",
  "  const of=k=>{const f=D.facts.find(x=>x[0]===k);return f\?fact(f):\""
  "\";};\n",
  "  const some=(k,before)=>of(k)&&before+of(k);\n",
  "  $(\"sub\").textContent=[(of(\"tree\")+\" \"+of(\"arch\")).trim()||\n",
  "    some(\"format\",\"format \"),some(\"pid\",\"process \"),some(\"sta"
  "rt\",\"started \"),\n",
  "    some(\"run time\",\"ran \"),\n",
  "    of(\"mode\")===\"sample\"&&\"one sample in \"+bytes(+of(\"sample\""
  "))+\" on average\",\n",
  "    of(\"ended\"),of(\"read\")===\"whole\"\?\"\":of(\"read\")]\n",
  "    .filter(t=>t).join(\" \\u00b7 \");\n",
  "  for(const w of D.warnings)$(\"banners\").append(el(\"div\",{cls:\"ba"
  "nner\"},\n",
  "    vis(w)));\n",
  "  $(\"foot\").textContent=\"Written by \"+vis(D.tool)+\n",
  "    \". This file is complete in itself: it loads and sends nothing.\""
  ";\n",
  "  let saved=null;\n",
  "  try{saved=localStorage.getItem(\"ljparse-theme\");}catch(e){saved=nu"
  "ll;}\n",
  "  const mq=matchMedia(\"(prefers-color-scheme: dark)\");\n",
  "  theme(saved\?saved===\"dark\":mq.matches,false);\n",
  "  mq.addEventListener(\"change\",e=>{theme(e.matches,false);refresh();"
  "});\n",
  "  const flip=()=>{theme(!dark,true);refresh();};\n",
  "  $(\"theme\").addEventListener(\"click\",flip);\n",
  "  $(\"help\").addEventListener(\"click\",()=>$(\"keys\").showModal());"
  "\n",
  "  for(const[t,d]of WORDS)$(\"words\").append(el(\"tr\",{},\n",
  "    el(\"th\",{scope:\"row\"},t),el(\"td\",{},d)));\n",
  "  $(\"q\").value=S.q;\n",
  "  $(\"q\").addEventListener(\"input\",()=>{S.q=$(\"q\").value;refresh("
  ");});\n",
  "  $(\"q\").addEventListener(\"keydown\",e=>{\n",
  "    if(e.key===\"Escape\"){$(\"q\").value=S.q=\"\";refresh();$(\"q\")."
  "blur();}});\n",
  "  rove($(\"tiles\"),setMeasure);rove($(\"unit\"),setUnit);rove($(\"tab"
  "s\"),setTab);\n",
  "  const act={\"/\":()=>$(\"q\").focus(),t:flip,\"\?\":()=>$(\"keys\")."
  "showModal(),\n",
  "    b:()=>setUnit(S.unit===\"size\"\?\"count\":\"size\"),f:()=>setTab("
  "\"flame\"),\n",
  "    i:()=>setTab(\"inv\"),s:()=>setTab(\"sites\"),d:()=>setTab(\"files"
  "\"),\n",
  "    a:()=>setTab(\"about\")};\n",
  "  MEASURES.forEach((m,i)=>{act[i+1]=()=>setMeasure(m.k);});\n",
  "  document.addEventListener(\"keydown\",e=>{\n",
  "    if(e.target.tagName===\"INPUT\"||e.ctrlKey||e.altKey||e.metaKey)re"
  "turn;\n",
  "    const f=Object.prototype.hasOwnProperty.call(act,e.key)&&act[e.key"
  "];\n",
  "    if(f&&!$(\"keys\").open){e.preventDefault();f();}\n",
  "  });\n",
  "  let last=0;\n",
  "  addEventListener(\"resize\",()=>{\n",
  "    if(innerWidth===last)return;\n",
  "    last=innerWidth;\n",
  "    timeline();\n",
  "    if(!$(\"p-flame\").hidden)flame();\n",
  "  });\n",
  "  last=innerWidth;\n",
  "  verdict();\n",
  "  timeline();\n",
  "  refresh();\n",
  "}\n",
  "start();\n",
  "})();\n",
  "</script>\n",
  "</body>\n",
  "</html>\n",
};

/* -- End of the HTML page ----------------------------------------------- */

static void ljc_put_lines(ljc_out *out, const char *const *line, size_t count)
{
  size_t i;
  for (i = 0; i < count; i++) ljc_write(out, line[i], strlen(line[i]));
}

static ljp_status ljc_page(ljp_tree *t, ljc_out *out)
{
  ljp_status st;
  ljc_put_lines(out, ljc_page_head,
                sizeof(ljc_page_head) / sizeof(*ljc_page_head));
  st = ljp_tree_model(t, ljc_write, out);
  ljc_put_lines(out, ljc_page_tail,
                sizeof(ljc_page_tail) / sizeof(*ljc_page_tail));
  return st;
}
