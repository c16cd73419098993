import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { mariaDbCrds, mariaDbStatus, postgresCrds } from './support/database-operators.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';
import type { Operator } from './support/operator.js';

const MADE = ['MariaDbDatabase', 'User', 'Grant'];
const SKIP_DROP = { metadata: { annotations: { 'app-operator.io/skip-drop': 'true' } } };

/** The operators themselves cannot run here: the test writes their statuses, with their messages. */
describe('a database operator', () => {
  let cluster: Cluster;
  let namespace: string;
  let operator: Operator;
  before(async () => {
    cluster = await startCluster({ audit: true });
    namespace = await cluster.namespace();
    operator = await cluster.operator([], { timeFactor: 5 });
    await cluster.apply(
      namespace,
      aBench('m', { dbConfig: { mode: 'operator', mariadbRef: { name: 'company-db' } } }),
      aBench('p', {
        dbConfig: { provider: 'postgres', mode: 'operator', clusterRef: { name: 'company-pg' } },
      }),
      site('shop'),
      site('kept'),
      site('silent'),
      site('stuck', { deletionPolicy: 'Delete' }),
      site('pg', { bench: 'p', deletionPolicy: 'Delete' }),
    );
  });
  after(() => cluster.stop());

  function site(name: string, spec: object = {}): Manifest {
    return aSite(name, {
      bench: 'm',
      workloads: 'Shared',
      dbConfig: { mode: 'operator' },
      ...spec,
    });
  }
  const awaitReason = (
    [kind, name]: readonly [kind: string, name: string],
    type: string,
    reason: string,
    message: RegExp,
  ) =>
    cluster.becomes(kind, namespace, name, {
      what: `reports ${reason} in ${type}`,
      check: (live) => {
        const condition = conditionOf(live, type);
        return condition?.reason === reason && message.test(condition.message);
      },
      timeoutMs: 90_000,
    });
  const answer = (kind: string, name: string, status: object): Promise<Live> =>
    cluster.patchStatus(kind, namespace, name, { status });
  const made = (name: string) =>
    cluster.until(`objects of ${name} are made`, async () => {
      for (const kind of MADE) await cluster.the(kind, namespace, `${name}-db`);
      return true;
    });
  const healthy = async (name: string): Promise<void> => {
    await made(name);
    for (const kind of MADE) {
      await answer(kind, `${name}-db`, mariaDbStatus('True', 'Created', 'Created'));
    }
  };
  const finalizers = (kind: string, name: string, list: readonly string[]): Promise<Live> =>
    cluster.patch(kind, namespace, name, { metadata: { finalizers: list } });

  describe('for MariaDB', () => {
    test('that is not installed is awaited', async () => {
      await awaitReason(
        ['AppBench', 'm'],
        'Ready',
        'DatabaseOperatorMissing',
        /MariaDB of k8s.mariadb.com/,
      );
      await awaitReason(['AppSite', 'shop'], 'Ready', 'DatabaseOperatorMissing', /k8s.mariadb.com/);
    });

    test('without the named server: the bench reports the server as missing', async () => {
      for (const crd of await mariaDbCrds()) await installCrd(cluster, crd);
      const message = /there is no MariaDB "company-db" in namespace/;
      await awaitReason(['AppBench', 'm'], 'Ready', 'DatabaseServerMissing', message);
      await awaitReason(['AppSite', 'shop'], 'Ready', 'DatabaseServerMissing', message);
    });

    test('gets database, user and grant as soon as the server exists', async () => {
      await cluster.apply(namespace, {
        apiVersion: 'k8s.mariadb.com/v1alpha1',
        kind: 'MariaDB',
        metadata: { name: 'company-db' },
        spec: { port: 3306, tls: { enabled: true } },
      });
      await made('shop');
      await awaitReason(['AppSite', 'shop'], 'DatabaseReady', 'Preparing', /^Database shop-db: /);
      const user = await cluster.the('User', namespace, 'shop-db');
      assert.deepEqual(at(user, 'spec.passwordSecretKeyRef'), { name: 'shop-db', key: 'password' });
      const grant = await cluster.the('Grant', namespace, 'shop-db');
      assert.match(String(at(grant, 'spec.database')), /^s_shop_[0-9a-f]{10}$/);
      const secret = await cluster.the('Secret', namespace, 'shop-db');
      assert.equal(secret.metadata.labels?.['k8s.mariadb.com/watch'], '');
      for (const kind of MADE) {
        const { spec } = await cluster.the(kind, namespace, 'shop-db');
        assert.equal(at(spec, 'cleanupPolicy'), 'Skip');
        assert.equal(at(spec, 'mariaDbRef.name'), 'company-db');
      }
    });

    test('whose server is not ready is awaited, with its message', async () => {
      const why = mariaDbStatus('False', 'StatefulSetNotReady', 'Not ready');
      await answer('MariaDB', 'company-db', why);
      const words = /^MariaDB company-db: Not ready$/;
      await awaitReason(['AppSite', 'shop'], 'DatabaseReady', 'DatabaseServerNotReady', words);
      await answer('MariaDB', 'company-db', mariaDbStatus('True', 'StatefulSetReady', 'Running'));
      await awaitReason(
        ['AppSite', 'shop'],
        'DatabaseReady',
        'Preparing',
        /has not observed it yet$/,
      );
    });

    test('that cannot create a user: its message is shown, and no further object is made', async () => {
      const why =
        "Error creating shop-db: error creating user in MariaDB: Error 1396 (HY000): Operation CREATE USER failed for 's_shop'@'%'";
      await answer('MariaDbDatabase', 'shop-db', mariaDbStatus('True', 'Created', 'Created'));
      await answer('User', 'shop-db', mariaDbStatus('False', 'Failed', why));
      const words = /^User shop-db: Error creating shop-db: .*Error 1396/;
      await awaitReason(['AppSite', 'shop'], 'DatabaseReady', 'Preparing', words);
      await awaitReason(['AppSite', 'shop'], 'Ready', 'Provisioning', /Error 1396/);
      assert.equal(await cluster.get('Job', namespace, 'shop-init'), undefined);
    });

    test('that has finished: the site continues', async () => {
      for (const name of ['shop', 'kept', 'stuck']) await healthy(name);
      await cluster.ready('AppBench', namespace, 'm');
      for (const name of ['shop', 'kept', 'stuck']) await cluster.ready('AppSite', namespace, name);
      const live = await awaitReason(
        ['AppSite', 'shop'],
        'DatabaseReady',
        'Prepared',
        /^database s_shop_/,
      );
      const host = `company-db.${namespace}.svc.cluster.local`;
      assert.equal(at(live, 'status.database.host'), host);
      const job = await cluster.the('Job', namespace, 'shop-init');
      const [container] = at(job, 'spec.template.spec.containers') as readonly {
        readonly env: readonly { readonly name: string; readonly value?: string }[];
      }[];
      const values = new Map(container?.env.map(({ name, value }) => [name, value]));
      assert.equal(values.get('DB_HOST'), host);
      assert.ok(!values.has('DB_ROOT_PASSWORD'));
    });

    test('is watched, never polled', async () => {
      const requests = (await cluster.calls()).filter(
        ({ verb, objectRef }) => verb === 'get' && objectRef?.apiGroup === 'k8s.mariadb.com',
      );
      assert.deepEqual(
        requests.filter(({ objectRef }) => objectRef?.name),
        [],
      );
    });

    test('moves its server, and bench and sites follow', async () => {
      const spec = { replication: { enabled: true }, port: 3307 };
      await cluster.patch('MariaDB', namespace, 'company-db', { spec });
      const host = `company-db-primary.${namespace}.svc.cluster.local`;
      await cluster.becomes('AppSite', namespace, 'shop', {
        what: 'has followed',
        check: (live) => at(live, 'status.database.host') === host,
      });
      await cluster.ready('AppBench', namespace, 'm');
      await cluster.ready('AppSite', namespace, 'shop');
    });

    test('has its objects reverted after foreign changes', async () => {
      await cluster.patch('User', namespace, 'shop-db', { spec: { maxUserConnections: 3 } });
      await cluster.until('it is repaired', async () => {
        const user = await cluster.the('User', namespace, 'shop-db');
        return at(user, 'spec.maxUserConnections') === 1000;
      });
    });

    test('gets a changed deletion policy', async () => {
      const policies = async (): Promise<readonly unknown[]> => {
        const objects = await Promise.all(
          MADE.map((kind) => cluster.the(kind, namespace, 'shop-db')),
        );
        return objects.map(({ spec, metadata }) => [
          at(spec, 'cleanupPolicy'),
          metadata.ownerReferences?.length ?? 0,
          metadata.labels?.['app-operator.io/retain'],
        ]);
      };
      for (const [deletionPolicy, wanted] of [
        ['Delete', ['Delete', 1, 'false']],
        ['Retain', ['Skip', 0, 'true']],
        ['Delete', ['Delete', 1, 'false']],
      ] as const) {
        await cluster.patch('AppSite', namespace, 'shop', { spec: { deletionPolicy } });
        await cluster.until(`all have ${deletionPolicy}`, async () => {
          assert.deepEqual(await policies(), [wanted, wanted, wanted]);
          return true;
        });
      }
    });

    test('drops the database of a deleted site before the site is deleted', async () => {
      for (const kind of MADE) await finalizers(kind, 'shop-db', ['k8s.mariadb.com/held']);
      await cluster.delete('AppSite', namespace, 'shop');
      const words =
        /waiting for the operator of \w+ shop-db to delete it; to skip this, annotate the resource with app-operator.io\/skip-drop=true/;
      await awaitReason(['AppSite', 'shop'], 'Ready', 'Deleting', words);
      for (const kind of MADE) {
        const { metadata } = await cluster.the(kind, namespace, 'shop-db');
        assert.ok(metadata.deletionTimestamp, kind);
        await finalizers(kind, 'shop-db', []);
      }
      await cluster.deleted('AppSite', namespace, 'shop');
      for (const kind of MADE) await cluster.deleted(kind, namespace, 'shop-db');
    });

    test('that does not run blocks the deletion of a site until skip-drop is set', async () => {
      for (const kind of MADE) await finalizers(kind, 'stuck-db', ['k8s.mariadb.com/held']);
      await cluster.delete('AppSite', namespace, 'stuck');
      await awaitReason(['AppSite', 'stuck'], 'Ready', 'Deleting', /waiting for the operator of/);
      await cluster.patch('AppSite', namespace, 'stuck', SKIP_DROP);
      await cluster.deleted('AppSite', namespace, 'stuck');
      assert.ok(await cluster.get('MariaDbDatabase', namespace, 'stuck-db'), 'its own matter');
      for (const kind of MADE) await finalizers(kind, 'stuck-db', []);
    });

    test('keeps the database of a deleted site, and a later site adopts it', async () => {
      const before = await cluster.the('MariaDbDatabase', namespace, 'kept-db');
      const set = (spec: object): Promise<Live> =>
        cluster.patch('AppSite', namespace, 'kept', { spec });
      await set({ deletionPolicy: 'Delete' });
      await cluster.until('it would be dropped', async () => {
        const { spec } = await cluster.the('MariaDbDatabase', namespace, 'kept-db');
        return at(spec, 'cleanupPolicy') === 'Delete';
      });
      await set({ paused: true });
      await set({ deletionPolicy: 'Retain' });
      await cluster.delete('AppSite', namespace, 'kept');
      await set({ paused: false });
      await cluster.deleted('AppSite', namespace, 'kept');
      const left = await cluster.the('MariaDbDatabase', namespace, 'kept-db');
      assert.equal(at(left, 'spec.cleanupPolicy'), 'Skip');
      assert.equal(left.metadata.deletionTimestamp, undefined);
      await cluster.apply(namespace, site('kept'));
      await cluster.ready('AppSite', namespace, 'kept');
      const again = await cluster.the('MariaDbDatabase', namespace, 'kept-db');
      assert.equal(again.metadata.uid, before.metadata.uid);
    });

    test('has an object of this name with another owner: the object stays', async () => {
      await cluster.apply(namespace, {
        apiVersion: 'k8s.mariadb.com/v1alpha1',
        kind: 'Grant',
        metadata: { name: 'taken-db' },
        spec: { mariaDbRef: { name: 'x' }, privileges: ['SELECT'], username: 'x' },
      });
      await cluster.apply(namespace, site('taken'));
      await awaitReason(['AppSite', 'taken'], 'Ready', 'NameTaken', /^Grant taken-db exists/);
      const { spec } = await cluster.the('Grant', namespace, 'taken-db');
      assert.deepEqual(at(spec, 'privileges'), ['SELECT']);
    });

    test('that has not observed its object for a minute is reported', async () => {
      const words = /^Database silent-db: its operator has not observed it for a minute/;
      // In place of a minute: an operator that finds the object older than that.
      await operator.stop();
      const later = await cluster.operator([], { clockAheadMs: 60_000 });
      await awaitReason(['AppSite', 'silent'], 'DatabaseReady', 'OperatorSilent', words);
      await later.stop();
      await cluster.operator([], { timeFactor: 5 });
    });

    test('that is uninstalled leaves the site as it is, and is used again afterwards', async () => {
      const crds = await mariaDbCrds();
      const [databases] = crds;
      assert.ok(databases);
      await cluster.delete('CustomResourceDefinition', '', databases.metadata.name);
      await awaitReason(['AppSite', 'kept'], 'Ready', 'DatabaseOperatorMissing', /Database of k8s/);
      assert.ok(await cluster.get('Secret', namespace, 'kept-db'));
      await installCrd(cluster, databases);
      await healthy('kept');
      await cluster.ready('AppSite', namespace, 'kept');
    });
  });

  describe('for PostgreSQL', () => {
    const applied = { applied: true, observedGeneration: 1 };
    test('that is too old is awaited', async () => {
      const [databases, , clusters] = await postgresCrds();
      assert.ok(databases && clusters);
      for (const crd of [databases, clusters]) await installCrd(cluster, crd);
      await cluster.apply(namespace, {
        apiVersion: 'postgresql.cnpg.io/v1',
        kind: 'Cluster',
        metadata: { name: 'company-pg' },
        spec: { instances: 1 },
      });
      await cluster.ready('AppBench', namespace, 'p');
      const words = /does not serve DatabaseRole of .*: install CloudNativePG 1.30 or newer$/;
      await awaitReason(['AppSite', 'pg'], 'Ready', 'DatabaseOperatorMissing', words);
    });

    test('gets the role first, with a Secret that names its owner', async () => {
      const [, roles] = await postgresCrds();
      assert.ok(roles);
      await installCrd(cluster, roles);
      const role = await cluster.until('the role is requested', () =>
        cluster.get('DatabaseRole', namespace, 'pg-db'),
      );
      assert.equal(at(role, 'spec.login'), true);
      assert.equal(at(role, 'spec.databaseRoleReclaimPolicy'), 'delete');
      const secret = await cluster.until('its Secret', () =>
        cluster.get('Secret', namespace, 'pg-db'),
      );
      assert.equal(at(role, 'spec.passwordSecret.name'), 'pg-db');
      const { username = '', password = '' } = secret.data ?? {};
      assert.equal(Buffer.from(username, 'base64').toString(), at(role, 'spec.name'));
      assert.equal(Buffer.from(password, 'base64').length, 32);
      assert.equal(secret.metadata.labels?.['cnpg.io/reload'], 'true');
      assert.equal(await cluster.get('PostgresDatabase', namespace, 'pg-db'), undefined);
    });

    test('that refuses: its message is shown', async () => {
      const message = 'database role is already managed by the CNPG cluster';
      await answer('DatabaseRole', 'pg-db', { applied: false, message });
      const words = /^DatabaseRole pg-db: database role is already managed by the CNPG cluster$/;
      await awaitReason(['AppSite', 'pg'], 'DatabaseReady', 'Preparing', words);
    });

    test('that has finished: the site continues', async () => {
      await answer('DatabaseRole', 'pg-db', { ...applied, message: '' });
      const database = await cluster.until('the database is requested', () =>
        cluster.get('PostgresDatabase', namespace, 'pg-db'),
      );
      const role = await cluster.the('DatabaseRole', namespace, 'pg-db');
      assert.equal(at(database, 'spec.owner'), at(role, 'spec.name'));
      assert.equal(at(database, 'spec.databaseReclaimPolicy'), 'delete');
      await answer('PostgresDatabase', 'pg-db', applied);
      const live = await cluster.ready('AppSite', namespace, 'pg');
      assert.equal(conditionOf(live, 'DatabaseReady')?.reason, 'Prepared');
      const host = `company-pg-rw.${namespace}.svc.cluster.local`;
      assert.deepEqual(at(live, 'status.database'), {
        provider: 'postgres',
        host,
        port: 5432,
        name: at(role, 'spec.name'),
      });
    });

    test('drops the database before the role that owns it', async () => {
      await finalizers('PostgresDatabase', 'pg-db', ['cnpg.io/held']);
      await finalizers('DatabaseRole', 'pg-db', ['cnpg.io/held']);
      await cluster.delete('AppSite', namespace, 'pg');
      await awaitReason(
        ['AppSite', 'pg'],
        'Ready',
        'Deleting',
        /waiting for the operator of Database pg-db to delete it/,
      );
      const role = await cluster.the('DatabaseRole', namespace, 'pg-db');
      assert.equal(role.metadata.deletionTimestamp, undefined);
      await finalizers('PostgresDatabase', 'pg-db', []);
      await awaitReason(
        ['AppSite', 'pg'],
        'Ready',
        'Deleting',
        /waiting for the operator of DatabaseRole pg-db to delete it/,
      );
      await finalizers('DatabaseRole', 'pg-db', []);
      await cluster.deleted('AppSite', namespace, 'pg');
    });
  });
});
