import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { newAuthority } from '../../testbed/controlplane/certificate.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite, aUser } from './support/builders.js';
import { kubectlMessage } from './support/kubectl-message.js';
import type { Manifest } from './support/objects.js';
import { bundleOf, configurations, register } from './support/webhooks.js';

const NAMESPACE = 'shop';
const API_SERVER = 'webhooks-of-the-api-server';
/** Of four authors: each may write our kinds, and read some of the rest. */
const RIGHTS = {
  /** Only our kinds. */
  tenant: [],
  /** One Secret by its name. */
  named: [{ resources: ['secrets'], resourceNames: ['present', 'absent'], verbs: ['get'] }],
  /** All Secrets of the namespace. */
  reader: [{ resources: ['secrets'], verbs: ['get', 'list'] }],
} as const;
type Author = keyof typeof RIGHTS | 'blind';

let cluster: Cluster;
let port: number;
before(async () => {
  cluster = await startCluster({
    kwokNodes: 0,
    controllerManager: false,
    scheduler: false,
    webhookClient: API_SERVER,
  });
  for (const name of [NAMESPACE, OPERATOR.namespace]) {
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  await cluster.apply(NAMESPACE, aSecret('present', { password: 'x' }));
  await cluster.apply(NAMESPACE, aBench('b'), aSite('first', { bench: 'b' }));
  for (const author of Object.keys(RIGHTS) as (keyof typeof RIGHTS)[]) {
    await grant(author, [
      { apiGroups: ['app-operator.io'], resources: ['*'], verbs: ['*'] },
      ...RIGHTS[author].map((rule) => ({ apiGroups: [''], ...rule })),
    ]);
  }
  // It cannot even read what it writes.
  await grant('blind', [
    { apiGroups: ['app-operator.io'], resources: ['*'], verbs: ['create', 'delete'] },
  ]);
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
    (await as('reader', benchWith('missing'))).includes('missing'),
  );
});
after(() => cluster.stop());

/** Lets a user do something in the namespace. */
async function grant(user: string, rules: readonly object[]): Promise<void> {
  const metadata = { name: user, namespace: NAMESPACE };
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
  const { api } = cluster.controlPlane;
  const apiGroup = 'rbac.authorization.k8s.io';
  const apiVersion = `${apiGroup}/v1`;
  await api.request('POST', `${rbac}/roles`, { apiVersion, kind: 'Role', metadata, rules });
  await api.request('POST', `${rbac}/rolebindings`, {
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: user },
    subjects: [{ apiGroup, kind: 'User', name: user }],
  });
}

/** What kubectl prints where an author creates an object without storing it. */
function as(author: Author, manifest: Manifest): Promise<string> {
  const flags = ['--warnings-as-errors', '--dry-run=server', '--validate=false'];
  const args = ['create', ...flags, '--filename=-', `--as=${author}`];
  return kubectlMessage(cluster, NAMESPACE, args, manifest);
}

const benchWith = (name: string): Manifest =>
  aBench('new', {
    dbConfig: { mode: 'external', host: 'db.example.com', rootSecretRef: { name } },
  });
const WITH_SECRET: Readonly<Record<string, (name: string) => Manifest>> = {
  'of the database of a bench': benchWith,
  'of Redis of a bench': (name) =>
    aBench('new', { redisConfig: { external: { urlsSecretRef: { name } } } }),
  'of the Administrator of a site': (name) =>
    aSite('new', { bench: 'b', adminPasswordSecretRef: { name } }),
  'of the certificate of a site': (name) =>
    aSite('new', { bench: 'b', tls: { enabled: true, secretName: name } }),
  'of a user': (name) =>
    aUser('ann', { siteRef: { name: 'first' }, passwordSecretRef: { name, key: 'password' } }),
};

describe('whether a Secret exists', () => {
  for (const [what, manifest] of Object.entries(WITH_SECRET)) {
    test(`is not shown to an author who may not read it: ${what}`, async () => {
      const present = await as('tenant', manifest('present'));
      const absent = await as('tenant', manifest('absent'));
      assert.match(present, /created \(server dry run\)/);
      assert.equal(absent, present);
    });
  }
  for (const author of ['reader', 'named'] as const) {
    test(`is shown to an author who may: ${author}`, async () => {
      const manifest = WITH_SECRET['of the Administrator of a site'] ?? benchWith;
      assert.match(await as(author, manifest('present')), /created \(server dry run\)/);
      assert.match(
        await as(author, manifest('absent')),
        /Warning: spec.adminPasswordSecretRef.name: there is no Secret "absent" in namespace shop/,
      );
      assert.match(
        await as(author, benchWith('absent')),
        /Warning: spec.dbConfig.rootSecretRef.name: there is no Secret "absent"/,
      );
    });
  }
  test('is shown of those only that the author may read', async () => {
    const other = await as('named', benchWith('other'));
    assert.match(other, /created \(server dry run\)/);
    assert.match(await as('reader', benchWith('other')), /there is no Secret "other"/);
  });
});

for (const [what, field, spec] of [
  [
    'what a pod template gives to pods',
    'envFrom\\[0\\].secretRef.name',
    (name: string) => ({
      componentPodTemplates: {
        gunicorn: {
          spec: { containers: [{ name: 'gunicorn', envFrom: [{ secretRef: { name } }] }] },
        },
      },
    }),
  ],
  [
    'what dbConfig.tls writes into the volume',
    'spec.dbConfig.tls.clientCertificateSecretRef.name',
    (name: string) => ({
      dbConfig: {
        mode: 'external',
        host: 'db.example.com',
        rootSecretRef: { name: 'present' },
        tls: { mode: 'Require', clientCertificateSecretRef: { name } },
      },
    }),
  ],
  [
    'what siteConfig writes into the configuration',
    'siteConfig\\[0\\].valueFrom.secretKeyRef.name',
    (name: string) => ({
      siteConfig: [{ key: 'k', valueFrom: { secretKeyRef: { name, key: 'password' } } }],
    }),
  ],
] as const) {
  describe(what, () => {
    const from = (name: string): Manifest => aBench('new', spec(name));
    const forbidden = (name: string): RegExp =>
      new RegExp(`${field}: Forbidden: "${name}": you may not get this Secret`);

    test('is refused to an author who may not get it, whether it exists or not', async () => {
      for (const name of ['present', 'absent']) {
        assert.match(await as('tenant', from(name)), forbidden(name));
      }
      assert.match(await as('named', from('other')), forbidden('other'));
    });
    test('is admitted of an author who may get it', async () => {
      for (const author of ['reader', 'named'] as const) {
        assert.match(await as(author, from('present')), /created \(server dry run\)/);
      }
    });
  });
}

describe('whether another object exists', () => {
  const onBench = (bench: string, siteName = 'new.example.com'): Manifest =>
    aSite('new', { bench, siteName });

  test('is shown to an author who may read it', async () => {
    assert.match(
      await as('tenant', onBench('absent')),
      /Warning: .* there is no AppBench "absent"/,
    );
    assert.match(
      await as('tenant', onBench('b', 'first.example.com')),
      /has this host name already/,
    );
  });
  test('is not shown to an author who may not', async () => {
    const allowed = await as('blind', onBench('b'));
    assert.match(allowed, /created \(server dry run\)/);
    assert.equal(await as('blind', onBench('absent')), allowed);
    assert.equal(await as('blind', onBench('b', 'first.example.com')), allowed);
  });
  test('and the schema is shown to everybody', async () => {
    assert.match(await as('blind', onBench('b', 'Not_A_Host')), /spec.siteName/);
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

test('a quantity with a long exponent is refused by the schema, and costs the API server nothing', async () => {
  const exponent = '1e999999999';
  const message = await as('reader', aBench('new', { storage: { size: exponent } }));
  assert.match(message, /spec.storage.size: Invalid value: "1e999999999"/);
  const limits = { componentResources: { gunicorn: { requests: { cpu: exponent } } } };
  const both = structuredClone(limits) as { componentResources: { gunicorn: object } };
  Object.assign(both.componentResources.gunicorn, { limits: { cpu: exponent } });
  assert.match(await as('reader', aBench('new', both)), /limits.cpu: Invalid value/);
});
