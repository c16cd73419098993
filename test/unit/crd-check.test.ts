import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';

import type { Schema } from '../../constructs/kit/definition.js';
import { KINDS } from '../../constructs/registry.js';
import type { Method } from '../../runner/api/client.js';
import { CrdCheck } from '../../runner/cache/crd-check.js';
import { createLogger } from '../../runner/telemetry/log.js';

const [BENCH] = KINDS.map(({ definition }) => definition);
const definition = BENCH ?? assert.fail();

/** An API server with a schema of the first kind. */
function served(schema: (wanted: Schema) => unknown) {
  const calls: string[] = [];
  const changed: string[] = [];
  const whole: Schema = {
    type: 'object',
    properties: { spec: definition.spec, status: definition.status },
  };
  const answer = { hash: '1', schema: schema(whole) };
  const client = {
    request: async <T>(_method: Method, path: string): Promise<T> => {
      calls.push(path);
      const serverRelativeURL = `/openapi/v3/x?hash=${answer.hash}`;
      if (path === '/openapi/v3') {
        return { paths: { 'apis/app-operator.io/v1alpha1': { serverRelativeURL } } } as T;
      }
      const gvk = { 'x-kubernetes-group-version-kind': [{ kind: definition.kind }] };
      return { components: { schemas: { x: { ...(answer.schema as object), ...gvk } } } } as T;
    },
  };
  const crds = new CrdCheck({
    ...{ client, group: 'app-operator.io', definitions: [definition] },
    log: createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough()),
    onChange: (kind) => void changed.push(kind),
  });
  return { crds, calls, changed, answer, whole };
}

function without(schema: Schema, [name = '', ...rest]: readonly string[]): Schema {
  const { [name]: child, ...others } = schema.properties ?? {};
  const kept = child && rest.length > 0 ? { [name]: without(child, rest) } : {};
  return { ...schema, properties: { ...others, ...kept } };
}

describe('the schemas that the cluster serves', () => {
  test('are those of this release: nothing is missing', async () => {
    const { crds, changed } = served((whole) => whole);
    await crds.refresh();
    assert.deepEqual(crds.missing(definition.kind), []);
    assert.deepEqual(changed, []);
  });

  test('of an old CRD lack fields; no status can be written until it is replaced', async () => {
    const { crds, changed, answer, calls, whole } = served((wanted) =>
      without(without(wanted, ['status', 'workerScaling']), ['spec', 'podTemplate', 'affinity']),
    );
    await crds.refresh();
    assert.deepEqual(crds.missing(definition.kind), ['status.workerScaling']);
    assert.equal(
      crds.problemOf(definition),
      'CRD appbenchs.app-operator.io: lacks fields of this release: status.workerScaling; nothing is changed until you apply the CRDs of this release',
    );
    await crds.refresh();
    assert.equal(calls.length, 3, 'an unchanged document is not read again');
    Object.assign(answer, { hash: '2', schema: whole });
    await crds.refresh();
    assert.equal(crds.problemOf(definition), undefined);
    assert.deepEqual(changed, [definition.kind, definition.kind]);
  });

  test('that lack a field of the spec only leave the operator at work', async () => {
    const { crds } = served((wanted) => without(wanted, ['spec', 'podTemplate']));
    await crds.refresh();
    assert.equal(crds.problemOf(definition), undefined);
  });

  test('of a CRD that has lost its schema take everything', async () => {
    const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const { crds } = served(() => anything);
    await crds.refresh();
    assert.deepEqual(crds.missing(definition.kind), []);
  });
});
