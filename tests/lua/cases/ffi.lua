-- FFI: finalizers of cdata, callbacks. "--@ N": so many allocations have
-- this line; a name is what the program prints as its value.
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local ffi = require("ffi")
ffi.cdef [[
void qsort(void *base, size_t n, size_t size,
           int (*cmp)(const void *, const void *));
]]
local keep, n = {}, 0
for i = 1, 64 do keep[i] = false end
local function put(x) n = n % 64 + 1 keep[n] = x end
local int = ffi.typeof("int[1]")
local ptr = ffi.typeof("const int *")
local values = ffi.new("int[32]")
for i = 0, 31 do values[i] = i * 7 % 32 end
local calls = 0
local function order(x, y) --@ +
  calls = calls + 1
  put({ calls }) --@ calls
  return ffi.cast(ptr, x)[0] - ffi.cast(ptr, y)[0] --@ +
end
local compare = ffi.cast("int (*)(const void *, const void *)", order)
local function gc() put({ 1 }) end --@ 10
for _ = 1, 10 do ffi.gc(int(), gc) end
local function plain(i) put({ i }) end --@ 2000

assert(rec.start(arg[1]))
for i = 1, 1000 do plain(i) end
collectgarbage() collectgarbage()
for _ = 1, 20 do
  ffi.C.qsort(values, 32, 4, compare) --@ +
  values[5] = -values[5]
end
for i = 1, 1000 do plain(i) end
assert(rec.stop())
print("calls=" .. calls)
