import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Gateway, HttpRoute } from '../../constructs/integrations/gateway-api/kinds.js';
import { Route } from '../../constructs/integrations/openshift/kinds.js';
import { isTaken, previousAccess } from '../../constructs/kinds/site/access-move.js';
import { resolveSite } from '../../constructs/kinds/site/resolve.js';
import type { Health } from '../../constructs/kit/health.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { aReadyBench, aReader, aSite } from '../golden/builders.js';
import { healthCases } from './health-cases.js';

const API = [HttpRoute, Gateway];
const REF = { name: 'shared', namespace: 'infra' };
type Listener = Readonly<Record<string, unknown>>;
const HTTP: Listener = { name: 'http', protocol: 'HTTP', port: 80 };
const HTTPS: Listener = { name: 'https', protocol: 'HTTPS', port: 443, hostname: '*.example.com' };

const aGateway = (...listeners: readonly Listener[]): KubeObject =>
  ({
    apiVersion: Gateway.apiVersion,
    kind: Gateway.kind,
    metadata: REF,
    spec: { listeners },
  }) as KubeObject;

interface Given {
  readonly ingress?: object;
  readonly domainConfig?: object;
  readonly objects?: readonly KubeObject[];
  readonly serves?: readonly (typeof HttpRoute)[];
  readonly site?: object;
}

const accessOf = ({ ingress, domainConfig, objects = [], serves = API, site }: Given) => {
  const bench = aReadyBench(domainConfig ? { domainConfig } : {});
  const reader = aReader([bench, ...objects], { serves });
  const spec = { siteName: 'demo.example.com', ingress: { enabled: true, ...ingress }, ...site };
  return resolveSite(aSite(spec), reader).access;
};

suite('a site with a Gateway', () => {
  /** The listeners of its first route, of its redirect, and whether visitors use HTTPS. */
  const at = (ref: object, tls: boolean, ...listeners: readonly Listener[]) => {
    const ingress = { gatewayRef: { ...REF, ...ref }, tls: { enabled: tls } };
    const { gateway, encrypted } = accessOf({ ingress, objects: [aGateway(...listeners)] });
    const { sections, redirects } = gateway?.routes[0] ?? {};
    return { sections, redirects, encrypted };
  };

  test('without TLS has a route at every listener', () => {
    assert.deepEqual(at({}, false, HTTP, HTTPS), {
      sections: [],
      redirects: [],
      encrypted: false,
    });
  });
  test('with TLS has a route at the HTTPS listeners, and redirects at the others', () => {
    assert.deepEqual(at({}, true, HTTP, HTTPS, { ...HTTPS, name: 'b', hostname: '*.test' }), {
      sections: ['https'],
      redirects: ['http'],
      encrypted: true,
    });
    assert.deepEqual(at({ sectionName: 'https' }, true, HTTP, HTTPS).redirects, ['http']);
  });
  test('has HTTPS where every listener that takes it has', () => {
    assert.equal(at({}, false, HTTPS).encrypted, true);
    assert.equal(at({ sectionName: 'https' }, false, HTTP, HTTPS).encrypted, true);
    assert.equal(at({ sectionName: 'http' }, false, HTTP, HTTPS).encrypted, false);
  });
  test('does not redirect to itself at the HTTP listener that it names', () => {
    assert.deepEqual(at({ sectionName: 'http' }, true, HTTP, HTTPS), {
      sections: ['http'],
      redirects: [],
      encrypted: true,
    });
  });
  test('has no route at listeners of other protocols', () => {
    assert.deepEqual(at({}, true, HTTP, HTTPS, { ...HTTPS, name: 't', protocol: 'TLS' }), {
      sections: ['https'],
      redirects: ['http'],
      encrypted: true,
    });
  });
  test('is taken by a wildcard of any depth, and not by that of its own name', () => {
    const missing = (hostname: string) =>
      accessOf({
        ingress: { gatewayRef: REF, tls: { enabled: true } },
        objects: [aGateway({ ...HTTPS, hostname })],
        site: { siteName: 'a.b.example.com', aliases: ['example.com'] },
      }).gateway?.withoutHttps;
    assert.deepEqual(missing('*.example.com'), ['example.com']);
    assert.deepEqual(missing('a.b.example.com'), ['example.com']);
    assert.deepEqual(missing(''), []);
  });
  test('without the right to read it has the route of its spec', () => {
    const { gateway } = accessOf({ ingress: { gatewayRef: REF, tls: { enabled: true } } });
    assert.deepEqual([gateway?.isFound, gateway?.encrypted], [false, true]);
    assert.deepEqual(gateway?.routes[0]?.sections, []);
  });
  test('has that of its bench, unless it names a class', () => {
    const domainConfig = { gatewayRef: REF };
    assert.equal(accessOf({ domainConfig }).gateway?.name, 'shared');
    const own = accessOf({ domainConfig, ingress: { gatewayRef: { name: 'own' } } });
    assert.deepEqual([own.gateway?.namespace, own.gateway?.name], ['default', 'own']);
    assert.equal(accessOf({ domainConfig, ingress: { className: 'nginx' } }).gateway, undefined);
    assert.equal(accessOf({ domainConfig, ingress: { enabled: false } }).gateway, undefined);
  });
  test('has it on OpenShift too, and nothing else while its API is not served', () => {
    const ingress = { gatewayRef: REF };
    assert.equal(accessOf({ ingress, serves: [...API, Route] }).route, 'gateway-api');
    assert.equal(accessOf({ ingress, serves: [Route] }).route, undefined);
  });
});

suite('what a site had before', () => {
  const kept = (given: Given, health?: Health) =>
    previousAccess({
      inputs: { access: accessOf(given) },
      child: (kind) => (kind === 'HTTPRoute' && health ? { health } : undefined),
    }).map(({ kind }) => kind);
  const gateway = { ingress: { gatewayRef: REF } };
  const anIngress = (created: string, ...addresses: readonly object[]): KubeObject => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'demo-site-ingress', namespace: 'default', creationTimestamp: created },
    ...(addresses.length > 0 ? { status: { loadBalancer: { ingress: addresses } } } : {}),
  });

  test('stays until every route is accepted', () => {
    const before = ['Ingress', 'Certificate', 'Middleware', 'Route'];
    assert.deepEqual(kept(gateway), before);
    assert.deepEqual(kept(gateway, { state: 'InProgress', message: '' }), before);
    assert.deepEqual(kept(gateway, { state: 'Ready', message: '' }), []);
    assert.deepEqual(kept({ ...gateway, serves: [] }), before);
  });
  test('stays until the Ingress has an address, or a minute has passed', () => {
    const now = new Date().toISOString();
    assert.deepEqual(kept({}), ['HTTPRoute']);
    assert.deepEqual(kept({ objects: [anIngress(now, { ip: '10.0.0.1' })] }), []);
    const reader = aReader([anIngress(now)]);
    assert.equal(isTaken(aSite(), reader), false);
    assert.equal(isTaken(aSite(), Object.assign(reader, { isDue: () => true })), true);
  });
  test('stays not where a site has neither any more', () => {
    assert.deepEqual(kept({ ingress: { enabled: false } }), []);
    assert.deepEqual(kept({ serves: [] }), []);
  });
});

const PARENT = { group: 'gateway.networking.k8s.io', kind: 'Gateway', ...REF };
const reported = (
  accepted: string,
  resolved: string,
  others: { readonly generation?: number; readonly sectionName?: string } = {},
) => {
  const { generation = 1, sectionName } = others;
  const condition = (type: string, status: string) => ({
    ...{ type, status, observedGeneration: generation },
    ...{ reason: `${type}Reason`, message: 'in its words' },
  });
  return {
    parentRef: { ...PARENT, ...(sectionName === undefined ? {} : { sectionName }) },
    conditions: [condition('Accepted', accepted), condition('ResolvedRefs', resolved)],
  };
};
const spec = { parentRefs: [PARENT] };

healthCases(HttpRoute, [
  ['of which no controller knows', { spec }, 'InProgress', 'no controller has answered yet'],
  ['that is accepted', { spec, status: { parents: [reported('True', 'True')] } }, 'Ready', ''],
  [
    'that is refused',
    { spec, status: { parents: [reported('False', 'True')] } },
    'InProgress',
    'AcceptedReason: in its words',
  ],
  [
    'whose Service is not found',
    { spec, status: { parents: [reported('True', 'False')] } },
    'InProgress',
    'ResolvedRefsReason: in its words',
  ],
  [
    'whose change is not observed',
    {
      metadata: { generation: 2 },
      spec,
      status: { parents: [reported('True', 'True', { generation: 1 })] },
    },
    'InProgress',
    'the latest change is not observed yet',
  ],
  [
    'that the Gateway before has accepted',
    {
      spec: { parentRefs: [{ ...PARENT, name: 'new' }] },
      status: { parents: [reported('True', 'True')] },
    },
    'InProgress',
    'no controller has answered yet',
  ],
  [
    'that one of two listeners takes',
    {
      spec: {
        parentRefs: [
          { ...PARENT, sectionName: 'a' },
          { ...PARENT, sectionName: 'b' },
        ],
      },
      status: {
        parents: [
          reported('False', 'True', { sectionName: 'a' }),
          reported('True', 'True', { sectionName: 'b' }),
        ],
      },
    },
    'Ready',
    '',
  ],
  [
    'with a status of other types',
    { spec: { parentRefs: 'x' }, status: { parents: [{ conditions: 1 }] } },
    'InProgress',
    'no controller has answered yet',
  ],
]);
