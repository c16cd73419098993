import { contextsOf } from '../../../runner/api/kubeconfig.js';
import { Arguments } from '../../arguments/arguments.js';
import type { Command, Completion, Flag, IOStreams } from '../../arguments/command.js';
import { COMMANDS } from '../registry.js';

/** What a shell completes by itself. */
const FILES = ':file';
/** A shell waits for the answer: a cluster that does not give one in this time is left alone. */
const PATIENCE_MS = 2_000;

type Env = IOStreams['env'];

/**
 * Candidates for the last of some words, a line each. It fails in silence: a shell has no place for errors.
 * @param words what follows the program, the one to complete last
 */
export async function complete(words: readonly string[], env: Env): Promise<string> {
  // Bash takes `--flag=value` for three words.
  const [word = '', ...before] = (words.at(-1) === '=' ? [...words, ''] : words)
    .filter((one) => one !== '=')
    .toReversed();
  const found = await candidates(before.toReversed(), word, env).catch(() => []);
  const fitting = found.filter((one) => one === FILES || one.startsWith(word));
  return fitting.map((one) => `${one}\n`).join('');
}

async function candidates(
  before: readonly string[],
  word: string,
  env: Env,
): Promise<readonly string[]> {
  const [name, ...rest] = before;
  if (name === undefined) return [...COMMANDS.map((command) => command.name), 'help'];
  if (name === 'help') return COMMANDS.map((command) => command.name);
  const command = COMMANDS.find((one) => one.name === name);
  if (!command) return [];
  const [, flag, inline] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  if (flag !== undefined) {
    const values = await valuesOf(flagOf(command, flag)?.complete, {
      command,
      rest,
      word: inline ?? '',
      env,
    });
    return values.filter((value) => value !== FILES).map((value) => `${flag}=${value}`);
  }
  const last = flagOf(command, rest.at(-1) ?? '');
  if (last?.type === 'string') return valuesOf(last.complete, { command, rest, word, env });
  if (word.startsWith('-')) return flagNames(command);
  return valuesOf(command.positionals?.complete, { command, rest, word, env });
}

interface Place {
  readonly command: Command;
  readonly rest: readonly string[];
  readonly word: string;
  readonly env: Env;
}

async function valuesOf(
  completion: Completion | undefined,
  place: Place,
): Promise<readonly string[]> {
  if (completion === undefined) return [];
  if (typeof completion !== 'string') return completion;
  switch (completion) {
    case 'file':
      return [FILES];
    case 'context':
      return contexts(place);
    case 'namespace':
    case 'resource': {
      const { names } = await import('./cluster-names.js');
      const args = parsed(place);
      return args ? inTime(names(completion, args, place.word, place.env)) : [];
    }
  }
}

function contexts({ command, rest, word, env }: Place): readonly string[] {
  const args = parsed({ command, rest, word, env });
  const files =
    args?.text('kubeconfig') ?? env['KUBECONFIG'] ?? `${env['HOME'] ?? ''}/.kube/config`;
  return [...contextsOf(files).namespaces.keys()].toSorted();
}

/** The flags so far, which say which cluster is asked; the one whose value is being written is left out. */
function parsed({ command, rest }: Place): Arguments | undefined {
  const isOpen = flagOf(command, rest.at(-1) ?? '')?.type === 'string';
  try {
    return Arguments.parse(command, isOpen ? rest.slice(0, -1) : rest);
  } catch {
    return undefined;
  }
}

function flagOf({ flags }: Command, word: string): Flag | undefined {
  const [, long, short] = /^(?:--(.+)|-([a-zA-Z]))$/.exec(word) ?? [];
  if (long !== undefined) return Object.hasOwn(flags, long) ? flags[long] : undefined;
  return short === undefined
    ? undefined
    : Object.values(flags).find((flag) => flag.short === short);
}

function flagNames({ flags }: Command): readonly string[] {
  return [...Object.keys(flags).map((name) => `--${name}`), '--help'];
}

async function inTime(work: Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve([]), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
