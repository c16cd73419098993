import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import type { Manifest } from './objects.js';

export const API_VERSION = `${DEFAULT_API_GROUP}/v1alpha1`;

type Spec = Readonly<Record<string, unknown>>;
type Metadata = Omit<Manifest['metadata'], 'name'>;

/** Workers are as every Deployment, and their pods take most of the control plane's time. */
const NO_WORKERS: Spec = { workerDefault: 0, workerShort: 0, workerLong: 0 };
/** A worker of each queue, as without the field, for tests of what their pods do. */
export const WORKERS: Spec = { componentReplicas: {} };

/** A bench with what is required, and what is given; without pods of workers, if not given. */
export function aBench(name: string, spec: Spec = {}, metadata: Metadata = {}): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'AppBench',
    metadata: { name, ...metadata },
    spec: { frameworkVersion: 'version-15', componentReplicas: NO_WORKERS, ...spec },
  };
}

/**
 * A site on a bench: `aSite('shop', { bench: 'b', workloads: 'Shared' })` answers to `shop.example.com`.
 * Without pods of workers, if not given.
 */
export function aSite(
  name: string,
  { bench, ...spec }: Spec & { readonly bench: string },
  metadata: Metadata = {},
): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'AppSite',
    metadata: { name, ...metadata },
    spec: {
      benchRef: { name: bench },
      siteName: `${name}.example.com`,
      ...(spec['workloads'] === 'Shared' ? {} : { componentReplicas: NO_WORKERS }),
      ...spec,
    },
  };
}

/** A user of the site `shop`: `aUser('ann')` is ann@example.com. */
export function aUser(name: string, spec: Spec = {}): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteUser',
    metadata: { name },
    spec: { siteRef: { name: 'shop' }, email: `${name}@example.com`, firstName: name, ...spec },
  };
}

export function aSecret(name: string, data: Readonly<Record<string, string>> = {}): Manifest {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: data };
}

/** Scaling of a queue by events. */
export function scaled(minReplicas: number, maxReplicas: number, queueLength: number): Spec {
  return { enabled: true, minReplicas, maxReplicas, queueLength };
}
