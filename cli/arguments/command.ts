import type { Arguments } from './arguments.js';

/** How the value of a flag or an argument is completed by a shell. */
export type Completion = 'file' | 'namespace' | 'context' | 'resource' | readonly string[];

/** A flag of a command. */
export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: true;
  /** What stands for the value in the help: `PATH`. */
  readonly value?: string;
  readonly help: string;
  readonly complete?: Completion;
}

export type Flags = Readonly<Record<string, Flag>>;

/** What a command ends with. */
export interface Outcome {
  readonly out?: string;
  /** Lines for people. */
  readonly err?: readonly string[];
  readonly code: 0 | 1 | 2;
}

/** What surrounds a command: nothing else in cli/ reads the environment or the terminal. */
export interface IOStreams {
  /** As it was called: `app-operator` or `kubectl appbench`. */
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether standard output takes colours: a terminal, and nobody has asked for none. */
  readonly colours: boolean;
  /** Size of the terminal that standard output is; undefined where it is none. */
  readonly terminal: (() => { readonly columns: number; readonly rows: number }) | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Writes to standard output. */
  readonly write: (text: string) => void;
  /** Says how far something is that takes long; undefined where nobody looks on. At most one line a second. */
  readonly progress: ((line: string) => void) | undefined;
  /** Writes a line for people to standard error. */
  readonly notify: (line: string) => void;
}

/** A command, from its arguments to what it prints. @throws UsageError, CliError */
export type Run = (args: Arguments, io: IOStreams) => Outcome | Promise<Outcome>;

/** A command as the help and the completion know it. */
export interface Command {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** Arguments other than flags, as the help shows them. */
  readonly synopsis?: string;
  /** Further lines of the help. */
  readonly details?: string;
  readonly flags: Flags;
  /** Arguments other than flags: at most so many, completed like this. @default none */
  readonly positionals?: { readonly most: number; readonly complete: Completion };
  /** What it does is loaded when it is asked for: completion and help answer at once. */
  readonly load: () => Promise<Run>;
}

/** Something that people can mend: told in one line, with the exit code of the command line. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    message: string,
    readonly code: 1 | 2 = 1,
  ) {
    super(message);
  }
}
