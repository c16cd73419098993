import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Resource } from '../../constructs/kit/object.js';
import { aReadyBench, aReader, aSite, aSecret, stored } from '../golden/builders.js';
import { corpus, podTemplates } from '../golden/corpus.js';
import { graphOf, kindOf } from '../golden/outcome.js';

const JOBS = new Set(['Job', 'CronJob']);

/** The Jobs of a bench, a site and a backup to S3, by `<kind> <name>`. */
function jobsOf(bench: Resource) {
  const site = aSite({}, { name: 'demo-site' });
  const s3 = { endpoint: 'https://s3.example.com', bucket: 'backups', secretRef: { name: 's3' } };
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '' };
  const backup = stored(
    'SiteBackup',
    { name: 'demo-backup' },
    { siteRef: { name: 'demo-site' }, destination: { s3 } },
  );
  const reader = aReader([
    ...[bench, { ...site, status: { conditions: [ready], observedGeneration: 1 } }, backup],
    ...[aSecret('demo-bench-redis-auth'), aSecret('s3')],
  ]);
  return [bench, site, backup].flatMap((resource) => {
    const kind = kindOf(resource);
    const inputs = kind.resolve(resource, reader);
    const stages = graphOf(kind, resource, (scope, id) =>
      kind.chart(scope, id, { resource, inputs }),
    );
    const objects = stages.flatMap((stage) => stage.objects);
    return podTemplates(objects.filter(({ kind: made }) => JOBS.has(made)));
  });
}

describe('every container of every Job', () => {
  const resources = { requests: { cpu: '50m', memory: '256Mi' }, limits: { cpu: '500m' } };
  const containersOf = (bench: Resource) =>
    jobsOf(bench).flatMap(({ of, spec }) =>
      [...(spec.initContainers ?? []), ...spec.containers].map((one) => ({ of, ...one })),
    );

  test('is one of these', () => {
    const names = new Set(containersOf(aReadyBench()).map(({ name }) => name));
    assert.deepEqual([...names].sort(), ['backup', 'database-admin', 'init', 'store-signer']);
  });

  test('takes componentResources.jobs', () => {
    const bench = aReadyBench({ componentResources: { jobs: resources, workerDefault: {} } });
    for (const container of containersOf(bench)) {
      assert.deepEqual(container.resources, resources, `${container.of}: ${container.name}`);
    }
  });

  test('has no limit by default that a greatest ratio of 10 to the request refuses', () => {
    for (const { of, name, resources: given = {} } of containersOf(aReadyBench())) {
      assert.equal(given.limits?.['cpu'], undefined, `${of}: ${name}`);
      assert.notEqual(given.requests?.['memory'], '32Mi', `${of}: ${name}`);
    }
  });
});

describe('the pods of Jobs', () => {
  const pods = corpus()
    .filter(({ scenario }) => !scenario.includes('pod-template'))
    .flatMap(({ objects }) => podTemplates(objects));

  test('are left out of Istio and Linkerd, and no other pods are', () => {
    for (const { of, labels } of pods) {
      const isJob = JOBS.has(of.split(' ')[0] ?? '');
      assert.equal(labels['sidecar.istio.io/inject'], isJob ? 'false' : undefined, of);
    }
    assert.match(JSON.stringify(corpus()), /"linkerd.io\/inject":"disabled"/);
  });

  test('are put into a mesh by a pod template', () => {
    const label = { 'sidecar.istio.io/inject': 'true' };
    const bench = aReadyBench({ componentPodTemplates: { jobs: { metadata: { labels: label } } } });
    for (const { of, labels } of jobsOf(bench)) {
      assert.equal(labels['sidecar.istio.io/inject'], 'true', of);
    }
  });
});
