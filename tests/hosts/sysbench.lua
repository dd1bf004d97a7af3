local kept = {}
function event()
  kept[#kept + 1] = { #kept }   -- kept
  local text = ("x"):rep(#kept % 50) .. #kept
  text = nil
end
