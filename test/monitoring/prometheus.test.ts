/**
 * A real Prometheus scrapes the real operator and a real exporter, with the rules, and answers the
 * queries of the dashboard.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { RULE_GROUPS } from '../../constructs/monitoring/rules.js';
import { needs, ROOT } from '../jobs/servers.js';
import { type Alert, BENCH, type MonitoringStack, startStack } from './stack.js';

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Queries without an answer in a stack where all is well. */
const EMPTY: Readonly<Record<string, string>> = {
  redis_up: 'Redis answers',
  mysql_up: 'MariaDB answers',
  pg_up: 'PostgreSQL answers',
  'app_bench_phase{phase!=': 'every bench is Ready',
  kube_pod_container_status_restarts_total: 'there is no kube-state-metrics',
  app_operator_watch_restarts_total: 'no watch was started again',
  error_type: 'nothing has failed',
};

const servers = ['prometheus', 'redis-server', 'mariadbd', 'postgres', 'python3'];

describe('Prometheus', needs(...servers), () => {
  let stack: MonitoringStack;
  let stop = async (): Promise<void> => undefined;
  const begun = Date.now();
  before(async () => {
    stack = await startStack();
    stop = stack.stop;
    // More wait than the alert allows, in a queue of the bench and in one of a site.
    const jobs = Array.from({ length: 101 }, (_, index) => `job-${index}`);
    stack.redis('RPUSH', `rq:queue:${stack.namespace}.${BENCH}:short`, ...jobs);
    stack.redis('ZADD', `rq:failed:${stack.namespace}.${BENCH}:short`, '1', 'job-x');
  });
  after(() => stop());

  /**
   * For every sample that must be there: after a scrape that takes too long, a target has none
   * until the next.
   */
  const until = <T>(what: string, check: () => Promise<T | undefined | false>): Promise<T> =>
    stack.cluster.until(what, check);

  test('finds the operator and the exporter, and scrapes them', async () => {
    await until('both are up', async () => {
      const up = await stack.query('up == 1');
      const jobs = [...new Set(up.map(({ metric }) => metric['job']))].sort();
      assert.deepEqual(jobs, [
        'app-operator-controller-manager-metrics-service',
        'app-operator-workloads',
      ]);
      return true;
    });
  });

  test('keeps the namespaces of sites and benches', async () => {
    const phases = await until('the phases', async () => {
      const found = await stack.query('app_site_phase');
      return found.length === 3 && found;
    });
    const found = phases.map(({ metric: { namespace, name, phase } }) => [namespace, name, phase]);
    const { namespace } = stack;
    assert.deepEqual(found.sort(), [
      [namespace, 'books', 'Ready'],
      [namespace, 'lost', 'Pending'],
      [namespace, 'shop', 'Ready'],
    ]);
    const lengths = await until('the queues', async () => {
      const found = await stack.query('app_worker_queue_length > 100');
      return found.length > 0 && found;
    });
    assert.deepEqual(
      lengths.map(({ metric: { namespace: place, bench, site, queue } }) => [place, bench, site, queue]), // prettier-ignore
      [[namespace, BENCH, undefined, 'short']],
    );
  });

  test('accepts series of other namespaces from the operator only', async () => {
    const [found] = await until('the forged series', async () => {
      const forged = await stack.query('app_workers{bench="forged"}');
      return forged.length > 0 && forged;
    });
    const { instance: _, ...labels } = found?.metric ?? {};
    assert.deepEqual(labels, {
      ...{ __name__: 'app_workers', job: 'app-operator-workloads' },
      ...{ namespace: stack.liar, bench: 'forged', queue: 'short' },
    });
  });

  test('knows the histogram of the specification by controller and result', async () => {
    const name = 'app_operator_reconciliation_duration_seconds_count';
    await until('the series', async () => {
      const pairs = await stack.query(`sum by (controller, result) (${name})`);
      for (const controller of ['appbench', 'appsite']) {
        const found = pairs.some(({ metric }) => metric['controller'] === controller && metric['result'] === 'success'); // prettier-ignore
        assert.ok(found, JSON.stringify(pairs));
      }
      for (const type of ['appbench', 'appsite']) {
        const [total] = await stack.query(`app_operator_resource_total{resource_type="${type}"}`);
        assert.equal(total?.value[1], type === 'appbench' ? '1' : '3');
      }
      const jobs = await stack.query(`app_operator_job_status{job_name="${BENCH}-init",status="Succeeded"}`); // prettier-ignore
      assert.equal(jobs.length, 1);
      return true;
    });
  });

  test('has loaded the rules, and lists the alerts', async () => {
    await until('the alerts are pending', async () => {
      const { alerts } = await stack.api<{ readonly alerts: readonly Alert[] }>('alerts');
      const found = alerts
        .filter(({ labels }) => labels['alertname'] !== 'AppOperatorDown')
        .map(({ labels }) => [labels['alertname'], labels['namespace'], labels['name'] ?? labels['queue']]); // prettier-ignore
      assert.deepEqual(found.sort(), [
        ['AppSiteNotReady', stack.namespace, 'lost'],
        ['AppWorkerQueueHigh', stack.namespace, 'short'],
      ]);
      return true;
    });
    await until('all rules are evaluated', async () => {
      const { groups } = await stack.api<{
        readonly groups: readonly { readonly rules: readonly { readonly health: string; readonly name: string }[] }[];
      }>('rules'); // prettier-ignore
      const rules = groups.flatMap((group) => group.rules);
      assert.equal(rules.length, RULE_GROUPS.flatMap((group) => group.rules).length);
      for (const { name, health } of rules) assert.equal(health, 'ok', name);
      return true;
    });
  });

  test('warns of a database whose connections are taken', async () => {
    const [mariadb] = stack.databases;
    mariadb.sql('SET GLOBAL max_connections = 10');
    const connections = Array.from({ length: 9 }, () => mariadb.hold('mysql', 'db'));
    await until('the alert is pending', async () => {
      const { alerts } = await stack.api<{ readonly alerts: readonly Alert[] }>('alerts');
      return alerts.some(
        ({ labels }) =>
          labels['alertname'] === 'AppDatabaseConnectionsHigh' &&
          labels['server'] === `127.0.0.1:${mariadb.port}` &&
          labels['bench'] === BENCH,
      );
    });
    mariadb.sql('SET GLOBAL max_connections = 100');
    await Promise.all(connections.map(({ stop }) => stop('SIGKILL')));
  });

  test('answers every query of the dashboard', async () => {
    const file = readFileSync(join(ROOT, 'dist/monitoring/grafana-dashboard.json'), 'utf8');
    const { panels } = JSON.parse(file) as { readonly panels: readonly Panel[] };
    const queries = panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [title, expr.replaceAll(/\$(namespace|bench)/g, '.*')] as const),
    );
    assert.ok(queries.length > 25);
    for (const [title, expr] of queries) {
      const reason = Object.keys(EMPTY).find((word) => expr.includes(word));
      if (reason === undefined) {
        await until(`${title}: ${expr}`, async () => (await stack.query(expr)).length > 0);
      } else {
        await stack.query(expr);
      }
    }
  });

  test('has the time of the last complete backup', async () => {
    const age = 'time() - app_site_backup_last_success_timestamp_seconds{name="nightly",site="shop"}'; // prettier-ignore
    const [found] = await until('the age', async () => {
      const samples = await stack.query(age);
      return samples.length > 0 && samples;
    });
    const seconds = Number(found?.value[1]);
    const most = 3_600 + (Date.now() - begun) / 1_000;
    assert.ok(seconds > 3_590 && seconds < most + 10, `${seconds} s, at most ${most} s`);
  });

  test('reports that the operator is down', async () => {
    await stack.operator.stop();
    await until('the alert is pending', async () => {
      const { alerts } = await stack.api<{ readonly alerts: readonly Alert[] }>('alerts');
      return alerts.some(({ labels }) => labels['alertname'] === 'AppOperatorDown');
    });
  });
});
