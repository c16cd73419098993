import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { assertSection, ROOT, table } from '../support/docs-tables.js';
import { DEMANDS } from './specification-demands.js';

const PAGE = 'docs/contributing/specification.md';

suite('every demand of the specification', () => {
  const demands = Object.values(DEMANDS).flat();

  for (const { demand, file, title } of demands) {
    test(`is proved by a test that exists: ${demand}`, () => {
      const source = readFileSync(`${ROOT}test/${file}`, 'utf8');
      const [short, quotes] = [JSON.stringify(title), ["'", '"', '`']];
      const stands = quotes.some((quote) => source.includes(`${quote}${title}${quote}`));
      assert.ok(stands, `test/${file} has no test or suite ${short}`);
    });
  }

  test(`is in the table of ${PAGE}`, () => {
    const lists = Object.entries(DEMANDS).map(([section, list]) => {
      const rows = list.map(({ demand, file, title, otherwise }) => [
        demand,
        otherwise ?? 'to the letter',
        `[${title}](../../test/${file})`,
      ]);
      return `## ${section}\n\n${table(['Demand', 'Met', 'Test'], rows)}`;
    });
    const otherwise = demands.filter((demand) => demand.otherwise !== undefined).length;
    const count = `${demands.length} demands: ${demands.length - otherwise} met to the letter, ${otherwise} in another way.`;
    assertSection(PAGE, 'demands', `${count}\n\n${lists.join('\n')}`);
  });
});
