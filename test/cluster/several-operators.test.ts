/** Two installations in one cluster, apart by namespaces or by labels: docs/several-operators.md. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { installManifest, type ManifestProps } from '../../cli/commands/install/manifest.js';
import { OPERATOR, outsideName } from '../../constructs/kit/operator-identity.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { LeaseKind } from '../../runner/leader/lease-object.js';
import { VERSION } from '../../runner/kit/version.js';
import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
import { Cluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { startInstalled } from './support/installed.js';
import { at, type Live, nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

const SECOND = 'second-system';
const BUCKET = 'app-operator.io/bucket';
const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];

let cluster: Cluster;
const operators: Operator[] = [];
before(async () => {
  cluster = new Cluster(
    await startControlPlane({ kwokNodes: 1, persistentVolumes: 20, audit: true }),
  );
});
afterEach(async () => {
  for (const operator of operators.splice(0)) {
    operator.kill('SIGTERM');
    await operator.exited;
  }
});
after(() => cluster.stop());

const kubectl = (args: string, input?: string): Promise<string> =>
  cluster.controlPlane.kubectl(args.split(' '), input);

/** Installs an operator as the page says, and starts it with the rights that its manifest gives. */
async function start(props: Omit<ManifestProps, 'version'>): Promise<Operator> {
  const manifest = installManifest({ version: VERSION, ...props });
  await kubectl('apply --server-side --filename=-', manifest);
  await kubectl('wait crd --all --for=condition=Established --timeout=30s');
  const operator = await startInstalled(cluster, manifest);
  operators.push(operator);
  return operator;
}

/** The objects that an operator has written; a creation without a name is none of them. */
async function writtenBy({ user }: Operator, since?: Date): Promise<ReadonlySet<string>> {
  const calls = await cluster.calls({ user, ...(since ? { since } : {}) });
  return new Set(
    calls
      .filter(({ verb, objectRef }) => WRITES.includes(verb) && objectRef?.name !== undefined)
      .map(
        ({ objectRef: { resource, namespace, name } = {} }) => `${resource} ${namespace}/${name}`,
      ),
  );
}

/** No object was written by both; each has written some. */
async function assertApart(one: Operator, other: Operator, since?: Date): Promise<void> {
  const [ofOne, ofOther] = [await writtenBy(one, since), await writtenBy(other, since)];
  assert.ok(ofOne.size > 20 && ofOther.size > 20, `${ofOne.size} and ${ofOther.size} objects`);
  assert.deepEqual(
    [...ofOne].filter((object) => ofOther.has(object)),
    [],
  );
  for (const { user } of [one, other]) {
    const forbidden = (await cluster.calls({ user, ...(since ? { since } : {}) }))
      .filter(({ responseStatus }) => responseStatus?.code === 403)
      .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
    assert.deepEqual(forbidden, [], user);
  }
}

async function uidsIn(namespace: string): Promise<Readonly<Record<string, string | undefined>>> {
  const children = await cluster.children(namespace);
  return Object.fromEntries(children.map((child) => [nameOf(child), child.metadata.uid]));
}

test('two operators with namespaces of their own write no object together', async () => {
  const [one, two] = [await cluster.namespace(), await cluster.namespace()];
  const first = await start({ watchNamespaces: [one] });
  const second = await start({ namespace: SECOND, watchNamespaces: [two], crds: false });
  await cluster.apply(one, aBench('b'), aSite('s1', { bench: 'b', workloads: 'Shared' }));
  await cluster.apply(two, aBench('b'), aSite('s2', { bench: 'b', workloads: 'Shared' }));
  await cluster.ready('AppSite', one, 's1');
  await cluster.ready('AppSite', two, 's2');
  await cluster.delete('Deployment', two, 'b-nginx');
  await cluster.until('the second repairs its bench', () =>
    cluster.get('Deployment', two, 'b-nginx'),
  );
  await cluster.delete('AppSite', one, 's1');
  await cluster.deleted('AppSite', one, 's1');
  await assertApart(first, second);

  const holders = await Promise.all(
    [OPERATOR.namespace, SECOND].map(async (namespace) => {
      const path = resourcePath(LeaseKind, namespace, OPERATOR.lease);
      return at(await cluster.controlPlane.api.request('GET', path), 'spec.holderIdentity');
    }),
  );
  assert.ok(holders[0] && holders[1] && holders[0] !== holders[1], holders.join());
  const bundles = await Promise.all(
    [OPERATOR.namespace, SECOND].flatMap((namespace) =>
      ['validating', 'mutating'].map(async (kind) => {
        const name = outsideName(OPERATOR.webhookConfiguration, namespace);
        return kubectl(
          `get ${kind}webhookconfiguration ${name} --output=jsonpath={.webhooks[0].clientConfig.caBundle}`,
        );
      }),
    ),
  );
  assert.equal(bundles[0], bundles[1]);
  assert.equal(bundles[2], bundles[3]);
  assert.ok(bundles[0] && bundles[2] && bundles[0] !== bundles[2], 'each has its own authority');
});

describe('two operators with labels of their own, in all namespaces,', () => {
  const labelled = (team: string) => ({ labels: { team } });
  const teams = async (): Promise<readonly [Operator, Operator]> => [
    await start({ watchLabelSelector: 'team=blue' }),
    await start({ namespace: SECOND, watchLabelSelector: 'team=red', crds: false }),
  ];

  test('write no object together, in one namespace', async () => {
    const namespace = await cluster.namespace();
    const since = new Date();
    const [blue, red] = await teams();
    for (const team of ['blue', 'red']) {
      await cluster.apply(
        namespace,
        aBench(team, {}, labelled(team)),
        aSite(`${team}-s`, { bench: team, workloads: 'Shared' }, labelled(team)),
      );
    }
    await cluster.ready('AppSite', namespace, 'blue-s');
    await cluster.ready('AppSite', namespace, 'red-s');
    for (const team of ['blue', 'red']) {
      await cluster.delete('Service', namespace, `${team}-nginx`);
      await cluster.until(`${team} repairs its bench`, () =>
        cluster.get('Service', namespace, `${team}-nginx`),
      );
    }
    await cluster.delete('AppSite', namespace, 'blue-s');
    await cluster.deleted('AppSite', namespace, 'blue-s');
    await cluster.delete('AppBench', namespace, 'blue');
    await cluster.deleted('AppBench', namespace, 'blue');
    const left = (await cluster.children(namespace)).map(nameOf);
    assert.ok(left.includes('Deployment/red-nginx'), left.join());
    await cluster.ready('AppSite', namespace, 'red-s');
    await assertApart(blue, red, since);
  });

  test('hand a bench over with its label; no object is replaced', async () => {
    const namespace = await cluster.namespace();
    const [, red] = await teams();
    await cluster.apply(
      namespace,
      aBench('b', {}, labelled('blue')),
      aSite('moved-s', { bench: 'b', workloads: 'Shared' }, labelled('blue')),
    );
    await cluster.ready('AppSite', namespace, 'moved-s');
    const before = await uidsIn(namespace);
    const since = new Date();
    const kinds = DEFINITIONS.map(({ plural }) => plural).join(',');
    await kubectl(`-n ${namespace} label --selector team=blue --overwrite ${kinds} team=red`);
    await cluster.delete('Service', namespace, 'b-nginx');
    const { metadata } = await cluster.until('the other operator repairs it', () =>
      cluster.get('Service', namespace, 'b-nginx'),
    );
    await cluster.ready('AppSite', namespace, 'moved-s');
    const expected = { ...before, 'Service/b-nginx': metadata.uid };
    assert.deepEqual(await uidsIn(namespace), expected);
    const made = await writtenBy(red, since);
    assert.ok(made.has(`services ${namespace}/b-nginx`), [...made].join());
  });
});

/** An operator with shards, which no release had, wrote a label on children. */
test('the label of buckets goes, without another object or pod', async () => {
  const namespace = await cluster.namespace();
  await start({ watchNamespaces: [namespace] });
  await cluster.apply(namespace, aBench('b'), aSite('s3', { bench: 'b', workloads: 'Shared' }));
  await cluster.ready('AppSite', namespace, 's3');
  for (const operator of operators.splice(0)) {
    operator.kill('SIGTERM');
    await operator.exited;
  }
  for (const child of await cluster.children(namespace)) await addBucket(child);
  const before = await uidsIn(namespace);
  const templates = await templatesIn(namespace);
  await start({ watchNamespaces: [namespace] });
  await cluster.until('the workloads have no bucket', async () => {
    const left = (await cluster.children(namespace))
      .filter(({ metadata }) => metadata.labels?.[BUCKET] !== undefined)
      .map(nameOf);
    // What is applied once keeps it: nothing selects by it.
    return left.every((name) => /^(Job|Secret)\//.test(name)) ? left : undefined;
  });
  await cluster.ready('AppSite', namespace, 's3');
  await sleep(1_000);
  assert.deepEqual(await uidsIn(namespace), before);
  assert.deepEqual(await templatesIn(namespace), templates);
});

/** Gives a child the label as a field that the operator has applied. */
async function addBucket({ kind, metadata: { namespace = '', name } }: Live): Promise<void> {
  const labels = { [BUCKET]: '7' };
  const { metadata } = await cluster.patch(kind, namespace, name, { metadata: { labels } });
  const managedFields = (metadata.managedFields as readonly ManagedFields[])
    .filter(({ fieldsV1 }) => !(`f:${BUCKET}` in (fieldsV1['f:metadata']?.['f:labels'] ?? {})))
    .map((entry) => (entry.operation === 'Apply' ? withBucket(entry) : entry));
  await cluster.patch(kind, namespace, name, { metadata: { managedFields } });
}

interface ManagedFields {
  readonly operation: string;
  readonly fieldsV1: { readonly 'f:metadata'?: { readonly 'f:labels'?: object } };
}

function withBucket(entry: ManagedFields): ManagedFields {
  const metadata = entry.fieldsV1['f:metadata'];
  const labels = { ...metadata?.['f:labels'], [`f:${BUCKET}`]: {} };
  return {
    ...entry,
    fieldsV1: { ...entry.fieldsV1, 'f:metadata': { ...metadata, 'f:labels': labels } },
  };
}

/** The templates of all pods. */
async function templatesIn(namespace: string): Promise<Readonly<Record<string, unknown>>> {
  const children = await cluster.children(namespace);
  return Object.fromEntries(
    children
      .filter(({ spec }) => spec?.['template'] !== undefined)
      .map((child) => [nameOf(child), child.spec?.['template']]),
  );
}
