-- Trace numbers and prototypes' addresses that are used again.
-- "--@ N": so many allocations have this line.
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local keep, n = {}, 0
for i = 1, 64 do keep[i] = false end
local function put(x) n = n % 64 + 1 keep[n] = x end
local function one(k) for i = 1, 200 do put({ i, k }) end end --@ 1000
local function two(k) for i = 1, 200 do put({ i, k }) end end --@ 1000

assert(rec.start(arg[1]))
for i = 1, 5 do
  jit.flush() one(i)
  jit.flush() two(i)
end
for i = 1, 50 do
  local f = loadstring("return { 'v' }", "=gen" .. i) --@ +
  f()
  f = nil
  collectgarbage()
end
assert(rec.stop())
