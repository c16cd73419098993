import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';

import { dashboardFile, staleDashboard } from '../../tools/pictures/dashboard.js';
import { staleStatus, statusFile } from '../../tools/pictures/status.js';
import { metadataIn, terminalSvg } from '../../tools/pictures/terminal.js';

suite('a picture of a terminal', () => {
  test('has each word at its column, in the colour of its escape sequence', () => {
    const svg = terminalSvg(['a \u001b[32mgreen\u001b[39m  \u001b[1mbold\u001b[22m b<c'], 40, '');
    const words = [
      ...svg.matchAll(/<tspan x="([\d.]+)" fill="(#\w+)"( font-weight="bold")?>([^<]*)/g),
    ];
    const found = words.map(([, x, colour, bold, text]) => [Number(x), colour, !!bold, text]);
    const at = (column: number): number => 16 + column * 8.5;
    assert.deepEqual(found, [
      [at(0), '#e6edf3', false, 'a'],
      [at(2), '#7ee787', false, 'green'],
      [at(9), '#e6edf3', true, 'bold'],
      [at(14), '#e6edf3', false, 'b&lt;c'],
    ]);
  });

  test('keeps what it was made of', () => {
    const made = '{"message":"a < b && c > \\"d\\" &lt;"}';
    assert.equal(metadataIn(terminalSvg([], 40, made)), made);
  });
});

suite('the pictures of the docs', () => {
  const status = readFileSync(statusFile(), 'utf8');
  const board = readFileSync(dashboardFile(), 'utf8');
  test('are not stale', () => {
    assert.equal(staleStatus(status), undefined);
    assert.equal(staleDashboard(board), undefined);
  });
  test('are stale when the command prints another text', () => {
    const other = status.replace('>Ready<', '>Healthy<');
    assert.match(staleStatus(other) ?? '', /^app-operator status prints something else$/);
  });
  test('are stale when the demo has another object', () => {
    const other = status.replaceAll('demo-bench-worker-long', 'demo-bench-worker-slow');
    assert.match(staleStatus(other) ?? '', /more objects: .*Deployment\/demo-bench-worker-long/);
  });
  test('are stale when the dashboard has another panel or another query', () => {
    for (const [now, then] of [
      ['"title":"Queue length"', '"title":"Queues"'],
      ['app_worker_queue_length', 'app_worker_queue'],
    ] as const)
      assert.equal(staleDashboard(board.replace(now, then)), 'it has other panels');
  });
});
