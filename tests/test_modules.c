/*
** test_modules - names of C functions whose libraries come and go while a VM
** is recorded: loaded by require, package.loadlib, ffi.load and by C code that
** LuaJIT knows nothing of; unloaded, another one put to their address, loaded
** again. Takes the paths of the libraries of casemod.c: --alpha=FILE,
** --beta=FILE, --stripped=FILE (alpha without names of static functions).
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <unistd.h>

#include "ljtloader.h"

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

static const char *alpha, *beta, *stripped;
static int emulated; /* --emulated: none comes to the place of another. */

/* The library's calls come here: the program's names go first. */
int dl_iterate_phdr(ljt_loader_cb *cb, void *user)
{
  int (*real)(ljt_loader_cb *, void *);
  void *sym = dlsym(RTLD_NEXT, "dl_iterate_phdr");
  if (!sym) abort();
  memcpy(&real, &sym, sizeof(real));
  return ljt_loader_iterate(real, cb, user);
}

/* -- What the Lua code calls --------------------------------------------- */

/* opens(path, name): a library that C code loads by itself, a function. */
static int host_opens(lua_State *L)
{
  void *lib = dlopen(lua_tostring(L, 1), RTLD_NOW | RTLD_LOCAL), *f;
  lua_CFunction cf;
  if (!lib) return luaL_error(L, "%s", dlerror());
  f = dlsym(lib, lua_tostring(L, 2));
  memcpy(&cf, &f, sizeof(cf));
  lua_pushlightuserdata(L, lib);
  lua_pushcfunction(L, cf);
  return 2;
}

static int host_closes(lua_State *L)
{
  lua_pushboolean(L, dlclose(lua_touserdata(L, 1)) == 0);
  return 1;
}

/* function_at(address) */
static int host_function_at(lua_State *L)
{
  uintptr_t at = (uintptr_t)lua_tonumber(L, 1);
  lua_CFunction cf;
  memcpy(&cf, &at, sizeof(cf));
  lua_pushcfunction(L, cf);
  return 1;
}

static uintptr_t address_of(lua_State *L, int idx)
{
  lua_CFunction cf = lua_tocfunction(L, idx);
  uintptr_t at;
  memcpy(&at, &cf, sizeof(at));
  return at;
}

/* address_of(function) */
static int host_address_of(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)address_of(L, 1));
  return 1;
}

/* gone(path): is the library not loaded? */
static int host_gone(lua_State *L)
{
  void *lib = dlopen(lua_tostring(L, 1), RTLD_NOW | RTLD_NOLOAD);
  if (lib) dlclose(lib);
  lua_pushboolean(L, lib == NULL);
  return 1;
}

static const luaL_Reg host_functions[] = {
  {"opens", host_opens},           {"closes", host_closes},
  {"function_at", host_function_at}, {"address_of", host_address_of},
  {"gone", host_gone},             {NULL, NULL}
};

/* The ways to load a library: `load(way, name)` gives its function
** NAME_tables, and what to call when the function is not needed any more. */
static const char *const PRELUDE =
  "local paths = { alpha = alpha_path, beta = beta_path }\n"
  "package.cpath = alpha_path:gsub('alpha', '?')\n"
  "local has_ffi, ffi = pcall(require, 'ffi')\n"
  "if has_ffi then\n"
  "  ffi.cdef('int alpha_tables(void *L); int beta_tables(void *L);')\n"
  "end\n"
  "local function unhandle(name)\n"
  "  debug.getregistry()['LOADLIB: ' .. paths[name]] = nil\n"
  "end\n"
  "local ways = {}\n"
  "function ways.require(name)\n"
  "  return require(name).tables, function()\n"
  "    package.loaded[name] = nil\n"
  "    _G[name] = nil\n"
  "    unhandle(name)\n"
  "  end\n"
  "end\n"
  "function ways.loadlib(name)\n"
  "  local f = assert(package.loadlib(paths[name], name .. '_tables'))\n"
  "  return f, function() unhandle(name) end\n"
  "end\n"
  "ways['ffi.load'] = has_ffi and function(name)\n"
  "  local lib = ffi.load(paths[name])\n"
  "  local f = ffi.cast('void *', lib[name .. '_tables'])\n"
  "  f = function_at(tonumber(ffi.cast('uintptr_t', f)))\n"
  "  return f, function() lib = nil end\n"
  "end\n"
  "function ways.dlopen(name)\n"
  "  local lib, f = opens(paths[name], name .. '_tables')\n"
  "  return f, function()\n"
  "    f = nil\n"
  "    collectgarbage()\n"
  "    assert(closes(lib))\n"
  "  end\n"
  "end\n"
  /* Loads, allocates `n` times, unloads. Returns where the function was. */
  "function visit(way, name, n)\n"
  "  if not ways[way] then return end\n"
  "  local f, done = ways[way](name)\n"
  "  local at = address_of(f)\n"
  "  f(n)\n"
  "  f = nil\n"
  "  done()\n"
  "  done = nil\n"
  "  collectgarbage()\n"
  "  collectgarbage()\n"
  "  assert(gone(paths[name]), name .. ' is still loaded')\n"
  "  return at\n"
  "end\n";

/* -- A recorded VM -------------------------------------------------------- */

typedef struct recorded {
  lua_State *L;
  ljt_sink kept;
  ljt_text report; /* After record_end. */
} recorded;

static const struct kind {
  const char *name;
  uint32_t format;
  int eager;
} kinds[] = {{"format 3", 3, 0}, {"format 3, eager", 3, 1}, {"format 4", 4, 0}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void record_begin(recorded *r, const struct kind *k)
{
  ljm_options o;
  ljm_sink sink = ljt_sink_make(&r->kept);
  memset(&o, 0, sizeof(o));
  o.format = k->format;
  o.eager = k->eager;
  o.encoder.flush_ns = UINT64_MAX; /* Sizes do not depend on time. */
  r->L = new_state();
  lua_pushvalue(r->L, LUA_GLOBALSINDEX);
  luaL_register(r->L, NULL, host_functions);
  lua_pop(r->L, 1);
  lua_pushstring(r->L, alpha);
  lua_setglobal(r->L, "alpha_path");
  lua_pushstring(r->L, beta);
  lua_setglobal(r->L, "beta_path");
  run(r->L, PRELUDE);
  LJT_EQ(ljm_recorder_start(r->L, &sink, &o, NULL), LJM_OK);
}

static void record_end(recorded *r)
{
  LJT_EQ(ljm_recorder_stop(r->L, NULL), LJM_OK);
  LJT_EQ(ljt_report(r->kept.data, r->kept.size, &r->report), LJP_END);
  lua_close(r->L);
}

static void record_free(recorded *r)
{
  ljt_text_drop(&r->report);
  ljt_sink_free(&r->kept);
}

/* visit(way, name, n) of the prelude. 0: this LuaJIT has no such way. */
static uint64_t visit(recorded *r, const char *way, const char *name, int n)
{
  uint64_t at;
  lua_getglobal(r->L, "visit");
  lua_pushstring(r->L, way);
  lua_pushstring(r->L, name);
  lua_pushinteger(r->L, n);
  if (!LJT_EQ(lua_pcall(r->L, 3, 1, 0), 0))
    printf("  %s\n", lua_tostring(r->L, -1));
  at = (uint64_t)lua_tonumber(r->L, -1);
  lua_pop(r->L, 1);
  return at;
}

/* How often the bytes hold this string, its length before it. */
static size_t count_names(const unsigned char *data, size_t size,
                          const char *name)
{
  char want[64];
  size_t n = 0, len = strlen(name);
  const unsigned char *p = data, *end = data + size;
  if (len >= sizeof(want)) abort();
  want[0] = (char)len;
  memcpy(want + 1, name, len);
  while ((p = (const unsigned char *)memmem(p, (size_t)(end - p), want,
                                            len + 1)) != NULL) {
    n++;
    p += len + 1;
  }
  return n;
}

static size_t names(const recorded *r, const char *name)
{
  return count_names(r->kept.data, r->kept.size, name);
}

/* -- Cases ---------------------------------------------------------------- */

static const char *const ways[] = {"require", "loadlib", "ffi.load", "dlopen"};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* One way, one kind of stream. Returns whether all were at one address. */
static int in_turns(const char *way, const struct kind *k)
{
  recorded r;
  uint64_t at[3];
  int same;
  record_begin(&r, k);
  at[0] = visit(&r, way, "alpha", 5);
  at[1] = visit(&r, way, "beta", 7);
  at[2] = visit(&r, way, "alpha", 5);
  same = at[0] == at[1] && at[0] == at[2];
  record_end(&r);
  if (!at[0]) {
    printf("  left out: %s (this LuaJIT has no FFI)\n", way);
    record_free(&r);
    return 1;
  }
  LJT_EQ(ljt_row(&r.report, "alpha_tables"), 10);
  LJT_EQ(ljt_row(&r.report, "beta_tables"), 7);
  if (k->format == 3) {
    /* Functions that never allocate have a name if it was written ahead. */
    size_t times = same ? 2 : at[0] == at[2] ? 1 : 2;
    LJT_EQ(names(&r, "alpha_udata"), k->eager ? times : 0);
    LJT_EQ(names(&r, "beta_udata"), k->eager ? 1 : 0);
    LJT_EQ(names(&r, "luaL_newstate"), k->eager ? 1 : 0);
  } else {
    LJT_EQ(names(&r, "beta_udata"), 0);
  }
  record_free(&r);
  return same;
}

/* A library goes, another one comes to its address, and the first again:
** every event keeps the name it had. */
static void case_in_turns(void)
{
  size_t i, k, same = 0;
  for (i = 0; i < WAYS; i++) {
    for (k = 0; k < KINDS; k++) {
      ljt.row = ways[i];
      same += (size_t)in_turns(ways[i], &kinds[k]);
    }
  }
  ljt.row = NULL;
  /* The loader may take another place if something of the process took this
  ** one in between; not always, unless an emulator hands out the places. */
  if (emulated)
    printf("  left out: at one address\n");
  else if (!LJT_OK(same > WAYS * KINDS / 2))
    printf("  at one address in %zu of %d runs\n", same, WAYS * KINDS);
}

/* Without the loader's counters it takes LuaJIT's hooks to notice; what C code
** loads by itself is found by its address. */
static void case_no_counters(void)
{
  size_t i, k;
  ljt_loader.no_counters = 1;
  for (k = 0; k < KINDS; k++) {
    recorded r;
    for (i = 0; strcmp(ways[i], "dlopen") != 0; i++) {
      ljt.row = ways[i];
      (void)in_turns(ways[i], &kinds[k]);
    }
    ljt.row = ways[i];
    record_begin(&r, &kinds[k]);
    visit(&r, ways[i], "alpha", 5);
    record_end(&r);
    LJT_EQ(ljt_row(&r.report, "alpha_tables"), 5);
    record_free(&r);
  }
  ljt_loader.no_counters = 0;
}

/* Runs what is on the stack, says how often the loader's list was asked for.
** Each time its first entry is enough. */
static uint64_t asked_in(recorded *r, int args)
{
  ljt_loader.calls = ljt_loader.callbacks = 0;
  LJT_EQ(lua_pcall(r->L, args, 0, 0), 0);
  LJT_EQ(ljt_loader.callbacks, ljt_loader.calls);
  return ljt_loader.calls;
}

/* While no library comes or goes, an event of a C function reads the counters
** once; those of Lua code, traces and the VM do not. */
static void case_asked(void)
{
  size_t k;
  for (k = 0; k < KINDS; k++) {
    recorded r;
    uint64_t asked;
    int turn;
    ljt.row = kinds[k].name;
    record_begin(&r, &kinds[k]);
    run(r.L, "function lua()\n"
             "  local t = {}\n"
             "  for i = 1, 20000 do t[i] = { i, tostring(i) } end\n"
             "  t = nil\n"
             "  collectgarbage()\n"
             "end\n"
             "tables = require('alpha').tables\n"
             "tables(1) tostring(1) collectgarbage()\n");
    for (turn = 0; turn < 2; turn++) {
      run(r.L, turn ? "pcall(jit.on)" : "pcall(jit.off)");
      lua_getglobal(r.L, "lua");
      LJT_EQ(asked_in(&r, 0), 0);
    }
    lua_getglobal(r.L, "tables");
    lua_pushinteger(r.L, 1000);
    asked = asked_in(&r, 1);
    if (!LJT_OK(asked > 0 && asked <= 1000))
      printf("  asked %" PRIu64 " times\n", asked);
    record_end(&r);
    LJT_EQ(ljt_row(&r.report, "alpha_tables"), 1001);
    record_free(&r);
  }
}

/* A library that comes back to its place is not written again; what many of
** its events need is written once. */
static void case_once(void)
{
  size_t i, k;
  for (i = 0; i < WAYS; i++) {
    for (k = 0; k < KINDS; k++) {
      recorded r;
      uint64_t at = 0, first = 0;
      int n, moved = 0;
      ljt.row = ways[i];
      record_begin(&r, &kinds[k]);
      for (n = 0; n < 10; n++) {
        at = visit(&r, ways[i], "alpha", 100);
        if (n == 0) first = at;
        moved += at != first;
      }
      record_end(&r);
      if (at) LJT_EQ(ljt_row(&r.report, "alpha_tables"), 1000);
      if (kinds[k].eager && !moved && at)
        LJT_EQ(names(&r, "alpha_udata"), 1);
      if (!kinds[k].eager) LJT_OK(r.kept.size < 65536);
      record_free(&r);
    }
  }
}

/* A static function of a stripped library has a distance, no neighbour. Format
** 4 has the module's path, format 3 the last part of it. */
static void case_stripped(void)
{
  size_t k;
  const char *base = strrchr(stripped, '/');
  base = base ? base + 1 : stripped;
  for (k = 0; k < KINDS; k++) {
    recorded r;
    Dl_info info;
    char want[4096];
    uintptr_t at;
    void *p;
    int i;
    ljt.row = kinds[k].name;
    record_begin(&r, &kinds[k]);
    lua_pushstring(r.L, stripped);
    lua_setglobal(r.L, "path");
    run(r.L, "lib = assert(package.loadlib(path, 'luaopen_alpha'))()");
    lua_getglobal(r.L, "lib");
    lua_getfield(r.L, -1, "hidden");
    at = address_of(r.L, -1);
    memcpy(&p, &at, sizeof(p));
    if (!LJT_OK(dladdr(p, &info) != 0)) abort();
    (void)snprintf(want, sizeof(want), "%s+0x%llx",
                   kinds[k].format == 3 ? base : stripped,
                   (unsigned long long)(at - (uintptr_t)info.dli_fbase));
    for (i = 0; i < 5; i++) {
      lua_pushvalue(r.L, -1);
      LJT_EQ(lua_pcall(r.L, 0, 0, 0), 0);
    }
    run(r.L, "lib.tables(3)");
    record_end(&r);
    if (!LJT_EQ(ljt_row(&r.report, want), 5)) printf("  %s\n", want);
    LJT_EQ(ljt_row(&r.report, "alpha_tables"), 3);
    LJT_EQ(ljt_row(&r.report, "alpha_hidden"), 0);
    record_free(&r);
  }
}

/* The same function where the library has all names. */
static void case_static(void)
{
  size_t k;
  for (k = 0; k < KINDS; k++) {
    recorded r;
    ljt.row = kinds[k].name;
    record_begin(&r, &kinds[k]);
    run(r.L, "local f = require('alpha').hidden for i = 1, 5 do f() end");
    record_end(&r);
    LJT_EQ(ljt_row(&r.report, "alpha_hidden"), 5);
    record_free(&r);
  }
}

/* Addresses of the C symbols of a stream. */
typedef struct csyms {
  uint64_t at[1 << 16];
  size_t count;
} csyms;

static ljp_status on_csym(void *user, const ljp_record *r)
{
  csyms *c = (csyms *)user;
  if (r->kind != LJP_RECORD_CSYM) return LJP_OK;
  if (c->count == sizeof(c->at) / sizeof(c->at[0])) abort();
  c->at[c->count++] = r->id;
  return LJP_OK;
}

static ljp_status on_events(void *user, const ljp_event *ev, size_t count,
                            size_t *failed)
{
  (void)user;
  (void)ev;
  (void)count;
  (void)failed;
  return LJP_OK;
}

static int by_address(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* No address has two names, nor one name twice. */
static void check_each_once(const unsigned char *data, size_t size)
{
  static csyms c;
  ljp_handler h;
  ljp_decoder *dec;
  size_t i, twice = 0;
  c.count = 0;
  h.on_events = on_events;
  h.on_record = on_csym;
  h.user = &c;
  if (ljp_decoder_new(&dec, &h, NULL) != LJP_OK) abort();
  ljp_decoder_feed(dec, data, size);
  LJT_EQ(ljp_decoder_finish(dec), LJP_END);
  ljp_decoder_free(dec);
  LJT_OK(c.count > 100);
  qsort(c.at, c.count, sizeof(c.at[0]), by_address);
  for (i = 1; i < c.count; i++) twice += c.at[i] == c.at[i - 1];
  LJT_EQ(twice, 0);
}

/* misc.memprof writes all names ahead, each once, before the events. */
static void case_misc(void)
{
  char path[] = "/tmp/ljm-modules-XXXXXX";
  lua_State *L = new_state();
  unsigned char *data, *events;
  size_t size = 0;
  int fd = mkstemp(path);
  if (fd < 0 || close(fd) != 0) abort();
  lua_pushstring(L, path);
  lua_setglobal(L, "path");
  run(L, "assert(misc.memprof.start(path))\n"
         "for i = 1, 100 do io.tmpfile():close() end\n"
         "assert(misc.memprof.stop())\n");
  lua_close(L);
  data = ljt_read_file(path, &size);
  unlink(path);
  if (!LJT_OK(data != NULL)) return;
  events = (unsigned char *)memmem(data, size, "ljm\3\0\0\0", 7);
  if (LJT_OK(events != NULL)) {
    size_t ahead = (size_t)(events - data);
    LJT_EQ(count_names(data, ahead, "luaL_newstate"), 1);
    LJT_EQ(count_names(data, ahead, "lua_pushstring"), 1);
    LJT_EQ(count_names(data, ahead, "lj_cf_io_tmpfile"), 1);
    LJT_EQ(count_names(events, size - ahead, "lj_cf_io_tmpfile"), 0);
    LJT_EQ(count_names(events, size - ahead, "lua_pushstring"), 0);
  }
  check_each_once(data, size);
  free(data);
}

/* Only format 3 has it. */
static void case_options(void)
{
  lua_State *L = new_state();
  ljm_options o;
  memset(&o, 0, sizeof(o));
  o.eager = 1;
  LJT_EQ(ljm_recorder_start_file(L, "/dev/null", &o, NULL), LJM_E_ARG);
  o.format = 3;
  LJT_EQ(ljm_recorder_start_file(L, "/dev/null", &o, NULL), LJM_OK);
  LJT_EQ(ljm_recorder_stop(L, NULL), LJM_OK);
  run(L,
    "local m = require('jit.memprof.core')\n"
    "assert(not m.start('/dev/null', { eager = true }))\n"
    "assert(m.start('/dev/null', { eager = true, format = 3 }))\n"
    "assert(m.stop())\n");
  lua_close(L);
}

int main(int argc, char **argv)
{
  int i;
  ljt_begin(argc, argv);
  for (i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--alpha=", 8) == 0) alpha = argv[i] + 8;
    if (strncmp(argv[i], "--beta=", 7) == 0) beta = argv[i] + 7;
    if (strcmp(argv[i], "--emulated") == 0) emulated = 1;
    if (strncmp(argv[i], "--stripped=", 11) == 0) stripped = argv[i] + 11;
  }
  if (!alpha || !beta || !stripped) {
    printf("FAIL the libraries' paths are missing\n");
    return 1;
  }
  LJT_CASE(case_in_turns);
  LJT_CASE(case_no_counters);
  LJT_CASE(case_asked);
  LJT_CASE(case_once);
  LJT_CASE(case_stripped);
  LJT_CASE(case_static);
  LJT_CASE(case_misc);
  LJT_CASE(case_options);
  return ljt_end();
}
