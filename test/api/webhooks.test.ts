import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { after, before, describe, test } from 'node:test';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import {
  aBench,
  aSecret,
  aSite,
  aUser,
  API_VERSION,
  scaled,
  WORKERS,
} from '../cluster/support/builders.js';
import { LONG_LEASE } from '../cluster/support/installed.js';
import { kubectlMessage } from '../cluster/support/kubectl-message.js';
import type { Condition, Live, Manifest } from '../cluster/support/objects.js';
import type { Operator } from '../cluster/support/operator.js';
import {
  Balancer,
  bundleOf,
  CONFIGURATION_PATHS,
  configurations,
  register,
  registered,
} from '../cluster/support/webhooks.js';

const NAMESPACE = 'shop';
const OTHER = 'other';

let cluster: Cluster;
let balancer: Balancer;
let ports: readonly number[];
let metricsPorts: readonly number[];
let replicas: Operator[] = [];

/** Starts both replicas; one leads, both serve. */
async function startReplicas(): Promise<void> {
  replicas = await Promise.all(
    ports.map((port, i) =>
      cluster.operator(
        ['--leader-elect', ...LONG_LEASE, '--webhooks', `--webhook-bind-address=127.0.0.1:${port}`],
        { user: `replica-${i}`, metricsPort: metricsPorts[i] ?? 0 },
      ),
    ),
  );
  await Promise.all(replicas.map((replica) => replica.logged('the certificate is served')));
}

before(async () => {
  cluster = await startCluster({ kwokNodes: 0, controllerManager: false, scheduler: false });
  for (const name of [NAMESPACE, OTHER, OPERATOR.namespace]) {
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  ports = [await cluster.freePort(), await cluster.freePort()];
  metricsPorts = [await cluster.freePort(), await cluster.freePort()];
  balancer = await Balancer.start(ports);
  // From before there were webhooks: whatever is wrong with these is no news.
  await cluster.apply(NAMESPACE, aBench('old'), aSite('old', { bench: 'old' }));
  await startReplicas();
  await register(cluster, configurations(balancer.port));
  await trusted();
});
after(async () => {
  await balancer.close();
  await cluster.stop();
});

/** Waits until the API server trusts the replicas: it calls them, and they refuse. */
async function trusted(): Promise<void> {
  await cluster.until('the authority to be registered', () => bundleOf(cluster));
  await cluster.until('the webhooks to be asked', async () => {
    const before = await evaluatedByAll();
    await dryRun(aBench('probe'));
    // Both kinds of them: a bench is normalized, and validated.
    return (await evaluatedByAll()) >= before + 2;
  });
}

/** How many requests the replicas have evaluated. */
async function evaluatedByAll(labels = ''): Promise<number> {
  const counts = await Promise.all(metricsPorts.map((port) => evaluatedBy(port, labels)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** How many requests a replica has evaluated, by its own metrics; none if it does not run. */
async function evaluatedBy(port: number, labels = ''): Promise<number> {
  const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  return text
    .split('\n')
    .filter((line) => line.startsWith('app_operator_admission_requests_total{'))
    .filter((line) => line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

async function stop(some: readonly Operator[]): Promise<void> {
  await Promise.all(some.filter(({ running }) => running).map((replica) => replica.stop()));
}

const kubectl = (args: readonly string[], input?: unknown, namespace = NAMESPACE) =>
  kubectlMessage(cluster, namespace, args, input);

const create = (manifest: Manifest, namespace = NAMESPACE): Promise<string> =>
  kubectl(['create', '--filename=-'], manifest, namespace);

const dryRun = (manifest: Manifest): Promise<string> =>
  kubectl(['create', '--dry-run=server', '--filename=-'], manifest);

const patched = (kind: string, name: string, spec: object): Promise<string> =>
  kubectl(['patch', kind, name, '--type=merge', '-p', JSON.stringify({ spec })]);

/** What kubectl warns of, line by line, without storing anything. */
async function warnings(manifest: Manifest): Promise<readonly string[]> {
  const output = await kubectl(
    ['create', '--warnings-as-errors', '--dry-run=server', '--filename=-'],
    manifest,
  );
  return output
    .split('\n')
    .filter((line) => line.startsWith('Warning: '))
    .map((line) => line.slice('Warning: '.length));
}

const of = (kind: string, name: string, spec: object): Manifest => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  spec,
});

describe('names of another resource are refused', () => {
  before(async () => {
    await cluster.apply(
      NAMESPACE,
      aBench('b', { domainConfig: { suffix: 'example.org' } }),
      aSite('shop', { bench: 'b', siteName: 'shop.example.com', domain: 'www.example.com' }),
      aUser('ann'),
      of('SiteDashboard', 'main', aDashboard('Main', { isDefault: true })),
    );
  });

  const aDashboard = (name: string, spec: object = {}): object => ({
    siteRef: { name: 'shop' },
    dashboardName: name,
    charts: [{ chart: { document: 'Sales' } }],
    ...spec,
  });

  test('a siteName', async () => {
    assert.equal(
      await create(aSite('second', { bench: 'b', siteName: 'shop.example.com' })),
      'spec.siteName: Invalid value: "shop.example.com": AppSite shop on bench b has this host name already',
    );
  });

  test('a siteName in capitals, which are none', async () => {
    assert.equal(
      await create(aSite('second', { bench: 'b', siteName: 'Shop.Example.com' })),
      'Warning: spec.siteName: is stored as "shop.example.com"\nThe AppSite "second" is invalid: spec.siteName: Invalid value: "shop.example.com": AppSite shop on bench b has this host name already',
    );
  });

  test("another site's domain", async () => {
    assert.equal(
      await create(aSite('second', { bench: 'b', domain: 'www.example.com' })),
      'spec.domain: Invalid value: "www.example.com": AppSite shop on bench b has this host name already',
    );
  });

  test("a younger site's domain, by a change of an older one", async () => {
    await cluster.apply(NAMESPACE, aSite('younger', { bench: 'b', domain: 'young.example.com' }));
    assert.equal(
      await patched('AppSite', 'shop', { domain: 'young.example.com' }),
      'spec.domain: Invalid value: "young.example.com": AppSite younger on bench b has this host name already',
    );
  });

  test('the name of a bench, for a site', async () => {
    assert.equal(
      await create(aSite('b', { bench: 'b' })),
      'metadata.name: Invalid value: "b": the AppBench of this name in this namespace has children of the same names; choose another name',
    );
  });

  test('the name of a site, for a bench', async () => {
    assert.equal(
      await create(aBench('shop')),
      'metadata.name: Invalid value: "shop": the AppSite of this name in this namespace has children of the same names; choose another name',
    );
  });

  test('a user', async () => {
    assert.equal(
      await create(aUser('ann-2', { email: 'ann@example.com' })),
      'spec.email: Invalid value: "ann@example.com": SiteUser ann already manages this document of site shop',
    );
  });

  test('being the default dashboard', async () => {
    assert.equal(
      await create(of('SiteDashboard', 'other', aDashboard('Other', { isDefault: true }))),
      'spec.isDefault: Invalid value: true: SiteDashboard main is the default of site shop already',
    );
  });

  test('but not in another namespace', async () => {
    const site = aSite('shop', { bench: 'b', siteName: 'shop.example.com' });
    assert.match(await create(site, OTHER), /appsite.app-operator.io\/shop created$/m);
  });
});

describe('errors beyond the schema are refused', () => {
  test('apps that are no list', async () => {
    assert.match(
      await create(aBench('bad', { appsJSON: '{"erpnext": 1}' })),
      /^spec[.]appsJSON: Invalid value: /,
    );
  });

  test('arguments that are too long', async () => {
    const kwargs = { text: 'x'.repeat(70_000) };
    const job = of('SiteJob', 'bad', { siteRef: { name: 'shop' }, method: 'frappe.ping', kwargs });
    assert.equal(
      await create(job),
      'spec.kwargs: Too long: may be at most 65536 bytes as JSON, has 70011',
    );
  });
});

describe('kubectl shows warnings', () => {
  test('of missing references, which are legal: the order of creation is free', async () => {
    assert.deepEqual(await warnings(aSite('x', { bench: 'later' })), [
      'spec.benchRef.name: there is no AppBench "later" in namespace shop',
    ]);
    assert.deepEqual(await warnings(aUser('x', { siteRef: { name: 'later' } })), [
      'spec.siteRef.name: there is no AppSite "later" in namespace shop',
    ]);
    const adminPasswordSecretRef = { name: 'later' };
    assert.deepEqual(await warnings(aSite('x', { bench: 'b', adminPasswordSecretRef })), [
      'spec.adminPasswordSecretRef.name: there is no Secret "later" in namespace shop; create it',
    ]);
  });

  test('not of what was created a moment ago', async () => {
    for (let i = 0; i < 10; i++) {
      const secret = await cluster.create(NAMESPACE, aSecret(`now-${i}`));
      const adminPasswordSecretRef = { name: secret.metadata.name };
      const site = aSite('x', { bench: 'b', adminPasswordSecretRef });
      assert.deepEqual(await warnings(site), []);
    }
  });

  test('of apps that the bench does not have, until it has', async () => {
    assert.deepEqual(await warnings(aSite('x', { bench: 'b', apps: [{ name: 'crm' }] })), [
      'spec.apps[0].name: Unsupported value: "crm": the apps of bench b are: none',
    ]);
  });

  test('of a bench that is legal but unwise', async () => {
    const bench = aBench('x', {
      frameworkVersion: 'version-13',
      deletionPolicy: 'Delete',
      storage: { accessMode: 'ReadWriteOnce' },
      workerAutoscaling: { short: scaled(2, 2, 5) },
    });
    const [version = '', ...rest] = await warnings(bench);
    assert.match(version, /^spec[.]frameworkVersion: version-13 is not tested with this operator/);
    assert.deepEqual(rest, [
      "spec.deletionPolicy: Delete removes the bench's volume and its database server's with the object: all data of its sites is lost",
      'spec.storage.accessMode: ReadWriteOnce puts every pod of the bench and of its sites on one node',
      'spec.workerAutoscaling.short: minReplicas and maxReplicas are both 2: nothing scales',
    ]);
    assert.deepEqual(await warnings(aBench('x', WORKERS)), []);
  });

  test("of backups on the sites' own volume", async () => {
    const backup = of('SiteBackup', 'x', {
      siteRef: { name: 'shop' },
      schedule: '@daily',
      destination: { pvc: { claimName: 'b-sites' } },
    });
    assert.deepEqual(await warnings(backup), [
      'spec.destination.pvc.claimName: "b-sites" is the volume that holds the sites: what loses them loses these backups',
      'spec.retention: without a retention every backup is kept, until the volume is full',
    ]);
  });

  test('once, and not with each change', async () => {
    const bench = aBench('twice', { deletionPolicy: 'Delete', ...WORKERS });
    assert.equal((await warnings(bench)).length, 1);
    await create(bench);
    const patch = { spec: { componentReplicas: { gunicorn: 2 } } };
    const output = await kubectl([
      ...['patch', 'AppBench', 'twice', '--warnings-as-errors', '--type=merge'],
      ...['-p', JSON.stringify(patch)],
    ]);
    assert.equal(output, 'appbench.app-operator.io/twice patched\n');
  });

  test('of the sites that block the deletion of a bench', async () => {
    const output = await kubectl([
      ...['delete', 'AppBench', 'b', '--dry-run=server', '--warnings-as-errors'],
    ]);
    assert.match(output, /waiting for its sites to be deleted: shop, younger/);
  });
});

describe('a value in another form', () => {
  test('is stored in the canonical form, with a warning', async () => {
    const site = aSite('norm', {
      bench: 'b',
      siteName: 'Norm.Example.COM.',
      domain: 'WWW.norm.org',
    });
    assert.deepEqual(await warnings(site), [
      'spec.siteName: is stored as "norm.example.com"',
      'spec.domain: is stored as "www.norm.org"',
    ]);
    await create(site);
    const { spec } = await cluster.the('AppSite', NAMESPACE, 'norm');
    assert.deepEqual([spec?.['siteName'], spec?.['domain']], ['norm.example.com', 'www.norm.org']);
    await create(aUser('norm', { email: 'Norm@Example.org' }));
    const user = await cluster.the('SiteUser', NAMESPACE, 'norm');
    assert.equal(user.spec?.['email'], 'norm@example.org');
  });

  test('can be applied again, which changes nothing', async () => {
    const site = aSite('again', { bench: 'b', siteName: 'Again.Example.COM' });
    const [first] = await cluster.apply(NAMESPACE, site);
    const quiet = await cluster.until('the finalizer', async () => {
      const { metadata } = await cluster.the('AppSite', NAMESPACE, 'again');
      return metadata.finalizers?.length === 1 && metadata;
    });
    const [second] = await cluster.apply(NAMESPACE, site);
    assert.equal(second?.metadata.generation, first?.metadata.generation);
    assert.equal(second?.metadata.uid, quiet.uid);
  });
});

describe('an invalid stored resource', () => {
  test('accepts changes of other fields', async () => {
    // A bench and a site of one name were created while no webhook ran.
    assert.match(await patched('AppSite', 'old', { maintenance: true }), /patched$/m);
    assert.match(await patched('AppBench', 'old', { paused: true }), /patched$/m);
  });

  test('accepts changes of labels, finalizers and status', async () => {
    const before = await evaluatedByAll('operation="UPDATE"');
    await kubectl(['label', 'AppSite', 'old', 'team=web']);
    await cluster.patch('AppSite', NAMESPACE, 'old', { metadata: { finalizers: [] } });
    await cluster.patchStatus('AppSite', NAMESPACE, 'old', { status: { phase: 'Pending' } });
    assert.equal(await evaluatedByAll('operation="UPDATE"'), before);
  });
});

describe('two replicas', () => {
  test('answer in a few milliseconds', async (t) => {
    const times: number[] = [];
    for (let i = 0; i < 200; i++) {
      const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/appsites?dryRun=All`;
      const begun = performance.now();
      await cluster.controlPlane.api.request('POST', path, aSite(`t-${i}`, { bench: 'b' }));
      times.push(performance.now() - begun);
    }
    const p95 = percentile(times, 95);
    t.diagnostic(
      `creation through both webhooks: p50 ${percentile(times, 50).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`,
    );
    assert.ok(p95 < 1_000, `p95 ${p95} ms`);
  });

  test('renew deleted keys: all replicas serve what the API server then trusts', async () => {
    const old = await bundleOf(cluster);
    assert.ok(old);
    await cluster.delete('Secret', OPERATOR.namespace, OPERATOR.webhookSecret);
    const renewed = await cluster.until('another bundle', async () => {
      const bundle = await bundleOf(cluster);
      return bundle !== undefined && bundle !== old && bundle;
    });
    await cluster.until('all replicas to serve its certificate', async () => {
      const served = await Promise.all(ports.map(certificateAt));
      return served.every((certificate) => certificate === renewed);
    });
    await trusted();
    for (const replica of replicas) assert.ok(replica.running);
  });

  test('restore a changed authority', async () => {
    const bundle = await bundleOf(cluster);
    assert.ok(bundle);
    for (const path of CONFIGURATION_PATHS) {
      const patch = [
        {
          op: 'replace',
          path: '/webhooks/0/clientConfig/caBundle',
          value: btoa(otherAuthority(bundle)),
        },
      ];
      await cluster.controlPlane.api.request('PATCH', path, patch, 'application/json-patch+json');
    }
    await cluster.until('the bundle to be back', async () => (await bundleOf(cluster)) === bundle);
  });

  test('restore corrupted keys', async () => {
    const data = { 'tls.key': btoa('nonsense') };
    await cluster.patch('Secret', OPERATOR.namespace, OPERATOR.webhookSecret, { data });
    await cluster.until('usable keys', async () => {
      const secret = await cluster.the('Secret', OPERATOR.namespace, OPERATOR.webhookSecret);
      return secret.data?.['tls.key'] !== data['tls.key'];
    });
    await trusted();
  });

  test('serve when one of them ends', async () => {
    const counts = await Promise.all(metricsPorts.map((port) => evaluatedBy(port)));
    const busy = (counts[0] ?? 0) > (counts[1] ?? 0) ? 0 : 1;
    const idle = 1 - busy;
    await stop(replicas.slice(busy, busy + 1));
    assert.match(await create(aSite('b', { bench: 'b' })), /choose another name$/);
    assert.ok((await evaluatedBy(metricsPorts[idle] ?? 0)) > (counts[idle] ?? 0));
  });
});

describe('when no webhook answers', () => {
  before(async () => {
    await stop(replicas);
  });

  test('every request passes, and the operator evaluates it afterwards', async () => {
    const site = aSite('late', { bench: 'b', siteName: 'shop.example.com' });
    assert.match(await create(site), /created$/m);
    await startReplicas();
    const reasonOf = ({ status }: Live): string | undefined =>
      (status?.['conditions'] as Condition[] | undefined)?.find(({ type }) => type === 'Ready')
        ?.reason;
    await cluster.becomes('AppSite', NAMESPACE, 'late', {
      what: 'is refused',
      check: (late) => {
        return reasonOf(late) === 'DuplicateSiteName';
      },
    });
  });
});

describe('switching the webhooks off', () => {
  test('by deleting the configurations: no request is reviewed, and they are not created again', async () => {
    await kubectl([
      ...['delete', 'validatingwebhookconfiguration,mutatingwebhookconfiguration'],
      OPERATOR.webhookConfiguration,
    ]);
    const before = await evaluatedByAll();
    assert.match(
      await create(aSite('free', { bench: 'b', siteName: 'shop.example.com' })),
      /created$/m,
    );
    assert.equal(await evaluatedByAll(), before);
    assert.deepEqual(await registered(cluster), []);
  });

  test('and on again by applying the manifest: requests are reviewed again', async () => {
    await register(cluster, configurations(balancer.port));
    await trusted();
    assert.match(
      await create(aSite('again-2', { bench: 'b', siteName: 'shop.example.com' })),
      /has this host name already$/,
    );
  });
});

describe('without the flag', () => {
  test('nothing listens, and nothing is written', async () => {
    await stop(replicas);
    await cluster.delete('Secret', OPERATOR.namespace, OPERATOR.webhookSecret);
    const [port = 0] = ports;
    const operator = await cluster.operator([`--webhook-bind-address=127.0.0.1:${port}`]);
    await assert.rejects(certificateAt(port), /ECONNREFUSED/);
    // It works: what it writes for the new bench comes after all that it does at its start.
    await cluster.apply(NAMESPACE, aBench('off'));
    await cluster.until('a child', () => cluster.get('Secret', NAMESPACE, 'off-redis-auth'));
    const secret = await cluster.get('Secret', OPERATOR.namespace, OPERATOR.webhookSecret);
    assert.equal(secret, undefined);
    await operator.stop();
  });
});

function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
}

/** The certificate that is served on a port, as PEM. */
function certificateAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      resolve(new X509Certificate(raw).toString());
    });
    socket.once('error', reject);
  });
}

/** A bundle that is one, but not the right one. */
function otherAuthority(bundle: string): string {
  return `${bundle}\n`;
}
