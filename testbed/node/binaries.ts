import { readFileSync } from 'node:fs';

import { type Binaries, ensureBuilt } from '../controlplane/binaries.js';
import { type Catalog, kubernetes, type Recipe } from '../controlplane/build.js';
import type { OnProgress } from '../controlplane/progress.js';
import { cacheKey, pinned, readVersions, type Versions } from '../controlplane/versions.js';
import { asset } from './assets.js';

const RECIPES = {
  kubelet: kubernetes('kubelet', asset('go', 'kubernetes')),
  'kube-proxy': kubernetes('kube-proxy', asset('go', 'kubernetes')),
  coredns: ownProgram('dns'),
  pause: ownProgram('pause'),
} as const satisfies Record<string, Recipe>;

/** What a node runs beside the control plane's binaries. */
export type NodeBinaryName = keyof typeof RECIPES;

const SOURCES = [
  ['kubernetes', 'go.mod'],
  ['kubernetes', 'go.sum'],
  ['dns', 'go.mod'],
  ['dns', 'go.sum'],
  ['dns', 'main.go'],
  ['pause', 'go.mod'],
  ['pause', 'main.go'],
] as const;

/**
 * Builds what is missing into the cache of the control plane's binaries (see `ensureBinaries`); two
 * to four minutes the first time.
 */
export function ensureNodeBinaries(onProgress?: OnProgress): Promise<Binaries<NodeBinaryName>> {
  const versions = readVersions();
  const names = Object.keys(RECIPES) as NodeBinaryName[];
  return ensureBuilt(catalog(versions), names, versions, onProgress);
}

function catalog(versions: Versions): Catalog<NodeBinaryName> {
  const sources = SOURCES.map((source) => readFileSync(asset('go', ...source), 'utf8'));
  const node = pinned(sources[0] ?? '', 'k8s.io/kubernetes');
  if (node !== versions.kubernetes) {
    throw new Error(`the node is ${node}, and its control plane ${versions.kubernetes}`);
  }
  return { key: cacheKey(`node-${versions.kubernetes}`, sources), recipes: RECIPES };
}

function ownProgram(folder: string): Recipe {
  return { module: asset('go', folder), package: '.', variables: () => ({}) };
}
