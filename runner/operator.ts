import { KINDS, type AnyKind } from '../constructs/registry.js';
import { startWebhooks, type Webhooks } from './admission/webhooks.js';
import { aborted } from './kit/aborted.js';
import { createClient, type Client, type ClientOptions } from './api/client.js';
import { loadCredentials, podNamespace } from './api/credentials.js';
import { helpText, parseConfig, wantsHelp, type Config } from './config/config.js';
import { ConfigError } from './config/flag-parser.js';
import { LONGEST_TIMER_MS } from './queue/workqueue.js';
import { startEndpoints, type Endpoints } from './http/endpoints.js';
import { Leadership } from './leader/leadership.js';
import { Manager } from './manager.js';
import { createLogger, type Logger } from './telemetry/log.js';
import { OperatorMetrics } from './telemetry/metrics.js';
import { VERSION } from './kit/version.js';

/** The Service in front of the operator's endpoints. */
const METRICS_SERVICE = 'app-operator-controller-manager-metrics-service';

/** One for a renewal that hangs, and one for the next. */
const LEASE_CONNECTIONS = 2;

/**
 * The operator's process, from its flags to its end.
 * @param kinds the kinds that it reconciles
 * @returns the exit code: 0 after a signal, 1 after a failure, 2 for invalid flags
 */
export async function runOperator(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  kinds: readonly AnyKind[] = KINDS,
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
    return await operate({ config, env, log, stop, kinds });
  } catch (error) {
    log.error('operator failed', { error });
    return 1;
  }
}

interface OperatorProps {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  /** Aborted to end the operator. */
  readonly stop: AbortController;
  readonly kinds: readonly AnyKind[];
}

/** The parts of a running operator. */
interface StartedOperator {
  readonly clients: readonly Client[];
  readonly manager: Manager;
  readonly leadership: Leadership;
  readonly webhooks: Webhooks | undefined;
  readonly endpoints: Endpoints;
}

async function operate(props: OperatorProps): Promise<number> {
  const { config, log, stop } = props;
  let exitCode = 0;
  // The process ends: a restart is safe, while a standby would have to prove that no write is left.
  const onLost = (): void => {
    exitCode = 1;
    stop.abort();
  };
  const operator = await startServers(props, onLost);
  const { manager, leadership, webhooks, endpoints, clients } = operator;
  try {
    await Promise.race([lead(operator, props), aborted(stop.signal)]);
    if (!stop.signal.aborted) await aborted(stop.signal);
  } finally {
    await withTimeout(config.shutdownTimeoutMs, manager.stop());
    await withTimeout(5_000, leadership.resign());
    await Promise.all([endpoints.close(), webhooks?.close()]);
    await withTimeout(2_000, Promise.all(clients.map((client) => client.close())));
    log.info('stopped');
  }
  return exitCode;
}

/** Fills the caches, then reconciles alone, or as soon as it is elected. */
async function lead(
  { manager, leadership }: StartedOperator,
  { log, stop }: OperatorProps,
): Promise<void> {
  await manager.sync();
  if (stop.signal.aborted) return;
  log.info('caches are filled');
  leadership.start();
}

/** Starts webhooks and endpoints; nothing is reconciled yet. */
async function startServers(
  { config, env, log, kinds }: OperatorProps,
  onLost: () => void,
): Promise<StartedOperator> {
  log.info('starting', { version: VERSION, node: process.version, apiGroup: config.apiGroup });
  const metrics = new OperatorMetrics(kinds.map(({ definition }) => definition.kind));
  const credentials = await loadCredentials(config.kubeconfig, env);
  const onCall: ClientOptions['onCall'] = (verb, code) => {
    metrics.apiCalls.inc({ verb, code });
  };
  const client = createClient({ credentials, onCall });
  const leaseClient = createClient({ credentials, onCall, connections: LEASE_CONNECTIONS });
  const leadership = new Leadership({
    config,
    client: leaseClient,
    log,
    onElected: () => {
      metrics.leader.set(1);
      manager.start();
    },
    onLost,
  });
  const manager = new Manager({ config, client: leadership.fence(client), metrics, log, kinds });
  const webhooks = await startWebhooks({
    config,
    client,
    metrics,
    log,
    kinds,
    reader: () => manager.reader(),
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
      { name: 'watches', problems: () => manager.brokenWatches() },
      { name: 'webhooks', problems: () => webhooks?.problems() ?? [] },
    ],
  });
  const clients = [client, leaseClient];
  return { clients, manager, leadership, webhooks, endpoints };
}

/** Waits for some work, at most this long. */
async function withTimeout(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
