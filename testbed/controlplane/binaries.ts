import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';

import {
  BINARY_NAMES,
  type BinaryName,
  buildBinaries,
  type Catalog,
  controlPlaneCatalog,
} from './build.js';
import { withLock } from './lock.js';
import type { OnProgress } from './progress.js';
import { readVersions, type Versions } from './versions.js';

/** Absolute paths of the binaries. */
export type Binaries<Name extends string = BinaryName> = Readonly<Record<Name, string>>;

export interface EnsureBinariesOptions<Name extends BinaryName> {
  /** The binaries wanted. Default: all. */
  readonly names?: readonly Name[];
  /** Called with the binary that is built, and for how long. Default: no calls. */
  readonly onProgress?: OnProgress | undefined;
}

/**
 * Finds the control plane's binaries, and builds the missing ones.
 *
 * 1. The folder `KUBEBUILDER_ASSETS`, when it is set and has etcd and kube-apiserver; whatever else
 *    it has is used too.
 * 2. The cache: `$APP_OPERATOR_CACHE`, else `$XDG_CACHE_HOME/app-operator`, else
 *    `~/.cache/app-operator`, and there a folder for the pinned versions. Binaries missing from it
 *    are built once (about four minutes on two cores); processes that start together build once.
 *
 * @throws Error when something must be built and Go is missing, or when the build fails.
 */
export async function ensureBinaries<Name extends BinaryName = BinaryName>(
  options: EnsureBinariesOptions<Name> = {},
): Promise<Binaries<Name>> {
  const names: readonly BinaryName[] = options.names ?? BINARY_NAMES;
  const versions = readVersions();
  const catalog = controlPlaneCatalog(versions);
  return ensureBuilt(catalog, names, versions, options.onProgress);
}

/** As `ensureBinaries`, of any catalog. */
export async function ensureBuilt<Name extends string>(
  catalog: Catalog<Name>,
  names: readonly Name[],
  versions: Versions,
  onProgress?: OnProgress,
): Promise<Binaries<Name>> {
  const cache = path.join(cacheRoot(), catalog.key);
  const found = await findIn(await assetsFolder(), names);
  const rest = names.filter((name) => !found.has(name));
  let missing = await missingIn(cache, rest);
  if (missing.length > 0) {
    await mkdir(cacheRoot(), { recursive: true });
    const work = async (): Promise<void> => {
      // Whoever held the lock before may have built them.
      missing = await missingIn(cache, rest);
      if (missing.length === 0) return;
      const recipes = missing.map((name) => [name, catalog.recipes[name]] as const);
      await buildBinaries(recipes, cache, versions, onProgress);
    };
    await withLock(`${cache}.lock`, work, (holder) => {
      const message = `waiting for process ${holder}, which builds the same binaries`;
      onProgress?.({ message, elapsedSeconds: 0 });
    });
  }
  for (const name of rest) found.set(name, path.join(cache, name));
  return Object.fromEntries(found) as Binaries<Name>;
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
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
