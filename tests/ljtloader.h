/*
** ljtloader.h - stands between a resolver and the loader's list of modules:
** counts calls and callbacks, and can leave the counters out, as an older
** loader does, or change them all the time. Define _GNU_SOURCE before the
** first include.
*/
#ifndef LJTLOADER_H
#define LJTLOADER_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

typedef int ljt_loader_cb(struct dl_phdr_info *info, size_t size, void *user);

static struct ljt_loader {
  uint64_t calls, callbacks;
  int inside, no_counters;
  int restless; /* Each call finds other counters. */
} ljt_loader;

/* What is asked for. */
typedef struct ljt_loader_call {
  ljt_loader_cb *cb;
  void *user;
} ljt_loader_call;

static inline int ljt_loader_each(struct dl_phdr_info *info, size_t size,
                                  void *user)
{
  const ljt_loader_call *call = (const ljt_loader_call *)user;
  struct dl_phdr_info seen = *info;
  int result;
  ljt_loader.callbacks++;
  ljt_loader.inside = 1;
  if (ljt_loader.no_counters) size = offsetof(struct dl_phdr_info, dlpi_adds);
  if (ljt_loader.restless) seen.dlpi_adds += ljt_loader.calls;
  result = call->cb(&seen, size, call->user);
  ljt_loader.inside = 0;
  return result;
}

/* dl_iterate_phdr by way of `real`. */
static inline int ljt_loader_iterate(int (*real)(ljt_loader_cb *, void *),
                                     ljt_loader_cb *cb, void *user)
{
  ljt_loader_call call;
  call.cb = cb;
  call.user = user;
  ljt_loader.calls++;
  return real(ljt_loader_each, &call);
}

#endif /* LJTLOADER_H */
