// TEST CODE: the realtime server of the image, on the real socket.io: one namespace a site, events from redis_queue.
// Like the framework's it has no handler of SIGTERM, and ends when it cannot reach Redis.
import { setDefaultResultOrder } from 'node:dns';
import { existsSync, readFileSync } from 'node:fs';
import { env, stdout } from 'node:process';
import { URL } from 'node:url';
import { createClient } from '@redis/client';
import { Server } from 'socket.io';

setDefaultResultOrder('ipv4first');

const bench = env.FRAPPE_BENCH_ROOT ?? new URL('../..', import.meta.url).pathname;

function configuration() {
  const path = `${bench}/sites/common_site_config.json`;
  const common = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  return {
    port: env.FRAPPE_SOCKETIO_PORT ?? common.socketio_port ?? 9000,
    redis: env.FRAPPE_REDIS_QUEUE ?? common.redis_queue,
  };
}

const hostname = (url) => url?.replace(/^[a-z]+:\/\//, '').replace(/[:/].*$/, '');

/** The site must be the namespace, the origin must be the host, and the site itself must know who asks. */
async function authenticate(socket) {
  const { headers } = socket.request;
  const namespace = socket.nsp.name.slice(1);
  if (namespace !== hostname(headers['x-frappe-site-name'] ?? headers.origin ?? headers.host)) {
    throw new Error('Invalid namespace');
  }
  if (hostname(headers.host) !== hostname(headers.origin)) throw new Error('Invalid origin');
  const sid = /(?:^|;\s*)sid=([^;]+)/.exec(headers.cookie ?? '')?.[1];
  if (!headers.cookie) throw new Error('No cookie transmitted.');
  if (!sid && !headers.authorization) {
    throw new Error('No authentication method used. Use cookie or authorization header.');
  }
  const who = `${headers.origin}/api/method/frappe.realtime.get_user_info`;
  const answer = sid
    ? await globalThis.fetch(`${who}?sid=${sid}`)
    : await globalThis.fetch(who, { headers: { authorization: headers.authorization } });
  if (!answer.ok) throw new Error(`Unauthorized: ${answer.status}`);
  socket.user = (await answer.json()).message.user;
}

const { port, redis } = configuration();
const io = new Server({ cors: { origin: true, credentials: true } });
const realtime = io.of(/^\/.*$/);

realtime.use((socket, next) => {
  authenticate(socket).then(
    () => next(),
    (error) => next(error instanceof Error ? error : new Error(String(error))),
  );
});
realtime.on('connection', (socket) => {
  socket.join(['all', `user:${socket.user}`]);
  socket.on('ping', () => socket.emit('pong'));
});

const subscriber = createClient({ url: redis });
await subscriber.connect();
await subscriber.subscribe('events', (text) => {
  const { event, message, room, namespace } = JSON.parse(text);
  io.of(`/${namespace}`).to(room).emit(event, message);
});

io.listen(Number(port));
stdout.write(`Realtime service listening on: ${port}\n`);
