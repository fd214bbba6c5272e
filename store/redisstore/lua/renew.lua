-- renew.lua lengthens the lease of a claim that is still the caller's: after its
-- end too, if nobody took over.
--
-- KEYS[1]  the record
-- ARGV[1]  token, or '' for whoever owns the claim
-- ARGV[2]  new lease from now, ms
--
-- Returns 1, or 0 if the claim is no longer the caller's.

local token, lease = ARGV[1], tonumber(ARGV[2])
local r = read()

local mine = token == '' or r.token == token
if not (r.state == 'pending' and mine) then return 0 end

redis.call('HSET', key, 'lease', whole(now + lease))
if redis.call('PTTL', key) < lease then
  redis.call('PEXPIRE', key, whole(lease)) -- a record outlives its lease
end
return 1
