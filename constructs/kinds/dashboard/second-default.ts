import { nameOwnerOf, isOlder } from '../../frappe/oldest-wins.js';
import type { Refusal } from '../../kit/errors.js';
import type { Index, ClusterReader } from '../../kit/kind.js';
import { keyOf } from '../../kit/object.js';
import type { SiteDashboard } from '../../api/dashboard.js';

/** The dashboards of a site that want to be its default, by the site's `<namespace>/<name>`. */
export const defaultDashboards: Index<SiteDashboard> = {
  name: 'defaultDashboards',
  kind: 'SiteDashboard',
  values: ({ metadata, spec }) =>
    spec.isDefault ? [keyOf(metadata.namespace, spec.siteRef.name)] : [],
};

/**
 * The framework keeps one default dashboard: two would take it from each other with each comparison.
 * The younger is refused.
 */
export function secondDefault(resource: SiteDashboard, reader: ClusterReader): readonly Refusal[] {
  const mine = nameOwnerOf(resource);
  const conflicting = defaultDashboards
    .values(resource)
    .flatMap((site) => reader.list(defaultDashboards, site, nameOwnerOf))
    .find((claim) => claim.name !== mine.name && isOlder(claim, mine));
  if (!conflicting) return [];
  const message = `spec.isDefault: Invalid value: true: SiteDashboard ${conflicting.name} is the default of site ${resource.spec.siteRef.name} already`;
  return [{ reason: 'DefaultTaken', message }];
}
