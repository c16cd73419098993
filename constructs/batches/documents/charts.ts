import type { SiteDashboardChart } from '../../api/dashboard-chart.js';
import type { SiteDocument } from '../../kit/document.js';
import { Waiting } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import type { ChartRef } from '../../api/site-scoped.js';
import type { DocumentResource } from './sync.js';

/** The Dashboard Charts that SiteDashboardCharts stand for, by the name of the object. */
export type ChartNames = Readonly<Record<string, string>>;

/** Name of the Dashboard Chart that a reference means. */
export function chartOf(ref: ChartRef, charts: ChartNames): string {
  return ref.document ?? charts[ref.name ?? ''] ?? '';
}

/** The charts of ours that must be in the site first. */
export function chartNeeds(charts: ChartNames): SiteDocument['needs'] {
  return [...new Set(Object.values(charts))]
    .sort()
    .map((name) => ({ doctype: 'Dashboard Chart', name }));
}

/**
 * Finds the SiteDashboardCharts that `spec.charts` refers to.
 * @throws Waiting, with all that it waits for in `status.missing`, where one does not exist, is
 * another site's, or is not in the site yet
 */
export function resolveCharts(
  { metadata, spec }: DocumentResource,
  refs: readonly ChartRef[],
  reader: ClusterReader,
): ChartNames {
  const { namespace = 'default' } = metadata;
  const found = refs.flatMap(({ name }, at) => {
    if (name === undefined) return [];
    const offer = reader.get('SiteDashboardChart', namespace, name, chartOffer);
    return [{ name, offer, trouble: troubleOf(offer, spec.siteRef.name), at }];
  });
  const waited = found.filter(({ trouble }) => trouble !== undefined);
  // A problem that a user must solve is reported before one that time solves.
  const [first] = waited.toSorted((a, b) => rank(a.trouble) - rank(b.trouble));
  if (first?.trouble) {
    const { reason, message } = first.trouble;
    const names = (among: typeof waited) => [...new Set(among.map(({ name }) => name))].sort();
    const same = names(waited.filter(({ trouble }) => trouble?.reason === reason));
    const others = same.length > 1 ? ` (and ${same.length - 1} more)` : '';
    throw new Waiting(
      reason,
      `spec.charts[${first.at}].chart.name: ${message(first.name, namespace)}${others}`,
      { fields: { missing: names(waited) } },
    );
  }
  return Object.fromEntries(found.map(({ name, offer }) => [name, offer?.chartName ?? '']));
}

interface Trouble {
  readonly reason: 'ChartMissing' | 'WaitingForChart';
  readonly message: (name: string, namespace: string) => string;
}

function troubleOf(offer: ChartOffer | undefined, site: string): Trouble | undefined {
  if (!offer) {
    return missing(
      (name, namespace) => `there is no SiteDashboardChart "${name}" in namespace ${namespace}`,
    );
  }
  if (offer.site !== site) {
    return missing((name) => `SiteDashboardChart "${name}" is of site ${offer.site}, not ${site}`);
  }
  if (offer.deleting) return missing((name) => `SiteDashboardChart "${name}" is being deleted`);
  if (offer.written) return undefined;
  return {
    reason: 'WaitingForChart',
    message: (name) => `SiteDashboardChart "${name}" is not in the site yet`,
  };
}

function missing(message: Trouble['message']): Trouble {
  return { reason: 'ChartMissing', message };
}

function rank(trouble: Trouble | undefined): number {
  return trouble?.reason === 'ChartMissing' ? 0 : 1;
}

interface ChartOffer {
  readonly site: string;
  readonly chartName: string;
  readonly deleting: boolean;
  readonly written: boolean;
}

/** What dashboards and workspaces depend on of a chart. */
function chartOffer({ metadata, spec, status }: SiteDashboardChart): ChartOffer {
  return {
    site: spec.siteRef.name,
    chartName: spec.chartName,
    deleting: metadata.deletionTimestamp !== undefined,
    // One that is being changed, or compared, is in the site all the while.
    written: status?.outcome !== undefined && status.outcome !== 'Failed',
  };
}
