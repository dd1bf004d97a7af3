-- Loads the libraries arg[2], arg[3], ..., then starts and stops recordings to
-- arg[1]: on demand, and with all names ahead (misc.memprof). Medians of 9.
local memprof = require("jit.memprof")
local ffi = require("ffi")
local path, libs = arg[1], {}
for i = 2, #arg do libs[i] = ffi.load(arg[i]) end

-- Starts, stops; processor time of the start in ms, bytes written.
local function measure(start, stop)
  local times, size = {}, 0
  for i = 1, 9 do
    local before = os.clock()
    assert(start(path))
    times[i] = (os.clock() - before) * 1e3
    assert(stop())
    local f = assert(io.open(path, "rb"))
    size = f:seek("end")
    f:close()
  end
  table.sort(times)
  return times[5], size
end

local ms, size = measure(memprof.start, memprof.stop)
local eager, names = measure(misc.memprof.start, misc.memprof.stop)
print(("start %.3f ms, %d bytes; eager %.3f ms, %d bytes"):format(
  ms, size, eager, names))
