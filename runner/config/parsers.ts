import { parseDuration } from '../../constructs/kit/duration.js';
import type { Parser } from './flag-parser.js';

/** Where a server listens. */
export interface BindAddress {
  /** Every address when undefined. */
  readonly host: string | undefined;
  /** Any free port when 0. */
  readonly port: number;
}

export const text: Parser<string> = { allowed: 'text', parse: (value) => value };

/** The same parser, with null for an empty text. */
export function orNone<T>(parser: Parser<T>): Parser<T | null> {
  return { ...parser, parse: (value) => (value === '' ? null : parser.parse(value)) };
}

export function oneOf<T extends string>(values: Readonly<Record<string, T>>): Parser<T> {
  return {
    allowed: Object.keys(values).join(', '),
    parse: (value) => (Object.hasOwn(values, value) ? values[value] : undefined),
  };
}

export const bool: Parser<boolean> = {
  allowed: 'true or false',
  bare: true,
  parse: (value) => {
    const word = oneOf({ true: 'true', false: 'false', 1: 'true', 0: 'false' }).parse(value);
    return word === undefined ? undefined : word === 'true';
  },
};

export function integer(min: number, max: number): Parser<number> {
  return {
    allowed: `an integer from ${min} to ${max}`,
    parse: (value) => {
      const number = /^[0-9]+$/.test(value) ? Number(value) : NaN;
      return number >= min && number <= max ? number : undefined;
    },
  };
}

/** Milliseconds. */
export function duration(min: string): Parser<number> {
  return {
    allowed: `a duration of at least ${min}, such as 10h or 5m30s`,
    parse: (value) => {
      const ms = parseDuration(value);
      return ms !== undefined && ms >= (parseDuration(min) ?? 0) ? ms : undefined;
    },
  };
}

/** `host:port`, `:port`, or `0` for no server: null. */
export const bindAddress: Parser<BindAddress | null> = {
  allowed: 'host:port, :port, or 0 to turn it off',
  parse: (value) => {
    if (value === '0') return null;
    const [, bracketed, plain, digits] =
      /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s]*)):([0-9]{1,5})$/.exec(value) ?? [];
    const port = Number(digits ?? NaN);
    return port <= 65535 ? { host: bracketed ?? (plain || undefined), port } : undefined;
  },
};

const LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

/** Dot-separated DNS labels. */
export function domain(minLabels: number): Parser<string> {
  const pattern = new RegExp(`^${LABEL}([.]${LABEL}){${minLabels - 1},}$`);
  return {
    allowed: `a lower-case DNS name${minLabels > 1 ? ' with a dot' : ''}`,
    parse: (value) => (value.length <= 253 && pattern.test(value) ? value : undefined),
  };
}

/** Comma-separated names of any characters; an empty text gives no name. */
export const names: Parser<readonly string[]> = {
  allowed: 'names separated by commas',
  parse: (value) => {
    const all = value === '' ? [] : value.split(',').map((name) => name.trim());
    return all.includes('') ? undefined : all;
  },
};

/** Comma-separated names without duplicates; an empty text gives no name. */
export const namespaces: Parser<readonly string[]> = {
  allowed: 'names of namespaces, separated by commas',
  parse: (value) => {
    const names = value
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean);
    const valid = names.every((name) => new RegExp(`^${LABEL}$`).test(name));
    return valid ? [...new Set(names)] : undefined;
  },
};

/** One name, or an empty text. */
export const namespace: Parser<string> = {
  allowed: 'the name of a namespace',
  parse: (value) => {
    const names = value.includes(',') ? undefined : namespaces.parse(value);
    return names && (names[0] ?? '');
  },
};

const KEY = `([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`;
const VALUE = '([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?';
const REQUIREMENT = [
  `\\s*!?\\s*${KEY}\\s*`,
  `\\s*${KEY}\\s*(=|==|!=)\\s*${VALUE}\\s*`,
  `\\s*${KEY}\\s+(in|notin)\\s*\\(\\s*${VALUE}\\s*(,\\s*${VALUE}\\s*)*\\)\\s*`,
].join('|');
const SELECTOR = new RegExp(`^(${REQUIREMENT})(,(${REQUIREMENT}))*$`);

/** A label selector in the syntax of kubectl; an empty text selects everything. */
export const labelSelector: Parser<string> = {
  allowed: 'a label selector, such as team=web,tier!=test or tier in (a,b)',
  parse: (value) => (value === '' || SELECTOR.test(value) ? value.trim() : undefined),
};
