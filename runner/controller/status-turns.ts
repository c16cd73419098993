import { namespaceOfKey } from '../../constructs/kit/object.js';

/** Rate limit of minor status updates: one of all resources of the kind in this time. */
const MINOR_STATUS_MS = 2_000;
/** The longest delay of a minor status update before its turn is computed again. */
const LONGEST_TURN_MS = 5_000;

/**
 * Whose turn it is to write a minor status update. Namespaces take turns; those of one namespace are
 * in the order of the first postponement: chosen by chance, one of many could wait without end.
 */
export class StatusTurns {
  #lastAt = -Infinity;
  /** The resources with a postponed update, by namespace. */
  readonly #postponed = new Map<string, Set<string>>();

  /**
   * Milliseconds until the turn of a key; 0 or less if it is now. A resource that misses its turn
   * delays those after it by one turn only.
   */
  until(key: string, now: number): number {
    const namespace = namespaceOfKey(key);
    const keys = this.#postponed.get(namespace) ?? new Set();
    this.#postponed.set(namespace, keys.add(key));
    let rest = this.#lastAt - now;
    for (const next of this.#inTurns()) {
      rest += MINOR_STATUS_MS;
      if (next === key || rest > LONGEST_TURN_MS) break;
    }
    return Math.min(rest, LONGEST_TURN_MS);
  }

  /** The key takes its turn now. */
  take(key: string, now: number): void {
    this.#lastAt = now;
    this.forget(key);
    const namespace = namespaceOfKey(key);
    const others = this.#postponed.get(namespace);
    this.#postponed.delete(namespace);
    if (others) this.#postponed.set(namespace, others);
  }

  /** The key has no postponed update any more. */
  forget(key: string): void {
    const namespace = namespaceOfKey(key);
    const keys = this.#postponed.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) this.#postponed.delete(namespace);
  }

  /** The first key of each namespace, then the second of each, and so on. */
  *#inTurns(): Generator<string> {
    const rest = [...this.#postponed.values()].map((keys) => keys.values());
    for (let found = true; found;) {
      found = false;
      for (const iterator of rest) {
        for (const key of oneOf(iterator)) {
          found = true;
          yield key;
        }
      }
    }
  }
}

function oneOf(iterator: Iterator<string, unknown>): readonly string[] {
  const next = iterator.next();
  return next.done ? [] : [next.value];
}
