-- A small forum server, as a memory profiler's patient: requests come in,
-- pages go out, and the process grows. examples/leakhunt.md finds out why.
local requests = tonumber(arg and arg[1]) or 20000

-- Storage -------------------------------------------------------------------
local threads = {}
for id = 1, 200 do
  local posts = {}
  for n = 1, 5 do
    posts[n] = { author = "user" .. (id * n) % 37, text = ("word "):rep(20) }
  end
  threads[id] = { title = "Thread " .. id, posts = posts }
end

-- Templates -----------------------------------------------------------------
local function render(template, values)
  return (template:gsub("{(%w+)}", values))
end

local function page(thread)
  local out = {}
  for i, post in ipairs(thread.posts) do
    out[i] = render("<p><b>{author}</b>: {text}</p>", post)
  end
  return render("<h1>{title}</h1>{body}",
                { title = thread.title, body = table.concat(out) })
end

-- Cache: a page is kept until its thread changes ----------------------------
local cache = {}

local function cache_key(request)
  return request.path .. "?" .. request.query
end

local function cached(request, make)
  local key = cache_key(request)
  local hit = cache[key]
  if not hit then
    hit = { body = make(), made = request.time }
    cache[key] = hit
  end
  return hit.body
end

-- Sessions: closed after a while --------------------------------------------
local sessions, order, oldest = {}, {}, 1

local function session(request)
  local s = sessions[request.user]
  if not s then
    s = { user = request.user, seen = {} }
    sessions[request.user] = s
    order[#order + 1] = request.user
    if #order - oldest > 100 then
      sessions[order[oldest]] = nil
      order[oldest], oldest = false, oldest + 1
    end
  end
  s.seen[request.path] = request.time
  return s
end

-- Server --------------------------------------------------------------------
local function handle(request)
  session(request)
  local thread = threads[tonumber(request.path:match("%d+"))]
  return cached(request, function() return page(thread) end)
end

local seed = 1
local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n + 1
end

local sent = 0
for time = 1, requests do
  local id = random(200)
  sent = sent + #handle({
    path = "/thread/" .. id, query = "visitor=" .. random(1000000),
    user = "user" .. random(5000), time = time,
  })
end
print(("%d requests, %d bytes sent"):format(requests, sent))
