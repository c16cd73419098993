/**
 * The alerts, in the time of promtool: each fires when it should, and not before, and not
 * otherwise.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse, stringify } from 'yaml';

import { needs, required, ROOT, temporaryDirectory } from '../jobs/servers.js';

const RULES = join(ROOT, 'dist/monitoring/prometheus-rules.yaml');
const RUNBOOKS = 'https://github.com/app-operator/app-operator/blob/main/docs/runbooks';

interface Fired {
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly description: string;
}

interface Case {
  readonly alert: string;
  readonly severity: string;
  readonly when: string;
  /** Series → values, one a minute. */
  readonly series: Readonly<Record<string, string>>;
  /** Minute → what fires then. */
  readonly at: Readonly<Record<number, readonly Fired[]>>;
}

const JOB = 'app-operator-controller-manager-metrics-service';
const running = (instance: string, job = JOB): string =>
  `app_operator_build_info{job="${job}",instance="${instance}",version="1"}`;
const down: Fired = {
  summary: 'The operator is down.',
  description:
    'Prometheus has reached no metrics endpoint of the operator for 5 minutes. Benches and sites keep serving; changes are not applied.',
};

const errors = (controller: string, type: string): string =>
  `app_operator_reconciliation_errors_total{controller="${controller}",error_type="${type}"}`;
const failing = (rate: string, controller: string, type: string): Fired => ({
  summary: `The operator fails ${rate} reconciliations a second.`,
  description: `More than 0.1 reconciliations a second have failed for 5 minutes, most of them of ${controller} with ${type}.`,
});

const reconciliations = (le: string, controller = 'appsite'): string =>
  `app_operator_reconciliation_duration_seconds_bucket{controller="${controller}",result="success",le="${le}"}`;

const phase = (kind: string, phaseName: string, name = 'shop'): string =>
  `app_${kind}_phase{namespace="team",name="${name}",phase="${phaseName}"}`;
const notReady = (kind: string, phaseName: string): Fired => ({
  labels: { namespace: 'team', name: 'shop' },
  summary: `${kind} team/shop is not Ready.`,
  description: `${kind} shop in namespace team has not been Ready for 15 minutes. Its phase is ${phaseName}; the condition Ready says why.`,
});
const phaseCases = (alert: string, kind: string, series: string): readonly Case[] => {
  const common = { alert, severity: 'warning' };
  return [
    {
      ...common,
      when: 'a phase other than Ready lasts',
      series: { [phase(series, 'Failed')]: '1x30', [phase(series, 'Ready', 'other')]: '1x30' },
      at: { 14: [], 15: [notReady(kind, 'Failed')] },
    },
    {
      ...common,
      when: 'it changes from one such phase to another',
      series: {
        [phase(series, 'Provisioning')]: '1x7 stale',
        [phase(series, 'Failed')]: '_x8 1x20',
      },
      at: { 14: [], 15: [notReady(kind, 'Failed')] },
    },
    {
      ...common,
      when: 'it gets Ready in time',
      series: {
        [phase(series, 'Provisioning')]: '1x13 stale',
        [phase(series, 'Ready')]: '_x14 1x30',
      },
      at: { 15: [], 30: [] },
    },
  ];
};

const restarts = (container: string): string =>
  `kube_pod_container_status_restarts_total{namespace="team",pod="shop-gunicorn-1",container="${container}"}`;
const queue = (labels: string): string =>
  `app_worker_queue_length{namespace="team",bench="b",${labels}}`;
const target =
  'job="b-metrics",instance="10.0.0.1:9180",namespace="team",bench="b",server="b-db:3306"';
const CASES: readonly Case[] = [
  {
    alert: 'AppOperatorDown',
    severity: 'critical',
    when: 'its target is down',
    series: { [running('a')]: '1x10 stale' },
    at: { 10: [], 15: [], 16: [down] },
  },
  {
    alert: 'AppOperatorDown',
    severity: 'critical',
    when: 'there is no target at all',
    series: { 'up{job="something-else"}': '1x20' },
    at: { 4: [], 5: [down] },
  },
  {
    alert: 'AppOperatorDown',
    severity: 'critical',
    when: 'it is up, under a scrape job of any name',
    series: { [running('a', 'my-own-job')]: '1x20' },
    at: { 10: [], 20: [] },
  },
  {
    alert: 'AppOperatorDown',
    severity: 'critical',
    when: 'one of two replicas is down',
    series: { [running('a')]: '1x30', [running('b')]: '1x5 stale' },
    at: { 30: [] },
  },
  {
    alert: 'AppOperatorDown',
    severity: 'critical',
    when: 'it is back in time',
    series: { [running('a')]: '1x10 stale _x3 1x20' },
    at: { 15: [], 20: [] },
  },
  {
    alert: 'AppOperatorHighErrorRate',
    severity: 'warning',
    when: 'reconciliations fail twelve times a minute',
    series: { [errors('appsite', 'ApiError')]: '0x10 0+12x20' },
    at: { 10: [], 15: [], 25: [failing('0.20', 'appsite', 'ApiError')] },
  },
  {
    alert: 'AppOperatorHighErrorRate',
    severity: 'warning',
    when: 'only all kinds together fail that often',
    series: {
      [errors('appsite', 'ApiError')]: '0+5x30',
      [errors('appbench', 'ConnectionError')]: '0+4x30',
    },
    at: { 25: [failing('0.15', 'appsite', 'ApiError')] },
  },
  {
    alert: 'AppOperatorHighErrorRate',
    severity: 'warning',
    when: 'they fail six times a minute',
    series: { [errors('appsite', 'ApiError')]: '0+6x60' },
    at: { 30: [] },
  },
  {
    alert: 'AppOperatorSlowReconciliation',
    severity: 'warning',
    when: 'one of twenty reconciliations takes more than a minute',
    series: {
      [reconciliations('60')]: '0+90x60',
      [reconciliations('90')]: '0+100x60',
      [reconciliations('+Inf')]: '0+100x60',
    },
    at: {
      10: [],
      11: [
        {
          labels: { controller: 'appsite' },
          summary: 'Reconciling appsite takes 75 s or more in one of twenty cases.',
          description:
            'The 95th percentile of the time that the operator takes for one reconciliation (appsite) has been above 60 seconds for 10 minutes.',
        },
      ],
    },
  },
  {
    alert: 'AppOperatorSlowReconciliation',
    severity: 'warning',
    when: 'fewer do',
    series: {
      [reconciliations('60')]: '0+96x60',
      [reconciliations('90')]: '0+100x60',
      [reconciliations('+Inf')]: '0+100x60',
    },
    at: { 30: [] },
  },
  ...phaseCases('AppSiteNotReady', 'AppSite', 'site'),
  ...phaseCases('AppBenchNotReady', 'AppBench', 'bench'),
  {
    alert: 'AppGunicornRestarts',
    severity: 'warning',
    when: 'it restarts five times in an hour',
    series: { [restarts('gunicorn')]: '0x60 1x5 2x5 3x5 4x5 5x200', [restarts('nginx')]: '0+9x90' },
    at: {
      70: [],
      90: [
        {
          labels: { namespace: 'team', pod: 'shop-gunicorn-1', container: 'gunicorn' },
          summary: 'gunicorn in team/shop-gunicorn-1 keeps restarting.',
          description:
            'The container gunicorn of pod shop-gunicorn-1 in namespace team has restarted 5 times in an hour.',
        },
      ],
      // An hour later it is over.
      180: [],
    },
  },
  {
    alert: 'AppGunicornRestarts',
    severity: 'warning',
    when: 'it restarts three times in three hours',
    series: { [restarts('gunicorn')]: '0x60 1x60 2x60 3x60' },
    at: { 120: [], 200: [] },
  },
  {
    alert: 'AppWorkerQueueHigh',
    severity: 'warning',
    when: 'more than a hundred jobs wait',
    series: {
      [queue('site="shop",queue="long"')]: '101x30',
      [queue('queue="short"')]: '2000x30',
      [queue('queue="default"')]: '100x30',
    },
    at: {
      9: [],
      10: [
        {
          labels: { namespace: 'team', bench: 'b', site: 'shop', queue: 'long' },
          summary: '101 jobs wait in queue long of team/b, site shop.',
          description:
            'More than 100 jobs have waited in the queue long of bench b in namespace team, site shop, for 10 minutes.',
        },
        {
          labels: { namespace: 'team', bench: 'b', queue: 'short' },
          summary: '2000 jobs wait in queue short of team/b.',
          description:
            'More than 100 jobs have waited in the queue short of bench b in namespace team for 10 minutes.',
        },
      ],
    },
  },
  {
    alert: 'AppWorkerQueueHigh',
    severity: 'warning',
    when: 'a queue is worked off in between',
    series: { [queue('queue="short"')]: '500x8 0 500x9 0' },
    at: { 10: [], 17: [] },
  },
  {
    alert: 'AppDatabaseConnectionsHigh',
    severity: 'warning',
    when: 'a MariaDB server has few left',
    series: {
      [`mysql_global_status_threads_connected{${target}}`]: '90x20',
      [`mysql_global_variables_max_connections{${target}}`]: '100x20',
    },
    at: {
      4: [],
      5: [
        {
          labels: { job: 'b-metrics', instance: '10.0.0.1:9180', namespace: 'team', bench: 'b', server: 'b-db:3306' }, // prettier-ignore
          summary: '90% of the connections of b-db:3306 are in use.',
          description:
            'More than 80% of the connections that the database server b-db:3306 of bench b allows have been in use for 5 minutes. When none is free, requests fail.',
        },
      ],
    },
  },
  {
    alert: 'AppDatabaseConnectionsHigh',
    severity: 'warning',
    when: 'a MariaDB server has a fifth left',
    series: {
      [`mysql_global_status_threads_connected{${target}}`]: '80x20',
      [`mysql_global_variables_max_connections{${target}}`]: '100x20',
    },
    at: { 20: [] },
  },
  {
    alert: 'AppDatabaseConnectionsHigh',
    severity: 'warning',
    when: 'a PostgreSQL server has few left, as postgres_exporter counts',
    series: {
      'pg_stat_activity_count{job="pg",instance="db:9187",server="db:5432",datname="a",state="idle"}':
        '50x20',
      'pg_stat_activity_count{job="pg",instance="db:9187",server="db:5432",datname="b",state="active"}':
        '40x20',
      'pg_settings_max_connections{job="pg",instance="db:9187",server="db:5432"}': '100x20',
    },
    at: {
      5: [
        {
          labels: { job: 'pg', instance: 'db:9187', server: 'db:5432' },
          summary: '90% of the connections of db:5432 are in use.',
          description:
            'More than 80% of the connections that the database server db:5432 allows have been in use for 5 minutes. When none is free, requests fail.',
        },
      ],
    },
  },
];

/** The cases of an alert as promtool reads them. */
function testFile(cases: readonly Case[]): string {
  return stringify({
    rule_files: [RULES],
    evaluation_interval: '1m',
    tests: cases.map(({ alert, severity, when, series, at }) => ({
      name: when,
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      alert_rule_test: Object.entries(at).map(([minute, fired]) => ({
        eval_time: `${minute}m`,
        alertname: alert,
        exp_alerts: fired.map(({ labels, summary, description }) => ({
          exp_labels: { severity, ...labels },
          exp_annotations: { summary, description, runbook_url: `${RUNBOOKS}/${alert}.md` },
        })),
      })),
    })),
  });
}

describe('the alerts', needs('promtool'), () => {
  const promtool = (...args: readonly string[]): void => {
    const { status, stdout, stderr } = spawnSync(required('promtool'), args, { encoding: 'utf8' });
    assert.equal(status, 0, `${stdout}\n${stderr}`);
  };

  test('are a rule file that Prometheus takes', () => {
    promtool('check', 'rules', RULES);
  });

  for (const alert of new Set(CASES.map((each) => each.alert))) {
    const cases = CASES.filter((each) => each.alert === alert);
    test(`${alert}: ${cases.map(({ when }) => when).join('; ')}`, () => {
      const file = join(temporaryDirectory(), 'test.yaml');
      writeFileSync(file, testFile(cases));
      promtool('test', 'rules', file);
    });
  }
});

interface RuleFile {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly {
      readonly alert: string;
      readonly for?: string;
      readonly labels: { readonly severity: string };
    }[];
  }[];
}

/** Group, name, duration and severity of each alert of the specification. */
const SPECIFIED = [
  ['app-operator', 'AppOperatorDown', '5m', 'critical'],
  ['app-operator', 'AppOperatorHighErrorRate', '5m', 'warning'],
  ['app-operator', 'AppOperatorSlowReconciliation', '10m', 'warning'],
  ['app-workloads', 'AppSiteNotReady', '15m', 'warning'],
  ['app-workloads', 'AppBenchNotReady', '15m', 'warning'],
  ['app-workloads', 'AppGunicornRestarts', undefined, 'warning'],
  ['app-workloads', 'AppWorkerQueueHigh', '10m', 'warning'],
  ['app-workloads', 'AppDatabaseConnectionsHigh', '5m', 'warning'],
];
const { groups } = parse(readFileSync(RULES, 'utf8')) as RuleFile;

test('the alerts of the specification are in the rule file', () => {
  const names = SPECIFIED.map(([, alert]) => alert);
  const rows = groups.flatMap(({ name, rules }) =>
    rules.map((rule) => [name, rule.alert, rule.for, rule.labels.severity]),
  );
  assert.deepEqual(
    rows.filter(([, alert]) => names.includes(alert)),
    SPECIFIED,
  );
});

for (const { alert, labels } of groups.flatMap(({ rules }) => rules)) {
  test(`${alert} is tested to fire and not to, with its severity`, () => {
    const cases = CASES.filter((each) => each.alert === alert);
    const outcomes = cases.flatMap(({ at }) => Object.values(at));
    assert.ok(outcomes.some((fired) => fired.length > 0));
    assert.ok(outcomes.some((fired) => fired.length === 0));
    for (const { severity } of cases) assert.equal(severity, labels.severity);
  });
}
