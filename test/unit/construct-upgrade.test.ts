import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  planUpgrade,
  progressOf,
  type SiteProgress,
} from '../../constructs/kinds/bench/upgrade.js';
import type { AppBench } from '../../constructs/api/bench.js';
import type { AppSite, SiteUpgrade } from '../../constructs/api/site.js';

const [OLD, NEW, THIRD] = ['i:1', 'i:2', 'i:3'];

const aBench = (status: AppBench['status'] = { image: OLD }, parallel = 2) =>
  ({ spec: { upgrade: { parallel } }, status }) as unknown as Pick<AppBench, 'spec' | 'status'>;

const aSite = (name: string, site: Partial<SiteProgress> = {}): SiteProgress => ({
  name,
  dedicated: true,
  image: OLD,
  upgrade: undefined,
  blocked: undefined,
  ...site,
});

const under = (state: SiteUpgrade['state'], closed = false, to = NEW): SiteUpgrade => ({
  from: OLD,
  to,
  state,
  ...(closed ? { closed } : {}),
});

const shared = { dedicated: false } as const;

suite('turns to be upgraded', () => {
  test('there are no turns where every site is upgraded', () => {
    assert.equal(planUpgrade(aBench({ image: NEW }), NEW, [aSite('a', { image: NEW })]), undefined);
    assert.equal(planUpgrade(aBench({}), NEW, []), undefined, 'a new bench');
    const unborn = aSite('a', { image: undefined });
    assert.equal(planUpgrade(aBench({ image: NEW }), NEW, [unborn]), undefined);
  });

  test('are bounded, and stay with who has them', () => {
    const sites = ['a', 'b', 'c', 'd'].map((name) => aSite(name));
    assert.deepEqual(planUpgrade(aBench(), NEW, sites)?.turns, ['a', 'b']);
    const later = aBench({ image: OLD, upgrade: { to: NEW, turns: ['c'], progress: '' } });
    assert.deepEqual(planUpgrade(later, NEW, sites)?.turns, ['a', 'c']);
    const fewer = aBench({ image: OLD, upgrade: { to: NEW, turns: ['b', 'c'], progress: '' } }, 1);
    assert.deepEqual(
      planUpgrade(fewer, NEW, sites)?.turns,
      ['b', 'c'],
      'no upgrade is interrupted',
    );
  });

  test('of another image count no longer', () => {
    const sites = ['a', 'b', 'c'].map((name) => aSite(name));
    const before = aBench({ image: OLD, upgrade: { to: THIRD, turns: ['c'], progress: '' } }, 1);
    assert.deepEqual(planUpgrade(before, NEW, sites)?.turns, ['a']);
  });

  test('are known again from the sites, where the bench’s status is lost', () => {
    const sites = [aSite('a'), aSite('b'), aSite('c', { upgrade: under('Running') })];
    assert.deepEqual(planUpgrade(aBench({}), NEW, sites)?.turns, ['a', 'c']);
  });

  test('end with the migration, and with its failure', () => {
    const sites = [
      aSite('a', { upgrade: under('Migrated', true) }),
      aSite('b', { upgrade: under('Failed', true) }),
      aSite('c'),
      aSite('d'),
    ];
    const bench = aBench({ image: OLD, upgrade: { to: NEW, turns: ['a', 'b'], progress: '' } });
    const plan = planUpgrade(bench, NEW, sites);
    assert.deepEqual([plan?.turns, plan?.failed], [['c', 'd'], ['b']]);
  });

  test('wait while a Shared site is open after its upgrade was refused: the bench’s pods stay', () => {
    const next = ['b', 'c'].map((name) => aSite(name, shared));
    const refused = aSite('a', { ...shared, upgrade: under('Failed') });
    const bench = aBench({ image: OLD, upgrade: { to: NEW, turns: ['a'], progress: '' } });
    const plan = planUpgrade(bench, NEW, [refused, ...next, aSite('d')]);
    assert.deepEqual([plan?.turns, plan?.failed], [['d'], ['a']], 'a Dedicated site has its own');
    const closed = aSite('c', { ...shared, upgrade: under('Migrated', true, THIRD) });
    const going = aSite('b', { ...shared, upgrade: under('Running') });
    const further = planUpgrade(bench, NEW, [refused, going, closed, aSite('e', shared)]);
    assert.deepEqual(further?.turns, ['b', 'c'], 'none that has begun, or is closed, waits');
    const moved = planUpgrade(aBench({ image: NEW }), NEW, [refused, ...next]);
    assert.deepEqual(moved?.turns, ['b', 'c'], 'where the pods have changed, none waits');
    const again = aSite('a', { ...shared, upgrade: under('Failed') });
    assert.deepEqual(planUpgrade(bench, THIRD, [again, ...next])?.turns, ['a', 'b']);
  });

  test('pass over who cannot take them', () => {
    const sites = [aSite('a', { blocked: 'it is paused' }), aSite('b')];
    const plan = planUpgrade(aBench(undefined, 1), NEW, sites);
    assert.deepEqual(plan?.turns, ['b']);
    assert.deepEqual(plan.blocked, [{ name: 'a', why: 'it is paused' }]);
  });

  test('go first to who is closed: back to the image before, or on to a third', () => {
    for (const to of [OLD, THIRD]) {
      const sites = [aSite('a', { image: NEW }), aSite('b', { upgrade: under('Failed', true) })];
      assert.deepEqual(planUpgrade(aBench(undefined, 1), to, sites)?.turns, ['b'], to);
    }
  });
});

suite('the bench’s own pods', () => {
  const stays = (...sites: readonly SiteProgress[]) => planUpgrade(aBench(), NEW, sites)?.keptImage;
  test('change at once where no site is Shared', () => {
    assert.equal(stays(aSite('a')), undefined);
  });
  test('stay while a Shared site is open on the previous image, for any reason', () => {
    assert.equal(stays(aSite('a', shared)), OLD);
    assert.equal(stays(aSite('a', { ...shared, blocked: 'it is paused' })), OLD);
    assert.equal(stays(aSite('a', { ...shared, upgrade: under('Running') })), OLD);
    assert.equal(stays(aSite('a', { ...shared, upgrade: under('Failed') })), OLD);
  });
  test('change when all are closed', () => {
    assert.equal(
      stays(
        aSite('a', { ...shared, upgrade: under('Migrated', true) }),
        aSite('b', { ...shared, upgrade: under('Failed', true) }),
        aSite('c'),
      ),
      undefined,
    );
  });
  test('stay while a Shared site opens: it does not go back with them', () => {
    const site = { metadata: { name: 'a' }, spec: { workloads: 'Shared' } } as AppSite;
    const migrated = (closed: boolean) =>
      progressOf({ ...site, status: { image: OLD, upgrade: under('Migrated', closed) } });
    const back = (closed: boolean) =>
      planUpgrade(aBench({ image: NEW }), OLD, [migrated(closed)])?.keptImage;
    assert.equal(back(false), NEW);
    assert.equal(back(true), undefined, 'a closed site loads its backup');
    assert.equal(planUpgrade(aBench({ image: OLD }), NEW, [migrated(false)])?.keptImage, undefined);
  });
  test('do not go back for a site that is created later', () => {
    const bench = aBench({ image: NEW });
    assert.equal(planUpgrade(bench, NEW, [aSite('a', shared)])?.keptImage, undefined);
  });
});

suite('what hinders a site', () => {
  const site = (changes: Partial<AppSite>): AppSite =>
    ({
      apiVersion: 'app-operator.io/v1alpha1',
      kind: 'AppSite',
      metadata: { name: 'a' },
      spec: { workloads: 'Dedicated' },
      ...changes,
    }) as AppSite;
  const stalled = {
    phase: 'Failed',
    conditions: [
      {
        type: 'Ready',
        status: 'False',
        reason: 'InvalidSpec',
        message: '',
        lastTransitionTime: '',
      },
      {
        type: 'Stalled',
        status: 'True',
        reason: 'InvalidSpec',
        message: '',
        lastTransitionTime: '',
      },
    ],
  } as const;
  const cases: readonly [string, Partial<AppSite>, string | undefined][] = [
    ['nothing', {}, undefined],
    ['its end', { metadata: { name: 'a', deletionTimestamp: 'now' } }, 'it is being deleted'],
    [
      'the annotation',
      { metadata: { name: 'a', annotations: { 'app-operator.io/paused': 'true' } } },
      'it is paused',
    ],
    ['what is wrong with it', { status: stalled }, 'InvalidSpec'],
    [
      'not a failed migration, after which it may go another way',
      { status: { ...stalled, upgrade: under('Failed', true) } },
      undefined,
    ],
    ['what it waits for', { status: { phase: 'Pending' } }, 'it waits'],
    ['not a workload that fails', { status: { phase: 'Failed' } }, undefined],
  ];
  for (const [what, changes, expected] of cases) {
    test(what, () => {
      assert.equal(progressOf(site(changes)).blocked, expected);
    });
  }
});
