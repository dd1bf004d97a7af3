-- Small tables that escape: each is kept until the ring comes round.
local n, ring = tonumber(arg[1]), {}
for i = 1, 1024 do ring[i] = false end
for i = 1, n do ring[i % 1024 + 1] = { i } end
