import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import { parse, parseAllDocuments } from 'yaml';

import { installManifest } from '../../cli/commands/install/manifest.js';
import { renderFile } from '../../cli/testing.js';
import { OPERATOR, OPERATOR_SELECTOR } from '../../constructs/kit/operator-identity.js';
import { VERSION } from '../../runner/kit/version.js';
import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
import { Cluster, installCrd } from './harness.js';
import { aBench, aSite, scaled } from './support/builders.js';
import { at, type Live, type Manifest, nameOf } from './support/objects.js';
import { forbiddenCalls, startInstalled, USER } from './support/installed.js';
import type { Operator } from './support/operator.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const INSTALL = path.join(ROOT, 'dist/install.yaml');

let cluster: Cluster;
const operators: Operator[] = [];
before(async () => {
  cluster = new Cluster(
    await startControlPlane({ kwokNodes: 1, persistentVolumes: 20, audit: true }),
  );
});
after(async () => {
  for (const operator of operators) if (operator.running) operator.kill('SIGKILL');
  await cluster.stop();
});

const kubectl = (args: string, input?: string): Promise<string> =>
  cluster.controlPlane.kubectl(args.split(' '), input);

/** `<kind>/<name>` → version of everything in the install manifest, as it is in the cluster. */
async function versions(manifest: string): Promise<Record<string, string | undefined>> {
  const { items } = JSON.parse(await kubectl('get --filename=- --output=json', manifest)) as {
    readonly items: readonly Live[];
  };
  return Object.fromEntries(
    items.map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.resourceVersion]),
  );
}

/** Waits until the controllers have written what they have to say of the objects. */
async function settled(): Promise<void> {
  await kubectl(
    `rollout status deployment/${OPERATOR.deployment} -n ${OPERATOR.namespace} --timeout=60s`,
  );
  await kubectl('wait crd --all --for=condition=Established --timeout=30s');
  const typesAreChecked = '--for=jsonpath={.status.observedGeneration}=1 --timeout=60s';
  await kubectl(`wait validatingadmissionpolicy --all ${typesAreChecked}`);
}

async function startOperator(manifest: string, ...args: string[]): Promise<Operator> {
  const operator = await startInstalled(cluster, manifest, ...args);
  operators.push(operator);
  return operator;
}

interface Access {
  readonly verb: string;
  /** `appsites.app-operator.io`, or one object of a kind as `leases.coordination.k8s.io/name`. */
  readonly what: string;
  /** Default: all. */
  readonly namespace?: string;
  readonly subresource?: string;
}

/** Whether a user has a right, as the API server says. */
async function canI({ verb, what, namespace, subresource }: Access, user = USER): Promise<boolean> {
  const [kind = '', name] = what.split('/');
  const [resource = '', ...group] = kind.split('.');
  const groups = ['system:authenticated'];
  if (user === USER)
    groups.push('system:serviceaccounts', `system:serviceaccounts:${OPERATOR.namespace}`);
  const apiVersion = 'authorization.k8s.io/v1';
  const resourceAttributes = {
    verb,
    group: group.join('.'),
    resource,
    subresource,
    name,
    namespace,
  };
  const answer = (await cluster.controlPlane.api.request(
    'POST',
    `/apis/${apiVersion}/subjectaccessreviews`,
    { apiVersion, kind: 'SubjectAccessReview', spec: { user, groups, resourceAttributes } },
  )) as { readonly status: { readonly allowed: boolean } };
  return answer.status.allowed;
}

/** A CRD of another project, from the Go module that carries it. */
async function crdOfModule(module: string, file: string): Promise<Manifest> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], {
    cwd: '/',
  });
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  return parse(await readFile(path.join(Dir, file), 'utf8')) as Manifest;
}

const example = async (name: string): Promise<Manifest> =>
  parse(await readFile(path.join(ROOT, 'examples', name), 'utf8')) as Manifest;

describe('the install manifest', () => {
  let manifest: string;
  before(async () => {
    manifest = await readFile(INSTALL, 'utf8');
    await kubectl(`apply --filename=${INSTALL}`);
    await settled();
  });

  test('applied again changes nothing', async () => {
    const first = await versions(manifest);
    const answer = await kubectl(`apply --filename=${INSTALL}`);
    const changed = answer
      .trim()
      .split('\n')
      .filter((line) => !line.endsWith(' unchanged'));
    assert.deepEqual(changed, []);
    assert.deepEqual(await versions(manifest), first);
  });

  test("applied again on the server's side changes nothing", async () => {
    const apply = `apply --server-side --force-conflicts --filename=${INSTALL}`;
    await kubectl(apply);
    const first = await versions(manifest);
    await kubectl(apply);
    assert.deepEqual(await versions(manifest), first);
  });

  test('becomes available under the restricted Pod Security Standard', async () => {
    const { metadata } = await cluster.the('Namespace', '', OPERATOR.namespace);
    assert.equal(metadata.labels?.['pod-security.kubernetes.io/enforce'], 'restricted');
    const deployment = await cluster.the('Deployment', OPERATOR.namespace, OPERATOR.deployment);
    assert.equal(at(deployment, 'status.availableReplicas'), 1);
    const container = { name: 'c', image: 'x' };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'lax' },
      spec: { containers: [container] },
    };
    await assert.rejects(cluster.create(OPERATOR.namespace, pod), /violates PodSecurity/);
  });

  test('runs as two replicas of one Deployment', async () => {
    const two = installManifest({ version: VERSION, replicas: 2 });
    await kubectl('apply --server-side --force-conflicts --filename=-', two);
    await settled();
    const deployment = await cluster.the('Deployment', OPERATOR.namespace, OPERATOR.deployment);
    assert.equal(at(deployment, 'status.availableReplicas'), 2);
    await kubectl(`apply --server-side --force-conflicts --filename=${INSTALL}`);
  });

  test('allows users of a namespace to work with our kinds', async () => {
    await kubectl('create rolebinding dev --clusterrole=edit --user=dev -n default');
    await kubectl('create rolebinding guest --clusterrole=view --user=guest -n default');
    const allowed = (user: string, verb: string): Promise<boolean> =>
      canI({ verb, what: 'appsites.app-operator.io', namespace: 'default' }, user);
    // Aggregated by a controller, so not at once.
    await cluster.until(
      'the roles to be aggregated',
      async () => (await allowed('dev', 'create')) && (await allowed('guest', 'get')),
    );
    assert.deepEqual([await allowed('dev', 'delete'), await allowed('guest', 'get')], [true, true]);
    assert.deepEqual(
      [await allowed('guest', 'create'), await allowed('other', 'get')],
      [false, false],
    );
  });
});

describe('the operator, with the rights of the install manifest', () => {
  let operator: Operator;
  let port: number;
  before(async () => {
    port = await cluster.freePort();
    operator = await startOperator(
      await readFile(INSTALL, 'utf8'),
      `--metrics-secure-bind-address=127.0.0.1:${port}`,
    );
  });
  after(() => operator.stop());

  test('makes the examples Ready', async () => {
    await cluster.apply('default', await example('bench.yaml'), await example('site.yaml'));
    await cluster.ready('AppBench', 'default', 'demo-bench');
    await cluster.ready('AppSite', 'default', 'demo-site');
  });

  test('has created what a preview of them shows, which the API server accepts', async () => {
    const text = renderFile(
      ['bench.yaml', 'site.yaml'].map((name) => path.join(ROOT, 'examples', name)),
    );
    const previewed = parseAllDocuments(text).map((document) => document.toJS() as Live);
    const made = await cluster.children('default');
    assert.deepEqual(previewed.map(nameOf).sort(), made.map(nameOf).sort());
    const elsewhere = await cluster.namespace();
    const moved = text.replaceAll(/^( +)namespace: default$/gm, `$1namespace: ${elsewhere}`);
    await kubectl('apply --server-side --dry-run=server --filename=-', moved);
  });

  test('prunes, replaces Jobs, and keeps fields of other managers', async () => {
    const spec = { ingress: { enabled: true }, domain: 'demo.example.org' };
    await cluster.patch('AppSite', 'default', 'demo-site', { spec });
    await cluster.ready('AppSite', 'default', 'demo-site');
    await cluster.the('Ingress', 'default', 'demo-site-ingress');
    await cluster.patch('AppSite', 'default', 'demo-site', { spec: { ingress: null } });
    await cluster.deleted('Ingress', 'default', 'demo-site-ingress');
  });

  test('records events', async () => {
    await cluster.until('an event', async () => {
      const events = await cluster.list('Event', 'default');
      return events.some((event) => at(event, 'reportingController') === 'app-operator');
    });
  });

  test('makes its monitoring when those APIs appear', async () => {
    const { namespace } = OPERATOR;
    const crd = async (plural: string): Promise<void> => {
      await installCrd(
        cluster,
        await crdOfModule(
          'github.com/prometheus-operator/prometheus-operator@v0.85.0',
          `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`,
        ),
      );
    };
    const made = (kind: string, name: string): Promise<Live> =>
      cluster.until(`${kind} ${name}`, async () => {
        return JSON.parse(await kubectl(`get ${kind} ${name} -n ${namespace} -o json`)) as Live;
      });
    await crd('servicemonitors');
    const monitor = await made('servicemonitor', 'app-operator-metrics');
    assert.equal(monitor.metadata.labels?.['control-plane'], 'controller-manager');
    assert.equal(monitor.metadata.namespace, 'app-operator-system');
    assert.deepEqual(at(monitor, 'spec.endpoints[0]'), {
      port: 'https',
      scheme: 'https',
      path: '/metrics',
      interval: '30s',
      honorLabels: true,
      bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
      tlsConfig: { insecureSkipVerify: true },
    });
    assert.deepEqual(at(monitor, 'spec.selector.matchLabels'), OPERATOR_SELECTOR);
    const workloads = await made('servicemonitor', 'app-operator-workloads');
    const labels = at(workloads, 'spec.selector.matchLabels') as Readonly<Record<string, string>>;
    const selected = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    const services = await kubectl(`get services -n default -l ${selected.join()} -o name`);
    assert.equal(services.trim(), 'service/demo-bench-metrics');

    await crd('prometheusrules');
    const rule = await made('prometheusrule', 'app-operator');
    const groups = at(rule, 'spec.groups') as readonly { name: string; rules: unknown[] }[];
    assert.deepEqual(
      groups.map(({ name, rules }) => [name, rules.length]),
      [
        ['app-operator', 3],
        ['app-workloads', 5],
      ],
    );
    const dashboard = await made('configmap', 'app-operator-dashboard');
    assert.equal(dashboard.metadata.labels?.['grafana_dashboard'], '1');

    // Who takes the API away takes the rule with it; it is there again when the API is.
    await kubectl('delete crd prometheusrules.monitoring.coreos.com');
    await operator.logged('optional API is no longer served');
    await crd('prometheusrules');
    await made('prometheusrule', 'app-operator');
  });

  test('works with the APIs of KEDA and cert-manager when they appear', async () => {
    const keda = 'github.com/kedacore/keda/v2@v2.21.0';
    for (const name of ['scaledobjects', 'triggerauthentications']) {
      await installCrd(cluster, await crdOfModule(keda, `config/crd/bases/keda.sh_${name}.yaml`));
    }
    await installCrd(
      cluster,
      await crdOfModule(
        'github.com/cert-manager/cert-manager@v1.21.2',
        'deploy/crds/cert-manager.io_certificates.yaml',
      ),
    );
    const tls = { enabled: true, certManagerIssuer: 'letsencrypt' };
    await cluster.patch('AppSite', 'default', 'demo-site', {
      spec: { ingress: { enabled: true, tls } },
    });
    await cluster.until('the Certificate', () =>
      cluster.get('Certificate', 'default', 'demo-site-tls'),
    );
    await cluster.patch('AppSite', 'default', 'demo-site', { spec: { ingress: null } });
    await cluster.deleted('Certificate', 'default', 'demo-site-tls');

    // No KEDA reports the ScaledObject as ready here, so the bench is not Ready meanwhile.
    const short = scaled(0, 10, 2);
    await cluster.patch('AppBench', 'default', 'demo-bench', {
      spec: { workerAutoscaling: { short } },
    });
    for (const [kind, name] of [
      ['ScaledObject', 'demo-bench-worker-short'],
      ['TriggerAuthentication', 'demo-bench-redis-trigger'],
    ] as const) {
      await cluster.until(`the ${kind}`, () => cluster.get(kind, 'default', name));
    }
    await cluster.patch('AppBench', 'default', 'demo-bench', { spec: { workerAutoscaling: null } });
    await cluster.deleted('ScaledObject', 'default', 'demo-bench-worker-short');
    await cluster.ready('AppBench', 'default', 'demo-bench');
  });

  test('shows its metrics to who may read them', async () => {
    const scrape = async (account: string): Promise<number> => {
      const token = (await kubectl(`create token ${account} -n default`)).trim();
      const agent = new Agent({ connect: { rejectUnauthorized: false } });
      const { statusCode, body } = await request(`https://127.0.0.1:${port}/metrics`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}` },
      });
      await body.dump();
      await agent.close();
      return statusCode;
    };
    await kubectl('create serviceaccount prometheus -n default');
    await kubectl(
      `create clusterrolebinding prometheus --clusterrole=${OPERATOR.metricsReaderRole} --serviceaccount=default:prometheus`,
    );
    // The API server learns of a binding by a watch.
    await cluster.until('the right to be known', async () => (await scrape('prometheus')) === 200);
    assert.equal(await scrape('default'), 403);
  });

  test('removes both, with their data where that is wanted', async () => {
    const spec = { deletionPolicy: 'Delete' };
    await cluster.patch('AppSite', 'default', 'demo-site', { spec });
    await cluster.patch('AppBench', 'default', 'demo-bench', { spec });
    await cluster.ready('AppSite', 'default', 'demo-site');
    await cluster.delete('AppSite', 'default', 'demo-site');
    await cluster.deleted('AppSite', 'default', 'demo-site');
    await cluster.delete('AppBench', 'default', 'demo-bench');
    await cluster.deleted('AppBench', 'default', 'demo-bench');
    await cluster.until('the children to be gone', async () => {
      const left = (await cluster.children('default')).map((child) => child.metadata.name);
      if (left.length > 0) throw new Error(`left: ${left.join(', ')}`);
      return true;
    });
  });

  test('has met no call that it may not make', async () => {
    assert.deepEqual(await forbiddenCalls(cluster), []);
    assert.deepEqual(
      operator.lines.filter(({ level }) => level === 'error'),
      [],
    );
  });

  test('may do no more than its work takes', async () => {
    const namespace = 'default';
    const benches = 'appbenchs.app-operator.io';
    const finalizers = { verb: 'update', what: benches, namespace, subresource: 'finalizers' };
    assert.ok(await canI(finalizers));
    const refused: readonly Access[] = [
      { verb: 'update', what: 'deployments.apps', namespace },
      { verb: 'create', what: 'pods', namespace },
      { verb: 'delete', what: 'appsites.app-operator.io', namespace },
      { verb: 'create', what: 'customresourcedefinitions.apiextensions.k8s.io' },
      { verb: 'list', what: 'nodes' },
      { verb: 'create', what: 'roles.rbac.authorization.k8s.io', namespace },
      { verb: 'create', what: 'leases.coordination.k8s.io', namespace },
      {
        verb: 'update',
        what: 'leases.coordination.k8s.io/other',
        namespace: OPERATOR.namespace,
      },
      { verb: 'update', what: benches, namespace, subresource: 'status' },
    ];
    for (const access of refused) {
      assert.equal(await canI(access), false, JSON.stringify(access));
    }
  });
});

describe('an installation for some namespaces', () => {
  test('works there, and sees nothing of others', async () => {
    const namespace = await cluster.namespace();
    const other = await cluster.namespace();
    const manifest = installManifest({ version: VERSION, watchNamespaces: [namespace] });
    await kubectl('apply --server-side --force-conflicts --filename=-', manifest);
    await cluster.until('the rights to be given and taken back', async () => {
      const [here, elsewhere] = await Promise.all(
        [namespace, other].map((place) =>
          canI({ verb: 'list', what: 'secrets', namespace: place }),
        ),
      );
      return here && !elsewhere;
    });
    assert.equal(await canI({ verb: 'list', what: 'secrets' }), false);
    const elsewhere = { verb: 'list', what: 'appbenchs.app-operator.io', namespace: other };
    assert.equal(await canI(elsewhere), false);

    const operator = await startOperator(manifest);
    for (const place of [namespace, other]) {
      await cluster.apply(place, aBench('b'), aSite('s', { bench: 'b' }));
    }
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
    assert.equal((await cluster.the('AppBench', other, 'b')).status, undefined);
    assert.equal((await operator.stop()).code, 0);
    assert.deepEqual(await forbiddenCalls(cluster), []);
  });
});
