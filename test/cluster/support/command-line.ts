import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { runProgram } from '../../../cli/program.js';

/** The command line's program. */
export const MAIN = fileURLToPath(new URL('../../../app-operator/main.js', import.meta.url));

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command line, asking the cluster of a kubeconfig. */
export class CommandLine {
  constructor(private readonly kubeconfig: string) {}

  /** Runs a command in this process: the start of one takes half a second of a processor. */
  async run(args: readonly string[], input = ''): Promise<CommandResult> {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runProgram(args, {
      program: 'app-operator',
      env: this.#env,
      colours: false,
      columns: undefined,
      signal: new AbortController().signal,
      readStdin: () => Promise.resolve(Buffer.from(input)),
      write: (text) => out.push(text),
      progress: undefined,
      notify: (line) => err.push(`${line}\n`),
    });
    return { code, out: out.join(''), err: err.join('') };
  }

  /** Starts a process that continues to run. */
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
