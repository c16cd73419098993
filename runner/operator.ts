import { KINDS } from '../constructs/registry.js';
import { createClient, type Client } from './api/client.js';
import { helpText, parseConfig, wantsHelp, type Config } from './config/config.js';
import { loadCredentials, podNamespace } from './api/credentials.js';
import { startEndpoints } from './http/endpoints.js';
import { fenced } from './leader/fence.js';
import { ConfigError } from './config/flags.js';
import { leaderIdentity, runLeaderElection, type Term, timingFor } from './leader/leader.js';
import { createLogger, type Logger } from './telemetry/log.js';
import { Manager } from './manager.js';
import { OperatorMetrics } from './telemetry/metrics.js';
import { VERSION } from './version.js';
import { startWebhooks } from './admission/webhooks.js';
import { LONGEST_TIMER_MS } from './controller/workqueue.js';

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
  const metrics = new OperatorMetrics(KINDS.map(({ definition }) => definition.kind));
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
  const webhooks = await startWebhooks({
    config,
    client,
    reader: () => manager.reader(),
    metrics,
    log,
  });
  const endpoints = await startEndpoints({
    config,
    metrics,
    client,
    log,
    hosts: [`${METRICS_SERVICE}.${config.leaderElectionNamespace}.svc`],
    live: [{ name: 'watches', problems: () => manager.stuck() }],
    ready: [
      { name: 'caches', problems: () => manager.unready() },
      { name: 'webhooks', problems: () => webhooks?.problems() ?? [] },
    ],
  });
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
    await Promise.all([endpoints.close(), webhooks?.close()]);
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
        timing: timingFor(config.leaderElectLeaseMs),
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
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
