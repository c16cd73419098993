import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Certificate } from '../../constructs/integrations/cert-manager/kinds.js';
import { aReadyBench, aSecret, aSite, KEDA } from '../golden/builders.js';
import { assertSection, table } from '../golden/docs.js';
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

const BENCH: readonly Row[] = [
  ['`image.tag` or `frameworkVersion`', bench(), bench({ image: { tag: 'v15.45.0' } })],
  ['`apps` or `appsJSON`', bench(), bench({ apps: [{ name: 'erpnext' }, { name: 'hrms' }] })],
  ['`componentReplicas.gunicorn` 1 → 3', bench(), bench({ componentReplicas: { gunicorn: 3 } })],
  [
    '`componentResources.gunicorn`',
    bench(),
    bench({ componentResources: { gunicorn: { requests: { cpu: '1' } } } }),
  ],
  ['`gunicorn`', bench(), bench({ gunicorn: { threads: 8 } })],
  ['`proxy`', bench(), bench({ proxy: { maxBodySize: '200Mi' } })],
  [
    '`workers`, with another queue',
    bench(),
    bench({ workers: [{ name: 'imports', queues: ['imports'] }] }),
  ],
  ['`schedulerTickIntervalSeconds`', bench(), bench({ schedulerTickIntervalSeconds: 30 })],
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
    bench(),
    bench({ redisConfig: { resources: { limits: { memory: '1Gi' } } } }),
  ],
  [
    '`redisConfig.external`',
    bench(),
    bench({ redisConfig: { external: { urlsSecretRef: { name: 'redis-urls' } } } }),
  ],
  [
    '`dbConfig.resources`',
    bench(),
    bench({ dbConfig: { resources: { requests: { memory: '1Gi' } } } }),
  ],
  [
    '`dbConfig.mode` managed → external',
    bench(),
    bench({ dbConfig: { mode: 'external', host: 'db', rootSecretRef: { name: 'root' } } }),
  ],
  ['`metrics.enabled` true → false', bench(), bench({ metrics: { enabled: false } })],
  ['`storage.size`', bench(), bench({ storage: { size: '20Gi' } })],
  [
    '`security.podSecurityContext`',
    bench(),
    bench({ security: { podSecurityContext: { runAsUser: 1000 } } }),
  ],
  ['`podTemplate.labels`', bench(), bench({ podTemplate: { labels: { a: 'b' } } })],
  [
    '`domainConfig.suffix`, with sites',
    bench({}, { others: [aSite()] }),
    bench({ domainConfig: { suffix: 'example.org' } }, { others: [aSite()] }),
  ],
  ['`deletionPolicy`', bench(), bench({ deletionPolicy: 'Delete' })],
  ['a site comes, goes or changes its `domain`', bench(), bench({}, { others: [aSite()] })],
];

const SITE: readonly Row[] = [
  ['`apps`', site(), site({ apps: [{ name: 'erpnext' }] })],
  ['`domain`', site(), site({ domain: 'www.example.org' })],
  ['`ingress.enabled`', site(), site({ ingress: { enabled: true } })],
  [
    '`ingress.tls`, with cert-manager',
    site({ ingress: { enabled: true } }, {}, { serves: [Certificate] }),
    site(tls, {}, { serves: [Certificate] }),
  ],
  ['`maintenance`', site(), site({ maintenance: true })],
  ['`adminPasswordSecretRef`', site(), site({ adminPasswordSecretRef: { name: 'admin' } })],
  [
    'the content of that Secret',
    site({ adminPasswordSecretRef: { name: 'admin' } }),
    {
      ...site({ adminPasswordSecretRef: { name: 'admin' } }),
      others: [...(site().others ?? []).filter(({ metadata }) => metadata.name !== 'admin'), newer],
    },
  ],
  ['`restoreFrom`', site(), site({ restoreFrom: { source: { pvc: { claimName: 'backups' } } } })],
  ['`componentReplicas.gunicorn` 1 → 2', site(), site({ componentReplicas: { gunicorn: 2 } })],
  [
    '`componentResources.workerLong`',
    site(),
    site({ componentResources: { workerLong: { requests: { memory: '1Gi' } } } }),
  ],
  ['`gunicorn`', site(), site({ gunicorn: { threads: 8 } })],
  ['the bench’s `gunicorn`', site(), site({}, { gunicorn: { threads: 8 } })],
  [
    'the bench’s `workers`, with another queue',
    site(),
    site({}, { workers: [{ name: 'imports', queues: ['imports'] }] }),
  ],
  ['`workloads` Dedicated → Shared', site(), site({ workloads: 'Shared' })],
  ['`podTemplate.labels`', site(), site({ podTemplate: { labels: { a: 'b' } } })],
  ['`deletionPolicy`', site(), site({ deletionPolicy: 'Delete' })],
  ['the bench’s `image.tag`', site(), site({}, { image: { tag: 'v15.45.0' } })],
  [
    'the bench’s `componentResources.gunicorn`',
    site(),
    site({}, { componentResources: { gunicorn: { requests: { cpu: '1' } } } }),
  ],
  [
    'the bench’s `componentReplicas`',
    site(),
    site({}, { componentReplicas: { gunicorn: 3, workerLong: 2 } }),
  ],
  ['the bench’s `redisConfig.resources`', site(), site({}, { redisConfig: { resources: {} } })],
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
    assert.equal(of(bench(), after), 'pods replaced: Deployment `-gunicorn`');
  });
  test('replicas: no pod is replaced', () => {
    const { restarted, rerun } = effectOf(bench(), bench({ componentReplicas: { nginx: 3 } }));
    assert.deepEqual([restarted, rerun], [[], []]);
  });
  test('a site: the proxy reads new maps, and no process starts again', () => {
    assert.equal(
      of(bench(), bench({}, { others: [aSite()] })),
      'changed in place: ConfigMap `-nginx`',
    );
  });
  test('resources of Redis and of the database: theirs alone', () => {
    const redis = bench({ redisConfig: { resources: { limits: { memory: '1Gi' } } } });
    assert.equal(of(bench(), redis), 'pods replaced: StatefulSet `-redis`');
    const database = bench({ dbConfig: { resources: { limits: { memory: '1Gi' } } } });
    assert.equal(of(bench(), database), 'pods replaced: StatefulSet `-db`');
  });
  test('nothing: nothing', () => {
    assert.equal(of(bench(), bench()), 'nothing');
  });
});

suite('a change of a site reaches the right children and nothing else', () => {
  const of = (before: Moment, after: Moment) => describeEffect(effectOf(before, after));
  test('the administrator’s password: the init Job', () => {
    const after = site({ adminPasswordSecretRef: { name: 'admin' } });
    const { rerun, restarted } = effectOf(site(), after);
    assert.deepEqual([rerun, restarted], [['Job `-init`'], []]);
  });
  test('maintenance: the init Job, which writes it into the configuration', () => {
    assert.equal(of(site(), site({ maintenance: true })), 'runs again: Job `-init`');
  });
  test('numbers of the bench’s processes: the site’s own processes, unless the site sets a number', () => {
    const more = { componentReplicas: { gunicorn: 9, nginx: 9, socketio: 9 } };
    assert.equal(
      of(site(), site({}, more)),
      'changed in place: Deployment `-gunicorn`; made: PodDisruptionBudget `-gunicorn`',
    );
    const own = { componentReplicas: { gunicorn: 1 } };
    assert.equal(of(site(own), site(own, more)), 'nothing');
  });
});
