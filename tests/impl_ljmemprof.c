/* The functions of ljmemprof.h, compiled once for all that link them. */
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
