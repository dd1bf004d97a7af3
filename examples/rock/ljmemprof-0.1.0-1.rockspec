rockspec_format = "3.0"
package = "ljmemprof"
version = "0.1.0-1"
source = {
  url = "file://ljmemprof-0.1.0.tar.gz",  -- what tests/release.sh makes
  dir = "ljmemprof-0.1.0/examples/rock",
}
description = {
  summary = "Memory profiler for LuaJIT: the door for Lua programs",
  detailed = [[
    On a LuaJIT built with the ljmemprof patches, records which line allocates
    what. On any other Lua its functions return nil and say so.]],
  license = "MIT",
}
dependencies = { "lua >= 5.1" }
build = {
  type = "builtin",
  modules = { ljmemprof = "ljmemprof.lua" },
}
