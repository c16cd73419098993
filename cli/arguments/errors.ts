/** The command line is wrong: the exit code is 2, and the usage is printed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An error that the user can resolve: printed in one line, without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
}
