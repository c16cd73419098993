import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite, API_VERSION } from './support/builders.js';
import { holdPods } from './support/interference.js';
import { at, conditionOf, type Live, type Manifest, nameOf } from './support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
  // What the pods of backups say is the tests' to decide.
  await holdPods(cluster, { 'app.kubernetes.io/component': 'backup' });
  await holdPods(cluster, { 'app.kubernetes.io/component': 'backup-delete' });
  await cluster.operator([], { timeFactor: 5 });
});
after(() => cluster.stop());

const S3 = {
  s3: {
    endpoint: 'https://s3.example.com',
    bucket: 'backups',
    secretRef: { name: 'store' },
  },
};

function aBackup(spec: Readonly<Record<string, unknown>> = {}): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteBackup',
    metadata: { name: 'night' },
    spec: {
      siteRef: { name: 'shop' },
      destination: { pvc: { claimName: 'backups' } },
      backoffLimit: 0,
      ...spec,
    },
  };
}

const CLAIM: Manifest = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'backups' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const SHOP = aSite('shop', { bench: 'bench', workloads: 'Shared' });

async function aShop(): Promise<string> {
  const namespace = await cluster.namespace();
  await cluster.apply(namespace, CLAIM, aBench('bench'), SHOP);
  await cluster.ready('AppSite', namespace, 'shop');
  return namespace;
}

/** The termination message of site_backup.py with these backups. */
function reportOf(...names: readonly string[]): string {
  const backups = names.map((name) => [name, name, 1000, 1, 0]);
  return JSON.stringify({
    location: 'pvc://backups/ns/shop',
    count: names.length,
    versions: [['15.44.2', { frappe: '15.44.2' }]],
    backups,
  });
}

/** Ends the pod of a running Job, with this termination message. */
async function finish(
  namespace: string,
  job: string,
  exitCode: number,
  message: string,
): Promise<void> {
  const pod = await cluster.until(`a pod of ${job} to run`, async () => {
    const pods = await cluster.list('Pod', namespace, `job-name=${job}`);
    return pods.find((one) => at(one, 'status.phase') === 'Running');
  });
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const terminated = { exitCode, message, reason: 'x', startedAt: now, finishedAt: now };
  await cluster.controlPlane.api.mergePatch(
    `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}/status`,
    {
      status: {
        phase: exitCode === 0 ? 'Succeeded' : 'Failed',
        containerStatuses: [
          {
            name: String(at(pod, 'spec.containers[0].name')),
            image: 'framework',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: { terminated },
          },
        ],
      },
    },
  );
}

/** As `kubectl create job --from=cronjob/night-backup`. */
async function runNow(namespace: string, name: string): Promise<void> {
  const cronJob = await cluster.the('CronJob', namespace, 'night-backup');
  const template = at(cronJob, 'spec.jobTemplate') as {
    readonly metadata: object;
    readonly spec: object;
  };
  await cluster.create(namespace, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...template.metadata,
      name,
      ownerReferences: [
        {
          apiVersion: 'batch/v1',
          kind: 'CronJob',
          name: 'night-backup',
          uid: cronJob.metadata.uid,
          controller: true,
        },
      ],
    },
    spec: template.spec,
  });
}

const becomes = (namespace: string, phase: string, reason: string): Promise<Live> =>
  cluster.becomes('SiteBackup', namespace, 'night', {
    what: `is ${phase}, ${reason}`,
    check: (live) =>
      at(live, 'status.phase') === phase && conditionOf(live, 'Ready')?.reason === reason,
  });

describe('backups of a site', { concurrency: true }, () => {
  test('one waits for its site and runs as soon as the site is Ready', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBackup());
    await becomes(namespace, 'Pending', 'SiteMissing');
    await cluster.apply(namespace, aBench('bench'), SHOP);
    await cluster.ready('AppSite', namespace, 'shop');
    await cluster.until('the Job', () => cluster.get('Job', namespace, 'night-backup'));
  });

  test('one is made once, records its location, and is made again on request', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup());
    await finish(namespace, 'night-backup', 0, reportOf('20260101T000000Z'));
    const done = await becomes(namespace, 'Succeeded', 'BackedUp');
    assert.equal(at(done, 'status.count'), 1);
    assert.equal(at(done, 'status.backups[0].location'), 'pvc://backups/ns/shop/20260101T000000Z');
    assert.equal(at(done, 'status.lastSuccessfulTime'), '2026-01-01T00:00:00Z');
    await cluster.deleted('Job', namespace, 'night-backup');
    await cluster.delete('AppSite', namespace, 'shop');
    await cluster.deleted('AppSite', namespace, 'shop');
    await cluster.apply(namespace, SHOP);
    await cluster.ready('AppSite', namespace, 'shop');
    await sleep(500);
    assert.equal(await cluster.get('Job', namespace, 'night-backup'), undefined);
    await becomes(namespace, 'Succeeded', 'BackedUp');
    await cluster.patch('SiteBackup', namespace, 'night', { spec: { compress: false } });
    await finish(namespace, 'night-backup', 0, reportOf('20260102T000000Z', '20260101T000000Z'));
    await cluster.becomes('SiteBackup', namespace, 'night', {
      what: 'counts two',
      check: (live) => {
        return at(live, 'status.count') === 2;
      },
    });
  });

  test('one that fails has the reason, and is not repeated automatically', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup());
    const why = 'app-operator: StoreFull: pvc://backups/ns/shop: No space left on device';
    await finish(namespace, 'night-backup', 1, why);
    const failed = await becomes(namespace, 'Failed', 'StoreFull');
    assert.match(String(at(failed, 'status.lastFailure')), /^StoreFull: .*No space left/);
    assert.equal(conditionOf(failed, 'Stalled')?.status, 'True');
    const { uid } = (await cluster.the('Job', namespace, 'night-backup')).metadata;
    await sleep(1_500);
    assert.equal((await cluster.the('Job', namespace, 'night-backup')).metadata.uid, uid);
    await cluster.delete('Job', namespace, 'night-backup');
    await finish(namespace, 'night-backup', 0, reportOf('20260101T000000Z'));
    const done = await becomes(namespace, 'Succeeded', 'BackedUp');
    assert.equal(at(done, 'status.lastFailure'), undefined);
  });

  test('one that an upgrade or a restore blocked is made afterwards', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup());
    const why = 'app-operator: SiteBusy: shop has data of image image:2, not of image:1';
    await finish(namespace, 'night-backup', 1, why);
    await becomes(namespace, 'Running', 'Provisioning');
    await finish(namespace, 'night-backup', 0, reportOf('20260101T000000Z'));
    await becomes(namespace, 'Succeeded', 'BackedUp');
    await cluster.deleted('Job', namespace, 'night-backup');
    await sleep(1_500);
    assert.equal(await cluster.get('Job', namespace, 'night-backup'), undefined);
  });

  test('a schedule needs its Secret, and stops while the site cannot take it', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup({ schedule: '0 2 1 1 *', destination: S3 }));
    await becomes(namespace, 'Pending', 'SecretMissing');
    await cluster.apply(
      namespace,
      aSecret('store', { 'access-key-id': 'a', 'secret-access-key': 'b' }),
    );
    await becomes(namespace, 'Scheduled', 'Scheduled');
    const suspended = (wanted: boolean) =>
      cluster.becomes('CronJob', namespace, 'night-backup', {
        what: `suspend ${String(wanted)}`,
        check: (live) => {
          return at(live, 'spec.suspend') === wanted;
        },
      });
    await suspended(false);
    await cluster.patch('AppSite', namespace, 'shop', { spec: { paused: true } });
    await suspended(true);
    await becomes(namespace, 'Pending', 'SiteNotReady');
    await cluster.patch('AppSite', namespace, 'shop', { spec: { paused: null } });
    await suspended(false);
    const text = JSON.stringify(await cluster.the('CronJob', namespace, 'night-backup'));
    assert.ok(!text.includes('"value":"b"'), 'no secret in the CronJob');
  });

  test('a schedule lists what is stored, also after a failure', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup({ schedule: '0 2 1 1 *' }));
    await becomes(namespace, 'Scheduled', 'Scheduled');
    await runNow(namespace, 'night-1');
    await cluster.becomes('SiteBackup', namespace, 'night', {
      what: 'is Running',
      check: (live) => {
        return at(live, 'status.phase') === 'Running';
      },
    });
    await finish(namespace, 'night-1', 0, reportOf('20260101T000000Z'));
    await becomes(namespace, 'Scheduled', 'BackedUp');
    await sleep(1_100);
    await runNow(namespace, 'night-2');
    await finish(namespace, 'night-2', 1, 'app-operator: StoreUnreachable: no answer');
    const failed = await becomes(namespace, 'Failed', 'StoreUnreachable');
    assert.equal(at(failed, 'status.count'), 1);
    await sleep(1_100);
    await runNow(namespace, 'night-3');
    await finish(namespace, 'night-3', 0, reportOf('20260103T000000Z', '20260101T000000Z'));
    const well = await becomes(namespace, 'Scheduled', 'BackedUp');
    assert.equal(at(well, 'status.lastFailure'), undefined);
    assert.equal(at(well, 'status.backups[0].name'), '20260103T000000Z');
  });

  test('stored backups are deleted with their object under Delete, also without the site', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup({ deletionPolicy: 'Delete' }));
    await finish(namespace, 'night-backup', 0, reportOf('20260101T000000Z'));
    await becomes(namespace, 'Succeeded', 'BackedUp');
    await cluster.delete('AppSite', namespace, 'shop');
    await cluster.deleted('AppSite', namespace, 'shop');
    await cluster.delete('SiteBackup', namespace, 'night');
    await cluster.until('the Job', () => cluster.get('Job', namespace, 'night-backup-delete'));
    await cluster.becomes('SiteBackup', namespace, 'night', {
      what: 'goes',
      check: (live) => {
        return at(live, 'status.phase') === 'Deleting';
      },
    });
    await sleep(500);
    assert.equal(
      at(await cluster.the('SiteBackup', namespace, 'night'), 'status.phase'),
      'Deleting',
    );
    await finish(namespace, 'night-backup-delete', 0, 'app-operator: Succeeded: {"removed": 1}');
    await cluster.deleted('SiteBackup', namespace, 'night');
    // The garbage collector deletes its Job.
    await cluster.until('nothing of it is left', async () => {
      const left = (await cluster.everything(namespace)).map(nameOf);
      assert.deepEqual(
        left.filter((name) => name.includes('night')),
        [],
      );
      return true;
    });
  });

  test('stored backups stay under Retain, and the object is deleted at once', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup());
    await finish(namespace, 'night-backup', 0, reportOf('20260101T000000Z'));
    await becomes(namespace, 'Succeeded', 'BackedUp');
    await cluster.delete('SiteBackup', namespace, 'night');
    await cluster.deleted('SiteBackup', namespace, 'night');
    assert.equal(await cluster.get('Job', namespace, 'night-backup-delete'), undefined);
  });

  test('a schedule whose site is deleted makes no more backups', async () => {
    const namespace = await aShop();
    await cluster.apply(namespace, aBackup({ schedule: '0 2 1 1 *' }));
    await becomes(namespace, 'Scheduled', 'Scheduled');
    await cluster.delete('AppSite', namespace, 'shop');
    await becomes(namespace, 'Pending', 'SiteMissing');
    await cluster.deleted('CronJob', namespace, 'night-backup');
  });
});
