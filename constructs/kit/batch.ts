import type { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { Index, ClusterReader } from './kind.js';
import type { KubeObject, Resource } from './object.js';
import type { ObjectKind } from './object-kind.js';

/**
 * Work that many resources ask for by notes, done by one Job after the other for each object that it is
 * done in, such as the documents of a site. As a kind it is a value: the runner makes the Job, reads its
 * last words, and spreads them as notes.
 */
export interface Batch<
  R extends Resource = Resource,
  Q extends KubeObject = KubeObject,
  F = unknown,
> {
  /** Names the controller, and is the value of the label `batch` of what it makes. */
  readonly name: string;
  /** The kind of ours that the work is done in: its objects own the Jobs. */
  readonly owner: string;
  readonly owns: readonly ObjectKind[];
  /** The notes that ask for work, by the owner's `<namespace>/<name>`. A request is named by its content. */
  readonly requests: Index<Q>;
  /** The kind of the notes that tell those who wait how the work goes, named as the owner: see `BatchProgress`. */
  readonly progress: string;
  /** How many requests one Job takes at most. */
  readonly size: number;
  /** The first of some requests, as many as one Job can take by what they weigh: one at the least. */
  take(requests: readonly Q[]): readonly Q[];
  /** What a request is about: the same when it is asked for again. */
  subject(request: Q): string;
  /**
   * What came of a request that no Job can take, not even alone; undefined where one can.
   * @param time now, RFC 3339
   */
  unfit(request: Q, time: string): KubeObject | undefined;
  /**
   * What came of a request whose Jobs fail when they have nothing else to do, while those of others do not.
   * @param why a Job's last words, or why it has none
   * @param time when it ended, RFC 3339
   * @returns undefined where that speaks of the owner all the same: it is tried again
   */
  failed(request: Q, why: string, time: string): KubeObject | undefined;
  /** Whether a Job says by its last words that it has begun nothing: its owner was closed, and no request broke it. */
  closed(why: string): boolean;
  /**
   * Reads what the Job depends on.
   * @throws Waiting where no Job can run now: also where the owner is paused
   */
  resolve(owner: R, reader: ClusterReader): F;
  /** The Job, named `<owner>-<name>`, and what it needs. */
  chart(scope: Construct, id: string, props: BatchProps<R, Q, F>): Chart;
  /**
   * What came of the requests, as notes of the same names.
   * @param message the Job's last words
   * @param time when it ended, RFC 3339
   * @throws where the message cannot be read
   */
  results(message: string, time: string, namespace: string): readonly KubeObject[];
}

export interface BatchProps<R extends Resource, Q extends KubeObject, F> {
  readonly resource: R;
  readonly inputs: F;
  readonly requests: readonly Q[];
}

/** How the work on an owner goes, as a note. It is there only while it does not go as it should. */
export interface BatchProgress extends KubeObject {
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
}
