import { chartOf, type ChartNames, chartNeeds } from '../../batches/documents/charts.js';
import { storedFilters } from '../../batches/documents/desk-filters.js';
import { defined } from '../../kit/json/defined.js';
import type { FieldValue, SiteDocument } from '../../kit/document.js';
import type { DocumentFilter } from '../../api/site-scoped.js';
import type { SiteWorkspace, SiteWorkspaceSpec, WorkspaceCard } from '../../api/workspace.js';
import { contentOf } from './content.js';

export const DOCTYPE = 'Workspace';

type Row = Readonly<Record<string, FieldValue>>;

/** Name of the workspace in the site: a private one has its user in it. */
export function workspaceName({ title, forUser }: SiteWorkspaceSpec): string {
  return forUser === undefined ? title : `${title}-${forUser}`;
}

/**
 * The Workspace of a spec. Fields without a value are empty, except module, application and
 * position.
 */
export function workspaceDocument(
  { spec }: Pick<SiteWorkspace, 'spec'>,
  charts: ChartNames,
): SiteDocument {
  const name = workspaceName(spec);
  return {
    doctype: DOCTYPE,
    name,
    state: 'present',
    fields: fieldsOf(spec),
    json: { content: contentOf(spec) },
    tables: {
      shortcuts: shortcuts(spec),
      links: (spec.cards ?? []).flatMap(cardRows),
      charts: (spec.charts ?? []).map(({ label, chart }) => ({
        chart_name: chartOf(chart, charts),
        label,
      })),
      number_cards: (spec.numberCards ?? []).map(({ label, document }) => ({
        number_card_name: document,
        label,
      })),
      quick_lists: (spec.quickLists ?? []).map(({ label, documentType, filters }) => ({
        document_type: documentType,
        label,
        quick_list_filter: JSON.stringify(storedFilters(filters, documentType)),
      })),
      custom_blocks: (spec.customBlocks ?? []).map(({ label, document }) => ({
        custom_block_name: document,
        label,
      })),
      roles: (spec.roles ?? []).map((role) => ({ role })),
    },
    secrets: {},
    needs: [
      ...chartNeeds(charts),
      ...(spec.parentPage === undefined ? [] : [{ doctype: DOCTYPE, name: spec.parentPage }]),
    ],
  };
}

function fieldsOf(spec: SiteWorkspaceSpec): Readonly<Record<string, FieldValue>> {
  const { module, app, sequenceId: sequence_id } = spec;
  return {
    label: workspaceName(spec),
    title: spec.title,
    public: spec.forUser === undefined,
    for_user: spec.forUser ?? '',
    type: spec.type,
    ...target(spec),
    icon: spec.icon ?? '',
    indicator_color: spec.indicatorColor ?? '',
    parent_page: spec.parentPage ?? '',
    is_hidden: spec.hidden,
    // The framework and the desk write these too: an application's own workspace has its module,
    // the framework sets the application, and users move workspaces. Without a value they stay.
    ...defined({ module, app, sequence_id }),
  };
}

/** The target of a link: given fields only, since version-15 does not have them. */
function target({ linkType, linkTo, externalLink }: SiteWorkspaceSpec): Row {
  return {
    ...(linkType === undefined ? {} : { link_type: linkType }),
    ...(linkTo === undefined ? {} : { link_to: linkTo }),
    ...(externalLink === undefined ? {} : { external_link: externalLink }),
  };
}

function shortcuts({ shortcuts = [] }: SiteWorkspaceSpec): readonly Row[] {
  return shortcuts.map(({ type, label, linkTo, url, docView, color, format, filters }) => ({
    type,
    label,
    link_to: linkTo ?? '',
    url: url ?? '',
    doc_view: docView ?? '',
    color: color ?? '',
    format: format ?? '',
    stats_filter: counted(filters, linkTo ?? ''),
  }));
}

/** Without filters nothing is counted; with an empty list everything is. */
function counted(filters: readonly DocumentFilter[] | undefined, documentType: string): string {
  return filters ? JSON.stringify(storedFilters(filters, documentType)) : '';
}

/** A card is a row, followed by the rows of its links; it holds their number. */
function cardRows({ label, hidden, links = [] }: WorkspaceCard): readonly Row[] {
  return [
    { type: 'Card Break', label, hidden, link_count: links.length },
    ...links.map((link) => ({
      type: 'Link',
      label: link.label,
      link_type: link.type,
      link_to: link.linkTo,
      is_query_report: link.queryReport,
      onboard: link.onboard,
      hidden: link.hidden,
      link_count: 0,
    })),
  ];
}
