import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { OPERATOR, PORTS, WEBHOOK_PORT } from '../../constructs/kit/operator-identity.js';
import { parseConfig } from '../../runner/config/config.js';
import { install, the } from './install-manifest.js';

interface Rule {
  readonly from?: readonly object[];
  readonly to?: readonly object[];
  readonly ports: readonly { readonly port: number; readonly protocol: string }[];
}
interface Policy {
  readonly policyTypes: readonly string[];
  readonly ingress: readonly Rule[];
  readonly egress?: readonly Rule[];
}

const policyOf = (props: Parameters<typeof install>[0] = {}): Policy =>
  the(install(props), 'NetworkPolicy', OPERATOR.networkPolicy).spec as unknown as Policy;

describe("the operator's NetworkPolicy", () => {
  test('allows every address to reach each port of the pod, since nodes call from any address', () => {
    const { policyTypes, ingress } = policyOf();
    assert.deepEqual(policyTypes, ['Ingress']);
    assert.ok(ingress.every(({ from }) => from === undefined));
    assert.deepEqual(
      ingress.flatMap(({ ports }) => ports),
      [...Object.values(PORTS), WEBHOOK_PORT].map((port) => ({ port, protocol: 'TCP' })),
    );
  });

  test('limits who reads the metrics to a namespace by choice', () => {
    const { ingress } = policyOf({ metricsNamespace: 'monitoring' });
    const matchLabels = { 'kubernetes.io/metadata.name': 'monitoring' };
    assert.deepEqual(ingress, [
      {
        from: [{ namespaceSelector: { matchLabels } }],
        ports: [{ port: PORTS.https, protocol: 'TCP' }],
      },
      { ports: [{ port: PORTS.health, protocol: 'TCP' }] },
      { ports: [{ port: WEBHOOK_PORT, protocol: 'TCP' }] },
    ]);
  });

  test('admits readers of plain metrics by choice, from the same namespace', () => {
    const ports = [PORTS.https, 8080].map((port) => ({ port, protocol: 'TCP' }));
    const open = policyOf({ plainMetrics: true }).ingress.flatMap((rule) => rule.ports);
    assert.ok(open.some(({ port }) => port === 8080));
    const [metrics, health] = policyOf({
      plainMetrics: true,
      metricsNamespace: 'monitoring',
    }).ingress;
    assert.deepEqual(metrics?.ports, ports);
    assert.equal(metrics.from?.length, 1);
    assert.deepEqual(health, { ports: [{ port: PORTS.health, protocol: 'TCP' }] });
  });

  test('allows it to reach, if egress is limited: DNS, the API server, proxies of benches', () => {
    const { policyTypes, egress = [] } = policyOf({ limitEgress: true });
    assert.deepEqual(policyTypes, ['Ingress', 'Egress']);
    const reached = (protocol: string): number[] =>
      egress
        .flatMap(({ ports }) => ports)
        .filter((port) => port.protocol === protocol)
        .map(({ port }) => port);
    assert.deepEqual(reached('UDP'), [53, 5353]);
    assert.deepEqual(reached('TCP'), [53, 5353, 443, 6443, 8080]);
    // Neither is in a pod's network everywhere.
    for (const { to, ports } of egress) {
      if (ports.some(({ port }) => port !== 8080)) assert.equal(to, undefined);
    }
  });
});

describe('an installation without ClusterRoles', () => {
  const CLUSTER_SCOPED = /^(Namespace|CustomResourceDefinition|Cluster.*|.*WebhookConfiguration)$/;
  const objects = install({ namespaced: true, watchNamespaces: ['a', 'b'] });

  test('has nothing that is not in a namespace', () => {
    assert.deepEqual(
      objects.filter(({ kind }) => CLUSTER_SCOPED.test(kind)),
      [],
    );
    assert.deepEqual(
      objects.filter(({ metadata }) => metadata.namespace === undefined),
      [],
    );
  });

  test('has the same rights in the namespaces as any that is limited to them', () => {
    const rights = (all: typeof objects) =>
      all.filter(({ kind }) => kind === 'Role' || kind === 'RoleBinding');
    const limited = install({ watchNamespaces: ['a', 'b'], webhooks: false });
    assert.deepEqual(rights(objects), rights(limited));
  });

  test('serves metrics on loopback only: it may not ask the cluster who calls', () => {
    const [container] = (
      the(objects, 'Deployment', OPERATOR.deployment).spec as {
        template: { spec: { containers: { args: string[] }[] } };
      }
    ).template.spec.containers;
    const config = parseConfig(container?.args ?? [], {}, OPERATOR.namespace);
    assert.equal(config.metricsSecureBindAddress, null);
    assert.deepEqual(config.metricsBindAddress, { host: '127.0.0.1', port: 8080 });
  });

  test('needs namespaces', () => {
    assert.throws(() => install({ namespaced: true }), /needs watchNamespaces/);
  });
});

test('where the platform assigns ids, the operator sets none', () => {
  const objects = install({ platformIds: true });
  const text = JSON.stringify(the(objects, 'Deployment', OPERATOR.deployment));
  assert.doesNotMatch(text, /APP_DEFAULT_|runAsUser|fsGroup/);
});
