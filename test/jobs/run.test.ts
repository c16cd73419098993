/** run.sh, with real processes. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newAuthority, serverTls } from './certificates.js';
import {
  type Env,
  SCRIPTS,
  daemon,
  eventually,
  runScript,
  startTlsRedis,
  temporaryDirectory,
} from './servers.js';

const run = ['sh', join(SCRIPTS, 'run.sh')];

describe('run.sh', () => {
  it('passes arguments unchanged and returns the program’s exit code', async () => {
    const result = await runScript(
      [...run, 'sh', '-c', 'printf "%s|" "$@"; exit 7', 'sh', 'a b', '$HOME', ';id'],
      {},
    );
    assert.equal(result.output, 'a b|$HOME|;id|');
    assert.equal(result.code, 7);
  });

  it('lets Node.js trust a private authority, and leaves that of a template', async () => {
    const authority = newAuthority('redis CA');
    const redis = await startTlsRedis(serverTls(authority, ['localhost']));
    const file = join(temporaryDirectory(), 'ca.crt');
    writeFileSync(file, authority.certificatePem);
    const connect = `require('node:tls').connect(${String(redis.port)}, 'localhost')
      .on('secureConnect', () => { console.log('trusted'); process.exit(); })
      .on('error', ({ code }) => { console.log(code); process.exit(); })`;
    const outcome = async (env: Env): Promise<string> =>
      (await runScript([...run, process.execPath, '-e', connect], env)).output.trim();
    assert.equal(await outcome({}), 'SELF_SIGNED_CERT_IN_CHAIN');
    assert.equal(await outcome({ OPERATOR_NODE_CA_FILE: file }), 'trusted');
    const both = { OPERATOR_NODE_CA_FILE: '/nonexistent', NODE_EXTRA_CA_CERTS: file };
    assert.equal(await outcome(both), 'trusted');
    await redis.stop();
  });

  it('ends the program at once on SIGTERM', async () => {
    const started = daemon([...run, 'sh', '-c', 'echo up; exec sleep 60'], {});
    await eventually('the program runs', () => started.log().includes('up'));
    const { code, ms } = await started.stop();
    assert.equal(code, 0);
    assert.ok(ms < 15_000, `${String(ms)} ms`);
  });

  it('waits for a program that wants to clean up', async () => {
    const script =
      'trap "sleep 0.5; echo cleaned; exit 0" TERM; echo up; while :; do sleep 0.1; done';
    const started = daemon([...run, 'sh', '-c', script], {});
    await eventually('the program runs', () => started.log().includes('up'));
    await started.stop();
    assert.match(started.log(), /cleaned/);
  });
});
