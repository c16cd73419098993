import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { sitesOfBench } from '../../constructs/frappe/indexes.js';
import { Waiting } from '../../constructs/kit/errors.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { Deployment } from '../../constructs/kit/object-kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { isolated, type Stage } from '../../runner/cache/isolation.js';
import { ResourceStore } from '../../runner/cache/store.js';
import { isStatusLost, unsoundStatusOf } from '../../runner/cache/usable.js';

const DEEP = 4_600;

function nested(levels: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

const SITE = DEFINITIONS.find(({ kind }) => kind === 'AppSite') ?? assert.fail();
const JOB = DEFINITIONS.find(({ kind }) => kind === 'SiteJob') ?? assert.fail();

let versions = 0;
const aResource = (kind: string, name: string, rest: object, generation = 1): KubeObject => ({
  apiVersion: 'app-operator.io/v1alpha1',
  kind,
  metadata: {
    ...{ name, namespace: 'a', uid: `uid-${name}`, generation },
    resourceVersion: String(++versions),
  },
  ...rest,
});
const aSite = (name: string, spec: unknown, status?: unknown, generation = 1): KubeObject =>
  aResource('AppSite', name, { spec, ...(status === undefined ? {} : { status }) }, generation);

/** The caches of sites, and what was reported of unusable ones. */
function caches() {
  const reports: string[] = [];
  const enqueued: string[] = [];
  const onUnusable = (kind: string, key: string, stage: Stage): void =>
    void reports.push(`${kind} ${key} ${stage}`);
  const dependencies = new DependencyTracker({
    ...{ settings: DEFAULT_SETTINGS, indexes: [sitesOfBench], now: () => 0, onUnusable },
    enqueue: (dependent) => void enqueued.push(dependent),
  });
  const storeOf = (definition: typeof SITE) =>
    new ResourceStore({
      ...{ definition, onUnusable, onCount: () => undefined, enqueue: () => undefined },
      onChange: (key, object) => dependencies.update(definition.kind, key, object),
    });
  const store = storeOf(SITE);
  const sink = isolated('AppSite', store, onUnusable);
  const { reader } = dependencies.track('test/a/b');
  const sitesOf = (bench: string) =>
    reader.list(sitesOfBench, `a/${bench}`, ({ metadata }) => metadata.name);
  const stored = (name: string) =>
    dependencies.objects('AppSite').get(`a/${name}`) as Resource<Record<string, unknown>>;
  return { sink, store, storeOf, stored, dependencies, reader, reports, enqueued, sitesOf };
}

const GOOD = { benchRef: { name: 'b' }, siteName: 'a.example.com' };

describe('a cache of resources', () => {
  test('takes in all objects of a list, whatever one of them is', async () => {
    const { sink, sitesOf, reports } = caches();
    const odd = [null, 5, {}, { metadata: null }, { metadata: { name: 7 } }] as never[];
    const lists = [
      aSite('first', GOOD),
      ...odd,
      aSite('no-bench', { siteName: 'x' }),
      aSite('text', 'text'),
      aSite('nothing', undefined),
      aSite('deep', { ...GOOD, podTemplate: { affinity: nested(DEEP) } }),
      aSite('last', GOOD, ['no', 'status']),
    ];
    await sink.replace(lists, '100');
    assert.deepEqual(sitesOf('b'), ['deep', 'first', 'last']);
    assert.equal(reports.filter((report) => report === 'AppSite / parse').length, odd.length);
    assert.deepEqual(reports.filter((report) => report !== 'AppSite / parse').sort(), [
      'AppSite a/deep parse',
      'AppSite a/last parse',
      'AppSite a/no-bench index',
      'AppSite a/nothing index',
      'AppSite a/text index',
    ]);
  });

  test('takes in changes of an object that is too deep, and its deletion', () => {
    const { sink, sitesOf, stored } = caches();
    const deep = { ...GOOD, podTemplate: { affinity: nested(DEEP) } };
    for (let change = 1; change < 4; change++) sink.upsert(aSite('deep', deep, undefined, change));
    assert.deepEqual(sitesOf('b'), ['deep']);
    assert.ok(JSON.stringify(stored('deep')).length < 2_000, 'it is cut');
    sink.remove(aSite('deep', deep));
    assert.deepEqual(sitesOf('b'), []);
  });

  test('keeps an object where it was found last when its values cannot be computed', () => {
    const { sink, sitesOf } = caches();
    sink.upsert(aSite('s', GOOD, undefined, 1));
    sink.upsert(aSite('s', { siteName: 'x' }, undefined, 2));
    assert.deepEqual(sitesOf('b'), ['s'], 'a bench is not deleted while a site may be on it');
    sink.upsert(aSite('s', { ...GOOD, benchRef: { name: 'c' } }, undefined, 3));
    assert.deepEqual([sitesOf('b'), sitesOf('c')], [[], ['s']]);
  });

  test('lets a reader wait for an object that cannot be read, and skips it in a list', async () => {
    const { sink, reader, sitesOf } = caches();
    await sink.replace([aSite('good', GOOD), aSite('bad', { benchRef: { name: 'b' } })], '100');
    const pick = ({ spec }: Resource<{ siteName: string }>) => spec.siteName.toLowerCase();
    assert.equal(reader.get('AppSite', 'a', 'good', pick), 'a.example.com');
    assert.throws(
      () => reader.get('AppSite', 'a', 'bad', pick),
      (error) => error instanceof Waiting && error.reason === 'Unreadable',
    );
    const picked = reader.list(sitesOfBench, 'a/b', pick);
    assert.deepEqual(picked, ['a.example.com']);
    assert.deepEqual(sitesOf('b'), ['bad', 'good']);
  });

  test('shows the fields of a status that fit the schema, and remembers the others', () => {
    const { sink, stored } = caches();
    sink.upsert(aSite('s', GOOD, { phase: 'Ready', conditions: 'none', replicas: 2 }));
    assert.deepEqual(stored('s').status, { phase: 'Ready', replicas: 2 });
    assert.equal(unsoundStatusOf(stored('s')), undefined, 'the operator overwrites conditions');
    sink.upsert(aSite('s', GOOD, { phase: 'Ready', upgrade: 'text' }));
    const [problem] = unsoundStatusOf(stored('s'))?.problems ?? [];
    assert.equal(problem?.path, 'status.upgrade');
    assert.equal(isStatusLost(stored('s')), false);
    sink.upsert(aSite('s', GOOD, ['list']));
    assert.equal(isStatusLost(stored('s')), true);
    sink.upsert(aSite('s', GOOD, { phase: 'Ready' }));
    assert.equal(unsoundStatusOf(stored('s')), undefined);
  });

  test('fills in the defaults that an old CRD lacks', () => {
    const { storeOf, dependencies } = caches();
    const spec = { siteRef: { name: 's' }, command: ['x'] };
    storeOf(JOB).upsert(aResource('SiteJob', 'j', { spec }));
    const job = dependencies.objects('SiteJob').get('a/j') as Resource<Record<string, unknown>>;
    assert.deepEqual(job.spec['siteRef'], { name: 's' });
    assert.ok(Object.keys(job.spec).length > 2);
  });
});

describe('a cache of children', () => {
  test('records an object that is too deep as failed, and reports it', () => {
    const reports: string[] = [];
    const owners: string[] = [];
    const children = new ChildCache(
      metadataKeysFor('app-operator.io'),
      (owner) => void owners.push(owner),
      (kind, key, stage) => void reports.push(`${kind} ${key} ${stage}`),
    );
    const owner = { apiVersion: 'app-operator.io/v1alpha1', kind: 'AppSite', name: 's', uid: 'u' };
    const metadata = {
      ...{ name: 'x', namespace: 'a', uid: 'x', resourceVersion: '1' },
      ownerReferences: [{ ...owner, controller: true }],
    };
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata };
    children.sink(Deployment, () => true).upsert({ ...object, status: nested(DEEP) } as KubeObject);
    const [child] = children.of('AppSite/a/s');
    assert.equal(child?.health.reason, 'Unreadable');
    assert.match(child.health.message, /nests more than 96 levels deep/);
    assert.deepEqual(reports, ['Deployment a/x parse']);
    assert.deepEqual(owners, ['AppSite/a/s']);
  });

  test('forgets a thousand of them in turns of the event loop', async () => {
    const children = new ChildCache(metadataKeysFor('app-operator.io'), () => undefined);
    const { upsert } = children.sink(Deployment, () => true);
    for (let i = 0; i < 1_000; i++) {
      const metadata = { name: `x${i}`, namespace: 'a', uid: `x${i}`, resourceVersion: '1' };
      upsert({ apiVersion: 'apps/v1', kind: 'Deployment', metadata });
    }
    const cleared = children.clear();
    let turns = 0;
    for (; children.size > 0; turns++) await setImmediate();
    await cleared;
    assert.ok(turns >= 5, `turns: ${turns}`);
  });
});
