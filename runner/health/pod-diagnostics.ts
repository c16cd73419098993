import { refusedPod } from '../../constructs/kit/health.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Child } from '../cache/child.js';
import type { Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';

/** Not a child: they are asked only where something is unclear, or in a hurry. */
export const Pod: ObjectKind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods' };
const Event: ObjectKind = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' };
/** A child in trouble is asked about again this often. */
const FRESH_MS = 30_000;
/** Thousands of sites that come up at once are slow, not in trouble: not more than one is asked about in this time. */
const INTERVAL_MS = 2_000;

/** What is read of a container's status. */
export interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
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

/** What is read of an event; a repeated one says in `series` or, from older clients, by a date when it was seen last. */
interface EventObject extends KubeObject {
  readonly note?: string;
  readonly series?: { readonly lastObservedTime?: string };
  readonly deprecatedLastTimestamp?: string;
}

/** What was found out about a child. */
export interface Explanation {
  /** What its pods say, or who keeps it without; undefined where nobody says anything. */
  readonly why?: string | undefined;
  /** The question was put off: milliseconds until it should be put again. */
  readonly againMs?: number;
}

/**
 * Finds out why a workload or a Job does not get ready, from its pods: an image that cannot be
 * pulled, a missing key of a Secret, the last words of a script. Where it has no pod, an event says
 * who refuses them. Both are read only for a child in trouble, since all the pods of thousands of
 * sites are many times what the operator keeps.
 */
export class PodDiagnostics {
  #askedAt = -Infinity;
  /** Questions put off since one was asked: each comes again later than the one before. */
  #putOff = 0;
  readonly #known = new Map<string, { readonly at: number; readonly why: string | undefined }>();

  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request'>;
      /** Milliseconds, monotonic. */
      readonly now: () => number;
    },
  ) {}

  /** Asks the pods of a child, unless their answer is known, or others are asked first. Never rejects. */
  async explain(child: Child): Promise<Explanation> {
    const { client, now } = this.props;
    const { state, failedAttempts = 0 } = child.health;
    // An attempt that has failed since has words of its own.
    const key = `${child.uid}/${state}/${failedAttempts}`;
    const known = this.#known.get(key);
    if (known && now() - known.at < FRESH_MS) return { why: known.why };
    const isSlow = state !== 'Failed' && failedAttempts === 0;
    if (isSlow && now() - this.#askedAt < INTERVAL_MS) {
      this.#putOff += 1;
      return { why: known?.why, againMs: this.#putOff * INTERVAL_MS };
    }
    this.#askedAt = now();
    this.#putOff = 0;
    let why = known?.why;
    try {
      const selector = child.kind.kind === 'Job' ? `job-name=${child.name}` : `app=${child.name}`;
      const { items } = await client.request<{ items: readonly PodObject[] }>(
        'GET',
        resourcePath(Pod, child.namespace),
        { query: { labelSelector: selector, limit: '20' } },
      );
      why = items
        .toSorted((a, b) => created(b).localeCompare(created(a)))
        .map(complaintOf)
        .find((complaint) => complaint !== undefined);
      if (items.length === 0) why = await this.#refusal(child);
    } catch {
      // The question can be asked again; the child's own health is known already.
    }
    if (this.#known.size > 1000) this.#known.clear();
    this.#known.set(key, { at: now(), why });
    return { why };
  }

  /** Controllers of StatefulSets and Jobs say only by events that they cannot make a pod. */
  async #refusal({ uid, namespace }: Child): Promise<string | undefined> {
    const { items } = await this.props.client.request<{ items: readonly EventObject[] }>(
      'GET',
      resourcePath(Event, namespace),
      { query: { fieldSelector: `regarding.uid=${uid},reason=FailedCreate`, limit: '20' } },
    );
    const [last] = items.toSorted((a, b) => lastSeen(b).localeCompare(lastSeen(a)));
    return last?.note && refusedPod(last.note);
  }
}

function lastSeen({ series, deprecatedLastTimestamp, metadata }: EventObject): string {
  return series?.lastObservedTime ?? deprecatedLastTimestamp ?? metadata.creationTimestamp ?? '';
}

function created(pod: PodObject): string {
  return pod.metadata.creationTimestamp ?? '';
}

/** The most telling thing in a pod's status, in stable words; undefined where it says nothing. */
export function complaintOf({ status }: PodObject): string | undefined {
  const containers = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ];
  for (const { name, state, lastState } of containers) {
    const ended = [state?.terminated, lastState?.terminated].find(
      (terminated) => terminated && terminated.exitCode !== 0,
    );
    const last = lastLine(ended?.message);
    if (last) return last.replace(/^app-operator: /, '');
    const { reason, message } = state?.waiting ?? {};
    if (reason && !['ContainerCreating', 'PodInitializing'].includes(reason)) {
      return `container ${name}: ${reason}${message ? `: ${stable(message)}` : ''}`;
    }
    if (ended) return `container ${name} ended with exit code ${ended.exitCode}`;
  }
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False'
    ? `no node takes its pod: ${scheduled.message ?? ''}`
    : undefined;
}

function lastLine(text: string | undefined): string | undefined {
  return text?.trim().split('\n').at(-1)?.slice(0, 500);
}

/** The kubelet's messages name the pod and the time to wait, which change. */
function stable(message: string): string {
  return message
    .replace(/back-off \S+ /, '')
    .replace(/ pod=\S+/, '')
    .slice(0, 300);
}
