import { isDeepStrictEqual } from 'node:util';
import type { Probe, ProbeResult, RealtimeProbe } from '../../constructs/kit/kind.js';
import { backoffMs } from '../kit/backoff.js';
import { WorkQueue } from '../queue/workqueue.js';
import { probe } from './http-probe.js';
import { probeRealtime } from './realtime-probe.js';

/** What is checked of one resource. */
export interface ProbeTarget {
  /** `<kind>/<namespace>/<name>` */
  readonly owner: string;
  readonly namespace: string;
  readonly uid: string | undefined;
  /** The key of the resource's plan: a change of it asks for a check at once. */
  readonly planKey: string | undefined;
  readonly probes: readonly Probe[];
  /** Whether the status says that the resource is ready: so it counts until the first result. */
  readonly wasReady: boolean;
}

export interface ProbeManagerProps {
  /** Called with an owner whose results have changed. */
  readonly enqueue: (owner: string) => void;
  /** Milliseconds, monotonic. */
  readonly monotonic: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
}

/** A check takes a few kilobytes and a socket, and a hanging one takes them for seconds. */
const CONCURRENCY = 64;
/** Of one namespace: servers that never answer delay the checks of their own namespace only. */
const SHARE = 16;
/** A passed check is repeated after this time, at most. */
const FRESH_MS = 60_000;
/** The same of a websocket, which takes three requests and the framework's check of a session. */
const REALTIME_FRESH_MS = 600_000;
const BACKOFF_MS = { first: 500, most: 15_000 };
/** Of a websocket, on which readiness does not depend. */
const REALTIME_BACKOFF_MS = { first: 500, most: 300_000 };
const WAITING: ProbeResult = { ok: false, message: 'waiting for the first answer' };

/** The last check of a resource's websocket. */
interface Join {
  readonly result: ProbeResult;
  /** When the first of the failures in a row was; undefined if it passed. */
  readonly failingSince: number | undefined;
  /** When it is repeated, unless the resource or its bench changes before. */
  readonly dueAt: number;
}

/** A resource whose checks are repeated until it is forgotten. */
interface Checked {
  readonly target: ProbeTarget;
  planKey: string | undefined;
  results: readonly ProbeResult[] | undefined;
  /** The last check of a websocket; undefined asks for one. */
  join: Join | undefined;
  /** The failed ones of the results that the last reconcile has read. */
  read: readonly ProbeResult[];
  readonly abort: AbortController;
}

/**
 * Repeats HTTP checks outside of the reconciles. A reconcile reads the last results; a result that
 * differs from them enqueues its owner.
 */
export class ProbeManager {
  readonly #checked = new Map<string, Checked>();
  readonly #queue: WorkQueue;

  constructor(private readonly props: ProbeManagerProps) {
    this.#queue = new WorkQueue({
      work: (key) => this.#check(key),
      concurrency: CONCURRENCY,
      share: SHARE,
      backoff: BACKOFF_MS,
      now: props.monotonic,
      random: props.random,
    });
    this.#queue.start();
  }

  /** The last results. From now on the target is checked, or no longer if it has no probes. */
  results(target: ProbeTarget): readonly ProbeResult[] {
    const key = keyOf(target);
    if (target.probes.length === 0) {
      this.forget(target);
      return [];
    }
    const checked = this.#same(key, target) ?? this.#start(key, target);
    if (checked.planKey !== target.planKey) {
      checked.planKey = target.planKey;
      checked.join = undefined;
      this.#queue.add(key);
    }
    const results = checked.results ?? (target.wasReady ? [] : [WAITING]);
    checked.read = failedOf(results);
    return results;
  }

  /** Ends the checks of an owner. */
  forget(target: Pick<ProbeTarget, 'owner' | 'namespace'>): void {
    const key = keyOf(target);
    this.#checked.get(key)?.abort.abort();
    this.#checked.delete(key);
    this.#queue.forget(key);
  }

  /** Ends all checks. */
  async stop(): Promise<void> {
    for (const { abort } of this.#checked.values()) abort.abort();
    this.#checked.clear();
    await this.#queue.stop();
  }

  /** What is checked already; undefined if the resource or its probes are others now. */
  #same(key: string, { uid, probes }: ProbeTarget): Checked | undefined {
    const checked = this.#checked.get(key);
    const isSame = checked?.target.uid === uid && isDeepStrictEqual(checked?.target.probes, probes);
    return isSame ? checked : undefined;
  }

  #start(key: string, target: ProbeTarget): Checked {
    this.forget(target);
    const { planKey } = target;
    const abort = new AbortController();
    const checked = { target, planKey, results: undefined, join: undefined, read: [], abort };
    this.#checked.set(key, checked);
    this.#queue.add(key);
    return checked;
  }

  /** @throws if a check failed that is not advisory, so that the queue repeats it with backoff */
  async #check(key: string): Promise<void> {
    const checked = this.#checked.get(key);
    if (!checked) return;
    const { target, abort } = checked;
    const results: ProbeResult[] = [];
    for (const wanted of target.probes) {
      if (!('namespace' in wanted)) results.push(await probe(wanted, abort.signal));
      else if (failedOf(results).length === 0) results.push(await this.#join(checked, wanted));
    }
    if (abort.signal.aborted) return;
    checked.results = results;
    const failed = failedOf(results);
    if (!isDeepStrictEqual(failed, checked.read)) this.props.enqueue(target.owner);
    if (failed.some(({ advisory }) => !advisory)) {
      // A site that answers again may have a websocket again.
      if (checked.join?.result.ok === false) checked.join = undefined;
      throw new Error('a check failed');
    }
    const freshMs = FRESH_MS * (0.9 + this.props.random() / 10);
    const joinMs = checked.join ? checked.join.dueAt - this.props.monotonic() : freshMs;
    this.#queue.addAfter(key, Math.min(freshMs, Math.max(0, joinMs)));
  }

  /** Joins by a websocket, if that is due. */
  async #join(checked: Checked, wanted: RealtimeProbe): Promise<ProbeResult> {
    const { join, planKey, abort } = checked;
    const { monotonic, random } = this.props;
    if (join && monotonic() < join.dueAt) return join.result;
    const result = await probeRealtime(wanted, abort.signal);
    const now = monotonic();
    const failingSince = result.ok ? undefined : (join?.failingSince ?? now);
    const ms =
      failingSince === undefined
        ? REALTIME_FRESH_MS
        : backoffMs(now - failingSince, REALTIME_BACKOFF_MS, random());
    // A change that came meanwhile asks for another check.
    if (checked.planKey === planKey) checked.join = { result, failingSince, dueAt: now + ms };
    return result;
  }
}

function failedOf(results: readonly ProbeResult[]): readonly ProbeResult[] {
  return results.filter(({ ok }) => !ok);
}

/** Keys of the queue begin with the namespace. */
function keyOf({ namespace, owner }: Pick<ProbeTarget, 'owner' | 'namespace'>): string {
  return `${namespace}/${owner}`;
}
