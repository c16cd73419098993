import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { App, Chart, JsonPatch } from 'cdk8s';

import { renderObjects } from '../../cli/testing.js';
import { toYaml } from '../../cli/io/yaml.js';
import { Bench, type KubeObject, ManifestError, resources, Site } from '../../constructs/index.js';

const chart = (namespace?: string): Chart =>
  new Chart(new App(), 'mine', namespace === undefined ? {} : { namespace });
const synth = (parent: Chart): KubeObject[] => parent.toJson() as KubeObject[];
const named = (objects: readonly KubeObject[], kind: string, name: string): KubeObject => {
  const found = objects.find((one) => one.kind === kind && one.metadata.name === name);
  assert.ok(found, `${kind}/${name}`);
  return found;
};

const MANIFESTS = [
  {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppBench',
    metadata: { name: 'b' },
    spec: { frameworkVersion: 'version-15', appsJSON: '["erpnext"]' },
  },
  ...['s', 't'].map((name) => ({
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppSite',
    metadata: { name },
    spec: { benchRef: { name: 'b' }, siteName: `${name}.example.com` },
  })),
];

function benchAndSites(parent: Chart): Bench {
  const bench = new Bench(parent, 'bench', {
    metadata: { name: 'b' },
    spec: { frameworkVersion: 'version-15', appsJson: '["erpnext"]' },
  });
  for (const name of ['s', 't']) {
    new Site(parent, name, {
      metadata: { name },
      spec: { siteName: `${name}.example.com` },
      bench,
    });
  }
  return bench;
}

describe("a bench and its sites in a user's chart", () => {
  test('hold the same objects as a preview of their manifests', () => {
    const parent = chart();
    benchAndSites(parent);
    assert.equal(toYaml(synth(parent)), renderObjects(MANIFESTS));
  });

  test("are in the chart's namespace, unless they name one", () => {
    const parent = chart('team');
    benchAndSites(parent);
    assert.ok(synth(parent).every(({ metadata }) => metadata.namespace === 'team'));
    const other = chart('team');
    new Bench(other, 'bench', {
      metadata: { name: 'b', namespace: 'own' },
      spec: { frameworkVersion: 'version-15' },
    });
    assert.ok(synth(other).every(({ metadata }) => metadata.namespace === 'own'));
  });

  test('can be patched, before and after sites are created', () => {
    const parent = chart();
    const bench = new Bench(parent, 'bench', {
      metadata: { name: 'b' },
      spec: { frameworkVersion: 'version-15' },
    });
    bench.object('ConfigMap', 'b-nginx').addJsonPatch(JsonPatch.add('/immutable', false));
    const site = new Site(parent, 's', {
      metadata: { name: 's' },
      spec: { siteName: 's.example.com' },
      bench,
    });
    site.object('Deployment', 's-gunicorn').metadata.addAnnotation('team', 'web');
    const objects = synth(parent);
    const routes = named(objects, 'ConfigMap', 'b-nginx');
    assert.equal((routes as { immutable?: boolean }).immutable, false);
    assert.ok(JSON.stringify(routes).includes('s.example.com'));
    const gunicorn = named(objects, 'Deployment', 's-gunicorn');
    assert.deepEqual(gunicorn.metadata.annotations, { team: 'web' });
    assert.throws(
      () => bench.object('Deployment', 'b'),
      /there is no Deployment b; there are .*b-/,
    );
  });

  test('can be custom resources instead, as they were written', () => {
    const parent = chart('team');
    const bench = new Bench(parent, 'bench', {
      metadata: { name: 'b', labels: { team: 'web' } },
      spec: { frameworkVersion: 'version-15' },
      emit: 'resource',
    });
    new Site(parent, 's', { metadata: { name: 's' }, spec: { siteName: 's.example.com' }, bench });
    assert.deepEqual(synth(parent), [
      {
        apiVersion: 'app-operator.io/v1alpha1',
        kind: 'AppBench',
        metadata: { labels: { team: 'web' }, name: 'b', namespace: 'team' },
        spec: { frameworkVersion: 'version-15' },
      },
      {
        apiVersion: 'app-operator.io/v1alpha1',
        kind: 'AppSite',
        metadata: { name: 's', namespace: 'team' },
        spec: { benchRef: { name: 'b' }, siteName: 's.example.com' },
      },
    ]);
    assert.throws(() => bench.object('Job', 'b-init'), /the custom resource is emitted/);
  });

  test('take the options of a preview from the bench', () => {
    const parent = chart();
    const bench = new Bench(parent, 'bench', {
      metadata: { name: 'b' },
      spec: { frameworkVersion: 'version-15' },
      apiGroup: 'benches.example.org',
      serves: ['cert-manager.io/v1/Certificate'],
    });
    const tls = { enabled: true, certManagerIssuer: 'le' };
    new Site(parent, 's', {
      metadata: { name: 's' },
      spec: { siteName: 's.example.com', ingress: { enabled: true, tls } },
      bench,
    });
    const objects = synth(parent);
    named(objects, 'Certificate', 's-tls');
    const { labels } = named(objects, 'Job', 's-init').metadata;
    assert.equal(labels?.['benches.example.org/owner'], 'AppSite.s');
  });
});

describe('a construct refuses', () => {
  test('what admission refuses', () => {
    const make = (): unknown =>
      new Bench(chart(), 'bench', {
        metadata: { name: 'Shop' },
        spec: { frameworkVersion: 'version-15', componentReplicas: { gunicorn: -1 } },
      });
    assert.throws(make, (error: unknown) => {
      assert.ok(error instanceof ManifestError);
      assert.deepEqual(
        error.problems.map(({ path }) => path),
        ['spec.componentReplicas.gunicorn', 'metadata.name'],
      );
      return true;
    });
  });

  test('what the operator would refuse', () => {
    const spec = { frameworkVersion: 'version-15', appsJson: 'erpnext' };
    assert.throws(
      () => new Bench(chart(), 'bench', { metadata: { name: 'b' }, spec }),
      /^ManifestError: AppBench\/b: spec\.appsJSON: Invalid value: erpnext: is not JSON/,
    );
  });

  test('a second site of one host name', () => {
    const parent = chart();
    const bench = benchAndSites(parent);
    // Its name comes first in the alphabet: what counts is which was there first.
    const reconcileAgain = { metadata: { name: 'a' }, spec: { siteName: 't.example.com' }, bench };
    assert.throws(
      () => new Site(parent, 'again', reconcileAgain),
      /AppSite t on bench b has this host name/,
    );
  });

  test('a site of the name of its bench', () => {
    const parent = chart();
    const bench = benchAndSites(parent);
    const same = { metadata: { name: 'b' }, spec: { siteName: 'b.example.com' }, bench };
    assert.throws(() => new Site(parent, 'same', same), /metadata\.name: Invalid value: "b"/);
  });
});

test('the package exports the kinds as cdk8s imports them', () => {
  const parent = chart();
  new resources.SiteUser(parent, 'ada', {
    metadata: { name: 'ada' },
    spec: { siteRef: { name: 's' }, email: 'ada@example.org', firstName: 'Ada' },
  });
  assert.equal(synth(parent)[0]?.kind, 'SiteUser');
});
