import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { backupCleanup } from '../../constructs/kinds/backup/cleanup.js';
import { siteCleanup } from '../../constructs/kinds/site/cleanup.js';

const API_VERSION = 'app-operator.io/v1alpha1';
const SKIPPED = { 'app-operator.io/skip-drop': 'true' };

interface Case {
  readonly title: string;
  readonly policy?: string;
  readonly mode?: string;
  readonly annotations?: Record<string, string>;
  readonly host?: string;
  readonly left: readonly string[];
}

const LEFT = ['database and user _s on db.example.com'];

const SITES: readonly Case[] = [
  { title: 'the database of mode shared', left: LEFT },
  { title: 'the database of mode dedicated on a server elsewhere', mode: 'dedicated', left: LEFT },
  { title: 'no database of a server in the namespace', host: 'db.ns.svc', left: [] },
  { title: 'no prepared database', mode: 'external', left: [] },
  { title: 'no database of a database operator', mode: 'operator', left: [] },
  { title: 'nothing that is retained', policy: 'Retain', left: [] },
  { title: 'nothing where the cleanup is skipped', annotations: SKIPPED, left: [] },
];

const BACKUPS: readonly Omit<Case, 'mode' | 'host'>[] = [
  { title: 'the backups in S3', left: ['backup s3://backups/s/1'] },
  { title: 'no backups that are retained', policy: 'Retain', left: [] },
  { title: 'no backups where the cleanup is skipped', annotations: SKIPPED, left: [] },
];

describe('a deleted namespace leaves outside of it', () => {
  for (const { title, policy = 'Delete', mode = 'shared', annotations, host, left } of SITES) {
    test(`of a site: ${title}`, () => {
      assert.deepEqual(
        siteCleanup.leftOutside?.({
          apiVersion: API_VERSION,
          metadata: { name: 's', namespace: 'ns', annotations },
          spec: { benchRef: { name: 'b' }, deletionPolicy: policy, dbConfig: { mode } },
          status: { database: { name: '_s', host: host ?? 'db.example.com' } },
        } as never),
        left,
      );
    });
  }

  for (const { title, policy = 'Delete', annotations, left } of BACKUPS) {
    test(`of a SiteBackup: ${title}`, () => {
      assert.deepEqual(
        backupCleanup.leftOutside?.({
          apiVersion: API_VERSION,
          metadata: { name: 'k', namespace: 'ns', annotations },
          spec: { deletionPolicy: policy, destination: { s3: { bucket: 'backups' } } },
          status: { backups: [{ location: 's3://backups/s/1' }] },
        } as never),
        left,
      );
    });
  }

  test('of a SiteBackup: nothing of backups on the volume', () => {
    assert.deepEqual(
      backupCleanup.leftOutside?.({
        apiVersion: API_VERSION,
        metadata: { name: 'k', namespace: 'ns' },
        spec: { deletionPolicy: 'Delete', destination: { volume: {} } },
        status: { backups: [{ location: 's/private/backups/1' }] },
      } as never),
      [],
    );
  });
});
