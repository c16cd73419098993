import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { bench as benchKind } from '../../constructs/kinds/bench/index.js';
import { benchModel } from '../../constructs/frappe/bench-model.js';
import { serverPeer } from '../../constructs/frappe/network-rule.js';
import { CONTROL_PLANE, OPERATOR_SELECTOR } from '../../constructs/kit/operator-identity.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { aBench, aReader, aSite } from '../golden/builders.js';
import { corpus, podTemplates, type Graph } from '../golden/corpus.js';
import { graphOf, kindOf } from '../golden/outcome.js';

type Labels = Readonly<Record<string, string>>;

interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

interface Peer {
  readonly ipBlock?: { readonly cidr: string };
  readonly namespaceSelector?: Selector;
  readonly podSelector?: Selector;
}

interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number; readonly protocol: string }[];
}

interface Policy {
  readonly name: string;
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

/** One end of a connection: a pod, or an address outside of the cluster. */
interface End {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Labels;
  readonly address?: string;
}

// What NetworkPolicies mean, by their documentation.

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  for (const { operator } of matchExpressions) assert.equal(operator, 'NotIn');
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, values }) => !values.includes(labels[key] ?? ''))
  );
}

function isPeer({ ipBlock, namespaceSelector, podSelector }: Peer, home: string, end: End) {
  if (ipBlock) return end.address !== undefined && within(ipBlock.cidr, end.address);
  if (end.namespace === undefined) return false;
  const inNamespace = namespaceSelector
    ? selects(namespaceSelector, { 'kubernetes.io/metadata.name': end.namespace })
    : end.namespace === home;
  return inNamespace && selects(podSelector ?? {}, end.labels ?? {});
}

function within(cidr: string, address: string): boolean {
  const [base = '', bits = ''] = cidr.split('/');
  if (!base.includes('.') || !address.includes('.')) return base === address;
  const number = (ip: string) => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(bits));
  return Math.floor(number(base) / size) === Math.floor(number(address) / size);
}

/** Whether the policies let a pod accept, or make, a connection. */
function allows(
  policies: readonly Policy[],
  pod: End,
  direction: 'Ingress' | 'Egress',
  { other, port, protocol = 'TCP' }: { other: End; port: number; protocol?: string },
): boolean {
  const own = policies.filter(
    ({ podSelector, policyTypes }) =>
      policyTypes.includes(direction) && selects(podSelector, pod.labels ?? {}),
  );
  if (own.length === 0) return true;
  return own
    .flatMap(({ ingress = [], egress = [] }) => (direction === 'Ingress' ? ingress : egress))
    .some(
      ({ from, to, ports }) =>
        (!ports || ports.some((open) => open.port === port && open.protocol === protocol)) &&
        ((from ?? to)?.some((peer) => isPeer(peer, pod.namespace ?? '', other)) ?? true),
    );
}

// The pods and policies of the scenarios.

const HOME = 'default';
const UNRELATED: readonly End[] = [
  { name: 'unrelated pod', namespace: HOME, labels: { app: 'x' } },
  { name: 'unrelated pod elsewhere', namespace: 'elsewhere', labels: {} },
  {
    name: 'pod of another bench',
    namespace: HOME,
    labels: { 'app-operator.io/bench': 'b', 'app.kubernetes.io/component': 'nginx' },
  },
  {
    name: 'namesake of the bench elsewhere',
    namespace: 'elsewhere',
    labels: { 'app-operator.io/bench': 'demo-bench', 'app.kubernetes.io/component': 'nginx' },
  },
  {
    name: 'pretended KEDA',
    namespace: 'elsewhere',
    labels: { 'app.kubernetes.io/name': 'keda-operator' },
  },
  {
    name: 'pretended operator',
    namespace: 'elsewhere',
    labels: OPERATOR_SELECTOR,
  },
  { name: 'address', address: '198.51.100.1' },
];
const KEDA: End = {
  name: 'KEDA',
  namespace: 'keda',
  labels: { 'app.kubernetes.io/name': 'keda-operator' },
};
const OUTSIDERS = [...UNRELATED, KEDA];
/** Every port of a pod, and others. */
const PORTS = [22, 80, 443, 3306, 5432, 6379, 6380, 8000, 8080, 9000, 9180];

const componentOf = ({ labels = {} }: End): string => labels['app.kubernetes.io/component'] ?? '';

function podsOf(objects: readonly KubeObject[]): readonly End[] {
  return podTemplates(objects).map(({ of, labels }) => ({ name: of, namespace: HOME, labels }));
}

function policiesOf(objects: readonly KubeObject[]): readonly Policy[] {
  return objects
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map((object) => ({
      name: object.metadata.name,
      ...(object as KubeObject & { readonly spec: Omit<Policy, 'name'> }).spec,
    }));
}

/** Who reaches each port of a pod: components of the bench, and outsiders by name. */
function openTo(
  policies: readonly Policy[],
  pod: End,
  others: readonly End[],
): Readonly<Record<string, readonly string[]>> {
  const open = PORTS.map((port): readonly [string, readonly string[]] => {
    const reached = others.filter((other) => allows(policies, pod, 'Ingress', { other, port }));
    const names = reached.map((other) => componentOf(other).replace(/-.*/, '') || other.name);
    return [String(port), [...new Set(names)].sort()];
  });
  return Object.fromEntries(open.filter(([, names]) => names.length > 0));
}

const graphs: readonly Graph[] = corpus();
const everything = ({ objects, others }: Graph): readonly KubeObject[] => [...objects, ...others];
/** Scenarios whose bench says otherwise. */
const WITHOUT = ['bench-network-off'];
const CHOSEN = ['bench-everything', 'bench-network-ingress'];

suite('by default', () => {
  /** The components of the framework's processes, which are clients of Redis and databases. */
  const SERVERS = ['database', 'nginx', 'redis'];

  for (const graph of graphs) {
    if ([...WITHOUT, ...CHOSEN].includes(graph.scenario)) continue;
    test(`only who needs it reaches a pod: ${graph.scenario}, ${graph.resource.kind}`, () => {
      const policies = policiesOf(everything(graph));
      const pods = podsOf(everything(graph));
      const everybody = [...pods, ...OUTSIDERS];
      const names = (ends: readonly End[]) =>
        [...new Set(ends.map((end) => componentOf(end).replace(/-.*/, '') || end.name))].sort();
      const clients = pods.filter((pod) => !SERVERS.includes(componentOf(pod)));
      const all = names(everybody);
      const expected: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
        nginx: { 8080: all },
        gunicorn: { 8000: ['nginx'] },
        socketio: { 9000: ['nginx'] },
        metrics: { 9180: all },
        redis: { 6379: names([...clients, KEDA]), 6380: names([...clients, KEDA]) },
      };
      for (const pod of pods) {
        const chosen = policies.filter(
          ({ podSelector, policyTypes }) =>
            policyTypes.includes('Ingress') && selects(podSelector, pod.labels ?? {}),
        );
        assert.equal(chosen.length, 1, `${pod.name} is selected by one policy`);
        const component = componentOf(pod);
        const actual = openTo(policies, pod, everybody);
        if (component !== 'database') {
          assert.deepEqual(actual, expected[component] ?? {}, pod.name);
          continue;
        }
        const [port = '', ...more] = Object.keys(actual);
        assert.deepEqual(more, []);
        assert.match(port, /^(3306|5432)$/);
        assert.deepEqual(actual[port], names(clients), pod.name);
      }
    });
  }

  test('all scenarios with pods are looked at', () => {
    const seen = new Set(graphs.map(({ scenario }) => scenario));
    assert.deepEqual(
      [...WITHOUT, ...CHOSEN].filter((name) => !seen.has(name)),
      [],
    );
    const components = graphs.flatMap((graph) => podsOf(everything(graph)).map(componentOf));
    for (const component of ['init', 'drop', 'reopen', 'backup', 'backup-delete', 'job']) {
      assert.ok(components.includes(component), component);
    }
  });
});

suite('by choice', () => {
  const objectsIn = (scenario: string): readonly KubeObject[] =>
    graphs.filter((graph) => graph.scenario === scenario).flatMap(everything);
  const podOf = (objects: readonly KubeObject[], component: string): End => {
    const pod = podsOf(objects).find((one) => componentOf(one) === component);
    assert.ok(pod, component);
    return pod;
  };

  test('everybody reaches everything', () => {
    const objects = objectsIn('bench-network-off');
    const policies = policiesOf(objects);
    // It protects data, and goes with it only.
    assert.deepEqual(
      policies.map(({ name }) => name),
      ['demo-bench-db'],
    );
    for (const pod of podsOf(objects)) {
      for (const other of OUTSIDERS) {
        assert.ok(allows(policies, pod, 'Ingress', { other, port: 3306 }), pod.name);
        assert.ok(allows(policies, pod, 'Egress', { other, port: 3306 }), pod.name);
      }
    }
  });

  test('chosen pods and the operator reach the proxy and the exporter', () => {
    const objects = objectsIn('bench-network-ingress');
    const policies = policiesOf(objects);
    const chosen: readonly End[] = [
      { name: 'operator', namespace: 'operators', labels: OPERATOR_SELECTOR },
      { name: 'another operator', namespace: 'operators', labels: CONTROL_PLANE },
      { name: 'its neighbour', namespace: 'operators', labels: {} },
      {
        name: 'ingress controller',
        namespace: 'ingress-nginx',
        labels: { 'app.kubernetes.io/name': 'ingress-nginx' },
      },
      {
        name: 'Prometheus',
        namespace: 'monitoring',
        labels: { 'app.kubernetes.io/name': 'prometheus' },
      },
      { ...KEDA, name: 'KEDA on OpenShift', namespace: 'openshift-keda' },
    ];
    const others = [...podsOf(objects), ...OUTSIDERS, ...chosen];
    const open = (component: string) => openTo(policies, podOf(objects, component), others);
    assert.deepEqual(open('nginx'), {
      8080: ['gunicorn', 'ingress controller', 'operator', 'socketio', 'worker'],
    });
    assert.deepEqual(open('metrics'), { 9180: ['Prometheus'] });
    assert.deepEqual(open('gunicorn'), { 8000: ['nginx'] });
    const redis = open('redis')['6380'] ?? [];
    assert.ok(redis.includes('KEDA on OpenShift'));
    assert.ok(!redis.includes('KEDA'));
  });

  test('an empty list admits no other pod', () => {
    const resource = aBench({ networkPolicy: { ingressFrom: [], metricsFrom: [] } });
    const objects = objectsOf(resource, [resource]);
    const policies = policiesOf(objects);
    const operator: End = {
      name: 'operator',
      namespace: 'app-operator-system',
      labels: OPERATOR_SELECTOR,
    };
    const open = (component: string) =>
      openTo(policies, podOf(objects, component), [...OUTSIDERS, operator]);
    assert.deepEqual(open('nginx'), { 8080: ['operator'] });
    assert.deepEqual(open('metrics'), {});
  });

  test('pods connect to DNS, each other, databases and what is allowed', () => {
    const objects = objectsIn('bench-network-egress');
    const policies = policiesOf(objects);
    const pods = podsOf(objects);
    const at = (address: string): End => ({ name: address, address });
    const inside = (namespace: string, labels: Labels = {}): End => ({
      name: namespace,
      namespace,
      labels,
    });
    const cases: readonly (readonly [boolean, End, number, string?])[] = [
      [true, inside('kube-system'), 53, 'UDP'],
      [true, inside('kube-system'), 53],
      [true, at('169.254.20.10'), 53, 'UDP'],
      [true, at('192.0.2.10'), 3306],
      [false, at('192.0.2.10'), 443],
      [false, at('192.0.2.11'), 3306],
      [true, inside('databases'), 3307],
      [false, inside('databases'), 3306],
      [true, inside('object-store', { app: 'minio' }), 9000],
      [false, inside('object-store', { app: 'other' }), 9000],
      [true, at('203.0.113.7'), 443],
      [false, at('203.0.113.7'), 80],
      [false, at('198.51.100.1'), 443],
      [false, at('169.254.169.254'), 80],
      [false, inside('default'), 80],
    ];
    for (const pod of pods) {
      for (const [expected, other, port, protocol = 'TCP'] of cases) {
        const actual = allows(policies, pod, 'Egress', { other, port, protocol });
        assert.equal(actual, expected, `${pod.name} to ${other.name}:${port}/${protocol}`);
      }
      for (const other of pods) {
        assert.ok(allows(policies, pod, 'Egress', { other, port: 8000 }), other.name);
      }
    }
  });

  test('whose pods connect to anything without a limit', () => {
    for (const graph of graphs) {
      if (['bench-everything', 'bench-network-egress'].includes(graph.scenario)) continue;
      for (const { name, policyTypes } of policiesOf(everything(graph))) {
        assert.deepEqual(policyTypes, ['Ingress'], `${graph.scenario}: ${name}`);
      }
    }
  });
});

suite('who writes a spec', () => {
  const forged = {
    labels: {
      app: 'demo-bench-nginx',
      'app-operator.io/bench': 'other',
      'app.kubernetes.io/component': 'nginx',
    },
  };
  test('makes no pod look like another one', () => {
    const bench = aBench({ podTemplate: forged });
    const site = aSite({ podTemplate: forged });
    const plain = [aBench(), aSite()];
    const watched = ['app', 'app-operator.io/bench', 'app.kubernetes.io/component'];
    const labelsOf = (resource: Resource, all: readonly Resource[]) =>
      podsOf(objectsOf(resource, all)).map(({ name, labels = {} }) => [
        name,
        ...watched.map((key) => labels[key]),
      ]);
    const before = plain.map((resource) => labelsOf(resource, plain));
    const after = [bench, site].map((resource) => labelsOf(resource, [bench, site]));
    assert.ok(before.flat().length > 8);
    assert.deepEqual(after, before);
  });
});

suite('the address of a server', () => {
  const model = benchModel(aBench(), aReader([]));
  const namespace = (name: string) => ({
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
  });
  for (const [host, expected] of [
    ['192.0.2.10', { ipBlock: { cidr: '192.0.2.10/32' } }],
    ['db', namespace('default')],
    ['db.prod.svc', namespace('prod')],
    ['db.prod.svc.cluster.local', namespace('prod')],
    ['db-0.db.prod.svc.cluster.local', namespace('prod')],
    ['db.example.com', undefined],
    ['db.prod', undefined],
    ['svc.cluster.local', undefined],
    ['db.prod.svc.cluster.local.example.com', undefined],
    ['2001:db8::5', { ipBlock: { cidr: '2001:db8::5/128' } }],
  ] as const) {
    test(`${host} is ${expected ? 'known' : 'not known'}`, () => {
      assert.deepEqual(serverPeer(host, model), expected);
    });
  }

  test('each is looked at once, and only where egress is limited', () => {
    const prepared = (name: string, host: string) =>
      aSite(
        {
          siteName: `${name}.example.com`,
          dbConfig: { mode: 'external', host, name, secretRef: { name } },
        },
        { name },
      );
    const sites = [prepared('b', 'db.b.svc'), prepared('a', 'db.a.svc'), prepared('c', 'db.b.svc')];
    const sixth = prepared('d', '[2001:db8::5]');
    const databases = (spec: Readonly<Record<string, unknown>>) => {
      const bench = aBench(spec);
      return benchKind.resolve(bench, aReader([bench, ...sites, sixth])).data.databases;
    };
    assert.deepEqual(databases({}), []);
    assert.deepEqual(databases({ networkPolicy: { egress: { enabled: true } } }), [
      { host: '2001:db8::5', port: 3306 },
      { host: 'db.a.svc', port: 3306 },
      { host: 'db.b.svc', port: 3306 },
    ]);
  });
});

function objectsOf(resource: Resource, all: readonly Resource[]): readonly KubeObject[] {
  const kind = kindOf(resource);
  const inputs = kind.resolve(resource, aReader(all));
  return graphOf(kind, resource, (scope, id) =>
    kind.chart(scope, id, { resource, inputs }),
  ).flatMap(({ objects }) => objects);
}
