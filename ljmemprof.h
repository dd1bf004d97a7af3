/*
** ljmemprof.h - 0.1.0 - records a LuaJIT VM's allocations into a stream and
** resolves C symbols in process. SPDX-License-Identifier: MIT
**
**   #include "ljmemprof.h"
**   #include <lauxlib.h>
**   #include <lualib.h>
**   int main(void)
**   {
**     lua_State *L = luaL_newstate();
**     if (!L) return 1;
**     luaL_openlibs(L);
**     if (ljm_recorder_start_file(L, "memprof.bin", NULL, NULL) != LJM_OK)
**       return 1;
**     if (luaL_dostring(L, "t = {} for i = 1, 1000 do t[i] = {i} end"))
**       return 1;
**     lua_close(L);
**     return 0;
**   }
**
** Closing the VM ends the recording, as ljm_recorder_stop does. The program
** links with a patched LuaJIT (luajit-patch/). The encoder and the ELF
** resolver below need none: examples/write.c, examples/resolve.c.
**
** ELF images and what loaded modules say of themselves are safe input, however
** damaged; what the host passes in is trusted to be what the comments ask for.
** The profiler's memory comes from its own allocator, never from the VM; when
** that or a sink fails, recording drops events, counts them and says so, and
** the host goes on. errno is kept. All state is in the objects: one thread at
** a time may use one, different threads different ones. An encoder's calls may
** be made in an allocator hook, and may then write to the sink and allocate;
** none in a signal handler. Nothing prints or exits, but for a line about an
** LJMEMPROF that cannot be obeyed. Not promised: that a process killed by a
** signal has written its last 64 KiB.
**
** -- Macros (define them before the include) ---------------------------------
** name                 default    effect
** LJM_IMPLEMENTATION   undefined  this unit gets the function bodies
** LJM_STATIC           undefined  all functions are static to the unit
** LJM_API              extern     what stands before each public function
** LJM_NO_RESOLVER      undefined  loaded modules stay unknown, C functions are
**                                 addresses; set by itself where not Linux
** LJM_NO_SELFSTART     undefined  LJMEMPROF in the environment means nothing
** LJM_LUAJIT           undefined  the LuaJIT binding, too; lj_memprof.c of a
**                                 patched LuaJIT tree defines it
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
**   0  B{4}  9D 6C 6A 62 (hex)       16 u32 events in the payload (EVENTS)
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
** kind. A definition met again changes nothing. After a bad header, and in
** what a bad payload claims, a reader searches the next valid header with this
** stream's id and no sequence that was there before. Numbers beyond those named
** here are faults; one in a payload loses that payload from there on.
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
**                          block is a sample that stands for so many bytes;
**                          0 takes that back
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
**               (sums over the stream's events, modulo 2^64)
**               reason 0 stopped, 1 VM closed, 2 process exit, 3 sink failed,
**               6 allocator replaced by the host; or, with all events in the
**               stream but names, stacks or samples missing, 4 limit of
**               memory, 5 no memory
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

/* Loaded modules are known on Linux only (see LJM_NO_RESOLVER above). */
#if !defined(__linux__) && !defined(LJM_NO_RESOLVER)
#define LJM_NO_RESOLVER
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
  uint64_t dev, ino; /* What was opened. */
} ljm_file;

/* Opens `path` for writing and makes `*sink` write to it. "%p" in `path`
** stands for the process id, "%%" for "%". An existing file keeps its content
** until the first write has succeeded; one closed before that is left as it
** was, and removed if it was not there. On Linux a write that is refused sends
** no SIGPIPE or SIGXFSZ. A host that closes the file behind
** its back gets no byte into what it opens next. `f` must stay in place until
** the sink is closed, which the encoder's finish and free do. `alloc` may be
** NULL.
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
                      ** every 256 events at the latest. */
  uint64_t max_memory; /* Bytes of memory; 0: 268435456. */
  uint32_t stream_id; /* Format 4; 0: made from time and process. */
  uint32_t max_stacks; /* Format 4: nodes, 29-57 bytes each; 0: 1048576. */
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
  unsigned char *quick; /* Before it there is room for any event. */
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
  uint64_t high;       /* Bits from 28 on of an address written before. */
  uint64_t high_bytes; /* These as they are written, the lower ones 0. */
  uint32_t high_size;  /* Bytes of such an address. */
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

/* Format 4: sealed blocks of definitions by id and of events. */

/* Codes of the grammar above. */
typedef enum ljm_state {
  LJM_STATE_START = 0, LJM_STATE_INTERP = 1, LJM_STATE_C = 2,
  LJM_STATE_GC = 3, LJM_STATE_EXIT = 4, LJM_STATE_RECORD = 5,
  LJM_STATE_OPT = 6, LJM_STATE_ASM = 7, LJM_STATE_JIT = 8,
  LJM_STATE_HOST = 9, LJM_STATE_FINALIZER = 10
} ljm_state;

typedef enum ljm_object {
  LJM_OBJECT_UNKNOWN = 0, LJM_OBJECT_STRING = 1, LJM_OBJECT_UPVALUE = 2,
  LJM_OBJECT_THREAD = 3, LJM_OBJECT_PROTO = 4, LJM_OBJECT_FUNCTION = 5,
  LJM_OBJECT_TRACE = 6, LJM_OBJECT_CDATA = 7, LJM_OBJECT_TABLE = 8,
  LJM_OBJECT_USERDATA = 9, LJM_OBJECT_ARRAY = 10, LJM_OBJECT_HASH = 11,
  LJM_OBJECT_STACK = 12, LJM_OBJECT_STRTAB = 13, LJM_OBJECT_BUFFER = 14,
  LJM_OBJECT_VM = 15, LJM_OBJECT_CTYPES = 16, LJM_OBJECT_JIT = 17
} ljm_object;

typedef enum ljm_gap {
  LJM_GAP_DEPTH = 1, LJM_GAP_TAILCALLS = 2, LJM_GAP_RESUMED = 3,
  LJM_GAP_HOST = 4, LJM_GAP_LIMIT = 5, LJM_GAP_UNKNOWN = 6
} ljm_gap;

typedef enum ljm_mark_reason {
  LJM_MARK_START = 1, LJM_MARK_FLUSH = 2, LJM_MARK_STOP = 3,
  LJM_MARK_PROGRAM = 4
} ljm_mark_reason;

typedef enum ljm_end_reason {
  LJM_END_STOPPED = 0, LJM_END_CLOSED = 1, LJM_END_EXIT = 2,
  LJM_END_SINK = 3, LJM_END_LIMIT = 4, LJM_END_NOMEM = 5,
  LJM_END_REPLACED = 6
} ljm_end_reason;

/* A line of META; both end in NUL. */
typedef struct ljm_meta {
  const char *key, *value;
} ljm_meta;

typedef struct ljm_module {
  uint32_t path;             /* String id. */
  const void *build_id;      /* Not kept; may be NULL. */
  size_t build_id_size;      /* At most 64; more is cut. */
  uint64_t base, size, bias; /* Run-time range; run-time minus link-time. */
} ljm_module;

/* A point of the timeline, sizes in bytes; its time is set when written. */
typedef struct ljm_mark {
  ljm_mark_reason reason;
  uint32_t label; /* String id or 0. */
  uint64_t gc_total, gc_threshold, rss;
} ljm_mark;

/* What was written, as END says it. */
typedef struct ljm_totals {
  uint64_t allocs, frees, reallocs, failed;
  uint64_t alloc_size, freed_size, old_size, new_size;
} ljm_totals;

/* The last event of an operation in this block. */
typedef struct ljm_last {
  uint64_t address, size;
  uint32_t site;
} ljm_last;

/* Ids by hash, a power of two of slots; 0 is a free one. */
typedef struct ljm_slots {
  uint32_t *ids;
  size_t count;
} ljm_slots;

/* Keys of fixed size, each with the id that its place gives it. */
typedef struct ljm_interned {
  uint32_t *keys; /* `words` for each id from 1 on. */
  ljm_slots slots;
  size_t count, key_cap, words, max_count;
} ljm_interned;

/* A stack is its parent's id and a frame; the newest child and the first site
** of no known kind of object are at hand. */
typedef struct ljm_node {
  uint32_t parent, frame;
  uint32_t child_frame, child;
  uint32_t site; /* And its state in the highest byte. */
} ljm_node;

typedef struct ljm_stacks {
  ljm_node *nodes; /* By id; 0 is the root. */
  ljm_slots slots;
  size_t count, node_cap; /* Node 0 counts. */
  size_t max_count;
} ljm_stacks;

typedef struct ljm_text {
  const char *data;
  size_t size;
  uint64_t hash;
} ljm_text;

typedef struct ljm_texts {
  ljm_text *texts; /* Id 1 first. */
  ljm_slots slots;
  size_t count, text_cap;
  char *chunk; /* Where the next text goes; a chunk links to the one before. */
  size_t chunk_size, chunk_used;
} ljm_texts;

/* Blocks that will be written a second time, oldest first. */
typedef struct ljm_copies {
  unsigned char *data;
  size_t cap, head, tail;
} ljm_copies;

/* Writes format 4 and interns what it defines. Private but for `b.out`,
** `b.dropped` and `totals`, which may be read. One thread at a time. */
typedef struct ljm_encoder4 {
  ljm_buffer b; /* Events of the block to come; room for its header before. */
  ljm_last last[3];
  ljm_totals totals;
  ljm_stacks stacks;
  unsigned char *base; /* The one block of memory for all buffers. */
  size_t base_size;
  unsigned char *defs; /* A DEFS block to come, its header included. */
  size_t defs_used, defs_cap;
  uint64_t last_def[9]; /* By kind, in that block. */
  ljm_copies copies;
  char *scratch; /* For a name that is cut. */
  size_t name_limit;
  uint64_t sealed_events; /* Of totals, those in blocks written. */
  uint64_t start;         /* Clock (ns). */
  uint64_t undefined;     /* Definitions that failed: id 0 was given. */
  uint32_t sequence, stream_id;
  int begun, ended;
  unsigned kind; /* Of the block in `b`. */
  ljm_interned csyms, functions, frames;
  ljm_interned sites;   /* That are not with their stacks. */
  uint32_t *site_ids;   /* Of these; as many as site_cap. */
  size_t site_cap;
  int sites_ahead;      /* Some are of stacks not defined by then. */
  ljm_texts strings;
  uint32_t module_count, trace_count, site_count;
  uint32_t (*crc)(const uint32_t *table, uint32_t crc,
                  const unsigned char *p, size_t n);
  uint32_t *crc_table; /* NULL where the machine has an instruction. */
  ljm_memory mem;
} ljm_encoder4;

/* Starts a stream of format 4 into `*sink`, copied, closed by finish or free
** but not by a failed init. `meta`, `meta_count` of them, is what META will
** say. `opts` may be NULL. Writes nothing yet. LJM_OK, LJM_E_ARG (also when
** META would be larger than half the buffer), LJM_E_NOMEM, LJM_E_LIMIT; after
** a failure `e` needs no free. */
LJM_API ljm_status ljm_encoder4_init(ljm_encoder4 *e, const ljm_sink *sink,
                                     const ljm_encoder_options *opts,
                                     const ljm_meta *meta, size_t meta_count);

/* Definitions. What was defined before gets the id it had; a module and a
** trace are new each time. The definition is in the stream before the events
** that follow. 0 if it cannot be defined: stopped, inside the sink, no
** memory, too many, a code that the grammar has not. May be called in an
** allocator hook; may write to the sink. Expected constant time. */
LJM_API uint32_t ljm_encoder4_string(ljm_encoder4 *e, const char *s,
                                     size_t size);
LJM_API uint32_t ljm_encoder4_module(ljm_encoder4 *e, const ljm_module *m);
/* `size` 0: not known. */
LJM_API uint32_t ljm_encoder4_csym(ljm_encoder4 *e, uint32_t module,
                                   uint64_t address, uint64_t size,
                                   uint32_t name);
LJM_API uint32_t ljm_encoder4_function(ljm_encoder4 *e, uint32_t chunk,
                                       uint64_t firstline, uint64_t lastline);
LJM_API uint32_t ljm_encoder4_frame_lua(ljm_encoder4 *e, uint32_t function,
                                        uint64_t line);
LJM_API uint32_t ljm_encoder4_frame_c(ljm_encoder4 *e, uint64_t address,
                                      uint32_t csym, uint32_t module);
LJM_API uint32_t ljm_encoder4_frame_vm(ljm_encoder4 *e, ljm_state state);
LJM_API uint32_t ljm_encoder4_frame_jit(ljm_encoder4 *e, uint64_t number,
                                        uint32_t trace);
LJM_API uint32_t ljm_encoder4_frame_fast(ljm_encoder4 *e, uint32_t name);
LJM_API uint32_t ljm_encoder4_frame_gap(ljm_encoder4 *e, ljm_gap gap);
/* The stack of `frame` called from `parent`; 0 is no caller. */
LJM_API uint32_t ljm_encoder4_stack(ljm_encoder4 *e, uint32_t parent,
                                    uint32_t frame);
/* At most 16777215 of them. */
LJM_API uint32_t ljm_encoder4_site(ljm_encoder4 *e, uint32_t stack,
                                   ljm_state state, ljm_object object);
LJM_API uint32_t ljm_encoder4_trace(ljm_encoder4 *e, uint64_t number,
                                    uint32_t frame);

/* Events at a site, sizes in bytes. LJM_OK, LJM_E_ARG, LJM_E_NOTRUNNING after
** finish, LJM_E_RUNNING inside the sink, or the first failure; what is not
** written is counted in `b.dropped`. A free of address 0 is none. */
LJM_API ljm_status ljm_encoder4_alloc(ljm_encoder4 *e, uint32_t site,
                                      uint64_t address, uint64_t size);
LJM_API ljm_status ljm_encoder4_dealloc(ljm_encoder4 *e, uint32_t site,
                                        uint64_t address, uint64_t size);
LJM_API ljm_status ljm_encoder4_realloc(ljm_encoder4 *e, uint32_t site,
                                        uint64_t old_address,
                                        uint64_t old_size, uint64_t address,
                                        uint64_t size);
LJM_API ljm_status ljm_encoder4_alloc_failed(ljm_encoder4 *e, uint32_t site,
                                             uint64_t size);
LJM_API ljm_status ljm_encoder4_realloc_failed(ljm_encoder4 *e,
                                               uint32_t site,
                                               uint64_t old_address,
                                               uint64_t old_size,
                                               uint64_t size);
/* The same for a sample that stands for `weight` bytes. */
LJM_API ljm_status ljm_encoder4_alloc_sample(ljm_encoder4 *e, uint32_t site,
                                             uint64_t address, uint64_t size,
                                             uint64_t weight);
LJM_API ljm_status ljm_encoder4_realloc_sample(ljm_encoder4 *e,
                                               uint32_t site,
                                               uint64_t old_address,
                                               uint64_t old_size,
                                               uint64_t address,
                                               uint64_t size,
                                               uint64_t weight);

/* Records between events. `events` and `bytes` were not written and are not
** in `b.dropped` yet. Statuses as above. */
LJM_API ljm_status ljm_encoder4_mark(ljm_encoder4 *e, const ljm_mark *mark);
LJM_API ljm_status ljm_encoder4_loaded(ljm_encoder4 *e, uint32_t module);
LJM_API ljm_status ljm_encoder4_unloaded(ljm_encoder4 *e, uint32_t module);
LJM_API ljm_status ljm_encoder4_dropped(ljm_encoder4 *e, uint64_t events,
                                        uint64_t bytes);

/* What a block still held is; after the last event, before finish. After the
** first of these an event is LJM_E_ARG. */
LJM_API ljm_status ljm_encoder4_live(ljm_encoder4 *e, ljm_object object,
                                     uint64_t address);

/* Hands all pending bytes to the sink: usually in one write. */
LJM_API ljm_status ljm_encoder4_flush(ljm_encoder4 *e);

/* Writes the copies still owed and END, and closes the sink. Later calls
** return what the first one did. LJM_OK, LJM_E_ARG (no such reason: nothing
** was done), or the stream's first failure. */
LJM_API ljm_status ljm_encoder4_finish(ljm_encoder4 *e,
                                       ljm_end_reason reason,
                                       uint64_t gc_total);

/* As ljm_encoder_free. */
LJM_API void ljm_encoder4_free(ljm_encoder4 *e);

/* -- ELF images and symbols --------------------------------------------- */

/* Symbols come from ELF files of either class and byte order, on any system,
** and from the modules a process has loaded (Linux; with LJM_NO_RESOLVER, or
** elsewhere, a resolver knows no module and every address is unknown). All
** of it is treated as hostile input. */

/* All-zero means the defaults. "No limit" is written UINT64_MAX. */
typedef struct ljm_elf_limits {
  uint64_t memory_size;   /* Bytes held by the object; 0: 268435456. */
  uint64_t file_size;     /* Bytes of one file; 0: 17179869184. */
  uint64_t section_count; /* Sections of one file; 0: 1048576. */
  uint64_t segment_count; /* Program headers of one file; 0: 65536. */
  uint64_t symbol_count;  /* Symbols of one table; 0: 16777216. */
  uint64_t module_count;  /* Modules ever seen; 0: 65536. */
} ljm_elf_limits;

/* Bytes by position. `read` gives 1..size bytes from `off` on (fewer are no
** end), 0 at the end, or a negated errno value. */
typedef struct ljm_reader {
  ptrdiff_t (*read)(void *user, uint64_t off, void *data, size_t size);
  void *user;
  uint64_t size; /* Bytes there are. */
} ljm_reader;

/* A function symbol. `name` ends in NUL, is as the file has it, and lives as
** long as the image or resolver. */
typedef struct ljm_symbol {
  const char *name;
  size_t name_size; /* Without the NUL. */
  uint64_t vaddr;   /* Link-time address. */
  uint64_t size;    /* Bytes; 0: the file does not say. */
} ljm_symbol;

/* Which table an image's symbols came from. */
typedef enum ljm_symbols_from {
  LJM_FROM_NONE = 0,
  LJM_FROM_SYMTAB = 1, /* .symtab of a file. */
  LJM_FROM_DYNSYM = 2, /* .dynsym of a file. */
  LJM_FROM_MEMORY = 3  /* Dynamic symbols of a loaded module. */
} ljm_symbols_from;

/* A build-id that is longer is cut. */
#define LJM_BUILD_ID_MAX 64

typedef struct ljm_build_id {
  size_t size; /* 0: none. */
  unsigned char data[LJM_BUILD_ID_MAX];
} ljm_build_id;

/* A module's or file's function symbols by address. Fields are private but
** for `from`, `build_id`, `count`, `skipped` and `error`, to be read. */
typedef struct ljm_image {
  ljm_symbols_from from;
  ljm_build_id build_id;
  size_t count;     /* Function symbols. */
  uint64_t skipped; /* Symbols left out because they are malformed. */
  ljm_error error;
  struct ljmi_entry *entries;
  size_t entry_cap;
  char *names;
  size_t names_size, names_cap;
  uint64_t *big; /* Sizes of 2^32-1 and more. */
  size_t big_count, big_cap;
  uint64_t *ends; /* Greatest ends of groups; NULL: not needed. */
  size_t ends_count;
  ljm_memory own;
  ljm_memory *mem; /* `own`, or the resolver's. */
} ljm_image;

/* Reads the function symbols of an ELF file (ET_EXEC or ET_DYN): .symtab, or
** else .dynsym, or else what PT_DYNAMIC leads to. `reader` is used during the
** call only. `alloc` and `limits` may be NULL. Without function symbols the
** image is empty. LJM_OK; LJM_E_ARG, _NOMEM, _IO, _LIMIT, _MALFORMED,
** _UNSUPPORTED, _TRUNCATED with the place in `img->error`; `img` then needs
** no free. O(n log n). */
LJM_API ljm_status ljm_image_open(ljm_image *img, const ljm_reader *reader,
                                  const ljm_allocator *alloc,
                                  const ljm_elf_limits *limits);

/* The same from `size` bytes at `data`. */
LJM_API ljm_status ljm_image_open_memory(ljm_image *img, const void *data,
                                         size_t size,
                                         const ljm_allocator *alloc,
                                         const ljm_elf_limits *limits);

/* The same from a regular file; anything else is LJM_E_UNSUPPORTED, and so is
** every file under LJM_NO_RESOLVER. Keeps errno. */
LJM_API ljm_status ljm_image_open_path(ljm_image *img, const char *path,
                                       const ljm_allocator *alloc,
                                       const ljm_elf_limits *limits);

/* Symbol `idx` of img->count, in order of address; at one address sized ones
** before unsized, global before local, functions before untyped, then by
** name. LJM_OK or LJM_E_ARG. */
LJM_API ljm_status ljm_image_symbol(const ljm_image *img, size_t idx,
                                    ljm_symbol *sym);

/* The symbol that covers a link-time address: of those that do, the one that
** starts last, then the first in the order above. Symbols end where they end;
** one of unknown size reaches to the next symbol or its section's end if it
** is of .symtab, and covers its first byte alone if not. LJM_OK or
** LJM_E_NOTFOUND. O(log n). */
LJM_API ljm_status ljm_image_find(const ljm_image *img, uint64_t vaddr,
                                  ljm_symbol *sym);

/* Gives the memory back; twice, or after a failed open, does nothing. */
LJM_API void ljm_image_free(ljm_image *img);

/* A module of the process. Stays in place until the resolver is freed, also
** when it is unloaded. A module that comes back exactly as it was gets its
** record back; any other gets a new id. */
typedef struct ljm_loaded_module {
  uint32_t id;    /* 1, 2, 3, ...; never given to another module. */
  int loaded;     /* As of the last refresh. */
  uint64_t base;  /* First mapped address. */
  uint64_t size;  /* Bytes from there to the last segment's end. */
  uint64_t bias;  /* Run-time minus link-time address, modulo 2^64. */
  const char *path; /* As the loader names it; the program's is resolved. */
  ljm_build_id build_id;
  int indexed;           /* Symbols were read, or that was tried. */
  ljm_symbols_from from; /* Where they came from. */
  ljm_status status;     /* Why there are none. */
} ljm_loaded_module;

/* What stands at a run-time address. */
typedef struct ljm_location {
  const ljm_loaded_module *module; /* NULL: no module. */
  ljm_symbol symbol;        /* name NULL: no symbol covers the address. */
  uint64_t symbol_addr;     /* Run-time address of its first byte. */
  uint64_t offset; /* From there; without a symbol from module->bias. */
} ljm_location;

/* All-zero means the defaults. */
typedef struct ljm_resolver_options {
  ljm_elf_limits limits; /* memory_size is for all modules together. */
  ljm_allocator alloc;   /* All NULL: malloc family. */
  /* Told of each module that came (m->loaded) or went, unloads first; from
  ** within init, refresh and lookup. Must not call them. May be NULL. */
  void (*on_module)(void *user, const ljm_loaded_module *m);
  void *user;
} ljm_resolver_options;

/* The process's modules and their symbols. Fields are private. One thread at
** a time; any thread. */
typedef struct ljm_resolver {
  ljm_resolver_options opts;
  ljm_memory mem;
  struct ljmi_module **modules; /* By id - 1. */
  size_t module_count, module_cap;
  struct ljmi_entry *map; /* Loaded ones by base. */
  size_t map_count, map_cap;
  struct ljmi_candidate *found; /* Of the refresh that runs. */
  size_t found_cap;
  unsigned char *list; /* Copy of the loader's list. */
  size_t list_cap;
  uint64_t adds, subs; /* The loader's counters at the last refresh. */
  uint64_t vdso;
  uint64_t generation;
  uint64_t epoch; /* Counts refreshes. */
  int counted;    /* The loader has such counters. */
  int dirty;
} ljm_resolver;

/* Makes a resolver and lists the modules; no symbols are read yet. Call it
** outside of allocator hooks (the first call into the loader may allocate).
** `opts` may be NULL. LJM_OK, LJM_E_ARG, LJM_E_NOMEM, LJM_E_LIMIT; after a
** failure `r` needs no free. Keeps errno, as all below. */
LJM_API ljm_status ljm_resolver_init(ljm_resolver *r,
                                     const ljm_resolver_options *opts);

/* 1 if the module list may have changed since the last refresh, else 0. Reads
** the loader's two counters under its lock (about 10 ns); waits while another
** thread holds that: while it changes the list, or runs a dl_iterate_phdr
** callback of its own. May be called in an allocator hook, as the functions
** below may; none may be called in a signal handler. */
LJM_API int ljm_resolver_check(const ljm_resolver *r);

/* Makes the next check say 1. */
LJM_API void ljm_resolver_mark_dirty(ljm_resolver *r);

/* Lists the modules anew if ljm_resolver_check says so. On failure the old
** list stays and so does the mark. LJM_OK, LJM_E_NOMEM, LJM_E_LIMIT. */
LJM_API ljm_status ljm_resolver_refresh(ljm_resolver *r);

/* Counts the refreshes that found a module come or gone: what was looked up
** holds as long as this stays and ljm_resolver_check says 0. */
LJM_API uint64_t ljm_resolver_generation(const ljm_resolver *r);

/* Refreshes if needed, then finds `addr`. A module's symbols are read when
** first needed: from its file, if that is the one loaded, else from memory; a
** module with neither has none. LJM_OK: the module is known, its symbol
** perhaps; LJM_E_NOTFOUND: in no module; or what a refresh returns, and
** nothing is known. O(log n). */
LJM_API ljm_status ljm_resolver_lookup(ljm_resolver *r, uint64_t addr,
                                       ljm_location *loc);

/* Modules ever seen, and one of them, NULL if `idx` is not below. */
LJM_API size_t ljm_resolver_module_count(const ljm_resolver *r);
LJM_API const ljm_loaded_module *
ljm_resolver_module(const ljm_resolver *r, size_t idx);

/* All function symbols of a loaded module of this resolver, for recorders
** that write them ahead; NULL if it has none or is not loaded any more. The
** image lives as long as the resolver; add m->bias to its addresses. */
LJM_API const ljm_image *
ljm_resolver_symbols(ljm_resolver *r, const ljm_loaded_module *m);

/* Gives all memory back; names and modules are gone. */
LJM_API void ljm_resolver_free(ljm_resolver *r);

/* -- LuaJIT binding ----------------------------------------------------- */

/* Recording a LuaJIT VM. These functions are in a patched LuaJIT's library
** (luajit-patch/), not in programs that implement this header themselves.
** One recorder a VM, which is any thread (coroutine) of it; not two OS
** threads at once on one VM, as with any call of the Lua API. */

struct lua_State;

/* All-zero means the defaults. What only format 4 has is LJM_E_ARG with 3, and
** the other way round. */
typedef struct ljm_options {
  uint32_t format;  /* Stream format: 3 or 4; 0: 4. */
  uint32_t depth;   /* Most frames of a call stack, the newest ones; 0: 64;
                    ** 1: the allocating line alone. At most 4096. */
  uint64_t sample;  /* Mean bytes between samples; 0: every event. */
  uint64_t seed;    /* Of the samples' random distances; 0: any. */
  int no_live;      /* Not 0: do not tell at the end what the objects still
                    ** held are, which takes a walk over the heap. */
  int eager;        /* Not 0: write the names of all C functions of all modules
                    ** at the start, those of new modules when they load. 0:
                    ** a name when its function first allocates. Format 3
                    ** only: there, not here, readers look for neighbours. */
  ljm_encoder_options encoder; /* Its allocator is the recorder's, too. */
} ljm_options;

/* Why a recording ended. */
typedef enum ljm_reason {
  LJM_REASON_STOPPED = 0,  /* ljm_recorder_stop or its Lua doors. */
  LJM_REASON_CLOSED = 1,   /* The VM was closed. */
  LJM_REASON_EXIT = 2,     /* The process exits. */
  LJM_REASON_SINK = 3,     /* The sink failed: see error. */
  LJM_REASON_LIMIT = 4,    /* The recorder's memory reached its limit, or */
  LJM_REASON_NOMEM = 5,    /* ran out: names, stacks or samples are missing. */
  LJM_REASON_REPLACED = 6  /* The host has set another allocator. */
} ljm_reason;

/* What a recording came to. */
typedef struct ljm_result {
  ljm_reason reason;
  ljm_error error;      /* First failure of the stream, or LJM_OK. */
  uint64_t written;     /* Bytes the sink took. */
  uint64_t dropped;     /* Events not written. */
} ljm_result;

/* Starts recording the VM of `L` into the file `path` (as ljm_file_open has
** it). `opts` and `err` may be NULL. The stream's header is written at once;
** a start that fails leaves an existing file as it was. The VM's own memory
** is not touched, and no event is lost or made by the recorder itself.
** LJM_OK, LJM_E_ARG, LJM_E_NOMEM, LJM_E_IO (see `err`), LJM_E_RUNNING: this VM
** is being recorded already. Not from within an allocator. Keeps errno. */
LJM_API ljm_status ljm_recorder_start_file(struct lua_State *L,
                                           const char *path,
                                           const ljm_options *opts,
                                           ljm_error *err);

/* The same into `*sink`, which is copied. It is closed when the recording
** ends; not by a start that fails. */
LJM_API ljm_status ljm_recorder_start(struct lua_State *L,
                                      const ljm_sink *sink,
                                      const ljm_options *opts,
                                      ljm_error *err);

/* Ends the recording and its stream. `res` (may be NULL) gets what it came
** to. LJM_OK; LJM_E_NOTRUNNING; LJM_E_RUNNING: called from the sink; the
** stream's first failure: events up to that one are in the stream;
** LJM_E_NOMEM, LJM_E_LIMIT: the stream is whole, but see LJM_REASON_NOMEM and
** _LIMIT. In a child process after fork nothing runs: LJM_E_NOTRUNNING. Keeps
** errno. Not from within an allocator. */
LJM_API ljm_status ljm_recorder_stop(struct lua_State *L, ljm_result *res);

/* Is the VM of `L` being recorded (by this process)? */
LJM_API int ljm_recorder_running(struct lua_State *L);

/* Hands all pending bytes to the sink. LJM_OK, LJM_E_NOTRUNNING,
** LJM_E_RUNNING: called from the sink; the stream's first failure. */
LJM_API ljm_status ljm_recorder_flush(struct lua_State *L);

/* Marks a point of the timeline (format 4; nothing is written with 3) with a
** text of the program's, `size` bytes. Statuses as for a flush. */
LJM_API ljm_status ljm_recorder_mark(struct lua_State *L, const char *label,
                                     size_t size);

/* Start by the environment. When a VM is created, the patched library reads
** LJMEMPROF once in each process: words with commas between them.
**   file=PATH    record into PATH, which is the rest of the value, commas
**                included; so this word comes last. "%p" is the process id,
**                "%%" is "%". The second recording of a process gets ".2"
**                after the name, and so on.
**   stacks       with call stacks; stacks=N: of at most N frames
**   sample=N     one sample in N bytes on average; k, m, g allowed
**   vms=N        at most N recordings in a process (default 64)
**   control      take orders, see ljm_control
**   wait         record nothing before the first order; implies control
**   log=PATH     tell in this file, one line each, what begins, ends, fails
** A value with any other word is refused as a whole: a line on standard error
** says which word, and nothing is recorded. A recording that cannot start is
** told in the log, or if there is none, once on standard error. One ends with
** its VM or process. A child process (fork) goes on in a file of its own at
** its next event if the name has "%p", else not. Nothing of it happens in a
** process with privileges that its user lacks (setuid, capabilities), or in a
** library built with LJM_NO_SELFSTART. */

#define LJM_CONTROL_MAGIC "ljmctl1"

typedef enum ljm_order {
  LJM_ORDER_NONE = 0,
  LJM_ORDER_START = 1,   /* Into the next file. */
  LJM_ORDER_STOP = 2,
  LJM_ORDER_SNAPSHOT = 3 /* Write all pending bytes: the file tells all. */
} ljm_order;

/* How a running VM takes orders, if its environment asked for that: a page of
** memory without a name in the file system ("memfd:ljmemprof" in
** /proc/PID/fd), mode 0600, sealed so that nobody can make it shorter.
** The VM's own thread looks at `order` when it allocates; no other thread, no
** signal. To give one: add 256, put an ljm_order in the low byte, wait until
** `answer` is the same. All else is told by the VM, and is never read back. */
typedef struct ljm_control {
  char magic[8];      /* LJM_CONTROL_MAGIC. */
  uint64_t pid;       /* Whose page it is; a child inherits its parent's. */
  uint32_t number;    /* Of the VM in its process, from 1. */
  uint32_t order;     /* Written from outside. */
  uint32_t answer;    /* The order that was carried out last. */
  uint32_t status;    /* The ljm_status of that. */
  uint32_t sys_errno; /* And its error number, or 0. */
  uint32_t recording; /* 1: something is being recorded now. */
  uint64_t written;   /* Bytes of the recording, as of the last order. */
  uint64_t dropped;   /* Events that it left out. */
  char path[4040];    /* Its file, cut if longer. */
} ljm_control;

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

#if defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#else
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#define LJMI_UNUSED __attribute__((unused))
#if defined(__clang__)
#define LJMI_NOINLINE __attribute__((noinline))
#else  /* A clone has other parameters than what calls it jumps with. */
#define LJMI_NOINLINE __attribute__((noinline, noclone))
#endif
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

#ifndef LJM_NO_RESOLVER
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
/* What libc's headers hide if one of them came before this one. */
#ifndef __cplusplus
  extern int pipe2(int fd[2], int flags);
#ifndef O_CLOEXEC
  extern long syscall(long number, ...);
  extern ssize_t readlink(const char *path, char *data, size_t size);
#endif
#endif
#if defined(__GLIBC__) && !defined(__USE_GNU)
typedef struct ljmi_dl_info { /* dl_iterate_phdr(3) */
  ElfW(Addr) dlpi_addr;
  const char *dlpi_name;
  const ElfW(Phdr) *dlpi_phdr;
  ElfW(Half) dlpi_phnum;
  unsigned long long dlpi_adds, dlpi_subs;
} ljmi_dl_info;
  extern int dl_iterate_phdr(int (*callback)(ljmi_dl_info *, size_t, void *),
                             void *data);
#else
typedef struct dl_phdr_info ljmi_dl_info;
#endif
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

/* Integers of an input, low byte first or not. */
static uint32_t ljmi_load16(const unsigned char *p, int big)
{
  return big ? ((uint32_t)p[0] << 8) | p[1] : ((uint32_t)p[1] << 8) | p[0];
}

static uint32_t ljmi_load32(const unsigned char *p, int big)
{
  uint32_t hi = ljmi_load16(p + (big ? 0 : 2), big);
  return (hi << 16) | ljmi_load16(p + (big ? 2 : 0), big);
}

static uint64_t ljmi_load64(const unsigned char *p, int big)
{
  uint64_t hi = ljmi_load32(p + (big ? 0 : 4), big);
  return (hi << 32) | ljmi_load32(p + (big ? 4 : 0), big);
}

/* Is [off, off + len) a part of `size` bytes? */
static ljm_status ljmi_region(uint64_t off, uint64_t len, uint64_t size)
{
  if (len > UINT64_MAX - off) return LJM_E_MALFORMED;
  if (off > size || len > size - off) return LJM_E_TRUNCATED;
  return LJM_OK;
}

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
  int tries;
  ljmi_file_forget_path(f);
  if (ljmi_sys_stat(f->fd, &st) != 0 || !ljmi_sys_is_file(st.st_mode)) return 0;
  for (tries = 0; tries < LJMI_RETRIES; tries++) {
    if (ljmi_sys_truncate(f->fd, taken) == 0) return 0;
    if (errno != EINTR) return errno;
  }
  return EIO; /* Not EINTR: the caller would write the same bytes again. */
}

/* Is the file still ours? A host that closes all files, as daemons do, may
** have been given the number for another. */
static int ljmi_file_ours(const ljm_file *f)
{
  ljmi_stat st;
  return ljmi_sys_stat(f->fd, &st) == 0 && (uint64_t)st.st_dev == f->dev &&
         (uint64_t)st.st_ino == f->ino;
}

#if defined(__linux__) && defined(SIG_BLOCK)
/* A write that is refused may send a signal that would end the host. */
static ptrdiff_t ljmi_write_quietly(int fd, const void *data, size_t size)
{
  static const struct timespec none = {0, 0};
  sigset_t both, old, before;
  ptrdiff_t n;
  int err, sig;
  sigemptyset(&both);
  sigaddset(&both, SIGPIPE);
  sigaddset(&both, SIGXFSZ);
  if (sigpending(&before) != 0 || sigprocmask(SIG_BLOCK, &both, &old) != 0)
    return -1;
  n = write(fd, data, size);
  err = errno;
  sig = n >= 0 ? 0 : err == EPIPE ? SIGPIPE : err == EFBIG ? SIGXFSZ : 0;
  if (sig && !sigismember(&before, sig)) {
    sigemptyset(&both);
    sigaddset(&both, sig);
    while (sigtimedwait(&both, NULL, &none) < 0 && errno == EINTR) continue;
  }
  sigprocmask(SIG_SETMASK, &old, NULL);
  errno = err;
  return n;
}
#else
#define ljmi_write_quietly(fd, data, n) ljmi_sys_write(fd, data, n)
#endif

static ptrdiff_t ljmi_file_write(void *user, const void *data, size_t size)
{
  ljm_file *f = (ljm_file *)user;
  ptrdiff_t n;
  int err;
  if (!ljmi_file_ours(f)) return -(ptrdiff_t)EBADF;
  if (size > INT_MAX) size = INT_MAX;
  n = (ptrdiff_t)ljmi_write_quietly(f->fd, data, size);
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
  if (!ljmi_file_ours(f)) err = EBADF;
  else if (ljmi_sys_close(f->fd) != 0 && errno != EINTR) err = errno;
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
  for (tries = 0; tries < 2; tries++) {
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
  ljmi_stat st;
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
  if (f->fd < 0 || ljmi_sys_stat(f->fd, &st) != 0) {
    int sys = errno;
    if (f->fd >= 0) (void)ljmi_sys_close(f->fd);
    ljmi_file_forget_path(f);
    return ljmi_fail(err, LJM_E_IO, sys, 0);
  }
  f->dev = (uint64_t)st.st_dev;
  f->ino = (uint64_t)st.st_ino;
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
#define LJMI_EVENT_MAX 72 /* In format 4 fewer. */
/* Clock checks: every so many bytes at most; no event is below 2. */
#define LJMI_STEP_MAX 512
/* Checks nearer than this (ns) to one another may become rarer. */
#define LJMI_STEP_NS UINT64_C(20000000)

static void ljmi_buffer_setend(ljm_buffer *b, unsigned char *end)
{
  b->end = end;
  b->quick = end - b->buf < LJMI_EVENT_MAX ? b->buf
                                           : end - (LJMI_EVENT_MAX - 1);
}

/* All reserves take the slow way from here on. */
static void ljmi_buffer_empty(ljm_buffer *b)
{
  b->p = b->buf;
  ljmi_buffer_setend(b, b->buf);
}

/* Hands `size` bytes to the sink, of which the buffer's are the last. */
static ljm_status ljmi_buffer_send(ljm_buffer *b, const unsigned char *data,
                                   size_t size)
{
  ljm_status st;
  ljmi_buffer_setend(b, b->p); /* Who calls back out finds no room. */
  st = ljmi_output_write(&b->out, data, size);
  ljmi_buffer_empty(b);
  return st;
}

/* Sets where the clock is looked at next: at once while events are rare,
** after less than LJMI_STEP_MAX bytes while they are many. */
static void ljmi_buffer_pace(ljm_buffer *b, uint64_t now, size_t need)
{
  if (now - b->checked > LJMI_STEP_NS)
    b->step = 0;
  else if (b->step < LJMI_STEP_MAX / 2)
    b->step = b->step * 2 + 8;
  b->checked = now;
  if (b->flush_ns == UINT64_MAX || (size_t)(b->limit - b->p) < need + b->step)
    ljmi_buffer_setend(b, b->limit);
  else
    ljmi_buffer_setend(b, b->p + need + b->step);
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

/* Keeps what addresses near `address` have in common, as they are written:
** what stands above the lowest 28 bits, if that is not nothing nor too much. */
static void ljmi_encoder_sethigh(ljm_encoder *e, uint64_t address)
{
  uint64_t high = address >> 28;
  unsigned char bytes[16] = {0};
  unsigned i;
  if (high == e->high || high == 0 || high >> 28) return;
  e->high = high;
  e->high_size = (uint32_t)(ljmi_put_uleb(bytes, high << 28) - bytes);
  e->high_bytes = 0;
  for (i = 0; i < 8; i++) e->high_bytes |= (uint64_t)bytes[i] << (8 * i);
}

/* The event path of a recorder: the part must be open, addresses not 0. */
static LJMI_NOINLINE ljm_status ljmi_encoder_event_any(ljm_encoder *e,
                                                       const ljmi_place *w,
                                                       unsigned op,
                                                       uint64_t address,
                                                       uint64_t size)
{
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT_MAX);
  if (LJMI_UNLIKELY(!p)) return ljmi_buffer_drop(&e->b);
  ljmi_encoder_sethigh(e, address);
  p = ljmi_put_place(p, w, op);
  p = ljmi_put_uleb(p, address);
  e->b.p = ljmi_put_uleb(p, size);
  return LJM_OK;
}

/* The same for what most events are: an address with the highest bits kept, a
** size of one or two bytes, room at hand. 0: this is none of them. */
static inline int ljmi_encoder_near(ljm_encoder *e, const ljmi_place *w,
                                    unsigned op, uint64_t address,
                                    uint64_t size)
{
  unsigned char *p = e->b.p;
  uint32_t low = (uint32_t)address & 0xfffffff;
  if (LJMI_UNLIKELY(address >> 28 != e->high || size > 0x3fff ||
                    p >= e->b.quick))
    return 0;
  p = ljmi_put_place(p, w, op);
  low = (low & 0x3fff) | (low & 0xfffc000) << 2;
  low = (low & 0x7f007f) | (low & 0x3f803f80) << 1;
  ljmi_put_u64(p, e->high_bytes | low);
  p += e->high_size;
  p[0] = (unsigned char)size;
  e->b.p = p + 1;
  if (size < 0x80) return 1;
  p[0] = (unsigned char)(size | 0x80);
  p[1] = (unsigned char)(size >> 7);
  e->b.p = p + 2;
  return 1;
}

static inline ljm_status ljmi_encoder_event(ljm_encoder *e,
                                            const ljmi_place *w, unsigned op,
                                            uint64_t address, uint64_t size)
{
  if (LJMI_LIKELY(ljmi_encoder_near(e, w, op, address, size))) return LJM_OK;
  return ljmi_encoder_event_any(e, w, op, address, size);
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

/* Writes a name longer than `limit` cut to `out`, its size to *out_size. */
static void ljmi_cut_name(char *out, const char *s, size_t size, size_t limit,
                          size_t *out_size)
{
  static const char digits[] = "0123456789abcdef";
  uint64_t h = ljmi_hash_bytes(s, size);
  size_t keep = limit - LJMI_CUT_SIZE;
  int i;
  /* Not inside a UTF-8 character. */
  for (i = 0; i < 3 && ((unsigned char)s[keep] & 0xc0) == 0x80; i++) keep--;
  memcpy(out, s, keep);
  memcpy(out + keep, "...#", 4);
  out += keep + 4;
  for (i = 0; i < 16; i++) out[i] = digits[h >> (60 - 4 * i) & 15];
  *out_size = keep + LJMI_CUT_SIZE;
}

/* Writes an S. */
static unsigned char *ljmi_put_string(unsigned char *p, const char *s,
                                      size_t size)
{
  p = ljmi_put_uleb_loop(p, size);
  if (size) memcpy(p, s, size);
  return p + size;
}

/* Writes an S of at most `limit` bytes. */
static unsigned char *ljmi_put_name(unsigned char *p, const char *s,
                                    size_t size, size_t limit)
{
  unsigned char *at;
  if (size <= limit) return ljmi_put_string(p, s, size);
  /* How many bytes the length takes is known only when the name is cut. */
  at = p + 10;
  ljmi_cut_name((char *)at, s, size, limit, &size);
  p = ljmi_put_uleb_loop(p, size);
  memmove(p, at, size);
  return p + size;
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
  ljmi_encoder_sethigh(e, UINT64_C(1) << 28);
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

/* What a call at the wrong time gets. */
static ljm_status ljmi_buffer_refuse(const ljm_buffer *b, ljm_status status)
{
  return b->out.busy ? LJM_E_RUNNING : status;
}

/* Ready for a record of the given kind? */
static ljm_status ljmi_encoder_ready(const ljm_encoder *e, int first_phase)
{
  if (!e || !e->b.buf) return LJM_E_ARG;
  if (e->phase == 2) return ljmi_buffer_refuse(&e->b, LJM_E_NOTRUNNING);
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
  e->phase = 2; /* For what the sink's close may call. */
  (void)ljmi_output_close(&e->b.out);
  ljmi_free_array(&e->mem, e->b.buf, (size_t)(e->b.limit - e->b.buf), 1);
  e->b.buf = NULL;
}

/* CRC-32C (Castagnoli, reflected), as iSCSI has it; `crc` 0 to begin. */
#define LJMI_CRC_POLY UINT32_C(0x82f63b78)

/* Tables for eight bytes at a time: 8 of 256. */
#define LJMI_CRC_TABLE_COUNT 2048

static void ljmi_crc_fill(uint32_t *t)
{
  uint32_t i, k, c;
  for (i = 0; i < 256; i++) {
    c = i;
    for (k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ LJMI_CRC_POLY : c >> 1;
    t[i] = c;
  }
  for (i = 256; i < LJMI_CRC_TABLE_COUNT; i++)
    t[i] = t[i - 256] >> 8 ^ t[t[i - 256] & 255];
}

static uint32_t ljmi_get_u32(const unsigned char *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

static uint32_t ljmi_crc_tables(const uint32_t *t, uint32_t crc,
                                const unsigned char *p, size_t n)
{
  crc = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint32_t a = ljmi_get_u32(p) ^ crc, b = ljmi_get_u32(p + 4);
    crc = t[1792 + (a & 255)] ^ t[1536 + (a >> 8 & 255)] ^
          t[1280 + (a >> 16 & 255)] ^ t[1024 + (a >> 24)] ^
          t[768 + (b & 255)] ^ t[512 + (b >> 8 & 255)] ^
          t[256 + (b >> 16 & 255)] ^ t[b >> 24];
  }
  for (; n > 0; n--, p++) crc = crc >> 8 ^ t[(crc ^ *p) & 255];
  return ~crc;
}

#if defined(__GNUC__) && defined(__x86_64__)
#define LJMI_CRC_NATIVE 1
__attribute__((target("sse4.2"))) static uint32_t
ljmi_crc_native(const uint32_t *t, uint32_t crc, const unsigned char *p,
                size_t n)
{
  uint64_t c = ~crc, w;
  (void)t;
  for (; n >= 8; n -= 8, p += 8) {
    memcpy(&w, p, 8);
    c = __builtin_ia32_crc32di(c, w);
  }
  for (; n > 0; n--, p++) c = __builtin_ia32_crc32qi((uint32_t)c, *p);
  return ~(uint32_t)c;
}

static int ljmi_crc_has_native(void)
{
  return __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32) && LJMI_LITTLE
#define LJMI_CRC_NATIVE 1
static uint32_t ljmi_crc_native(const uint32_t *t, uint32_t crc,
                                const unsigned char *p, size_t n)
{
  uint64_t w;
  (void)t;
  crc = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    memcpy(&w, p, 8);
    crc = __crc32cd(crc, w);
  }
  for (; n > 0; n--, p++) crc = __crc32cb(crc, *p);
  return ~crc;
}

static int ljmi_crc_has_native(void) { return 1; }
#endif

static ljm_status ljmi_crc_init(ljm_encoder4 *e)
{
#ifdef LJMI_CRC_NATIVE
  if (ljmi_crc_has_native()) {
    e->crc = ljmi_crc_native;
    return LJM_OK;
  }
#endif
  e->crc = ljmi_crc_tables;
  e->crc_table = (uint32_t *)ljmi_alloc_array(&e->mem, LJMI_CRC_TABLE_COUNT,
                                              sizeof(uint32_t));
  if (!e->crc_table) return e->mem.status;
  ljmi_crc_fill(e->crc_table);
  return LJM_OK;
}

/* Kinds of blocks and definitions. */
#define LJM_FMT_META 1u
#define LJM_FMT_DEFS 2u
#define LJM_FMT_EVENTS 3u
#define LJM_FMT_LIVE 4u
#define LJM_FMT_BLOCK_END 5u
#define LJM_FMT_COPY 1u
#define LJM_FMT_DEF_STRING 1u
#define LJM_FMT_DEF_MODULE 2u
#define LJM_FMT_DEF_CSYM 3u
#define LJM_FMT_DEF_FUNCTION 4u
#define LJM_FMT_DEF_FRAME 5u
#define LJM_FMT_DEF_STACK 6u
#define LJM_FMT_DEF_SITE 7u
#define LJM_FMT_DEF_TRACE 8u
#define LJM_FMT_HEADER_SIZE 32u
#define LJM_FMT_STREAM4_SIZE 14u
#define LJM_FMT_SITE_MAX 16777215u

static void ljmi_put_u32(unsigned char *p, uint32_t v)
{
  p[0] = (unsigned char)v;
  p[1] = (unsigned char)(v >> 8);
  p[2] = (unsigned char)(v >> 16);
  p[3] = (unsigned char)(v >> 24);
}

/* Writes the header of a block whose payload of `size` bytes stands behind
** it; returns the byte after the block. */
static unsigned char *ljmi_block_seal(ljm_encoder4 *e, unsigned char *p,
                                      unsigned kind, unsigned flags,
                                      size_t size, uint32_t event_count)
{
  static const unsigned char magic[4] = {0x9d, 0x6c, 0x6a, 0x62};
  memcpy(p, magic, 4);
  p[4] = (unsigned char)kind;
  p[5] = (unsigned char)flags;
  p[6] = p[7] = 0;
  ljmi_put_u32(p + 8, e->sequence++);
  ljmi_put_u32(p + 12, (uint32_t)size);
  ljmi_put_u32(p + 16, event_count);
  ljmi_put_u32(p + 20, e->stream_id);
  ljmi_put_u32(p + 24, e->crc(e->crc_table, 0, p + 32, size));
  ljmi_put_u32(p + 28, e->crc(e->crc_table, 0, p, 28));
  return p + LJM_FMT_HEADER_SIZE + size;
}

/* Blocks between the two times a definition is written. */
#define LJMI_COPY_DISTANCE 6

/* A block kept for its second time: the first bytes of its header's place say
** what it is and when it is due. */
typedef struct ljmi_copy {
  uint32_t kind, due, size;
} ljmi_copy;

static ljmi_copy ljmi_copy_at(const ljm_copies *c, size_t off)
{
  ljmi_copy copy;
  memcpy(&copy, c->data + off, sizeof(copy));
  return copy;
}

/* Keeps a block (header's place included); there must be room. */
static void ljmi_copies_add(ljm_encoder4 *e, const unsigned char *block,
                            unsigned kind, size_t size)
{
  ljm_copies *c = &e->copies;
  ljmi_copy copy;
  size_t whole = LJM_FMT_HEADER_SIZE + size;
  copy.kind = kind;
  copy.due = e->sequence + LJMI_COPY_DISTANCE;
  copy.size = (uint32_t)size;
  if (c->cap - c->tail < whole) {
    memmove(c->data, c->data + c->head, c->tail - c->head);
    c->tail -= c->head;
    c->head = 0;
  }
  memcpy(c->data + c->tail, &copy, sizeof(copy));
  memcpy(c->data + c->tail + LJM_FMT_HEADER_SIZE, block + LJM_FMT_HEADER_SIZE,
         size);
  c->tail += whole;
}

/* Bytes of the oldest copies that are to be written now: those due, all if
** `due` is UINT32_MAX, and as many as must make room for `need`. */
static size_t ljmi_copies_due(const ljm_copies *c, uint32_t due, size_t need)
{
  size_t off = c->head;
  while (off < c->tail) {
    ljmi_copy copy = ljmi_copy_at(c, off);
    if (copy.due > due && c->cap - (c->tail - off) >= need) break;
    off += LJM_FMT_HEADER_SIZE + copy.size;
  }
  return off - c->head;
}

static unsigned char *ljmi_copies_put(ljm_encoder4 *e, unsigned char *p,
                                      size_t size)
{
  ljm_copies *c = &e->copies;
  size_t end = c->head + size;
  while (c->head < end) {
    ljmi_copy copy = ljmi_copy_at(c, c->head);
    size_t whole = LJM_FMT_HEADER_SIZE + copy.size;
    memcpy(p, c->data + c->head, whole);
    p = ljmi_block_seal(e, p, copy.kind, LJM_FMT_COPY, copy.size, 0);
    c->head += whole;
  }
  if (c->head == c->tail) c->head = c->tail = 0;
  return p;
}

/* The stream's first bytes and META, which is the oldest copy to be. */
static unsigned char *ljmi_encoder4_begin(ljm_encoder4 *e, unsigned char *p)
{
  static const unsigned char head[LJM_FMT_STREAM4_SIZE] = {
    'l', 'j', 's', 4, 0, 0, 0, 'l', 'j', 'm', 4, 0, 0, 0
  };
  ljmi_copy meta = ljmi_copy_at(&e->copies, 0);
  memcpy(p, head, sizeof(head));
  p += sizeof(head);
  memcpy(p, e->copies.data, LJM_FMT_HEADER_SIZE + meta.size);
  e->begun = 1;
  return ljmi_block_seal(e, p, LJM_FMT_META, 0, meta.size, 0);
}

static size_t ljmi_encoder4_begin_size(const ljm_encoder4 *e)
{
  if (e->begun) return 0;
  return LJM_FMT_STREAM4_SIZE + LJM_FMT_HEADER_SIZE +
         ljmi_copy_at(&e->copies, 0).size;
}

static unsigned char *ljmi_encoder4_put_defs(ljm_encoder4 *e,
                                             unsigned char *p)
{
  size_t size = e->defs_used - LJM_FMT_HEADER_SIZE;
  if (size == 0) return p;
  memcpy(p, e->defs, e->defs_used);
  p = ljmi_block_seal(e, p, LJM_FMT_DEFS, 0, size, 0);
  ljmi_copies_add(e, e->defs, LJM_FMT_DEFS, size);
  e->defs_used = LJM_FMT_HEADER_SIZE;
  memset(e->last_def, 0, sizeof(e->last_def));
  return p;
}

static uint64_t ljmi_totals_count(const ljm_totals *t)
{
  return t->allocs + t->frees + t->reallocs + t->failed;
}

/* Puts in one piece what is pending: beginning, copies up to `due`,
** definitions, and the block in the buffer; hands it to the sink. */
static ljm_status ljmi_encoder4_send(ljm_encoder4 *e, uint32_t due)
{
  unsigned char *block = e->b.buf - LJM_FMT_HEADER_SIZE, *p, *from;
  size_t size = (size_t)(e->b.p - e->b.buf);
  size_t defs = e->defs_used > LJM_FMT_HEADER_SIZE ? e->defs_used : 0;
  size_t begin = ljmi_encoder4_begin_size(e);
  size_t copies = ljmi_copies_due(&e->copies, due, defs);
  uint64_t count = ljmi_totals_count(&e->totals);
  p = from = block - begin - copies - defs;
  if (begin) p = ljmi_encoder4_begin(e, p);
  p = ljmi_copies_put(e, p, copies);
  p = ljmi_encoder4_put_defs(e, p);
  if (size)
    p = ljmi_block_seal(e, p, e->kind, 0, size,
                        (uint32_t)(count - e->sealed_events));
  e->sealed_events = count;
  memset(e->last, 0, sizeof(e->last));
  return ljmi_buffer_send(&e->b, from, (size_t)(p - from));
}

static ljm_status ljmi_encoder4_write(ljm_buffer *b)
{
  ljm_encoder4 *e = (ljm_encoder4 *)(void *)b;
  return ljmi_encoder4_send(e, e->sequence);
}

/* Operations, and records of op 3. */
#define LJM_FMT_OP_ALLOC 0u
#define LJM_FMT_OP_FREE 1u
#define LJM_FMT_OP_REALLOC 2u
#define LJM_FMT_OP_OTHER 3u
#define LJM_FMT_SUB_ALLOC_FAILED 0u
#define LJM_FMT_SUB_REALLOC_FAILED 1u
#define LJM_FMT_SUB_WEIGHT 2u
#define LJM_FMT_SUB_MARK 3u
#define LJM_FMT_SUB_LOADED 4u
#define LJM_FMT_SUB_UNLOADED 5u
#define LJM_FMT_SUB_DROPPED 6u

/* The event path of a recorder: sites up to LJM_FMT_SITE_MAX. */

/* Bytes that a site takes: its code. */
static inline unsigned ljmi_site_code(uint32_t site, uint32_t last)
{
  if (site == last) return 0;
  return 1u + (site > 0xff) + (site > 0xffff);
}

/* Z of a difference. */
static inline uint64_t ljmi_zigzag(uint64_t d)
{
  return d << 1 ^ (0 - (d >> 63));
}

/* A difference of addresses in units of 8, 2^23 added; over 2^24 if it is not
** whole or too far: rotated, odd bits are high ones. */
static inline uint64_t ljmi_address_near(uint64_t address, uint64_t last)
{
  uint64_t d = address - last + (UINT64_C(1) << 26);
  return d >> 3 | d << 61;
}

/* Z of what is near, and the bytes it takes, less 1. */
static inline uint64_t ljmi_near_z(uint64_t near, unsigned *code)
{
  uint64_t z = ljmi_zigzag(near - (UINT64_C(1) << 23));
  *code = ljmi_high_bit(z | 1) >> 3;
  return z;
}

/* Writes control, site and address; `control` has the other bits. */
static inline unsigned char *ljmi_put_event(unsigned char *p,
                                            unsigned control, ljm_last *last,
                                            uint32_t site, uint64_t address)
{
  uint64_t near = ljmi_address_near(address, last->address), z = address;
  unsigned sc = ljmi_site_code(site, last->site), ac = 3, size = 8;
  if (LJMI_LIKELY(near <= 0xffffff)) {
    z = ljmi_near_z(near, &ac);
    size = ac + 1;
  }
  p[0] = (unsigned char)(control | ac << 4 | sc << 2);
  ljmi_put_u64(p + 1, site);
  p += 1 + sc;
  ljmi_put_u64(p, z);
  last->site = site;
  return p + size;
}

static inline unsigned ljmi_size_code(uint64_t size, uint64_t last)
{
  if (size == last) return 0;
  return 1u + (size > 0xff) + (size > 0xffff);
}

/* Bytes that a size takes by its code. */
static inline unsigned ljmi_size_bytes(unsigned code)
{
  return LJMI_UNLIKELY(code == 3) ? 8 : code;
}

/* Counts an alloc or a free. */
static inline void ljmi_totals_add(ljm_totals *t, unsigned op, uint64_t size)
{
  if (op == LJM_FMT_OP_ALLOC) {
    t->allocs++;
    t->alloc_size += size;
  } else {
    t->frees++;
    t->freed_size += size;
  }
}

/* Alloc or free. */
static LJMI_NOINLINE ljm_status ljmi_encoder4_event_any(ljm_encoder4 *e,
                                                        unsigned op,
                                                        uint32_t site,
                                                        uint64_t address,
                                                        uint64_t size)
{
  ljm_last *last = &e->last[op];
  unsigned code;
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT_MAX);
  if (LJMI_UNLIKELY(!p)) return ljmi_buffer_drop(&e->b);
  code = ljmi_size_code(size, last->size);
  p = ljmi_put_event(p, op | code << 6, last, site, address);
  ljmi_put_u64(p, size);
  e->b.p = p + ljmi_size_bytes(code);
  last->address = address;
  last->size = size;
  ljmi_totals_add(&e->totals, op, size);
  return LJM_OK;
}

/* The same for what most events are: near the last one, room at hand. In a
** loop the site and the size are often the last ones, too. 0: it is none. */
static inline int ljmi_encoder4_near(ljm_encoder4 *e, unsigned op,
                                     uint32_t site, uint64_t address,
                                     uint64_t size)
{
  ljm_last *last = &e->last[op];
  unsigned char *p = e->b.p;
  uint64_t near = ljmi_address_near(address, last->address), z;
  unsigned ac;
  if (LJMI_UNLIKELY(near > 0xffffff || p >= e->b.quick)) return 0;
  last->address = address;
  z = ljmi_near_z(near, &ac);
  if (site == last->site && size == last->size) {
    p[0] = (unsigned char)(op | ac << 4);
    ljmi_put_u64(p + 1, z);
  } else {
    unsigned sc = ljmi_site_code(site, last->site);
    unsigned code = ljmi_size_code(size, last->size);
    p[0] = (unsigned char)(op | ac << 4 | sc << 2 | code << 6);
    ljmi_put_u64(p + 1, site);
    p += sc;
    ljmi_put_u64(p + 1, z);
    ljmi_put_u64(p + 2 + ac, size);
    p += ljmi_size_bytes(code);
    last->site = site;
    last->size = size;
  }
  e->b.p = p + 2 + ac;
  ljmi_totals_add(&e->totals, op, size);
  return 1;
}

static inline ljm_status ljmi_encoder4_event(ljm_encoder4 *e, unsigned op,
                                             uint32_t site, uint64_t address,
                                             uint64_t size)
{
  if (ljmi_encoder4_near(e, op, site, address, size)) return LJM_OK;
  return ljmi_encoder4_event_any(e, op, site, address, size);
}

static inline ljm_status ljmi_encoder4_moved(ljm_encoder4 *e, uint32_t site,
                                             uint64_t old_address,
                                             uint64_t old_size,
                                             uint64_t address, uint64_t size)
{
  ljm_last *last = &e->last[LJM_FMT_OP_REALLOC];
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT_MAX);
  if (LJMI_UNLIKELY(!p)) return ljmi_buffer_drop(&e->b);
  p = ljmi_put_event(p, LJM_FMT_OP_REALLOC, last, site, old_address);
  p = ljmi_put_uleb(p, old_size);
  p = ljmi_put_uleb(p, ljmi_zigzag(address - old_address));
  e->b.p = ljmi_put_uleb(p, size);
  last->address = address;
  e->totals.reallocs++;
  e->totals.old_size += old_size;
  e->totals.new_size += size;
  return LJM_OK;
}

/* Starts a record of op 3; NULL: no room. */
static unsigned char *ljmi_encoder4_other(ljm_encoder4 *e, unsigned sub)
{
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT_MAX);
  if (p) *p++ = (unsigned char)(sub << 2 | LJM_FMT_OP_OTHER);
  return p;
}

/* Before a sample, in the same block: room for both, then the weight. */
static ljm_status ljmi_encoder4_weight(ljm_encoder4 *e, uint64_t weight)
{
  unsigned char *p = ljmi_reserve(&e->b, 2 * LJMI_EVENT_MAX);
  if (!p) return ljmi_buffer_drop(&e->b);
  *p++ = (unsigned char)(LJM_FMT_SUB_WEIGHT << 2 | LJM_FMT_OP_OTHER);
  e->b.p = ljmi_put_uleb_loop(p, weight);
  return LJM_OK;
}

/* Slots looked at for a key; one that is not found there is new. In a table
** half full, chance leaves none of them free in no program. */
#define LJMI_PROBES 128
#define LJMI_SLOTS_MIN 64

static uint32_t ljmi_hash_words(const uint32_t *w, size_t n)
{
  uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
  size_t i;
  for (i = 0; i < n; i++) {
    h = (h ^ w[i]) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 29;
  }
  return (uint32_t)(h >> 32);
}

/* A free slot near `hash`, or SIZE_MAX. */
static size_t ljmi_slot_free(const ljm_slots *s, uint32_t hash)
{
  size_t i, at;
  for (i = 0; i < LJMI_PROBES && i < s->count; i++) {
    at = (hash + i) & (s->count - 1);
    if (s->ids[at] == 0) return at;
  }
  return SIZE_MAX;
}

static void ljmi_slot_put(ljm_slots *s, uint32_t hash, uint32_t id)
{
  size_t at = ljmi_slot_free(s, hash);
  if (at != SIZE_MAX) s->ids[at] = id;
}

/* Twice the slots, all free; the caller puts the ids in again. */
static ljm_status ljmi_slots_double(ljm_memory *m, ljm_slots *s)
{
  size_t count = s->count ? s->count * 2 : LJMI_SLOTS_MIN;
  uint32_t *ids = (uint32_t *)ljmi_alloc_array(m, count, sizeof(*ids));
  if (!ids) return m->status;
  memset(ids, 0, count * sizeof(*ids));
  ljmi_free_array(m, s->ids, s->count, sizeof(*ids));
  s->ids = ids;
  s->count = count;
  return LJM_OK;
}

/* Room for one more in an array that doubles; NULL with m->status. */
static void *ljmi_grow_double(ljm_memory *m, void *p, size_t *cap,
                              size_t elem)
{
  size_t count = *cap ? *cap * 2 : LJMI_SLOTS_MIN / 2;
  void *q = ljmi_grow_array(m, p, *cap, count, elem);
  if (q) *cap = count;
  return q;
}

static uint32_t ljmi_interned_find(const ljm_interned *t, const uint32_t *key,
                                   uint32_t hash)
{
  size_t i;
  for (i = 0; i < LJMI_PROBES && i < t->slots.count; i++) {
    uint32_t id = t->slots.ids[(hash + i) & (t->slots.count - 1)];
    if (id == 0) return 0;
    if (memcmp(t->keys + (id - 1) * t->words, key,
               t->words * sizeof(*key)) == 0)
      return id;
  }
  return 0;
}

/* Makes room for one more key. */
static ljm_status ljmi_interned_room(ljm_memory *m, ljm_interned *t)
{
  size_t i;
  if (t->count >= t->max_count) return LJM_E_LIMIT;
  if (t->count == t->key_cap) {
    uint32_t *keys = (uint32_t *)ljmi_grow_double(
      m, t->keys, &t->key_cap, t->words * sizeof(*keys));
    if (!keys) return m->status;
    t->keys = keys;
  }
  if (t->count < t->slots.count / 2) return LJM_OK;
  if (ljmi_slots_double(m, &t->slots) != LJM_OK) return m->status;
  for (i = 0; i < t->count; i++)
    ljmi_slot_put(&t->slots, ljmi_hash_words(t->keys + i * t->words, t->words),
                  (uint32_t)(i + 1));
  return LJM_OK;
}

/* A new key into the room made for it. */
static uint32_t ljmi_interned_add(ljm_interned *t, const uint32_t *key,
                                  uint32_t hash)
{
  memcpy(t->keys + t->count * t->words, key, t->words * sizeof(*key));
  ljmi_slot_put(&t->slots, hash, (uint32_t)++t->count);
  return (uint32_t)t->count;
}

static uint32_t ljmi_undefined(ljm_encoder4 *e)
{
  e->undefined++;
  return 0;
}

/* Starts a definition of at most `need` bytes after its id; NULL: no. */
static unsigned char *ljmi_def_begin(ljm_encoder4 *e, unsigned kind,
                                     uint64_t id, size_t need)
{
  unsigned char *p;
  if (e->ended || ljmi_buffer_idle(&e->b) != LJM_OK) return NULL;
  if (e->defs_cap - e->defs_used < need + 16 &&
      ljmi_encoder4_send(e, e->sequence) != LJM_OK)
    return NULL;
  p = e->defs + e->defs_used;
  *p++ = (unsigned char)kind;
  p = ljmi_put_uleb(p, id - e->last_def[kind]);
  e->last_def[kind] = id;
  return p;
}

static void ljmi_def_end(ljm_encoder4 *e, const unsigned char *p)
{
  e->defs_used = (size_t)(p - e->defs);
}

/* Most bytes of a definition without a string. */
#define LJMI_DEF_MAX 64

/* The key's id; a new one in *p where its definition goes on, else *p is
** NULL. 0 if it cannot be had. */
static uint32_t ljmi_intern(ljm_encoder4 *e, ljm_interned *t, unsigned kind,
                            const uint32_t *key, unsigned char **p)
{
  uint32_t hash = ljmi_hash_words(key, t->words);
  uint32_t id = ljmi_interned_find(t, key, hash);
  *p = NULL;
  if (id) return id;
  if (ljmi_interned_room(&e->mem, t) != LJM_OK) return ljmi_undefined(e);
  *p = ljmi_def_begin(e, kind, t->count + 1, LJMI_DEF_MAX);
  return *p ? ljmi_interned_add(t, key, hash) : ljmi_undefined(e);
}

/* -- strings */

#define LJMI_TEXT_CHUNK 65536

/* Before the texts of a chunk. */
typedef struct ljmi_text_chunk {
  char *older;
  size_t size;
} ljmi_text_chunk;

static uint32_t ljmi_text_find(const ljm_texts *t, const char *s, size_t size,
                               uint64_t hash)
{
  size_t i;
  for (i = 0; i < LJMI_PROBES && i < t->slots.count; i++) {
    uint32_t id =
      t->slots.ids[((uint32_t)(hash >> 32) + i) & (t->slots.count - 1)];
    const ljm_text *x;
    if (id == 0) return 0;
    x = &t->texts[id - 1];
    if (x->hash == hash && x->size == size &&
        (size == 0 || memcmp(x->data, s, size) == 0))
      return id;
  }
  return 0;
}

/* `size` bytes of a chunk that has them, not yet taken; NULL with m->status. */
static char *ljmi_text_room(ljm_memory *m, ljm_texts *t, size_t size)
{
  ljmi_text_chunk head;
  size_t want = sizeof(head) + size;
  char *chunk;
  if (t->chunk && t->chunk_size - t->chunk_used >= size)
    return t->chunk + t->chunk_used;
  if (want < LJMI_TEXT_CHUNK) want = LJMI_TEXT_CHUNK;
  chunk = (char *)ljmi_alloc_array(m, want, 1);
  if (!chunk) return NULL;
  head.older = t->chunk;
  head.size = t->chunk_size;
  memcpy(chunk, &head, sizeof(head));
  t->chunk = chunk;
  t->chunk_size = want;
  t->chunk_used = sizeof(head);
  return chunk + sizeof(head);
}

/* Makes room for one more text; NULL with m->status. */
static char *ljmi_texts_room(ljm_memory *m, ljm_texts *t, size_t size)
{
  size_t i;
  if (t->count == t->text_cap) {
    ljm_text *texts = (ljm_text *)ljmi_grow_double(m, t->texts, &t->text_cap,
                                                   sizeof(*texts));
    if (!texts) return NULL;
    t->texts = texts;
  }
  if (t->count >= t->slots.count / 2) {
    if (ljmi_slots_double(m, &t->slots) != LJM_OK) return NULL;
    for (i = 0; i < t->count; i++)
      ljmi_slot_put(&t->slots, (uint32_t)(t->texts[i].hash >> 32),
                    (uint32_t)(i + 1));
  }
  return ljmi_text_room(m, t, size);
}

static void ljmi_texts_free(ljm_memory *m, ljm_texts *t)
{
  while (t->chunk) {
    ljmi_text_chunk head;
    memcpy(&head, t->chunk, sizeof(head));
    ljmi_free_array(m, t->chunk, t->chunk_size, 1);
    t->chunk = head.older;
    t->chunk_size = head.size;
  }
  ljmi_free_array(m, t->texts, t->text_cap, sizeof(*t->texts));
  ljmi_free_array(m, t->slots.ids, t->slots.count, sizeof(uint32_t));
}

LJM_API uint32_t ljm_encoder4_string(ljm_encoder4 *e, const char *s,
                                     size_t size)
{
  ljm_texts *t;
  ljm_text *x;
  uint64_t hash;
  uint32_t id;
  unsigned char *p;
  char *room;
  if (!e || !e->base || (!s && size)) return 0;
  t = &e->strings;
  if (size > e->name_limit) {
    ljmi_cut_name(e->scratch, s, size, e->name_limit, &size);
    s = e->scratch;
  }
  hash = ljmi_hash_bytes(s, size);
  id = ljmi_text_find(t, s, size, hash);
  if (id) return id;
  room = ljmi_texts_room(&e->mem, t, size);
  if (!room || t->count >= UINT32_MAX / 2) return ljmi_undefined(e);
  id = (uint32_t)(t->count + 1);
  p = ljmi_def_begin(e, LJM_FMT_DEF_STRING, id, size + 10);
  if (!p) return ljmi_undefined(e);
  ljmi_def_end(e, ljmi_put_string(p, s, size));
  x = &t->texts[t->count++];
  x->data = room;
  x->size = size;
  x->hash = hash;
  if (size) memcpy(room, s, size);
  t->chunk_used += size;
  ljmi_slot_put(&t->slots, (uint32_t)(hash >> 32), id);
  return id;
}

/* -- other definitions */

#define LJMI_BUILD_ID_MAX 64

LJM_API uint32_t ljm_encoder4_module(ljm_encoder4 *e, const ljm_module *m)
{
  unsigned char *p;
  size_t n;
  if (!e || !e->base || !m || (!m->build_id && m->build_id_size)) return 0;
  n = m->build_id_size < LJMI_BUILD_ID_MAX ? m->build_id_size
                                           : LJMI_BUILD_ID_MAX;
  p = ljmi_def_begin(e, LJM_FMT_DEF_MODULE, e->module_count + 1,
                     LJMI_DEF_MAX + LJMI_BUILD_ID_MAX);
  if (!p) return ljmi_undefined(e);
  p = ljmi_put_uleb(p, m->path);
  p = ljmi_put_string(p, (const char *)m->build_id, n);
  p = ljmi_put_uleb(p, m->base);
  p = ljmi_put_uleb(p, m->size);
  ljmi_def_end(e, ljmi_put_uleb(p, m->bias));
  return ++e->module_count;
}

LJM_API uint32_t ljm_encoder4_csym(ljm_encoder4 *e, uint32_t module,
                                   uint64_t address, uint64_t size,
                                   uint32_t name)
{
  uint32_t key[6], id;
  unsigned char *p;
  if (!e || !e->base) return 0;
  key[0] = module;
  key[1] = name;
  key[2] = (uint32_t)address;
  key[3] = (uint32_t)(address >> 32);
  key[4] = (uint32_t)size;
  key[5] = (uint32_t)(size >> 32);
  id = ljmi_intern(e, &e->csyms, LJM_FMT_DEF_CSYM, key, &p);
  if (!p) return id;
  p = ljmi_put_uleb(p, module);
  p = ljmi_put_uleb(p, address);
  p = ljmi_put_uleb(p, size);
  ljmi_def_end(e, ljmi_put_uleb(p, name));
  return id;
}

LJM_API uint32_t ljm_encoder4_function(ljm_encoder4 *e, uint32_t chunk,
                                       uint64_t firstline, uint64_t lastline)
{
  uint32_t key[5], id;
  unsigned char *p;
  if (!e || !e->base) return 0;
  key[0] = chunk;
  key[1] = (uint32_t)firstline;
  key[2] = (uint32_t)(firstline >> 32);
  key[3] = (uint32_t)lastline;
  key[4] = (uint32_t)(lastline >> 32);
  id = ljmi_intern(e, &e->functions, LJM_FMT_DEF_FUNCTION, key, &p);
  if (!p) return id;
  p = ljmi_put_uleb(p, chunk);
  p = ljmi_put_uleb(p, firstline);
  ljmi_def_end(e, ljmi_put_uleb(p, lastline));
  return id;
}

/* Frames: a tag and up to three numbers, as the grammar has them. */
#define LJM_FMT_FRAME_LUA 0u
#define LJM_FMT_FRAME_C 1u
#define LJM_FMT_FRAME_VM 2u
#define LJM_FMT_FRAME_JIT 3u
#define LJM_FMT_FRAME_FAST 4u
#define LJM_FMT_FRAME_GAP 5u

/* `wide` is the number that may need 64 bits. */
static uint32_t ljmi_frame(ljm_encoder4 *e, uint32_t tag, uint64_t wide,
                           uint32_t a, uint32_t b, unsigned char **p)
{
  uint32_t key[5], id;
  *p = NULL;
  if (!e || !e->base) return 0;
  key[0] = tag;
  key[1] = (uint32_t)wide;
  key[2] = (uint32_t)(wide >> 32);
  key[3] = a;
  key[4] = b;
  id = ljmi_intern(e, &e->frames, LJM_FMT_DEF_FRAME, key, p);
  if (*p) *(*p)++ = (unsigned char)tag;
  return id;
}

LJM_API uint32_t ljm_encoder4_frame_lua(ljm_encoder4 *e, uint32_t function,
                                        uint64_t line)
{
  unsigned char *p;
  uint32_t id = ljmi_frame(e, LJM_FMT_FRAME_LUA, line, function, 0, &p);
  if (p) ljmi_def_end(e, ljmi_put_uleb(ljmi_put_uleb(p, function), line));
  return id;
}

LJM_API uint32_t ljm_encoder4_frame_c(ljm_encoder4 *e, uint64_t address,
                                      uint32_t csym, uint32_t module)
{
  unsigned char *p;
  uint32_t id = ljmi_frame(e, LJM_FMT_FRAME_C, address, csym, module, &p);
  if (!p) return id;
  p = ljmi_put_uleb(p, address);
  p = ljmi_put_uleb(p, csym);
  ljmi_def_end(e, ljmi_put_uleb(p, module));
  return id;
}

/* A frame that one byte tells. */
static uint32_t ljmi_frame_byte(ljm_encoder4 *e, unsigned kind,
                                uint32_t value)
{
  unsigned char *p;
  uint32_t id = ljmi_frame(e, kind, 0, value, 0, &p);
  if (!p) return id;
  *p++ = (unsigned char)value;
  ljmi_def_end(e, p);
  return id;
}

LJM_API uint32_t ljm_encoder4_frame_vm(ljm_encoder4 *e, ljm_state state)
{
  if ((unsigned)state > LJM_STATE_FINALIZER) return 0;
  return ljmi_frame_byte(e, LJM_FMT_FRAME_VM, (uint32_t)state);
}

LJM_API uint32_t ljm_encoder4_frame_jit(ljm_encoder4 *e, uint64_t number,
                                        uint32_t trace)
{
  unsigned char *p;
  uint32_t id = ljmi_frame(e, LJM_FMT_FRAME_JIT, number, trace, 0, &p);
  if (p) ljmi_def_end(e, ljmi_put_uleb(ljmi_put_uleb(p, number), trace));
  return id;
}

LJM_API uint32_t ljm_encoder4_frame_fast(ljm_encoder4 *e, uint32_t name)
{
  unsigned char *p;
  uint32_t id = ljmi_frame(e, LJM_FMT_FRAME_FAST, 0, name, 0, &p);
  if (p) ljmi_def_end(e, ljmi_put_uleb(p, name));
  return id;
}

LJM_API uint32_t ljm_encoder4_frame_gap(ljm_encoder4 *e, ljm_gap gap)
{
  if (gap < LJM_GAP_DEPTH || gap > LJM_GAP_UNKNOWN) return 0;
  return ljmi_frame_byte(e, LJM_FMT_FRAME_GAP, (uint32_t)gap);
}

LJM_API uint32_t ljm_encoder4_trace(ljm_encoder4 *e, uint64_t number,
                                    uint32_t frame)
{
  unsigned char *p;
  if (!e || !e->base) return 0;
  p = ljmi_def_begin(e, LJM_FMT_DEF_TRACE, e->trace_count + 1, LJMI_DEF_MAX);
  if (!p) return ljmi_undefined(e);
  ljmi_def_end(e, ljmi_put_uleb(ljmi_put_uleb(p, number), frame));
  return ++e->trace_count;
}

/* -- stacks */

/* Frames that came into being together lie together. */
static uint32_t ljmi_stack_hash(uint32_t parent, uint32_t frame)
{
  uint64_t h = ((uint64_t)parent << 32 | frame >> 3) *
               UINT64_C(0x9e3779b97f4a7c15);
  return ((uint32_t)(h >> 32) & ~7u) | (frame & 7);
}

static ljm_status ljmi_stacks_room(ljm_memory *m, ljm_stacks *t)
{
  size_t i;
  if (t->count > t->max_count) return LJM_E_LIMIT;
  if (t->count == t->node_cap) {
    ljm_node *nodes = (ljm_node *)ljmi_grow_double(m, t->nodes, &t->node_cap,
                                                   sizeof(*nodes));
    if (!nodes) return m->status;
    t->nodes = nodes;
  }
  if (t->count < t->slots.count / 2) return LJM_OK;
  if (ljmi_slots_double(m, &t->slots) != LJM_OK) return m->status;
  for (i = 1; i < t->count; i++)
    ljmi_slot_put(&t->slots,
                  ljmi_stack_hash(t->nodes[i].parent, t->nodes[i].frame),
                  (uint32_t)i);
  return LJM_OK;
}

static ljm_status ljmi_stacks_init(ljm_memory *m, ljm_stacks *t,
                                   size_t max_count)
{
  t->max_count = max_count;
  if (ljmi_stacks_room(m, t) != LJM_OK) return m->status;
  memset(t->nodes, 0, sizeof(*t->nodes));
  t->count = 1;
  return LJM_OK;
}

static uint32_t ljmi_stack_new(ljm_encoder4 *e, uint32_t parent,
                               uint32_t frame, uint32_t hash)
{
  ljm_stacks *t = &e->stacks;
  uint32_t id;
  unsigned char *p;
  ljm_node *n;
  if (ljmi_stacks_room(&e->mem, t) != LJM_OK) return ljmi_undefined(e);
  id = (uint32_t)t->count;
  p = ljmi_def_begin(e, LJM_FMT_DEF_STACK, id, LJMI_DEF_MAX);
  if (!p) return ljmi_undefined(e);
  p = ljmi_put_uleb(p, id - parent);
  ljmi_def_end(e, ljmi_put_uleb(p, frame));
  n = &t->nodes[t->count++];
  n->parent = parent;
  n->frame = frame;
  n->child_frame = n->child = n->site = 0;
  ljmi_slot_put(&t->slots, hash, id);
  return id;
}

/* When the newest child is another. */
static LJMI_NOINLINE uint32_t ljmi_stack_slow(ljm_encoder4 *e,
                                              uint32_t parent, uint32_t frame)
{
  ljm_stacks *t = &e->stacks;
  uint32_t hash = ljmi_stack_hash(parent, frame), id = 0;
  size_t i;
  for (i = 0; i < LJMI_PROBES; i++) {
    id = t->slots.ids[(hash + i) & (t->slots.count - 1)];
    if (id == 0 ||
        (t->nodes[id].parent == parent && t->nodes[id].frame == frame))
      break;
  }
  if (i == LJMI_PROBES) id = 0;
  if (id == 0) id = ljmi_stack_new(e, parent, frame, hash);
  if (id == 0) return 0;
  t->nodes[parent].child_frame = frame;
  t->nodes[parent].child = id;
  return id;
}

/* `parent` an id given before or 0, `frame` not 0. */
static inline uint32_t ljmi_encoder4_stack(ljm_encoder4 *e, uint32_t parent,
                                           uint32_t frame)
{
  const ljm_node *n = &e->stacks.nodes[parent];
  if (LJMI_LIKELY(n->child_frame == frame)) return n->child;
  return ljmi_stack_slow(e, parent, frame);
}

LJM_API uint32_t ljm_encoder4_stack(ljm_encoder4 *e, uint32_t parent,
                                    uint32_t frame)
{
  if (!e || !e->base || frame == 0 || parent >= e->stacks.count) return 0;
  return ljmi_encoder4_stack(e, parent, frame);
}

/* -- sites */

static uint32_t ljmi_site_new(ljm_encoder4 *e, uint32_t stack,
                              ljm_state state, ljm_object object)
{
  unsigned char *p = NULL;
  if (e->site_count < LJM_FMT_SITE_MAX)
    p = ljmi_def_begin(e, LJM_FMT_DEF_SITE, e->site_count + 1, LJMI_DEF_MAX);
  if (!p) return ljmi_undefined(e);
  p = ljmi_put_uleb(p, stack);
  *p++ = (unsigned char)state;
  *p++ = (unsigned char)object;
  ljmi_def_end(e, p);
  return ++e->site_count;
}

static ljm_status ljmi_sites_room(ljm_encoder4 *e)
{
  uint32_t *ids;
  if (ljmi_interned_room(&e->mem, &e->sites) != LJM_OK) return e->mem.status;
  if (e->sites.count < e->site_cap) return LJM_OK;
  ids = (uint32_t *)ljmi_grow_double(&e->mem, e->site_ids, &e->site_cap,
                                     sizeof(*ids));
  if (!ids) return e->mem.status;
  e->site_ids = ids;
  return LJM_OK;
}

/* One that is not with its stack. */
static uint32_t ljmi_site_other(ljm_encoder4 *e, uint32_t stack,
                                ljm_state state, ljm_object object)
{
  ljm_interned *t = &e->sites;
  uint32_t key[2], hash, id;
  key[0] = stack;
  key[1] = (uint32_t)state << 8 | (uint32_t)object;
  hash = ljmi_hash_words(key, 2);
  id = ljmi_interned_find(t, key, hash);
  if (id) return e->site_ids[id - 1];
  if (ljmi_sites_room(e) != LJM_OK) return ljmi_undefined(e);
  id = ljmi_site_new(e, stack, state, object);
  if (!id) return 0;
  if (stack >= e->stacks.count) e->sites_ahead = 1;
  e->site_ids[ljmi_interned_add(t, key, hash) - 1] = id;
  return id;
}

/* Site of no known kind of object of a stack given before. */
static uint32_t ljmi_site_plain(ljm_encoder4 *e, uint32_t stack,
                                ljm_state state)
{
  ljm_node *n = &e->stacks.nodes[stack];
  uint32_t id;
  if (n->site >> 24 == (uint32_t)state && n->site) return n->site & 0xffffff;
  if (n->site || e->sites_ahead)
    return ljmi_site_other(e, stack, state, LJM_OBJECT_UNKNOWN);
  id = ljmi_site_new(e, stack, state, LJM_OBJECT_UNKNOWN);
  if (id) n->site = id | (uint32_t)state << 24;
  return id;
}

LJM_API uint32_t ljm_encoder4_site(ljm_encoder4 *e, uint32_t stack,
                                   ljm_state state, ljm_object object)
{
  if (!e || !e->base || (unsigned)state > LJM_STATE_FINALIZER ||
      (unsigned)object > LJM_OBJECT_JIT)
    return 0;
  if (object == LJM_OBJECT_UNKNOWN && stack < e->stacks.count)
    return ljmi_site_plain(e, stack, state);
  return ljmi_site_other(e, stack, state, object);
}

/* -- start, events, end */

/* META's payload into the place of a DEFS block; false: it does not fit. */
static int ljmi_put_meta(ljm_encoder4 *e, const ljm_meta *meta, size_t count)
{
  size_t i, k, v;
  unsigned char *p = e->defs + LJM_FMT_HEADER_SIZE;
  unsigned char *end = e->defs + e->defs_cap;
  for (i = 0; i < count; i++) {
    if (!meta[i].key || !meta[i].value) return 0;
    k = strlen(meta[i].key);
    v = strlen(meta[i].value);
    if ((size_t)(end - p) < 20 || k > (size_t)(end - p) - 20 ||
        v > (size_t)(end - p) - 20 - k)
      return 0;
    p = ljmi_put_string(p, meta[i].key, k);
    p = ljmi_put_string(p, meta[i].value, v);
  }
  ljmi_copies_add(e, e->defs, LJM_FMT_META,
                  (size_t)(p - e->defs) - LJM_FMT_HEADER_SIZE);
  return 1;
}

/* Where the buffers lie in the one block of memory. */
static ljm_status ljmi_encoder4_buffers(ljm_encoder4 *e, size_t buffer_size)
{
  size_t copies = 2 * buffer_size + 2 * LJM_FMT_HEADER_SIZE;
  size_t defs = LJM_FMT_HEADER_SIZE + buffer_size / 2;
  size_t front = 64 + copies + 2 * defs;
  e->base_size = front + LJM_FMT_HEADER_SIZE + buffer_size + copies + defs +
                 e->name_limit;
  e->base = (unsigned char *)ljmi_alloc_array(&e->mem, e->base_size, 1);
  if (!e->base) return e->mem.status;
  e->b.buf = e->base + front + LJM_FMT_HEADER_SIZE;
  e->b.limit = e->b.buf + buffer_size;
  e->copies.data = e->b.limit;
  e->copies.cap = copies;
  e->defs = e->copies.data + copies;
  e->defs_cap = defs;
  e->defs_used = LJM_FMT_HEADER_SIZE;
  e->scratch = (char *)e->defs + defs;
  ljmi_buffer_empty(&e->b);
  return LJM_OK;
}

static void ljmi_interned_init(ljm_interned *t, size_t words,
                               size_t max_count)
{
  t->words = words;
  t->max_count = max_count;
}

/* Different for streams that may meet in one file. */
static uint32_t ljmi_stream_id(const ljm_encoder4 *e)
{
  uint32_t w[6];
  uint64_t now = e->start, where = (uint64_t)(uintptr_t)e;
  w[0] = (uint32_t)now;
  w[1] = (uint32_t)(now >> 32);
  w[2] = (uint32_t)where;
  w[3] = (uint32_t)(where >> 32);
  w[4] = (uint32_t)ljmi_sys_pid();
  w[5] = (uint32_t)time(NULL);
  return ljmi_hash_words(w, 6);
}

static ljm_status ljmi_encoder4_setup(ljm_encoder4 *e, const ljm_sink *sink,
                                      const ljm_encoder_options *o)
{
  ljm_status st = ljmi_memory_init(&e->mem, &o->alloc, o->max_memory);
  if (st != LJM_OK) return st;
  e->name_limit = o->name_limit;
  st = ljmi_encoder4_buffers(e, o->buffer_size);
  if (st == LJM_OK) st = ljmi_crc_init(e);
  if (st == LJM_OK) st = ljmi_stacks_init(&e->mem, &e->stacks, o->max_stacks);
  if (st != LJM_OK) return st;
  ljmi_interned_init(&e->csyms, 6, UINT32_MAX / 2);
  ljmi_interned_init(&e->functions, 5, UINT32_MAX / 2);
  ljmi_interned_init(&e->frames, 5, UINT32_MAX / 2);
  ljmi_interned_init(&e->sites, 2, LJM_FMT_SITE_MAX);
  e->b.write = ljmi_encoder4_write;
  e->kind = LJM_FMT_EVENTS;
  ljmi_buffer_init(&e->b, sink, o);
  e->start = e->b.clock(e->b.clock_user);
  e->stream_id = o->stream_id ? o->stream_id : ljmi_stream_id(e);
  return LJM_OK;
}

LJM_API ljm_status ljm_encoder4_init(ljm_encoder4 *e, const ljm_sink *sink,
                                     const ljm_encoder_options *opts,
                                     const ljm_meta *meta, size_t meta_count)
{
  ljm_encoder_options o;
  ljm_status st;
  if (!e || !sink || !sink->write || (!meta && meta_count)) return LJM_E_ARG;
  memset(&o, 0, sizeof(o));
  if (opts) o = *opts;
  memset(e, 0, sizeof(*e));
  st = ljmi_encoder_defaults(&o, 16384);
  if (st == LJM_OK) st = ljmi_encoder4_setup(e, sink, &o);
  if (st == LJM_OK && !ljmi_put_meta(e, meta, meta_count)) st = LJM_E_ARG;
  if (st != LJM_OK) {
    e->b.out.open = 0;
    ljm_encoder4_free(e);
  }
  return st;
}

/* May a record of a block of this kind follow? */
static ljm_status ljmi_encoder4_ready(const ljm_encoder4 *e, unsigned kind)
{
  if (!e || !e->base) return LJM_E_ARG;
  if (e->ended) return ljmi_buffer_refuse(&e->b, LJM_E_NOTRUNNING);
  return e->kind > kind ? ljmi_buffer_refuse(&e->b, LJM_E_ARG) : LJM_OK;
}

static ljm_status ljmi_encoder4_ready_at(const ljm_encoder4 *e, uint32_t site)
{
  if (site > LJM_FMT_SITE_MAX) return LJM_E_ARG;
  return ljmi_encoder4_ready(e, LJM_FMT_EVENTS);
}

LJM_API ljm_status ljm_encoder4_alloc(ljm_encoder4 *e, uint32_t site,
                                      uint64_t address, uint64_t size)
{
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st != LJM_OK) return st;
  return ljmi_encoder4_event(e, LJM_FMT_OP_ALLOC, site, address, size);
}

LJM_API ljm_status ljm_encoder4_dealloc(ljm_encoder4 *e, uint32_t site,
                                        uint64_t address, uint64_t size)
{
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st != LJM_OK || address == 0) return st;
  return ljmi_encoder4_event(e, LJM_FMT_OP_FREE, site, address, size);
}

LJM_API ljm_status ljm_encoder4_realloc(ljm_encoder4 *e, uint32_t site,
                                        uint64_t old_address,
                                        uint64_t old_size, uint64_t address,
                                        uint64_t size)
{
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st != LJM_OK) return st;
  return ljmi_encoder4_moved(e, site, old_address, old_size, address, size);
}

LJM_API ljm_status ljm_encoder4_alloc_sample(ljm_encoder4 *e, uint32_t site,
                                             uint64_t address, uint64_t size,
                                             uint64_t weight)
{
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st == LJM_OK) st = ljmi_encoder4_weight(e, weight);
  if (st != LJM_OK) return st;
  return ljmi_encoder4_event(e, LJM_FMT_OP_ALLOC, site, address, size);
}

LJM_API ljm_status ljm_encoder4_realloc_sample(ljm_encoder4 *e,
                                               uint32_t site,
                                               uint64_t old_address,
                                               uint64_t old_size,
                                               uint64_t address,
                                               uint64_t size,
                                               uint64_t weight)
{
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st == LJM_OK) st = ljmi_encoder4_weight(e, weight);
  if (st != LJM_OK) return st;
  return ljmi_encoder4_moved(e, site, old_address, old_size, address, size);
}

LJM_API ljm_status ljm_encoder4_alloc_failed(ljm_encoder4 *e, uint32_t site,
                                             uint64_t size)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st != LJM_OK) return st;
  p = ljmi_encoder4_other(e, LJM_FMT_SUB_ALLOC_FAILED);
  if (!p) return ljmi_buffer_drop(&e->b);
  e->b.p = ljmi_put_uleb(ljmi_put_uleb(p, site), size);
  e->totals.failed++;
  return LJM_OK;
}

LJM_API ljm_status ljm_encoder4_realloc_failed(ljm_encoder4 *e,
                                               uint32_t site,
                                               uint64_t old_address,
                                               uint64_t old_size,
                                               uint64_t size)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st != LJM_OK) return st;
  p = ljmi_encoder4_other(e, LJM_FMT_SUB_REALLOC_FAILED);
  if (!p) return ljmi_buffer_drop(&e->b);
  p = ljmi_put_uleb(ljmi_put_uleb(p, site), old_address);
  e->b.p = ljmi_put_uleb(ljmi_put_uleb(p, old_size), size);
  e->totals.failed++;
  return LJM_OK;
}

/* Time of a mark or of the end. */
static uint64_t ljmi_encoder4_time(const ljm_encoder4 *e)
{
  return e->b.clock(e->b.clock_user) - e->start;
}

LJM_API ljm_status ljm_encoder4_mark(ljm_encoder4 *e, const ljm_mark *mark)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder4_ready(e, LJM_FMT_EVENTS);
  if (st != LJM_OK) return st;
  if (!mark || mark->reason < LJM_MARK_START ||
      mark->reason > LJM_MARK_PROGRAM)
    return LJM_E_ARG;
  p = ljmi_encoder4_other(e, LJM_FMT_SUB_MARK);
  if (!p) return ljmi_buffer_why(&e->b);
  p = ljmi_put_uleb(p, (uint64_t)mark->reason);
  p = ljmi_put_uleb(p, mark->label);
  p = ljmi_put_uleb(p, ljmi_encoder4_time(e));
  p = ljmi_put_uleb(p, mark->gc_total);
  p = ljmi_put_uleb(p, mark->gc_threshold);
  e->b.p = ljmi_put_uleb(p, mark->rss);
  return LJM_OK;
}

static ljm_status ljmi_encoder4_note(ljm_encoder4 *e, unsigned sub,
                                     uint64_t number)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder4_ready(e, LJM_FMT_EVENTS);
  if (st != LJM_OK) return st;
  p = ljmi_encoder4_other(e, sub);
  if (!p) return ljmi_buffer_why(&e->b);
  e->b.p = ljmi_put_uleb(p, number);
  return LJM_OK;
}

LJM_API ljm_status ljm_encoder4_loaded(ljm_encoder4 *e, uint32_t module)
{
  return ljmi_encoder4_note(e, LJM_FMT_SUB_LOADED, module);
}

LJM_API ljm_status ljm_encoder4_unloaded(ljm_encoder4 *e, uint32_t module)
{
  return ljmi_encoder4_note(e, LJM_FMT_SUB_UNLOADED, module);
}

LJM_API ljm_status ljm_encoder4_dropped(ljm_encoder4 *e, uint64_t events,
                                        uint64_t bytes)
{
  ljm_status st = ljmi_encoder4_ready(e, LJM_FMT_EVENTS);
  unsigned char *p;
  if (st != LJM_OK) return st;
  e->b.dropped += events;
  p = ljmi_encoder4_other(e, LJM_FMT_SUB_DROPPED);
  if (!p) return ljmi_buffer_why(&e->b);
  e->b.p = ljmi_put_uleb(ljmi_put_uleb(p, events), bytes);
  return LJM_OK;
}

/* Seals what is pending; the next block is of another kind. */
static ljm_status ljmi_encoder4_turn(ljm_encoder4 *e, unsigned kind)
{
  ljm_status st = ljmi_buffer_idle(&e->b);
  if (st == LJM_OK) st = ljmi_encoder4_send(e, e->sequence);
  if (st == LJM_OK) e->kind = kind;
  return st;
}

LJM_API ljm_status ljm_encoder4_live(ljm_encoder4 *e, ljm_object object,
                                     uint64_t address)
{
  unsigned char *p;
  ljm_status st = ljmi_encoder4_ready(e, LJM_FMT_LIVE);
  if (st == LJM_OK && (unsigned)object > LJM_OBJECT_JIT) st = LJM_E_ARG;
  if (st == LJM_OK && e->kind != LJM_FMT_LIVE)
    st = ljmi_encoder4_turn(e, LJM_FMT_LIVE);
  if (st != LJM_OK) return st;
  p = ljmi_reserve(&e->b, LJMI_EVENT_MAX);
  if (!p) return ljmi_buffer_why(&e->b);
  *p++ = (unsigned char)object;
  e->b.p = ljmi_put_uleb(p, ljmi_zigzag(address - e->last[0].address));
  e->last[0].address = address;
  return LJM_OK;
}

LJM_API ljm_status ljm_encoder4_flush(ljm_encoder4 *e)
{
  ljm_status st = ljmi_encoder4_ready(e, LJM_FMT_LIVE);
  if (st == LJM_OK) st = ljmi_buffer_idle(&e->b);
  return st == LJM_OK ? ljmi_encoder4_send(e, e->sequence) : st;
}

static void ljmi_encoder4_end(ljm_encoder4 *e, ljm_end_reason reason,
                              uint64_t gc_total)
{
  const ljm_totals *t = &e->totals;
  uint64_t n[13];
  size_t i;
  n[0] = (uint64_t)reason;
  n[1] = (uint64_t)e->b.out.error.sys_errno;
  n[2] = ljmi_encoder4_time(e);
  n[3] = t->allocs;
  n[4] = t->alloc_size;
  n[5] = t->frees;
  n[6] = t->freed_size;
  n[7] = t->reallocs;
  n[8] = t->old_size;
  n[9] = t->new_size;
  n[10] = t->failed;
  n[11] = e->b.dropped;
  n[12] = gc_total;
  for (i = 0; i < 13; i++) e->b.p = ljmi_put_uleb_loop(e->b.p, n[i]);
  (void)ljmi_encoder4_send(e, UINT32_MAX);
}

LJM_API ljm_status ljm_encoder4_finish(ljm_encoder4 *e,
                                       ljm_end_reason reason,
                                       uint64_t gc_total)
{
  if (!e || !e->base || (unsigned)reason > LJM_END_REPLACED) return LJM_E_ARG;
  if (e->b.out.busy) return LJM_E_RUNNING;
  if (e->ended) return e->b.out.error.status;
  if (ljmi_encoder4_turn(e, LJM_FMT_BLOCK_END) == LJM_OK)
    ljmi_encoder4_end(e, reason, gc_total);
  e->ended = 1;
  return ljmi_output_close(&e->b.out);
}

static void ljmi_interned_free(ljm_memory *m, ljm_interned *t)
{
  ljmi_free_array(m, t->keys, t->key_cap, t->words * sizeof(*t->keys));
  ljmi_free_array(m, t->slots.ids, t->slots.count, sizeof(uint32_t));
}

LJM_API void ljm_encoder4_free(ljm_encoder4 *e)
{
  if (!e || !e->base || e->b.out.busy) return;
  e->ended = 1; /* For what the sink's close may call. */
  (void)ljmi_output_close(&e->b.out);
  ljmi_texts_free(&e->mem, &e->strings);
  ljmi_interned_free(&e->mem, &e->csyms);
  ljmi_interned_free(&e->mem, &e->functions);
  ljmi_interned_free(&e->mem, &e->frames);
  ljmi_interned_free(&e->mem, &e->sites);
  ljmi_free_array(&e->mem, e->site_ids, e->site_cap, sizeof(uint32_t));
  ljmi_free_array(&e->mem, e->stacks.nodes, e->stacks.node_cap,
                  sizeof(*e->stacks.nodes));
  ljmi_free_array(&e->mem, e->stacks.slots.ids, e->stacks.slots.count,
                  sizeof(uint32_t));
  ljmi_free_array(&e->mem, e->crc_table, LJMI_CRC_TABLE_COUNT,
                  sizeof(uint32_t));
  ljmi_free_array(&e->mem, e->base, e->base_size, 1);
  e->base = NULL;
}

/* -- ELF images and symbols --------------------------------------------- */

/* Own constants, so that every system can read ELF files. Names and numbers
** are the gABI's and the GNU extensions'. */
#define LJMI_ET_EXEC 2
#define LJMI_ET_DYN 3
#define LJMI_EM_ARM 40
#define LJMI_EM_S390 22
#define LJMI_EM_ALPHA 0x9026
#define LJMI_PT_LOAD 1
#define LJMI_PT_DYNAMIC 2
#define LJMI_PT_NOTE 4
#define LJMI_PF_X 1
#define LJMI_PF_W 2
#define LJMI_PN_XNUM 0xffff
#define LJMI_SHT_SYMTAB 2
#define LJMI_SHT_STRTAB 3
#define LJMI_SHT_DYNSYM 11
#define LJMI_SHT_SYMTAB_SHNDX 18
#define LJMI_SHF_EXECINSTR 4
#define LJMI_SHF_COMPRESSED 0x800
#define LJMI_SHN_UNDEF 0
#define LJMI_SHN_LORESERVE 0xff00
#define LJMI_SHN_COMMON 0xfff2
#define LJMI_SHN_XINDEX 0xffff
#define LJMI_STT_NOTYPE 0
#define LJMI_STT_FUNC 2
#define LJMI_STT_GNU_IFUNC 10
#define LJMI_STB_LOCAL 0
#define LJMI_NT_GNU_BUILD_ID 3

#define LJMI_NONE UINT64_MAX /* No address, no position. */

/* A function symbol, 16 bytes. In `name`: a rank for ties (higher is later),
** a mark that `size` is an index into image.big, the name's offset. The size
** of one whose size is not known is how far it reaches. */
typedef struct ljmi_entry {
  uint64_t vaddr;
  uint32_t size;
  uint32_t name;
} ljmi_entry;

#define LJMI_ENT_UNSIZED 0x80000000u
#define LJMI_ENT_LOCAL 0x40000000u
#define LJMI_ENT_NOTYPE 0x20000000u
#define LJMI_ENT_RANK 0xe0000000u
#define LJMI_ENT_BIG 0x10000000u
#define LJMI_ENT_NAME 0x0fffffffu

#define LJMI_GROUP 64 /* Entries under one greatest end. */
#define LJMI_CHUNK 16384 /* Bytes read at a time. */
#define LJMI_ELF_NAMES 65536 /* Bytes of names read at first. */
#define LJMI_TABLES 4 /* Symbol tables of a file that are looked at. */
#define LJMI_NOTES 16 /* PT_NOTEs that are looked at, */
#define LJMI_NOTES_SIZE 4096 /* and bytes of each. */

typedef struct ljmi_seg {
  uint64_t vaddr, file_size, mem_size;
  uint64_t pos; /* The reader's position of its first byte. */
  uint32_t type, flags;
  uint32_t align;
} ljmi_seg;

/* A symbol table in the reader's positions. */
typedef struct ljmi_table {
  uint64_t pos, stride, count;
  uint64_t names_pos, names_size;
  uint64_t shndx_pos, shndx_count; /* SHT_SYMTAB_SHNDX; count 0: none. */
  ljm_symbols_from from;
  uint32_t section; /* Its index, 0: none. */
  int packed;       /* SHF_COMPRESSED, which is not undone. */
} ljmi_table;

/* What is being read: a file, or a module in memory, where positions are
** run-time addresses. Lives during one call. */
typedef struct ljmi_elf {
  ljm_image *img;
  const ljm_reader *reader;
  ljm_memory *mem;
  ljm_elf_limits limits;
  int is64, big;
  int disorder; /* PT_LOADs do not ascend. */
  uint32_t machine;
  uint64_t bias;
  uint64_t sec_pos, sec_stride, sec_count;
  uint64_t seg_pos, seg_stride, seg_count;
  ljmi_seg *segs; /* PT_LOAD, ascending; then PT_DYNAMIC and PT_NOTE. */
  size_t load_count, segs_count, segs_cap;
  uint64_t phdr_hash;
  uint64_t *sec_ends; /* Of executable sections; 0: not executable. */
  struct ljmi_scratch *scratch;
  ljmi_table *tables;
  size_t table_count;
  unsigned char *buf; /* Two chunks. */
} ljmi_elf;

/* What is too large for the stack. Behind the tables nothing stands, so that
** a tool would see one too many. */
typedef struct ljmi_scratch {
  unsigned char chunks[2][LJMI_CHUNK];
  ljmi_table tables[LJMI_TABLES];
} ljmi_scratch;

/* Rows of a table, read a chunk at a time. */
typedef struct ljmi_rows {
  ljmi_elf *elf;
  uint64_t pos, stride, count;
  uint64_t first, have; /* Rows in buf. */
  uint64_t step;        /* Their distance there. */
  size_t size;          /* Bytes of a row that are wanted. */
  unsigned char *buf;
} ljmi_rows;

/* A symbol as read. */
typedef struct ljmi_sym {
  uint64_t vaddr, size;
  uint32_t name, section;
  uint32_t type, bind;
} ljmi_sym;

static ljm_status ljmi_elf_fail(ljmi_elf *e, ljm_status status, uint64_t pos)
{
  return ljmi_fail(&e->img->error, status, 0, pos);
}

static ljm_status ljmi_elf_nomem(ljmi_elf *e)
{
  return ljmi_elf_fail(e, e->mem->status, 0);
}

static uint64_t ljmi_or_default(uint64_t value, uint64_t otherwise)
{
  return value ? value : otherwise;
}

static void ljmi_limits_init(ljm_elf_limits *to, const ljm_elf_limits *from)
{
  if (from)
    memmove(to, from, sizeof(*to));
  else
    memset(to, 0, sizeof(*to));
  to->memory_size = ljmi_or_default(to->memory_size, UINT64_C(1) << 28);
  to->file_size = ljmi_or_default(to->file_size, UINT64_C(1) << 34);
  to->section_count = ljmi_or_default(to->section_count, 1u << 20);
  to->segment_count = ljmi_or_default(to->segment_count, 1u << 16);
  to->symbol_count = ljmi_or_default(to->symbol_count, 1u << 24);
  to->module_count = ljmi_or_default(to->module_count, 1u << 16);
}

/* All `size` bytes from `pos` on. */
static ljm_status ljmi_elf_read(ljmi_elf *e, uint64_t pos, void *data,
                                size_t size)
{
  unsigned char *p = (unsigned char *)data;
  ljm_status status = ljmi_region(pos, size, e->reader->size);
  if (status != LJM_OK) return ljmi_elf_fail(e, status, pos);
  while (size > 0) {
    ptrdiff_t n = e->reader->read(e->reader->user, pos, p, size);
    if (n < 0) return ljmi_fail(&e->img->error, LJM_E_IO, (int)-n, pos);
    if (n == 0) return ljmi_elf_fail(e, LJM_E_TRUNCATED, pos);
    if ((size_t)n > size) return ljmi_elf_fail(e, LJM_E_IO, pos);
    p += n;
    pos += (uint64_t)n;
    size -= (size_t)n;
  }
  return LJM_OK;
}

/* `count` rows at `pos`; the caller has checked that they fit the reader. */
static void ljmi_rows_init(ljmi_rows *r, ljmi_elf *e, uint64_t pos,
                           uint64_t stride, uint64_t count, size_t size)
{
  r->elf = e;
  r->pos = pos;
  r->stride = stride;
  r->count = count;
  r->first = r->have = 0;
  r->step = 0;
  r->size = size;
  r->buf = e->buf;
}

/* Row `i` of those, or NULL with the failure in the image. */
static const unsigned char *ljmi_row(ljmi_rows *r, uint64_t i)
{
  uint64_t n;
  if (i - r->first >= r->have) {
    r->have = 0;
    n = LJMI_CHUNK / r->stride;
    if (n > r->count - i) n = r->count - i;
    r->step = r->stride;
    if (n <= 1) {
      n = 1;
      r->step = r->size;
    }
    if (ljmi_elf_read(r->elf, r->pos + i * r->stride, r->buf,
                      (size_t)(n * r->step)) != LJM_OK)
      return NULL;
    r->first = i;
    r->have = n;
  }
  return r->buf + (i - r->first) * r->step;
}

/* Integers of the class's width. */
static uint64_t ljmi_load_word(const ljmi_elf *e, const unsigned char *p)
{
  return e->is64 ? ljmi_load64(p, e->big) : ljmi_load32(p, e->big);
}

/* Checks `count` rows of at least `need` bytes at `pos`. */
static ljm_status ljmi_elf_table(ljmi_elf *e, uint64_t pos, uint64_t stride,
                                 uint64_t count, size_t need)
{
  ljm_status status;
  if (stride < need) return ljmi_elf_fail(e, LJM_E_MALFORMED, pos);
  if (count > UINT64_MAX / stride)
    return ljmi_elf_fail(e, LJM_E_MALFORMED, pos);
  status = ljmi_region(pos, count * stride, e->reader->size);
  return status == LJM_OK ? LJM_OK : ljmi_elf_fail(e, status, pos);
}

/* -- headers of a file (gABI, ELF Header) */

#define LJMI_EHDR_SIZE(is64) ((is64) ? 64u : 52u)
#define LJMI_SHDR_SIZE(is64) ((is64) ? 64u : 40u)
#define LJMI_PHDR_SIZE(is64) ((is64) ? 56u : 32u)
#define LJMI_SYM_SIZE(is64) ((is64) ? 24u : 16u)

typedef struct ljmi_section {
  uint32_t type, link, info;
  uint64_t flags, addr, pos, size, stride;
} ljmi_section;

static void ljmi_section_load(const ljmi_elf *e, const unsigned char *p,
                              ljmi_section *s)
{
  size_t w = e->is64 ? 8 : 4;
  s->type = ljmi_load32(p + 4, e->big);
  p += 8;
  s->flags = ljmi_load_word(e, p);
  s->addr = ljmi_load_word(e, p + w);
  s->pos = ljmi_load_word(e, p + 2 * w);
  s->size = ljmi_load_word(e, p + 3 * w);
  s->link = ljmi_load32(p + 4 * w, e->big);
  s->info = ljmi_load32(p + 4 * w + 4, e->big);
  s->stride = ljmi_load_word(e, p + 5 * w + 8);
}

/* Counts that do not fit the header stand in section 0. A file without
** sections may point anywhere. */
static ljm_status ljmi_elf_counts(ljmi_elf *e)
{
  unsigned char row[64];
  ljmi_section zero;
  size_t size = LJMI_SHDR_SIZE(e->is64);
  if (e->sec_pos == 0) e->sec_count = 0;
  memset(&zero, 0, sizeof(zero));
  if (e->sec_pos != 0 && (e->sec_count == 0 || e->seg_count == LJMI_PN_XNUM)) {
    if (ljmi_region(e->sec_pos, size, e->reader->size) == LJM_OK &&
        e->sec_stride >= size) {
      ljm_status status = ljmi_elf_read(e, e->sec_pos, row, size);
      if (status != LJM_OK) return status;
      ljmi_section_load(e, row, &zero);
    }
    if (e->sec_count == 0) e->sec_count = zero.size;
    if (e->seg_count == LJMI_PN_XNUM) e->seg_count = zero.info;
  }
  if (e->sec_count > e->limits.section_count ||
      e->seg_count > e->limits.segment_count)
    return ljmi_elf_fail(e, LJM_E_LIMIT, 0);
  if (e->sec_count != 0) {
    ljm_status status = ljmi_elf_table(e, e->sec_pos, e->sec_stride,
                                       e->sec_count, size);
    if (status != LJM_OK) return status;
  }
  if (e->seg_count == 0) return LJM_OK;
  return ljmi_elf_table(e, e->seg_pos, e->seg_stride, e->seg_count,
                        LJMI_PHDR_SIZE(e->is64));
}

static ljm_status ljmi_elf_header(ljmi_elf *e)
{
  unsigned char h[64];
  ljm_status status;
  uint32_t type, w;
  size_t size;
  if (e->reader->size > e->limits.file_size)
    return ljmi_elf_fail(e, LJM_E_LIMIT, e->limits.file_size);
  status = ljmi_elf_read(e, 0, h, 16);
  if (status != LJM_OK) return status;
  if (memcmp(h, "\177ELF", 4) != 0)
    return ljmi_elf_fail(e, LJM_E_MALFORMED, 0);
  if (h[4] < 1 || h[4] > 2) return ljmi_elf_fail(e, LJM_E_MALFORMED, 4);
  if (h[5] < 1 || h[5] > 2) return ljmi_elf_fail(e, LJM_E_MALFORMED, 5);
  if (h[6] != 1) return ljmi_elf_fail(e, LJM_E_MALFORMED, 6);
  e->is64 = h[4] == 2;
  e->big = h[5] == 2;
  size = LJMI_EHDR_SIZE(e->is64);
  status = ljmi_elf_read(e, 0, h, size);
  if (status != LJM_OK) return status;
  type = ljmi_load16(h + 16, e->big);
  e->machine = ljmi_load16(h + 18, e->big);
  if (ljmi_load32(h + 20, e->big) != 1)
    return ljmi_elf_fail(e, LJM_E_MALFORMED, 20);
  if (type != LJMI_ET_EXEC && type != LJMI_ET_DYN)
    return ljmi_elf_fail(e, LJM_E_UNSUPPORTED, 16);
  w = e->is64 ? 8 : 4;
  e->seg_pos = ljmi_load_word(e, h + 24 + w);
  e->sec_pos = ljmi_load_word(e, h + 24 + 2 * w);
  e->seg_stride = ljmi_load16(h + 24 + 3 * w + 6, e->big);
  e->seg_count = ljmi_load16(h + 24 + 3 * w + 8, e->big);
  e->sec_stride = ljmi_load16(h + 24 + 3 * w + 10, e->big);
  e->sec_count = ljmi_load16(h + 24 + 3 * w + 12, e->big);
  return ljmi_elf_counts(e);
}

/* -- segments (gABI, Program Header) */

/* FNV-1a over a word; not for hostile keys. */
static uint64_t ljmi_hash_word(uint64_t hash, uint64_t word)
{
  int i;
  for (i = 0; i < 8; i++) {
    hash = (hash ^ (word & 0xff)) * UINT64_C(0x100000001b3);
    word >>= 8;
  }
  return hash;
}

/* Adds a program header: kept if of use, hashed in any case. PT_LOADs come
** first in `segs`. If they do not ascend (a Linux kernel's do not), nothing
** is found by address. */
static ljm_status ljmi_elf_add_seg(ljmi_elf *e, const ljmi_seg *s)
{
  const ljmi_seg *last;
  size_t cap;
  uint64_t h = e->phdr_hash;
  h = ljmi_hash_word(h, ((uint64_t)s->type << 32) | s->flags);
  h = ljmi_hash_word(h, s->vaddr);
  h = ljmi_hash_word(h, s->file_size);
  e->phdr_hash = ljmi_hash_word(h, s->mem_size);
  if (s->type != LJMI_PT_LOAD && s->type != LJMI_PT_DYNAMIC &&
      s->type != LJMI_PT_NOTE)
    return LJM_OK;
  if (s->mem_size > UINT64_MAX - s->vaddr ||
      (s->type == LJMI_PT_LOAD && s->file_size > s->mem_size))
    return LJM_E_MALFORMED;
  if (e->segs_count == e->segs_cap) {
    ljmi_seg *segs;
    cap = e->segs_cap ? e->segs_cap * 2 : 16;
    segs = (ljmi_seg *)ljmi_grow_array(e->mem, e->segs, e->segs_cap, cap,
                                       sizeof(ljmi_seg));
    if (!segs) return ljmi_elf_nomem(e);
    e->segs = segs;
    e->segs_cap = cap;
  }
  if (s->type != LJMI_PT_LOAD) {
    e->segs[e->segs_count++] = *s;
    return LJM_OK;
  }
  if (e->load_count > 0) {
    last = &e->segs[e->load_count - 1];
    if (s->vaddr < last->vaddr + last->mem_size) e->disorder = 1;
  }
  if (e->load_count < e->segs_count)
    e->segs[e->segs_count] = e->segs[e->load_count];
  e->segs[e->load_count++] = *s;
  e->segs_count++;
  return LJM_OK;
}

static ljm_status ljmi_elf_segments(ljmi_elf *e)
{
  ljmi_rows rows;
  ljmi_seg s;
  uint64_t i;
  ljmi_rows_init(&rows, e, e->seg_pos, e->seg_stride, e->seg_count,
                 LJMI_PHDR_SIZE(e->is64));
  for (i = 0; i < e->seg_count; i++) {
    const unsigned char *p = ljmi_row(&rows, i);
    size_t w = e->is64 ? 8 : 4, at = e->is64 ? 8 : 4;
    ljm_status status;
    if (!p) return e->img->error.status;
    s.type = ljmi_load32(p, e->big);
    s.flags = ljmi_load32(p + (e->is64 ? 4 : 24), e->big);
    s.pos = ljmi_load_word(e, p + at);
    s.vaddr = ljmi_load_word(e, p + at + w);
    s.file_size = ljmi_load_word(e, p + at + 3 * w);
    s.mem_size = ljmi_load_word(e, p + at + 4 * w);
    s.align = (uint32_t)ljmi_load_word(e, p + (e->is64 ? 48 : 28));
    status = ljmi_elf_add_seg(e, &s);
    if (status != LJM_OK)
      return ljmi_elf_fail(e, status, e->seg_pos + i * e->seg_stride);
  }
  return LJM_OK;
}

/* The PT_LOAD that holds a link-time address, or NULL. */
static const ljmi_seg *ljmi_elf_load(const ljmi_elf *e, uint64_t vaddr)
{
  size_t lo = 0, hi = e->disorder ? 0 : e->load_count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (e->segs[mid].vaddr <= vaddr)
      lo = mid + 1;
    else
      hi = mid;
  }
  if (lo == 0 || vaddr - e->segs[lo - 1].vaddr >= e->segs[lo - 1].mem_size)
    return NULL;
  return &e->segs[lo - 1];
}

/* Bytes from a link-time address to the end of its segment's file part. */
static uint64_t ljmi_elf_left(const ljmi_elf *e, uint64_t vaddr)
{
  const ljmi_seg *s = ljmi_elf_load(e, vaddr);
  if (!s || vaddr - s->vaddr > s->file_size) return 0;
  return s->file_size - (vaddr - s->vaddr);
}

/* Position of `size` bytes at a link-time address, or LJMI_NONE. */
static uint64_t ljmi_elf_pos(const ljmi_elf *e, uint64_t vaddr, uint64_t size)
{
  const ljmi_seg *s = ljmi_elf_load(e, vaddr);
  uint64_t pos;
  if (!s || size > ljmi_elf_left(e, vaddr)) return LJMI_NONE;
  if (vaddr - s->vaddr > UINT64_MAX - s->pos) return LJMI_NONE;
  pos = s->pos + (vaddr - s->vaddr);
  return ljmi_region(pos, size, e->reader->size) == LJM_OK ? pos : LJMI_NONE;
}

/* Looks through notes (gABI, Note Section) for the build-id. */
static int ljmi_notes_build_id(const ljmi_elf *e, const unsigned char *p,
                               size_t size, uint32_t align, ljm_build_id *id)
{
  size_t mask = align == 8 ? 7 : 3;
  while (size >= 12) {
    uint64_t name_size = ljmi_load32(p, e->big);
    uint64_t desc_size = ljmi_load32(p + 4, e->big);
    uint32_t type = ljmi_load32(p + 8, e->big);
    uint64_t desc = (12 + name_size + mask) & ~(uint64_t)mask;
    uint64_t next = (desc + desc_size + mask) & ~(uint64_t)mask;
    if (desc > size || desc_size > size - desc) return 0;
    if (type == LJMI_NT_GNU_BUILD_ID && name_size == 4 && desc_size > 0 &&
        memcmp(p + 12, "GNU", 4) == 0) {
      id->size = desc_size < LJM_BUILD_ID_MAX ? (size_t)desc_size
                                              : LJM_BUILD_ID_MAX;
      memcpy(id->data, p + desc, id->size);
      return 1;
    }
    if (next >= size) return 0;
    p += next;
    size -= (size_t)next;
  }
  return 0;
}

/* Reads the build-id into the image, if there is one. */
static ljm_status ljmi_elf_build_id(ljmi_elf *e)
{
  size_t i, end = e->segs_count;
  if (end - e->load_count > LJMI_NOTES) end = e->load_count + LJMI_NOTES;
  for (i = e->load_count; i < end; i++) {
    const ljmi_seg *s = &e->segs[i];
    size_t size = s->file_size < LJMI_NOTES_SIZE ? (size_t)s->file_size
                                                 : LJMI_NOTES_SIZE;
    if (s->type != LJMI_PT_NOTE || size == 0) continue;
    if (ljmi_region(s->pos, size, e->reader->size) != LJM_OK) continue;
    if (ljmi_elf_read(e, s->pos, e->buf, size) != LJM_OK)
      return e->img->error.status;
    if (ljmi_notes_build_id(e, e->buf, size, s->align, &e->img->build_id))
      return LJM_OK;
  }
  return LJM_OK;
}

/* -- sections (gABI, Sections) */

/* Notes a symbol table; the first few are enough. */
static void ljmi_elf_add_table(ljmi_elf *e, const ljmi_section *s,
                               uint32_t idx)
{
  ljmi_table *t;
  if (e->table_count == LJMI_TABLES) return;
  t = &e->tables[e->table_count++];
  memset(t, 0, sizeof(*t));
  t->from = s->type == LJMI_SHT_SYMTAB ? LJM_FROM_SYMTAB : LJM_FROM_DYNSYM;
  t->section = idx;
  t->packed = (s->flags & LJMI_SHF_COMPRESSED) != 0;
  t->pos = s->pos;
  t->stride = s->stride;
  t->count = s->size; /* Bytes, until ljmi_elf_finish_table. */
  t->names_pos = s->link; /* Likewise the section. */
}

/* First pass over the sections: what is executable, and where tables are. */
static ljm_status ljmi_elf_sections(ljmi_elf *e)
{
  ljmi_rows rows;
  ljmi_section s;
  uint64_t i;
  if (e->sec_count == 0) return LJM_OK;
  e->sec_ends = (uint64_t *)ljmi_alloc_array(e->mem, (size_t)e->sec_count,
                                             sizeof(uint64_t));
  if (!e->sec_ends) return ljmi_elf_nomem(e);
  ljmi_rows_init(&rows, e, e->sec_pos, e->sec_stride, e->sec_count,
                 LJMI_SHDR_SIZE(e->is64));
  e->sec_ends[0] = 0; /* Number 0 is no section. */
  for (i = 1; i < e->sec_count; i++) {
    const unsigned char *p = ljmi_row(&rows, i);
    if (!p) return e->img->error.status;
    ljmi_section_load(e, p, &s);
    e->sec_ends[i] = (s.flags & LJMI_SHF_EXECINSTR) ? 1 : 0;
    if (e->sec_ends[i] && s.size != 0 && s.size <= UINT64_MAX - s.addr)
      e->sec_ends[i] = s.addr + s.size;
    if (s.type == LJMI_SHT_SYMTAB || s.type == LJMI_SHT_DYNSYM)
      ljmi_elf_add_table(e, &s, (uint32_t)i);
  }
  return LJM_OK;
}

static ljm_status ljmi_elf_section(ljmi_elf *e, uint64_t idx, ljmi_section *s)
{
  unsigned char row[64];
  ljm_status status;
  if (idx == 0 || idx >= e->sec_count)
    return ljmi_elf_fail(e, LJM_E_MALFORMED, e->sec_pos);
  status = ljmi_elf_read(e, e->sec_pos + idx * e->sec_stride, row,
                         LJMI_SHDR_SIZE(e->is64));
  if (status == LJM_OK) ljmi_section_load(e, row, s);
  return status;
}

/* Checks a table of a file and finds its names. */
static ljm_status ljmi_elf_finish_table(ljmi_elf *e, ljmi_table *t)
{
  ljmi_section s;
  ljm_status status = ljmi_elf_section(e, t->names_pos, &s);
  uint64_t at = e->sec_pos + t->section * e->sec_stride;
  if (status != LJM_OK) return status;
  if (s.type != LJMI_SHT_STRTAB) return ljmi_elf_fail(e, LJM_E_MALFORMED, at);
  if (t->packed || (s.flags & LJMI_SHF_COMPRESSED))
    return ljmi_elf_fail(e, LJM_E_UNSUPPORTED, at);
  status = ljmi_region(s.pos, s.size, e->reader->size);
  if (status != LJM_OK) return ljmi_elf_fail(e, status, s.pos);
  t->names_pos = s.pos;
  t->names_size = s.size;
  if (t->stride < LJMI_SYM_SIZE(e->is64))
    return ljmi_elf_fail(e, LJM_E_MALFORMED, at);
  status = ljmi_region(t->pos, t->count, e->reader->size);
  if (status != LJM_OK) return ljmi_elf_fail(e, status, t->pos);
  t->count /= t->stride;
  return LJM_OK;
}

/* Finds the section numbers beside a table that has more than 16 bits of
** them (gABI, SHT_SYMTAB_SHNDX). */
static ljm_status ljmi_elf_find_shndx(ljmi_elf *e, ljmi_table *t)
{
  ljmi_rows rows;
  ljmi_section s;
  uint64_t i;
  ljmi_rows_init(&rows, e, e->sec_pos, e->sec_stride, e->sec_count,
                 LJMI_SHDR_SIZE(e->is64));
  for (i = 1; i < e->sec_count; i++) {
    const unsigned char *p = ljmi_row(&rows, i);
    if (!p) return e->img->error.status;
    ljmi_section_load(e, p, &s);
    if (s.type != LJMI_SHT_SYMTAB_SHNDX || s.link != t->section) continue;
    if (s.flags & LJMI_SHF_COMPRESSED)
      return ljmi_elf_fail(e, LJM_E_UNSUPPORTED, s.pos);
    if (ljmi_region(s.pos, s.size, e->reader->size) != LJM_OK)
      return ljmi_elf_fail(e, LJM_E_MALFORMED, s.pos);
    t->shndx_pos = s.pos;
    t->shndx_count = s.size / 4;
    return LJM_OK;
  }
  return LJM_OK;
}

/* -- symbols (gABI, Symbol Table) */

static void ljmi_sym_load(const ljmi_elf *e, const unsigned char *p,
                          ljmi_sym *s)
{
  const unsigned char *q = p + (e->is64 ? 4 : 12);
  s->name = ljmi_load32(p, e->big);
  s->type = q[0] & 15u;
  s->bind = q[0] >> 4;
  s->section = ljmi_load16(q + 2, e->big);
  s->vaddr = ljmi_load_word(e, p + (e->is64 ? 8 : 4));
  s->size = ljmi_load_word(e, p + (e->is64 ? 16 : 8));
}

/* Mapping symbols mark code and data: $a, $d, $t, $x, also with .suffix, and
** RISC-V's $x followed by the instruction set (psABIs of Arm and RISC-V). */
static int ljmi_is_mapping(const char *name)
{
  if (name[0] != '$' || name[1] == 0 || !strchr("adtx", name[1])) return 0;
  return name[2] == 0 || name[2] == '.' ||
         (name[1] == 'x' && name[2] == 'r' && name[3] == 'v');
}

/* Is there code at `s`, as far as sections (or segments) tell? */
static int ljmi_sym_in_code(const ljmi_elf *e, const ljmi_table *t,
                            const ljmi_sym *s)
{
  const ljmi_seg *seg;
  if (t->section != 0)
    return s->section < e->sec_count && e->sec_ends[s->section] != 0;
  seg = ljmi_elf_load(e, s->vaddr);
  return seg && (seg->flags & LJMI_PF_X);
}

/* Where a symbol of unknown size ends at the latest. */
static uint64_t ljmi_sym_reach(const ljmi_elf *e, const ljmi_table *t,
                               const ljmi_sym *s)
{
  uint64_t end = 0;
  if (t->from == LJM_FROM_SYMTAB && s->section < e->sec_count)
    end = e->sec_ends[s->section];
  return end > s->vaddr ? end - s->vaddr : 1;
}

/* Is `s` a function with a name? Malformed ones are counted. */
static int ljmi_sym_wanted(ljmi_elf *e, const ljmi_table *t, ljmi_sym *s)
{
  const ljm_image *img = e->img;
  uint64_t top = e->is64 ? UINT64_MAX : UINT64_C(1) << 32;
  int func = s->type == LJMI_STT_FUNC || s->type == LJMI_STT_GNU_IFUNC;
  if (!func && s->type != LJMI_STT_NOTYPE) return 0;
  if (s->section == LJMI_SHN_UNDEF || s->name == 0) return 0;
  if (!func && !ljmi_sym_in_code(e, t, s)) return 0;
  if (s->name >= img->names_size) { /* Names end in NUL up to here. */
    e->img->skipped++;
    return 0;
  }
  if (img->names[s->name] == 0) return 0;
  if (!func && ljmi_is_mapping(img->names + s->name)) return 0;
  if (s->size > top - s->vaddr ||
      (t->section == 0 && !ljmi_elf_load(e, s->vaddr))) {
    e->img->skipped++;
    return 0;
  }
  if (func && e->machine == LJMI_EM_ARM) s->vaddr &= ~UINT64_C(1);
  return 1;
}

/* Puts `s` behind the image's entries. */
static ljm_status ljmi_image_add(ljmi_elf *e, const ljmi_table *t,
                                 const ljmi_sym *s)
{
  ljm_image *img = e->img;
  ljmi_entry *entry = &img->entries[img->count];
  uint64_t size = s->size ? s->size : ljmi_sym_reach(e, t, s);
  entry->vaddr = s->vaddr;
  entry->name = s->name;
  if (s->size == 0) entry->name |= LJMI_ENT_UNSIZED;
  if (s->bind == LJMI_STB_LOCAL) entry->name |= LJMI_ENT_LOCAL;
  if (s->type == LJMI_STT_NOTYPE) entry->name |= LJMI_ENT_NOTYPE;
  if (s->size == 0 && size > UINT32_MAX) size = UINT32_MAX;
  if (size > UINT32_MAX) {
    if (img->big_count == img->big_cap) {
      size_t cap = img->big_cap ? img->big_cap * 2 : 4;
      uint64_t *big = (uint64_t *)ljmi_grow_array(
        e->mem, img->big, img->big_cap, cap, sizeof(uint64_t));
      if (!big) return ljmi_elf_nomem(e);
      img->big = big;
      img->big_cap = cap;
    }
    img->big[img->big_count] = size;
    size = img->big_count++;
    entry->name |= LJMI_ENT_BIG;
  }
  entry->size = (uint32_t)size;
  img->count++;
  return LJM_OK;
}

/* Goes through a table: counts the functions, or adds them if there is room
** (the same file read twice need not be the same). */
static ljm_status ljmi_table_walk(ljmi_elf *e, const ljmi_table *t,
                                  uint64_t *count)
{
  ljmi_rows rows, wide;
  ljm_status status;
  ljmi_sym s;
  uint64_t i;
  ljmi_rows_init(&rows, e, t->pos, t->stride, t->count,
                 LJMI_SYM_SIZE(e->is64));
  ljmi_rows_init(&wide, e, t->shndx_pos, 4, t->shndx_count, 4);
  wide.buf += LJMI_CHUNK;
  e->img->skipped = 0;
  *count = 0;
  for (i = 1; i < t->count; i++) {
    const unsigned char *p = ljmi_row(&rows, i);
    if (!p) return e->img->error.status;
    ljmi_sym_load(e, p, &s);
    if (s.section == LJMI_SHN_XINDEX && i < t->shndx_count) {
      p = ljmi_row(&wide, i);
      if (!p) return e->img->error.status;
      s.section = ljmi_load32(p, e->big);
    } else if (s.section == LJMI_SHN_COMMON) {
      continue;
    } else if (s.section >= LJMI_SHN_LORESERVE) {
      s.section = UINT32_MAX; /* No section has it. */
    }
    if (!ljmi_sym_wanted(e, t, &s)) continue;
    ++*count;
    if (!e->img->entries) continue;
    if (e->img->count == e->img->entry_cap) return LJM_OK;
    status = ljmi_image_add(e, t, &s);
    if (status != LJM_OK) return status;
  }
  return LJM_OK;
}

/* -- order of symbols */

static uint64_t ljmi_entry_size(const ljm_image *img, ljmi_entry e)
{
  return (e.name & LJMI_ENT_BIG) ? img->big[e.size] : e.size;
}

static uint64_t ljmi_entry_end(const ljm_image *img, size_t i)
{
  const ljmi_entry *e = &img->entries[i];
  return e->vaddr + ljmi_entry_size(img, *e);
}

/* Does `a` come before `b`? Without an image: by address, then size. */
static int ljmi_entry_less(const ljm_image *img, ljmi_entry a, ljmi_entry b)
{
  uint32_t name_a = a.name & LJMI_ENT_NAME, name_b = b.name & LJMI_ENT_NAME;
  int c = 0;
  if (a.vaddr != b.vaddr) return a.vaddr < b.vaddr;
  if ((a.name ^ b.name) & LJMI_ENT_RANK) return a.name < b.name;
  if (!img) return a.size < b.size;
  if (name_a != name_b) c = strcmp(img->names + name_a, img->names + name_b);
  if (c != 0) return c < 0;
  return ljmi_entry_size(img, a) < ljmi_entry_size(img, b);
}

static void ljmi_entry_swap(ljmi_entry *a, ljmi_entry *b)
{
  ljmi_entry t = *a;
  *a = *b;
  *b = t;
}

static void ljmi_sift(const ljm_image *img, ljmi_entry *v, size_t i, size_t n)
{
  while (i < n / 2) {
    size_t child = 2 * i + 1;
    if (child + 1 < n && ljmi_entry_less(img, v[child], v[child + 1]))
      child++;
    if (!ljmi_entry_less(img, v[i], v[child])) return;
    ljmi_entry_swap(&v[i], &v[child]);
    i = child;
  }
}

static void ljmi_heap_sort(const ljm_image *img, ljmi_entry *v, size_t n)
{
  size_t i;
  for (i = n / 2; i > 0; i--) ljmi_sift(img, v, i - 1, n);
  for (i = n; i > 1; i--) {
    ljmi_entry_swap(&v[0], &v[i - 1]);
    ljmi_sift(img, v, 0, i - 1);
  }
}

static void ljmi_insertion_sort(const ljm_image *img, ljmi_entry *v, size_t n)
{
  size_t i, k;
  for (i = 1; i < n; i++) {
    ljmi_entry x = v[i];
    for (k = i; k > 0 && ljmi_entry_less(img, x, v[k - 1]); k--)
      v[k] = v[k - 1];
    v[k] = x;
  }
}

/* Splits three or more: none of the first part is after any of the second.
** Returns the first part's length, 1 to n - 1. */
static size_t ljmi_partition(const ljm_image *img, ljmi_entry *v, size_t n)
{
  size_t i = 0, k = n - 1;
  ljmi_entry pivot;
  if (ljmi_entry_less(img, v[n / 2], v[0]))
    ljmi_entry_swap(&v[n / 2], &v[0]);
  if (ljmi_entry_less(img, v[n - 1], v[n / 2])) {
    ljmi_entry_swap(&v[n - 1], &v[n / 2]);
    if (ljmi_entry_less(img, v[n / 2], v[0]))
      ljmi_entry_swap(&v[n / 2], &v[0]);
  }
  pivot = v[n / 2];
  for (;;) {
    while (ljmi_entry_less(img, v[i], pivot)) i++;
    while (ljmi_entry_less(img, pivot, v[k])) k--;
    if (i >= k) return k + 1;
    ljmi_entry_swap(&v[i++], &v[k--]);
  }
}

/* Sorts in place: quicksort, the larger part put off, until its work passes
** a bound; then heapsort. O(n log n). */
static void ljmi_entry_sort(const ljm_image *img, ljmi_entry *v, size_t n)
{
  struct { size_t at, n; } todo[40];
  size_t depth = 0, at = 0, bits = 0;
  uint64_t work;
  while ((n >> bits) > 0) bits++;
  work = (uint64_t)n * bits * 2;
  for (;;) {
    while (n > 16 && work >= n && depth < 40) {
      size_t k = ljmi_partition(img, v + at, n);
      work -= n;
      if (k < n - k) {
        todo[depth].at = at + k;
        todo[depth++].n = n - k;
        n = k;
      } else {
        todo[depth].at = at;
        todo[depth++].n = k;
        at += k;
        n -= k;
      }
    }
    if (n > 16)
      ljmi_heap_sort(img, v + at, n);
    else
      ljmi_insertion_sort(img, v + at, n);
    if (depth == 0) return;
    at = todo[--depth].at;
    n = todo[depth].n;
  }
}

/* -- finding symbols */

/* Symbols of unknown size end at the next address that has a symbol. */
static void ljmi_image_close_gaps(ljm_image *img)
{
  uint64_t next = UINT64_MAX;
  size_t i;
  for (i = img->count; i > 0; i--) {
    ljmi_entry *e = &img->entries[i - 1];
    if (i < img->count && e[1].vaddr != e->vaddr) next = e[1].vaddr;
    if ((e->name & LJMI_ENT_UNSIZED) && e->size > next - e->vaddr)
      e->size = (uint32_t)(next - e->vaddr);
  }
}

/* Must more than the symbols at the nearest address be looked at? */
static int ljmi_image_is_nested(const ljm_image *img)
{
  uint64_t end = 0;
  size_t i, first = 0;
  for (i = 0; i < img->count; i++) {
    if (img->entries[i].vaddr != img->entries[first].vaddr) {
      for (; first < i; first++)
        if (ljmi_entry_end(img, first) > end) end = ljmi_entry_end(img, first);
      if (end > img->entries[i].vaddr) return 1;
    }
    if (i - first >= LJMI_GROUP) return 1;
  }
  return 0;
}

/* Greatest ends by groups, then by groups of groups, and so on. Of two
** entries at least: one is not nested. */
static ljm_status ljmi_image_build_ends(ljm_image *img)
{
  size_t n, i, total = 0, from, to = 0;
  for (n = img->count; n > 1;) {
    n = (n + LJMI_GROUP - 1) / LJMI_GROUP;
    total += n;
  }
  img->ends = (uint64_t *)ljmi_alloc_array(img->mem, total, sizeof(uint64_t));
  if (!img->ends) return ljmi_fail(&img->error, img->mem->status, 0, 0);
  img->ends_count = total;
  memset(img->ends, 0, total * sizeof(uint64_t));
  for (i = 0; i < img->count; i++) {
    uint64_t end = ljmi_entry_end(img, i);
    if (end > img->ends[i / LJMI_GROUP]) img->ends[i / LJMI_GROUP] = end;
  }
  n = (img->count + LJMI_GROUP - 1) / LJMI_GROUP;
  for (from = 0; from + n < total; from = to) {
    to = from + n;
    for (i = 0; i < n; i++)
      if (img->ends[from + i] > img->ends[to + i / LJMI_GROUP])
        img->ends[to + i / LJMI_GROUP] = img->ends[from + i];
    n = (n + LJMI_GROUP - 1) / LJMI_GROUP;
  }
  return LJM_OK;
}

/* The last of entries 0 to hi - 1 that ends after vaddr, or SIZE_MAX. Needs
** `ends`; at[l] is where level l of it starts. */
static size_t ljmi_image_last_in_ends(const ljm_image *img, size_t hi,
                                      uint64_t vaddr)
{
  size_t at[12], level = 0, i = hi, n = img->count;
  at[0] = 0;
  while (i > 0) { /* Up: what stands before, in ever larger steps. */
    size_t stop = i & ~(size_t)(LJMI_GROUP - 1);
    for (; i > stop; i--)
      if ((level ? img->ends[at[level] + i - 1]
                 : ljmi_entry_end(img, i - 1)) > vaddr) break;
    if (i > stop) break;
    i /= LJMI_GROUP;
    at[level + 1] = level ? at[level] + n : 0;
    n = (n + LJMI_GROUP - 1) / LJMI_GROUP;
    level++;
  }
  if (i == 0) return SIZE_MAX;
  for (i--; level > 0; level--) { /* Down: its last part that does. */
    size_t k = (i + 1) * LJMI_GROUP;
    n = level == 1 ? img->count : at[level] - at[level - 1];
    if (k > n) k = n;
    while ((level > 1 ? img->ends[at[level - 1] + k - 1]
                      : ljmi_entry_end(img, k - 1)) <= vaddr) k--;
    i = k - 1;
  }
  return i;
}

/* As above; without `ends` no symbol but those at entry hi - 1's address can
** cover vaddr. */
static size_t ljmi_image_last(const ljm_image *img, size_t hi, uint64_t vaddr)
{
  size_t i = hi;
  if (img->ends) return ljmi_image_last_in_ends(img, hi, vaddr);
  for (; i > 0 && img->entries[i - 1].vaddr == img->entries[hi - 1].vaddr; i--)
    if (ljmi_entry_end(img, i - 1) > vaddr) return i - 1;
  return SIZE_MAX;
}

/* Number of entries that start at or below vaddr. */
static size_t ljmi_entries_upto(const ljmi_entry *v, size_t n, uint64_t vaddr)
{
  size_t lo = 0;
  while (lo < n) {
    size_t mid = lo + (n - lo) / 2;
    if (v[mid].vaddr <= vaddr)
      lo = mid + 1;
    else
      n = mid;
  }
  return lo;
}

static void ljmi_image_get(const ljm_image *img, size_t i, ljm_symbol *sym)
{
  const ljmi_entry *e = &img->entries[i];
  sym->name = img->names + (e->name & LJMI_ENT_NAME);
  sym->name_size = strlen(sym->name);
  sym->vaddr = e->vaddr;
  sym->size = (e->name & LJMI_ENT_UNSIZED) ? 0 : ljmi_entry_size(img, *e);
}

LJM_API ljm_status ljm_image_find(const ljm_image *img, uint64_t vaddr,
                                  ljm_symbol *sym)
{
  size_t hi = ljmi_entries_upto(img->entries, img->count, vaddr), lo, last;
  last = hi ? ljmi_image_last(img, hi, vaddr) : SIZE_MAX;
  if (last == SIZE_MAX) return LJM_E_NOTFOUND;
  /* Of those that start there and cover it, the first. */
  lo = img->entries[last].vaddr == 0
         ? 0
         : ljmi_entries_upto(img->entries, last,
                             img->entries[last].vaddr - 1);
  hi = last + 1;
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    size_t k = ljmi_image_last(img, mid, vaddr);
    if (k != SIZE_MAX && k >= lo)
      hi = k + 1;
    else
      lo = mid;
  }
  ljmi_image_get(img, lo, sym);
  return LJM_OK;
}

LJM_API ljm_status ljm_image_symbol(const ljm_image *img, size_t idx,
                                    ljm_symbol *sym)
{
  if (idx >= img->count) return LJM_E_ARG;
  ljmi_image_get(img, idx, sym);
  return LJM_OK;
}

/* -- dynamic section (gABI, Dynamic Section) */

enum {
  LJMI_DYN_HASH, LJMI_DYN_STRTAB, LJMI_DYN_SYMTAB, LJMI_DYN_GNU_HASH,
  LJMI_DYN_VERSYM, LJMI_DYN_VERDEF, LJMI_DYN_VERNEED, LJMI_DYN_RELA,
  LJMI_DYN_REL, LJMI_DYN_JMPREL, LJMI_DYN_INIT, LJMI_DYN_FINI,
  LJMI_DYN_PLTGOT, LJMI_DYN_ADDRS,
  LJMI_DYN_STRSZ = LJMI_DYN_ADDRS, LJMI_DYN_SYMENT, LJMI_DYN_COUNT
};

/* Link-time addresses and sizes; LJMI_NONE: absent or outside the module. */
typedef struct ljmi_dyn {
  uint64_t v[LJMI_DYN_COUNT];
} ljmi_dyn;

static int ljmi_dyn_slot(uint64_t tag)
{
  switch (tag) {
  case 3: return LJMI_DYN_PLTGOT;
  case 4: return LJMI_DYN_HASH;
  case 5: return LJMI_DYN_STRTAB;
  case 6: return LJMI_DYN_SYMTAB;
  case 7: return LJMI_DYN_RELA;
  case 10: return LJMI_DYN_STRSZ;
  case 11: return LJMI_DYN_SYMENT;
  case 12: return LJMI_DYN_INIT;
  case 13: return LJMI_DYN_FINI;
  case 17: return LJMI_DYN_REL;
  case 23: return LJMI_DYN_JMPREL;
  case 0x6ffffef5: return LJMI_DYN_GNU_HASH;
  case 0x6ffffff0: return LJMI_DYN_VERSYM;
  case 0x6ffffffc: return LJMI_DYN_VERDEF;
  case 0x6ffffffe: return LJMI_DYN_VERNEED;
  default: return LJMI_DYN_COUNT;
  }
}

/* Loaders relocate these pointers in place, or not: take one as it is if it
** lies in the module then, else as a link-time address. */
static uint64_t ljmi_dyn_vaddr(const ljmi_elf *e, uint64_t p)
{
  uint64_t vaddr = p - e->bias;
  if (!e->is64) vaddr &= UINT32_MAX;
  if (ljmi_elf_load(e, vaddr)) return vaddr;
  return ljmi_elf_load(e, p) ? p : LJMI_NONE;
}

/* Reads the entries up to DT_NULL or the segment's end; of a tag given twice
** the last counts, as for loaders. */
static ljm_status ljmi_dyn_read(ljmi_elf *e, const ljmi_seg *seg, ljmi_dyn *d)
{
  ljmi_rows rows;
  uint64_t i, pos, size = e->is64 ? 16 : 8;
  for (i = 0; i < LJMI_DYN_COUNT; i++) d->v[i] = LJMI_NONE;
  pos = ljmi_elf_pos(e, seg->vaddr, seg->file_size);
  if (pos == LJMI_NONE) return ljmi_elf_fail(e, LJM_E_MALFORMED, seg->vaddr);
  ljmi_rows_init(&rows, e, pos, size, seg->file_size / size, (size_t)size);
  for (i = 0; i < rows.count; i++) {
    const unsigned char *p = ljmi_row(&rows, i);
    uint64_t tag, value;
    int slot;
    if (!p) return e->img->error.status;
    tag = ljmi_load_word(e, p);
    if (tag == 0) break;
    value = ljmi_load_word(e, p + size / 2);
    slot = ljmi_dyn_slot(tag);
    if (slot == LJMI_DYN_COUNT) continue;
    d->v[slot] = slot < LJMI_DYN_ADDRS ? ljmi_dyn_vaddr(e, value) : value;
  }
  return LJM_OK;
}

/* Reads one 32-bit word of `left` bytes at `pos`. */
static int ljmi_dyn_word(ljmi_elf *e, uint64_t pos, uint64_t left,
                         uint64_t at, uint32_t *word)
{
  unsigned char w[4];
  if (at > left || left - at < 4) return 0;
  if (ljmi_elf_read(e, pos + at, w, 4) != LJM_OK) return 0;
  *word = ljmi_load32(w, e->big);
  return 1;
}

/* Symbols that DT_HASH counts, 0: none or bad (gABI, Hash Table; its words
** have 64 bits on two machines). */
static uint64_t ljmi_dyn_hash_count(ljmi_elf *e, uint64_t vaddr)
{
  uint64_t left, pos, word = 4, low = 0;
  uint32_t nbucket, nchain;
  if (e->is64 && (e->machine == LJMI_EM_S390 || e->machine == LJMI_EM_ALPHA)) {
    word = 8;
    low = e->big ? 4 : 0;
  }
  left = ljmi_elf_left(e, vaddr);
  pos = ljmi_elf_pos(e, vaddr, left);
  if (pos == LJMI_NONE || !ljmi_dyn_word(e, pos, left, low, &nbucket) ||
      !ljmi_dyn_word(e, pos, left, word + low, &nchain))
    return 0;
  if (left / word < 2 || (uint64_t)nbucket + nchain > left / word - 2)
    return 0;
  return nchain;
}

/* Length of the chain that starts at symbol `first` of DT_GNU_HASH: it ends
** with an odd word. 0: it does not end. */
static uint64_t ljmi_dyn_chain(ljmi_elf *e, uint64_t pos, uint64_t count,
                               uint64_t first)
{
  ljmi_rows rows;
  uint64_t i;
  ljmi_rows_init(&rows, e, pos, 4, count, 4);
  for (i = first; i < count; i++) {
    const unsigned char *p = ljmi_row(&rows, i);
    if (!p) return 0;
    if (ljmi_load32(p, e->big) & 1) return i - first + 1;
  }
  return 0;
}

/* Symbols that DT_GNU_HASH counts, 0: none or bad. Layout: number of buckets,
** first hashed symbol, words of the Bloom filter, its shift; filter; buckets
** (first symbol of each chain, or 0); chains. */
static uint64_t ljmi_dyn_gnu_count(ljmi_elf *e, uint64_t vaddr)
{
  ljmi_rows rows;
  uint64_t left, pos, at, i, n, most = 0;
  uint32_t nbucket, first, words, shift;
  left = ljmi_elf_left(e, vaddr);
  pos = ljmi_elf_pos(e, vaddr, left);
  if (pos == LJMI_NONE || !ljmi_dyn_word(e, pos, left, 0, &nbucket) ||
      !ljmi_dyn_word(e, pos, left, 4, &first) ||
      !ljmi_dyn_word(e, pos, left, 8, &words) ||
      !ljmi_dyn_word(e, pos, left, 12, &shift))
    return 0;
  if ((words & (words - 1)) != 0 || shift >= 32) return 0;
  at = 16 + (uint64_t)words * (e->is64 ? 8 : 4);
  if (at > left || nbucket > (left - at) / 4) return 0;
  ljmi_rows_init(&rows, e, pos + at, 4, nbucket, 4);
  for (i = 0; i < nbucket; i++) {
    const unsigned char *p = ljmi_row(&rows, i);
    if (!p) return 0;
    n = ljmi_load32(p, e->big);
    if (n != 0 && n < first) return 0;
    if (n > most) most = n;
  }
  if (most == 0) return first; /* Nothing is hashed. */
  at += (uint64_t)nbucket * 4;
  n = ljmi_dyn_chain(e, pos + at, (left - at) / 4, most - first);
  return n == 0 ? 0 : most + n;
}

/* Most symbols there can be: a table ends where the next one starts, and the
** version table has one for each. Without either it is what 2^64 bytes hold. */
static uint64_t ljmi_dyn_bound(const ljmi_dyn *d, uint64_t stride)
{
  uint64_t table = d->v[LJMI_DYN_SYMTAB], versions = d->v[LJMI_DYN_VERSYM];
  uint64_t end = LJMI_NONE, versions_end = LJMI_NONE, n;
  int i;
  for (i = 0; i < LJMI_DYN_ADDRS; i++) {
    if (d->v[i] > table && d->v[i] < end) end = d->v[i];
    if (d->v[i] > versions && d->v[i] < versions_end) versions_end = d->v[i];
  }
  n = (end - table) / stride;
  if (versions_end != LJMI_NONE && (versions_end - versions) / 2 < n)
    n = (versions_end - versions) / 2;
  return n;
}

/* Finds the dynamic symbol table through PT_DYNAMIC. */
static ljm_status ljmi_dyn_table(ljmi_elf *e, ljmi_table *t)
{
  const ljmi_seg *seg = NULL;
  uint64_t room, bound;
  ljm_status status;
  ljmi_dyn d;
  size_t i;
  memset(t, 0, sizeof(*t));
  for (i = e->load_count; i < e->segs_count && !seg; i++)
    if (e->segs[i].type == LJMI_PT_DYNAMIC) seg = &e->segs[i];
  if (!seg) return LJM_E_NOTFOUND;
  status = ljmi_dyn_read(e, seg, &d);
  if (status != LJM_OK) return status;
  t->stride = LJMI_SYM_SIZE(e->is64);
  if (d.v[LJMI_DYN_SYMENT] != LJMI_NONE && d.v[LJMI_DYN_SYMENT] != t->stride)
    return ljmi_elf_fail(e, LJM_E_MALFORMED, seg->vaddr);
  if (d.v[LJMI_DYN_SYMTAB] == LJMI_NONE || d.v[LJMI_DYN_STRTAB] == LJMI_NONE)
    return LJM_E_NOTFOUND;
  bound = ljmi_dyn_bound(&d, t->stride);
  room = ljmi_elf_left(e, d.v[LJMI_DYN_SYMTAB]) / t->stride;
  if (bound < room) room = bound;
  t->count = ljmi_dyn_hash_count(e, d.v[LJMI_DYN_HASH]);
  if (t->count == 0 || t->count > room)
    t->count = ljmi_dyn_gnu_count(e, d.v[LJMI_DYN_GNU_HASH]);
  if (t->count == 0 || t->count > room) t->count = bound;
  if (e->img->error.status != LJM_OK) return e->img->error.status;
  if (t->count == 0 || t->count > room) return LJM_E_NOTFOUND;
  t->pos = ljmi_elf_pos(e, d.v[LJMI_DYN_SYMTAB], t->count * t->stride);
  t->names_size = d.v[LJMI_DYN_STRSZ];
  t->names_pos = ljmi_elf_pos(e, d.v[LJMI_DYN_STRTAB], t->names_size);
  if (t->pos == LJMI_NONE || t->names_pos == LJMI_NONE)
    return ljmi_elf_fail(e, LJM_E_MALFORMED, seg->vaddr);
  return LJM_OK;
}

/* -- images */

/* Drops what a table gave, so that another one can be tried. */
static void ljmi_image_clear(ljm_image *img)
{
  ljmi_free_array(img->mem, img->entries, img->entry_cap, sizeof(ljmi_entry));
  ljmi_free_array(img->mem, img->names, img->names_cap, 1);
  ljmi_free_array(img->mem, img->big, img->big_cap, sizeof(uint64_t));
  ljmi_free_array(img->mem, img->ends, img->ends_count, sizeof(uint64_t));
  img->entries = NULL;
  img->names = NULL;
  img->big = img->ends = NULL;
  img->count = img->entry_cap = img->names_size = img->names_cap = 0;
  img->big_count = img->big_cap = img->ends_count = 0;
  img->from = LJM_FROM_NONE;
}

/* Reads a table's names; those past the last NUL are none. Memory is taken as
** reading goes: a module in memory may say any size. */
static ljm_status ljmi_image_read_names(ljmi_elf *e, const ljmi_table *t)
{
  ljm_image *img = e->img;
  size_t n = (size_t)t->names_size, got = 0;
  if (t->names_size > LJMI_ENT_NAME)
    return ljmi_elf_fail(e, LJM_E_LIMIT, t->names_pos);
  while (got < n) {
    size_t step = got ? got : LJMI_ELF_NAMES;
    ljm_status status;
    char *names;
    if (step > n - got) step = n - got;
    names = (char *)ljmi_grow_array(e->mem, img->names, got, got + step, 1);
    if (!names) return ljmi_elf_nomem(e);
    img->names = names;
    img->names_cap = got + step;
    status = ljmi_elf_read(e, t->names_pos + got, names + got, step);
    if (status != LJM_OK) return status;
    got += step;
  }
  while (n > 0 && img->names[n - 1] != 0) n--;
  img->names_size = n;
  return LJM_OK;
}

/* Names may share their ends, but not so much that reading each of them would
** take long. */
static ljm_status ljmi_image_check_names(ljmi_elf *e)
{
  const ljm_image *img = e->img;
  uint64_t left = ((uint64_t)img->names_size << 4) + (1u << 20);
  size_t i, n;
  for (i = 0; i < img->count; i++) {
    n = strlen(img->names + (img->entries[i].name & LJMI_ENT_NAME)) + 1;
    if (n > left) return ljmi_elf_fail(e, LJM_E_LIMIT, 0);
    left -= n;
  }
  return LJM_OK;
}

/* Fills the image from one table; it stays empty if that has no function. */
static ljm_status ljmi_image_fill(ljmi_elf *e, const ljmi_table *t)
{
  ljm_image *img = e->img;
  uint64_t count = 0;
  ljm_status status;
  if (t->count > e->limits.symbol_count)
    return ljmi_elf_fail(e, LJM_E_LIMIT, t->pos);
  status = ljmi_image_read_names(e, t);
  if (status == LJM_OK) status = ljmi_table_walk(e, t, &count);
  if (status != LJM_OK || count == 0) return status;
  img->entries = (ljmi_entry *)ljmi_alloc_array(e->mem, (size_t)count,
                                                sizeof(ljmi_entry));
  if (!img->entries) return ljmi_elf_nomem(e);
  img->entry_cap = (size_t)count;
  status = ljmi_table_walk(e, t, &count);
  if (status == LJM_OK) status = ljmi_image_check_names(e);
  if (status != LJM_OK) return status;
  ljmi_entry_sort(img, img->entries, img->count);
  ljmi_image_close_gaps(img);
  img->from = t->from;
  return ljmi_image_is_nested(img) ? ljmi_image_build_ends(img) : LJM_OK;
}

/* Fills the image from the first of a file's tables of that kind with a
** function in it. */
static ljm_status ljmi_image_from(ljmi_elf *e, ljm_symbols_from from)
{
  ljm_status status = LJM_OK;
  size_t i;
  for (i = 0; i < e->table_count && e->img->count == 0; i++) {
    ljmi_table *t = &e->tables[i];
    if (t->from != from) continue;
    status = ljmi_elf_finish_table(e, t);
    if (status == LJM_OK) status = ljmi_elf_find_shndx(e, t);
    if (status == LJM_OK) {
      ljmi_image_clear(e->img);
      status = ljmi_image_fill(e, t);
    }
    if (status != LJM_OK) return status;
  }
  return status;
}

/* Fills the image through PT_DYNAMIC. */
static ljm_status ljmi_image_from_dynamic(ljmi_elf *e, ljm_symbols_from from)
{
  ljmi_table t;
  ljm_status status = ljmi_dyn_table(e, &t);
  if (status != LJM_OK) return status == LJM_E_NOTFOUND ? LJM_OK : status;
  t.from = from;
  ljmi_image_clear(e->img);
  return ljmi_image_fill(e, &t);
}

static ljm_status ljmi_elf_init(ljmi_elf *e, ljm_image *img,
                                const ljm_reader *reader,
                                const ljm_elf_limits *limits)
{
  memset(e, 0, sizeof(*e));
  e->img = img;
  e->mem = img->mem;
  e->reader = reader;
  ljmi_limits_init(&e->limits, limits);
  e->scratch = (ljmi_scratch *)ljmi_alloc_array(e->mem, 1,
                                                sizeof(ljmi_scratch));
  if (!e->scratch) return ljmi_elf_nomem(e);
  e->tables = e->scratch->tables;
  e->buf = e->scratch->chunks[0];
  return LJM_OK;
}

static void ljmi_elf_end(ljmi_elf *e)
{
  ljmi_free_array(e->mem, e->scratch, 1, sizeof(ljmi_scratch));
  ljmi_free_array(e->mem, e->segs, e->segs_cap, sizeof(ljmi_seg));
  ljmi_free_array(e->mem, e->sec_ends, (size_t)e->sec_count,
                  sizeof(uint64_t));
}

/* Reads headers and build-id of a file; ljmi_elf_end is due in any case. */
static ljm_status ljmi_elf_begin(ljmi_elf *e, ljm_image *img,
                                 const ljm_reader *reader,
                                 const ljm_elf_limits *limits)
{
  ljm_status status = ljmi_elf_init(e, img, reader, limits);
  if (status == LJM_OK) status = ljmi_elf_header(e);
  if (status == LJM_OK) status = ljmi_elf_segments(e);
  if (status == LJM_OK) status = ljmi_elf_build_id(e);
  return status;
}

static void ljmi_image_init(ljm_image *img, ljm_memory *mem)
{
  memset(img, 0, sizeof(*img));
  img->mem = mem;
}

LJM_API ljm_status ljm_image_open(ljm_image *img, const ljm_reader *reader,
                                  const ljm_allocator *alloc,
                                  const ljm_elf_limits *limits)
{
  ljm_elf_limits use;
  ljm_status status;
  ljmi_elf e;
  ljmi_limits_init(&use, limits);
  ljmi_image_init(img, &img->own);
  status = ljmi_memory_init(&img->own, alloc, use.memory_size);
  if (status == LJM_OK && (!reader || !reader->read)) status = LJM_E_ARG;
  if (status != LJM_OK) return ljmi_fail(&img->error, status, 0, 0);
  status = ljmi_elf_begin(&e, img, reader, &use);
  if (status == LJM_OK) status = ljmi_elf_sections(&e);
  if (status == LJM_OK) status = ljmi_image_from(&e, LJM_FROM_SYMTAB);
  if (status == LJM_OK && img->count == 0)
    status = ljmi_image_from(&e, LJM_FROM_DYNSYM);
  if (status == LJM_OK && e.table_count == 0)
    status = ljmi_image_from_dynamic(&e, LJM_FROM_DYNSYM);
  ljmi_elf_end(&e);
  if (status != LJM_OK) ljmi_image_clear(img);
  return status;
}

typedef struct ljmi_bytes {
  const unsigned char *data;
  size_t size;
} ljmi_bytes;

static ptrdiff_t ljmi_bytes_read(void *user, uint64_t off, void *data,
                                 size_t size)
{
  const ljmi_bytes *b = (const ljmi_bytes *)user;
  if (off >= b->size) return 0;
  if (size > b->size - (size_t)off) size = b->size - (size_t)off;
  memcpy(data, b->data + off, size);
  return (ptrdiff_t)size;
}

LJM_API ljm_status ljm_image_open_memory(ljm_image *img, const void *data,
                                         size_t size,
                                         const ljm_allocator *alloc,
                                         const ljm_elf_limits *limits)
{
  ljm_reader reader;
  ljmi_bytes bytes;
  bytes.data = (const unsigned char *)data;
  bytes.size = size;
  reader.read = ljmi_bytes_read;
  reader.user = &bytes;
  reader.size = size;
  return ljm_image_open(img, &reader, alloc, limits);
}

LJM_API void ljm_image_free(ljm_image *img)
{
  if (img->mem) ljmi_image_clear(img);
}

/* -- loaded modules */

/* A module as the resolver keeps it. */
typedef struct ljmi_module {
  ljm_loaded_module m;
  uint64_t phdr_hash;
  uint64_t code_hash; /* Of the code's first bytes, without a build-id. */
  ljmi_seg *segs;     /* As in ljmi_elf; pos is a run-time address. */
  size_t load_count, segs_count;
  int disorder;
  char *path;
  size_t path_size; /* With the NUL. */
  ljm_image img;
  const ljm_image *use; /* `img`, another module's of the same file, NULL. */
  uint64_t seen;        /* Last refresh that found it. */
  int program;          /* The main program. */
  int sure;             /* Path and build-id are known to belong together. */
} ljmi_module;

/* In the copy of the loader's list: each module's is followed by its program
** headers, its name and NUL, and is filled up to words. */
typedef struct ljmi_listed {
  uint64_t bias;
  size_t phdr_count, name_size, size;
} ljmi_listed;

/* A listed module, and what tells it from others. */
typedef struct ljmi_candidate {
  const unsigned char *phdrs;
  const char *name;
  ljmi_listed item;
  uint64_t phdr_hash, code_hash, base, size;
  ljm_build_id build_id;
  ljmi_module *m;
} ljmi_candidate;

static void ljmi_module_free(ljm_resolver *r, ljmi_module *m)
{
  ljm_image_free(&m->img);
  ljmi_free_array(&r->mem, m->segs, m->segs_count, sizeof(ljmi_seg));
  ljmi_free_array(&r->mem, m->path, m->path_size, 1);
  ljmi_free_array(&r->mem, m, 1, sizeof(*m));
}

/* The loaded module whose range holds an address, or NULL. */
static ljmi_module *ljmi_resolver_find(const ljm_resolver *r, uint64_t addr)
{
  size_t n = ljmi_entries_upto(r->map, r->map_count, addr);
  ljmi_module *m;
  if (n == 0) return NULL;
  m = r->modules[r->map[n - 1].size];
  return addr - m->m.base < m->m.size ? m : NULL;
}

#ifdef LJM_NO_RESOLVER

LJM_API ljm_status ljm_image_open_path(ljm_image *img, const char *path,
                                       const ljm_allocator *alloc,
                                       const ljm_elf_limits *limits)
{
  (void)path;
  (void)alloc;
  (void)limits;
  ljmi_image_init(img, &img->own);
  return ljmi_fail(&img->error, LJM_E_UNSUPPORTED, 0, 0);
}

/* Nothing ever changes, no module is known. */
LJM_API int ljm_resolver_check(const ljm_resolver *r)
{
  (void)r;
  return 0;
}

LJM_API ljm_status ljm_resolver_refresh(ljm_resolver *r)
{
  (void)r;
  return LJM_OK;
}

static int ljmi_module_ready(ljm_resolver *r, ljmi_module *m)
{
  (void)r;
  m->m.status = LJM_E_UNSUPPORTED;
  return 1;
}

#else

/* Opens a regular file for reading; the descriptor, or a negated errno value
** (-EINVAL: another kind of file). */
static int ljmi_file_open(const char *path, uint64_t *size)
{
  struct stat st;
  int fd, err = 0;
  do
    fd = open(path, O_RDONLY | LJMI_O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return -errno;
  if (fstat(fd, &st) != 0)
    err = errno;
  else if (!S_ISREG(st.st_mode))
    err = EINVAL;
  else
    *size = (uint64_t)st.st_size;
  if (err == 0) return fd;
  close(fd);
  return -err;
}

static ptrdiff_t ljmi_file_read(void *user, uint64_t off, void *data,
                                size_t size)
{
  int fd = *(const int *)user;
  ssize_t n;
  if (lseek(fd, (off_t)off, SEEK_SET) < 0) return -errno;
  do
    n = read(fd, data, size);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : (ptrdiff_t)n;
}

LJM_API ljm_status ljm_image_open_path(ljm_image *img, const char *path,
                                       const ljm_allocator *alloc,
                                       const ljm_elf_limits *limits)
{
  int saved = errno, fd = -EINVAL;
  ljm_reader reader;
  ljm_status status;
  ljmi_image_init(img, &img->own);
  if (!path) return ljmi_fail(&img->error, LJM_E_ARG, 0, 0);
  reader.size = 0;
  fd = ljmi_file_open(path, &reader.size);
  if (fd < 0) {
    status = fd == -EINVAL ? LJM_E_UNSUPPORTED : LJM_E_IO;
    status = ljmi_fail(&img->error, status, -fd, 0);
  } else {
    reader.read = ljmi_file_read;
    reader.user = &fd;
    status = ljm_image_open(img, &reader, alloc, limits);
    close(fd);
  }
  errno = saved;
  return status;
}

/* The process's own memory, read through a pipe: what is not mapped, or is
** mapped from a file that got shorter, gives EFAULT and no signal. The writing
** call is made bare, since sanitizers check the bytes given to write(). */
typedef struct ljmi_pipe {
  int fd[2];
} ljmi_pipe;

static ptrdiff_t ljmi_pipe_read(void *user, uint64_t off, void *data,
                                size_t size)
{
  const ljmi_pipe *p = (const ljmi_pipe *)user;
  ssize_t got;
  long n;
  if (off > UINTPTR_MAX) return -EFAULT;
  do
    n = syscall(SYS_write, p->fd[1], (uintptr_t)off, size);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return n < 0 ? -errno : -EIO;
  do
    got = read(p->fd[0], data, (size_t)n);
  while (got < 0 && errno == EINTR);
  if (got < 0) return -errno;
  return got == n ? (ptrdiff_t)got : -EIO;
}

static int ljmi_pipe_open(ljmi_pipe *p, ljm_reader *reader)
{
  reader->read = ljmi_pipe_read;
  reader->user = p;
  reader->size = UINT64_MAX;
  return pipe2(p->fd, LJMI_O_CLOEXEC | O_NONBLOCK) == 0;
}

static void ljmi_pipe_close(ljmi_pipe *p)
{
  close(p->fd[0]);
  close(p->fd[1]);
}

/* The loader's counters. They come with each module; one is enough. */
typedef struct ljmi_counters {
  uint64_t adds, subs;
  int counted;
} ljmi_counters;

#define LJMI_INFO_COUNTS (offsetof(ljmi_dl_info, dlpi_subs) + \
                          sizeof(((ljmi_dl_info *)0)->dlpi_subs))

static int ljmi_counters_cb(ljmi_dl_info *info, size_t size, void *user)
{
  ljmi_counters *c = (ljmi_counters *)user;
  if (size >= LJMI_INFO_COUNTS) {
    c->adds = info->dlpi_adds;
    c->subs = info->dlpi_subs;
    c->counted = 1;
  }
  return 1;
}

LJM_API int ljm_resolver_check(const ljm_resolver *r)
{
  ljmi_counters c;
  if (r->dirty) return 1;
  if (!r->counted) return 0;
  c.adds = c.subs = 0;
  dl_iterate_phdr(ljmi_counters_cb, &c);
  return c.adds != r->adds || c.subs != r->subs;
}

typedef struct ljmi_list {
  unsigned char *data;
  size_t cap, used; /* `used` counts what does not fit too. */
  uint64_t vdso;
  ljmi_counters c;
} ljmi_list;

#define LJMI_PATH_MAX 4096

/* Is the module the vDSO, whose ELF header stands at that address? */
static int ljmi_is_vdso(const ljmi_dl_info *info, uint64_t vdso)
{
  size_t i;
  if (vdso == 0) return 0;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uint64_t start = (uint64_t)info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && vdso - start < p->p_memsz) return 1;
  }
  return 0;
}

static int ljmi_list_cb(ljmi_dl_info *info, size_t size, void *user)
{
  ljmi_list *list = (ljmi_list *)user;
  size_t phdrs = info->dlpi_phnum * sizeof(ElfW(Phdr));
  ljmi_listed item;
  ljmi_counters_cb(info, size, &list->c);
  if (ljmi_is_vdso(info, list->vdso)) return 0;
  item.bias = info->dlpi_addr;
  item.phdr_count = info->dlpi_phnum;
  item.name_size = 0;
  while (info->dlpi_name && item.name_size < LJMI_PATH_MAX - 1 &&
         info->dlpi_name[item.name_size] != 0)
    item.name_size++;
  item.size = (sizeof(item) + phdrs + item.name_size + 1 + 7) & ~(size_t)7;
  if (list->used <= list->cap && item.size <= list->cap - list->used) {
    unsigned char *p = list->data + list->used;
    memcpy(p, &item, sizeof(item));
    memcpy(p + sizeof(item), info->dlpi_phdr, phdrs);
    p += sizeof(item) + phdrs;
    if (item.name_size) memcpy(p, info->dlpi_name, item.name_size);
    p[item.name_size] = 0;
  }
  list->used += item.size;
  return 0;
}

/* Copies the list into r->list, which grows until it fits. */
static ljm_status ljmi_resolver_list(ljm_resolver *r, ljmi_list *list)
{
  for (;;) {
    unsigned char *data;
    size_t cap;
    memset(list, 0, sizeof(*list));
    list->data = r->list;
    list->cap = r->list_cap;
    list->vdso = r->vdso;
    dl_iterate_phdr(ljmi_list_cb, list);
    if (list->used <= list->cap) return LJM_OK;
    cap = list->used + list->used / 4;
    data = (unsigned char *)ljmi_grow_array(&r->mem, r->list, r->list_cap,
                                            cap, 1);
    if (!data) return r->mem.status;
    r->list = data;
    r->list_cap = cap;
  }
}

#define LJMI_CODE_SIZE 4096 /* Bytes of code that are hashed. */

/* Hashes the first bytes of what is executable and not writable: two modules
** without a build-id may have the same headers and name. */
static void ljmi_candidate_hash_code(ljmi_elf *e, ljmi_candidate *c)
{
  size_t i, k, size;
  c->code_hash = 1;
  for (i = 0; i < e->load_count; i++) {
    const ljmi_seg *s = &e->segs[i];
    if ((s->flags & (LJMI_PF_X | LJMI_PF_W)) != LJMI_PF_X) continue;
    size = s->file_size < LJMI_CODE_SIZE ? (size_t)s->file_size
                                         : LJMI_CODE_SIZE;
    memset(e->buf, 0, size);
    if (ljmi_elf_read(e, s->pos, e->buf, size) != LJM_OK) return;
    for (k = 0; k + 8 <= size; k += 8)
      c->code_hash = ljmi_hash_word(c->code_hash, ljmi_load64(e->buf + k, 0));
  }
}

/* The machine this is compiled for, as far as it makes a difference. */
static uint32_t ljmi_this_machine(void)
{
#if defined(__arm__)
  return LJMI_EM_ARM;
#elif defined(__s390x__)
  return LJMI_EM_S390;
#elif defined(__alpha__)
  return LJMI_EM_ALPHA;
#else
  return 0;
#endif
}

static void ljmi_elf_set_native(ljmi_elf *e, uint64_t bias)
{
  const uint16_t one = 1;
  e->is64 = sizeof(void *) == 8;
  e->big = *(const unsigned char *)&one == 0;
  e->machine = ljmi_this_machine();
  e->bias = bias;
}

/* Takes over the copied program headers of a module in memory. */
static ljm_status ljmi_elf_take_phdrs(ljmi_elf *e, const ljmi_candidate *c)
{
  ElfW(Phdr) p;
  ljmi_seg s;
  size_t i;
  e->load_count = e->segs_count = 0;
  e->phdr_hash = 0;
  e->disorder = 0;
  ljmi_elf_set_native(e, c->item.bias);
  for (i = 0; i < c->item.phdr_count; i++) {
    ljm_status status;
    memcpy(&p, c->phdrs + i * sizeof(p), sizeof(p));
    s.type = p.p_type;
    s.flags = p.p_flags;
    s.vaddr = p.p_vaddr;
    s.file_size = p.p_filesz;
    s.mem_size = p.p_memsz;
    s.align = (uint32_t)p.p_align;
    s.pos = (uintptr_t)(c->item.bias + s.vaddr);
    status = ljmi_elf_add_seg(e, &s);
    if (status == LJM_E_NOMEM || status == LJM_E_LIMIT) return status;
  }
  for (i = e->load_count; i < e->segs_count; i++) /* Not mapped? */
    if (ljmi_elf_pos(e, e->segs[i].vaddr, e->segs[i].file_size) == LJMI_NONE)
      e->segs[i].file_size = 0;
  return LJM_OK;
}

/* glibc gives the program no name, musl's static start code this one. */
#define LJMI_PROGRAM "/proc/self/exe"

static int ljmi_candidate_is_program(const ljmi_candidate *c)
{
  return c->item.name_size == 0 || strcmp(c->name, LJMI_PROGRAM) == 0;
}

/* The path to show: the program's has to be asked for. */
static ljm_status ljmi_module_set_path(ljm_resolver *r, const ljmi_elf *e,
                                       ljmi_module *m,
                                       const ljmi_candidate *c)
{
  const char *name = c->name;
  size_t size = c->item.name_size;
  m->program = ljmi_candidate_is_program(c);
  if (m->program) {
    ssize_t n = readlink(LJMI_PROGRAM, (char *)e->buf, LJMI_PATH_MAX);
    name = (const char *)e->buf;
    size = n > 0 ? (size_t)n : 0;
  }
  m->path = (char *)ljmi_alloc_array(&r->mem, size + 1, 1);
  if (!m->path) return r->mem.status;
  memcpy(m->path, name, size);
  m->path[size] = 0;
  m->path_size = size + 1;
  m->m.path = m->path;
  return LJM_OK;
}

/* Makes a record, not loaded yet, for a candidate whose headers are in `e`. */
static ljm_status ljmi_module_new(ljm_resolver *r, const ljmi_elf *e,
                                  ljmi_candidate *c)
{
  ljmi_module *m;
  ljm_status status;
  if (r->module_count >= r->opts.limits.module_count) return LJM_E_LIMIT;
  if (r->module_count == r->module_cap) {
    size_t cap = r->module_cap ? r->module_cap * 2 : 64;
    ljmi_module **modules = (ljmi_module **)ljmi_grow_array(
      &r->mem, r->modules, r->module_cap, cap, sizeof(*modules));
    if (!modules) return r->mem.status;
    r->modules = modules;
    r->module_cap = cap;
  }
  m = (ljmi_module *)ljmi_alloc_array(&r->mem, 1, sizeof(*m));
  if (!m) return r->mem.status;
  memset(m, 0, sizeof(*m));
  status = ljmi_module_set_path(r, e, m, c);
  if (status == LJM_OK) {
    m->segs = (ljmi_seg *)ljmi_alloc_array(&r->mem, e->segs_count,
                                           sizeof(ljmi_seg));
    if (!m->segs) status = r->mem.status;
  }
  if (!m->segs) {
    ljmi_module_free(r, m);
    return status;
  }
  memcpy(m->segs, e->segs, e->segs_count * sizeof(ljmi_seg));
  m->segs_count = e->segs_count;
  m->load_count = e->load_count;
  m->disorder = e->disorder;
  m->phdr_hash = c->phdr_hash;
  m->code_hash = c->code_hash;
  m->m.base = c->base;
  m->m.size = c->size;
  m->m.bias = c->item.bias;
  m->m.build_id = c->build_id;
  r->modules[r->module_count++] = m;
  m->m.id = (uint32_t)r->module_count;
  c->m = m;
  return LJM_OK;
}

static int ljmi_build_id_equal(const ljm_build_id *a, const ljm_build_id *b)
{
  return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* Is the record that of the candidate? */
static int ljmi_candidate_is(const ljmi_candidate *c, const ljmi_module *m)
{
  return m->m.bias == c->item.bias && m->phdr_hash == c->phdr_hash &&
         m->code_hash == c->code_hash &&
         ljmi_build_id_equal(&m->m.build_id, &c->build_id) &&
         (m->program ? ljmi_candidate_is_program(c)
                     : m->path_size == c->item.name_size + 1 &&
                       memcmp(m->path, c->name, m->path_size) == 0);
}

/* Finds a candidate's record among the loaded ones, then among all. */
static void ljmi_candidate_match(const ljm_resolver *r, ljmi_candidate *c)
{
  size_t i;
  c->m = ljmi_resolver_find(r, c->base);
  if (c->m && ljmi_candidate_is(c, c->m)) return;
  c->m = NULL;
  for (i = r->module_count; i > 0 && !c->m; i--)
    if (ljmi_candidate_is(c, r->modules[i - 1])) c->m = r->modules[i - 1];
}

/* Learns what tells a listed module from others, and finds or makes its
** record. A module without memory gets none. */
static ljm_status ljmi_candidate_init(ljm_resolver *r, ljmi_elf *e,
                                      ljmi_candidate *c)
{
  const ljmi_seg *last;
  ljm_status status = ljmi_elf_take_phdrs(e, c);
  c->m = NULL;
  if (status != LJM_OK || e->load_count == 0) return status;
  last = &e->segs[e->load_count - 1];
  c->base = e->segs[0].pos;
  c->size = last->pos + last->mem_size - c->base;
  c->phdr_hash = e->phdr_hash;
  c->code_hash = 0;
  ljmi_image_init(e->img, &r->mem);
  /* What cannot be read is gone already, which the counters will tell. */
  (void)ljmi_elf_build_id(e);
  c->build_id = e->img->build_id;
  if (c->build_id.size == 0) ljmi_candidate_hash_code(e, c);
  ljmi_candidate_match(r, c);
  return c->m ? LJM_OK : ljmi_module_new(r, e, c);
}

/* Goes through the copied list; *count candidates are in r->found then. */
static ljm_status ljmi_resolver_stage(ljm_resolver *r, const ljmi_list *list,
                                      ljmi_elf *e, size_t *count)
{
  ljm_status status = LJM_OK;
  size_t at = 0;
  *count = 0;
  while (status == LJM_OK && at < list->used) {
    ljmi_candidate *c;
    if (*count == r->found_cap) {
      size_t cap = r->found_cap ? r->found_cap * 2 : 64;
      c = (ljmi_candidate *)ljmi_grow_array(&r->mem, r->found, r->found_cap,
                                            cap, sizeof(*c));
      if (!c) return r->mem.status;
      r->found = c;
      r->found_cap = cap;
    }
    c = &r->found[*count];
    memcpy(&c->item, list->data + at, sizeof(c->item));
    c->phdrs = list->data + at + sizeof(c->item);
    c->name = (const char *)c->phdrs +
              c->item.phdr_count * sizeof(ElfW(Phdr));
    at += c->item.size;
    status = ljmi_candidate_init(r, e, c);
    if (c->m) ++*count;
  }
  return status;
}

/* A module's file that is being read. */
typedef struct ljmi_module_file {
  ljm_reader reader; /* Of `fd`. */
  ljmi_elf e;
  int fd;
} ljmi_module_file;

/* 0: it cannot be opened. */
static int ljmi_module_file_open(const ljmi_module *m, ljmi_module_file *f)
{
  f->reader.size = 0;
  f->reader.read = ljmi_file_read;
  f->reader.user = &f->fd;
  f->fd = ljmi_file_open(m->program ? LJMI_PROGRAM : m->path, &f->reader.size);
  return f->fd >= 0;
}

/* Reads the headers; LJM_E_NOTFOUND if the file is not what was loaded. */
static ljm_status ljmi_module_file_begin(ljm_resolver *r, const ljmi_module *m,
                                         ljmi_module_file *f, ljm_image *img)
{
  ljm_status status =
    ljmi_elf_begin(&f->e, img, &f->reader, &r->opts.limits);
  if (status != LJM_OK) return status;
  if (f->e.is64 != (sizeof(void *) == 8) ||
      !ljmi_build_id_equal(&m->m.build_id, &img->build_id))
    return LJM_E_NOTFOUND;
  return m->m.build_id.size != 0 || m->phdr_hash == f->e.phdr_hash
           ? LJM_OK
           : LJM_E_NOTFOUND;
}

static void ljmi_module_file_close(ljmi_module_file *f)
{
  ljmi_elf_end(&f->e);
  close(f->fd);
}

/* Do path and build-id belong together, whenever each was read? */
static int ljmi_module_is_sure(ljm_resolver *r, const ljmi_module *m)
{
  ljmi_module_file f;
  ljm_image probe;
  int same;
  if (m->sure || m->program) return 1;
  if (m->m.build_id.size == 0 || !ljmi_module_file_open(m, &f)) return 0;
  ljmi_image_init(&probe, &r->mem);
  same = ljmi_module_file_begin(r, m, &f, &probe) == LJM_OK;
  ljmi_module_file_close(&f);
  return same;
}

/* Keeps the candidates whose memory was that of the listed module for sure.
** Between list and look another one may have taken the place. */
static size_t ljmi_resolver_sift(ljm_resolver *r, size_t count)
{
  size_t i, kept = 0;
  for (i = 0; i < count; i++)
    if (ljmi_module_is_sure(r, r->found[i].m)) r->found[kept++] = r->found[i];
  return kept;
}

/* Makes the candidates the loaded modules. Nothing fails any more. */
static void ljmi_resolver_commit(ljm_resolver *r, size_t count)
{
  size_t i, changes = 0;
  r->epoch++;
  for (i = 0; i < count; i++) {
    ljmi_module *m = r->found[i].m;
    m->seen = r->epoch;
    m->sure = 1;
    r->map[i].vaddr = m->m.base;
    r->map[i].size = m->m.id - 1;
    r->map[i].name = 0;
  }
  r->map_count = count;
  ljmi_entry_sort(NULL, r->map, count);
  for (i = 0; i < r->module_count; i++) {
    ljmi_module *m = r->modules[i];
    if (!m->m.loaded || m->seen == r->epoch) continue;
    m->m.loaded = 0;
    changes++;
    if (r->opts.on_module) r->opts.on_module(r->opts.user, &m->m);
  }
  for (i = 0; i < r->module_count; i++) {
    ljmi_module *m = r->modules[i];
    if (m->m.loaded || m->seen != r->epoch) continue;
    m->m.loaded = 1;
    changes++;
    if (r->opts.on_module) r->opts.on_module(r->opts.user, &m->m);
  }
  if (changes) r->generation++;
}

static ljm_status ljmi_resolver_reserve_map(ljm_resolver *r, size_t count)
{
  ljmi_entry *map;
  if (count <= r->map_cap) return LJM_OK;
  map = (ljmi_entry *)ljmi_grow_array(&r->mem, r->map, r->map_cap, count,
                                      sizeof(*map));
  if (!map) return r->mem.status;
  r->map = map;
  r->map_cap = count;
  return LJM_OK;
}

/* Lists and looks until the counters stay, a few times at most. If they do
** not, what is not sure is left for the next time: the list stays marked. */
static LJMI_NOINLINE ljm_status ljmi_resolver_relist(ljm_resolver *r,
                                                     ljmi_elf *e)
{
  ljm_status status = LJM_OK;
  size_t count = 0;
  ljmi_list list;
  int round, moving = 1;
  for (round = 0; round < 4 && moving && status == LJM_OK; round++) {
    status = ljmi_resolver_list(r, &list);
    if (status == LJM_OK) status = ljmi_resolver_stage(r, &list, e, &count);
    if (status == LJM_OK) {
      r->dirty = 0;
      r->adds = list.c.adds;
      r->subs = list.c.subs;
      r->counted = list.c.counted;
      moving = ljm_resolver_check(r);
    }
  }
  if (status == LJM_OK && moving) count = ljmi_resolver_sift(r, count);
  if (status == LJM_OK) status = ljmi_resolver_reserve_map(r, count);
  if (status == LJM_OK) ljmi_resolver_commit(r, count);
  if (status != LJM_OK || moving) r->dirty = 1;
  return status;
}

LJM_API ljm_status ljm_resolver_refresh(ljm_resolver *r)
{
  int saved = errno;
  ljm_status status = LJM_OK;
  ljm_reader reader;
  ljmi_pipe self;
  ljm_image probe;
  ljmi_elf e;
  if (!ljm_resolver_check(r)) return LJM_OK;
  ljmi_image_init(&probe, &r->mem);
  if (!ljmi_pipe_open(&self, &reader)) {
    r->dirty = 1;
    errno = saved;
    return LJM_E_IO;
  }
  status = ljmi_elf_init(&e, &probe, &reader, &r->opts.limits);
  if (status == LJM_OK) status = ljmi_resolver_relist(r, &e);
  ljmi_elf_end(&e);
  ljmi_pipe_close(&self);
  errno = saved;
  return status;
}

/* Reads the symbols from one kind of table of the module's file. */
static ljm_status ljmi_module_from_file(ljm_resolver *r, ljmi_module *m,
                                        ljm_symbols_from from)
{
  ljmi_module_file f;
  ljm_status status;
  if (!ljmi_module_file_open(m, &f)) return LJM_E_IO;
  ljmi_image_init(&m->img, &r->mem);
  status = ljmi_module_file_begin(r, m, &f, &m->img);
  if (status == LJM_OK) status = ljmi_elf_sections(&f.e);
  if (status == LJM_OK) status = ljmi_image_from(&f.e, from);
  ljmi_module_file_close(&f);
  return status;
}

/* Reads the symbols from the module's memory. */
static ljm_status ljmi_module_from_memory(ljm_resolver *r, ljmi_module *m)
{
  ljm_reader reader;
  ljm_status status;
  ljmi_pipe self;
  ljmi_elf e;
  if (!ljmi_pipe_open(&self, &reader)) return LJM_E_IO;
  ljmi_image_init(&m->img, &r->mem);
  status = ljmi_elf_init(&e, &m->img, &reader, &r->opts.limits);
  if (status == LJM_OK) {
    ljmi_elf_set_native(&e, m->m.bias);
    e.segs = m->segs;
    e.load_count = m->load_count;
    e.segs_count = m->segs_count;
    e.disorder = m->disorder;
    status = ljmi_image_from_dynamic(&e, LJM_FROM_MEMORY);
    e.segs = NULL;
  }
  ljmi_elf_end(&e);
  ljmi_pipe_close(&self);
  return status;
}

/* A module of the same file, loaded elsewhere before. */
static const ljm_image *ljmi_module_shared(const ljm_resolver *r,
                                           const ljmi_module *m)
{
  size_t i;
  for (i = 0; i < r->module_count && m->m.build_id.size != 0; i++) {
    const ljmi_module *o = r->modules[i];
    if (o->use && o->phdr_hash == m->phdr_hash &&
        ljmi_build_id_equal(&o->m.build_id, &m->m.build_id))
      return o->use;
  }
  return NULL;
}

/* What has been read is the module's, if it is anything. */
static void ljmi_module_take(ljmi_module *m, ljm_status status)
{
  if (status == LJM_OK && m->img.count > 0)
    m->use = &m->img;
  else
    ljm_image_free(&m->img);
}

/* Reads a module's symbols: .symtab of its file, what is in memory, .dynsym
** of its file; the first that has any. Else the first failure, if one was. */
static ljm_status ljmi_module_index(ljm_resolver *r, ljmi_module *m)
{
  ljm_status status, why = LJM_E_NOTFOUND;
  int step;
  m->use = ljmi_module_shared(r, m);
  for (step = 0; step < 3 && !m->use; step++) {
    if (step == 1)
      status = ljmi_module_from_memory(r, m);
    else
      status = ljmi_module_from_file(r, m, step == 0 ? LJM_FROM_SYMTAB
                                                     : LJM_FROM_DYNSYM);
    ljmi_module_take(m, status);
    if (status != LJM_OK && why == LJM_E_NOTFOUND) why = status;
  }
  return m->use ? LJM_OK : why;
}

/* Another way to the symbols of a module that may have gone while they were
** read from its memory: its file. */
static ljm_status ljmi_module_again(ljm_resolver *r, ljmi_module *m)
{
  ljm_status status;
  m->use = NULL;
  ljm_image_free(&m->img);
  status = ljmi_module_from_file(r, m, LJM_FROM_DYNSYM);
  ljmi_module_take(m, status);
  return status;
}

/* Reads a module's symbols if that was not done. What was read from memory
** counts only if the module is still there; 0: it may not be. */
static int ljmi_module_ready(ljm_resolver *r, ljmi_module *m)
{
  if (m->m.indexed) return 1;
  m->m.status = ljmi_module_index(r, m);
  if ((!m->use || (m->use == &m->img && m->use->from == LJM_FROM_MEMORY)) &&
      ljm_resolver_check(r)) {
    m->m.status = ljmi_module_again(r, m);
    if (!m->use) return 0;
  }
  m->m.indexed = 1;
  m->m.from = m->use ? m->use->from : LJM_FROM_NONE;
  return 1;
}

#endif /* LJM_NO_RESOLVER */

LJM_API ljm_status ljm_resolver_init(ljm_resolver *r,
                                     const ljm_resolver_options *opts)
{
  ljm_status status;
  memset(r, 0, sizeof(*r));
  if (opts) r->opts = *opts;
  ljmi_limits_init(&r->opts.limits, &r->opts.limits);
  status = ljmi_memory_init(&r->mem, &r->opts.alloc,
                            r->opts.limits.memory_size);
  if (status != LJM_OK) return status;
#ifndef LJM_NO_RESOLVER
  r->vdso = getauxval(AT_SYSINFO_EHDR);
#endif
  r->dirty = 1;
  status = ljm_resolver_refresh(r);
  if (status != LJM_OK) ljm_resolver_free(r);
  return status;
}

LJM_API void ljm_resolver_mark_dirty(ljm_resolver *r)
{
  r->dirty = 1;
}

LJM_API uint64_t ljm_resolver_generation(const ljm_resolver *r)
{
  return r->generation;
}

/* Finds the module of `addr`, its symbols read if there is a way. */
static ljm_status ljmi_resolver_module_at(ljm_resolver *r, uint64_t addr,
                                          ljmi_module **m)
{
  ljm_status status = LJM_OK;
  int round, ready = 0;
  for (round = 0; round < 4 && !ready; round++) {
    status = ljm_resolver_refresh(r);
    if (status != LJM_OK) return status;
    *m = ljmi_resolver_find(r, addr);
    if (!*m && !r->counted && round == 0) {
      r->dirty = 1; /* The loader does not say that it has something new. */
      continue;
    }
    if (!*m) return LJM_E_NOTFOUND;
    ready = ljmi_module_ready(r, *m);
  }
  return LJM_OK;
}

LJM_API ljm_status ljm_resolver_lookup(ljm_resolver *r, uint64_t addr,
                                       ljm_location *loc)
{
  int saved = errno;
  ljmi_module *m = NULL;
  ljm_status status = ljmi_resolver_module_at(r, addr, &m);
  memset(loc, 0, sizeof(*loc));
  errno = saved;
  if (status != LJM_OK) return status;
  loc->module = &m->m;
  loc->offset = (uintptr_t)(addr - m->m.bias);
  if (!m->use || ljm_image_find(m->use, loc->offset, &loc->symbol) != LJM_OK)
    return LJM_OK;
  loc->offset -= loc->symbol.vaddr;
  loc->symbol_addr = addr - loc->offset;
  return LJM_OK;
}

LJM_API size_t ljm_resolver_module_count(const ljm_resolver *r)
{
  return r->module_count;
}

LJM_API const ljm_loaded_module *
ljm_resolver_module(const ljm_resolver *r, size_t idx)
{
  return idx < r->module_count ? &r->modules[idx]->m : NULL;
}

LJM_API const ljm_image *
ljm_resolver_symbols(ljm_resolver *r, const ljm_loaded_module *m)
{
  int saved = errno;
  ljmi_module *found = NULL;
  ljm_status status = LJM_E_NOTFOUND;
  if (m->loaded) status = ljmi_resolver_module_at(r, m->base, &found);
  errno = saved;
  return status == LJM_OK && &found->m == m ? found->use : NULL;
}

LJM_API void ljm_resolver_free(ljm_resolver *r)
{
  size_t i;
  for (i = 0; i < r->module_count; i++) ljmi_module_free(r, r->modules[i]);
  ljmi_free_array(&r->mem, r->modules, r->module_cap, sizeof(*r->modules));
  ljmi_free_array(&r->mem, r->map, r->map_cap, sizeof(*r->map));
  ljmi_free_array(&r->mem, r->found, r->found_cap, sizeof(*r->found));
  ljmi_free_array(&r->mem, r->list, r->list_cap, 1);
  memset(r, 0, sizeof(*r));
}

/* -- LuaJIT binding ----------------------------------------------------- */

#ifdef LJM_LUAJIT

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

#include "luajit.h"
#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_buf.h"
#include "lj_ctype.h"
#include "lj_cdata.h"
#include "lj_frame.h"
#include "lj_debug.h"
#include "lj_state.h"
#include "lj_dispatch.h"
#include "lj_memprof.h"

/* One frame of a Lua stack and the bytecode that it executes. */
typedef struct ljmi_frames {
  lua_State *L;
  cTValue *f;       /* Frame slot; at or below bot: no frame left. */
  cTValue *bot;
  void *cf;         /* C frame which Lua code at or below f runs in. */
  void *left;       /* C frame left last. */
  const BCIns *pc;  /* Bytecode after the one that runs, or NULL. */
} ljmi_frames;

/* Skip C frames that protect C code only: their Lua stack is above. */
static inline void ljmi_frames_cframe(ljmi_frames *it)
{
  while (LJMI_UNLIKELY(it->cf && cframe_nres(it->cf) < 0) &&
         it->f < restorestack(it->L, -cframe_nres(it->cf)))
    it->cf = cframe_raw(cframe_prev(it->cf));
  it->pc = it->cf ? cframe_pc(it->cf) : NULL;
}

/* The frame that L->base belongs to. */
static inline void ljmi_frames_first(ljmi_frames *it, lua_State *L)
{
  it->L = L;
  it->f = L->base - 1;
  it->bot = tvref(L->stack) + LJ_FR2;
  it->cf = cframe_raw(L->cframe);
  it->left = NULL;
  ljmi_frames_cframe(it);
}

/* The frame's function. NULL: the frame is none, only what follows it. */
static inline GCfunc *ljmi_frames_func(const ljmi_frames *it)
{
  GCobj *o = frame_gc(it->f);
  return o->gch.gct == ~LJ_TFUNC ? &o->fn : NULL; /* Else the thread. */
}

/* Go on to the caller's frame. A vararg function has two frames: both are
** left at once. */
static inline void ljmi_frames_next(ljmi_frames *it)
{
  if (frame_isvarg(it->f)) it->f = frame_prevd(it->f);
  if (frame_islua(it->f)) {
    it->pc = frame_pc(it->f);
    it->f = frame_prevl(it->f);
  } else if (frame_iscont(it->f) && !frame_iscont_fficb(it->f)) {
    it->pc = frame_contpc(it->f);
    it->f = frame_prevd(it->f);
  } else if (frame_isc(it->f) || frame_iscont(it->f)) {
    it->left = it->cf;
    if (it->cf) it->cf = cframe_raw(cframe_prev(it->cf));
    it->f = frame_prevd(it->f);
    ljmi_frames_cframe(it);
  } else {  /* pcall() and the like. */
    it->pc = NULL;
    it->f = frame_prevd(it->f);
  }
}

/* Is the PC in the prototype's bytecode? Else it is stale, or in a trace's copy
** of one, whose address may be another trace's later. */
static inline int ljmi_pc_lasts(const BCIns *pc, GCproto *pt)
{
  return (uintptr_t)pc - (uintptr_t)proto_bc(pt) - sizeof(BCIns) <
         pt->sizebc * sizeof(BCIns);
}

/* Position of the frame's bytecode in `pt`. The PC of a frame may be stale
** (while it closes upvalues, for one): 0 then. */
static int ljmi_frames_pos(const ljmi_frames *it, GCproto *pt, BCPos *pos)
{
  uintptr_t n = (uintptr_t)it->pc - (uintptr_t)proto_bc(pt) - sizeof(BCIns);
  n /= sizeof(BCIns);
#if LJ_HASJIT
  if (n >= pt->sizebc) {  /* The PC of a return compiled to a trace? */
    jit_State *J = L2J(it->L);
    TraceNo t = pt->trace;
    while (t && t < J->sizetrace && traceref(J, t)) {
      GCtrace *T = traceref(J, t);
      if (&T->startins == it->pc - 1) {
        *pos = proto_bcpos(pt, mref(T->startpc, const BCIns));
        return *pos < pt->sizebc;
      }
      t = T->nextroot;
    }
    return 0;
  }
#endif
  *pos = (BCPos)n;
  return n < pt->sizebc;
}

#if LJ_HASJIT

/* Node of a sunk allocation. `s` may be NULL. 0: not known. */
static uint32_t ljmi_sites_sunk(const MemprofSites *s, IRRef ref)
{
  uint32_t lo = 0, hi = s ? s->nsunk : 0;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (s->sunk[mid].ref < ref - REF_BIAS) lo = mid + 1; else hi = mid;
  }
  return s && lo < s->nsunk && s->sunk[lo].ref == ref - REF_BIAS ?
    s->sunk[lo].node : 0;
}

#endif

#if LJ_HASJIT

/* Node of the code that returns to `ra`, or 0. */
static uint32_t ljmi_sites_node(const GCtrace *T, uintptr_t ra)
{
  const MemprofSites *s = T->memprof;
  uint32_t ofs = (uint32_t)(ra - (uintptr_t)T->mcode);
  uint32_t lo = 0, hi = s ? s->nrange : 0;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (s->range[mid].end < ofs) lo = mid + 1; else hi = mid;
  }
  return s && lo < s->nrange && s->range[lo].start < ofs ?
    s->range[lo].node : 0;
}

/* Does the machine code of the trace return to `ra`? */
static int ljmi_trace_holds(const GCtrace *T, uintptr_t ra)
{
  return ra - (uintptr_t)T->mcode - 1 < T->szmcode;
}

#if LJ_TARGET_X86ORX64

/* The running trace, or NULL. */
static inline GCtrace *ljmi_trace_now(global_State *g)
{
  jit_State *J = G2J(g);
  int32_t t = g->vmstate;
  return t > 0 ? traceref(J, t) : NULL;
}

/* The word at a fixed place below the C frame: the return address into the
** machine code of `T`, if it has made the call underway. */
static inline uintptr_t ljmi_trace_word(const GCtrace *T, lua_State *L)
{
  const char *cf = (const char *)cframe_raw(L->cframe);
  uintptr_t ra;
  memcpy(&ra, cf - (CFRAME_SIZE_JIT - CFRAME_SIZE) - T->spadjust - sizeof(ra),
         sizeof(ra));
  return ra;
}

/* Where the machine code of `T` goes on after the call underway, or 0. */
static uintptr_t ljmi_trace_ra(const GCtrace *T, lua_State *L)
{
  uintptr_t ra = ljmi_trace_word(T, L);
  return ljmi_trace_holds(T, ra) ? ra : 0;
}

#else

/* Frame records looked at for one of JIT code. */
#define LJMI_RECORDS 16

#if LJ_TARGET_ARM64 && defined(__GNUC__)

/* Whether functions of the VM keep frame records depends on how it was
** compiled. The allocator of a probe looks for its caller's one: the next
** record must be that of the function which made the probe. */
typedef struct ljmi_probe {
  const uintptr_t *frame;
  int records;
} ljmi_probe;

static void *ljmi_probe_alloc(void *ud, void *p, size_t osz, size_t nsz)
{
  ljmi_probe *probe = (ljmi_probe *)ud;
  const uintptr_t *fp = (const uintptr_t *)__builtin_frame_address(0);
  const uintptr_t *up = (const uintptr_t *)fp[0];
  UNUSED(p); UNUSED(osz); UNUSED(nsz);
  probe->records = up > fp && up < probe->frame &&
                   up[0] == (uintptr_t)probe->frame;
  return NULL;
}

static LJMI_NOINLINE void ljmi_trace_probe(lua_State *L)
{
  global_State *g = G(L);
  lua_Alloc f = g->allocf;
  void *ud = g->allocd;
  void *(*volatile call)(lua_State *, void *, GCSize, GCSize) =
    lj_mem_realloc;
  ljmi_probe probe;
  probe.frame = (const uintptr_t *)__builtin_frame_address(0);
  probe.records = 0;
  g->allocf = ljmi_probe_alloc;
  g->allocd = &probe;
  (void)call(L, NULL, 0, 0);
  g->allocf = f;
  g->allocd = ud;
  G2MP(g)->L = NULL;
  G2MP(g)->records = (uint8_t)probe.records;
}

#else
#define ljmi_trace_probe(L) UNUSED(L)
#endif

/* The trace whose machine code returns to `ra`, or NULL. */
static GCtrace *ljmi_trace_of(jit_State *J, uintptr_t ra)
{
  const MCode *mc = J->mcarea;
  TraceNo t;
  while (mc && ra - (uintptr_t)mc >= ((const MCLink *)mc)->size)
    mc = ((const MCLink *)mc)->next;
  if (!mc) return NULL;
  for (t = 1; t < J->sizetrace; t++) {
    GCtrace *T = traceref(J, t);
    if (T && ljmi_trace_holds(T, ra)) return T;
  }
  return NULL;
}

/* Where machine code goes on after the call underway, or 0: the first return
** address within the JIT's memory. Not known without frame records. */
static uintptr_t ljmi_trace_find(global_State *g, GCtrace **res)
{
#if LJ_TARGET_ARM64 && defined(__GNUC__)
  jit_State *J = G2J(g);
  lua_State *L = gco2th(gcref(g->cur_L));
  const uintptr_t *fp = (const uintptr_t *)__builtin_frame_address(0);
  const uintptr_t *top = (const uintptr_t *)cframe_raw(L->cframe);
  int n = G2MP(g)->records ? 0 : LJMI_RECORDS;
  for (; n < LJMI_RECORDS && fp && fp < top; n++) {
    const uintptr_t *up = (const uintptr_t *)fp[0];
    uintptr_t ra = fp[1];
    *res = ljmi_trace_of(J, ra);
    if (*res) return ra;
    if (up <= fp) break;
    fp = up;
  }
#else
  UNUSED(g);
#endif
  *res = NULL;
  return 0;
}

static GCtrace *ljmi_trace_now(global_State *g)
{
  GCtrace *T;
  if (g->vmstate != 0 || !tvref(g->jit_base) || !gcref(g->cur_L)) return NULL;
  (void)ljmi_trace_find(g, &T);
  return T;
}

static uintptr_t ljmi_trace_ra(const GCtrace *T, lua_State *L)
{
  GCtrace *found;
  uintptr_t ra = ljmi_trace_find(G(L), &found);
  return found == T ? ra : 0;
}

#endif
#endif

/* Set of 64 bit keys, neither 0 nor the highest. Open addressing, at most
** three quarters full. */
typedef struct ljmi_set {
  uint64_t *key;
  size_t size;  /* Power of two, or 0. */
  size_t used;  /* Removed ones included. */
} ljmi_set;

#define LJMI_SET_GONE UINT64_MAX

static size_t ljmi_set_slot(const ljmi_set *s, uint64_t key)
{
  uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
  size_t i = (size_t)(h >> 32) & (s->size - 1);
  while (s->key[i] && s->key[i] != key) i = (i + 1) & (s->size - 1);
  return i;
}

static int ljmi_set_has(const ljmi_set *s, uint64_t key)
{
  return s->size && s->key[ljmi_set_slot(s, key)] == key;
}

static void ljmi_set_remove(ljmi_set *s, uint64_t key)
{
  size_t i;
  if (!s->size) return;
  i = ljmi_set_slot(s, key);
  if (s->key[i] == key) s->key[i] = LJMI_SET_GONE;
}

static void ljmi_set_free(ljmi_set *s, ljm_memory *m)
{
  ljmi_free_array(m, s->key, s->size, sizeof(uint64_t));
  memset(s, 0, sizeof(*s));
}

static int ljmi_set_grow(ljmi_set *s, ljm_memory *m)
{
  ljmi_set t;
  size_t i, live = 0;
  for (i = 0; i < s->size; i++)
    live += s->key[i] && s->key[i] != LJMI_SET_GONE;
  t.size = s->size ? s->size : 64;
  if (live * 2 > t.size) t.size *= 2;
  t.used = live;
  t.key = (uint64_t *)ljmi_alloc_array(m, t.size, sizeof(uint64_t));
  if (!t.key) return 0;
  memset(t.key, 0, t.size * sizeof(uint64_t));
  for (i = 0; i < s->size; i++)
    if (s->key[i] && s->key[i] != LJMI_SET_GONE)
      t.key[ljmi_set_slot(&t, s->key[i])] = s->key[i];
  ljmi_set_free(s, m);
  *s = t;
  return 1;
}

/* Adds a key that is not there. 0: no memory. */
static int ljmi_set_add(ljmi_set *s, ljm_memory *m, uint64_t key)
{
  if (s->used >= s->size - s->size / 4 && !ljmi_set_grow(s, m)) return 0;
  s->key[ljmi_set_slot(s, key)] = key;
  s->used++;
  return 1;
}

/* Recorder of a VM. */

#define LJMI_CACHE 512 /* Entries of each cache, a power of two. */
/* Frames are dearer to look up, and a program has more of them. */
#define LJMI_FRAMES (LJMI_CACHE * 4)
#define LJMI_NAMES 64

/* Format 3: a bytecode's place. */
typedef struct ljmi_pcslot {
  const BCIns *pc;
  GCproto *pt;
  ljmi_place place;
} ljmi_pcslot;

/* Format 3: place of a C function or a trace. */
typedef struct ljmi_keyslot {
  uintptr_t key;
  ljmi_place place;
} ljmi_keyslot;

/* Format 4: the frame of a bytecode (pt set) or C function. */
typedef struct ljmi_frameslot {
  uintptr_t key;
  GCproto *pt;
  uint32_t frame;
} ljmi_frameslot;

/* Which string of the VM it is. The collector frees strings before the
** prototypes that name them, so that another may have the address by then. */
typedef struct ljmi_which {
  const GCstr *at;
  StrID sid;
} ljmi_which;

/* Format 4: a chunk's name as a string of the stream. */
typedef struct ljmi_nameslot {
  ljmi_which name;
  uint32_t id;
} ljmi_nameslot;

/* Format 4: the site of a bytecode, a C function, or a return address of JIT
** code, called from a stack. */
typedef struct ljmi_siteslot {
  uint64_t key;      /* Its address and state; 0: none. */
  const void *owner; /* GCproto, one byte into a GCtrace, or NULL: C code. */
  uint32_t stack;
  uint32_t site;
} ljmi_siteslot;

/* A frame of the last stack walked, below the function that allocated. */
typedef struct ljmi_level {
  lua_State *L;
  cTValue *f;
  uintptr_t key;    /* PC, or the address of a C function, or one of
                    ** LJMI_KEY_*, or 0: nothing to tell. */
  GCfunc *fn;       /* Only while the walk goes on. */
  cTValue *from;    /* The frame above. */
  cTValue *from2;   /* Its second one (vararg functions), or else itself. */
  uint32_t kind;    /* How to tell that it is the same: LJMI_LEVEL_*. */
  /* From the bottom up to here: */
  uint32_t stack;
  uint32_t depth;   /* Frames with a key. */
  uint32_t links;   /* Links of the frames. */
  uint32_t others;  /* Levels of that kind. */
  uint32_t look;    /* Highest level, from 1 on, not of Lua's kind, or 0. */
} ljmi_level;

enum {
  LJMI_LEVEL_LUA,   /* The link is the PC. */
  LJMI_LEVEL_CONT,  /* The PC is with a continuation. */
  LJMI_LEVEL_C,     /* C or fast function, called back from. */
  LJMI_LEVEL_OTHER  /* Needs a walk. */
};

enum {
  LJMI_KEY_RESUMED = 1,  /* Here a coroutine was resumed. */
  LJMI_KEY_HOST,         /* Here C code ran one: what is below is not known. */
  LJMI_KEY_FAST          /* Fast function 0, and so on. */
};

/* A frame and its link to the one below. As long as all are as they were, the
** one below each is where it was. */
typedef struct ljmi_link {
  cTValue *f;
  ptrdiff_t link;
} ljmi_link;

/* For so many levels: up to two each, and the lowest frame's. */
#define LJMI_LINKS(levels) ((size_t)(levels) * 2 + 1)

#define LJMI_DEPTH 64
#define LJMI_DEPTH_MAX 4096
#define LJMI_FILTER 4096
/* Stack nodes kept for what is told without its callers. */
#define LJMI_STACKS_SPARE 65536

struct ljmi_slot;
struct ljmi_self;

#if !defined(LJM_NO_SELFSTART) && defined(__GNUC__)
#define LJMI_SELF 1
#else
#define LJMI_SELF 0
#endif

/* Lives from the first start until the VM is closed: C modules may keep the
** allocator they were given. */
typedef struct ljm_vm {
  MemprofState *mp;
  global_State *g;
  lua_Alloc allocf;  /* The host's own allocator. */
  void *allocd;
  lua_Alloc hook;    /* What stands in its place. */
  void *(*foreign)(struct ljm_vm *vm, lua_Alloc f, void *ud, void *p,
                   size_t osz, size_t nsz);
  uint32_t format;
  int running;
  int replaced;      /* The host has set another allocator. */
  int written;       /* Bytes went to the sink: time for a mark. */
  long pid;
  pthread_t thread;  /* That started it or was the last to write. */
  ljm_memory mem;
  ljm_sink sink;     /* The user's. */
  ljm_file file;
  ljm_buffer *b;     /* Of the encoder in use. */
  ljm_encoder enc;
  ljm_encoder4 enc4;
  ljm_resolver res;
  uint32_t *modules; /* Ids in the stream by the resolver's. */
  size_t module_cap;
  ljm_result result;
  struct ljmi_slot *slot;
  struct ljmi_self *self;  /* Started by the environment. */
  struct ljm_vm *next, *prev;  /* Running recorders. */
  /* Format 3. */
  ljmi_set protos, cfuncs, traces;
  ljmi_set ahead;    /* Modules whose names are in the stream, by id. */
  int eager;
  ljmi_pcslot pcs[LJMI_CACHE];
  ljmi_keyslot keys[LJMI_CACHE];
  char *chunk;             /* The name last cut, */
  size_t chunk_size;
  ljmi_which chunk_of;     /* and whose it is. */
  /* Format 4. */
  uint32_t depth;
  size_t max_stacks;
  uint32_t vm_site[16];    /* Of the VM itself, by state. */
  uint32_t cut, limited;   /* Stacks of one frame: what is missing. */
  ljmi_frameslot frames[LJMI_FRAMES];
  ljmi_nameslot names[LJMI_NAMES];
  ljmi_siteslot sites[LJMI_CACHE * 2];
  uintptr_t trace_low;     /* No key of a trace among them is below. */
  ljmi_level *levels;      /* Bottom first. */
  ljmi_level *fresh;       /* Top first, of the walk underway. */
  ljmi_link *links;        /* Of the levels, bottom first. */
  uint32_t level_count, level_cap;
  uint32_t level_root;     /* Stack that the lowest level stands on. */
  const TValue *level_base;  /* Where the main thread's stack was then. */
  lua_State *leaf_L;       /* What the highest level is below; leaf_f NULL: */
  cTValue *leaf_f;         /* not known. */
  int leaf_linked;         /* All can be told from the frames' links. */
  int no_live;
  /* Samples. */
  double mean;             /* Bytes. */
  uint64_t until;          /* Whole bytes that can go before the next one. */
  uint64_t random;
  ljmi_set sampled;        /* Blocks. */
  uint8_t filter[LJMI_FILTER];  /* How many of them there are by hash. */
} ljm_vm;

/* Where an allocation comes from. */

/* The thread that runs: the one noted or the current one. Its C frame is the
** inner one of the two. NULL: no Lua code runs at all. */
static inline lua_State *ljmi_vm_thread(const ljm_vm *vm, lua_State *L)
{
  GCobj *o = gcref(vm->g->cur_L);
  lua_State *cur = o ? gco2th(o) : NULL;
  if (L && !L->cframe) L = NULL;
  if (cur && !cur->cframe) cur = NULL;
  if (!L || !cur) return L ? L : cur;
  return (uintptr_t)L->cframe <= (uintptr_t)cur->cframe ? L : cur;
}

/* Goes down to a function that is no fast function. NULL: none. */
static inline GCfunc *ljmi_vm_leaf(ljmi_frames *it)
{
  for (; it->f > it->bot; ljmi_frames_next(it)) {
    GCfunc *fn = ljmi_frames_func(it);
    if (fn && !isffunc(fn)) return fn;
  }
  return NULL;
}

/* Is it the VM itself that allocates, rather than the program? */
static inline int ljmi_vm_internal(const ljm_vm *vm)
{
  switch (~vm->g->vmstate) {
  case LJ_VMST_INTERP: case LJ_VMST_C: case LJ_VMST_RECORD:
#if LJ_HASJIT
    /* The trace recorder, but not what it calls handlers for. */
    return vm->mp->own && !(vm->g->hookmask & HOOK_VMEVENT);
#else
    return 0;
#endif
  default:
    return 1;
  }
}

/* May the program itself run, rather than the VM or JIT code? */
static inline int ljmi_vm_program(const ljm_vm *vm)
{
  uint32_t st = ~(uint32_t)vm->g->vmstate;
  return (st == LJ_VMST_INTERP || st == LJ_VMST_C) &&
#if LJ_HASJIT
         !vm->mp->own &&
#endif
         !(vm->g->hookmask & HOOK_GC);
}

/* Is the thread noted the current one? */
static inline int ljmi_vm_current(const ljm_vm *vm, const lua_State *L)
{
  return L && gcref(vm->g->cur_L) == obj2gco(L);
}

/* Where the program is, quickly, for what most events are: Lua code, or a
** fast function called from Lua code, of the current thread. 0: another
** case. */
static inline int ljmi_vm_quick(const ljm_vm *vm, lua_State *L,
                                ljmi_frames *it, GCproto **pt)
{
  GCfunc *fn;
  if (!ljmi_vm_program(vm) || !ljmi_vm_current(vm, L)) return 0;
  it->L = L;
  it->f = L->base - 1;
  it->cf = cframe_raw(L->cframe);
  it->left = NULL;
  fn = frame_func(it->f);
  if (!it->cf || cframe_nres(it->cf) < 0) return 0;
  if (LJMI_LIKELY(isluafunc(fn))) {  /* A thread says that it is none. */
    it->pc = cframe_pc(it->cf);
  } else {
    if (fn->c.gct != ~LJ_TFUNC || !isffunc(fn) || !frame_islua(it->f))
      return 0;
    it->pc = frame_pc(it->f);
    it->f = frame_prevl(it->f);
    fn = frame_func(it->f);
  }
  *pt = funcproto(fn);
  return 1;
}

#if LJ_HASJIT
static GCproto *ljmi_trace_start(const GCtrace *T, BCLine *line)
{
  GCproto *pt = &gcref(T->startpt)->pt;
  *line = lj_debug_line(pt, proto_bcpos(pt, mref(T->startpc, const BCIns)));
  return pt;
}
#endif

/* C functions. */

/* Nothing known of the last call stack holds. */
static void ljmi_vm4_forget(ljm_vm *vm)
{
  vm->level_count = 0;
  vm->leaf_f = NULL;
}

/* Libraries came or went: nothing known of C functions holds. */
static void ljmi_vm_forget(ljm_vm *vm)
{
  ljmi_set_free(&vm->cfuncs, &vm->mem);
  memset(vm->keys, 0, sizeof(vm->keys));
  memset(vm->frames, 0, sizeof(vm->frames));
  memset(vm->sites, 0, sizeof(vm->sites));
  vm->trace_low = UINTPTR_MAX;
  ljmi_vm4_forget(vm);
}

/* Writes the names of a module's functions, the preferred one of each address.
** 0: it has none, or is gone again. */
static int ljmi_vm3_names(ljm_vm *vm, const ljm_loaded_module *m)
{
  const ljm_image *img = ljm_resolver_symbols(&vm->res, m);
  ljm_symbol sym;
  uint64_t last = UINT64_MAX;
  size_t i;
  for (i = 0; img && ljm_image_symbol(img, i, &sym) == LJM_OK; i++) {
    if (sym.vaddr == last) continue;
    last = sym.vaddr;
    if (ljm_encoder_csym(&vm->enc, (uintptr_t)(last + m->bias), sym.name,
                         sym.name_size) != LJM_OK)
      break;
  }
  return img != NULL;
}

/* Eager: the names of modules that came. Those that it takes the place of must
** be written again if they come back. */
static void ljmi_vm3_ahead(ljm_vm *vm)
{
  const ljm_loaded_module *m, *old;
  size_t i, j;
  for (i = 0; (m = ljm_resolver_module(&vm->res, i)) != NULL; i++) {
    if (!m->loaded || ljmi_set_has(&vm->ahead, m->id)) continue;
    for (j = 0; (old = ljm_resolver_module(&vm->res, j)) != NULL; j++) {
      if (old->base - m->base < m->size || m->base - old->base < old->size)
        ljmi_set_remove(&vm->ahead, old->id);
    }
    if (ljmi_vm3_names(vm, m)) (void)ljmi_set_add(&vm->ahead, &vm->mem, m->id);
  }
}

/* Look at the loader's list if it has changed. */
static inline void ljmi_vm_fresh(ljm_vm *vm)
{
  if (LJMI_UNLIKELY(ljm_resolver_check(&vm->res))) {
    (void)ljm_resolver_refresh(&vm->res);
    ljmi_vm_forget(vm);
    if (vm->eager) ljmi_vm3_ahead(vm);
  }
}

/* Id in the stream of one of the resolver's modules. */
static uint32_t ljmi_vm_module(ljm_vm *vm, const ljm_loaded_module *m)
{
  ljm_module def;
  while (m->id >= vm->module_cap) {
    size_t cap = vm->module_cap ? vm->module_cap * 2 : 64;
    uint32_t *p = (uint32_t *)ljmi_grow_array(&vm->mem, vm->modules,
                                              vm->module_cap, cap,
                                              sizeof(uint32_t));
    if (!p) return 0;
    memset(p + vm->module_cap, 0, (cap - vm->module_cap) * sizeof(uint32_t));
    vm->modules = p;
    vm->module_cap = cap;
  }
  if (vm->modules[m->id]) return vm->modules[m->id];
  def.path = ljm_encoder4_string(&vm->enc4, m->path, strlen(m->path));
  def.build_id = m->build_id.data;
  def.build_id_size = m->build_id.size;
  def.base = m->base;
  def.size = m->size;
  def.bias = m->bias;
  return vm->modules[m->id] = ljm_encoder4_module(&vm->enc4, &def);
}

/* The resolver tells of a module that came or went. */
static void ljmi_vm_onmodule(void *user, const ljm_loaded_module *m)
{
  ljm_vm *vm = (ljm_vm *)user;
  uint32_t id;
  if (vm->format != 4) return;
  id = ljmi_vm_module(vm, m);
  if (!id || !vm->running) return;
  if (m->loaded)
    (void)ljm_encoder4_loaded(&vm->enc4, id);
  else
    (void)ljm_encoder4_unloaded(&vm->enc4, id);
}

/* Format 3. */

/* The place of the VM itself. */
static const ljmi_place ljmi_place_vm = {{LJM_SOURCE_INTERNAL << 2}, 1};

static int ljmi_is_which(const ljmi_which *w, const GCstr *s)
{
  return w->at == s && w->sid == s->sid;
}

static void ljmi_set_which(ljmi_which *w, const GCstr *s)
{
  w->at = s;
  w->sid = s->sid;
}

/* A chunk's name, cut already if it has to be: it may be all of a source text,
** all of which is read to cut it, and each of its functions asks. */
static const char *ljmi_vm3_chunk(ljm_vm *vm, const GCstr *name, size_t *size)
{
  size_t limit = vm->enc.name_limit;
  *size = name->len;
  if (*size <= limit) return strdata(name);
  if (!vm->chunk) vm->chunk = (char *)ljmi_alloc_array(&vm->mem, limit, 1);
  if (!vm->chunk) return strdata(name);
  if (!ljmi_is_which(&vm->chunk_of, name))
    ljmi_cut_name(vm->chunk, strdata(name), *size, limit, &vm->chunk_size);
  ljmi_set_which(&vm->chunk_of, name);
  *size = vm->chunk_size;
  return vm->chunk;
}

static void ljmi_vm3_proto(ljm_vm *vm, GCproto *pt)
{
  uint64_t key = (uint64_t)(uintptr_t)pt;
  const char *chunk;
  size_t size;
  if (ljmi_set_has(&vm->protos, key)) return;
  chunk = ljmi_vm3_chunk(vm, proto_chunkname(pt), &size);
  if (ljm_encoder_proto(&vm->enc, key, chunk, size,
                        (uint64_t)(int64_t)pt->firstline) == LJM_OK)
    (void)ljmi_set_add(&vm->protos, &vm->mem, key);
}

static LJMI_NOINLINE const ljmi_place *ljmi_vm3_lua(ljm_vm *vm,
                                                    ljmi_pcslot *c,
                                                    const ljmi_frames *it,
                                                    GCproto *pt)
{
  ljm_where w;
  BCPos pos;
  if (!ljmi_frames_pos(it, pt, &pos)) return &ljmi_place_vm;
  ljmi_vm3_proto(vm, pt);
  w.source = LJM_SOURCE_LUA;
  w.address = (uint64_t)(uintptr_t)pt;
  w.line = (uint64_t)lj_debug_line(pt, pos);
  ljmi_place_set(&c->place, &w);
  c->pc = it->pc;
  c->pt = ljmi_pc_lasts(it->pc, pt) ? pt : NULL;
  return &c->place;
}

static const ljmi_place *ljmi_vm3_key(ljmi_keyslot *c, ljm_source source,
                                      uintptr_t key)
{
  ljm_where w;
  w.source = source;
  w.address = key;
  w.line = 0;
  ljmi_place_set(&c->place, &w);
  c->key = key;
  return &c->place;
}

/* Writes the function's name, or else its module's and an offset. */
static void ljmi_vm3_cname(ljm_vm *vm, uintptr_t addr)
{
  char name[256];
  ljm_location at;
  const char *base;
  int n; /* 219 at most. */
  if (ljm_resolver_lookup(&vm->res, addr, &at) != LJM_OK || !at.module) return;
  if (at.symbol.name && at.symbol_addr == addr) {
    if (ljmi_set_has(&vm->ahead, at.module->id)) return;
    (void)ljm_encoder_csym(&vm->enc, addr, at.symbol.name,
                           at.symbol.name_size);
    return;
  }
  base = at.symbol.name ? at.symbol.name : strrchr(at.module->path, '/');
  base = !base ? at.module->path : *base == '/' ? base + 1 : base;
  n = snprintf(name, sizeof(name), "%.200s+0x%llx", base,
               (unsigned long long)at.offset);
  (void)ljm_encoder_csym(&vm->enc, addr, name, (size_t)n);
}

static LJMI_NOINLINE const ljmi_place *ljmi_vm3_cfunc(ljm_vm *vm,
                                                      ljmi_keyslot *c,
                                                      uintptr_t addr)
{
  if (!ljmi_set_has(&vm->cfuncs, addr)) {
    ljmi_vm3_cname(vm, addr);
    (void)ljmi_set_add(&vm->cfuncs, &vm->mem, addr);
  }
  return ljmi_vm3_key(c, LJM_SOURCE_C, addr);
}

static const ljmi_place *ljmi_vm3_walk(ljm_vm *vm, lua_State *L)
{
  ljmi_frames it;
  GCfunc *fn;
  L = ljmi_vm_thread(vm, L);
  if (!L) return &ljmi_place_vm;
  ljmi_frames_first(&it, L);
  fn = ljmi_vm_leaf(&it);
  if (!fn) return &ljmi_place_vm;
  if (isluafunc(fn)) {
    GCproto *pt = funcproto(fn);
    ljmi_pcslot *c = &vm->pcs[((uintptr_t)it.pc >> 2) % LJMI_CACHE];
    if (LJMI_LIKELY(c->pc == it.pc && c->pt == pt)) return &c->place;
    return ljmi_vm3_lua(vm, c, &it, pt);
  } else {
    uintptr_t key = (uintptr_t)fn->c.f;
    ljmi_keyslot *c = &vm->keys[(key >> 4) % LJMI_CACHE];
    ljmi_vm_fresh(vm);
    if (LJMI_LIKELY(c->key == key)) return &c->place;
    return ljmi_vm3_cfunc(vm, c, key);
  }
}

#if LJ_HASJIT
static LJMI_NOINLINE const ljmi_place *ljmi_vm3_trace(ljm_vm *vm,
                                                      ljmi_keyslot *c,
                                                      GCtrace *T)
{
  if (!ljmi_set_has(&vm->traces, T->traceno)) {
    BCLine line;
    GCproto *pt = ljmi_trace_start(T, &line);
    ljmi_vm3_proto(vm, pt);
    if (ljm_encoder_trace(&vm->enc, T->traceno, (uint64_t)(uintptr_t)pt,
                          (uint64_t)line) == LJM_OK)
      (void)ljmi_set_add(&vm->traces, &vm->mem, T->traceno);
  }
  return ljmi_vm3_key(c, LJM_SOURCE_TRACE, T->traceno);
}
#endif

/* The location of an event, defined in the stream if it is new. */
static LJMI_NOINLINE const ljmi_place *ljmi_vm3_place(ljm_vm *vm, lua_State *L)
{
#if LJ_HASJIT
  GCtrace *T = ljmi_trace_now(vm->g);
  if (T) {
    ljmi_keyslot *c = &vm->keys[T->traceno % LJMI_CACHE];
    if (LJMI_LIKELY(c->key == T->traceno)) return &c->place;
    return ljmi_vm3_trace(vm, c, T);
  }
#endif
  if (ljmi_vm_internal(vm)) return &ljmi_place_vm;
  return ljmi_vm3_walk(vm, L);
}

/* The same with the common case at hand. */
static inline const ljmi_place *ljmi_vm3_quick(ljm_vm *vm, lua_State *L)
{
  ljmi_frames it;
  GCproto *pt;
  if (LJMI_LIKELY(ljmi_vm_quick(vm, L, &it, &pt))) {
    const ljmi_pcslot *c = &vm->pcs[((uintptr_t)it.pc >> 2) % LJMI_CACHE];
    if (LJMI_LIKELY(c->pc == it.pc && c->pt == pt)) return &c->place;
  }
  return ljmi_vm3_place(vm, L);
}

static inline void ljmi_vm3_event(ljm_vm *vm, const ljmi_place *w, void *p,
                                  size_t osz, void *q, size_t nsz)
{
  uint64_t old = (uint64_t)(uintptr_t)p, addr = (uint64_t)(uintptr_t)q;
  if (nsz == 0) {
    if (p) (void)ljmi_encoder_event(&vm->enc, w, LJM_FMT_FREE, old, osz);
  } else if (!p) {
    (void)ljmi_encoder_event(&vm->enc, w, LJM_FMT_ALLOC, addr, nsz);
  } else {
    (void)ljmi_encoder_moved(&vm->enc, w, old, osz, addr, nsz);
  }
}

/* The thread noted for this call, and this one alone. */
static inline lua_State *ljmi_vm_noted(ljm_vm *vm)
{
  lua_State *L = vm->mp->L;
  vm->mp->L = NULL;
  return L;
}

/* Is it the GC that frees? Most frees are. */
static inline int ljmi_vm_isgcfree(const ljm_vm *vm, const void *p)
{
  return vm->g->vmstate == ~LJ_VMST_GC && p;
}

static LJMI_NOINLINE void *ljmi_vm3_gcfreeany(ljm_vm *vm, void *p, size_t osz)
{
  (void)ljmi_encoder_event_any(&vm->enc, &ljmi_place_vm, LJM_FMT_FREE,
                               (uint64_t)(uintptr_t)p, osz);
  return vm->allocf(vm->allocd, p, osz, 0);
}

static LJMI_NOINLINE void *ljmi_vm3_gcfree(void *ud, void *p, size_t osz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  (void)ljmi_vm_noted(vm);
  if (!ljmi_encoder_near(&vm->enc, &ljmi_place_vm, LJM_FMT_FREE,
                          (uint64_t)(uintptr_t)p, osz))
    return ljmi_vm3_gcfreeany(vm, p, osz);
  return vm->allocf(vm->allocd, p, osz, 0);
}

static LJMI_NOINLINE void *ljmi_vm3_allocany(ljm_vm *vm, const ljmi_place *w,
                                             void *q, size_t size)
{
  (void)ljmi_encoder_event_any(&vm->enc, w, LJM_FMT_ALLOC,
                               (uint64_t)(uintptr_t)q, size);
  return q;
}

static LJMI_NOINLINE void *ljmi_vm3_alloc(void *ud, void *p, size_t osz,
                                          size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  lua_State *L = ljmi_vm_noted(vm);
  void *q = vm->allocf(vm->allocd, p, osz, nsz);
  const ljmi_place *w = ljmi_vm3_quick(vm, L);
  if (!ljmi_encoder_near(&vm->enc, w, LJM_FMT_ALLOC, (uint64_t)(uintptr_t)q,
                          nsz))
    return ljmi_vm3_allocany(vm, w, q, nsz);
  return q;
}

static LJMI_NOINLINE void *ljmi_vm3_call(void *ud, void *p, size_t osz,
                                         size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  const ljmi_place *w = ljmi_vm3_place(vm, ljmi_vm_noted(vm));
  void *q = vm->allocf(vm->allocd, p, osz, nsz);
  ljmi_vm3_event(vm, w, p, osz, q, nsz);
  return q;
}

/* Stands in the place of the host's allocator. */
static void *ljmi_vm3_hook(void *ud, void *p, size_t osz, size_t nsz)
{
  if (nsz == 0) {
    if (ljmi_vm_isgcfree((ljm_vm *)ud, p)) return ljmi_vm3_gcfree(ud, p, osz);
  } else if (!p) {
    return ljmi_vm3_alloc(ud, p, osz, nsz);
  }
  return ljmi_vm3_call(ud, p, osz, nsz);
}

/* The same for callers outside of the VM. */
static void *ljmi_vm3_foreign(ljm_vm *vm, lua_Alloc f, void *ud, void *p,
                              size_t osz, size_t nsz)
{
  const ljmi_place *w = ljmi_vm3_place(vm, NULL);
  void *q = f(ud, p, osz, nsz);
  ljmi_vm3_event(vm, w, p, osz, q, nsz);
  return q;
}

/* Format 4: frames. */

static ljmi_frameslot *ljmi_vm4_slot(ljm_vm *vm, uintptr_t key)
{
  return &vm->frames[(key >> 2 ^ key >> 13) % LJMI_FRAMES];
}

/* The string of a chunk's name, which may be all of a source text: read once,
** not for each line. */
static uint32_t ljmi_vm4_chunk(ljm_vm *vm, const GCstr *name)
{
  ljmi_nameslot *c = &vm->names[name->sid % LJMI_NAMES];
  if (c->id && ljmi_is_which(&c->name, name)) return c->id;
  c->id = ljm_encoder4_string(&vm->enc4, strdata(name), name->len);
  ljmi_set_which(&c->name, name);
  return c->id;
}

static uint32_t ljmi_vm4_function(ljm_vm *vm, GCproto *pt)
{
  return ljm_encoder4_function(&vm->enc4,
                               ljmi_vm4_chunk(vm, proto_chunkname(pt)),
                               (uint64_t)(int64_t)pt->firstline,
                               (uint64_t)((int64_t)pt->firstline +
                                          (int64_t)pt->numline));
}

/* Frame of a bytecode. */
static uint32_t ljmi_vm4_line(ljm_vm *vm, GCproto *pt, BCPos pos)
{
  uintptr_t key = (uintptr_t)(proto_bc(pt) + pos + 1);
  ljmi_frameslot *c = ljmi_vm4_slot(vm, key);
  if (LJMI_LIKELY(c->key == key && c->pt == pt)) return c->frame;
  c->key = key;
  c->pt = pt;
  return c->frame = ljm_encoder4_frame_lua(&vm->enc4,
                                           ljmi_vm4_function(vm, pt),
                                           (uint64_t)lj_debug_line(pt, pos));
}

/* Frame of a bytecode by the PC after it. 0: the PC is stale. */
static uint32_t ljmi_vm4_pcframe(ljm_vm *vm, const ljmi_frames *it,
                                 GCproto *pt)
{
  uintptr_t key = (uintptr_t)it->pc;
  const ljmi_frameslot *c = ljmi_vm4_slot(vm, key);
  BCPos pos;
  if (LJMI_LIKELY(c->key == key && c->pt == pt)) return c->frame;
  return ljmi_frames_pos(it, pt, &pos) ? ljmi_vm4_line(vm, pt, pos) : 0;
}

static uint32_t ljmi_vm4_cframe(ljm_vm *vm, uintptr_t addr)
{
  ljmi_frameslot *c = ljmi_vm4_slot(vm, addr);
  ljm_location at;
  uint32_t module = 0, sym = 0;
  if (LJMI_LIKELY(c->key == addr && !c->pt)) return c->frame;
  if (ljm_resolver_lookup(&vm->res, addr, &at) == LJM_OK && at.module) {
    module = ljmi_vm_module(vm, at.module);
    if (at.symbol.name)
      sym = ljm_encoder4_csym(&vm->enc4, module, at.symbol_addr,
                              at.symbol.size,
                              ljm_encoder4_string(&vm->enc4, at.symbol.name,
                                                  at.symbol.name_size));
  }
  c->key = addr;
  c->pt = NULL;
  return c->frame = ljm_encoder4_frame_c(&vm->enc4, addr, sym, module);
}

static uint32_t ljmi_vm4_gap(ljm_vm *vm, ljm_gap gap)
{
  return ljm_encoder4_frame_gap(&vm->enc4, gap);
}

/* Name of a fast function. LuaJIT's list has string_format for string.format,
** and io_method_read. */
static const char *ljmi_fast_name(uint32_t ffid, char *buf, size_t size)
{
  static const char *const names[] = {
    "Lua", "C",
#undef FFDEF
#define FFDEF(name) #name,
#include "lj_ffdef.h"
#undef FFDEF
  };
  static const char *const libs[] = {
    "coroutine_", "math_", "bit_", "string_", "table_", "io_", "os_",
    "debug_", "jit_", "ffi_"
  };
  const char *name = names[ffid];
  size_t i, n;
  for (i = 0; i < sizeof(libs) / sizeof(*libs); i++) {
    n = strlen(libs[i]);
    if (strncmp(name, libs[i], n) != 0) continue;
    (void)snprintf(buf, size, "%.*s.%s", (int)n - 1, name, name + n);
    return buf;
  }
  return name;
}

static uint32_t ljmi_vm4_fast(ljm_vm *vm, uint32_t ffid)
{
  uintptr_t key = LJMI_KEY_FAST + (uintptr_t)ffid;
  ljmi_frameslot *c = ljmi_vm4_slot(vm, key);
  if (LJMI_UNLIKELY(c->key != key || c->pt)) {
    char buf[64];
    const char *name = ljmi_fast_name(ffid, buf, sizeof(buf));
    c->frame = ljm_encoder4_frame_fast(
      &vm->enc4, ljm_encoder4_string(&vm->enc4, name, strlen(name)));
    c->key = key;
    c->pt = NULL;
  }
  return c->frame;
}

static inline uint32_t ljmi_vm4_push(ljm_vm *vm, uint32_t stack,
                                     uint32_t frame)
{
  return frame ? ljmi_encoder4_stack(&vm->enc4, stack, frame) : stack;
}

/* Format 4: call stacks. A walk goes down from the top. Frames that are as
** in the last walk, from the bottom up, need no look-up. */

/* Whoever resumed the coroutine that the bottom was reached of goes on. */
static int ljmi_vm4_resumer(ljmi_frames *it)
{
#if LJ_TARGET_X86ORX64 || LJ_TARGET_ARM64
  const char *cf = (const char *)it->left;
  uintptr_t ra;
  lua_State *L;
  if (!cf || it->cf) return 0;
  memcpy(&ra, cf + CFRAME_SIZE - sizeof(ra), sizeof(ra));
  if (ra - (uintptr_t)lj_ff_coroutine_resume >=
      (uintptr_t)lj_ff_coroutine_yield - (uintptr_t)lj_ff_coroutine_resume)
    return 0;
  it->cf = (void *)(cf + CFRAME_SIZE);
  L = cframe_L(it->cf);
  it->L = L;
  it->f = L->base - 1;
  it->bot = tvref(L->stack) + LJ_FR2;
  it->pc = NULL;
  it->left = NULL;
  return 1;
#else
  UNUSED(it);
  return 0;
#endif
}

/* Where that is not to be found, C code runs the coroutine. 0: this was said,
** or it is the main thread. */
static int ljmi_vm4_hosted(ljmi_frames *it)
{
#if LJ_TARGET_X86ORX64 || LJ_TARGET_ARM64
  if (it->L == mainthread(G(it->L))) return 0;
  it->left = NULL;
  return 1;
#else
  UNUSED(it);
  return 0;
#endif
}

/* Key of a function that is not Lua code. */
static inline uintptr_t ljmi_vm4_ckey(const GCfunc *fn)
{
  return isffunc(fn) ? LJMI_KEY_FAST + (uintptr_t)fn->c.ffid
                     : (uintptr_t)fn->c.f;
}

/* The frame as a level, its stack not known yet. */
static inline void ljmi_vm4_level(ljmi_level *v, const ljmi_frames *it)
{
  GCfunc *fn = ljmi_frames_func(it);
  v->L = it->L;
  v->f = it->f;
  v->fn = fn;
  v->key = 0;
  if (fn) v->key = isluafunc(fn) ? (uintptr_t)it->pc : ljmi_vm4_ckey(fn);
}

/* Goes down from the bottom to whoever runs the coroutine. 0: nobody. */
static LJMI_NOINLINE int ljmi_vm4_leave(ljmi_frames *it, ljmi_level *v)
{
  if (ljmi_vm4_resumer(it))
    v->key = LJMI_KEY_RESUMED;
  else if (ljmi_vm4_hosted(it))
    v->key = LJMI_KEY_HOST;
  else
    return 0;
  v->L = it->L;
  v->f = it->f;
  v->fn = NULL;
  return 1;
}

/* Goes down by a frame, or to whoever runs the coroutine. 0: neither. */
static inline int ljmi_vm4_down(ljmi_frames *it, ljmi_level *v)
{
  cTValue *from = it->f;
  if (LJMI_UNLIKELY(from <= it->bot)) return 0;
  v->from = from;
  if (frame_isvarg(from)) from = frame_prevd(from);
  v->from2 = from;
  ljmi_frames_next(it);
  v->kind = LJMI_LEVEL_OTHER;
  if (it->f > it->bot) {
    ljmi_vm4_level(v, it);
    if (!v->fn)
      return 1;
    if (!isluafunc(v->fn))
      v->kind = LJMI_LEVEL_C;
    else if (frame_islua(from))
      v->kind = LJMI_LEVEL_LUA;
    else if (frame_iscont(from) && !frame_iscont_fficb(from))
      v->kind = LJMI_LEVEL_CONT;
    return 1;
  }
  return ljmi_vm4_leave(it, v);
}

/* The links to level v are as they were: do they lead to it? Where they are
** PCs, they do. */
static int ljmi_vm4_leads(const ljmi_level *v)
{
  GCfunc *fn;
  if (v->kind == LJMI_LEVEL_CONT)
    return (uintptr_t)frame_contpc(v->from2) == v->key;
  fn = frame_func(v->f);
  return fn->c.gct == ~LJ_TFUNC && !isluafunc(fn) &&
         ljmi_vm4_ckey(fn) == v->key;
}

static inline ptrdiff_t ljmi_link_differs(const ljmi_link *l)
{
  return frame_ftsz(l->f) ^ l->link;
}

/* Are the frames below that of level `n` (the one that allocated if there are
** just as many), of the main thread, as in the last walk? The highest ones
** change most. All addresses lie between the stack's base, which has not moved,
** and that frame. */
static int ljmi_vm4_linked(const ljm_vm *vm, uint32_t n)
{
  uint32_t i = n ? vm->levels[n - 1].links : vm->level_root == 0;
  const ljmi_link *l = vm->links + i;
  for (; i >= 4; i -= 4) {
    l -= 4;
    if (ljmi_link_differs(l + 3) | ljmi_link_differs(l + 2) |
        ljmi_link_differs(l + 1) | ljmi_link_differs(l))
      return 0;
  }
  while (i-- > 0)
    if (ljmi_link_differs(--l)) return 0;
  while (n > 0 && (n = vm->levels[n - 1].look) > 0)
    if (!ljmi_vm4_leads(&vm->levels[--n])) return 0;
  return 1;
}

/* Can all frames below that of level `n`, of this thread, be told so? */
static inline int ljmi_vm4_linkable(const ljm_vm *vm, const lua_State *L,
                                    uint32_t n)
{
  return L == mainthread(vm->g) && tvref(L->stack) == vm->level_base &&
         (n == 0 || vm->levels[n - 1].others == 0);
}

static inline int ljmi_vm4_samelevel(const ljmi_level *a, const ljmi_level *b)
{
  return a->f == b->f && a->key == b->key && a->L == b->L;
}

/* Goes down from a frame that C code called. 0: not to level v. */
static int ljmi_vm4_verifyc(ljmi_frames *it, const ljmi_level *v)
{
  ljmi_level now;
  if (frame_isc(it->f) && v->fn && frame_prevd(it->f) == v->f) {
    it->left = it->cf;
    it->cf = it->cf ? cframe_raw(cframe_prev(it->cf)) : NULL;
    it->f = v->f;
    ljmi_frames_cframe(it);
    ljmi_vm4_level(&now, it);
    return now.key == v->key;
  }
  return ljmi_vm4_down(it, &now) && ljmi_vm4_samelevel(v, &now);
}

/* `it` is at level n. Are all frames below as in the last walk, too? Where
** Lua code called Lua code, the frame's link is the caller's PC. */
static LJMI_NOINLINE int ljmi_vm4_follow(ljm_vm *vm, ljmi_frames *it,
                                         uint32_t n)
{
  ljmi_level now;
  while (n-- > 0) {
    const ljmi_level *v = &vm->levels[n];
    if (LJMI_LIKELY(frame_islua(it->f))) {
      if (v->key != (uintptr_t)frame_pc(it->f)) return 0;
      it->f = v->f;
    } else if (!ljmi_vm4_verifyc(it, v)) {
      return 0;
    }
  }
  return vm->level_root != 0 || !ljmi_vm4_down(it, &now);
}

static inline int ljmi_vm4_verify(ljm_vm *vm, const ljmi_frames *it,
                                  uint32_t n)
{
  ljmi_frames at;
  if (LJMI_LIKELY(ljmi_vm4_linkable(vm, it->L, n)))
    return ljmi_vm4_linked(vm, n);
  at = *it;
  return ljmi_vm4_follow(vm, &at, n);
}

/* The stack that ends with a level, on top of `stack`. */
static uint32_t ljmi_vm4_raise(ljm_vm *vm, const ljmi_level *v,
                               uint32_t stack)
{
  ljmi_frames it;
  if (v->key == 0) return stack;
  if (!v->fn)
    return ljmi_vm4_push(vm, stack,
                         ljmi_vm4_gap(vm, v->key == LJMI_KEY_HOST
                                            ? LJM_GAP_HOST
                                            : LJM_GAP_RESUMED));
  if (isffunc(v->fn))
    return ljmi_vm4_push(vm, stack, ljmi_vm4_fast(vm, v->fn->c.ffid));
  if (!isluafunc(v->fn)) {
    ljmi_vm_fresh(vm);
    return ljmi_vm4_push(vm, stack, ljmi_vm4_cframe(vm, v->key));
  }
  it.L = v->L;
  it.pc = (const BCIns *)v->key;
  return ljmi_vm4_push(vm, stack, ljmi_vm4_pcframe(vm, &it,
                                                   funcproto(v->fn)));
}

/* May the walk, `depth` frames with keys so far, go on with levels 0..i-1,
** within the depth or cut where it was before? */
static int ljmi_vm4_joins(const ljm_vm *vm, uint32_t depth, uint32_t i)
{
  depth += vm->levels[i - 1].depth;
  return vm->level_root ? depth == vm->depth : depth <= vm->depth;
}

static void ljmi_vm4_addlink(ljm_vm *vm, uint32_t i, cTValue *f)
{
  vm->links[i].f = f;
  vm->links[i].link = frame_ftsz(f);
}

/* Level i has been set: sums up what is known from the bottom up to it. */
static void ljmi_vm4_sum(ljm_vm *vm, uint32_t i)
{
  ljmi_level *v = &vm->levels[i];
  uint32_t n;
  if (i == 0) {
    n = vm->level_root == 0;
    if (n) ljmi_vm4_addlink(vm, 0, v->f);
    v->others = v->look = 0;
  } else {
    n = v[-1].links;
    v->others = v[-1].others;
    v->look = v[-1].look;
  }
  if (v->from2 != v->from) ljmi_vm4_addlink(vm, n++, v->from2);
  ljmi_vm4_addlink(vm, n++, v->from);
  v->links = n;
  v->others += v->kind == LJMI_LEVEL_OTHER;
  if (v->kind != LJMI_LEVEL_LUA) v->look = i + 1;
}

/* Level i is reached from another frame from now on. */
static void ljmi_vm4_relink(ljm_vm *vm, uint32_t i, const ljmi_level *now)
{
  ljmi_level *v = &vm->levels[i];
  v->kind = now->kind;
  v->from = now->from;
  v->from2 = now->from2;
  ljmi_vm4_sum(vm, i);
}

/* Collects the frames below `it` into vm->fresh, down to one that is as in the
** last walk with all below. *same gets how many these are; *root what the
** lowest frame stands on. */
static uint32_t ljmi_vm4_collect(ljm_vm *vm, ljmi_frames *it, uint32_t *same,
                                 uint32_t *root)
{
  uint32_t n = 0, depth = 1, i = vm->level_count;
  *root = *same = 0;
  while (n < vm->level_cap && depth < vm->depth) {
    ljmi_level *v = &vm->fresh[n];
    if (!ljmi_vm4_down(it, v)) return n;
    while (i > 0 && vm->levels[i - 1].f > v->f &&
           vm->levels[i - 1].L == v->L) i--;
    if (i > 0 && ljmi_vm4_samelevel(&vm->levels[i - 1], v) &&
        ljmi_vm4_joins(vm, depth, i) &&
        LJMI_LIKELY(ljmi_vm4_verify(vm, it, i - 1))) {
      ljmi_vm4_relink(vm, i - 1, v);
      *same = i;
      *root = vm->level_root;
      return n;
    }
    depth += v->key != 0;
    n++;
  }
  {
    ljmi_level none;
    if (ljmi_vm4_down(it, &none)) *root = vm->cut;
  }
  return n;
}

/* When they are not all as in the last walk. */
static LJMI_NOINLINE uint32_t ljmi_vm4_newbelow(ljm_vm *vm, ljmi_frames *it)
{
  uint32_t same, root, stack, depth, i, n;
  n = ljmi_vm4_collect(vm, it, &same, &root);
  vm->level_base = tvref(mainthread(vm->g)->stack);
  stack = same ? vm->levels[same - 1].stack : root;
  depth = same ? vm->levels[same - 1].depth : 0;
  /* Links of levels that stay, as do the levels without the new ones, hold. */
  vm->level_count = same;
  vm->level_root = root;
  if (n == 0) return stack;
  if (vm->enc4.stacks.count >= vm->max_stacks) return vm->limited;
  for (i = same; n-- > 0; i++) {
    ljmi_level *v = &vm->fresh[n];
    v->stack = stack = ljmi_vm4_raise(vm, v, stack);
    v->depth = depth += v->key != 0;
    if (i >= vm->level_cap) continue;
    vm->levels[i] = *v;
    ljmi_vm4_sum(vm, i);
  }
  if (i <= vm->level_cap) vm->level_count = i;
  return stack;
}

static LJMI_NOINLINE uint32_t ljmi_vm4_walkbelow(ljm_vm *vm, ljmi_frames *it)
{
  lua_State *L = it->L;
  cTValue *f = it->f;
  uint32_t stack;
  if (f == vm->leaf_f && L == vm->leaf_L && !vm->leaf_linked &&
      LJMI_LIKELY(ljmi_vm4_verify(vm, it, vm->level_count)))
    return vm->levels[vm->level_count - 1].stack;
  stack = ljmi_vm4_newbelow(vm, it);
  vm->leaf_L = L;
  vm->leaf_f = vm->level_count > 0 && stack != vm->limited ? f : NULL;
  vm->leaf_linked = ljmi_vm4_linkable(vm, L, vm->level_count);
  return stack;
}

/* Is the stack below the frame at `f` the last one, as its links tell? */
static inline int ljmi_vm4_same(const ljm_vm *vm, lua_State *L, cTValue *f)
{
  return f == vm->leaf_f && L == vm->leaf_L && vm->leaf_linked &&
         tvref(L->stack) == vm->level_base &&
         ljmi_vm4_linked(vm, vm->level_count);
}

/* The stack of the frames below `it`, which may move. */
static inline uint32_t ljmi_vm4_below(ljm_vm *vm, ljmi_frames *it)
{
  if (LJMI_LIKELY(ljmi_vm4_same(vm, it->L, it->f)))
    return vm->levels[vm->level_count - 1].stack;
  return ljmi_vm4_walkbelow(vm, it);
}

/* Format 4: sites. */

/* The usual state of what has such an owner costs nothing. */
static inline uint64_t ljmi_vm4_sitekey(uintptr_t at, uint32_t state)
{
  return (uint64_t)at ^ (uint64_t)(state ^ LJM_STATE_INTERP) << 56;
}

#if LJ_HASJIT
/* Is no prototype. */
static inline const void *ljmi_vm4_traceowner(const GCtrace *T)
{
  return (const char *)T + 1;
}
#endif

/* Slots are found by the address without its lowest two bits. */
static inline ljmi_siteslot *ljmi_vm4_siteslot(ljm_vm *vm, uintptr_t at,
                                               uint32_t stack)
{
  return &vm->sites[(at >> 2 ^ stack * 0x9e37u) % (LJMI_CACHE * 2)];
}

static uint32_t ljmi_vm4_setsite(ljm_vm *vm, ljmi_siteslot *c, uint64_t key,
                                 const void *owner, uint32_t stack,
                                 ljm_state state, uint32_t leaf)
{
  c->key = key;
  c->owner = owner;
  c->stack = stack;
  c->site = ljm_encoder4_site(&vm->enc4, leaf, state, LJM_OBJECT_UNKNOWN);
  return c->site;
}

static void ljmi_vm4_dropsite(ljmi_siteslot *c)
{
  c->key = 0;
  c->owner = NULL;
}

/* Where no callers are told, all have the same stack. */
static inline int ljmi_vm4_slotis1(const ljmi_siteslot *c, uint64_t key,
                                  const void *owner)
{
  return c->key == key && c->owner == owner;
}

static inline int ljmi_vm4_slotis(const ljmi_siteslot *c, uint64_t key,
                                 const void *owner, uint32_t stack)
{
  return ljmi_vm4_slotis1(c, key, owner) && c->stack == stack;
}

/* A site of the VM itself. */
static uint32_t ljmi_vm4_internal(ljm_vm *vm)
{
  ljm_state state;
  switch (~vm->g->vmstate) {
  case LJ_VMST_GC: state = LJM_STATE_GC; break;
  case LJ_VMST_EXIT: state = LJM_STATE_EXIT; break;
  case LJ_VMST_OPT: state = LJM_STATE_OPT; break;
  case LJ_VMST_ASM: state = LJM_STATE_ASM; break;
  case LJ_VMST_INTERP: case LJ_VMST_C: case LJ_VMST_RECORD:
    state = LJM_STATE_RECORD; break;
  default:  /* On a trace that is not known, or before all. */
    state = tvref(vm->g->jit_base) ? LJM_STATE_JIT : LJM_STATE_START; break;
  }
  return vm->vm_site[state];
}

static LJMI_NOINLINE uint32_t ljmi_vm4_newsite(ljm_vm *vm, ljmi_siteslot *c,
                                               uintptr_t where, GCproto *pt,
                                               uint32_t below, uint32_t state,
                                               lua_State *L)
{
  ljmi_frames at;
  uint32_t frame, site;
  at.L = L;
  at.pc = (const BCIns *)where;
  frame = pt ? ljmi_vm4_pcframe(vm, &at, pt) : ljmi_vm4_cframe(vm, where);
  if (!frame) frame = ljmi_vm4_gap(vm, LJM_GAP_UNKNOWN);
  site = ljmi_vm4_setsite(vm, c, ljmi_vm4_sitekey(where, state), pt, below,
                          (ljm_state)state, ljmi_vm4_push(vm, below, frame));
  if (pt && !ljmi_pc_lasts(at.pc, pt)) ljmi_vm4_dropsite(c);
  return site;
}

/* The site of a function's frame, which is not a fast function's. */
static inline uint32_t ljmi_vm4_leafsite(ljm_vm *vm, ljmi_frames *it,
                                         GCfunc *fn, uint32_t state)
{
  ljmi_siteslot *c;
  uintptr_t where;
  GCproto *pt = NULL;
  uint32_t below = 0;
  lua_State *L = it->L;
  if (LJMI_LIKELY(isluafunc(fn))) {
    pt = funcproto(fn);
    where = (uintptr_t)it->pc;
  } else {
    where = (uintptr_t)fn->c.f;
    if (state == LJM_STATE_INTERP) state = LJM_STATE_C;
    ljmi_vm_fresh(vm);
  }
  if (vm->depth > 1) below = ljmi_vm4_below(vm, it);
  c = ljmi_vm4_siteslot(vm, where, below);
  if (LJMI_LIKELY(ljmi_vm4_slotis(c, ljmi_vm4_sitekey(where, state), pt,
                                  below)))
    return c->site;
  return ljmi_vm4_newsite(vm, c, where, pt, below, state, L);
}

static uint32_t ljmi_vm4_walk(ljm_vm *vm, lua_State *L)
{
  ljmi_frames it;
  GCfunc *fn = NULL;
  L = ljmi_vm_thread(vm, L);
  if (L) {
    ljmi_frames_first(&it, L);
    fn = ljmi_vm_leaf(&it);
  }
  if (!fn) return vm->vm_site[LJM_STATE_HOST];
  return ljmi_vm4_leafsite(vm, &it, fn,
                           vm->g->hookmask & HOOK_GC ? LJM_STATE_FINALIZER
                                                     : LJM_STATE_INTERP);
}

#if LJ_HASJIT

/* The frame where a trace started. */
static void ljmi_vm4_traceroot(ljmi_frames *it, lua_State *L, TValue *base)
{
  ljmi_frames_first(it, L);
  it->f = base - 1;
  ljmi_frames_cframe(it);
}

/* A trace allocates for a fast function that has taken the place of the one
** where the trace started: it was tail-called. The caller is the site. */
static uint32_t ljmi_vm4_tailcalled(ljm_vm *vm, ljmi_frames *it,
                                    uint32_t state)
{
  GCfunc *fn;
  ljmi_frames_next(it);
  fn = ljmi_vm_leaf(it);
  if (!fn) return vm->vm_site[LJM_STATE_HOST];
  return ljmi_vm4_leafsite(vm, it, fn, state);
}

/* The highest frames of a stack, `keep` of them at most, and a mark if there
** are more. */
static uint32_t ljmi_vm4_highest(ljm_vm *vm, uint32_t stack, uint32_t keep)
{
  const ljm_node *nodes = vm->enc4.stacks.nodes;
  uint32_t s = stack, n = 0;
  while (s && s != vm->cut && n < keep) {
    vm->fresh[n++].stack = nodes[s].frame;
    s = nodes[s].parent;
  }
  if (s == 0 || s == vm->cut) return stack;
  s = vm->cut;
  while (n-- > 0) s = ljmi_vm4_push(vm, s, vm->fresh[n].stack);
  return s;
}

/* The stack of a node and the calls it is in, on top of `stack`. */
static uint32_t ljmi_vm4_chain(ljm_vm *vm, const MemprofSites *s,
                               uint32_t node, uint32_t stack)
{
  uint32_t chain[256], n = 0;
  for (; node && n < 256 && n < vm->depth; node = s->node[node].up)
    chain[n++] = node;
  if (vm->depth > 1)
    stack = node ? vm->cut : ljmi_vm4_highest(vm, stack, vm->depth - n);
  while (n-- > 0) {
    const MemprofNode *nd = &s->node[chain[n]];
    stack = ljmi_vm4_push(vm, stack,
                          nd->pt ? ljmi_vm4_line(vm, nd->pt, nd->pos)
                                 : ljmi_vm4_fast(vm, nd->pos));
  }
  return stack;
}

static uint32_t ljmi_vm4_traceframe(ljm_vm *vm, const GCtrace *T)
{
  BCLine line;
  GCproto *pt = ljmi_trace_start(T, &line);
  uint32_t f = ljm_encoder4_frame_lua(&vm->enc4, ljmi_vm4_function(vm, pt),
                                      (uint64_t)line);
  return ljm_encoder4_frame_jit(&vm->enc4, T->traceno,
                                ljm_encoder4_trace(&vm->enc4, T->traceno, f));
}

static LJMI_NOINLINE uint32_t ljmi_vm4_newtracesite(ljm_vm *vm,
                                                    ljmi_siteslot *c,
                                                    uintptr_t ra,
                                                    uint32_t below,
                                                    lua_State *L, GCtrace *T)
{
  uint32_t node = ra == (uintptr_t)T ? 0 : ljmi_sites_node(T, ra), leaf;
  uintptr_t low = ra == (uintptr_t)T ? 0 : ra;
  if (node && !T->memprof->node[node].pt) {
    ljmi_frames root;
    ljmi_vm4_traceroot(&root, L, tvref(vm->g->jit_base));
    return ljmi_vm4_tailcalled(vm, &root, LJM_STATE_JIT);
  }
  if (node)
    leaf = ljmi_vm4_chain(vm, T->memprof, node, below);
  else
    leaf = ljmi_vm4_push(vm, below, ljmi_vm4_traceframe(vm, T));
  if (low < vm->trace_low) vm->trace_low = low;
  return ljmi_vm4_setsite(vm, c, ra, ljmi_vm4_traceowner(T), below,
                          LJM_STATE_JIT, leaf);
}

/* By the return address into the machine code. */
static inline uint32_t ljmi_vm4_trace(ljm_vm *vm, lua_State *L, GCtrace *T)
{
  ljmi_siteslot *c;
  uintptr_t ra;
  uint32_t below = 0;
  if (LJMI_UNLIKELY(!ljmi_vm_current(vm, L))) L = ljmi_vm_thread(vm, L);
  ra = ljmi_trace_ra(T, L);
  if (LJMI_UNLIKELY(!ra)) ra = (uintptr_t)T;
  if (vm->depth > 1) {
    TValue *base = tvref(vm->g->jit_base);
    if (LJMI_LIKELY(ljmi_vm4_same(vm, L, base - 1))) {
      below = vm->levels[vm->level_count - 1].stack;
    } else {
      ljmi_frames root;
      ljmi_vm4_traceroot(&root, L, base);
      below = ljmi_vm4_walkbelow(vm, &root);
    }
  }
  c = ljmi_vm4_siteslot(vm, ra, below);
  if (LJMI_LIKELY(ljmi_vm4_slotis(c, ra, ljmi_vm4_traceowner(T), below)))
    return c->site;
  return ljmi_vm4_newtracesite(vm, c, ra, below, L, T);
}

/* An object whose creation was put off until the trace was left. */
static uint32_t ljmi_vm4_exit(ljm_vm *vm)
{
  jit_State *J = G2J(vm->g);
  GCtrace *T = traceref(J, J->parent);
  ljmi_frames root;
  uint32_t below;
  ljmi_vm4_traceroot(&root, J->L, vm->mp->exitbase);
  if (!T->memprof->node[vm->mp->exitnode].pt)
    return ljmi_vm4_tailcalled(vm, &root, LJM_STATE_EXIT);
  below = vm->depth > 1 ? ljmi_vm4_below(vm, &root) : 0;
  return ljm_encoder4_site(&vm->enc4,
                           ljmi_vm4_chain(vm, T->memprof, vm->mp->exitnode,
                                          below),
                           LJM_STATE_EXIT, LJM_OBJECT_UNKNOWN);
}

#endif

/* The site of an event in any case. */
static LJMI_NOINLINE uint32_t ljmi_vm4_anysite(ljm_vm *vm, lua_State *L)
{
#if LJ_HASJIT
  GCtrace *T = ljmi_trace_now(vm->g);
  if (T) return ljmi_vm4_trace(vm, L, T);
  if (LJMI_UNLIKELY(vm->mp->exitnode != 0) &&
      vm->g->vmstate == ~LJ_VMST_EXIT)
    return ljmi_vm4_exit(vm);
#endif
  if (ljmi_vm_internal(vm)) return ljmi_vm4_internal(vm);
  return ljmi_vm4_walk(vm, L);
}

/* Sites that are known already, quickly. 0: another case. */

#if LJ_HASJIT && LJ_TARGET_X86ORX64

/* Does JIT code of the thread run? Then there is a current one. No slot has
** the word found for a return address, if it is none, and this owner. */
static inline int ljmi_vm4_quicktrace(const ljm_vm *vm, lua_State *L,
                                      const void **owner, uintptr_t *ra)
{
  const GCtrace *T = ljmi_trace_now(vm->g);
  if (!T || gcref(vm->g->cur_L) != obj2gco(L)) return 0;
  *owner = ljmi_vm4_traceowner(T);
  *ra = ljmi_trace_word(T, L);
  return 1;
}

#else
#define ljmi_vm4_quicktrace(vm, L, owner, ra) (*(owner) = NULL, *(ra) = 0, 0)
#endif

static inline int ljmi_vm4_knowntrace(ljm_vm *vm, lua_State *L,
                                      uint32_t *site)
{
  const ljmi_siteslot *c;
  const void *owner;
  uintptr_t ra;
  uint32_t below;
  if (!ljmi_vm4_quicktrace(vm, L, &owner, &ra) ||
      !ljmi_vm4_same(vm, L, tvref(vm->g->jit_base) - 1))
    return 0;
  below = vm->levels[vm->level_count - 1].stack;
  c = ljmi_vm4_siteslot(vm, ra, below);
  *site = c->site;
  return ljmi_vm4_slotis(c, ra, owner, below);
}

/* The same where no callers are told; of the program, too. */
static inline int ljmi_vm4_known1(ljm_vm *vm, lua_State *L, uint32_t *site)
{
  const ljmi_siteslot *c;
  const void *owner;
  ljmi_frames it;
  GCproto *pt;
  uintptr_t at;
  if (!ljmi_vm4_quicktrace(vm, L, &owner, &at)) {
    if (!ljmi_vm_quick(vm, L, &it, &pt)) return 0;
    owner = pt;
    at = (uintptr_t)it.pc;
  }
  c = ljmi_vm4_siteslot(vm, at, 0);
  *site = c->site;
  return ljmi_vm4_slotis1(c, at, owner);
}

/* The site of an event, defined in the stream if it is new. */
static inline uint32_t ljmi_vm4_site(ljm_vm *vm, lua_State *L)
{
  ljmi_frames it;
  GCproto *pt;
  uint32_t site;
  if (ljmi_vm_quick(vm, L, &it, &pt)) {
    ljmi_siteslot *c;
    uintptr_t pc = (uintptr_t)it.pc;
    uint32_t below;
    it.bot = tvref(L->stack) + LJ_FR2;
    below = ljmi_vm4_below(vm, &it);
    c = ljmi_vm4_siteslot(vm, pc, below);
    if (LJMI_LIKELY(ljmi_vm4_slotis(c, pc, pt, below))) return c->site;
    return ljmi_vm4_newsite(vm, c, pc, pt, below, LJM_STATE_INTERP, L);
  }
  if (ljmi_vm4_knowntrace(vm, L, &site)) return site;
  return ljmi_vm4_anysite(vm, L);
}

/* The same where no callers are told. */
static inline uint32_t ljmi_vm4_site1(ljm_vm *vm, lua_State *L)
{
  uint32_t site;
  if (LJMI_LIKELY(ljmi_vm4_known1(vm, L, &site))) return site;
  return ljmi_vm4_anysite(vm, L);
}

/* Format 4: events and marks. */

/* Resident memory of the process in bytes, or 0. Keeps errno. */
static uint64_t ljmi_rss(void)
{
  uint64_t pages = 0;
#if defined(__linux__)
  int keep = errno, fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128];
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
  if (n > 0) {
    const char *s;
    text[n] = 0;
    s = strchr(text, ' ');
    if (s) pages = strtoull(s, NULL, 10);
  }
  if (fd >= 0) (void)close(fd);
  errno = keep;
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
#else
  return pages;
#endif
}

static ljm_status ljmi_vm4_mark(ljm_vm *vm, ljm_mark_reason reason,
                                uint32_t label)
{
  ljm_mark mark;
  mark.reason = reason;
  mark.label = label;
  mark.gc_total = vm->g->gc.total;
  mark.gc_threshold = vm->g->gc.threshold;
  mark.rss = ljmi_rss();
  vm->written = 0;
  return ljm_encoder4_mark(&vm->enc4, &mark);
}

static LJMI_NOINLINE void ljmi_vm4_failed(ljm_vm *vm, uint32_t site, void *p,
                                          size_t osz, size_t nsz)
{
  if (p)
    (void)ljm_encoder4_realloc_failed(&vm->enc4, site, (uintptr_t)p, osz, nsz);
  else
    (void)ljm_encoder4_alloc_failed(&vm->enc4, site, nsz);
}

/* After an event: a mark if bytes went to the sink. */
static inline void ljmi_vm4_after(ljm_vm *vm)
{
  if (LJMI_UNLIKELY(vm->written))
    (void)ljmi_vm4_mark(vm, LJM_MARK_FLUSH, 0);
}

/* A free or, of a block moved, what became of it. */
static LJMI_NOINLINE void ljmi_vm4_other(ljm_vm *vm, uint32_t site, void *p,
                                         size_t osz, void *q, size_t nsz)
{
  uint64_t old = (uint64_t)(uintptr_t)p, addr = (uint64_t)(uintptr_t)q;
  if (nsz == 0) {
    if (p)
      (void)ljmi_encoder4_event(&vm->enc4, LJM_FMT_OP_FREE, site, old, osz);
  } else if (!q) {
    ljmi_vm4_failed(vm, site, p, osz, nsz);
  } else {
    (void)ljmi_encoder4_moved(&vm->enc4, site, old, osz, addr, nsz);
  }
  ljmi_vm4_after(vm);
}

static inline void ljmi_vm4_event(ljm_vm *vm, uint32_t site, void *p,
                                  size_t osz, void *q, size_t nsz)
{
  if (LJMI_LIKELY(!p && q)) {
    (void)ljmi_encoder4_event(&vm->enc4, LJM_FMT_OP_ALLOC, site,
                              (uint64_t)(uintptr_t)q, nsz);
    ljmi_vm4_after(vm);
  } else {
    ljmi_vm4_other(vm, site, p, osz, q, nsz);
  }
}

static LJMI_NOINLINE void *ljmi_vm4_gcfreeany(ljm_vm *vm, void *p, size_t osz)
{
  (void)ljmi_encoder4_event_any(&vm->enc4, LJM_FMT_OP_FREE,
                                vm->vm_site[LJM_STATE_GC],
                                (uint64_t)(uintptr_t)p, osz);
  ljmi_vm4_after(vm);
  return vm->allocf(vm->allocd, p, osz, 0);
}

/* An event for which there was room at hand needs no look at vm->written:
** whatever hands bytes to the sink leaves no room. */
static LJMI_NOINLINE void *ljmi_vm4_gcfree(void *ud, void *p, size_t osz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  (void)ljmi_vm_noted(vm);
  if (!ljmi_encoder4_near(&vm->enc4, LJM_FMT_OP_FREE,
                           vm->vm_site[LJM_STATE_GC], (uint64_t)(uintptr_t)p,
                           osz))
    return ljmi_vm4_gcfreeany(vm, p, osz);
  return vm->allocf(vm->allocd, p, osz, 0);
}

static LJMI_NOINLINE void *ljmi_vm4_allocany(ljm_vm *vm, uint32_t site,
                                             void *q, size_t size)
{
  if (q) {
    (void)ljmi_encoder4_event_any(&vm->enc4, LJM_FMT_OP_ALLOC, site,
                                  (uint64_t)(uintptr_t)q, size);
    ljmi_vm4_after(vm);
  } else {
    ljmi_vm4_failed(vm, site, NULL, 0, size);
  }
  return q;
}

static inline void *ljmi_vm4_allocated(ljm_vm *vm, uint32_t site, void *q,
                                       size_t size)
{
  if (!q || !ljmi_encoder4_near(&vm->enc4, LJM_FMT_OP_ALLOC, site,
                                 (uint64_t)(uintptr_t)q, size))
    return ljmi_vm4_allocany(vm, site, q, size);
  return q;
}

static LJMI_NOINLINE void *ljmi_vm4_allocnew(ljm_vm *vm, lua_State *L, void *q,
                                             size_t size)
{
  return ljmi_vm4_allocany(vm, ljmi_vm4_anysite(vm, L), q, size);
}

/* Each kind of call is a function of its own, with the hook's parameters, so
** that what most calls are needs few registers. */
static LJMI_NOINLINE void *ljmi_vm4_alloc(void *ud, void *p, size_t osz,
                                          size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  lua_State *L = ljmi_vm_noted(vm);
  void *q = vm->allocf(vm->allocd, p, osz, nsz);
  return ljmi_vm4_allocated(vm, ljmi_vm4_site(vm, L), q, nsz);
}

static LJMI_NOINLINE void *ljmi_vm4_alloc1(void *ud, void *p, size_t osz,
                                           size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  lua_State *L = ljmi_vm_noted(vm);
  void *q = vm->allocf(vm->allocd, p, osz, nsz);
  uint32_t site;
  if (!ljmi_vm4_known1(vm, L, &site)) return ljmi_vm4_allocnew(vm, L, q, nsz);
  return ljmi_vm4_allocated(vm, site, q, nsz);
}

/* What is freed or moved belongs to where that is asked for. */
static inline void *ljmi_vm4_callat(ljm_vm *vm, uint32_t site, void *p,
                                    size_t osz, size_t nsz)
{
  void *q = vm->allocf(vm->allocd, p, osz, nsz);
  ljmi_vm4_event(vm, site, p, osz, q, nsz);
  return q;
}

static LJMI_NOINLINE void *ljmi_vm4_call(void *ud, void *p, size_t osz,
                                         size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  return ljmi_vm4_callat(vm, ljmi_vm4_site(vm, ljmi_vm_noted(vm)), p, osz,
                         nsz);
}

static LJMI_NOINLINE void *ljmi_vm4_call1(void *ud, void *p, size_t osz,
                                          size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  return ljmi_vm4_callat(vm, ljmi_vm4_site1(vm, ljmi_vm_noted(vm)), p, osz,
                         nsz);
}

static void *ljmi_vm4_hook(void *ud, void *p, size_t osz, size_t nsz)
{
  if (nsz == 0) {
    if (ljmi_vm_isgcfree((ljm_vm *)ud, p)) return ljmi_vm4_gcfree(ud, p, osz);
  } else if (!p) {
    return ljmi_vm4_alloc(ud, p, osz, nsz);
  }
  return ljmi_vm4_call(ud, p, osz, nsz);
}

/* The same where no callers are told. */
static void *ljmi_vm4_hook1(void *ud, void *p, size_t osz, size_t nsz)
{
  if (nsz == 0) {
    if (ljmi_vm_isgcfree((ljm_vm *)ud, p)) return ljmi_vm4_gcfree(ud, p, osz);
  } else if (!p) {
    return ljmi_vm4_alloc1(ud, p, osz, nsz);
  }
  return ljmi_vm4_call1(ud, p, osz, nsz);
}

static void *ljmi_vm4_foreign(ljm_vm *vm, lua_Alloc f, void *ud, void *p,
                              size_t osz, size_t nsz)
{
  uint32_t site = ljmi_vm4_anysite(vm, NULL);
  void *q = f(ud, p, osz, nsz);
  ljmi_vm4_event(vm, site, p, osz, q, nsz);
  return q;
}

/* Samples: distances between them are exponential, in bytes. A call for n
** bytes is one with the probability 1-exp(-n/mean) and stands for n over
** that. */

static double ljmi_vms_random(ljm_vm *vm)  /* (0,1] */
{
  uint64_t x = vm->random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  vm->random = x;
  return (double)((x * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 1) *
         (1.0 / 9007199254740992.0);
}

static void ljmi_vms_next(ljm_vm *vm)
{
  vm->until = (uint64_t)(-log(ljmi_vms_random(vm)) * vm->mean);
}

static uint64_t ljmi_vms_weight(ljm_vm *vm, size_t size)
{
  double n = (double)size, w = n / -expm1(-n / vm->mean);
  uint64_t r = (uint64_t)w;
  return r + (ljmi_vms_random(vm) <= w - (double)r);
}

static uint8_t *ljmi_vms_filter(ljm_vm *vm, const void *p)
{
  uintptr_t a = (uintptr_t)p;
  return &vm->filter[(a >> 4 ^ a >> 16) % LJMI_FILTER];
}

/* A block that was sampled and is none any more: 1. */
static int ljmi_vms_drop(ljm_vm *vm, const void *p)
{
  uint8_t *f = ljmi_vms_filter(vm, p);
  if (LJMI_LIKELY(*f == 0)) return 0;
  if (!ljmi_set_has(&vm->sampled, (uintptr_t)p)) return 0;
  ljmi_set_remove(&vm->sampled, (uintptr_t)p);
  if (*f != 255) (*f)--;  /* It stays there once it has got there. */
  return 1;
}

static void ljmi_vms_keep(ljm_vm *vm, const void *p)
{
  uint8_t *f = ljmi_vms_filter(vm, p);
  if (ljmi_set_add(&vm->sampled, &vm->mem, (uintptr_t)p) && *f != 255) (*f)++;
}

/* What a call means for the samples. */
static LJMI_NOINLINE void ljmi_vms_event(ljm_vm *vm, uint32_t site, int was,
                                         int is, void *p, size_t osz, void *q,
                                         size_t nsz)
{
  ljm_encoder4 *e = &vm->enc4;
  uint64_t old = (uintptr_t)p, addr = (uintptr_t)q;
  if (nsz && !q) {
    ljmi_vm4_failed(vm, site, p, osz, nsz);
    if (was) ljmi_vms_keep(vm, p);
  } else {
    uint64_t weight = is ? ljmi_vms_weight(vm, nsz) : 0;
    if (is && was)
      (void)ljm_encoder4_realloc_sample(e, site, old, osz, addr, nsz, weight);
    else if (is)
      (void)ljm_encoder4_alloc_sample(e, site, addr, nsz, weight);
    else
      (void)ljm_encoder4_dealloc(e, site, old, osz);
    if (is) ljmi_vms_keep(vm, q);
  }
  if (vm->written) (void)ljmi_vm4_mark(vm, LJM_MARK_FLUSH, 0);
}

/* Takes a call's bytes; is it a sample? Its size is a whole number: it is
** larger than a distance if it is larger than the distance rounded down. */
static inline int ljmi_vms_take(ljm_vm *vm, size_t nsz)
{
  if (LJMI_UNLIKELY(nsz > vm->until)) return 1;
  vm->until -= nsz;
  return 0;
}

static LJMI_NOINLINE void *ljmi_vms_call(ljm_vm *vm, lua_State *L,
                                         lua_Alloc f, void *ud, void *p,
                                         size_t osz, size_t nsz)
{
  int was = p && ljmi_vms_drop(vm, p), is = ljmi_vms_take(vm, nsz);
  uint32_t site;
  void *q;
  if (is) ljmi_vms_next(vm);
  if (LJMI_LIKELY(!was && !is)) return f(ud, p, osz, nsz);
  site = ljmi_vm4_anysite(vm, L);
  q = f(ud, p, osz, nsz);
  ljmi_vms_event(vm, site, was, is, p, osz, q, nsz);
  return q;
}

/* What most calls are is no sample: a block new, or a block freed. */
static void *ljmi_vms_hook(void *ud, void *p, size_t osz, size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  lua_State *L = ljmi_vm_noted(vm);
  if (!p) {
    if (LJMI_LIKELY(nsz <= vm->until)) {
      vm->until -= nsz;
      return vm->allocf(vm->allocd, NULL, 0, nsz);
    }
  } else if (!nsz && LJMI_LIKELY(*ljmi_vms_filter(vm, p) == 0)) {
    return vm->allocf(vm->allocd, p, osz, 0);
  }
  return ljmi_vms_call(vm, L, vm->allocf, vm->allocd, p, osz, nsz);
}

static void *ljmi_vms_foreign(ljm_vm *vm, lua_Alloc f, void *ud, void *p,
                              size_t osz, size_t nsz)
{
  return ljmi_vms_call(vm, NULL, f, ud, p, osz, nsz);
}

/* Format 4: what the blocks still held are. */

static void ljmi_live(ljm_vm *vm, ljm_object object, const void *p)
{
  if (p && (vm->mean == 0 || ljmi_set_has(&vm->sampled, (uintptr_t)p)))
    (void)ljm_encoder4_live(&vm->enc4, object, (uintptr_t)p);
}

static void ljmi_live_table(ljm_vm *vm, const GCtab *t)
{
  ljmi_live(vm, LJM_OBJECT_TABLE, t);
  if (t->asize > 0 && t->colo <= 0)
    ljmi_live(vm, LJM_OBJECT_ARRAY, tvref(t->array));
  if (t->hmask > 0) ljmi_live(vm, LJM_OBJECT_HASH, noderef(t->node));
}

static void ljmi_live_udata(ljm_vm *vm, const GCudata *ud)
{
  ljmi_live(vm, LJM_OBJECT_USERDATA, ud);
#if LJ_HASBUFFER
  if (ud->udtype == UDTYPE_BUFFER) {
    const SBufExt *sbx = (const SBufExt *)uddata(ud);
    if (!sbufiscow(sbx)) ljmi_live(vm, LJM_OBJECT_BUFFER, sbx->b);
  }
#endif
}

static void ljmi_live_object(ljm_vm *vm, GCobj *o)
{
  switch (o->gch.gct) {
  case ~LJ_TSTR: ljmi_live(vm, LJM_OBJECT_STRING, o); break;
  case ~LJ_TUPVAL: ljmi_live(vm, LJM_OBJECT_UPVALUE, o); break;
  case ~LJ_TTHREAD:
    if (gco2th(o) != mainthread(vm->g)) ljmi_live(vm, LJM_OBJECT_THREAD, o);
    ljmi_live(vm, LJM_OBJECT_STACK, tvref(gco2th(o)->stack));
    break;
  case ~LJ_TPROTO: ljmi_live(vm, LJM_OBJECT_PROTO, o); break;
  case ~LJ_TFUNC: ljmi_live(vm, LJM_OBJECT_FUNCTION, o); break;
  case ~LJ_TTRACE: ljmi_live(vm, LJM_OBJECT_TRACE, o); break;
#if LJ_HASFFI
  case ~LJ_TCDATA:
    ljmi_live(vm, LJM_OBJECT_CDATA,
              cdataisv(gco2cd(o)) ? memcdatav(gco2cd(o)) : (void *)o);
    break;
#endif
  case ~LJ_TTAB: ljmi_live_table(vm, gco2tab(o)); break;
  case ~LJ_TUDATA: ljmi_live_udata(vm, gco2ud(o)); break;
  }
}

/* A chain of objects; its last one links to nothing or to `end`. */
static void ljmi_live_chain(ljm_vm *vm, GCobj *o, const GCobj *end)
{
  while (o) {
    ljmi_live_object(vm, o);
    o = gcref(o->gch.nextgc);
    if (o == end) break;
  }
}

/* Not objects, but of the VM. */
static void ljmi_live_vm(ljm_vm *vm)
{
  global_State *g = vm->g;
  ljmi_live(vm, LJM_OBJECT_STRTAB, g->str.tab);
  ljmi_live(vm, LJM_OBJECT_BUFFER, g->tmpbuf.b);
#if LJ_64
  ljmi_live(vm, LJM_OBJECT_VM, mref(g->gc.lightudseg, uint32_t));
#endif
#if LJ_HASFFI
  {
    CTState *cts = ctype_ctsG(g);
    if (cts) {
      ljmi_live(vm, LJM_OBJECT_CTYPES, cts);
      ljmi_live(vm, LJM_OBJECT_CTYPES, cts->tab);
      ljmi_live(vm, LJM_OBJECT_CTYPES, cts->cb.cbid);
    }
  }
#endif
#if LJ_HASJIT
  {
    jit_State *J = G2J(g);
    ljmi_live(vm, LJM_OBJECT_JIT, J->snapbuf);
    ljmi_live(vm, LJM_OBJECT_JIT, J->snapmapbuf);
    if (J->irbuf) ljmi_live(vm, LJM_OBJECT_JIT, J->irbuf + J->irbotlim);
    ljmi_live(vm, LJM_OBJECT_JIT, J->trace);
  }
#endif
}

static void ljmi_live_all(ljm_vm *vm)
{
  global_State *g = vm->g;
  GCobj *o;
  MSize i;
  ljmi_live_chain(vm, gcref(g->gc.root), NULL);
  o = gcref(g->gc.mmudata);  /* A ring. */
  if (o) ljmi_live_chain(vm, o, o);
  for (i = 0; i <= g->str.mask; i++) {
    o = (GCobj *)(gcrefu(g->str.tab[i]) & ~(uintptr_t)1);
    ljmi_live_chain(vm, o, NULL);
  }
  ljmi_live_vm(vm);
}

/* Allocators for callers outside of the VM. */

/* A host sees its own `ud`, so what it gets for a function must know the VM:
** one of a fixed number, each with a slot. Slots are kept until the VM is
** closed, and pass calls through when nothing is recorded. */
typedef struct ljmi_slot {
  ljm_vm *vm;      /* NULL: free, but its function may still be called. */
  lua_Alloc allocf;
} ljmi_slot;

#define LJMI_SLOTS 64
static ljmi_slot ljmi_slots[LJMI_SLOTS];
static ljm_vm *ljmi_running;  /* List of running recorders. */
static pthread_mutex_t ljmi_lock = PTHREAD_MUTEX_INITIALIZER;

static void *ljmi_slot_call(ljmi_slot *s, void *ud, void *p, size_t osz,
                            size_t nsz)
{
  ljm_vm *vm = s->vm;
  if (vm && vm->running) return vm->foreign(vm, s->allocf, ud, p, osz, nsz);
  return s->allocf(ud, p, osz, nsz);
}

#define LJMI_SLOT(n) \
  static void *ljmi_slot_##n(void *ud, void *p, size_t osz, size_t nsz) \
  { return ljmi_slot_call(&ljmi_slots[0##n], ud, p, osz, nsz); }
#define LJMI_SLOTS8(_, n) \
  _(n##0) _(n##1) _(n##2) _(n##3) _(n##4) _(n##5) _(n##6) _(n##7)
#define LJMI_SLOTS64(_) \
  LJMI_SLOTS8(_, 0) LJMI_SLOTS8(_, 1) LJMI_SLOTS8(_, 2) LJMI_SLOTS8(_, 3) \
  LJMI_SLOTS8(_, 4) LJMI_SLOTS8(_, 5) LJMI_SLOTS8(_, 6) LJMI_SLOTS8(_, 7)
LJMI_SLOTS64(LJMI_SLOT)
#define LJMI_SLOTNAME(n) ljmi_slot_##n,
static const lua_Alloc ljmi_slot_func[LJMI_SLOTS] = {
  LJMI_SLOTS64(LJMI_SLOTNAME)
};
#undef LJMI_SLOT
#undef LJMI_SLOTS8
#undef LJMI_SLOTS64
#undef LJMI_SLOTNAME

static ljmi_slot *ljmi_slot_get(ljm_vm *vm)
{
  ljmi_slot *s, *found = NULL;
  pthread_mutex_lock(&ljmi_lock);
  for (s = ljmi_slots; s < ljmi_slots + LJMI_SLOTS; s++) {
    if (s->vm == vm && s->allocf == vm->allocf) { found = s; break; }
    if (!s->vm && (!found || (found->allocf && !s->allocf))) found = s;
  }
  if (found) {
    found->allocf = vm->allocf;
    found->vm = vm;
  }
  pthread_mutex_unlock(&ljmi_lock);
  return found;
}

static void ljmi_slot_release(ljm_vm *vm)
{
  ljmi_slot *s;
  pthread_mutex_lock(&ljmi_lock);
  for (s = ljmi_slots; s < ljmi_slots + LJMI_SLOTS; s++)
    if (s->vm == vm) s->vm = NULL;
  pthread_mutex_unlock(&ljmi_lock);
}

/* Is our hook in the place of the host's allocator? */
static int ljmi_vm_hooked(const ljm_vm *vm)
{
  return vm->g->allocf == vm->hook; /* Nobody else is given it. */
}

static lua_Alloc ljmi_vm_getallocf(ljm_vm *vm, void **ud)
{
  if (!ljmi_vm_hooked(vm)) return NULL;
  if (!vm->slot || vm->slot->allocf != vm->allocf)
    vm->slot = ljmi_slot_get(vm);
  if (ud) *ud = vm->allocd;
  return vm->slot ? ljmi_slot_func[vm->slot - ljmi_slots] : vm->allocf;
}

/* The host sets what it got from us: no change. */
static int ljmi_vm_setallocf(ljm_vm *vm, lua_Alloc f, void *ud)
{
  return ljmi_vm_hooked(vm) && vm->slot && ud == vm->allocd &&
         f == ljmi_slot_func[vm->slot - ljmi_slots];
}

/* Starting and ending a recording. */

static ljm_vm *ljmi_vm_of(lua_State *L)
{
  return L ? G2MP(G(L))->rec : NULL;
}

/* Running in this process? A child after fork inherits the state, not the
** recording: its first call here ends it without a word. */
static int ljmi_vm_live(ljm_vm *vm)
{
  return vm && vm->running && vm->pid == (long)getpid();
}

static void ljmi_vm_link(ljm_vm *vm)
{
  pthread_mutex_lock(&ljmi_lock);
  vm->prev = NULL;
  vm->next = ljmi_running;
  if (ljmi_running) ljmi_running->prev = vm;
  ljmi_running = vm;
  pthread_mutex_unlock(&ljmi_lock);
}

static void ljmi_vm_unlink(ljm_vm *vm)
{
  pthread_mutex_lock(&ljmi_lock);
  if (vm->prev) vm->prev->next = vm->next; else ljmi_running = vm->next;
  if (vm->next) vm->next->prev = vm->prev;
  pthread_mutex_unlock(&ljmi_lock);
}

#if LJMI_SELF
static void ljmi_self_began(ljm_vm *vm);
static void ljmi_self_ended(ljm_vm *vm);
static void ljmi_self_leave(ljm_vm *vm);
static void ljmi_self_close(ljm_vm *vm);
#else
#define ljmi_self_began(vm) ((void)0)
#define ljmi_self_ended(vm) ((void)0)
#define ljmi_self_leave(vm) ((void)0)
#define ljmi_self_close(vm) ((void)0)
#define ljmi_self_newstate(L) ((void)0)
#endif

/* Put the host's allocator back, unless it has set another one. */
static void ljmi_vm_detach(ljm_vm *vm)
{
  vm->replaced = !ljmi_vm_hooked(vm);
  if (!vm->replaced) {
    vm->g->allocf = vm->allocf;
    vm->g->allocd = vm->allocd;
  }
  vm->running = 0;
}

/* Gives back what a recording held. */
static void ljmi_vm_clear(ljm_vm *vm)
{
  ljmi_free_array(&vm->mem, vm->chunk, vm->enc.name_limit, 1);
  vm->chunk = NULL;
  memset(&vm->chunk_of, 0, sizeof(vm->chunk_of));
  memset(vm->names, 0, sizeof(vm->names));
  if (vm->format == 3)
    ljm_encoder_free(&vm->enc);
  else
    ljm_encoder4_free(&vm->enc4);
  ljm_resolver_free(&vm->res);
  ljmi_vm_forget(vm);
  ljmi_set_free(&vm->protos, &vm->mem);
  ljmi_set_free(&vm->traces, &vm->mem);
  ljmi_set_free(&vm->ahead, &vm->mem);
  ljmi_set_free(&vm->sampled, &vm->mem);
  ljmi_free_array(&vm->mem, vm->modules, vm->module_cap, sizeof(uint32_t));
  ljmi_free_array(&vm->mem, vm->levels, vm->level_cap, sizeof(ljmi_level));
  ljmi_free_array(&vm->mem, vm->fresh, vm->level_cap, sizeof(ljmi_level));
  ljmi_free_array(&vm->mem, vm->links, LJMI_LINKS(vm->level_cap),
                  sizeof(ljmi_link));
  vm->links = NULL;
  vm->modules = NULL;
  vm->levels = vm->fresh = NULL;
  vm->module_cap = 0;
  vm->level_cap = 0;
  memset(vm->pcs, 0, sizeof(vm->pcs));
  memset(vm->filter, 0, sizeof(vm->filter));
}

/* What the recorder's own memory lacked: LJM_E_NOMEM, LJM_E_LIMIT, or LJM_OK.
** (The resolver has limits of its own, for what modules claim.) */
static ljm_status ljmi_vm_lacked(const ljm_vm *vm)
{
  ljm_status a = vm->mem.status;
  ljm_status b = vm->format == 3 ? vm->enc.mem.status : vm->enc4.mem.status;
  if (vm->res.mem.status == LJM_E_NOMEM || b == LJM_E_NOMEM)
    return LJM_E_NOMEM;
  return a != LJM_OK ? a : b;
}

/* Why a recording ends, and with what. */
static ljm_reason ljmi_vm_reason(const ljm_vm *vm, ljm_reason reason)
{
  if (vm->replaced) return LJM_REASON_REPLACED;
  switch (ljmi_vm_lacked(vm)) {
  case LJM_OK: return reason;
  case LJM_E_NOMEM: return LJM_REASON_NOMEM;
  default: return LJM_REASON_LIMIT;
  }
}

static ljm_status ljmi_vm4_finish(ljm_vm *vm, ljm_reason reason)
{
  (void)ljmi_vm4_mark(vm, LJM_MARK_STOP, 0);
  if (!vm->no_live) ljmi_live_all(vm);
  return ljm_encoder4_finish(&vm->enc4,
                             (ljm_end_reason)ljmi_vm_reason(vm, reason),
                             vm->g->gc.total);
}

/* End a recording. In a child after fork nothing is written. */
static ljm_status ljmi_vm_finish(ljm_vm *vm, ljm_reason reason)
{
  int saved = errno, child = !ljmi_vm_live(vm);
  ljm_status st = LJM_OK;
  if (vm->b->out.busy) return LJM_E_RUNNING;
  ljmi_vm_detach(vm);
  ljmi_vm_unlink(vm);
  if (!child)
    st = vm->format == 3 ? ljm_encoder_finish(&vm->enc)
                         : ljmi_vm4_finish(vm, reason);
  vm->result.reason = st != LJM_OK ? LJM_REASON_SINK
                                   : ljmi_vm_reason(vm, reason);
  if (st == LJM_OK) st = ljmi_vm_lacked(vm);
  vm->result.error = vm->b->out.error;
  vm->result.written = vm->b->out.written;
  vm->result.dropped = vm->b->dropped;
  ljmi_vm_clear(vm);
  ljmi_self_ended(vm);
  errno = saved;
  return st;
}

static ptrdiff_t ljmi_vm_write(void *user, const void *data, size_t size)
{
  ljm_vm *vm = (ljm_vm *)user;
  if (vm->pid != (long)getpid()) return -ECANCELED;  /* After fork. */
  vm->thread = pthread_self();
  vm->written = 1;
  return vm->sink.write(vm->sink.user, data, size);
}

static int ljmi_vm_closesink(void *user)
{
  ljm_vm *vm = (ljm_vm *)user;
  return vm->sink.close ? vm->sink.close(vm->sink.user) : 0;
}

static int ljmi_options_valid(const ljm_options *o)
{
  if (o->format != 0 && o->format != 3 && o->format != 4) return 0;
  if (o->format == 3 && (o->depth || o->sample || o->no_live)) return 0;
  if (o->format != 3 && o->eager) return 0;
  return o->depth <= LJMI_DEPTH_MAX && o->sample <= UINT64_C(1) << 48;
}

/* The recorder of L's VM, made if there is none. */
static ljm_vm *ljmi_vm_make(lua_State *L)
{
  ljm_vm *vm = ljmi_vm_of(L);
  if (vm) return vm;
  vm = (ljm_vm *)malloc(sizeof(ljm_vm));
  if (!vm) return NULL;
  memset(vm, 0, sizeof(ljm_vm));
  vm->g = G(L);
  vm->mp = G2MP(vm->g);
  vm->mp->rec = vm;
  return vm;
}

/* The recorder of L's VM, made if there is none, ready for a start. */
static ljm_status ljmi_vm_prepare(lua_State *L, const ljm_options *o,
                                  ljm_vm **res)
{
  ljm_vm *vm = ljmi_vm_of(L);
  ljm_memory mem;
  if (!L) return LJM_E_ARG;
  if (ljmi_vm_live(vm)) return LJM_E_RUNNING;
  if (!ljmi_options_valid(o) ||
      ljmi_memory_init(&mem, &o->encoder.alloc, UINT64_MAX) != LJM_OK)
    return LJM_E_ARG;
  vm = ljmi_vm_make(L);
  if (!vm) return LJM_E_NOMEM;
  if (vm->running) {  /* Inherited from the parent process. */
    (void)ljmi_vm_finish(vm, LJM_REASON_STOPPED);
  }
  vm->mem = mem;
  vm->format = o->format ? o->format : 4;
  vm->depth = o->depth ? o->depth : LJMI_DEPTH;
  vm->no_live = o->no_live;
  vm->eager = o->eager;
  vm->mean = (double)o->sample;
  vm->random = o->seed ? o->seed
                       : ljmi_clock(NULL) ^ (uint64_t)(uintptr_t)vm;
  vm->random = (vm->random + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
  vm->pid = (long)getpid();
  vm->thread = pthread_self();
  vm->written = 0;
  memset(&vm->result, 0, sizeof(vm->result));
  *res = vm;
  return LJM_OK;
}

/* META and the encoder of format 4. */
static ljm_status ljmi_vm4_init(ljm_vm *vm, const ljm_sink *sink,
                                const ljm_options *o)
{
  char pid[24], start[24], depth[24], sample[24];
  ljm_encoder_options eo = o->encoder;
  ljm_meta meta[8] = {
    {"tree", LUAJIT_VERSION}, {"arch", LJ_ARCH_NAME}, {"pid", NULL},
    {"start", NULL}, {"writer", "ljmemprof " LJM_VERSION_STRING},
    {"mode", NULL}, {"sample", NULL}, {"stacks", NULL}
  };
  ljmi_decimal(pid, (uint64_t)vm->pid);
  ljmi_decimal(start, (uint64_t)time(NULL));
  ljmi_decimal(sample, o->sample);
  ljmi_decimal(depth, vm->depth);
  meta[2].value = pid;
  meta[3].value = start;
  meta[5].value = o->sample ? "sample" : "exact";
  meta[6].value = sample;
  meta[7].value = depth;
  if (!eo.max_stacks) eo.max_stacks = 1048576;
  vm->max_stacks = eo.max_stacks;
  if (eo.max_stacks <= UINT32_MAX - LJMI_STACKS_SPARE)
    eo.max_stacks += LJMI_STACKS_SPARE;
  return ljm_encoder4_init(&vm->enc4, sink, &eo, meta, 8);
}

/* What format 4 needs besides its encoder. */
static ljm_status ljmi_vm4_setup(ljm_vm *vm)
{
  uint32_t state;
  size_t cap = vm->depth * 2 + 32;
  for (state = LJM_STATE_START; state <= LJM_STATE_FINALIZER; state++) {
    uint32_t f = state == LJM_STATE_HOST
      ? ljmi_vm4_gap(vm, LJM_GAP_HOST)
      : ljm_encoder4_frame_vm(&vm->enc4, (ljm_state)state);
    vm->vm_site[state] =
      ljm_encoder4_site(&vm->enc4, ljmi_vm4_push(vm, 0, f), (ljm_state)state,
                        LJM_OBJECT_UNKNOWN);
  }
  vm->cut = ljmi_vm4_push(vm, 0, ljmi_vm4_gap(vm, LJM_GAP_DEPTH));
  vm->limited = ljmi_vm4_push(vm, 0, ljmi_vm4_gap(vm, LJM_GAP_LIMIT));
  vm->levels = (ljmi_level *)ljmi_alloc_array(&vm->mem, cap,
                                              sizeof(ljmi_level));
  vm->fresh = (ljmi_level *)ljmi_alloc_array(&vm->mem, cap,
                                             sizeof(ljmi_level));
  vm->links = (ljmi_link *)ljmi_alloc_array(&vm->mem, LJMI_LINKS(cap),
                                            sizeof(ljmi_link));
  vm->level_cap = (uint32_t)cap;
  if (!vm->levels || !vm->fresh || !vm->links) return vm->mem.status;
  vm->level_root = 0;
  vm->trace_low = UINTPTR_MAX;
  ljmi_vm4_forget(vm);
  if (vm->mean > 0) ljmi_vms_next(vm);
  (void)ljmi_vm4_mark(vm, LJM_MARK_START, 0);
  return ljm_encoder4_flush(&vm->enc4);
}

/* The parts' headers, between them the names that are written ahead. A file
** that takes the first one counts as started. */
static ljm_status ljmi_vm3_setup(ljm_vm *vm)
{
  ljm_status st;
  if (!vm->eager) {
    (void)ljm_encoder_open(&vm->enc);
    return ljm_encoder_flush(&vm->enc);
  }
  st = ljm_encoder_flush(&vm->enc);
  if (st != LJM_OK) return st;
  ljmi_vm3_ahead(vm);
  (void)ljm_encoder_open(&vm->enc);
  return LJM_OK;
}

/* Opens the stream and writes its header. */
static ljm_status ljmi_vm_open(ljm_vm *vm, const ljm_options *o,
                               ljm_error *err)
{
  ljm_resolver_options ro;
  ljm_sink sink;
  ljm_status st;
  sink.write = ljmi_vm_write;
  sink.close = NULL;  /* Until all went well. */
  sink.user = vm;
  memset(&ro, 0, sizeof(ro));
  ro.alloc = o->encoder.alloc;
  ro.on_module = ljmi_vm_onmodule;
  ro.user = vm;
  if (vm->format == 3) {
    vm->b = &vm->enc.b;
    st = ljm_encoder_init(&vm->enc, &sink, &o->encoder);
  } else {
    vm->b = &vm->enc4.b;
    st = ljmi_vm4_init(vm, &sink, o);
  }
  if (st != LJM_OK) return ljmi_fail(err, st, 0, 0);
  st = ljm_resolver_init(&vm->res, &ro);
  if (st == LJM_OK)
    st = vm->format == 3 ? ljmi_vm3_setup(vm) : ljmi_vm4_setup(vm);
  if (st != LJM_OK) {
    if (err) *err = vm->b->out.error;
    st = ljmi_fail(err, st, 0, 0);
    ljmi_vm_clear(vm);
    return st;
  }
  vm->b->out.sink.close = ljmi_vm_closesink;
  return LJM_OK;
}

/* Opens the stream and goes. */
static ljm_status ljmi_vm_begin(ljm_vm *vm, const ljm_options *o,
                                ljm_error *err)
{
  ljm_status st = ljmi_vm_open(vm, o, err);
  if (st != LJM_OK) return st;
  ljmi_self_leave(vm);
#if LJ_HASJIT && !LJ_TARGET_X86ORX64
  ljmi_trace_probe(mainthread(vm->g));
#endif
  if (vm->format == 3) {
    vm->hook = ljmi_vm3_hook;
    vm->foreign = ljmi_vm3_foreign;
  } else if (vm->mean > 0) {
    vm->hook = ljmi_vms_hook;
    vm->foreign = ljmi_vms_foreign;
  } else {
    vm->hook = vm->depth > 1 ? ljmi_vm4_hook : ljmi_vm4_hook1;
    vm->foreign = ljmi_vm4_foreign;
  }
  vm->written = 0;
  vm->allocf = vm->g->allocf;
  vm->allocd = vm->g->allocd;
  vm->mp->L = NULL;
  vm->g->allocf = vm->hook;
  vm->g->allocd = vm;
  vm->running = 1;
  ljmi_vm_link(vm);
  ljmi_self_began(vm);
  return LJM_OK;
}

/* Hooks of lj_memprof.c. */

static void ljmi_vm_freeproto(ljm_vm *vm, GCproto *pt)
{
  size_t i;
  if (!vm->running) return;
  if (vm->format == 3) {
    ljmi_set_remove(&vm->protos, (uint64_t)(uintptr_t)pt);
    for (i = 0; i < LJMI_CACHE; i++)
      if (vm->pcs[i].pt == pt) vm->pcs[i].pt = NULL;
    return;
  }
  for (i = 0; i < LJMI_FRAMES; i++)
    if (vm->frames[i].pt == pt) vm->frames[i].key = 0;
  for (i = 0; i < LJMI_CACHE * 2; i++)
    if (vm->sites[i].owner == pt) ljmi_vm4_dropsite(&vm->sites[i]);
  ljmi_vm4_forget(vm);
}

static void ljmi_vm_libs(ljm_vm *vm)
{
  if (!vm->running) return;
  ljm_resolver_mark_dirty(&vm->res);
  ljmi_vm_fresh(vm);
}

#if LJ_HASJIT
static void ljmi_vm_newtrace(ljm_vm *vm, GCtrace *T)
{
  size_t i;
  if (!vm->running) return;
  if (vm->format == 3) {
    ljmi_set_remove(&vm->traces, T->traceno);
    vm->keys[T->traceno % LJMI_CACHE].key = 0;
    return;
  }
  ljmi_vm4_forget(vm); /* PCs may be in a trace that is no more. */
  /* Code grows downwards: most often nothing can be known of its place. */
  if ((uintptr_t)T->mcode + T->szmcode < vm->trace_low) return;
  for (i = 0; i < LJMI_CACHE * 2; i++)
    if (ljmi_trace_holds(T, (uintptr_t)vm->sites[i].key) ||
        vm->sites[i].key == (uintptr_t)T)
      ljmi_vm4_dropsite(&vm->sites[i]);
}
#endif

static void ljmi_vm_exit(ljm_vm *vm)
{
  if (vm->running) (void)ljmi_vm_finish(vm, LJM_REASON_EXIT);
}

static void ljmi_vm_close(ljm_vm *vm)
{
  if (vm->running) (void)ljmi_vm_finish(vm, LJM_REASON_CLOSED);
  ljmi_self_close(vm);
  ljmi_slot_release(vm);
  vm->mp->rec = NULL;
  free(vm);
}

#if defined(__GNUC__)
/* The process exits (or unloads the library): what this thread records ends
** well. What other threads record may be in the middle of an event. */
__attribute__((destructor)) static void ljmi_vm_atexit(void)
{
  ljm_vm *vm;
  do {
    pthread_mutex_lock(&ljmi_lock);
    for (vm = ljmi_running; vm; vm = vm->next)
      if (ljmi_vm_live(vm) && !vm->b->out.busy &&
          pthread_equal(vm->thread, pthread_self()))
        break;
    pthread_mutex_unlock(&ljmi_lock);
    if (vm) ljmi_vm_exit(vm);
  } while (vm);
}
#endif

#endif /* LJM_LUAJIT */

/* -- Entry points ------------------------------------------------------- */

#ifdef LJM_LUAJIT

/* From a sink, or, if that is NULL, into a file. */
static ljm_status ljmi_recorder_start(lua_State *L, const ljm_sink *sink,
                                      const char *path,
                                      const ljm_options *opts, ljm_error *err)
{
  int saved = errno;
  ljm_options o;
  ljm_vm *vm = NULL;
  ljm_status st;
  memset(&o, 0, sizeof(o));
  if (opts) o = *opts;
  if (err) memset(err, 0, sizeof(*err));
  st = ljmi_vm_prepare(L, &o, &vm);
  if (st != LJM_OK) return ljmi_fail(err, st, 0, 0);
  if (sink) {
    vm->sink = *sink;
  } else {
    st = ljm_file_open(&vm->file, &vm->sink, path, &o.encoder.alloc, err);
    if (st != LJM_OK) return st;
  }
  st = ljmi_vm_begin(vm, &o, err);
  if (st != LJM_OK && !sink) (void)vm->sink.close(vm->sink.user);
  errno = saved;
  return st;
}

LJM_API ljm_status ljm_recorder_start(struct lua_State *L,
                                      const ljm_sink *sink,
                                      const ljm_options *opts,
                                      ljm_error *err)
{
  if (!sink || !sink->write) return LJM_E_ARG;
  return ljmi_recorder_start(L, sink, NULL, opts, err);
}

LJM_API ljm_status ljm_recorder_start_file(struct lua_State *L,
                                           const char *path,
                                           const ljm_options *opts,
                                           ljm_error *err)
{
  return ljmi_recorder_start(L, NULL, path, opts, err);
}

LJM_API ljm_status ljm_recorder_stop(struct lua_State *L, ljm_result *res)
{
  ljm_vm *vm = ljmi_vm_of(L);
  ljm_status st;
  if (res) memset(res, 0, sizeof(*res));
  if (!L) return LJM_E_ARG;
  if (!ljmi_vm_live(vm)) return LJM_E_NOTRUNNING;
  st = ljmi_vm_finish(vm, LJM_REASON_STOPPED);
  if (res) *res = vm->result;
  return st;
}

LJM_API int ljm_recorder_running(struct lua_State *L)
{
  return ljmi_vm_live(ljmi_vm_of(L));
}

LJM_API ljm_status ljm_recorder_flush(struct lua_State *L)
{
  ljm_vm *vm = ljmi_vm_of(L);
  if (!L) return LJM_E_ARG;
  if (!ljmi_vm_live(vm)) return LJM_E_NOTRUNNING;
  return vm->format == 3 ? ljm_encoder_flush(&vm->enc)
                         : ljm_encoder4_flush(&vm->enc4);
}

LJM_API ljm_status ljm_recorder_mark(struct lua_State *L, const char *label,
                                     size_t size)
{
  ljm_vm *vm = ljmi_vm_of(L);
  if (!L || (!label && size)) return LJM_E_ARG;
  if (!ljmi_vm_live(vm)) return LJM_E_NOTRUNNING;
  if (vm->format == 3) return LJM_OK;
  return ljmi_vm4_mark(vm, LJM_MARK_PROGRAM,
                       size ? ljm_encoder4_string(&vm->enc4, label, size) : 0);
}

/* -- start by the environment, orders from outside */

#if LJMI_SELF

#define LJMI_SELF_PATH 4096

/* What the environment asks for, read once. Guarded by ljmi_lock. */
typedef struct ljmi_orders {
  int ready;               /* The environment was read. */
  int on, control, wait;
  uint32_t limit;          /* Recordings of a process. */
  uint32_t begun;          /* So far. */
  uint32_t vms;            /* VMs so far. */
  int told;                /* Standard error has heard of a failure. */
  ljm_options opts;
  int log;                 /* Open file or -1. */
  struct stat log_stat;    /* What it was when it was opened. */
  struct ljmi_self *first; /* All VMs of the process. */
  char file[LJMI_SELF_PATH];
  char bad[96];            /* What is wrong with the environment's value. */
} ljmi_orders;

static ljmi_orders ljmi_self_orders;

/* A VM that was started by the environment. */
typedef struct ljmi_self {
  struct ljm_vm *vm;
  struct ljmi_self *next, *prev;
  lua_Alloc hook;          /* The recorder's own, called by ours. */
  ljm_control *page;       /* NULL: takes no orders. */
  int page_fd;
  ino_t page_ino;
  uint32_t served;         /* The last order. */
  uint32_t vm_number, number;  /* Of the VM; of its recording. */
  int forked;              /* This is a child that knows nothing yet. */
  int idle;                /* Our hook stands there and records nothing. */
} ljmi_self;

/* Has the process privileges that its user lacks? */
static int ljmi_self_secure(void)
{
#if defined(__linux__)
  return getauxval(AT_SECURE) != 0;
#else
  return issetugid() != 0;
#endif
}

/* A word's value as a number of bytes. 0: it is none. */
static uint64_t ljmi_self_size(const char *s, size_t len)
{
  static const char units[] = "kmg";
  uint64_t n = 0;
  size_t i = 0;
  const char *u;
  for (; i < len && s[i] >= '0' && s[i] <= '9'; i++) {
    if (n > UINT64_MAX / 10240) return 0;
    n = n * 10 + (uint64_t)(s[i] - '0');
  }
  if (i == 0 || i == len) return i ? n : 0;
  u = (const char *)memchr(units, s[i] | 32, 3);
  if (!u || i + 1 != len || n >> 30) return 0;
  return n << 10 * (u - units + 1);
}

static int ljmi_self_is(const char *word, size_t len, const char *name)
{
  return len == strlen(name) && memcmp(word, name, len) == 0;
}

static void ljmi_self_fail(uint32_t number, const char *of, const char *what);

/* Opens the log. It is kept open: a host may give up the rights to do so
** later, or its idea of the file system. */
static int ljmi_self_openlog(const char *path, size_t len)
{
  ljmi_orders *o = &ljmi_self_orders;
  char name[LJMI_SELF_PATH];
  if (len >= sizeof(name) || o->log >= 0) return 0;
  memcpy(name, path, len);
  name[len] = 0;
  o->log = open(name, O_WRONLY | O_APPEND | O_CREAT | LJMI_O_CLOEXEC, 0600);
  return o->log < 0 || fstat(o->log, &o->log_stat) == 0;
}

/* One word of LJMEMPROF. */
static int ljmi_self_word(ljmi_orders *o, const char *s, size_t len)
{
  uint64_t n;
  if (ljmi_self_is(s, len, "control")) {
    o->control = 1;
  } else if (ljmi_self_is(s, len, "wait")) {
    o->control = o->wait = 1;
  } else if (ljmi_self_is(s, len, "stacks")) {
    o->opts.depth = 0;
  } else if (len > 7 && memcmp(s, "stacks=", 7) == 0) {
    n = ljmi_self_size(s + 7, len - 7);
    o->opts.depth = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    return n > 0;
  } else if (len > 7 && memcmp(s, "sample=", 7) == 0) {
    o->opts.sample = ljmi_self_size(s + 7, len - 7);
    return o->opts.sample > 0;
  } else if (len > 4 && memcmp(s, "vms=", 4) == 0) {
    n = ljmi_self_size(s + 4, len - 4);
    o->limit = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    return n > 0;
  } else if (len > 4 && memcmp(s, "log=", 4) == 0) {
    return ljmi_self_openlog(s + 4, len - 4);
  } else {
    return len == 0;
  }
  return 1;
}

/* Keeps what is wrong with a word. */
static int ljmi_self_bad(ljmi_orders *o, const char *s, size_t len)
{
  (void)snprintf(o->bad, sizeof(o->bad), "\"%.*s\" is not understood",
                 (int)(len < 64 ? len : 64), s);
  return 0;
}

/* The whole value. */
static int ljmi_self_parse(ljmi_orders *o, const char *s)
{
  size_t len;
  for (;;) {
    if (strncmp(s, "file=", 5) == 0) {
      len = strlen(s + 5);
      if (len == 0 || len >= sizeof(o->file))
        return ljmi_self_bad(o, s, len + 5);
      memcpy(o->file, s + 5, len + 1);
      return 1;
    }
    len = strcspn(s, ",");
    if (!ljmi_self_word(o, s, len)) return ljmi_self_bad(o, s, len);
    if (!s[len]) break;
    s += len + 1;
  }
  memcpy(o->bad, "no file=PATH at its end", 24);
  return 0;
}

static void ljmi_self_prefork(void) { pthread_mutex_lock(&ljmi_lock); }
static void ljmi_self_postfork(void) { pthread_mutex_unlock(&ljmi_lock); }
static void ljmi_self_child(void);

/* Reads the environment, once a process. */
static int ljmi_self_wanted(void)
{
  ljmi_orders *o = &ljmi_self_orders;
  const char *env;
  int bad = 0;
  pthread_mutex_lock(&ljmi_lock);
  if (!o->ready) {
    o->ready = 1;
    o->log = -1;
    o->limit = 64;
    o->opts.depth = 1;
    env = ljmi_self_secure() ? NULL : getenv("LJMEMPROF");
    if (env && *env) {
      o->on = ljmi_self_parse(o, env);
      bad = !o->on;
    }
    if (o->on)
      (void)pthread_atfork(ljmi_self_prefork, ljmi_self_postfork,
                           ljmi_self_child);
  }
  pthread_mutex_unlock(&ljmi_lock);
  if (bad) ljmi_self_fail(0, "LJMEMPROF", o->bad);
  return o->on;
}

/* Appends a line to the log: WORD, process, number, text. */
static int ljmi_self_log(const char *word, uint32_t number, const char *what)
{
  ljmi_orders *o = &ljmi_self_orders;
  char line[LJMI_SELF_PATH + 128];
  struct stat st;
  int n;
  /* A host that closes all files may have given the number to another. */
  if (o->log < 0 || fstat(o->log, &st) != 0 ||
      st.st_dev != o->log_stat.st_dev || st.st_ino != o->log_stat.st_ino)
    return 0;
  n = snprintf(line, sizeof(line), "%s\t%ld\t%lu\t%.*s\n", word,
               (long)getpid(), (unsigned long)number, LJMI_SELF_PATH, what);
  return write(o->log, line, (size_t)n) == (ssize_t)n;
}

/* Tells standard error, once a process, if somebody listens there. */
static void ljmi_self_tell_user(const char *of, const char *what)
{
  struct pollfd out = {2, POLLOUT, 0};
  char line[LJMI_SELF_PATH + 256];
  ssize_t n;
  int i;
  n = snprintf(line, sizeof(line),
               "ljmemprof: %.*s: %.128s; nothing is recorded", LJMI_SELF_PATH,
               of, what);
  for (i = 0; i < n; i++)
    if ((unsigned char)line[i] < 32 || line[i] == 127) line[i] = '?';
  line[n] = '\n';
  if (poll(&out, 1, 0) == 1 && out.revents == POLLOUT)
    n = write(2, line, (size_t)n + 1);
}

/* What failed goes to the log. A wrong value goes to the user, too, and so does
** what no log took. */
static void ljmi_self_fail(uint32_t number, const char *of, const char *what)
{
  ljmi_orders *o = &ljmi_self_orders;
  int saved = errno, told, logged = ljmi_self_log("fail", number, what);
  pthread_mutex_lock(&ljmi_lock);
  told = o->told || (logged && o->on);
  if (!told) o->told = 1;
  pthread_mutex_unlock(&ljmi_lock);
  if (!told) ljmi_self_tell_user(of, what);
  errno = saved;
}

/* -- the page */

/* Lets go of it, here. */
static void ljmi_self_nopage(ljmi_self *self)
{
  struct stat st;
  if (!self->page) return;
  (void)munmap(self->page, sizeof(*self->page));
  self->page = NULL;
  if (fstat(self->page_fd, &st) == 0 && st.st_ino == self->page_ino)
    (void)close(self->page_fd);
}

#if defined(__linux__) && defined(SYS_memfd_create)
/* Of <linux/memfd.h> and <linux/fcntl.h>, which libc may hide. */
#define LJMI_MFD_CLOEXEC 1u
#define LJMI_MFD_ALLOW_SEALING 2u
#define LJMI_F_ADD_SEALS 1033
#define LJMI_F_SEAL_SIZE 7  /* SEAL, SHRINK, GROW. */

static int ljmi_self_memfd(void)
{
  int fd = (int)syscall(SYS_memfd_create, "ljmemprof",
                        LJMI_MFD_CLOEXEC | LJMI_MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (fchmod(fd, 0600) == 0 &&
      ftruncate(fd, (off_t)sizeof(ljm_control)) == 0 &&
      fcntl(fd, LJMI_F_ADD_SEALS, LJMI_F_SEAL_SIZE) == 0)
    return fd;
  (void)close(fd);
  return -1;
}
#else
static int ljmi_self_memfd(void) { return -1; }
#endif
#undef LJMI_MFD_CLOEXEC
#undef LJMI_MFD_ALLOW_SEALING
#undef LJMI_F_ADD_SEALS
#undef LJMI_F_SEAL_SIZE

/* Without one the VM takes no orders, which the log tells. */
static void ljmi_self_newpage(ljmi_self *self)
{
  struct stat st;
  void *p;
  int fd;
  if (!ljmi_self_orders.control) return;
  fd = ljmi_self_memfd();
  if (fd >= 0 && fstat(fd, &st) == 0) {
    p = mmap(NULL, sizeof(ljm_control), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             0);
    if (p != MAP_FAILED) {
      self->page = (ljm_control *)p;
      self->page_fd = fd;
      self->page_ino = st.st_ino;
      self->served = 0;
      self->page->pid = (uint64_t)getpid();
      self->page->number = self->vm_number;
      memcpy(self->page->magic, LJM_CONTROL_MAGIC, 8);
      return;
    }
  }
  if (fd >= 0) (void)close(fd);
  (void)ljmi_self_log("fail", self->number, "control is not possible here");
}

static void ljmi_self_tell(ljmi_self *self)
{
  const ljm_vm *vm = self->vm;
  const ljm_buffer *b = vm->running ? vm->b : NULL;
  ljm_control *page = self->page;
  if (!page) return;
  page->recording = (uint32_t)vm->running;
  page->written = b ? b->out.written : vm->result.written;
  page->dropped = b ? b->dropped : vm->result.dropped;
}

/* -- recordings of our own */

/* The file's name for a recording: the first has none added. */
static void ljmi_self_name(char *buf, size_t size, uint32_t number)
{
  if (number < 2)
    (void)snprintf(buf, size, "%s", ljmi_self_orders.file);
  else
    (void)snprintf(buf, size, "%s.%lu", ljmi_self_orders.file,
                   (unsigned long)number);
}

/* The next number for a recording, 0: there were enough. */
static uint32_t ljmi_self_number(void)
{
  ljmi_orders *o = &ljmi_self_orders;
  uint32_t n = 0;
  pthread_mutex_lock(&ljmi_lock);
  if (o->begun < o->limit) n = ++o->begun;
  pthread_mutex_unlock(&ljmi_lock);
  return n;
}

/* The name with %p and %% resolved, as it is told. */
static void ljmi_self_path(char *buf, size_t size, const char *name)
{
  size_t n = 0;
  for (; *name && n + 24 < size; name++) {
    if (*name == '%' && name[1] == 'p')
      n += (size_t)snprintf(buf + n, size - n, "%ld", (long)getpid());
    else
      buf[n++] = *name;
    if (*name == '%') name++;
  }
  buf[n] = 0;
}

static ljm_status ljmi_self_start(ljmi_self *self, lua_State *L,
                                  ljm_error *err)
{
  char name[LJMI_SELF_PATH + 24], path[LJMI_SELF_PATH + 64];
  ljm_status st = LJM_E_LIMIT;
  uint32_t number = self->vm->running ? 0 : ljmi_self_number();
  memset(err, 0, sizeof(*err));
  if (self->vm->running) return LJM_E_RUNNING;
  if (number) {
    ljmi_self_name(name, sizeof(name), number);
    self->number = number;
    st = ljm_recorder_start_file(L, name, &ljmi_self_orders.opts, err);
  }
  if (st == LJM_OK) {
    ljmi_self_path(path, sizeof(path), name);
    path[sizeof(self->page->path) - 1] = 0;
    if (self->page) memcpy(self->page->path, path, strlen(path) + 1);
    (void)ljmi_self_log("begin", number, path);
  } else if (number) {
    ljmi_self_fail(number, name, err->sys_errno ? strerror(err->sys_errno)
                                                : ljm_status_text(st));
  }
  ljmi_self_tell(self);
  return st;
}

/* -- the hook that looks for orders */

static void *ljmi_self_hook(void *ud, void *p, size_t osz, size_t nsz);

/* Puts our hook before the recorder's. */
static void ljmi_self_wrap(ljmi_self *self)
{
  ljm_vm *vm = self->vm;
  if (vm->hook == ljmi_self_hook || !ljmi_vm_hooked(vm)) return;
  self->hook = vm->hook;
  vm->hook = vm->g->allocf = ljmi_self_hook;
}

/* A recording begins: our hook comes in front if it has something to do. */
static void ljmi_self_began(ljm_vm *vm)
{
  if (vm->self && vm->self->page) ljmi_self_wrap(vm->self);
}

/* Between recordings our hook alone waits for the order to start. */
static void ljmi_self_idle(ljmi_self *self)
{
  ljm_vm *vm = self->vm;
  if (!self->page) return;
  vm->allocf = vm->g->allocf;
  vm->allocd = vm->g->allocd;
  vm->hook = vm->g->allocf = ljmi_self_hook;
  vm->g->allocd = vm;
  self->idle = 1;
}

/* Our hook goes, before a recording begins or the VM ends. */
static void ljmi_self_leave(ljm_vm *vm)
{
  ljmi_self *self = vm->self;
  if (!self || !self->idle) return;
  self->idle = 0;
  if (!ljmi_vm_hooked(vm)) return;  /* The host has set another allocator. */
  vm->g->allocf = vm->allocf;
  vm->g->allocd = vm->allocd;
}

/* A recording has ended. */
static void ljmi_self_ended(ljm_vm *vm)
{
  static const char *const reasons[] = {
    "stopped", "VM closed", "process exit", "writing failed", "limit reached",
    "out of memory", "allocator replaced by the host"
  };
  ljmi_self *self = vm->self;
  char what[160];
  if (!self || self->forked) return;
  (void)snprintf(what, sizeof(what), "%s%s%s, %llu bytes",
                 reasons[vm->result.reason],
                 vm->result.error.sys_errno ? ": " : "",
                 vm->result.error.sys_errno
                   ? strerror(vm->result.error.sys_errno) : "",
                 (unsigned long long)vm->result.written);
  (void)ljmi_self_log("end", self->number, what);
  ljmi_self_tell(self);
  if (vm->result.reason != LJM_REASON_CLOSED &&
      vm->result.reason != LJM_REASON_EXIT && !vm->replaced)
    ljmi_self_idle(self);
}

/* First event in a child process: the parent's recording is not ours. */
static void ljmi_self_fork(ljmi_self *self, lua_State *L)
{
  ljm_vm *vm = self->vm;
  ljm_error err;
  int was = vm->running, idle = self->idle;
  if (was) (void)ljmi_vm_finish(vm, LJM_REASON_STOPPED);
  self->forked = 0;
  ljmi_self_leave(vm);
  ljmi_self_nopage(self);
  if (!strstr(ljmi_self_orders.file, "%p")) return;
  ljmi_self_newpage(self);
  if (was && ljmi_self_start(self, L, &err) == LJM_OK) return;
  if (was || idle) ljmi_self_idle(self);
}

static void ljmi_self_obey(ljmi_self *self, lua_State *L, uint32_t order)
{
  ljm_control *page = self->page;
  ljm_error err;
  ljm_status st;
  memset(&err, 0, sizeof(err));
  switch (order & 255) {
  case LJM_ORDER_START:
    st = ljmi_self_start(self, L, &err);
    break;
  case LJM_ORDER_STOP:
    st = ljm_recorder_stop(L, NULL);
    err = self->vm->result.error;
    break;
  case LJM_ORDER_SNAPSHOT:
    st = ljm_recorder_flush(L);
    break;
  default:
    st = LJM_E_ARG;
    break;
  }
  self->served = order;
  ljmi_self_tell(self);
  page->status = (uint32_t)st;
  page->sys_errno = (uint32_t)err.sys_errno;
  __atomic_store_n(&page->answer, order, __ATOMIC_RELEASE);
}

/* Something is to be done before the call that came goes on. */
static LJMI_NOINLINE void ljmi_self_attend(ljmi_self *self)
{
  ljm_vm *vm = self->vm;
  lua_State *L = vm->mp->L;  /* The call's. */
  lua_State *any = mainthread(vm->g);
  uint32_t order;
  if (vm->b && vm->b->out.busy) return;
  if (self->forked) {
    ljmi_self_fork(self, any);
  } else {
    order = __atomic_load_n(&self->page->order, __ATOMIC_ACQUIRE);
    ljmi_self_obey(self, any, order);
  }
  vm->mp->L = L;
}

static void *ljmi_self_hook(void *ud, void *p, size_t osz, size_t nsz)
{
  ljm_vm *vm = (ljm_vm *)ud;
  ljmi_self *self = vm->self;
  /* Not when something is freed: the collector may be in a list of the VM's. */
  if (LJMI_UNLIKELY(self->forked || (self->page && nsz > 0 &&
      __atomic_load_n(&self->page->order, __ATOMIC_RELAXED) !=
      self->served)))
    ljmi_self_attend(self);
  if (LJMI_LIKELY(vm->running)) {
    lua_Alloc f = vm->hook == ljmi_self_hook ? self->hook : vm->hook;
    return f(vm, p, osz, nsz);
  }
  return vm->allocf(vm->allocd, p, osz, nsz);
}

/* In a child process, right after fork: only notes what the VM's own thread
** does at its next event. */
static void ljmi_self_child(void)
{
  ljmi_self *self;
  pthread_mutex_unlock(&ljmi_lock);
  ljmi_self_orders.begun = 0;
  for (self = ljmi_self_orders.first; self; self = self->next) {
    self->forked = 1;
    ljmi_self_wrap(self);
  }
}

/* -- a VM comes and goes */

/* A new VM: record it if the environment says so. */
static void ljmi_self_newstate(lua_State *L)
{
  ljmi_orders *o = &ljmi_self_orders;
  ljm_error err;
  ljmi_self *self;
  int saved = errno;
  if (LJMI_LIKELY(!ljmi_self_wanted())) return;
  self = (ljmi_self *)malloc(sizeof(ljmi_self));
  if (self) {
    memset(self, 0, sizeof(*self));
    self->vm = ljmi_vm_make(L);
  }
  if (!self || !self->vm) {
    free(self);
  } else {
    self->vm->self = self;
    pthread_mutex_lock(&ljmi_lock);
    self->vm_number = ++o->vms;
    self->next = o->first;
    if (o->first) o->first->prev = self;
    o->first = self;
    pthread_mutex_unlock(&ljmi_lock);
    ljmi_self_newpage(self);
    if (o->wait || ljmi_self_start(self, L, &err) != LJM_OK)
      ljmi_self_idle(self);
  }
  errno = saved;
}

/* The VM ends, its recording has. */
static void ljmi_self_close(ljm_vm *vm)
{
  ljmi_self *self = vm->self;
  if (!self) return;
  ljmi_self_leave(vm);
  vm->self = NULL;
  pthread_mutex_lock(&ljmi_lock);
  if (self->prev) self->prev->next = self->next;
  else ljmi_self_orders.first = self->next;
  if (self->next) self->next->prev = self->prev;
  pthread_mutex_unlock(&ljmi_lock);
  ljmi_self_nopage(self);
  free(self);
}

#endif /* LJMI_SELF */

#endif /* LJM_LUAJIT */

#endif /* LJM_IMPLEMENTATION */

/* -- Licence: MIT, see LICENSE ------------------------------------------ */
