import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviations } from '../../tools/benchmark/expected.js';
import { foldProfile } from '../../tools/benchmark/profile.js';

const frame = (functionName: string, url = '') => ({ functionName, url });

test('the time of a profile is that of the nearest caller with an area', () => {
  const nodes = [
    { id: 1, callFrame: frame('(root)'), children: [2, 5, 6] },
    { id: 2, callFrame: frame('reconcile', 'file:///a/runner/reconcile/x.js'), children: [3] },
    { id: 3, callFrame: frame('hashOf', 'file:///a/constructs/kit/json/hash.js'), children: [4] },
    { id: 4, callFrame: frame('stringify') },
    { id: 5, callFrame: frame('(garbage collector)') },
    { id: 6, callFrame: frame('(idle)') },
  ];
  const samples = [2, 4, 4, 5, 6];
  const timeDeltas = [1_000, 2_000, 3_000, 4_000, 100_000];
  assert.deepEqual(
    [...foldProfile({ nodes, samples, timeDeltas })],
    [
      ['canonical JSON, hashing', 5],
      ['garbage collection', 4],
      ['reconcile', 1],
    ],
  );
});

test('a figure that differs from the expected one by more than its tolerance is named', () => {
  const expected = {
    callsPerSite: 16.3,
    passesPerSite: 5,
    allocatedPerSite: 10_000_000,
    quietWrites: 0,
    synthesizedPerChange: 10,
    restartWrites: 0,
  };
  const found = { ...expected, callsPerSite: 16.9, allocatedPerSite: 9_100_000 };
  assert.deepEqual(deviations(found, expected), []);
  const update = 'if this is meant, run: npm run benchmark -- --update';
  assert.deepEqual(
    deviations({ ...found, allocatedPerSite: 11_200_000, restartWrites: 1 }, expected),
    [
      `allocatedPerSite: expected 10000000 ± 10 %: 11200000; ${update}`,
      `restartWrites: expected 0: 1; ${update}`,
    ],
  );
  const { quietWrites: _missing, ...others } = expected;
  assert.deepEqual(deviations(expected, others), [`quietWrites: expected NaN: 0; ${update}`]);
});
