import type { Health } from '../../../constructs/kit/health.js';
import { metadataKeysFor } from '../../../constructs/kit/labels.js';
import { groupOf, keyOf, type KubeObject } from '../../../constructs/kit/object.js';
import { BATCHES } from '../../../constructs/registry.js';
import { childOf, type Child } from '../../../runner/cache/child.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import { CHILD_KINDS, POD, resourceKinds } from '../../kube/kinds.js';
import type { ClusterSnapshot } from '../../kube/snapshot.js';
import type { Details, LastLog, Node } from './node.js';
import { podHealth, restartsOf, wantedLog } from './pod-status.js';
import { resourceDetails, resourceHealth, resourceSince, type Ours } from './resource-status.js';

/** What a tree is made from, besides what was seen. */
export interface TreeProps {
  readonly apiGroup: string;
  /** By `WantedLog.key`. */
  readonly logs?: ReadonlyMap<string, LastLog>;
  /** Jobs that wait, by `<namespace>/<name of the worker's Deployment>`. */
  readonly queues?: ReadonlyMap<string, number>;
}

/** Which resources are at the top: all benches, and what belongs to none, where nothing is said. */
export interface Wanted {
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
}

const WORKLOADS = new Set(['Deployment', 'StatefulSet']);

/** The trees of resources: what belongs to a bench is below it, what belongs to a site below that. */
export function treesOf(
  snapshot: ClusterSnapshot,
  props: TreeProps,
  { kind, name }: Wanted,
): readonly Node[] {
  const forest = new Forest(snapshot, props);
  const resources = forest.resources.filter((resource) =>
    kind === undefined ? !forest.hasParent(resource) : resource.kind === kind,
  );
  return resources
    .filter(({ metadata }) => name === undefined || metadata.name === name)
    .map((resource) => forest.resourceNode(resource));
}

class Forest {
  readonly resources: readonly Ours[];
  readonly #ids: ReadonlySet<string>;
  readonly #children: ReadonlyMap<string, readonly { child: Child; object: KubeObject }[]>;
  readonly #pods: ReadonlyMap<string, readonly PodObject[]>;
  readonly #below: ReadonlyMap<string, readonly Ours[]>;

  constructor(
    snapshot: ClusterSnapshot,
    private readonly props: TreeProps,
  ) {
    const marks = metadataKeysFor(props.apiGroup);
    this.resources = resourceKinds(props.apiGroup).flatMap((kind) => snapshot.of(kind) as Ours[]);
    this.#ids = new Set(this.resources.map(idOf));
    this.#below = Map.groupBy(this.resources, (resource) => parentOf(resource) ?? '');
    const children = CHILD_KINDS.flatMap((kind) =>
      snapshot.of(kind).map((object) => ({ child: childOf(kind, object, marks), object })),
    );
    this.#children = Map.groupBy(children, ({ child }) => ownerOf(child));
    this.#pods = Map.groupBy(snapshot.of(POD) as readonly PodObject[], workloadOf);
  }

  hasParent(resource: Ours): boolean {
    const parent = parentOf(resource);
    return parent !== undefined && this.#ids.has(parent);
  }

  resourceNode(resource: Ours): Node {
    const { kind, metadata } = resource;
    const below = (this.#below.get(idOf(resource)) ?? []).map((one) => this.resourceNode(one));
    const own = (this.#children.get(idOf(resource)) ?? []).map(({ child, object }) =>
      this.#childNode(child, object),
    );
    const { namespace = '', name } = metadata;
    return {
      kind,
      namespace,
      name,
      ...evaluated(resourceHealth(resource)),
      ...since(resourceSince(resource)),
      details: { ...resourceDetails(resource), ...backupsOf(kind, below) },
      children: [...own, ...below],
    };
  }

  #childNode(child: Child, object: KubeObject): Node {
    const { namespace, name, health, replicas, retained } = child;
    const { kind } = child.kind;
    const found = this.#pods.get(`${kind === 'Job' ? 'Job' : 'Workload'}/${namespace}/${name}`);
    const has = WORKLOADS.has(kind) || kind === 'Job';
    const pods = (has ? (found ?? []) : []).map((pod) => this.#podNode(pod));
    const restarts = pods.reduce((sum, { details }) => sum + (details.restarts ?? 0), 0);
    const queueLength = this.props.queues?.get(keyOf(namespace, name));
    const details: Details = {
      ...(replicas ? { replicas: { ready: replicas.current, desired: replicas.desired } } : {}),
      ...(restarts > 0 ? { restarts } : {}),
      ...(kind === 'Deployment' && queueLength !== undefined ? { queueLength } : {}),
      ...(retained ? { retained } : {}),
    };
    return {
      kind,
      namespace,
      name,
      ...evaluated(health),
      ...since(childSince(child, object)),
      details,
      // What a workload that is well has left behind, such as an evicted pod, is no news.
      children: health.state === 'Ready' ? pods.filter(({ state }) => state === 'Ready') : pods,
    };
  }

  #podNode(pod: PodObject): Node {
    const { namespace = '', name } = pod.metadata;
    const wanted = wantedLog(pod);
    const log = wanted && this.props.logs?.get(wanted.key);
    const restarts = restartsOf(pod);
    const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
    return {
      kind: POD.kind,
      namespace,
      name,
      ...evaluated(podHealth(pod)),
      ...since(ready?.lastTransitionTime ?? pod.metadata.creationTimestamp),
      details: restarts > 0 ? { restarts } : {},
      ...(log ? { log } : {}),
      children: [],
    };
  }
}

function evaluated({ state, message }: Health): Pick<Node, 'state' | 'message'> {
  return { state, message };
}

function since(time: string | undefined): Pick<Node, 'since'> {
  return time === undefined ? {} : { since: time };
}

interface Timed extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

function childSince({ job }: Child, { metadata, status }: Timed): string | undefined {
  const condition =
    status?.conditions?.find(({ type }) => type === 'Available' || type === 'Ready') ?? {};
  const { lastTransitionTime } = condition as { readonly lastTransitionTime?: string };
  return (
    metadata.deletionTimestamp ??
    job?.completionTime ??
    job?.startTime ??
    lastTransitionTime ??
    metadata.creationTimestamp
  );
}

/** When the last backup of a site was finished, by the SiteBackups below it. */
function backupsOf(kind: string, below: readonly Node[]): Details {
  const backups = below.filter((node) => node.kind === 'SiteBackup');
  if (kind !== 'AppSite' || backups.length === 0) return {};
  const times = backups.flatMap(({ details }) => details.lastBackup ?? []);
  return { lastBackup: times.toSorted().at(-1) ?? null };
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata.namespace, metadata.name)}`;
}

/** The resource that one of ours belongs to. */
function parentOf({ spec, metadata }: Ours): string | undefined {
  if (spec.siteRef) return `AppSite/${keyOf(metadata.namespace, spec.siteRef.name)}`;
  return spec.benchRef && `AppBench/${keyOf(metadata.namespace, spec.benchRef.name)}`;
}

/** The resource that a child belongs to; what a batch made belongs to the owner of the batch. */
function ownerOf({ owner = '' }: Child): string {
  const [first = '', ...key] = owner.split('/');
  const batch = BATCHES.find(({ name }) => name === first);
  return batch ? [batch.owner, ...key].join('/') : owner;
}

/** The workload or Job that a pod belongs to, by the labels by which they find it. */
function workloadOf({ metadata }: PodObject): string {
  const { namespace = '', labels = {}, ownerReferences = [] } = metadata;
  const job = ownerReferences.find(({ kind, apiVersion }) => kind === 'Job' && groupOf(apiVersion));
  return job ? `Job/${namespace}/${job.name}` : `Workload/${namespace}/${labels['app'] ?? ''}`;
}
