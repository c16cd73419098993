import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Certificate } from '../../constructs/integrations/cert-manager/kinds.js';
import { aReadyBench, aSecret, aSite, KEDA } from '../golden/builders.js';
import { assertSection, table } from '../support/docs-tables.js';
import { effectOf, describeEffect, type Moment } from '../golden/effects.js';

type Fields = Readonly<Record<string, unknown>>;
type Row = readonly [change: string, before: Moment, after: Moment];

const secrets = [aSecret('demo-bench-redis-auth'), aSecret('redis-urls'), aSecret('root')];
const bench = (spec: Fields = {}, rest: Partial<Moment> = {}): Moment => ({
  resource: aReadyBench({ apps: [{ name: 'erpnext' }], ...spec }),
  others: [...secrets, ...(rest.others ?? [])],
  serves: rest.serves ?? [],
});
const site = (spec: Fields = {}, benchSpec: Fields = {}, rest: Partial<Moment> = {}): Moment => ({
  resource: aSite(spec),
  others: [
    aReadyBench({ apps: [{ name: 'erpnext' }, { name: 'hrms' }], ...benchSpec }),
    ...secrets,
    aSecret('admin'),
    ...(rest.others ?? []),
  ],
  serves: rest.serves ?? [],
});
const short = { workerAutoscaling: { short: { enabled: true } } };
const tls = { ingress: { enabled: true, tls: { enabled: true, certManagerIssuer: 'ca' } } };
const newer = {
  ...aSecret('admin'),
  metadata: { ...aSecret('admin').metadata, resourceVersion: '2' },
};

const demoBench = bench();
const demoSite = site();

const BENCH: readonly Row[] = [
  ['`image.tag` or `frameworkVersion`', demoBench, bench({ image: { tag: 'v15.45.0' } })],
  ['`apps` or `appsJSON`', demoBench, bench({ apps: [{ name: 'erpnext' }, { name: 'hrms' }] })],
  ['`componentReplicas.gunicorn` 1 → 3', demoBench, bench({ componentReplicas: { gunicorn: 3 } })],
  ['`webAutoscaling`', demoBench, bench({ webAutoscaling: { maxReplicas: 10 } })],
  [
    '`componentResources.gunicorn`',
    demoBench,
    bench({ componentResources: { gunicorn: { requests: { cpu: '1' } } } }),
  ],
  ['`gunicorn`', demoBench, bench({ gunicorn: { threads: 8 } })],
  ['`proxy`', demoBench, bench({ proxy: { maxBodySize: '200Mi' } })],
  [
    '`workers`, with another queue',
    demoBench,
    bench({ workers: [{ name: 'imports', queues: ['imports'] }] }),
  ],
  ['`schedulerTickIntervalSeconds`', demoBench, bench({ schedulerTickIntervalSeconds: 30 })],
  [
    '`workerAutoscaling.short.enabled`, with KEDA',
    bench({}, { serves: KEDA }),
    bench(short, { serves: KEDA }),
  ],
  [
    'KEDA comes, with `workerAutoscaling.short.enabled`',
    bench(short),
    bench(short, { serves: KEDA }),
  ],
  [
    '`redisConfig.resources`',
    demoBench,
    bench({ redisConfig: { resources: { limits: { memory: '1Gi' } } } }),
  ],
  [
    '`redisConfig.external`',
    demoBench,
    bench({ redisConfig: { external: { urlsSecretRef: { name: 'redis-urls' } } } }),
  ],
  [
    '`dbConfig.resources`',
    demoBench,
    bench({ dbConfig: { resources: { requests: { memory: '1Gi' } } } }),
  ],
  [
    '`dbConfig.mode` managed → external',
    demoBench,
    bench({ dbConfig: { mode: 'external', host: 'db', rootSecretRef: { name: 'root' } } }),
  ],
  ['`metrics.enabled` true → false', demoBench, bench({ metrics: { enabled: false } })],
  ['`storage.size`', demoBench, bench({ storage: { size: '20Gi' } })],
  [
    '`security.podSecurityContext`',
    demoBench,
    bench({ security: { podSecurityContext: { runAsUser: 1000 } } }),
  ],
  ['`podTemplate.labels`', demoBench, bench({ podTemplate: { labels: { a: 'b' } } })],
  [
    '`domainConfig.suffix`, with sites',
    bench({}, { others: [aSite()] }),
    bench({ domainConfig: { suffix: 'example.org' } }, { others: [aSite()] }),
  ],
  ['`deletionPolicy`', demoBench, bench({ deletionPolicy: 'Delete' })],
  ['a site comes, goes or changes its `domain`', demoBench, bench({}, { others: [aSite()] })],
];

const SITE: readonly Row[] = [
  ['`apps`', demoSite, site({ apps: [{ name: 'erpnext' }] })],
  ['`domain`', demoSite, site({ domain: 'www.example.org' })],
  ['`ingress.enabled`', demoSite, site({ ingress: { enabled: true } })],
  [
    '`ingress.tls`, with cert-manager',
    site({ ingress: { enabled: true } }, {}, { serves: [Certificate] }),
    site(tls, {}, { serves: [Certificate] }),
  ],
  ['`maintenance`', demoSite, site({ maintenance: true })],
  ['`adminPasswordSecretRef`', demoSite, site({ adminPasswordSecretRef: { name: 'admin' } })],
  [
    'the content of that Secret',
    site({ adminPasswordSecretRef: { name: 'admin' } }),
    {
      ...site({ adminPasswordSecretRef: { name: 'admin' } }),
      others: [
        ...(demoSite.others ?? []).filter(({ metadata }) => metadata.name !== 'admin'),
        newer,
      ],
    },
  ],
  ['`restoreFrom`', demoSite, site({ restoreFrom: { source: { pvc: { claimName: 'backups' } } } })],
  ['`componentReplicas.gunicorn` 1 → 2', demoSite, site({ componentReplicas: { gunicorn: 2 } })],
  [
    '`componentResources.workerLong`',
    demoSite,
    site({ componentResources: { workerLong: { requests: { memory: '1Gi' } } } }),
  ],
  ['`gunicorn`', demoSite, site({ gunicorn: { threads: 8 } })],
  ['the bench’s `gunicorn`', demoSite, site({}, { gunicorn: { threads: 8 } })],
  [
    'the bench’s `workers`, with another queue',
    demoSite,
    site({}, { workers: [{ name: 'imports', queues: ['imports'] }] }),
  ],
  ['`workloads` Dedicated → Shared', demoSite, site({ workloads: 'Shared' })],
  ['`podTemplate.labels`', demoSite, site({ podTemplate: { labels: { a: 'b' } } })],
  ['`deletionPolicy`', demoSite, site({ deletionPolicy: 'Delete' })],
  ['the bench’s `image.tag`', demoSite, site({}, { image: { tag: 'v15.45.0' } })],
  [
    'the bench’s `componentResources.gunicorn`',
    demoSite,
    site({}, { componentResources: { gunicorn: { requests: { cpu: '1' } } } }),
  ],
  ['the bench’s `webAutoscaling`', demoSite, site({}, { webAutoscaling: { maxReplicas: 10 } })],
  [
    'the bench’s `componentReplicas`',
    demoSite,
    site({}, { componentReplicas: { gunicorn: 3, workerLong: 2 } }),
  ],
  ['the bench’s `redisConfig.resources`', demoSite, site({}, { redisConfig: { resources: {} } })],
];

suite('what a change does', () => {
  const effects = (rows: readonly Row[]) =>
    table(
      ['Change', 'What happens'],
      rows.map(([change, before, after]) => [change, describeEffect(effectOf(before, after))]),
    );
  test('to a bench stands in its page', () => {
    assertSection('docs/spec/appbench.md', 'effects of changes', effects(BENCH));
  });
  test('to a site stands in its page', () => {
    assertSection('docs/spec/appsite.md', 'effects of changes', effects(SITE));
  });
});

suite('a change of a bench reaches the right children and nothing else', () => {
  const of = (before: Moment, after: Moment) => describeEffect(effectOf(before, after));
  test('resources of one component: its pods', () => {
    const after = bench({ componentResources: { gunicorn: { requests: { cpu: '1' } } } });
    assert.equal(of(demoBench, after), 'pods replaced: Deployment `-gunicorn`');
  });
  test('replicas: no pod is replaced', () => {
    const { restarted, rerun } = effectOf(demoBench, bench({ componentReplicas: { nginx: 3 } }));
    assert.deepEqual([restarted, rerun], [[], []]);
  });
  test('a site: the proxy reads new maps, and no process starts again', () => {
    assert.equal(
      of(demoBench, bench({}, { others: [aSite()] })),
      'changed in place: ConfigMap `-nginx`',
    );
  });
  test('resources of Redis and of the database: theirs alone', () => {
    const redis = bench({ redisConfig: { resources: { limits: { memory: '1Gi' } } } });
    assert.equal(of(demoBench, redis), 'pods replaced: StatefulSet `-redis`');
    const database = bench({ dbConfig: { resources: { limits: { memory: '1Gi' } } } });
    assert.equal(of(demoBench, database), 'pods replaced: StatefulSet `-db`');
  });
  test('nothing: nothing', () => {
    assert.equal(of(demoBench, demoBench), 'nothing');
  });
});

suite('a change of a site reaches the right children and nothing else', () => {
  const of = (before: Moment, after: Moment) => describeEffect(effectOf(before, after));
  test('the administrator’s password: the init Job', () => {
    const after = site({ adminPasswordSecretRef: { name: 'admin' } });
    const { rerun, restarted } = effectOf(demoSite, after);
    assert.deepEqual([rerun, restarted], [['Job `-init`'], []]);
  });
  test('maintenance: the init Job, which writes it into the configuration', () => {
    assert.equal(of(demoSite, site({ maintenance: true })), 'runs again: Job `-init`');
  });
  test('numbers of the bench’s processes: the site’s own processes, unless the site sets a number', () => {
    const more = { componentReplicas: { gunicorn: 9, nginx: 9, socketio: 9 } };
    assert.equal(
      of(demoSite, site({}, more)),
      'changed in place: Deployment `-gunicorn`; made: PodDisruptionBudget `-gunicorn`',
    );
    const own = { componentReplicas: { gunicorn: 1 } };
    assert.equal(of(site(own), site(own, more)), 'nothing');
  });
});
