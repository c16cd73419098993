import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { aBench, aSite } from '../cluster/support/builders.js';
import { kubectlSays } from '../cluster/support/kubectl-says.js';
import { bundleOf } from '../cluster/support/webhooks.js';
import { type E2e, e2e, skip } from './harness.js';

/** Requests per figure. */
const COUNT = 50;

suite('admission webhooks, through their Service', { skip }, () => {
  let cluster: E2e;
  let namespace: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    await cluster.until('the authority in the configurations', () => bundleOf(cluster));
    // Nothing is made for it: this is about what the API server hears of the operator.
    await cluster.apply(namespace, aBench('asked', { paused: true }));
  });
  after(async () => {
    await cluster.delete('AppBench', namespace, 'asked');
    await cluster.delete('Namespace', '', namespace);
  });

  const create = (name: string): Promise<string> =>
    kubectlSays(
      cluster,
      namespace,
      ['create', '--dry-run=server', '--filename=-'],
      aSite(name, { bench: 'asked' }),
    );

  test('the API server asks the operator in its pod, and believes it', async () => {
    await cluster.until('a refusal', async () =>
      (await create('asked')).includes('the AppBench of this name in this namespace'),
    );
    assert.match(await create('free'), /created/);
  });

  test('asking takes little', async () => {
    const path = `/apis/app-operator.io/v1alpha1/namespaces/${namespace}/appsites?dryRun=All`;
    const times: number[] = [];
    for (let i = 0; i < COUNT; i++) {
      const begun = performance.now();
      await cluster.node.api.request('POST', path, aSite(`s-${i}`, { bench: 'asked' }));
      times.push(performance.now() - begun);
    }
    const [median = 0] = times.toSorted((a, b) => a - b).slice(COUNT / 2);
    cluster.figures.add('creation of a site through both webhooks', `${median.toFixed(1)} ms`);
    // One that nobody answers takes three seconds.
    assert.ok(median < 1_000, `${median} ms`);
  });
});
