import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite } from './support/builders.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import { assertNoOrphans, atRest, countsSites, routesOf, secretsOf } from './support/snapshot.js';
import { at, conditionOf, type Live, nameOf } from './support/objects.js';

const { run, owner } = metadataKeysFor(DEFAULT_API_GROUP);
const few = { workerDefault: 0, workerShort: 0, workerLong: 0 };
const shared = { workloads: 'Shared' };

let cluster: Cluster;
let operators: ProxiedOperators;
let namespace: string;
/** As it was when the operator went. */
let children: ReadonlyMap<string, Live>;
let secrets: ReadonlyMap<string, string>;

const ready = (kind: 'AppBench' | 'AppSite', name: string): Promise<Live> =>
  cluster.ready(kind, namespace, name);
const the = (kind: string, name: string): Promise<Live> => cluster.the(kind, namespace, name);
const patch = (kind: string, name: string, change: unknown): Promise<Live> =>
  cluster.patch(kind, namespace, name, change);
const was = (name: string): Live => {
  const found = children.get(name);
  assert.ok(found, name);
  return found;
};
const site = (name: string, spec: Readonly<Record<string, unknown>> = {}) =>
  aSite(name, { bench: 'b', componentReplicas: few, ...spec });

/** Creates benches and sites, and ends the operator. */
async function bringUp(): Promise<void> {
  const operator = await operators.start(undefined, { namespaces: [namespace] });
  await cluster.apply(
    namespace,
    aSecret('chosen', { password: 'first' }),
    aBench('b', { componentReplicas: few }),
    aBench('full', { componentReplicas: few }),
    aBench('empty', { componentReplicas: few, deletionPolicy: 'Delete' }),
    site('edited'),
    site('robbed'),
    site('stuffed', shared),
    site('changed', { ingress: { enabled: true } }),
    site('referring', { ...shared, adminPasswordSecretRef: { name: 'chosen' } }),
    site('dropped', { ...shared, deletionPolicy: 'Delete' }),
    site('kept', shared),
    aSite('tenant', { bench: 'full', ...shared }),
  );
  for (const bench of ['b', 'full', 'empty']) await ready('AppBench', bench);
  for (const name of ['edited', 'robbed', 'stuffed', 'changed', 'referring', 'dropped', 'kept'])
    await ready('AppSite', name);
  await ready('AppSite', 'tenant');
  await countsSites(cluster, namespace, 'b', 7);
  assert.equal((await operator.stop()).code, 0);
  children = new Map((await cluster.children(namespace)).map((child) => [nameOf(child), child]));
  secrets = await secretsOf(cluster, namespace);
}

/** The changes while no operator runs. */
async function changeObjects(): Promise<void> {
  await patch('Deployment', 'edited-gunicorn', {
    metadata: { labels: { 'app.kubernetes.io/instance': 'x', theirs: 'stays' } },
    spec: { replicas: 4 },
  });
  await cluster.delete('Deployment', namespace, 'robbed-gunicorn');
  await cluster.delete('Service', namespace, 'robbed-gunicorn');
  await cluster.delete('ConfigMap', namespace, 'b-config');
  const { uid } = (await the('AppSite', 'stuffed')).metadata;
  const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [owner]: 'AppSite.stuffed' };
  const port = { port: 80, protocol: 'TCP' };
  for (const [name, controller] of [
    ['stuffed-old', true],
    ['stuffed-theirs', false],
  ] as const) {
    const apiVersion = `${DEFAULT_API_GROUP}/v1alpha1`;
    const owners = [{ apiVersion, kind: 'AppSite', name: 'stuffed', uid, controller }];
    await cluster.create(namespace, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, labels, ownerReferences: controller ? owners : [] },
      spec: { ports: [port] },
    });
  }
  await patch('AppSite', 'changed', {
    spec: { componentReplicas: { gunicorn: 2 }, ingress: { enabled: false } },
  });
  await patch('Secret', 'chosen', { stringData: { password: 'second' } });
  for (const name of ['dropped', 'kept']) await cluster.delete('AppSite', namespace, name);
  await cluster.delete('AppBench', namespace, 'full');
  await cluster.delete('AppBench', namespace, 'empty');
  await cluster.apply(namespace, site('new', shared));
}

before(async () => {
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  namespace = await cluster.namespace();
  await bringUp();
  await changeObjects();
  await operators.start(undefined, { namespaces: [namespace], user: 'returned' });
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

describe('an operator that starts after a downtime', () => {
  test('reverts the edit of a child and keeps the fields of other managers', async () => {
    const { metadata, spec } = await cluster.becomes('Deployment', namespace, 'edited-gunicorn', {
      what: 'is as it was',
      check: (live) => Object.is(live.spec?.['replicas'], 1),
    });
    assert.equal(metadata.labels?.['app.kubernetes.io/instance'], 'edited');
    assert.equal(metadata.labels['theirs'], 'stays');
    assert.deepEqual(spec, was('Deployment/edited-gunicorn').spec);
    await ready('AppSite', 'edited');
  });

  test('creates deleted children again', async () => {
    for (const name of [
      'Deployment/robbed-gunicorn',
      'Service/robbed-gunicorn',
      'ConfigMap/b-config',
    ]) {
      const [kind = '', child = ''] = name.split('/');
      const now = await cluster.until(`${name} is there`, () =>
        cluster.get(kind, namespace, child),
      );
      assert.notEqual(now.metadata.uid, was(name).metadata.uid);
      assert.deepEqual(now.data, was(name).data);
    }
    await ready('AppSite', 'robbed');
    await ready('AppBench', 'b');
  });

  test('prunes a child that is no longer wanted, and no object that only resembles one', async () => {
    await cluster.deleted('Service', namespace, 'stuffed-old');
    await the('Service', 'stuffed-theirs');
  });

  test('applies a changed spec', async () => {
    await ready('AppSite', 'changed');
    assert.equal(at(await the('Deployment', 'changed-gunicorn'), 'spec.replicas'), 2);
    await cluster.deleted('Ingress', namespace, 'changed-ingress');
  });

  test('applies the new value of a Secret to the resources that refer to it', async () => {
    const path = `metadata.annotations["${run}"]`;
    const before = at(was('Job/referring-init'), path);
    await cluster.becomes('Job', namespace, 'referring-init', {
      what: 'has run again',
      check: (job) => at(job, path) !== before && Object.is(at(job, 'status.succeeded'), 1),
    });
    await ready('AppSite', 'referring');
  });

  test('creates the children of a new site', async () => {
    await ready('AppSite', 'new');
  });

  test('drops a deleted site under Delete, and removes the finalizer under Retain', async () => {
    for (const name of ['dropped', 'kept']) {
      await cluster.deleted('AppSite', namespace, name);
    }
    await cluster.deleted('Secret', namespace, 'dropped-db');
    await the('Secret', 'kept-db');
    const jobs = await cluster.calls({ user: 'returned', namespace });
    const made = jobs.filter(
      ({ objectRef, responseStatus }) =>
        objectRef?.resource === 'jobs' && responseStatus?.code === 201,
    );
    const drops = made
      .map(({ objectRef }) => objectRef?.name)
      .filter((name) => name?.endsWith('-drop'));
    assert.deepEqual(drops.sort(), ['dropped-drop', 'kept-drop']);
  });

  test('deletes a bench without sites, and blocks one with sites, with the reason', async () => {
    await cluster.deleted('AppBench', namespace, 'empty');
    const full = await cluster.becomes('AppBench', namespace, 'full', {
      what: 'waits',
      check: (live) => Object.is(conditionOf(live, 'Ready')?.reason, 'SitesExist'),
    });
    assert.match(conditionOf(full, 'Ready')?.message ?? '', /tenant/);
    await cluster.delete('AppSite', namespace, 'tenant');
    await cluster.deleted('AppBench', namespace, 'full');
  });

  test('routes requests to the sites that exist', async () => {
    const wanted = ['changed', 'edited', 'new', 'referring', 'robbed', 'stuffed'];
    await cluster.until('nginx knows them', async () => {
      const routes = await routesOf(cluster, namespace, 'b');
      assert.deepEqual(
        routes,
        wanted.map((name) => `${name}.example.com`),
      );
      return true;
    });
  });

  test('changes no byte of an existing Secret and leaves no orphan', async () => {
    const now = await secretsOf(cluster, namespace);
    for (const [name, bytes] of now) {
      if (!name.startsWith('new-')) assert.equal(bytes, secrets.get(name), name);
    }
    await assertNoOrphans(cluster, namespace);
  });

  test('is idle afterwards, and so is the next operator', async () => {
    await atRest(cluster, 'returned');
    const since = new Date();
    const user = 'next';
    await operators.start(undefined, { namespaces: [namespace], user });
    await sleep(3_000);
    assert.deepEqual(await cluster.writes({ user }), []);
    assert.deepEqual(await cluster.writes({ user: 'returned', since }), []);
  });
});
