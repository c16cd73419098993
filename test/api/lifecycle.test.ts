import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite, WORKERS } from '../cluster/support/builders.js';
import { OF_A_BENCH, OF_A_SITE } from '../cluster/support/children.js';
import { at, conditionOf, conditionsOf, type Live, nameOf } from '../cluster/support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ audit: true });
});
after(() => cluster.stop());

describe('a bench and a site', () => {
  let namespace: string;
  let bench: Live;
  let site: Live;
  before(async () => {
    namespace = await cluster.namespace();
    await cluster.operator([], { namespaces: [namespace] });
    await cluster.apply(namespace, aBench('b', { appsJSON: '["erpnext"]', ...WORKERS }));
    // Two watches bring them: a site that is observed first reports that it has no bench.
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'is seen',
      check: (live) => Boolean(live.status),
    });
    await cluster.apply(
      namespace,
      aSite('s', { bench: 'b', ...WORKERS, ingress: { enabled: true } }),
    );
    bench = await cluster.ready('AppBench', namespace, 'b');
    site = await cluster.ready('AppSite', namespace, 's');
  });
  const container = async (workload: string): Promise<unknown> =>
    at(await cluster.the('Deployment', namespace, workload), 'spec.template.spec.containers[0]');

  test('have the children of the specification, and no others', async () => {
    const children = await cluster.children(namespace);
    assert.deepEqual(children.map(nameOf).sort(), [...OF_A_BENCH, ...OF_A_SITE].sort());
  });

  test('make nothing that is not a child', async () => {
    const children = new Set((await cluster.children(namespace)).map(nameOf));
    const others = (await cluster.everything(namespace)).map(nameOf);
    assert.deepEqual(
      others.filter((name) => !children.has(name)),
      [],
    );
  });

  test('own their children, except objects with data', async () => {
    const unowned: string[] = [];
    for (const child of await cluster.children(namespace)) {
      const [owner, ...more] = child.metadata.ownerReferences ?? [];
      assert.equal(more.length, 0, nameOf(child));
      if (!owner) {
        unowned.push(nameOf(child));
        continue;
      }
      const wanted = child.metadata.name.startsWith('b-') ? bench : site;
      assert.deepEqual([owner.uid, owner.controller], [wanted.metadata.uid, true], nameOf(child));
    }
    assert.deepEqual(unowned.sort(), [
      'NetworkPolicy/b-db',
      'PersistentVolumeClaim/b-db-data',
      'PersistentVolumeClaim/b-redis-data',
      'PersistentVolumeClaim/b-sites',
      'Secret/b-db-root',
      'Secret/s-admin-password',
      'Secret/s-db',
      'Secret/s-encryption-key',
      'Service/b-db',
      'StatefulSet/b-db',
    ]);
  });

  test('label their pods as specified', async () => {
    const pods = await cluster.list('Pod', namespace);
    const of = (selector: Readonly<Record<string, string>>): string[] =>
      pods
        .filter(({ metadata: { labels } }) =>
          Object.entries(selector).every(([key, value]) => labels?.[key] === value),
        )
        .map(({ metadata: { name } }) => name.replace(/(-[a-z0-9]{5,10})?-[a-z0-9]{5}$/, ''))
        .sort();
    assert.deepEqual(of({ bench: 'b' }), [
      'b-db-0',
      'b-gunicorn',
      'b-init',
      'b-metrics',
      'b-nginx',
      'b-redis-0',
      'b-scheduler',
      'b-socketio',
      'b-worker-default',
      'b-worker-long',
      'b-worker-short',
    ]);
    assert.deepEqual(of({ site: 's' }), [
      's-gunicorn',
      's-init',
      's-worker-default',
      's-worker-long',
      's-worker-short',
    ]);
    assert.deepEqual(of({ 'job-name': 'b-init' }), ['b-init']);
    assert.deepEqual(of({ 'job-name': 's-init' }), ['s-init']);
    assert.deepEqual(of({ app: 's-gunicorn' }), ['s-gunicorn']);
    assert.deepEqual(of({ app: 's-worker-default' }), ['s-worker-default']);
  });

  test('listen on 8080 and 8000', async () => {
    const portOf = async (service: string): Promise<unknown> =>
      at(await cluster.the('Service', namespace, service), 'spec.ports[0].port');
    assert.equal(await portOf('b-nginx'), 8080);
    assert.equal(await portOf('b-gunicorn'), 8000);
    assert.equal(await portOf('s-gunicorn'), 8000);
    assert.equal(at(await container('s-gunicorn'), 'ports[0].containerPort'), 8000);
    const endpoints = at(await cluster.the('Service', namespace, 'b-nginx'), 'spec.selector');
    assert.deepEqual(endpoints, { app: 'b-nginx', bench: 'b' });
  });

  for (const workload of ['b-gunicorn', 's-gunicorn']) {
    test(`probe ${workload} at the times of the specification`, async () => {
      const gunicorn = await container(workload);
      assert.equal(at(gunicorn, 'name'), 'gunicorn');
      for (const [probe, initialDelaySeconds, periodSeconds] of [
        ['livenessProbe', 30, 10],
        ['readinessProbe', 10, 5],
      ] as const) {
        assert.equal(at(gunicorn, `${probe}.httpGet.path`), '/api/method/ping');
        assert.equal(at(gunicorn, `${probe}.httpGet.port`), 8000);
        assert.equal(at(gunicorn, `${probe}.initialDelaySeconds`), initialDelaySeconds);
        assert.equal(at(gunicorn, `${probe}.periodSeconds`), periodSeconds);
      }
    });
  }

  test('have in their status what users and scripts read', () => {
    assert.equal(at(bench, 'status.ready'), true);
    assert.equal(at(bench, 'status.phase'), 'Ready');
    assert.equal(at(bench, 'status.image'), 'frappe/erpnext:version-15');
    assert.deepEqual(at(bench, 'status.apps'), ['erpnext']);
    const fixed = {
      mode: 'static',
      currentReplicas: 1,
      desiredReplicas: 1,
      kedaManaged: false,
    };
    assert.deepEqual(at(bench, 'status.workerScaling'), {
      default: fixed,
      long: fixed,
      short: fixed,
    });
    assert.equal(at(site, 'status.siteURL'), 'http://s.example.com');
    assert.deepEqual(at(site, 'status.apps'), ['erpnext']);
    assert.equal(at(site, 'status.database.host'), `b-db.${namespace}.svc.cluster.local`);
  });

  test('have conditions by the rules of kstatus', () => {
    const ready = ['Ready', 'True', 'Ready'];
    // No kubelet reports the digest of an image here.
    const unpinned = ['ImagePinned', 'False', 'DigestUnknown'];
    for (const [resource, expected] of [
      [bench, [ready, unpinned]],
      [site, [ready]],
    ] as const) {
      assert.equal(at(resource, 'status.observedGeneration'), resource.metadata.generation);
      assert.deepEqual(
        conditionsOf(resource).map(({ type, status, reason }) => [type, status, reason]),
        expected,
      );
      for (const { observedGeneration, lastTransitionTime } of conditionsOf(resource)) {
        assert.equal(observedGeneration, resource.metadata.generation);
        assert.match(lastTransitionTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      }
    }
  });

  test('show their state in kubectl get', async () => {
    const get = (...args: string[]): Promise<string> =>
      cluster.controlPlane.kubectl(['--namespace', namespace, 'get', ...args]);
    const benches = await get('appbenchs');
    assert.match(benches, /^NAME +READY +PHASE +VERSION +SITES +UPGRADE +AGE\n/);
    assert.match(benches, /\nb +True +Ready +version-15 +1 +\S+\n/);
    const sites = await get('as', '--output=wide');
    assert.match(sites, /^NAME +READY +PHASE +BENCH +URL +UPGRADE +IMAGE +MESSAGE +AGE\n/);
    assert.match(
      sites,
      /\ns +True +Ready +b +http:\/\/s\.example\.com +frappe\/erpnext:version-15 +everything is available +\S+\n/,
    );
    assert.match(await get('apps-bench'), /appbench\S*\/b .*\n(.*\n)*.*appsite\S*\/s /);
  });

  test('record each step in one event', async () => {
    const events = await cluster.list('Event', namespace);
    const recorded = events.flatMap((event) =>
      at(event, 'reportingController') === 'app-operator'
        ? [`${String(at(event, 'regarding.name'))} ${String(at(event, 'reason'))}`]
        : [],
    );
    assert.deepEqual(recorded.sort(), ['b Ready', 's Ready']);
  });

  test('cost nothing when the same manifests are applied again, and when nothing happens', async () => {
    await cluster.applied('AppBench', namespace, 'b');
    // What the site's arrival has set off is over a second later.
    await sleep(1_500);
    const since = new Date();
    await cluster.apply(
      namespace,
      aBench('b', { appsJSON: '["erpnext"]', ...WORKERS }),
      aSite('s', { bench: 'b', ...WORKERS, ingress: { enabled: true } }),
    );
    await sleep(2_000);
    const calls = (await cluster.calls({ namespace, since })).filter(
      ({ verb }) => verb !== 'watch',
    );
    assert.deepEqual(calls, []);
  });
});

describe('created in the wrong order', () => {
  test('a site waits for its bench, with the reason, and is Ready after it', async () => {
    const namespace = await cluster.namespace();
    await cluster.operator([], { namespaces: [namespace], user: 'late' });
    await cluster.apply(namespace, aSite('s', { bench: 'b' }));
    const waiting = await cluster.becomes('AppSite', namespace, 's', {
      what: 'is Pending',
      check: (site) => Boolean(conditionOf(site, 'Ready')),
    });
    assert.equal(at(waiting, 'status.phase'), 'Pending');
    const { reason, message } = conditionOf(waiting, 'Ready') ?? {};
    assert.equal(reason, 'BenchMissing');
    assert.equal(message, `spec.benchRef.name: there is no AppBench "b" in namespace ${namespace}`);
    assert.deepEqual(await cluster.children(namespace), []);
    await cluster.apply(namespace, aBench('b'));
    await cluster.ready('AppSite', namespace, 's');
    const bench = await cluster.ready('AppBench', namespace, 'b');
    assert.equal(at(bench, 'status.sites'), 1);
  });
});

describe('pods run', { concurrency: true }, () => {
  const contexts = async (namespace: string, workload: string): Promise<unknown[]> => {
    const pod = at(await cluster.the('Deployment', namespace, workload), 'spec.template.spec');
    return [
      at(pod, 'securityContext.runAsUser'),
      at(pod, 'securityContext.runAsGroup'),
      at(pod, 'securityContext.fsGroup'),
      at(pod, 'containers[0].securityContext.runAsUser'),
      at(pod, 'containers[0].securityContext.allowPrivilegeEscalation'),
      at(pod, 'containers[0].securityContext.capabilities.drop'),
    ];
  };
  const start = async (
    user: string,
    env: Readonly<Record<string, string>>,
    spec: Readonly<Record<string, unknown>>,
  ): Promise<string> => {
    const namespace = await cluster.namespace();
    await cluster.operator([], { namespaces: [namespace], user, env });
    await cluster.apply(namespace, aBench('b', spec), aSite('s', { bench: 'b' }));
    await cluster.ready('AppSite', namespace, 's');
    return namespace;
  };
  const ENV = { APP_DEFAULT_UID: '2001', APP_DEFAULT_GID: '2002', APP_DEFAULT_FSGROUP: '2003' };

  test('as user 1001, group 0 and fsGroup 0 by default', async () => {
    const namespace = await start('plain', {}, {});
    for (const workload of ['b-nginx', 's-gunicorn', 's-worker-long']) {
      assert.deepEqual(await contexts(namespace, workload), [
        1001,
        0,
        0,
        undefined,
        false,
        ['ALL'],
      ]);
    }
  });

  test('as the operator’s environment sets', async () => {
    const namespace = await start('by-env', ENV, {});
    assert.deepEqual(await contexts(namespace, 's-gunicorn'), [
      2001,
      2002,
      2003,
      undefined,
      false,
      ['ALL'],
    ]);
  });

  test('as spec.security sets, value by value, in preference to the environment', async () => {
    const security = {
      podSecurityContext: { runAsUser: 3001, fsGroup: 3003 },
      securityContext: {
        runAsUser: 3011,
        allowPrivilegeEscalation: true,
        capabilities: { drop: ['NET_RAW'] },
      },
    };
    const env = { ...ENV, APP_POD_SECURITY_LEVEL: 'baseline' };
    const namespace = await start('by-spec', env, { security });
    for (const workload of ['b-gunicorn', 's-gunicorn']) {
      assert.deepEqual(await contexts(namespace, workload), [
        3001,
        2002,
        3003,
        3011,
        true,
        ['NET_RAW'],
      ]);
    }
  });
});
