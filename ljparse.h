/*
** ljparse.h - 0.1.0 - reads LuaJIT memory profiler streams, aggregates and
** reports. SPDX-License-Identifier: MIT
**
**   #define LJP_IMPLEMENTATION
**   #include "ljparse.h"
**   #include <stdio.h>
**   static int put(void *f, const void *p, size_t n)
**   { return fwrite(p, 1, n, (FILE *)f) == n ? 0 : -1; }
**   int main(void)
**   {
**     static char buf[65536];
**     ljp_profile *prof;
**     size_t n;
**     if (ljp_profile_new(&prof, NULL) != LJP_OK) return 1;
**     while ((n = fread(buf, 1, sizeof(buf), stdin)) != 0)
**       if (ljp_profile_feed(prof, buf, n) > LJP_MORE) break;
**     ljp_profile_finish(prof);
**     ljp_profile_report(prof, LJP_TEXT, NULL, put, stdout);
**     ljp_profile_free(prof);
**     return 0;
**   }
**
** Any bytes are safe input: cut, damaged or hostile streams end in a status
** with a byte offset, and what came before stays usable. No call reads or
** writes outside its buffers, recurses by input, takes more than O(n log n)
** or exceeds the limits set. Objects share nothing: one thread at a time may
** use an object, different threads may use different ones. Nothing here may
** be called from a signal handler. All calls that take input may allocate,
** reports too; nothing prints or exits. Not promised: that a stream tells the
** truth.
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
**            tree | Decoder | Symbols | Aggregate | Reports | Call trees
** Implementation: Includes | Errors | Allocator and limits | Checked
**            arithmetic and cursor | Decoder | AVL tree and symbols |
**            Aggregate | Reports | Call trees
*/
#ifndef LJPARSE_H
#define LJPARSE_H

/* -- Versions ----------------------------------------------------------- */

#include <stddef.h>
#include <stdint.h>

#define LJP_VERSION 100
#define LJP_VERSION_STRING "0.1.0"

#ifndef LJP_API
#if defined(LJP_STATIC) && defined(__GNUC__)
#define LJP_API static __attribute__((__unused__))
#elif defined(LJP_STATIC)
#define LJP_API static
#elif defined(__cplusplus)
#define LJP_API extern "C"
#else
#define LJP_API extern
#endif
#endif

/* -- Status codes ------------------------------------------------------- */

/* Values are fixed once released. Above LJP_MORE all are errors. */
typedef enum ljp_status {
  LJP_OK = 0,
  LJP_END = 1,             /* The stream's end was read: all is complete. */
  LJP_MORE = 2,            /* All bytes taken, the end is still to come. */
  LJP_E_ARG = 3,           /* An argument breaks the documented rules. */
  LJP_E_NOMEM = 4,         /* The allocator failed. */
  LJP_E_IO = 5,            /* The write callback failed. */
  LJP_E_LIMIT = 6,         /* A configured limit was reached. */
  LJP_E_MALFORMED = 7,     /* The input breaks its format. */
  LJP_E_UNSUPPORTED = 8,   /* A format version that is not known. */
  LJP_E_TRUNCATED = 9      /* The input ended before the stream did. */
} ljp_status;

/* Static English text of a status, "unknown status" for other values. */
LJP_API const char *ljp_status_text(ljp_status status);

/* -- Allocator, limits and errors --------------------------------------- */

/* Memory functions of one object. All NULL: malloc family; partly filled is
** LJP_E_ARG. `size` is in bytes and never 0; `old_size` is what was asked. */
typedef struct ljp_allocator {
  void *(*alloc)(void *user, size_t size);
  void *(*realloc)(void *user, void *p, size_t old_size, size_t size);
  void (*free)(void *user, void *p, size_t size);
  void *user;
} ljp_allocator;

/* State of an allocator over a caller's buffer. Its fields are private. */
typedef struct ljp_arena {
  unsigned char *base;
  size_t size, used, last;
} ljp_arena;

/* Makes *a hand out memory from the `size` bytes at `buf` (any alignment)
** and nothing else. Freed blocks are reused only when they lie last, so it
** suits objects that live as long as the buffer. `arena` and `buf` must
** outlive all objects that use *a; one thread at a time. */
LJP_API void ljp_arena_init(ljp_arena *arena, void *buf, size_t size,
                            ljp_allocator *a);

#define LJP_UNLIMITED UINT64_MAX

/* Limits of one object. 0 is the default that stands behind each. */
typedef struct ljp_limits {
  uint64_t memory;      /* Bytes held at once: 4 GiB (1 GiB on 32 bit). */
  uint64_t string;      /* Bytes of one string: 16 MiB. */
  uint64_t hold;        /* Bytes held back to tell a layout: 256 MiB. */
  uint64_t records;     /* Events and definitions: 2^40. */
  uint64_t symbols;     /* Distinct symbols: 16 Mi. */
  uint64_t sites;       /* Distinct locations, stacks: 8 Mi. */
  uint64_t live;        /* Blocks live at once: 256 Mi. */
} ljp_limits;

/* Which limit LJP_E_LIMIT means. */
typedef enum ljp_limit {
  LJP_LIMIT_NONE, LJP_LIMIT_MEMORY, LJP_LIMIT_STRING, LJP_LIMIT_HOLD,
  LJP_LIMIT_RECORDS, LJP_LIMIT_SYMBOLS, LJP_LIMIT_SITES, LJP_LIMIT_LIVE
} ljp_limit;

/* Part of a stream. */
typedef enum ljp_section {
  LJP_SECTION_NONE, LJP_SECTION_SYMBOL_HEADER, LJP_SECTION_SYMBOLS,
  LJP_SECTION_EVENT_HEADER, LJP_SECTION_EVENTS, LJP_SECTION_AFTER_END,
  LJP_SECTION_BLOCKS
} ljp_section;

/* What went wrong, first error of an object; status LJP_OK: nothing yet. */
typedef struct ljp_error {
  ljp_status status;
  ljp_section section;
  ljp_limit limit;        /* Of LJP_E_LIMIT. */
  unsigned version;       /* Of LJP_E_UNSUPPORTED. */
  uint64_t off;           /* Byte of the fault from the stream's start; of
                          ** LJP_E_TRUNCATED: number of bytes there were. */
  uint64_t record_off;    /* Where the record at fault begins. */
} ljp_error;

/* Writes a line of English about *e, without newline, NUL-terminated and cut
** to fit, to the `size` bytes at `buf`. Returns buf. */
LJP_API char *ljp_error_text(const ljp_error *e, char *buf, size_t size);

/* How traces are laid out in streams of LJS 2 with LJM 3. */
typedef enum ljp_trace_layout {
  LJP_TRACE_AUTO,          /* Told from the data. */
  LJP_TRACE_WITH_ADDR,     /* Machine-code address after the number. */
  LJP_TRACE_WITHOUT_ADDR
} ljp_trace_layout;

/* What an aggregate computes. */
typedef enum ljp_model {
  LJP_MODEL_TRUE,          /* Right answers: for all reports but `classic`. */
  LJP_MODEL_CLASSIC        /* The peer's sums, for LJP_CLASSIC only. */
} ljp_model;

/* Options of all objects; all zero is the default. */
typedef struct ljp_options {
  ljp_allocator allocator;
  ljp_limits limits;
  ljp_trace_layout trace_layout;
  ljp_model model;
  /* A ljp_profile leaves out the events before and after. 0, NULL: all. */
  uint64_t from_event, to_event; /* Numbers from 1. */
  uint64_t from_time, to_time;   /* Nanoseconds, as precise as the marks. */
  const char *from_mark, *to_mark; /* Labels of marks; kept by the caller. */
  /* Aggregates: what is slower than the rest. */
  unsigned temp_within;   /* A block freed before so many more allocations is
                          ** temporary, at most 256; 0: by the next event. */
  int lifetimes;          /* 1: keep how long blocks lived. */
} ljp_options;

/* -- AVL tree ----------------------------------------------------------- */

/* A map from 64-bit keys to 64-bit values, ordered by key. Nodes take 24
** bytes each and lie in chunks that never move; nothing recurses. Insert,
** remove and each lookup take O(log n). */
typedef struct ljp_avl ljp_avl;

/* Makes an empty tree in *out. `options` may be NULL; of its limits, memory
** counts. LJP_OK, LJP_E_ARG, LJP_E_NOMEM, LJP_E_LIMIT. Free it with
** ljp_avl_free. */
LJP_API ljp_status ljp_avl_new(ljp_avl **out, const ljp_options *options);

/* Frees a tree; NULL is allowed. */
LJP_API void ljp_avl_free(ljp_avl *t);

/* Number of keys. */
LJP_API size_t ljp_avl_count(const ljp_avl *t);

/* Sets key to value. If the key was there, *old gets what it stood for and
** *had 1; else *had gets 0. Both may be NULL. LJP_OK, LJP_E_NOMEM,
** LJP_E_LIMIT; an error changes nothing. */
LJP_API ljp_status ljp_avl_insert(ljp_avl *t, uint64_t key, uint64_t value,
                                  uint64_t *old, int *had);

/* Looks for exactly `key`. Returns 1 and sets *value (may be NULL), or 0. */
LJP_API int ljp_avl_find(const ljp_avl *t, uint64_t key, uint64_t *value);

/* Looks for the greatest key <= `key`. Returns 1 and sets *found and *value
** (each may be NULL), or 0. */
LJP_API int ljp_avl_floor(const ljp_avl *t, uint64_t key, uint64_t *found,
                          uint64_t *value);

/* Removes `key`. Returns 1 and sets *value (may be NULL), or 0. */
LJP_API int ljp_avl_remove(ljp_avl *t, uint64_t key, uint64_t *value);

/* Calls fn for each key in ascending order until it returns not 0, which is
** then returned; else 0. fn must not change the tree. O(n). */
LJP_API int ljp_avl_walk(const ljp_avl *t,
                         int (*fn)(void *user, uint64_t key, uint64_t value),
                         void *user);

/* Checks order, balance and count. Returns 1 if all hold. O(n). */
LJP_API int ljp_avl_validate(const ljp_avl *t);

/* Height in nodes: 0 for an empty tree. O(log n). */
LJP_API unsigned ljp_avl_height(const ljp_avl *t);

/* -- Decoder ------------------------------------------------------------ */

/* Kind of an event. */
typedef enum ljp_event_kind {
  LJP_EVENT_ALLOC = 1,
  LJP_EVENT_FREE = 2,
  LJP_EVENT_REALLOC = 3,
  LJP_EVENT_FAILED_ALLOC = 4,     /* Format 4; else an alloc to address 0. */
  LJP_EVENT_FAILED_REALLOC = 5    /* Format 4; else a realloc to address 0. */
} ljp_event_kind;

/* Where an event came from. */
typedef enum ljp_source {
  LJP_SOURCE_INTERNAL = 1,  /* The VM itself. */
  LJP_SOURCE_LUA = 2,       /* id: prototype's address; line. */
  LJP_SOURCE_C = 3,         /* id: function's address. */
  LJP_SOURCE_TRACE = 4,     /* id: trace number; line: machine code address. */
  LJP_SOURCE_SITE = 5       /* id: site of format 4. */
} ljp_source;

/* One event, as the stream has it. */
typedef struct ljp_event {
  uint8_t kind;           /* ljp_event_kind */
  uint8_t source;         /* ljp_source */
  uint16_t reserved;
  uint32_t reserved2;
  uint64_t off;           /* Offset of its record in the stream. */
  uint64_t id;            /* By source, see there. */
  uint64_t line;
  uint64_t addr;          /* New address (alloc, realloc). */
  uint64_t size;          /* New size in bytes. */
  uint64_t old_addr;      /* Old address (free, realloc). */
  uint64_t old_size;
  uint64_t weight;        /* Bytes that a sample stands for; 0: exact. */
} ljp_event;

/* Kind of a record that is no event. */
typedef enum ljp_record_kind {
  LJP_RECORD_VERSIONS = 1,  /* id: LJS version; size: LJM version. */
  LJP_RECORD_PROTO = 2,     /* id: address; name: chunk; line: first line. */
  LJP_RECORD_CSYM = 3,      /* id: address; name; size: 0 if not known. */
  LJP_RECORD_TRACE = 4,     /* id: number; addr: prototype; line: start;
                            ** mcode: machine code address or 0. */
  LJP_RECORD_STRAY = 5,     /* The CSYM before was a stray record. */
  /* Format 4. n: the numbers after the id, in the grammar's order. */
  LJP_RECORD_META = 6,      /* name: key; text: value. */
  LJP_RECORD_STRING = 7,    /* id; name. */
  LJP_RECORD_MODULE = 8,    /* id; n: path, base, size, bias; name: build-id,
                            ** bytes. */
  LJP_RECORD_CFUNC = 9,     /* id; n: module, address, size, name. */
  LJP_RECORD_FUNCTION = 10, /* id; n: chunk, first line, last line. */
  LJP_RECORD_FRAME = 11,    /* id; n: ljp_frame_kind, then its numbers. */
  LJP_RECORD_STACK = 12,    /* id; n: parent (lower, or 0: none), frame. */
  LJP_RECORD_SITE = 13,     /* id; n: stack, state, object. */
  LJP_RECORD_START = 14,    /* id of a trace; n: number, frame. */
  LJP_RECORD_MARK = 15,     /* n: reason, label, time, GC total, threshold,
                            ** RSS. */
  LJP_RECORD_LOADED = 16,   /* n: module. */
  LJP_RECORD_UNLOADED = 17, /* n: module. */
  LJP_RECORD_DROPPED = 18,  /* n: events, bytes. */
  LJP_RECORD_LIVE = 19,     /* addr; n: object. */
  LJP_RECORD_FINAL = 20,    /* n: the 13 numbers of END. */
  LJP_RECORD_DAMAGE = 21    /* Bytes off to off + size are lost, 0 if whole
                            ** blocks are missing there. n: events that were
                            ** in them as far as known, blocks missing. */
} ljp_record_kind;

/* First number of a LJP_RECORD_FRAME. */
typedef enum ljp_frame_kind {
  LJP_FRAME4_LUA = 0,       /* function, line */
  LJP_FRAME4_C = 1,         /* address, C function, module */
  LJP_FRAME4_VM = 2,        /* state */
  LJP_FRAME4_JIT = 3,       /* trace number, trace */
  LJP_FRAME4_FAST = 4,      /* name */
  LJP_FRAME4_GAP = 5        /* mark: what is missing */
} ljp_frame_kind;

/* A definition, remark or mark. `name`, `text` (not NUL-terminated) and `n`
** are valid only during the call. In format 4 a definition may come more than
** once, after its use, or never, if it was in a lost block. */
typedef struct ljp_record {
  ljp_record_kind kind;
  uint64_t off;
  uint64_t id, addr, line, size, mcode;
  const char *name;
  size_t name_size;
  const char *text;
  size_t text_size;
  const uint64_t *n;
  size_t n_count;
} ljp_record;

/* What a decoder calls, in stream order. Each may be NULL. A status other
** than LJP_OK stops the decoder with that status. on_events gets 1..n events
** at once; it may set *failed to the index of the one that it refuses. */
typedef struct ljp_handler {
  ljp_status (*on_events)(void *user, const ljp_event *events, size_t count,
                          size_t *failed);
  ljp_status (*on_record)(void *user, const ljp_record *record);
  void *user;
} ljp_handler;

typedef struct ljp_decoder ljp_decoder;

/* Makes a decoder in *out that calls *handler, which is copied. `options`
** may be NULL. LJP_OK, LJP_E_ARG, LJP_E_NOMEM, LJP_E_LIMIT. */
LJP_API ljp_status ljp_decoder_new(ljp_decoder **out,
                                   const ljp_handler *handler,
                                   const ljp_options *options);

/* Takes the next `size` bytes, all of them; unfinished records are kept
** inside (of format 4: blocks, up to 1 MiB). LJP_MORE; LJP_END once the end
** was read; an error, which sticks. What was decoded before an error has
** reached the handler. Damage in a format 4 stream is skipped, told by a
** LJP_RECORD_DAMAGE, and is LJP_E_MALFORMED only when the end is read or
** finish is called; its offset is then the first damage's. */
LJP_API ljp_status ljp_decoder_feed(ljp_decoder *d, const void *data,
                                    size_t size);

/* Says that no more bytes come. LJP_END, LJP_E_TRUNCATED or the error that
** stuck. */
LJP_API ljp_status ljp_decoder_finish(ljp_decoder *d);

/* The error, status LJP_OK if there is none; valid while d lives. */
LJP_API const ljp_error *ljp_decoder_error(const ljp_decoder *d);

/* Bytes taken so far. */
LJP_API uint64_t ljp_decoder_offset(const ljp_decoder *d);

LJP_API void ljp_decoder_free(ljp_decoder *d);

/* -- Symbols ------------------------------------------------------------ */

/* Names of addresses and traces as the stream has defined them so far: a
** number that is defined again means something else from then on. Resolve at
** an event's time and keep the label; labels never change. */
typedef struct ljp_symbols ljp_symbols;

/* Kind of a label or of the place where a trace started. */
typedef enum ljp_label_kind {
  LJP_LABEL_NONE = 0,
  LJP_LABEL_INTERNAL = 1,      /* INTERNAL */
  LJP_LABEL_LUA = 2,           /* name: chunk; value: line; line: first line
                               ** of the function (true model) */
  LJP_LABEL_CSYM = 3,          /* name; value: the symbol's address */
  LJP_LABEL_NEAR = 4,          /* name; value: offset from it; not certain */
  LJP_LABEL_CFUNC = 5,         /* value: address */
  LJP_LABEL_LFUNC = 6,         /* value: prototype's address; line: line */
  LJP_LABEL_UNKNOWN_TRACE = 7, /* a number that is no trace's */
  LJP_LABEL_SITE = 8,          /* value: site of format 4 */
  LJP_LABEL_MODULE = 9,        /* name: path; value: offset in it */
  LJP_LABEL_STATE = 10,        /* value: state of the VM, which did it */
  LJP_LABEL_BUILTIN = 11,      /* name: of a fast function */
  LJP_LABEL_GAP = 12,          /* value: mark of what is not recorded */
  LJP_LABEL_LOST = 13,         /* defined in lost bytes, value to line */
  /* Of reports by larger units than lines: */
  LJP_LABEL_FUNCTION = 14,     /* name: chunk; value: first line */
  LJP_LABEL_FILE = 15,         /* name: chunk or module */
  LJP_LABEL_DIR = 16,          /* name: chunk or module; value: its length
                               ** up to the last slash */
  LJP_LABEL_OTHER = 17         /* value: 0 C functions, 1 JIT code of unknown
                               ** start, 2 Lua code of unknown source */
} ljp_label_kind;

/* A place by name. Plain data; `name` is an index for ljp_symbols_string. */
typedef struct ljp_label {
  uint8_t kind;                /* ljp_label_kind; of a trace: its start's */
  uint8_t trace_kind;          /* 0 no trace, 1 a trace, 2 with mcode */
  uint16_t reserved;
  uint32_t name;               /* 0: none */
  uint64_t value, line;
  uint64_t trace, mcode;       /* trace number, machine code address */
} ljp_label;

/* Makes an empty table in *out. `options` may be NULL. LJP_OK, LJP_E_ARG,
** LJP_E_NOMEM, LJP_E_LIMIT. */
LJP_API ljp_status ljp_symbols_new(ljp_symbols **out,
                                   const ljp_options *options);
LJP_API void ljp_symbols_free(ljp_symbols *s);

/* Takes a definition (other kinds of records are ignored). LJP_OK,
** LJP_E_NOMEM, LJP_E_LIMIT; an error changes no name. O(log n). */
LJP_API ljp_status ljp_symbols_define(ljp_symbols *s, const ljp_record *r);

/* Sets *label to what a location means now, by `model`'s rules. LJP_OK,
** LJP_E_NOMEM, LJP_E_LIMIT (the question itself is noted, so that a later
** answer is known to be new). O(log n). */
LJP_API ljp_status ljp_symbols_resolve(ljp_symbols *s, ljp_model model,
                                       unsigned source, uint64_t id,
                                       uint64_t line, ljp_label *label);

/* Sets *label to what a site of format 4 means by what is defined so far: the
** innermost frame of its stack, or the state in which the VM acted by
** itself. Definitions may come after their use: best asked at the end.
** O(log n). */
LJP_API void ljp_symbols_site(const ljp_symbols *s, uint64_t site,
                              ljp_label *label);

/* A number that differs from an earlier one if any answer of resolve may
** have changed since. */
LJP_API uint64_t ljp_symbols_epoch(const ljp_symbols *s);

/* Number of distinct prototypes, C symbols and traces defined. */
LJP_API size_t ljp_symbols_count(const ljp_symbols *s);

/* Bytes of a string by index, *size of them, not NUL-terminated; valid while
** s lives. "" for an index that does not exist. */
LJP_API const char *ljp_symbols_string(const ljp_symbols *s, uint32_t name,
                                       size_t *size);

/* N of a chunk name that holds a newline and is shown as function_alias_N;
** else 0. */
LJP_API uint32_t ljp_symbols_alias(const ljp_symbols *s, uint32_t name);

/* -- Aggregate ---------------------------------------------------------- */

/* Sums by site. A site is a location together with what it meant at the
** event's time. */
typedef struct ljp_aggregate ljp_aggregate;

/* One site's sums; bytes unless said. Blocks are owned by the site that
** last (re)allocated them. Events of a sample count by its weight. */
typedef struct ljp_site {
  uint64_t id, line;             /* The location; */
  uint8_t source;                /* ljp_source */
  uint8_t reserved[3];
  uint32_t label;                /* for ljp_aggregate_label */
  uint64_t alloc_count, alloc_size;
  uint64_t realloc_count, realloc_new_size, realloc_old_size;
  uint64_t free_count, free_size;        /* done here, whoever owned it */
  uint64_t failed_count, failed_size;    /* calls that got no memory */
  uint64_t live_count, live_size;        /* owned now */
  uint64_t taken_count, given_count;     /* blocks that came to be owned
                                         ** here, and ceased to be */
  uint64_t peak_count, peak_size;        /* owned at the highest total */
  uint64_t temp_count, temp_size;        /* freed almost at once: see
                                         ** ljp_options.temp_within */
  uint64_t life_count, life_size;        /* ljp_options.lifetimes: blocks
                                         ** freed, and bytes allocated while
                                         ** they lived, summed up */
  uint64_t alloc_error, live_error;      /* of samples: two standard errors of
                                         ** alloc_size and live_size; in 95
                                         ** of 100 recordings the truth is no
                                         ** further off, in 90 if less than
                                         ** ten of the samples are of blocks
                                         ** smaller than their distance */
} ljp_site;

/* Sums over all. One that reaches 2^64-1 stays there, and what is taken from
** it afterwards is not exact any more: only a stream that lies gets there. */
typedef struct ljp_totals {
  uint64_t events;
  uint64_t alloc_count, alloc_size;
  uint64_t realloc_count, realloc_new_size, realloc_old_size;
  uint64_t free_count, free_size;
  uint64_t failed_count;
  uint64_t live_count, live_size;
  uint64_t peak_count, peak_size, peak_event;  /* highest live_size, and
                                               ** the number of its event */
  uint64_t temp_count, temp_size;
  uint64_t before_count, before_size;  /* freed or moved, never seen made */
  uint64_t again_count;    /* address allocated while still live */
  uint64_t size_count;     /* old size differs from the one recorded */
  uint64_t null_free_count;            /* frees of address 0 */
  uint64_t stray_count;                /* stray records */
  uint64_t sampled_count;
  uint64_t alloc_error, live_error;    /* as ljp_site's */
} ljp_totals;

/* Makes an aggregate in *out that resolves through `symbols`, which must
** outlive it. `options` may be NULL; model decides what is computed.
** LJP_OK, LJP_E_ARG, LJP_E_NOMEM, LJP_E_LIMIT. */
LJP_API ljp_status ljp_aggregate_new(ljp_aggregate **out,
                                     ljp_symbols *symbols,
                                     const ljp_options *options);
LJP_API void ljp_aggregate_free(ljp_aggregate *a);

/* Adds `count` events; definitions go to the symbols before. LJP_OK,
** LJP_E_NOMEM, LJP_E_LIMIT; then *failed (may be NULL) is the index of the
** event that was not added, nor any after it. */
LJP_API ljp_status ljp_aggregate_events(ljp_aggregate *a,
                                        const ljp_event *events, size_t count,
                                        size_t *failed);

/* Which limit the last LJP_E_LIMIT met. */
LJP_API ljp_limit ljp_aggregate_limit(const ljp_aggregate *a);

/* Sums over all so far. O(sites). */
LJP_API void ljp_aggregate_totals(const ljp_aggregate *a, ljp_totals *out);

/* Number of sites, and site `idx` below it; its label. LJP_MODEL_TRUE. */
LJP_API size_t ljp_aggregate_site_count(const ljp_aggregate *a);
LJP_API void ljp_aggregate_site(const ljp_aggregate *a, size_t idx,
                                ljp_site *out);
LJP_API const ljp_label *ljp_aggregate_label(const ljp_aggregate *a,
                                             uint32_t label);

/* A live block: what find and walk give. */
typedef struct ljp_block {
  uint64_t addr, size;
  uint32_t site;
} ljp_block;

/* With ljp_options.lifetimes: how many freed blocks had lived while less than
** 2^class bytes, but not less than half of that, were allocated, and their
** bytes; class 0 to 63. Else 0. Each may be NULL. */
LJP_API void ljp_aggregate_lives(const ljp_aggregate *a, unsigned class_,
                                 uint64_t *count, uint64_t *size);

/* Looks for the live block at `addr`. Returns 1 and sets *out, or 0. */
LJP_API int ljp_aggregate_find(const ljp_aggregate *a, uint64_t addr,
                               ljp_block *out);

/* Bytes that the table of live blocks takes now, all in. */
LJP_API uint64_t ljp_aggregate_table_size(const ljp_aggregate *a);

/* -- Reports ------------------------------------------------------------ */

/* Takes `size` bytes of a report. 0, or anything else for failure. */
typedef int (*ljp_write)(void *user, const void *data, size_t size);

typedef enum ljp_format {
  LJP_TEXT = 0,            /* Needs LJP_MODEL_TRUE, as all others but: */
  LJP_CLASSIC = 1,         /* the peer's report; needs LJP_MODEL_CLASSIC. */
  LJP_JSON = 2             /* One object; its schema stands below. */
} ljp_format;                /* Names that would fill more than 64 MiB are cut
                           ** to what fits, 1 KiB at least, with a hash. */

/* What a line of a report is: a line of source, or all of a function, of a
** file or module, of a directory. */
typedef enum ljp_by {
  LJP_BY_LINE = 0, LJP_BY_FUNCTION = 1, LJP_BY_FILE = 2, LJP_BY_DIR = 3
} ljp_by;

/* Order of lines, most first; equal ones by label. */
typedef enum ljp_sort {
  LJP_SORT_DEFAULT = 0,    /* Events; of what is held and in JSON, bytes. */
  LJP_SORT_EVENTS = 1,     /* Number of events; allocations of what is held
                           ** and in JSON. */
  LJP_SORT_BYTES = 2,      /* Bytes allocated and freed; held; in JSON held,
                           ** then allocated. */
  LJP_SORT_NAME = 3        /* Label, ascending. */
} ljp_sort;

typedef struct ljp_report_options {
  int leak_only;           /* Only what is still held. */
  int human_readable;      /* 1.5KiB instead of 1536B; not in JSON. */
  ljp_by by;
  ljp_sort sort;
  size_t limit;            /* Lines of a section at most; 0: all. */
} ljp_report_options;

/* JSON, schema "ljparse-report-1". Keys stand in this order, none is ever
** left out; numbers are whole and exact, up to 2^64-1; text is UTF-8, bytes
** that are none are U+FFFD; later schemas may add keys.
**   {"schema", "by": "line" | "function" | "file" | "dir",
**    "complete": bool,
**    "error": null | {"status", "offset", "record", "message"},
**    "totals": {"events", "alloc_count", "alloc_bytes", "realloc_count",
**      "realloc_new_bytes", "realloc_old_bytes", "free_count", "free_bytes",
**      "failed_count", "live_count", "live_bytes", "peak_count",
**      "peak_bytes", "peak_event", "temp_count", "temp_bytes",
**      "before_count", "before_bytes", "again_count", "size_count",
**      "null_free_count", "stray_count", "sampled_count", "alloc_error",
**      "live_error"},
**    "rows": [{"label", "kind", "name": text | null, "line": number | null,
**      "trace": number | null, "alloc_count", "alloc_bytes",
**      "realloc_count", "realloc_new_bytes", "realloc_old_bytes",
**      "free_count", "free_bytes", "failed_count", "live_count",
**      "live_bytes", "taken_count", "given_count", "peak_count",
**      "peak_bytes", "temp_count", "temp_bytes", "alloc_error",
**      "live_error",
**      "frees": [label...], "moves": [label...]}],
**    "rows_left_out"}
** The numbers are those of ljp_totals and ljp_site; "kind" is lua, c,
** internal, trace, function, file, dir, other or missing; "frees" and "moves"
** are labels of rows whose blocks were freed and reallocated here. */

/* Writes a report; `options` may be NULL. LJP_OK; LJP_E_ARG: the aggregate's
** model or an option does not fit; LJP_E_IO: `write` failed; LJP_E_NOMEM.
** O(n log n). */
LJP_API ljp_status ljp_report(const ljp_aggregate *a,
                              ljp_format format,
                              const ljp_report_options *options,
                              ljp_write write, void *user);

/* Decoder, symbols and aggregate in one. */
typedef struct ljp_profile ljp_profile;

/* Makes one in *out; `options` may be NULL. The memory limit is that of all
** parts together; a report's own, less than the aggregate's, comes on top.
** LJP_OK, LJP_E_ARG, LJP_E_NOMEM, LJP_E_LIMIT. */
LJP_API ljp_status ljp_profile_new(ljp_profile **out,
                                   const ljp_options *options);

/* As ljp_decoder_feed, _finish, _error. After any error all that was read
** before it can still be reported. */
LJP_API ljp_status ljp_profile_feed(ljp_profile *p, const void *data,
                                    size_t size);
LJP_API ljp_status ljp_profile_finish(ljp_profile *p);
LJP_API const ljp_error *ljp_profile_error(const ljp_profile *p);

/* The parts, owned by p. */
LJP_API const ljp_aggregate *ljp_profile_aggregate(const ljp_profile *p);
LJP_API const ljp_symbols *ljp_profile_symbols(const ljp_profile *p);

/* Whether the end of the window that the options ask for has come; 1 if they
** ask for none. 0: all up to the stream's end is in the profile. */
LJP_API int ljp_profile_window_ended(const ljp_profile *p);

/* Highest number of bytes held at once so far. */
LJP_API uint64_t ljp_profile_peak(const ljp_profile *p);

/* As ljp_report. */
LJP_API ljp_status ljp_profile_report(ljp_profile *p, ljp_format format,
                                      const ljp_report_options *options,
                                      ljp_write write, void *user);

LJP_API void ljp_profile_free(ljp_profile *p);

/* -- Call trees --------------------------------------------------------- */

/* What is counted for a call path. Sizes are bytes; peak is what was held
** when most was held, temp what was freed again almost at once. */
typedef enum ljp_metric {
  LJP_ALLOC_SIZE = 0,
  LJP_ALLOC_COUNT = 1,
  LJP_INUSE_SIZE = 2,
  LJP_INUSE_COUNT = 3,
  LJP_PEAK_SIZE = 4,
  LJP_PEAK_COUNT = 5,
  LJP_TEMP_SIZE = 6,
  LJP_TEMP_COUNT = 7
} ljp_metric;
#define LJP_METRIC_COUNT 8u

/* Kind of a place. */
typedef enum ljp_place_kind {
  LJP_PLACE_LUA = 0,       /* No name: file and line say it. */
  LJP_PLACE_C = 1,         /* file: the module. */
  LJP_PLACE_VM = 2,
  LJP_PLACE_TRACE = 3,     /* JIT code whose line is not known. */
  LJP_PLACE_BUILTIN = 4,
  LJP_PLACE_MISSING = 5,   /* Frames that were not recorded. */
  LJP_PLACE_PRUNED = 6     /* Paths too small to be kept apart. */
} ljp_place_kind;

/* One frame of a call path. Strings are numbers for ljp_tree_text, 0: "". */
typedef struct ljp_place {
  uint32_t kind;           /* ljp_place_kind */
  uint32_t name, file;
  uint32_t module;         /* Number from ljp_tree_module, 0: none. */
  uint64_t line;           /* 0: not known. */
  uint64_t first_line;     /* Of the function; 0: not known. */
  uint64_t addr;           /* Of C code; 0: not known. */
} ljp_place;

/* A call path: the path of its caller and the place of its innermost frame.
** Path 0 is the root, without a place. */
typedef struct ljp_path {
  uint32_t parent, place;
  uint64_t self[LJP_METRIC_COUNT]; /* Of what was allocated right here. */
} ljp_path;

/* A point of the timeline; UINT64_MAX: not known. */
typedef struct ljp_point {
  uint64_t at;             /* Event number, or nanoseconds. */
  uint64_t live_size;      /* Bytes in live blocks. */
  uint64_t gc_total, gc_threshold, rss;
} ljp_point;

/* A recording, or two that are compared, as a tree of call paths, with what a
** report says around them. */
typedef struct ljp_tree ljp_tree;

/* Makes an empty tree in *out; `options` may be NULL, of its limits memory
** counts. LJP_OK, LJP_E_ARG, LJP_E_NOMEM, LJP_E_LIMIT. */
LJP_API ljp_status ljp_tree_new(ljp_tree **out, const ljp_options *options);
LJP_API void ljp_tree_free(ljp_tree *t);

/* The first error of a tree, LJP_OK if none. It sticks: later calls return
** it and add nothing, reports are refused. */
LJP_API ljp_status ljp_tree_status(const ljp_tree *t);

/* Number of a text, which is copied. What cannot be shown on a terminal
** becomes \xNN; over 400 bytes are cut and end in a hash. */
LJP_API ljp_status ljp_tree_string(ljp_tree *t, const char *p, size_t size,
                                   uint32_t *id);
LJP_API const char *ljp_tree_text(const ljp_tree *t, uint32_t id,
                                  size_t *size);

/* Number of a C module, for ljp_place: where it was loaded and its build-id
** in hex. */
LJP_API ljp_status ljp_tree_module(ljp_tree *t, uint32_t path,
                                   uint32_t build_id, uint64_t base,
                                   uint64_t size, uint32_t *module);

/* Number of a place, of the path from `parent` to it; both are made if they
** are new. Not after ljp_tree_diff or ljp_tree_prune, then LJP_E_ARG. */
LJP_API ljp_status ljp_tree_place(ljp_tree *t, const ljp_place *place,
                                  uint32_t *id);
LJP_API ljp_status ljp_tree_path(ljp_tree *t, uint32_t parent, uint32_t place,
                                 uint32_t *id);

/* Adds to a number of a path; stops at UINT64_MAX. */
LJP_API void ljp_tree_add(ljp_tree *t, uint32_t path, ljp_metric metric,
                          uint64_t n);

/* Words around the numbers: the title; a fact, an amount (bytes if `size`),
** a kind of object still held, a remark, a warning that stands on top. */
LJP_API void ljp_tree_title(ljp_tree *t, const char *text);
LJP_API void ljp_tree_fact(ljp_tree *t, const char *label, const char *text);
LJP_API void ljp_tree_total(ljp_tree *t, const char *label, uint64_t n,
                            int size);
LJP_API void ljp_tree_kind(ljp_tree *t, const char *name, uint64_t size,
                           uint64_t count);
LJP_API void ljp_tree_note(ljp_tree *t, const char *text);
LJP_API void ljp_tree_warn(ljp_tree *t, const char *text);

/* Adds a point, or names a moment, of the timeline, in order. */
LJP_API void ljp_tree_point(ljp_tree *t, const ljp_point *point);
LJP_API void ljp_tree_mark(ljp_tree *t, uint64_t at, const char *p,
                           size_t size);

/* Number of paths, and one of them; number of places, and one of them (from
** 1 to the number itself). Pointers are valid until the tree is changed. */
LJP_API size_t ljp_tree_path_count(const ljp_tree *t);
LJP_API const ljp_path *ljp_tree_path_at(const ljp_tree *t, uint32_t path);
LJP_API size_t ljp_tree_place_count(const ljp_tree *t);
LJP_API const ljp_place *ljp_tree_place_at(const ljp_tree *t, uint32_t place);

/* What path `path` counted in the older recording of a comparison, else 0. */
LJP_API uint64_t ljp_tree_old(const ljp_tree *t, uint32_t path,
                              ljp_metric metric);

/* Makes t a comparison: `old` stays as it is, its numbers become the older
** side of t's paths with the same places. Once, before ljp_tree_prune, else
** LJP_E_ARG. */
LJP_API ljp_status ljp_tree_diff(ljp_tree *t, const ljp_tree *old);

/* Puts the paths in order (callers first, each subtree in one piece) and
** folds what has less than `share` millionths of every number into one path
** "(pruned)" under its caller; if more than path_max paths would stay, or
** 4 million frames in them, with a larger share. No number is lost: sums by
** line, which the model has, are those from before. May be called again. O(n)
** for each doubling of the share. */
LJP_API ljp_status ljp_tree_prune(ljp_tree *t, uint64_t share,
                                  size_t path_max);

/* Reports of a pruned tree. LJP_OK; LJP_E_IO: `write` failed; LJP_E_ARG: the
** tree is not pruned, or `write` NULL; LJP_E_NOMEM; the tree's own error.
** Linear in what they write.
** folded: a line a path, "outer;...;inner N" of one metric; of a comparison
** "... OLD NEW" (flamegraph.pl, inferno, difffolded.pl).
** pprof: profile.proto, not compressed, with alloc_objects, alloc_space,
** inuse_objects, inuse_space; of a comparison NEW - OLD.
** speedscope: JSON for speedscope, one profile a metric.
** model: JSON that the HTML page of examples/html shows; it may stand inside
** a script element. */
LJP_API ljp_status ljp_tree_folded(ljp_tree *t, ljp_metric metric,
                                   ljp_write write, void *user);
LJP_API ljp_status ljp_tree_pprof(ljp_tree *t, ljp_write write, void *user);
LJP_API ljp_status ljp_tree_speedscope(ljp_tree *t, ljp_write write,
                                       void *user);
LJP_API ljp_status ljp_tree_model(ljp_tree *t, ljp_write write, void *user);

/* What a tree made of a recording says. All zero is the default. */
typedef struct ljp_tree_options {
  const char *title;       /* NULL: "memory profile". */
  int show_source;         /* Chunk names that are source text as they are,
                           ** not "[source text #HASH, N bytes]". */
  int stable_names;        /* No trace numbers, which differ from run to run:
                           ** for comparisons. */
} ljp_tree_options;

/* Makes a tree of a recording read so far, in *out; `options` may be NULL.
** LJP_ALLOC_* count allocations and reallocations with their new sizes.
** Formats 1 to 3 have no stacks: a path is a location, below the place where
** its trace started if that is known. It shares p's allocator and has a
** memory limit as p's. LJP_OK, LJP_E_ARG, LJP_E_NOMEM, LJP_E_LIMIT. */
LJP_API ljp_status ljp_profile_tree(const ljp_profile *p,
                                    const ljp_tree_options *options,
                                    ljp_tree **out);

/* Text report of a comparison: what each line holds at the end and what it
** allocated, both sides, largest change first. */
LJP_API ljp_status ljp_tree_changes(ljp_tree *t,
                                    const ljp_report_options *options,
                                    ljp_write write, void *user);

/* What a test suite allows a recording. */
typedef struct ljp_budget {
  ljp_metric metric;
  uint64_t most;           /* More than this is over. */
  const char *match;       /* NULL: everything. Else only call paths on which
                           ** a place has this in its text. */
  int each_line;           /* The largest single line counts, not the sum. */
} ljp_budget;

typedef struct ljp_budget_result {
  uint64_t n;              /* What was counted. */
  uint32_t place;          /* The line that counts most, 0: none. */
  int over;                /* n > most */
} ljp_budget_result;

/* Holds a tree, before or after ljp_tree_prune, against a budget. LJP_OK also
** if it is over; LJP_E_NOMEM, LJP_E_LIMIT. O(n). */
LJP_API ljp_status ljp_tree_budget(ljp_tree *t, const ljp_budget *budget,
                                   ljp_budget_result *result);

#endif /* LJPARSE_H */

/* == Implementation ===================================================== */

#if defined(LJP_IMPLEMENTATION) && !defined(LJP_IMPLEMENTATION_DONE)
#define LJP_IMPLEMENTATION_DONE

/* -- Includes ----------------------------------------------------------- */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#if defined(__GNUC__) && defined(__SSE2__)
#define LJPI_VECTORS
typedef char ljpi_bytes16 __attribute__((__vector_size__(16)));
typedef int32_t ljpi_words4 __attribute__((__vector_size__(16)));
typedef float ljpi_floats4 __attribute__((__vector_size__(16)));
#endif

#if defined(__GNUC__)
#define LJPI_LIKELY(x) __builtin_expect(!!(x), 1)
#define LJPI_PREFETCH(p) __builtin_prefetch(p)
#define LJPI_INLINE static inline __attribute__((__always_inline__))
#define LJPI_NOINLINE static __attribute__((__noinline__))
#else
#define LJPI_LIKELY(x) (x)
#define LJPI_PREFETCH(p) ((void)(p))
#define LJPI_INLINE static inline
#define LJPI_NOINLINE static
#endif

/* -- Errors ------------------------------------------------------------- */

LJP_API const char *ljp_status_text(ljp_status status)
{
  switch (status) {
  case LJP_OK: return "no error";
  case LJP_END: return "end of stream";
  case LJP_MORE: return "more bytes expected";
  case LJP_E_ARG: return "bad argument";
  case LJP_E_NOMEM: return "out of memory";
  case LJP_E_IO: return "cannot write";
  case LJP_E_LIMIT: return "limit reached";
  case LJP_E_MALFORMED: return "malformed";
  case LJP_E_UNSUPPORTED: return "unsupported version";
  case LJP_E_TRUNCATED: return "cut";
  }
  return "unknown status";
}

static const char *ljpi_limit_text(ljp_limit limit)
{
  switch (limit) {
  case LJP_LIMIT_NONE: break;
  case LJP_LIMIT_MEMORY: return "memory";
  case LJP_LIMIT_STRING: return "string length";
  case LJP_LIMIT_HOLD: return "bytes held back to tell the trace layout";
  case LJP_LIMIT_RECORDS: return "number of records";
  case LJP_LIMIT_SYMBOLS: return "number of symbols";
  case LJP_LIMIT_SITES: return "number of sites";
  case LJP_LIMIT_LIVE: return "number of live blocks";
  }
  return "none";
}

static const char *ljpi_section_text(ljp_section section)
{
  switch (section) {
  case LJP_SECTION_NONE: break;
  case LJP_SECTION_SYMBOL_HEADER: return "header of the symbol part";
  case LJP_SECTION_SYMBOLS: return "symbol part";
  case LJP_SECTION_EVENT_HEADER: return "header of the event part";
  case LJP_SECTION_EVENTS: return "event part";
  case LJP_SECTION_AFTER_END: return "bytes after the end";
  case LJP_SECTION_BLOCKS: return "blocks";
  }
  return "stream";
}

LJP_API char *ljp_error_text(const ljp_error *e, char *buf, size_t size)
{
  unsigned long long off = e->off, rec = e->record_off;
  const char *where = ljpi_section_text(e->section);
  const char *what = ljp_status_text(e->status);
  if (size == 0) return buf;
  switch (e->status) {
  case LJP_E_TRUNCATED:
    snprintf(buf, size, "cut at byte %llu (%s; whole up to byte %llu)", off,
             where, rec);
    break;
  case LJP_E_UNSUPPORTED:
    snprintf(buf, size, "version %u at byte %llu (%s), this tool reads 1-4 "
             "in the pairs that exist", e->version, off, where);
    break;
  case LJP_E_LIMIT:
    snprintf(buf, size, "limit reached at byte %llu (%s): %s", off, where,
             ljpi_limit_text(e->limit));
    break;
  case LJP_E_MALFORMED:
    snprintf(buf, size, "malformed at byte %llu (%s; record at byte %llu)",
             off, where, rec);
    break;
  default:
    snprintf(buf, size, "%s at byte %llu (%s)", what, off, where);
  }
  return buf;
}

/* Every failure passes here: the place for a breakpoint. */
static ljp_status ljpi_fail(ljp_error *e, ljp_status status, uint64_t off,
                            uint64_t record_off)
{
  e->status = status;
  e->off = off;
  e->record_off = record_off;
  return status;
}

/* -- Allocator and limits ----------------------------------------------- */

#define LJPI_DEFAULT_MEMORY \
  (sizeof(size_t) > 4 ? UINT64_C(4) << 30 : UINT64_C(1) << 30)

/* Memory of one object or of several that share a budget. */
typedef struct ljpi_mem {
  ljp_allocator a;
  uint64_t used, peak, limit;
  ljp_limit hit;          /* Limit that the last LJP_E_LIMIT means. */
} ljpi_mem;

static void *ljpi_std_alloc(void *user, size_t size)
{
  (void)user;
  return malloc(size);
}

static void *ljpi_std_realloc(void *user, void *p, size_t old_size,
                              size_t size)
{
  (void)user;
  (void)old_size;
  return realloc(p, size);
}

static void ljpi_std_free(void *user, void *p, size_t size)
{
  (void)user;
  (void)size;
  free(p);
}

static ljp_status ljpi_mem_init(ljpi_mem *m, const ljp_options *options)
{
  memset(m, 0, sizeof(*m));
  if (options) m->a = options->allocator;
  if (!m->a.alloc && !m->a.realloc && !m->a.free) {
    m->a.alloc = ljpi_std_alloc;
    m->a.realloc = ljpi_std_realloc;
    m->a.free = ljpi_std_free;
  } else if (!m->a.alloc || !m->a.realloc || !m->a.free) {
    return LJP_E_ARG;
  }
  m->limit = options ? options->limits.memory : 0;
  if (m->limit == 0) m->limit = LJPI_DEFAULT_MEMORY;
  return LJP_OK;
}

/* Books `size` more bytes. */
static ljp_status ljpi_mem_book(ljpi_mem *m, uint64_t size)
{
  if (m->used > m->limit || size > m->limit - m->used) {
    m->hit = LJP_LIMIT_MEMORY;
    return LJP_E_LIMIT;
  }
  m->used += size;
  if (m->used > m->peak) m->peak = m->used;
  return LJP_OK;
}

/* Array of `count` > 0 elements, uninitialised. */
static ljp_status ljpi_alloc_array(ljpi_mem *m, void **out, size_t count,
                                   size_t elem)
{
  ljp_status st;
  if (count > SIZE_MAX / elem) return LJP_E_NOMEM;
  st = ljpi_mem_book(m, (uint64_t)count * elem);
  if (st != LJP_OK) return st;
  *out = m->a.alloc(m->a.user, count * elem);
  if (*out) return LJP_OK;
  m->used -= (uint64_t)count * elem;
  return LJP_E_NOMEM;
}

static void ljpi_free_array(ljpi_mem *m, void *p, size_t count, size_t elem)
{
  if (!p) return;
  m->used -= (uint64_t)count * elem;
  m->a.free(m->a.user, p, count * elem);
}

/* Grows the array at *p of *cap elements to hold `want` at least; doubles. */
static ljp_status ljpi_grow(ljpi_mem *m, void **p, size_t *cap, size_t want,
                            size_t elem)
{
  size_t n = *cap ? *cap : 8;
  void *q;
  ljp_status st;
  if (want <= *cap) return LJP_OK;
  while (n < want) {
    if (n > SIZE_MAX / 2) return LJP_E_NOMEM;
    n *= 2;
  }
  if (n > SIZE_MAX / elem) return LJP_E_NOMEM;
  st = ljpi_mem_book(m, (uint64_t)(n - *cap) * elem);
  if (st != LJP_OK) return st;
  q = *p ? m->a.realloc(m->a.user, *p, *cap * elem, n * elem)
         : m->a.alloc(m->a.user, n * elem);
  if (!q) {
    m->used -= (uint64_t)(n - *cap) * elem;
    return LJP_E_NOMEM;
  }
  *p = q;
  *cap = n;
  return LJP_OK;
}

/* A zeroed object that carries its own ljpi_mem, which is set up first. */
static ljp_status ljpi_new_object(ljpi_mem *m, const ljp_options *options,
                                  void **out, size_t size)
{
  ljp_status st = ljpi_mem_init(m, options);
  if (st != LJP_OK) return st;
  st = ljpi_alloc_array(m, out, 1, size);
  if (st == LJP_OK) memset(*out, 0, size);
  return st;
}

static uint64_t ljpi_limit_or(uint64_t limit, uint64_t other)
{
  return limit ? limit : other;
}

#define LJPI_ALIGN sizeof(ljpi_align)
typedef union ljpi_align {
  void *p;
  uint64_t u;
  double d;
} ljpi_align;

static void *ljpi_arena_alloc(void *user, size_t size)
{
  ljp_arena *a = (ljp_arena *)user;
  size_t pad = (LJPI_ALIGN - ((uintptr_t)(a->base + a->used)) % LJPI_ALIGN) %
               LJPI_ALIGN;
  if (pad > a->size - a->used || size > a->size - a->used - pad) return NULL;
  a->last = a->used + pad;
  a->used = a->last + size;
  return a->base + a->last;
}

static void ljpi_arena_free(void *user, void *p, size_t size)
{
  ljp_arena *a = (ljp_arena *)user;
  if (p && a->base + a->used == (unsigned char *)p + size)
    a->used = (size_t)((unsigned char *)p - a->base);
}

static void *ljpi_arena_realloc(void *user, void *p, size_t old_size,
                                size_t size)
{
  ljp_arena *a = (ljp_arena *)user;
  void *q;
  if (p && a->base + a->used == (unsigned char *)p + old_size) {
    size_t at = (size_t)((unsigned char *)p - a->base);
    if (size > a->size - at) return NULL;
    a->used = at + size;
    return p;
  }
  q = ljpi_arena_alloc(user, size);
  if (q && p) memcpy(q, p, old_size < size ? old_size : size);
  return q;
}

LJP_API void ljp_arena_init(ljp_arena *arena, void *buf, size_t size,
                            ljp_allocator *a)
{
  arena->base = (unsigned char *)buf;
  arena->size = size;
  arena->used = 0;
  arena->last = 0;
  a->alloc = ljpi_arena_alloc;
  a->realloc = ljpi_arena_realloc;
  a->free = ljpi_arena_free;
  a->user = arena;
}

/* Merge sort of `count` indices at `v`, `tmp` as long; stable, O(n log n). */
typedef int (*ljpi_cmp)(const void *ctx, uint32_t a, uint32_t b);

static void ljpi_merge(uint32_t *dst, const uint32_t *src, size_t lo,
                       size_t mid, size_t hi, ljpi_cmp cmp, const void *ctx)
{
  size_t i = lo, j = mid, k = lo;
  while (i < mid && j < hi)
    dst[k++] = cmp(ctx, src[j], src[i]) < 0 ? src[j++] : src[i++];
  while (i < mid) dst[k++] = src[i++];
  while (j < hi) dst[k++] = src[j++];
}

static void ljpi_sort(uint32_t *v, uint32_t *tmp, size_t count, ljpi_cmp cmp,
                      const void *ctx)
{
  uint32_t *src = v, *dst = tmp, *swap;
  size_t width, lo;
  for (width = 1; width < count; width *= 2) {
    for (lo = 0; lo < count; lo += 2 * width) {
      size_t mid = count - lo < width ? count : lo + width;
      size_t hi = count - lo < 2 * width ? count : lo + 2 * width;
      ljpi_merge(dst, src, lo, mid, hi, cmp, ctx);
    }
    swap = src;
    src = dst;
    dst = swap;
  }
  if (src != v) memcpy(v, src, count * sizeof(*v));
}

/* -- Checked arithmetic and cursor -------------------------------------- */

/* Sums saturate: a hostile stream cannot make them wrap. */
LJPI_INLINE void ljpi_add(uint64_t *sum, uint64_t n)
{
  *sum = n > UINT64_MAX - *sum ? UINT64_MAX : *sum + n;
}

LJPI_INLINE void ljpi_sub(uint64_t *sum, uint64_t n)
{
  *sum = n > *sum ? 0 : *sum - n;
}

typedef struct ljpi_cursor {
  const unsigned char *p, *end;
} ljpi_cursor;

/* Bytes that the fast reader may touch from a number's first byte on. */
#define LJPI_ULEB_MAX 10

LJPI_INLINE uint64_t ljpi_load64(const unsigned char *p)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
#else
  uint64_t v = 0;
  int i;
  for (i = 7; i >= 0; i--) v = v << 8 | p[i];
  return v;
#endif
}

/* Numbers of 9 and 10 bytes, and longer ones, which are refused. */
LJPI_NOINLINE const unsigned char *ljpi_uleb_long(const unsigned char *p,
                                                  uint64_t *v)
{
  uint64_t n = 0;
  unsigned i;
  for (i = 0; i < 9; i++) {
    n |= (uint64_t)(p[i] & 0x7f) << (7 * i);
    if (p[i] < 0x80) {
      *v = n;
      return p + i + 1;
    }
  }
  if (p[9] > 1) return NULL;
  *v = n | (uint64_t)p[9] << 63;
  return p + 10;
}

/* Puts the low 7 bits of the first byte and of `more` others, up to 7, side
** by side. */
typedef uint64_t (*ljpi_squeeze)(uint64_t x, unsigned more);

LJPI_INLINE uint64_t ljpi_squeeze_plain(uint64_t x, unsigned more)
{
  x &= UINT64_C(0x7f7f7f7f7f7f7f7f) >> ((56 - 8 * more) & 63);
  x = (x & UINT64_C(0x007f007f007f007f)) |
      (x & UINT64_C(0x7f007f007f007f00)) >> 1;
  x = (x & UINT64_C(0x00003fff00003fff)) |
      (x & UINT64_C(0x3fff00003fff0000)) >> 2;
  return (x & UINT64_C(0x000000000fffffff)) |
         (x & UINT64_C(0x0fffffff00000000)) >> 4;
}

#if defined(__x86_64__) && \
    ((defined(__clang__) && __clang_major__ >= 9) || \
     (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 8))
/* Two instructions, if the processor is fast at them: AMD's since Zen 3. Older
** compilers have no name for what tells it. */
#define LJPI_SQUEEZE_NATIVE() \
  (__builtin_cpu_supports("bmi2") && \
   (__builtin_cpu_is("intel") || __builtin_cpu_supports("vpclmulqdq")))
LJPI_INLINE uint64_t ljpi_squeeze_native(uint64_t x, unsigned more)
{
  __asm__("{bzhiq %1, %0, %0|bzhi %0, %0, %1}\n\t"
          "{pextq %2, %0, %0|pext %0, %0, %2}"
          : "+r"(x)
          : "r"((uint64_t)more * 8 + 8), "r"(UINT64_C(0x7f7f7f7f7f7f7f7f))
          : "cc");
  return x;
}
#endif

/* Number at p, of which 10 bytes may be read. Returns what follows, or NULL
** if it has more than 10 bytes or 64 bits. */
LJPI_INLINE const unsigned char *ljpi_uleb(const unsigned char *p,
                                           uint64_t *v)
{
#if defined(__GNUC__)
  uint64_t x, stop;
  unsigned more;
  if (p[0] < 0x80) {
    *v = p[0];
    return p + 1;
  }
  x = ljpi_load64(p);
  stop = ~x & UINT64_C(0x8080808080808080);
  if (!LJPI_LIKELY(stop != 0)) return ljpi_uleb_long(p, v);
  more = (unsigned)__builtin_ctzll(stop) >> 3;
  *v = ljpi_squeeze_plain(x, more);
  return p + more + 1;
#else
  return ljpi_uleb_long(p, v);
#endif
}

/* Number at the cursor. LJP_MORE if it is cut. */
static ljp_status ljpi_get_uleb(ljpi_cursor *c, uint64_t *v)
{
  unsigned char tmp[LJPI_ULEB_MAX];
  size_t left = (size_t)(c->end - c->p);
  const unsigned char *q;
  if (left >= LJPI_ULEB_MAX) {
    q = ljpi_uleb(c->p, v);
    if (!q) return LJP_E_MALFORMED;
    c->p = q;
    return LJP_OK;
  }
  memset(tmp, 0, sizeof(tmp));
  memcpy(tmp, c->p, left);
  q = ljpi_uleb(tmp, v);
  if (!q) return LJP_E_MALFORMED;
  if ((size_t)(q - tmp) > left) return LJP_MORE;
  c->p += q - tmp;
  return LJP_OK;
}

/* -- Decoder ------------------------------------------------------------ */

#define LJPI_BATCH 64           /* Events handed on at once. */
#define LJPI_EVENT_MAX 64       /* 1 + 6 numbers of 10 bytes, rounded up. */
#define LJPI_HEADER_SIZE 7      /* Magic, version, 3 reserved bytes. */
#define LJPI_CARRY_STEP 64      /* Least bytes added to an unfinished record. */
#define LJPI_HOLD_STEP 65536
#define LJPI_CRC_TABLE_COUNT 2048

enum {
  LJPI_AT_SYMBOL_HEADER, LJPI_AT_SYMBOLS, LJPI_AT_EVENT_HEADER,
  LJPI_AT_EVENTS, LJPI_AT_BLOCK, LJPI_AT_LOST, LJPI_AT_END
};

/* One layout that the symbol part of a 2/? stream may have. */
typedef struct ljpi_guess {
  size_t pos;             /* In the bytes held back. */
  ljp_status status;      /* LJP_MORE: alive; LJP_OK: reached "ljm". */
} ljpi_guess;

/* Events of one operation in END's order: number, bytes, new bytes. */
typedef struct ljpi_sums4 {
  uint64_t count[3], size[3], new_size, failed;
} ljpi_sums4;

/* What format 4 needs across blocks. */
typedef struct ljpi_blocks {
  uint64_t sequence;      /* Of the next block. */
  uint32_t stream_id;     /* Once begun. */
  uint8_t begun, ended;
  uint8_t damaged;        /* Something was lost; first_off says where. */
  uint64_t first_off;
  uint64_t lost_off;      /* LJPI_AT_LOST: from here, */
  uint64_t lost_events;   /* events known to be in it. */
  uint64_t vain;          /* Bytes of payloads whose sum was wrong. */
  ljpi_sums4 sums;
  uint32_t *crc_table;    /* NULL: none yet, or not needed. */
  uint8_t crc_native;
} ljpi_blocks;

struct ljp_decoder {
  ljpi_mem *mem, own;
  ljp_handler handler;
  ljp_error err;
  uint64_t max_string, max_hold, max_records, records;
  uint64_t off;               /* Of begin, or of buf[0]. */
  const unsigned char *begin; /* What runs now. */
  unsigned char *buf;         /* Unfinished record, or what is held back. */
  size_t buf_size, buf_cap;
  uint8_t state, ljs, ljm;
  uint8_t holding;            /* Whether buf is held back to tell a layout. */
  ljp_trace_layout wanted, layout;
  ljpi_guess guess[2];        /* Without address, with. */
  ljpi_blocks blocks;
  uint32_t ordinary;          /* Bit h: header h is a plain event. */
  ljp_status (*whole_events)(ljp_decoder *d, ljpi_cursor *c);
  size_t batch_count;
  ljp_event batch[LJPI_BATCH];
};

static ljp_status ljpi_whole_events_plain(ljp_decoder *d, ljpi_cursor *c);
#ifdef LJPI_SQUEEZE_NATIVE
static ljp_status ljpi_whole_events_native(ljp_decoder *d, ljpi_cursor *c);
#endif

static void ljpi_decoder_init(ljp_decoder *d, ljpi_mem *mem,
                              const ljp_handler *handler,
                              const ljp_options *options)
{
  const ljp_limits *lim = options ? &options->limits : NULL;
  d->mem = mem;
  d->handler = *handler;
  d->max_string = ljpi_limit_or(lim ? lim->string : 0, 16u << 20);
  d->max_hold = ljpi_limit_or(lim ? lim->hold : 0, 256u << 20);
  d->max_records = ljpi_limit_or(lim ? lim->records : 0, UINT64_C(1) << 40);
  d->wanted = options ? options->trace_layout : LJP_TRACE_AUTO;
  d->whole_events = ljpi_whole_events_plain;
#ifdef LJPI_SQUEEZE_NATIVE
  if (LJPI_SQUEEZE_NATIVE()) d->whole_events = ljpi_whole_events_native;
#endif
}

LJP_API ljp_status ljp_decoder_new(ljp_decoder **out,
                                   const ljp_handler *handler,
                                   const ljp_options *options)
{
  ljpi_mem mem;
  void *p = NULL;
  ljp_status st;
  if (!out || !handler) return LJP_E_ARG;
  *out = NULL;
  st = ljpi_new_object(&mem, options, &p, sizeof(ljp_decoder));
  if (st != LJP_OK) return st;
  *out = (ljp_decoder *)p;
  (*out)->own = mem;
  ljpi_decoder_init(*out, &(*out)->own, handler, options);
  return LJP_OK;
}

static void ljpi_decoder_clear(ljp_decoder *d)
{
  ljpi_free_array(d->mem, d->buf, d->buf_cap, 1);
  ljpi_free_array(d->mem, d->blocks.crc_table, LJPI_CRC_TABLE_COUNT,
                  sizeof(*d->blocks.crc_table));
}

LJP_API void ljp_decoder_free(ljp_decoder *d)
{
  ljpi_mem mem;
  if (!d) return;
  ljpi_decoder_clear(d);
  mem = d->own;
  ljpi_free_array(&mem, d, 1, sizeof(*d));
}

LJP_API const ljp_error *ljp_decoder_error(const ljp_decoder *d)
{
  return &d->err;
}

LJP_API uint64_t ljp_decoder_offset(const ljp_decoder *d)
{
  return d->off + d->buf_size;
}

static ljp_section ljpi_section(const ljp_decoder *d)
{
  switch (d->state) {
  case LJPI_AT_SYMBOL_HEADER: return LJP_SECTION_SYMBOL_HEADER;
  case LJPI_AT_SYMBOLS: return LJP_SECTION_SYMBOLS;
  case LJPI_AT_EVENT_HEADER: return LJP_SECTION_EVENT_HEADER;
  case LJPI_AT_EVENTS: return LJP_SECTION_EVENTS;
  case LJPI_AT_BLOCK: case LJPI_AT_LOST: return LJP_SECTION_BLOCKS;
  default: return LJP_SECTION_AFTER_END;
  }
}

static uint64_t ljpi_off(const ljp_decoder *d, const unsigned char *p)
{
  return d->off + (uint64_t)(p - d->begin);
}

static ljp_status ljpi_dec_fail(ljp_decoder *d, ljp_status status,
                                uint64_t off, uint64_t record_off)
{
  d->err.section = ljpi_section(d);
  return ljpi_fail(&d->err, status, off, record_off);
}

/* A fault of the record at `rec`, found at `at`. */
static ljp_status ljpi_bad(ljp_decoder *d, ljp_status status,
                           const unsigned char *at, const unsigned char *rec)
{
  return ljpi_dec_fail(d, status, ljpi_off(d, at), ljpi_off(d, rec));
}

/* Hands the batch on. */
static ljp_status ljpi_flush(ljp_decoder *d)
{
  size_t n = d->batch_count, failed = 0;
  uint64_t off;
  ljp_status st = LJP_OK;
  int over = 0;
  d->batch_count = 0;
  if (n > d->max_records - d->records) {
    n = (size_t)(d->max_records - d->records);
    over = 1;
  }
  d->records += n;
  if (n && d->handler.on_events)
    st = d->handler.on_events(d->handler.user, d->batch, n, &failed);
  if (st == LJP_OK && !over) return LJP_OK;
  if (st == LJP_OK) {
    st = LJP_E_LIMIT;
    d->err.limit = LJP_LIMIT_RECORDS;
    failed = n;
  }
  off = d->batch[failed].off;
  return ljpi_dec_fail(d, st, off, off);
}

/* Hands a record on, after the events before it. */
static ljp_status ljpi_emit(ljp_decoder *d, const ljp_record *r)
{
  ljp_status st = ljpi_flush(d);
  if (st != LJP_OK) return st;
  if (d->records == d->max_records) {
    d->err.limit = LJP_LIMIT_RECORDS;
    return ljpi_dec_fail(d, LJP_E_LIMIT, r->off, r->off);
  }
  d->records++;
  if (!d->handler.on_record) return LJP_OK;
  st = d->handler.on_record(d->handler.user, r);
  return st == LJP_OK ? st : ljpi_dec_fail(d, st, r->off, r->off);
}

/* Length and bytes of a string. */
static ljp_status ljpi_get_string(const ljp_decoder *d, ljpi_cursor *c,
                                  ljp_record *r)
{
  ljpi_cursor t = *c;
  uint64_t n;
  ljp_status st = ljpi_get_uleb(&t, &n);
  if (st != LJP_OK) return st;
  if (n > d->max_string) return LJP_E_LIMIT;
  if ((uint64_t)(t.end - t.p) < n) return LJP_MORE;
  r->name = (const char *)t.p;
  r->name_size = (size_t)n;
  c->p = t.p + n;
  return LJP_OK;
}

/* A number that must not be 0. */
static ljp_status ljpi_get_nonzero(ljpi_cursor *c, uint64_t *v)
{
  const unsigned char *at = c->p;
  ljp_status st = ljpi_get_uleb(c, v);
  if (st == LJP_OK && *v == 0) {
    c->p = at;
    return LJP_E_MALFORMED;
  }
  return st;
}

/* Body of a definition of r->kind. At a fault the cursor stays there. */
static ljp_status ljpi_get_body(const ljp_decoder *d, ljpi_cursor *c,
                                ljp_trace_layout layout, ljp_record *r)
{
  ljp_status st;
  if (r->kind == LJP_RECORD_TRACE) {
    st = ljpi_get_nonzero(c, &r->id);
    if (st == LJP_OK && layout == LJP_TRACE_WITH_ADDR)
      st = ljpi_get_uleb(c, &r->mcode);
    if (st == LJP_OK) st = ljpi_get_uleb(c, &r->addr);
    if (st == LJP_OK) st = ljpi_get_uleb(c, &r->line);
    return st;
  }
  st = r->kind == LJP_RECORD_PROTO ? ljpi_get_nonzero(c, &r->id)
                                   : ljpi_get_uleb(c, &r->id);
  if (st == LJP_OK) st = ljpi_get_string(d, c, r);
  if (st == LJP_OK && r->kind == LJP_RECORD_PROTO)
    st = ljpi_get_uleb(c, &r->line);
  return st;
}

/* A definition whose body begins at the cursor; moves it, if it is whole. */
static ljp_status ljpi_definition(ljp_decoder *d, ljpi_cursor *c,
                                  const unsigned char *rec,
                                  ljp_record_kind kind)
{
  ljpi_cursor t = *c;
  ljp_record r;
  ljp_status st;
  memset(&r, 0, sizeof(r));
  r.kind = kind;
  r.off = ljpi_off(d, rec);
  st = ljpi_get_body(d, &t, d->layout, &r);
  if (st == LJP_MORE) return st;
  if (st != LJP_OK) {
    if (st == LJP_E_LIMIT) d->err.limit = LJP_LIMIT_STRING;
    if (ljpi_flush(d) != LJP_OK) return d->err.status;
    return ljpi_bad(d, st, t.p, rec);
  }
  c->p = t.p;
  return ljpi_emit(d, &r);
}

/* Kind of the symbol that a header byte begins; 0: malformed. */
static ljp_record_kind ljpi_symbol_kind(unsigned ljs, unsigned h)
{
  static const uint8_t kinds[4][4] = {
    {0, 0, 0, 0},
    {LJP_RECORD_PROTO, 0, 0, 0},
    {LJP_RECORD_PROTO, LJP_RECORD_TRACE, 0, 0},
    {LJP_RECORD_PROTO, LJP_RECORD_CSYM, LJP_RECORD_TRACE, 0}
  };
  return (ljp_record_kind)(h > 3 ? 0 : kinds[ljs & 3][h]);
}

/* Header of a part: magic, version. Leaves the cursor at the version. */
static ljp_status ljpi_part_header(ljp_decoder *d, ljpi_cursor *c,
                                   const char *magic)
{
  size_t i, left = (size_t)(c->end - c->p);
  for (i = 0; i < 3 && i < left; i++)
    if (c->p[i] != (unsigned char)magic[i])
      return ljpi_bad(d, LJP_E_MALFORMED, c->p, c->p);
  return left < 4 ? LJP_MORE : LJP_OK;
}

static ljp_status ljpi_bad_version(ljp_decoder *d, const unsigned char *rec)
{
  d->err.version = rec[3];
  return ljpi_bad(d, LJP_E_UNSUPPORTED, rec + 3, rec);
}

/* Both parts' headers of format 4, one behind the other. */
#define LJPI_HEADER4_SIZE 14

static ljp_status ljpi_header4(ljp_decoder *d, ljpi_cursor *c)
{
  static const unsigned char want[LJPI_HEADER4_SIZE] = {
    'l', 'j', 's', 4, 0, 0, 0, 'l', 'j', 'm', 4, 0, 0, 0
  };
  size_t i, left = (size_t)(c->end - c->p);
  ljp_record r;
  for (i = 4; i < LJPI_HEADER4_SIZE && i < left; i++) {
    if (c->p[i] == want[i]) continue;
    if (i == 10) return ljpi_bad_version(d, c->p + 7);
    return ljpi_bad(d, LJP_E_MALFORMED, c->p + i, c->p);
  }
  if (left < LJPI_HEADER4_SIZE) return LJP_MORE;
  d->ljs = d->ljm = 4;
  d->state = LJPI_AT_BLOCK;
  memset(&r, 0, sizeof(r));
  r.kind = LJP_RECORD_VERSIONS;
  r.off = ljpi_off(d, c->p);
  r.id = r.size = 4;
  c->p += LJPI_HEADER4_SIZE;
  return ljpi_emit(d, &r);
}

static ljp_status ljpi_symbol_header(ljp_decoder *d, ljpi_cursor *c)
{
  ljp_status st = ljpi_part_header(d, c, "ljs");
  if (st != LJP_OK) return st;
  if (c->p[3] == 4) return ljpi_header4(d, c);
  if (c->p[3] < 1 || c->p[3] > 3) return ljpi_bad_version(d, c->p);
  if (c->end - c->p < LJPI_HEADER_SIZE) return LJP_MORE;
  d->ljs = c->p[3];
  if (d->ljs != 2) d->layout = LJP_TRACE_WITHOUT_ADDR;
  d->state = LJPI_AT_SYMBOLS;
  c->p += LJPI_HEADER_SIZE;
  return LJP_OK;
}

static ljp_status ljpi_symbol(ljp_decoder *d, ljpi_cursor *c)
{
  const unsigned char *rec = c->p;
  ljp_record_kind kind;
  ljp_status st;
  if (c->p == c->end) return LJP_MORE;
  if (*rec & 0x80) {
    d->state = LJPI_AT_EVENT_HEADER;
    c->p++;
    return LJP_OK;
  }
  kind = ljpi_symbol_kind(d->ljs, *rec);
  if (!kind) return ljpi_bad(d, LJP_E_MALFORMED, rec, rec);
  if (kind == LJP_RECORD_TRACE && d->layout == LJP_TRACE_AUTO) {
    d->holding = 1;
    d->guess[0].pos = d->guess[1].pos = 0;
    d->guess[0].status = d->guess[1].status = LJP_MORE;
    return LJP_MORE;
  }
  c->p++;
  st = ljpi_definition(d, c, rec, kind);
  if (st == LJP_MORE) c->p = rec;
  return st;
}

/* Whether the two parts' versions occur together. */
static int ljpi_pair_exists(unsigned ljs, unsigned ljm)
{
  return ljm == ljs || (ljs == 1 && ljm == 2) || (ljs == 2 && ljm == 3);
}

/* Layout of traces in events. */
static ljp_trace_layout ljpi_event_layout(const ljp_decoder *d)
{
  if (d->ljm == 2) return LJP_TRACE_WITH_ADDR;
  if (d->ljs != 2) return LJP_TRACE_WITHOUT_ADDR;
  return d->layout != LJP_TRACE_AUTO ? d->layout : d->wanted;
}

static ljp_status ljpi_event_header(ljp_decoder *d, ljpi_cursor *c)
{
  const unsigned char *rec = c->p;
  ljp_record r;
  ljp_status st = ljpi_part_header(d, c, "ljm");
  unsigned source;
  if (st != LJP_OK) return st;
  if (!ljpi_pair_exists(d->ljs, rec[3])) return ljpi_bad_version(d, rec);
  if (c->end - rec < LJPI_HEADER_SIZE) return LJP_MORE;
  d->ljm = rec[3];
  if (d->ljm == 2 && d->ljs == 2 && d->layout == LJP_TRACE_WITHOUT_ADDR)
    return ljpi_bad(d, LJP_E_MALFORMED, rec, rec);
  d->layout = ljpi_event_layout(d);
  for (source = 1; source <= (d->ljm == 1 ? 3u : 4u); source++)
    d->ordinary |= 0xeu << (source * 4);
  d->state = LJPI_AT_EVENTS;
  c->p += LJPI_HEADER_SIZE;
  memset(&r, 0, sizeof(r));
  r.kind = LJP_RECORD_VERSIONS;
  r.off = ljpi_off(d, rec);
  r.id = d->ljs;
  r.size = d->ljm;
  return ljpi_emit(d, &r);
}

/* An event whose numbers are read one after the other, `at` bytes behind p so
** far; LJPI_EVENT_MAX bytes may be read. */
typedef struct ljpi_reader {
  const unsigned char *p;
  unsigned at;
  unsigned bad;               /* Above 7: a number cannot be read. */
  uint64_t ends;              /* Bit i: byte i, not read yet, ends a number. */
} ljpi_reader;

typedef uint64_t (*ljpi_read)(ljpi_reader *r);

/* Any number. */
LJPI_INLINE uint64_t ljpi_read_any(ljpi_reader *r)
{
  uint64_t v = 0;
  const unsigned char *q = r->bad ? NULL : ljpi_uleb(r->p + r->at, &v);
  if (q) r->at = (unsigned)(q - r->p);
  else r->bad = 8;
  return v;
}

#if defined(__GNUC__)
#define LJPI_QUICK_MAX 32u    /* Bytes of an event that is read the short way:
                              ** no number has to wait for the length of the
                              ** one before it. */

/* Ends of numbers in the first bytes at p, and behind them one for each number
** of an event. */
LJPI_INLINE uint64_t ljpi_ends(const unsigned char *p)
{
  uint64_t more = 0;
  unsigned i;
#ifdef LJPI_VECTORS
  for (i = 0; i < LJPI_QUICK_MAX; i += 16) {
    ljpi_bytes16 v;
    memcpy(&v, p + i, sizeof(v));
    more |= (uint64_t)(unsigned)__builtin_ia32_pmovmskb128(v) << i;
  }
#else
  for (i = 0; i < LJPI_QUICK_MAX; i += 8) {
    uint64_t v = ljpi_load64(p + i) & UINT64_C(0x8080808080808080);
    more |= (v >> 7) * UINT64_C(0x0102040810204080) >> 56 << i;
  }
#endif
  return ~more;
}

/* A number of up to 8 bytes. */
LJPI_INLINE uint64_t ljpi_read_quick(ljpi_squeeze squeeze, ljpi_reader *r)
{
  unsigned end = (unsigned)__builtin_ctzll(r->ends), more = end - r->at;
  uint64_t x = ljpi_load64(r->p + r->at);
  r->bad |= more;
  r->at = end + 1;
  r->ends &= r->ends - 1;
  return squeeze(x, more);
}

LJPI_INLINE uint64_t ljpi_read_plain(ljpi_reader *r)
{
  return ljpi_read_quick(ljpi_squeeze_plain, r);
}

#ifdef LJPI_SQUEEZE_NATIVE
LJPI_INLINE uint64_t ljpi_read_native(ljpi_reader *r)
{
  return ljpi_read_quick(ljpi_squeeze_native, r);
}
#endif
#endif

/* Bit s: locations of source s have two numbers. */
static unsigned ljpi_lines(ljp_trace_layout layout)
{
  return 1u << LJP_SOURCE_LUA |
         (layout == LJP_TRACE_WITH_ADDR ? 1u << LJP_SOURCE_TRACE : 0);
}

/* Reads a plain event. */
LJPI_INLINE void ljpi_event(ljpi_read read, ljpi_reader *r, unsigned lines,
                            ljp_event *ev)
{
  unsigned kind = *r->p & 3, source = *r->p >> 2;
  ev->kind = (uint8_t)kind;
  ev->source = (uint8_t)source;
  if (source == LJP_SOURCE_INTERNAL) {
    ev->id = ev->line = 0;
  } else {
    ev->id = read(r);
    ev->line = lines >> source & 1 ? read(r) : 0;
  }
  if (kind == LJP_EVENT_ALLOC) {
    ev->old_addr = ev->old_size = 0;
  } else {
    ev->old_addr = read(r);
    ev->old_size = read(r);
    if (kind == LJP_EVENT_FREE) {
      ev->addr = ev->size = 0;
      return;
    }
  }
  ev->addr = read(r);
  ev->size = read(r);
}

/* Reads the plain event at p, of which LJPI_EVENT_MAX bytes may be read.
** Returns what follows; NULL: a number is malformed. */
LJPI_NOINLINE const unsigned char *ljpi_event_any(const unsigned char *p,
                                                  unsigned lines,
                                                  ljp_event *ev)
{
  ljpi_reader r;
  r.p = p;
  r.at = 1;
  r.bad = 0;
  r.ends = 0;
  ljpi_event(ljpi_read_any, &r, lines, ev);
  return r.bad ? NULL : p + r.at;
}

/* The number at or after p that cannot be read; there is one. */
static const unsigned char *ljpi_bad_number(const unsigned char *p)
{
  uint64_t v;
  const unsigned char *q;
  while ((q = ljpi_uleb(p, &v)) != NULL) p = q;
  return p;
}

/* The plain event at the cursor, which may be cut. */
static ljp_status ljpi_event_checked(ljp_decoder *d, ljpi_cursor *c)
{
  unsigned char tmp[LJPI_EVENT_MAX + LJPI_ULEB_MAX];
  ljp_event *ev = &d->batch[d->batch_count];
  size_t left = (size_t)(c->end - c->p);
  const unsigned char *q;
  if (left > LJPI_EVENT_MAX) left = LJPI_EVENT_MAX;
  memset(tmp, 0, sizeof(tmp));
  memcpy(tmp, c->p, left);
  q = ljpi_event_any(tmp, ljpi_lines(d->layout), ev);
  if (!q) {
    const unsigned char *at = c->p + (ljpi_bad_number(tmp + 1) - tmp);
    if (ljpi_flush(d) != LJP_OK) return d->err.status;
    return ljpi_bad(d, LJP_E_MALFORMED, at, c->p);
  }
  if ((size_t)(q - tmp) > left) return LJP_MORE;
  ev->off = ljpi_off(d, c->p);
  c->p += q - tmp;
  return ++d->batch_count == LJPI_BATCH ? ljpi_flush(d) : LJP_OK;
}

/* A stray record: byte 1, address, name. */
static ljp_status ljpi_stray(ljp_decoder *d, ljpi_cursor *c)
{
  ljpi_cursor t = *c;
  ljp_record r;
  ljp_status st;
  t.p++;
  st = ljpi_definition(d, &t, c->p, LJP_RECORD_CSYM);
  if (st != LJP_OK) return st;
  memset(&r, 0, sizeof(r));
  r.kind = LJP_RECORD_STRAY;
  r.off = ljpi_off(d, c->p);
  c->p = t.p;
  return ljpi_emit(d, &r);
}

/* A definition among the events. */
static ljp_status ljpi_symbol_event(ljp_decoder *d, ljpi_cursor *c)
{
  static const uint8_t kinds[5] = {
    0, 0, LJP_RECORD_PROTO, LJP_RECORD_CSYM, LJP_RECORD_TRACE
  };
  ljpi_cursor t = *c;
  ljp_record_kind kind = (ljp_record_kind)kinds[*c->p >> 2];
  ljp_status st;
  if (kind == LJP_RECORD_TRACE && d->layout == LJP_TRACE_AUTO)
    d->layout = LJP_TRACE_WITHOUT_ADDR;
  t.p++;
  st = ljpi_definition(d, &t, c->p, kind);
  if (st == LJP_OK) c->p = t.p;
  return st;
}

/* The record at the cursor, whatever it is; cut or whole. */
static ljp_status ljpi_any_event(ljp_decoder *d, ljpi_cursor *c)
{
  unsigned h;
  if (c->p == c->end) return LJP_MORE;
  h = *c->p;
  if (h < 32 && d->ordinary >> h & 1) {
    /* A location of a trace that no symbol announced has an address. */
    if (h >> 2 == LJP_SOURCE_TRACE && d->layout == LJP_TRACE_AUTO)
      d->layout = LJP_TRACE_WITH_ADDR;
    return ljpi_event_checked(d, c);
  }
  if (d->ljm == 3 && h <= LJP_SOURCE_TRACE << 2 && (h & 3) == 0 &&
      h >= LJP_SOURCE_LUA << 2)
    return ljpi_symbol_event(d, c);
  if (d->ljm == 3 && h == LJP_EVENT_ALLOC) return ljpi_stray(d, c);
  if (h == 0x80) {
    c->p++;
    d->state = LJPI_AT_END;
    return ljpi_flush(d);
  }
  if (ljpi_flush(d) != LJP_OK) return d->err.status;
  return ljpi_bad(d, LJP_E_MALFORMED, c->p, c->p);
}

/* Plain events as long as each is whole beyond doubt. */
LJPI_INLINE ljp_status ljpi_whole_events(ljpi_read read, ljp_decoder *d,
                                         ljpi_cursor *c)
{
  const unsigned char *p = c->p, *q, *const end = c->end;
  ljp_event *const full = d->batch + LJPI_BATCH;
  ljp_event *ev = d->batch + d->batch_count;
  const uint64_t off = ljpi_off(d, p) - (uintptr_t)p;
  const unsigned lines = ljpi_lines(d->layout);
  uint32_t ordinary = d->ordinary;
  if (d->layout == LJP_TRACE_AUTO) ordinary &= 0xffffu;
  for (; end - p >= LJPI_EVENT_MAX; p = q) {
    ljpi_reader r;
    if (*p >= 32 || !(ordinary >> *p & 1)) break;
    r.p = p;
    r.at = 1;
    r.bad = 0;
    r.ends = ljpi_ends(p) & ~UINT64_C(1);
    ljpi_event(read, &r, lines, ev);
    q = p + r.at;
    if (!LJPI_LIKELY(r.bad <= 7 && r.at <= LJPI_QUICK_MAX))
      q = ljpi_event_any(p, lines, ev);
    if (!q) break;
    ev->off = off + (uintptr_t)p;
    if (++ev < full) continue;
    d->batch_count = LJPI_BATCH;
    c->p = q;
    if (ljpi_flush(d) != LJP_OK) return d->err.status;
    ev = d->batch;
  }
  d->batch_count = (size_t)(ev - d->batch);
  c->p = p;
  return LJP_OK;
}

static ljp_status ljpi_whole_events_plain(ljp_decoder *d, ljpi_cursor *c)
{
  return ljpi_whole_events(ljpi_read_plain, d, c);
}

#ifdef LJPI_SQUEEZE_NATIVE
static ljp_status ljpi_whole_events_native(ljp_decoder *d, ljpi_cursor *c)
{
  return ljpi_whole_events(ljpi_read_native, d, c);
}
#endif

/* Plain events, then one that may not be whole or is something else. */
static ljp_status ljpi_events(ljp_decoder *d, ljpi_cursor *c)
{
  ljp_status st = d->whole_events(d, c);
  return st == LJP_OK ? ljpi_any_event(d, c) : st;
}

/* CRC-32C, eight bytes at a time. */
static void ljpi_crc_fill(uint32_t *t)
{
  uint32_t i, k, c;
  for (i = 0; i < 256; i++) {
    for (c = i, k = 0; k < 8; k++)
      c = c & 1 ? c >> 1 ^ UINT32_C(0x82f63b78) : c >> 1;
    t[i] = c;
  }
  for (; i < LJPI_CRC_TABLE_COUNT; i++)
    t[i] = t[i - 256] >> 8 ^ t[t[i - 256] & 255];
}

static uint32_t ljpi_crc_tables(const uint32_t *t, const unsigned char *p,
                                size_t n)
{
  uint32_t c = UINT32_MAX;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t v = ljpi_load64(p) ^ c;
    c = t[1792 + (v & 255)] ^ t[1536 + (v >> 8 & 255)] ^
        t[1280 + (v >> 16 & 255)] ^ t[1024 + (v >> 24 & 255)] ^
        t[768 + (v >> 32 & 255)] ^ t[512 + (v >> 40 & 255)] ^
        t[256 + (v >> 48 & 255)] ^ t[v >> 56];
  }
  for (; n > 0; n--, p++) c = c >> 8 ^ t[(c ^ *p) & 255];
  return ~c;
}

#if defined(__GNUC__) && defined(__x86_64__)
#define LJPI_CRC_NATIVE() (__builtin_cpu_supports("sse4.2") != 0)
__attribute__((__target__("sse4.2"))) static uint32_t
ljpi_crc_native(const unsigned char *p, size_t n)
{
  uint64_t c = UINT32_MAX;
  for (; n >= 8; n -= 8, p += 8)
    c = __builtin_ia32_crc32di(c, ljpi_load64(p));
  for (; n > 0; n--, p++) c = __builtin_ia32_crc32qi((uint32_t)c, *p);
  return ~(uint32_t)c;
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define LJPI_CRC_NATIVE() 1
static uint32_t ljpi_crc_native(const unsigned char *p, size_t n)
{
  uint32_t c = UINT32_MAX;
  for (; n >= 8; n -= 8, p += 8) c = __crc32cd(c, ljpi_load64(p));
  for (; n > 0; n--, p++) c = __crc32cb(c, *p);
  return ~c;
}
#endif

/* Makes ready to sum; once. */
static ljp_status ljpi_crc_init(ljp_decoder *d)
{
  void *p = NULL;
  ljp_status st;
#ifdef LJPI_CRC_NATIVE
  d->blocks.crc_native = LJPI_CRC_NATIVE();
#endif
  if (d->blocks.crc_native || d->blocks.crc_table) return LJP_OK;
  st = ljpi_alloc_array(d->mem, &p, LJPI_CRC_TABLE_COUNT, sizeof(uint32_t));
  if (st != LJP_OK) {
    d->err.limit = d->mem->hit;
    return ljpi_dec_fail(d, st, d->off, d->off);
  }
  d->blocks.crc_table = (uint32_t *)p;
  ljpi_crc_fill(d->blocks.crc_table);
  return LJP_OK;
}

static uint32_t ljpi_crc(const ljp_decoder *d, const unsigned char *p,
                         size_t n)
{
#ifdef LJPI_CRC_NATIVE
  if (d->blocks.crc_native) return ljpi_crc_native(p, n);
#endif
  return ljpi_crc_tables(d->blocks.crc_table, p, n);
}

#define LJP_FMT_BLOCK_SIZE 32         /* Of a block's header. */
#define LJP_FMT_PAYLOAD_MAX 1048576
#define LJP_FMT_BLOCK_META 1u
#define LJP_FMT_BLOCK_DEFS 2u
#define LJP_FMT_BLOCK_EVENTS 3u
#define LJP_FMT_BLOCK_LIVE 4u
#define LJP_FMT_BLOCK_END 5u
#define LJP_FMT_STATE_MAX 10u
#define LJP_FMT_OBJECT_MAX 17u
#define LJP_FMT_GAP_MAX 6u
#define LJP_FMT_MARK_MAX 4u
#define LJP_FMT_END_MAX 6u
#define LJP_FMT_END_COUNT 13u

static const unsigned char ljpi_block_magic[4] = {0x9d, 0x6c, 0x6a, 0x62};

typedef struct ljpi_block_head {
  uint32_t kind, copy, sequence, size, events, crc;
} ljpi_block_head;

static uint32_t ljpi_load32(const unsigned char *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

/* Reads the 32 bytes at p. Returns 0 if they are no header that may come
** next in this stream. */
static int ljpi_block_header(const ljp_decoder *d, const unsigned char *p,
                             ljpi_block_head *b)
{
  if (memcmp(p, ljpi_block_magic, 4) != 0) return 0;
  if (ljpi_load32(p + 28) != ljpi_crc(d, p, 28)) return 0;
  b->kind = p[4];
  b->copy = p[5];
  b->sequence = ljpi_load32(p + 8);
  b->size = ljpi_load32(p + 12);
  b->events = ljpi_load32(p + 16);
  b->crc = ljpi_load32(p + 24);
  if (b->kind < LJP_FMT_BLOCK_META || b->kind > LJP_FMT_BLOCK_END) return 0;
  if (b->copy > 1 || (b->copy && b->kind > LJP_FMT_BLOCK_DEFS)) return 0;
  if (p[6] || p[7] || b->size > LJP_FMT_PAYLOAD_MAX) return 0;
  if (b->events && b->kind != LJP_FMT_BLOCK_EVENTS) return 0;
  if (b->sequence < d->blocks.sequence) return 0;
  return !d->blocks.begun || ljpi_load32(p + 20) == d->blocks.stream_id;
}

/* Tells of lost bytes; from now on copies are read. */
static ljp_status ljpi_damage(ljp_decoder *d, uint64_t off, uint64_t size,
                              uint64_t events, uint64_t blocks)
{
  uint64_t n[2];
  ljp_record r;
  if (!d->blocks.damaged) d->blocks.first_off = off;
  d->blocks.damaged = 1;
  n[0] = events;
  n[1] = blocks;
  memset(&r, 0, sizeof(r));
  r.kind = LJP_RECORD_DAMAGE;
  r.off = off;
  r.size = size;
  r.n = n;
  r.n_count = 2;
  return ljpi_emit(d, &r);
}

/* What a stream that was damaged ends in. */
static ljp_status ljpi_damaged(ljp_decoder *d)
{
  if (ljpi_flush(d) != LJP_OK) return d->err.status;
  return ljpi_dec_fail(d, LJP_E_MALFORMED, d->blocks.first_off,
                       d->blocks.first_off);
}

/* From `p` on bytes are lost, at least up to the cursor. */
static void ljpi_lose(ljp_decoder *d, const unsigned char *p,
                            uint64_t events)
{
  d->blocks.lost_off = ljpi_off(d, p);
  d->blocks.lost_events = events;
  d->state = LJPI_AT_LOST;
}

/* Looks for the next header. */
static ljp_status ljpi_lost(ljp_decoder *d, ljpi_cursor *c)
{
  ljpi_block_head b;
  while (c->p < c->end) {
    size_t left = (size_t)(c->end - c->p);
    const void *q = memchr(c->p, ljpi_block_magic[0], left);
    c->p = q ? (const unsigned char *)q : c->end;
    left = (size_t)(c->end - c->p);
    if (left < LJP_FMT_BLOCK_SIZE) return LJP_MORE;
    if (ljpi_block_header(d, c->p, &b)) {
      uint64_t off = d->blocks.lost_off;
      uint64_t missing = b.sequence - d->blocks.sequence;
      d->state = LJPI_AT_BLOCK;
      d->blocks.sequence = b.sequence;
      return ljpi_damage(d, off, ljpi_off(d, c->p) - off,
                         d->blocks.lost_events, missing);
    }
    c->p++;
  }
  return LJP_MORE;
}

/* Records of one payload. */
typedef struct ljpi_payload {
  ljpi_cursor c;
  const unsigned char *rec;   /* Record at hand. */
  uint64_t last_def[9];       /* Last id by kind. */
  uint64_t site[3], addr[3], size[3]; /* Last event by op. */
  uint64_t weight;            /* Of the next alloc or realloc; 0: none. */
  uint64_t count;             /* Events read. */
} ljpi_payload;

/* A byte up to `max`. In a payload, which is whole, nothing is cut: LJP_MORE
** means malformed there. */
static ljp_status ljpi_get_byte(ljpi_cursor *c, unsigned max, uint64_t *v)
{
  if (c->p == c->end || *c->p > max) return LJP_E_MALFORMED;
  *v = *c->p++;
  return LJP_OK;
}

/* A string that lies inside the payload. */
static ljp_status ljpi_get_text(const ljp_decoder *d, ljpi_cursor *c,
                                ljp_record *r)
{
  ljpi_cursor t = *c;
  uint64_t n;
  ljp_status st = ljpi_get_uleb(&t, &n);
  if (st != LJP_OK) return st;
  if (n > (uint64_t)(t.end - t.p)) return LJP_E_MALFORMED;
  return ljpi_get_string(d, c, r);
}

static ljp_status ljpi_get_numbers(ljpi_cursor *c, size_t count, uint64_t *n)
{
  ljp_status st = LJP_OK;
  size_t i;
  for (i = 0; i < count && st == LJP_OK; i++) st = ljpi_get_uleb(c, &n[i]);
  return st;
}

/* n[0] is the kind; *count numbers in all. */
static ljp_status ljpi_get_frame(ljpi_cursor *c, uint64_t *n, size_t *count)
{
  static const uint8_t numbers[6] = {2, 3, 0, 2, 1, 0};
  ljp_status st = ljpi_get_byte(c, LJP_FRAME4_GAP, &n[0]);
  if (st != LJP_OK) return st;
  *count = 1u + numbers[n[0]];
  if (*count > 1) return ljpi_get_numbers(c, *count - 1, n + 1);
  *count = 2;
  if (n[0] == LJP_FRAME4_VM)
    return ljpi_get_byte(c, LJP_FMT_STATE_MAX, &n[1]);
  st = ljpi_get_byte(c, LJP_FMT_GAP_MAX, &n[1]);
  return st == LJP_OK && n[1] == 0 ? LJP_E_MALFORMED : st;
}

static ljp_status ljpi_get_site(ljpi_cursor *c, uint64_t *n)
{
  ljp_status st = ljpi_get_uleb(c, &n[0]);
  if (st == LJP_OK) st = ljpi_get_byte(c, LJP_FMT_STATE_MAX, &n[1]);
  if (st == LJP_OK) st = ljpi_get_byte(c, LJP_FMT_OBJECT_MAX, &n[2]);
  return st;
}

/* n[0] becomes the parent's id. */
static ljp_status ljpi_get_stack(ljpi_cursor *c, uint64_t id, uint64_t *n)
{
  ljp_status st = ljpi_get_numbers(c, 2, n);
  if (st != LJP_OK) return st;
  if (n[0] == 0 || n[0] > id) return LJP_E_MALFORMED;
  n[0] = id - n[0];
  return LJP_OK;
}

/* What follows the id of a definition. */
static ljp_status ljpi_get_def(const ljp_decoder *d, ljpi_cursor *c,
                               ljp_record *r, uint64_t *n)
{
  static const uint8_t numbers[] = {0, 0, 4, 4, 3, 0, 2, 3, 2};
  ljp_status st;
  r->n_count = numbers[r->kind - LJP_RECORD_META];
  switch (r->kind) {
  case LJP_RECORD_STRING: return ljpi_get_text(d, c, r);
  case LJP_RECORD_MODULE:
    st = ljpi_get_uleb(c, &n[0]);
    if (st == LJP_OK) st = ljpi_get_text(d, c, r);
    return st == LJP_OK ? ljpi_get_numbers(c, 3, n + 1) : st;
  case LJP_RECORD_FRAME: return ljpi_get_frame(c, n, &r->n_count);
  case LJP_RECORD_STACK: return ljpi_get_stack(c, r->id, n);
  case LJP_RECORD_SITE: return ljpi_get_site(c, n);
  default: return ljpi_get_numbers(c, r->n_count, n);
  }
}

static void ljpi_record4(ljp_decoder *d, const ljpi_payload *in,
                         ljp_record *r, ljp_record_kind kind,
                         const uint64_t *n)
{
  memset(r, 0, sizeof(*r));
  r->kind = kind;
  r->off = ljpi_off(d, in->rec);
  r->n = n;
}

static ljp_status ljpi_def(ljp_decoder *d, ljpi_payload *in)
{
  uint64_t n[4], step, kind;
  ljp_record r;
  ljp_status st = ljpi_get_byte(&in->c, 8, &kind);
  if (st == LJP_OK) st = ljpi_get_nonzero(&in->c, &step);
  if (st != LJP_OK) return st;
  if (kind == 0 || step > UINT64_MAX - in->last_def[kind])
    return LJP_E_MALFORMED;
  ljpi_record4(d, in, &r, (ljp_record_kind)(LJP_RECORD_META + (int)kind), n);
  r.id = in->last_def[kind] + step;
  st = ljpi_get_def(d, &in->c, &r, n);
  if (st != LJP_OK) return st;
  in->last_def[kind] = r.id;
  return ljpi_emit(d, &r);
}

static ljp_status ljpi_meta(ljp_decoder *d, ljpi_payload *in)
{
  ljp_record key, r;
  ljp_status st;
  ljpi_record4(d, in, &key, LJP_RECORD_META, NULL);
  r = key;
  st = ljpi_get_text(d, &in->c, &key);
  if (st == LJP_OK) st = ljpi_get_text(d, &in->c, &r);
  if (st != LJP_OK) return st;
  r.text = r.name;
  r.text_size = r.name_size;
  r.name = key.name;
  r.name_size = key.name_size;
  return ljpi_emit(d, &r);
}

static ljp_status ljpi_still_live(ljp_decoder *d, ljpi_payload *in)
{
  uint64_t object, z;
  ljp_record r;
  ljp_status st = ljpi_get_byte(&in->c, LJP_FMT_OBJECT_MAX, &object);
  if (st == LJP_OK) st = ljpi_get_uleb(&in->c, &z);
  if (st != LJP_OK) return st;
  in->addr[0] += z >> 1 ^ (0 - (z & 1));
  ljpi_record4(d, in, &r, LJP_RECORD_LIVE, &object);
  r.n_count = 1;
  r.addr = in->addr[0];
  return ljpi_emit(d, &r);
}

/* Whether END says what was read; it need not after damage. */
static int ljpi_sums4_agree(const ljpi_sums4 *s, const uint64_t *n)
{
  return n[3] == s->count[0] && n[4] == s->size[0] && n[5] == s->count[1] &&
         n[6] == s->size[1] && n[7] == s->count[2] && n[8] == s->size[2] &&
         n[9] == s->new_size && n[10] == s->failed;
}

static ljp_status ljpi_end4(ljp_decoder *d, ljpi_payload *in)
{
  uint64_t n[LJP_FMT_END_COUNT];
  ljp_record r;
  ljp_status st = ljpi_get_numbers(&in->c, LJP_FMT_END_COUNT, n);
  if (st != LJP_OK) return st;
  if (n[0] > LJP_FMT_END_MAX || in->c.p != in->c.end) return LJP_E_MALFORMED;
  d->blocks.ended = 1;
  ljpi_record4(d, in, &r, LJP_RECORD_FINAL, n);
  r.n_count = LJP_FMT_END_COUNT;
  st = ljpi_emit(d, &r);
  if (st != LJP_OK) return st;
  if (d->blocks.damaged || ljpi_sums4_agree(&d->blocks.sums, n)) return LJP_OK;
  return ljpi_damage(d, r.off, 0, 0, 0);
}

/* The next free event, of the batch that is not full. */
LJPI_INLINE ljp_event *ljpi_next_event(ljp_decoder *d, unsigned kind,
                                       uint64_t id)
{
  ljp_event *ev = &d->batch[d->batch_count];
  ev->kind = (uint8_t)kind;
  ev->source = LJP_SOURCE_SITE;
  ev->id = id;
  ev->line = 0;
  return ev;
}

/* A failed alloc (2 numbers) or realloc (4). */
static ljp_status ljpi_failed_event(ljp_decoder *d, ljpi_payload *in,
                                    unsigned kind, const uint64_t *n)
{
  ljp_event *ev = ljpi_next_event(d, kind, n[0]);
  int moved = kind == LJP_EVENT_FAILED_REALLOC;
  ev->off = ljpi_off(d, in->rec);
  ev->addr = 0;
  ev->size = moved ? n[3] : n[1];
  ev->old_addr = moved ? n[1] : 0;
  ev->old_size = moved ? n[2] : 0;
  ev->weight = 0;
  d->blocks.sums.failed++;
  in->count++;
  return ++d->batch_count == LJPI_BATCH ? ljpi_flush(d) : LJP_OK;
}

/* A record of op 3, its control byte read. */
static ljp_status ljpi_other(ljp_decoder *d, ljpi_payload *in, unsigned sub)
{
  static const uint8_t counts[] = {2, 4, 1, 6, 1, 1, 2};
  static const uint8_t kinds[] = {
    LJP_EVENT_FAILED_ALLOC, LJP_EVENT_FAILED_REALLOC, 0, LJP_RECORD_MARK,
    LJP_RECORD_LOADED, LJP_RECORD_UNLOADED, LJP_RECORD_DROPPED
  };
  uint64_t n[6];
  ljp_record r;
  ljp_status st;
  if (sub >= sizeof(counts)) return LJP_E_MALFORMED;
  st = ljpi_get_numbers(&in->c, counts[sub], n);
  if (st != LJP_OK) return st;
  if (sub < 2) return ljpi_failed_event(d, in, kinds[sub], n);
  if (sub == 2) {
    in->weight = n[0];
    return LJP_OK;
  }
  if (kinds[sub] == LJP_RECORD_MARK &&
      (n[0] == 0 || n[0] > LJP_FMT_MARK_MAX))
    return LJP_E_MALFORMED;
  ljpi_record4(d, in, &r, (ljp_record_kind)kinds[sub], n);
  r.n_count = counts[sub];
  return ljpi_emit(d, &r);
}

/* Bytes that the fast reader may touch from an event's first byte on. */
#define LJPI_EVENT4_MAX 48

/* Site and address behind a control byte; returns what follows. */
LJPI_INLINE const unsigned char *ljpi_place4(const unsigned char *p,
                                             unsigned c, ljpi_payload *in)
{
  static const uint32_t site_mask[4] = {0, 0xff, 0xffff, 0xffffff};
  static const uint64_t addr_mask[4] = {0xff, 0xffff, 0xffffff, UINT64_MAX};
  unsigned op = c & 3, site = c >> 2 & 3, addr = c >> 4 & 3;
  uint64_t w = ljpi_load64(p), v;
  in->site[op] = site ? w & site_mask[site] : in->site[op];
  v = ljpi_load64(p + site) & addr_mask[addr];
  in->addr[op] = addr == 3 ? v
                           : in->addr[op] + ((v >> 1 ^ (0 - (v & 1))) << 3);
  return p + site + (0x8321u >> (4 * addr) & 15);
}

/* Reads the alloc, free or realloc at p, of which LJPI_EVENT4_MAX bytes may
** be read. Returns what follows, or NULL. */
LJPI_INLINE const unsigned char *ljpi_event4(ljp_decoder *d,
                                             const unsigned char *p,
                                             ljpi_payload *in, ljp_event *ev)
{
  static const uint64_t size_mask[4] = {0, 0xff, 0xffff, UINT64_MAX};
  ljpi_sums4 *sums = &d->blocks.sums;
  unsigned c = *p, op = c & 3, code = c >> 6;
  uint64_t size, addr, move;
  p = ljpi_place4(p + 1, c, in);
  addr = in->addr[op];
  if (op == 2) {
    if (code) return NULL;
    p = ljpi_uleb(p, &ev->old_size);
    if (p) p = ljpi_uleb(p, &move);
    if (p) p = ljpi_uleb(p, &ev->size);
    if (!p) return NULL;
    ev->old_addr = addr;
    in->addr[op] = ev->addr = addr + (move >> 1 ^ (0 - (move & 1)));
    size = ev->old_size;
    sums->new_size += ev->size;
  } else {
    size = code ? ljpi_load64(p) & size_mask[code] : in->size[op];
    p += 0x8210u >> (4 * code) & 15;
    in->size[op] = size;
    ev->addr = op ? 0 : addr;
    ev->size = op ? 0 : size;
    ev->old_addr = op ? addr : 0;
    ev->old_size = op ? size : 0;
  }
  ev->weight = op == 1 ? 0 : in->weight;
  in->weight = op == 1 ? in->weight : 0;
  sums->count[op]++;
  sums->size[op] += size;
  return p;
}

/* The record at the cursor, which may be cut by the payload's end. */
static ljp_status ljpi_any_event4(ljp_decoder *d, ljpi_payload *in)
{
  unsigned char tmp[2 * LJPI_EVENT4_MAX];
  size_t left = (size_t)(in->c.end - in->c.p);
  const unsigned char *q;
  unsigned control = *in->c.p;
  if ((control & 3) == 3) {
    in->c.p++;
    return ljpi_other(d, in, control >> 2);
  }
  if (left > LJPI_EVENT4_MAX) left = LJPI_EVENT4_MAX;
  memset(tmp, 0, sizeof(tmp));
  memcpy(tmp, in->c.p, left);
  q = ljpi_event4(d, tmp, in, ljpi_next_event(d, 1 + (control & 3), 0));
  if (!q || (size_t)(q - tmp) > left) return LJP_E_MALFORMED;
  d->batch[d->batch_count].id = in->site[control & 3];
  d->batch[d->batch_count].off = ljpi_off(d, in->rec);
  in->c.p += q - tmp;
  in->count++;
  return ++d->batch_count == LJPI_BATCH ? ljpi_flush(d) : LJP_OK;
}

/* Plain events while each is whole beyond doubt, then one record. */
static ljp_status ljpi_events4(ljp_decoder *d, ljpi_payload *in)
{
  const unsigned char *p = in->c.p, *q;
  while (in->c.end - p >= LJPI_EVENT4_MAX && (*p & 3) != 3) {
    unsigned op = *p & 3;
    ljp_event *ev = ljpi_next_event(d, 1 + op, 0);
    q = ljpi_event4(d, p, in, ev);
    if (!q) break;
    ev->id = in->site[op];
    ev->off = ljpi_off(d, p);
    p = q;
    in->count++;
    if (++d->batch_count == LJPI_BATCH && ljpi_flush(d) != LJP_OK) {
      in->c.p = p;
      return d->err.status;
    }
  }
  in->rec = in->c.p = p;
  return p < in->c.end ? ljpi_any_event4(d, in) : LJP_OK;
}

/* Records of a payload until its end or a fault. */
static ljp_status ljpi_payload_run(ljp_decoder *d, ljpi_payload *in,
                                   unsigned kind)
{
  ljp_status st = LJP_OK;
  while (st == LJP_OK && in->c.p < in->c.end) {
    in->rec = in->c.p;
    switch (kind) {
    case LJP_FMT_BLOCK_META: st = ljpi_meta(d, in); break;
    case LJP_FMT_BLOCK_DEFS: st = ljpi_def(d, in); break;
    case LJP_FMT_BLOCK_EVENTS: st = ljpi_events4(d, in); break;
    case LJP_FMT_BLOCK_LIVE: st = ljpi_still_live(d, in); break;
    default: st = ljpi_end4(d, in);
    }
  }
  return st;
}

/* A payload whose sum is right. A fault inside loses the rest of it. */
static ljp_status ljpi_block_read(ljp_decoder *d, const unsigned char *p,
                                  const ljpi_block_head *b)
{
  ljpi_payload in;
  uint64_t missing;
  ljp_status st;
  memset(&in, 0, sizeof(in));
  in.c.p = in.rec = p;
  in.c.end = p + b->size;
  st = ljpi_payload_run(d, &in, b->kind);
  if (d->err.status != LJP_OK) return d->err.status;
  if (st == LJP_E_LIMIT) {
    d->err.limit = LJP_LIMIT_STRING;
    return ljpi_bad(d, st, in.rec, in.rec);
  }
  if (st == LJP_OK && in.c.p == in.c.end && in.count == b->events &&
      (b->kind != LJP_FMT_BLOCK_END || d->blocks.ended))
    return LJP_OK;
  missing = b->events > in.count ? b->events - in.count : 0;
  if (st == LJP_OK) in.rec = in.c.end;
  return ljpi_damage(d, ljpi_off(d, in.rec), (uint64_t)(in.c.end - in.rec),
                     missing, 0);
}

/* A header that is right: is it the next one? */
static ljp_status ljpi_block_accept(ljp_decoder *d, const unsigned char *p,
                                    const ljpi_block_head *b)
{
  uint64_t missing = b->sequence - d->blocks.sequence;
  d->blocks.begun = 1;
  d->blocks.stream_id = ljpi_load32(p + 20);
  d->blocks.sequence = (uint64_t)b->sequence + 1;
  return missing ? ljpi_damage(d, ljpi_off(d, p), 0, 0, missing) : LJP_OK;
}

/* A payload with a wrong sum: what is inside may hold whole blocks, if bytes
** are missing in it; but do not sum much more than there is to read. */
static ljp_status ljpi_block_bad(ljp_decoder *d, ljpi_cursor *c,
                                 const ljpi_block_head *b)
{
  const unsigned char *p = c->p;
  d->blocks.vain += b->size;
  c->p += LJP_FMT_BLOCK_SIZE;
  if (d->blocks.vain / 8 > ljpi_off(d, p) + LJP_FMT_PAYLOAD_MAX)
    c->p += b->size;
  ljpi_lose(d, p, b->events);
  return LJP_OK;
}

static ljp_status ljpi_block_next(ljp_decoder *d, ljpi_cursor *c)
{
  const unsigned char *p = c->p;
  size_t left = (size_t)(c->end - p);
  ljpi_block_head b;
  ljp_status st;
  if (left < LJP_FMT_BLOCK_SIZE) return LJP_MORE;
  st = ljpi_crc_init(d);
  if (st != LJP_OK) return st;
  if (!ljpi_block_header(d, p, &b)) {
    c->p++;
    ljpi_lose(d, p, 0);
    return LJP_OK;
  }
  if (left - LJP_FMT_BLOCK_SIZE < b.size) return LJP_MORE;
  st = ljpi_block_accept(d, p, &b);
  if (st != LJP_OK) return st;
  if (ljpi_crc(d, p + LJP_FMT_BLOCK_SIZE, b.size) != b.crc)
    return ljpi_block_bad(d, c, &b);
  if (!b.copy || d->blocks.damaged)
    st = ljpi_block_read(d, p + LJP_FMT_BLOCK_SIZE, &b);
  if (st != LJP_OK) return st;
  c->p += LJP_FMT_BLOCK_SIZE + b.size;
  if (b.kind != LJP_FMT_BLOCK_END) return LJP_OK;
  if (d->blocks.damaged) return ljpi_damaged(d);
  d->state = LJPI_AT_END;
  return ljpi_flush(d);
}

/* Decodes what is whole from the cursor on. LJP_MORE: the rest is not;
** LJP_END; an error. */
static ljp_status ljpi_run(ljp_decoder *d, ljpi_cursor *c)
{
  ljp_status st = LJP_OK;
  d->begin = c->p;
  while (st == LJP_OK) {
    switch (d->state) {
    case LJPI_AT_SYMBOL_HEADER: st = ljpi_symbol_header(d, c); break;
    case LJPI_AT_SYMBOLS: st = ljpi_symbol(d, c); break;
    case LJPI_AT_EVENT_HEADER: st = ljpi_event_header(d, c); break;
    case LJPI_AT_EVENTS: st = ljpi_events(d, c); break;
    case LJPI_AT_BLOCK: st = ljpi_block_next(d, c); break;
    case LJPI_AT_LOST: st = ljpi_lost(d, c); break;
    default:
      st = c->p == c->end ? LJP_END
                          : ljpi_bad(d, LJP_E_MALFORMED, c->p, c->p);
    }
  }
  if (st <= LJP_MORE && ljpi_flush(d) != LJP_OK) st = d->err.status;
  d->off += (uint64_t)(c->p - d->begin);
  return st;
}

/* Adds bytes to what is kept. */
static ljp_status ljpi_keep(ljp_decoder *d, const unsigned char *p,
                            size_t size)
{
  void *buf = d->buf;
  size_t want = d->buf_size + size;
  ljp_status st;
  if (want < size) return ljpi_dec_fail(d, LJP_E_NOMEM, d->off, d->off);
  st = ljpi_grow(d->mem, &buf, &d->buf_cap, want, 1);
  d->buf = (unsigned char *)buf;
  if (st != LJP_OK) {
    d->err.limit = d->mem->hit;
    return ljpi_dec_fail(d, st, d->off, d->off);
  }
  memcpy(d->buf + d->buf_size, p, size);
  d->buf_size = want;
  return LJP_OK;
}

/* Runs over the kept bytes and keeps what is left. */
static ljp_status ljpi_run_kept(ljp_decoder *d, size_t *used)
{
  ljpi_cursor c;
  ljp_status st;
  c.p = d->buf;
  c.end = d->buf + d->buf_size;
  st = ljpi_run(d, &c);
  *used = (size_t)(c.p - d->buf);
  d->buf_size -= *used;
  if (*used && d->buf_size) memmove(d->buf, c.p, d->buf_size);
  return st;
}

/* Follows one layout over the held bytes. */
static void ljpi_follow(ljp_decoder *d, ljpi_guess *g,
                        ljp_trace_layout layout)
{
  ljpi_cursor c;
  ljp_record r;
  ljp_status st = LJP_OK;
  while (g->status == LJP_MORE) {
    c.p = d->buf + g->pos;
    c.end = d->buf + d->buf_size;
    if (c.p == c.end) return;
    if (*c.p & 0x80) {
      if (c.end - c.p < 5) return;
      st = memcmp(c.p + 1, "ljm", 3) != 0 ? LJP_E_MALFORMED : LJP_OK;
      if (st == LJP_OK && c.p[4] <= 3 &&
          (c.p[4] == 2 ? layout != LJP_TRACE_WITH_ADDR
                       : d->wanted != LJP_TRACE_AUTO && d->wanted != layout))
        st = LJP_E_MALFORMED;
      g->status = st;
      return;
    }
    memset(&r, 0, sizeof(r));
    r.kind = ljpi_symbol_kind(d->ljs, *c.p++);
    st = r.kind ? ljpi_get_body(d, &c, layout, &r) : LJP_E_MALFORMED;
    if (st == LJP_MORE) return;
    if (st != LJP_OK) g->status = st;
    else g->pos = (size_t)(c.p - d->buf);
  }
}

/* The layout, once one has reached the event part (the first, without
** address in a tie), or both failed (the one that got further). Never told
** by where the input happens to be split. */
static ljp_trace_layout ljpi_told(const ljpi_guess *g)
{
  int with;
  if (g[0].status == LJP_OK || g[1].status == LJP_OK)
    with = g[1].status == LJP_OK &&
           (g[0].status != LJP_OK || g[1].pos < g[0].pos);
  else if (g[0].status == LJP_MORE || g[1].status == LJP_MORE)
    return LJP_TRACE_AUTO;
  else
    with = g[1].pos > g[0].pos;
  return with ? LJP_TRACE_WITH_ADDR : LJP_TRACE_WITHOUT_ADDR;
}

/* Takes bytes while a layout is not told yet. */
static ljp_status ljpi_feed_held(ljp_decoder *d, const unsigned char **p,
                                 size_t *size)
{
  ljpi_guess *g = d->guess;
  size_t take = d->buf_size > LJPI_HOLD_STEP ? d->buf_size : LJPI_HOLD_STEP;
  size_t used;
  if (take > *size) take = *size;
  if (d->buf_size >= d->max_hold) {
    d->err.limit = LJP_LIMIT_HOLD;
    return ljpi_dec_fail(d, LJP_E_LIMIT, d->off, d->off);
  }
  if (take > d->max_hold - d->buf_size)
    take = (size_t)(d->max_hold - d->buf_size);
  if (ljpi_keep(d, *p, take) != LJP_OK) return d->err.status;
  *p += take;
  *size -= take;
  ljpi_follow(d, &g[0], LJP_TRACE_WITHOUT_ADDR);
  ljpi_follow(d, &g[1], LJP_TRACE_WITH_ADDR);
  d->layout = ljpi_told(g);
  if (d->layout == LJP_TRACE_AUTO) return LJP_MORE;
  d->holding = 0;
  return ljpi_run_kept(d, &used);
}

/* Takes bytes of a record whose first bytes are kept; more at each step, so
** that a long one is not copied or scanned too often. */
static ljp_status ljpi_feed_kept(ljp_decoder *d, const unsigned char **p,
                                 size_t *size)
{
  size_t take = d->buf_size > LJPI_CARRY_STEP ? d->buf_size : LJPI_CARRY_STEP;
  size_t kept = d->buf_size, used;
  ljp_status st;
  if (take > *size) take = *size;
  if (ljpi_keep(d, *p, take) != LJP_OK) return d->err.status;
  st = ljpi_run_kept(d, &used);
  if (used <= kept) {
    *p += take;
    *size -= take;
    return st;
  }
  /* What was not used is still in the input. */
  *p += used - kept;
  *size -= used - kept;
  d->buf_size = 0;
  return st;
}

LJP_API ljp_status ljp_decoder_feed(ljp_decoder *d, const void *data,
                                    size_t size)
{
  const unsigned char *p = (const unsigned char *)data;
  ljp_status st = LJP_OK;
  if (d->err.status != LJP_OK) return d->err.status;
  while (size && st <= LJP_MORE) {
    if (d->holding) {
      st = ljpi_feed_held(d, &p, &size);
    } else if (d->buf_size) {
      st = ljpi_feed_kept(d, &p, &size);
    } else {
      ljpi_cursor c;
      c.p = p;
      c.end = p + size;
      st = ljpi_run(d, &c);
      size -= (size_t)(c.p - p);
      p = c.p;
      if (st != LJP_MORE || d->holding || !size) continue;
      st = ljpi_keep(d, p, size);
      size = 0;
    }
  }
  if (st > LJP_MORE) return st;
  return d->state == LJPI_AT_END ? LJP_END : LJP_MORE;
}

/* Nothing but lost bytes to the end. */
static ljp_status ljpi_finish_lost(ljp_decoder *d, uint64_t end)
{
  uint64_t off = d->blocks.lost_off;
  ljp_status st = ljpi_damage(d, off, end - off, d->blocks.lost_events, 0);
  return st == LJP_OK ? ljpi_damaged(d) : st;
}

/* No more bytes, and no END. What is left may be a block that was cut, or
** one that lacks bytes and has whole blocks inside what it claims. */
static ljp_status ljpi_finish4(ljp_decoder *d)
{
  uint64_t end = d->off + d->buf_size, block;
  ljpi_block_head b;
  ljpi_cursor c;
  c.p = d->buf ? d->buf : ljpi_block_magic; /* Never NULL, maybe nothing. */
  c.end = c.p + d->buf_size;
  d->buf_size = 0;
  while (d->state == LJPI_AT_BLOCK) {
    size_t left = (size_t)(c.end - c.p);
    block = d->off;
    d->begin = c.p;
    if (left < LJP_FMT_BLOCK_SIZE) {
      if (memcmp(c.p, ljpi_block_magic, left < 4 ? left : 4) == 0)
        return ljpi_dec_fail(d, LJP_E_TRUNCATED, end, block);
      ljpi_lose(d, c.p, 0);
      break;
    }
    (void)ljpi_block_header(d, c.p, &b); /* It is one, or this is not it. */
    ljpi_lose(d, c.p, b.events);
    d->blocks.sequence = (uint64_t)b.sequence + 1;
    c.p += LJP_FMT_BLOCK_SIZE;
    d->off += LJP_FMT_BLOCK_SIZE;
    if (ljpi_run(d, &c) != LJP_MORE) return d->err.status;
    if (d->state == LJPI_AT_LOST && d->blocks.lost_off == block) {
      d->state = LJPI_AT_BLOCK;
      return ljpi_dec_fail(d, LJP_E_TRUNCATED, end, block);
    }
  }
  return ljpi_finish_lost(d, end);
}

LJP_API ljp_status ljp_decoder_finish(ljp_decoder *d)
{
  size_t whole = 0;
  if (d->err.status != LJP_OK) return d->err.status;
  if (d->state == LJPI_AT_END) return LJP_END;
  if (d->state == LJPI_AT_BLOCK || d->state == LJPI_AT_LOST)
    return ljpi_finish4(d);
  if (d->holding)
    whole = d->guess[0].pos > d->guess[1].pos ? d->guess[0].pos
                                              : d->guess[1].pos;
  return ljpi_dec_fail(d, LJP_E_TRUNCATED, d->off + d->buf_size,
                       d->off + whole);
}

/* -- AVL tree and symbols ----------------------------------------------- */

#define LJPI_CHUNK 512u         /* Nodes of a chunk. */
#define LJPI_PATH 48            /* Over the height of 2^31 nodes. */
#define LJPI_HEAVY 0x80000000u  /* In a link: that side is higher. */

typedef struct ljpi_node {
  uint64_t key, value;
  uint32_t link[2];             /* Less, greater; 0: none. */
} ljpi_node;

/* Nodes in chunks that never move; several trees may live in one arena. */
typedef struct ljpi_nodes {
  ljpi_mem *mem;
  ljpi_node **chunks;
  size_t chunk_cap, chunk_count;
  uint32_t fresh;               /* Lowest index never used; 0 is none. */
  uint32_t spare;               /* Freed nodes, linked by link[0]. */
} ljpi_nodes;

struct ljp_avl {
  ljpi_mem mem;
  ljpi_nodes nodes;
  uint32_t root;
  size_t count;
};

/* The way down to a node: indices, and the side taken at each. */
typedef struct ljpi_path {
  uint32_t at[LJPI_PATH];
  uint8_t side[LJPI_PATH];
  unsigned depth;
} ljpi_path;

LJPI_INLINE ljpi_node *ljpi_at(const ljpi_nodes *n, uint32_t idx)
{
  return &n->chunks[idx / LJPI_CHUNK][idx % LJPI_CHUNK];
}

LJPI_INLINE uint32_t ljpi_link(const ljpi_node *node, unsigned side)
{
  return node->link[side] & ~LJPI_HEAVY;
}

LJPI_INLINE void ljpi_set_link(ljpi_node *node, unsigned side, uint32_t idx)
{
  node->link[side] = (node->link[side] & LJPI_HEAVY) | idx;
}

/* Balance: the heavier side, or 2. */
LJPI_INLINE unsigned ljpi_heavy(const ljpi_node *node)
{
  return node->link[0] & LJPI_HEAVY ? 0u : node->link[1] & LJPI_HEAVY ? 1u : 2u;
}

LJPI_INLINE void ljpi_set_heavy(ljpi_node *node, unsigned side)
{
  node->link[0] &= ~LJPI_HEAVY;
  node->link[1] &= ~LJPI_HEAVY;
  if (side < 2) node->link[side] |= LJPI_HEAVY;
}

static void ljpi_nodes_free(ljpi_nodes *n)
{
  size_t i;
  for (i = 0; i < n->chunk_count; i++)
    ljpi_free_array(n->mem, n->chunks[i], LJPI_CHUNK, sizeof(ljpi_node));
  ljpi_free_array(n->mem, n->chunks, n->chunk_cap, sizeof(ljpi_node *));
  n->chunks = NULL;
  n->chunk_cap = n->chunk_count = 0;
  n->fresh = n->spare = 0;
}

static uint64_t ljpi_nodes_size(const ljpi_nodes *n)
{
  return (uint64_t)n->chunk_count * LJPI_CHUNK * sizeof(ljpi_node) +
         (uint64_t)n->chunk_cap * sizeof(ljpi_node *);
}

/* A new node without links. */
static ljp_status ljpi_node_new(ljpi_nodes *n, uint32_t *idx)
{
  void *p = n->chunks;
  ljp_status st;
  if (n->spare) {
    *idx = n->spare;
    n->spare = ljpi_at(n, n->spare)->link[0];
    return LJP_OK;
  }
  if (n->fresh == 0) n->fresh = 1;
  if (n->fresh == LJPI_HEAVY) return LJP_E_NOMEM;
  if (n->fresh / LJPI_CHUNK == n->chunk_count) {
    st = ljpi_grow(n->mem, &p, &n->chunk_cap, n->chunk_count + 1,
                   sizeof(ljpi_node *));
    n->chunks = (ljpi_node **)p;
    if (st != LJP_OK) return st;
    st = ljpi_alloc_array(n->mem, &p, LJPI_CHUNK, sizeof(ljpi_node));
    if (st != LJP_OK) return st;
    n->chunks[n->chunk_count++] = (ljpi_node *)p;
  }
  *idx = n->fresh++;
  return LJP_OK;
}

static uint32_t ljpi_tree_find(const ljpi_nodes *n, uint32_t root,
                               uint64_t key)
{
  while (root) {
    const ljpi_node *node = ljpi_at(n, root);
    if (node->key == key) break;
    root = ljpi_link(node, node->key < key);
  }
  return root;
}

static uint32_t ljpi_tree_floor(const ljpi_nodes *n, uint32_t root,
                                uint64_t key)
{
  uint32_t best = 0;
  while (root) {
    const ljpi_node *node = ljpi_at(n, root);
    if (node->key <= key) best = root;
    if (node->key == key) break;
    root = ljpi_link(node, node->key < key);
  }
  return best;
}

/* Hangs `idx` where the path's step `i` came from. */
static void ljpi_hang(ljpi_nodes *n, uint32_t *root, const ljpi_path *path,
                      unsigned i, uint32_t idx)
{
  if (i == 0)
    *root = idx;
  else
    ljpi_set_link(ljpi_at(n, path->at[i - 1]), path->side[i - 1], idx);
}

/* Makes up for node `top` being two levels too high on `side`. Returns the
** node that takes its place; *shrunk: whether the whole is a level lower. */
static uint32_t ljpi_rotate(ljpi_nodes *n, uint32_t top, unsigned side,
                            int *shrunk)
{
  ljpi_node *t = ljpi_at(n, top), *c, *g;
  uint32_t child = ljpi_link(t, side), grand;
  unsigned was;
  c = ljpi_at(n, child);
  *shrunk = ljpi_heavy(c) != 2;
  if (ljpi_heavy(c) != 1 - side) {
    was = ljpi_heavy(c);
    ljpi_set_link(t, side, ljpi_link(c, 1 - side));
    ljpi_set_link(c, 1 - side, top);
    ljpi_set_heavy(t, was == 2 ? side : 2);
    ljpi_set_heavy(c, was == 2 ? 1 - side : 2);
    return child;
  }
  grand = ljpi_link(c, 1 - side);
  g = ljpi_at(n, grand);
  was = ljpi_heavy(g);
  ljpi_set_link(c, 1 - side, ljpi_link(g, side));
  ljpi_set_link(g, side, child);
  ljpi_set_link(t, side, ljpi_link(g, 1 - side));
  ljpi_set_link(g, 1 - side, top);
  ljpi_set_heavy(t, was == side ? 1 - side : 2);
  ljpi_set_heavy(c, was == 1 - side ? side : 2);
  ljpi_set_heavy(g, 2);
  return grand;
}

/* Finds or makes the node of `key`; *made says which. */
static ljp_status ljpi_tree_insert(ljpi_nodes *n, uint32_t *root,
                                   uint64_t key, uint32_t *idx, int *made)
{
  ljpi_path path;
  uint32_t at = *root;
  ljpi_node *node;
  ljp_status st;
  unsigned i;
  int shrunk;
  path.depth = 0;
  *made = 0;
  while (at) {
    node = ljpi_at(n, at);
    *idx = at;
    if (node->key == key) return LJP_OK;
    path.at[path.depth] = at;
    path.side[path.depth] = node->key < key;
    at = ljpi_link(node, path.side[path.depth++]);
  }
  st = ljpi_node_new(n, idx);
  if (st != LJP_OK) return st;
  node = ljpi_at(n, *idx);
  node->key = key;
  node->value = 0;
  node->link[0] = node->link[1] = 0;
  *made = 1;
  ljpi_hang(n, root, &path, path.depth, *idx);
  for (i = path.depth; i-- > 0;) {
    unsigned side = path.side[i], heavy;
    node = ljpi_at(n, path.at[i]);
    heavy = ljpi_heavy(node);
    if (heavy == side) {
      ljpi_hang(n, root, &path, i,
                ljpi_rotate(n, path.at[i], side, &shrunk));
      break;
    }
    ljpi_set_heavy(node, heavy == 2 ? side : 2);
    if (heavy != 2) break;
  }
  return LJP_OK;
}

/* Rebalances upwards after the last step of the path got a level lower. */
static void ljpi_tree_shrunk(ljpi_nodes *n, uint32_t *root,
                             const ljpi_path *path)
{
  unsigned i;
  for (i = path->depth; i-- > 0;) {
    ljpi_node *node = ljpi_at(n, path->at[i]);
    unsigned side = path->side[i], heavy = ljpi_heavy(node);
    if (heavy == 2) {
      ljpi_set_heavy(node, 1 - side);
      return;
    }
    if (heavy == side) {
      ljpi_set_heavy(node, 2);
    } else {
      int shrunk;
      uint32_t top = ljpi_rotate(n, path->at[i], heavy, &shrunk);
      ljpi_hang(n, root, path, i, top);
      if (!shrunk) return;
    }
  }
}

/* Removes `key`; returns whether it was there, and its value. */
static int ljpi_tree_remove(ljpi_nodes *n, uint32_t *root, uint64_t key,
                            uint64_t *value)
{
  ljpi_path path;
  uint32_t at = *root, gone;
  ljpi_node *node = NULL, *last;
  path.depth = 0;
  while (at) {
    node = ljpi_at(n, at);
    if (node->key == key) break;
    path.at[path.depth] = at;
    path.side[path.depth] = node->key < key;
    at = ljpi_link(node, path.side[path.depth++]);
  }
  if (!at) return 0;
  *value = node->value;
  gone = at;
  if (ljpi_link(node, 0) && ljpi_link(node, 1)) {
    /* The next greater node takes its place, and goes instead. */
    path.at[path.depth] = at;
    path.side[path.depth++] = 1;
    gone = ljpi_link(node, 1);
    while (ljpi_link(ljpi_at(n, gone), 0)) {
      path.at[path.depth] = gone;
      path.side[path.depth++] = 0;
      gone = ljpi_link(ljpi_at(n, gone), 0);
    }
    node->key = ljpi_at(n, gone)->key;
    node->value = ljpi_at(n, gone)->value;
  }
  last = ljpi_at(n, gone);
  ljpi_hang(n, root, &path, path.depth,
            ljpi_link(last, ljpi_link(last, 0) == 0));
  last->link[0] = n->spare;
  n->spare = gone;
  ljpi_tree_shrunk(n, root, &path);
  return 1;
}

LJP_API ljp_status ljp_avl_new(ljp_avl **out, const ljp_options *options)
{
  ljpi_mem mem;
  void *p = NULL;
  ljp_status st;
  if (!out) return LJP_E_ARG;
  *out = NULL;
  st = ljpi_new_object(&mem, options, &p, sizeof(ljp_avl));
  if (st != LJP_OK) return st;
  *out = (ljp_avl *)p;
  (*out)->mem = mem;
  (*out)->nodes.mem = &(*out)->mem;
  return LJP_OK;
}

LJP_API void ljp_avl_free(ljp_avl *t)
{
  ljpi_mem mem;
  if (!t) return;
  ljpi_nodes_free(&t->nodes);
  mem = t->mem;
  ljpi_free_array(&mem, t, 1, sizeof(*t));
}

LJP_API size_t ljp_avl_count(const ljp_avl *t)
{
  return t->count;
}

LJP_API ljp_status ljp_avl_insert(ljp_avl *t, uint64_t key, uint64_t value,
                                  uint64_t *old, int *had)
{
  uint32_t idx;
  int made;
  ljp_status st = ljpi_tree_insert(&t->nodes, &t->root, key, &idx, &made);
  if (st != LJP_OK) return st;
  if (!made && old) *old = ljpi_at(&t->nodes, idx)->value;
  if (had) *had = !made;
  ljpi_at(&t->nodes, idx)->value = value;
  t->count += (size_t)made;
  return LJP_OK;
}

LJP_API int ljp_avl_find(const ljp_avl *t, uint64_t key, uint64_t *value)
{
  uint32_t idx = ljpi_tree_find(&t->nodes, t->root, key);
  if (idx && value) *value = ljpi_at(&t->nodes, idx)->value;
  return idx != 0;
}

LJP_API int ljp_avl_floor(const ljp_avl *t, uint64_t key, uint64_t *found,
                          uint64_t *value)
{
  uint32_t idx = ljpi_tree_floor(&t->nodes, t->root, key);
  if (idx && found) *found = ljpi_at(&t->nodes, idx)->key;
  if (idx && value) *value = ljpi_at(&t->nodes, idx)->value;
  return idx != 0;
}

LJP_API int ljp_avl_remove(ljp_avl *t, uint64_t key, uint64_t *value)
{
  uint64_t v;
  if (!ljpi_tree_remove(&t->nodes, &t->root, key, &v)) return 0;
  t->count--;
  if (value) *value = v;
  return 1;
}

/* In-order walk of a tree in an arena. */
static int ljpi_tree_walk(const ljpi_nodes *n, uint32_t root,
                          int (*fn)(void *user, uint64_t key, uint64_t value),
                          void *user)
{
  uint32_t stack[LJPI_PATH], at = root;
  unsigned depth = 0;
  while (at || depth) {
    const ljpi_node *node;
    int stop;
    while (at) {
      stack[depth++] = at;
      at = ljpi_link(ljpi_at(n, at), 0);
    }
    node = ljpi_at(n, stack[--depth]);
    stop = fn(user, node->key, node->value);
    if (stop) return stop;
    at = ljpi_link(node, 1);
  }
  return 0;
}

LJP_API int ljp_avl_walk(const ljp_avl *t,
                         int (*fn)(void *user, uint64_t key, uint64_t value),
                         void *user)
{
  return ljpi_tree_walk(&t->nodes, t->root, fn, user);
}

/* Whether a node's balance fits its subtrees' heights. */
static int ljpi_balanced(const ljpi_node *node, const unsigned *height)
{
  switch (ljpi_heavy(node)) {
  case 0: return height[0] == height[1] + 1;
  case 1: return height[1] == height[0] + 1;
  default: return height[0] == height[1] &&
                  !((node->link[0] | node->link[1]) & LJPI_HEAVY);
  }
}

LJP_API int ljp_avl_validate(const ljp_avl *t)
{
  uint32_t stack[LJPI_PATH + 1], at = t->root;
  unsigned height[LJPI_PATH + 1][2], done = 0, depth = 0;
  size_t count = 0;
  const ljpi_node *node, *before = NULL;
  /* Down the left sides; `done` is the height just finished below. */
  for (;;) {
    while (at) {
      if (depth >= LJPI_PATH || count++ >= t->count) return 0;
      stack[depth] = at;
      height[depth][0] = height[depth][1] = UINT32_MAX;
      depth++;
      at = ljpi_link(ljpi_at(&t->nodes, at), 0);
    }
    done = 0;
    while (depth && height[depth - 1][0] != UINT32_MAX) {
      height[depth - 1][1] = done;
      node = ljpi_at(&t->nodes, stack[depth - 1]);
      if (!ljpi_balanced(node, height[depth - 1])) return 0;
      depth--;
      done = 1 + (height[depth][0] > height[depth][1] ? height[depth][0]
                                                      : height[depth][1]);
    }
    if (!depth) return count == t->count;
    node = ljpi_at(&t->nodes, stack[depth - 1]);
    if (before && before->key >= node->key) return 0;
    before = node;
    height[depth - 1][0] = done;
    at = ljpi_link(node, 1);
  }
}

LJP_API unsigned ljp_avl_height(const ljp_avl *t)
{
  uint32_t at = t->root;
  unsigned height = 0;
  for (; at; height++) {
    const ljpi_node *node = ljpi_at(&t->nodes, at);
    at = ljpi_link(node, ljpi_heavy(node) == 0 ? 0 : 1);
  }
  return height;
}

/* Mixes all bits of a number. */
LJPI_INLINE uint64_t ljpi_mix(uint64_t x)
{
  x ^= x >> 32;
  x *= UINT64_C(0x9e3779b97f4a7c15);
  x ^= x >> 29;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  return x ^ x >> 32;
}

static uint64_t ljpi_hash_bytes(const char *p, size_t size)
{
  const unsigned char *q = (const unsigned char *)p;
  uint64_t h = (uint64_t)size * UINT64_C(0x9e3779b97f4a7c15), last = 0;
  size_t i = 0;
  for (; size - i >= 8; i += 8) {
    h = (h ^ ljpi_load64(q + i)) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 29;
  }
  for (; i < size; i++) last = last << 8 | q[i];
  return ljpi_mix(h ^ last);
}

/* Slots looked at for a key, by those who have another place for the rest. */
#define LJPI_PROBES 16u

/* Byte strings by index, each kept once: of so many slots in a row, in a table
** half full, chance leaves none free in no program. A hostile set may make the
** table miss some: those are kept twice and count as two names. */
#define LJPI_NAME_PROBES 128u

typedef struct ljpi_string {
  const char *p;
  size_t size;
  uint32_t hash;
  uint32_t mark;          /* Alias of a chunk name; else 0. */
} ljpi_string;

typedef struct ljpi_block {
  struct ljpi_block *next;
  size_t size;            /* All in. */
} ljpi_block;

typedef struct ljpi_strings {
  ljpi_mem *mem;
  ljpi_string *v;         /* v[0] is empty. */
  size_t cap, count;
  uint32_t *table;
  size_t table_cap;       /* 0 or a power of two. */
  ljpi_block *blocks;
  char *free_at;
  size_t free_size, next_size;
} ljpi_strings;

static void ljpi_strings_free(ljpi_strings *s)
{
  ljpi_free_array(s->mem, s->v, s->cap, sizeof(*s->v));
  ljpi_free_array(s->mem, s->table, s->table_cap, sizeof(*s->table));
  while (s->blocks) {
    ljpi_block *next = s->blocks->next;
    ljpi_free_array(s->mem, s->blocks, s->blocks->size, 1);
    s->blocks = next;
  }
}

/* Room for `size` bytes, aligned for any of our structs. */
static ljp_status ljpi_strings_room(ljpi_strings *s, size_t size, char **out)
{
  ljp_status st;
  void *p = NULL;
  if (size > SIZE_MAX / 2) return LJP_E_NOMEM;
  size = (size + LJPI_ALIGN - 1) / LJPI_ALIGN * LJPI_ALIGN;
  if (size > s->free_size) {
    size_t want = s->next_size ? s->next_size : 1024;
    if (s->next_size < 262144) s->next_size = want * 2;
    if (want < size + sizeof(ljpi_block)) want = size + sizeof(ljpi_block);
    st = ljpi_alloc_array(s->mem, &p, want, 1);
    if (st != LJP_OK) return st;
    ((ljpi_block *)p)->next = s->blocks;
    ((ljpi_block *)p)->size = want;
    s->blocks = (ljpi_block *)p;
    s->free_at = (char *)p + sizeof(ljpi_block);
    s->free_size = want - sizeof(ljpi_block);
  }
  *out = s->free_at;
  s->free_at += size;
  s->free_size -= size;
  return LJP_OK;
}

/* Puts string `idx` into the table, if there is room near its place. */
static void ljpi_strings_link(ljpi_strings *s, uint32_t idx)
{
  size_t mask = s->table_cap - 1, i;
  for (i = 0; i < LJPI_NAME_PROBES; i++) {
    uint32_t *slot = &s->table[(s->v[idx].hash + i) & mask];
    if (*slot == 0) {
      *slot = idx;
      return;
    }
  }
}

static ljp_status ljpi_strings_grow(ljpi_strings *s)
{
  size_t cap = s->table_cap ? s->table_cap * 2 : 64, i;
  void *p = s->v;
  ljp_status st = ljpi_grow(s->mem, &p, &s->cap, s->count + 1,
                            sizeof(*s->v));
  s->v = (ljpi_string *)p;
  if (st != LJP_OK) return st;
  if (s->count == 0) {
    memset(s->v, 0, sizeof(*s->v));
    s->v[0].p = "";
    s->count = 1;
    return ljpi_strings_grow(s);
  }
  if (s->count * 2 < s->table_cap) return LJP_OK;
  if (s->count >= UINT32_MAX) return LJP_E_NOMEM;
  st = ljpi_alloc_array(s->mem, &p, cap, sizeof(*s->table));
  if (st != LJP_OK) return st;
  ljpi_free_array(s->mem, s->table, s->table_cap, sizeof(*s->table));
  s->table = (uint32_t *)p;
  s->table_cap = cap;
  memset(s->table, 0, cap * sizeof(*s->table));
  for (i = 1; i < s->count; i++) ljpi_strings_link(s, (uint32_t)i);
  return LJP_OK;
}

/* Index of a string, which is added if it is new. */
static ljp_status ljpi_intern(ljpi_strings *s, const void *p, size_t size,
                              uint32_t *idx)
{
  uint32_t hash = (uint32_t)ljpi_hash_bytes((const char *)p, size);
  size_t mask = s->table_cap - 1, i;
  ljpi_string *str;
  char *room;
  ljp_status st;
  for (i = 0; s->table_cap && i < LJPI_NAME_PROBES; i++) {
    *idx = s->table[(hash + i) & mask];
    if (*idx == 0) break;
    str = &s->v[*idx];
    if (str->hash == hash && str->size == size &&
        (size == 0 || memcmp(str->p, p, size) == 0))
      return LJP_OK;
  }
  st = ljpi_strings_grow(s);
  if (st == LJP_OK) st = ljpi_strings_room(s, size + 1, &room);
  if (st != LJP_OK) return st;
  if (size) memcpy(room, p, size);
  room[size] = 0;
  *idx = (uint32_t)s->count++;
  str = &s->v[*idx];
  str->p = room;
  str->size = size;
  str->hash = hash;
  str->mark = 0;
  ljpi_strings_link(s, *idx);
  return LJP_OK;
}

/* - Symbols - */

typedef struct ljpi_proto {
  uint64_t line;          /* First line. */
  uint32_t name;
} ljpi_proto;

typedef struct ljpi_trace {
  uint64_t mcode, proto, line;
  uint64_t start_line;    /* First line of that prototype. */
  uint32_t start;         /* Chunk of the prototype it started in; 0: that
                          ** was not known yet. */
} ljpi_trace;

#define LJPI_PAGE 4096u
#define LJPI_MANY (UINT64_C(1) << 32)   /* Csym's value: several names. */
#define LJPI_TRACE_MAX 65535u           /* LuaJIT's TraceNo1 is 16 bits. */

/* What format 4 defines, in the order of LJP_RECORD_STRING and so on. */
enum {
  LJPI_DEF_STRING, LJPI_DEF_MODULE, LJPI_DEF_CFUNC, LJPI_DEF_FUNCTION,
  LJPI_DEF_FRAME, LJPI_DEF_STACK, LJPI_DEF_SITE, LJPI_DEF_START, LJPI_DEFS
};

/* A definition but of a stack: the numbers of its record; of a module n[4],
** of a string n[0] is the index of the bytes. */
typedef struct ljpi_known {
  uint64_t n[5];
} ljpi_known;

typedef struct ljpi_stack {
  uint32_t parent, frame;
} ljpi_stack;

/* Definitions of one kind. Ids are dense as a rule: those get an array; what
** lies far out gets a tree. */
typedef struct ljpi_table {
  void *v;                /* ljpi_known or ljpi_stack. */
  size_t cap, count;
  uint32_t *dense;        /* Index + 1 by id. */
  size_t dense_cap;
  uint32_t far_root;      /* Tree of index + 1 by id. */
} ljpi_table;

struct ljp_symbols {
  ljpi_mem *mem, own;
  ljpi_strings strings;
  ljpi_nodes nodes;
  /* Values: index + 1 in protos, traces; csyms: name and LJPI_MANY. 0: only
  ** asked for so far. `sure` has the csyms that the true model trusts. */
  uint32_t protos, csyms, sure, traces;
  ljpi_proto *proto;
  size_t proto_cap, proto_count;
  ljpi_trace *trace;
  size_t trace_cap, trace_count;
  uint32_t *aliases;      /* Names by number of alias - 1. */
  size_t alias_cap, alias_count;
  uint64_t epoch, max_symbols, count;
  int c_asked;            /* Whether an address was ever looked up. */
  ljpi_table defs[LJPI_DEFS];
  uint64_t lost_from, lost_to; /* Lost bytes, first to last; 0: none. */
};

static void ljpi_symbols_init(ljp_symbols *s, ljpi_mem *mem,
                              const ljp_options *options)
{
  s->mem = s->strings.mem = s->nodes.mem = mem;
  s->epoch = 1;
  s->max_symbols = ljpi_limit_or(options ? options->limits.symbols : 0,
                                 16u << 20);
}

LJP_API ljp_status ljp_symbols_new(ljp_symbols **out,
                                   const ljp_options *options)
{
  ljpi_mem mem;
  void *p = NULL;
  ljp_status st;
  if (!out) return LJP_E_ARG;
  *out = NULL;
  st = ljpi_new_object(&mem, options, &p, sizeof(ljp_symbols));
  if (st != LJP_OK) return st;
  *out = (ljp_symbols *)p;
  (*out)->own = mem;
  ljpi_symbols_init(*out, &(*out)->own, options);
  return LJP_OK;
}

static size_t ljpi_def_size(unsigned kind)
{
  return kind == LJPI_DEF_STACK ? sizeof(ljpi_stack) : sizeof(ljpi_known);
}

static void ljpi_symbols_clear(ljp_symbols *s)
{
  unsigned k;
  ljpi_strings_free(&s->strings);
  ljpi_nodes_free(&s->nodes);
  ljpi_free_array(s->mem, s->proto, s->proto_cap, sizeof(*s->proto));
  ljpi_free_array(s->mem, s->trace, s->trace_cap, sizeof(*s->trace));
  ljpi_free_array(s->mem, s->aliases, s->alias_cap, sizeof(*s->aliases));
  for (k = 0; k < LJPI_DEFS; k++) {
    ljpi_table *t = &s->defs[k];
    ljpi_free_array(s->mem, t->v, t->cap, ljpi_def_size(k));
    ljpi_free_array(s->mem, t->dense, t->dense_cap, sizeof(*t->dense));
  }
}

LJP_API void ljp_symbols_free(ljp_symbols *s)
{
  ljpi_mem mem;
  if (!s) return;
  ljpi_symbols_clear(s);
  mem = s->own;
  ljpi_free_array(&mem, s, 1, sizeof(*s));
}

/* Node for `id` in one of the trees, made if need be. */
static ljp_status ljpi_symbol_node(ljp_symbols *s, uint32_t *root,
                                   uint64_t id, ljpi_node **node, int *made)
{
  uint32_t idx;
  ljp_status st = ljpi_tree_insert(&s->nodes, root, id, &idx, made);
  if (st == LJP_OK) *node = ljpi_at(&s->nodes, idx);
  return st;
}

/* One symbol more. */
static ljp_status ljpi_symbol_count(ljp_symbols *s)
{
  if (s->count >= s->max_symbols) {
    s->mem->hit = LJP_LIMIT_SYMBOLS;
    return LJP_E_LIMIT;
  }
  s->count++;
  return LJP_OK;
}

/* Gives a chunk name that holds a newline its number. */
static ljp_status ljpi_alias(ljp_symbols *s, uint32_t name)
{
  ljpi_string *str = &s->strings.v[name];
  void *p = s->aliases;
  ljp_status st;
  if (str->mark || !str->size || !memchr(str->p, '\n', str->size))
    return LJP_OK;
  st = ljpi_grow(s->mem, &p, &s->alias_cap, s->alias_count + 1,
                 sizeof(*s->aliases));
  s->aliases = (uint32_t *)p;
  if (st != LJP_OK) return st;
  s->aliases[s->alias_count++] = name;
  str->mark = (uint32_t)s->alias_count;
  return LJP_OK;
}

static ljp_status ljpi_define_proto(ljp_symbols *s, const ljp_record *r)
{
  ljpi_node *node;
  ljpi_proto *proto;
  void *p = s->proto;
  uint32_t name;
  int made;
  ljp_status st = ljpi_intern(&s->strings, r->name, r->name_size, &name);
  if (st == LJP_OK) st = ljpi_alias(s, name);
  if (st == LJP_OK)
    st = ljpi_grow(s->mem, &p, &s->proto_cap, s->proto_count + 1,
                   sizeof(*s->proto));
  s->proto = (ljpi_proto *)p;
  if (st == LJP_OK)
    st = ljpi_symbol_node(s, &s->protos, r->id, &node, &made);
  if (st != LJP_OK) return st;
  if (node->value == 0) {
    st = ljpi_symbol_count(s);
    if (st != LJP_OK) return st;
    node->value = ++s->proto_count;
    proto = &s->proto[node->value - 1];
  } else {
    proto = &s->proto[node->value - 1];
    if (proto->name == name && proto->line == r->line) return LJP_OK;
  }
  proto->name = name;
  proto->line = r->line;
  if (!made) s->epoch++;
  return LJP_OK;
}

/* Page-aligned addresses with several names are imports at the base of a
** library, no functions. */
static ljp_status ljpi_define_csym(ljp_symbols *s, const ljp_record *r)
{
  ljpi_node *node, *sure;
  uint64_t value;
  uint32_t name;
  int made, ignored;
  ljp_status st = ljpi_intern(&s->strings, r->name, r->name_size, &name);
  if (st == LJP_OK)
    st = ljpi_symbol_node(s, &s->csyms, r->id, &node, &made);
  if (st != LJP_OK) return st;
  if (node->value == name) return LJP_OK;
  if (node->value == 0) {
    st = ljpi_symbol_count(s);
    if (st != LJP_OK) return st;
  }
  value = name | (node->value & LJPI_MANY);
  if (node->value && r->id % LJPI_PAGE == 0) value |= LJPI_MANY;
  if (value == node->value) return LJP_OK;
  if (value & LJPI_MANY) {
    ljpi_tree_remove(&s->nodes, &s->sure, r->id, &value);
    value = name | LJPI_MANY;
  } else {
    st = ljpi_symbol_node(s, &s->sure, r->id, &sure, &ignored);
    if (st != LJP_OK) return st;
    sure->value = name;
  }
  node->value = value;
  if (s->c_asked) s->epoch++;
  return LJP_OK;
}

static const ljpi_proto *ljpi_proto_at(const ljp_symbols *s, uint64_t addr)
{
  uint32_t idx = ljpi_tree_find(&s->nodes, s->protos, addr);
  uint64_t value = idx ? ljpi_at(&s->nodes, idx)->value : 0;
  return value ? &s->proto[value - 1] : NULL;
}

static ljp_status ljpi_define_trace(ljp_symbols *s, const ljp_record *r)
{
  const ljpi_proto *proto = ljpi_proto_at(s, r->addr);
  uint32_t start = proto ? proto->name : 0;
  ljpi_node *node;
  ljpi_trace *t;
  void *p = s->trace;
  int made;
  ljp_status st = ljpi_grow(s->mem, &p, &s->trace_cap, s->trace_count + 1,
                            sizeof(*s->trace));
  s->trace = (ljpi_trace *)p;
  if (st == LJP_OK)
    st = ljpi_symbol_node(s, &s->traces, r->id, &node, &made);
  if (st != LJP_OK) return st;
  if (node->value == 0) {
    st = ljpi_symbol_count(s);
    if (st != LJP_OK) return st;
    node->value = ++s->trace_count;
    t = &s->trace[node->value - 1];
  } else {
    t = &s->trace[node->value - 1];
    if (t->mcode == r->mcode && t->proto == r->addr && t->line == r->line &&
        (t->start == start || !start))
      return LJP_OK;
  }
  t->mcode = r->mcode;
  t->proto = r->addr;
  t->line = r->line;
  t->start = start;
  t->start_line = proto ? proto->line : 0;
  if (!made) s->epoch++;
  return LJP_OK;
}

/* - Definitions of format 4 - */

/* The definition with an id, NULL if there is none. */
static const void *ljpi_def_at(const ljp_symbols *s, unsigned kind,
                               uint64_t id)
{
  const ljpi_table *t = &s->defs[kind];
  uint32_t at = id < t->dense_cap ? t->dense[id] : 0, idx;
  if (at == 0 && t->far_root) {
    idx = ljpi_tree_find(&s->nodes, t->far_root, id);
    if (idx) at = (uint32_t)ljpi_at(&s->nodes, idx)->value;
  }
  if (at == 0) return NULL;
  return (const char *)t->v + (size_t)(at - 1) * ljpi_def_size(kind);
}

static const ljpi_known *ljpi_def4(const ljp_symbols *s, unsigned kind,
                                 uint64_t id)
{
  return (const ljpi_known *)ljpi_def_at(s, kind, id);
}

/* Index of a string by id, 0 if it is not known or empty. */
static uint32_t ljpi_string4(const ljp_symbols *s, uint64_t id)
{
  const ljpi_known *d = ljpi_def4(s, LJPI_DEF_STRING, id);
  return d && s->strings.v[d->n[0]].size ? (uint32_t)d->n[0] : 0;
}

/* Notes that definition number t->count + 1 has this id. */
static ljp_status ljpi_def_index(ljp_symbols *s, ljpi_table *t, uint64_t id)
{
  void *p = t->dense;
  size_t had = t->dense_cap;
  uint32_t idx;
  int made;
  ljp_status st = LJP_OK;
  if (id < t->dense_cap || id < 2 * t->count + 1024) {
    st = ljpi_grow(s->mem, &p, &t->dense_cap, (size_t)id + 1,
                   sizeof(*t->dense));
    t->dense = (uint32_t *)p;
    if (st != LJP_OK) return st;
    memset(t->dense + had, 0, (t->dense_cap - had) * sizeof(*t->dense));
    t->dense[id] = (uint32_t)t->count + 1;
    return LJP_OK;
  }
  st = ljpi_tree_insert(&s->nodes, &t->far_root, id, &idx, &made);
  if (st == LJP_OK) ljpi_at(&s->nodes, idx)->value = t->count + 1;
  return st;
}

/* Keeps what a record defines; only the first time. */
static ljp_status ljpi_define4(ljp_symbols *s, const ljp_record *r)
{
  unsigned kind = (unsigned)r->kind - LJP_RECORD_STRING;
  ljpi_table *t = &s->defs[kind];
  size_t elem = ljpi_def_size(kind);
  void *p = t->v;
  ljpi_known d;
  ljpi_stack stack;
  uint32_t name = 0;
  ljp_status st;
  if (ljpi_def_at(s, kind, r->id)) return LJP_OK;
  st = ljpi_symbol_count(s);
  if (st == LJP_OK && r->name)
    st = ljpi_intern(&s->strings, r->name, r->name_size, &name);
  if (st == LJP_OK) st = ljpi_grow(s->mem, &p, &t->cap, t->count + 1, elem);
  t->v = p;
  if (st == LJP_OK) st = ljpi_def_index(s, t, r->id);
  if (st != LJP_OK) return st;
  memset(&d, 0, sizeof(d));
  if (r->n_count) memcpy(d.n, r->n, r->n_count * sizeof(*d.n));
  if (kind == LJPI_DEF_STRING) d.n[0] = name;
  if (kind == LJPI_DEF_MODULE) d.n[4] = name;
  /* Ids that do not fit are none: what they name is not known then. */
  stack.parent = d.n[0] > UINT32_MAX ? 0 : (uint32_t)d.n[0];
  stack.frame = d.n[1] > UINT32_MAX ? 0 : (uint32_t)d.n[1];
  if (kind == LJPI_DEF_STACK)
    memcpy((char *)t->v + t->count++ * elem, &stack, elem);
  else
    memcpy((char *)t->v + t->count++ * elem, &d, elem);
  name = kind == LJPI_DEF_FUNCTION ? ljpi_string4(s, d.n[0]) : 0;
  return name ? ljpi_alias(s, name) : LJP_OK;
}

LJP_API ljp_status ljp_symbols_define(ljp_symbols *s, const ljp_record *r)
{
  switch (r->kind) {
  case LJP_RECORD_PROTO: return ljpi_define_proto(s, r);
  case LJP_RECORD_CSYM: return ljpi_define_csym(s, r);
  case LJP_RECORD_TRACE: return ljpi_define_trace(s, r);
  case LJP_RECORD_DAMAGE:
    if (s->lost_to == 0) s->lost_from = r->off;
    s->lost_to = r->off + r->size;
    return LJP_OK;
  default:
    return r->kind < LJP_RECORD_STRING || r->kind > LJP_RECORD_START
             ? LJP_OK : ljpi_define4(s, r);
  }
}

static void ljpi_site_lost(const ljp_symbols *s, uint64_t site,
                           ljp_label *label)
{
  label->kind = s->lost_to ? LJP_LABEL_LOST : LJP_LABEL_SITE;
  label->value = s->lost_to ? s->lost_from : site;
  label->line = s->lost_to;
}

/* The frame of a stack, through frames of fast functions to their caller;
** NULL if it is not known. */
static const ljpi_known *ljpi_leaf(const ljp_symbols *s, uint64_t stack)
{
  const ljpi_known *frame = NULL, *fast = NULL;
  unsigned n;
  for (n = 0; n < 4; n++) {
    const ljpi_stack *st = (const ljpi_stack *)ljpi_def_at(s, LJPI_DEF_STACK,
                                                           stack);
    frame = st ? ljpi_def4(s, LJPI_DEF_FRAME, st->frame) : NULL;
    if (!frame || frame->n[0] != LJP_FRAME4_FAST) break;
    if (!fast) fast = frame;
    stack = st->parent;
  }
  return frame && (frame->n[0] == LJP_FRAME4_LUA || !fast) ? frame : fast;
}

/* What a frame says of itself, the function's or symbol's name included. */
static void ljpi_frame_label(const ljp_symbols *s, const ljpi_known *frame,
                             ljp_label *l)
{
  const ljpi_known *d;
  switch (frame->n[0]) {
  case LJP_FRAME4_LUA:
    d = ljpi_def4(s, LJPI_DEF_FUNCTION, frame->n[1]);
    if (!d || (l->name = ljpi_string4(s, d->n[0])) == 0) return;
    l->kind = LJP_LABEL_LUA;
    l->value = frame->n[2];
    l->line = d->n[1];
    return;
  case LJP_FRAME4_C:
    l->kind = LJP_LABEL_CFUNC;
    l->value = frame->n[1];
    d = ljpi_def4(s, LJPI_DEF_CFUNC, frame->n[2]);
    if (d && (l->name = ljpi_string4(s, d->n[3])) != 0) {
      l->kind = LJP_LABEL_CSYM;
      l->value = d->n[1];
      return;
    }
    d = ljpi_def4(s, LJPI_DEF_MODULE, frame->n[3]);
    if (!d || (l->name = ljpi_string4(s, d->n[0])) == 0) return;
    l->kind = LJP_LABEL_MODULE;
    l->value = frame->n[1] - d->n[3];
    return;
  case LJP_FRAME4_FAST:
    l->name = ljpi_string4(s, frame->n[1]);
    l->kind = l->name ? LJP_LABEL_BUILTIN : LJP_LABEL_NONE;
    return;
  default:
    l->kind = frame->n[0] == LJP_FRAME4_VM ? LJP_LABEL_STATE : LJP_LABEL_GAP;
    l->value = frame->n[1];
  }
}

/* Whether the VM acts by itself in a state: not at a line's request. */
static int ljpi_own_state(uint64_t state)
{
  return state == 0 || (state >= 3 && state <= 7);
}

LJP_API void ljp_symbols_site(const ljp_symbols *s, uint64_t site,
                              ljp_label *label)
{
  const ljpi_known *d = ljpi_def4(s, LJPI_DEF_SITE, site), *frame;
  memset(label, 0, sizeof(*label));
  if (d && (d->n[0] == 0 || ljpi_own_state(d->n[1]))) {
    label->kind = LJP_LABEL_STATE;
    label->value = d->n[1];
    return;
  }
  frame = d ? ljpi_leaf(s, d->n[0]) : NULL;
  if (frame && frame->n[0] == LJP_FRAME4_JIT) {
    d = ljpi_def4(s, LJPI_DEF_START, frame->n[2]);
    label->trace_kind = 1;
    label->trace = frame->n[1];
    d = d ? ljpi_def4(s, LJPI_DEF_FRAME, d->n[1]) : NULL;
    if (d && d->n[0] == LJP_FRAME4_LUA) ljpi_frame_label(s, d, label);
    return;
  }
  if (frame) ljpi_frame_label(s, frame, label);
  if (label->kind == LJP_LABEL_NONE) ljpi_site_lost(s, site, label);
}

/* Value of a prototype or trace; 0 if unknown, which is then noted, so that
** its definition changes the epoch. */
static ljp_status ljpi_ask(ljp_symbols *s, uint32_t *root, uint64_t id,
                           uint64_t *value)
{
  ljpi_node *node;
  int made;
  ljp_status st = ljpi_symbol_node(s, root, id, &node, &made);
  if (st == LJP_OK) *value = node->value;
  return st;
}

/* Nearest symbol at or below an address, by either model. */
static void ljpi_name_addr(ljp_symbols *s, ljp_model model, uint64_t addr,
                           ljp_label *label)
{
  uint32_t idx = ljpi_tree_floor(
      &s->nodes, model == LJP_MODEL_CLASSIC ? s->csyms : s->sure, addr);
  const ljpi_node *node = idx ? ljpi_at(&s->nodes, idx) : NULL;
  s->c_asked = 1;
  label->kind = LJP_LABEL_CFUNC;
  label->value = addr;
  if (!node) return;
  label->name = (uint32_t)node->value;
  label->value = node->key;
  label->kind = LJP_LABEL_CSYM;
  if (model == LJP_MODEL_CLASSIC || node->key == addr) return;
  label->kind = LJP_LABEL_NEAR;
  label->value = addr - node->key;
}

/* What an address with a line means in classic reports. */
static ljp_status ljpi_name_classic(ljp_symbols *s, uint64_t addr,
                                    uint64_t line, ljp_label *label)
{
  uint64_t value;
  ljp_status st;
  label->kind = LJP_LABEL_INTERNAL;
  if (addr == 0) return LJP_OK;
  st = ljpi_ask(s, &s->protos, addr, &value);
  if (st != LJP_OK) return st;
  if (value) {
    label->kind = LJP_LABEL_LUA;
    label->name = s->proto[value - 1].name;
    label->value = line;
  } else {
    ljpi_name_addr(s, LJP_MODEL_CLASSIC, addr, label);
  }
  return LJP_OK;
}

/* What a prototype's address with a line means. */
static ljp_status ljpi_name_lua(ljp_symbols *s, uint64_t addr, uint64_t line,
                                ljp_label *label)
{
  uint64_t value;
  ljp_status st = ljpi_ask(s, &s->protos, addr, &value);
  if (st != LJP_OK) return st;
  if (value) {
    label->kind = LJP_LABEL_LUA;
    label->name = s->proto[value - 1].name;
    label->value = line;
    label->line = s->proto[value - 1].line;
  } else {
    label->kind = LJP_LABEL_LFUNC;
    label->value = addr;
    label->line = line;
  }
  return LJP_OK;
}

/* Where a known trace started. */
static ljp_status ljpi_name_start(ljp_symbols *s, ljp_model model,
                                  uint64_t value, ljp_label *label)
{
  ljpi_trace *t = &s->trace[value - 1];
  ljp_status st;
  if (model == LJP_MODEL_CLASSIC)
    return ljpi_name_classic(s, t->proto, t->line, label);
  if (t->start) {
    label->kind = LJP_LABEL_LUA;
    label->name = t->start;
    label->value = t->line;
    label->line = t->start_line;
    return LJP_OK;
  }
  st = ljpi_name_lua(s, t->proto, t->line, label);
  if (st == LJP_OK && label->kind == LJP_LABEL_LUA) {
    t->start = label->name;
    t->start_line = label->line;
  }
  return st;
}

static ljp_status ljpi_name_trace(ljp_symbols *s, ljp_model model,
                                  uint64_t number, uint64_t mcode,
                                  ljp_label *label)
{
  uint64_t value;
  ljp_status st;
  if (model == LJP_MODEL_TRUE && (number == 0 || number > LJPI_TRACE_MAX)) {
    label->kind = LJP_LABEL_UNKNOWN_TRACE;
    return LJP_OK;
  }
  st = ljpi_ask(s, &s->traces, number, &value);
  if (st != LJP_OK) return st;
  label->trace_kind = mcode ? 2 : 1;
  label->trace = number;
  label->mcode = mcode;
  if (!value || s->trace[value - 1].mcode != mcode) return LJP_OK;
  return ljpi_name_start(s, model, value, label);
}

LJP_API ljp_status ljp_symbols_resolve(ljp_symbols *s, ljp_model model,
                                       unsigned source, uint64_t id,
                                       uint64_t line, ljp_label *label)
{
  memset(label, 0, sizeof(*label));
  if (source == LJP_SOURCE_TRACE && (id || model == LJP_MODEL_TRUE))
    return ljpi_name_trace(s, model, id, line, label);
  if (source == LJP_SOURCE_SITE) {
    label->kind = LJP_LABEL_SITE;
    label->value = id;
    return LJP_OK;
  }
  if (source == LJP_SOURCE_TRACE) {  /* Number 0: all that is left. */
    id = line;
    line = 0;
  }
  if (model == LJP_MODEL_CLASSIC) return ljpi_name_classic(s, id, line, label);
  label->kind = LJP_LABEL_INTERNAL;
  if (source == LJP_SOURCE_INTERNAL || id == 0) return LJP_OK;
  if (source == LJP_SOURCE_LUA) return ljpi_name_lua(s, id, line, label);
  ljpi_name_addr(s, model, id, label);
  return LJP_OK;
}

LJP_API uint64_t ljp_symbols_epoch(const ljp_symbols *s)
{
  return s->epoch;
}

LJP_API size_t ljp_symbols_count(const ljp_symbols *s)
{
  return (size_t)s->count;
}

LJP_API const char *ljp_symbols_string(const ljp_symbols *s, uint32_t name,
                                       size_t *size)
{
  int there = name < s->strings.count;
  *size = there ? s->strings.v[name].size : 0;
  return there ? s->strings.v[name].p : "";
}

LJP_API uint32_t ljp_symbols_alias(const ljp_symbols *s, uint32_t name)
{
  return name < s->strings.count ? s->strings.v[name].mark : 0;
}

/* -- Aggregate ---------------------------------------------------------- */

/* - Map from (tag, two numbers) to an index - */

#define LJPI_NONE UINT32_MAX
#define LJPI_TAG_BITS 3u
#define LJPI_TAGS (1u << LJPI_TAG_BITS)
#define LJPI_STAMPS (1u << (32u - LJPI_TAG_BITS))

typedef struct ljpi_entry {
  uint64_t k1, k2;
  uint32_t tag;           /* and, above LJPI_TAG_BITS, a stamp */
  uint32_t value;         /* + 1; 0: empty */
} ljpi_entry;

#define LJPI_MAP_WIDE 65536u  /* Up to here a quarter is filled, then half. */

/* Open addressing with few probes; what finds no place (hostile keys) goes
** into trees of trees, so that no input makes it slow. */
typedef struct ljpi_map {
  ljpi_mem *mem;
  ljpi_entry *v;
  size_t cap, count;      /* 0 or a power of two */
  ljpi_nodes nodes;
  uint32_t roots[LJPI_TAGS];
  int spilled;
} ljpi_map;

/* The same for all high bits of a hash: a table takes its low ones. */
LJPI_INLINE size_t ljpi_map_hash(unsigned tag, uint64_t k1, uint64_t k2)
{
  k1 ^= (k2 + tag) * UINT64_C(0xd6e8feb86659fd93);
  k1 *= UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(k1 ^ k1 >> 32);
}

static void ljpi_map_free(ljpi_map *m)
{
  ljpi_free_array(m->mem, m->v, m->cap, sizeof(*m->v));
  ljpi_nodes_free(&m->nodes);
}

static uint32_t ljpi_map_spilled(const ljpi_map *m, unsigned tag, uint64_t k1,
                                 uint64_t k2)
{
  uint32_t idx = ljpi_tree_find(&m->nodes, m->roots[tag], k1);
  if (idx)
    idx = ljpi_tree_find(&m->nodes, (uint32_t)ljpi_at(&m->nodes, idx)->value,
                         k2);
  return idx ? (uint32_t)ljpi_at(&m->nodes, idx)->value : LJPI_NONE;
}

/* The entry of a key in the table, or NULL. */
LJPI_INLINE ljpi_entry *ljpi_map_entry(const ljpi_map *m, unsigned tag,
                                       uint64_t k1, uint64_t k2)
{
  size_t at = ljpi_map_hash(tag, k1, k2), mask = m->cap - 1, i;
  for (i = 0; m->cap && i < LJPI_PROBES; i++) {
    ljpi_entry *e = &m->v[(at + i) & mask];
    if (e->value == 0) break;
    if (e->k1 == k1 && e->k2 == k2 && e->tag % LJPI_TAGS == tag) return e;
  }
  return NULL;
}

static uint32_t ljpi_map_get(const ljpi_map *m, unsigned tag, uint64_t k1,
                             uint64_t k2)
{
  const ljpi_entry *e = ljpi_map_entry(m, tag, k1, k2);
  if (e) return e->value - 1;
  return m->spilled ? ljpi_map_spilled(m, tag, k1, k2) : LJPI_NONE;
}

static ljp_status ljpi_map_spill(ljpi_map *m, const ljpi_entry *e)
{
  uint32_t outer, inner, root;
  int made;
  ljp_status st = ljpi_tree_insert(&m->nodes, &m->roots[e->tag % LJPI_TAGS],
                                   e->k1, &outer, &made);
  if (st != LJP_OK) return st;
  root = (uint32_t)ljpi_at(&m->nodes, outer)->value;
  st = ljpi_tree_insert(&m->nodes, &root, e->k2, &inner, &made);
  if (st != LJP_OK) return st;
  ljpi_at(&m->nodes, outer)->value = root;
  ljpi_at(&m->nodes, inner)->value = e->value - 1;
  m->spilled = 1;
  return LJP_OK;
}

/* Puts an entry whose key is not in the table there, or else in the trees. */
static ljp_status ljpi_map_place(ljpi_map *m, ljpi_entry *v, size_t cap,
                                 const ljpi_entry *e)
{
  size_t at = ljpi_map_hash(e->tag % LJPI_TAGS, e->k1, e->k2), i;
  for (i = 0; i < LJPI_PROBES; i++) {
    ljpi_entry *to = &v[(at + i) & (cap - 1)];
    if (to->value == 0) {
      *to = *e;
      return LJP_OK;
    }
  }
  return ljpi_map_spill(m, e);
}

static ljp_status ljpi_map_grow(ljpi_map *m)
{
  size_t cap = m->cap ? m->cap * 2 : 256, i;
  void *p = NULL;
  ljpi_entry *v;
  ljp_status st;
  if (m->count * (m->cap < LJPI_MAP_WIDE ? 4 : 2) < m->cap) return LJP_OK;
  if (m->count >= LJPI_NONE - 1) return LJP_E_NOMEM;
  st = ljpi_alloc_array(m->mem, &p, cap, sizeof(*v));
  if (st != LJP_OK) return st;
  v = (ljpi_entry *)p;
  memset(v, 0, cap * sizeof(*v));
  for (i = 0; i < m->cap && st == LJP_OK; i++)
    if (m->v[i].value) st = ljpi_map_place(m, v, cap, &m->v[i]);
  if (st != LJP_OK) {
    ljpi_free_array(m->mem, v, cap, sizeof(*v));
    return st;
  }
  ljpi_free_array(m->mem, m->v, m->cap, sizeof(*m->v));
  m->v = v;
  m->cap = cap;
  return LJP_OK;
}

/* Sets a key to `value`, new or not; stamp 0 matches no stamp. */
static ljp_status ljpi_map_set(ljpi_map *m, unsigned tag, uint64_t k1,
                               uint64_t k2, uint32_t value)
{
  ljpi_entry e, *old = ljpi_map_entry(m, tag, k1, k2);
  ljp_status st;
  if (old) {
    old->value = value + 1;
    return LJP_OK;
  }
  e.k1 = k1;
  e.k2 = k2;
  e.tag = tag;
  e.value = value + 1;
  if (m->spilled && ljpi_map_spilled(m, tag, k1, k2) != LJPI_NONE)
    return ljpi_map_spill(m, &e);
  st = ljpi_map_grow(m);
  if (st == LJP_OK) st = ljpi_map_place(m, m->v, m->cap, &e);
  if (st == LJP_OK) m->count++;
  return st;
}

/* - Live blocks - */

#define LJPI_LANES 5u         /* Blocks of a bucket. */
#define LJPI_FULL 31u         /* All lanes taken, and none passed on. */
#define LJPI_REACH 16u        /* Buckets that a block may lie in. */
#define LJPI_SEG_MIN 16u      /* Smallest number of buckets of a segment, */
#define LJPI_SEG_MAX 2048u    /* the greatest, */
#define LJPI_SEG_SMALL 1024u  /* and the one below which memory is no care. */
#define LJPI_DIR_MAX 22u      /* Bits of the directory. */
/* A segment grows when it holds 3.1 blocks a bucket, to where it holds 2.1:
** never more than 30 bytes a block. */
#define LJPI_SEG_MOST(buckets) ((buckets) * 3 + (buckets) / 8)
#define LJPI_SEG_FILL(count) ((count) / 32 * 15 + 8)
#define LJPI_LIVE_SLACK (UINT64_C(192) << 10)
#define LJPI_BIG 0xffffffu    /* Size stands in the tree of big ones. */
#define LJPI_SITE_MAX 0xffffffu

/* A cache line. Of a block's address the low half, and in one word from the
** top 16 bits of the high half, 24 of its site, 24 of its size. */
typedef struct ljpi_bucket {
  uint32_t used;              /* Bits of the lanes taken; from LJPI_PASSED on
                              ** the number of blocks that belong here or
                              ** further ahead, and lie behind. */
  uint32_t low[LJPI_LANES];
  uint64_t rest[LJPI_LANES];
} ljpi_bucket;

#define LJPI_PASSED 32u

/* Blocks whose hash begins with the same `depth` bits. The hash's low half
** says where a block belongs; if that is full it goes to the next bucket that
** is not, round and round. */
typedef struct ljpi_seg {
  ljpi_bucket *bucket;        /* On a cache line's begin, behind this. */
  uint32_t buckets, count, depth;
  uint32_t most;              /* Count beyond which it grows, */
  uint32_t least;             /* and below which it shrinks. */
  uint32_t wait;              /* Steps until a resize that failed is tried
                              ** again: chosen addresses can make each one
                              ** fail. */
} ljpi_seg;

/* Extendible hashing: segments are grown and split one at a time, so nothing
** is ever copied as a whole. Growth stops where the table would pass 32 bytes
** for the most blocks that were live at once; blocks without a place, which
** only chosen addresses can bring about, and those that do not fit a lane go
** into a tree of 24-byte nodes. */
typedef struct ljpi_live {
  ljpi_mem *mem;
  ljpi_seg **dir;             /* 2^depth */
  unsigned depth, shift;      /* shift: 63 - depth */
  unsigned moves;             /* Number of segments exchanged for others. */
  ljpi_nodes nodes;
  uint32_t tree, big;         /* roots; values: site << 32 | size, and size */
  size_t tree_count;
  uint64_t count, peak, size, max;
} ljpi_live;

static size_t ljpi_seg_size(uint32_t buckets)
{
  return sizeof(ljpi_seg) + ((size_t)buckets + 1) * sizeof(ljpi_bucket);
}

/* Where in a segment a block belongs. */
LJPI_INLINE ljpi_bucket *ljpi_home(const ljpi_seg *seg, uint64_t hash)
{
  return &seg->bucket[(hash & 0xffffffffu) * seg->buckets >> 32];
}

LJPI_INLINE ljpi_bucket *ljpi_behind(const ljpi_seg *seg, ljpi_bucket *b)
{
  return b + 1 < seg->bucket + seg->buckets ? b + 1 : seg->bucket;
}

/* Hash of an address: the directory takes the high bits, homes the low. */
LJPI_INLINE uint64_t ljpi_hash_addr(uint64_t addr)
{
  addr *= UINT64_C(0x9e3779b97f4a7c15);
  return (addr ^ addr >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
}

LJPI_INLINE size_t ljpi_dir_at(const ljpi_live *l, uint64_t hash)
{
  return (size_t)(hash >> 1 >> l->shift);
}

static ljp_status ljpi_seg_new(ljpi_live *l, uint32_t buckets, uint32_t depth,
                               ljpi_seg **out)
{
  void *p = NULL;
  ljpi_seg *seg;
  ljp_status st = ljpi_alloc_array(l->mem, &p, ljpi_seg_size(buckets), 1);
  if (st != LJP_OK) return st;
  *out = seg = (ljpi_seg *)p;
  memset(seg, 0, ljpi_seg_size(buckets));
  p = (char *)(seg + 1) + (0 - (uintptr_t)(seg + 1)) % sizeof(ljpi_bucket);
  seg->bucket = (ljpi_bucket *)p;
  seg->buckets = buckets;
  seg->depth = depth;
  seg->most = LJPI_SEG_MOST(buckets);
  seg->least = buckets > LJPI_SEG_MIN ? buckets / 2 : 0;
  l->size += ljpi_seg_size(buckets);
  return LJP_OK;
}

static void ljpi_seg_free(ljpi_live *l, ljpi_seg *seg)
{
  if (!seg) return;
  l->size -= ljpi_seg_size(seg->buckets);
  ljpi_free_array(l->mem, seg, ljpi_seg_size(seg->buckets), 1);
}

static void ljpi_live_free(ljpi_live *l)
{
  size_t i = 0, n = (size_t)1 << l->depth;
  if (!l->dir) return;
  while (i < n) {
    ljpi_seg *seg = l->dir[i];
    i += (size_t)1 << (l->depth - seg->depth);
    ljpi_seg_free(l, seg);
  }
  ljpi_free_array(l->mem, l->dir, n, sizeof(*l->dir));
  ljpi_nodes_free(&l->nodes);
}

static ljp_status ljpi_live_init(ljpi_live *l)
{
  void *p = NULL;
  ljp_status st = ljpi_alloc_array(l->mem, &p, 1, sizeof(*l->dir));
  if (st != LJP_OK) return st;
  l->dir = (ljpi_seg **)p;
  l->shift = 63;
  st = ljpi_seg_new(l, LJPI_SEG_MIN, 0, &l->dir[0]);
  if (st == LJP_OK) return st;
  ljpi_free_array(l->mem, l->dir, 1, sizeof(*l->dir));
  l->dir = NULL;
  return st;
}

/* Number of the lowest bit of m, which is not 0. */
LJPI_INLINE unsigned ljpi_lowest(unsigned m)
{
#if defined(__GNUC__)
  return (unsigned)__builtin_ctz(m);
#else
  unsigned i = 0;
  while (!(m >> i & 1)) i++;
  return i;
#endif
}

/* Bits of the lanes that hold an address with this low half. */
LJPI_INLINE unsigned ljpi_alike(const ljpi_bucket *b, uint32_t low)
{
#ifdef LJPI_VECTORS
  int32_t k = (int32_t)low;
  ljpi_words4 want = {k, k, k, k}, four;
  memcpy(&four, b->low, sizeof(four));
  four = (ljpi_words4)(four == want);
  return b->used & ((unsigned)__builtin_ia32_movmskps((ljpi_floats4)four) |
                    (unsigned)(b->low[4] == low) << 4);
#else
  return b->used & ((unsigned)(b->low[0] == low) |
                    (unsigned)(b->low[1] == low) << 1 |
                    (unsigned)(b->low[2] == low) << 2 |
                    (unsigned)(b->low[3] == low) << 3 |
                    (unsigned)(b->low[4] == low) << 4);
#endif
}

/* Lane of an address; LJPI_LANES: it is not in this bucket. */
LJPI_INLINE unsigned ljpi_lane(const ljpi_bucket *b, uint64_t addr)
{
  unsigned m = ljpi_alike(b, (uint32_t)addr);
  for (; m; m &= m - 1) {
    unsigned i = ljpi_lowest(m);
    if (LJPI_LIKELY(b->rest[i] >> 48 == addr >> 32)) return i;
  }
  return LJPI_LANES;
}

/* A lane of a bucket. */
typedef struct ljpi_spot {
  ljpi_bucket *at;            /* NULL: none. */
  size_t lane;
} ljpi_spot;

/* Where in a segment the block lies that belongs to `home`. */
LJPI_NOINLINE ljpi_spot ljpi_seg_find(const ljpi_seg *seg, ljpi_bucket *home,
                                      uint64_t addr)
{
  ljpi_spot spot;
  unsigned i;
  spot.at = home;
  for (i = 0; i < LJPI_REACH; i++) {
    spot.lane = ljpi_lane(spot.at, addr);
    if (spot.lane < LJPI_LANES) return spot;
    if (spot.at->used < LJPI_PASSED) break;
    spot.at = ljpi_behind(seg, spot.at);
  }
  spot.at = NULL;
  return spot;
}

/* Where a block is. */
typedef struct ljpi_ref {
  uint64_t addr, hash;
  ljpi_seg *seg;
  ljpi_bucket *home;          /* Where it belongs. */
  ljpi_spot spot;             /* Where it lies; at: NULL: in the tree. */
  uint32_t node;
} ljpi_ref;

/* Looks a block up. Returns whether it is there; *ref is for it anyway. */
static int ljpi_live_find(const ljpi_live *l, uint64_t addr, ljpi_ref *ref)
{
  ref->addr = addr;
  ref->hash = ljpi_hash_addr(addr);
  ref->seg = l->dir[ljpi_dir_at(l, ref->hash)];
  ref->home = ljpi_home(ref->seg, ref->hash);
  ref->spot = ljpi_seg_find(ref->seg, ref->home, addr);
  ref->node = 0;
  if (ref->spot.at) return 1;
  if (l->tree_count) ref->node = ljpi_tree_find(&l->nodes, l->tree, addr);
  return ref->node != 0;
}

/* Takes the next free lane from `home` on. 0: none within reach. */
static int ljpi_seg_put(ljpi_seg *seg, ljpi_bucket *home, uint32_t low,
                        uint64_t rest)
{
  ljpi_bucket *b = home, *p;
  unsigned i, lane;
  for (i = 0; (b->used & LJPI_FULL) == LJPI_FULL; i++) {
    if (i + 1 == LJPI_REACH) return 0;
    b = ljpi_behind(seg, b);
  }
  for (p = home; p != b; p = ljpi_behind(seg, p)) p->used += LJPI_PASSED;
  lane = ljpi_lowest(~b->used);
  b->used |= 1u << lane;
  b->low[lane] = low;
  b->rest[lane] = rest;
  seg->count++;
  return 1;
}

/* Takes the block that belongs to `home` out of its lane. */
LJPI_INLINE void ljpi_seg_remove(ljpi_seg *seg, ljpi_bucket *home,
                                 ljpi_spot spot)
{
  for (; home != spot.at; home = ljpi_behind(seg, home))
    home->used -= LJPI_PASSED;
  home->used ^= 1u << spot.lane;
  seg->count--;
}

/* Hash of the block in a lane. */
LJPI_INLINE uint64_t ljpi_hash_lane(const ljpi_bucket *b, unsigned lane)
{
  return ljpi_hash_addr((b->rest[lane] >> 48) << 32 | b->low[lane]);
}

/* Moves what belongs to them from one segment into one or two others, the
** next hash bit deciding. 0: something found no place. */
static int ljpi_seg_move(const ljpi_seg *from, ljpi_seg *const *to,
                         unsigned bit)
{
  const ljpi_bucket *b = from->bucket, *end = b + from->buckets;
  unsigned m;
  for (; b < end; b++) {
    for (m = b->used & LJPI_FULL; m; m &= m - 1) {
      unsigned i = ljpi_lowest(m);
      uint64_t hash = ljpi_hash_lane(b, i);
      ljpi_seg *seg = to[bit ? hash >> (64 - bit) & 1 : 0];
      if (!ljpi_seg_put(seg, ljpi_home(seg, hash), b->low[i], b->rest[i]))
        return 0;
    }
  }
  return 1;
}

/* Whether the table may take `more` bytes. */
static int ljpi_live_may(const ljpi_live *l, uint64_t more)
{
  uint64_t all = l->size + more + ljpi_nodes_size(&l->nodes) +
                 ((uint64_t)sizeof(*l->dir) << l->depth);
  return all <= LJPI_LIVE_SLACK || (all - LJPI_LIVE_SLACK) / 32 < l->peak;
}

/* Points all of the directory's entries for a segment's bits at `seg`. */
static void ljpi_dir_set(ljpi_live *l, uint64_t hash, ljpi_seg *seg)
{
  size_t n = (size_t)1 << (l->depth - seg->depth), i;
  size_t at = ljpi_dir_at(l, hash) & ~(n - 1);
  for (i = 0; i < n; i++) l->dir[at + i] = seg;
  l->moves++;
}

/* Exchanges the segment of `hash` for one of another size. */
static ljp_status ljpi_seg_resize(ljpi_live *l, uint64_t hash,
                                  uint32_t buckets)
{
  ljpi_seg *old = l->dir[ljpi_dir_at(l, hash)], *seg;
  ljp_status st;
  if (buckets > old->buckets &&
      !ljpi_live_may(l, ljpi_seg_size(buckets) - ljpi_seg_size(old->buckets)))
    return LJP_OK;
  st = ljpi_seg_new(l, buckets, old->depth, &seg);
  if (st != LJP_OK) return st;
  if (ljpi_seg_move(old, &seg, 0)) {
    ljpi_dir_set(l, hash, seg);
    ljpi_seg_free(l, old);
  } else {
    old->wait = LJPI_LANES * old->buckets;
    ljpi_seg_free(l, seg);
  }
  return LJP_OK;
}

/* Doubles the directory. */
static ljp_status ljpi_dir_double(ljpi_live *l)
{
  size_t n = (size_t)1 << l->depth, i;
  void *p = NULL;
  ljp_status st = ljpi_alloc_array(l->mem, &p, n * 2, sizeof(*l->dir));
  if (st != LJP_OK) return st;
  for (i = 0; i < n * 2; i++) ((ljpi_seg **)p)[i] = l->dir[i / 2];
  ljpi_free_array(l->mem, l->dir, n, sizeof(*l->dir));
  l->dir = (ljpi_seg **)p;
  l->depth++;
  l->shift--;
  return LJP_OK;
}

/* Number of buckets for `count` blocks. */
static uint32_t ljpi_seg_buckets(uint32_t count)
{
  uint32_t n = LJPI_SEG_FILL(count);
  if (n < LJPI_SEG_SMALL) n += n / 2;
  if (n < LJPI_SEG_MIN) n = LJPI_SEG_MIN;
  return n < LJPI_SEG_MAX ? n : LJPI_SEG_MAX;
}

/* How many of a segment's blocks have the next hash bit set. */
static uint32_t ljpi_seg_ones(const ljpi_seg *seg)
{
  uint32_t i, ones = 0;
  unsigned m;
  for (i = 0; i < seg->buckets; i++)
    for (m = seg->bucket[i].used & LJPI_FULL; m; m &= m - 1)
      ones += (uint32_t)(ljpi_hash_lane(&seg->bucket[i], ljpi_lowest(m)) >>
                         (63 - seg->depth)) & 1;
  return ones;
}

/* Splits the segment of `hash` in two by the next bit. */
static ljp_status ljpi_seg_split(ljpi_live *l, uint64_t hash)
{
  ljpi_seg *old = l->dir[ljpi_dir_at(l, hash)], *to[2] = {NULL, NULL};
  uint32_t depth = old->depth + 1, ones = ljpi_seg_ones(old);
  uint32_t n[2];
  uint64_t more;
  ljp_status st;
  old->wait = LJPI_LANES * old->buckets;
  n[0] = ljpi_seg_buckets(old->count - ones);
  n[1] = ljpi_seg_buckets(ones);
  more = ljpi_seg_size(n[0]) + ljpi_seg_size(n[1]);
  more = more > ljpi_seg_size(old->buckets)
         ? more - ljpi_seg_size(old->buckets) : 0;
  if (old->depth == l->depth) {
    if (depth > LJPI_DIR_MAX ||
        !ljpi_live_may(l, more + ((uint64_t)sizeof(*l->dir) << l->depth)))
      return LJP_OK;
    st = ljpi_dir_double(l);
    if (st != LJP_OK) return st;
  } else if (!ljpi_live_may(l, more)) {
    return LJP_OK;
  }
  st = ljpi_seg_new(l, n[0], depth, &to[0]);
  if (st == LJP_OK) st = ljpi_seg_new(l, n[1], depth, &to[1]);
  if (st == LJP_OK && ljpi_seg_move(old, to, depth)) {
    uint64_t bit = UINT64_C(1) << (64 - depth);
    ljpi_dir_set(l, hash & ~bit, to[0]);
    ljpi_dir_set(l, hash | bit, to[1]);
    ljpi_seg_free(l, old);
    return LJP_OK;
  }
  ljpi_seg_free(l, to[0]);
  ljpi_seg_free(l, to[1]);
  return st;
}

/* Whether a segment's last resize failed lately. Counts the steps. */
static int ljpi_seg_waits(ljpi_seg *seg)
{
  if (seg->wait == 0) return 0;
  seg->wait--;
  return 1;
}

/* Makes room in the segment of `hash`, if it is filled well and may grow. */
static ljp_status ljpi_live_grow(ljpi_live *l, uint64_t hash)
{
  ljpi_seg *seg = l->dir[ljpi_dir_at(l, hash)];
  uint32_t n;
  if (seg->count < 2 * seg->buckets || ljpi_seg_waits(seg)) return LJP_OK;
  if (seg->buckets >= LJPI_SEG_MAX || LJPI_SEG_FILL(seg->count) > LJPI_SEG_MAX)
    return ljpi_seg_split(l, hash);
  n = ljpi_seg_buckets(seg->count);
  if (n <= seg->buckets) n = seg->buckets + seg->buckets / 4;
  return ljpi_seg_resize(l, hash, n < LJPI_SEG_MAX ? n : LJPI_SEG_MAX);
}

/* What is known of a block that was found. */
static void ljpi_live_get(const ljpi_live *l, const ljpi_ref *ref,
                          ljp_block *out)
{
  uint64_t value;
  out->addr = ref->addr;
  if (ref->spot.at) {
    value = ref->spot.at->rest[ref->spot.lane];
    out->site = (uint32_t)(value >> 24) & LJPI_SITE_MAX;
  } else {
    value = ljpi_at(&l->nodes, ref->node)->value;
    out->site = (uint32_t)(value >> 32);
  }
  out->size = value & LJPI_BIG;
  if (out->size == LJPI_BIG)
    out->size = ljpi_at(&l->nodes, ljpi_tree_find(&l->nodes, l->big,
                                                  ref->addr))->value;
}

/* Forgets a block that was found. */
static void ljpi_live_remove(ljpi_live *l, const ljpi_ref *ref)
{
  uint64_t value;
  l->count--;
  if (ref->spot.at) {
    value = ref->spot.at->rest[ref->spot.lane];
    ljpi_seg_remove(ref->seg, ref->home, ref->spot);
    if (ref->seg->count < ref->seg->least && !ljpi_seg_waits(ref->seg))
      (void)ljpi_seg_resize(l, ref->hash, ljpi_seg_buckets(ref->seg->count));
  } else {
    ljpi_tree_remove(&l->nodes, &l->tree, ref->addr, &value);
    l->tree_count--;
  }
  if ((value & LJPI_BIG) == LJPI_BIG)
    ljpi_tree_remove(&l->nodes, &l->big, ref->addr, &value);
  if (l->tree == 0 && l->big == 0 && l->nodes.chunk_count > 1)
    ljpi_nodes_free(&l->nodes);
}

/* What a lane holds beside the low half of the address. */
LJPI_INLINE uint64_t ljpi_rest(uint64_t addr, uint32_t site, uint64_t size)
{
  return addr >> 32 << 48 | (uint64_t)site << 24 | size;
}

/* Puts a block that is not there into a lane, if it fits and there is one
** within reach, or else into the tree. */
static ljp_status ljpi_live_place(ljpi_live *l, uint64_t hash,
                                  const ljp_block *b, uint64_t size)
{
  uint64_t rest = ljpi_rest(b->addr, b->site, size);
  ljpi_seg *seg = l->dir[ljpi_dir_at(l, hash)];
  uint32_t low = (uint32_t)b->addr, node;
  ljp_status st;
  int made;
  if (b->addr >> 48 == 0 && b->site <= LJPI_SITE_MAX) {
    if (seg->count < seg->most &&
        ljpi_seg_put(seg, ljpi_home(seg, hash), low, rest))
      return LJP_OK;
    st = ljpi_live_grow(l, hash);
    if (st != LJP_OK) return st;
    seg = l->dir[ljpi_dir_at(l, hash)];
    if (ljpi_seg_put(seg, ljpi_home(seg, hash), low, rest)) return LJP_OK;
  }
  st = ljpi_tree_insert(&l->nodes, &l->tree, b->addr, &node, &made);
  if (st != LJP_OK) return st;
  l->tree_count++;
  ljpi_at(&l->nodes, node)->value = (uint64_t)b->site << 32 | size;
  return LJP_OK;
}

/* Notes the size of a big block. */
static ljp_status ljpi_live_big(ljpi_live *l, uint64_t addr, uint64_t size)
{
  uint32_t idx;
  int made;
  ljp_status st = ljpi_tree_insert(&l->nodes, &l->big, addr, &idx, &made);
  if (st == LJP_OK) ljpi_at(&l->nodes, idx)->value = size;
  return st;
}

/* Adds a block that is not there. */
static ljp_status ljpi_live_add(ljpi_live *l, uint64_t hash,
                                const ljp_block *b)
{
  uint64_t size = b->size < LJPI_BIG ? b->size : LJPI_BIG, was;
  ljp_status st = LJP_OK;
  if (l->count >= l->max) {
    l->mem->hit = LJP_LIMIT_LIVE;
    return LJP_E_LIMIT;
  }
  if (size == LJPI_BIG) st = ljpi_live_big(l, b->addr, b->size);
  if (st != LJP_OK) return st;
  st = ljpi_live_place(l, hash, b, size);
  if (st == LJP_OK) {
    if (++l->count > l->peak) l->peak = l->count;
  } else if (size == LJPI_BIG) {
    ljpi_tree_remove(&l->nodes, &l->big, b->addr, &was);
  }
  return st;
}

/* Sets what is known of a block, which was found or not. */
static ljp_status ljpi_live_set(ljpi_live *l, const ljp_block *b,
                                const ljpi_ref *ref, int found)
{
  ljpi_spot spot = ref->spot;
  if (!found) return ljpi_live_add(l, ref->hash, b);
  if (spot.at && (spot.at->rest[spot.lane] & LJPI_BIG) != LJPI_BIG &&
      b->size < LJPI_BIG && b->site <= LJPI_SITE_MAX) {
    spot.at->rest[spot.lane] = ljpi_rest(b->addr, b->site, b->size);
    return LJP_OK;
  }
  ljpi_live_remove(l, ref);
  return ljpi_live_add(l, ref->hash, b);
}

/* Where a block lies, most likely where it belongs. */
LJPI_INLINE ljpi_spot ljpi_seg_near(const ljpi_seg *seg, ljpi_bucket *home,
                                    uint64_t addr)
{
  unsigned m = ljpi_alike(home, (uint32_t)addr);
  ljpi_spot spot;
  spot.at = home;
  spot.lane = m ? ljpi_lowest(m) : 0;
  if (LJPI_LIKELY(m != 0 && home->rest[spot.lane] >> 48 == addr >> 32))
    return spot;
  return ljpi_seg_find(seg, home, addr);
}

#define LJPI_QUICK_SIZE 23    /* Bits of the sizes of quick events. */

/* Puts a small block that is not in the tree into its segment, if it is not
** there and finds a lane. */
LJPI_NOINLINE int ljpi_seg_add(ljpi_seg *seg, ljpi_bucket *home,
                               uint64_t addr, uint64_t rest)
{
  return !ljpi_seg_find(seg, home, addr).at &&
         ljpi_seg_put(seg, home, (uint32_t)addr, rest);
}

/* Adds a small block of a low site, if it is not there and needs nothing but a
** lane. Returns whether it did; the caller counts it. */
LJPI_INLINE int ljpi_live_quick(const ljpi_live *l, ljpi_seg *seg,
                                ljpi_bucket *home, uint64_t addr,
                                uint32_t site, uint64_t size)
{
  uint64_t rest = ljpi_rest(addr, site, size);
  unsigned lane;
  if (!LJPI_LIKELY((addr >> 48 | size >> LJPI_QUICK_SIZE |
                    l->tree_count) == 0 && seg->count < seg->most))
    return 0;
  if (!LJPI_LIKELY(home->used < LJPI_FULL &&
                   ljpi_alike(home, (uint32_t)addr) == 0))
    return ljpi_seg_add(seg, home, addr, rest);
  lane = ljpi_lowest(~home->used);
  home->used |= 1u << lane;
  home->low[lane] = (uint32_t)addr;
  home->rest[lane] = rest;
  seg->count++;
  return 1;
}

/* - Sites - */

#define LJPI_RING 8u      /* Meanings of one location that are looked through
                          ** before a new site is made. */

/* Which location a site is, and what it means. */
typedef struct ljpi_place {
  uint64_t id, line, epoch;
  uint32_t source, label;
  uint32_t next;          /* Ring of the sites of one location. */
  /* Classic: number of the location; rows of it by kind, + 1, and the last
  ** row that overrode a block, + 1, with what it did: all as last used. */
  uint32_t key, row[3], last_row, last_over;
} ljpi_place;

/* A site's sums in the true model that most events change: a cache line. What
** is changed alike does not stand side by side, or compilers would read two
** numbers at once, which has to wait for those that were written singly. */
typedef struct ljpi_sums {
  uint64_t alloc_count;
  uint64_t stamp;         /* peak_* are live_* at peak number `stamp` */
  uint64_t alloc_size;
  uint32_t last_by[2];    /* Site + 1 that last freed, moved a block of it. */
  uint64_t live_count, peak_count, live_size, peak_size;
} ljpi_sums;

/* The others. */
typedef struct ljpi_rare {
  uint64_t free_count, free_size;
  uint64_t realloc_count, realloc_new_size, realloc_old_size;
  uint64_t temp_count, temp_size, life_count, life_size;
  uint64_t failed_count, failed_size;
} ljpi_rare;

/* Of a site's samples: variances of what it allocated, of what it owns. */
typedef struct ljpi_spread {
  double made, live;
} ljpi_spread;

/* A site that freed (kind 0) or moved (1) blocks of another. */
typedef struct ljpi_pair {
  uint32_t by, owner, kind;
} ljpi_pair;

/* Classic: a row of events of one kind and location. */
typedef struct ljpi_row {
  uint64_t count, plus, minus;
  uint32_t label, kind;   /* kind: 0 allocations, 1 frees, 2 reallocations */
} ljpi_row;

/* Classic: rows of a location by kind, + 1. */
typedef struct ljpi_key {
  uint32_t row[3];
} ljpi_key;

/* Classic: what a row did to one location's blocks. */
typedef struct ljpi_over {
  uint64_t plus, minus, count;
  uint32_t row, label;
} ljpi_over;

#define LJPI_POINTS 512u

/* What was live after so many events. */
typedef struct ljpi_moment {
  uint64_t event, live_size;
} ljpi_moment;

#define LJPI_RECENT 256u

/* What only options ask for. */
typedef struct ljpi_extra {
  unsigned within, at;    /* Addresses of the last `within` allocations. */
  int lifetimes;
  uint64_t recent[LJPI_RECENT];
  ljpi_nodes born;        /* Block to the clock at its birth. */
  uint32_t root;
  uint64_t clock;         /* Bytes allocated. */
  uint64_t count[64], size[64];
} ljpi_extra;

struct ljp_aggregate {
  ljpi_mem *mem, own;
  ljp_symbols *symbols;
  ljp_model model;
  ljpi_live live;
  ljpi_map sites;         /* Location to its newest site. */
  ljpi_map pairs;         /* True: (by, owner); classic: (row, key). */
  ljpi_strings labels;    /* ljp_label as bytes. */
  uint64_t max_sites;
  uint64_t epoch;         /* Of the symbols, at the last batch; */
  uint32_t stamp;         /* what entries of `sites` have that are of it. */
  ljpi_place *place;
  size_t place_cap, place_count;
  ljpi_sums *sum;
  ljpi_rare *rare;        /* sum_count of them, too. */
  size_t sum_cap, rare_cap, sum_count;
  ljpi_spread *spread;    /* Of the first spread_cap sites. */
  size_t spread_cap;
  ljpi_pair *pair;
  size_t pair_cap, pair_count;
  ljpi_row *row;
  size_t row_cap, row_count;
  ljpi_key *key;
  size_t key_cap, key_count;
  ljpi_over *over;
  size_t over_cap, over_count;
  ljp_totals totals;      /* What cannot be had from the sites. */
  uint64_t peak_stamp;    /* Number of the highest total so far. */
  uint64_t last_addr;     /* Made by the event before; 0: none. */
  uint64_t bytes;         /* In all numbers of events that were not quick. */
  int has_extra;
  ljpi_extra extra;
  int sampled;
  ljpi_moment point[LJPI_POINTS]; /* Timeline, every point_step events. */
  size_t point_count;
  uint64_t point_next, point_step;
};

static ljp_status ljpi_aggregate_init(ljp_aggregate *a, ljpi_mem *mem,
                                      ljp_symbols *symbols,
                                      const ljp_options *options)
{
  a->mem = a->live.mem = a->live.nodes.mem = mem;
  a->sites.mem = a->sites.nodes.mem = mem;
  a->pairs.mem = a->pairs.nodes.mem = mem;
  a->labels.mem = mem;
  a->extra.born.mem = mem;
  if (options) {
    a->extra.within = options->temp_within < LJPI_RECENT
                        ? options->temp_within : LJPI_RECENT;
    a->extra.lifetimes = options->lifetimes;
    a->has_extra = options->temp_within || options->lifetimes;
  }
  a->symbols = symbols;
  a->model = options ? options->model : LJP_MODEL_TRUE;
  a->max_sites = ljpi_limit_or(options ? options->limits.sites : 0, 8u << 20);
  if (a->max_sites > LJPI_NONE / 2) a->max_sites = LJPI_NONE / 2;
  a->live.max = ljpi_limit_or(options ? options->limits.live : 0, 256u << 20);
  a->peak_stamp = 1;
  return ljpi_live_init(&a->live);
}

static void ljpi_aggregate_clear(ljp_aggregate *a)
{
  ljpi_live_free(&a->live);
  ljpi_nodes_free(&a->extra.born);
  ljpi_map_free(&a->sites);
  ljpi_map_free(&a->pairs);
  ljpi_strings_free(&a->labels);
  ljpi_free_array(a->mem, a->place, a->place_cap, sizeof(*a->place));
  ljpi_free_array(a->mem, a->sum, a->sum_cap, sizeof(*a->sum));
  ljpi_free_array(a->mem, a->rare, a->rare_cap, sizeof(*a->rare));
  ljpi_free_array(a->mem, a->spread, a->spread_cap, sizeof(*a->spread));
  ljpi_free_array(a->mem, a->pair, a->pair_cap, sizeof(*a->pair));
  ljpi_free_array(a->mem, a->row, a->row_cap, sizeof(*a->row));
  ljpi_free_array(a->mem, a->key, a->key_cap, sizeof(*a->key));
  ljpi_free_array(a->mem, a->over, a->over_cap, sizeof(*a->over));
}

LJP_API void ljp_aggregate_free(ljp_aggregate *a)
{
  ljpi_mem mem;
  if (!a) return;
  ljpi_aggregate_clear(a);
  mem = a->own;
  ljpi_free_array(&mem, a, 1, sizeof(*a));
}

LJP_API ljp_status ljp_aggregate_new(ljp_aggregate **out,
                                     ljp_symbols *symbols,
                                     const ljp_options *options)
{
  ljpi_mem mem;
  void *p = NULL;
  ljp_status st;
  if (!out || !symbols) return LJP_E_ARG;
  *out = NULL;
  st = ljpi_new_object(&mem, options, &p, sizeof(ljp_aggregate));
  if (st != LJP_OK) return st;
  *out = (ljp_aggregate *)p;
  (*out)->own = mem;
  st = ljpi_aggregate_init(*out, &(*out)->own, symbols, options);
  if (st == LJP_OK) return st;
  ljp_aggregate_free(*out);
  *out = NULL;
  return st;
}

static ljp_status ljpi_new_sum(ljp_aggregate *a)
{
  void *p = a->sum, *q = a->rare;
  ljp_status st = ljpi_grow(a->mem, &p, &a->sum_cap, a->sum_count + 1,
                            sizeof(*a->sum));
  if (st == LJP_OK)
    st = ljpi_grow(a->mem, &q, &a->rare_cap, a->sum_count + 1,
                   sizeof(*a->rare));
  a->sum = (ljpi_sums *)p;
  a->rare = (ljpi_rare *)q;
  if (st != LJP_OK) return st;
  memset(&a->sum[a->sum_count], 0, sizeof(*a->sum));
  memset(&a->rare[a->sum_count++], 0, sizeof(*a->rare));
  return LJP_OK;
}

static ljp_status ljpi_new_key(ljp_aggregate *a, uint32_t *key)
{
  void *p = a->key;
  ljp_status st = ljpi_grow(a->mem, &p, &a->key_cap, a->key_count + 1,
                            sizeof(*a->key));
  a->key = (ljpi_key *)p;
  if (st != LJP_OK) return st;
  *key = (uint32_t)a->key_count++;
  memset(&a->key[*key], 0, sizeof(*a->key));
  return LJP_OK;
}

/* A new site for a location; `old` is one that it has, or LJPI_NONE. */
static ljp_status ljpi_new_site(ljp_aggregate *a, const ljpi_place *as,
                                uint32_t old, uint32_t *site)
{
  void *p = a->place;
  ljpi_place *place;
  ljp_status st;
  if (a->place_count >= a->max_sites) {
    a->mem->hit = LJP_LIMIT_SITES;
    return LJP_E_LIMIT;
  }
  st = ljpi_grow(a->mem, &p, &a->place_cap, a->place_count + 1,
                 sizeof(*a->place));
  a->place = (ljpi_place *)p;
  if (st != LJP_OK) return st;
  *site = (uint32_t)a->place_count;
  place = &a->place[*site];
  *place = *as;
  if (a->model == LJP_MODEL_TRUE) st = ljpi_new_sum(a);
  else if (old != LJPI_NONE) place->key = a->place[old].key;
  else st = ljpi_new_key(a, &place->key);
  if (st != LJP_OK) return st;
  st = ljpi_map_set(&a->sites, place->source, place->id, place->line, *site);
  if (st != LJP_OK) {
    if (a->model == LJP_MODEL_TRUE) a->sum_count--;
    return st;
  }
  place->next = *site;
  if (old != LJPI_NONE) {
    place->next = a->place[old].next;
    a->place[old].next = *site;
  }
  a->place_count++;
  return LJP_OK;
}

/* The site for a location now; `old` is what it was, or LJPI_NONE. */
static ljp_status ljpi_renew_site(ljp_aggregate *a, ljpi_place *as,
                                  uint32_t old, uint32_t *site)
{
  ljp_label label;
  uint32_t at = old;
  unsigned i;
  ljp_status st = ljp_symbols_resolve(a->symbols, a->model, as->source,
                                      as->id, as->line, &label);
  if (st != LJP_OK) a->mem->hit = a->symbols->mem->hit;
  if (st == LJP_OK)
    st = ljpi_intern(&a->labels, &label, sizeof(label), &as->label);
  if (st != LJP_OK) return st;
  for (i = 0; old != LJPI_NONE && i < LJPI_RING; i++) {
    if (a->place[at].label == as->label) {
      a->place[at].epoch = as->epoch;
      *site = at;
      return at == old ? LJP_OK
                       : ljpi_map_set(&a->sites, as->source, as->id, as->line,
                                      at);
    }
    at = a->place[at].next;
  }
  return ljpi_new_site(a, as, old, site);
}

/* The site of a location that has not its own place in the table, or that the
** table does not have as of now. */
LJPI_NOINLINE ljp_status ljpi_find_site(ljp_aggregate *a, unsigned source,
                                        uint64_t id, uint64_t line,
                                        uint32_t *site)
{
  uint32_t tag = source | a->stamp << LJPI_TAG_BITS;
  ljpi_entry *e = ljpi_map_entry(&a->sites, source, id, line);
  ljpi_place as;
  ljp_status st;
  *site = e ? e->value - 1 : ljpi_map_get(&a->sites, source, id, line);
  if (e && e->tag == tag) return LJP_OK;
  if (*site == LJPI_NONE || a->place[*site].epoch != a->epoch) {
    memset(&as, 0, sizeof(as));
    as.source = source;
    as.id = id;
    as.line = line;
    as.epoch = a->epoch;
    st = ljpi_renew_site(a, &as, *site, site);
    if (st != LJP_OK) return st;
    e = ljpi_map_entry(&a->sites, source, id, line);
  }
  if (e) e->tag = tag;
  return LJP_OK;
}

/* The table of sites, as it stands until ljpi_find_site is called. */
typedef struct ljpi_index {
  const ljpi_entry *v;
  size_t mask;
  uint32_t stamp;         /* As it stands in a tag. */
} ljpi_index;

LJPI_INLINE ljpi_index ljpi_index_of(const ljp_aggregate *a)
{
  static const ljpi_entry none = {0, 0, 0, 0};
  ljpi_index x;
  x.v = a->sites.cap ? a->sites.v : &none;
  x.mask = a->sites.cap ? a->sites.cap - 1 : 0;
  x.stamp = a->stamp << LJPI_TAG_BITS;
  return x;
}

/* Whether an entry is a location's as of now. */
LJPI_INLINE int ljpi_index_is(const ljpi_entry *e, uint32_t tag, uint64_t id,
                              uint64_t line)
{
  return ((e->k1 ^ id) | (e->k2 ^ line) | (e->tag ^ tag)) == 0;
}

/* The site of a location, most likely in its own place or the next. */
LJPI_INLINE ljp_status ljpi_site_of(ljp_aggregate *a, ljpi_index *x,
                                    unsigned source, uint64_t id,
                                    uint64_t line, uint32_t *site)
{
  size_t at = ljpi_map_hash(source, id, line);
  const ljpi_entry *e = &x->v[at & x->mask];
  ljp_status st = LJP_OK;
  if (!LJPI_LIKELY(ljpi_index_is(e, source | x->stamp, id, line))) {
    e = &x->v[(at + 1) & x->mask];
    if (!LJPI_LIKELY(ljpi_index_is(e, source | x->stamp, id, line))) {
      st = ljpi_find_site(a, source, id, line, site);
      *x = ljpi_index_of(a);
      return st;
    }
  }
  *site = e->value - 1;
  return st;
}

/* Takes note of definitions since the last batch. */
static void ljpi_new_epoch(ljp_aggregate *a)
{
  size_t i;
  a->epoch = a->symbols->epoch;
  if (++a->stamp < LJPI_STAMPS) return;
  a->stamp = 1;
  for (i = 0; i < a->sites.cap; i++) a->sites.v[i].tag %= LJPI_TAGS;
}

#define LJPI_AHEAD 32u    /* Events looked up before the first is applied. */

/* What was looked up for an event: its site, and where the block belongs that
** an alloc makes or a free takes. */
typedef struct ljpi_looked {
  ljpi_seg *seg;
  uint32_t site;
  ljpi_bucket *home;
} ljpi_looked;

/* - The true model - */

/* Keeps what a site owned at the highest total before it changes. */
LJPI_INLINE ljpi_sums *ljpi_touch(ljp_aggregate *a, uint32_t site)
{
  ljpi_sums *s = &a->sum[site];
  if (s->stamp != a->peak_stamp) {
    s->stamp = a->peak_stamp;
    s->peak_count = s->live_count;
    s->peak_size = s->live_size;
  }
  return s;
}

/* The highest total, at an event. */
LJPI_INLINE void ljpi_new_peak(ljp_aggregate *a, uint64_t event,
                               uint64_t count, uint64_t size)
{
  ljp_totals *t = &a->totals;
  t->peak_size = size;
  t->peak_count = count;
  t->peak_event = event;
  a->peak_stamp++;
}

static void ljpi_own(ljp_aggregate *a, ljpi_sums *s, uint64_t count,
                     uint64_t size)
{
  ljp_totals *t = &a->totals;
  s->live_count += count;
  ljpi_add(&s->live_size, size);
  t->live_count += count;
  ljpi_add(&t->live_size, size);
  if (t->live_size > t->peak_size)
    ljpi_new_peak(a, t->events, t->live_count, t->live_size);
}

static void ljpi_disown(ljp_aggregate *a, uint32_t site, uint64_t count,
                        uint64_t size)
{
  ljpi_sums *s = ljpi_touch(a, site);
  ljpi_sub(&s->live_count, count);
  ljpi_sub(&s->live_size, size);
  ljpi_sub(&a->totals.live_count, count);
  ljpi_sub(&a->totals.live_size, size);
}

/* Blocks that one stands for in a sample of `weight` bytes. */
static uint64_t ljpi_scale(uint64_t weight, uint64_t size)
{
  uint64_t n = size ? weight / size : 1;
  if (size && weight % size >= size - size / 2) n++;
  return n ? n : 1;
}

/* A block of n bytes is sampled with the probability p, apart from all others,
** and stands for w = n / p: the variance of its sum is n * n * (1 - p) / p, of
** which w * w * (1 - p) for each sample is an estimate without bias. */
static double ljpi_variance(uint64_t weight, uint64_t size)
{
  return weight > size ? (double)weight * (double)(weight - size) : 0;
}

/* Room for the spreads of all sites. */
static ljp_status ljpi_spread_room(ljp_aggregate *a)
{
  void *p = a->spread;
  size_t old = a->spread_cap;
  ljp_status st = ljpi_grow(a->mem, &p, &a->spread_cap, a->sum_count,
                            sizeof(*a->spread));
  a->spread = (ljpi_spread *)p;
  if (a->spread_cap > old)
    memset(a->spread + old, 0, (a->spread_cap - old) * sizeof(*a->spread));
  return st;
}

/* A site owns a sample less. */
static void ljpi_spread_gone(ljp_aggregate *a, uint32_t site, uint64_t weight,
                             uint64_t size)
{
  double v = ljpi_variance(weight, size);
  if (site >= a->spread_cap) return;
  a->spread[site].live -= v < a->spread[site].live ? v : a->spread[site].live;
}

LJPI_NOINLINE ljp_status ljpi_new_pair(ljp_aggregate *a, uint32_t by,
                                       uint32_t owner, uint32_t kind)
{
  uint64_t key = (uint64_t)by << 32 | owner;
  void *p = a->pair;
  ljpi_pair *pair;
  ljp_status st;
  if (ljpi_map_get(&a->pairs, kind, key, 0) != LJPI_NONE) return LJP_OK;
  st = ljpi_grow(a->mem, &p, &a->pair_cap, a->pair_count + 1,
                 sizeof(*a->pair));
  a->pair = (ljpi_pair *)p;
  if (st == LJP_OK)
    st = ljpi_map_set(&a->pairs, kind, key, 0, (uint32_t)a->pair_count);
  if (st != LJP_OK) return st;
  pair = &a->pair[a->pair_count++];
  pair->by = by;
  pair->owner = owner;
  pair->kind = kind;
  return LJP_OK;
}

/* Notes that a site frees or moves a block of another. */
LJPI_INLINE ljp_status ljpi_note_pair(ljp_aggregate *a, uint32_t by,
                                      uint32_t owner, uint32_t kind)
{
  ljp_status st;
  if (LJPI_LIKELY(a->sum[owner].last_by[kind] == by + 1)) return LJP_OK;
  st = ljpi_new_pair(a, by, owner, kind);
  if (st == LJP_OK) a->sum[owner].last_by[kind] = by + 1;
  return st;
}

/* Old block of an event; counts what does not fit. */
static int ljpi_true_old(ljp_aggregate *a, const ljp_event *ev, ljpi_ref *ref,
                         ljp_block *old)
{
  ljp_totals *t = &a->totals;
  if (!ljpi_live_find(&a->live, ev->old_addr, ref)) {
    if (ev->old_addr) {
      t->before_count++;
      ljpi_add(&t->before_size, ev->old_size);
    }
    return 0;
  }
  ljpi_live_get(&a->live, ref, old);
  if (old->size != ev->old_size && !a->sampled) t->size_count++;
  return 1;
}

static void ljpi_true_failed(ljp_aggregate *a, uint32_t site, uint64_t size)
{
  ljpi_rare *s = &a->rare[site];
  s->failed_count++;
  ljpi_add(&s->failed_size, size);
}

/* The block at `addr` is the site's from now on. One that is found there,
** unless it is the one being moved, was never seen freed. */
static ljp_status ljpi_true_take(ljp_aggregate *a, const ljp_block *b,
                                 uint64_t count, int moved)
{
  ljp_block old;
  ljpi_ref ref;
  ljp_status st;
  int found = ljpi_live_find(&a->live, b->addr, &ref);
  if (found && !moved) {
    ljpi_live_get(&a->live, &ref, &old);
    ljpi_disown(a, old.site, 1, old.size);
    a->totals.again_count++;
  }
  st = ljpi_live_set(&a->live, b, &ref, found);
  if (st == LJP_OK) ljpi_own(a, ljpi_touch(a, b->site), count, b->size);
  return st;
}

/* Notes a block that is made, at `addr`. */
LJPI_NOINLINE ljp_status ljpi_extra_made(ljp_aggregate *a, uint64_t addr,
                                         uint64_t size)
{
  ljpi_extra *x = &a->extra;
  uint32_t idx;
  int made;
  ljp_status st;
  if (x->within) {
    x->recent[x->at] = addr;
    x->at = (x->at + 1) % x->within;
  }
  if (!x->lifetimes) return LJP_OK;
  ljpi_add(&x->clock, size);
  st = ljpi_tree_insert(&x->born, &x->root, addr, &idx, &made);
  if (st == LJP_OK) ljpi_at(&x->born, idx)->value = x->clock;
  return st;
}

/* Notes that the block `b` of site `s` is gone; whether it was temporary. */
LJPI_NOINLINE int ljpi_extra_gone(ljp_aggregate *a, ljpi_rare *s,
                                  const ljp_block *b)
{
  ljpi_extra *x = &a->extra;
  uint64_t life, birth;
  unsigned i;
  if (x->lifetimes && ljpi_tree_remove(&x->born, &x->root, b->addr, &birth)) {
    life = x->clock - birth;
    s->life_count++;
    ljpi_add(&s->life_size, life);
    for (i = 0; i < 63 && life >> i; i++) {}
    x->count[i]++;
    ljpi_add(&x->size[i], b->size);
  }
  if (x->within == 0) return a->last_addr == b->addr;
  for (i = 0; i < x->within; i++)
    if (x->recent[i] == b->addr) {
      x->recent[i] = 0;
      return 1;
    }
  return 0;
}

/* A block is moved: it lives on. */
LJPI_NOINLINE ljp_status ljpi_extra_moved(ljp_aggregate *a, uint64_t from,
                                          uint64_t to, uint64_t size)
{
  ljpi_extra *x = &a->extra;
  uint64_t birth;
  uint32_t idx;
  int made;
  ljp_status st;
  if (!x->lifetimes) return LJP_OK;
  ljpi_add(&x->clock, size);
  if (!from || !ljpi_tree_remove(&x->born, &x->root, from, &birth))
    birth = x->clock;
  st = ljpi_tree_insert(&x->born, &x->root, to, &idx, &made);
  if (st == LJP_OK) ljpi_at(&x->born, idx)->value = birth;
  return st;
}

/* The block that an event makes, and how many it stands for. */
static uint64_t ljpi_true_made(ljp_aggregate *a, const ljp_event *ev,
                               uint32_t site, ljp_block *b)
{
  b->addr = ev->addr;
  b->site = site;
  b->size = ev->size;
  if (ev->weight == 0) return 1;
  b->size = ev->weight;
  a->sampled = 1;
  a->totals.sampled_count++;
  return ljpi_scale(ev->weight, ev->size);
}

static ljp_status ljpi_true_alloc(ljp_aggregate *a, const ljp_event *ev,
                                  uint32_t site)
{
  uint64_t count;
  ljp_block b;
  ljp_status st = LJP_OK;
  a->last_addr = ev->addr;
  if (ev->addr == 0) {
    ljpi_true_failed(a, site, ev->size);
    return LJP_OK;
  }
  count = ljpi_true_made(a, ev, site, &b);
  if (ev->weight) st = ljpi_spread_room(a);
  if (st == LJP_OK && a->has_extra) st = ljpi_extra_made(a, b.addr, b.size);
  if (st == LJP_OK) st = ljpi_true_take(a, &b, count, 0);
  if (st != LJP_OK) return st;
  if (ev->weight) {
    double v = ljpi_variance(ev->weight, ev->size);
    a->spread[site].made += v;
    a->spread[site].live += v;
  }
  a->sum[site].alloc_count += count;
  ljpi_add(&a->sum[site].alloc_size, b.size);
  return LJP_OK;
}

static ljp_status ljpi_true_free(ljp_aggregate *a, const ljp_event *ev,
                                 uint32_t site)
{
  ljpi_ref ref;
  ljp_block old;
  ljpi_rare *s;
  ljp_status st;
  uint64_t count = 1, size = ev->old_size;
  if (ljpi_true_old(a, ev, &ref, &old)) {
    if (a->sampled) {
      count = ljpi_scale(old.size, ev->old_size);
      size = old.size;
      ljpi_spread_gone(a, old.site, old.size, ev->old_size);
    }
    st = ljpi_note_pair(a, site, old.site, 0);
    if (st != LJP_OK) return st;
    ljpi_live_remove(&a->live, &ref);
    ljpi_disown(a, old.site, count, old.size);
    s = &a->rare[old.site];
    if (a->has_extra ? ljpi_extra_gone(a, s, &old)
                     : a->last_addr == ev->old_addr) {
      s->temp_count += count;
      ljpi_add(&s->temp_size, old.size);
    }
  }
  a->last_addr = 0;
  s = &a->rare[site];
  s->free_count += count;
  ljpi_add(&s->free_size, size);
  return LJP_OK;
}

static ljp_status ljpi_true_realloc(ljp_aggregate *a, const ljp_event *ev,
                                    uint32_t site)
{
  ljpi_ref ref;
  ljp_block b, old;
  ljpi_rare *s = &a->rare[site];
  ljp_status st = LJP_OK;
  uint64_t count;
  int known;
  a->last_addr = 0;
  if (ev->addr == 0) {
    ljpi_true_failed(a, site, ev->size);
    return LJP_OK;
  }
  count = ljpi_true_made(a, ev, site, &b);
  if (ev->weight) st = ljpi_spread_room(a);
  if (st != LJP_OK) return st;
  known = ljpi_true_old(a, ev, &ref, &old);
  if (known) {
    st = ljpi_note_pair(a, site, old.site, 1);
    if (st != LJP_OK) return st;
    ljpi_disown(a, old.site,
                a->sampled ? ljpi_scale(old.size, ev->old_size) : 1,
                old.size);
    if (a->sampled) ljpi_spread_gone(a, old.site, old.size, ev->old_size);
    if (ev->old_addr != ev->addr) ljpi_live_remove(&a->live, &ref);
  }
  if (a->has_extra)
    st = ljpi_extra_moved(a, known ? ev->old_addr : 0, b.addr, b.size);
  if (st == LJP_OK)
    st = ljpi_true_take(a, &b, count, known && ev->old_addr == ev->addr);
  if (st != LJP_OK) return st;
  if (ev->weight)
    a->spread[site].live += ljpi_variance(ev->weight, ev->size);
  s->realloc_count += count;
  ljpi_add(&s->realloc_new_size, b.size);
  ljpi_add(&s->realloc_old_size, ev->old_size);
  return LJP_OK;
}

/* Any event. */
LJPI_NOINLINE ljp_status ljpi_true_event(ljp_aggregate *a,
                                         const ljp_event *ev, uint32_t site)
{
  ljpi_add(&a->bytes, ev->size);
  ljpi_add(&a->bytes, ev->old_size);
  ljpi_add(&a->bytes, ev->weight);
  if (ev->kind == LJP_EVENT_FREE && ev->old_addr == 0) {
    a->totals.null_free_count++;
    return LJP_OK;
  }
  a->totals.events++;
  switch (ev->kind) {
  case LJP_EVENT_FREE: return ljpi_true_free(a, ev, site);
  case LJP_EVENT_REALLOC:
  case LJP_EVENT_FAILED_REALLOC: return ljpi_true_realloc(a, ev, site);
  default: return ljpi_true_alloc(a, ev, site);
  }
}

/* Events that are added the short way are so small that no sum can reach its
** end while there are few of them, and little in the others. */
#define LJPI_QUICK_EVENTS (UINT64_C(1) << 39)
#define LJPI_QUICK_BYTES (UINT64_C(1) << 62)

/* Whether nothing is asked for, and nothing was seen, that the short way
** leaves out. */
LJPI_INLINE int ljpi_may_quick(const ljp_aggregate *a)
{
  return !a->has_extra && !a->sampled && a->place_count <= LJPI_SITE_MAX &&
         a->live.max - a->live.count >= LJPI_AHEAD &&
         a->totals.events < LJPI_QUICK_EVENTS && a->bytes < LJPI_QUICK_BYTES;
}

/* What the short way keeps at hand. */
typedef struct ljpi_quick {
  uint64_t live_count, live_size, last_addr;
  uint64_t event;         /* Number of the event. */
} ljpi_quick;

/* The short way of most events. 0: it is not for this one, and nothing has
** changed. */
LJPI_INLINE int ljpi_quick_alloc(ljp_aggregate *a, ljpi_quick *q,
                                 const ljp_event *ev, const ljpi_looked *h)
{
  uint64_t addr = ev->addr, size = ev->size;
  ljpi_sums *s;
  if (!LJPI_LIKELY(ev->weight == 0 && addr != 0) ||
      !ljpi_live_quick(&a->live, h->seg, h->home, addr, h->site, size))
    return 0;
  s = ljpi_touch(a, h->site);
  s->alloc_count++;
  s->alloc_size += size;
  s->live_count++;
  s->live_size += size;
  q->live_count++;
  q->live_size += size;
  q->last_addr = addr;
  if (q->live_size > a->totals.peak_size)
    ljpi_new_peak(a, q->event, q->live_count, q->live_size);
  return 1;
}

LJPI_INLINE int ljpi_quick_free(ljp_aggregate *a, ljpi_quick *q,
                                const ljp_event *ev, const ljpi_looked *h)
{
  ljpi_spot spot = ljpi_seg_near(h->seg, h->home, ev->old_addr);
  uint64_t rest, size = ev->old_size;
  ljpi_sums *s;
  ljpi_rare *by;
  uint32_t owner;
  if (!LJPI_LIKELY(spot.at != NULL)) return 0;
  rest = spot.at->rest[spot.lane];
  owner = (uint32_t)(rest >> 24) & LJPI_SITE_MAX;
  if (!LJPI_LIKELY((rest & LJPI_BIG) == size &&
                   size >> LJPI_QUICK_SIZE == 0 &&
                   h->seg->count > h->seg->least) ||
      ljpi_note_pair(a, h->site, owner, 0) != LJP_OK)
    return 0;
  ljpi_seg_remove(h->seg, h->home, spot);
  s = ljpi_touch(a, owner);
  s->live_count--;
  s->live_size -= size;
  q->live_count--;
  q->live_size -= size;
  if (q->last_addr == ev->old_addr) {
    a->rare[owner].temp_count++;
    a->rare[owner].temp_size += size;
  }
  q->last_addr = 0;
  by = &a->rare[h->site];
  by->free_count++;
  by->free_size += size;
  return 1;
}

/* Adds events from the first on until one is not for the short way. Returns
** how many. */
LJPI_NOINLINE size_t ljpi_quick_true(ljp_aggregate *a, const ljp_event *ev,
                                     const ljpi_looked *h, size_t count)
{
  ljp_totals *t = &a->totals;
  ljpi_quick q;
  size_t i;
  q.live_count = t->live_count;
  q.live_size = t->live_size;
  q.last_addr = a->last_addr;
  q.event = t->events;
  for (i = 0; i < count; i++, ev++, h++) {
    q.event++;
    if (ev->kind == LJP_EVENT_ALLOC) {
      if (!ljpi_quick_alloc(a, &q, ev, h)) break;
    } else if (ev->kind != LJP_EVENT_FREE || !ljpi_quick_free(a, &q, ev, h)) {
      break;
    }
  }
  a->live.count += q.live_count - t->live_count;
  if (a->live.count > a->live.peak) a->live.peak = a->live.count;
  t->live_count = q.live_count;
  t->live_size = q.live_size;
  a->last_addr = q.last_addr;
  t->events += i;
  return i;
}

/* - The classic model - */

LJPI_NOINLINE ljp_status ljpi_new_row(ljp_aggregate *a, uint32_t kind,
                                      uint32_t site, uint32_t *row)
{
  uint32_t *at = &a->key[a->place[site].key].row[kind];
  void *p = a->row;
  ljp_status st;
  if (*at == 0) {
    st = ljpi_grow(a->mem, &p, &a->row_cap, a->row_count + 1,
                   sizeof(*a->row));
    a->row = (ljpi_row *)p;
    if (st != LJP_OK) return st;
    memset(&a->row[a->row_count], 0, sizeof(*a->row));
    a->row[a->row_count].label = a->place[site].label;
    a->row[a->row_count].kind = kind;
    *at = (uint32_t)++a->row_count;
  }
  a->place[site].row[kind] = *at;
  *row = *at - 1;
  return LJP_OK;
}

/* Row of a kind of event at a site. */
LJPI_INLINE ljp_status ljpi_row_of(ljp_aggregate *a, uint32_t kind,
                                   uint32_t site, uint32_t *row)
{
  uint32_t at = a->place[site].row[kind];
  if (!LJPI_LIKELY(at != 0)) return ljpi_new_row(a, kind, site, row);
  *row = at - 1;
  return LJP_OK;
}

LJPI_NOINLINE ljp_status ljpi_new_over(ljp_aggregate *a, uint32_t row,
                                       uint32_t owner, uint32_t *over)
{
  uint64_t pair = (uint64_t)row << 32 | a->place[owner].key;
  void *p = a->over;
  ljp_status st;
  *over = ljpi_map_get(&a->pairs, 0, pair, 0);
  if (*over == LJPI_NONE) {
    st = ljpi_grow(a->mem, &p, &a->over_cap, a->over_count + 1,
                   sizeof(*a->over));
    a->over = (ljpi_over *)p;
    *over = (uint32_t)a->over_count;
    if (st == LJP_OK) st = ljpi_map_set(&a->pairs, 0, pair, 0, *over);
    if (st != LJP_OK) return st;
    memset(&a->over[*over], 0, sizeof(*a->over));
    a->over[*over].row = row;
    a->over[*over].label = a->place[owner].label;
    a->over_count++;
  }
  a->place[owner].last_row = row + 1;
  a->place[owner].last_over = *over;
  return LJP_OK;
}

/* What a row does to blocks of the owner's location. */
LJPI_INLINE ljp_status ljpi_over_of(ljp_aggregate *a, uint32_t row,
                                    uint32_t owner, uint32_t *over)
{
  if (!LJPI_LIKELY(a->place[owner].last_row == row + 1))
    return ljpi_new_over(a, row, owner, over);
  *over = a->place[owner].last_over;
  return LJP_OK;
}

/* The old block goes; the row gets what it overrode. */
static ljp_status ljpi_classic_old(ljp_aggregate *a, const ljp_event *ev,
                                   uint32_t row)
{
  ljpi_over *over;
  ljpi_ref ref;
  ljp_block old;
  uint32_t idx;
  ljp_status st;
  if (!ljpi_live_find(&a->live, ev->old_addr, &ref)) return LJP_OK;
  ljpi_live_get(&a->live, &ref, &old);
  st = ljpi_over_of(a, row, old.site, &idx);
  if (st != LJP_OK) return st;
  over = &a->over[idx];
  if (ev->kind == LJP_EVENT_REALLOC) ljpi_add(&over->plus, ev->size);
  ljpi_add(&over->minus, old.size);
  over->count++;
  ljpi_live_remove(&a->live, &ref);
  return LJP_OK;
}

/* Any event. */
LJPI_NOINLINE ljp_status ljpi_classic_event(ljp_aggregate *a,
                                            const ljp_event *ev,
                                            uint32_t site)
{
  uint32_t row;
  ljp_block b;
  ljpi_ref ref;
  ljp_status st;
  int found;
  if (ev->kind > LJP_EVENT_REALLOC) return LJP_OK;
  st = ljpi_row_of(a, ev->kind - 1u, site, &row);
  if (st != LJP_OK) return st;
  a->totals.events++;
  a->row[row].count++;
  ljpi_add(&a->row[row].plus, ev->size);
  ljpi_add(&a->row[row].minus, ev->old_size);
  if (ev->kind != LJP_EVENT_ALLOC) st = ljpi_classic_old(a, ev, row);
  if (st != LJP_OK || ev->kind == LJP_EVENT_FREE) return st;
  found = ljpi_live_find(&a->live, ev->addr, &ref);
  b.addr = ev->addr;
  b.size = ev->size;
  b.site = site;
  return ljpi_live_set(&a->live, &b, &ref, found);
}

/* Location of the peer: address, line and trace number, nothing more. */
LJPI_INLINE ljp_status ljpi_classic_site(ljp_aggregate *a, ljpi_index *x,
                                         const ljp_event *ev, uint32_t *site)
{
  if (ev->source != LJP_SOURCE_TRACE)
    return ljpi_site_of(a, x, LJP_SOURCE_C, ev->id, ev->line, site);
  return ev->id
         ? ljpi_site_of(a, x, LJP_SOURCE_TRACE, ev->id, ev->line, site)
         : ljpi_site_of(a, x, LJP_SOURCE_C, ev->line, 0, site);
}

/* - Batches - */

/* Looks up where the block of an event belongs, and sends for that. */
LJPI_INLINE void ljpi_look(const ljpi_live *l, const ljp_event *ev,
                           ljpi_looked *h)
{
  uint64_t addr = ev->addr, old = ev->old_addr;
  uint64_t hash = ljpi_hash_addr(ev->kind == LJP_EVENT_FREE ? old : addr);
  ljpi_seg *seg = l->dir[ljpi_dir_at(l, hash)];
  h->seg = seg;
  h->home = ljpi_home(seg, hash);
  LJPI_PREFETCH(h->home);
}

/* Looks events up. Returns how many; *st: why not all. */
static size_t ljpi_look_true(ljp_aggregate *a, const ljp_event *ev,
                             size_t count, ljpi_looked *h, ljp_status *st)
{
  ljpi_index x = ljpi_index_of(a);
  size_t i;
  *st = LJP_OK;
  for (i = 0; i < count; i++, ev++, h++) {
    ljpi_look(&a->live, ev, h);
    /* Frees of address 0 are no events. */
    if ((ev->old_addr | (ev->kind ^ LJP_EVENT_FREE)) == 0) continue;
    *st = ljpi_site_of(a, &x, ev->source, ev->id, ev->line, &h->site);
    if (*st != LJP_OK) break;
  }
  return i;
}

static size_t ljpi_look_classic(ljp_aggregate *a, const ljp_event *ev,
                                size_t count, ljpi_looked *h, ljp_status *st)
{
  ljpi_index x = ljpi_index_of(a);
  size_t i;
  *st = LJP_OK;
  for (i = 0; i < count; i++, ev++, h++) {
    ljpi_look(&a->live, ev, h);
    *st = ljpi_classic_site(a, &x, ev, &h->site);
    if (*st != LJP_OK) break;
  }
  return i;
}

/* Adds up to LJPI_AHEAD events; *done: how many. */
static ljp_status ljpi_add_events(ljp_aggregate *a, const ljp_event *ev,
                                  size_t count, size_t *done)
{
  int classic = a->model == LJP_MODEL_CLASSIC;
  ljpi_looked h[LJPI_AHEAD];
  ljp_status st, found;
  size_t i = 0, k;
  count = classic ? ljpi_look_classic(a, ev, count, h, &found)
                  : ljpi_look_true(a, ev, count, h, &found);
  for (*done = 0; *done < count; ++*done) {
    unsigned moves = a->live.moves;
    i = *done;
    if (!classic && ljpi_may_quick(a))
      i += ljpi_quick_true(a, ev + i, h + i, count - i);
    *done = i;
    if (i == count) break;
    st = classic ? ljpi_classic_event(a, &ev[i], h[i].site)
                 : ljpi_true_event(a, &ev[i], h[i].site);
    if (st != LJP_OK) return st;
    for (k = i + 1; moves != a->live.moves && k < count; k++)
      ljpi_look(&a->live, &ev[k], &h[k]);
  }
  return found;
}

/* Adds a point to the timeline; if it is full, every second one goes. */
static void ljpi_note_moment(ljp_aggregate *a)
{
  size_t i;
  if (a->point_count == LJPI_POINTS) {
    for (i = 0; i < LJPI_POINTS / 2; i++) a->point[i] = a->point[2 * i];
    a->point_count = LJPI_POINTS / 2;
    a->point_step *= 2;
  }
  a->point[a->point_count].event = a->totals.events;
  a->point[a->point_count++].live_size = a->totals.live_size;
  if (a->point_step == 0) a->point_step = LJPI_AHEAD;
  a->point_next = a->totals.events + a->point_step;
}

LJP_API ljp_status ljp_aggregate_events(ljp_aggregate *a,
                                        const ljp_event *events, size_t count,
                                        size_t *failed)
{
  size_t at, n, done = 0;
  ljp_status st;
  if (a->epoch != a->symbols->epoch) ljpi_new_epoch(a);
  for (at = 0; at < count; at += n) {
    n = count - at < LJPI_AHEAD ? count - at : LJPI_AHEAD;
    st = ljpi_add_events(a, events + at, n, &done);
    if (st != LJP_OK) {
      if (failed) *failed = at + done;
      return st;
    }
    if (a->totals.events >= a->point_next) ljpi_note_moment(a);
  }
  return LJP_OK;
}

LJP_API ljp_limit ljp_aggregate_limit(const ljp_aggregate *a)
{
  return a->mem->hit;
}

/* Two standard errors, rounded up: 2 * sqrt(variance). */
static uint64_t ljpi_error_of(double variance)
{
  double x = variance + 1, y = (x + variance / x) / 2;
  uint64_t n;
  if (variance <= 0) return 0;
  while (y < x) {
    x = y;
    y = (x + variance / x) / 2;
  }
  x *= 2;
  if (x >= 18446744073709549568.0) return UINT64_MAX;
  n = (uint64_t)x;
  return n + ((double)n < x);
}

LJP_API void ljp_aggregate_totals(const ljp_aggregate *a, ljp_totals *out)
{
  double made = 0, live = 0;
  size_t i;
  *out = a->totals;
  for (i = 0; i < a->spread_cap; i++) {
    made += a->spread[i].made;
    live += a->spread[i].live;
  }
  out->alloc_error = ljpi_error_of(made);
  out->live_error = ljpi_error_of(live);
  for (i = 0; i < a->sum_count; i++) {
    const ljpi_sums *s = &a->sum[i];
    const ljpi_rare *r = &a->rare[i];
    out->alloc_count += s->alloc_count;
    ljpi_add(&out->alloc_size, s->alloc_size);
    out->realloc_count += r->realloc_count;
    ljpi_add(&out->realloc_new_size, r->realloc_new_size);
    ljpi_add(&out->realloc_old_size, r->realloc_old_size);
    out->free_count += r->free_count;
    ljpi_add(&out->free_size, r->free_size);
    out->failed_count += r->failed_count;
    out->temp_count += r->temp_count;
    ljpi_add(&out->temp_size, r->temp_size);
  }
}

LJP_API size_t ljp_aggregate_site_count(const ljp_aggregate *a)
{
  return a->sum_count;
}

LJP_API void ljp_aggregate_site(const ljp_aggregate *a, size_t idx,
                                ljp_site *out)
{
  const ljpi_sums *s = &a->sum[idx];
  const ljpi_rare *r = &a->rare[idx];
  const ljpi_place *place = &a->place[idx];
  int at_peak = s->stamp != a->peak_stamp;
  memset(out, 0, sizeof(*out));
  out->id = place->id;
  out->line = place->line;
  out->source = (uint8_t)place->source;
  out->label = place->label;
  out->alloc_count = s->alloc_count;
  out->alloc_size = s->alloc_size;
  out->realloc_count = r->realloc_count;
  out->realloc_new_size = r->realloc_new_size;
  out->realloc_old_size = r->realloc_old_size;
  out->free_count = r->free_count;
  out->free_size = r->free_size;
  out->failed_count = r->failed_count;
  out->failed_size = r->failed_size;
  out->live_count = s->live_count;
  out->live_size = s->live_size;
  out->taken_count = s->alloc_count + r->realloc_count;
  out->given_count = out->taken_count;
  ljpi_sub(&out->given_count, s->live_count);
  out->peak_count = at_peak ? s->live_count : s->peak_count;
  out->peak_size = at_peak ? s->live_size : s->peak_size;
  out->life_count = r->life_count;
  out->life_size = r->life_size;
  out->temp_count = r->temp_count;
  out->temp_size = r->temp_size;
  if (idx >= a->spread_cap) return;
  out->alloc_error = ljpi_error_of(a->spread[idx].made);
  out->live_error = ljpi_error_of(a->spread[idx].live);
}

LJP_API const ljp_label *ljp_aggregate_label(const ljp_aggregate *a,
                                             uint32_t label)
{
  const void *p = a->labels.v[label].p;
  return (const ljp_label *)p;
}

LJP_API int ljp_aggregate_find(const ljp_aggregate *a, uint64_t addr,
                               ljp_block *out)
{
  ljpi_ref ref;
  if (!ljpi_live_find(&a->live, addr, &ref)) return 0;
  ljpi_live_get(&a->live, &ref, out);
  return 1;
}

LJP_API void ljp_aggregate_lives(const ljp_aggregate *a, unsigned class_,
                                 uint64_t *count, uint64_t *size)
{
  if (count) *count = class_ < 64 ? a->extra.count[class_] : 0;
  if (size) *size = class_ < 64 ? a->extra.size[class_] : 0;
}

LJP_API uint64_t ljp_aggregate_table_size(const ljp_aggregate *a)
{
  const ljpi_live *l = &a->live;
  return l->size + ljpi_nodes_size(&l->nodes) +
         ((uint64_t)sizeof(*l->dir) << l->depth);
}

/* -- Reports ------------------------------------------------------------ */

/* - Output - */

typedef struct ljpi_out {
  ljp_write write;
  void *user;
  size_t used;
  int failed, human, escape;
  char buf[2048];
} ljpi_out;

static void ljpi_out_flush(ljpi_out *o)
{
  if (o->used && !o->failed && o->write(o->user, o->buf, o->used))
    o->failed = 1;
  o->used = 0;
}

static void ljpi_put(ljpi_out *o, const char *p, size_t size)
{
  while (size) {
    size_t n = sizeof(o->buf) - o->used;
    if (n > size) n = size;
    memcpy(o->buf + o->used, p, n);
    o->used += n;
    p += n;
    size -= n;
    if (o->used == sizeof(o->buf)) ljpi_out_flush(o);
  }
}

static void ljpi_puts(ljpi_out *o, const char *s)
{
  ljpi_put(o, s, strlen(s));
}

static void ljpi_put_u64(ljpi_out *o, uint64_t v)
{
  char tmp[24];
  snprintf(tmp, sizeof(tmp), "%llu", (unsigned long long)v);
  ljpi_puts(o, tmp);
}

/* Length of the UTF-8 character at p, 0 if there is none that may be printed
** as it is. */
static size_t ljpi_utf8(const unsigned char *p, size_t size)
{
  size_t n, i;
  uint32_t c;
  if (p[0] < 0x80) return p[0] >= 0x20 && p[0] != 0x7f;
  n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || n > size) return 0;
  c = p[0] & (0x7fu >> n);
  for (i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    c = c << 6 | (p[i] & 0x3fu);
  }
  if (c < 0xa0 || (n == 3 && c < 0x800) || (n == 4 && c < 0x10000)) return 0;
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
  /* Marks that turn the direction of text, line and paragraph separators. */
  if ((c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
      (c >= 0x2066 && c <= 0x2069)) return 0;
  return n;
}

/* A name; what cannot be shown on a terminal as \xNN. */
static void ljpi_put_name(ljpi_out *o, const char *p, size_t size)
{
  const unsigned char *q = (const unsigned char *)p;
  size_t i = 0, n;
  if (!o->escape) {
    ljpi_put(o, p, size);
    return;
  }
  while (i < size) {
    char tmp[8];
    n = ljpi_utf8(q + i, size - i);
    if (n) {
      ljpi_put(o, p + i, n);
      i += n;
    } else {
      snprintf(tmp, sizeof(tmp), "\\x%02x", q[i++]);
      ljpi_puts(o, tmp);
    }
  }
}

/* Inside a JSON string, one that may stand in a script element too. */
static void ljpi_put_json(ljpi_out *o, const char *p, size_t size)
{
  size_t i, from = 0;
  char tmp[8];
  for (i = 0; i < size; i++) {
    unsigned char c = (unsigned char)p[i];
    if (c >= 0x20 && c != 0x7f && !strchr("\"\\<>&", c)) continue;
    ljpi_put(o, p + from, i - from);
    snprintf(tmp, sizeof(tmp), "\\u%04x", c);
    ljpi_put(o, tmp, 6);
    from = i + 1;
  }
  ljpi_put(o, p + from, size - from);
}

/* The same of bytes that need not be UTF-8. */
static void ljpi_put_json_name(ljpi_out *o, const char *p, size_t size)
{
  const unsigned char *q = (const unsigned char *)p;
  size_t i = 0, from = 0;
  while (i < size) {
    size_t n = q[i] < 0x80 ? 1 : ljpi_utf8(q + i, size - i);
    if (n) {
      i += n;
      continue;
    }
    ljpi_put_json(o, p + from, i - from);
    ljpi_puts(o, "\\ufffd");
    from = ++i;
  }
  ljpi_put_json(o, p + from, size - from);
}

/* A size: bytes, or the largest binary unit up to GiB, whole numbers as they
** are and others with two decimals (halves up, as LuaJIT rounds them). */
static void ljpi_put_size(ljpi_out *o, uint64_t n)
{
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB"};
  unsigned k = 0;
  uint64_t whole, rest, hundredth, div;
  char tmp[16];
  while (o->human && k < 3 && n >> (10 * k) >= 1024) k++;
  div = UINT64_C(1) << (10 * k);
  whole = n >> (10 * k);
  rest = (n & (div - 1)) * 100;
  hundredth = rest >> (10 * k);
  rest &= div - 1;
  if (rest && rest * 2 >= div) hundredth++;
  if (hundredth == 100) {
    whole++;
    hundredth = 0;
  }
  ljpi_put_u64(o, whole);
  if (n & (div - 1)) {
    snprintf(tmp, sizeof(tmp), ".%02u", (unsigned)hundredth);
    ljpi_puts(o, tmp);
  }
  ljpi_puts(o, unit[k]);
}

/* - Labels as text - */

/* Three pieces, the middle one a name of any length. */
typedef struct ljpi_text {
  const char *part[3];
  size_t size[3];
  char head[160], tail[64];
} ljpi_text;

/* As C's %#x. */
static void ljpi_hex(char *buf, size_t size, uint64_t v)
{
  snprintf(buf, size, v ? "0x%llx" : "0", (unsigned long long)v);
}

static const char *ljpi_state_text(uint64_t state)
{
  static const char *const text[] = {
    "start-up", "interpreter", "C function", "garbage collector",
    "trace exit", "trace recorder", "trace optimizer", "trace assembler",
    "JIT code", "host", "finalizer"
  };
  return state < sizeof(text) / sizeof(*text) ? text[state] : "unknown state";
}

/* Marks in stacks. */
static const char *ljpi_gap_text(uint64_t mark)
{
  static const char *const text[] = {
    "(nothing)", "(cut at the depth limit)", "(tail calls)", "(resumed by)",
    "(host C code)", "(stack left out)", "(unknown)"
  };
  return mark < sizeof(text) / sizeof(*text) ? text[mark] : "(unknown)";
}

/* Labels of units larger than a line. */
static void ljpi_group_text(const ljp_label *l, uint32_t alias, ljpi_text *t)
{
  static const char *const other[] = {
    "C functions", "JIT code of unknown start", "Lua code of unknown source"
  };
  if (l->kind == LJP_LABEL_OTHER) {
    snprintf(t->head, sizeof(t->head), "%s", other[l->value]);
    return;
  }
  if (alias) {
    snprintf(t->head, sizeof(t->head), "function_alias_%u", (unsigned)alias);
    t->size[1] = 0;
  }
  if (l->kind == LJP_LABEL_FUNCTION && l->value == UINT64_MAX)
    snprintf(t->tail, sizeof(t->tail), " function, built in");
  else if (l->kind == LJP_LABEL_FUNCTION)
    snprintf(t->tail, sizeof(t->tail), " function at line %llu",
             (unsigned long long)l->value);
  else if (l->kind == LJP_LABEL_DIR && !alias)
    t->size[1] = (size_t)l->value;
}

/* What stands for a label's place, without a trace before it. */
static void ljpi_place_text(const ljp_symbols *s, const ljp_label *l,
                            ljpi_text *t)
{
  size_t at = strlen(t->head), left = sizeof(t->head) - at;
  char hex[24];
  uint32_t alias = ljp_symbols_alias(s, l->name);
  unsigned long long value = l->value, line = l->line;
  ljpi_hex(hex, sizeof(hex), l->value);
  if (l->name) t->part[1] = ljp_symbols_string(s, l->name, &t->size[1]);
  switch (l->kind) {
  case LJP_LABEL_INTERNAL:
    snprintf(t->head + at, left, "INTERNAL");
    break;
  case LJP_LABEL_LUA:
    if (alias) {
      snprintf(t->head + at, left, "function_alias_%u", (unsigned)alias);
      t->size[1] = 0;
    }
    snprintf(t->tail, sizeof(t->tail), ":%llu", value);
    break;
  case LJP_LABEL_CSYM:
    snprintf(t->tail, sizeof(t->tail), ":%s", hex);
    break;
  case LJP_LABEL_NEAR:
    snprintf(t->tail, sizeof(t->tail), "+%s?", hex);
    break;
  case LJP_LABEL_CFUNC:
    snprintf(t->head + at, left, "CFUNC %s", hex);
    break;
  case LJP_LABEL_LFUNC:
    snprintf(t->head + at, left, "LFUNC %s:%llu", hex, line);
    break;
  case LJP_LABEL_UNKNOWN_TRACE:
    snprintf(t->head + at, left, "unknown trace");
    break;
  case LJP_LABEL_MODULE:
    snprintf(t->tail, sizeof(t->tail), "+0x%llx", value);
    break;
  case LJP_LABEL_STATE:
    snprintf(t->head + at, left, "INTERNAL, %s", ljpi_state_text(l->value));
    break;
  case LJP_LABEL_BUILTIN:
    snprintf(t->tail, sizeof(t->tail), " (built in)");
    break;
  case LJP_LABEL_GAP:
    snprintf(t->head + at, left, "%s", ljpi_gap_text(l->value));
    break;
  case LJP_LABEL_LOST:
    snprintf(t->head + at, left, "name lost, bytes %llu-%llu", value, line);
    break;
  case LJP_LABEL_FUNCTION:
  case LJP_LABEL_FILE:
  case LJP_LABEL_DIR:
  case LJP_LABEL_OTHER:
    ljpi_group_text(l, alias, t);
    break;
  default:
    snprintf(t->head + at, left, "site %llu", value);
  }
}

/* Lines are many and a name may have megabytes: all of it in each would be
** the square of the input. So much of names a report holds, about; and so much
** of each it shows in any case. */
#define LJPI_NAMES_SIZE 67108864u
#define LJPI_NAME_LEAST 1024u

/* Bytes of a name that a report shows. */
static size_t ljpi_name_max(const ljp_aggregate *a)
{
  size_t lines = 3 * a->place_count + a->pair_count + a->row_count +
                 a->over_count;
  size_t most = LJPI_NAMES_SIZE / (lines + 1);
  return most > LJPI_NAME_LEAST ? most : LJPI_NAME_LEAST;
}

/* Cuts the name, its hash in the place of the rest, so that two stay two. */
static void ljpi_cut_text(const ljp_symbols *s, const ljp_label *l,
                          size_t name_max, ljpi_text *t)
{
  char tail[40];
  if (t->size[1] <= name_max) return;
  t->size[1] = name_max;
  memcpy(tail, t->tail, sizeof(tail));
  tail[sizeof(tail) - 1] = 0;
  snprintf(t->tail, sizeof(t->tail), "...#%08x%s",
           (unsigned)s->strings.v[l->name].hash, tail);
}

static void ljpi_label_text(const ljp_symbols *s, const ljp_label *l,
                            size_t name_max, ljpi_text *t)
{
  char hex[24];
  size_t at;
  t->head[0] = t->tail[0] = 0;
  t->part[1] = "";
  t->size[1] = 0;
  if (l->trace_kind) {
    ljpi_hex(hex, sizeof(hex), l->mcode);
    snprintf(t->head, sizeof(t->head), "TRACE [%llu]%s%s",
             (unsigned long long)l->trace, l->trace_kind == 2 ? " " : "",
             l->trace_kind == 2 ? hex : "");
    at = strlen(t->head);
    if (l->kind) snprintf(t->head + at, sizeof(t->head) - at, " started at ");
  }
  if (l->kind || !l->trace_kind) ljpi_place_text(s, l, t);
  ljpi_cut_text(s, l, name_max, t);
  t->part[0] = t->head;
  t->size[0] = strlen(t->head);
  t->part[2] = t->tail;
  t->size[2] = strlen(t->tail);
}

/* Compares labels as the bytes of their texts. */
static int ljpi_text_cmp(const ljpi_text *a, const ljpi_text *b)
{
  size_t i = 0, j = 0, ai = 0, bj = 0;
  for (;;) {
    size_t n, m;
    int order;
    while (i < 3 && ai == a->size[i]) { i++; ai = 0; }
    while (j < 3 && bj == b->size[j]) { j++; bj = 0; }
    if (i == 3 || j == 3) return (i != 3) - (j != 3);
    n = a->size[i] - ai;
    m = b->size[j] - bj;
    if (n > m) n = m;
    order = memcmp(a->part[i] + ai, b->part[j] + bj, n);
    if (order) return order;
    ai += n;
    bj += n;
  }
}

/* - Report in the making - */

/* A line of a section. */
typedef struct ljpi_line {
  uint64_t weight;        /* Those with most come first. */
  uint64_t count, plus, minus;
  uint64_t frees;         /* Of what is held. */
  uint32_t label;         /* Rank. */
  uint32_t kind;
} ljpi_line;

/* Owner (rank of its label) that a line overrides. */
typedef struct ljpi_under {
  uint32_t line, label;
} ljpi_under;

typedef struct ljpi_report {
  ljpi_mem mem;
  const ljp_aggregate *a;
  ljp_report_options o;
  ljpi_out out;
  size_t name_max;                /* Bytes of a name that are shown. */
  size_t label_count;
  ljpi_strings shown;             /* Labels without sites, as bytes. */
  uint32_t *order, *rank, *tmp;   /* Those by text; place of each of the
                                  ** aggregate's; scratch. */
  ljpi_line *line;
  size_t line_cap, line_count;
  ljpi_under *under;
  size_t under_cap, under_count;
  uint32_t *index;                /* Lines or unders in order. */
  size_t index_cap;
  uint32_t *index_tmp;
  size_t index_tmp_cap;
} ljpi_report;

static const ljp_label *ljpi_shown(const ljpi_report *r, uint32_t idx)
{
  const void *p = r->shown.v[idx].p;
  return (const ljp_label *)p;
}

static void ljpi_rank_text(const ljpi_report *r, uint32_t rank, ljpi_text *t)
{
  ljpi_label_text(r->a->symbols, ljpi_shown(r, r->order[rank]), r->name_max,
                  t);
}

static int ljpi_cmp_label(const void *ctx, uint32_t x, uint32_t y)
{
  const ljpi_report *r = (const ljpi_report *)ctx;
  ljpi_text tx, ty;
  ljpi_label_text(r->a->symbols, ljpi_shown(r, x), r->name_max, &tx);
  ljpi_label_text(r->a->symbols, ljpi_shown(r, y), r->name_max, &ty);
  return ljpi_text_cmp(&tx, &ty);
}

/* By weight, then by text. */
static int ljpi_cmp_line(const void *ctx, uint32_t x, uint32_t y)
{
  const ljpi_report *r = (const ljpi_report *)ctx;
  const ljpi_line *a = &r->line[x], *b = &r->line[y];
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  return a->label == b->label ? 0 : a->label < b->label ? -1 : 1;
}

static int ljpi_cmp_under(const void *ctx, uint32_t x, uint32_t y)
{
  const ljpi_report *r = (const ljpi_report *)ctx;
  const ljpi_under *a = &r->under[x], *b = &r->under[y];
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  return a->label == b->label ? 0 : a->label < b->label ? -1 : 1;
}

static ljp_status ljpi_u32_array(ljpi_report *r, uint32_t **out, size_t count)
{
  void *p = NULL;
  ljp_status st = ljpi_alloc_array(&r->mem, &p, count, sizeof(**out));
  *out = (uint32_t *)p;
  return st;
}

/* Bytes of a path up to its last slash; 0: none. */
static size_t ljpi_dir_size(const char *p, size_t size)
{
  while (size && p[size - 1] != '/' && p[size - 1] != '\\') size--;
  return size;
}

/* The unit that a label's place belongs to, or that place as it is. */
static void ljpi_group(const ljp_symbols *s, ljp_by by, ljp_label *l)
{
  ljp_label unit;
  size_t size;
  const char *p = ljp_symbols_string(s, l->name, &size);
  memset(&unit, 0, sizeof(unit));
  unit.kind = LJP_LABEL_OTHER;
  switch (l->kind) {
  case LJP_LABEL_LUA:
  case LJP_LABEL_MODULE:
    unit.name = l->name;
    unit.kind = LJP_LABEL_FILE;
    if (by != LJP_BY_FUNCTION) break;
    if (l->kind == LJP_LABEL_MODULE) return;
    unit.kind = LJP_LABEL_FUNCTION;
    unit.value = l->line;
    break;
  case LJP_LABEL_NEAR:
  case LJP_LABEL_CSYM:
  case LJP_LABEL_CFUNC:
  case LJP_LABEL_BUILTIN:
    if (l->kind == LJP_LABEL_NEAR) l->value = 0;
    if (by == LJP_BY_FUNCTION && !l->trace_kind) return;
    break;
  case LJP_LABEL_NONE:
  case LJP_LABEL_UNKNOWN_TRACE: unit.value = 1; break;
  case LJP_LABEL_LFUNC: unit.value = 2; break;
  default: return;
  }
  size = ljpi_dir_size(p, size);
  if (by == LJP_BY_DIR && unit.kind == LJP_LABEL_FILE && size &&
      !ljp_symbols_alias(s, l->name)) {
    unit.kind = LJP_LABEL_DIR;
    unit.value = size;
  }
  *l = unit;
}

/* Fills r->shown; r->rank has the index there of each of the aggregate's. */
static ljp_status ljpi_show_labels(ljpi_report *r)
{
  const ljp_aggregate *a = r->a;
  size_t i;
  ljp_label label;
  ljp_status st = LJP_OK;
  for (i = 1; i < r->label_count && st == LJP_OK; i++) {
    label = *ljp_aggregate_label(a, (uint32_t)i);
    if (label.kind == LJP_LABEL_SITE)
      ljp_symbols_site(a->symbols, label.value, &label);
    if (r->o.by != LJP_BY_LINE) ljpi_group(a->symbols, r->o.by, &label);
    st = ljpi_intern(&r->shown, &label, sizeof(label), &r->rank[i]);
  }
  return st;
}

/* Orders the labels by text; equal texts get one rank. */
static ljp_status ljpi_rank_labels(ljpi_report *r)
{
  size_t n = r->a->labels.count, i, m;
  ljp_status st;
  r->label_count = n;
  if (n == 0) return LJP_OK;
  st = ljpi_u32_array(r, &r->order, n);
  if (st == LJP_OK) st = ljpi_u32_array(r, &r->rank, n);
  if (st == LJP_OK) st = ljpi_u32_array(r, &r->tmp, n);
  if (st == LJP_OK) st = ljpi_show_labels(r);
  if (st != LJP_OK) return st;
  m = r->shown.count ? r->shown.count : 1;
  for (i = 0; i < m; i++) r->order[i] = (uint32_t)i;
  /* Label 0 is none and stays out of the way. */
  if (m > 1) ljpi_sort(r->order + 1, r->tmp + 1, m - 1, ljpi_cmp_label, r);
  r->tmp[0] = r->rank[0] = 0;
  for (i = 1; i < m; i++) {
    int same = i > 1 && ljpi_cmp_label(r, r->order[i - 1], r->order[i]) == 0;
    r->tmp[r->order[i]] = same ? r->tmp[r->order[i - 1]] : (uint32_t)i;
  }
  for (i = 1; i < n; i++) r->rank[i] = r->tmp[r->rank[i]];
  return LJP_OK;
}

/* Adds a line; only the label's rank and kind are set. */
static ljp_status ljpi_new_line(ljpi_report *r, uint32_t rank, uint32_t kind,
                                ljpi_line **line)
{
  void *p = r->line;
  ljp_status st = ljpi_grow(&r->mem, &p, &r->line_cap, r->line_count + 1,
                            sizeof(*r->line));
  r->line = (ljpi_line *)p;
  if (st != LJP_OK) return st;
  *line = &r->line[r->line_count++];
  memset(*line, 0, sizeof(**line));
  (*line)->label = rank;
  (*line)->kind = kind;
  return LJP_OK;
}

static ljp_status ljpi_new_under(ljpi_report *r, uint32_t line,
                                 uint32_t rank)
{
  void *p = r->under;
  ljp_status st = ljpi_grow(&r->mem, &p, &r->under_cap, r->under_count + 1,
                            sizeof(*r->under));
  r->under = (ljpi_under *)p;
  if (st != LJP_OK) return st;
  r->under[r->under_count].line = line;
  r->under[r->under_count++].label = rank;
  return LJP_OK;
}

/* Room for `count` indices in order, and as much to sort them. */
static ljp_status ljpi_want_index(ljpi_report *r, size_t count)
{
  void *p = r->index;
  ljp_status st = ljpi_grow(&r->mem, &p, &r->index_cap, count,
                            sizeof(*r->index));
  r->index = (uint32_t *)p;
  if (st != LJP_OK) return st;
  p = r->index_tmp;
  st = ljpi_grow(&r->mem, &p, &r->index_tmp_cap, count, sizeof(*r->index));
  r->index_tmp = (uint32_t *)p;
  return st;
}

static void ljpi_report_clear(ljpi_report *r)
{
  ljpi_mem *m = &r->mem;
  ljpi_strings_free(&r->shown);
  ljpi_free_array(m, r->order, r->label_count, sizeof(*r->order));
  ljpi_free_array(m, r->rank, r->label_count, sizeof(*r->rank));
  ljpi_free_array(m, r->tmp, r->label_count, sizeof(*r->tmp));
  ljpi_free_array(m, r->line, r->line_cap, sizeof(*r->line));
  ljpi_free_array(m, r->under, r->under_cap, sizeof(*r->under));
  ljpi_free_array(m, r->index, r->index_cap, sizeof(*r->index));
  ljpi_free_array(m, r->index_tmp, r->index_tmp_cap, sizeof(*r->index));
}

/* - Sections - */

static void ljpi_put_rank(ljpi_report *r, uint32_t rank)
{
  ljpi_text t;
  ljpi_rank_text(r, rank, &t);
  ljpi_put(&r->out, t.part[0], t.size[0]);
  ljpi_put_name(&r->out, t.part[1], t.size[1]);
  ljpi_put(&r->out, t.part[2], t.size[2]);
}

/* The owners under a line, one at least. */
static void ljpi_put_unders(ljpi_report *r, const uint32_t *index, size_t n,
                            int repeats)
{
  uint32_t last = LJPI_NONE;
  size_t i;
  ljpi_puts(&r->out, "\tOverrides:\n");
  for (i = 0; i < n; i++) {
    uint32_t rank = r->under[index[i]].label;
    if (rank == last && !repeats) continue;
    last = rank;
    ljpi_puts(&r->out, "\t\t");
    ljpi_put_rank(r, rank);
    ljpi_puts(&r->out, "\n");
  }
  ljpi_puts(&r->out, "\n");
}

/* First of `n` sorted unders whose line is not below `line`. */
static size_t ljpi_under_at(const ljpi_report *r, const uint32_t *index,
                            size_t n, uint32_t line)
{
  size_t lo = 0;
  while (n) {
    if (r->under[index[lo + n / 2]].line < line) {
      lo += n / 2 + 1;
      n -= n / 2 + 1;
    } else {
      n /= 2;
    }
  }
  return lo;
}

static void ljpi_put_line(ljpi_report *r, const ljpi_line *line)
{
  ljpi_put_rank(r, line->label);
  ljpi_puts(&r->out, ": ");
  ljpi_put_u64(&r->out, line->count);
  ljpi_puts(&r->out, " events\t+");
  ljpi_put_size(&r->out, line->plus);
  ljpi_puts(&r->out, "\t-");
  ljpi_put_size(&r->out, line->minus);
  ljpi_puts(&r->out, "\n");
}

/* How many of n lines are printed. */
static size_t ljpi_limited(const ljpi_report *r, size_t n)
{
  return r->o.limit && r->o.limit < n ? r->o.limit : n;
}

static void ljpi_put_rest(ljpi_report *r, size_t n)
{
  if (ljpi_limited(r, n) == n) return;
  ljpi_puts(&r->out, "(");
  ljpi_put_u64(&r->out, n - r->o.limit);
  ljpi_puts(&r->out, " more lines)\n");
}

/* Fills r->index with the lines of one kind, most first. */
static size_t ljpi_order_events(ljpi_report *r, uint32_t kind)
{
  size_t i, n = 0;
  for (i = 0; i < r->line_count; i++) {
    ljpi_line *line = &r->line[i];
    if (line->kind != kind) continue;
    r->index[n++] = (uint32_t)i;
    line->weight = r->o.sort == LJP_SORT_NAME ? 0 : line->count;
    if (r->o.sort != LJP_SORT_BYTES) continue;
    line->weight = line->plus;
    ljpi_add(&line->weight, line->minus);
  }
  ljpi_sort(r->index, r->index_tmp, n, ljpi_cmp_line, r);
  return n;
}

/* The lines of one kind. `under`: unders in order, `repeats` as they come. */
static void ljpi_put_events(ljpi_report *r, uint32_t kind, const char *title,
                            const uint32_t *under, int repeats)
{
  size_t i, n = ljpi_order_events(r, kind);
  ljpi_puts(&r->out, title);
  ljpi_puts(&r->out, "\n");
  for (i = 0; i < ljpi_limited(r, n); i++) {
    uint32_t line = r->index[i];
    size_t from = ljpi_under_at(r, under, r->under_count, line);
    size_t to = ljpi_under_at(r, under, r->under_count, line + 1);
    ljpi_put_line(r, &r->line[line]);
    if (to > from) ljpi_put_unders(r, under + from, to - from, repeats);
  }
  ljpi_put_rest(r, n);
  ljpi_puts(&r->out, "\n");
}

/* The first three sections. */
static ljp_status ljpi_put_all_events(ljpi_report *r, int repeats)
{
  size_t n = r->under_count, i;
  uint32_t *under = NULL;
  ljp_status st = ljpi_want_index(r, n > r->line_count ? n : r->line_count);
  if (st == LJP_OK && n) st = ljpi_u32_array(r, &under, n);
  if (st != LJP_OK) return st;
  for (i = 0; i < n; i++) under[i] = (uint32_t)i;
  ljpi_sort(under, r->index_tmp, n, ljpi_cmp_under, r);
  ljpi_put_events(r, 0, "ALLOCATIONS", under, repeats);
  ljpi_put_events(r, 2, "REALLOCATIONS", under, repeats);
  ljpi_put_events(r, 1, "DEALLOCATIONS", under, repeats);
  ljpi_free_array(&r->mem, under, n, sizeof(*under));
  return LJP_OK;
}

/* What is held, most first. */
static ljp_status ljpi_put_held(ljpi_report *r)
{
  size_t i, n = 0;
  ljp_status st = ljpi_want_index(r, r->line_count);
  if (st != LJP_OK) return st;
  ljpi_puts(&r->out, "HEAP SUMMARY:\n");
  for (i = 0; i < r->line_count; i++) {
    ljpi_line *line = &r->line[i];
    if (line->plus <= line->minus) continue;
    r->index[n++] = (uint32_t)i;
    line->weight = r->o.sort == LJP_SORT_EVENTS ? line->count
                   : r->o.sort == LJP_SORT_NAME ? 0
                                                : line->plus - line->minus;
  }
  ljpi_sort(r->index, r->index_tmp, n, ljpi_cmp_line, r);
  for (i = 0; i < ljpi_limited(r, n); i++) {
    const ljpi_line *line = &r->line[r->index[i]];
    ljpi_put_rank(r, line->label);
    ljpi_puts(&r->out, " holds ");
    ljpi_put_size(&r->out, line->plus - line->minus);
    ljpi_puts(&r->out, ": ");
    ljpi_put_u64(&r->out, line->count);
    ljpi_puts(&r->out, " allocs, ");
    ljpi_put_u64(&r->out, line->frees);
    ljpi_puts(&r->out, " frees\n");
  }
  ljpi_put_rest(r, n);
  ljpi_puts(&r->out, "\n");
  return LJP_OK;
}

/* A chunk's source, line by line, empty ones dropped. */
static void ljpi_put_source(ljpi_out *o, const char *p, size_t size)
{
  uint64_t number = 0;
  while (size) {
    const char *end = (const char *)memchr(p, '\n', size);
    size_t n = end ? (size_t)(end - p) : size;
    if (n) {
      ljpi_put_u64(o, ++number);
      ljpi_puts(o, "\t| ");
      ljpi_put_name(o, p, n);
      ljpi_puts(o, "\n");
    }
    n += end != NULL;
    p += n;
    size -= n;
  }
}

static void ljpi_put_aliases(ljpi_report *r)
{
  const ljp_symbols *s = r->a->symbols;
  size_t i, size;
  if (s->alias_count == 0) return;
  ljpi_puts(&r->out, "ALIASES:\n");
  for (i = 0; i < s->alias_count; i++) {
    const char *p = ljp_symbols_string(s, s->aliases[i], &size);
    ljpi_puts(&r->out, "function_alias_");
    ljpi_put_u64(&r->out, i + 1);
    ljpi_puts(&r->out, ":\n");
    ljpi_put_source(&r->out, p, size);
    ljpi_puts(&r->out, "\n\n");
  }
}

/* - Lines of the true model: one a label - */

/* The line of a label; made if need be. r->tmp has lines + 1 by rank. */
static ljp_status ljpi_line_of(ljpi_report *r, uint32_t label, uint32_t kind,
                               ljpi_line **line)
{
  uint32_t rank = r->rank[label];
  ljp_status st;
  if (r->tmp[rank]) {
    *line = &r->line[r->tmp[rank] - 1];
    return LJP_OK;
  }
  st = ljpi_new_line(r, rank, kind, line);
  if (st == LJP_OK) r->tmp[rank] = (uint32_t)r->line_count;
  return st;
}

static void ljpi_fresh_lines(ljpi_report *r)
{
  if (r->label_count) memset(r->tmp, 0, r->label_count * sizeof(*r->tmp));
}

static ljp_status ljpi_true_kind(ljpi_report *r, uint32_t kind)
{
  const ljp_aggregate *a = r->a;
  size_t i;
  ljpi_line *line;
  ljp_status st = LJP_OK;
  ljpi_fresh_lines(r);
  for (i = 0; i < a->sum_count && st == LJP_OK; i++) {
    const ljpi_sums *s = &a->sum[i];
    const ljpi_rare *rare = &a->rare[i];
    uint64_t count = kind == 0 ? s->alloc_count
                     : kind == 1 ? rare->free_count : rare->realloc_count;
    if (count == 0) continue;
    st = ljpi_line_of(r, a->place[i].label, kind, &line);
    if (st != LJP_OK) break;
    ljpi_add(&line->count, count);
    ljpi_add(&line->plus, kind == 0 ? s->alloc_size
                          : kind == 1 ? 0 : rare->realloc_new_size);
    ljpi_add(&line->minus, kind == 0 ? 0
                           : kind == 1 ? rare->free_size
                                       : rare->realloc_old_size);
  }
  for (i = 0; i < a->pair_count && st == LJP_OK; i++) {
    const ljpi_pair *pair = &a->pair[i];
    if (pair->kind + 1 != kind) continue;
    st = ljpi_line_of(r, a->place[pair->by].label, kind, &line);
    if (st == LJP_OK)
      st = ljpi_new_under(r, (uint32_t)(line - r->line),
                          r->rank[a->place[pair->owner].label]);
  }
  return st;
}

static ljp_status ljpi_true_lines(ljpi_report *r)
{
  uint32_t kind;
  ljp_status st = LJP_OK;
  for (kind = 0; kind < 3 && st == LJP_OK; kind++)
    st = ljpi_true_kind(r, kind);
  return st;
}

static ljp_status ljpi_true_held(ljpi_report *r)
{
  const ljp_aggregate *a = r->a;
  size_t i;
  ljp_status st = LJP_OK;
  r->line_count = 0;
  ljpi_fresh_lines(r);
  for (i = 0; i < a->sum_count && st == LJP_OK; i++) {
    ljp_site s;
    ljpi_line *line;
    ljp_aggregate_site(a, i, &s);
    if (s.taken_count == 0) continue;
    st = ljpi_line_of(r, s.label, 0, &line);
    if (st != LJP_OK) break;
    ljpi_add(&line->plus, s.live_size);
    ljpi_add(&line->count, s.taken_count);
    ljpi_add(&line->frees, s.given_count);
  }
  return st;
}

/* - Lines of the classic model: one a location - */

static ljp_status ljpi_classic_lines(ljpi_report *r)
{
  const ljp_aggregate *a = r->a;
  size_t i;
  ljp_status st = LJP_OK;
  for (i = 0; i < a->row_count && st == LJP_OK; i++) {
    const ljpi_row *row = &a->row[i];
    ljpi_line *line;
    st = ljpi_new_line(r, r->rank[row->label], row->kind, &line);
    if (st != LJP_OK) break;
    line->count = row->count;
    line->plus = row->plus;
    line->minus = row->minus;
  }
  for (i = 0; i < a->over_count && st == LJP_OK; i++)
    st = ljpi_new_under(r, a->over[i].row, r->rank[a->over[i].label]);
  return st;
}

static ljp_status ljpi_classic_held(ljpi_report *r)
{
  const ljp_aggregate *a = r->a;
  ljpi_line *line;
  size_t i;
  ljp_status st = LJP_OK;
  r->line_count = 0;
  ljpi_fresh_lines(r);
  for (i = 0; i < a->row_count && st == LJP_OK; i++) {
    const ljpi_row *row = &a->row[i];
    if (row->kind != 0 || row->plus == 0) continue;
    st = ljpi_line_of(r, row->label, 0, &line);
    if (st != LJP_OK) break;
    ljpi_add(&line->plus, row->plus);
    ljpi_add(&line->count, row->count);
  }
  for (i = 0; i < a->over_count && st == LJP_OK; i++) {
    const ljpi_over *over = &a->over[i];
    st = ljpi_line_of(r, over->label, 0, &line);
    if (st != LJP_OK) break;
    ljpi_add(&line->plus, over->plus);
    if (over->plus) ljpi_add(&line->count, over->count);
    ljpi_add(&line->minus, over->minus);
    if (over->minus) ljpi_add(&line->frees, over->count);
  }
  return st;
}

/* - Totals - */

static void ljpi_put_total(ljpi_report *r, const char *what, uint64_t count,
                           const char *unit, uint64_t size)
{
  ljpi_puts(&r->out, what);
  ljpi_put_u64(&r->out, count);
  ljpi_puts(&r->out, unit);
  ljpi_put_size(&r->out, size);
  ljpi_puts(&r->out, "\n");
}

/* A line that stands only where there is something to say. */
static void ljpi_put_if(ljpi_report *r, const char *what, uint64_t count)
{
  if (count == 0) return;
  ljpi_puts(&r->out, what);
  ljpi_put_u64(&r->out, count);
  ljpi_puts(&r->out, "\n");
}

/* What numbers of samples are worth. */
static void ljpi_put_samples(ljpi_report *r, const ljp_totals *t)
{
  if (t->sampled_count == 0) return;
  ljpi_puts(&r->out, "samples: ");
  ljpi_put_u64(&r->out, t->sampled_count);
  ljpi_puts(&r->out, "; numbers are scaled up from them, allocations +-");
  ljpi_put_size(&r->out, t->alloc_error);
  ljpi_puts(&r->out, ", held at the end +-");
  ljpi_put_size(&r->out, t->live_error);
  ljpi_puts(&r->out, " (95 in 100)\n");
}

static void ljpi_put_totals(ljpi_report *r, const ljp_error *e)
{
  ljp_totals total;
  const ljp_totals *t = &total;
  char buf[160];
  ljp_aggregate_totals(r->a, &total);
  ljpi_puts(&r->out, "TOTALS:\n");
  ljpi_puts(&r->out, "events: ");
  ljpi_put_u64(&r->out, t->events);
  ljpi_puts(&r->out, "\n");
  ljpi_put_total(r, "allocations: ", t->alloc_count, ", +", t->alloc_size);
  ljpi_puts(&r->out, "reallocations: ");
  ljpi_put_u64(&r->out, t->realloc_count);
  ljpi_puts(&r->out, ", +");
  ljpi_put_size(&r->out, t->realloc_new_size);
  ljpi_puts(&r->out, ", -");
  ljpi_put_size(&r->out, t->realloc_old_size);
  ljpi_puts(&r->out, "\n");
  ljpi_put_total(r, "deallocations: ", t->free_count, ", -", t->free_size);
  ljpi_put_total(r, "held at the end: ", t->live_count, " blocks, ",
                 t->live_size);
  ljpi_put_total(r, "held at the most: ", t->peak_count, " blocks, ",
                 t->peak_size);
  if (r->a->extra.within)
    snprintf(buf, sizeof(buf), "freed within %u allocations: ",
             r->a->extra.within);
  else
    snprintf(buf, sizeof(buf), "freed by the next event: ");
  ljpi_put_total(r, buf, t->temp_count, " blocks, ",
                 t->temp_size);
  ljpi_put_total(r, "from before the start: ", t->before_count, " blocks, ",
                 t->before_size);
  ljpi_put_if(r, "failed calls: ", t->failed_count);
  ljpi_put_if(r, "anomaly, allocated while live: ", t->again_count);
  ljpi_put_if(r, "anomaly, old size differs: ", t->size_count);
  ljpi_put_if(r, "frees of address 0, left out: ", t->null_free_count);
  ljpi_put_if(r, "stray records, read as C symbols: ", t->stray_count);
  ljpi_put_samples(r, t);
  if (e && e->status != LJP_OK) {
    ljpi_puts(&r->out, "incomplete: ");
    ljpi_puts(&r->out, ljp_error_text(e, buf, sizeof(buf)));
    ljpi_puts(&r->out, "\n");
  }
  ljpi_puts(&r->out, "covered: blocks of the VM's allocator; not machine "
            "code, callback pages, ffi.C.malloc, slack of its arena\n\n");
}

/* - JSON - */

/* Sums of one label. */
typedef struct ljpi_jrow {
  ljp_site s;
  uint32_t label;         /* Rank. */
} ljpi_jrow;

static void ljpi_put_field(ljpi_out *o, const char *key, uint64_t v)
{
  ljpi_puts(o, ", \"");
  ljpi_puts(o, key);
  ljpi_puts(o, "\": ");
  ljpi_put_u64(o, v);
}

static void ljpi_put_json_rank(ljpi_report *r, uint32_t rank)
{
  ljpi_text t;
  int i;
  ljpi_rank_text(r, rank, &t);
  ljpi_puts(&r->out, "\"");
  for (i = 0; i < 3; i++)
    ljpi_put_json_name(&r->out, t.part[i], t.size[i]);
  ljpi_puts(&r->out, "\"");
}

static const char *ljpi_json_kind(const ljp_label *l)
{
  if (l->trace_kind || l->kind == LJP_LABEL_UNKNOWN_TRACE) return "trace";
  switch (l->kind) {
  case LJP_LABEL_LUA: case LJP_LABEL_LFUNC: return "lua";
  case LJP_LABEL_CSYM: case LJP_LABEL_NEAR: case LJP_LABEL_CFUNC:
  case LJP_LABEL_MODULE: case LJP_LABEL_BUILTIN: return "c";
  case LJP_LABEL_INTERNAL: case LJP_LABEL_STATE: return "internal";
  case LJP_LABEL_FUNCTION: return "function";
  case LJP_LABEL_FILE: return "file";
  case LJP_LABEL_DIR: return "dir";
  case LJP_LABEL_OTHER: return "other";
  default: return "missing";
  }
}

/* What a row is. */
static void ljpi_put_json_label(ljpi_report *r, uint32_t rank)
{
  const ljp_label *l = ljpi_shown(r, r->order[rank]);
  ljpi_out *o = &r->out;
  size_t size;
  const char *p = ljp_symbols_string(r->a->symbols, l->name, &size);
  ljpi_puts(o, "\"label\": ");
  ljpi_put_json_rank(r, rank);
  ljpi_puts(o, ", \"kind\": \"");
  ljpi_puts(o, ljpi_json_kind(l));
  ljpi_puts(o, "\", \"name\": ");
  if (l->name) {
    if (l->kind == LJP_LABEL_DIR) size = (size_t)l->value;
    ljpi_puts(o, "\"");
    ljpi_put_json_name(o, p, size);
    ljpi_puts(o, "\"");
  } else {
    ljpi_puts(o, "null");
  }
  if (l->kind == LJP_LABEL_LUA || l->kind == LJP_LABEL_FUNCTION)
    ljpi_put_field(o, "line", l->value);
  else if (l->kind == LJP_LABEL_LFUNC)
    ljpi_put_field(o, "line", l->line);
  else
    ljpi_puts(o, ", \"line\": null");
  if (l->trace_kind) ljpi_put_field(o, "trace", l->trace);
  else ljpi_puts(o, ", \"trace\": null");
}

static void ljpi_put_json_sums(ljpi_out *o, const ljp_site *s)
{
  ljpi_put_field(o, "alloc_count", s->alloc_count);
  ljpi_put_field(o, "alloc_bytes", s->alloc_size);
  ljpi_put_field(o, "realloc_count", s->realloc_count);
  ljpi_put_field(o, "realloc_new_bytes", s->realloc_new_size);
  ljpi_put_field(o, "realloc_old_bytes", s->realloc_old_size);
  ljpi_put_field(o, "free_count", s->free_count);
  ljpi_put_field(o, "free_bytes", s->free_size);
  ljpi_put_field(o, "failed_count", s->failed_count);
  ljpi_put_field(o, "live_count", s->live_count);
  ljpi_put_field(o, "live_bytes", s->live_size);
  ljpi_put_field(o, "taken_count", s->taken_count);
  ljpi_put_field(o, "given_count", s->given_count);
  ljpi_put_field(o, "peak_count", s->peak_count);
  ljpi_put_field(o, "peak_bytes", s->peak_size);
  ljpi_put_field(o, "temp_count", s->temp_count);
  ljpi_put_field(o, "temp_bytes", s->temp_size);
  ljpi_put_field(o, "alloc_error", s->alloc_error);
  ljpi_put_field(o, "live_error", s->live_error);
}

static void ljpi_put_json_totals(ljpi_report *r)
{
  ljpi_out *o = &r->out;
  ljp_totals t;
  ljp_aggregate_totals(r->a, &t);
  ljpi_puts(o, "\"totals\": {\"events\": ");
  ljpi_put_u64(o, t.events);
  ljpi_put_field(o, "alloc_count", t.alloc_count);
  ljpi_put_field(o, "alloc_bytes", t.alloc_size);
  ljpi_put_field(o, "realloc_count", t.realloc_count);
  ljpi_put_field(o, "realloc_new_bytes", t.realloc_new_size);
  ljpi_put_field(o, "realloc_old_bytes", t.realloc_old_size);
  ljpi_put_field(o, "free_count", t.free_count);
  ljpi_put_field(o, "free_bytes", t.free_size);
  ljpi_put_field(o, "failed_count", t.failed_count);
  ljpi_put_field(o, "live_count", t.live_count);
  ljpi_put_field(o, "live_bytes", t.live_size);
  ljpi_put_field(o, "peak_count", t.peak_count);
  ljpi_put_field(o, "peak_bytes", t.peak_size);
  ljpi_put_field(o, "peak_event", t.peak_event);
  ljpi_put_field(o, "temp_count", t.temp_count);
  ljpi_put_field(o, "temp_bytes", t.temp_size);
  ljpi_put_field(o, "before_count", t.before_count);
  ljpi_put_field(o, "before_bytes", t.before_size);
  ljpi_put_field(o, "again_count", t.again_count);
  ljpi_put_field(o, "size_count", t.size_count);
  ljpi_put_field(o, "null_free_count", t.null_free_count);
  ljpi_put_field(o, "stray_count", t.stray_count);
  ljpi_put_field(o, "sampled_count", t.sampled_count);
  ljpi_put_field(o, "alloc_error", t.alloc_error);
  ljpi_put_field(o, "live_error", t.live_error);
  ljpi_puts(o, "},\n");
}

static void ljpi_put_json_head(ljpi_report *r, const ljp_error *e)
{
  static const char *const by[] = {"line", "function", "file", "dir"};
  ljpi_out *o = &r->out;
  char text[160];
  ljpi_puts(o, "{\"schema\": \"ljparse-report-1\", \"by\": \"");
  ljpi_puts(o, by[r->o.by]);
  if (!e || e->status == LJP_OK) {
    ljpi_puts(o, "\",\n\"complete\": true, \"error\": null,\n");
  } else {
    ljpi_puts(o, "\",\n\"complete\": false, \"error\": {\"status\": \"");
    ljpi_puts(o, ljp_status_text(e->status));
    ljpi_puts(o, "\"");
    ljpi_put_field(o, "offset", e->off);
    ljpi_put_field(o, "record", e->record_off);
    ljpi_puts(o, ", \"message\": \"");
    ljpi_puts(o, ljp_error_text(e, text, sizeof(text)));
    ljpi_puts(o, "\"},\n");
  }
  ljpi_put_json_totals(r);
}

/* Errors of samples of several sites. */
static void ljpi_add_error(uint64_t *to, uint64_t error)
{
  double a = (double)*to, b = (double)error;
  if (*to && error) *to = ljpi_error_of((a * a + b * b) / 4);
  else *to |= error;
}

static void ljpi_sum_site(ljp_site *to, const ljp_site *s)
{
  ljpi_add_error(&to->alloc_error, s->alloc_error);
  ljpi_add_error(&to->live_error, s->live_error);

  to->alloc_count += s->alloc_count;
  ljpi_add(&to->alloc_size, s->alloc_size);
  to->realloc_count += s->realloc_count;
  ljpi_add(&to->realloc_new_size, s->realloc_new_size);
  ljpi_add(&to->realloc_old_size, s->realloc_old_size);
  to->free_count += s->free_count;
  ljpi_add(&to->free_size, s->free_size);
  to->failed_count += s->failed_count;
  to->live_count += s->live_count;
  ljpi_add(&to->live_size, s->live_size);
  to->taken_count += s->taken_count;
  to->given_count += s->given_count;
  to->peak_count += s->peak_count;
  ljpi_add(&to->peak_size, s->peak_size);
  to->temp_count += s->temp_count;
  ljpi_add(&to->temp_size, s->temp_size);
}

/* The labels among sorted unders of one line and kind. */
static void ljpi_put_json_unders(ljpi_report *r, const char *key,
                                 const uint32_t *under, uint32_t line)
{
  size_t i, n = 0;
  ljpi_puts(&r->out, key);
  if (under) {
    i = ljpi_under_at(r, under, r->under_count, line);
    for (; i < r->under_count && r->under[under[i]].line == line; i++) {
      uint32_t rank = r->under[under[i]].label;
      if (n && r->under[under[i - 1]].label == rank) continue;
      if (n++) ljpi_puts(&r->out, ", ");
      ljpi_put_json_rank(r, rank);
    }
  }
  ljpi_puts(&r->out, "]");
}

/* Rows in r->index, by weight; then what is left out. */
static void ljpi_put_json_rows(ljpi_report *r, const ljpi_jrow *row,
                               size_t count, const uint32_t *under)
{
  ljpi_out *o = &r->out;
  size_t i, n = ljpi_limited(r, count);
  ljpi_puts(o, "\"rows\": [");
  for (i = 0; i < n; i++) {
    uint32_t at = r->index[i];
    ljpi_puts(o, i ? ",\n{" : "\n{");
    ljpi_put_json_label(r, row[at].label);
    ljpi_put_json_sums(o, &row[at].s);
    ljpi_put_json_unders(r, ",\n \"frees\": [", under, at * 2);
    ljpi_put_json_unders(r, ", \"moves\": [", under, at * 2 + 1);
    ljpi_puts(o, "}");
  }
  ljpi_puts(o, "\n],\n\"rows_left_out\": ");
  ljpi_put_u64(o, count - n);
  ljpi_puts(o, "}\n");
}

/* Fills rows, one a label, and unders. */
static ljp_status ljpi_json_rows(ljpi_report *r, ljpi_jrow *row)
{
  const ljp_aggregate *a = r->a;
  ljpi_line *line;
  size_t i;
  ljp_status st = LJP_OK;
  ljpi_fresh_lines(r);
  for (i = 0; i < a->sum_count && st == LJP_OK; i++) {
    ljp_site s;
    ljp_aggregate_site(a, i, &s);
    st = ljpi_line_of(r, s.label, 0, &line);
    if (st != LJP_OK) break;
    row[line - r->line].label = line->label;
    ljpi_sum_site(&row[line - r->line].s, &s);
  }
  for (i = 0; i < a->pair_count && st == LJP_OK; i++) {
    const ljpi_pair *pair = &a->pair[i];
    uint32_t at = r->tmp[r->rank[a->place[pair->by].label]] - 1;
    st = ljpi_new_under(r, at * 2 + pair->kind,
                        r->rank[a->place[pair->owner].label]);
  }
  return st;
}

/* Orders the rows that are shown in r->index. Returns their number. */
static size_t ljpi_json_order(ljpi_report *r, const ljpi_jrow *row)
{
  size_t i, n = 0;
  for (i = 0; i < r->line_count; i++) {
    const ljp_site *s = &row[i].s;
    r->line[i].weight = r->o.sort == LJP_SORT_NAME ? 0
                        : r->o.sort == LJP_SORT_EVENTS ? s->taken_count
                                                       : s->alloc_size;
    if (!r->o.leak_only || s->live_size) r->index[n++] = (uint32_t)i;
  }
  ljpi_sort(r->index, r->index_tmp, n, ljpi_cmp_line, r);
  if (r->o.sort == LJP_SORT_NAME || r->o.sort == LJP_SORT_EVENTS) return n;
  /* By what is held before all else: the order so far decides among equals. */
  for (i = 0; i < r->line_count; i++) {
    r->line[i].weight = row[i].s.live_size;
    r->line[i].label = 0;
  }
  ljpi_sort(r->index, r->index_tmp, n, ljpi_cmp_line, r);
  return n;
}

/* Unders in order. */
static ljp_status ljpi_json_unders(ljpi_report *r, uint32_t **under)
{
  size_t n = r->under_count, i;
  ljp_status st = ljpi_want_index(r, n > r->line_count ? n : r->line_count);
  if (st == LJP_OK && n) st = ljpi_u32_array(r, under, n);
  if (st != LJP_OK || n == 0) return st;
  for (i = 0; i < n; i++) (*under)[i] = (uint32_t)i;
  ljpi_sort(*under, r->index_tmp, n, ljpi_cmp_under, r);
  return LJP_OK;
}

static ljp_status ljpi_put_json_report(ljpi_report *r, const ljp_error *e)
{
  size_t n = r->a->sum_count;
  uint32_t *under = NULL;
  ljpi_jrow *row = NULL;
  void *p = NULL;
  ljp_status st = LJP_OK;
  if (n) st = ljpi_alloc_array(&r->mem, &p, n, sizeof(*row));
  if (st != LJP_OK) return st;
  row = (ljpi_jrow *)p;
  if (n) memset(row, 0, n * sizeof(*row));
  st = ljpi_json_rows(r, row);
  if (st == LJP_OK) st = ljpi_json_unders(r, &under);
  if (st == LJP_OK) {
    n = ljpi_json_order(r, row);
    ljpi_put_json_head(r, e);
    ljpi_put_json_rows(r, row, n, under);
  }
  ljpi_free_array(&r->mem, under, r->under_count, sizeof(*under));
  ljpi_free_array(&r->mem, row, r->a->sum_count, sizeof(*row));
  return st;
}

/* - Entry - */

static ljp_status ljpi_put_text_report(ljpi_report *r, int classic,
                                       const ljp_error *e)
{
  ljp_status st = LJP_OK;
  if (!r->o.leak_only) {
    st = classic ? ljpi_classic_lines(r) : ljpi_true_lines(r);
    if (st == LJP_OK) st = ljpi_put_all_events(r, classic);
  }
  if (st == LJP_OK) st = classic ? ljpi_classic_held(r) : ljpi_true_held(r);
  if (st == LJP_OK) st = ljpi_put_held(r);
  if (st != LJP_OK) return st;
  ljpi_put_aliases(r);
  if (!classic) ljpi_put_totals(r, e);
  return st;
}

static ljp_status ljpi_put_report(ljpi_report *r, ljp_format format,
                                  const ljp_error *e)
{
  ljp_status st = ljpi_rank_labels(r);
  if (st == LJP_OK)
    st = format == LJP_JSON ? ljpi_put_json_report(r, e)
         : ljpi_put_text_report(r, format == LJP_CLASSIC, e);
  if (st != LJP_OK) return st;
  ljpi_out_flush(&r->out);
  return r->out.failed ? LJP_E_IO : LJP_OK;
}

static ljp_status ljpi_report_with(const ljp_aggregate *a, ljp_format format,
                                   const ljp_report_options *options,
                                   const ljp_error *e, ljp_write write,
                                   void *user)
{
  ljpi_report r;
  ljp_status st;
  if (!write || (format == LJP_CLASSIC) != (a->model == LJP_MODEL_CLASSIC) ||
      (unsigned)format > LJP_JSON ||
      (options && ((unsigned)options->by > LJP_BY_DIR ||
                   (unsigned)options->sort > LJP_SORT_NAME)))
    return LJP_E_ARG;
  memset(&r, 0, sizeof(r));
  /* A report can be had after the limit was reached, too. */
  r.mem.a = a->mem->a;
  r.mem.limit = LJP_UNLIMITED;
  r.shown.mem = &r.mem;
  r.a = a;
  r.out.write = write;
  r.out.user = user;
  if (options) r.o = *options;
  r.out.human = r.o.human_readable;
  r.out.escape = format != LJP_CLASSIC;
  r.name_max = ljpi_name_max(a);
  st = ljpi_put_report(&r, format, e);
  ljpi_report_clear(&r);
  return st;
}

LJP_API ljp_status ljp_report(const ljp_aggregate *a, ljp_format format,
                              const ljp_report_options *options,
                              ljp_write write, void *user)
{
  return ljpi_report_with(a, format, options, NULL, write, user);
}

/* - All in one - */

#define LJPI_MARKS 512u
#define LJPI_MARKS_TELL 4u /* Fewer make no timeline by time. */
#define LJPI_METAS 32u
#define LJPI_OBJECTS 18u

/* A mark of format 4, with what was live then. */
typedef struct ljpi_mark4 {
  uint64_t event, label, time, live_size, gc_total, gc_threshold, rss;
} ljpi_mark4;

/* What a format 4 stream says beside events and names. */
typedef struct ljpi_story {
  uint32_t meta[LJPI_METAS][2];   /* Keys and values: the symbols' strings. */
  size_t meta_count;
  ljpi_mark4 mark[LJPI_MARKS];    /* Thinned out like the timeline. */
  size_t mark_count;
  uint64_t mark_seen, mark_step;
  ljpi_mark4 *named;              /* Those with a label, all. */
  size_t named_cap, named_count;
  uint64_t kind_count[LJPI_OBJECTS], kind_size[LJPI_OBJECTS];
  uint64_t live_count;            /* Blocks whose kind was told at the end. */
  uint64_t dropped_events, dropped_size;
  uint64_t damages, lost_size, lost_events, lost_blocks;
  uint64_t final[LJP_FMT_END_COUNT];
  int ended;
} ljpi_story;

struct ljp_profile {
  ljpi_mem mem;
  ljp_decoder decoder;
  ljp_symbols symbols;
  ljp_aggregate aggregate;
  uint64_t seen, from, to; /* Events so far; the window, to 0: no end. */
  ljp_options window;      /* Of which only from_ and to_ are used. */
  ljpi_story run;
};

/* Leaves of a batch what lies in the window: `count` events from *first. */
static size_t ljpi_window(ljp_profile *p, size_t count, size_t *first)
{
  uint64_t before = p->seen;
  p->seen += count;
  *first = 0;
  if (p->to && p->to < p->seen)
    count = p->to > before ? (size_t)(p->to - before) : 0;
  if (p->from > 0 && p->from - 1 > before)
    *first = p->from - 1 - before < count ? (size_t)(p->from - 1 - before)
                                          : count;
  return count - *first;
}

static ljp_status ljpi_profile_events(void *user, const ljp_event *events,
                                      size_t count, size_t *failed)
{
  ljp_profile *p = (ljp_profile *)user;
  size_t first, n = ljpi_window(p, count, &first);
  ljp_status st = ljp_aggregate_events(&p->aggregate, events + first, n,
                                       failed);
  if (st != LJP_OK) *failed += first;
  if (st == LJP_E_LIMIT) p->decoder.err.limit = p->mem.hit;
  return st;
}

/* Whether a mark is the one that a window's end asks for. */
static int ljpi_mark_is(const ljp_profile *p, const ljp_record *r,
                        const char *label, uint64_t time)
{
  size_t size;
  const char *text;
  if (time && r->n[2] >= time) return 1;
  if (!label) return 0;
  text = ljp_symbols_string(&p->symbols, ljpi_string4(&p->symbols, r->n[1]),
                            &size);
  return size == strlen(label) && memcmp(text, label, size) == 0;
}

static void ljpi_window_mark(ljp_profile *p, const ljp_record *r)
{
  if (p->from == UINT64_MAX &&
      ljpi_mark_is(p, r, p->window.from_mark, p->window.from_time))
    p->from = p->seen + 1;
  if (p->to == 0 && p->from <= p->seen &&
      ljpi_mark_is(p, r, p->window.to_mark, p->window.to_time))
    p->to = p->seen;
}

static ljp_status ljpi_run_mark(ljp_profile *p, const ljp_record *r)
{
  ljpi_story *run = &p->run;
  void *q = run->named;
  size_t i;
  ljpi_mark4 m;
  ljp_status st;
  ljpi_window_mark(p, r);
  m.event = p->aggregate.totals.events;
  m.live_size = p->aggregate.totals.live_size;
  m.label = r->n[1];
  m.time = r->n[2];
  m.gc_total = r->n[3];
  m.gc_threshold = r->n[4];
  m.rss = r->n[5];
  if (m.label) {
    st = ljpi_grow(&p->mem, &q, &run->named_cap, run->named_count + 1,
                   sizeof(m));
    run->named = (ljpi_mark4 *)q;
    if (st != LJP_OK) return st;
    run->named[run->named_count++] = m;
  }
  if (run->mark_step == 0) run->mark_step = 1;
  if (run->mark_seen++ % run->mark_step) return LJP_OK;
  if (run->mark_count == LJPI_MARKS) {
    for (i = 0; i < LJPI_MARKS / 2; i++) run->mark[i] = run->mark[2 * i];
    run->mark_count = LJPI_MARKS / 2;
    run->mark_step *= 2;
  }
  run->mark[run->mark_count++] = m;
  return LJP_OK;
}

static ljp_status ljpi_run_meta(ljp_profile *p, const ljp_record *r)
{
  ljpi_story *run = &p->run;
  uint32_t key, value;
  size_t i;
  ljp_status st = ljpi_intern(&p->symbols.strings, r->name, r->name_size,
                              &key);
  if (st == LJP_OK)
    st = ljpi_intern(&p->symbols.strings, r->text, r->text_size, &value);
  if (st != LJP_OK) return st;
  for (i = 0; i < run->meta_count; i++)
    if (run->meta[i][0] == key) return LJP_OK;
  if (i == LJPI_METAS) return LJP_OK;
  run->meta[i][0] = key;
  run->meta[i][1] = value;
  run->meta_count++;
  return LJP_OK;
}

/* Keeps what a record says beside names. */
static ljp_status ljpi_run_record(ljp_profile *p, const ljp_record *r)
{
  ljpi_story *run = &p->run;
  ljp_block b;
  switch (r->kind) {
  case LJP_RECORD_META: return ljpi_run_meta(p, r);
  case LJP_RECORD_MARK: return ljpi_run_mark(p, r);
  case LJP_RECORD_LIVE:
    if (!ljp_aggregate_find(&p->aggregate, r->addr, &b)) return LJP_OK;
    run->live_count++;
    ljpi_add(&run->kind_count[r->n[0]], 1);
    ljpi_add(&run->kind_size[r->n[0]], b.size);
    return LJP_OK;
  case LJP_RECORD_DROPPED:
    ljpi_add(&run->dropped_events, r->n[0]);
    ljpi_add(&run->dropped_size, r->n[1]);
    return LJP_OK;
  case LJP_RECORD_DAMAGE:
    ljpi_add(&run->damages, 1);
    ljpi_add(&run->lost_size, r->size);
    ljpi_add(&run->lost_events, r->n[0]);
    ljpi_add(&run->lost_blocks, r->n[1]);
    return LJP_OK;
  case LJP_RECORD_FINAL:
    memcpy(run->final, r->n, sizeof(run->final));
    run->ended = 1;
    return LJP_OK;
  default:
    return LJP_OK;
  }
}

static ljp_status ljpi_profile_record(void *user, const ljp_record *record)
{
  ljp_profile *p = (ljp_profile *)user;
  ljp_status st = ljp_symbols_define(&p->symbols, record);
  if (st == LJP_OK) st = ljpi_run_record(p, record);
  if (record->kind == LJP_RECORD_STRAY) p->aggregate.totals.stray_count++;
  if (st == LJP_E_LIMIT) p->decoder.err.limit = p->mem.hit;
  return st;
}

LJP_API ljp_status ljp_profile_new(ljp_profile **out,
                                   const ljp_options *options)
{
  ljpi_mem mem;
  ljp_handler handler;
  void *p = NULL;
  ljp_status st;
  if (!out) return LJP_E_ARG;
  *out = NULL;
  st = ljpi_new_object(&mem, options, &p, sizeof(ljp_profile));
  if (st != LJP_OK) return st;
  *out = (ljp_profile *)p;
  (*out)->mem = mem;
  handler.on_events = ljpi_profile_events;
  handler.on_record = ljpi_profile_record;
  handler.user = *out;
  if (options) (*out)->window = *options;
  (*out)->from = (*out)->window.from_event;
  (*out)->to = (*out)->window.to_event;
  if ((*out)->window.from_time || (*out)->window.from_mark)
    (*out)->from = UINT64_MAX;
  ljpi_decoder_init(&(*out)->decoder, &(*out)->mem, &handler, options);
  ljpi_symbols_init(&(*out)->symbols, &(*out)->mem, options);
  st = ljpi_aggregate_init(&(*out)->aggregate, &(*out)->mem,
                           &(*out)->symbols, options);
  if (st == LJP_OK) return st;
  ljp_profile_free(*out);
  *out = NULL;
  return st;
}

LJP_API void ljp_profile_free(ljp_profile *p)
{
  ljpi_mem mem;
  if (!p) return;
  ljpi_decoder_clear(&p->decoder);
  ljpi_aggregate_clear(&p->aggregate);
  ljpi_symbols_clear(&p->symbols);
  ljpi_free_array(&p->mem, p->run.named, p->run.named_cap,
                  sizeof(*p->run.named));
  mem = p->mem;
  ljpi_free_array(&mem, p, 1, sizeof(*p));
}

LJP_API ljp_status ljp_profile_feed(ljp_profile *p, const void *data,
                                    size_t size)
{
  return ljp_decoder_feed(&p->decoder, data, size);
}

LJP_API ljp_status ljp_profile_finish(ljp_profile *p)
{
  return ljp_decoder_finish(&p->decoder);
}

LJP_API const ljp_error *ljp_profile_error(const ljp_profile *p)
{
  return &p->decoder.err;
}

LJP_API const ljp_aggregate *ljp_profile_aggregate(const ljp_profile *p)
{
  return &p->aggregate;
}

LJP_API const ljp_symbols *ljp_profile_symbols(const ljp_profile *p)
{
  return &p->symbols;
}

LJP_API int ljp_profile_window_ended(const ljp_profile *p)
{
  const ljp_options *o = &p->window;
  if (!o->to_event && !o->to_time && !o->to_mark) return 1;
  return p->to != 0 && p->seen >= p->to;
}

LJP_API uint64_t ljp_profile_peak(const ljp_profile *p)
{
  return p->mem.peak;
}

LJP_API ljp_status ljp_profile_report(ljp_profile *p, ljp_format format,
                                      const ljp_report_options *options,
                                      ljp_write write, void *user)
{
  return ljpi_report_with(&p->aggregate, format, options, &p->decoder.err,
                          write, user);
}

/* -- Call trees --------------------------------------------------------- */

#define LJPI_TREE_NAME 400u /* Bytes kept of a name that is longer. */

typedef struct ljpi_module {
  uint32_t path, build_id;
  uint64_t base, size;
} ljpi_module;

typedef struct ljpi_mark {
  uint64_t at;
  uint32_t text;
} ljpi_mark;

/* What is said around the numbers. */
typedef enum ljpi_word_kind {
  LJPI_FACT, LJPI_TOTAL_COUNT, LJPI_TOTAL_SIZE, LJPI_KIND, LJPI_LIFE,
  LJPI_NOTE, LJPI_WARNING
} ljpi_word_kind;

typedef struct ljpi_word {
  ljpi_word_kind kind;
  uint32_t label, text;
  uint64_t n, count;
} ljpi_word;

struct ljp_tree {
  ljpi_mem mem;
  ljp_status status;
  ljpi_strings strings;
  ljpi_strings keys;      /* What tells places apart, as bytes. */
  ljp_place *place;       /* By number - 1. */
  size_t place_cap, place_count;
  ljpi_map index;         /* (parent, place) to path. */
  ljp_path *path;
  size_t path_cap, path_count;
  uint64_t *old;          /* Comparison: LJP_METRIC_COUNT a path. */
  size_t old_cap;
  uint64_t *line;         /* Sums by place, from before it was pruned. */
  size_t line_cap;
  ljpi_module *module;
  size_t module_cap, module_count;
  ljp_point *point;
  size_t point_cap, point_count;
  ljpi_mark *mark;
  size_t mark_cap, mark_count;
  ljpi_word *word;
  size_t word_cap, word_count;
  uint32_t title, old_title;
  int pruned, stacks, by_time;
  uint64_t peak_at, peak_size, temp_within, time, duration, period;
  uint64_t folded_count;  /* Paths that stand as "(pruned)". */
  char name[LJPI_TREE_NAME + 32];
};

static ljp_status ljpi_tree_fail(ljp_tree *t, ljp_status st)
{
  if (t->status == LJP_OK) t->status = st;
  return t->status;
}

/* Numbers by path stand beside the paths: there can be no more of these. */
static int ljpi_tree_closed(const ljp_tree *t)
{
  return t->pruned || t->old;
}

/* Room for one element more at the end of an array; 0: t's status is set. */
static int ljpi_tree_room(ljp_tree *t, void **p, size_t *cap, size_t count,
                          size_t elem)
{
  if (t->status != LJP_OK) return 0;
  return ljpi_tree_fail(t, ljpi_grow(&t->mem, p, cap, count + 1, elem)) ==
         LJP_OK;
}

LJP_API ljp_status ljp_tree_new(ljp_tree **out, const ljp_options *options)
{
  ljpi_mem mem;
  uint32_t root;
  void *p = NULL;
  ljp_tree *t;
  ljp_status st;
  if (!out) return LJP_E_ARG;
  *out = NULL;
  st = ljpi_new_object(&mem, options, &p, sizeof(ljp_tree));
  if (st != LJP_OK) return st;
  t = (ljp_tree *)p;
  t->mem = mem;
  t->strings.mem = t->keys.mem = &t->mem;
  t->index.mem = t->index.nodes.mem = &t->mem;
  st = ljpi_strings_grow(&t->strings);
  if (st == LJP_OK) st = ljp_tree_path(t, 0, 0, &root);
  if (st == LJP_OK) {
    *out = t;
    return st;
  }
  ljp_tree_free(t);
  return st;
}

LJP_API void ljp_tree_free(ljp_tree *t)
{
  ljpi_mem mem;
  if (!t) return;
  ljpi_strings_free(&t->strings);
  ljpi_strings_free(&t->keys);
  ljpi_free_array(&t->mem, t->place, t->place_cap, sizeof(*t->place));
  ljpi_map_free(&t->index);
  ljpi_free_array(&t->mem, t->path, t->path_cap, sizeof(*t->path));
  ljpi_free_array(&t->mem, t->old, t->old_cap, sizeof(*t->old));
  ljpi_free_array(&t->mem, t->line, t->line_cap, sizeof(*t->line));
  ljpi_free_array(&t->mem, t->module, t->module_cap, sizeof(*t->module));
  ljpi_free_array(&t->mem, t->point, t->point_cap, sizeof(*t->point));
  ljpi_free_array(&t->mem, t->mark, t->mark_cap, sizeof(*t->mark));
  ljpi_free_array(&t->mem, t->word, t->word_cap, sizeof(*t->word));
  mem = t->mem;
  ljpi_free_array(&mem, t, 1, sizeof(*t));
}

LJP_API ljp_status ljp_tree_status(const ljp_tree *t)
{
  return t->status;
}

/* A name as it is kept, in t->name; its length. */
static size_t ljpi_tree_clean(ljp_tree *t, const char *p, size_t size)
{
  const unsigned char *q = (const unsigned char *)p;
  size_t i = 0, n = 0;
  while (i < size) {
    size_t len = ljpi_utf8(q + i, size - i);
    if (n >= LJPI_TREE_NAME) {
      snprintf(t->name + n, 16, "...#%08x",
               (unsigned)(ljpi_hash_bytes(p, size) & 0xffffffffu));
      return n + 12;
    }
    if (len) {
      memcpy(t->name + n, q + i, len);
      n += len;
      i += len;
    } else {
      snprintf(t->name + n, 8, "\\x%02x", q[i++]);
      n += 4;
    }
  }
  return n;
}

LJP_API ljp_status ljp_tree_string(ljp_tree *t, const char *p, size_t size,
                                   uint32_t *id)
{
  *id = 0;
  if (t->status != LJP_OK || size == 0) return t->status;
  size = ljpi_tree_clean(t, p, size);
  return ljpi_tree_fail(t, ljpi_intern(&t->strings, t->name, size, id));
}

LJP_API const char *ljp_tree_text(const ljp_tree *t, uint32_t id,
                                  size_t *size)
{
  if (id >= t->strings.count) id = 0;
  *size = t->strings.v[id].size;
  return t->strings.v[id].p;
}

LJP_API ljp_status ljp_tree_module(ljp_tree *t, uint32_t path,
                                   uint32_t build_id, uint64_t base,
                                   uint64_t size, uint32_t *module)
{
  void *p = t->module;
  ljpi_module *m;
  *module = 0;
  if (!ljpi_tree_room(t, &p, &t->module_cap, t->module_count, sizeof(*m)))
    return t->status;
  t->module = (ljpi_module *)p;
  m = &t->module[t->module_count++];
  m->path = path;
  m->build_id = build_id;
  m->base = base;
  m->size = size;
  *module = (uint32_t)t->module_count;
  return LJP_OK;
}

/* Where code was loaded does not tell places apart. */
static ljp_status ljpi_tree_place(ljp_tree *t, const ljp_place *place,
                                  uint32_t *id)
{
  void *p = t->place;
  ljp_place key = *place;
  key.module = 0;
  key.addr = 0;
  if (ljpi_tree_fail(t, ljpi_intern(&t->keys, &key, sizeof(key), id)) !=
        LJP_OK ||
      *id <= t->place_count)
    return t->status;
  if (!ljpi_tree_room(t, &p, &t->place_cap, t->place_count, sizeof(key)))
    return t->status;
  t->place = (ljp_place *)p;
  t->place[t->place_count++] = *place;
  return LJP_OK;
}

LJP_API ljp_status ljp_tree_place(ljp_tree *t, const ljp_place *place,
                                  uint32_t *id)
{
  *id = 0;
  if (t->status != LJP_OK) return t->status;
  return ljpi_tree_closed(t) ? LJP_E_ARG : ljpi_tree_place(t, place, id);
}

LJP_API ljp_status ljp_tree_path(ljp_tree *t, uint32_t parent, uint32_t place,
                                 uint32_t *id)
{
  void *p = t->path;
  ljp_status st;
  *id = 0;
  if (t->status != LJP_OK) return t->status;
  if (ljpi_tree_closed(t)) return LJP_E_ARG;
  *id = ljpi_map_get(&t->index, 0, parent, place);
  if (*id != LJPI_NONE) return LJP_OK;
  *id = 0;
  if (!ljpi_tree_room(t, &p, &t->path_cap, t->path_count, sizeof(*t->path)))
    return t->status;
  t->path = (ljp_path *)p;
  st = ljpi_map_set(&t->index, 0, parent, place, (uint32_t)t->path_count);
  if (st != LJP_OK) return ljpi_tree_fail(t, st);
  memset(&t->path[t->path_count], 0, sizeof(*t->path));
  t->path[t->path_count].parent = parent;
  t->path[t->path_count].place = place;
  *id = (uint32_t)t->path_count++;
  return LJP_OK;
}

LJP_API void ljp_tree_add(ljp_tree *t, uint32_t path, ljp_metric metric,
                          uint64_t n)
{
  ljpi_add(&t->path[path].self[metric], n);
}

static void ljpi_tree_word(ljp_tree *t, ljpi_word_kind kind,
                           const char *label, const char *text, uint64_t n,
                           uint64_t count)
{
  void *p = t->word;
  ljpi_word w;
  memset(&w, 0, sizeof(w));
  w.kind = kind;
  w.n = n;
  w.count = count;
  if (ljp_tree_string(t, label, strlen(label), &w.label) != LJP_OK ||
      ljp_tree_string(t, text, strlen(text), &w.text) != LJP_OK ||
      !ljpi_tree_room(t, &p, &t->word_cap, t->word_count, sizeof(w)))
    return;
  t->word = (ljpi_word *)p;
  t->word[t->word_count++] = w;
}

LJP_API void ljp_tree_title(ljp_tree *t, const char *text)
{
  ljp_tree_string(t, text, strlen(text), &t->title);
}

LJP_API void ljp_tree_fact(ljp_tree *t, const char *label, const char *text)
{
  ljpi_tree_word(t, LJPI_FACT, label, text, 0, 0);
}

LJP_API void ljp_tree_total(ljp_tree *t, const char *label, uint64_t n,
                            int size)
{
  ljpi_tree_word(t, size ? LJPI_TOTAL_SIZE : LJPI_TOTAL_COUNT, label, "", n,
                 0);
}

LJP_API void ljp_tree_kind(ljp_tree *t, const char *name, uint64_t size,
                           uint64_t count)
{
  ljpi_tree_word(t, LJPI_KIND, name, "", size, count);
}

LJP_API void ljp_tree_note(ljp_tree *t, const char *text)
{
  ljpi_tree_word(t, LJPI_NOTE, "", text, 0, 0);
}

LJP_API void ljp_tree_warn(ljp_tree *t, const char *text)
{
  ljpi_tree_word(t, LJPI_WARNING, "", text, 0, 0);
}

LJP_API void ljp_tree_point(ljp_tree *t, const ljp_point *point)
{
  void *p = t->point;
  if (!ljpi_tree_room(t, &p, &t->point_cap, t->point_count, sizeof(*point)))
    return;
  t->point = (ljp_point *)p;
  t->point[t->point_count++] = *point;
}

LJP_API void ljp_tree_mark(ljp_tree *t, uint64_t at, const char *p,
                           size_t size)
{
  void *v = t->mark;
  ljpi_mark m;
  m.at = at;
  if (ljp_tree_string(t, p, size, &m.text) != LJP_OK ||
      !ljpi_tree_room(t, &v, &t->mark_cap, t->mark_count, sizeof(m)))
    return;
  t->mark = (ljpi_mark *)v;
  t->mark[t->mark_count++] = m;
}

LJP_API size_t ljp_tree_path_count(const ljp_tree *t)
{
  return t->path_count;
}

LJP_API const ljp_path *ljp_tree_path_at(const ljp_tree *t, uint32_t path)
{
  return &t->path[path];
}

LJP_API size_t ljp_tree_place_count(const ljp_tree *t)
{
  return t->place_count;
}

LJP_API const ljp_place *ljp_tree_place_at(const ljp_tree *t, uint32_t place)
{
  return &t->place[place - 1];
}

/* A number of a path; columns from LJP_METRIC_COUNT on are the older side. */
static uint64_t ljpi_tree_value(const ljp_tree *t, size_t path,
                                unsigned column)
{
  if (column < LJP_METRIC_COUNT) return t->path[path].self[column];
  return t->old[path * LJP_METRIC_COUNT + column - LJP_METRIC_COUNT];
}

static unsigned ljpi_tree_columns(const ljp_tree *t)
{
  return t->old ? 2 * LJP_METRIC_COUNT : LJP_METRIC_COUNT;
}

LJP_API uint64_t ljp_tree_old(const ljp_tree *t, uint32_t path,
                              ljp_metric metric)
{
  return t->old ? ljpi_tree_value(t, path, metric + LJP_METRIC_COUNT) : 0;
}

/* Zeroed memory for the time of one call; NULL: t's status is set. */
static void *ljpi_tree_scratch(ljp_tree *t, size_t count, size_t elem)
{
  void *p = NULL;
  if (t->status == LJP_OK)
    (void)ljpi_tree_fail(t, ljpi_alloc_array(&t->mem, &p, count, elem));
  if (p) memset(p, 0, count * elem);
  return p;
}

/* total[i]: what path i and all below it count. */
static void ljpi_tree_sum(const ljp_tree *t, unsigned column,
                         uint64_t *total)
{
  size_t i;
  for (i = 0; i < t->path_count; i++) total[i] = ljpi_tree_value(t, i, column);
  for (i = t->path_count; i-- > 1;) {
    ljpi_add(&total[t->path[i].parent], total[i]);
  }
}

/* Marks what reaches the share (in millionths) of any number; how many. */
static size_t ljpi_tree_choose(const ljp_tree *t, uint64_t share,
                            uint64_t *total, unsigned char *keep)
{
  unsigned c, columns = ljpi_tree_columns(t);
  size_t i, kept = 0;
  memset(keep, 0, t->path_count);
  keep[0] = 1;
  for (c = 0; c < columns; c++) {
    uint64_t least;
    ljpi_tree_sum(t, c, total);
    least = total[0] / 1000000 * share + total[0] % 1000000 * share / 1000000;
    for (i = 1; i < t->path_count; i++)
      if (total[i] != 0 && total[i] >= least) keep[i] = 1;
  }
  for (i = 0; i < t->path_count; i++) kept += keep[i];
  return kept;
}

#define LJPI_FRAMES_MAX 4000000u  /* Most frames of all paths written out. */

/* Frames that the paths with numbers have in all, if written one by one. */
static uint64_t ljpi_tree_frames(const ljp_tree *t, unsigned char *keep,
                                 uint64_t *depth, uint32_t *above)
{
  unsigned c, columns = ljpi_tree_columns(t);
  uint64_t frames = 0;
  size_t i;
  depth[0] = 0;
  above[0] = 0;
  for (i = 1; i < t->path_count; i++) {
    uint32_t up = t->path[i].parent;
    above[i] = keep[i] ? (uint32_t)i : above[up];
    depth[i] = depth[up] + (keep[i] ? 1 : 0);
    for (c = 0; c < columns && !ljpi_tree_value(t, i, c);) c++;
    if (c == columns) continue;
    if (!keep[i]) { /* One path for all that is folded there. */
      if (keep[above[i]] & 2) continue;
      keep[above[i]] |= 2;
    }
    frames += depth[i] + (keep[i] ? 0 : 1);
  }
  return frames;
}

typedef struct ljpi_order { /* Arrays of path_count elements. */
  uint32_t *first, *next; /* Kept children in order, 0: none. */
  uint32_t *where;        /* New number of a kept path. */
  uint32_t *above;        /* Nearest kept path of one not kept. */
  unsigned char *rest;    /* Kept, and something below was not. */
} ljpi_order;

/* New numbers, callers before callees and each subtree in one piece; the
** number of paths then. */
static size_t ljpi_tree_order(const ljp_tree *t, const unsigned char *keep,
                             ljpi_order *o)
{
  size_t i, n = 0;
  for (i = t->path_count; i-- > 1;)
    if (keep[i]) {
      o->next[i] = o->first[t->path[i].parent];
      o->first[t->path[i].parent] = (uint32_t)i;
    }
  for (i = 1; i < t->path_count; i++) {
    uint32_t up = t->path[i].parent;
    o->above[i] = keep[i] ? (uint32_t)i : keep[up] ? up : o->above[up];
    if (!keep[i]) {
      unsigned c;
      for (c = 0; c < ljpi_tree_columns(t); c++)
        if (ljpi_tree_value(t, i, c)) o->rest[o->above[i]] = 1;
    }
  }
  for (i = 0;;) {
    o->where[i] = (uint32_t)n;
    n += o->rest[i] ? 2u : 1u;
    if (o->first[i]) {
      i = o->first[i];
      continue;
    }
    while (i != 0 && o->next[i] == 0) i = t->path[i].parent;
    if (i == 0) return n;
    i = o->next[i];
  }
}

/* Adds path i's numbers to those of path j of the new arrays. */
static void ljpi_tree_move(const ljp_tree *t, size_t i, ljp_path *paths,
                          uint64_t *old, size_t j)
{
  unsigned c;
  for (c = 0; c < LJP_METRIC_COUNT; c++) {
    ljpi_add(&paths[j].self[c], t->path[i].self[c]);
    if (old)
      ljpi_add(&old[j * LJP_METRIC_COUNT + c],
               ljpi_tree_value(t, i, c + LJP_METRIC_COUNT));
  }
}

/* Replaces the paths by the kept ones, `n` in number. */
static ljp_status ljpi_tree_apply(ljp_tree *t, const unsigned char *keep,
                                 const ljpi_order *o, uint32_t rest, size_t n)
{
  ljp_path *paths = (ljp_path *)ljpi_tree_scratch(t, n, sizeof(*paths));
  uint64_t *old = NULL;
  size_t i;
  if (!paths) return t->status;
  if (t->old) {
    old = (uint64_t *)ljpi_tree_scratch(t, n, LJP_METRIC_COUNT * sizeof(*old));
    if (!old) {
      ljpi_free_array(&t->mem, paths, n, sizeof(*paths));
      return t->status;
    }
  }
  for (i = 0; i < t->path_count; i++) {
    size_t j = keep[i] ? o->where[i] : o->where[o->above[i]] + 1;
    if (keep[i]) {
      paths[j].parent = i ? o->where[t->path[i].parent] : 0;
      paths[j].place = t->path[i].place;
      if (o->rest[i]) {
        paths[j + 1].parent = (uint32_t)j;
        paths[j + 1].place = rest;
      }
    } else if (o->rest[o->above[i]] == 0) {
      continue;
    } else {
      t->folded_count++;
    }
    ljpi_tree_move(t, i, paths, old, j);
  }
  ljpi_free_array(&t->mem, t->path, t->path_cap, sizeof(*paths));
  ljpi_free_array(&t->mem, t->old, t->old_cap, sizeof(*old));
  t->path = paths;
  t->path_count = t->path_cap = n;
  t->old = old;
  t->old_cap = old ? n * LJP_METRIC_COUNT : 0;
  return LJP_OK;
}

/* The place of what was folded. */
static ljp_status ljpi_tree_rest(ljp_tree *t, uint32_t *place)
{
  ljp_place rest;
  memset(&rest, 0, sizeof(rest));
  rest.kind = LJP_PLACE_PRUNED;
  if (ljp_tree_string(t, "(pruned)", 8, &rest.name) != LJP_OK)
    return t->status;
  return ljpi_tree_place(t, &rest, place);
}

/* The place that is charged with what a path allocates itself: a built-in
** function's part is its caller's, where that is a line of Lua. */
static uint32_t ljpi_tree_charged(const ljp_tree *t, size_t path)
{
  uint32_t place = t->path[path].place, up = t->path[path].parent;
  if (up && t->place[place - 1].kind == LJP_PLACE_BUILTIN &&
      t->place[t->path[up].place - 1].kind == LJP_PLACE_LUA)
    return t->path[up].place;
  return place;
}

/* Sums up by place, once: pruning would put some under "(pruned)". That place
** is there. */
static void ljpi_tree_lines(ljp_tree *t)
{
  size_t columns = ljpi_tree_columns(t), cap = t->place_count * columns, i;
  unsigned c;
  if (t->line) return;
  t->line = (uint64_t *)ljpi_tree_scratch(t, cap, sizeof(*t->line));
  if (!t->line) return;
  t->line_cap = cap;
  for (i = 1; i < t->path_count; i++) {
    uint64_t *sum = t->line + (ljpi_tree_charged(t, i) - 1) * columns;
    for (c = 0; c < columns; c++) ljpi_add(&sum[c], ljpi_tree_value(t, i, c));
  }
}

/* Says what was folded. */
static void ljpi_tree_say(ljp_tree *t, uint64_t share, uint64_t folded)
{
  char buf[160];
  if (folded == 0) return;
  snprintf(buf, sizeof(buf), "%llu call paths with less than %llu.%04llu %% "
           "of every number are shown as (pruned) under their callers",
           (unsigned long long)folded, (unsigned long long)(share / 10000),
           (unsigned long long)(share % 10000));
  ljp_tree_note(t, buf);
}

LJP_API ljp_status ljp_tree_prune(ljp_tree *t, uint64_t share,
                                  size_t path_max)
{
  size_t n = t->path_count;
  uint64_t folded = t->folded_count;
  uint64_t *total = (uint64_t *)ljpi_tree_scratch(t, n, sizeof(*total));
  uint32_t *ids = (uint32_t *)ljpi_tree_scratch(t, n, 4 * sizeof(*ids));
  unsigned char *keep = (unsigned char *)ljpi_tree_scratch(t, n, 2);
  ljpi_order o;
  uint32_t rest = 0;
  if (total && ids && keep && ljpi_tree_rest(t, &rest) == LJP_OK)
    ljpi_tree_lines(t);
  if (t->status == LJP_OK) {
    o.first = ids;
    o.next = ids + n;
    o.where = ids + 2 * n;
    o.above = ids + 3 * n;
    o.rest = keep + n;
    while ((ljpi_tree_choose(t, share, total, keep) > path_max ||
            ljpi_tree_frames(t, keep, total, o.above) > LJPI_FRAMES_MAX) &&
           share < 500000)
      share = share ? share * 2 : 1;
    ljpi_tree_apply(t, keep, &o, rest, ljpi_tree_order(t, keep, &o));
    if (t->status == LJP_OK) t->pruned = 1;
    ljpi_tree_say(t, share, t->folded_count - folded);
  }
  ljpi_free_array(&t->mem, total, n, sizeof(*total));
  ljpi_free_array(&t->mem, ids, n, 4 * sizeof(*ids));
  ljpi_free_array(&t->mem, keep, n, 2);
  return t->status;
}

/* The number in t of a text of another tree. */
static ljp_status ljpi_tree_carry(ljp_tree *t, const ljp_tree *from,
                                  uint32_t *id)
{
  const ljpi_string *s = &from->strings.v[*id];
  if (*id == 0) return t->status;
  return ljpi_tree_fail(t, ljpi_intern(&t->strings, s->p, s->size, id));
}

/* map[i]: the path of t that path i of `old` is. */
static ljp_status ljpi_tree_match(ljp_tree *t, const ljp_tree *old,
                                  uint32_t *map)
{
  size_t i;
  for (i = 1; i < old->path_count; i++) {
    ljp_place at = *ljp_tree_place_at(old, old->path[i].place);
    uint32_t id;
    if (ljpi_tree_carry(t, old, &at.name) != LJP_OK ||
        ljpi_tree_carry(t, old, &at.file) != LJP_OK)
      return t->status;
    at.module = 0;
    at.addr = 0;
    if (ljp_tree_place(t, &at, &id) != LJP_OK ||
        ljp_tree_path(t, map[old->path[i].parent], id, &map[i]) != LJP_OK)
      return t->status;
  }
  return LJP_OK;
}

LJP_API ljp_status ljp_tree_diff(ljp_tree *t, const ljp_tree *old)
{
  size_t n = old->path_count, i;
  uint32_t *map;
  unsigned c;
  if (ljpi_tree_closed(t)) return LJP_E_ARG;
  map = (uint32_t *)ljpi_tree_scratch(t, n, sizeof(*map));
  if (!map) return t->status;
  if (ljpi_tree_match(t, old, map) == LJP_OK)
    t->old = (uint64_t *)ljpi_tree_scratch(t, t->path_count,
                                           LJP_METRIC_COUNT *
                                           sizeof(*t->old));
  if (t->old) {
    t->old_cap = t->path_count * LJP_METRIC_COUNT;
    for (i = 0; i < n; i++)
      for (c = 0; c < LJP_METRIC_COUNT; c++)
        ljpi_add(&t->old[(size_t)map[i] * LJP_METRIC_COUNT + c],
                 old->path[i].self[c]);
    t->old_title = old->title;
    ljpi_tree_carry(t, old, &t->old_title);
  }
  ljpi_free_array(&t->mem, map, n, sizeof(*map));
  return t->status;
}

/* - Reports of call trees - */

static const char *const ljpi_metric_names[LJP_METRIC_COUNT] = {
  "alloc_size", "alloc_count", "inuse_size", "inuse_count",
  "peak_size", "peak_count", "temp_size", "temp_count"
};

/* ,"key": without the comma for the first. */
static void ljpi_put_key(ljpi_out *o, const char *key)
{
  ljpi_puts(o, ",\n\"");
  ljpi_puts(o, key);
  ljpi_puts(o, "\":");
}

static void ljpi_put_id(ljpi_out *o, const ljp_tree *t, uint32_t id)
{
  const ljpi_string *s = &t->strings.v[id];
  ljpi_puts(o, "\"");
  ljpi_put_json(o, s->p, s->size);
  ljpi_puts(o, "\"");
}

/* Numbers of an array, comma before all but the first. */
static void ljpi_put_item(ljpi_out *o, int first, uint64_t n)
{
  if (!first) ljpi_puts(o, ",");
  ljpi_put_u64(o, n);
}

/* The text that a place goes by: its name, or file and line. */
static void ljpi_put_place(ljpi_out *o, const ljp_tree *t, uint32_t place,
                           void (*put)(ljpi_out *, const char *, size_t))
{
  const ljp_place *at = ljp_tree_place_at(t, place);
  const ljpi_string *s = &t->strings.v[at->name ? at->name : at->file];
  put(o, s->p, s->size);
  if (at->name || at->line == 0) return;
  ljpi_puts(o, ":");
  ljpi_put_u64(o, at->line);
}

static ljp_status ljpi_tree_begin(ljp_tree *t, ljpi_out *o, ljp_write write,
                                  void *user)
{
  if (t->status != LJP_OK) return t->status;
  if (!write || !t->pruned) return LJP_E_ARG;
  memset(o, 0, sizeof(*o));
  o->write = write;
  o->user = user;
  return LJP_OK;
}

static ljp_status ljpi_tree_end(ljpi_out *o)
{
  ljpi_out_flush(o);
  return o->failed ? LJP_E_IO : LJP_OK;
}

/* - Folded - */

/* A frame may not hold the separator. */
static void ljpi_put_fold(ljpi_out *o, const char *p, size_t size)
{
  size_t i, from = 0;
  for (i = 0; i < size; i++) {
    if (p[i] != ';') continue;
    ljpi_put(o, p + from, i - from);
    ljpi_puts(o, ":");
    from = i + 1;
  }
  ljpi_put(o, p + from, size - from);
}

/* `chain` has room for as many places as the tree has paths. */
static void ljpi_folded_stack(ljpi_out *o, const ljp_tree *t, size_t path,
                              uint32_t *chain)
{
  size_t n = 0;
  for (; path != 0; path = t->path[path].parent)
    chain[n++] = t->path[path].place;
  while (n-- > 0) {
    ljpi_put_place(o, t, chain[n], ljpi_put_fold);
    if (n) ljpi_puts(o, ";");
  }
}

LJP_API ljp_status ljp_tree_folded(ljp_tree *t, ljp_metric metric,
                                   ljp_write write, void *user)
{
  size_t n = t->path_count, i;
  uint32_t *chain;
  ljpi_out o;
  ljp_status st = ljpi_tree_begin(t, &o, write, user);
  if (st != LJP_OK) return st;
  chain = (uint32_t *)ljpi_tree_scratch(t, n, sizeof(*chain));
  if (!chain) return t->status;
  for (i = 1; i < n && !o.failed; i++) {
    uint64_t is = t->path[i].self[metric];
    uint64_t was = ljp_tree_old(t, (uint32_t)i, metric);
    if (is == 0 && was == 0) continue;
    ljpi_folded_stack(&o, t, i, chain);
    if (t->old) {
      ljpi_puts(&o, " ");
      ljpi_put_u64(&o, was);
    }
    ljpi_puts(&o, " ");
    ljpi_put_u64(&o, is);
    ljpi_puts(&o, "\n");
  }
  ljpi_free_array(&t->mem, chain, n, sizeof(*chain));
  return ljpi_tree_end(&o);
}

/* - speedscope: one evented profile a metric - */

static void ljpi_speed_event(ljpi_out *o, const char *type, uint32_t place,
                             uint64_t at)
{
  ljpi_puts(o, "{\"type\":\"");
  ljpi_puts(o, type);
  ljpi_puts(o, "\",\"frame\":");
  ljpi_put_u64(o, place - 1);
  ljpi_puts(o, ",\"at\":");
  ljpi_put_u64(o, at);
  ljpi_puts(o, "}");
}

/* A path opens where its caller stands, spends what is its own, then what is
** below it. */
static void ljpi_speed_events(ljpi_out *o, const ljp_tree *t,
                              unsigned metric, const uint64_t *total)
{
  uint32_t open = 0;
  uint64_t at = 0;
  size_t i;
  int any = 0;
  for (i = 1; i < t->path_count && !o->failed; i++) {
    if (total[i] == 0) continue;
    for (; open != t->path[i].parent; open = t->path[open].parent) {
      ljpi_puts(o, ",\n");
      ljpi_speed_event(o, "C", t->path[open].place, at);
    }
    open = (uint32_t)i;
    ljpi_puts(o, any ? ",\n" : "\n");
    any = 1;
    ljpi_speed_event(o, "O", t->path[i].place, at);
    ljpi_add(&at, t->path[i].self[metric]);
  }
  for (; open != 0; open = t->path[open].parent) {
    ljpi_puts(o, ",\n");
    ljpi_speed_event(o, "C", t->path[open].place, at);
  }
}

static void ljpi_speed_frames(ljpi_out *o, const ljp_tree *t)
{
  uint32_t i, n = (uint32_t)ljp_tree_place_count(t);
  for (i = 1; i <= n; i++) {
    const ljp_place *at = ljp_tree_place_at(t, i);
    ljpi_puts(o, i > 1 ? ",\n{\"name\":\"" : "\n{\"name\":\"");
    ljpi_put_place(o, t, i, ljpi_put_json);
    ljpi_puts(o, "\"");
    if (at->file) {
      ljpi_puts(o, ",\"file\":");
      ljpi_put_id(o, t, at->file);
    }
    if (at->line) {
      ljpi_puts(o, ",\"line\":");
      ljpi_put_u64(o, at->line);
    }
    ljpi_puts(o, "}");
  }
}

/* In the order shown; the first that is not empty opens. */
static const struct {
  unsigned metric;
  const char *name, *unit;
} ljpi_speed_views[] = {
  {LJP_INUSE_SIZE, "in use, bytes", "bytes"},
  {LJP_ALLOC_SIZE, "allocated, bytes", "bytes"},
  {LJP_PEAK_SIZE, "at the peak, bytes", "bytes"},
  {LJP_TEMP_SIZE, "temporary, bytes", "bytes"},
  {LJP_INUSE_COUNT, "in use, blocks", "none"},
  {LJP_ALLOC_COUNT, "allocated, times", "none"}
};

static void ljpi_speed_profile(ljpi_out *o, const ljp_tree *t, size_t view,
                               const uint64_t *total)
{
  ljpi_puts(o, "{\"type\":\"evented\",\"name\":\"");
  ljpi_puts(o, ljpi_speed_views[view].name);
  ljpi_puts(o, "\",\"unit\":\"");
  ljpi_puts(o, ljpi_speed_views[view].unit);
  ljpi_puts(o, "\",\"startValue\":0,\"endValue\":");
  ljpi_put_u64(o, total[0]);
  ljpi_puts(o, ",\"events\":[");
  ljpi_speed_events(o, t, ljpi_speed_views[view].metric, total);
  ljpi_puts(o, "]}");
}

LJP_API ljp_status ljp_tree_speedscope(ljp_tree *t, ljp_write write,
                                       void *user)
{
  size_t n = t->path_count, v, any = 0;
  uint64_t *total;
  ljpi_out o;
  ljp_status st = ljpi_tree_begin(t, &o, write, user);
  if (st != LJP_OK) return st;
  total = (uint64_t *)ljpi_tree_scratch(t, n, sizeof(*total));
  if (!total) return t->status;
  ljpi_puts(&o, "{\"$schema\":\"https://www.speedscope.app/"
                "file-format-schema.json\",\"exporter\":\"ljparse "
                LJP_VERSION_STRING "\",\n\"name\":");
  ljpi_put_id(&o, t, t->title);
  ljpi_puts(&o, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
  ljpi_speed_frames(&o, t);
  ljpi_puts(&o, "]},\"profiles\":[");
  for (v = 0; v < sizeof(ljpi_speed_views) / sizeof(*ljpi_speed_views); v++) {
    ljpi_tree_sum(t, ljpi_speed_views[v].metric, total);
    if (total[0] == 0 && ljpi_speed_views[v].metric != LJP_ALLOC_SIZE)
      continue;
    ljpi_puts(&o, any++ ? ",\n" : "\n");
    ljpi_speed_profile(&o, t, v, total);
  }
  ljpi_puts(&o, "]}\n");
  ljpi_free_array(&t->mem, total, n, sizeof(*total));
  return ljpi_tree_end(&o);
}

/* - The HTML page's model: columns of numbers - */

/* All words of a kind as a JSON array. */
static void ljpi_model_words(ljpi_out *o, const ljp_tree *t, const char *key,
                             unsigned kinds)
{
  size_t i, any = 0;
  ljpi_put_key(o, key);
  ljpi_puts(o, "[");
  for (i = 0; i < t->word_count; i++) {
    const ljpi_word *w = &t->word[i];
    if (!(kinds >> w->kind & 1)) continue;
    ljpi_puts(o, any++ ? ",\n" : "");
    if (w->kind < LJPI_NOTE) {
      ljpi_puts(o, "[");
      ljpi_put_id(o, t, w->label);
      ljpi_puts(o, ",");
    }
    if (w->kind == LJPI_FACT || w->kind >= LJPI_NOTE) {
      ljpi_put_id(o, t, w->text);
    } else {
      ljpi_put_u64(o, w->n);
      if (w->kind >= LJPI_KIND) ljpi_put_item(o, 0, w->count);
      else ljpi_puts(o, w->kind == LJPI_TOTAL_SIZE ? ",\"size\""
                                                   : ",\"count\"");
    }
    if (w->kind < LJPI_NOTE) ljpi_puts(o, "]");
  }
  ljpi_puts(o, "]");
}

static void ljpi_model_head(ljpi_out *o, const ljp_tree *t)
{
  ljpi_puts(o, "{\"model\":1,\"tool\":\"ljparse " LJP_VERSION_STRING "\"");
  ljpi_put_key(o, "title");
  ljpi_put_id(o, t, t->title);
  if (t->old) {
    ljpi_put_key(o, "old_title");
    ljpi_put_id(o, t, t->old_title);
  }
  ljpi_put_key(o, "stacks");
  ljpi_puts(o, t->stacks ? "true" : "false");
  ljpi_put_key(o, "temp_within");
  ljpi_put_u64(o, t->temp_within);
  ljpi_model_words(o, t, "warnings", 1u << LJPI_WARNING);
  ljpi_model_words(o, t, "notes", 1u << LJPI_NOTE);
  ljpi_model_words(o, t, "facts", 1u << LJPI_FACT);
  ljpi_model_words(o, t, "totals",
                   1u << LJPI_TOTAL_COUNT | 1u << LJPI_TOTAL_SIZE);
  ljpi_model_words(o, t, "kinds", 1u << LJPI_KIND);
  ljpi_model_words(o, t, "lives", 1u << LJPI_LIFE);
}

static void ljpi_model_known(ljpi_out *o, uint64_t n)
{
  if (n == UINT64_MAX) ljpi_puts(o, ",null");
  else ljpi_put_item(o, 0, n);
}

static void ljpi_model_timeline(ljpi_out *o, const ljp_tree *t)
{
  size_t i;
  ljpi_put_key(o, "timeline");
  ljpi_puts(o, t->by_time ? "{\"unit\":\"time\"" : "{\"unit\":\"events\"");
  ljpi_put_key(o, "points");
  for (i = 0; i < t->point_count; i++) {
    const ljp_point *p = &t->point[i];
    ljpi_puts(o, i ? ",[" : "[[");
    ljpi_put_u64(o, p->at);
    ljpi_model_known(o, p->live_size);
    ljpi_model_known(o, p->gc_total);
    ljpi_model_known(o, p->gc_threshold);
    ljpi_model_known(o, p->rss);
    ljpi_puts(o, "]");
  }
  ljpi_puts(o, i ? "]" : "[]");
  ljpi_put_key(o, "marks");
  for (i = 0; i < t->mark_count; i++) {
    ljpi_puts(o, i ? ",[" : "[[");
    ljpi_put_u64(o, t->mark[i].at);
    ljpi_puts(o, ",");
    ljpi_put_id(o, t, t->mark[i].text);
    ljpi_puts(o, "]");
  }
  ljpi_puts(o, i ? "]" : "[]");
  if (t->peak_size) {
    ljpi_put_key(o, "peak");
    ljpi_puts(o, "[");
    ljpi_put_u64(o, t->peak_at);
    ljpi_put_item(o, 0, t->peak_size);
    ljpi_puts(o, "]");
  }
  ljpi_puts(o, "}");
}

/* Sums by place; columns as below. */
static void ljpi_model_lines(ljpi_out *o, const ljp_tree *t, unsigned first)
{
  size_t columns = ljpi_tree_columns(t), i;
  unsigned c;
  for (c = 0; c < LJP_METRIC_COUNT; c++) {
    ljpi_puts(o, c ? ",\n\"" : "{\"");
    ljpi_puts(o, ljpi_metric_names[c]);
    ljpi_puts(o, "\":[");
    for (i = 0; i < t->line_cap / columns && !o->failed; i++)
      ljpi_put_item(o, i == 0, t->line[i * columns + first + c]);
    ljpi_puts(o, "]");
  }
  ljpi_puts(o, "}");
}

/* Columns of `first` (0 the newer side, LJP_METRIC_COUNT the older). */
static void ljpi_model_numbers(ljpi_out *o, const ljp_tree *t,
                               unsigned first)
{
  unsigned c;
  size_t i;
  for (c = 0; c < LJP_METRIC_COUNT; c++) {
    ljpi_puts(o, c ? ",\n\"" : "{\"");
    ljpi_puts(o, ljpi_metric_names[c]);
    ljpi_puts(o, "\":[");
    for (i = 1; i < t->path_count && !o->failed; i++)
      ljpi_put_item(o, i == 1, ljpi_tree_value(t, i, first + c));
    ljpi_puts(o, "]");
  }
  ljpi_puts(o, "}");
}

static void ljpi_model_frames(ljpi_out *o, const ljp_tree *t)
{
  uint32_t i, n = (uint32_t)ljp_tree_place_count(t);
  size_t k;
  ljpi_put_key(o, "strings");
  for (k = 0; k < t->strings.count; k++) {
    ljpi_puts(o, k ? ",\n" : "[");
    ljpi_put_id(o, t, (uint32_t)k);
  }
  ljpi_puts(o, "]");
  ljpi_put_key(o, "frames");
  ljpi_puts(o, "[");
  for (i = 1; i <= n; i++) {
    const ljp_place *at = ljp_tree_place_at(t, i);
    ljpi_put_item(o, i == 1, at->kind);
    ljpi_put_item(o, 0, at->name);
    ljpi_put_item(o, 0, at->file);
    ljpi_put_item(o, 0, at->line);
    ljpi_put_item(o, 0, at->first_line);
  }
  ljpi_puts(o, "]");
}

LJP_API ljp_status ljp_tree_model(ljp_tree *t, ljp_write write, void *user)
{
  size_t i;
  ljpi_out o;
  ljp_status st = ljpi_tree_begin(t, &o, write, user);
  if (st != LJP_OK) return st;
  ljpi_model_head(&o, t);
  ljpi_model_timeline(&o, t);
  ljpi_model_frames(&o, t);
  ljpi_put_key(&o, "parent");
  ljpi_puts(&o, "[");
  for (i = 1; i < t->path_count; i++)
    ljpi_put_item(&o, i == 1, i - t->path[i].parent);
  ljpi_puts(&o, "]");
  ljpi_put_key(&o, "frame");
  ljpi_puts(&o, "[");
  for (i = 1; i < t->path_count; i++)
    ljpi_put_item(&o, i == 1, t->path[i].place - 1);
  ljpi_puts(&o, "]");
  ljpi_put_key(&o, "self");
  ljpi_model_numbers(&o, t, 0);
  ljpi_put_key(&o, "lines");
  ljpi_model_lines(&o, t, 0);
  if (t->old) {
    ljpi_put_key(&o, "old_lines");
    ljpi_model_lines(&o, t, LJP_METRIC_COUNT);
    ljpi_put_key(&o, "old");
    ljpi_model_numbers(&o, t, LJP_METRIC_COUNT);
  }
  ljpi_puts(&o, "}\n");
  return ljpi_tree_end(&o);
}

/* - pprof: profile.proto of google/pprof, not compressed - */

static size_t ljpi_pb_size(uint64_t n)
{
  size_t size = 1;
  while (n >>= 7) size++;
  return size;
}

static void ljpi_pb_num(ljpi_out *o, uint64_t n)
{
  char b[10];
  size_t k = 0;
  for (; n >= 0x80; n >>= 7) b[k++] = (char)((n & 0x7f) | 0x80);
  b[k++] = (char)n;
  ljpi_put(o, b, k);
}

/* Wire types: 0 a number, 2 so many bytes. */
static void ljpi_pb_field(ljpi_out *o, unsigned field, uint64_t n)
{
  ljpi_pb_num(o, (uint64_t)field << 3);
  ljpi_pb_num(o, n);
}

static void ljpi_pb_begin(ljpi_out *o, unsigned field, size_t size)
{
  ljpi_pb_num(o, (uint64_t)field << 3 | 2);
  ljpi_pb_num(o, size);
}

/* A message of number fields: v[i] has field number i + 1; zeros are left
** out, as proto3 does. */
static size_t ljpi_pb_body_size(const uint64_t *v, size_t n)
{
  size_t i, size = 0;
  for (i = 0; i < n; i++)
    if (v[i]) size += 1 + ljpi_pb_size(v[i]);
  return size;
}

static void ljpi_pb_body(ljpi_out *o, const uint64_t *v, size_t n)
{
  size_t i;
  for (i = 0; i < n; i++)
    if (v[i]) ljpi_pb_field(o, (unsigned)i + 1, v[i]);
}

static void ljpi_pb_message(ljpi_out *o, unsigned field, const uint64_t *v,
                            size_t n)
{
  ljpi_pb_begin(o, field, ljpi_pb_body_size(v, n));
  ljpi_pb_body(o, v, n);
}

/* String numbers of the pprof table: the tree's own, these, then a function
** name for each place. */
static const char *const ljpi_pb_words[] = {
  "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects",
  "inuse_space", "space"
};
#define LJPI_PB_WORDS (sizeof(ljpi_pb_words) / sizeof(*ljpi_pb_words))

static const struct {
  unsigned metric, name, unit; /* Numbers in ljpi_pb_words. */
} ljpi_pb_types[4] = {
  {LJP_ALLOC_COUNT, 0, 1}, {LJP_ALLOC_SIZE, 2, 3},
  {LJP_INUSE_COUNT, 4, 1}, {LJP_INUSE_SIZE, 5, 3}
};

static void ljpi_pb_strings(ljpi_out *o, const ljp_tree *t)
{
  size_t i;
  for (i = 0; i < t->strings.count; i++) {
    ljpi_pb_begin(o, 6, t->strings.v[i].size);
    ljpi_put(o, t->strings.v[i].p, t->strings.v[i].size);
  }
  for (i = 0; i < LJPI_PB_WORDS; i++) {
    ljpi_pb_begin(o, 6, strlen(ljpi_pb_words[i]));
    ljpi_puts(o, ljpi_pb_words[i]);
  }
  for (i = 1; i <= ljp_tree_place_count(t); i++) {
    const ljp_place *at = ljp_tree_place_at(t, (uint32_t)i);
    const ljpi_string *s = &t->strings.v[at->name ? at->name : at->file];
    char line[24];
    line[0] = 0;
    if (at->name == 0 && at->first_line)
      snprintf(line, sizeof(line), ":%llu",
               (unsigned long long)at->first_line);
    ljpi_pb_begin(o, 6, s->size + strlen(line));
    ljpi_put(o, s->p, s->size);
    ljpi_puts(o, line);
  }
}

static void ljpi_pb_modules(ljpi_out *o, const ljp_tree *t)
{
  size_t i;
  for (i = 0; i < t->module_count; i++) {
    const ljpi_module *m = &t->module[i];
    uint64_t v[9];
    memset(v, 0, sizeof(v));
    v[0] = i + 1;
    v[1] = m->base;
    v[2] = m->base;
    ljpi_add(&v[2], m->size);
    v[4] = m->path;
    v[5] = m->build_id;
    v[6] = 1; /* Functions are named here: nothing to look up. */
    ljpi_pb_message(o, 3, v, 9);
  }
}

static void ljpi_pb_places(ljpi_out *o, const ljp_tree *t)
{
  size_t i, names = t->strings.count + LJPI_PB_WORDS - 1;
  for (i = 1; i <= ljp_tree_place_count(t); i++) {
    const ljp_place *at = ljp_tree_place_at(t, (uint32_t)i);
    uint64_t function[5], place[3], line[2];
    function[0] = i;
    function[1] = function[2] = names + i;
    function[3] = at->file;
    function[4] = at->first_line;
    ljpi_pb_message(o, 5, function, 5);
    place[0] = i;
    place[1] = at->module;
    place[2] = at->addr;
    line[0] = i;
    line[1] = at->line;
    ljpi_pb_begin(o, 4, ljpi_pb_body_size(place, 3) + 2 +
                        ljpi_pb_body_size(line, 2));
    ljpi_pb_body(o, place, 3);
    ljpi_pb_message(o, 4, line, 2);
  }
}

static void ljpi_pb_sample(ljpi_out *o, const ljp_tree *t, uint32_t path)
{
  uint64_t v[4];
  size_t k, chain_size = 0, value_size = 0, any = 0;
  uint32_t i;
  for (k = 0; k < 4; k++) {
    ljp_metric m = (ljp_metric)ljpi_pb_types[k].metric;
    v[k] = t->path[path].self[m] - ljp_tree_old(t, path, m);
    value_size += ljpi_pb_size(v[k]);
    any |= v[k] != 0;
  }
  if (!any) return;
  for (i = path; i != 0; i = t->path[i].parent)
    chain_size += ljpi_pb_size(t->path[i].place);
  ljpi_pb_begin(o, 2, 1 + ljpi_pb_size(chain_size) + chain_size + 1 +
                      ljpi_pb_size(value_size) + value_size);
  ljpi_pb_begin(o, 1, chain_size);
  for (i = path; i != 0; i = t->path[i].parent)
    ljpi_pb_num(o, t->path[i].place);
  ljpi_pb_begin(o, 2, value_size);
  for (k = 0; k < 4; k++) ljpi_pb_num(o, v[k]);
}

LJP_API ljp_status ljp_tree_pprof(ljp_tree *t, ljp_write write, void *user)
{
  size_t i, words = t->strings.count;
  uint64_t type[2];
  ljpi_out o;
  ljp_status st = ljpi_tree_begin(t, &o, write, user);
  if (st != LJP_OK) return st;
  for (i = 0; i < 4; i++) {
    type[0] = words + ljpi_pb_types[i].name;
    type[1] = words + ljpi_pb_types[i].unit;
    ljpi_pb_message(&o, 1, type, 2);
  }
  for (i = 1; i < t->path_count && !o.failed; i++)
    ljpi_pb_sample(&o, t, (uint32_t)i);
  ljpi_pb_modules(&o, t);
  ljpi_pb_places(&o, t);
  ljpi_pb_strings(&o, t);
  if (t->time) ljpi_pb_field(&o, 9, t->time);
  if (t->duration) ljpi_pb_field(&o, 10, t->duration);
  type[0] = words + 6;
  type[1] = words + 3;
  ljpi_pb_message(&o, 11, type, 2);
  ljpi_pb_field(&o, 12, t->period ? t->period : 1);
  for (i = 0; i < t->word_count; i++)
    if (t->word[i].kind >= LJPI_NOTE) ljpi_pb_field(&o, 13, t->word[i].text);
  ljpi_pb_field(&o, 14, words + ljpi_pb_types[3].name);
  return ljpi_tree_end(&o);
}

/* - Text of a comparison - */

typedef struct ljpi_change {
  uint64_t n[4];          /* Old and new bytes, old and new count. */
} ljpi_change;

static uint64_t ljpi_apart(uint64_t a, uint64_t b)
{
  return a > b ? a - b : b - a;
}

static int ljpi_cmp_change(const void *ctx, uint32_t x, uint32_t y)
{
  const ljpi_change *v = (const ljpi_change *)ctx;
  uint64_t a = ljpi_apart(v[x].n[0], v[x].n[1]);
  uint64_t b = ljpi_apart(v[y].n[0], v[y].n[1]);
  return a > b ? -1 : a < b ? 1 : x < y ? -1 : x > y;
}

static void ljpi_put_delta(ljpi_out *o, uint64_t was, uint64_t is,
                           void (*put)(ljpi_out *, uint64_t))
{
  ljpi_puts(o, is < was ? "-" : "+");
  put(o, ljpi_apart(was, is));
  ljpi_puts(o, " (");
  put(o, was);
  ljpi_puts(o, " to ");
  put(o, is);
  ljpi_puts(o, ")");
}

static void ljpi_put_change(ljpi_out *o, const ljp_tree *t, uint32_t place,
                            const ljpi_change *c)
{
  if (place) ljpi_put_place(o, t, place, ljpi_put);
  else ljpi_puts(o, "all");
  ljpi_puts(o, ": ");
  ljpi_put_delta(o, c->n[0], c->n[1], ljpi_put_size);
  ljpi_puts(o, "\t");
  ljpi_put_delta(o, c->n[2], c->n[3], ljpi_put_u64);
  ljpi_puts(o, "\n");
}

/* Places whose rows would have the same text, next to each other. */
static int ljpi_cmp_text(const void *ctx, uint32_t x, uint32_t y)
{
  const ljp_tree *t = (const ljp_tree *)ctx;
  const ljp_place *a = ljp_tree_place_at(t, x), *b = ljp_tree_place_at(t, y);
  uint32_t p = a->name ? a->name : a->file, q = b->name ? b->name : b->file;
  uint64_t k = a->name ? 0 : a->line, m = b->name ? 0 : b->line;
  if (p != q) return p < q ? -1 : 1;
  return k < m ? -1 : k > m;
}

/* One row for each text: functions may share a line. */
static void ljpi_merge_changes(const ljp_tree *t, ljpi_change *sum,
                               uint32_t *order)
{
  size_t n = ljp_tree_place_count(t) + 1, i, k, lead = 0;
  for (i = 1; i < n; i++) order[i - 1] = (uint32_t)i;
  ljpi_sort(order, order + n, n - 1, ljpi_cmp_text, t);
  for (i = 1; i + 1 < n; i++) {
    ljpi_change *to = &sum[order[lead]], *from = &sum[order[i]];
    if (ljpi_cmp_text(t, order[lead], order[i]) != 0) {
      lead = i;
      continue;
    }
    for (k = 0; k < 4; k++) ljpi_add(&to->n[k], from->n[k]);
    memset(from, 0, sizeof(*from));
  }
}

/* `sum` and `order` have an entry a place and one for all; `order` twice. */
static void ljpi_put_changes(ljpi_out *o, const ljp_tree *t, unsigned metric,
                             ljpi_change *sum, uint32_t *order)
{
  size_t n = ljp_tree_place_count(t) + 1, i, k = 0;
  memset(sum, 0, n * sizeof(*sum));
  for (i = 1; i < t->path_count; i++)
    for (k = 0; k < 4; k++) {
      uint64_t v = k % 2 ? t->path[i].self[metric + k / 2]
                         : ljpi_tree_value(t, i, metric + (unsigned)k / 2 +
                                                 LJP_METRIC_COUNT);
      ljpi_add(&sum[t->path[i].place].n[k], v);
      ljpi_add(&sum[0].n[k], v);
    }
  ljpi_merge_changes(t, sum, order);
  ljpi_put_change(o, t, 0, &sum[0]);
  for (i = 1, k = 0; i < n; i++)
    if (sum[i].n[0] != sum[i].n[1] || sum[i].n[2] != sum[i].n[3])
      order[k++] = (uint32_t)i;
  ljpi_sort(order, order + n, k, ljpi_cmp_change, sum);
  for (i = 0; i < k && !o->failed; i++)
    ljpi_put_change(o, t, order[i], &sum[order[i]]);
  ljpi_puts(o, "\n");
}

LJP_API ljp_status ljp_tree_changes(ljp_tree *t,
                                    const ljp_report_options *options,
                                    ljp_write write, void *user)
{
  size_t n = ljp_tree_place_count(t) + 1;
  ljpi_change *sum;
  uint32_t *order;
  ljpi_out o;
  ljp_status st = ljpi_tree_begin(t, &o, write, user);
  if (st == LJP_OK && !t->old) st = LJP_E_ARG;
  if (st != LJP_OK) return st;
  o.human = options && options->human_readable;
  sum = (ljpi_change *)ljpi_tree_scratch(t, n, sizeof(*sum));
  order = (uint32_t *)ljpi_tree_scratch(t, n, 2 * sizeof(*order));
  if (sum && order) {
    ljpi_puts(&o, "HEAP SUMMARY, compared:\n");
    ljpi_put_changes(&o, t, LJP_INUSE_SIZE, sum, order);
    if (!options || !options->leak_only) {
      ljpi_puts(&o, "ALLOCATIONS, compared:\n");
      ljpi_put_changes(&o, t, LJP_ALLOC_SIZE, sum, order);
    }
  }
  ljpi_free_array(&t->mem, sum, n, sizeof(*sum));
  ljpi_free_array(&t->mem, order, n, 2 * sizeof(*order));
  if (t->status != LJP_OK) return t->status;
  return ljpi_tree_end(&o);
}

/* - Budgets - */

/* Whether a place's text has `match` in it: its name, or FILE:LINE. */
static int ljpi_place_has(const ljp_tree *t, uint32_t place,
                          const char *match)
{
  const ljp_place *at = ljp_tree_place_at(t, place);
  char text[LJPI_TREE_NAME + 64];
  snprintf(text, sizeof(text), at->line ? "%s%s:%llu" : "%s%s",
           t->strings.v[at->file].p, at->name ? t->strings.v[at->name].p : "",
           (unsigned long long)at->line);
  if (strstr(text, match)) return 1;
  return strstr(t->strings.v[at->name].p, match) != NULL;
}

/* `hit` has a byte a path and one a place; `sum` an entry a place. */
static void ljpi_tree_spend(const ljp_tree *t, const ljp_budget *b,
                            unsigned char *hit, uint64_t *sum,
                            ljp_budget_result *r)
{
  size_t n = t->path_count, places = ljp_tree_place_count(t), i;
  unsigned char *named = hit + n;
  uint64_t all = 0;
  for (i = 1; i <= places; i++)
    named[i] = !b->match || ljpi_place_has(t, (uint32_t)i, b->match);
  for (i = 1; i < n; i++) {
    const ljp_path *p = &t->path[i];
    uint32_t line = ljpi_tree_charged(t, i);
    hit[i] = named[p->place] || named[line] ||
             (!b->each_line && hit[p->parent]);
    if (!hit[i]) continue;
    ljpi_add(&sum[line], p->self[b->metric]);
    ljpi_add(&all, p->self[b->metric]);
  }
  for (i = 1; i <= places; i++)
    if (sum[i] > sum[r->place]) r->place = (uint32_t)i;
  r->n = b->each_line ? sum[r->place] : all;
  r->over = r->n > b->most;
}

LJP_API ljp_status ljp_tree_budget(ljp_tree *t, const ljp_budget *budget,
                                   ljp_budget_result *result)
{
  size_t places = ljp_tree_place_count(t) + 1, n = t->path_count + places;
  unsigned char *hit = (unsigned char *)ljpi_tree_scratch(t, n, 1);
  uint64_t *sum = (uint64_t *)ljpi_tree_scratch(t, places, sizeof(*sum));
  memset(result, 0, sizeof(*result));
  if (hit && sum) ljpi_tree_spend(t, budget, hit, sum, result);
  ljpi_free_array(&t->mem, hit, n, 1);
  ljpi_free_array(&t->mem, sum, places, sizeof(*sum));
  return t->status;
}

/* - Call tree of a recording - */

/* Frames of a path that are kept one by one; what is called from deeper down
** stands together, so that no chain of callers makes reports large. */
#define LJPI_DEPTH_MAX 1000u

typedef struct ljpi_planted {
  uint32_t path;          /* + 1; 0: not yet. */
  uint32_t level;         /* LJPI_DEPTH_MAX + 1: below the cut. */
} ljpi_planted;

typedef struct ljpi_planter { /* A tree in the making. */
  ljp_tree *t;
  const ljp_profile *p;
  ljp_tree_options options;
  ljpi_planted *path;     /* Of each stack defined. */
  uint32_t *chain;        /* Stacks on the way to a root. */
  uint32_t *place;        /* Of each frame defined; 0: not yet. */
} ljpi_planter;

/* Whether a chunk name is a name: what LuaJIT itself shows is marked by @ or
** =; of the rest, short ones of harmless characters. */
static int ljpi_chunk_is_name(const char *p, size_t size)
{
  size_t i;
  if (size == 0 || size > 80) return 0;
  for (i = 0; i < size; i++) {
    unsigned char c = (unsigned char)p[i];
    if (c < 0x80 && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
        !(c >= 'A' && c <= 'Z') && !strchr("_./:-\\", c))
      return 0;
    if (c == 0) return 0;
  }
  return 1;
}

/* A chunk name as a file's. */
static ljp_status ljpi_plant_chunk(ljpi_planter *pl, const char *p,
                                   size_t size, uint32_t *file)
{
  char buf[80];
  if (size > 1 && (p[0] == '@' || p[0] == '='))
    return ljp_tree_string(pl->t, p + 1, size - 1, file);
  if (pl->options.show_source || ljpi_chunk_is_name(p, size))
    return ljp_tree_string(pl->t, p, size, file);
  snprintf(buf, sizeof(buf), "[source text #%08x, %llu bytes]",
           (unsigned)(ljpi_hash_bytes(p, size) & 0xffffffffu),
           (unsigned long long)size);
  return ljp_tree_string(pl->t, buf, strlen(buf), file);
}

/* The place that a label names, leaving its trace aside. */
static ljp_status ljpi_plant_label(ljpi_planter *pl, const ljp_label *l,
                                   uint32_t *place)
{
  const ljp_symbols *s = &pl->p->symbols;
  ljp_place at;
  ljpi_text text;
  char buf[LJPI_TREE_NAME + sizeof(text.head) + sizeof(text.tail)];
  size_t size;
  const char *name = ljp_symbols_string(s, l->name, &size);
  memset(&at, 0, sizeof(at));
  if (l->kind == LJP_LABEL_LUA) {
    at.line = l->value;
    if (ljpi_plant_chunk(pl, name, size, &at.file) != LJP_OK)
      return pl->t->status;
    return ljp_tree_place(pl->t, &at, place);
  }
  memset(&text, 0, sizeof(text));
  text.part[1] = "";
  ljpi_place_text(s, l, &text);
  if (size > LJPI_TREE_NAME) size = LJPI_TREE_NAME;
  snprintf(buf, sizeof(buf), "%s%.*s", text.head, (int)size, name);
  if (l->kind != LJP_LABEL_CSYM)
    snprintf(buf + strlen(buf), sizeof(text.tail), "%s", text.tail);
  at.kind = l->kind == LJP_LABEL_INTERNAL ? LJP_PLACE_VM
            : l->kind == LJP_LABEL_UNKNOWN_TRACE ? LJP_PLACE_TRACE
            : l->kind == LJP_LABEL_LFUNC ? LJP_PLACE_LUA : LJP_PLACE_C;
  if (ljp_tree_string(pl->t, buf, strlen(buf), &at.name) != LJP_OK)
    return pl->t->status;
  return ljp_tree_place(pl->t, &at, place);
}

/* The path of a location: its trace's start, if known, then itself. */
static ljp_status ljpi_plant_path(ljpi_planter *pl, const ljp_label *l,
                                  uint32_t *path)
{
  ljp_place at;
  char buf[48];
  uint32_t place;
  *path = 0;
  if (l->kind || !l->trace_kind) {
    if (ljpi_plant_label(pl, l, &place) != LJP_OK ||
        ljp_tree_path(pl->t, 0, place, path) != LJP_OK)
      return pl->t->status;
  }
  if (!l->trace_kind) return LJP_OK;
  memset(&at, 0, sizeof(at));
  at.kind = LJP_PLACE_TRACE;
  snprintf(buf, sizeof(buf), pl->options.stable_names ? "TRACE"
                                                      : "TRACE [%llu]",
           (unsigned long long)l->trace);
  if (ljp_tree_string(pl->t, buf, strlen(buf), &at.name) != LJP_OK ||
      ljp_tree_place(pl->t, &at, &place) != LJP_OK)
    return pl->t->status;
  return ljp_tree_path(pl->t, *path, place, path);
}

/* A place that is but a name. */
static ljp_status ljpi_plant_name(ljpi_planter *pl, ljp_place_kind kind,
                                  const char *name, uint32_t *place)
{
  ljp_place at;
  memset(&at, 0, sizeof(at));
  at.kind = (uint32_t)kind;
  if (ljp_tree_string(pl->t, name, strlen(name), &at.name) != LJP_OK)
    return pl->t->status;
  return ljp_tree_place(pl->t, &at, place);
}

/* The place of a C frame; modules stand in the tree in their order here. */
static ljp_status ljpi_plant_c(ljpi_planter *pl, const ljpi_known *frame,
                               const ljp_label *l, uint32_t *place)
{
  const ljp_symbols *s = &pl->p->symbols;
  const ljpi_known *d = ljpi_def4(s, LJPI_DEF_MODULE, frame->n[3]);
  ljp_place at;
  ljpi_text text;
  size_t size, from = 0;
  const char *name = ljp_symbols_string(s, l->name, &size);
  char buf[LJPI_TREE_NAME + sizeof(text.head) + sizeof(text.tail)];
  memset(&at, 0, sizeof(at));
  memset(&text, 0, sizeof(text));
  ljpi_place_text(s, l, &text);
  if (l->kind == LJP_LABEL_MODULE)
    for (from = size; from && name[from - 1] != '/'; from--) {}
  size = size - from < LJPI_TREE_NAME ? size - from : LJPI_TREE_NAME;
  snprintf(buf, sizeof(buf), "%s%.*s", text.head, (int)size, name + from);
  if (l->kind != LJP_LABEL_CSYM)
    snprintf(buf + strlen(buf), sizeof(text.tail), "%s", text.tail);
  at.kind = LJP_PLACE_C;
  at.addr = l->kind == LJP_LABEL_CSYM ? l->value : frame->n[1];
  if (d) {
    name = ljp_symbols_string(s, ljpi_string4(s, d->n[0]), &size);
    ljp_tree_string(pl->t, name, size, &at.file);
    at.module = (uint32_t)(d - (const ljpi_known *)
                                 s->defs[LJPI_DEF_MODULE].v) + 1;
  }
  if (ljp_tree_string(pl->t, buf, strlen(buf), &at.name) != LJP_OK)
    return pl->t->status;
  return ljp_tree_place(pl->t, &at, place);
}

static ljp_status ljpi_plant_frame(ljpi_planter *pl, const ljpi_known *frame,
                                   uint32_t *place)
{
  const ljp_symbols *s = &pl->p->symbols;
  const ljpi_known *d;
  ljp_label l;
  ljp_place at;
  size_t size;
  const char *name;
  char buf[48];
  memset(&l, 0, sizeof(l));
  memset(&at, 0, sizeof(at));
  ljpi_frame_label(s, frame, &l);
  name = ljp_symbols_string(s, l.name, &size);
  switch (frame->n[0]) {
  case LJP_FRAME4_LUA:
    d = ljpi_def4(s, LJPI_DEF_FUNCTION, frame->n[1]);
    if (l.kind == LJP_LABEL_NONE) break;
    at.line = frame->n[2];
    at.first_line = d->n[1];
    if (ljpi_plant_chunk(pl, name, size, &at.file) != LJP_OK)
      return pl->t->status;
    return ljp_tree_place(pl->t, &at, place);
  case LJP_FRAME4_C:
    return ljpi_plant_c(pl, frame, &l, place);
  case LJP_FRAME4_VM:
    return ljpi_plant_name(pl, LJP_PLACE_VM, ljpi_state_text(frame->n[1]),
                           place);
  case LJP_FRAME4_JIT:
    snprintf(buf, sizeof(buf), pl->options.stable_names ? "TRACE"
                                                        : "TRACE [%llu]",
             (unsigned long long)frame->n[1]);
    return ljpi_plant_name(pl, LJP_PLACE_TRACE, buf, place);
  case LJP_FRAME4_FAST:
    if (l.kind == LJP_LABEL_NONE) break;
    at.kind = LJP_PLACE_BUILTIN;
    if (ljp_tree_string(pl->t, name, size, &at.name) != LJP_OK)
      return pl->t->status;
    return ljp_tree_place(pl->t, &at, place);
  default:
    return ljpi_plant_name(pl, LJP_PLACE_MISSING, ljpi_gap_text(frame->n[1]),
                           place);
  }
  return ljpi_plant_name(pl, LJP_PLACE_MISSING, "(name lost)", place);
}

/* The place of a frame by id. */
static ljp_status ljpi_plant_frame_id(ljpi_planter *pl, uint64_t id,
                                      uint32_t *place)
{
  const ljpi_table *t = &pl->p->symbols.defs[LJPI_DEF_FRAME];
  const ljpi_known *d = ljpi_def4(&pl->p->symbols, LJPI_DEF_FRAME, id);
  uint32_t *memo;
  if (!d) return ljpi_plant_name(pl, LJP_PLACE_MISSING, "(name lost)", place);
  memo = &pl->place[d - (const ljpi_known *)t->v];
  if (*memo == 0 && ljpi_plant_frame(pl, d, memo) != LJP_OK)
    return pl->t->status;
  *place = *memo;
  return LJP_OK;
}

/* The path of `place` called from `at`, which becomes it. */
static ljp_status ljpi_plant_call(ljpi_planter *pl, uint32_t place,
                                  ljpi_planted *at)
{
  uint32_t parent = at->path - 1, cut;
  if (at->level > LJPI_DEPTH_MAX)
    parent = ljp_tree_path_at(pl->t, parent)->parent;
  else if (at->level++ == LJPI_DEPTH_MAX &&
           (ljpi_plant_name(pl, LJP_PLACE_MISSING, ljpi_gap_text(1), &cut) !=
              LJP_OK ||
            ljp_tree_path(pl->t, parent, cut, &parent) != LJP_OK))
    return pl->t->status;
  if (ljp_tree_path(pl->t, parent, place, &parent) != LJP_OK)
    return pl->t->status;
  at->path = parent + 1;
  return LJP_OK;
}

/* The path of a stack; what is known of it if definitions were lost. */
static ljp_status ljpi_plant_stack(ljpi_planter *pl, uint64_t stack,
                                   uint32_t *path)
{
  const ljp_symbols *s = &pl->p->symbols;
  const ljpi_stack *v = (const ljpi_stack *)s->defs[LJPI_DEF_STACK].v, *at;
  ljpi_planted top = {1, 0};
  uint32_t place;
  size_t n = 0;
  while (stack) {
    at = (const ljpi_stack *)ljpi_def_at(s, LJPI_DEF_STACK, stack);
    if (!at) {
      if (ljpi_plant_name(pl, LJP_PLACE_MISSING, "(name lost)", &place) !=
            LJP_OK ||
          ljpi_plant_call(pl, place, &top) != LJP_OK)
        return pl->t->status;
      break;
    }
    if (pl->path[at - v].path) {
      top = pl->path[at - v];
      break;
    }
    pl->chain[n++] = (uint32_t)(at - v);
    stack = at->parent;
  }
  while (n-- > 0) {
    if (ljpi_plant_frame_id(pl, v[pl->chain[n]].frame, &place) != LJP_OK ||
        ljpi_plant_call(pl, place, &top) != LJP_OK)
      return pl->t->status;
    pl->path[pl->chain[n]] = top;
  }
  *path = top.path - 1;
  return LJP_OK;
}

/* The path of a site of format 4: its stack, then the VM if it acted by
** itself. */
static ljp_status ljpi_plant_site4(ljpi_planter *pl, uint64_t site,
                                   uint32_t *path)
{
  const ljpi_known *d = ljpi_def4(&pl->p->symbols, LJPI_DEF_SITE, site);
  const ljp_place *leaf;
  uint32_t place;
  *path = 0;
  if (d && ljpi_plant_stack(pl, d->n[0], path) != LJP_OK)
    return pl->t->status;
  if (d && *path) {
    leaf = ljp_tree_place_at(pl->t, pl->t->path[*path].place);
    if (!ljpi_own_state(d->n[1]) || leaf->kind == LJP_PLACE_VM) return LJP_OK;
  }
  if ((d ? ljpi_plant_name(pl, LJP_PLACE_VM, ljpi_state_text(d->n[1]), &place)
         : ljpi_plant_name(pl, LJP_PLACE_MISSING, "(name lost)", &place)) !=
      LJP_OK)
    return pl->t->status;
  return ljp_tree_path(pl->t, *path, place, path);
}

static ljp_status ljpi_plant_modules(ljpi_planter *pl)
{
  const ljp_symbols *s = &pl->p->symbols;
  const ljpi_table *t = &s->defs[LJPI_DEF_MODULE];
  const ljpi_known *d = (const ljpi_known *)t->v;
  size_t i, k, size;
  for (i = 0; i < t->count; i++) {
    char hex[2 * 32 + 1];
    uint32_t path, id, module;
    const char *p = ljp_symbols_string(s, (uint32_t)d[i].n[4], &size);
    hex[0] = 0;
    for (k = 0; k < size && k < 32; k++)
      snprintf(hex + 2 * k, 3, "%02x", (unsigned char)p[k]);
    ljp_tree_string(pl->t, hex, strlen(hex), &id);
    p = ljp_symbols_string(s, ljpi_string4(s, d[i].n[0]), &size);
    ljp_tree_string(pl->t, p, size, &path);
    if (ljp_tree_module(pl->t, path, id, d[i].n[1], d[i].n[2], &module) !=
        LJP_OK)
      return pl->t->status;
  }
  return LJP_OK;
}

/* Whether any stack has a caller in it. */
static int ljpi_has_stacks(const ljp_symbols *s)
{
  const ljpi_table *t = &s->defs[LJPI_DEF_STACK];
  const ljpi_stack *v = (const ljpi_stack *)t->v;
  size_t i;
  for (i = 0; i < t->count; i++)
    if (v[i].parent) return 1;
  return 0;
}

static ljp_status ljpi_plant_sites(ljpi_planter *pl)
{
  const ljp_aggregate *a = &pl->p->aggregate;
  size_t i;
  for (i = 0; i < a->sum_count; i++) {
    ljp_site s;
    uint32_t path;
    ljp_status st;
    ljp_aggregate_site(a, i, &s);
    if (s.taken_count == 0) continue;
    st = s.source == LJP_SOURCE_SITE
           ? ljpi_plant_site4(pl, s.id, &path)
           : ljpi_plant_path(pl, ljp_aggregate_label(a, s.label), &path);
    if (st != LJP_OK) return st;
    ljp_tree_add(pl->t, path, LJP_ALLOC_SIZE, s.alloc_size);
    ljp_tree_add(pl->t, path, LJP_ALLOC_SIZE, s.realloc_new_size);
    ljp_tree_add(pl->t, path, LJP_ALLOC_COUNT, s.alloc_count);
    ljp_tree_add(pl->t, path, LJP_ALLOC_COUNT, s.realloc_count);
    ljp_tree_add(pl->t, path, LJP_INUSE_SIZE, s.live_size);
    ljp_tree_add(pl->t, path, LJP_INUSE_COUNT, s.live_count);
    ljp_tree_add(pl->t, path, LJP_PEAK_SIZE, s.peak_size);
    ljp_tree_add(pl->t, path, LJP_PEAK_COUNT, s.peak_count);
    ljp_tree_add(pl->t, path, LJP_TEMP_SIZE, s.temp_size);
    ljp_tree_add(pl->t, path, LJP_TEMP_COUNT, s.temp_count);
  }
  return LJP_OK;
}

/* Sites, with what format 4 needs for them. */
static ljp_status ljpi_plant_all(ljpi_planter *pl)
{
  const ljpi_table *defs = pl->p->symbols.defs;
  size_t stacks = defs[LJPI_DEF_STACK].count + 1;
  size_t frames = defs[LJPI_DEF_FRAME].count + 1;
  ljpi_mem *mem = &pl->t->mem;
  pl->path = (ljpi_planted *)ljpi_tree_scratch(pl->t, stacks,
                                               sizeof(*pl->path));
  pl->chain = (uint32_t *)ljpi_tree_scratch(pl->t, stacks, 4);
  pl->place = (uint32_t *)ljpi_tree_scratch(pl->t, frames, 4);
  if (pl->path && pl->chain && pl->place &&
      ljpi_plant_modules(pl) == LJP_OK)
    ljpi_plant_sites(pl);
  ljpi_free_array(mem, pl->path, stacks, sizeof(*pl->path));
  ljpi_free_array(mem, pl->chain, stacks, 4);
  ljpi_free_array(mem, pl->place, frames, 4);
  return pl->t->status;
}

/* An amount that is said only if there is one. */
static void ljpi_plant_if(ljpi_planter *pl, const char *label, uint64_t n)
{
  if (n) ljp_tree_total(pl->t, label, n, 0);
}

/* What the collector counts and the process holds beside the blocks. */
static void ljpi_plant_coverage(ljpi_planter *pl)
{
  const ljpi_story *run = &pl->p->run;
  uint64_t held = pl->p->aggregate.totals.live_size;
  uint64_t total = run->ended ? run->final[12] : 0, rss = 0;
  char buf[160];
  if (run->mark_count) rss = run->mark[run->mark_count - 1].rss;
  if (total) {
    ljp_tree_total(pl->t, "GC total at the end", total, 1);
    snprintf(buf, sizeof(buf), "recorded blocks hold %llu bytes at the end, "
             "the collector counts %llu", (unsigned long long)held,
             (unsigned long long)total);
    ljp_tree_note(pl->t, buf);
  }
  if (rss) ljp_tree_total(pl->t, "resident set, last seen", rss, 1);
}

/* What LJP_ALLOC_* add up to under the name of it, then its parts. */
static void ljpi_plant_allocated(ljp_tree *t, const ljp_totals *s)
{
  uint64_t count = s->alloc_count, size = s->alloc_size;
  ljpi_add(&count, s->realloc_count);
  ljpi_add(&size, s->realloc_new_size);
  ljp_tree_total(t, "allocations", count, 0);
  ljp_tree_total(t, "allocated", size, 1);
  ljp_tree_total(t, "allocations: new blocks", s->alloc_count, 0);
  ljp_tree_total(t, "allocated: new blocks", s->alloc_size, 1);
  ljp_tree_total(t, "allocations: blocks made another size",
                 s->realloc_count, 0);
  ljp_tree_total(t, "allocated: blocks made another size, new sizes",
                 s->realloc_new_size, 1);
  ljp_tree_total(t, "their old sizes", s->realloc_old_size, 1);
}

static void ljpi_plant_totals(ljpi_planter *pl)
{
  ljp_totals sum;
  const ljp_totals *s = &sum;
  ljp_tree *t = pl->t;
  ljp_aggregate_totals(&pl->p->aggregate, &sum);
  ljp_tree_total(t, "events", s->events, 0);
  ljpi_plant_allocated(t, s);
  ljp_tree_total(t, "deallocations", s->free_count, 0);
  ljp_tree_total(t, "deallocated", s->free_size, 1);
  ljp_tree_total(t, "held at the end, blocks", s->live_count, 0);
  ljp_tree_total(t, "held at the end", s->live_size, 1);
  ljp_tree_total(t, "held at the most, blocks", s->peak_count, 0);
  ljp_tree_total(t, "held at the most", s->peak_size, 1);
  ljp_tree_total(t, "from before the start, blocks freed or moved",
                 s->before_count, 0);
  ljpi_plant_if(pl, "calls that got no memory", s->failed_count);
  ljpi_plant_if(pl, "anomaly: allocated while still live", s->again_count);
  ljpi_plant_if(pl, "anomaly: old size differs from the one recorded",
                s->size_count);
  ljpi_plant_if(pl, "frees of address 0, left out", s->null_free_count);
  ljpi_plant_if(pl, "stray records, read as C symbols", s->stray_count);
  if (s->sampled_count) {
    ljp_tree_total(t, "samples", s->sampled_count, 0);
    ljp_tree_total(t, "error of what was allocated (95 in 100 are nearer)",
                   s->alloc_error, 1);
    ljp_tree_total(t, "error of what is held at the end", s->live_error, 1);
  }
  ljpi_plant_coverage(pl);
}

/* Facts that a format 4 stream tells of itself. */
static void ljpi_plant_meta(ljpi_planter *pl)
{
  const ljpi_story *run = &pl->p->run;
  size_t i, k, size, text_size;
  for (i = 0; i < run->meta_count; i++) {
    char key[64], text[256];
    const char *p = ljp_symbols_string(&pl->p->symbols, run->meta[i][0],
                                       &size);
    const char *q = ljp_symbols_string(&pl->p->symbols, run->meta[i][1],
                                       &text_size);
    snprintf(key, sizeof(key), "%.*s", (int)(size < 60 ? size : 60), p);
    snprintf(text, sizeof(text), "%.*s",
             (int)(text_size < 250 ? text_size : 250), q);
    ljp_tree_fact(pl->t, key, text);
    for (k = 0; text[k] >= '0' && text[k] <= '9' && k < 18; k++) {}
    if (k == 0 || text[k]) continue;
    if (strcmp(key, "start") == 0)
      pl->t->time = strtoull(text, NULL, 10) * 1000000000u;
    if (strcmp(key, "sample") == 0)
      pl->t->period = strtoull(text, NULL, 10);
  }
}

/* How a format 4 stream ended, and what is missing in it. */
static void ljpi_plant_end(ljpi_planter *pl)
{
  static const char *const reason[] = {
    "stopped", "VM closed", "process ended", "the file could not be written",
    "a limit was reached", "out of memory", "the host replaced the allocator"
  };
  const ljpi_story *run = &pl->p->run;
  char buf[160];
  if (run->ended) {
    ljp_tree_fact(pl->t, "ended", reason[run->final[0]]);
    snprintf(buf, sizeof(buf), "%llu.%03u s",
             (unsigned long long)(run->final[2] / 1000000000u),
             (unsigned)(run->final[2] / 1000000u % 1000u));
    ljp_tree_fact(pl->t, "run time",
                  run->final[2] < 1000000u ? "under 1 ms" : buf);
    pl->t->duration = run->final[2];
    if (run->final[0] == 4 || run->final[0] == 5)
      ljp_tree_warn(pl->t, "names, stacks or samples are missing: the "
                    "recorder had too little memory");
    else if (run->final[0] >= 3)
      ljp_tree_warn(pl->t, "recording ended early: see how it ended");
  }
  if (run->dropped_events || run->dropped_size) {
    snprintf(buf, sizeof(buf), "the recorder dropped %llu events, %llu bytes",
             (unsigned long long)run->dropped_events,
             (unsigned long long)run->dropped_size);
    ljp_tree_warn(pl->t, buf);
  }
  if (run->damages) {
    snprintf(buf, sizeof(buf), "damaged: %llu places, %llu bytes and at least "
             "%llu events lost", (unsigned long long)run->damages,
             (unsigned long long)run->lost_size,
             (unsigned long long)run->lost_events);
    ljp_tree_warn(pl->t, buf);
  }
}

static const char *ljpi_object_text(size_t object)
{
  static const char *const text[LJPI_OBJECTS] = {
    "not known", "string", "upvalue", "thread", "prototype", "function",
    "trace", "cdata", "table", "userdata", "table, array part",
    "table, hash part", "Lua stack", "string table", "buffer", "VM state",
    "C types", "JIT structures"
  };
  return object < LJPI_OBJECTS ? text[object] : "not known";
}

/* Kinds of what is still held: told at the stop, else by the sites. */
static void ljpi_plant_kinds(ljpi_planter *pl)
{
  const ljp_aggregate *a = &pl->p->aggregate;
  const ljpi_story *run = &pl->p->run;
  uint64_t count[LJPI_OBJECTS], size[LJPI_OBJECTS];
  uint64_t count_left = a->totals.live_count, size_left = a->totals.live_size;
  size_t i;
  memcpy(count, run->kind_count, sizeof(count));
  memcpy(size, run->kind_size, sizeof(size));
  for (i = 0; i < a->sum_count && run->live_count == 0; i++) {
    ljp_site s;
    const ljpi_known *d;
    ljp_aggregate_site(a, i, &s);
    if (s.source != LJP_SOURCE_SITE) return;
    d = ljpi_def4(&pl->p->symbols, LJPI_DEF_SITE, s.id);
    if (!d) continue;
    ljpi_add(&count[d->n[2]], s.live_count);
    ljpi_add(&size[d->n[2]], s.live_size);
  }
  for (i = 1; i < LJPI_OBJECTS; i++) {
    ljpi_sub(&count_left, count[i]);
    ljpi_sub(&size_left, size[i]);
    if (count[i])
      ljp_tree_kind(pl->t, ljpi_object_text(i), size[i], count[i]);
  }
  if (count_left)
    ljp_tree_kind(pl->t, ljpi_object_text(0), size_left, count_left);
}

/* How long freed blocks had lived, in steps of 16 times. */
static void ljpi_plant_lives(ljpi_planter *pl)
{
  static const char *const text[] = {
    "less than 256 B", "less than 4 KiB", "less than 64 KiB",
    "less than 1 MiB", "less than 16 MiB", "less than 256 MiB", "more"
  };
  const ljpi_extra *x = &pl->p->aggregate.extra;
  uint64_t count = 0, size = 0;
  unsigned i, k = 0;
  for (i = 0; i < 64; i++) {
    ljpi_add(&count, x->count[i]);
    ljpi_add(&size, x->size[i]);
    if (i != 8 + 4 * k && i != 63) continue;
    if (k == 6 && i != 63) continue;
    if (count) ljpi_tree_word(pl->t, LJPI_LIFE, text[k], "", size, count);
    count = size = 0;
    if (k < 6) k++;
  }
}

static void ljpi_plant_words(ljpi_planter *pl)
{
  const ljp_error *e = ljp_profile_error(pl->p);
  char buf[200];
  ljp_tree_title(pl->t, pl->options.title ? pl->options.title
                                          : "memory profile");
  snprintf(buf, sizeof(buf), "%u/%u", pl->p->decoder.ljs,
           pl->p->decoder.ljm);
  ljp_tree_fact(pl->t, "format", buf);
  ljpi_plant_meta(pl);
  if (e->status == LJP_OK) {
    ljp_tree_fact(pl->t, "read", "whole");
  } else {
    ljp_error_text(e, buf, sizeof(buf));
    ljp_tree_fact(pl->t, "read", buf);
    ljp_tree_warn(pl->t, buf);
  }
  ljpi_plant_end(pl);
  ljpi_plant_kinds(pl);
  ljpi_plant_lives(pl);
  ljp_tree_note(pl->t, "covered: blocks of the VM's allocator; not machine "
                       "code, callback pages, ffi.C.malloc, slack of its "
                       "arena");
  pl->t->stacks = ljpi_has_stacks(&pl->p->symbols);
  if (!pl->t->stacks)
    ljp_tree_note(pl->t, "there are no call stacks in this recording: each "
                         "location stands alone, below its trace's start if "
                         "known");
}

/* Adds a point, and the peak before it if it lies there. *last: the point
** before, of which `at` is on the timeline's axis. */
static void ljpi_plant_point(ljpi_planter *pl, ljp_point *p, uint64_t event,
                             uint64_t *last_at, uint64_t *last_event)
{
  const ljp_totals *s = &pl->p->aggregate.totals;
  ljp_tree *t = pl->t;
  if (p->at < *last_at) p->at = *last_at;
  if (s->peak_size && t->peak_size == 0 && event >= s->peak_event) {
    uint64_t before = s->peak_event > *last_event
                        ? s->peak_event - *last_event : 0;
    ljp_point peak;
    peak.at = p->at;
    if (event > s->peak_event && event > *last_event)
      peak.at = *last_at + (uint64_t)((double)before /
                                      (double)(event - *last_event) *
                                      (double)(p->at - *last_at));
    peak.live_size = s->peak_size;
    peak.gc_total = peak.gc_threshold = peak.rss = UINT64_MAX;
    t->peak_at = peak.at;
    t->peak_size = s->peak_size;
    ljp_tree_point(t, &peak);
  }
  *last_at = p->at;
  *last_event = event;
  ljp_tree_point(t, p);
}

/* Whether the marks tell enough of the time to make it the axis. A short run
** has few of them, and a coarse clock gives all of them one time. */
static int ljpi_marks_tell_time(const ljpi_story *run)
{
  return run->mark_count >= LJPI_MARKS_TELL &&
         run->mark[0].time < run->mark[run->mark_count - 1].time;
}

/* By time if there are marks to tell it, else by number of events. */
static void ljpi_plant_timeline(ljpi_planter *pl)
{
  const ljp_aggregate *a = &pl->p->aggregate;
  const ljpi_story *run = &pl->p->run;
  uint64_t at = 0, event = 0;
  size_t i;
  ljp_point p;
  memset(&p, 0xff, sizeof(p));
  pl->t->temp_within = a->extra.within;
  pl->t->by_time = ljpi_marks_tell_time(run);
  for (i = 0; i < run->mark_count && pl->t->by_time; i++) {
    const ljpi_mark4 *m = &run->mark[i];
    p.at = m->time;
    p.live_size = m->live_size;
    p.gc_total = m->gc_total;
    p.gc_threshold = m->gc_threshold;
    p.rss = m->rss ? m->rss : UINT64_MAX;
    ljpi_plant_point(pl, &p, m->event, &at, &event);
  }
  for (i = 0; i < run->named_count; i++) {
    size_t size;
    const char *label = ljp_symbols_string(&pl->p->symbols,
      ljpi_string4(&pl->p->symbols, run->named[i].label), &size);
    ljp_tree_mark(pl->t, pl->t->by_time ? run->named[i].time
                                        : run->named[i].event, label, size);
  }
  if (pl->t->by_time) return;
  for (i = 0; i <= a->point_count; i++) {
    p.at = i < a->point_count ? a->point[i].event : a->totals.events;
    p.live_size = i < a->point_count ? a->point[i].live_size
                                     : a->totals.live_size;
    ljpi_plant_point(pl, &p, p.at, &at, &event);
  }
}

LJP_API ljp_status ljp_profile_tree(const ljp_profile *p,
                                    const ljp_tree_options *options,
                                    ljp_tree **out)
{
  ljp_options o;
  ljpi_planter pl;
  ljp_status st;
  if (!p || !out || p->aggregate.model != LJP_MODEL_TRUE) return LJP_E_ARG;
  memset(&o, 0, sizeof(o));
  o.allocator = p->mem.a;
  o.limits.memory = p->mem.limit;
  st = ljp_tree_new(out, &o);
  if (st != LJP_OK) return st;
  memset(&pl, 0, sizeof(pl));
  pl.t = *out;
  pl.p = p;
  if (options) pl.options = *options;
  ljpi_plant_words(&pl);
  ljpi_plant_totals(&pl);
  ljpi_plant_timeline(&pl);
  ljpi_plant_all(&pl);
  st = ljp_tree_status(pl.t);
  if (st == LJP_OK) return st;
  ljp_tree_free(pl.t);
  *out = NULL;
  return st;
}

#undef LJPI_LIKELY
#undef LJPI_PREFETCH
#undef LJPI_INLINE
#undef LJPI_NOINLINE

#endif /* LJP_IMPLEMENTATION */

/* -- Licence: MIT, see LICENSE ------------------------------------------ */
