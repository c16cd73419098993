import { MINIMAL } from '../../unit/schema-manifests.js';
import type { BadInput } from './bad-benches.js';
import type { BadPatch } from './bad-sites.js';
import { API_VERSION } from './builders.js';
import type { Manifest } from './objects.js';

const of =
  (kind: string) =>
  (changes: object): Manifest => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name: 'bad' },
    spec: { ...MINIMAL[kind], ...changes },
  });
const chart = of('SiteDashboardChart');
const dashboard = of('SiteDashboard');
const workspace = of('SiteWorkspace');

export const BAD_CHARTS: readonly BadInput[] = [
  ['no site', chart({ siteRef: undefined }), 'spec.siteRef: Required value'],
  [
    'a site in another namespace',
    chart({ siteRef: { name: 'shop', namespace: 'default' } }),
    'unknown field "spec.siteRef.namespace"',
  ],
  ['no name', chart({ chartName: undefined }), 'spec.chartName: Required value'],
  [
    'a name with markup',
    chart({ chartName: 'Orders <b>' }),
    String.raw`spec.chartName: Invalid value: "Orders <b>": spec.chartName in body should match '^[^ <>\x00-\x1f\x7f]([^<>\x00-\x1f\x7f]*[^ <>\x00-\x1f\x7f])?$'`,
  ],
  [
    'a name with a space before it',
    chart({ chartName: ' Orders' }),
    String.raw`spec.chartName: Invalid value: " Orders": spec.chartName in body should match '^[^ <>\x00-\x1f\x7f]([^<>\x00-\x1f\x7f]*[^ <>\x00-\x1f\x7f])?$'`,
  ],
  [
    'an unknown source of figures',
    chart({ chartType: 'count' }),
    'spec.chartType: Unsupported value: "count": supported values: "Count", "Sum", "Average", "Group By", "Custom", "Report"',
  ],
  [
    'a count of no documents',
    chart({ documentType: undefined }),
    'spec: Invalid value: "object": chart types Count, Sum, Average and Group By need documentType',
  ],
  [
    'a count without a date',
    chart({ basedOn: undefined }),
    'spec: Invalid value: "object": chart types Count, Sum and Average need basedOn, a date field',
  ],
  [
    'a sum of nothing',
    chart({ chartType: 'Sum' }),
    'spec: Invalid value: "object": chart types Sum and Average need valueBasedOn',
  ],
  [
    'groups by nothing',
    chart({ chartType: 'Group By', basedOn: undefined }),
    'spec: Invalid value: "object": chart type Group By needs groupByBasedOn',
  ],
  [
    'an average of groups of nothing',
    chart({ chartType: 'Group By', groupByBasedOn: 'a', groupByType: 'Average' }),
    'spec: Invalid value: "object": groupByType Sum and Average need aggregateFunctionBasedOn',
  ],
  [
    'groups in a count',
    chart({ numberOfGroups: 3 }),
    'spec: Invalid value: "object": groupByBasedOn, groupByType, aggregateFunctionBasedOn and numberOfGroups belong to chart type Group By',
  ],
  [
    'a report without a name',
    chart({
      chartType: 'Report',
      documentType: undefined,
      basedOn: undefined,
      useReportChart: true,
    }),
    'spec: Invalid value: "object": chart type Report needs reportName',
  ],
  [
    'a report without columns',
    chart({ chartType: 'Report', documentType: undefined, basedOn: undefined, reportName: 'R' }),
    'spec: Invalid value: "object": chart type Report needs xField and yAxis, or useReportChart',
  ],
  [
    'a report of documents',
    chart({ chartType: 'Report', reportName: 'R', useReportChart: true }),
    'spec: Invalid value: "object": chart types Report and Custom take reportFilters; the others take documentType and filters',
  ],
  [
    'a report in a count',
    chart({ reportName: 'R' }),
    'spec: Invalid value: "object": reportName, xField, yAxis and useReportChart belong to chart type Report',
  ],
  [
    'a chart of code without a source',
    chart({ chartType: 'Custom', documentType: undefined, basedOn: undefined }),
    'spec: Invalid value: "object": chart type Custom needs source, which belongs to no other',
  ],
  [
    'a heat map of groups',
    chart({ chartType: 'Group By', groupByBasedOn: 'a', type: 'Heatmap' }),
    'spec: Invalid value: "object": type Heatmap works with chart types Count, Sum and Average',
  ],
  [
    'a year without a heat map',
    chart({ heatmapYear: 2025 }),
    'spec: Invalid value: "object": heatmapYear belongs to type Heatmap',
  ],
  [
    'a range without days',
    chart({ timespan: 'Select Date Range' }),
    'spec: Invalid value: "object": timespan Select Date Range needs fromDate and toDate, which belong to no other',
  ],
  [
    'a range that ends before it begins',
    chart({ timespan: 'Select Date Range', fromDate: '2025-02-01', toDate: '2025-01-01' }),
    'spec: Invalid value: "object": fromDate must not be after toDate',
  ],
  [
    'a month that there is not',
    chart({ timespan: 'Select Date Range', fromDate: '2025-13-01', toDate: '2026-01-01' }),
    'spec.fromDate: Invalid value: "2025-13-01": spec.fromDate in body should match \'^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$\'',
  ],
  [
    'a span of groups',
    chart({
      chartType: 'Group By',
      groupByBasedOn: 'a',
      basedOn: undefined,
      timespan: 'Last Week',
    }),
    'spec: Invalid value: "object": timespan and timeInterval belong to chart types Count, Sum and Average',
  ],
  [
    'a field with a command',
    chart({ basedOn: 'creation; drop table' }),
    'spec.basedOn: Invalid value: "creation; drop table": spec.basedOn in body should match \'^[A-Za-z_][A-Za-z0-9_]*$\'',
  ],
  [
    'an unknown operator',
    chart({ filters: [{ field: 'a', operator: '==', value: 'x' }] }),
    'spec.filters[0].operator: Unsupported value: "==": supported values: "=", "!=", ">", "<", ">=", "<=", "like", "not like", "in", "not in", "between", "is", "timespan", "descendants of", "ancestors of", "not descendants of", "not ancestors of"',
  ],
  [
    'a list that is one value',
    chart({ filters: [{ field: 'a', operator: 'in', value: 'x' }] }),
    'spec.filters[0]: Invalid value: "object": operators in, not in and between take values, not value',
  ],
  [
    'a filter without a value',
    chart({ filters: [{ field: 'a' }] }),
    'spec.filters[0]: Invalid value: "object": operators other than in, not in and between take value, not values',
  ],
  [
    'a filter that is neither set nor not set',
    chart({ filters: [{ field: 'a', operator: 'is', value: 'empty' }] }),
    'spec.filters[0]: Invalid value: "object": operator is takes the value set or not set',
  ],
  [
    'filters of documents for a report',
    chart({
      chartType: 'Report',
      documentType: undefined,
      basedOn: undefined,
      reportName: 'R',
      useReportChart: true,
      filters: [],
    }),
    'spec: Invalid value: "object": chart types Report and Custom take reportFilters; the others take documentType and filters',
  ],
  [
    'a colour that is none',
    chart({ color: '#12' }),
    'spec.color: Invalid value: "#12": spec.color in body should match \'^(#[0-9a-fA-F]{6}|[A-Za-z]+([ -][A-Za-z]+)*)$\'',
  ],
  ['a role twice', chart({ roles: ['A', 'A'] }), 'spec.roles[1]: Duplicate value: "A"'],
  [
    'options that are text',
    chart({ customOptions: '{}' }),
    'spec.customOptions: Invalid value: "string": spec.customOptions in body must be of type object: "string"',
  ],
];

export const BAD_DASHBOARDS: readonly BadInput[] = [
  ['no site', dashboard({ siteRef: undefined }), 'spec.siteRef: Required value'],
  [
    'a name of a site with a slash',
    dashboard({ siteRef: { name: 'ns/shop' } }),
    'spec.siteRef.name: Invalid value: "ns/shop": spec.siteRef.name in body should match \'^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$\'',
  ],
  ['no name', dashboard({ dashboardName: undefined }), 'spec.dashboardName: Required value'],
  [
    'an empty name',
    dashboard({ dashboardName: '' }),
    'spec.dashboardName: Invalid value: "": spec.dashboardName in body should be at least 1 chars long',
  ],
  [
    'a name of two lines',
    dashboard({ dashboardName: 'Sales\nfigures' }),
    String.raw`spec.dashboardName: Invalid value: "Sales\nfigures": spec.dashboardName in body should match '^[^ <>\x00-\x1f\x7f]([^<>\x00-\x1f\x7f]*[^ <>\x00-\x1f\x7f])?$'`,
  ],
  [
    'a name that is too long',
    dashboard({ dashboardName: 'x'.repeat(141) }),
    'spec.dashboardName: Too long: may not be more than 140 bytes',
  ],
  ['charts left out', dashboard({ charts: undefined }), 'spec.charts: Required value'],
  [
    'no charts',
    dashboard({ charts: [] }),
    'spec.charts: Invalid value: 0: spec.charts in body should have at least 1 items',
  ],
  [
    'a chart by no name',
    dashboard({ charts: [{ chart: {} }] }),
    'spec.charts[0].chart: Invalid value: "object": give either name, of a SiteDashboardChart, or document, of a Dashboard Chart in the site',
  ],
  [
    'a chart by two names',
    dashboard({ charts: [{ chart: { name: 'a', document: 'A' } }] }),
    'spec.charts[0].chart: Invalid value: "object": give either name, of a SiteDashboardChart, or document, of a Dashboard Chart in the site',
  ],
  [
    'a chart by the name of its document',
    dashboard({ charts: [{ chart: { name: 'Orders per Month' } }] }),
    'spec.charts[0].chart.name: Invalid value: "Orders per Month": spec.charts[0].chart.name in body should match \'^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$\'',
  ],
  [
    'a chart that is text',
    dashboard({ charts: ['orders'] }),
    'spec.charts[0]: Invalid value: "string": spec.charts[0] in body must be of type object: "string"',
  ],
  [
    'a width of a third',
    dashboard({ charts: [{ chart: { name: 'a' }, width: 'Third' }] }),
    'spec.charts[0].width: Unsupported value: "Third": supported values: "Half", "Full"',
  ],
  [
    'a card twice',
    dashboard({ cards: ['Open', 'Open'] }),
    'spec.cards[1]: Duplicate value: "Open"',
  ],
  [
    'a card that is an object',
    dashboard({ cards: [{ card: 'Open' }] }),
    'unknown field "spec.cards[0].card"',
  ],
  [
    'options that are text',
    dashboard({ chartOptions: '{}' }),
    'spec.chartOptions: Invalid value: "string": spec.chartOptions in body must be of type object: "string"',
  ],
  [
    'a default that is text',
    dashboard({ isDefault: 'yes' }),
    'spec.isDefault: Invalid value: "string": spec.isDefault in body must be of type boolean: "string"',
  ],
  [
    'an unknown policy',
    dashboard({ deletionPolicy: 'Disable' }),
    'spec.deletionPolicy: Unsupported value: "Disable": supported values: "Delete", "Retain"',
  ],
  [
    'an interval without a unit',
    dashboard({ resyncInterval: '60' }),
    'spec.resyncInterval: Invalid value: "60": spec.resyncInterval in body should match \'^([0-9]+h)?([0-9]+m)?([0-9]+s)?$\'',
  ],
  ['a field that there is not', dashboard({ isStandard: true }), 'unknown field "spec.isStandard"'],
];

export const BAD_WORKSPACES: readonly BadInput[] = [
  ['no site', workspace({ siteRef: undefined }), 'spec.siteRef: Required value'],
  ['no title', workspace({ title: undefined }), 'spec.title: Required value'],
  [
    'a title with markup',
    workspace({ title: '<b>Sales</b>' }),
    String.raw`spec.title: Invalid value: "<b>Sales</b>": spec.title in body should match '^[^ <>\x00-\x1f\x7f]([^<>\x00-\x1f\x7f]*[^ <>\x00-\x1f\x7f])?$'`,
  ],
  [
    'a user in capitals',
    workspace({ forUser: 'Ada@example.org' }),
    'spec.forUser: Invalid value: "string": must be in lower case: the framework stores it so',
  ],
  [
    'a name that is too long with its user',
    workspace({ title: 'x'.repeat(130), forUser: 'ada@example.org' }),
    'spec: Invalid value: "object": title and forUser are too long: the workspace\'s name in the site holds both, with a hyphen between, in 140 characters',
  ],
  [
    'a workspace below itself',
    workspace({ parentPage: 'Sales' }),
    'spec: Invalid value: "object": parentPage must be another workspace',
  ],
  [
    'a link to nowhere',
    workspace({ type: 'Link' }),
    'spec: Invalid value: "object": type Link needs linkType and linkTo',
  ],
  [
    'a link to a dashboard',
    workspace({ type: 'Link', linkType: 'Dashboard', linkTo: 'Sales' }),
    'spec.linkType: Unsupported value: "Dashboard": supported values: "DocType", "Page", "Report"',
  ],
  [
    'an address without a scheme',
    workspace({ type: 'URL', externalLink: 'example.org' }),
    String.raw`spec.externalLink: Invalid value: "example.org": spec.externalLink in body should match '^(https?://[^ \x00-\x1f\x7f]+|/[^ \x00-\x1f\x7f]*)$'`,
  ],
  [
    'an address of a page',
    workspace({ externalLink: 'https://example.org' }),
    'spec: Invalid value: "object": type URL needs externalLink, which belongs to no other type',
  ],
  [
    'an unknown colour',
    workspace({ indicatorColor: 'mauve' }),
    'spec.indicatorColor: Unsupported value: "mauve": supported values: "green", "cyan", "blue", "orange", "yellow", "gray", "grey", "red", "pink", "darkgrey", "purple", "light-blue"',
  ],
  [
    'an icon with a path',
    workspace({ icon: '../x' }),
    'spec.icon: Invalid value: "../x": spec.icon in body should match \'^[A-Za-z0-9_-]+$\'',
  ],
  [
    'a place below none',
    workspace({ sequenceId: -1 }),
    'spec.sequenceId: Invalid value: -1: spec.sequenceId in body should be greater than or equal to 0',
  ],
  [
    'an unknown block',
    workspace({ blocks: [{ type: 'table' }] }),
    'spec.blocks[0].type: Unsupported value: "table": supported values: "header", "paragraph", "spacer", "shortcut", "card", "chart", "numberCard", "quickList", "onboarding", "customBlock"',
  ],
  [
    'a header without text',
    workspace({ blocks: [{ type: 'header' }] }),
    'spec.blocks[0]: Invalid value: "object": types header and paragraph need text',
  ],
  [
    'a spacer with a label',
    workspace({ blocks: [{ type: 'spacer', label: 'X' }] }),
    'spec.blocks[0]: Invalid value: "object": every type but header, paragraph and spacer needs a label, and those have none',
  ],
  [
    'a block that is too wide',
    workspace({ blocks: [{ type: 'spacer', columns: 13 }] }),
    'spec.blocks[0].columns: Invalid value: 13: spec.blocks[0].columns in body should be less than or equal to 12',
  ],
  [
    'a block of a shortcut that there is not',
    workspace({ blocks: [{ type: 'shortcut', label: 'X' }] }),
    'spec: Invalid value: "object": a block of type shortcut needs the label of an item in shortcuts',
  ],
  [
    'a block of a card that there is not',
    workspace({ blocks: [{ type: 'card', label: 'X' }], cards: [{ label: 'Y' }] }),
    'spec: Invalid value: "object": a block of type card needs the label of an item in cards',
  ],
  [
    'a block of a chart that there is not',
    workspace({ blocks: [{ type: 'chart', label: 'X' }] }),
    'spec: Invalid value: "object": a block of type chart needs the label of an item in charts',
  ],
  [
    'a shortcut to nowhere',
    workspace({ shortcuts: [{ label: 'X', type: 'DocType' }] }),
    'spec.shortcuts[0]: Invalid value: "object": type URL takes url, every other type takes linkTo',
  ],
  [
    'a shortcut to a script',
    workspace({ shortcuts: [{ label: 'X', type: 'URL', url: 'javascript:alert(1)' }] }),
    String.raw`spec.shortcuts[0].url: Invalid value: "javascript:alert(1)": spec.shortcuts[0].url in body should match '^(https?://[^ \x00-\x1f\x7f]+|/[^ \x00-\x1f\x7f]*)$'`,
  ],
  [
    'a view of a report',
    workspace({ shortcuts: [{ label: 'X', type: 'Report', linkTo: 'Y', docView: 'List' }] }),
    'spec.shortcuts[0]: Invalid value: "object": docView belongs to type DocType',
  ],
  [
    'two shortcuts of one label',
    workspace({
      shortcuts: [
        { label: 'X', type: 'Page', linkTo: 'a' },
        { label: 'X', type: 'Page', linkTo: 'b' },
      ],
    }),
    'spec.shortcuts[1]: Duplicate value: {"label":"X"}',
  ],
  [
    'a link without a target',
    workspace({ cards: [{ label: 'X', links: [{ label: 'Users' }] }] }),
    'spec.cards[0].links[0].linkTo: Required value',
  ],
  [
    'a link to a script',
    workspace({ cards: [{ label: 'X', links: [{ label: 'A', type: 'URL', linkTo: 'B' }] }] }),
    'spec.cards[0].links[0].type: Unsupported value: "URL": supported values: "DocType", "Page", "Report"',
  ],
  [
    'a chart by two names',
    workspace({ charts: [{ label: 'X', chart: { name: 'a', document: 'b' } }] }),
    'spec.charts[0].chart: Invalid value: "object": give either name, of a SiteDashboardChart, or document, of a Dashboard Chart in the site',
  ],
  [
    'a chart by its name alone',
    workspace({ charts: [{ label: 'X', chart: 'a' }] }),
    'spec.charts[0].chart: Invalid value: "string": spec.charts[0].chart in body must be of type object: "string"',
  ],
  [
    'a number card without its document',
    workspace({ numberCards: [{ label: 'X' }] }),
    'spec.numberCards[0].document: Required value',
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
    'spec.quickLists[0].filters[0]: Invalid value: "object": operator between takes two values',
  ],
  [
    'a role with markup',
    workspace({ roles: ['<b>'] }),
    String.raw`spec.roles[0]: Invalid value: "<b>": spec.roles[0] in body should match '^[^ <>\x00-\x1f\x7f]([^<>\x00-\x1f\x7f]*[^ <>\x00-\x1f\x7f])?$'`,
  ],
];

export const BAD_DESK_PATCHES: readonly BadPatch[] = [
  [
    'another name of a chart',
    'sitedashboardchart',
    { chartName: 'Other' },
    'spec.chartName: Invalid value: "string": chartName is immutable: it is the chart\'s name in the site',
  ],
  [
    'another kind of chart',
    'sitedashboardchart',
    { chartType: 'Sum', valueBasedOn: 'idx' },
    'spec.chartType: Invalid value: "string": chartType is immutable: the framework does not change it in an existing chart',
  ],
  [
    'another document type',
    'sitedashboardchart',
    { documentType: 'User' },
    'spec.documentType: Invalid value: "string": documentType is immutable: the framework does not change it in an existing chart',
  ],
  [
    'another site',
    'sitedashboardchart',
    { siteRef: { name: 'other' } },
    'spec.siteRef: Invalid value: "object": siteRef is immutable: make a new object for another site',
  ],
  [
    'another name of a dashboard',
    'sitedashboard',
    { dashboardName: 'Other' },
    'spec.dashboardName: Invalid value: "string": dashboardName is immutable: it is the dashboard\'s name in the site',
  ],
  [
    'another site of a dashboard',
    'sitedashboard',
    { siteRef: { name: 'other' } },
    'spec.siteRef: Invalid value: "object": siteRef is immutable: make a new object for another site',
  ],
  [
    'no charts any more',
    'sitedashboard',
    { charts: [] },
    'spec.charts: Invalid value: 0: spec.charts in body should have at least 1 items',
  ],
  [
    'another title',
    'siteworkspace',
    { title: 'Other' },
    'spec.title: Invalid value: "string": title is immutable: it is the workspace\'s name in the site',
  ],
  [
    'a user of its own',
    'siteworkspace',
    { forUser: 'ada@example.org' },
    'spec: Invalid value: "object": forUser is immutable: it is part of the workspace\'s name',
  ],
  [
    'another site of a workspace',
    'siteworkspace',
    { siteRef: { name: 'other' } },
    'spec.siteRef: Invalid value: "object": siteRef is immutable: make a new object for another site',
  ],
];
