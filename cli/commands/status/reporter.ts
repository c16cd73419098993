import type { AnyKind } from '../../../constructs/registry.js';
import type { Client } from '../../../runner/api/client.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import { CliError } from '../../arguments/errors.js';
import type { Selection } from '../../kube/kind-names.js';
import { listings, POD, resourceKinds } from '../../kube/kinds.js';
import {
  FORBIDDEN_LIST,
  resourceNameOf,
  takeSnapshot,
  type ClusterSnapshot,
  type Omission,
} from '../../kube/snapshot.js';
import type { Node } from './tree-node.js';
import { lastLogs } from './pod-logs.js';
import { exportersIn, scrapeQueues } from './queue-lengths.js';
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

export interface StatusProps {
  readonly client: Pick<Client, 'request'>;
  readonly apiGroup: string;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly selection: Selection;
  /** @default KINDS */
  readonly kinds?: readonly AnyKind[];
}

/** The report of a cluster. @throws CliError where the selected resource is not in it */
export async function statusNow(props: StatusProps): Promise<StatusReport> {
  const { client, apiGroup, namespace, kinds } = props;
  const snapshot = await takeSnapshot(client, listings(apiGroup, kinds), namespace);
  const report = await statusOf(snapshot, props);
  requireSelected(report, props);
  return report;
}

/** The report of a snapshot. It requests logs and queue lengths too. */
export async function statusOf(
  snapshot: ClusterSnapshot,
  { client, apiGroup, namespace, selection, kinds }: StatusProps,
): Promise<StatusReport> {
  const [{ logs, omitted: omittedLogs }, queues] = await Promise.all([
    lastLogs(client, snapshot.of(POD) as readonly PodObject[]),
    scrapeQueues(client, exportersIn(snapshot, apiGroup, kinds)),
  ]);
  const props = { apiGroup, logs, queues: queues.lengths, ...(kinds ? { kinds } : {}) };
  const resources = treesOf(snapshot, props, selection);
  const omittedQueues = resources.length > 0 ? queues.omitted : [];
  return {
    version: 1,
    namespace: namespace ?? null,
    resources,
    omitted: [...snapshot.omitted, ...omittedLogs, ...omittedQueues],
  };
}

/** @throws CliError where the selected resource is not in the report */
function requireSelected(
  { resources, omitted }: StatusReport,
  { apiGroup, namespace, selection: { kind, name }, kinds }: StatusProps,
): void {
  const objectKind = resourceKinds(apiGroup, kinds).find((one) => one.kind === kind);
  if (resources.length > 0 || !objectKind) return;
  const place = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const resourceName = resourceNameOf(objectKind);
  if (omitted.some(({ what, why }) => what === resourceName && why === FORBIDDEN_LIST))
    throw new CliError(`forbidden: cannot list ${resourceName}${place}`);
  if (name !== undefined) throw new CliError(`${objectKind.kind} "${name}" not found${place}`);
}
