import { messageOf } from '../../constructs/kit/errors.js';
import { keyOfObject, type KubeObject } from '../../constructs/kit/object.js';
import { keepNewest } from '../kit/keep-newest.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import type { Guard, Sink } from './reflector.js';

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

/** A sink in which an object that fails is reported, and never ends the watch. */
export function isolated(kind: string, sink: Sink, onInvalid: OnInvalid): Sink {
  const guard: Guard = (key, work) => {
    try {
      work();
    } catch (error) {
      onInvalid(kind, key, 'store', error);
    }
  };
  const { compact } = sink;
  /** One that cannot be compacted is kept as it is. */
  const compacted = (object: KubeObject): KubeObject => {
    let kept = object;
    guard(keyOfObject(object), () => (kept = compact?.(object) ?? object));
    return kept;
  };
  return {
    compact: compact && compacted,
    replace: (objects, version, how) => sink.replace(objects, version, { ...how, guard }),
    upsert: (object) => guard(keyOfObject(object), () => sink.upsert(object)),
    remove: (object) => guard(keyOfObject(object), () => sink.remove(object)),
  };
}
