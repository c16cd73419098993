/**
 * What users have after a login, by the requests of a browser, on version-15 and version-16: the
 * documents are written as the resources of the operator give them. The facts are in
 * docs/contributing/frappe-16.md.
 *
 * With `FRAPPE_BENCH_15` or `FRAPPE_BENCH_16` it runs on a bench of the framework itself.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { dashboardDocument } from '../../constructs/kinds/dashboard/document.js';
import type { SiteDashboard } from '../../constructs/api/dashboard.js';
import type { SiteDashboardChart } from '../../constructs/api/dashboard-chart.js';
import { chartDocument } from '../../constructs/kinds/dashboard-chart/document.js';
import type { SiteSetup, SiteSocialLogin } from '../../constructs/api/site.js';
import type { SiteUser } from '../../constructs/api/user.js';
import { userDocument } from '../../constructs/kinds/user/document.js';
import type { SiteWorkspace } from '../../constructs/api/workspace.js';
import { workspaceDocument } from '../../constructs/kinds/workspace/document.js';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { get } from '../jobs/servers.js';
import { behindIcons } from '../support/desk-page.js';
import { configureLogin, DeskUser } from './desk.js';
import { DocumentSite, stored, type Wanted, withoutSecrets } from './documents.js';
import { needsImage, Stack, type Web } from './fixture.js';

type Fields = Readonly<Record<string, unknown>>;

const SETUP: SiteSetup = {
  language: 'de',
  country: 'Germany',
  timeZone: 'Europe/Berlin',
  currency: 'EUR',
};
const ref = (key: string) => ({ secretKeyRef: { name: 'idp', key } });
const provider = (name: string, enabled: boolean): SiteSocialLogin => ({
  provider: name,
  enabled,
  clientID: { value: `${name}-client` },
  clientSecret: ref('secret'),
  baseURL: 'https://id.example.com/realms/main',
  ...(name === 'Keycloak'
    ? {}
    : { authorizeURL: '/authorize', accessTokenURL: '/token', apiEndpoint: '/me' }),
});
const SSO = [provider('Keycloak', true), provider('My-Own ID', true), provider('Google', false)];

const CHARTS = { tasks: 'Floor Tasks' };
const PASSWORD = 'a-long-password of 2026';
const user = (email: string, fields: Fields = {}): Wanted => ({
  ...userDocument(
    stored('SiteUser', {
      ...{ email, firstName: email.split('@')[0], passwordSecretRef: { name: 'password' } },
      ...fields,
    }) as SiteUser,
    true,
  ),
  secrets: { password: PASSWORD },
});
const workspace = (fields: Fields): Wanted =>
  withoutSecrets(workspaceDocument(stored('SiteWorkspace', fields) as SiteWorkspace, CHARTS));

const ROLE = 'Floor Manager';
/** What is no resource of the operator. */
const AROUND: readonly Wanted[] = [
  { doctype: 'Role', name: ROLE, fields: { role_name: ROLE, desk_access: true } },
  {
    doctype: 'Module Profile',
    name: 'No Website',
    fields: { module_profile_name: 'No Website' },
    tables: { block_modules: [{ module: 'Website' }] },
  },
];
const DOCUMENTS: readonly Wanted[] = [
  user('ada@example.com', {
    ...{ roles: [ROLE], language: 'fr', timeZone: 'America/New_York' },
    defaultWorkspace: 'Sales Floor',
  }),
  user('bob@example.com', { roles: ['Website Manager'], moduleProfile: 'No Website' }),
  withoutSecrets(
    chartDocument(
      stored('SiteDashboardChart', {
        ...{ chartName: 'Floor Tasks', chartType: 'Count', type: 'Bar', documentType: 'ToDo' },
        ...{ basedOn: 'creation', timespan: 'Last Year', timeInterval: 'Monthly' },
      }) as SiteDashboardChart,
    ),
  ),
  withoutSecrets(
    dashboardDocument(
      stored('SiteDashboard', {
        dashboardName: 'Floor',
        charts: [{ chart: { name: 'tasks' }, width: 'Half' }],
      }) as SiteDashboard,
      CHARTS,
    ),
  ),
  workspace({
    ...{ title: 'Sales Floor', module: 'Desk', icon: 'tool', roles: [ROLE] },
    blocks: [
      { type: 'shortcut', label: 'Floor' },
      { type: 'chart', label: 'Tasks' },
    ],
    shortcuts: [{ label: 'Floor', type: 'Dashboard', linkTo: 'Floor' }],
    charts: [{ label: 'Tasks', chart: { name: 'tasks' } }],
  }),
  workspace({ title: 'Web Room', module: 'Website' }),
];
const OURS = ['Sales Floor', 'Web Room'];

for (const version of [VERSIONS.first, VERSIONS.next]) {
  const possible = await needsImage('mariadbd', 'redis-server', 'python3');
  describe(`the desk after a login on ${version}`, possible, () => {
    const is16 = version === VERSIONS.next;
    let documents: DocumentSite;
    let web: Web;
    before(async () => {
      const stack = await Stack.start('mariadb', version);
      documents = new DocumentSite(stack, stack.site());
      const created = await documents.site.init();
      assert.equal(created.code, 0, created.output);
      web = await stack.bench.gunicorn();
    });
    after(async () => {
      await web.server.stop();
      await documents.stop();
    });

    const login = (name: string, password = PASSWORD) =>
      DeskUser.login(web, documents.site.name, name, password);
    const loginPage = () => get(web.port, '/login', { Host: documents.site.name });
    const adminPassword = () => documents.site.env['ADMIN_PASSWORD'];
    const configure = (sso: readonly SiteSocialLogin[]) =>
      configureLogin(
        documents.stack,
        documents.site,
        { setup: SETUP, sso },
        { secret: 's3cret x' },
      );
    const ofOurs = (names: readonly string[]) => names.filter((name) => OURS.includes(name)).sort();

    it('is the setup wizard on a site without `setup`', async () => {
      const boot = await (await login('Administrator', adminPassword())).open();
      assert.equal(Boolean(boot.setup_complete), false);
      assert.ok(!(await loginPage()).body.includes('btn-keycloak'));
    });

    it('is the desk, with the country and the language of `setup`', async () => {
      const changed = await configure(SSO);
      const keys = ['setup', 'sso.keycloak', 'sso.my_own_id', 'sso.google'];
      assert.deepEqual(changed, ['Changed', '', '', keys]);
      const administrator = await login('Administrator', adminPassword());
      assert.equal(administrator.path, is16 ? '/desk' : '/app');
      const boot = await administrator.open();
      assert.equal(Boolean(boot.setup_complete), true);
      assert.notEqual(boot.home_page, 'setup-wizard');
      const { country, currency, language } = boot.sysdefaults;
      // Version-15 has a currency in the settings of ERPNext only.
      const expected = ['Germany', 'de', is16 ? 'EUR' : undefined];
      assert.deepEqual([country, language, currency], expected);
      assert.equal(boot.time_zone.system, 'Europe/Berlin');
      assert.deepEqual(await configure(SSO), ['Unchanged', '', '', []]);
    });

    it('can be reached by the buttons of the identity providers that are enabled', async () => {
      const { status, body } = await loginPage();
      assert.equal(status, 200);
      const target = (name: string): URL | undefined => {
        const [tag] = new RegExp(`<a [^>]*btn-${name}\\b[^>]*>`).exec(body) ?? [];
        const link = /href="([^"]*)"/.exec(tag ?? '')?.[1];
        return link === undefined ? undefined : new URL(link.replaceAll('&amp;', '&'));
      };
      const keycloak = target('keycloak');
      assert.equal(
        `${keycloak?.origin ?? ''}${keycloak?.pathname ?? ''}`,
        'https://id.example.com/realms/main/protocol/openid-connect/auth',
      );
      assert.equal(keycloak?.searchParams.get('client_id'), 'Keycloak-client');
      const method = '/api/method/frappe.integrations.oauth2_logins.';
      const redirect = (url?: URL) => new URL(url?.searchParams.get('redirect_uri') ?? '').pathname;
      assert.equal(redirect(keycloak), `${method}login_via_keycloak${is16 ? '' : '/keycloak'}`);
      const own = target('my_own_id');
      assert.equal(own?.pathname, '/realms/main/authorize');
      assert.equal(redirect(own), `${method}custom/my_own_id`);
      assert.equal(target('google'), undefined);
      assert.equal((await configure(SSO.slice(1)))[0], 'Changed');
      assert.ok(!(await loginPage()).body.includes('btn-keycloak'));
    });

    it('has the language and the time zone of the user', async () => {
      await documents.write(...AROUND);
      assert.deepEqual(
        new Set(Object.values(await documents.write(...DOCUMENTS))),
        new Set(['Created']),
      );
      const ada = await (await login('ada@example.com')).open();
      assert.deepEqual(
        [ada.user.name, ada.lang, ada.time_zone.user],
        ['ada@example.com', 'fr', 'America/New_York'],
      );
      const bob = await (await login('bob@example.com')).open();
      assert.deepEqual(bob.lang, 'de');
    });

    it('lists the workspaces of the user’s roles and modules', async () => {
      const ada = await login('ada@example.com');
      const boot = await ada.open();
      assert.deepEqual(ofOurs(await ada.workspaces()), ['Sales Floor', 'Web Room']);
      const bob = await login('bob@example.com');
      const other = await bob.open();
      assert.deepEqual(ofOurs(await bob.workspaces()), []);
      if (!is16) return;
      assert.deepEqual(ofOurs(behindIcons(boot)), ['Sales Floor', 'Web Room']);
      assert.deepEqual(ofOurs(behindIcons(other)), []);
    });

    it('opens the workspace, its dashboard and the figures of the chart', async () => {
      const ada = await login('ada@example.com');
      await ada.open();
      const page = JSON.stringify({ name: 'Sales Floor', title: 'Sales Floor', public: 1 });
      const opened = (await ada.call('frappe.desk.desktop.get_desktop_page', { page })) as Record<
        'shortcuts' | 'charts',
        { readonly items: readonly Fields[] }
      >;
      const { type, link_to: link, label } = opened.shortcuts.items[0] ?? {};
      assert.deepEqual([type, link, label], ['Dashboard', 'Floor', 'Floor']);
      assert.deepEqual(
        opened.charts.items.map(({ chart_name: chart }) => chart),
        ['Floor Tasks'],
      );
      const dashboard = 'frappe.desk.doctype.dashboard.dashboard.';
      const name = { dashboard_name: 'Floor' };
      const charts = (await ada.call(`${dashboard}get_permitted_charts`, name)) as Fields[];
      assert.deepEqual(
        charts.map(({ chart, width }) => [chart, width]),
        [['Floor Tasks', 'Half']],
      );
      assert.deepEqual(await ada.call(`${dashboard}get_permitted_cards`, name), []);
      const figures = (await ada.call('frappe.desk.doctype.dashboard_chart.dashboard_chart.get', {
        chart_name: 'Floor Tasks',
        filters: [],
        refresh: 1,
      })) as { readonly labels: readonly string[]; readonly datasets: readonly Fields[] };
      assert.ok(figures.labels.length >= 12, JSON.stringify(figures));
      assert.equal((figures.datasets[0]?.['values'] as number[]).length, figures.labels.length);
    });

    it('opens with the default workspace of the user', async () => {
      const ada = await (await login('ada@example.com')).open();
      assert.equal(ada.user.default_workspace?.name, 'Sales Floor');
      const bob = await (await login('bob@example.com')).open();
      assert.equal(bob.user.default_workspace, undefined);
    });

    it('is unchanged by what the users have opened', async () => {
      const { outcomes, output } = await documents.run(DOCUMENTS);
      assert.deepEqual(new Set(Object.values(outcomes)), new Set(['Unchanged']), output);
    });

    it('opens for a user whose default workspace was deleted', async () => {
      const ada = await login('ada@example.com');
      await ada.open();
      const absent = { doctype: 'Workspace', name: 'Sales Floor', state: 'absent' as const };
      assert.deepEqual(await documents.write(absent), { 'Sales Floor': 'Deleted' });
      const { user } = await ada.open();
      assert.equal(user.default_workspace, undefined);
    });
  });
}
