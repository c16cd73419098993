import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { loadCredentials } from '../../runner/api/credentials.js';
import { closeTransport, openTransport } from '../../runner/api/transport.js';
import { OperatorMetrics } from '../../testbed/operator-metrics.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite, aUser, scaled } from './support/builders.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';
import type { Operator } from './support/operator.js';

/** As deep as an object of 28 KB gets; the API server stores 10,000 levels. */
const DEEP = 4_600;
/** The environment names the program of another release, to see that these tests find its faults. */
const MAIN = process.env['TEST_OPERATOR_MAIN'];
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SHARED = { workloads: 'Shared' };
const TLS = { enabled: true, tls: { enabled: true, certManagerIssuer: 'letsencrypt' } };

function nested(levels: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

/** Stands for what only text can be as deep as. */
const DEEP_VALUE = 'deep';

function withDeep(manifest: Manifest): string {
  const deep = '{"a":'.repeat(DEEP) + '{}' + '}'.repeat(DEEP);
  return JSON.stringify(manifest).replace(JSON.stringify(DEEP_VALUE), deep);
}

/** A CRD that takes anything, as one whose schema was lost does. */
function looseCrd(group: string, version: string, kind: string, plural: string): Manifest {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema: ANYTHING }],
    },
  };
}

const ANYTHING = {
  openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
};

describe('an object that cannot be processed', () => {
  let cluster: Cluster;
  let operator: Operator;
  let metrics: OperatorMetrics;
  let attacker: string;
  let tenant: string;
  let started = 0;

  before(async () => {
    cluster = await startCluster();
    attacker = await cluster.namespace();
    tenant = await cluster.namespace();
    for (const crd of [
      looseCrd('cert-manager.io', 'v1', 'Certificate', 'certificates'),
      looseCrd('keda.sh', 'v1alpha1', 'ScaledObject', 'scaledobjects'),
      looseCrd('keda.sh', 'v1alpha1', 'TriggerAuthentication', 'triggerauthentications'),
    ])
      await installCrd(cluster, crd);
    await start();
    await cluster.apply(attacker, aBench('b'));
    await cluster.apply(
      tenant,
      aBench('b', { workerAutoscaling: { short: scaled(0, 3, 2) } }),
      aSite('old', { bench: 'b', ...SHARED, ingress: TLS }),
    );
    await cluster.ready('AppSite', tenant, 'old');
    await cluster.ready('AppBench', attacker, 'b');
  });
  after(() => cluster.stop());

  const start = async (): Promise<void> => {
    const metricsPort = await cluster.freePort();
    const user = `operator-${++started}`;
    const main = MAIN === undefined ? {} : { main: MAIN };
    operator = await cluster.operator([], { user, metricsPort, ...main });
    metrics = new OperatorMetrics(metricsPort);
  };
  /** A new site of the other tenant is served, and no watch was restarted for it. */
  const serves = async (name: string): Promise<void> => {
    await cluster.apply(tenant, aSite(name, { bench: 'b', ...SHARED }));
    await cluster.ready('AppSite', tenant, name, 60_000);
    // The API server itself ends the watches of a CRD that changes: such errors name the call.
    const restarted = operator.lines.filter(
      ({ msg, error }) => msg === 'watch restarted' && !/^(WATCH|GET) /.test(String(error)),
    );
    assert.deepEqual(restarted, []);
  };
  const stalled = (kind: string, name: string, [reason, path]: readonly [string, string]) =>
    cluster.becomes(kind, attacker, name, {
      what: `is Stalled by ${path}`,
      check: (live: Live) => {
        const condition = conditionOf(live, 'Stalled');
        return condition?.reason === reason && condition.message.includes(path);
      },
    });
  /** Creates an object from text: JSON.stringify cannot go so deep. */
  const post = async (plural: string, body: string): Promise<void> => {
    const file = await cluster.controlPlane.userKubeconfig('attacker', ['system:masters']);
    const { endpoint, headers } = await (await loadCredentials(file, {})).access();
    const transport = openTransport(endpoint, 1);
    const answer = await transport.requests.request({
      origin: transport.origin,
      path: `/apis/app-operator.io/v1alpha1/namespaces/${attacker}/${plural}`,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
    assert.equal(answer.statusCode, 201, await answer.body.text());
    await closeTransport(transport);
  };
  const annotate = (kind: string, name: string, value: string) =>
    cluster.patch(kind, attacker, name, { metadata: { annotations: { touched: value } } });

  test(`that nests ${DEEP} levels is Stalled, and all others are served`, async () => {
    const podTemplate = { affinity: DEEP_VALUE };
    const where = 'spec.podTemplate.affinity';
    await post('appsites', withDeep(aSite('sunk', { bench: 'b', ...SHARED, podTemplate })));
    await post('appbenchs', withDeep(aBench('sunk', { podTemplate })));
    await stalled('AppSite', 'sunk', ['InvalidSpec', where]);
    await stalled('AppBench', 'sunk', ['InvalidSpec', where]);
    await annotate('AppSite', 'sunk', 'once');
    await annotate('AppBench', 'sunk', 'once');
    await serves('after-deep');
    await annotate('AppSite', 'sunk', 'twice');
    await cluster.apply(attacker, aSite('beside-deep', { bench: 'b', ...SHARED }));
    await cluster.ready('AppSite', attacker, 'beside-deep');
    for (const kind of ['AppSite', 'AppBench']) {
      const isOfKind = (labels: Readonly<Record<string, string>>) => labels['kind'] === kind;
      assert.ok((await metrics.sum('unusable_objects_total', isOfKind)) > 0, kind);
    }
    for (const kind of ['AppSite', 'AppBench']) {
      await cluster.delete(kind, attacker, 'sunk');
      await cluster.deleted(kind, attacker, 'sunk');
    }
  });

  test('that a CRD without its schema let in is Stalled, also after a restart', async () => {
    const plurals = ['appsites', 'siteusers', 'siteworkspaces'];
    await cluster.apply(attacker, aUser('valid'));
    await cluster.becomes('SiteUser', attacker, 'valid', {
      what: 'has a finalizer',
      check: ({ metadata }: Live) => (metadata.finalizers ?? []).length > 0,
    });
    const restore = await Promise.all(plurals.map((plural) => withoutSchema(cluster, plural)));
    try {
      const { apiVersion } = aSite('x', { bench: 'b' });
      const poison = (kind: string, name: string, rest: object): Manifest => ({
        ...{ apiVersion, kind, metadata: { name } },
        ...rest,
      });
      // The API server takes some time to forget the schema.
      const stored = (manifest: Manifest): Promise<Live> =>
        cluster.until(`${manifest.kind} ${manifest.metadata.name} is stored`, () =>
          cluster.create(attacker, manifest),
        );
      await stored(poison('AppSite', 'no-bench', { spec: { siteName: 'a.b' } }));
      await stored(poison('SiteUser', 'text', { spec: 'text' }));
      await stored(poison('AppSite', 'nothing', {}));
      await stored(poison('SiteUser', 'no-site', { spec: {} }));
      await stored(poison('SiteWorkspace', 'no-site', { spec: { siteRef: 5 } }));
      await cluster.patch('SiteUser', attacker, 'valid', { spec: 'text' });
      await cluster.patchStatus('AppSite', tenant, 'old', { status: { conditions: 'none' } });
      await stalled('AppSite', 'no-bench', ['InvalidSpec', 'spec.benchRef']);
      await stalled('AppSite', 'nothing', ['InvalidSpec', 'spec: Required value']);
      await stalled('SiteUser', 'text', ['InvalidSpec', 'spec: Invalid value']);
      await stalled('SiteUser', 'valid', ['InvalidSpec', 'spec: Invalid value']);
      await stalled('SiteUser', 'no-site', ['InvalidSpec', 'spec.siteRef']);
      await stalled('SiteWorkspace', 'no-site', ['InvalidSpec', 'spec.siteRef']);
      await serves('after-lost');
      await cluster.ready('AppSite', tenant, 'old');
      await operator.stop();
      await start();
      await serves('after-restart');
      for (const [kind, name] of [
        ['AppSite', 'no-bench'],
        ['AppSite', 'nothing'],
        ['SiteUser', 'text'],
        ['SiteUser', 'valid'],
        ['SiteUser', 'no-site'],
        ['SiteWorkspace', 'no-site'],
      ] as const) {
        await cluster.delete(kind, attacker, name);
        await cluster.deleted(kind, attacker, name, 60_000);
      }
      await cluster.until('an event says that its data stays', async () => {
        const events = (await cluster.list('Event', attacker)) as readonly CoreEvent[];
        return events.some(
          ({ reason, regarding }) => reason === 'CleanupSkipped' && regarding?.name === 'valid',
        );
      });
    } finally {
      await Promise.all(restore.map((undo) => undo()));
    }
  });

  test('that its bench cannot read is left out: the bench and its other sites are served', async () => {
    await cluster.apply(tenant, aSite('wrong', { bench: 'b', ...SHARED }));
    await cluster.ready('AppSite', tenant, 'wrong');
    const restore = await withoutSchema(cluster, 'appsites');
    try {
      await cluster.until('a site with a wrong type is stored', () =>
        cluster.patch('AppSite', tenant, 'wrong', { spec: { aliases: 5 } }),
      );
    } finally {
      await restore();
    }
    await cluster.until('an event names the field', async () => {
      const events = (await cluster.list('Event', tenant)) as readonly CoreEvent[];
      return events.some(
        ({ reason, regarding, note }) =>
          reason === 'InvalidSpec' && regarding?.name === 'wrong' && note?.includes('spec.aliases'),
      );
    });
    await serves('after-wrong');
    await cluster.patch('AppBench', tenant, 'b', { spec: { componentReplicas: { nginx: 2 } } });
    await cluster.ready('AppBench', tenant, 'b');
    const { spec } = await cluster.the('Deployment', tenant, 'b-nginx');
    assert.equal((spec as { readonly replicas?: number }).replicas, 2);
    await cluster.delete('AppSite', tenant, 'wrong');
    await cluster.deleted('AppSite', tenant, 'wrong', 60_000);
  });

  test('under an old CRD names the CRD, and is served when that of this release is applied', async () => {
    const restores = await Promise.all([
      withoutStatusField(cluster, 'siteusers', 'documentHash'),
      withoutStatusField(cluster, 'appsites', 'upgrade'),
    ]);
    try {
      const site = await cluster.becomes('AppSite', tenant, 'old', {
        what: 'has the condition CrdOutdated',
        check: (live) => conditionOf(live, 'CrdOutdated')?.message.includes('upgrade') === true,
      });
      assert.equal(at(site, 'status.phase'), 'Ready');
      assert.equal(conditionOf(site, 'Ready')?.status, 'True');
      assert.equal(conditionOf(site, 'Stalled'), undefined);
      await cluster.apply(attacker, aUser('early'));
      await stalled('SiteUser', 'early', ['CrdOutdated', 'apply the CRDs of this release']);
    } finally {
      for (const restore of restores) await restore();
    }
    await cluster.becomes('SiteUser', attacker, 'early', {
      what: 'waits for its site',
      check: (live) => conditionOf(live, 'Ready')?.reason === 'SiteMissing',
    });
    await cluster.becomes('AppSite', tenant, 'old', {
      what: 'has lost the condition',
      check: (live) => conditionOf(live, 'CrdOutdated') === undefined,
    });
  });

  test('of another operator, with a status that is none, keeps no watch from its work', async () => {
    const scaler = { enabled: true };
    const poisons: readonly unknown[] = ['none', null, { a: 'b' }, [null, 'text', { type: 5 }]];
    for (const [kind, name] of [
      ['Certificate', 'old-tls'],
      ['ScaledObject', 'b-worker-short'],
    ] as const) {
      for (const conditions of poisons) {
        await cluster.patch(kind, tenant, name, { status: { conditions } });
      }
      await cluster.patch(kind, tenant, name, { status: ['list'], touched: scaler });
      await cluster.patch(kind, tenant, name, { status: nested(200), touched: scaler });
    }
    await cluster.apply(tenant, aSite('secure', { bench: 'b', ...SHARED, ingress: TLS }));
    await cluster.ready('AppSite', tenant, 'secure');
    const certificate = await cluster.the('Certificate', tenant, 'secure-tls');
    await cluster.patch('Certificate', tenant, certificate.metadata.name, {
      status: { conditions: [{ type: 'Ready', status: 'False', message: 'order is invalid' }] },
    });
    await cluster.becomes('AppSite', tenant, 'secure', {
      what: 'shows why it has no certificate',
      check: (live) => conditionOf(live, 'CertificateReady')?.message === 'order is invalid',
    });
    await serves('after-foreign');
  });
});

interface CoreEvent extends Live {
  readonly reason?: string;
  readonly note?: string;
  readonly regarding?: { readonly name: string };
}

interface Version {
  readonly schema: {
    readonly openAPIV3Schema: {
      readonly properties: Readonly<
        Record<string, { readonly properties?: Readonly<Record<string, object>> }>
      >;
    };
  };
}

const withoutStatusField = (cluster: Cluster, plural: string, field: string) =>
  withCrd(cluster, plural, ({ schema: { openAPIV3Schema: schema } }) => {
    const { status, ...others } = schema.properties;
    const { [field]: _field, ...fields } = status?.properties ?? {};
    const properties = { ...others, status: { ...status, properties: fields } };
    return { openAPIV3Schema: { ...schema, properties } };
  });

const withoutSchema = (cluster: Cluster, plural: string) =>
  withCrd(cluster, plural, () => ANYTHING);

/** Changes the schema of a CRD. @returns what gives it back */
async function withCrd(
  cluster: Cluster,
  plural: string,
  changed: (version: Version) => object,
): Promise<() => Promise<void>> {
  const { api } = cluster.controlPlane;
  const path = `${CRDS}/${plural}.app-operator.io`;
  type Crd = Manifest & { readonly spec: { readonly versions: readonly Version[] } };
  const before = (await api.request('GET', path)) as Crd;
  const put = async (versions: readonly object[]): Promise<void> => {
    const now = (await api.request('GET', path)) as Crd;
    await api.request('PUT', path, { ...now, spec: { ...now.spec, versions } });
  };
  await put(before.spec.versions.map((version) => ({ ...version, schema: changed(version) })));
  return () => put(before.spec.versions);
}
