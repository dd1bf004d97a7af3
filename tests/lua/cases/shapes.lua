-- Frames of all shapes. "--@ N": so many allocations have this line.
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local keep, n = {}, 0
for i = 1, 64 do keep[i] = false end
local function put(x) n = n % 64 + 1 keep[n] = x end

local function made(i) return { i } end --@ 120
local function tail(i) return made(i) end
local function tail2(i) return tail(i) end
local function varargs(...) put({ ... }) --@ 40
  put({ (select("#", ...)) }) end --@ 20
local mt = {}
mt.__index = function(_, k) return { k } end --@ 20
mt.__newindex = function(_, k, v) put({ k, v }) end --@ 20
mt.__call = function(_, v) return { v } end --@ 20
mt.__add = function(a) return { a } end --@ 20
mt.__concat = function(a) return { a } end --@ 20
mt.__unm = function(a) return { a } end --@ 20
mt.__eq = function(a) put({ a }) return true end --@ 20
mt.__lt = function(a) put({ a }) return true end --@ 20
mt.__le = function(a) put({ a }) return true end --@ 20
local a, b = setmetatable({}, mt), setmetatable({}, mt)
local function fails(i) put({ i }) error(a) end --@ 40
local function handler(e) put({ e }) return e end --@ 20
local sorted = { 5, 1, 4, 2, 3 }
local function less(x, y) put({ x }) return x < y end --@ +
local function each(k) put({ k }) end --@ 20
local inner = coroutine.create(function()
  while true do put({ 1 }) coroutine.yield() end --@ 20
end)
local outer = coroutine.create(function()
  while true do
    put({ 2 }) --@ 20
    coroutine.resume(inner)
    coroutine.yield()
  end
end)
local function iter(_, i) if i < 2 then put({ i }) return i + 1 end end --@ 40
local text = ("x"):rep(3)

assert(rec.start(arg[1]))
for i = 1, 20 do
  put(made(i)) put(tail(i)) put(tail2(i))
  varargs(i, i, i)
  put(a.missing) a.other = i put(a(i)) put(a + 1) put(a .. "x") put(-a)
  local _ = a == b, a < b, a <= b
  pcall(fails, i) xpcall(fails, handler)
  pcall(function() put(made(i)) end) --@ 40
  pcall(pcall, pcall, each, i)
  coroutine.resume(outer)
  for _ in iter, nil, 0 do end
  put(select(2, pcall(made, i)))
  put(assert(made(i)))
end
table.sort(sorted, less)
text:gsub(".", function(c) put({ c }) end) --@ 4
assert(rec.stop())
