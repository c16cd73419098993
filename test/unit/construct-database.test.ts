import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import { MariaDbDatabase, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { gatherSite } from '../../constructs/site/facts.js';
import { aReadyBench, aSecret, aSite, aWorld } from '../golden/builders.js';

type Fields = Readonly<Record<string, unknown>>;

const SECRETS = [aSecret('root'), aSecret('db')];
const BENCHES = {
  managed: {},
  postgres: { provider: 'postgres' },
  external: {
    mode: 'external',
    host: 'db.example.com',
    port: 3307,
    rootSecretRef: { name: 'root' },
  },
  operator: { mode: 'operator', mariadbRef: { name: 'server' } },
  outside: {
    mode: 'operator',
    mariadbRef: { name: 'server', kind: 'ExternalMariaDB' },
    host: 'db.example.com',
  },
} as const;
const SITES = {
  shared: {},
  dedicated: { mode: 'dedicated' },
  external: { mode: 'external', host: 'mine.example.com', name: 'mine', secretRef: { name: 'db' } },
  operator: { mode: 'operator' },
} as const;

function planOf(bench: Fields, site: Fields, serves: readonly ObjectKind[] = [MariaDbDatabase]) {
  const world = aWorld([aReadyBench({ dbConfig: bench }), ...SECRETS], { serves });
  return gatherSite(aSite({ dbConfig: site }), world).database;
}

const GENERATED = 's_demo_site_95bed47d2d';
const local = (service: string) => `${service}.default.svc.cluster.local`;

const PLANS: readonly (readonly [
  bench: keyof typeof BENCHES,
  site: keyof typeof SITES,
  server: string,
  name: string,
  password: string,
  root: string | undefined,
])[] = [
  [
    'managed',
    'shared',
    `${local('demo-bench-db')}:3306`,
    GENERATED,
    'demo-site-db',
    'demo-bench-db-root',
  ],
  [
    'postgres',
    'shared',
    `${local('demo-bench-db')}:5432`,
    GENERATED,
    'demo-site-db',
    'demo-bench-db-root',
  ],
  ['external', 'shared', 'db.example.com:3307', GENERATED, 'demo-site-db', 'root'],
  [
    'managed',
    'dedicated',
    `${local('demo-site-db')}:3306`,
    GENERATED,
    'demo-site-db',
    'demo-site-db-root',
  ],
  [
    'postgres',
    'dedicated',
    `${local('demo-site-db')}:5432`,
    GENERATED,
    'demo-site-db',
    'demo-site-db-root',
  ],
  [
    'operator',
    'dedicated',
    `${local('demo-site-db')}:3306`,
    GENERATED,
    'demo-site-db',
    'demo-site-db-root',
  ],
  ['managed', 'external', 'mine.example.com:3306', 'mine', 'db', undefined],
  ['postgres', 'external', 'mine.example.com:5432', 'mine', 'db', undefined],
  ['operator', 'external', 'mine.example.com:3306', 'mine', 'db', undefined],
  ['operator', 'operator', `${local('server')}:3306`, GENERATED, 'demo-site-db', undefined],
  ['outside', 'operator', 'db.example.com:3306', GENERATED, 'demo-site-db', undefined],
];

suite('where a site has its database', () => {
  for (const [bench, site, server, name, password, root] of PLANS) {
    test(`${site} on a bench whose server is ${bench}`, () => {
      const plan = planOf(BENCHES[bench], SITES[site]);
      assert.equal(`${plan.server.host}:${plan.server.port}`, server);
      assert.equal(plan.name, name);
      assert.deepEqual(plan.password, { secret: password, key: 'password' });
      assert.equal(plan.server.root?.password.secret, root);
    });
  }
});

suite('a database that cannot be had', () => {
  const REFUSED: readonly (readonly [
    bench: keyof typeof BENCHES,
    site: keyof typeof SITES,
    message: string,
  ])[] = [
    [
      'operator',
      'shared',
      'spec.dbConfig.mode: Invalid value: "shared": the server of bench demo-bench is the MariaDB operator\'s; use "operator"',
    ],
    [
      'managed',
      'operator',
      'spec.dbConfig.mode: Invalid value: "operator": bench demo-bench names no server of the MariaDB operator in spec.dbConfig.mariadbRef',
    ],
  ];
  for (const [bench, site, message] of REFUSED) {
    test(`${site} on a bench whose server is ${bench}: the user must act`, () => {
      assert.throws(() => planOf(BENCHES[bench], SITES[site]), new Stalled('InvalidSpec', message));
    });
  }
  test('without the MariaDB operator: waiting for it', () => {
    assert.throws(
      () => planOf(BENCHES.operator, SITES.operator, []),
      new Waiting(
        'DatabaseOperatorMissing',
        'spec.dbConfig.mode: the cluster does not serve k8s.mariadb.com/v1alpha1: install the MariaDB operator',
      ),
    );
  });
  test('without its Secret: waiting for it', () => {
    assert.throws(
      () => planOf({}, { ...SITES.external, secretRef: { name: 'nowhere' } }),
      new Waiting(
        'SecretMissing',
        'spec.dbConfig.secretRef.name: the Secret "nowhere" is not there: create it in namespace default',
      ),
    );
  });
});

suite('a site waits for a bench that is ready for its newest spec', () => {
  const holdOf = (status: Fields | undefined, generation: number) => {
    const bench = { ...aReadyBench({}, { generation }), status };
    const secrets = ['admin-password', 'db', 'encryption-key'].map((name) =>
      aSecret(`demo-site-${name}`),
    );
    return gatherSite(aSite(), aWorld([bench, ...secrets])).hold;
  };
  const WAITING = 'waiting for bench demo-bench to be ready';
  test('ready: nothing holds it', () => {
    assert.equal(holdOf({ ready: true, observedGeneration: 2 }, 2), undefined);
  });
  test('ready for the spec before', () => {
    assert.equal(holdOf({ ready: true, observedGeneration: 1 }, 2), WAITING);
  });
  test('not ready', () => {
    assert.equal(holdOf({ ready: false, observedGeneration: 2 }, 2), WAITING);
  });
  test('without a status', () => {
    assert.equal(holdOf(undefined, 1), WAITING);
  });
});
