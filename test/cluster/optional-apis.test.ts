import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite, scaled } from './support/builders.js';
import { OperatorMetrics } from '../../testbed/operator-metrics.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { crdsOf } from './support/modules.js';
import { at, conditionOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

const KEDA = await crdsOf('keda.sh.ts', [
  'config/crd/bases/keda.sh_scaledobjects.yaml',
  'config/crd/bases/keda.sh_triggerauthentications.yaml',
]);
const CERTIFICATES = await crdsOf('cert-manager.io.ts', [
  'deploy/crds/cert-manager.io_certificates.yaml',
]);
const CRDS = [...KEDA.crds, ...CERTIFICATES.crds];
const SITES = ['s1', 's2', 's3', 's4', 's5', 's6'];
const SCALERS = ['b', ...SITES].map((owner) => `${owner}-worker-short`);
/** How many times faster the operator's timers run. */
const TIME_FACTOR = 4;
/** The number of this worker is not given: it is scaled. */
const SCALED = { workerShort: undefined };
const few = { workerDefault: 0 };

describe('optional APIs', { skip: KEDA.skip || CERTIFICATES.skip }, () => {
  let cluster: Cluster;
  let operators: ProxiedOperators;
  let proxy: FaultProxy;
  let namespace: string;
  let operator: Operator;
  let metrics: OperatorMetrics;
  let started = 0;
  before(async () => {
    cluster = await startCluster({ audit: true });
    operators = new ProxiedOperators(cluster);
    proxy = await operators.proxy();
    namespace = await cluster.namespace();
    await start();
  });
  after(async () => {
    await operators.stop();
    await cluster.stop();
  });

  /** Starts the operator: a new user, so that its writes can be distinguished. */
  const start = async (through: FaultProxy | undefined = proxy): Promise<string> => {
    const metricsPort = await cluster.freePort();
    const user = `operator-${++started}`;
    const options = { namespaces: [namespace], user, metricsPort, timeFactor: TIME_FACTOR };
    operator = await operators.start(through, options);
    metrics = new OperatorMetrics(metricsPort);
    return user;
  };
  const install = async (crds = CRDS): Promise<void> => {
    for (const crd of crds) await installCrd(cluster, crd);
  };
  const remove = async (): Promise<void> => {
    for (const { metadata } of CRDS) {
      await cluster.delete('CustomResourceDefinition', '', metadata.name);
    }
  };
  const removed = async (): Promise<void> => {
    for (const { metadata } of CRDS) {
      await cluster.deleted('CustomResourceDefinition', '', metadata.name);
    }
  };
  const names = async (kind: string): Promise<readonly string[]> =>
    (await cluster.list(kind, namespace)).map(({ metadata }) => metadata.name);

  /** Whether bench and sites are as they are with the APIs, or as without them. */
  const awaitUse = async (what: string, used: boolean): Promise<void> => {
    await cluster.until(
      what,
      async () => {
        if (used) {
          assert.deepEqual(await names('ScaledObject'), SCALERS);
          const certificates = SITES.map((site) => `${site}-tls`);
          assert.deepEqual(await names('Certificate'), certificates);
        }
        const bench = await cluster.the('AppBench', namespace, 'b');
        const { reason } = conditionOf(bench, 'Autoscaling') ?? {};
        // No KEDA reports the scalers as ready, which this test ignores.
        assert.equal(reason, used ? 'ScalerNotReady' : 'KedaMissing');
        for (const owner of ['b', ...SITES]) {
          const worker = await cluster.the('Deployment', namespace, `${owner}-worker-short`);
          const ours = worker.metadata.managedFields?.find(
            ({ manager, operation }) => manager === 'app-operator' && operation === 'Apply',
          );
          const replicas = at(ours?.fieldsV1, '["f:spec"]["f:replicas"]');
          assert.equal(replicas === undefined, used, `${owner}: ${JSON.stringify(replicas)}`);
        }
        return true;
      },
      60_000,
    );
    await cluster.ready('AppBench', namespace, 'b');
    for (const site of SITES) await cluster.ready('AppSite', namespace, site);
    assert.ok(operator.running, operator.tail());
  };

  /** The operator comes to rest: it has nothing to do, and nothing to try. */
  const isQuiet = async (): Promise<void> => {
    const counts = async (): Promise<Record<string, number>> => {
      const { watch: _, ...others } = Object.fromEntries(await metrics.calls());
      return others;
    };
    await cluster.until(
      'it is quiet',
      async () => {
        const before = await counts();
        // The operator puts off a changed message of a status for five seconds at most.
        await sleep(6_000 / TIME_FACTOR);
        assert.deepEqual(await counts(), before);
        return true;
      },
      90_000,
    );
  };

  test('that appear while sites are being made are used by all of them', async () => {
    const tls = { enabled: true, certManagerIssuer: 'letsencrypt' };
    await cluster.apply(
      namespace,
      aBench('b', {
        workerAutoscaling: { short: scaled(0, 5, 2), long: { enabled: false } },
        componentReplicas: few,
      }),
      ...SITES.slice(0, 3).map((site) =>
        aSite(site, { bench: 'b', componentReplicas: SCALED, ingress: { enabled: true, tls } }),
      ),
    );
    await cluster.until('there is work', () => cluster.get('Job', namespace, 'b-init'));
    await Promise.all([
      install(),
      cluster.apply(
        namespace,
        ...SITES.slice(3).map((site) =>
          aSite(site, { bench: 'b', componentReplicas: SCALED, ingress: { enabled: true, tls } }),
        ),
      ),
    ]);
    await awaitUse('all use them', true);
  });

  test('cause no writes at a restart of the operator', async () => {
    // A status that was put off would be lost with it.
    await isQuiet();
    await operator.stop();
    const user = await start(undefined);
    await awaitUse('all use them', true);
    await sleep(2_000);
    const writes = await cluster.writes({ user });
    // No operator observes the objects, which is reported once they are a minute old: read after the writes, which may include it.
    const unobserved = [
      ...(await cluster.list('AppBench', namespace)),
      ...(await cluster.list('AppSite', namespace)),
    ]
      .filter(({ status }) => JSON.stringify(status).includes('for a minute'))
      .map(({ kind, metadata }) => `patch ${kind.toLowerCase()}s/${metadata.name}/status`);
    assert.deepEqual(
      writes.filter((write) => !unobserved.includes(write)),
      [],
    );
  });

  test('that are deleted during other changes block no resource', async () => {
    const spec = { componentResources: { gunicorn: { requests: { cpu: '50m' } } } };
    await Promise.all([remove(), cluster.patch('AppBench', namespace, 'b', { spec })]);
    await removed();
    await awaitUse('none uses them', false);
    await isQuiet();
    assert.equal(await metrics.sum('workqueue_depth'), 0);
  });

  test('that are installed again are used again', async () => {
    await install();
    await awaitUse('all use them', true);
  });

  test('that are deleted and created again during a downtime are handled after the start', async () => {
    await operator.stop();
    await remove();
    await removed();
    await start();
    await awaitUse('none uses them', false);
    await operator.stop();
    await install();
    await start();
    await awaitUse('all use them', true);
  });

  test('that are deleted during their first list count as deleted', async () => {
    await remove();
    await removed();
    await awaitUse('none uses them', false);
    const { promise: blocked, resolve: release } = Promise.withResolvers<undefined>();
    let listed = false;
    proxy.rule = async ({ path }) => {
      if (!/\/(scaledobjects|triggerauthentications|certificates)$/.test(path)) return undefined;
      listed = true;
      await blocked;
      return undefined;
    };
    await install();
    await cluster.until('they are listed', async () => listed);
    const timesUnserved = (): number =>
      operator.lines.filter(({ msg }) => msg === 'optional API is no longer served').length;
    const known = timesUnserved();
    await remove();
    await removed();
    await cluster.until('it knows', async () => timesUnserved() > known);
    release(undefined);
    proxy.rule = undefined;
    await sleep(1_500);
    await awaitUse('none uses them', false);
  });

  test('of which one appears before the other block no resource', async () => {
    const [first, second] = KEDA.crds;
    assert.ok(first && second);
    await install([first]);
    await cluster.until('the ScaledObjects are there', async () => {
      assert.deepEqual(await names('ScaledObject'), SCALERS);
      return true;
    });
    await isQuiet();
    await cluster.ready('AppBench', namespace, 'b');
    await install([second]);
    await cluster.until('the login is there', async () => {
      assert.deepEqual(await names('TriggerAuthentication'), ['b-redis-trigger']);
      return true;
    });
    await remove();
    await removed();
    await awaitUse('none uses them', false);
  });

  test('that one of several API servers serves late are found', async () => {
    const late = performance.now() + 4_000 / TIME_FACTOR;
    proxy.rule = ({ path }) =>
      /^\/apis\/(keda\.sh|cert-manager\.io)\/[^/]+$/.test(path) && performance.now() < late
        ? { status: 404, body: { kind: 'Status', code: 404, reason: 'NotFound' } }
        : undefined;
    await install();
    await awaitUse('all use them', true);
    await isQuiet();
  });

  test('that one of several API servers denies for a while keep their objects', async () => {
    const uids = async (): Promise<readonly (string | undefined)[]> =>
      [
        ...(await cluster.list('ScaledObject', namespace)),
        ...(await cluster.list('Certificate', namespace)),
      ].map(({ metadata }) => metadata.uid);
    const before = await uids();
    assert.equal(before.length, 2 * SITES.length + 1);
    const timesUnserved = (): number =>
      operator.lines.filter(({ msg }) => msg === 'optional API is no longer served').length;
    const known = timesUnserved();
    proxy.rule = ({ path }) =>
      /^\/apis\/(keda\.sh|cert-manager\.io)\/[^/]+$/.test(path)
        ? { status: 404, body: { kind: 'Status', code: 404, reason: 'NotFound' } }
        : undefined;
    const metadata = { annotations: { 'example.com/looked-at': 'yes' } };
    for (const crd of CRDS) {
      await cluster.patch('CustomResourceDefinition', '', crd.metadata.name, { metadata });
    }
    await cluster.until('it is denied', async () => timesUnserved() === known + CRDS.length);
    proxy.rule = undefined;
    await awaitUse('all use them', true);
    assert.deepEqual(await uids(), before);
  });
});
