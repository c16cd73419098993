/**
 * Encrypted connections to real MariaDB and PostgreSQL servers that take nothing else: of the Jobs, of the framework
 * (a stand-in that, as version-15, encrypts nothing by itself), of the client programs and of the exporter.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Authority, newAuthority, serverTls, tlsEnv } from './certificates.js';
import { type Database, startMariaDb, startPostgres } from './databases.js';
import {
  daemon,
  type Env,
  eventually,
  get,
  jobCommand,
  type Redis,
  required,
  runScript,
  SCRIPTS,
  startRedis,
} from './servers.js';
import { aBench, aSite, needsStandIn, type SiteConfig, type SiteJobs } from './site-fixture.js';
import { volumeEnv } from './store-fixture.js';

const HOST = '127.0.0.1';
const NO_TLS = 'the server takes no encrypted connections; nothing was sent in clear text';
const restored = { RESTORE_ID: 'aaaaaaaaaa', RESTORE_CONFIRMED: '1' };

for (const type of ['mariadb', 'postgres'] as const) {
  const program = type === 'mariadb' ? 'mariadbd' : 'postgres';
  describe(`a site on ${type} with TLS`, needsStandIn(program, 'redis-server', 'python3'), () => {
    const ca: Authority = newAuthority('database CA');
    const other: Authority = newAuthority('another CA');
    let database: Database;
    let redis: Redis;
    let bench: string;
    before(async () => {
      const tls = serverTls(ca, [HOST]);
      const rules = 'hostssl all certified all scram-sha-256 clientcert=verify-ca\n';
      const start = type === 'mariadb' ? startMariaDb(tls) : startPostgres(tls, rules);
      [database, redis] = await Promise.all([start, startRedis('cache')]);
      bench = aBench('15.44.2', redis);
    });
    after(async () => {
      await Promise.all([database.stop(), redis.stop()]);
    });

    const address = (): string => `${HOST}:${String(database.port)}`;
    const made = async (env: Env): Promise<SiteJobs> => {
      const site = aSite(bench, database, { ...env, IMAGE: 'image:1' });
      const { code, output } = await site.init();
      assert.equal(code, 0, output);
      return site;
    };
    const configOf = (site: SiteJobs): SiteConfig => site.json('site_config.json');
    const settingsOf = (site: SiteJobs) =>
      configOf(site)['app_operator_db_tls'] as Readonly<Record<string, string>>;
    const backUp = (site: SiteJobs, store: Env) =>
      runScript(jobCommand('site_backup.py', {}), {
        BENCH_DIR: bench,
        PYTHONPATH: join(bench, 'apps/frappe'),
        SITE_NAME: site.name,
        SITE_OWNER: String(site.json('.app-operator.json')['owner']),
        BACKUP_OWNER: 'team/nightly',
        IMAGE: 'image:1',
        JOB_NAME: 'job-1',
        WAIT_SECONDS: '0',
        ...store,
      });
    /** The init Job's message of a site that is not created. */
    const refused = async (env: Env): Promise<string> => {
      const site = aSite(bench, database, { ...env, WAIT_SECONDS: '0' });
      const { terminationMessage, output } = await site.init();
      assert.ok(!existsSync(site.path('site_config.json')), output);
      return terminationMessage;
    };

    it('cannot be created without TLS', async () => {
      // libpq asks for TLS by itself, but continues without it.
      const { terminationMessage } = await aSite(bench, database, {
        WAIT_SECONDS: '0',
        ...(type === 'postgres' ? { PGSSLMODE: 'disable', DB_ROOT_PASSWORD: '' } : {}),
      }).init();
      assert.match(terminationMessage, /Database(AccessDenied|Unreachable)/);
    });

    it('is created, backed up, restored and dropped', async () => {
      const site = await made(tlsEnv('VerifyFull', ca));
      const settings = settingsOf(site);
      assert.equal(settings['mode'], 'VerifyFull');
      assert.ok(settings['ca']?.startsWith(site.path('.database-tls')), settings['ca']);
      assert.equal(configOf(site)['db_ssl_ca'], settings['ca']);
      const store = volumeEnv();
      const backup = await backUp(site, store);
      assert.equal(backup.code, 0, backup.output);
      const restore = await site.with({ ...store, ...restored }).init();
      assert.equal(restore.code, 0, restore.output);
      const dropped = await site.drop();
      assert.match(dropped.lastLine, /"databaseDropped": true/);
    });

    it('follows a changed CA, and stays as it is with a wrong one', async () => {
      const site = await made(tlsEnv('VerifyFull', ca));
      const before = settingsOf(site);
      const wrong = await site.with(tlsEnv('VerifyFull', other)).init();
      const certificate =
        'is not of the CA in tls.caSecretRef: self-signed certificate in certificate chain; put the CA that signed the certificate into the Secret';
      assert.equal(
        wrong.terminationMessage.trim(),
        `app-operator: DatabaseTlsFailed: ${address()}: the server's certificate ${certificate}`,
      );
      assert.deepEqual(settingsOf(site), before);
      database.useTls(serverTls(other, [HOST]));
      try {
        assert.match((await site.init()).terminationMessage, /DatabaseTlsFailed/);
        const right = await site.with(tlsEnv('VerifyFull', other)).init();
        assert.equal(right.code, 0, right.output);
        assert.notEqual(settingsOf(site)['ca'], before['ca']);
        assert.equal(readdirSync(site.path('.database-tls')).length, 1);
      } finally {
        database.useTls(serverTls(ca, [HOST]));
      }
    });

    it('is not created where the certificate is not to be trusted', async () => {
      assert.match(await refused(tlsEnv('VerifyCA', other)), /not of the CA in tls[.]caSecretRef/);
      assert.match(
        await refused({ ...tlsEnv('VerifyFull', ca), DB_TLS_CA_DIR: '/nonexistent' }),
        /DatabaseTlsFailed: the Secret of tls[.]caSecretRef has no key ca[.]crt/,
      );
      const broken = tlsEnv('VerifyFull', { ...ca, certificatePem: 'change-me' });
      assert.match(
        await refused(broken),
        /DatabaseTlsFailed: the Secret of tls[.]caSecretRef cannot be used: .*no certificate or crl found/,
      );
      const { DB_TLS_CA_DIR = '' } = tlsEnv('VerifyFull', ca);
      assert.match(
        await refused({ ...tlsEnv('VerifyFull', ca), DB_TLS_CLIENT_DIR: DB_TLS_CA_DIR }),
        /the Secret of tls[.]clientCertificateSecretRef has no key tls[.]crt or tls[.]key/,
      );
      database.useTls(serverTls(ca, [HOST], -1));
      try {
        assert.match(
          await refused(tlsEnv('VerifyFull', ca)),
          /the server's certificate is not valid now: certificate has expired; renew it/,
        );
      } finally {
        database.useTls(serverTls(ca, [HOST]));
      }
    });

    it('of another host is refused by VerifyFull, and used by VerifyCA and Require', async () => {
      database.useTls(serverTls(ca, ['db.example.com']));
      try {
        assert.match(
          await refused(tlsEnv('VerifyFull', ca)),
          /the server's certificate is of another host: .*127[.]0[.]0[.]1.*; use a host name of the certificate, or tls[.]mode VerifyCA/,
        );
        for (const env of [tlsEnv('VerifyCA', ca), tlsEnv('Require')]) {
          const site = await made(env);
          const store = volumeEnv();
          const backup = await backUp(site, store);
          assert.equal(backup.code, 0, backup.output);
          const restore = await site.with({ ...store, ...restored }).init();
          assert.equal(restore.code, 0, restore.output);
        }
      } finally {
        database.useTls(serverTls(ca, [HOST]));
      }
    });

    it('presents a client certificate where the server requires one', async () => {
      if (type === 'mariadb') {
        database.sql("CREATE DATABASE certified; CREATE USER certified@'%' IDENTIFIED BY 'pw'");
        database.sql("GRANT ALL ON certified.* TO certified@'%'; ALTER USER certified@'%' REQUIRE X509"); // prettier-ignore
      } else {
        database.sql("CREATE ROLE certified LOGIN PASSWORD 'pw'");
        database.sql('CREATE DATABASE certified OWNER certified TEMPLATE template0');
      }
      const prepared = {
        ...{ DB_NAME: 'certified', DB_USER: 'certified', DB_PASSWORD: 'pw' },
        ...{ DB_ROOT_PASSWORD: '', DB_ROOT_USER: '' },
      };
      const missing = await refused({ ...tlsEnv('VerifyFull', ca), ...prepared });
      assert.match(
        missing,
        type === 'mariadb'
          ? /DatabaseAccessDenied: .* refuses certified: Access denied/
          : /DatabaseTlsFailed: .*: the server refuses the client certificate: .*; set tls[.]clientCertificateSecretRef to one that a CA of the server has signed/,
      );
      const foreign = await refused({ ...tlsEnv('VerifyFull', ca, other), ...prepared });
      assert.match(foreign, /DatabaseTlsFailed: .*: the server refuses the client certificate: /);
      const site = await made({ ...tlsEnv('VerifyFull', ca, ca), ...prepared });
      const { cert = '', key = '' } = settingsOf(site);
      assert.equal(statSync(key).mode & 0o777, 0o600);
      assert.equal(configOf(site)['db_ssl_cert'], cert);
      const store = volumeEnv();
      const backup = await backUp(site, store);
      assert.equal(backup.code, 0, backup.output);
    });

    it('is counted by the exporter', async () => {
      await made(tlsEnv('VerifyFull', ca));
      const port = await freePort();
      const exporter = daemon([required('python3'), join(SCRIPTS, 'bench_metrics.py')], {
        ...{ NAMESPACE: 'team', BENCH: 'b', BENCH_DIR: bench, LISTEN_PORT: String(port) },
        ...{ PYTHONDONTWRITEBYTECODE: '1' },
      });
      try {
        const up = new RegExp(`_up\\{[^}]*server="${address()}"\\} 1`);
        await eventually('the server is up', async () =>
          up.test((await get(port, '/metrics')).body),
        );
      } finally {
        await exporter.stop();
      }
    });
  });

  describe(`a ${type} server without TLS`, needsStandIn(program, 'redis-server', 'python3'), () => {
    it('is refused in every mode', async () => {
      const ca = newAuthority('database CA');
      const [database, redis] = await Promise.all([
        type === 'mariadb' ? startMariaDb() : startPostgres(),
        startRedis('cache'),
      ]);
      try {
        const bench = aBench('15.44.2', redis);
        for (const env of [tlsEnv('VerifyFull', ca), tlsEnv('VerifyCA', ca), tlsEnv('Require')]) {
          const site = aSite(bench, database, { ...env, WAIT_SECONDS: '0' });
          const { terminationMessage } = await site.init();
          assert.equal(
            terminationMessage.trim(),
            `app-operator: DatabaseTlsFailed: ${HOST}:${String(database.port)}: ${NO_TLS}`,
          );
        }
      } finally {
        await Promise.all([database.stop(), redis.stop()]);
      }
    });
  });
}
