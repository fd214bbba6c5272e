// The service that everybody writes first: a result cache. It looks up the key; if
// it finds nothing it charges, and stores the answer. While the first request is
// still running there is nothing to find, so a retry charges again. Then both are
// answered from the cache: the answers agree, and the card is charged twice.
import { redis, charge, serve } from './lib.js';

const cache = redis(process.env.REDIS_URL);
const day = 24 * 60 * 60;

serve(async (key, order) => {
  if (!key) return [400, { error: 'Idempotency-Key is missing' }];

  const known = await cache('GET', 'idem:' + key);
  if (known) return [200, JSON.parse(known)];

  const { id, amount } = await charge(order);
  await cache('SET', 'idem:' + key, JSON.stringify({ id, amount }), 'EX', day, 'NX');
  return [201, JSON.parse(await cache('GET', 'idem:' + key))];
});
