import type { SiteDocument } from '../kit/document.js';
import type { ChartRef } from '../kit/site-api.js';

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
