import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';

import { ApiError, ConnectionError } from '../../runner/api/api-error.js';
import type { Client, Method, RequestOptions } from '../../runner/api/client.js';
import type { Clock } from '../../runner/kit/clock.js';
import {
  leaderIdentity,
  runLeaderElection,
  type Term,
  timingFor,
} from '../../runner/leader/leader-election.js';
import type { Lease } from '../../runner/leader/lease-object.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { FakeClock, settle } from './fake-clock.js';

const log = createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough());
/** An API server with one lease. */
class LeaseServer implements Pick<Client, 'request'> {
  lease: Lease | undefined;
  /** Makes calls fail (an error), or hang until they are given up ('hang'). */
  failure: Error | 'hang' | undefined;
  /** Thrown in place of the answer to a write that is carried out. */
  loses: Error | undefined;
  /** Thrown for each write, which is not carried out. */
  refuses: Error | undefined;
  /** A write that is carried out after the next read. */
  late: (() => void) | undefined;
  calls: string[] = [];
  private version = 0;

  async request<T>(method: Method, _: string, options: RequestOptions = {}): Promise<T> {
    this.calls.push(method);
    if (this.failure === 'hang') {
      await new Promise((resolve) => options.signal?.addEventListener('abort', resolve));
      throw new Error('given up');
    }
    if (this.failure) throw this.failure;
    if (method === 'GET') {
      if (!this.lease) throw new ApiError(404, 'NotFound', {}, 'GET: 404');
      const { lease, late } = this;
      this.late = undefined;
      late?.();
      return lease as T;
    }
    return this.write(method, options.body as Lease) as T;
  }

  private write(method: Method, sent: Lease): Lease {
    if (method === 'POST' && this.lease) throw new ApiError(409, 'AlreadyExists', {}, 'POST: 409');
    if (method === 'PUT') {
      if (!this.lease) throw new ApiError(404, 'NotFound', {}, 'PUT: 404');
      const same = sent.metadata.resourceVersion === this.lease.metadata.resourceVersion;
      if (!same) throw new ApiError(409, 'Conflict', {}, 'PUT: 409');
    }
    return this.answer(() => this.store(sent));
  }

  private answer(store: () => Lease): Lease {
    if (this.refuses) throw this.refuses;
    const stored = store();
    if (this.loses) throw this.loses;
    return stored;
  }

  store(lease: Lease): Lease {
    this.lease = {
      ...lease,
      metadata: { ...lease.metadata, resourceVersion: `${++this.version}` },
    };
    return this.lease;
  }

  get holder(): string | undefined {
    return this.lease?.spec?.holderIdentity;
  }
}

/** A candidate that has been started. */
class Candidate {
  term: Term | undefined;
  private lost = false;
  private readonly end = new AbortController();
  readonly done: Promise<void>;

  constructor(server: LeaseServer, clock: Clock, identity: string) {
    this.done = runLeaderElection({
      client: server,
      namespace: 'ops',
      identity,
      onElected: (term) => (this.term = term),
      onLost: () => (this.lost = true),
      signal: this.end.signal,
      log,
      clock,
      random: () => 0,
    });
  }

  get hasLost(): boolean {
    return this.lost;
  }

  get leads(): boolean {
    return this.term?.isHeld() ?? false;
  }

  stop(): Promise<void> {
    this.end.abort();
    return this.done;
  }
}

function setUp() {
  const server = new LeaseServer();
  const clock = new FakeClock();
  return { server, clock, candidate: (identity: string) => new Candidate(server, clock, identity) };
}

describe('one candidate', () => {
  test('is elected at once where there is no lease', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    assert.ok(a.leads);
    assert.deepEqual(server.lease?.spec, {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '1970-01-01T00:00:00.000000Z',
      renewTime: '1970-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await a.stop();
  });

  test('renews every two seconds with one call', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    server.calls = [];
    await clock.pass(60_000);
    assert.deepEqual(server.calls, Array(30).fill('PUT'));
    assert.equal(server.lease?.spec?.acquireTime, '1970-01-01T00:00:00.000000Z');
    assert.equal(server.lease.spec.renewTime, '1970-01-01T00:01:00.000000Z');
    await a.stop();
  });

  test('continues when the lease was edited or deleted by hand', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    assert.ok(server.lease);
    server.store({ ...server.lease, metadata: { name: 'l', labels: { edited: 'yes' } } });
    await clock.pass(3_000);
    server.lease = undefined;
    await clock.pass(3_000);
    assert.ok(a.leads && !a.hasLost);
    assert.equal(server.holder, 'a');
    await a.stop();
  });

  test('continues after a short outage', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    server.failure = new ConnectionError('PUT', 'ECONNREFUSED');
    await clock.pass(7_000);
    server.failure = undefined;
    await clock.pass(20_000);
    assert.ok(a.leads && !a.hasLost);
    await a.stop();
  });

  for (const then of ['is repeated, which conflicts', 'fails'] as const) {
    test(`is elected, and leads on, while each answer is lost and the call ${then}`, async () => {
      const { server, clock, candidate } = setUp();
      server.loses =
        then === 'fails'
          ? new ConnectionError('PUT', 'UND_ERR_SOCKET')
          : new ApiError(409, 'Conflict', {}, 'PUT: 409');
      const a = candidate('a');
      await clock.pass(0);
      await clock.pass(60_000);
      assert.ok(a.leads && !a.hasLost);
      server.loses = undefined;
      await a.stop();
    });
  }

  test('does not count the write of an earlier attempt as its renewal', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    server.refuses = new ConnectionError('PUT', 'UND_ERR_SOCKET');
    await clock.pass(10_000);
    assert.ok(a.hasLost);
    await a.done;
  });

  for (const failure of ['hang', new ConnectionError('PUT', 'ECONNREFUSED')] as const) {
    const how = failure === 'hang' ? 'hang' : 'fail';
    test(`gives up after ten seconds of calls that ${how}`, async () => {
      const { server, clock, candidate } = setUp();
      const a = candidate('a');
      await clock.pass(0);
      server.failure = failure;
      await clock.pass(9_999);
      assert.ok(a.leads && !a.hasLost);
      await clock.pass(1);
      assert.deepEqual([a.leads, a.hasLost, a.term?.signal.aborted], [false, true, true]);
      await a.done;
    });
  }

  test('knows after a stall that it has lost the lease, before any timer fires', async () => {
    const { clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    clock.stall(15_000);
    assert.equal(a.leads, false);
    await clock.pass(0);
    assert.ok(a.hasLost);
    await a.done;
  });

  test('that stops while it waits for the API server ends at once', async () => {
    const { server, candidate } = setUp();
    server.failure = 'hang';
    const a = candidate('a');
    await settle();
    await a.stop();
    assert.equal(a.term, undefined);
  });
});

describe('two candidates', () => {
  test('never lead at once', async () => {
    const { clock, candidate } = setUp();
    const [a, b] = [candidate('a'), candidate('b')];
    for (let second = 0; second < 60; second++) {
      await clock.pass(1_000);
      assert.equal(Number(a.leads) + Number(b.leads), 1);
    }
    await Promise.all([a.stop(), b.stop()]);
  });

  test('hand over at once when the leader stops', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    const b = candidate('b');
    await clock.pass(10_000);
    await a.stop();
    assert.ok(!a.hasLost && a.term?.signal.aborted);
    assert.equal(server.holder, '');
    await clock.pass(2_000);
    assert.ok(b.leads);
    assert.equal(server.lease?.spec?.leaseTransitions, 1);
    await b.stop();
  });

  test('hand over at once also where a renewal is carried out while the leader stops', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    const { lease } = server;
    server.late = () => lease && server.store(lease);
    await a.stop();
    assert.equal(server.holder, '');
  });

  test('hand over after the time of the lease when the leader dies', async () => {
    const { server, clock, candidate } = setUp();
    server.store({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'l', namespace: 'ops' },
      spec: { holderIdentity: 'dead', leaseDurationSeconds: 15 },
    });
    const b = candidate('b');
    await clock.pass(14_999);
    assert.equal(b.leads, false);
    await clock.pass(2_001);
    assert.ok(b.leads);
    await b.stop();
  });

  test('respect a lease that is longer than their own', async () => {
    const { server, clock, candidate } = setUp();
    server.store({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'l', namespace: 'ops' },
      spec: { holderIdentity: 'slow', leaseDurationSeconds: 60 },
    });
    const b = candidate('b');
    await clock.pass(59_000);
    assert.equal(b.leads, false);
    await clock.pass(4_000);
    assert.ok(b.leads);
    await b.stop();
  });

  test('a leader that is cut off stops before the other one starts', async () => {
    const server = new LeaseServer();
    const clock = new FakeClock();
    // Both see one lease; only the way of `a` to it is cut.
    const cut = { on: false };
    const request: Client['request'] = (method, path, options) =>
      cut.on
        ? Promise.reject(new ConnectionError('PUT', 'ECONNRESET'))
        : server.request(method, path, options);
    const a = new Candidate(
      Object.assign(Object.create(server) as LeaseServer, { request }),
      clock,
      'a',
    );
    await clock.pass(0);
    const b = new Candidate(server, clock, 'b');
    await clock.pass(1_000);
    cut.on = true;
    let lostAt: number | undefined;
    while (!b.leads) {
      await clock.pass(100);
      if (!a.leads) lostAt ??= clock.monotonic();
      assert.ok(!(a.leads && b.leads));
    }
    assert.ok(lostAt !== undefined && clock.monotonic() - lostAt >= 4_000);
    await Promise.all([a.stop(), b.stop()]);
  });

  test('a leader whose lease was taken stops', async () => {
    const { server, clock, candidate } = setUp();
    const a = candidate('a');
    await clock.pass(0);
    assert.ok(server.lease);
    server.store({ ...server.lease, spec: { ...server.lease.spec, holderIdentity: 'thief' } });
    await clock.pass(2_000);
    assert.ok(a.hasLost && !a.leads);
    await a.done;
    assert.equal(server.holder, 'thief');
  });
});

test('an identity names the host and is different each time', () => {
  assert.match(leaderIdentity(), /^.+_[0-9a-f-]{36}$/);
  assert.notEqual(leaderIdentity(), leaderIdentity());
});

test('a leader has time for several attempts, and gives up before others start', () => {
  assert.deepEqual(timingFor(15_000), { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 });
  assert.deepEqual(timingFor(3_000), { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 400 });
  assert.deepEqual(timingFor(60_000), { leaseMs: 60_000, renewDeadlineMs: 40_000, retryMs: 2_000 });
});
