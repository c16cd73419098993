import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { bench as kind } from '../../constructs/bench/index.js';
import type { Judgement } from '../../constructs/kit/kind.js';
import { aBench, aWorld } from '../golden/builders.js';

const EXPORTER = {
  kind: 'Deployment',
  name: 'demo-metrics',
  health: { state: 'InProgress', message: '0 of 1 pods are ready' },
} as const;

/** A bench whose children are all ready but its exporter, where that is pending. */
function observe(complete: boolean, pending: readonly (typeof EXPORTER)[]): Judgement {
  const resource = aBench({}, { name: 'demo' });
  const facts = kind.gather(resource, aWorld([resource]));
  const ready = complete && pending.length === 0;
  const rest = { runs: [], probes: [], child: () => undefined };
  return kind.observe({ resource, facts, pending, complete, ready, ...rest });
}

suite('a bench and its exporter', () => {
  test('it is Ready without', () => {
    assert.equal(observe(true, [EXPORTER]).ready.status, 'True');
    assert.equal(observe(true, []).ready.status, 'True');
  });

  test('it is not Ready while some of its tree is not applied, exporter or not', () => {
    assert.equal(observe(false, []).ready.status, 'False');
    assert.equal(observe(false, [EXPORTER]).ready.status, 'False');
  });
});
