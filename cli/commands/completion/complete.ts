import { contextsOf } from '../../../runner/api/kubeconfig.js';
import {
  argumentsOf,
  type Command,
  type CommandFlag,
  type Completion,
} from '../../arguments/command.js';
import type { IOStreams } from '../../io/streams.js';
import { COMMANDS } from '../registry.js';
import type { CompletionArguments } from './cluster-names.js';

/** Asks the shell to complete file names. */
const FILES = ':file';
/** The shell waits: a cluster that has not responded by then is left out. */
const TIMEOUT_MS = 2_000;

type Env = IOStreams['env'];

/** The word to complete, and the words before it. */
interface CommandLine {
  readonly command: Command;
  /** The arguments of the command before the word. */
  readonly before: readonly string[];
  readonly word: string;
  readonly env: Env;
}

/**
 * The candidates for the last of some words, one line each. An error gives no candidates: a shell cannot
 * show it.
 * @param words the words after the program
 */
export async function complete(words: readonly string[], env: Env): Promise<string> {
  // Bash splits `--flag=value` into three words.
  const [word = '', ...rest] = (words.at(-1) === '=' ? [...words, ''] : words)
    .filter((one) => one !== '=')
    .toReversed();
  const [name, ...before] = rest.reverse();
  const found = await candidates(name, before, word, env).catch(() => []);
  const fitting = found.filter((one) => one === FILES || one.startsWith(word));
  return fitting.map((one) => `${one}\n`).join('');
}

async function candidates(
  name: string | undefined,
  before: readonly string[],
  word: string,
  env: Env,
): Promise<readonly string[]> {
  const names = COMMANDS.map((command) => command.name);
  if (name === undefined) return [...names, 'help'];
  if (name === 'help') return names;
  const command = COMMANDS.find((one) => one.name === name);
  return command ? argumentCandidates({ command, before, word, env }) : [];
}

async function argumentCandidates(line: CommandLine): Promise<readonly string[]> {
  const { command, before, word } = line;
  const [, name, value = ''] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  if (name !== undefined) {
    const values = await valuesOf(flagOf(command, name)?.complete, { ...line, word: value });
    return values.filter((one) => one !== FILES).map((one) => `${name}=${one}`);
  }
  const open = openFlag(command, before);
  if (open) return valuesOf(open.complete, line);
  if (word.startsWith('-'))
    return [...Object.keys(command.flags).map((flag) => `--${flag}`), '--help'];
  return valuesOf(command.positionals?.complete, line);
}

async function valuesOf(
  completion: Completion | undefined,
  line: CommandLine,
): Promise<readonly string[]> {
  if (completion === undefined) return [];
  if (typeof completion === 'function') return completion();
  if (typeof completion !== 'string') return completion;
  if (completion === 'file') return [FILES];
  const args = argumentsSoFar(line);
  if (completion === 'context') return contexts(args?.values.kubeconfig, line.env);
  if (!args) return [];
  const { clusterNames } = await import('./cluster-names.js');
  return inTime(clusterNames(completion, args, line.word, line.env));
}

function contexts(kubeconfig: string | undefined, env: Env): readonly string[] {
  const files = kubeconfig ?? env['KUBECONFIG'] ?? `${env['HOME'] ?? ''}/.kube/config`;
  return [...contextsOf(files).namespaces.keys()].toSorted();
}

/** The arguments before the word, without a flag that still lacks its value. */
function argumentsSoFar({ command, before }: CommandLine): CompletionArguments | undefined {
  try {
    const isOpen = openFlag(command, before) !== undefined;
    return argumentsOf(command, isOpen ? before.slice(0, -1) : before);
  } catch {
    return undefined;
  }
}

/** The flag whose value is the word to complete. */
function openFlag(command: Command, before: readonly string[]): CommandFlag<unknown> | undefined {
  const flag = flagOf(command, before.at(-1) ?? '');
  return flag?.value.bare ? undefined : flag;
}

function flagOf({ flags }: Command, word: string): CommandFlag<unknown> | undefined {
  const [, long, short] = /^(?:--(.+)|-([a-zA-Z]))$/.exec(word) ?? [];
  if (long !== undefined) return Object.hasOwn(flags, long) ? flags[long] : undefined;
  return short === undefined
    ? undefined
    : Object.values(flags).find((flag) => flag.short === short);
}

async function inTime(work: Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve([]), TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
