/**
 * What site_documents.py does to the documents of a site, on real databases. Facts:
 * docs/contributing/frappe-16.md, Desk.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { type Row, chart, describeDocuments, roles, user, workspace } from './documents.js';

await describeDocuments('documents of a site', (get, version) => {
  const modified = (doctype: string, name: string): string =>
    get().sql(`SELECT \`modified\` FROM \`tab${doctype}\` WHERE \`name\` = '${name}'`);

  it('writes what others need first, and nothing a second time', async () => {
    const wanted = [
      workspace('Operations', {
        fields: { icon: 'tool', sequence_id: 12.5, is_hidden: false, indicator_color: 'green' },
        json: { content: [{ id: 'a', type: 'chart', data: { chart_name: 'Users', col: 12 } }] },
        tables: {
          ...roles('System Manager', 'Website Manager'),
          charts: [{ chart_name: 'Users by day', label: 'Users' }],
          shortcuts: [{ type: 'DocType', link_to: 'User', label: 'People', stats_filter: '[]' }],
          links: [
            { type: 'Card Break', label: 'Card', hidden: false, link_count: 1 },
            { type: 'Link', label: 'Users', link_type: 'DocType', link_to: 'User', onboard: true },
          ],
        },
        needs: [{ doctype: 'Dashboard Chart', name: 'Users by day' }],
      }),
      {
        doctype: 'Dashboard',
        name: 'Board',
        fields: { is_default: true },
        json: { chart_options: { colors: ['red'] } },
        tables: { charts: [{ chart: 'Users by day', width: 'Full' }], cards: [] },
        needs: [{ doctype: 'Dashboard Chart', name: 'Users by day' }],
      },
      chart('Users by day', { fields: { timeseries: true, from_date: '2025-01-31', color: null } }),
      user('ann@example.com', { fields: { language: 'en' }, tables: roles('Website Manager') }),
    ];
    const names = ['Operations', 'Board', 'Users by day', 'ann@example.com'];
    const all = (outcome: string) => Object.fromEntries(names.map((name) => [name, outcome]));
    assert.deepEqual(await get().write(...wanted), all('Created'));
    const before = modified('Workspace', 'Operations');
    assert.deepEqual(await get().write(...wanted), all('Unchanged'));
    assert.equal(modified('Workspace', 'Operations'), before);
    const rows = get().sql(
      "SELECT `idx`, `type`, `label`, `link_count` FROM `tabWorkspace Link` WHERE `parent` = 'Operations' ORDER BY `idx`",
    );
    assert.match(rows, /^1\W+Card Break\W+Card\W+1\n2\W+Link\W+Users\W+0$/);
    assert.match(get().sql("SELECT `content` FROM `tabWorkspace` WHERE `name` = 'Operations'"), /^\[{"id": ?"a"/); // prettier-ignore
  });

  it('repairs changed fields, and leaves unmanaged fields alone', async () => {
    const wanted = chart('Drifting', { fields: { is_public: true }, tables: roles('Blogger') });
    await get().write(wanted);
    get().sql(
      "UPDATE `tabDashboard Chart` SET `is_public` = 0, `filters_json` = '[1]', `timespan` = 'Last Week' WHERE `name` = 'Drifting'",
    );
    get().sql("DELETE FROM `tabHas Role` WHERE `parent` = 'Drifting'");
    assert.deepEqual(await get().write(wanted), { Drifting: 'Changed' });
    const row = get().sql(
      "SELECT `is_public`, `filters_json`, `timespan` FROM `tabDashboard Chart` WHERE `name` = 'Drifting'",
    );
    assert.match(row, /^1\W+\[\]\W+Last Week$/);
    assert.deepEqual(get().roles('Drifting'), ['Blogger']);
    get().sql("UPDATE `tabDashboard Chart` SET `filters_json` = '[ ]' WHERE `name` = 'Drifting'");
    assert.deepEqual(await get().write(wanted), { Drifting: 'Unchanged' });
  });

  it('keeps the rows of a table that are right, and their order', async () => {
    const board = (...charts: readonly string[]) => ({
      doctype: 'Dashboard',
      name: 'Ordered',
      tables: { charts: charts.map((name) => ({ chart: name, width: 'Half' })) },
    });
    const rows = (column: string) =>
      get()
        .sql(
          `SELECT \`${column}\` FROM \`tabDashboard Chart Link\` WHERE \`parent\` = 'Ordered' ORDER BY \`idx\``,
        )
        .split('\n');
    await get().write(chart('One'), chart('Two'), chart('Three'));
    await get().write(board('One', 'Two'));
    const [one, two] = rows('name');
    assert.deepEqual(await get().write(board('Two', 'Three', 'One')), { Ordered: 'Changed' });
    assert.deepEqual(rows('chart'), ['Two', 'Three', 'One']);
    assert.deepEqual([rows('name')[0], rows('name')[2]], [two, one]);
  });

  it('leaves out fields that the version does not have, and names them', async () => {
    const fields = { type: 'Workspace', app: 'frappe', no_such: 1, is_standard: 1 };
    const tables = { no_table: [{ a: 1 }], charts: [], roles: [{ role: 'Blogger', no_column: 1 }] };
    const { results } = await get().run([workspace('Newer', { fields, tables })]);
    const unknown = ['no_such', 'is_standard', 'no_table', 'roles.no_column'];
    const older = version === VERSIONS.next ? [] : ['type', 'app'];
    assert.deepEqual(results['Newer'], {
      outcome: 'Created',
      message: '',
      ignored: [...older, ...unknown],
    });
  });

  it('gives a user these roles and no others, in whatever order', async () => {
    const name = 'roles@example.com';
    await get().write(user(name, { tables: roles('Website Manager', 'Blogger') }));
    assert.deepEqual(
      await get().write(user(name, { tables: roles('Blogger', 'Website Manager') })),
      { [name]: 'Unchanged' },
    );
    get().sql(`UPDATE \`tabHas Role\` SET \`role\` = 'System Manager' WHERE \`parent\` = '${name}' AND \`role\` = 'Blogger'`); // prettier-ignore
    const wanted = user(name, { tables: roles('Blogger', 'Website Manager') });
    assert.deepEqual(await get().write(wanted), { [name]: 'Changed' });
    assert.deepEqual(get().roles(name), ['Blogger', 'Website Manager']);
    assert.deepEqual(await get().write(user(name)), { [name]: 'Unchanged' });
    assert.deepEqual(await get().write(user(name, { tables: roles() })), { [name]: 'Changed' });
    assert.deepEqual(get().roles(name), []);
  });

  it('gives a user the roles of a profile, and takes the profile away again', async () => {
    const name = 'profile@example.com';
    const fields = { role_profile: 'Writers' };
    const profile = { doctype: 'Role Profile', name: 'Writers', fields, tables: roles('Blogger') };
    const wanted = user(name, { fields, tables: roles('Guest') });
    assert.deepEqual(await get().write(profile, wanted), { Writers: 'Created', [name]: 'Created' });
    assert.deepEqual(get().roles(name), ['Blogger']);
    assert.deepEqual(await get().write(wanted), { [name]: 'Unchanged' });
    const other = user(name, { tables: roles('Website Manager') });
    assert.deepEqual(await get().write(other), { [name]: 'Changed' });
    assert.deepEqual(get().roles(name), ['Website Manager']);
    assert.deepEqual(await get().write(other), { [name]: 'Unchanged' });
  });

  it('grants System Manager to no user, and disables and deletes users without one', async () => {
    get().sql("DELETE FROM `tabSingles` WHERE `field` = 'setup_complete'");
    get().sql("INSERT INTO `tabSingles` VALUES ('System Settings', 'setup_complete', '1')");
    const name = 'plain@example.com';
    const wanted = user(name, { tables: roles('Website Manager') });
    assert.deepEqual(await get().write(wanted), { [name]: 'Created' });
    assert.deepEqual(get().roles(name), ['Website Manager']);
    const disabled = { doctype: 'User', name, state: 'disabled' } as const;
    assert.deepEqual(await get().write(disabled), { [name]: 'Disabled' });
    assert.equal(get().sql(`SELECT \`enabled\` FROM \`tabUser\` WHERE \`name\` = '${name}'`), '0');
    assert.deepEqual(await get().write(disabled), { [name]: 'Disabled' });
    assert.deepEqual(await get().write(wanted), { [name]: 'Changed' });
    const absent = { doctype: 'User', name, state: 'absent' } as const;
    assert.deepEqual(await get().write(absent), { [name]: 'Deleted' });
    assert.deepEqual(get().roles(name), []);
    assert.deepEqual(await get().write(absent), { [name]: 'Absent' });
    assert.deepEqual(await get().write(disabled), { [name]: 'Absent' });
  });

  it('removes what may have been written only where it is as it would have been written', async () => {
    const name = 'maybe@example.com';
    const wanted = user(name, { tables: roles('Blogger'), fields: { language: 'en' } });
    const asWritten = (fields: Row) => {
      const { doctype, tables = {}, fields: own } = wanted;
      return { doctype, name, tables, json: {}, fields: { ...own, ...fields } };
    };
    const remove = (state: 'absent' | 'disabled', fields: Row = {}) =>
      get().write({ doctype: 'User', name, state, onlyAs: asWritten(fields) });
    const enabled = () =>
      get().sql(`SELECT \`enabled\` FROM \`tabUser\` WHERE \`name\` = '${name}'`);
    await get().write(wanted);
    assert.deepEqual(await remove('disabled', { first_name: 'Bea' }), { [name]: 'Absent' });
    assert.deepEqual(await remove('absent', { first_name: 'Bea' }), { [name]: 'Absent' });
    assert.equal(enabled(), '1');
    assert.deepEqual(await remove('disabled'), { [name]: 'Disabled' });
    assert.equal(enabled(), '0');
    assert.deepEqual(await remove('absent', { enabled: false }), { [name]: 'Deleted' });
    assert.deepEqual(await remove('absent'), { [name]: 'Absent' });
  });

  it('deletes what others hold on to after those, and works in maintenance', async () => {
    await get().write(chart('Old'), {
      doctype: 'Dashboard',
      name: 'Old board',
      tables: { charts: [{ chart: 'Old' }] },
    });
    assert.equal(get().site.bench('set-maintenance-mode', 'on').code, 0);
    const run = await get().run([
      { doctype: 'Dashboard Chart', name: 'Old', state: 'absent' },
      {
        doctype: 'Dashboard',
        name: 'Old board',
        state: 'absent',
        needs: [{ doctype: 'Dashboard Chart', name: 'Old' }],
      },
    ]);
    assert.equal(get().site.bench('set-maintenance-mode', 'off').code, 0);
    assert.deepEqual(run.outcomes, { Old: 'Deleted', 'Old board': 'Deleted' });
    assert.ok(
      run.output.indexOf('Dashboard Old board') < run.output.indexOf('Dashboard Chart Old'),
    );
  });

  it('neither writes nor deletes what belongs to an app', async () => {
    await get().write(chart('Of an app'));
    get().sql("UPDATE `tabDashboard Chart` SET `is_standard` = 1 WHERE `name` = 'Of an app'");
    assert.equal(
      await get().refusal(chart('Of an app', { fields: { type: 'Bar' } })),
      'NotAllowed: Dashboard Chart Of an app belongs to an app',
    );
    const absent = await get().run([
      { doctype: 'Dashboard Chart', name: 'Of an app', state: 'absent' },
      { doctype: 'Workspace', name: 'Welcome Workspace', state: 'absent' },
    ]);
    assert.deepEqual(absent.outcomes, { 'Of an app': 'Absent', 'Welcome Workspace': 'Absent' });
    assert.match(
      absent.results['Welcome Workspace']?.message ?? '',
      /belongs to an app, and is retained/,
    );
    assert.notEqual(modified('Workspace', 'Welcome Workspace'), '');
    assert.notEqual(modified('Dashboard Chart', 'Of an app'), '');
  });
});
