/*
** test_resolver - the process's own modules. Also runs linked statically,
** under emulators, and with LJM_NO_RESOLVER.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"
#include "ljtmem.h"

#include <sys/resource.h>
#include <sys/wait.h>

static int own_static(int n) { return n + 1; }
int own_global(int n) { return n + 2; }

/* Functions of this program, by way of data that no optimizer sees through. */
static int (*volatile functions[2])(int) = {own_static, own_global};

static uint64_t address(int i) { return (uintptr_t)functions[i]; }

#ifdef LJM_NO_RESOLVER

static void nothing_known(void)
{
  ljm_resolver r;
  ljm_location loc;
  ljm_image img;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  LJT_EQ(ljm_resolver_check(&r), 0);
  ljm_resolver_mark_dirty(&r);
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  LJT_EQ(ljm_resolver_lookup(&r, address(1), &loc), LJM_E_NOTFOUND);
  LJT_OK(!loc.module && !loc.symbol.name);
  LJT_EQ(ljm_resolver_module_count(&r), 0);
  LJT_OK(ljm_resolver_module(&r, 0) == NULL);
  LJT_EQ(ljm_resolver_generation(&r), 0);
  ljm_resolver_free(&r);
  LJT_EQ(ljm_image_open_path(&img, "/proc/self/exe", NULL, NULL),
         LJM_E_UNSUPPORTED);
  ljm_image_free(&img);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(nothing_known);
  return ljt_end();
}

#else

static void own_functions(void)
{
  ljm_resolver r;
  ljm_location loc;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  errno = 55;
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_OK);
  LJT_EQ(errno, 55);
  LJT_STR(loc.symbol.name, "own_static");
  LJT_EQ(loc.offset, 0);
  LJT_EQ(loc.symbol_addr, address(0));
  LJT_OK(loc.symbol.size != 0);
  LJT_EQ(loc.symbol.name_size, 10);
  LJT_EQ(loc.module->from, LJM_FROM_SYMTAB);
  LJT_EQ(loc.module->status, LJM_OK);
  LJT_OK(loc.module->loaded && loc.module->indexed);
  LJT_EQ(loc.symbol.vaddr, (uintptr_t)(address(0) - loc.module->bias));
  LJT_EQ(ljm_resolver_lookup(&r, address(1) + 1, &loc), LJM_OK);
  LJT_STR(loc.symbol.name, "own_global");
  LJT_EQ(loc.offset, 1);
  ljm_resolver_free(&r);
}

/* Nothing of anybody's stands on the stack, the heap, or at the ends. */
static void unknown_addresses(void)
{
  ljm_resolver r;
  ljm_location loc;
  void *heap = malloc(1 << 20);
  uint64_t at[5];
  int i;
  at[0] = (uintptr_t)&r;
  at[1] = (uintptr_t)heap + 50000;
  at[2] = 0;
  at[3] = UINT64_MAX;
  at[4] = 1;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  for (i = 0; i < 5; i++) {
    LJT_EQ(ljm_resolver_lookup(&r, at[i], &loc), LJM_E_NOTFOUND);
    LJT_OK(loc.module == NULL && loc.symbol.name == NULL);
  }
  LJT_EQ(ljm_resolver_generation(&r), 1);
  ljm_resolver_free(&r);
  free(heap);
}

/* Data of a module: the module is known, no function covers it. */
static void data_address(void)
{
  ljm_resolver r;
  ljm_location loc;
  uint64_t at = (uintptr_t)&functions;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  LJT_EQ(ljm_resolver_lookup(&r, at, &loc), LJM_OK);
  LJT_OK(loc.symbol.name == NULL);
  LJT_EQ(loc.offset, (uintptr_t)(at - loc.module->bias));
  ljm_resolver_free(&r);
}

static void program_module(void)
{
  ljm_resolver r;
  ljm_location loc;
  ljm_image img;
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
  LJT_OK(n > 0);
  path[n > 0 ? n : 0] = 0;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_OK);
  /* Loaders name it in their own way, or not at all. */
  LJT_OK(strcmp(loc.module->path, path) == 0 || loc.module->path[0] != '/');
  LJT_OK(address(0) - loc.module->base < loc.module->size);
  LJT_EQ(ljm_image_open_path(&img, "/proc/self/exe", NULL, NULL), LJM_OK);
  LJT_MEM(loc.module->build_id.data, loc.module->build_id.size,
          img.build_id.data, img.build_id.size);
  ljm_image_free(&img);
  ljm_resolver_free(&r);
}

/* The vDSO is no module. */
static void vdso(void)
{
  ljm_resolver r;
  ljm_location loc;
  uint64_t at = getauxval(AT_SYSINFO_EHDR);
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  if (at != 0)
    LJT_EQ(ljm_resolver_lookup(&r, at + 0x40, &loc), LJM_E_NOTFOUND);
  ljm_resolver_free(&r);
}

static void eager(void)
{
  ljm_resolver r;
  ljm_location loc;
  const ljm_image *img;
  ljm_symbol sym;
  size_t i, found = 0;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  LJT_EQ(ljm_resolver_lookup(&r, address(1), &loc), LJM_OK);
  img = ljm_resolver_symbols(&r, loc.module);
  LJT_OK(img != NULL);
  for (i = 0; img && i < img->count; i++) {
    LJT_EQ(ljm_image_symbol(img, i, &sym), LJM_OK);
    if (strcmp(sym.name, "own_static") == 0 &&
        (uintptr_t)(sym.vaddr + loc.module->bias) == address(0))
      found++;
  }
  LJT_EQ(found, 1);
  for (i = 0; i < ljm_resolver_module_count(&r); i++) {
    const ljm_loaded_module *m = ljm_resolver_module(&r, i);
    LJT_EQ(m->id, i + 1);
    (void)ljm_resolver_symbols(&r, m);
    LJT_OK(m->indexed);
  }
  LJT_OK(ljm_resolver_module(&r, i) == NULL);
  ljm_resolver_free(&r);
}

/* A module's first and last byte are its own, the one behind is not. */
static void module_ends(void)
{
  ljm_resolver r;
  ljm_location loc;
  size_t i;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  for (i = 0; i < ljm_resolver_module_count(&r); i++) {
    const ljm_loaded_module *m = ljm_resolver_module(&r, i);
    LJT_EQ(ljm_resolver_lookup(&r, m->base, &loc), LJM_OK);
    LJT_OK(loc.module == m);
    LJT_EQ(ljm_resolver_lookup(&r, m->base + m->size - 1, &loc), LJM_OK);
    LJT_OK(loc.module == m);
    (void)ljm_resolver_lookup(&r, m->base + m->size, &loc);
    LJT_OK(loc.module != m);
  }
  ljm_resolver_free(&r);
}

/* A module's symbols are read when the first of its functions is looked up,
** and those of no other one. */
static void on_first_need(void)
{
  ljm_resolver r;
  ljm_location loc;
  size_t i, n, indexed = 0;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  n = ljm_resolver_module_count(&r);
  LJT_OK(n > 0);
  for (i = 0; i < n; i++) LJT_OK(!ljm_resolver_module(&r, i)->indexed);
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_OK);
  for (i = 0; i < n; i++)
    indexed += ljm_resolver_module(&r, i)->indexed ? 1 : 0;
  LJT_EQ(indexed, 1);
  LJT_OK(loc.module->indexed);
  ljm_resolver_free(&r);
}

/* Not one lookup looks again while nothing changes. */
static void quiet(void)
{
  ljm_resolver r;
  ljm_location loc;
  ljt_heap heap;
  ljm_resolver_options o;
  uint64_t calls;
  int i;
  memset(&o, 0, sizeof(o));
  o.alloc = ljt_fresh_allocator(&heap);
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
  LJT_EQ(ljm_resolver_check(&r), 0);
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_OK);
  calls = heap.calls;
  for (i = 0; i < 100; i++)
    LJT_EQ(ljm_resolver_lookup(&r, address(i & 1) + 1, &loc), LJM_OK);
  LJT_EQ(heap.calls, calls);
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  LJT_EQ(heap.calls, calls);
  ljm_resolver_mark_dirty(&r);
  LJT_EQ(ljm_resolver_check(&r), 1);
  LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
  LJT_EQ(ljm_resolver_check(&r), 0);
  LJT_EQ(ljm_resolver_generation(&r), 1);
  ljm_resolver_free(&r);
  LJT_OK(heap.live_count == 0 && heap.bad_frees == 0);
}

/* Each allocation fails in turn: no name is wrong, nothing is lost. */
static void out_of_memory(void)
{
  ljt_heap heap;
  ljm_resolver_options o;
  uint64_t n;
  int complete = 0, unnamed = 0;
  memset(&o, 0, sizeof(o));
  o.alloc = ljt_fresh_allocator(&heap);
  for (n = 1; n < 1000 && !complete; n++) {
    ljm_resolver r;
    ljm_location loc;
    ljm_status status;
    memset(&heap, 0, sizeof(heap));
    heap.fail_at = n;
    status = ljm_resolver_init(&r, &o);
    if (status == LJM_OK) {
      status = ljm_resolver_lookup(&r, address(0), &loc);
      LJT_EQ(status, LJM_OK);
      complete = loc.symbol.name != NULL && heap.calls < n;
      if (loc.symbol.name) {
        LJT_STR(loc.symbol.name, "own_static");
      } else {
        unnamed++;
        LJT_EQ(loc.module->status, LJM_E_NOMEM);
        LJT_EQ(loc.offset, (uintptr_t)(address(0) - loc.module->bias));
      }
      heap.fail_at = 0; /* And a refresh works again. */
      ljm_resolver_mark_dirty(&r);
      LJT_EQ(ljm_resolver_refresh(&r), LJM_OK);
      ljm_resolver_free(&r);
    } else {
      LJT_EQ(status, LJM_E_NOMEM);
    }
    LJT_OK(heap.live_count == 0 && heap.bad_frees == 0);
  }
  LJT_OK(complete && unnamed > 0);
}

/* The budget is kept; a module that does not fit stays without names. */
static void memory_limit(void)
{
  ljt_heap heap;
  ljm_resolver_options o;
  ljm_resolver r;
  ljm_location loc;
  uint64_t base;
  memset(&o, 0, sizeof(o));
  o.alloc = ljt_fresh_allocator(&heap);
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
  base = heap.peak_size;
  ljm_resolver_free(&r);
  o.alloc = ljt_fresh_allocator(&heap);
  o.limits.memory_size = base;
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_OK);
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_OK);
  LJT_OK(loc.symbol.name == NULL);
  LJT_OK(loc.module->status == LJM_E_LIMIT ||
         loc.module->from == LJM_FROM_MEMORY);
  LJT_OK(heap.peak_size <= o.limits.memory_size);
  ljm_resolver_free(&r);
  o.alloc = ljt_fresh_allocator(&heap);
  o.limits.memory_size = 1000;
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_E_LIMIT);
  LJT_OK(heap.live_count == 0 && heap.bad_frees == 0);
  memset(&o, 0, sizeof(o));
  o.alloc.alloc = ljt_heap_alloc;
  LJT_EQ(ljm_resolver_init(&r, &o), LJM_E_ARG);
}

/* Without a free descriptor a refresh fails, and works later. */
static void no_descriptors(void)
{
  struct rlimit old, none;
  ljm_resolver r;
  ljm_location loc;
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  getrlimit(RLIMIT_NOFILE, &old);
  none = old;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  ljm_resolver_mark_dirty(&r);
  LJT_EQ(ljm_resolver_refresh(&r), LJM_E_IO);
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_E_IO);
  LJT_EQ(ljm_resolver_check(&r), 1);
  setrlimit(RLIMIT_NOFILE, &old);
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_OK);
  LJT_STR(loc.symbol.name, "own_static");
  LJT_EQ(ljm_resolver_generation(&r), 1);
  ljm_resolver_free(&r);
}

/* No descriptor stays open. */
static void descriptors_closed(void)
{
  ljm_resolver r;
  ljm_location loc;
  int before = dup(0), after;
  close(before);
  LJT_EQ(ljm_resolver_init(&r, NULL), LJM_OK);
  LJT_EQ(ljm_resolver_lookup(&r, address(0), &loc), LJM_OK);
  after = dup(0);
  close(after);
  LJT_EQ(after, before);
  ljm_resolver_free(&r);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(own_functions);
  LJT_CASE(unknown_addresses);
  LJT_CASE(data_address);
  LJT_CASE(program_module);
  LJT_CASE(vdso);
  LJT_CASE(eager);
  LJT_CASE(module_ends);
  LJT_CASE(on_first_need);
  LJT_CASE(quiet);
  LJT_CASE(out_of_memory);
  LJT_CASE(memory_limit);
  LJT_CASE(no_descriptors);
  LJT_CASE(descriptors_closed);
  return ljt_end();
}

#endif
