import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import { assertSameObjects, snapshot } from './support/snapshot.js';
import { at, kindNamed, type Live } from './support/objects.js';
import type { Operator } from './support/operator.js';
import { MALLOC } from '../../testbed/operator-process.js';

const STORM_MS = 10_000;
const few = { workerDefault: 0, workerShort: 0, workerLong: 0 };

let cluster: Cluster;
let operators: ProxiedOperators;
let operator: Operator;
let namespace: string;
before(async () => {
  cluster = await startCluster({ audit: true });
  operators = new ProxiedOperators(cluster);
  namespace = await cluster.namespace();
  // Garbage is collected early, much as in the image: what grows is then what is kept.
  const env = { NODE_OPTIONS: '--max-semi-space-size=2', ...MALLOC };
  operator = await operators.start(undefined, { namespaces: [namespace], env });
  await cluster.apply(
    namespace,
    aBench('b', { componentReplicas: few }),
    aSite('s', { bench: 'b', componentReplicas: few }),
  );
  await ready();
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

async function ready(): Promise<void> {
  await cluster.ready('AppBench', namespace, 'b');
  await cluster.ready('AppSite', namespace, 's');
}

/** MiB that the operator's process has in memory now. */
async function memory(): Promise<number> {
  const status = await readFile(`/proc/${operator.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) / 1024;
}

/** Does something again and again, at a rate, for a time. @returns how often */
async function again(
  ms: number,
  everyMs: number,
  work: (round: number) => Promise<unknown>,
): Promise<number> {
  const end = performance.now() + ms;
  const pending: Promise<unknown>[] = [];
  let round = 0;
  while (performance.now() < end) {
    pending.push(work(round++));
    await sleep(everyMs);
  }
  await Promise.all(pending);
  return round;
}

const user = (value: string) => ({
  spec: {
    template: { spec: { containers: [{ name: 'gunicorn', env: [{ name: 'USER', value }] }] } },
  },
});
/** Edits of fields that are ours. */
const EDITS: readonly (readonly [kind: string, name: string, patch: (round: number) => unknown])[] =
  [
    ['Deployment', 's-gunicorn', (round) => ({ spec: { replicas: 2 + (round % 3) } })],
    [
      'Service',
      'b-nginx',
      (round) => ({ metadata: { labels: { 'app.kubernetes.io/name': `x${round}` } } }),
    ],
    ['ConfigMap', 'b-config', (round) => ({ data: { 'site_init.py': `# ${round}` } })],
    ['Deployment', 'b-gunicorn', (round) => user(`v${round}`)],
    [
      'Deployment',
      's-worker-long',
      (round) => ({ metadata: { labels: { 'app.kubernetes.io/instance': `x${round}` } } }),
    ],
    [
      'Secret',
      's-db',
      (round) => ({ metadata: { labels: { 'app.kubernetes.io/component': `x${round}` } } }),
    ],
    ['Deployment', 'b-nginx', (round) => ({ spec: { replicas: 2 + (round % 2) } })],
  ];

describe('a high rate', () => {
  test('of edits of children causes a limited rate of writes, and all edits are reverted', async (t) => {
    await sleep(1_500);
    const calm = await snapshot(cluster, namespace);
    const memories = [await memory()];
    const since = new Date();
    const edits = await again(STORM_MS, 50, async (round) => {
      const [kind, name, patch] = EDITS[round % EDITS.length] ?? EDITS[0] ?? assert.fail();
      const path = resourcePath(kindNamed(kind), namespace, name);
      const type = `application/${kind === 'Deployment' ? 'strategic-merge' : 'merge'}-patch+json`;
      if (round === 100) memories.push(await memory());
      return cluster.controlPlane.api.request('PATCH', path, patch(round), type);
    });
    // The last repairs are delayed, and change no generation: a site stays Ready without them.
    await cluster.until('everything is as it was', async () => {
      assertSameObjects(await snapshot(cluster, namespace), calm, 'after the storm');
      return true;
    });
    await ready();
    const writes = await cluster.writes({ namespace, since });
    const status = writes.filter((write) => write.endsWith('/status')).length;
    memories.push(await memory());
    const [first = 0] = memories;
    const last = memories.at(-1) ?? Infinity;
    const grown = memories.map((value) => value.toFixed(0)).join(', ');
    t.diagnostic(`${edits} edits, ${writes.length} writes (${status} of a status), MiB: ${grown}`);
    assert.ok(writes.length <= 2 * edits, `${writes.length} writes after ${edits} edits`);
    assert.ok(last - first < 80, `MiB: ${grown}`);
  });

  test('of changes of a spec ends with the last spec, and no child is written more often than the spec', async (t) => {
    const since = new Date();
    const changes = await again(STORM_MS / 2, 100, (round) =>
      cluster.patch('AppBench', namespace, 'b', {
        spec: { componentResources: { gunicorn: { requests: { cpu: `${100 + round}m` } } } },
      }),
    );
    const path = 'spec.template.spec.containers[0].resources.requests.cpu';
    const last = at(
      await cluster.the('AppBench', namespace, 'b'),
      'spec.componentResources.gunicorn.requests.cpu',
    );
    for (const name of ['b-gunicorn', 's-gunicorn']) {
      await cluster.becomes('Deployment', namespace, name, {
        what: 'has the last spec',
        check: (live) => Object.is(at(live, path), last),
      });
    }
    await ready();
    const counts = new Map<string, number>();
    for (const write of await cluster.writes({ namespace, since }))
      counts.set(write, (counts.get(write) ?? 0) + 1);
    t.diagnostic(`${changes} changes: ${JSON.stringify(Object.fromEntries(counts))}`);
    for (const [write, count] of counts) {
      if (!write.endsWith('/status')) assert.ok(count <= changes, `${write}: ${count} times`);
    }
  });
});

describe('another controller that sets the same field', () => {
  test('costs one write for each of its edits, and few of a status', async (t) => {
    await ready();
    const since = new Date();
    const path = resourcePath(kindNamed('Deployment'), namespace, 's-gunicorn');
    const type = 'application/merge-patch+json';
    const edits = await again(30_000, 1_000, (round) =>
      cluster.controlPlane.api.request(
        'PATCH',
        path,
        { spec: { replicas: 2 + (round % 2) } },
        type,
      ),
    );
    await ready();
    const writes = await cluster.writes({ namespace, since });
    const status = writes.filter((write) => write.endsWith('/status')).length;
    t.diagnostic(`${edits} edits, ${writes.length} writes (${status} of a status)`);
    assert.ok(writes.length <= 1.5 * edits, `${writes.length} writes after ${edits} edits`);
    await cluster.becomes('Deployment', namespace, 's-gunicorn', {
      what: 'is ours in the end',
      check: (live) => at(live, 'spec.replicas') === 1,
    });
  });

  test('is corrected at a limited rate', async (t) => {
    const client = createClient({
      credentials: await loadCredentials(cluster.controlPlane.kubeconfig, {}),
    });
    const kind = kindNamed('Deployment');
    const path = resourcePath(kind, namespace, 's-worker-short');
    const label = 'app.kubernetes.io/component';
    const theirs = { metadata: { labels: { [label]: 'theirs' } } };
    const ours = (await cluster.the('Deployment', namespace, 's-worker-short')).metadata.labels?.[
      label
    ];
    let rounds = 0;
    const stop = new AbortController();
    const fight = async (): Promise<void> => {
      const query = { fieldSelector: 'metadata.name=s-worker-short' };
      for await (const { object } of client.watch<Live>(resourcePath(kind, namespace), query, {
        signal: stop.signal,
        idleTimeoutMs: 60_000,
      })) {
        if (object.metadata.labels?.[label] === 'theirs') continue;
        rounds++;
        await client.request('PATCH', path, { body: theirs });
      }
    };
    const since = new Date();
    const fighting = fight().catch(() => undefined);
    await sleep(STORM_MS);
    stop.abort();
    await fighting;
    const writes = (await cluster.writes({ namespace, since })).filter((write) =>
      write.includes('s-worker-short'),
    );
    t.diagnostic(`${rounds} rounds and ${writes.length} writes in ${STORM_MS / 1000} s`);
    assert.ok(writes.length / (STORM_MS / 1_000) <= 10, `${writes.length} writes`);
    await cluster.becomes('Deployment', namespace, 's-worker-short', {
      what: 'is ours in the end',
      check: (live) => live.metadata.labels?.[label] === ours,
    });
    await client.close();
  });
});
