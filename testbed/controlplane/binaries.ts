import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';

import { messageOf } from '../../constructs/kit/errors.js';
import {
  BINARY_NAMES,
  type BinaryName,
  buildBinaries,
  type Catalog,
  controlPlaneCatalogs,
} from './build.js';
import { downloadBinaries } from './download.js';
import { withLock } from './lock.js';
import type { OnProgress } from './progress.js';
import type { Release } from './releases.js';
import { readVersions } from './versions.js';

/** Absolute paths of the binaries. */
export type Binaries<Name extends string = BinaryName> = Readonly<Record<Name, string>>;

export interface EnsureOptions {
  /** Called with what is downloaded or built, and how far it is. Default: no calls. */
  readonly onProgress?: OnProgress | undefined;
  /** Whether to build what cannot be downloaded. Default: true. */
  readonly build?: boolean;
}

export interface EnsureBinariesOptions<Name extends BinaryName> extends EnsureOptions {
  /** The binaries wanted. Default: all. */
  readonly names?: readonly Name[];
}

/** Binaries that would have to be built, against `build: false`. */
export class BuildNeeded extends Error {}

/**
 * Finds the control plane's binaries, and gets the missing ones, from the first of these sources:
 *
 * 1. The folder `KUBEBUILDER_ASSETS`, when it is set and has etcd and kube-apiserver; whatever else
 *    it has is used too.
 * 2. The cache: `$APP_OPERATOR_CACHE`, else `$XDG_CACHE_HOME/app-operator`, else
 *    `~/.cache/app-operator`, and there a folder for the pinned versions.
 * 3. Official releases, whose sums are pinned (`releases.ts`).
 * 4. A build from Go modules, where a release cannot be downloaded (about five minutes on two
 *    cores). Processes that start together build once.
 *
 * @throws Error when something must be built and Go is missing, or when the build fails.
 * @throws BuildNeeded when something must be built, and may not.
 */
export async function ensureBinaries<Name extends BinaryName = BinaryName>(
  options: EnsureBinariesOptions<Name> = {},
): Promise<Binaries<Name>> {
  const wanted: ReadonlySet<BinaryName> = new Set(options.names ?? BINARY_NAMES);
  const binaries: Partial<Record<BinaryName, string>> = {};
  for (const { names, catalog } of controlPlaneCatalogs(readVersions)) {
    const ofCatalog = names.filter((name) => wanted.has(name));
    Object.assign(binaries, await ensureBuilt(catalog, ofCatalog, options));
  }
  return binaries as Binaries<Name>;
}

/** As `ensureBinaries`, of any catalog. */
export async function ensureBuilt<Name extends string>(
  catalog: Catalog<Name>,
  names: readonly Name[],
  options: EnsureOptions = {},
): Promise<Binaries<Name>> {
  const { onProgress } = options;
  const cache = path.join(cacheRoot(), catalog.key);
  const found = await findIn(await assetsFolder(), names);
  const rest = names.filter((name) => !found.has(name));
  let missing = await missingIn(cache, rest);
  if (missing.length > 0) {
    await mkdir(cacheRoot(), { recursive: true });
    const work = async (): Promise<void> => {
      // Whoever held the lock before may have got them.
      missing = await missingIn(cache, rest);
      if (missing.length > 0) await getBinaries(catalog, missing, cache, options);
    };
    await withLock(`${cache}.lock`, work, (holder) => {
      const message = `waiting for process ${holder}, which gets the same binaries`;
      onProgress?.({ message, elapsedSeconds: 0 });
    });
  }
  for (const name of rest) found.set(name, path.join(cache, name));
  return Object.fromEntries(found) as Binaries<Name>;
}

/**
 * As `ensureBuilt`, of what takes so long that it is built only where `variable` is 1 in the environment.
 * @returns the programs, or why they are not to be had here
 */
export async function ensureOnDemand<Name extends string>(
  catalog: Catalog<Name>,
  { what, variable, minutes }: OnDemand,
  onProgress?: OnProgress,
): Promise<{ readonly programs: Binaries<Name> } | { readonly skip: string }> {
  const names = Object.keys(catalog.recipes) as Name[];
  const missing = await missingIn(path.join(cacheRoot(), catalog.key), names);
  if (missing.length > 0 && process.env[variable] !== '1') {
    return {
      skip: `NOT TESTED: ${what} is not built here; ${variable}=1 builds it, in ${minutes} minutes`,
    };
  }
  return { programs: await ensureBuilt(catalog, names, { onProgress }) };
}

export interface OnDemand {
  readonly what: string;
  readonly variable: string;
  /** In words, on two cores. */
  readonly minutes: string;
}

/** Downloads what has a release, and builds what is then missing. */
async function getBinaries<Name extends string>(
  { releases, recipes }: Catalog<Name>,
  names: readonly Name[],
  folder: string,
  { onProgress, build = true }: EnsureOptions,
): Promise<void> {
  const released = names.flatMap((name) => {
    const release: Release | undefined = releases?.[name];
    return release ? [[name, release] as const] : [];
  });
  const partial = path.join(cacheRoot(), 'downloads');
  const failures = await downloadBinaries(released, { folder, partial, onProgress });
  const reasons = new Set(failures.values());
  if (reasons.size > 0 && build) {
    const message = `building from source, as a download failed: ${[...reasons].join('; ')}`;
    onProgress?.({ message, elapsedSeconds: 0 });
  }
  const missing = await missingIn(folder, names);
  if (missing.length === 0) return;
  if (!build) {
    const why = reasons.size > 0 ? [...reasons].join('; ') : 'no release has a pinned sum';
    throw new BuildNeeded(`${missing.join(', ')}: not in the cache, and not downloaded: ${why}`);
  }
  const wanted = missing.map((name) => [name, recipes[name]] as const);
  try {
    await buildBinaries(wanted, folder, onProgress);
  } catch (error) {
    if (reasons.size === 0) throw error;
    throw new Error(`${messageOf(error)} (${[...reasons].join('; ')})`, { cause: error });
  }
}

/** Folder of all that is built once and used again. */
export function cacheRoot(): string {
  const { APP_OPERATOR_CACHE, XDG_CACHE_HOME } = process.env;
  if (APP_OPERATOR_CACHE) return path.resolve(APP_OPERATOR_CACHE);
  if (XDG_CACHE_HOME) return path.join(XDG_CACHE_HOME, 'app-operator');
  return path.join(homedir(), '.cache', 'app-operator');
}

async function assetsFolder(): Promise<string | undefined> {
  const folder = process.env.KUBEBUILDER_ASSETS;
  if (!folder) return undefined;
  const essential = await findIn(folder, ['etcd', 'kube-apiserver']);
  return essential.size === 2 ? path.resolve(folder) : undefined;
}

async function findIn<Name extends string>(
  folder: string | undefined,
  names: readonly Name[],
): Promise<Map<Name, string>> {
  const found = new Map<Name, string>();
  if (folder === undefined) return found;
  for (const name of names) {
    const file = path.join(folder, name);
    if (await isExecutable(file)) found.set(name, file);
  }
  return found;
}

async function missingIn<Name extends string>(
  folder: string,
  names: readonly Name[],
): Promise<Name[]> {
  const found = await findIn(folder, names);
  return names.filter((name) => !found.has(name));
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
