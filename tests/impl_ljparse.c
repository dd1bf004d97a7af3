/* The functions of ljparse.h, compiled once for all programs that link them. */
#define LJP_IMPLEMENTATION
#include "ljparse.h"
