/*
** ljparse.h - 0.1.0 - reads LuaJIT memory profiler streams, aggregates and
** reports. SPDX-License-Identifier: MIT
**
** -- Macros (define them before the include) ---------------------------------
** name                 default    effect
** LJP_IMPLEMENTATION   undefined  this unit gets the function bodies
** LJP_STATIC           undefined  all functions are static to the unit
** LJP_API              extern     what stands before each public function
**
** Stream grammar: see ljmemprof.h, which is normative. Versions read: 1-4.
**
** -- Contents: search for the rule lines ------------------------------------
** Interface: Versions | Status codes | Allocator, limits and errors | AVL
**            tree | Decoder | Symbols | Aggregate | Reports
** Implementation: Includes | Errors | Allocator and limits | Checked
**            arithmetic and cursor | Decoder | AVL tree and symbols |
**            Aggregate | Reports
*/
#ifndef LJPARSE_H
#define LJPARSE_H

/* -- Versions ----------------------------------------------------------- */

#include <stddef.h>
#include <stdint.h>

#define LJP_VERSION 100
#define LJP_VERSION_STRING "0.1.0"

#ifndef LJP_API
#ifdef LJP_STATIC
#define LJP_API static
#elif defined(__cplusplus)
#define LJP_API extern "C"
#else
#define LJP_API extern
#endif
#endif

/* -- Status codes ------------------------------------------------------- */

#endif /* LJPARSE_H */

/* == Implementation ===================================================== */

#if defined(LJP_IMPLEMENTATION) && !defined(LJP_IMPLEMENTATION_DONE)
#define LJP_IMPLEMENTATION_DONE

/* -- Includes ----------------------------------------------------------- */

#include <stdlib.h>
#include <string.h>

#endif /* LJP_IMPLEMENTATION */

/* -- Licence: MIT, see LICENSE ------------------------------------------ */
