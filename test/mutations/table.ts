/**
 * Defects that `npm run mutations` puts into a copy of the tree, and the tests that must fail then.
 * docs/contributing/mutations.md is generated from this table.
 */

/** A text of a file, and what replaces it. */
export interface Edit {
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** A test that fails. */
export interface Failure {
  /** Short name of the test file, such as `e2e/requests`. */
  readonly file: string;
  readonly title: string;
  /** Recorded when it last failed; `…` stands for anything. A failure without it proves nothing. */
  readonly message: string;
  /**
   * Mutations of one run are tried at once: each hits tests of its own. Undefined where the test runs
   * without a node.
   */
  readonly run?: number;
}

export interface Mutation extends Edit {
  readonly name: string;
  readonly item: string;
  readonly breaks: string;
  readonly fails: readonly Failure[];
  /** Short names of files of `npm run test:all` of which one or more tests fail too. */
  readonly fast: readonly string[];
}

/** Timeouts in whose time nothing more happens once a mutation is in. */
export const SHORTER: readonly Edit[] = [
  {
    file: 'test/e2e/databases.test.ts',
    find: 'const COMPLAINT_MS = 400_000;',
    replace: 'const COMPLAINT_MS = 200_000;',
  },
  {
    file: 'test/e2e/security.test.ts',
    find: 'const JOB_MS = 180_000;',
    replace: 'const JOB_MS = 60_000;',
  },
  {
    file: 'test/e2e/support/bench.ts',
    find: 'async stored(texts: readonly string[], timeoutMs = 180_000)',
    replace: 'async stored(texts: readonly string[], timeoutMs = 60_000)',
  },
  {
    file: 'test/e2e/removal.test.ts',
    find: "cluster.deleted('AppSite', namespace, 'stuck', 180_000)",
    replace: "cluster.deleted('AppSite', namespace, 'stuck', 60_000)",
  },
  {
    file: 'test/e2e/bench-changes.test.ts',
    find: 'return all;\n      },\n      180_000,',
    replace: 'return all;\n      },\n      90_000,',
  },
  {
    file: 'test/e2e/bench-changes.test.ts',
    find: "apps.includes('erpnext'));\n        },\n        180_000,",
    replace: "apps.includes('erpnext'));\n        },\n        90_000,",
  },
  {
    file: 'test/e2e/bench-changes.test.ts',
    find: 'return true;\n      },\n      120_000,',
    replace: 'return true;\n      },\n      60_000,',
  },
];

const CHANGES = 'e2e/bench-changes';
const BY_HAND = 'gunicorn and nginx are restarted by hand';
const LOST = "Expected values to be strictly deep-equal: …'502': …";
const UPGRADE =
  'each site is closed, backed up, migrated, rolled and opened; one that fails stops no other';
const DOWNGRADE = 'putting the version before back recovers a site whose migration has failed';
const REDIS_RESTART = 'redis is restarted with queued jobs, and none is lost';

const SERVING: readonly Mutation[] = [
  {
    name: 'first-site',
    item: 'serving',
    breaks: 'a Host in no map gets the first site',
    file: 'constructs/kinds/bench/nginx-maps.ts',
    find: `renderMap('$host $frappe_site', '""', `,
    replace: `renderMap('$host $frappe_site', [...(sites?.keys() ?? [])][0] ?? '""', `,
    fails: [
      {
        file: 'e2e/requests',
        title: 'for an unknown host get 404',
        message: '200 !== 404',
        run: 1,
      },
      {
        file: 'e2e/requests',
        title: 'are not lost while sites are created and deleted, gunicorn rolls and nginx reloads',
        message: 'not within 120 s: its route to be deleted',
        run: 1,
      },
    ],
    fast: ['jobs/nginx'],
  },
  {
    name: 'other-site',
    item: 'serving',
    breaks: "a site's own gunicorn serves another site",
    file: 'constructs/frappe/gunicorn.ts',
    find: "{ name: 'SITE_NAME', value: siteName }",
    replace: "{ name: 'SITE_NAME', value: `other.${siteName}` }",
    fails: [
      {
        file: 'e2e/serving',
        title: 'a site that is Ready answers through nginx',
        message: 'not within 240 s: AppSite/demo-site is Ready',
        run: 7,
      },
    ],
    fast: ['unit'],
  },
  {
    name: 'no-aliases',
    item: 'serving',
    breaks: "aliases are left out of nginx's map",
    file: 'constructs/kinds/bench/nginx-maps.ts',
    find: '[siteName, ...domains]',
    replace: '[siteName]',
    fails: [
      {
        file: 'e2e/requests',
        title: 'for an alias reach its site',
        message: `Unexpected token '<', "<html>`,
        run: 2,
      },
    ],
    fast: [],
  },
  {
    name: 'no-assets',
    item: 'serving',
    breaks: '`/assets` answers 404',
    file: 'constructs/kinds/bench/nginx-server.ts',
    find: 'try_files $uri @assets;',
    replace: 'return 404;',
    fails: [
      {
        file: 'e2e/requests',
        title: 'for assets are answered from the image',
        message: '/assets/frappe/dist/js/… 404 !== 200',
        run: 1,
      },
    ],
    fast: ['jobs/nginx'],
  },
  {
    name: 'not-internal',
    item: 'serving',
    breaks: '`/protected` lacks `internal`',
    file: 'constructs/kinds/bench/nginx-server.ts',
    find: '      internal;\n',
    replace: '',
    fails: [
      {
        file: 'e2e/requests',
        title: 'for private files are answered to logged-in users only',
        message: '200 !== 404',
        run: 1,
      },
    ],
    fast: ['jobs/nginx'],
  },
  {
    name: 'no-socketio',
    item: 'serving',
    breaks: 'no route `/socket.io`',
    file: 'constructs/kinds/bench/nginx-server.ts',
    find: 'location /socket.io {',
    replace: 'location /no-socket.io {',
    fails: [
      {
        file: 'e2e/requests',
        title: 'to upgrade to a websocket reach socketio',
        message: 'HTTP/1.1 301 Moved Permanently',
        run: 1,
      },
    ],
    fast: ['jobs/nginx'],
  },
  {
    name: 'any-body',
    item: 'serving',
    breaks: 'no limit for request bodies',
    file: 'constructs/kinds/bench/nginx-config.ts',
    find: 'client_max_body_size ${bodySize(input)};',
    replace: 'client_max_body_size ${bodySize({ ...input, clientMaxBodySize: "0" })};',
    fails: [
      {
        file: 'e2e/requests',
        title: 'of more than 50 MiB are refused, smaller ones are not',
        message: 'not within 120 s: nginx to have refused it',
        run: 1,
      },
    ],
    fast: ['jobs/nginx'],
  },
];

const ISOLATION: readonly Mutation[] = [
  {
    name: 'any-bench',
    item: 'isolation',
    breaks: 'NetworkPolicies let in by a label that all benches have',
    file: 'constructs/frappe/network-rule.ts',
    find: 'podSelector: benchPodsBut(rule.bench, NO_CLIENTS)',
    replace:
      "podSelector: { ...benchPodsBut(rule.bench, NO_CLIENTS), matchLabels: { 'app.kubernetes.io/name': 'frappe' } }",
    fails: [
      {
        file: 'e2e/security',
        title: 'NetworkPolicies of servers admit the bench and its sites only',
        message: "+ 'foreign-gunicorn-…', + 'foreign-init-…'",
        run: 2,
      },
      {
        file: 'e2e/security',
        title: 'only who needs it reaches a component',
        message: "'strange-gunicorn', + 'plain-redis:6379'",
        run: 2,
      },
    ],
    fast: [],
  },
  {
    name: 'bench-queues',
    item: 'isolation',
    breaks: "a site's own workers keep the bench's queue prefix",
    file: 'jobs/processes/worker_config.py',
    find: 'config["bench_id"] = os.environ["BENCH_ID"]',
    replace: 'config["bench_id"] = config.get("bench_id", os.environ["BENCH_ID"])',
    fails: [
      {
        file: 'e2e/security',
        title: 'workers take the jobs of their own site, or of all Shared ones',
        message: 'not within 60 s: the job own.example.com::…',
        run: 2,
      },
      {
        file: 'e2e/faults',
        title: REDIS_RESTART,
        message: 'the job queued 0 of shop.example.com to be done once… stored 0 times',
        run: 5,
      },
      {
        file: 'e2e/volumes',
        title: 'of the queue: new jobs are refused, waiting jobs run',
        message: '… of shop.example.com to be done once… stored 0 times',
        run: 5,
      },
    ],
    fast: [],
  },
  {
    name: 'writable-root',
    item: 'isolation',
    breaks: 'the root file system can be written',
    file: 'constructs/frappe/security.ts',
    find: 'readOnlyRootFilesystem: true',
    replace: 'readOnlyRootFilesystem: false',
    fails: [
      {
        file: 'e2e/security',
        title: 'as user 1001 processes have no rights and a read-only system',
        message: '…: no line ^touch: .*Read-only file system$',
        run: 4,
      },
      {
        file: 'e2e/security',
        title: 'as user 1000660000 processes have no rights and a read-only system',
        message: '…: no line ^touch: .*Read-only file system$',
        run: 4,
      },
    ],
    fast: [],
  },
  {
    name: 'printed-password',
    item: 'isolation',
    breaks: "the init Job prints the database's password",
    file: 'jobs/site_init/site_init.py',
    find: '    settings = InitSettings()\n',
    replace: '    settings = InitSettings()\n    print(settings.db_password, flush=True)\n',
    fails: [
      {
        file: 'e2e/security',
        title: 'no secret value is where others may read',
        message: "+ 'Secret/own-db… password in log of own-init-…/init'",
        run: 2,
      },
    ],
    fast: [],
  },
  {
    name: 'open-redis',
    item: 'isolation',
    breaks: 'Redis accepts clients without a password',
    file: 'jobs/shell/redis.sh',
    find: "  printf 'requirepass",
    replace: '  [ -n "$password" ] || printf \'requirepass',
    fails: [
      {
        file: 'e2e/serving',
        title: 'a site that is Ready answers through nginx',
        message: 'not within 240 s: AppBench/demo-bench is Ready',
        run: 8,
      },
    ],
    fast: [],
  },
];

const DATABASES: readonly Mutation[] = [
  {
    name: 'denied-is-unreachable',
    item: 'databases',
    breaks: 'a refused login is reported as an unreachable server',
    file: 'jobs/database/mariadb_server.py',
    find: 'if code in self.DENIED_CODES:\n                raise AccessDenied(text) from None',
    replace: 'if code in self.DENIED_CODES:\n                raise ConnectionError(text) from None',
    fails: [
      {
        file: 'e2e/databases',
        title: 'a prepared database, at first with a wrong password',
        message: 'AppSite/prepared says DatabaseAccessDenied',
        run: 3,
      },
    ],
    fast: [],
  },
  {
    name: 'not-checked',
    item: 'databases',
    breaks: 'an existing database is not checked',
    file: 'jobs/site_init/site_creation.py',
    find: '        if database.exists():\n',
    replace: '        if database.exists() and not settings.owner:\n',
    fails: [
      {
        file: 'e2e/databases',
        title: 'MariaDB: a foreign database of this name does not change',
        message: 'AppSite/taken is refused',
        run: 3,
      },
      {
        file: 'e2e/databases',
        title: 'PostgreSQL: a foreign database of this name does not change',
        message: 'AppSite/squatted is refused',
        run: 3,
      },
    ],
    fast: [],
  },
  {
    name: 'lost-is-unreachable',
    item: 'databases',
    breaks: 'a lost connection is reported as one that never existed',
    file: 'jobs/site_init/site_init.py',
    find: 'or not is_connection_lost(database, error, started):\n            raise\n        message = f"{database.address}, {activity}: {error}"\n        raise JobError("DatabaseConnectionLost"',
    replace:
      'or not is_connection_lost(database, error, started):\n            raise\n        message = f"{database.address}, {activity}: {error}"\n        raise JobError("DatabaseUnreachable"',
    fails: [
      {
        file: 'e2e/databases',
        title: 'an outside server that stops while a site is created on it',
        message: 'AppSite/broken says DatabaseConnectionLost',
        run: 3,
      },
    ],
    fast: [],
  },
];

const FAULTS: readonly Mutation[] = [
  {
    name: 'killed-worker',
    item: 'faults',
    breaks: 'SIGTERM kills a worker at once',
    file: 'jobs/shell/worker.sh',
    find: 'kill -TERM "$worker" 2>/dev/null',
    replace: 'kill -KILL "$worker" 2>/dev/null',
    fails: [
      {
        file: 'e2e/faults',
        title: 'a worker that is stopped finishes its job',
        message: 'the job long job of … to be done once… stored 0 times',
        run: 4,
      },
    ],
    fast: [],
  },
  {
    name: 'forgetful-queue',
    item: 'faults',
    breaks: "Redis' queue without its append-only file",
    file: 'jobs/shell/redis.sh',
    find: "echo 'appendonly yes'",
    replace: "echo 'appendonly no'",
    fails: [
      {
        file: 'e2e/faults',
        title: REDIS_RESTART,
        message: 'not within 120 s: the queue to be written',
        run: 6,
      },
    ],
    fast: [],
  },
  {
    name: 'fixed-claims',
    item: 'faults',
    breaks: 'claims keep their size',
    file: 'runner/apply/applier.ts',
    find: 'if (!live || live.deleting) return false;',
    replace:
      "if (!live || live.deleting) return false;\n    if (planned.kind.kind === 'PersistentVolumeClaim') return true;",
    fails: [
      {
        file: 'e2e/volumes',
        title: 'of the sites: files are refused, requests are not, and the spec gives it more room',
        message: 'not within 120 s: PersistentVolumeClaim/bench-sites has grown',
        run: 4,
      },
    ],
    fast: [],
  },
];

const CHANGE: readonly Mutation[] = [
  {
    name: 'never-paused',
    item: 'change',
    breaks: '`paused` is ignored',
    file: 'runner/reconcile/reconciler.ts',
    find: 'if (isPaused(resource)) {',
    replace: "if (isPaused(resource) && resource.metadata.name === '') {",
    fails: [
      {
        file: CHANGES,
        title: 'a paused bench does not change, and continues when it is resumed',
        message: 'not within 120 s: AppBench/bench is paused',
        run: 2,
      },
    ],
    fast: [],
  },
  {
    name: 'no-pre-stop',
    item: 'change',
    breaks: 'gunicorn without its `preStop`',
    file: 'constructs/frappe/gunicorn.ts',
    find: "        lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },\n",
    replace: '',
    fails: [{ file: CHANGES, title: BY_HAND, message: LOST, run: 4 }],
    fast: [],
  },
  {
    name: 'stops-first',
    item: 'change',
    breaks: 'a pod stops before the next is ready',
    file: 'constructs/frappe/workload.ts',
    find: 'maxUnavailable: 0,\n                  maxSurge: 1,',
    replace: 'maxUnavailable: 1,\n                  maxSurge: 0,',
    fails: [{ file: CHANGES, title: BY_HAND, message: LOST, run: 5 }],
    fast: [],
  },
  {
    name: 'no-resources',
    item: 'change',
    breaks: 'resources of gunicorn are not passed on',
    file: 'constructs/frappe/gunicorn.ts',
    find: '        resources: props.resources ?? gunicornRequests(settings, bench.image),\n',
    replace: '',
    fails: [
      {
        file: CHANGES,
        title: 'resources reach the pods',
        message: 'bench-gunicorn to have 1 pods as wanted… 1 pods, 0 as wanted',
        run: 3,
      },
    ],
    fast: [],
  },
  {
    name: 'same-password',
    item: 'change',
    breaks: "a change of the administrator's Secret runs no Job",
    file: 'constructs/kinds/site/init-job.ts',
    find: "    data.adminPassword ?? 'kept',\n",
    replace: '',
    fails: [
      {
        file: CHANGES,
        title: "another password in the administrator's Secret is the site's",
        message: 'login gets 401',
        run: 3,
      },
    ],
    fast: [],
  },
  {
    name: 'no-apps',
    item: 'change',
    breaks: 'the init Job gets no list of apps',
    file: 'constructs/kinds/site/init-job.ts',
    find: 'JSON.stringify(inputs.apps)',
    replace: 'JSON.stringify([])',
    fails: [
      {
        file: CHANGES,
        title: 'a longer list of apps is installed on the sites',
        message: 'not within 90 s: the app on both sites',
        run: 3,
      },
    ],
    fast: [],
  },
  {
    name: 'always-open',
    item: 'change',
    breaks: 'the check that a site is open for an image is removed',
    file: 'jobs/common/site_access.py',
    find: 'return closed_reason(marker_of(site, sites) or {}, image) is not None',
    replace: 'return False',
    fails: [
      { file: 'e2e/upgrade', title: DOWNGRADE, message: 'The site is being updated', run: 3 },
    ],
    fast: [],
  },
  {
    name: 'empty-backup',
    item: 'change',
    breaks: 'the backup of an upgrade has no content',
    file: 'jobs/upgrade/site_upgrade.py',
    find: 'self.database.dump(file)',
    replace: 'file.write(b"")',
    fails: [{ file: 'e2e/upgrade', title: UPGRADE, message: 'the backup has the data', run: 3 }],
    fast: [],
  },
];

const REMOVAL: readonly Mutation[] = [
  {
    name: 'never-skipped',
    item: 'removal',
    breaks: '`skip-drop` is ignored',
    file: 'constructs/kit/annotations.ts',
    find: "[metadataKeysOf(resource).skipDrop] === 'true'",
    replace: "[metadataKeysOf(resource).skipDrop] === ''",
    fails: [
      {
        file: 'e2e/removal',
        title: 'a drop that cannot work reports it, and can be skipped',
        message:
          'not within 60 s: AppSite/stuck is deleted… Ready=False Deleting: waiting for Job stuck-drop',
        run: 1,
      },
    ],
    fast: [],
  },
  {
    name: 'not-dropped',
    item: 'removal',
    breaks: 'the drop Job leaves the database',
    file: 'jobs/site_drop/site_drop.py',
    find: '        database.drop()\n',
    replace: '        database.check_login()\n',
    fails: [
      {
        file: 'e2e/removal',
        title:
          'sites: one is retained and adopted, one is deleted with its data; then the same with the bench',
        message: "+ 's_deleted_…', + 'user s_deleted_…', + 'right s…_deleted…'",
        run: 1,
      },
    ],
    fast: [],
  },
  {
    name: 'not-retained',
    item: 'removal',
    breaks: 'volumes have no label `retain`',
    file: 'constructs/frappe/volume.ts',
    find: 'dataLabels(owner, component)',
    replace: "name === '' ? dataLabels(owner, component) : {}",
    fails: [
      {
        file: 'e2e/removal',
        title: 'a dedicated server: kept with its site, and deleted with it',
        message:
          'not within 240 s: AppSite/own is deleted… waiting for PersistentVolumeClaim own-db-data to be deleted',
        run: 1,
      },
    ],
    fast: [],
  },
];

const SUITE: readonly Mutation[] = [
  {
    name: 'not-skipped',
    item: 'the suite',
    breaks: 'one file without the option `skip`',
    file: 'test/e2e/serving.test.ts',
    find: "suite('a bench and its sites serve requests', { skip },",
    replace: "suite('a bench and its sites serve requests', { skip: skip === '' },",
    fails: [
      {
        file: 'testbed/node/without-root',
        title: 'are skipped with the reason, and end well',
        message: '# fail',
      },
    ],
    fast: [],
  },
  {
    name: 'resets-are-fine',
    item: 'the suite',
    breaks: 'a reset connection does not count as a lost request',
    file: 'test/support/http.ts',
    find: "if (outcome !== '200')",
    replace: "if (outcome !== '200' && outcome !== 'ECONNRESET')",
    fails: [
      {
        file: 'process/load',
        title: 'counts as lost what a new connection has not answered',
        message: 'ECONNRESET',
      },
    ],
    fast: [],
  },
];

export const MUTATIONS: readonly Mutation[] = [
  ...SERVING,
  ...ISOLATION,
  ...DATABASES,
  ...FAULTS,
  ...CHANGE,
  ...REMOVAL,
  ...SUITE,
];
