-- look.lua shows what lies under a key and changes nothing.
--
-- KEYS[1]  a record, or a plain value
--
-- Returns { kind, ms until it expires (-1: never), record or value }.

local kind = redis.call('TYPE', key).ok
local expires = redis.call('PTTL', key)

if kind == 'hash' then return { kind, expires, seen(read()) } end
if kind == 'string' then return { kind, expires, redis.call('GET', key) } end
return { kind, expires }
