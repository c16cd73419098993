import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { deadline } from '../../../testbed/timeouts.js';

const MAIN = fileURLToPath(new URL('../../../operator/main.js', import.meta.url));

/** A line of the operator's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface OperatorOptions {
  /** Namespaces to watch. Default: all. */
  readonly namespaces?: readonly string[];
  /** Its user, which distinguishes its calls from others'. Default: `operator`. */
  readonly user?: string;
  /** Groups of the user. Default: `system:masters`. */
  readonly groups?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Serves `/metrics` on this port of 127.0.0.1. Default: not at all. */
  readonly metricsPort?: number;
  /** Serves `/healthz` and `/readyz` on this port of 127.0.0.1. Default: not at all. */
  readonly healthPort?: number;
  /** Whether to wait until its caches are filled. Default: true. */
  readonly wait?: boolean;
  /** The compiled program. @default `operator/main.js` */
  readonly main?: string;
  /** How many times faster its timers run. Default: 1. */
  readonly timeFactor?: number;
  /** How far its clock is ahead of the API server's, in milliseconds. Default: 0. */
  readonly clockAheadMs?: number;
}

const OPERATOR_TIME = new URL('./operator-time.js', import.meta.url).href;

/** The environment of an operator that tests start. */
export function envOf({ env = {}, timeFactor = 1, clockAheadMs = 0 }: OperatorOptions): Env {
  if (timeFactor === 1 && clockAheadMs === 0) return env;
  return {
    ...env,
    NODE_OPTIONS: `--import=${OPERATOR_TIME}`,
    TEST_TIME_FACTOR: String(timeFactor),
    TEST_CLOCK_AHEAD_MS: String(clockAheadMs),
  };
}

type Env = Readonly<Record<string, string>>;

/** The flags of an operator in tests: without servers, and without HTTP probes. */
export function argsOf({ namespaces, metricsPort, healthPort }: OperatorOptions): string[] {
  const listen = (port: number | undefined): string => (port ? `127.0.0.1:${port}` : '0');
  return [
    '--site-check=false',
    '--metrics-secure-bind-address=0',
    `--metrics-bind-address=${listen(metricsPort)}`,
    `--health-probe-bind-address=${listen(healthPort)}`,
    ...(namespaces ? [`--watch-namespaces=${namespaces.join(',')}`] : []),
  ];
}

export interface OperatorProps {
  readonly user: string;
  readonly kubeconfig: string;
  readonly args: readonly string[];
  /** The compiled `runner/main.js` of another release. @default that of this one */
  readonly main?: string;
  /** Further environment variables; none of the tests' own that begin with APP_ is passed on. */
  readonly env: Readonly<Record<string, string>>;
}

/** The operator as a process of its own. It never outlives the process of the tests. */
export class Operator {
  readonly user: string;
  /** Everything logged so far, the oldest first. */
  readonly lines: LogLine[] = [];
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess;
  #exit: Exit | undefined;

  constructor({ user, kubeconfig, args, env, main = MAIN }: OperatorProps) {
    this.user = user;
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('APP_'));
    const child = spawn(process.execPath, [main, ...args], {
      env: { ...Object.fromEntries(inherited), ...env, KUBECONFIG: kubeconfig },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = child;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.lines.push(parse(line));
    });
    const release = guard(child);
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal };
        release();
        resolve(this.#exit);
      });
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Ends it with SIGTERM, and with SIGKILL after the time. */
  async stop(timeoutMs = 30_000): Promise<Exit> {
    this.kill('SIGTERM');
    const timer = setTimeoutUnref(() => this.kill('SIGKILL'), timeoutMs);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }

  /** Waits for a line of the log, and returns it; what has been logged already counts. */
  async logged(msg: string, timeoutMs = 120_000): Promise<LogLine> {
    const isOver = deadline(timeoutMs);
    for (;;) {
      const found = this.lines.find((line) => line.msg === msg);
      if (found) return found;
      if (!this.running) throw new Error(`the operator ended:\n${this.tail()}`);
      if (isOver()) throw new Error(`"${msg}" is not logged:\n${this.tail()}`);
      await sleep(20);
    }
  }

  /** The last lines of the log, of warnings and errors only where there are any. */
  tail(count = 5): string {
    const bad = this.lines.filter(({ level }) => level === 'warn' || level === 'error');
    const shown = (bad.length > 0 ? bad : this.lines).slice(-count);
    return shown.map(({ stacktrace: _, ...line }) => JSON.stringify(line)).join('\n');
  }
}

function parse(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { level: 'error', msg: line };
  }
}

function setTimeoutUnref(work: () => void, ms: number): NodeJS.Timeout {
  const timer = setTimeout(work, ms);
  timer.unref();
  return timer;
}

/** A shell that waits for the end of a pipe kills the process when this one ends in any way. */
function guard(child: ChildProcess): () => void {
  const script = 'read -r _; kill -KILL "$0" 2>/dev/null';
  const shell = spawn('sh', ['-c', script, String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  shell.stdin.on('error', () => undefined);
  return () => {
    shell.kill('SIGKILL');
    shell.stdin.destroy();
  };
}
