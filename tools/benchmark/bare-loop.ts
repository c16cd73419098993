import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { resourcePath } from '../../runner/api/resource-path.js';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { PersistentVolumeClaim } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { MALLOC, NODE_FLAGS } from '../../testbed/operator-process.js';
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

/** The pods mount the volume of their bench, which the loop does not make. */
const SITES_VOLUME = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: `${BENCH_NAME}-sites` },
  spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
};

/** Runs the loop in a process of its own, with the operator's client and its flags of Node.js. */
export async function runBareLoop(
  kubeconfig: string,
  sites: number,
  namespace: string,
): Promise<BareLoop> {
  const child = fork(fileURLToPath(import.meta.url), [kubeconfig, String(sites), namespace], {
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

async function applyAll(client: Client, sites: number, namespace: string): Promise<BareLoop> {
  const all = Array.from({ length: sites }, (_, index) => siteObjects(namespace, index));
  const volume = resourcePath(PersistentVolumeClaim, namespace, SITES_VOLUME.metadata.name);
  await client.apply(volume, SITES_VOLUME, 'floor');
  const start = performance.now();
  const before = process.cpuUsage();
  const pending = all.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const children of pending) {
        await Promise.all(
          children.map((object) => client.apply(pathOf(object, namespace), object, 'floor')),
        );
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return {
    objects: all.reduce((sum, { length }) => sum + length, 0),
    seconds: (performance.now() - start) / 1000,
    cpu: (user + system) / 1_000_000,
  };
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
  const [, , kubeconfig = '', sites, namespace = ''] = process.argv;
  const client = createClient({ credentials: await loadCredentials(kubeconfig, process.env) });
  process.send?.(await applyAll(client, Number(sites), namespace));
  await client.close();
  process.disconnect();
}
