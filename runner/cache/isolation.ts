import { keepNewest } from '../keep-newest.js';
import { messageOf } from '../../constructs/kit/errors.js';
import { keyOf, type KubeObject } from '../../constructs/kit/object.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import { forEachInTurns } from '../turns.js';
import type { Sink } from './reflector.js';

/** What of an object could not be done; the values of a metric's label. */
export type Stage = 'parse' | 'store' | 'index' | 'read';

/** Called for each object that could not be processed. The others of its kind are processed. */
export type OnUnusable = (kind: string, key: string, stage: Stage, error: unknown) => void;

/** Messages that are kept so that none is repeated: an object may change each second. */
const LOGGED_KEPT = 1_000;

/** Counts the objects that cannot be processed, and logs each once. */
export class UnusableObjects {
  readonly #logged = new Set<string>();

  constructor(
    private readonly props: {
      readonly metrics: Pick<OperatorMetrics, 'unusable'>;
      readonly log: Logger;
    },
  ) {}

  readonly report: OnUnusable = (kind, key, stage, error) => {
    this.props.metrics.unusable(kind, stage);
    const message = messageOf(error);
    const line = `${kind}/${key} ${stage} ${message}`;
    if (this.#logged.has(line)) return;
    this.#logged.add(line);
    keepNewest(this.#logged, LOGGED_KEPT);
    const [namespace = '', name = ''] = key.split('/');
    this.props.log.warn('object cannot be processed', { kind, namespace, name, stage, error });
  };
}

/** Some objects of a list failed; all others were processed. */
export class FailedObjects extends Error {
  constructor(readonly failures: readonly { readonly key: string; readonly error: unknown }[]) {
    super(`${failures.length} objects failed`);
  }
}

/**
 * Does some work for each key, whatever becomes of the others: see `forEachInTurns`.
 * @throws FailedObjects afterwards, if any failed
 * @throws the reason of the signal, once it is aborted
 */
export async function forEach<T>(
  entries: Iterable<readonly [key: string, value: T]>,
  work: (key: string, value: T) => void,
  signal?: AbortSignal,
): Promise<void> {
  const failures: { key: string; error: unknown }[] = [];
  const isolate = ([key, value]: readonly [string, T]): void => {
    try {
      work(key, value);
    } catch (error) {
      failures.push({ key, error });
    }
  };
  await forEachInTurns(entries, isolate, signal);
  if (failures.length > 0) throw new FailedObjects(failures);
}

/** A sink in which an object that cannot be processed is reported, and never ends the watch. */
export function isolated(kind: string, sink: Sink, onUnusable: OnUnusable): Sink {
  const guarded = (object: KubeObject, work: () => void): void => {
    if (!hasIdentity(object)) {
      onUnusable(kind, '/', 'parse', new Error('has no name'));
      return;
    }
    try {
      work();
    } catch (error) {
      onUnusable(kind, keyOf(object.metadata.namespace, object.metadata.name), 'store', error);
    }
  };
  return {
    compact: compacting(sink),
    replace: async (objects, version, how) => {
      const named = objects.filter((object) => {
        if (hasIdentity(object)) return true;
        onUnusable(kind, '/', 'parse', new Error('has no name'));
        return false;
      });
      try {
        await sink.replace(named, version, how);
      } catch (error) {
        how?.signal?.throwIfAborted();
        if (!(error instanceof FailedObjects)) onUnusable(kind, '/', 'store', error);
        else
          for (const failed of error.failures) onUnusable(kind, failed.key, 'store', failed.error);
      }
    },
    upsert: (object) => {
      guarded(object, () => {
        sink.upsert(object);
      });
    },
    remove: (object) => {
      guarded(object, () => {
        sink.remove(object);
      });
    },
  };
}

/** An object that cannot be compacted is kept: `replace` reports it. */
function compacting({ compact }: Sink): Sink['compact'] {
  if (!compact) return undefined;
  return (object) => {
    try {
      return hasIdentity(object) ? compact(object) : object;
    } catch {
      return object;
    }
  };
}

/** The API server validates metadata also where a CRD has lost its schema; proxies validate nothing. */
function hasIdentity(object: KubeObject | null | undefined): object is KubeObject {
  const metadata: unknown = object?.metadata;
  return (
    typeof metadata === 'object' &&
    metadata !== null &&
    'name' in metadata &&
    typeof metadata.name === 'string'
  );
}
