import type { Command, CommandFlag, Completion } from '../../arguments/command.js';
import { COMMANDS } from '../registry.js';

/** Asks the shell to complete file names. */
const FILES = ':file';

/**
 * The candidates for the last of some words, one line each: commands, flags, and values that need no cluster.
 * @param words the words after the program
 */
export async function complete(words: readonly string[]): Promise<string> {
  // Bash splits `--flag=value` into three words.
  const [word = '', ...rest] = (words.at(-1) === '=' ? [...words, ''] : words)
    .filter((one) => one !== '=')
    .toReversed();
  const [name, ...before] = rest.reverse();
  const found = await candidates(name, before.at(-1) ?? '', word);
  const fitting = found.filter((one) => one === FILES || one.startsWith(word));
  return fitting.map((one) => `${one}\n`).join('');
}

async function candidates(
  name: string | undefined,
  before: string,
  word: string,
): Promise<readonly string[]> {
  const names = COMMANDS.map((command) => command.name);
  if (name === undefined) return [...names, 'help'];
  if (name === 'help') return names;
  const command = COMMANDS.find((one) => one.name === name);
  if (!command) return [];
  const [, inline] = /^(--[^=]+)=/.exec(word) ?? [];
  if (inline !== undefined) {
    const values = await valuesOf(flagOf(command, inline)?.complete);
    return values.filter((one) => one !== FILES).map((one) => `${inline}=${one}`);
  }
  const open = flagOf(command, before);
  if (open && !open.value.bare) return valuesOf(open.complete);
  if (word.startsWith('-'))
    return [...Object.keys(command.flags).map((flag) => `--${flag}`), '--help'];
  return valuesOf(command.positionals?.complete);
}

async function valuesOf(completion: Completion = []): Promise<readonly string[]> {
  if (completion === 'file') return [FILES];
  return typeof completion === 'function' ? completion() : completion;
}

function flagOf({ flags }: Command, word: string): CommandFlag<unknown> | undefined {
  const [, long, letter] = /^(?:--(.+)|-([a-zA-Z]))$/.exec(word) ?? [];
  if (long !== undefined) return Object.hasOwn(flags, long) ? flags[long] : undefined;
  return Object.values(flags).find(({ short }) => letter !== undefined && short === letter);
}
