import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBackup, BAD_BACKUP_PATCHES, BAD_BACKUPS } from './support/bad-backups.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.apply(namespace, aBackup({}, 'good'), aBackup({ schedule: '@daily' }, 'daily'));
});
after(() => cluster.stop());

/** What kubectl says in the end; the notes about itself and about checks that were not made are left out. */
async function kubectl(args: readonly string[], input?: unknown): Promise<string> {
  const all = [`--namespace=${namespace}`, ...args];
  try {
    return await cluster.controlPlane.kubectl(all, input ? JSON.stringify(input) : undefined);
  } catch (error) {
    const [, said = ''] = / ended with 1: ([^]*)$/.exec((error as Error).message) ?? [];
    return said
      .replace(/^The SiteBackup "[^"]*" is invalid: ?/, '')
      .replace(/^Error from server \(BadRequest\): .* strict decoding error: /, '')
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('* <nil>'))
      .map((line) => line.replace(/^\* /, ''))
      .join('\n');
  }
}

describe('kubectl create refuses', { concurrency: 4 }, () => {
  for (const [what, manifest, message] of BAD_BACKUPS) {
    test(`${what}: ${message.slice(0, 80)}`, async () => {
      assert.equal(await kubectl(['create', '--filename=-'], manifest), message);
    });
  }

  after(async () => {
    assert.equal(await cluster.get('SiteBackup', namespace, 'bad'), undefined);
  });
});

describe('kubectl patch refuses', () => {
  for (const [what, name, spec, message] of BAD_BACKUP_PATCHES) {
    test(what, async () => {
      const patch = JSON.stringify({ spec });
      const args = ['patch', 'SiteBackup', name, '--type=merge', '-p', patch];
      assert.equal(await kubectl(args), message);
    });
  }
});
