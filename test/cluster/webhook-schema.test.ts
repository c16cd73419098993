import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { crdOf } from '../../constructs/install/crd.js';
import { OPERATOR } from '../../constructs/install/identity.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { ApiError } from '../../runner/api/api-error.js';
import { type Client, createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { MINIMAL } from '../unit/schema-manifests.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { BAD_BACKUPS } from './support/bad-backups.js';
import { BAD_BENCHES, type BadInput } from './support/bad-benches.js';
import { BAD_CHARTS, BAD_DASHBOARDS, BAD_WORKSPACES } from './support/bad-desk.js';
import { BAD_SITES } from './support/bad-sites.js';
import { BAD_USERS } from './support/bad-users.js';
import { API_VERSION } from './support/builders.js';
import { kindNamed, type Manifest } from './support/objects.js';
import { bundleOf, configurations, register } from './support/webhooks.js';

/** The CRD of an operator that knew of no rule: everything below `spec` is taken. */
function lax(definition: KindDefinition): Manifest {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
  const crd = structuredClone(crdOf(definition)) as Manifest & {
    spec: { versions: { schema: object; subresources?: object }[] };
  };
  for (const version of crd.spec.versions) {
    delete version.subresources;
    version.schema = {
      openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } },
    };
  }
  return crd;
}

const NAMESPACE = 'default';
let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await startCluster({
    kwokNodes: 0,
    controllerManager: false,
    scheduler: false,
    prepare: async () => Promise.resolve(),
  });
  for (const definition of DEFINITIONS) await installCrd(cluster, lax(definition));
  await cluster.apply('', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: OPERATOR.namespace },
  });
  const port = await cluster.freePort();
  await cluster.operator(['--webhooks', `--webhook-bind-address=127.0.0.1:${port}`]);
  // Without the other one, which would mend what is in capitals.
  const all = configurations(port, { failurePolicy: 'Fail' });
  await register(
    cluster,
    all.filter(({ kind }) => kind === 'ValidatingWebhookConfiguration'),
  );
  await cluster.until('the authority to be registered', () => bundleOf(cluster, 1));
  const { kubeconfig } = cluster.controlPlane;
  client = createClient({ credentials: await loadCredentials(kubeconfig, {}) });
  // The API server learns of the authority a moment later.
  const [, bad] = BAD_SITES[0] ?? assert.fail();
  await cluster.until('the webhook to be asked', () => refusalOf(bad, { dryRun: 'All' }));
});
after(async () => {
  await client.close();
  await cluster.stop();
});

const aJob = (spec: object): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'SiteJob',
  metadata: { name: 'bad' },
  spec: { ...MINIMAL['SiteJob'], ...spec },
});
const BAD_JOBS: readonly BadInput[] = [
  [
    'two things to run',
    aJob({ command: ['migrate'], method: 'frappe.ping' }),
    'spec: Invalid value: "object": give one of command and method',
  ],
  [
    'an unknown policy',
    aJob({ concurrencyPolicy: 'Queue' }),
    'spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"',
  ],
];

/**
 * The API server's own words, from its own schema, are in the tables. Here its schema says nothing, so
 * that whatever is refused is refused by the webhook.
 */
const REFUSED = [
  ...BAD_BENCHES,
  ...BAD_SITES,
  ...BAD_USERS,
  ...BAD_CHARTS,
  ...BAD_DASHBOARDS,
  ...BAD_WORKSPACES,
  ...BAD_BACKUPS,
  ...BAD_JOBS,
  // Unknown fields are refused by what the client asks for, and not by admission.
  // What is wrong with a name in capitals is found before.
].filter(
  ([, { metadata }, message]) =>
    !message.startsWith('unknown field') && metadata.name === metadata.name.toLowerCase(),
);

/** What the API server answers to a creation, cause by cause; undefined where it takes it. */
async function refusalOf(
  manifest: Manifest,
  query: { readonly dryRun?: 'All' } = {},
): Promise<string | undefined> {
  const kind = kindNamed(manifest.kind);
  try {
    await client.request('POST', resourcePath(kind, NAMESPACE), { body: manifest, query });
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 422, String(error));
    return (error.details.causes ?? [])
      .map(({ field = '', message = '' }) => `${field}: ${message}`)
      .join('\n');
  }
  return undefined;
}

describe('the webhook refuses what an older schema admits, with the same message', () => {
  for (const [what, manifest, message] of REFUSED) {
    test(`${manifest.kind}, ${what}`, async () => {
      // What follows is of the scale subresource.
      assert.equal(await refusalOf(manifest), message.replace(/\n[^\n]* accessor error: .*$/, ''));
    });
  }

  test('so that kubectl shows it as it shows what the schema refuses', async () => {
    const [, manifest, message] = BAD_SITES[0] ?? assert.fail();
    const said = cluster.controlPlane.kubectl(
      [`--namespace=${NAMESPACE}`, 'create', '--filename=-'],
      JSON.stringify(manifest),
    );
    await assert.rejects(said, (error: Error) =>
      error.message.endsWith(`The AppSite "bad" is invalid: ${message}`),
    );
  });

  test('and nothing else', async () => {
    for (const [kind, spec] of Object.entries(MINIMAL)) {
      const manifest = {
        apiVersion: API_VERSION,
        kind,
        metadata: { name: kind.toLowerCase() },
        spec,
      };
      assert.equal(await refusalOf(manifest), undefined, kind);
    }
  });
});
