/*
** test_recorder - starting, stopping, failing: what a host may do to a
** recorder, and what it may do to a host.
*/
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>

#include "ljmemprof.h"
#include "ljtest.h"
#include "ljtlua.h"
#include "ljtsink.h"
#include "ljtstream.h"
#include "ljtvm.h"

static ljm_options format(uint32_t f)
{
  ljm_options o;
  memset(&o, 0, sizeof(o));
  o.format = f;
  return o;
}

/* -- Start and stop ----------------------------------------------------- */

static void case_twice(void)
{
  lua_State *L = new_state();
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    ljm_options o = format(f);
    ljt_sink kept, other;
    ljm_sink a = ljt_sink_make(&kept), b = ljt_sink_make(&other);
    ljm_result res;
    int status;
    LJT_EQ(ljm_recorder_stop(L, &res), LJM_E_NOTRUNNING);
    LJT_EQ(ljm_recorder_flush(L), LJM_E_NOTRUNNING);
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    LJT_EQ(ljm_recorder_running(L), 1);
    LJT_EQ(ljm_recorder_start(L, &b, &o, NULL), LJM_E_RUNNING);
    LJT_EQ(other.calls + other.closed, 0);
    run(L, WORK);
    LJT_EQ(ljm_recorder_stop(L, &res), LJM_OK);
    LJT_EQ(res.reason, LJM_REASON_STOPPED);
    LJT_EQ(ljm_recorder_stop(L, &res), LJM_E_NOTRUNNING);
    LJT_OK(count_events(&kept, &status) > 300);
    LJT_EQ(status, 0);
    ljt_sink_free(&kept);
  }
  lua_close(L);
}

static void case_nothing(void)
{
  lua_State *L = new_state();
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    int status;
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    LJT_EQ(count_events(&kept, &status), 0);
    LJT_EQ(status, 0);
    ljt_sink_free(&kept);
  }
  lua_close(L);
}

static void case_options(void)
{
  static const struct {
    const char *name;
    uint32_t format, depth;
    uint64_t sample;
    size_t buffer;
  } rows[] = {
    {"format 2", 2, 0, 0, 0},     {"format 5", 5, 0, 0, 0},
    {"depth", 4, 5000, 0, 0},     {"depth in 3", 3, 2, 0, 0},
    {"sample in 3", 3, 0, 1, 0},  {"buffer", 4, 0, 0, 10},
    {"buffer in 3", 3, 0, 0, 10},
    {"sample", 4, 0, (UINT64_C(1) << 48) + 1, 0},
  };
  lua_State *L = new_state();
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljm_options o = format(rows[i].format);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljt.row = rows[i].name;
    o.depth = rows[i].depth;
    o.sample = rows[i].sample;
    o.encoder.buffer_size = rows[i].buffer;
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_E_ARG);
    LJT_EQ(ljm_recorder_running(L), 0);
    LJT_EQ(kept.calls + kept.closed, 0);
  }
  ljt.row = NULL;
  {
    ljm_options o = format(3);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    o.no_live = 1;
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_E_ARG);
    o = format(4);
    o.encoder.alloc.alloc = ljt_heap_alloc; /* Partly filled. */
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_E_ARG);
    LJT_EQ(ljm_recorder_start(NULL, &a, NULL, NULL), LJM_E_ARG);
    LJT_EQ(kept.calls + kept.closed, 0);
    a.write = NULL;
    LJT_EQ(ljm_recorder_start(L, &a, NULL, NULL), LJM_E_ARG);
  }
  LJT_EQ(ljm_recorder_start(L, NULL, NULL, NULL), LJM_E_ARG);
  LJT_EQ(ljm_recorder_start_file(L, NULL, NULL, NULL), LJM_E_ARG);
  LJT_EQ(ljm_recorder_start_file(NULL, "x", NULL, NULL), LJM_E_ARG);
  run(L, WORK);
  lua_close(L);
}

/* Flushes and marks at all times; a sink that nobody closes. */
static void case_marks(void)
{
  lua_State *L = new_state();
  uint32_t f;
  LJT_EQ(ljm_recorder_stop(NULL, NULL), LJM_E_ARG);
  LJT_EQ(ljm_recorder_flush(NULL), LJM_E_ARG);
  LJT_EQ(ljm_recorder_mark(NULL, "x", 1), LJM_E_ARG);
  LJT_EQ(ljm_recorder_running(NULL), 0);
  LJT_EQ(ljm_recorder_mark(L, "x", 1), LJM_E_NOTRUNNING);
  for (f = 3; f <= 4; f++) {
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljm_result res;
    uint64_t size;
    int status;
    a.close = NULL;
    o.encoder.flush_ns = UINT64_MAX;
    o.encoder.max_stacks = f == 4 ? UINT32_MAX : 0;
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    run(L, WORK);
    size = kept.size;
    LJT_EQ(ljm_recorder_flush(L), LJM_OK);
    LJT_OK(kept.size > size);
    size = kept.size;
    LJT_EQ(ljm_recorder_mark(L, NULL, 1), LJM_E_ARG);
    LJT_EQ(ljm_recorder_mark(L, "label of a mark", 15), LJM_OK);
    LJT_EQ(ljm_recorder_mark(L, NULL, 0), LJM_OK);
    LJT_EQ(ljm_recorder_mark(L, "", 0), LJM_OK);
    LJT_EQ(ljm_recorder_flush(L), LJM_OK);
    LJT_EQ(kept.size > size, f == 4);
    LJT_EQ(ljm_recorder_stop(L, &res), LJM_OK);
    LJT_EQ(res.written, kept.size);
    LJT_EQ(kept.closed, 0);
    LJT_OK(count_events(&kept, &status) > 300);
    LJT_EQ(status, 0);
    ljt_sink_free(&kept);
  }
  lua_close(L);
}

/* The resident size that the stream's last mark says. */
static uint64_t last_rss(const ljt_sink *s)
{
  ljt_bytes text = {NULL, 0, 0};
  const char *p, *end;
  uint64_t rss = UINT64_MAX;
  size_t off;
  (void)ljt_dump(s->data, s->size, 0, &text, NULL, &off); /* It goes on. */
  p = (const char *)text.data;
  for (end = p + text.size; p < end; p = strchr(p, '\n') + 1)
    if (strncmp(p, "mark ", 5) == 0)
      LJT_EQ(sscanf(p, "mark %*u %*u %*u %*u %*u %" SCNu64, &rss), 1);
  ljt_bytes_free(&text);
  return rss;
}

/* A process out of descriptors: the sink's is open, no other can be. */
static void case_no_descriptors(void)
{
  lua_State *L = new_state();
  ljm_options o = format(4);
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  struct rlimit had, none;
  LJT_EQ(getrlimit(RLIMIT_NOFILE, &had), 0);
  none = had;
  none.rlim_cur = 0;
  LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
  LJT_EQ(ljm_recorder_mark(L, NULL, 0), LJM_OK);
  LJT_EQ(ljm_recorder_flush(L), LJM_OK);
  LJT_OK(last_rss(&kept) >= 65536 && last_rss(&kept) < UINT64_C(1) << 40);
  LJT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  LJT_EQ(open("/proc/self/statm", O_RDONLY), -1);
  errno = 1234;
  LJT_EQ(ljm_recorder_mark(L, NULL, 0), LJM_OK);
  LJT_EQ(errno, 1234);
  LJT_EQ(ljm_recorder_flush(L), LJM_OK);
  LJT_EQ(errno, 1234);
  LJT_EQ(setrlimit(RLIMIT_NOFILE, &had), 0);
  LJT_EQ(last_rss(&kept), 0);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_OK(last_rss(&kept) >= 65536);
  ljt_sink_free(&kept);
  lua_close(L);
}

static void case_doors(void)
{
  lua_State *L = new_state();
  run(L,
    "local m = misc.memprof\n"
    "local function refused(errno, message, ok, msg, en)\n"
    "  assert(ok == nil and en == errno, tostring(en))\n"
    "  assert(msg:find(message, 1, true), msg)\n"
    "end\n"
    "refused(22, 'profiler is not running', m.stop())\n"
    "refused(2, 'No such file or directory', m.start('/nonexistent/x'))\n"
    "refused(21, 'Is a directory', m.start('/'))\n"
    "refused(28, 'No space left on device', m.start('/dev/full'))\n"
    "refused(22, 'profiler is not running', m.stop())\n"
    "local name = os.tmpname()\n"
    "local f = assert(io.open(name, 'w')) f:write('kept') f:close()\n"
    "assert(not pcall(m.start))\n"
    "assert(m.start(name) == true)\n"
    "refused(22, 'profiler is running already', m.start('/nonexistent/x'))\n"
    "refused(22, 'profiler is running already', m.start(name))\n"
    "assert(m.stop() == true)\n"
    "refused(22, 'profiler is not running', m.stop())\n"
    "assert(assert(io.open(name)):read(3) == 'ljs')\n"
    "local core = require('jit.memprof.core')\n"
    "local ok, msg = pcall(core.start, name, { dpeth = 1 })\n"
    "assert(not ok and msg:find('unknown option', 1, true), msg)\n"
    "ok, msg = pcall(core.start, name, { depth = 'x' })\n"
    "assert(not ok and msg:find('bad value', 1, true), msg)\n"
    "refused(22, 'invalid argument', core.start(name, { format = 7 }))\n"
    "refused(22, 'invalid argument', core.start(name, { format = 2^32 + 4 }))\n"
    "assert(core.start(name, { depth = 4 }) == true and core.running())\n"
    "assert(core.mark('here') and core.flush())\n"
    "assert(core.stop() == true and not core.running())\n"
    "os.remove(name)\n");
  lua_close(L);
}

/* Start and stop from everywhere Lua code runs. */
static void case_anywhere(void)
{
  lua_State *L = new_state();
  run(L,
    "local m = misc.memprof\n"
    "local name = os.tmpname()\n"
    "local function both() assert(m.start(name)) local t = { {} }\n"
    "  assert(m.stop()) return t end\n"
    "coroutine.wrap(function() coroutine.wrap(function() both() end)() end)()\n"
    "coroutine.wrap(function() m.start(name) end)()\n"
    "coroutine.wrap(function() assert(m.stop()) end)()\n"
    "assert(pcall(both)) assert(xpcall(both, print))\n"
    "assert(pcall(m.start, name)) assert(pcall(m.stop))\n"
    "assert(not m.stop())\n"
    "setmetatable({}, { __add = both }).__add = nil\n"
    "local _ = setmetatable({}, { __add = both }) + 1\n"
    "local done = 0\n"
    "local p = newproxy(true)\n"
    "getmetatable(p).__gc = function() both() done = done + 1 end\n"
    "p = nil collectgarbage() collectgarbage()\n"
    "assert(done == 1)\n"
    "debug.sethook(function() debug.sethook() both() end, 'l')\n"
    "local x = 1\n"
    "table.sort({ 3, 2, 1 }, function(a, b) both() return a < b end)\n"
    "assert(m.start(name))\n"
    "pcall(function() local t = {} error(t) end)\n"
    "assert(m.stop())\n"
    "os.remove(name)\n");
  lua_close(L);
}

/* -- Sinks that fail ---------------------------------------------------- */

typedef struct inside {
  lua_State *L;
  ljm_status start, stop, flush;
} inside;

static void call_inside(void *arg)
{
  inside *in = (inside *)arg;
  ljm_sink sink;
  void *ud, *block;
  lua_Alloc alloc = lua_getallocf(in->L, &ud);
  memset(&sink, 0, sizeof(sink));
  sink.write = ljt_sink_write;
  in->start = ljm_recorder_start(in->L, &sink, NULL, NULL);
  in->stop = ljm_recorder_stop(in->L, NULL);
  in->flush = ljm_recorder_flush(in->L);
  /* More of the VM may not be asked for inside of an allocation: its stack's
  ** top is not in memory, and a sweep may not make objects. */
  block = alloc(ud, NULL, 0, 40);
  LJT_OK(block != NULL);
  (void)alloc(ud, block, 40, 0);
}

/* Format 3, the same with the names of C functions written ahead, format 4. */
static ljm_options variant(uint32_t i)
{
  ljm_options o = format(i < 2 ? 3 : 4);
  o.eager = i == 1;
  return o;
}

static void case_sink_fails(void)
{
  uint64_t at;
  uint32_t i;
  for (i = 0; i < 3; i++) {
    ljm_options o = variant(i);
    o.encoder.buffer_size = 4096;
    o.encoder.flush_ns = UINT64_MAX;
    for (at = 1; ; at++) {
      lua_State *L = new_state();
      ljt_sink kept;
      ljm_sink a = ljt_sink_make(&kept);
      ljm_result res;
      ljm_error err;
      ljm_status st;
      int status, failed;
      kept.fail_at = at;
      kept.result = -ENOSPC;
      st = ljm_recorder_start(L, &a, &o, &err);
      if (st != LJM_OK) {
        LJT_EQ(at, 1);
        LJT_EQ(st, LJM_E_IO);
        LJT_EQ(err.sys_errno, ENOSPC);
        LJT_EQ(kept.closed, 0);
        run(L, WORK);
        lua_close(L);
        continue;
      }
      run(L, WORK);
      st = ljm_recorder_stop(L, &res);
      failed = kept.calls >= at;
      LJT_EQ(st, failed ? LJM_E_IO : LJM_OK);
      LJT_EQ(res.error.sys_errno, failed ? ENOSPC : 0);
      LJT_EQ(res.reason, failed ? LJM_REASON_SINK : LJM_REASON_STOPPED);
      LJT_EQ(kept.closed, 1);
      (void)count_events(&kept, &status);
      LJT_EQ(status, failed ? LJT_CUT : LJT_CLEAN);
      run(L, WORK);
      lua_close(L);
      ljt_sink_free(&kept);
      if (!failed) break;
    }
    LJT_OK(at > 3);
  }
}

static void case_sink_calls_back(void)
{
  lua_State *L = new_state();
  ljm_options o = format(4);
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  inside in;
  int status;
  o.encoder.buffer_size = 4096;
  LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
  in.L = L;
  kept.inside = call_inside;
  kept.arg = &in;
  run(L, WORK);
  kept.inside = NULL;
  LJT_EQ(in.start, LJM_E_RUNNING);
  LJT_EQ(in.stop, LJM_E_RUNNING);
  LJT_EQ(in.flush, LJM_E_RUNNING);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  (void)count_events(&kept, &status);
  LJT_EQ(status, 0);
  ljt_sink_free(&kept);
  lua_close(L);
}

/* -- The recorder's own memory ------------------------------------------ */

/* The reason in a stream's END. */
static uint64_t end_reason(const ljt_sink *s)
{
  ljt_bytes text = {NULL, 0, 0};
  size_t off;
  const char *end;
  uint64_t reason = 99;
  LJT_EQ(ljt_dump(s->data, s->size, 0, &text, NULL, &off), LJT_CLEAN);
  end = strstr((const char *)text.data, "\nend ");
  if (LJT_OK(end != NULL)) reason = strtoull(end + 5, NULL, 10);
  ljt_bytes_free(&text);
  return reason;
}

static void case_memory_fails(void)
{
  uint64_t at;
  uint32_t i;
  for (i = 0; i < 3; i++) {
    for (at = 1; ; at += at < 40 ? 1 : ljt.stride) {
      vm_heap h;
      lua_State *L = vm_state(&h);
      ljm_options o = variant(i);
      uint64_t done;
      ljt_heap heap;
      ljt_sink kept;
      ljm_sink a = ljt_sink_make(&kept);
      ljm_result res;
      ljm_status st;
      int status, whole;
      memset(&heap, 0, sizeof(heap));
      heap.fail_at = at;
      o.encoder.alloc.alloc = ljt_heap_alloc;
      o.encoder.alloc.realloc = ljt_heap_realloc;
      o.encoder.alloc.free = ljt_heap_free;
      o.encoder.alloc.user = &heap;
      luaL_openlibs(L);
      st = ljm_recorder_start(L, &a, &o, NULL);
      done = h.done;
      if (st == LJM_OK) {
        run(L, WORK);
        st = ljm_recorder_stop(L, &res);
        whole = heap.calls < at;
        LJT_EQ(st, whole ? LJM_OK : LJM_E_NOMEM);
        LJT_EQ(res.reason, whole ? LJM_REASON_STOPPED : LJM_REASON_NOMEM);
        LJT_EQ(res.dropped, 0);
        if (o.format == 4) LJT_EQ(end_reason(&kept), res.reason);
        LJT_EQ(count_events(&kept, &status), h.done - done);
        LJT_EQ(status, 0);
      } else {
        LJT_EQ(st, LJM_E_NOMEM);
        run(L, WORK);
      }
      whole = heap.calls < at;
      LJT_EQ(heap.live_count, 0);
      LJT_EQ(heap.bad_frees, 0);
      ljt_sink_free(&kept);
      lua_close(L);
      if (whole) break;
    }
    LJT_OK(at > 5);
  }
}

/* Records WORK with so much memory at most. */
static ljm_status limited_to(uint64_t limit, ljm_options *o, int *started)
{
  vm_heap h;
  lua_State *L = vm_state(&h);
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  ljm_result res;
  ljm_status st;
  uint64_t done;
  int status;
  o->encoder.max_memory = limit;
  luaL_openlibs(L);
  st = ljm_recorder_start(L, &a, o, NULL);
  done = h.done;
  *started = st == LJM_OK;
  if (*started) {
    run(L, WORK);
    st = ljm_recorder_stop(L, &res);
    LJT_EQ(res.reason, st == LJM_OK ? LJM_REASON_STOPPED : LJM_REASON_LIMIT);
    if (o->format == 4) LJT_EQ(end_reason(&kept), res.reason);
    LJT_EQ(count_events(&kept, &status), h.done - done);
    LJT_EQ(status, 0);
  }
  ljt_sink_free(&kept);
  lua_close(L);
  return st;
}

/* Too little memory to start, then for a part of it, then enough. (Format 3
** takes its buffer at the start, and little more.) */
static void case_memory_limit(void)
{
  uint32_t i;
  for (i = 0; i < 3; i++) {
    ljm_options o = variant(i);
    uint64_t limit = 1024, refused = 0, lacked = 0;
    ljm_status st;
    do {
      int started;
      limit += limit / 32;
      st = limited_to(limit, &o, &started);
      if (st != LJM_OK) LJT_EQ(st, LJM_E_LIMIT);
      refused += !started;
      lacked += started && st != LJM_OK;
    } while (st != LJM_OK && limit < 100000000);
    LJT_OK(refused > 0 && (lacked > 0 || o.format == 3));
  }
}

/* -- The VM ------------------------------------------------------------- */

static int protected_work(lua_State *L)
{
  luaL_openlibs(L);
  run_work(L);
  return 0;
}

/* Runs WORK while the VM's allocation `at` fails; `o` NULL: not recorded.
** What a plain LuaJIT leaks when it runs out of memory is told. */
static uint64_t vm_fails_at(uint64_t at, const ljm_options *o, int *failed)
{
  vm_heap h;
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  lua_State *L;
  int status;
  L = vm_state(&h);
  if (o) LJT_EQ(ljm_recorder_start(L, &a, o, NULL), LJM_OK);
  h.calls = h.done = 0;
  h.fail_at = at;
  (void)lua_cpcall(L, protected_work, NULL);
  *failed = h.calls >= at;
  if (o) {
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    /* Format 3 has failed calls as events, at address 0. */
    LJT_EQ(count_events(&kept, &status),
           h.done + (*failed && o->format == 3));
    LJT_EQ(status, 0);
    ljt_sink_free(&kept);
  }
  lua_close(L);
  return h.live;
}

/* What a try came to. */
typedef struct vm_try {
  uint64_t live, failures;
  int failed;
} vm_try;

/* The same in a child process; 0 if that ends of it. */
static int vm_tried_at(uint64_t at, const ljm_options *o, vm_try *t)
{
  int ends[2];
  pid_t child;
  ssize_t got;
  if (pipe(ends) != 0) abort();
  fflush(NULL);
  child = fork();
  if (child == 0) {
    uint64_t before = ljt.failures;
    t->live = vm_fails_at(at, o, &t->failed);
    t->failures = ljt.failures - before;
    fflush(NULL);
    if (write(ends[1], t, sizeof(*t)) != (ssize_t)sizeof(*t)) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  got = read(ends[0], t, sizeof(*t));
  close(ends[0]);
  waitpid(child, NULL, 0);
  return got == (ssize_t)sizeof(*t);
}

/* Does a LuaJIT that is not recorded end, or leak, as this one did when that
** call failed? Which call it is that does moves by one from run to run: so
** neighbours count too, a few times over. */
static int vm_does_so(uint64_t at, int ended, uint64_t live)
{
  uint64_t i;
  for (i = 0; i < 40; i++) {
    uint64_t near = at + 2 - i % 5;
    vm_try t;
    int stood;
    if (near == 0 || near > at + 2) continue;
    stood = vm_tried_at(near, NULL, &t);
    if (ended ? !stood : stood && t.live == live) return 1;
  }
  return 0;
}

/* Each allocation of the VM fails in turn while it is recorded. */
static void case_vm_memory_fails(void)
{
  uint64_t at, step = ljt.stride;
  uint32_t f;
  int own = 0;
  for (f = 3; f <= 4; f++) {
    ljm_options o = format(f);
    int failed = 1;
    for (at = 1; failed; at += step) {
      vm_try t;
      if (vm_tried_at(at, &o, &t)) {
        failed = t.failed;
        LJT_EQ(t.failures, 0);
        LJT_OK(t.live == 0 || vm_does_so(at, 0, t.live));
      } else {
        LJT_OK(vm_does_so(at, 1, 0));
        own++;
      }
    }
    LJT_OK(at > 1000);
  }
  if (own) printf("  %d calls that LuaJIT itself does not survive\n", own);
}

/* An allocator that throws an error of its own, by leaving. */
typedef struct thrower {
  vm_heap h;
  lua_State *L;
  uint64_t calls, at;  /* Throws instead of its call `at`. */
} thrower;

static void *throwing_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  thrower *t = (thrower *)ud;
  /* With whatever lies on top: the VM's stack may not be written to here. */
  if (size > old_size && ++t->calls == t->at) lua_error(t->L);
  return vm_alloc(&t->h, p, old_size, size);
}

/* All in the one thread that errors are thrown in. */
static int throwing_work(lua_State *L)
{
  if (luaL_loadstring(L,
        "local keep = {}\n"
        "for i = 1, 300 do\n"
        "  keep[i % 20 + 1] = { i, tostring(i) .. 'x' }\n"
        "  if i % 50 == 0 then loadstring('return { ' .. i .. ' }')() end\n"
        "end\n") != 0)
    lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

static void throw_at(uint64_t at, const ljm_options *o, int *thrown)
{
  thrower t;
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  uint64_t done;
  int status;
  memset(&t, 0, sizeof(t));
  t.L = vm_state(&t.h);
  luaL_openlibs(t.L);
  lua_setallocf(t.L, throwing_alloc, &t);
  (void)luaJIT_setmode(t.L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  LJT_EQ(ljm_recorder_start(t.L, &a, o, NULL), LJM_OK);
  done = t.h.done;
  t.calls = 0;
  t.at = at;
  status = lua_cpcall(t.L, throwing_work, NULL);
  *thrown = t.calls >= at;
  LJT_OK(status == 0 || *thrown);
  t.at = 0;
  run(t.L, WORK);
  LJT_EQ(ljm_recorder_stop(t.L, NULL), LJM_OK);
  LJT_EQ(count_events(&kept, &status), t.h.done - done);
  LJT_EQ(status, 0);
  ljt_sink_free(&kept);
  lua_setallocf(t.L, vm_alloc, &t.h);
  lua_close(t.L);
}

/* Errors thrown through the recorder's own hook. */
static void case_alloc_throws(void)
{
  uint64_t at;
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    ljm_options o = format(f);
    int thrown = 1;
    for (at = 1; thrown; at += 7 * ljt.stride) throw_at(at, &o, &thrown);
    LJT_OK(at > 300);
  }
}

static void case_close(void)
{
  int i;
  for (i = 0; i < 200; i++) {
    vm_heap h;
    ljm_options o = format(i % 2 ? 3 : 4);
    ljt_heap own;
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    lua_State *L;
    int status;
    memset(&h, 0, sizeof(h));
    memset(&own, 0, sizeof(own));
    o.encoder.alloc.alloc = ljt_heap_alloc;
    o.encoder.alloc.realloc = ljt_heap_realloc;
    o.encoder.alloc.free = ljt_heap_free;
    o.encoder.alloc.user = &own;
    L = i % 3 ? vm_state(&h) : luaL_newstate();
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    luaL_openlibs(L);
    if (i < 20) run(L, WORK);
    lua_close(L);
    LJT_EQ(h.live, 0);
    LJT_EQ(own.live_count, 0);
    LJT_EQ(kept.closed, 1);
    LJT_OK(count_events(&kept, &status) > 100);
    LJT_EQ(status, 0);
    ljt_sink_free(&kept);
  }
}

/* -- The host's allocator ----------------------------------------------- */

static void *through_calls;
static lua_Alloc through_f;

static void *through_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  through_calls = ud;
  return through_f(ud, p, old_size, size);
}

static void case_allocator(void)
{
  vm_heap h;
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  ljm_result res;
  lua_State *L;
  lua_Alloc f, g;
  void *ud, *ud2, *p;
  L = vm_state(&h);
  luaL_openlibs(L);
  f = lua_getallocf(L, &ud);
  LJT_OK(f == vm_alloc && ud == &h);
  LJT_EQ(ljm_recorder_start(L, &a, NULL, NULL), LJM_OK);
  f = lua_getallocf(L, &ud);
  LJT_OK(f != vm_alloc && ud == &h);
  g = lua_getallocf(L, &ud2);
  LJT_OK(f == g && ud2 == ud);
  lua_setallocf(L, f, ud); /* What it had: nothing changes. */
  run(L, WORK);
  p = f(ud, NULL, 0, 100);
  LJT_EQ(ljm_recorder_stop(L, &res), LJM_OK);
  LJT_EQ(res.reason, LJM_REASON_STOPPED);
  p = f(ud, p, 100, 200); /* Passes through from now on. */
  (void)f(ud, p, 200, 0);
  f = lua_getallocf(L, &ud);
  LJT_OK(f == vm_alloc && ud == &h);
  ljt_sink_free(&kept);
  /* The host wraps what it gets. */
  a = ljt_sink_make(&kept);
  LJT_EQ(ljm_recorder_start(L, &a, NULL, NULL), LJM_OK);
  through_f = lua_getallocf(L, &ud);
  lua_setallocf(L, through_alloc, ud);
  run(L, WORK);
  f = lua_getallocf(L, &ud);
  LJT_OK(f == through_alloc && ud == &h);
  LJT_EQ(ljm_recorder_stop(L, &res), LJM_OK);
  LJT_EQ(res.reason, LJM_REASON_REPLACED);
  run(L, WORK);
  LJT_OK(through_calls == &h);
  lua_close(L);
  LJT_EQ(h.live, 0);
  ljt_sink_free(&kept);
}

static void *other_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  return vm_alloc(ud, p, old_size, size);
}

/* What the host is given calls the allocator that it has set last. */
static void case_other_allocator(void)
{
  vm_heap h;
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  lua_State *L = vm_state(&h);
  lua_Alloc first, f;
  void *ud;
  LJT_EQ(ljm_recorder_start(L, &a, NULL, NULL), LJM_OK);
  first = lua_getallocf(L, NULL);
  LJT_OK(first != vm_alloc);
  lua_setallocf(L, first, &h);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  ljt_sink_free(&kept);
  lua_setallocf(L, other_alloc, &h);
  a = ljt_sink_make(&kept);
  LJT_EQ(ljm_recorder_start(L, &a, NULL, NULL), LJM_OK);
  f = lua_getallocf(L, &ud);
  LJT_OK(f != other_alloc && f != first && ud == &h);
  lua_setallocf(L, f, ud);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_OK(lua_getallocf(L, NULL) == other_alloc);
  lua_close(L);
  LJT_EQ(h.live, 0);
  ljt_sink_free(&kept);
}

/* More VMs at once than there are functions to give out: the others' hosts
** get their own, whose calls are not seen. */
static void case_many_allocators(void)
{
  enum { VMS = 80 };
  static vm_heap h[VMS];
  static ljt_sink kept[VMS];
  lua_State *L[VMS];
  int i, own = 0;
  for (i = 0; i < VMS; i++) {
    ljm_options o = format(3);
    ljm_sink a = ljt_sink_make(&kept[i]);
    void *ud;
    lua_Alloc f;
    o.encoder.buffer_size = 4096;
    L[i] = vm_state(&h[i]);
    LJT_EQ(ljm_recorder_start(L[i], &a, &o, NULL), LJM_OK);
    f = lua_getallocf(L[i], &ud);
    LJT_OK(ud == &h[i]);
    if (f == vm_alloc) own++;
    else LJT_OK(own == 0);
  }
  LJT_EQ(own, VMS - 64);
  for (i = 0; i < VMS; i++) {
    LJT_EQ(ljm_recorder_stop(L[i], NULL), LJM_OK);
    lua_close(L[i]);
    LJT_EQ(h[i].live, 0);
    ljt_sink_free(&kept[i]);
  }
}

/* Leaves small numbers in what it frees: no pointer to follow. */
static void *leaving_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  uintptr_t *words = (uintptr_t *)p;
  size_t i;
  for (i = 0; p && !size && i < old_size / sizeof(*words); i++) words[i] = 16;
  return vm_alloc(ud, p, old_size, size);
}

/* A thread that has allocated last, and is gone when LuaJIT frees something
** for which no thread is noted. */
static void case_thread_gone(void)
{
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    vm_heap h;
    lua_State *L = vm_state(&h), *co;
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    uint64_t done;
    int status;
    luaL_openlibs(L);
    if (luaL_dostring(L, "b = require('string.buffer').new(1000)") != 0) {
      printf("  left out: format %u (this LuaJIT has no string.buffer)\n", f);
      lua_close(L);
      continue;
    }
    run(L, "free = b.free collectgarbage() collectgarbage()");
    lua_getglobal(L, "free");
    lua_getglobal(L, "b");
    lua_setallocf(L, leaving_alloc, &h);
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    done = h.done;
    co = lua_newthread(L);
    lua_gc(L, LUA_GCCOLLECT, 0);
    lua_newtable(co);
    lua_pop(L, 1);
    lua_gc(L, LUA_GCCOLLECT, 0);
    lua_call(L, 1, 0);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    LJT_EQ(count_events(&kept, &status), h.done - done);
    LJT_EQ(status, 0);
    ljt_sink_free(&kept);
    lua_close(L);
  }
}

/* -- States --------------------------------------------------------------- */

/* Allocations at sites of a state. */
static uint64_t allocs_in(const ljt_sink *s, unsigned state)
{
  static unsigned states[1 << 16];
  ljt_blocks *blocks = (ljt_blocks *)malloc(sizeof(ljt_blocks));
  ljt_bytes text = {NULL, 0, 0};
  unsigned site, is;
  const char *p;
  uint64_t n = 0;
  size_t off;
  LJT_EQ(ljt_dump(s->data, s->size, 0, &text, blocks, &off), LJT_CLEAN);
  free(blocks);
  ljt_raw(&text, "", 1);
  for (p = (const char *)text.data; *p; p = strchr(p, '\n') + 1) {
    if (sscanf(p, "site %u %*u %u", &site, &is) == 2 && site < 1 << 16)
      states[site] = is;
    else if (sscanf(p, "alloc %u", &site) == 1 && site < 1 << 16)
      n += states[site] == state;
  }
  ljt_bytes_free(&text);
  return n;
}

/* A line that runs in a finalizer, too, is another site there. */
static void case_finalizer_state(void)
{
  uint32_t depth;
  for (depth = 1; depth <= 8; depth += 7) {
    lua_State *L = new_state();
    ljm_options o = format(4);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    o.depth = depth;
    run(L, "function made() keep = {} end made()\n"
           "p = newproxy(true) getmetatable(p).__gc = made\n"
           "function gone() p = nil collectgarbage() collectgarbage() end\n");
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    lua_getglobal(L, "made");
    lua_call(L, 0, 0);
    lua_getglobal(L, "gone");
    lua_call(L, 0, 0);
    lua_getglobal(L, "made");
    lua_call(L, 0, 0);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    LJT_EQ(allocs_in(&kept, LJM_STATE_FINALIZER), 1);
    LJT_EQ(allocs_in(&kept, LJM_STATE_INTERP), 2);
    ljt_sink_free(&kept);
    lua_close(L);
  }
}

/* -- Processes and threads ---------------------------------------------- */

static void case_fork(void)
{
  char path[] = "/tmp/ljm-test-XXXXXX";
  struct stat before, after;
  lua_State *L = new_state();
  ljm_options o = format(4);
  int fd = mkstemp(path), status = -1;
  pid_t child;
  if (fd < 0) abort();
  close(fd);
  o.encoder.flush_ns = UINT64_MAX;
  LJT_EQ(ljm_recorder_start_file(L, path, &o, NULL), LJM_OK);
  run(L, WORK);
  LJT_EQ(ljm_recorder_flush(L), LJM_OK);
  LJT_EQ(stat(path, &before), 0);
  fflush(NULL);
  child = fork();
  if (child == 0) {
    int ok = 1, i;
    for (i = 0; i < 100; i++) ok &= luaL_dostring(L, WORK) == 0;
    ok &= ljm_recorder_stop(L, NULL) == LJM_E_NOTRUNNING;
    ok &= !ljm_recorder_running(L);
    ok &= ljm_recorder_start_file(L, "/dev/null", &o, NULL) == LJM_OK;
    ok &= luaL_dostring(L, WORK) == 0;
    ok &= ljm_recorder_stop(L, NULL) == LJM_OK;
    lua_close(L);
    exit(ok ? 7 : 1);
  }
  LJT_EQ(waitpid(child, &status, 0), child);
  LJT_OK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  LJT_EQ(stat(path, &after), 0);
  LJT_EQ(after.st_size, before.st_size);
  run(L, WORK);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  lua_close(L);
  unlink(path);
}

static void *thread_main(void *arg)
{
  uint64_t *events = (uint64_t *)arg;
  int i, status;
  for (i = 0; i < 20; i++) {
    lua_State *L = luaL_newstate();
    ljm_options o = format(i % 2 ? 3 : 4);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    luaL_openlibs(L);
    if (ljm_recorder_start(L, &a, &o, NULL) != LJM_OK) return NULL;
    if (luaL_dostring(L, WORK) != 0) return NULL;
    if (i % 3 && ljm_recorder_stop(L, NULL) != LJM_OK) return NULL;
    lua_close(L);
    *events += count_events(&kept, &status);
    ljt_sink_free(&kept);
    if (status != 0) return NULL;
  }
  return arg;
}

static void case_threads(void)
{
  pthread_t t[4];
  uint64_t events[4] = {0, 0, 0, 0};
  int i;
  for (i = 0; i < 4; i++)
    if (pthread_create(&t[i], NULL, thread_main, &events[i]) != 0) abort();
  for (i = 0; i < 4; i++) {
    void *res = NULL;
    pthread_join(t[i], &res);
    LJT_OK(res != NULL);
    LJT_OK(events[i] > 6000);
  }
}

static void *moved_main(void *arg)
{
  lua_State *L = (lua_State *)arg;
  (void)!luaL_dostring(L, WORK);
  return NULL;
}

/* A VM that goes to another thread and back. */
static void case_moves(void)
{
  lua_State *L = new_state();
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  pthread_t t;
  int status;
  LJT_EQ(ljm_recorder_start(L, &a, NULL, NULL), LJM_OK);
  if (pthread_create(&t, NULL, moved_main, L) != 0) abort();
  pthread_join(t, NULL);
  run(L, WORK);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_OK(count_events(&kept, &status) > 600);
  LJT_EQ(status, 0);
  ljt_sink_free(&kept);
  lua_close(L);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(case_twice);
  LJT_CASE(case_nothing);
  LJT_CASE(case_options);
  LJT_CASE(case_marks);
  LJT_CASE(case_no_descriptors);
  LJT_CASE(case_doors);
  LJT_CASE(case_anywhere);
  LJT_CASE(case_sink_fails);
  LJT_CASE(case_sink_calls_back);
  LJT_CASE(case_memory_fails);
  LJT_CASE(case_memory_limit);
  LJT_CASE(case_vm_memory_fails);
  LJT_CASE(case_alloc_throws);
  LJT_CASE(case_close);
  LJT_CASE(case_allocator);
  LJT_CASE(case_other_allocator);
  LJT_CASE(case_many_allocators);
  LJT_CASE(case_thread_gone);
  LJT_CASE(case_finalizer_state);
  LJT_CASE(case_fork);
  LJT_CASE(case_threads);
  LJT_CASE(case_moves);
  return ljt_end();
}
