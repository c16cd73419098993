import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SiteBackup, SiteBackupStatus } from '../../constructs/api/backup.js';
import { backup as kind } from '../../constructs/kinds/backup/index.js';
import type { ConditionResult } from '../../constructs/kit/condition.js';
import type { JobRun, StatusResult } from '../../constructs/kit/kind.js';
import { aReadyBench, aReader, aSite, stored } from '../golden/builders.js';

const LOCATION = 's3://backups/default/demo-site/20260101T020000Z';
const LISTED = {
  name: '20260101T020000Z',
  startTime: '2026-01-01T02:00:00Z',
  completionTime: '2026-01-01T02:02:10Z',
  location: LOCATION,
  size: 1,
  complete: true,
} as const;

const aBackup = (status: SiteBackupStatus = {}): SiteBackup => {
  const spec = {
    siteRef: { name: 'demo-site' },
    destination: { pvc: { claimName: 'store' } },
  };
  return { ...(stored('SiteBackup', { name: 'once' }, spec) as SiteBackup), status };
};

const resolve = (resource: SiteBackup) => kind.resolve(resource, aReader([aReadyBench(), aSite()]));

function evaluate(status: SiteBackupStatus, runs: readonly JobRun[] = []): StatusResult {
  const resource = aBackup(status);
  const inputs = resolve(resource);
  const child = (): undefined => undefined;
  const more = { child, pending: [], probes: [], complete: true, ready: true };
  return kind.evaluate({ resource, inputs, runs, ...more });
}

const readyOf = (status: SiteBackupStatus, runs?: readonly JobRun[]): ConditionResult =>
  evaluate(status, runs).ready;

const succeeded = (message?: string): JobRun => ({
  name: 'once-backup',
  uid: 'u1',
  state: 'Succeeded',
  taskHash: resolve(aBackup()).taskHash,
  startTime: '2026-01-01T02:00:00Z',
  completionTime: '2026-01-01T02:02:12Z',
  exitCode: 0,
  message,
});

describe('a single backup that has ended', () => {
  const { taskHash: run } = resolve(aBackup());
  const unlisted =
    'the backup has ended, but status.backups does not list it; look for it in spec.destination';

  test('names its location', () => {
    const { status, message } = readyOf({ endedRun: run, backups: [LISTED] });
    assert.deepEqual([status, message], ['True', `stored and checked: ${LOCATION}`]);
  });

  test('is not called stored and checked if the status lists no backup', () => {
    for (const status of [{ endedRun: run }, { endedRun: run, backups: [], count: 0 }]) {
      const { status: ready, reason, message } = readyOf(status);
      assert.deepEqual([ready, reason, message], ['True', 'BackedUp', unlisted]);
    }
  });

  test('is not called stored and checked if its Job reported no backup', () => {
    assert.equal(readyOf({}, [succeeded()]).message, unlisted);
  });
});

describe('the time of the last successful backup', () => {
  const COMPLETE = 1;
  const lastSuccessfulTime = (...backups: readonly (readonly [string, string])[]): unknown => {
    const rows = backups.map(([start, end]) => [start, end, 1, COMPLETE, 0]);
    const report = { location: 's3://backups/a', count: rows.length, versions: [], backups: rows };
    return evaluate({}, [succeeded(JSON.stringify(report))]).fields?.['lastSuccessfulTime'];
  };
  const OF_THE_FUTURE = ['20300101T000000Z', '20300101T000100Z'] as const;
  const OF_THE_RUN = ['20260101T020000Z', '20260101T020210Z'] as const;

  test('is the end of the newest complete one', () => {
    const older = ['20251231T020000Z', '20251231T020210Z'] as const;
    assert.equal(lastSuccessfulTime(OF_THE_RUN, older), '2026-01-01T02:02:10Z');
  });

  test('is not that of a backup of the future', () => {
    assert.equal(lastSuccessfulTime(OF_THE_FUTURE, OF_THE_RUN), '2026-01-01T02:02:10Z');
    assert.equal(lastSuccessfulTime(OF_THE_FUTURE), undefined);
  });
});
