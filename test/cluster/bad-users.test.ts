import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aSiteUser, BAD_USER_PATCHES, BAD_USERS } from './support/bad-users.js';
import { kubectlSays } from './support/kubectl-says.js';

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.apply(namespace, aSiteUser({ roles: ['Sales User'] }, 'good'));
});
after(() => cluster.stop());

const kubectl = (args: readonly string[], input?: unknown): Promise<string> =>
  kubectlSays(cluster, namespace, args, input);

describe('kubectl create refuses', { concurrency: 4 }, () => {
  for (const [what, manifest, message] of BAD_USERS) {
    test(`${what}: ${message.slice(0, 80)}`, async () => {
      assert.equal(await kubectl(['create', '--filename=-'], manifest), message);
    });
  }

  after(async () => {
    assert.equal(await cluster.get('SiteUser', namespace, 'bad'), undefined);
  });
});

describe('kubectl patch refuses', () => {
  for (const [what, spec, message] of BAD_USER_PATCHES) {
    test(what, async () => {
      const patch = JSON.stringify({ spec });
      const args = ['patch', 'SiteUser', 'good', '--type=merge', '-p', patch];
      assert.equal(await kubectl(args), message);
    });
  }

  test('and what was there is as it was', async () => {
    const { metadata } = await cluster.the('SiteUser', namespace, 'good');
    assert.equal(metadata.generation, 1);
  });
});
