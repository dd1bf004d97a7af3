/*
** test_syscalls - each call of the system that the file sink and the resolver
** make goes wrong in turn: interrupted, refused, short. The linker puts the
** functions here before the system's (--wrap), see elf.cmake.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljtest.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/wait.h>

/* -- The system --------------------------------------------------------- */

typedef enum call {
  NONE, OPEN, FSTAT, READ, WRITE, LSEEK, PIPE, MEMORY, TRUNCATE, CLOSE,
  PENDING, MASK, WAIT, CLOCK, PID, LINK, AUXV, CALLS
} call;

#define PASS 0   /* The call is made. */
#define ODD (-1) /* It comes back with less than it should; */
#define NONE_READ (-2) /* with nothing, and EINTR from before; else: errno. */
#define MOST 6

/* What the first calls come to, and all later ones. */
typedef struct plan {
  int result[MOST];
  int rest;
  unsigned seen;
} plan;

static plan plans[CALLS];
static size_t asked; /* Bytes that the last ODD write was given. */

static int next(call c)
{
  plan *p = &plans[c];
  int result = p->seen < MOST ? p->result[p->seen] : p->rest;
  p->seen++;
  if (result > 0) errno = result;
  return result;
}

/* All calls are made again, none was seen. */
static void quiet(void) { memset(plans, 0, sizeof(plans)); }

/* Every call of a kind fails. */
static void always(call c, int result)
{
  int i;
  for (i = 0; i < MOST; i++) plans[c].result[i] = result;
  plans[c].rest = result;
}

#define WRAP(type, name, args) \
  extern type __real_##name args; \
  extern type __wrap_##name args; \
  type __wrap_##name args

WRAP(int, open, (const char *path, int flags, ...))
{
  int mode;
  va_list ap;
  va_start(ap, flags);
  mode = flags & O_CREAT ? va_arg(ap, int) : 0;
  va_end(ap);
  return next(OPEN) ? -1 : __real_open(path, flags, mode);
}

WRAP(int, fstat, (int fd, struct stat *st))
{
  return next(FSTAT) ? -1 : __real_fstat(fd, st);
}

WRAP(ssize_t, read, (int fd, void *data, size_t size))
{
  int result = next(READ);
  if (result > 0) return -1;
  if (result == NONE_READ) {
    errno = EINTR;
    return 0;
  }
  return __real_read(fd, data, result == ODD && size > 1 ? size - 1 : size);
}

WRAP(ssize_t, write, (int fd, const void *data, size_t size))
{
  int result = next(WRITE);
  if (result == PASS) return __real_write(fd, data, size);
  asked = size;
  return result == ODD ? 0 : -1;
}

WRAP(off_t, lseek, (int fd, off_t off, int whence))
{
  return next(LSEEK) ? -1 : __real_lseek(fd, off, whence);
}

WRAP(int, pipe2, (int fd[2], int flags))
{
  return next(PIPE) ? -1 : __real_pipe2(fd, flags);
}

/* Of the process's own memory, into a pipe. */
WRAP(long, syscall, (long number, ...))
{
  va_list ap;
  uintptr_t p;
  size_t size;
  int fd, result = next(MEMORY);
  va_start(ap, number);
  fd = va_arg(ap, int);
  p = va_arg(ap, uintptr_t);
  size = va_arg(ap, size_t);
  va_end(ap);
  if (result == ODD) errno = EINTR; /* From before. */
  if (result != PASS) return result == ODD ? 0 : -1;
  return __real_syscall(number, fd, p, size);
}

WRAP(int, ftruncate, (int fd, off_t size))
{
  return next(TRUNCATE) ? -1 : __real_ftruncate(fd, size);
}

WRAP(int, close, (int fd))
{
  int result = next(CLOSE), saved = errno;
  int real = __real_close(fd);
  if (result == PASS) return real;
  errno = saved;
  return -1;
}

WRAP(int, sigpending, (sigset_t *set))
{
  return next(PENDING) ? -1 : __real_sigpending(set);
}

WRAP(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old))
{
  return next(MASK) ? -1 : __real_sigprocmask(how, set, old);
}

WRAP(int, sigtimedwait, (const sigset_t *set, siginfo_t *info,
                         const struct timespec *timeout))
{
  return next(WAIT) ? -1 : __real_sigtimedwait(set, info, timeout);
}

WRAP(int, clock_gettime, (clockid_t clock, struct timespec *t))
{
  return next(CLOCK) ? -1 : __real_clock_gettime(clock, t);
}

WRAP(pid_t, getpid, (void))
{
  return __real_getpid() + (next(PID) ? 1 : 0);
}

WRAP(ssize_t, readlink, (const char *path, char *data, size_t size))
{
  return next(LINK) ? -1 : __real_readlink(path, data, size);
}

WRAP(unsigned long, getauxval, (unsigned long type))
{
  return next(AUXV) ? 0 : __real_getauxval(type);
}

/* How the loader's list differs from what it says. */
typedef enum liar {
  HONEST, NAMELESS, LONG_NAMES, PROGRAM_NAMED, MOVING, NOTES_AWAY, PROGRAM_ONLY,
  SETTLING
} liar;

static liar loader;

/* SETTLING: the list changes before each `every`th look, the second being the
** first of them, up to look `until`. */
static struct {
  unsigned every, until, looks, adds;
} changes;

/* A note with a build-id of 4 bytes, and a copy that no module has. */
static const uint32_t build_id[] = {4, 4, 3, 0x00554e47, 0xdddddddd};
static void *note;

typedef struct told {
  int (*fn)(struct dl_phdr_info *info, size_t size, void *user);
  void *user;
  size_t listed;
} told;

static int tell(struct dl_phdr_info *info, size_t size, void *user)
{
  static char name[8192];
  static ElfW(Phdr) phdr[64];
  static unsigned long long adds;
  told *t = (told *)user;
  struct dl_phdr_info lie = *info;
  size_t i;
  switch (loader) {
  case NAMELESS: lie.dlpi_name = NULL; break;
  case LONG_NAMES:
    memset(name, 'n', sizeof(name) - 1);
    lie.dlpi_name = name;
    break;
  case PROGRAM_NAMED: /* As musl's static start code does; it comes first. */
    if (t->listed == 0) lie.dlpi_name = "/proc/self/exe";
    break;
  case SETTLING: lie.dlpi_adds += changes.adds; break;
  case MOVING: lie.dlpi_adds += ++adds; break;
  case NOTES_AWAY: /* They stand where there is memory, but no module. */
    for (i = 0; i < lie.dlpi_phnum && i < 64; i++) {
      phdr[i] = info->dlpi_phdr[i];
      if (phdr[i].p_type != PT_NOTE) continue;
      phdr[i].p_vaddr = (ElfW(Addr))((uintptr_t)note - info->dlpi_addr);
      phdr[i].p_filesz = phdr[i].p_memsz = sizeof(build_id);
      phdr[i].p_align = 4;
    }
    lie.dlpi_phdr = phdr;
    break;
  case PROGRAM_ONLY:
    if (t->listed > 0) return 0;
    break;
  default: break;
  }
  t->listed++;
  return t->fn(&lie, size, t->user);
}

WRAP(int, dl_iterate_phdr, (int (*fn)(struct dl_phdr_info *, size_t, void *),
                            void *user))
{
  told t;
  t.fn = fn;
  t.user = user;
  t.listed = 0;
  if (loader == SETTLING && ++changes.looks <= changes.until &&
      changes.looks % changes.every == 2 % changes.every)
    changes.adds++;
  return __real_dl_iterate_phdr(tell, &t);
}

/* -- The file sink ------------------------------------------------------ */

static char dir[64];

static const char *in_dir(const char *name)
{
  static char path[128];
  snprintf(path, sizeof(path), "%s/%s", dir, name);
  return path;
}

static void put(const char *path, const char *text)
{
  FILE *f = fopen(path, "w");
  LJT_OK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void want(const char *path, const char *text)
{
  size_t size = 0;
  unsigned char *data = ljt_read_file(path, &size);
  LJT_OK(data != NULL);
  if (data) LJT_MEM(data, size, text, strlen(text));
  free(data);
}

/* What write and close of a file that holds "old!" come to. */
typedef struct file_row {
  const char *name;
  call what;
  int result[MOST];
  int wrote, closed;
  const char *holds;
} file_row;

static void file_calls(void)
{
  static const file_row rows[] = {
    {"all well", NONE, {0}, 3, 0, "new"},
    {"is it ours", FSTAT, {EBADF}, -EBADF, 0, "old!"},
    {"what is it", FSTAT, {0, EIO}, 3, 0, "new!"},
    {"ours at the end", FSTAT, {0, 0, EIO}, 3, EBADF, "new"},
    {"nothing taken", WRITE, {ODD}, 0, 0, "old!"},
    {"refused", WRITE, {ENOSPC}, -ENOSPC, 0, "old!"},
    {"nobody reads", WRITE, {EPIPE}, -EPIPE, 0, "old!"},
    {"too long", WRITE, {EFBIG}, -EFBIG, 0, "old!"},
    {"not cut", TRUNCATE, {EIO}, -EIO, 0, "new!"},
    {"cutting interrupted", TRUNCATE, {EINTR, EINTR}, 3, 0, "new"},
    {"signals not told", PENDING, {EINVAL}, -EINVAL, 0, "old!"},
    {"signals not held", MASK, {EINVAL}, -EINVAL, 0, "old!"},
    {"close", CLOSE, {EIO}, 3, EIO, "new"},
    {"close interrupted", CLOSE, {EINTR}, 3, 0, "new"}
  };
  const char *path = in_dir("calls");
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljm_file f;
    ljm_sink sink;
    ljt.row = rows[i].name;
    put(path, "old!");
    LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
    quiet();
    memcpy(plans[rows[i].what].result, rows[i].result, sizeof(rows->result));
    LJT_EQ(sink.write(sink.user, "new", 3), rows[i].wrote);
    LJT_EQ(sink.close(sink.user), rows[i].closed);
    quiet();
    want(path, rows[i].holds);
  }
  ljt.row = NULL;
}

/* A cut that is interrupted for ever is not tried for ever. */
static void never_cut(void)
{
  const char *path = in_dir("never");
  ljm_file f;
  ljm_sink sink;
  put(path, "old!");
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
  quiet();
  always(TRUNCATE, EINTR);
  LJT_EQ(sink.write(sink.user, "new", 3), -EIO);
  LJT_EQ(plans[TRUNCATE].seen, 100);
  quiet();
  LJT_EQ(sink.close(sink.user), 0);
  want(path, "new!");
}

/* The signal of a refused write is taken back, also if that is interrupted. */
static void signal_taken(void)
{
  sigset_t pending;
  ljm_file f;
  ljm_sink sink;
  int fd[2];
  LJT_EQ(pipe(fd), 0);
  LJT_EQ(ljm_file_open(&f, &sink, "/dev/null", NULL, NULL), LJM_OK);
  LJT_EQ(close(fd[0]), 0);
  /* A pipe that nobody reads, as if it had been opened by its name. */
  f.fd = dup2(fd[1], f.fd);
  LJT_EQ(close(fd[1]), 0);
  quiet();
  LJT_EQ(sink.write(sink.user, "x", 1), -EBADF);
  {
    struct stat st;
    LJT_EQ(fstat(f.fd, &st), 0);
    f.dev = (uint64_t)st.st_dev;
    f.ino = (uint64_t)st.st_ino;
  }
  quiet();
  plans[WAIT].result[0] = EINTR;
  LJT_EQ(sink.write(sink.user, "x", 1), -EPIPE);
  LJT_EQ(plans[WAIT].seen, 2);
  LJT_EQ(sigpending(&pending), 0);
  LJT_EQ(sigismember(&pending, SIGPIPE), 0);
  LJT_EQ(sink.close(sink.user), 0);
}

/* A number that was given to another file gets no byte and stays open. */
static void another_file(void)
{
  static const char *const other[] = {"same place", "/dev/zero"};
  size_t i;
  for (i = 0; i < 2; i++) {
    char path[128];
    ljm_file f;
    ljm_sink sink;
    int fd, mine;
    put(in_dir(other[0]), "");
    snprintf(path, sizeof(path), "%s", in_dir("ours"));
    LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
    fd = open(i == 0 ? in_dir(other[0]) : other[1], O_RDWR);
    mine = f.fd;
    LJT_EQ(dup2(fd, mine), mine);
    LJT_EQ(sink.write(sink.user, "x", 1), -EBADF);
    LJT_EQ(sink.close(sink.user), EBADF);
    LJT_EQ(close(mine), 0);
    LJT_EQ(close(fd), 0);
    want(in_dir(other[0]), "");
  }
}

/* A process of another number is a child: it takes no name away. */
static void not_the_opener(void)
{
  const char *path = in_dir("child");
  ljm_file f;
  ljm_sink sink;
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
  always(PID, ODD);
  LJT_EQ(sink.close(sink.user), 0);
  quiet();
  want(path, "");
  LJT_EQ(unlink(path), 0);
}

/* More than a call may be asked for. */
static void largest_write(void)
{
  ljm_file f;
  ljm_sink sink;
  LJT_EQ(ljm_file_open(&f, &sink, "/dev/null", NULL, NULL), LJM_OK);
  always(WRITE, ODD);
  LJT_EQ(sink.write(sink.user, "x", (size_t)INT_MAX + 1), 0);
  LJT_EQ(asked, INT_MAX);
  quiet();
  LJT_EQ(sink.close(sink.user), 0);
}

/* What opening comes to: status, error number, descriptors closed. */
typedef struct open_row {
  const char *name;
  call what;
  int result[MOST];
  ljm_status status;
  int sys_errno;
  unsigned opens, closes;
} open_row;

static void file_opens(void)
{
  static const open_row rows[] = {
    {"all well", NONE, {0}, LJM_OK, 0, 2, 0},
    {"gone again", OPEN, {EEXIST, ENOENT, 0}, LJM_OK, 0, 4, 0},
    {"to and fro", OPEN, {EEXIST, ENOENT, EEXIST, ENOENT, 0}, LJM_OK, 0, 5, 0},
    {"refused", OPEN, {EACCES}, LJM_E_IO, EACCES, 1, 0},
    {"old one refused", OPEN, {EEXIST, EROFS}, LJM_E_IO, EROFS, 2, 0},
    {"never there", OPEN, {EEXIST, ENOENT, EEXIST, ENOENT, ENOENT}, LJM_E_IO,
     ENOENT, 5, 0},
    {"what is it", FSTAT, {EIO}, LJM_E_IO, EIO, 2, 1}
  };
  const char *path = in_dir("opens");
  ljm_error err;
  ljm_file f;
  ljm_sink sink;
  size_t i;
  put(path, "old!");
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    const open_row *r = &rows[i];
    ljt.row = r->name;
    quiet();
    memcpy(plans[r->what].result, r->result, sizeof(r->result));
    errno = 55;
    LJT_EQ(ljm_file_open(&f, &sink, path, NULL, &err), r->status);
    LJT_EQ(errno, 55);
    LJT_EQ(err.sys_errno, r->sys_errno);
    LJT_EQ(plans[OPEN].seen, r->opens);
    LJT_EQ(plans[CLOSE].seen, r->closes);
    quiet();
    if (r->status == LJM_OK) LJT_EQ(sink.close(sink.user), 0);
    want(path, "old!");
  }
  ljt.row = NULL;
  LJT_EQ(ljm_file_open(NULL, &sink, path, NULL, &err), LJM_E_ARG);
  LJT_EQ(ljm_file_open(&f, NULL, path, NULL, &err), LJM_E_ARG);
  LJT_EQ(ljm_file_open(&f, &sink, NULL, NULL, &err), LJM_E_ARG);
  LJT_EQ(err.sys_errno, EINVAL);
}

static void clocks(void)
{
  quiet();
  plans[CLOCK].result[0] = EINVAL;
  LJT_OK(ljmi_clock(NULL) != 0);
  LJT_EQ(plans[CLOCK].seen, 2);
  always(CLOCK, EINVAL);
  LJT_EQ(ljmi_clock(NULL), 0);
  quiet();
}

/* -- ELF files and the process's memory --------------------------------- */

static int own_function(int n) { return n + 1; }
static int (*volatile own)(int) = own_function;

/* What opening this program's own file comes to. */
typedef struct image_row {
  const char *name;
  call what;
  int result[MOST];
  ljm_status status;
  int sys_errno;
} image_row;

static void image_calls(void)
{
  static const image_row rows[] = {
    {"all well", NONE, {0}, LJM_OK, 0},
    {"open interrupted", OPEN, {EINTR, EINTR}, LJM_OK, 0},
    {"open", OPEN, {EACCES}, LJM_E_IO, EACCES},
    {"what is it", FSTAT, {EIO}, LJM_E_IO, EIO},
    {"seek", LSEEK, {ESPIPE}, LJM_E_IO, ESPIPE},
    {"later seek", LSEEK, {0, 0, EINVAL}, LJM_E_IO, EINVAL},
    {"read interrupted", READ, {EINTR, EINTR, EINTR}, LJM_OK, 0},
    {"read", READ, {EIO}, LJM_E_IO, EIO},
    {"later read", READ, {0, 0, ENXIO}, LJM_E_IO, ENXIO},
    {"short reads", READ, {ODD, ODD, ODD}, LJM_OK, 0},
    {"nothing read", READ, {NONE_READ}, LJM_E_TRUNCATED, 0},
    {"nothing read later", READ, {0, NONE_READ}, LJM_E_TRUNCATED, 0}
  };
  size_t i, count = 0;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljm_image img;
    ljt.row = rows[i].name;
    quiet();
    memcpy(plans[rows[i].what].result, rows[i].result, sizeof(rows->result));
    errno = 55;
    LJT_EQ(ljm_image_open_path(&img, "/proc/self/exe", NULL, NULL),
           rows[i].status);
    LJT_EQ(errno, 55);
    LJT_EQ(img.error.sys_errno, rows[i].sys_errno);
    if (i == 0) count = img.count;
    LJT_EQ(img.count, rows[i].status == LJM_OK ? count : 0);
    LJT_EQ(plans[CLOSE].seen, rows[i].what != OPEN || rows[i].status == LJM_OK);
    ljm_image_free(&img);
  }
  ljt.row = NULL;
  quiet();
  LJT_OK(count > 10);
}

/* Number 0 is a descriptor as others are, also if a call before was
** interrupted. */
static void descriptor_zero(void)
{
  int keep = fcntl(0, F_DUPFD, 10);
  ljm_image img;
  ljm_resolver r;
  ljm_location loc;
  if (keep >= 0) close(0);
  quiet();
  errno = EINTR;
  LJT_EQ(ljm_image_open_path(&img, "/proc/self/exe", NULL, NULL), LJM_OK);
  LJT_EQ(plans[OPEN].seen, 1);
  LJT_EQ(fcntl(0, F_GETFD), -1);
  ljm_image_free(&img);
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  quiet();
  errno = EINTR;
  LJT_EQ(ljm_resolver_lookup(&r, (uintptr_t)own, &loc), LJM_OK);
  LJT_STR(loc.symbol.name, "own_function");
  LJT_EQ(plans[OPEN].seen, 1);
  LJT_EQ(fcntl(0, F_GETFD), -1);
  ljm_resolver_free(&r);
  if (keep >= 0) {
    LJT_EQ(dup2(keep, 0), 0);
    close(keep);
  }
}

/* What reading 8 bytes of memory through a pipe comes to. */
static void pipe_reads(void)
{
  static const struct {
    const char *name;
    call what;
    int result, want;
  } rows[] = {
    {"all well", NONE, 0, 8}, {"not mapped", MEMORY, EFAULT, -EFAULT},
    {"writing interrupted", MEMORY, EINTR, 8},
    {"nothing written", MEMORY, ODD, -EIO}, {"not read", READ, EBADF, -EBADF},
    {"reading interrupted", READ, EINTR, 8}, {"less read", READ, ODD, -EIO},
    {"nothing read", READ, NONE_READ, -EIO}
  };
  static const char from[] = "8 bytes";
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljm_reader reader;
    ljmi_pipe p;
    char to[8];
    ljt.row = rows[i].name;
    quiet();
    LJT_EQ(ljmi_pipe_open(&p, &reader), 1);
    plans[rows[i].what].result[0] = rows[i].result;
    LJT_EQ(reader.read(reader.user, (uintptr_t)from, to, 8), rows[i].want);
    if (rows[i].want == 8) LJT_STR(to, from);
    ljmi_pipe_close(&p);
  }
  ljt.row = NULL;
  quiet();
}

/* A function of libc, which is in its dynamic symbols. */
static uint64_t libc_function(void)
{
  return (uintptr_t)dlsym(RTLD_DEFAULT, "getppid");
}

/* With no file at hand names come from memory, through a pipe. */
typedef struct memory_row {
  const char *name;
  call what;
  int result, lasts, named;
} memory_row;

static void memory_calls(void)
{
  static const memory_row rows[] = {
    {"all well", NONE, 0, 0, 1},
    {"no pipe", PIPE, EMFILE, 1, 0},
    {"writing interrupted", MEMORY, EINTR, 0, 1},
    {"not mapped", MEMORY, EFAULT, 1, 0},
    {"nothing taken", MEMORY, ODD, 1, 0},
    {"reading interrupted", READ, EINTR, 0, 1},
    {"not read", READ, EIO, 1, 0},
    {"half read", READ, ODD, 1, 0}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljm_resolver r;
    ljm_location loc;
    ljt.row = rows[i].name;
    quiet();
    LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
    quiet();
    always(OPEN, ENOENT);
    if (rows[i].lasts) always(rows[i].what, rows[i].result);
    else plans[rows[i].what].result[0] = rows[i].result;
    LJT_EQ(ljm_resolver_lookup(&r, libc_function(), &loc), LJM_OK);
    LJT_EQ(loc.symbol.name != NULL, rows[i].named);
    LJT_EQ(loc.module->from, rows[i].named ? LJM_FROM_MEMORY : LJM_FROM_NONE);
    LJT_EQ(loc.module->status, rows[i].named ? LJM_OK : LJM_E_IO);
    /* The file: for .symtab, and once more for .dynsym. */
    LJT_EQ(plans[OPEN].seen, rows[i].named ? 1 : 2);
    quiet();
    ljm_resolver_free(&r);
  }
  ljt.row = NULL;
}

/* With no memory at hand names come from the file, be it .dynsym. */
static void file_alone(void)
{
  ljm_resolver r;
  ljm_location loc;
  ljm_image img;
  quiet();
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  always(MEMORY, EFAULT);
  LJT_EQ(ljm_resolver_lookup(&r, libc_function(), &loc), LJM_OK);
  quiet();
  LJT_OK(loc.symbol.name != NULL);
  LJT_EQ(ljm_image_open_path(&img, loc.module->path, NULL, NULL), LJM_OK);
  LJT_EQ(loc.module->from, img.from);
  ljm_image_free(&img);
  ljm_resolver_free(&r);
}

/* -- The list of modules ------------------------------------------------ */

/* A resolver made under a plan or a lie, the number of its modules, and what
** it calls this program's function. */
static void list_of(ljm_resolver *r, size_t *count, const char *name)
{
  ljm_location loc;
  LJT_EQ(ljm_resolver_init(r, NULL), LJM_OK);
  *count = ljm_resolver_module_count(r);
  LJT_EQ(ljm_resolver_lookup(r, (uintptr_t)own, &loc), LJM_OK);
  LJT_STR(loc.symbol.name, name);
}

static void no_build_ids(const ljm_resolver *r)
{
  size_t i;
  for (i = 0; i < ljm_resolver_module_count(r); i++)
    LJT_EQ(ljm_resolver_module(r, i)->build_id.size, 0);
}

/* Nothing of memory can be read: without the build-id that stands there, no
** file is known to be the one loaded. */
static void unreadable_memory(void)
{
  ljm_resolver r;
  size_t count, usual;
  quiet();
  list_of(&r, &usual, "own_function");
  ljm_resolver_free(&r);
  always(MEMORY, EFAULT);
  list_of(&r, &count, NULL);
  LJT_EQ(count, usual);
  no_build_ids(&r);
  quiet();
  ljm_resolver_free(&r);
  always(PIPE, EMFILE);
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_E_IO);
  quiet();
}

/* The program's path cannot be asked for. */
static void nameless_program(void)
{
  ljm_resolver r;
  size_t count;
  loader = PROGRAM_NAMED;
  always(LINK, EACCES);
  list_of(&r, &count, "own_function");
  LJT_STR(ljm_resolver_module(&r, 0)->path, "");
  loader = HONEST;
  quiet();
  ljm_resolver_free(&r);
}

/* Where the system does not say which module is its own, that is listed. */
static void unknown_vdso(void)
{
  ljm_resolver r;
  size_t count, usual;
  int there = getauxval(AT_SYSINFO_EHDR) != 0;
  quiet();
  list_of(&r, &usual, "own_function");
  ljm_resolver_free(&r);
  always(AUXV, ODD);
  list_of(&r, &count, "own_function");
  LJT_EQ(count, usual + (there ? 1 : 0));
  quiet();
  ljm_resolver_free(&r);
}

static void lying_loader(void)
{
  ljm_resolver r;
  size_t count, i;
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
  LJT_OK(n > 0);
  path[n] = 0;
  loader = PROGRAM_NAMED;
  list_of(&r, &count, "own_function");
  LJT_STR(ljm_resolver_module(&r, 0)->path, path);
  ljm_resolver_free(&r);
  loader = NAMELESS; /* Then each is taken for the program. */
  list_of(&r, &count, "own_function");
  for (i = 0; i < count; i++)
    LJT_STR(ljm_resolver_module(&r, i)->path, path);
  ljm_resolver_free(&r);
  loader = NOTES_AWAY;
  note = malloc(sizeof(build_id));
  LJT_OK(note != NULL);
  memcpy(note, build_id, sizeof(build_id));
  list_of(&r, &count, NULL);
  no_build_ids(&r);
  ljm_resolver_free(&r);
  free(note);
  loader = LONG_NAMES;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  for (i = 0; i < ljm_resolver_module_count(&r); i++)
    LJT_EQ(strlen(ljm_resolver_module(&r, i)->path), 4095);
  ljm_resolver_free(&r);
  loader = HONEST;
}

/* Does the file say that it is the one that was loaded? */
static int is_sure(const ljm_loaded_module *m)
{
  ljm_image img;
  int same = ljm_image_open_path(&img, m->path, NULL, NULL) == LJM_OK &&
             m->build_id.size != 0 && m->build_id.size == img.build_id.size &&
             memcmp(m->build_id.data, img.build_id.data, img.build_id.size)
               == 0;
  ljm_image_free(&img);
  return same;
}

/* A list that changes each time it is looked at: what is sure is known, and
** the list stays marked. */
static void moving_list(void)
{
  ljm_resolver r;
  size_t count, i;
  loader = MOVING;
  list_of(&r, &count, "own_function");
  LJT_OK(count > 1);
  LJT_EQ(ljm_resolver_check(&r), 1);
  for (i = 1; i < count; i++) {
    const ljm_loaded_module *m = ljm_resolver_module(&r, i);
    LJT_EQ(m->loaded, is_sure(m));
  }
  loader = HONEST;
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  LJT_EQ(ljm_resolver_check(&r), 0);
  ljm_resolver_free(&r);
}

/* The list is looked at again up to four times, and so are the symbols that
** memory has. */
static void settling_list(void)
{
  static const struct { unsigned until; int moving; } rows[] = {
    {0, 0}, {2, 0}, {6, 0}, {8, 1}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljm_resolver r;
    size_t count;
    list_of(&r, &count, "own_function");
    memset(&changes, 0, sizeof(changes));
    changes.every = 2; /* List, look whether it has changed, ... */
    changes.until = rows[i].until;
    loader = SETTLING;
    ljm_resolver_mark_dirty(&r);
    LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
    LJT_EQ(ljm_resolver_check(&r), rows[i].moving);
    loader = HONEST;
    LJT_EQ(ljm_resolver_module_count(&r), count);
    ljm_resolver_free(&r);
  }
}

static void settling_symbols(void)
{
  static const struct { unsigned until; int named; } rows[] = {
    {0, 1}, {2, 1}, {10, 1}, {14, 0}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    ljm_resolver r;
    ljm_location loc;
    LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
    memset(&changes, 0, sizeof(changes));
    changes.every = 4; /* Look, read, look; list, look; look, read, ... */
    changes.until = rows[i].until;
    loader = SETTLING;
    always(OPEN, ENOENT);
    LJT_EQ(ljm_resolver_lookup(&r, libc_function(), &loc), LJM_OK);
    LJT_EQ(loc.symbol.name != NULL, rows[i].named);
    LJT_EQ(loc.module->indexed, rows[i].named);
    LJT_EQ(loc.module->from, rows[i].named ? LJM_FROM_MEMORY : LJM_FROM_NONE);
    LJT_EQ(ljm_resolver_lookup(&r, libc_function(), &loc), LJM_OK);
    LJT_OK(loc.symbol.name != NULL);
    quiet();
    loader = HONEST;
    ljm_resolver_free(&r);
  }
}

/* While the list changes, a module counts only if its file says that it is
** the one: not if that cannot be opened. */
static void moving_and_unsure(void)
{
  ljm_resolver r;
  size_t i, loaded = 0;
  loader = MOVING;
  always(OPEN, EACCES);
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  LJT_OK(ljm_resolver_module_count(&r) > 1);
  for (i = 0; i < ljm_resolver_module_count(&r); i++)
    loaded += (size_t)ljm_resolver_module(&r, i)->loaded;
  LJT_EQ(loaded, 1);
  LJT_EQ(ljm_resolver_module(&r, 0)->loaded, 1);
  quiet();
  loader = HONEST;
  ljm_resolver_free(&r);
}

/* The symbols of a module that is gone, or of which nothing can be known. */
static void symbols_of(void)
{
  ljm_resolver r;
  const ljm_loaded_module *m;
  size_t count;
  list_of(&r, &count, "own_function");
  LJT_OK(count > 1);
  m = ljm_resolver_module(&r, 0);
  LJT_OK(ljm_resolver_symbols(&r, m) != NULL);
  ljm_resolver_mark_dirty(&r);
  always(PIPE, EMFILE);
  LJT_OK(ljm_resolver_symbols(&r, m) == NULL);
  quiet();
  LJT_OK(ljm_resolver_symbols(&r, m) != NULL);
  loader = PROGRAM_ONLY;
  ljm_resolver_mark_dirty(&r);
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  m = ljm_resolver_module(&r, 1);
  LJT_EQ(m->loaded, 0);
  LJT_OK(ljm_resolver_symbols(&r, m) == NULL);
  loader = HONEST;
  ljm_resolver_free(&r);
}

int main(int argc, char **argv)
{
  char command[96];
  ljt_begin(argc, argv);
  snprintf(dir, sizeof(dir), "/tmp/ljm-syscalls-XXXXXX");
  if (!mkdtemp(dir)) return 1;
  LJT_CASE(file_calls);
  LJT_CASE(never_cut);
  LJT_CASE(signal_taken);
  LJT_CASE(another_file);
  LJT_CASE(not_the_opener);
  LJT_CASE(largest_write);
  LJT_CASE(file_opens);
  LJT_CASE(clocks);
  LJT_CASE(image_calls);
  LJT_CASE(descriptor_zero);
  LJT_CASE(pipe_reads);
  LJT_CASE(memory_calls);
  LJT_CASE(file_alone);
  LJT_CASE(unreadable_memory);
  LJT_CASE(nameless_program);
  LJT_CASE(unknown_vdso);
  LJT_CASE(lying_loader);
  LJT_CASE(moving_list);
  LJT_CASE(settling_list);
  LJT_CASE(settling_symbols);
  LJT_CASE(moving_and_unsure);
  LJT_CASE(symbols_of);
  snprintf(command, sizeof(command), "rm -rf %s", dir);
  if (system(command) != 0) return 1;
  return ljt_end();
}
