import type { Command, Flag } from './command.js';

/** The command line is wrong: the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const COLUMN = 26;

/** What `app-operator help` prints. */
export function generalUsage(program: string, commands: readonly Command[]): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(11)} ${summary}`);
  return `Usage: ${program} COMMAND [FLAGS]

Commands:
${lines.join('\n')}

\`${program} COMMAND --help\` tells the flags of a command.

Exit codes: 0; 1 where something is wrong; 2 for a wrong command line. \`diff\` has its own, as kubectl's.
`;
}

/** What `app-operator COMMAND --help` prints. */
export function commandUsage(program: string, command: Command): string {
  const { name, synopsis, summary, details, flags } = command;
  const lines = Object.entries(flags).map(([flag, spec]) => flagLine(flag, spec));
  const usage = [`Usage: ${program} ${name}`, synopsis, lines.length > 0 && '[FLAGS]'];
  return [
    usage.filter(Boolean).join(' '),
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.${details === undefined ? '' : `\n\n${details.trim()}`}`,
    ...(lines.length > 0 ? [`Flags:\n${lines.join('\n')}`] : []),
  ]
    .join('\n\n')
    .concat('\n');
}

function flagLine(name: string, { short, value, help }: Flag): string {
  const head = `  ${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
  return `${head.length < COLUMN ? head.padEnd(COLUMN) : `${head}\n${' '.repeat(COLUMN)}`}${help}`;
}
