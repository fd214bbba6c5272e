-- Writes a result, if the claim is still its owner's or nobody's.
-- KEYS[1] name, ARGV[1] the claim, ARGV[2] the result, ARGV[3] retention in ms.
-- Returns what stands there afterwards. Writing twice is writing once.
local stands = redis.call('GET', KEYS[1])
if not stands or stands == ARGV[1] or stands == ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return ARGV[2]
end
return stands
