import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { FaultOperators } from './support/fault-operators.js';
import type { FaultProxy } from './support/fault-proxy.js';
import {
  assertNoOrphans,
  assertSameWorld,
  secretsOf,
  snapshot,
  type Snapshot,
} from './support/fault-world.js';
import { nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

/** Worlds at once: each has an operator that starts, is killed and starts again. */
const AT_ONCE = 4;
const PATIENCE_MS = 60_000;
/** As many children as ever, with few pods. */
const componentReplicas = { workerDefault: 0, workerShort: 0, workerLong: 0 };
const MANIFESTS = [
  aBench('b', { deletionPolicy: 'Delete', componentReplicas }),
  aSite('s', {
    bench: 'b',
    deletionPolicy: 'Delete',
    ingress: { enabled: true },
    componentReplicas,
  }),
];

let cluster: Cluster;
let operators: FaultOperators;
before(async () => {
  cluster = await startCluster({ persistentVolumes: 300, audit: true });
  operators = new FaultOperators(cluster);
  undisturbed = await undisturbedEnd();
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

/** A namespace with an operator of its own, which can be killed at a write. */
class World {
  /** What was written since the last `killAt`. */
  readonly writes: string[] = [];
  #killAt = 0;
  #dead = false;
  #operator: Operator | undefined;

  private constructor(
    readonly namespace: string,
    private readonly proxy: FaultProxy,
  ) {
    // What is before the n-th write is after the one before it, where they come one at a time.
    proxy.serial = true;
    proxy.rule = ({ isWrite, method, path }) => {
      if (!isWrite) return undefined;
      this.writes.push(`${method} ${path.split('/').slice(-3).join('/')}`);
      if (this.writes.length === this.#killAt) {
        this.#dead = true;
        this.#operator?.kill('SIGKILL');
      }
      return this.#dead ? 'drop' : undefined;
    };
  }

  static async make(): Promise<World> {
    const proxy = await operators.proxy();
    return new World(await cluster.namespace(), proxy);
  }

  /** Kills the operator in place of its n-th write from now; 0 is never. */
  killAt(write: number): void {
    this.writes.length = 0;
    this.#killAt = write;
  }

  async start(): Promise<void> {
    const { namespace } = this;
    this.#dead = false;
    this.#operator = await operators.start(this.proxy, { namespaces: [namespace], wait: false });
  }

  /**
   * Waits for an end. Where the operator is killed before it, another one is started.
   * @returns whether it was killed, and the Secrets as they were then
   */
  async survive(end: () => Promise<void>): Promise<ReadonlyMap<string, string> | undefined> {
    const killed = this.#operator?.exited.then(() => true);
    const ended = end();
    if (!(await Promise.race([killed, ended.then(() => false)]))) return undefined;
    const secrets = await secretsOf(cluster, this.namespace);
    await this.start();
    await ended;
    return secrets;
  }

  async create(): Promise<void> {
    await cluster.apply(this.namespace, ...MANIFESTS);
  }

  async ready(): Promise<void> {
    await cluster.ready('AppBench', this.namespace, 'b', PATIENCE_MS);
    await cluster.ready('AppSite', this.namespace, 's', PATIENCE_MS);
  }

  async delete(): Promise<void> {
    await cluster.delete('AppSite', this.namespace, 's');
    await cluster.delete('AppBench', this.namespace, 'b');
  }

  /** Waits until bench and site are gone, and all that was theirs. */
  async gone(): Promise<void> {
    await cluster.gone('AppSite', this.namespace, 's', PATIENCE_MS);
    await cluster.gone('AppBench', this.namespace, 'b', PATIENCE_MS);
    await cluster.until(`nothing is left in ${this.namespace}`, async () => {
      const left = await cluster.children(this.namespace);
      assert.deepEqual(left.map(nameOf), []);
      return true;
    });
  }

  /** How often each Job was created; a Job that ran twice was created twice, or had two pods. */
  async jobs(): Promise<Readonly<Record<string, number>>> {
    const made: Record<string, number> = {};
    for (const call of await cluster.calls({ namespace: this.namespace })) {
      const { resource, name = '' } = call.objectRef ?? {};
      if (resource !== 'jobs' || call.responseStatus?.code !== 201) continue;
      made[name] = (made[name] ?? 0) + 1;
    }
    return made;
  }

  async stop(): Promise<void> {
    await this.#operator?.stop();
    await this.proxy.stop();
  }
}

/** A world in which nothing goes wrong: its end, and the writes on the way there and back. */
let undisturbed: {
  readonly end: Snapshot;
  readonly creation: readonly string[];
  readonly deletion: readonly string[];
};
/** Worlds that stay. */
const left: string[] = [];

async function undisturbedEnd(): Promise<typeof undisturbed> {
  const world = await World.make();
  await world.start();
  await world.create();
  await world.ready();
  const creation = [...world.writes];
  const end = await snapshot(cluster, world.namespace);
  world.killAt(0);
  await world.delete();
  await world.gone();
  await world.stop();
  return { end, creation, deletion: [...world.writes] };
}

test(
  'killed at each of its writes, an operator comes to the same end',
  { concurrency: AT_ONCE },
  async (t) => {
    const { creation, deletion } = undisturbed;
    t.diagnostic(`${creation.length} writes of a creation, ${deletion.length} of a deletion`);
    assert.ok(creation.length > 30 && deletion.length > 10, 'writes pass through the proxy');
    const runs = Array.from({ length: creation.length }, (_, index) => index + 1).map((write) =>
      t.test(`at write ${write}: ${creation[write - 1] ?? ''}`, async () => {
        const world = await World.make();
        try {
          await liveThrough(world, write);
          if (write <= deletion.length) await dieThrough(world, write);
          else left.push(world.namespace);
        } finally {
          await world.stop();
        }
      }),
    );
    await Promise.all(runs);
  },
);

async function liveThrough(world: World, write: number): Promise<void> {
  const { namespace } = world;
  world.killAt(write);
  await world.start();
  await world.create();
  const secrets = await world.survive(() => world.ready());
  // How many writes tell of the way to Ready depends on how fast pods are.
  if (write < undisturbed.creation.length - 5) assert.ok(secrets, 'it was killed');
  const end = await snapshot(cluster, namespace);
  assertSameWorld(end, undisturbed.end, `killed at write ${write}`);
  assert.deepEqual(end.jobPods, undisturbed.end.jobPods, 'no Job runs twice');
  assert.deepEqual(await world.jobs(), { 'b-init': 1, 's-init': 1 });
  const now = await secretsOf(cluster, namespace);
  for (const [name, bytes] of secrets ?? []) assert.equal(now.get(name), bytes, name);
  await assertNoOrphans(cluster, namespace);
}

async function dieThrough(world: World, write: number): Promise<void> {
  world.killAt(write);
  await world.delete();
  await world.survive(() => world.gone());
  assert.deepEqual(await world.jobs(), { 'b-init': 1, 's-init': 1, 's-drop': 1 });
}

test('none of them leaves anything to do for the operator that comes after it', async () => {
  assert.ok(left.length > 10, `${left.length} worlds`);
  const user = 'successor';
  await operators.start(undefined, { namespaces: left, user });
  await sleep(3_000);
  assert.deepEqual(await cluster.writes({ user }), []);
});
