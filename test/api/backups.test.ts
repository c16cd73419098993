import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSecret, aSite, API_VERSION } from '../cluster/support/builders.js';
import { holdPods } from '../cluster/support/interference.js';
import { at, conditionOf, type Live, type Manifest, nameOf } from '../cluster/support/objects.js';

let cluster: Cluster;
/** Has the bench of all sites, and the claim of their backups. */
let namespace: string;
before(async () => {
  cluster = await startCluster();
  // What the pods of backups say is the tests' to decide.
  await holdPods(cluster, { 'app.kubernetes.io/component': 'backup' });
  await holdPods(cluster, { 'app.kubernetes.io/component': 'backup-delete' });
  await cluster.operator([], { timeFactor: 5 });
  namespace = await cluster.namespace();
  await cluster.apply(namespace, CLAIM, aBench('bench'));
});
after(() => cluster.stop());

const S3 = {
  s3: {
    endpoint: 'https://s3.example.com',
    bucket: 'backups',
    secretRef: { name: 'store' },
  },
};

/** A backup of the site of the same name. */
function aBackup(name: string, spec: Readonly<Record<string, unknown>> = {}): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteBackup',
    metadata: { name },
    spec: {
      siteRef: { name },
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
const siteOf = (name: string): Manifest => aSite(name, { bench: 'bench', workloads: 'Shared' });

/** Makes a site for one test. @returns its name */
async function aShop(name: string): Promise<string> {
  await cluster.apply(namespace, siteOf(name));
  await cluster.ready('AppSite', namespace, name);
  return name;
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
async function finish(job: string, exitCode: number, message: string): Promise<void> {
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

/** As `kubectl create job --from=cronjob/<backup>-backup`. */
async function runNow(backup: string, name: string): Promise<void> {
  const cronJob = await cluster.the('CronJob', namespace, `${backup}-backup`);
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
          name: `${backup}-backup`,
          uid: cronJob.metadata.uid,
          controller: true,
        },
      ],
    },
    spec: template.spec,
  });
}

const becomes = (name: string, phase: string, reason: string): Promise<Live> =>
  cluster.becomes('SiteBackup', namespace, name, {
    what: `is ${phase}, ${reason}`,
    check: (live) =>
      at(live, 'status.phase') === phase && conditionOf(live, 'Ready')?.reason === reason,
  });

describe('backups of a site', { concurrency: true }, () => {
  test('one waits for its site and runs as soon as the site is Ready', async () => {
    const name = 'waits';
    await cluster.apply(namespace, aBackup(name));
    await becomes(name, 'Pending', 'SiteMissing');
    await cluster.apply(namespace, siteOf(name));
    await cluster.ready('AppSite', namespace, name);
    await cluster.until('the Job', () => cluster.get('Job', namespace, `${name}-backup`));
  });

  test('one is made once, records its location, and is made again on request', async () => {
    const name = await aShop('again');
    await cluster.apply(namespace, aBackup(name));
    await finish(`${name}-backup`, 0, reportOf('20260101T000000Z'));
    const done = await becomes(name, 'Succeeded', 'BackedUp');
    assert.equal(at(done, 'status.count'), 1);
    assert.equal(at(done, 'status.backups[0].location'), 'pvc://backups/ns/shop/20260101T000000Z');
    assert.equal(at(done, 'status.lastSuccessfulTime'), '2026-01-01T00:00:00Z');
    await cluster.deleted('Job', namespace, `${name}-backup`);
    await cluster.delete('AppSite', namespace, name);
    await cluster.deleted('AppSite', namespace, name);
    await cluster.apply(namespace, siteOf(name));
    await cluster.ready('AppSite', namespace, name);
    await sleep(500);
    assert.equal(await cluster.get('Job', namespace, `${name}-backup`), undefined);
    await becomes(name, 'Succeeded', 'BackedUp');
    await cluster.patch('SiteBackup', namespace, name, { spec: { compress: false } });
    await finish(`${name}-backup`, 0, reportOf('20260102T000000Z', '20260101T000000Z'));
    await cluster.becomes('SiteBackup', namespace, name, {
      what: 'counts two',
      check: (live) => {
        return at(live, 'status.count') === 2;
      },
    });
  });

  test('one that fails has the reason, and is not repeated automatically', async () => {
    const name = await aShop('failed');
    await cluster.apply(namespace, aBackup(name));
    const why = 'app-operator: StoreFull: pvc://backups/ns/shop: No space left on device';
    await finish(`${name}-backup`, 1, why);
    const failed = await becomes(name, 'Failed', 'StoreFull');
    assert.match(String(at(failed, 'status.lastFailure')), /^StoreFull: .*No space left/);
    assert.equal(conditionOf(failed, 'Stalled')?.status, 'True');
    const { uid } = (await cluster.the('Job', namespace, `${name}-backup`)).metadata;
    await sleep(1_500);
    assert.equal((await cluster.the('Job', namespace, `${name}-backup`)).metadata.uid, uid);
    await cluster.delete('Job', namespace, `${name}-backup`);
    await finish(`${name}-backup`, 0, reportOf('20260101T000000Z'));
    const done = await becomes(name, 'Succeeded', 'BackedUp');
    assert.equal(at(done, 'status.lastFailure'), undefined);
  });

  test('one that an upgrade or a restore blocked is made afterwards', async () => {
    const name = await aShop('blocked');
    await cluster.apply(namespace, aBackup(name));
    const why = 'app-operator: SiteBusy: shop has data of image image:2, not of image:1';
    await finish(`${name}-backup`, 1, why);
    await becomes(name, 'Running', 'Provisioning');
    await finish(`${name}-backup`, 0, reportOf('20260101T000000Z'));
    await becomes(name, 'Succeeded', 'BackedUp');
    await cluster.deleted('Job', namespace, `${name}-backup`);
    await sleep(1_500);
    assert.equal(await cluster.get('Job', namespace, `${name}-backup`), undefined);
  });

  test('a schedule needs its Secret, and stops while the site cannot take it', async () => {
    const name = await aShop('paused');
    await cluster.apply(namespace, aBackup(name, { schedule: '0 2 1 1 *', destination: S3 }));
    await becomes(name, 'Pending', 'SecretMissing');
    await cluster.apply(
      namespace,
      aSecret('store', { 'access-key-id': 'a', 'secret-access-key': 'b' }),
    );
    await becomes(name, 'Scheduled', 'Scheduled');
    const suspended = (wanted: boolean) =>
      cluster.becomes('CronJob', namespace, `${name}-backup`, {
        what: `suspend ${String(wanted)}`,
        check: (live) => {
          return at(live, 'spec.suspend') === wanted;
        },
      });
    await suspended(false);
    await cluster.patch('AppSite', namespace, name, { spec: { paused: true } });
    await suspended(true);
    await becomes(name, 'Pending', 'SiteNotReady');
    await cluster.patch('AppSite', namespace, name, { spec: { paused: null } });
    await suspended(false);
    const text = JSON.stringify(await cluster.the('CronJob', namespace, `${name}-backup`));
    assert.ok(!text.includes('"value":"b"'), 'no secret in the CronJob');
  });

  test('a schedule lists what is stored, also after a failure', async () => {
    const name = await aShop('listed');
    await cluster.apply(namespace, aBackup(name, { schedule: '0 2 1 1 *' }));
    await becomes(name, 'Scheduled', 'Scheduled');
    await runNow(name, `${name}-1`);
    await cluster.becomes('SiteBackup', namespace, name, {
      what: 'is Running',
      check: (live) => {
        return at(live, 'status.phase') === 'Running';
      },
    });
    await finish(`${name}-1`, 0, reportOf('20260101T000000Z'));
    await becomes(name, 'Scheduled', 'BackedUp');
    await sleep(1_100);
    await runNow(name, `${name}-2`);
    await finish(`${name}-2`, 1, 'app-operator: StoreUnreachable: no answer');
    const failed = await becomes(name, 'Failed', 'StoreUnreachable');
    assert.equal(at(failed, 'status.count'), 1);
    await sleep(1_100);
    await runNow(name, `${name}-3`);
    await finish(`${name}-3`, 0, reportOf('20260103T000000Z', '20260101T000000Z'));
    const well = await becomes(name, 'Scheduled', 'BackedUp');
    assert.equal(at(well, 'status.lastFailure'), undefined);
    assert.equal(at(well, 'status.backups[0].name'), '20260103T000000Z');
  });

  test('stored backups are deleted with their object under Delete, also without the site', async () => {
    const name = await aShop('deleted');
    await cluster.apply(namespace, aBackup(name, { deletionPolicy: 'Delete' }));
    await finish(`${name}-backup`, 0, reportOf('20260101T000000Z'));
    await becomes(name, 'Succeeded', 'BackedUp');
    await cluster.delete('AppSite', namespace, name);
    await cluster.deleted('AppSite', namespace, name);
    await cluster.delete('SiteBackup', namespace, name);
    await cluster.until('the Job', () => cluster.get('Job', namespace, `${name}-backup-delete`));
    await cluster.becomes('SiteBackup', namespace, name, {
      what: 'goes',
      check: (live) => {
        return at(live, 'status.phase') === 'Deleting';
      },
    });
    await sleep(500);
    assert.equal(at(await cluster.the('SiteBackup', namespace, name), 'status.phase'), 'Deleting');
    await finish(`${name}-backup-delete`, 0, 'app-operator: Succeeded: {"removed": 1}');
    await cluster.deleted('SiteBackup', namespace, name);
    // The garbage collector deletes its Job. The Secrets of its site stay.
    await cluster.until('nothing of it is left', async () => {
      const left = (await cluster.everything(namespace)).map(nameOf);
      assert.deepEqual(
        left.filter((one) => one.includes(name)),
        ['admin-password', 'db', 'encryption-key'].map((secret) => `Secret/${name}-${secret}`),
      );
      return true;
    });
  });

  test('stored backups stay under Retain, and the object is deleted at once', async () => {
    const name = await aShop('retained');
    await cluster.apply(namespace, aBackup(name));
    await finish(`${name}-backup`, 0, reportOf('20260101T000000Z'));
    await becomes(name, 'Succeeded', 'BackedUp');
    await cluster.delete('SiteBackup', namespace, name);
    await cluster.deleted('SiteBackup', namespace, name);
    assert.equal(await cluster.get('Job', namespace, `${name}-backup-delete`), undefined);
  });

  test('a schedule whose site is deleted makes no more backups', async () => {
    const name = await aShop('ended');
    await cluster.apply(namespace, aBackup(name, { schedule: '0 2 1 1 *' }));
    await becomes(name, 'Scheduled', 'Scheduled');
    await cluster.delete('AppSite', namespace, name);
    await becomes(name, 'Pending', 'SiteMissing');
    await cluster.deleted('CronJob', namespace, `${name}-backup`);
  });
});
