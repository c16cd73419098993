import type * as k8s from '../kit/k8s.js';
import type { AppBench } from '../api/bench.js';
import type { PodTemplate, SiteConfigStatus } from '../kit/api.js';
import { defined } from '../kit/json/defined.js';
import { refuse, Waiting, type Problem } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { isPaused } from '../kit/annotations.js';
import type { MetadataKeys } from '../kit/metadata-keys.js';
import { benchNames } from '../kit/names.js';
import type { AppSite, SiteUpgrade } from '../api/site.js';
import { withoutIgnoredApps } from './apps.js';
import { benchModel, invalidOther, type BenchModel } from './bench-model.js';
import { imageNamed } from './image.js';
import { withTemplatesOf, type RawTemplates } from './pod-template.js';
import { templateProblems } from './pod-template-rules.js';
import { overBenchProblems } from './template-over-bench.js';

/** A site, for Jobs that run in it: their pods are like the site's own. */
export interface SiteModel {
  /** Name of the AppSite. */
  readonly name: string;
  readonly namespace: string;
  /** Name of the site in the framework. */
  readonly siteName: string;
  /** The bench, with the image that the site's data is of, and the site's own pod template. */
  readonly bench: BenchModel;
}

/** The environment variables that name a script's site, and the AppSite that owns the site. */
export function siteEnv({
  name,
  namespace,
  siteName,
}: Pick<SiteModel, 'name' | 'namespace' | 'siteName'>): k8s.EnvVar[] {
  return [
    { name: 'SITE_NAME', value: siteName },
    { name: 'SITE_OWNER', value: `${namespace}/${name}` },
  ];
}

/** Why nothing may run in a site now. */
export interface SiteBlock {
  /** Reason of the Ready condition. */
  readonly reason: 'SiteMissing' | 'SiteNotReady';
  readonly message: string;
}

/** The site that a resource names. */
export interface SiteView {
  /** undefined where the site does not exist, is being deleted, or has no bench. */
  readonly site: SiteModel | undefined;
  /** undefined where Jobs may run in it. */
  readonly blocked: SiteBlock | undefined;
}

/** The part of a resource that names a site. */
interface SiteReference {
  readonly metadata: { readonly namespace?: string };
  readonly spec: { readonly siteRef: { readonly name: string } };
}

const FIELD = 'spec.siteRef.name';

/** The site that a resource names. All of it is watched. */
export function viewSite(resource: SiteReference, reader: ClusterReader): SiteView {
  const { namespace = 'default' } = resource.metadata;
  const { name } = resource.spec.siteRef;
  const missing = (why: string): SiteView => ({
    site: undefined,
    blocked: { reason: 'SiteMissing', message: `${FIELD}: ${why}` },
  });
  const notReady = (why: string): SiteBlock => ({
    reason: 'SiteNotReady',
    message: `${FIELD}: AppSite "${name}" ${why}`,
  });
  const site = reader.get('AppSite', namespace, name, siteOffer);
  if (!site) return missing(`there is no AppSite "${name}" in namespace ${namespace}`);
  if (site.deleting) return missing(`AppSite "${name}" is being deleted`);
  const offer = reader.get('AppBench', namespace, site.benchName, benchOffer);
  if (!offer) {
    const why = `has no bench: there is no AppBench "${site.benchName}" in namespace ${namespace}`;
    return { site: undefined, blocked: notReady(why) };
  }
  const bench = benchModel(offer.bench, reader);
  const image = site.image === undefined ? bench.image : imageNamed(site.image, offer.bench.spec);
  return {
    site: {
      name,
      namespace,
      siteName: site.siteName,
      bench: { ...siteBench(bench, { name, ...site }), image },
    },
    blocked: site.notUsable === undefined ? undefined : notReady(site.notUsable),
  };
}

/**
 * The site that a resource names, where something may run in it now.
 * @throws Waiting with the reason SiteMissing or SiteNotReady
 */
export function siteModelOf(resource: SiteReference, reader: ClusterReader): SiteModel {
  const { site, blocked } = viewSite(resource, reader);
  if (blocked) throw new Waiting(blocked.reason, blocked.message);
  if (!site) throw new Error('a site that is not blocked exists');
  return site;
}

/** What other resources depend on of a site. */
function siteOffer(site: AppSite): {
  readonly siteName: string;
  readonly benchName: string;
  readonly image: string | undefined;
  readonly podTemplate: PodTemplate | undefined;
  readonly componentPodTemplates: RawTemplates | undefined;
  readonly deleting: boolean;
  readonly notUsable: string | undefined;
} {
  const { metadata, spec, status } = site;
  return {
    siteName: spec.siteName,
    benchName: spec.benchRef.name,
    image: status?.image,
    podTemplate: spec.podTemplate,
    componentPodTemplates: spec.componentPodTemplates,
    deleting: metadata.deletionTimestamp !== undefined,
    notUsable: whyNotUsable(site),
  };
}

/**
 * Whether a Job may open the site at any moment: then it is of the new image, and does not go back.
 * Until it may, `closed` is set.
 */
export function isOpening({ state, closed }: SiteUpgrade): boolean {
  return state === 'Migrated' && closed !== true;
}

/** Why nothing may run in a site, in stable words. */
function whyNotUsable(site: AppSite): string | undefined {
  if (isPaused(site)) return 'is paused';
  const { upgrade } = site.status ?? {};
  // A site that waits for its turn is open, and runs the previous image.
  if (upgrade && (upgrade.state !== 'Waiting' || upgrade.closed === true)) {
    return `is being upgraded to ${upgrade.to}`;
  }
  return isReady(site) ? undefined : 'is not Ready';
}

/** The status of an older generation says nothing about this one. */
function isReady({ metadata, status }: AppSite): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const observed = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return ready?.status === 'True' && observed;
}

/** What a site, and each Job in it, depends on of its bench. */
export interface BenchOffer {
  readonly bench: AppBench;
  readonly ready: boolean;
  /** Whether it is being deleted, and kept for its sites only. */
  readonly deleting: boolean;
  readonly image: string | undefined;
}

export function benchOffer(bench: AppBench): BenchOffer {
  const { metadata, status } = bench;
  return {
    bench: bareBench(bench),
    // A status that speaks of an older spec says nothing about this one.
    ready: status?.ready === true && (status.observedGeneration ?? 0) >= (metadata.generation ?? 0),
    deleting: metadata.deletionTimestamp !== undefined,
    image: status?.image,
  };
}

/** The bench without metadata that the operator writes, and with what its status records of pods, as a pick. */
export function bareBench(bench: AppBench): AppBench {
  const { apiVersion, kind, metadata, status } = bench;
  const { name, namespace } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: withoutIgnoredApps(bench),
    status: defined({
      ids: status?.ids,
      assets: status?.assets,
      imageDigest: status?.imageDigest,
      siteConfig: restartOnly(status?.siteConfig),
    }),
  };
}

/** What processes of the bench's sites depend on: the rest changes with each comparison. */
function restartOnly(status: SiteConfigStatus | undefined): SiteConfigStatus | undefined {
  if (status?.restart === undefined) return undefined;
  const { restart } = status;
  return { hash: '', outcome: 'Applied', keys: [], lastSyncTime: '', init: '', restart };
}

/** The pod templates of a site. */
export interface SiteTemplates {
  readonly podTemplate?: PodTemplate | undefined;
  readonly componentPodTemplates?: RawTemplates | undefined;
}

/** @throws Stalled where a pod template of the site is invalid */
function siteBench(bench: BenchModel, site: SiteTemplates & { readonly name: string }): BenchModel {
  const { name: benchName, metadataKeys } = bench;
  const problems = [
    ...siteTemplateProblems(site, { benchName, metadataKeys }),
    ...overBenchProblems(site.componentPodTemplates, bench.componentPodTemplates),
  ];
  refuse(invalidOther(`AppSite "${site.name}"`, problems));
  return withTemplates(bench, site);
}

/** What is wrong with the pod templates of a site. */
export function siteTemplateProblems(
  { componentPodTemplates }: SiteTemplates,
  { benchName, metadataKeys }: { readonly benchName: string; readonly metadataKeys: MetadataKeys },
): readonly Problem[] {
  return templateProblems(componentPodTemplates, {
    group: metadataKeys.group,
    ofSite: true,
    secrets: [benchNames(benchName).redisSecret],
  });
}

/** The bench's pod templates, with the site's own on top. */
export function withTemplates(bench: BenchModel, site: SiteTemplates): BenchModel {
  if (!site.podTemplate && !site.componentPodTemplates) return bench;
  return { ...bench, ...withTemplatesOf(bench, site) };
}
