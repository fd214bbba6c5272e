// The same service, with the key claimed before the charge: in one atomic step, by
// an owner with a token, with a lease, and with what the request was.
//
//   another payload          422, whatever the state
//   done                     the first answer again
//   claimed, lease running   409: somebody is at it
//   claimed, lease over      taken over: with the same key to the provider
//
// Only the owner writes the result. A failure that is known to have had no effect
// frees the key, and is told if it was still the owner's; one of which nobody knows
// leaves the key claimed until the lease ends.
import { createHash, randomUUID } from 'node:crypto';
import { redis, charge, serve } from './lib.js';

const store = redis(process.env.REDIS_URL);
const lease = Number(process.env.LEASE_MS ?? 30_000), day = 24 * 60 * 60 * 1000;
const hash = (text) => createHash('sha256').update(text).digest('hex');

// One script, so that nobody comes between looking and claiming. Time is the server's.
const CLAIM = `
  local now = redis.call('TIME'); now = now[1] * 1000 + math.floor(now[2] / 1000)
  local r = redis.call('GET', KEYS[1]); r = r and cjson.decode(r)
  if r and r.print ~= ARGV[2] then return cjson.encode({state = 'reused'}) end
  if r and (r.state == 'done' or r.ends > now) then return cjson.encode(r) end
  local mine = cjson.encode({state = 'pending', print = ARGV[2], owner = ARGV[1], ends = now + ARGV[3]})
  redis.call('SET', KEYS[1], mine, 'PX', ARGV[4])
  return mine`;
const IF_MINE = `
  local r = redis.call('GET', KEYS[1]); r = r and cjson.decode(r)
  if not r or r.state ~= 'pending' or r.owner ~= ARGV[1] then return 0 end
  if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
  return 1`;

serve(async (key, order) => {
  if (!key) return [400, { error: 'Idempotency-Key is missing' }];
  const name = 'idem:' + hash(key), owner = randomUUID();
  const print = hash(JSON.stringify([order.amount, order.currency]));

  const record = JSON.parse(await store('EVAL', CLAIM, 1, name, owner, print, lease, day));
  if (record.state === 'reused') return [422, { error: 'the key was used with another payload' }];
  if (record.state === 'done') return [201, record.answer];
  if (record.owner !== owner) return [409, { error: 'in progress' }];

  let answer;
  try {
    const { id, amount } = await charge(order, hash('charge:' + key).slice(0, 32));
    answer = { id, amount };
  } catch (err) {
    // Who has been overtaken does not have the last word: the other may have charged.
    if (err.outcome === 'none' && !await store('EVAL', IF_MINE, 1, name, owner, '', 0)) return [409, { error: 'taken over' }];
    throw err;
  }
  const done = JSON.stringify({ state: 'done', print, answer });
  if (await store('EVAL', IF_MINE, 1, name, owner, done, day).catch(() => 1)) return [201, answer];
  return [409, { error: 'taken over' }]; // another attempt has the key: its answer counts
});
