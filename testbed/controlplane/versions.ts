import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { ownFile } from '../own-file.js';

/** Minor versions of Kubernetes that the control plane can run; each is pinned in a Go module. */
export const MINORS = ['1.35', '1.36', '1.37'] as const;
export type Minor = (typeof MINORS)[number];

/** The newest minor that kwok supports. Its Go module pins etcd, kwok and kubectl for all minors. */
export const DEFAULT_MINOR: Minor = '1.36';

const VARIABLE = 'KUBERNETES_VERSION';

/** The pinned versions, as `go.mod` has them: `v1.36.3`, `v3.6.8`, `v0.8.0`. */
export interface Versions {
  readonly minor: Minor;
  readonly kubernetes: string;
  readonly etcd: string;
  readonly kwok: string;
  /** Names the cache folder; changes with any pin, indirect ones included. */
  readonly key: string;
}

/** The minor that the environment variable `KUBERNETES_VERSION` names. Default: `DEFAULT_MINOR`. */
export function chosenMinor(): Minor {
  const given = process.env[VARIABLE];
  if (!given) return DEFAULT_MINOR;
  const minor = MINORS.find((one) => one === given);
  if (minor === undefined) {
    throw new Error(`${VARIABLE}: unknown version: "${given}"; use one of ${MINORS.join(', ')}`);
  }
  return minor;
}

/** Reads the pins from the Go modules, so that they are written once. */
export function readVersions(minor: Minor = chosenMinor()): Versions {
  const [goMod = '', goSum = ''] = pinsIn(moduleOf(minor));
  const [shared = ''] = pinsIn(moduleOf(DEFAULT_MINOR));
  const kubernetes = pinned(goMod, 'k8s.io/kubernetes');
  const etcd = pinned(shared, 'go.etcd.io/etcd/server/v3');
  const kwok = pinned(shared, 'sigs.k8s.io/kwok');
  const others = minor === DEFAULT_MINOR ? `_etcd-${etcd}_kwok-${kwok}` : '';
  const key = cacheKey(`kubernetes-${kubernetes}${others}`, [goMod, goSum]);
  return { minor, kubernetes, etcd, kwok, key };
}

/** Folder of the Go module of a minor. */
export function moduleOf(minor: Minor): string {
  return ownFile('controlplane', 'go', minor);
}

/** What pins a Go module: `go.mod` and `go.sum`. */
export function pinsIn(module: string): readonly string[] {
  return ['go.mod', 'go.sum'].map((file) => readFileSync(path.join(module, file), 'utf8'));
}

/**
 * Names the cache folder of what is built from some sources for this platform; changes with any of
 * them.
 */
export function cacheKey(name: string, sources: readonly string[]): string {
  const digest = createHash('sha256').update(sources.join('\0')).digest('hex').slice(0, 8);
  return `${name}_${digest}_${process.platform}-${process.arch}`;
}

/** The version that a `go.mod` requires of a module. */
export function pinned(goMod: string, module: string): string {
  for (const line of goMod.split('\n')) {
    const [name, version] = line
      .replace(/^require\s+/, '')
      .trim()
      .split(/\s+/);
    if (name === module && version?.startsWith('v')) return version;
  }
  throw new Error(`go.mod pins no version of ${module}`);
}
