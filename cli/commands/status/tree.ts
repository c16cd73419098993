import type { Health } from '../../../constructs/kit/health.js';
import { metadataKeysFor } from '../../../constructs/kit/metadata-keys.js';
import { groupOf, keyOf, keyOfObject, type KubeObject } from '../../../constructs/kit/object.js';
import { referenceName } from '../../../constructs/kit/reference.js';
import { BATCHES, KINDS, type AnyKind } from '../../../constructs/registry.js';
import { childOf, type Child } from '../../../runner/cache/child.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import type { Selection } from '../../kube/kind-names.js';
import { childKinds, kindNamed, POD, resourceKinds } from '../../kube/kinds.js';
import type { ClusterSnapshot } from '../../kube/snapshot.js';
import type { Details, LastLog, Node } from './tree-node.js';
import { podHealth, restartsOf, wantedLog } from './pod-status.js';
import {
  resourceDetails,
  resourceHealth,
  resourceSince,
  type CustomResource,
} from './resource-status.js';

/** What a tree shows besides the snapshot. */
export interface TreeProps {
  readonly apiGroup: string;
  /** By `WantedLog.key`. */
  readonly logs?: ReadonlyMap<string, LastLog>;
  /** Waiting jobs, by `<namespace>/<name of the worker's Deployment>`. */
  readonly queues?: ReadonlyMap<string, number>;
  /** @default KINDS */
  readonly kinds?: readonly AnyKind[];
}

const JOB = 'Job';
const WORKLOADS = new Set(['Deployment', 'StatefulSet', JOB]);
const WORKER = 'Deployment';

/** The trees of the selected resources: each resource is below its parent. Without a kind: those without a parent. */
export function treesOf(
  snapshot: ClusterSnapshot,
  props: TreeProps,
  { kind, name }: Selection,
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
  readonly resources: readonly CustomResource[];
  readonly #ids: ReadonlySet<string>;
  readonly #children: ReadonlyMap<string, readonly { child: Child; object: KubeObject }[]>;
  readonly #pods: ReadonlyMap<string, readonly PodObject[]>;
  readonly #below: ReadonlyMap<string, readonly CustomResource[]>;
  readonly #kinds: readonly AnyKind[];

  constructor(
    snapshot: ClusterSnapshot,
    private readonly props: TreeProps,
  ) {
    const { apiGroup, kinds = KINDS } = props;
    const metadataKeys = metadataKeysFor(apiGroup);
    this.#kinds = kinds;
    this.resources = resourceKinds(apiGroup, kinds).flatMap(
      (kind) => snapshot.of(kind) as readonly CustomResource[],
    );
    this.#ids = new Set(this.resources.map(idOf));
    this.#below = Map.groupBy(this.resources, (resource) => this.#parentOf(resource) ?? '');
    const children = childKinds(kinds).flatMap((kind) =>
      snapshot.of(kind).map((object) => ({ child: childOf(kind, object, metadataKeys), object })),
    );
    this.#children = Map.groupBy(children, ({ child }) => ownerOf(child));
    this.#pods = Map.groupBy(snapshot.of(POD) as readonly PodObject[], workloadOf);
  }

  hasParent(resource: CustomResource): boolean {
    const parent = this.#parentOf(resource);
    return parent !== undefined && this.#ids.has(parent);
  }

  resourceNode(resource: CustomResource): Node {
    const { kind, metadata } = resource;
    const { namespace = '', name } = metadata;
    const view = kindNamed(kind, this.#kinds)?.statusView;
    const below = (this.#below.get(idOf(resource)) ?? []).map((one) => this.resourceNode(one));
    const own = (this.#children.get(idOf(resource)) ?? []).map(({ child, object }) =>
      this.#childNode(child, object),
    );
    return {
      kind,
      namespace,
      name,
      ...stateOf(resourceHealth(resource, view)),
      ...sinceOf(resourceSince(resource)),
      details: resourceDetails(resource, below, view),
      children: [...own, ...below],
    };
  }

  /** The resource of the first reference of the kind. */
  #parentOf(resource: CustomResource): string | undefined {
    const [reference] = kindNamed(resource.kind, this.#kinds)?.references ?? [];
    const name = reference && referenceName(resource, reference);
    return name && `${reference.kind}/${keyOf(resource.metadata.namespace, name)}`;
  }

  #childNode(child: Child, object: KubeObject): Node {
    const { namespace, name, health } = child;
    const { kind } = child.kind;
    const pods = this.#podsOf(child).map((pod) => this.#podNode(pod));
    return {
      kind,
      namespace,
      name,
      ...stateOf(health),
      ...sinceOf(childSince(child, object)),
      details: this.#childDetails(child, pods),
      // Leftovers of a healthy workload, such as an evicted pod, are not relevant.
      children: health.state === 'Ready' ? pods.filter(({ state }) => state === 'Ready') : pods,
    };
  }

  #podsOf({ kind: { kind }, namespace, name }: Child): readonly PodObject[] {
    if (!WORKLOADS.has(kind)) return [];
    return this.#pods.get(`${kind === JOB ? JOB : 'Workload'}/${namespace}/${name}`) ?? [];
  }

  #childDetails(
    { kind, namespace, name, replicas, retained }: Child,
    pods: readonly Node[],
  ): Details {
    const restarts = pods.reduce((sum, { details }) => sum + (details.restarts ?? 0), 0);
    const queueLength = this.props.queues?.get(keyOf(namespace, name));
    return {
      ...(replicas ? { replicas: { ready: replicas.current, desired: replicas.desired } } : {}),
      ...(restarts > 0 ? { restarts } : {}),
      ...(kind.kind === WORKER && queueLength !== undefined ? { queueLength } : {}),
      ...(retained ? { retained } : {}),
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
      ...stateOf(podHealth(pod)),
      ...sinceOf(ready?.lastTransitionTime ?? pod.metadata.creationTimestamp),
      details: restarts > 0 ? { restarts } : {},
      ...(log ? { log } : {}),
      children: [],
    };
  }
}

function stateOf({ state, message }: Health): Pick<Node, 'state' | 'message'> {
  return { state, message };
}

function sinceOf(time: string | undefined): Pick<Node, 'since'> {
  return time === undefined ? {} : { since: time };
}

interface Conditioned extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

function childSince({ job }: Child, { metadata, status }: Conditioned): string | undefined {
  const condition = status?.conditions?.find(
    ({ type }) => type === 'Available' || type === 'Ready',
  );
  return (
    metadata.deletionTimestamp ??
    job?.completionTime ??
    job?.startTime ??
    condition?.lastTransitionTime ??
    metadata.creationTimestamp
  );
}

function idOf(object: KubeObject): string {
  return `${object.kind}/${keyOfObject(object)}`;
}

/** The resource that owns a child. The owner of a batch owns the children of the batch. */
function ownerOf({ owner = '' }: Child): string {
  const [first = '', ...key] = owner.split('/');
  const batch = BATCHES.find(({ name }) => name === first);
  return batch ? [batch.owner, ...key].join('/') : owner;
}

/** The workload or Job of a pod, by the labels that select the pod. */
function workloadOf({ metadata }: PodObject): string {
  const { namespace = '', labels = {}, ownerReferences = [] } = metadata;
  const job = ownerReferences.find(({ kind, apiVersion }) => kind === JOB && groupOf(apiVersion));
  return job ? `${JOB}/${namespace}/${job.name}` : `Workload/${namespace}/${labels['app'] ?? ''}`;
}
