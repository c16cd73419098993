import { resolveCharts } from '../../batches/documents/charts.js';
import { CHART_REASONS } from '../../batches/documents/reasons.js';
import { byDocument, documentKind } from '../../batches/documents/kind.js';
import type { SiteWorkspace } from '../../api/workspace.js';
import { siteWorkspace } from './definition.js';
import { DOCTYPE, workspaceDocument, workspaceName } from './document.js';
import { parentOf } from './parent.js';

const nameOf = ({ spec }: Pick<SiteWorkspace, 'spec'>): string => workspaceName(spec);
const index = byDocument(siteWorkspace, nameOf);

/** A workspace of a site's desk. */
export const workspace = documentKind<SiteWorkspace>({
  definition: siteWorkspace,
  doctype: DOCTYPE,
  path: 'spec.title',
  index,
  nameOf,
  documentOf(resource, reader) {
    const refs = (resource.spec.charts ?? []).map(({ chart }) => chart);
    return workspaceDocument(resource, resolveCharts(resource, refs, reader));
  },
  dependsOn: (resource, reader) => parentOf(resource, index, reader),
  // Where there are no types, every workspace is of type Workspace.
  reportsIgnored: (field, { spec }) => field !== 'type' || spec.type !== 'Workspace',
  waitingFields: ['missing'],
  reasons: { ...CHART_REASONS, WaitingForParent: 'waiting' },
});
