import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { crdOf } from '../../constructs/install/crd.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { V1BETA1 } from '../v1beta1/versions.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { conditionOf, type Live, type Manifest } from './support/objects.js';

const MAIN = fileURLToPath(new URL('../v1beta1/main.js', import.meta.url));
const BETA = `${DEFAULT_API_GROUP}/v1beta1`;

describe('a second version of a kind', () => {
  let cluster: Cluster;
  let namespace: string;
  before(async () => {
    cluster = await startCluster({ own: true });
    const metadata = { name: OPERATOR.namespace };
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata });
    const port = await cluster.freePort();
    const clientConfig = { url: `https://127.0.0.1:${port}${OPERATOR.convertPath}` };
    const kinds = V1BETA1.map(({ definition }) => definition.kind);
    for (const definition of DEFINITIONS.filter(({ kind }) => kinds.includes(kind))) {
      const crd = crdOf(definition, DEFAULT_API_GROUP, { versions: V1BETA1, clientConfig });
      await cluster.apply('', crd as unknown as Manifest);
    }
    await cluster.operator(['--webhooks', `--webhook-bind-address=127.0.0.1:${port}`], {
      main: MAIN,
    });
    namespace = await cluster.namespace();
    // An empty list is not converted.
    const probe = aSite('probe', { bench: 'probe', paused: true });
    await cluster.apply(namespace, aBench('probe', { paused: true }), probe);
    await cluster.until('the conversion to be trusted', () =>
      Promise.all([beta('appbenchs'), beta('appsites')]).catch(() => false),
    );
  });
  after(async () => {
    await cluster.stop();
  });

  /** Objects as the second version. */
  async function beta(plural: string, name = ''): Promise<Live> {
    const path = `/apis/${BETA}/namespaces/${namespace}/${plural}/${name}`;
    return (await cluster.controlPlane.api.request('GET', path.replace(/\/$/, ''))) as Live;
  }

  async function applyBeta(plural: string, manifest: object): Promise<void> {
    const collection = `/apis/${BETA}/namespaces/${namespace}/${plural}`;
    await cluster.controlPlane.api.apply(collection, manifest as never);
  }

  test('is reconciled as the stored one is', async () => {
    await applyBeta('appbenchs', {
      apiVersion: BETA,
      kind: 'AppBench',
      metadata: { name: 'new' },
      spec: { frameworkVersion: 'version-15', apps: [{ name: 'erpnext' }] },
    });
    await applyBeta('appsites', {
      apiVersion: BETA,
      kind: 'AppSite',
      metadata: { name: 'shop' },
      spec: { benchRef: { name: 'new' }, hostName: 'new.example.com', sharedWorkloads: true },
    });
    const site = await cluster.ready('AppSite', namespace, 'shop');
    assert.deepEqual(site.apiVersion, `${DEFAULT_API_GROUP}/v1alpha1`);
    const spec = site.spec as Record<string, unknown>;
    assert.deepEqual([spec['siteName'], spec['workloads']], ['new.example.com', 'Shared']);
    const served = await beta('appsites', 'shop');
    assert.equal(conditionOf(served, 'Ready')?.status, 'True');
    assert.equal((served.spec as Record<string, unknown>)['hostName'], 'new.example.com');
  });

  test('shows what older clients wrote, and gives it back as it was', async () => {
    const before = aBench('old', { appsJSON: '[ "erpnext" ]' });
    await cluster.apply(namespace, before);
    const served = await beta('appbenchs', 'old');
    const { apps } = served.spec as { readonly apps: unknown };
    assert.deepEqual(apps, [{ name: 'erpnext' }]);
    const path = `/apis/${BETA}/namespaces/${namespace}/appbenchs/old`;
    // Converted, changed, and converted back.
    await cluster.controlPlane.api.mergePatch(path, { metadata: { labels: { team: 'web' } } });
    const { spec, metadata } = await cluster.the('AppBench', namespace, 'old');
    assert.equal(metadata.labels?.['team'], 'web');
    assert.equal((spec as { readonly appsJSON?: string }).appsJSON, '[ "erpnext" ]');
    assert.equal((spec as { readonly apps?: unknown }).apps, undefined);
    assert.deepEqual(Object.keys(metadata.annotations ?? {}).filter(isOurs), []);
  });

  test('refuses what the stored version refuses', async () => {
    const site = aSite('bad', { bench: 'new' });
    const spec = { benchRef: { name: 'new' }, hostName: 'UPPER CASE' };
    const refused = applyBeta('appsites', { ...site, apiVersion: BETA, spec });
    await assert.rejects(refused, /spec\.hostName/);
  });
});

function isOurs(key: string): boolean {
  return key.includes('fields-of');
}
