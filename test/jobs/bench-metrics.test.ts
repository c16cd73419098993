/** bench_metrics.py, the exporter of a bench, on a real Redis, MariaDB and PostgreSQL. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Database, startMariaDb, startPostgres } from './databases.js';
import {
  type Daemon,
  daemon,
  eventually,
  get,
  needs,
  program,
  type Redis,
  redisCli,
  required,
  SCRIPTS,
  startRedis,
  temporaryDirectory,
} from './servers.js';

const PASSWORD = "s1te 'pass\\word";
/** How long samples are cached. */
const CACHE_MS = 1_000;

/** Series with their labels → value. */
type Samples = ReadonlyMap<string, number>;

interface Exporter {
  readonly port: number;
  readonly log: () => string;
  readonly stop: Daemon['stop'];
}

async function startExporter(bench: string): Promise<Exporter> {
  const port = await freePort();
  const { log, stop } = daemon([required('python3'), join(SCRIPTS, 'bench_metrics.py')], {
    NAMESPACE: 'team',
    BENCH: 'b',
    BENCH_DIR: bench,
    LISTEN_PORT: String(port),
    CACHE_SECONDS: String(CACHE_MS / 1000),
    PYTHONDONTWRITEBYTECODE: '1',
  });
  await eventually(
    'the exporter answers',
    async () => (await get(port, '/healthz')).body === 'ok\n',
  );
  return { port, log, stop };
}

async function scrape({ port }: Exporter): Promise<Samples> {
  const { status, headers, body } = await get(port, '/metrics');
  assert.equal(status, 200, body);
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/);
  return new Map(
    body
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))] as const;
      }),
  );
}

/** Samples that are collected after the call. */
async function fresh(exporter: Exporter): Promise<Samples> {
  await sleep(CACHE_MS + 100);
  return scrape(exporter);
}

const of = (name: string, labels: string): string =>
  `${name}{namespace="team",bench="b",${labels}}`;
const queue = (name: string, site: string, queueName: string): string =>
  of(name, `site="${site}",queue="${queueName}"`);

describe('bench_metrics.py', needs('redis-server', 'mariadbd', 'postgres', 'python3'), () => {
  const bench = temporaryDirectory();
  let redis: Redis;
  let databases: readonly Database[];
  let exporter: Exporter;
  const cli = (...args: readonly string[]): string => redisCli(redis.port, redis.password, ...args);
  const writeSite = (site: string, config: object): void => {
    mkdirSync(join(bench, 'sites', site), { recursive: true });
    writeFileSync(join(bench, 'sites', site, 'site_config.json'), JSON.stringify(config));
  };
  const server = (database: Database): string => `server="127.0.0.1:${database.port}"`;
  const loginOf = (database: Database, name: string): object => ({
    db_type: database.type,
    db_host: '127.0.0.1',
    db_port: database.port,
    db_name: name,
    db_password: PASSWORD,
  });

  before(async () => {
    [redis, databases] = await Promise.all([
      startRedis('queue'),
      Promise.all([startMariaDb(), startPostgres()]),
    ]);
    const [mariadb, postgres] = databases;
    assert.ok(mariadb && postgres);
    const quoted = PASSWORD.replaceAll("'", "''");
    mariadb.sql(
      `CREATE DATABASE shop; CREATE USER shop IDENTIFIED BY '${quoted.replaceAll('\\', '\\\\')}'; GRANT ALL ON shop.* TO shop`,
    );
    postgres.sql(`CREATE ROLE books WITH LOGIN PASSWORD '${quoted}'`);
    postgres.sql('CREATE DATABASE books OWNER books');
    const url = `redis://:${encodeURIComponent(redis.password)}@127.0.0.1:${redis.port}`;
    mkdirSync(join(bench, 'sites'));
    writeFileSync(
      join(bench, 'sites/common_site_config.json'),
      JSON.stringify({
        redis_queue: url,
        db_host: '127.0.0.1',
        db_port: mariadb.port,
        workers: { imports: { timeout: 600 } },
      }),
    );
    // The first names no server, so the bench's applies. Its login does not work yet.
    writeSite('a.example.org', { db_name: 'unborn', db_password: 'wrong-s3cret' });
    writeSite('shop.example.org', { ...loginOf(mariadb, 'shop'), bench_id: 'team.b.shop' });
    writeSite('books.example.org', loginOf(postgres, 'books'));
    exporter = await startExporter(bench);
  });
  after(async () => {
    await exporter.stop();
    await Promise.all([redis.stop(), ...databases.map(({ stop }) => stop())]);
  });

  it('exports all queues, also empty ones, and both database servers', async () => {
    const samples = await scrape(exporter);
    for (const name of ['default', 'short', 'long', 'imports']) {
      for (const site of ['', 'shop']) {
        assert.equal(
          samples.get(queue('app_worker_queue_length', site, name)),
          0,
          `${site} ${name}`,
        );
        assert.equal(samples.get(queue('app_workers', site, name)), 0);
      }
    }
    assert.equal(samples.get(of('redis_up', 'server="queue"')), 1);
    const [mariadb, postgres] = databases;
    assert.ok(mariadb && postgres);
    assert.equal(samples.get(of('mysql_up', server(mariadb))), 1);
    assert.equal(samples.get(of('pg_up', server(postgres))), 1);
    const allowed = samples.get(of('mysql_global_variables_max_connections', server(mariadb)));
    assert.equal(allowed, Number(mariadb.sql('SELECT @@max_connections')));
    assert.equal(
      samples.get(of('pg_settings_max_connections', server(postgres))),
      Number(postgres.sql('SHOW max_connections')),
    );
  });

  it('counts waiting, running and failed jobs of each queue, and its workers', async () => {
    const later = String(Math.floor(Date.now() / 1000) + 600);
    cli('SADD', 'rq:queues', 'rq:queue:team.b:short', 'rq:queue:team.b.shop:long');
    cli('RPUSH', 'rq:queue:team.b:short', 'a', 'b', 'c');
    cli('RPUSH', 'rq:queue:team.b.shop:long', 'd');
    // A valid lease, two without an end, and an expired one.
    cli('ZADD', 'rq:wip:team.b:short', later, 'e', '-1', 'f', '1000', 'g', '+inf', 'i');
    cli('ZADD', 'rq:failed:team.b:short', later, 'h');
    cli('SADD', 'rq:workers:team.b:short', 'rq:worker:alive', 'rq:worker:killed');
    cli('HSET', 'rq:worker:alive', 'state', 'idle');
    const samples = await fresh(exporter);
    const short = (name: string): number | undefined => samples.get(queue(name, '', 'short'));
    assert.deepEqual(
      ['app_worker_queue_length', 'app_worker_jobs_running', 'app_worker_jobs_failed'].map(short),
      [3, 3, 1],
    );
    assert.equal(short('app_workers'), 1);
    assert.equal(samples.get(queue('app_worker_queue_length', 'shop', 'long')), 1);
  });

  it('exports queues with other names, and none of other benches or of closed sites', async () => {
    const others = ['team.b2:short', 'team.b.closed.shop.example.org:short', 'other.b:short'];
    for (const name of ['team.b:mails', 'team.b.deleted:short', ...others]) {
      cli('SADD', 'rq:queues', `rq:queue:${name}`);
      cli('RPUSH', `rq:queue:${name}`, 'x');
    }
    // An empty queue is not one that the bench defines.
    cli('SADD', 'rq:queues', 'rq:queue:team.b.deleted:long');
    const samples = await fresh(exporter);
    const lengths = [...samples.keys()]
      .filter((name) => name.startsWith('app_worker_queue_length'))
      .map((name) => /site="(.*)",queue="(.*)"/.exec(name)?.slice(1).join(':'));
    assert.deepEqual(lengths, [
      'deleted:short',
      'shop:default',
      'shop:imports',
      'shop:long',
      'shop:short',
      ':default',
      ':imports',
      ':long',
      ':mails',
      ':short',
    ]);
  });

  it('counts connections as the servers do, and keeps none open', async () => {
    const connections = databases.map((database) => database.hold(database.type === 'mariadb' ? 'mysql' : 'postgres', database.type === 'mariadb' ? 'db' : 'pg_class')); // prettier-ignore
    const names = {
      mariadb: 'mysql_global_status_threads_connected',
      postgres: 'pg_stat_activity_count',
    };
    const ask = {
      mariadb: "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'dbadmin'",
      postgres: "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'",
    };
    for (const database of databases) {
      await eventually('the connection is there', () => database.sql(ask[database.type]) === '2');
    }
    const samples = await fresh(exporter);
    for (const database of databases) {
      // The held connection, and the exporter's own during the query.
      assert.equal(samples.get(of(names[database.type], server(database))), 2, database.type);
    }
    await Promise.all(connections.map(({ stop }) => stop('SIGKILL')));
    const left = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'books'";
    await eventually('the exporter holds none', () => databases[1]?.sql(left) === '0');
  });

  it('reports the maximum of connections when the server refuses one', async () => {
    const [mariadb, postgres] = databases;
    assert.ok(mariadb && postgres);
    // The server keeps the connection of a killed client until it checks it.
    const only =
      'SET GLOBAL max_connections = 10; SELECT COUNT(*) FROM information_schema.processlist';
    await eventually('no other connection is open', () => mariadb.sql(only) === '1');
    // One connection is reserved for the administrator, who is connected.
    const connections = Array.from({ length: 10 }, () => mariadb.hold('mysql', 'db'));
    try {
      await eventually('the server is full', () => {
        return mariadb.sql('SELECT COUNT(*) FROM information_schema.processlist') === '11';
      });
      const samples = await fresh(exporter);
      const connected = samples.get(of('mysql_global_status_threads_connected', server(mariadb)));
      const allowed = samples.get(of('mysql_global_variables_max_connections', server(mariadb)));
      assert.ok(connected !== undefined && allowed !== undefined, exporter.log());
      assert.ok(connected / allowed >= 1, `${connected} of ${allowed}`);
      assert.equal(samples.get(of('mysql_up', server(mariadb))), 1);
    } finally {
      mariadb.sql('SET GLOBAL max_connections = 100');
      await Promise.all(connections.map(({ stop }) => stop('SIGKILL')));
    }
  });

  const python = program('python3') ?? 'python3';
  const mysqlclient = spawnSync(python, ['-c', 'import MySQLdb']).status === 0;
  it(
    'uses mysqlclient if the image has no PyMySQL',
    {
      skip: !mysqlclient && 'NOT TESTED: apt-get install python3-mysqldb',
    },
    () => {
      const [mariadb] = databases;
      assert.ok(mariadb);
      const script = `
import json, sys
sys.modules["pymysql"] = None
sys.path.insert(0, sys.argv[1])
import bench_metrics
print(*bench_metrics.mariadb_connections(json.load(sys.stdin)))
`;
      const login = { host: '127.0.0.1', port: mariadb.port, user: 'shop', password: PASSWORD };
      const { stdout, stderr } = spawnSync(python, ['-B', '-c', script, SCRIPTS], {
        input: JSON.stringify(login),
        encoding: 'utf8',
      });
      assert.match(stdout, /^\d+ 100\n$/, stderr);
    },
  );

  it('collects once for concurrent requests', async () => {
    await sleep(CACHE_MS + 100);
    const before = Number(/total_commands_processed:(\d+)/.exec(cli('INFO', 'stats'))?.[1]);
    await Promise.all(Array.from({ length: 20 }, () => scrape(exporter)));
    const after = Number(/total_commands_processed:(\d+)/.exec(cli('INFO', 'stats'))?.[1]);
    // One collection takes about 60 commands.
    assert.ok(after - before < 150, `${after - before} commands`);
  });

  it('finds a changed password, and drops a deleted site', async () => {
    const [mariadb] = databases;
    assert.ok(mariadb);
    mariadb.sql("ALTER USER shop IDENTIFIED BY 'another'");
    assert.equal((await fresh(exporter)).get(of('mysql_up', server(mariadb))), 0);
    writeSite('shop.example.org', { ...loginOf(mariadb, 'shop'), db_password: 'another' });
    assert.equal((await fresh(exporter)).get(of('mysql_up', server(mariadb))), 1);
    const lines = exporter
      .log()
      .split('\n')
      .filter((line) => line.includes('mariadb 127.0.0.1:'));
    assert.match(lines.at(-1) ?? '', / answers$/, 'and that it answers again');
    rmSync(join(bench, 'sites/books.example.org'), { recursive: true });
    const samples = await fresh(exporter);
    assert.ok(![...samples.keys()].some((name) => name.startsWith('pg_')));
    // Without its `bench_id` the site is Shared.
    assert.equal(samples.has(queue('app_worker_queue_length', 'shop', 'default')), false);
  });

  it('exports a server in spite of sites with an invalid configuration or without a database', async () => {
    const [mariadb] = databases;
    assert.ok(mariadb);
    const odd: Readonly<Record<string, object>> = {
      port: { db_name: 'x', db_password: 'x', db_port: 'three' },
      list: { db_name: ['x'], db_password: 'x', db_host: ['y'], db_port: [mariadb.port] },
      type: { db_name: 'x', db_password: 'x', db_type: ['mariadb'] },
    };
    const failed = Object.fromEntries(
      ['b', 'c', 'd', 'e', 'f'].map((name) => [name, { db_name: name, db_password: 'unborn' }]),
    );
    const added = Object.entries({ ...odd, ...failed });
    for (const [name, config] of added) writeSite(`${name}.example.org`, config);
    await eventually('the login that works is found', async () => {
      return (await fresh(exporter)).get(of('mysql_up', server(mariadb))) === 1;
    });
    // Its login is the first that is tried from then on.
    for (let i = 0; i < 3; i++) {
      assert.equal((await fresh(exporter)).get(of('mysql_up', server(mariadb))), 1);
    }
    for (const [name] of added) {
      rmSync(join(bench, `sites/${name}.example.org`), { recursive: true });
    }
  });

  it('reports a server that does not answer, and exports the others', async () => {
    const [mariadb, postgres] = databases;
    assert.ok(mariadb && postgres);
    writeSite('books.example.org', loginOf(postgres, 'books'));
    await mariadb.stop();
    await redis.stop('SIGKILL');
    const start = performance.now();
    const samples = await fresh(exporter);
    assert.ok(performance.now() - start < CACHE_MS + 9_000, 'in the time that Prometheus gives');
    assert.equal(samples.get(of('mysql_up', server(mariadb))), 0);
    assert.equal(samples.get(of('redis_up', 'server="queue"')), 0);
    assert.equal(samples.get(of('pg_up', server(postgres))), 1);
    assert.equal(
      [...samples.keys()].some((name) => name.startsWith('app_worker')),
      false,
    );
    assert.equal((await get(exporter.port, '/healthz')).status, 200);
  });

  it('logs no secret, and ends at once', async () => {
    const log = exporter.log();
    assert.match(log, /mariadb 127\.0\.0\.1:\d+ does not answer: OperationalError/);
    for (const secret of [PASSWORD, redis.password, 'wrong-s3cret', 'another', 's1te']) {
      assert.ok(!log.includes(secret), log);
    }
    assert.equal((await get(exporter.port, '/')).status, 404);
    const { code, ms } = await exporter.stop();
    assert.equal(code, 0);
    assert.ok(ms < 15_000, `${ms} ms`);
  });
});
