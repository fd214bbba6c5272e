-- endlease.lua ends the lease of a pending or unknown record now, and nudges its
-- waiters to claim again.
--
-- KEYS[1]  the record
--
-- Returns 1 if there was a lease to end, else 0.

local r = read()

if r.state ~= 'pending' and r.state ~= 'unknown' then return 0 end

local ended = now >= r.lease
redis.call('HSET', key, 'lease', whole(math.min(now, r.lease)))
tell(r, {})
return ended and 0 or 1
