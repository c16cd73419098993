import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  numberedSteps,
  type Portion,
  progressPrinter,
  withProgress,
} from '../../../testbed/controlplane/progress.js';

const ESCAPE = '\u001B[K';
const HALF: Portion = { done: 1_300, total: 2_600, unit: 'packages' };

test('a terminal has one line with a bar, until the step is done', () => {
  const { output, text } = screen(true);
  const print = progressPrinter(output);
  print({ message: 'building', elapsedSeconds: 1, portion: HALF });
  print({ message: 'building: done', elapsedSeconds: 2, portion: { ...HALF, done: 2_600 } });
  print({ message: 'starting', elapsedSeconds: 0.5 });
  const [bar = '', full = '', ...rest] = text().split(ESCAPE);
  assert.equal(
    bar,
    '\r[############------------]  50 %  building: 1300 of 2600 packages, 1 s left',
  );
  assert.equal(full, '\r[########################] 100 %  building: done: 2600 of 2600 packages');
  assert.deepEqual(rest, ['\n[   0.5 s] starting\n']);
});

test('a line below an unfinished bar starts on a line of its own', () => {
  const { output, text } = screen(true);
  const print = progressPrinter(output);
  print({ message: 'downloading', elapsedSeconds: 1, portion: HALF });
  print({ message: 'building from source', elapsedSeconds: 0 });
  assert.ok(text().endsWith(`${ESCAPE}\n[   0.0 s] building from source\n`));
});

test('a log has a line at times, not one for each package', () => {
  const { output, text } = screen(false);
  const print = progressPrinter(output);
  const bytes: Portion = { done: 3_000_000, total: 312_000_000, unit: 'bytes' };
  for (let count = 0; count < 50; count++) {
    print({ message: 'downloading', elapsedSeconds: 1, portion: bytes });
  }
  assert.equal(text(), '[     0 %] downloading: 3.0 of 312 MB, 2 min left\n');
});

test('a step that ends is wholly done', async () => {
  const seen: (Portion | undefined)[] = [];
  const step = (advance: (portion: Portion) => void): Promise<void> => {
    advance(HALF);
    return Promise.resolve();
  };
  await withProgress('building', ({ portion }) => seen.push(portion), step);
  assert.deepEqual(seen.at(-1), { done: 2_600, total: 2_600, unit: 'packages' });
});

test('the steps of a command are numbered', async () => {
  const seen: string[] = [];
  const step = numberedSteps(2, ({ message }) => seen.push(message));
  assert.equal(await step('building', () => Promise.resolve('image')), 'image');
  await step('pushing', () => Promise.resolve());
  assert.deepEqual(seen, [
    '1 of 2: building',
    '1 of 2: building: done',
    '2 of 2: pushing',
    '2 of 2: pushing: done',
  ]);
});

function screen(isTTY: boolean): { output: NodeJS.WriteStream; text: () => string } {
  let written = '';
  const write = (chunk: string) => (written += chunk).length > 0;
  const output = { isTTY, columns: 100, write } as unknown as NodeJS.WriteStream;
  return { output, text: () => written };
}
