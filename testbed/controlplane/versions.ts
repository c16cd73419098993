import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { asset } from './assets.js';

/** The pinned versions, as `go.mod` has them: `v1.34.4`, `v3.6.4`, `v0.7.0`. */
export interface Versions {
  readonly kubernetes: string;
  readonly etcd: string;
  readonly kwok: string;
  /** Names the cache folder; changes with any pin, indirect ones included. */
  readonly key: string;
}

/** Reads the pins from the two Go modules, so that they are written once. */
export function readVersions(): Versions {
  const files = ['go/go.mod', 'go/go.sum', 'kwok/go.mod', 'kwok/go.sum'].map((file) =>
    readFileSync(asset(file), 'utf8'),
  );
  const [servers = '', , kwokModule = ''] = files;
  const kubernetes = pinned(servers, 'k8s.io/kubernetes');
  const etcd = pinned(servers, 'go.etcd.io/etcd/server/v3');
  const kwok = pinned(kwokModule, 'sigs.k8s.io/kwok');
  const key = cacheKey(`kubernetes-${kubernetes}_etcd-${etcd}_kwok-${kwok}`, files);
  return { kubernetes, etcd, kwok, key };
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
