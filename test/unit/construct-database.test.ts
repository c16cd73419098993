import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import {
  PostgresCluster,
  PostgresDatabase,
  PostgresRole,
} from '../../constructs/integrations/cloudnative-pg/kinds.js';
import {
  ExternalMariaDb,
  MariaDb,
  MariaDbDatabase,
  MariaDbGrant,
  MariaDbUser,
} from '../../constructs/integrations/mariadb-operator/kinds.js';
import { type ObjectKind } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { databaseSettings, settingProblems } from '../../constructs/frappe/database-settings.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { resolveSite } from '../../constructs/kinds/site/resolve.js';
import { siteCleanup } from '../../constructs/kinds/site/cleanup.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { referenceSink } from '../../runner/cache/readable-sink.js';
import { aBench, aReadyBench, aSecret, aServer, aSite, aReader } from '../golden/builders.js';

type Fields = Readonly<Record<string, unknown>>;

const SECRETS = [
  ...['root', 'db', 'ca', 'client', 'certificate', 'server-ca-bundle', 'server-ca', 'own-ca'],
].map((name) => aSecret(name));
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
  outside: { mode: 'operator', mariadbRef: { name: 'server', kind: 'ExternalMariaDB' } },
  proxied: { mode: 'operator', mariadbRef: { name: 'server' }, host: 'maxscale', port: 3308 },
  cluster: { provider: 'postgres', mode: 'operator', clusterRef: { name: 'server' } },
} as const;
const SITES = {
  shared: {},
  dedicated: { mode: 'dedicated' },
  external: { mode: 'external', host: 'mine.example.com', name: 'mine', secretRef: { name: 'db' } },
  operator: { mode: 'operator' },
} as const;

const SERVERS = [
  aServer(MariaDb, 'server', { port: 3306 }),
  aServer(ExternalMariaDb, 'server', { host: 'db.example.com', port: 3310 }),
  aServer(PostgresCluster, 'server'),
];
const APIS = [
  MariaDb,
  ExternalMariaDb,
  MariaDbDatabase,
  MariaDbUser,
  MariaDbGrant,
  PostgresCluster,
  PostgresDatabase,
  PostgresRole,
];

function planOf(
  bench: Fields,
  site: Fields,
  serves: readonly ObjectKind[] = APIS,
  servers: readonly KubeObject[] = SERVERS,
) {
  const reader = aReader([aReadyBench({ dbConfig: bench }), ...SECRETS, ...servers], { serves });
  return resolveSite(aSite({ dbConfig: site }), reader).data.database;
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
  ['outside', 'operator', 'db.example.com:3310', GENERATED, 'demo-site-db', undefined],
  ['proxied', 'operator', 'maxscale:3308', GENERATED, 'demo-site-db', undefined],
  ['cluster', 'operator', `${local('server-rw')}:5432`, GENERATED, 'demo-site-db', undefined],
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

suite('a server of the MariaDB operator', () => {
  const hostOf = (spec: Fields) =>
    planOf(BENCHES.operator, SITES.operator, APIS, [aServer(MariaDb, 'server', spec)]).server;
  for (const [what, spec] of [
    ['replicas', { replication: { enabled: true } }],
    ['a Galera cluster', { galera: { enabled: true }, port: 3307 }],
  ] as const) {
    test(`with ${what} takes writes by another Service`, () => {
      assert.equal(hostOf(spec).host, local('server-primary'));
    });
  }
  test('with a port in the spec is reached at that port', () => {
    assert.equal(hostOf({ port: 3309 }).port, 3309);
  });
  test('that takes encrypted connections only is checked by the CA of its operator', () => {
    const { tls } = hostOf({ tls: { enabled: true, required: true } });
    assert.deepEqual(tls, {
      mode: 'VerifyFull',
      ca: { secret: 'server-ca-bundle', key: 'ca.crt' },
    });
    assert.equal(hostOf({ tls: { enabled: true } }).tls, undefined);
    assert.equal(hostOf({ tls: { enabled: false, required: true } }).tls, undefined);
  });
  test('that takes encrypted connections only is used by way of a host that is given', () => {
    const server = aServer(MariaDb, 'server', { tls: { enabled: true, required: true } });
    const plan = planOf(BENCHES.proxied, SITES.operator, APIS, [server]);
    assert.equal(plan.server.host, 'maxscale');
    assert.equal(plan.server.tls, undefined);
  });
});

suite('the encryption of connections to a database server', () => {
  const caSecretRef = { name: 'ca' };
  const server = (name: string) => ({ serverCertificateSecretRef: { name } });
  const ca = (secret: string) => ({ secret, key: 'ca.crt' });
  const CASES: readonly (readonly [what: string, bench: Fields, site: Fields, plan: unknown])[] = [
    ['no tls', BENCHES.external, SITES.shared, undefined],
    [
      'a CA',
      { ...BENCHES.external, tls: { caSecretRef } },
      SITES.shared,
      { mode: 'VerifyFull', ca: ca('ca') },
    ],
    [
      'a client certificate and no check',
      {
        ...BENCHES.external,
        tls: { mode: 'Require', clientCertificateSecretRef: { name: 'client' } },
      },
      SITES.shared,
      { mode: 'Require', client: 'client' },
    ],
    [
      'a prepared database of its own',
      BENCHES.external,
      { ...SITES.external, tls: { mode: 'VerifyCA', caSecretRef } },
      { mode: 'VerifyCA', ca: ca('ca') },
    ],
    [
      'a prepared database, whose bench has TLS',
      { ...BENCHES.external, tls: { caSecretRef } },
      SITES.external,
      undefined,
    ],
    [
      'the certificate of a managed server',
      { tls: server('certificate') },
      SITES.shared,
      { mode: 'VerifyFull', ca: ca('certificate') },
    ],
    [
      'the certificate of a dedicated server',
      BENCHES.postgres,
      { ...SITES.dedicated, tls: { ...server('certificate'), caSecretRef } },
      { mode: 'VerifyFull', ca: ca('ca') },
    ],
    [
      'a Cluster, whose CA is known',
      { ...BENCHES.cluster, tls: {} },
      SITES.operator,
      { mode: 'VerifyFull', ca: ca('server-ca') },
    ],
  ];
  for (const [what, bench, site, plan] of CASES) {
    test(what, () => {
      assert.deepEqual(planOf(bench, site).server.tls, plan);
    });
  }
  test('an ExternalMariaDB names its CA', () => {
    const tls = { enabled: true, required: true, serverCASecretRef: { name: 'own-ca' } };
    const outside = aServer(ExternalMariaDb, 'server', { host: 'db.example.com', tls });
    const plan = planOf(BENCHES.outside, SITES.operator, APIS, [outside]);
    assert.deepEqual(plan.server.tls?.ca, ca('own-ca'));
  });
  test('a CA that is not known must be set', () => {
    const bench = { ...BENCHES.operator, tls: {} };
    assert.throws(
      () => planOf(bench, SITES.operator),
      (error) =>
        error instanceof Stalled &&
        error.reason === 'DatabaseTlsRequired' &&
        error.message.endsWith('set caSecretRef to a Secret with the key ca.crt'),
    );
  });
  test('waits for a Secret that does not exist', () => {
    const bench = { ...BENCHES.external, tls: { caSecretRef: { name: 'lost' } } };
    assert.throws(
      () => planOf(bench, SITES.shared),
      (error) =>
        error instanceof Waiting &&
        error.reason === 'SecretMissing' &&
        error.message ===
          'spec.dbConfig.tls.caSecretRef.name of AppBench demo-bench: there is no Secret "lost" in namespace default; create it',
    );
  });
});

suite('a server in another namespace', () => {
  const bench = {
    mode: 'operator',
    mariadbRef: { name: 'server', namespace: 'databases' },
  };
  const granting = (grant?: string): KubeObject => {
    const object = aServer(MariaDb, 'server', {});
    const annotations =
      grant === undefined ? {} : { 'app-operator.io/allow-databases-from': grant };
    return { ...object, metadata: { ...object.metadata, namespace: 'databases', annotations } };
  };
  test('is used where it grants its use', () => {
    const plan = planOf(bench, SITES.operator, APIS, [granting('shop, default')]);
    assert.equal(plan.server.host, 'server.databases.svc.cluster.local');
  });
  test('keeps its grant in the cache that benches read', () => {
    const dependencies = new DependencyTracker({
      ...{ settings: DEFAULT_SETTINGS, indexes: [], enqueue: () => undefined, now: () => 0 },
    });
    referenceSink(MariaDb, dependencies, () => true).upsert(granting('shop, default'));
    const cached = [...dependencies.objects('MariaDB').values()];
    assert.equal(
      planOf(bench, SITES.operator, APIS, cached).server.host,
      'server.databases.svc.cluster.local',
    );
  });
  for (const [what, servers] of [
    ['does not exist', []],
    ['has no grant', [granting()]],
    ['grants its use to others', [granting('shop,defaults')]],
    ['grants its use to all, which is not possible', [granting('*')]],
  ] as const) {
    test(`is not used where it ${what}, in the same words`, () => {
      assert.throws(
        () => planOf(bench, SITES.operator, APIS, servers),
        (error) =>
          error instanceof Waiting &&
          error.reason === 'DatabaseServerNotGranted' &&
          error.message ===
            'spec.dbConfig.mariadbRef of AppBench demo-bench: no MariaDB "server" in namespace databases grants its use to namespace default; ask its owner to annotate it with app-operator.io/allow-databases-from=default',
      );
    });
  }
});

suite('settings of a database server', () => {
  test('have the cache by the memory limit, unless it is set', () => {
    const limits = { limits: { memory: '4Gi' } };
    const [MARIADB, POSTGRES] = ['innodb_buffer_pool_size', 'shared_buffers'];
    assert.deepEqual(databaseSettings('mariadb', undefined, limits), { [MARIADB]: '2048M' });
    assert.deepEqual(databaseSettings('postgres', undefined, limits), { [POSTGRES]: '1024MB' });
    assert.deepEqual(databaseSettings('mariadb', { [MARIADB]: '1G' }, limits), { [MARIADB]: '1G' });
    assert.deepEqual(databaseSettings('mariadb', undefined, { requests: { memory: '4Gi' } }), {});
    assert.deepEqual(databaseSettings('mariadb', undefined, { limits: { memory: '1k' } }), {});
  });
  const REFUSED: readonly (readonly ['mariadb' | 'postgres', string, RegExp])[] = [
    [
      'mariadb',
      'datadir',
      /"datadir": this setting of MariaDB cannot be set; allowed are those in "Settings of a managed server" of docs[/]databases[.]md$/,
    ],
    ['mariadb', 'plugin_load_add', /cannot be set/],
    ['mariadb', 'plugin-load', /cannot be set/],
    ['mariadb', 'init_file', /cannot be set/],
    ['mariadb', 'secure_file_priv', /cannot be set/],
    ['mariadb', 'skip_grant_tables', /cannot be set/],
    ['mariadb', 'port', /cannot be set/],
    ['mariadb', 'general_log_file', /cannot be set/],
    ['mariadb', 'slow_query_log_file', /cannot be set; allowed are: slow_query_log$/],
    ['mariadb', 'character_set_server', /cannot be set/],
    ['mariadb', 'lower_case_table_names', /cannot be set/],
    ['mariadb', 'require_secure_transport', /cannot be set/],
    [
      'mariadb',
      'max-connections',
      /write it as max_connections; allowed are: max_allowed_packet, /,
    ],
    ['mariadb', 'work_mem', /it is a setting of PostgreSQL/],
    ['mariadb', 'constructor', /cannot be set/],
    ['postgres', 'archive_command', /cannot be set/],
    ['postgres', 'restore_command', /cannot be set/],
    ['postgres', 'ssl_passphrase_command', /cannot be set/],
    ['postgres', 'shared_preload_libraries', /cannot be set; allowed are: shared_buffers$/],
    ['postgres', 'session_preload_libraries', /cannot be set/],
    ['postgres', 'local_preload_libraries', /cannot be set/],
    ['postgres', 'dynamic_library_path', /cannot be set/],
    ['postgres', 'hba_file', /cannot be set/],
    ['postgres', 'data_directory', /cannot be set/],
    ['postgres', 'listen_addresses', /cannot be set/],
    ['postgres', 'password_encryption', /cannot be set/],
    ['postgres', 'unix_socket_directories', /cannot be set/],
    ['postgres', 'Work_Mem', /write it as work_mem/],
    ['postgres', 'innodb_buffer_pool_size', /it is a setting of MariaDB/],
  ];
  for (const [provider, key, message] of REFUSED) {
    test(`${key} of ${provider} is refused by name`, () => {
      const [problem, ...more] = settingProblems(provider, { [key]: '1' });
      assert.equal(problem?.path, `spec.dbConfig.settings[${key}]`);
      assert.match(problem.message, message);
      assert.equal(more.length, 0);
    });
  }
  test('that may be set are all in the docs', () => {
    const docs = readFileSync(new URL('../../../../docs/databases.md', import.meta.url), 'utf8');
    const keys = [...docs.matchAll(/```text\n([^`]*)```/g)].flatMap(([, text = '']) =>
      text.split(/\s+/),
    );
    const listed = Object.fromEntries(keys.filter(Boolean).map((key) => [key, '1']));
    const [mariadb, postgres] = [
      settingProblems('mariadb', listed),
      settingProblems('postgres', listed),
    ];
    assert.ok(mariadb.length > 0 && postgres.length > 0);
    assert.ok(keys.length > 80);
    assert.doesNotMatch(
      [...mariadb, ...postgres].map(({ message }) => message).join(),
      /cannot be set/,
    );
  });
  test('of a dedicated server are of the kind that its bench has', () => {
    const site = { mode: 'dedicated', settings: { work_mem: '16MB' } };
    assert.ok(planOf(BENCHES.postgres, site));
    assert.throws(
      () => planOf(BENCHES.managed, site),
      /spec[.]dbConfig[.]settings\[work_mem\]: Unsupported value: "work_mem": it is a setting of PostgreSQL/,
    );
  });
});

test('a bench has no SQLite, which version-16 offers: its file would be on a shared volume', () => {
  assert.throws(() => aBench({ dbConfig: { provider: 'sqlite' } }), /dbConfig\.provider[^]*sqlite/);
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
      'spec.dbConfig.mode: Invalid value: "shared": the server of bench demo-bench is managed by a database operator; use "operator"',
    ],
    [
      'managed',
      'operator',
      'spec.dbConfig.mode: Invalid value: "operator": bench demo-bench names no server of a database operator in spec.dbConfig',
    ],
  ];
  for (const [bench, site, message] of REFUSED) {
    test(`${site} on a bench whose server is ${bench}: the user must act`, () => {
      assert.throws(() => planOf(BENCHES[bench], SITES[site]), new Stalled('InvalidSpec', message));
    });
  }
  const MISSING: readonly (readonly [
    bench: keyof typeof BENCHES,
    without: ObjectKind,
    message: string,
  ])[] = [
    [
      'operator',
      MariaDbDatabase,
      'spec.dbConfig.mode: the cluster does not serve Database of k8s.mariadb.com/v1alpha1: install the MariaDB operator',
    ],
    [
      'outside',
      ExternalMariaDb,
      'spec.dbConfig.mariadbRef of AppBench demo-bench: the cluster does not serve ExternalMariaDB of k8s.mariadb.com/v1alpha1: install the database operator',
    ],
    [
      'cluster',
      PostgresRole,
      'spec.dbConfig.mode: the cluster does not serve DatabaseRole of postgresql.cnpg.io/v1: install CloudNativePG 1.30 or newer',
    ],
  ];
  for (const [bench, without, message] of MISSING) {
    test(`on a bench whose server is ${bench}, without ${without.kind}: waiting for it`, () => {
      const serves = APIS.filter((api) => api !== without);
      assert.throws(
        () => planOf(BENCHES[bench], SITES.operator, serves),
        new Waiting('DatabaseOperatorMissing', message),
      );
    });
  }
  test('on a server that its operator does not know: waiting for it', () => {
    assert.throws(
      () => planOf(BENCHES.cluster, SITES.operator, APIS, []),
      new Waiting(
        'DatabaseServerMissing',
        'spec.dbConfig.clusterRef of AppBench demo-bench: there is no Cluster "server" in namespace default',
      ),
    );
  });
  test('without its Secret: waiting for it', () => {
    assert.throws(
      () => planOf({}, { ...SITES.external, secretRef: { name: 'nowhere' } }),
      new Waiting(
        'SecretMissing',
        'spec.dbConfig.secretRef.name: there is no Secret "nowhere" in namespace default; create it',
      ),
    );
  });
});

interface JobContainer {
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}
interface JobObject extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly JobContainer[];
        readonly initContainers?: readonly JobContainer[];
      };
    };
  };
}

suite('a deleted site whose bench has changed to another kind of server', () => {
  const DATABASE = { provider: 'mariadb', host: 'old.example.com', name: GENERATED } as const;
  const cleanupPlan = (
    bench: Fields,
    dbConfig: Fields,
    deletionPolicy: 'Retain' | 'Delete',
    ready: { readonly appliedHash?: string } = { appliedHash: 'x' },
  ) => {
    const made = aSite({ dbConfig, deletionPolicy });
    const site = { ...made, status: { ...ready, database: DATABASE } };
    const reader = aReader([aReadyBench({ dbConfig: bench }), ...SECRETS]);
    const [stage] = synthesize((scope, id) => siteCleanup.chart(scope, id, site, reader));
    const [job] = (stage?.objects ?? []) as readonly JobObject[];
    const { initContainers = [], containers = [] } = job?.spec.template.spec ?? {};
    const env = [...initContainers, ...containers].flatMap((container) => container.env);
    return new Map(env.map(({ name, value }) => [name, value ?? 'from a Secret']));
  };
  for (const [bench, mode, deletionPolicy] of [
    ['operator', 'shared', 'Retain'],
    ['managed', 'operator', 'Retain'],
    // The objects of the database operator name their server themselves.
    ['managed', 'operator', 'Delete'],
  ] as const) {
    test(`is dropped according to its status, without that server: ${mode} under ${deletionPolicy}, the bench ${bench}`, () => {
      const env = cleanupPlan(BENCHES[bench], SITES[mode], deletionPolicy);
      assert.equal(env.get('KEEP_DATA'), deletionPolicy === 'Retain' ? '1' : undefined);
      assert.deepEqual(
        ['DB_TYPE', 'DB_HOST', 'DB_NAME', 'DB_ROOT_PASSWORD'].map((name) => env.get(name)),
        ['mariadb', 'old.example.com', GENERATED, undefined],
      );
    });
  }
  test('names the annotation that skips the drop, if its shared database cannot be dropped any more', () => {
    assert.throws(
      () => cleanupPlan(BENCHES.operator, SITES.shared, 'Delete'),
      new Stalled(
        'InvalidSpec',
        'spec.dbConfig.mode: Invalid value: "shared": the server of bench demo-bench is managed by a database operator; use "operator"; to delete the site without dropping its data, annotate it with app-operator.io/skip-drop=true',
      ),
    );
  });
  test('is dropped with the current login of the bench', () => {
    const env = cleanupPlan(BENCHES.external, SITES.shared, 'Delete');
    assert.deepEqual(
      ['DB_HOST', 'DB_PORT', 'DB_ROOT_PASSWORD'].map((name) => env.get(name)),
      ['db.example.com', '3307', 'from a Secret'],
    );
  });
  test('passes to the Job whether the site was Ready before: otherwise a database of its name may be another one', () => {
    const wasReady = (ready: object) =>
      cleanupPlan(BENCHES.external, SITES.shared, 'Delete', ready).get('WAS_READY');
    assert.deepEqual([wasReady({ appliedHash: 'x' }), wasReady({})], ['1', undefined]);
  });
});

suite('a site waits for a bench that is ready for its newest spec', () => {
  const blockedBy = (status: Fields | undefined, generation: number) => {
    const bench = { ...aReadyBench({}, { generation }), status };
    const secrets = ['admin-password', 'db', 'encryption-key'].map((name) =>
      aSecret(`demo-site-${name}`),
    );
    return resolveSite(aSite(), aReader([bench, ...secrets])).blockedReason;
  };
  const WAITING = 'waiting for bench demo-bench to be ready';
  test('ready: nothing holds it', () => {
    assert.equal(blockedBy({ ready: true, observedGeneration: 2 }, 2), undefined);
  });
  test('ready for the spec before', () => {
    assert.equal(blockedBy({ ready: true, observedGeneration: 1 }, 2), WAITING);
  });
  test('not ready', () => {
    assert.equal(blockedBy({ ready: false, observedGeneration: 2 }, 2), WAITING);
  });
  test('without a status', () => {
    assert.equal(blockedBy(undefined, 1), WAITING);
  });
});
