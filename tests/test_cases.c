/*
** test_cases - what hosts, systems and loaders do to a recording: full disks,
** kills and exits, allocators put in between, libraries that come and go,
** calls from C with no frame below. Takes the paths of the two libraries of
** casemod.c as --alpha=FILE and --beta=FILE.
*/
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>

#include "ljmemprof.h"
#include "ljparse.h"
#include "ljtest.h"
#include "ljtlua.h"
#include "ljtsink.h"
#include "ljttree.h"

static const char *const WORK =
  "local keep = {}\n"
  "for i = 1, 2000 do\n"
  "  keep[i % 20 + 1] = { i, tostring(i) .. 'x' }\n"
  "end\n";

static ljm_options format(uint32_t f)
{
  ljm_options o;
  memset(&o, 0, sizeof(o));
  o.format = f;
  return o;
}

/* -- Files and processes ------------------------------------------------ */

static char dir[] = "/tmp/ljm-cases-XXXXXX";
static char path[64];

static void put_file(const char *text)
{
  FILE *f = fopen(path, "wb");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
}

/* Does the file hold this and nothing else? */
static int file_is(const char *text)
{
  size_t size = 0;
  unsigned char *data = ljt_read_file(path, &size);
  int same = data && size == strlen(text) && memcmp(data, text, size) == 0;
  free(data);
  return same;
}

static size_t file_size(void)
{
  struct stat st;
  return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

/* Runs a part of a case in a process of its own; returns how that ended. Its
** failed checks count here. */
static int in_child(void (*fn)(void))
{
  int status = -1;
  pid_t child;
  fflush(NULL);
  child = fork();
  if (child < 0) abort();
  if (child == 0) {
    ljt.failures = 0;
    fn();
    fflush(NULL);
    _exit(ljt.failures ? 99 : 0);
  }
  if (waitpid(child, &status, 0) != child) abort();
  LJT_OK(!WIFEXITED(status) || WEXITSTATUS(status) != 99);
  return status;
}

/* A stream as folded stacks, with the number of allocations. */
static void folded(const unsigned char *data, size_t size, ljt_text *t)
{
  ljp_profile *p = NULL;
  ljp_tree *tree = NULL;
  memset(t, 0, sizeof(*t));
  if (ljp_profile_new(&p, NULL) != LJP_OK) abort();
  (void)ljp_profile_feed(p, data, size);
  LJT_EQ(ljp_profile_finish(p), LJP_END);
  if (ljp_profile_tree(p, NULL, &tree) != LJP_OK) abort();
  LJT_EQ(ljp_tree_prune(tree, 0, SIZE_MAX), LJP_OK);
  LJT_EQ(ljp_tree_folded(tree, LJP_ALLOC_COUNT, ljt_text_write, t), LJP_OK);
  ljp_tree_free(tree);
  ljp_profile_free(p);
}

static ljp_status report_file(ljt_text *t)
{
  size_t size = 0;
  unsigned char *data = ljt_read_file(path, &size);
  ljp_status st = ljt_report(data ? data : (const unsigned char *)"", size, t);
  free(data);
  return st;
}

/* -- Full disks ---------------------------------------------------------- */

static void set_file_limit(rlim_t size)
{
  struct rlimit rl;
  rl.rlim_cur = size;
  rl.rlim_max = RLIM_INFINITY;
  if (setrlimit(RLIMIT_FSIZE, &rl) != 0) abort();
}

static uint32_t child_format;

static void fill_disk(void)
{
  lua_State *L = new_state();
  ljm_options o = format(child_format);
  ljm_result res;
  int i;
  set_file_limit(100000);
  errno = 77;
  LJT_EQ(ljm_recorder_start_file(L, path, &o, NULL), LJM_OK);
  for (i = 0; i < 20; i++) run(L, WORK);
  LJT_EQ(ljm_recorder_stop(L, &res), LJM_E_IO);
  LJT_EQ(errno, 77);
  LJT_EQ(res.error.sys_errno, EFBIG);
  LJT_EQ(res.reason, LJM_REASON_SINK);
  LJT_OK(res.dropped > 10000);
  LJT_EQ(res.written, file_size());
  run(L, WORK);
  lua_close(L);
}

static void fill_disk_lua(void)
{
  lua_State *L = new_state();
  set_file_limit(100000);
  lua_pushstring(L, path);
  lua_setglobal(L, "path");
  lua_pushinteger(L, EFBIG);
  lua_setglobal(L, "efbig");
  run(L,
    "local function fill()\n"
    "  local keep = {}\n"
    "  for i = 1, 50000 do keep[i % 20] = { i .. 'x' } end\n"
    "end\n"
    "local core = require('jit.memprof.core')\n"
    "for _, m in ipairs({ misc.memprof, core }) do\n"
    "  assert(m.start(path))\n"
    "  fill()\n"
    "  local ok, msg, errno = m.stop()\n"
    "  assert(ok == nil and errno == efbig, tostring(errno))\n"
    "  assert(msg:find('File too large', 1, true), msg)\n"
    "  ok, msg = m.stop()\n"
    "  assert(ok == nil and msg:find('profiler is not running', 1, true))\n"
    "end\n");
  lua_close(L);
}

/* A disk that is full in mid-run: the program goes on. */
static void case_disk_full(void)
{
  ljt_text t;
  for (child_format = 3; child_format <= 4; child_format++) {
    LJT_EQ(in_child(fill_disk), 0);
    LJT_OK(file_size() > 50000 && file_size() <= 100000);
    LJT_EQ(report_file(&t), LJP_E_TRUNCATED);
    LJT_OK(ljt_row(&t, "events") > 3000);
    ljt_text_drop(&t);
  }
  LJT_EQ(in_child(fill_disk_lua), 0);
}

static const struct {
  const char *name;
  uint64_t count;   /* 0: for good. */
  ptrdiff_t result;
  int sys_errno;    /* What a stop says; 0: all is well. */
} sinks[] = {
  {"short", 1, LJT_SHORT, 0},     {"short for good", 0, LJT_SHORT, 0},
  {"EINTR", 3, -EINTR, 0},        {"EAGAIN", 3, -EAGAIN, 0},
  {"0", 1, 0, EIO},               {"EIO", 1, -EIO, EIO},
  {"EPIPE for good", 0, -EPIPE, EPIPE},
};

/* Call `at` of the sink goes wrong. Returns whether there was such a call. */
static int sink_goes_wrong(size_t i, uint64_t at, uint32_t f)
{
  lua_State *L = new_state();
  ljm_options o = format(f);
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  ljm_result res;
  ljm_status st;
  ljt_text t;
  int wrong;
  o.encoder.buffer_size = 8192;
  o.encoder.flush_ns = UINT64_MAX;
  kept.fail_at = at;
  kept.fail_count = sinks[i].count;
  kept.result = sinks[i].result;
  st = ljm_recorder_start(L, &a, &o, &res.error);
  run(L, WORK);
  if (st == LJM_OK) {
    st = ljm_recorder_stop(L, &res);
    LJT_EQ(kept.closed, 1);
  } else {
    LJT_EQ(at, 1);
    LJT_EQ(kept.closed, 0);
  }
  wrong = kept.calls >= at;
  LJT_EQ(res.error.sys_errno, wrong ? sinks[i].sys_errno : 0);
  LJT_EQ(st, wrong && sinks[i].sys_errno ? LJM_E_IO : LJM_OK);
  LJT_EQ(ljt_report(kept.data, kept.size, &t),
         st == LJM_OK ? LJP_END : LJP_E_TRUNCATED);
  ljt_text_drop(&t);
  ljt_sink_free(&kept);
  lua_close(L);
  return wrong;
}

static void case_sinks(void)
{
  size_t i;
  uint32_t f;
  for (i = 0; i < sizeof(sinks) / sizeof(sinks[0]); i++) {
    ljt.row = sinks[i].name;
    for (f = 3; f <= 4; f++) {
      uint64_t at = 1;
      while (sink_goes_wrong(i, at, f)) at++;
      LJT_OK(at > 4);
    }
  }
}

/* -- Refused starts ------------------------------------------------------ */

static void start_without_room(void)
{
  lua_State *L = new_state();
  ljm_options o = format(child_format);
  ljm_error err;
  set_file_limit(0);
  LJT_EQ(ljm_recorder_start_file(L, path, &o, &err), LJM_E_IO);
  LJT_EQ(err.sys_errno, EFBIG);
  run(L, WORK);
  lua_close(L);
}

/* A start that fails leaves the file it was to write as it was. */
static void case_refused(void)
{
  lua_State *L = new_state();
  for (child_format = 3; child_format <= 4; child_format++) {
    ljm_options o = format(child_format);
    ljt_heap heap;
    ljm_status st;
    memset(&heap, 0, sizeof(heap));
    o.encoder.alloc.alloc = ljt_heap_alloc;
    o.encoder.alloc.realloc = ljt_heap_realloc;
    o.encoder.alloc.free = ljt_heap_free;
    o.encoder.alloc.user = &heap;
    put_file("kept");
    LJT_EQ(in_child(start_without_room), 0);
    LJT_OK(file_is("kept"));
    unlink(path);
    LJT_EQ(in_child(start_without_room), 0);
    LJT_OK(access(path, F_OK) != 0);
    put_file("kept");
    do {
      heap.calls = 0;
      heap.fail_at++;
      st = ljm_recorder_start_file(L, path, &o, NULL);
      if (st == LJM_OK) break;
      LJT_EQ(st, LJM_E_NOMEM);
      LJT_EQ(heap.live_count, 0);
      LJT_OK(file_is("kept"));
    } while (heap.fail_at < 1000);
    LJT_OK(heap.fail_at > 2 && heap.fail_at < 1000);
    heap.fail_at = 0;
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    put_file("kept");
    LJT_EQ(ljm_recorder_start_file(L, "/dev/null", &o, NULL), LJM_OK);
    LJT_EQ(ljm_recorder_start_file(L, path, &o, NULL), LJM_E_RUNNING);
    LJT_OK(file_is("kept"));
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    o.depth = 5000;
    LJT_EQ(ljm_recorder_start_file(L, path, &o, NULL), LJM_E_ARG);
    LJT_OK(file_is("kept"));
  }
  lua_close(L);
}

/* -- Ends that come without a stop --------------------------------------- */

/* Flushed when 64 KiB are pending, not by time. */
static lua_State *child_state(void)
{
  lua_State *L = new_state();
  ljm_options o = format(child_format);
  o.encoder.flush_ns = UINT64_MAX;
  if (ljm_recorder_start_file(L, path, &o, NULL) != LJM_OK) abort();
  return L;
}

static void killed(void)
{
  lua_State *L = child_state();
  int i;
  for (i = 0; i < 50; i++) run(L, WORK);
  kill(getpid(), SIGKILL);
}

static void stopped(void)
{
  lua_State *L = child_state();
  int i;
  for (i = 0; i < 50; i++) run(L, WORK);
  (void)ljm_recorder_stop(L, NULL);
}

/* A killed process loses what was pending, at most a buffer of 64 KiB. */
static void case_killed(void)
{
  for (child_format = 3; child_format <= 4; child_format++) {
    ljt_text t;
    uint64_t events, all;
    size_t size;
    int status = in_child(killed);
    LJT_OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    size = file_size();
    LJT_EQ(report_file(&t), LJP_E_TRUNCATED);
    events = ljt_row(&t, "events");
    ljt_text_drop(&t);
    LJT_EQ(in_child(stopped), 0);
    LJT_EQ(report_file(&t), LJP_END);
    all = ljt_row(&t, "events");
    ljt_text_drop(&t);
    /* Addresses differ from run to run, and so do their lengths; a few events
    ** too. None is shorter than two bytes. */
    LJT_OK(size + 65536 + 16384 > file_size());
    LJT_OK(events + 65536 / 2 + all / 50 > all && events < all + all / 50);
  }
}

static const char *child_code;

static void exits(void)
{
  lua_State *L = child_state();
  run(L, WORK);
  run(L, child_code);
}

static void exits_c(void)
{
  lua_State *L = child_state();
  run(L, WORK);
  exit(3);
}

/* A process that exits leaves a whole stream. */
static void case_exits(void)
{
  static const struct { const char *name, *code; } rows[] = {
    {"os.exit", "os.exit(3)"},
    {"os.exit with close", "os.exit(3, true)"},
    {"in a coroutine",
     "coroutine.wrap(function() local t = { {} } os.exit(3) end)()"},
    {"in a finalizer",
     "getmetatable(newproxy(true)).__gc = function() os.exit(3) end\n"
     "collectgarbage() collectgarbage()"},
    {"in a handler", "xpcall(error, function() os.exit(3) end)"},
    {"from C", NULL},
  };
  size_t i;
  for (child_format = 3; child_format <= 4; child_format++) {
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
      ljt_text t;
      int status;
      ljt.row = rows[i].name;
      child_code = rows[i].code;
      status = in_child(child_code ? exits : exits_c);
      LJT_OK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
      LJT_EQ(report_file(&t), LJP_END);
      LJT_OK(ljt_row(&t, "events") > 3000);
      ljt_text_drop(&t);
    }
  }
}

/* -- Closing ------------------------------------------------------------- */

static unsigned count_dir(const char *name)
{
  DIR *d = opendir(name);
  unsigned n = 0;
  if (!d) abort();
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

static int emulated; /* --emulated: pages are the emulator's, too. */

static long mapped_pages(void)
{
  FILE *f = fopen("/proc/self/statm", "r");
  long n = 0;
  if (!f || fscanf(f, "%ld", &n) != 1) abort();
  fclose(f);
  return n;
}

/* States closed while they are recorded leave nothing behind: no file, no
** block, no page of LuaJIT's own allocator. */
static void case_flat(void)
{
  size_t held = 0;
  long pages = 0;
  unsigned files = 0;
  int i;
  for (i = 0; i < 1000; i++) {
    lua_State *L = new_state();
    ljm_options o = format(i % 2 ? 3 : 4);
    o.sample = i % 4 == 0 ? 512 : 0;
    if (i % 10 == 0) run(L, WORK);
    if (!LJT_EQ(ljm_recorder_start_file(L, "/dev/null", &o, NULL), LJM_OK))
      break;
    if (i % 5 == 0) run(L, "for i = 1, 200 do local t = { {} } end");
    lua_close(L);
    if (i != 199) continue;
    files = count_dir("/proc/self/fd");
    held = mallinfo2().uordblks;
    pages = mapped_pages();
  }
  LJT_EQ(count_dir("/proc/self/fd"), files);
  /* What glibc keeps at hand for a thread counts as used, and LuaJIT may have
  ** been built on malloc; a block left by each state would come to more. */
  LJT_OK(mallinfo2().uordblks < held + 800 * 24);
  LJT_OK(emulated || mapped_pages() <= pages + 64);
}

/* -- Allocators ---------------------------------------------------------- */

static lua_Alloc inner;
static void *inner_ud;
static int refuse;

static void *limited(void *ud, void *p, size_t old_size, size_t size)
{
  (void)ud;
  if (refuse && size > old_size) return NULL;
  return inner(inner_ud, p, old_size, size);
}

/* A VM that has no memory left can be recorded. */
static void case_no_memory(void)
{
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    lua_State *L = new_state();
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljt_text t;
    inner = lua_getallocf(L, &inner_ud);
    lua_setallocf(L, limited, NULL);
    refuse = 1;
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    LJT_OK(luaL_dostring(L, WORK) != 0);
    lua_settop(L, 0);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    refuse = 0;
    LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
    LJT_OK(t.data && strstr(t.data, "\nallocations: 0, +0B"));
    ljt_text_drop(&t);
    ljt_sink_free(&kept);
    run(L, WORK);
    lua_close(L);
  }
}

/* The host puts the first allocator back while it is recorded; then stops, or
** closes the VM, whose arena LuaJIT frees if the allocator is its own. */
static void case_put_back(void)
{
  long pages = 0;
  int i;
  for (i = 0; i < 200; i++) {
    lua_State *L = new_state();
    ljm_options o = format(i % 2 ? 3 : 4);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljm_result res;
    ljt_text t;
    void *ud, *now;
    lua_Alloc f = lua_getallocf(L, &ud);
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    run(L, "local t = { {} }");
    lua_setallocf(L, f, ud);
    run(L, "local t = { {} }");
    if (i % 4 < 2) {
      LJT_EQ(ljm_recorder_stop(L, &res), LJM_OK);
      LJT_EQ(res.reason, LJM_REASON_REPLACED);
      LJT_OK(lua_getallocf(L, &now) == f && now == ud);
    }
    lua_close(L);
    LJT_EQ(kept.closed, 1);
    LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
    ljt_text_drop(&t);
    ljt_sink_free(&kept);
    if (i == 50) pages = mapped_pages();
  }
  LJT_OK(emulated || mapped_pages() <= pages + 64);
}

/* -- The collector's pace ------------------------------------------------ */

static uint64_t gc_cycles(const ljm_options *o, int jit)
{
  lua_State *L = new_state();
  uint64_t n;
  (void)luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE |
                             (jit ? LUAJIT_MODE_ON : LUAJIT_MODE_OFF));
  if (o)
    LJT_EQ(ljm_recorder_start_file(L, "/dev/null", o, NULL), LJM_OK);
  run(L,
    "cycles = 0\n"
    "local function sentinel()\n"
    "  getmetatable(newproxy(true)).__gc = function()\n"
    "    cycles = cycles + 1\n"
    "    sentinel()\n"
    "  end\n"
    "end\n"
    "sentinel()\n"
    "local keep = {}\n"
    "for i = 1, 100 do keep[i] = false end\n"
    "for i = 1, 100000 do keep[i % 100 + 1] = { i } end\n");
  lua_getglobal(L, "cycles");
  n = (uint64_t)lua_tointeger(L, -1);
  lua_close(L);
  return n;
}

/* As many cycles as without, but for the few by which runs differ anyway. */
static void case_pace(void)
{
  int i, jit;
  for (jit = 0; jit <= 1; jit++) {
    uint64_t want = gc_cycles(NULL, jit);
    LJT_OK(want > 100);
    for (i = 0; i < 4; i++) {
      ljm_options o = format(i ? 4 : 3);
      uint64_t n;
      if (i == 2) o.depth = 1;
      if (i == 3) o.sample = 4096;
      n = gc_cycles(&o, jit);
      if (!LJT_OK(n + 5 > want && n < want + 5))
        printf("  %" PRIu64 " cycles, %" PRIu64 " without\n", n, want);
    }
  }
}

/* -- Calls from C -------------------------------------------------------- */

__attribute__((noinline)) static int case_inner(lua_State *L)
{
  lua_newuserdata(L, 100);
  return 1;
}

__attribute__((noinline)) static int case_outer(lua_State *L)
{
  lua_pushcfunction(L, case_inner);
  lua_call(L, 0, 0);
  lua_newtable(L);
  return 1;
}

static const char *const HOST =
  "local keep\n"
  "function made() keep = { 1 } end\n"
  "function yields()\n"
  "  keep = { 1 }\n"
  "  coroutine.yield()\n"
  "  keep = { 2 }\n"
  "end\n";

/* The functions that C calls; from the main thread and in a coroutine. */
static void call_functions(lua_State *L)
{
  lua_State *co = lua_newthread(L);
  lua_pushcfunction(L, case_outer);
  LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
  lua_getglobal(L, "made");
  LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
  lua_pushcfunction(co, case_outer);
  LJT_EQ(lua_resume(co, 0), 0);
  lua_settop(co, 0);
  lua_getglobal(co, "yields");
  LJT_EQ(lua_resume(co, 0), LUA_YIELD);
  lua_newuserdata(L, 10); /* The current thread is another one. */
  LJT_EQ(lua_resume(co, 0), 0);
  lua_settop(L, 0);
  LJT_EQ(lua_cpcall(L, case_outer, NULL), 0);
}

/* Not so with LUAJIT_DISABLE_DEBUGINFO. */
static int keeps_lines(lua_State *L)
{
  int keeps = luaL_dostring(L, "\nassert(debug.getinfo(1, 'l')."
                               "currentline == 2)") == 0;
  lua_settop(L, 0);
  return keeps;
}

static void case_host_calls(void)
{
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    lua_State *L = new_state();
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljt_text t;
    int i;
    LJT_EQ(luaL_loadbuffer(L, HOST, strlen(HOST), "=host"), 0);
    LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    for (i = 0; i < 10; i++) call_functions(L);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
    LJT_EQ(ljt_row(&t, "case_inner"), 30);
    LJT_EQ(ljt_row(&t, "case_outer"), 60); /* Its closure of case_inner. */
    if (keeps_lines(L)) {
      LJT_EQ(ljt_row(&t, "=host:2"), 10);
      LJT_EQ(ljt_row(&t, "=host:4"), 10);
      LJT_EQ(ljt_row(&t, "=host:6"), 10);
    } else {
      LJT_EQ(ljt_row(&t, "=:0"), 30); /* LuaJIT drops the name, too. */
    }
    ljt_text_drop(&t);
    ljt_sink_free(&kept);
    lua_close(L);
  }
}

/* Functions that C runs, with and without room for the stacks. */
static void case_host_stacks(void)
{
  static const struct {
    const char *name;
    uint32_t max_stacks;
    const char *text[3];
  } rows[] = {
    {"stacks", 0, {"\nhost:2 10\n", "\n(host C code);host:4 10\n",
                   "\n(host C code);host:6 10\n"}},
    {"no room", 20, {"\n(stack left out);case_inner ",
                     "\n(stack left out);host:6 9\n", "\nhost:2 10\n"}}
  };
  size_t i, k;
  int n;
  for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    lua_State *L = new_state();
    ljm_options o = format(4);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljt_text t;
    ljt.row = rows[i].name;
    o.encoder.max_stacks = rows[i].max_stacks;
    LJT_EQ(luaL_loadbuffer(L, HOST, strlen(HOST), "=host"), 0);
    LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    for (n = 0; n < 10; n++) call_functions(L);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    folded(kept.data, kept.size, &t);
    for (k = 0; k < 3 && keeps_lines(L); k++)
      if (!LJT_OK(strstr(t.data, rows[i].text[k]) != NULL))
        printf("%s\nlacks %s\n", t.data, rows[i].text[k]);
    ljt_text_drop(&t);
    ljt_sink_free(&kept);
    lua_close(L);
  }
  ljt.row = NULL;
}

/* What a chunk makes with the JIT off, as folded stacks. */
static void folded_run(lua_State *L, uint32_t max_stacks, const char *code,
                       ljt_text *t)
{
  ljm_options o = format(4);
  ljt_sink kept;
  ljm_sink s = ljt_sink_make(&kept);
  (void)luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  lua_gc(L, LUA_GCSTOP, 0); /* The collector may move the stack. */
  LJT_EQ(luaL_loadbuffer(L, code, strlen(code), "=calls"), 0);
  o.encoder.max_stacks = max_stacks;
  LJT_EQ(ljm_recorder_start(L, &s, &o, NULL), LJM_OK);
  LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  folded(kept.data, kept.size, t);
  ljt_sink_free(&kept);
}

/* What is known of the last stack does not hold for one that had no room: a,
** called by b in the place where a was, calls leaf from where it did before. */
static void case_no_room_again(void)
{
  lua_State *L = new_state();
  ljt_text t;
  /* A hundred lines that allocate: they take all the room. */
  run(L,
    "local t = { 'local keep function leaf() ' }\n"
    "for i = 1, 100 do t[i + 1] = 'keep = {}\\n' end\n"
    "assert(loadstring(table.concat(t) .. ' end', '=leaf'))()\n");
  folded_run(L, 50,
    "local function a() leaf() end\n"
    "local function b() a() end\n"
    "for _, f in ipairs{a, b, b, a} do f() end\n", &t);
  if (keeps_lines(L)) {
    LJT_OK(strstr(t.data, "\ncalls:3;calls:1;leaf:100 1\n") != NULL);
    LJT_OK(strstr(t.data, "\n(stack left out);leaf:100 3\n") != NULL);
  }
  ljt_text_drop(&t);
  lua_close(L);
}

/* One place of a function calls itself and a fast function that allocates; the
** stacks of both are the same. */
static void case_called_two_ways(void)
{
  lua_State *L = new_state();
  ljt_text t;
  folded_run(L, 0,
    "local keep\n"
    "local function h() keep = {} end\n"
    "local function r(n, f)\n"
    "  if n < 1 then\n"
    "    h()\n"
    "    keep = { n }\n"
    "  else\n"
    "    local x = f(n - 1, tostring)\n"
    "  end\n"
    "end\n"
    "for i = 1, 100 do r(1.25 + i % 2 + i / 1024, r) end\n", &t);
  if (keeps_lines(L))
    LJT_OK(strstr(t.data, "\ncalls:11;calls:8;calls:6 50\n") != NULL);
  ljt_text_drop(&t);
  lua_close(L);
}

/* -- Libraries ----------------------------------------------------------- */

static const char *libs[2];

/* Loads a library by C code alone, calls it, unloads it. */
static void *visit(lua_State *L, int which, int tables)
{
  static const char *const names[2][2] = {{"alpha_tables", "alpha_udata"},
                                          {"beta_tables", "beta_udata"}};
  void *lib = dlopen(libs[which], RTLD_NOW | RTLD_LOCAL), *f, *at;
  lua_CFunction cf;
  int i;
  if (!LJT_OK(lib != NULL)) return NULL;
  at = dlsym(lib, names[which][0]);
  for (i = 0; i < 2; i++) {
    f = dlsym(lib, names[which][i]);
    memcpy(&cf, &f, sizeof(cf));
    lua_pushcfunction(L, cf);
    lua_pushinteger(L, tables);
    LJT_EQ(lua_pcall(L, 1, 0, 0), 0);
  }
  (void)lua_gc(L, LUA_GCCOLLECT, 0); /* Before the code goes. */
  LJT_EQ(dlclose(lib), 0);
  return at;
}

/* A library goes, another one comes to its address, and again. */
static void case_libraries(void)
{
  uint32_t f;
  if (!LJT_OK(libs[0] && libs[1])) return;
  for (f = 3; f <= 4; f++) {
    lua_State *L = new_state();
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljt_text t;
    void *at[3];
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    at[0] = visit(L, 0, 5);
    at[1] = visit(L, 1, 7);
    at[2] = visit(L, 0, 5);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    if (at[0] != at[1]) printf("  (not at one address)\n");
    LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
    LJT_EQ(ljt_row(&t, "alpha_tables"), 10);
    LJT_EQ(ljt_row(&t, "beta_tables"), 7);
    LJT_EQ(ljt_row(&t, "alpha_udata"), 2);
    LJT_EQ(ljt_row(&t, "beta_udata"), 1);
    ljt_text_drop(&t);
    ljt_sink_free(&kept);
    lua_close(L);
  }
}

/* -- Names are written once ---------------------------------------------- */

/* How often some bytes occur in a stream; of format 4 in the blocks that are
** no copies. */
static size_t occurs(const ljt_sink *s, uint32_t f, const char *text)
{
  size_t n = 0, size = strlen(text), at = 14, end;
  if (f == 3) at = 0;
  for (; at < s->size; at = end) {
    const unsigned char *p = s->data + at;
    end = s->size;
    if (f == 4) {
      end = at + 32 + (p[12] | (size_t)p[13] << 8 | (size_t)p[14] << 16);
      if (!LJT_OK(p[0] == 0x9d && end <= s->size)) return 0;
      if (p[5] & 1) continue;
    }
    for (; p + size <= s->data + end; p++)
      n += *p == (unsigned char)text[0] && memcmp(p, text, size) == 0;
  }
  return n;
}

/* A C function that allocates 1000 times is named once. */
static void case_symbol_once(void)
{
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    lua_State *L = new_state();
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljt_text t;
    int i;
    o.encoder.flush_ns = UINT64_MAX; /* Blocks more on a slow machine. */
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    for (i = 0; i < 1000; i++) {
      lua_pushcfunction(L, case_inner);
      LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
    }
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
    LJT_EQ(ljt_row(&t, "case_inner"), 1000);
    LJT_EQ(occurs(&kept, f, "case_inner"), 1);
    LJT_OK(kept.size > 2000 && kept.size < 65536);
    ljt_text_drop(&t);
    ljt_sink_free(&kept);
    lua_close(L);
  }
}

#define LINES 4000
#define TEXT (LINES * 44 + 44)

/* A chunk of 176 KB, whose text is its name: 4000 functions that make a table
** each. `mark` is its last line's. */
static void make_functions(char *text, const char *mark)
{
  int i, n;
  char *p = text;
  p += sprintf(p, "local f = { }%30s\n", "");
  for (i = 0; i < LINES; i++) {
    n = sprintf(p, "f[%d] = function() return { } end", i + 1);
    p += n + sprintf(p + n, "%*s\n", 43 - n, i == LINES - 2 ? mark : "");
  }
  (void)sprintf(p - 44, "for i = 1, #f do f[i]() end%16s", "");
}

static void call_text(lua_State *L, const char *text)
{
  LJT_EQ(luaL_loadbuffer(L, text, strlen(text), text), 0);
  LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
}

/* Its name is in a stream of format 4 once, and a name that differs far from
** its start is another one. `limit` 0: the default. What is pending is not
** flushed by time: each block more takes 150 bytes, and a slow machine needs a
** minute. A name for each function would be 8 MB, or 1.4 GB. */
static void names_once(size_t limit, const char *const *texts)
{
  lua_State *L = new_state();
  ljm_options o = format(4);
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  ljt_text t;
  int i;
  o.no_live = 1;
  o.encoder.name_limit = limit;
  o.encoder.flush_ns = UINT64_MAX;
  if (limit) o.encoder.buffer_size = limit * 4;
  LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
  for (i = 0; i < 2; i++) call_text(L, texts[i]);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
  LJT_OK(ljt_row(&t, "allocations") > LINES * 4);
  LJT_EQ(occurs(&kept, 4, "local f = { }"), 2);
  for (i = 0; i < 2; i++)
    LJT_EQ(occurs(&kept, 4, i ? "--two" : "--one"), limit ? 1 : 0);
  LJT_EQ(occurs(&kept, 4, "...#"), limit ? 0 : 2);
  LJT_OK(kept.size < 2000000 + (limit ? 4 * TEXT : 0));
  ljt_text_drop(&t);
  ljt_sink_free(&kept);
  lua_close(L);
}

/* Format 3 repeats it for each function, cut to its limit. */
static void names_cut(size_t limit, const char *const *texts)
{
  lua_State *L = new_state();
  ljm_options o = format(3);
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  ljt_text t;
  int i;
  o.encoder.name_limit = limit;
  LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
  for (i = 0; i < 2; i++) call_text(L, texts[i]);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
  LJT_OK(occurs(&kept, 3, "local f = { }") >= LINES * 2);
  LJT_EQ(occurs(&kept, 3, "...#"), occurs(&kept, 3, "local f = { }"));
  LJT_OK(kept.size < LINES * 2 * ((limit ? limit : 1024) + 200));
  ljt_text_drop(&t);
  ljt_sink_free(&kept);
  lua_close(L);
}

static void case_chunk_once(void)
{
  lua_State *L = new_state();
  char *one = (char *)malloc(TEXT + 1), *two = (char *)malloc(TEXT + 1);
  const char *texts[2];
  int lines = keeps_lines(L);
  lua_close(L);
  if (!one || !two) abort();
  make_functions(one, "--one");
  make_functions(two, "--two");
  LJT_EQ(strlen(one), TEXT - 1);
  texts[0] = one;
  texts[1] = two;
  if (lines) {
    names_once(0, texts);
    names_once(200000, texts);
    names_cut(0, texts);
    names_cut(64, texts);
  } else {
    printf("  left out: names (this LuaJIT drops them)\n");
  }
  free(one);
  free(two);
}

/* How many places with a cut name allocate. */
static int cut_rows(const char *report)
{
  const char *end = strstr(report, "\n\n"), *p = report;
  int n = 0;
  for (; end && (p = strstr(p, "...#")) != NULL && p < end; p++) n++;
  return n;
}

/* So many chunks, each collected at once, or while others are loaded: strings
** go before the prototypes that name them. */
static void chunks_come_and_go(lua_State *L, int count, int what)
{
  char name[120];
  int i;
  lua_gc(L, LUA_GCSETPAUSE, 0);
  lua_gc(L, LUA_GCSETSTEPMUL, 20);
  for (i = 0; i < count; i++) {
    (void)snprintf(name, sizeof(name), "=%099d", i);
    LJT_EQ(luaL_loadbuffer(L, "return {}", 9, name), 0);
    LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
    lua_gc(L, what, 0);
  }
}

/* Each has its own name, most of them at the address of one that is gone; with
** a limit that cuts them, too. */
static void names_of(uint32_t f, size_t limit, int count, int what)
{
  lua_State *L = new_state();
  int i, lines = keeps_lines(L);
  ljm_options o = format(f);
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  ljt_text t;
  o.encoder.name_limit = limit;
  LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
  chunks_come_and_go(L, count, what);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
  if (limit && lines) LJT_EQ(cut_rows(t.data), count);
  for (i = 0; i < count && !limit && lines; i++) {
    char name[120];
    (void)snprintf(name, sizeof(name), "=%099d:1", i);
    LJT_EQ(ljt_row(&t, name), 1);
  }
  ljt_text_drop(&t);
  ljt_sink_free(&kept);
  lua_close(L);
}

static void case_chunk_names(void)
{
  static const size_t limits[] = {0, 64};
  uint32_t f;
  size_t k;
  for (f = 3; f <= 4; f++) {
    for (k = 0; k < 2; k++) {
      names_of(f, limits[k], 200, LUA_GCCOLLECT);
      names_of(f, limits[k], 1000, LUA_GCSTEP);
    }
  }
}

/* -- Calls that fail ------------------------------------------------------ */

static void *old_block;

/* One block, grown once in vain, and one that it does not get. */
__attribute__((noinline)) static int case_failing(lua_State *L)
{
  void *ud;
  lua_Alloc f = lua_getallocf(L, &ud);
  old_block = f(ud, NULL, 0, 1000);
  refuse = 1;
  LJT_OK(old_block && !f(ud, old_block, 1000, 3000) && !f(ud, NULL, 0, 5000));
  refuse = 0;
  return 0;
}

/* A call that fails is no allocation, and the old block stays. */
static void case_failed_calls(void)
{
  uint32_t f;
  for (f = 3; f <= 4; f++) {
    lua_State *L = new_state();
    ljm_options o = format(f);
    ljt_sink kept;
    ljm_sink a = ljt_sink_make(&kept);
    ljt_text t;
    void *ud;
    lua_Alloc g;
    inner = lua_getallocf(L, &inner_ud);
    lua_setallocf(L, limited, NULL);
    lua_pushcfunction(L, case_failing);
    LJT_EQ(ljm_recorder_start(L, &a, &o, NULL), LJM_OK);
    LJT_EQ(lua_pcall(L, 0, 0, 0), 0);
    LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
    LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
    LJT_EQ(ljt_row(&t, "case_failing"), 1);
    LJT_OK(strstr(t.data, " holds 1000B: 1 allocs, 0 frees\n") != NULL);
    LJT_OK(strstr(t.data, "\nfailed calls: 2\n") != NULL);
    ljt_text_drop(&t);
    ljt_sink_free(&kept);
    g = lua_getallocf(L, &ud);
    (void)g(ud, old_block, 1000, 0);
    lua_close(L);
  }
}

/* -- What is not seen ------------------------------------------------------ */

/* Memory that does not pass the VM's allocator is in no event, and the totals
** say so. */
static void case_not_seen(void)
{
  lua_State *L = new_state();
  ljt_sink kept;
  ljm_sink a = ljt_sink_make(&kept);
  const char *total;
  ljt_text t;
  int ffi;
  LJT_EQ(ljm_recorder_start(L, &a, NULL, NULL), LJM_OK);
  ffi = luaL_dostring(L,
    "local ffi = require('ffi')\n"
    "ffi.cdef [[ void *malloc(size_t); void free(void *); ]]\n"
    "local p = ffi.C.malloc(50000000)\n"
    "ffi.fill(p, 50000000)\n"
    "ffi.C.free(p)\n"
    "ffi.cast('int (*)(void)', function() return 1 end)\n") == 0;
  lua_settop(L, 0);
  if (!ffi) printf("  left out: ffi.C.malloc (this LuaJIT has no FFI)\n");
  run(L, WORK);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  LJT_EQ(ljt_report(kept.data, kept.size, &t), LJP_END);
  total = strstr(t.data, "\nallocations: ");
  total = total ? strstr(total, ", +") : NULL;
  if (LJT_OK(total != NULL)) LJT_OK(strtoull(total + 3, NULL, 10) < 10000000);
  LJT_OK(strstr(t.data, "\ncovered: blocks of the VM's allocator; not machine "
                "code, callback pages, ffi.C.malloc, slack") != NULL);
  ljt_text_drop(&t);
  ljt_sink_free(&kept);
  lua_close(L);
}

int main(int argc, char **argv)
{
  int i;
  ljt_begin(argc, argv);
  for (i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--alpha=", 8) == 0) libs[0] = argv[i] + 8;
    if (strncmp(argv[i], "--beta=", 7) == 0) libs[1] = argv[i] + 7;
    if (strcmp(argv[i], "--emulated") == 0) emulated = 1;
  }
  if (emulated) printf("left out: growth of the process\n");
  if (!mkdtemp(dir)) abort();
  (void)snprintf(path, sizeof(path), "%s/stream", dir);
  LJT_CASE(case_disk_full);
  LJT_CASE(case_sinks);
  LJT_CASE(case_refused);
  LJT_CASE(case_killed);
  LJT_CASE(case_exits);
  LJT_CASE(case_flat);
  LJT_CASE(case_no_memory);
  LJT_CASE(case_put_back);
  LJT_CASE(case_pace);
  LJT_CASE(case_host_calls);
  LJT_CASE(case_host_stacks);
  LJT_CASE(case_no_room_again);
  LJT_CASE(case_called_two_ways);
  LJT_CASE(case_libraries);
  LJT_CASE(case_symbol_once);
  LJT_CASE(case_chunk_once);
  LJT_CASE(case_chunk_names);
  LJT_CASE(case_failed_calls);
  LJT_CASE(case_not_seen);
  unlink(path);
  rmdir(dir);
  return ljt_end();
}
