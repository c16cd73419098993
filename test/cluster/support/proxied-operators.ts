import type { Cluster } from '../harness.js';
import { FaultProxy } from '../../../testbed/fault-proxy/fault-proxy.js';
import { argsOf, envOf, Operator, type OperatorOptions } from './operator.js';

/** Operators that connect through a fault proxy, or with the kubeconfig of a user. */
export class ProxiedOperators {
  readonly #all: Operator[] = [];
  readonly #proxies: FaultProxy[] = [];

  constructor(private readonly cluster: Cluster) {}

  /** Starts an operator; `stop` ends it at the latest. */
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
      // SIGKILL also ends a process that SIGSTOP has stopped.
      if (operator.running) operator.kill('SIGKILL');
    }
    await Promise.all(this.#all.map(({ exited }) => exited));
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
  }
}
