import type { Command, CommandFlag } from './command.js';

const COLUMN = 26;

type Described = Pick<Command, 'name' | 'synopsis' | 'summary' | 'details' | 'flags'>;

/** The output of `app-operator help`. */
export function generalUsage(program: string, commands: readonly Described[]): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(11)} ${summary}`);
  return `Usage: ${program} COMMAND [FLAGS]

Commands:
${lines.join('\n')}

Run \`${program} COMMAND --help\` to list the flags of a command.

Exit codes: 0 success, 1 error, 2 wrong command line. \`diff\` uses the exit codes of \`kubectl diff\`.
`;
}

/** The output of `app-operator COMMAND --help`. */
export async function commandUsage(program: string, command: Described): Promise<string> {
  const { name, synopsis, summary, details, flags } = command;
  const lines = await Promise.all(
    Object.entries(flags).map(([flag, spec]) => flagLine(flag, spec)),
  );
  const usage = [`Usage: ${program} ${name}`, synopsis, lines.length > 0 && '[FLAGS]'];
  return [
    usage.filter(Boolean).join(' '),
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.${details === undefined ? '' : `\n\n${details.replace(/^\n/, '').trimEnd()}`}`,
    ...(lines.length > 0 ? [`Flags:\n${lines.join('\n')}`] : []),
  ]
    .join('\n\n')
    .concat('\n');
}

async function flagLine(
  name: string,
  { short, placeholder, help, complete }: CommandFlag<unknown>,
): Promise<string> {
  const values = typeof complete === 'function' ? `: ${(await complete()).join(', ')}` : '';
  const value = placeholder === undefined ? '' : ` ${placeholder}`;
  const head = `  ${short === undefined ? '' : `-${short}, `}--${name}${value}`;
  return `${head.length < COLUMN ? head.padEnd(COLUMN) : `${head}\n${' '.repeat(COLUMN)}`}${help}${values}`;
}
