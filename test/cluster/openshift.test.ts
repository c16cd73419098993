import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { toYaml } from '../../cli/io/yaml.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite, WORKERS } from './support/builders.js';
import { CommandLine } from './support/command-line.js';
import { crdsOfModule } from './support/modules.js';
import { at, conditionOf, type Live } from './support/objects.js';

/**
 * OpenShift's own definitions, from its Go module. What is not here is OpenShift: nothing assigns ids to
 * pods or refuses them, and no router takes a Route in. The tests show what the operator requests of them.
 */
const MODULE = 'github.com/openshift/api@v0.0.0-20250207102212-9e59a77ed2e0';
const ROUTES = 'route/v1/zz_generated.crd-manifests/routes-Default.crd.yaml';
const CONSTRAINTS =
  'security/v1/zz_generated.crd-manifests/0000_03_config-operator_01_securitycontextconstraints-Default.crd.yaml';
const TIMEOUT_MS = 60_000;

const { crds, skip } = await crdsOfModule(MODULE, [ROUTES, CONSTRAINTS]);
const [routes, constraints] = crds;

const POD = 'spec.template.spec.securityContext';
const idsOf = (object: Live | undefined): unknown[] =>
  ['runAsUser', 'runAsGroup', 'fsGroup'].map((name) => at(object, `${POD}.${name}`));

describe('on OpenShift', { skip }, () => {
  let cluster: Cluster;
  let namespace: string;
  before(async () => {
    cluster = await startCluster();
    namespace = await cluster.namespace();
    await cluster.operator([], { namespaces: [namespace] });
    await cluster.apply(
      namespace,
      aBench('b', WORKERS),
      aSite('s', { bench: 'b', ...WORKERS, domain: 'www.example.org', ingress: { enabled: true } }),
    );
    await cluster.ready('AppSite', namespace, 's', TIMEOUT_MS);
  });
  after(() => cluster.stop());

  const route = async (name: string): Promise<Live | undefined> => {
    const path = `/apis/route.openshift.io/v1/namespaces/${namespace}/routes`;
    const { items } = (await cluster.controlPlane.api.request('GET', path)) as { items: Live[] };
    return items.find(({ metadata }) => metadata.name === name);
  };
  const tls = (value: object | null): Promise<unknown> =>
    cluster.patch('AppSite', namespace, 's', { spec: { ingress: { tls: value } } });

  test('before its APIs are there, pods have the built-in ids, and the site an Ingress', async () => {
    assert.deepEqual(idsOf(await cluster.get('Deployment', namespace, 's-gunicorn')), [1001, 0, 0]);
    await cluster.the('Ingress', namespace, 's-ingress');
  });

  test('with its security API, pods name no ids: the platform assigns them', async () => {
    assert.ok(constraints);
    await installCrd(cluster, constraints);
    for (const name of ['s-gunicorn', 'b-gunicorn', 'b-nginx', 'b-worker-default']) {
      await cluster.becomes('Deployment', namespace, name, {
        what: 'names no ids',
        check: (live) => idsOf(live).every((id) => id === undefined),
        timeoutMs: TIMEOUT_MS,
      });
    }
    for (const name of ['b-redis', 'b-db']) {
      assert.deepEqual(idsOf(await cluster.the('StatefulSet', namespace, name)), [
        undefined,
        undefined,
        undefined,
      ]);
    }
    await cluster.ready('AppBench', namespace, 'b', TIMEOUT_MS);
    const line = new CommandLine(cluster.controlPlane.kubeconfig);
    const args = ['diff', '-n', namespace, '-f', '-', '--field-manager', 'user'];
    const result = await line.run(args, toYaml([aBench('b', WORKERS)]));
    assert.deepEqual(result, { code: 0, out: '', err: '' });
    const security = { podSecurityContext: { fsGroup: 2000 } };
    await cluster.patch('AppBench', namespace, 'b', { spec: { security } });
    await cluster.becomes('Deployment', namespace, 'b-gunicorn', {
      what: 'has the group of the spec, and nothing else',
      check: (live) => JSON.stringify(idsOf(live)) === JSON.stringify([undefined, undefined, 2000]),
      timeoutMs: TIMEOUT_MS,
    });
  });

  test('with its Routes, the site has one in place of its Ingress, which OpenShift takes', async () => {
    assert.ok(routes);
    await installCrd(cluster, routes);
    const made = await cluster.until('the Route', () => route('s-ingress'));
    assert.deepEqual(made.spec, {
      host: 'www.example.org',
      to: { kind: 'Service', name: 'b-nginx', weight: 100 },
      port: { targetPort: 8080 },
      wildcardPolicy: 'None',
    });
    await cluster.deleted('Ingress', namespace, 's-ingress');
    await cluster.ready('AppSite', namespace, 's', TIMEOUT_MS);
  });

  test("TLS without a Secret is the router's: HTTPS at its edge, with its certificate", async () => {
    await tls({ enabled: true });
    const site = await cluster.becomes('AppSite', namespace, 's', {
      what: 'is on HTTPS',
      check: (live) => conditionOf(live, 'CertificateReady')?.reason === 'RouterCertificate',
    });
    assert.equal(at(site, 'status.siteURL'), 'https://www.example.org');
    // The site's configuration names its address: its Job comes first.
    const edge = await cluster.until('TLS at the edge', async () =>
      at(await route('s-ingress'), 'spec.tls'),
    );
    assert.deepEqual(edge, { termination: 'edge', insecureEdgeTerminationPolicy: 'Redirect' });
  });

  test('a Route that the router refuses is reported, and the site is not Ready meanwhile', async () => {
    const admitted = (status: string, message: string): Promise<unknown> =>
      cluster.controlPlane.api.request(
        'PATCH',
        `/apis/route.openshift.io/v1/namespaces/${namespace}/routes/s-ingress/status`,
        {
          status: {
            ingress: [
              {
                routerName: 'default',
                host: 'www.example.org',
                conditions: [{ type: 'Admitted', status, reason: 'HostAlreadyClaimed', message }],
              },
            ],
          },
        },
        'application/merge-patch+json',
      );
    await admitted('False', 'route other already exposes www.example.org');
    await cluster.becomes('AppSite', namespace, 's', {
      what: 'says why',
      check: (live) => conditionOf(live, 'Ready')?.message.includes('already exposes') ?? false,
    });
    await admitted('True', '');
    await cluster.ready('AppSite', namespace, 's', TIMEOUT_MS);
  });

  test('a certificate in a Secret, or another class, takes an Ingress', async () => {
    await tls({ enabled: true, secretName: 'mine' });
    await cluster.until('the Ingress', () => cluster.get('Ingress', namespace, 's-ingress'));
    await cluster.until('the Route to be gone', async () => !(await route('s-ingress')));
    await tls({ enabled: true, secretName: null });
    await cluster.deleted('Ingress', namespace, 's-ingress');
    await cluster.patch('AppSite', namespace, 's', { spec: { ingress: { className: 'nginx' } } });
    await cluster.until('the Ingress', () => cluster.get('Ingress', namespace, 's-ingress'));
    await cluster.until('the Route to be gone', async () => !(await route('s-ingress')));
  });
});
