import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { Reflector } from '../../runner/cache/reflector.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import type { Rule } from '../../testbed/fault-proxy/faults.js';
import { at, conditionOf, kindNamed, type Manifest, nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

/** What the watches bring comes this much later than the answers to our own writes. */
const LATE_MS = 1_500;
/** Longer than a change of a status that is not urgent is postponed. */
const QUIET_MS = 7_000;
const few = { workerDefault: 0, workerShort: 0, workerLong: 0 };

let cluster: Cluster;
let operators: ProxiedOperators;
/** Where the events of sites come late, once its sites are Ready. */
let lateSites: Place;
/** Where other events come late. */
let others: Place;
/** Where the events of benches come late, once the bench is Ready. */
let lateBench: Place;
/** What comes before the writes of a test, by the site whose status they are of. */
const rules = new Map<string, Rule>();
before(async () => {
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  [lateSites, others, lateBench] = await Promise.all([
    place(
      aSite('changed', { bench: 'b', componentReplicas: few }),
      aSite('deleted', { bench: 'b', componentReplicas: few }),
      aSite('dropped', { bench: 'b', workloads: 'Shared', deletionPolicy: 'Delete' }),
    ),
    place(aSite('s', { bench: 'b', componentReplicas: few })),
    place(),
  ]);
  lateBench.proxy.watchDelay = slow('appbenchs');
  lateSites.proxy.watchDelay = slow('appsites');
  lateSites.proxy.rule = (call) => {
    const site = /\/appsites\/([^/]+)\/status$/.exec(call.path)?.[1] ?? '';
    return rules.get(site)?.(call);
  };
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

interface Place {
  readonly namespace: string;
  readonly proxy: FaultProxy;
  readonly operator: Operator;
}

/** A bench and sites that are Ready, and their operator behind a proxy. */
async function place(...sites: readonly Manifest[]): Promise<Place> {
  const namespace = await cluster.namespace();
  const proxy = await operators.proxy();
  const operator = await operators.start(proxy, { namespaces: [namespace] });
  await cluster.apply(namespace, aBench('b', { componentReplicas: few }), ...sites);
  await cluster.ready('AppBench', namespace, 'b');
  for (const { metadata } of sites) await cluster.ready('AppSite', namespace, metadata.name);
  return { namespace, proxy, operator };
}

const slow =
  (...plurals: readonly string[]) =>
  (path: string): number =>
    plurals.some((plural) => path.endsWith(`/${plural}`)) ? LATE_MS : 0;

/** Calls a function before the first write of a path with a given text, which is forwarded then. */
function inFrontOf(ending: string, words: string, work: () => Promise<unknown>): Rule {
  let done = false;
  return async ({ isWrite, path, body }) => {
    if (done || !isWrite || !path.endsWith(ending) || !body.includes(words)) return undefined;
    done = true;
    await work();
    return undefined;
  };
}

/** The last status of a change: nothing else happens to the site after it. */
const isReady = '"phase":"Ready"';

describe('where the watch is later than the answers to our own writes', { concurrency: 4 }, () => {
  test('a change of a spec in the answer to our own write is not lost', async () => {
    const { namespace } = lateSites;
    const [site, cpu] = ['changed', '250m'];
    const change = inFrontOf(`/appsites/${site}/status`, isReady, () =>
      cluster.patch('AppSite', namespace, site, {
        spec: { componentResources: { gunicorn: { requests: { cpu } } } },
      }),
    );
    rules.set(site, change);
    // Something that makes the operator write a status.
    await cluster.patch('AppSite', namespace, site, {
      spec: { componentReplicas: { gunicorn: 2 } },
    });
    const path = 'spec.template.spec.containers[0].resources.requests.cpu';
    await cluster.becomes('Deployment', namespace, `${site}-gunicorn`, {
      what: 'has its resources',
      check: (live) => Object.is(at(live, path), cpu),
    });
    await cluster.ready('AppSite', namespace, site);
  });

  test('a deletion in the answer to our own write is not lost', async () => {
    const { namespace } = lateSites;
    const site = 'deleted';
    const deletion = inFrontOf(`/appsites/${site}/status`, isReady, () =>
      cluster.delete('AppSite', namespace, site),
    );
    rules.set(site, deletion);
    await cluster.patch('AppSite', namespace, site, {
      spec: { componentReplicas: { gunicorn: 2 } },
    });
    await cluster.deleted('AppSite', namespace, site);
  });

  test('a status that a user corrects before our own write keeps the correction', async () => {
    const { namespace, proxy } = lateBench;
    const ids = '2000/0/0';
    proxy.rule = inFrontOf('/appbenchs/b/status', isReady, () =>
      cluster.patchStatus('AppBench', namespace, 'b', { status: { ids } }),
    );
    // Something that makes the operator write a status.
    await cluster.patch('AppBench', namespace, 'b', {
      spec: { componentReplicas: { ...few, gunicorn: 2 } },
    });
    await cluster.ready('AppBench', namespace, 'b');
    assert.equal(at(await cluster.the('AppBench', namespace, 'b'), 'status.ids'), ids);
  });

  test('a condition of another controller stays, and causes no write', async () => {
    const { namespace, proxy } = lateBench;
    const foreign = {
      type: 'Scanned',
      status: 'True',
      reason: 'Scanned',
      message: 'by another controller',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const { status } = await cluster.the('AppBench', namespace, 'b');
    const conditions = [...(status as { conditions: readonly unknown[] }).conditions, foreign];
    await cluster.patchStatus('AppBench', namespace, 'b', { status: { conditions } });
    await cluster.patch('AppBench', namespace, 'b', {
      spec: { componentReplicas: { ...few, gunicorn: 1 } },
    });
    await cluster.ready('AppBench', namespace, 'b');
    assert.equal(
      conditionOf(await cluster.the('AppBench', namespace, 'b'), 'Scanned')?.status,
      'True',
    );
    let writtenAt = performance.now();
    proxy.rule = ({ isWrite, path }) => {
      if (isWrite && path.endsWith('/status')) writtenAt = performance.now();
      return undefined;
    };
    await cluster.until('no status has been written for a while', () =>
      Promise.resolve(performance.now() - writtenAt > QUIET_MS),
    );
    // A change of the metadata: the operator reconciles, and has nothing to write.
    const changedAt = performance.now();
    const annotations = { note: 'again' };
    await cluster.patch('AppBench', namespace, 'b', { metadata: { annotations } });
    await sleep(LATE_MS + 1_500);
    assert.ok(writtenAt < changedAt, 'no status is written');
  });

  test('a status never reports the old state for a new generation', async () => {
    const { namespace, proxy } = others;
    const wrong: string[] = [];
    const cpu = '250m';
    proxy.rule = async ({ isWrite, path, body }) => {
      if (isWrite && path.endsWith('/services/s-gunicorn')) {
        // The spec changes, and the operator observes it, during a reconcile.
        await cluster.patch('AppSite', namespace, 's', {
          spec: { componentResources: { gunicorn: { requests: { cpu } } } },
        });
        await sleep(500);
      }
      if (isWrite && path.endsWith('/appsites/s/status')) {
        const { status } = JSON.parse(body) as { status: Readonly<Record<string, unknown>> };
        const live = await cluster.the('Deployment', namespace, 's-gunicorn');
        const isApplied = JSON.stringify(live.spec).includes(cpu);
        if (status['observedGeneration'] === 2 && status['phase'] === 'Ready' && !isApplied) {
          wrong.push(body);
        }
      }
      return undefined;
    };
    // A repair that leaves the site Ready all the time.
    const labels = { 'app.kubernetes.io/component': 'x' };
    await cluster.patch('Service', namespace, 's-gunicorn', { metadata: { labels } });
    await cluster.becomes('AppSite', namespace, 's', {
      what: 'is Ready again',
      check: ({ status }) =>
        Object.is(status?.['observedGeneration'], 2) && status?.['phase'] === 'Ready',
    });
    assert.deepEqual(wrong, []);
  });

  test('a deleted site is not reconciled again', async () => {
    const { namespace } = lateSites;
    await cluster.delete('AppSite', namespace, 'dropped');
    await cluster.deleted('AppSite', namespace, 'dropped');
    // The watch of Jobs has its event before the watch of sites.
    await sleep(2 * LATE_MS);
    // The garbage collector takes the drop Job, at its own pace.
    await cluster.deleted('Job', namespace, 'dropped-drop');
    const drops = (await cluster.calls({ namespace })).filter(
      ({ objectRef, responseStatus }) =>
        objectRef?.name === 'dropped-drop' && responseStatus?.code === 201,
    );
    assert.equal(drops.length, 1);
  });

  test('a deletion reads what it waits for, where the watches of children hang', async () => {
    const { namespace, proxy } = await place(
      aSite('hung', { bench: 'b', componentReplicas: few, deletionPolicy: 'Delete' }),
    );
    const hangs = /\/(jobs|deployments|services|ingresses)$/;
    proxy.watchDelay = (path) => (hangs.test(path) ? 120_000 : 0);
    const since = performance.now();
    await cluster.delete('AppSite', namespace, 'hung');
    await cluster.deleted('AppSite', namespace, 'hung');
    const seconds = (performance.now() - since) / 1_000;
    assert.ok(seconds < 75, `deleted after ${seconds.toFixed(0)} s`);
    proxy.watchDelay = () => 0;
  });

  test('after a restart, what the lists have missed is read, and a change of a site is carried out', async () => {
    const { namespace, proxy, operator } = await place(
      aSite('missed', { bench: 'b', componentReplicas: few }),
    );
    operator.kill('SIGKILL');
    await operator.exited;
    await cluster.patch('AppSite', namespace, 'missed', { spec: { ingress: { enabled: true } } });
    const missing = /\/(deployments|jobs|services|configmaps|secrets)$/;
    proxy.rule = ({ isList, path }) =>
      isList && missing.test(path)
        ? {
            alter: (text) => {
              const list = JSON.parse(text) as { readonly items: readonly unknown[] };
              return JSON.stringify({ ...list, items: list.items.slice(0, 1) });
            },
          }
        : undefined;
    await operators.start(proxy, { namespaces: [namespace] });
    await cluster.until('the Ingress is there', () =>
      cluster.get('Ingress', namespace, 'missed-ingress'),
    );
    await cluster.ready('AppSite', namespace, 'missed');
  });

  test('a site releases its names to an older bench that is observed later', async () => {
    const { namespace, proxy } = others;
    proxy.watchDelay = (path) => (path.endsWith('/appbenchs') ? 10_000 : 0);
    await cluster.apply(
      namespace,
      aBench('tie', { componentReplicas: few }),
      aSite('tie', { bench: 'b', componentReplicas: few }),
    );
    await cluster.becomes('Job', namespace, 'tie-init', {
      what: 'is made for the site',
      check: (live) => Object.is(at(live, 'metadata.ownerReferences[0].kind'), 'AppSite'),
    });
    // Where the bench comes to a name before the site has made way, it tries again after a minute.
    await cluster.ready('AppBench', namespace, 'tie', 180_000);
    const site = await cluster.the('AppSite', namespace, 'tie');
    assert.equal(conditionOf(site, 'Stalled')?.reason, 'NameTaken');
    const left = await cluster.everything(namespace, 'app-operator.io/owner=AppSite.tie');
    // What may belong to data stays.
    assert.deepEqual(left.map(nameOf).sort(), [
      'Secret/tie-admin-password',
      'Secret/tie-db',
      'Secret/tie-encryption-key',
    ]);
  });

  test('an object that the operator has created is not created twice', async () => {
    const namespace = await cluster.namespace();
    const proxy = await operators.proxy();
    await operators.start(proxy, { namespaces: [namespace] });
    proxy.watchDelay = () => 300;
    await cluster.apply(namespace, aBench('b', { componentReplicas: few }));
    await cluster.ready('AppBench', namespace, 'b');
    const applies = new Map<string, number>();
    for (const write of await cluster.writes({ namespace })) {
      applies.set(write, (applies.get(write) ?? 0) + 1);
    }
    const twice = [...applies].filter(
      ([write, count]) => count > 1 && !/\/status$|create secrets/.test(write),
    );
    // The second write records the run of the init Job.
    assert.deepEqual(twice, [['patch persistentvolumeclaims/b-sites', 2]]);
  });
});

test('a watch without events is ended after its time, and no change is missed', async (t) => {
  const namespace = await cluster.namespace();
  const proxy = await operators.proxy();
  const client = createClient({ credentials: await loadCredentials(proxy.kubeconfig, {}) });
  const stop = new AbortController();
  const seen = new Map<string, string>();
  const restarts: string[] = [];
  let lists = 0;
  const reflector = new Reflector({
    client: {
      request: (method, path, options = {}) => {
        // A list of one object only compares versions.
        if (options.query?.['limit'] !== '1') lists += 1;
        return client.request(method, path, options);
      },
      // As in the operator, with a shorter timeout.
      watch: (path, query, options) =>
        client.watch(path, query, { ...options, idleTimeoutMs: 1_500 }),
    },
    path: resourcePath(kindNamed('AppSite'), namespace),
    sink: {
      replace: (objects) => {
        seen.clear();
        for (const { metadata } of objects) seen.set(metadata.name, metadata.uid ?? '');
        return undefined;
      },
      upsert: ({ metadata }) => void seen.set(metadata.name, metadata.uid ?? ''),
      remove: ({ metadata }) => void seen.delete(metadata.name),
    },
    signal: stop.signal,
    now: () => performance.now(),
    random: () => 0,
    onRestart: (reason) => void restarts.push(reason),
  });
  const running = reflector.run();
  t.after(async () => {
    stop.abort();
    await running;
    await client.close();
  });
  await reflector.whenSynced;
  const sees = (what: string, names: readonly string[]): Promise<true> =>
    cluster.until(what, async () => {
      assert.deepEqual([...seen.keys()].sort(), names);
      return true;
    });
  await cluster.apply(namespace, aSite('a', { bench: 'x' }));
  await sees('a is seen', ['a']);
  for (const watch of proxy.watches) watch.silent = true;
  await cluster.apply(namespace, aSite('b', { bench: 'x' }));
  await cluster.delete('AppSite', namespace, 'a');
  await sees('what happened in the silence is seen', ['b']);
  assert.ok(restarts.includes('Error'));
  assert.equal(lists, 1, 'without a list');
});
