import type { KindVersion } from '../constructs/kit/conversion.js';
import { KINDS, type AnyKind } from '../constructs/registry.js';
import { REVIEW_CONNECTIONS } from './admission/author-access.js';
import { startWebhooks, type Webhooks } from './admission/webhooks.js';
import { aborted } from './kit/aborted.js';
import { createClient, type Client, type ClientOptions } from './api/client.js';
import { loadCredentials, podNamespace } from './api/credentials.js';
import { helpText, parseConfig, wantsHelp, type Config } from './config/config.js';
import { ConfigError } from './config/flag-parser.js';
import { LONGEST_TIMER_MS } from './queue/workqueue.js';
import { startEndpoints, type Endpoints } from './http/endpoints.js';
import { fenced } from './leader/fence.js';
import {
  leaderIdentity,
  runLeaderElection,
  type Term,
  timingFor,
} from './leader/leader-election.js';
import { Manager } from './manager.js';
import { ShardedManager } from './shards/sharded-manager.js';
import { createLogger, type Logger } from './telemetry/log.js';
import { OperatorMetrics } from './telemetry/metrics.js';
import { VERSION } from './kit/version.js';

/** The Service in front of the operator's endpoints. */
const METRICS_SERVICE = 'app-operator-controller-manager-metrics-service';

/** One for a renewal that hangs, and one for the next. With shards, one for each Lease and for their list. */
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

type State = Pick<Manager, 'stuck' | 'unready' | 'brokenWatches' | 'reader'>;

/** What reconciles: all resources under one Lease, or shards of them. */
interface Work extends State {
  /** Begins to reconcile as soon as a Lease is held. Resolves when the replica can stand by. */
  start(): Promise<void>;
  /** Finishes what runs. */
  stop(): Promise<void>;
  /** Gives the Leases to others. */
  resign(): Promise<void>;
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
  readonly reviewClient: Client;
  readonly work: Work;
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
  const { work, webhooks, endpoints, ...clients } = await startServers(props, onLost);
  try {
    await Promise.race([work.start(), aborted(stop.signal)]);
    if (!stop.signal.aborted) await aborted(stop.signal);
  } finally {
    await within(config.shutdownTimeoutMs, work.stop());
    await work.resign();
    await Promise.all([endpoints.close(), webhooks?.close()]);
    await within(2_000, Promise.all(Object.values(clients).map((client) => client.close())));
    log.info('stopped');
  }
  return exitCode;
}

/** Starts webhooks and endpoints; nothing is reconciled yet. */
async function startServers(props: OperatorProps, onLost: () => void): Promise<Running> {
  const { config, env, log, kinds, versions } = props;
  log.info('starting', { version: VERSION, node: process.version, apiGroup: config.apiGroup });
  const metrics = new OperatorMetrics(kinds.map(({ definition }) => definition.kind));
  const credentials = await loadCredentials(config.kubeconfig, env);
  const onCall: ClientOptions['onCall'] = (verb, code) => {
    metrics.apiCall(verb, code);
  };
  const client = createClient({ credentials, onCall });
  // Renewals of the lease must not wait for a connection behind other calls that hang.
  const { shards } = config;
  const connections = shards > 1 ? LEASE_CONNECTIONS + shards + 1 : LEASE_CONNECTIONS;
  const leaseClient = createClient({ credentials, onCall, connections });
  // Nor may an author, whose change passes unchecked or is refused without an answer.
  const reviewClient = createClient({ credentials, onCall, connections: REVIEW_CONNECTIONS });
  const parts = { client, leaseClient, metrics, onLost };
  const work = shards > 1 ? shardedWork(props, parts) : leaderWork(props, parts);
  const webhooks = await startWebhooks({
    ...{ config, client, reviewClient, metrics, log, kinds, versions },
    reader: () => work.reader(),
  });
  const endpoints = await startEndpoints({
    ...{ config, metrics, client, log },
    hosts: [`${METRICS_SERVICE}.${config.leaderElectionNamespace}.svc`],
    live: [{ name: 'watches', problems: () => work.stuck() }],
    ready: [
      { name: 'caches', problems: () => work.unready() },
      { name: 'watches', problems: () => work.brokenWatches() },
      { name: 'webhooks', problems: () => webhooks?.problems() ?? [] },
    ],
  });
  return { client, leaseClient, reviewClient, work, webhooks, endpoints };
}

interface WorkParts {
  readonly client: Client;
  readonly leaseClient: Client;
  readonly metrics: OperatorMetrics;
  /** Called when a Lease is lost. */
  readonly onLost: () => void;
}

function stateOf(manager: State): State {
  return {
    stuck: () => manager.stuck(),
    unready: () => manager.unready(),
    brokenWatches: () => manager.brokenWatches(),
    reader: () => manager.reader(),
  };
}

/** Reconciles a share of all benches: see `ShardedManager`. */
function shardedWork({ config, log, kinds }: OperatorProps, parts: WorkParts): Work {
  const manager = new ShardedManager({ config, log, kinds, ...parts });
  return {
    ...stateOf(manager),
    start: () => manager.start(),
    stop: () => manager.drain(),
    resign: () => within(5_000, manager.resign()),
  };
}

/** Reconciles all resources as the leader, or alone. */
function leaderWork(props: OperatorProps, parts: WorkParts): Work {
  const { config, log, kinds, stop } = props;
  const { client, metrics } = parts;
  const leadership: Leadership = { term: undefined };
  const mayWrite = (): boolean => !config.leaderElect || leadership.term?.isHeld() === true;
  const writer = fenced(client, { mayWrite, signal: () => leadership.term?.signal });
  const manager = new Manager({ config, client: writer, metrics, log, kinds });
  const candidate = config.leaderElect
    ? candidateOf(props, { ...parts, manager, leadership })
    : undefined;
  return {
    ...stateOf(manager),
    start: async () => {
      await manager.sync();
      if (stop.signal.aborted) return;
      log.info('caches are filled');
      if (candidate) candidate.start();
      else {
        metrics.leader(true);
        manager.start();
      }
    },
    stop: () => manager.stop(),
    resign: async () => candidate?.resign(),
  };
}

/** The present term as the leader. */
interface Leadership {
  term: Term | undefined;
}

interface CandidateParts extends WorkParts {
  readonly manager: Manager;
  readonly leadership: Leadership;
}

/** A candidate of the leader election. It starts once the caches are filled. */
function candidateOf(
  { config, log }: OperatorProps,
  { leaseClient, metrics, manager, leadership, onLost }: CandidateParts,
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

/** Waits for some work, at most this long. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
