import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Gateway, HttpRoute } from '../../constructs/integrations/gateway-api/kinds.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite, WORKERS } from './support/builders.js';
import { crdsOf } from './support/modules.js';
import { addKind, at, conditionOf, type Live, type Manifest } from './support/objects.js';

/**
 * The definitions of the Gateway API, with its rules in CEL, on a real API server. What is not here is a
 * controller: the tests write what one reports.
 */
const { crds, skip } = await crdsOf('gateway.networking.k8s.io.ts', [
  'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
  'config/crd/standard/gateway.networking.k8s.io_gateways.yaml',
]);
addKind(HttpRoute);
addKind(Gateway);
const TIMEOUT_MS = 60_000;
const ROUTES = ['s-ingress', 's-ingress-redirect'];

const aGateway: Manifest = {
  apiVersion: Gateway.apiVersion,
  kind: Gateway.kind,
  metadata: { name: 'shared' },
  spec: {
    gatewayClassName: 'example',
    listeners: [
      { name: 'http', protocol: 'HTTP', port: 80 },
      {
        ...{ name: 'https', protocol: 'HTTPS', port: 443, hostname: '*.example.org' },
        tls: { certificateRefs: [{ name: 'wildcard' }] },
      },
    ],
  },
};

describe('with the Gateway API', { skip }, () => {
  let cluster: Cluster;
  let namespace: string;
  before(async () => {
    cluster = await startCluster();
    for (const crd of crds) await installCrd(cluster, crd);
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

  const ingress = (fields: object): Promise<unknown> =>
    cluster.patch('AppSite', namespace, 's', { spec: { ingress: fields } });

  const writeStatus = async (
    kind: typeof HttpRoute,
    name: string,
    status: object,
  ): Promise<void> => {
    await cluster.controlPlane.api.request(
      'PATCH',
      `${resourcePath(kind, namespace, name)}/status`,
      { status },
      'application/merge-patch+json',
    );
  };

  /** Writes what a controller reports of a route at each of its parents. */
  const report = async (name: string, accepted: string, reason: string): Promise<void> => {
    const { metadata, spec } = await cluster.the('HTTPRoute', namespace, name);
    const condition = (type: string, status: string, why: string) => ({
      ...{ type, status, reason: why, message: `${why} of a test` },
      ...{ lastTransitionTime: new Date().toISOString() },
      observedGeneration: metadata.generation,
    });
    const parents = (spec?.['parentRefs'] as readonly object[]).map((parentRef) => ({
      ...{ parentRef, controllerName: 'example.com/controller' },
      conditions: [
        condition('Accepted', accepted, reason),
        condition('ResolvedRefs', 'True', 'ResolvedRefs'),
      ],
    }));
    await writeStatus(HttpRoute, name, { parents });
  };

  const routeAccepted = (reason: string): Promise<Live> =>
    cluster.becomes('AppSite', namespace, 's', {
      what: `has RouteAccepted with ${reason}`,
      check: (live) => conditionOf(live, 'RouteAccepted')?.reason === reason,
      timeoutMs: TIMEOUT_MS,
    });

  test('the API takes a route at a Gateway that does not exist, and the Ingress stays', async () => {
    await ingress({ gatewayRef: { name: 'shared' } });
    const site = await routeAccepted('GatewayMissing');
    assert.equal(
      conditionOf(site, 'RouteAccepted')?.message,
      `gatewayRef: there is no Gateway ${namespace}/shared that the operator can read`,
    );
    assert.equal(conditionOf(site, 'Ready')?.status, 'True');
    const { spec } = await cluster.the('HTTPRoute', namespace, 's-ingress');
    assert.deepEqual(at(spec, 'hostnames'), ['www.example.org']);
    assert.deepEqual(at(spec, 'rules[0].timeouts'), { request: '0s' });
    assert.equal(at(spec, 'rules[0].backendRefs[0].name'), 'b-nginx');
    await cluster.the('Ingress', namespace, 's-ingress');
  });

  test('with the Gateway, HTTPS is served at one listener and the other redirects', async () => {
    await cluster.apply(namespace, aGateway);
    await ingress({ tls: { enabled: true } });
    await cluster.becomes('AppSite', namespace, 's', {
      what: 'is on HTTPS',
      check: (live) => conditionOf(live, 'CertificateReady')?.reason === 'GatewayCertificate',
    });
    const redirect = await cluster.until('the redirect', () =>
      cluster.get('HTTPRoute', namespace, 's-ingress-redirect'),
    );
    assert.equal(at(redirect, 'spec.parentRefs[0].sectionName'), 'http');
    assert.equal(at(redirect, 'spec.rules[0].filters[0].requestRedirect.scheme'), 'https');
    await cluster.becomes('HTTPRoute', namespace, 's-ingress', {
      what: 'is at the HTTPS listener',
      check: (live) => at(live, 'spec.parentRefs[0].sectionName') === 'https',
    });
  });

  test('a route that is refused says why, and the Ingress stays', async () => {
    await report('s-ingress-redirect', 'True', 'Accepted');
    await report('s-ingress', 'False', 'NotAllowedByListeners');
    const site = await routeAccepted('NotAccepted');
    assert.equal(
      conditionOf(site, 'RouteAccepted')?.message,
      'HTTPRoute s-ingress: NotAllowedByListeners: NotAllowedByListeners of a test',
    );
    await cluster.the('Ingress', namespace, 's-ingress');
  });

  test('once every route is accepted, the Ingress is deleted', async () => {
    await report('s-ingress', 'True', 'Accepted');
    await cluster.deleted('Ingress', namespace, 's-ingress');
    const site = await routeAccepted('Accepted');
    assert.equal(at(site, 'status.siteURL'), 'https://www.example.org');
  });

  test('on the way back, the routes stay until a controller has the Ingress', async () => {
    await ingress({ gatewayRef: null, tls: null });
    const made = await cluster.until('the Ingress', () =>
      cluster.get('Ingress', namespace, 's-ingress'),
    );
    await cluster.ready('AppSite', namespace, 's', TIMEOUT_MS);
    for (const name of ROUTES) await cluster.the('HTTPRoute', namespace, name);
    const { api } = cluster.controlPlane;
    await api.request(
      'PATCH',
      `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/${made.metadata.name}/status`,
      { status: { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } } },
      'application/merge-patch+json',
    );
    for (const name of ROUTES) await cluster.deleted('HTTPRoute', namespace, name);
    const site = await cluster.the('AppSite', namespace, 's');
    assert.equal(conditionOf(site, 'RouteAccepted'), undefined);
  });
});
