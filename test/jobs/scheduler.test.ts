/** scheduler.py with a stand-in of the framework's scheduler (test code): which sites it is given. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SCRIPTS, needs, required, runScript, temporaryDirectory } from './servers.js';

const STANDIN = `
import os
def get_sites():
    return sorted(name for name in os.listdir(".") if "." in name)
def start_scheduler():
    print("sites:", " ".join(get_sites()))
`;

async function run(standin: string, path = ''): Promise<string> {
  const modules = temporaryDirectory();
  mkdirSync(join(modules, 'frappe/utils'), { recursive: true });
  for (const file of ['frappe/__init__.py', 'frappe/utils/__init__.py'])
    writeFileSync(join(modules, file), '');
  writeFileSync(join(modules, 'frappe/utils/scheduler.py'), standin);
  const sites = join(temporaryDirectory(), 'sites');
  const metadataKeys = {
    'a.example.com': { code: { image: 'new' } },
    'b.example.com': { code: { image: 'old' } },
    'c.example.com': { code: { image: 'new' }, upgrade: { from: 'old' } },
    'd.example.com': undefined,
    'e.example.com': { state: 'creating' },
    'f.example.com': { state: 'complete', code: { image: 'new' } },
  };
  for (const [site, marker] of Object.entries(metadataKeys)) {
    mkdirSync(join(sites, site), { recursive: true });
    if (marker) writeFileSync(join(sites, site, '.app-operator.json'), JSON.stringify(marker));
  }
  const command = [
    'sh',
    '-c',
    'cd "$0/.." && exec "$@"',
    sites,
    required('python3'),
    join(SCRIPTS, 'scheduler.py'),
  ];
  const env = { IMAGE: 'new', PYTHONPATH: modules, ...(path ? { PATH: path } : {}) };
  return (await runScript(command, env)).output;
}

describe('scheduler.py', needs('python3'), () => {
  it('runs for created sites with data of its image, not for other folders', async () => {
    assert.equal(await run(STANDIN), 'sites: a.example.com f.example.com\n');
  });

  it('runs the framework’s own command if the functions do not exist', async () => {
    const bin = temporaryDirectory();
    writeFileSync(join(bin, 'bench'), '#!/bin/sh\necho "bench $* in $(basename "$PWD")"\n', {
      mode: 0o755,
    });
    const output = await run('', `${bin}:/usr/bin:/bin`);
    assert.match(output, /runs for all sites: .*\nbench schedule in /);
  });
});
