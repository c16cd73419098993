/**
 * site_init.py taking a site over that the framework alone has made, against real MariaDB and PostgreSQL servers
 * and a real Redis. The site is as the chart's Job leaves it: a folder without a marker, whose configuration
 * alone has the database's password.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { filesBelow } from '../../testbed/stand-in/sources.js';
import { rowsOf } from './backup-fixture.js';
import { readySite } from './ready-site.js';
import {
  AT_ONCE,
  type SiteConfig,
  type SiteJobs,
  aBench,
  aSite,
  databaseOf,
  describeOnServers,
  setAppVersion,
} from './site-fixture.js';

const V15 = '15.44.2';
/** What an AppSite with `adopt` gives its init Job: no login but the site's own, and no password. */
const ADOPT = { ADOPT: '1', DB_PASSWORD: '', ADMIN_PASSWORD: '', DB_ROOT_PASSWORD: '' };

describeOnServers('site_init.py with ADOPT', (servers) => {
  const configure = (site: SiteJobs, change: SiteConfig): void => {
    const config = { ...site.json('site_config.json'), ...change };
    writeFileSync(site.path('site_config.json'), JSON.stringify(config));
  };
  /** Every file but those of locks, by path. */
  const filesIn = (site: SiteJobs): Record<string, string> =>
    Object.fromEntries(
      filesBelow(site.path())
        .filter((file) => !/[.]lock$|\/locks\//.test(file))
        .map((file) => [file, readFileSync(file, 'base64')]),
    );
  /** A site that no operator has made. */
  const foreign = async (bench = servers.bench): Promise<SiteJobs> => {
    const site = await readySite(bench, servers.database, { SITE_APPS: '["frappe","erpnext"]' });
    rmSync(site.path('.app-operator.json'));
    configure(site, { app_operator_owner: undefined, encryption_key: 'its-own-key' });
    mkdirSync(site.path('private/files'), { recursive: true });
    writeFileSync(site.path('private/files/paper.txt'), 'of the site');
    return site;
  };
  it('keeps rows, files, keys, passwords and the scheduler, and migrates nothing', async () => {
    const site = await foreign();
    const table = servers.quoted('tabSingles');
    servers.sqlOf(site, `UPDATE ${table} SET value = '0' WHERE field = 'enable_scheduler'`);
    const config = site.json('site_config.json');
    const rows = rowsOf(servers, site);
    const result = await site.with(ADOPT).init();
    assert.equal(result.code, 0, result.output);
    assert.match(result.lastLine, /"created": false, .*"migrated": false\}$/);
    assert.deepEqual(rowsOf(servers, site), rows);
    assert.equal(readFileSync(site.path('private/files/paper.txt'), 'utf8'), 'of the site');
    const { app_operator_owner: owner, ...rest } = site.json('site_config.json');
    assert.match(String(owner), /^team\/shop/);
    assert.deepEqual(rest, config);
    assert.equal(site.json('.app-operator.json')['state'], 'complete');
    assert.doesNotMatch(result.output, /its-own-key|quoted|set the Administrator/);
    const again = await site.with(ADOPT).init();
    assert.match(again.lastLine, /"migrated": false\}$/);
    assert.deepEqual(rowsOf(servers, site), rows);
  });

  it('gives a site without a key that of the Secret', async () => {
    const site = await foreign();
    configure(site, { encryption_key: undefined });
    const result = await site.with({ ...ADOPT, ENCRYPTION_KEY: 'made' }).init();
    assert.equal(result.code, 0, result.output);
    assert.equal(site.json('site_config.json')['encryption_key'], 'made');
  });

  /** As the framework's own migration records the versions: none before a site's first one. */
  const record = (site: SiteJobs, versions: Readonly<Record<string, string>>): void => {
    const table = servers.quoted('tabInstalled Application');
    for (const [app, version] of Object.entries(versions)) {
      servers.sqlOf(
        site,
        `INSERT INTO ${table} (name, app_name, app_version) VALUES ('${app}', '${app}', '${version}')`,
      );
    }
  };

  it('migrates nothing where the recorded versions are those of the image', async () => {
    const site = await foreign();
    record(site, { frappe: V15, erpnext: '15.1.0' });
    assert.match((await site.with(ADOPT).init()).lastLine, /"migrated": false\}$/);
  });

  it('migrates data of older code, with a backup, and refuses that of newer code', async () => {
    const site = await foreign();
    record(site, { frappe: V15, erpnext: '15.0.9' });
    const result = await site.with(ADOPT).init();
    assert.match(result.lastLine, /"erpnext": "15.1.0".*"migrated": true/, result.output);
    const newer = await foreign();
    record(newer, { frappe: V15, erpnext: '15.2.0' });
    const rows = rowsOf(servers, newer);
    const refused = await newer.with({ ...ADOPT, ...AT_ONCE }).init();
    assert.match(refused.lastLine, /^app-operator: Downgrade: older code cannot work on /);
    assert.deepEqual(rowsOf(servers, newer), rows);
  });

  it('migrates data without recorded versions that lacks a patch of the image', async () => {
    const own = aBench(V15, servers.redis);
    const site = await foreign(own);
    setAppVersion(own, 'erpnext', '15.1.0', 'fail');
    assert.match((await site.with(ADOPT).init()).lastLine, /^app-operator: MigrationFailed: /);
  });

  it('sets the password of the Administrator only where it is given', async () => {
    const site = await foreign();
    const result = await site.with({ ...ADOPT, ADMIN_PASSWORD: 'another' }).init();
    assert.match(result.output, /set the Administrator's password/);
  });

  it('refuses, and touches nothing', async () => {
    type Change = (site: SiteJobs) => SiteJobs;
    const changed =
      (change: SiteConfig): Change =>
      (site) => {
        configure(site, change);
        return site.with(ADOPT);
      };
    const CASES: readonly (readonly [Change, RegExp])[] = [
      [
        (site) =>
          site.with({ ...ADOPT, ADOPT: '', DB_PASSWORD: 'site "quoted\' pw', ADMIN_PASSWORD: 'x' }),
        /^app-operator: SiteNotOwned: the folder of \S+ has a site that the operator has not made; /,
      ],
      [
        changed({ db_name: 'of_others' }),
        /^app-operator: DatabaseNameMismatch: \S+ uses the database of_others, not s\d+_shop; nothing was touched$/,
      ],
      [
        changed({ app_operator_owner: 'other/site' }),
        /^app-operator: SiteOwnedByOther: \S+ belongs to other\/site, not to team\//,
      ],
      [
        changed({ db_user: 'someone' }),
        /^app-operator: DatabaseUserUnsupported: the database's user of \S+ is someone: /,
      ],
      [
        changed({ db_password: undefined }),
        /^app-operator: SiteIncomplete: \S+ has no db_password: /,
      ],
      [changed({ db_password: 'wrong' }), /^app-operator: DatabaseAccessDenied: /],
      [
        changed({ db_host: 'elsewhere' }),
        /^app-operator: DatabaseServerMismatch: the database of \S+ is on elsewhere, not on 127\.0\.0\.1: /,
      ],
      [changed({ db_name: undefined }), /^app-operator: SiteMissing: spec\.adopt is true, but /],
      [changed({ db_name: 5 }), /^app-operator: UnsafeFile: /],
      [
        (site) => {
          writeFileSync(
            site.path('.app-operator.json'),
            '{"owner":"other/site","state":"creating"}',
          );
          return site.with(ADOPT);
        },
        /^app-operator: SiteOwnedByOther: /,
      ],
      [
        (site) => {
          const marker = { owner: `team/${site.name.split('.')[0] ?? ''}`, state: 'creating' };
          writeFileSync(site.path('.app-operator.json'), JSON.stringify(marker));
          return site.with(ADOPT);
        },
        /^app-operator: SiteIncomplete: \S+ is being created by the operator: /,
      ],
    ];
    for (const [change, message] of CASES) {
      const site = await foreign();
      const database = databaseOf(site);
      const asked = change(site).with(AT_ONCE);
      const files = filesIn(site);
      const result = await asked.init();
      assert.match(result.lastLine, message, result.output);
      assert.deepEqual(filesIn(site), files, String(message));
      assert.ok(servers.hasDatabase(database), String(message));
    }
  });

  it('creates nothing where there is no folder', async () => {
    const site = aSite(servers.bench, servers.database, { ...ADOPT, ...AT_ONCE });
    const result = await site.init();
    assert.match(result.lastLine, /^app-operator: SiteMissing: .* nothing was created$/);
    assert.ok(!site.exists());
  });
});
