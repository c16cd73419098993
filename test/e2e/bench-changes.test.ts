import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { at, conditionOf, type Live } from '../cluster/support/objects.js';
import { seconds } from '../support/figures.js';
import { type E2e, e2e, skip } from './harness.js';
import { isReady, siteOf, SiteUser } from './support/bench.js';
import { podOf } from './support/kill.js';
import { TwoSites } from './support/two-sites.js';

suite('changes', { skip }, () => {
  let cluster: E2e;
  let sites: TwoSites;
  let namespace: string;
  let shop: SiteUser;

  before(async () => {
    cluster = await e2e();
    sites = await TwoSites.make(cluster);
    ({ namespace, shop } = sites);
  });

  after(async () => {
    if (namespace) await cluster.delete('Namespace', '', namespace);
  });

  const changeBench = (spec: unknown): Promise<Live> =>
    cluster.patch('AppBench', namespace, 'bench', { spec });
  const changeSite = (name: string, spec: unknown): Promise<Live> =>
    cluster.patch('AppSite', namespace, name, { spec });

  /** Waits until a workload has so many pods, all Ready and all as wanted. */
  async function pods(
    app: string,
    count: number,
    wanted: (pod: Live) => boolean = () => true,
  ): Promise<readonly Live[]> {
    return cluster.until(
      `${app} to have ${count} pods as wanted`,
      async () => {
        const all = await cluster.pods(namespace, `app=${app}`);
        if (all.length !== count || !all.every((pod) => isReady(pod) && wanted(pod))) {
          throw new Error(`${all.length} pods, ${all.filter(wanted).length} as wanted`);
        }
        return all;
      },
      180_000,
    );
  }

  /**
   * Does work on a node that is slow: for two seconds after a pod has begun to end, its Service still
   * sends requests to it. Pods serve for five.
   */
  async function withSlowProxy(work: () => Promise<unknown>): Promise<void> {
    const { node } = cluster;
    const ending = new Set<string>();
    let over = false;
    const isOver = (): boolean => over;
    const hasNewEnd = async (): Promise<boolean> => {
      const all = await cluster.pods(namespace);
      const ends = all.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
      const fresh = ends.filter(({ metadata: { name } }) => !ending.has(name));
      for (const { metadata } of fresh) ending.add(metadata.name);
      return fresh.length > 0;
    };
    const delay = async (): Promise<void> => {
      while (!isOver()) {
        node.suspendProxy();
        while (!isOver() && !(await hasNewEnd())) await sleep(100);
        await sleep(2_000);
        node.resumeProxy();
        await sleep(1_000);
      }
    };
    try {
      await Promise.all([work().finally(() => (over = true)), delay()]);
    } finally {
      node.resumeProxy();
    }
  }

  test('scaling by hand, up and down', () =>
    sites.withoutLoss('scaling gunicorn and nginx to 2 and back', async () => {
      for (const count of [2, 1]) {
        for (const resource of ['appbench/bench', 'appsite/shop']) {
          await cluster.node.kubectl([
            ...['scale', resource, `--replicas=${count}`, `--namespace=${namespace}`],
          ]);
        }
        await changeBench({ componentReplicas: { nginx: count } });
        await Promise.all(
          ['bench-gunicorn', 'shop-gunicorn', 'bench-nginx'].map((app) => pods(app, count)),
        );
      }
    }));

  test('resources reach the pods', () =>
    sites.withoutLoss('resources of gunicorn and nginx', async () => {
      const requests = { memory: '96Mi' };
      await changeBench({
        componentResources: { gunicorn: { requests }, nginx: { requests } },
      });
      const wanted = (pod: Live): boolean =>
        at(pod, 'spec.containers[0].resources.requests.memory') === requests.memory;
      await Promise.all(
        ['bench-gunicorn', 'shop-gunicorn', 'bench-nginx'].map((app) => pods(app, 1, wanted)),
      );
    }));

  test('a paused bench does not change, and continues when it is resumed', () =>
    sites.withoutLoss('paused, and resumed', async () => {
      await changeBench({ paused: true, componentReplicas: { gunicorn: 2 } });
      await cluster.becomes('AppBench', namespace, 'bench', {
        what: 'is paused',
        check: (bench) => Boolean(conditionOf(bench, 'Paused')),
      });
      await sleep(3_000);
      const { spec } = await cluster.the('Deployment', namespace, 'bench-gunicorn');
      assert.equal(spec?.['replicas'], 1);
      await changeBench({ paused: false });
      await pods('bench-gunicorn', 2);
      await changeBench({ componentReplicas: { gunicorn: 1 } });
      await pods('bench-gunicorn', 1);
    }));

  test('adding and removing sites disturbs no other', async () => {
    const extra = new SiteUser(cluster, sites.place, 'extra');
    await sites.withoutLoss('adding two sites and removing them', async () => {
      const added = ['extra', 'other'];
      await cluster.apply(
        namespace,
        ...added.map((name) =>
          siteOf('bench', name, { workloads: 'Shared', deletionPolicy: 'Delete' }),
        ),
      );
      await Promise.all(added.map((name) => cluster.ready('AppSite', namespace, name)));
      await extra.answers();
      await sites.withoutLoss('of a site that has just become Ready', () => sleep(3_000), [extra]);
      await Promise.all(added.map((name) => cluster.delete('AppSite', namespace, name)));
      await Promise.all(added.map((name) => cluster.deleted('AppSite', namespace, name, 120_000)));
      await cluster.until('nginx to know the site no more', async () => {
        return (await extra.ping()) === 404;
      });
    });
  });

  test('gunicorn and nginx are restarted by hand', () =>
    sites.withoutLoss('kubectl rollout restart of gunicorn and nginx', () =>
      withSlowProxy(async () => {
        const names = ['bench-gunicorn', 'shop-gunicorn', 'bench-nginx'];
        const before = new Set<unknown>();
        for (const name of names) {
          for (const pod of await cluster.pods(namespace, `app=${name}`))
            before.add(pod.metadata.uid);
          await cluster.node.kubectl([
            ...['rollout', 'restart', `deployment/${name}`, `--namespace=${namespace}`],
          ]);
        }
        await Promise.all(
          names.map((name) => pods(name, 1, (pod) => !before.has(pod.metadata.uid))),
        );
      }),
    ));

  test("another password in the administrator's Secret is the site's", async () => {
    const secret = (password: string): Promise<unknown> =>
      cluster.apply(namespace, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'chosen' },
        stringData: { password },
      });
    await sites.withoutLoss('changing the password of Administrator', async () => {
      await secret('first-Chosen-1');
      await changeSite('shop', { adminPasswordSecretRef: { name: 'chosen' } });
      await awaitLogin('first-Chosen-1');
      await secret('second-Chosen-2');
      await cluster.figures.time("from a password's Secret to the login", () =>
        awaitLogin('second-Chosen-2'),
      );
      assert.equal(await shop.login('first-Chosen-1'), 401);
    });
    await sites.ready();
  });

  test('a longer list of apps is installed on the sites', async () => {
    for (const site of ['shop', 'blog']) assert.deepEqual(await appsOf(site), ['frappe']);
    const begun = performance.now();
    await sites.withoutLoss('an app more', async () => {
      await changeBench({ appsJSON: '["erpnext"]' });
      await cluster.until(
        'the app on both sites',
        async () => {
          const found = await Promise.all(['shop', 'blog'].map((site) => appsOf(site)));
          return found.every((apps) => apps.includes('erpnext'));
        },
        180_000,
      );
      await sites.ready();
    });
    cluster.figures.add(
      'apps: from the longer list to the sites',
      seconds(performance.now() - begun),
    );
    for (const site of ['shop', 'blog']) {
      assert.deepEqual(await appsOf(site), ['frappe', 'erpnext'], site);
    }
    await sites.ready();
  });

  /** The apps that the framework lists as installed on a site, in their order. */
  async function appsOf(site: string): Promise<string[]> {
    const pod = await podOf(cluster, namespace, 'bench-gunicorn');
    const command = ['bench', '--site', `${site}.example.com`, 'list-apps'];
    const output = await cluster.exec(namespace, pod.metadata.name, command);
    const lines = output.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line) => line.trim().split(/\s+/)[0] ?? '');
  }

  async function awaitLogin(password: string): Promise<void> {
    await cluster.until(
      'the login with the new password',
      async () => {
        const status = await shop.login(password);
        if (status !== 200) throw new Error(`login gets ${status}`);
        return true;
      },
      120_000,
    );
  }
});
