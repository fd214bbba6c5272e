-- endlease.lua ends the lease of a pending or unknown record now, and nudges its
-- waiters to claim again, if they are to know.
--
-- KEYS[1]  the record
-- ARGV[1]  1 to nudge, 0 to let it end unheard, as by the clock
--
-- Returns 1 if there was a lease to end, else 0.

local r = read()

if r.state ~= 'pending' and r.state ~= 'unknown' then return 0 end

local ended = now >= r.lease
redis.call('HSET', key, 'lease', whole(math.min(now, r.lease)))
if ARGV[1] == '1' then tell(r, {}) end
return ended and 0 or 1
