/** How the text of a flag becomes a value. */
export interface Parser<T> {
  /** The values allowed, for help and for errors: `json or console`. */
  readonly allowed: string;
  /** The value, or undefined where the text is none of those allowed. */
  readonly parse: (text: string) => T | undefined;
  /** A flag without a value means `true`. */
  readonly bare?: true;
}

/** A flag. Its environment variable is `APP_<FLAG_IN_CAPS>` unless another one is named. */
export interface Flag<T> {
  readonly value: Parser<T>;
  /** As the user would write it; an empty one means that the flag is not given. */
  readonly default: string;
  readonly help: string;
  readonly env?: string;
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;

export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never;
};

/** What is wrong with the command line or the environment, all of it at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/**
 * The values of all flags: the command line wins over the environment, that over the default.
 * An empty environment variable counts as none; of a flag given twice the last one counts.
 * @throws ConfigError naming each flag, the value got and the values allowed
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

/** What `--help` prints of the flags: two lines each. */
export function helpFor(flags: Flags): string {
  return Object.entries(flags)
    .map(([name, flag]) => {
      const preset = flag.default === '' ? '' : ` (default ${flag.default})`;
      const value = flag.value.bare ? '[=true|false]' : ` <${flag.value.allowed}>`;
      return `  --${name}${value}${preset}\n      ${flag.help} [${envOf(name, flag)}]`;
    })
    .join('\n');
}

function envOf(name: string, flag: Flag<unknown>): string {
  return flag.env ?? `APP_${name.toUpperCase().replaceAll('-', '_')}`;
}
