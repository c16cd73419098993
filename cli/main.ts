#!/usr/bin/env node
/** The command line: previews of manifests, and the operator's own manifests. It asks no cluster. */
import { COMMANDS } from './commands.js';
import { USAGE, UsageError } from './usage.js';

process.exitCode = main(process.argv.slice(2));

function main([name = 'help', ...argv]: readonly string[]): number {
  const wantsHelp = ['-h', '--help'].some((flag) => flag === name || argv.includes(flag));
  const command = wantsHelp ? 'help' : name;
  try {
    const run = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    if (!run) throw new UsageError(`${JSON.stringify(command)} is no command`);
    const { out, err = [], code } = run(argv);
    for (const line of err) process.stderr.write(`${line}\n`);
    process.stdout.write(out);
    return code;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`app-operator: ${error.message}\n\n${USAGE}`);
    return 2;
  }
}
