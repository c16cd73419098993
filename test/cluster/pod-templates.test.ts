import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite } from './support/builders.js';
import { at, conditionOf, type Live } from './support/objects.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster({ audit: true });
  namespace = await cluster.namespace();
  await cluster.operator();
  await cluster.apply(namespace, aBench('b'));
  await cluster.ready('AppBench', namespace, 'b');
});
after(() => cluster.stop());

/** Applies a part of the bench server-side, as one of several tools. */
async function applyAs(manager: string, gunicorn: object): Promise<void> {
  const part = {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppBench',
    metadata: { name: 'b' },
    spec: { componentPodTemplates: { gunicorn } },
  };
  const args = ['apply', '--server-side', `--field-manager=${manager}`, '--filename=-'];
  await cluster.controlPlane.kubectl([`--namespace=${namespace}`, ...args], JSON.stringify(part));
}

const container = (live: Live, name: string): unknown =>
  (at(live, 'spec.template.spec.containers') as { readonly name: string }[]).find(
    (one) => one.name === name,
  );
const variables = (live: Live): readonly string[] =>
  (container(live, 'gunicorn') as { readonly env: readonly { readonly name: string }[] }).env.map(
    ({ name }) => name,
  );
const gunicorn = (): Promise<Live> => cluster.the('Deployment', namespace, 'b-gunicorn');

/** A sidecar, a spread and a file, with all that the API server gives defaults. */
const FULL = {
  metadata: { labels: { tier: 'web' }, annotations: { 'example.com/logs': 'json' } },
  spec: {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
    hostAliases: [{ ip: '192.0.2.1', hostnames: ['erp.example.com'] }],
    volumes: [{ name: 'ca', configMap: { name: 'ca', optional: true } }],
    containers: [
      {
        name: 'logs',
        image: 'example.com/logs:1',
        ports: [{ containerPort: 2020 }],
        readinessProbe: { tcpSocket: { port: 2020 } },
        env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        volumeMounts: [{ name: 'ca', mountPath: '/ca' }],
      },
    ],
  },
};

const named = (fields: object) => ({ spec: { containers: [{ name: 'gunicorn', ...fields }] } });
const sidecar = (fields: object) => ({
  spec: { containers: [{ name: 'logs', image: 'example.com/logs:1', ...fields }] },
});
const volume = (source: object) => ({ spec: { volumes: [{ name: 'a', ...source }] } });
const file = { configMap: { name: 'a', items: [{ key: 'a', path: '../a' }] } };
const probe = { livenessProbe: { tcpSocket: { port: 1 } } };

/** Templates that no pod can have: the API server refuses the workload. */
const REFUSED: readonly (readonly [what: string, template: object, message: RegExp])[] = [
  ['no image', named({ name: 'logs' }), /spec\.template\.spec\.containers\[1\]\.image: Required value/],
  ['a container twice', { spec: { containers: [{ name: 'x', image: 'x' }], initContainers: [{ name: 'x', image: 'x' }] } }, /initContainers\[0\]\.name: Duplicate value: "x"/],
  ['two sources', volume({ emptyDir: {}, configMap: { name: 'a' } }), /may not specify more than 1 volume type/],
  ['a file above its volume', volume(file), /volumes\[3\]\.configMap\.items\[0\]\.path: Invalid value: "\.\.\/a"/],
  ['an unknown volume', named({ volumeMounts: [{ name: 'b', mountPath: '/b' }] }), /volumeMounts\[6\]\.name: Not found: "b"/],
  ['a folder above its volume', sidecar({ volumeMounts: [{ name: 'scratch', mountPath: '/b', subPath: 'a/../..' }] }), /subPath: Invalid value: "a\/\.\.\/\.\.": must not contain '\.\.'/],
  ['a value twice', named({ env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }), /valueFrom: Invalid value: "": may not be specified when `value` is not empty/],
  ['a field that no pod has', named({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] }), /fieldPath: Invalid value: "spec\.x"/],
  ['a key of no Secret', named({ env: [{ name: 'A', valueFrom: { secretKeyRef: { key: 'a' } } }] }), /secretKeyRef\.name: Invalid value: ""/],
  ['a probe of two ways', sidecar({ livenessProbe: { exec: { command: ['x'] }, tcpSocket: { port: 1 } } }), /livenessProbe\.tcpSocket: Forbidden: may not specify more than 1 handler type/],
  ['a probe of an init container that ends', { spec: { initContainers: [{ name: 'x', image: 'x', ...probe }] } }, /initContainers\[0\]\.livenessProbe: Forbidden/],
  ['no name server', { spec: { dnsPolicy: 'None' } }, /dnsConfig\.nameservers: Required value|must provide `dnsConfig`/],
  ['an unknown DNS policy', { spec: { dnsPolicy: 'Own' } }, /dnsPolicy: Unsupported value: "Own"/],
  ['a priority that is no name', { spec: { priorityClassName: 'High!' } }, /priorityClassName: Invalid value: "High!"/],
  ['an alias that is no address', { spec: { hostAliases: [{ ip: 'x', hostnames: ['a'] }] } }, /hostAliases\[0\]\.ip: Invalid value: "x"/],
  ['a spread without a skew', { spec: { topologySpreadConstraints: [{ topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }] } }, /maxSkew: Invalid value: 0|maxSkew: Required/],
  ['a toleration of an unknown effect', { spec: { tolerations: [{ key: 'a', effect: 'Never' }] } }, /tolerations\[0\]\.effect: Unsupported value: "Never"/],
  ['a label that is a sentence', { metadata: { labels: { a: 'x y' } } }, /spec\.template\.labels: Invalid value: "x y"/],
  ['a key with a space', { metadata: { labels: { 'a b': 'x' } } }, /spec\.template\.labels: Invalid value: "a b"/],
  ['a quantity below zero', sidecar({ resources: { limits: { cpu: '-1' } } }), /resources\.limits\[cpu\]: Invalid value: "-1"/],
  ['a port that does not exist', sidecar({ ports: [{ containerPort: 70_000 }] }), /containerPort: Invalid value: 70000/],
]; // prettier-ignore

describe('pod templates by server-side apply', () => {
  test('of two tools are merged: each owns its variable', async () => {
    const withVariable = (name: string) => ({
      spec: { containers: [{ name: 'gunicorn', env: [{ name, value: 'x' }] }] },
    });
    await applyAs('one', withVariable('ONE'));
    await applyAs('two', withVariable('TWO'));
    await cluster.until('both variables to be in the pods', async () => {
      const names = variables(await gunicorn());
      return names.includes('ONE') && names.includes('TWO');
    });
    await applyAs('one', {});
    await cluster.until('one of them to be gone', async () => {
      const names = variables(await gunicorn());
      return !names.includes('ONE') && names.includes('TWO');
    });
  });

  test('are read back as they were written: nothing is written twice', async () => {
    const nginx = await cluster.the('Deployment', namespace, 'b-nginx');
    await applyAs('three', FULL);
    await cluster.until('the sidecar to be there', async () => container(await gunicorn(), 'logs'));
    await cluster.ready('AppBench', namespace, 'b');
    await sleep(1_500);
    const since = new Date();
    await cluster.patch('AppBench', namespace, 'b', {
      metadata: { annotations: { touched: 'x' } },
    });
    await sleep(2_500);
    const writes = await cluster.writes({ namespace, since });
    assert.deepEqual(writes.filter((write) => /deployments|jobs|statefulsets/.test(write)), []); // prettier-ignore
    const now = await cluster.the('Deployment', namespace, 'b-nginx');
    assert.equal(now.metadata.generation, nginx.metadata.generation);
    const sidecar = container(await gunicorn(), 'logs') as { securityContext: object };
    assert.deepEqual(sidecar.securityContext, {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('that are not valid change nothing, and the condition has the words', async () => {
    const { metadata } = await gunicorn();
    await applyAs('three', { spec: { hostNetwork: true, containers: [{ name: 'gunicorn', command: ['sh'] }] } }); // prettier-ignore
    const bench = await cluster.becomes('AppBench', namespace, 'b', {
      what: 'is Stalled',
      check: (live) => conditionOf(live, 'Stalled')?.status === 'True',
    });
    assert.match(
      conditionOf(bench, 'Ready')?.message ?? '',
      /^spec.componentPodTemplates.gunicorn.spec.hostNetwork: Forbidden: a pod template may not set this field; supported fields: containers, /,
    );
    assert.equal((await gunicorn()).metadata.generation, metadata.generation);
    await applyAs('three', {});
    await cluster.ready('AppBench', namespace, 'b');
  });
});

describe('a template that no pod can have: the condition has the words of the API server', () => {
  after(() => applyAs('four', {}));
  for (const [what, template, message] of REFUSED) {
    test(what, async () => {
      await applyAs('four', template);
      const bench = await cluster.becomes('AppBench', namespace, 'b', {
        what: 'is refused',
        check: (live) => message.test(conditionOf(live, 'Ready')?.message ?? ''),
      });
      const { status, reason, message: text = '' } = conditionOf(bench, 'Ready') ?? {};
      assert.deepEqual([status, reason], ['False', 'ApplyRefused'], text);
      assert.match(text, /^the API server refuses Deployment b-gunicorn: /);
    });
  }
  test('and a template that a pod can have makes the bench Ready again', async () => {
    await applyAs('four', named({ env: [{ name: 'A', value: 'x' }] }));
    await cluster.ready('AppBench', namespace, 'b');
    assert.ok(variables(await gunicorn()).includes('A'));
  });
});

test('a site gives no Secret of its bench to a program of its own', async () => {
  const place = await cluster.namespace();
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'vault', key: 'k' } } }];
  const template = (containers: readonly object[]) => ({
    componentPodTemplates: { gunicorn: { spec: { containers } } },
  });
  await cluster.apply(place, aSecret('vault', { k: 'treasure' }));
  await cluster.apply(place, aBench('b', template([{ name: 'agent', image: 'agent:1', env }])));
  await cluster.ready('AppBench', place, 'b');
  const evil = template([{ name: 'agent', image: 'evil/steal:1', command: ['sh', '-c', 'env'] }]);
  await cluster.apply(place, aSite('s', { bench: 'b', ...evil }));
  const site = await cluster.becomes('AppSite', place, 's', {
    what: 'is Stalled',
    check: (live) => Boolean(conditionOf(live, 'Stalled')),
  });
  assert.match(
    conditionOf(site, 'Stalled')?.message ?? '',
    /^spec[.]componentPodTemplates[.]gunicorn[.]spec[.]containers\[0\][.]command: Forbidden: /,
  );
  const images = (await cluster.everything(place)).map((object) => JSON.stringify(object));
  assert.ok(!images.some((text) => text.includes('evil/steal')), 'no pod runs it');
});
