// What both services share: a server, a Redis client of forty lines, and the call
// of the payment provider. Nothing here knows idempotency.
import http from 'node:http';
import net from 'node:net';

// redis sends commands over one connection and opens it again when it breaks.
export function redis(url) {
  const { hostname, port } = new URL(url);
  let open; // the connection that serves: its socket, and who waits for a reply on it
  const parse = (buffer, at) => {
    const end = buffer.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const kind = buffer[at], text = buffer.toString('utf8', at + 1, end);
    if (kind === 43) return { value: text, at: end + 2 }; // +
    if (kind === 45) return { error: new Error(text), at: end + 2 }; // -
    if (kind === 58) return { value: Number(text), at: end + 2 }; // :
    const size = Number(text);
    if (size < 0) return { value: null, at: end + 2 };
    if (kind === 36) return buffer.length < end + 4 + size ? undefined : { value: buffer.toString('utf8', end + 2, end + 2 + size), at: end + 4 + size };
    throw new Error('unexpected reply');
  };
  const connect = () => {
    const waiting = [], socket = net.connect(Number(port), hostname), mine = { socket, waiting };
    let buffer = Buffer.alloc(0);
    const end = (err) => { if (open === mine) open = undefined; waiting.splice(0).forEach((w) => w.reject(err)); };
    socket.on('error', end).on('close', () => end(new Error('redis: connection closed')));
    socket.on('data', (chunk) => {
      buffer = Buffer.concat([buffer, chunk]);
      for (let reply; (reply = buffer.length ? parse(buffer, 0) : undefined);) {
        buffer = buffer.subarray(reply.at);
        const w = waiting.shift();
        reply.error ? w.reject(reply.error) : w.resolve(reply.value);
      }
    });
    return mine;
  };
  return (...args) => new Promise((resolve, reject) => {
    open ??= connect();
    open.waiting.push({ resolve, reject });
    open.socket.write(`*${args.length}\r\n` + args.map((a) => `$${Buffer.byteLength(String(a))}\r\n${a}\r\n`).join(''));
  });
}

// charge asks the provider, handing on a key of its own if there is one. It throws
// an error whose "outcome" says what is known: none (not charged) or unknown.
export async function charge({ amount, currency, ref }, key) {
  let answer;
  try {
    answer = await fetch(process.env.PROVIDER_URL + '/charges', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
      body: JSON.stringify({ amount, currency, metadata: { ref } }),
    });
  } catch (err) {
    throw Object.assign(err, { outcome: 'unknown' });
  }
  const body = await answer.json();
  if (answer.ok) return body;
  throw Object.assign(new Error(body.error.message), { status: answer.status, outcome: answer.status === 402 ? 'none' : 'unknown' });
}

// serve answers POST /charges by handle(key, body), which returns [status, body].
export function serve(handle) {
  http.createServer((req, res) => {
    if (req.url === '/health') return res.end('ok');
    let text = '';
    req.on('data', (c) => { text += c; }).on('end', async () => {
      let status = 500, body;
      try {
        [status, body] = await handle(req.headers['idempotency-key'], JSON.parse(text));
      } catch (err) {
        [status, body] = [err.outcome === 'none' ? 402 : 502, { error: err.message }];
      }
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  }).listen(Number(process.env.PORT), '127.0.0.1');
}
