/*
** test_host - a host with an allocator of its own that logs every call: what
** a recorded stream says must equal that log, call for call.
**   test_host --script=FILE... [--jit=on|off|both]
*/
#include <errno.h>

#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>

#include "ljmemprof.h"
#include "ljtest.h"
#include "ljtsink.h"
#include "ljtstream.h"

/* -- The host's allocator and its log ----------------------------------- */

typedef struct host_call {
  void *old_block, *block;
  size_t old_size, size;
} host_call;

typedef struct host {
  host_call *calls;
  size_t count, cap;
  size_t from, to;     /* What was recorded. */
  lua_Alloc inner;     /* Who has the memory, its `ud` (may be NULL). */
  void *inner_ud;
  ljt_sink kept;
  ljm_options options;
  int recorded;        /* Recordings that ended. */
} host;

static void *host_malloc(void *ud, void *p, size_t old_size, size_t size)
{
  (void)ud;
  (void)old_size;
  if (size != 0) return realloc(p, size);
  free(p);
  return NULL;
}

/* Whose `ud` is NULL: it must find its host otherwise. */
static host *host_now;

static void *host_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  host *h = host_now;
  host_call c;
  if (ud != NULL) abort();
  c.old_block = p;
  c.old_size = old_size;
  c.size = size;
  c.block = NULL;
  if (size != 0) {
    c.block = h->inner(h->inner_ud, NULL, 0, size);
    if (c.block && p) memcpy(c.block, p, old_size < size ? old_size : size);
  }
  if (p && (c.block || size == 0)) {
    /* Reading a block after it was freed shows. */
    memset(p, 0xfe, old_size);
    h->inner(h->inner_ud, p, old_size, 0);
  }
  if (h->count == h->cap) {
    h->cap = h->cap ? h->cap * 2 : 65536;
    h->calls = (host_call *)realloc(h->calls, h->cap * sizeof(host_call));
    if (!h->calls) abort();
  }
  h->calls[h->count++] = c;
  return c.block;
}

/* -- What the scripts call: the recorder's start and stop --------------- */

static int host_start(lua_State *L)
{
  ljm_sink sink = ljt_sink_make(&host_now->kept);
  ljm_status st = ljm_recorder_start(L, &sink, &host_now->options, NULL);
  host_now->from = host_now->count;
  lua_pushboolean(L, st == LJM_OK);
  return 1;
}

static int host_stop(lua_State *L)
{
  ljm_result res;
  ljm_status st;
  host_now->to = host_now->count;
  st = ljm_recorder_stop(L, &res);
  LJT_EQ(st, LJM_OK);
  LJT_EQ(res.reason, LJM_REASON_STOPPED);
  LJT_EQ(res.dropped, 0);
  LJT_EQ(res.written, host_now->kept.size);
  LJT_EQ(host_now->kept.closed, 1);
  host_now->recorded++;
  lua_pushboolean(L, st == LJM_OK);
  return 1;
}

/* In place of misc.memprof and of the module jit.memprof. */
static void host_doors(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getglobal(L, "misc");
  lua_newtable(L);
  lua_pushcfunction(L, host_start);
  lua_setfield(L, -2, "start");
  lua_pushcfunction(L, host_stop);
  lua_setfield(L, -2, "stop");
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "memprof");
  lua_setfield(L, -3, "jit.memprof");
  lua_pop(L, 2);
}

/* -- Comparing ---------------------------------------------------------- */

/* The last `n` numbers of a line. */
static void host_numbers(const char *line, const char *end, uint64_t *v, int n)
{
  while (n > 0) {
    while (end > line && end[-1] != ' ') end--;
    v[--n] = strtoull(end, NULL, 10);
    if (end > line) end--;
  }
}

/* An event of the stream, told as the call that it stands for. */
static int host_event(const char *line, const char *end, uint64_t v[4])
{
  memset(v, 0, 4 * sizeof(v[0]));
  if (strncmp(line, "alloc ", 6) == 0) {
    host_numbers(line, end, v + 2, 2);
  } else if (strncmp(line, "free ", 5) == 0) {
    host_numbers(line, end, v, 2);
  } else if (strncmp(line, "realloc ", 8) == 0) {
    host_numbers(line, end, v, 4);
  } else if (strncmp(line, "alloc-failed ", 13) == 0) {
    host_numbers(line, end, v + 3, 1);
  } else if (strncmp(line, "realloc-failed ", 15) == 0) {
    uint64_t f[3]; /* Old address, old size, size; new address 0. */
    host_numbers(line, end, f, 3);
    v[0] = f[0];
    v[1] = f[1];
    v[3] = f[2];
  } else {
    return 0;
  }
  return 1;
}

static int host_same(const host_call *c, const uint64_t v[4])
{
  return v[0] == (uintptr_t)c->old_block && v[2] == (uintptr_t)c->block &&
         v[3] == c->size && (!c->old_block || v[1] == c->old_size);
}

static void host_compare(host *h)
{
  ljt_bytes text = {NULL, 0, 0};
  const char *line, *end = NULL, *last;
  size_t i = h->from, events = 0, offset;
  uint64_t v[4] = {0, 0, 0, 0};
  LJT_EQ(ljt_dump(h->kept.data, h->kept.size, 0, &text, NULL, &offset), 0);
  line = (const char *)text.data;
  last = line + text.size;
  for (; line < last; line = end + 1) {
    end = (const char *)memchr(line, '\n', (size_t)(last - line));
    if (!host_event(line, end, v)) continue;
    /* A free of nothing is no event. */
    while (i < h->to && !h->calls[i].old_block && h->calls[i].size == 0) i++;
    if (i == h->to || !host_same(&h->calls[i], v)) break;
    i++;
    events++;
  }
  while (i < h->to && !h->calls[i].old_block && h->calls[i].size == 0) i++;
  if (!LJT_OK(line >= last) || !LJT_EQ(i, h->to)) {
    if (i < h->to)
      printf("  call %zu: old %p %zu, new %p %zu\n", i - h->from,
             h->calls[i].old_block, h->calls[i].old_size, h->calls[i].block,
             h->calls[i].size);
    if (line < last) printf("  event: %.*s\n", (int)(end - line), line);
  }
  printf("  %zu events\n", events);
  LJT_OK(events > 0);
  ljt_bytes_free(&text);
}

/* -- Running a script --------------------------------------------------- */

/* A VM on our allocator. A 64-bit build without GC64 needs low addresses,
** which only its own allocator can get: then ours stands before that one. */
static lua_State *host_open(host *h)
{
  lua_State *L;
  host_now = h;
  h->inner = host_malloc;
  L = lua_newstate(host_alloc, NULL);
  if (L) return L;
  L = luaL_newstate();
  if (!L) return NULL;
  h->inner = lua_getallocf(L, &h->inner_ud);
  lua_setallocf(L, host_alloc, NULL);
  return L;
}

static void host_close(host *h, lua_State *L)
{
  if (h->inner != host_malloc) lua_setallocf(L, h->inner, h->inner_ud);
  lua_close(L);
  ljt_sink_free(&h->kept);
  free(h->calls);
}

/* Has the VM what the script needs? */
static int host_can(lua_State *L, const char *script)
{
  int ffi;
  if (!strstr(script, "ffi")) return 1;
  ffi = luaL_dostring(L, "require('ffi')") == 0;
  lua_settop(L, 0);
  if (!ffi) printf("  left out: no FFI in this LuaJIT\n");
  return ffi;
}

static void host_run(const char *script, int jit, uint32_t format)
{
  host h;
  lua_State *L;
  memset(&h, 0, sizeof(h));
  h.options.format = format;
  printf("%s, JIT %s, format %u\n", script, jit ? "on" : "off", format);
  L = host_open(&h);
  if (!LJT_OK(L != NULL)) return;
  luaL_openlibs(L);
  if (!host_can(L, script)) {
    host_close(&h, L);
    return;
  }
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE |
                       (jit ? LUAJIT_MODE_ON : LUAJIT_MODE_OFF));
  host_doors(L);
  lua_newtable(L);
  lua_pushliteral(L, "unused");
  lua_rawseti(L, -2, 1);
  lua_pushstring(L, script);
  lua_rawseti(L, -2, 0);
  lua_setglobal(L, "arg");
  if (!LJT_EQ(luaL_dofile(L, script), 0))
    printf("  %s\n", lua_tostring(L, -1));
  if (LJT_EQ(h.recorded, 1)) host_compare(&h);
  host_close(&h, L);
}

int main(int argc, char **argv)
{
  int i, on = 1, off = 1;
  uint32_t format;
  ljt_begin(argc, argv);
  ljt.cases = 1;
  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--jit=on") == 0) off = 0;
    if (strcmp(argv[i], "--jit=off") == 0) on = 0;
  }
  for (i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--script=", 9) != 0) continue;
    ljt.row = argv[i] + 9;
    for (format = 3; format <= 4; format++) {
      if (off) host_run(argv[i] + 9, 0, format);
      if (on) host_run(argv[i] + 9, 1, format);
    }
  }
  return ljt_end();
}
