-- A heap of arg[1] MB, then start and stop: the time of each in ms.
local memprof = require("jit.memprof")
local mb, keep = tonumber(arg[1]), {}
while collectgarbage("count") < mb * 1024 do
  keep[#keep + 1] = { #keep, tostring(#keep) }
end
collectgarbage()
local clock = os.clock
local t0 = clock()
assert(memprof.start(arg[2], { live = 0 }))
local t1 = clock()
assert(memprof.stop())
print(("start %.3f ms, stop %.3f ms"):format((t1 - t0) * 1e3,
                                            (clock() - t1) * 1e3))
