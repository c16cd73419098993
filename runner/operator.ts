import type { KindVersion } from '../constructs/kit/conversion.js';
import { KINDS, type AnyKind } from '../constructs/registry.js';
import { startWebhooks, type Webhooks } from './admission/webhooks.js';
import { createClient, type Client, type ClientOptions } from './api/client.js';
import { loadCredentials, podNamespace } from './api/credentials.js';
import { helpText, parseConfig, wantsHelp, type Config } from './config/config.js';
import { ConfigError } from './config/flag-parser.js';
import { LONGEST_TIMER_MS } from './controller/workqueue.js';
import { startEndpoints, type Endpoints } from './http/endpoints.js';
import { fenced } from './leader/fence.js';
import {
  leaderIdentity,
  runLeaderElection,
  type Term,
  timingFor,
} from './leader/leader-election.js';
import { Manager } from './manager.js';
import { createLogger, type Logger } from './telemetry/log.js';
import { OperatorMetrics } from './telemetry/metrics.js';
import { VERSION } from './version.js';

/** The Service in front of the operator's endpoints. */
const METRICS_SERVICE = 'app-operator-controller-manager-metrics-service';

/** One for a renewal that hangs, and one for the next. */
const LEASE_CONNECTIONS = 2;

/**
 * The operator's process, from its flags to its end.
 * @param kinds the kinds that it reconciles
 * @param versions versions of the kinds that its webhooks convert beside the stored one
 * @returns the exit code: 0 after a signal, 1 after a failure, 2 for invalid flags
 */
export async function runOperator(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  kinds: readonly AnyKind[] = KINDS,
  versions: readonly KindVersion[] = [],
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
    return await operate({ config, env, log, stop, kinds, versions });
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
  readonly versions: readonly KindVersion[];
}

/** The parts of a running operator. */
interface Running {
  readonly client: Client;
  readonly leaseClient: Client;
  readonly metrics: OperatorMetrics;
  readonly manager: Manager;
  readonly webhooks: Webhooks | undefined;
  readonly endpoints: Endpoints;
  /** The present term as the leader. */
  readonly leadership: { term: Term | undefined };
}

async function operate(props: OperatorProps): Promise<number> {
  const { config, log, stop } = props;
  const running = await startServers(props);
  const { client, manager, metrics, webhooks, endpoints } = running;
  let exitCode = 0;
  const candidate = config.leaderElect
    ? candidateOf(props, running, () => {
        // The process ends: a restart is safe, while a standby would have to prove that no write is left.
        exitCode = 1;
        stop.abort();
      })
    : undefined;
  try {
    await Promise.race([manager.sync(), aborted(stop.signal)]);
    if (!stop.signal.aborted) {
      log.info('caches are filled');
      if (candidate) candidate.start();
      else {
        metrics.leader(true);
        manager.start();
      }
      await aborted(stop.signal);
    }
  } finally {
    await within(config.shutdownTimeoutMs, manager.stop());
    await candidate?.resign();
    await Promise.all([endpoints.close(), webhooks?.close()]);
    await within(2_000, Promise.all([client.close(), running.leaseClient.close()]));
    log.info('stopped');
  }
  return exitCode;
}

/** Builds the manager and starts webhooks and endpoints; nothing is reconciled yet. */
async function startServers(props: OperatorProps): Promise<Running> {
  const { config, env, log, kinds, versions } = props;
  log.info('starting', { version: VERSION, node: process.version, apiGroup: config.apiGroup });
  const metrics = new OperatorMetrics(kinds.map(({ definition }) => definition.kind));
  const credentials = await loadCredentials(config.kubeconfig, env);
  const onCall: ClientOptions['onCall'] = (verb, code) => {
    metrics.apiCall(verb, code);
  };
  const client = createClient({ credentials, onCall });
  // Renewals of the lease must not wait for a connection behind other calls that hang.
  const leaseClient = createClient({ credentials, onCall, connections: LEASE_CONNECTIONS });
  const leadership: Running['leadership'] = { term: undefined };
  const mayWrite = (): boolean => !config.leaderElect || leadership.term?.isHeld() === true;
  const writer = fenced(client, { mayWrite, signal: () => leadership.term?.signal });
  const manager = new Manager({ config, client: writer, metrics, log, kinds });
  const webhooks = await startWebhooks({
    ...{ config, client, metrics, log, kinds, versions },
    reader: () => manager.reader(),
  });
  const endpoints = await startEndpoints({
    ...{ config, metrics, client, log },
    hosts: [`${METRICS_SERVICE}.${config.leaderElectionNamespace}.svc`],
    live: [{ name: 'watches', problems: () => manager.stuck() }],
    ready: [
      { name: 'caches', problems: () => manager.unready() },
      { name: 'watches', problems: () => manager.brokenWatches() },
      { name: 'webhooks', problems: () => webhooks?.problems() ?? [] },
    ],
  });
  return { client, leaseClient, metrics, manager, webhooks, endpoints, leadership };
}

/** A candidate of the leader election. It starts once the caches are filled. */
function candidateOf(
  { config, log }: OperatorProps,
  { leaseClient, metrics, manager, leadership }: Running,
  onLost: () => void,
): { start: () => void; resign: () => Promise<void> } {
  const resign = new AbortController();
  let election = Promise.resolve();
  return {
    start: () => {
      election = runLeaderElection({
        client: leaseClient,
        namespace: config.leaderElectionNamespace,
        identity: leaderIdentity(),
        signal: resign.signal,
        timing: timingFor(config.leaderElectLeaseMs),
        log: log.child({ logger: 'leader' }),
        onElected: (term) => {
          leadership.term = term;
          metrics.leader(true);
          manager.start();
        },
        onLost,
      }).catch((error: unknown) => {
        log.error('leader election failed', { error });
        onLost();
      });
    },
    resign: async () => {
      resign.abort();
      await within(5_000, election);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Waits for some work, at most this long. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
