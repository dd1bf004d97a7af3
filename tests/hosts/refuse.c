/* refuse.c - goes before a host's libraries (LD_PRELOAD): of the calls of the
** function REFUSE that the patched LuaJIT makes, the one numbered REFUSE_AT,
** from 1 on, fails with ENOMEM, which the file REFUSE_TOLD tells. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uintptr_t low, high; /* Where that LuaJIT is. */
static const char *name, *told;
static long left;

static int module(struct dl_phdr_info *info, size_t size, void *user)
{
  int i;
  (void)size;
  (void)user;
  if (!strstr(info->dlpi_name, "libluajit")) return 0;
  for (i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    if (!low) low = at;
    high = at + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

__attribute__((constructor)) static void begin(void)
{
  const char *at = getenv("REFUSE_AT");
  name = getenv("REFUSE");
  told = getenv("REFUSE_TOLD");
  left = at ? atol(at) : 0;
  dl_iterate_phdr(module, NULL);
}

static int refused(const char *what, void *caller)
{
  uintptr_t at = (uintptr_t)caller;
  if (at < low || at >= high || !name || strcmp(name, what) != 0) return 0;
  if (left == 0 || --left != 0) return 0;
  close((int)syscall(SYS_openat, AT_FDCWD, told, O_CREAT | O_WRONLY, 0600));
  errno = ENOMEM;
  return 1;
}
#define REFUSED(what) refused(what, __builtin_return_address(0))

/* The next definition, which is the system's. */
#define REAL(type, what, args) \
  static type (*real) args; \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, what)

/* glibc's own names: dlsym may allocate. Compilers make calloc of malloc. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
  return REFUSED("malloc") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
  return REFUSED("malloc") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
  return REFUSED("realloc") ? NULL : __libc_realloc(p, size);
}

/* Each under both of its names: `off` is the offset's type. */
#define BOTH(fstat, stat, ftruncate, fcntl, mmap, off) \
  int fstat(int fd, struct stat *st) \
  { \
    REAL(int, #fstat, (int, struct stat *)); \
    return REFUSED("fstat") ? -1 : real(fd, st); \
  } \
  int ftruncate(int fd, off size) \
  { \
    REAL(int, #ftruncate, (int, off)); \
    return REFUSED("ftruncate") ? -1 : real(fd, size); \
  } \
  int fcntl(int fd, int call, ...) \
  { \
    REAL(int, #fcntl, (int, int, ...)); \
    va_list ap; \
    void *arg; \
    va_start(ap, call); \
    arg = va_arg(ap, void *); \
    va_end(ap); \
    return REFUSED("fcntl") ? -1 : real(fd, call, arg); \
  } \
  /* Of a file: LuaJIT's own memory is not meant. */ \
  void *mmap(void *at, size_t size, int prot, int flags, int fd, off from) \
  { \
    REAL(void *, #mmap, (void *, size_t, int, int, int, off)); \
    if (fd >= 0 && REFUSED("mmap")) return MAP_FAILED; \
    return real(at, size, prot, flags, fd, from); \
  }
BOTH(fstat, stat, ftruncate, fcntl, mmap, off_t)
BOTH(fstat64, stat64, ftruncate64, fcntl64, mmap64, off64_t)

int fchmod(int fd, mode_t mode)
{
  REAL(int, "fchmod", (int, mode_t));
  return REFUSED("fchmod") ? -1 : real(fd, mode);
}

long syscall(long number, ...)
{
  REAL(long, "syscall", (long, ...));
  long a[4];
  va_list ap;
  int i;
  va_start(ap, number);
  for (i = 0; i < 4; i++) a[i] = va_arg(ap, long);
  va_end(ap);
  if (number == SYS_memfd_create && REFUSED("memfd_create")) return -1;
  return real(number, a[0], a[1], a[2], a[3]);
}
