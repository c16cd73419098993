/** print_program.py with the real Chromium and wkhtmltopdf: a site's page through the real nginx, its name unknown to DNS. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Backend, type Nginx, aBackend, sitesVolume, startNginx } from './nginx-fixture.js';
import {
  daemon,
  eventually,
  needs,
  program,
  required,
  runScript,
  SCRIPTS,
  temporaryDirectory,
} from './servers.js';

const SITE = 'print.example.com';
const ALIAS = 'print.example.org';
const FONTS = [
  '/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf',
  '/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf',
];
const FONT = FONTS.find((path) => existsSync(path));
/** A width that only the site's stylesheet gives a page of Chromium: 100 mm in points. */
const WIDTH = /\/MediaBox \[0 0 28[23]/;
const PAGE = `<html><head><link rel="stylesheet" href="https://${SITE}/assets/print.css"></head>
<body><p>Amount 42</p><img src="https://${SITE}/files/logo.svg?a"><img src="http://${ALIAS}/files/logo.svg?b"></body></html>`;
const PYTHON = '/usr/bin/python3';

/** Python with the framework's dependency, and the program; the reason is printed where one is missing. */
function needsPrinting(name: string): { skip?: string } {
  const has = spawnSync(PYTHON, ['-c', 'import cryptography']).status === 0;
  if (has) return needs('nginx', name);
  const skip = 'NOT TESTED: cryptography missing (apt-get install python3-cryptography)';
  console.error(skip);
  return { skip };
}

describe('print_program.py', needs('nginx'), () => {
  let nginx: Nginx;
  let backend: Backend;
  before(async () => {
    const sites = sitesVolume(SITE);
    if (FONT !== undefined) copyFileSync(FONT, join(sites, 'assets/font.ttf'));
    writeFileSync(
      join(sites, 'assets/print.css'),
      "@page{size:100mm 100mm} @font-face{font-family:Site;src:url('/assets/font.ttf')} p{font-family:Site}",
    );
    writeFileSync(
      join(sites, `${SITE}/public/files/logo.svg`),
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    );
    backend = await aBackend('page', (_, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(PAGE);
    });
    nginx = await startNginx({
      benchBackend: backend.address,
      sitesDirectory: sites,
      sites: [{ siteName: SITE, domains: [ALIAS] }],
    });
    await assert.rejects(lookup(SITE), 'the name of the site must not resolve');
  });
  after(async () => {
    await nginx.stop();
    backend.close();
  });

  const print = async (name: string, ...args: readonly string[]) => {
    const home = temporaryDirectory();
    const command = [PYTHON, '-I', join(SCRIPTS, 'print_program.py'), program(name) ?? name];
    const env = {
      NGINX_HOST: '127.0.0.1',
      NGINX_PORT: String(nginx.port),
      HOME: home,
      TMPDIR: home,
    };
    return runScript([...command, ...args], env);
  };
  const assertRequested = (...paths: readonly string[]): void => {
    const log = nginx.log();
    for (const path of paths)
      assert.ok(log.includes(`"GET ${path} HTTP/1.1" 200`), `${path}: ${log}`);
  };

  it(
    'gives Chromium the page, its style, fonts and images of both schemes',
    needsPrinting('chromium'),
    async () => {
      const pdf = join(temporaryDirectory(), 'a.pdf');
      const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
      const result = await print(
        'chromium',
        ...flags,
        `--print-to-pdf=${pdf}`,
        `https://${SITE}/page`,
      );
      assert.equal(result.code, 0, result.output);
      const content = readFileSync(pdf, 'latin1');
      assert.match(content, WIDTH);
      if (FONT !== undefined)
        assert.match(content, /\/BaseFont \/\w+\+(?:LiberationMono|DejaVuSansMono)/);
      assertRequested('/page', '/assets/print.css', '/files/logo.svg?a', '/files/logo.svg?b');
      assert.ok(
        backend.requests.every(({ headers }) => headers['x-forwarded-proto'] === 'https'),
        'nginx knows the scheme',
      );
    },
  );

  it('gives wkhtmltopdf the same', needsPrinting('wkhtmltopdf'), async () => {
    const pdf = join(temporaryDirectory(), 'a.pdf');
    const result = await print('wkhtmltopdf', '--quiet', `https://${SITE}/page?w`, pdf);
    assert.equal(result.code, 0, result.output);
    assert.match(readFileSync(pdf, 'latin1'), /^%PDF-/);
    assertRequested('/page?w', '/assets/print.css');
    const without = spawnSync(required('wkhtmltopdf'), [`https://${SITE}/page`, pdf]);
    assert.notEqual(without.status, 0, 'the name of the site does not resolve');
  });

  it(
    'ends Chromium when the process that started it is killed',
    needsPrinting('chromium'),
    async () => {
      const home = temporaryDirectory();
      // As Debian's chromium-headless-shell: the script does not become the program.
      const shell = join(home, 'chromium-headless-shell');
      writeFileSync(shell, `#!/bin/sh -e\n\n${required('chromium')} "$@"\n`, { mode: 0o755 });
      const flags = '--headless --no-sandbox --disable-gpu --remote-debugging-port=0';
      const started = `${PYTHON} -I ${join(SCRIPTS, 'print_program.py')} ${shell} ${flags}`;
      const env = { NGINX_HOST: '127.0.0.1', NGINX_PORT: '1', HOME: home, TMPDIR: home };
      const parent = daemon(['sh', '-c', `${started} & wait`], env);
      await eventually('Chromium runs', () => processesWith(home).length > 3);
      await parent.stop('SIGKILL');
      await eventually('it has ended', () => processesWith(home).length === 0);
      assert.deepEqual(
        readdirSync(home).filter((name) => name.startsWith('print-')),
        [],
      );
    },
  );
});

/** The command lines that contain a text. */
function processesWith(text: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
      } catch {
        return ''; // it has ended
      }
    })
    .filter((line) => line.includes(text));
}
