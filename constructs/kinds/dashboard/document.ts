import type { SiteDocument } from '../../kit/document.js';
import { chartOf, type ChartNames, chartNeeds } from '../../batches/documents/charts.js';
import type { SiteDashboard } from '../../api/dashboard.js';

export const DOCTYPE = 'Dashboard';

/** The Dashboard of a spec. Fields without a value are empty. */
export function dashboardDocument(
  { spec }: Pick<SiteDashboard, 'spec'>,
  charts: ChartNames,
): SiteDocument {
  return {
    doctype: DOCTYPE,
    name: spec.dashboardName,
    state: 'present',
    fields: {
      dashboard_name: spec.dashboardName,
      is_default: spec.isDefault,
      module: spec.module ?? '',
      ...(spec.chartOptions ? {} : { chart_options: '' }),
    },
    json: spec.chartOptions ? { chart_options: spec.chartOptions } : {},
    tables: {
      charts: spec.charts.map(({ chart, width }) => ({ chart: chartOf(chart, charts), width })),
      cards: (spec.cards ?? []).map((card) => ({ card })),
    },
    secrets: {},
    needs: chartNeeds(charts),
  };
}
