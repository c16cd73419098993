import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { BAD_BENCHES } from './support/bad-benches.js';
import { BAD_PATCHES, BAD_SITES } from './support/bad-sites.js';
import { aBench, aSite } from './support/builders.js';
import { at, conditionOf, type Live, type Manifest, nameOf } from './support/objects.js';
import { kubectlSays } from './support/kubectl-says.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.operator();
  await cluster.apply(
    namespace,
    aBench('b', { appsJSON: '["erpnext"]' }),
    aBench('operated', { dbConfig: { mode: 'operator', mariadbRef: { name: 'db' } } }),
    aSite('s', { bench: 'b', workloads: 'Shared' }),
  );
  await cluster.ready('AppBench', namespace, 'b');
  await cluster.ready('AppSite', namespace, 's');
});
after(() => cluster.stop());

const kubectl = (args: readonly string[], input?: unknown): Promise<string> =>
  kubectlSays(cluster, namespace, args, input);

const childrenOf = async (name: string): Promise<string[]> =>
  (await cluster.children(namespace)).map(nameOf).filter((child) => child.includes(`/${name}-`));

describe('kubectl create refuses', { concurrency: 4 }, () => {
  for (const [what, manifest, message] of [...BAD_BENCHES, ...BAD_SITES]) {
    test(`${what} (${manifest.kind}): ${message.slice(0, 80)}`, async () => {
      assert.equal(await kubectl(['create', '--filename=-'], manifest), message);
    });
  }

  after(async () => {
    for (const kind of ['AppBench', 'AppSite']) {
      assert.equal(await cluster.get(kind, namespace, 'bad'), undefined);
    }
    assert.deepEqual(await childrenOf('bad'), [], 'nothing is half applied');
  });
});

describe('kubectl patch refuses', () => {
  for (const [what, kind, spec, message] of BAD_PATCHES) {
    test(`${what} (${kind})`, async () => {
      const name = kind === 'appbench' ? 'b' : 's';
      const patch = JSON.stringify({ spec });
      assert.equal(await kubectl(['patch', kind, name, '--type=merge', '-p', patch]), message);
    });
  }

  test('and what was there is as it was', async () => {
    const bench = await cluster.ready('AppBench', namespace, 'b');
    const site = await cluster.ready('AppSite', namespace, 's');
    assert.deepEqual([bench.metadata.generation, site.metadata.generation], [1, 1]);
  });
});

/** What the schema cannot see: it is stored, and its status says what is wrong. */
const REFUSED_LATER: readonly {
  readonly what: string;
  readonly manifest: Manifest;
  readonly phase: 'Failed' | 'Pending';
  readonly reason: string;
  readonly message: string;
}[] = [
  ...(
    [
      ['text that is not JSON', 'erpnext', 'erpnext: is not JSON'],
      ['nothing', '', ': is not JSON'],
      ['an object', '{"erpnext":true}', '{"erpnext":true}: is not a JSON array'],
      ['null', 'null', 'null: is not a JSON array'],
      [
        'a number in the array',
        '["erpnext", 15]',
        '15: is not the name of an application: lower-case letters, digits and underscores, beginning with a letter',
      ],
      [
        'an array in the array',
        '[["erpnext"]]',
        '["erpnext"]: is not the name of an application: lower-case letters, digits and underscores, beginning with a letter',
      ],
      [
        'a command',
        '["erpnext; reboot"]',
        '"erpnext; reboot": is not the name of an application: lower-case letters, digits and underscores, beginning with a letter',
      ],
      [
        'a path',
        '["../../etc"]',
        '"../../etc": is not the name of an application: lower-case letters, digits and underscores, beginning with a letter',
      ],
      [
        'a line break in a name',
        '["a\\nb"]',
        '"a\\nb": is not the name of an application: lower-case letters, digits and underscores, beginning with a letter',
      ],
      ['a name twice', '["erpnext", "erpnext"]', '"erpnext": stands in the list twice'],
    ] as const
  ).map(([what, appsJSON, message], index) => ({
    what: `${what} for appsJSON`,
    manifest: aBench(`apps-${index}`, { appsJSON }),
    phase: 'Failed' as const,
    reason: 'InvalidSpec',
    message: `spec.appsJSON: Invalid value: ${message}; give a JSON array of application names, for example ["erpnext"]`,
  })),
  {
    what: 'apps that the bench does not have',
    manifest: aSite('no-app', { bench: 'b', apps: [{ name: 'erpnext' }, { name: 'hrms' }] }),
    phase: 'Failed',
    reason: 'InvalidSpec',
    message: 'spec.apps[1].name: Unsupported value: "hrms": the apps of bench b are: erpnext',
  },
  {
    what: 'a database operator’s database on a bench without one',
    manifest: aSite('no-operator', { bench: 'b', dbConfig: { mode: 'operator' } }),
    phase: 'Failed',
    reason: 'InvalidSpec',
    message:
      'spec.dbConfig.mode: Invalid value: "operator": bench b names no server of a database operator in spec.dbConfig',
  },
  {
    what: 'a shared database on a server that the database operator has',
    manifest: aSite('no-root', { bench: 'operated' }),
    phase: 'Failed',
    reason: 'InvalidSpec',
    message:
      'spec.dbConfig.mode: Invalid value: "shared": the server of bench operated is a database operator\'s; use "operator"',
  },
  {
    what: 'a database operator’s database where there is no such operator',
    manifest: aSite('later', { bench: 'operated', dbConfig: { mode: 'operator' } }),
    phase: 'Pending',
    reason: 'DatabaseOperatorMissing',
    message:
      'spec.dbConfig.mode: the cluster does not serve Database of k8s.mariadb.com/v1alpha1: install the MariaDB operator',
  },
  {
    what: 'a bench that is not there',
    manifest: aSite('no-bench', { bench: 'mistyped' }),
    phase: 'Pending',
    reason: 'BenchMissing',
    message: 'spec.benchRef.name: there is no AppBench "mistyped" in namespace test-1',
  },
  {
    what: 'a host name that is taken',
    manifest: aSite('taken', { bench: 'b', siteName: 's.example.com' }),
    phase: 'Failed',
    reason: 'DuplicateSiteName',
    message:
      'spec.siteName: Invalid value: "s.example.com": AppSite s on bench b has this host name already',
  },
  {
    what: 'a Secret that is not there',
    manifest: aSite('no-secret', { bench: 'b', adminPasswordSecretRef: { name: 'nowhere' } }),
    phase: 'Pending',
    reason: 'SecretMissing',
    message:
      'spec.adminPasswordSecretRef.name: the Secret "nowhere" is not there: create it in namespace test-1',
  },
];

describe('the status says what is wrong with', () => {
  before(async () => {
    for (const { manifest } of REFUSED_LATER) await cluster.create(namespace, manifest);
  });

  for (const { what, manifest, phase, reason, message } of REFUSED_LATER) {
    const { kind, metadata } = manifest;
    test(`${what} (${kind})`, async () => {
      const live: Live = await cluster.becomes(kind, namespace, metadata.name, {
        what: 'is judged',
        check: (one) => Boolean(conditionOf(one, 'Ready')),
      });
      const { status, reason: said, message: why } = conditionOf(live, 'Ready') ?? {};
      const wanted = message.replace('namespace test-1', `namespace ${namespace}`);
      assert.deepEqual([status, said, why], ['False', reason, wanted]);
      assert.equal(at(live, 'status.phase'), phase);
      const stalled = conditionOf(live, 'Stalled');
      assert.deepEqual(
        [stalled?.status, stalled?.reason, stalled?.message],
        phase === 'Failed' ? ['True', reason, wanted] : [undefined, undefined, undefined],
      );
      assert.deepEqual(await childrenOf(metadata.name), []);
    });
  }

  test('a bench, which is Ready as soon as that is mended', async () => {
    const spec = { appsJSON: '["erpnext"]' };
    await cluster.patch('AppBench', namespace, 'apps-0', { spec });
    const bench = await cluster.ready('AppBench', namespace, 'apps-0');
    assert.equal(conditionOf(bench, 'Stalled'), undefined);
  });
});

describe('what the API server refuses of a child is said', { concurrency: true }, () => {
  test('of a pod’s affinity, and it goes on when that is mended', async () => {
    const affinity = { nodeAffinity: 'everywhere' };
    await cluster.create(namespace, aBench('odd', { podTemplate: { affinity } }));
    const bench = await cluster.becomes('AppBench', namespace, 'odd', {
      what: 'is refused',
      check: (one) => Boolean(conditionOf(one, 'Stalled')),
    });
    assert.equal(conditionOf(bench, 'Ready')?.reason, 'ApplyRefused');
    assert.match(conditionOf(bench, 'Ready')?.message ?? '', /affinity\.nodeAffinity/);
    assert.equal(await cluster.get('Deployment', namespace, 'odd-gunicorn'), undefined);
    await cluster.patch('AppBench', namespace, 'odd', { spec: { podTemplate: null } });
    await cluster.ready('AppBench', namespace, 'odd');
  });

  test('and an affinity is passed on as it is written, whatever its age', async () => {
    const affinity = {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 1,
            podAffinityTerm: {
              labelSelector: { matchLabels: { app: 'even-gunicorn' } },
              matchLabelKeys: ['pod-template-hash'],
              topologyKey: 'kubernetes.io/hostname',
            },
          },
        ],
      },
    };
    await cluster.create(namespace, aBench('even', { podTemplate: { affinity } }));
    await cluster.ready('AppBench', namespace, 'even');
    for (const [kind, name] of [
      ['Deployment', 'even-gunicorn'],
      ['StatefulSet', 'even-redis'],
      ['Job', 'even-init'],
    ] as const) {
      const live = await cluster.the(kind, namespace, name);
      assert.deepEqual(at(live, 'spec.template.spec.affinity'), affinity, name);
    }
  });

  test('of another storage class of a volume that is there', async () => {
    await cluster.create(namespace, aBench('classy'));
    await cluster.ready('AppBench', namespace, 'classy');
    const spec = { storage: { className: 'fast' } };
    await cluster.patch('AppBench', namespace, 'classy', { spec });
    const bench = await cluster.becomes('AppBench', namespace, 'classy', {
      what: 'is refused',
      check: (one) => Boolean(conditionOf(one, 'Stalled')),
    });
    assert.equal(conditionOf(bench, 'Ready')?.reason, 'ApplyRefused');
    assert.match(
      conditionOf(bench, 'Ready')?.message ?? '',
      /^the API server refuses PersistentVolumeClaim classy-sites: spec: Forbidden: spec is immutable after creation/,
    );
    assert.doesNotMatch(conditionOf(bench, 'Ready')?.message ?? '', /\n/, 'in one line');
  });

  test('of a volume that would shrink, and nothing else is touched', async () => {
    await cluster.create(namespace, aBench('small', { storage: { size: '20Gi' } }));
    await cluster.ready('AppBench', namespace, 'small');
    await cluster.patch('AppBench', namespace, 'small', { spec: { storage: { size: '5Gi' } } });
    const bench = await cluster.becomes('AppBench', namespace, 'small', {
      what: 'is refused',
      check: (one) => Boolean(conditionOf(one, 'Stalled')),
    });
    assert.equal(
      conditionOf(bench, 'Ready')?.message,
      'the API server refuses PersistentVolumeClaim small-sites: spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
    );
    await cluster.patch('AppBench', namespace, 'small', { spec: { storage: { size: '20Gi' } } });
    await cluster.ready('AppBench', namespace, 'small');
  });
});
