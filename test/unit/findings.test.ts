import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';

import { projectRoot } from '../../testbed/project-root.js';

/** Pages with a table of findings, and the number of findings in it. */
const PAGES = [
  ['docs/contributing/recovery.md', 'Findings', 16],
  ['docs/security/threat-model.md', 'Attacks', 37],
] as const;

const read = (file: string): string => readFileSync(path.join(projectRoot(), file), 'utf8');

/** The rows of the first table below a heading. */
function rowsOf(page: string, heading: string): readonly (readonly string[])[] {
  const [, below = ''] = read(page).split(`\n## ${heading}\n`);
  const [own = ''] = below.split('\n## ');
  const rows = own.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) => row.split('|').map((cell) => cell.trim()));
}

/** A title as a test file may have it: in quotes or as a part of a template. */
const titled = (source: string, title: string): boolean =>
  [`'${title}`, `"${title}`, `\`${title}`, `} ${title}`].some((text) => source.includes(text)) ||
  [`${title}\``, `def ${title}(`].some((text) => source.includes(text));

for (const [page, heading, count] of PAGES) {
  suite(`${page}, ${heading}`, () => {
    const rows = rowsOf(page, heading);
    test('has each finding', () => assert.equal(rows.length, count));
    for (const [, what = '', cell = ''] of rows) {
      test(`${what}: its tests exist`, () => {
        const parts = cell.split('<br>');
        for (const part of parts) {
          const [file, ...titles] = [...part.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
          assert.ok(file !== undefined && existsSync(path.join(projectRoot(), file)), file);
          assert.ok(titles.length > 0, `${file} has no title`);
          const source = read(file);
          for (const title of titles) assert.ok(titled(source, title), `${file}: ${title}`);
        }
      });
    }
  });
}
