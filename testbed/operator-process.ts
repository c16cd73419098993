import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { freePort } from './controlplane/ports.js';
import { cpuSecondsOf } from './process-usage.js';
import { SERVICE_ADDRESSES } from './resolve-services.js';

const MAIN = fileURLToPath(new URL('../operator/main.js', import.meta.url));
/** The same code in its modules: a profile names these. */
const MODULES = fileURLToPath(new URL('../runner/main.js', import.meta.url));
const RESOLVE_SERVICES = fileURLToPath(new URL('resolve-services.js', import.meta.url));
/**
 * As in the Dockerfile: what lives is small, so collecting garbage early costs little and halves
 * the memory.
 */
export const NODE_FLAGS = ['--max-semi-space-size=2', '--heap-growing-percent=20'];
/** As in the Dockerfile: glibc gives unused memory back. */
export const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
/** What the operator has used so far. */
export interface Usage {
  /** Seconds of CPU, of all threads. */
  readonly cpu: number;
  /** Calls to the API server, by verb. */
  readonly calls: Readonly<Record<string, number>>;
  /** Synthesized child objects, applied or not. */
  readonly synthesized: number;
  /** Reconciles, by controller and cause: `AppSite: Deployment changed`. */
  readonly passes: Readonly<Record<string, number>>;
  /** Bytes allocated on V8's heap, as of the last garbage collection; 0 if they are not counted. */
  readonly allocated: number;
}

export interface OperatorProcessOptions {
  readonly kubeconfig: string;
  readonly flags?: readonly string[];
  /** File that gets the log. @default nowhere */
  readonly logFile?: string | undefined;
  /** Addresses of the Services of benches, by namespace. @default sites are not checked */
  readonly serviceAddresses?: Readonly<Record<string, string>>;
  /** Flags of Node.js in addition to those of the image. */
  readonly nodeFlags?: readonly string[] | undefined;
  /** Whether to count the allocated bytes: V8 then prints a line for each garbage collection. */
  readonly countAllocations?: boolean;
  /** Whether to run the compiled modules in place of the bundle of the image. */
  readonly fromModules?: boolean;
}

/**
 * The operator as a separate process, as its image runs it. It ends with this process at the
 * latest.
 */
export class OperatorProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly metricsPort: number,
    private readonly allocated: () => number,
    /** The end of its log. */
    private readonly log: () => string,
  ) {}

  /**
   * Starts it, and waits until its caches are filled.
   * @throws with the end of its log where it ends before
   */
  static async start(options: OperatorProcessOptions): Promise<OperatorProcess> {
    const port = await freePort();
    const { serviceAddresses, nodeFlags = [], countAllocations, fromModules } = options;
    const child = spawn(
      process.execPath,
      [
        ...NODE_FLAGS,
        ...nodeFlags,
        ...(countAllocations ? ['--trace-gc-nvp'] : []),
        ...(serviceAddresses ? ['--import', RESOLVE_SERVICES] : []),
        fromModules ? MODULES : MAIN,
        `--site-check=${serviceAddresses !== undefined}`,
        `--metrics-bind-address=127.0.0.1:${port}`,
        '--metrics-secure-bind-address=0',
        '--health-probe-bind-address=0',
        ...(options.flags ?? []),
      ],
      {
        env: {
          ...{ ...process.env, ...MALLOC, KUBECONFIG: options.kubeconfig },
          [SERVICE_ADDRESSES]: JSON.stringify(serviceAddresses ?? {}),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const allocated = allocationsOf(child.stdout);
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    if (options.logFile) child.stderr.pipe(createWriteStream(options.logFile, { flags: 'a' }));
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString();
        if (log.includes('caches are filled')) resolve();
        log = log.slice(-4_000);
      });
      child.once('exit', () => {
        reject(endedEarly(child, log));
      });
    });
    return new OperatorProcess(child, port, allocated, () => log);
  }

  /** Rejects when the process exits; never resolves. */
  get failed(): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.child.once('exit', () => {
        reject(endedEarly(this.child, this.log()));
      });
    });
  }

  /**
   * Seconds of CPU so far. Unlike `usage`, it costs the operator nothing.
   * @throws with the end of its log where it has ended
   */
  async cpu(): Promise<number> {
    this.#requireRunning();
    return cpuSecondsOf(this.#pid);
  }

  async usage(): Promise<Usage> {
    const [cpu, exposition] = await Promise.all([
      this.cpu(),
      fetch(`http://127.0.0.1:${this.metricsPort}/metrics`).then((response) => response.text()),
    ]);
    const calls: Record<string, number> = {};
    for (const [, verb = '', count = '0'] of exposition.matchAll(
      /^app_operator_api_calls_total\{verb="([a-z]+)",.*\} (\d+)$/gm,
    )) {
      calls[verb] = (calls[verb] ?? 0) + Number(count);
    }
    const synthesized = [
      ...exposition.matchAll(/^app_operator_synthesized_objects_total\{.*\} (\d+)$/gm),
    ].reduce((sum, [, count]) => sum + Number(count), 0);
    const passes: Record<string, number> = {};
    for (const [, controller = '', cause = '', count = '0'] of exposition.matchAll(
      /^app_operator_reconcile_causes_total\{controller="([^"]+)",cause="([^"]+)"\} (\d+)$/gm,
    )) {
      passes[`${controller}: ${cause}`] = Number(count);
    }
    return { cpu, calls, synthesized, passes, allocated: this.allocated() };
  }

  /** The most memory that it has had, in MiB. */
  peakMemory(): Promise<number> {
    return this.#memory('VmHWM');
  }

  /** The memory that it has now, in MiB. */
  memory(): Promise<number> {
    return this.#memory('VmRSS');
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Ends it at once, as a node that fails does. */
  kill(): void {
    this.child.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    if (!this.running) return;
    const exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    await exited;
  }

  async #memory(field: 'VmHWM' | 'VmRSS'): Promise<number> {
    this.#requireRunning();
    const status = await readFile(`/proc/${this.#pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024;
  }

  #requireRunning(): void {
    if (!this.running) throw endedEarly(this.child, this.log());
  }

  get #pid(): number {
    return this.child.pid ?? 0;
  }
}

function endedEarly({ exitCode, signalCode }: ChildProcess, log: string): Error {
  const how = signalCode ?? `exit code ${exitCode ?? 'none'}`;
  return new Error(`the operator ended with ${how}:\n${log}`);
}

/** What was used between two moments. */
export function usageBetween(a: Usage, b: Usage): Usage {
  return {
    cpu: b.cpu - a.cpu,
    calls: countsBetween(a.calls, b.calls),
    synthesized: b.synthesized - a.synthesized,
    passes: countsBetween(a.passes, b.passes),
    allocated: b.allocated - a.allocated,
  };
}

function countsBetween(a: Usage['calls'], b: Usage['calls']): Usage['calls'] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  const counts = names.map((name) => [name, (b[name] ?? 0) - (a[name] ?? 0)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** Adds up what V8's trace of garbage collections says was allocated before each. */
function allocationsOf(trace: Readable): () => number {
  let bytes = 0;
  createInterface({ input: trace }).on('line', (line) => {
    bytes += Number(/ allocated=(\d+) /.exec(line)?.[1] ?? 0);
  });
  return () => bytes;
}
