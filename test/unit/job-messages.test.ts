/** What Jobs report: the image of a bench may be anybody's, so a termination message may be anything. */
import assert from 'node:assert/strict';
import { describe, suite, test } from 'node:test';
import fc from 'fast-check';

import { assetsOf } from '../../constructs/kinds/bench/assets.js';
import { readFailure, readReport } from '../../constructs/kinds/backup/result.js';
import { resultsOf as documentResults } from '../../constructs/batches/documents/result.js';
import { resultOf } from '../../constructs/kinds/site-job/result.js';
import type { JobRun } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { KINDS } from '../../constructs/registry.js';
import { reconcileScenario } from '../golden/outcome.js';
import { readScenario, scenarioNames, type Scenario } from '../golden/scenario.js';
import { statusProblems } from '../support/status-problems.js';

const RUNS = {
  seed: Number(process.env['TEST_SEED'] ?? 15),
  numRuns: Number(process.env['TEST_RUNS'] ?? 100),
};
const LONG = 'mysql-'.repeat(1_000);
const NAME = '20260101T020000Z';
const TIME = '2026-01-01T02:00:00Z';
const LOCATION = 's3://backups/default/demo-site';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(LONG, NAME, TIME, LOCATION, '', '\u{d83d}', '\u007f\u0000', '20260230T250000Z'),
  fc.constantFrom('2026-02-30T00:00:00Z', 'sites', 'Secret', 'Created', 'Deleted', 'Failed'),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 2, arbitrary: fc.constantFrom(null, [], {}, -1, 0.5, 2 ** 31, 1e300, true) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);
const list = (item: fc.Arbitrary<unknown>) =>
  fc.oneof(
    fc.array(item, { maxLength: 4 }),
    value,
    item.map((one) => Array<unknown>(60).fill(one)),
  );
const record = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record(fields, { requiredKeys: [] });
const mostly = (usual: unknown) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: value });
const apps = fc.oneof(
  value,
  fc.dictionary(text, value, { maxKeys: 3 }),
  fc.constant(Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`${'a'.repeat(60)}${i}`, '1'.repeat(63)]))), // prettier-ignore
);
const rows = list(
  fc.oneof(value, fc.tuple(mostly(NAME), mostly(NAME), mostly(1), mostly(1), mostly(0))),
);

/** The JSON that each script writes, with anything in any place. */
const reports = {
  bench: record({ apps, assets: mostly('sites'), missing: list(value) }),
  restore: fc.record({
    restored: fc.oneof(
      { weight: 1, arbitrary: value },
      {
        weight: 4,
        arbitrary: fc.record({
          ...{ name: mostly(NAME), time: mostly(TIME), location: mostly(LOCATION), before: value },
          ...{ encryptionKey: mostly('Secret'), requests: list(mostly('8d1124ccd10302fe')) },
        }),
      },
    ),
  }),
  backup: record({
    ...{ location: mostly(LOCATION), count: mostly(1), backups: rows },
    versions: list(fc.tuple(value, apps)),
  }),
  job: record({ exitCode: value, startTime: value, reason: value, log: value }),
};
const results = record({
  results: fc.oneof(
    value,
    fc.dictionary(
      fc.oneof(text, fc.constantFrom('a1', 'b2')),
      fc.oneof(value, fc.tuple(text, value, list(value)), fc.tuple(text, text, value, list(value))),
      { maxKeys: 4 },
    ),
  ),
});
const SUCCEEDED = 'app-operator: Succeeded: ';
const failure = fc
  .tuple(fc.constantFrom('SiteBusy', 'X'.repeat(3_000), 'X y'), text)
  .map(([reason, why]) => `app-operator: ${reason}: ${why}`);
const other = fc.oneof(
  ...[failure, text],
  value.map((report) => JSON.stringify(report)),
  value.map((report) => SUCCEEDED + JSON.stringify(report)),
);

/** The messages of the Jobs of a kind: mostly those of its script, with anything in them. */
function messages(prefix: string, report: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const own = report.map((one) => prefix + JSON.stringify(one));
  return fc.oneof({ weight: 4, arbitrary: own }, { weight: 1, arbitrary: other });
}

const MESSAGES = {
  AppBench: messages(SUCCEEDED, reports.bench),
  AppSite: messages(SUCCEEDED, reports.restore),
  SiteBackup: messages('', reports.backup),
  SiteJob: messages('', reports.job),
} as const;

const definitionOf = (name: string) =>
  KINDS.find(({ definition }) => definition.kind === name)?.definition ?? assert.fail(name);

/** The problems in the statuses of a scenario. */
function problemsIn(scenario: Scenario): readonly string[] {
  return reconcileScenario(scenario).flatMap(({ resource, status }) =>
    statusProblems(definitionOf(resource.kind), resource, status),
  );
}

const scenarios = scenarioNames().map(readScenario);
const scenariosOf = (kind: string): readonly Scenario[] =>
  scenarios.filter(
    ({ admissions, deleting }) =>
      !deleting && admissions.some(({ object }) => object.kind === kind),
  );

/** The runs of a scenario; those of an init Job where it names none. */
function runsOf({ observed, admissions }: Scenario, name: string): readonly JobRun[] {
  if (observed.runs) return observed.runs;
  const [own] = admissions.filter(({ object }) => object.kind === name);
  const times = { startTime: TIME, completionTime: TIME, taskHash: 'r', uid: 'u' };
  return [
    {
      ...{ name: `${own?.object.metadata.name ?? ''}-init`, ...times, state: 'Succeeded' },
      ...{ exitCode: 0, message: undefined },
    },
  ];
}

describe('whatever a Job reports, the API server takes the status', () => {
  for (const [name, message] of Object.entries(MESSAGES)) {
    const own = scenariosOf(name);
    test(name, () => {
      const ended = fc.record({
        state: fc.constantFrom<JobRun['state']>('Succeeded', 'Failed'),
        message,
        exitCode: fc.constantFrom(undefined, 0, 1),
      });
      fc.assert(
        fc.property(fc.nat(own.length - 1), ended, (pick, how) => {
          const scenario = own[pick] ?? assert.fail();
          const runs = runsOf(scenario, name).map((run) => ({ ...run, ...how }));
          const changed = { ...scenario, observed: { ...scenario.observed, runs } };
          assert.deepEqual(problemsIn(changed), [], scenario.name);
        }),
        RUNS,
      );
    });
  }

  test('DocumentResult', () => {
    const own = scenarios.filter(({ objects }) =>
      objects.some(({ kind }) => kind === 'DocumentResult'),
    );
    assert.ok(own.length > 0);
    fc.assert(
      fc.property(fc.nat(own.length - 1), results, (pick, report) => {
        const scenario = own[pick] ?? assert.fail();
        for (const result of parsed(documentResults, JSON.stringify(report))) {
          const objects = scenario.objects.map((object) =>
            object.kind === 'DocumentResult'
              ? { ...object, ...result, metadata: object.metadata }
              : object,
          );
          assert.deepEqual(problemsIn({ ...scenario, objects }), [], scenario.name);
        }
      }),
      RUNS,
    );
  });

  test('the Job of siteConfig', () => {
    const own = scenarios.flatMap((scenario) =>
      reconcileScenario(scenario)
        .flatMap(({ stages }) => stages.flatMap(({ objects }) => objects))
        .filter(({ metadata }) => metadata.name.endsWith('-configuration'))
        .map(({ metadata: { name, annotations } }) => ({ scenario, name, annotations })),
    );
    assert.ok(own.length > 0);
    const outcomes = fc.constantFrom('Changed', 'Unchanged', 'Failed');
    const entries = fc.oneof(value, fc.tuple(fc.oneof(outcomes, text), text, value, list(value)));
    fc.assert(
      fc.property(fc.nat(own.length - 1), entries, (pick, entry) => {
        const { scenario, name, annotations } = own[pick] ?? assert.fail();
        const run = annotations?.['app-operator.io/run'] ?? assert.fail();
        const runs = [{ ...succeeded({ results: { [run]: entry } }), name, run }];
        const changed = { ...scenario, observed: { ...scenario.observed, runs } };
        assert.deepEqual(problemsIn(changed), [], scenario.name);
      }),
      RUNS,
    );
  });
});

/** The results in a message; none where the runner would find none. */
function parsed(
  parse: (report: string, time: string, namespace: string) => readonly KubeObject[],
  report: string,
): readonly KubeObject[] {
  try {
    return parse(report, TIME, 'default');
  } catch {
    return [];
  }
}

const succeeded = (report: unknown): JobRun => ({
  ...{ name: 'demo-bench-init', uid: 'u', state: 'Succeeded', taskHash: 'r' },
  ...{ startTime: TIME, completionTime: TIME, exitCode: 0 },
  message: JSON.stringify(report),
});

suite('what is read of a report', () => {
  test('programs that are missing are named once, and a few', () => {
    const missing = ['wkhtmltopdf', LONG, 'wkhtmltopdf', 7, 'a\nb', 'Chromium'];
    const run = succeeded({});
    const report = `app-operator: Succeeded: ${JSON.stringify({ missing })}`;
    const observation = {
      resource: scenariosOf('AppBench')[0]?.admissions[0]?.object,
      runs: [{ ...run, message: report }],
      child: () => ({ health: { state: 'Ready', message: '' } }),
    } as unknown as Parameters<typeof assetsOf>[0];
    const name = observation.resource.metadata.name;
    const own = { ...observation, runs: [{ ...run, name: `${name}-init`, message: report }] };
    assert.deepEqual(assetsOf(own, 'frappe/erpnext:v15.50.0')?.missing, [
      'wkhtmltopdf',
      'Chromium',
    ]);
  });

  test('backups that are sound are kept, also beside others', () => {
    const versions = [['15.44.2', { frappe: '15.44.2', 'a b': '1', erpnext: LONG }]];
    const row = [NAME, NAME, 1, 1, 0];
    const odd = [[LONG, NAME, 1, 1, 0], ['20260230T000000Z', NAME, 1, 1, 0], [NAME, NAME, -1], 7];
    const leftOut = ['public.audit of postgres', 'a\nb', 7, LONG];
    const backups = [row, row, ...odd];
    const report = {
      location: LOCATION,
      count: 2,
      versions,
      backups,
      leftOut,
      notRemoved: 'x'.repeat(600),
    };
    assert.deepEqual(readReport(JSON.stringify(report)), {
      count: 2,
      leftOut: ['public.audit of postgres'],
      notRemoved: 'x'.repeat(500),
      backups: [
        {
          ...{ name: NAME, startTime: TIME, completionTime: TIME, size: 1, complete: true },
          ...{ location: `${LOCATION}/${NAME}`, frameworkVersion: '15.44.2' },
          apps: [
            { name: 'frappe', version: '15.44.2' },
            { name: 'erpnext', version: 'unknown' },
          ],
        },
      ],
    });
    assert.equal(readReport(JSON.stringify({ ...report, location: LONG })), undefined);
    assert.equal(readReport(JSON.stringify({ ...report, count: '2' })), undefined);
  });

  test('a reason of other characters, or too long, is replaced', () => {
    const reasonOf = (reason: unknown) => resultOf(succeeded({ reason })).reason;
    assert.equal(reasonOf('TimedOut'), 'TimedOut');
    for (const reason of ['', 'a b', '1x', 'x'.repeat(1025), 7, null]) {
      assert.equal(reasonOf(reason), undefined);
    }
    const failed = { ...succeeded({}), message: `app-operator: ${'X'.repeat(2_000)}: why` };
    assert.equal(readFailure(failed).reason, 'BackupFailed');
  });

  test('of a log the end is kept, and no half of a character', () => {
    const { log } = resultOf(succeeded({ log: `${LONG}end` }));
    assert.equal(log.length, 4096);
    assert.ok(log.endsWith('end'));
    assert.ok(resultOf(succeeded({ log: '\u{1f600}'.repeat(3_000) + 'x' })).log.isWellFormed());
  });

  test('an entry of another form is a failure, and so is the removal of a document', () => {
    const [result] = documentResults('{"results":{"a":["Gone","",[]]}}', TIME, 'default');
    assert.deepEqual([result?.outcome, result?.message], ['Failed', 'the Job reports no outcome']);
    const scenario = readScenario('siteuser-ready');
    const objects = scenario.objects.map((object) =>
      object.kind === 'DocumentResult' ? { ...object, outcome: 'Deleted' } : object,
    );
    const [user] = reconcileScenario({ ...scenario, objects });
    const { outcome, phase, enabled } = user?.status as Record<string, unknown>;
    assert.deepEqual([outcome, phase, enabled], ['Failed', 'Failed', undefined]);
  });
});
