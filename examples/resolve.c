/*
** resolve - what stands at some addresses of this process.
**
** Prints something like
**   resolve compare+0x0
**   libc.so.6 qsort+0x4
**   resolve ljm_resolver_lookup+0x0
**   0x7ffd2c1b0e5c
** or "libfoo.so+0x1234" where no symbol of a module covers the address.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include <inttypes.h>
#include <stdio.h>

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void print_address(ljm_resolver *r, uint64_t addr)
{
  ljm_location loc;
  if (ljm_resolver_lookup(r, addr, &loc) != LJM_OK)
    printf("0x%" PRIx64 "\n", addr);
  else if (!loc.symbol.name)
    printf("%s+0x%" PRIx64 "\n", base_name(loc.module->path), loc.offset);
  else
    printf("%s %s+0x%" PRIx64 "\n", base_name(loc.module->path),
           loc.symbol.name, loc.offset);
}

static int compare(const void *a, const void *b)
{
  return *(const int *)a - *(const int *)b;
}

int main(void)
{
  ljm_resolver resolver;
  int numbers[3] = {3, 1, 2};
  if (ljm_resolver_init(&resolver, NULL) != LJM_OK) return 1;
  qsort(numbers, 3, sizeof(numbers[0]), compare);
  print_address(&resolver, (uintptr_t)compare);
  print_address(&resolver, (uintptr_t)qsort + 4);
  print_address(&resolver, (uintptr_t)ljm_resolver_lookup);
  print_address(&resolver, (uintptr_t)numbers); /* In no module. */
  ljm_resolver_free(&resolver);
  return 0;
}
