import { CONNECTIONS_TAKEN } from './rules.js';

/** A query of a panel, and how its lines are named. */
export interface Target {
  readonly expr: string;
  readonly legend: string;
}

/** Value from which on a panel has a colour; the first is its base. */
export interface Threshold {
  readonly color: 'green' | 'yellow' | 'red';
  readonly value: number | null;
}

export interface Panel {
  readonly title: string;
  readonly description: string;
  /** @default timeseries */
  readonly type?: 'stat' | 'table';
  /** Columns of 24, and rows of some 30 pixels. @default [8, 6] */
  readonly size?: readonly [width: number, height: number];
  /** @default none */
  readonly unit?: string;
  readonly targets: readonly Target[];
  readonly thresholds?: readonly Threshold[];
  /** Whether lines are laid on top of each other. */
  readonly stacked?: boolean;
  /** Whether a table, or a number, says what is now. */
  readonly instant?: boolean;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const SITES = '{namespace=~"$namespace"}';
const BENCH = '{namespace=~"$namespace",bench=~"$bench"}';
export const green = { color: 'green', value: null } as const;
const yellow = (value: number): Threshold => ({ color: 'yellow', value });
const red = (value: number): Threshold => ({ color: 'red', value });

/** A series of Node.js, of the operator's processes only, under any name of the scrape job. */
const ofOperator = (expr: string): string =>
  `${expr} and on (job, instance) app_operator_build_info`;
const byPhase = (series: string): string =>
  `sum by (phase) (max by (namespace, name, phase) (${series}${SITES}))`;
const owner = '{{namespace}}/{{bench}} {{site}} {{queue}}';

/** Three short rows for those who look, one for those who run the operator. */
export const ROWS: readonly Row[] = [
  {
    title: 'Overview',
    panels: [
      {
        title: 'Operator',
        description: 'Whether an operator works: the leader of its replicas.',
        type: 'stat',
        size: [4, 5],
        targets: [{ expr: 'sum(app_operator_leader) or vector(0)', legend: 'leaders' }],
        thresholds: [{ color: 'red', value: null }, { color: 'green', value: 1 }, red(2)],
        instant: true,
      },
      {
        title: 'Error rate',
        description: 'Failed reconciliations a minute. The alert is at 6 a minute (0.1 a second).',
        type: 'stat',
        size: [4, 5],
        targets: [
          {
            expr: '60 * sum(rate(app_operator_reconciliation_errors_total[5m])) or vector(0)',
            legend: 'errors/min',
          },
        ],
        thresholds: [green, yellow(1), red(5)],
      },
      {
        title: 'Sites by phase',
        description: 'All phases but Ready count as not ready.',
        size: [8, 5],
        targets: [{ expr: byPhase('app_site_phase'), legend: '{{phase}}' }],
        stacked: true,
      },
      {
        title: 'Benches by phase',
        description: 'All phases but Ready count as not ready.',
        size: [8, 5],
        targets: [{ expr: byPhase('app_bench_phase'), legend: '{{phase}}' }],
        stacked: true,
      },
      {
        title: 'Not Ready',
        description:
          'Sites and benches that wait for something; their condition Ready says for what.',
        type: 'table',
        size: [24, 5],
        targets: [
          {
            expr: `max by (namespace, name, phase) (app_site_phase{phase!="Ready",namespace=~"$namespace"})`,
            legend: 'site',
          },
          {
            expr: `max by (namespace, name, phase) (app_bench_phase{phase!="Ready",namespace=~"$namespace"})`,
            legend: 'bench',
          },
        ],
        instant: true,
      },
    ],
  },
  {
    title: 'Queues and databases',
    panels: [
      {
        title: 'Queue length',
        description: 'Waiting jobs. The alert is above 100 for 10 minutes.',
        size: [12, 7],
        targets: [{ expr: `app_worker_queue_length${BENCH}`, legend: owner }],
        thresholds: [green, red(100)],
      },
      {
        title: 'Workers and running jobs',
        description: 'Workers, and workers that run a job.',
        size: [12, 7],
        targets: [
          { expr: `app_workers${BENCH}`, legend: `workers ${owner}` },
          { expr: `app_worker_jobs_running${BENCH}`, legend: `running ${owner}` },
        ],
      },
      {
        title: 'Failed jobs',
        description: 'Failed jobs that the framework still stores.',
        targets: [{ expr: `app_worker_jobs_failed${BENCH} > 0`, legend: owner }],
      },
      {
        title: 'Database connections',
        description: 'Share of the allowed connections in use. The alert is above 80%.',
        unit: 'percentunit',
        targets: [
          { expr: CONNECTIONS_TAKEN.mariadb(BENCH), legend: '{{bench}} {{server}}' },
          { expr: CONNECTIONS_TAKEN.postgres(BENCH), legend: '{{bench}} {{server}}' },
        ],
        thresholds: [green, red(0.8)],
      },
      {
        title: 'Servers that are down',
        description: 'Redis and databases whose login fails, as seen by the exporters.',
        type: 'table',
        targets: [
          { expr: `redis_up${BENCH} == 0`, legend: 'redis' },
          { expr: `mysql_up${BENCH} == 0`, legend: 'mariadb' },
          { expr: `pg_up${BENCH} == 0`, legend: 'postgres' },
        ],
        instant: true,
      },
      {
        title: 'Age of the last backup',
        description: 'Since the last complete backup of each SiteBackup.',
        unit: 's',
        targets: [
          {
            expr: `time() - max by (namespace, name, site) (app_site_backup_last_success_timestamp_seconds${SITES})`,
            legend: '{{namespace}}/{{name}} of {{site}}',
          },
        ],
      },
      {
        title: 'Backups by phase',
        description: 'SiteBackups; Failed: the last backup failed.',
        targets: [{ expr: byPhase('app_site_backup_phase'), legend: '{{phase}}' }],
        stacked: true,
      },
      {
        title: 'Restarts of gunicorn in an hour',
        description: 'The alert is above 3. Needs kube-state-metrics.',
        targets: [
          {
            expr: `increase(kube_pod_container_status_restarts_total{container="gunicorn",namespace=~"$namespace"}[1h])`,
            legend: '{{namespace}}/{{pod}}',
          },
        ],
        thresholds: [green, red(3)],
      },
    ],
  },
  {
    title: 'The operator',
    panels: [
      {
        title: 'Duration of reconciliations (p95)',
        description: 'Of one reconciliation, by kind. The alert is above 60 seconds.',
        unit: 's',
        targets: [
          {
            expr: 'histogram_quantile(0.95, sum by (le, controller) (rate(app_operator_reconciliation_duration_seconds_bucket[5m])))',
            legend: '{{controller}}',
          },
        ],
        thresholds: [green, red(80)],
      },
      {
        title: 'Errors by kind',
        description: 'Failed reconciliations a minute, by type of error.',
        targets: [
          {
            expr: '60 * sum by (controller, error_type) (rate(app_operator_reconciliation_errors_total[5m]))',
            legend: '{{controller}} {{error_type}}',
          },
        ],
        thresholds: [green, yellow(1), red(5)],
      },
      {
        title: 'Jobs',
        description: 'Jobs of benches, sites and backups, by their result.',
        targets: [
          {
            expr: `sum by (status) (max by (namespace, job_name, status) (app_operator_job_status${SITES}))`,
            legend: '{{status}}',
          },
        ],
        stacked: true,
      },
      {
        title: 'Work queue',
        description: 'Resources that wait to be reconciled.',
        targets: [
          { expr: 'sum by (controller) (app_operator_workqueue_depth)', legend: '{{controller}}' },
        ],
      },
      {
        title: 'Wait in the work queue (p95)',
        description: 'How long a due resource waits for its reconciliation.',
        unit: 's',
        targets: [
          {
            expr: 'histogram_quantile(0.95, sum by (le) (rate(app_operator_workqueue_wait_seconds_bucket[5m])))',
            legend: 'wait',
          },
        ],
      },
      {
        title: 'Writes and restarted watches',
        description:
          'Children that were written, and watches that had to be started again, a minute.',
        targets: [
          {
            expr: '60 * sum by (result) (rate(app_operator_apply_total{result!="unchanged"}[5m]))',
            legend: '{{result}}',
          },
          {
            expr: '60 * sum(rate(app_operator_watch_restarts_total[5m]))',
            legend: 'watches restarted',
          },
        ],
      },
      {
        title: 'Calls to the API server',
        description: 'A second, by verb.',
        unit: 'reqps',
        targets: [
          { expr: 'sum by (verb) (rate(app_operator_api_calls_total[5m]))', legend: '{{verb}}' },
        ],
      },
      {
        title: 'Memory',
        description: 'Of each replica.',
        unit: 'bytes',
        targets: [{ expr: ofOperator('process_resident_memory_bytes'), legend: '{{instance}}' }],
      },
      {
        title: 'CPU',
        description: 'Cores that each replica uses.',
        targets: [
          { expr: ofOperator('rate(process_cpu_seconds_total[5m])'), legend: '{{instance}}' },
        ],
      },
    ],
  },
];
