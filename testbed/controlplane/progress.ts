/** One line of progress: what is being done, and for how many seconds so far. */
export interface Progress {
  readonly message: string;
  readonly elapsedSeconds: number;
}

export type OnProgress = (progress: Progress) => void;

/** How often a long step reports that it is still at work, in milliseconds. */
const TICK_MS = 5_000;

/** Runs `step`, reporting `message` at its start, every five seconds and at its end. */
export async function withProgress<T>(
  message: string,
  onProgress: OnProgress | undefined,
  step: () => Promise<T>,
): Promise<T> {
  if (onProgress === undefined) return step();
  const start = performance.now();
  const report = (suffix = ''): void => {
    const elapsedSeconds = Math.round((performance.now() - start) / 100) / 10;
    onProgress({ message: message + suffix, elapsedSeconds });
  };
  report();
  const timer = setInterval(report, TICK_MS);
  try {
    const result = await step();
    report(': done');
    return result;
  } finally {
    clearInterval(timer);
  }
}

/** Writes progress to standard error, one line each. */
export function printProgress({ message, elapsedSeconds }: Progress): void {
  process.stderr.write(`[${elapsedSeconds.toFixed(1).padStart(6)} s] ${message}\n`);
}
