/**
 * site_init.py on a site that is there, against real MariaDB and PostgreSQL servers and a real Redis. The framework is a stand-in
 * (testbed/stand-in, test code): real SQL, real files, the real one's refusals.
 */
import assert from 'node:assert/strict';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { rowsOf } from './backup-fixture.js';
import { readySite } from './ready-site.js';
import {
  AT_ONCE,
  KEY,
  aBench,
  aSite,
  databaseOf,
  describeOnServers,
  setAppVersion,
} from './site-fixture.js';

const V15 = '15.44.2';

describeOnServers('site_init.py on an existing site', (servers) => {
  it('sets changed passwords of the Administrator and the database user', async () => {
    const site = await readySite(servers.bench, servers.database);
    const changed = site.with({ ADMIN_PASSWORD: 'new-admin', DB_PASSWORD: 'new-db' });
    const result = await changed.init();
    assert.equal(result.code, 0, result.output);
    assert.match(result.output, /set the Administrator's password/);
    assert.equal(site.json('site_config.json')['db_password'], 'new-db');
    assert.doesNotMatch((await changed.init()).output, /set the Administrator's password/);
  });

  it('takes a byte order mark and a line break of each Secret away', async () => {
    const { adminUser, adminPassword } = servers.database;
    const site = aSite(servers.bench, servers.database, {
      DB_ROOT_USER: `${adminUser}\n`,
      DB_ROOT_PASSWORD: `\ufeff${adminPassword}\r\n`,
      DB_PASSWORD: '\ufeffplain-password\n',
      ADMIN_PASSWORD: 'plain-admin\r\n',
      ENCRYPTION_KEY: `${KEY}\n`,
    });
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
    const { db_password, encryption_key } = site.json('site_config.json');
    assert.deepEqual([db_password, encryption_key], ['plain-password', KEY]);
    const again = site.with({
      DB_ROOT_USER: adminUser,
      DB_ROOT_PASSWORD: adminPassword,
      DB_PASSWORD: 'plain-password',
      ADMIN_PASSWORD: 'plain-admin',
      ENCRYPTION_KEY: KEY,
    });
    assert.doesNotMatch((await again.init()).output, /set the Administrator's password/);
  });

  it('keeps the encryption key that an earlier release wrote with its line break', async () => {
    const site = await readySite(servers.bench, servers.database);
    const config = { ...site.json('site_config.json'), encryption_key: `${KEY}\n` };
    writeFileSync(site.path('site_config.json'), JSON.stringify(config));
    const result = await site.with({ ENCRYPTION_KEY: `${KEY}\n` }).init();
    assert.equal(result.code, 0, result.output);
    assert.equal(site.json('site_config.json')['encryption_key'], `${KEY}\n`);
  });

  it('refuses other control characters by the name of the key, without the value', async () => {
    const site = await readySite(servers.bench, servers.database, AT_ONCE);
    const key = 'key "password" of Secret "mine"';
    for (const name of ['ADMIN_PASSWORD', 'DB_PASSWORD', 'DB_ROOT_PASSWORD', 'DB_ROOT_USER']) {
      const stored = { [name]: 'hunter2\thunter2', ENV_SOURCES: JSON.stringify([[name, key]]) };
      const result = await site.with(stored).init();
      assert.equal(
        result.lastLine,
        `app-operator: SecretInvalid: ${key} has a tab in its value; store it without`,
        name,
      );
      assert.doesNotMatch(result.output, /hunter2/, name);
    }
  });

  it('migrates in maintenance when the image’s code changed, and restores the settings', async () => {
    const own = aBench(V15, servers.redis);
    const site = await readySite(own, servers.database, { SITE_APPS: '["frappe","erpnext"]' });
    setAppVersion(own, 'erpnext', '15.2.0');
    const result = await site.init();
    assert.match(result.lastLine, /"erpnext": "15.2.0".*"migrated": true/);
    assert.equal(servers.sqlOf(site, `SELECT * FROM ${servers.quoted('tabMigration')}`), '1\t1');
    assert.equal(site.json('site_config.json')['maintenance_mode'], undefined);
    assert.match((await site.init()).lastLine, /"migrated": false/);
  });

  it('leaves the site in maintenance after a failed migration, and recovers with a working image', async () => {
    const own = aBench(V15, servers.redis);
    const site = await readySite(own, servers.database, {
      SITE_CONFIG: '{"maintenance_mode":null}',
    });
    setAppVersion(own, 'frappe', '15.45.0', 'fail');
    const failed = await site.init();
    assert.match(
      failed.lastLine,
      /^app-operator: MigrationFailed: .* stays in maintenance, its backup is .*patch of frappe failed/,
    );
    assert.equal((await site.init()).code, 1, 'a second try does not take it out of maintenance');
    assert.equal(site.json('site_config.json')['maintenance_mode'], 1);
    setAppVersion(own, 'frappe', '15.45.1');
    assert.match((await site.init()).lastLine, /"migrated": true/);
    assert.equal(site.json('site_config.json')['maintenance_mode'], undefined);
    assert.equal(site.json('site_config.json')['pause_scheduler'], undefined);
  });

  it('changes nothing when it runs again, also on a copy that other tests use', async () => {
    const [made, copied] = [
      await readySite(servers.bench, servers.database, { SITE_REVISION: 'r2' }),
      await readySite(servers.bench, servers.database, { SITE_REVISION: 'r2' }),
    ];
    assert.deepEqual(rowsOf(servers, copied), rowsOf(servers, made));
    const [first, second] = [made, copied].map((site) =>
      servers.rightsOf(databaseOf(site)).replaceAll(/\bs\d+/g, 's'),
    );
    assert.equal(second, first);
    for (const site of [made, copied]) {
      const files = ['.app-operator.json', 'site_config.json'].map((name) => site.path(name));
      const before = files.map((file) => statSync(file).mtimeMs);
      const again = await site.init();
      assert.match(again.lastLine, /"created": false.*"migrated": false/);
      assert.deepEqual(
        files.map((file) => statSync(file).mtimeMs),
        before,
      );
    }
  });

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  // The framework registers an app, and commits that, before it runs the app's after_install.
  for (const [pause, app] of [
    ['STANDIN_PAUSE', 'erpnext'],
    ['STANDIN_PAUSE_REGISTERED', 'erpnext'],
    ['STANDIN_PAUSE', 'hrms'],
    ['STANDIN_PAUSE_REGISTERED', 'hrms'],
  ] as const) {
    it(`installs hrms and what it requires where ${app} was killed in ${pause}`, async () => {
      const own = aBench(V15, servers.redis);
      const before = app === 'erpnext' ? '["frappe"]' : '["frappe","erpnext"]';
      const site = await readySite(own, servers.database, { SITE_APPS: before });
      const withApps = site.with({ SITE_APPS: '["frappe","hrms"]' });
      const counted =
        pause === 'STANDIN_PAUSE'
          ? `${servers.quoted('tabModule Def')} WHERE name = '${app}'`
          : `${servers.quoted('tabDefaultValue')} WHERE defkey = 'installed_apps' AND defvalue LIKE '%"${app}"%'`;
      const isPausing = (): boolean =>
        servers.sqlOf(site, `SELECT COUNT(*) FROM ${counted}`) === '1';
      const killed = await withApps.with({ [pause]: '60' }).init(isPausing);
      assert.equal(killed.code, null, killed.output);
      assert.equal(site.json('.app-operator.json')['installing'], app);
      const result = await withApps.init();
      assert.match(result.lastLine, /"erpnext": "15.1.0", "hrms": "15.1.0"/, result.output);
      const ended = `SELECT doctype FROM ${servers.quoted('tabSingles')} WHERE field = 'after_install' ORDER BY doctype`;
      assert.equal(servers.sqlOf(site, ended), 'erpnext\nhrms');
      assert.equal(site.json('.app-operator.json')['installing'], undefined);
      const again = await withApps.init();
      assert.doesNotMatch(again.output, /^installing /m);
      assert.match(again.lastLine, /"migrated": false/);
    });
  }

  it('names a half installed app that is not wanted any more, until it is uninstalled', async () => {
    const own = aBench(V15, servers.redis);
    const site = await readySite(own, servers.database, { SITE_APPS: '["frappe"]' });
    const registered = `SELECT COUNT(*) FROM ${servers.quoted('tabDefaultValue')} WHERE defkey = 'installed_apps' AND defvalue LIKE '%"erpnext"%'`;
    const isPausing = (): boolean => servers.sqlOf(site, registered) === '1';
    const wanting = site.with({ SITE_APPS: '["frappe","erpnext"]' });
    const killed = await wanting.with({ STANDIN_PAUSE_REGISTERED: '60' }).init(isPausing);
    assert.equal(killed.code, null, killed.output);
    const refused = await site.init();
    assert.match(
      refused.lastLine,
      /^app-operator: AppInstallFailed: erpnext is half installed on .* add it to the apps/,
    );
    servers.sqlOf(
      site,
      `UPDATE ${servers.quoted('tabDefaultValue')} SET defvalue = '["frappe"]' WHERE defkey = 'installed_apps'`,
    );
    const without = await site.init();
    assert.equal(without.code, 0, without.output);
    const completed = await wanting.init();
    assert.match(completed.lastLine, /"erpnext": "15.1.0"/, completed.output);
  });

  it('keeps the site’s encryption key and rejects another one before it changes the site', async () => {
    const site = await readySite(servers.bench, servers.database);
    const result = await site.with({ ENCRYPTION_KEY: 'another', DB_PASSWORD: 'another-pw' }).init();
    assert.match(result.lastLine, /^app-operator: EncryptionKeyMismatch: /);
    assert.equal(site.json('site_config.json')['encryption_key'], KEY);
    assert.equal((await site.init()).code, 0, 'the old password still works');
  });

  it('uses the Secret’s encryption key if the site has none', async () => {
    const site = await readySite(servers.bench, servers.database);
    const { encryption_key: _, ...without } = site.json('site_config.json');
    writeFileSync(site.path('site_config.json'), JSON.stringify(without));
    assert.equal((await site.init()).code, 0);
    assert.equal(site.json('site_config.json')['encryption_key'], KEY);
  });

  it('deletes a key that is null, keeps other keys, rejects keys that it owns', async () => {
    const site = await readySite(servers.bench, servers.database, {
      SITE_CONFIG: '{"host_name":"https://x","mute_emails":1}',
    });
    const config = { ...site.json('site_config.json'), user_key: 'mine' };
    writeFileSync(site.path('site_config.json'), JSON.stringify(config));
    await site.with({ SITE_CONFIG: '{"host_name":null,"mute_emails":1}' }).init();
    const now = site.json('site_config.json');
    assert.deepEqual(
      [now['host_name'], now['mute_emails'], now['user_key']],
      [undefined, 1, 'mine'],
    );
    const refused = await site.with({ SITE_CONFIG: '{"db_name":"x"}' }).init();
    assert.equal(refused.lastLine, 'app-operator: InvalidInput: SITE_CONFIG may not set db_name');
  });

  it('rejects wanted and installed apps that are not in the image', async () => {
    const own = aBench(V15, servers.redis);
    const site = aSite(own, servers.database, { SITE_APPS: '["frappe","hrms"]' });
    const wanted = await site.with({ SITE_APPS: '["wiki"]' }).init();
    assert.match(
      wanted.lastLine,
      /^app-operator: AppNotInImage: not in the image: wiki; the image holds: /,
    );
    await site.init();
    rmSync(join(own, 'apps/hrms'), { recursive: true });
    const lost = await site.with({ SITE_APPS: '["frappe"]' }).init();
    assert.match(
      lost.lastLine,
      /^app-operator: AppNotInImage: installed on .*, but not in the image: hrms; use an image that holds them, or uninstall them with the previous image first$/,
    );
  });
});
