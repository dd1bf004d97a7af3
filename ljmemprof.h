/*
** ljmemprof.h - 0.1.0 - records a LuaJIT VM's allocations into a stream and
** resolves C symbols in process. SPDX-License-Identifier: MIT
**
** (program, promises, macros: written with the parts they describe)
**
** -- Macros (define them before the include) ---------------------------------
** name                 default    effect
** LJM_IMPLEMENTATION   undefined  this unit gets the function bodies
** LJM_STATIC           undefined  all functions are static to the unit
** LJM_API              extern     what stands before each public function
**
** -- Stream grammar ---------------------------------------------------------
**
** Normative for formats 1 to 4; ljparse.h reads them all. Notation: U is an
** unsigned LEB128 number (7 bits a byte, low first, at most 10 bytes, at most
** 2^64-1); Z is a U holding a zigzag number ((n << 1) ^ (n >> 63)); B is one
** byte; u16, u32 are little-endian; S = U length, then that many bytes, any
** value; X* any number of X; X{n} n times. Bit layouts go from high to low.
**
** Formats 1 to 3 (as Tarantool's LuaJIT writes and reads them):
**
** stream      = symbols events
** symbols     = "ljs" B:version B{3} symbol* B:end      end: any B, bit 7 set
** symbol      = B:kind body                kind: bits 7-2 zero, bits 1-0 kind
** body        = proto | csym | trace
** proto       = U:address S:chunk U:firstline    kind 0
** csym        = U:address S:name                 kind 1, version 3
** trace       = U:number [U:mcode] U:proto-address U:startline
**                                                kind 1 in version 2, else 2
** events      = "ljm" B:version B{3} event* B:end       end: 80 hex exactly
** event       = B:header fields      header: 0 | 00 | source:3 | event:2
**                 event  0 symbol (LJM 3), 1 alloc, 2 free, 3 realloc
**                 source 1 internal, 2 Lua, 3 C, 4 trace
** fields      = where U:address U:size                       alloc and free
**             | where U:old U:old-size U:new U:new-size      realloc
**             | proto | csym | trace                         symbol, by source
** where       = (nothing)                internal
**             | U:proto-address U:line   Lua
**             | U:address                C
**             | U:number [U:mcode]       trace
**
** The LJS versions 1 and 2 have no csym, version 1 no trace. The mcode field
** stands in LJM 2, and in those LJM 3 streams of LJS 2 that were written
** early; nothing but the data tells. A new address 0 is a failed call. What
** this header writes is LJS 3 with LJM 3, without mcode.
**
** Format 4 (this project's): sealed blocks, definitions by id.
**
** stream4     = "ljs" 04 00 00 00 "ljm" 04 00 00 00 block*
** block       = block-header payload
** block-header (32 bytes)
**   0  B{4}  9D 6C 6A 62 (hex)       16 u32 events counted in the payload
**   4  B     kind                    20 u32 stream id, equal in all blocks
**   5  B     flags: bit 0 copy       24 u32 CRC-32C of the payload
**   6  u16   0                       28 u32 CRC-32C of header bytes 0-27
**   8  u32   sequence, 0, 1, 2, ...
**   12 u32   payload size, at most 1048576
** kind        = 1 META, 2 DEFS, 3 EVENTS, 4 LIVE, 5 END. END comes last and
**               once; a stream without it was cut. META comes first.
** A block can be read knowing nothing of the others. A META or DEFS block is
** written a second time some blocks later with its own sequence and the copy
** flag; so no single lost block loses a definition. A reader that lost
** nothing yet may skip copies. An id is never used again for something else
** in a stream; a definition may come after its use. Id 0 is "none" in every
** kind. A definition met again changes nothing. After a bad header a reader
** searches the next valid one with this stream's id.
**
** META        = (S:key S:value)*     text; keys: tree arch pid start writer
**               mode sample stacks, others may be added ("start": unix time
**               in seconds; "sample": mean bytes between samples, 0 exact)
** DEFS        = def*
** def         = 01 I:string S
**             | 02 I:module U:path-string S:build-id U:base U:size U:bias
**             | 03 I:csym U:module U:address U:size U:name-string
**             | 04 I:function U:chunk-string U:firstline U:lastline
**             | 05 I:frame frame-body
**             | 06 I:stack U:id-minus-parent U:frame
**             | 07 I:site U:stack B:state B:object
**             | 08 I:trace U:number U:frame       frame: where it started
** I           = U: id minus the last id of this kind in this block (0 before
**               the first); never 0
** id-minus-parent: 1 to the stack's own id; equal to it: no parent. A
**               parent's id is lower, so stacks have no cycles. The parent is
**               the caller; the stack id a site names has the leaf's frame.
** frame-body  = 00 U:function U:line              Lua code
**             | 01 U:address U:csym U:module      C function at address
**             | 02 B:state                        the VM itself
**             | 03 U:number U:trace               JIT code, line not known
**             | 04 U:name-string                  fast function (built in)
**             | 05 B:mark                         what is missing here
** csym size   = 0: not known. address: of the symbol's first byte, run time.
**               A frame 01 with csym 0 is known as module + (address - bias).
** mark        = 1 cut at the depth limit, 2 tail calls lost, 3 resumed from
**               (the frames below are the resuming coroutine's), 4 host C
**               code without a Lua frame, 5 stack left out (limit), 6 unknown
** state       = 0 start-up, 1 interpreter, 2 C function, 3 GC, 4 trace exit,
**               5 trace recorder, 6 optimizer, 7 assembler, 8 JIT code,
**               9 host C code, 10 finalizer
** object      = 0 not known, 1 string, 2 upvalue, 3 thread, 4 prototype,
**               5 function, 6 trace, 7 cdata, 8 table, 9 userdata, 10 table
**               array, 11 table hash, 12 Lua stack, 13 string table, 14
**               buffer, 15 VM state, 16 C types, 17 JIT structures
**
** EVENTS      = (alloc | free | realloc | other)*
** alloc       = B:control site address size         control: size code:2 |
** free        = B:control site address size           address code:2 |
** realloc     = B:control site address              site code:2 | op:2
**               U:old-size Z:new-minus-old-address U:new-size
**                 op 0 alloc, 1 free, 2 realloc (size code 0), 3 other
**               address of a realloc: the old one, against the last new one
**               of a realloc
** site code   = 0 as the last event of this op, 1 one byte, 2 two bytes,
**               3 three bytes (little-endian id); so ids end at 16777215
** address code: against the last address of this op, in units of 8 bytes,
**               zigzag: 0 one byte, 1 two, 2 three; 3 eight bytes, the whole
**               address itself
** size code   = 0 as the last event of this op, 1 one byte, 2 two bytes,
**               3 eight bytes
**               "Last" values are kept by op and are 0 at a block's start.
** other       = B:control fields         control: sub:6 | 11
**   sub 0  failed alloc    U:site U:size
**   sub 1  failed realloc  U:site U:old-address U:old-size U:new-size
**   sub 2  weight          U:bytes     the next alloc or realloc of this
**                          block is a sample that stands for so many bytes
**   sub 3  mark            U:reason U:label-string U:time U:gc-total
**                          U:gc-threshold U:rss
**                          reason 1 start, 2 flush, 3 stop, 4 the program's;
**                          time in ns since the start; bytes
**   sub 4  module loaded   U:module
**   sub 5  module unloaded U:module
**   sub 6  dropped         U:events U:bytes   not written, from here back
** Counted as events: alloc, free, realloc, failed alloc, failed realloc.
**
** LIVE        = (B:object Z:address-minus-last)*   what blocks still held at
**               the stop are; addresses are blocks as allocated
** END         = U:reason U:errno U:time U:allocs U:alloc-bytes U:frees
**               U:freed-bytes U:reallocs U:realloc-old-bytes
**               U:realloc-new-bytes U:failed U:dropped U:gc-total
**               reason 0 stopped, 1 VM closed, 2 process exit, 3 sink failed,
**               4 limit, 5 no memory, 6 allocator replaced by the host
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
