import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { preview } from '../../constructs/preview/preview.js';
import { ROOT } from '../support/docs-tables.js';

type Manifest = Readonly<{
  kind: string;
  metadata: Readonly<{ name: string }>;
  spec: Readonly<Record<string, unknown>>;
}>;

const manifestsOf = (file: string): readonly Manifest[] =>
  parseAllDocuments(readFileSync(`${ROOT}examples/${file}`, 'utf8')).map(
    (document) => document.toJS() as Manifest,
  );
const site = [...manifestsOf('bench.yaml'), ...manifestsOf('site.yaml')];
const desk = manifestsOf('desk.yaml');

/** The problems of a preview: the path and the message of each. */
const problemsOf = (...objects: readonly object[]): readonly string[] =>
  preview(objects).problems.map(({ path, message }) => `${path}: ${message}`);

suite('a preview of charts, dashboards and workspaces', () => {
  test('of the example has nothing against it, though no chart is in the site yet', () => {
    const { problems, skipped, objects } = preview([...site, ...desk]);
    assert.deepEqual([problems, skipped], [[], []]);
    assert.deepEqual(
      objects,
      preview(site).objects,
      'they have no objects of their own: one Job of the site writes them',
    );
  });

  test('wants their site with them', () => {
    assert.deepEqual(
      new Set(problemsOf(...desk.filter(({ kind }) => kind === 'SiteDashboardChart'))),
      new Set([
        'spec.siteRef.name: there is no AppSite "demo-site" in namespace default in the input: add it to the input',
      ]),
    );
  });

  test('reports a chart that does not exist', () => {
    const shown = desk.filter(({ metadata }) => metadata.name !== 'tasks-by-priority');
    assert.deepEqual(problemsOf(...site, ...shown), [
      'spec.charts[1].chart.name: there is no SiteDashboardChart "tasks-by-priority" in namespace default',
    ]);
  });

  test('finds two that want one document, or one place', () => {
    const [dashboard] = desk.filter(({ kind }) => kind === 'SiteDashboard');
    assert.ok(dashboard);
    const named = (name: string, changes: object): object => ({
      ...dashboard,
      metadata: { name },
      spec: { ...dashboard.spec, ...changes },
    });
    assert.deepEqual(problemsOf(...site, ...desk, named('zz', {})), [
      'spec.dashboardName: Invalid value: "Tasks": SiteDashboard tasks already manages this document of site demo-site',
    ]);
    const first = named('a', { dashboardName: 'A', isDefault: true });
    const second = named('b', { dashboardName: 'B', isDefault: true });
    assert.deepEqual(problemsOf(...site, ...desk, first, second), [
      'spec.isDefault: Invalid value: true: SiteDashboard a is the default of site demo-site already',
    ]);
  });
});
