import { table } from '../support/docs-tables.js';
import type { Mutation } from './table.js';

/** The table of docs/contributing/mutations.md. */
export function mutationTable(mutations: readonly Mutation[]): string {
  const head = ['Item', 'Mutation', 'Failing test', 'Message', 'Fails in `test:all` too'];
  const rows = mutations.flatMap(({ item, name, breaks, fails, fast }) =>
    fails.map(({ file, title, message }, index) => [
      item,
      index === 0 ? `${breaks} (\`${name}\`)` : 'the same',
      `\`${file}\`: \`${title}\``,
      `\`\`${message}\`\``,
      index === 0 ? fast.map((one) => `\`${one}\``).join(', ') : '',
    ]),
  );
  return table(head, rows);
}

/** Whether a message of a failure is the recorded one: `…` stands for anything. */
export function isRecorded(message: string, recorded: string): boolean {
  const text = oneLine(message);
  let from = 0;
  for (const part of recorded.split('…').map(oneLine)) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
