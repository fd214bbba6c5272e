-- record.lua stands in front of every script below: how a record is read,
-- written, handed out and announced. It is one hash with the fields
--
--   state        pending, done, unknown or free (no hash: no record)
--   fingerprint  of the request, as the first claim wrote it
--   token        of the owner, or of whoever settled it
--   fence        rises by one with every change of owner
--   generation   rises by one with a release without effect, if all before it were
--   lease        when the claim stops being exclusive, in ms of this server's TIME
--   form, result, failure
--   inbox:NAME   one for each channel to tell about the next settlement
--
-- The key's own expiry is the retention: a record outlives its lease.
-- KEYS[1] is the record, the only key, so that every script runs on a cluster.

local key = KEYS[1]
local texts = { 'state', 'fingerprint', 'token', 'form', 'result', 'failure' }
local numbers = { 'fence', 'generation', 'lease' }

local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local now = clock()

-- whole is a number as a field has it, in decimal; Lua's own are floating.
local function whole(n)
  return string.format('%.0f', n)
end

local function read()
  local flat = redis.call('HGETALL', key)
  local r = { state = '', inboxes = {} }
  for i = 1, #flat, 2 do
    local inbox = string.match(flat[i], '^inbox:(.*)$')
    if inbox then
      table.insert(r.inboxes, inbox)
    else
      r[flat[i]] = flat[i + 1]
    end
  end
  for _, field in ipairs(texts) do r[field] = r[field] or '' end
  for _, field in ipairs(numbers) do r[field] = tonumber(r[field] or 0) end
  return r
end

-- write keeps the whole record, and for how long: in one script, so there is no
-- moment at which it would never expire.
local function write(r, retention)
  local flat = {}
  for _, field in ipairs(texts) do
    table.insert(flat, field)
    table.insert(flat, r[field])
  end
  for _, field in ipairs(numbers) do
    table.insert(flat, field)
    table.insert(flat, whole(r[field]))
  end
  redis.call('HSET', key, unpack(flat))
  redis.call('PEXPIRE', key, whole(math.max(1, retention, r.lease - now)))
end

-- seen is the record as it is handed out: with the time left, not the time of day.
local function seen(r)
  local left = 0
  if r.state == 'pending' or r.state == 'unknown' then left = r.lease - now end
  return {
    r.state, r.fingerprint, r.token, whole(r.fence), whole(r.generation),
    r.form, r.result, r.failure, whole(left),
  }
end

-- A netstring says its length first, so any bytes can be in it.
local function netstring(s)
  return #s .. ':' .. s .. ','
end

-- tell publishes to each registered inbox. The message is the key alone (claim
-- again), or the key and the record that now stands there. PUBLISH and not
-- SPUBLISH: an inbox is in another slot than the record.
local function tell(r, fields)
  local message = netstring(key)
  for _, field in ipairs(fields) do message = message .. netstring(field) end
  for _, inbox in ipairs(r.inboxes) do
    redis.call('PUBLISH', inbox, message)
    redis.call('HDEL', key, 'inbox:' .. inbox)
  end
end

-- settle writes the end of a claim and tells the waiters, in one step.
local function settle(r, state, retention)
  r.state = state
  if state ~= 'unknown' then r.lease = 0 end
  write(r, retention)
  tell(r, seen(r))
end

