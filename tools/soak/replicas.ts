import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { any, lost, refused, when, writes } from '../../testbed/fault-proxy/faults.js';
import { OperatorProcess } from '../../testbed/operator-process.js';
import type { Random } from './random-choice.js';

const FLAGS = ['--leader-elect', '--leader-election-namespace=default'];
/** The share of calls that fail while a network is bad. */
const FAILING = 0.05;

/** Calls that keep the lease, and watches that begin again after their time: also made at rest. */
const AT_REST = /^WATCH |\/leases(\/|$)/;

/** Two operators with leader election, each behind a proxy of its own. */
export class Replicas {
  kills = 0;
  cuts = 0;

  private constructor(
    private readonly proxies: readonly FaultProxy[],
    private readonly processes: OperatorProcess[],
    private readonly logFile: string | undefined,
  ) {}

  static async start(cp: ControlPlane, logFile: string | undefined): Promise<Replicas> {
    const proxies = [await FaultProxy.start(cp, 'soak-1'), await FaultProxy.start(cp, 'soak-2')];
    const processes = await Promise.all(
      proxies.map(({ kubeconfig }) => OperatorProcess.start({ kubeconfig, flags: FLAGS, logFile })),
    );
    return new Replicas(proxies, processes, logFile);
  }

  /** One fault: a replica is killed, or its network fails for a while. */
  async disturb({ below, one }: Random): Promise<string> {
    await this.heal();
    const index = below(this.proxies.length);
    const proxy = this.proxies[index];
    if (!proxy) return 'nothing';
    const kind = one(['kill', 'cut', 'refuse', 'errors'] as const);
    if (kind === 'kill') await this.#kill(index);
    else this.cuts += 1;
    if (kind === 'cut') for (const watch of proxy.watches) watch.cut();
    if (kind === 'refuse') {
      await proxy.refuse();
      await sleep(500 + below(4_000));
      await proxy.accept();
    }
    if (kind === 'errors') {
      const failing = when(() => below(1_000) < FAILING * 1_000, any(refused(500)));
      const losing = when(() => below(1_000) < FAILING * 1_000, lost);
      proxy.rule = any(failing, writes(losing));
      await sleep(2_000 + below(8_000));
      proxy.rule = undefined;
    }
    return `${kind} of replica ${index + 1}`;
  }

  /** Kills each replica once: the leader has then listed all objects, as after any other kill. */
  async renew(): Promise<void> {
    for (const index of this.processes.keys()) await this.#kill(index);
  }

  /** Starts a replica again that ended, since it lost its lease: its Deployment would. */
  async heal(): Promise<void> {
    for (const [index, process] of this.processes.entries()) {
      if (!process.running) await this.#start(index);
    }
  }

  /** Calls of both since the last question, without the calls that are made at rest. */
  takeCalls(): readonly string[] {
    return this.proxies
      .flatMap(({ calls }) => calls.splice(0))
      .filter((call) => !AT_REST.test(call));
  }

  /** Memory of both in MiB. */
  async memory(): Promise<number> {
    const each = await Promise.all(this.processes.map((process) => process.memory()));
    return each.reduce((sum, one) => sum + one, 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.stop()));
    await Promise.all(this.proxies.map((proxy) => proxy.stop()));
  }

  async #kill(index: number): Promise<void> {
    this.kills += 1;
    this.processes[index]?.kill();
    await this.#start(index);
  }

  async #start(index: number): Promise<void> {
    const kubeconfig = this.proxies[index]?.kubeconfig ?? '';
    const { logFile } = this;
    this.processes[index] = await OperatorProcess.start({ kubeconfig, flags: FLAGS, logFile });
  }
}
