/** redis.sh and redis-check.sh with the real redis-server. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  SCRIPTS,
  eventually,
  mounts,
  needs,
  redisCli,
  runScript,
  startRedis,
  temporaryDirectory,
} from './servers.js';

const start = ['sh', join(SCRIPTS, 'redis.sh')];
const check = ['sh', join(SCRIPTS, 'redis-check.sh')];

describe('redis.sh', needs('redis-server'), () => {
  it('gives the cache an eviction policy, a limit and no persistence', async () => {
    const redis = await startRedis('cache', { REDIS_MAXMEMORY: '67108864' });
    const config = (name: string): string =>
      redisCli(redis.port, redis.password, 'CONFIG', 'GET', name).split('\n')[1] ?? '';
    assert.deepEqual(['maxmemory', 'maxmemory-policy', 'save', 'appendonly'].map(config), [
      '67108864',
      'allkeys-lru',
      '',
      'no',
    ]);
    await redis.stop();
  });

  it('gives the queue a limit at which it takes no more, and evicts nothing', async () => {
    const redis = await startRedis('queue', { REDIS_MAXMEMORY: String(8 * 2 ** 20) });
    const cli = (...args: readonly string[]): string =>
      redisCli(redis.port, redis.password, ...args);
    const config = (name: string): string => cli('CONFIG', 'GET', name).split('\n')[1] ?? '';
    assert.deepEqual(['maxmemory', 'maxmemory-policy', 'appendonly'].map(config), [
      String(8 * 2 ** 20),
      'noeviction',
      'yes',
    ]);
    const push = (): string => cli('RPUSH', 'rq:queue:b:short', 'x'.repeat(100_000));
    let [taken, answer] = [0, push()];
    for (; !answer.includes('OOM'); answer = push()) taken += 1;
    assert.match(answer, /^OOM command not allowed/);
    assert.equal(cli('LLEN', 'rq:queue:b:short'), String(taken));
    await redis.stop();
  });

  it('keeps queued items over a restart and over a kill', async () => {
    const data = temporaryDirectory();
    const first = await startRedis('queue', { REDIS_DATA_DIR: data });
    redisCli(first.port, first.password, 'RPUSH', 'rq:queue:b:short', 'one', 'two');
    const policy = redisCli(first.port, first.password, 'CONFIG', 'GET', 'maxmemory-policy');
    assert.equal(policy.split('\n')[1], 'noeviction');
    await first.stop();
    const second = await startRedis('queue', { REDIS_DATA_DIR: data });
    assert.equal(redisCli(second.port, second.password, 'LLEN', 'rq:queue:b:short'), '2');
    redisCli(second.port, second.password, 'RPUSH', 'rq:queue:b:short', 'three');
    await new Promise((resolve) => setTimeout(resolve, 1500)); // appendfsync everysec
    await second.stop('SIGKILL');
    const third = await startRedis('queue', { REDIS_DATA_DIR: data });
    assert.equal(
      redisCli(third.port, third.password, 'LRANGE', 'rq:queue:b:short', '0', '-1'),
      'one\ntwo\nthree',
    );
    await third.stop();
  });

  it('refuses clients without the password, whatever characters it has', async () => {
    for (const password of ['plain', `q"uo'te\\back $HOME \`id\` # * {}`, 'ünïcode ☃']) {
      const redis = await startRedis('cache', { REDIS_PASSWORD: password });
      assert.match(redisCli(redis.port, '', 'PING'), /NOAUTH/);
      assert.equal(redisCli(redis.port, password, 'PING'), 'PONG');
      await redis.stop();
    }
  });

  it('keeps the password out of arguments and environment, in a file that only its user can read', async () => {
    const directory = temporaryDirectory();
    const redis = await startRedis('cache', {
      REDIS_RUN_DIR: directory,
      REDIS_PASSWORD: 'very-secret',
    });
    const process = `/proc/${String(redis.process.pid)}`;
    assert.ok(!readFileSync(`${process}/cmdline`, 'utf8').includes('very-secret'));
    assert.equal(statSync(join(directory, 'cache.conf')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(directory), ['cache.conf']);
    await redis.stop();
  });

  it('ends quickly on SIGTERM', async () => {
    const redis = await startRedis('queue');
    const { code, ms } = await redis.stop();
    assert.equal(code, 0);
    assert.ok(ms < 15_000, `${String(ms)} ms`);
  });

  it('refuses to start without a password, with an unknown role, or with invalid settings', async () => {
    const env = { REDIS_RUN_DIR: temporaryDirectory(), REDIS_DATA_DIR: temporaryDirectory() };
    for (const [role, change] of [
      ['cache', { REDIS_PASSWORD: '' }],
      ['cache', { REDIS_PASSWORD: 'a\nbind 0.0.0.0' }],
      ['cache', { REDIS_PASSWORD: 'x', REDIS_MAXMEMORY: '1\nsave 1 1' }],
      ['cache', { REDIS_PASSWORD: 'x', LISTEN_PORT: '1 2' }],
      ['both', { REDIS_PASSWORD: 'x' }],
    ] as const) {
      const result = await runScript([...start, role], { ...env, ...change });
      assert.equal(result.code, 1);
      assert.match(result.lastLine, /^app-operator: InvalidInput: /);
      assert.equal(result.terminationMessage.trim(), result.lastLine);
    }
    const noVolume = await runScript([...start, 'queue'], {
      ...env,
      REDIS_PASSWORD: 'x',
      REDIS_DATA_DIR: '/nowhere',
    });
    assert.match(noVolume.lastLine, /^app-operator: VolumeNotWritable: /);
  });

  it('refuses an image whose Redis is too old, and says what to set', async () => {
    const refused = async (version: string) => {
      const programs = temporaryDirectory();
      const text = `#!/bin/sh\necho '${version} sha=00000000:0 malloc=jemalloc-5.1.0 bits=64'\n`;
      writeFileSync(join(programs, 'redis-server'), text, { mode: 0o755 });
      const env = {
        REDIS_PASSWORD: 'p',
        REDIS_RUN_DIR: programs,
        PATH: `${programs}:/usr/bin:/bin`,
      };
      return (await runScript([...start, 'cache'], env)).lastLine;
    };
    for (const version of ['5.0.14', '6.0.16', '3.2.1']) {
      assert.match(
        await refused(`Redis server v=${version}`),
        /^app-operator: RedisUnsupported: the image has Redis \d\.\d: set redisConfig\.image to 6\.2 or later$/,
      );
    }
    for (const version of ['Redis server v=6.2.14', 'Valkey server v=8.0.1', 'Redis 10.0.1']) {
      assert.doesNotMatch(await refused(version), /RedisUnsupported/);
    }
  });
});

describe('redis-check.sh', needs('redis-server'), () => {
  it('passes with the password and fails without it or without a server', async () => {
    const redis = await startRedis('cache');
    const probe = (env: Record<string, string>, kind = 'ready'): Promise<{ code: number | null }> =>
      runScript([...check, 'cache', kind], { LISTEN_PORT: String(redis.port), ...env });
    assert.equal((await probe({ REDIS_PASSWORD: redis.password })).code, 0);
    assert.equal((await probe({ REDIS_PASSWORD: redis.password }, 'live')).code, 0);
    assert.equal((await probe({ REDIS_PASSWORD: 'wrong' })).code, 1);
    assert.equal((await probe({})).code, 1);
    await redis.stop();
    assert.equal((await probe({ REDIS_PASSWORD: redis.password }, 'live')).code, 1);
  });

  it('keeps a server alive that cannot write: its recent data is only in memory', async (context) => {
    const data = temporaryDirectory();
    if (!mounts(context, data, '1m')) return;
    const redis = await startRedis('queue', { REDIS_DATA_DIR: data });
    try {
      const push = (): string =>
        redisCli(redis.port, redis.password, 'RPUSH', 'rq:queue:b:short', 'x'.repeat(100_000));
      await eventually('it takes no more', () => push().includes('MISCONF'));
      const probe = (kind: string) =>
        runScript([...check, 'queue', kind], {
          LISTEN_PORT: String(redis.port),
          REDIS_PASSWORD: redis.password,
        });
      const ready = await probe('ready');
      assert.match(ready.output, /MISCONF/);
      assert.equal(ready.code, 1);
      assert.equal((await probe('live')).code, 0);
    } finally {
      await redis.stop('SIGKILL');
    }
  });
});
