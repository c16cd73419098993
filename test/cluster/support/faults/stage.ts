import assert from 'node:assert/strict';

import type { FaultProxy } from '../../../../testbed/fault-proxy/fault-proxy.js';
import type { Cluster } from '../../harness.js';
import type { Operator } from '../operator.js';
import type { ProxiedOperators } from '../proxied-operators.js';
import type { Lifecycle } from '../lifecycle.js';

/** A namespace, and the operator that serves it through a proxy. */
export class Stage {
  #operator: Operator | undefined;
  #secrets: ReadonlyMap<string, string> = new Map();

  constructor(
    readonly cluster: Cluster,
    readonly operators: ProxiedOperators,
    readonly proxy: FaultProxy,
    readonly lifecycle: Lifecycle,
  ) {}

  get namespace(): string {
    return this.lifecycle.namespace;
  }

  /** The one that was started last. */
  get operator(): Operator {
    assert.ok(this.#operator, 'an operator was started');
    return this.#operator;
  }

  /** Starts an operator, through the proxy of the stage unless another one is given. */
  async start(proxy = this.proxy, flags: readonly string[] = []): Promise<Operator> {
    const options = { namespaces: [this.namespace], wait: false };
    const operator = await this.operators.start(proxy, options, flags);
    if (proxy === this.proxy) this.#operator = operator;
    return operator;
  }

  /** Ends the operator, and waits until it is dead. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (signal === 'SIGTERM') await this.operator.stop();
    else this.operator.kill(signal);
    await this.operator.exited;
  }

  /** Starts an operator whenever one has died, until the work is done. At the end one lives. */
  async alwaysOne(work: Promise<void>): Promise<void> {
    const again = async (): Promise<Operator> => {
      await this.secretsStay();
      return this.start();
    };
    const last = await restarted(this.operator, again, work);
    if (!last.running) await this.start();
  }

  /** No Secret that exists may ever change. */
  async secretsStay(): Promise<void> {
    const all = await this.cluster.list('Secret', this.namespace);
    const now = new Map(all.map(({ metadata, data }) => [metadata.name, JSON.stringify(data)]));
    for (const [name, data] of this.#secrets) {
      assert.equal(now.get(name) ?? data, data, `Secret ${name} of ${this.namespace}`);
    }
    this.#secrets = now;
  }

  /** No fault any more: the next lists have all. */
  calm(): void {
    const { proxy } = this;
    proxy.rule = undefined;
    proxy.watchDelay = () => 0;
    proxy.watchFault = () => undefined;
    for (const watch of proxy.watches) watch.expire();
  }
}

/** Starts an operator again whenever it ends, as its Deployment does, until the work is done. */
export async function restarted(
  first: Operator,
  again: () => Promise<Operator>,
  work: Promise<void>,
): Promise<Operator> {
  const done = work.then(() => true);
  let operator = first;
  while (!(await Promise.race([done, operator.exited.then(() => false)]))) operator = await again();
  return operator;
}
