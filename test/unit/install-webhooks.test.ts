import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { OPERATOR, OPERATOR_SELECTOR } from '../../constructs/kit/operator-identity.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { parseConfig } from '../../runner/config/config.js';
import { at } from '../cluster/support/objects.js';
import { install, the } from './install-manifest.js';

interface Webhook {
  readonly name: string;
  readonly failurePolicy: string;
  readonly matchPolicy: string;
  readonly sideEffects: string;
  readonly timeoutSeconds: number;
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  readonly clientConfig: { readonly service: object; readonly caBundle?: string };
  readonly namespaceSelector: { readonly matchExpressions: readonly object[] };
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly apiVersions: readonly string[];
    readonly resources: readonly string[];
    readonly operations: readonly string[];
    readonly scope: string;
  }[];
}

const KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const;

function webhooksOf(
  kind: (typeof KINDS)[number],
  props: Parameters<typeof install>[0] = {},
): readonly Webhook[] {
  const found = the(install(props), kind, OPERATOR.webhookConfiguration);
  return (found as unknown as { webhooks: readonly Webhook[] }).webhooks;
}

function theWebhook(...args: Parameters<typeof webhooksOf>): Webhook {
  const [webhook] = webhooksOf(...args);
  assert.ok(webhook);
  return webhook;
}

describe('the webhook configurations', () => {
  for (const kind of KINDS) {
    test(`${kind} cannot lock a cluster`, () => {
      for (const webhook of webhooksOf(kind)) {
        assert.equal(webhook.failurePolicy, 'Ignore');
        assert.equal(webhook.sideEffects, 'None');
        assert.ok(webhook.timeoutSeconds <= 5);
        assert.deepEqual(webhook.namespaceSelector.matchExpressions, [
          {
            key: 'kubernetes.io/metadata.name',
            operator: 'NotIn',
            values: ['kube-system', OPERATOR.namespace],
          },
        ]);
        for (const { apiGroups, apiVersions, resources, scope } of webhook.rules) {
          assert.deepEqual([apiGroups, apiVersions], [['app-operator.io'], ['v1alpha1']]);
          assert.equal(scope, 'Namespaced');
          // Subresources, such as the status, are not reviewed.
          assert.ok(resources.every((resource) => /^[a-z]+$/.test(resource)));
        }
        // The operator puts it in.
        assert.equal(webhook.clientConfig.caBundle, undefined);
      }
    });

    test(`${kind} is called for all kinds`, () => {
      const webhook = theWebhook(kind);
      const [rule] = webhook.rules;
      assert.ok(rule);
      assert.deepEqual(rule.operations, ['CREATE', 'UPDATE']);
      assert.deepEqual(rule.resources, DEFINITIONS.map(({ plural }) => plural).sort());
    });
  }

  test('lead to a Service in front of the pods', () => {
    const service = the(install(), 'Service', OPERATOR.webhookService);
    assert.deepEqual(service.spec?.['selector'], OPERATOR_SELECTOR);
    assert.deepEqual(service.spec['ports'], [
      { name: 'webhooks', port: 443, targetPort: 'webhooks', protocol: 'TCP' },
    ]);
    const webhook = theWebhook(KINDS[0]);
    assert.deepEqual(webhook.clientConfig.service, {
      namespace: OPERATOR.namespace,
      name: OPERATOR.webhookService,
      path: '/validate',
      port: 443,
    });
  });

  test('reach the pods', () => {
    const ports = (props: Parameters<typeof install>[0]): unknown =>
      at(the(install(props), 'NetworkPolicy', OPERATOR.networkPolicy), 'spec.ingress');
    const webhooks = { port: 9443, protocol: 'TCP' };
    assert.ok(JSON.stringify(ports({})).includes(JSON.stringify(webhooks)));
    assert.ok(!JSON.stringify(ports({ webhooks: false })).includes('9443'));
  });

  test('do not exist in an installation without cluster-scoped objects', () => {
    const objects = install({ namespaced: true, watchNamespaces: ['a'] });
    assert.doesNotMatch(JSON.stringify(objects), /webhook/i);
    assert.throws(
      () => install({ namespaced: true, watchNamespaces: ['a'], webhooks: true }),
      /an installation without ClusterRoles has no webhooks/,
    );
  });

  test('do not exist where webhooks are off, nor do their Service and rights', () => {
    const objects = install({ webhooks: false });
    assert.doesNotMatch(JSON.stringify(objects), /webhook/i);
    const deployment = the(objects, 'Deployment', OPERATOR.deployment);
    const args = at(deployment, 'spec.template.spec.containers[0].args') as string[];
    assert.equal(parseConfig(args, {}).webhooks, false);
  });
});
