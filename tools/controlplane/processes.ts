import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Exited, Message, Reply, Request } from './protocol.js';

/** A process of the control plane that runs now. */
export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** File of its output. */
  readonly log: string;
}

/** A process ended without being asked to. */
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
  readonly #logs = new Map<string, string>();
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  readonly #watchers = new Set<(error: Error) => void>();
  readonly #ended: Promise<void>;
  #death: Error | undefined;
  #requests = 0;

  /** `remove`: folder removed at the end, also when this process is killed. */
  constructor(
    private readonly logFolder: string,
    remove?: string,
  ) {
    const program = fileURLToPath(new URL('./supervisor.js', import.meta.url));
    // A group of its own: Ctrl-C in a terminal reaches this process only, which ends the others.
    this.#supervisor = fork(program, remove === undefined ? [] : [remove], {
      detached: true,
      execArgv: [],
      env: supervisorEnvironment(),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#supervisor.on('message', (message: Message) => this.#receive(message));
    this.#ended = new Promise((resolve) => {
      this.#supervisor.once('error', (error) => this.#lost(error, resolve));
      this.#supervisor.once('exit', (code, signal) => {
        this.#lost(new Error(`the supervisor ended with ${signal ?? code}`), resolve);
      });
    });
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
    this.#logs.set(name, log);
    const request = { type: 'start', id: ++this.#requests, name, command, args, log } as const;
    const reply = await this.#ask(request);
    if (reply.type !== 'started') {
      const why = reply.type === 'failed' ? reply.message : reply.type;
      throw new Error(`cannot start ${command}: ${why}`);
    }
    const started = { name, pid: reply.pid, log };
    if (this.#death === undefined) this.#running.set(name, started);
    return started;
  }

  /** Ends one process and waits for its end; nothing happens when it does not run. */
  async stop(name: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#ask({ type: 'stop', id: ++this.#requests, name, signal, graceMs: GRACE_MS });
  }

  /** Ends all processes and the supervisor, and waits for their end. Can be called again. */
  async end(): Promise<void> {
    this.#supervisor.ref();
    if (this.#supervisor.connected) this.#supervisor.disconnect();
    await this.#ended;
  }

  /** Rejects as soon as a process ends unasked; otherwise settles as `work` does. */
  async whileAlive<T>(work: Promise<T>): Promise<T> {
    let watcher: ((error: Error) => void) | undefined;
    const died = new Promise<never>((_, reject) => {
      watcher = reject;
      if (this.#death === undefined) this.#watchers.add(reject);
      else reject(this.#death);
    });
    try {
      return await Promise.race([work, died]);
    } finally {
      if (watcher !== undefined) this.#watchers.delete(watcher);
    }
  }

  async #ask(request: Request): Promise<Reply> {
    if (!this.#supervisor.connected) {
      throw this.#death ?? new Error('the control plane has been stopped');
    }
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
    if (message.type === 'exited') this.#exited(message);
    else this.#waiting.get(message.id)?.(message);
  }

  #exited({ name, pid, status, expected }: Exited): void {
    if (this.#running.get(name)?.pid === pid) this.#running.delete(name);
    if (!expected) this.#died(new ProcessDied(name, status, this.#lastLines(name)));
  }

  #died(error: Error): void {
    this.#death ??= error;
    for (const watcher of this.#watchers) watcher(error);
    this.#watchers.clear();
  }

  /** The supervisor is gone, so no process may be left: normally there is none. */
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
    this.#died(error);
    for (const [id, answer] of this.#waiting) {
      answer({ type: 'failed', id, message: error.message });
    }
    resolve();
  }

  #lastLines(name: string): string {
    const log = this.#logs.get(name);
    if (log === undefined) return '';
    return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  }

  #unref(): void {
    this.#supervisor.unref();
    this.#supervisor.channel?.unref();
  }
}

/** Without what a test runner or a debugger puts there for its own children. */
function supervisorEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...rest } = process.env;
  return rest;
}
