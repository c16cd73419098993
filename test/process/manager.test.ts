import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiObject, Chart } from 'cdk8s';

import { bench } from '../../constructs/kinds/bench/index.js';
import { childLabels } from '../../constructs/kit/labels.js';
import type { Batch } from '../../constructs/kit/batch.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ScaledObject } from '../../constructs/integrations/keda/kinds.js';
import { ConfigMap } from '../../constructs/kit/object-kind.js';
import { Stage } from '../../constructs/kit/synth.js';
import type { AnyKind } from '../../constructs/registry.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { Client, Method, RequestOptions, WatchEvent } from '../../runner/api/client.js';
import { parseConfig } from '../../runner/config/config.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { Manager } from '../../runner/manager.js';
import type { ManagerProps } from '../../runner/wiring.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { BENCH } from '../unit/plan-builder.js';

const labels = childLabels(BENCH, 'c');
const { apiVersion, kind, metadata } = BENCH;
const SPEC = { frameworkVersion: 'version-15', appsJSON: '["erpnext"]' };
const SCALER: KubeObject = {
  ...{ apiVersion: ScaledObject.apiVersion, kind: ScaledObject.kind },
  metadata: {
    name: 'scaler',
    namespace: 'n',
    uid: 'u-2',
    resourceVersion: '7',
    labels,
    ownerReferences: [{ apiVersion, kind, name: 'b', uid: 'u-1', controller: true }],
  },
};

/** A kind with a ConfigMap, and with a ScaledObject where the cluster knows such things. */
const scaling = {
  definition: bench.definition,
  owns: [ConfigMap, ScaledObject],
  reads: [],
  references: [],
  reasons: {},
  durableStatus: [],
  indexes: [],
  resolve: (_, reader) => ({ keda: reader.serves(ScaledObject) }),
  chart: (scope, id, { inputs }) => {
    const chart = new Chart(scope, id, { disableResourceNameHashes: true });
    const stage = new Stage(chart, 'all');
    const { keda } = inputs as { readonly keda: boolean };
    new ApiObject(stage, 'config', {
      ...{ apiVersion: 'v1', kind: 'ConfigMap' },
      metadata: { name: keda ? 'with' : 'without', labels },
    });
    if (!keda) return chart;
    new ApiObject(stage, 'scaler', {
      ...{ apiVersion: SCALER.apiVersion, kind: SCALER.kind },
      metadata: { name: 'scaler', labels },
    });
    return chart;
  },
  probes: () => [],
  evaluate: () => ({
    phase: 'Ready',
    ready: { type: 'Ready', status: 'True', reason: 'Ready', message: '' },
    fields: {},
  }),
  cleanup: { needed: () => false, reads: [], blockers: () => undefined, chart: () => undefined },
} as AnyKind;

/** A cluster with one bench and its ScaledObject, whose API is served on request. */
class Cluster implements Client {
  readonly calls = new Map();
  /** As `PATCH scaler`. */
  readonly writes: string[] = [];
  served = false;
  /** Waited for before a write is answered. */
  blocked: Promise<unknown> = Promise.resolve();
  readonly lists = new Map<string, readonly KubeObject[]>([
    [
      'appbenchs',
      [{ ...BENCH, metadata: { ...metadata, resourceVersion: '5' }, spec: SPEC } as KubeObject],
    ],
    ['scaledobjects', [SCALER]],
  ]);

  /** The events of a watch, by the resource, such as `appbenchs`. */
  readonly events = new Map<string, readonly WatchEvent[]>();
  /** The watches whose events are delivered. */
  readonly delivered = new Set<string>();

  async request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const last = path.split('/').at(-1) ?? '';
    if (method === 'GET') return this.#read(path, last) as T;
    this.writes.push(`${method} ${last}`);
    await this.blocked;
    // The server knows the spec of the object whose status is written.
    const body = { spec: SPEC, ...(options.body as KubeObject) };
    return { ...body, metadata: { uid: 'u-9', ...body.metadata, resourceVersion: '20' } } as T;
  }

  #read(path: string, last: string): unknown {
    if (last === 'v1alpha1' && path.includes('keda') && this.served) {
      const verbs = ['create', 'delete', 'get', 'list', 'patch', 'watch'];
      return { resources: [{ name: 'scaledobjects', kind: 'ScaledObject', verbs }] };
    }
    if (/\/v\d\w*$/.test(path)) throw new ApiError(404, 'NotFound', {}, 'no');
    const items = this.lists.get(last) ?? [];
    const { apiVersion = 'v1', kind = 'X' } = items[0] ?? {};
    return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: '10' }, items };
  }

  apply<T>(path: string, object: unknown): Promise<T> {
    return this.request('PATCH', path, { body: object });
  }

  async *watch<O extends KubeObject>(
    path: string,
    _query: unknown,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<O>> {
    const last = path.split('/').at(-1) ?? '';
    yield* (this.events.get(last) ?? []) as readonly WatchEvent<O>[];
    this.delivered.add(last);
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  }

  async close(): Promise<void> {
    await this.blocked;
  }
}

function managerOf(
  cluster: Cluster,
  metrics: OperatorMetrics,
  props: Pick<ManagerProps, 'batches'> = {},
): Manager {
  return new Manager({
    config: parseConfig([], {}),
    client: cluster,
    metrics,
    log: createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough()),
    kinds: [scaling],
    batches: [],
    ...props,
  });
}

async function started(t: TestContext): Promise<Cluster> {
  const cluster = new Cluster();
  const manager = managerOf(cluster, new OperatorMetrics([kind], false));
  t.after(() => manager.stop());
  await manager.sync();
  manager.start();
  return cluster;
}

async function until(cluster: Cluster, write: string): Promise<void> {
  for (let waited = 0; !cluster.writes.includes(write); waited += 20) {
    assert.ok(waited < 10_000, `${write} is not among ${cluster.writes.join(', ')}`);
    await sleep(20);
  }
}

test('an API that appears late keeps its existing objects', async (t) => {
  const cluster = await started(t);
  await until(cluster, 'PATCH without');
  cluster.served = true;
  await until(cluster, 'PATCH scaler');
  assert.ok(!cluster.writes.includes('DELETE scaler'), cluster.writes.join(', '));
});

test('a reconcile that runs when an API appears leaves its objects alone', async (t) => {
  const cluster = await started(t);
  const { promise, resolve: release } = Promise.withResolvers<undefined>();
  t.after(() => release(undefined));
  cluster.blocked = promise;
  await until(cluster, 'PATCH without');
  cluster.served = true;
  // Discovery looks 0.3 and 1.8 seconds after the definitions were listed.
  await sleep(2_500);
  release(undefined);
  await until(cluster, 'PATCH scaler');
  assert.ok(!cluster.writes.includes('DELETE scaler'), cluster.writes.join(', '));
});

/** A batch of benches without requests. */
const batch = {
  name: 'batch',
  owner: kind,
  owns: [],
  requests: { name: 'requests', kind: 'Request', values: () => [] },
  progress: 'Progress',
  size: 1,
} as unknown as Batch;

const benches = (count: number): readonly KubeObject[] =>
  Array.from({ length: count }, (_, index) => ({
    ...BENCH,
    metadata: {
      ...metadata,
      name: `b${index}`,
      uid: `u-${index}`,
      resourceVersion: `${index + 11}`,
    },
    spec: SPEC,
  }));

/** The values of a metric by its labels; a 0 is left out. */
async function valuesOf(
  metrics: OperatorMetrics,
  name: string,
): Promise<Readonly<Record<string, number>>> {
  const { body } = await metrics.exposition();
  const lines = body.split('\n').filter((line) => line.startsWith(`app_operator_${name}{`));
  const values = lines.map((line): [string, number] => [
    /{(.*)}/.exec(line)?.[1] ?? '',
    Number(line.split(' ')[1]),
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== 0));
}

const DEPTH = 'workqueue_depth';

test('a standby collects no keys, and reconciles all resources once it leads', async (t) => {
  const cluster = new Cluster();
  const [kept, ...deleted] = benches(20);
  assert.ok(kept);
  cluster.lists.set('appbenchs', [kept]);
  const later = deleted.map((object) => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: '99' },
  }));
  cluster.events.set('appbenchs', [
    ...deleted.map((object) => ({ type: 'ADDED' as const, object })),
    ...later.map((object) => ({ type: 'DELETED' as const, object })),
  ]);
  const metrics = new OperatorMetrics([kind], false);
  const manager = managerOf(cluster, metrics, { batches: [batch] });
  t.after(() => manager.stop());
  await manager.sync();
  while (!cluster.delivered.has('appbenchs')) await sleep(5);
  // A batch collects requests for 0.15 seconds.
  await sleep(300);
  assert.deepEqual(await valuesOf(metrics, 'resource_total'), {
    'resource_type="appbench",namespace="n"': 1,
  });
  assert.deepEqual(await valuesOf(metrics, DEPTH), {});
  const isBusy = (): boolean => manager.busy;
  assert.equal(isBusy(), false);
  manager.start();
  while (isBusy()) await sleep(5);
  assert.ok(cluster.writes.includes('PATCH without'), cluster.writes.join());
  const count = 'reconciliation_duration_seconds_count';
  const success = (controller: string): string => `controller="${controller}",result="success"`;
  const reconciled = await valuesOf(metrics, count);
  assert.equal(reconciled[success('batch')], 1);
  assert.ok(success('appbench') in reconciled, JSON.stringify(reconciled));
  assert.deepEqual(await valuesOf(metrics, DEPTH), {});
});

test('no key waits after the operator has stopped', async (t) => {
  const cluster = new Cluster();
  cluster.lists.set('appbenchs', benches(20));
  // No more than some keys are in work.
  const { promise, resolve: release } = Promise.withResolvers<undefined>();
  cluster.blocked = promise;
  const metrics = new OperatorMetrics([kind], false);
  const manager = managerOf(cluster, metrics, { batches: [batch] });
  t.after(() => manager.stop());
  await manager.sync();
  manager.start();
  await sleep(200);
  assert.notDeepEqual(await valuesOf(metrics, DEPTH), {});
  const stopped = manager.stop();
  release(undefined);
  await stopped;
  await sleep(300);
  assert.deepEqual(await valuesOf(metrics, DEPTH), {});
  assert.ok(!manager.busy);
});
