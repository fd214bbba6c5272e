-- claim.lua gives the caller the exclusive right to act under a name, or shows
-- what stands there.
--
-- KEYS[1]  the record
-- ARGV[1]  fingerprint that a new record gets
-- ARGV[2]  token of this attempt
-- ARGV[3]  lease, ms
-- ARGV[4]  retention, ms
-- ARGV[5]  inbox to register if another's claim is in the way, or ''
-- ARGV[6…] fingerprints that count as equal to a stored one
--
-- Returns { mine, took, registered, record }, the first three as 1 or 0.

local fingerprint, token, inbox = ARGV[1], ARGV[2], ARGV[5]
local lease, retention = tonumber(ARGV[3]), tonumber(ARGV[4])
local r = read()

-- Mismatch first, in every state.
if r.state ~= '' then
  local equal = false
  for i = 6, #ARGV do equal = equal or ARGV[i] == r.fingerprint end
  if not equal then return { 0, 0, 0, seen(r) } end
end

local pending = r.state == 'pending'
local unknown = r.state == 'unknown'
local again = pending and r.token == token -- its first reply was lost
local ended = (pending or unknown) and now >= r.lease

if r.state == '' or r.state == 'free' or again or ended then
  if r.state == '' then
    r.fingerprint, r.generation = fingerprint, 1
  end
  if not again then r.fence = r.fence + 1 end
  r.state, r.token, r.failure, r.lease = 'pending', token, '', now + lease
  write(r, retention)
  return { 1, (ended and not again) and 1 or 0, 0, seen(r) }
end

if pending and inbox ~= '' then
  -- A server that is full or read-only cannot note the inbox. That the key is held
  -- is an answer all the same: an error would let the caller run beside the owner.
  local noted = redis.pcall('HSET', key, 'inbox:' .. inbox, '')
  local failed = type(noted) == 'table' and noted.err
  return { 0, 0, failed and 0 or 1, seen(r) }
end
return { 0, 0, 0, seen(r) }
