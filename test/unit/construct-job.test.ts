import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SiteJob, SiteJobSpec, SiteJobStatus } from '../../constructs/api/site-job.js';
import type { SiteJobInputs } from '../../constructs/kinds/site-job/resolve.js';
import { job as kind } from '../../constructs/kinds/site-job/index.js';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import type { JobRun, StatusResult } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { synthesize } from '../../constructs/kit/synth.js';
import type { AppSite } from '../../constructs/api/site.js';
import { aReadyBench, aSite, aReader, stored } from '../golden/builders.js';
import { NOW } from '../golden/scenario.js';

type Changes = Readonly<Partial<Record<keyof SiteJobSpec, unknown>>>;

const MIGRATE = { command: ['migrate'] };

const aJob = (spec: Changes = MIGRATE, status?: SiteJobStatus): SiteJob => ({
  ...(stored('SiteJob', { name: 'j' }, { siteRef: { name: 'demo-site' }, ...spec }) as SiteJob),
  ...(status ? { status } : {}),
});

const readySite = (): AppSite => {
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '' } as const;
  const conditions = [{ ...ready, lastTransitionTime: NOW }];
  return { ...aSite(), status: { observedGeneration: 1, conditions } };
};
const READY = [aReadyBench(), readySite()];
const NOT_READY = [aReadyBench(), aSite()];

const resolve = (resource: SiteJob, around: readonly KubeObject[] = READY): SiteJobInputs =>
  kind.resolve(resource, aReader(around));

interface JobObject extends KubeObject {
  readonly spec: {
    readonly suspend?: boolean;
    readonly activeDeadlineSeconds?: number;
    readonly template?: {
      readonly spec: {
        readonly containers: readonly {
          readonly env: readonly { readonly name: string; readonly value: string }[];
        }[];
      };
    };
  };
}

/** The one stage of a job's tree, with its one object. */
function treeOf(resource: SiteJob, inputs = resolve(resource)) {
  const [stage] = synthesize((scope, id) => kind.chart(scope, id, { resource, inputs }));
  const [object] = stage?.objects ?? [];
  return { blockedReason: stage?.blockedReason, object: object as JobObject | undefined };
}

function envOf(resource: SiteJob): Readonly<Record<string, string>> {
  const { object } = treeOf(resource);
  const env = object?.spec.template?.spec.containers[0]?.env ?? [];
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

const aRun = (inputs: SiteJobInputs, run: Partial<JobRun> = {}): JobRun => ({
  name: 'j-run',
  uid: 'u1',
  state: 'Succeeded',
  taskHash: inputs.taskHash,
  startTime: '2026-01-01T00:00:00Z',
  completionTime: '2026-01-01T00:01:00Z',
  exitCode: 0,
  message: '{"exitCode":0,"log":"done"}',
  ...run,
});

function evaluate(
  resource: SiteJob,
  runs: readonly JobRun[],
  inputs = resolve(resource),
  pending: readonly { kind: string; name: string; message: string }[] = [],
): StatusResult {
  return kind.evaluate({
    resource,
    inputs,
    runs,
    probes: [],
    complete: true,
    ready: pending.length === 0,
    child: () => undefined,
    pending: pending.map(({ message, ...child }) => ({
      ...child,
      health: { state: 'InProgress', message },
    })),
  });
}

/** The status after an evaluation. */
const left = (before: SiteJobStatus | undefined, { fields = {}, phase }: StatusResult) =>
  ({ ...before, ...fields, phase }) as SiteJobStatus;

suite('what a SiteJob runs', () => {
  const odd = [
    'execute',
    '',
    '$(id)',
    '$SITE_NAME',
    "it's",
    'a "b"',
    '\n',
    '`x`',
    '漢',
    '$$(HOME)',
  ];
  test('is passed on as it is, and the kubelet finds nothing in it to replace', () => {
    const { JOB_COMMAND: text = '' } = envOf(aJob({ command: odd }));
    assert.deepEqual(JSON.parse(text), odd);
    assert.ok(!text.includes('$'));
    const kwargs = { a: odd, b: { $: null }, c: 1.5 };
    const env = envOf(aJob({ method: 'frappe.ping', kwargs }));
    assert.deepEqual(JSON.parse(env['JOB_KWARGS'] ?? ''), kwargs);
    assert.ok(!env['JOB_KWARGS']?.includes('$'));
    assert.equal(env['JOB_METHOD'], 'frappe.ping');
    assert.equal(env['JOB_COMMAND'], undefined);
  });
  test('has its time, and time to start', () => {
    const job = aJob({ ...MIGRATE, timeout: '1h1m1s', backoffLimit: 2 });
    assert.equal(envOf(job)['TIMEOUT_SECONDS'], '3661');
    assert.equal(treeOf(job).object?.spec.activeDeadlineSeconds, 3 * (3661 + 1200));
  });
  test('is refused if it is too long for a pod', () => {
    const long = 'é'.repeat(4096);
    for (const [field, spec] of [
      ['command', { command: ['x', ...Array<string>(9).fill(long)] }],
      ['kwargs', { method: 'a.b', kwargs: { text: Array<string>(9).fill(long) } }],
    ] as const) {
      assert.throws(
        () => resolve(aJob(spec)),
        (error) =>
          error instanceof Stalled &&
          error.message.startsWith(`spec.${field}: Too long: may be at most 65536 bytes`),
      );
    }
    assert.ok(resolve(aJob({ command: ['x', ...Array<string>(7).fill(long)] })));
  });
});

suite('a single run', () => {
  test('is another one for each change of what it does, and for no other change', () => {
    const { taskHash: run } = resolve(aJob());
    const changes: readonly Changes[] = [
      { command: ['migrate', '--x'] },
      { command: undefined, method: 'frappe.ping' },
      { timeout: '2h' },
      { backoffLimit: 1 },
      { resources: { limits: { memory: '1Gi' } } },
    ];
    const runs = changes.map((change) => {
      const spec = Object.entries({ ...MIGRATE, ...change }).filter(([, v]) => v !== undefined);
      return resolve(aJob(Object.fromEntries(spec))).taskHash;
    });
    assert.equal(new Set([run, ...runs]).size, changes.length + 1);
    for (const same of [{ concurrencyPolicy: 'Allow' }, { failedJobsHistoryLimit: 9 }]) {
      assert.equal(resolve(aJob({ ...MIGRATE, ...same })).taskHash, run);
    }
    const newImage = [aReadyBench({ image: { tag: 'v15.50.0' } }), readySite()];
    assert.equal(resolve(aJob(), newImage).taskHash, run);
    const kwargs = { a: 1, b: { c: 2, d: 3 } };
    const turned = { b: { d: 3, c: 2 }, a: 1 };
    const method = 'frappe.ping';
    assert.equal(
      resolve(aJob({ method, kwargs })).taskHash,
      resolve(aJob({ method, kwargs: turned })).taskHash,
    );
  });
  test('waits for its site, and is not touched by what becomes of the site later', () => {
    const waits = treeOf(aJob(), resolve(aJob(), NOT_READY));
    assert.match(waits.blockedReason ?? '', /AppSite "demo-site" is not Ready$/);
    assert.equal(treeOf(aJob()).blockedReason, undefined);
    assert.throws(() => resolve(aJob(), [aReadyBench()]), Waiting);
    const inputs = resolve(aJob(), NOT_READY);
    const { phase, ready } = evaluate(aJob(), [aRun(inputs)], inputs);
    assert.deepEqual([phase, ready.status], ['Succeeded', 'True']);
  });
  test('is deleted with its site while it runs, and is kept when it has ended', () => {
    const inputs = resolve(aJob());
    const running = { state: 'Running', exitCode: undefined, message: undefined } as const;
    const begun = aJob(MIGRATE, left(undefined, evaluate(aJob(), [aRun(inputs, running)], inputs)));
    assert.equal(treeOf(begun, resolve(begun, [aReadyBench()])).object, undefined);
    const ended = aJob(MIGRATE, left(undefined, evaluate(aJob(), [aRun(inputs)], inputs)));
    assert.throws(() => resolve(ended, [aReadyBench()]), Waiting);
  });
  test('is not made again once it has ended, also when its Job is deleted', () => {
    for (const [state, exitCode, phase] of [
      ['Succeeded', 0, 'Succeeded'],
      ['Failed', 3, 'Failed'],
    ] as const) {
      const first = evaluate(aJob(), [aRun(resolve(aJob()), { state, exitCode })]);
      assert.equal(first.phase, phase);
      const later = aJob(MIGRATE, left(undefined, first));
      assert.equal(treeOf(later).blockedReason, 'it has been done');
      const kept = evaluate(later, [], undefined, [{ kind: 'Job', name: 'j-run', message: '' }]);
      assert.equal(kept.phase, phase);
      assert.equal(kept.ready.status, first.ready.status);
      assert.deepEqual(left(later.status, kept).exitCode, exitCode);
    }
  });
  test('is not made again when its Job is deleted while it runs: the user requests it', () => {
    const running = { state: 'Running', completionTime: undefined } as const;
    const begun = aRun(resolve(aJob()), { ...running, exitCode: undefined, message: undefined });
    const later = aJob(MIGRATE, left(undefined, evaluate(aJob(), [begun])));
    assert.equal(treeOf(later).blockedReason, 'it has begun');
    const missing = { kind: 'Job', name: 'j-run', message: 'not created yet' };
    const lost = evaluate(later, [], undefined, [missing]);
    assert.deepEqual([lost.phase, lost.stalled, lost.ready.reason], ['Failed', true, 'Terminated']);
    assert.equal(
      lost.ready.message,
      'Job j-run was deleted while it ran: its result is unknown; change the spec to run it again',
    );
    const after = left(later.status, lost);
    assert.equal(after.active, 0);
    // The same at the next reconcile, and after a restart; a Job that was only not observed yet counts again.
    assert.equal(treeOf(aJob(MIGRATE, after)).blockedReason, 'it has begun');
    assert.equal(evaluate(aJob(MIGRATE, after), []).ready.reason, 'Terminated');
    assert.equal(evaluate(aJob(MIGRATE, after), [begun]).phase, 'Running');
    const changed = aJob({ command: ['clear-cache'] }, after);
    assert.equal(treeOf(changed).blockedReason, undefined);
    assert.equal(evaluate(changed, [], undefined, [missing]).phase, 'Pending');
  });
  test('is made again when its Job is deleted before it has begun', () => {
    const early = aRun(resolve(aJob()), { state: 'Running', startTime: undefined });
    const status = left(undefined, evaluate(aJob(), [early]));
    const later = aJob(MIGRATE, status);
    assert.equal(treeOf(later).blockedReason, undefined);
    assert.equal(evaluate(later, []).phase, 'Pending');
  });
  test('runs for a changed spec, and keeps only the last success of the previous spec', () => {
    const done = left(undefined, evaluate(aJob(), [aRun(resolve(aJob()))]));
    const changed = aJob({ command: ['clear-cache'] }, done);
    assert.equal(treeOf(changed).blockedReason, undefined);
    const old = aRun(resolve(aJob()));
    const missing = { kind: 'Job', name: 'j-run', message: 'not created yet' };
    const status = left(done, evaluate(changed, [old], undefined, [missing]));
    assert.equal(status.phase, 'Pending');
    assert.deepEqual(
      [status.exitCode, status.log, status.completionTime, status.specHash],
      [undefined, undefined, undefined, undefined],
    );
    assert.equal(status.lastSuccessfulTime, '2026-01-01T00:01:00Z');
  });
  test('is requested again each time that it finds the site closed', () => {
    const closed = { state: 'Failed', exitCode: 1, message: '{"reason":"SiteClosed"}' } as const;
    let resource = aJob();
    const runs = new Set<string>();
    for (const uid of ['u1', 'u2', 'u3']) {
      const inputs = resolve(resource);
      runs.add(inputs.taskHash);
      const evaluated = evaluate(resource, [aRun(inputs, { ...closed, uid })], inputs);
      assert.deepEqual([evaluated.phase, evaluated.reconcileAgain], ['Pending', true]);
      resource = aJob(MIGRATE, left(resource.status, evaluated));
      assert.equal(treeOf(resource).blockedReason, undefined);
    }
    assert.equal(runs.size, 3);
    const inputs = resolve(resource);
    assert.ok(!runs.has(inputs.taskHash));
    const done = aJob(MIGRATE, left(resource.status, evaluate(resource, [aRun(inputs)], inputs)));
    assert.equal(resolve(done).taskHash, inputs.taskHash);
    assert.equal(treeOf(done).blockedReason, 'it has been done');
    assert.notEqual(
      resolve(aJob({ command: ['clear-cache'] }, done.status)).taskHash,
      inputs.taskHash,
    );
  });
  test('is reported from its Job or its pod, whichever still exists', () => {
    const failed = (run: Partial<JobRun>) => {
      const inputs = resolve(aJob());
      const { ready, fields } = evaluate(
        aJob(),
        [aRun(inputs, { state: 'Failed', ...run })],
        inputs,
      );
      return [ready.reason, ready.message, fields?.['exitCode'], fields?.['log']];
    };
    const oom = { exitCode: 137, message: '{"startTime":"2026-01-01T00:00:00Z","log":"a\\nb"}' };
    assert.deepEqual(failed(oom), ['JobFailed', 'Job j-run: exit code 137: b', 137, 'a\nb']);
    assert.deepEqual(failed({ exitCode: 127, message: 'no such file' }), [
      'JobFailed',
      'Job j-run: exit code 127: no such file',
      127,
      'no such file',
    ]);
    for (const message of ['', 'null', '[1]', '{"log":1,"reason":{}}', '{"exitCode":"x"}']) {
      const [reason, text] = failed({ exitCode: 2, message });
      assert.equal(reason, 'JobFailed', message);
      assert.match(String(text), /^Job j-run: exit code 2/);
    }
    const podDeleted = failed({ exitCode: undefined, message: undefined });
    assert.deepEqual(podDeleted, [
      'JobFailed',
      'Job j-run: nothing is left of its pod',
      undefined,
      '',
    ]);
  });
});

suite('a schedule', () => {
  const CRON = { ...MIGRATE, schedule: '*/5 * * * *' };
  test('is suspended while the site cannot take it, and while the user wants that', () => {
    const suspended = (resource: SiteJob, around = READY) =>
      treeOf(resource, resolve(resource, around)).object?.spec.suspend;
    assert.equal(suspended(aJob(CRON)), false);
    assert.equal(suspended(aJob(CRON), NOT_READY), true);
    assert.equal(suspended(aJob({ ...CRON, suspend: true })), true);
  });
  test('is deleted with its site, where it was created', () => {
    assert.throws(() => resolve(aJob(CRON), [aReadyBench()]), Waiting);
    const made = aJob(CRON, { appliedHash: 'x' });
    const inputs = resolve(made, [aReadyBench()]);
    assert.equal(treeOf(made, inputs).object, undefined);
    assert.equal(evaluate(made, [], inputs).ready.reason, 'SiteMissing');
  });
  test('has the result of the last run that has ended, and the number of running ones', () => {
    const resource = aJob(CRON, { lastSuccessfulTime: '2025-12-31T00:00:00Z' });
    const inputs = resolve(resource);
    const running = { state: 'Running', exitCode: undefined, message: undefined } as const;
    const at = (name: string, run: Partial<JobRun> = {}) =>
      aRun(inputs, { name, uid: name, ...run });
    const fails = { state: 'Failed', exitCode: 1, message: '{"log":"no"}' } as const;
    const evaluated = evaluate(resource, [
      at('j-3', running),
      at('j-2', running),
      at('j-1', fails),
    ]);
    assert.deepEqual([evaluated.phase, evaluated.ready.status], ['Running', 'False']);
    assert.equal(evaluated.ready.message, 'Job j-1: exit code 1: no');
    assert.deepEqual(
      [evaluated.fields?.['active'], evaluated.fields?.['job'], evaluated.fields?.['exitCode']],
      [2, 'j-3', undefined],
    );
    assert.equal(evaluated.fields?.['lastSuccessfulTime'], '2025-12-31T00:00:00Z');
    const after = evaluate(resource, [at('j-3'), at('j-2', fails)]);
    assert.deepEqual([after.phase, after.ready.status], ['Scheduled', 'True']);
    assert.equal(after.fields?.['lastSuccessfulTime'], '2026-01-01T00:01:00Z');
    const none = evaluate(resource, []);
    assert.deepEqual([none.phase, none.ready.reason], ['Scheduled', 'Scheduled']);
  });
  test('does not count a run that found the site closed', () => {
    const resource = aJob(CRON);
    const inputs = resolve(resource);
    const closed = { state: 'Failed', exitCode: 1, message: '{"reason":"SiteClosed"}' } as const;
    const evaluated = evaluate(resource, [aRun(inputs, { ...closed, name: 'j-2' }), aRun(inputs)]);
    assert.deepEqual([evaluated.phase, evaluated.fields?.['job']], ['Scheduled', 'j-run']);
  });
});
