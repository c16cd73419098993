import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { MINIMAL } from '../unit/schema-manifests.js';
import { type Cluster, startCluster } from './harness.js';
import {
  BAD_CHARTS,
  BAD_DASHBOARDS,
  BAD_DESK_PATCHES,
  BAD_WORKSPACES,
} from './support/bad-desk.js';
import { API_VERSION } from './support/builders.js';
import { kubectlSays } from './support/kubectl-says.js';

const KINDS = ['SiteDashboardChart', 'SiteDashboard', 'SiteWorkspace'] as const;

let cluster: Cluster;
let namespace: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  for (const kind of KINDS) {
    const spec = MINIMAL[kind];
    await cluster.apply(namespace, {
      apiVersion: API_VERSION,
      kind,
      metadata: { name: 'good' },
      spec,
    });
  }
});
after(() => cluster.stop());

const kubectl = (args: readonly string[], input?: unknown): Promise<string> =>
  kubectlSays(cluster, namespace, args, input);

describe('kubectl create refuses', { concurrency: 4 }, () => {
  for (const [what, manifest, message] of [...BAD_CHARTS, ...BAD_DASHBOARDS, ...BAD_WORKSPACES]) {
    test(`${what} (${manifest.kind}): ${message.slice(0, 80)}`, async () => {
      assert.equal(await kubectl(['create', '--filename=-'], manifest), message);
    });
  }

  after(async () => {
    for (const kind of KINDS) assert.equal(await cluster.get(kind, namespace, 'bad'), undefined);
  });
});

describe('kubectl patch refuses', () => {
  for (const [what, kind, spec, message] of BAD_DESK_PATCHES) {
    test(`${what} (${kind})`, async () => {
      const patch = JSON.stringify({ spec });
      assert.equal(await kubectl(['patch', kind, 'good', '--type=merge', '-p', patch]), message);
    });
  }

  test('and what was there is as it was', async () => {
    for (const kind of KINDS) {
      const live = await cluster.the(kind, namespace, 'good');
      assert.equal(live.metadata.generation, 1, kind);
    }
  });
});
