import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { bench } from './cli-objects.js';
import { CliError } from '../../cli/arguments/errors.js';
import { statusLive } from '../../cli/commands/status/live.js';
import { follow } from '../../cli/commands/status/follow.js';
import { StatusReporter } from '../../cli/commands/status/reporter.js';
import { listings } from '../../cli/kube/kinds.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ApiError, ConnectionError } from '../../runner/api/api-error.js';
import type { WatchEvent } from '../../runner/api/client.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import type { ApiClient } from '../../cli/kube/connect.js';
import { ClusterSnapshot, takeSnapshot } from '../../cli/kube/snapshot.js';

const GROUP = 'app-operator.io';
const NAMESPACE = 'ns';
const BENCHES = collectionOf('AppBench');
const LEASES = '/apis/coordination.k8s.io/v1/leases';

function collectionOf(name: string): string {
  const listing = listings(GROUP).find(({ kind }) => kind.kind === name);
  assert.ok(listing, name);
  return resourcePath(listing.kind, NAMESPACE);
}

/** The Leases of an operator with one shard. */
function leases(): readonly object[] {
  const lease = (name: string, holderIdentity: string) => ({
    metadata: { name },
    spec: { holderIdentity, renewTime: new Date().toISOString(), leaseDurationSeconds: 15 },
  });
  return [
    lease('app-operator-leader', 'app-operator-shards-1'),
    lease('app-operator-shard-0', 'pod-0_uuid'),
  ];
}

/** An API server with one bench. Its watches stay open. */
class OneBench implements ApiClient {
  /** What requests of a path fail with. */
  readonly failures = new Map<string, Error>();
  /** What the next watches of the benches begin with; an error ends one. */
  readonly watches: (WatchEvent | Error)[] = [];

  async request<T>(_method: string, path: string): Promise<T> {
    const failure = this.failures.get(path);
    if (failure) throw failure;
    const items = path === BENCHES ? [bench()] : path === LEASES ? leases() : [];
    return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items } as T;
  }

  async *watch<O extends KubeObject>(
    path: string,
    _query: unknown,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<O>> {
    const step = path === BENCHES ? this.watches.shift() : undefined;
    if (step instanceof Error) throw step;
    if (step) yield step as WatchEvent<O>;
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }
}

describe('status --watch of one resource', () => {
  const watched = (client: ApiClient, kind: string, name: string): Promise<number> => {
    let shown = 0;
    const props = { client, apiGroup: GROUP, namespace: NAMESPACE, selection: { kind, name } };
    return statusLive(props, AbortSignal.timeout(5_000), () => {
      shown += 1;
      return 'stop';
    }).then(() => shown);
  };
  const failsWith = (message: string) => (error: unknown) =>
    error instanceof CliError && error.message === message;

  test('follows a resource that exists', async () => {
    assert.equal(await watched(new OneBench(), 'AppBench', 'b'), 1);
  });

  test('ends for a name that does not exist', async () => {
    await assert.rejects(
      watched(new OneBench(), 'AppSite', 'shop'),
      failsWith('AppSite "shop" not found in namespace ns'),
    );
  });

  test('ends for a kind that the user may not list', async () => {
    const client = new OneBench();
    client.failures.set(collectionOf('AppSite'), new ApiError(403, 'Forbidden', {}, 'no'));
    await assert.rejects(
      watched(client, 'AppSite', 'shop'),
      failsWith('forbidden: cannot list appsites.app-operator.io in namespace ns'),
    );
  });
});

describe('status --watch during an outage of the API server', () => {
  const OUTAGES = [
    new ConnectionError('GET', 'ECONNREFUSED'),
    new ApiError(503, '', {}, 'GET: 503'),
    new ApiError(500, 'InternalError', {}, 'GET: 500'),
  ];
  /** A report each five seconds. @param client lists the Leases before the outage too */
  const reporterOf = (client: ApiClient) => {
    let time = 0;
    const selection = {};
    const now = (): number => (time += 5_000);
    return new StatusReporter({ client, apiGroup: GROUP, namespace: NAMESPACE, selection, now });
  };

  for (const outage of OUTAGES) {
    test(`goes on after ${outage.message}`, async () => {
      const client = new OneBench();
      const reporter = reporterOf(client);
      const snapshot = await takeSnapshot(client, listings(GROUP), NAMESPACE);
      const shard = await reporter.report(snapshot);
      assert.equal(shard.resources[0]?.details.replica, 'pod-0');
      client.failures.set(LEASES, outage);
      const { resources } = await reporter.report(snapshot);
      assert.equal(resources[0]?.details.replica, 'pod-0', 'the last holder');
      assert.equal((await reporterOf(client).report(snapshot)).resources.length, 1);
    });
  }

  test('ends when it is interrupted, or no longer authenticated', async () => {
    const client = new OneBench();
    const reporter = reporterOf(client);
    for (const error of [new DOMException('', 'AbortError'), new ApiError(401, '', {}, 'no')]) {
      client.failures.set(LEASES, error);
      await assert.rejects(reporter.report(new ClusterSnapshot()), error);
    }
  });

  /** Follows the benches until they are noted for one reason after another, and for no other. */
  async function followed(client: OneBench, reasons: readonly (string | undefined)[]) {
    const listed = listings(GROUP).filter(({ kind }) => kind.kind === 'AppBench');
    const snapshot = await takeSnapshot(client, listed, NAMESPACE);
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(5_000)]);
    const show = async () => 'continue' as const;
    const props = { listings: listed, namespace: NAMESPACE, signal, show };
    const following = follow(client, snapshot, props);
    for (const reason of reasons) {
      while (snapshot.omitted[0]?.why !== reason) {
        const got = snapshot.omitted[0]?.why;
        assert.ok(!signal.aborted && reasons.includes(got), `${reason}: got ${got}`);
        await sleep(1);
      }
      assert.ok(snapshot.omitted.length <= 1);
    }
    stop.abort();
    await following;
  }
  const OUTDATED = 'watch failed; the state may be outdated';
  const FORBIDDEN = 'forbidden: watch; the state may be outdated';

  test('notes that the state may be outdated, until the API server answers', async () => {
    const client = new OneBench();
    client.watches.push(OUTAGES[0] as Error);
    await followed(client, [undefined, OUTDATED, undefined]);
  });

  test('notes a missing permission to watch, until an event arrives', async () => {
    const client = new OneBench();
    client.watches.push(new ApiError(403, 'Forbidden', {}, 'no'));
    client.watches.push({ type: 'MODIFIED', object: bench() });
    await followed(client, [undefined, FORBIDDEN, undefined]);
    assert.deepEqual(client.watches, []);
  });

  test('does not note a watch that has expired', async () => {
    const client = new OneBench();
    client.watches.push(new ApiError(410, 'Expired', {}, 'no'));
    client.watches.push(new ApiError(403, 'Forbidden', {}, 'no'));
    await followed(client, [undefined, FORBIDDEN]);
  });
});
