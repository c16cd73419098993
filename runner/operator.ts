import { KINDS } from '../constructs/registry.js';
import { authorized } from './authorize.js';
import { createClient, type Client } from './client.js';
import { helpText, parseConfig, wantsHelp, type Config } from './config.js';
import { loadCredentials, podNamespace } from './credentials.js';
import { fenced } from './fence.js';
import { ConfigError } from './flags.js';
import { health } from './health.js';
import { serveHttp, type HttpServer, type Route } from './http.js';
import { serveHttps } from './https.js';
import { mountedSource, selfSignedSource } from './key-pair-source.js';
import { leaderIdentity, runLeaderElection, type Term } from './leader.js';
import { createLogger, type Logger } from './log.js';
import { Manager } from './manager.js';
import { Metrics } from './metrics.js';
import { VERSION } from './version.js';

/** The Service in front of the operator's endpoints. */
const METRICS_SERVICE = 'app-operator-controller-manager-metrics-service';

/**
 * The operator's process: from flags to a clean end.
 * @returns the exit code: 0 after a signal, 1 for a failure, 2 for wrong flags
 */
export async function runOperator(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  if (wantsHelp(argv)) {
    process.stdout.write(helpText());
    return 0;
  }
  let config: Config;
  try {
    config = parseConfig(argv, env, podNamespace());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  const log = createLogger(config);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info('shutting down', { signal });
      stop.abort();
    });
  }
  try {
    return await operate(config, env, log, stop);
  } catch (error) {
    log.error('the operator cannot run', { error });
    return 1;
  }
}

async function operate(
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Logger,
  stop: AbortController,
): Promise<number> {
  log.info('starting', { version: VERSION, node: process.version, apiGroup: config.apiGroup });
  const metrics = new Metrics(KINDS.map(({ definition }) => definition.kind));
  const client = createClient({
    credentials: await loadCredentials(config.kubeconfig, env),
    onCall: (verb, code) => {
      metrics.apiCall(verb, code);
    },
  });
  let term: Term | undefined;
  const manager = new Manager({
    config,
    client: fenced(client, () => !config.leaderElect || term?.isHeld() === true),
    metrics,
    log,
  });
  const servers = await serve(config, client, metrics, manager, log);
  let exitCode = 0;
  const elected = config.leaderElect
    ? stand(config, client, log, {
        onElected: (won) => {
          term = won;
          metrics.leader(true);
          manager.start();
        },
        onLost: () => {
          // What runs on as a standby after a lost term would need proof that nothing of it lingers.
          exitCode = 1;
          stop.abort();
        },
      })
    : undefined;
  try {
    await Promise.race([manager.sync(), aborted(stop.signal)]);
    if (!stop.signal.aborted) {
      log.info('caches are filled');
      if (!elected) {
        metrics.leader(true);
        manager.start();
      } else elected.ready();
      await aborted(stop.signal);
    }
  } finally {
    await within(config.shutdownTimeoutMs, manager.stop());
    await elected?.resign();
    await Promise.all(servers.map((server) => server.close()));
    await within(2_000, client.close());
    log.info('stopped');
  }
  return exitCode;
}

/** Stands for election once the caches are filled. */
function stand(
  config: Config,
  client: Client,
  log: Logger,
  callbacks: { readonly onElected: (term: Term) => void; readonly onLost: () => void },
): { ready: () => void; resign: () => Promise<void> } {
  const resign = new AbortController();
  let running = Promise.resolve();
  return {
    ready: () => {
      running = runLeaderElection({
        client,
        namespace: config.leaderElectionNamespace,
        identity: leaderIdentity(),
        signal: resign.signal,
        log: log.child({ logger: 'leader' }),
        ...callbacks,
      }).catch((error: unknown) => {
        log.error('the election failed', { error });
        callbacks.onLost();
      });
    },
    resign: async () => {
      resign.abort();
      await within(5_000, running);
    },
  };
}

async function serve(
  config: Config,
  client: Client,
  metrics: Metrics,
  manager: Manager,
  log: Logger,
): Promise<readonly HttpServer[]> {
  const exposition: Route = async () => {
    const { contentType, body } = await metrics.exposition();
    return { status: 200, body, contentType };
  };
  const servers: Promise<HttpServer>[] = [];
  if (config.healthProbeBindAddress) {
    const routes = {
      '/healthz': health([{ name: 'watches', problems: () => manager.stuck() }]),
      '/readyz': health([{ name: 'caches', problems: () => manager.unready() }]),
    };
    servers.push(serveHttp(config.healthProbeBindAddress, routes, log));
  }
  if (config.metricsBindAddress) {
    servers.push(serveHttp(config.metricsBindAddress, { '/metrics': exposition }, log));
  }
  if (config.metricsSecureBindAddress) {
    const host = `${METRICS_SERVICE}.${config.leaderElectionNamespace}.svc`;
    servers.push(
      serveHttps(
        config.metricsSecureBindAddress,
        { '/metrics': authorized('/metrics', exposition, { client, log }) },
        config.metricsCertDir
          ? mountedSource(config.metricsCertDir)
          : selfSignedSource(host, [host]),
        log,
      ),
    );
  }
  return Promise.all(servers);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Waits for something, but not longer than this. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
