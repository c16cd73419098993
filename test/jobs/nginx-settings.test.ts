/** The proxy's settings of a spec in the real nginx: whatever admission takes is valid, and has its effect. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ProxySettings } from '../../constructs/api/bench.js';
import { appBench } from '../../constructs/kinds/bench/definition.js';
import { renderNginxConfig } from '../../constructs/kinds/bench/nginx-config.js';
import type { NginxConfigInput } from '../../constructs/kinds/bench/nginx-input.js';
import { proxySettings } from '../../constructs/kinds/bench/proxy-settings.js';
import { admit } from '../../constructs/kit/schema/admit.js';

import { aBackend, sitesVolume, startNginx, type Nginx } from './nginx-fixture.js';
import { eventually, get, needs, required, temporaryDirectory } from './servers.js';

const SITE = 'one.example.com';

/** Whether admission and the operator take a proxy's settings. */
function isAllowed(proxy: ProxySettings): boolean {
  const { problems } = admit(appBench, {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppBench',
    metadata: { name: 'b' },
    spec: { frameworkVersion: 'version-15', proxy },
  });
  return problems.length === 0;
}

const text = (pattern: RegExp) => fc.stringMatching(pattern);
const value = fc.oneof(
  text(/^[!-~]([ -~]{0,60}[!-~])?$/),
  fc.constantFrom('"', '\\', '$', '${host}', '$host', '\\"', '\\$1', '{}', ';', '#', "'", '\\n'),
  fc
    .array(fc.constantFrom('"', '\\', '$', '{', '}', ';', "'", '#', 'a'), { minLength: 1 })
    .map((parts) => parts.join('')),
);
const address = fc.oneof(
  fc.tuple(fc.ipV4(), fc.nat(34)),
  fc.tuple(
    fc.ipV6().map((ip) => ip.toLowerCase()),
    fc.nat(130),
  ),
  fc.tuple(text(/^[0-9a-fA-F:]{2,20}$/), fc.nat(130)),
  fc.tuple(fc.oneof(fc.ipV4(), fc.ipV6(), text(/^[0-9a-f:]{2,20}$/))),
);
const seconds = fc.integer({ min: 1, max: 60 });
const settings: fc.Arbitrary<ProxySettings> = fc.record(
  {
    maxBodySize: fc
      .tuple(fc.integer({ min: 0, max: 2000 }), fc.constantFrom('', 'k', 'Ki', 'Mi', 'Gi', 'e3'))
      .map((parts) => parts.join('')),
    readTimeoutSeconds: seconds,
    sendTimeoutSeconds: seconds,
    connectTimeoutSeconds: seconds,
    responseHeaders: fc.uniqueArray(
      fc.record({ name: text(/^[A-Za-z][A-Za-z0-9-]{0,12}$/), value }),
      { maxLength: 6, selector: ({ name }) => name },
    ),
    realIPFrom: fc.uniqueArray(
      address.map((parts) => parts.join('/')),
      { maxLength: 4 },
    ),
    realIPHeader: text(/^[A-Za-z][A-Za-z0-9-]{0,12}$/),
  },
  { requiredKeys: [] },
);

/** `nginx -t` on the files of a configuration. */
function check(input: NginxConfigInput): { readonly status: number | null; readonly said: string } {
  const folder = temporaryDirectory();
  for (const [name, content] of Object.entries(renderNginxConfig(input).files))
    writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, 'resolver.conf'), '');
  const { status, stderr } = spawnSync(
    required('nginx'),
    ['-e', 'stderr', '-t', '-p', `${folder}/`, '-c', join(folder, 'nginx.conf')],
    // nginx opens /dev/stdout, which cannot be one of Node's sockets.
    { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] },
  );
  return { status, said: stderr };
}

const base = { sites: [{ siteName: SITE, domains: [] }], port: 18080 };

describe('the proxy’s settings in nginx', needs('nginx'), () => {
  it('are valid wherever admission takes them', () => {
    let tried = 0;
    fc.assert(
      fc.property(settings, (proxy) => {
        fc.pre(isAllowed(proxy));
        tried += 1;
        const { status, said } = check({ ...base, ...proxySettings(proxy) });
        assert.equal(status, 0, `${JSON.stringify(proxy)}: ${said}`);
      }),
      { numRuns: 150, maxSkipsPerRun: 1000 },
    );
    assert.ok(tried >= 150);
  });

  it('send each header as it is written, on every answer, in place of the framework’s', async () => {
    const values = fc.sample(value, { numRuns: 29, seed: 1 });
    const responseHeaders = [
      ...values.map((one, index) => ({ name: `X-Value-${String(index)}`, value: one })),
      { name: 'X-Frame-Options', value: 'DENY' },
      { name: 'X-Team', value: '"$host"; {\\}' },
    ];
    const proxy = { responseHeaders };
    assert.ok(isAllowed(proxy));
    const backend = await aBackend('bench', (_, response) => {
      response.setHeader('X-Team', 'framework');
      response.setHeader('X-Other', 'framework');
      response.end('bench');
    });
    const nginx = await startNginx({
      ...proxySettings(proxy),
      benchBackend: backend.address,
      sitesDirectory: sitesVolume(SITE),
      sites: base.sites,
    });
    try {
      const paths = ['/app', '/files/a.txt', '/files/page.html', '/assets/app.css', '/healthz'];
      const answers = [
        ...(await Promise.all(paths.map((path) => get(nginx.port, path, { Host: SITE })))),
        await get(nginx.port, '/app', { Host: 'unknown.example.com' }),
      ];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200, 200, 404],
      );
      for (const { status, headers } of answers) {
        for (const { name, value: wanted } of responseHeaders)
          assert.equal(headers[name.toLowerCase()], wanted, name);
        assert.equal(headers['x-content-type-options'], status === 200 ? 'nosniff' : undefined);
      }
      assert.equal(answers[0]?.headers['x-other'], 'framework');
    } finally {
      await nginx.stop();
    }
  });

  /** A proxy with a backend that says what it saw. */
  async function proxied(proxy: ProxySettings): Promise<Nginx> {
    const backend = await aBackend('bench', ({ url, headers }, response) => {
      if (url === '/hang') return;
      response.end(String(headers['x-forwarded-for']));
    });
    return startNginx({
      ...proxySettings(proxy),
      benchBackend: backend.address,
      sites: base.sites,
    });
  }

  it('limit the time of an answer', async () => {
    const nginx = await proxied({ readTimeoutSeconds: 1 });
    try {
      assert.equal((await get(nginx.port, '/hang', { Host: SITE })).status, 504);
    } finally {
      await nginx.stop();
    }
  });

  it('limit bodies, and a change is reloaded without a lost request', async () => {
    const nginx = await proxied({ maxBodySize: '2Ki' });
    const post = async (bytes: number) =>
      (await get(nginx.port, '/x', { Host: SITE }, { method: 'POST', body: 'x'.repeat(bytes) }))
        .status;
    try {
      assert.deepEqual([await post(2048), await post(2049)], [200, 413]);
      let running = true;
      const seen = new Set<number>();
      const clients = Array.from({ length: 8 }, async () => {
        while (running) seen.add((await get(nginx.port, '/x', { Host: SITE })).status);
      });
      nginx.configure(proxySettings({ maxBodySize: '1Mi' }));
      await eventually('the new limit', async () => (await post(1_000_000)) === 200);
      running = false;
      await Promise.all(clients);
      assert.deepEqual([...seen], [200]);
    } finally {
      await nginx.stop();
    }
  });

  it('take the client’s address in the forms in which proxies write it', async () => {
    const nginx = await proxied({
      realIPFrom: ['127.0.0.1', '::1', '203.0.113.0/24', '2001:DB8::/32'],
    });
    try {
      for (const [list, client] of [
        ['192.0.2.9', '192.0.2.9'],
        ['192.0.2.9:4711', '192.0.2.9'],
        ['192.0.2.9:4711, 203.0.113.7:80', '192.0.2.9'],
        ['198.51.100.1, 192.0.2.9, 203.0.113.7', '192.0.2.9'],
        ['192.0.2.9,203.0.113.7', '192.0.2.9'],
        ['[2001:db9::9]:443', '2001:db9::9'],
        ['2001:db9::9', '2001:db9::9'],
        ['[2001:db9::9]:443, [2001:db8::1]:443, 203.0.113.7:80', '2001:db9::9'],
        // What a proxy cannot know.
        ['unknown', '127.0.0.1'],
        ['192.0.2.9, unknown', '127.0.0.1'],
      ] as const) {
        const { body } = await get(nginx.port, '/x', { Host: SITE, 'X-Forwarded-For': list });
        assert.equal(body, client, list);
      }
    } finally {
      await nginx.stop();
    }
  });

  it('take the client’s address from the header of a trusted proxy, and of no other', async () => {
    const address = async (proxy: ProxySettings): Promise<string> => {
      const nginx = await proxied(proxy);
      const headers = {
        Host: SITE,
        'CF-Connecting-IP': '198.51.100.7',
        'X-Forwarded-For': '192.0.2.9',
      };
      try {
        return (await get(nginx.port, '/x', headers)).body;
      } finally {
        await nginx.stop();
      }
    };
    assert.deepEqual(
      await Promise.all([
        address({ realIPFrom: ['127.0.0.0/8'], realIPHeader: 'CF-Connecting-IP' }),
        address({ realIPFrom: ['127.0.0.0/8'] }),
        address({ realIPFrom: ['203.0.113.0/24'] }),
        address({ realIPFrom: [] }),
      ]),
      ['198.51.100.7', '192.0.2.9', '127.0.0.1', '127.0.0.1'],
    );
  });
});
