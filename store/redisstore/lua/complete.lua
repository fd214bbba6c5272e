-- complete.lua makes a record final, with the result of its action.
--
-- KEYS[1]  the record
-- ARGV[1]  token
-- ARGV[2]  retention, ms
-- ARGV[3]  form of the result
-- ARGV[4]  result
-- ARGV[5]  fingerprint, for a record that is absent
--
-- Returns { applied, record }.

local token, retention, fingerprint = ARGV[1], tonumber(ARGV[2]), ARGV[5]
local r = read()

if r.state == 'done' and r.token == token then
  return { 1, seen(r) } -- done before: its reply was lost
end

-- Mine: after the lease too, if nobody took over.
local mine = (r.state == 'pending' or r.state == 'unknown') and r.token == token
-- Nobody's: but a free record of another payload must not get this one's result.
local nobodys = r.state == ''
  or r.state == 'free' and (fingerprint == '' or fingerprint == r.fingerprint)

if not (mine or nobodys) then return { 0, seen(r) } end

if r.state == '' then r.fingerprint, r.generation = fingerprint, 1 end
if nobodys then r.fence, r.token = r.fence + 1, token end
r.form, r.result, r.failure = ARGV[3], ARGV[4], ''
settle(r, 'done', retention)
return { 1, seen(r) }
