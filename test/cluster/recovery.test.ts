import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { FIELD_MANAGER } from '../../runner/cache/child.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, API_VERSION, aSite } from './support/builders.js';
import { MutatingPolicy } from './support/mutating-policy.js';
import { at, conditionOf, type Live, type Manifest, nameOf } from './support/objects.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import { assertSameObjects, atRest, snapshot, type Snapshot } from './support/snapshot.js';

const { allowHostFrom, paused, recordedStatus, run, runAgain } = metadataKeysFor(DEFAULT_API_GROUP);
/** The objects without Jobs: a Job that has ended may be deleted at any time. */
const OURS = ['AppBench', 'AppSite', 'SiteJob'];
const componentReplicas = { workerDefault: 0, workerShort: 0, workerLong: 0 };
const JOBS = { 'b-init': 1, 's-init': 1, 'j-run': 1 };
/** Of a user who deletes them: the init Jobs, which repair what they have made, and no SiteJob. */
const INIT_AGAIN = { ...JOBS, 'b-init': 2, 's-init': 2 };

const bench = (spec = {}): Manifest => aBench('b', { componentReplicas, ...spec });
const site = (spec = {}): Manifest => aSite('s', { bench: 'b', workloads: 'Shared', ...spec });
const siteJob = (): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'SiteJob',
  metadata: { name: 'j' },
  spec: { siteRef: { name: 's' }, command: ['migrate'] },
});
/** A bench and a site whose spec has more than the others'. */
const RICH = [
  bench({ podTemplate: { labels: { team: 'a' } } }),
  site({
    ingress: {
      enabled: true,
      annotations: { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '60' },
    },
  }),
] as const;
const PLAIN = [bench(), site({ ingress: { enabled: true } })] as const;

let cluster: Cluster;
let operators: ProxiedOperators;
const policies: MutatingPolicy[] = [];

/** What happens to a bench, a site and a SiteJob that are Ready; then they must be as before. */
interface Case {
  readonly name: string;
  /** Before anything is created. */
  readonly prepare?: (namespace: string) => Promise<unknown>;
  readonly manifests?: readonly Manifest[];
  readonly disturb: (namespace: string) => Promise<unknown>;
  /** How often each Job is created in all. @default once */
  readonly jobs?: Readonly<Record<string, number>>;
  readonly check?: (namespace: string) => Promise<unknown>;
}

const CASES: readonly Case[] = [
  {
    name: 'a policy sets a short TTL on Jobs',
    prepare: (namespace) => shortLived(namespace),
    disturb: (namespace) => jobsAreGone(namespace),
    check: (namespace) => jobsAreGone(namespace),
  },
  { name: 'a tool deletes all finished Jobs', disturb: deleteJobs, jobs: INIT_AGAIN },
  {
    name: 'a user deletes the init Jobs, and applies the manifests again',
    disturb: async (namespace) => {
      for (const name of ['b-init', 's-init']) await cluster.delete('Job', namespace, name);
      await create(namespace, ...PLAIN);
      await madeJobs(namespace, INIT_AGAIN);
    },
    jobs: INIT_AGAIN,
    check: initJobsExist,
  },
  { name: 'all statuses are lost', disturb: wipeStatuses },
  {
    name: 'all statuses and all Jobs are lost',
    disturb: async (namespace) => {
      await deleteJobs(namespace);
      await wipeStatuses(namespace);
    },
    jobs: INIT_AGAIN,
  },
  {
    name: 'the annotation of all Jobs is lost',
    disturb: (namespace) =>
      eachChild(namespace, ['Job'], { metadata: { annotations: { [run]: null } } }),
  },
  {
    name: 'all managed fields are cleared, and then fields leave the specs',
    manifests: RICH,
    disturb: async (namespace) => {
      await eachChild(namespace, undefined, { metadata: { managedFields: [{}] } });
      await cluster.until('the operator owns the fields again', async () => {
        const repaired = ['Deployment', 'Service', 'Ingress', 'ConfigMap', 'StatefulSet'];
        for (const child of await cluster.children(namespace)) {
          if (!repaired.includes(child.kind)) continue;
          const managers = (at(child, 'metadata.managedFields') ?? []) as { manager: string }[];
          const names = managers.map(({ manager }) => manager);
          assert.ok(names.includes(FIELD_MANAGER), nameOf(child));
          assert.ok(!names.includes('before-first-apply'), nameOf(child));
        }
        return true;
      });
      await settled(namespace);
      await create(namespace, ...PLAIN);
    },
  },
  {
    name: 'all owner references are removed',
    disturb: (namespace) =>
      eachChild(namespace, undefined, { metadata: { ownerReferences: null } }),
    check: async (namespace) => {
      for (const name of Object.keys(JOBS)) {
        const { metadata } = await cluster.the('Job', namespace, name);
        assert.equal(metadata.ownerReferences?.length, 1, name);
      }
    },
  },
  { name: 'a backup tool restores everything', disturb: (namespace) => restore(namespace, false) },
  {
    name: 'a backup tool restores everything with the old owners',
    disturb: (namespace) => restore(namespace, true),
    // The garbage collector deletes the password of Redis, whose owner does not exist.
    jobs: { ...JOBS, 'b-init': 2, 's-init': 2 },
  },
  {
    name: 'a policy changes a label of Secrets and Jobs',
    prepare: (namespace) =>
      policy(
        namespace,
        ['secrets', 'jobs'],
        [{ op: 'add', path: '/metadata/labels/app.kubernetes.io~1instance', value: 'policy' }],
      ),
    disturb: () => Promise.resolve(),
    check: async (namespace) => {
      const altered = conditionOf(await cluster.the('AppBench', namespace, 'b'), 'Altered');
      assert.equal(altered?.reason, 'FieldAltered');
      const field = /^Secret b-redis-auth: metadata\.labels\[app\.kubernetes\.io\/instance\] /;
      assert.match(altered.message, field);
    },
  },
  {
    name: 'a user requests another run after the Jobs were deleted',
    disturb: async (namespace) => {
      await deleteJobs(namespace);
      await madeJobs(namespace, INIT_AGAIN);
      await settled(namespace);
      const again = { metadata: { annotations: { [runAgain]: '1' } } };
      await cluster.patch('AppSite', namespace, 's', again);
      await madeJobs(namespace, { ...INIT_AGAIN, 's-init': 3 });
      await settled(namespace);
    },
    jobs: { ...INIT_AGAIN, 's-init': 3 },
  },
  {
    name: 'the spec changes while a policy deletes Jobs, and changes back',
    prepare: (namespace) => shortLived(namespace),
    disturb: async (namespace) => {
      await jobsAreGone(namespace);
      await cluster.patch('AppSite', namespace, 's', { spec: { maintenance: true } });
      await madeJobs(namespace, { ...JOBS, 's-init': 2 });
      await settled(namespace);
      await jobsAreGone(namespace);
      await cluster.patch('AppSite', namespace, 's', { spec: { maintenance: null } });
      await madeJobs(namespace, { ...JOBS, 's-init': 3 });
      await settled(namespace);
    },
    jobs: { ...JOBS, 's-init': 3 },
  },
  {
    name: 'a site is deleted, keeps its data, and is created again',
    disturb: async (namespace) => {
      await cluster.delete('AppSite', namespace, 's');
      await cluster.deleted('AppSite', namespace, 's');
      await create(namespace, PLAIN[1]);
    },
    jobs: { ...JOBS, 's-init': 2, 's-drop': 1 },
  },
  {
    name: 'a SiteJob is copied under another name, and the copy is deleted',
    disturb: copySiteJob,
    jobs: { ...JOBS, 'copy-run': 1 },
  },
];

async function policy(
  namespace: string,
  resources: readonly string[],
  patch: Parameters<typeof MutatingPolicy.start>[1]['patch'],
): Promise<void> {
  const operations = ['CREATE', 'UPDATE'] as const;
  const options = { namespace, resources, operations, patch };
  policies.push(await MutatingPolicy.start(cluster, options));
}

/** Jobs are deleted a second after their end. */
function shortLived(namespace: string): Promise<void> {
  const ttl = { op: 'add', path: '/spec/ttlSecondsAfterFinished', value: 1 } as const;
  return policy(namespace, ['jobs'], [ttl]);
}

/** Applies manifests; the sites of all cases have one host name. */
async function create(namespace: string, ...manifests: readonly Manifest[]): Promise<void> {
  const annotations = { [allowHostFrom]: [...namespaces.values()].join(',') };
  const granting = manifests.map((manifest) =>
    manifest.kind === 'AppSite'
      ? { ...manifest, metadata: { ...manifest.metadata, annotations } }
      : manifest,
  );
  await cluster.apply(namespace, ...granting);
}

/** Waits until everything is Ready and the SiteJob has run. */
async function settled(namespace: string): Promise<void> {
  await cluster.ready('AppBench', namespace, 'b');
  await cluster.ready('AppSite', namespace, 's');
  await cluster.becomes('SiteJob', namespace, 'j', {
    what: 'has run',
    check: (live) => at(live, 'status.phase') === 'Succeeded',
  });
}

/** Deletes all Jobs. Init Jobs come again at once. */
async function deleteJobs(namespace: string): Promise<void> {
  const jobs = await cluster.list('Job', namespace);
  for (const { metadata } of jobs) await cluster.delete('Job', namespace, metadata.name);
  const deleted = new Set(jobs.map(({ metadata: { uid } }) => uid));
  await cluster.until('the Jobs are deleted', async () => {
    const left = (await cluster.list('Job', namespace)).filter(({ metadata: { uid } }) =>
      deleted.has(uid),
    );
    assert.deepEqual(left.map(nameOf), []);
    return true;
  });
}

async function initJobsExist(namespace: string): Promise<void> {
  for (const name of ['b-init', 's-init']) await cluster.the('Job', namespace, name);
}

function jobsAreGone(namespace: string): Promise<unknown> {
  return cluster.until('the Jobs are deleted', async () => {
    assert.deepEqual((await cluster.list('Job', namespace)).map(nameOf), []);
    return true;
  });
}

async function wipeStatuses(namespace: string): Promise<void> {
  for (const [index, name] of ['b', 's', 'j'].entries()) {
    await cluster.patchStatus(OURS[index] ?? '', namespace, name, { status: null });
  }
}

async function eachChild(
  namespace: string,
  kinds: readonly string[] | undefined,
  patch: unknown,
): Promise<void> {
  for (const { kind, metadata } of await cluster.children(namespace)) {
    if (kinds && !kinds.includes(kind)) continue;
    await cluster.patch(kind, namespace, metadata.name, patch);
  }
}

/**
 * Deletes everything, and creates it again as a backup tool does: without statuses, with other uids,
 * and without Jobs that are complete.
 */
async function restore(namespace: string, oldOwners: boolean): Promise<void> {
  const lists = OURS.map((kind) => cluster.list(kind, namespace));
  const resources = (await Promise.all(lists)).flat();
  const children = (await cluster.children(namespace)).filter(({ kind }) => kind !== 'Job');
  // A paused operator does not see that they are deleted.
  for (const { kind, metadata } of resources) {
    const annotations = { [paused]: 'true' };
    await cluster.patch(kind, namespace, metadata.name, { metadata: { annotations } });
  }
  for (const { kind, metadata } of resources) {
    await cluster.delete(kind, namespace, metadata.name);
    if (metadata.finalizers)
      await cluster.patch(kind, namespace, metadata.name, { metadata: { finalizers: null } });
  }
  for (const { kind, metadata } of children) await cluster.delete(kind, namespace, metadata.name);
  await cluster.until('everything is deleted', async () => {
    assert.deepEqual((await cluster.children(namespace)).map(nameOf), []);
    assert.deepEqual((await cluster.list('Pod', namespace)).map(nameOf), []);
    return true;
  });
  const order = ['PersistentVolumeClaim', 'Secret', 'ConfigMap', ...OURS];
  const place = ({ kind }: Live): number => (order.indexOf(kind) + 99) % 99;
  for (const live of [...children, ...resources].sort((a, b) => place(a) - place(b))) {
    await cluster.create(namespace, dumped(live, oldOwners)).catch((error: unknown) => {
      // The operator was faster.
      if (!String(error).includes('already exists')) throw error;
    });
  }
}

/** Creates a SiteJob from the manifest of another one, with its annotations. */
async function copySiteJob(namespace: string): Promise<void> {
  const original = dumped(await cluster.the('SiteJob', namespace, 'j'), false);
  assert.ok(original.metadata.annotations?.[recordedStatus]);
  await cluster.create(namespace, {
    ...original,
    metadata: { ...original.metadata, name: 'copy' },
  });
  await cluster.becomes('SiteJob', namespace, 'copy', {
    what: 'has run, and has a record of its own',
    check: ({ metadata, status }) => {
      const record = metadata.annotations?.[recordedStatus] ?? '{}';
      const { resource } = JSON.parse(record) as { readonly resource?: string };
      return status?.['phase'] === 'Succeeded' && resource === `${namespace}/copy`;
    },
  });
  await cluster.delete('SiteJob', namespace, 'copy');
  await cluster.deleted('SiteJob', namespace, 'copy');
}

/** An object as a backup tool restores it. */
function dumped({ status: _status, metadata, ...rest }: Live, oldOwners: boolean): Manifest {
  const { name, labels = {}, annotations = {}, finalizers, ownerReferences } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !key.startsWith('pv.kubernetes.io/'));
  const { volumeName: _volume, clusterIP: _ip, clusterIPs: _ips, ...spec } = rest.spec ?? {};
  return {
    ...rest,
    metadata: {
      ...{ name, labels, annotations: Object.fromEntries(kept) },
      ...(finalizers && OURS.includes(rest.kind) ? { finalizers } : {}),
      ...(oldOwners && ownerReferences ? { ownerReferences } : {}),
    },
    ...(rest.spec ? { spec } : {}),
  };
}

/** How often the operator has created each Job. */
async function createdJobs(
  namespace: string,
  user = 'operator',
): Promise<Readonly<Record<string, number>>> {
  const made: Record<string, number> = {};
  for (const call of await cluster.calls({ namespace, user })) {
    const { resource, name = '' } = call.objectRef ?? {};
    if (resource !== 'jobs' || call.responseStatus?.code !== 201) continue;
    made[name] = (made[name] ?? 0) + 1;
  }
  return made;
}

function madeJobs(
  namespace: string,
  jobs: Readonly<Record<string, number>>,
  user?: string,
): Promise<unknown> {
  return cluster.until('the Jobs are made', async () => {
    assert.deepEqual(await createdJobs(namespace, user), jobs);
    return true;
  });
}

/** The objects of a namespace without Jobs, which may be deleted, and without labels of a policy. */
async function stateIn(namespace: string): Promise<Snapshot> {
  const { objects } = await snapshot(cluster, namespace);
  const others = [...objects].filter(([name]) => !name.startsWith('Job/'));
  const text = others.map(([name, json]): [string, string] => [
    name,
    name.startsWith('Secret/')
      ? json.replace(/ *"app.kubernetes.io\/instance": "\w+",\n/, '')
      : json,
  ]);
  return { objects: new Map(text), jobPods: {} };
}

const UNDISTURBED: Case = { name: 'nothing happens', disturb: () => Promise.resolve() };
const namespaces = new Map<string, string>();
const failures = new Map<string, unknown>();
let resting: Date;

/** Creates what a case needs, and disturbs it. */
async function carryOut({ name, prepare, manifests = PLAIN, disturb }: Case): Promise<void> {
  const namespace = namespaces.get(name) ?? '';
  try {
    await prepare?.(namespace);
    await create(namespace, ...manifests, siteJob());
    await settled(namespace);
    await disturb(namespace);
    await settled(namespace);
  } catch (error) {
    failures.set(name, error);
  }
}

before(async () => {
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  const all = [UNDISTURBED, ...CASES];
  for (const { name } of all) namespaces.set(name, await cluster.namespace());
  await operators.start(undefined, { namespaces: [...namespaces.values()] });
  await Promise.all(all.map(carryOut));
  await atRest(cluster, 'operator');
  resting = new Date();
  await sleep(5_000);
});
after(async () => {
  await operators.stop();
  for (const one of policies) one.stop();
  await cluster.stop();
});

describe('everything is as if nothing had happened when', () => {
  let passed = 0;
  for (const one of CASES) {
    test(one.name, async () => {
      if (failures.has(one.name)) throw failures.get(one.name);
      const namespace = namespaces.get(one.name) ?? '';
      const wanted = await stateIn(namespaces.get(UNDISTURBED.name) ?? '');
      assertSameObjects(await stateIn(namespace), wanted, one.name);
      assert.deepEqual(await createdJobs(namespace), one.jobs ?? JOBS, 'no Job runs again');
      assert.deepEqual(await cluster.writes({ namespace, since: resting }), [], 'it is at rest');
      await settled(namespace);
      await one.check?.(namespace);
      passed += 1;
    });
  }
  after(() => {
    console.log(`recovery: ${CASES.length} cases tried, ${passed} passed`);
  });
});

describe(
  'an init Job that was deleted, with a restart of the operator',
  { concurrency: true },
  () => {
    const prepared = async () => {
      const namespace = await cluster.namespace();
      const options = { namespaces: [namespace], user: `restarting-${namespace}` };
      const operator = await operators.start(undefined, options);
      await create(namespace, ...PLAIN, siteJob());
      await settled(namespace);
      return { namespace, options, operator };
    };
    const deleteInitJobs = async (namespace: string): Promise<void> => {
      for (const name of ['b-init', 's-init']) await cluster.delete('Job', namespace, name);
    };

    test('before it runs again, once, and stays after a restart and an apply', async () => {
      const { namespace, options, operator } = await prepared();
      await deleteInitJobs(namespace);
      await madeJobs(namespace, INIT_AGAIN, options.user);
      await operator.stop();
      await operators.start(undefined, options);
      await create(namespace, ...PLAIN);
      await settled(namespace);
      await atRest(cluster, options.user);
      assert.deepEqual(await createdJobs(namespace, options.user), INIT_AGAIN);
      await initJobsExist(namespace);
    });

    test('while no operator ran counts as taken by a TTL: another run is requested', async () => {
      const { namespace, options, operator } = await prepared();
      await operator.stop();
      await deleteInitJobs(namespace);
      await operators.start(undefined, options);
      await settled(namespace);
      await atRest(cluster, options.user);
      assert.deepEqual(await createdJobs(namespace, options.user), JOBS);
      const again = { metadata: { annotations: { [runAgain]: '1' } } };
      await cluster.patch('AppBench', namespace, 'b', again);
      await cluster.patch('AppSite', namespace, 's', again);
      await madeJobs(namespace, INIT_AGAIN, options.user);
      await settled(namespace);
    });
  },
);

describe('a bench keeps its data while it has a site', { concurrency: true }, () => {
  const doomed = (labels = {}): Manifest =>
    aBench('b', { componentReplicas, deletionPolicy: 'Delete' }, { labels });
  const claimed = async (namespace: string): Promise<void> => {
    await cluster.delete('AppBench', namespace, 'b');
    await cluster.becomes('AppBench', namespace, 'b', {
      what: 'waits for its site',
      check: (live) => conditionOf(live, 'Ready')?.reason === 'SitesExist',
    });
    const claim = await cluster.the('PersistentVolumeClaim', namespace, 'b-sites');
    assert.equal(claim.metadata.deletionTimestamp, undefined);
  };

  test('that lost the label by which the operator selects it', async () => {
    const namespace = await cluster.namespace();
    const options = { namespaces: [namespace], user: 'selecting' };
    await operators.start(undefined, options, ['--watch-label-selector=team=a']);
    const labels = { team: 'a' };
    await cluster.apply(
      namespace,
      doomed(labels),
      aSite('s', { bench: 'b', workloads: 'Shared' }, { labels }),
    );
    await cluster.ready('AppSite', namespace, 's');
    await cluster.patch('AppSite', namespace, 's', { metadata: { labels: { team: null } } });
    await claimed(namespace);
    const lists = (await cluster.calls({ namespace, user: 'selecting' })).filter(
      ({ verb, requestURI }) => verb === 'list' && requestURI.endsWith('/appsites?limit=500'),
    );
    assert.ok(lists.length > 0, 'the sites were listed without the selector');
    await cluster.patch('AppSite', namespace, 's', { metadata: { labels: { team: 'a' } } });
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppBench', namespace, 'b');
  });

  test('that its caches have not seen', async () => {
    const namespace = await cluster.namespace();
    const proxy = await operators.proxy();
    await operators.start(proxy, { namespaces: [namespace] });
    await cluster.apply(namespace, doomed());
    await cluster.ready('AppBench', namespace, 'b');
    const watch = proxy.watches.find(({ path }) => path.endsWith('/appsites'));
    assert.ok(watch);
    watch.silent = true;
    await cluster.apply(namespace, aSite('s', { bench: 'b', workloads: 'Shared' }));
    await claimed(namespace);
    watch.cut();
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppBench', namespace, 'b');
  });
});

test('an operator that is killed after every fourth write gets on with a new bench', async (t) => {
  const namespace = await cluster.namespace();
  const proxy = await operators.proxy();
  let writes = 0;
  let operator = await operators.start(proxy, { namespaces: [namespace], wait: false });
  proxy.rule = ({ isWrite }) => {
    if (!isWrite) return undefined;
    if (++writes <= 4) return undefined;
    operator.kill('SIGKILL');
    return 'drop';
  };
  await cluster.apply(namespace, bench());
  let lives = 1;
  const isReady = async (): Promise<boolean> =>
    at(await cluster.the('AppBench', namespace, 'b'), 'status.phase') === 'Ready';
  while (!(await isReady()) && lives < 25) {
    await Promise.race([operator.exited, sleep(3_000)]);
    if (operator.running) continue;
    writes = 0;
    lives += 1;
    operator = await operators.start(proxy, { namespaces: [namespace], wait: false });
  }
  t.diagnostic(`${lives} lives`);
  assert.ok(await isReady(), `not Ready in ${lives} lives`);
});
