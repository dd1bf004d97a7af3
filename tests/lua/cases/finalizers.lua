-- Code that LuaJIT itself calls: finalizers, with errors too, handlers of
-- jit.attach. "--@ N": so many allocations have this line; a name is what
-- the program prints as its value.
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local keep, n = {}, 0
for i = 1, 64 do keep[i] = false end
local function put(x) n = n % 64 + 1 keep[n] = x end
local function collect() collectgarbage() collectgarbage() end

local handled = 0
local function gc() put({ 1 }) end --@ 10
local function traced()
  handled = handled + 1
  put({ 2 }) --@ handled
end
local function plain(i) put({ i }) end --@ 3000
local objects = {}
for i = 1, 10 do
  objects[i] = newproxy(true)
  getmetatable(objects[i]).__gc = gc
end

assert(rec.start(arg[1]))
if jit.status() then jit.attach(traced, "trace") end --@ +
for i = 1, 1000 do plain(i) end
objects = nil
collect()
for i = 1, 1000 do plain(i) end
getmetatable(newproxy(true)).__gc = function() --@ +
  put({ 3 }) --@ 1
  error("x") --@ +
end --@ +
pcall(collect) --@ +
pcall(collect) --@ +
for i = 1, 1000 do plain(i) end
jit.attach(traced) --@ +
assert(rec.stop())
print("handled=" .. handled)
