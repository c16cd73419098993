import { setImmediate } from 'node:timers/promises';

/** Items of one turn of the event loop: some 5 ms for objects of a list, more where cores are busy. */
const PORTION = 100;

/**
 * Does some work for each item, a portion in each turn of the event loop: a Lease is renewed, and a
 * webhook answered, while a large list is read.
 * @throws the reason of the signal, once it is aborted
 */
export async function forEachInTurns<T>(
  items: Iterable<T>,
  work: (item: T) => void,
  signal?: AbortSignal,
): Promise<void> {
  let done = 0;
  for (const item of items) {
    if (done > 0 && done % PORTION === 0) {
      await setImmediate();
      signal?.throwIfAborted();
    }
    done += 1;
    work(item);
  }
}
