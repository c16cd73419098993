import { LONGEST_HOST, publicDomain } from '../../frappe/domain.js';
import { hostKey, sitesByHost } from '../../frappe/indexes.js';
import { hostClaimerOf, isAhead } from '../../frappe/host-claims.js';
import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import type { AppSite, AppSiteSpec } from '../../api/site.js';

type Named = Pick<AppSiteSpec, 'siteName' | 'domain' | 'aliases'>;

/** A host name, and the field that it comes from. */
interface NamedHost {
  readonly path: string;
  readonly host: string;
}

/** A site's name may become too long with the bench's suffix, of which its schema knows nothing. */
export function longHost({ spec }: AppSite, suffix: string | undefined): readonly Problem[] {
  const { length } = publicDomain(spec, suffix);
  if (length <= LONGEST_HOST) return [];
  const message = `Too long: with the suffix of bench ${spec.benchRef.name} the host name has ${length} characters, and may have at most ${LONGEST_HOST}: choose a shorter name, or give spec.domain`;
  return [{ path: 'spec.siteName', message }];
}

/**
 * The host names that another site of the bench has: two sites of one host name would answer each
 * other's requests.
 */
export function takenHosts(
  site: AppSite,
  suffix: string | undefined,
  reader: ClusterReader,
): readonly Problem[] {
  const { benchRef } = site.spec;
  return hostsOf(site.spec, suffix).flatMap(({ path, host }) => {
    const owner = ownerOf(site, host, suffix, reader);
    if (owner === undefined) return [];
    const message = `Invalid value: "${host}": AppSite ${owner} on bench ${benchRef.name} has this host name already`;
    return [{ path, message }];
  });
}

/** The name of another site that has a host name; undefined where none is ahead of the site. */
function ownerOf(
  site: AppSite,
  host: string,
  suffix: string | undefined,
  reader: ClusterReader,
): string | undefined {
  const { namespace, name } = site.metadata;
  const claimer = hostClaimerOf(site);
  // A site without a domain gets this host from its name and the bench's suffix.
  const tail = `.${suffix ?? ''}`;
  const stem = suffix !== undefined && host.endsWith(tail) ? [host.slice(0, -tail.length)] : [];
  return [host, ...stem]
    .map((key) => hostKey(namespace, site.spec.benchRef.name, key))
    .flatMap((key) => reader.list(sitesByHost, key, conflictOf))
    .find(
      (other) =>
        other.name !== name &&
        isAhead(host, other, claimer) &&
        hostsOf(other, suffix).some((taken) => taken.host === host),
    )?.name;
}

function conflictOf(site: AppSite) {
  const { siteName, domain, aliases } = site.spec;
  return {
    ...hostClaimerOf(site),
    siteName,
    ...(domain === undefined ? {} : { domain }),
    ...(aliases === undefined ? {} : { aliases }),
  };
}

/** The host names that a site answers to, and where each comes from. */
function hostsOf(spec: Named, suffix: string | undefined): readonly NamedHost[] {
  const own = { path: 'spec.siteName', host: spec.siteName };
  return firstOfEach([own, ...publicHostsOf(spec, suffix)]);
}

/** The host names that visitors use: `siteName` is none of them where there is a domain. */
export function publicHostsOf(spec: Named, suffix: string | undefined): readonly NamedHost[] {
  const domain = publicDomain(spec, suffix);
  return firstOfEach([
    { path: spec.domain ? 'spec.domain' : 'spec.siteName', host: domain },
    ...(spec.aliases ?? []).map((host, index) => ({ path: `spec.aliases[${index}]`, host })),
  ]);
}

function firstOfEach(all: readonly NamedHost[]): readonly NamedHost[] {
  return all.filter(({ host }, index) => all.findIndex((other) => other.host === host) === index);
}
