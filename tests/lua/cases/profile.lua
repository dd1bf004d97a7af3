-- LuaJIT's sampling profiler beside the recording. "--@ N": so many
-- allocations have this line; a name is what the program prints.
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local profile = require("jit.profile")
local keep, n = {}, 0
for i = 1, 64 do keep[i] = false end
local function put(x) n = n % 64 + 1 keep[n] = x end
local states = { "N", "I", "C", "G", "J" } -- What a sample is told.
local samples, rounds = 0, 0
local counting = false -- Samples come at any time, also before and after.
local function sample(thread, _, state)
  assert(#state == 1)
  if not counting then return end
  samples = samples + 1
  put({ thread }) --@ samples
  profile.dumpstack(thread, "l", 1) --@ +
end
local function work()
  rounds = rounds + 1
  put({ rounds }) --@ rounds
end

profile.start("li1", sample)
assert(rec.start(arg[1]))
counting = true
while samples < 20 do work() end
counting = false
assert(rec.stop())
profile.stop()
print("samples=" .. samples)
assert(#states == 5)
print("rounds=" .. rounds)
