import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';

import { asset } from './assets.js';
import { errorCode } from './errors.js';
import { type OnProgress, withProgress } from './progress.js';
import type { Versions } from './versions.js';

/** How one binary is built. */
export interface Recipe {
  /** Folder of the Go module. */
  readonly module: string;
  readonly package: string;
  /** Set by the linker. */
  readonly variables: (versions: Versions) => Readonly<Record<string, string>>;
}

/** What is built from one set of pins. */
export interface Catalog<Name extends string> {
  /** Names the cache folder; changes with any pin. */
  readonly key: string;
  readonly recipes: Readonly<Record<Name, Recipe>>;
}

const RECIPES = {
  etcd: { module: asset('go'), package: 'go.etcd.io/etcd/server/v3', variables: () => ({}) },
  'kube-apiserver': kubernetes('kube-apiserver'),
  'kube-controller-manager': kubernetes('kube-controller-manager'),
  'kube-scheduler': kubernetes('kube-scheduler'),
  kubectl: kubernetes('kubectl'),
  kwok: {
    module: asset('kwok'),
    package: 'sigs.k8s.io/kwok/cmd/kwok',
    variables: ({ kwok }) => ({ 'sigs.k8s.io/kwok/pkg/consts.Version': kwok.slice(1) }),
  },
} as const satisfies Record<string, Recipe>;

export type BinaryName = keyof typeof RECIPES;

export const BINARY_NAMES = Object.keys(RECIPES) as readonly BinaryName[];

export function controlPlaneCatalog({ key }: Versions): Catalog<BinaryName> {
  return { key, recipes: RECIPES };
}

const TEMPORARY = '.building-';

/**
 * Builds binaries with the Go toolchain into `folder`, each moved there in one step, so that a
 * binary in `folder` is always a whole one. The caller holds the lock of `folder`.
 */
export async function buildBinaries(
  recipes: readonly (readonly [name: string, recipe: Recipe])[],
  folder: string,
  versions: Versions,
  onProgress?: OnProgress,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(TEMPORARY)) await rm(path.join(folder, entry), { recursive: true });
  }
  const scratch = await mkdtemp(path.join(folder, TEMPORARY));
  try {
    for (const [index, [name, recipe]] of recipes.entries()) {
      const message = `building ${name} (${index + 1} of ${recipes.length})`;
      const output = path.join(scratch, name);
      await withProgress(message, onProgress, () => goBuild(name, recipe, output, versions));
      await rename(output, path.join(folder, name));
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function goBuild(name: string, recipe: Recipe, output: string, versions: Versions): Promise<void> {
  const variables = Object.entries(recipe.variables(versions));
  const flags = ['-s', '-w', ...variables.map(([variable, value]) => `-X ${variable}=${value}`)];
  const child = spawn(
    'go',
    [
      'build',
      '-mod=readonly',
      '-trimpath',
      '-ldflags',
      flags.join(' '),
      '-o',
      output,
      recipe.package,
    ],
    {
      cwd: recipe.module,
      // A workspace or flags of the user's own projects must not reach this build.
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-buildvcs=false' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  // An interrupted build must not go on without us.
  const abort = (): void => void child.kill();
  process.once('exit', abort);
  child.once('close', () => process.off('exit', abort));
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(errorCode(error) === 'ENOENT' ? goMissing(name) : error);
    });
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`go build of ${name} ended with ${signal ?? code}:\n${errors.trim()}`));
    });
  });
}

function goMissing(name: string): Error {
  return new Error(
    `${name} has to be built, and there is no 'go' on the PATH. Install Go 1.24 or newer, or set ` +
      'KUBEBUILDER_ASSETS to a folder that has etcd, kube-apiserver, kube-controller-manager, ' +
      'kube-scheduler, kubectl and kwok.',
  );
}

/**
 * Kubernetes reports v0.0.0 unless the version is linked in; both copies of it, for user agents.
 */
export function kubernetes(command: string, module = asset('go')): Recipe {
  return {
    module,
    package: `k8s.io/kubernetes/cmd/${command}`,
    variables: ({ kubernetes: version }) => {
      const [major = '', minor = ''] = version.slice(1).split('.');
      const pairs = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap(
        (target) => [
          [`${target}.gitVersion`, version],
          [`${target}.gitMajor`, major],
          [`${target}.gitMinor`, minor],
        ],
      );
      return Object.fromEntries(pairs) as Record<string, string>;
    },
  };
}
