import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import * as kinds from '../../constructs/kit/object-kind.js';
import { ApiError } from '../../runner/api/api-error.js';
import { Applier, type ChangeSetEntry } from '../../runner/apply/applier.js';
import { ResourceManager } from '../../runner/apply/resource-manager.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { FakeApi } from './fake-api.js';
import { aPlan, BENCH, METADATA_KEYS, type Wanted } from './plan-builder.js';

let api: FakeApi;
let children: ChildCache;
let applier: Applier;
beforeEach(() => {
  api = new FakeApi();
  children = new ChildCache(METADATA_KEYS, () => undefined);
  applier = new Applier({
    client: api,
    children,
    metadataKeys: METADATA_KEYS,
    onApiGone: () => undefined,
  });
});

const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [METADATA_KEYS.owner]: 'AppBench.b' };
const CONFIG: Wanted = { kind: 'ConfigMap', name: 'a', labels, data: { x: '1' } };
const SECRET: Wanted = {
  kind: 'Secret',
  name: 's',
  labels,
  annotations: { [METADATA_KEYS.generate]: '{"password":"password"}' },
};
const job = (run: string): Wanted => ({
  kind: 'Job',
  name: 'j',
  labels,
  annotations: { [METADATA_KEYS.run]: run },
  spec: { run },
});

/** Applies the one object of a tree, and returns what has become of it. */
async function apply(wanted: Wanted, resource = BENCH): Promise<ChangeSetEntry['change']> {
  const plan = aPlan([[wanted]]);
  const [planned] = plan.stages.flatMap((stage) => stage.children);
  assert.ok(planned);
  return (await applier.apply(resource, plan, planned)).change;
}

/** What the API server notes of an apply. */
function appliedEntry({ labels = {} }: Wanted) {
  const keys = Object.keys(labels).map((key) => [`f:${key}`, {}] as const);
  const owner = { [`k:${JSON.stringify({ uid: BENCH.metadata.uid })}`]: {} };
  return {
    manager: 'app-operator',
    operation: 'Apply' as const,
    fieldsV1: {
      'f:data': { 'f:x': {} },
      'f:metadata': { 'f:labels': Object.fromEntries(keys), 'f:ownerReferences': owner },
    },
  };
}

/** What the watch would bring now. */
function see(kind: kinds.ObjectKind, name: string): void {
  const sink = children.sink(kind, () => true);
  const object = api.objects.get(name);
  assert.ok(object);
  sink.upsert(object);
}

async function refusal(work: Promise<unknown>): Promise<Stalled> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof Stalled, String(error));
    return error;
  }
  return assert.fail('nothing was refused');
}

describe('a child', () => {
  test('is created if it does not exist, by a call that cannot change an existing object', async () => {
    assert.equal(await apply(CONFIG), 'created');
    assert.deepEqual(api.calls, ['APPLY a']);
    assert.equal(api.bodies[0]?.metadata.resourceVersion, '1');
  });

  test('costs no call if it is as planned, whatever the watch brings of it', async () => {
    await apply(CONFIG);
    see(kinds.ConfigMap, 'a');
    api.edit('a', (object) => ({ ...object, status: { x: 1 } }) as KubeObject);
    see(kinds.ConfigMap, 'a');
    assert.equal(await apply(CONFIG), 'unchanged');
    assert.deepEqual(api.calls, ['APPLY a']);
  });

  test('is applied again where something else is wanted, and that very object only', async () => {
    await apply(CONFIG);
    const { uid } = api.the('a').metadata;
    assert.equal(await apply({ ...CONFIG, data: { x: '2' } }), 'configured');
    assert.equal(api.bodies[1]?.metadata.uid, uid);
    assert.equal(api.bodies[1]?.metadata.resourceVersion, undefined);
  });

  test('is applied again if another client has edited the fields of the operator', async () => {
    await apply(CONFIG);
    api.edit('a', (object) => ({ ...object, data: { x: 'evil' } }) as KubeObject);
    see(kinds.ConfigMap, 'a');
    assert.equal(await apply(CONFIG), 'configured');
    assert.equal(await apply(CONFIG), 'unchanged');
  });

  test('of an API that does not answer is tried again after a while: it may have been there all the time', async () => {
    let hints = 0;
    applier = new Applier({
      client: api,
      children,
      metadataKeys: METADATA_KEYS,
      onApiGone: () => hints++,
    });
    api.fail = new ApiError(
      404,
      'NotFound',
      {},
      'the server could not find the requested resource',
    );
    await assert.rejects(apply({ kind: 'ScaledObject', name: 'a', labels }), (error) => {
      assert.ok(error instanceof Waiting);
      assert.deepEqual([error.reason, error.retryAfterMs], ['ApiGone', 5_000]);
      return true;
    });
    assert.equal(hints, 1);
  });

  test('is reported as unchanged if applying it has changed nothing', async () => {
    await apply(CONFIG);
    // After a start nothing is known of what was applied before.
    children = new ChildCache(METADATA_KEYS, () => undefined);
    applier = new Applier({
      client: api,
      children,
      metadataKeys: METADATA_KEYS,
      onApiGone: () => undefined,
    });
    see(kinds.ConfigMap, 'a');
    const wasReady = { ...BENCH, status: { appliedHash: 'x' } };
    assert.equal(await apply(CONFIG, wasReady), 'unchanged');
    assert.deepEqual(api.calls, ['APPLY a', 'APPLY a']);
  });

  describe('of a resource that was never Ready, after a start', () => {
    beforeEach(async () => {
      await apply(CONFIG);
      children = new ChildCache(METADATA_KEYS, () => undefined);
      applier = new Applier({
        client: api,
        children,
        metadataKeys: METADATA_KEYS,
        onApiGone: () => undefined,
      });
      see(kinds.ConfigMap, 'a');
    });

    test('is read, and not applied again', async () => {
      api.edit('a', ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, managedFields: [appliedEntry(CONFIG)] },
      }));
      see(kinds.ConfigMap, 'a');
      assert.equal(await apply(CONFIG), 'unchanged');
      assert.equal(await apply(CONFIG), 'unchanged');
      assert.deepEqual(api.calls, ['APPLY a', 'GET a']);
    });

    test('is created again where it is deleted while it is read', async () => {
      api.edit('a', ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, managedFields: [appliedEntry(CONFIG)] },
      }));
      see(kinds.ConfigMap, 'a');
      const request = api.request.bind(api);
      api.request = async <T>(...call: Parameters<typeof request>): Promise<T> => {
        const answer = await request<T>(...call);
        api.request = request;
        await request('DELETE', call[1]);
        // The watch is faster than the answer.
        children.sink(kinds.ConfigMap, () => true).remove(api.deleted('a'));
        return answer;
      };
      await assert.rejects(apply(CONFIG), /created and deleted by another client/);
      assert.equal(await apply(CONFIG), 'created');
    });

    test('is applied where it was edited meanwhile', async () => {
      const edited = { data: { x: 'evil' } };
      api.edit('a', ({ metadata, ...rest }) => ({
        ...rest,
        ...edited,
        metadata: { ...metadata, managedFields: [appliedEntry(CONFIG)] },
      }));
      see(kinds.ConfigMap, 'a');
      assert.equal(await apply(CONFIG), 'configured');
      assert.deepEqual(api.calls, ['APPLY a', 'GET a', 'APPLY a']);
    });
  });

  test('that is terminating is skipped until it is deleted', async () => {
    await apply(CONFIG);
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    api.edit('a', ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, deletionTimestamp },
    }));
    see(kinds.ConfigMap, 'a');
    assert.equal(await apply({ ...CONFIG, data: { x: '2' } }), 'skipped');
    children.sink(kinds.ConfigMap, () => true).remove(api.the('a'));
    api.objects.delete('a');
    assert.equal(await apply(CONFIG), 'created');
  });

  test('that the API server refuses stalls its resource with the fields and why', async () => {
    api.fail = new ApiError(
      422,
      'Invalid',
      { causes: [{ field: 'data', message: 'too long' }, { message: 'and bad' }] },
      'no',
    );
    const { reason, message } = await refusal(apply(CONFIG));
    assert.equal(reason, 'ApplyRefused');
    assert.equal(message, 'the API server refuses ConfigMap a: data: too long; and bad');
  });
});

describe('a name that is taken', () => {
  const theirs: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'n' },
  };
  const owner = (uid: string) => [
    { apiVersion: 'x/v1', kind: 'Other', name: 'o', uid, controller: true },
  ];

  for (const [what, metadata, message] of [
    ['by somebody’s object', {}, 'was not made by the operator'],
    [
      'by an object with our label of another resource',
      { labels: { ...labels, [METADATA_KEYS.owner]: 'AppBench.other' } },
      'was not made by the operator',
    ],
    [
      'by an object that something else controls',
      { labels, ownerReferences: owner('u-9') },
      'is controlled by Other o',
    ],
  ] as const) {
    test(`${what} stalls the resource, and the object stays as it is`, async () => {
      api.put({ ...theirs, metadata: { ...theirs.metadata, ...metadata } });
      const before = api.the('a');
      const { reason, message: text } = await refusal(apply(CONFIG));
      assert.equal(reason, 'NameTaken');
      assert.match(
        text,
        new RegExp(`^ConfigMap a exists and ${message}; the operator will not modify it`),
      );
      assert.equal(api.the('a'), before);
    });
  }

  const LEFT = { [MANAGED_BY_LABEL]: MANAGED_BY, [METADATA_KEYS.owner]: 'AppSite.b' };
  for (const wanted of [CONFIG, { ...SECRET, name: 'a' }]) {
    const what = `a ${wanted.kind} that a site of the same name has left`;
    test(`by ${what} stalls the bench without a call`, async () => {
      const metadata = { ...theirs.metadata, labels: { ...LEFT, [METADATA_KEYS.retain]: 'true' } };
      api.put({ ...theirs, kind: wanted.kind, metadata });
      see(wanted.kind === 'Secret' ? kinds.Secret : kinds.ConfigMap, 'a');
      const { reason, message } = await refusal(apply(wanted));
      assert.equal(reason, 'NameTaken');
      assert.match(
        message,
        /^\w+ a exists and was made for AppSite\/n\/b; the operator will not modify it/,
      );
      assert.deepEqual(api.calls, []);
    });
  }

  test('by a child of a site of the same name that is being deleted is retried, as no watch reports its end', async () => {
    const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z', ownerReferences: owner('u-9') };
    api.put({ ...theirs, metadata: { ...theirs.metadata, ...deleting, labels: LEFT } });
    see(kinds.ConfigMap, 'a');
    const { reason, retryAfterMs } = await refusal(apply(CONFIG));
    assert.deepEqual([reason, retryAfterMs], ['NameTaken', 60_000]);
    assert.deepEqual(api.calls, []);
  });

  test('by such an object that the caches do not have stalls it, too', async () => {
    const managedFields = [{ manager: 'app-operator', operation: 'Apply' as const }];
    const left = { [METADATA_KEYS.owner]: 'AppSite.b' };
    api.put({ ...theirs, metadata: { ...theirs.metadata, labels: left, managedFields } });
    const { reason, message } = await refusal(apply(CONFIG));
    assert.equal(reason, 'NameTaken');
    assert.match(message, /^ConfigMap a exists and was made for AppSite\/n\/b;/);
    assert.deepEqual(api.calls, ['APPLY a', 'GET a']);
  });

  test('by a child that something else has taken over stalls the resource without a call', async () => {
    api.put({ ...theirs, metadata: { ...theirs.metadata, labels, ownerReferences: owner('u-9') } });
    see(kinds.ConfigMap, 'a');
    assert.equal((await refusal(apply(CONFIG))).reason, 'NameTaken');
    assert.deepEqual(api.calls, []);
  });

  for (const [what, metadata] of [
    ['label', { labels }],
    ['manager', { managedFields: [{ manager: 'app-operator', operation: 'Apply' as const }] }],
    ['owner', { ownerReferences: owner('u-1') }],
  ] as const) {
    test(`by a child of ours, known by its ${what}, is no obstacle`, async () => {
      api.put({ ...theirs, metadata: { ...theirs.metadata, ...metadata } });
      assert.equal(await apply(CONFIG), 'configured');
      assert.deepEqual(api.calls, ['APPLY a', 'GET a', 'APPLY a']);
    });
  }

  test('by a child that has lost its labels while no operator ran is no obstacle', async () => {
    await apply(CONFIG);
    api.edit('a', ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: {} } }));
    // The list that comes after the break is newer than the object, and does not have it.
    await children.sink(kinds.ConfigMap, () => true).replace([], '999');
    assert.equal(await apply(CONFIG), 'configured');
    assert.deepEqual(api.the('a').metadata.labels, labels);
    assert.ok(api.calls.length <= 4, api.calls.join(' '));
  });
});

describe('a generated Secret', () => {
  test('is created with its values, which the caches do not keep', async () => {
    assert.equal(await apply(SECRET), 'created');
    assert.deepEqual(api.calls, ['POST s']);
    const { data } = api.the('s') as KubeObject & { data: Record<string, string> };
    assert.match(Buffer.from(data['password'] ?? '', 'base64').toString(), /^\w{32}$/);
    assert.doesNotMatch(
      JSON.stringify(children.get('v1/Secret/n/s')),
      new RegExp(data['password'] ?? '-'),
    );
    assert.equal(await apply(SECRET), 'unchanged');
  });

  test('keeps the values that it has, whatever happens to its labels', async () => {
    await apply(SECRET);
    const before = JSON.stringify(api.the('s').metadata.labels);
    const { data } = api.the('s') as KubeObject & { data: unknown };
    api.edit('s', ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, labels: { ...metadata.labels, [METADATA_KEYS.owner]: 'x' } },
    }));
    see(kinds.Secret, 's');
    assert.equal(await apply(SECRET), 'configured');
    assert.deepEqual(api.calls, ['POST s', 'PATCH s']);
    const now = api.the('s') as KubeObject & { data: unknown };
    assert.equal(JSON.stringify(now.metadata.labels), before);
    assert.deepEqual(now.data, data);
    assert.ok(!('data' in (api.bodies[1] ?? {})));
  });

  test('with another owner’s common label, or one of our group, costs no call', async () => {
    await apply(SECRET);
    const theirs = { 'app.kubernetes.io/part-of': 'shop', [`${METADATA_KEYS.group}/team`]: 'blue' };
    api.edit('s', ({ metadata, ...rest }) => ({
      ...rest,
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, ...theirs },
        annotations: { ...metadata.annotations, ...theirs },
      },
    }));
    see(kinds.Secret, 's');
    assert.equal(await apply(SECRET), 'unchanged');
    assert.deepEqual(api.calls, ['POST s']);
  });

  test('loses a label and an annotation of ours that are not wanted', async () => {
    await apply(SECRET);
    const before = api.the('s').metadata;
    api.edit('s', ({ metadata, ...rest }) => ({
      ...rest,
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, 'app.kubernetes.io/component': 'x', team: 'blue' },
        annotations: { ...metadata.annotations, [METADATA_KEYS.once]: 'true' },
      },
    }));
    see(kinds.Secret, 's');
    assert.equal(await apply(SECRET), 'configured');
    assert.equal(await apply(SECRET), 'unchanged');
    const { labels: kept, annotations } = api.the('s').metadata;
    assert.deepEqual(kept, { ...before.labels, team: 'blue' });
    assert.deepEqual(annotations, before.annotations);
  });

  test('of an earlier resource of this name is taken as it is', async () => {
    const password = { password: 'b2xk' };
    api.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 's',
        namespace: 'n',
        labels: { [METADATA_KEYS.owner]: 'AppBench.b' },
        annotations: { [METADATA_KEYS.generate]: '{"password":"password"}' },
      },
      data: password,
    } as KubeObject);
    assert.equal(await apply(SECRET), 'configured');
    assert.deepEqual((api.the('s') as KubeObject & { data: unknown }).data, password);
  });

  test('of an earlier resource of this name, by its uid, keeps its values: a backup tool has restored it', async () => {
    await apply(SECRET);
    const { data } = api.the('s') as KubeObject & { data: unknown };
    const [owner] = api.the('s').metadata.ownerReferences ?? [];
    assert.ok(owner);
    api.edit('s', ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, ownerReferences: [{ ...owner, uid: 'earlier' }] },
    }));
    see(kinds.Secret, 's');
    assert.equal(await apply(SECRET), 'configured');
    assert.deepEqual(api.the('s').metadata.ownerReferences, [owner]);
    assert.deepEqual((api.the('s') as KubeObject & { data: unknown }).data, data);
  });

  test('is not one of its label only, whose values are known', async () => {
    api.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'n', labels: { [METADATA_KEYS.owner]: 'AppBench.b' } },
    });
    const { reason, message } = await refusal(apply(SECRET));
    assert.equal(reason, 'NameTaken');
    assert.match(message, /^Secret s exists and was not made by the operator/);
    see(kinds.Secret, 's');
    assert.match((await refusal(apply(SECRET))).message, /was not made by the operator/);
  });
});

describe('what cannot be changed in place', () => {
  test('a Job with another task is deleted, and created again after its deletion', async () => {
    await apply(job('one'));
    const { uid } = api.the('j').metadata;
    assert.equal(await apply(job('two')), 'deleted');
    assert.deepEqual(api.bodies[1], {
      propagationPolicy: 'Background',
      preconditions: { uid },
    });
    children.sink(kinds.Job, () => true).remove({ ...api.deleted('j') });
    assert.equal(await apply(job('two')), 'created');
  });

  test('a Job with another task stays where what it was planned by is stale', async () => {
    await apply(job('one'));
    const stale = { isCurrentWithParents: () => Promise.resolve(false) };
    const props = { client: api, children, metadataKeys: METADATA_KEYS, ...stale };
    applier = new Applier({ ...props, onApiGone: () => undefined });
    const plan = { ...aPlan([[job('two')]]), owner: BENCH.metadata.uid };
    const [planned] = plan.stages.flatMap((stage) => stage.children);
    assert.ok(planned);
    assert.equal((await applier.apply(BENCH, plan, planned)).change, 'skipped');
    assert.ok(api.the('j'));
  });

  test('a Job that has the same to do is not run again, whatever else is new in it', async () => {
    await apply(job('one'));
    const changed = { ...job('one'), spec: { image: 'new' } };
    assert.equal(await apply(changed), 'unchanged');
    assert.deepEqual(api.calls, ['APPLY j']);
  });
});

describe('a policy that changes what is written', () => {
  const component = 'app.kubernetes.io/component';
  /** An API server whose policy sets a label of every Secret. */
  class Rewriting extends FakeApi {
    override put(object: KubeObject): KubeObject {
      const { metadata } = object;
      const changed = { ...metadata.labels, [component]: 'policy' };
      return super.put({ ...object, metadata: { ...metadata, labels: changed } });
    }
  }
  const wanted = { ...SECRET, labels: { ...labels, [component]: 'ours' } };

  test('is reported, and what it changes is not written again', async () => {
    api = new Rewriting();
    const props = { client: api, children, metadataKeys: METADATA_KEYS };
    applier = new Applier({ ...props, onApiGone: () => undefined });
    assert.equal(await apply(wanted), 'created');
    see(kinds.Secret, 's');
    assert.equal(await apply(wanted), 'unchanged');
    assert.deepEqual(api.calls, ['POST s']);
    const manager = new ResourceManager({ children, applier, now: () => 0 });
    const reported = [`Secret s: metadata.labels[${component}]`];
    assert.deepEqual(manager.altered(aPlan([[wanted]])), reported);
    // Another edit of the same field is no policy's.
    api.edit('s', ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, labels: { ...metadata.labels, [METADATA_KEYS.owner]: 'x' } },
    }));
    see(kinds.Secret, 's');
    assert.equal(await apply(wanted), 'configured');
    assert.equal(await apply(wanted), 'unchanged');
  });
});

describe('a deletion', () => {
  for (const [status, passes] of [
    [404, true],
    [409, true],
    [403, false],
    [500, false],
  ] as const) {
    test(`that is answered with ${status} is ${passes ? 'as good as done' : 'an error'}`, async () => {
      await apply(CONFIG);
      const child = children.get('v1/ConfigMap/n/a');
      assert.ok(child);
      api.fail = new ApiError(status, '', {}, 'no');
      const work = applier.delete(child);
      await (passes ? work : assert.rejects(work));
    });
  }
});
