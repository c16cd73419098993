import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { namedSecretOf } from '../../constructs/kit/secret-values.js';
import type { KubeObject, ObjectMeta } from '../../constructs/kit/object.js';
import { resolveSite } from '../../constructs/kinds/site/resolve.js';
import { referenceSink } from '../../runner/cache/readable-sink.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { Secret } from '../../constructs/kit/object-kind.js';
import { aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';

const NAME = 'demo-site-admin-password';
const CREATED = '2026-01-01T00:00:00Z';
const OWNER = { 'app-operator.io/owner': 'AppSite.demo-site' };
const data = (manager: string, time: string) => ({
  manager,
  operation: 'Update' as const,
  time,
  fieldsV1: { 'f:data': { 'f:password': {} } },
});

/** The Secret as the API server has it. */
function secret(metadata: Partial<ObjectMeta> = {}): KubeObject {
  const common = { ...aSecret(NAME).metadata, creationTimestamp: CREATED };
  return { ...aSecret(NAME), metadata: { ...common, ...metadata } };
}
const generated = (metadata: Partial<ObjectMeta> = {}): KubeObject =>
  secret({
    labels: OWNER,
    annotations: { 'app-operator.io/generated-id': 'id1' },
    managedFields: [data('app-operator', CREATED)],
    ...metadata,
  });
const edited = (resourceVersion: string): KubeObject =>
  generated({
    resourceVersion,
    managedFields: [data('app-operator', CREATED), data('kubectl-edit', '2026-02-01T00:00:00Z')],
  });

/** What a kind reads of a Secret through the cache of the runner. */
function cached(object: KubeObject): KubeObject {
  const dependencies = new DependencyTracker({
    settings: DEFAULT_SETTINGS,
    indexes: [],
    enqueue: () => undefined,
  } as unknown as ConstructorParameters<typeof DependencyTracker>[0]);
  referenceSink(Secret, dependencies, () => true).upsert(object);
  const found = [...dependencies.objects('Secret').values()][0];
  assert.ok(found);
  return found;
}

suite('the Secret <site>-admin-password', () => {
  const others = [aReadyBench(), aSecret('demo-bench-redis-auth')];
  const inputsWith = (object?: KubeObject) =>
    resolveSite(aSite(), aReader([...others, ...(object ? [cached(object)] : [])])).data;
  /** The task of the init Job: it runs again when this changes. */
  const runWith = (object: KubeObject): unknown => {
    const site = aSite();
    const reader = aReader([...others, cached(object)]);
    const kind = kindOf(site);
    const inputs = kind.resolve(site, reader);
    const objects = graphOf(kind, site, (scope, id) =>
      kind.chart(scope, id, { resource: site, inputs }),
    ).flatMap((stage) => stage.objects);
    const job = objects.find(({ metadata }) => metadata.name === 'demo-site-init');
    return job?.metadata.annotations?.['app-operator.io/run'];
  };

  test('is generated where it does not exist', () => {
    assert.equal(inputsWith().generatesPassword, true);
  });
  test('a Secret of that name that a user has created is the user’s', () => {
    const inputs = inputsWith(secret({ resourceVersion: '7' }));
    assert.equal(inputs.generatesPassword, false);
    assert.deepEqual(inputs.adminPassword, { secret: NAME, version: '7' });
  });
  test('a user’s Secret changes the password when it changes', () => {
    assert.notEqual(
      runWith(secret({ resourceVersion: '7' })),
      runWith(secret({ resourceVersion: '8' })),
    );
  });
  test('an edit of the generated Secret changes the password, each time', () => {
    const [before, first, second] = [generated(), edited('7'), edited('8')].map(runWith);
    assert.equal(new Set([before, first, second]).size, 3);
    assert.equal(inputsWith(edited('7')).generatesPassword, true);
  });
  test('other changes of the generated Secret do not', () => {
    const relabelled = generated({ resourceVersion: '9', labels: { ...OWNER, a: 'b' } });
    assert.equal(runWith(relabelled), runWith(generated()));
  });
  test('a backup tool that restores it changes nothing', () => {
    const restored = generated({
      creationTimestamp: '2026-03-01T00:00:00Z',
      managedFields: [data('velero-server', '2026-03-01T00:00:00Z')],
    });
    assert.equal(runWith(restored), runWith(generated()));
  });
  test('is generated in a preview, which assumes Secrets to exist', () => {
    const assumed = { apiVersion: '', kind: 'Secret', metadata: { name: NAME } };
    assert.deepEqual(namedSecretOf(assumed), { generated: true, id: '', version: '' });
  });
});
