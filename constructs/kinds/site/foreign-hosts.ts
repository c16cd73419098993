import type { AppBench } from '../../api/bench.js';
import { publicHosts } from '../../frappe/domain.js';
import {
  hostInStatus,
  ingressesByHost,
  sitesByPublicHost,
  type IngressLike,
} from '../../frappe/indexes.js';
import { isOlder, nameOwnerOf, type NameOwner } from '../../frappe/oldest-wins.js';
import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { HOST_GRANT, metadataKeysOf } from '../../kit/metadata-keys.js';
import type { KubeObject } from '../../kit/object.js';
import type { AppSite } from '../../api/site.js';
import { hostsOf } from './taken-hosts.js';

/** A site or an Ingress that serves a host name. */
interface HostOwner extends NameOwner {
  readonly namespace: string;
  /** The value of the annotation that grants the host name to sites of other namespaces. */
  readonly grants: string | undefined;
}

/** An Ingress, and the site that it was made for. */
interface IngressOwner extends HostOwner {
  readonly site: string | undefined;
}

interface SiteOwner extends HostOwner {
  /** The host name of its status, which a site has got before its Ingress exists. */
  readonly accepted: string | undefined;
  readonly bench: string;
  readonly siteName: string;
  readonly domain: string | undefined;
  readonly aliases: readonly string[];
}

/** As `foreignHosts`, of a site with an Ingress: without one it takes no visitors. */
export function takenElsewhere(
  site: AppSite,
  suffix: string | undefined,
  reader: ClusterReader,
): readonly Problem[] {
  return site.spec.ingress?.enabled ? foreignHosts(site, suffix, reader) : [];
}

/**
 * The public host names of a site that another namespace has, and does not share: an Ingress with one
 * of them would take its visitors. The one that serves the host name keeps it, then the one whose
 * status has it; of two alike, the older one.
 */
export function foreignHosts(
  site: AppSite,
  suffix: string | undefined,
  reader: ClusterReader,
): readonly Problem[] {
  const { namespace = 'default' } = site.metadata;
  const served = publicHosts(site.spec, suffix);
  return hostsOf(site.spec, suffix)
    .filter(({ host }) => served.includes(host) && isTaken(site, host, reader))
    .map(({ path, host }) => ({
      path,
      message: `Invalid value: "${host}": another namespace has this host name; choose another one, or ask its owner to annotate its AppSite or Ingress with ${metadataKeysOf(site).allowHostFrom}=${namespace}`,
    }));
}

function isTaken(site: AppSite, host: string, reader: ClusterReader): boolean {
  const { namespace = 'default' } = site.metadata;
  const ingresses = reader.list(ingressesByHost, host, ingressOwnerOf);
  const sites = reader
    .list(sitesByPublicHost, host, siteOwnerOf)
    .filter((other) => other.namespace !== namespace && isPublic(other, host, reader));
  const mine = siteOwnerOf(site);
  const rankOf = (owner: SiteOwner | IngressOwner): number => {
    if (ingresses.some((ingress) => isOf(ingress, owner) || ingress === owner)) return 2;
    return 'accepted' in owner && owner.accepted === host ? 1 : 0;
  };
  // An Ingress that was made for a site is the site's, whose age and grants count.
  const others = ingresses.filter(
    (ingress) => ingress.namespace !== namespace && !sites.some((other) => isOf(ingress, other)),
  );
  return [...sites, ...others].some((other) => {
    if (isGranted(other, namespace)) return false;
    const ahead = rankOf(other) - rankOf(mine);
    return ahead === 0 ? isOlder(other, mine) : ahead > 0;
  });
}

function isOf(ingress: IngressOwner, site: Pick<HostOwner, 'namespace' | 'name'>): boolean {
  return ingress.site === site.name && ingress.namespace === site.namespace;
}

/** Whether a site has a host name in public: a bench's suffix changes the one of its `siteName`. */
function isPublic(site: SiteOwner, host: string, reader: ClusterReader): boolean {
  const { siteName, domain, aliases } = site;
  const suffix = reader.get('AppBench', site.namespace, site.bench, suffixOf);
  return publicHosts(
    { siteName, aliases, ...(domain === undefined ? {} : { domain }) },
    suffix,
  ).includes(host);
}

function suffixOf({ spec }: AppBench): string | undefined {
  return spec.domainConfig?.suffix;
}

function isGranted({ grants = '' }: HostOwner, namespace: string): boolean {
  return grants.split(',').some((name) => name.trim() === namespace);
}

function hostOwnerOf(object: KubeObject, grants: string | undefined): HostOwner {
  return { ...nameOwnerOf(object), namespace: object.metadata.namespace ?? 'default', grants };
}

function siteOwnerOf(site: AppSite): SiteOwner {
  const { benchRef, siteName, domain, aliases = [], ingress } = site.spec;
  const grants = site.metadata.annotations?.[metadataKeysOf(site).allowHostFrom];
  // Without an Ingress nothing was refused.
  const accepted = ingress?.enabled ? hostInStatus(site) : undefined;
  const owner = { ...hostOwnerOf(site, grants), accepted };
  return { ...owner, bench: benchRef.name, siteName, domain, aliases };
}

/** An Ingress does not name the API group of our kinds, which is the annotation's prefix. */
function ingressOwnerOf(ingress: IngressLike): IngressOwner {
  const { annotations = {}, ownerReferences = [] } = ingress.metadata;
  const grants = Object.entries(annotations)
    .filter(([key]) => key.endsWith(HOST_GRANT))
    .map(([, namespaces]) => namespaces)
    .join(',');
  const owner = ownerReferences.find(({ kind, controller }) => controller && kind === 'AppSite');
  return { ...hostOwnerOf(ingress, grants), site: owner?.name };
}
