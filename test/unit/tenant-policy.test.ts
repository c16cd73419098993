import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Stalled } from '../../constructs/kit/errors.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import {
  allowsImage,
  allowsServiceAccount,
  DEFAULT_INGRESS_ANNOTATIONS,
  DEFAULT_POLICY,
  matchesPattern,
  policyFlags,
  type TenantPolicy,
} from '../../constructs/kit/tenant-policy.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/settings.js';
import { KINDS } from '../../constructs/registry.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { validate } from '../../runner/admission/validate.js';
import { parseConfig } from '../../runner/config/config.js';
import { aBench, aReader, aReadyBench, aSite, stored } from '../golden/builders.js';
import { corpus } from '../golden/corpus.js';
import { assertSection, table } from '../golden/docs.js';

type Fields = Readonly<Record<string, unknown>>;

const NGINX = 'nginx.ingress.kubernetes.io';
const ESCALATION = { securityContext: { allowPrivilegeEscalation: true } };
const IMAGES: Partial<TenantPolicy> = { allowedImagePrefixes: ['registry.example.com/'] };
const INTERNAL = { repository: 'registry.example.com/erp' };
const OTHERS = 'the administrator of the cluster allows others by';

const withAnnotation = (key: string, value = 'x'): Fields => ({
  ingress: { enabled: true, annotations: { [key]: value } },
});

interface Case {
  readonly what: string;
  readonly resource: Resource;
  /** The administrator's policy, where it is not the default one. */
  readonly policy?: Partial<TenantPolicy>;
  readonly path: string;
  readonly message: string;
  /** A policy that allows it. */
  readonly allowed: Partial<TenantPolicy>;
}

const accountMessage = (name: string) =>
  `Unsupported value: "${name}": the allowed service accounts in namespace default are: default; ${OTHERS} --allowed-service-accounts`;
const imageMessage = (image: string) =>
  `Unsupported value: "${image}": the allowed prefixes of images are: registry.example.com/; ${OTHERS} --allowed-image-prefixes`;
const unknownPrefix = (key: string) =>
  `Unsupported value: "${key}": no annotation with this prefix is allowed; ${OTHERS} --allowed-ingress-annotations`;

const CASES: readonly Case[] = [
  {
    what: 'a service account of a bench',
    resource: aBench({ podTemplate: { serviceAccountName: 'powerful' } }),
    path: 'spec.podTemplate.serviceAccountName',
    message: accountMessage('powerful'),
    allowed: { allowedServiceAccounts: ['default/powerful'] },
  },
  {
    what: 'a service account of a site',
    resource: aSite({ podTemplate: { serviceAccountName: 'powerful' } }),
    path: 'spec.podTemplate.serviceAccountName',
    message: accountMessage('powerful'),
    allowed: { allowedServiceAccounts: ['power*'] },
  },
  {
    what: 'privilege escalation',
    resource: aBench({ security: ESCALATION }),
    path: 'spec.security.securityContext.allowPrivilegeEscalation',
    message: `Unsupported value: true: Pod Security restricted allows: false; ${OTHERS} --pod-security-level=baseline`,
    allowed: { podSecurityLevel: 'baseline' },
  },
  {
    what: 'capabilities that are not dropped',
    resource: aBench({ security: { securityContext: { capabilities: { drop: ['NET_RAW'] } } } }),
    path: 'spec.security.securityContext.capabilities.drop',
    message: `Unsupported value: ["NET_RAW"]: Pod Security restricted allows: a list with ALL; ${OTHERS} --pod-security-level=baseline`,
    allowed: { podSecurityLevel: 'baseline' },
  },
  {
    what: 'an AppArmor profile that is off',
    resource: aBench({
      podTemplate: {
        annotations: { 'container.apparmor.security.beta.kubernetes.io/nginx': 'unconfined' },
      },
    }),
    path: 'spec.podTemplate.annotations[container.apparmor.security.beta.kubernetes.io/nginx]',
    message: `Unsupported value: "unconfined": Pod Security allows: runtime/default, localhost/*; ${OTHERS} --pod-security-level=privileged`,
    allowed: { podSecurityLevel: 'privileged' },
  },
  {
    what: 'a seccomp profile that is off',
    resource: aSite({
      podTemplate: { annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' } },
    }),
    path: 'spec.podTemplate.annotations[seccomp.security.alpha.kubernetes.io/pod]',
    message: `Unsupported value: "unconfined": Pod Security allows: runtime/default, localhost/*; ${OTHERS} --pod-security-level=privileged`,
    allowed: { podSecurityLevel: 'privileged' },
  },
  {
    what: 'an image of a bench',
    resource: aBench({
      image: { repository: 'attacker.example/evil', tag: 'x' },
      redisConfig: { image: 'registry.example.com/redis:7' },
      dbConfig: { image: 'registry.example.com/mariadb:10.11' },
    }),
    policy: IMAGES,
    path: 'spec.image.repository',
    message: imageMessage('attacker.example/evil:x'),
    allowed: { allowedImagePrefixes: ['registry.example.com/', 'attacker.example/evil'] },
  },
  {
    what: 'an image of Redis by default',
    resource: aBench({
      image: INTERNAL,
      dbConfig: { image: 'registry.example.com/mariadb:10.11' },
    }),
    policy: IMAGES,
    path: 'spec.redisConfig.image',
    message: imageMessage('redis:7.2-alpine'),
    allowed: { allowedImagePrefixes: ['registry.example.com/', 'docker.io/library/redis'] },
  },
  {
    what: 'an image of the database by default',
    resource: aBench({
      image: INTERNAL,
      redisConfig: { image: 'registry.example.com/redis:7' },
      dbConfig: { provider: 'postgres' },
    }),
    policy: IMAGES,
    path: 'spec.dbConfig.image',
    message: imageMessage('postgres:16'),
    allowed: { allowedImagePrefixes: ['registry.example.com/', 'postgres'] },
  },
  {
    what: "an image of a site's own database",
    resource: aSite({ dbConfig: { mode: 'dedicated', image: 'attacker.example/mariadb:1' } }),
    policy: IMAGES,
    path: 'spec.dbConfig.image',
    message: imageMessage('attacker.example/mariadb:1'),
    allowed: {},
  },
  {
    what: 'a Traefik middleware',
    resource: aSite(withAnnotation('traefik.ingress.kubernetes.io/router.middlewares')),
    path: 'spec.ingress.annotations[traefik.ingress.kubernetes.io/router.middlewares]',
    message: `Unsupported value: "traefik.ingress.kubernetes.io/router.middlewares": the allowed annotations with this prefix are: router.entrypoints, router.tls; ${OTHERS} --allowed-ingress-annotations`,
    allowed: { allowedIngressAnnotations: ['default', 'traefik.*/router.*'] },
  },
  {
    what: 'an annotation of an unknown controller',
    resource: aSite(withAnnotation('example.com/backend')),
    path: 'spec.ingress.annotations[example.com/backend]',
    message: unknownPrefix('example.com/backend'),
    allowed: { allowedIngressAnnotations: ['example.com/*'] },
  },
  {
    what: 'an annotation without a prefix',
    resource: aSite(withAnnotation('backend')),
    path: 'spec.ingress.annotations[backend]',
    message: unknownPrefix('backend'),
    allowed: { allowedIngressAnnotations: ['*'] },
  },
];

const kindOf = (resource: Resource) => {
  const kind = KINDS.find(({ definition }) => definition.kind === resource.kind);
  assert.ok(kind);
  return kind;
};

/** What a reconcile of a resource says, among some objects. */
function stalledBy(
  resource: Resource,
  objects: readonly KubeObject[],
  policy?: Partial<TenantPolicy>,
): Stalled | undefined {
  try {
    kindOf(resource).resolve(resource, aReader(objects, { settings: policy ? { policy } : {} }));
  } catch (error) {
    if (error instanceof Stalled) return error;
  }
  return undefined;
}

const admission = (object: Resource, policy?: Partial<TenantPolicy>, old?: Resource) =>
  validate({
    ...{ kind: kindOf(object), group: 'app-operator.io', object, old, reader: undefined },
    settings: { ...DEFAULT_SETTINGS, ...(policy ? { policy } : {}) },
  });

describe('without a grant of the administrator', () => {
  for (const { what, resource, policy, path, message, allowed } of CASES) {
    test(`${what} is refused at admission`, () => {
      assert.deepEqual(admission(resource, policy).problems, [{ path, message }]);
    });
    test(`${what} stalls a reconcile with the same words`, () => {
      const error = stalledBy(resource, [aReadyBench()], policy);
      assert.equal(error?.reason, 'PolicyViolation');
      assert.equal(error.message, `${path}: ${message}`);
      assert.equal(error.releasesNames, false, 'no child is deleted');
    });
    test(`${what} is accepted where the policy allows it`, () => {
      assert.deepEqual(admission(resource, allowed).problems, []);
      assert.equal(stalledBy(resource, [aReadyBench()], allowed), undefined);
    });
    test(`${what} does not hold up other changes of a resource that has it`, () => {
      const changed = {
        ...resource,
        spec: { ...(resource.spec as Fields), deletionPolicy: 'Delete' },
      };
      assert.deepEqual(admission(changed, policy, resource).problems, []);
    });
  }
});

test("the image by default of a site's own database stalls a reconcile", () => {
  const bench = aReadyBench({
    image: INTERNAL,
    redisConfig: { image: 'registry.example.com/redis:7' },
    dbConfig: { image: 'registry.example.com/mariadb:10.11' },
  });
  const error = stalledBy(aSite({ dbConfig: { mode: 'dedicated' } }), [bench], IMAGES);
  assert.equal(error?.message, `spec.dbConfig.image: ${imageMessage('mariadb:10.11')}`);
});

describe('annotations of the Ingress that are refused by default', () => {
  const REFUSED = [
    ...['server-snippet', 'configuration-snippet', 'stream-snippet', 'modsecurity-snippet'],
    ...['auth-url', 'auth-signin', 'auth-snippet', 'auth-secret', 'auth-tls-secret', 'auth-type'],
    ...['permanent-redirect', 'temporal-redirect', 'app-root', 'rewrite-target', 'use-regex'],
    ...['from-to-www-redirect', 'server-alias', 'upstream-vhost', 'default-backend'],
    ...['backend-protocol', 'service-upstream', 'canary', 'canary-by-header', 'mirror-target'],
    ...['ssl-passthrough', 'proxy-ssl-secret', 'custom-http-errors', 'proxy-redirect-to'],
    ...['proxy-body-size-snippet', 'x-proxy-body-size'],
  ].map((name) => `${NGINX}/${name}`);
  const OTHER = [
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
    'traefik.ingress.kubernetes.io/router.priority',
    'traefik.ingress.kubernetes.io/router.tls.options',
    'app-operator.io/run',
  ];
  for (const key of [...REFUSED, ...OTHER]) {
    test(key, () => {
      const { problems } = admission(aSite(withAnnotation(key)));
      assert.deepEqual(
        problems.map(({ path }) => path),
        [`spec.ingress.annotations[${key}]`],
      );
    });
  }
});

describe('annotations of the Ingress that are allowed by default', () => {
  const ALLOWED = [
    `${NGINX}/proxy-body-size`,
    `${NGINX}/proxy-read-timeout`,
    `${NGINX}/whitelist-source-range`,
    'cert-manager.io/cluster-issuer',
    'ingress.kubernetes.io/ssl-redirect',
    'external-dns.alpha.kubernetes.io/ttl',
    'haproxy.router.openshift.io/timeout',
    'haproxy.router.openshift.io/rate-limit-connections.rate-http',
  ];
  for (const key of ALLOWED) {
    test(key, () => {
      assert.deepEqual(admission(aSite(withAnnotation(key))).problems, []);
    });
  }
  test('any annotation of a site without an Ingress, which has no effect', () => {
    const site = aSite({ ingress: { annotations: { [`${NGINX}/server-snippet`]: 'x' } } });
    assert.deepEqual(admission(site).problems, []);
  });
});

describe('a bench or a site that slipped past admission', () => {
  const evil = aReadyBench({ podTemplate: { serviceAccountName: 'powerful' } });
  const denied = (kind: string, name: string) =>
    `${kind} "${name}" does not meet the policy of the cluster's administrator; see its condition Ready`;
  const readySite = (spec: Fields = {}): Resource => ({
    ...aSite(spec),
    status: {
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'True' }],
      appliedHash: 'x',
    },
  });
  const job = stored(
    'SiteJob',
    { name: 'j' },
    { siteRef: { name: 'demo-site' }, command: ['migrate'] },
  );
  const backup = stored(
    'SiteBackup',
    { name: 'k' },
    { siteRef: { name: 'demo-site' }, destination: { pvc: { claimName: 'c' } } },
  );

  test('makes no pod of its sites', () => {
    const error = stalledBy(aSite(), [evil]);
    assert.equal(error?.reason, 'PolicyViolation');
    assert.equal(error.message, denied('AppBench', 'demo-bench'));
  });
  for (const resource of [job, backup]) {
    test(`makes no pod of a ${resource.kind}`, () => {
      assert.equal(
        stalledBy(resource, [evil, readySite()])?.message,
        denied('AppBench', 'demo-bench'),
      );
      const site = readySite({ podTemplate: { serviceAccountName: 'powerful' } });
      assert.equal(
        stalledBy(resource, [aReadyBench(), site])?.message,
        denied('AppSite', 'demo-site'),
      );
    });
  }
  test('makes no pod when a site is deleted, and says how to delete it', () => {
    const { cleanup } = kindOf(aSite());
    const site = { ...readySite({ deletionPolicy: 'Delete' }) };
    const status = {
      ...(site.status as Fields),
      database: { provider: 'mariadb', host: 'h', name: 'n' },
    };
    assert.throws(
      () =>
        synthesize((scope, id) => cleanup.chart(scope, id, { ...site, status }, aReader([evil]))),
      (error: Error) =>
        error instanceof Stalled &&
        error.message.startsWith(denied('AppBench', 'demo-bench')) &&
        error.message.endsWith('annotate it with app-operator.io/skip-drop=true'),
    );
  });
});

describe('every pod of every golden scenario', () => {
  interface PodSpec {
    readonly automountServiceAccountToken?: boolean;
    readonly hostNetwork?: boolean;
    readonly volumes?: readonly Fields[];
    readonly securityContext?: Fields;
    readonly containers: readonly { readonly name: string; readonly securityContext?: Fields }[];
    readonly initContainers?: PodSpec['containers'];
  }
  const podsIn = (value: unknown): readonly PodSpec[] => {
    if (typeof value !== 'object' || value === null) return [];
    const own = 'containers' in value ? [value as PodSpec] : [];
    return [...own, ...Object.values(value).flatMap(podsIn)];
  };
  const all = corpus().flatMap(({ objects }) =>
    objects.flatMap((object) =>
      podsIn(object).map((pod) => ({ pod, name: `${object.kind} ${object.metadata.name}` })),
    ),
  );
  test('are of every kind that makes pods', () => {
    const kinds = new Set(all.map(({ name }) => name.split(' ')[0]));
    assert.deepEqual([...kinds].sort(), ['CronJob', 'Deployment', 'Job', 'StatefulSet']);
  });
  test('has no token of a service account', () => {
    for (const { pod, name } of all) assert.equal(pod.automountServiceAccountToken, false, name);
  });
  test('is within Pod Security restricted', () => {
    for (const { pod, name } of all) {
      assert.equal(pod.securityContext?.['runAsNonRoot'], true, name);
      assert.deepEqual(pod.securityContext['seccompProfile'], { type: 'RuntimeDefault' }, name);
      assert.equal(pod.hostNetwork, undefined, name);
      for (const volume of pod.volumes ?? []) assert.equal(volume['hostPath'], undefined, name);
      for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
        const { allowPrivilegeEscalation, capabilities } = container.securityContext ?? {};
        assert.equal(allowPrivilegeEscalation, false, name);
        assert.ok((capabilities as { drop: string[] }).drop.includes('ALL'), name);
      }
    }
  });
});

test('docs/security/tenant-policy.md lists every annotation that is allowed by default', () => {
  const prefixes = new Map<string, string[]>();
  for (const key of DEFAULT_INGRESS_ANNOTATIONS) {
    const [prefix = '', name = ''] = key.split('/');
    prefixes.set(prefix, [...(prefixes.get(prefix) ?? []), `\`${name}\``]);
  }
  const rows = [...prefixes].map(([prefix, names]) => [`\`${prefix}/\``, names.join(', ')]);
  assertSection('docs/security/tenant-policy.md', 'annotations', table(['Prefix', 'Names'], rows));
});

describe('a pattern', () => {
  const YES = [
    ['a', 'a'],
    ['*', ''],
    ['*', 'a/b'],
    ['a/*', 'a/b'],
    ['*-x', 'y-x'],
    ['a*c*e', 'abcde'],
    ['a**b', 'ab'],
  ] as const;
  const NO = [
    ['a', 'ab'],
    ['a*', 'ba'],
    ['*a', 'ab'],
    ['ab*ba', 'aba'],
    ['a*c*e', 'acd'],
    ['a.c', 'abc'],
  ] as const;
  test('stands for what it says', () => {
    for (const [pattern, text] of YES)
      assert.ok(matchesPattern(pattern, text), `${pattern} ${text}`);
    for (const [pattern, text] of NO)
      assert.ok(!matchesPattern(pattern, text), `${pattern} ${text}`);
  });
  test('of a service account is of its namespace, or of a name', () => {
    const allows = (pattern: string, name: string) =>
      allowsServiceAccount({ allowedServiceAccounts: [pattern] }, 'shop', name);
    assert.ok(allows('shop/erp', 'erp') && allows('*/erp', 'erp') && allows('erp', 'erp'));
    assert.ok(!allows('blog/erp', 'erp') && !allows('shop/erp', 'erp2') && !allows('shop', 'erp'));
    assert.ok(allows('blog/erp', 'default'));
  });
  test('of an image ends at a border of a part of its name', () => {
    const allows = (prefix: string, image: string) =>
      allowsImage({ allowedImagePrefixes: [prefix] }, image);
    assert.ok(allows('ghcr.io/acme', 'ghcr.io/acme/erp:1'));
    assert.ok(allows('ghcr.io/acme/erp', 'ghcr.io/acme/erp@sha256:00'));
    assert.ok(allows('ghcr.io/acme/erp:1', 'ghcr.io/acme/erp:1'));
    assert.ok(allows('docker.io/library/redis', 'redis:7'));
    assert.ok(allows('redis', 'docker.io/library/redis:7'));
    assert.ok(allows('frappe/', 'frappe/erpnext:version-15'));
    assert.ok(allows('registry.example.com', 'registry.example.com/a:1'));
    assert.ok(allows('localhost:5000/', 'localhost:5000/a:1'));
    assert.ok(!allows('ghcr.io/acme', 'ghcr.io/acme-copy/erp:1'));
    assert.ok(!allows('registry.example.com', 'registry.example.com.attacker.example/a:1'));
    assert.ok(!allows('frappe', 'frappe-copy/erpnext:1'));
    assert.ok(!allows('ghcr.io/frappe', 'frappe/erpnext:1'));
  });
});

describe('the flags of a policy', () => {
  const POLICY: TenantPolicy = {
    allowedServiceAccounts: ['shop/erp', 'reader'],
    allowedIngressAnnotations: ['default', 'example.com/*'],
    allowedImagePrefixes: ['registry.example.com/'],
    podSecurityLevel: 'baseline',
    sharedHosts: true,
  };
  test('are none for the default policy', () => {
    assert.deepEqual(policyFlags(DEFAULT_POLICY), []);
    assert.deepEqual(parseConfig([], {}).settings.policy, DEFAULT_POLICY);
  });
  test('are read as they are written', () => {
    assert.deepEqual(parseConfig(policyFlags(POLICY), {}).settings.policy, POLICY);
  });
});
