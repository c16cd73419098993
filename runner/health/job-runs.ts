import { gunzipSync } from 'node:zlib';
import { defined } from '../../constructs/kit/json/defined.js';
import type { JobRun } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { Client } from '../api/client.js';
import type { ChildCache } from '../cache/child-cache.js';
import type { Child } from '../cache/child.js';
import { ownedPods, readPod } from './owned-pods.js';

interface Ended {
  readonly exitCode: number;
  readonly message?: string;
  readonly imageId?: string;
}

interface FinishedPod extends KubeObject {
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly imageID?: string;
      readonly state?: { readonly terminated?: Omit<Ended, 'imageId'> };
    }[];
  };
}

const UNPACKED_BYTES = 1_000_000;
/** With fewer results, those of deleted Jobs stay. */
const SWEPT_FROM = 1000;
/** Pods of a Job that are read at most: an evicted pod has no termination message, an older one may. */
const READ = 5;
/** How long a Job whose pods have not ended is not read again, unless it changes. */
const AGAIN_MS = 10_000;

/**
 * A cached result, with its message as the pod has it: unpacked, it may have 1 MB. With a time, pods existed
 * and none had ended.
 */
interface Result {
  readonly ended: Ended | undefined;
  readonly pending?: { readonly at: number; readonly version: string };
}

/** Reads the results of Jobs: exit codes and termination messages of their pods, once for each Job. */
export class JobRuns {
  /** By the uid of the Job. */
  readonly #results = new Map<string, Result & { readonly job: string }>();
  #sweepAt = SWEPT_FROM;

  /**
   * @param children the results of Jobs that are not in it are forgotten
   * @param now milliseconds, monotonic
   */
  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly children: Pick<ChildCache, 'get'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The Jobs among some children, newest first; the two newest that ended have their results. */
  async of(children: readonly Child[]): Promise<readonly JobRun[]> {
    const jobs = children
      .filter((child) => child.job !== undefined && !child.deleting)
      .sort((a, b) => startOf(b).localeCompare(startOf(a)) || b.name.localeCompare(a.name));
    const newest = jobs.filter((job) => stateOf(job) !== 'Running').slice(0, 2);
    const ended = new Map(
      await Promise.all(newest.map(async (job) => [job, await this.ended(job)] as const)),
    );
    return jobs.map((job) => ({
      name: job.name,
      uid: job.uid,
      state: stateOf(job),
      taskHash: job.taskHash,
      startTime: job.job?.startTime,
      completionTime: job.job?.completionTime,
      exitCode: ended.get(job)?.exitCode,
      message: ended.get(job)?.message,
      ...defined({ imageId: ended.get(job)?.imageId }),
    }));
  }

  /** How the last pod of a Job ended; undefined if its pods were deleted. */
  async ended(job: Child): Promise<Ended | undefined> {
    const known = this.#results.get(job.uid);
    const result = known && this.#isFresh(known, job) ? known : await this.#read(job);
    if (result !== known) this.#keep(job, result);
    return result.ended && unpacked(result.ended);
  }

  #keep({ uid, id }: Child, result: Result): void {
    this.#results.set(uid, { ...result, job: id });
    if (this.#results.size < this.#sweepAt) return;
    for (const [known, { job }] of this.#results) {
      if (this.children.get(job)?.uid !== known) this.#results.delete(known);
    }
    this.#sweepAt = Math.max(SWEPT_FROM, 2 * this.#results.size);
  }

  #isFresh({ pending }: Result, { resourceVersion }: Child): boolean {
    if (!pending) return true;
    return pending.version === resourceVersion && this.now() - pending.at < AGAIN_MS;
  }

  async #read(job: Child): Promise<Result> {
    const { namespace, name, uid, resourceVersion } = job;
    const owner = { namespace, kind: 'Job', name, uid };
    const pods = await ownedPods(this.client, owner, `controller-uid=${uid}`);
    for (const metadata of pods.slice(0, READ)) {
      const pod = await readPod<FinishedPod>(this.client, namespace, metadata);
      const container = pod?.status?.containerStatuses?.[0];
      const terminated = container?.state?.terminated;
      if (terminated) {
        const { exitCode, message } = terminated;
        return { ended: { exitCode, ...defined({ message, imageId: container.imageID }) } };
      }
    }
    if (pods.length === 0) return { ended: undefined };
    // The Job controller reports a failed Job before its last pod has ended.
    return { ended: undefined, pending: { at: this.now(), version: resourceVersion } };
  }
}

/** Long messages are compressed: `gz:` and the base64 of the gzip. */
function unpacked({ message, ...ended }: Ended): Ended {
  if (!message?.startsWith('gz:')) return { ...ended, ...defined({ message }) };
  const packed = Buffer.from(message.slice(3), 'base64');
  try {
    return {
      ...ended,
      message: gunzipSync(packed, { maxOutputLength: UNPACKED_BYTES }).toString(),
    };
  } catch {
    // The kubelet truncates messages if the containers of a pod write too much together.
    return ended;
  }
}

function startOf({ job }: Child): string {
  return job?.startTime ?? '~';
}

function stateOf({ health }: Child): JobRun['state'] {
  if (health.state === 'Ready') return 'Succeeded';
  return health.state === 'Failed' ? 'Failed' : 'Running';
}
