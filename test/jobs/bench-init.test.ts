/** bench_init.py on real files, with a real Redis. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  SCRIPTS,
  type Env,
  type ScriptResult,
  needs,
  program,
  redisCli,
  runScript,
  startRedis,
  startTlsRedis,
  temporaryDirectory,
} from './servers.js';
import { newAuthority, serverTls } from './certificates.js';

const script = join(SCRIPTS, 'bench_init.py');
const python = program('python3') ?? 'python3';

function writeApp(bench: string, app: string, version: string): void {
  const module = join(bench, 'apps', app, app);
  mkdirSync(module, { recursive: true });
  writeFileSync(join(module, '__init__.py'), `"""App."""\n__version__ = "${version}"\n`);
}

/** A bench of an image: apps, assets, an empty sites volume. */
function aBench(...apps: readonly string[]): string {
  const bench = temporaryDirectory();
  for (const app of ['frappe', ...apps]) writeApp(bench, app, '15.1.0');
  mkdirSync(join(bench, 'apps', 'not_an_app'));
  mkdirSync(join(bench, 'assets'));
  writeFileSync(join(bench, 'assets/assets.json'), '{}');
  mkdirSync(join(bench, 'sites'));
  return bench;
}

const init = (bench: string, env: Env = {}): Promise<ScriptResult> =>
  runScript([python, script], {
    BENCH_DIR: bench,
    REDIS_HOST: '127.0.0.1',
    REDIS_CACHE_PORT: '1',
    REDIS_QUEUE_PORT: '2',
    ...env,
  });
const read = (bench: string, file: string): string =>
  readFileSync(join(bench, 'sites', file), 'utf8');
const config = (bench: string): Record<string, unknown> =>
  JSON.parse(read(bench, 'common_site_config.json')) as Record<string, unknown>;

describe('bench_init.py', needs('python3'), () => {
  it('prepares an empty volume and reports the apps with their versions', async () => {
    const programs = temporaryDirectory();
    const chromium = join(programs, 'chromium-headless-shell');
    writeFileSync(chromium, '', { mode: 0o755 });
    writeFileSync(join(programs, 'wkhtmltopdf'), '', { mode: 0o755 });
    const bench = aBench('erpnext', 'crm');
    const result = await init(bench, {
      DB_HOST: 'db',
      DB_PORT: '3306',
      REDIS_PASSWORD: 'p@ss/w:rd',
      PATH: `${programs}:${process.env['PATH'] ?? ''}`,
    });
    assert.equal(result.code, 0, result.output);
    assert.equal(
      result.terminationMessage,
      'app-operator: Succeeded: {"apps": {"frappe": "15.1.0", "crm": "15.1.0", "erpnext": "15.1.0"}}',
    );
    assert.equal(read(bench, 'apps.txt'), 'frappe\ncrm\nerpnext\n');
    assert.equal(read(bench, 'assets/assets.json'), '{}');
    assert.deepEqual(config(bench), {
      db_host: 'db',
      db_port: 3306,
      redis_cache: 'redis://:p%40ss%2Fw%3Ard@127.0.0.1:1',
      redis_queue: 'redis://:p%40ss%2Fw%3Ard@127.0.0.1:2',
      redis_socketio: 'redis://:p%40ss%2Fw%3Ard@127.0.0.1:2',
      socketio_port: 9000,
      chromium_path: chromium,
      chromium_start_timeout: 15,
    });
    assert.equal(statSync(join(bench, 'sites/common_site_config.json')).mode & 0o777, 0o640);
    assert.ok(!result.output.includes('p@ss') && !result.output.includes('p%40ss'));
  });

  it('takes a byte order mark and a line break of the URLs away, and refuses the rest', async () => {
    const bench = aBench();
    const urls = {
      REDIS_CACHE_URL: '\ufeffrediss://cache.example.com:6380\r\n',
      REDIS_QUEUE_URL: 'rediss://queue.example.com:6380\n',
    };
    assert.equal((await init(bench, urls)).code, 0);
    const { redis_cache, redis_queue } = config(bench);
    assert.deepEqual(
      [redis_cache, redis_queue],
      ['rediss://cache.example.com:6380', 'rediss://queue.example.com:6380'],
    );
    const ENV_SOURCES = '[["REDIS_QUEUE_URL", "key \\"queue\\" of Secret \\"redis\\""]]';
    for (const [url, problem] of [
      ['redis://a\nredis://b', 'has a line break in its value; store it without'],
      ['\n', 'is empty'],
    ] as const) {
      const refused = await init(bench, { ...urls, ENV_SOURCES, REDIS_QUEUE_URL: url });
      assert.equal(
        refused.lastLine,
        `app-operator: SecretInvalid: key "queue" of Secret "redis" ${problem}`,
      );
    }
  });

  it('trusts a private authority of Redis, and names the certificate without it', async () => {
    const authority = newAuthority('redis CA');
    const redis = await startTlsRedis(serverTls(authority, ['localhost']));
    const bench = aBench();
    const url = `rediss://localhost:${String(redis.port)}/0`;
    const urls = { REDIS_CACHE_URL: url, REDIS_QUEUE_URL: `${url}?timeout=3` };
    const unknown = await init(bench, urls);
    assert.equal(unknown.code, 0, unknown.output);
    assert.match(
      unknown.output,
      /no answer from the cache: the authority of the server's certificate is not trusted: .*; give its certificate in redisConfig.external.caSecretRef/,
    );

    const ca = join(temporaryDirectory(), 'ca.crt');
    const env = { ...urls, REDIS_CA_FILE: ca, REDIS_CA_FROM: 'key "ca.crt" of Secret "redis-ca"' };
    const missing = await init(bench, env);
    assert.match(
      missing.lastLine,
      /SecretInvalid: key "ca.crt" of Secret "redis-ca" does not exist/,
    );
    writeFileSync(ca, 'no certificate');
    const broken = await init(bench, env);
    assert.match(broken.lastLine, /SecretInvalid: key "ca.crt" .* has no certificate in PEM/);
    writeFileSync(ca, `# Werkstätte\n${authority.certificatePem}`);
    const trusted = await init(bench, env);
    assert.match(trusted.output, /the cache has no assets_json/);
    const copy = join(bench, 'sites', '.app-operator/redis-ca.crt');
    const { redis_cache, redis_queue, redis_socketio } = config(bench);
    assert.deepEqual(
      [redis_cache, redis_queue, redis_socketio],
      [
        `${url}?ssl_ca_certs=${copy}&ssl_check_hostname=true`,
        `${url}?timeout=3&ssl_ca_certs=${copy}&ssl_check_hostname=true`,
        `${url}?timeout=3&ssl_ca_certs=${copy}&ssl_check_hostname=true`,
      ],
    );
    const other = await init(bench, {
      ...env,
      REDIS_CACHE_URL: url.replace('localhost', '127.0.0.1'),
    });
    assert.match(
      other.output,
      /the server's certificate is of another host: .*; use a host name of it/,
    );
    assert.equal((await init(bench, urls)).code, 0);
    assert.ok(!existsSync(copy));
    await redis.stop();
  });

  it('writes no file that is unchanged', async () => {
    const bench = aBench();
    await init(bench);
    const times = (): number[] =>
      ['apps.txt', 'common_site_config.json'].map(
        (file) => statSync(join(bench, 'sites', file)).mtimeMs,
      );
    const before = times();
    assert.equal((await init(bench)).code, 0);
    assert.deepEqual(times(), before);
  });

  it('keeps other keys, adds further keys, deletes null keys, rejects its own', async () => {
    const bench = aBench();
    writeFileSync(join(bench, 'sites/common_site_config.json'), '{"rate_limit":1,"old":2}');
    await init(bench, { COMMON_CONFIG: '{"workers":{"slow":{"timeout":9}},"old":null}' });
    const { rate_limit: limit, workers, old } = config(bench);
    assert.deepEqual([limit, workers, old], [1, { slow: { timeout: 9 } }, undefined]);
    const refused = await init(bench, { COMMON_CONFIG: '{"redis_cache":"redis://evil"}' });
    assert.match(
      refused.lastLine,
      /^app-operator: InvalidInput: COMMON_CONFIG may not set redis_cache/,
    );
  });

  it('deletes its further keys when they are no longer wanted, and no others', async () => {
    const bench = aBench();
    writeFileSync(join(bench, 'sites/common_site_config.json'), '{"rate_limit":1}');
    const further = { bench_id: 'n.b', workers: { slow: { timeout: 9 } } };
    const tick = { scheduler_tick_interval: 30 };
    await init(bench, { COMMON_CONFIG: JSON.stringify({ ...further, ...tick }) });
    assert.deepEqual(
      [config(bench)['scheduler_tick_interval'], config(bench)['workers']],
      [30, further.workers],
    );
    await init(bench, { COMMON_CONFIG: JSON.stringify(further) });
    assert.equal(config(bench)['scheduler_tick_interval'], undefined);
    assert.deepEqual(config(bench)['workers'], further.workers);
    await init(bench, { COMMON_CONFIG: '{"bench_id":"n.b"}' });
    // Where this machine has Chromium, its path is written too.
    const { rate_limit: limit, bench_id: prefix, ...others } = config(bench);
    const { chromium_path: _, chromium_start_timeout: __, ...left } = others;
    assert.deepEqual([limit, prefix], [1, 'n.b']);
    assert.deepEqual(Object.keys(left).sort(), [
      'redis_cache',
      'redis_queue',
      'redis_socketio',
      'socketio_port',
    ]);
    // By hand, and not by an init Job: it stays.
    const own = { ...config(bench), workers: { mine: {} }, app_operator_init_keys: 'workers' };
    writeFileSync(join(bench, 'sites/common_site_config.json'), JSON.stringify(own));
    await init(bench, { COMMON_CONFIG: '{"bench_id":"n.b"}' });
    assert.deepEqual(config(bench)['workers'], { mine: {} });
  });

  it('uses the URLs of an external Redis', async () => {
    const bench = aBench();
    await init(bench, {
      REDIS_HOST: '',
      REDIS_CACHE_URL: 'rediss://c:1/0',
      REDIS_QUEUE_URL: 'rediss://q:2/1',
    });
    assert.deepEqual(
      [config(bench)['redis_cache'], config(bench)['redis_queue']],
      ['rediss://c:1/0', 'rediss://q:2/1'],
    );
  });

  it('renames a broken common_site_config.json and writes a new one', async () => {
    const bench = aBench();
    writeFileSync(join(bench, 'sites/common_site_config.json'), '{"half": ');
    assert.equal((await init(bench)).code, 0);
    assert.equal(config(bench)['socketio_port'], 9000);
    assert.equal(read(bench, 'common_site_config.json.broken'), '{"half": ');
  });

  it('rejects apps that the image does not hold, and lists its apps', async () => {
    const bench = aBench('erpnext');
    const result = await init(bench, { BENCH_APPS: '["frappe","hrms"]' });
    assert.equal(result.code, 1);
    assert.equal(
      result.lastLine,
      'app-operator: AppNotInImage: not in the image: hrms; the image holds: frappe, erpnext; remove them from the bench, or set spec.image to an image that holds them: docs/images.md#add-apps',
    );
    assert.equal(result.terminationMessage, result.lastLine);
    assert.ok(!existsSync(join(bench, 'sites/apps.txt')), 'nothing was written');
  });

  it('replaces the assets of an old image, and a link with another target', async () => {
    for (const prepare of [
      (link: string): void => {
        mkdirSync(link);
        writeFileSync(join(link, 'old'), '');
      },
      (link: string): void => {
        symlinkSync('/nowhere', link);
      },
    ]) {
      const bench = aBench();
      prepare(join(bench, 'sites/assets'));
      assert.equal((await init(bench)).code, 0);
      assert.equal(readlinkSync(join(bench, 'sites/assets')), join(bench, 'assets'));
      assert.ok(!existsSync(join(bench, 'sites/.assets.app-operator-old')));
    }
  });

  it('reports where an old image has its assets, and links to where its pods copy them', async () => {
    const bench = aBench();
    assert.doesNotMatch((await init(bench)).lastLine, /"assets"/);
    rmSync(join(bench, 'assets'), { recursive: true });
    assert.match((await init(bench)).lastLine, /^app-operator: Succeeded: .*"assets": "sites"/);
    assert.equal(readlinkSync(join(bench, 'sites/assets')), join(bench, 'assets'));
  });

  it('completes after a kill at any time', async () => {
    const bench = aBench('erpnext');
    for (let ms = 20; ms < 140; ms += 8)
      await init(bench, { COMMON_CONFIG: `{"round":${String(ms)}}` }).catch(() => 0);
    for (let ms = 20; ms < 140; ms += 8) {
      await runScript(
        [python, script],
        { BENCH_DIR: bench, REDIS_HOST: 'x', REDIS_CACHE_PORT: '1', REDIS_QUEUE_PORT: String(ms) },
        ms,
      );
      if (existsSync(join(bench, 'sites/common_site_config.json'))) config(bench);
    }
    assert.equal((await init(bench)).code, 0);
    assert.equal(config(bench)['redis_queue'], 'redis://127.0.0.1:2');
  });

  it('removes the old image’s asset manifest from the cache', needs('redis-server'), async () => {
    const redis = await startRedis('cache');
    redisCli(redis.port, redis.password, 'SET', 'assets_json', 'old');
    const result = await init(aBench(), {
      REDIS_CACHE_PORT: String(redis.port),
      REDIS_PASSWORD: redis.password,
    });
    assert.match(result.output, /removed assets_json from the cache/);
    assert.equal(redisCli(redis.port, redis.password, 'EXISTS', 'assets_json'), '0');
    await redis.stop();
  });

  it(
    'refuses a cache without CLIENT TRACKING on version-16 only',
    needs('redis-server'),
    async () => {
      const redis = await startRedis('cache');
      const bench = aBench();
      const run = () =>
        init(bench, { REDIS_CACHE_PORT: String(redis.port), REDIS_PASSWORD: redis.password });
      writeApp(bench, 'frappe', '16.4.1');
      assert.match((await run()).lastLine, /^app-operator: Succeeded: /);
      // A login of an outside server may lack commands; servers before Redis 6 do not have this one.
      redisCli(redis.port, redis.password, 'ACL', 'SETUSER', 'default', '-client|tracking');
      const refused = await run();
      assert.equal(refused.code, 1, refused.output);
      assert.match(
        refused.lastLine,
        /^app-operator: RedisUnsupported: redis_cache at 127\.0\.0\.1:\d+: version-16 needs Redis 6\.2 or later with the command CLIENT TRACKING: .*permission.*; use another server, or allow the command to the login$/i,
      );
      assert.ok(!refused.output.includes(redis.password));
      writeApp(bench, 'frappe', '15.1.0');
      assert.match((await run()).lastLine, /^app-operator: Succeeded: /);
      await redis.stop();
    },
  );
});
