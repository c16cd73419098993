import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const CONTEXT = 3;
const SHOWN = 20;

/** Whether golden files are rewritten in place of being compared. */
export const UPDATE = process.env['UPDATE_GOLDEN'] === '1';

/** Holds a text to a golden file, or with UPDATE_GOLDEN=1 writes it there. */
export function assertGolden(file: string, text: string): void {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  if (before === text) return;
  if (UPDATE) {
    writeFileSync(file, text);
    return;
  }
  const difference = before === undefined ? '  it does not exist' : diff(before, text);
  assert.fail(`${file} is not what the code makes:\n${difference}\nUPDATE_GOLDEN=1 rewrites it.`);
}

/** The first differing lines of two texts, as a unified diff shows them. */
export function diff(before: string, after: string): string {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (
    end < Math.min(a.length, b.length) - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  ) {
    end += 1;
  }
  const from = Math.max(0, start - CONTEXT);
  return [
    `@@ line ${start + 1} @@`,
    ...a.slice(from, start).map((line) => `  ${line}`),
    ...cut(a.slice(start, a.length - end)).map((line) => `- ${line}`),
    ...cut(b.slice(start, b.length - end)).map((line) => `+ ${line}`),
    ...a
      .slice(a.length - end)
      .slice(0, CONTEXT)
      .map((line) => `  ${line}`),
  ].join('\n');
}

function cut(lines: readonly string[]): readonly string[] {
  return lines.length <= SHOWN
    ? lines
    : [...lines.slice(0, SHOWN), `… and ${lines.length - SHOWN} lines more`];
}
