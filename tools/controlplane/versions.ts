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
  const digest = createHash('sha256').update(files.join('\0')).digest('hex').slice(0, 8);
  const platform = `${process.platform}-${process.arch}`;
  return {
    kubernetes,
    etcd,
    kwok,
    key: `kubernetes-${kubernetes}_etcd-${etcd}_kwok-${kwok}_${digest}_${platform}`,
  };
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
