import type { Schema } from '../definition.js';
import { isObject } from '../json/is-object.js';
import { quoted } from './quote.js';

/** The type of a piece of JSON, in the words of schemas. */
function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** Types whose values are not compared by their format. */
const UNFORMATTED: ReadonlySet<string> = new Set(['string', 'array', 'null']);

/** What is wrong with a value's type, or undefined. */
export function typeProblem(schema: Schema, value: unknown, path: string): string | undefined {
  const got = typeName(value);
  const { type } = schema;
  if (type === undefined || type === got || (type === 'number' && got === 'integer'))
    return undefined;
  // Kubernetes 1.36 compares formats first: a number has the format float64, other values have none.
  const byFormat = schema.format !== undefined && !UNFORMATTED.has(got);
  const shown = quoted(byFormat ? (got === 'number' ? 'float64' : '') : got);
  const wanted = byFormat ? schema.format : type;
  return `Invalid value: ${shown}: ${path} in body must be of type ${wanted}: ${shown}`;
}

/** What is wrong with a value that an enum does not allow. */
export function enumProblem(allowed: readonly unknown[], value: unknown): string {
  return `Unsupported value: ${quoted(value)}: supported values: ${allowed.map(quoted).join(', ')}`;
}

/** A bound that a value breaks. The message of a blocking one is complete. */
export interface BoundProblem {
  readonly message: string;
  readonly blocking: boolean;
}

/**
 * What is wrong with a value's size or form: its length, its pattern, its number or the number of
 * its items. The first thing only, as in the API server.
 */
export function boundProblem(
  schema: Schema,
  value: unknown,
  pattern: RegExp | undefined,
): BoundProblem | undefined {
  if (typeof value === 'string') return text(schema, value, pattern);
  if (typeof value === 'number') return range(schema, value);
  if (Array.isArray(value)) return count(value.length, 'items', schema.minItems, schema.maxItems);
  if (!isObject(value)) return undefined;
  const { minProperties, maxProperties } = schema;
  return count(Object.keys(value).length, 'properties', minProperties, maxProperties);
}

function text(
  { minLength = 0, maxLength = Infinity, pattern: written = '' }: Schema,
  value: string,
  pattern: RegExp | undefined,
): BoundProblem | undefined {
  if (value.length > maxLength && isLonger(value, maxLength)) {
    return { message: `Too long: may not be more than ${maxLength} bytes`, blocking: true };
  }
  if (value.length < 2 * minLength && Array.from(value).length < minLength) {
    return { message: `should be at least ${minLength} chars long`, blocking: false };
  }
  if (pattern?.test(value) === false) {
    return { message: `should match '${written}'`, blocking: false };
  }
  return undefined;
}

/** Whether a text has more characters; those outside of the basic plane have a length of two. */
function isLonger(value: string, most: number): boolean {
  return value.length > 2 * most || Array.from(value).length > most;
}

function range(
  { minimum = -Infinity, maximum = Infinity }: Schema,
  value: number,
): BoundProblem | undefined {
  if (value < minimum) {
    return { message: `should be greater than or equal to ${minimum}`, blocking: false };
  }
  if (value > maximum) {
    return { message: `should be less than or equal to ${maximum}`, blocking: false };
  }
  return undefined;
}

function count(n: number, what: string, min = 0, max = Infinity): BoundProblem | undefined {
  if (n < min) return { message: `should have at least ${min} ${what}`, blocking: false };
  if (n > max) return { message: `Too many: ${n}: must have at most ${max} items`, blocking: true };
  return undefined;
}
