import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  DATABASE_REQUESTS,
  gunicornRequests,
  NGINX_REQUESTS,
  REDIS_REQUESTS,
} from '../../constructs/frappe/default-resources.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite, scaled, WORKERS } from './support/builders.js';
import { at, conditionOf, type Live } from './support/objects.js';

/** The merge patches of the specification: what each one reaches, and that it reaches nothing else. */
interface Case {
  readonly name: string;
  readonly kind: 'AppBench' | 'AppSite';
  readonly patch: Readonly<Record<string, unknown>>;
  /** All writes other than of statuses. */
  readonly writes: readonly string[];
  /** What is then in the children: `Deployment/b-gunicorn spec.replicas`. */
  readonly values: Readonly<Record<string, unknown>>;
}

const CONTAINER = 'spec.template.spec.containers[0]';
const RESOURCES = {
  requests: { cpu: '500m', memory: '1Gi' },
  limits: { cpu: '2', memory: '2Gi' },
};

const CASES: readonly Case[] = [
  {
    name: 'appsJSON installs the applications: both init Jobs run again, and no pod restarts',
    kind: 'AppBench',
    patch: { appsJSON: '["erpnext","hrms"]' },
    writes: [
      'delete jobs/b-init',
      'delete jobs/s-init',
      'patch jobs/b-init',
      'patch jobs/s-init',
      // The records of what has run.
      'patch persistentvolumeclaims/b-sites',
      'patch secrets/s-encryption-key',
    ],
    values: {
      [`Job/b-init ${CONTAINER}.env BENCH_APPS`]: '["erpnext","hrms"]',
      [`Job/s-init ${CONTAINER}.env SITE_APPS`]: '["erpnext","hrms"]',
      'AppBench/b status.apps': ['erpnext', 'hrms'],
      'AppSite/s status.apps': ['erpnext', 'hrms'],
    },
  },
  {
    name: 'componentReplicas scales the bench’s Deployments and the site’s, with a budget for those of several replicas',
    kind: 'AppBench',
    patch: { componentReplicas: { gunicorn: 3, workerDefault: 2, workerLong: 0 } },
    writes: [
      'patch deployments/b-gunicorn',
      'patch deployments/b-worker-default',
      'patch deployments/b-worker-long',
      'patch deployments/s-gunicorn',
      'patch deployments/s-worker-default',
      'patch deployments/s-worker-long',
      'patch poddisruptionbudgets/b-gunicorn',
      'patch poddisruptionbudgets/b-worker-default',
      'patch poddisruptionbudgets/s-gunicorn',
      'patch poddisruptionbudgets/s-worker-default',
    ],
    values: {
      'Deployment/b-gunicorn spec.replicas': 3,
      'Deployment/b-gunicorn status.readyReplicas': 3,
      'Deployment/b-worker-default spec.replicas': 2,
      'Deployment/b-worker-long spec.replicas': 0,
      'Deployment/s-gunicorn spec.replicas': 3,
      'Deployment/s-worker-default spec.replicas': 2,
      'PodDisruptionBudget/b-gunicorn spec.maxUnavailable': 1,
      'AppBench/b status.workerScaling.long.desiredReplicas': 0,
    },
  },
  {
    name: 'componentReplicas of a site scales the site’s',
    kind: 'AppSite',
    patch: { componentReplicas: { gunicorn: 2 } },
    writes: ['patch deployments/s-gunicorn'],
    values: {
      'Deployment/s-gunicorn spec.replicas': 2,
      'Deployment/b-gunicorn spec.replicas': 3,
    },
  },
  {
    name: 'workerAutoscaling sets fixed numbers where there is no KEDA',
    kind: 'AppBench',
    patch: {
      componentReplicas: null,
      workerAutoscaling: {
        short: scaled(0, 10, 2),
        long: scaled(2, 5, 5),
        default: { enabled: false, staticReplicas: 4 },
      },
    },
    writes: [
      'delete poddisruptionbudgets/b-gunicorn',
      'patch deployments/b-gunicorn',
      'patch deployments/b-worker-default',
      'patch deployments/b-worker-long',
      'patch deployments/s-worker-default',
      'patch deployments/s-worker-long',
      'patch poddisruptionbudgets/b-worker-long',
      'patch poddisruptionbudgets/s-worker-long',
    ],
    values: {
      'Deployment/b-worker-short spec.replicas': 1,
      'Deployment/b-worker-long spec.replicas': 2,
      'Deployment/b-worker-default spec.replicas': 4,
      'Deployment/s-worker-default spec.replicas': 4,
      'AppBench/b status.workerScaling.default': {
        mode: 'static',
        currentReplicas: 4,
        desiredReplicas: 4,
        kedaManaged: false,
      },
    },
  },
  {
    name: 'adminPasswordSecretRef gives the site’s init Job another Secret',
    kind: 'AppSite',
    patch: { adminPasswordSecretRef: { name: 'chosen' } },
    writes: ['delete jobs/s-init', 'patch jobs/s-init', 'patch secrets/s-encryption-key'],
    values: {
      [`Job/s-init ${CONTAINER}.env ADMIN_PASSWORD`]: { name: 'chosen', key: 'password' },
      'Secret/s-admin-password kind': 'Secret',
    },
  },
  {
    name: 'componentResources reaches the component, and the site’s that has none of its own',
    kind: 'AppBench',
    patch: { componentResources: { gunicorn: RESOURCES } },
    writes: ['patch deployments/b-gunicorn', 'patch deployments/s-gunicorn'],
    values: {
      [`Deployment/b-gunicorn ${CONTAINER}.resources`]: RESOURCES,
      [`Deployment/s-gunicorn ${CONTAINER}.resources`]: RESOURCES,
      [`Deployment/b-nginx ${CONTAINER}.resources`]: NGINX_REQUESTS,
    },
  },
  {
    name: 'redisConfig reaches the servers, and the cache’s own limit follows',
    kind: 'AppBench',
    patch: {
      redisConfig: {
        resources: { requests: { memory: '256Mi' }, limits: { memory: '512Mi' } },
      },
    },
    writes: ['patch statefulsets/b-redis'],
    values: {
      [`StatefulSet/b-redis ${CONTAINER}.resources.limits.memory`]: '512Mi',
      [`StatefulSet/b-redis ${CONTAINER}.env REDIS_MAXMEMORY`]: String(384 * 1024 * 1024),
      'StatefulSet/b-redis spec.template.spec.containers[1].resources.requests.memory': '256Mi',
    },
  },
  {
    name: 'dbConfig reaches the database server',
    kind: 'AppBench',
    patch: { dbConfig: { resources: { requests: { cpu: '500m', memory: '1Gi' } } } },
    writes: ['patch statefulsets/b-db'],
    values: {
      [`StatefulSet/b-db ${CONTAINER}.resources.requests`]: { cpu: '500m', memory: '1Gi' },
    },
  },
  {
    name: 'a value that is taken away again is taken away from the children',
    kind: 'AppBench',
    patch: { componentResources: null, redisConfig: null, dbConfig: { resources: null } },
    writes: [
      'patch deployments/b-gunicorn',
      'patch deployments/s-gunicorn',
      'patch statefulsets/b-db',
      'patch statefulsets/b-redis',
    ],
    values: {
      [`Deployment/b-gunicorn ${CONTAINER}.resources`]: gunicornRequests(
        { workers: 2, threads: 4 },
        { major: 15 },
      ),
      [`StatefulSet/b-redis ${CONTAINER}.resources`]: REDIS_REQUESTS,
      [`StatefulSet/b-db ${CONTAINER}.resources`]: DATABASE_REQUESTS,
    },
  },
];

describe('a merge patch of', () => {
  let cluster: Cluster;
  let namespace: string;
  before(async () => {
    cluster = await startCluster({ audit: true });
    namespace = await cluster.namespace();
    await cluster.operator();
    await cluster.apply(
      namespace,
      aSecret('chosen', { password: 'of my own' }),
      aBench('b', { appsJSON: '["erpnext"]', ...WORKERS }),
      aSite('s', { bench: 'b', ...WORKERS }),
    );
    await settled();
  });
  after(() => cluster.stop());

  /** Both are Ready, and the second is over after which a bench reads its sites again. */
  async function settled(): Promise<void> {
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
    await sleep(1_300);
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
  }

  /** `Job/b-init spec.template.spec.containers[0].env NAME` is the value of a variable, or its Secret. */
  async function valueOf(expression: string): Promise<unknown> {
    const [, kind = '', name = '', path = '', variable] =
      /^(\w+)\/(\S+) (\S+)(?: (\S+))?$/.exec(expression) ?? [];
    const value = at(await cluster.the(kind, namespace, name), path);
    if (variable === undefined) return value;
    const entry = (value as readonly { name: string }[]).find((env) => env.name === variable);
    return at(entry, 'value') ?? at(entry, 'valueFrom.secretKeyRef');
  }

  for (const { name, kind, patch, writes, values } of CASES) {
    test(name, async () => {
      const since = new Date();
      const target = kind === 'AppBench' ? 'b' : 's';
      await cluster.patch(kind, namespace, target, { spec: patch });
      await settled();
      const written = await cluster.writes({ namespace, since });
      const children = written.filter((write) => !write.endsWith('/status'));
      assert.deepEqual([...new Set(children)].sort(), writes);
      // A record is taken away before a run, and written after it.
      const others = (list: readonly string[]): readonly string[] =>
        list.filter((write) => !/b-sites$|s-encryption-key$/.test(write));
      const once = others(writes).length;
      assert.equal(others(children).length, once, `each is written once: ${children.join(', ')}`);
      for (const [expression, wanted] of Object.entries(values)) {
        assert.deepEqual(await valueOf(expression), wanted, expression);
      }
    });
  }

  for (const [name, spec, workload, claim] of [
    ['dbConfig.storage', { dbConfig: { storage: { size: '20Gi' } } }, 'b-db', 'b-db-data'],
    [
      'redisConfig.storage',
      { redisConfig: { storage: { size: '3Gi' } } },
      'b-redis',
      'b-redis-data',
    ],
  ] as const) {
    test(`${name} expands the volume without a restart of the pod`, async () => {
      const pod = await cluster.the('Pod', namespace, `${workload}-0`);
      const before = await cluster.the('PersistentVolumeClaim', namespace, claim);
      await cluster.patch('AppBench', namespace, 'b', { spec });
      const size = at(Object.values(spec)[0], 'storage.size');
      await cluster.until(
        'the claim asks for more',
        async () => {
          const now = await cluster.the('PersistentVolumeClaim', namespace, claim);
          assert.equal(now.metadata.uid, before.metadata.uid);
          assert.equal(at(now, 'spec.resources.requests.storage'), size);
          return true;
        },
        10_000,
      );
      await settled();
      const now = await cluster.the('Pod', namespace, `${workload}-0`);
      assert.equal(now.metadata.uid, pod.metadata.uid);
    });
  }

  test('kubectl scale sets the web processes', async () => {
    for (const [kind, name] of [
      ['AppBench', 'b'],
      ['AppSite', 's'],
    ] as const) {
      const scale = ['--namespace', namespace, 'scale', kind, name, '--replicas=3'];
      await cluster.controlPlane.kubectl(scale);
      await cluster.ready(kind, namespace, name);
      const deployment = await cluster.the('Deployment', namespace, `${name}-gunicorn`);
      assert.equal(at(deployment, 'status.readyReplicas'), 3);
      const status = `/apis/app-operator.io/v1alpha1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}/scale`;
      const answer = await cluster.controlPlane.api.request('GET', status);
      assert.deepEqual(at(answer, 'status'), {
        replicas: 3,
        selector: at(answer, 'status.selector'),
      });
      assert.match(String(at(answer, 'status.selector')), new RegExp(`app=${name}-gunicorn`));
    }
  });

  test('one thing many times in a row ends with the last', async () => {
    for (let replicas = 1; replicas <= 12; replicas++) {
      const spec = { componentReplicas: { nginx: replicas } };
      await cluster.patch('AppBench', namespace, 'b', { spec });
    }
    await cluster.patch('AppBench', namespace, 'b', { spec: { componentReplicas: { nginx: 2 } } });
    await settled();
    const nginx = await cluster.the('Deployment', namespace, 'b-nginx');
    assert.equal(at(nginx, 'spec.replicas'), 2);
  });

  test('apps, on a bench with appsJSON, counts until appsJSON is patched again', async () => {
    const lists = async (spec: object): Promise<unknown> => {
      await cluster.patch('AppBench', namespace, 'b', { spec });
      const bench = await cluster.ready('AppBench', namespace, 'b');
      return [at(bench, 'status.apps'), conditionOf(bench, 'FieldsIgnored')?.message];
    };
    const message = (field: string, newer: string): string =>
      `spec.${field}: has no effect: spec.${newer} was set later; remove it: {"spec":{"${field}":null}}`;
    assert.deepEqual(await lists({ apps: [{ name: 'erpnext' }] }), [
      ['erpnext'],
      message('appsJSON', 'apps'),
    ]);
    assert.deepEqual(await lists({ appsJSON: '["erpnext","crm"]' }), [
      ['erpnext', 'crm'],
      message('apps', 'appsJSON'),
    ]);
    assert.deepEqual(await lists({ apps: null }), [['erpnext', 'crm'], undefined]);
  });

  test('workerAutoscaling without KEDA sets a condition', async () => {
    const bench: Live = await cluster.the('AppBench', namespace, 'b');
    const { status, reason, message } = conditionOf(bench, 'Autoscaling') ?? {};
    assert.deepEqual(
      [status, reason, message],
      [
        'False',
        'KedaMissing',
        'workers are not scaled by events: the cluster does not serve keda.sh/v1alpha1',
      ],
    );
  });
});
