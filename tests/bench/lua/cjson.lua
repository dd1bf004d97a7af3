-- JSON round trips through lua-cjson: a C module's allocations.
local cjson, n = require("cjson"), tonumber(arg[1])
local doc = { name = "doc", list = {}, map = {} }
for i = 1, 50 do doc.list[i] = i * 1.5 doc.map["key" .. i] = { i, tostring(i) } end
local text = cjson.encode(doc)
for _ = 1, n do text = cjson.encode(cjson.decode(text)) end
