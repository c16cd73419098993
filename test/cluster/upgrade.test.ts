import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { failJob, holdPods, release } from './support/interference.js';
import { at, conditionOf, type Live } from './support/objects.js';
import type { Operator } from './support/operator.js';

const [OLD, NEW] = ['frappe/erpnext:v15.44.0', 'frappe/erpnext:v15.45.0'];
const image = (reference: string) => ({ tag: reference.split(':')[1] ?? '' });
const few = { workerDefault: 0, workerShort: 0, workerLong: 0 };
const FAILURE =
  'app-operator: MigrationFailed: stays in maintenance, its backup is sites/x/private/upgrades/y/database.sql.gz: boom\n';

let cluster: Cluster;
let operator: Operator;
let namespace: string;

/** A bench of the old image with its sites, all Ready, and an operator of their own. */
async function running(
  user: string,
  sites: Readonly<Record<string, 'Dedicated' | 'Shared'>>,
  bench: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  namespace = await cluster.namespace();
  operator = await cluster.operator([], { namespaces: [namespace], user });
  await cluster.apply(
    namespace,
    aBench('b', { image: image(OLD), componentReplicas: few, ...bench }),
    ...Object.entries(sites).map(([name, workloads]) =>
      aSite(name, {
        bench: 'b',
        workloads,
        ...(workloads === 'Dedicated' ? { componentReplicas: few } : {}),
      }),
    ),
  );
  for (const name of Object.keys(sites)) {
    const site = await cluster.ready('AppSite', namespace, name);
    assert.equal(at(site, 'status.image'), OLD);
  }
}

const want = (reference: string): Promise<unknown> =>
  cluster.patch('AppBench', namespace, 'b', { spec: { image: image(reference) } });

const state = (site: string, wanted: string): Promise<Live> =>
  cluster.becomes('AppSite', namespace, site, {
    what: `is ${wanted}`,
    check: (live) => at(live, 'status.upgrade.state') === wanted,
  });

const isOn = (site: string, reference: string): Promise<Live> =>
  cluster.becomes('AppSite', namespace, site, {
    what: `is on ${reference}, and open`,
    check: (live) =>
      at(live, 'status.image') === reference &&
      at(live, 'status.upgrade') === undefined &&
      at(live, 'status.phase') === 'Ready',
  });

async function imageOf(kind: string, name: string): Promise<unknown> {
  return at(await cluster.the(kind, namespace, name), 'spec.template.spec.containers[0].image');
}

/** Waits until a Job runs an image: the previous Job is deleted first. */
function jobRuns(name: string, reference: string): Promise<unknown> {
  return cluster.until(
    `${name} of ${reference}`,
    async () => (await imageOf('Job', name)) === reference,
  );
}

async function envOf(job: string): Promise<Readonly<Record<string, string>>> {
  const env = at(
    await cluster.the('Job', namespace, job),
    'spec.template.spec.containers[0].env',
  ) as readonly { readonly name: string; readonly value?: string }[];
  return Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));
}

/** Asserts that these writes came in this order, each for the first time after `since`. */
async function inOrder(user: string, since: Date, ...wanted: readonly string[]): Promise<void> {
  const writes = await cluster.writes({ user, namespace, since });
  const found = wanted.map((write) => writes.indexOf(write));
  assert.ok(
    found.every((index, i) => index >= 0 && index > (found[i - 1] ?? -1)),
    `${wanted.join(', ')}\nin\n${writes.join('\n')}`,
  );
}

describe('an upgrade', () => {
  before(async () => {
    cluster = await startCluster({ audit: true });
  });
  after(() => cluster.stop());

  test('of a Dedicated site: its Job, then its pods, then it opens; the bench does not wait', async () => {
    await running('dedicated', { ded: 'Dedicated' });
    const hold = await holdPods(cluster, { 'job-name': 'ded-init' });
    const since = new Date();
    await want(NEW);
    const site = await state('ded', 'Running');
    assert.equal(conditionOf(site, 'Upgrading')?.reason, 'Running');
    await jobRuns('ded-init', NEW);
    assert.equal((await envOf('ded-init'))['KEEP_CLOSED'], '1');
    assert.equal(await imageOf('Deployment', 'ded-gunicorn'), OLD, 'closed, and not yet migrated');
    const bench = await cluster.ready('AppBench', namespace, 'b');
    assert.equal(at(bench, 'status.image'), NEW);
    assert.equal(at(bench, 'status.upgrade.progress'), '0/1');
    const web = await holdPods(cluster, { app: 'ded-gunicorn' });
    await release(cluster, hold);
    await state('ded', 'Migrated');
    await cluster.until(
      'the new image',
      async () => (await imageOf('Deployment', 'ded-gunicorn')) === NEW,
    );
    await sleep(3_000);
    const closed = await cluster.the('AppSite', namespace, 'ded');
    assert.equal(at(closed, 'status.upgrade.state'), 'Migrated', 'pods of the old image are there');
    assert.equal(await cluster.get('Job', namespace, 'ded-reopen'), undefined);
    await release(cluster, web);
    await isOn('ded', NEW);
    await cluster.deleted('Job', namespace, 'ded-reopen');
    await inOrder(
      'dedicated',
      since,
      'delete jobs/b-init',
      'patch jobs/b-init',
      'delete jobs/ded-init',
      'patch jobs/ded-init',
      'patch deployments/ded-gunicorn',
      'patch jobs/ded-reopen',
      'delete jobs/ded-reopen',
    );
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'has ended the upgrade',
      check: (live) => at(live, 'status.upgrade') === undefined && !conditionOf(live, 'Upgrading'),
    });
    await operator.stop();
  });

  test('of Shared sites: the bench’s pods change when all are closed, then they open', async () => {
    await running('shared', { sh1: 'Shared', sh2: 'Shared' }, { upgrade: { parallel: 1 } });
    const hold = await holdPods(cluster, { 'job-name': 'sh2-init' });
    const since = new Date();
    await want(NEW);
    const first = await state('sh1', 'Migrated');
    assert.equal(at(first, 'status.upgrade.closed'), true);
    await state('sh2', 'Running');
    const bench = await cluster.becomes('AppBench', namespace, 'b', {
      what: 'waits for sh2',
      check: (live) => conditionOf(live, 'Ready')?.message.includes('Shared sites') ?? false,
    });
    assert.deepEqual([at(bench, 'status.image'), at(bench, 'status.ready')], [OLD, false]);
    for (const name of ['gunicorn', 'nginx', 'scheduler', 'worker-short']) {
      assert.equal(await imageOf('Deployment', `b-${name}`), OLD, name);
    }
    assert.equal(await cluster.get('Job', namespace, 'sh1-reopen'), undefined);
    await release(cluster, hold);
    await isOn('sh1', NEW);
    await isOn('sh2', NEW);
    assert.equal(await imageOf('Deployment', 'b-gunicorn'), NEW);
    await inOrder(
      'shared',
      since,
      'patch jobs/sh1-init',
      'patch jobs/sh2-init',
      'patch deployments/b-gunicorn',
      'patch jobs/sh2-reopen',
    );
    await operator.stop();
  });

  test('upgrades a few sites at a time until all are done', async () => {
    const names = ['p1', 'p2', 'p3', 'p4', 'p5'];
    await running('parallel', Object.fromEntries(names.map((name) => [name, 'Dedicated'])));
    const holds = [];
    for (const name of names) holds.push(await holdPods(cluster, { 'job-name': `${name}-init` }));
    await want(NEW);
    const working = async (): Promise<string[]> =>
      (await cluster.list('AppSite', namespace))
        .filter((site) => at(site, 'status.upgrade.state') === 'Running')
        .map(({ metadata }) => metadata.name);
    let most = 0;
    for (const [index, hold] of holds.entries()) {
      const blocked = names.slice(index);
      await cluster.until('two of the blocked sites are upgraded, or the last one', async () => {
        const now = await working();
        most = Math.max(most, now.length);
        return now.filter((name) => blocked.includes(name)).length === Math.min(2, blocked.length);
      });
      await release(cluster, hold);
    }
    for (const name of names) await isOn(name, NEW);
    assert.equal(most, 2);
    await operator.stop();
  });

  test('that fails for one site continues for the others; the previous image reopens it', async () => {
    await running('failing', { bad: 'Shared', good: 'Shared' }, { upgrade: { parallel: 1 } });
    const fault = await failJob(cluster, namespace, 'bad-init', FAILURE);
    await want(NEW);
    await jobRuns('bad-init', NEW);
    await cluster.patch('Job', namespace, 'bad-init', { spec: { backoffLimit: 0 } });
    const bad = await cluster.becomes('AppSite', namespace, 'bad', {
      what: 'is Stalled, with the place of its backup',
      check: (live) => conditionOf(live, 'Stalled')?.reason === 'MigrationFailed',
    });
    assert.match(conditionOf(bad, 'Ready')?.message ?? '', /its backup is sites\/x.*: boom/);
    assert.deepEqual(at(bad, 'status.upgrade'), {
      from: OLD,
      to: NEW,
      state: 'Failed',
      closed: true,
    });
    // Its Job is tried again after half a minute, and from then on it has not failed.
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'says which site has failed',
      check: (live) => (conditionOf(live, 'Upgrading')?.message ?? '').includes('failed: bad'),
    });
    await isOn('good', NEW);
    const bench = await cluster.the('AppBench', namespace, 'b');
    assert.equal(at(bench, 'status.image'), NEW, 'a closed site blocks no other site');
    await release(cluster, fault);
    await want(OLD);
    await isOn('bad', OLD);
    const env = await envOf('bad-init');
    assert.deepEqual([env['IMAGE'], env['KEEP_CLOSED']], [OLD, '1']);
    await operator.stop();
  });

  test('waits for a paused Shared site, with the reason', async () => {
    await running('paused', { pa1: 'Shared', pa2: 'Shared' });
    await cluster.patch('AppSite', namespace, 'pa1', { spec: { paused: true } });
    await cluster.becomes('AppSite', namespace, 'pa1', {
      what: 'is paused',
      check: (live) => Boolean(conditionOf(live, 'Paused')),
    });
    await want(NEW);
    await state('pa2', 'Migrated');
    const bench = await cluster.becomes('AppBench', namespace, 'b', {
      what: 'is blocked',
      check: (live) => conditionOf(live, 'Upgrading')?.reason === 'SitesBlock',
    });
    assert.match(conditionOf(bench, 'Upgrading')?.message ?? '', /pa1 \(it is paused\)/);
    assert.equal(await imageOf('Deployment', 'b-gunicorn'), OLD);
    await cluster.patch('AppSite', namespace, 'pa1', { spec: { paused: false } });
    await isOn('pa1', NEW);
    await isOn('pa2', NEW);
    await operator.stop();
  });

  for (const [workloads, name] of [
    ['Dedicated', 'kd'],
    ['Shared', 'ks'],
  ] as const) {
    test(`of a ${workloads} site survives a killed operator in each state`, async () => {
      const user = `killed-${name}`;
      await running(user, { [name]: workloads });
      const restart = async (): Promise<void> => {
        operator.kill('SIGKILL');
        await operator.exited;
        operator = await cluster.operator([], { namespaces: [namespace], user });
      };
      const init = await holdPods(cluster, { 'job-name': `${name}-init` });
      const reopen = await holdPods(cluster, { 'job-name': `${name}-reopen` });
      await want(NEW);
      await restart();
      await state(name, 'Running');
      await jobRuns(`${name}-init`, NEW);
      const job = await cluster.the('Job', namespace, `${name}-init`);
      await restart();
      await release(cluster, init);
      await state(name, 'Migrated');
      const reopenJob = (): Promise<Live | undefined> =>
        cluster.get('Job', namespace, `${name}-reopen`);
      await cluster.until('the second Job', reopenJob);
      await restart();
      const again = await cluster.the('Job', namespace, `${name}-init`);
      assert.equal(again.metadata.uid, job.metadata.uid, 'what has run does not run again');
      await release(cluster, reopen);
      await isOn(name, NEW);
      await restart();
      await cluster.deleted('Job', namespace, `${name}-reopen`);
      await isOn(name, NEW);
      await operator.stop();
    });
  }

  test('whose apps are more installs them with the new image, not before', async () => {
    await running('apps', { ap: 'Dedicated' }, { appsJSON: '["erpnext"]' });
    const before = await cluster.the('Job', namespace, 'ap-init');
    const hold = await holdPods(cluster, { 'job-name': 'b-init' });
    await cluster.patch('AppBench', namespace, 'b', {
      spec: { image: image(NEW), appsJSON: '["erpnext","hrms"]' },
    });
    const waiting = await state('ap', 'Waiting');
    assert.deepEqual(at(waiting, 'status.apps'), ['erpnext']);
    assert.equal(at(waiting, 'status.phase'), 'Ready', 'open on the image before');
    const now = await cluster.the('Job', namespace, 'ap-init');
    assert.equal(now.metadata.uid, before.metadata.uid);
    await release(cluster, hold);
    await isOn('ap', NEW);
    assert.equal((await envOf('ap-init'))['SITE_APPS'], '["erpnext","hrms"]');
    await cluster.patch('AppBench', namespace, 'b', {
      spec: { appsJSON: '["erpnext","hrms","wiki"]' },
    });
    await cluster.until(
      'the Job with the app that is new',
      async () => (await envOf('ap-init'))['SITE_APPS'] === '["erpnext","hrms","wiki"]',
    );
    await operator.stop();
  });
});
