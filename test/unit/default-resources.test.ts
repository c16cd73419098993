/** What containers request where a spec names no resources, and how pods spread. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';

import { gunicornRequests } from '../../constructs/frappe/default-resources.js';
import { imageNamed } from '../../constructs/frappe/image.js';
import { gunicornSettings } from '../../constructs/frappe/gunicorn-settings.js';
import { bytesOf } from '../../constructs/kit/quantity.js';
import { projectRoot } from '../../testbed/project-root.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { at } from '../cluster/support/objects.js';
import { aBench, aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';
import { type Container, containersOf, podTemplates } from '../golden/corpus.js';
import { graphOf, kindOf } from '../golden/outcome.js';

/** Fields of a bench that name the resources of everything that the bench runs, as none. */
const NONE = {
  componentResources: Object.fromEntries(
    [
      ...['gunicorn', 'nginx', 'socketio', 'scheduler'],
      ...['workerDefault', 'workerShort', 'workerLong'],
    ].map((component) => [component, {}]),
  ),
  redisConfig: { resources: {} },
  metrics: { resources: {} },
};

function objectsOf(resource: Resource, others: readonly Resource[] = []): readonly KubeObject[] {
  const kind = kindOf(resource);
  const secret = aSecret('demo-bench-redis-auth');
  const inputs = kind.resolve(resource, aReader([resource, secret, ...others]));
  return graphOf(kind, resource, (scope, id) =>
    kind.chart(scope, id, { resource, inputs }),
  ).flatMap(({ objects }) => objects);
}

const containersIn = (objects: readonly KubeObject[]): readonly Container[] =>
  podTemplates(objects).flatMap((pod) => containersOf(pod));

/** `Deployment shop-gunicorn: gunicorn`, of each container without a request for CPU or memory. */
const unsized = (objects: readonly KubeObject[]): readonly string[] =>
  podTemplates(objects).flatMap((pod) =>
    containersOf(pod)
      .filter(({ resources }) => !resources?.requests?.['cpu'] || !resources.requests['memory'])
      .map(({ name }) => `${pod.of}: ${name}`),
  );

suite('resources by default', () => {
  for (const [what, objects] of [
    ['a bench', () => objectsOf(aBench())],
    ['a Dedicated site', () => objectsOf(aSite(), [aReadyBench()])],
    [
      'a site with a server of its own',
      () => objectsOf(aSite({ dbConfig: { mode: 'dedicated' } }), [aReadyBench()]),
    ],
  ] as const) {
    test(`each container of ${what} requests CPU and memory`, () => {
      assert.ok(containersIn(objects()).length > 2);
      assert.deepEqual(unsized(objects()), []);
    });
  }

  test('only a container whose script the operator knows has a limit', () => {
    const limited = containersIn([...objectsOf(aBench()), ...objectsOf(aSite(), [aReadyBench()])])
      .filter(({ resources }) => resources?.limits)
      .map(({ name }) => name);
    assert.deepEqual(
      limited.filter((name) => /gunicorn|worker|nginx|socketio|scheduler|redis|maria/.test(name)),
      [],
    );
  });

  test('an empty object sets none', () => {
    const names = unsized(objectsOf(aBench(NONE))).join('\n');
    for (const name of ['gunicorn', 'nginx', 'socketio', 'scheduler', 'worker-long', 'redis']) {
      assert.match(names, new RegExp(`demo-bench-${name}: `));
    }
  });

  test('a named value replaces the requests as a whole', () => {
    const limits = { memory: '1Gi' };
    const objects = objectsOf(aBench({ componentResources: { nginx: { limits } } }));
    const nginx = containersIn(objects).find(({ name }) => name === 'nginx');
    assert.deepEqual(Object.keys(nginx?.resources ?? {}), ['limits']);
  });

  test('gunicorn requests more with more processes and threads', () => {
    const of = (workers: number, threads: number) =>
      gunicornRequests({ ...gunicornSettings({}, undefined), workers, threads }, { major: 15 })
        .requests;
    assert.deepEqual(of(2, 4), { cpu: '50m', memory: '256Mi' });
    assert.deepEqual(of(4, 4), { cpu: '100m', memory: '448Mi' });
    assert.deepEqual(of(2, 8), { cpu: '50m', memory: '320Mi' });
  });

  test('gunicorn requests memory for Chrome from version 16 on, by the image that it runs', () => {
    const memoryOf = (spec: Readonly<Record<string, unknown>>): unknown => {
      const bench = aBench(spec);
      const gunicorn = containersIn(objectsOf(bench)).find(({ name }) => name === 'gunicorn');
      return gunicorn?.resources?.requests?.['memory'];
    };
    assert.equal(memoryOf({}), '256Mi');
    assert.equal(memoryOf({ frameworkVersion: 'version-16' }), '448Mi');
    assert.equal(memoryOf({ frameworkVersion: 'develop' }), '448Mi');
    const own = (tag: string) => ({ image: { repository: 'shop/erp', tag } });
    assert.equal(memoryOf(own('v16.4.1')), '448Mi');
    assert.equal(memoryOf(own('2026-11')), '256Mi');
    const before = imageNamed('frappe/erpnext:v15.44.0@sha256:1', {
      frameworkVersion: 'version-16',
    });
    assert.equal(before.major, 15, 'a site that waits for its turn keeps its pods');
  });

  test('they change neither the number of processes nor the caches of Redis and MariaDB', () => {
    const objects = objectsOf(aBench());
    const text = JSON.stringify(objects);
    assert.match(text, /--workers=2"/);
    assert.doesNotMatch(text, /innodb_buffer_pool_size/);
    const cache = /"REDIS_MAXMEMORY","value":"(\d+)"/.exec(text)?.[1];
    assert.equal(cache, String(256 * 2 ** 20));
  });
});

suite('docs/sizing.md', () => {
  const [MIB, MILLI] = [2 ** 20, 1e-3];
  const sum = (objects: readonly KubeObject[]): readonly [number, number] => {
    const lasting = objects.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
    for (const object of lasting) assert.equal(at(object, 'spec.replicas'), 1);
    const requests = podTemplates(lasting).flatMap(({ spec }) =>
      spec.containers.map(({ resources }) => resources?.requests ?? {}),
    );
    const total = (name: string): number =>
      requests.reduce((all, one) => all + bytesOf(String(one[name])), 0);
    return [Math.round(total('cpu') / MILLI), Math.round(total('memory') / MIB)];
  };

  for (const [what, objects] of [
    ['A bench with a managed MariaDB', () => objectsOf(aBench())],
    ['A `Dedicated` site', () => objectsOf(aSite(), [aReadyBench()])],
    ['A `Shared` site', () => objectsOf(aSite({ workloads: 'Shared' }), [aReadyBench()])],
  ] as const) {
    test(`has the sum of requests: ${what}`, async () => {
      const page = await readFile(path.join(projectRoot(), 'docs', 'sizing.md'), 'utf8');
      const row = page.split('\n').find((line) => line.startsWith(`| ${what} `)) ?? '';
      const [, , cpu, memory] = row.split('|').map((cell) => cell.trim());
      const [milli, mebibytes] = sum(objects());
      assert.deepEqual(
        [cpu, memory],
        [milli ? `${milli}m` : '0', mebibytes ? `${mebibytes}Mi` : '0'],
      );
    });
  }
});

suite('constraints by which replicas spread', () => {
  const CONSTRAINTS = 'spec.template.spec.topologySpreadConstraints';
  const named = (objects: readonly KubeObject[], name: string): KubeObject | undefined =>
    objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);

  test('name nodes and zones, also with one replica', () => {
    const constraints = at(named(objectsOf(aBench()), 'demo-bench-gunicorn'), CONSTRAINTS);
    assert.deepEqual(
      (constraints as readonly Readonly<Record<string, unknown>>[]).map(
        ({ topologyKey, whenUnsatisfiable }) => [topologyKey, whenUnsatisfiable],
      ),
      [
        ['kubernetes.io/hostname', 'ScheduleAnyway'],
        ['topology.kubernetes.io/zone', 'ScheduleAnyway'],
      ],
    );
  });

  test('do not change with the number of replicas', () => {
    const two = objectsOf(aBench({ componentReplicas: { gunicorn: 2 } }));
    assert.deepEqual(
      at(named(two, 'demo-bench-gunicorn'), 'spec.template'),
      at(named(objectsOf(aBench()), 'demo-bench-gunicorn'), 'spec.template'),
    );
  });

  test('are the template’s, where it has some', () => {
    const own = { maxSkew: 3, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
    const spec = { topologySpreadConstraints: [own] };
    const objects = objectsOf(aBench({ componentPodTemplates: { gunicorn: { spec } } }));
    const constraints = at(named(objects, 'demo-bench-gunicorn'), CONSTRAINTS);
    assert.deepEqual(
      (constraints as readonly { readonly topologyKey: string }[]).map(
        ({ topologyKey }) => topologyKey,
      ),
      ['rack'],
    );
  });

  test('are absent where all pods are on one node', () => {
    const objects = objectsOf(aBench({ storage: { accessMode: 'ReadWriteOnce' } }));
    assert.equal(at(named(objects, 'demo-bench-gunicorn'), CONSTRAINTS), undefined);
  });
});
