/* ljrecord - runs an unmodified LuaJIT host on a patched library.
** SPDX-License-Identifier: MIT
**
**   $ ljrecord -o nvim.bin nvim --headless -l script.lua
**   ljrecord: recorded nvim.bin (pid 4711, VM closed)
**   ljrecord: look at it with: ljparse nvim.bin
**
** Which libluajit a host gets is the loader's business: this program asks the
** loader which one it would be, picks the patched library with the same
** functions, and puts its folder first. What to record is told to the library
** by one environment variable, LJMEMPROF (see ljmemprof.h). The library tells
** what it did in a log file, and takes orders through a page of memory. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "ljmemprof.h"

#define SONAME "libluajit-5.1.so.2"
/* Where an installation keeps its patched libraries, one folder a tree. */
#ifndef LJRECORD_LIBDIR
#define LJRECORD_LIBDIR "/usr/local/lib/ljmemprof"
#endif

/* Exit statuses of our own: those of env(1), nohup(1), timeout(1). */
enum { EXIT_OURS = 125, EXIT_NOEXEC = 126, EXIT_NOTFOUND = 127 };

typedef struct options {
  const char *file;    /* -o; "%p" is the process. */
  const char *sample;  /* Mean bytes between samples, as given. */
  const char *library; /* A file, a folder, or the name of a tree. */
  double duration;     /* Seconds; 0: until the end. */
  int stacks, wait;
} options;

/* A program as the loader will see it. */
typedef struct program {
  char *path;   /* What is executed. */
  char *image;  /* The ELF file that runs for it: itself or its interpreter. */
  char *interp; /* The image's loader; NULL: static. */
  char *lib;    /* The libluajit it would get; NULL: none was found. */
  int linked;   /* The image itself needs libluajit. */
  int patched;  /* The image has a patched LuaJIT built in. */
} program;

/* A recording, as the log tells it. */
typedef struct recording {
  long pid;
  unsigned long number; /* In its process, from 1. */
  char *path;
  char *end; /* How it ended; NULL: it did not. */
  int failed; /* It did not start; `end` says why. */
} recording;

typedef struct recordings {
  recording *at;
  size_t count;
} recordings;

/* A sorted set of names. */
typedef struct names {
  char **at;
  size_t count;
} names;

static int ljr_quiet; /* -q was given. */

/* -- Words and memory --------------------------------------------------- */

static void vsay(const char *fmt, va_list ap)
{
  fputs("ljrecord: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
}

/* One line to stderr. */
static void say(const char *fmt, ...)
{
  va_list ap;
  if (ljr_quiet) return;
  va_start(ap, fmt);
  vsay(fmt, ap);
  va_end(ap);
}

/* Says why, and leaves. */
static void fail(int status, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  vsay(fmt, ap);
  va_end(ap);
  exit(status);
}

static void *need(void *p)
{
  if (!p) fail(EXIT_OURS, "out of memory");
  return p;
}

static char *copy(const char *s) { return (char *)need(strdup(s)); }

static char *format(const char *fmt, ...)
{
  va_list ap;
  char *s = NULL;
  va_start(ap, fmt);
  if (vasprintf(&s, fmt, ap) < 0) s = NULL;
  va_end(ap);
  return (char *)need(s);
}

/* Makes room for one more in an array that doubles. */
static void *grow(void *at, size_t count, size_t size)
{
  if (count & (count - 1)) return at;
  return need(realloc(at, (count ? count * 2 : 1) * size));
}

/* The text with everything unprintable as \xNN, for a terminal. */
static char *plain(const char *s)
{
  char *out = (char *)need(malloc(strlen(s) * 4 + 1)), *p = out;
  for (; *s; s++) {
    if ((unsigned char)*s < 32 || *s == 127)
      p += sprintf(p, "\\x%02x", (unsigned)(unsigned char)*s);
    else
      *p++ = *s;
  }
  *p = 0;
  return out;
}

/* A regular file's bytes; NULL (and errno) if it cannot be read. */
static char *slurp(const char *path, size_t *size)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  char *data = NULL;
  ssize_t n = 0;
  *size = 0;
  if (fd < 0) return NULL;
  if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
  } else if (st.st_size < 1L << 30) {
    data = (char *)need(malloc((size_t)st.st_size + 1));
    while (*size < (size_t)st.st_size &&
           (n = pread(fd, data + *size, (size_t)st.st_size - *size,
                      (off_t)*size)) > 0)
      *size += (size_t)n;
    data[*size] = 0;
  } else {
    errno = EFBIG;
  }
  close(fd);
  return data;
}

/* -- The program --------------------------------------------------------- */

/* Finds `name` as execvp does. NULL: not there. */
static char *find_program(const char *name)
{
  const char *p = getenv("PATH"), *end;
  if (strchr(name, '/')) return access(name, F_OK) ? NULL : copy(name);
  for (p = p ? p : "/usr/local/bin:/bin:/usr/bin"; ; p = end + 1) {
    char *full;
    end = strchrnul(p, ':');
    full = format("%.*s%s%s", (int)(end - p), p, end > p ? "/" : "./", name);
    if (access(full, X_OK) == 0) return full;
    free(full);
    if (!*end) return NULL;
  }
}

/* The interpreter that a script's first line names; NULL: no script. */
static char *script_interpreter(const char *data, size_t size)
{
  char line[256], *word, *save = NULL;
  size_t n = size < sizeof(line) - 1 ? size : sizeof(line) - 1;
  if (n < 3 || memcmp(data, "#!", 2) != 0) return NULL;
  memcpy(line, data + 2, n - 2);
  line[n - 2] = 0;
  line[strcspn(line, "\n")] = 0;
  word = strtok_r(line, " \t", &save);
  if (word && strlen(word) > 4 && !strcmp(word + strlen(word) - 4, "/env"))
    word = strtok_r(NULL, " \t", &save);
  return word ? find_program(word) : NULL;
}

/* The loader's path out of an image of this machine's word size: PT_INTERP.
** NULL: there is none. */
#define LJR_INTERP(bits) \
  static char *interp##bits(const char *data, size_t size) \
  { \
    Elf##bits##_Ehdr eh; \
    Elf##bits##_Phdr ph; \
    size_t i; \
    if (size < sizeof(eh)) return NULL; \
    memcpy(&eh, data, sizeof(eh)); \
    for (i = 0; i < eh.e_phnum; i++) { \
      if (eh.e_phoff > size || i >= (size - eh.e_phoff) / sizeof(ph)) \
        return NULL; \
      memcpy(&ph, data + eh.e_phoff + i * sizeof(ph), sizeof(ph)); \
      if (ph.p_type != PT_INTERP) continue; \
      if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset) \
        return NULL; \
      return (char *)need(strndup(data + ph.p_offset, \
                                 (size_t)ph.p_filesz)); \
    } \
    return NULL; \
  }
LJR_INTERP(32)
LJR_INTERP(64)
#undef LJR_INTERP

/* What the loader says of one file of the image's list: the path it found for
** a name that holds "libluajit". NULL: it lists none. `first` is a folder to
** search first, or NULL; `preload` a library to load first, or NULL. */
static char *ask_loader(const program *prog, const char *first,
                        const char *preload)
{
  int fds[2], status;
  pid_t pid = -1;
  FILE *f;
  char *line = NULL, *found = NULL, *p;
  size_t room = 0;
  if (pipe2(fds, O_CLOEXEC) == 0) pid = fork();
  if (pid < 0)
    fail(EXIT_OURS, "cannot start the loader: %s", strerror(errno));
  if (pid == 0) {
    dup2(fds[1], 1);
    dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 2);
    if (first) setenv("LD_LIBRARY_PATH", first, 1);
    if (preload) setenv("LD_PRELOAD", preload, 1);
    execl(prog->interp, prog->interp, "--list", prog->image, (char *)NULL);
    _exit(127);
  }
  close(fds[1]);
  f = (FILE *)need(fdopen(fds[0], "r"));
  while (getline(&line, &room, f) > 0) {
    if (found || !strstr(line, "libluajit") || !(p = strchr(line, '/')))
      continue;
    p[strcspn(p, " \n")] = 0;
    if (strstr(p, "libluajit")) found = copy(p);
  }
  fclose(f);
  free(line);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return found;
}

/* Refuses what gets other privileges when it is executed: the loader then
** takes no library path from us, and the library no orders. */
static void refuse_privileged(const char *path)
{
  struct stat st;
  char caps[64];
  if (stat(path, &st)) fail(EXIT_NOTFOUND, "%s: %s", path, strerror(errno));
  if (S_ISDIR(st.st_mode) || access(path, X_OK))
    fail(EXIT_NOEXEC, "%s: %s", path,
         strerror(S_ISDIR(st.st_mode) ? EISDIR : EACCES));
  if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
      ((st.st_mode & S_ISGID) && st.st_gid != getgid()))
    fail(EXIT_OURS, "%s is setuid or setgid: the loader ignores our library "
         "there. Run it as the user it changes to, or record a copy without "
         "the mode bit", path);
  if (getuid() != 0 &&
      getxattr(path, "security.capability", caps, sizeof(caps)) > 0)
    fail(EXIT_OURS, "%s has file capabilities: the loader ignores our "
         "library there. Run it as root, or record a copy of it", path);
}

/* Which libluajit the image gets; refuses one that has its own inside. */
static void find_library(program *prog, const char *data, size_t size)
{
  prog->lib = ask_loader(prog, NULL, NULL);
  prog->linked = prog->lib != NULL;
  if (!prog->linked && memmem(data, size, "LuaJIT 2.", 9))
    fail(EXIT_OURS, "%s has LuaJIT built in instead of %s: no library can be "
         "put under it. Build it against a patched LuaJIT "
         "(luajit-patch/build.sh)", prog->image, SONAME);
  /* It may load LuaJIT later: then it gets what a dlopen by name would. */
  if (!prog->linked) prog->lib = ask_loader(prog, NULL, SONAME);
}

/* Finds out what `name` is, and refuses what cannot be recorded. */
static void inspect(program *prog, const char *name)
{
  int depth;
  size_t size;
  char *data, *next;
  memset(prog, 0, sizeof(*prog));
  prog->path = find_program(name);
  if (!prog->path) fail(EXIT_NOTFOUND, "%s: not found", name);
  prog->image = prog->path;
  for (depth = 0; ; depth++) {
    refuse_privileged(prog->image);
    data = slurp(prog->image, &size);
    if (!data) fail(EXIT_NOEXEC, "%s: %s", prog->image, strerror(errno));
    if (depth > 3 || !(next = script_interpreter(data, size))) break;
    free(data);
    prog->image = next;
  }
  if (size < EI_NIDENT || memcmp(data, ELFMAG, SELFMAG) != 0)
    fail(EXIT_NOEXEC, "%s is no ELF program and no script", prog->image);
  prog->patched = memmem(data, size, LJM_CONTROL_MAGIC,
                         sizeof(LJM_CONTROL_MAGIC)) != NULL;
  prog->interp = data[EI_CLASS] == ELFCLASS64 ? interp64(data, size)
                                              : interp32(data, size);
  if (!prog->interp && !prog->patched)
    fail(EXIT_OURS, "%s is linked statically: no library can be put under it. "
         "Build it against a patched LuaJIT (luajit-patch/build.sh)",
         prog->image);
  if (!prog->patched) find_library(prog, data, size);
  free(data);
}
/* -- The library --------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the Lua API's functions in a library, from its string tables:
** what stands alone between two NULs and looks like one. */
static names api_of(const char *data, size_t size)
{
  names set = {NULL, 0};
  const char *p = data, *end = data + size, *hit;
  size_t i, n = 0;
  while ((hit = (const char *)memmem(p, (size_t)(end - p), "\0lua", 4))) {
    size_t len = strspn(hit + 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
                                 "rstuvwxyz0123456789_");
    p = hit + 4 + len;
    if (*p || !memchr(hit + 4, '_', len)) continue;
    set.at = (char **)grow(set.at, set.count, sizeof(char *));
    set.at[set.count++] = copy(hit + 1);
  }
  if (set.count) qsort(set.at, set.count, sizeof(char *), compare_names);
  for (i = 0; i < set.count; i++)
    if (!n || strcmp(set.at[n - 1], set.at[i])) set.at[n++] = set.at[i];
  set.count = n;
  return set;
}

/* How far a library is from what the host wants: the functions that it has
** more; SIZE_MAX if it lacks some. */
static size_t api_distance(const names *want, const names *have)
{
  size_t i = 0, j = 0, more = 0;
  while (i < want->count || j < have->count) {
    int c = i == want->count ? 1 : j == have->count ? -1
            : strcmp(want->at[i], have->at[j]);
    if (c < 0) return SIZE_MAX;
    if (c > 0) more++;
    if (c == 0) i++;
    j++;
  }
  return more;
}

static int api_has(const names *api, const char *name)
{
  return bsearch(&name, api->at, api->count, sizeof(char *),
                 compare_names) != NULL;
}

/* The first function that `have` lacks. */
static const char *api_missing(const names *want, const names *have)
{
  size_t i;
  for (i = 0; i < want->count; i++)
    if (!api_has(have, want->at[i])) return want->at[i];
  return "nothing";
}

/* The tree of luajit-patch/build.sh that a library is likely of: OpenResty's
** has functions of its own, releases since 2023 another version. */
static const char *likely_tree(const names *api, const char *data, size_t size)
{
  static const char old[] = "LuaJIT 2.1.0-beta3";
  int beta = memmem(data, size, old, sizeof(old) - 1) != NULL;
  if (api_has(api, "lua_getexdata"))
    return beta ? "openresty-2023" : "openresty-2025";
  return beta ? "debian-2022" : "upstream";
}

/* The patched library below a folder; NULL: none. */
static char *library_in(const char *dir)
{
  static const char *const places[] = {"", "/lib", "/src"};
  size_t i;
  for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
    char *path = format("%s%s/%s", dir, places[i], SONAME);
    if (access(path, R_OK) == 0) return path;
    free(path);
  }
  return NULL;
}

/* Adds the libraries of all trees below `root`. */
static void add_trees(names *list, const char *root)
{
  DIR *d = opendir(root);
  struct dirent *e;
  char *dir, *lib;
  if (!d) return;
  while ((e = readdir(d))) {
    if (e->d_name[0] == '.') continue;
    dir = format("%s/%s", root, e->d_name);
    lib = library_in(dir);
    free(dir);
    if (!lib) continue;
    list->at = (char **)grow(list->at, list->count, sizeof(char *));
    list->at[list->count++] = lib;
  }
  closedir(d);
}

/* Folders that hold one folder a tree: the installation that this program is
** part of, its build folder, the place it was built for. */
static char *library_root(int i)
{
  static char exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
  char *slash;
  exe[n > 0 ? n : 0] = 0;
  if ((slash = strrchr(exe, '/'))) *slash = 0;
  return i == 0 ? format("%s/../lib/ljmemprof", exe)
       : i == 1 ? format("%s/luajit", exe)
       : i == 2 ? copy(LJRECORD_LIBDIR) : NULL;
}

/* All patched libraries that may be taken. */
static names candidates(const char *asked)
{
  names list = {NULL, 0};
  char *root, *lib;
  struct stat st;
  int i, by_path = asked && strchr(asked, '/');
  if (by_path) {
    lib = stat(asked, &st) ? NULL
        : S_ISDIR(st.st_mode) ? library_in(asked) : copy(asked);
    if (!lib) fail(EXIT_OURS, "no %s in %s", SONAME, asked);
    list.at = (char **)grow(list.at, 0, sizeof(char *));
    list.at[list.count++] = lib;
  }
  for (i = 0; !by_path && (root = library_root(i)); i++) {
    char *dir = asked ? format("%s/%s", root, asked) : NULL;
    if (!asked) {
      add_trees(&list, root);
    } else if ((lib = library_in(dir))) {
      list.at = (char **)grow(list.at, list.count, sizeof(char *));
      list.at[list.count++] = lib;
    }
    free(dir);
    free(root);
  }
  return list;
}

/* The patched library that fits the host best. */
static char *choose_library(const program *prog, const char *asked)
{
  names list = candidates(asked), want, have;
  size_t i, size, d, best = SIZE_MAX;
  const char *missing = NULL;
  char *data, *chosen = NULL;
  const char *likely;
  if (!list.count && asked)
    fail(EXIT_OURS, "no patched library called %s", asked);
  if (!list.count)
    fail(EXIT_OURS, "no patched library found: build one with "
         "luajit-patch/build.sh, or name one with --library=");
  if (!prog->lib) return list.at[0];
  data = slurp(prog->lib, &size);
  if (!data) fail(EXIT_OURS, "%s: %s", prog->lib, strerror(errno));
  want = api_of(data, size);
  likely = likely_tree(&want, data, size);
  free(data);
  for (i = 0; i < list.count; i++) {
    if (!(data = slurp(list.at[i], &size))) continue;
    have = api_of(data, size);
    free(data);
    d = api_distance(&want, &have);
    if (d == SIZE_MAX) missing = api_missing(&want, &have);
    if (d >= best) continue;
    best = d;
    chosen = list.at[i];
  }
  if (!chosen)
    fail(EXIT_OURS, "no patched library fits %s%s: %s is missing from %s. "
         "Build the tree that it is of, likely: luajit-patch/build.sh %s",
         prog->linked ? "" : "what would be loaded, ", prog->lib,
         missing ? missing : "its API", list.at[list.count - 1],
         likely);
  return chosen;
}

/* -- The environment ----------------------------------------------------- */

/* A library's built-in search path: the first string that begins so. */
static char *builtin_path(const char *lib, const char *begin)
{
  size_t size;
  char *data = slurp(lib, &size), *hit = NULL, *res = NULL;
  if (data) hit = (char *)memmem(data, size, begin, strlen(begin));
  if (hit) res = copy(hit);
  free(data);
  return res;
}

/* Lets the patched library look for modules where the host's own does: its
** built-in path differs by where it was built for. */
static void keep_path(const char *var, const char *begin, const char *host_lib,
                      const char *lib)
{
  char *want = builtin_path(host_lib, begin);
  char *have = builtin_path(lib, begin);
  const char *now = getenv(var), *gap;
  char *value = NULL;
  if (want && have && strcmp(want, have) != 0) {
    if (!now)
      value = copy(want);
    else if ((gap = strstr(now, ";;")))
      value = format("%.*s;%s;%s", (int)(gap - now), now, want, gap + 2);
    if (value) setenv(var, value, 1);
  }
  free(value);
  free(want);
  free(have);
}

/* Puts the library before the host's own. */
static void set_library(const program *prog, const char *lib)
{
  const char *old = getenv("LD_LIBRARY_PATH"), *slash = strrchr(lib, '/');
  char *dir = format("%.*s%s%s", (int)(slash - lib), lib,
                     old && *old ? ":" : "", old ? old : "");
  char *seen = NULL, *real = realpath(lib, NULL), *real_seen = NULL;
  if (!strcmp(slash + 1, SONAME)) {
    setenv("LD_LIBRARY_PATH", dir, 1);
    if (prog->linked) seen = ask_loader(prog, dir, NULL);
    if (seen) real_seen = realpath(seen, NULL);
  }
  /* Another name, or a path built into the host (DT_RPATH) that goes first. */
  if (strcmp(slash + 1, SONAME) ||
      (prog->linked && (!real || !real_seen || strcmp(real, real_seen)))) {
    old = getenv("LD_PRELOAD");
    seen = format("%s%s%s", lib, old && *old ? ":" : "", old ? old : "");
    setenv("LD_PRELOAD", seen, 1);
  }
  free(seen);
  free(real);
  free(real_seen);
  free(dir);
  if (!prog->lib) return;
  keep_path("LUA_PATH", "./?.lua;", prog->lib, lib);
  keep_path("LUA_CPATH", "./?.so;", prog->lib, lib);
}

/* The file that the library is told to write, with %p. It gets the name that
** was asked for at the end, when it is known how many there are. */
static char *pattern_of(const char *spool, const char *file)
{
  char cwd[PATH_MAX], *full, *p;
  const char *s;
  if (spool) file = "%p";
  if (spool) snprintf(cwd, sizeof(cwd), "%s", spool);
  else if (!getcwd(cwd, sizeof(cwd)) || file[0] == '/') cwd[0] = 0;
  full = p = (char *)need(malloc(2 * strlen(cwd) + strlen(file) + 8));
  for (s = cwd; *s; s++) {
    if (*s == '%') *p++ = '%';
    *p++ = *s;
  }
  sprintf(p, "%s%s%s", cwd[0] ? "/" : "", file,
          strstr(file, "%p") ? "" : ".%p");
  return full;
}

/* A server started by root gives its workers to another user, who may not
** write where root may. So root's profiles are collected in a folder that
** everybody may write to, if he knows its name, and moved at the end. */
static char *make_spool(void)
{
  unsigned char random[12];
  const char *tmp = getenv("TMPDIR");
  char *dir, *outer, *p;
  size_t i;
  if (geteuid() != 0) return NULL;
  outer = format("%s/ljrecord.XXXXXX", tmp && *tmp == '/' ? tmp : "/var/tmp");
  if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
      !mkdtemp(outer) || chmod(outer, 0711))
    fail(EXIT_OURS, "%s: %s", outer, strerror(errno));
  dir = p = (char *)need(malloc(strlen(outer) + 2 * sizeof(random) + 2));
  p += sprintf(p, "%s/", outer);
  for (i = 0; i < sizeof(random); i++) p += sprintf(p, "%02x", random[i]);
  if (mkdir(dir, 0700) || chmod(dir, 01733))
    fail(EXIT_OURS, "%s: %s", dir, strerror(errno));
  free(outer);
  return dir;
}

static void set_orders(const options *opt, const char *pattern,
                       const char *log)
{
  char *value = format("log=%s,control%s%s%s%s,file=%s", log,
                       opt->stacks ? ",stacks" : "",
                       opt->sample ? ",sample=" : "",
                       opt->sample ? opt->sample : "",
                       opt->wait ? ",wait" : "", pattern);
  setenv("LJMEMPROF", value, 1);
  free(value);
}

/* -- The log -------------------------------------------------------------- */

static recording *find_recording(recordings *all, long pid,
                                 unsigned long number)
{
  size_t i;
  for (i = 0; i < all->count; i++)
    if (all->at[i].pid == pid && all->at[i].number == number)
      return &all->at[i];
  all->at = (recording *)grow(all->at, all->count, sizeof(recording));
  memset(&all->at[all->count], 0, sizeof(recording));
  all->at[all->count].pid = pid;
  all->at[all->count].number = number;
  return &all->at[all->count++];
}

/* One line of the log: WORD, process, number, text; tabs between them. */
static void read_entry(recordings *all, char *line)
{
  char *save = NULL, *word = strtok_r(line, "\t", &save);
  char *pid = strtok_r(NULL, "\t", &save);
  char *number = strtok_r(NULL, "\t", &save);
  recording *r;
  if (!word || !pid || !number || !save) return;
  r = find_recording(all, atol(pid), strtoul(number, NULL, 10));
  if (!strcmp(word, "begin")) {
    free(r->path);
    r->path = copy(save);
  } else if (!strcmp(word, "end") || !strcmp(word, "fail")) {
    free(r->end);
    r->end = plain(save);
    r->failed = word[0] == 'f';
  }
}

static recordings read_log(const char *path)
{
  recordings all = {NULL, 0};
  size_t size;
  char *data = slurp(path, &size), *line, *save = NULL;
  for (line = data ? strtok_r(data, "\n", &save) : NULL; line;
       line = strtok_r(NULL, "\n", &save))
    read_entry(&all, line);
  free(data);
  return all;
}

static void free_log(recordings *all)
{
  size_t i;
  for (i = 0; i < all->count; i++) {
    free(all->at[i].path);
    free(all->at[i].end);
  }
  free(all->at);
}

/* The recording goes on: no end was told, and its process lives. */
static int is_open(const recording *r)
{
  return r->path && !r->end && (kill((pid_t)r->pid, 0) == 0 || errno == EPERM);
}

/* -- Orders to a running host --------------------------------------------- */

/* The process's number as it sees itself (in a container of its own). */
static uint64_t own_pid(long pid)
{
  char *path = format("/proc/%ld/status", pid), *line = NULL, *last;
  FILE *f = fopen(path, "r");
  size_t room = 0;
  uint64_t res = (uint64_t)pid;
  free(path);
  while (f && getline(&line, &room, f) > 0)
    if (!strncmp(line, "NSpid:", 6) && (last = strrchr(line, '\t')))
      res = strtoull(last + 1, NULL, 10);
  if (f) fclose(f);
  free(line);
  return res;
}

/* Maps the page behind one of a process's open files; NULL: it is none, or
** another process's (a child has its parent's files). */
static ljm_control *map_page(const char *path, uint64_t pid)
{
  struct stat st;
  ljm_control *page = NULL;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return NULL;
  if (fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(*page))
    page = (ljm_control *)mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
                               MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED || !page) return NULL;
  if (!memcmp(page->magic, LJM_CONTROL_MAGIC, sizeof(page->magic)) &&
      page->pid == pid)
    return page;
  munmap(page, sizeof(*page));
  return NULL;
}

/* Calls `act` for the page of each VM of a process that takes orders: a
** sealed file of memory among its open files. Returns how many there are, -1
** (and errno) if the process does not let us look. */
static int each_page(long pid, int (*act)(ljm_control *page, void *user),
                     void *user)
{
  char *dir = format("/proc/%ld/fd", pid), target[64];
  DIR *d = opendir(dir);
  struct dirent *e;
  int count = d ? 0 : -1;
  while (d && (e = readdir(d))) {
    char *path = format("%s/%s", dir, e->d_name);
    ssize_t n = readlink(path, target, sizeof(target));
    ljm_control *page = NULL;
    if (n >= 16 && !memcmp(target, "/memfd:ljmemprof", 16))
      page = map_page(path, own_pid(pid));
    if (page) {
      count++;
      act(page, user);
      munmap(page, sizeof(*page));
    }
    free(path);
  }
  if (d) closedir(d);
  free(dir);
  return count;
}

static void pause_ms(long ms)
{
  struct timespec t;
  t.tv_sec = ms / 1000;
  t.tv_nsec = ms % 1000 * 1000000;
  nanosleep(&t, NULL);
}

/* Writes an order, without waiting for an answer. */
static uint32_t give(ljm_control *page, ljm_order order)
{
  uint32_t serial = __atomic_load_n(&page->order, __ATOMIC_RELAXED) >> 8;
  uint32_t word = (serial + 1) << 8 | (uint32_t)order;
  __atomic_store_n(&page->order, word, __ATOMIC_RELEASE);
  return word;
}

static int give_stop(ljm_control *page, void *user)
{
  (void)user;
  if (page->recording) give(page, LJM_ORDER_STOP);
  return 0;
}

typedef struct request {
  ljm_order order;
  long below; /* The process, where it is not the one that was named. */
  int failed;
} request;

static int carry_out(ljm_control *page, void *user)
{
  request *req = (request *)user;
  char *path;
  int i = 0;
  if (req->order != LJM_ORDER_NONE) {
    uint32_t word = give(page, req->order);
    while (__atomic_load_n(&page->answer, __ATOMIC_ACQUIRE) != word && i++ < 50)
      pause_ms(100);
    if (i > 50) {
      say("VM %u has not allocated for 5 s; it obeys when it does",
          (unsigned)page->number);
      req->failed = 1;
      return 0;
    }
    if (page->status != LJM_OK) {
      say("VM %u: %s", (unsigned)page->number,
          page->sys_errno ? strerror((int)page->sys_errno) :
          page->status == LJM_E_RUNNING ? "it is being recorded already" :
          page->status == LJM_E_NOTRUNNING ? "it is not being recorded" :
          "refused");
      req->failed = 1;
    }
  }
  page->path[sizeof(page->path) - 1] = 0;
  path = plain(page->path);
  if (req->below) printf("process %ld, ", req->below);
  printf("VM %u: %s%s%s, %llu bytes written, %llu events dropped\n",
         (unsigned)page->number, page->recording ? "recording" : "idle",
         path[0] ? ", file " : "", path, (unsigned long long)page->written,
         (unsigned long long)page->dropped);
  fflush(stdout);
  if (req->order == LJM_ORDER_SNAPSHOT && page->status == LJM_OK)
    say("all events up to now are in %s: read it there; ljparse will say that "
        "it is cut, since the recording goes on", path);
  free(path);
  return 0;
}

/* The same for all processes below one: ljrecord itself, a shell. */
static int carry_out_below(long pid, request *req, int depth)
{
  char *path = format("/proc/%ld/task/%ld/children", pid, pid);
  FILE *f = depth < 16 ? fopen(path, "r") : NULL;
  int count = 0, n;
  long child;
  free(path);
  while (f && fscanf(f, "%ld", &child) == 1) {
    req->below = child;
    n = each_page(child, carry_out, req);
    count += (n > 0 ? n : 0) + carry_out_below(child, req, depth + 1);
  }
  if (f) fclose(f);
  return count;
}

/* ljrecord --stop PID and the like. */
static int control(ljm_order order, const char *arg)
{
  request req;
  char *end;
  long pid = strtol(arg, &end, 10);
  int count;
  if (pid <= 0 || *end) fail(EXIT_OURS, "%s is no process id", arg);
  req.order = order;
  req.below = 0;
  req.failed = 0;
  count = each_page(pid, carry_out, &req);
  if (count < 0)
    fail(EXIT_OURS, "process %ld: %s", pid,
         errno == ENOENT ? "there is none" : strerror(errno));
  if (count == 0 && carry_out_below(pid, &req, 0) == 0)
    fail(EXIT_OURS, "process %ld takes no orders, nor do those below it: it "
         "was not started by ljrecord or with LJMEMPROF=control, has no VM, "
         "or belongs to another user", pid);
  return req.failed;
}

/* -- Running it ----------------------------------------------------------- */

/* A run as a whole. */
typedef struct run {
  const options *opt;
  char *pattern, *log;
  char *library;    /* The file that is under the host. */
  char *spool;      /* Where root's profiles are until the end, or NULL. */
  pid_t child;
  int status;       /* As of waitpid. */
  int done;         /* The child ended. */
  int leave;        /* Asked to wait no longer for the others. */
  double ended;     /* And when. */
  double deadline;  /* Stop recording then; 0: never. */
} run;

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Signals that are passed on; the child's end is told by SIGCHLD. */
static void signal_set(sigset_t *set)
{
  static const int list[] = {
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE,
    SIGWINCH, SIGCHLD
  };
  size_t i;
  sigemptyset(set);
  for (i = 0; i < sizeof(list) / sizeof(*list); i++) sigaddset(set, list[i]);
  for (i = (size_t)SIGRTMIN; i <= (size_t)SIGRTMAX; i++)
    sigaddset(set, (int)i);
}

static void start_child(run *r, const program *prog, char **argv)
{
  sigset_t set, old;
  signal_set(&set);
  sigprocmask(SIG_BLOCK, &set, &old);
  /* Daemons among the host's children stay ours to wait for. */
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  fflush(NULL);
  r->child = fork();
  if (r->child < 0) fail(EXIT_OURS, "cannot fork: %s", strerror(errno));
  if (r->child == 0) {
    int err;
    sigprocmask(SIG_SETMASK, &old, NULL);
    execv(prog->path, argv);
    err = errno;
    fprintf(stderr, "ljrecord: %s: %s\n", prog->path, strerror(err));
    _exit(err == ENOENT ? EXIT_NOTFOUND : EXIT_NOEXEC);
  }
}

static void reap(run *r)
{
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != r->child) continue;
    r->status = status;
    r->done = 1;
    r->ended = now();
  }
}

/* What came from a terminal went to the host as well: its group is ours. */
static void pass_on(run *r, const siginfo_t *info)
{
  if (info->si_signo == SIGCHLD) {
    reap(r);
  } else if (r->done) {
    if (info->si_signo == SIGINT || info->si_signo == SIGTERM ||
        info->si_signo == SIGHUP || info->si_signo == SIGQUIT)
      r->leave = 1;
  } else if (info->si_code == SI_QUEUE) {
    sigqueue(r->child, info->si_signo, info->si_value);
  } else if (info->si_code <= 0) {
    kill(r->child, info->si_signo);
  }
}

/* At the deadline all that record are told to stop, also those that begin
** later. */
static void check_deadline(run *r)
{
  recordings all;
  size_t i;
  if (r->deadline == 0 || now() < r->deadline) return;
  all = read_log(r->log);
  for (i = 0; i < all.count; i++)
    if (is_open(&all.at[i])) each_page(all.at[i].pid, give_stop, NULL);
  free_log(&all);
}

/* Has a process mapped the file? */
static int has_mapped(long pid, const char *file)
{
  char *path = format("/proc/%ld/maps", pid), *line = NULL;
  FILE *f = fopen(path, "r");
  size_t room = 0;
  int res = 0;
  free(path);
  while (f && !res && getline(&line, &room, f) > 0)
    res = strstr(line, file) != NULL;
  if (f) fclose(f);
  free(line);
  return res;
}

/* A process that the host left behind, that still uses LuaJIT: it records or
** may begin to. 0: there is none. */
static long straggler(const run *r)
{
  recordings all = read_log(r->log);
  char *path = format("/proc/self/task/%ld/children", (long)getpid());
  FILE *f = fopen(path, "r");
  size_t i;
  long pid = 0, child;
  for (i = 0; i < all.count && !pid; i++)
    if (is_open(&all.at[i])) pid = all.at[i].pid;
  while (f && !pid && fscanf(f, "%ld", &child) == 1)
    if (has_mapped(child, r->library)) pid = child;
  if (f) fclose(f);
  free(path);
  free_log(&all);
  return pid;
}

/* Waits for one signal, or so long. */
static void wait_a_while(run *r, long ms)
{
  sigset_t set;
  siginfo_t info;
  struct timespec t;
  signal_set(&set);
  t.tv_sec = ms / 1000;
  t.tv_nsec = ms % 1000 * 1000000;
  memset(&info, 0, sizeof(info));
  if (sigtimedwait(&set, &info, &t) > 0) pass_on(r, &info);
  check_deadline(r);
}

/* Until the host has ended, and the processes that it left behind and that
** are being recorded. */
static void wait_for_all(run *r)
{
  long pid, told = 0;
  while (!r->done) wait_a_while(r, r->deadline > 0 ? 200 : 60000);
  while (!r->leave && (pid = straggler(r)) != 0) {
    wait_a_while(r, told ? 200 : 20);
    if (!told && now() > r->ended + 1) {
      say("process %ld goes on, and is being recorded; interrupt to leave it",
          pid);
      told = pid;
    }
  }
}

/* -- The end -------------------------------------------------------------- */

/* The name that a finished recording shall have. `rest` is what the library
** added to the pattern (".2"); `only` says that there is no other one. */
static char *final_name(const char *file, long pid, const char *rest, int only)
{
  char *res = (char *)need(malloc(strlen(file) * 12 + strlen(rest) + 32));
  char *p = res;
  const char *s;
  for (s = file; *s; s++) {
    if (s[0] == '%' && s[1] == 'p') {
      p += sprintf(p, "%ld", pid);
      s++;
    } else {
      if (s[0] == '%' && s[1] == '%') s++;
      *p++ = *s;
    }
  }
  *p = 0;
  if (!strstr(file, "%p") && !only) p += sprintf(p, ".%ld", pid);
  if (!only) strcpy(p, rest);
  return res;
}

/* Copies a file to another file system. */
static int copy_file(const char *from, const char *to)
{
  char buf[65536];
  ssize_t n = -1, m, k;
  int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  int out = in < 0 ? -1
          : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  while (out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
    for (m = 0; m < n; m += k)
      if ((k = write(out, buf + m, (size_t)(n - m))) < 0) break;
  if (out >= 0 && close(out)) n = -1;
  if (in >= 0) close(in);
  return n == 0;
}

/* Gives finished profiles the names that were asked for. */
static void take_names(const run *r, recordings *all)
{
  size_t i, n = 0;
  struct stat st;
  for (i = 0; i < all->count; i++) n += all->at[i].path != NULL;
  for (i = 0; i < all->count; i++) {
    recording *rec = &all->at[i];
    char *name, rest[32] = "";
    if (!rec->path || is_open(rec) || lstat(rec->path, &st) ||
        !S_ISREG(st.st_mode))
      continue;
    if (rec->number > 1) sprintf(rest, ".%lu", rec->number);
    name = final_name(r->opt->file, rec->pid, rest, n == 1);
    if (!strcmp(name, rec->path) || rename(rec->path, name) == 0 ||
        (errno == EXDEV && copy_file(rec->path, name) && !unlink(rec->path))) {
      free(rec->path);
      rec->path = name;
    } else {
      say("%s: %s", name, strerror(errno));
      free(name);
    }
  }
}

/* Says what there is now. Returns how many profiles. */
static size_t tell(recordings *all)
{
  size_t i, n = 0;
  const char *last = NULL;
  for (i = 0; i < all->count; i++) {
    const recording *r = &all->at[i];
    char *path = r->path ? plain(r->path) : NULL;
    if (r->number == 0) {
      say("process %ld: %s", r->pid, r->end ? r->end : "?");
    } else if (r->failed || !path) {
      say("process %ld: VM %lu was not recorded: %s", r->pid, r->number,
          r->end ? r->end : "for no reason told");
    } else {
      say("recorded %s (process %ld, %s)", path, r->pid,
          r->end ? r->end
          : is_open(r) ? "still going on"
          : "killed: the end of the profile may be missing");
      last = r->path;
      n++;
    }
    free(path);
  }
  if (n) say("look at %s with: ljparse --human-readable %s",
             n > 1 ? "each" : "it", last);
  return n;
}

/* Removes root's folder, unless something is still written there. */
static void leave_spool(char *dir)
{
  rmdir(dir);
  *strrchr(dir, '/') = 0;
  rmdir(dir);
}

static void finish(run *r)
{
  recordings all = read_log(r->log);
  size_t made;
  take_names(r, &all);
  made = tell(&all);
  if (!made && !all.count)
    say("nothing was recorded: no VM was created on the patched library. "
        "See \"Troubleshooting\" in the manual page");
  free_log(&all);
  if (r->spool) leave_spool(r->spool);
  unlink(r->log);
  free(r->log);
  free(r->pattern);
}

/* Ends as the host did, by the same signal if it was one. */
static int end_as(int status)
{
  struct rlimit none = {0, 0};
  sigset_t set;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  setrlimit(RLIMIT_CORE, &none);
  signal(WTERMSIG(status), SIG_DFL);
  sigfillset(&set);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

static int record(const options *opt, char **argv)
{
  program prog;
  run r;
  const char *tmp = getenv("TMPDIR");
  char *lib;
  int fd;
  inspect(&prog, argv[0]);
  memset(&r, 0, sizeof(r));
  if (!prog.linked && !prog.patched)
    say("%s does not use a shared libluajit-5.1; only what loads one later "
        "can be recorded", prog.image);
  lib = prog.patched ? prog.image : choose_library(&prog, opt->library);
  r.library = (char *)need(realpath(lib, NULL));
  r.opt = opt;
  r.spool = make_spool();
  r.pattern = pattern_of(r.spool ? r.spool : NULL, opt->file);
  /* A comma would end the word that names it. */
  r.log = format("%s/ljrecord.XXXXXX",
                 tmp && *tmp == '/' && !strchr(tmp, ',') ? tmp : "/tmp");
  if ((fd = mkostemp(r.log, O_CLOEXEC)) < 0)
    fail(EXIT_OURS, "%s: %s", r.log, strerror(errno));
  close(fd);
  if (!prog.patched) set_library(&prog, lib);
  set_orders(opt, r.pattern, r.log);
  if (opt->duration > 0) r.deadline = now() + opt->duration;
  start_child(&r, &prog, argv);
  wait_for_all(&r);
  finish(&r);
  return end_as(r.status);
}

/* -- Command line --------------------------------------------------------- */

static const char usage_text[] =
"usage: ljrecord [options] [--] PROGRAM [ARGUMENT...]\n"
"       ljrecord --start|--stop|--snapshot|--status PID\n"
"Runs a program that uses LuaJIT on a patched library and records what its\n"
"Lua states allocate.\n"
"  -o, --output FILE  the profile; \"%p\" is the process id (default:\n"
"                     memprof.bin, and memprof.bin.PID where there are more)\n"
"  --sample=BYTES     one sample in so many bytes, k and m allowed (default:\n"
"                     every event)\n"
"  --stacks           with call stacks\n"
"  --duration=S       stop recording after S seconds; the program goes on\n"
"  --wait             record nothing until ljrecord --start PID\n"
"  --library=L        the patched library: a file, a folder, or a tree's name\n"
"  -q, --quiet        say nothing but errors\n"
"  --help, --version\n";

static const char *const order_names[] = {
  "--status", "--start", "--stop", "--snapshot"
};

/* The value of `--name=VALUE` or `--name VALUE`; NULL: another option. */
static const char *value_of(char **argv, int *i, const char *name)
{
  size_t n = strlen(name);
  if (strncmp(argv[*i], name, n)) return NULL;
  if (argv[*i][n] == '=') return argv[*i] + n + 1;
  if (argv[*i][n]) return NULL;
  if (!argv[*i + 1]) fail(EXIT_OURS, "%s needs a value", name);
  return argv[++*i];
}

/* A number of bytes as the library takes it: digits, then k, m, or g. */
static int is_size(const char *s)
{
  size_t n = strspn(s, "0123456789");
  return n > 0 && n < 16 && (!s[n] || (strchr("kmgKMG", s[n]) && !s[n + 1]));
}

/* Takes one option; 0: `argv[*i]` is none. */
static int take_option(options *opt, char **argv, int *i)
{
  const char *v, *a = argv[*i];
  char *end;
  if (a[0] != '-' || !a[1]) return 0;
  if ((v = value_of(argv, i, "-o")) || (v = value_of(argv, i, "--output"))) {
    opt->file = v;
  } else if ((v = value_of(argv, i, "--sample"))) {
    if (!is_size(v)) fail(EXIT_OURS, "--sample: %s is no number of bytes", v);
    opt->sample = v;
  } else if ((v = value_of(argv, i, "--duration"))) {
    opt->duration = strtod(v, &end);
    if (end == v || *end || !(opt->duration > 0 && opt->duration < 1e9))
      fail(EXIT_OURS, "--duration: %s is no number of seconds", v);
  } else if ((v = value_of(argv, i, "--library"))) {
    opt->library = v;
  } else if (!strcmp(a, "--stacks")) {
    opt->stacks = 1;
  } else if (!strcmp(a, "--wait")) {
    opt->wait = 1;
  } else if (!strcmp(a, "-q") || !strcmp(a, "--quiet")) {
    ljr_quiet = 1;
  } else {
    fail(EXIT_OURS, "unknown option %s (--help lists them)", a);
  }
  return 1;
}

int main(int argc, char **argv)
{
  options opt;
  size_t order;
  int i;
  memset(&opt, 0, sizeof(opt));
  opt.file = "memprof.bin";
  for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--version")) {
      fputs(argv[i][2] == 'h' ? usage_text : "ljrecord " LJM_VERSION_STRING
            "\n", stdout);
      return fflush(stdout) ? EXIT_OURS : 0;
    }
    for (order = 0; order < 4; order++) {
      const char *pid = value_of(argv, &i, order_names[order]);
      if (pid) return control((ljm_order)order, pid);
    }
    if (!take_option(&opt, argv, &i)) break;
  }
  if (i < argc && !strcmp(argv[i], "--")) i++;
  if (i >= argc) fail(EXIT_OURS, "no program given (--help)");
  return record(&opt, argv + i);
}
