import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Parser } from '../runner/config/flags.js';
import { UsageError } from './usage.js';

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * The flags of a command.
 * @throws UsageError for an unknown flag, and for anything that is none
 */
export function flags<O extends Options>(argv: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    if (error instanceof TypeError && 'code' in error) throw new UsageError(error.message);
    throw error;
  }
}

/**
 * The value of a flag that was given; undefined for one that was not.
 * @throws UsageError naming the flag, the value got and the values allowed
 */
export function valueOf<T>(
  name: string,
  text: string | undefined,
  parser: Parser<T>,
): T | undefined {
  if (text === undefined) return undefined;
  const value = parser.parse(text);
  if (value !== undefined) return value;
  throw new UsageError(`--${name}: got ${JSON.stringify(text)}, allowed: ${parser.allowed}`);
}
