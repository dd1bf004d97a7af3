-- A C module that allocates through lua_getallocf().
local lpeg = require("lpeg")
assert(misc.memprof.start("unused"))
for i = 1, 20 do
  local item = lpeg.C((1 - lpeg.S(",\n")) ^ 0)
  local record = lpeg.Ct(item * (lpeg.P(",") * item) ^ 0)
  for j = 1, i do record = record + lpeg.P(("x"):rep(j)) end
  assert(record:match("a,b,c")[3] == "c")
end
collectgarbage()
assert(misc.memprof.stop())
