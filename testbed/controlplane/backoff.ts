const FIRST_PAUSE_MS = 1_000;

/**
 * An action with exponential backoff: a call within 1 s, then 2 s, 4 s, 8 s of the last run does
 * nothing.
 */
export function withBackoff(action: () => Promise<void>): () => Promise<void> {
  let last = performance.now();
  let pauseMs = FIRST_PAUSE_MS;
  return async () => {
    if (performance.now() - last < pauseMs) return;
    pauseMs *= 2;
    last = performance.now();
    await action();
  };
}
