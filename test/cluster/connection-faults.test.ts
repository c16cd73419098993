import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { OperatorMetrics } from '../../testbed/operator-metrics.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { assertSameObjects, routesOf, snapshot, type Snapshot } from './support/snapshot.js';
import { at, type Manifest } from './support/objects.js';
import type { Operator } from './support/operator.js';
import { randomFrom } from '../../testbed/random.js';

let cluster: Cluster;
let operators: ProxiedOperators;
let undisturbed: Snapshot;
/** Without faults until its state is known. */
let first: Place;
before(async () => {
  cluster = await startCluster();
  operators = new ProxiedOperators(cluster);
  first = await Place.make();
  await first.create();
  await first.ready();
  undisturbed = await cluster.until('nginx knows the site', async () => {
    const routes = await routesOf(cluster, first.namespace, 'b');
    return routes.includes('s.example.com') && snapshot(cluster, first.namespace);
  });
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

/** A namespace with an operator of its own behind a proxy. */
class Place {
  private constructor(
    readonly namespace: string,
    readonly proxy: FaultProxy,
    readonly operator: Operator,
    readonly metrics: OperatorMetrics,
  ) {}

  static async make(): Promise<Place> {
    const namespace = await cluster.namespace();
    const proxy = await operators.proxy();
    const metricsPort = await cluster.freePort();
    const operator = await operators.start(proxy, { namespaces: [namespace], metricsPort });
    return new Place(namespace, proxy, operator, new OperatorMetrics(metricsPort));
  }

  create(): Promise<unknown> {
    return cluster.apply(this.namespace, aBench('b'), sharedSite('s'));
  }

  async ready(...more: readonly string[]): Promise<void> {
    await cluster.ready('AppBench', this.namespace, 'b');
    for (const site of ['s', ...more]) {
      await cluster.ready('AppSite', this.namespace, site);
    }
  }

  /** Makes one more site. */
  async add(site: string): Promise<void> {
    await cluster.apply(this.namespace, sharedSite(site));
    await this.ready(site);
  }

  /** The same process has reached the same state as without the fault. */
  async isUnharmed(what: string): Promise<void> {
    await this.ready();
    assert.ok(this.operator.running, `the operator is the same process:\n${this.operator.tail()}`);
    // A bench may be Ready before it has observed its site: that watch comes back last, once in a while.
    await cluster.until(`the objects are the same after ${what}`, async () => {
      assertSameObjects(await snapshot(cluster, this.namespace), undisturbed, what);
      return true;
    });
  }

  /** Watches that began again, by reason. */
  restarts(reason: string): Promise<number> {
    return this.metrics.sum('watch_restarts_total', (labels) => labels['reason'] === reason);
  }

  /** Makes every kind of change that an operator can miss. */
  async change({ gone, come, nginx }: Change): Promise<void> {
    const { namespace } = this;
    await cluster.delete('Deployment', namespace, 'b-socketio');
    await cluster.patch('Service', namespace, 'b-gunicorn', { metadata: { labels: null } });
    await cluster.patch('AppBench', namespace, 'b', { spec: { componentReplicas: { nginx } } });
    await cluster.delete('AppSite', namespace, gone);
    await cluster.apply(namespace, sharedSite(come));
  }

  async changesAreDone({ gone, come, nginx }: Change): Promise<void> {
    const { namespace } = this;
    await cluster.deleted('AppSite', namespace, gone);
    await this.ready(come);
    await cluster.the('Deployment', namespace, 'b-socketio');
    await cluster.becomes('Service', namespace, 'b-gunicorn', {
      what: 'has its labels',
      check: ({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === 'b',
    });
    const proxy = await cluster.the('Deployment', namespace, 'b-nginx');
    assert.equal(at(proxy, 'spec.replicas'), nginx);
    await cluster.until('nginx knows the sites that are there', async () => {
      const routes = await routesOf(cluster, namespace, 'b');
      assert.deepEqual(routes, ['s.example.com', `${come}.example.com`]);
      return true;
    });
    assert.ok(this.operator.running);
  }
}

/** A site that is deleted, one that is made, and a number of replicas. */
interface Change {
  readonly gone: string;
  readonly come: string;
  readonly nginx: number;
}

const sharedSite = (name: string): Manifest => aSite(name, { bench: 'b', workloads: 'Shared' });

describe('an operator keeps working', { concurrency: 5 }, () => {
  test('while its watches break again and again', async () => {
    const place = await Place.make();
    await place.create();
    for (let round = 0; round < 12; round++) {
      await sleep(400);
      for (const watch of place.proxy.watches) watch.cut();
    }
    await place.isUnharmed('cut watches');
    assert.ok((await place.restarts('Error')) > 10, 'and its metrics tell of it');
    const activity = (await place.metrics.samples()).filter(
      ({ name }) => name === 'app_operator_watch_last_activity_timestamp_seconds',
    );
    const kinds = activity.map(({ labels }) => labels['kind'] ?? '');
    for (const kind of ['AppSite', 'Deployment', 'Secret']) assert.ok(kinds.includes(kind), kind);
    for (const { value } of activity) assert.ok(Date.now() / 1_000 - value < 120);
  });

  test('while the server ends its watches without an error', async () => {
    const place = await Place.make();
    await place.create();
    for (let round = 0; round < 6; round++) {
      await sleep(1_100);
      for (const watch of place.proxy.watches) watch.end();
    }
    await place.isUnharmed('ended watches');
    const { calls } = place.proxy;
    const watched = new Set(calls.filter((call) => call.startsWith('WATCH ')));
    for (const watch of watched) {
      const list = watch.replace('WATCH', 'GET');
      // Of ConfigMaps one watch has the metadata of all, and another one the content of children.
      const watches = list.endsWith('/configmaps') ? 2 : 1;
      assert.equal(
        calls.filter((call) => call === list).length,
        watches,
        `${list}: only the first`,
      );
    }
    const jobs = `WATCH /apis/batch/v1/namespaces/${place.namespace}/jobs`;
    assert.ok(calls.filter((call) => call === jobs).length > 1, 'it was begun again');
  });

  describe('and misses nothing', { concurrency: 1 }, () => {
    test('with a list when the server does not know its version any more', async () => {
      const change = { gone: 't', come: 'u', nginx: 2 };
      await first.add('t');
      for (const watch of first.proxy.watches) watch.silent = true;
      await first.change(change);
      for (const watch of first.proxy.watches) watch.expire();
      await first.changesAreDone(change);
      assert.ok((await first.restarts('Expired')) >= 10);
    });

    test('while nothing listens for ten seconds', async () => {
      const change = { gone: 'u', come: 'v', nginx: 3 };
      const before = await first.restarts('Error');
      await first.proxy.refuse();
      await first.change(change);
      await sleep(10_000);
      await first.proxy.accept();
      await first.changesAreDone(change);
      assert.ok((await first.restarts('Error')) > before);
    });
  });

  test('while two of three calls are answered with 429 or 503 and Retry-After', async () => {
    const place = await Place.make();
    let calls = 0;
    const headers = { 'retry-after': '1' };
    const answers = [undefined, { status: 429, headers }, { status: 503, headers }];
    place.proxy.rule = () => answers[++calls % 3];
    for (const watch of place.proxy.watches) watch.cut();
    await place.create();
    await sleep(6_000);
    place.proxy.rule = undefined;
    await place.isUnharmed('429 and 503 for a while');
    // A server that sends Retry-After is obeyed: no call is made more than a few times a second.
    assert.ok(calls < 600, `${calls} calls in 6 s`);
  });

  test('while responses are lost: no object is written twice', async () => {
    const place = await Place.make();
    const seen = new Set<string>();
    place.proxy.rule = ({ isWrite, method, path, body }) => {
      const write = `${method} ${path} ${body}`;
      if (!isWrite || seen.has(write)) return undefined;
      seen.add(write);
      return 'lose';
    };
    await place.create();
    await place.isUnharmed('lost answers');
  });

  test('while writes fail with 500 now and then', async () => {
    const place = await Place.make();
    const random = randomFrom(1);
    place.proxy.rule = ({ isWrite }) => (isWrite && random() < 0.3 ? { status: 500 } : undefined);
    await place.create();
    await place.isUnharmed('errors of the server');
  });

  test('soon after statuses could not be written, however many events came meanwhile', async () => {
    const place = await Place.make();
    let refused = 0;
    place.proxy.rule = ({ isWrite, path }) => {
      if (!isWrite || !path.endsWith('/appbenchs/b/status')) return undefined;
      refused += 1;
      return { status: 500 };
    };
    await place.create();
    for (let wake = 1; wake <= 20; wake++) {
      const before = refused;
      const annotations = { wake: String(wake) };
      await cluster.patch('AppBench', place.namespace, 'b', { metadata: { annotations } });
      await cluster.until('the bench is reconciled', async () => refused > before);
    }
    const failures = place.operator.lines
      .filter(({ msg }) => msg === 'reconciliation failed')
      .map((line) => Number(line['failures'] ?? 0));
    assert.ok(failures.length >= 20, `${failures.length} failures`);
    // It doubles with time: 12 retries would be 400 seconds.
    assert.ok(Math.max(...failures) < 12, `${Math.max(...failures)} failures counted`);
    place.proxy.rule = undefined;
    await place.isUnharmed('statuses that could not be written');
  });

  test('while it cannot find out which optional APIs there are', async () => {
    const place = await Place.make();
    place.proxy.rule = ({ path }) =>
      /^\/apis\/(keda|cert-manager|k8s\.mariadb|monitoring)/.test(path) ? 'drop' : undefined;
    const group = 'test.example.com';
    const schema = { openAPIV3Schema: { type: 'object' } };
    await cluster.apply('', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `hints.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind: 'Hint', listKind: 'HintList', plural: 'hints', singular: 'hint' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    const requests = (): number => place.proxy.calls.filter((call) => call.includes('keda')).length;
    await cluster.until('it retries discovery', async () => requests() > 1);
    await sleep(2_500);
    await place.create();
    await place.isUnharmed('failed discovery');
  });
});
