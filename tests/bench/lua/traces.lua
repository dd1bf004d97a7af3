-- luacheck; then, how many traces there are and what the C heap, where the
-- notes on them are and nothing else of the VM's, holds for each.
local ffi, util = require("ffi"), require("jit.util")
ffi.cdef[[
struct heap {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks,
         fordblks, keepcost;
};
struct heap mallinfo2(void);
]]
local function held()
  local h = ffi.C.mallinfo2()
  return tonumber(h.uordblks + h.hblkhd)
end

local function count()
  local n = 0
  for i = 1, 65535 do
    if util.traceinfo(i) then n = n + 1 end
  end
  return n
end

jit.off(held)
jit.off(count)
local exit = os.exit
function os.exit(code)
  local with, n = held(), count()
  jit.flush()
  collectgarbage()
  collectgarbage()
  print(("%d traces, %.0f bytes each"):format(n, (with - held()) / n))
  exit(code)
end
dofile("/usr/bin/luacheck")
