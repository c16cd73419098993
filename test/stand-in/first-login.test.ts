/**
 * What a user meets at the first login, on version-15 and version-16: no setup wizard, the identity
 * providers, the workspaces of the user's roles. The facts are in docs/contributing/frappe-16.md,
 * First login and Desk.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SiteSetup, SiteSocialLogin } from '../../constructs/api/site.js';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { get } from '../jobs/servers.js';
import { configureLogin, type FirstLoginSpec } from './desk.js';
import { chart, DocumentSite, roles, user, workspace, type Wanted } from './documents.js';
import { Stack, needsImage } from './fixture.js';

const SETUP: SiteSetup = {
  language: 'de',
  country: 'Germany',
  timeZone: 'Europe/Berlin',
  currency: 'EUR',
  company: { name: 'Muster und Sohn', fiscalYearStart: '01-01' },
};
const SECRET = 'client "secret" $x';
const ref = (key: string) => ({ secretKeyRef: { name: 'idp', key } });
const KEYCLOAK: SiteSocialLogin = {
  provider: 'Keycloak',
  enabled: true,
  clientID: { value: 'desk' },
  clientSecret: ref('secret'),
  baseURL: 'https://id.example.com/realms/main',
};
const OWN: SiteSocialLogin = {
  provider: 'My-Own ID',
  enabled: true,
  clientID: ref('id'),
  clientSecret: ref('secret'),
  baseURL: 'https://id.example.com',
  authorizeURL: '/authorize',
  accessTokenURL: '/token',
  apiEndpoint: '/me',
  signUps: 'Allow',
};

interface Boot {
  readonly setup_complete: boolean;
  readonly allowed_workspaces: readonly { readonly name: string }[];
  readonly workspace_sidebar_item?: Readonly<
    Record<string, { readonly items: readonly { readonly link_to: string }[] }>
  >;
  readonly desktop_icons?: readonly { readonly label: string }[];
}

for (const version of [VERSIONS.second, VERSIONS.next]) {
  const possible = await needsImage('mariadbd', 'redis-server', 'python3');
  describe(`the first login on ${version}`, possible, () => {
    const is16 = version === VERSIONS.next;
    let documents: DocumentSite;
    before(async () => {
      const stack = await Stack.start('mariadb', version);
      documents = new DocumentSite(stack, stack.site({ SITE_APPS: '["frappe", "erpnext"]' }));
      const created = await documents.site.init();
      assert.equal(created.code, 0, created.output);
    });
    after(() => documents.stop());

    const configure = (
      login: FirstLoginSpec,
      secrets: Readonly<Record<string, string>> = { id: 'own-client', secret: SECRET },
    ) => configureLogin(documents.stack, documents.site, login, secrets);

    function setting(field: string): string {
      const where = `\`doctype\` = 'System Settings' AND \`field\` = '${field}'`;
      return documents.sql(`SELECT \`value\` FROM \`tabSingles\` WHERE ${where}`);
    }

    async function execute(method: string, kwargs: object): Promise<unknown> {
      const { code, output } = await documents.execute(method, kwargs);
      assert.equal(code, 0, output);
      return JSON.parse(output.trim().split('\n').at(-1) ?? '');
    }

    const bootOf = async (name: string) =>
      (await execute('frappe.tests.desk.boot_of', { user: name })) as Boot;

    /** Names of the workspaces that a user can reach from the desk. */
    async function seen(name: string): Promise<readonly string[]> {
      const boot = await bootOf(name);
      const allowed = boot.allowed_workspaces.map((page) => page.name);
      if (!is16) return allowed;
      return (boot.desktop_icons ?? [])
        .map(({ label }) => boot.workspace_sidebar_item?.[label.toLowerCase()]?.items ?? [])
        .flatMap((items) => items.map(({ link_to: link }) => link))
        .filter((link) => allowed.includes(link));
    }

    it('refuses answers that the site does not know, and changes nothing', async () => {
      const wrong = { ...SETUP, country: 'Atlantis', currency: 'XXX', language: 'tlh' };
      const expected =
        'setup.language: "tlh" is not a Language of the site; setup.country: "Atlantis" is not a Country of the site; setup.currency: "XXX" is not a Currency of the site';
      assert.deepEqual(await configure({ setup: wrong }), ['Failed', 'ValueInvalid', expected, []]);
      const chartOfAccounts = 'SKR99';
      const company = { name: 'x', fiscalYearStart: '01-01', chartOfAccounts };
      const [, reason, message] = await configure({ setup: { ...SETUP, company } });
      assert.deepEqual([reason, setting('country')], ['ValueInvalid', '']);
      assert.match(message, /"SKR99" is not offered for Germany; use SKR03 mit Kontonummern, /);
    });

    it('reports a wizard that fails, which leaves nothing behind', async () => {
      const company = { name: 'Broken Ltd', fiscalYearStart: '01-01' };
      const expected = 'setup: the wizard failed: ValidationError: Could not find Root Type: Asset';
      assert.deepEqual(await configure({ setup: { ...SETUP, company } }), [
        ...['Failed', 'SetupFailed', expected],
        [],
      ]);
      assert.equal(setting('country'), '');
    });

    it('completes the wizard, also where a user made version-16 take it for done', async () => {
      await documents.write(user('early@example.com', { tables: roles('Website Manager') }));
      const migrated = documents.site.bench('migrate');
      assert.equal(migrated.code, 0, migrated.output);
      assert.deepEqual(await configure({ setup: SETUP }), ['Changed', '', '', ['setup']]);
      const fields = ['country', 'language', 'time_zone', 'currency'];
      assert.deepEqual(fields.map(setting), ['Germany', 'de', 'Europe/Berlin', is16 ? 'EUR' : '']);
      assert.equal((await bootOf('Administrator')).setup_complete, true);
      assert.match(
        documents.sql('SELECT `name`, `abbr`, `chart_of_accounts` FROM `tabCompany`'),
        /^Muster und Sohn.MUS.SKR03 mit Kontonummern$/,
      );
    });

    it('never changes a site whose wizard is done', async () => {
      const other = { ...SETUP, country: 'India', currency: 'INR' };
      assert.deepEqual(await configure({ setup: other }), ['Unchanged', '', '', []]);
      assert.equal(setting('country'), 'Germany');
    });

    it('writes identity providers with the addresses of the site’s version', async () => {
      const sso = [KEYCLOAK, OWN];
      const changed = await configure({ sso });
      assert.deepEqual(changed, ['Changed', '', '', ['sso.keycloak', 'sso.my_own_id']]);
      const columns = '`client_id`, `redirect_url`, `authorize_url`, `sign_ups`, `client_secret`';
      const stars = '*'.repeat(SECRET.length);
      const row = (name: string) =>
        documents
          .sql(`SELECT ${columns} FROM \`tabSocial Login Key\` WHERE \`name\` = '${name}'`)
          .split('\t');
      const method = '/api/method/frappe.integrations.oauth2_logins.';
      const tail = is16 ? 'keycloak' : 'keycloak/keycloak';
      assert.deepEqual(
        [row('keycloak')[1], row('keycloak')[2]],
        [`${method}login_via_${tail}`, '/protocol/openid-connect/auth'],
      );
      assert.deepEqual(row('my_own_id'), [
        ...['own-client', `${method}custom/my_own_id`, '/authorize', 'Allow', stars],
      ]);
      assert.deepEqual(await configure({ sso }), ['Unchanged', '', '', []]);
      assert.deepEqual(await configure({ sso: [OWN] }), ['Changed', '', '', ['sso.keycloak']]);
      assert.deepEqual(await configure({ sso: [] }), ['Changed', '', '', ['sso.my_own_id']]);
      assert.equal(documents.sql('SELECT COUNT(*) FROM `tabSocial Login Key`'), '0');
      assert.ok(!('app_operator_social_logins' in siteConfig()));
    });

    const siteConfig = () => documents.stack.bench.json(documents.site.name, 'site_config.json');

    it('leaves out a provider whose secret cannot be used, without its value', async () => {
      const cases: readonly (readonly [Readonly<Record<string, string>>, string, string])[] = [
        [{}, 'KeyMissing', 'does not exist; add the key'],
        [{ secret: '' }, 'ValueInvalid', 'is empty'],
        [{ secret: `${SECRET} ` }, 'ValueInvalid', 'has white space at its start or end'],
        [{ secret: `${SECRET}\t` }, 'ValueInvalid', 'has a tab in its value; store it without'],
      ];
      for (const [secrets, reason, words] of cases) {
        const where = 'sso[Keycloak].clientSecret: key "secret" of Secret "idp"';
        assert.deepEqual(await configure({ sso: [KEYCLOAK] }, secrets), [
          ...['Unchanged', reason, `${where} ${words}`],
          ...[[], ['sso[0]']],
        ]);
      }
      const github = { ...KEYCLOAK, provider: 'GitHub', clientSecret: ref('other') };
      const secrets = { id: 'own-client', secret: SECRET };
      const names = () => documents.sql('SELECT `name` FROM `tabSocial Login Key`');
      const [, , , keys, places] = await configure({ sso: [github, KEYCLOAK] }, secrets);
      assert.deepEqual([keys, places, names()], [['sso.keycloak'], ['sso[0]'], 'keycloak']);
      // One that was written stays as it is while its secret is missing.
      assert.deepEqual((await configure({ sso: [KEYCLOAK] }, {}))[4], ['sso[0]']);
      assert.deepEqual([names(), siteConfig()['app_operator_social_logins']], ['keycloak', ['keycloak']]); // prettier-ignore
      assert.deepEqual((await configure({ sso: [] }))[3], ['sso.keycloak']);
    });

    const SALES: Wanted = workspace('Sales Floor', {
      fields: { module: 'Desk', icon: 'tool' },
      tables: {
        ...roles('Website Manager'),
        shortcuts: [{ type: 'Dashboard', link_to: 'Floor', label: 'Floor' }],
      },
    });

    it('shows a workspace to users with its role, which opens its dashboard', async () => {
      await documents.write(
        user('ann@example.com', { tables: roles('Website Manager') }),
        user('bob@example.com', { tables: roles('Blogger') }),
        chart('People'),
        {
          ...{ doctype: 'Dashboard', name: 'Floor', fields: { dashboard_name: 'Floor' } },
          tables: { charts: [{ chart: 'People', width: 'Half' }] },
          needs: [{ doctype: 'Dashboard Chart', name: 'People' }],
        },
      );
      // Both have a desk in the cache from before.
      assert.deepEqual([await seen('ann@example.com'), await seen('bob@example.com')], [[], []]);
      assert.deepEqual(await documents.write(SALES), { 'Sales Floor': 'Created' });
      assert.deepEqual(await seen('ann@example.com'), ['Sales Floor']);
      assert.deepEqual(await seen('bob@example.com'), []);
      const page = { user: 'ann@example.com', name: 'Sales Floor' };
      assert.deepEqual(await execute('frappe.tests.desk.page_of', page), {
        shortcuts: { items: [{ label: 'Floor', type: 'Dashboard', link_to: 'Floor' }] },
        charts: { items: [] },
      });
      assert.deepEqual(await documents.write(SALES), { 'Sales Floor': 'Unchanged' });
    });

    it('answers the calls of the desk after a login, which keeps what the user has', async () => {
      const password = 'a-long-password';
      const ann = user('ann@example.com', {
        fields: { time_zone: 'Europe/Berlin', language: 'de' },
        tables: roles('Website Manager'),
        secrets: { password },
      });
      assert.deepEqual(await documents.write(ann), { 'ann@example.com': 'Changed' });
      const web = await documents.stack.bench.gunicorn();
      const Host = documents.site.name;
      const login = JSON.stringify({ usr: 'ann@example.com', pwd: password });
      const json = { Host, 'Content-Type': 'application/json' };
      const sent = await get(web.port, '/api/method/login', json, { method: 'POST', body: login });
      assert.equal(sent.status, 200, sent.body);
      const cookies = (sent.headers['set-cookie'] as string[]).map((text) => text.split(';')[0]);
      const method = '/api/method/frappe.desk.desktop.get_workspace_sidebar_items';
      const { body } = await get(web.port, method, { Host, Cookie: cookies.join('; ') });
      const { message } = JSON.parse(body) as {
        readonly message: { readonly pages: readonly { readonly name: string }[] };
      };
      assert.deepEqual(
        message.pages.map(({ name }) => name),
        ['Sales Floor'],
      );
      await web.server.stop();
      assert.deepEqual(documents.roles('ann@example.com'), ['Website Manager']);
      assert.deepEqual(await documents.write(ann), { 'ann@example.com': 'Unchanged' });
    });

    it('shows it after a migration, which deletes what has an app and no file', async () => {
      const columns = '(`name`, `label`, `app`, `standard`)';
      if (is16) documents.sql(`INSERT INTO \`tabDesktop Icon\` ${columns} VALUES ('Old', 'Old', 'erpnext', 1)`); // prettier-ignore
      const migrated = documents.site.bench('migrate');
      assert.equal(migrated.code, 0, migrated.output);
      assert.deepEqual(await seen('ann@example.com'), ['Sales Floor']);
      if (!is16) return;
      assert.equal(
        documents.sql("SELECT COUNT(*) FROM `tabDesktop Icon` WHERE `name` = 'Old'"),
        '0',
      );
    });

    it('creates it again where a migration deleted it, and otherwise keeps what a user changed', async () => {
      // A save in the desk of version-16 sets the app.
      if (is16) documents.sql("UPDATE `tabWorkspace` SET `app` = 'frappe' WHERE `name` = 'Sales Floor'"); // prettier-ignore
      const icon = "`icon` FROM `tabWorkspace` WHERE `name` = 'Sales Floor'";
      documents.sql("UPDATE `tabWorkspace` SET `icon` = 'star' WHERE `name` = 'Sales Floor'");
      assert.equal(documents.site.bench('migrate').code, 0);
      assert.equal(documents.sql(`SELECT ${icon}`), is16 ? '' : 'star');
      const again = { ...SALES, createOnly: true };
      assert.deepEqual(await documents.write(again), {
        'Sales Floor': is16 ? 'Created' : 'Unchanged',
      });
      assert.deepEqual(await seen('ann@example.com'), ['Sales Floor']);
      documents.sql("UPDATE `tabWorkspace` SET `icon` = 'star' WHERE `name` = 'Sales Floor'");
      assert.deepEqual(await documents.write(again), { 'Sales Floor': 'Unchanged' });
      assert.equal(documents.sql(`SELECT ${icon}`), 'star');
      await documents.write(SALES);
    });

    it('hides it, and deletes what showed it, but nothing of an app', async () => {
      const entries = () =>
        ['Workspace Sidebar', 'Desktop Icon'].map((doctype) =>
          is16 ? documents.sql(`SELECT COUNT(*) FROM \`tab${doctype}\``) : '0',
        );
      const hidden = { ...SALES, fields: { ...SALES.fields, is_hidden: true } };
      assert.deepEqual(await documents.write(hidden), { 'Sales Floor': 'Changed' });
      assert.deepEqual([await seen('ann@example.com'), entries()], [[], ['0', '0']]);
      assert.deepEqual(await documents.write({ ...SALES, fields: { ...SALES.fields, is_hidden: false } }), { 'Sales Floor': 'Changed' }); // prettier-ignore
      assert.deepEqual(await seen('ann@example.com'), ['Sales Floor']);
      await documents.write({ ...SALES, state: 'absent' });
      assert.deepEqual([await seen('ann@example.com'), entries()], [[], ['0', '0']]);
      if (!is16) return;
      documents.sql("INSERT INTO `tabDesktop Icon` (`name`, `label`, `app`) VALUES ('Sales Floor', 'Sales Floor', 'erpnext')"); // prettier-ignore
      await documents.write(SALES);
      await documents.write({ ...SALES, state: 'absent' });
      assert.deepEqual(entries(), ['0', '1']);
    });

    it('deletes a private workspace', async () => {
      const name = 'Mine-ann@example.com';
      const own = { label: name, title: 'Mine', public: false, for_user: 'ann@example.com' };
      const mine = workspace(name, { fields: own });
      await documents.write(mine);
      assert.deepEqual(await documents.write({ ...mine, state: 'absent' }), { [name]: 'Deleted' });
    });
  });
}
