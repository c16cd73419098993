import type { AppSite } from '../../api/site.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import type { SiteAccess } from './access.js';

/** The keys of site_config.json that the spec decides; null takes a key away. */
export function siteConfig(
  site: AppSite,
  { bench, access }: { readonly bench: BenchModel; readonly access: SiteAccess },
): Readonly<Record<string, unknown>> {
  const { domain } = access;
  const protocol = access.protocol ?? (access.encrypted ? 'https' : 'http');
  return {
    bench_id: queuePrefix(site, bench) ?? null,
    // The framework's own guess is http and the site's name.
    host_name:
      protocol === 'http' && domain === site.spec.siteName ? null : `${protocol}://${domain}`,
    maintenance_mode: site.spec.maintenance ? 1 : 0,
  };
}

/** Prefix of a Dedicated site's own queues; undefined for a Shared one, which uses the bench's. */
export function queuePrefix(site: AppSite, bench: BenchModel): string | undefined {
  return site.spec.workloads === 'Dedicated'
    ? `${bench.queuePrefix}.${site.metadata.name}`
    : undefined;
}
