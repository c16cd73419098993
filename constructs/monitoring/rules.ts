import { SOURCE_URL } from '../project.js';

/** An alert as Prometheus reads it, in a rule file and in a PrometheusRule alike. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** How long the condition has to hold. */
  readonly for?: string;
  readonly labels: { readonly severity: 'critical' | 'warning' };
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly runbook_url: string;
  };
}

export interface RuleGroup {
  readonly name: string;
  readonly rules: readonly AlertRule[];
}

const RUNBOOKS = `${SOURCE_URL}/blob/main/docs/runbooks`;

/**
 * Connections taken, of all that a database server allows. The names are those of mysqld_exporter
 * and postgres_exporter: a server with one of these exporters gets the same alert. The latter
 * counts by database and state, so its series are summed.
 */
export const CONNECTIONS_TAKEN = {
  mariadb: (selector = '') =>
    `mysql_global_status_threads_connected${selector} / mysql_global_variables_max_connections${selector}`,
  postgres: (selector = '') => {
    const by = 'by (namespace, job, instance, bench, server)';
    return `sum ${by} (pg_stat_activity_count${selector}) / max ${by} (pg_settings_max_connections${selector})`;
  },
} as const;

/** Any phase other than Ready: an object that changes between such phases stays not ready. */
const notReady = (series: string): string =>
  `max by (namespace, name) (${series}{phase!="Ready"}) == 1`;

/** The phase that an object is in when its alert is sent. */
const phaseNow = (series: string): string =>
  `{{ with printf "${series}{namespace='%s',name='%s'} == 1" .Labels.namespace .Labels.name | query }}{{ (first .).Labels.phase }}{{ end }}`;

const alert = (
  name: string,
  severity: 'critical' | 'warning',
  rule: {
    readonly expr: string;
    readonly for?: string;
    readonly summary: string;
    readonly description: string;
  },
): AlertRule => ({
  alert: name,
  expr: rule.expr,
  ...(rule.for === undefined ? {} : { for: rule.for }),
  labels: { severity },
  annotations: {
    summary: rule.summary,
    description: rule.description,
    runbook_url: `${RUNBOOKS}/${name}.md`,
  },
});

/** The group of rules that needs no series of the operator's own processes to be of use. */
export const WORKLOAD_RULES = 'app-workloads';

/** The alerts: those about the operator, and those about what it runs. */
export const RULE_GROUPS: readonly RuleGroup[] = [
  {
    name: 'app-operator',
    rules: [
      alert('AppOperatorDown', 'critical', {
        // The operator's own series: `up` would need the name of the scrape job.
        expr: 'absent(app_operator_build_info)',
        for: '5m',
        summary: 'The operator is down.',
        description:
          'Prometheus has reached no metrics endpoint of the operator for 5 minutes. Benches and sites keep serving; changes are not applied.',
      }),
      alert('AppOperatorHighErrorRate', 'warning', {
        expr: 'sum(rate(app_operator_reconciliation_errors_total[5m])) > 0.1',
        for: '5m',
        summary: 'The operator fails {{ $value | printf "%.2f" }} reconciliations a second.',
        description:
          'More than 0.1 reconciliations a second have failed for 5 minutes{{ with query "topk(1, sum by (controller, error_type) (rate(app_operator_reconciliation_errors_total[5m])))" }}, most of them of {{ (first .).Labels.controller }} with {{ (first .).Labels.error_type }}{{ end }}.',
      }),
      alert('AppOperatorSlowReconciliation', 'warning', {
        expr: 'histogram_quantile(0.95, sum by (le, controller) (rate(app_operator_reconciliation_duration_seconds_bucket[5m]))) > 60',
        for: '10m',
        summary:
          'Reconciling {{ $labels.controller }} takes {{ $value | printf "%.0f" }} s or more in one of twenty cases.',
        description:
          'The 95th percentile of the time that the operator takes for one reconciliation ({{ $labels.controller }}) has been above 60 seconds for 10 minutes.',
      }),
    ],
  },
  {
    name: WORKLOAD_RULES,
    rules: [
      alert('AppSiteNotReady', 'warning', {
        expr: notReady('app_site_phase'),
        for: '15m',
        summary: 'AppSite {{ $labels.namespace }}/{{ $labels.name }} is not Ready.',
        description: `AppSite {{ $labels.name }} in namespace {{ $labels.namespace }} has not been Ready for 15 minutes. Its phase is ${phaseNow('app_site_phase')}; the condition Ready says why.`,
      }),
      alert('AppBenchNotReady', 'warning', {
        expr: notReady('app_bench_phase'),
        for: '15m',
        summary: 'AppBench {{ $labels.namespace }}/{{ $labels.name }} is not Ready.',
        description: `AppBench {{ $labels.name }} in namespace {{ $labels.namespace }} has not been Ready for 15 minutes. Its phase is ${phaseNow('app_bench_phase')}; the condition Ready says why.`,
      }),
      alert('AppGunicornRestarts', 'warning', {
        expr: 'increase(kube_pod_container_status_restarts_total{container="gunicorn"}[1h]) > 3',
        summary: 'gunicorn in {{ $labels.namespace }}/{{ $labels.pod }} keeps restarting.',
        description:
          'The container gunicorn of pod {{ $labels.pod }} in namespace {{ $labels.namespace }} has restarted {{ $value | printf "%.0f" }} times in an hour.',
      }),
      alert('AppWorkerQueueHigh', 'warning', {
        expr: 'app_worker_queue_length > 100',
        for: '10m',
        summary:
          '{{ $value | printf "%.0f" }} jobs wait in queue {{ $labels.queue }} of {{ $labels.namespace }}/{{ $labels.bench }}{{ with $labels.site }}, site {{ . }}{{ end }}.',
        description:
          'More than 100 jobs have waited in the queue {{ $labels.queue }} of bench {{ $labels.bench }} in namespace {{ $labels.namespace }}{{ with $labels.site }}, site {{ . }},{{ end }} for 10 minutes.',
      }),
      alert('AppDatabaseConnectionsHigh', 'warning', {
        expr: `${CONNECTIONS_TAKEN.mariadb()} > 0.8\nor\n${CONNECTIONS_TAKEN.postgres()} > 0.8`,
        for: '5m',
        summary:
          '{{ $value | humanizePercentage }} of the connections of {{ or $labels.server $labels.instance }} are in use.',
        description:
          'More than 80% of the connections that the database server {{ or $labels.server $labels.instance }}{{ with $labels.bench }} of bench {{ . }}{{ end }} allows have been in use for 5 minutes. When none is free, requests fail.',
      }),
    ],
  },
];
