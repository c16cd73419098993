import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SiteDashboard } from '../../constructs/api/dashboard.js';
import { dashboardDocument } from '../../constructs/kinds/dashboard/document.js';
import type { SiteDashboardChart } from '../../constructs/api/dashboard-chart.js';
import { chartDocument } from '../../constructs/kinds/dashboard-chart/document.js';
import type { SiteDocument } from '../../constructs/kit/document.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import type { SiteWorkspace } from '../../constructs/api/workspace.js';
import { workspaceDocument } from '../../constructs/kinds/workspace/document.js';
import { minimal } from './schema-manifests.js';

type Fields = Readonly<Record<string, unknown>>;

/** As the API server stores it. */
function stored(kind: string, changes: Fields): unknown {
  const definition = DEFINITIONS.find((known) => known.kind === kind);
  assert.ok(definition);
  const { object, problems, pruned } = admit(definition, minimal(kind, changes));
  assert.deepEqual([...problems, ...pruned], []);
  return object;
}

const chart = (changes: Fields): SiteDocument =>
  chartDocument(stored('SiteDashboardChart', changes) as SiteDashboardChart);
const dashboard = (changes: Fields, charts = {}): SiteDocument =>
  dashboardDocument(stored('SiteDashboard', changes) as SiteDashboard, charts);
const workspace = (changes: Fields, charts = {}): SiteDocument =>
  workspaceDocument(stored('SiteWorkspace', changes) as SiteWorkspace, charts);
const noDocuments = { documentType: undefined, basedOn: undefined };

suite('a Dashboard Chart', () => {
  test('that counts is a series over time, with the desk’s own span and step', () => {
    assert.deepEqual(chart({}), {
      doctype: 'Dashboard Chart',
      name: 'Orders',
      state: 'present',
      fields: {
        chart_name: 'Orders',
        chart_type: 'Count',
        document_type: 'ToDo',
        type: 'Line',
        parent_document_type: '',
        timeseries: true,
        based_on: 'creation',
        value_based_on: '',
        timespan: 'Last Year',
        time_interval: 'Yearly',
        from_date: null,
        to_date: null,
        heatmap_year: '',
        module: '',
        is_public: true,
        color: '',
        custom_options: '',
        dynamic_filters_json: '',
      },
      json: { filters_json: [] },
      tables: { y_axis: [], roles: [] },
      secrets: {},
      needs: [],
    });
  });

  test('that sums takes a range of days', () => {
    const { fields } = chart({
      chartType: 'Sum',
      valueBasedOn: 'amount',
      timespan: 'Select Date Range',
      fromDate: '2025-01-01',
      toDate: '2025-12-31',
      timeInterval: 'Weekly',
    });
    const { value_based_on, timespan, from_date, to_date, time_interval, timeseries } = fields;
    assert.deepEqual(
      [value_based_on, timespan, from_date, to_date, time_interval, timeseries],
      ['amount', 'Select Date Range', '2025-01-01', '2025-12-31', 'Weekly', true],
    );
  });

  test('that is a heat map has its year as text: the field is a choice', () => {
    assert.equal(chart({ type: 'Heatmap', heatmapYear: 2025 }).fields.heatmap_year, '2025');
  });

  test('of groups is no series', () => {
    const { fields } = chart({
      chartType: 'Group By',
      basedOn: undefined,
      groupByBasedOn: 'owner',
    });
    assert.deepEqual(
      [fields.timeseries, fields.group_by_based_on, fields.group_by_type, fields.number_of_groups],
      [false, 'owner', 'Count', 0],
    );
    assert.ok(!('timespan' in fields), 'a span of no series is none of ours');
  });

  test('of a report has its filters by name, and columns', () => {
    const { fields, json, tables } = chart({
      ...noDocuments,
      chartType: 'Report',
      reportName: 'Sales',
      xField: 'month',
      yAxis: [{ yField: 'total', color: '#ff0000' }, { yField: 'tax' }],
      reportFilters: { company: 'Wind Power' },
      dynamicFilters: [{ field: 'from', expression: 'frappe.datetime.month_start()' }],
    });
    assert.deepEqual(
      [fields.report_name, fields.x_field, fields.use_report_chart, fields.timeseries],
      ['Sales', 'month', false, false],
    );
    assert.ok(!('document_type' in fields), 'what cannot be changed is not emptied either');
    assert.deepEqual(json, {
      filters_json: { company: 'Wind Power' },
      dynamic_filters_json: { from: 'frappe.datetime.month_start()' },
    });
    assert.deepEqual(tables.y_axis, [
      { y_field: 'total', color: '#ff0000' },
      { y_field: 'tax', color: '' },
    ]);
  });

  test('of a report or of code without filters has an empty object, which the framework demands', () => {
    const report = { ...noDocuments, chartType: 'Report', reportName: 'R', useReportChart: true };
    assert.deepEqual(chart(report).json, { filters_json: {} });
    const custom = chart({ ...noDocuments, chartType: 'Custom', source: 'Account Balance' });
    assert.deepEqual(custom.json, { filters_json: {} });
    assert.equal(custom.fields.source, 'Account Balance');
    assert.ok(!('timeseries' in custom.fields), 'the source says whether it is a series');
  });

  test('has filters as the desk stores them', () => {
    const { json } = chart({
      filters: [
        { field: 'status', value: 'Open' },
        { field: 'priority', operator: 'in', values: ['High', 'Low'] },
        { field: 'date', operator: 'between', values: ['2025-01-01', '2025-02-01'] },
        { field: 'date', operator: 'timespan', value: 'this year' },
        { documentType: 'ToDo Item', field: 'done', operator: 'is', value: 'set' },
      ],
      dynamicFilters: [{ field: 'owner', expression: 'frappe.session.user' }],
      customOptions: { colors: ['red'] },
    });
    assert.deepEqual(json, {
      filters_json: [
        ['ToDo', 'status', '=', 'Open', false],
        ['ToDo', 'priority', 'in', ['High', 'Low'], false],
        ['ToDo', 'date', 'Between', ['2025-01-01', '2025-02-01'], false],
        ['ToDo', 'date', 'Timespan', 'this year', false],
        ['ToDo Item', 'done', 'is', 'set', false],
      ],
      dynamic_filters_json: [['ToDo', 'owner', '=', 'frappe.session.user']],
      custom_options: { colors: ['red'] },
    });
  });
});

suite('a Dashboard', () => {
  test('has its charts and cards in order, and needs the charts of ours', () => {
    const document = dashboard(
      {
        charts: [
          { chart: { name: 'b' } },
          { chart: { document: 'Orders' }, width: 'Half' },
          { chart: { name: 'a' } },
        ],
        cards: ['Open', 'Late'],
        isDefault: true,
        module: 'Desk',
        chartOptions: { axisOptions: { shortenYAxisNumbers: 1 } },
      },
      { a: 'Alpha', b: 'Beta' },
    );
    assert.deepEqual(document, {
      doctype: 'Dashboard',
      name: 'Sales',
      state: 'present',
      fields: { dashboard_name: 'Sales', is_default: true, module: 'Desk' },
      json: { chart_options: { axisOptions: { shortenYAxisNumbers: 1 } } },
      tables: {
        charts: [
          { chart: 'Beta', width: 'Full' },
          { chart: 'Orders', width: 'Half' },
          { chart: 'Alpha', width: 'Full' },
        ],
        cards: [{ card: 'Open' }, { card: 'Late' }],
      },
      secrets: {},
      needs: [
        { doctype: 'Dashboard Chart', name: 'Alpha' },
        { doctype: 'Dashboard Chart', name: 'Beta' },
      ],
    });
  });

  test('without options has none', () => {
    const { fields, json } = dashboard({});
    assert.deepEqual([fields.chart_options, json], ['', {}]);
  });
});

suite('a Workspace', () => {
  test('that is public is named by its title', () => {
    const { name, fields, json } = workspace({});
    assert.equal(name, 'Sales');
    assert.deepEqual(fields, {
      label: 'Sales',
      title: 'Sales',
      public: true,
      for_user: '',
      type: 'Workspace',
      icon: '',
      indicator_color: '',
      parent_page: '',
      is_hidden: false,
    });
    assert.deepEqual(json, { content: [] });
  });

  test('that is private is named by its title and its user', () => {
    const { name, fields } = workspace({ forUser: 'ada@example.org' });
    assert.equal(name, 'Sales-ada@example.org');
    assert.deepEqual(
      [fields.label, fields.title, fields.public, fields.for_user],
      ['Sales-ada@example.org', 'Sales', false, 'ada@example.org'],
    );
  });

  test('that leads elsewhere has its target', () => {
    const link = workspace({ type: 'Link', linkType: 'Report', linkTo: 'ToDo' }).fields;
    assert.deepEqual([link.type, link.link_type, link.link_to], ['Link', 'Report', 'ToDo']);
    const url = workspace({ type: 'URL', externalLink: 'https://example.org' }).fields;
    assert.equal(url.external_link, 'https://example.org');
  });

  test('has its module, its application and its place only where they are given', () => {
    const { fields } = workspace({ module: 'Desk', app: 'erpnext', sequenceId: 3 });
    assert.deepEqual([fields.module, fields.app, fields.sequence_id], ['Desk', 'erpnext', 3]);
  });

  test('below another needs that one', () => {
    const { fields, needs } = workspace({ parentPage: 'Office' });
    assert.equal(fields.parent_page, 'Office');
    assert.deepEqual(needs, [{ doctype: 'Workspace', name: 'Office' }]);
  });

  const parts = {
    shortcuts: [
      { label: 'Site', type: 'URL', url: '/app' },
      {
        label: 'Open',
        type: 'DocType',
        linkTo: 'ToDo',
        docView: 'List',
        color: 'Grey',
        format: '{} open',
        filters: [{ field: 'status', value: 'Open' }],
      },
      { label: 'All', type: 'DocType', linkTo: 'ToDo', filters: [] },
    ],
    cards: [
      {
        label: 'People',
        links: [
          { label: 'Users', linkTo: 'User', onboard: true },
          { label: 'Rights', type: 'Report', linkTo: 'Permitted', queryReport: true },
        ],
      },
      { label: 'Empty', hidden: true },
    ],
    charts: [
      { label: 'Ours', chart: { name: 'a' } },
      { label: 'Theirs', chart: { document: 'Orders' } },
    ],
    numberCards: [{ label: 'Count', document: 'Open ToDos' }],
    quickLists: [{ label: 'Urgent', documentType: 'ToDo' }],
    customBlocks: [{ label: 'Hello', document: 'Hello Block' }],
    roles: ['Sales User'],
  };

  test('has a row of a table for each part', () => {
    const { tables, needs } = workspace(parts, { a: 'Alpha' });
    assert.deepEqual(tables, {
      shortcuts: [
        {
          type: 'URL',
          label: 'Site',
          link_to: '',
          url: '/app',
          doc_view: '',
          color: '',
          format: '',
          stats_filter: '',
        },
        {
          type: 'DocType',
          label: 'Open',
          link_to: 'ToDo',
          url: '',
          doc_view: 'List',
          color: 'Grey',
          format: '{} open',
          stats_filter: '[["ToDo","status","=","Open",false]]',
        },
        {
          type: 'DocType',
          label: 'All',
          link_to: 'ToDo',
          url: '',
          doc_view: '',
          color: '',
          format: '',
          stats_filter: '[]',
        },
      ],
      links: [
        { type: 'Card Break', label: 'People', hidden: false, link_count: 2 },
        {
          type: 'Link',
          label: 'Users',
          link_type: 'DocType',
          link_to: 'User',
          is_query_report: false,
          onboard: true,
          hidden: false,
          link_count: 0,
        },
        {
          type: 'Link',
          label: 'Rights',
          link_type: 'Report',
          link_to: 'Permitted',
          is_query_report: true,
          onboard: false,
          hidden: false,
          link_count: 0,
        },
        { type: 'Card Break', label: 'Empty', hidden: true, link_count: 0 },
      ],
      charts: [
        { chart_name: 'Alpha', label: 'Ours' },
        { chart_name: 'Orders', label: 'Theirs' },
      ],
      number_cards: [{ number_card_name: 'Open ToDos', label: 'Count' }],
      quick_lists: [{ document_type: 'ToDo', label: 'Urgent', quick_list_filter: '[]' }],
      custom_blocks: [{ custom_block_name: 'Hello Block', label: 'Hello' }],
      roles: [{ role: 'Sales User' }],
    });
    assert.deepEqual(needs, [{ doctype: 'Dashboard Chart', name: 'Alpha' }]);
  });

  test('shows every part if none is selected', () => {
    const blocks = workspace(parts, { a: 'Alpha' }).json.content as readonly {
      readonly id: string;
      readonly type: string;
      readonly data: Fields;
    }[];
    assert.deepEqual(
      blocks.map(({ type, data }) => [type, data]),
      [
        ['shortcut', { shortcut_name: 'Site', col: 3 }],
        ['shortcut', { shortcut_name: 'Open', col: 3 }],
        ['shortcut', { shortcut_name: 'All', col: 3 }],
        ['card', { card_name: 'People', col: 4 }],
        ['chart', { chart_name: 'Ours', col: 12 }],
        ['chart', { chart_name: 'Theirs', col: 12 }],
        ['number_card', { number_card_name: 'Count', col: 4 }],
        ['quick_list', { quick_list_name: 'Urgent', col: 4 }],
        ['custom_block', { custom_block_name: 'Hello', col: 12 }],
      ],
    );
    assert.equal(new Set(blocks.map(({ id }) => id)).size, blocks.length);
  });

  test('shows the blocks that it names, in their order and width', () => {
    const { json } = workspace({
      ...parts,
      blocks: [
        { type: 'header', text: '<b>Today</b>' },
        { type: 'numberCard', label: 'Count', columns: 6 },
        { type: 'spacer' },
        { type: 'onboarding', label: 'First Steps' },
      ],
    });
    assert.deepEqual(json.content, [
      { id: 'block-1', type: 'header', data: { text: '<b>Today</b>', col: 12 } },
      { id: 'block-2', type: 'number_card', data: { number_card_name: 'Count', col: 6 } },
      { id: 'block-3', type: 'spacer', data: { col: 12 } },
      { id: 'block-4', type: 'onboarding', data: { onboarding_name: 'First Steps', col: 12 } },
    ]);
  });
});
