import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { holdPods } from '../../testbed/controlplane/pods.js';
import {
  type Answer,
  DOCUMENT_PODS,
  DocumentScript,
  type WrittenDocument,
} from '../../testbed/stand-in/document-script.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, API_VERSION, aSite } from '../cluster/support/builders.js';
import { at, conditionOf, type Live, type Manifest } from '../cluster/support/objects.js';

let cluster: Cluster;
let script: DocumentScript;
/** Has the site `shop`, whose documents all tests write: each has names of its own. */
let namespace: string;
before(async () => {
  cluster = await startCluster();
  await holdPods(cluster.controlPlane, DOCUMENT_PODS);
  script = new DocumentScript(cluster.controlPlane.api, answer);
  await cluster.operator([], { timeFactor: 5 });
  namespace = await cluster.namespace();
  const site = aSite('shop', { bench: 'bench', workloads: 'Shared' });
  await cluster.apply(namespace, aBench('bench'), site);
  await cluster.ready('AppSite', namespace, 'shop');
});
after(async () => {
  await script.stop();
  await cluster.stop();
});

const known = new Set<string>();
const broken = new Set<string>(['Broken']);
/** Workspaces that version-16 would refuse without their parent. */
const orphans = new Set<string>();

/** As the real script on version-15: it has no types of workspaces, and wants the document types to be there. */
function answer({ doctype, name, state, fields }: WrittenDocument): Answer {
  const key = `${doctype} ${name}`;
  if (state === 'absent') return [known.delete(key) ? 'Deleted' : 'Absent'];
  if (broken.has(name)) return ['Failed', `LinkValidationError: Could not find ${name}`];
  if (orphans.has(name) && !known.has(`Workspace ${String(fields['parent_page'])}`)) {
    return ['Failed', `LinkValidationError: Could not find Parent Page`];
  }
  const ignored = ['type', 'link_type', 'link_to', 'app'].filter((field) => field in fields);
  const outcome = known.has(key) ? 'Changed' : 'Created';
  known.add(key);
  return [outcome, '', doctype === 'Workspace' ? ignored : []];
}

type Spec = Readonly<Record<string, unknown>>;

function aDocument(kind: string, name: string, spec: Spec): Manifest {
  const metadata = { name };
  return { apiVersion: API_VERSION, kind, metadata, spec: { siteRef: { name: 'shop' }, ...spec } };
}

const aChart = (name: string, chartName: string, spec: Spec = {}): Manifest =>
  aDocument('SiteDashboardChart', name, {
    chartName,
    chartType: 'Count',
    documentType: 'ToDo',
    basedOn: 'creation',
    ...spec,
  });

const aDashboard = (
  name: string,
  dashboardName: string,
  charts: readonly Spec[],
  spec: Spec = {},
): Manifest =>
  aDocument('SiteDashboard', name, {
    dashboardName,
    charts: charts.map((chart) => ({ chart })),
    ...spec,
  });

const aWorkspace = (name: string, title: string, spec: Spec = {}): Manifest =>
  aDocument('SiteWorkspace', name, { title, ...spec });

/** What was written under a name, in order. */
const written = (name: string): readonly WrittenDocument[] =>
  script.written.filter((document) => document.name === name);

const hasReason =
  (reason: string) =>
  (live: Live): boolean =>
    conditionOf(live, 'Ready')?.reason === reason;

const messageOf = (live: Live): string | undefined => conditionOf(live, 'Ready')?.message;

describe('charts, dashboards and workspaces of a site', { concurrency: true }, () => {
  test('applied together, a chart is written before the dashboards and workspaces that show it', async () => {
    await cluster.apply(
      namespace,
      aWorkspace('room-a', 'Room A', {
        charts: [{ label: 'Orders', chart: { name: 'orders-a' } }],
      }),
      aDashboard('sales-a', 'Sales A', [{ name: 'orders-a' }, { document: 'Known' }]),
      aChart('orders-a', 'Orders A'),
    );
    for (const [kind, name, document] of [
      ['SiteDashboardChart', 'orders-a', 'Orders A'],
      ['SiteDashboard', 'sales-a', 'Sales A'],
      ['SiteWorkspace', 'room-a', 'Room A'],
    ] as const) {
      const live = await cluster.ready(kind, namespace, name);
      assert.equal(at(live, 'status.document'), document);
      assert.equal(at(live, 'status.outcome'), 'Created');
      assert.equal(at(live, 'status.missing'), undefined);
      assert.equal(conditionOf(live, 'FieldsIgnored'), undefined);
      assert.equal(written(document).length, 1);
    }
    const [sales] = written('Sales A');
    assert.deepEqual(sales?.tables['charts'], [
      { chart: 'Orders A', width: 'Full' },
      { chart: 'Known', width: 'Full' },
    ]);
    assert.deepEqual(sales.needs, [{ doctype: 'Dashboard Chart', name: 'Orders A' }]);
    const order = script.written.map(({ name }) => name);
    assert.ok(order.indexOf('Orders A') < order.indexOf('Sales A'));
    assert.ok(order.indexOf('Orders A') < order.indexOf('Room A'));
  });

  test('a missing chart is awaited, and its users continue at once', async () => {
    const charts = [{ name: 'b' }, { document: 'Known' }, { name: 'a' }];
    await cluster.apply(namespace, aDashboard('sales-b', 'Sales B', charts));
    const waits = hasReason('ChartMissing');
    const live = await cluster.becomes('SiteDashboard', namespace, 'sales-b', {
      what: 'waits',
      check: waits,
    });
    assert.equal(at(live, 'status.phase'), 'Pending');
    assert.equal(
      messageOf(live),
      `spec.charts[0].chart.name: there is no SiteDashboardChart "b" in namespace ${namespace} (and 1 more)`,
    );
    assert.deepEqual(at(live, 'status.missing'), ['a', 'b']);
    await cluster.apply(namespace, aChart('b', 'Chart B'));
    const less = ({ status }: Live): boolean => (status?.['missing'] as string[]).length === 1;
    await cluster.becomes('SiteDashboard', namespace, 'sales-b', {
      what: 'waits for one',
      check: less,
    });
    assert.deepEqual(written('Sales B'), []);
    await cluster.apply(namespace, aChart('a', 'Chart A'));
    const ready = await cluster.ready('SiteDashboard', namespace, 'sales-b');
    assert.equal(at(ready, 'status.missing'), undefined);
    assert.deepEqual(
      written('Sales B').map(({ tables }) => tables['charts']?.map(({ chart }) => chart)),
      [['Chart B', 'Known', 'Chart A']],
    );
  });

  test('a chart that cannot be written blocks its users until it is corrected', async () => {
    await cluster.apply(
      namespace,
      aChart('c', 'Broken'),
      aWorkspace('room-c', 'Room C', { charts: [{ label: 'C', chart: { name: 'c' } }] }),
    );
    const failed = hasReason('DocumentFailed');
    const chart = await cluster.becomes('SiteDashboardChart', namespace, 'c', {
      what: 'fails',
      check: failed,
    });
    assert.equal(at(chart, 'status.phase'), 'Failed');
    assert.equal(messageOf(chart), 'LinkValidationError: Could not find Broken');
    const waits = hasReason('WaitingForChart');
    const room = await cluster.becomes('SiteWorkspace', namespace, 'room-c', {
      what: 'waits',
      check: waits,
    });
    assert.equal(
      messageOf(room),
      'spec.charts[0].chart.name: SiteDashboardChart "c" is not in the site yet',
    );
    broken.delete('Broken');
    await cluster.apply(namespace, aChart('c', 'Broken', { color: '#ff0000' }));
    await cluster.ready('SiteDashboardChart', namespace, 'c');
    await cluster.ready('SiteWorkspace', namespace, 'room-c');
  });

  test('a chart of another site, or one that is being deleted, counts as missing', async () => {
    await cluster.apply(
      namespace,
      aChart('far-d', 'Far Chart', { siteRef: { name: 'other' } }),
      aDashboard('sales-d', 'Sales D', [{ name: 'far-d' }]),
    );
    // Until the operator has observed the chart, it reports that the chart does not exist.
    const words =
      'spec.charts[0].chart.name: SiteDashboardChart "far-d" is of site other, not shop';
    const missing = hasReason('ChartMissing');
    await cluster.becomes('SiteDashboard', namespace, 'sales-d', {
      what: 'waits',
      check: (live) => {
        return missing(live) && messageOf(live) === words;
      },
    });
  });

  test('a change is written once', async () => {
    await cluster.apply(namespace, aWorkspace('room-e', 'Room E'));
    await cluster.ready('SiteWorkspace', namespace, 'room-e');
    await cluster.apply(namespace, aWorkspace('room-e', 'Room E', { icon: 'tool' }));
    await cluster.until('it is written again', () => Promise.resolve(written('Room E').length > 1));
    const live = await cluster.ready('SiteWorkspace', namespace, 'room-e');
    assert.equal(at(live, 'status.outcome'), 'Changed');
    assert.deepEqual(
      written('Room E').map(({ fields }) => fields['icon']),
      ['', 'tool'],
    );
  });

  test('fields that the version of the site lacks are reported on the resource that sets them', async () => {
    const link = { type: 'Link', linkType: 'DocType', linkTo: 'ToDo' };
    await cluster.apply(namespace, aWorkspace('link-f', 'Room F', link));
    const live = await cluster.ready('SiteWorkspace', namespace, 'link-f');
    assert.equal(
      conditionOf(live, 'FieldsIgnored')?.message,
      "the site's version of the framework has no field type, link_type, link_to",
    );
  });

  test('of two resources for one document, or two defaults, the younger is refused', async () => {
    const charts = [{ document: 'Known' }];
    await cluster.apply(namespace, aDashboard('one', 'Sales G', charts, { isDefault: true }));
    await cluster.ready('SiteDashboard', namespace, 'one');
    await cluster.apply(
      namespace,
      aDashboard('same', 'SALES g', charts),
      aDashboard('two', 'Sales H', charts, { isDefault: true }),
    );
    const taken = hasReason('DocumentTaken');
    const same = await cluster.becomes('SiteDashboard', namespace, 'same', {
      what: 'is refused',
      check: taken,
    });
    assert.equal(
      messageOf(same),
      'spec.dashboardName: Invalid value: "SALES g": SiteDashboard one already manages this document of site shop',
    );
    const second = hasReason('DefaultTaken');
    const two = await cluster.becomes('SiteDashboard', namespace, 'two', {
      what: 'is refused',
      check: second,
    });
    assert.equal(
      messageOf(two),
      'spec.isDefault: Invalid value: true: SiteDashboard one is the default of site shop already',
    );
    await cluster.delete('SiteDashboard', namespace, 'one');
    await cluster.ready('SiteDashboard', namespace, 'two');
    await cluster.ready('SiteDashboard', namespace, 'same');
  });

  test('a workspace waits for its parent, and is written as soon as the parent exists', async () => {
    orphans.add('Room M');
    await cluster.apply(namespace, aWorkspace('inner', 'Room M', { parentPage: 'Room L' }));
    const failed = hasReason('DocumentFailed');
    await cluster.becomes('SiteWorkspace', namespace, 'inner', {
      what: 'has no parent',
      check: failed,
    });
    broken.add('Room L');
    await cluster.apply(namespace, aWorkspace('outer', 'Room L'));
    const waits = hasReason('WaitingForParent');
    const inner = await cluster.becomes('SiteWorkspace', namespace, 'inner', {
      what: 'waits',
      check: waits,
    });
    assert.equal(messageOf(inner), 'spec.parentPage: SiteWorkspace "outer" is not in the site yet');
    broken.delete('Room L');
    await cluster.apply(namespace, aWorkspace('outer', 'Room L', { icon: 'tool' }));
    await cluster.ready('SiteWorkspace', namespace, 'outer');
    await cluster.ready('SiteWorkspace', namespace, 'inner');
    assert.deepEqual(written('Room M').at(-1)?.needs, [{ doctype: 'Workspace', name: 'Room L' }]);
  });

  test('a public workspace and a private one of one title are two documents', async () => {
    await cluster.apply(
      namespace,
      aWorkspace('all', 'Room I'),
      aWorkspace('ada', 'Room I', { forUser: 'ada@example.org' }),
    );
    await cluster.ready('SiteWorkspace', namespace, 'all');
    const live = await cluster.ready('SiteWorkspace', namespace, 'ada');
    assert.equal(at(live, 'status.document'), 'Room I-ada@example.org');
  });

  test('is deleted after its document, unless the document is to be kept', async () => {
    await cluster.apply(
      namespace,
      aChart('gone-j', 'Chart J'),
      aChart('kept-j', 'Chart K', { deletionPolicy: 'Retain' }),
      aDashboard('sales-j', 'Sales J', [{ name: 'gone-j' }, { name: 'kept-j' }]),
      aWorkspace('room-j', 'Room J', { charts: [{ label: 'J', chart: { name: 'gone-j' } }] }),
    );
    await cluster.ready('SiteDashboard', namespace, 'sales-j');
    await cluster.ready('SiteWorkspace', namespace, 'room-j');
    await cluster.delete('SiteDashboardChart', namespace, 'gone-j');
    await cluster.deleted('SiteDashboardChart', namespace, 'gone-j');
    const missing = hasReason('ChartMissing');
    await cluster.becomes('SiteDashboard', namespace, 'sales-j', {
      what: 'reports ChartMissing',
      check: missing,
    });
    for (const [kind, name] of [
      ['SiteDashboardChart', 'kept-j'],
      ['SiteDashboard', 'sales-j'],
      ['SiteWorkspace', 'room-j'],
    ] as const) {
      await cluster.delete(kind, namespace, name);
      await cluster.deleted(kind, namespace, name);
    }
    const states = (name: string): readonly string[] => written(name).map(({ state }) => state);
    assert.deepEqual(states('Chart J'), ['present', 'absent']);
    assert.deepEqual(states('Chart K'), ['present']);
    assert.deepEqual(states('Sales J'), ['present', 'absent']);
    assert.deepEqual(states('Room J'), ['present', 'absent']);
  });
});
