import { minimal, type Manifest } from './schema-manifests.js';
import type { Refused } from './schema-refused.js';

const workspace = (changes: object): Manifest => minimal('SiteWorkspace', changes);
const dashboard = (changes: object): Manifest => minimal('SiteDashboard', changes);
const chart = (changes: object): Manifest => minimal('SiteDashboardChart', changes);

/** Charts, dashboards and workspaces that admission refuses. */
export const REFUSED_DESK: readonly Refused[] = [
  ['no site', chart({ siteRef: undefined }), 'spec.siteRef'],
  ['no name', chart({ chartName: undefined }), 'spec.chartName'],
  ['a name with markup', chart({ chartName: 'Orders <b>' }), 'spec.chartName'],
  ['a name with a space before it', chart({ chartName: ' Orders' }), 'spec.chartName'],
  ['groups in a count', chart({ numberOfGroups: 3 }), 'spec'],
  [
    'a report without a name',
    chart({
      documentType: undefined,
      basedOn: undefined,
      chartType: 'Report',
      useReportChart: true,
    }),
    'spec',
  ],
  [
    'a report without columns',
    chart({ documentType: undefined, basedOn: undefined, chartType: 'Report', reportName: 'R' }),
    'spec',
  ],
  ['a report in a count', chart({ reportName: 'R' }), 'spec'],
  ['a year without a heat map', chart({ heatmapYear: 2025 }), 'spec'],
  [
    'a span of groups',
    chart({
      basedOn: undefined,
      chartType: 'Group By',
      groupByBasedOn: 'a',
      timespan: 'Last Week',
    }),
    'spec',
  ],
  ['a filter without a value', chart({ filters: [{ field: 'a' }] }), 'spec.filters[0]'],
  [
    'a filter that is neither set nor not set',
    chart({ filters: [{ field: 'a', operator: 'is', value: 'empty' }] }),
    'spec.filters[0]',
  ],
  ['a colour that is neither a name nor a code', chart({ color: '#12' }), 'spec.color'],
  ['a role twice', chart({ roles: ['A', 'A'] }), 'spec.roles[1]'],
  ['options that are text', chart({ customOptions: '{}' }), 'spec.customOptions'],
  ['no site', dashboard({ siteRef: undefined }), 'spec.siteRef'],
  [
    'a name of a site with a slash',
    dashboard({ siteRef: { name: 'ns/shop' } }),
    'spec.siteRef.name',
  ],
  ['no name', dashboard({ dashboardName: undefined }), 'spec.dashboardName'],
  ['an empty name', dashboard({ dashboardName: '' }), 'spec.dashboardName'],
  ['a name of two lines', dashboard({ dashboardName: 'Sales\nfigures' }), 'spec.dashboardName'],
  ['a name that is too long', dashboard({ dashboardName: 'x'.repeat(141) }), 'spec.dashboardName'],
  [
    'a chart by the name of its document',
    dashboard({ charts: [{ chart: { name: 'Orders per Month' } }] }),
    'spec.charts[0].chart.name',
  ],
  ['a chart that is text', dashboard({ charts: ['orders'] }), 'spec.charts[0]'],
  ['a card twice', dashboard({ cards: ['Open', 'Open'] }), 'spec.cards[1]'],
  ['a default that is text', dashboard({ isDefault: 'yes' }), 'spec.isDefault'],
  ['an unknown policy', dashboard({ deletionPolicy: 'Disable' }), 'spec.deletionPolicy'],
  ['an interval without a unit', dashboard({ resyncInterval: '60' }), 'spec.resyncInterval'],
  ['no site', workspace({ siteRef: undefined }), 'spec.siteRef'],
  ['no title', workspace({ title: undefined }), 'spec.title'],
  ['a title with markup', workspace({ title: '<b>Sales</b>' }), 'spec.title'],
  ['a user in capitals', workspace({ forUser: 'Ada@example.org' }), 'spec.forUser'],
  [
    'an address without a scheme',
    workspace({ type: 'URL', externalLink: 'example.org' }),
    'spec.externalLink',
  ],
  ['an icon with a path', workspace({ icon: '../x' }), 'spec.icon'],
  ['a place below none', workspace({ sequenceId: -1 }), 'spec.sequenceId'],
  ['an unknown block', workspace({ blocks: [{ type: 'table' }] }), 'spec.blocks[0].type'],
  [
    'a block of a card that there is not',
    workspace({ blocks: [{ type: 'card', label: 'X' }], cards: [{ label: 'Y' }] }),
    'spec',
  ],
  [
    'a block of a chart that there is not',
    workspace({ blocks: [{ type: 'chart', label: 'X' }] }),
    'spec',
  ],
  [
    'a link without a target',
    workspace({ cards: [{ label: 'X', links: [{ label: 'Users' }] }] }),
    'spec.cards[0].links[0].linkTo',
  ],
  [
    'a link to a script',
    workspace({ cards: [{ label: 'X', links: [{ label: 'A', type: 'URL', linkTo: 'B' }] }] }),
    'spec.cards[0].links[0].type',
  ],
  [
    'a chart by its name alone',
    workspace({ charts: [{ label: 'X', chart: 'a' }] }),
    'spec.charts[0].chart',
  ],
  [
    'a number card without its document',
    workspace({ numberCards: [{ label: 'X' }] }),
    'spec.numberCards[0].document',
  ],
  [
    'a list between one value',
    workspace({
      quickLists: [
        {
          label: 'X',
          documentType: 'ToDo',
          filters: [{ field: 'a', operator: 'between', values: ['1'] }],
        },
      ],
    }),
    'spec.quickLists[0].filters[0]',
  ],
  ['a role with markup', workspace({ roles: ['<b>'] }), 'spec.roles[0]'],
];
