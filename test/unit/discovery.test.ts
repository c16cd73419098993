import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScaledObject } from '../../constructs/integrations/keda/kinds.js';
import { MariaDbDatabase } from '../../constructs/integrations/mariadb-operator/kinds.js';
import { ApiError } from '../../runner/api/api-error.js';
import { Discovery } from '../../runner/cache/discovery.js';
import { createLogger } from '../../runner/telemetry/log.js';

const ALL = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
/** What the API server offers of a definition that is being deleted. */
const DELETING = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** The changes of two kinds, after each discovery response of the API server. */
async function seen(...answers: readonly (readonly string[] | undefined)[]) {
  let verbs: readonly string[] | undefined;
  const changes: string[] = [];
  const discovery = new Discovery({
    client: {
      request: <T>(_: string, path: string): Promise<T> => {
        if (!verbs) return Promise.reject(new ApiError(404, 'NotFound', {}, 'no'));
        const [name, kind] = path.includes('keda')
          ? ['scaledobjects', 'ScaledObject']
          : ['databases', 'Database'];
        const resources = [
          { name, kind, verbs },
          { name: `${name}/status`, kind, verbs: ['get', 'patch', 'update'] },
          { name: `${name}/scale`, kind: 'Scale', verbs: ['get', 'patch', 'update'] },
        ];
        return Promise.resolve({ resources } as T);
      },
    },
    kinds: [ScaledObject, MariaDbDatabase],
    onChange: ({ kind }, served) =>
      changes.push(`${kind} ${served ? 'is served' : 'is not served'}`),
    log: createLogger({ logLevel: 'error', logEncoder: 'json' }),
  });
  for (const answer of answers) {
    verbs = answer;
    await discovery.refresh();
  }
  return changes;
}

test('an optional API is served and is no longer served', async () => {
  assert.deepEqual(await seen(undefined, ALL, ALL, undefined), [
    'ScaledObject is served',
    'Database is served',
    'ScaledObject is not served',
    'Database is not served',
  ]);
});

test('an API that takes no new objects counts as not served; one that has data is still served', async () => {
  assert.deepEqual(await seen(ALL, DELETING), [
    'ScaledObject is served',
    'Database is served',
    'ScaledObject is not served',
  ]);
});
