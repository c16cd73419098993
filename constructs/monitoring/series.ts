/** Who exports a series: the operator, a bench's exporter, or a part that clusters have anyway. */
export type Exporter = 'operator' | 'bench' | 'kube-state-metrics';

/**
 * Every series that the rules and the dashboard read. A test holds them to it, and it to what is
 * exported.
 */
export const SERIES: Readonly<Record<string, Exporter>> = {
  app_bench_phase: 'operator',
  app_site_phase: 'operator',
  app_site_backup_phase: 'operator',
  app_site_backup_last_success_timestamp_seconds: 'operator',
  app_operator_api_calls_total: 'operator',
  app_operator_apply_total: 'operator',
  app_operator_build_info: 'operator',
  app_operator_job_status: 'operator',
  app_operator_leader: 'operator',
  app_operator_reconciliation_duration_seconds_bucket: 'operator',
  app_operator_reconciliation_errors_total: 'operator',
  app_operator_watch_restarts_total: 'operator',
  app_operator_workqueue_depth: 'operator',
  app_operator_workqueue_wait_seconds_bucket: 'operator',
  process_cpu_seconds_total: 'operator',
  process_resident_memory_bytes: 'operator',
  app_worker_jobs_failed: 'bench',
  app_worker_jobs_running: 'bench',
  app_worker_queue_length: 'bench',
  app_workers: 'bench',
  mysql_global_status_threads_connected: 'bench',
  mysql_global_variables_max_connections: 'bench',
  mysql_up: 'bench',
  pg_settings_max_connections: 'bench',
  pg_stat_activity_count: 'bench',
  pg_up: 'bench',
  redis_up: 'bench',
  kube_pod_container_status_restarts_total: 'kube-state-metrics',
};
