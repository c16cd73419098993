import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { ConditionResult } from '../../constructs/kit/condition.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import type { StatusResult } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import { KINDS } from '../../constructs/registry.js';
import type { Report } from '../../runner/reconcile/report.js';
import type { Status } from '../../runner/plan/resource-status.js';
import { difference, statusOf } from '../../runner/reconcile/status.js';

const NOW = new Date('2026-02-03T04:05:06.789Z');
const THEN = '2026-01-01T00:00:00Z';

const definition = (fields: readonly string[] = []): KindDefinition => ({
  kind: 'Thing',
  plural: 'things',
  singular: 'thing',
  shortNames: [],
  description: '',
  printerColumns: [],
  maxNameLength: 45,
  spec: {},
  status: { properties: Object.fromEntries(fields.map((field) => [field, {}])) },
});

const thing = (fields?: readonly string[]) => ({
  definition: definition(fields),
  durableStatus: ['startTime'],
  durableOnChange: ['image'],
});

const resource = (status?: Status, generation = 3): Resource<unknown, Status> => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 't', generation },
  spec: {},
  ...(status ? { status } : {}),
});

const ready: ConditionResult = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: 'all is well',
};
const unready: ConditionResult = {
  type: 'Ready',
  status: 'False',
  reason: 'Waiting',
  message: 'for x',
};

const report = (statusResult: Partial<StatusResult>, more: Partial<Report> = {}): Report => ({
  statusResult: { phase: 'Ready', ready, ...statusResult },
  stalled: false,
  changes: [],
  ...more,
});

const made = (given: Report, before?: Status, fields?: readonly string[]): Status =>
  statusOf(thing(fields), resource(before), given, NOW);
const types = ({ conditions = [] }: Status): string[] =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

describe('a status', () => {
  test('speaks of the generation that was looked at', () => {
    const status = made(report({}));
    assert.equal(status.observedGeneration, 3);
    assert.deepEqual(
      status.conditions?.map(({ observedGeneration }) => observedGeneration),
      [3],
    );
  });

  test('has the phase and the fields of the result', () => {
    const { phase, siteURL } = made(report({ phase: 'Updating', fields: { siteURL: 'http://x' } }));
    assert.deepEqual([phase, siteURL], ['Updating', 'http://x']);
  });

  test('keeps the fields that the report does not set', () => {
    const before = { siteURL: 'http://x', appliedHash: 'h', phase: 'Ready' };
    const after = made(report({ phase: 'Pending', ready: unready }), before);
    assert.deepEqual([after['siteURL'], after.appliedHash], ['http://x', 'h']);
  });

  test('takes the new digest of the children if the report has one', () => {
    const before = { appliedHash: 'old' };
    assert.equal(made(report({}, { appliedHash: 'new' }), before).appliedHash, 'new');
  });

  for (const [conditionResult, wanted] of [
    [ready, true],
    [unready, false],
  ] as const) {
    test(`has ready: ${wanted} if its kind has such a field`, () => {
      assert.equal(made(report({ ready: conditionResult }), undefined, ['ready'])['ready'], wanted);
      assert.equal('ready' in made(report({ ready: conditionResult })), false);
    });
  }
});

describe('the conditions', () => {
  const paused: ConditionResult = {
    type: 'Paused',
    status: 'True',
    reason: 'Paused',
    message: 'p',
  };
  const own: ConditionResult = { type: 'TLS', status: 'False', reason: 'NoIssuer', message: 'm' };
  for (const [what, given, wanted] of [
    ['ready', report({}), ['Ready=True Ready']],
    ['at work', report({ ready: unready }), ['Ready=False Waiting', 'Reconciling=True Waiting']],
    [
      'stalled',
      report({ ready: unready }, { stalled: true }),
      ['Ready=False Waiting', 'Stalled=True Waiting'],
    ],
    [
      'paused',
      report({ ready: unready, conditions: [paused] }),
      ['Ready=False Waiting', 'Paused=True Paused'],
    ],
    [
      'ready, with one of its own',
      report({ conditions: [own] }),
      ['Ready=True Ready', 'TLS=False NoIssuer'],
    ],
  ] as const) {
    test(`of a resource that is ${what} are ${wanted.join(', ')}`, () => {
      assert.deepEqual(types(made(given)), wanted);
    });
  }

  const times = (status: Status): Record<string, string> =>
    Object.fromEntries(
      (status.conditions ?? []).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]),
    );

  test('have a time in whole seconds when they are new', () => {
    assert.deepEqual(times(made(report({}))), { Ready: '2026-02-03T04:05:06Z' });
  });

  test('keep their time while only reason, message or generation change', () => {
    const before: Status = { conditions: [{ ...unready, lastTransitionTime: THEN }] };
    const after = made(report({ ready: { ...unready, reason: 'Other', message: 'y' } }), before);
    assert.deepEqual(times(after), { Ready: THEN, Reconciling: '2026-02-03T04:05:06Z' });
    assert.equal(after.conditions?.[0]?.reason, 'Other');
  });

  test('get a new time when their status flips, each by itself', () => {
    const conditions = [unready, own].map((conditionResult) => ({
      ...conditionResult,
      lastTransitionTime: THEN,
    }));
    const after = made(report({ conditions: [own] }), { conditions });
    assert.deepEqual(times(after), { Ready: '2026-02-03T04:05:06Z', TLS: THEN });
  });

  test('have messages that the API accepts, however long', () => {
    const after = made(report({ ready: { ...unready, message: 'x'.repeat(100_000) } }));
    assert.ok((after.conditions?.[0]?.message.length ?? 0) <= 32_768);
  });
});

describe('two statuses', () => {
  const base = made(report({ fields: { sites: 1 } }));
  const [condition] = base.conditions ?? [];
  assert.ok(condition);
  const withCondition = (change: object): Status => ({
    ...base,
    conditions: [{ ...condition, ...change }],
  });
  for (const [what, after, wanted] of [
    ['nothing', { ...base }, 'none'],
    ['the order of their fields', Object.fromEntries(Object.entries(base).reverse()), 'none'],
    ['a message', withCondition({ message: 'another' }), 'minor'],
    ['a further field', { ...base, sites: 2 }, 'minor'],
    ['the phase', { ...base, phase: 'Failed' }, 'major'],
    ['the generation', { ...base, observedGeneration: 4 }, 'major'],
    ['the status of a condition', withCondition({ status: 'False' }), 'major'],
    ['the reason of a condition', withCondition({ reason: 'Other' }), 'major'],
    ['a condition', { ...base, conditions: [] }, 'major'],
    ['that all is applied for the first time', { ...base, appliedHash: 'one' }, 'major'],
    ['a durable field', { ...base, startTime: '2026-01-01T00:00:00Z' }, 'major'],
    ['a field that is durable on change, set for the first time', { ...base, image: 'a' }, 'minor'],
  ] as const) {
    test(`that differ in ${what} differ ${wanted === 'none' ? 'not at all' : `in a ${wanted} way`}`, () => {
      assert.equal(difference(thing(), base, after), wanted);
    });
  }

  test('that differ in a changed field that is durable on change differ in a major way', () => {
    assert.equal(difference(thing(), { ...base, image: 'a' }, { ...base, image: 'b' }), 'major');
  });

  test('that differ in what was applied differ in a minor way', () => {
    const [one, other] = [
      { ...base, appliedHash: 'one' },
      { ...base, appliedHash: 'other' },
    ];
    assert.equal(difference(thing(), one, other), 'minor');
  });

  test('of which the first is missing differ in a major way', () => {
    assert.equal(difference(thing(), undefined, base), 'major');
  });

  test('made from one report by two reconciles are equal at any time', () => {
    const first = made(report({ ready: unready }));
    const later = new Date(NOW.getTime() + 60_000);
    const reconcileAgain = statusOf(thing(), resource(first), report({ ready: unready }), later);
    assert.equal(difference(thing(), first, reconcileAgain), 'none');
  });
});

describe('the phase agrees with the condition Ready', () => {
  for (const { definition: kind } of KINDS) {
    const phases = (kind.status.properties?.['phase']?.enum ?? []) as readonly string[];
    const reported = (phase: string, conditionResult: ConditionResult): string | undefined =>
      statusOf(
        { definition: kind, durableStatus: [] },
        resource(),
        report({ phase, ready: conditionResult }),
        NOW,
      ).phase;
    test(`${kind.kind}: a refused change of what was ready is no longer ready`, () => {
      for (const phase of phases) {
        const after = reported(phase, unready);
        assert.ok(!['Ready', 'Succeeded', 'Scheduled'].includes(after ?? ''), `${phase}: ${after}`);
        assert.ok(phases.includes(after ?? ''), `${after} is a phase of the kind`);
        assert.equal(reported(phase, ready), phase);
      }
    });
  }
});
