import type { Client } from '../../../runner/api/client.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import { CliError } from '../../arguments/command.js';
import { POD, resourceKinds } from '../../kube/kinds.js';
import type { ClusterSnapshot, Omission } from '../../kube/snapshot.js';
import { LastLogs } from './pod-logs.js';
import type { Node } from './node.js';
import { queuesOf, type Queues } from './queue-lengths.js';
import type { Ours } from './resource-status.js';
import { treesOf, type Wanted } from './tree.js';

export type Form = 'tree' | 'json' | 'yaml';

/** What `status -o json` prints. Fields are added only. */
export interface StatusReport {
  /** Of this shape. */
  readonly version: 1;
  /** Null for all. */
  readonly namespace: string | null;
  readonly resources: readonly Node[];
  /** What was asked for and not shown. */
  readonly omitted: readonly Omission[];
}

/** How long the lengths of queues are good for while somebody watches. */
const QUEUES_FRESH_MS = 5_000;

export interface StatusProps {
  readonly client: Pick<Client, 'request'>;
  readonly apiGroup: string;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly wanted: Wanted;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** Makes reports of what is seen; what it asks for besides, logs and queues, it keeps for a while. */
export class StatusReporter {
  readonly #logs: LastLogs;
  #queues: { readonly at: number; readonly queues: Queues } | undefined;

  constructor(private readonly props: StatusProps) {
    this.#logs = new LastLogs(props.client, props.now);
  }

  async report(snapshot: ClusterSnapshot): Promise<StatusReport> {
    const { apiGroup, namespace, wanted } = this.props;
    const [{ logs, omitted: noLogs }, queues] = await Promise.all([
      this.#logs.of(snapshot.of(POD) as readonly PodObject[]),
      this.#queuesOf(snapshot),
    ]);
    const resources = treesOf(snapshot, { apiGroup, logs, queues: queues.lengths }, wanted);
    return {
      version: 1,
      namespace: namespace ?? null,
      resources,
      omitted: [...snapshot.omitted, ...noLogs, ...(resources.length > 0 ? queues.omitted : [])],
    };
  }

  /** @throws CliError where what was named is not there */
  require({ resources, omitted }: StatusReport): void {
    const { kind, name } = this.props.wanted;
    if (resources.length > 0 || kind === undefined) return;
    const place = this.props.namespace === undefined ? '' : ` in namespace ${this.props.namespace}`;
    const plural = resourceKinds(this.props.apiGroup).find((one) => one.kind === kind)?.plural;
    const hidden = omitted.find(({ what }) => what.startsWith(`${plural ?? ''}.`));
    if (hidden) throw new CliError(`you may not list ${hidden.what}${place}`);
    if (name !== undefined) throw new CliError(`there is no ${kind} ${name}${place}`);
  }

  /** Who watches does not wait for an exporter: what it said last is shown until it answers again. */
  async #queuesOf(snapshot: ClusterSnapshot): Promise<Queues> {
    const { client, apiGroup, now } = this.props;
    if (this.#queues && now() - this.#queues.at < QUEUES_FRESH_MS) return this.#queues.queues;
    const benches = resourceKinds(apiGroup)
      .filter(({ kind }) => kind === 'AppBench')
      .flatMap((kind) => snapshot.of(kind) as readonly Ours[]);
    const before = this.#queues?.queues;
    const asked = queuesOf(client, benches).then((queues) => {
      this.#queues = { at: now(), queues };
      return queues;
    });
    if (!before) return asked;
    this.#queues = { at: now(), queues: before };
    return before;
  }
}
