import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBackup, BAD_BACKUP_PATCHES, BAD_BACKUPS } from './support/bad-backups.js';
import { kubectlSays } from './support/kubectl-says.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.apply(namespace, aBackup({}, 'good'), aBackup({ schedule: '@daily' }, 'daily'));
});
after(() => cluster.stop());

const kubectl = (args: readonly string[], input?: unknown): Promise<string> =>
  kubectlSays(cluster, namespace, args, input);

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
