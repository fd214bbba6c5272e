-- expire.lua deletes a plain value, or gives it another expiry, if it is still
-- the one that was looked at.
--
-- KEYS[1]  the plain value
-- ARGV[1]  the value that was looked at
-- ARGV[2]  ms until it expires; 0 deletes it
--
-- Returns 1 if it did so, else 0.

local expires = tonumber(ARGV[2])

if redis.call('TYPE', key).ok ~= 'string' then return 0 end
if redis.call('GET', key) ~= ARGV[1] then return 0 end

if expires > 0 then
  redis.call('PEXPIRE', key, whole(expires))
else
  redis.call('DEL', key)
end
return 1
