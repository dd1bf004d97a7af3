-- A real program: luacheck over its own modules. Arguments: stream, options of
-- jit.memprof.
local memprof = require("jit.memprof")
local arguments = arg
local path = package.searchpath("luacheck.main", package.path)
local base = path:match("(.*)/")
local real_exit = os.exit
arg = { [0] = "luacheck", "--quiet", "--no-cache", "--no-config",
        base .. "/lexer.lua", base .. "/parser.lua", base .. "/utils.lua" }
-- It calls os.exit inside of a pcall of its own, so an error would not leave.
os.exit = coroutine.yield
-- Where C modules are not at hand: what it asks of this one.
if not pcall(require, "lfs") then
  package.loaded.lfs = {
    _VERSION = "LuaFileSystem 0",
    attributes = function(path, name)
      return path:find("%.lua$") and name == "mode" and "file" or nil
    end,
    currentdir = function() return "/" end,
  }
end
io.stdout:setvbuf("full")
assert(memprof.start(unpack(arguments)))
local ok, status = coroutine.resume(coroutine.create(assert(loadfile(path))))
assert(memprof.stop())
os.exit = real_exit
assert(ok and (status == 0 or status == 1), status)
