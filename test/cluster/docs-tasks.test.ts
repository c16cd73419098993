/** Types commands of tasks in docs/ that need no node, as they stand there. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { Reader, shellBlocks } from '../support/page-blocks.js';
import { startCluster, type Cluster } from './harness.js';
import { aBench, aSite, WORKERS } from './support/builders.js';
import { at } from './support/objects.js';

let cluster: Cluster;
let namespace: string;
let reader: Reader;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  await cluster.operator();
  await cluster.apply(
    namespace,
    aBench('demo-bench', WORKERS),
    aSite('demo-site', { bench: 'demo-bench', ...WORKERS }),
  );
  await cluster.ready('AppSite', namespace, 'demo-site');
  const { binaries, kubeconfig } = cluster.controlPlane;
  assert.ok(binaries.kubectl);
  reader = new Reader({ kubectl: binaries.kubectl, kubeconfig });
  const code = `kubectl config set-context --current --namespace ${namespace}`;
  await reader.types({ heading: 'namespace', code });
});
after(async () => {
  await cluster.stop();
  rmSync(reader.folder, { recursive: true });
});

/** Types the block under a heading that begins so. @returns what it prints */
async function type(page: string, heading: string, start: string): Promise<string> {
  const block = shellBlocks(page).find(
    (one) => one.heading === heading && one.code.startsWith(start),
  );
  assert.ok(block, `${page}: ${heading}: ${start}`);
  return reader.types(block);
}

/** Waits until the workloads that are named so have a number of pods, and all others one. */
async function scaledTo(replicas: number, name: RegExp): Promise<void> {
  await cluster.until(`${replicas} of ${String(name)}`, async () => {
    const code = `kubectl get deployment,statefulset -o jsonpath='{range .items[*]}{.metadata.name}={.spec.replicas},{.status.replicas}{"\\n"}{end}'`;
    const lines = (await reader.types({ heading: 'replicas', code })).trim().split('\n');
    assert.equal(lines.length, 14);
    return lines.every((line) => {
      const wanted = name.test(line) ? replicas : 1;
      return line.endsWith(`=${wanted},${wanted || ''}`) || line.endsWith(`=${wanted},${wanted}`);
    });
  });
}

test('remove.md suspends a site and resumes it', async () => {
  await type(
    'remove.md',
    'Suspend a site',
    `kubectl patch appsite demo-site --type merge -p '{"spec": {"maintenance": true`,
  );
  await scaledTo(0, /^demo-site-/);
  await cluster.ready('AppSite', namespace, 'demo-site');
  await type(
    'remove.md',
    'Suspend a site',
    `kubectl patch appsite demo-site --type merge -p '{"spec": {"maintenance": false`,
  );
  await scaledTo(1, /^/);
});

test('remove.md suspends a bench with its servers and resumes it', async () => {
  await type('remove.md', 'Suspend a bench', 'kubectl patch appsite');
  await scaledTo(0, /^/);
  const resumed = await type('remove.md', 'Suspend a bench', 'kubectl patch appbench');
  assert.match(resumed, /statefulset.apps\/demo-bench-db condition met/);
  await scaledTo(1, /^/);
});

test('volumes.md enlarges the volumes of a bench', async () => {
  await type('volumes.md', 'Enlarge', 'kubectl patch appbench');
  await cluster.until('the claims ask for more', async () => {
    const names = ['demo-bench-sites', 'demo-bench-db-data', 'demo-bench-redis-data'];
    const claims = await Promise.all(
      names.map((name) => cluster.the('PersistentVolumeClaim', namespace, name)),
    );
    const sizes = claims.map((claim) => at(claim, 'spec.resources.requests.storage'));
    return sizes.join() === '50Gi,50Gi,2Gi';
  });
});

test('certificates.md changes the domain of a site', async () => {
  const output = await type('certificates.md', 'Change the domain', 'kubectl patch appsite');
  assert.match(output, /http:\/\/erp\.example\.com$/);
});

test("users.md changes the administrator's password: the init Job runs again", async () => {
  const before_ = await cluster.the('Job', namespace, 'demo-site-init');
  await type('users.md', "Change the administrator's password", 'kubectl create secret');
  await cluster.until('another Job', async () => {
    const job = await cluster.get('Job', namespace, 'demo-site-init');
    return job !== undefined && job.metadata.uid !== before_.metadata.uid;
  });
});
