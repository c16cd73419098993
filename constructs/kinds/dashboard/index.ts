import { resolveCharts } from '../../batches/documents/charts.js';
import { CHART_REASONS } from '../../batches/documents/reasons.js';
import { byDocument, documentKind } from '../../batches/documents/kind.js';
import type { SiteDashboard } from '../../api/dashboard.js';
import { defaultDashboards, secondDefault } from './second-default.js';
import { siteDashboard } from './definition.js';
import { dashboardDocument, DOCTYPE } from './document.js';

const nameOf = ({ spec }: Pick<SiteDashboard, 'spec'>): string => spec.dashboardName;

/** A dashboard of a site. */
export const dashboard = documentKind<SiteDashboard>({
  definition: siteDashboard,
  doctype: DOCTYPE,
  path: 'spec.dashboardName',
  index: byDocument(siteDashboard, nameOf),
  nameOf,
  refusals: secondDefault,
  documentOf(resource, reader) {
    const refs = resource.spec.charts.map(({ chart }) => chart);
    return dashboardDocument(resource, resolveCharts(resource, refs, reader));
  },
  indexes: [defaultDashboards],
  waitingFields: ['missing'],
  reasons: { ...CHART_REASONS, DefaultTaken: 'conflict' },
});
