import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { aBench, aSite } from '../cluster/support/builders.js';
import { kubectlMessage } from '../cluster/support/kubectl-message.js';
import { bundleOf } from '../cluster/support/webhooks.js';
import { type E2e, e2e, skip } from './harness.js';

/** Requests per figure. */
const COUNT = 50;
/** Calls without an answer within 3 s, as on a machine that is suspended meanwhile. */
const SUSPENDED = 10;
/** What counts them in the API server's metrics. */
const PASSED =
  /^apiserver_admission_webhook_request_total\{code="200",name="(validate|mutate)\.app-operator\.io",operation="CREATE",rejected="false"/;

suite('admission webhooks, through their Service', { skip }, () => {
  let cluster: E2e;
  let namespace: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    await cluster.until('the authority in the configurations', () => bundleOf(cluster));
    // Nothing is made for it: this is about the registration at the API server.
    await cluster.apply(namespace, aBench('called', { paused: true }));
  });
  after(async () => {
    await cluster.delete('AppBench', namespace, 'called');
    await cluster.delete('Namespace', '', namespace);
  });

  const create = (name: string): Promise<string> =>
    kubectlMessage(
      cluster,
      namespace,
      ['create', '--dry-run=server', '--filename=-'],
      aSite(name, { bench: 'called' }),
    );

  test('the API server calls the operator in its pod, and refuses what it refuses', async () => {
    await cluster.until('a refusal', async () =>
      (await create('called')).includes('the AppBench of this name in this namespace'),
    );
    assert.match(await create('free'), /created/);
  });

  test('each creation calls both webhooks', async () => {
    const path = `/apis/app-operator.io/v1alpha1/namespaces/${namespace}/appsites?dryRun=All`;
    const before = await answered();
    const times: number[] = [];
    for (let i = 0; i < COUNT; i++) {
      const begun = performance.now();
      await cluster.node.api.request('POST', path, aSite(`s-${i}`, { bench: 'called' }));
      times.push(performance.now() - begun);
    }
    const [median = 0] = times.toSorted((a, b) => a - b).slice(COUNT / 2);
    cluster.figures.add('creation of a site through both webhooks', `${median.toFixed(1)} ms`);
    const count = (await answered()) - before;
    assert.ok(count >= 2 * COUNT - SUSPENDED, `${count} answers of ${2 * COUNT}`);
  });

  /** Number of creations that the webhook has admitted, in the metrics of the API server. */
  async function answered(): Promise<number> {
    const metrics = await cluster.node.api.text('/metrics');
    const lines = metrics.split('\n').filter((line) => PASSED.test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }
});
