/**
 * Control planes that many test files use, one file at a time: a file leases one, and leaves behind
 * only what was there before. `npm test` starts each at its first lease; a file that is run alone starts
 * its own. One takes a tenth of a processor in its first minute without work, so none is started before it
 * is needed.
 */
import { existsSync, watch, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { AdminClient } from '../../../testbed/controlplane/admin-client.js';
import {
  attachControlPlane,
  type ControlPlane,
  startControlPlane,
} from '../../../testbed/controlplane/controlplane.js';
import { refuseEvents } from '../../../testbed/controlplane/events.js';
import { isAlive } from '../../../testbed/controlplane/lock.js';
import { applyCrds } from '../../../testbed/crds.js';
import { clusterWide, deleteLeftovers, type Names } from './leftovers.js';

/** Folders of the shared control planes, separated by colons. */
const VARIABLE = 'APP_OPERATOR_TEST_CONTROL_PLANES';

/** Files in such a folder: the process that uses the control plane, and why it could not be started, or nothing. */
const LEASE = 'lease';
const STARTED = 'started';
/** Folder in it with the control plane's own files, which a start that fails removes. */
const DATA = 'data';

/** Before its controllers start: the operator's kinds, and no Events that no test reads. */
export async function prepareCluster(api: AdminClient): Promise<void> {
  await Promise.all([applyCrds(api), refuseEvents(api)]);
}

/**
 * Offers control planes to the processes that this one starts. Each is a folder; it is started when a test
 * file writes its lease there.
 */
export async function offerControlPlanes(count: number): Promise<AsyncDisposable> {
  const prefix = path.join(tmpdir(), 'app-operator-controlplane-');
  const folders = await Promise.all(Array.from({ length: count }, () => mkdtemp(prefix)));
  process.env[VARIABLE] = folders.join(':');
  const ends = folders.map(startWhenLeased);
  return {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(ends.map((end) => end()));
      const left = folders.map((folder) => rm(folder, { recursive: true, force: true }));
      await Promise.all(left);
    },
  };
}

/** @returns what ends the control plane, if it was started */
function startWhenLeased(folder: string): () => Promise<void> {
  let started: Promise<ControlPlane | undefined> | undefined;
  const watcher = watch(folder, () => {
    if (!existsSync(path.join(folder, LEASE))) return;
    watcher.close();
    started ??= startIn(folder);
  });
  return async () => {
    watcher.close();
    await (await started)?.stop();
  };
}

/** Starts a control plane. The test file that leased it waits for the file `started`. */
async function startIn(folder: string): Promise<ControlPlane | undefined> {
  const dataDir = path.join(folder, DATA);
  const options = { dataDir, keep: false, persistentVolumes: 250, audit: true };
  let controlPlane: ControlPlane | undefined;
  let problem = '';
  try {
    controlPlane = await startControlPlane({ ...options, prepare: prepareCluster });
  } catch (error) {
    problem = String(error);
  }
  const file = path.join(folder, STARTED);
  await writeFile(`${file}.new`, problem);
  await rename(`${file}.new`, file);
  return controlPlane;
}

/** Waits until the control plane of a folder is started. @throws Error if it cannot be */
async function untilStarted(folder: string): Promise<void> {
  const file = path.join(folder, STARTED);
  while (!existsSync(file)) await sleep(50);
  const problem = await readFile(file, 'utf8');
  if (problem !== '') throw new Error(`no shared control plane: ${problem}`);
}

/** How a control plane was at the begin of a lease. */
interface Start {
  readonly auditSize: number;
  readonly names: Names;
  /** How many namespaces tests have made. */
  readonly namespaces: number;
}

/** A shared control plane that this process alone uses until `release`. */
export class Lease {
  #namespaces: number;

  private constructor(
    readonly controlPlane: ControlPlane,
    private readonly file: string,
    private readonly start: Start,
  ) {
    this.#namespaces = start.namespaces;
  }

  /** Size of the audit log at the begin of the lease. */
  get auditStart(): number {
    return this.start.auditSize;
  }

  /** Undefined where no shared control plane is free. */
  static async take(): Promise<Lease | undefined> {
    for (const folder of (process.env[VARIABLE] ?? '').split(':').filter(Boolean)) {
      const file = path.join(folder, LEASE);
      if (!(await claimed(file))) continue;
      await untilStarted(folder);
      const controlPlane = await attachControlPlane(path.join(folder, DATA));
      return new Lease(controlPlane, file, {
        auditSize: (await stat(controlPlane.auditLog ?? '')).size,
        names: await clusterWide(controlPlane.api),
        namespaces: Number(await readFile(`${file}.namespaces`, 'utf8').catch(() => '0')),
      });
    }
    return undefined;
  }

  /** The number of the next namespace; those of earlier leases are still there. */
  nextNamespace(): number {
    const number = ++this.#namespaces;
    // Two writes at the same time could leave the lower number.
    writeFileSync(`${this.file}.namespaces`, String(number));
    return number;
  }

  /** Deletes what was made meanwhile. Where that fails the control plane is not leased again. */
  async release(): Promise<void> {
    await deleteLeftovers(this.controlPlane.api, this.start.names);
    await this.controlPlane.stop();
    await rm(this.file);
  }
}

async function claimed(file: string): Promise<boolean> {
  const holder = await readFile(file, 'utf8').catch(() => undefined);
  // A process that ended without a release leaves a control plane of unknown state.
  if (holder !== undefined && !isAlive(Number(holder))) return false;
  return writeFile(file, String(process.pid), { flag: 'wx' }).then(
    () => true,
    () => false,
  );
}
