-- A plugin as any: state that grows, commands, buffers, text, JSON.
local M = { history = {} }

local function remember(text)
  M.history[#M.history + 1] = { text = text, at = #M.history }   -- kept
end

local function words(lines)
  local seen = {}
  for _, line in ipairs(lines) do
    for _, word in ipairs(vim.split(line, " ", { plain = true })) do
      seen[word] = (seen[word] or 0) + 1
    end
  end
  return seen
end

vim.api.nvim_create_user_command("Remember", function(opts)
  remember(opts.args)
end, { nargs = 1 })

local buf = vim.api.nvim_create_buf(true, false)
for i = 1, 500 do
  vim.api.nvim_buf_set_lines(buf, -1, -1, false, { "line " .. i .. " of the text" })
  vim.cmd("Remember note" .. i)
end
for _ = 1, 20 do
  words(vim.api.nvim_buf_get_lines(buf, 0, -1, false))
end
local text = vim.json.encode(M.history)
assert(#vim.json.decode(text) == 500)
