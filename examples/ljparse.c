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
#include <unistd.h>
#endif

enum { LJC_GOOD = 0, LJC_FAILED = 1, LJC_DAMAGED = 2 };

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
"                        Tarantool's parser prints, its faults included\n"
"  -o FILE               write the report to FILE instead of the terminal\n"
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
"(what could be read is reported all the same).\n";

typedef struct ljc_args {
  ljp_format format;
  ljp_options options;
  ljp_report_options report;
  const char *output;
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
  {"text", LJP_TEXT}, {"classic", LJP_CLASSIC}, {NULL, 0}
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
    a->format = (ljp_format)n;
  } else if ((value = ljc_value(arg, "--trace-address")) != NULL) {
    n = ljc_lookup(ljc_layouts, value);
    if (n < 0) return ljc_usage("unknown trace layout", value);
    a->options.trace_layout = (ljp_trace_layout)n;
  } else {
    return -1;
  }
  return LJC_GOOD;
}

/* Fills *a; files move to the front of argv. */
static int ljc_parse(ljc_args *a, int argc, char **argv)
{
  int i, plain = 0, st;
  a->file = (const char **)argv;
  for (i = 1; i < argc; i++) {
    const char *arg = argv[i];
    if (plain || arg[0] != '-' || arg[1] == 0) {
      a->file[a->file_count++] = arg;
    } else if (strcmp(arg, "--") == 0) {
      plain = 1;
    } else if (strcmp(arg, "-o") == 0) {
      if (++i == argc) return ljc_usage("-o needs a file", "");
      a->output = argv[i];
    } else {
      st = ljc_option(a, arg);
      if (st < 0) return ljc_usage("unknown option", arg);
      if (st != LJC_GOOD) return st;
    }
  }
  if (a->format == LJP_CLASSIC) a->options.model = LJP_MODEL_CLASSIC;
  return LJC_GOOD;
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

static int ljc_write(void *user, const void *p, size_t n)
{
  return fwrite(p, 1, n, (FILE *)user) == n ? 0 : -1;
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
  if (e->status == LJP_OK) return LJC_GOOD;
  ljc_complain("%s: %s", name, ljp_error_text(e, text, sizeof(text)));
  return e->status == LJP_E_NOMEM ? LJC_FAILED : LJC_DAMAGED;
}

/* Reports one open file. */
static int ljc_report(const ljc_args *a, FILE *f, const char *name, FILE *out)
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
  if (worst == LJC_GOOD) worst = st;
  errno = 0;
  status = ljp_profile_report(prof, a->format, &a->report, ljc_write, out);
  if (status != LJP_OK) {
    ljc_complain("%s: report: %s%s%s", name, ljp_status_text(status),
                 errno ? ": " : "", errno ? strerror(errno) : "");
    worst = LJC_FAILED;
  }
  ljp_profile_free(prof);
  return worst;
}

/* Reports one file by name; - is the standard input. */
static int ljc_file(const ljc_args *a, const char *name, FILE *out)
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
  if (a->file_count > 1) fprintf(out, "==> %s <==\n", name);
  st = ljc_report(a, f, name, out);
  if (f != stdin) fclose(f);
  return st;
}

/* All files; of several failures the lowest code. */
static int ljc_all(const ljc_args *a, FILE *out)
{
  int i, st, worst = LJC_GOOD;
  if (a->file_count == 0) return ljc_file(a, "-", out);
  for (i = 0; i < a->file_count; i++) {
    st = ljc_file(a, a->file[i], out);
    if (st != LJC_GOOD && (worst == LJC_GOOD || st < worst)) worst = st;
  }
  return worst;
}

static int ljc_output(const ljc_args *a)
{
  FILE *out = stdout;
  const char *name = a->output ? a->output : "standard output";
  int st, failed;
  if (a->output && strcmp(a->output, "-") != 0) {
    out = fopen(a->output, "wb");
    if (!out) {
      ljc_complain("%s: cannot open: %s", name, strerror(errno));
      return LJC_FAILED;
    }
  }
  st = ljc_all(a, out);
  errno = 0;
  failed = ferror(out) != 0;
  if (fflush(out) != 0) failed = 1;
  if (out != stdout && fclose(out) != 0) failed = 1;
  if (!failed) return st;
  ljc_complain("%s: cannot write%s%s", name, errno ? ": " : "",
               errno ? strerror(errno) : "");
  return LJC_FAILED;
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
