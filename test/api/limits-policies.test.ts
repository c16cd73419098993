import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import { kubectlMessage } from '../cluster/support/kubectl-message.js';
import type { Manifest } from '../cluster/support/objects.js';
import { applyPolicies } from '../cluster/support/policies.js';

const NAMESPACE = 'shop';
const NGINX = 'nginx.ingress.kubernetes.io';
const LIMITS = `/api/v1/namespaces/${OPERATOR.namespace}/configmaps/${OPERATOR.limits}`;

type Fields = Readonly<Record<string, unknown>>;

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ kwokNodes: 0, controllerManager: false, scheduler: false });
  for (const name of [NAMESPACE, OPERATOR.namespace]) {
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  await applyPolicies(cluster);
  for (const kind of [bench, site]) await inForce(kind(account('powerful')));
});
after(() => cluster.stop());

/** An administrator of the cluster: the limits are for each author. */
const create = (manifest: Manifest): Promise<string> =>
  kubectlMessage(
    cluster,
    NAMESPACE,
    ['create', '--dry-run=server', '--validate=false', '--filename=-'],
    manifest,
  );
const CREATED = /created \(server dry run\)/;
const isCreated = async (manifest: Manifest): Promise<boolean> =>
  (await create(manifest)).includes('created');

const bench = (spec: Fields = {}): Manifest => aBench('x', spec);
const site = (spec: Fields = {}): Manifest => aSite('x', { bench: 'b', ...spec });
const annotated = (...keys: readonly string[]): Manifest =>
  site({
    ingress: { enabled: true, annotations: Object.fromEntries(keys.map((key) => [key, 'x'])) },
  });
const account = (serviceAccountName: string) => ({ podTemplate: { serviceAccountName } });
const template = (spec: object) => ({ componentPodTemplates: { gunicorn: { spec } } });
const templated = (gunicorn: object) => ({ componentPodTemplates: { gunicorn } });
const FURTHER = ['containers', 'initContainers'] as const;
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/nginx';
const SECCOMP = 'seccomp.security.alpha.kubernetes.io/pod';
type Kind = typeof bench;
const hardened = (securityContext: object): Manifest => bench({ security: { securityContext } });
const further = (kind: Kind, field: string, securityContext: unknown): Manifest =>
  kind(template({ [field]: [{ name: 'logs', image: 'logs:1', securityContext }] }));
const profiled = (kind: Kind, profile: string): Manifest =>
  kind({ podTemplate: { annotations: { [APP_ARMOR]: profile } } });
const OWN = 'spec[.]security[.]securityContext: forbidden: ';
/** What no author may set without a word of the administrator, with a part of the message. */
const BEYOND_RESTRICTED: readonly (readonly [what: string, Manifest, RegExp])[] = [
  ['own escalation', hardened({ allowPrivilegeEscalation: true }), new RegExp(`${OWN}"allowPriv`)],
  [
    'own capabilities',
    hardened({ capabilities: { drop: ['NET_RAW'] } }),
    new RegExp(`${OWN}"capa`),
  ],
  ['own capabilities, none dropped', hardened({ capabilities: { drop: [] } }), new RegExp(OWN)],
  ...[bench, site].flatMap((kind) => [
    ...FURTHER.flatMap((field) =>
      [
        { allowPrivilegeEscalation: true },
        { capabilities: { drop: ['NET_RAW'] } },
        { capabilities: { add: ['CHOWN'] } },
        { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE', 'SYS_ADMIN'] } },
      ].map(
        (securityContext) =>
          [
            `${kind({}).kind}, ${field}, ${JSON.stringify(securityContext)}`,
            further(kind, field, securityContext),
            new RegExp(`spec[.]componentPodTemplates: forbidden: "gunicorn": ${field}: sec`),
          ] as const,
      ),
    ),
    [
      `${kind({}).kind}, AppArmor`,
      profiled(kind, 'unconfined'),
      new RegExp(`spec[.]podTemplate[.]annotations: forbidden: "${APP_ARMOR}"`),
    ] as const,
    [
      `${kind({}).kind}, seccomp of a component`,
      kind(templated({ metadata: { annotations: { [SECCOMP]: 'unconfined' } } })),
      /spec[.]componentPodTemplates: forbidden: "gunicorn": metadata[.]annotations/,
    ] as const,
  ]),
];
const DENIED_ACCOUNT = bench(account('powerful'));
const INTERNAL = {
  image: { repository: 'registry.example.com/erp' },
  redisConfig: { image: 'registry.example.com/redis:7' },
  dbConfig: { image: 'registry.example.com/mariadb:10.11' },
};

/** Waits until a change of the limits is known to the API server: it now refuses a manifest. */
async function inForce(refused: Manifest): Promise<void> {
  await cluster.until('the limits to be in force', async () =>
    (await create(refused)).includes('forbidden:'),
  );
}

/** Sets keys of the ConfigMap, until it refuses one manifest and takes another. */
async function allow(data: Fields, refused: Manifest, taken?: Manifest): Promise<void> {
  const { api } = cluster.controlPlane;
  await api.request('PATCH', LIMITS, { data }, 'application/merge-patch+json');
  await inForce(refused);
  if (!taken) return;
  await cluster.until('what is allowed to be taken', () => isCreated(taken));
}

describe('by default', () => {
  test('a service account is the one of the namespace', async () => {
    const words =
      /spec[.]podTemplate[.]serviceAccountName: forbidden: "powerful": the key "serviceAccounts" does not list this service account; an administrator of the cluster allows it in ConfigMap app-operator-system\/app-operator-limits/;
    assert.match(await create(DENIED_ACCOUNT), words);
    assert.match(await create(site(account('powerful'))), words);
    for (const kind of [bench, site]) {
      const inTemplate = kind(template({ serviceAccountName: 'powerful' }));
      assert.match(await create(inTemplate), /componentPodTemplates[.][*][.]spec[.]serviceAcc/);
      assert.match(await create(kind(account('default'))), CREATED);
    }
  });
  test('images are of any registry', async () => {
    assert.match(await create(bench({ image: { repository: 'ghcr.io/acme/erp' } })), CREATED);
  });
  const REFUSED = [
    ...['server-snippet', 'configuration-snippet', 'stream-snippet', 'modsecurity-snippet'],
    ...['auth-url', 'auth-signin', 'auth-snippet', 'auth-secret', 'auth-tls-secret', 'auth-type'],
    ...['permanent-redirect', 'temporal-redirect', 'app-root', 'rewrite-target', 'use-regex'],
    ...['from-to-www-redirect', 'server-alias', 'upstream-vhost', 'default-backend'],
    ...['backend-protocol', 'service-upstream', 'canary', 'canary-by-header', 'mirror-target'],
    ...['ssl-passthrough', 'proxy-ssl-secret', 'custom-http-errors', 'proxy-redirect-to'],
    ...['proxy-body-size-snippet', 'x-proxy-body-size'],
  ].map((name) => `${NGINX}/${name}`);
  const OTHERS = [
    'backend',
    'kubernetes.io/ingress.class',
    'alb.ingress.kubernetes.io/actions.x',
    'alb.ingress.kubernetes.io/group.name',
    'alb.ingress.kubernetes.io/auth-type',
    'cert-manager.io/common-name',
    'cert-manager.io/alt-names',
    'external-dns.alpha.kubernetes.io/hostname',
    'haproxy.router.openshift.io/rewrite-target',
    'haproxy-ingress.github.io/config-backend',
    'nginx.org/server-snippets',
    'nginx.org/mergeable-ingress-type',
    'traefik.ingress.kubernetes.io/router.middlewares',
    'traefik.ingress.kubernetes.io/router.priority',
    'traefik.ingress.kubernetes.io/router.tls.options',
    'app-operator.io/run',
    'default',
  ];
  test('an annotation of an Ingress that is not harmless is refused by name', async () => {
    for (const key of [...REFUSED, ...OTHERS]) {
      const said = await create(annotated(`${NGINX}/proxy-body-size`, key));
      assert.ok(said.includes(`spec.ingress.annotations: forbidden: "${key}": the key`), said);
    }
  });
  test('harmless annotations are free, and any without an Ingress, which has no effect', async () => {
    const harmless = [
      `${NGINX}/proxy-body-size`,
      `${NGINX}/whitelist-source-range`,
      'cert-manager.io/cluster-issuer',
      'alb.ingress.kubernetes.io/healthcheck-path',
      'haproxy.router.openshift.io/rate-limit-connections.rate-http',
    ];
    assert.match(await create(annotated(...harmless)), CREATED);
    const many = Array.from({ length: 60 }, (_, i) => `haproxy.router.openshift.io/rate-limit-connections.${i}`); // prettier-ignore
    assert.match(await create(annotated(...many)), CREATED, 'the cost of the rule is bounded');
    const annotations = { [`${NGINX}/server-snippet`]: 'x' };
    assert.match(await create(site({ ingress: { annotations } })), CREATED);
  });
  test('an annotation that waits for its Ingress is checked when that is enabled', async () => {
    const annotations = { [`${NGINX}/server-snippet`]: 'x' };
    await cluster.apply(NAMESPACE, aSite('waiting', { bench: 'b', ingress: { annotations } }));
    await assert.rejects(
      cluster.patch('AppSite', NAMESPACE, 'waiting', { spec: { ingress: { enabled: true } } }),
      /server-snippet.*does not list this annotation/,
    );
  });
  for (const [what, manifest, words] of BEYOND_RESTRICTED) {
    test(`beyond Pod Security restricted: ${what}`, async () => {
      const said = await create(manifest);
      assert.match(said, words);
      assert.match(said, /"podSecurityLevel"/);
    });
  }
  test('within Pod Security restricted all is free', async () => {
    for (const manifest of [
      hardened({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }),
      hardened({ runAsUser: 1234, runAsGroup: 0 }),
      ...FURTHER.flatMap((field) =>
        [
          undefined,
          { readOnlyRootFilesystem: true, runAsUser: 1234 },
          { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL', 'CHOWN'], add: ['NET_BIND_SERVICE'] } }, // prettier-ignore
        ].map((securityContext) => further(bench, field, securityContext)),
      ),
      profiled(bench, 'runtime/default'),
      profiled(site, 'localhost/erp'),
      bench(templated({ metadata: { annotations: { 'example.com/a': 'unconfined' } } })),
    ]) {
      assert.match(await create(manifest), CREATED, JSON.stringify(manifest.spec));
    }
  });
  test('a user (root), a host path and privileges are refused by the schema', async () => {
    const root = bench({ security: { podSecurityContext: { runAsUser: 0 } } });
    assert.match(await create(root), /runAsUser: Invalid value: 0/);
    // Fields that the schema does not have are dropped, or refused by kubectl.
    for (const spec of [
      { podTemplate: { volumes: [{ hostPath: { path: '/' } }] } },
      { podTemplate: { hostNetwork: true } },
      { security: { securityContext: { privileged: true } } },
    ]) {
      const args = ['create', '--dry-run=server', '--filename=-'];
      const said = await kubectlMessage(cluster, NAMESPACE, args, bench(spec));
      assert.match(said, /unknown field/);
    }
  });
});

test('a quantity with a long exponent is refused by the schema, and costs the API server nothing', async () => {
  const exponent = '1e999999999';
  const size = await create(bench({ storage: { size: exponent } }));
  assert.match(size, /spec.storage.size: Invalid value: "1e999999999"/);
  const quantities = { requests: { cpu: exponent }, limits: { cpu: exponent } };
  const cpu = await create(bench({ componentResources: { gunicorn: quantities } }));
  assert.match(cpu, /limits.cpu: Invalid value/);
});

describe('what an administrator allows in the ConfigMap', () => {
  test('service accounts, of a namespace or by a pattern', async () => {
    const serviceAccounts = 'shop/erp, power*\nblog/other';
    await allow({ serviceAccounts }, bench(account('other')), bench(account('erp')));
    for (const name of ['erp', 'powerful', 'default']) {
      assert.match(await create(bench(account(name))), CREATED, name);
    }
    for (const name of ['erp2', 'other', 'xpower', 'p']) {
      assert.match(await create(bench(account(name))), /forbidden: /, name);
    }
    await allow({ serviceAccounts: 'p.w*' }, DENIED_ACCOUNT);
  });
  test('annotations, with the default list or without', async () => {
    const own = annotated('example.com/a');
    const harmless = annotated(`${NGINX}/proxy-body-size`);
    await allow({ ingressAnnotations: 'default,example.com/*' }, annotated('a.b/c'), own);
    assert.match(await create(harmless), CREATED);
    await allow({ ingressAnnotations: 'example.com/*' }, harmless, own);
    await allow({ ingressAnnotations: null }, own, harmless);
  });

  test('Pod Security baseline or privileged; another word is restricted', async () => {
    const escalating = further(site, 'containers', { allowPrivilegeEscalation: true });
    const chown = further(bench, 'initContainers', { capabilities: { add: ['CHOWN'] } });
    const powerful = further(bench, 'containers', { capabilities: { add: ['SYS_ADMIN'] } });
    const unconfined = profiled(site, 'unconfined');
    await allow({ podSecurityLevel: ' baseline\n' }, powerful, chown);
    for (const manifest of [escalating, hardened({ allowPrivilegeEscalation: true })]) {
      assert.match(await create(manifest), CREATED);
    }
    assert.match(await create(unconfined), /forbidden: /);
    await allow({ podSecurityLevel: 'privileged' }, DENIED_ACCOUNT, powerful);
    assert.match(await create(unconfined), CREATED);
    await allow({ podSecurityLevel: 'Privileged' }, escalating);
    await allow({ podSecurityLevel: null }, escalating);
  });

  const image = (repository: string, tag = '1'): Manifest =>
    bench({ ...INTERNAL, image: { repository, tag } });
  const PREFIXES: readonly (readonly [prefix: string, taken: string[], refused: string[]])[] = [
    ['ghcr.io/acme', ['ghcr.io/acme/erp'], ['ghcr.io/acme-copy/erp', 'ghcr.io/erp']],
    ['ghcr.io/acme/erp:1', ['ghcr.io/acme/erp'], ['ghcr.io/acme/erp2']],
    ['frappe/', ['frappe/erpnext', 'docker.io/frappe/erpnext'], ['frappe-copy/erpnext']],
    ['redis', ['redis', 'docker.io/library/redis'], ['redis-copy', 'acme/redis']],
    ['ghcr.example.com', ['ghcr.example.com/a'], ['ghcr.example.com.evil.example/a', 'ghcr.example.com:5000/a']], // prettier-ignore
    ['localhost:5000/', ['localhost:5000/a'], ['localhost:5001/a']],
  ];
  for (const [prefix, taken, refused] of PREFIXES) {
    test(`images that begin with ${prefix}, at a border of their name`, async () => {
      const images = `registry.example.com/\n${prefix}`;
      const [first = '', firstTaken = ''] = [refused[0], taken[0]];
      await allow({ images }, image(first), image(firstTaken));
      for (const name of taken) assert.match(await create(image(name)), CREATED, name);
      for (const name of refused) {
        assert.match(
          await create(image(name)),
          /spec[.]image: forbidden: "[^"]+": images must begin with what the key "images" lists/,
          name,
        );
      }
    });
  }
  test('images of servers, those by default included, and of templates', async () => {
    const { image: own, redisConfig: redis, dbConfig: database } = INTERNAL;
    await allow({ images: 'registry.example.com/' }, bench(), bench(INTERNAL));
    const REFUSED: readonly (readonly [Manifest, RegExp])[] = [
      [bench(), /spec[.]image: forbidden: "frappe\/erpnext:version-15"/],
      [bench({ image: own, dbConfig: database }), /redisConfig[.]image: forbidden: "redis:7/],
      [bench({ image: own, redisConfig: redis }), /dbConfig[.]image: forbidden: "mariadb:10/],
      [bench({ image: own, redisConfig: redis, dbConfig: { provider: 'postgres' } }), /dbConfig[.]image: forbidden: "postgres:15/], // prettier-ignore
      [site({ dbConfig: { mode: 'dedicated', image: 'evil/mariadb:1' } }), /"evil\/mariadb:1"/],
      [site({ dbConfig: { mode: 'dedicated' } }), /"mariadb:10.11", "postgres:15"/],
      ...[bench, site].flatMap((kind) =>
        ['containers', 'initContainers'].map((field): readonly [Manifest, RegExp] => [
          kind({ ...(kind === bench ? INTERNAL : {}), ...template({ [field]: [{ name: 'logs', image: 'logs:1' }] }) }), // prettier-ignore
          new RegExp(`spec[.]componentPodTemplates: forbidden: "gunicorn": ${field}: images`),
        ]),
      ),
    ];
    for (const [manifest, words] of REFUSED) assert.match(await create(manifest), words);
    assert.match(await create(site()), CREATED);
    assert.match(await create(site({ dbConfig: { mode: 'dedicated', image: 'registry.example.com/m:1' } })), CREATED); // prettier-ignore
    const sidecar = template({ containers: [{ name: 'l', image: 'registry.example.com/l:1' }] });
    assert.match(await create(bench({ ...INTERNAL, ...sidecar })), CREATED);
    await allow({ images: null }, DENIED_ACCOUNT, bench());
  });
  test('what was stored before can be changed elsewhere, and not brought to a new value', async () => {
    await cluster.apply(NAMESPACE, aBench('old', { image: { repository: 'old/erp' } }));
    await allow({ images: 'registry.example.com/' }, bench());
    const patch = (spec: Fields) => cluster.patch('AppBench', NAMESPACE, 'old', { spec });
    await patch({ appsJSON: '["hrms"]' });
    await assert.rejects(patch({ image: { tag: '2' } }), /"old\/erp:2": images must begin/);
    await patch(INTERNAL);
    await allow({ images: null }, DENIED_ACCOUNT, bench());
  });
});

test('without the ConfigMap a change is refused with its reason, and a deletion is not', async () => {
  const { api } = cluster.controlPlane;
  await api.request('DELETE', LIMITS);
  await cluster.until('the refusal', async () =>
    (await create(bench())).includes('no params found for policy binding'),
  );
  await cluster.delete('AppBench', NAMESPACE, 'old');
  await cluster.deleted('AppBench', NAMESPACE, 'old');
  await applyPolicies(cluster);
  await cluster.until('the ConfigMap to be back', () => isCreated(bench()));
});
