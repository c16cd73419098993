import { isDeepStrictEqual } from 'node:util';
import type { Tokens } from './tokens.js';

/** One of the ways in which something can be installed, and the template's condition for it. */
export interface Choice {
  readonly when: string;
}

/**
 * What a choice makes, at one place of the tree of objects. The first of a dimension is the base of
 * all.
 */
interface Cell {
  readonly dimension: number;
  readonly choice: Choice;
  readonly value: unknown;
}

type Tree = Readonly<Record<string, unknown>>;

/**
 * One template of several variants of an object: common fields are unconditional, other fields have
 * the condition of their variants. Only one dimension varies at a time.
 */
export class Merge {
  constructor(private readonly tokens: Tokens) {}

  /**
   * @param dimensions per dimension each choice with its object, or undefined where it has none
   * @returns the object with tokens in it, and the condition for all of it, if there is one
   */
  object(dimensions: readonly (readonly (readonly [Choice, unknown])[])[]): {
    readonly when: string | undefined;
    readonly value: unknown;
  } {
    const cells = dimensions.flatMap((choices, dimension) =>
      choices.map(([choice, value]) => ({ dimension, choice, value })),
    );
    return { when: condition(cells), value: this.#merge(present(cells), '') };
  }

  #merge(cells: readonly Cell[], path: string): unknown {
    const [first, ...rest] = cells;
    if (!first) throw new Error(`${path}: nothing is made by any choice`);
    if (rest.every(({ value }) => isDeepStrictEqual(value, first.value))) return first.value;
    if (cells.every(({ value }) => Array.isArray(value))) return this.#list(cells, path);
    if (cells.every(({ value }) => isTree(value))) return this.#tree(cells, path);
    throw new Error(`${path}: a value that is another one by choice has to be one of the chart's`);
  }

  #tree(cells: readonly Cell[], path: string): Tree {
    const keys = inOrder(cells.map(({ value }) => Object.keys(value as Tree)));
    const entries = keys.map((key) => {
      const at = cells.map((cell) => ({ ...cell, value: (cell.value as Tree)[key] }));
      const value = this.#merge(present(at), `${path}.${key}`);
      return { when: condition(at), value: [key, value] as const };
    });
    return Object.fromEntries(this.#under(entries, (control) => [control, null] as const));
  }

  #list(cells: readonly Cell[], path: string): unknown[] {
    const lists = cells.map(
      ({ value }) => new Map((value as unknown[]).map((item) => [idOf(item), item] as const)),
    );
    const items = inOrder(lists.map((list) => [...list.keys()])).map((id) => {
      const at = cells.map((cell, index) => ({ ...cell, value: lists[index]?.get(id) }));
      return { when: condition(at), value: this.#merge(present(at), `${path}[${id}]`) };
    });
    return this.#under(items, (control) => control);
  }

  /** Parts inside their conditions; neighbours with the same condition share it. */
  #under<T>(
    parts: readonly { readonly when: string | undefined; readonly value: T }[],
    line: (control: string) => T,
  ): T[] {
    const control = (action: string): T => line(this.tokens.control(action));
    return parts.flatMap(({ when, value }, index) => {
      if (when === undefined) return [value];
      const begins = parts[index - 1]?.when !== when;
      const ends = parts[index + 1]?.when !== when;
      return [...(begins ? [control(`if ${when}`)] : []), value, ...(ends ? [control('end')] : [])];
    });
  }
}

function present(cells: readonly Cell[]): readonly Cell[] {
  return cells.filter(({ value }) => value !== undefined);
}

/** When something is there; undefined where it always is. */
function condition(cells: readonly Cell[]): string | undefined {
  const parts = [...new Set(cells.map(({ dimension }) => dimension))].flatMap((dimension) => {
    const choices = cells.filter((cell) => cell.dimension === dimension);
    const given = present(choices);
    const missing = choices.filter(({ value }) => value === undefined);
    if (given.length === 0 || missing.length === 0) return [];
    const [only] = missing;
    const opposite = missing.length === 1 && only ? negated(only.choice.when) : undefined;
    return [
      opposite ??
        joined(
          'or',
          given.map(({ choice }) => choice.when),
        ),
    ];
  });
  return parts.length === 0 ? undefined : joined('and', parts);
}

/** The opposite of a condition where it is a simple one. */
function negated(when: string): string | undefined {
  return /^not (\S+|\(.*\))$/.exec(when)?.[1]?.replace(/^\((.*)\)$/, '$1');
}

export function joined(operator: 'and' | 'or', parts: readonly string[]): string {
  const operand = (part: string): string => (part.includes(' ') ? `(${part})` : part);
  return parts.length === 1 ? (parts[0] ?? '') : `${operator} ${parts.map(operand).join(' ')}`;
}

/** All ids of several lists, each after the one that it follows in the first list that has it. */
function inOrder(lists: readonly (readonly string[])[]): string[] {
  const all: string[] = [];
  for (const list of lists) {
    list.forEach((id, index) => {
      if (all.includes(id)) return;
      const before = index === 0 ? -1 : all.indexOf(list[index - 1] ?? '');
      all.splice(before + 1, 0, id);
    });
  }
  return all;
}

/** What an item of a list is known by. */
function idOf(item: unknown): string {
  if (isTree(item) && typeof item['name'] === 'string') return item['name'];
  return typeof item === 'string' ? item : JSON.stringify(item);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
