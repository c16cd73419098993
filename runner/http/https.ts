import { createServer } from 'node:https';
import { answer, type HttpServer, LIMITS, listen, type Routes } from './http.js';
import type { KeyPair } from './certificate.js';
import type { KeyPairSource } from './key-pair-source.js';
import type { Logger } from '../telemetry/log.js';
import type { BindAddress } from '../config/parsers.js';

/** A mounted Secret takes up to a minute to change; looking costs two small reads. */
const RELOAD_MS = 10_000;

/**
 * Serves routes over HTTPS. A changed certificate is used for new connections; those that are open
 * stay. One that cannot be read or does not fit its key is logged, and the one before it stays.
 * @throws where the first certificate cannot be read or the address cannot be listened on
 */
export async function serveHttps(
  address: BindAddress,
  routes: Routes,
  source: KeyPairSource,
  log: Logger,
  reloadMs = RELOAD_MS,
): Promise<HttpServer> {
  let served: KeyPair = await source.current();
  const server = createServer({ ...LIMITS, ...served, minVersion: 'TLSv1.2' }, answer(routes, log));
  const listening = await listen(server, address);
  let complained = false;
  const reload = async (): Promise<void> => {
    try {
      const next = await source.current();
      complained = false;
      if (next === served) return;
      server.setSecureContext({ ...next, minVersion: 'TLSv1.2' });
      served = next;
      log.info('Certificate reloaded');
    } catch (error) {
      if (!complained) log.warn('Certificate not reloaded', { error });
      complained = true;
    }
  };
  // One look at a time: on a slow disk an old one could end last, and bring back what it had read.
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= reload().finally(() => (looking = undefined));
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
