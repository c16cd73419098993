import type { AppBench } from '../../api/bench.js';
import { publicHosts } from '../../frappe/domain.js';
import {
  ingressesByHost,
  recordedHosts,
  sitesByPublicHost,
  type IngressLike,
} from '../../frappe/indexes.js';
import { isOlder, nameOwnerOf, type NameOwner } from '../../frappe/oldest-wins.js';
import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { HOST_GRANT, metadataKeysOf } from '../../kit/metadata-keys.js';
import { siteNames } from '../../kit/names.js';
import type { KubeObject } from '../../kit/object.js';
import type { AppSite } from '../../api/site.js';
import { publicHostsOf } from './taken-hosts.js';

/** A site or an Ingress that has a host name, or wants it. */
interface HostOwner extends NameOwner {
  readonly namespace: string;
  /** The value of the annotation that grants the host name to sites of other namespaces. */
  readonly grants: string | undefined;
}

/** An Ingress, and the site that its controller reference names. */
interface IngressOwner extends HostOwner {
  readonly siteUid: string | undefined;
}

interface SiteOwner extends HostOwner {
  readonly uid: string | undefined;
  /** The host names that the operator recorded for it. */
  readonly recorded: readonly string[];
  readonly bench: string;
  readonly siteName: string;
  readonly domain: string | undefined;
  readonly aliases: readonly string[];
}

/** How well a host name is claimed. */
interface Claim extends HostOwner {
  readonly rank: number;
}

/** Only the operator writes the status of a site: nothing else proves who has a host name. */
const RANK = { recorded: 2, served: 1, wanted: 0 } as const;

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
 * of them would take its visitors. The site that the operator recorded first keeps the name. Without a
 * record it is of the oldest Ingress, then of the oldest site.
 */
export function foreignHosts(
  site: AppSite,
  suffix: string | undefined,
  reader: ClusterReader,
): readonly Problem[] {
  const { namespace = 'default' } = site.metadata;
  return publicHostsOf(site.spec, suffix)
    .filter(({ host }) => ahead(site, host, reader).some((other) => !isGranted(other, namespace)))
    .map(({ path, host }) => ({
      path,
      message: `Invalid value: "${host}": another namespace has this host name; choose another one, or ask its owner to annotate its AppSite or Ingress with ${metadataKeysOf(site).allowHostFrom}=${namespace}`,
    }));
}

/**
 * The host names to record for a site that was not refused; undefined where it takes no visitors. One
 * that it may only share is not recorded: it would outlast the grant.
 */
export function ownHosts(
  site: AppSite,
  hosts: readonly string[],
  reader: ClusterReader,
): readonly string[] | undefined {
  if (!site.spec.ingress?.enabled) return undefined;
  return hosts.filter((host) => ahead(site, host, reader).length === 0);
}

/**
 * The record of a site that is not carried out: without the host names that it wants no more, as far as
 * its spec says. No other site gets a name until the operator has removed its record.
 */
export function keptRecord({ spec, status }: AppSite): { readonly hosts?: unknown } {
  if (!status?.hosts) return {};
  if (!spec.ingress?.enabled) return { hosts: undefined };
  const { siteName, domain, aliases = [] } = spec;
  const isFirst = (host: string) =>
    domain ? host === domain : host === siteName || host.startsWith(`${siteName}.`);
  return { hosts: status.hosts.filter((host) => isFirst(host) || aliases.includes(host)) };
}

/** Who of other namespaces has a host name before a site. */
function ahead(site: AppSite, host: string, reader: ClusterReader): readonly Claim[] {
  const { namespace = 'default' } = site.metadata;
  const ingresses = reader.list(ingressesByHost, host, ingressOwnerOf);
  const sites = reader
    .list(sitesByPublicHost, host, siteOwnerOf)
    .filter((other) => other.namespace !== namespace && wants(other, host, reader));
  const mine = claimOf(siteOwnerOf(site), host, ingresses);
  const others = ingresses.filter(
    (ingress) => ingress.namespace !== namespace && !sites.some((other) => isOf(ingress, other)),
  );
  return [
    ...sites.map((other) => claimOf(other, host, ingresses)),
    ...others.map((ingress) => ({ ...ingress, rank: RANK.served })),
  ].filter(({ rank, ...other }) => (rank === mine.rank ? isOlder(other, mine) : rank > mine.rank));
}

/** The claim of a site. Its Ingress is as old as it is itself, and not as the site. */
function claimOf(site: SiteOwner, host: string, ingresses: readonly IngressOwner[]): Claim {
  if (site.recorded.includes(host)) return { ...site, rank: RANK.recorded };
  const ingress = ingresses.find((one) => isOf(one, site));
  return ingress
    ? { ...site, created: ingress.created, rank: RANK.served }
    : { ...site, rank: RANK.wanted };
}

/** Whether an Ingress is the child of a site. */
function isOf(ingress: IngressOwner, { namespace, name, uid }: SiteOwner): boolean {
  return (
    ingress.namespace === namespace &&
    ingress.name === siteNames(name).ingress &&
    uid !== undefined &&
    ingress.siteUid === uid
  );
}

/** Whether a site has a host name in public: a bench's suffix changes the one of its `siteName`. */
function wants(site: SiteOwner, host: string, reader: ClusterReader): boolean {
  const { recorded, siteName, domain, aliases } = site;
  if (recorded.includes(host)) return true;
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
  const { benchRef, siteName, domain, aliases = [] } = site.spec;
  const grants = site.metadata.annotations?.[metadataKeysOf(site).allowHostFrom];
  const owner = { ...hostOwnerOf(site, grants), uid: site.metadata.uid };
  const recorded = recordedHosts(site);
  return { ...owner, recorded, bench: benchRef.name, siteName, domain, aliases };
}

/** An Ingress does not name the API group of our kinds, which is the annotation's prefix. */
function ingressOwnerOf(ingress: IngressLike): IngressOwner {
  const { annotations = {}, ownerReferences = [] } = ingress.metadata;
  const grants = Object.entries(annotations)
    .filter(([key]) => key.endsWith(HOST_GRANT))
    .map(([, namespaces]) => namespaces)
    .join(',');
  const owner = ownerReferences.find(({ kind, controller }) => controller && kind === 'AppSite');
  return { ...hostOwnerOf(ingress, grants), siteUid: owner?.uid };
}
