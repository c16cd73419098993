/** A process that serves the admission webhooks, and whose parent looks at its memory. */
import { PassThrough } from 'node:stream';

import { DEFAULT_API_GROUP } from '../constructs/kit/definition.js';
import { KINDS } from '../constructs/registry.js';
import { Admission } from '../runner/admission/admission.js';
import { newKeys } from '../runner/admission/webhook-objects.js';
import { serveWebhooks } from '../runner/admission/server.js';
import { serveHttp } from '../runner/http/http-server.js';
import { createLogger } from '../runner/telemetry/log.js';

/** What the process sends to its parent. */
export interface Started {
  readonly port: number;
  readonly health: number;
  readonly ca: string;
}

/** What the process answers to each message: what it uses. */
export interface Usage {
  readonly rss: number;
  readonly cpuMs: number;
}

const log = createLogger({ logLevel: 'info', logEncoder: 'json' }, new PassThrough().resume());
const admission = new Admission({
  kinds: KINDS,
  group: DEFAULT_API_GROUP,
  namespaces: [],
  reader: () => undefined,
  log,
});
const address = { host: '127.0.0.1', port: 0 };
const server = await serveWebhooks({
  address,
  webhooks: {
    '/validate': (request) => admission.validate(request),
    '/mutate': (request) => admission.mutate(request),
  },
  onAnswer: () => undefined,
  log,
});
const keys = newKeys(['127.0.0.1'], Date.now());
await server.use(keys);
const health = await serveHttp(address, { '/healthz': () => ({ status: 200, body: 'ok' }) }, log);
process.on('message', () => {
  // Twice: what the first frees may hold more.
  globalThis.gc?.();
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  process.send?.({ rss: process.memoryUsage().rss, cpuMs: (user + system) / 1000 } satisfies Usage);
});
process.send?.({ port: server.port, health: health.port, ca: keys.bundle } satisfies Started);
