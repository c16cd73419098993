import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject } from '../../constructs/kit/object.js';
import { Certificate } from '../../constructs/integrations/cert-manager/kinds.js';
import {
  PostgresCluster,
  PostgresDatabase,
  PostgresRole,
} from '../../constructs/integrations/cloudnative-pg/kinds.js';
import {
  MariaDb,
  MariaDbDatabase,
  MariaDbGrant,
  MariaDbUser,
} from '../../constructs/integrations/mariadb-operator/kinds.js';
import { containersOf, corpus, podTemplates } from '../golden/corpus.js';
import { aReadyBench, aSecret, aServer, aSite, aReader, KEDA } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';

/** Words that only a user's text can bring: whatever holds one holds the user's text. */
const BENCH_SPEC = {
  frameworkVersion: 'zz-version',
  apps: [{ name: 'zz_app' }],
  image: { repository: 'zz-repository/zz', tag: 'zz-tag', pullSecrets: [{ name: 'zz-pull' }] },
  storage: { className: 'zz-class' },
  redisConfig: { image: 'zz-redis:1', storage: { className: 'zz-fast' } },
  dbConfig: { image: 'zz-mariadb:1', storage: { className: 'zz-fast' } },
  domainConfig: {
    suffix: 'zz-suffix.example',
    ingressClassName: 'zz-ingress',
    issuer: 'zz-issuer',
  },
  podTemplate: {
    nodeSelector: { zz: 'zz' },
    tolerations: [{ key: 'zz', value: 'zz' }],
    labels: { 'zz-label': 'zz' },
    annotations: { 'zz-annotation': 'zz; $(zz) `zz`' },
    priorityClassName: 'zz-priority',
    serviceAccountName: 'zz-account',
  },
  workerAutoscaling: { short: { enabled: true } },
  componentReplicas: { gunicorn: 2 },
};
const SITE_SPEC = {
  siteName: 'zz-site.example',
  domain: 'zz-domain.example',
  benchRef: { name: 'zz-bench' },
  apps: [{ name: 'zz_app' }],
  adminPasswordSecretRef: { name: 'zz-admin' },
  ingress: {
    enabled: true,
    className: 'zz-ingress',
    annotations: { 'zz-annotation': 'zz' },
    tls: { enabled: true, certManagerIssuer: 'zz-issuer', secretName: 'zz-tls' },
  },
};

const DATABASE_OPERATORS = [
  MariaDb,
  MariaDbDatabase,
  MariaDbUser,
  MariaDbGrant,
  PostgresCluster,
  PostgresDatabase,
  PostgresRole,
];

/** Every object of a bench and of its site, in each way that a site has its database. */
function objects(): readonly KubeObject[] {
  const external = {
    mode: 'external',
    host: 'zz-host',
    name: 'zz_database',
    secretRef: { name: 'zz-db' },
  };
  const dedicated = { mode: 'dedicated', image: 'zz-mariadb:2', storage: { className: 'zz-fast' } };
  const ways = [
    { bench: {}, site: {} },
    { bench: { dbConfig: { provider: 'postgres', image: 'zz-postgres:1' } }, site: {} },
    {
      bench: {
        dbConfig: { mode: 'external', host: 'zz-host', rootSecretRef: { name: 'zz-root' } },
      },
      site: {},
    },
    {
      bench: { dbConfig: { mode: 'operator', mariadbRef: { name: 'zz-server' } } },
      site: { dbConfig: { mode: 'operator' } },
    },
    {
      bench: {
        dbConfig: { provider: 'postgres', mode: 'operator', clusterRef: { name: 'zz-cluster' } },
      },
      site: { dbConfig: { mode: 'operator' } },
    },
    {
      bench: { redisConfig: { external: { urlsSecretRef: { name: 'zz-redis' } } } },
      site: { dbConfig: external },
    },
    { bench: {}, site: { dbConfig: dedicated, deletionPolicy: 'Delete' } },
  ];
  return ways.flatMap((way) => {
    const bench = aReadyBench(
      { ...BENCH_SPEC, ...way.bench },
      { name: 'zz-bench', namespace: 'zz-ns' },
    );
    const site = aSite({ ...SITE_SPEC, ...way.site }, { name: 'zz-site', namespace: 'zz-ns' });
    const others = [
      ...['zz-admin', 'zz-db', 'zz-root', 'zz-redis', 'zz-tls'].map(aSecret),
      aServer(MariaDb, 'zz-server'),
      aServer(PostgresCluster, 'zz-cluster'),
    ];
    const reader = aReader(
      [
        bench,
        site,
        ...others.map((other) => ({
          ...other,
          metadata: { ...other.metadata, namespace: 'zz-ns' },
        })),
      ],
      { serves: [...KEDA, Certificate, ...DATABASE_OPERATORS] },
    );
    return [bench, site].flatMap((resource) => {
      const kind = kindOf(resource);
      const inputs = kind.resolve(resource, reader);
      const tree = graphOf(kind, resource, (scope, id) =>
        kind.chart(scope, id, { resource, inputs }),
      );
      const drop = graphOf(kind, resource, (scope, id) =>
        kind.cleanup.chart(scope, id, resource, reader),
      );
      return [...tree, ...drop].flatMap((stage) => stage.objects);
    });
  });
}

/** The paths of all texts that hold a user's word, with indices left out. */
function placesOf(value: unknown, word: RegExp, path = ''): readonly string[] {
  if (typeof value === 'string') return word.test(value) ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    placesOf(inner, word, Array.isArray(value) ? `${path}[]` : `${path}.${key}`),
  );
}

const ALL = objects();

suite('what a user writes', () => {
  test('never becomes part of a command', () => {
    for (const object of ALL) {
      for (const place of placesOf(object, /zz/)) {
        assert.doesNotMatch(place, /\.(command|args)\[\]/, `${object.kind}: ${place}`);
      }
    }
  });
  test('as the name of a site, a domain or an app is a value where it belongs', () => {
    const places = new Set(
      ALL.flatMap((object) =>
        placesOf(object, /zz-site\.example|zz-domain\.example|zz_app|zz_database/).map(
          (place) => `${object.kind}${place}`,
        ),
      ),
    );
    assert.deepEqual([...places].sort(), [
      'Certificate.spec.dnsNames[]',
      'ConfigMap.data.sites.conf',
      'Deployment.spec.template.spec.containers[].env[].value',
      'Deployment.spec.template.spec.containers[].readinessProbe.httpGet.httpHeaders[].value',
      'Ingress.spec.rules[].host',
      'Ingress.spec.tls[].hosts[]',
      'Job.spec.template.spec.containers[].env[].value',
      'Job.spec.template.spec.initContainers[].env[].value',
    ]);
  });
});

suite('secrets', () => {
  test('have no value in any manifest: they are made by the runner', () => {
    for (const object of [...ALL, ...corpus().flatMap((graph) => graph.objects)]) {
      if (object.kind !== 'Secret') continue;
      const { data, stringData } = object as KubeObject & { data?: unknown; stringData?: unknown };
      assert.deepEqual([data, stringData], [undefined, undefined]);
    }
  });
  test('reach containers by reference only', () => {
    const named = /PASSWORD|_KEY$|_URL$|TOKEN|SECRET/;
    for (const pod of podTemplates(ALL)) {
      for (const { name, value } of containersOf(pod).flatMap(({ env = [] }) => env)) {
        if (named.test(name)) assert.equal(value, undefined, `${pod.of}: ${name}`);
      }
    }
  });
  test('are never expanded into a command', () => {
    for (const pod of podTemplates([...ALL, ...corpus().flatMap((graph) => graph.objects)])) {
      for (const { command = [], args = [], ...rest } of containersOf(pod)) {
        const probes = [rest.livenessProbe, rest.readinessProbe, rest.startupProbe];
        const words = [
          ...command,
          ...args,
          ...probes.flatMap((probe) => probe?.exec?.command ?? []),
        ];
        for (const word of words) assert.doesNotMatch(word, /\$|PASSWORD/, pod.of);
      }
    }
  });
});
