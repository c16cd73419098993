/**
 * Upgrades to another major version by site_init.py, against real MariaDB and PostgreSQL servers: what is checked while
 * the site is open. The framework is a stand-in (testbed/stand-in, test code).
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startMariaDb } from './databases.js';
import { readySite } from './ready-site.js';
import { mounts, type ScriptResult, startRedis, temporaryDirectory } from './servers.js';
import {
  aBench,
  aSite,
  describeOnServers,
  needsStandIn,
  setAppVersion,
  type SiteJobs,
} from './site-fixture.js';

const [OLD, NEW] = ['registry/erpnext:v15.44.2', 'registry/erpnext:v16.4.1'];
const PATCH = 'frappe.patches.job_tests.old';
const OF_15 = '[tool.bench.frappe-dependencies]\nfrappe = ">=15.40.4,<16.0.0"\n';
const OF_16 = '[tool.bench.frappe-dependencies]\nfrappe = ">=16.0.0-dev,<17.0.0"\n';

const requirements = (bench: string, text: string): void => {
  writeFileSync(join(bench, 'apps/erpnext/pyproject.toml'), text);
};
const patches = (bench: string, ...lines: readonly string[]): void => {
  writeFileSync(join(bench, 'apps/frappe/frappe/patches.txt'), lines.map((l) => `${l}\n`).join(''));
};

/** The site was never closed, and has the data and the code of the previous image. */
function assertOpen(site: SiteJobs): void {
  const { code, upgrade, closings } = site.json('.app-operator.json');
  assert.deepEqual([upgrade, closings], [undefined, undefined]);
  assert.equal((code as Record<string, string>)['image'], OLD);
  const config = site.json('site_config.json');
  assert.deepEqual([config['maintenance_mode'], config['pause_scheduler']], [0, undefined]);
}

function assertRefused(site: SiteJobs, result: ScriptResult, message: RegExp): void {
  assert.equal(result.code, 1, result.output);
  assert.match(result.lastLine, message);
  assert.equal(result.terminationMessage, result.lastLine);
  assertOpen(site);
}

describeOnServers('an upgrade to another major version', (servers) => {
  const started = async (): Promise<SiteJobs> => {
    const bench = aBench('15.44.2', servers.redis);
    patches(bench, PATCH);
    return readySite(bench, servers.database, {
      IMAGE: OLD,
      KEEP_CLOSED: '1',
      SITE_APPS: '["frappe","erpnext"]',
      SITE_CONFIG: '{"maintenance_mode":0}',
    });
  };
  /** The same site with an image of version 16. */
  const to16 = (site: SiteJobs, patch?: 'half'): SiteJobs => {
    setAppVersion(site.bench, 'frappe', '16.4.1', patch);
    return site.with({ IMAGE: NEW });
  };
  const patchLog = servers.type === 'mariadb' ? '`tabPatch Log`' : '"tabPatch Log"';
  const forget = (site: SiteJobs): string =>
    servers.sqlOf(site, `DELETE FROM ${patchLog} WHERE patch = '${PATCH}'`);
  const remember = (site: SiteJobs, skipped: 0 | 1): string =>
    servers.sqlOf(
      site,
      `INSERT INTO ${patchLog} (name, patch, skipped) VALUES ('t${String(skipped)}', '${PATCH}', ${String(skipped)})`,
    );

  it('is refused while the site is open; all reasons are named, and it is tried again', async () => {
    const site = await started();
    const next = to16(site);
    const [app, away] = [join(site.bench, 'apps/erpnext'), join(site.bench, 'erpnext')];
    renameSync(app, away);
    assertRefused(
      site,
      await next.with({ SITE_APPS: '["frappe"]' }).init(),
      /^app-operator: AppNotInImage: installed on .*, but not in the image: erpnext; use an image /,
    );
    renameSync(away, app);
    requirements(site.bench, OF_15);
    forget(site);
    remember(site, 1);
    assertRefused(
      site,
      await next.init(),
      /^app-operator: AppUnsuitable: .*: erpnext 15\.1\.0 is made for frappe >=15\.40\.4,<16\.0\.0, not for 16\.4\.1; .*; PatchesPending: patches of frappe 15\.44\.2 or its apps have not run on .*: frappe\.patches\.job_tests\.old; set the previous image again, .* is open as before$/,
    );
    requirements(site.bench, OF_16);
    assertRefused(site, await next.init(), /^app-operator: PatchesPending: /);
    remember(site, 0);
    const done = await next.init();
    assert.match(done.lastLine, /"frappe": "16\.4\.1".*"migrated": true/, done.output);
    assert.equal((await next.reopen()).code, 0);
    setAppVersion(site.bench, 'frappe', '15.44.2');
    const down = await site.init();
    assert.match(
      down.lastLine,
      /^app-operator: Downgrade: .*frappe 15\.44\.2 for data of 16\.4\.1/,
    );
    assert.equal(site.json('.app-operator.json')['upgrade'], undefined);
  });

  it('is refused without room for two dumps', async (context) => {
    const site = await started();
    const sites = join(site.bench, 'sites');
    const copy = temporaryDirectory();
    cpSync(sites, copy, { recursive: true });
    if (!mounts(context, sites, '1m')) return;
    cpSync(copy, sites, { recursive: true });
    const singles = servers.quoted('tabSingles');
    const noise = randomBytes(30_000).toString('hex');
    servers.sqlOf(site, `INSERT INTO ${singles} VALUES ('n', 'n', '${noise}')`);
    for (let rows = 1; rows < 128; rows *= 2) {
      const copies = `SELECT doctype, CONCAT(field, '${String(rows)}'), value FROM ${singles}`;
      servers.sqlOf(site, `INSERT INTO ${singles} ${copies} WHERE doctype = 'n'`);
    }
    servers.sqlOf(site, `ANALYZE ${servers.type === 'mariadb' ? 'TABLE ' : ''}${singles}`);
    assertRefused(
      site,
      await to16(site).init(),
      /^app-operator: VolumeFull: the sites volume has no room for 2 dumps of .*: \d\.\d MiB free, \d\.\d MiB needed for \d+\.\d MiB of data; .* is open as before$/,
    );
  });

  // What follows is the same on both kinds of servers.
  if (servers.type === 'postgres') return;

  it('does not check a closed site: the way back is open', async () => {
    const site = await started();
    const failed = await to16(site, 'half').init();
    assert.match(failed.lastLine, /^app-operator: MigrationFailed: .* stays in maintenance/);
    requirements(site.bench, OF_15);
    assert.match((await to16(site, 'half').init()).lastLine, /^app-operator: MigrationFailed: /);
    setAppVersion(site.bench, 'frappe', '15.44.2');
    patches(site.bench, PATCH);
    const back = await site.init();
    assert.equal(back.code, 0, back.output);
    assert.equal((await site.reopen()).code, 0);
    const { code } = site.json('.app-operator.json') as { code: Record<string, string> };
    assert.equal(code['image'], OLD);
  });

  it('checks nothing within a major version', async () => {
    const site = await started();
    requirements(site.bench, OF_16);
    forget(site);
    setAppVersion(site.bench, 'frappe', '15.45.0');
    const result = await site.with({ IMAGE: 'registry/erpnext:v15.45.0' }).init();
    assert.match(result.lastLine, /"migrated": true/, result.output);
  });

  it('names patches that failed, if those of the previous image are not known', async () => {
    const site = await started();
    rmSync(site.path('.app-operator-patches.json'));
    forget(site);
    remember(site, 1);
    const next = to16(site);
    patches(site.bench, PATCH);
    assertRefused(site, await next.init(), /^app-operator: PatchesPending: .*job_tests\.old; /);
  });
});

describe('an upgrade to version 16', needsStandIn('mariadbd', 'redis-server', 'python3'), () => {
  it('is refused with a MariaDB that it does not support', async (context) => {
    const database = await startMariaDb(undefined, ['--version=10.5.9-MariaDB']);
    context.after(() => database.stop());
    const redis = await startRedis('cache');
    context.after(() => redis.stop());
    const site = aSite(aBench('15.44.2', redis), database, {
      IMAGE: OLD,
      SITE_CONFIG: '{"maintenance_mode":0}',
    });
    assert.equal((await site.init()).code, 0);
    setAppVersion(site.bench, 'frappe', '16.4.1');
    assertRefused(
      site,
      await site.with({ IMAGE: NEW }).init(),
      /^app-operator: DatabaseUnsupported: 127\.0\.0\.1:\d+: version-16 needs MariaDB 10\.6 or later: 10\.5\.9-MariaDB.*; upgrade the database server; .* is open as before$/,
    );
  });
});
