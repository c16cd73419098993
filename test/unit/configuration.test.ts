/** The keys of `siteConfig`: what is refused, requested and said of them. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { siteConfiguration } from '../../constructs/configuration/batch.js';
import { evaluateConfiguration } from '../../constructs/configuration/evaluate.js';
import {
  configurationProblems,
  configurationWarnings,
} from '../../constructs/configuration/problems.js';
import { resultsOf, type ConfigurationResult } from '../../constructs/configuration/request.js';
import {
  syncConfiguration,
  type ConfigurationSync,
  type ConfiguredResource,
} from '../../constructs/configuration/sync.js';
import type { SiteConfig, SiteConfigStatus } from '../../constructs/kit/api.js';
import * as constants from '../../constructs/kit/constants.generated.js';
import type { KubeObject } from '../../constructs/kit/object.js';
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
}

/** What becomes of a resource in one reconcile. */
function reconciled(resource: ConfiguredResource, props: Case = {}) {
  const { objects = [SECRET], bench = false, init = 'i', pending = false, rollsOut } = props;
  const sync = syncConfiguration(
    resource,
    {
      file: bench ? constants.COMMON_CONFIG_FILE : 'site_config.json',
      request: bench ? 'BenchConfigurationRequest' : 'SiteConfigurationRequest',
      progress: bench ? 'BenchConfigurationProgress' : 'SiteConfigurationProgress',
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
      ...{ runs: [], probes: [], complete: true, ready: children.length === 0 },
    },
    sync,
  );
  const [condition] = evaluated.conditions;
  return { sync, ...evaluated, condition: condition && `${condition.status} ${condition.reason}: ${condition.message}` }; // prettier-ignore
}

function requestOf(sync: ConfigurationSync | undefined): string {
  return sync?.wanted?.id ?? '';
}

function aResult(id: string, result: Partial<ConfigurationResult> = {}): ConfigurationResult {
  return {
    ...{
      apiVersion: '',
      kind: 'ConfigurationResult',
      metadata: { name: id, namespace: 'default' },
    },
    ...{ outcome: 'Changed', reason: '', message: '', keys: [], time: TIME },
    ...result,
  };
}

/** The status after the Job has done what a resource asks for. */
function done(
  resource: ConfiguredResource,
  result: Partial<ConfigurationResult> = {},
  props: Case = {},
) {
  const { objects = [SECRET] } = props;
  const id = requestOf(reconciled(resource, props).sync);
  return reconciled(resource, { ...props, objects: [...objects, aResult(id, result)] });
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

suite('entries that only the operator can refuse', () => {
  const messages = (entries: SiteConfig): readonly string[] =>
    configurationProblems(entries).map(({ path, message }) => `${path}: ${message}`);
  test('have neither or both of value and valueFrom', () => {
    const [, both] = FROM_SECRET;
    assert.deepEqual(messages([{ key: 'a' }, { ...both, key: 'b', value: 1 }]), [
      'spec.siteConfig[0]: Invalid value: "a": needs one of value and valueFrom',
      'spec.siteConfig[1]: Invalid value: "b": needs one of value and valueFrom',
    ]);
  });
  test('name a Secret that the operator has generated', () => {
    const secretKeyRef = { name: 'b-db-root', key: 'password' };
    assert.deepEqual(messages([{ key: 'a', valueFrom: { secretKeyRef, format: 'Text' } }]), [
      'spec.siteConfig[0].valueFrom.secretKeyRef.name: Invalid value: "b-db-root": names that end with -db-root are of Secrets of the operator, for its own containers; use another name',
    ]);
  });
  test('are too long together', () => {
    const entries = ['a', 'b'].map((key) => ({ key, value: 'x'.repeat(40_000) }));
    assert.deepEqual(messages(entries), [
      'spec.siteConfig: Too long: the values take 80004 bytes; they may not take more than 65536 together',
    ]);
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
      'spec.siteConfig[1].valueFrom.secretKeyRef.name: there is no Secret "mail" in namespace default; the keys are set when it exists',
    ]);
  });
});

suite('the request of a site', () => {
  test('is none without entries', () => {
    const { sync, conditions, fields } = reconciled(aSite([]));
    assert.deepEqual([sync, conditions, fields], [undefined, [], {}]);
  });
  test('waits for the init Job', () => {
    const { batchObjects, condition } = reconciled(aSite(FROM_SECRET), { pending: true });
    assert.equal(batchObjects.length, 0);
    assert.equal(condition, 'False Applying: waiting for Job shop-init to set the keys of site_config.json'); // prettier-ignore
  });
  test('waits for the Secret, and changes nothing until then', () => {
    const { batchObjects, condition } = reconciled(aSite(FROM_SECRET), { objects: [] });
    assert.equal(batchObjects.length, 0);
    assert.equal(
      condition,
      'False SecretMissing: spec.siteConfig[1].valueFrom.secretKeyRef.name: there is no Secret "mail" in namespace default; create it',
    );
  });
  test('is there until its result is, and not again', () => {
    const site = aSite(FROM_SECRET);
    assert.equal(reconciled(site).batchObjects.length, 1);
    const applied = done(site, { keys: ['a', 'b'] });
    assert.equal(applied.condition, 'True Applied: site_config.json has the declared values: a, b');
    assert.equal(applied.reconcileAgain, true);
    const again = reconciled(aSite(FROM_SECRET, statusAfter(applied)));
    assert.deepEqual([again.batchObjects.length, again.reconcileAgain], [0, false]);
    assert.equal(again.condition, applied.condition);
    assert.deepEqual(again.fields, applied.fields);
  });
  test('changes with the Secret and with the value', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const changed = [{ key: 'a', value: 2 }, ...FROM_SECRET.slice(1)];
    assert.equal(reconciled(aSite(FROM_SECRET, status), { objects: [aSecret('2')] }).batchObjects.length, 1); // prettier-ignore
    assert.equal(reconciled(aSite(changed, status)).batchObjects.length, 1);
  });
  test('is repeated after a run of the init Job, while the condition stays', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const again = reconciled(aSite(FROM_SECRET, status), { init: 'another' });
    assert.equal(again.batchObjects.length, 1);
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
      { outcome: 'Failed', reason: 'KeyMissing', message: 'b: key "k" of Secret "mail" …' },
      { objects: [aSecret('2')] },
    );
    assert.match(failed.condition ?? '', /^False KeyMissing: b: key "k" .*; no key was changed$/);
    assert.deepEqual(statusAfter(failed).siteConfig?.keys, ['a', 'b']);
    const later = reconciled(aSite(FROM_SECRET, statusAfter(failed)), { objects: [aSecret('2')] });
    assert.deepEqual([later.batchObjects.length, later.condition], [0, failed.condition]);
    const without = { ...statusAfter(failed), conditions: [] };
    const lost = reconciled(aSite(FROM_SECRET, without), { objects: [aSecret('2')] });
    assert.equal(lost.batchObjects.length, 1, 'a lost condition is found out again');
  });
  test('removes all keys, and then the status', () => {
    const status = statusAfter(done(aSite(FROM_SECRET)));
    const site = aSite([], status);
    assert.equal(reconciled(site).batchObjects.length, 1);
    const { conditions, fields } = done(site, { keys: ['a', 'b'] });
    assert.deepEqual([conditions, fields], [[], { siteConfig: undefined }]);
  });
});

suite('a site that was never ready', () => {
  const begun = aSite(FROM_SECRET, { phase: 'Provisioning' });
  test('waits for its keys', () => {
    assert.match(reconciled(begun).notReady ?? '', /^waiting for Job shop-configuration/);
    assert.match(reconciled(begun, { objects: [] }).notReady ?? '', /there is no Secret "mail"/);
    assert.equal(reconciled(begun, { pending: true }).notReady, undefined);
    assert.equal(done(begun).notReady, undefined);
  });
  test('waits on after a failure', () => {
    const failed = done(begun, { outcome: 'Failed', reason: 'KeyMissing', message: 'm' });
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
  const request = { ...reconciled(aSite(entries), { objects: [SECRET, { ...SECRET, kind: 'ConfigMap', metadata: { name: 'm' } }] }).sync?.wanted } as never; // prettier-ignore
  const inputs = siteConfiguration.resolve(site as never, reader);
  const stages = synthesize((scope, id) =>
    siteConfiguration.chart(scope, id, { resource: site as never, inputs, requests: [request] }),
  );
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
  test('gives results by request', () => {
    const [result] = resultsOf(
      '{"results":{"id":["Failed","KeyMissing","m",[]]}}',
      TIME,
      'default',
    );
    assert.deepEqual(result, aResult('id', { outcome: 'Failed', reason: 'KeyMissing', message: 'm' })); // prettier-ignore
  });
  test('is not created while the site is paused', () => {
    const paused = { ...site, spec: { ...site.spec, paused: true } };
    assert.throws(() => siteConfiguration.resolve(paused as never, reader), /shop is paused/);
  });
});
