import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SiteBackup } from '../../constructs/api/backup.js';
import { backup } from '../../constructs/kinds/backup/index.js';
import { job } from '../../constructs/kinds/site-job/index.js';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import type { Resource } from '../../constructs/kit/object.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import { recordOf, withRecordedStatus } from '../../runner/reconcile/status.js';
import type { Status } from '../../runner/plan/resource-status.js';
import { aReadyBench, aReader, aSite, stored } from '../golden/builders.js';
import { METADATA_KEYS } from './plan-builder.js';

type Recorded = Resource<unknown, Status>;

const KEY = METADATA_KEYS.recordedStatus;
const SPECS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  SiteBackup: { destination: { pvc: { claimName: 'store' } } },
  SiteJob: { command: ['migrate'] },
};
const DONE: Readonly<Record<string, Status>> = {
  SiteBackup: { endedRun: 'abc', bench: 'demo-bench' },
  SiteJob: { specHash: 'abc', completionTime: '2026-01-01T00:01:00Z', exitCode: 0 },
};

function resourceOf(kind: AnyKind, name: string, site: string, namespace = 'team'): Recorded {
  const { kind: kindName } = kind.definition;
  const spec = { siteRef: { name: site }, ...SPECS[kindName] };
  return stored(kindName, { name, namespace }, spec) as Recorded;
}

/** A resource as a client creates it from the manifest of another one: without its status. */
function withRecord(resource: Recorded, record: string | undefined): Recorded {
  const { metadata } = resource;
  return { ...resource, metadata: { ...metadata, annotations: { [KEY]: record ?? '' } } };
}

for (const kind of [backup, job] as unknown as readonly AnyKind[]) {
  const kindName = kind.definition.kind;
  const done = DONE[kindName] ?? {};

  describe(`the record of a ${kindName}`, () => {
    const original = resourceOf(kind, 'before-upgrade', 'a');
    const record = recordOf(kind, original, done);
    const statusOf = (resource: Recorded, text = record): unknown =>
      withRecordedStatus(kind, METADATA_KEYS, withRecord(resource, text)).status;

    test('is its status again after a backup tool restored it', () => {
      assert.deepEqual(statusOf(original), done);
    });

    test('is not the status of a copy under another name', () => {
      assert.equal(statusOf(resourceOf(kind, 'before-upgrade-b', 'a')), undefined);
    });

    test('is not the status of a copy for another site', () => {
      assert.equal(statusOf(resourceOf(kind, 'before-upgrade', 'b')), undefined);
    });

    test('is not the status of a copy in another namespace', () => {
      assert.equal(statusOf(resourceOf(kind, 'before-upgrade', 'a', 'other')), undefined);
    });

    test('is not read if it does not name its resource', () => {
      for (const text of [
        canonicalJson(done),
        '{"status":{"endedRun":"abc"}}',
        '[]',
        'null',
        '{',
      ]) {
        assert.equal(statusOf(original, text), undefined, text);
      }
      const named = record?.replace(/"references":\{[^}]*\}/, '"references":null');
      assert.equal(statusOf(original, named), undefined);
    });

    test('is not read if it has no valid status', () => {
      for (const status of ['null', '"x"', '{"exitCode":{},"endedRun":["x"],"phase":"Ready"}']) {
        const text = record?.replace(/"status":\{[^}]*\}/, `"status":${status}`);
        assert.notEqual(text, record);
        assert.deepEqual(statusOf(original, text) ?? {}, {}, text);
      }
    });

    test('does not replace a status', () => {
      const other = { ...original, status: { ...done, refusedJob: 'u2' } };
      assert.deepEqual(statusOf(other), other.status);
    });

    test('does not exist without a recorded field', () => {
      assert.equal(recordOf(kind, original, { phase: 'Pending' }), undefined);
    });
  });
}

describe('a SiteBackup that is copied for another site', () => {
  const siteB = aSite();
  const reader = aReader([aReadyBench(), { ...siteB, metadata: { ...siteB.metadata, name: 'b' } }]);
  const resolved = (resource: Recorded) => backup.resolve(resource as SiteBackup, reader);

  test('has not ended', () => {
    const kind = backup as unknown as AnyKind;
    const original = resourceOf(kind, 'before-upgrade-a', 'b', 'default');
    const { taskHash: run } = resolved(original);
    const status = { endedRun: run, bench: 'demo-bench' };
    const record = recordOf(kind, { ...original, spec: { siteRef: { name: 'a' } } }, status);
    const copy = withRecord(resourceOf(kind, 'before-upgrade-b', 'b', 'default'), record);
    assert.equal(resolved({ ...copy, status }).ended, true, 'a status would end it');
    assert.equal(resolved(withRecordedStatus(kind, METADATA_KEYS, copy)).ended, false);
  });
});

test('each kind that records fields of its status names what it works on', () => {
  const recording = KINDS.filter(({ recordedStatus = [] }) => recordedStatus.length > 0);
  assert.ok(recording.length > 0);
  for (const { references } of recording) assert.notDeepEqual(references, []);
});
