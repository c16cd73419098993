import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The command line's program. */
export const MAIN = fileURLToPath(new URL('../../../cli/main.js', import.meta.url));

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command line as a process of its own, asking the cluster of a kubeconfig. */
export class CommandLine {
  constructor(private readonly kubeconfig: string) {}

  run(args: readonly string[], input = ''): Promise<CommandResult> {
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [MAIN, ...args],
        { env: this.#env, maxBuffer: 64 * 1024 * 1024 },
        (error, out, err) => {
          resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err });
        },
      );
      child.stdin?.end(input);
    });
  }

  /** Starts one that continues to run. */
  start(args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [MAIN, ...args], {
      env: this.#env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  get #env(): NodeJS.ProcessEnv {
    return { ...process.env, KUBECONFIG: this.kubeconfig, NO_COLOR: '1' };
  }
}
