import { inspect } from 'node:util';
import { redactText } from '../runner/telemetry/redact.js';
import { VERSION } from '../runner/kit/version.js';
import { argumentsOf, type Command, type Outcome } from './arguments/command.js';
import { CliError, errorCode, UsageError } from './arguments/errors.js';
import { commandUsage, generalUsage } from './arguments/help.js';
import { COMMANDS } from './commands/registry.js';
import type { IOStreams } from './io/streams.js';

const INTERRUPTED = 130;

/** Runs the command of a command line. @returns the exit code */
export async function runProgram(
  [name = 'help', ...argv]: readonly string[],
  io: IOStreams,
): Promise<number> {
  if (name === '__complete') return completeWords(argv, io);
  if (isVersion(name)) return runProgram(['version', ...argv], io);
  const command = commandOf(name);
  try {
    if (name === 'help' || isHelp(name))
      return print(io, { out: await help(argv, io.program), code: 0 });
    if (!command) throw unknownCommand(name);
    return print(io, await runCommand(command, argv, io));
  } catch (error) {
    if (error instanceof UsageError)
      return print(io, await usageOutcome(error, command, io.program));
    if (io.signal.aborted) return INTERRUPTED;
    const err = [`${io.program}: ${await messageOf(error)}`];
    return print(io, { err, code: errorCode(name) });
  }
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  io: IOStreams,
): Promise<Outcome> {
  if (argv.some(isHelp)) return { out: await commandUsage(io.program, command), code: 0 };
  if (argv.includes('--version')) return { out: `${VERSION}\n`, code: 0 };
  const args = argumentsOf(command, argv);
  const run = await command.load();
  return run(args, io);
}

async function completeWords(words: readonly string[], io: IOStreams): Promise<number> {
  const { complete } = await import('./commands/completion/complete.js');
  return print(io, { out: await complete(words), code: 0 });
}

async function usageOutcome(
  error: UsageError,
  command: Command | undefined,
  program: string,
): Promise<Outcome> {
  const usage = command ? await commandUsage(program, command) : generalUsage(program, COMMANDS);
  const problems = error.message.split('\n').map((problem) => `${program}: ${problem}`);
  return { err: [...problems, '', usage.trimEnd()], code: 2 };
}

/** One line for errors that the user can resolve; the stack for others. */
async function messageOf(error: unknown): Promise<string> {
  const { cliErrorOf } = await import('./kube/errors.js');
  const known = error instanceof CliError ? error : cliErrorOf(error);
  return known?.message ?? redactText(inspect(error));
}

async function help([topic]: readonly string[], program: string): Promise<string> {
  if (topic === undefined || isHelp(topic)) return generalUsage(program, COMMANDS);
  const command = commandOf(topic);
  if (!command) throw unknownCommand(topic);
  return commandUsage(program, command);
}

function commandOf(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}

/** A flag without a command is mostly one of a command, such as `-f`. */
function unknownCommand(name: string): UsageError {
  const hint = name.startsWith('-') ? ': the command comes first, such as `render -f FILE`' : '';
  return new UsageError(`unknown command ${JSON.stringify(name)}${hint}`);
}

function isVersion(argument: string): boolean {
  return ['--version', '-v', '-V'].includes(argument);
}

function isHelp(argument: string): boolean {
  return argument === '-h' || argument === '--help';
}

function print({ write, notify }: IOStreams, { out = '', err = [], code }: Outcome): number {
  for (const line of err) notify(line);
  if (out !== '') write(out);
  return code;
}
