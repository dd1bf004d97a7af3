/*
** elflib.c - a library for the resolver's tests. LJT_TAG is its name: it
** exports TAG_open, TAG_cxx (under a C++ name), TAG_asm (assembly, no size)
** and ljt_address, which tells the addresses of those and of the functions
** that are not exported.
*/
#include <stdlib.h>

#define LJT_CAT2(a, b) a##b
#define LJT_CAT(a, b) LJT_CAT2(a, b)
#define LJT_STR2(a) #a
#define LJT_STR1(a) LJT_STR2(a)
#define LJT_NAME(x) LJT_CAT(LJT_TAG, x)
#define LJT_EXPORT __attribute__((visibility("default")))

LJT_EXPORT int LJT_NAME(_open)(int n);
LJT_EXPORT int LJT_NAME(_cxx)(int n)
  __asm__("_ZN3ljt" LJT_STR1(LJT_LEN) LJT_STR1(LJT_TAG) "EiRKSs");
LJT_EXPORT void *ljt_address(int which);

extern char LJT_NAME(_asm)[];
extern char LJT_NAME(_asm_local)[] __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".balign 16\n"
        ".globl " LJT_STR1(LJT_TAG) "_asm\n"
        LJT_STR1(LJT_TAG) "_asm: .space 16\n"
        LJT_STR1(LJT_TAG) "_asm_local: .space 16\n"
        ".balign 16\n");

static __attribute__((noinline, used)) int LJT_NAME(_hidden)(int n)
{
  return n ^ LJT_SEED; /* Code of one size whatever the seed. */
}

LJT_EXPORT int LJT_NAME(_open)(int n)
{
  return LJT_NAME(_hidden)(n) + LJT_SEED;
}

LJT_EXPORT int LJT_NAME(_cxx)(int n)
{
  return n - LJT_SEED;
}

#ifdef __GLIBC__
LJT_EXPORT int LJT_NAME(_ifunc)(int n);
typedef int LJT_NAME(_fn)(int n);
static __attribute__((used, no_sanitize("address", "thread", "undefined")))
LJT_NAME(_fn) *LJT_NAME(_choose)(void)
{
  return LJT_NAME(_hidden);
}
int LJT_NAME(_ifunc)(int n)
  __attribute__((ifunc(LJT_STR1(LJT_TAG) "_choose")));
#endif

#ifdef LJT_HOOK
/* The host is told from the constructor, while the loader is at work. */
extern void ljt_constructed(void *address);
static __attribute__((constructor)) void LJT_NAME(_construct)(void)
{
  ljt_constructed((void *)LJT_NAME(_open));
}
#endif

LJT_EXPORT void *ljt_address(int which)
{
  switch (which) {
  case 0: return (void *)LJT_NAME(_open);
  case 1: return (void *)LJT_NAME(_hidden);
  case 2: return (void *)LJT_NAME(_cxx);
  case 3: return (void *)LJT_NAME(_asm);
  case 4: return (void *)LJT_NAME(_asm_local);
  default: return NULL;
  }
}
