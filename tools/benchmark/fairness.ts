import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../runner/api/client.js';
import type { ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { OperatorProcess } from '../../testbed/operator-process.js';
import { newSite, untilReady } from './ready.js';
import { aBench, aSite, BENCH_NAME, siteName } from './workload.js';

const NAMESPACE = 'default';
const CROWD = 'crowd';
const UNWATCHED = 'unwatched';
const API = '/apis/app-operator.io/v1alpha1/namespaces';
const CONCURRENCY = 20;
const SAMPLES = 3;

export interface FairnessFigures {
  readonly crowd: number;
  /** Seconds from the apply of a site until it is Ready, with nothing else to do. */
  readonly quiet: readonly number[];
  /** As `quiet`, while the crowd is created in another namespace. */
  readonly during: readonly number[];
  /** As `during`, but the operator does not watch the crowd: what the API server alone delays. */
  readonly unwatched: readonly number[];
  /** As `quiet`, just after a restart, when the whole crowd is reconciled again. */
  readonly restarted: readonly number[];
  /** Seconds that it took to create the crowd. */
  readonly creation: number;
}

/** The delay of a new site while many objects are created at once in another namespace. */
export async function measureFairness(
  cp: ControlPlane,
  client: Client,
  crowd: number,
): Promise<FairnessFigures> {
  const start = (...flags: readonly string[]): Promise<OperatorProcess> =>
    OperatorProcess.start({
      kubeconfig: cp.kubeconfig,
      flags,
      logFile: process.env['BENCHMARK_LOG'],
    });
  let operator = await start();
  for (const name of [CROWD, UNWATCHED]) {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await client.apply(`/api/v1/namespaces/${name}`, namespace, 'benchmark');
  }
  await client.apply(`${API}/${NAMESPACE}/appbenchs/${BENCH_NAME}`, aBench(NAMESPACE), 'benchmark');
  await untilReady(client, NAMESPACE, 'appbenchs', 1);
  let next = 0;
  const sample = async (): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let count = 0; count < SAMPLES; count++)
      times.push(await newSite(client, NAMESPACE, next++));
    return times;
  };
  await sample();
  const quiet = await sample();

  const startedAt = performance.now();
  const created = createCrowd(client, CROWD, crowd);
  await sleep(2_000);
  const during = await sample();
  await created;
  const creation = (performance.now() - startedAt) / 1000;

  await operator.stop();
  operator = await start();
  const restarted = await sample();
  await operator.stop();

  operator = await start(`--watch-namespaces=${NAMESPACE}`);
  const createdAgain = createCrowd(client, UNWATCHED, crowd);
  await sleep(2_000);
  const unwatched = await sample();
  await createdAgain;
  await operator.stop();
  return { crowd, quiet, during, unwatched, restarted, creation };
}

/** Sites whose bench does not exist: each is reconciled and gets a status. */
async function createCrowd(client: Client, namespace: string, crowd: number): Promise<void> {
  const pending = Array.from({ length: crowd }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const index of pending) {
        const path = `${API}/${namespace}/appsites/${siteName(index)}`;
        await client.apply(path, aSite(namespace, index), 'benchmark');
      }
    }),
  );
}
