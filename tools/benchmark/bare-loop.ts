import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { resourcePath } from '../../runner/api/resource-path.js';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { PersistentVolumeClaim } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { MALLOC, NODE_FLAGS } from '../../testbed/operator-process.js';
import { hasSucceeded, watchObjects } from './ready.js';
import { BENCH_NAME, siteObjects } from './workload.js';

/** The operator's default number of concurrent reconciles. */
export const CONCURRENCY = 10;

/** What a loop costs that only applies the objects of sites. */
export interface BareLoop {
  readonly objects: number;
  /** Seconds until all are applied. */
  readonly seconds: number;
  /** Seconds of CPU of its process. */
  readonly cpu: number;
}

export interface BareLoopOptions {
  readonly sites: number;
  readonly namespace: string;
  /** Whether the Deployments of a site follow when its Job has succeeded, as the operator does it. */
  readonly inOrder: boolean;
}

/** The pods mount the volume of their bench, which the loop does not make. */
const SITES_VOLUME = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: `${BENCH_NAME}-sites` },
  spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
};

/** Runs the loop in a process of its own, with the operator's client and its flags of Node.js. */
export async function runBareLoop(kubeconfig: string, options: BareLoopOptions): Promise<BareLoop> {
  const child = fork(fileURLToPath(import.meta.url), [kubeconfig, JSON.stringify(options)], {
    execArgv: NODE_FLAGS,
    env: { ...process.env, ...MALLOC },
  });
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the bare loop ended with exit code ${String(code)}`);
  });
  const [measured] = (await Promise.race([once(child, 'message'), exited])) as [BareLoop];
  exited.catch(() => undefined);
  return measured;
}

async function applyAll(
  client: Client,
  { sites, namespace, inOrder }: BareLoopOptions,
): Promise<BareLoop> {
  const all = Array.from({ length: sites }, (_, index) => siteObjects(namespace, index));
  const volume = resourcePath(PersistentVolumeClaim, namespace, SITES_VOLUME.metadata.name);
  await client.apply(volume, SITES_VOLUME, 'floor');
  const apply = async (objects: readonly KubeObject[]): Promise<void> => {
    await Promise.all(
      objects.map((object) => client.apply(pathOf(object, namespace), object, 'floor')),
    );
  };
  const stop = new AbortController();
  const start = performance.now();
  const before = process.cpuUsage();
  const succeeded = inOrder ? watchJobs(client, namespace, stop.signal) : undefined;
  const later: Promise<void>[] = [];
  const pending = all.values();
  const applyPending = async (): Promise<void> => {
    for (const children of pending) {
      if (!succeeded) {
        await apply(children);
        continue;
      }
      const isLater = ({ kind }: KubeObject): boolean => kind === 'Deployment';
      await apply(children.filter((object) => !isLater(object)));
      const job = children.find(({ kind }) => kind === 'Job')?.metadata.name ?? '';
      later.push(succeeded(job).then(() => apply(children.filter(isLater))));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, applyPending));
  await Promise.all(later);
  stop.abort();
  const { user, system } = process.cpuUsage(before);
  return {
    objects: all.reduce((sum, { length }) => sum + length, 0),
    seconds: (performance.now() - start) / 1000,
    cpu: (user + system) / 1_000_000,
  };
}

/** @returns what resolves when the Job with this name has succeeded */
function watchJobs(
  client: Client,
  namespace: string,
  signal: AbortSignal,
): (name: string) => Promise<KubeObject> {
  const jobs = new Map<string, PromiseWithResolvers<KubeObject>>();
  const jobNamed = (name: string): PromiseWithResolvers<KubeObject> => {
    const job = jobs.get(name) ?? Promise.withResolvers<KubeObject>();
    jobs.set(name, job);
    return job;
  };
  const seen = (object: KubeObject): void => {
    if (hasSucceeded(object)) jobNamed(object.metadata.name).resolve(object);
  };
  watchObjects(client, `/apis/batch/v1/namespaces/${namespace}/jobs`, { seen }, signal);
  return (name) => jobNamed(name).promise;
}

function pathOf({ apiVersion, kind, metadata }: KubeObject, namespace: string): string {
  const plurals: Readonly<Record<string, string>> = {
    Secret: 'secrets',
    Service: 'services',
    Job: 'jobs',
    Deployment: 'deployments',
  };
  const plural = plurals[kind] ?? '';
  return resourcePath({ apiVersion, kind, plural }, namespace, metadata.name);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , kubeconfig = '', options = ''] = process.argv;
  const client = createClient({ credentials: await loadCredentials(kubeconfig, process.env) });
  process.send?.(await applyAll(client, JSON.parse(options) as BareLoopOptions));
  await client.close();
  process.disconnect();
}
