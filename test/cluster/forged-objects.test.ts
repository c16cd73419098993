import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { at, conditionOf, type Manifest } from './support/objects.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
});
after(() => cluster.stop());

/** An object that says that it is a child, as who may write such objects can make it. */
const forged = (kind: string, name: string, owner: string, content: object): Manifest => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name,
    labels: { 'app.kubernetes.io/managed-by': 'app-operator', 'app-operator.io/owner': owner },
  },
  ...content,
});
const MODULE = { 'pymysql.py': 'import os' };
const GIVEN = { data: { password: Buffer.from('known').toString('base64') } };

const keysOf = async (name: string): Promise<readonly string[]> => {
  const { data } = await cluster.the('ConfigMap', namespace, name);
  return Object.keys(data ?? {});
};

describe('an object that its label calls a child', () => {
  before(async () => {
    await cluster.create(namespace, forged('Secret', 'given-db', 'AppSite.given', GIVEN));
    await cluster.create(
      namespace,
      forged('ConfigMap', 'b-config', 'AppBench.b', {
        data: MODULE,
        binaryData: { 'six.py': 'AA==' },
      }),
    );
    await cluster.create(
      namespace,
      forged('Service', 'b-nginx', 'AppBench.b', {
        spec: { type: 'ExternalName', externalName: 'evil.example' },
      }),
    );
    await cluster.operator([], { timeFactor: 5 });
    await cluster.apply(namespace, aBench('b'));
    await cluster.ready('AppBench', namespace, 'b');
  });

  test('has the scripts of the operator only', async () => {
    const keys = await keysOf('b-config');
    assert.ok(keys.includes('site_init.py'), 'it was taken over');
    assert.ok(!keys.includes('pymysql.py'));
    assert.equal(
      at(await cluster.the('ConfigMap', namespace, 'b-config'), 'binaryData'),
      undefined,
    );
  });

  test('leads to the pods of the bench', async () => {
    const service = await cluster.the('Service', namespace, 'b-nginx');
    assert.equal(at(service, 'spec.type'), 'ClusterIP');
  });

  test('is no generated Secret with the values of another', async () => {
    await cluster.apply(namespace, aSite('given', { bench: 'b', workloads: 'Shared' }));
    const site = await cluster.becomes('AppSite', namespace, 'given', {
      what: 'is Stalled',
      check: (live) => Boolean(conditionOf(live, 'Stalled')),
    });
    assert.equal(
      conditionOf(site, 'Stalled')?.message,
      'Secret given-db exists and was not made by the operator; the operator will not modify it; rename either object',
    );
    const secret = await cluster.the('Secret', namespace, 'given-db');
    assert.deepEqual(secret.data, GIVEN.data);
    assert.equal(await cluster.get('Job', namespace, 'given-init'), undefined);
  });
});

describe('a child that another client changes', () => {
  test('loses a key that the operator did not write', async () => {
    await cluster.patch('ConfigMap', namespace, 'b-config', { data: MODULE });
    await cluster.until('the key is removed', async () => {
      const keys = await keysOf('b-config');
      return keys.includes('site_init.py') && !keys.includes('pymysql.py');
    });
  });

  test('leads to the pods of the bench again', async () => {
    await cluster.patch('Service', namespace, 'b-nginx', {
      spec: {
        type: 'ExternalName',
        externalName: 'evil.example',
        clusterIP: null,
        clusterIPs: null,
      },
    });
    await cluster.until('it is of the type ClusterIP', async () => {
      const service = await cluster.the('Service', namespace, 'b-nginx');
      return at(service, 'spec.type') === 'ClusterIP';
    });
  });
});
