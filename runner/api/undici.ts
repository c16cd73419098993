import { createRequire } from 'node:module';
import type * as Undici from 'undici';

const load = createRequire(import.meta.url);

/**
 * The parts of undici that every operator needs. The entry of the package loads fetch, WebSocket, mocks
 * and caches with them: 12 MiB, and 40 ms of each start.
 */
export const Agent = load('undici/lib/dispatcher/agent.js') as typeof Undici.Agent;

const Dispatcher = load('undici/lib/dispatcher/dispatcher.js') as typeof Undici.Dispatcher;
Object.assign(Dispatcher.prototype, { request: load('undici/lib/api/api-request.js') as unknown });

/** All of undici, for the few clusters behind a proxy. */
export function loadUndici(): typeof Undici {
  return load('undici') as typeof Undici;
}
