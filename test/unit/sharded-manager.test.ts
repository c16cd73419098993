import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';

import { StaticReader } from '../../constructs/kit/static-reader.js';
import { ApiError, ConnectionError } from '../../runner/api/api-error.js';
import type { Client, Method, RequestOptions } from '../../runner/api/client.js';
import { parseConfig } from '../../runner/config/config.js';
import type { Clock } from '../../runner/kit/clock.js';
import type { Lease } from '../../runner/leader/lease-object.js';
import { shardLease } from '../../runner/shards/group-leases.js';
import { ShardedManager, type ShardManager } from '../../runner/shards/sharded-manager.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { FakeClock } from './fake-clock.js';
import { patchedLease } from './lease-patch.js';

const LEADER = 'app-operator-leader';
const LEASE_S = 15;
const NO_OBJECTS = new StaticReader({ objects: [] });

/** The Leases of a namespace, and the last write to each shard. */
class Cluster {
  readonly leases = new Map<string, Lease>();
  readonly clock = new FakeClock();
  /** Who wrote to a shard, and when. */
  readonly writes: { readonly shard: number; readonly by: string; readonly at: number }[] = [];
  #version = 0;

  request<T>(method: Method, path: string, options: RequestOptions = {}): T {
    const name = /leases\/([^/]+)$/.exec(path)?.[1];
    if (method === 'GET' && name === undefined) return this.#list(options) as T;
    const sent = options.body as Lease;
    const key = name ?? sent.metadata.name;
    const lease = this.leases.get(key);
    if (method === 'POST') {
      if (lease) throw new ApiError(409, 'AlreadyExists', {}, 'POST: 409');
      return this.store(key, sent) as T;
    }
    if (method === 'PATCH') return this.store(key, patchedLease(lease, options.body)) as T;
    if (!lease) throw new ApiError(404, 'NotFound', {}, `${method}: 404`);
    if (method === 'GET') return lease as T;
    if (method === 'DELETE') {
      this.leases.delete(key);
      return {} as T;
    }
    return this.#replace(key, sent, lease) as T;
  }

  #replace(key: string, sent: Lease, { metadata }: Lease): Lease {
    if (sent.metadata.resourceVersion !== metadata.resourceVersion)
      throw new ApiError(409, 'Conflict', {}, 'PUT: 409');
    return this.store(key, sent);
  }

  store(name: string, lease: Lease): Lease {
    const resourceVersion = `${++this.#version}`;
    const stored = { ...lease, metadata: { ...lease.metadata, name, resourceVersion } };
    this.leases.set(name, stored);
    return stored;
  }

  /** As a user with kubectl edit. */
  edit(name: string, spec: object): void {
    const lease = this.leases.get(name);
    assert.ok(lease);
    this.store(name, { ...lease, spec: { ...lease.spec, ...spec } });
  }

  holder(name: string): string | undefined {
    return this.leases.get(name)?.spec?.holderIdentity || undefined;
  }

  #list({ query = {} }: RequestOptions): object {
    const [label = '', value] = String(query['labelSelector']).split('=');
    const items = [...this.leases.values()].filter(({ metadata: { labels = {} } }) =>
      value === undefined ? label in labels : labels[label] === value,
    );
    return { kind: 'LeaseList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items };
  }
}

class Replica {
  readonly log: string[] = [];
  readonly served = new Set<number>();
  /** Shards whose caches are filled; -1 are those without a shard. */
  readonly cached = new Set<number>();
  lost = false;
  /** As of a network that is cut. */
  cut = false;
  /** As of a process that is killed or stopped: nothing runs any more. Resolved when it goes on. */
  #frozen: PromiseWithResolvers<undefined> | undefined;
  /** How long the last reconcile of a shard that is released takes. */
  drainMs = 0;
  readonly manager: ShardedManager;

  constructor(
    readonly name: string,
    private readonly cluster: Cluster,
    shards: number,
    flags: readonly string[] = [],
  ) {
    const client = {
      request: async <T>(method: Method, path: string, options?: RequestOptions): Promise<T> => {
        await this.#frozen?.promise;
        options?.fence?.mayStart();
        if (this.cut) throw new ConnectionError('cut', 'ECONNREFUSED');
        if (method === 'PATCH' && path.startsWith('/shards/')) {
          const shard = Number(path.split('/').at(-1));
          cluster.writes.push({ shard, by: name, at: cluster.clock.monotonic() });
          return {} as T;
        }
        return cluster.request<T>(method, path, options);
      },
      watch: () => undefined,
      calls: {},
    } as unknown as Client;
    const clock: Clock = {
      monotonic: () => cluster.clock.monotonic(),
      now: () => cluster.clock.now(),
      sleep: async (ms, signal) => {
        await cluster.clock.sleep(ms, signal);
        await this.#frozen?.promise;
      },
    };
    const stream = new PassThrough();
    stream.on('data', (line: Buffer) => {
      this.log.push(String((JSON.parse(line.toString()) as { readonly msg: unknown }).msg));
    });
    this.manager = new ShardedManager({
      config: parseConfig(['--leader-elect', `--shards=${shards}`, ...flags], {}),
      ...{ client, leaseClient: client, clock },
      metrics: new OperatorMetrics([], false),
      log: createLogger({ logLevel: 'info', logEncoder: 'json' }, stream),
      onLost: () => {
        this.lost = true;
        void this.manager.drain().then(() => this.manager.resign());
      },
      create: (shard, writer) => this.#serve(shard, writer),
    });
  }

  /** SIGKILL, or SIGSTOP until `resume`. */
  freeze(): void {
    this.#frozen = Promise.withResolvers<undefined>();
  }

  resume(): void {
    this.#frozen?.resolve(undefined);
    this.#frozen = undefined;
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    await this.manager.drain();
    await this.manager.resign();
  }

  /** A manager that writes to its shard four times a second, through the fence. */
  #serve(shard: number, client: Client): ShardManager {
    const { cluster } = this;
    const end = new AbortController();
    const work = async (): Promise<void> => {
      while (!end.signal.aborted) {
        await client.request('PATCH', `/shards/${shard}`, {}).catch(() => undefined);
        await cluster.clock.sleep(250, end.signal);
      }
    };
    let running: Promise<void> | undefined;
    return {
      sync: async () => {
        this.cached.add(shard);
      },
      start: () => {
        this.served.add(shard);
        running = work();
      },
      stop: async () => {
        if (this.drainMs > 0) await cluster.clock.sleep(this.drainMs, new AbortController().signal);
        end.abort();
        await running;
        this.cached.delete(shard);
      },
      forget: async () => {
        this.served.delete(shard);
      },
      stuck: () => [],
      unready: () => [],
      brokenWatches: () => [],
      reader: () => (this.cached.has(shard) ? NO_OBJECTS : undefined),
    };
  }
}

/** A group whose replicas have found their shares. */
async function group(shards: number, names: readonly string[], flags: readonly string[] = []) {
  const cluster = new Cluster();
  const start = async (name: string, of = shards): Promise<Replica> => {
    const replica = new Replica(name, cluster, of, flags);
    await replica.manager.start();
    return replica;
  };
  const replicas = await Promise.all(names.map((name) => start(name)));
  await cluster.clock.pass(20_000);
  return { cluster, replicas, start };
}

const held = (replicas: readonly Replica[]) => replicas.map(({ served }) => [...served].sort());
const counts = (replicas: readonly Replica[]) => replicas.map(({ served }) => served.size);

/** The changes of the writer of each shard, and the shortest time without a write between two. */
function changesOf({ writes }: Cluster): { readonly changes: number; readonly restMs: number } {
  let changes = 0;
  let restMs = Infinity;
  for (const all of Map.groupBy(writes, ({ shard }) => shard).values()) {
    for (const [index, { by, at }] of all.entries()) {
      const before = all[index - 1];
      if (!before || before.by === by) continue;
      changes += 1;
      restMs = Math.min(restMs, at - before.at);
    }
  }
  return { changes, restMs };
}

describe('a group of replicas', () => {
  test('divides the shards, and each replica writes to its own', async () => {
    const { cluster, replicas } = await group(3, ['a', 'b', 'c']);
    assert.deepEqual(counts(replicas), [1, 1, 1]);
    assert.deepEqual(changesOf(cluster).changes, 0);
    assert.deepEqual(new Set(cluster.writes.map(({ shard }) => shard)).size, 3);
    assert.equal(cluster.holder(LEADER), 'app-operator-shards-3');
  });

  test('of one replica has all shards', async () => {
    const { replicas } = await group(5, ['a']);
    assert.deepEqual(counts(replicas), [5]);
  });

  test('with more replicas than shards has some that wait', async () => {
    const { replicas } = await group(2, ['a', 'b', 'c']);
    assert.deepEqual(counts(replicas).sort(), [0, 1, 1]);
    assert.ok(replicas.every(({ lost }) => !lost));
  });

  test('with webhooks has one that answers them while it waits and when it works', async () => {
    const { cluster, replicas, start } = await group(1, ['a'], ['--webhooks']);
    const waiting = await start('b');
    await cluster.clock.pass(20_000);
    assert.deepEqual([...waiting.cached], [-1]);
    assert.ok(waiting.manager.reader());
    const stopped = replicas[0]?.stop();
    await cluster.clock.pass(4_500);
    await stopped;
    assert.deepEqual(held([waiting]), [[0]]);
    assert.deepEqual([...waiting.cached], [0], 'no caches more than it needs');
    assert.ok(waiting.manager.reader());
  });

  test('without webhooks has none that fills caches while it waits', async () => {
    const { cluster, start } = await group(1, ['a']);
    const waiting = await start('b');
    await cluster.clock.pass(20_000);
    assert.deepEqual([...waiting.cached], []);
    assert.equal(waiting.manager.reader(), undefined);
  });

  test('moves only its share to another replica, after the last write', async () => {
    const { cluster, replicas, start } = await group(6, ['a', 'b']);
    const before = held(replicas);
    for (const replica of replicas) replica.drainMs = 3_000;
    const added = await start('c');
    await cluster.clock.pass(30_000);
    assert.deepEqual(counts([...replicas, added]), [2, 2, 2]);
    held(replicas).forEach((now, index) => {
      assert.ok(
        now.every((shard) => before[index]?.includes(shard)),
        'it keeps the others',
      );
    });
    const { changes, restMs } = changesOf(cluster);
    assert.equal(changes, 2);
    assert.ok(restMs > 0);
  });

  test('hands over at once when a replica ends', async () => {
    const { cluster, replicas } = await group(3, ['a', 'b', 'c']);
    const [first, ...others] = replicas;
    const stopped = first?.stop();
    await cluster.clock.pass(4_500);
    await stopped;
    assert.deepEqual(counts(others).sort(), [1, 2]);
    assert.equal(changesOf(cluster).changes, 1);
    const names = [...cluster.leases.keys()].filter((name) => name.includes('replica'));
    assert.equal(names.length, 2, 'its Lease is deleted');
  });

  test('leaves a shard whose last write is not answered to expire', async () => {
    const { cluster, replicas } = await group(3, ['a', 'b', 'c']);
    const [first] = replicas;
    assert.ok(first);
    first.drainMs = 60_000;
    void first.stop();
    await cluster.clock.pass(10_000 + LEASE_S * 1_000 - 2_000);
    assert.equal(changesOf(cluster).changes, 0);
    await cluster.clock.pass(6_000);
    assert.equal(changesOf(cluster).changes, 1);
  });

  for (const fault of ['kill', 'pause', 'cut'] as const) {
    test(`takes over after a ${fault}, and only from that replica`, async () => {
      const { cluster, replicas } = await group(3, ['a', 'b', 'c']);
      const [first, ...others] = replicas;
      assert.ok(first);
      const before = held(others);
      if (fault === 'cut') first.cut = true;
      else first.freeze();
      // Others see a renewal up to two seconds later, and try again every two seconds.
      await cluster.clock.pass(20_000);
      assert.deepEqual(counts(others).sort(), [1, 2], 'within 20 s of a Lease of 15 s');
      held(others).forEach((now, index) => {
        assert.ok(
          before[index]?.every((shard) => now.includes(shard)),
          'it keeps its own',
        );
      });
      if (fault === 'pause') first.resume();
      first.cut = false;
      await cluster.clock.pass(20_000);
      const { changes, restMs } = changesOf(cluster);
      assert.equal(changes, 1, 'the old holder writes no more');
      assert.ok(restMs >= (LEASE_S * 1_000) / 3 || fault === 'kill', `${restMs} ms of rest`);
      if (fault !== 'kill') assert.ok(first.lost, 'it ends');
      await cluster.clock.pass(60_000);
      const names = [...cluster.leases.keys()].filter((name) => name.includes('replica'));
      assert.equal(names.length, 2, 'its Lease is deleted');
    });
  }

  test('of another number of shards waits, and then works', async () => {
    const { cluster, replicas, start } = await group(3, ['a', 'b']);
    const other = await start('c', 4);
    await cluster.clock.pass(60_000);
    assert.deepEqual(counts([...replicas, other]), [2, 1, 0].sort().reverse());
    assert.ok(
      other.log.includes(
        '--shards: got 4, but other replicas run with 3; ' +
          'waiting until they end: give all replicas the same number',
      ),
      other.log.join('\n'),
    );
    const [first, second] = replicas;
    void first?.stop();
    await cluster.clock.pass(30_000);
    assert.deepEqual([second?.served.size, other.served.size], [3, 0], 'the other one works');
    void second?.stop();
    await cluster.clock.pass(12_000);
    assert.equal(other.served.size, 0, 'the Lease of the group is left to expire');
    await cluster.clock.pass(15_000);
    assert.equal(other.served.size, 4);
  });

  test('waits for a leader without shards, which waits for it', async () => {
    const cluster = new Cluster();
    const spec = { holderIdentity: 'pod_1', leaseDurationSeconds: LEASE_S };
    const renew = (): void => {
      cluster.store(LEADER, { apiVersion: '', kind: 'Lease', metadata: { name: LEADER }, spec });
    };
    renew();
    const replica = new Replica('a', cluster, 2);
    await replica.manager.start();
    for (let round = 0; round < 10; round++) {
      await cluster.clock.pass(10_000);
      renew();
    }
    assert.deepEqual([replica.served.size, cluster.writes.length], [0, 0]);
    assert.ok(replica.log.includes('waiting for a replica without shards to end'));
    cluster.edit(LEADER, { holderIdentity: '', leaseDurationSeconds: 1 });
    await cluster.clock.pass(10_000);
    assert.equal(replica.served.size, 2);
  });

  describe('loses nothing when a Lease of a shard is', () => {
    const EDITS: Readonly<Record<string, (cluster: Cluster, name: string) => void>> = {
      'given to an unknown holder': (cluster, name) =>
        cluster.edit(name, { holderIdentity: 'edited' }),
      'given to another replica': (cluster, name) => {
        const others = [0, 1, 2].map((shard) => cluster.holder(shardLease(shard)));
        const holderIdentity = others.find((other) => other !== cluster.holder(name));
        cluster.edit(name, { holderIdentity });
      },
      emptied: (cluster, name) => cluster.edit(name, { holderIdentity: '' }),
      'without a holder': (cluster, name) => cluster.edit(name, { holderIdentity: undefined }),
      deleted: (cluster, name) => void cluster.leases.delete(name),
      'without its label': (cluster, name) => {
        const lease = cluster.leases.get(name);
        assert.ok(lease);
        cluster.store(name, { ...lease, metadata: { ...lease.metadata, labels: {} } });
      },
      'made long': (cluster, name) => cluster.edit(name, { leaseDurationSeconds: 20 }),
      'made short': (cluster, name) => cluster.edit(name, { leaseDurationSeconds: 1 }),
      'without a spec': (cluster, name) => {
        const { spec: _, ...lease } = cluster.leases.get(name) ?? { spec: {} };
        cluster.store(name, lease as Lease);
      },
      'of another number of shards': (cluster, name) => {
        const lease = cluster.leases.get(name);
        assert.ok(lease);
        const labels = { 'app-operator.io/shards': '9' };
        cluster.store(name, { ...lease, metadata: { ...lease.metadata, labels } });
      },
    };
    for (const [what, edit] of Object.entries(EDITS)) {
      test(what, async () => {
        const { cluster, replicas } = await group(3, ['a', 'b', 'c']);
        edit(cluster, shardLease(1));
        await cluster.clock.pass(60_000);
        assert.deepEqual(counts(replicas), [1, 1, 1]);
        assert.ok(replicas.every(({ lost }) => !lost));
        const { changes, restMs } = changesOf(cluster);
        assert.ok(changes === 0 || restMs >= (LEASE_S * 1_000) / 3, `${changes}: ${restMs} ms`);
      });
    }
  });

  test('that loses its own Lease ends, and loses nothing', async () => {
    const { cluster, replicas } = await group(2, ['a', 'b']);
    cluster.edit(LEADER, { holderIdentity: 'edited' });
    await cluster.clock.pass(3_000);
    assert.ok(replicas.every(({ lost }) => lost));
    const { length } = cluster.writes;
    await cluster.clock.pass(30_000);
    assert.equal(cluster.writes.length, length);
  });
});
