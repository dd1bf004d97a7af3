/*
** ljtvm.h - what tests share that let calls of a VM's allocator fail: the
** allocator, a program, and a count of the events it has made.
*/
#ifndef LJTVM_H
#define LJTVM_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "ljtsink.h"
#include "ljtstream.h"

static const char *const WORK =
  "local keep = {}\n"
  "for i = 1, 300 do\n"
  "  keep[i % 20 + 1] = { i, tostring(i) .. 'x' }\n"
  "  if i % 50 == 0 then\n"
  "    local co = coroutine.wrap(function() coroutine.yield({ i }) end)\n"
  "    co()\n"
  "    pcall(error, { i })\n"
  "    loadstring('return { ' .. i .. ' }')()\n"
  "  end\n"
  "end\n"
  "collectgarbage()\n";

/* The events of a stream: how many lines begin with an event's name. A
** stream cut short may be given. */
static inline uint64_t count_events(const ljt_sink *s, int *status)
{
  static const char *const names[] = {"alloc ", "free ", "realloc "};
  ljt_blocks *blocks = (ljt_blocks *)malloc(sizeof(ljt_blocks));
  ljt_bytes text = {NULL, 0, 0};
  const char *p, *end;
  uint64_t n = 0;
  size_t off, i;
  *status = ljt_dump(s->data, s->size, 0, &text, blocks, &off);
  free(blocks);
  p = (const char *)text.data;
  for (end = p + text.size; p < end; p = strchr(p, '\n') + 1)
    for (i = 0; i < 3; i++)
      if (strncmp(p, names[i], strlen(names[i])) == 0) n++;
  ljt_bytes_free(&text);
  return n;
}

/* An allocator whose call `fail_at` gets nothing. */
typedef struct vm_heap {
  uint64_t calls, fail_at;
  uint64_t done; /* Calls that came to something, frees too. */
  uint64_t live; /* Bytes. */
  lua_Alloc inner; /* The state's own: some builds take no other address. */
  void *ud;
} vm_heap;

static inline void *vm_alloc(void *ud, void *p, size_t old_size, size_t size)
{
  vm_heap *h = (vm_heap *)ud;
  void *q;
  if (size == 0) {
    h->done += p != NULL;
    if (p) h->live -= old_size;
    return h->inner(h->ud, p, old_size, 0);
  }
  if (++h->calls == h->fail_at) return NULL;
  q = h->inner(h->ud, p, old_size, size);
  h->done += q != NULL;
  if (q) h->live += size - (p ? old_size : 0);
  return q;
}

static inline lua_State *vm_state(vm_heap *h)
{
  lua_State *L = luaL_newstate();
  if (!L) abort();
  memset(h, 0, sizeof(*h));
  h->inner = lua_getallocf(L, &h->ud);
  h->live = (uint64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 +
            (uint64_t)lua_gc(L, LUA_GCCOUNTB, 0);
  lua_setallocf(L, vm_alloc, h);
  return L;
}

static inline void run_work(lua_State *L)
{
  if (luaL_loadstring(L, WORK) != 0) lua_error(L);
  lua_call(L, 0, 0);
}

#endif /* LJTVM_H */
