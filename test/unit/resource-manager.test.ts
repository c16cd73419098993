import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { PostgresRole } from '../../constructs/integrations/cloudnative-pg/kinds.js';
import { ScaledObject } from '../../constructs/integrations/keda/kinds.js';
import { MariaDbDatabase } from '../../constructs/integrations/mariadb-operator/kinds.js';
import {
  Deployment,
  Job,
  PersistentVolumeClaim,
  Secret,
  StatefulSet,
} from '../../constructs/kit/object-kind.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { ApiError } from '../../runner/api/api-error.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { childId } from '../../runner/cache/child.js';
import type { Plan } from '../../runner/plan/plan.js';
import { Applier } from '../../runner/apply/applier.js';
import { ResourceManager } from '../../runner/apply/resource-manager.js';
import { FakeApi } from './fake-api.js';
import { aPlan, BENCH, METADATA_KEYS, type Wanted } from './plan-builder.js';

const OWNER = { resource: BENCH, key: 'AppBench/n/b' };
const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [METADATA_KEYS.owner]: 'AppBench.b' };
const SCALER: Wanted = { kind: 'ScaledObject', name: 'scaler', labels, spec: {} };
const WORKERS: Wanted = { kind: 'Deployment', name: 'workers', labels, spec: {} };
const AFTER: Wanted = { kind: 'ConfigMap', name: 'after', labels, data: {} };

let api: FakeApi;
let children: ChildCache;
let resourceManager: ResourceManager;
/** How often the resource was read. */
let reads: number;
beforeEach(() => {
  api = new FakeApi();
  reads = 0;
  children = new ChildCache(METADATA_KEYS, () => undefined);
  const applier = new Applier({
    client: api,
    children,
    metadataKeys: METADATA_KEYS,
    isCurrent: () => Promise.resolve(++reads > 0),
    onApiGone: () => undefined,
  });
  resourceManager = new ResourceManager({ children, applier, now: () => 0 });
});

/** A child of the resource that is there, as the watch brings it. */
function addChild(
  kind: ObjectKind,
  name: string,
  deletionTimestamp?: string,
  more: Pick<KubeObject['metadata'], 'labels' | 'annotations'> = {},
): void {
  const object = api.put({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name,
      namespace: 'n',
      ...more,
      labels: { ...labels, ...more.labels },
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ownerReferences: [
        { apiVersion: BENCH.apiVersion, kind: BENCH.kind, name: 'b', uid: 'u-1', controller: true },
      ],
    },
  });
  children.sink(kind, () => true).upsert(object);
}
const LONG_AGO = '2026-01-01T00:00:00Z';

describe('a wanted child that is being deleted', () => {
  test('blocks nothing if it is optional: it may be stuck permanently', async () => {
    addChild(ScaledObject, 'scaler', LONG_AGO);
    const { complete } = await resourceManager.apply(BENCH, aPlan([[SCALER], [AFTER]]));
    assert.equal(complete, true);
    assert.deepEqual(api.calls, ['APPLY after']);
  });

  test('is awaited if it is required', async () => {
    addChild(Deployment, 'workers', LONG_AGO);
    const { complete } = await resourceManager.apply(BENCH, aPlan([[WORKERS], [AFTER]]));
    assert.equal(complete, false);
    assert.deepEqual(api.calls, []);
  });
});

describe('before a Job is created', () => {
  const holder = { id: childId(Secret, 'n', 'key'), kind: Secret, namespace: 'n', name: 'key' };
  const key: Wanted = { kind: 'Secret', name: 'key', labels, data: {} };
  const init: Wanted = {
    ...{ kind: 'Job', name: 'init', labels, spec: {} },
    annotations: { [METADATA_KEYS.run]: 'r1' },
  };
  const plan = (): Plan => ({ ...aPlan([[key], [init]]), holder, owner: 'u-1' });
  const hasKey = async (): Promise<void> => {
    await resourceManager.apply(BENCH, aPlan([[key]]));
    api.calls.length = 0;
  };

  test('the resource and the record of earlier Jobs are read', async () => {
    await hasKey();
    await resourceManager.apply(BENCH, plan());
    assert.deepEqual([reads, api.calls], [1, ['GET key', 'APPLY init']]);
  });

  test('the resource is not read where the same reconcile has written it', async () => {
    await hasKey();
    await resourceManager.apply(BENCH, plan(), true);
    assert.deepEqual([reads, api.calls], [0, ['GET key', 'APPLY init']]);
  });

  test('the record is not read where the same reconcile has created its object', async () => {
    await resourceManager.apply(BENCH, plan());
    assert.deepEqual([reads, api.calls], [1, ['APPLY key', 'APPLY init']]);
  });
});

describe('an advisory stage', () => {
  const aJob = (name: string): Wanted => ({
    ...{ kind: 'Job', name, labels, spec: {} },
    annotations: { [METADATA_KEYS.run]: 'r1' },
  });
  const failed = (name: string): void => {
    const conditions = [{ type: 'Failed', status: 'True' }];
    const job = { ...api.the(name), status: { conditions } };
    children.sink(Job, () => true).upsert(api.put(job));
  };
  /** Init, an advisory stage, and workloads. */
  const plan = (more: Partial<Plan['stages'][number]> = {}): Plan => {
    const made = aPlan([[aJob('init')], [aJob('configuration')], [AFTER]]);
    const [init, configuration, workloads] = made.stages;
    if (!init || !configuration || !workloads) throw new Error('three stages');
    const advised = configuration.children.map((child) => ({ ...child, advisory: true }));
    return {
      ...made,
      stages: [
        { ...init, waitForReady: more.afterFailure !== undefined },
        { ...configuration, advisory: true, children: advised, ...more },
        workloads,
      ],
    };
  };

  test('keeps no later stage from being applied', async () => {
    const { complete } = await resourceManager.apply(BENCH, plan());
    assert.deepEqual([complete, api.calls], [true, ['APPLY init', 'APPLY configuration', 'APPLY after']]); // prettier-ignore
  });
  test('keeps none while it is blocked, either', async () => {
    const { complete } = await resourceManager.apply(BENCH, plan({ blockedReason: 'not now' }));
    assert.deepEqual([complete, api.calls], [true, ['APPLY init', 'APPLY after']]);
  });
  test('is no part of the hash of what was applied', async () => {
    await resourceManager.apply(BENCH, plan());
    const before = resourceManager.digest(plan());
    failed('configuration');
    assert.equal(resourceManager.digest(plan()), before);
    const without = { ...plan(), stages: plan().stages.filter(({ advisory }) => !advisory) };
    assert.equal(resourceManager.digest(without), before);
  });
  for (const [afterFailure, calls] of [
    [true, ['APPLY init', 'APPLY configuration']],
    [false, ['APPLY init']],
  ] as const) {
    // prettier-ignore
    test(`${afterFailure ? 'is' : 'is not'} applied after a Job that has failed`, async () => {
      await resourceManager.apply(BENCH, plan({ afterFailure }));
      assert.deepEqual(api.calls, ['APPLY init'], 'while the Job runs it waits');
      failed('init');
      const { complete } = await resourceManager.apply(BENCH, plan({ afterFailure }));
      assert.deepEqual([complete, api.calls], [false, calls]);
    });
  }
});

describe('a Job that succeeds while its stage is applied', () => {
  const JOB: Wanted = {
    kind: 'Job',
    name: 'migrate',
    labels,
    annotations: { [METADATA_KEYS.run]: 'r1' },
    spec: {},
  };
  const OTHER: Wanted = { kind: 'ConfigMap', name: 'other', labels, data: {} };
  const holder = {
    id: childId(Secret, 'n', 'key'),
    kind: Secret,
    namespace: 'n',
    name: 'key',
  };
  const recorded = (...stages: readonly (readonly Wanted[])[]): Plan => ({
    ...aPlan(stages),
    holder,
  });

  const succeed = (): void => {
    const conditions = [{ type: 'Complete', status: 'True' }];
    const succeeded = { ...api.the('migrate'), status: { succeeded: 1, conditions } };
    children.sink(Job, () => true).upsert(api.put(succeeded));
  };

  test('is recorded before the next stage is applied', async () => {
    addChild(Secret, 'key');
    await resourceManager.apply(BENCH, recorded([JOB], [AFTER]));
    assert.deepEqual(api.calls, ['GET key', 'APPLY migrate']);
    const apply = api.apply.bind(api);
    api.apply = async <T>(path: string, object: unknown): Promise<T> => {
      if (path.endsWith('/other')) succeed();
      return apply<T>(path, object);
    };
    api.calls.length = 0;
    const { complete } = await resourceManager.apply(BENCH, recorded([JOB, OTHER], [AFTER]));
    assert.equal(complete, true);
    assert.deepEqual(api.calls, ['APPLY other', 'PATCH key', 'APPLY after']);
    const runs = api.the('key').metadata.annotations?.[METADATA_KEYS.completedRuns];
    assert.equal(runs, '{"migrate":"r1"}');
  });
});

describe('a finished Job that is deleted', () => {
  const NOW = Date.parse('2026-01-01T01:00:00Z');
  const holder = { id: childId(Secret, 'n', 'key'), kind: Secret, namespace: 'n', name: 'key' };
  const aJob = (annotations: Record<string, string> = {}): Wanted => ({
    ...{ kind: 'Job', name: 'init', labels, spec: {} },
    annotations: { [METADATA_KEYS.run]: 'r1', ...annotations },
  });
  const watch = (): ReturnType<ChildCache['sink']> => children.sink(Job, () => true);

  /** Runs the Job to its end, with fields that others set. */
  async function ended(plan: Plan, more: Pick<KubeObject, never> & object = {}): Promise<void> {
    addChild(Secret, 'key');
    await resourceManager.apply(BENCH, plan);
    const job = api.the('init');
    const status = {
      conditions: [{ type: 'Complete', status: 'True' }],
      completionTime: '2026-01-01T00:00:00Z',
    };
    watch().upsert(api.put({ ...job, status, ...more } as KubeObject));
    await resourceManager.apply(BENCH, plan);
  }

  /** Deletes the Job as another client, and applies the plan again. */
  async function deleted(plan: Plan, more: Partial<KubeObject['metadata']> = {}): Promise<boolean> {
    await api.request('DELETE', '/init');
    const last = api.deleted('init');
    watch().remove({ ...last, metadata: { ...last.metadata, ...more } });
    await resourceManager.apply(BENCH, plan);
    return api.objects.has('init');
  }

  beforeEach(() => {
    children = new ChildCache(METADATA_KEYS, () => undefined, undefined, { now: () => NOW });
    const applier = new Applier({
      ...{ client: api, children, metadataKeys: METADATA_KEYS },
      onApiGone: () => undefined,
    });
    resourceManager = new ResourceManager({ children, applier, now: () => NOW });
  });
  const planned = (annotations?: Record<string, string>): Plan => ({
    ...aPlan([[aJob(annotations)]]),
    ...{ holder, owner: 'u-1' },
  });

  test('by a user runs again, once', async () => {
    const plan = planned();
    await ended(plan);
    assert.equal(await deleted(plan), true);
    api.calls.length = 0;
    watch().upsert(api.the('init'));
    await resourceManager.apply(BENCH, plan);
    assert.deepEqual(api.calls, []);
  });

  test('by a user long before its TTL runs again', async () => {
    const plan = planned();
    await ended(plan, { spec: { ttlSecondsAfterFinished: 7_200 } });
    assert.equal(await deleted(plan), true);
  });

  for (const [when, more] of [
    ['its TTL has passed', {}],
    [
      'the API server has set the time of its deletion',
      { deletionTimestamp: '2026-01-01T00:00:05Z' },
    ],
  ] as const) {
    test(`by its TTL runs no more: ${when}`, async () => {
      const plan = planned();
      await ended(plan, { spec: { ttlSecondsAfterFinished: 5 } });
      assert.equal(await deleted(plan, more), false);
    });
  }

  test('by the operator runs no more', async () => {
    const plan = planned();
    await ended(plan);
    await resourceManager.pruner.deleteUnwanted(OWNER, aPlan([]));
    assert.equal(await deleted(plan).catch(() => api.objects.has('init')), false);
  });

  test('by a user runs no more where it runs once', async () => {
    const plan = { ...planned({ [METADATA_KEYS.once]: 'true' }), holder: undefined };
    await ended(plan);
    assert.equal(await deleted(plan), false);
  });

  test('while no operator ran runs no more', async () => {
    const plan = planned();
    await ended(plan);
    const record = api.the('key');
    await api.request('DELETE', '/init');
    children = new ChildCache(METADATA_KEYS, () => undefined);
    children.sink(Secret, () => true).upsert(record);
    const applier = new Applier({
      ...{ client: api, children, metadataKeys: METADATA_KEYS },
      onApiGone: () => undefined,
    });
    await new ResourceManager({ children, applier, now: () => NOW }).apply(BENCH, plan);
    assert.equal(api.objects.has('init'), false);
  });
});

describe('what is no longer wanted under Delete', () => {
  const MARKED = { [METADATA_KEYS.retain]: 'false' };
  beforeEach(() => {
    addChild(StatefulSet, 'db', undefined, { labels: MARKED });
    addChild(Secret, 'db-root', undefined, { labels: MARKED });
    addChild(PersistentVolumeClaim, 'unmarked');
    addChild(StatefulSet, 'redis');
  });
  const namesOf = (changes: readonly { readonly name: string }[]): readonly string[] =>
    changes.map(({ name }) => name).sort();

  test('is deleted, except for data, which may have no other copy', async () => {
    const pruned = await resourceManager.pruner.prune(OWNER, aPlan([]));
    assert.deepEqual(namesOf(pruned), ['redis']);
    assert.deepEqual(api.calls, ['DELETE redis']);
  });

  test('is not reported as deleted where another object has its name by now', async () => {
    api.fail = new ApiError(409, 'Conflict', {}, 'the uid in the precondition is another one');
    const pruned = await resourceManager.pruner.prune(OWNER, aPlan([]));
    assert.deepEqual(
      pruned.map(({ name, change }) => [name, change]),
      [['redis', 'skipped']],
    );
  });

  test('is deleted with its data when the resource is deleted', async () => {
    const cleared = await resourceManager.pruner.deleteUnwanted(OWNER, aPlan([]));
    assert.deepEqual(namesOf(cleared), ['db', 'db-root', 'redis', 'unmarked']);
  });
});

describe('a resource whose names another one has', () => {
  test('deletes its children, except data and objects that may belong to data', async () => {
    addChild(StatefulSet, 'db', undefined, { labels: { [METADATA_KEYS.retain]: 'false' } });
    addChild(Secret, 'unmarked', undefined, { annotations: { [METADATA_KEYS.generate]: '{}' } });
    addChild(PersistentVolumeClaim, 'unmarked');
    addChild(Deployment, 'workers');
    await resourceManager.pruner.dropForNewOwner(OWNER);
    assert.deepEqual(api.calls, ['DELETE workers']);
  });
});

describe('what is deleted last', () => {
  const pruned = async (): Promise<readonly string[]> =>
    (await resourceManager.pruner.deleteUnwanted(OWNER, aPlan([]))).map(({ name }) => name);

  test('stays while others are deleted', async () => {
    addChild(PostgresRole, 'role');
    addChild(Deployment, 'workers', LONG_AGO);
    assert.deepEqual(await pruned(), []);
  });

  test('is deleted although an optional child is stuck', async () => {
    addChild(PostgresRole, 'role');
    addChild(ScaledObject, 'scaler', LONG_AGO);
    assert.deepEqual(await pruned(), ['role']);
  });
});

describe('data that a resource leaves', () => {
  const MARKED = { [METADATA_KEYS.retain]: 'false' };
  const SECRET = { [METADATA_KEYS.generate]: '{}' };
  const kept = async (...wanted: readonly Wanted[]): Promise<readonly string[]> =>
    (await resourceManager.pruner.retain(OWNER, aPlan([wanted]))).map(({ name }) => name);

  test('is what has the retain label; it has no owner afterwards, and is not deleted', async () => {
    addChild(StatefulSet, 'db', undefined, { labels: MARKED });
    addChild(StatefulSet, 'redis');
    addChild(Secret, 'redis-auth', undefined, { annotations: SECRET });
    assert.deepEqual(await kept(), ['db']);
    const { metadata } = api.the('db');
    assert.deepEqual(
      [metadata.ownerReferences, metadata.labels?.[METADATA_KEYS.retain]],
      [null, 'true'],
    );
    assert.deepEqual(await kept(), [], 'once');
    const pruned = await resourceManager.pruner.deleteUnwanted(OWNER, aPlan([]));
    assert.deepEqual(pruned.map(({ name }) => name).sort(), ['redis', 'redis-auth']);
  });

  test('is what can be data, where an older release marked nothing', async () => {
    addChild(PersistentVolumeClaim, 'files');
    addChild(Secret, 'password', undefined, { annotations: SECRET });
    addChild(MariaDbDatabase, 'database');
    addChild(Secret, 'plain');
    addChild(Deployment, 'workers');
    assert.deepEqual([...(await kept())].sort(), ['database', 'files', 'password']);
    const body = api.bodies.find((patch) => 'spec' in patch);
    assert.deepEqual((body as { spec?: unknown } | undefined)?.spec, { cleanupPolicy: 'Skip' });
  });

  test('is no object that is still wanted: applying finds that', async () => {
    addChild(Secret, 'password', undefined, { labels: MARKED, annotations: SECRET });
    assert.deepEqual(await kept({ kind: 'Secret', name: 'password' }), []);
  });

  test('is not taken for kept if the API server did not confirm it', async () => {
    addChild(PersistentVolumeClaim, 'files');
    api.fail = new ApiError(409, 'Conflict', {}, 'another one is there');
    await assert.rejects(kept());
    api.fail = new ApiError(404, 'NotFound', {}, 'gone');
    assert.deepEqual(await kept(), ['files']);
  });
});
