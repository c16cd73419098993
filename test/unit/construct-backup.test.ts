import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SiteBackup, SiteBackupStatus } from '../../constructs/backup/api.js';
import { backup as kind } from '../../constructs/backup/index.js';
import type { ConditionResult } from '../../constructs/kit/condition.js';
import type { JobRun } from '../../constructs/kit/kind.js';
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

function readyOf(status: SiteBackupStatus, runs: readonly JobRun[] = []): ConditionResult {
  const resource = aBackup(status);
  const inputs = resolve(resource);
  const child = (): undefined => undefined;
  const more = { child, pending: [], probes: [], complete: true, ready: true };
  return kind.evaluate({ resource, inputs, runs, ...more }).ready;
}

describe('a single backup that has ended', () => {
  const { run } = resolve(aBackup());
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
    const ended: JobRun = {
      name: 'once-backup',
      uid: 'u1',
      state: 'Succeeded',
      run,
      startTime: '2026-01-01T02:00:00Z',
      completionTime: '2026-01-01T02:02:10Z',
      exitCode: 0,
      message: undefined,
    };
    assert.equal(readyOf({}, [ended]).message, unlisted);
  });
});
