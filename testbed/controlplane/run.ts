import { spawn } from 'node:child_process';

export interface RunOptions {
  /** Sent to its standard input. Default: none. */
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/**
 * Runs a program of this machine and returns what it writes to standard output.
 *
 * @throws Error with its last output when it ends with another code than 0, or cannot be started.
 */
export function run(
  command: string,
  args: readonly string[],
  { input, env, cwd }: RunOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: env ?? process.env, cwd, stdio: 'pipe' });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    // EPIPE, when it ends before it has read all: its exit code has the reason.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) {
        resolve(Buffer.concat(output).toString());
        return;
      }
      const text = Buffer.concat([...output, ...errors])
        .toString()
        .trim();
      const what = `${command} ${args.join(' ')} ended with ${signal ?? code}`;
      reject(new Error(`${what}: ${text.slice(-3_000)}`));
    });
  });
}
