import { test } from 'node:test';

import type { AdminClient } from '../../../testbed/controlplane/admin-client.js';
import { startControlPlane } from '../../../testbed/controlplane/controlplane.js';
import { collectionOf, createKinds, kwokObject } from '../../../testbed/controlplane/kwok-kinds.js';
import { createNodes, nodesReady } from '../../../testbed/controlplane/nodes.js';
import { pingNode } from '../../../testbed/controlplane/kwok-stages.js';
import { aJob, apply, untilCondition } from './support.js';

test('a node that is looked at before it is Ready becomes Ready', async () => {
  await using cluster = await startControlPlane({
    controllerManager: false,
    scheduler: false,
    prepare: async (api) => {
      await createNodes(api, 1);
      await pingNode(api, 'kwok-0');
    },
  });
  await nodesReady(cluster.api, 2);
});

// kwok loads its Stages one by one, reads them meanwhile, and may keep the first state. With as few
// as we have it does so on a busy machine only; with thousands always.
test('kwok that looked at its Stages too early plays nodes and pods all the same', async () => {
  await using cluster = await startControlPlane({ prepare: crowdOfStages });
  await apply(cluster, aJob('once'));
  await untilCondition(cluster, 'job/once', 'Complete');
});

/** Stages that no object matches. */
async function crowdOfStages(api: AdminClient): Promise<void> {
  await createKinds(api);
  const spec = {
    resourceRef: { apiGroup: 'v1', kind: 'Endpoints' },
    selector: { matchLabels: { 'example.test/none': 'true' } },
    next: {},
  };
  for (let group = 0; group < 60; group++) {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        api.ensure(
          collectionOf('stages'),
          kwokObject('stages', { name: `crowd-${group}-${index}` }, spec),
        ),
      ),
    );
  }
}
