import type { Environment } from '@marcbachmann/cel-js';
import { bytesOf } from '../quantity.js';

/** A quantity inside a CEL rule. */
class CelQuantity {
  constructor(readonly value: number) {}
}

/**
 * Adds what rules use of Kubernetes' quantity library: `isQuantity`, `quantity`, `compareTo` and
 * `isGreaterThan`.
 */
export function withQuantities(environment: Environment): Environment {
  return environment
    .registerType('Quantity', { ctor: CelQuantity, fields: {} })
    .registerFunction('isQuantity(string): bool', isQuantity)
    .registerFunction('quantity(string): Quantity', (text: string) => new CelQuantity(parse(text)))
    .registerFunction('Quantity.compareTo(Quantity): int', (a: CelQuantity, b: CelQuantity) =>
      BigInt(compare(a, b)),
    )
    .registerFunction(
      'Quantity.isGreaterThan(Quantity): bool',
      (a: CelQuantity, b: CelQuantity) => compare(a, b) > 0,
    );
}

/** Quantities as the API server parses them: signed, and down to nano. Our patterns take less. */
const FORM = /^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;
const SMALL: Readonly<Record<string, string>> = { n: 'e-9', u: 'e-6' };

function isQuantity(text: string): boolean {
  return FORM.test(text);
}

function parse(text: string): number {
  const size = bytesOf(text.replace(/^[+-]/, '').replace(/[nu]$/, (unit) => SMALL[unit] ?? ''));
  return text.startsWith('-') ? -size : size;
}

/** Quantities are decimal; 0.3 and 300m differ by a rounding error as numbers. */
function compare({ value: a }: CelQuantity, { value: b }: CelQuantity): -1 | 0 | 1 {
  if (Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b))) return 0;
  return a < b ? -1 : 1;
}
