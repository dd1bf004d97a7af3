-- ljmemprof - the memory profiler where there is one: the same functions on
-- any LuaJIT, or Lua, so that a program need not know what it runs on.
--
--   local memprof = require("ljmemprof")
--   local ok, why = memprof.start("memprof.bin", { sample = 512 * 1024 })
--   ...
--   memprof.mark("loaded")
--   memprof.stop()
--
-- On a LuaJIT with the patches this is jit.memprof itself, with `available`
-- true; on any other each function returns nil and says why.

local patched, memprof = pcall(require, "jit.memprof")

if not patched then
  local why = "this Lua has no memory profiler: not a LuaJIT with the patches"
  local function none() return nil, why, 0 end
  memprof = { start = none, stop = none, mark = none, flush = none }
end

local M = { available = patched }
for _, name in ipairs { "start", "stop", "mark", "flush" } do
  M[name] = memprof[name]
end

-- Records one call: memprof.record("f.bin", options, f, ...) returns what f
-- returns; errors pass through, with the recording ended.
function M.record(file, options, f, ...)
  local ok, why = M.start(file, options)
  if not ok then return nil, why end
  local function finish(fine, ...)
    M.stop()
    if not fine then error((...), 0) end
    return ...
  end
  return finish(pcall(f, ...))
end

return M
