// TEST CODE: the realtime server of the image, on the real socket.io: one namespace a site, events from redis_queue.
// Like the framework's it has no handler of SIGTERM, asks the site at the address of the Origin who a user is, and
// ends when it cannot reach Redis.
import { setDefaultResultOrder } from 'node:dns';
import { existsSync, readFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { env, stdout } from 'node:process';
import { URL, URLSearchParams } from 'node:url';
import { createClient } from '@redis/client';
import { Server } from 'socket.io';

setDefaultResultOrder('ipv4first');

const bench = env.FRAPPE_BENCH_ROOT ?? new URL('../..', import.meta.url).pathname;
const source = readFileSync(new URL('frappe/__init__.py', import.meta.url), 'utf8');
const [major = 0, minor = 0] = /__version__ = "(\d+)\.(\d+)/.exec(source).slice(1).map(Number);
const since = (wantedMajor, wantedMinor = 0) =>
  major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);

function configuration() {
  const path = `${bench}/sites/common_site_config.json`;
  const common = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  return {
    port: env.FRAPPE_SOCKETIO_PORT ?? common.socketio_port ?? 9000,
    redis: env.FRAPPE_REDIS_QUEUE ?? common.redis_queue,
  };
}

const { port, redis } = configuration();
const hostname = (url) => url?.replace(/^[a-z]+:\/\//, '').replace(/[:/].*$/, '');

/** Version-15 asks by superagent, which uses node:http, follows redirects and refuses other statuses. */
function askByHttp(url, headers, redirects = 5) {
  return new Promise((resolve, reject) => {
    const call = url.startsWith('https:') ? httpsGet : httpGet;
    call(url, { headers }, (response) => {
      const { statusCode: status, headers: got } = response;
      if (status >= 300 && status < 400 && redirects > 0) {
        response.resume();
        resolve(askByHttp(new URL(got.location, url).href, headers, redirects - 1));
        return;
      }
      if (status !== 200) reject(new Error(`status ${status}`));
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve(text));
    }).on('error', reject);
  }).then((text) => (typeof text === 'string' ? JSON.parse(text) : text));
}

/** The value that the site wrote when it was first asked, from 16.10. */
async function secretHeader() {
  if (!since(16, 10)) return {};
  const client = createClient({ url: redis });
  await client.connect();
  const secret = await client.get('socketio_auth_secret');
  await client.quit();
  return secret ? { 'X-Frappe-Socket-Secret': secret } : {};
}

async function ask(socket, method, args = {}) {
  const query = new URLSearchParams(args);
  const url = `${socket.request.headers.origin}/api/method/${method}`;
  const login = socket.authorization ? { Authorization: socket.authorization } : undefined;
  if (!since(16)) {
    if (socket.sid) query.set('sid', socket.sid);
    return askByHttp(`${url}?${query}`, socket.sid ? {} : login);
  }
  const headers = { ...(login ?? { Cookie: `sid=${socket.sid}` }), ...(await secretHeader()) };
  const answer = await globalThis.fetch(query.size > 0 ? `${url}?${query}` : url, { headers });
  return answer.json();
}

/** The site must be the namespace, the origin must be the host, and the site itself must know who asks. */
async function authenticate(socket) {
  const { headers } = socket.request;
  const namespace = socket.nsp.name.slice(1);
  if (namespace !== hostname(headers['x-frappe-site-name'] ?? headers.origin ?? headers.host)) {
    throw new Error('Invalid namespace');
  }
  if (hostname(headers.host) !== hostname(headers.origin)) throw new Error('Invalid origin');
  if (!headers.cookie && !since(16)) throw new Error('No cookie transmitted.');
  if (!headers.cookie && !headers.authorization) {
    throw new Error(
      'Missing cookie and authorization header. Either one needed for authentication.',
    );
  }
  socket.sid = /(?:^|;\s*)sid=([^;]+)/.exec(headers.cookie ?? '')?.[1];
  socket.authorization = headers.authorization;
  if (!socket.sid && !socket.authorization) {
    throw new Error('No authentication method used. Use cookie or authorization header.');
  }
  try {
    Object.assign(socket, await whoAsks(socket));
  } catch (error) {
    throw new Error(`Unauthorized: ${String(error)}`, { cause: error });
  }
}

/** @returns the names that the framework gives to what a site answers */
async function whoAsks(socket) {
  const asked = async () => (await ask(socket, 'frappe.realtime.get_user_info')).message;
  let message = await asked();
  // The first answer is empty where the site has only now made the secret.
  if (since(16, 10) && !message.installed_apps) message = await asked();
  const { user, user_type, installed_apps } = message;
  return { user, user_type, installed_apps: since(16) ? (installed_apps ?? []) : ['frappe'] };
}

/** `realtime/handlers.js` of the app frappe: without an answer of the site there are none. */
function handlers(socket) {
  socket.join([`user:${socket.user}`, 'website']);
  if (socket.user_type === 'System User') socket.join('all');
  socket.on('ping', () => socket.emit('pong'));
  socket.on('task_subscribe', (task) => socket.join(`task_progress:${task}`));
  socket.on('doctype_subscribe', (doctype) => {
    const method = since(16) ? 'has_permission' : 'can_subscribe_doctype';
    ask(socket, `frappe.realtime.${method}`, { doctype }).then(
      ({ message }) => message && socket.join(`doctype:${doctype}`),
      (error) => stdout.write(`${error}\n`),
    );
  });
}

const io = new Server({
  cors: { origin: true, credentials: true },
  cleanupEmptyChildNamespaces: true,
});
const realtime = io.of(/^\/.*$/);

realtime.use((socket, next) => {
  authenticate(socket).then(
    () => next(),
    (error) => next(error instanceof Error ? error : new Error(String(error))),
  );
});
realtime.on('connection', (socket) => {
  if (socket.installed_apps.includes('frappe')) handlers(socket);
});

const subscriber = createClient({ url: redis });
await subscriber.connect();
await subscriber.subscribe('events', (text) => {
  const { event, message, room, namespace } = JSON.parse(text);
  io.of(`/${namespace}`).to(room).emit(event, message);
});

io.listen(Number(port));
stdout.write(`Realtime service listening on: ${port}\n`);
