import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, mock, test } from 'node:test';

import type { KubeObject } from '../../constructs/kit/object.js';
import {
  PrometheusRule,
  ServiceMonitor,
} from '../../constructs/integrations/prometheus-operator/kinds.js';
import { monitoringObjects } from '../../constructs/monitoring/objects.js';
import { ApiError, ConnectionError } from '../../runner/api/api-error.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { MonitoringReconciler } from '../../runner/monitoring/monitoring-reconciler.js';

const NAMESPACE = 'app-operator-system';
const MONITORS = `/apis/monitoring.coreos.com/v1/namespaces/${NAMESPACE}/servicemonitors`;
const ALL = [
  'ServiceMonitor/app-operator-workloads',
  'ServiceMonitor/app-operator-metrics',
  'PrometheusRule/app-operator',
  'ConfigMap/app-operator-dashboard',
];

const status = (code: number): ApiError =>
  ApiError.of('GET', code, JSON.stringify({ kind: 'Status', message: `status ${code}` }));
const nameOf = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name}`;
const wanted = (name: string): KubeObject => {
  const found = monitoringObjects({ namespace: NAMESPACE }).find(({ object }) => nameOf(object) === name); // prettier-ignore
  assert.ok(found, name);
  return found.object;
};

/** A MonitoringReconciler on a server that answers each read with an object, or fails. */
function caInjector(answer: (path: string) => KubeObject | Error, scraped = true) {
  const applied: KubeObject[] = [];
  const reads: string[] = [];
  const output = new PassThrough();
  const client = {
    request: async (_method: string, path: string) => {
      reads.push(path);
      const found = answer(path);
      if (found instanceof Error) throw found;
      return found as never;
    },
    apply: async (_path: string, object: unknown) => {
      applied.push(object as KubeObject);
      return object as never;
    },
  };
  const it = new MonitoringReconciler({
    client,
    namespace: NAMESPACE,
    scraped,
    log: createLogger({ logLevel: 'info', logEncoder: 'json' }, output),
  });
  const log = (): string => String((output.read() as Buffer | null) ?? '');
  return { it, applied, reads, log };
}
const none = (): Error => status(404);
const serveAll = (it: MonitoringReconciler): void => {
  for (const kind of it.kinds) it.serve(kind, true);
};
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the monitoring of the operator', () => {
  test('is created once this is the leader and the APIs are served, in any order', async () => {
    const start = (it: MonitoringReconciler): void => it.start();
    for (const [first, second] of [
      [serveAll, start],
      [start, serveAll],
    ] as const) {
      const { it, applied, reads } = caInjector(none);
      first(it);
      await soon();
      assert.deepEqual([applied.length, reads.length], [0, 0]);
      second(it);
      await soon();
      assert.deepEqual(applied.map(nameOf), ALL);
      it.stop();
    }
  });

  test('is created for served APIs only; the dashboard comes with the rules', async () => {
    const { it, applied } = caInjector(none);
    it.start();
    it.serve(ServiceMonitor, true);
    await soon();
    assert.deepEqual(applied.map(nameOf), ALL.slice(0, 2));
    it.serve(PrometheusRule, true);
    await soon();
    assert.deepEqual(applied.map(nameOf), ALL);
    it.serve(PrometheusRule, false);
    it.serve(PrometheusRule, true);
    await soon();
    assert.deepEqual(applied.slice(4).map(nameOf), ALL.slice(2), 'one that is back has lost them');
    it.stop();
  });

  test('is that of the benches, with their alerts, where its own metrics are not to be had', async () => {
    const { it, applied } = caInjector(none, false);
    it.start();
    serveAll(it);
    await soon();
    assert.deepEqual(applied.map(nameOf), [
      'ServiceMonitor/app-operator-workloads',
      'PrometheusRule/app-operator',
    ]);
    const { spec } = applied[1] as KubeObject & { spec: { groups: { name: string }[] } };
    assert.deepEqual(
      spec.groups.map(({ name }) => name),
      ['app-workloads'],
      'no alert that the operator is down',
    );
    it.stop();
  });

  test('is unchanged if it matches, and corrected if it differs', async () => {
    const monitor = wanted('ServiceMonitor/app-operator-metrics') as KubeObject & { spec: object };
    const live = { ...monitor, metadata: { ...monitor.metadata, uid: '1', resourceVersion: '7' } };
    const same = caInjector((path) =>
      path === `${MONITORS}/app-operator-metrics` ? live : none(),
    );
    same.it.start();
    serveAll(same.it);
    await soon();
    assert.deepEqual(
      same.applied.map(nameOf),
      ALL.filter((name) => name !== nameOf(monitor)),
    );

    const changed = caInjector(() => ({ ...live, spec: { ...monitor.spec, endpoints: [] } }));
    changed.it.start();
    serveAll(changed.it);
    await soon();
    assert.deepEqual(changed.applied.map(nameOf), ALL);
  });

  test('of another owner is unchanged', async () => {
    const { apiVersion, kind, metadata } = wanted('ServiceMonitor/app-operator-metrics');
    const { name } = metadata;
    const foreign = caInjector(() => ({
      apiVersion,
      kind,
      metadata: { name, namespace: NAMESPACE },
    }));
    foreign.it.start();
    serveAll(foreign.it);
    await soon();
    assert.deepEqual(foreign.applied, []);
    assert.match(foreign.log(), /another owner/);
  });

  test('that is forbidden is logged once for each object, and stops nothing else', async () => {
    const { it, reads, log } = caInjector(() => status(403));
    it.start();
    serveAll(it);
    await soon();
    serveAll(it);
    await soon();
    assert.equal(reads.length, 8);
    assert.equal(log().trim().split('\n').length, 4);
  });

  test('is made once it is allowed', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      for (const code of [403, 404, 422]) {
        let allowed = false;
        const { it, applied, log } = caInjector(none);
        const apply = applied.push.bind(applied);
        applied.push = (...objects) => {
          if (!allowed) throw status(code);
          return apply(...objects);
        };
        serveAll(it);
        it.start();
        await soon();
        mock.timers.tick(600_000);
        await soon();
        assert.equal(log().trim().split('\n').length, 4, 'it is logged once');
        allowed = true;
        mock.timers.tick(600_000);
        await soon();
        assert.deepEqual(applied.map(nameOf), ALL, String(code));
        it.stop();
      }
    } finally {
      mock.timers.reset();
    }
  });

  test('is tried again after the server did not answer', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { it, reads } = caInjector(() => new ConnectionError('GET', 'ECONNREFUSED'));
      serveAll(it);
      it.start();
      await soon();
      mock.timers.tick(30_000);
      await soon();
      assert.equal(reads.length, 8);
      it.stop();
      mock.timers.tick(60_000);
      await soon();
      assert.equal(reads.length, 8);
    } finally {
      mock.timers.reset();
    }
  });
});

test('deleted monitoring is created again', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { it, applied } = caInjector(none);
    serveAll(it);
    it.start();
    await soon();
    assert.equal(applied.length, 4);
    mock.timers.tick(600_000);
    await soon();
    assert.equal(applied.length, 8);
    it.stop();
    mock.timers.tick(600_000);
    await soon();
    assert.equal(applied.length, 8);
  } finally {
    mock.timers.reset();
  }
});

describe('the ServiceMonitors', () => {
  const spec = (name: string, watchNamespaces?: readonly string[]): Record<string, unknown> => {
    const found = monitoringObjects({ namespace: NAMESPACE, watchNamespaces }).find(
      ({ object }) => nameOf(object) === `ServiceMonitor/${name}`,
    );
    return (found?.object as unknown as { spec: Record<string, unknown> }).spec;
  };

  test('trust the namespace label of the operator only', () => {
    const [own] = spec('app-operator-metrics')['endpoints'] as { honorLabels: boolean }[];
    assert.equal(own?.honorLabels, true);
    const path = '/metrics';
    assert.deepEqual(spec('app-operator-workloads')['endpoints'], [
      {
        ...{ port: 'metrics', path, interval: '30s' },
        metricRelabelings: [{ action: 'labeldrop', regex: '(exported_)+namespace' }],
      },
    ]);
  });

  test('select benches in all namespaces, or in the watched ones', () => {
    assert.deepEqual(spec('app-operator-workloads')['namespaceSelector'], { any: true });
    const some = spec('app-operator-workloads', ['a', 'b'])['namespaceSelector'];
    assert.deepEqual(some, { matchNames: ['a', 'b'] });
  });
});
