import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { failJob, giveUp, holdPods, release } from './support/interference.js';
import { at, conditionOf, type Live } from './support/objects.js';

const [OLD, NEW] = ['frappe/erpnext:v15.44.0', 'frappe/erpnext:v15.45.0'];
const image = (reference: string) => ({ tag: reference.split(':')[1] ?? '' });
const FAILURE =
  'app-operator: MigrationFailed: stays in maintenance, its backup is sites/x/private/upgrades/y/database.sql.gz: boom\n';

let cluster: Cluster;

type Sites = Readonly<Record<string, 'Dedicated' | 'Shared'>>;

interface Options {
  readonly bench?: Readonly<Record<string, unknown>>;
  /** Its name. @default b */
  readonly name?: string;
}

/** A bench of the old image with its sites, all Ready. */
class Setup {
  private constructor(
    readonly namespace: string,
    private readonly bench: string,
  ) {}

  static async make(
    namespace: string,
    sites: Sites,
    { bench = {}, name: benchName = 'b' }: Options = {},
  ): Promise<Setup> {
    await cluster.apply(
      namespace,
      aBench(benchName, { image: image(OLD), ...bench }),
      ...Object.entries(sites).map(([name, workloads]) =>
        aSite(name, { bench: benchName, workloads }),
      ),
    );
    for (const name of Object.keys(sites)) {
      const site = await cluster.ready('AppSite', namespace, name);
      assert.equal(at(site, 'status.image'), OLD);
    }
    return new Setup(namespace, benchName);
  }

  want(reference: string, spec: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const patch = { spec: { image: image(reference), ...spec } };
    return cluster.patch('AppBench', this.namespace, this.bench, patch);
  }

  state(site: string, wanted: string): Promise<Live> {
    return cluster.becomes('AppSite', this.namespace, site, {
      what: `is ${wanted}`,
      check: (live) => at(live, 'status.upgrade.state') === wanted,
    });
  }

  isOn(site: string, reference: string): Promise<Live> {
    return cluster.becomes('AppSite', this.namespace, site, {
      what: `is on ${reference}, and open`,
      check: (live) =>
        at(live, 'status.image') === reference &&
        at(live, 'status.upgrade') === undefined &&
        at(live, 'status.phase') === 'Ready',
    });
  }

  async imageOf(kind: string, name: string): Promise<unknown> {
    const live = await cluster.the(kind, this.namespace, name);
    return at(live, 'spec.template.spec.containers[0].image');
  }

  /** Waits until a Job runs an image: the previous Job is deleted first. */
  jobRuns(name: string, reference: string): Promise<unknown> {
    return cluster.until(
      `${name} of ${reference}`,
      async () => (await this.imageOf('Job', name)) === reference,
    );
  }

  async envOf(job: string): Promise<Readonly<Record<string, string>>> {
    const env = at(
      await cluster.the('Job', this.namespace, job),
      'spec.template.spec.containers[0].env',
    ) as readonly { readonly name: string; readonly value?: string }[];
    return Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));
  }

  /** Asserts that these writes came in this order, each for the first time after `since`. */
  async inOrder(since: Date, ...wanted: readonly string[]): Promise<void> {
    const writes = await cluster.writes({ namespace: this.namespace, since });
    const found = wanted.map((write) => writes.indexOf(write));
    assert.ok(
      found.every((index, i) => index >= 0 && index > (found[i - 1] ?? -1)),
      `${wanted.join(', ')}\nin\n${writes.join('\n')}`,
    );
  }
}

/** Namespaces of the operator that is not killed: one for each test. */
const free: string[] = [];

function running(sites: Sites, options: Options = {}): Promise<Setup> {
  return Setup.make(free.pop() ?? '', sites, options);
}

before(async () => {
  cluster = await startCluster({ audit: true });
  for (let index = 0; index < 8; index++) free.push(await cluster.namespace());
  await cluster.operator([], { namespaces: [...free] });
});
after(() => cluster.stop());

describe('an upgrade', { concurrency: 4 }, () => {
  test('of a Dedicated site: its Job, then its pods, then it opens; the bench does not wait', async () => {
    const setup = await running({ ded: 'Dedicated' });
    const { namespace } = setup;
    const hold = await holdPods(cluster, { 'job-name': 'ded-init' });
    const since = new Date();
    await setup.want(NEW);
    const site = await setup.state('ded', 'Running');
    assert.equal(conditionOf(site, 'Upgrading')?.reason, 'Running');
    await setup.jobRuns('ded-init', NEW);
    assert.equal((await setup.envOf('ded-init'))['KEEP_CLOSED'], '1');
    assert.equal(
      await setup.imageOf('Deployment', 'ded-gunicorn'),
      OLD,
      'closed, and not yet migrated',
    );
    const bench = await cluster.ready('AppBench', namespace, 'b');
    assert.equal(at(bench, 'status.image'), NEW);
    assert.equal(at(bench, 'status.upgrade.progress'), '0/1');
    const web = await holdPods(cluster, { app: 'ded-gunicorn' });
    await release(cluster, hold);
    await setup.state('ded', 'Migrated');
    await cluster.until(
      'the new image',
      async () => (await setup.imageOf('Deployment', 'ded-gunicorn')) === NEW,
    );
    await sleep(3_000);
    const closed = await cluster.the('AppSite', namespace, 'ded');
    assert.equal(at(closed, 'status.upgrade.state'), 'Migrated', 'pods of the old image are there');
    assert.equal(await cluster.get('Job', namespace, 'ded-reopen'), undefined);
    await release(cluster, web);
    await setup.isOn('ded', NEW);
    await cluster.deleted('Job', namespace, 'ded-reopen');
    await setup.inOrder(
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
  });

  test('of Shared sites: the bench’s pods change when all are closed, then they open', async () => {
    const setup = await running(
      { sh1: 'Shared', sh2: 'Shared' },
      { bench: { upgrade: { parallel: 1 } } },
    );
    const { namespace } = setup;
    const hold = await holdPods(cluster, { 'job-name': 'sh2-init' });
    const since = new Date();
    await setup.want(NEW);
    const first = await setup.state('sh1', 'Migrated');
    assert.equal(at(first, 'status.upgrade.closed'), true);
    await setup.state('sh2', 'Running');
    const bench = await cluster.becomes('AppBench', namespace, 'b', {
      what: 'waits for sh2',
      check: (live) => conditionOf(live, 'Ready')?.message.includes('Shared sites') ?? false,
    });
    assert.deepEqual([at(bench, 'status.image'), at(bench, 'status.ready')], [OLD, false]);
    for (const name of ['gunicorn', 'nginx', 'scheduler', 'worker-short']) {
      assert.equal(await setup.imageOf('Deployment', `b-${name}`), OLD, name);
    }
    assert.equal(await cluster.get('Job', namespace, 'sh1-reopen'), undefined);
    await release(cluster, hold);
    await setup.isOn('sh1', NEW);
    await setup.isOn('sh2', NEW);
    assert.equal(await setup.imageOf('Deployment', 'b-gunicorn'), NEW);
    await setup.inOrder(
      since,
      'patch jobs/sh1-init',
      'patch jobs/sh2-init',
      'patch deployments/b-gunicorn',
      'patch jobs/sh2-reopen',
    );
  });

  test('upgrades a few sites at a time until all are done', async () => {
    const names = ['p1', 'p2', 'p3', 'p4', 'p5'];
    const setup = await running(Object.fromEntries(names.map((name) => [name, 'Dedicated'])));
    const { namespace } = setup;
    const holds = [];
    for (const name of names) holds.push(await holdPods(cluster, { 'job-name': `${name}-init` }));
    await setup.want(NEW);
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
    for (const name of names) await setup.isOn(name, NEW);
    assert.equal(most, 2);
  });

  test('that fails for one site continues for the others; the previous image reopens it', async () => {
    const setup = await running(
      { bad: 'Shared', good: 'Shared' },
      { bench: { upgrade: { parallel: 1 } } },
    );
    const { namespace } = setup;
    const fault = await failJob(cluster, namespace, 'bad-init', FAILURE);
    await setup.want(NEW);
    await setup.jobRuns('bad-init', NEW);
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
    await setup.isOn('good', NEW);
    const bench = await cluster.the('AppBench', namespace, 'b');
    assert.equal(at(bench, 'status.image'), NEW, 'a closed site blocks no other site');
    await release(cluster, fault);
    await setup.want(OLD);
    await setup.isOn('bad', OLD);
    const env = await setup.envOf('bad-init');
    assert.deepEqual([env['IMAGE'], env['KEEP_CLOSED']], [OLD, '1']);
  });

  test('is not held by a site that was never created', async () => {
    const setup = await running({ good: 'Shared' });
    const { namespace } = setup;
    const refusal = 'app-operator: DatabaseNameMismatch: uses another database\n';
    const fault = await failJob(cluster, namespace, 'never-init', refusal);
    await cluster.apply(namespace, aSite('never', { bench: 'b', workloads: 'Shared' }));
    const never = await cluster.becomes('AppSite', namespace, 'never', {
      what: 'is Stalled',
      check: (live) => conditionOf(live, 'Stalled')?.reason === 'DatabaseNameMismatch',
    });
    assert.equal(at(never, 'status.phase'), 'Provisioning', 'it is tried again');
    await setup.want(NEW);
    await setup.isOn('good', NEW);
    await release(cluster, fault);
    await cluster.delete('Job', namespace, 'never-init');
    await setup.isOn('never', NEW);
    await cluster.ready('AppBench', namespace, 'b');
  });

  test('that goes back for a closed Shared site closes none that opens, or is open', async () => {
    const setup = await running({ bad: 'Shared', good: 'Shared' });
    const { namespace } = setup;
    const fault = await failJob(cluster, namespace, 'bad-init', FAILURE);
    const hold = await holdPods(cluster, { 'job-name': 'good-reopen' });
    await setup.want(NEW);
    await setup.jobRuns('bad-init', NEW);
    await giveUp(cluster, namespace, 'bad-init');
    await cluster.becomes('AppSite', namespace, 'good', {
      what: 'is being opened',
      check: (live) => (conditionOf(live, 'Upgrading')?.message ?? '').endsWith('is being opened'),
    });
    await release(cluster, fault);
    const refusal = 'app-operator: Downgrade: older code cannot work on good\n';
    const refused = await failJob(cluster, namespace, 'good-init', refusal);
    await setup.want(OLD);
    await cluster.becomes('AppSite', namespace, 'bad', {
      what: 'has its previous data, and says what it waits for',
      check: (live) =>
        /they run .*:v15[.]45[.]0 while a Shared site is open/.test(
          conditionOf(live, 'Ready')?.message ?? '',
        ),
    });
    await release(cluster, hold);
    await cluster.becomes('AppSite', namespace, 'good', {
      what: 'is open on the new image, and refused the old one',
      check: (live) =>
        at(live, 'status.image') === NEW && conditionOf(live, 'Ready')?.reason === 'Downgrade',
    });
    assert.equal(await setup.imageOf('Deployment', 'b-gunicorn'), NEW);
    const bad = await cluster.the('AppSite', namespace, 'bad');
    assert.match(conditionOf(bad, 'Upgrading')?.message ?? '', /^back on frappe.*v15[.]44[.]0/);
    await cluster.patch('AppSite', namespace, 'bad', { spec: { workloads: 'Dedicated' } });
    await setup.isOn('bad', OLD);
    assert.equal(await setup.imageOf('Deployment', 'bad-gunicorn'), OLD);
    assert.equal(await setup.imageOf('Deployment', 'b-gunicorn'), NEW);
    await release(cluster, refused);
  });

  test('waits for a paused Shared site, with the reason', async () => {
    const setup = await running({ pa1: 'Shared', pa2: 'Shared' });
    const { namespace } = setup;
    await cluster.patch('AppSite', namespace, 'pa1', { spec: { paused: true } });
    await cluster.becomes('AppSite', namespace, 'pa1', {
      what: 'is paused',
      check: (live) => Boolean(conditionOf(live, 'Paused')),
    });
    await setup.want(NEW);
    await setup.state('pa2', 'Migrated');
    const bench = await cluster.becomes('AppBench', namespace, 'b', {
      what: 'is blocked',
      check: (live) => conditionOf(live, 'Upgrading')?.reason === 'SitesBlock',
    });
    assert.match(conditionOf(bench, 'Upgrading')?.message ?? '', /pa1 \(it is paused\)/);
    assert.equal(await setup.imageOf('Deployment', 'b-gunicorn'), OLD);
    await cluster.patch('AppSite', namespace, 'pa1', { spec: { paused: false } });
    await setup.isOn('pa1', NEW);
    await setup.isOn('pa2', NEW);
  });

  test('of a Dedicated and of a Shared site survives a killed operator in each state', async () => {
    const namespace = await cluster.namespace();
    const options = { namespaces: [namespace], user: 'killed' };
    let operator = await cluster.operator([], options);
    const sites = { kd: 'Dedicated', ks: 'Shared' } as const;
    const setup = await Setup.make(namespace, sites);
    const restart = async (): Promise<void> => {
      operator.kill('SIGKILL');
      await operator.exited;
      operator = await cluster.operator([], options);
    };
    const each = <T>(work: (name: string) => Promise<T>): Promise<T[]> =>
      Promise.all(Object.keys(sites).map(work));
    const hold = (job: string) => (name: string) =>
      holdPods(cluster, { 'job-name': `${name}-${job}` });
    const inits = await each(hold('init'));
    const reopens = await each(hold('reopen'));
    await setup.want(NEW);
    await restart();
    await each((name) => setup.state(name, 'Running'));
    await each((name) => setup.jobRuns(`${name}-init`, NEW));
    const initJobs = (): Promise<(string | undefined)[]> =>
      each(async (name) => (await cluster.the('Job', namespace, `${name}-init`)).metadata.uid);
    const jobs = await initJobs();
    await restart();
    for (const init of inits) await release(cluster, init);
    await each((name) => setup.state(name, 'Migrated'));
    await each((name) =>
      cluster.until('the second Job', () => cluster.get('Job', namespace, `${name}-reopen`)),
    );
    await restart();
    assert.deepEqual(await initJobs(), jobs, 'what has run does not run again');
    for (const reopen of reopens) await release(cluster, reopen);
    await each((name) => setup.isOn(name, NEW));
    await restart();
    await each((name) => cluster.deleted('Job', namespace, `${name}-reopen`));
    await each((name) => setup.isOn(name, NEW));
  });

  test('whose apps are more installs them with the new image, not before', async () => {
    const setup = await running(
      { ap: 'Dedicated' },
      { bench: { appsJSON: '["erpnext"]' }, name: 'apps' },
    );
    const { namespace } = setup;
    const before = await cluster.the('Job', namespace, 'ap-init');
    const hold = await holdPods(cluster, { 'job-name': 'apps-init' });
    await setup.want(NEW, { appsJSON: '["erpnext","hrms"]' });
    const waiting = await setup.state('ap', 'Waiting');
    assert.deepEqual(at(waiting, 'status.apps'), ['erpnext']);
    assert.equal(at(waiting, 'status.phase'), 'Ready', 'open on the image before');
    const now = await cluster.the('Job', namespace, 'ap-init');
    assert.equal(now.metadata.uid, before.metadata.uid);
    await release(cluster, hold);
    await setup.isOn('ap', NEW);
    assert.equal((await setup.envOf('ap-init'))['SITE_APPS'], '["erpnext","hrms"]');
    await cluster.patch('AppBench', namespace, 'apps', {
      spec: { appsJSON: '["erpnext","hrms","wiki"]' },
    });
    await cluster.until(
      'the Job with the app that is new',
      async () => (await setup.envOf('ap-init'))['SITE_APPS'] === '["erpnext","hrms","wiki"]',
    );
  });
});
