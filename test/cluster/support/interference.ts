import * as pods from '../../../testbed/controlplane/pods.js';
import type { FailPodsOptions, Interference, Labels } from '../../../testbed/controlplane/pods.js';
import type { Cluster } from '../harness.js';
import { at, conditionOf } from './objects.js';

/** How pods are made to fail or to hang, one call after the other: kwok is given one at a time. */
let last: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work, work);
  last = turn;
  return turn;
}

export function failPods(
  { controlPlane }: Cluster,
  labels: Labels,
  options?: FailPodsOptions,
): Promise<Interference> {
  return inTurn(() => pods.failPods(controlPlane, labels, options));
}

export function holdPods({ controlPlane }: Cluster, labels: Labels): Promise<Interference> {
  return inTurn(() => pods.holdPods(controlPlane, labels));
}

export function completePods(
  { controlPlane }: Cluster,
  labels: Labels,
  message: string,
  imageID?: string,
): Promise<Interference> {
  return inTurn(() => pods.completePods(controlPlane, labels, message, imageID));
}

const released = new WeakSet<Interference>();

export function release({ controlPlane }: Cluster, interference: Interference): Promise<void> {
  released.add(interference);
  return inTurn(() => pods.release(controlPlane, interference));
}

/**
 * Makes a Job fail at its first attempt, with this termination message: its own backoff takes more than
 * a minute. The Job may not exist yet.
 */
export async function failJob(
  cluster: Cluster,
  namespace: string,
  job: string,
  message: string,
): Promise<Interference> {
  const options = { exitCode: 3, message, namespace };
  const interference = await failPods(cluster, { 'job-name': job }, options);
  // The caller waits for the failure, and its error has more details.
  const isReleased = (): boolean => released.has(interference);
  giveUp(cluster, namespace, job, isReleased).catch(() => undefined);
  return interference;
}

/**
 * Takes away a Job's further attempts until it has failed, or its pods are no longer made to fail. A Job
 * that is complete is that of an earlier run, and the operator gives the attempts back.
 */
export async function giveUp(
  cluster: Cluster,
  namespace: string,
  job: string,
  isReleased: () => boolean = () => false,
): Promise<void> {
  await cluster.until(
    `the Job ${job} to fail`,
    async () => {
      if (isReleased()) return true;
      const live = await cluster.the('Job', namespace, job);
      if (conditionOf(live, 'Failed')) return true;
      if (!conditionOf(live, 'Complete') && at(live, 'spec.backoffLimit') !== 0) {
        await cluster.patch('Job', namespace, job, { spec: { backoffLimit: 0 } });
      }
      return false;
    },
    120_000,
  );
}
