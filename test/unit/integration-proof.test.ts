import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { integrationNames, optionalApisOf } from '../../cli/commands/render/optional-apis.js';
import { namespacedRules } from '../../constructs/install/permissions.js';
import { INTEGRATIONS } from '../../constructs/integrations/index.js';
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { siteWith } from '../../constructs/kinds/site/index.js';
import { childOf } from '../../runner/cache/child.js';
import { aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';
import { DnsRecord, inventedDns } from '../invented-integration/index.js';

/** The one line that registers it. Its code is one folder. */
const integrations = [...INTEGRATIONS, inventedDns];
const site = siteWith(integrations);

/** The children of a site with an Ingress. */
function childrenOf(served: boolean): readonly KubeObject[] {
  const resource = aSite({ ingress: { enabled: true } });
  const reader = aReader([aReadyBench(), aSecret('demo-bench-redis-auth')], {
    serves: served ? [DnsRecord] : [],
  });
  const inputs = site.resolve(resource, reader);
  return synthesize((scope, id) => site.chart(scope, id, { resource, inputs })).flatMap(
    ({ objects }) => objects,
  );
}

suite('an integration that is one folder and one line', () => {
  const records = (served: boolean) =>
    childrenOf(served).filter((object) => kindId(object) === kindId(DnsRecord));

  test('adds its object to the tree of a site', () => {
    const [record] = records(true);
    assert.equal(record?.metadata.name, 'demo-site-ingress');
    assert.deepEqual((record as { spec?: unknown } | undefined)?.spec, {
      hosts: ['demo.example.com'],
    });
  });
  test('is detected: without its API the tree has no object of it', () => {
    assert.deepEqual(records(false), []);
    assert.deepEqual(
      site.owns.filter(({ optional }) => optional).filter((kind) => kind === DnsRecord),
      [DnsRecord],
    );
  });
  test('gives the operator the rights that its object needs', () => {
    const group = DnsRecord.apiVersion.split('/')[0] ?? '';
    const rules = namespacedRules([site]).filter(({ apiGroups }) => apiGroups.includes(group));
    assert.deepEqual(rules, [
      {
        apiGroups: [group],
        resources: ['dnsrecords'],
        verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
      },
    ]);
  });
  test('evaluates the health of its object', () => {
    const health = (status?: object) =>
      childOf(
        DnsRecord,
        {
          apiVersion: DnsRecord.apiVersion,
          kind: DnsRecord.kind,
          metadata: { name: 'demo-site-ingress', namespace: 'default' },
          ...(status ? { status } : {}),
        },
        metadataKeysFor(DEFAULT_API_GROUP),
      ).health;
    assert.equal(health().unobserved, true);
    assert.equal(health({ phase: 'Rejected' }).message, 'its zone does not exist');
    const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
    assert.equal(health(ready).state, 'Ready');
  });
  test('can be named in render --serves', () => {
    assert.ok(integrationNames(integrations).includes('invented-dns'));
    assert.deepEqual(optionalApisOf('invented-dns', integrations), [kindId(DnsRecord)]);
    assert.throws(() => optionalApisOf('invented-dns'), /got invented-dns, allowed: /);
  });
  test('changes nothing for those who do not register it', () => {
    const registered = siteWith(INTEGRATIONS);
    assert.ok(!registered.owns.includes(DnsRecord));
  });
});
