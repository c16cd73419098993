import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { DEFAULT_TIMING, LEASE_NAME } from '../../runner/leader/leader-election.js';
import { type Lease, LeaseKind } from '../../runner/leader/lease-object.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { OperatorMetrics } from '../../testbed/operator-metrics.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import { assertNoOrphans } from './support/snapshot.js';
import type { Operator } from './support/operator.js';

const few = { workerDefault: 0, workerShort: 0, workerLong: 0 };

interface Replica {
  readonly user: string;
  readonly operator: Operator;
  readonly metrics: OperatorMetrics;
}

let cluster: Cluster;
/** Of the Lease. */
let system: string;
let operators: ProxiedOperators;
let namespace: string;
let replicas: readonly Replica[] = [];
let count = 0;
before(async () => {
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  system = await cluster.namespace();
  namespace = await cluster.namespace();
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

/** Starts a replica that stands for election, as a user of its own. */
async function stand(): Promise<Replica> {
  const user = `replica-${++count}`;
  const metricsPort = await cluster.freePort();
  const options = { namespaces: [namespace], user, metricsPort };
  const operator = await operators.start(undefined, options, [
    '--leader-elect',
    `--leader-election-namespace=${system}`,
  ]);
  const replica = { user, operator, metrics: new OperatorMetrics(metricsPort) };
  replicas = [...replicas.filter((one) => one.operator.running), replica];
  return replica;
}

async function leads({ operator, metrics }: Replica): Promise<boolean> {
  return operator.running && (await metrics.sum('leader').catch(() => 0)) === 1;
}

/** The one that leads. */
function leader(): Promise<Replica> {
  return cluster.until('one of them leads', async () => {
    const leading: Replica[] = [];
    for (const replica of replicas) if (await leads(replica)) leading.push(replica);
    assert.ok(leading.length <= 1, 'two lead');
    return leading[0];
  });
}

function other(than: Replica): Replica {
  const found = replicas.find((replica) => replica !== than && replica.operator.running);
  assert.ok(found);
  return found;
}

/** Milliseconds until a replica leads, as its log has it. */
async function takeOver(replica: Replica, since: number, limitMs: number): Promise<number> {
  await replica.operator.logged('elected', limitMs + 5_000);
  return performance.now() - since;
}

/** Creates a site, which the leader must reconcile. */
async function makeSite(name: string): Promise<void> {
  const site = aSite(name, { bench: 'b', workloads: 'Shared' });
  await cluster.apply(namespace, aBench('b', { componentReplicas: few }), site);
}

async function holder(): Promise<string> {
  const path = resourcePath(LeaseKind, system, LEASE_NAME);
  const lease = (await cluster.controlPlane.api.request('GET', path)) as Lease;
  return lease.spec?.holderIdentity ?? '';
}

/** When a user has written the lease, in milliseconds since 1970. */
async function leaseWrites(user: string): Promise<readonly number[]> {
  return (await cluster.calls({ user }))
    .filter(
      ({ verb, objectRef, responseStatus }) =>
        verb !== 'get' && objectRef?.resource === 'leases' && (responseStatus?.code ?? 0) < 300,
    )
    .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
}

describe('of two replicas', () => {
  test('one works, and the other writes nothing at all', async () => {
    await stand();
    const first = await leader();
    const second = await stand();
    await makeSite('one');
    await cluster.ready('AppSite', namespace, 'one');
    assert.ok((await cluster.writes({ user: first.user })).length > 20);
    const calls = await cluster.calls({ user: second.user });
    const idle = calls.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
    assert.deepEqual(idle, []);
    assert.equal(await leads(second), false);
  });

  test('the second takes over at once from a leader that ends', async (t) => {
    const first = await leader();
    const second = other(first);
    await makeSite('two');
    const since = performance.now();
    const { code } = await first.operator.stop();
    const took = await takeOver(second, since, 10_000);
    t.diagnostic(`after SIGTERM: ${Math.round(took)} ms`);
    assert.ok(took < 10_000, `${took} ms`);
    assert.equal(code, 0);
    await cluster.ready('AppSite', namespace, 'two');
  });

  test('the second takes over from one that dies in the middle of its work, after its lease', async (t) => {
    const second = await stand();
    const first = other(second);
    await makeSite('three');
    await cluster.until('it works', () => cluster.get('Secret', namespace, 'three-db'));
    const since = performance.now();
    first.operator.kill('SIGKILL');
    const took = await takeOver(second, since, 40_000);
    t.diagnostic(`after SIGKILL: ${Math.round(took)} ms`);
    assert.ok(took < 40_000, `${took} ms`);
    const renewed = (await leaseWrites(first.user)).at(-1) ?? NaN;
    const taken = (await leaseWrites(second.user))[0] ?? NaN;
    assert.ok(taken - renewed >= DEFAULT_TIMING.leaseMs, `${taken - renewed} ms`);
    await cluster.ready('AppSite', namespace, 'three');
    await assertNoOrphans(cluster, namespace);
  });

  test('one that was stopped for longer than its lease writes nothing when it wakes, and ends', async (t) => {
    const first = await leader();
    const second = await stand();
    const since = performance.now();
    first.operator.kill('SIGSTOP');
    // It resumes with pending work: the events of this time are in its sockets.
    await sleep(500);
    await makeSite('four');
    await cluster.patch('Service', namespace, 'b-nginx', {
      metadata: { labels: { 'app.kubernetes.io/component': 'x' } },
    });
    const took = await takeOver(second, since, 40_000);
    t.diagnostic(`after SIGSTOP: ${Math.round(took)} ms`);
    await cluster.ready('AppSite', namespace, 'four');
    await cluster.patch('Service', namespace, 'b-gunicorn', {
      metadata: { labels: { 'app.kubernetes.io/component': 'x' } },
    });
    const resumed = new Date();
    first.operator.kill('SIGCONT');
    const { code } = await first.operator.exited;
    assert.equal(code, 1, 'it ends, and its Deployment restarts it');
    assert.deepEqual(await cluster.writes({ user: first.user, since: resumed }), []);
    // Nor does it take the lease away again.
    assert.equal(await leads(second), true);
    const leases = (await cluster.calls({ user: first.user, since: resumed })).filter(
      ({ verb, objectRef, responseStatus }) =>
        verb !== 'get' && objectRef?.resource === 'leases' && (responseStatus?.code ?? 0) < 300,
    );
    assert.deepEqual(leases, []);
  });

  test('there is never a time at which both have written', async () => {
    const terms: { readonly user: string; readonly from: number; to: number }[] = [];
    const calls = await Promise.all(
      Array.from({ length: count }, (_, index) => cluster.calls({ user: `replica-${index + 1}` })),
    );
    const writes = calls
      .flat()
      .filter(
        ({ verb, objectRef, responseStatus }) =>
          !['get', 'list', 'watch'].includes(verb) &&
          objectRef?.resource !== 'leases' &&
          (responseStatus?.code ?? 0) < 300,
      )
      .map(({ user, requestReceivedTimestamp }) => ({
        user: user.username,
        at: Date.parse(requestReceivedTimestamp),
      }))
      .sort((a, b) => a.at - b.at);
    for (const { user, at } of writes) {
      const last = terms.at(-1);
      if (last?.user === user) last.to = at;
      else terms.push({ user, from: at, to: at });
    }
    const users = terms.map(({ user }) => user);
    assert.deepEqual(users, [...new Set(users)], 'a term is never interrupted by another one');
    assert.equal(users.length, 4);
  });

  test('the lease is free after the last one ends', async () => {
    const { operator } = await leader();
    assert.notEqual(await holder(), '');
    await operator.stop();
    assert.equal(await holder(), '');
  });
});
