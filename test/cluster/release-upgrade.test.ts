import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { hashOf } from '../../constructs/kit/json/hash.js';
import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
import { holdPods } from '../../testbed/controlplane/pods.js';
import { DOCUMENT_PODS, DocumentScript } from '../../testbed/stand-in/document-script.js';
import { projectRoot } from '../../testbed/project-root.js';
import { Cluster } from './harness.js';
import { aBench, API_VERSION, aSecret, aSite, aUser } from './support/builders.js';
import { forbiddenCalls, installed, startInstalled, USER } from './support/installed.js';
import { at, conditionOf, type Live, type Manifest, nameOf } from './support/objects.js';
import { Operator } from './support/operator.js';
import { fileOf, operatorOf } from './support/release.js';

/** The previous release: its manifest and its operator come from the history of the repository. */
const BEFORE = { release: '0.2.0', commit: '436b0c5a' };
const ROOT = projectRoot();
const MANIFEST = 'dist/install.yaml';
const NEW = path.join(ROOT, MANIFEST);
const oldManifest = await fileOf(BEFORE.commit, MANIFEST);
/** For tests that need the previous release. */
const needsHistory =
  oldManifest === undefined
    ? { skip: `NOT TESTED: commit ${BEFORE.commit} is missing; run git fetch --unshallow` }
    : {};

const read = (file: string): Promise<string> => readFile(file, 'utf8');
const objectsIn = (yaml: string): Live[] =>
  parseAllDocuments(yaml).map((document) => document.toJS() as Live);

/** A command that has run in a site. */
const MIGRATE: Manifest = {
  apiVersion: API_VERSION,
  kind: 'SiteJob',
  metadata: { name: 'j' },
  spec: { siteRef: { name: 's' }, command: ['migrate'] },
};

/** The benches and sites. */
const RESOURCES = [
  ['AppBench', 'b'],
  ['AppSite', 's'],
  ['AppSite', 't'],
  ['AppBench', 'c'],
  ['AppSite', 'u'],
] as const;

let cluster: Cluster;
let script: DocumentScript;
const operators: Operator[] = [];
before(async () => {
  cluster = new Cluster(
    await startControlPlane({ kwokNodes: 1, persistentVolumes: 20, audit: true }),
  );
  await holdPods(cluster.controlPlane, DOCUMENT_PODS);
  script = new DocumentScript(cluster.controlPlane.api, ({ name }) =>
    name.startsWith('refused') ? ['Failed', 'no'] : ['Created', '', ['time_zone']],
  );
});
after(async () => {
  await script.stop();
  for (const operator of operators) if (operator.running) operator.kill('SIGKILL');
  await cluster.stop();
});

const kubectl = (args: string): Promise<string> => cluster.controlPlane.kubectl(args.split(' '));

test('the manifest names every object of the previous manifest', needsHistory, async () => {
  const id = ({ kind, metadata }: Live): string =>
    `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
  const now = new Set(objectsIn(await read(NEW)).map(id));
  assert.deepEqual(
    objectsIn(oldManifest ?? '')
      .map(id)
      .filter((name) => !now.has(name)),
    [],
    'docs/install.md has to list what users must delete',
  );
});

test(`an upgrade from ${BEFORE.release}`, needsHistory, async (t) => {
  const { dataDir } = cluster.controlPlane;
  const main = await operatorOf(BEFORE.commit, path.join(dataDir, 'old'));
  const manifest = path.join(dataDir, 'old-install.yaml');
  await writeFile(manifest, oldManifest ?? '');
  let namespace: string;
  let old: ReadonlyMap<string, Live>;
  /** When the operator of the previous release had stopped. */
  let since: Date;

  const state = async (): Promise<ReadonlyMap<string, Live>> => {
    const kinds = ['AppBench', 'AppSite', 'SiteUser', 'SiteJob'];
    const objects = await cluster.until('everything to be listed', async () => [
      ...(await cluster.children(namespace)),
      ...(await Promise.all(kinds.map((kind) => cluster.list(kind, namespace)))).flat(),
    ]);
    return new Map(objects.map((object) => [nameOf(object), object]));
  };

  await t.test(
    'starts with two benches and sites that the operator of that release made',
    async () => {
      await kubectl(`apply --server-side --filename=${manifest}`);
      await kubectl('wait crd --all --for=condition=Established --timeout=120s');
      const operator = new Operator({ ...(await installed(cluster, oldManifest ?? '')), main });
      operators.push(operator);
      const started = await operator.logged('starting');
      assert.equal(started['version'], BEFORE.release);
      namespace = await cluster.namespace();
      await cluster.apply(
        namespace,
        aBench('b'),
        aSite('s', { bench: 'b', ingress: { enabled: true } }),
        aSite('t', { bench: 'b', workloads: 'Shared' }),
        aBench('c'),
        aSite('u', { bench: 'c' }),
      );
      for (const [kind, name] of RESOURCES) await cluster.ready(kind, namespace, name);
      await cluster.apply(namespace, MIGRATE);
      await cluster.becomes('SiteJob', namespace, 'j', {
        what: 'has run',
        check: (live) => {
          return at(live, 'status.phase') === 'Succeeded';
        },
      });
      const siteRef = { name: 's' };
      await awayFromResync(at(await cluster.the('AppSite', namespace, 's'), 'metadata.uid'));
      await cluster.apply(
        namespace,
        aSecret('password', { password: 'correct horse' }),
        aUser('ann', { siteRef, passwordSecretRef: { name: 'password' } }),
        aUser('refused', { siteRef }),
      );
      await cluster.ready('SiteUser', namespace, 'ann');
      const failed = (user: Live): boolean => at(user, 'status.phase') === 'Failed';
      await cluster.becomes('SiteUser', namespace, 'refused', {
        what: 'is refused',
        check: failed,
      });
      assert.equal((await operator.stop()).code, 0);
      since = new Date();
      old = await state();
      assert.ok(old.size > 50, `${old.size} objects`);
    },
  );

  await t.test('keeps every phase and changes nothing while the CRDs are old', async () => {
    const others = parseAllDocuments(await read(NEW)).filter(
      (document) => document.get('kind') !== 'CustomResourceDefinition',
    );
    const withoutCrds = others.map(String).join('---\n');
    const file = path.join(dataDir, 'without-crds.yaml');
    await writeFile(file, withoutCrds);
    await kubectl(`apply --server-side --force-conflicts --filename=${file}`);
    const operator = await startInstalled(cluster, withoutCrds);
    operators.push(operator);
    for (const [kind, name] of RESOURCES) {
      const live = await cluster.becomes(kind, namespace, name, {
        what: 'has the condition CrdOutdated',
        check: (one) => conditionOf(one, 'CrdOutdated')?.status === 'True',
      });
      assert.equal(at(live, 'status.phase'), 'Ready', name);
      assert.equal(conditionOf(live, 'Ready')?.status, 'True', name);
      assert.equal(conditionOf(live, 'Stalled'), undefined, name);
    }
    assert.equal((await operator.stop()).code, 0);
    const now = await state();
    for (const [name, object] of old) {
      if (/^(App|Site)/.test(name)) continue;
      const { resourceVersion } = now.get(name)?.metadata ?? {};
      assert.equal(resourceVersion, object.metadata.resourceVersion, `${name} was changed`);
    }
  });

  await t.test('is one apply of the new manifest over the old manifest', async () => {
    await kubectl(`apply --server-side --force-conflicts --filename=${NEW}`);
    await kubectl('wait crd --all --for=condition=Established --timeout=120s');
    const rollout = `rollout status deployment/${OPERATOR.deployment} -n ${OPERATOR.namespace}`;
    await kubectl(`${rollout} --timeout=120s`);
    for (const crd of objectsIn(await read(NEW)).filter(
      ({ kind }) => kind === 'CustomResourceDefinition',
    )) {
      const versions = `get crd ${crd.metadata.name} --output=jsonpath={.status.storedVersions}`;
      assert.equal(await kubectl(versions), '["v1alpha1"]');
    }
  });

  await t.test('accepts changes of every stored resource', async () => {
    for (const [kind, name] of RESOURCES) {
      await cluster.until(`${kind} ${name} to be changed`, () =>
        cluster.patch(kind, namespace, name, { metadata: { labels: { upgraded: 'yes' } } }),
      );
    }
  });

  await t.test('deletes no object, runs no Job again, and keeps every site Ready', async () => {
    const operator = await startInstalled(cluster, await read(NEW));
    operators.push(operator);
    // The new operator has reconciled a bench or a site when such a change is done.
    const nginx = { componentReplicas: { nginx: 2 } };
    const gunicorn = { componentReplicas: { gunicorn: 2 } };
    for (const name of ['b', 'c'])
      await cluster.patch('AppBench', namespace, name, { spec: nginx });
    for (const name of ['s', 'u'])
      await cluster.patch('AppSite', namespace, name, { spec: gunicorn });
    for (const [kind, name] of RESOURCES) await cluster.ready(kind, namespace, name);
    for (const name of ['ann', 'refused']) {
      await cluster.becomes('SiteUser', namespace, name, {
        what: 'has a hash with a part for the last migration',
        check: (user) => String(at(user, 'status.documentHash')).includes('.'),
      });
    }
    const now = await state();
    for (const [name, object] of old) {
      assert.equal(now.get(name)?.metadata.uid, object.metadata.uid, `${name} was replaced`);
    }
    assert.ok(old.has('Job/j-run'));
    const jobs = [...now.keys()].filter((name) => name.startsWith('Job/') && !old.has(name));
    assert.deepEqual(jobs, []);
    const writes = await cluster.writes({ user: USER, namespace, since });
    assert.ok(writes.length > 0);
    // Also none that was deleted again meanwhile.
    assert.deepEqual(
      writes.filter((write) => / jobs\b|^delete\w* pods\b/.test(write)),
      [],
    );
    assert.deepEqual(await forbiddenCalls(cluster), []);
    const names = script.written.map(({ name }) => name.replace(/@.*/, ''));
    assert.deepEqual(names.sort(), ['ann', 'refused'], 'no document is written again');
    for (const name of ['ann', 'refused']) {
      const user = `SiteUser/${name}`;
      assert.deepEqual(resultIn(now.get(user)), resultIn(old.get(user)), name);
    }
  });

  await t.test('takes the label that Argo CD tracks from all that has no owner', async () => {
    const tracked = (objects: ReadonlyMap<string, Live>): readonly string[] =>
      [...objects]
        .filter(([, { metadata }]) => (metadata.ownerReferences ?? []).length === 0)
        .filter(([, { metadata }]) => metadata.labels?.['app.kubernetes.io/instance'] !== undefined)
        .map(([name]) => name)
        .sort();
    const data = ['PersistentVolumeClaim/b-db-data', 'Secret/b-db-root', 'StatefulSet/b-db'];
    assert.deepEqual(
      tracked(old).filter((name) => data.includes(name)),
      data,
    );
    assert.deepEqual(tracked(await state()), []);
  });

  await t.test('restarts the pods of each workload once, under their labels', async () => {
    const now = await state();
    const changed = [...old].filter(([name, object]) => {
      const template = 'spec.template';
      return JSON.stringify(at(object, template)) !== JSON.stringify(at(now.get(name), template));
    });
    // All pods request CPU and memory since this release; CHANGELOG.md has it.
    const workloads = [...old.keys()].filter((name) => /^(Deployment|StatefulSet)\//.test(name));
    assert.deepEqual(changed.map(([name]) => name).sort(), workloads.sort());
    const revisions = new Map(
      await Promise.all(
        changed.map(async ([name, object]) => [name, await revisionsOf(object)] as const),
      ),
    );
    assert.deepEqual(revisions, new Map(changed.map(([name]) => [name, 2])));
    // By these labels the policies of this release let the old pods reach each other.
    const labels = 'spec.template.metadata.labels';
    for (const [name, object] of changed) {
      assert.deepEqual(at(now.get(name), labels), at(object, labels), name);
    }
  });
});

/** How many pod templates a workload has had. */
async function revisionsOf({ metadata }: Live): Promise<number> {
  const { namespace, uid } = metadata;
  const { api } = cluster.controlPlane;
  const owned = await Promise.all(
    ['replicasets', 'controllerrevisions'].map(async (plural) => {
      const path = `/apis/apps/v1/namespaces/${namespace}/${plural}`;
      const { items } = (await api.request('GET', path)) as { readonly items: readonly Live[] };
      return items.filter(({ metadata: { ownerReferences = [] } }) =>
        ownerReferences.some((owner) => owner.uid === uid),
      );
    }),
  );
  return owned.flat().length;
}

/**
 * What the status of a document says of its last comparison. This release words the messages of
 * conditions in another way, and adds the image and the last migration to the hash.
 */
function resultIn(live: Live | undefined): unknown {
  const status = at(live, 'status') as Record<string, unknown>;
  const conditions = (status['conditions'] ?? []) as readonly Record<string, unknown>[];
  return {
    ...status,
    documentHash: '',
    conditions: conditions.map((one) => ({ ...one, message: '' })),
  };
}

/**
 * Waits until the next resync of the previous release is a minute away. All documents of a site share the moment
 * of the resync, and it may come right after the first write.
 */
async function awayFromResync(uid: unknown): Promise<void> {
  const every = 600_000;
  const offset = parseInt(hashOf(uid).slice(0, 8), 16) % every;
  const left = every - ((Date.now() - offset) % every);
  if (left < 60_000) await sleep(left + 1_000);
}
