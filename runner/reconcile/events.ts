import { hashOf } from '../../constructs/kit/json/hash.js';
import type { Resource } from '../../constructs/kit/object.js';
import { isNotFound } from '../api/api-error.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { cutBytes } from '../kit/cut-text.js';
import { keepNewest } from '../kit/keep-newest.js';
import type { Logger } from '../telemetry/log.js';

export interface EventRecord {
  readonly type: 'Normal' | 'Warning';
  /** The reason of the condition. */
  readonly reason: string;
  readonly message: string;
  /** What the operator did. */
  readonly action: string;
}

/** The API server refuses a longer note. */
const MAX_NOTE_BYTES = 1_024;
/** A repetition within this time is counted in the event that was created; see `events.k8s.io`. */
const SERIES_MS = 360_000;
/** A resource records so many events at once, then one in each interval; client-go has the same limit. */
const LIMIT = { burst: 25, intervalMs: 300_000 };
/** Resources and events that are remembered. */
const KEPT = 2_000;

/** An event that was created, and how often it was recorded. */
interface Series {
  readonly name: string;
  count: number;
  lastAt: number;
}

/** Records events on resources. A failed request is logged, and the event is lost. */
export class Events {
  /** By resource, type, reason, action and note. */
  readonly #series = new Map<string, Series>();
  /** By uid of the resource: the time until which its events are paid for. */
  readonly #spentUntil = new Map<string, number>();

  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request'>;
      readonly log: Logger;
      readonly instance: string;
      readonly now: () => Date;
    },
  ) {}

  record(resource: Resource, event: EventRecord): void {
    const { log, now } = this.props;
    const { namespace, name } = resource.metadata;
    const fields = { namespace, name, reason: event.reason };
    const at = now();
    if (!this.#mayRecord(resource, at.getTime())) {
      log.debug('event not recorded: too many events of this resource', fields);
      return;
    }
    this.#send(resource, event, at).catch((error: unknown) => {
      log.debug('event not recorded', { ...fields, error });
    });
  }

  #mayRecord({ metadata: { uid = '' } }: Resource, at: number): boolean {
    const { burst, intervalMs } = LIMIT;
    const spentUntil = Math.max(at, this.#spentUntil.get(uid) ?? 0) + intervalMs;
    if (spentUntil > at + burst * intervalMs) return false;
    this.#spentUntil.delete(uid);
    this.#spentUntil.set(uid, spentUntil);
    keepNewest(this.#spentUntil, KEPT);
    return true;
  }

  async #send(resource: Resource, event: EventRecord, at: Date): Promise<void> {
    const { namespace = 'default', name, uid } = resource.metadata;
    const note = cutBytes(event.message, MAX_NOTE_BYTES);
    const key = hashOf([uid, event.type, event.reason, event.action, note]);
    const series = this.#series.get(key);
    if (series && at.getTime() - series.lastAt < SERIES_MS) {
      series.count += 1;
      series.lastAt = at.getTime();
      if (await this.#count(namespace, series)) return;
    }
    const created = {
      name: `${name}.${hashOf([key, at.toISOString()]).slice(0, 12)}`,
      count: 1,
      lastAt: at.getTime(),
    };
    this.#series.delete(key);
    this.#series.set(key, created);
    keepNewest(this.#series, KEPT);
    await this.#create(resource, { ...event, message: note }, created);
  }

  /** @returns false if the event has expired */
  async #count(namespace: string, { name, count, lastAt }: Series): Promise<boolean> {
    try {
      await this.props.client.request('PATCH', pathOf(namespace, name), {
        contentType: MERGE_PATCH,
        body: { series: { count, lastObservedTime: microTime(lastAt) } },
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #create(resource: Resource, event: EventRecord, { name, lastAt }: Series): Promise<void> {
    const { client, instance } = this.props;
    const { apiVersion, kind, metadata } = resource;
    const { namespace = 'default', uid, resourceVersion } = metadata;
    await client.request('POST', pathOf(namespace), {
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name, namespace },
        eventTime: microTime(lastAt),
        reportingController: 'app-operator',
        reportingInstance: instance,
        regarding: { apiVersion, kind, namespace, name: metadata.name, uid, resourceVersion },
        type: event.type,
        reason: event.reason,
        action: event.action,
        note: event.message,
      },
    });
  }
}

function pathOf(namespace: string, name?: string): string {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  return name === undefined ? path : `${path}/${name}`;
}

/** A time as the API writes it in events, with microseconds. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
