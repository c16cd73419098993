import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import { at, type Live, nameOf } from '../cluster/support/objects.js';

const { owner, generate, run } = metadataKeysFor(DEFAULT_API_GROUP);

const TIMEOUT_MS = 60_000;

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster({ audit: true });
  namespace = await cluster.namespace();
  await cluster.operator();
  await cluster.apply(
    namespace,
    aBench('b', { componentReplicas: { nginx: 2 } }),
    aSite('s', { bench: 'b', ingress: { enabled: true } }),
  );
  await settled();
  await quiet();
});
after(() => cluster.stop());

async function settled(): Promise<void> {
  await cluster.ready('AppBench', namespace, 'b');
  await cluster.ready('AppSite', namespace, 's');
}

/** Lets the second pass after which a bench reads its sites again. */
async function quiet(): Promise<void> {
  await sleep(1_300);
  await settled();
}

/** What of an object a user could notice: not its versions, its status, or who wrote what. */
function essence({ metadata, ...rest }: Live): unknown {
  const { labels, annotations = {}, ownerReferences } = metadata;
  const { ['deployment.kubernetes.io/revision']: _, ...others } = annotations;
  const { status: _status, ...content } = rest;
  return { ...content, labels, annotations: others, ownerReferences };
}

/** Spoils a child, and waits until it is as it was before. */
async function restored(
  kind: string,
  name: string,
  spoil: () => Promise<Live>,
): Promise<{ readonly before: Live; readonly after: Live }> {
  const before = await cluster.the(kind, namespace, name);
  assert.notDeepEqual(essence(await spoil()), essence(before), 'something is spoilt');
  const after = await cluster.until(
    `${kind}/${name} is as it was`,
    async () => {
      const now = await cluster.the(kind, namespace, name);
      assert.deepEqual(essence(now), essence(before));
      return now;
    },
    TIMEOUT_MS,
  );
  return { before, after };
}

const patched = (kind: string, name: string, patch: unknown) =>
  restored(kind, name, () => cluster.patch(kind, namespace, name, patch));

describe('a child is restored when another client', () => {
  const EDITS: readonly (readonly [what: string, kind: string, name: string, patch: unknown])[] = [
    ['scales it', 'Deployment', 'b-gunicorn', { spec: { replicas: 7 } }],
    [
      'points it elsewhere',
      'Service',
      'b-nginx',
      { spec: { selector: { app: 'x' }, ports: [{ name: 'http', port: 8080, targetPort: 1 }] } },
    ],
    ['edits its data', 'ConfigMap', 'b-config', { data: { 'nginx.sh': 'exit 0' } }],
    ['takes data away', 'ConfigMap', 'b-nginx', { data: { 'nginx.conf': null } }],
    ['lets everybody in', 'NetworkPolicy', 'b-redis', { spec: { ingress: [{}] } }],
    ['loosens it', 'PodDisruptionBudget', 'b-nginx', { spec: { maxUnavailable: '100%' } }],
    ['redirects it', 'Ingress', 's-ingress', { spec: { rules: [{ host: 'x.example.com' }] } }],
    [
      'changes its image',
      'StatefulSet',
      'b-redis',
      {
        spec: {
          template: {
            spec: {
              terminationGracePeriodSeconds: 30,
              securityContext: { runAsUser: 1 },
            },
          },
        },
      },
    ],
  ];
  for (const [what, kind, name, patch] of EDITS) {
    test(`${what} (${kind} ${name})`, async () => {
      await patched(kind, name, patch);
    });
  }

  const METADATA: readonly (readonly [what: string, metadata: unknown])[] = [
    ['takes its managed-by label', { labels: { [MANAGED_BY_LABEL]: null } }],
    ['gives it to another manager', { labels: { [MANAGED_BY_LABEL]: 'helm' } }],
    ['takes its owner label', { labels: { [owner]: null } }],
    ['claims it for another owner', { labels: { [owner]: 'AppSite.other' } }],
    ['changes another label', { labels: { 'app.kubernetes.io/component': 'x' } }],
    ['takes all of these labels', { labels: { [MANAGED_BY_LABEL]: null, [owner]: null } }],
    ['takes its owner reference', { ownerReferences: null }],
  ];
  const CHILDREN = [
    ['Deployment', 's-gunicorn'],
    ['Secret', 'b-redis-auth'],
    ['ConfigMap', 'b-config'],
    ['Job', 's-init'],
  ] as const;
  for (const [what, metadata] of METADATA) {
    for (const [kind, name] of CHILDREN) {
      test(`${what} (${kind} ${name})`, async () => {
        const { before, after } = await patched(kind, name, { metadata });
        assert.equal(after.metadata.uid, before.metadata.uid, 'it is the same object');
      });
    }
  }

  test('takes the labels of a claim that has no owner reference', async () => {
    const labels = { [MANAGED_BY_LABEL]: null, [owner]: null };
    const { before, after } = await patched('PersistentVolumeClaim', 'b-sites', {
      metadata: { labels },
    });
    assert.equal(after.metadata.uid, before.metadata.uid);
  });

  test(`takes its annotation ${generate} (Secret s-db)`, async () => {
    const annotations = { [generate]: null };
    await patched('Secret', 's-db', { metadata: { annotations } });
  });

  test(`takes its annotation ${run} (Job b-init): it does not run again`, async () => {
    const annotations = { [run]: null };
    const { before, after } = await patched('Job', 'b-init', { metadata: { annotations } });
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.equal(after.metadata.annotations?.[run], before.metadata.annotations?.[run]);
    await settled();
  });
});

describe('a deleted child is created again', () => {
  const DELETED = [
    ['Deployment', 's-worker-long'],
    ['Deployment', 'b-nginx'],
    ['Service', 's-gunicorn'],
    ['ConfigMap', 'b-nginx'],
    ['NetworkPolicy', 'b-db'],
    ['PodDisruptionBudget', 'b-nginx'],
    ['Ingress', 's-ingress'],
    ['StatefulSet', 'b-db'],
  ] as const;
  for (const [kind, name] of DELETED) {
    test(`${kind} ${name}`, async () => {
      const before = await cluster.the(kind, namespace, name);
      await cluster.delete(kind, namespace, name);
      await cluster.until(
        `${kind}/${name} is there again`,
        async () => {
          const now = await cluster.the(kind, namespace, name);
          assert.notEqual(now.metadata.uid, before.metadata.uid);
          assert.equal(now.metadata.deletionTimestamp, undefined);
          return true;
        },
        TIMEOUT_MS,
      );
      await settled();
    });
  }

  test('all of them at once, Jobs that have succeeded too, and the manifests are applied again', async () => {
    const before = (await cluster.children(namespace)).map(nameOf);
    await Promise.all(
      (await cluster.children(namespace))
        .filter(({ kind }) => !['Secret', 'PersistentVolumeClaim'].includes(kind))
        .map(({ kind, metadata }) => cluster.delete(kind, namespace, metadata.name)),
    );
    await cluster.apply(
      namespace,
      aBench('b', { componentReplicas: { nginx: 2 } }),
      aSite('s', { bench: 'b', ingress: { enabled: true } }),
    );
    await cluster.until('all children are there', async () => {
      assert.deepEqual((await cluster.children(namespace)).map(nameOf), before);
      return true;
    });
    await settled();
  });
});

describe('fields of another manager', () => {
  test('survives: labels, annotations, a container’s variable, a whole other container', async () => {
    const name = 's-gunicorn';
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
    const theirs = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, labels: { team: 'blue' }, annotations: { 'example.com/note': 'n' } },
      spec: {
        template: {
          metadata: { annotations: { 'example.com/inject': 'yes' } },
          spec: {
            containers: [
              { name: 'gunicorn', env: [{ name: 'THEIRS', value: '1' }] },
              { name: 'sidecar', image: 'example.test/sidecar:1' },
            ],
          },
        },
      },
    };
    await cluster.controlPlane.api.request(
      'PATCH',
      `${path}?fieldManager=mesh`,
      theirs,
      'application/apply-patch+yaml',
    );
    const survives = async (): Promise<void> => {
      const live = await cluster.the('Deployment', namespace, name);
      assert.equal(live.metadata.labels?.['team'], 'blue');
      assert.equal(live.metadata.annotations?.['example.com/note'], 'n');
      const { metadata, spec } = at(live, 'spec.template') as {
        metadata: { annotations: Record<string, string> };
        spec: { containers: { name: string; env?: { name: string }[] }[] };
      };
      assert.equal(metadata.annotations['example.com/inject'], 'yes');
      const [gunicorn, sidecar] = spec.containers;
      assert.ok(gunicorn?.env?.some((env) => env.name === 'THEIRS'));
      assert.equal(sidecar?.name, 'sidecar');
    };
    await settled();
    await survives();
    // Our own next change of the object leaves it, too.
    await cluster.patch('AppSite', namespace, 's', {
      spec: { componentResources: { gunicorn: { requests: { cpu: '1' } } } },
    });
    await settled();
    await survives();
    const live = await cluster.the('Deployment', namespace, name);
    const request = at(live, 'spec.template.spec.containers[0].resources.requests.cpu');
    assert.equal(request, '1');
  });

  test('survives on a Secret, a ConfigMap, a Service and a claim', async () => {
    const labels = { team: 'red', 'app.kubernetes.io/part-of': 'shop' };
    const patch = { metadata: { labels, annotations: { note: 'n' } } };
    const targets = [
      ['Secret', 's-db'],
      ['ConfigMap', 'b-config'],
      ['Service', 'b-nginx'],
      ['PersistentVolumeClaim', 'b-sites'],
    ] as const;
    for (const [kind, name] of targets) await cluster.patch(kind, namespace, name, patch);
    // A repair of the same objects is when such a thing would be lost.
    for (const [kind, name] of targets) {
      await restored(kind, name, () =>
        cluster.patch(kind, namespace, name, {
          metadata: { labels: { 'app.kubernetes.io/component': 'x' } },
        }),
      );
      const { metadata } = await cluster.the(kind, namespace, name);
      assert.equal(metadata.labels?.['team'], 'red', name);
      assert.equal(metadata.labels['app.kubernetes.io/part-of'], 'shop', name);
      assert.equal(metadata.annotations?.['note'], 'n', name);
    }
    await quiet();
    // A reconcile that took the label for ours would keep the site from being Ready.
    await cluster.patch('AppSite', namespace, 's', {
      spec: { componentResources: { gunicorn: { requests: { cpu: '2' } } } },
    });
    await settled();
    const live = await cluster.the('Deployment', namespace, 's-gunicorn');
    assert.equal(at(live, 'spec.template.spec.containers[0].resources.requests.cpu'), '2');
  });

  test('causes no write when it is a status', async () => {
    await quiet();
    const since = new Date();
    for (const [kind, name, status] of [
      ['StatefulSet', 'b-db', { replicas: 1, conditions: [{ type: 'X', status: 'True' }] }],
      ['Ingress', 's-ingress', { loadBalancer: { ingress: [{ hostname: 'lb.example.com' }] } }],
      ['PersistentVolumeClaim', 'b-sites', { capacity: { storage: '20Gi' } }],
    ] as const) {
      await cluster.patchStatus(kind, namespace, name, { status });
    }
    await sleep(1_000);
    assert.deepEqual(await cluster.writes({ namespace, since }), []);
  });
});
