import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { sitesOfBench } from '../../constructs/frappe/indexes.js';
import { Waiting } from '../../constructs/kit/errors.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { Deployment } from '../../constructs/kit/object-kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { problemsOf } from '../../runner/cache/checked.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { isolated, type Stage } from '../../runner/cache/invalid-objects.js';
import { ResourceStore } from '../../runner/cache/store.js';

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

/** The caches of sites, and what was reported of invalid ones. */
function caches() {
  const reports: string[] = [];
  const enqueued: string[] = [];
  const onInvalid = (kind: string, key: string, stage: Stage): void =>
    void reports.push(`${kind} ${key} ${stage}`);
  const dependencies = new DependencyTracker({
    ...{ settings: DEFAULT_SETTINGS, indexes: [sitesOfBench], now: () => 0, onInvalid },
    enqueue: (dependent) => void enqueued.push(dependent),
  });
  const storeOf = (definition: typeof SITE) =>
    new ResourceStore({
      ...{ definition, onInvalid, onCount: () => undefined, enqueue: () => undefined },
      onChange: (key, object) => dependencies.update(definition.kind, key, object),
    });
  const store = storeOf(SITE);
  const sink = isolated('AppSite', store, onInvalid);
  const { reader } = dependencies.track('test/a/b');
  const sitesOf = (bench: string) => reader.names(sitesOfBench, `a/${bench}`);
  const stored = (name: string) =>
    dependencies.objects('AppSite').get(`a/${name}`) as Resource<Record<string, unknown>>;
  return { sink, store, storeOf, stored, dependencies, reader, reports, enqueued, sitesOf };
}

const GOOD = { benchRef: { name: 'b' }, siteName: 'a.example.com' };

describe('a cache of resources', () => {
  test('takes in all objects of a list, whatever one of them is', async () => {
    const { sink, sitesOf, reports } = caches();
    const lists = [
      aSite('first', GOOD),
      aSite('no-bench', { siteName: 'x' }),
      aSite('text', 'text'),
      aSite('nothing', undefined),
      aSite('deep', { ...GOOD, podTemplate: { affinity: nested(DEEP) } }),
      aSite('last', GOOD, ['no', 'status']),
    ];
    await sink.replace(lists, '100');
    assert.deepEqual(sitesOf('b'), ['deep', 'first', 'last']);
    assert.deepEqual(reports.sort(), [
      'AppSite a/deep parse',
      'AppSite a/no-bench index',
      'AppSite a/no-bench parse',
      'AppSite a/nothing index',
      'AppSite a/nothing parse',
      'AppSite a/text index',
      'AppSite a/text parse',
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

  test('lets a reader wait for an invalid object, and leaves it out of a list', async () => {
    const { sink, reader, sitesOf } = caches();
    const wrong = { ...GOOD, aliases: 5 };
    await sink.replace([aSite('good', GOOD), aSite('bad', wrong)], '100');
    const pick = ({ spec }: Resource<{ aliases?: readonly string[] }>) => spec.aliases ?? [];
    assert.deepEqual(reader.get('AppSite', 'a', 'good', pick), []);
    assert.throws(
      () => reader.get('AppSite', 'a', 'bad', pick),
      (error) =>
        error instanceof Waiting &&
        error.reason === 'Unreadable' &&
        /^AppSite bad: is invalid: spec\.aliases: .*; correct it$/.test(error.message),
    );
    assert.deepEqual(reader.list(sitesOfBench, 'a/b', pick), [[]]);
    assert.deepEqual(
      sitesOf('b'),
      ['bad', 'good'],
      'a bench is not deleted while it has this site',
    );
  });

  test('enqueues who left an object out when it is corrected', async () => {
    const { sink, dependencies, enqueued } = caches();
    await sink.replace([aSite('s', { ...GOOD, aliases: 5 })], '100');
    const { reader, commit } = dependencies.track('AppBench/a/b');
    const pick = ({ spec }: Resource<{ aliases?: readonly string[] }>) => spec.aliases ?? [];
    assert.deepEqual(reader.list(sitesOfBench, 'a/b', pick), []);
    commit();
    sink.upsert(aSite('s', GOOD, undefined, 2));
    assert.deepEqual(enqueued, ['AppBench/a/b']);
  });

  test('names the invalid fields of a status, and keeps them as they are stored', () => {
    const { sink, stored } = caches();
    const problems = (name: string) => problemsOf(stored(name)).map(({ path }) => path);
    sink.upsert(aSite('s', GOOD, { phase: 'Ready', conditions: 'none', newer: 2 }));
    assert.deepEqual(stored('s').status, { phase: 'Ready', newer: 2 });
    assert.deepEqual(problems('s'), [], 'the operator overwrites conditions');
    sink.upsert(aSite('s', GOOD, { phase: 'Ready', upgrade: 'text' }));
    assert.deepEqual(problems('s'), ['status.upgrade']);
    assert.deepEqual(stored('s').status, { phase: 'Ready', upgrade: 'text' });
    sink.upsert(aSite('s', GOOD, { phase: 'Ready', newer: nested(DEEP) }));
    assert.deepEqual(stored('s').status, { phase: 'Ready' });
    assert.deepEqual(problems('s'), ['status.newer']);
    sink.upsert(aSite('s', GOOD, ['list']));
    assert.deepEqual([stored('s').status, problems('s')], [undefined, []]);
    sink.upsert(aSite('s', GOOD, { phase: 'Ready' }));
    assert.deepEqual(problems('s'), []);
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
  for (const levels of [DEEP, 9_900]) {
    test(`records an object of ${levels} levels, for its owner`, () => {
      const owners: string[] = [];
      const children = new ChildCache(
        metadataKeysFor('app-operator.io'),
        (owner) => void owners.push(owner),
      );
      const owner = {
        apiVersion: 'app-operator.io/v1alpha1',
        kind: 'AppSite',
        name: 's',
        uid: 'u',
      };
      const fieldsV1 = { 'f:spec': nested(levels) };
      const metadata = {
        ...{ name: 'x', namespace: 'a', uid: 'x', resourceVersion: '1' },
        ownerReferences: [{ ...owner, controller: true }],
        managedFields: [{ manager: 'app-operator', operation: 'Apply', fieldsV1 }],
      };
      const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: nested(levels) };
      children.sink(Deployment, () => true).upsert(object as unknown as KubeObject);
      assert.equal(children.of('AppSite/a/s').length, 1);
      assert.deepEqual(owners, ['AppSite/a/s']);
    });
  }
});
