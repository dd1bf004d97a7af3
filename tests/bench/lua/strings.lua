-- String building: new strings of many lengths, joined in lots.
local n, parts = tonumber(arg[1]), {}
for i = 1, n do
  parts[i % 64 + 1] = "item " .. i
  if i % 64 == 0 then parts[1] = table.concat(parts, ",") end
end
