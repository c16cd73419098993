import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kindId } from '../../constructs/kit/object-kind.js';
import type { Child } from '../../runner/cache/child.js';
import type { ChildCache } from '../../runner/cache/child-cache.js';
import type { Memory } from '../../runner/reconcile/memory.js';
import { Observer } from '../../runner/reconcile/observer.js';
import { plannedOf } from '../../runner/reconcile/plan.js';
import { aPlan, MARKERS } from './plan-builder.js';

/** A Job of the plan as the caches have it, with the words of its pods. */
function aJob(live: Partial<Child>, words?: string) {
  const annotations = { [MARKERS.run]: 'wanted' };
  const plan = aPlan([[{ kind: 'Job', name: 's-init', annotations }]]);
  const [planned] = plannedOf(plan);
  assert.equal(planned && kindId(planned.kind), 'batch/v1/Job');
  const child = { id: planned?.id, kind: planned?.kind, run: 'wanted', ...live } as Child;
  const observer = new Observer({
    children: { get: () => child } as unknown as ChildCache,
    diagnostician: { explain: () => Promise.resolve(words) } as never,
    prober: undefined,
    now: () => 0,
  });
  const pending = () => observer.pending(plan, { pendingSince: undefined } as Memory);
  return { pending, view: () => observer.view(plan, 'Job', 's-init') };
}

const failed = { health: { state: 'Failed', message: 'BackoffLimitExceeded' } } as const;

describe('a failed Job', () => {
  for (const [words, reason] of [
    ['DatabaseAccessDenied: db:3306 refuses root: 1045', 'DatabaseAccessDenied'],
    ['container init ended with exit code 137', undefined],
    ['Traceback (most recent call last): KeyError: x', undefined],
    [undefined, undefined],
  ] as const) {
    test(`that ends with ${words ?? 'nothing'} has the reason ${reason ?? 'of its kind'}`, async () => {
      const [entry] = await aJob(failed, words).pending();
      assert.equal(entry?.health.reason, reason);
      if (words !== undefined) assert.ok(entry?.health.message.endsWith(words));
    });
  }
});

describe('a Job that is there', () => {
  const ready = { health: { state: 'Ready', message: '' } } as const;
  test('is seen where it was made for what is wanted', () => {
    assert.equal(aJob(ready).view()?.health.state, 'Ready');
  });
  test('is not seen where it has done something else: its success says nothing', () => {
    assert.equal(aJob({ ...ready, run: 'before' }).view(), undefined);
  });
});
