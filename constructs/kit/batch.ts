import type { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { Index, ClusterReader } from './kind.js';
import type { KubeObject, Resource } from './object.js';
import type { ObjectKind } from './object-kind.js';

/**
 * Work that many resources request from one owner, such as the documents of a site. One Job after the
 * other does it. As a kind it is a value: the runner creates the Job, reads its termination message
 * and publishes the results as objects in memory.
 */
export interface Batch<
  R extends Resource = Resource,
  Q extends KubeObject = KubeObject,
  F = unknown,
> {
  /** The name of the controller, and the value of the label `batch` of its objects. */
  readonly name: string;
  /** The kind of ours that owns the Jobs. */
  readonly owner: string;
  readonly owns: readonly ObjectKind[];
  /** The requests, by the owner's `<namespace>/<name>`. The name of a request derives from its content. */
  readonly requests: Index<Q>;
  /** The kind of the progress objects, which are named as their owner: see `BatchProgress`. */
  readonly progress: string;
  /** How many requests one Job takes at most. */
  readonly size: number;
  /** The first of some requests that fit into one Job by their size: at least one. */
  take(requests: readonly Q[]): readonly Q[];
  /** What a request is about: the same for a repeated request. */
  subject(request: Q): string;
  /**
   * The result of a request that is too large for any Job; undefined if it fits.
   * @param time now, RFC 3339
   */
  unfit(request: Q, time: string): KubeObject | undefined;
  /**
   * The result of a request whose Jobs fail alone, while those of other requests succeed.
   * @param why the termination message of the Job, or why it has none
   * @param time when it ended, RFC 3339
   * @returns undefined if the message is about the owner: the request is retried
   */
  failed(request: Q, why: string, time: string): KubeObject | undefined;
  /** Whether a termination message says that the owner was closed and no request was started. */
  closed(why: string): boolean;
  /**
   * Reads what the Job depends on.
   * @throws Waiting if no Job can run now, such as when the owner is paused
   */
  resolve(owner: R, reader: ClusterReader): F;
  /** The Job, named `<owner>-<name>`, and what it needs. */
  chart(scope: Construct, id: string, props: BatchProps<R, Q, F>): Chart;
  /**
   * The results of the requests, as objects of the same names.
   * @param message the termination message of the Job
   * @param time when it ended, RFC 3339
   * @throws if the message cannot be read
   */
  results(message: string, time: string, namespace: string): readonly KubeObject[];
}

export interface BatchProps<R extends Resource, Q extends KubeObject, F> {
  readonly resource: R;
  readonly inputs: F;
  readonly requests: readonly Q[];
}

/** Why the work on an owner makes no progress. It exists only while that is so. */
export interface BatchProgress extends KubeObject {
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
}
