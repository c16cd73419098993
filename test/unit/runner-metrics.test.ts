import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import { OperatorMetrics } from '../../runner/telemetry/metrics.js';

let metrics: OperatorMetrics;
beforeEach(() => {
  metrics = new OperatorMetrics(['AppBench', 'AppSite', 'SiteDashboardChart'], false);
});

/** The lines of one metric, without comments. */
async function series(name: string): Promise<string[]> {
  const { body } = await metrics.exposition();
  return body.split('\n').filter((line) => line.startsWith(name));
}

async function typeOf(name: string): Promise<string | undefined> {
  const { body } = await metrics.exposition();
  return new RegExp(`^# TYPE ${name} (.*)$`, 'm').exec(body)?.[1];
}

describe('the metrics of the specification', () => {
  const types = {
    app_operator_reconciliation_duration_seconds: 'histogram',
    app_operator_reconciliation_errors_total: 'counter',
    app_operator_job_status: 'gauge',
    app_operator_resource_total: 'gauge',
    app_bench_phase: 'gauge',
    app_site_phase: 'gauge',
  };
  for (const [name, type] of Object.entries(types)) {
    test(`${name} is a ${type}`, async () => {
      assert.equal(await typeOf(name), type);
    });
  }

  test('durations are counted by controller and result, beyond the 60 s of the alert', async () => {
    metrics.duration.observe({ controller: 'AppSite', result: 'success' }, 75);
    const lines = await series('app_operator_reconciliation_duration_seconds');
    const bucket = (le: string, count: number): string =>
      `app_operator_reconciliation_duration_seconds_bucket{le="${le}",controller="AppSite",result="success"} ${count}`;
    for (const line of [bucket('60', 0), bucket('90', 1), bucket('300', 1)]) {
      assert.ok(lines.includes(line), line);
    }
  });

  test('errors are counted by controller and type', async () => {
    metrics.errors.inc({ controller: 'AppBench', error_type: 'ApiError' });
    metrics.errors.inc({ controller: 'AppBench', error_type: 'ApiError' });
    assert.deepEqual(await series('app_operator_reconciliation_errors_total'), [
      'app_operator_reconciliation_errors_total{controller="AppBench",error_type="ApiError"} 2',
    ]);
  });

  test('show the last success of a backup, and no series without one or after its deletion', async () => {
    const name = 'app_site_backup_last_success_timestamp_seconds';
    const backups = new OperatorMetrics(['SiteBackup'], false);
    const lines = async (): Promise<string[]> =>
      (await backups.exposition()).body.split('\n').filter((line) => line.startsWith(name));
    const done = (time: string | undefined, site?: string): void =>
      backups.lastSuccess(
        { kind: 'SiteBackup', namespace: 'shop', name: 'nightly' },
        time === undefined ? undefined : { time, labels: { site: site ?? '' } },
      );
    done(undefined, 'web');
    assert.deepEqual(await lines(), []);
    done('2026-01-31T12:00:00Z', 'web');
    done('2026-02-01T12:00:00Z', 'web');
    const series = (site: string): string =>
      `${name}{namespace="shop",name="nightly",site="${site}"} 1769947200`;
    assert.deepEqual(await lines(), [series('web')]);
    done('2026-02-01T12:00:00Z', 'other');
    assert.deepEqual(await lines(), [series('other')]);
    done(undefined);
    assert.deepEqual(await lines(), []);
  });

  test('a job has one status at a time, and none after its deletion', async () => {
    metrics.job('shop', 'web-init', 'Active');
    metrics.job('shop', 'web-init', 'Failed');
    assert.deepEqual(await series('app_operator_job_status'), [
      'app_operator_job_status{job_name="web-init",namespace="shop",status="Failed"} 1',
    ]);
    metrics.job('shop', 'web-init', undefined);
    assert.deepEqual(await series('app_operator_job_status'), []);
  });

  test('resources are counted by type in lower case, and a namespace without any is left out', async () => {
    metrics.resources('AppBench', 'shop', 1);
    metrics.resources('AppSite', 'shop', 3);
    metrics.resources('AppBench', 'shop', 0);
    assert.deepEqual(await series('app_operator_resource_total'), [
      'app_operator_resource_total{resource_type="appsite",namespace="shop"} 3',
    ]);
  });
});

describe('phases', () => {
  test('only the present one has a series', async () => {
    metrics.phase({ kind: 'AppSite', namespace: 'shop', name: 'web' }, 'Provisioning');
    metrics.phase({ kind: 'AppSite', namespace: 'shop', name: 'web' }, 'Ready');
    assert.deepEqual(await series('app_site_phase'), [
      'app_site_phase{namespace="shop",name="web",phase="Ready"} 1',
    ]);
  });

  test('a deleted object has none', async () => {
    metrics.phase({ kind: 'AppBench', namespace: 'shop', name: 'b' }, 'Ready');
    metrics.phase({ kind: 'AppBench', namespace: 'shop', name: 'b' }, undefined);
    assert.deepEqual(await series('app_bench_phase'), []);
  });

  test('every kind that is named has its own metric', async () => {
    metrics.phase({ kind: 'SiteDashboardChart', namespace: 'shop', name: 'c' }, 'Ready');
    assert.equal((await series('app_site_dashboard_chart_phase')).length, 1);
  });

  test('churn leaves nothing behind', async () => {
    const before = (await metrics.exposition()).body;
    for (let index = 0; index < 100; index++) {
      const name = `site-${index}`;
      const id = { kind: 'AppSite', namespace: 'shop', name };
      metrics.phase(id, 'Provisioning');
      metrics.phase(id, 'Ready');
      metrics.job('shop', `${name}-init`, 'Active');
      metrics.job('shop', `${name}-init`, 'Succeeded');
      metrics.job('shop', `${name}-init`, undefined);
      metrics.phase(id, undefined);
    }
    assert.equal((await metrics.exposition()).body, before);
  });
});

test('the operator counts its own work', async () => {
  const controller = 'AppSite';
  metrics.queueDepth.inc({ controller }, 9);
  metrics.queueDepth.inc({ controller }, -2);
  metrics.queueWait.observe({ controller }, 0.2);
  metrics.queueRetries.inc({ controller });
  metrics.causes.inc({ controller, cause: 'Deployment changed' });
  metrics.applies.inc({ kind: 'Deployment', result: 'unchanged' });
  metrics.synthesizedObjects.inc({ controller }, 9);
  metrics.watchRestarts.inc({ kind: 'AppSite', reason: 'Expired' });
  metrics.watchSeen.set({ kind: 'AppSite' }, 1_700_000_000);
  metrics.apiCalls.inc({ verb: 'apply', code: '200' });
  metrics.leader.set(1);
  const { body, contentType } = await metrics.exposition();
  assert.match(contentType, /^text\/plain; version=0\.0\.4/);
  for (const line of [
    'app_operator_workqueue_depth{controller="AppSite"} 7',
    'app_operator_workqueue_wait_seconds_count{controller="AppSite"} 1',
    'app_operator_workqueue_retries_total{controller="AppSite"} 1',
    'app_operator_reconcile_causes_total{controller="AppSite",cause="Deployment changed"} 1',
    'app_operator_apply_total{kind="Deployment",result="unchanged"} 1',
    'app_operator_synthesized_objects_total{controller="AppSite"} 9',
    'app_operator_watch_restarts_total{kind="AppSite",reason="Expired"} 1',
    'app_operator_watch_last_activity_timestamp_seconds{kind="AppSite"} 1700000000',
    'app_operator_api_calls_total{verb="apply",code="200"} 1',
    'app_operator_leader 1',
  ]) {
    assert.ok(body.includes(`${line}\n`), line);
  }
  assert.match(body, /^app_operator_build_info{version="\d.*",node="v\d+.*"} 1$/m);
});

test("Node's own metrics are there", async () => {
  const { body } = await new OperatorMetrics([]).exposition();
  assert.match(body, /^nodejs_eventloop_lag_p99_seconds /m);
  assert.match(body, /^process_resident_memory_bytes /m);
});
