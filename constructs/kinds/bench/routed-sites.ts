import type { AppSite } from '../../api/site.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { LONGEST_HOST, publicHosts } from '../../frappe/domain.js';
import { sitesOfBench } from '../../frappe/indexes.js';
import { hostClaimerOf, isAhead, type HostClaimer } from '../../frappe/host-claims.js';
import type { NameOwner } from '../../frappe/oldest-wins.js';
import { GUNICORN_PORT } from '../../kit/constants.generated.js';
import type { ClusterReader } from '../../kit/kind.js';
import { serviceHost, siteNames } from '../../kit/names.js';
import { keyOf } from '../../kit/object.js';
import type { NginxSite } from './nginx-input.js';

/** The sites of a bench. */
export interface BenchSites {
  /** Number of all sites, refused ones included. */
  readonly count: number;
  /** The sites that requests are routed to. */
  readonly routed: readonly SiteEntry[];
}

/** A site, as far as requests are routed to it. */
export interface SiteEntry extends NameOwner {
  readonly siteName: string;
  /** The public host names. */
  readonly hosts: readonly string[];
  readonly dedicated: boolean;
  /** Protocol of the public address, where the spec says it. */
  readonly protocol?: 'http' | 'https';
}

export function resolveSites(model: BenchModel, reader: ClusterReader): BenchSites {
  const entries = reader.list(sitesOfBench, keyOf(model.namespace, model.name), siteEntry);
  return { count: entries.length, routed: oneOfEachHost(entries, model.domain.suffix) };
}

/** A site as its spec has it: its hosts depend on the bench's suffix. */
interface WantedEntry extends Omit<SiteEntry, 'hosts'>, HostClaimer {
  readonly domain?: string;
  readonly aliases?: readonly string[];
}

function siteEntry(site: AppSite): WantedEntry {
  const { siteName, domain, aliases, workloads, publicProtocol } = site.spec;
  return {
    ...hostClaimerOf(site),
    siteName,
    ...(domain ? { domain } : {}),
    ...(aliases ? { aliases } : {}),
    dedicated: workloads === 'Dedicated',
    ...(publicProtocol ? { protocol: publicProtocol } : {}),
  };
}

/** A host name of two sites is routed to one of them. The status of the other names the conflict. */
function oneOfEachHost(
  entries: readonly WantedEntry[],
  suffix: string | undefined,
): readonly SiteEntry[] {
  const wanted = entries.map((entry) => ({ entry, hosts: publicHosts(entry, suffix) }));
  const owners = new Map<string, WantedEntry>();
  for (const { entry, hosts } of wanted) {
    for (const host of [entry.siteName, ...hosts]) {
      const owner = owners.get(host);
      if (!owner || isAhead(host, entry, owner)) owners.set(host, entry);
    }
  }
  return wanted
    .filter(({ entry }) => owners.get(entry.siteName) === entry)
    .map(({ entry, hosts }) => {
      const isOwn = (host: string) => host.length <= LONGEST_HOST && owners.get(host) === entry;
      return { ...entry, hosts: hosts.filter(isOwn) };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The bench's sites as its proxy routes them. */
export function nginxSites({
  model,
  sites,
}: {
  readonly model: BenchModel;
  readonly sites: BenchSites;
}): readonly NginxSite[] {
  return sites.routed.map((site) => ({
    siteName: site.siteName,
    domains: site.hosts.filter((host) => host !== site.siteName),
    ...(site.protocol ? { protocol: site.protocol } : {}),
    ...(site.dedicated ? { backend: backend(siteNames(site.name).gunicorn, model) } : {}),
  }));
}

/** Address of a web Service, for nginx. */
export function backend(service: string, model: BenchModel, port = GUNICORN_PORT): string {
  return `${serviceHost(service, model.namespace, model.clusterDomain)}:${port}`;
}
