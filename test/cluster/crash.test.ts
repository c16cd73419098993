import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import type { Call } from '../../testbed/fault-proxy/call.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import {
  assertNoOrphans,
  assertSameObjects,
  atRest,
  secretsOf,
  snapshot,
  type Snapshot,
} from './support/snapshot.js';
import { nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

/** Each scene's operator is killed at every second of the chosen writes, each at others: together at all. */
const SCENES = 2;
/** For a dozen starts of an operator, one after the other. */
const TIMEOUT_MS = 240_000;
/** All children, with few pods. */
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
let operators: ProxiedOperators;

/** A namespace with an operator of its own, which is killed at its writes. */
class Scene {
  /** What was written for the first time since the last `killAt`. */
  readonly writes: string[] = [];
  /** Where the operator was killed since then. */
  readonly kills: string[] = [];
  #kills: ReadonlySet<string> = new Set();
  #dead = true;
  #operator: Operator | undefined;
  #secrets: ReadonlyMap<string, string> = new Map();

  private constructor(
    readonly namespace: string,
    private readonly proxy: FaultProxy,
  ) {
    // What is before a write is after the one before it, where they come one at a time.
    proxy.serial = true;
    proxy.rule = (call) => {
      if (!call.isWrite) return undefined;
      if (this.#dead) return 'drop';
      const write = nameOfWrite(call);
      if (this.writes.includes(write)) return undefined;
      this.writes.push(write);
      if (!this.#kills.has(write)) return undefined;
      this.kills.push(write);
      this.#dead = true;
      this.#operator?.kill('SIGKILL');
      return 'drop';
    };
  }

  static async make(): Promise<Scene> {
    const proxy = await operators.proxy();
    return new Scene(await cluster.namespace(), proxy);
  }

  /** From now on the operator is killed in place of each of these writes, the first time. */
  killAt(writes: readonly string[]): void {
    this.writes.length = 0;
    this.kills.length = 0;
    this.#kills = new Set(writes);
  }

  /** Lives until an end: each time that the operator is killed, another one is started. */
  async live(end: () => Promise<void>): Promise<void> {
    const ended = end().then(() => true);
    while (!(await Promise.race([ended, this.#life()])));
    assert.deepEqual(this.#changedSecrets(await secretsOf(cluster, this.namespace)), []);
  }

  async create(): Promise<void> {
    await cluster.apply(this.namespace, ...MANIFESTS);
    await this.#ready();
  }

  async delete(): Promise<void> {
    const { namespace } = this;
    await cluster.delete('AppSite', namespace, 's');
    await cluster.delete('AppBench', namespace, 'b');
    await cluster.deleted('AppSite', namespace, 's', TIMEOUT_MS);
    await cluster.deleted('AppBench', namespace, 'b', TIMEOUT_MS);
    await cluster.until(`nothing is left in ${namespace}`, async () => {
      assert.deepEqual((await cluster.children(namespace)).map(nameOf), []);
      return true;
    });
  }

  /** How often each Job was created. */
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
  }

  /** One life of an operator. */
  async #life(): Promise<false> {
    if (this.#dead) {
      await this.#operator?.exited;
      const secrets = await secretsOf(cluster, this.namespace);
      assert.deepEqual(this.#changedSecrets(secrets), []);
      this.#secrets = secrets;
      const options = { namespaces: [this.namespace], wait: false };
      this.#dead = false;
      this.#operator = await operators.start(this.proxy, options);
    }
    await this.#operator?.exited;
    return false;
  }

  /** Secrets that were there in an earlier life, and are others now. */
  #changedSecrets(now: ReadonlyMap<string, string>): string[] {
    return [...this.#secrets].flatMap(([name, bytes]) =>
      now.has(name) && now.get(name) !== bytes ? [name] : [],
    );
  }

  async #ready(): Promise<void> {
    await cluster.ready('AppBench', this.namespace, 'b', TIMEOUT_MS);
    await cluster.ready('AppSite', this.namespace, 's', TIMEOUT_MS);
  }
}

/** A write in a few words; of a status, each step is one of its own. */
function nameOfWrite({ method, path, body }: Call): string {
  const [, phase = ''] = /"phase":"(\w+)"/.exec(body) ?? [];
  const [, secret = ''] = method === 'POST' ? (/"name":"([^"]+)"/.exec(body) ?? []) : [];
  const place = path.replace(/^.*\/namespaces\/[^/]+\//, '');
  return [method, place, secret, path.endsWith('/status') ? phase : ''].filter(Boolean).join(' ');
}

/**
 * What writes of one loop have in common, as `PATCH deployments b`. Each Job and each Secret that is
 * created is a kind of its own: they must not be created twice.
 */
function kindOfWrite(write: string): string {
  const [method = '', place = '', last = ''] = write.split(' ');
  const [plural = '', name = '', subresource = ''] = place.split('/');
  if (plural === 'jobs' || method === 'POST' || subresource === 'status') return write;
  return [method, plural, (name || last).split('-')[0]].join(' ');
}

/** The first write of each kind: what follows it in its loop differs only in what is written already. */
function firstOfEachKind(writes: readonly string[]): readonly string[] {
  const kinds = writes.map(kindOfWrite);
  return writes.filter((_, index) => kinds.indexOf(kinds[index] ?? '') === index);
}

/** A scene in which no operator is killed: its state after each step, and the writes of the step. */
interface Step {
  readonly end: Snapshot;
  readonly writes: readonly string[];
  readonly jobs: Readonly<Record<string, number>>;
}
/** state-matrix.test.ts has changes and upgrades. */
const STEPS = ['create', 'delete'] as const;
const undisturbed = new Map<string, Step>();
const readers: Scene[] = [];

async function step(scene: Scene, name: (typeof STEPS)[number]): Promise<Step> {
  await scene.live(() => scene[name]());
  return {
    end: await snapshot(cluster, scene.namespace),
    writes: [...scene.writes],
    jobs: await scene.jobs(),
  };
}

before(async () => {
  cluster = await startCluster({ persistentVolumes: 60, audit: true });
  operators = new ProxiedOperators(cluster);
  const scene = await Scene.make();
  for (const name of STEPS) {
    scene.killAt([]);
    undisturbed.set(name, await step(scene, name));
  }
  await scene.stop();
  for (let index = 0; index < SCENES; index++) readers.push(await Scene.make());
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

describe('an operator that is killed at each kind of its writes reaches the same end', () => {
  for (const name of STEPS) {
    test(`of a ${name === 'create' ? 'creation' : 'deletion'}`, async (t) => {
      const wanted = undisturbed.get(name);
      assert.ok(wanted);
      const places = firstOfEachKind(wanted.writes);
      t.diagnostic(`killed at ${places.length} of ${wanted.writes.length}: ${places.join(', ')}`);
      const killed = new Set<string>();
      await Promise.all(
        readers.map(async (scene, index) => {
          scene.killAt(places.filter((_, number) => number % SCENES === index));
          const { end, jobs } = await step(scene, name);
          assertSameObjects(end, wanted.end, `killed at ${scene.kills.join(', ')}`);
          assert.deepEqual(end.jobPods, wanted.end.jobPods, 'no Job runs twice');
          assert.deepEqual(jobs, wanted.jobs, 'no Job is made twice');
          await assertNoOrphans(cluster, scene.namespace);
          for (const write of scene.kills) killed.add(write);
        }),
      );
      // How many steps a status reports depends on how fast pods are.
      const missed = places.filter((write) => !killed.has(write) && !write.includes('status'));
      assert.deepEqual(missed, [], 'each of them was one at which it was killed');
    });

    if (name === 'delete') continue;
    test(`and leaves nothing to do for the next operator (${name})`, async () => {
      const user = `after-${name}`;
      const namespaces = readers.map(({ namespace }) => namespace);
      // A difference in a digest only is written after a few seconds.
      await atRest(cluster, 'operator');
      const successor = await operators.start(undefined, { namespaces, user });
      await sleep(3_000);
      await successor.stop();
      assert.deepEqual(await cluster.writes({ user }), []);
    });
  }
});
