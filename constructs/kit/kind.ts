import type { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ConditionResult } from './condition.js';
import type { KindDefinition } from './definition.js';
import type { Problem } from './errors.js';
import type { Health } from './health.js';
import type { NormalField } from './normal.js';
import type { KubeObject, Resource } from './object.js';
import type { ObjectKind } from './object-kind.js';
import type { Settings } from './settings.js';
import type { StatusView } from './status-view.js';

/**
 * One custom resource kind, as a value. It holds all that the generic runner needs to know, and none
 * of it does I/O: facts are read from a `ClusterReader`, decisions are returned as data.
 *
 * A pass over one resource: `resolve` the facts → `chart` the complete tree of children → (the runner
 * synthesizes, applies, prunes) → `evaluate` what has become of them.
 */
export interface Kind<R extends Resource = Resource, F = unknown> {
  readonly definition: KindDefinition;
  /** The kinds of children. Watches, RBAC and prune are derived from it. */
  readonly owns: readonly ObjectKind[];
  /** The kinds that `resolve` reads, besides ours. */
  readonly reads: readonly ObjectKind[];
  /** The kinds that are children, and of which the trees read those of other resources: that they are there, and whether they are going. */
  readonly readsChildren?: readonly ObjectKind[];
  /** Optional APIs that `resolve` only asks the presence of: nothing of them is watched or granted. @default none */
  readonly detects?: readonly ObjectKind[];
  /** The groups by which resources of this kind are looked up. */
  readonly indexes: readonly Index[];
  /**
   * Reads what the tree depends on. What it reads is what wakes the resource again.
   * @throws Stalled where the spec cannot be carried out; Waiting where something is missing.
   */
  resolve(resource: R, reader: ClusterReader): F;
  /** The tree of the complete graph of children. Pure: the same input gives the same objects. */
  chart(scope: Construct, id: string, props: ChartProps<R, F>): Chart;
  /** Whether `evaluate` is shown what the Jobs of a resource have left, `Observation.runs`. @default not */
  readsRuns?(resource: R): boolean;
  /** The HTTP checks that decide about readiness, once every child is ready. */
  probes(props: ChartProps<R, F>): readonly HttpProbe[];
  /** What is legal in a spec, but seldom meant: told at admission, once. @default nothing */
  admissionWarnings?(resource: R, reader: ClusterReader): readonly Problem[];
  /** Fields that are stored in their one normal form, where they are given in another one. @default none */
  readonly normal?: readonly NormalField[];
  /** Judges the resource by what was seen. */
  evaluate(observation: Observation<R, F>): StatusResult;
  /** What must happen before a deleted resource may go. */
  readonly cleanup: Cleanup<R>;
  /** What `app-operator status` shows of a resource. @default its state and phase only */
  readonly statusView?: StatusView<R>;
}

export interface ChartProps<R extends Resource, F> {
  readonly resource: R;
  readonly inputs: F;
}

/**
 * What a kind may read. Each read is a subscription: the resource is visited again when what was
 * picked changes, and only then.
 */
export interface ClusterReader {
  readonly settings: Settings;
  /** Whether an optional API is served by the cluster. */
  serves(kind: ObjectKind): boolean;
  /**
   * Whether so many milliseconds have passed since a point in time, in RFC 3339. The resource is visited
   * again when they have. Those who ask with the same text in `together` and the same time in between are
   * told at the same moments, sooner or later by half of that time at most: their work can be done at once.
   */
  passed(since: string, delayMs?: number, together?: string): boolean;
  /**
   * What `pick` takes of one object, or undefined where there is none. `kind` is the name of a kind that
   * is watched: one of ours, or one in `reads` or `readsChildren`. The namespace of an object that is in none is ''. `pick`
   * must be a constant function.
   */
  get<O extends KubeObject, T>(
    kind: string,
    namespace: string,
    name: string,
    pick: (object: O) => T,
  ): T | undefined;
  /** What `pick` takes of each resource under an index value, sorted by key. */
  list<O extends KubeObject, T>(
    index: Index<O>,
    value: string,
    pick: (object: O) => T,
  ): readonly T[];
}

/** A group of resources that is looked up by a value, such as the sites of a bench. */
export interface Index<O extends KubeObject = KubeObject> {
  readonly name: string;
  readonly kind: string;
  /** The values under which an object is found. */
  values(object: O): readonly string[];
}

/** One HTTP GET from the runner. It passes when status and body are as expected. */
export interface HttpProbe {
  readonly url: string;
  /** Host header of the request. */
  readonly host: string;
  readonly expectStatus: number;
  /** The JSON that the body must be. */
  readonly expectBody: unknown;
}

export interface ProbeResult {
  readonly ok: boolean;
  /** Why not, in stable words. */
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
  /** What the Job was made to do: the annotation `run`. */
  readonly run: string | undefined;
  /** RFC 3339. */
  readonly startTime: string | undefined;
  /** When it succeeded or failed, RFC 3339. */
  readonly completionTime: string | undefined;
  /** Of the last pod of a Job that has ended, for the two newest; undefined where the pod is gone. */
  readonly exitCode: number | undefined;
  /** The last words of that pod, at most 4096 bytes; undefined where the pod is gone. */
  readonly message: string | undefined;
}

export interface Observation<R extends Resource, F> extends ChartProps<R, F> {
  /** A child of the tree by its kind and name; undefined where it is not there. */
  readonly child: (kind: string, name: string) => ChildView | undefined;
  /** The children that are not ready, in the order of the tree. Those not applied yet are among them. */
  readonly pending: readonly {
    readonly kind: string;
    readonly name: string;
    readonly health: Health;
  }[];
  /** The Jobs of the resource and of its CronJobs, newest first; empty unless the kind `readsRuns`. */
  readonly runs: readonly JobRun[];
  /** Results of the kind's probes; empty where the children are not ready or the check is off. */
  readonly probes: readonly ProbeResult[];
  /** Whether all of the tree is applied: none of it waits behind a gate. */
  readonly complete: boolean;
  /** Whether every child is there and ready and every probe passed. */
  readonly ready: boolean;
}

/** What a kind says of a resource. The runner adds times and generations, and writes it. */
export interface StatusResult {
  readonly phase: string;
  readonly ready: ConditionResult;
  /** Further conditions of the kind's own. */
  readonly conditions?: readonly ConditionResult[];
  /** Further status fields. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Whether the user must act. */
  readonly stalled?: boolean;
  /** Whether the tree is another one by what `fields` say: the resource is visited again at once. */
  readonly reconcileAgain?: boolean;
  /**
   * What other resources are told, in the operator's memory: objects of a kind that no API has. They can be
   * read as any other, and are there until the resource goes or says something else.
   */
  readonly batchObjects?: readonly KubeObject[];
}

/** How a deleted resource goes. */
export interface Cleanup<R extends Resource> {
  /** Whether the resource must not go by itself: such a one gets a finalizer. */
  needed(resource: R): boolean;
  /** Whether the children that hold data stay when the resource goes. @default no child holds data */
  retainsData?(resource: R): boolean;
  /**
   * What the deletion waits for, read before anything is removed.
   * @throws Waiting, naming what is in the way
   */
  blockers(resource: R, reader: ClusterReader): void;
  /** Whether others need its children until then: they are kept as they should be while it waits. @default not */
  readonly keepsChildren?: true;
  /**
   * The tree that replaces the resource's own while it is deleted, such as a drop Job and the
   * secrets that it needs; undefined where nothing is to be done. The runner first prunes all other
   * children, then applies it, then waits until all of it is ready.
   */
  chart(scope: Construct, id: string, resource: R, reader: ClusterReader): Chart | undefined;
}
