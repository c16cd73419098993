import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { OPERATOR } from '../../constructs/install/identity.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { kubectlMessage } from './support/kubectl-message.js';
import { conditionOf, type Live, type Manifest } from './support/objects.js';
import type { Operator } from './support/operator.js';
import { Balancer, bundleOf, configurations, register } from './support/webhooks.js';

const OTHERS = 'the administrator of the cluster allows others by';
const T1 = 'tenant-1';
const T2 = 'tenant-2';
const POLICY = [
  '--shared-hosts=false',
  '--allowed-image-prefixes=frappe/,redis,mariadb,registry.example.com/',
];

let cluster: Cluster;
let balancer: Balancer;
let operator: Operator;
let port = 0;

before(async () => {
  cluster = await startCluster({ kwokNodes: 0, controllerManager: false, scheduler: false });
  for (const name of [T1, T2, OPERATOR.namespace]) {
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  port = await cluster.freePort();
  balancer = await Balancer.start([port]);
});
after(async () => {
  await balancer.close();
  await cluster.stop();
});

const start = (args: readonly string[]): Promise<Operator> =>
  cluster.operator(['--webhooks', `--webhook-bind-address=127.0.0.1:${port}`, ...args]);

const create = (manifest: Manifest, namespace = T1): Promise<string> =>
  kubectlMessage(cluster, namespace, ['create', '--filename=-'], manifest);

/** The children of a resource, with what shows whether they were written. */
const versions = async (namespace: string): Promise<readonly string[]> =>
  (await cluster.children(namespace)).map(
    ({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion ?? ''}`,
  );

const stalled = (kind: string, name: string, reason: string, namespace = T1): Promise<Live> =>
  cluster.becomes(kind, namespace, name, {
    what: `is Stalled by ${reason}`,
    check: (live) => conditionOf(live, 'Stalled')?.reason === reason,
  });

const withIngress = (name: string, ingress: object = {}, spec: object = {}): Manifest =>
  aSite(name, { bench: 'b', ingress: { enabled: true, ...ingress }, ...spec });

/** Bench `b` and site `old` of tenant 1, which a stricter policy does not allow. */
const DENIED_BENCH = { podTemplate: { serviceAccountName: 'powerful' } };

describe('what was made before a stricter policy', () => {
  const OPEN = [
    '--allowed-service-accounts=*',
    '--allowed-ingress-annotations=*',
    '--shared-hosts',
  ];
  test('is made by an open one', async () => {
    operator = await start(OPEN);
    await cluster.apply(T1, aBench('lax', DENIED_BENCH), aBench('b'));
    await cluster.apply(T2, aBench('b'));
    await cluster.until('the pods of the bench', () => cluster.get('StatefulSet', T1, 'lax-redis'));
    await operator.stop();
  });

  test('stays as it is, and the resource says what is denied', async () => {
    operator = await start(POLICY);
    const before = await versions(T1);
    const live = await stalled('AppBench', 'lax', 'PolicyViolation');
    assert.equal(
      conditionOf(live, 'Ready')?.message,
      `spec.podTemplate.serviceAccountName: Unsupported value: "powerful": the allowed service accounts in namespace ${T1} are: default; ${OTHERS} --allowed-service-accounts`,
    );
    // A change of the spec writes no child.
    await cluster.patch('AppBench', T1, 'lax', { spec: { redisConfig: { image: 'redis:7.4' } } });
    await cluster.becomes('AppBench', T1, 'lax', {
      what: 'was reconciled again',
      check: ({ metadata, status }) => status?.['observedGeneration'] === metadata.generation,
    });
    const own = (all: readonly string[]) => all.filter((line) => line.includes(' lax-'));
    assert.deepEqual(own(await versions(T1)), own(before));
    assert.ok(own(before).length > 3);
  });

  test('continues when the spec is corrected', async () => {
    await cluster.patch('AppBench', T1, 'lax', { spec: { podTemplate: null } });
    await cluster.until('the changed pods', async () => {
      const redis = await cluster.get('StatefulSet', T1, 'lax-redis');
      return JSON.stringify(redis?.spec).includes('redis:7.4');
    });
  });

  test('a resource that slips past admission makes no child', async () => {
    await cluster.apply(T1, aBench('evil', DENIED_BENCH));
    await cluster.apply(
      T1,
      withIngress('evil', { annotations: { 'nginx.ingress.kubernetes.io/auth-url': 'x' } }),
    );
    await stalled('AppBench', 'evil', 'PolicyViolation');
    await stalled('AppSite', 'evil', 'PolicyViolation');
    assert.deepEqual(
      (await versions(T1)).filter((line) => line.includes(' evil-')),
      [],
    );
  });
});

describe('through the API server', () => {
  before(async () => {
    await cluster.apply(T2, withIngress('base'));
    await cluster.until('the Ingress of the owner', async () => {
      const live = await cluster.get('AppSite', T2, 'base');
      return live?.status?.['phase'] !== undefined;
    });
    await cluster.apply(T2, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'docs' },
      spec: {
        rules: [
          {
            host: 'docs.example.com',
            http: {
              paths: [
                {
                  path: '/',
                  pathType: 'Prefix',
                  backend: { service: { name: 'docs', port: { number: 80 } } },
                },
              ],
            },
          },
        ],
      },
    });
    await register(cluster, configurations(balancer.port));
    await cluster.until('the authority to be registered', () => bundleOf(cluster));
    await cluster.until('the webhooks to be asked', async () =>
      (await create(aBench('probe', DENIED_BENCH))).includes('Unsupported value'),
    );
  });

  const taken = (path: string, host: string) =>
    `${path}: Invalid value: "${host}": another namespace has this host name; choose another one, or ask its owner to annotate its AppSite or Ingress with app-operator.io/allow-host-from=${T1}`;
  const REFUSED: readonly (readonly [what: string, manifest: Manifest, words: string])[] = [
    [
      'a service account',
      aBench('x', DENIED_BENCH),
      `spec.podTemplate.serviceAccountName: Unsupported value: "powerful": the allowed service accounts in namespace ${T1} are: default; ${OTHERS} --allowed-service-accounts`,
    ],
    [
      'privilege escalation',
      aBench('x', { security: { securityContext: { allowPrivilegeEscalation: true } } }),
      `spec.security.securityContext.allowPrivilegeEscalation: Unsupported value: true: Pod Security restricted allows: false; ${OTHERS} --pod-security-level=baseline`,
    ],
    [
      'capabilities',
      aBench('x', { security: { securityContext: { capabilities: { drop: [] } } } }),
      `spec.security.securityContext.capabilities.drop: Unsupported value: []: Pod Security restricted allows: a list with ALL; ${OTHERS} --pod-security-level=baseline`,
    ],
    [
      'an image',
      aBench('x', { image: { repository: 'attacker.example/evil', tag: 'x' } }),
      `spec.image.repository: Unsupported value: "attacker.example/evil:x": the allowed prefixes of images are: frappe/, redis, mariadb, registry.example.com/; ${OTHERS} --allowed-image-prefixes`,
    ],
    [
      'an annotation of the Ingress',
      withIngress('x', {
        annotations: { 'traefik.ingress.kubernetes.io/router.middlewares': 'kube-system-strip' },
      }),
      `spec.ingress.annotations[traefik.ingress.kubernetes.io/router.middlewares]: Unsupported value: "traefik.ingress.kubernetes.io/router.middlewares": the allowed annotations with this prefix are: router.entrypoints, router.tls; ${OTHERS} --allowed-ingress-annotations`,
    ],
    [
      'the host name of a site of another namespace',
      withIngress('x', {}, { siteName: 'base.example.com' }),
      taken('spec.siteName', 'base.example.com'),
    ],
    [
      'the host name of an Ingress of another namespace',
      withIngress('x', {}, { aliases: ['docs.example.com'] }),
      taken('spec.aliases[0]', 'docs.example.com'),
    ],
  ];
  for (const [what, manifest, words] of REFUSED) {
    test(`${what} is refused`, async () => {
      assert.equal(await create(manifest), words);
    });
  }

  test('a user (root) and a host path are refused by the schema', async () => {
    const root = aBench('x', { security: { podSecurityContext: { runAsUser: 0 } } });
    assert.match(await create(root), /runAsUser: Invalid value: 0/);
    const path = aBench('x', { podTemplate: { volumes: [{ hostPath: { path: '/' } }] } });
    assert.match(await create(path), /unknown field "spec.podTemplate.volumes"/);
  });

  test('a host name is accepted with a grant of its owner', async () => {
    await cluster.patch('AppSite', T2, 'base', {
      metadata: { annotations: { 'app-operator.io/allow-host-from': T1 } },
    });
    const site = withIngress('granted', {}, { siteName: 'base.example.com' });
    await cluster.until('the grant', async () => (await create(site)).includes('created'));
  });

  test('without the grant the younger site is Stalled, and keeps what it has', async () => {
    await cluster.patch('AppSite', T2, 'base', {
      metadata: { annotations: { 'app-operator.io/allow-host-from': null } },
    });
    const live = await stalled('AppSite', 'granted', 'HostTaken');
    assert.equal(conditionOf(live, 'Ready')?.message, taken('spec.siteName', 'base.example.com'));
  });

  test('a resource that is denied can be deleted', async () => {
    await cluster.delete('AppSite', T1, 'evil');
    await cluster.deleted('AppSite', T1, 'evil');
    await cluster.delete('AppBench', T1, 'evil');
    await cluster.deleted('AppBench', T1, 'evil');
    await operator.stop();
  });
});
