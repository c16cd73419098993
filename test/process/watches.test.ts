import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { KubeObject } from '../../constructs/kit/object.js';
import { ScaledObject } from '../../constructs/integrations/keda/kinds.js';
import { ConfigMap, Job } from '../../constructs/kit/object-kind.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { Client, Method, WatchEvent } from '../../runner/api/client.js';
import { Watches } from '../../runner/cache/watches.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';

/** Sleeps are a hundredth as long: a factor of 0.01 in place of one between 0.5 and 1.5. */
const FAST = 0.01 - 0.5;

/** Two kinds in two namespaces, each with one object, and what may not be read of them. */
class Bench implements Client {
  readonly calls = new Map();
  readonly seen: string[] = [];
  time = 0;
  refused = /^$/;
  readonly watches = new Watches({
    client: this,
    namespaces: ['blog', 'shop'],
    metrics: new OperatorMetrics([], false),
    log: createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough()),
    now: () => this.time,
    random: () => FAST,
  });

  constructor(t: TestContext, refused: RegExp) {
    this.refused = refused;
    t.after(() => {
      this.watches.stop();
    });
    for (const kind of [ConfigMap, Job]) {
      this.watches.start(kind, {
        sink: () => ({
          replace: ([object]) => void this.seen.push(`${kind.kind} ${object?.metadata.name}`),
          upsert: ({ metadata }) => void this.seen.push(`${kind.kind} +${metadata.name}`),
          remove: () => undefined,
        }),
      });
    }
  }

  get synced(): boolean {
    return this.watches.unsynced().length === 0;
  }

  /** Gives every watch time to try again. */
  async tries(time: number): Promise<void> {
    this.time = time;
    await sleep(600);
  }

  async request<T>(_: Method, path: string): Promise<T> {
    if (this.refused.test(path)) throw new ApiError(403, 'Forbidden', {}, 'no');
    const items = [{ metadata: { name: /namespaces\/(\w+)/.exec(path)?.[1] } }];
    return { apiVersion: 'v1', kind: 'L', metadata: { resourceVersion: '10' }, items } as T;
  }

  async *watch<O extends KubeObject>(
    path: string,
    _query: unknown,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<O>> {
    if (path.includes('blog')) {
      const object = { metadata: { name: 'later', resourceVersion: '11' } } as O;
      yield { type: 'ADDED', object };
    }
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  }

  apply<T>(path: string): Promise<T> {
    return assert.fail(path);
  }

  async close(): Promise<void> {
    await sleep(0);
  }
}

const SHOP = ['ConfigMap shop', 'Job shop'];

describe('a namespace in which nothing may be read', () => {
  test('is awaited, and then skipped if another one can be read', async (t) => {
    const bench = new Bench(t, /blog/);
    await bench.tries(29_000);
    assert.equal(bench.synced, false);
    await bench.tries(30_000);
    assert.equal(bench.synced, true);
    for (const kind of [ConfigMap, Job]) await bench.watches.synced(kind);
    assert.deepEqual(bench.seen, SHOP);
  });

  test('is created again completely', async (t) => {
    const bench = new Bench(t, /blog/);
    await bench.tries(30_000);
    bench.refused = /blog\/jobs/;
    await bench.tries(31_000);
    assert.deepEqual(bench.seen, SHOP, 'a part of it changes nothing');
    bench.refused = /^$/;
    await bench.tries(32_000);
    assert.deepEqual(bench.seen.slice(2), [
      'ConfigMap blog',
      'ConfigMap +later',
      'Job blog',
      'Job +later',
    ]);
  });

  test('is awaited while no other one can be read: rights may still be granted', async (t) => {
    const bench = new Bench(t, /./);
    await bench.tries(60_000);
    assert.equal(bench.synced, false);
  });

  test('is named while it is awaited', (t) => {
    const bench = new Bench(t, /blog/);
    const paths = bench.watches.unsynced().flatMap((kind) => kind.paths);
    assert.ok(paths.includes('/api/v1/namespaces/blog/configmaps'), paths.join(', '));
  });
});

test('a namespace in which something may not be read is awaited, with all its objects', async (t) => {
  const bench = new Bench(t, /blog\/jobs/);
  await bench.tries(60_000);
  assert.equal(bench.synced, false);
  assert.deepEqual(bench.seen, SHOP);
});

test('an optional kind that may not be read is no reason to wait for its namespace', async (t) => {
  const bench = new Bench(t, /blog|scaledobjects/);
  const sink = { replace: () => undefined, upsert: () => undefined, remove: () => undefined };
  bench.watches.start(ScaledObject, { sink: () => sink });
  await bench.tries(30_000);
  assert.deepEqual(
    bench.watches.unsynced().map(({ kind }) => kind.kind),
    ['ScaledObject'],
  );
});
