/**
 * Fewer polls than these prove nothing: the machine may have been suspended, or our own work took
 * the time.
 */
const MIN_POLLS = 200;

/** Called after each failed poll; true once the time is over and the minimum of polls was made. */
export function deadline(ms: number): () => boolean {
  const end = performance.now() + ms;
  let polls = 0;
  return () => {
    polls += 1;
    return polls >= MIN_POLLS && performance.now() > end;
  };
}

const TICK_MS = 50;

/** A signal that is aborted when a `deadline` is over, while something is awaited that is not polled. */
export function timeLimit(ms: number): Disposable & { readonly signal: AbortSignal } {
  const isOver = deadline(ms);
  const controller = new AbortController();
  const timer = setInterval(() => {
    if (isOver()) controller.abort();
  }, TICK_MS);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      clearInterval(timer);
    },
  };
}
