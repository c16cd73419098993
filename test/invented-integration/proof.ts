/**
 * What the operator does with the invented integration. It runs as a process of its own: kinds read
 * the registry when they are imported. Prints JSON.
 */
import { INTEGRATIONS } from '../../constructs/integrations/index.js';
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import type { Integration } from '../../constructs/kit/integration.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { DnsRecord, inventedDns } from './index.js';

// The one line that registers it.
(INTEGRATIONS as Integration[]).push(inventedDns);

const { site } = await import('../../constructs/kinds/site/index.js');
const { namespacedRules } = await import('../../constructs/install/permissions.js');
const { integrationNames, optionalApisOf } =
  await import('../../cli/commands/render/optional-apis.js');
const { childOf } = await import('../../runner/cache/child.js');
const { aReader, aReadyBench, aSecret, aSite } = await import('../golden/builders.js');

/** Its objects in the tree of a site with an Ingress. */
function recordsOf(served: boolean) {
  const resource = aSite({ ingress: { enabled: true } });
  const reader = aReader([aReadyBench(), aSecret('demo-bench-redis-auth')], {
    serves: served ? [DnsRecord] : [],
  });
  const inputs = site.resolve(resource, reader);
  return synthesize((scope, id) => site.chart(scope, id, { resource, inputs }))
    .flatMap(({ objects }) => objects)
    .filter((object) => kindId(object) === kindId(DnsRecord));
}

function healthOf(status?: object) {
  const { apiVersion, kind } = DnsRecord;
  const metadata = { name: 'demo-site-ingress', namespace: 'default' };
  const object = { apiVersion, kind, metadata, ...(status ? { status } : {}) };
  return childOf(DnsRecord, object, metadataKeysFor(DEFAULT_API_GROUP)).health;
}

const proof = {
  records: recordsOf(true),
  unserved: recordsOf(false),
  isOptional: site.owns.includes(DnsRecord) && DnsRecord.optional,
  rules: namespacedRules([site as never]).filter(({ apiGroups }) =>
    apiGroups.includes('dns.invented.example'),
  ),
  health: [
    healthOf(),
    healthOf({ phase: 'Rejected' }),
    healthOf({ conditions: [{ type: 'Ready', status: 'True' }] }),
  ],
  names: integrationNames(),
  apis: optionalApisOf(['invented-dns']),
};

process.stdout.write(JSON.stringify(proof));

export type Proof = typeof proof;
