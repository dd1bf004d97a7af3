net.listen('127.0.0.1', tonumber(os.getenv('TEST_PORT')), { kind = 'dns' })
modules = { 'policy' }
local kept = {}
policy.add(function (req, query)
  kept[#kept + 1] = { name = 1 }   -- kept
  return policy.DENY
end)
