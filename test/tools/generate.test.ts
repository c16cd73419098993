import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SCHEMA = 'constructs/job/schema.generated.ts';

const copy = mkdtempSync(join(tmpdir(), 'app-operator-generate-'));
after(() => {
  rmSync(copy, { recursive: true });
});

/** The same files in another place: a link to the folder would be other files to the compiler, which then checks all. */
function linkAll(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkAll(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else link(source, target);
  }
}

function link(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    // On another file system.
    copyFileSync(source, target);
  }
}

test('`npm run generate` writes the schema of a kind that has none yet', () => {
  const left = new Set(['.git', 'node_modules']);
  cpSync(ROOT, copy, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !left.has(relative(ROOT, path)),
  });
  linkAll(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  rmSync(join(copy, SCHEMA));
  for (const suffix of ['.js', '.js.map', '.d.ts']) {
    rmSync(join(copy, 'dist/lib', SCHEMA.replace(/\.ts$/, suffix)));
  }
  const output = execFileSync('npm', ['run', '-s', 'generate'], { cwd: copy, encoding: 'utf8' });
  assert.equal(output, `wrote ${SCHEMA}\n`, 'everything else is as it is committed');
  assert.equal(readFileSync(join(copy, SCHEMA), 'utf8'), readFileSync(join(ROOT, SCHEMA), 'utf8'));
});
