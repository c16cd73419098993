import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { crdOf } from '../../constructs/install/crd.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { ApiError } from '../../runner/api/api-error.js';
import { type Client, createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { REFUSED } from '../unit/schema-corpus.js';
import { definitionOf } from '../unit/schema-definitions.js';
import { aSite, MINIMAL, minimal, type Manifest } from '../unit/schema-manifests.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { kindNamed, type Manifest as ClusterManifest } from './support/objects.js';
import { bundleOf, configurations, register } from './support/webhooks.js';

/** A CRD without rules: it accepts everything below `spec`. */
function lax(definition: KindDefinition): ClusterManifest {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
  const crd = structuredClone(crdOf(definition)) as ClusterManifest & {
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
  // Without the other one, which changes capitals to lower case.
  const all = configurations(port, { failurePolicy: 'Fail' });
  await register(
    cluster,
    all.filter(({ kind }) => kind === 'ValidatingWebhookConfiguration'),
  );
  await cluster.until('the authority to be registered', () => bundleOf(cluster, 1));
  const { kubeconfig } = cluster.controlPlane;
  client = createClient({ credentials: await loadCredentials(kubeconfig, {}) });
  // The API server learns of the authority a moment later.
  await cluster.until('the webhook to be called', async () => {
    return (await refusalOf(aSite({ siteName: undefined }), { dryRun: 'All' })).length > 0;
  });
});
after(async () => {
  await client.close();
  await cluster.stop();
});

/** Causes of the API server's refusal of a creation; none where it accepts the manifest. */
async function refusalOf(
  manifest: Manifest,
  query: { readonly dryRun?: 'All' } = {},
): Promise<readonly string[]> {
  const kind = kindNamed(manifest.kind);
  try {
    await client.request('POST', resourcePath(kind, NAMESPACE), { body: manifest, query });
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 422, String(error));
    return (error.details.causes ?? [])
      .map(({ field = '', message = '' }) => `${field}: ${message}`)
      .sort();
  }
  return [];
}

/** The messages of `admit`, which schema-refused.txt lists; the cluster's schema has no rules here. */
const problemsOf = (manifest: Manifest): readonly string[] =>
  admit(definitionOf(manifest.kind), manifest)
    .problems.map(({ path, message }) => `${path}: ${message}`)
    .sort();

/** The API server itself refuses capitals in a name, before it calls the webhook. */
const hasValidName = ({ metadata }: Manifest): boolean =>
  metadata['name'] === String(metadata['name']).toLowerCase();

/** One refused manifest of each kind: the API server and `admit` are compared on all in api/admission. */
const SOME = [
  ...new Map(
    REFUSED.filter(([, manifest]) => hasValidName(manifest)).map((one) => [one[1].kind, one]),
  ).values(),
];

describe('the webhook refuses what an older schema admits, with the same message', () => {
  for (const [reason, manifest] of SOME) {
    test(`${reason} (${manifest.kind})`, async () => {
      assert.deepEqual(await refusalOf(manifest), problemsOf(manifest));
    });
  }

  test('and kubectl prints them as it prints a refusal of the schema', async () => {
    const manifest = aSite({ siteName: undefined });
    const printed = cluster.controlPlane.kubectl(
      ['create', '--filename=-'],
      JSON.stringify(manifest),
    );
    await assert.rejects(printed, (error: Error) =>
      error.message.endsWith('The AppSite "sample" is invalid: spec.siteName: Required value'),
    );
  });

  test('and nothing else', async () => {
    for (const kind of Object.keys(MINIMAL)) {
      assert.deepEqual(await refusalOf(minimal(kind, {}, kind.toLowerCase())), [], kind);
    }
  });
});
