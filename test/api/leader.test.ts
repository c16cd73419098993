import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { type Client, createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { runLeaderElection, type Term } from '../../runner/leader/leader-election.js';
import { type Lease, LeaseKind } from '../../runner/leader/lease-object.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import type { Operator } from '../cluster/support/operator.js';
import { ProxiedOperators } from '../cluster/support/proxied-operators.js';

const log = createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough());
/** The lease is not lost while this process, or the API server, is slow. */
const longLease = { leaseMs: 30_000, renewDeadlineMs: 20_000, retryMs: 300 };
/** For an operator that must lose it. */
const shortDeadline = { leaseMs: 15_000, renewDeadlineMs: 5_000, retryMs: 300 };

let cluster: Cluster;
let namespace: string;
let client: Client;
before(async () => {
  cluster = await startCluster({ audit: true });
  client = await clientOf(cluster.controlPlane.kubeconfig);
});
after(async () => {
  await client.close();
  await cluster.stop();
});

async function clientOf(kubeconfig: string): Promise<Client> {
  return createClient({ credentials: await loadCredentials(kubeconfig, {}) });
}

beforeEach(async () => {
  namespace = await cluster.namespace();
});

function stand(identity: string, timing = longLease, through: Pick<Client, 'request'> = client) {
  const end = new AbortController();
  const state = { identity, leads: false, lost: false, term: undefined as Term | undefined };
  const done = runLeaderElection({
    client: through,
    namespace,
    identity,
    timing,
    log,
    signal: end.signal,
    onElected: (term) => {
      Object.assign(state, { leads: true, term });
      term.signal.addEventListener('abort', () => (state.leads = false));
    },
    onLost: () => (state.lost = true),
  });
  const stop = async (): Promise<void> => {
    end.abort();
    await done;
  };
  return { state, stop, done };
}

function lease(): Promise<Lease> {
  return client.request<Lease>('GET', resourcePath(LeaseKind, namespace, OPERATOR.lease));
}

/** Waits, and returns how long it took in milliseconds. */
async function until(condition: () => boolean, withinMs = 60_000): Promise<number> {
  const start = performance.now();
  while (!condition()) {
    assert.ok(performance.now() - start < withinMs, `not within ${withinMs} ms`);
    await sleep(10);
  }
  return performance.now() - start;
}

describe('on a real API server', () => {
  test('of many candidates that start together one leads', async () => {
    const candidates = Array.from({ length: 5 }, (_, index) => stand(`c${index}`));
    await until(() => candidates.some(({ state }) => state.leads));
    for (let round = 0; round < 20; round++) {
      assert.equal(candidates.filter(({ state }) => state.leads).length, 1);
      await sleep(50);
    }
    const leader = candidates.find(({ state }) => state.leads);
    assert.equal((await lease()).spec?.holderIdentity, leader?.state.identity);
    await Promise.all(candidates.map(({ stop }) => stop()));
  });

  test('a leader that stops hands over at once', async () => {
    const first = stand('first');
    await until(() => first.state.leads);
    const second = stand('second');
    await sleep(500);
    assert.equal(second.state.leads, false);
    await first.stop();
    const took = await until(() => second.state.leads, longLease.leaseMs);
    assert.ok(took < longLease.leaseMs / 2, `${took} ms`);
    const { spec } = await lease();
    assert.equal(spec?.leaseTransitions, 1);
    assert.match(spec.renewTime ?? '', /\.\d{6}Z$/);
    await second.stop();
    assert.equal(first.state.lost || second.state.lost, false);
  });

  test('a leader that dies is followed after the time of its lease', async () => {
    const reached = { on: true };
    const mortal: Pick<Client, 'request'> = {
      request: (...call) => (reached.on ? client.request(...call) : new Promise(() => undefined)),
    };
    const first = stand('first', shortDeadline, mortal);
    await until(() => first.state.leads);
    const second = stand('second', shortDeadline);
    await sleep(500);
    reached.on = false;
    await until(() => first.state.lost, shortDeadline.leaseMs);
    assert.equal(first.state.leads || second.state.leads, false, 'a pause, and never two leaders');
    await until(() => second.state.leads, 60_000);
    await second.stop();
  });

  test('a leader loses the lease to whoever takes it', async () => {
    const first = stand('first');
    await until(() => first.state.leads);
    await client.request('PATCH', resourcePath(LeaseKind, namespace, OPERATOR.lease), {
      body: { spec: { holderIdentity: 'thief' } },
    });
    await until(() => first.state.lost, longLease.renewDeadlineMs / 2);
    assert.equal(first.state.term?.isHeld(), false);
    await first.done;
  });

  test('a leader without an API server stops in time, and is elected again', async (t) => {
    const proxy = await FaultProxy.start(cluster.controlPlane);
    const through = await clientOf(proxy.kubeconfig);
    t.after(async () => {
      await through.close();
      await proxy.stop();
    });
    const first = stand('first', shortDeadline, through);
    await until(() => first.state.leads);
    await proxy.refuse();
    const took = await until(() => first.state.lost, shortDeadline.leaseMs);
    assert.ok(took < shortDeadline.leaseMs, `${took} ms`);
    assert.equal(first.state.leads, false);
    const again = stand('again', shortDeadline, through);
    await proxy.accept();
    await until(() => again.state.leads, 60_000);
    await again.stop();
  });

  test('a leader keeps its lease though each first answer about it is lost', async (t) => {
    const proxy = await FaultProxy.start(cluster.controlPlane);
    const through = await clientOf(proxy.kubeconfig);
    t.after(async () => {
      await through.close();
      await proxy.stop();
    });
    const attempts = new Map<string, number>();
    // Each renewal has a body of its own: its first attempt is carried out, and not answered.
    proxy.rule = ({ method, body }) => {
      if (method === 'GET') return undefined;
      const attempt = (attempts.get(body) ?? 0) + 1;
      attempts.set(body, attempt);
      return attempt === 1 ? 'lose' : undefined;
    };
    const one = stand('one', shortDeadline, through);
    await until(() => one.state.leads);
    const renewals = attempts.size;
    await until(() => attempts.size > renewals + 20, 60_000);
    assert.equal(one.state.leads && !one.state.lost, true);
    await one.stop();
  });
});

test('of two operators one works; the other writes nothing, and takes over at once', async (t) => {
  const operators = new ProxiedOperators(cluster);
  t.after(() => operators.stop());
  const place = await cluster.namespace();
  const flags = ['--leader-elect', `--leader-election-namespace=${place}`];
  const replica = (user: string): Promise<Operator> =>
    operators.start(undefined, { namespaces: [place], user, wait: false }, flags);
  const site = (one: string) => aSite(one, { bench: 'b', workloads: 'Shared' });
  const first = await replica('first-replica');
  await first.logged('elected');
  const second = await replica('second-replica');
  await cluster.apply(place, aBench('b'), site('one'));
  await cluster.ready('AppSite', place, 'one');
  const reads = ['get', 'list', 'watch'];
  const calls = await cluster.calls({ user: 'second-replica', namespace: place });
  assert.deepEqual(
    calls.filter(({ verb }) => !reads.includes(verb)),
    [],
  );
  const since = performance.now();
  assert.equal((await first.stop()).code, 0);
  await second.logged('elected', 10_000);
  t.diagnostic(`after SIGTERM: ${Math.round(performance.now() - since)} ms`);
  await cluster.apply(place, site('two'));
  await cluster.ready('AppSite', place, 'two');
  await second.stop();
  const path = resourcePath(LeaseKind, place, OPERATOR.lease);
  const { spec } = await client.request<Lease>('GET', path);
  assert.equal(spec?.holderIdentity ?? '', '', 'the lease is free after the last one ends');
});
