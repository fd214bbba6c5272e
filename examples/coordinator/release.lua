-- Frees a claim, if it is still its owner's.
-- KEYS[1] name, ARGV[1] the claim.
-- Returns what stands there of somebody else's, or nothing.
local stands = redis.call('GET', KEYS[1])
if stands == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return ''
end
return stands or ''
