-- A table grown on another line than it was made on; a leak on the line that
-- grows an older table, too. "--@ N": so many allocations have this line;
-- "--# N": bytes it still holds.
jit.off()
local rec = arg[2] == "3" and misc.memprof or require("jit.memprof")
local new = require("table.new")
local function made() local t = new(20, 0) return t end --@ 20
local function grown(t) for i = 1, 100 do t[i] = i end end
local function grow(t, n) for i = 1, n do t[i] = i end return t end --@ + --# 8200
local pre = grow({}, 1000)
collectgarbage()
assert(rec.start(arg[1]))
for _ = 1, 10 do
  local t = made()
  grown(t)
end
collectgarbage() collectgarbage()
leak = grow({}, 1000) --@ 1 --# +
grow(pre, 3000)
pre = nil
collectgarbage() collectgarbage()
assert(rec.stop())
