/* test_resolver_off - the tests of test_resolver for LJM_NO_RESOLVER. */
#define LJM_NO_RESOLVER
#include "test_resolver.c"
