import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient, type Client } from '../../../runner/api/client.js';
import { loadCredentials } from '../../../runner/api/credentials.js';
import { cacheRoot } from '../../../testbed/controlplane/binaries.js';
import {
  type ControlPlane,
  startControlPlane,
} from '../../../testbed/controlplane/controlplane.js';
import {
  printProgress,
  type Portion,
  waitSeconds,
} from '../../../testbed/controlplane/progress.js';
import { applyCrds } from '../../../testbed/crds.js';
import { projectRoot } from '../../../testbed/project-root.js';
import { isReady, untilCount } from '../ready.js';
import { SiteTemplate, type StoredObject } from './clone.js';
import {
  BENCHES,
  fleetBench,
  fleetSite,
  namespacesOf,
  SITES,
  type FleetObject,
  type FleetShape,
} from './objects.js';
import { atRest, startOperator } from './rest.js';
import type { OperatorProcess } from '../../../testbed/operator-process.js';
import { SimulatedStatuses } from './statuses.js';

/** What makes the objects of a fleet: with other code, a kept fleet is not used. */
const CODE = ['dist/lib/constructs', 'dist/crds'];
/** Objects in one transaction: etcd takes 128, and 1.5 MiB. */
const AT_ONCE = 90;
const CONCURRENCY = 10;
/** Marks a folder whose fleet is complete. */
const COMPLETE = 'complete';

/** A running control plane with a fleet at rest. */
export interface Fleet {
  readonly cp: ControlPlane;
  readonly client: Client;
  readonly statuses: SimulatedStatuses;
  readonly stop: () => Promise<void>;
}

export interface SeedOptions extends FleetShape {
  readonly sites: number;
  readonly advance: (portion: Portion) => void;
}

/**
 * A control plane with so many sites, all Ready. The operator itself makes the benches and one site of
 * each; `SiteTemplate` computes the others from these, and they are written to etcd. The operator has
 * nothing to write for them, or the copies are wrong: see the figure of writes after a start. The data
 * of etcd is kept, and each run gets a copy of it.
 */
export async function openFleet(options: SeedOptions): Promise<Fleet> {
  const { sites, benches } = options;
  const root = await rootOf(options);
  const kept = path.join(root, String(sites));
  if (!(await isComplete(kept))) {
    const base = path.join(root, 'base');
    if (!(await isComplete(base))) {
      await make(base, undefined, (fleet) => seed(fleet, options));
    }
    await make(kept, base, async (fleet) => {
      await addClones(fleet, Math.min(benches, sites), options);
      await settle(fleet, options);
    });
  }
  const copy = await mkdtemp(path.join(tmpdir(), 'app-operator-fleet-'));
  await cp(kept, copy, { recursive: true });
  const fleet = await start(copy);
  const stop = async (): Promise<void> => {
    await fleet.stop();
    await rm(copy, { recursive: true, force: true });
  };
  return { ...fleet, stop };
}

/** Makes a folder of data, from another one, and marks it as complete. */
async function make(
  folder: string,
  from: string | undefined,
  work: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.dirname(folder), { recursive: true });
  if (from !== undefined) {
    await cp(from, folder, { recursive: true });
    await rm(path.join(folder, COMPLETE));
  }
  const fleet = await start(folder);
  try {
    await work(fleet);
  } finally {
    await fleet.stop();
  }
  await writeFile(path.join(folder, COMPLETE), '');
}

async function isComplete(folder: string): Promise<boolean> {
  const files = await readdir(folder).catch((): string[] => []);
  return files.includes(COMPLETE);
}

async function addClones(fleet: Fleet, made: number, options: SeedOptions): Promise<void> {
  const { cp: controlPlane, client } = fleet;
  const { sites, benches, advance } = options;
  const templates = await Promise.all(
    Array.from({ length: made }, (_, index) => SiteTemplate.read(client, index, options)),
  );
  // It would decode each object that is written.
  await controlPlane.stopApiServer();
  let pending: StoredObject[] = [];
  const flush = async (): Promise<void> => {
    await putAll(controlPlane.etcd, pending);
    pending = [];
  };
  for (let index = made; index < sites; index++) {
    pending.push(...(templates[index % benches]?.clone(index) ?? []));
    if (pending.length < AT_ONCE) continue;
    await flush();
    advance({ done: index, total: sites, unit: 'sites' });
  }
  await flush();
  await controlPlane.startApiServer();
}

/** The operator writes what depends on all sites: the configuration of each bench's nginx. */
async function settle({ cp: { kubeconfig } }: Fleet, options: SeedOptions): Promise<void> {
  const operator = await startOperator({ kubeconfig });
  await rest(operator, options);
}

/** Puts objects into etcd. The API server reads JSON, too. */
async function putAll(etcd: string, objects: readonly StoredObject[]): Promise<void> {
  if (objects.length === 0) return;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const success = objects.map(({ key, value }) => ({
    requestPut: { key: base64(key), value: base64(value) },
  }));
  const response = await fetch(`${etcd}/v3/kv/txn`, {
    method: 'POST',
    body: JSON.stringify({ success }),
  });
  if (!response.ok) throw new Error(`etcd: ${response.status} ${await response.text()}`);
}

async function start(dataDir: string): Promise<Fleet> {
  const cp = await startControlPlane({
    ...{ dataDir, kwokNodes: 0, controllerManager: false, scheduler: false, kubectl: false },
    ...{ persistentVolumes: 0, prepare: applyCrds, onProgress: printProgress },
  });
  const credentials = await loadCredentials(cp.kubeconfig, process.env);
  const client = createClient({ credentials });
  const statuses = await SimulatedStatuses.start(client);
  const stop = async (): Promise<void> => {
    statuses.stop();
    await client.close();
    await cp.stop();
  };
  return { cp, client, statuses, stop };
}

/** Creates the benches and the first site of each. */
async function seed({ cp: controlPlane, client }: Fleet, options: SeedOptions): Promise<void> {
  const { benches, advance } = options;
  for (const name of [...namespacesOf(options), 'app-operator-system']) {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await client.apply(`/api/v1/namespaces/${name}`, namespace, 'benchmark');
  }
  const operator = await startOperator({ kubeconfig: controlPlane.kubeconfig });
  const numbers = Array.from({ length: benches }, (_, index) => index);
  const timeoutMs = 600_000;
  await applyAll(client, numbers.map(fleetBench));
  await untilCount(client, { path: BENCHES, passes: isReady, timeoutMs }, benches);
  const onCount = (done: number): void => {
    advance({ done, total: benches, unit: 'sites' });
  };
  const ready = untilCount(client, { path: SITES, passes: isReady, timeoutMs, onCount }, benches);
  await Promise.all([
    applyAll(
      client,
      numbers.map((index) => fleetSite(index, options)),
    ),
    ready,
  ]);
  await rest(operator, options);
}

async function rest(operator: OperatorProcess, { benches, advance }: SeedOptions): Promise<void> {
  await atRest(operator);
  // One minor update of a status is written every two seconds: until then a restart has work.
  await waitSeconds(benches * 2 + 10, advance);
  await operator.stop();
}

async function applyAll(client: Client, objects: readonly FleetObject[]): Promise<void> {
  const pending = objects.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const { path: to, object } of pending) await client.apply(to, object, 'benchmark');
    }),
  );
}

async function rootOf({ benches }: SeedOptions): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of CODE) {
    const at = path.join(projectRoot(), folder);
    const files = await readdir(at, { recursive: true, withFileTypes: true });
    const paths = files
      .filter((file) => file.isFile() && /\.(js|yaml|py|txt)$/.test(file.name))
      .map((file) => path.join(file.parentPath, file.name));
    for (const file of paths.sort()) hash.update(file).update(await readFile(file));
  }
  return path.join(cacheRoot(), 'fleet', hash.digest('hex').slice(0, 16), String(benches));
}
