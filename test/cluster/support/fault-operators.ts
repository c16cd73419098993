import type { Cluster } from '../harness.js';
import { FaultProxy } from './fault-proxy.js';
import { argsOf, envOf, Operator, type OperatorOptions } from './operator.js';

/** Operators that reach the API server through a proxy, or with a kubeconfig of the test's own. */
export class FaultOperators {
  readonly #all: Operator[] = [];
  readonly #proxies: FaultProxy[] = [];

  constructor(private readonly cluster: Cluster) {}

  /** Starts one; `stop` ends it at the latest. */
  async start(
    through: FaultProxy | undefined,
    options: OperatorOptions = {},
    args: readonly string[] = [],
  ): Promise<Operator> {
    const { user = 'operator', groups = ['system:masters'], wait = true } = options;
    const env = envOf(options);
    const kubeconfig =
      through?.kubeconfig ?? (await this.cluster.controlPlane.userKubeconfig(user, groups));
    const operator = new Operator({ user, kubeconfig, env, args: [...argsOf(options), ...args] });
    this.#all.push(operator);
    if (wait) await operator.logged('caches are filled');
    return operator;
  }

  /** A proxy in front of the API server; `stop` ends it at the latest. */
  async proxy(): Promise<FaultProxy> {
    const proxy = await FaultProxy.start(this.cluster.controlPlane);
    this.#proxies.push(proxy);
    return proxy;
  }

  async stop(): Promise<void> {
    for (const operator of this.#all) {
      // One that was stopped with SIGSTOP ends all the same.
      if (operator.running) operator.kill('SIGKILL');
    }
    await Promise.all(this.#all.map(({ exited }) => exited));
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
  }
}
