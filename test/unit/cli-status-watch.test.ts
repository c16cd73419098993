import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { bench } from './cli-objects.js';
import { CliError } from '../../cli/arguments/errors.js';
import { statusLive } from '../../cli/commands/status/live.js';
import { listings } from '../../cli/kube/kinds.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { WatchEvent } from '../../runner/api/client.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import type { ApiClient } from '../../cli/kube/connect.js';

const GROUP = 'app-operator.io';
const NAMESPACE = 'ns';
const BENCHES = collectionOf('AppBench');

function collectionOf(name: string): string {
  const listing = listings(GROUP).find(({ kind }) => kind.kind === name);
  assert.ok(listing, name);
  return resourcePath(listing.kind, NAMESPACE);
}

/** An API server with one bench. Its watches stay open without events. */
class OneBench implements ApiClient {
  /** What requests of a path fail with. */
  readonly failures = new Map<string, Error>();

  async request<T>(_method: string, path: string): Promise<T> {
    const failure = this.failures.get(path);
    if (failure) throw failure;
    const items = path === BENCHES ? [bench()] : [];
    return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items } as T;
  }

  // eslint-disable-next-line require-yield -- there are no events
  async *watch<O extends KubeObject>(
    _path: string,
    _query: unknown,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<O>> {
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }
}

describe('status --watch of one resource', () => {
  const watched = (client: ApiClient, kind: string, name: string): Promise<number> => {
    let shown = 0;
    const props = { client, apiGroup: GROUP, namespace: NAMESPACE, selection: { kind, name } };
    return statusLive(props, AbortSignal.timeout(5_000), () => {
      shown += 1;
      return 'stop';
    }).then(() => shown);
  };
  const failsWith = (message: string) => (error: unknown) =>
    error instanceof CliError && error.message === message;

  test('follows a resource that exists', async () => {
    assert.equal(await watched(new OneBench(), 'AppBench', 'b'), 1);
  });

  test('ends for a name that does not exist', async () => {
    await assert.rejects(
      watched(new OneBench(), 'AppSite', 'shop'),
      failsWith('AppSite "shop" not found in namespace ns'),
    );
  });

  test('ends for a kind that the user may not list', async () => {
    const client = new OneBench();
    client.failures.set(collectionOf('AppSite'), new ApiError(403, 'Forbidden', {}, 'no'));
    await assert.rejects(
      watched(client, 'AppSite', 'shop'),
      failsWith('forbidden: cannot list appsites.app-operator.io in namespace ns'),
    );
  });
});
