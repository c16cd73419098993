import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { run } from '../../testbed/controlplane/run.js';
import { sha256, writeChecksums } from '../../tools/release/release.js';
import { writeTarGz } from '../../tools/release/tar.js';

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'app-operator-release-test-'));
});
after(() => rm(folder, { recursive: true }));

/** Equal files, made in some order at some time with some modes. */
async function files(name: string, order: readonly string[], mode: number): Promise<string> {
  const root = path.join(folder, name);
  for (const file of order) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), `content of ${file}\n`);
    await chmod(path.join(root, file), mode);
    await utimes(path.join(root, file), mode, mode);
  }
  return root;
}

test('equal files give an equal archive, whenever and by whomever they were written', async () => {
  const one = await files('one', ['b/c', 'a', 'B'], 0o600);
  const other = await files('other', ['B', 'a', 'b/c'], 0o664);
  const sums: string[] = [];
  for (const root of [one, other]) {
    await writeTarGz(`${root}.tar.gz`, root, ['.']);
    sums.push(await sha256(`${root}.tar.gz`));
  }
  assert.equal(sums[0], sums[1]);
  const listed = await run('tar', ['-tvf', `${one}.tar.gz`, '--numeric-owner', '--full-time'], {
    env: { ...process.env, TZ: 'UTC' },
  });
  assert.match(listed, /^-rw-r--r-- 0\/0 +\d+ 1970-01-01 00:00:00 \.\/a$/m);
});

test('another content gives another archive', async () => {
  const root = await files('third', ['a'], 0o644);
  await writeTarGz(`${root}.1.tar.gz`, root, ['.']);
  await writeFile(path.join(root, 'a'), 'changed');
  await writeTarGz(`${root}.2.tar.gz`, root, ['.']);
  assert.notEqual(await sha256(`${root}.1.tar.gz`), await sha256(`${root}.2.tar.gz`));
});

test('sha256sum accepts the checksums, and refuses a changed file', async () => {
  const root = await files('sums', ['b', 'a'], 0o644);
  await writeChecksums(root, ['b', 'a']);
  const check = (): Promise<string> => run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: root });
  assert.equal(await check(), 'a: OK\nb: OK\n');
  await writeFile(path.join(root, 'a'), 'changed');
  await assert.rejects(check(), /a: FAILED/);
});
