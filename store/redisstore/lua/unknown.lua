-- unknown.lua says that the action may or may not have had its effect. The claim
-- stays exclusive until its lease ends.
--
-- KEYS[1]  the record
-- ARGV[1]  token
-- ARGV[2]  retention, ms
-- ARGV[3]  why, in words
--
-- Returns { applied, record }.

local token, retention = ARGV[1], tonumber(ARGV[2])
local r = read()

if r.state == 'unknown' and r.token == token then
  return { 1, seen(r) } -- said before: its reply was lost
end
if not (r.state == 'pending' and r.token == token) then
  return { 0, seen(r) }
end

r.failure = ARGV[3]
settle(r, 'unknown', retention)
return { 1, seen(r) }
