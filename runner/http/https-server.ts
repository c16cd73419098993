import { createServer } from 'node:https';
import { answer, type HttpServer, LIMITS, listen, type Routes } from './http-server.js';
import type { KeyPair } from './certificate.js';
import type { KeyPairSource } from './key-pair-source.js';
import type { Logger } from '../telemetry/log.js';
import type { BindAddress } from '../config/parsers.js';

/** A mounted Secret takes up to a minute to change; a check costs two small reads. */
const RELOAD_MS = 10_000;

export interface HttpsProps {
  readonly address: BindAddress;
  readonly routes: Routes;
  readonly source: KeyPairSource;
  readonly log: Logger;
  /** Interval of the checks for a changed certificate. @default 10,000 */
  readonly reloadMs?: number;
}

/**
 * Serves routes over HTTPS. A changed certificate is used for new connections. A certificate that
 * cannot be read or does not fit its key is logged, and the earlier one stays in use.
 * @throws if the first certificate cannot be read or the address is in use
 */
export async function serveHttps({
  address,
  routes,
  source,
  log,
  reloadMs = RELOAD_MS,
}: HttpsProps): Promise<HttpServer> {
  let served: KeyPair = await source.current();
  const server = createServer({ ...LIMITS, ...served, minVersion: 'TLSv1.2' }, answer(routes, log));
  const listening = await listen(server, address);
  let logged = false;
  const reload = async (): Promise<void> => {
    try {
      const next = await source.current();
      logged = false;
      if (next === served) return;
      server.setSecureContext({ ...next, minVersion: 'TLSv1.2' });
      served = next;
      log.info('certificate reloaded');
    } catch (error) {
      if (!logged) log.warn('certificate not reloaded', { error });
      logged = true;
    }
  };
  // One reload at a time: on a slow disk an older one could end last with the old certificate.
  let reloading: Promise<void> | undefined;
  const timer = setInterval(() => {
    reloading ??= reload().finally(() => (reloading = undefined));
  }, reloadMs);
  timer.unref();
  return {
    port: listening.port,
    close: (graceMs) => {
      clearInterval(timer);
      return listening.close(graceMs);
    },
  };
}
