import assert from 'node:assert/strict';
import { test } from 'node:test';

import { svgOf } from '../../tools/demo/picture.js';

test('the picture of a screen has its text, its colours and its size', () => {
  const svg = svgOf('\u001b[32m✔\u001b[39m a <b>\n\u001b[1mbold & \u001b[2mdim\u001b[22m rest\n');
  const texts = [...svg.matchAll(/<text ([^>]*)>([^<]*)<\/text>/g)];
  assert.deepEqual(
    texts.map(([, , text]) => text),
    ['✔', ' a &lt;b&gt;', 'bold &amp; ', 'dim', ' rest'],
  );
  const attributes = texts.map(([, attribute = '']) => attribute);
  assert.match(attributes[0] ?? '', /fill="#7ee787"/);
  assert.match(attributes[2] ?? '', /font-weight="bold"/);
  assert.match(attributes[3] ?? '', /opacity/);
  assert.doesNotMatch(attributes[4] ?? '', /opacity|bold/);
  // Two lines, and as wide as the longer one.
  assert.match(svg, /^<svg [^>]*height="76"/);
  const [, width] = /^<svg [^>]* width="(\d+)"/.exec(svg) ?? [];
  assert.equal(Number(width), Math.ceil(15 * 8.43 + 36));
});
