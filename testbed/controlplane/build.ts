import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';

import { GoModule } from './go.js';
import { type OnProgress, withProgress } from './progress.js';
import { type Release, releasesOf } from './releases.js';
import { DEFAULT_MINOR, moduleOf, type Minor, type Versions } from './versions.js';

/** How one binary is built. */
export interface Recipe {
  /** Folder of the Go module. */
  readonly module: string;
  readonly package: string;
  /** Set by the linker. @default none */
  readonly variables?: Readonly<Record<string, string>>;
  /** Build tags of all programs of the module. @default none */
  readonly tags?: readonly string[];
}

/** What comes from one set of pins. */
export interface Catalog<Name extends string> {
  /** Names the cache folder; changes with any pin. */
  readonly key: string;
  readonly recipes: Readonly<Record<Name, Recipe>>;
  /** Official programs for this platform. Default: none, all are built. */
  readonly releases?: Readonly<Partial<Record<Name, Release>>>;
}

/** Of the version that is asked for. */
const SERVERS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
/** Of the default version, whichever is asked for. */
const SHARED = ['etcd', 'kwok', 'kubectl'] as const;

export type BinaryName = (typeof SERVERS)[number] | (typeof SHARED)[number];

export const BINARY_NAMES: readonly BinaryName[] = [...SERVERS, ...SHARED];

/** Where a control plane's binaries come from; a binary is in one catalog. */
export function controlPlaneCatalogs(
  versions: (minor?: Minor) => Versions,
): readonly { readonly names: readonly BinaryName[]; readonly catalog: Catalog<BinaryName> }[] {
  const chosen = versions();
  const catalog = catalogOf(chosen);
  if (chosen.minor === DEFAULT_MINOR) return [{ names: BINARY_NAMES, catalog }];
  return [
    { names: SERVERS, catalog },
    { names: SHARED, catalog: catalogOf(versions(DEFAULT_MINOR)) },
  ];
}

function catalogOf(versions: Versions): Catalog<BinaryName> {
  const { key, kwok } = versions;
  const module = moduleOf(DEFAULT_MINOR);
  return {
    key,
    releases: releasesOf(versions),
    recipes: {
      ...kubernetesRecipes(SERVERS, versions),
      ...kubernetesRecipes(['kubectl'], versions),
      etcd: { module, package: 'go.etcd.io/etcd/server/v3' },
      kwok: {
        module,
        package: 'sigs.k8s.io/kwok/cmd/kwok',
        variables: { 'sigs.k8s.io/kwok/pkg/consts.Version': kwok.slice(1) },
      },
    },
  };
}

/**
 * Recipes of programs of Kubernetes. It reports v0.0.0 unless the version is linked in; both copies
 * of it, for user agents.
 */
export function kubernetesRecipes<Name extends string>(
  names: readonly Name[],
  { minor, kubernetes }: Versions,
): Record<Name, Recipe> {
  const [majorNumber = '', minorNumber = ''] = kubernetes.slice(1).split('.');
  const targets = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const pairs = targets.flatMap((target) => [
    [`${target}.gitVersion`, kubernetes],
    [`${target}.gitMajor`, majorNumber],
    [`${target}.gitMinor`, minorNumber],
  ]);
  const variables = Object.fromEntries(pairs) as Record<string, string>;
  const recipe = (name: string): Recipe => ({
    module: moduleOf(minor),
    package: `k8s.io/kubernetes/cmd/${name}`,
    variables,
  });
  return Object.fromEntries(names.map((name) => [name, recipe(name)])) as Record<Name, Recipe>;
}

const TEMPORARY = '.building-';

/**
 * Makes binaries in a folder within `folder` and moves each into `folder` in one step, so that a
 * binary in `folder` is always a whole one. The caller holds the lock of `folder`.
 */
async function withScratch<T>(folder: string, make: (scratch: string) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(TEMPORARY)) await rm(path.join(folder, entry), { recursive: true });
  }
  const scratch = await mkdtemp(path.join(folder, TEMPORARY));
  try {
    return await make(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Builds binaries with the Go toolchain into `folder`: one build for each Go module. */
export async function buildBinaries(
  recipes: readonly (readonly [name: string, recipe: Recipe])[],
  folder: string,
  onProgress?: OnProgress,
): Promise<void> {
  for (const [module, group] of Map.groupBy(recipes, ([, recipe]) => recipe.module)) {
    await withScratch(folder, async (scratch) => {
      const names = group.map(([name]) => name);
      await buildModule(
        new GoModule(module, names, group[0]?.[1].tags),
        group,
        scratch,
        onProgress,
      );
      for (const [name, recipe] of group) {
        const target = path.join(folder, name);
        // A folder is not a program, and a file does not replace it.
        await rm(target, { recursive: true, force: true });
        await rename(path.join(scratch, await outputOf(recipe)), target);
      }
    });
  }
}

async function buildModule(
  module: GoModule,
  group: readonly (readonly [name: string, recipe: Recipe])[],
  scratch: string,
  onProgress?: OnProgress,
): Promise<void> {
  const packages = group.map(([, recipe]) => recipe.package);
  const variables = Object.assign({}, ...group.map(([, recipe]) => recipe.variables)) as Record<
    string,
    string
  >;
  const names = group.map(([name]) => name).join(', ');
  const stale = await withProgress(`finding the Go packages of ${names}`, onProgress, (advance) =>
    module.stale(packages, advance),
  );
  await withProgress(`building ${names}`, onProgress, (advance) =>
    module.build(packages, { variables, scratch, stale, advance }),
  );
}

/** The file name that `go build` gives a program. */
async function outputOf({ module, package: given }: Recipe): Promise<string> {
  const importPath = given === '.' ? await pathOf(module) : given;
  const segments = importPath.split('/').filter((segment) => !/^v[0-9]+$/.test(segment));
  return segments.at(-1) ?? importPath;
}

/** The import path of a Go module. */
async function pathOf(module: string): Promise<string> {
  const goMod = await readFile(path.join(module, 'go.mod'), 'utf8');
  const found = /^module (\S+)$/m.exec(goMod)?.[1];
  if (found === undefined) throw new Error(`${module}/go.mod: no module path`);
  return found;
}
