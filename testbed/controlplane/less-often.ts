const FIRST_PAUSE_MS = 1_000;

/** Does something when it is called, but only after 1 s, and then 2 s, 4 s, 8 s … after the time before. */
export function lessAndLessOften(action: () => Promise<void>): () => Promise<void> {
  let last = performance.now();
  let pauseMs = FIRST_PAUSE_MS;
  return async () => {
    if (performance.now() - last < pauseMs) return;
    pauseMs *= 2;
    last = performance.now();
    await action();
  };
}
