-- retain.lua changes how long a final record is kept from now on.
--
-- KEYS[1]  the record
-- ARGV[1]  retention, ms; 0 ends it
--
-- Returns 1 if the record is final, else 0.

local retention = tonumber(ARGV[1])

if read().state ~= 'done' then return 0 end

if retention > 0 then
  redis.call('PEXPIRE', key, whole(retention))
else
  redis.call('DEL', key)
end
return 1
