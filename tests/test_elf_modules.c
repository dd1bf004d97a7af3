/*
** test_elf_modules - the resolver's parts by themselves: what the loader may
** list, copies that fit exactly, hashes of code.
*/
#define LJM_IMPLEMENTATION
#include "ljmemprof.h"

#include "ljtest.h"
#include "ljtmem.h"

/* -- the loader's list -------------------------------------------------- */

/* Counters count if all of both are there. */
static void counters(void)
{
  static const size_t end = offsetof(ljmi_dl_info, dlpi_subs) +
                            sizeof(((ljmi_dl_info *)0)->dlpi_subs);
  const struct { size_t size; int counted; } rows[] = {
    {offsetof(ljmi_dl_info, dlpi_adds), 0}, {end - 1, 0}, {end, 1},
    {end + 1, 1}, {sizeof(ljmi_dl_info), 1}
  };
  ljmi_dl_info info;
  size_t i;
  memset(&info, 0, sizeof(info));
  info.dlpi_adds = 5;
  info.dlpi_subs = 3;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljmi_counters c;
    memset(&c, 0, sizeof(c));
    LJT_EQ(ljmi_counters_cb(&info, rows[i].size, &c), 1);
    LJT_EQ(c.counted, rows[i].counted);
    LJT_EQ(c.adds, rows[i].counted ? 5 : 0);
    LJT_EQ(c.subs, rows[i].counted ? 3 : 0);
  }
}

/* The vDSO is the module with a PT_LOAD over that address. */
static void is_vdso(void)
{
  static const struct {
    const char *name;
    uint64_t at, size, vdso;
    unsigned type, listed;
    int want;
  } rows[] = {
    {"starts there", 0x1000, 0x100, 0x11000, PT_LOAD, 2, 1},
    {"last byte", 0x1000, 0x100, 0x110ff, PT_LOAD, 2, 1},
    {"just behind", 0x1000, 0x100, 0x11100, PT_LOAD, 2, 0},
    {"just before", 0x1000, 0x100, 0x10fff, PT_LOAD, 2, 0},
    {"no memory", 0x1000, 0, 0x11000, PT_LOAD, 2, 0},
    {"another kind", 0x1000, 0x100, 0x11000, PT_NOTE, 2, 0},
    {"not listed", 0x1000, 0x100, 0x11000, PT_LOAD, 1, 0},
    {"there is none", 0, 0x20000, 0, PT_LOAD, 2, 0}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ljmi_dl_info info;
    ElfW(Phdr) p[2];
    ljt.row = rows[i].name;
    memset(p, 0, sizeof(p));
    p[1].p_type = rows[i].type;
    p[1].p_vaddr = (ElfW(Addr))rows[i].at;
    p[1].p_memsz = (ElfW(Addr))rows[i].size;
    memset(&info, 0, sizeof(info));
    info.dlpi_addr = 0x10000;
    info.dlpi_phdr = p;
    info.dlpi_phnum = (ElfW(Half))rows[i].listed;
    LJT_EQ(ljmi_is_vdso(&info, rows[i].vdso), rows[i].want);
  }
  ljt.row = NULL;
}

/* An item is copied where it fits exactly, and counted where it does not. */
static void list_items(void)
{
  ljmi_dl_info info;
  ElfW(Phdr) p[3];
  ljmi_list list;
  size_t full, less;
  memset(&info, 0, sizeof(info));
  memset(p, 7, sizeof(p));
  info.dlpi_addr = 0x10000;
  info.dlpi_name = "/lib/one";
  info.dlpi_phdr = p;
  info.dlpi_phnum = 3;
  memset(&list, 0, sizeof(list));
  LJT_EQ(ljmi_list_cb(&info, sizeof(info), &list), 0);
  full = list.used;
  LJT_OK(full >= sizeof(ljmi_listed) + sizeof(p) + 9 && full % 8 == 0);
  for (less = 0; less < 2; less++) {
    size_t cap = 2 * full - less, i;
    unsigned char *data = (unsigned char *)malloc(cap);
    memset(&list, 0, sizeof(list));
    memset(data, 0xee, cap);
    list.data = data;
    list.cap = cap;
    for (i = 0; i < 2; i++)
      LJT_EQ(ljmi_list_cb(&info, sizeof(info), &list), 0);
    LJT_EQ(list.used, 2 * full);
    for (i = 0; i < 2 - less; i++) {
      const unsigned char *at = data + i * full;
      ljmi_listed item;
      memcpy(&item, at, sizeof(item));
      LJT_EQ(item.bias, 0x10000);
      LJT_EQ(item.phdr_count, 3);
      LJT_EQ(item.size, full);
      LJT_MEM(at + sizeof(item), sizeof(p), p, sizeof(p));
      LJT_STR((const char *)at + sizeof(item) + sizeof(p), "/lib/one");
    }
    if (less) LJT_EQ(data[full], 0xee);
    free(data);
  }
}

/* A list that fits exactly is taken without asking for more memory. */
static void list_fits(void)
{
  size_t less;
  for (less = 0; less < 2; less++) {
    ljm_resolver r;
    ljmi_list list;
    ljm_allocator a;
    ljt_heap heap;
    memset(&r, 0, sizeof(r));
    a = ljt_fresh_allocator(&heap);
    LJT_EQ(ljmi_memory_init(&r.mem, &a, 1 << 20), LJM_OK);
    memset(&list, 0, sizeof(list));
    dl_iterate_phdr(ljmi_list_cb, &list);
    r.list_cap = list.used - less;
    r.list = (unsigned char *)ljmi_alloc_array(&r.mem, r.list_cap, 1);
    LJT_EQ(ljmi_resolver_list(&r, &list), LJM_OK);
    LJT_EQ(heap.calls, 1 + less);
    LJT_OK(list.used > 0 && list.used <= r.list_cap);
    ljmi_free_array(&r.mem, r.list, r.list_cap, 1);
    LJT_OK(heap.live_count == 0 && heap.bad_frees == 0);
  }
}

/* Room for modules is asked for once. */
static void map_room(void)
{
  static const struct { size_t count, cap, calls; } rows[] = {
    {0, 0, 0}, {4, 4, 1}, {4, 4, 1}, {3, 4, 1}, {5, 5, 2}
  };
  ljm_resolver r;
  ljm_allocator a;
  ljt_heap heap;
  size_t i;
  memset(&r, 0, sizeof(r));
  a = ljt_fresh_allocator(&heap);
  LJT_EQ(ljmi_memory_init(&r.mem, &a, 1 << 20), LJM_OK);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    LJT_EQ(ljmi_resolver_reserve_map(&r, rows[i].count), LJM_OK);
    LJT_EQ(r.map_cap, rows[i].cap);
    LJT_EQ(heap.calls, rows[i].calls);
  }
  ljmi_free_array(&r.mem, r.map, r.map_cap, sizeof(*r.map));
}

/* -- headers and code in memory ----------------------------------------- */

static unsigned char memory[8192];

/* What the parts read from; positions are those in `memory`. */
typedef struct place {
  ljm_memory mem;
  ljm_image img;
  ljmi_bytes bytes;
  ljm_reader reader;
  ljmi_elf e;
} place;

static void place_init(place *p, size_t size)
{
  LJT_EQ(ljmi_memory_init(&p->mem, NULL, 1 << 20), LJM_OK);
  ljmi_image_init(&p->img, &p->mem);
  p->bytes.data = memory;
  p->bytes.size = size;
  p->reader.read = ljmi_bytes_read;
  p->reader.user = &p->bytes;
  p->reader.size = size;
  LJT_EQ(ljmi_elf_init(&p->e, &p->img, &p->reader, NULL), LJM_OK);
}

/* As many headers as there is room for at first, none of them mapped. */
static void many_headers(void)
{
  unsigned n;
  for (n = 15; n <= 17; n++) {
    ljmi_candidate c;
    ElfW(Phdr) h[17];
    place p;
    size_t i;
    place_init(&p, sizeof(memory));
    memset(&c, 0, sizeof(c));
    memset(h, 0, sizeof(h));
    for (i = 0; i < n; i++) {
      h[i].p_type = PT_NOTE;
      h[i].p_vaddr = 0x1000 * (ElfW(Addr))i;
      h[i].p_filesz = h[i].p_memsz = 16;
    }
    c.phdrs = (const unsigned char *)h;
    c.item.phdr_count = n;
    LJT_EQ(ljmi_elf_take_phdrs(&p.e, &c), LJM_OK);
    LJT_EQ(p.e.segs_count, n);
    LJT_EQ(p.e.load_count, 0);
    for (i = 0; i < n; i++) LJT_EQ(p.e.segs[i].file_size, 0);
    ljmi_elf_end(&p.e);
  }
}

/* Hash of a module with one segment; behind it in the list is one that is not
** loaded. */
static uint64_t hash_of(uint32_t flags, size_t size)
{
  ljmi_candidate c;
  place p;
  ljmi_seg s;
  place_init(&p, size);
  memset(&s, 0, sizeof(s));
  s.type = LJMI_PT_LOAD;
  s.flags = flags;
  s.file_size = s.mem_size = size;
  LJT_EQ(ljmi_elf_add_seg(&p.e, &s), LJM_OK);
  s.type = LJMI_PT_NOTE;
  s.flags = LJMI_PF_X;
  LJT_EQ(ljmi_elf_add_seg(&p.e, &s), LJM_OK);
  memset(&c, 0, sizeof(c));
  ljmi_candidate_hash_code(&p.e, &c);
  ljmi_elf_end(&p.e);
  return c.code_hash;
}

/* Does the byte at `at` count? */
static int counts(uint32_t flags, size_t size, size_t at)
{
  uint64_t before = hash_of(flags, size), after;
  memory[at] ^= 1;
  after = hash_of(flags, size);
  memory[at] ^= 1;
  return before != after;
}

/* Of code the first 4096 bytes tell modules apart, of data none does. */
static void code_hash(void)
{
  static const struct {
    uint32_t flags;
    size_t size, at;
    int want;
  } rows[] = {
    {4, 64, 0, 0}, {6, 64, 0, 0}, {7, 64, 0, 0}, {3, 64, 0, 0},
    {5, 64, 0, 1}, {1, 64, 0, 1}, {5, 64, 63, 1}, {5, 8, 7, 1}, {5, 7, 0, 0},
    {5, 4095, 0, 1}, {5, 4095, 4087, 1}, {5, 4096, 4095, 1},
    {5, 4097, 4095, 1}, {5, 4097, 4096, 0}, {5, 8192, 4096, 0}
  };
  size_t i;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (!LJT_EQ(counts(rows[i].flags, rows[i].size, rows[i].at), rows[i].want))
      printf("  row %d\n", (int)i);
}

int main(int argc, char **argv)
{
  ljt_begin(argc, argv);
  LJT_CASE(counters);
  LJT_CASE(is_vdso);
  LJT_CASE(list_items);
  LJT_CASE(list_fits);
  LJT_CASE(map_room);
  LJT_CASE(many_headers);
  LJT_CASE(code_hash);
  return ljt_end();
}
