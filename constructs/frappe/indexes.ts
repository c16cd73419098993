import type { AppBench } from '../api/bench.js';
import type { SiteJob } from '../api/site-job.js';
import type { AppSite } from '../api/site.js';
import type { Index } from '../kit/kind.js';
import { keyOf, type KubeObject } from '../kit/object.js';

/** The sites of a bench, by the bench's `<namespace>/<name>`. */
export const sitesOfBench: Index<AppSite> = {
  name: 'sitesOfBench',
  kind: 'AppSite',
  values: ({ metadata, spec }) => [keyOf(metadata.namespace, spec.benchRef.name)],
};

/** The benches that name a claim in place of one of their own, by the claim's `<namespace>/<name>`. */
export const benchesByClaim: Index<AppBench> = {
  name: 'benchesByClaim',
  kind: 'AppBench',
  values: ({ metadata: { namespace }, spec: { storage, redisConfig, dbConfig } }) =>
    claimKeys(namespace, [storage, redisConfig?.storage, dbConfig.storage]),
};

/** The sites that name a claim for a server of their own, by the claim's `<namespace>/<name>`. */
export const sitesByClaim: Index<AppSite> = {
  name: 'sitesByClaim',
  kind: 'AppSite',
  values: ({ metadata: { namespace }, spec }) => claimKeys(namespace, [spec.dbConfig.storage]),
};

function claimKeys(
  namespace: string | undefined,
  volumes: readonly ({ readonly existingClaim?: string } | undefined)[],
): readonly string[] {
  const names = volumes.flatMap((volume) => volume?.existingClaim ?? []);
  return [...new Set(names)].map((name) => keyOf(namespace, name));
}

/**
 * The HorizontalPodAutoscalers that scale a Deployment, by the Deployment's `<namespace>/<name>`.
 */
export const scalersOfDeployment: Index<HpaLike> = {
  name: 'scalersOfDeployment',
  kind: 'HorizontalPodAutoscaler',
  values: ({ metadata, spec }) =>
    spec.scaleTargetRef.kind === 'Deployment'
      ? [keyOf(metadata.namespace, spec.scaleTargetRef.name)]
      : [],
};

export interface HpaLike extends KubeObject {
  readonly spec: {
    readonly scaleTargetRef: { readonly kind: string; readonly name: string };
    readonly minReplicas?: number;
  };
}

/**
 * The bench that gives a site its turn to be upgraded, by the site's `<namespace>/<name>`: a site
 * is reconciled for its own turn only.
 */
export const benchesByTurn: Index<AppBench> = {
  name: 'benchesByTurn',
  kind: 'AppBench',
  values: ({ metadata, status }) =>
    (status?.upgrade?.turns ?? []).map((site) => keyOf(metadata.namespace, site)),
};

/** The sites with a host name on a bench, by `<namespace>/<bench>/<host>`. */
export const sitesByHost: Index<AppSite> = {
  name: 'sitesByHost',
  kind: 'AppSite',
  values: ({ metadata, spec }) =>
    [...new Set([spec.siteName, spec.domain ?? spec.siteName, ...(spec.aliases ?? [])])].map(
      (host) => hostKey(metadata.namespace, spec.benchRef.name, host),
    ),
};

/**
 * The host names that the operator recorded for a site, in its status. Release 0.2.0 recorded the first
 * one only: of a site that was Ready as it is, none was refused.
 */
export function recordedHosts(site: AppSite): readonly string[] {
  const { spec, status } = site;
  if (status?.hosts) return status.hosts;
  const first = URL.parse(status?.siteURL ?? '')?.hostname;
  if (first === undefined || !spec.ingress?.enabled || !isReadyAsItIs(site)) return [];
  return [...new Set([first, ...(spec.aliases ?? [])])];
}

function isReadyAsItIs({ metadata, status }: AppSite): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && ready.observedGeneration === metadata.generation;
}

/**
 * The sites of all namespaces that have a host name in public, or may want it, by the host name. A
 * bench's suffix makes another one of a site's name: the status has it.
 */
export const sitesByPublicHost: Index<AppSite> = {
  name: 'sitesByPublicHost',
  kind: 'AppSite',
  values: (site) => {
    const { spec } = site;
    const names = [spec.domain ?? spec.siteName, ...(spec.aliases ?? [])];
    return [...new Set([...names, ...recordedHosts(site)])];
  },
};

/** The Ingresses of all namespaces, by the host names of their rules. */
export const ingressesByHost: Index<IngressLike> = {
  name: 'ingressesByHost',
  kind: 'Ingress',
  values: ({ spec }) => [...new Set((spec?.rules ?? []).flatMap(({ host }) => host ?? []))],
};

/** An Ingress, as far as `hostsOfIngress` keeps it. */
export interface IngressLike extends KubeObject {
  readonly spec?: { readonly rules?: readonly { readonly host?: string }[] };
  readonly status?: { readonly loadBalancer: { readonly ingress: readonly unknown[] } };
}

/** The SiteJobs that migrate a site, by the site's `<namespace>/<name>`. */
export const migrationsOfSite: Index<SiteJob> = {
  name: 'migrationsOfSite',
  kind: 'SiteJob',
  values: ({ metadata, spec }) =>
    spec.command?.[0] === 'migrate' ? [keyOf(metadata.namespace, spec.siteRef.name)] : [],
};

export function hostKey(namespace: string | undefined, bench: string, host: string): string {
  return `${keyOf(namespace, bench)}/${host}`;
}
