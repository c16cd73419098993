import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { renderNginxConfig } from '../../constructs/kinds/bench/nginx-config.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { aBench, aReader, aSite } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';

/** Bytes of a request that etcd takes are 1.5 MiB; a ConfigMap may have 1 MiB. */
const MAX_BYTES = 1 << 20;
const LABEL = 'x'.repeat(60);

/** A site whose host names are as long as they may be. */
function longSite(index: number): Resource {
  const name = `s${index}`;
  const alias = `${name}.${LABEL}.${LABEL}.${LABEL}.${LABEL}`.slice(0, 200).replace(/\.$/, '');
  return aSite(
    { siteName: `${name}.example.com`, workloads: 'Dedicated', aliases: [alias] },
    { name },
  );
}

function objectsOf(count: number): readonly KubeObject[] {
  const bench = aBench({ networkPolicy: { egress: { enabled: true } } });
  const sites = Array.from({ length: count }, (_, index) => longSite(index));
  const kind = kindOf(bench);
  const inputs = kind.resolve(bench, aReader([bench, ...sites]));
  return graphOf(kind, bench, (scope, id) =>
    kind.chart(scope, id, { resource: bench, inputs }),
  ).flatMap(({ objects }) => objects);
}

interface Pod {
  readonly template: { readonly spec: { readonly volumes: readonly Volume[] } };
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly projected?: {
    readonly sources: readonly { readonly configMap: { readonly name: string } }[];
  };
}

/** Names of the ConfigMaps that nginx mounts. */
function mountedBy(objects: readonly KubeObject[]): readonly string[] {
  const deployment = objects.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-nginx'),
  ) as unknown as { readonly spec: Pod } | undefined;
  const volume = deployment?.spec.template.spec.volumes.find(({ name }) => name === 'nginx-config');
  assert.ok(volume);
  if (volume.configMap) return [volume.configMap.name];
  return (volume.projected?.sources ?? []).map(({ configMap }) => configMap.name);
}

suite('a bench with many sites', () => {
  for (const [count, configMaps] of [
    [100, 1],
    [2000, 17],
    [10_000, 17],
    [20_000, 65],
  ] as const) {
    test(`of ${count} sites has no object that the API server refuses for its size`, () => {
      const objects = objectsOf(count);
      const sizes = objects.map(
        (object) => [object.metadata.name, JSON.stringify(object).length] as const,
      );
      assert.deepEqual(
        sizes.filter(([, bytes]) => bytes >= MAX_BYTES),
        [],
      );
      const mounted = mountedBy(objects);
      assert.equal(mounted.length, configMaps);
      const made = objects.filter(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-nginx'),
      );
      assert.deepEqual(made.map(({ metadata }) => metadata.name).sort(), [...mounted].sort());
    });
  }
});

suite('the maps of many sites', () => {
  const siteName = (index: number): string => `s${index}.example.com`;
  const config = (count: number, but = -1) => {
    const backend = `${'b'.repeat(200)}:8000`.replaceAll(/b{50}/g, `${'b'.repeat(49)}.`);
    const all = Array.from({ length: count }, (_, index) => index);
    const sites = all
      .filter((index) => index !== but)
      .map((index) => ({
        siteName: siteName(index),
        domains: [],
        protocol: 'https' as const,
        backend: backend.replace('.:', ':'),
      }));
    return renderNginxConfig({ sites, clientMaxBodySize: '1m', proxyReadTimeout: 1 });
  };

  test('have each site once, and its backend beside it', () => {
    const { files, parts } = config(5000);
    assert.match(files['sites.conf'] ?? '', /include hosts-\*\.conf;/);
    const keys = (prefix: string): readonly string[][] =>
      parts.map((part) =>
        Object.entries(part)
          .filter(([file]) => file.startsWith(prefix))
          .flatMap(([, text]) => text.match(/\S+(?= )/g) ?? [])
          .filter((word) => word.startsWith('s')),
      );
    const hosts = keys('hosts-');
    assert.deepEqual(
      hosts.flat().sort(),
      Array.from({ length: 5000 }, (_, index) => siteName(index)).sort(),
    );
    assert.deepEqual(keys('backends-'), hosts);
    assert.deepEqual(keys('protocols-'), hosts);
    assert.ok(hosts.every((part) => part.length > 0));
  });

  test('change in one part when a site goes', () => {
    const [before, after] = [config(5000), config(5000, 17)];
    assert.deepEqual(after.files, before.files);
    const changed = before.parts.filter(
      (part, index) => JSON.stringify(part) !== JSON.stringify(after.parts[index]),
    );
    assert.equal(changed.length, 1);
  });
});
