/** assets.sh on real files: the assets of images, old and new. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SCRIPTS, type ScriptResult, runScript, temporaryDirectory } from './servers.js';

/** The folder of an image, with assets in one of its folders. */
function anImage(folder: string): string {
  const bench = temporaryDirectory();
  const publicFiles = join(bench, 'apps/frappe/frappe/public');
  mkdirSync(join(publicFiles, 'dist'), { recursive: true });
  writeFileSync(join(publicFiles, 'dist/desk.js'), 'desk');
  mkdirSync(join(bench, folder), { recursive: true });
  writeFileSync(join(bench, folder, 'assets.json'), '{}');
  symlinkSync(publicFiles, join(bench, folder, 'frappe'));
  return bench;
}

const copy = (bench: string, target: string): Promise<ScriptResult> =>
  runScript(['sh', join(SCRIPTS, 'assets.sh')], { BENCH_DIR: bench, ASSETS_DIR: target });

describe('assets.sh', () => {
  for (const folder of ['sites/assets', 'assets']) {
    it(`copies what the image has in ${folder}, with its links into the image`, async () => {
      const [bench, target] = [anImage(folder), temporaryDirectory()];
      assert.equal((await copy(bench, target)).code, 0);
      assert.equal(readFileSync(join(target, 'assets.json'), 'utf8'), '{}');
      assert.equal(readlinkSync(join(target, 'frappe')), join(bench, 'apps/frappe/frappe/public'));
      assert.equal(readFileSync(join(target, 'frappe/dist/desk.js'), 'utf8'), 'desk');
      assert.equal((await copy(bench, target)).code, 0, 'again, after a restart');
    });
  }

  it('fails for an image without assets', async () => {
    const { code, lastLine } = await copy(temporaryDirectory(), temporaryDirectory());
    assert.equal(code, 1);
    assert.match(lastLine, /^app-operator: AssetsNotInImage: /);
  });

  it('fails if the volume takes no files', async () => {
    const { code, lastLine } = await copy(anImage('sites/assets'), '/proc/none');
    assert.equal(code, 1);
    assert.match(lastLine, /^app-operator: VolumeNotWritable: /);
  });
});
