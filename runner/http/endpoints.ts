import { authorized } from './authorize.js';
import type { Client } from '../api/client.js';
import type { Config } from '../config/config.js';
import { type Check, health } from './health-endpoint.js';
import { type HttpServer, type Reply, serveHttp } from './http-server.js';
import { serveHttps } from './https-server.js';
import { mountedSource, selfSignedSource } from './certificate.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';

export interface EndpointsOptions {
  readonly config: Pick<
    Config,
    'metricsBindAddress' | 'metricsSecureBindAddress' | 'metricsCertDir' | 'healthProbeBindAddress'
  >;
  readonly metrics: OperatorMetrics;
  /** For the reviews of callers that read the metrics over HTTPS. */
  readonly client: Pick<Client, 'request'>;
  readonly log: Logger;
  /** Names in the self-signed certificate. @default `localhost` */
  readonly hosts?: readonly string[];
  /** The checks of `/healthz` and `/readyz`. */
  readonly live: readonly Check[];
  readonly ready: readonly Check[];
}

/** The operator's endpoints; a port is undefined if the server is off. */
export interface Endpoints {
  readonly ports: {
    readonly metrics: number | undefined;
    readonly metricsSecure: number | undefined;
    readonly health: number | undefined;
  };
  close(graceMs?: number): Promise<void>;
}

/**
 * Serves `/metrics` over HTTP and HTTPS, `/healthz` and `/readyz`.
 * @throws if an address is in use or the mounted certificate cannot be read; nothing listens then
 */
export async function startEndpoints(options: EndpointsOptions): Promise<Endpoints> {
  const { config, client } = options;
  const log = options.log.child({ logger: 'http' });
  const metrics = async (): Promise<Reply> => ({
    status: 200,
    ...(await options.metrics.exposition()),
  });
  const servers: HttpServer[] = [];
  const close = async (graceMs?: number): Promise<void> => {
    await Promise.all(servers.map((server) => server.close(graceMs)));
  };
  const started = async (server: Promise<HttpServer> | null): Promise<number | undefined> => {
    if (!server) return undefined;
    const running = await server;
    servers.push(running);
    return running.port;
  };
  try {
    const ports = {
      health: await started(
        config.healthProbeBindAddress &&
          serveHttp(
            config.healthProbeBindAddress,
            { '/healthz': health(options.live), '/readyz': health(options.ready) },
            log,
          ),
      ),
      metrics: await started(
        config.metricsBindAddress &&
          serveHttp(config.metricsBindAddress, { '/metrics': metrics }, log),
      ),
      metricsSecure: await started(
        config.metricsSecureBindAddress &&
          serveHttps({
            address: config.metricsSecureBindAddress,
            routes: { '/metrics': authorized('/metrics', metrics, { client, log }) },
            source:
              config.metricsCertDir === undefined
                ? selfSignedSource('app-operator', options.hosts ?? ['localhost'])
                : mountedSource(config.metricsCertDir),
            log,
          }),
      ),
    };
    log.info('endpoints started', ports);
    return { ports, close };
  } catch (error) {
    await close(0);
    throw error;
  }
}
