import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';

import { at, conditionOf, type Manifest } from '../cluster/support/objects.js';
import { seconds } from '../support/figures.js';
import { type E2e, e2e, skip } from './harness.js';
import {
  benchOf,
  folderOf,
  ONE_QUEUE,
  type Place,
  secretValue,
  siteOf,
  SiteUser,
  sql,
} from './support/bench.js';
import { cleanUp } from './support/benches.js';
import type { ServerPod } from './support/database-client.js';
import { checksumsOf } from './support/database-content.js';
import { outsidePod } from './support/outside-pod.js';

const API = 'app-operator.io/v1alpha1';
const HOST = 'old.example.com';

suite('a backup of the framework', { skip }, () => {
  let cluster: E2e;
  let place: Place;
  let old: SiteUser;
  let database: string;

  before(async () => {
    cluster = await e2e();
    place = { namespace: await cluster.namespace(), bench: 'bench' };
    await cluster.apply(
      place.namespace,
      // A scheduler would write to the database between the backup and its comparison.
      benchOf('bench', { componentReplicas: { ...ONE_QUEUE.componentReplicas, scheduler: 0 } }),
      siteOf('bench', 'old', { workloads: 'Shared' }),
      inOld('SiteUser', 'ada', {
        email: 'ada@example.com',
        firstName: 'Ada',
        roles: ['System Manager'],
        apiKeySecretRef: { name: 'ada-api' },
      }),
      ...uploadsClaim(),
    );
    const site = await cluster.ready('AppSite', place.namespace, 'old', 240_000);
    database = String(at(site, 'status.database.name'));
    await cluster.ready('SiteUser', place.namespace, 'ada', 120_000);
    old = new SiteUser(cluster, place, 'old');
    await old.answers();
    await old.remember('a row to keep');
    for (const isPrivate of [true, false]) {
      assert.equal((await old.upload(`kept-${isPrivate}.txt`, 'to keep', isPrivate)).status, 200);
    }
  });

  after(() => cleanUp(cluster, place.namespace));

  const inOld = (
    kind: string,
    name: string,
    spec: Readonly<Record<string, unknown>>,
  ): Manifest => ({
    apiVersion: API,
    kind,
    metadata: { name },
    spec: { siteRef: { name: 'old' }, ...spec },
  });

  /** A claim, and a pod whose node the volume is made on. */
  function uploadsClaim(): readonly Manifest[] {
    const pod = outsidePod('uploader');
    const volumes = [{ name: 'uploads', persistentVolumeClaim: { claimName: 'uploads' } }];
    return [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'uploads' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
      { ...pod, spec: { ...(pod['spec'] as object), volumes } },
    ];
  }

  /** Backs the site up by the framework's own command, and puts the files into a folder of the claim. */
  async function uploaded(folder: string): Promise<readonly string[]> {
    const { namespace } = place;
    const command = ['backup', '--with-files'];
    await cluster.apply(namespace, inOld('SiteJob', folder, { command }));
    await cluster.becomes('SiteJob', namespace, folder, {
      what: 'has backed up',
      check: (live) => at(live, 'status.phase') === 'Succeeded',
      timeoutMs: 120_000,
    });
    const sites = await folderOf(cluster, namespace, 'bench-sites');
    const backups = path.join(sites, HOST, 'private/backups');
    const target = path.join(await folderOf(cluster, namespace, 'uploads'), folder);
    const names = readdirSync(backups);
    execFileSync('mv', [backups, target]);
    execFileSync('mkdir', [backups]);
    execFileSync('chown', ['--reference', target, backups]);
    execFileSync('chmod', ['-R', 'a+rX', target]);
    return names.map((name) => name.replace(/^\d{8}_\d{6}-old_example_com-/, '')).sort();
  }

  /** Makes a site of a folder of the claim, and compares it with the old one. */
  async function imports(name: string): Promise<void> {
    const { namespace } = place;
    const start = performance.now();
    const archive = { pvc: { claimName: 'uploads', prefix: name } };
    const site = siteOf('bench', name, { workloads: 'Shared', restoreFrom: { archive } });
    await cluster.apply(namespace, site);
    const live = await cluster.ready('AppSite', namespace, name, 240_000);
    cluster.figures.add(`a site imported: ${name}`, seconds(performance.now() - start));
    const user = new SiteUser(cluster, place, name);
    await user.answers();
    assert.equal(await user.remembers('a row to keep'), 1);
    for (const file of ['/private/files/kept-true.txt', '/files/kept-false.txt']) {
      const { status, body } = await user.read(file);
      assert.deepEqual([file, status, body], [file, 200, 'to keep']);
    }
    const key = await secretValue(cluster, namespace, 'ada-api', 'api-key');
    const secret = await secretValue(cluster, namespace, 'ada-api', 'api-secret');
    const who = await cluster.request(
      namespace,
      'bench',
      { host: `${name}.example.com`, path: '/api/method/frappe.auth.get_logged_user' },
      { headers: { authorization: `token ${key}:${secret}` } },
    );
    assert.deepEqual(JSON.parse(who.body), { message: 'ada@example.com' }, 'secrets are readable');
    const restored = conditionOf(live, 'Restored') ?? assert.fail('no condition Restored');
    assert.equal(restored.reason, 'Restored');
    assert.match(restored.message, new RegExp(`^pvc://uploads/${name}/[^;]+\\.sql\\.gz$`));
    const server: ServerPod = { namespace, pod: 'bench-db-0', provider: 'mariadb' };
    const before = await checksumsOf(cluster, server, database);
    const now = await checksumsOf(cluster, server, String(at(live, 'status.database.name')));
    const other = now.filter((row) => !before.includes(row)).map((row) => row.split('\t')[0]);
    // Administrator has another password, and a migration is noted, in the settings too.
    const expected = ['tabInstalled Application', 'tabUser', 'tabSingles'];
    assert.equal(now.length, before.length);
    assert.deepEqual(
      other.filter((table) => !expected.includes(table ?? '')),
      [],
    );
  }

  test('made without encryption becomes a site, with each row, file and stored secret', async () => {
    assert.deepEqual(await uploaded('plain'), [
      'database.sql.gz',
      'files.tar',
      'private-files.tar',
      'site_config_backup.json',
    ]);
    await imports('plain');
  });

  test('that the framework has encrypted becomes a site too', async () => {
    await sql(
      cluster,
      place,
      `USE \`${database}\`; INSERT INTO tabSingles (doctype, field, value) VALUES ('System Settings', 'encrypt_backup', '1')`,
    );
    assert.deepEqual(await uploaded('sealed'), [
      'database-enc.sql.gz',
      'files-enc.tar',
      'private-files-enc.tar',
      'site_config_backup-enc.json',
    ]);
    await imports('sealed');
  });
});
