import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  namespacedRules,
  ownNamespaceRules,
  shardRules,
} from '../../constructs/install/permissions.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { KINDS } from '../../constructs/registry.js';
import { LeaseKind } from '../../runner/leader/lease-object.js';
import { bucketOf, shardOf } from '../../runner/shards/buckets.js';
import { shardLease } from '../../runner/shards/group-leases.js';
import type { AuditEvent } from '../../testbed/controlplane/audit.js';
import { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, API_VERSION, aSite } from './support/builders.js';
import { addKind, at, conditionOf, nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';
import { ProxiedOperators } from './support/proxied-operators.js';

const SHARDS = 3;
/** What Kubernetes makes of children. */
const MADE = new Set(['Pod', 'ReplicaSet', 'EndpointSlice', 'ControllerRevision']);
/** As `install --shards` sets it. */
const LEASE = '--leader-elect-lease-duration=10s';
const TAKEOVER_MS = 20_000;
const KEYS = metadataKeysFor('app-operator.io');
const OTHER = 'replica-d';
const ALONE = 'replica-e';
const USERS = ['replica-a', 'replica-b', 'replica-c'];

let cluster: Cluster;
let operators: ProxiedOperators;
let system: string;
let namespace: string;
/** A bench of each shard, by its number. */
let benches: readonly string[];
const proxies = new Map<string, FaultProxy>();
/** The replica of each user. A test that ends one takes it out, and starts the next one itself. */
const replicas = new Map<string, Operator>();
/** How often a shard may have got another holder. */
let handOvers = 0;

before(async () => {
  addKind(LeaseKind);
  for (const kind of ['Role', 'RoleBinding']) {
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    addKind({ apiVersion, kind, plural: `${kind.toLowerCase()}s` });
  }
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  system = await cluster.namespace();
  namespace = await cluster.namespace();
  await allow(system, [...ownNamespaceRules(), ...shardRules()]);
  await allow(namespace, namespacedRules(KINDS));
  benches = Array.from({ length: SHARDS }, (_, shard) => {
    for (let index = 0; ; index++) {
      if (shardOf(bucketOf(`${namespace}/b${index}`), SHARDS) === shard) return `b${index}`;
    }
  });
});
after(async () => {
  await operators.stop();
  await Promise.all([...proxies.values()].map((proxy) => proxy.stop()));
  await cluster.stop();
});

/** Gives the replicas the rights of an installation with shards, and no others. */
async function allow(place: string, rules: readonly object[]): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = { name: 'shards' };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name };
  const subjects = [...USERS, OTHER, ALONE].map((name) => ({
    ...{ apiGroup: roleRef.apiGroup, kind: 'User', name },
  }));
  await cluster.apply(
    place,
    { apiVersion, kind: 'Role', metadata, rules },
    { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects },
  );
}

async function start(user: string, shards = SHARDS): Promise<Operator> {
  const proxy = proxies.get(user) ?? (await FaultProxy.start(cluster.controlPlane, user, []));
  proxies.set(user, proxy);
  const flags = ['--leader-elect', `--leader-election-namespace=${system}`, LEASE];
  const options = { user, namespaces: [namespace], wait: false };
  const operator = await operators.start(proxy, options, [...flags, `--shards=${shards}`]);
  replicas.set(user, operator);
  return operator;
}

/** Starts replicas that ended by themselves, as their Deployment does: the API server may be slow. */
async function restartEnded(): Promise<void> {
  for (const user of USERS) {
    if (replicas.get(user)?.running ?? true) continue;
    replicas.delete(user);
    handOvers += 2;
    await start(user);
  }
}

/** The users that hold the shards, by their numbers; undefined where none does. */
async function holders(): Promise<readonly (string | undefined)[]> {
  const ids = new Map(
    [...replicas].flatMap(([user, { lines }]) =>
      lines
        .filter(({ msg }) => msg === 'elected')
        .map(({ identity }): [string, string] => [String(identity), user]),
    ),
  );
  const leases = await Promise.all(
    benches.map((_, shard) => cluster.get('Lease', system, shardLease(shard))),
  );
  return leases.map((lease) => ids.get(at(lease, 'spec.holderIdentity') as string));
}

/** Waits until each running replica has its share. */
async function balanced(): Promise<readonly (string | undefined)[]> {
  return cluster.until(
    'each replica holds a shard',
    async () => {
      await restartEnded();
      const held = await holders();
      if (new Set(held).size < SHARDS || held.includes(undefined)) throw new Error(held.join());
      return held;
    },
    60_000,
  );
}

/** Has the owner repair a child of each bench. @returns when all are repaired */
async function repaired(only = benches): Promise<void> {
  const label = 'app.kubernetes.io/component';
  for (const bench of only) {
    await cluster.patch('Service', namespace, `${bench}-nginx`, {
      metadata: { labels: { [label]: 'edited' } },
    });
  }
  await Promise.all(
    only.map((bench) =>
      cluster.until(`the Service of ${bench} is repaired`, async () => {
        await restartEnded();
        const live = await cluster.the('Service', namespace, `${bench}-nginx`);
        return live.metadata.labels?.[label] !== 'edited';
      }),
    ),
  );
}

/** A SiteJob that is created before its site belongs to another shard until the site appears. */
async function followsItsSite(bench: string): Promise<void> {
  const name = `late-${bench}`;
  const spec = { siteRef: { name }, command: ['clear-cache'] };
  await cluster.apply(namespace, {
    ...{ apiVersion: API_VERSION, kind: 'SiteJob', metadata: { name }, spec },
  });
  await cluster.becomes('SiteJob', namespace, name, {
    what: 'waits',
    check: (live) => conditionOf(live, 'Ready') !== undefined,
  });
  await cluster.apply(namespace, aSite(name, { bench, workloads: 'Shared' }));
  await cluster.until(`the Job of ${name}`, async () => {
    const jobs = await cluster.list('Job', namespace, `${KEYS.owner}=SiteJob.${name}`);
    return jobs.length > 0;
  });
}

/** The uids of what must never be created again. */
async function unique(): Promise<readonly (string | undefined)[]> {
  const kinds = ['Job', 'Secret', 'PersistentVolumeClaim'];
  const lists = await Promise.all(kinds.map((kind) => cluster.list(kind, namespace)));
  const ours = lists.flat().filter(({ metadata }) => metadata.labels?.[KEYS.owner]);
  return ours.map(({ metadata }) => metadata.uid);
}

interface Write {
  readonly user: string;
  readonly from: number;
  readonly to: number;
}

/** The writes of the replicas to each object, in their order. */
async function writesByObject(): Promise<ReadonlyMap<string, readonly Write[]>> {
  const writes = new Map<string, Write[]>();
  for (const user of USERS) {
    for (const event of await cluster.calls({ user })) {
      const { resource = '', name = '', namespace: place = '' } = event.objectRef ?? {};
      if (!isWrite(event) || resource === 'leases' || resource === 'events') continue;
      const key = `${resource}/${place}/${name}`;
      const from = Date.parse(event.requestReceivedTimestamp);
      const write = { user, from, to: Date.parse(event.stageTimestamp) };
      writes.set(key, [...(writes.get(key) ?? []), write]);
    }
  }
  for (const all of writes.values()) all.sort((a, b) => a.from - b.from);
  return writes;
}

function isWrite({ verb, responseStatus }: AuditEvent): boolean {
  const refused = (responseStatus?.code ?? 0) >= 400;
  return ['create', 'update', 'patch', 'delete'].includes(verb) && !refused;
}

describe('three replicas with three shards', { concurrency: 1 }, () => {
  test('divide the benches of a leader without shards, whose Lease they wait for', async () => {
    const flags = ['--leader-elect', `--leader-election-namespace=${system}`];
    const options = { user: ALONE, groups: [], namespaces: [namespace] };
    const alone = await operators.start(undefined, options, flags);
    for (const bench of benches) {
      const site = aSite(`s-${bench}`, { bench, workloads: 'Shared' });
      await cluster.apply(namespace, aBench(bench), site);
    }
    for (const bench of benches) {
      await cluster.applied('AppBench', namespace, bench);
      await cluster.ready('AppSite', namespace, `s-${bench}`);
    }
    assert.deepEqual(await cluster.list('Service', namespace, KEYS.bucket), []);
    const before = await unique();
    const starting = await Promise.all(USERS.map((user) => start(user)));
    await starting[0]?.logged('waiting for a replica without shards to end');
    await alone.stop();
    const held = await balanced();
    await cluster.until('all children have their bucket', async () => {
      const others = (await cluster.children(namespace)).filter(
        ({ kind, metadata }) => metadata.labels?.[KEYS.bucket] === undefined && !MADE.has(kind),
      );
      if (others.length > 0) throw new Error(others.map(nameOf).join());
      return true;
    });
    assert.deepEqual(await unique(), before, 'nothing is created again');
    for (const bench of benches) await followsItsSite(bench);
    const writes = await writesByObject();
    for (const [shard, bench] of benches.entries()) {
      const users = writes.get(`services/${namespace}/${bench}-nginx`)?.map(({ user }) => user);
      assert.deepEqual([...new Set(users)], [held[shard]]);
      const last = writes.get(`sitejobs/${namespace}/late-${bench}`)?.at(-1)?.user;
      assert.equal(last, held[shard]);
    }
  });

  test('repair a child whose bucket was edited or removed', async () => {
    const [bench = ''] = benches;
    const bucket = String(bucketOf(`${namespace}/${bench}`));
    const foreign = String(bucketOf(`${namespace}/${benches[1] ?? ''}`));
    const before = await unique();
    for (const [kind, name] of [
      ['Service', `${bench}-nginx`],
      ['Secret', `${bench}-redis-auth`],
      ['Job', `${bench}-init`],
    ] as const) {
      for (const edited of [foreign, 'none', null]) {
        const labels = { [KEYS.bucket]: edited };
        await cluster.patch(kind, namespace, name, { metadata: { labels } });
        await cluster.until(
          `${kind} ${name}: the bucket ${String(edited)} is repaired`,
          async () => {
            const live = await cluster.the(kind, namespace, name);
            return live.metadata.labels?.[KEYS.bucket] === bucket;
          },
        );
      }
    }
    assert.deepEqual(await unique(), before, 'nothing is created again');
  });

  for (const fault of ['kill', 'pause', 'cut'] as const) {
    test(`a replica's benches are taken over within 20 s after a ${fault}`, async (t) => {
      const held = await balanced();
      const shard = 1;
      const user = held[shard] ?? '';
      const [operator, proxy] = [replicas.get(user), proxies.get(user)];
      assert.ok(operator && proxy);
      await repaired();
      const since = performance.now();
      replicas.delete(user);
      if (fault === 'kill') operator.kill('SIGKILL');
      else if (fault === 'pause') operator.kill('SIGSTOP');
      else {
        for (const watch of proxy.watches) watch.cut();
        await proxy.refuse();
      }
      await repaired([benches[shard] ?? '']);
      const tookMs = performance.now() - since;
      t.diagnostic(`taken over in ${(tookMs / 1000).toFixed(1)} s`);
      assert.ok(tookMs < TAKEOVER_MS, `taken over in ${tookMs} ms`);
      const now = await holders();
      held.forEach((before, index) => {
        if (before !== user) assert.equal(now[index], before, 'the others keep their shards');
      });
      if (fault === 'pause') operator.kill('SIGCONT');
      if (fault === 'cut') await proxy.accept();
      const { code } = await operator.exited;
      if (fault !== 'kill') assert.equal(code, 1, 'its Deployment restarts it');
      // Work for all, while the replica comes back and gets its share.
      await start(user);
      const done = new AbortController();
      const work = (async () => {
        while (!done.signal.aborted) {
          await repaired();
          await sleep(300);
        }
      })();
      await balanced();
      done.abort();
      await work;
      handOvers += 2;
    });
  }

  test('a rolling update replaces each replica, and no bench waits', async (t) => {
    for (const user of USERS) {
      await balanced();
      const old = replicas.get(user);
      const since = performance.now();
      replicas.delete(user);
      const stopped = old?.stop();
      await repaired();
      const seconds = ((performance.now() - since) / 1000).toFixed(1);
      t.diagnostic(`all benches repaired ${seconds} s after the end of ${user} began`);
      await stopped;
      assert.equal((await old?.exited)?.code, 0);
      await start(user);
      handOvers += 2;
    }
    await balanced();
  });

  test('a Lease that was edited or deleted by hand is named, and nothing is lost', async () => {
    const held = await balanced();
    const user = held[0] ?? '';
    await cluster.patch('Lease', system, shardLease(0), { spec: { holderIdentity: 'edited' } });
    const line = await replicas
      .get(user)
      ?.logged(
        `lease ${shardLease(0)}: lost, since it was changed or could not be renewed; ` +
          'its benches are not written until it expires',
      );
    assert.equal(line?.level, 'error');
    await repaired();
    handOvers += 2;
    await cluster.delete('Lease', system, shardLease(1));
    await sleep(3_000);
    assert.equal((await holders())[1], held[1], 'the holder writes it again');
    await repaired();
    assert.ok(USERS.every((name) => replicas.get(name)?.running));
  });

  test('a replica with another number of shards waits', async () => {
    const since = new Date();
    const operator = await start(OTHER, 4);
    const line = await operator.logged(
      '--shards: got 4, but other replicas run with 3; ' +
        'waiting until they end: give all replicas the same number',
    );
    assert.equal(line.level, 'error');
    const options = { user: ALONE, groups: [], namespaces: [namespace], wait: false };
    const alone = await operators.start(undefined, options, [
      ...['--leader-elect', `--leader-election-namespace=${system}`],
    ]);
    await alone.logged('waiting for the lease');
    await repaired();
    await sleep(11_000);
    for (const user of [OTHER, ALONE]) assert.deepEqual(await cluster.writes({ user, since }), []);
    await operator.stop();
    await alone.stop();
  });

  test('never write an object at the same time', async (t) => {
    const writes = await writesByObject();
    let count = 0;
    let most = 0;
    for (const [key, all] of writes) {
      count += all.length;
      const changes = all.filter((write, index) => {
        const before = all[index - 1];
        if (!before || before.user === write.user) return false;
        assert.ok(before.to <= write.from, `${key}: ${before.user} and ${write.user} overlap`);
        return true;
      });
      // Its site appeared: see `followsItsSite`.
      const moves = key.startsWith('sitejobs/') ? 1 : 0;
      most = Math.max(most, changes.length - moves);
    }
    t.diagnostic(
      `${count} writes to ${writes.size} objects, ${most} changes of the writer at most`,
    );
    assert.ok(count > 100);
    assert.ok(most > 0 && most <= handOvers, `${most} changes of the writer`);
  });
});
