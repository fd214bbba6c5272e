-- Frees a claim, if it is still its owner's.
-- KEYS[1] name, ARGV[1] the claim.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
