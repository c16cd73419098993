import { setTimeout as sleep } from 'node:timers/promises';

/** How much of a step is done. */
export interface Portion {
  readonly done: number;
  readonly total: number;
  readonly unit: 'bytes' | 'modules' | 'packages' | 'sites' | 'changes' | 'seconds' | 'minutes';
}

/** What is being done, for how many seconds so far, and how much of it where that is known. */
export interface Progress {
  readonly message: string;
  readonly elapsedSeconds: number;
  readonly portion?: Portion;
}

export type OnProgress = (progress: Progress) => void;

/** How often a long step reports that it is still at work, in milliseconds. */
const TICK_MS = 10_000;
/** How often a bar moves. */
const BAR_MS = 250;
const BAR_WIDTH = 24;

/**
 * Runs `step`, reporting `message` at its start, regularly and at its end. A step that knows how
 * far it is calls `advance`.
 */
export async function withProgress<T>(
  message: string,
  onProgress: OnProgress | undefined,
  step: (advance: (portion: Portion) => void) => Promise<T>,
): Promise<T> {
  if (onProgress === undefined) return step(() => undefined);
  const start = performance.now();
  let portion: Portion | undefined;
  let reported = start;
  const report = (suffix = ''): void => {
    reported = performance.now();
    const elapsedSeconds = Math.round((reported - start) / 100) / 10;
    onProgress({ message: message + suffix, elapsedSeconds, ...(portion && { portion }) });
  };
  const advance = (next: Portion): void => {
    portion = next;
    if (performance.now() - reported >= BAR_MS) report();
  };
  report();
  const timer = setInterval(report, TICK_MS);
  try {
    const result = await step(advance);
    if (portion) portion = { ...portion, done: portion.total };
    report(': done');
    return result;
  } finally {
    clearInterval(timer);
  }
}

/** Runs one of some steps, and names its number in its messages. */
export type RunStep = <T>(
  message: string,
  step: (advance: (portion: Portion) => void) => Promise<T>,
) => Promise<T>;

/** Numbers the steps of a command: `3 of 7: …`. */
export function numberedSteps(total: number, onProgress: OnProgress | undefined): RunStep {
  let number = 0;
  return (message, step) => {
    number += 1;
    return withProgress(`${number} of ${total}: ${message}`, onProgress, step);
  };
}

/** Waits, and reports the seconds that are left. */
export async function waitSeconds(
  seconds: number,
  advance: (portion: Portion) => void,
): Promise<void> {
  for (let done = 0; done < seconds; done++) {
    advance({ done, total: seconds, unit: 'seconds' });
    await sleep(Math.min(1, seconds - done) * 1000);
  }
}

/** Writes progress: a bar where the output is a terminal, else a line every ten seconds. */
export function progressPrinter(output: NodeJS.WriteStream): OnProgress {
  let open = false;
  let last = { message: '', at: 0 };
  return (progress) => {
    const { message, portion } = progress;
    const ended = message.endsWith(': done');
    if (portion && output.isTTY) {
      const line = barOf(progress, portion).slice(0, output.columns - 1);
      output.write(`\r${line}\u001B[K${ended ? '\n' : ''}`);
      open = !ended;
      return;
    }
    const now = performance.now();
    if (portion && message === last.message && now - last.at < TICK_MS) return;
    last = { message, at: now };
    output.write(`${open ? '\n' : ''}${lineOf(progress)}\n`);
    open = false;
  };
}

/** Writes progress to standard error. */
export const printProgress: OnProgress = progressPrinter(process.stderr);

function lineOf({ message, elapsedSeconds, portion }: Progress): string {
  if (!portion) return `[${elapsedSeconds.toFixed(1).padStart(6)} s] ${message}`;
  const left = leftOf(portion, elapsedSeconds);
  return `[${String(percentOf(portion)).padStart(6)} %] ${message}: ${amountOf(portion)}${left}`;
}

/** The time that is left if the rest takes as long as what is done. */
function leftOf({ done, total }: Portion, elapsedSeconds: number): string {
  if (done === 0 || done >= total || elapsedSeconds < 1) return '';
  const seconds = Math.ceil((elapsedSeconds / done) * (total - done));
  if (seconds < 100) return `, ${seconds} s left`;
  return `, ${Math.round(seconds / 60)} min left`;
}

function barOf({ message, elapsedSeconds }: Progress, portion: Portion): string {
  const filled = Math.round((percentOf(portion) / 100) * BAR_WIDTH);
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_WIDTH - filled);
  const amount = `${amountOf(portion)}${leftOf(portion, elapsedSeconds)}`;
  return `[${bar}] ${String(percentOf(portion)).padStart(3)} %  ${message}: ${amount}`;
}

function percentOf({ done, total }: Portion): number {
  return total === 0 ? 100 : Math.min(100, Math.floor((done / total) * 100));
}

function amountOf({ done, total, unit }: Portion): string {
  if (unit !== 'bytes') return `${done} of ${total} ${unit}`;
  return `${megabytes(done)} of ${megabytes(total)} MB`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 1 : 0);
}
