import { after, before, test } from 'node:test';

import { holdPods } from '../cluster/support/interference.js';
import { Resources, SiteDocuments, Lifecycle } from '../cluster/support/lifecycle.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { DOCUMENT_PODS, DocumentScript } from '../../testbed/stand-in/document-script.js';

let cluster: Cluster;
let script: DocumentScript;
const documents = new SiteDocuments();
before(async () => {
  cluster = await startCluster({ audit: true });
  await holdPods(cluster, DOCUMENT_PODS);
  script = new DocumentScript(cluster.controlPlane.api, documents.answer);
});
after(async () => {
  await script.stop();
  await cluster.stop();
});

test('resources of all kinds that are applied together become Ready, and are deleted together', async () => {
  const namespace = await cluster.namespace();
  await cluster.operator([], { namespaces: [namespace] });
  const lifecycle = new Lifecycle(cluster, namespace, new Resources(cluster), documents);
  for (const operation of ['create', 'delete'] as const) {
    await lifecycle.begin(operation);
    await lifecycle.done(operation);
  }
});
