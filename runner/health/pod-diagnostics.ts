import { refusedPod } from '../../constructs/kit/health.js';
import { withoutPrefix } from '../../constructs/kit/job-result.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import type { Child } from '../cache/child.js';
import { keepNewest } from '../kit/keep-newest.js';
import { Event, lastSeen, problemOfClaims, type EventObject } from './claim-diagnostics.js';
import { ownedPods, readPod } from './owned-pods.js';

/** How long a diagnosis is good for. */
const FRESH_MS = 30_000;
/** Thousands of sites that start at once are slow, not failing: one of them in this time is diagnosed. */
const INTERVAL_MS = 2_000;
/** Until there is a pod, or an event that says why there is none. */
const NO_POD_MS = 5_000;
const KEPT = 1_000;
/** Pods that are read at most, one after the other: each can have more than a megabyte. */
const READ = 10;

/** What is read of a container's status. */
export interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: object;
    readonly terminated?: {
      readonly exitCode: number;
      readonly message?: string;
      readonly reason?: string;
    };
  };
  readonly lastState?: ContainerStatus['state'];
}

/** What is read of a pod. */
export interface PodObject extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** Why a child is not ready. */
export interface Explanation {
  /** The message of a pod, or of the event that refused it; undefined if there is neither. */
  readonly why?: string | undefined;
  /** If the diagnosis was postponed: milliseconds until it is due. */
  readonly againMs?: number;
}

/**
 * Finds out from its pods why a workload or a Job is not ready: an image that cannot be pulled, a
 * missing key of a Secret, the termination message of a script. Without a pod, an event names what
 * refuses it. Both are listed only for a child that fails: all pods of thousands of sites are many
 * times what the operator caches.
 */
export class PodDiagnostics {
  #listedAt = -Infinity;
  /** Diagnoses postponed since the last one: each is due later than the one before. */
  #postponed = 0;
  readonly #known = new Map<string, { readonly until: number; readonly answer: Explanation }>();

  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request'>;
      /** Milliseconds, monotonic. */
      readonly now: () => number;
    },
  ) {}

  /** Explains a child by its pods, from the cache while the answer is fresh. Never rejects. */
  async explain(child: Child): Promise<Explanation> {
    const { now } = this.props;
    const { state, failedAttempts = 0 } = child.health;
    // Each failed attempt has a termination message.
    const key = `${child.uid}/${state}/${failedAttempts}`;
    const known = this.#known.get(key);
    if (known && now() < known.until) return known.answer;
    const isSlow = state !== 'Failed' && failedAttempts === 0;
    if (isSlow && now() - this.#listedAt < INTERVAL_MS) {
      this.#postponed += 1;
      return { why: known?.answer.why, againMs: this.#postponed * INTERVAL_MS };
    }
    this.#listedAt = now();
    this.#postponed = 0;
    // An API error leaves the earlier answer; the health of the child is known without it.
    const found: Explanation = await this.#diagnose(child).catch(() => ({
      why: known?.answer.why,
    }));
    const answer: Explanation = state === 'Failed' ? { why: found.why } : found;
    this.#known.delete(key);
    this.#known.set(key, { until: now() + (answer.againMs ?? FRESH_MS), answer });
    keepNewest(this.#known, KEPT);
    return answer;
  }

  /** The problem of the newest pod that has one. */
  async #diagnose(child: Child): Promise<Explanation> {
    const { client } = this.props;
    const { namespace, name, uid } = child;
    const { kind } = child.kind;
    const label = kind === 'Job' ? 'job-name' : 'app';
    const pods = await ownedPods(client, { namespace, kind, name, uid }, `${label}=${name}`);
    if (pods.length === 0) {
      const why = await this.#refusal(child);
      // A controller records the event a moment after the API server has refused its pod.
      return why === undefined ? { why, againMs: NO_POD_MS } : { why };
    }
    for (const metadata of pods.slice(0, READ)) {
      const pod = await readPod<PodObject>(client, namespace, metadata);
      const problem = pod && (await this.#problemOf(pod));
      if (problem !== undefined) return { why: problem };
    }
    return { why: undefined };
  }

  /** A pod whose claim is Pending has no container yet, and the scheduler says less than the provisioner. */
  async #problemOf(pod: PodObject): Promise<string | undefined> {
    const claims = isUnscheduled(pod) ? await problemOfClaims(this.props.client, pod) : undefined;
    return claims ?? problemOfPod(pod);
  }

  /** Controllers of StatefulSets and Jobs report only by events that they cannot create a pod. */
  async #refusal({ uid, namespace, name }: Child): Promise<string | undefined> {
    const { items } = await this.props.client.request<{ items: readonly EventObject[] }>(
      'GET',
      resourcePath(Event, namespace),
      { query: { fieldSelector: `regarding.uid=${uid},reason=FailedCreate`, limit: '20' } },
    );
    const [last] = items.toSorted((a, b) => lastSeen(b).localeCompare(lastSeen(a)));
    return last?.note && refusedPod(last.note, name);
  }
}

/** The problem in a pod's status, in stable words; undefined if the status names none. */
export function problemOfPod({ status = {} }: PodObject): string | undefined {
  const { initContainerStatuses = [], containerStatuses = [], conditions = [] } = status;
  const containers = [...initContainerStatuses, ...containerStatuses];
  for (const container of containers) {
    const problem = problemOfContainer(container);
    if (problem !== undefined) return problem;
  }
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False'
    ? `pod is unschedulable: ${scheduled.message ?? ''}`
    : unfinished(containerStatuses);
}

/** Whose container still runs although another one has ended well, such as the proxy of a mesh in a Job's pod. */
function unfinished(containers: readonly ContainerStatus[]): string | undefined {
  const ended = containers.find(({ state }) => state?.terminated?.exitCode === 0);
  const running = containers.find(({ state }) => state?.running !== undefined);
  if (!ended || !running) return undefined;
  return `container ${running.name} still runs after container ${ended.name} has ended; keep it out of pods of Jobs`;
}

function isUnscheduled({ status }: PodObject): boolean {
  const started = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return status?.phase === 'Pending' && started.length === 0;
}

/** In this order: the termination message, why the container waits, the exit code. */
function problemOfContainer({ name, state, lastState }: ContainerStatus): string | undefined {
  const failed = [state?.terminated, lastState?.terminated].find(
    (terminated) => terminated !== undefined && terminated.exitCode !== 0,
  );
  const last = lastLine(failed?.message);
  if (last) return withoutPrefix(last);
  const { reason, message } = state?.waiting ?? {};
  if (reason && !['ContainerCreating', 'PodInitializing'].includes(reason)) {
    return `container ${name}: ${reason}${message ? `: ${stable(message)}` : ''}`;
  }
  return failed && `container ${name} ended with exit code ${failed.exitCode}`;
}

function lastLine(text: string | undefined): string | undefined {
  return text?.trim().split('\n').at(-1)?.slice(0, 500);
}

/** Without the name of the pod and the time to wait, which change. */
function stable(message: string): string {
  return message
    .replace(/back-off \S+ /, '')
    .replace(/ pod=\S+/, '')
    .slice(0, 300);
}
