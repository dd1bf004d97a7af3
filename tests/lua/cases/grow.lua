-- The Lua stack moves while code allocates, and shrinks again. "--@ N": so
-- many allocations have this line; a name is what the program prints.
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local keep, n = {}, 0
for i = 1, 64 do keep[i] = false end
local function put(x) n = n % 64 + 1 keep[n] = x end
local calls, wides, steps = 0, 0, 0
local function deep(d)
  calls = calls + 1
  put({ d }) --@ calls
  if d > 0 then return (deep(d - 1)) end
end
local function wide(...)
  wides = wides + 1
  put({ (select("#", ...)) }) --@ wides
  local a, b, c = ...
  put({ a, b, c }) --@ wides
end
local many = {}
for i = 1, 4000 do many[i] = i end
local function step()
  steps = steps + 1
  put({ steps }) --@ steps
  deep(300)
  coroutine.yield()
  wide(unpack(many, 1, 3000)) --@ +
end

assert(rec.start(arg[1]))
for r = 1, 40 do
  deep(r * 50)
  wide(unpack(many, 1, r * 100)) --@ +
  pcall(wide, unpack(many, 1, 4000))
  collectgarbage() -- The stack shrinks.
  local co = coroutine.wrap(step) --@ +
  co() co()
end
assert(rec.stop())
print("calls=" .. calls)
print("wides=" .. wides)
print("steps=" .. steps)
