/*
** bench_resolver - the resolver's figures: start with 40 libraries loaded,
** lazy and eager; first name in a library of 50,000 functions, its index's
** memory; lookups a second; the stream of 1000 allocations of one C function.
** usage: bench_resolver [LIBRARY]   copies of LIBRARY are what is loaded; the
** compiler `cc` makes the large one. Processor time, medians of 9.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"

#include <dlfcn.h>

#define LIBS 40
#define FUNCTIONS 50000
#define ROUNDS 9

static char work[] = "/tmp/bench_resolver_XXXXXX";

/* Processor time in ms: this machine may have other things to do. */
static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *v, size_t n)
{
  qsort(v, n, sizeof(*v), by_value);
  return v[n / 2];
}

static void must(int ok, const char *what)
{
  if (ok) return;
  fprintf(stderr, "bench_resolver: %s failed\n", what);
  exit(1);
}

static ljm_resolver_options counting(ljt_heap *heap)
{
  ljm_resolver_options o;
  memset(heap, 0, sizeof(*heap));
  memset(&o, 0, sizeof(o));
  o.alloc.alloc = ljt_heap_alloc;
  o.alloc.realloc = ljt_heap_realloc;
  o.alloc.free = ljt_heap_free;
  o.alloc.user = heap;
  return o;
}

/* Loads copies of a library, each a module with a build-id of its own. */
static void load_copies(const char *path)
{
  char copy[4096];
  size_t size, i;
  unsigned char *data = ljt_read_file(path, &size), *id;
  ljm_image img;
  must(data != NULL, path);
  must(ljm_image_open_memory(&img, data, size, NULL, NULL) == LJM_OK, path);
  id = (unsigned char *)memmem(data, size, img.build_id.data,
                               img.build_id.size);
  must(img.build_id.size > 0 && id != NULL, "build-id");
  ljm_image_free(&img);
  for (i = 0; i < LIBS; i++) {
    FILE *f;
    *id = (unsigned char)i;
    snprintf(copy, sizeof(copy), "%s/lib%zu.so", work, i);
    f = fopen(copy, "wb");
    must(f && fwrite(data, 1, size, f) == size && fclose(f) == 0, copy);
    must(dlopen(copy, RTLD_NOW) != NULL, copy);
  }
  free(data);
}

static void bench_start(void)
{
  double lazy[ROUNDS], eager[ROUNDS];
  size_t modules = 0, symbols = 0, i, k;
  for (i = 0; i < ROUNDS; i++) {
    ljm_resolver r;
    double start = now();
    must(ljm_resolver_init(&r, NULL) == LJM_OK, "init");
    lazy[i] = now() - start;
    modules = ljm_resolver_module_count(&r);
    symbols = 0;
    for (k = 0; k < modules; k++) {
      const ljm_image *img =
        ljm_resolver_symbols(&r, ljm_resolver_module(&r, k));
      symbols += img ? img->count : 0;
    }
    eager[i] = now() - start;
    ljm_resolver_free(&r);
  }
  printf("start, %zu modules: lazy %.3f ms; eager (%zu functions) %.2f ms\n",
         modules, median(lazy, ROUNDS), symbols, median(eager, ROUNDS));
}

/* Writes and builds the large library; functions in no order of names. */
static void build_large(char *path, size_t size)
{
  char text[4096], command[10000];
  ljt_rng rng = ljt_rng_make(1);
  FILE *f;
  int i;
  snprintf(text, sizeof(text), "%s/large.s", work);
  snprintf(path, size, "%s/large.so", work);
  f = fopen(text, "w");
  must(f != NULL, text);
  fprintf(f, ".text\n");
  for (i = 0; i < FUNCTIONS; i++) {
    unsigned long long id = i ? (unsigned long long)ljt_rand(&rng) : 0;
    fprintf(f, ".globl f%016llx\n.type f%016llx, %%function\n"
               "f%016llx: .space 16\n.size f%016llx, 16\n", id, id, id, id);
  }
  must(fclose(f) == 0, text);
  snprintf(command, sizeof(command), "cc -shared -nostdlib -o %s %s", path,
           text);
  must(system(command) == 0, command);
}

static void bench_large(const char *path)
{
  double first[ROUNDS];
  uint64_t live = 0, peak = 0, names = 0, addr;
  size_t count = 0, i;
  void *lib = dlopen(path, RTLD_NOW), *sym;
  must(lib != NULL, path);
  sym = dlsym(lib, "f0000000000000000");
  must(sym != NULL, "dlsym");
  addr = (uintptr_t)sym;
  for (i = 0; i < ROUNDS; i++) {
    ljm_resolver r;
    ljm_location loc;
    ljt_heap heap;
    ljm_resolver_options o = counting(&heap);
    uint64_t before;
    double start;
    must(ljm_resolver_init(&r, &o) == LJM_OK, "init");
    before = heap.live_size;
    heap.peak_size = before;
    start = now();
    must(ljm_resolver_lookup(&r, addr + 3, &loc) == LJM_OK, "lookup");
    first[i] = now() - start;
    must(loc.symbol.name && loc.offset == 3, "name");
    count = ljm_resolver_symbols(&r, loc.module)->count;
    names = ljm_resolver_symbols(&r, loc.module)->names_cap;
    live = heap.live_size - before;
    peak = heap.peak_size - before;
    ljm_resolver_free(&r);
  }
  printf("first name, %zu functions: %.2f ms; %.2f bytes a symbol beside the "
         "names (peak %.2f), names %.2f\n", count, median(first, ROUNDS),
         (double)(live - names) / (double)count,
         (double)(peak - names) / (double)count,
         (double)names / (double)count);
}

static void bench_lookup(const char *path)
{
  double rate[2][ROUNDS];
  size_t i, k, n = 2000000;
  void *lib = dlopen(path, RTLD_NOW), *sym = dlsym(lib, "f0000000000000000");
  uint64_t base = (uintptr_t)sym, sum = 0;
  for (i = 0; i < ROUNDS; i++) {
    ljt_rng rng = ljt_rng_make(i);
    ljm_resolver r;
    ljm_location loc;
    double start;
    must(ljm_resolver_init(&r, NULL) == LJM_OK, "init");
    must(ljm_resolver_lookup(&r, base, &loc) == LJM_OK, "lookup");
    start = now();
    for (k = 0; k < n; k++) {
      ljm_resolver_lookup(&r, base + ljt_rand(&rng) % (16 * FUNCTIONS), &loc);
      sum += loc.offset;
    }
    rate[0][i] = (double)n / (now() - start) / 1e3;
    start = now();
    for (k = 0; k < n; k++) sum += (uint64_t)ljm_resolver_check(&r);
    rate[1][i] = (now() - start) / (double)n * 1e6;
    ljm_resolver_free(&r);
  }
  printf("lookups at random: %.2f M/s; reading the counters: %.1f ns (%d)\n",
         median(rate[0], ROUNDS), median(rate[1], ROUNDS), (int)(sum & 1));
}

static uint64_t taken;

static ptrdiff_t take(void *user, const void *data, size_t size)
{
  (void)user;
  (void)data;
  taken += size;
  return (ptrdiff_t)size;
}

static void bench_stream(void)
{
  ljm_encoder e;
  ljm_resolver r;
  ljm_location loc;
  ljm_where where;
  ljm_sink sink = {take, NULL, NULL};
  uint64_t i;
  must(ljm_resolver_init(&r, NULL) == LJM_OK, "init");
  must(ljm_encoder_init(&e, &sink, NULL) == LJM_OK, "encoder");
  must(ljm_encoder_open(&e) == LJM_OK, "open");
  where.source = LJM_SOURCE_C;
  where.address = (uintptr_t)printf;
  where.line = 0;
  must(ljm_resolver_lookup(&r, where.address, &loc) == LJM_OK, "lookup");
  ljm_encoder_csym(&e, where.address, loc.symbol.name, loc.symbol.name_size);
  for (i = 0; i < 1000; i++)
    ljm_encoder_alloc(&e, &where, 0x7f0000000000 + i * 64, 64);
  must(ljm_encoder_finish(&e) == LJM_OK, "finish");
  ljm_encoder_free(&e);
  ljm_resolver_free(&r);
  printf("1000 allocations of one C function, format 3: %llu bytes\n",
         (unsigned long long)taken);
}

int main(int argc, char **argv)
{
  char large[4096], command[4200];
  must(mkdtemp(work) != NULL, "mkdtemp");
  load_copies(argc > 1 ? argv[1] : LJT_LIB);
  bench_start();
  build_large(large, sizeof(large));
  bench_large(large);
  bench_lookup(large);
  bench_stream();
  snprintf(command, sizeof(command), "rm -rf %s", work);
  return system(command) != 0;
}
