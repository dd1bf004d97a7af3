/*
** ljmemprof.h - 0.1.0 - records a LuaJIT VM's allocations into a stream and
** resolves C symbols in process. SPDX-License-Identifier: MIT
**
** (program, promises, macros: written with the parts they describe)
**
** -- Stream grammar ---------------------------------------------------------
** (normative; ljparse.h refers to it)
**
** -- Contents: search for the rule lines ------------------------------------
** Interface: Versions | Status codes | Allocator and sink | Encoder |
**            ELF images and symbols | LuaJIT binding
** Implementation: Includes | Errors | Allocator and limits |
**            Checked arithmetic and cursor | Sink and encoder |
**            ELF images and symbols | LuaJIT binding | Entry points
*/
#ifndef LJMEMPROF_H
#define LJMEMPROF_H

/* -- Versions ----------------------------------------------------------- */

#include <stddef.h>
#include <stdint.h>

#define LJM_VERSION 100
#define LJM_VERSION_STRING "0.1.0"

#ifndef LJM_API
#ifdef LJM_STATIC
#define LJM_API static
#elif defined(__cplusplus)
#define LJM_API extern "C"
#else
#define LJM_API extern
#endif
#endif

/* -- Status codes ------------------------------------------------------- */

/* Values are fixed once released. */
typedef enum ljm_status {
  LJM_OK = 0,
  LJM_E_ARG = 1,         /* An argument breaks the documented rules. */
  LJM_E_NOMEM = 2,       /* The profiler's own allocator failed. */
  LJM_E_IO = 3,          /* The sink or file failed; see the errno kept. */
  LJM_E_LIMIT = 4,       /* A configured limit was reached. */
  LJM_E_MALFORMED = 5,   /* Input (an ELF image) breaks its format. */
  LJM_E_UNSUPPORTED = 6, /* Valid input of a kind not handled. */
  LJM_E_TRUNCATED = 7,   /* Input ends before what it announces. */
  LJM_E_NOTFOUND = 8,    /* Nothing covers the address or name. */
  LJM_E_RUNNING = 9,     /* A recording is running already. */
  LJM_E_NOTRUNNING = 10  /* No recording is running. */
} ljm_status;

/* -- Allocator and sink ------------------------------------------------- */

/* Memory functions of one object. All NULL: malloc family; partly filled is
** LJM_E_ARG. `size` is in bytes and never 0; `old_size` is what was asked. */
typedef struct ljm_allocator {
  void *(*alloc)(void *user, size_t size);
  void *(*realloc)(void *user, void *p, size_t old_size, size_t size);
  void (*free)(void *user, void *p, size_t size);
  void *user;
} ljm_allocator;

/* Where bytes go. write takes 1..size bytes and returns how many it took,
** or a negated errno value; 0 counts as EIO. EINTR and EAGAIN are retried a
** bounded number of times. close returns 0 or an errno value and may be
** NULL. Neither may call into the recorder or the VM; a call that does gets
** LJM_E_RUNNING and changes nothing. */
typedef struct ljm_sink {
  ptrdiff_t (*write)(void *user, const void *data, size_t size);
  int (*close)(void *user);
  void *user;
} ljm_sink;

/* -- Encoder ------------------------------------------------------------ */

/* -- ELF images and symbols --------------------------------------------- */

/* -- LuaJIT binding ----------------------------------------------------- */

#endif /* LJMEMPROF_H */

/* == Implementation ===================================================== */

#if defined(LJM_IMPLEMENTATION) && !defined(LJM_IMPLEMENTATION_DONE)
#define LJM_IMPLEMENTATION_DONE

/* -- Includes ----------------------------------------------------------- */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- Errors ------------------------------------------------------------- */

/* -- Allocator and limits ----------------------------------------------- */

/* -- Checked arithmetic and cursor -------------------------------------- */

/* -- Sink and encoder --------------------------------------------------- */

/* -- ELF images and symbols --------------------------------------------- */

/* -- LuaJIT binding ----------------------------------------------------- */

/* -- Entry points ------------------------------------------------------- */

#endif /* LJM_IMPLEMENTATION */

/* -- Licence: MIT, see LICENSE ------------------------------------------ */
