import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';

import { at, conditionOf, type Live, type Manifest } from '../cluster/support/objects.js';
import { bootIn } from '../support/desk-page.js';
import { seconds } from '../support/figures.js';
import { FRAPPE_VERSION } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { BACKUP_DESTINATION, backupsClaim } from './support/backups.js';
import type { ServerPod } from './support/database-client.js';
import { checksumsOf } from './support/database-content.js';
import {
  benchOf,
  ONE_QUEUE,
  type Place,
  secretValue,
  siteOf,
  SiteUser,
  sql,
} from './support/bench.js';

const API = 'app-operator.io/v1alpha1';
const DESK = FRAPPE_VERSION >= 16 ? '/desk' : '/app';
const SETUP = { language: 'de', country: 'Germany', timeZone: 'Europe/Berlin', currency: 'EUR' };
const KEYCLOAK = {
  provider: 'Keycloak',
  baseURL: 'https://id.example.com/realms/main',
  clientID: { value: 'desk' },
  clientSecret: { secretKeyRef: { name: 'idp', key: 'client-secret' } },
};

suite('users, desks, jobs and backups of a site', { skip }, () => {
  let cluster: E2e;
  let place: Place;
  let shop: SiteUser;
  let database: string;

  before(async () => {
    cluster = await e2e();
    place = { namespace: await cluster.namespace(), bench: 'bench' };
    await cluster.apply(
      place.namespace,
      // A scheduler would write to the database between the backup and its comparison with the
      // copy.
      benchOf('bench', { componentReplicas: { ...ONE_QUEUE.componentReplicas, scheduler: 0 } }),
      siteOf('bench', 'shop', { workloads: 'Shared', setup: SETUP, sso: [KEYCLOAK] }),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'idp' },
        stringData: { 'client-secret': 'the-secret-of-the-client' },
      },
      backupsClaim('ReadWriteOnce'),
    );
    const site = await cluster.ready('AppSite', place.namespace, 'shop', 240_000);
    database = String(at(site, 'status.database.name'));
    shop = new SiteUser(cluster, place, 'shop');
    await shop.answers();
  });

  const inShop = (
    kind: string,
    name: string,
    spec: Readonly<Record<string, unknown>>,
  ): Manifest => ({
    apiVersion: API,
    kind,
    metadata: { name },
    spec: { siteRef: { name: 'shop' }, ...spec },
  });
  const query = (text: string): Promise<string[]> =>
    sql(cluster, place, `USE \`${database}\`; ${text}`);
  const request = (path: string, options: Parameters<E2e['request']>[3] = {}) =>
    cluster.request(place.namespace, 'bench', { host: 'shop.example.com', path }, options);
  const ended = (kind: string, name: string, phase: string): Promise<Live> =>
    cluster.becomes(kind, place.namespace, name, {
      what: `is ${phase}`,
      check: (live) => at(live, 'status.phase') === phase,
      timeoutMs: 120_000,
    });

  async function logsIn(usr: string, pwd: string): Promise<number> {
    const form = new URLSearchParams({ usr, pwd });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return (await request('/api/method/login', { method: 'POST', body: form.toString(), headers }))
      .status;
  }

  const ada = inShop('SiteUser', 'ada', {
    email: 'ada@example.com',
    firstName: 'Ada',
    roles: ['System Manager'],
    passwordSecretRef: { name: 'ada-password' },
    apiKeySecretRef: { name: 'ada-api' },
    resyncInterval: '20s',
  });

  test('a user logs in with the password and the key of its Secrets; what is changed in the site is put right', async () => {
    const { namespace } = place;
    const password = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ada-password' } };
    const start = performance.now();
    await cluster.apply(
      namespace,
      { ...password, stringData: { password: 'it\'s $(a) "secret"' } },
      ada,
    );
    await cluster.ready('SiteUser', namespace, 'ada', 120_000);
    cluster.figures.add('a user, from apply until Ready', seconds(performance.now() - start));
    assert.equal(await logsIn('ada@example.com', 'it\'s $(a) "secret"'), 200);
    assert.equal(await logsIn('ada@example.com', 'another'), 401);
    const key = await secretValue(cluster, namespace, 'ada-api', 'api-key');
    const secret = await secretValue(cluster, namespace, 'ada-api', 'api-secret');
    const headers = { authorization: `token ${key}:${secret}` };
    const who = await request('/api/method/frappe.auth.get_logged_user', { headers });
    assert.deepEqual(JSON.parse(who.body), { message: 'ada@example.com' });

    await query(`UPDATE tabUser SET first_name = 'Eve' WHERE name = 'ada@example.com'`);
    await cluster.until(
      'the name to be put right',
      async () => {
        const rows = await query(`SELECT first_name FROM tabUser WHERE name = 'ada@example.com'`);
        return rows[0] === 'Ada';
      },
      90_000,
    );

    await cluster.apply(namespace, { ...password, stringData: { password: 'a new one' } });
    await cluster.until(
      'the new password',
      async () => (await logsIn('ada@example.com', 'a new one')) === 200,
      90_000,
    );
    assert.equal(await logsIn('ada@example.com', 'it\'s $(a) "secret"'), 401);
  });

  test('the first login leads to the desk, and an identity provider is offered', async () => {
    const page = await request('/login');
    const [link = ''] = /<a [^>]*btn-keycloak[^>]*>/.exec(page.body) ?? [];
    assert.match(link, /href="https:\/\/id\.example\.com\/realms\/main\/.*client_id=desk/);
    const { status, body } = await shop.read(DESK);
    assert.equal(status, 200, body);
    const boot = bootIn(body);
    assert.equal(Boolean(boot.setup_complete), true);
    assert.deepEqual([boot.lang, boot.time_zone.system], ['de', 'Europe/Berlin']);
    const site = await cluster.the('AppSite', place.namespace, 'shop');
    assert.equal(conditionOf(site, 'ConfigurationApplied')?.status, 'True');
  });

  test('one bad document of many fails alone, with the message of the framework', async () => {
    const { namespace } = place;
    const users = Array.from({ length: 30 }, (_, index) =>
      inShop('SiteUser', `many-${String(index)}`, {
        email: `many-${String(index)}@example.com`,
        firstName: 'Many',
        ...(index === 7 ? { roles: ['No Such Role'] } : {}),
      }),
    );
    await cluster.apply(namespace, ...users);
    const failed = await ended('SiteUser', 'many-7', 'Failed');
    assert.match(conditionOf(failed, 'Ready')?.message ?? '', /No Such Role/);
    for (const { metadata } of users) {
      if (metadata.name !== 'many-7')
        await cluster.ready('SiteUser', namespace, metadata.name, 120_000);
    }
    const [count] = await query(`SELECT COUNT(*) FROM tabUser WHERE name LIKE 'many-%'`);
    assert.equal(count, '29');
  });

  test('a deleted user is disabled, also while the site is in maintenance', async () => {
    const { namespace } = place;
    await cluster.patch('AppSite', namespace, 'shop', { spec: { maintenance: true } });
    await cluster.ready('AppSite', namespace, 'shop', 120_000);
    await cluster.delete('SiteUser', namespace, 'ada');
    await cluster.deleted('SiteUser', namespace, 'ada', 120_000);
    await cluster.patch('AppSite', namespace, 'shop', { spec: { maintenance: false } });
    await cluster.ready('AppSite', namespace, 'shop', 120_000);
    const rows = await query(`SELECT enabled FROM tabUser WHERE name = 'ada@example.com'`);
    assert.deepEqual(rows, ['0']);
    assert.equal(await logsIn('ada@example.com', 'a new one'), 401);
  });

  test('a chart, its dashboard and their workspace are made in the order of their references', async () => {
    const { namespace } = place;
    await cluster.apply(
      namespace,
      inShop('SiteWorkspace', 'sales', {
        title: 'Sales',
        charts: [{ label: 'Users', chart: { name: 'users' } }],
      }),
      inShop('SiteDashboard', 'people', {
        dashboardName: 'People',
        charts: [{ chart: { name: 'users' } }],
      }),
    );
    await cluster.becomes('SiteDashboard', namespace, 'people', {
      what: 'waits for its chart',
      check: (live) => conditionOf(live, 'Ready')?.reason === 'ChartMissing',
    });
    await cluster.apply(
      namespace,
      inShop('SiteDashboardChart', 'users', {
        chartName: 'Users by Day',
        chartType: 'Count',
        documentType: 'User',
        basedOn: 'creation',
      }),
    );
    for (const [kind, name] of [
      ['SiteDashboardChart', 'users'],
      ['SiteDashboard', 'people'],
      ['SiteWorkspace', 'sales'],
    ] as const) {
      await cluster.ready(kind, namespace, name, 120_000);
    }
    const linked = await query(
      "SELECT parent FROM `tabDashboard Chart Link` WHERE chart = 'Users by Day' UNION ALL SELECT parent FROM `tabWorkspace Chart` WHERE chart_name = 'Users by Day'",
    );
    assert.deepEqual(linked.sort(), ['People', 'Sales']);
    await cluster.delete('SiteWorkspace', namespace, 'sales');
    await cluster.deleted('SiteWorkspace', namespace, 'sales', 120_000);
    assert.deepEqual(await query("SELECT name FROM tabWorkspace WHERE name = 'Sales'"), []);
  });

  test('a job runs once with its arguments as they are, and reports how it ended', async () => {
    const { namespace } = place;
    await cluster.apply(
      namespace,
      inShop('SiteJob', 'note', {
        command: ['set-config', 'note', `it's "quoted" $(touch /tmp/x); \`id\``],
      }),
      inShop('SiteJob', 'wrong', { command: ['no-such-command'] }),
    );
    const note = await ended('SiteJob', 'note', 'Succeeded');
    assert.equal(at(note, 'status.exitCode'), 0);
    const wrong = await ended('SiteJob', 'wrong', 'Failed');
    assert.notEqual(at(wrong, 'status.exitCode'), 0);
    assert.match(String(at(wrong, 'status.log')), /no-such-command/);
    const jobOf = async (live: Live): Promise<string | undefined> =>
      (await cluster.the('Job', namespace, String(at(live, 'status.job')))).metadata.uid;
    const first = await jobOf(note);
    await cluster.apply(namespace, inShop('SiteJob', 'note', { command: ['list-apps'] }));
    const again = await cluster.becomes('SiteJob', namespace, 'note', {
      what: 'ran again',
      check: (live) =>
        at(live, 'status.phase') === 'Succeeded' &&
        String(at(live, 'status.log')).includes('frappe'),
      timeoutMs: 120_000,
    });
    assert.notEqual(await jobOf(again), first);
  });

  test('a backup is stored, and a new site is made of it with the same rows and files', async () => {
    const { namespace } = place;
    await shop.remember('a row to keep');
    assert.equal((await shop.upload('kept.txt', 'a file to keep')).status, 200);
    const start = performance.now();
    await cluster.apply(
      namespace,
      inShop('SiteBackup', 'once', { destination: BACKUP_DESTINATION }),
    );
    const backup = await ended('SiteBackup', 'once', 'Succeeded');
    cluster.figures.add('a backup, from apply until stored', seconds(performance.now() - start));
    assert.equal(at(backup, 'status.count'), 1);
    assert.equal(at(backup, 'status.backups.0.complete'), true);
    const again = performance.now();
    await cluster.apply(
      namespace,
      siteOf('bench', 'copy', {
        workloads: 'Shared',
        restoreFrom: { backupRef: { name: 'once' } },
      }),
    );
    const copy = new SiteUser(cluster, place, 'copy');
    await cluster.ready('AppSite', namespace, 'copy', 240_000);
    cluster.figures.add('a site made of a backup, until Ready', seconds(performance.now() - again));
    await copy.answers();
    assert.equal(await copy.remembers('a row to keep'), 1);
    const { status, body } = await copy.read('/private/files/kept.txt');
    assert.deepEqual([status, body], [200, 'a file to keep']);
    const site = await cluster.the('AppSite', namespace, 'copy');
    const name = String(at(site, 'status.database.name'));
    const server: ServerPod = { namespace, pod: 'bench-db-0', provider: 'mariadb' };
    const [before, after] = [
      await checksumsOf(cluster, server, database),
      await checksumsOf(cluster, server, name),
    ];
    assert.deepEqual(
      after.map((row) => row.split('\t')[0]),
      before.map((row) => row.split('\t')[0]),
    );
    const other = after.filter((row) => !before.includes(row)).map((row) => row.split('\t')[0]);
    cluster.figures.add(
      'tables of the restored site, and the tables that differ',
      `${after.length}: ${other.join(', ')}`,
    );
    // Administrator has another password, and a migration is noted: from version 16 on also in the
    // settings, since a site with users needs no wizard.
    const settings = FRAPPE_VERSION >= 16 ? ['tabSingles'] : [];
    const expected = ['tabInstalled Application', 'tabUser', ...settings];
    assert.deepEqual(
      other.filter((table) => !expected.includes(table ?? '')),
      [],
    );
  });
});
