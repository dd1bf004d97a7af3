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

/* The implementation uses POSIX and the loader's module list; under a strict
** -std=c99 libc declares neither unless asked before its first header. */
#if defined(LJM_IMPLEMENTATION) && !defined(_GNU_SOURCE) && !defined(_WIN32)
#define _GNU_SOURCE
#endif

#include <stddef.h>
#include <stdint.h>

#define LJM_VERSION 100
#define LJM_VERSION_STRING "0.1.0"

#ifndef LJM_API
#if defined(LJM_STATIC) && defined(__GNUC__)
#define LJM_API static __attribute__((unused))
#elif defined(LJM_STATIC)
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

/* First failure of an object; later calls return the same status. */
typedef struct ljm_error {
  ljm_status status;
  int sys_errno;   /* The system's error number, 0 if it had none. */
  uint64_t offset; /* Bytes from the start of the stream or image. */
} ljm_error;

/* One English sentence for `status`, static; never NULL. */
LJM_API const char *ljm_status_text(ljm_status status);

/* -- Allocator and sink ------------------------------------------------- */

/* Memory functions of one object. All NULL: malloc family; partly filled is
** LJM_E_ARG. `size` is in bytes and never 0; `old_size` is what was asked. */
typedef struct ljm_allocator {
  void *(*alloc)(void *user, size_t size);
  void *(*realloc)(void *user, void *p, size_t old_size, size_t size);
  void (*free)(void *user, void *p, size_t size);
  void *user;
} ljm_allocator;

/* An allocator with a budget; part of the objects below. */
typedef struct ljm_memory {
  ljm_allocator fn;
  uint64_t used_size; /* Bytes held now. */
  uint64_t max_size;  /* Most bytes to hold. */
  ljm_status status;  /* Why the last request failed: NOMEM or LIMIT. */
} ljm_memory;

/* A caller's buffer as an allocator; see ljm_arena_allocator. */
typedef struct ljm_arena {
  unsigned char *base;
  size_t size, used;
  size_t last; /* Where the newest block starts. */
} ljm_arena;

/* Makes `*a` hand out parts of `buf`, `size` bytes, without any other memory.
** Only the newest block is taken back or grown in place. `arena` and `buf`
** must outlive what uses `*a`; neither is freed. */
LJM_API void ljm_arena_allocator(ljm_allocator *a, ljm_arena *arena,
                                 void *buf, size_t size);

/* Where bytes go. write takes 1..size bytes and returns how many it took,
** or a negated errno value; 0 counts as EIO. EINTR and EAGAIN are retried a
** bounded number of times. close returns 0 or an errno value and may be
** NULL. Neither may call into the recorder or the VM: a call that does gets
** LJM_E_RUNNING and writes nothing, its event is counted as dropped. */
typedef struct ljm_sink {
  ptrdiff_t (*write)(void *user, const void *data, size_t size);
  int (*close)(void *user);
  void *user;
} ljm_sink;

/* A stream file. Treat the fields as private. */
typedef struct ljm_file {
  ljm_memory mem;
  char *path; /* Until the first write; then NULL. */
  size_t path_size;
  int fd;
  int created;  /* The file was not there before. */
  uint64_t pid; /* Who opened it; a forked child removes nothing. */
} ljm_file;

/* Opens `path` for writing and makes `*sink` write to it. "%p" in `path`
** stands for the process id, "%%" for "%". An existing file keeps its content
** until the first write has succeeded; one closed before that is left as it
** was, and removed if it was not there. `f` must stay in place until the sink
** is closed, which the encoder's finish and free do. `alloc` may be NULL.
** LJM_OK, LJM_E_ARG (NULL, or an unknown % sequence), LJM_E_NOMEM, LJM_E_IO;
** `err` (may be NULL) gets the details. Keeps errno. */
LJM_API ljm_status ljm_file_open(ljm_file *f, ljm_sink *sink,
                                 const char *path, const ljm_allocator *alloc,
                                 ljm_error *err);

/* A sink with its first failure kept; part of the encoders. */
typedef struct ljm_output {
  ljm_sink sink;
  ljm_error error;
  uint64_t written; /* Bytes the sink took. */
  int busy;         /* Inside the sink's functions. */
  int open;         /* The sink was not closed yet. */
} ljm_output;

/* -- Encoder ------------------------------------------------------------ */

/* All-zero means the defaults. */
typedef struct ljm_encoder_options {
  size_t buffer_size; /* Bytes kept back before a write; 0: 65536. At least
                      ** 4096, at most 1048576. */
  size_t name_limit;  /* Longest chunk or symbol name in bytes; 0: 1024, for
                      ** format 4: 16384. 64 to a quarter of buffer_size. A
                      ** longer one is cut and ends in "...#" and a hash. */
  uint64_t flush_ns;  /* Pending data older than this is written when an
                      ** event sees it; 0: 1 s. UINT64_MAX: never. Looked at
                      ** every 64 events at the latest. */
  uint64_t max_memory; /* Bytes of memory; 0: 268435456. */
  uint32_t stream_id; /* Format 4; 0: made from time and process. */
  uint32_t max_stacks; /* Format 4: stack nodes; 0: 1048576. */
  uint64_t (*clock)(void *user); /* Nanoseconds; NULL: the system's. */
  void *clock_user;
  ljm_allocator alloc; /* All NULL: malloc family. */
} ljm_encoder_options;

/* Who did it, as format 3 tells it. */
typedef enum ljm_source {
  LJM_SOURCE_INTERNAL = 1, /* The VM itself; nothing else told. */
  LJM_SOURCE_LUA = 2,      /* address: the prototype's; line. */
  LJM_SOURCE_C = 3,        /* address: the function's. */
  LJM_SOURCE_TRACE = 4     /* address: the trace's number. */
} ljm_source;

typedef struct ljm_where {
  ljm_source source;
  uint64_t address;
  uint64_t line;
} ljm_where;

/* Bytes on their way to a sink; part of the encoders. Private but for `out`
** and `dropped`, which may be read. */
typedef struct ljm_buffer {
  unsigned char *p;     /* Next byte. */
  unsigned char *end;   /* An event that would pass it takes the slow way. */
  unsigned char *buf;   /* First byte. */
  unsigned char *limit; /* End of what may be filled. */
  uint64_t since;       /* Clock (ns) when the oldest pending byte came. */
  uint64_t checked;     /* Clock (ns) when last looked at. */
  uint64_t flush_ns;
  uint64_t dropped;     /* Events not written: stopped, or inside a write. */
  size_t step;          /* Bytes until the clock is looked at again. */
  ljm_status (*write)(struct ljm_buffer *b);
  uint64_t (*clock)(void *user);
  void *clock_user;
  ljm_output out;
} ljm_buffer;

/* Writes format 3. Fields are private. One thread at a time; any thread. */
typedef struct ljm_encoder {
  ljm_buffer b;
  size_t name_limit;
  int phase; /* 0 symbols, 1 events, 2 ended. */
  ljm_memory mem;
} ljm_encoder;

/* Starts a stream of symbols and events (format 3) into `*sink`, which is
** copied, and is closed by finish or free; by a failed init it is not.
** `opts` may be NULL. Writes nothing yet. LJM_OK, LJM_E_ARG, LJM_E_NOMEM,
** LJM_E_LIMIT; after a failure `e` needs no free. */
LJM_API ljm_status ljm_encoder_init(ljm_encoder *e, const ljm_sink *sink,
                                    const ljm_encoder_options *opts);

/* Symbols: before ljm_encoder_open they go to the symbol part, after it
** among the events, where they hold from then on. `name` need not end in NUL
** and is not kept. Addresses and the trace's number are not 0, but a C
** function's may be. `proto` and `line` say where the trace starts.
** LJM_OK, LJM_E_ARG, LJM_E_RUNNING (inside the sink), or the first failure.
** May be called in an allocator hook; may write to the sink. */
LJM_API ljm_status ljm_encoder_proto(ljm_encoder *e, uint64_t address,
                                     const char *chunk, size_t chunk_size,
                                     uint64_t firstline);
LJM_API ljm_status ljm_encoder_csym(ljm_encoder *e, uint64_t address,
                                    const char *name, size_t name_size);
LJM_API ljm_status ljm_encoder_trace(ljm_encoder *e, uint64_t number,
                                     uint64_t proto, uint64_t line);

/* Ends the symbol part; events may follow. Once. Statuses as above. */
LJM_API ljm_status ljm_encoder_open(ljm_encoder *e);

/* Events. Sizes are in bytes. A new address 0 says that the call failed; a
** free of address 0 is none and writes nothing. Statuses as above; an event
** that is not written is counted in `e->b.dropped`. */
LJM_API ljm_status ljm_encoder_alloc(ljm_encoder *e, const ljm_where *w,
                                     uint64_t address, uint64_t size);
LJM_API ljm_status ljm_encoder_dealloc(ljm_encoder *e, const ljm_where *w,
                                       uint64_t address, uint64_t size);
LJM_API ljm_status ljm_encoder_realloc(ljm_encoder *e, const ljm_where *w,
                                       uint64_t old_address,
                                       uint64_t old_size, uint64_t address,
                                       uint64_t size);

/* Hands all pending bytes to the sink. LJM_OK, LJM_E_RUNNING, or the first
** failure. */
LJM_API ljm_status ljm_encoder_flush(ljm_encoder *e);

/* Writes the end of the stream (opening the event part if nobody did) and
** closes the sink. Later calls return what the first one did. LJM_OK or the
** stream's first failure, with details in `e->b.out.error`. */
LJM_API ljm_status ljm_encoder_finish(ljm_encoder *e);

/* Gives the memory back. Without a finish before, pending bytes are thrown
** away and the sink is closed: right for a child after fork. NULL is none. */
LJM_API void ljm_encoder_free(ljm_encoder *e);

/* -- ELF images and symbols --------------------------------------------- */

/* -- LuaJIT binding ----------------------------------------------------- */

#endif /* LJMEMPROF_H */

/* == Implementation ===================================================== */

#if defined(LJM_IMPLEMENTATION) && !defined(LJM_IMPLEMENTATION_DONE)
#define LJM_IMPLEMENTATION_DONE

/* -- Includes ----------------------------------------------------------- */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#else
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
/* A strict -std=c99, with a libc header before this one, hides these. */
#ifndef CLOCK_MONOTONIC
  extern int ftruncate(int fd, off_t size);
#endif
#ifdef O_CLOEXEC
#define LJMI_O_CLOEXEC O_CLOEXEC
#else
#define LJMI_O_CLOEXEC 0
#endif
#endif

#if defined(__GNUC__)
#define LJMI_LIKELY(x) __builtin_expect(!!(x), 1)
#define LJMI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LJMI_NOINLINE __attribute__((noinline))
#define LJMI_UNUSED __attribute__((unused))
#else
#define LJMI_LIKELY(x) (x)
#define LJMI_UNLIKELY(x) (x)
#define LJMI_NOINLINE
#define LJMI_UNUSED
#endif

/* Little-endian and unaligned stores of words: one instruction. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LJMI_LITTLE 1
#elif defined(_M_X64) || defined(_M_IX86) || defined(_M_ARM64)
#define LJMI_LITTLE 1
#else
#define LJMI_LITTLE 0
#endif

/* -- Errors ------------------------------------------------------------- */

/* Every failure passes here. The first one of an object stays. */
static LJMI_NOINLINE ljm_status ljmi_fail(ljm_error *err, ljm_status status,
                                          int sys_errno, uint64_t offset)
{
  if (!err) return status;
  if (err->status == LJM_OK) {
    err->status = status;
    err->sys_errno = sys_errno;
    err->offset = offset;
  }
  return err->status;
}

LJM_API const char *ljm_status_text(ljm_status status)
{
  switch (status) {
  case LJM_OK: return "no error";
  case LJM_E_ARG: return "invalid argument";
  case LJM_E_NOMEM: return "not enough memory";
  case LJM_E_IO: return "cannot read or write";
  case LJM_E_LIMIT: return "limit reached";
  case LJM_E_MALFORMED: return "malformed input";
  case LJM_E_UNSUPPORTED: return "unsupported input";
  case LJM_E_TRUNCATED: return "input ends too early";
  case LJM_E_NOTFOUND: return "not found";
  case LJM_E_RUNNING: return "profiler is running already";
  case LJM_E_NOTRUNNING: return "profiler is not running";
  }
  return "unknown status";
}

/* -- Allocator and limits ----------------------------------------------- */

static void *ljmi_malloc(void *user, size_t size)
{
  (void)user;
  return malloc(size);
}

static void *ljmi_realloc(void *user, void *p, size_t old_size, size_t size)
{
  (void)user;
  (void)old_size;
  return realloc(p, size);
}

static void ljmi_mfree(void *user, void *p, size_t size)
{
  (void)user;
  (void)size;
  free(p);
}

/* `alloc` may be NULL; `max_size` 0 is none. */
static ljm_status ljmi_memory_init(ljm_memory *m, const ljm_allocator *alloc,
                                   uint64_t max_size)
{
  memset(m, 0, sizeof(*m));
  m->max_size = max_size;
  if (!alloc || (!alloc->alloc && !alloc->realloc && !alloc->free)) {
    m->fn.alloc = ljmi_malloc;
    m->fn.realloc = ljmi_realloc;
    m->fn.free = ljmi_mfree;
    return LJM_OK;
  }
  if (!alloc->alloc || !alloc->realloc || !alloc->free) return LJM_E_ARG;
  m->fn = *alloc;
  return LJM_OK;
}

/* Size of `count` elements if the budget has it beside `held` bytes that it
** replaces; else 0 with the reason in m->status. */
static size_t ljmi_array_size(ljm_memory *m, size_t count, size_t elem,
                              size_t held)
{
  if (count == 0 || count > SIZE_MAX / elem) {
    m->status = LJM_E_LIMIT;
    return 0;
  }
  if (count * elem > m->max_size - (m->used_size - held)) {
    m->status = LJM_E_LIMIT;
    return 0;
  }
  return count * elem;
}

/* NULL with the reason in m->status; `count` 0 is LJM_E_LIMIT. */
static LJMI_UNUSED void *ljmi_alloc_array(ljm_memory *m, size_t count,
                                          size_t elem)
{
  size_t size = ljmi_array_size(m, count, elem, 0);
  void *p;
  if (size == 0) return NULL;
  p = m->fn.alloc(m->fn.user, size);
  if (!p) {
    m->status = LJM_E_NOMEM;
    return NULL;
  }
  m->used_size += size;
  return p;
}

/* As above; `p` may be NULL with `old_count` 0 and stays valid on failure. */
static LJMI_UNUSED void *ljmi_grow_array(ljm_memory *m, void *p,
                                         size_t old_count, size_t count,
                                         size_t elem)
{
  size_t size;
  void *q;
  if (!p) return ljmi_alloc_array(m, count, elem);
  size = ljmi_array_size(m, count, elem, old_count * elem);
  if (size == 0) return NULL;
  q = m->fn.realloc(m->fn.user, p, old_count * elem, size);
  if (!q) {
    m->status = LJM_E_NOMEM;
    return NULL;
  }
  m->used_size = m->used_size - old_count * elem + size;
  return q;
}

static LJMI_UNUSED void ljmi_free_array(ljm_memory *m, void *p, size_t count,
                                        size_t elem)
{
  if (!p) return;
  m->fn.free(m->fn.user, p, count * elem);
  m->used_size -= count * elem;
}

/* Blocks start at multiples of this. */
#define LJMI_ARENA_ALIGN 16

static void *ljmi_arena_alloc(void *user, size_t size)
{
  ljm_arena *a = (ljm_arena *)user;
  size_t pad = (size_t)(0 - (uintptr_t)(a->base + a->used)) &
               (LJMI_ARENA_ALIGN - 1);
  if (pad > a->size - a->used || size > a->size - a->used - pad) return NULL;
  a->last = a->used + pad;
  a->used = a->last + size;
  return a->base + a->last;
}

static void ljmi_arena_free(void *user, void *p, size_t size)
{
  ljm_arena *a = (ljm_arena *)user;
  (void)size;
  if ((unsigned char *)p == a->base + a->last) a->used = a->last;
}

static void *ljmi_arena_realloc(void *user, void *p, size_t old_size,
                                size_t size)
{
  ljm_arena *a = (ljm_arena *)user;
  void *q;
  if ((unsigned char *)p == a->base + a->last && a->used > a->last) {
    if (size > a->size - a->last) return NULL;
    a->used = a->last + size;
    return p;
  }
  q = ljmi_arena_alloc(user, size);
  if (q) memcpy(q, p, old_size < size ? old_size : size);
  return q;
}

LJM_API void ljm_arena_allocator(ljm_allocator *a, ljm_arena *arena,
                                 void *buf, size_t size)
{
  arena->base = (unsigned char *)buf;
  arena->size = size;
  arena->used = 0;
  arena->last = 0;
  a->alloc = ljmi_arena_alloc;
  a->realloc = ljmi_arena_realloc;
  a->free = ljmi_arena_free;
  a->user = arena;
}

/* -- Checked arithmetic and cursor -------------------------------------- */

/* -- Sink and encoder --------------------------------------------------- */

/* Nanoseconds from any start; coarse (some ms) where that is cheaper. */
static uint64_t ljmi_clock(void *user)
{
#ifdef _WIN32
  (void)user;
  return (uint64_t)clock() * (UINT64_C(1000000000) / CLOCKS_PER_SEC);
#elif defined(CLOCK_MONOTONIC)
  struct timespec t;
  (void)user;
#ifdef CLOCK_MONOTONIC_COARSE
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &t) != 0)
#endif
  if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return 0;
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
#else
  (void)user;
  return (uint64_t)time(NULL) * UINT64_C(1000000000);
#endif
}

/* Times a write may be put off (EINTR, EAGAIN) in a row. */
#define LJMI_RETRIES 100
/* Milliseconds a full pipe or socket is waited for, each time. */
#define LJMI_WAIT_MS 20

/* Milliseconds and all other calls of the system, for both systems. */
#ifdef _WIN32
#define LJMI_O_WRITE (_O_WRONLY | _O_BINARY | _O_NOINHERIT)
#define ljmi_sys_open(path, flags) _open(path, flags, _S_IREAD | _S_IWRITE)
#define ljmi_sys_write(fd, data, n) _write(fd, data, (unsigned)(n))
#define ljmi_sys_truncate(fd, size) _chsize_s(fd, size)
#define ljmi_sys_close _close
#define ljmi_sys_unlink _unlink
#define ljmi_sys_pid _getpid
#define ljmi_sys_stat _fstat64
#define ljmi_sys_is_file(mode) (((mode) & _S_IFMT) == _S_IFREG)
typedef struct _stat64 ljmi_stat;
#else
#define LJMI_O_WRITE (O_WRONLY | LJMI_O_CLOEXEC | O_NOCTTY)
#define ljmi_sys_open(path, flags) open(path, flags, 0666)
#define ljmi_sys_write(fd, data, n) write(fd, data, n)
#define ljmi_sys_truncate(fd, size) ftruncate(fd, size)
#define ljmi_sys_close close
#define ljmi_sys_unlink unlink
#define ljmi_sys_pid getpid
#define ljmi_sys_stat fstat
#define ljmi_sys_is_file(mode) S_ISREG(mode)
typedef struct stat ljmi_stat;
#endif

static void ljmi_file_forget_path(ljm_file *f)
{
  ljmi_free_array(&f->mem, f->path, f->path_size, 1);
  f->path = NULL;
}

/* The first write may be refused, so the old content goes only after it. */
static int ljmi_file_begun(ljm_file *f, ptrdiff_t taken)
{
  ljmi_stat st;
  ljmi_file_forget_path(f);
  if (ljmi_sys_stat(f->fd, &st) != 0 || !ljmi_sys_is_file(st.st_mode)) return 0;
  return ljmi_sys_truncate(f->fd, taken) == 0 ? 0 : errno;
}

static ptrdiff_t ljmi_file_write(void *user, const void *data, size_t size)
{
  ljm_file *f = (ljm_file *)user;
  ptrdiff_t n;
  int err;
  if (size > INT_MAX) size = INT_MAX;
  n = (ptrdiff_t)ljmi_sys_write(f->fd, data, size);
  if (n < 0) {
    err = errno;
#ifndef _WIN32
    if (err == EAGAIN) {
      struct pollfd pfd;
      pfd.fd = f->fd;
      pfd.events = POLLOUT;
      (void)poll(&pfd, 1, LJMI_WAIT_MS);
    }
#endif
    return -(ptrdiff_t)err;
  }
  if (f->path && n > 0 && (err = ljmi_file_begun(f, n)) != 0)
    return -(ptrdiff_t)err;
  return n;
}

static int ljmi_file_close(void *user)
{
  ljm_file *f = (ljm_file *)user;
  int err = 0;
  if (f->path && f->created && f->pid == (uint64_t)ljmi_sys_pid())
    (void)ljmi_sys_unlink(f->path);
  ljmi_file_forget_path(f);
  if (ljmi_sys_close(f->fd) != 0 && errno != EINTR) err = errno;
  f->fd = -1;
  return err;
}

/* Length of `path` with its sequences replaced by `pid`, written to `out`
** (may be NULL); SIZE_MAX if a sequence is unknown. */
static size_t ljmi_expand_path(char *out, const char *path, const char *pid)
{
  size_t n = 0;
  for (; *path; path++) {
    const char *s = path;
    size_t len = 1;
    if (*path == '%') {
      path++;
      if (*path == 'p') {
        s = pid;
        len = strlen(pid);
      } else if (*path != '%') {
        return SIZE_MAX;
      }
    }
    if (out) memcpy(out + n, s, len);
    n += len;
  }
  return n;
}

/* Decimal digits of `n`. */
static void ljmi_decimal(char out[24], uint64_t n)
{
  char tmp[24];
  size_t len = 0, i;
  do {
    tmp[len++] = (char)('0' + (int)(n % 10));
    n /= 10;
  } while (n);
  for (i = 0; i < len; i++) out[i] = tmp[len - 1 - i];
  out[len] = '\0';
}

/* Opens without touching the content; tells whether the file is new. */
static int ljmi_open_new_or_old(const char *path, int *created)
{
  int tries, fd = -1;
  /* Twice: it may come or go between the calls. */
  for (tries = 0; tries < 2 && fd < 0; tries++) {
    *created = 1;
    fd = ljmi_sys_open(path, LJMI_O_WRITE | O_CREAT | O_EXCL);
    if (fd >= 0 || errno != EEXIST) break;
    *created = 0;
    fd = ljmi_sys_open(path, LJMI_O_WRITE);
    if (fd >= 0 || errno != ENOENT) break;
  }
  /* A link to nowhere exists, and does not: let the system create it. */
  if (fd < 0 && errno == ENOENT && !*created)
    fd = ljmi_sys_open(path, LJMI_O_WRITE | O_CREAT);
  return fd;
}

static ljm_status ljmi_file_open_path(ljm_file *f, const char *path,
                                      ljm_error *err)
{
  char pid[24];
  size_t n;
  f->pid = (uint64_t)ljmi_sys_pid();
  ljmi_decimal(pid, f->pid);
  n = ljmi_expand_path(NULL, path, pid);
  if (n == SIZE_MAX || n == 0)
    return ljmi_fail(err, LJM_E_ARG, n == 0 ? ENOENT : EINVAL, 0);
  f->path_size = n + 1;
  f->path = (char *)ljmi_alloc_array(&f->mem, f->path_size, 1);
  if (!f->path) return ljmi_fail(err, f->mem.status, ENOMEM, 0);
  ljmi_expand_path(f->path, path, pid);
  f->path[n] = '\0';
  f->fd = ljmi_open_new_or_old(f->path, &f->created);
  if (f->fd < 0) {
    int sys = errno;
    ljmi_file_forget_path(f);
    return ljmi_fail(err, LJM_E_IO, sys, 0);
  }
  return LJM_OK;
}

LJM_API ljm_status ljm_file_open(ljm_file *f, ljm_sink *sink,
                                 const char *path, const ljm_allocator *alloc,
                                 ljm_error *err)
{
  int keep = errno;
  ljm_error ignored;
  ljm_status st;
  if (!err) err = &ignored;
  memset(err, 0, sizeof(*err));
  if (!f || !sink || !path) return ljmi_fail(err, LJM_E_ARG, EINVAL, 0);
  memset(f, 0, sizeof(*f));
  f->fd = -1;
  if (ljmi_memory_init(&f->mem, alloc, UINT64_MAX) != LJM_OK)
    return ljmi_fail(err, LJM_E_ARG, EINVAL, 0);
  st = ljmi_file_open_path(f, path, err);
  if (st == LJM_OK) {
    sink->write = ljmi_file_write;
    sink->close = ljmi_file_close;
    sink->user = f;
  }
  errno = keep;
  return st;
}

/* Bytes the sink took in one call, or 0 after a failure; retries. */
static size_t ljmi_output_once(ljm_output *o, const unsigned char *data,
                               size_t size)
{
  ptrdiff_t n = 0;
  int tries;
  for (tries = 0; tries < LJMI_RETRIES; tries++) {
    n = o->sink.write(o->sink.user, data, size);
    if (n != -(ptrdiff_t)EINTR && n != -(ptrdiff_t)EAGAIN) break;
  }
  if (n > 0 && (size_t)n <= size) return (size_t)n;
  ljmi_fail(&o->error, LJM_E_IO,
            n < 0 && n >= -(ptrdiff_t)INT_MAX ? (int)-n : EIO, o->written);
  return 0;
}

/* Keeps errno. A stopped sink is not written to. */
static ljm_status ljmi_output_write(ljm_output *o, const unsigned char *data,
                                    size_t size)
{
  int keep = errno;
  o->busy = 1;
  while (size > 0 && o->error.status == LJM_OK) {
    size_t n = ljmi_output_once(o, data, size);
    data += n;
    size -= n;
    o->written += n;
  }
  o->busy = 0;
  errno = keep;
  return o->error.status;
}

/* Once. Keeps errno. */
static ljm_status ljmi_output_close(ljm_output *o)
{
  int keep = errno, err;
  if (!o->open) return o->error.status;
  o->open = 0;
  o->busy = 1;
  err = o->sink.close ? o->sink.close(o->sink.user) : 0;
  o->busy = 0;
  errno = keep;
  if (err) return ljmi_fail(&o->error, LJM_E_IO, err, o->written);
  return o->error.status;
}

/* A number's bytes from low to high. */
static inline void ljmi_put_u64(unsigned char *p, uint64_t v)
{
#if LJMI_LITTLE
  memcpy(p, &v, 8);
#else
  int i;
  for (i = 0; i < 8; i++) p[i] = (unsigned char)(v >> (8 * i));
#endif
}

/* Spreads 56 bits to 8 groups of 7, low group first. */
static inline uint64_t ljmi_spread7(uint64_t v)
{
  v = (v & UINT64_C(0x000000000fffffff)) |
      ((v & UINT64_C(0x00fffffff0000000)) << 4);
  v = (v & UINT64_C(0x00003fff00003fff)) |
      ((v & UINT64_C(0x0fffc0000fffc000)) << 2);
  return (v & UINT64_C(0x007f007f007f007f)) |
         ((v & UINT64_C(0x3f803f803f803f80)) << 1);
}

/* Index of the highest bit set; `v` is not 0. */
static inline unsigned ljmi_high_bit(uint64_t v)
{
#if defined(__GNUC__)
  return 63u - (unsigned)__builtin_clzll(v);
#else
  unsigned n = 0;
  while (v >>= 1) n++;
  return n;
#endif
}

/* Writes a U; returns the byte after it. May touch up to 10 bytes. */
static inline unsigned char *ljmi_put_uleb_loop(unsigned char *p, uint64_t v)
{
  for (; v >= 0x80; v >>= 7) *p++ = (unsigned char)(v | 0x80);
  *p++ = (unsigned char)v;
  return p;
}

/* The same without a loop up to 2^56, as addresses are. */
static inline unsigned char *ljmi_put_uleb(unsigned char *p, uint64_t v)
{
  unsigned n;
  uint64_t w;
  if (v < 0x80) {
    *p = (unsigned char)v;
    return p + 1;
  }
  if (LJMI_UNLIKELY(v >> 56)) return ljmi_put_uleb_loop(p, v);
  n = ljmi_high_bit(v) / 7; /* Bytes but the last, which has no bit 7. */
  w = ljmi_spread7(v);
  w |= UINT64_C(0x8080808080808080) & ((UINT64_C(1) << (8 * n)) - 1);
  ljmi_put_u64(p, w);
  return p + n + 1;
}

/* A format 3 location, encoded once, to be written often. */
typedef struct ljmi_place {
  unsigned char bytes[24]; /* The header byte without the event bits first. */
  uint32_t size;
} ljmi_place;

static void ljmi_place_set(ljmi_place *w, const ljm_where *where)
{
  unsigned char *p = w->bytes;
  memset(w->bytes, 0, sizeof(w->bytes));
  *p++ = (unsigned char)((unsigned)where->source << 2);
  if (where->source != LJM_SOURCE_INTERNAL)
    p = ljmi_put_uleb_loop(p, where->address);
  if (where->source == LJM_SOURCE_LUA) p = ljmi_put_uleb_loop(p, where->line);
  w->size = (uint32_t)(p - w->bytes);
}

/* Events of formats 1 to 3. */
#define LJM_FMT_SYMBOL 0u
#define LJM_FMT_ALLOC 1u
#define LJM_FMT_FREE 2u
#define LJM_FMT_REALLOC 3u
#define LJM_FMT_END 0x80u

/* Most bytes an event writes to: a place, three U, and what a store of eight
** bytes touches beyond its number. */
#define LJMI_EVENT_MAX 72
/* Clock checks: every so many bytes at most, an event is 5 or more. */
#define LJMI_STEP_MAX 256
/* Checks nearer than this (ns) to one another may become rarer. */
#define LJMI_STEP_NS UINT64_C(20000000)

/* All reserves take the slow way from here on. */
static void ljmi_buffer_empty(ljm_buffer *b)
{
  b->p = b->buf;
  b->end = b->buf;
}

/* Hands `size` bytes to the sink, of which the buffer's are the last. */
static ljm_status ljmi_buffer_send(ljm_buffer *b, const unsigned char *data,
                                   size_t size)
{
  ljm_status st;
  b->end = b->p; /* Who calls back out of the sink finds no room. */
  st = ljmi_output_write(&b->out, data, size);
  ljmi_buffer_empty(b);
  return st;
}

/* Sets where the clock is looked at next: at once while events are rare,
** after up to LJMI_STEP_MAX bytes while they are many. */
static void ljmi_buffer_pace(ljm_buffer *b, uint64_t now, size_t need)
{
  if (now - b->checked > LJMI_STEP_NS)
    b->step = 0;
  else if (b->step < LJMI_STEP_MAX)
    b->step = b->step * 2 + 8;
  b->checked = now;
  if (b->flush_ns == UINT64_MAX || (size_t)(b->limit - b->p) < need + b->step)
    b->end = b->limit;
  else
    b->end = b->p + need + b->step;
}

/* Room for `need` bytes, or NULL: stopped, or called back from the sink. */
static LJMI_NOINLINE unsigned char *ljmi_buffer_room(ljm_buffer *b,
                                                     size_t need)
{
  uint64_t now;
  if (b->out.busy || b->out.error.status != LJM_OK) return NULL;
  now = b->flush_ns == UINT64_MAX ? 0 : b->clock(b->clock_user);
  if (((size_t)(b->limit - b->p) < need ||
       (b->p != b->buf && now - b->since > b->flush_ns)) &&
      b->write(b) != LJM_OK)
    return NULL;
  if (b->p == b->buf) b->since = now;
  ljmi_buffer_pace(b, now, need);
  return b->p;
}

static inline unsigned char *ljmi_reserve(ljm_buffer *b, size_t need)
{
  if (LJMI_LIKELY(b->end - b->p >= (ptrdiff_t)need)) return b->p;
  return ljmi_buffer_room(b, need);
}

/* Why a reserve gave NULL. */
static ljm_status ljmi_buffer_why(const ljm_buffer *b)
{
  return b->out.error.status != LJM_OK ? b->out.error.status : LJM_E_RUNNING;
}

static LJMI_NOINLINE ljm_status ljmi_buffer_drop(ljm_buffer *b)
{
  b->dropped++;
  return ljmi_buffer_why(b);
}

/* Ready to be flushed or ended? */
static ljm_status ljmi_buffer_idle(const ljm_buffer *b)
{
  if (b->out.busy || b->out.error.status != LJM_OK) return ljmi_buffer_why(b);
  return LJM_OK;
}

static void ljmi_buffer_init(ljm_buffer *b, const ljm_sink *sink,
                             const ljm_encoder_options *o)
{
  b->out.sink = *sink;
  b->out.open = 1;
  b->flush_ns = o->flush_ns;
  b->clock = o->clock;
  b->clock_user = o->clock_user;
  if (b->flush_ns != UINT64_MAX) b->since = b->clock(b->clock_user);
}

static ljm_status ljmi_encoder_write(ljm_buffer *b)
{
  return ljmi_buffer_send(b, b->buf, (size_t)(b->p - b->buf));
}

static inline unsigned char *ljmi_put_place(unsigned char *p,
                                            const ljmi_place *w, unsigned op)
{
  memcpy(p, w->bytes, sizeof(w->bytes));
  p[0] = (unsigned char)(w->bytes[0] | op);
  return p + w->size;
}

/* The event path of a recorder: the part must be open, addresses not 0. */
static inline ljm_status ljmi_encoder_event(ljm_encoder *e,
                                            const ljmi_place *w, unsigned op,
                                            uint64_t address, uint64_t size)
{
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT_MAX);
  if (LJMI_UNLIKELY(!p)) return ljmi_buffer_drop(&e->b);
  p = ljmi_put_place(p, w, op);
  p = ljmi_put_uleb(p, address);
  e->b.p = ljmi_put_uleb(p, size);
  return LJM_OK;
}

static inline ljm_status ljmi_encoder_moved(ljm_encoder *e,
                                            const ljmi_place *w,
                                            uint64_t old_address,
                                            uint64_t old_size,
                                            uint64_t address, uint64_t size)
{
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT_MAX);
  if (LJMI_UNLIKELY(!p)) return ljmi_buffer_drop(&e->b);
  p = ljmi_put_place(p, w, LJM_FMT_REALLOC);
  p = ljmi_put_uleb(p, old_address);
  p = ljmi_put_uleb(p, old_size);
  p = ljmi_put_uleb(p, address);
  e->b.p = ljmi_put_uleb(p, size);
  return LJM_OK;
}

/* 64 bits that stand for a name that is cut: eight bytes at a time. */
static uint64_t ljmi_hash_bytes(const char *s, size_t size)
{
  uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ size;
  while (size > 0) {
    size_t i, n = size < 8 ? size : 8;
    uint64_t w = 0;
    for (i = 0; i < n; i++) w |= (uint64_t)(unsigned char)s[i] << (8 * i);
    h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
    s += n;
    size -= n;
  }
  return h * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* "...#" and 16 hexadecimal digits end a name that was cut. */
#define LJMI_CUT_SIZE 20

/* Writes an S, at most `limit` bytes of it. */
static unsigned char *ljmi_put_name(unsigned char *p, const char *s,
                                    size_t size, size_t limit)
{
  static const char digits[] = "0123456789abcdef";
  uint64_t h;
  size_t keep;
  int i;
  if (size <= limit) {
    p = ljmi_put_uleb_loop(p, size);
    if (size) memcpy(p, s, size);
    return p + size;
  }
  h = ljmi_hash_bytes(s, size);
  keep = limit - LJMI_CUT_SIZE;
  /* Not inside a UTF-8 character. */
  for (i = 0; i < 3 && ((unsigned char)s[keep] & 0xc0) == 0x80; i++) keep--;
  p = ljmi_put_uleb_loop(p, keep + LJMI_CUT_SIZE);
  memcpy(p, s, keep);
  p += keep;
  memcpy(p, "...#", 4);
  for (i = 0; i < 16; i++)
    p[4 + i] = (unsigned char)digits[h >> (60 - 4 * i) & 15];
  return p + LJMI_CUT_SIZE;
}

#define LJMI_BUFFER_MIN 4096
#define LJMI_BUFFER_MAX 1048576
#define LJMI_NAME_MIN 64

/* Fills in the defaults, which must be within what the options say. */
static ljm_status ljmi_encoder_defaults(ljm_encoder_options *o,
                                        size_t name_limit)
{
  if (!o->buffer_size) o->buffer_size = 65536;
  if (o->buffer_size < LJMI_BUFFER_MIN || o->buffer_size > LJMI_BUFFER_MAX)
    return LJM_E_ARG;
  if (!o->name_limit)
    o->name_limit = name_limit < o->buffer_size / 4 ? name_limit
                                                    : o->buffer_size / 4;
  if (o->name_limit < LJMI_NAME_MIN || o->name_limit > o->buffer_size / 4)
    return LJM_E_ARG;
  if (!o->flush_ns) o->flush_ns = UINT64_C(1000000000);
  if (!o->max_memory) o->max_memory = UINT64_C(268435456);
  if (!o->max_stacks) o->max_stacks = 1048576;
  if (!o->clock) o->clock = ljmi_clock;
  return LJM_OK;
}

static void ljmi_encoder_put_header(ljm_encoder *e, char part)
{
  static const unsigned char rest[5] = {3, 0, 0, 0};
  e->b.p[0] = 'l';
  e->b.p[1] = 'j';
  e->b.p[2] = (unsigned char)part;
  memcpy(e->b.p + 3, rest, 4);
  e->b.p += 7;
}

LJM_API ljm_status ljm_encoder_init(ljm_encoder *e, const ljm_sink *sink,
                                    const ljm_encoder_options *opts)
{
  ljm_encoder_options o;
  if (!e || !sink || !sink->write) return LJM_E_ARG;
  memset(&o, 0, sizeof(o));
  if (opts) o = *opts;
  memset(e, 0, sizeof(*e));
  if (ljmi_encoder_defaults(&o, 1024) != LJM_OK ||
      ljmi_memory_init(&e->mem, &o.alloc, o.max_memory) != LJM_OK)
    return LJM_E_ARG;
  e->b.buf = (unsigned char *)ljmi_alloc_array(&e->mem, o.buffer_size, 1);
  if (!e->b.buf) return e->mem.status;
  e->b.p = e->b.buf;
  e->b.limit = e->b.buf + o.buffer_size;
  e->b.write = ljmi_encoder_write;
  e->name_limit = o.name_limit;
  ljmi_buffer_init(&e->b, sink, &o);
  ljmi_encoder_put_header(e, 's');
  e->b.end = e->b.p;
  return LJM_OK;
}

/* Starts a symbol: as an entry, or as an event of source `source`. */
static unsigned char *ljmi_encoder_symbol(ljm_encoder *e, unsigned kind,
                                          unsigned source, size_t name_size)
{
  size_t need = 48 + (name_size < e->name_limit ? name_size : e->name_limit);
  unsigned char *p = ljmi_reserve(&e->b, need);
  if (p) *p++ = (unsigned char)(e->phase == 0 ? kind : source << 2);
  return p;
}

/* Ready for a record of the given kind? */
static ljm_status ljmi_encoder_ready(const ljm_encoder *e, int first_phase)
{
  if (!e || !e->b.buf) return LJM_E_ARG;
  if (e->phase == 2) return LJM_E_NOTRUNNING;
  return e->phase < first_phase ? LJM_E_ARG : LJM_OK;
}

LJM_API ljm_status ljm_encoder_proto(ljm_encoder *e, uint64_t address,
                                     const char *chunk, size_t chunk_size,
                                     uint64_t firstline)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder_ready(e, 0);
  if (st != LJM_OK) return st;
  if (address == 0 || (!chunk && chunk_size)) return LJM_E_ARG;
  p = ljmi_encoder_symbol(e, 0, LJM_SOURCE_LUA, chunk_size);
  if (!p) return ljmi_buffer_why(&e->b);
  p = ljmi_put_uleb_loop(p, address);
  p = ljmi_put_name(p, chunk, chunk_size, e->name_limit);
  e->b.p = ljmi_put_uleb_loop(p, firstline);
  return LJM_OK;
}

LJM_API ljm_status ljm_encoder_csym(ljm_encoder *e, uint64_t address,
                                    const char *name, size_t name_size)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder_ready(e, 0);
  if (st != LJM_OK) return st;
  if (!name && name_size) return LJM_E_ARG;
  p = ljmi_encoder_symbol(e, 1, LJM_SOURCE_C, name_size);
  if (!p) return ljmi_buffer_why(&e->b);
  p = ljmi_put_uleb_loop(p, address);
  e->b.p = ljmi_put_name(p, name, name_size, e->name_limit);
  return LJM_OK;
}

LJM_API ljm_status ljm_encoder_trace(ljm_encoder *e, uint64_t number,
                                     uint64_t proto, uint64_t line)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder_ready(e, 0);
  if (st != LJM_OK) return st;
  if (number == 0) return LJM_E_ARG;
  p = ljmi_encoder_symbol(e, 2, LJM_SOURCE_TRACE, 0);
  if (!p) return ljmi_buffer_why(&e->b);
  p = ljmi_put_uleb_loop(p, number);
  p = ljmi_put_uleb_loop(p, proto);
  e->b.p = ljmi_put_uleb_loop(p, line);
  return LJM_OK;
}

LJM_API ljm_status ljm_encoder_open(ljm_encoder *e)
{
  ljm_status st = ljmi_encoder_ready(e, 0);
  if (st != LJM_OK) return st;
  if (e->phase != 0) return LJM_E_ARG;
  if (!ljmi_reserve(&e->b, 8)) return ljmi_buffer_why(&e->b);
  *e->b.p++ = LJM_FMT_END;
  ljmi_encoder_put_header(e, 'm');
  e->phase = 1;
  return LJM_OK;
}

static int ljmi_where_valid(const ljm_where *w)
{
  return w && w->source >= LJM_SOURCE_INTERNAL &&
         w->source <= LJM_SOURCE_TRACE;
}

LJM_API ljm_status ljm_encoder_alloc(ljm_encoder *e, const ljm_where *w,
                                     uint64_t address, uint64_t size)
{
  ljmi_place place;
  ljm_status st = ljmi_encoder_ready(e, 1);
  if (st != LJM_OK) return st;
  if (!ljmi_where_valid(w)) return LJM_E_ARG;
  ljmi_place_set(&place, w);
  return ljmi_encoder_event(e, &place, LJM_FMT_ALLOC, address, size);
}

LJM_API ljm_status ljm_encoder_dealloc(ljm_encoder *e, const ljm_where *w,
                                       uint64_t address, uint64_t size)
{
  ljmi_place place;
  ljm_status st = ljmi_encoder_ready(e, 1);
  if (st != LJM_OK) return st;
  if (!ljmi_where_valid(w)) return LJM_E_ARG;
  if (address == 0) return LJM_OK;
  ljmi_place_set(&place, w);
  return ljmi_encoder_event(e, &place, LJM_FMT_FREE, address, size);
}

LJM_API ljm_status ljm_encoder_realloc(ljm_encoder *e, const ljm_where *w,
                                       uint64_t old_address,
                                       uint64_t old_size, uint64_t address,
                                       uint64_t size)
{
  ljmi_place place;
  ljm_status st = ljmi_encoder_ready(e, 1);
  if (st != LJM_OK) return st;
  if (!ljmi_where_valid(w)) return LJM_E_ARG;
  ljmi_place_set(&place, w);
  return ljmi_encoder_moved(e, &place, old_address, old_size, address, size);
}

LJM_API ljm_status ljm_encoder_flush(ljm_encoder *e)
{
  ljm_status st = ljmi_encoder_ready(e, 0);
  if (st != LJM_OK) return st;
  st = ljmi_buffer_idle(&e->b);
  return st == LJM_OK ? ljmi_encoder_write(&e->b) : st;
}

LJM_API ljm_status ljm_encoder_finish(ljm_encoder *e)
{
  if (!e || !e->b.buf) return LJM_E_ARG;
  if (e->b.out.busy) return LJM_E_RUNNING;
  if (e->phase == 2) return e->b.out.error.status;
  if (e->phase == 0) (void)ljm_encoder_open(e);
  if (ljmi_reserve(&e->b, 1)) {
    *e->b.p++ = LJM_FMT_END;
    (void)ljmi_encoder_write(&e->b);
  }
  e->phase = 2;
  return ljmi_output_close(&e->b.out);
}

LJM_API void ljm_encoder_free(ljm_encoder *e)
{
  if (!e || !e->b.buf || e->b.out.busy) return;
  (void)ljmi_output_close(&e->b.out);
  ljmi_free_array(&e->mem, e->b.buf, (size_t)(e->b.limit - e->b.buf), 1);
  e->b.buf = NULL;
}

/* -- ELF images and symbols --------------------------------------------- */

/* -- LuaJIT binding ----------------------------------------------------- */

/* -- Entry points ------------------------------------------------------- */

#endif /* LJM_IMPLEMENTATION */

/* -- Licence: MIT, see LICENSE ------------------------------------------ */
