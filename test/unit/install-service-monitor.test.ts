import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, mock, test } from 'node:test';

import { serviceMonitorOf } from '../../constructs/install/service-monitor.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ApiError, ConnectionError } from '../../runner/api/api-error.js';
import { createLogger } from '../../runner/log.js';
import { ServiceMonitorKeeper } from '../../runner/service-monitor.js';

const NAMESPACE = 'app-operator-system';
const PATH = `/apis/monitoring.coreos.com/v1/namespaces/${NAMESPACE}/servicemonitors/app-operator-metrics`;

const status = (code: number): ApiError =>
  ApiError.of('GET', code, JSON.stringify({ kind: 'Status', message: `status ${code}` }));

/** A keeper on a server that has one ServiceMonitor, or none, or fails. */
function keeper(answer: KubeObject | Error) {
  const applied: unknown[] = [];
  const reads: string[] = [];
  const output = new PassThrough();
  const client = {
    request: async (_method: string, path: string) => {
      reads.push(path);
      if (answer instanceof Error) throw answer;
      return answer as never;
    },
    apply: async (_path: string, object: unknown) => {
      applied.push(object);
      return object as never;
    },
  };
  const made = new ServiceMonitorKeeper({
    client,
    namespace: NAMESPACE,
    log: createLogger({ logLevel: 'info', logEncoder: 'json' }, output),
  });
  const log = (): string => String((output.read() as Buffer | null) ?? '');
  return { keeper: made, applied, reads, log };
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the ServiceMonitor', () => {
  test('is made once this is the leader and the API is there, in whatever order', async () => {
    for (const steps of [
      [(k: ServiceMonitorKeeper) => k.serve(true), (k: ServiceMonitorKeeper) => k.start()],
      [(k: ServiceMonitorKeeper) => k.start(), (k: ServiceMonitorKeeper) => k.serve(true)],
    ]) {
      const { keeper: it, applied, reads } = keeper(status(404));
      steps[0]?.(it);
      await soon();
      assert.deepEqual([applied.length, reads.length], [0, 0]);
      steps[1]?.(it);
      await soon();
      assert.deepEqual(applied, [serviceMonitorOf(NAMESPACE)]);
      assert.deepEqual(reads, [PATH]);
      it.stop();
    }
  });

  test('is left alone where it is as it should be, and mended where it is not', async () => {
    const wanted = serviceMonitorOf(NAMESPACE) as KubeObject & { readonly spec: object };
    const live = { ...wanted, metadata: { ...wanted.metadata, uid: '1', resourceVersion: '7' } };
    const same = keeper(live);
    same.keeper.serve(true);
    same.keeper.start();
    await soon();
    assert.deepEqual(same.applied, []);

    const changed = keeper({ ...live, spec: { ...wanted.spec, endpoints: [] } } as KubeObject);
    changed.keeper.serve(true);
    changed.keeper.start();
    await soon();
    assert.equal(changed.applied.length, 1);
  });

  test('of somebody else stays as it is', async () => {
    const { apiVersion, kind, metadata } = serviceMonitorOf(NAMESPACE);
    const { name } = metadata;
    const foreign = keeper({ apiVersion, kind, metadata: { name, namespace: NAMESPACE } });
    foreign.keeper.serve(true);
    foreign.keeper.start();
    await soon();
    assert.deepEqual(foreign.applied, []);
    assert.match(foreign.log(), /somebody else/);
  });

  test('that is not allowed is said once, and harms nobody', async () => {
    const { keeper: it, reads, log } = keeper(status(403));
    it.serve(true);
    it.start();
    await soon();
    it.serve(true);
    await soon();
    assert.equal(reads.length, 2);
    assert.equal(log().trim().split('\n').length, 1);
  });

  test('is tried again after the server did not answer', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { keeper: it, reads } = keeper(new ConnectionError('GET', 'ECONNREFUSED'));
      it.serve(true);
      it.start();
      await soon();
      mock.timers.tick(30_000);
      await soon();
      assert.equal(reads.length, 2);
      it.stop();
      mock.timers.tick(60_000);
      await soon();
      assert.equal(reads.length, 2);
    } finally {
      mock.timers.reset();
    }
  });
});
