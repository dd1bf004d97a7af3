/*
** test_resolver_libs - libraries that come and go, of all kinds: the name of
** each address is its own or none, while files are changed, cut, replaced.
** --libs=DIR: where the libraries made from elflib.c are.
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ljtloader.h"

#define dl_iterate_phdr(cb, user) ljt_loader_iterate(dl_iterate_phdr, cb, user)
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#undef dl_iterate_phdr

#include "ljtest.h"
#include "ljtmem.h"
#include "elfbuild.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include <dlfcn.h>

/* The memory sanitizer's dlopen takes the bias for the first page's address,
** and crashes. */
#ifdef __has_feature
#if __has_feature(memory_sanitizer)
#define LJT_MSAN
#include <sanitizer/msan_interface.h>
#endif
#endif

static const char *libs;
static char work[] = "/tmp/test_resolver_XXXXXX";

enum { OPEN, HIDDEN, CXX, ASM, ASM_LOCAL, COUNT };
static const char *const suffix[COUNT] = {
  "_open", "_hidden", "_cxx", "_asm", "_asm_local"
};

typedef struct lib {
  void *handle;
  char tag[32];
  uint64_t at[COUNT];
} lib;

/* Name of function `which` of a library called `tag`. */
static const char *name_of(const char *tag, int which)
{
  static char text[128];
  if (which == CXX)
    snprintf(text, sizeof(text), "_ZN3ljt%zu%sEiRKSs", strlen(tag), tag);
  else
    snprintf(text, sizeof(text), "%s%s", tag, suffix[which]);
  return text;
}

static void lib_path(char *path, size_t size, const char *name)
{
  snprintf(path, size, "%s/libljt_%s.so", libs, name);
}

static int lib_open(lib *l, const char *path, const char *tag)
{
  void *(*address)(int);
  void *sym;
  int i;
  memset(l, 0, sizeof(*l));
  snprintf(l->tag, sizeof(l->tag), "%s", tag);
  l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!LJT_OK(l->handle != NULL)) {
    printf("  %s\n", dlerror());
    return 0;
  }
  sym = dlsym(l->handle, "ljt_address");
  if (!sym) return 1; /* Its hash tables are gone: for lib_take. */
  memcpy(&address, &sym, sizeof(address));
  for (i = 0; i < COUNT; i++) l->at[i] = (uintptr_t)address(i);
#ifdef LJT_MSAN /* The libraries have no sanitizer in them. */
  __msan_unpoison(l->at, sizeof(l->at));
#endif
  return 1;
}

/* Addresses as another copy of the same library has them. */
static void lib_take(lib *l, const lib *from)
{
  struct link_map *a = NULL, *b = NULL;
  int i;
  LJT_EQ(dlinfo(l->handle, RTLD_DI_LINKMAP, &a), 0);
  LJT_EQ(dlinfo(from->handle, RTLD_DI_LINKMAP, &b), 0);
#ifdef LJT_MSAN
  __msan_unpoison(a, sizeof(*a));
  __msan_unpoison(b, sizeof(*b));
#endif
  for (i = 0; i < COUNT; i++) l->at[i] = from->at[i] - b->l_addr + a->l_addr;
}

static void lib_close(lib *l)
{
  if (l->handle) LJT_EQ(dlclose(l->handle), 0);
  l->handle = NULL;
}

/* Looks function `which` of a library up: its own name, or none if `want` is
** 0; then the module and the offset are right. */
static void check(ljm_resolver *r, const lib *l, int which, int want)
{
  ljm_location loc;
  uint64_t at = l->at[which];
  const char *name = name_of(l->tag, which);
  LJT_EQ(ljm_resolver_lookup(r, at, &loc), LJM_OK);
  if (!loc.module) return;
  LJT_OK(loc.module->loaded && at - loc.module->base < loc.module->size);
  if (want) {
    LJT_STR(loc.symbol.name, name);
    LJT_EQ(loc.offset, 0);
  } else {
    LJT_STR(loc.symbol.name, NULL);
    LJT_EQ(loc.offset, (uintptr_t)(at - loc.module->bias));
  }
}

/* All of a library: the exported ones have names, the others if `hidden`. */
static void check_all(ljm_resolver *r, const lib *l, int hidden)
{
  check(r, l, OPEN, 1);
  check(r, l, CXX, 1);
  check(r, l, ASM, 1);
  check(r, l, HIDDEN, hidden);
  check(r, l, ASM_LOCAL, hidden);
}

static ljm_symbols_from from_of(ljm_resolver *r, const lib *l)
{
  ljm_location loc;
  return ljm_resolver_lookup(r, l->at[OPEN], &loc) == LJM_OK
           ? loc.module->from : LJM_FROM_NONE;
}

/* -- kinds of libraries ------------------------------------------------- */

static void kinds(void)
{
  static const struct {
    const char *name, *tag;
    int hidden; /* Names of functions that are not exported. */
    ljm_symbols_from from;
  } kind[] = {
    {"alpha", "alpha", 1, LJM_FROM_SYMTAB},
    {"beta", "beta", 1, LJM_FROM_SYMTAB},
    {"sysv", "sysv", 1, LJM_FROM_SYMTAB},
    {"gnu", "gnu", 1, LJM_FROM_SYMTAB},
    {"both", "both", 1, LJM_FROM_SYMTAB},
#ifndef LJT_MSAN
    {"odd", "odd", 1, LJM_FROM_SYMTAB},
    {"odd_stripped", "odd", 0, LJM_FROM_MEMORY},
#endif
    {"noid", "noid", 1, LJM_FROM_SYMTAB},
    {"sysv_stripped", "sysv", 0, LJM_FROM_MEMORY},
    {"gnu_stripped", "gnu", 0, LJM_FROM_MEMORY},
    {"both_stripped", "both", 0, LJM_FROM_MEMORY}
  };
  size_t i;
  for (i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
    char path[4096];
    ljm_resolver r;
    lib l;
    ljt.row = kind[i].name;
    lib_path(path, sizeof(path), kind[i].name);
    LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
    if (lib_open(&l, path, kind[i].tag)) {
      check_all(&r, &l, kind[i].hidden);
      LJT_EQ(from_of(&r, &l), kind[i].from);
      lib_close(&l);
    }
    ljm_resolver_free(&r);
  }
  ljt.row = NULL;
}

#ifdef __GLIBC__
/* An IFUNC's symbol covers the code that chooses. */
static void ifunc(void)
{
  char path[4096];
  ljm_image img;
  ljm_symbol sym;
  size_t i;
  int found = 0;
  lib_path(path, sizeof(path), "alpha");
  LJT_EQ(ljm_image_open_path(&img, path, NULL, NULL), LJM_OK);
  for (i = 0; ljm_image_symbol(&img, i, &sym) == LJM_OK; i++)
    found += strcmp(sym.name, "alpha_ifunc") == 0;
  LJT_EQ(found, 1);
  ljm_image_free(&img);
}
#endif

/* -- edited files ------------------------------------------------------- */

/* Writes a copy of a file for the resolver to be misled by. */
static void copy_file(const char *from, const char *to,
                      void (*edit)(unsigned char *data, size_t size))
{
  size_t size = 0;
  unsigned char *data = ljt_read_file(from, &size);
  FILE *f;
  LJT_OK(data != NULL);
  if (edit) edit(data, size);
  f = fopen(to, "wb");
  LJT_OK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
  free(data);
}

static void copy_lib(const char *name, const char *to,
                     void (*edit)(unsigned char *data, size_t size))
{
  char path[4096];
  lib_path(path, sizeof(path), name);
  copy_file(path, to, edit);
}

static void work_path(char *path, size_t size, const char *name)
{
  snprintf(path, size, "%s/%s", work, name);
}

static void drop_sections(unsigned char *data, size_t size)
{
  ElfW(Ehdr) h;
  (void)size;
  memcpy(&h, data, sizeof(h));
  h.e_shoff = 0;
  h.e_shnum = h.e_shstrndx = 0;
  memcpy(data, &h, sizeof(h));
}

/* The last segment that is loaded takes 8 bytes more of memory. */
static void other_headers(unsigned char *data, size_t size)
{
  ElfW(Ehdr) h;
  ElfW(Phdr) p;
  size_t i, at, last = 0;
  (void)size;
  memcpy(&h, data, sizeof(h));
  for (i = 0; i < h.e_phnum; i++) {
    at = h.e_phoff + i * sizeof(p);
    memcpy(&p, data + at, sizeof(p));
    if (p.p_type == PT_LOAD) last = at;
  }
  LJT_OK(last > 0);
  memcpy(&p, data + last, sizeof(p));
  p.p_memsz += 8;
  memcpy(data + last, &p, sizeof(p));
}

/* Renames the tags of the hash tables (and versions) in PT_DYNAMIC. */
static void drop_tags(unsigned char *data, const int64_t *tags, size_t n)
{
  ElfW(Ehdr) h;
  ElfW(Phdr) p;
  ElfW(Dyn) d;
  size_t i, k, at, done = 0;
  memcpy(&h, data, sizeof(h));
  for (i = 0; i < h.e_phnum; i++) {
    memcpy(&p, data + h.e_phoff + i * sizeof(p), sizeof(p));
    if (p.p_type != PT_DYNAMIC) continue;
    for (at = p.p_offset; at < p.p_offset + p.p_filesz; at += sizeof(d)) {
      memcpy(&d, data + at, sizeof(d));
      for (k = 0; k < n; k++) {
        if (d.d_tag != tags[k]) continue;
        d.d_tag = 0x6ffffabc;
        memcpy(data + at, &d, sizeof(d));
        done++;
      }
    }
  }
  LJT_OK(done > 0);
}

static void drop_hashes(unsigned char *data, size_t size)
{
  static const int64_t tags[] = {DT_HASH, DT_GNU_HASH};
  (void)size;
  drop_tags(data, tags, 2);
}

static void drop_hashes_versions(unsigned char *data, size_t size)
{
  static const int64_t tags[] = {
    DT_HASH, DT_GNU_HASH, DT_VERSYM, DT_VERNEED, DT_VERDEF
  };
  (void)size;
  drop_tags(data, tags, 5);
}

static void drop_all(unsigned char *data, size_t size)
{
  drop_hashes(data, size);
  drop_sections(data, size);
}

static void edited(void)
{
  static const struct {
    const char *row, *name, *tag;
    void (*edit)(unsigned char *data, size_t size);
    int hidden;
    ljm_symbols_from from;
  } kind[] = {
    {"no sections", "alpha", "alpha", drop_sections, 0, LJM_FROM_MEMORY},
    {"no hashes", "both", "both", drop_hashes, 1, LJM_FROM_SYMTAB},
    {"no hashes, stripped", "both_stripped", "both", drop_hashes, 0,
     LJM_FROM_MEMORY},
    {"no hashes, no versions", "gnu_stripped", "gnu", drop_hashes_versions, 0,
     LJM_FROM_MEMORY},
    {"no hashes, no sections", "sysv", "sysv", drop_all, 0, LJM_FROM_MEMORY}
  };
  size_t i;
  for (i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
    char path[4096], good[4096];
    ljm_resolver r;
    lib l, ref;
    ljt.row = kind[i].row;
    work_path(path, sizeof(path), "edited.so");
    copy_lib(kind[i].name, path, kind[i].edit);
    lib_path(good, sizeof(good), kind[i].name);
    LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
    if (lib_open(&l, path, kind[i].tag)) {
      if (lib_open(&ref, good, kind[i].tag)) {
        lib_take(&l, &ref);
        lib_close(&ref);
      }
      check_all(&r, &l, kind[i].hidden);
      LJT_EQ(from_of(&r, &l), kind[i].from);
      lib_close(&l);
    }
    ljm_resolver_free(&r);
    remove(path);
  }
  ljt.row = NULL;
}

/* -- files that change under a loaded library (M8) ---------------------- */

typedef void change_fn(const char *path);

static void change_nothing(const char *path) { (void)path; }
static void change_delete(const char *path) { remove(path); }

static void change_replace(const char *path)
{
  char other[4096];
  work_path(other, sizeof(other), "other.so");
  copy_lib("beta", other, NULL);
  LJT_EQ(rename(other, path), 0);
}

static void change_headers(const char *path)
{
  char other[4096];
  work_path(other, sizeof(other), "other.so");
  copy_file(path, other, other_headers);
  LJT_EQ(rename(other, path), 0);
}

static void change_to_text(const char *path)
{
  FILE *f;
  remove(path);
  f = fopen(path, "w");
  LJT_OK(f && fputs("not an ELF file\n", f) >= 0 && fclose(f) == 0);
}

static void change_to_directory(const char *path)
{
  remove(path);
  LJT_EQ(mkdir(path, 0700), 0);
}

static void change_to_fifo(const char *path)
{
  remove(path);
  LJT_EQ(mkfifo(path, 0600), 0);
}

static void changed_files(void)
{
  static const struct {
    const char *row, *name, *tag;
    change_fn *change;
    int hidden;
    ljm_symbols_from from;
  } kind[] = {
    {"not changed", "alpha", "alpha", change_nothing, 1, LJM_FROM_SYMTAB},
    {"deleted", "alpha", "alpha", change_delete, 0, LJM_FROM_MEMORY},
    {"another build-id", "alpha", "alpha", change_replace, 0,
     LJM_FROM_MEMORY},
    {"no build-id, another library", "noid", "noid", change_replace, 0,
     LJM_FROM_MEMORY},
    {"no build-id, other headers", "noid", "noid", change_headers, 0,
     LJM_FROM_MEMORY},
    {"same build-id, other headers", "alpha", "alpha", change_headers, 1,
     LJM_FROM_SYMTAB},
    {"text", "alpha", "alpha", change_to_text, 0, LJM_FROM_MEMORY},
    {"directory", "alpha", "alpha", change_to_directory, 0, LJM_FROM_MEMORY},
    {"fifo", "alpha", "alpha", change_to_fifo, 0, LJM_FROM_MEMORY}
  };
  size_t i;
  for (i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
    char path[4096];
    ljm_resolver r;
    lib l;
    ljt.row = kind[i].row;
    work_path(path, sizeof(path), "changed.so");
    copy_lib(kind[i].name, path, NULL);
    if (lib_open(&l, path, kind[i].tag)) {
      kind[i].change(path);
      LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
      check_all(&r, &l, kind[i].hidden);
      LJT_EQ(from_of(&r, &l), kind[i].from);
      ljm_resolver_free(&r);
      lib_close(&l);
    }
    remove(path);
  }
  ljt.row = NULL;
}

/* A library cut on disk, or hidden in memory: reading it there would be a
** signal. In a child, since it cannot be unloaded any more. */
static void unreadable(void)
{
  int kind;
  for (kind = 0; kind < 3; kind++) {
    char path[4096];
    int status = 0;
    pid_t pid;
    work_path(path, sizeof(path), "cut.so");
    copy_lib("both_stripped", path, NULL);
    pid = fork();
    if (pid == 0) {
      ljm_resolver r;
      ljm_location loc;
      int bad;
      lib l;
      if (!lib_open(&l, path, "both")) _exit(1);
      if (ljm_resolver_init(&r, NULL) != LJM_OK) _exit(2);
      if (ljm_resolver_refresh(&r) != LJM_OK) _exit(3);
      if (kind == 0 && truncate(path, 0) != 0) _exit(4);
      if (kind > 0) {
        struct link_map *map = NULL;
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        dlinfo(l.handle, RTLD_DI_LINKMAP, &map);
        page = map->l_addr & ~(page - 1);
        if (kind == 1 && mprotect((void *)page, 4096, PROT_NONE)) _exit(5);
        if (kind == 2 && munmap((void *)page, 4096)) _exit(6);
        remove(path);
      }
      bad = ljm_resolver_lookup(&r, l.at[OPEN], &loc) != LJM_OK ||
            loc.symbol.name != NULL || loc.module->status == LJM_OK;
      ljm_resolver_free(&r);
      _exit(bad ? 7 : 0);
    }
    LJT_EQ(waitpid(pid, &status, 0), pid);
    if (!LJT_EQ(status, 0)) printf("  kind %d\n", kind);
    remove(path);
  }
}

/* -- loading and unloading (M10, M11) ----------------------------------- */

typedef struct log {
  uint32_t ids[64];
  int loads[64];
  size_t count;
} event_log;

static void log_module(void *user, const ljm_loaded_module *m)
{
  event_log *log = (event_log *)user;
  if (log->count == 64) return;
  log->ids[log->count] = m->id;
  log->loads[log->count++] = m->loaded;
}

/* Nobody says anything: the first address in it finds the library. */
static void found_by_itself(void)
{
  char path[4096];
  ljm_resolver r;
  lib l;
  uint64_t generation;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  generation = ljm_resolver_generation(&r);
  LJT_EQ(ljm_resolver_check(&r), 0);
  lib_path(path, sizeof(path), "alpha");
  if (lib_open(&l, path, "alpha")) {
    LJT_EQ(ljm_resolver_check(&r), 1);
    check_all(&r, &l, 1);
    LJT_EQ(ljm_resolver_check(&r), 0);
    LJT_EQ(ljm_resolver_generation(&r), generation + 1);
    lib_close(&l);
  }
  LJT_EQ(ljm_resolver_check(&r), 1);
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  LJT_EQ(ljm_resolver_generation(&r), generation + 2);
  ljm_resolver_free(&r);
}

/* An open and a close between two events leave the modules the same. */
static void open_and_close(void)
{
  char path[4096];
  ljm_resolver_options o;
  ljm_resolver r;
  event_log log;
  lib l;
  memset(&o, 0, sizeof(o));
  memset(&log, 0, sizeof(log));
  o.on_module = log_module;
  o.user = &log;
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
  LJT_OK(log.count > 0 && log.loads[0] == 1);
  log.count = 0;
  lib_path(path, sizeof(path), "alpha");
  if (lib_open(&l, path, "alpha")) lib_close(&l);
  LJT_EQ(ljm_resolver_check(&r), 1);
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  LJT_EQ(log.count, 0);
  LJT_EQ(ljm_resolver_generation(&r), 1);
  ljm_resolver_free(&r);
}

/* A, then B where A was, then A again: found without being told, each with
** its own name; A's record is the same again. */
static void same_place(const char *a, const char *b)
{
  char path_a[4096], path_b[4096];
  ljm_resolver_options o;
  ljm_resolver r;
  ljm_location loc;
  event_log log;
  uint32_t id_a, id_b;
  const char *name;
  lib la, lb;
  int tries, met = 0;
  memset(&o, 0, sizeof(o));
  memset(&log, 0, sizeof(log));
  o.on_module = log_module;
  o.user = &log;
  lib_path(path_a, sizeof(path_a), a);
  lib_path(path_b, sizeof(path_b), b);
  for (tries = 0; tries < 20 && !met; tries++) {
    LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
    log.count = 0;
    if (!lib_open(&la, path_a, a)) return;
    check_all(&r, &la, 1);
    LJT_EQ(ljm_resolver_lookup(&r, la.at[OPEN], &loc), LJM_OK);
    id_a = loc.module->id;
    name = loc.symbol.name;
    lib_close(&la);
    if (!lib_open(&lb, path_b, b)) return;
    met = lb.at[OPEN] == la.at[OPEN];
    check_all(&r, &lb, 1);
    LJT_EQ(ljm_resolver_lookup(&r, lb.at[OPEN], &loc), LJM_OK);
    id_b = loc.module->id;
    LJT_OK(id_b != id_a);
    lib_close(&lb);
    if (!lib_open(&la, path_a, a)) return;
    met = met && lb.at[OPEN] == la.at[OPEN];
    check_all(&r, &la, 1);
    LJT_EQ(ljm_resolver_lookup(&r, la.at[OPEN], &loc), LJM_OK);
    if (met) LJT_EQ(loc.module->id, id_a);
    lib_close(&la);
    LJT_STR(name, name_of(a, OPEN)); /* Lives as long as the resolver. */
    if (met) {
      LJT_EQ(log.count, 5);
      LJT_OK(log.ids[0] == id_a && log.loads[0] == 1);
      LJT_OK(log.ids[1] == id_a && log.loads[1] == 0);
      LJT_OK(log.ids[2] == id_b && log.loads[2] == 1);
      LJT_OK(log.ids[3] == id_b && log.loads[3] == 0);
      LJT_OK(log.ids[4] == id_a && log.loads[4] == 1);
    }
    ljm_resolver_free(&r);
  }
  LJT_OK(met);
}

static void with_build_ids(void) { same_place("alpha", "beta"); }
static void without_build_ids(void) { same_place("noid", "onid"); }

/* Two libraries of one path, one after the other. */
static void one_path(void)
{
  static const char *const pairs[][2] = {{"alpha", "beta"}, {"noid", "onid"}};
  size_t i, k;
  for (i = 0; i < 2; i++) {
    char path[4096];
    ljm_resolver r;
    uint32_t ids[4];
    lib l;
    work_path(path, sizeof(path), "same.so");
    LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
    for (k = 0; k < 4; k++) {
      ljm_location loc;
      remove(path);
      copy_lib(pairs[i][k & 1], path, NULL);
      if (!lib_open(&l, path, pairs[i][k & 1])) continue;
      check_all(&r, &l, 1);
      LJT_EQ(ljm_resolver_lookup(&r, l.at[OPEN], &loc), LJM_OK);
      ids[k] = loc.module->id;
      if (k > 0) LJT_OK(ids[k] != ids[k - 1]);
      lib_close(&l);
    }
    ljm_resolver_free(&r);
    remove(path);
  }
}

/* The same library elsewhere, and again and again: one index, flat memory. */
static void many_times(void)
{
  char path[4096], copy[4096];
  ljm_resolver_options o;
  ljm_resolver r;
  ljm_allocator a;
  ljt_heap heap;
  uint64_t first = 0;
  lib l, other;
  int i;
  memset(&heap, 0, sizeof(heap));
  memset(&o, 0, sizeof(o));
  a = ljt_allocator(&heap);
  o.alloc = a;
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
  lib_path(path, sizeof(path), "alpha");
  work_path(copy, sizeof(copy), "copy.so");
  copy_lib("alpha", copy, NULL);
  for (i = 0; i < 50; i++) {
    if (!lib_open(&l, path, "alpha")) return;
    if (!lib_open(&other, copy, "alpha")) return;
    check_all(&r, &l, 1);
    if (i == 0) {
      first = heap.live_size;
    }
    check_all(&r, &other, 1);
    if (i == 0) LJT_OK(heap.live_size - first < 8192);
    lib_close(&other);
    lib_close(&l);
  }
  LJT_OK(heap.live_size - first < 64 * 1024);
  ljm_resolver_free(&r);
  LJT_OK(heap.live_count == 0 && heap.bad_frees == 0);
  remove(copy);
}

static const ljm_image *symbols_of(ljm_resolver *r, const lib *l)
{
  ljm_location loc;
  LJT_EQ(ljm_resolver_lookup(r, l->at[OPEN], &loc), LJM_OK);
  return loc.module ? ljm_resolver_symbols(r, loc.module) : NULL;
}

/* A copy of a library elsewhere shares its symbols, one of the same build-id
** with other headers does not. */
static void shared_symbols(void)
{
  char path[4096], copy[4096], odd[4096];
  ljm_resolver r;
  lib l, same, other;
  lib_path(path, sizeof(path), "alpha");
  work_path(copy, sizeof(copy), "copy.so");
  work_path(odd, sizeof(odd), "odd.so");
  copy_lib("alpha", copy, NULL);
  copy_lib("alpha", odd, other_headers);
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  if (lib_open(&l, path, "alpha") && lib_open(&same, copy, "alpha") &&
      lib_open(&other, odd, "alpha")) {
    const ljm_image *img = symbols_of(&r, &l);
    LJT_OK(img != NULL);
    LJT_OK(symbols_of(&r, &same) == img);
    LJT_OK(symbols_of(&r, &other) != img);
    check_all(&r, &l, 1);
    check_all(&r, &same, 1);
    check_all(&r, &other, 1);
    lib_close(&other);
    lib_close(&same);
    lib_close(&l);
  }
  ljm_resolver_free(&r);
  remove(copy);
  remove(odd);
}

/* More modules than the limit: the rest is told, not mixed up. */
static void module_limit(void)
{
  char path[4096];
  ljm_resolver_options o;
  ljm_resolver r;
  ljm_location loc;
  lib l;
  memset(&o, 0, sizeof(o));
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  o.limits.module_count = ljm_resolver_module_count(&r);
  ljm_resolver_free(&r);
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
  lib_path(path, sizeof(path), "alpha");
  if (lib_open(&l, path, "alpha")) {
    LJT_EQ(ljm_resolver_lookup(&r, l.at[OPEN], &loc), LJM_E_LIMIT);
    LJT_OK(!loc.module && !loc.symbol.name);
    lib_close(&l);
  }
  LJT_EQ(ljm_resolver_lookup(&r, (uintptr_t)module_limit, &loc), LJM_OK);
  LJT_STR(loc.symbol.name, "module_limit");
  ljm_resolver_free(&r);
}

static int locked_allocs;

/* An allocator that knows whether the loader's lock is held. */
static void *watched_alloc(void *user, size_t size)
{
  locked_allocs += ljt_loader.inside;
  return ljt_heap_alloc(user, size);
}

static void *watched_realloc(void *user, void *block, size_t old, size_t size)
{
  locked_allocs += ljt_loader.inside;
  return ljt_heap_realloc(user, block, old, size);
}

static void watched_free(void *user, void *block, size_t size)
{
  locked_allocs += ljt_loader.inside;
  ljt_heap_free(user, block, size);
}

/* While nothing changes, a lookup costs one call into the loader that returns
** at the first module; under its lock nothing is allocated (M9). */
static void one_read(void)
{
  char path[4096];
  ljm_resolver_options o;
  ljm_resolver r;
  ljm_location loc;
  ljt_heap heap;
  lib l;
  int i;
  memset(&heap, 0, sizeof(heap));
  memset(&o, 0, sizeof(o));
  o.alloc.alloc = watched_alloc;
  o.alloc.realloc = watched_realloc;
  o.alloc.free = watched_free;
  o.alloc.user = &heap;
  locked_allocs = 0;
  ljt_loader.callbacks = 0;
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
  lib_path(path, sizeof(path), "alpha");
  if (lib_open(&l, path, "alpha")) {
    check_all(&r, &l, 1);
    LJT_OK(ljt_loader.callbacks > 2);
    ljt_loader.calls = ljt_loader.callbacks = 0;
    for (i = 0; i < 10; i++) {
      LJT_EQ(ljm_resolver_lookup(&r, l.at[i % COUNT] + 1, &loc), LJM_OK);
      LJT_EQ(ljm_resolver_check(&r), 0);
    }
    LJT_EQ(ljt_loader.calls, 20);
    LJT_EQ(ljt_loader.callbacks, 20);
    lib_close(&l);
  }
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  ljm_resolver_free(&r);
  LJT_EQ(locked_allocs, 0);
  LJT_OK(heap.calls > 4 && heap.live_count == 0);
}

/* Others load libraries all the time: what was read from memory meanwhile is
** not trusted, the file has the same names. */
static void restless(void)
{
  char path[4096];
  ljm_resolver r;
  lib l;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  lib_path(path, sizeof(path), "both_stripped");
  if (lib_open(&l, path, "both")) {
    ljm_location loc;
    ljt_loader.restless = 1;
    check_all(&r, &l, 0);
    LJT_EQ(ljm_resolver_lookup(&r, l.at[0], &loc), LJM_OK);
    ljt_loader.restless = 0;
    LJT_EQ(loc.module->from, LJM_FROM_DYNSYM);
    LJT_EQ(loc.module->status, LJM_OK);
    lib_close(&l);
  }
  ljm_resolver_free(&r);
}

/* A loader without counters: what is new is found by an address that nobody
** knows, what has gone when someone says so. */
static void no_counters(void)
{
  char path[4096];
  ljm_resolver r;
  ljm_location loc;
  uint64_t at;
  lib l;
  ljt_loader.no_counters = 1;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  LJT_EQ(ljm_resolver_check(&r), 0);
  lib_path(path, sizeof(path), "alpha");
  if (lib_open(&l, path, "alpha")) {
    LJT_EQ(ljm_resolver_check(&r), 0);
    check_all(&r, &l, 1);
    LJT_EQ(ljm_resolver_generation(&r), 2);
    at = l.at[OPEN];
    lib_close(&l);
    ljm_resolver_mark_dirty(&r);
    LJT_EQ(ljm_resolver_lookup(&r, at, &loc), LJM_E_NOTFOUND);
    LJT_EQ(ljm_resolver_generation(&r), 3);
    LJT_EQ(ljm_resolver_check(&r), 0);
  }
  ljm_resolver_free(&r);
  ljt_loader.no_counters = 0;
}

/* Does a dlclose unload anything here? musl's never does. */
static int unloads(void)
{
  char path[4096];
  void *h;
  lib_path(path, sizeof(path), "alpha");
  h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (h) dlclose(h);
  h = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (h) dlclose(h);
  return h == NULL;
}

int main(int argc, char **argv)
{
  int i;
  ljt_begin(argc, argv);
  for (i = 1; i < argc; i++)
    if (strncmp(argv[i], "--libs=", 7) == 0) libs = argv[i] + 7;
  if (!libs || !mkdtemp(work)) {
    fprintf(stderr, "usage: test_resolver_libs --libs=DIR [CASE...]\n");
    return 2;
  }
  LJT_CASE(kinds);
#ifdef __GLIBC__
  LJT_CASE(ifunc);
#endif
  LJT_CASE(changed_files);
  LJT_CASE(unreadable);
  LJT_CASE(one_path);
  LJT_CASE(many_times);
  LJT_CASE(shared_symbols);
  if (unloads()) {
    LJT_CASE(edited);
    LJT_CASE(found_by_itself);
    LJT_CASE(open_and_close);
    LJT_CASE(with_build_ids);
    LJT_CASE(without_build_ids);
    LJT_CASE(module_limit);
    LJT_CASE(one_read);
    LJT_CASE(restless);
    LJT_CASE(no_counters);
  } else {
    printf("left out: what musl's loader has not: a dlclose that unloads, a "
           "dlsym without hash tables\n");
  }
  rmdir(work);
  return ljt_end();
}
