import { basename } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { errorCode } from '../arguments/errors.js';
import { fileErrorReason } from './file-error.js';

const PLUGIN = 'kubectl-appbench';
const PROGRESS_MS = 1_000;

/** The environment and the terminal of a command: nothing else in cli/ reads them. */
export interface IOStreams {
  /** The program as the user called it: `app-operator` or `kubectl appbench`. */
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether standard output takes colours: it is a terminal, and NO_COLOR is not set. */
  readonly colours: boolean;
  /** The width of the terminal; undefined where it is unknown, or standard output is not a terminal. */
  readonly columns: number | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Reads standard input to its end. @throws the signal's reason once it is aborted */
  readonly readStdin: () => Promise<Uint8Array>;
  /** Writes to standard output. */
  readonly write: (text: string) => void;
  /** Reports progress at most once a second; undefined when standard error is not a terminal. */
  readonly progress: ((line: string) => void) | undefined;
  /** Writes a line to standard error. */
  readonly notify: (line: string) => void;
}

/** The streams of this process. */
export function processStreams(): IOStreams {
  const { stdout, stderr, env, argv } = process;
  const interrupted = new AbortController();
  // A second Ctrl-C ends the process at once.
  process.once('SIGINT', () => interrupted.abort());
  const program = basename(argv[1] ?? '').startsWith(PLUGIN) ? 'kubectl appbench' : 'app-operator';
  stdout.on('error', (error) => {
    // The reader, such as a pager or `head`, has closed the pipe.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit();
    stderr.write(`${program}: cannot write the output: ${fileErrorReason(error)}\n`);
    process.exit(errorCode(argv[2]));
  });
  // Messages that cannot be written are lost; the exit code stays.
  stderr.on('error', () => undefined);
  return {
    program,
    env,
    colours: stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    // A terminal that does not know its size, such as a serial console, reports 0.
    columns: stdout.isTTY ? stdout.columns || undefined : undefined,
    signal: interrupted.signal,
    readStdin: () => readAll(process.stdin, interrupted.signal),
    write: (text) => stdout.write(text),
    progress: stderr.isTTY ? throttled((line) => stderr.write(`${line}\n`)) : undefined,
    notify: (line) => stderr.write(`${line}\n`),
  };
}

/** Unlike `readFileSync(0)`, it can be interrupted, and reads a pipe that does not block. */
async function readAll(stream: Readable, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of addAbortSignal(signal, stream)) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

function throttled(write: (line: string) => void): (line: string) => void {
  let last = performance.now();
  return (line) => {
    if (performance.now() - last < PROGRESS_MS) return;
    last = performance.now();
    write(line);
  };
}
