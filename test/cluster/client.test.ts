import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { ConfigMap, Secret } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import {
  ApiError,
  ConnectionError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNotFound,
} from '../../runner/api/api-error.js';
import { type Client, createClient, type WatchEvent } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { type ControlPlane, startControlPlane } from '../../testbed/controlplane/controlplane.js';

interface ConfigMapObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

let cluster: ControlPlane;
let client: Client;
before(async () => {
  cluster = await startControlPlane({ kwokNodes: 0, controllerManager: false, scheduler: false });
  client = await clientOf(cluster.kubeconfig);
});
after(async () => {
  await client.close();
  await cluster.stop();
});

async function clientOf(kubeconfig: string): Promise<Client> {
  return createClient({ credentials: await loadCredentials(kubeconfig, {}) });
}

const configMaps = resourcePath(ConfigMap, 'default');
const pathOf = (name: string): string => resourcePath(ConfigMap, 'default', name);
const aConfigMap = (name: string, data: Record<string, string>): ConfigMapObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

describe('server-side apply', () => {
  test('creates, changes and removes fields', async () => {
    const created = await client.apply<ConfigMapObject>(
      pathOf('applied'),
      aConfigMap('applied', { a: '1', b: '2' }),
      'me',
    );
    assert.deepEqual(
      created.metadata.managedFields?.map(({ manager, operation }) => [manager, operation]),
      [['me', 'Apply']],
    );
    const changed = await client.apply<ConfigMapObject>(
      pathOf('applied'),
      aConfigMap('applied', { a: '3' }),
      'me',
    );
    assert.deepEqual(changed.data, { a: '3' });
  });

  test('keeps the fields of others and takes its own back', async () => {
    await client.apply(pathOf('shared'), aConfigMap('shared', { mine: '1' }), 'me');
    await client.apply(pathOf('shared'), aConfigMap('shared', { mine: 'x', theirs: '2' }), 'other');
    const back = await client.apply<ConfigMapObject>(
      pathOf('shared'),
      aConfigMap('shared', { mine: '1' }),
      'me',
    );
    assert.deepEqual(back.data, { mine: '1', theirs: '2' });
  });

  test('of the same again changes nothing', async () => {
    const first = await client.apply<KubeObject>(
      pathOf('same'),
      aConfigMap('same', { a: '1' }),
      'me',
    );
    const second = await client.apply<KubeObject>(
      pathOf('same'),
      aConfigMap('same', { a: '1' }),
      'me',
    );
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  });
});

describe('an error', () => {
  test('is NotFound for a missing object', async () => {
    await assert.rejects(client.request('GET', pathOf('missing')), isNotFound);
  });

  test('is AlreadyExists for a name that is taken', async () => {
    const create = (): Promise<unknown> =>
      client.request('POST', configMaps, { body: aConfigMap('taken', {}) });
    await create();
    await assert.rejects(create, isAlreadyExists);
  });

  test('is Conflict for a resourceVersion that is old', async () => {
    const old = await client.apply<ConfigMapObject>(
      pathOf('old'),
      aConfigMap('old', { a: '1' }),
      'me',
    );
    await client.apply(pathOf('old'), aConfigMap('old', { a: '2' }), 'me');
    const replace = client.request('PUT', pathOf('old'), { body: old });
    await assert.rejects(replace, (error) => isConflict(error) && !isAlreadyExists(error));
  });

  test('is Conflict for the uid of another object', async () => {
    const { metadata } = await client.apply<KubeObject>(pathOf('uid'), aConfigMap('uid', {}), 'me');
    const remove = (uid: string | undefined): Promise<unknown> =>
      client.request('DELETE', pathOf('uid'), { body: { preconditions: { uid } } });
    await assert.rejects(remove('00000000-0000-0000-0000-000000000000'), isConflict);
    await remove(metadata.uid);
    await assert.rejects(client.request('GET', pathOf('uid')), isNotFound);
  });

  test('is Forbidden, and names the user', async () => {
    const withoutRights = await clientOf(await cluster.userKubeconfig('without-rights'));
    await assert.rejects(withoutRights.request('GET', configMaps), (error) => {
      assert.ok(isForbidden(error));
      assert.match((error as Error).message, /User "without-rights" cannot list/);
      return true;
    });
    await withoutRights.close();
  });

  test('never quotes a secret', async () => {
    const path = resourcePath(Secret, 'default', 'broken');
    const wrong = [
      { stringData: { key: ['hunter2x'] } },
      { data: { key: 'hunter2x is not base64' } },
      { data: 'hunter2x' },
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': 'hunter2x' } },
    ];
    for (const body of wrong) {
      const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'broken' }, ...body };
      await assert.rejects(client.apply(path, object, 'me'), (error) => {
        assert.ok(error instanceof ApiError);
        assert.doesNotMatch(`${error.message} ${JSON.stringify(error)}`, /hunter2x/);
        return true;
      });
    }
  });
});

describe('a watch', () => {
  const options = { signal: new AbortController().signal, idleTimeoutMs: 70_000 };

  /** The next `count` events of a name, then the watch is left. */
  async function events(
    watch: AsyncIterable<WatchEvent<ConfigMapObject>>,
    name: string,
    count: number,
  ): Promise<string[]> {
    const seen: string[] = [];
    for await (const { type, object } of watch) {
      if (object.metadata.name === name) seen.push(`${type} ${object.data?.['a'] ?? ''}`);
      if (seen.length === count) break;
    }
    return seen;
  }

  async function version(): Promise<string> {
    const { metadata } = await client.request<KubeObject>('GET', configMaps, {
      query: { limit: '1' },
    });
    return metadata.resourceVersion ?? '';
  }

  test('brings every change, in order', async () => {
    const resourceVersion = await version();
    const seen = events(
      client.watch<ConfigMapObject>(configMaps, { resourceVersion }, options),
      'seen',
      3,
    );
    await client.apply(pathOf('seen'), aConfigMap('seen', { a: '1' }), 'me');
    await client.apply(pathOf('seen'), aConfigMap('seen', { a: '2' }), 'me');
    await client.request('DELETE', pathOf('seen'));
    assert.deepEqual(await seen, ['ADDED 1', 'MODIFIED 2', 'DELETED 2']);
  });

  test('brings objects that are larger than any chunk', async () => {
    const big = { a: 'x', filler: 'ü'.repeat(400_000) };
    const resourceVersion = await version();
    const watch = client.watch<ConfigMapObject>(configMaps, { resourceVersion }, options);
    const seen = events(watch, 'big', 1);
    await client.apply(pathOf('big'), aConfigMap('big', big), 'me');
    assert.deepEqual(await seen, ['ADDED x']);
  });

  test('ends when its time is over', async () => {
    const query = { resourceVersion: await version(), timeoutSeconds: '1' };
    assert.deepEqual(
      await events(client.watch<ConfigMapObject>(configMaps, query, options), 'none', 1),
      [],
    );
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`ends when the API server ends by ${signal}, and continues after a list`, async () => {
      const resourceVersion = await version();
      const name = `restart-${signal.toLowerCase()}`;
      let opened = (): void => undefined;
      const open = new Promise<void>((resolve) => (opened = resolve));
      const ended = (async () => {
        const query = { resourceVersion, allowWatchBookmarks: 'true' };
        for await (const { object } of client.watch<ConfigMapObject>(configMaps, query, options)) {
          if (object.metadata.name === `${name}-before`) opened();
        }
      })().then(
        () => 'ended',
        (error: unknown) => error,
      );
      await client.apply(pathOf(`${name}-before`), aConfigMap(`${name}-before`, { a: '1' }), 'me');
      await open;
      await cluster.stopApiServer(signal);
      const how = await ended;
      assert.ok(how === 'ended' || how instanceof ConnectionError, String(how));
      await assert.rejects(client.request('GET', configMaps), ConnectionError);
      await cluster.startApiServer();
      await client.apply(pathOf(name), aConfigMap(name, { a: '2' }), 'me');
      const watch = (from: string): AsyncIterable<WatchEvent<ConfigMapObject>> =>
        client.watch<ConfigMapObject>(configMaps, { resourceVersion: from }, options);
      // A new server remembers no event from before its start, and turns watches away until it is ready.
      let refused: unknown;
      do {
        refused = await events(watch(resourceVersion), name, 1).catch((error: unknown) => error);
      } while (refused instanceof ApiError && refused.status === 429);
      assert.ok(isGone(refused), String(refused));
      const seen = events(watch(await version()), name, 1);
      await client.apply(pathOf(name), aConfigMap(name, { a: '3' }), 'me');
      assert.deepEqual(await seen, ['MODIFIED 3']);
    });
  }
});
