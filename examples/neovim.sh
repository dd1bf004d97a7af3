#!/usr/bin/env bash
# neovim.sh - which plugin makes Neovim's Lua heap grow? Records a stock nvim
# without a screen while it does something, and prints what is still held, by
# line and by file. ljrecord and ljparse are in PATH; a tree that fits the
# system's library was built: luajit-patch/build.sh.
#
# In a real session: ljrecord --stacks -o nvim.bin nvim, work, quit, and
#   ljparse --format=html -o nvim.html nvim.bin
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Stands for a plugin: it remembers every word that it has ever seen.
cat >"$dir/words.lua" <<'END'
local M = { seen = {} }
function M.scan(buf)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    for word in line:gmatch("%S+") do
      M.seen[#M.seen + 1] = { word = word, at = vim.loop.hrtime() }
    end
  end
end
return M
END
seq 2000 >"$dir/text"

ljrecord --stacks -o "$dir/nvim.bin" \
  nvim --headless -u NONE -i NONE --cmd "set rtp+=$dir" "$dir/text" \
  -c "lua package.path = package.path .. ';$dir/?.lua'" \
  -c "lua for _ = 1, 5 do require('words').scan(0) end" -c 'qa!'

echo "by line:"
ljparse --leak-only --human-readable "$dir/nvim.bin" | sed -n '2,6p'
echo "by file:"
ljparse --leak-only --human-readable --by=file "$dir/nvim.bin" | sed -n '2,6p'
