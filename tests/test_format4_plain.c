/*
** test_format4_plain - test_format4 on a machine whose compiler knows no
** instruction for the sums of blocks.
*/
#define LJM_IMPLEMENTATION
#define LJP_IMPLEMENTATION
#include "ljmemprof.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef __x86_64__
#undef __ARM_FEATURE_CRC32
#include "ljparse.h"
#ifdef LJPI_CRC_NATIVE
#error "there is one still"
#endif

#include "test_format4.c"
