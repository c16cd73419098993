/**
 * Charts, dashboards and workspaces as users write them, in a site: what is read back, and that
 * nothing flaps. Facts: docs/contributing/frappe-16.md, Desk.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SiteDashboard } from '../../constructs/api/dashboard.js';
import { dashboardDocument } from '../../constructs/kinds/dashboard/document.js';
import type { SiteDashboardChart } from '../../constructs/api/dashboard-chart.js';
import { chartDocument } from '../../constructs/kinds/dashboard-chart/document.js';
import type { SiteWorkspace } from '../../constructs/api/workspace.js';
import { workspaceDocument } from '../../constructs/kinds/workspace/document.js';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { describeDocuments, stored, type Wanted, withoutSecrets } from './documents.js';

type Fields = Readonly<Record<string, unknown>>;

/** The SiteDashboardCharts that dashboards and workspaces of these tests refer to. */
const CHARTS = { tasks: 'Tasks', groups: 'Tasks by Owner' };

const chart = (spec: Fields): Wanted =>
  withoutSecrets(chartDocument(stored('SiteDashboardChart', spec) as SiteDashboardChart));
const dashboard = (spec: Fields): Wanted =>
  withoutSecrets(dashboardDocument(stored('SiteDashboard', spec) as SiteDashboard, CHARTS));
const workspace = (spec: Fields): Wanted =>
  withoutSecrets(workspaceDocument(stored('SiteWorkspace', spec) as SiteWorkspace, CHARTS));

const TASKS = {
  chartName: 'Tasks',
  chartType: 'Count',
  type: 'Bar',
  documentType: 'ToDo',
  basedOn: 'creation',
  timespan: 'Last Quarter',
  timeInterval: 'Monthly',
  module: 'Desk',
  color: '#4463F0',
  roles: ['Website Manager', 'System Manager'],
  filters: [
    { field: 'status', operator: '!=', value: 'Cancelled' },
    { field: 'priority', operator: 'in', values: ['High', 'Low'] },
    { field: 'description', operator: 'like', value: '%<b>"x"%' },
  ],
  dynamicFilters: [{ field: 'owner', expression: 'frappe.session.user' }],
  customOptions: { colors: ['#d1d8dd', 'red'], axisOptions: { shortenYAxisNumbers: 1 } },
};

const OFFICE = {
  title: 'Office Room',
  module: 'Desk',
  icon: 'organization',
  indicatorColor: 'green',
  sequenceId: 7,
  roles: ['System Manager', 'Website Manager'],
  blocks: [
    { type: 'header', text: '<span class="h4"><b>Today & "more"</b></span>' },
    { type: 'shortcut', label: 'Open' },
    { type: 'chart', label: 'Ours', columns: 6 },
    { type: 'numberCard', label: 'Count' },
    { type: 'quickList', label: 'Urgent' },
    { type: 'card', label: 'People' },
    { type: 'customBlock', label: 'Hello' },
  ],
  shortcuts: [
    { label: 'Site', type: 'URL', url: 'https://example.org/x?y=1' },
    {
      label: 'Open',
      type: 'DocType',
      linkTo: 'ToDo',
      docView: 'List',
      color: 'Grey',
      format: '{} open',
      filters: [{ field: 'status', value: 'Open' }],
    },
  ],
  cards: [
    {
      label: 'People',
      links: [
        { label: 'Users', linkTo: 'User', onboard: true },
        { label: 'Visits', type: 'Report', linkTo: 'Visits', queryReport: true },
      ],
    },
    { label: 'Empty', hidden: true },
  ],
  charts: [{ label: 'Ours', chart: { name: 'tasks' } }],
  numberCards: [{ label: 'Count', document: 'Open Tasks' }],
  quickLists: [
    { label: 'Urgent', documentType: 'ToDo', filters: [{ field: 'priority', value: 'High' }] },
  ],
  customBlocks: [{ label: 'Hello', document: 'Hello Block' }],
};

const REPORT = { chartType: 'Report', reportName: 'Visits' };

/** Of each kind what there can be. */
const ALL: readonly Wanted[] = [
  workspace(OFFICE),
  workspace({ title: 'Plain Room' }),
  workspace({ title: 'Inner Room', parentPage: 'Plain Room', hidden: true, module: 'Core' }),
  workspace({ title: 'Plain Room', forUser: 'ada@example.org' }),
  workspace({ title: 'Elsewhere', type: 'Link', linkType: 'Report', linkTo: 'Visits' }),
  workspace({
    title: 'Handbook',
    type: 'URL',
    externalLink: 'https://example.org/',
    app: 'frappe',
  }),
  dashboard({
    dashboardName: 'Täglich & Co',
    isDefault: true,
    module: 'Desk',
    charts: [
      { chart: { name: 'groups' }, width: 'Half' },
      { chart: { name: 'tasks' } },
      { chart: { document: 'Heat' } },
    ],
    cards: ['Open Tasks'],
    chartOptions: { truncateLegends: 1 },
  }),
  dashboard({ dashboardName: 'Plain', charts: [{ chart: { document: 'Heat' } }] }),
  chart(TASKS),
  chart({
    chartName: 'Hours',
    chartType: 'Sum',
    documentType: 'ToDo',
    basedOn: 'creation',
    valueBasedOn: 'idx',
    timespan: 'Select Date Range',
    fromDate: '2025-01-01',
    toDate: '2025-12-31',
    timeInterval: 'Weekly',
  }),
  chart({
    chartName: 'Heat',
    chartType: 'Count',
    type: 'Heatmap',
    documentType: 'ToDo',
    basedOn: 'creation',
    heatmapYear: 2025,
  }),
  chart({
    chartName: 'Tasks by Owner',
    chartType: 'Group By',
    type: 'Donut',
    documentType: 'ToDo',
    groupByBasedOn: 'owner',
    groupByType: 'Average',
    aggregateFunctionBasedOn: 'idx',
    numberOfGroups: 5,
  }),
  chart({
    chartName: 'Rows',
    chartType: 'Count',
    documentType: 'Has Role',
    parentDocumentType: 'User',
    basedOn: 'creation',
    isPublic: false,
  }),
  chart({
    ...REPORT,
    chartName: 'Paths',
    type: 'Percentage',
    xField: 'path',
    yAxis: [{ yField: 'count', color: '#ff0000' }, { yField: 'unique_count' }],
    reportFilters: { range: 'Daily', nested: { a: [1, null, true] } },
    dynamicFilters: [{ field: 'from_date', expression: 'frappe.datetime.month_start()' }],
  }),
  chart({ ...REPORT, chartName: 'Own Chart', useReportChart: true }),
  chart({ chartName: 'Balance', chartType: 'Custom', source: 'Timeline' }),
];

/** What the site has besides. */
const AROUND: readonly Wanted[] = [
  {
    doctype: 'Number Card',
    name: 'Open Tasks',
    fields: {
      label: 'Open Tasks',
      type: 'Document Type',
      document_type: 'ToDo',
      function: 'Count',
    },
  },
  { doctype: 'Custom HTML Block', name: 'Hello Block', fields: { html: '<b>hi</b>' } },
  {
    doctype: 'Dashboard Chart Source',
    name: 'Timeline',
    fields: { source_name: 'Timeline', module: 'Desk' },
  },
];

await describeDocuments('the desk of a site', (get, version) => {
  it('is written whole, and not again', async () => {
    await get().write(...AROUND);
    get().sql("INSERT INTO `tabReport` (`name`, `ref_doctype`) VALUES ('Visits', 'User')");
    assert.deepEqual(new Set(Object.values(await get().write(...ALL))), new Set(['Created']));
    const { results } = await get().run(ALL);
    const outcomes = Object.entries(results).map(([name, { outcome }]) => [name, outcome]);
    assert.deepEqual(
      outcomes,
      ALL.map(({ name }) => [name, 'Unchanged']),
    );
    const older = version !== VERSIONS.next;
    assert.deepEqual(results['Plain Room']?.ignored, older ? ['type'] : []);
    assert.deepEqual(results['Elsewhere']?.ignored, older ? ['type', 'link_type', 'link_to'] : []);
  });

  it('is in the database as the desk reads it', () => {
    const one = (columns: string, doctype: string, name: string): readonly string[] =>
      get()
        .sql(`SELECT ${columns} FROM \`tab${doctype}\` WHERE \`name\` = '${name}'`)
        .split(/\t|\|/);
    assert.deepEqual(
      one('`chart_type`, `timeseries`, `timespan`, `time_interval`', 'Dashboard Chart', 'Tasks'),
      ['Count', '1', 'Last Quarter', 'Monthly'],
    );
    // MariaDB's client doubles backslashes; there is no double one in what was written.
    const parsed = (text: string): unknown => JSON.parse(text.replaceAll('\\\\', '\\'));
    const [filters = ''] = one('`filters_json`', 'Dashboard Chart', 'Tasks');
    assert.deepEqual(parsed(filters), [
      ['ToDo', 'status', '!=', 'Cancelled', false],
      ['ToDo', 'priority', 'in', ['High', 'Low'], false],
      ['ToDo', 'description', 'like', '%<b>"x"%', false],
    ]);
    const [none = ''] = one('`filters_json`', 'Dashboard Chart', 'Own Chart');
    assert.deepEqual(parsed(none), {});
    const [content = ''] = one('`content`', 'Workspace', 'Office Room');
    const blocks = parsed(content) as readonly {
      readonly type: string;
      readonly data: Fields;
    }[];
    assert.deepEqual(
      blocks.map(({ type, data }) => [type, data['col']]),
      [
        ['header', 12],
        ['shortcut', 3],
        ['chart', 6],
        ['number_card', 4],
        ['quick_list', 4],
        ['card', 4],
        ['custom_block', 12],
      ],
    );
    assert.deepEqual(
      one('`label`, `title`, `public`, `for_user`', 'Workspace', 'Plain Room-ada@example.org'),
      ['Plain Room-ada@example.org', 'Plain Room', '0', 'ada@example.org'],
    );
    const rows = (columns: string, doctype: string, parent: string): readonly string[] =>
      get()
        .sql(
          `SELECT ${columns} FROM \`tab${doctype}\` WHERE \`parent\` = '${parent}' ORDER BY \`idx\``,
        )
        .split('\n')
        .map((row) => row.replaceAll(/\t|\|/g, ' '));
    assert.deepEqual(rows('`chart`, `width`', 'Dashboard Chart Link', 'Täglich & Co'), [
      'Tasks by Owner Half',
      'Tasks Full',
      'Heat Full',
    ]);
    assert.deepEqual(rows('`type`, `label`, `link_count`', 'Workspace Link', 'Office Room'), [
      'Card Break People 2',
      'Link Users 0',
      'Link Visits 0',
      'Card Break Empty 0',
    ]);
    assert.deepEqual(rows('`chart_name`, `label`', 'Workspace Chart', 'Office Room'), [
      'Tasks Ours',
    ]);
  });

  it('does not follow the spec any more', async () => {
    const { color: _, customOptions: __, dynamicFilters: ___, ...less } = TASKS;
    const changed = [
      chart({ ...less, roles: ['Website Manager'], timeInterval: 'Weekly' }),
      workspace({ title: 'Office Room', module: 'Desk' }),
    ];
    const all = (outcome: string) => ({ Tasks: outcome, 'Office Room': outcome });
    assert.deepEqual(await get().write(...changed), all('Changed'));
    assert.deepEqual(await get().write(...changed), all('Unchanged'));
    assert.deepEqual(get().roles('Tasks'), ['Website Manager']);
    assert.equal(
      get().sql("SELECT COUNT(*) FROM `tabWorkspace Shortcut` WHERE `parent` = 'Office Room'"),
      '0',
    );
    assert.equal(
      get().sql("SELECT COALESCE(`color`, '') FROM `tabDashboard Chart` WHERE `name` = 'Tasks'"),
      '',
    );
  });

  it('keeps fields that the framework makes immutable, and reports them', async () => {
    const sum = chart({ ...TASKS, chartType: 'Sum', valueBasedOn: 'idx' });
    assert.match(await get().refusal(sum), /^CannotChangeConstantError: .*Chart Type/);
  });

  it('leaves an application its own workspace, also when that was taken over', async () => {
    const taken = workspace({ title: 'Welcome Workspace', icon: 'tool' });
    assert.deepEqual(await get().write(taken), { 'Welcome Workspace': 'Changed' });
    const { results } = await get().run([{ ...taken, state: 'absent' }]);
    assert.deepEqual(results['Welcome Workspace'], {
      outcome: 'Absent',
      message: 'Workspace Welcome Workspace belongs to an app, and is retained',
      ignored: [],
    });
  });

  it('is deleted', async () => {
    const absent = ALL.map(({ doctype, name }) => ({ doctype, name, state: 'absent' as const }));
    assert.deepEqual(new Set(Object.values(await get().write(...absent))), new Set(['Deleted']));
    assert.deepEqual(new Set(Object.values(await get().write(...absent))), new Set(['Absent']));
  });
});
