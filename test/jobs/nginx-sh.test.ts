/** nginx.sh with the real nginx: start, reload, refusal, stop. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { renderNginxConfig } from '../../constructs/kinds/bench/nginx-config.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { aBackend, ConfigMapVolume, nameServer, startNginx } from './nginx-fixture.js';
import {
  SCRIPTS,
  daemon,
  eventually,
  get,
  needs,
  required,
  runScript,
  temporaryDirectory,
} from './servers.js';

const one = 'one.example.com';
const two = 'two.example.com';

describe('nginx.sh', needs('nginx'), () => {
  it('reloads a new configuration without losing a request under load', async () => {
    const backend = await aBackend('bench', (_, response) =>
      setTimeout(() => response.end('bench'), 20),
    );
    const nginx = await startNginx({
      benchBackend: backend.address,
      sites: [{ siteName: one, domains: [] }],
    });
    const answers = new Map<number, number>();
    let running = true;
    const client = async (): Promise<void> => {
      while (running) {
        const { status } = await get(nginx.port, '/x', { Host: one });
        answers.set(status, (answers.get(status) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: 16 }, client);
    for (let round = 1; round <= 3; round += 1) {
      const host = `new${String(round)}.example.com`;
      nginx.configure({ sites: [{ siteName: one, domains: [host] }] });
      await eventually(
        'the new host',
        async () => (await get(nginx.port, '/x', { Host: host })).status === 200,
      );
    }
    await eventually('there was load', () => (answers.get(200) ?? 0) > 300);
    running = false;
    await Promise.all(clients);
    assert.deepEqual([...answers.keys()], [200], JSON.stringify([...answers]));
    await nginx.stop();
  });

  it('keeps the last valid configuration when an invalid one is mounted, and uses the next valid one', async () => {
    const backend = await aBackend('bench');
    const nginx = await startNginx({
      benchBackend: backend.address,
      sites: [{ siteName: one, domains: [] }],
    });
    nginx.volume.write({ 'nginx.conf': 'nonsense {', 'sites.conf': '' });
    await eventually('the error message', () => nginx.log().includes('InvalidConfiguration'));
    assert.equal((await get(nginx.port, '/x', { Host: one })).status, 200);
    nginx.configure({ sites: [{ siteName: two, domains: [] }] });
    await eventually(
      'the valid one',
      async () => (await get(nginx.port, '/x', { Host: two })).status === 200,
    );
    await nginx.stop();
  });

  it('starts with the last valid configuration when the container restarts with an invalid one', async () => {
    const backend = await aBackend('bench');
    const nginx = await startNginx({
      benchBackend: backend.address,
      sites: [{ siteName: one, domains: [] }],
    });
    await nginx.stop();
    const broken = temporaryDirectory();
    writeFileSync(join(broken, 'nginx.conf'), 'nonsense {');
    const again = await startNginx(
      { port: nginx.port },
      { RUN_DIR: nginx.runDirectory, CONF_DIR: broken },
    );
    assert.equal((await get(nginx.port, '/x', { Host: one })).status, 200);
    assert.match(again.log(), /InvalidConfiguration: .* the last valid one is used/);
    await again.stop();
  });

  it('fails on an invalid first configuration with a reason', async () => {
    const broken = temporaryDirectory();
    writeFileSync(join(broken, 'nginx.conf'), 'nonsense {');
    const result = await runScript(['sh', join(SCRIPTS, 'nginx.sh')], {
      CONF_DIR: broken,
      RUN_DIR: temporaryDirectory(),
    });
    assert.equal(result.code, 1);
    assert.match(result.lastLine, /^app-operator: InvalidConfiguration: /);
  });

  it('ends at once on SIGTERM when idle, and lets a request in flight finish', async () => {
    const longStop = { STOP_SECONDS: '30' };
    const idle = await startNginx({}, longStop);
    const stopped = await idle.stop();
    assert.equal(stopped.code, 0);
    assert.ok(stopped.ms < 15_000, `${String(stopped.ms)} ms`);

    let finish = (): void => undefined;
    const slow = await aBackend('slow', (_, response) => {
      finish = () => void response.end('slow');
    });
    const busy = await startNginx(
      {
        benchBackend: slow.address,
        sites: [{ siteName: one, domains: [] }],
      },
      longStop,
    );
    const answer = get(busy.port, '/x', { Host: one });
    await eventually('it is there', () => slow.requests.length === 1);
    setTimeout(() => finish(), 700);
    const { ms } = await busy.stop();
    assert.equal((await answer).body, 'slow');
    assert.ok(ms < 15_000, `${String(ms)} ms`);
  });

  it('ends at once on SIGTERM while it starts', async () => {
    const volume = new ConfigMapVolume();
    const input = { sites: [], clientMaxBodySize: '1m', proxyReadTimeout: 60 };
    volume.write(renderNginxConfig({ ...input, port: await freePort() }).files);
    // The first check of the configuration sends SIGTERM to the shell.
    const programs = temporaryDirectory();
    const nginx = `#!/bin/sh\ncase " $* " in *" -t "*) kill -TERM $PPID ;; esac\nexec ${required('nginx')} "$@"\n`;
    writeFileSync(join(programs, 'nginx'), nginx, { mode: 0o755 });
    const started = daemon(['sh', join(SCRIPTS, 'nginx.sh')], {
      PATH: `${programs}:/usr/bin:/bin`,
      CONF_DIR: volume.path,
      RUN_DIR: temporaryDirectory(),
      STOP_SECONDS: '600',
    });
    const end = (): unknown => started.process.exitCode ?? started.process.signalCode;
    await eventually('it has ended', () => end() !== null);
    assert.equal(end(), 0, started.log());
  });

  it('does not wait longer than STOP_SECONDS for an open websocket', async () => {
    const forever = await aBackend('forever', () => undefined);
    const nginx = await startNginx({
      benchBackend: forever.address,
      sites: [{ siteName: one, domains: [] }],
    });
    const hanging = get(nginx.port, '/x', { Host: one }).catch(() => 'cut');
    await eventually('it is there', () => forever.requests.length === 1);
    const { ms } = await nginx.stop();
    await hanging;
    // Less than the minute after which nginx itself closes the connection to the backend.
    assert.ok(ms > 1500 && ms < 15_000, `${String(ms)} ms`);
  });

  it('loads five thousand sites, names of 253 characters among them, and finds each', async () => {
    const backend = await aBackend('bench');
    const label = 'x'.repeat(60);
    const long = (n: number): string =>
      `${String(n).padStart(9, '0')}.${label}.${label}.${label}.${label}`
        .slice(0, 253)
        .replace(/\.$/, '');
    const sites = Array.from({ length: 5000 }, (_, n) => ({
      siteName: `s${String(n)}.example.com`,
      domains: [long(n)],
      backend: backend.address,
    }));
    const nginx = await startNginx({ sites });
    // So many are in parts.
    assert.ok(readdirSync(nginx.volume.path).includes('hosts-15.conf'));
    for (const host of ['s0.example.com', 's4999.example.com', long(0), long(4999)]) {
      assert.equal((await get(nginx.port, '/x', { Host: host })).status, 200, host.slice(0, 20));
    }
    assert.equal((await get(nginx.port, '/x', { Host: 's5000.example.com' })).status, 404);
    assert.doesNotMatch(nginx.log(), /could not build optimal/);
    await nginx.stop();
  });

  it('uses the name servers of resolv.conf, IPv6 in brackets', async () => {
    const resolv = join(temporaryDirectory(), 'resolv.conf');
    writeFileSync(
      resolv,
      'search a.b\nnameserver 10.96.0.10\nnameserver fd00::a\nnameserver fe80::1%eth0\noptions ndots:5\n',
    );
    const nginx = await startNginx({}, { RESOLV_CONF: resolv });
    const written = readFileSync(join(nginx.runDirectory, 'conf/resolver.conf'), 'utf8');
    assert.equal(written, 'resolver  10.96.0.10 [fd00::a] valid=10s;\n');
    await nginx.stop();
  });

  it('finds a Service that is created later, without a reload', async () => {
    const backend = await aBackend('late');
    const names = new Set<string>();
    const port = backend.address.split(':')[1] ?? '';
    const nginx = await startNginx(
      { sites: [{ siteName: one, domains: [], backend: `late.ns.svc.cluster.local:${port}` }] },
      { RESOLVER: await nameServer(names) },
    );
    assert.equal((await get(nginx.port, '/x', { Host: one })).status, 502);
    names.add('late.ns.svc.cluster.local');
    await eventually(
      'the Service',
      async () => (await get(nginx.port, '/x', { Host: one })).body === 'late',
    );
    await nginx.stop();
  });
});
