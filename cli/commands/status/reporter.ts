import type { AnyKind } from '../../../constructs/registry.js';
import { isUnauthorized } from '../../../runner/api/api-error.js';
import type { Client } from '../../../runner/api/client.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import { CliError } from '../../arguments/errors.js';
import type { Selection } from '../../kube/kind-names.js';
import { POD, resourceKinds } from '../../kube/kinds.js';
import {
  FORBIDDEN_LIST,
  resourceNameOf,
  type ClusterSnapshot,
  type Omission,
} from '../../kube/snapshot.js';
import type { Node } from './tree-node.js';
import { LastLogs } from './pod-logs.js';
import { exportersIn, scrapeQueues, type QueueLengths } from './queue-lengths.js';
import { shardHolders, type ShardHolders, withReplicas } from './shard-holders.js';
import { treesOf } from './tree.js';

export type Form = 'tree' | 'json' | 'yaml';

/** The output of `status -o json`. Fields may be added, never changed. */
export interface StatusReport {
  /** Of this structure. */
  readonly version: 1;
  /** Null for all. */
  readonly namespace: string | null;
  readonly resources: readonly Node[];
  /** What could not be read. */
  readonly omitted: readonly Omission[];
}

/** The time before `--watch` scrapes the exporters again. */
const SCRAPE_INTERVAL_MS = 5_000;

export interface StatusProps {
  readonly client: Pick<Client, 'request'>;
  readonly apiGroup: string;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly selection: Selection;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** @default KINDS */
  readonly kinds?: readonly AnyKind[];
}

/** Makes reports from snapshots. It requests logs and queue lengths too, and caches them. */
export class StatusReporter {
  readonly #logs: LastLogs;
  #scrape: { readonly at: number; readonly queues: QueueLengths } | undefined;

  #listed: { readonly at: number; readonly holders: ShardHolders } | undefined;

  constructor(private readonly props: StatusProps) {
    this.#logs = new LastLogs(props.client, props.now);
  }

  async report(snapshot: ClusterSnapshot): Promise<StatusReport> {
    const { apiGroup, namespace, selection, kinds } = this.props;
    const [{ logs, omitted: omittedLogs }, queues, holders] = await Promise.all([
      this.#logs.of(snapshot.of(POD) as readonly PodObject[]),
      this.#queuesOf(snapshot),
      this.#holders(),
    ]);
    const props = { apiGroup, logs, queues: queues.lengths, ...(kinds ? { kinds } : {}) };
    const resources = withReplicas(treesOf(snapshot, props, selection), holders, kinds);
    const omittedQueues = resources.length > 0 ? queues.omitted : [];
    return {
      version: 1,
      namespace: namespace ?? null,
      resources,
      omitted: [...snapshot.omitted, ...omittedLogs, ...omittedQueues],
    };
  }

  /** @throws CliError when the selected resource is not in the report */
  require({ resources, omitted }: StatusReport): void {
    const { apiGroup, namespace, selection, kinds } = this.props;
    const { kind, name } = selection;
    const objectKind = resourceKinds(apiGroup, kinds).find((one) => one.kind === kind);
    if (resources.length > 0 || !objectKind) return;
    const place = namespace === undefined ? '' : ` in namespace ${namespace}`;
    const resourceName = resourceNameOf(objectKind);
    if (omitted.some(({ what, why }) => what === resourceName && why === FORBIDDEN_LIST))
      throw new CliError(`forbidden: cannot list ${resourceName}${place}`);
    if (name !== undefined) throw new CliError(`${objectKind.kind} "${name}" not found${place}`);
  }

  /** Listed again after some time: shards change their holder seldom. */
  async #holders(): Promise<ShardHolders> {
    const { client, apiGroup, now } = this.props;
    if (!this.#listed || now() - this.#listed.at >= SCRAPE_INTERVAL_MS) {
      const last = this.#listed?.holders ?? [];
      const holders = await shardHolders(client, apiGroup).catch((error: unknown) => {
        if (isUnauthorized(error) || (error as Error).name === 'AbortError') throw error;
        // An outage of the API server is no reason to end --watch.
        return last;
      });
      this.#listed = { at: now(), holders };
    }
    return this.#listed.holders;
  }

  /** Only the first report waits for the scrape: later ones show the last result until the next. */
  async #queuesOf(snapshot: ClusterSnapshot): Promise<QueueLengths> {
    const { client, apiGroup, now, kinds } = this.props;
    if (this.#scrape && now() - this.#scrape.at < SCRAPE_INTERVAL_MS) return this.#scrape.queues;
    const before = this.#scrape?.queues;
    const scrape = scrapeQueues(client, exportersIn(snapshot, apiGroup, kinds)).then((queues) => {
      this.#scrape = { at: now(), queues };
      return queues;
    });
    if (!before) return scrape;
    this.#scrape = { at: now(), queues: before };
    return before;
  }
}
