import { gunzipSync } from 'node:zlib';
import type { JobRun } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import type { Child } from '../cache/child.js';
import { Pod } from './pod-diagnostics.js';

interface Ended {
  readonly exitCode: number;
  readonly message?: string;
}

interface PodObject extends KubeObject {
  readonly status?: {
    readonly containerStatuses?: readonly { readonly state?: { readonly terminated?: Ended } }[];
  };
}

const UNPACKED_BYTES = 1_000_000;
/** Jobs whose results are cached. */
const KEPT = 2000;

/** Reads the results of Jobs: exit codes and termination messages of their pods, once for each Job. */
export class JobRuns {
  readonly #ended = new Map<string, Ended | undefined>();

  constructor(private readonly client: Pick<Client, 'request'>) {}

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
      run: job.run,
      startTime: job.job?.startTime,
      completionTime: job.job?.completionTime,
      exitCode: ended.get(job)?.exitCode,
      message: ended.get(job)?.message,
    }));
  }

  /** How the last pod of a Job ended; undefined if its pods were deleted. */
  async ended(job: Child): Promise<Ended | undefined> {
    if (this.#ended.has(job.uid)) return this.#ended.get(job.uid);
    const { items } = await this.client.request<{ readonly items: readonly PodObject[] }>(
      'GET',
      resourcePath(Pod, job.namespace),
      { query: { labelSelector: `controller-uid=${job.uid}` } },
    );
    const [last] = items
      .flatMap((pod) => {
        const terminated = pod.status?.containerStatuses?.[0]?.state?.terminated;
        return terminated ? [{ at: pod.metadata.creationTimestamp ?? '', terminated }] : [];
      })
      .sort((a, b) => b.at.localeCompare(a.at));
    // The Job controller reports a failed Job before its last pod has ended.
    if (!last && items.length > 0) return undefined;
    if (this.#ended.size >= KEPT) this.#ended.clear();
    const ended = last && unpacked(last.terminated);
    this.#ended.set(job.uid, ended);
    return ended;
  }
}

/** Long messages are compressed: `gz:` and the base64 of the gzip. */
function unpacked({ exitCode, message }: Ended): Ended {
  if (!message?.startsWith('gz:'))
    return message === undefined ? { exitCode } : { exitCode, message };
  const packed = Buffer.from(message.slice(3), 'base64');
  try {
    return {
      exitCode,
      message: gunzipSync(packed, { maxOutputLength: UNPACKED_BYTES }).toString(),
    };
  } catch {
    // The kubelet truncates messages if the containers of a pod write too much together.
    return { exitCode };
  }
}

function startOf({ job }: Child): string {
  return job?.startTime ?? '~';
}

function stateOf({ health }: Child): JobRun['state'] {
  if (health.state === 'Ready') return 'Succeeded';
  return health.state === 'Failed' ? 'Failed' : 'Running';
}
