import { Agent, ProxyAgent, Socks5ProxyAgent, type Dispatcher } from 'undici';
import type { Endpoint } from './endpoint.js';

/** The connections to one endpoint. */
export interface Transport {
  readonly origin: string;
  /** Prefix of every path, without a slash at its end. */
  readonly prefix: string;
  /** For requests: bounded, kept alive, shared. */
  readonly requests: Dispatcher;
  /** For watches: one connection each. */
  readonly watches: Dispatcher;
}

/** Shorter than the API server's idle timeout of 90 s or more, so that no closed connection is reused. */
const KEEP_ALIVE_MS = 60_000;

/** @param connections how many connections requests share at most */
export function openTransport(endpoint: Endpoint, connections: number): Transport {
  const url = new URL(endpoint.server);
  return {
    origin: url.origin,
    prefix: url.pathname.replace(/\/$/, ''),
    requests: dispatcher(endpoint, { connections }),
    watches: dispatcher(endpoint, { bodyTimeout: 0 }),
  };
}

/** Requests in flight are finished; watches are cut. */
export async function closeTransport(transport: Transport): Promise<void> {
  await Promise.all([transport.requests.close(), transport.watches.destroy(null)]);
}

function dispatcher(
  endpoint: Endpoint,
  options: { readonly connections?: number; readonly bodyTimeout?: number },
): Dispatcher {
  // HTTP/2 is off: leaks were reported in Node's implementation, and its benefit is not measured.
  const common = { ...options, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
  const connect = {
    ...endpoint.tls,
    timeout: 10_000,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  };
  const { proxyUrl } = endpoint;
  if (proxyUrl === undefined) return new Agent({ ...common, connect });
  if (proxyUrl.startsWith('socks')) {
    return new Socks5ProxyAgent(proxyUrl, { ...common, requestTls: connect });
  }
  return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: connect });
}
