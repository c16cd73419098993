import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { holdPods, type Interference } from '../../testbed/controlplane/pods.js';
import {
  DOCUMENT_PODS,
  DocumentScript,
  type WrittenDocument,
} from '../../testbed/stand-in/document-script.js';
import { MINIMAL } from '../unit/schema-manifests.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, API_VERSION, aSite, aUser } from './support/builders.js';
import { failJob, release } from './support/interference.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';
import { aShop } from './support/shop.js';
import type { Operator } from './support/operator.js';

let cluster: Cluster;
let script: DocumentScript;
let operator: Operator;
/** Its bench has a site for each test that needs no namespace of its own. */
let shared: string;
before(async () => {
  cluster = await startCluster({ audit: true });
  await holdPods(cluster.controlPlane, DOCUMENT_PODS);
  script = new DocumentScript(cluster.controlPlane.api, ({ name }) => {
    if (seen.has(name)) return ['Unchanged'];
    seen.add(name);
    return ['Created'];
  });
  operator = await startOperator();
  shared = await cluster.namespace();
  const names = ['ann', 'fay', 'kim', 'mia', 'pam', 'dan', 'hal', 'calm'];
  const sites = names.map((name) => aSite(name, { bench: 'bench', workloads: 'Shared' }));
  await cluster.apply(shared, aBench('bench'), ...sites);
  for (const name of names) await cluster.ready('AppSite', shared, name);
});
after(async () => {
  await script.stop();
  await cluster.stop();
});

const seen = new Set<string>();

/** Retries are ten seconds and more apart: its clock is ahead of the end of each Job. */
const startOperator = (): Promise<Operator> =>
  cluster.operator([], { timeFactor: 5, clockAheadMs: 7_000 });

const userOf = (site: string, name: string, spec = {}): Manifest =>
  aUser(name, { siteRef: { name: site }, ...spec });

const writtenAs = (name: string): readonly WrittenDocument[] =>
  script.written.filter((document) => document.name === `${name}@example.com`);
const reasonOf = (live: Live): string | undefined => conditionOf(live, 'Ready')?.reason;

/** Removes the further attempts of every documents Job of a shared site: its own backoff is a minute and more. */
function hurry(context: TestContext, site: string): void {
  const name = `${site}-documents`;
  const stopped = new AbortController();
  const hurried = (async () => {
    while (!stopped.signal.aborted) {
      const job = await cluster.get('Job', shared, name);
      if (job && at(job, 'spec.backoffLimit') !== 0) {
        const patch = { spec: { backoffLimit: 0 } };
        // It may be deleted meanwhile.
        await cluster.patch('Job', shared, name, patch).catch(() => undefined);
      }
      await sleep(100);
    }
  })();
  context.after(() => {
    stopped.abort();
    return hurried;
  });
}

/** Makes the Job of a shop's documents fail with this termination message. */
function failDocuments(namespace: string, message: string): Promise<Interference> {
  script.silent.add(namespace);
  return failJob(cluster, namespace, 'shop-documents', message);
}

describe('the documents of a site', { concurrency: true }, () => {
  test('are compared again after their interval, and stay Ready meanwhile', async () => {
    const namespace = shared;
    await cluster.apply(namespace, userOf('ann', 'ann', { resyncInterval: '30s' }));
    const first = await cluster.ready('SiteUser', namespace, 'ann');
    const since = new Date();
    await cluster.becomes('SiteUser', namespace, 'ann', {
      what: 'is compared again',
      check: (user) =>
        at(user, 'status.lastSyncTime') !== at(first, 'status.lastSyncTime') &&
        at(user, 'status.outcome') === 'Unchanged',
    });
    // A write is in the log a moment after it can be read.
    const statuses = await cluster.until('the write is in the log', async () => {
      const writes = await cluster.writes({ namespace, since });
      const found = writes.filter((write) => write.includes('siteusers/ann/status'));
      return found.length > 0 && found;
    });
    assert.equal(statuses.length, 1, 'one write for one comparison');
    await cluster.apply(namespace, userOf('ann', 'ann', { resyncInterval: '0s' }));
    const count = await cluster.until('a quiet time', async () => {
      const before = writtenAs('ann').length;
      await sleep(6_000);
      return writtenAs('ann').length === before && before;
    });
    assert.ok(count > 1);
  });

  test('are written when the site is no longer paused', async () => {
    const namespace = shared;
    await cluster.patch('AppSite', namespace, 'fay', { spec: { paused: true } });
    await cluster.apply(namespace, userOf('fay', 'fay'));
    const user = await cluster.becomes('SiteUser', namespace, 'fay', {
      what: 'says what it waits for',
      check: (live) => reasonOf(live) === 'SiteNotReady',
    });
    assert.equal(at(user, 'status.phase'), 'Pending');
    assert.match(conditionOf(user, 'Ready')?.message ?? '', /is paused$/);
    assert.equal(await cluster.get('Job', namespace, 'fay-documents'), undefined);
    await cluster.patch('AppSite', namespace, 'fay', { spec: { paused: false } });
    await cluster.ready('SiteUser', namespace, 'fay');
  });

  test('are written while one that breaks each of its Jobs fails alone', async (context) => {
    const namespace = shared;
    script.breaking.set('kim@example.com', '');
    hurry(context, 'kim');
    await cluster.apply(
      namespace,
      userOf('kim', 'kim'),
      userOf('kim', 'lea'),
      userOf('kim', 'leo'),
    );
    for (const name of ['lea', 'leo']) await cluster.ready('SiteUser', namespace, name, 120_000);
    const kim = await cluster.becomes('SiteUser', namespace, 'kim', {
      what: 'says that it failed',
      check: (live) => reasonOf(live) === 'DocumentFailed',
    });
    assert.equal(
      conditionOf(kim, 'Ready')?.message,
      'Job kim-documents: container documents ended with exit code 137',
    );
    const alone = await cluster.the('Job', namespace, 'kim-documents');
    assert.equal(at(alone, 'spec.activeDeadlineSeconds'), 600);
    await cluster.delete('SiteUser', namespace, 'lea');
    await cluster.deleted('SiteUser', namespace, 'lea');
    script.breaking.delete('kim@example.com');
    await cluster.apply(namespace, userOf('kim', 'kim', { lastName: 'Repaired' }));
    await cluster.ready('SiteUser', namespace, 'kim');
  });

  test('do not fail while the database is unreachable', async (context) => {
    const namespace = shared;
    const words = 'app-operator: DatabaseUnreachable: no answer from the database\n';
    const names = ['mia', 'ned'];
    for (const name of names) script.breaking.set(`${name}@example.com`, words);
    const broken = (): number =>
      script.broken.filter((batch) => batch.some(({ name }) => /^(mia|ned)@/.test(name))).length;
    hurry(context, 'mia');
    await cluster.apply(namespace, ...names.map((name) => userOf('mia', name)));
    await cluster.until('each to be tried alone', () => Promise.resolve(broken() >= 4), 120_000);
    for (const name of names) {
      const user = await cluster.the('SiteUser', namespace, name);
      assert.match(String(at(user, 'status.phase')), /^(Pending|Syncing)$/);
      assert.equal(at(user, 'status.outcome'), undefined);
    }
    for (const name of names) script.breaking.delete(`${name}@example.com`);
    for (const name of names) await cluster.ready('SiteUser', namespace, name, 90_000);
  });

  test('are written beside one that is too large', async () => {
    const namespace = shared;
    await cluster.apply(
      namespace,
      {
        apiVersion: API_VERSION,
        kind: 'SiteDashboardChart',
        metadata: { name: 'large' },
        spec: {
          ...MINIMAL.SiteDashboardChart,
          siteRef: { name: 'pam' },
          customOptions: { text: 'x'.repeat(1_100_000) },
        },
      },
      userOf('pam', 'pam'),
    );
    await cluster.ready('SiteUser', namespace, 'pam');
    const chart = await cluster.becomes('SiteDashboardChart', namespace, 'large', {
      what: 'says that it is invalid',
      check: (live) => reasonOf(live) === 'InvalidSpec',
    });
    const message = /^spec\.customOptions: Too long: may not be more than 262144 bytes$/;
    assert.match(conditionOf(chart, 'Ready')?.message ?? '', message);
    for (const [kind, name] of [
      ['SiteUser', 'pam'],
      ['SiteDashboardChart', 'large'],
    ] as const) {
      await cluster.delete(kind, namespace, name);
      await cluster.deleted(kind, namespace, name);
    }
  });

  test('wait for another owner’s object with the name of their Job', async () => {
    const namespace = await aShop(cluster);
    await cluster.create(namespace, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'shop-documents' },
      spec: {
        suspend: true,
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'c' }] } },
      },
    });
    await cluster.apply(namespace, aUser('ida'));
    const user = await cluster.becomes('SiteUser', namespace, 'ida', {
      what: 'says why',
      check: (live) => reasonOf(live) === 'NameTaken',
    });
    assert.match(
      conditionOf(user, 'Ready')?.message ?? '',
      /^Job shop-documents exists and was not made by the operator/,
    );
    // A bench that is new still moves, which leads to another look.
    await sleep(5_000);
    await cluster.delete('Job', namespace, 'shop-documents');
    // It is not watched, so the operator looks again every minute.
    await cluster.ready('SiteUser', namespace, 'ida');
  });

  describe('whose Job fails', { concurrency: 1 }, () => {
    let namespace: string;
    before(async () => {
      namespace = await aShop(cluster);
    });

    test('wait with the reason while their Job fails, and are written afterwards', async () => {
      const fault = await failDocuments(
        namespace,
        'app-operator: DatabaseUnreachable: no answer from the database\n',
      );
      await cluster.apply(namespace, aUser('bob'));
      const user = await cluster.becomes('SiteUser', namespace, 'bob', {
        what: 'says why',
        check: (live) => reasonOf(live) === 'JobFailed',
        timeoutMs: 180_000,
      });
      assert.equal(at(user, 'status.phase'), 'Pending');
      assert.equal(
        conditionOf(user, 'Ready')?.message,
        'Job shop-documents: DatabaseUnreachable: no answer from the database',
      );
      await release(cluster, fault);
      script.silent.delete(namespace);
      await cluster.ready('SiteUser', namespace, 'bob');
    });

    test('that are deleted wait for their Job, and skip it with the annotation', async () => {
      await cluster.apply(namespace, aUser('gus'));
      await cluster.ready('SiteUser', namespace, 'gus');
      const fault = await failDocuments(namespace, 'app-operator: broken\n');
      await cluster.delete('SiteUser', namespace, 'gus');
      const user = await cluster.becomes('SiteUser', namespace, 'gus', {
        what: 'says why it stays',
        check: (live) => /^Job(Failed|Waiting)$/.test(reasonOf(live) ?? ''),
        timeoutMs: 90_000,
      });
      assert.match(
        conditionOf(user, 'Ready')?.message ?? '',
        /broken; to skip this, annotate the resource with app-operator\.io\/skip-drop=true$/,
      );
      const annotations = { 'app-operator.io/skip-drop': 'true' };
      await cluster.patch('SiteUser', namespace, 'gus', { metadata: { annotations } });
      await cluster.deleted('SiteUser', namespace, 'gus');
      await release(cluster, fault);
    });
  });

  describe('whose Job writes no result', { concurrency: 1 }, () => {
    let namespace: string;
    before(async () => {
      namespace = await aShop(cluster);
    });

    test('are requested again, in batches of the same size, when their Job found the site closed', async () => {
      const fault = await failDocuments(
        namespace,
        'app-operator: SiteClosed: shop is being upgraded or restored: nothing was done\n',
      );
      // A failure would halve the next Job's number of them.
      const names = Array.from({ length: 6 }, (_, index) => `many-${String(index)}`);
      await cluster.apply(namespace, ...names.map((name) => aUser(name)));
      // The Job is created again ten seconds after its end, for the requests of that time.
      await cluster.until('all are asked for', async () =>
        (await cluster.list('SiteUser', namespace)).every(
          (live) => at(live, 'status.documentHash') !== undefined,
        ),
      );
      await cluster.until(
        'one says why, and the Job still is the one that has failed',
        async () => {
          const user = await cluster.the('SiteUser', namespace, 'many-0');
          const job = await cluster.get('Job', namespace, 'shop-documents');
          return reasonOf(user) === 'JobFailed' && job && conditionOf(job, 'Failed') !== undefined;
        },
        180_000,
      );
      await release(cluster, fault);
      script.silent.delete(namespace);
      await cluster.ready('SiteUser', namespace, 'many-0');
      const batch = script.batches.find((all) => all.some(({ name }) => name.startsWith('many-')));
      assert.equal(batch?.length, names.length);
      const job = await cluster.the('Job', namespace, 'shop-documents');
      const container = 'spec.template.spec.containers[0]';
      const env = at(job, `${container}.env`) as {
        readonly name: string;
        readonly value: string;
      }[];
      const image = env.find(({ name }) => name === 'IMAGE')?.value;
      assert.equal(image, at(job, `${container}.image`), 'what it asks the site for');
    });

    test('are requested again after a Job without a termination message', async () => {
      script.speechless.add(namespace);
      await cluster.apply(namespace, aUser('cid'));
      await cluster.becomes('SiteUser', namespace, 'cid', {
        what: 'says why',
        check: (live) => reasonOf(live) === 'JobFailed',
        timeoutMs: 180_000,
      });
      script.speechless.delete(namespace);
      const user = await cluster.ready('SiteUser', namespace, 'cid');
      assert.equal(at(user, 'status.outcome'), 'Unchanged', 'it was there after the first Job');
    });
  });
});

describe('the documents of a site, when the operator is restarted,', () => {
  test('get the results of a Job that ended without an operator, and are not written again', async () => {
    const namespace = shared;
    script.silent.add(namespace);
    await cluster.apply(namespace, userOf('dan', 'dan'), userOf('dan', 'eve'));
    await cluster.until('the Job', () => cluster.get('Job', namespace, 'dan-documents'));
    operator.kill('SIGKILL');
    await operator.exited;
    script.silent.delete(namespace);
    await cluster.until('the answer', () => Promise.resolve(writtenAs('dan').length === 1));
    operator = await startOperator();
    await cluster.ready('SiteUser', namespace, 'dan');
    await cluster.ready('SiteUser', namespace, 'eve');
    assert.equal(writtenAs('dan').length, 1);
  });

  test('are requested again where the results of their Job were lost with an operator', async () => {
    const namespace = shared;
    script.silent.add(namespace);
    await cluster.apply(namespace, userOf('hal', 'hal'));
    await cluster.until('the Job', () => cluster.get('Job', namespace, 'hal-documents'));
    operator.kill('SIGKILL');
    await operator.exited;
    script.silent.delete(namespace);
    await cluster.until('the end of the Job', async () => {
      const job = await cluster.the('Job', namespace, 'hal-documents');
      return at(job, 'status.completionTime') !== undefined;
    });
    for (const { metadata } of await cluster.list('Pod', namespace, 'job-name=hal-documents')) {
      await cluster.delete('Pod', namespace, metadata.name);
    }
    operator = await startOperator();
    await cluster.ready('SiteUser', namespace, 'hal');
    assert.equal(writtenAs('hal').length, 2);
  });

  test('cost a starting operator nothing when they are up to date', async () => {
    const namespace = shared;
    const names = Array.from({ length: 20 }, (_, index) => `calm-${String(index)}`);
    await cluster.apply(namespace, ...names.map((name) => userOf('calm', name)));
    for (const name of names) await cluster.ready('SiteUser', namespace, name);
    await cluster.applied('AppBench', namespace, 'bench');
    operator.kill('SIGTERM');
    await operator.exited;
    // The termination message of their Job is deleted, and is no longer needed.
    const pods = await cluster.list('Pod', namespace, 'job-name=calm-documents');
    assert.ok(pods.length > 0);
    for (const { metadata } of pods) await cluster.delete('Pod', namespace, metadata.name);
    const since = new Date();
    operator = await startOperator();
    await sleep(5_000);
    assert.deepEqual(await cluster.writes({ namespace, since }), []);
    for (const name of names) assert.equal(writtenAs(name).length, 1, name);
  });
});

describe('the documents of a site, when the namespace is full,', () => {
  test('report that a quota has no room for their Job', async () => {
    const namespace = shared;
    await cluster.create(namespace, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'none' },
      spec: { hard: { 'count/jobs.batch': '0' } },
    });
    await cluster.becomes('ResourceQuota', namespace, 'none', {
      what: 'is counted',
      check: (live) => Boolean(at(live, 'status.hard')),
    });
    await cluster.apply(namespace, userOf('fay', 'jan'));
    const user = await cluster.becomes('SiteUser', namespace, 'jan', {
      what: 'says why',
      check: (live) => reasonOf(live) === 'QuotaExceeded',
    });
    assert.match(conditionOf(user, 'Ready')?.message ?? '', /exceeded quota: none/);
    await cluster.delete('ResourceQuota', namespace, 'none');
    await cluster.ready('SiteUser', namespace, 'jan');
  });
});
