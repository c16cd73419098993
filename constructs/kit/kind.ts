import type { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ConditionResult } from './condition.js';
import type { KindDefinition } from './definition.js';
import type { Problem } from './errors.js';
import type { Health } from './health.js';
import type { NormalField } from './normal-form.js';
import type { KubeObject, Resource } from './object.js';
import type { ObjectKind } from './object-kind.js';
import type { PodFields } from './pod-fields.js';
import type { Reasons } from './reasons.js';
import type { Reference } from './reference.js';
import type { Settings } from './operator-settings.js';
import type { StatusView } from './status-view.js';

/**
 * One custom resource kind, as a value. It declares all that the generic runner needs to know of the
 * kind, and none of it does I/O: inputs are read from a `ClusterReader`, decisions are returned as
 * data.
 *
 * A reconcile of one resource: `resolve` its inputs → `chart` the complete tree of children → (the
 * runner synthesizes, applies and prunes) → `evaluate` the resulting status.
 */
export interface Kind<R extends Resource = Resource, F = unknown> {
  readonly definition: KindDefinition;
  /** The kinds of children. Watches, RBAC and pruning are derived from it. */
  readonly owns: readonly ObjectKind[];
  /** The kinds that `resolve` reads, besides ours. */
  readonly reads: readonly ObjectKind[];
  /**
   * Optional APIs of which `resolve` only reads whether the cluster serves them. Nothing of them is
   * watched or granted.
   * @default none
   */
  readonly detects?: readonly ObjectKind[];
  /** The fields of the spec that name resources of our kinds. The first names the parent. */
  readonly references: readonly Reference[];
  /** The reasons of the kind's conditions, besides `COMMON_REASONS`, each with its class. */
  readonly reasons: Reasons;
  /**
   * Status fields that record work that was done once. A change of one of them is written at once:
   * if the record were lost, the work would be done again.
   */
  readonly durableStatus: readonly string[];
  /** As `durableStatus`, but not when the field is set for the first time. @default none */
  readonly durableOnChange?: readonly string[];
  /**
   * Status fields that an annotation of the resource repeats: they say that work with effects was
   * done, and a restore by a backup tool loses the status. A resource without them gets them back, if
   * the annotation names the resource and the names in its `references`.
   * @default none
   */
  readonly recordedStatus?: readonly string[];
  /**
   * The child with the data that the resource's Jobs prepare. The Jobs that succeeded are recorded
   * in an annotation of it, so that they do not run again when they are deleted. The record is
   * deleted together with the data.
   * @default nothing is recorded: a deleted Job is created again
   */
  recordedIn?(resource: R): { readonly kind: ObjectKind; readonly name: string } | undefined;
  /**
   * The field of the spec that names a user's object in place of a child, by the child's kind and name.
   * @default none: only another name helps
   */
  fieldOf?(
    resource: R,
    child: { readonly kind: string; readonly name: string },
  ): string | undefined;
  /**
   * The status field with the time of the last success, RFC 3339. The metric
   * `<kind>_last_success_timestamp_seconds` shows it.
   * @default the kind has no such metric
   */
  readonly lastSuccess?: string;
  /** The groups by which resources of this kind are looked up. */
  readonly indexes: readonly Index[];
  /**
   * Reads what the tree depends on. A change of what it reads enqueues the resource again.
   * @throws Stalled if the spec cannot be carried out; Waiting if something is missing.
   */
  resolve(resource: R, reader: ClusterReader): F;
  /** The tree of the complete graph of children. Pure: the same input gives the same objects. */
  chart(scope: Construct, id: string, props: ChartProps<R, F>): Chart;
  /** Whether `evaluate` needs `Observation.runs`, the results of a resource's Jobs. @default no */
  readsRuns?(props: ChartProps<R, F>): boolean;
  /** The HTTP checks that decide about readiness, once every child is ready. */
  probes(props: ChartProps<R, F>): readonly Probe[];
  /** Values of the spec that are legal but seldom intended: warnings at admission. @default none */
  admissionWarnings?(resource: R, reader: ClusterReader): readonly Problem[];
  /**
   * The fields by which an author decides about pods. Without an edit elsewhere, the API server checks who may
   * set them. @default none
   */
  readonly podFields?: PodFields;
  /** Fields that admission brings to a normal form. @default none */
  readonly normal?: readonly NormalField[];
  /**
   * Kinds whose children stay although the tree has them no more: what takes their place does not work
   * yet. @default none
   */
  kept?(
    observation: Pick<Observation<R, F>, 'resource' | 'inputs' | 'child'>,
  ): readonly ObjectKind[];
  /** The status of the resource, from what was observed. */
  evaluate(observation: Observation<R, F>): StatusResult;
  /** What must happen before the finalizer of a deleted resource is removed. */
  readonly cleanup: Cleanup<R>;
  /**
   * The status that a preview shows to other resources: that of a reconciled one.
   * @default the status that it has
   */
  previewStatus?(resource: R): Readonly<Record<string, unknown>>;
  /** What `app-operator status` shows of a resource. @default its state and phase only */
  readonly statusView?: StatusView<R>;
}

export interface ChartProps<R extends Resource, F> {
  readonly resource: R;
  readonly inputs: F;
}

/**
 * What a kind may read. The tracker records each read as a dependency: the resource is enqueued
 * again when the picked value changes, and only then.
 */
export interface ClusterReader {
  readonly settings: Settings;
  /** Whether the cluster serves an optional API. */
  serves(kind: ObjectKind): boolean;
  /**
   * Whether `afterMs` milliseconds have passed since a point in time, in RFC 3339. The resource is
   * enqueued when they have. Resources with the same `alignedBy` and the same delay become due at the
   * same moments, up to half of the delay sooner or later, so that one Job can serve all of them.
   */
  isDue(since: string, afterMs?: number, options?: { readonly alignedBy?: string }): boolean;
  /**
   * What `pick` returns for one object; undefined if the object does not exist. `kind` names a watched
   * kind: one of ours, or one in `reads`. The namespace of a cluster-scoped object is ''. `pick` must be a constant function.
   */
  get<O extends KubeObject, T>(
    kind: string,
    namespace: string,
    name: string,
    pick: (object: O) => T,
  ): T | undefined;
  /**
   * The same for a Secret whose values the operator generates. One that does not exist is read as the one
   * that it will generate; a preview generates none.
   */
  generated<T>(namespace: string, name: string, pick: (secret: KubeObject) => T): T | undefined;
  /** What `pick` returns for each resource under an index value, sorted by key; invalid ones are left out. */
  list<O extends KubeObject, T>(
    index: Index<O>,
    value: string,
    pick: (object: O) => T,
  ): readonly T[];
  /** The names of all resources under an index value, also of invalid ones, sorted by key. */
  names<O extends KubeObject>(index: Index<O>, value: string): readonly string[];
}

/** A group of resources that is looked up by a value, such as the sites of a bench. */
export interface Index<O extends KubeObject = KubeObject> {
  readonly name: string;
  readonly kind: string;
  /** The values under which an object is found. */
  values(object: O): readonly string[];
}

/** One HTTP GET from the runner. It passes if status and body are as expected. */
export interface HttpProbe {
  readonly url: string;
  /** Host header of the request. */
  readonly host: string;
  readonly expectStatus: number;
  /** The JSON that the body must be. */
  readonly expectBody: unknown;
}

/** One websocket from the runner, as Guest. It passes if the namespace is joined and sends an event. */
export interface RealtimeProbe {
  readonly url: string;
  /** Host header of the request. */
  readonly host: string;
  /** Of Socket.IO, without its slash. */
  readonly namespace: string;
}

export type Probe = HttpProbe | RealtimeProbe;

export interface ProbeResult {
  readonly ok: boolean;
  /** Whether the resource is ready also if it failed: the kind reports it in another condition. */
  readonly advisory?: true;
  /** Why it failed, in stable words. */
  readonly message: string;
}

/** A child as the runner last saw it. */
export interface ChildView {
  readonly health: Health;
  /** Replicas of a workload. */
  readonly replicas?: { readonly desired: number; readonly current: number };
}

/** One run of a Job of a resource, or of a CronJob of it. */
export interface JobRun {
  /** Name of the Job. */
  readonly name: string;
  readonly uid: string;
  readonly state: 'Running' | 'Succeeded' | 'Failed';
  /** What the Job was created to do: the annotation `run`. */
  readonly taskHash: string | undefined;
  /** RFC 3339. */
  readonly startTime: string | undefined;
  /** When it succeeded or failed, RFC 3339. */
  readonly completionTime: string | undefined;
  /** Of the last pod, for the two newest Jobs that ended; undefined if the pod was deleted. */
  readonly exitCode: number | undefined;
  /** The termination message of that pod, at most 4096 bytes; undefined if the pod was deleted. */
  readonly message: string | undefined;
  /** `imageID` of that pod's container: what ran, as the container runtime names it. */
  readonly imageId?: string;
}

export interface Observation<R extends Resource, F> extends ChartProps<R, F> {
  /** A child of the tree by its kind and name; undefined if it does not exist. */
  readonly child: (kind: string, name: string) => ChildView | undefined;
  /** The children that are not ready, in the order of the tree, including those not applied yet. */
  readonly pending: readonly {
    readonly kind: string;
    readonly name: string;
    readonly health: Health;
  }[];
  /** The children of advisory stages that are not ready, and what their pods say. @default none */
  readonly advisory?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly health: Health;
    readonly why?: string;
  }[];
  /** The Jobs of the resource and of its CronJobs, newest first; empty unless the kind `readsRuns`. */
  readonly runs: readonly JobRun[];
  /** Results of the kind's probes; empty if the children are not ready or the check is off. */
  readonly probes: readonly ProbeResult[];
  /** Whether the whole tree is applied: no stage waits for an earlier one. */
  readonly complete: boolean;
  /** Whether every child exists and is ready and every probe passed that is not advisory. */
  readonly ready: boolean;
}

/** The status that a kind decides for a resource. The runner adds times and generations. */
export interface StatusResult {
  readonly phase: string;
  readonly ready: ConditionResult;
  /** Further conditions of the kind. */
  readonly conditions?: readonly ConditionResult[];
  /** Further status fields. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Whether the user must act. */
  readonly stalled?: boolean;
  /** Whether `fields` change the tree: the resource is reconciled again at once. */
  readonly reconcileAgain?: boolean;
  /**
   * Requests to a batch, in the operator's memory: objects of a kind that no API serves. Other
   * resources read them as any object. They exist until the resource is deleted or replaces them.
   */
  readonly batchObjects?: readonly KubeObject[];
}

/** What the deletion of a resource needs. */
export interface Cleanup<R extends Resource> {
  /** Whether the deletion needs work: such a resource gets a finalizer. */
  needed(resource: R): boolean;
  /**
   * The data outside of the namespace that the cleanup was to delete, in words. It stays where the
   * namespace is deleted: nothing can run there any more. @default none
   */
  leftOutside?(resource: R): readonly string[];
  /** Whether the children that hold data outlive the resource. @default no child holds data */
  retainsData?(resource: R): boolean;
  /**
   * What the deletion waits for. It is read before anything is deleted.
   * @throws Waiting, naming what blocks the deletion; it also does so for an invalid resource with
   * `listsLive`, of which it reads the metadata only
   */
  blockers(resource: R, reader: ClusterReader): void;
  /**
   * What `blockers` lists, and must not miss: before anything is deleted, it is read once more from
   * the API server, without the label selector of the operator.
   * @default the caches decide
   */
  readonly listsLive?: readonly Index[];
  /** Whether other resources need the children until then: they are applied while blocked. @default no */
  readonly keepsChildren?: true;
  /**
   * The tree that replaces the resource's tree while it is deleted, such as a drop Job and the Secrets
   * that it needs; undefined if nothing must run. The runner first deletes all other children, then
   * applies this tree, then waits until all of it is ready.
   */
  chart(scope: Construct, id: string, resource: R, reader: ClusterReader): Chart | undefined;
}
