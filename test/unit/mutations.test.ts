import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';

import { assertSection, ROOT } from '../support/docs-tables.js';
import { occurrences } from '../mutations/copy.js';
import { isRecorded, mutationTable } from '../mutations/page.js';
import { MUTATIONS, SHORTER } from '../mutations/table.js';

suite('mutations', () => {
  for (const mutation of MUTATIONS) {
    test(`${mutation.name}: its text occurs once, and its tests exist`, () => {
      assert.equal(occurrences(mutation), 1, `${mutation.file}: ${mutation.find}`);
      assert.notEqual(mutation.find, mutation.replace);
      for (const { file, title } of mutation.fails) {
        const source = readFileSync(`${ROOT}test/${file}.test.ts`, 'utf8');
        const written = title.replaceAll(/\d{4,}/g, '${user}');
        assert.ok(source.includes(written), `test/${file}.test.ts has no test: ${title}`);
      }
      for (const file of mutation.fast.filter((name) => name !== 'unit')) {
        readFileSync(`${ROOT}test/${file}.test.ts`);
      }
    });
  }

  for (const edit of SHORTER) {
    test(`${edit.file}: the timeout ${edit.replace.replace(/\s+/g, ' ')} occurs once`, () => {
      assert.equal(occurrences(edit), 1, edit.find);
    });
  }

  test('have names of their own, and no two of a run hit the same test', () => {
    const names = MUTATIONS.map(({ name }) => name);
    assert.deepEqual([...new Set(names)], names);
    const hits = MUTATIONS.flatMap(({ fails }) =>
      fails.map(({ run, file, title }) => [run, file, title].join(' ')),
    );
    assert.deepEqual([...new Set(hits)], hits);
  });

  test('are those of their page', () => {
    assertSection('docs/contributing/mutations.md', 'mutations', mutationTable(MUTATIONS));
  });
});

suite('a message of a failure', () => {
  test('is the recorded one if it has its parts in order', () => {
    assert.ok(isRecorded('not within 90 s:\n  Job a is done', 'not within … s: Job a'));
    assert.ok(!isRecorded('Job a, not within 90 s', 'not within …: Job a'));
  });
});
