/* Sinks that fail, at each call, in each way; files; calls back out of the
** sink; the clock. */
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"
#include "ljtest.h"
#include "ljtmem.h"
#include "ljtsink.h"
#include "ljtstream.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t fake_now;

static uint64_t fake_clock(void *user)
{
  (void)user;
  return fake_now;
}

static ljm_encoder_options small_options(void)
{
  ljm_encoder_options o;
  memset(&o, 0, sizeof(o));
  o.buffer_size = 4096;
  o.stream_id = 7;
  o.clock = fake_clock;
  return o;
}

/* The same stream each time, some blocks long; the result of finish. */
static ljm_status write3(const ljm_sink *sink, ljm_encoder *e, int events)
{
  ljm_encoder_options o = small_options();
  ljm_where w;
  int i;
  ljm_status st = ljm_encoder_init(e, sink, &o);
  if (st != LJM_OK) return st;
  ljm_encoder_proto(e, 4096, "@a.lua", 6, 1);
  ljm_encoder_open(e);
  w.source = LJM_SOURCE_LUA;
  w.address = 4096;
  w.line = 2;
  for (i = 0; i < events; i++) {
    uint64_t a = UINT64_C(0x7f0000000000) + (uint64_t)i * 64;
    ljm_encoder_alloc(e, &w, a, 40);
    if (i % 4 == 1) ljm_encoder_dealloc(e, &w, a, 40);
  }
  return ljm_encoder_finish(e);
}

static ljm_status write4(const ljm_sink *sink, ljm_encoder4 *e, int events)
{
  static const ljm_meta meta[] = {{"tree", "test"}};
  ljm_encoder_options o = small_options();
  int i;
  ljm_status st = ljm_encoder4_init(e, sink, &o, meta, 1);
  if (st != LJM_OK) return st;
  for (i = 0; i < events; i++) {
    uint64_t a = UINT64_C(0x7f0000000000) + (uint64_t)i * 64;
    uint32_t frame = ljm_encoder4_frame_lua(e, 1, (uint64_t)(i % 50));
    uint32_t stack = ljm_encoder4_stack(e, 0, frame);
    ljm_encoder4_alloc(e, ljm_encoder4_site(e, stack, LJM_STATE_INTERP,
                                            LJM_OBJECT_TABLE), a, 40);
  }
  ljm_encoder4_live(e, LJM_OBJECT_TABLE, 64);
  return ljm_encoder4_finish(e, LJM_END_STOPPED, 1);
}

/* Either format behind one face. */
typedef struct run {
  ljm_status status;
  ljm_error error;
  uint64_t dropped, written;
} run;

static run write_any(int format, const ljm_sink *sink, int events)
{
  static ljm_encoder e3;
  static ljm_encoder4 e4;
  ljm_buffer *b = format == 3 ? &e3.b : &e4.b;
  run r;
  r.status = format == 3 ? write3(sink, &e3, events)
                         : write4(sink, &e4, events);
  r.error = b->out.error;
  r.dropped = b->dropped;
  r.written = b->out.written;
  if (format == 3) ljm_encoder_free(&e3);
  else ljm_encoder4_free(&e4);
  return r;
}

#define EVENTS 3000

typedef struct fault {
  const char *name;
  ptrdiff_t result;
  uint64_t count; /* In a row. */
  int lost;       /* errno that finish has, 0: the stream is whole. */
} fault;

static const fault faults[] = {
  {"short", LJT_SHORT, 1, 0},
  {"short for good", LJT_SHORT, 0, 0},
  {"EINTR", -EINTR, 1, 0},
  {"EINTR 99 times", -EINTR, 99, 0},
  {"EINTR 100 times", -EINTR, 100, EINTR},
  {"EINTR for good", -EINTR, 0, EINTR},
  {"EAGAIN", -EAGAIN, 3, 0},
  {"EAGAIN for good", -EAGAIN, 0, EAGAIN},
  {"nothing", 0, 1, EIO},
  {"EIO", -EIO, 1, EIO},
  {"ENOSPC", -ENOSPC, 1, ENOSPC},
  {"more than given", PTRDIFF_MAX - 1, 1, EIO},
  {"no errno", PTRDIFF_MIN, 1, EIO},
};

static void one_fault(int format, const fault *f, const ljt_sink *good,
                      uint64_t call)
{
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  run r;
  s.fail_at = call;
  s.fail_count = f->count;
  s.result = f->result;
  errno = 1234;
  r = write_any(format, &sink, EVENTS);
  LJT_EQ(errno, 1234);
  LJT_EQ(s.closed, 1);
  LJT_EQ(r.written, s.size);
  if (!f->lost) {
    LJT_EQ(r.status, LJM_OK);
    LJT_EQ(r.dropped, 0);
    LJT_MEM(s.data, s.size, good->data, good->size);
  } else {
    LJT_EQ(r.status, LJM_E_IO);
    LJT_EQ(r.error.sys_errno, f->lost);
    LJT_EQ(r.error.offset, s.size);
    LJT_OK(s.size < good->size);
    LJT_MEM(s.data, s.size, good->data, s.size);
    /* Nothing is written once it has failed. */
    LJT_OK(s.calls <= call + 99);
    LJT_OK(f->count != 1 || s.calls == call);
  }
  ljt_sink_free(&s);
}

static void failing_calls(void)
{
  int format;
  size_t i;
  for (format = 3; format <= 4; format++) {
    ljt_sink good;
    ljm_sink sink = ljt_sink_make(&good);
    uint64_t call;
    LJT_EQ(write_any(format, &sink, EVENTS).status, LJM_OK);
    LJT_OK(good.calls > 3);
    for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
      ljt.row = faults[i].name;
      for (call = 1; call <= good.calls; call++)
        one_fault(format, &faults[i], &good, call);
    }
    ljt_sink_free(&good);
  }
}

static void failing_close(void)
{
  int format;
  for (format = 3; format <= 4; format++) {
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    run r;
    s.close_result = EDQUOT;
    r = write_any(format, &sink, 10);
    LJT_EQ(r.status, LJM_E_IO);
    LJT_EQ(r.error.sys_errno, EDQUOT);
    LJT_EQ(r.error.offset, s.size);
    LJT_EQ(s.closed, 1);
    ljt_sink_free(&s);
    sink = ljt_sink_make(&s);
    sink.close = NULL;
    LJT_EQ(write_any(format, &sink, 10).status, LJM_OK);
    ljt_sink_free(&s);
  }
}

/* -- Calls back out of the sink */

static void inside3(void *arg)
{
  ljm_encoder *e = (ljm_encoder *)arg;
  ljm_where w;
  int i;
  w.source = LJM_SOURCE_INTERNAL;
  w.address = w.line = 0;
  for (i = 0; i < 3; i++) {
    LJT_EQ(ljm_encoder_alloc(e, &w, 16, 16), LJM_E_RUNNING);
    LJT_EQ(ljm_encoder_csym(e, 16, "x", 1), LJM_E_RUNNING);
    LJT_EQ(ljm_encoder_flush(e), LJM_E_RUNNING);
    LJT_EQ(ljm_encoder_finish(e), LJM_E_RUNNING);
    ljm_encoder_free(e);
  }
}

static void inside4(void *arg)
{
  ljm_encoder4 *e = (ljm_encoder4 *)arg;
  ljm_mark m;
  memset(&m, 0, sizeof(m));
  m.reason = LJM_MARK_PROGRAM;
  LJT_EQ(ljm_encoder4_string(e, "inside", 6), 0);
  LJT_EQ(ljm_encoder4_stack(e, 0, 99999), 0);
  LJT_EQ(ljm_encoder4_flush(e), LJM_E_RUNNING);
  LJT_EQ(ljm_encoder4_finish(e, LJM_END_STOPPED, 0), LJM_E_RUNNING);
  if (e->kind == LJM_FMT_EVENTS) {
    LJT_EQ(ljm_encoder4_alloc(e, 1, 16, 16), LJM_E_RUNNING);
    LJT_EQ(ljm_encoder4_alloc_sample(e, 1, 16, 16, 2), LJM_E_RUNNING);
    LJT_EQ(ljm_encoder4_mark(e, &m), LJM_E_RUNNING);
  }
  ljm_encoder4_free(e);
}

static void reentry(void)
{
  int format;
  for (format = 3; format <= 4; format++) {
    static ljm_encoder e3;
    static ljm_encoder4 e4;
    ljt_sink good, s;
    ljm_sink sink = ljt_sink_make(&good);
    LJT_EQ(write_any(format, &sink, EVENTS).status, LJM_OK);
    sink = ljt_sink_make(&s);
    s.inside = format == 3 ? inside3 : inside4;
    s.arg = format == 3 ? (void *)&e3 : (void *)&e4;
    if (format == 3) {
      LJT_EQ(write3(&sink, &e3, EVENTS), LJM_OK);
      LJT_EQ(e3.b.dropped, good.calls * 3);
      LJT_MEM(s.data, s.size, good.data, good.size);
      ljm_encoder_free(&e3);
    } else {
      LJT_EQ(write4(&sink, &e4, EVENTS), LJM_OK);
      /* END says what was dropped; only what is before it is equal. */
      LJT_OK(e4.b.dropped > 2 && e4.undefined > 2);
      LJT_MEM(s.data, s.size - 60, good.data, s.size - 60);
      ljm_encoder4_free(&e4);
    }
    LJT_EQ(s.closed, 1);
    ljt_sink_free(&good);
    ljt_sink_free(&s);
  }
}

/* -- Age of what is pending */

static void put_one(int format, ljm_encoder *e3, ljm_encoder4 *e4)
{
  ljm_where w;
  w.source = LJM_SOURCE_INTERNAL;
  w.address = w.line = 0;
  if (format == 3) LJT_EQ(ljm_encoder_alloc(e3, &w, 16, 16), LJM_OK);
  else LJT_EQ(ljm_encoder4_alloc(e4, 1, 16, 16), LJM_OK);
}

static void age(void)
{
  int format, i;
  for (format = 3; format <= 4; format++) {
    static ljm_encoder e3;
    static ljm_encoder4 e4;
    ljm_encoder_options o = small_options();
    ljt_sink s;
    ljm_sink sink = ljt_sink_make(&s);
    fake_now = UINT64_C(1000000000000);
    if (format == 3) {
      LJT_EQ(ljm_encoder_init(&e3, &sink, &o), LJM_OK);
      LJT_EQ(ljm_encoder_open(&e3), LJM_OK);
    } else {
      LJT_EQ(ljm_encoder4_init(&e4, &sink, &o, NULL, 0), LJM_OK);
    }
    /* Seldom: the event after one second writes what was before it. */
    fake_now += 30000000;
    put_one(format, &e3, &e4);
    fake_now += 900000000;
    put_one(format, &e3, &e4);
    LJT_EQ(s.calls, 0);
    fake_now += 1000000001;
    put_one(format, &e3, &e4);
    LJT_EQ(s.calls, 1);
    /* Often: within 256 events. */
    for (i = 0; i < 600; i++) put_one(format, &e3, &e4);
    LJT_EQ(s.calls, 1);
    fake_now += 1000000001;
    for (i = 0; i < 256; i++) put_one(format, &e3, &e4);
    LJT_EQ(s.calls, 2);
    if (format == 3) ljm_encoder_free(&e3);
    else ljm_encoder4_free(&e4);
    ljt_sink_free(&s);
  }
}

static void age_never(void)
{
  ljm_encoder_options o = small_options();
  ljt_sink s;
  ljm_sink sink = ljt_sink_make(&s);
  ljm_encoder4 e;
  int i;
  o.flush_ns = UINT64_MAX;
  LJT_EQ(ljm_encoder4_init(&e, &sink, &o, NULL, 0), LJM_OK);
  for (i = 0; i < 20; i++) {
    ljm_encoder4_alloc(&e, 1, 16, 16);
    fake_now += UINT64_C(10000000000);
  }
  LJT_EQ(s.calls, 0);
  LJT_EQ(ljm_encoder4_flush(&e), LJM_OK);
  LJT_EQ(s.calls, 1);
  ljm_encoder4_free(&e);
  ljt_sink_free(&s);
}

/* -- Files */

static char dir[] = "/tmp/ljm-sink-XXXXXX";

static void in_dir(char *path, size_t size, const char *name)
{
  snprintf(path, size, "%s/%s", dir, name);
}

static void put_file(const char *path, const char *text)
{
  FILE *f = fopen(path, "wb");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
}

static void want_file(const char *path, const char *text)
{
  size_t n = 0;
  unsigned char *p = ljt_read_file(path, &n);
  LJT_OK(p != NULL);
  LJT_MEM(p, n, text, strlen(text));
  free(p);
}

static int present(const char *path)
{
  return access(path, F_OK) == 0;
}

static void file_names(void)
{
  char path[256], want[256];
  ljm_file f;
  ljm_sink sink;
  ljm_error err;
  static const struct bad {
    const char *name;
    ljm_status status;
    int err;
  } bad[] = {
    {"%", LJM_E_ARG, EINVAL}, {"a%d", LJM_E_ARG, EINVAL},
    {"no/such", LJM_E_IO, ENOENT}, {"", LJM_E_IO, EISDIR},
  };
  size_t i;
  in_dir(path, sizeof(path), "a%%b-%p.bin");
  snprintf(want, sizeof(want), "%s/a%%b-%ld.bin", dir, (long)getpid());
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, &err), LJM_OK);
  LJT_OK(present(want));
  LJT_EQ(sink.close(sink.user), 0);
  LJT_OK(!present(want));
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    in_dir(path, sizeof(path), bad[i].name);
    errno = 77;
    LJT_EQ(ljm_file_open(&f, &sink, path, NULL, &err), bad[i].status);
    LJT_EQ(err.status, bad[i].status);
    LJT_EQ(err.sys_errno, bad[i].err);
    LJT_EQ(errno, 77);
  }
  LJT_EQ(ljm_file_open(&f, &sink, "", NULL, &err), LJM_E_ARG);
  LJT_EQ(ljm_file_open(&f, &sink, NULL, NULL, NULL), LJM_E_ARG);
}

static void file_kept(void)
{
  char path[256], link_path[256];
  ljm_file f;
  ljm_sink sink;
  in_dir(path, sizeof(path), "kept");
  put_file(path, "an old recording, longer than the new one");
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
  want_file(path, "an old recording, longer than the new one");
  LJT_EQ(sink.close(sink.user), 0);
  want_file(path, "an old recording, longer than the new one");
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
  LJT_EQ(sink.write(sink.user, "new", 3), 3);
  want_file(path, "new");
  LJT_EQ(sink.write(sink.user, "er", 2), 2);
  LJT_EQ(sink.close(sink.user), 0);
  want_file(path, "newer");
  in_dir(path, sizeof(path), "target");
  in_dir(link_path, sizeof(link_path), "link");
  LJT_EQ(symlink(path, link_path), 0);
  LJT_EQ(ljm_file_open(&f, &sink, link_path, NULL, NULL), LJM_OK);
  LJT_EQ(sink.write(sink.user, "linked", 6), 6);
  LJT_EQ(sink.close(sink.user), 0);
  want_file(path, "linked");
}

/* A first write that the system refuses leaves the file as it was. */
static void file_refused(void)
{
  char path[256];
  struct rlimit old, none;
  static ljm_encoder e;
  ljm_file f;
  ljm_sink sink;
  in_dir(path, sizeof(path), "refused");
  put_file(path, "old");
  getrlimit(RLIMIT_FSIZE, &old);
  none = old;
  none.rlim_cur = 0;
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
  LJT_EQ(ljm_encoder_init(&e, &sink, NULL), LJM_OK);
  setrlimit(RLIMIT_FSIZE, &none);
  LJT_EQ(ljm_encoder_flush(&e), LJM_E_IO);
  setrlimit(RLIMIT_FSIZE, &old);
  LJT_EQ(e.b.out.error.sys_errno, EFBIG);
  LJT_EQ(ljm_encoder_finish(&e), LJM_E_IO);
  ljm_encoder_free(&e);
  want_file(path, "old");
}

static void file_full(void)
{
  ljm_file f;
  ljm_sink sink;
  run r;
  LJT_EQ(ljm_file_open(&f, &sink, "/dev/full", NULL, NULL), LJM_OK);
  r = write_any(4, &sink, EVENTS);
  LJT_EQ(r.status, LJM_E_IO);
  LJT_EQ(r.error.sys_errno, ENOSPC);
  LJT_OK(r.dropped > 0);
  LJT_EQ(ljm_file_open(&f, &sink, "/dev/null", NULL, NULL), LJM_OK);
  LJT_EQ(write_any(4, &sink, EVENTS).status, LJM_OK);
}

/* A child that gives up its copy touches neither the file nor its name. */
static void file_fork(void)
{
  char path[256];
  static ljm_encoder4 e;
  ljm_file f;
  ljm_sink sink;
  pid_t pid;
  int status = 0;
  in_dir(path, sizeof(path), "forked");
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
  LJT_EQ(ljm_encoder4_init(&e, &sink, NULL, NULL, 0), LJM_OK);
  ljm_encoder4_alloc(&e, 1, 16, 16);
  pid = fork();
  if (pid == 0) {
    ljm_encoder4_alloc(&e, 1, 32, 16);
    ljm_encoder4_free(&e);
    _exit(0);
  }
  LJT_EQ(waitpid(pid, &status, 0), pid);
  LJT_EQ(status, 0);
  LJT_OK(present(path));
  LJT_EQ(ljm_encoder4_finish(&e, LJM_END_STOPPED, 0), LJM_OK);
  LJT_EQ(e.totals.allocs, 1);
  ljm_encoder4_free(&e);
}

/* A pipe that nobody empties: a bounded wait, then EAGAIN. */
static void file_pipe(void)
{
  char path[256];
  ljm_file f;
  ljm_sink sink;
  int fd, i;
  ptrdiff_t n = 1;
  static char block[65536];
  static const struct timespec none = {0, 0};
  sigset_t pipe_signal, pending;
  in_dir(path, sizeof(path), "fifo");
  LJT_EQ(mkfifo(path, 0600), 0);
  fd = open(path, O_RDONLY | O_NONBLOCK);
  LJT_EQ(ljm_file_open(&f, &sink, path, NULL, NULL), LJM_OK);
  LJT_EQ(fcntl(f.fd, F_SETFL, O_NONBLOCK), 0);
  for (i = 0; i < 100 && n > 0; i++)
    n = sink.write(sink.user, block, sizeof(block));
  LJT_EQ(n, -EAGAIN);
  /* Nobody reads any more: an error, not the end of the program; a SIGPIPE
  ** that the program has pending already stays its own. */
  close(fd);
  LJT_EQ(sink.write(sink.user, "x", 1), -EPIPE);
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  LJT_EQ(sigprocmask(SIG_BLOCK, &pipe_signal, NULL), 0);
  LJT_EQ(raise(SIGPIPE), 0);
  LJT_EQ(sink.write(sink.user, "x", 1), -EPIPE);
  LJT_EQ(sigpending(&pending), 0);
  LJT_OK(sigismember(&pending, SIGPIPE));
  LJT_EQ(sigtimedwait(&pipe_signal, NULL, &none), SIGPIPE);
  LJT_EQ(sigprocmask(SIG_UNBLOCK, &pipe_signal, NULL), 0);
  LJT_EQ(sink.close(sink.user), 0);
}

static void file_memory(void)
{
  char path[256];
  ljt_heap heap;
  ljm_allocator a;
  ljm_file f;
  ljm_sink sink;
  ljm_error err;
  in_dir(path, sizeof(path), "memory");
  memset(&heap, 0, sizeof(heap));
  a = ljt_allocator(&heap);
  heap.fail_at = 1;
  LJT_EQ(ljm_file_open(&f, &sink, path, &a, &err), LJM_E_NOMEM);
  LJT_OK(!present(path));
  heap.fail_at = 0;
  LJT_EQ(ljm_file_open(&f, &sink, path, &a, &err), LJM_OK);
  LJT_EQ(heap.live_count, 1);
  LJT_EQ(sink.write(sink.user, "x", 1), 1);
  LJT_EQ(heap.live_count, 0);
  LJT_EQ(sink.close(sink.user), 0);
  LJT_EQ(heap.bad_frees, 0);
  a.free = NULL;
  LJT_EQ(ljm_file_open(&f, &sink, path, &a, &err), LJM_E_ARG);
}

int main(int argc, char **argv)
{
  char command[64];
  if (!mkdtemp(dir)) return 1;
  ljt_begin(argc, argv);
  LJT_CASE(failing_calls);
  LJT_CASE(failing_close);
  LJT_CASE(reentry);
  LJT_CASE(age);
  LJT_CASE(age_never);
  LJT_CASE(file_names);
  LJT_CASE(file_kept);
  LJT_CASE(file_refused);
  LJT_CASE(file_full);
  LJT_CASE(file_fork);
  LJT_CASE(file_pipe);
  LJT_CASE(file_memory);
  snprintf(command, sizeof(command), "rm -rf %s", dir);
  return system(command) != 0 || ljt_end();
}
