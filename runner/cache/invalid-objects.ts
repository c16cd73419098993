import { messageOf } from '../../constructs/kit/errors.js';
import { keyOfObject, type KubeObject } from '../../constructs/kit/object.js';
import { keepNewest } from '../kit/keep-newest.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import { forEachInTurns } from '../kit/event-loop-turns.js';
import type { Sink } from './reflector.js';

/** What of an object could not be done; the values of a metric's label. */
export type Stage = 'parse' | 'store' | 'index' | 'read';

/** Called for each invalid object. The others of its kind are processed. */
export type OnInvalid = (kind: string, key: string, stage: Stage, error: unknown) => void;

/** Messages that are kept so that none is repeated: an object may change each second. */
const LOGGED_KEPT = 1_000;

/** Counts invalid objects, and logs each once. */
export class InvalidObjects {
  readonly #logged = new Set<string>();

  constructor(
    private readonly props: {
      readonly metrics: Pick<OperatorMetrics, 'invalidObjects'>;
      readonly log: Logger;
    },
  ) {}

  readonly report: OnInvalid = (kind, key, stage, error) => {
    this.props.metrics.invalidObjects.inc({ kind, stage });
    const message = messageOf(error);
    const line = `${kind}/${key} ${stage} ${message}`;
    if (this.#logged.has(line)) return;
    this.#logged.add(line);
    keepNewest(this.#logged, LOGGED_KEPT);
    const [namespace = '', name = ''] = key.split('/');
    this.props.log.warn('object is invalid', { kind, namespace, name, stage, error });
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

/** A sink in which an object that fails is reported, and never ends the watch. */
export function isolated(kind: string, sink: Sink, onInvalid: OnInvalid): Sink {
  const guarded = (object: KubeObject, work: () => void): void => {
    try {
      work();
    } catch (error) {
      onInvalid(kind, keyOfObject(object), 'store', error);
    }
  };
  return {
    compact: compacting(sink),
    replace: async (objects, version, how) => {
      try {
        await sink.replace(objects, version, how);
      } catch (error) {
        if (!(error instanceof FailedObjects)) throw error;
        for (const failed of error.failures) onInvalid(kind, failed.key, 'store', failed.error);
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
      return compact(object);
    } catch {
      return object;
    }
  };
}
