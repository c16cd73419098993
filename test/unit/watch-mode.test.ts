import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { BATCHES, KINDS } from '../../constructs/registry.js';
import { watchedKinds } from '../../runner/cache/watch-mode.js';

const kind = (name: string, more: Partial<ObjectKind> = {}): ObjectKind => ({
  apiVersion: 'v1',
  kind: name,
  plural: `${name.toLowerCase()}s`,
  ...more,
});

describe('how a kind is watched', () => {
  const plain = kind('Plain');
  const repaired = kind('Repaired', { content: 'ofChildren' });
  const CASES = [
    { owns: [plain], reads: [], mode: 'children' },
    { owns: [plain], reads: [plain], mode: 'any' },
    { owns: [], reads: [plain], mode: 'references' },
    { owns: [repaired], reads: [], mode: 'children' },
    { owns: [repaired], reads: [repaired], mode: 'childrenAndAny' },
    { owns: [], reads: [repaired], mode: 'references' },
  ] as const;
  for (const { owns, reads, mode } of CASES) {
    const [one] = [...owns, ...reads];
    test(`${mode}: ${one?.kind}, owned ${owns.length}, read ${reads.length}`, () => {
      // Another kind of ours may own or read it.
      const watched = watchedKinds(
        [
          { owns: [...owns], reads: [] },
          { owns: [], reads: [...reads] },
        ],
        [],
      );
      assert.deepEqual(watched, [{ kind: one, mode }]);
      if (owns.length === 0) return;
      const ofBatch = watchedKinds([{ owns: [], reads: [...reads] }], [{ owns: [...owns] }]);
      assert.deepEqual(ofBatch, watched);
    });
  }

  test('of the kinds of this operator', () => {
    const modes = new Map(
      watchedKinds(KINDS, BATCHES).map(({ kind: one, mode }) => [one.kind, mode]),
    );
    const some = ['Deployment', 'Secret', 'ConfigMap', 'Ingress', 'ClusterIssuer'];
    assert.deepEqual(
      some.map((name) => [name, modes.get(name)]),
      [
        ['Deployment', 'children'],
        ['Secret', 'any'],
        ['ConfigMap', 'childrenAndAny'],
        ['Ingress', 'any'],
        ['ClusterIssuer', 'references'],
      ],
    );
  });
});
