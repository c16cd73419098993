/** The command line is wrong: the exit code is 2, and the usage is printed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The exit code of an error that is not about the command line: exit code 1 of diff means changes. */
export function errorCode(command: string | undefined): 1 | 2 {
  return command === 'diff' ? 2 : 1;
}

/** An error that the user can resolve: printed in one line, without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
}
