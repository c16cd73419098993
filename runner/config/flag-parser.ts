import { parseArgs } from 'node:util';

/** How the text of a flag becomes a value. */
export interface Parser<T> {
  /** The values allowed, for help and for errors: `json or console`. */
  readonly allowed: string;
  /** The value, or undefined when the text is not allowed. */
  readonly parse: (text: string) => T | undefined;
  /** A flag without a value means `true`. */
  readonly bare?: true;
}

/** A flag of a command line. */
export interface Flag<T> {
  readonly value: Parser<T>;
  readonly help: string;
  /** One letter: `n` for `-n`. */
  readonly short?: string;
  /** The flag can be repeated; otherwise the last one counts. */
  readonly multiple?: true;
}

/** A flag that an environment variable can set: `APP_<FLAG_IN_CAPS>` unless `env` names another. */
export interface ConfigFlag<T> extends Flag<T> {
  /** As the user would write it; an empty text means that the flag is not given. */
  readonly default: string;
  readonly env?: string;
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;
export type ConfigFlags = Readonly<Record<string, ConfigFlag<unknown>>>;

/** The values of the flags that were given. */
export type GivenValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T>
    ? F[K] extends { readonly multiple: true }
      ? readonly T[]
      : T | undefined
    : never;
};

/** The values of all configuration flags: none is missing, since each has a default. */
export type ConfigValues<S extends ConfigFlags> = {
  readonly [K in keyof S]: S[K] extends ConfigFlag<infer T> ? T : never;
};

/** The arguments of a command. */
export interface Arguments<F extends Flags> {
  readonly values: GivenValues<F>;
  readonly positionals: readonly string[];
}

/** Everything that is wrong with the command line or the environment. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/**
 * Reads the arguments of a command.
 * @param most how many arguments other than flags are allowed
 * @throws ConfigError naming each flag, the value got and the values allowed
 */
export function parseArguments<F extends Flags>(
  flags: F,
  argv: readonly string[],
  most = 0,
): Arguments<F> {
  const { texts, positionals, problems } = readArguments(flags, argv, most);
  const values = Object.entries(flags).map(([name, flag]) => {
    const given = (texts.get(name) ?? []).map((text) =>
      valueOf(flag.value, text, `--${name}`, problems),
    );
    return [name, flag.multiple ? given : given.at(-1)];
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return { values: Object.fromEntries(values) as GivenValues<F>, positionals };
}

/**
 * Reads the configuration: a flag overrides its environment variable, which overrides the default. An
 * empty variable counts as not set.
 * @throws ConfigError naming each flag or variable, the value got and the values allowed
 */
export function parseConfigFlags<S extends ConfigFlags>(
  flags: S,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ConfigValues<S> {
  const { texts, problems } = readArguments(flags, argv, 0);
  const values = Object.entries(flags).map(([name, flag]) => {
    const variable = envOf(name, flag);
    const argument = texts.get(name)?.at(-1);
    const text = argument ?? (env[variable] || flag.default);
    const source = argument === undefined ? variable : `--${name}`;
    return [name, valueOf(flag.value, text, source, problems)];
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.fromEntries(values) as ConfigValues<S>;
}

/** Collects the flags, the arguments and the problems of a command line. */
class ArgumentReader {
  readonly texts = new Map<string, string[]>();
  readonly positionals: string[] = [];
  readonly problems: string[] = [];

  constructor(
    private readonly flags: Flags,
    private readonly most: number,
  ) {}

  positional(text: string): void {
    this.positionals.push(text);
    if (this.positionals.length <= this.most) return;
    const takesFiles = Object.values(this.flags).some(({ short }) => short === 'f');
    const hint = takesFiles ? ': files need -f' : this.most > 0 ? '' : ': flags start with --';
    this.problems.push(`unexpected argument ${JSON.stringify(text)}${hint}`);
  }

  option({ name, rawName, value, inlineValue }: OptionToken): void {
    const flag = Object.hasOwn(this.flags, name) ? this.flags[name] : undefined;
    if (!flag) {
      this.problems.push(`${rawName}: unknown flag; --help lists all`);
      return;
    }
    // An argument that starts with a dash is more likely the next flag than a value.
    const isMissing = !inlineValue && (value === undefined || /^-./.test(value));
    if (isMissing && !flag.value.bare)
      this.problems.push(`--${name}: got no value, allowed: ${flag.value.allowed}`);
    else {
      // As in kubectl, `-n=shop` is `-n shop`.
      const isShort = inlineValue && !rawName.startsWith('--');
      const text = isShort ? value?.replace(/^=/, '') : value;
      this.texts.set(name, [...(this.texts.get(name) ?? []), text ?? 'true']);
    }
  }
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function readArguments(flags: Flags, argv: readonly string[], most: number): ArgumentReader {
  const reader = new ArgumentReader(flags, most);
  for (const token of tokensOf(flags, argv)) {
    if (token.kind === 'positional') reader.positional(token.value);
    else if (token.kind === 'option') reader.option(token);
  }
  return reader;
}

function tokensOf(flags: Flags, argv: readonly string[]) {
  const options = Object.entries(flags).map(([name, { value, short }]) => [
    name,
    { type: value.bare ? 'boolean' : 'string', ...(short === undefined ? {} : { short }) },
  ]);
  return parseArgs({
    args: [...argv],
    options: Object.fromEntries(options) as Record<string, { type: 'boolean' | 'string' }>,
    // Problems are collected, and name the values allowed.
    strict: false,
    tokens: true,
  }).tokens;
}

function valueOf<T>(
  parser: Parser<T>,
  text: string,
  source: string,
  problems: string[],
): T | undefined {
  const value = parser.parse(text);
  if (value === undefined)
    problems.push(`${source}: got ${JSON.stringify(text)}, allowed: ${parser.allowed}`);
  return value;
}

/** What `--help` prints of the flags: two lines each. */
export function helpFor(flags: ConfigFlags): string {
  return Object.entries(flags)
    .map(([name, flag]) => {
      const preset = flag.default === '' ? '' : ` (default ${flag.default})`;
      const value = flag.value.bare ? '[=true|false]' : ` <${flag.value.allowed}>`;
      return `  --${name}${value}${preset}\n      ${flag.help} [${envOf(name, flag)}]`;
    })
    .join('\n');
}

function envOf(name: string, flag: ConfigFlag<unknown>): string {
  return flag.env ?? environmentVariable(name);
}

/** The environment variable of a flag that names no other: `APP_DEFAULT_UID` for `default-uid`. */
export function environmentVariable(flag: string): string {
  return `APP_${flag.toUpperCase().replaceAll('-', '_')}`;
}
