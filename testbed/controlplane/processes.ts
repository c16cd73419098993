import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import type { AtEnd, Exited, Message, Reply, Request } from './protocol.js';

/** A process of the control plane that runs now. */
export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** File of its output. */
  readonly log: string;
}

/** A process exited without a stop request. */
export class ProcessDied extends Error {
  constructor(
    readonly processName: string,
    readonly status: number | string,
    /** The last lines that it wrote. */
    readonly lastLines: string,
  ) {
    super(`${processName} ended early with ${status}; its last lines:\n${lastLines}`);
    this.name = 'ProcessDied';
  }
}

/** How long a process has to end after SIGTERM before SIGKILL follows, in milliseconds. */
const GRACE_MS = 10_000;

/**
 * The processes of one control plane, started through a supervisor that ends them when this process
 * ends in any way (see `supervisor.ts`).
 *
 * It does not keep this process alive: one that forgets to stop can still end.
 */
export class Processes {
  readonly #supervisor: ChildProcess;
  readonly #running = new Map<string, RunningProcess>();
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  readonly #ended: Promise<void>;
  readonly #failure = Promise.withResolvers<never>();
  #stopping = false;
  #requests = 0;

  /** `atEnd`: what the supervisor does when all have ended, also when this process is killed. */
  constructor(
    private readonly logFolder: string,
    atEnd: AtEnd = {},
  ) {
    const program = fileURLToPath(new URL('./supervisor.js', import.meta.url));
    // A separate process group: Ctrl-C in a terminal signals this process only, which ends the
    // others.
    this.#supervisor = fork(program, [JSON.stringify(atEnd)], {
      detached: true,
      execArgv: [],
      env: supervisorEnvironment(),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#supervisor.on('message', (message: Message) => {
      this.#receive(message);
    });
    this.#ended = new Promise((resolve) => {
      this.#supervisor.once('error', (error) => {
        this.#lost(error, resolve);
      });
      this.#supervisor.once('exit', (code, signal) => {
        this.#lost(new Error(`the supervisor ended with ${signal ?? code}`), resolve);
      });
    });
    // Without a listener the next request sees the failure.
    this.failed.catch(() => undefined);
    this.#unref();
  }

  get running(): readonly RunningProcess[] {
    return [...this.#running.values()];
  }

  /** Process id of the supervisor, which is also the id of the group of all processes. */
  get group(): number | undefined {
    return this.#supervisor.pid;
  }

  async start(name: string, command: string, args: readonly string[]): Promise<RunningProcess> {
    const log = path.join(this.logFolder, `${name}.log`);
    const request = { type: 'start', id: ++this.#requests, name, command, args, log } as const;
    const reply = await this.#send(request);
    if (reply.type !== 'started') {
      const why = reply.type === 'failed' ? reply.message : reply.type;
      throw new Error(`cannot start ${command}: ${why}`);
    }
    return { name, pid: reply.pid, log };
  }

  /** Ends one process and waits for its end; nothing happens when it does not run. */
  async stop(name: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#send({ type: 'stop', id: ++this.#requests, name, signal, graceMs: GRACE_MS });
  }

  /** Ends all processes and the supervisor, and waits for their end. Can be called again. */
  async end(): Promise<void> {
    this.#stopping = true;
    this.#supervisor.ref();
    if (this.#supervisor.connected) this.#supervisor.disconnect();
    await this.#ended;
  }

  /** Rejects when a process exits without a stop request; never resolves. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Settles as `work` does, or rejects when a process exits without a stop request. */
  whileAlive<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.failed]);
  }

  async #send(request: Request): Promise<Reply> {
    if (!this.#supervisor.connected) throw new Error('the control plane has been stopped');
    this.#supervisor.ref();
    this.#supervisor.channel?.ref();
    const reply = new Promise<Reply>((resolve) => this.#waiting.set(request.id, resolve));
    this.#supervisor.send(request);
    try {
      return await reply;
    } finally {
      this.#waiting.delete(request.id);
      if (this.#waiting.size === 0) this.#unref();
    }
  }

  #receive(message: Message): void {
    if (message.type === 'exited') {
      this.#exited(message);
      return;
    }
    if (message.type === 'started') {
      const { name, pid, log } = message;
      this.#running.set(name, { name, pid, log });
    }
    this.#waiting.get(message.id)?.(message);
  }

  #exited({ name, pid, log, status, expected }: Exited): void {
    if (this.#running.get(name)?.pid === pid) this.#running.delete(name);
    if (expected || this.#stopping) return;
    this.#failure.reject(new ProcessDied(name, status, lastLines(log)));
  }

  /** The supervisor has exited: kills the processes that it may have left. */
  #lost(error: Error, resolve: () => void): void {
    const { pid } = this.#supervisor;
    if (pid !== undefined) {
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        // ESRCH: the whole group has ended, as it should.
      }
    }
    this.#running.clear();
    if (!this.#stopping) this.#failure.reject(error);
    for (const [id, answer] of this.#waiting) {
      answer({ type: 'failed', id, message: error.message });
    }
    resolve();
  }

  #unref(): void {
    this.#supervisor.unref();
    this.#supervisor.channel?.unref();
  }
}

function lastLines(log: string): string {
  return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
}

/** Without what a test runner or a debugger puts there for its own children. */
function supervisorEnvironment(): NodeJS.ProcessEnv {
  const environment = { ...process.env };
  delete environment.NODE_OPTIONS;
  delete environment.NODE_TEST_CONTEXT;
  return environment;
}
