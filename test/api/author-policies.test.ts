import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, API_VERSION, aSite, aUser } from '../cluster/support/builders.js';
import { kubectlMessage } from '../cluster/support/kubectl-message.js';
import type { Manifest } from '../cluster/support/objects.js';
import { applyPolicies } from '../cluster/support/policies.js';

const NAMESPACE = 'shop';
const core = (resource: string, verb: string, ...names: readonly string[]) => ({
  apiGroups: [''],
  resources: [resource],
  verbs: [verb],
  ...(names.length > 0 ? { resourceNames: names } : {}),
});
const PODS = core('pods', 'create');
const READS = [core('secrets', 'get'), core('configmaps', 'get')];
/** Who writes our kinds, and what else each may do. No operator runs. */
const RIGHTS = {
  author: [PODS, ...READS],
  /** Gets what it names, and may not create pods. */
  reader: READS,
  /** May create pods, and get nothing. */
  creator: [PODS],
  /** May get two Secrets and a ConfigMap, by their names. */
  named: [PODS, core('secrets', 'get', 'one', 'two'), core('configmaps', 'get', 'one')],
  tenant: [],
  gitops: [],
} as const;
type Author = keyof typeof RIGHTS;

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ kwokNodes: 0, controllerManager: false, scheduler: false });
  for (const name of [NAMESPACE, OPERATOR.namespace]) {
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (const author of Object.keys(RIGHTS) as Author[]) await grant(author);
  await applyPolicies(cluster);
  // What an author with the rights may then set.
  const data = { podSecurityLevel: 'privileged' };
  await cluster.patch('ConfigMap', OPERATOR.namespace, OPERATOR.limits, { data });
  await cluster.until('the policies to be in force', async () =>
    (await create('tenant', site('one'))).includes('forbidden:'),
  );
  const escalation = bench({ security: { securityContext: { allowPrivilegeEscalation: true } } });
  await cluster.until('the limits to be lifted', async () =>
    (await create('author', escalation)).includes('created'),
  );
});
after(() => cluster.stop());

async function grant(user: Author): Promise<void> {
  const metadata = { name: user, namespace: NAMESPACE };
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
  const { api } = cluster.controlPlane;
  const apiGroup = 'rbac.authorization.k8s.io';
  const apiVersion = `${apiGroup}/v1`;
  const rules = [{ apiGroups: ['app-operator.io'], resources: ['*'], verbs: ['*'] }, ...RIGHTS[user]]; // prettier-ignore
  await api.request('POST', `${rbac}/roles`, { apiVersion, kind: 'Role', metadata, rules });
  await api.request('POST', `${rbac}/rolebindings`, {
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: user },
    subjects: [{ apiGroup, kind: 'User', name: user }],
  });
}

const ask = (author: Author, args: readonly string[], manifest?: Manifest): Promise<string> =>
  kubectlMessage(cluster, NAMESPACE, [...args, '--validate=false', `--as=${author}`], manifest);
const create = (author: Author, manifest: Manifest): Promise<string> =>
  ask(author, ['create', '--dry-run=server', '--filename=-'], manifest);
const apply = (author: Author, manifest: Manifest): Promise<string> =>
  ask(
    author,
    ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--filename=-'],
    manifest,
  );

const bench = (spec: object = {}): Manifest => aBench('b', spec as Record<string, unknown>);
const siteWith = (spec: object): Manifest => aSite('s', { bench: 'b', ...spec });
const site = (secret: string): Manifest => siteWith({ adminPasswordSecretRef: { name: secret } });
const siteRef = { name: 's' };
const backup = (destination: object): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'SiteBackup',
  metadata: { name: 'k' },
  spec: { siteRef, destination },
});
const s3 = (name: string, endpoint = 'https://s3.example.com') => ({
  s3: { endpoint, bucket: 'backups', secretRef: { name } },
});
const user = (spec: object): Manifest => aUser('ann', { siteRef, ...spec });
const template = (spec: object) => ({ componentPodTemplates: { gunicorn: { spec } } });
const sidecar = (more: object = {}, image = 'logs:1') =>
  template({ containers: [{ name: 'logs', image, ...more }] });
const fromSecret = (name: string) => ({ valueFrom: { secretKeyRef: { name, key: 'k' } } });
const external = (host: string) => ({
  dbConfig: { mode: 'external', host, rootSecretRef: { name: 'one' } },
});
const sso = [{ provider: 'Google', clientID: { value: 'x' }, clientSecret: { secretKeyRef: { name: 'one', key: 'k' } } }]; // prettier-ignore

const CREATED = /created \(server dry run\)/;
const NO_PODS = /forbidden: decides about pods, and you may not create pods in namespace shop/;

/** Each way to name a Secret of the name "one". */
const SECRETS: Readonly<Record<string, (name: string) => Manifest>> = {
  'a bench: Secrets to pull with': (name) => bench({ image: { pullSecrets: [{ name }] } }),
  'a bench: Redis': (name) => bench({ redisConfig: { external: { urlsSecretRef: { name } } } }),
  'a bench: the database': (name) => bench({ dbConfig: { mode: 'external', host: 'db', rootSecretRef: { name } } }), // prettier-ignore
  'a bench: siteConfig': (name) => bench({ siteConfig: [{ key: 'k', ...fromSecret(name) }] }),
  'a site: the password': site,
  'a site: the database': (name) => siteWith({ dbConfig: { mode: 'external', host: 'db', name: 'x', secretRef: { name } } }), // prettier-ignore
  'a site: a certificate': (name) => siteWith({ dbConfig: { mode: 'dedicated', tls: { serverCertificateSecretRef: { name } } } }), // prettier-ignore
  'a site: an identity provider': (name) => siteWith({ sso: [{ ...sso[0], clientSecret: { secretKeyRef: { name, key: 'k' } } }] }), // prettier-ignore
  'a site: a place of backups': (name) =>
    siteWith({ restoreFrom: { source: { ...s3(name), site: 'x' } } }),
  'a site: the store of an archive': (name) => siteWith({ restoreFrom: { archive: s3(name) } }),
  'a site: the key of an archive': (name) => siteWith({ restoreFrom: { archive: { pvc: { claimName: 'uploads' }, encryptionKeySecretRef: { name, key: 'k' } } } }), // prettier-ignore
  'a site: a link of an archive': (name) => siteWith({ restoreFrom: { archive: { https: { database: { secretKeyRef: { name, key: 'k' } } } } } }), // prettier-ignore
  'a site: the login of a link': (name) => siteWith({ restoreFrom: { archive: { https: { database: { url: 'https://x/y' }, authorizationSecretRef: { name, key: 'k' } } } } }), // prettier-ignore
  'a backup': (name) => backup(s3(name)),
  'a user: the password': (name) => user({ passwordSecretRef: { name } }),
  'a user: the key': (name) => user({ apiKeySecretRef: { name } }),
};

describe('who names a Secret may create pods and get it', () => {
  for (const [what, manifest] of Object.entries(SECRETS)) {
    test(what, async () => {
      assert.match(await create('author', manifest('one')), CREATED);
      assert.match(await create('named', manifest('one')), CREATED);
      assert.match(
        await create('named', manifest('other')),
        /forbidden: "other": you may not get this Secret in namespace shop; ask for this right/,
      );
      assert.match(await create('creator', manifest('one')), /forbidden: "one": you may not get/);
      assert.match(await create('reader', manifest('one')), NO_PODS);
      assert.match(await create('tenant', manifest('one')), /forbidden: /);
    });
  }
  test('of a list, two names one by one; of more, all of them', async () => {
    const of = (...names: readonly string[]) =>
      bench({ image: { pullSecrets: names.map((name) => ({ name })) } });
    assert.match(await create('named', of('one', 'two')), CREATED);
    assert.match(await create('named', of('one', 'other')), /forbidden: "one", "other"/);
    assert.match(await create('named', of('one', 'two', 'other')), /forbidden: /);
    assert.match(await create('author', of('one', 'two', 'other')), CREATED);
  });
});

describe('who names a ConfigMap or a claim', () => {
  const config = (name: string) => bench({ siteConfig: [{ key: 'k', valueFrom: { configMapKeyRef: { name, key: 'k' } } }] }); // prettier-ignore
  test('may get the ConfigMap', async () => {
    assert.match(await create('author', config('one')), CREATED);
    assert.match(await create('named', config('one')), CREATED);
    assert.match(await create('named', config('other')), /may not get this ConfigMap/);
    assert.match(await create('reader', config('one')), NO_PODS);
  });
  const CLAIMS = [
    bench({ storage: { existingClaim: 'payroll' } }),
    bench({ redisConfig: { storage: { existingClaim: 'payroll' } } }),
    bench({ dbConfig: { storage: { existingClaim: 'payroll' } } }),
    siteWith({ dbConfig: { mode: 'dedicated', storage: { existingClaim: 'payroll' } } }),
    siteWith({ restoreFrom: { source: { pvc: { claimName: 'b-sites' }, site: 'x' } } }),
    siteWith({ restoreFrom: { archive: { pvc: { claimName: 'b-sites' } } } }),
    backup({ pvc: { claimName: 'b-sites' } }),
    bench(template({ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'b-sites' } }] })),
  ];
  for (const [index, claim] of CLAIMS.entries()) {
    test(`may create pods with the claim: ${index} ${claim.kind}`, async () => {
      assert.match(await create('creator', claim), CREATED);
      assert.match(await create('reader', claim), NO_PODS);
    });
  }
});

describe('who shapes pods may create them', () => {
  const OF_BENCH: Readonly<Record<string, object>> = {
    'a sidecar': sidecar(),
    'a node': { podTemplate: { nodeSelector: { a: 'b' } } },
    'a profile that is off': { podTemplate: { annotations: { 'container.apparmor.security.beta.kubernetes.io/gunicorn': 'unconfined' } } }, // prettier-ignore
    escalation: { security: { securityContext: { allowPrivilegeEscalation: true } } },
    capabilities: { security: { securityContext: { capabilities: { drop: ['NET_RAW'] } } } },
  };
  for (const [what, spec] of Object.entries(OF_BENCH)) {
    test(`of a bench: ${what}`, async () => {
      assert.match(await create('creator', bench(spec)), CREATED);
      assert.match(await create('reader', bench(spec)), NO_PODS);
    });
  }
  test("of a site, whose template is over its bench's", async () => {
    const over = siteWith(sidecar({ command: ['env'] }, 'evil/steal:1'));
    assert.match(await create('creator', over), CREATED);
    assert.match(await create('reader', over), NO_PODS);
  });
  const SOURCES: Readonly<Record<string, object>> = {
    env: sidecar({ env: [{ name: 'T', ...fromSecret('one') }] }),
    envFrom: sidecar({ envFrom: [{ secretRef: { name: 'one' } }] }),
    'an init container': template({ initContainers: [{ name: 'i', image: 'x', envFrom: [{ secretRef: { name: 'one' } }] }] }), // prettier-ignore
    'a volume': template({ volumes: [{ name: 'v', secret: { secretName: 'one' } }] }),
  };
  for (const [what, spec] of Object.entries(SOURCES)) {
    test(`and get all Secrets, where a template names one: ${what}`, async () => {
      for (const manifest of [bench(spec), siteWith(spec)]) {
        assert.match(await create('author', manifest), CREATED);
        for (const author of ['creator', 'named'] as const) {
          assert.match(
            await create(author, manifest),
            /spec[.]componentPodTemplates: forbidden: gunicorn: names a Secret, and you may not get all Secrets of namespace shop/,
          );
        }
      }
    });
  }
  test('not for what the specification shows', async () => {
    const security = {
      podSecurityContext: { runAsUser: 1001, runAsGroup: 0, fsGroup: 0 },
      securityContext: { runAsUser: 1001, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }, // prettier-ignore
    };
    const plain = [
      bench({ appsJSON: '["erpnext"]', security, componentReplicas: { gunicorn: 2 } }),
      siteWith({ ingress: { enabled: true, tls: { enabled: true, certManagerIssuer: 'x' } } }),
      user({}),
      {
        apiVersion: API_VERSION,
        kind: 'SiteJob',
        metadata: { name: 'j' },
        spec: { siteRef, command: ['migrate'] },
      },
    ];
    for (const manifest of plain) assert.match(await create('tenant', manifest), CREATED);
  });
});

describe('only what a change sets is checked', () => {
  const given = { ...external('db'), ...sidecar({ envFrom: [{ secretRef: { name: 'one' } }] }), siteConfig: [{ key: 'k', ...fromSecret('one') }] }; // prettier-ignore
  before(async () => {
    await cluster.apply(NAMESPACE, bench(given), siteWith({ sso }));
  });
  const changed = (spec: object): Manifest => bench({ ...given, ...spec });
  const APPLIED = /serverside-applied/;

  test('another field is free, for GitOps too', async () => {
    assert.match(await apply('gitops', changed({})), APPLIED);
    assert.match(await apply('gitops', changed({ appsJSON: '["hrms"]' })), APPLIED);
    assert.match(await apply('gitops', siteWith({ sso, maintenance: true })), APPLIED);
  });
  test('metadata, finalizers and the status are free', async () => {
    const metadata = { labels: { a: 'b' }, finalizers: ['app-operator.io/cleanup'] };
    const patches = [
      ['--type=merge', `--patch=${JSON.stringify({ metadata })}`],
      ['--type=merge', '--patch={"metadata":{"annotations":{"app-operator.io/recorded":"x"}}}'],
      ['--type=merge', '--subresource=status', '--patch={"status":{"ready":false}}'],
    ];
    for (const patch of patches) {
      const args = ['patch', 'appbench', 'b', '--dry-run=server', ...patch, '--as=tenant'];
      assert.match(await kubectlMessage(cluster, NAMESPACE, args), /patched/);
    }
  });
  test('removing a reference is free', async () => {
    const { siteConfig: _, ...rest } = given;
    assert.match(await apply('tenant', bench({ ...rest, siteConfig: [] })), APPLIED);
    assert.match(await apply('tenant', siteWith({})), APPLIED);
  });
  const OTHERS: Readonly<Record<string, object>> = {
    'another image of the container that has it': sidecar({ envFrom: [{ secretRef: { name: 'one' } }] }, 'evil/x:1'), // prettier-ignore
    'another key of it': { siteConfig: [{ key: 'k', valueFrom: { secretKeyRef: { name: 'one', key: 'other' } } }] }, // prettier-ignore
    'another entry with it': { siteConfig: [...given.siteConfig, { key: 'l', ...fromSecret('one') }] }, // prettier-ignore
    'another host that it is sent to': external('evil.example.com'),
  };
  for (const [what, spec] of Object.entries(OTHERS)) {
    test(`a Secret that is named already is checked again: ${what}`, async () => {
      assert.match(await apply('author', changed(spec)), APPLIED);
      assert.match(await apply('creator', changed(spec)), /forbidden: .*you may not get/);
    });
  }
});
