-- release.lua frees a claim after a failure: the next attempt may run at once.
-- Fingerprint and fence stay.
--
-- KEYS[1]  the record
-- ARGV[1]  token
-- ARGV[2]  retention, ms
-- ARGV[3]  1 if the failure is known to have had no effect, else 0
-- ARGV[4]  the failure, in words
--
-- Returns { applied, record }.

local token, retention, no_effect = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local r = read()

if r.state == 'free' and r.token == token then
  return { 1, seen(r) } -- released before: the generation must not rise twice
end
if not ((r.state == 'pending' or r.state == 'unknown') and r.token == token) then
  return { 0, seen(r) }
end

-- While an earlier owner may still charge (its claim was taken over, or it failed
-- without being sure), a new provider key would let both charge.
if no_effect and r.fence == r.generation then r.generation = r.generation + 1 end
r.failure = ARGV[4]
settle(r, 'free', retention)
return { 1, seen(r) }
