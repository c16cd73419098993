import { parseArgs } from 'node:util';
import type { Parser } from '../../runner/config/flags.js';
import type { Command } from './command.js';
import { UsageError } from './help.js';

/** The arguments of a command, read by its flags. */
export class Arguments {
  private constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    readonly positionals: readonly string[],
  ) {}

  /** @throws UsageError for an unknown flag, a flag without its value, and an argument too many */
  static parse(command: Command, argv: readonly string[]): Arguments {
    const options = Object.fromEntries(
      Object.entries(command.flags).map(([name, { type, short, multiple = false }]) => [
        name,
        { type, multiple, ...(short === undefined ? {} : { short }) },
      ]),
    );
    try {
      const { values, positionals } = parseArgs({
        args: [...argv],
        options,
        strict: true,
        allowPositionals: command.positionals !== undefined,
      });
      const { most = 0 } = command.positionals ?? {};
      if (positionals.length > most)
        throw new UsageError(`unexpected argument ${JSON.stringify(positionals[most])}`);
      return new Arguments(values, positionals);
    } catch (error) {
      if (error instanceof TypeError && 'code' in error) throw new UsageError(error.message);
      throw error;
    }
  }

  /** The value of a flag; undefined where it was not given. */
  text(name: string): string | undefined {
    return this.values[name] as string | undefined;
  }

  /** The values of a flag that can be repeated. */
  list(name: string): readonly string[] {
    return (this.values[name] ?? []) as readonly string[];
  }

  /** Whether a flag without a value was given. */
  has(name: string): boolean {
    return this.values[name] === true;
  }

  /**
   * The value of a flag that was given; undefined for one that was not.
   * @throws UsageError naming the flag, the value got and the values allowed
   */
  value<T>(name: string, parser: Parser<T>): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parser.parse(text);
    if (value !== undefined) return value;
    throw new UsageError(`--${name}: got ${JSON.stringify(text)}, allowed: ${parser.allowed}`);
  }
}
