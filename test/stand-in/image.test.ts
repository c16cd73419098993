/**
 * The image's definition: its files as root file system, its configuration, and what makes two
 * images equal. Facts: docs/contributing/frappe-16.md, Image.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { BENCH, UID, VERSIONS, frappeImage } from '../../testbed/stand-in/image.js';
import { temporaryDirectory } from '../jobs/servers.js';
import { needsImage } from './fixture.js';

const NAME = 'docker.io/frappe/erpnext:version-15';
const possible = await needsImage('python3');

/** Only what `fill` reads of the file system below. */
function aBase(): string {
  const base = temporaryDirectory();
  mkdirSync(join(base, 'etc'));
  writeFileSync(join(base, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/bash\n');
  writeFileSync(join(base, 'etc/group'), 'root:x:0:\n');
  return base;
}

describe('the definition of the framework image', possible, () => {
  it('has the paths, the user and the programs of the official image', async () => {
    const overlay = temporaryDirectory();
    const { fill, config } = frappeImage({
      name: NAME,
      apps: { erpnext: '15.40.0', hrms: '15.30.0' },
    });
    await fill(overlay, aBase());
    const read = (...parts: readonly string[]) => readFileSync(join(overlay, ...parts), 'utf8');
    assert.match(
      read('etc/passwd'),
      /^root:[^]*\nfrappe:x:1000:1000::\/home\/frappe:\/bin\/bash\n$/,
    );
    for (const program of ['bench', 'entrypoint.sh', 'start.sh']) {
      assert.equal(statSync(join(overlay, 'usr/local/bin', program)).mode & 0o777, 0o755, program);
    }
    for (const name of [
      'apps/frappe/socketio.js',
      'env/bin/gunicorn',
      'config/pids',
      'logs',
      'assets/assets.json',
    ]) {
      assert.ok(existsSync(join(overlay, BENCH, name)), name);
    }
    assert.equal(read(BENCH, 'sites/apps.txt'), 'frappe\nerpnext\nhrms\n');
    assert.equal(read(BENCH, 'sites/common_site_config.json'), '{}');
    assert.match(read(BENCH, 'apps/frappe/frappe/__init__.py'), /^__version__ = "15\.44\.2"$/m);
    assert.match(read(BENCH, 'apps/hrms/hrms/hooks.py'), /required_apps = \["frappe\/erpnext"\]/);
    const { User, WorkingDir, Entrypoint, Cmd, Volumes } = config;
    assert.deepEqual(
      { User, WorkingDir, Entrypoint, Cmd },
      {
        User: 'frappe',
        WorkingDir: BENCH,
        Entrypoint: ['/usr/local/bin/entrypoint.sh'],
        Cmd: ['start.sh'],
      },
    );
    assert.deepEqual(Object.keys(Volumes ?? {}), [`${BENCH}/sites`, `${BENCH}/logs`]);

    // Any uid may read it, only its user may write it, and nothing of this machine is in it.
    const find = (...test: readonly string[]) =>
      execFileSync('find', [overlay, ...test]).toString();
    assert.equal(find('-mindepth', '1', '!', '-type', 'l', '!', '-perm', '-o+r'), '');
    assert.equal(find('-type', 'd', '!', '-perm', '-o+x'), '');
    assert.equal(find('!', '-type', 'l', '-perm', '/o+w'), '');
    if (process.getuid?.() === 0) {
      assert.equal(find('-path', `${overlay}/home/frappe/*`, '!', '-uid', String(UID)), '');
    }
    const leaks = `grep -rlF ${overlay} ${overlay} || true`;
    assert.equal(execFileSync('sh', ['-c', leaks]).toString(), '');
  });

  it('leaves out later objects', async () => {
    const files = async (version: string): Promise<string> => {
      const overlay = temporaryDirectory();
      await frappeImage({ name: NAME, version }).fill(overlay, aBase());
      const app = join(overlay, BENCH, 'apps/frappe/frappe');
      const user = readFileSync(join(app, 'core/doctype/user/user.json'), 'utf8');
      const seen = /last_(active|seen)/.exec(user)?.[0] ?? '';
      const patches = readFileSync(join(app, 'patches.txt'), 'utf8').match(/v15_45/g)?.length ?? 0;
      const modules = existsSync(join(app, 'patches/v15_45'));
      return [seen, patches, modules].join(' ');
    };
    assert.equal(await files('15.44.9'), 'last_active 0 false');
    assert.equal(await files(VERSIONS.first), 'last_active 0 false');
    assert.equal(await files(VERSIONS.second), 'last_seen 3 true');
    assert.equal(await files(VERSIONS.next), 'last_seen 3 true');
  });

  it('has a key that changes with the version and the apps only', () => {
    const key = (change = {}) => frappeImage({ name: NAME, ...change }).key;
    assert.equal(key(), key({ version: VERSIONS.first, name: 'other' }));
    assert.notEqual(key(), key({ version: VERSIONS.second }));
    assert.notEqual(key(), key({ apps: { hrms: '15.30.0' } }));
  });
});
