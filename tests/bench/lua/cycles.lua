-- tables.lua; prints how often the collector came round meanwhile.
local cycles = 0
local function arm()
  getmetatable(newproxy(true)).__gc = function()
    cycles = cycles + 1
    arm()
  end
end
arm()
dofile((arg[0]:gsub("cycles", "tables")))
print(cycles)
