/**
 * The commands of the image against the behavior of the real framework 15.44.2 (read and run, see
 * docs/contributing/stand-in-image.md): each row is a command, its exit code, and its output. Rows of a table
 * build on each other. What version-16 does otherwise is in docs/contributing/frappe-16.md, Commands.
 */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { redisCli } from '../jobs/servers.js';
import { type CommandResult, describeOnServers, type Stack } from './fixture.js';

interface Row {
  readonly run: readonly string[];
  readonly code: number;
  readonly output?: RegExp;
}

function check(stack: Stack, rows: readonly Row[]): void {
  for (const { run, code, output } of rows) {
    const done = stack.bench.bench(...run);
    const what = `bench ${run.join(' ')}\n${done.output.slice(-600)}`;
    assert.equal(done.code, code, what);
    if (output !== undefined) assert.match(done.output, output, what);
  }
}

/**
 * The flags of `new-site` with an administrator's login, for a database that is named like the
 * site.
 */
function newSite(stack: Stack, site: string, change: Readonly<Record<string, string>> = {}) {
  const { database } = stack;
  const flags: Readonly<Record<string, string>> = {
    'db-type': database.type,
    'db-host': '127.0.0.1',
    'db-port': String(database.port),
    'db-name': site.replaceAll(/\W/g, '_'),
    'db-password': 'site-password',
    'db-root-username': database.adminUser,
    'db-root-password': database.adminPassword,
    'admin-password': 'admin',
    ...change,
  };
  const scope = database.type === 'mariadb' ? ['--no-mariadb-socket'] : [];
  const values = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  return ['new-site', site, ...values, ...scope];
}

const kwargs = (value: Readonly<Record<string, unknown>>): string =>
  `--kwargs=${JSON.stringify(value)}`;

await describeOnServers('commands of the framework image', (stack) => {
  it('new-site: creates a site, refuses an existing one, leaves half a site after a wrong password', () => {
    const w = stack();
    // The administrator connects to a database that is named like the login.
    if (w.database.type === 'postgres') {
      check(w, [{ run: newSite(w, 'nodb.example'), code: 1, output: /"dbadmin" does not exist/ }]);
      w.database.sql('CREATE DATABASE dbadmin');
    }
    const wrong = newSite(w, 'half.example', { 'db-root-password': 'wrong' });
    check(w, [
      { run: newSite(w, 'a.example'), code: 0, output: /\*\*\* Scheduler is disabled \*\*\*/ },
      { run: newSite(w, 'a.example'), code: 1, output: /Site a\.example already exists/ },
      { run: wrong, code: 1 },
      { run: newSite(w, 'half.example'), code: 1, output: /Site half\.example already exists/ },
    ]);
    // The configuration of the first attempt stays, and --force continues with it.
    assert.ok(w.bench.exists('half.example', 'site_config.json'));
    check(w, [
      { run: [...newSite(w, 'half.example'), '--force'], code: 0 },
      {
        run: [...newSite(w, 'c.example'), '--db-user=c'],
        code: 2,
        output: /No such option: --db-user/,
      },
      { run: [...newSite(w, 'c.example'), '--db-socket=c'], code: 2, output: /No such option/ },
      { run: newSite(w, 'c.example', { 'db-type': 'sqlite' }), code: 2, output: /sqlite/ },
      { run: newSite(w, 'hrms'), code: 1, output: /an app called hrms/ },
      { run: newSite(w, 'c.example', { 'db-root-password': '' }), code: 1, output: /Aborted!/ },
    ]);
  });

  it('new-site: an existing database is dropped on PostgreSQL, refused on MariaDB', () => {
    const w = stack();
    const exists = /Database a_example already exists/;
    const [code, output] =
      w.database.type === 'mariadb' ? [1, exists] : [0, /Scheduler is disabled/];
    check(w, [{ run: newSite(w, 'thief.example', { 'db-name': 'a_example' }), code, output }]);
    rmSync(join(w.bench.sites, 'thief.example'), { recursive: true, force: true });
    check(w, [{ run: [...newSite(w, 'a.example'), '--force'], code: 0 }]);
  });

  it('new-site --no-setup-db: a prepared database needs no administrator', () => {
    const w = stack();
    const { type, sql } = w.database;
    if (type === 'mariadb') {
      sql("CREATE USER prepared@'%' IDENTIFIED BY 'p'; CREATE DATABASE prepared");
      sql("GRANT ALL ON prepared.* TO prepared@'%'");
    } else {
      sql("CREATE ROLE prepared LOGIN PASSWORD 'p'");
      sql('CREATE DATABASE prepared OWNER prepared');
    }
    const flags = [
      ...[`--db-type=${type}`, '--db-host=127.0.0.1', `--db-port=${String(w.database.port)}`],
      ...['--db-password=p', '--admin-password=admin', '--no-setup-db'],
    ];
    check(w, [
      { run: ['new-site', 'p.example', ...flags, '--db-name=prepared'], code: 0 },
      // version-15 knows no user but the one that is named like the database.
      { run: ['new-site', 'q.example', ...flags, '--db-name=another'], code: 1, output: /another/ },
    ]);
  });

  it('chooses sites: none, unknown, all', () => {
    const w = stack();
    const missing = ['--site', 'missing.example'];
    check(w, [
      { run: ['migrate'], code: 1, output: /Please specify --site/ },
      { run: [...missing, 'migrate'], code: 1, output: /Site missing\.example does not exist!/ },
      { run: [...missing, 'backup'], code: 1, output: /Backup failed for Site missing\.example/ },
      { run: [...missing, 'execute', 'frappe.get_installed_apps'], code: 1 },
      {
        run: ['drop-site', 'missing.example', '--force', '--no-backup'],
        code: 1,
        output: /does not exist/,
      },
      { run: ['--site', 'all', 'enable-scheduler'], code: 1, output: /c_example/ }, // half made
    ]);
    for (const half of ['c.example', 'nodb.example', 'q.example']) {
      rmSync(join(w.bench.sites, half), { recursive: true, force: true });
    }
    check(w, [
      { run: ['--site', 'all', 'enable-scheduler'], code: 0, output: /Enabled for a\.example/ },
    ]);
  });

  it('apps: in the image or not, installed or not', () => {
    const w = stack();
    const a = (...run: readonly string[]) => ['--site', 'a.example', ...run];
    check(w, [
      { run: a('list-apps', '-f', 'json'), code: 0, output: /^\{"a\.example": \[\]\}$/m },
      { run: a('execute', 'frappe.get_installed_apps'), code: 0, output: /^\["frappe"\]$/m },
      { run: a('install-app', 'frappe'), code: 0, output: /App frappe already installed/ },
      { run: a('install-app', 'nope'), code: 1, output: /Could not find app "nope"/ },
      { run: a('uninstall-app', 'nope', '--yes', '--no-backup'), code: 1 },
      {
        run: a('uninstall-app', 'hrms', '--yes'),
        code: 0,
        output: /App hrms not installed on Site/,
      },
      { run: a('uninstall-app', 'frappe', '--yes'), code: 1 },
      { run: a('install-app', 'hrms'), code: 0, output: /Installing erpnext[^]*Installing hrms/ },
      { run: a('uninstall-app', 'erpnext', '--yes'), code: 0, output: /is a dependency of hrms/ },
      { run: a('list-apps'), code: 0, output: /frappe\nerpnext\nhrms/ },
      { run: a('migrate'), code: 0, output: /Migrating a\.example/ },
      { run: a('list-apps', '-f', 'json'), code: 0, output: /\["frappe", "erpnext", "hrms"\]/ },
      { run: a('uninstall-app', 'hrms', '--yes', '--no-backup'), code: 0 },
      {
        run: a('execute', 'frappe.get_installed_apps'),
        code: 0,
        output: /^\["frappe", "erpnext"\]$/m,
      },
      { run: ['version'], code: 0, output: /erpnext 15\.40\.0\nfrappe 15\.44\.2/ },
    ]);
  });

  it('configuration: values, deletion, the bench, modes', () => {
    const w = stack();
    const a = (...run: readonly string[]) => ['--site', 'a.example', ...run];
    check(w, [
      { run: a('set-config', 'one', '1'), code: 0 },
      { run: a('set-config', 'yes', 'true'), code: 0 },
      { run: a('set-config', '-p', 'list', '[1, "x"]'), code: 0 },
      { run: a('set-config', 'removed', 'x'), code: 0 },
      { run: a('set-config', 'removed', 'None'), code: 0 },
      { run: ['set-config', '-gp', 'http_timeout', '30'], code: 0 },
      { run: ['set-config', 'no_site', '1'], code: 1, output: /Please specify --site/ },
      { run: a('set-maintenance-mode', 'on'), code: 0 },
      { run: a('set-maintenance-mode', 'off'), code: 0 },
      { run: a('scheduler', 'pause'), code: 0, output: /Scheduler is paused/ },
      { run: a('scheduler', 'status'), code: 0, output: /Scheduler is disabled/ },
      { run: a('scheduler', 'resume'), code: 0 },
      { run: a('set-maintenance-mode', 'maybe'), code: 2, output: /Invalid value/ },
    ]);
    const {
      one,
      yes,
      list,
      removed,
      maintenance_mode: mode,
    } = w.bench.json('a.example', 'site_config.json');
    assert.deepEqual(
      { one, yes, list, removed, mode },
      { one: 1, yes: true, list: [1, 'x'], removed: undefined, mode: 0 },
    );
    assert.equal(w.bench.json('common_site_config.json')['http_timeout'], 30);
  });

  it('keeps the manifest of assets through clear-cache, and loses it with bench_init.py', async () => {
    const w = stack();
    const cache = (...args: readonly string[]): string =>
      redisCli(w.cache.port, w.cache.password, ...args);
    cache('SET', 'assets_json', 'stale');
    check(w, [{ run: ['--site', 'a.example', 'clear-cache'], code: 0 }]);
    assert.equal(cache('GET', 'assets_json'), 'stale');
    assert.equal((await w.initBench()).code, 0);
    assert.equal(cache('EXISTS', 'assets_json'), '0');
  });

  it('passwords and functions', () => {
    const w = stack();
    const a = (...run: readonly string[]) => ['--site', 'a.example', ...run];
    check(w, [
      { run: a('set-admin-password', 'second'), code: 0 },
      { run: a('set-password', 'absent@example.com', 'x'), code: 1, output: /does not exist/ },
      { run: a('execute', 'os.getcwd'), code: 1, output: /App os is not installed/ },
      {
        run: a('execute', 'frappe.client.insert', kwargs({ doc: { doctype: 'Note', title: 'n' } })),
        code: 0,
        output: /"name": "n"/,
      },
      {
        run: a('execute', 'frappe.client.insert', kwargs({ doc: { doctype: 'Note', title: 'n' } })),
        code: 1,
        output: /DuplicateEntryError/,
      },
    ]);
  });

  it('migrate: needs redis_cache', () => {
    const w = stack();
    const common = w.bench.json('common_site_config.json');
    const cache = String(common['redis_cache']).replace(/:\d+$/, ':9');
    const refused = w.bench.run(['bench', '--site', 'a.example', 'migrate'], {
      FRAPPE_REDIS_CACHE: cache,
    });
    assert.equal(refused.code, 1, refused.output);
    assert.match(refused.output, /Service redis_cache is not running/);
  });

  it('drop-site: needs the administrator, archives the files, leaves users of other hosts', () => {
    const w = stack();
    const { type, adminUser, adminPassword, sql } = w.database;
    const archive = join(w.bench.sites, 'archived_sites');
    const flags = ['--no-backup', `--archived-sites-path=${archive}`, `--root-login=${adminUser}`];
    if (type === 'mariadb') sql("CREATE USER half_example@'10.1.2.3' IDENTIFIED BY 'x'");
    check(w, [
      { run: ['drop-site', 'half.example', ...flags, '--root-password=wrong'], code: 1 },
      { run: ['drop-site', 'half.example', ...flags, `--root-password=${adminPassword}`], code: 0 },
      { run: ['drop-site', 'half.example', ...flags, `--root-password=${adminPassword}`], code: 1 },
      { run: ['--site', 'all', 'set-config', 'x', '1'], code: 0 },
    ]);
    assert.ok(w.bench.exists('archived_sites', 'half.example', 'site_config.json'));
    assert.equal(
      w.bench.json('archived_sites', 'half.example', 'site_config.json')['x'],
      undefined,
    );
    if (type === 'mariadb') {
      const hosts = sql("SELECT Host FROM mysql.user WHERE User = 'half_example'");
      assert.equal(hosts, '10.1.2.3');
    }
  });

  it('finds the bench, its files, and a user', () => {
    const w = stack();
    const list = ['bench', '--site', 'a.example', 'list-apps'];
    const outcome = ({ code, output }: CommandResult): string => `${String(code)} ${output}`;
    rmSync(join(w.bench.path, 'config/pids'), { recursive: true });
    assert.match(outcome(w.bench.run(list)), /^2 [^]*No such option: --site/);
    w.bench.run(['mkdir', join(w.bench.path, 'config/pids')]);
    assert.match(outcome(w.bench.run(list)), /^0 /);

    const apps = join(w.bench.sites, 'apps.txt');
    w.bench.run(['mv', apps, `${apps}.away`]);
    assert.match(outcome(w.bench.run(list)), /^1 [^]*FileNotFoundError/);
    w.bench.run(['mv', `${apps}.away`, apps]);

    if (process.getuid?.() === 0) {
      const foreign = ['setpriv', '--reuid=54321', '--clear-groups', ...list];
      assert.match(outcome(w.bench.run(foreign, { USER: '' })), /^1 [^]*uid not found: 54321/);
      assert.match(outcome(w.bench.run(foreign)), /^1 [^]*Permission denied: .*bench\.log/);
    }
  });

  it('continues without a broken common configuration, as version-15 does', () => {
    const w = stack();
    const path = join(w.bench.sites, 'common_site_config.json');
    writeFileSync(path, '{"half":');
    const done = w.bench.bench('--site', 'a.example', 'set-config', 'x', '1');
    assert.equal(done.code, 0);
    assert.match(done.output, /common_site_config\.json is invalid/);
  });
});
