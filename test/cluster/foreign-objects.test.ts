import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';

/** Objects of another owner that have the name of a child. */
interface Case {
  readonly kind: 'AppBench' | 'AppSite';
  /** The bench or the site whose child it would be. */
  readonly resource: string;
  readonly object: Manifest;
  /** Whether it belongs to something else. */
  readonly owned?: true;
  /** Children that must not be made before this one. */
  readonly missing: readonly string[];
}

const template = {
  metadata: { labels: { app: 'theirs' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'example.test/theirs:1' }] },
};
const object = (kind: string, apiVersion: string, name: string, spec?: unknown): Manifest => ({
  apiVersion,
  kind,
  metadata: { name, labels: { theirs: 'yes' } },
  ...(spec ? { spec } : {}),
});

const CASES: readonly Case[] = [
  {
    kind: 'AppBench',
    resource: 'b1',
    object: { ...object('ConfigMap', 'v1', 'b1-config'), data: { a: 'b' } },
    missing: ['Job/b1-init', 'Deployment/b1-gunicorn'],
  },
  {
    kind: 'AppBench',
    resource: 'b2',
    object: object('Service', 'v1', 'b2-redis', { ports: [{ port: 1 }] }),
    owned: true,
    missing: ['Job/b2-init', 'Deployment/b2-gunicorn'],
  },
  {
    kind: 'AppBench',
    resource: 'b3',
    object: object('Job', 'batch/v1', 'b3-init', { suspend: true, template }),
    missing: ['Deployment/b3-gunicorn', 'Deployment/b3-nginx'],
  },
  {
    kind: 'AppSite',
    resource: 's1',
    object: { ...object('Secret', 'v1', 's1-db'), data: { password: 'eA==' } },
    missing: ['Job/s1-init', 'Deployment/s1-gunicorn'],
  },
  {
    kind: 'AppSite',
    resource: 's2',
    object: { ...object('Secret', 'v1', 's2-encryption-key'), data: { key: 'eA==' } },
    owned: true,
    missing: ['Job/s2-init', 'Deployment/s2-gunicorn'],
  },
  {
    kind: 'AppSite',
    resource: 's3',
    object: object('Job', 'batch/v1', 's3-init', { suspend: true, template }),
    owned: true,
    missing: ['Deployment/s3-gunicorn'],
  },
  {
    kind: 'AppSite',
    resource: 's4',
    object: object('Deployment', 'apps/v1', 's4-gunicorn', {
      replicas: 0,
      selector: { matchLabels: { app: 'theirs' } },
      template: { ...template, spec: { containers: template.spec.containers } },
    }),
    missing: [],
  },
  {
    kind: 'AppSite',
    resource: 's5',
    object: object('Ingress', 'networking.k8s.io/v1', 's5-ingress', {
      defaultBackend: { service: { name: 'theirs', port: { number: 80 } } },
    }),
    owned: true,
    missing: [],
  },
];

let cluster: Cluster;
let namespace: string;
const foreign = new Map<Case, Live>();
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  // It looks again every minute for what it does not watch.
  await cluster.operator([], { timeFactor: 4 });
  const [owner] = await cluster.apply(namespace, object('ConfigMap', 'v1', 'their-owner'));
  const { uid } = owner?.metadata ?? {};
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'their-owner', uid, controller: true },
  ];
  for (const one of CASES) {
    const { metadata } = one.object;
    const owned = one.owned ? { ownerReferences } : {};
    await cluster.create(namespace, { ...one.object, metadata: { ...metadata, ...owned } });
  }
  await cluster.apply(namespace, aBench('b'));
  await cluster.ready('AppBench', namespace, 'b');
  for (const one of CASES) {
    const { kind, metadata } = one.object;
    foreign.set(one, await cluster.the(kind, namespace, metadata.name));
    await cluster.apply(
      namespace,
      one.kind === 'AppBench'
        ? aBench(one.resource)
        : aSite(one.resource, { bench: 'b', ingress: { enabled: true } }),
    );
  }
});
after(() => cluster.stop());

/** All of an object except for its status, which its own controller writes. */
function content({ status: _status, metadata, ...rest }: Live): unknown {
  const { resourceVersion: _version, managedFields = [], ...others } = metadata;
  const fields = managedFields.filter(({ subresource }) => subresource !== 'status');
  return { ...rest, metadata: others, fields };
}

describe('another owner’s object with the name of a child', () => {
  for (const one of CASES) {
    const { kind, resource, owned, missing } = one;
    const { kind: childKind, metadata } = one.object;
    test(`stops the ${kind} and is named (${childKind} ${metadata.name})`, async () => {
      const stalled = await cluster.becomes(kind, namespace, resource, {
        what: 'is Stalled',
        check: (live) => Boolean(conditionOf(live, 'Stalled')),
      });
      const why = owned ? 'is controlled by ConfigMap their-owner' : 'was not made by the operator';
      for (const type of ['Ready', 'Stalled']) {
        const { status, reason, message } = conditionOf(stalled, type) ?? {};
        assert.equal(status, type === 'Ready' ? 'False' : 'True');
        assert.equal(reason, 'NameTaken');
        assert.equal(
          message,
          `${childKind} ${metadata.name} exists and ${why}; the operator will not modify it; rename either object`,
        );
      }
      assert.equal(conditionOf(stalled, 'Reconciling'), undefined);
      assert.equal(at(stalled, 'status.phase'), 'Failed');
      if (kind === 'AppBench') assert.equal(at(stalled, 'status.ready'), false);
      for (const child of missing) {
        const [missingKind = '', name = ''] = child.split('/');
        assert.equal(await cluster.get(missingKind, namespace, name), undefined, child);
      }
    });

    test(`is left as it was (${childKind} ${metadata.name})`, async () => {
      const now = await cluster.the(childKind, namespace, metadata.name);
      const before = foreign.get(one);
      assert.ok(before);
      assert.deepEqual(content(now), content(before));
    });
  }

  test('is not ours because its owner has a name like ours: another group is another kind', async () => {
    const name = 'namesake';
    const gunicorn = `${name}-gunicorn`;
    const controller = {
      apiVersion: 'example.com/v1',
      kind: 'AppSite',
      name,
      uid: '00000000-0000-4000-8000-000000000001',
      controller: true,
    };
    const labels = {
      'app.kubernetes.io/managed-by': 'app-operator',
      'app-operator.io/owner': `AppSite.${name}`,
    };
    const theirs = object('Service', 'v1', gunicorn, { ports: [{ port: 1 }] });
    const metadata = { name: gunicorn, labels, ownerReferences: [controller] };
    const before = await cluster.create(namespace, { ...theirs, metadata });
    await cluster.apply(namespace, aSite(name, { bench: 'b' }));
    const site = await cluster.becomes('AppSite', namespace, name, {
      what: 'is Stalled',
      check: (live) => Boolean(conditionOf(live, 'Stalled')),
    });
    assert.equal(conditionOf(site, 'Stalled')?.reason, 'NameTaken');
    const after = await cluster.the('Service', namespace, gunicorn);
    assert.deepEqual(content(after), content({ ...before, kind: 'Service', apiVersion: 'v1' }));
  });

  test('harms no other bench or site', async () => {
    await cluster.apply(namespace, aSite('fine', { bench: 'b' }));
    await cluster.ready('AppSite', namespace, 'fine');
    await cluster.ready('AppBench', namespace, 'b');
  });

  test('is reported once, in an event', async () => {
    const events = await cluster.list('Event', namespace);
    for (const { resource } of CASES) {
      const recorded = events.filter(
        (event) => at(event, 'reason') === 'NameTaken' && at(event, 'regarding.name') === resource,
      );
      assert.deepEqual(
        recorded.map((event) => at(event, 'type')),
        ['Warning'],
        resource,
      );
    }
  });

  test('blocks no longer once it is deleted: the operator checks again', async () => {
    const rest = CASES.filter(({ resource }) => resource !== 's5');
    for (const { object: theirs } of rest) {
      await cluster.delete(theirs.kind, namespace, theirs.metadata.name);
    }
    // Nothing of theirs is watched, so the operator looks again every minute.
    await Promise.all(rest.map(({ kind, resource }) => cluster.ready(kind, namespace, resource)));
  });

  test('that takes a generated password over is used by the field that the message names', async () => {
    await cluster.apply(namespace, aSite('taken', { bench: 'b' }));
    await cluster.ready('AppSite', namespace, 'taken');
    const owner = await cluster.the('ConfigMap', namespace, 'their-owner');
    const { name, uid } = owner.metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }];
    const secret = 'taken-admin-password';
    await cluster.patch('Secret', namespace, secret, { metadata: { ownerReferences } });
    const message =
      /^Secret taken-admin-password exists and is controlled by ConfigMap.*; to use it, name it in spec\.adminPasswordSecretRef\.name; else rename either object$/;
    await cluster.becomes('AppSite', namespace, 'taken', {
      what: 'names the field',
      check: (live) => message.test(conditionOf(live, 'Stalled')?.message ?? ''),
    });
    const spec = { adminPasswordSecretRef: { name: secret } };
    await cluster.patch('AppSite', namespace, 'taken', { spec });
    await cluster.ready('AppSite', namespace, 'taken');
    const { metadata } = await cluster.the('Secret', namespace, secret);
    assert.deepEqual(metadata.ownerReferences, ownerReferences);
  });

  test('stays when the resource is deleted', async () => {
    await cluster.delete('AppSite', namespace, 's5');
    await cluster.deleted('AppSite', namespace, 's5');
    await cluster.deleted('Deployment', namespace, 's5-gunicorn');
    assert.ok(await cluster.get('Ingress', namespace, 's5-ingress'));
  });
});
