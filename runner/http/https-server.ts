import { createServer, type ServerOptions } from 'node:https';
import {
  answer,
  type HttpServer,
  LIMITS,
  listen,
  type Method,
  type Routes,
} from './http-server.js';
import type { Logger } from '../telemetry/log.js';
import type { BindAddress } from '../config/parsers.js';

/** A mounted file takes up to a minute to change; a check costs two small reads. */
const RELOAD_MS = 10_000;
const TLS = { minVersion: 'TLSv1.2' } as const;
/** Shorter than the default of two minutes, for connections that send nothing. */
const HANDSHAKE = { handshakeTimeout: 5_000 };

/** What a TLS server reads from files or makes, all PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** The authorities of clients. */
  readonly ca?: string | undefined;
}

export interface HttpsProps {
  readonly address: BindAddress;
  readonly routes: Routes;
  /** @default GET */
  readonly method?: Method;
  /** The present certificate. Undefined before the first one: every handshake fails. */
  readonly source: () => Promise<TlsFiles | undefined>;
  readonly log: Logger;
  readonly options?: Pick<ServerOptions, 'requestCert' | 'rejectUnauthorized'>;
  /** Interval of the checks for a changed certificate. @default 10,000 */
  readonly reloadMs?: number;
}

export interface HttpsServer extends HttpServer {
  /** Reads the source now, and uses what it gives. */
  reload(): Promise<void>;
}

/**
 * Serves routes over HTTPS. A changed certificate is used for new connections. A certificate that
 * cannot be read or does not fit its key is logged, and the earlier one stays in use.
 * @throws if the first certificate cannot be read or the address is in use
 */
export async function serveHttps(props: HttpsProps): Promise<HttpsServer> {
  const { address, routes, method, source, log, options, reloadMs = RELOAD_MS } = props;
  let served = await source();
  const server = createServer(
    { ...LIMITS, ...TLS, ...HANDSHAKE, ...options, ...served },
    answer(routes, log, method),
  );
  const listening = await listen(server, address);
  let logged = false;
  const load = async (): Promise<void> => {
    try {
      const next = await source();
      if (next && !isSame(served, next)) {
        server.setSecureContext({ ...TLS, ...next });
        served = next;
        log.info('certificate reloaded', { port: listening.port });
      }
      logged = false;
    } catch (error) {
      if (!logged) log.warn('certificate not reloaded', { error });
      logged = true;
    }
  };
  // One reload at a time: on a slow disk an older one could end last with the old certificate.
  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  const reload = (): Promise<void> => {
    next ??= last.then(() => {
      next = undefined;
      return load();
    });
    last = next;
    return next;
  };
  const timer = setInterval(() => void reload(), reloadMs).unref();
  return {
    port: listening.port,
    reload,
    close: (graceMs) => {
      clearInterval(timer);
      return listening.close(graceMs);
    },
  };
}

function isSame(served: TlsFiles | undefined, next: TlsFiles): boolean {
  return served?.cert === next.cert && served.key === next.key && served.ca === next.ca;
}
