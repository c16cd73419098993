import {
  ConfigError,
  parseArguments,
  type Arguments,
  type Flag,
} from '../../runner/config/flag-parser.js';
import type { IOStreams } from '../io/streams.js';
import { UsageError } from './errors.js';

/** How a shell completes the value of a flag or an argument. */
export type Completion = 'file' | readonly string[] | LoadedValues;

/** Values from code that only help and completion load. Help lists them after the text of the flag. */
export type LoadedValues = () => Promise<readonly string[]>;

/** A flag of a command, with its help and completion. */
export interface CommandFlag<T> extends Flag<T> {
  /** The name of the value in the help: `PATH`. */
  readonly placeholder?: string;
  readonly complete?: Completion;
}

export type CommandFlags = Readonly<Record<string, CommandFlag<unknown>>>;

/** The output and the exit code of a command. */
export interface Outcome {
  readonly out?: string;
  /** Lines for standard error. */
  readonly err?: readonly string[];
  readonly code: 0 | 1 | 2;
}

/** Runs a command. @throws UsageError, CliError */
export type Run<F extends CommandFlags> = (
  args: Arguments<F>,
  io: IOStreams,
) => Outcome | Promise<Outcome>;

/** The declaration of a command, for help, completion and the reading of its arguments. */
export interface Command<F extends CommandFlags = CommandFlags> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** Arguments other than flags, for the help. */
  readonly synopsis?: string;
  /** Further lines of the help. */
  readonly details?: string;
  readonly flags: F;
  /** Arguments other than flags: how many are allowed, and how they are completed. @default none */
  readonly positionals?: { readonly most: number; readonly complete: Completion };
  /** Loads the code of the command only when it runs: completion and help respond fast. */
  readonly load: () => Promise<Run<F>>;
}

/** @throws UsageError listing everything that is wrong with the arguments */
export function argumentsOf<F extends CommandFlags>(
  { flags, positionals }: Command<F>,
  argv: readonly string[],
): Arguments<F> {
  try {
    return parseArguments(flags, argv, positionals?.most);
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message);
    throw error;
  }
}
