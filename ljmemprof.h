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
  uint64_t allocs, alloc_size;
  uint64_t frees, freed_size;
  uint64_t reallocs, old_size, new_size;
  uint64_t failed;
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

/* A stack is its parent's id and a frame; the newest child is at hand. */
typedef struct ljm_node {
  uint32_t parent, frame;
  uint32_t child_frame, child;
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
  ljm_interned csyms, functions, frames, sites;
  ljm_texts strings;
  uint32_t module_count, trace_count;
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
** memory, too many. May be called in an allocator hook; may write to the
** sink. Expected constant time. */
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
** return what the first one did. LJM_OK or the stream's first failure. */
LJM_API ljm_status ljm_encoder4_finish(ljm_encoder4 *e,
                                       ljm_end_reason reason,
                                       uint64_t gc_total);

/* As ljm_encoder_free. */
LJM_API void ljm_encoder4_free(ljm_encoder4 *e);

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
/* Clock checks: every so many bytes at most; no event is below 2. */
#define LJMI_STEP_MAX 128
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
** after less than LJMI_STEP_MAX bytes while they are many. */
static void ljmi_buffer_pace(ljm_buffer *b, uint64_t now, size_t need)
{
  if (now - b->checked > LJMI_STEP_NS)
    b->step = 0;
  else if (b->step < LJMI_STEP_MAX / 2)
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

/* Most bytes an event writes to. */
#define LJMI_EVENT4_MAX 72

/* Bytes that a site takes: its code. */
static inline unsigned ljmi_site_code(uint32_t site, uint32_t last)
{
  if (site == last) return 0;
  return 1u + (site > 0xff) + (site > 0xffff);
}

/* Z of a difference, in units of 8 if that is whole; else over 2^24. */
static inline uint64_t ljmi_address_delta(uint64_t address, uint64_t last)
{
  uint64_t d = address - last;
  uint64_t sign = 0 - (d >> 63);
  uint64_t z = (d >> 3 | sign << 61) << 1 ^ sign;
  return d & 7 ? UINT64_MAX : z;
}

/* Writes control, site and address; `control` has the other bits. */
static inline unsigned char *ljmi_put_event(unsigned char *p,
                                            unsigned control, ljm_last *last,
                                            uint32_t site, uint64_t address)
{
  uint64_t z = ljmi_address_delta(address, last->address);
  unsigned sc = ljmi_site_code(site, last->site);
  unsigned ac = 0u + (z > 0xff) + (z > 0xffff) + (z > 0xffffff);
  p[0] = (unsigned char)(control | ac << 4 | sc << 2);
  ljmi_put_u64(p + 1, site);
  p += 1 + sc;
  ljmi_put_u64(p, ac == 3 ? address : z);
  last->site = site;
  return p + (0x8321u >> (4 * ac) & 15);
}

/* Alloc or free; the totals are the caller's. */
static inline ljm_status ljmi_encoder4_event(ljm_encoder4 *e, unsigned op,
                                             uint32_t site, uint64_t address,
                                             uint64_t size)
{
  ljm_last *last = &e->last[op];
  unsigned code;
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT4_MAX);
  if (LJMI_UNLIKELY(!p)) return ljmi_buffer_drop(&e->b);
  code = size == last->size ? 0 : 1u + (size > 0xff) + (size > 0xffff);
  p = ljmi_put_event(p, op | code << 6, last, site, address);
  ljmi_put_u64(p, size);
  e->b.p = p + (0x8210u >> (4 * code) & 15);
  last->address = address;
  last->size = size;
  return LJM_OK;
}

static inline ljm_status ljmi_encoder4_alloc(ljm_encoder4 *e, uint32_t site,
                                             uint64_t address, uint64_t size)
{
  ljm_status st = ljmi_encoder4_event(e, LJM_FMT_OP_ALLOC, site, address,
                                      size);
  if (LJMI_UNLIKELY(st != LJM_OK)) return st;
  e->totals.allocs++;
  e->totals.alloc_size += size;
  return LJM_OK;
}

static inline ljm_status ljmi_encoder4_free(ljm_encoder4 *e, uint32_t site,
                                            uint64_t address, uint64_t size)
{
  ljm_status st = ljmi_encoder4_event(e, LJM_FMT_OP_FREE, site, address,
                                      size);
  if (LJMI_UNLIKELY(st != LJM_OK)) return st;
  e->totals.frees++;
  e->totals.freed_size += size;
  return LJM_OK;
}

/* Z of a difference, in bytes. */
static inline uint64_t ljmi_zigzag(uint64_t d)
{
  return d << 1 ^ (0 - (d >> 63));
}

static inline ljm_status ljmi_encoder4_moved(ljm_encoder4 *e, uint32_t site,
                                             uint64_t old_address,
                                             uint64_t old_size,
                                             uint64_t address, uint64_t size)
{
  ljm_last *last = &e->last[LJM_FMT_OP_REALLOC];
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT4_MAX);
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
  unsigned char *p = ljmi_reserve(&e->b, LJMI_EVENT4_MAX);
  if (p) *p++ = (unsigned char)(sub << 2 | LJM_FMT_OP_OTHER);
  return p;
}

/* Before a sample, in the same block: room for both, then the weight. */
static ljm_status ljmi_encoder4_weight(ljm_encoder4 *e, uint64_t weight)
{
  unsigned char *p = ljmi_reserve(&e->b, 2 * LJMI_EVENT4_MAX);
  if (!p) return ljmi_buffer_drop(&e->b);
  *p++ = (unsigned char)(LJM_FMT_SUB_WEIGHT << 2 | LJM_FMT_OP_OTHER);
  e->b.p = ljmi_put_uleb_loop(p, weight);
  return LJM_OK;
}

/* Slots looked at for a key; one that is not found there is new. */
#define LJMI_PROBES 32
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
  id = (uint32_t)(t->count + 1);
  *p = ljmi_def_begin(e, kind, id, LJMI_DEF_MAX);
  if (!*p) return ljmi_undefined(e);
  memcpy(t->keys + t->count * t->words, key, t->words * sizeof(*key));
  t->count++;
  ljmi_slot_put(&t->slots, hash, id);
  return id;
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

LJM_API uint32_t ljm_encoder4_frame_vm(ljm_encoder4 *e, ljm_state state)
{
  unsigned char *p;
  uint32_t id = ljmi_frame(e, LJM_FMT_FRAME_VM, 0, (uint32_t)state, 0, &p);
  if (!p) return id;
  *p++ = (unsigned char)state;
  ljmi_def_end(e, p);
  return id;
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
  unsigned char *p;
  uint32_t id = ljmi_frame(e, LJM_FMT_FRAME_GAP, 0, (uint32_t)gap, 0, &p);
  if (!p) return id;
  *p++ = (unsigned char)gap;
  ljmi_def_end(e, p);
  return id;
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

LJM_API uint32_t ljm_encoder4_site(ljm_encoder4 *e, uint32_t stack,
                                   ljm_state state, ljm_object object)
{
  uint32_t key[2], id;
  unsigned char *p;
  if (!e || !e->base) return 0;
  key[0] = stack;
  key[1] = (uint32_t)state << 8 | (uint32_t)object;
  id = ljmi_intern(e, &e->sites, LJM_FMT_DEF_SITE, key, &p);
  if (!p) return id;
  p = ljmi_put_uleb(p, stack);
  *p++ = (unsigned char)state;
  *p++ = (unsigned char)object;
  ljmi_def_end(e, p);
  return id;
}

/* -- stacks */

static uint32_t ljmi_stack_hash(uint32_t parent, uint32_t frame)
{
  uint64_t h = ((uint64_t)parent << 32 | frame) *
               UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(h >> 32);
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
  n->child_frame = n->child = 0;
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
  return st == LJM_OK ? ljmi_encoder4_alloc(e, site, address, size) : st;
}

LJM_API ljm_status ljm_encoder4_dealloc(ljm_encoder4 *e, uint32_t site,
                                        uint64_t address, uint64_t size)
{
  ljm_status st = ljmi_encoder4_ready_at(e, site);
  if (st != LJM_OK || address == 0) return st;
  return ljmi_encoder4_free(e, site, address, size);
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
  return ljmi_encoder4_alloc(e, site, address, size);
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
  if (!mark) return LJM_E_ARG;
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
  if (st == LJM_OK && e->kind != LJM_FMT_LIVE)
    st = ljmi_encoder4_turn(e, LJM_FMT_LIVE);
  if (st != LJM_OK) return st;
  p = ljmi_reserve(&e->b, LJMI_EVENT4_MAX);
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
  if (!e || !e->base) return LJM_E_ARG;
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
  (void)ljmi_output_close(&e->b.out);
  ljmi_texts_free(&e->mem, &e->strings);
  ljmi_interned_free(&e->mem, &e->csyms);
  ljmi_interned_free(&e->mem, &e->functions);
  ljmi_interned_free(&e->mem, &e->frames);
  ljmi_interned_free(&e->mem, &e->sites);
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

/* -- LuaJIT binding ----------------------------------------------------- */

/* -- Entry points ------------------------------------------------------- */

#endif /* LJM_IMPLEMENTATION */

/* -- Licence: MIT, see LICENSE ------------------------------------------ */
