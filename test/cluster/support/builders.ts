import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import type { Manifest } from './objects.js';

export const API_VERSION = `${DEFAULT_API_GROUP}/v1alpha1`;

type Spec = Readonly<Record<string, unknown>>;
type Metadata = Omit<Manifest['metadata'], 'name'>;

/** A bench with what is required, and what is given. */
export function aBench(name: string, spec: Spec = {}, metadata: Metadata = {}): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'AppBench',
    metadata: { name, ...metadata },
    spec: { frameworkVersion: 'version-15', ...spec },
  };
}

/** A site on a bench: `aSite('shop', { bench: 'b', workloads: 'Shared' })` answers to `shop.example.com`. */
export function aSite(
  name: string,
  { bench, ...spec }: Spec & { readonly bench: string },
  metadata: Metadata = {},
): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'AppSite',
    metadata: { name, ...metadata },
    spec: { benchRef: { name: bench }, siteName: `${name}.example.com`, ...spec },
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
