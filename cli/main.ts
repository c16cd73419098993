#!/usr/bin/env node
/** The command line, also as the kubectl plug-in `kubectl appbench`. */
import { basename } from 'node:path';
import { inspect } from 'node:util';
import { redactText } from '../runner/telemetry/redact.js';
import { Arguments } from './arguments/arguments.js';
import { CliError, type Outcome, type IOStreams } from './arguments/command.js';
import { COMMANDS } from './commands/registry.js';
import { commandUsage, generalUsage, UsageError } from './arguments/help.js';

const PLUGIN = 'kubectl-appbench';

process.exitCode = await main(process.argv.slice(2), ioStreams());

async function main([name = 'help', ...argv]: readonly string[], io: IOStreams) {
  const { program } = io;
  const command = COMMANDS.find((one) => one.name === name);
  try {
    if (name === 'help' || isHelp(name)) return print(io, { out: help(argv, program), code: 0 });
    if (name === '__complete') {
      const { complete } = await import('./commands/completion/complete.js');
      const out = await complete(argv, io.env);
      // The shell waits: a call that is still without its answer is not waited for.
      process.stdout.write(out, () => process.exit());
      return 0;
    }
    if (!command) throw new UsageError(`${JSON.stringify(name)} is no command`);
    if (argv.some(isHelp)) return print(io, { out: commandUsage(program, command), code: 0 });
    const args = Arguments.parse(command, argv);
    const run = await command.load();
    return print(io, await run(args, io));
  } catch (error) {
    if (error instanceof UsageError) {
      const usage = command ? commandUsage(program, command) : generalUsage(program, COMMANDS);
      return print(io, { err: [`${program}: ${error.message}`, '', usage.trimEnd()], code: 2 });
    }
    if (io.signal.aborted) return 130;
    const { cliErrorOf } = await import('./kube/errors.js');
    const told = error instanceof CliError ? error : cliErrorOf(error);
    const message = told?.message ?? redactText(inspect(error));
    // To a script that runs diff, 1 means changes.
    const code = name === 'diff' ? 2 : (told?.code ?? 1);
    return print(io, { err: [`${program}: ${message}`], code });
  }
}

function help([topic]: readonly string[], program: string): string {
  const command = COMMANDS.find(({ name }) => name === topic);
  return command ? commandUsage(program, command) : generalUsage(program, COMMANDS);
}

function isHelp(argument: string): boolean {
  return argument === '-h' || argument === '--help';
}

function print({ write, notify }: IOStreams, { out = '', err = [], code }: Outcome): number {
  for (const line of err) notify(line);
  if (out !== '') write(out);
  return code;
}

function throttled(write: (line: string) => void): (line: string) => void {
  let last = performance.now();
  return (line) => {
    if (performance.now() - last < 1_000) return;
    last = performance.now();
    write(line);
  };
}

function ioStreams(): IOStreams {
  const { stdout, stderr, env, argv } = process;
  const interrupted = new AbortController();
  // The second one ends the process at once, as it is usual.
  process.once('SIGINT', () => interrupted.abort());
  // A pager that was left, or `head`: nobody reads any more.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
  return {
    program: basename(argv[1] ?? '').startsWith(PLUGIN) ? 'kubectl appbench' : 'app-operator',
    env,
    colours: stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    terminal: stdout.isTTY ? () => ({ columns: stdout.columns, rows: stdout.rows }) : undefined,
    signal: interrupted.signal,
    write: (text) => stdout.write(text),
    progress: stderr.isTTY ? throttled((line) => stderr.write(`${line}\n`)) : undefined,
    notify: (line) => stderr.write(`${line}\n`),
  };
}
