import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { CommandLine, type CommandResult } from './support/command-line.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.operator();
});
after(() => cluster.stop());

const retained = (...args: readonly string[]): Promise<CommandResult> =>
  new CommandLine(cluster.controlPlane.kubeconfig).run(['retained', '-n', namespace, ...args]);
const gone = (kind: string, name: string): Promise<unknown> =>
  cluster.until(`${kind} ${name} is deleted`, async () => {
    return (await cluster.get(kind, namespace, name)) === undefined;
  });

describe('the objects of a deleted bench and its site', { concurrency: false }, () => {
  before(async () => {
    await cluster.apply(namespace, aBench('b'), aSite('s', { bench: 'b' }), aBench('kept'));
    await cluster.ready('AppSite', namespace, 's');
    await cluster.ready('AppBench', namespace, 'kept');
  });

  test('are not listed while their owners exist', async () => {
    assert.deepEqual(await retained(), { code: 0, out: 'nothing is retained\n', err: '' });
    const { code, err } = await retained('bench/b', '--delete', '--confirm', 'b');
    assert.equal(code, 1);
    assert.match(err, /AppBench b: no retained objects found/);
    assert.ok(await cluster.get('StatefulSet', namespace, 'b-db'));
  });

  test('are listed with their cost, and deleted after a confirmation', async () => {
    await cluster.delete('AppSite', namespace, 's');
    await gone('AppSite', 's');
    await cluster.delete('AppBench', namespace, 'b');
    await gone('AppBench', 'b');

    const { out } = await retained();
    assert.match(out, /AppBench b +StatefulSet +b-db +\S+ +1 running pod$/m);
    assert.match(out, /AppBench b +PersistentVolumeClaim +b-sites +\S+ +10Gi$/m);
    assert.match(out, /AppSite s +Secret +s-encryption-key /);
    assert.match(out, /^2 owners left \d+ objects: 21Gi of storage requested, 1 running pod\.$/m);
    assert.doesNotMatch(out, /kept/);

    const unconfirmed = await retained('bench/b', '--delete');
    assert.equal(unconfirmed.code, 2);
    assert.match(unconfirmed.err, /to delete all data of AppBench b, add --confirm b/);
    assert.equal((await retained('bench/b', '--delete', '--confirm', 'kept')).code, 2);
    assert.ok(await cluster.get('StatefulSet', namespace, 'b-db'));

    const removed = await retained('bench/b', '--delete', '--confirm', 'b');
    assert.deepEqual([removed.code, removed.err], [0, '']);
    assert.match(removed.out, /^deleted StatefulSet b-db\n/);
    assert.match(removed.out, /^deleted PersistentVolumeClaim b-sites$/m);
    for (const [kind, name] of [
      ['StatefulSet', 'b-db'],
      ['PersistentVolumeClaim', 'b-sites'],
      ['Secret', 'b-db-root'],
    ] as const) {
      await gone(kind, name);
    }
    assert.ok(await cluster.get('PersistentVolumeClaim', namespace, 'kept-sites'));
    assert.ok(await cluster.get('Secret', namespace, 's-encryption-key'));
    assert.match((await retained()).out, /^1 owner left /m);
  });

  test('are not listed while Kubernetes has not deleted them yet, after a deletion with Delete', async () => {
    const { apiVersion, kind, metadata } = await cluster.the('AppBench', namespace, 'kept');
    const { name, uid = '' } = metadata;
    await cluster.apply(namespace, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'of-a-deleted-bench',
        labels: { 'app-operator.io/retain': 'true', 'app-operator.io/owner': 'AppBench.deleted' },
        // An owner that exists, so that it stays for the test.
        ownerReferences: [{ apiVersion, kind, name, uid }],
      },
    });
    assert.doesNotMatch((await retained()).out, /AppBench deleted/);
  });

  test('that the user may not list are named, and stay', async () => {
    await cluster.apply(namespace, aBench('half'));
    await cluster.ready('AppBench', namespace, 'half');
    await cluster.delete('AppBench', namespace, 'half');
    await gone('AppBench', 'half');
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const apiGroup = 'rbac.authorization.k8s.io';
    const verbs = ['get', 'list', 'delete'];
    await cluster.controlPlane.api.request('POST', `${rbac}/roles`, {
      metadata: { name: 'claims' },
      rules: [
        { apiGroups: ['app-operator.io'], resources: ['*'], verbs },
        { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs },
      ],
    });
    await cluster.controlPlane.api.request('POST', `${rbac}/rolebindings`, {
      metadata: { name: 'claims' },
      roleRef: { apiGroup, kind: 'Role', name: 'claims' },
      subjects: [{ kind: 'User', name: 'clara', apiGroup }],
    });
    const clara = new CommandLine(await cluster.controlPlane.userKubeconfig('clara', []));
    const line = ['retained', '-n', namespace, 'bench/half'];
    assert.match((await clara.run(line)).out, /^Not shown: .*secrets, .* \(forbidden: list\)\.$/m);
    const { code, out, err } = await clara.run([...line, '--delete', '--confirm', 'half']);
    assert.match(out, /^deleted PersistentVolumeClaim half-sites$/m);
    assert.match(err, /^not deleted, since you cannot list them: .*secrets, .*statefulsets\.apps/);
    assert.doesNotMatch(err, /pods/);
    assert.equal(code, 1);
    assert.ok(await cluster.get('Secret', namespace, 'half-db-root'));
    assert.equal((await retained('bench/half', '--delete', '--confirm', 'half')).code, 0);
  });

  test('are not deleted while a site still names the bench', async () => {
    await cluster.apply(namespace, aSite('late', { bench: 'kept' }));
    await cluster.ready('AppSite', namespace, 'late');
    // As after a deletion that skipped its cleanup.
    await cluster.patch('AppBench', namespace, 'kept', { spec: { paused: true } });
    await cluster.delete('AppBench', namespace, 'kept');
    await cluster.patch('AppBench', namespace, 'kept', { metadata: { finalizers: null } });
    await gone('AppBench', 'kept');
    const { code, err } = await retained('bench/kept', '--delete', '--confirm', 'kept');
    assert.equal(code, 1);
    assert.match(err, /AppBench kept: its data is used by AppSite late; delete these first/);
    assert.ok(await cluster.get('PersistentVolumeClaim', namespace, 'kept-sites'));
  });
});
