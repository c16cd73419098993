import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { MINIMUM_NODE, nodeVersionProblem } from '../../runner/kit/node-version.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const LIB = join(ROOT, 'dist/lib');
/** The Node.js of the system, if it has one. */
const SYSTEM_NODE = '/usr/bin/node';
/** Makes any Node.js report an old release. */
const SIMULATED = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.1' } })`;

const ENTRY_POINTS = [
  ...['cli/main', 'cli/kubectl-complete', 'cli/synth-app', 'runner/main', 'operator/main'],
  ...['app-operator/main', 'app-operator/kubectl-complete'],
  ...mainsIn('tools'),
  ...mainsIn('testbed'),
];

function mainsIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder))
    .map((name) => `${folder}/${name}/main`)
    .filter((entry) => existsSync(join(ROOT, `${entry}.ts`)));
}

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Result {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

function run(program: string, ...args: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(program, args, (error, out, err) => {
      resolve({ code: error ? (error.code ?? '') : 0, out, err });
    });
  });
}

const refusal = (version: string): Result => ({
  code: 1,
  out: '',
  err: `app-operator: Node.js ${version} is too old; install Node.js ${MINIMUM_NODE} or newer: https://nodejs.org/en/download\n`,
});

describe('an entry point on an old Node.js', { concurrency: 2 }, () => {
  test('includes the mains of tools and testbed', () => {
    for (const folder of ['tools', 'testbed']) assert.notDeepEqual(mainsIn(folder), [], folder);
  });
  for (const entry of ENTRY_POINTS) {
    const file = join(LIB, `${entry}.js`);
    test(`${entry} exits with one line, with a simulated release`, async () => {
      const result = await run(process.execPath, '--import', SIMULATED, file);
      assert.deepEqual(result, refusal('20.11.1'));
    });
    test(`${entry} exits with one line, with the system's release`, async (t) => {
      const version = await systemVersion();
      if (version === undefined || nodeVersionProblem(version) === undefined) {
        t.skip(`${SYSTEM_NODE} is ${version ?? 'missing'}: not an old Node.js`);
        return;
      }
      assert.deepEqual(await run(SYSTEM_NODE, file), refusal(version));
    });
  }
});

async function systemVersion(): Promise<string | undefined> {
  if (!existsSync(SYSTEM_NODE)) return undefined;
  const { stdout } = await promisify(execFile)(SYSTEM_NODE, ['--version']);
  return stdout.trim().slice(1);
}

describe('the supported Node.js', () => {
  test('starts with the minimum', () => {
    for (const supported of [`${MINIMUM_NODE}.0`, '22.20.1', '23.0.0', '24.0.0', '100.1.0'])
      assert.equal(nodeVersionProblem(supported), undefined, supported);
    for (const old of ['0.10.48', '9.99.0', '20.20.2', '22.18.99'])
      assert.match(nodeVersionProblem(old) ?? '', /is too old/, old);
  });

  test('runs every dependency', () => {
    const { packages } = JSON.parse(text('package-lock.json')) as {
      packages: Record<string, { dev?: true; engines?: { node?: string } }>;
    };
    const undici = packages['node_modules/undici']?.engines?.node;
    assert.equal(undici, `>=${MINIMUM_NODE}.0`, 'undici decides the minimum');
  });

  test('is the one of package.json', () => {
    const { engines } = JSON.parse(text('package.json')) as { engines: { node: string } };
    assert.equal(engines.node, `>=${MINIMUM_NODE}`);
  });

  test('includes the base image of the Dockerfile', () => {
    const [, version = ''] = /^ARG NODE_IMAGE=node:([0-9.]+)-/m.exec(text('Dockerfile')) ?? [];
    assert.equal(nodeVersionProblem(version.includes('.') ? version : `${version}.0`), undefined);
  });

  test('is the one of the README and of every page', () => {
    const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`);
    const stated = (path: string): readonly (string | undefined)[] =>
      [...text(path).matchAll(/Node\.js ([0-9.]+) or newer/g)].map(([, version]) => version);
    assert.notDeepEqual(stated('README.md'), []);
    for (const path of ['README.md', ...pages])
      for (const version of stated(path)) assert.equal(version, MINIMUM_NODE, path);
  });
});
