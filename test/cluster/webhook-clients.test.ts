import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { newAuthority } from '../../testbed/controlplane/certificate.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { kubectlMessage } from './support/kubectl-message.js';
import type { Manifest } from './support/objects.js';
import { bundleOf, configurations, register } from './support/webhooks.js';

const NAMESPACE = 'shop';
const API_SERVER = 'webhooks-of-the-api-server';

let cluster: Cluster;
let port: number;
before(async () => {
  cluster = await startCluster({
    kwokNodes: 0,
    controllerManager: false,
    scheduler: false,
    webhookClient: API_SERVER,
  });
  for (const name of [NAMESPACE, 'other', OPERATOR.namespace]) {
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const ingress = { enabled: true };
  await cluster.apply(NAMESPACE, aBench('b'), aSite('first', { bench: 'b', ingress }));
  await cluster.apply('other', aBench('b'), aSite('theirs', { bench: 'b', ingress }));
  port = await cluster.freePort();
  await cluster.operator([
    '--webhooks',
    `--webhook-bind-address=127.0.0.1:${port}`,
    `--webhook-client-ca-file=${path.join(cluster.controlPlane.dataDir, 'pki', 'ca.crt')}`,
    `--webhook-client-names=another,${API_SERVER}`,
  ]);
  // A webhook that is not answered would refuse all.
  await register(cluster, configurations(port, { failurePolicy: 'Fail' }));
  await cluster.until('the authority to be registered', () => bundleOf(cluster));
  await cluster.until('the webhooks to be asked', async () =>
    (await create(onBench('absent'))).includes('absent'),
  );
});
after(() => cluster.stop());

/** What kubectl prints where an object is created without storing it. */
const create = (manifest: Manifest): Promise<string> =>
  kubectlMessage(
    cluster,
    NAMESPACE,
    ['create', '--warnings-as-errors', '--dry-run=server', '--filename=-'],
    manifest,
  );
const onBench = (bench: string, siteName = 'new.example.com'): Manifest =>
  aSite('new', { bench, siteName, ingress: { enabled: true } });

describe('advice', () => {
  test('names objects of the namespace', async () => {
    assert.match(await create(onBench('absent')), /Warning: .* there is no AppBench "absent"/);
    assert.match(await create(onBench('b', 'first.example.com')), /has this host name already/);
  });
  test('says nothing of other namespaces', async () => {
    assert.match(await create(onBench('b', 'theirs.example.com')), /created \(server dry run\)/);
  });
});

describe('the webhooks answer the API server only', () => {
  const review = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' });
  /** The status of an answer to a client with this certificate. */
  async function statusFor(certificate: object): Promise<number> {
    const ca = await bundleOf(cluster);
    const agent = new Agent({ connect: { ca, ...certificate } });
    try {
      const url = `https://127.0.0.1:${port}/validate`;
      const answer = await request(url, { dispatcher: agent, method: 'POST', body: review });
      await answer.body.dump();
      return answer.statusCode;
    } finally {
      await agent.close();
    }
  }
  const signed = (commonName: string): object => {
    const { certificatePem, keyPem } = cluster.controlPlane.credential({ commonName });
    return { cert: certificatePem, key: keyPem };
  };

  test('by its certificate: what it asks is read', async () => {
    assert.equal(await statusFor(signed(API_SERVER)), 400);
    assert.equal(await statusFor(signed('another')), 400);
  });
  test('not another client of its authority', async () => {
    assert.equal(await statusFor(signed('tenant')), 403);
  });
  test('not a client without a certificate, or of another authority', async () => {
    await assert.rejects(statusFor({}));
    const { certificatePem, keyPem } = newAuthority('another-authority');
    await assert.rejects(statusFor({ cert: certificatePem, key: keyPem }));
  });
});
