import { byDocument, documentKind } from '../../batches/documents/kind.js';
import type { SiteDashboardChart } from '../../api/dashboard-chart.js';
import { siteDashboardChart } from './definition.js';
import { chartDocument, DOCTYPE } from './document.js';

const nameOf = ({ spec }: Pick<SiteDashboardChart, 'spec'>): string => spec.chartName;

/** A chart for the dashboards and workspaces of a site. */
export const dashboardChart = documentKind<SiteDashboardChart>({
  definition: siteDashboardChart,
  doctype: DOCTYPE,
  path: 'spec.chartName',
  index: byDocument(siteDashboardChart, nameOf),
  nameOf,
  documentOf: chartDocument,
});
