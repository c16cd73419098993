import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { objectKind } from '../../constructs/kit/definition.js';
import { KINDS } from '../../constructs/registry.js';
import type { Client } from '../../runner/api/client.js';
import { LiveResources, type OwnKind } from '../../runner/reconcile/live-resources.js';

const aResource = (
  kind: string,
  name: string,
  generation: number,
  spec: object = {},
): Resource => ({
  apiVersion: 'app-operator.io/v1alpha1',
  kind,
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, generation },
  spec,
});

/** Reads of resources that the API server has, by callers that have others in their caches. */
function resources(live: readonly Resource[], cached: readonly Resource[]) {
  const byPath = (path: string): Resource | undefined =>
    live.find(({ kind, metadata }) => path.endsWith(`/${kind.toLowerCase()}s/${metadata.name}`));
  const found: string[] = [];
  const own = KINDS.map((kind): [string, OwnKind] => {
    const name = kind.definition.kind;
    return [
      name,
      {
        api: objectKind(kind.definition),
        kind,
        found: (object: KubeObject) => found.push(object.metadata.name),
        cached: (key) =>
          cached.find((one) => one.kind === name && `ns/${one.metadata.name}` === key),
      },
    ];
  });
  const client = {
    request: (_method: string, path: string) => Promise.resolve(byPath(path)),
  } as unknown as Pick<Client, 'request'>;
  return {
    reader: new LiveResources(client, new Map(own), metadataKeysFor('app-operator.io')),
    found,
  };
}

describe('a resource and what it refers to', () => {
  const site = aResource('AppSite', 's', 1, { benchRef: { name: 'b' } });
  const backup = aResource('SiteBackup', 'k', 1, { siteRef: { name: 's' } });

  test('are current', async () => {
    const all = [site, backup, aResource('AppBench', 'b', 2)];
    const { reader, found } = resources(all, all);
    assert.equal(await reader.isCurrentWithParents(backup), true);
    assert.deepEqual(found, []);
  });

  test('are not current where the bench of the site is stale, which the caches then get', async () => {
    const live = [site, backup, aResource('AppBench', 'b', 2)];
    const { reader, found } = resources(live, [site, backup, aResource('AppBench', 'b', 1)]);
    for (const resource of [site, backup]) {
      assert.equal(await reader.isCurrentWithParents(resource), false);
    }
    assert.deepEqual(found, ['b', 'b']);
  });

  test('are current without a parent', async () => {
    const { reader } = resources([site], [site]);
    assert.equal(await reader.isCurrentWithParents(site), true);
  });
});
