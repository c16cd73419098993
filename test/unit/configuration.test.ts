/** The keys of `siteConfig`: what is refused, requested and said of them. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Chart } from 'cdk8s';
import {
  configurationBlock,
  evaluateConfiguration,
  parsedResult,
  type ConfigurationResult,
} from '../../constructs/configuration/evaluate.js';
import { addConfigurationJob } from '../../constructs/configuration/job.js';
import {
  ignoredEntries,
  usableEntries,
  configurationWarnings,
} from '../../constructs/configuration/problems.js';
import {
  syncConfiguration,
  type ConfigurationSync,
  type ConfiguredResource,
} from '../../constructs/configuration/sync.js';
import type { SiteConfig, SiteConfigStatus } from '../../constructs/kit/api.js';
import * as constants from '../../constructs/kit/constants.generated.js';
import type { JobRun } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { benchModel } from '../../constructs/frappe/bench-model.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { spec } from '../../constructs/kinds/site/schema.generated.js';

const TIME = '2026-01-01T00:00:00Z';
const FROM_SECRET: SiteConfig = [
  { key: 'a', value: 1 },
  { key: 'b', valueFrom: { secretKeyRef: { name: 'mail', key: 'k' }, format: 'Text' } },
];
const SECRET = aSecret('1');

function aSecret(resourceVersion: string): KubeObject {
  const metadata = { name: 'mail', namespace: 'default', uid: 's', resourceVersion };
  return { apiVersion: 'v1', kind: 'Secret', metadata };
}

type Status = NonNullable<ConfiguredResource['status']>;

function aSite(siteConfig: SiteConfig, status: Status = { phase: 'Ready' }): ConfiguredResource {
  return {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppSite',
    metadata: { name: 'shop', namespace: 'default', uid: 'u' },
    spec: { siteConfig },
    status,
  };
}

interface Case {
  readonly objects?: readonly KubeObject[];
  readonly bench?: boolean;
  readonly init?: string;
  /** Whether the init Job is not ready. */
  readonly pending?: boolean;
  readonly rollsOut?: boolean;
  /** The Jobs of the resource. */
  readonly runs?: readonly JobRun[];
  /** What becomes of the Job that is wanted. */
  readonly job?: { readonly state: 'Failed' | 'InProgress'; readonly why?: string };
}

/** The wanted Job, where it makes no progress. */
function advisoryOf(job: Case['job']) {
  if (!job) return [];
  const health = { state: job.state, message: 'it has failed' };
  const why = job.why === undefined ? {} : { why: job.why };
  return [{ kind: 'Job', name: 'shop-configuration', health, ...why }];
}

/** What becomes of a resource in one reconcile. */
function reconciled(resource: ConfiguredResource, props: Case = {}) {
  const { objects = [SECRET], bench = false, init = 'i', pending = false, rollsOut, runs = [], job } = props; // prettier-ignore
  const sync = syncConfiguration(
    resource,
    {
      file: bench ? constants.COMMON_CONFIG_FILE : 'site_config.json',
      job: 'shop-configuration',
      initJob: 'shop-init',
      init,
    },
    new StaticReader({ objects }),
  );
  const waiting = { state: 'InProgress', message: '' } as const;
  const children = [
    ...(pending ? [{ kind: 'Job', name: 'shop-init', health: waiting }] : []),
    ...(rollsOut ? [{ kind: 'Deployment', name: 'shop-scheduler', health: waiting }] : []),
  ];
  const evaluated = evaluateConfiguration(
    {
      ...{ resource, inputs: undefined, child: () => undefined, pending: children },
      ...{ runs, probes: [], complete: true, ready: children.length === 0 },
      advisory: advisoryOf(job),
    },
    sync,
  );
  const [condition] = evaluated.conditions;
  return { sync, ...evaluated, condition: condition && `${condition.status} ${condition.reason}: ${condition.message}` }; // prettier-ignore
}

function requestOf(sync: ConfigurationSync | undefined): string {
  return sync?.taskHash ?? '';
}

/** A Job that has ended, with a message as the script writes it. */
function aRun(run: string, result: Partial<ConfigurationResult> = {}): JobRun {
  const {
    outcome = 'Changed',
    reason = '',
    message = '',
    keys = [],
    leftOut,
    time = TIME,
  } = result;
  const places = leftOut ? [leftOut] : [];
  return {
    ...{ name: 'shop-configuration', uid: 'j', state: 'Succeeded', taskHash: run, exitCode: 0 },
    ...{ startTime: time, completionTime: time },
    message: JSON.stringify({ results: { [run]: [outcome, reason, message, keys, ...places] } }),
  };
}

/** As the script answers where the Secret does not exist. */
const LEFT_OUT = {
  ...{ reason: 'SecretMissing', message: 'no Secret "mail"', keys: ['a'] },
  leftOut: ['siteConfig[1]'],
};

const isWanted = ({ sync }: ReturnType<typeof reconciled>): boolean => sync?.taskHash !== undefined;

/** The status after the Job has done what a resource asks for. */
function done(
  resource: ConfiguredResource,
  result: Partial<ConfigurationResult> = {},
  props: Case = {},
) {
  const id = requestOf(reconciled(resource, props).sync);
  return reconciled(resource, { ...props, runs: [aRun(id, result)] });
}

function statusAfter({ fields, conditions }: ReturnType<typeof reconciled>): Status {
  const siteConfig = fields['siteConfig'] as SiteConfigStatus;
  const times = { lastTransitionTime: TIME };
  return {
    phase: 'Ready',
    siteConfig,
    conditions: conditions.map((one) => ({ ...one, ...times })),
  };
}

suite('the keys that a schema refuses', () => {
  const rule =
    spec.properties?.['siteConfig']?.items?.properties?.['key']?.['x-kubernetes-validations']?.[0]
      ?.rule ?? '';
  test('are the keys that the scripts refuse', () => {
    const names = [...rule.matchAll(/'([a-z_]+)'(?=[,\]])/g)].map(([, name]) => name);
    assert.deepEqual(names.sort(), [
      ...[
        ...constants.CONFIG_OWNED_KEYS,
        ...constants.CONFIG_FIELD_KEYS,
        ...constants.CONFIG_STATE_KEYS,
        ...constants.CONFIG_LOGIN_KEYS,
      ].sort(),
    ]);
    const prefixes = [...rule.matchAll(/startsWith\('([a-z_]+)'\)/g)].map(([, name]) => name);
    assert.deepEqual(prefixes.sort(), [...constants.CONFIG_OWNED_PREFIXES].sort());
  });
});

suite('entries that only the operator can refuse are left out by name: they', () => {
  const messages = (entries: SiteConfig): readonly string[] =>
    ignoredEntries(entries).map(({ path, message }) => `${path}: ${message}`);
  test('have neither or both of value and valueFrom', () => {
    const [, both] = FROM_SECRET;
    assert.deepEqual(messages([{ key: 'a' }, { ...both, key: 'b', value: 1 }]), [
      'spec.siteConfig[0]: has no effect: "a" needs one of value and valueFrom',
      'spec.siteConfig[1]: has no effect: "b" needs one of value and valueFrom',
    ]);
  });
  test('name a Secret that the operator has generated', () => {
    const secretKeyRef = { name: 'b-db-root', key: 'password' };
    assert.deepEqual(messages([{ key: 'a', valueFrom: { secretKeyRef, format: 'Text' } }]), [
      'spec.siteConfig[0].valueFrom.secretKeyRef.name: has no effect: Invalid value: "b-db-root": names that end with -db-root are of Secrets of the operator, for its own containers; use another name',
    ]);
  });
  test('are too long together', () => {
    const entries = ['a', 'b'].map((key) => ({ key, value: 'x'.repeat(40_000) }));
    assert.deepEqual(messages([...entries, { key: 'c', value: 1 }]), [
      'spec.siteConfig[1]: has no effect: with the entries before "b", the values take 80004 bytes; they may not take more than 65536 together',
      'spec.siteConfig[2]: has no effect: with the entries before "c", the values take 80005 bytes; they may not take more than 65536 together',
    ]);
  });
  test('leave the others as they are, each named by its place in the spec', () => {
    const siteConfig = [{ key: 'z' }, ...FROM_SECRET];
    assert.deepEqual(usableEntries(siteConfig), FROM_SECRET);
    const { sync } = reconciled(aSite(siteConfig), { objects: [] });
    assert.deepEqual(sync?.entries, FROM_SECRET);
    assert.equal(sync.missing[0]?.path, 'spec.siteConfig[2].valueFrom.secretKeyRef.name');
  });
  test('are none of false, zero, nothing and empty text', () => {
    const values = [false, 0, '', [], {}, { a: null }];
    assert.deepEqual(messages(values.map((value, i) => ({ key: `k${i}`, value }))), []);
  });
});

suite('warnings name', () => {
  const warnings = (entries: SiteConfig, ...objects: KubeObject[]): readonly string[] =>
    configurationWarnings(entries, 'default', new StaticReader({ objects })).map(
      ({ path, message }) => `${path}: ${message}`,
    );
  test('a password in the spec', () => {
    assert.deepEqual(warnings([{ key: 'mail_password', value: 'x' }, { key: 'rq_results_ttl', value: 1 }]), [
      'spec.siteConfig[0].value: whoever may read the object sees the value of mail_password; read it from a Secret with valueFrom.secretKeyRef',
    ]); // prettier-ignore
  });
  test('a Secret that does not exist', () => {
    assert.deepEqual(warnings(FROM_SECRET, SECRET), []);
    assert.deepEqual(warnings(FROM_SECRET), [
      'spec.siteConfig[1].valueFrom.secretKeyRef.name: there is no Secret "mail" in namespace default; it is left out until that exists',
    ]);
  });
});

suite('the request of a site', () => {
  test('is none without entries', () => {
    const { sync, conditions, fields } = reconciled(aSite([]));
    assert.deepEqual([sync, conditions, fields], [undefined, [], {}]);
  });
  test('waits for the init Job', () => {
    const { condition } = reconciled(aSite(FROM_SECRET), { pending: true });
    assert.equal(condition, 'False Applying: waiting for Job shop-init to set the keys of site_config.json'); // prettier-ignore
  });
  test('leaves out the entry whose Secret does not exist, until it does', () => {
    const site = aSite(FROM_SECRET);
    const without = { objects: [] };
    const leftOut = done(site, LEFT_OUT, without);
    assert.equal(leftOut.condition, 'False SecretMissing: no Secret "mail"; all else is set');
    assert.deepEqual(statusAfter(leftOut).siteConfig?.keys, ['a']);
    const again = aSite(FROM_SECRET, statusAfter(leftOut));
    const later = reconciled(again, without);
    assert.deepEqual([isWanted(later), later.condition], [false, leftOut.condition]);
    assert.deepEqual(later.fields, leftOut.fields);
    assert.ok(isWanted(reconciled(again)), 'the Secret exists');
    const lost = { ...statusAfter(leftOut), conditions: [] };
    assert.ok(isWanted(reconciled(aSite(FROM_SECRET, lost), without)), 'a lost condition');
  });
  test('keeps a key whose Secret was deleted among the keys', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const without = done(aSite(FROM_SECRET, status), LEFT_OUT, { objects: [] });
    assert.deepEqual(statusAfter(without).siteConfig?.keys, ['a', 'b']);
  });
  test('is there until its result is, and not again', () => {
    const site = aSite(FROM_SECRET);
    assert.ok(isWanted(reconciled(site)));
    const applied = done(site, { keys: ['a', 'b'] });
    assert.equal(applied.condition, 'True Applied: site_config.json has the declared values: a, b');
    assert.equal(applied.reconcileAgain, true);
    const again = reconciled(aSite(FROM_SECRET, statusAfter(applied)));
    assert.deepEqual([Number(isWanted(again)), again.reconcileAgain], [0, false]);
    assert.equal(again.condition, applied.condition);
    assert.deepEqual(again.fields, applied.fields);
  });
  test('changes with the Secret and with the value', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const changed = [{ key: 'a', value: 2 }, ...FROM_SECRET.slice(1)];
    assert.ok(isWanted(reconciled(aSite(FROM_SECRET, status), { objects: [aSecret('2')] }))); // prettier-ignore
    assert.ok(isWanted(reconciled(aSite(changed, status))));
  });
  test('is repeated after a run of the init Job, while the condition stays', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const again = reconciled(aSite(FROM_SECRET, status), { init: 'another' });
    assert.equal(Number(isWanted(again)), 1);
    assert.match(again.condition ?? '', /^True Applied/);
    const unchanged = done(
      aSite(FROM_SECRET, status),
      { outcome: 'Unchanged' },
      { init: 'another' },
    );
    assert.equal(statusAfter(unchanged).siteConfig?.repaired, undefined);
  });
  test('that finds a changed key records the repair', () => {
    const status = statusAfter(done(aSite(FROM_SECRET), { keys: ['a', 'b'] }));
    assert.equal(status.siteConfig?.repaired, undefined);
    const repaired = done(aSite(FROM_SECRET, status), { keys: ['b'] }, { init: 'another' });
    assert.deepEqual(statusAfter(repaired).siteConfig?.repaired, { time: TIME, keys: ['b'] });
  });
  test('that fails keeps the keys of before, and names the problem', () => {
    const before = statusAfter(done(aSite(FROM_SECRET)));
    const failed = done(
      aSite(FROM_SECRET, before),
      { outcome: 'Failed', reason: 'ValueInvalid', message: 'setup.country: "x" …' },
      { objects: [aSecret('2')] },
    );
    assert.match(failed.condition ?? '', /^False ValueInvalid: setup.*; no key was changed$/);
    assert.deepEqual(statusAfter(failed).siteConfig?.keys, ['a', 'b']);
    const later = reconciled(aSite(FROM_SECRET, statusAfter(failed)), { objects: [aSecret('2')] });
    assert.deepEqual([Number(isWanted(later)), later.condition], [0, failed.condition]);
    const without = { ...statusAfter(failed), conditions: [] };
    const lost = reconciled(aSite(FROM_SECRET, without), { objects: [aSecret('2')] });
    assert.equal(Number(isWanted(lost)), 1, 'a lost condition is found out again');
  });
  test('removes all keys, and then the status', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const site = aSite([], status);
    assert.ok(isWanted(reconciled(site)));
    const { conditions, fields } = done(site, { keys: ['a', 'b'] });
    assert.deepEqual([conditions, fields], [[], { siteConfig: undefined }]);
  });
});

suite('a site that was never ready', () => {
  const begun = aSite(FROM_SECRET, { phase: 'Provisioning' });
  test('waits for its keys', () => {
    assert.match(reconciled(begun).notReady ?? '', /^waiting for Job shop-configuration/);
    assert.equal(reconciled(begun, { pending: true }).notReady, undefined);
    assert.equal(done(begun).notReady, undefined);
  });
  test('begins without an entry that is left out, also where there is no other', () => {
    for (const entries of [FROM_SECRET, FROM_SECRET.slice(1)]) {
      const site = aSite(entries, { phase: 'Provisioning' });
      const leftOut = { ...LEFT_OUT, leftOut: [`siteConfig[${entries.length - 1}]`] };
      const status = {
        ...statusAfter(done(site, leftOut, { objects: [] })),
        phase: 'Provisioning',
      };
      const { sync, notReady } = reconciled(aSite(entries, status), { objects: [] });
      assert.deepEqual([sync?.first, notReady], [false, undefined]);
      assert.equal(configurationBlock(sync), undefined);
    }
  });
  test('waits for a key that encrypts what it would write', () => {
    const secretKeyRef = { name: 'mail', key: 'k' };
    const key = 'backup_encryption_key';
    const entries: SiteConfig = [{ key, valueFrom: { secretKeyRef, format: 'Text' } }];
    const site = aSite(entries, { phase: 'Provisioning' });
    const without = { objects: [] };
    assert.match(
      configurationBlock(reconciled(site, without).sync) ?? '',
      /there is no Secret "mail"/,
    );
    const leftOut = done(site, { ...LEFT_OUT, leftOut: ['siteConfig[0]'] }, without);
    assert.equal(leftOut.condition, 'False SecretMissing: no Secret "mail"; the processes do not start without it'); // prettier-ignore
    const waiting = { ...statusAfter(leftOut), phase: 'Provisioning' };
    assert.match(reconciled(aSite(entries, waiting), without).notReady ?? '', /^no Secret "mail"/);
    const open = done(aSite(entries), { ...LEFT_OUT, leftOut: ['siteConfig[0]'] }, without);
    assert.match(open.condition ?? '', /; all else is set$/, 'one that runs runs on');
  });
  test('waits on after a failure', () => {
    const failed = done(begun, { outcome: 'Failed', reason: 'SetupFailed', message: 'm' });
    const status = { ...statusAfter(failed), phase: 'Provisioning' };
    assert.match(reconciled(aSite(FROM_SECRET, status)).notReady ?? '', /^m; no key was changed/);
  });
});

suite('keys that processes read at their start', () => {
  const tick: SiteConfig = [{ key: 'background_process_niceness', value: 30 }];
  test('restart the bench’s processes when they change', () => {
    const first = statusAfter(done(aSite([], { phase: 'Ready' }), {}, { bench: true }));
    assert.equal(first.siteConfig, undefined);
    const none = statusAfter(done(aSite([{ key: 'a', value: 1 }]), {}, { bench: true }));
    const set = done(aSite(tick, none), {}, { bench: true });
    assert.match(set.condition ?? '', /^False Restarting: /);
    const status = statusAfter(set);
    const rolling = reconciled(aSite(tick, status), { bench: true, rollsOut: true });
    assert.match(rolling.condition ?? '', /^False Restarting: /);
    const ended = reconciled(aSite(tick, status), { bench: true });
    assert.match(ended.condition ?? '', /^True Applied: /);
    assert.equal(statusAfter(ended).siteConfig?.restarting, undefined);
    assert.notEqual(statusAfter(ended).siteConfig?.restart, undefined);
  });
  test('of a site need no restart', () => {
    assert.equal(statusAfter(done(aSite(tick))).siteConfig?.restart, undefined);
  });
});

suite('the Job', () => {
  const bench = {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppBench',
    metadata: { name: 'bench', namespace: 'default' },
    spec: { frameworkVersion: 'version-15', appsJSON: '[]', storage: {}, dbConfig: { mode: 'managed', provider: 'mariadb' }, metrics: {} }, // prettier-ignore
  };
  const site = {
    ...aSite(FROM_SECRET),
    spec: { siteName: 'shop.example.com', benchRef: { name: 'bench' }, siteConfig: FROM_SECRET },
  };
  const entries: SiteConfig = [
    { key: 'greeting', value: '$(SITE_NAME) costs $5 or $$' },
    ...FROM_SECRET.slice(1),
    { key: 'c', valueFrom: { configMapKeyRef: { name: 'm', key: 'k' }, format: 'JSON' } },
  ];
  const reader = new StaticReader({ objects: [bench, site] });
  const map = { ...SECRET, kind: 'ConfigMap', metadata: { name: 'm' } };
  const configuration = reconciled(aSite(entries), { objects: [SECRET, map] }).sync;
  const stages = synthesize((scope, id) => {
    const chart = new Chart(scope, id, { disableResourceNameHashes: true });
    const model = benchModel(bench as never, reader);
    addConfigurationJob(chart, { bench: model, owner: site, configuration, env: [] });
    return chart;
  });
  const [job] = stages.flatMap(({ objects }) => objects) as unknown as readonly {
    spec: { template: { spec: { containers: { env: { name: string; value: string }[] }[]; volumes: { name: string; projected?: unknown }[] } } }; // prettier-ignore
  }[];
  const pod = job?.spec.template.spec;

  test('mounts the keys that the entries name, and no others', () => {
    assert.deepEqual(pod?.volumes.find(({ name }) => name === 'values')?.projected, {
      sources: [
        { secret: { name: 'mail', optional: true, items: [{ key: 'k', path: '1' }] } },
        { configMap: { name: 'm', optional: true, items: [{ key: 'k', path: '2' }] } },
      ],
    });
  });
  test('gets the reason in place of a value whose object does not exist', () => {
    const { sync } = reconciled(aSite(FROM_SECRET), { objects: [] });
    const [stage] = synthesize((scope, id) => {
      const chart = new Chart(scope, id, { disableResourceNameHashes: true });
      const model = benchModel(bench as never, reader);
      addConfigurationJob(chart, { bench: model, owner: site, configuration: sync, env: [] });
      return chart;
    });
    const env = JSON.stringify(stage?.objects);
    assert.ok(env.includes('\\"reason\\":\\"SecretMissing\\"'), env);
    assert.ok(env.includes('there is no Secret \\\\\\"mail'), env);
  });
  test('gets no `$` that the kubelet expands', () => {
    const env = new Map(pod?.containers[0]?.env.map(({ name, value }) => [name, value]));
    const text = env.get('SITE_CONFIG') ?? '';
    assert.doesNotMatch(text.replaceAll('$$', ''), /\$/);
    assert.deepEqual(JSON.parse(text.replaceAll('$$', () => '$')), [
      { key: 'greeting', value: '$(SITE_NAME) costs $5 or $$' },
      { key: 'b', file: '1', from: 'key "k" of Secret "mail"', format: 'Text' },
      { key: 'c', file: '2', from: 'key "k" of ConfigMap "m"', format: 'JSON' },
    ]);
  });
  test('is not waited for, and runs while the init Job fails', () => {
    assert.deepEqual(stages.map(({ advisory, afterFailure }) => [advisory, afterFailure]), [[true, false]]); // prettier-ignore
  });
  test('is none where nothing is to be set', () => {
    const status = statusAfter(done(aSite(entries), {}, { objects: [SECRET, map] }));
    const { sync } = reconciled(aSite(entries, status), { objects: [SECRET, map] });
    assert.equal(sync?.taskHash, undefined);
  });
});

suite('the message of the Job', () => {
  test('has the result of its run', () => {
    const message = '{"results":{"id":["Failed","KeyMissing","m",[]]}}';
    assert.deepEqual(parsedResult('id', message, TIME), {
      ...{ outcome: 'Failed', reason: 'KeyMissing', message: 'm', keys: [], leftOut: [], time: TIME }, // prettier-ignore
    });
  });
  test('names the places of what is left out', () => {
    const message =
      '{"results":{"id":["Changed","KeyMissing","m",["a"],["siteConfig[1]","sso[0]","x"]]}}';
    assert.deepEqual(parsedResult('id', message, TIME).leftOut, ['siteConfig[1]', 'sso[0]']);
  });
  for (const lost of [undefined, '', 'Killed', '{"results":{"other":["Changed","","",[]]}}']) {
    test(`that is lost is no success: ${lost ?? 'no pod'}`, () => {
      assert.deepEqual(parsedResult('id', lost, TIME), {
        ...{ outcome: 'Failed', reason: 'JobFailed', keys: [], leftOut: [], time: TIME },
        message: 'its termination message is missing or has no result; it is tried again',
      });
    });
  }
  test('that is lost is read by another Job, a minute later', () => {
    const site = aSite(FROM_SECRET);
    const run = requestOf(reconciled(site).sync);
    const { message: _message, ...lost } = aRun(run);
    const after = reconciled(site, { runs: [{ ...lost, message: undefined }] });
    assert.match(
      after.condition ?? '',
      /^False JobFailed: Job shop-configuration: its termination/,
    );
    // The reader of this test has no clock: no minute has passed.
    const next = reconciled(aSite(FROM_SECRET, statusAfter(after)));
    assert.deepEqual([isWanted(next), next.condition], [false, after.condition]);
    const changed = reconciled(aSite(FROM_SECRET, statusAfter(after)), { objects: [aSecret('2')] });
    assert.ok(isWanted(changed), 'a change does not wait');
  });
});

suite('a Job that makes no progress', () => {
  const because = (job: NonNullable<Case['job']>, status?: Status) =>
    reconciled(aSite(FROM_SECRET, status), { job }).condition;
  test('is named with its cause', () => {
    assert.equal(because({ state: 'Failed', why: 'SiteClosed: x' }), 'False JobFailed: Job shop-configuration: SiteClosed: x'); // prettier-ignore
    assert.equal(because({ state: 'Failed' }), 'False JobFailed: Job shop-configuration: it has failed'); // prettier-ignore
    assert.equal(because({ state: 'InProgress', why: 'pod is unschedulable' }), 'False JobWaiting: Job shop-configuration: pod is unschedulable'); // prettier-ignore
    assert.match(because({ state: 'InProgress' }) ?? '', /^False Applying: waiting for Job/);
  });
  test('changes nothing while earlier keys hold', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const { condition } = reconciled(aSite(FROM_SECRET, status), {
      init: 'another',
      job: { state: 'Failed', why: 'SiteClosed: x' },
    });
    assert.match(condition ?? '', /^True Applied/);
  });
});
