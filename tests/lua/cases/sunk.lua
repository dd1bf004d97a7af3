-- Objects that a trace does not make until it is left: at an exit, and in the
-- side trace of one that is left often. "--@ NAME": as many as are printed;
-- with the JIT on those that were kept, which is what it is for.
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local N, keep = 10000

local function pick(i, t) if i % 64 == 0 then keep = t end end
local function passed(n)
  for i = 1, n do
    local t = { i } --@ PASSED
    pick(i, t)
  end
end

local function make(i)
  return { i, i } --@ INLINED
end
local function inlined(n)
  local s = 0
  for i = 1, n do
    local p = make(i)
    s = s + p[1]
    if i % 100 == 99 then keep = p end
  end
  return s
end

passed(1000)
inlined(1000)
assert(rec.start(arg[1]))
passed(N)
inlined(N)
assert(rec.stop())
local on = jit.status()
print("PASSED=" .. (on and math.floor(N / 64) or N))
print("INLINED=" .. (on and N / 100 or N))
