import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { hashOf } from '../../constructs/kit/json/hash.js';
import { completePods, release } from '../../testbed/controlplane/pods.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite, API_VERSION } from './support/builders.js';
import { failPods, giveUp, release as endFault } from './support/interference.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';

const NAME = '20250131T120000Z';
const FAILURE =
  'app-operator: MigrationFailed: stays in maintenance, with the data of the backup: boom\n';
const S3 = {
  endpoint: 'https://s3.example.com',
  bucket: 'backups',
  secretRef: { name: 'store-login' },
};

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
  await cluster.operator([], { timeFactor: 5 });
});
after(() => cluster.stop());

/** A SiteBackup of a site that does not exist: only its store is read. */
const aBackup = (name: string): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'SiteBackup',
  metadata: { name },
  spec: { siteRef: { name: 'gone' }, destination: { s3: S3 } },
});

const login = aSecret('store-login', { 'access-key-id': 'a', 'secret-access-key': 'b' });

type Spec = Readonly<Record<string, unknown>>;
const shop = (name: string, restoreFrom?: Spec): Manifest =>
  aSite(name, { bench: 'b', workloads: 'Shared', ...(restoreFrom ? { restoreFrom } : {}) });

async function aBenchIn(): Promise<string> {
  const namespace = await cluster.namespace();
  await cluster.apply(namespace, aBench('b'));
  await cluster.ready('AppBench', namespace, 'b');
  return namespace;
}

const awaitReason = (namespace: string, site: string, reason: string): Promise<Live> =>
  cluster.becomes('AppSite', namespace, site, {
    what: `reports ${reason}`,
    check: (live) => conditionOf(live, 'Restored')?.reason === reason,
    timeoutMs: 60_000,
  });

async function envOf(namespace: string, job: string): Promise<Readonly<Record<string, string>>> {
  const env = at(
    await cluster.the('Job', namespace, job),
    'spec.template.spec.containers[0].env',
  ) as readonly { readonly name: string; readonly value?: string }[];
  return Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));
}

const uidOf = async (namespace: string, job: string): Promise<unknown> =>
  at(await cluster.the('Job', namespace, job), 'metadata.uid');

/** The termination message of site_init.py after a restore. */
const terminationMessage = (request: string, before?: string): string =>
  `app-operator: Succeeded: ${JSON.stringify({
    created: before === undefined,
    restored: {
      name: NAME,
      time: '2025-02-01T09:00:00Z',
      location: `s3://backups/x/${NAME}`,
      encryptionKey: 'Backup',
      requests: [request],
      ...(before === undefined ? {} : { before }),
    },
  })}`;

describe('a restore', () => {
  test('into a new site waits for its SiteBackup and Secret, runs once, and is recorded', async () => {
    const namespace = await aBenchIn();
    await cluster.apply(namespace, shop('new', { backupRef: { name: 'nightly' } }));
    await awaitReason(namespace, 'new', 'BackupMissing');
    await cluster.becomes('AppSite', namespace, 'new', {
      what: 'says what holds it',
      check: (live) =>
        (conditionOf(live, 'Ready')?.message ?? '').includes(
          'there is no SiteBackup "nightly" in namespace',
        ),
    });
    assert.equal(await cluster.get('Job', namespace, 'new-init'), undefined);
    await cluster.apply(namespace, aBackup('nightly'));
    await awaitReason(namespace, 'new', 'SecretMissing');
    assert.equal(await cluster.get('Job', namespace, 'new-init'), undefined);
    const id = hashOf(['nightly', null, null, '']);
    const ends = await completePods(
      cluster.controlPlane,
      { 'job-name': 'new-init' },
      terminationMessage(id),
    );
    await cluster.apply(namespace, login);
    const done = await awaitReason(namespace, 'new', 'Restored');
    await release(cluster.controlPlane, ends);
    const env = await envOf(namespace, 'new-init');
    assert.deepEqual(
      [env['RESTORE_ID'], env['STORE_PREFIX'], env['RESTORE_OWNER'], env['RESTORE_CONFIRMED']],
      [id, `${namespace}/gone`, `${namespace}/nightly`, undefined],
    );
    assert.deepEqual(at(done, 'status.restored'), {
      name: NAME,
      time: '2025-02-01T09:00:00Z',
      from: `s3://backups/x/${NAME}`,
      encryptionKey: 'Backup',
      requests: [id],
    });
    await cluster.ready('AppSite', namespace, 'new');
    const job = await uidOf(namespace, 'new-init');
    await cluster.delete('SiteBackup', namespace, 'nightly');
    await cluster.patch('AppSite', namespace, 'new', {
      metadata: { labels: { touched: 'yes' } },
    });
    await cluster.ready('AppSite', namespace, 'new');
    assert.equal(await uidOf(namespace, 'new-init'), job, 'what was restored is not run again');
    assert.equal(
      conditionOf(await cluster.the('AppSite', namespace, 'new'), 'Restored')?.reason,
      'Restored',
    );
  });

  test('over an existing site needs a confirmation, and does not mount the store without it', async () => {
    const namespace = await aBenchIn();
    await cluster.apply(namespace, login, shop('old'));
    await cluster.ready('AppSite', namespace, 'old');
    const restoreFrom = { source: { s3: { ...S3, prefix: 'x' } }, name: NAME };
    await cluster.apply(namespace, shop('old', { ...restoreFrom, confirm: 'old.example' }));
    await awaitReason(namespace, 'old', 'RestoreNotConfirmed');
    await cluster.ready('AppSite', namespace, 'old');
    const refused = await envOf(namespace, 'old-init');
    assert.deepEqual(
      [refused['RESTORE_CONFIRMED'], refused['STORE_PREFIX']],
      [undefined, undefined],
    );
    const id = refused['RESTORE_ID'] ?? '';
    const ends = await completePods(
      cluster.controlPlane,
      { 'job-name': 'old-init' },
      terminationMessage(id, 'old.example.com/private/restores/x/before'),
    );
    await cluster.apply(namespace, shop('old', { ...restoreFrom, confirm: 'old.example.com' }));
    const done = await awaitReason(namespace, 'old', 'Restored');
    await release(cluster.controlPlane, ends);
    const env = await envOf(namespace, 'old-init');
    assert.deepEqual(
      [env['RESTORE_ID'], env['RESTORE_CONFIRMED'], env['STORE_PREFIX']],
      [id, '1', 'x'],
    );
    assert.equal(at(done, 'status.restored.before'), 'old.example.com/private/restores/x/before');
    await cluster.apply(
      namespace,
      shop('old', { ...restoreFrom, confirm: 'old.example.com again' }),
    );
    await cluster.until('another request', async () => {
      const now = await envOf(namespace, 'old-init').catch(() => undefined);
      return now !== undefined && now['RESTORE_ID'] !== id && now['RESTORE_CONFIRMED'] === '1';
    });
  });

  test('that fails reports the closed site, which opens without restoreFrom', async () => {
    const namespace = await aBenchIn();
    await cluster.apply(namespace, login, shop('ill'));
    await cluster.ready('AppSite', namespace, 'ill');
    const fault = await failPods(cluster, { 'job-name': 'ill-init' }, { message: FAILURE });
    await cluster.apply(namespace, shop('ill', { source: { s3: S3 }, confirm: 'ill.example.com' }));
    await cluster.until('the Job of the restore', async () => {
      const env = await envOf(namespace, 'ill-init').catch(() => undefined);
      return env?.['RESTORE_CONFIRMED'] === '1';
    });
    await giveUp(cluster, namespace, 'ill-init');
    const failed = await cluster.becomes('AppSite', namespace, 'ill', {
      what: 'is closed, with a Maintenance condition',
      check: (live) => conditionOf(live, 'Maintenance')?.reason === 'Restoring',
      timeoutMs: 90_000,
    });
    assert.equal(conditionOf(failed, 'Stalled')?.reason, 'MigrationFailed');
    assert.equal(conditionOf(failed, 'Restored')?.reason, 'RestoreFailed');
    await endFault(cluster, fault);
    await cluster.apply(namespace, shop('ill'));
    const back = await cluster.ready('AppSite', namespace, 'ill', 60_000);
    assert.equal(conditionOf(back, 'Restored'), undefined);
    assert.equal(conditionOf(back, 'Maintenance'), undefined);
    assert.equal((await envOf(namespace, 'ill-init'))['RESTORE_ID'], undefined);
  });
});
