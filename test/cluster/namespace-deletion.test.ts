import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { OperatorMetrics } from '../../testbed/operator-metrics.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite } from './support/builders.js';
import { at } from './support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.stop());

test('a deleted namespace is not held up, and the operator names the databases that it leaves elsewhere', async () => {
  const namespace = await cluster.namespace();
  const metricsPort = await cluster.freePort();
  const operator = await cluster.operator([], { namespaces: [namespace], metricsPort });
  const metrics = new OperatorMetrics(metricsPort);
  const shared = { workloads: 'Shared', deletionPolicy: 'Delete' };
  await cluster.apply(
    namespace,
    aSecret('root', { username: 'root', password: 'x' }),
    aBench('elsewhere', {
      dbConfig: { mode: 'external', host: 'db.example.com', rootSecretRef: { name: 'root' } },
    }),
    aBench('own'),
    aSite('left', { bench: 'elsewhere', ...shared }),
    aSite('kept', { bench: 'elsewhere', ...shared, deletionPolicy: 'Retain' }),
    aSite('gone', { bench: 'own', ...shared }),
  );
  for (const name of ['left', 'kept', 'gone']) await cluster.ready('AppSite', namespace, name);
  const database = String(
    at(await cluster.the('AppSite', namespace, 'left'), 'status.database.name'),
  );

  await cluster.delete('Namespace', '', namespace);
  const line = await operator.logged(
    'the namespace was deleted before the data of this resource: delete it by hand',
  );
  assert.equal(line.level, 'warn');
  assert.equal(line['name'], 'left');
  assert.deepEqual(line['left'], [`database and user ${database} on db.example.com`]);
  for (const name of ['left', 'kept', 'gone']) await cluster.deleted('AppSite', namespace, name);
  for (const name of ['elsewhere', 'own']) await cluster.deleted('AppBench', namespace, name);
  assert.equal(await metrics.sum('orphaned_data_total', ({ kind }) => kind === 'AppSite'), 1);
  await cluster.deleted('Namespace', '', namespace);
});
