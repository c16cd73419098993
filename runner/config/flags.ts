/** Parses the text of a flag. */
export interface Parser<T> {
  /** The allowed values, for help and errors: `json or console`. */
  readonly allowed: string;
  /** The value; undefined if the text is not allowed. */
  readonly parse: (text: string) => T | undefined;
  /** A flag without a value means `true`. */
  readonly bare?: true;
}

/** A flag of the operator. Its environment variable is `APP_<FLAG_IN_CAPS>` unless `env` names another. */
export interface OperatorFlag<T> {
  readonly value: Parser<T>;
  /** As the user would write it; empty if the flag has no value. */
  readonly default: string;
  readonly help: string;
  readonly env?: string;
}

export type Flags = Readonly<Record<string, OperatorFlag<unknown>>>;

export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends OperatorFlag<infer T> ? T : never;
};

/** All problems of the command line and the environment. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/**
 * The values of all flags: the command line wins over the environment, that over the default.
 * An empty environment variable counts as unset; of a repeated flag the last one counts.
 * @throws ConfigError with each flag, the value got and the allowed values
 */
export function parseFlags<F extends Flags>(
  flags: F,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): FlagValues<F> {
  const problems: string[] = [];
  const given = readArguments(flags, argv, problems);
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    const variable = envOf(name, flag);
    const fromArguments = given.get(name);
    const text = fromArguments ?? (env[variable] || flag.default);
    const value = flag.value.parse(text);
    if (value === undefined) {
      const source = fromArguments === undefined ? variable : `--${name}`;
      problems.push(`${source}: got ${JSON.stringify(text)}, allowed: ${flag.value.allowed}`);
    }
    values[name] = value;
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return values as FlagValues<F>;
}

function readArguments(
  flags: Flags,
  argv: readonly string[],
  problems: string[],
): Map<string, string> {
  const given = new Map<string, string>();
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    const [, name, , inline] = /^--([^=]+)(=(.*))?$/s.exec(argument) ?? [];
    const flag = name === undefined || !Object.hasOwn(flags, name) ? undefined : flags[name];
    if (name === undefined) {
      problems.push(`unexpected argument ${JSON.stringify(argument)}: flags start with --`);
    } else if (!flag) {
      problems.push(`--${name}: unknown flag; --help lists all`);
    } else if (inline !== undefined) {
      given.set(name, inline);
    } else if (flag.value.bare) {
      given.set(name, 'true');
    } else if (index + 1 < argv.length) {
      given.set(name, argv[++index] ?? '');
    } else {
      problems.push(`--${name}: got no value, allowed: ${flag.value.allowed}`);
    }
  }
  return given;
}

/** The flags as `--help` prints them: two lines each. */
export function helpFor(flags: Flags): string {
  return Object.entries(flags)
    .map(([name, flag]) => {
      const preset = flag.default === '' ? '' : ` (default ${flag.default})`;
      const value = flag.value.bare ? '[=true|false]' : ` <${flag.value.allowed}>`;
      return `  --${name}${value}${preset}\n      ${flag.help} [${envOf(name, flag)}]`;
    })
    .join('\n');
}

function envOf(name: string, flag: OperatorFlag<unknown>): string {
  return flag.env ?? `APP_${name.toUpperCase().replaceAll('-', '_')}`;
}
