import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { resourcePath } from '../../runner/api/resource-path.js';
import { LEASE_NAME } from '../../runner/leader/leader-election.js';
import { type Lease, LeaseKind } from '../../runner/leader/lease-object.js';
import { first, lost, when } from '../../testbed/fault-proxy/faults.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { aBench, aSite } from './support/builders.js';
import { type Cluster, startCluster } from './harness.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import type { Operator } from './support/operator.js';

const few = { workerDefault: 0, workerShort: 0, workerLong: 0 };
/** More sites than the operator has connections. */
const SITES = 60;

let cluster: Cluster;
/** Of the Lease. */
let system: string;
let operators: ProxiedOperators;
before(async () => {
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  system = await cluster.namespace();
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

/** Starts a replica behind a proxy of its own. */
async function stand(
  namespaces: readonly string[],
  flags: readonly string[] = [],
): Promise<{ readonly proxy: FaultProxy; readonly operator: Operator }> {
  const proxy = await operators.proxy();
  const all = ['--leader-elect', `--leader-election-namespace=${system}`, ...flags];
  const operator = await operators.start(proxy, { namespaces, wait: false }, all);
  return { proxy, operator };
}

async function lease(): Promise<Lease> {
  const path = resourcePath(LeaseKind, system, LEASE_NAME);
  return (await cluster.controlPlane.api.request('GET', path)) as Lease;
}

describe('a leader behind a network with faults', () => {
  test('sends no queued write after another one has written', async (t) => {
    const namespace = await cluster.namespace();
    const busy = ['--max-concurrent-reconciles=100', '--leader-elect-lease-duration=6s'];
    const old = await stand([namespace], busy);
    await old.operator.logged('elected');
    // From now on writes hang, and so do renewals; what arrives at the proxy is a write that was sent.
    const sent: { readonly at: number; readonly path: string }[] = [];
    const hangs = Promise.withResolvers<undefined>();
    old.proxy.rule = async ({ method, isWrite, path }) => {
      if (method === 'GET') return undefined;
      if (isWrite) sent.push({ at: performance.now(), path });
      await hangs.promise;
      return undefined;
    };
    await cluster.apply(namespace, aBench('b', { componentReplicas: few }));
    for (let index = 0; index < SITES; index++) {
      await cluster.apply(namespace, aSite(`s${index}`, { bench: 'b', workloads: 'Shared' }));
    }
    await cluster.until('its connections are used up', async () => sent.length >= 10);
    let firstOfNew = Infinity;
    const next = await stand([namespace], busy);
    next.proxy.rule = ({ isWrite }) => {
      if (isWrite) firstOfNew = Math.min(firstOfNew, performance.now());
      return undefined;
    };
    await cluster.until('the new leader writes', async () => firstOfNew < Infinity);
    hangs.resolve(undefined);
    const { code } = await old.operator.exited;
    assert.equal(code, 1, 'it ends, and its Deployment restarts it');
    const late = sent.filter(({ at }) => at > firstOfNew).map(({ path }) => path);
    t.diagnostic(
      `${sent.length} writes of the old leader, ${late.length} after the first of the new`,
    );
    assert.deepEqual(late, []);
    await next.operator.stop();
  });

  test('leads though each first answer about its lease is lost', async () => {
    const namespace = await cluster.namespace();
    const proxy = await operators.proxy();
    const seen = new Map<string, number>();
    const loses = first(1, lost);
    proxy.rule = when(
      ({ method, path }) => method !== 'GET' && path.includes('/leases'),
      (call) => {
        // Each renewal has a body of its own: the first attempt of each is carried out, and not answered.
        seen.set(call.body, (seen.get(call.body) ?? 0) + 1);
        return loses({ ...call, path: call.body });
      },
    );
    const flags = ['--leader-elect', `--leader-election-namespace=${system}`];
    const operator = await operators.start(proxy, { namespaces: [namespace], wait: false }, flags);
    await operator.logged('elected', 60_000);
    await sleep(12_000);
    assert.ok(operator.running, 'longer than the deadline of a renewal');
    const { spec } = await lease();
    assert.ok(Date.now() - Date.parse(spec?.renewTime ?? '') < 10_000, 'it is renewed');
    assert.ok(
      [...seen.values()].some((attempts) => attempts > 1),
      'answers were lost',
    );
    await operator.stop();
  });
});
