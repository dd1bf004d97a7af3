-- Closures with an upvalue each; a ring keeps some of them.
local n, ring = tonumber(arg[1]), {}
for i = 1, n do ring[i % 512 + 1] = function() return i end end
