import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { run } from '../../testbed/controlplane/run.js';
import { ARGO_CD_HEALTH, FLUX_HEALTH } from '../../tools/generate/gitops.js';
import { ensureTool } from '../../tools/release/external-tools.js';
import { cases, EXPECTED } from './cases.js';

interface Result {
  readonly argo: string;
  readonly message: string;
  readonly flux: string;
}

/** The health of objects by the virtual machine of Argo CD and by the evaluator of Flux. */
async function healthOf(objects: readonly object[]): Promise<readonly Result[]> {
  const input = JSON.stringify({ lua: ARGO_CD_HEALTH, exprs: FLUX_HEALTH, objects });
  return JSON.parse(await run(await ensureTool('gitops'), [], { input })) as readonly Result[];
}

const SAME: Readonly<Record<string, string>> = {
  Healthy: 'Current',
  Progressing: 'InProgress',
  Degraded: 'Failed',
};

describe('Argo CD and Flux', () => {
  test('show the health of each golden scenario, and agree', async () => {
    const all = cases();
    const results = await healthOf(all.map(({ object }) => object));
    assert.equal(results.length, all.length);
    const seen = new Map(all.map(({ name }, index) => [name, results[index]]));
    for (const [name, { argo, flux }] of Object.entries(EXPECTED)) {
      assert.deepEqual([seen.get(name)?.argo, seen.get(name)?.flux], [argo, flux], name);
    }
    for (const [name, result] of seen) {
      assert.equal(result?.flux, SAME[result?.argo ?? ''], name);
      assert.notEqual(result?.message, '', name);
    }
    assert.deepEqual(new Set(results.map(({ argo }) => argo)), new Set(Object.keys(SAME)));
  });

  test('wait for an operator that has not seen the object, or not its change', async () => {
    const ready = { type: 'Ready', status: 'True', message: 'ready' };
    const object = {
      apiVersion: 'app-operator.io/v1alpha1',
      kind: 'AppSite',
      metadata: { name: 'a', generation: 2 },
    };
    const results = await healthOf([
      { ...object, status: {} },
      { ...object, status: { observedGeneration: 1, conditions: [ready] } },
      { ...object, status: { observedGeneration: 2, conditions: [ready] } },
    ]);
    assert.deepEqual(
      results.map(({ argo, flux }) => [argo, flux]),
      [
        ['Progressing', 'InProgress'],
        ['Progressing', 'InProgress'],
        ['Healthy', 'Current'],
      ],
    );
  });
});
