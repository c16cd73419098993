import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { KubeObject, ManagedFieldsEntry } from '../../constructs/kit/object.js';
import { ownedHash } from '../../runner/cache/managed-fields.js';

const US = 'app-operator';

/** Our entry for the Deployment below, as API server 1.34 writes it. */
const FIELDS = {
  'f:metadata': {
    'f:labels': { 'f:app': {}, 'f:empty': {} },
    'f:finalizers': { '.': {}, 'v:"example.com/ours"': {} },
    'f:ownerReferences': { 'k:{"uid":"u-1"}': {} },
  },
  'f:spec': {
    'f:selector': {},
    'f:template': {
      'f:spec': {
        'f:containers': {
          'k:{"name":"web"}': {
            '.': {},
            'f:image': {},
            'f:name': {},
            'f:args': {},
            'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
            'f:ports': {
              'k:{"containerPort":8000,"protocol":"TCP"}': {
                '.': {},
                'f:containerPort': {},
                'f:protocol': {},
              },
            },
          },
        },
        'f:securityContext': { 'f:supplementalGroups': {} },
      },
    },
  },
};

const LIVE = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'd',
    resourceVersion: '1',
    labels: { app: 'd', empty: '' },
    finalizers: ['example.com/theirs', 'example.com/ours'],
    ownerReferences: [{ uid: 'u-1', name: 'b', kind: 'AppBench', apiVersion: 'x/v1' }],
  },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'd' } },
    template: {
      spec: {
        containers: [
          {
            name: 'web',
            image: 'frappe:1',
            args: ['a', 'b'],
            env: [{ name: 'A', value: '1' }],
            ports: [{ containerPort: 8000, protocol: 'TCP' }],
          },
        ],
        securityContext: { supplementalGroups: [1, 2] },
      },
    },
  },
  status: { replicas: 0 },
};

type Draft = typeof LIVE & { [field: string]: unknown };

const entry = (fields: ManagedFieldsEntry['fieldsV1'], more = {}): ManagedFieldsEntry => ({
  manager: US,
  operation: 'Apply',
  ...(fields === undefined ? {} : { fieldsV1: fields }),
  ...more,
});

/** The hash of the object above after a change of it. */
function hash(
  change: (live: Draft) => void = () => undefined,
  fields = FIELDS,
): string | undefined {
  const live = structuredClone(LIVE) as Draft;
  change(live);
  const object: KubeObject = {
    ...live,
    metadata: { ...live.metadata, managedFields: [entry(fields)] },
  };
  return ownedHash(object, US);
}

const web = (live: Draft) => {
  const [container] = live.spec.template.spec.containers;
  assert.ok(container);
  return container;
};

describe('the hash of what we applied changes when', () => {
  const EDITS: readonly (readonly [what: string, change: (live: Draft) => void])[] = [
    ['a field is edited', (live) => (web(live).image = 'evil:1')],
    ['a label is edited', (live) => (live.metadata.labels.app = 'x')],
    [
      'a label with an empty value is removed',
      (live) => Reflect.deleteProperty(live.metadata.labels, 'empty'),
    ],
    ['a field is removed', (live) => Reflect.deleteProperty(web(live), 'image')],
    ['a whole map is removed', (live) => Reflect.deleteProperty(live.metadata, 'labels')],
    ['an item of ours is edited', (live) => (web(live).env = [{ name: 'A', value: '2' }])],
    ['an item of ours is removed', (live) => (web(live).env = [])],
    ['an item of ours gets another key', (live) => (web(live).name = 'other')],
    [
      'a list item by two keys changes one of them',
      (live) => (web(live).ports = [{ containerPort: 8000, protocol: 'UDP' }]),
    ],
    ['a value of ours leaves a set', (live) => (live.metadata.finalizers = ['example.com/theirs'])],
    ['an atomic list is reordered', (live) => web(live).args.reverse()],
    ['an atomic list grows', (live) => web(live).args.push('c')],
    [
      'a list of numbers changes',
      (live) => live.spec.template.spec.securityContext.supplementalGroups.pop(),
    ],
    [
      'an atomic map gets a further key',
      (live) => Object.assign(live.spec.selector.matchLabels, { x: 'y' }),
    ],
    ['the owner is taken away', (live) => (live.metadata.ownerReferences = [])],
  ];
  for (const [what, change] of EDITS) {
    test(what, () => {
      assert.notEqual(hash(change), hash());
    });
  }

  test('a field is no longer ours: another manager applied it by force', () => {
    const taken = structuredClone(FIELDS) as { 'f:spec': { 'f:selector'?: object } };
    delete taken['f:spec']['f:selector'];
    assert.notEqual(hash(undefined, taken as typeof FIELDS), hash());
  });
});

describe('the hash of what we applied stays when', () => {
  const EDITS: readonly (readonly [what: string, change: (live: Draft) => void])[] = [
    ['nothing changes', () => undefined],
    ['only the version changes', (live) => (live.metadata.resourceVersion = '2')],
    ['the status changes', (live) => (live.status.replicas = 1)],
    ['another client scales it, and replicas are not ours', (live) => (live.spec.replicas = 9)],
    [
      'another client adds a label',
      (live) => Object.assign(live.metadata.labels, { team: 'blue' }),
    ],
    [
      'another client adds a variable before ours',
      (live) => web(live).env.unshift({ name: 'Z', value: '1' }),
    ],
    [
      'another client adds a field to an item of ours',
      (live) => Object.assign(web(live), { tty: true }),
    ],
    [
      'another client adds a container',
      (live) => live.spec.template.spec.containers.unshift({ ...web(live), name: 'sidecar' }),
    ],
    ['another client adds to a set', (live) => live.metadata.finalizers.push('example.com/more')],
    ['another client reorders a set', (live) => live.metadata.finalizers.reverse()],
    [
      'the server fills in a default',
      (live) => Object.assign(live.spec, { progressDeadlineSeconds: 600 }),
    ],
    [
      'keys come in another order',
      (live) =>
        (live.spec = { template: live.spec.template, selector: live.spec.selector, replicas: 1 }),
    ],
  ];
  for (const [what, change] of EDITS) {
    test(what, () => {
      assert.equal(hash(change), hash());
    });
  }
});

describe('the hash of what we applied', () => {
  test('speaks of our own applies only', () => {
    const of = (...entries: readonly ManagedFieldsEntry[]): string | undefined =>
      ownedHash({ ...LIVE, metadata: { ...LIVE.metadata, managedFields: entries } }, US);
    const fields = { 'f:spec': { 'f:replicas': {} } };
    const ours = of(entry(FIELDS));
    assert.ok(ours);
    assert.equal(of(), undefined);
    assert.equal(of(entry(fields, { operation: 'Update' })), undefined);
    assert.equal(of(entry(fields, { subresource: 'status' })), undefined);
    assert.equal(of(entry(fields, { manager: 'kubectl' })), undefined);
    assert.equal(of(entry(fields, { manager: 'kubectl' }), entry(FIELDS)), ours);
  });

  test('is undefined where nothing is known of the fields', () => {
    assert.equal(ownedHash(LIVE, US), undefined);
    const managedFields = [entry(undefined)];
    assert.equal(
      ownedHash({ ...LIVE, metadata: { ...LIVE.metadata, managedFields } }, US),
      undefined,
    );
  });

  test('takes keys of numbers and of booleans as they are', () => {
    const fields = {
      'f:list': { 'k:{"on":true,"port":1}': { 'f:x': {} } },
      'f:set': { 'v:1': {} },
    };
    const of = (list: readonly unknown[], set: readonly unknown[]): string | undefined =>
      ownedHash(
        {
          ...LIVE,
          metadata: { name: 'd', managedFields: [entry(fields)] },
          list,
          set,
        } as KubeObject,
        US,
      );
    const item = { on: true, port: 1, x: 1 };
    assert.equal(of([{ ...item, on: false, x: 2 }, item], [1, 2]), of([item], [1]));
    assert.notEqual(of([item], ['1']), of([item], [1]));
  });
});
