import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { before, suite, test } from 'node:test';

import { conditionOf, nameOf, type Live } from '../cluster/support/objects.js';
import { seconds } from '../support/figures.js';
import { type E2e, e2e, skip } from './harness.js';
import {
  benchOf,
  folderOf,
  makeBench,
  ONE_QUEUE,
  type Place,
  secretValue,
  siteOf,
  SiteUser,
  sql,
} from './support/bench.js';

const SKIP_DROP = 'app-operator.io/skip-drop';
/** How long what is deleted may take to go. */
const DELETED_MS = 240_000;
/** The drop Job waits two minutes for a server before it gives up. */
const GIVES_UP_MS = 300_000;

suite('removal', { skip, concurrency: true }, () => {
  let cluster: E2e;

  before(async () => {
    cluster = await e2e();
  });

  /** A bench with Shared sites that have stored a row and a file each. */
  async function make(
    bench: Readonly<Record<string, unknown>>,
    sites: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ): Promise<Place> {
    const shared: Record<string, Readonly<Record<string, unknown>>> = {};
    for (const name of Object.keys(sites)) shared[name] = { workloads: 'Shared', ...sites[name] };
    const { place, users } = await makeBench(cluster, bench, shared);
    for (const [name, user] of Object.entries(users)) {
      assert.equal((await user.upload('kept.txt', `file of ${name}`)).status, 200);
    }
    return place;
  }

  /** What a site stored is there, for the password that it had. */
  async function isAsBefore(place: Place, name: string, password: string): Promise<void> {
    const user = new SiteUser(cluster, place, name);
    await cluster.ready('AppSite', place.namespace, name);
    await user.answers();
    assert.equal(await user.login(password), 200, 'the password is the one before');
    assert.equal(await user.remembers(`row of ${name}`), 1);
    const { status, body } = await user.read('/private/files/kept.txt');
    assert.deepEqual([status, body], [200, `file of ${name}`]);
  }

  async function databaseOf(place: Place, site: string): Promise<string> {
    const { status } = await cluster.the('AppSite', place.namespace, site);
    const { name } = status?.['database'] as { readonly name: string };
    assert.ok(name, `${site} says which database it has`);
    return name;
  }

  async function inServer(place: Place, database: string): Promise<string[]> {
    const rows = await sql(
      cluster,
      place,
      `SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '${database}';
       SELECT CONCAT('user ', User) FROM mysql.user WHERE User = '${database}';
       SELECT CONCAT('right ', Db) FROM mysql.db WHERE REPLACE(Db, '\\\\', '') = '${database}';`,
    );
    return rows;
  }

  const password = ({ namespace }: Place, site: string): Promise<string> =>
    secretValue(cluster, namespace, `${site}-admin-password`, 'password');

  async function ownedBy(namespace: string, owner: string): Promise<string[]> {
    const objects = await cluster.everything(namespace, `app-operator.io/owner=${owner}`);
    return objects.map((object) => nameOf(object));
  }

  test('sites: one is retained and adopted, one is deleted with its data; then the same with the bench', async () => {
    const place = await make(
      { deletionPolicy: 'Retain' },
      { kept: {}, deleted: { deletionPolicy: 'Delete' } },
    );
    const { namespace } = place;
    const volume = await folderOf(cluster, namespace, 'bench-sites');
    const databases = {
      kept: await databaseOf(place, 'kept'),
      deleted: await databaseOf(place, 'deleted'),
    };
    const secret = await password(place, 'kept');
    assert.deepEqual(
      (await inServer(place, databases.deleted)).length,
      3,
      'database, user and right',
    );

    await cluster.figures.time('a site with Delete removed', async () => {
      await cluster.delete('AppSite', namespace, 'deleted');
      await cluster.deleted('AppSite', namespace, 'deleted', DELETED_MS);
    });
    assert.deepEqual(await inServer(place, databases.deleted), []);
    assert.deepEqual(await mentions(volume, 'deleted'), []);
    await cluster.until('the objects of the site to be deleted', async () => {
      const left = await ownedBy(namespace, 'AppSite.deleted');
      if (left.length > 0) throw new Error(left.join(', '));
      return true;
    });
    // Until nginx has the new configuration, gunicorn answers; version 16 has read the site's before.
    await cluster.until('the host to be unknown', async () => {
      const target = { host: 'deleted.example.com', path: '/' };
      return (await cluster.request(namespace, 'bench', target)).status === 404;
    });

    await cluster.delete('AppSite', namespace, 'kept');
    await cluster.deleted('AppSite', namespace, 'kept', DELETED_MS);
    assert.equal((await inServer(place, databases.kept)).length, 3);
    assert.ok(existsSync(path.join(volume, 'kept.example.com/private/files/kept.txt')));
    await cluster.apply(namespace, siteOf('bench', 'kept', { workloads: 'Shared' }));
    await isAsBefore(place, 'kept', secret);

    await cluster.delete('AppBench', namespace, 'bench');
    const waiting = await cluster.becomes('AppBench', namespace, 'bench', {
      what: 'says that it waits for its site',
      check: (bench) => conditionOf(bench, 'Ready')?.message.includes('kept') === true,
    });
    assert.equal(conditionOf(waiting, 'Ready')?.reason, 'SitesExist');
    const kept = new SiteUser(cluster, place, 'kept');
    assert.equal(await kept.ping(), 200, 'the site of a bench that waits is served');
    await cluster.delete('AppSite', namespace, 'kept');
    await cluster.deleted('AppSite', namespace, 'kept', DELETED_MS);
    await cluster.deleted('AppBench', namespace, 'bench', DELETED_MS);
    assert.equal((await inServer(place, databases.kept)).length, 3, 'the server runs on');
    assert.equal(await folderOf(cluster, namespace, 'bench-sites'), volume);

    await cluster.apply(
      namespace,
      benchOf('bench', { ...ONE_QUEUE, deletionPolicy: 'Delete' }),
      siteOf('bench', 'kept', { workloads: 'Shared' }),
    );
    await isAsBefore(place, 'kept', secret);
    assert.equal(await folderOf(cluster, namespace, 'bench-sites'), volume);

    await cluster.delete('AppSite', namespace, 'kept');
    await cluster.delete('AppBench', namespace, 'bench');
    await cluster.deleted('AppSite', namespace, 'kept', DELETED_MS);
    await cluster.deleted('AppBench', namespace, 'bench', DELETED_MS);
    await cluster.until(
      'nothing of the bench to be left',
      async () => {
        const left = (await cluster.everything(namespace)).filter(
          (object) => !isRetained(object, 'AppSite.kept'),
        );
        const pods = await cluster.pods(namespace);
        if (left.length + pods.length > 0) throw new Error([...left, ...pods].map(nameOf).join());
        return !existsSync(volume);
      },
      DELETED_MS,
    );
    await cluster.delete('Namespace', '', namespace);
  });

  test('a dedicated server: kept with its site, and deleted with it', async () => {
    const place = await make(
      {},
      { own: { ...ONE_QUEUE, dbConfig: { mode: 'dedicated' }, workloads: 'Dedicated' } },
    );
    const { namespace } = place;
    const secret = await password(place, 'own');
    const folder = await folderOf(cluster, namespace, 'own-db-data');
    await cluster.delete('AppSite', namespace, 'own');
    await cluster.deleted('AppSite', namespace, 'own', DELETED_MS);
    assert.ok(existsSync(folder), 'the data is kept');
    const again = { ...ONE_QUEUE, dbConfig: { mode: 'dedicated' }, deletionPolicy: 'Delete' };
    await cluster.apply(namespace, siteOf('bench', 'own', again));
    await isAsBefore(place, 'own', secret);
    assert.equal(await folderOf(cluster, namespace, 'own-db-data'), folder);

    await cluster.delete('AppSite', namespace, 'own');
    await cluster.deleted('AppSite', namespace, 'own', DELETED_MS);
    await cluster.until(
      'nothing of the site to be left',
      async () => {
        const left = await ownedBy(namespace, 'AppSite.own');
        if (left.length > 0) throw new Error(left.join(', '));
        return !existsSync(folder);
      },
      DELETED_MS,
    );
    assert.deepEqual(await mentions(await folderOf(cluster, namespace, 'bench-sites'), 'own'), []);
    await cluster.delete('Namespace', '', namespace);
  });

  test('a drop that cannot work reports it, and can be skipped', async () => {
    const place = await make({}, { stuck: { deletionPolicy: 'Delete' } });
    const { namespace } = place;
    const volume = await folderOf(cluster, namespace, 'bench-sites');
    const database = await databaseOf(place, 'stuck');
    // The bench is paused, so that the operator does not create the server again.
    await cluster.patch('AppBench', namespace, 'bench', { spec: { paused: true } });
    await cluster.becomes('AppBench', namespace, 'bench', {
      what: 'is paused',
      check: (bench) => Boolean(conditionOf(bench, 'Paused')),
    });
    await cluster.patch('StatefulSet', namespace, 'bench-db', { spec: { replicas: 0 } });
    await cluster.deleted('Pod', namespace, 'bench-db-0', DELETED_MS);
    await cluster.delete('AppSite', namespace, 'stuck');
    const begun = performance.now();
    const site = await cluster.becomes('AppSite', namespace, 'stuck', {
      what: 'says why it cannot be dropped',
      check: (stuck) =>
        conditionOf(stuck, 'Ready')?.message.includes('DatabaseUnreachable') === true,
      timeoutMs: GIVES_UP_MS,
    });
    cluster.figures.add(
      'drop without the server: until the status reports it',
      seconds(performance.now() - begun),
    );
    assert.match(conditionOf(site, 'Ready')?.message ?? '', /bench-db/);
    assert.equal(site.status?.['phase'], 'Deleting');
    assert.ok(
      existsSync(path.join(volume, 'stuck.example.com')),
      'the files wait for the database',
    );

    await cluster.patch('AppSite', namespace, 'stuck', {
      metadata: { annotations: { [SKIP_DROP]: 'true' } },
    });
    await cluster.deleted('AppSite', namespace, 'stuck', 180_000);
    await cluster.patch('AppBench', namespace, 'bench', { spec: { paused: false } });
    await cluster.ready('AppBench', namespace, 'bench');
    assert.equal((await inServer(place, database)).length, 3, 'released, not dropped');
    await cluster.delete('Namespace', '', namespace);
  });
});

function isRetained({ kind, metadata }: Live, owner: string): boolean {
  const { labels = {} } = metadata;
  return kind === 'Secret' && labels['app-operator.io/owner'] === owner;
}

/**
 * What of a site is on its bench's volume, anywhere. The empty file that its Jobs lock stays: to
 * remove it would let two Jobs of one site run at once.
 */
async function mentions(volume: string, site: string): Promise<string[]> {
  const host = `${site}.example.com`;
  const files = await readdir(volume, { recursive: true });
  return files.filter((file) => file.includes(host) && file !== `.app-operator/${host}.lock`);
}
