-- Call stacks of every shape. Comments name lines and say by these names what
-- calls a line that allocates, outermost first (tests/stacks.sh compares):
--   --= NAME           a line
--   --= NAME; CALLERS  a line that allocates; work stands for the whole way
-- Arguments: stream, "warm" to run all of it once before, options.
local memprof = require("jit.memprof")
local N = 200
local keep, n = {}, 0
for i = 1, 16 do keep[i] = false end
local function put(x)
  n = n % 16 + 1
  keep[n] = x
end

local function called(i)
  put({ i }) --= called; work p pcall
  return i
end

local function failing(i)
  put({ i }) --= failing; work x xpcall
  error({ i }) --= throws; work x xpcall
end
local function handler(e)
  put({ e }) --= handler; work x xpcall throws error
end

-- In the place of what was called the stack holds the thread: below the
-- handler, and when the VM makes the message, if no older one is left.
local function refused(e)
  put({ #e }) --= refused; work n xpcall
end

local meta = {}
meta.__index = function(_, k)
  put({ k }) --= index; work mi
  return k
end
meta.__add = function(a)
  put({ a }) --= add; work ma
  return a
end
meta.__call = function(_, i)
  put({ i }) --= call; work mc
end
local object = setmetatable({}, meta)

local function compare(a, b)
  put({ a }) --= compare; work s table.sort
  return a < b
end
local function replace(s)
  put({ s }) --= replace; work g string.gsub
end

-- C code between, which is no fast function.
function package.preload.module()
  put({ 1 }) --= module; work q lj_cf_package_require
end

local function inner(i)
  put({ i }) --= inner; work w (resumed by) r (resumed by)
end
local function outer()
  while true do
    local co = coroutine.create(inner) --= c; work w (resumed by)
    coroutine.resume(co, 1) --= r
    coroutine.yield()
  end
end
local wrapped = coroutine.wrap(outer)

-- What made a tail call is not there: neither middle nor first.
local function last(i)
  put({ i }) --= last; work t
end
local function middle(i) return last(i) end
local function first(i) return middle(i) end
-- A fast function takes its place, too.
local function plain(i)
  put({ i }) --= plain; work u pcall
end
local function guarded(i) return pcall(plain, i) end

local function deep(d, i)
  if d > 0 then
    deep(d - 1, i) --= d
    return
  end
  put({ i }) --= deep; work dw d d d
end

local array = { 2, 1 }
local function work()
  collectgarbage()
  for i = 1, N do
    pcall(called, i) --= p
    xpcall(failing, handler, i) --= x
    xpcall(nil, refused) --= n; work
    put(object[i]) --= mi
    put(object + 1) --= ma
    object(i) --= mc
    array[1], array[2] = 2, 1
    table.sort(array, compare) --= s
    string.gsub("x", "x", replace) --= g
    package.loaded.module = nil
    require("module") --= q
    wrapped() --= w
    first(i) --= t
    guarded(i) --= u
    deep(3, i) --= dw
  end
end

if arg[2] == "warm" then work() end
assert(memprof.start(arg[1], "live=0", arg[3]))
work() --= run
assert(memprof.stop())
