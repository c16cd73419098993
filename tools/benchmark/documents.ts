import { setTimeout as sleep } from 'node:timers/promises';
import { MERGE_PATCH, type Client } from '../../runner/api/client.js';
import type { ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { holdPods } from '../../testbed/controlplane/pods.js';
import { DOCUMENT_PODS, DocumentScript } from '../../testbed/stand-in/document-script.js';
import { OperatorProcess, type Usage } from '../../testbed/operator-process.js';
import { isReady, untilCount } from './ready.js';
import { aBench, aSite, BENCH_NAME, siteName } from './workload.js';

const NAMESPACE = 'default';
const API = '/apis/app-operator.io/v1alpha1/namespaces/default';
const CONCURRENCY = 10;
const TIMEOUT_MS = 300_000;

export interface DocumentFigures {
  readonly users: number;
  /** Of the first round, and of one changed field. */
  readonly jobs: { readonly all: number; readonly changed: number };
  /** Seconds from the first apply until all are Ready. */
  readonly ready: number;
  /** Seconds that the largest batch took, from its pod to its result. */
  readonly batch: number;
  /** Seconds from one changed field until it is Ready again. */
  readonly changed: number;
  readonly quietCalls: number;
}

/**
 * Many users of one site. The script is a stand-in that takes as long as the real one was measured
 * to take.
 * @param quietMs how long nothing happens before the calls of that time are counted
 */
export async function measureDocuments(
  cp: ControlPlane,
  client: Client,
  users: number,
  quietMs: number,
): Promise<DocumentFigures> {
  await holdPods(cp, DOCUMENT_PODS);
  const script = new DocumentScript(cp.api, () => ['Created'], scriptTime);
  const operator = await OperatorProcess.start({
    kubeconfig: cp.kubeconfig,
    logFile: process.env['BENCHMARK_LOG'],
  });
  await client.apply(`${API}/appbenchs/${BENCH_NAME}`, aBench(NAMESPACE), 'benchmark');
  await client.apply(`${API}/appsites/${siteName(0)}`, aSite(NAMESPACE, 0), 'benchmark');
  await untilCount(client, { path: `${API}/appsites`, passes: isReady, timeoutMs: TIMEOUT_MS }, 1);

  const start = performance.now();
  const allReady = untilCount(
    client,
    { path: `${API}/siteusers`, passes: isReady, timeoutMs: TIMEOUT_MS },
    users,
  );
  await applyUsers(client, users);
  await allReady;
  const ready = (performance.now() - start) / 1000;
  const all = script.batches.length;
  const largest = Math.max(...script.batches.map(({ length }) => length));

  await sleep(5_000);
  const quietCalls = await callsIn(operator, quietMs);

  const changedAt = performance.now();
  const path = `${API}/siteusers/${userName(0)}`;
  const { metadata } = await client.request<{ metadata: { generation: number } }>('PATCH', path, {
    contentType: MERGE_PATCH,
    body: { spec: { lastName: 'Changed' } },
  });
  const isSynced = (object: unknown): boolean => {
    const { status } = object as { status?: { observedGeneration?: number } };
    return isReady(object as never) && (status?.observedGeneration ?? 0) >= metadata.generation;
  };
  for (;;) {
    if (isSynced(await client.request('GET', path))) break;
    await sleep(50);
  }
  const changed = (performance.now() - changedAt) / 1000;
  await operator.stop();
  await script.stop();
  return {
    users,
    jobs: { all, changed: script.batches.length - all },
    ready,
    batch: scriptTime(largest) / 1000,
    changed,
    quietCalls,
  };
}

async function applyUsers(client: Client, users: number): Promise<void> {
  const pending = Array.from({ length: users }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const index of pending) {
        await client.apply(`${API}/siteusers/${userName(index)}`, aUser(index), 'benchmark');
      }
    }),
  );
}

/** Calls to the API server in a time without changes. */
async function callsIn(operator: OperatorProcess, ms: number): Promise<number> {
  const count = ({ calls }: Usage): number => Object.values(calls).reduce((sum, n) => sum + n, 0);
  const before = count(await operator.usage());
  await sleep(ms);
  return count(await operator.usage()) - before;
}

/**
 * Milliseconds, as measured with the real framework (version-15, MariaDB, two cores): its import,
 * then each document.
 */
function scriptTime(documents: number): number {
  return 1_200 + documents * 60;
}

function userName(index: number): string {
  return `user-${String(index).padStart(4, '0')}`;
}

function aUser(index: number) {
  return {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'SiteUser',
    metadata: { name: userName(index), namespace: NAMESPACE },
    spec: {
      siteRef: { name: siteName(0) },
      email: `${userName(index)}@example.com`,
      firstName: `User ${String(index)}`,
      roles: ['System Manager'],
    },
  };
}
