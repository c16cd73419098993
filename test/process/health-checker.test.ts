import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kindId } from '../../constructs/kit/object-kind.js';
import type { Child } from '../../runner/cache/child.js';
import type { ChildCache } from '../../runner/cache/child-cache.js';
import type { ReconcileState } from '../../runner/plan/reconcile-state.js';
import { HealthChecker } from '../../runner/health/health-checker.js';
import { plannedOf } from '../../runner/plan/plan.js';
import { MariaDbDatabase } from '../../constructs/integrations/mariadb-operator/kinds.js';
import { healthOf } from '../../constructs/kit/health.js';
import { aPlan, METADATA_KEYS } from '../unit/plan-builder.js';

/** A Job of the plan as the caches have it, with the words of its pods. */
function aJob(live: Partial<Child>, words?: string) {
  const annotations = { [METADATA_KEYS.run]: 'wanted' };
  const plan = aPlan([[{ kind: 'Job', name: 's-init', annotations }]]);
  const [planned] = plannedOf(plan);
  assert.equal(planned && kindId(planned.kind), 'batch/v1/Job');
  const child = { id: planned?.id, kind: planned?.kind, taskHash: 'wanted', ...live } as Child;
  const healthChecker = new HealthChecker({
    children: { get: () => child } as unknown as ChildCache,
    podDiagnostics: { explain: () => Promise.resolve({ why: words }) } as never,
    probes: undefined,
    now: () => 0,
  });
  const pending = () => healthChecker.pending(plan, { pendingSince: undefined } as ReconcileState);
  return { pending, view: () => healthChecker.view(plan, 'Job', 's-init') };
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

describe('a Job that exists', () => {
  const ready = { health: { state: 'Ready', message: '' } } as const;
  test('is counted if it ran the wanted command', () => {
    assert.equal(aJob(ready).view()?.health.state, 'Ready');
  });
  test('is not counted if it ran another command: its success proves nothing', () => {
    assert.equal(aJob({ ...ready, taskHash: 'before' }).view(), undefined);
  });
});

describe('a child of another operator', () => {
  const created = Date.parse('2026-01-01T00:00:00Z');
  const seen = (passedMs: number, status?: object) => {
    const plan = aPlan([[{ kind: 'Database', name: 's-db' }]]);
    const [planned] = plannedOf(plan);
    const health = healthOf(
      { kind: 'Database', metadata: {}, ...(status ? { status } : {}) },
      MariaDbDatabase.health,
    );
    const unobservedSince = health.unobserved ? created : undefined;
    const child = { id: planned?.id, kind: planned?.kind, health, unobservedSince } as Child;
    const healthChecker = new HealthChecker({
      children: { get: () => child } as unknown as ChildCache,
      podDiagnostics: { explain: () => Promise.resolve({}) } as never,
      probes: undefined,
      now: () => created + passedMs,
    });
    return { healthChecker, plan };
  };
  const words = async (passedMs: number, status?: object) => {
    const { healthChecker, plan } = seen(passedMs, status);
    const [entry] = await healthChecker.pending(plan, {
      pendingSince: undefined,
    } as ReconcileState);
    assert.deepEqual(entry?.health, healthChecker.view(plan, 'Database', 's-db')?.health);
    return `${entry?.health.reason ?? ''}: ${entry?.health.message ?? ''}`;
  };

  test('is awaited, and reported when its operator has not observed it for a minute', async () => {
    assert.equal(await words(59_000), ': its operator has not observed it yet');
    const { healthChecker, plan } = seen(59_000);
    assert.equal(healthChecker.untilUnobserved(plan), 1_000);
  });

  test('whose operator is silent has the reason OperatorSilent', async () => {
    assert.match(
      await words(60_000),
      /^OperatorSilent: its operator has not observed it for a minute/,
    );
    const { healthChecker, plan } = seen(60_000);
    // Whoever sees it can tell it from one of which its operator gives a reason.
    assert.equal(healthChecker.view(plan, 'Database', 's-db')?.health.unobserved, true);
    assert.equal(healthChecker.untilUnobserved(plan), undefined);
  });

  test('whose operator has reported a message has that message, of any age', async () => {
    const conditions = [{ type: 'Ready', status: 'False', message: 'no such host' }];
    assert.equal(await words(3_600_000, { conditions }), ': no such host');
    const { healthChecker, plan } = seen(0, { conditions });
    assert.equal(healthChecker.untilUnobserved(plan), undefined);
  });
});
