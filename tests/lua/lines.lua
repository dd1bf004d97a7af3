-- Allocations whose number does not depend on the JIT compiler: each object
-- escapes before anything else can happen. (That of strings does, a little:
-- buffers grow.) Arguments: stream, "warm" to run all of it once before the
-- recording begins, options of jit.memprof.
local memprof = require("jit.memprof")
local N = 2000
local keep, n = {}, 0
for i = 1, 16 do keep[i] = false end

local function put(x)
  n = n % 16 + 1
  keep[n] = x
end

local function make(i)
  return {
    i
  }
end

local function outer(i)
  put(make(i))
  put({ i, i })
end

local function tail(i)
  return make(i)
end

local function deep(d, i)
  if d == 0 then
    put({ i })
    return
  end
  deep(d - 1, i)
  return nil
end

local vector = {}
vector.__index = function(_, k)
  return { k }
end
vector.__add = function(a, b)
  return setmetatable({ a[1] + b[1] }, vector)
end

local function loops()
  for i = 1, N do outer(i) end
  for i = 1, N do put(tail(i)) end
  for i = 1, N / 4 do deep(3, i) end
end

local function metamethods()
  local one = setmetatable({ 1 }, vector)
  for i = 1, N do
    put(one + one)
    put(one.missing)
  end
end

local function closures()
  for i = 1, N / 4 do
    put(function() return i end)
    local ok, v = pcall(make, i)
    put(v)
  end
end

local function strings()
  for i = 1, N do
    put("a" .. i .. n)
    put(tostring(i + 0.25))
    put(("x"):rep(i % 7 + 1) .. i)
  end
end

local function coroutines()
  local co = coroutine.wrap(function()
    while true do
      for i = 1, 50 do put({ i }) end
      coroutine.yield()
    end
  end)
  for _ = 1, N / 50 do co() end
end

local function sorted()
  local t = {}
  for i = 1, 64 do t[i] = (i * 37) % 64 end
  table.sort(t, function(a, b)
    put({ a })
    return a < b
  end)
end

local function all()
  loops()
  metamethods()
  closures()
  strings()
  coroutines()
  sorted()
end

if arg[2] == "warm" then all() end
assert(memprof.start(arg[1], "live=0", arg[3]))
all()
assert(memprof.stop())
