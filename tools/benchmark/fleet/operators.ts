import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorProcess, type Usage } from '../../../testbed/operator-process.js';

const NAMESPACE = 'app-operator-system';
/** CPU of all replicas in a second, below which they are at rest. */
const REST_CPU = 0.05;
/** Seconds in a row: the last request about optional APIs is sent seven seconds after the start. */
const REST_SECONDS = 8;

export interface OperatorsOptions {
  readonly kubeconfig: string;
  readonly shards: number;
  readonly nodeFlags?: readonly string[];
}

/** One operator, or one for each shard. */
export class Operators {
  private constructor(private readonly processes: readonly OperatorProcess[]) {}

  /** Resolves when all caches are filled. */
  static async start({ shards, ...options }: OperatorsOptions): Promise<Operators> {
    const ofShards = [
      '--leader-elect',
      `--shards=${shards}`,
      `--leader-election-namespace=${NAMESPACE}`,
    ];
    const flags = shards > 1 ? ofShards : [];
    const logFile = process.env['BENCHMARK_LOG'];
    return new Operators(
      await Promise.all(
        Array.from({ length: shards }, () => OperatorProcess.start({ ...options, flags, logFile })),
      ),
    );
  }

  /** Of all together. */
  async usage(): Promise<Usage> {
    const each = await Promise.all(this.processes.map((process) => process.usage()));
    return each.reduce((a, b) => ({
      cpu: a.cpu + b.cpu,
      calls: added(a.calls, b.calls),
      synthesized: a.synthesized + b.synthesized,
      allocated: a.allocated + b.allocated,
    }));
  }

  /** Of the largest, in MiB. */
  async peakMemory(): Promise<number> {
    return Math.max(...(await Promise.all(this.processes.map((one) => one.peakMemory()))));
  }

  /** Of the largest, in MiB. */
  async memory(): Promise<number> {
    return Math.max(...(await Promise.all(this.processes.map((one) => one.memory()))));
  }

  /** Waits until the replicas are at rest. */
  async atRest(): Promise<void> {
    let before = await this.#cpu();
    for (let seconds = 0; seconds < REST_SECONDS;) {
      await sleep(1_000);
      const cpu = await this.#cpu();
      seconds = cpu - before < REST_CPU * this.processes.length ? seconds + 1 : 0;
      before = cpu;
    }
  }

  async #cpu(): Promise<number> {
    const each = await Promise.all(this.processes.map((process) => process.cpu()));
    return each.reduce((a, b) => a + b, 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.stop()));
  }
}

function added(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const verbs = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...verbs].map((verb) => [verb, (a[verb] ?? 0) + (b[verb] ?? 0)]));
}
