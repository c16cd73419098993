import { spawn } from 'node:child_process';

/**
 * Runs kubectl and returns what it writes to standard output.
 *
 * @param input sent to its standard input. Default: none.
 * @throws Error with its standard error when it ends with another code than 0.
 */
export function runKubectl(
  binary: string,
  args: readonly string[],
  input?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    // EPIPE, when kubectl ends before it has read all: its exit code says why.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) {
        resolve(Buffer.concat(output).toString());
        return;
      }
      const why = Buffer.concat(errors).toString().trim();
      reject(new Error(`kubectl ${args.join(' ')} ended with ${signal ?? code}: ${why}`));
    });
  });
}
