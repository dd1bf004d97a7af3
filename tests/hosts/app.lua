-- What the test's nginx serves: one line that leaks, one that does not, one C
-- function.
local M = { kept = {} }

local function remember(n)
  for i = 1, n do
    M.kept[#M.kept + 1] = { id = i, at = "request" }   -- leaks
  end
end

local function answer(n)
  local parts = {}
  for i = 1, n do
    parts[i] = string.format("%d:%s", i, ("x"):rep(i % 7))
  end
  return table.concat(parts, ",")
end

function M.run()
  remember(4)
  ngx.say(answer(50))
end

return M
