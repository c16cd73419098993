import { readFileSync } from 'node:fs';

import { type Binaries, ensureBuilt } from '../controlplane/binaries.js';
import { type Catalog, kubernetesRecipes, type Recipe } from '../controlplane/build.js';
import type { OnProgress } from '../controlplane/progress.js';
import { releasesOf } from '../controlplane/releases.js';
import { cacheKey, readVersions, type Versions } from '../controlplane/versions.js';
import { ownFile } from '../own-file.js';

const OF_KUBERNETES = ['kubelet', 'kube-proxy'] as const;
const OWN = { coredns: ownProgram('dns'), pause: ownProgram('pause') } as const;

/** What a node runs beside the control plane's binaries. */
export type NodeBinaryName = (typeof OF_KUBERNETES)[number] | keyof typeof OWN;

const NAMES = [...OF_KUBERNETES, ...(Object.keys(OWN) as (keyof typeof OWN)[])] as const;

const SOURCES = [
  ['dns', 'go.mod'],
  ['dns', 'go.sum'],
  ['dns', 'main.go'],
  ['pause', 'go.mod'],
  ['pause', 'main.go'],
] as const;

/**
 * Gets what is missing into the cache of the control plane's binaries (see `ensureBinaries`); a
 * build takes two to four minutes.
 */
export function ensureNodeBinaries(onProgress?: OnProgress): Promise<Binaries<NodeBinaryName>> {
  return ensureBuilt(catalog(readVersions()), NAMES, { onProgress });
}

function catalog(versions: Versions): Catalog<NodeBinaryName> {
  const sources = SOURCES.map((source) => readFileSync(ownFile('node', 'go', ...source), 'utf8'));
  return {
    key: cacheKey(`node-${versions.kubernetes}`, [versions.key, ...sources]),
    recipes: { ...kubernetesRecipes(OF_KUBERNETES, versions), ...OWN },
    releases: releasesOf(versions),
  };
}

function ownProgram(folder: string): Recipe {
  return { module: ownFile('node', 'go', folder), package: '.' };
}
