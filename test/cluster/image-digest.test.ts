import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { completePods, release } from './support/interference.js';
import { at, conditionOf, type Live } from './support/objects.js';

const TAG = 'frappe/erpnext:version-15';
const [OLD, NEW] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`];
/** What the init Job of a bench reports. */
const MESSAGE = 'app-operator: Succeeded: {"apps": {"frappe": "15.44.2"}}';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
  await cluster.operator();
});
after(() => cluster.stop());

const imageIn = (workload: Live): unknown => at(workload, 'spec.template.spec.containers[0].image');
const policyIn = (job: Live): unknown =>
  at(job, 'spec.template.spec.containers[0].imagePullPolicy');

describe('a tag that moves', { concurrency: true }, () => {
  test('changes nothing by itself; refresh upgrades the sites to what it refers to', async () => {
    const namespace = await cluster.namespace();
    const the = (kind: string, name: string): Promise<Live> => cluster.the(kind, namespace, name);
    const ask = (refresh: string | null): Promise<unknown> =>
      cluster.patch('AppBench', namespace, 'moving', { spec: { image: { refresh } } });
    /** Every pod of the Job `moving-init` runs this content from now on. */
    const tagIs = (digest: string) =>
      completePods(
        cluster,
        { 'job-name': 'moving-init' },
        MESSAGE,
        `mirror.example.com/hub/erpnext@${digest}`,
      );
    const isOn = (digest: string): Promise<Live> =>
      cluster.becomes('AppSite', namespace, 'shop', {
        what: `is open on ${digest}`,
        check: (site) =>
          at(site, 'status.image') === `${TAG}@${digest}` &&
          at(site, 'status.upgrade') === undefined &&
          at(site, 'status.phase') === 'Ready',
      });

    const old = await tagIs(OLD);
    await cluster.apply(
      namespace,
      aBench('moving'),
      aSite('shop', { bench: 'moving', workloads: 'Shared' }),
    );
    await isOn(OLD);
    const gunicorn = await the('Deployment', 'moving-gunicorn');
    assert.equal(imageIn(gunicorn), `${TAG}@${OLD}`);
    assert.equal(at(gunicorn, 'metadata.generation'), 1, 'its pods start with the digest');
    assert.equal(imageIn(await the('Job', 'shop-init')), `${TAG}@${OLD}`);
    const bench = await cluster.ready('AppBench', namespace, 'moving');
    assert.equal(at(bench, 'status.image'), `${TAG}@${OLD}`);
    assert.equal(at(bench, 'status.previousImage'), undefined);
    assert.equal(conditionOf(bench, 'ImagePinned'), undefined);

    await release(cluster, old);
    const next = await tagIs(NEW);
    // Another app, and with it another run of the init Job, is no question for newer content.
    await cluster.patch('AppBench', namespace, 'moving', { spec: { appsJSON: '["erpnext"]' } });
    await cluster.until('the init Job runs again', async () => {
      const job = await cluster.get('Job', namespace, 'moving-init');
      return job !== undefined && imageIn(job) === `${TAG}@${OLD}`;
    });
    await cluster.ready('AppBench', namespace, 'moving');
    await isOn(OLD);

    await ask('2026-11-28');
    await isOn(NEW);
    assert.equal(imageIn(await the('Job', 'moving-init')), TAG);
    assert.equal(policyIn(await the('Job', 'moving-init')), 'Always');
    const upgraded = await cluster.ready('AppBench', namespace, 'moving');
    assert.equal(at(upgraded, 'status.image'), `${TAG}@${NEW}`);
    assert.equal(at(upgraded, 'status.previousImage'), `${TAG}@${OLD}`);
    assert.equal(imageIn(await the('Deployment', 'moving-gunicorn')), `${TAG}@${NEW}`);

    const jobs = await Promise.all(['moving-init', 'shop-init'].map((name) => the('Job', name)));
    await ask(null);
    await cluster.ready('AppBench', namespace, 'moving');
    await ask('2026-11-28');
    await cluster.ready('AppBench', namespace, 'moving');
    for (const job of jobs) {
      const live = await the('Job', job.metadata.name);
      assert.equal(live.metadata.uid, job.metadata.uid, 'a value that was answered asks nothing');
    }

    await ask('2026-11-29');
    await cluster.becomes('AppBench', namespace, 'moving', {
      what: 'has the answer',
      check: (live) => at(live, 'status.imageDigest.refresh') === '2026-11-29',
    });
    await cluster.ready('AppBench', namespace, 'moving');
    await isOn(NEW);
    const [, site] = jobs;
    const same = await the('Job', 'shop-init');
    assert.equal(same.metadata.uid, site?.metadata.uid, 'the same content is no upgrade');
    await release(cluster, next);
  });

  test('without a digest in a registry stays the image of all pods, and a condition reports it', async () => {
    const namespace = await cluster.namespace();
    const loaded = await completePods(
      cluster,
      { 'job-name': 'loaded-init' },
      MESSAGE,
      `docker.io/library/import-2026-11-28@${OLD}`,
    );
    await cluster.apply(namespace, aBench('loaded'));
    const bench = await cluster.ready('AppBench', namespace, 'loaded');
    const gunicorn = await cluster.the('Deployment', namespace, 'loaded-gunicorn');
    assert.equal(imageIn(gunicorn), TAG);
    assert.equal(at(gunicorn, 'metadata.generation'), 1);
    assert.equal(conditionOf(bench, 'ImagePinned')?.reason, 'DigestUnknown');
    assert.equal(at(bench, 'status.image'), TAG);
    await release(cluster, loaded);
  });
});
