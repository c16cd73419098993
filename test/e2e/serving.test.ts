import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';

import { type E2e, e2e, skip } from './harness.js';

suite('a bench and its site serve requests', { skip }, () => {
  let cluster: E2e;
  let namespace: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
  });

  test('a site that is Ready answers through nginx', async () => {
    const begun = performance.now();
    await cluster.apply(
      namespace,
      await cluster.example('bench.yaml'),
      await cluster.example('site.yaml'),
    );
    await cluster.ready('AppBench', namespace, 'demo-bench');
    await cluster.ready('AppSite', namespace, 'demo-site');
    const seconds = (performance.now() - begun) / 1_000;
    cluster.figures.add('bench and site, from apply to Ready', `${seconds.toFixed(1)} s`);
    const { status, body } = await cluster.request(
      namespace,
      'demo-bench',
      'demo.example.com',
      '/api/method/ping',
    );
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(body), { message: 'pong' });
  });
});
