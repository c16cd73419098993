import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import type { Manifest } from './objects.js';

export const API_VERSION = `${DEFAULT_API_GROUP}/v1alpha1`;

type Spec = Readonly<Record<string, unknown>>;
type Metadata = Omit<Manifest['metadata'], 'name'>;

/** Workers are Deployments as all others, and pods take most of the control plane's time. */
const NO_WORKERS: Spec = { workerDefault: 0, workerShort: 0, workerLong: 0 };
/** Only a bench has them, and no test in the cluster uses their pods. */
const NO_OTHERS: Spec = { scheduler: 0, socketio: 0 };
/** Removes these numbers from a bench or a site again, for tests of what these pods do. */
export const WORKERS = {
  componentReplicas: {
    ...{ workerDefault: undefined, workerShort: undefined, workerLong: undefined },
    ...{ scheduler: undefined, socketio: undefined },
  },
};

const withReplicas = (given: unknown): Spec => ({ ...NO_WORKERS, ...(given as Spec | undefined) });

/**
 * A bench with what is required, and what is given; without pods of workers, of the scheduler and of the
 * realtime server, unless they are given, or workers are scaled.
 */
export function aBench(name: string, spec: Spec = {}, metadata: Metadata = {}): Manifest {
  const given = spec['componentReplicas'];
  const workers = spec['workerAutoscaling'] ? (given as Spec | undefined) : withReplicas(given);
  const componentReplicas = { ...NO_OTHERS, ...workers };
  return {
    apiVersion: API_VERSION,
    kind: 'AppBench',
    metadata: { name, ...metadata },
    spec: { frameworkVersion: 'version-15', ...spec, componentReplicas },
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
      ...spec,
      ...(spec['workloads'] === 'Shared'
        ? {}
        : { componentReplicas: withReplicas(spec['componentReplicas']) }),
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
