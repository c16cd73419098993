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
 * Reads the configuration: the command line wins over the environment, the environment over the default. An
 * empty environment variable counts as not set.
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

function readArguments(flags: Flags, argv: readonly string[], most: number) {
  const texts = new Map<string, string[]>();
  const positionals: string[] = [];
  const problems: string[] = [];
  for (const token of tokensOf(flags, argv)) {
    if (token.kind === 'positional') {
      positionals.push(token.value);
      if (positionals.length > most)
        problems.push(
          `unexpected argument ${JSON.stringify(token.value)}${most > 0 ? '' : ': flags start with --'}`,
        );
    }
    if (token.kind !== 'option') continue;
    const problem = problemOf(flags, token);
    if (problem !== undefined) problems.push(problem);
    else texts.set(token.name, [...(texts.get(token.name) ?? []), token.value ?? 'true']);
  }
  return { texts, positionals, problems };
}

type OptionToken = Extract<ReturnType<typeof tokensOf>[number], { readonly kind: 'option' }>;

function problemOf(flags: Flags, token: OptionToken): string | undefined {
  const { name, rawName, value = '' } = token;
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (!flag) return `${rawName}: unknown flag; --help lists all`;
  // An argument that starts with a dash is more likely the next flag than a value.
  const isMissing = !token.inlineValue && (token.value === undefined || /^-./.test(value));
  return isMissing && !flag.value.bare
    ? `--${name}: got no value, allowed: ${flag.value.allowed}`
    : undefined;
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
  return flag.env ?? `APP_${name.toUpperCase().replaceAll('-', '_')}`;
}
