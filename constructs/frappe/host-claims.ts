import type { AppSite } from '../api/site.js';
import { isOlder, nameOwnerOf, type NameOwner } from './oldest-wins.js';

/** A site that claims host names on its bench. */
export interface HostClaimer extends NameOwner {
  /** The host names that the operator has accepted for it: only the operator writes the status. */
  readonly accepted: readonly string[];
}

export function hostClaimerOf(site: AppSite): HostClaimer {
  const { spec, status } = site;
  const domain = URL.parse(status?.siteURL ?? '')?.hostname;
  const accepted = domain === undefined ? [] : [spec.siteName, domain, ...(status?.hosts ?? [])];
  return { ...nameOwnerOf(site), accepted: [...new Set(accepted)] };
}

/**
 * Whether one of two sites of a bench that claim a host name has it. The older one does, but what it
 * adds later takes nothing from a site that runs.
 */
export function isAhead(host: string, one: HostClaimer, other: HostClaimer): boolean {
  const [first, second] = [one, other].map(({ accepted }) => accepted.includes(host));
  return first === second ? isOlder(one, other) : first === true;
}
