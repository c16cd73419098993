import { stringify, type ScalarTag, type Tags } from 'yaml';
import { isObject } from '../../constructs/kit/json/is-object.js';

/**
 * Plain text that other parsers of YAML 1.1 read as another type, and our library as text: PyYAML fails on
 * `=`, the value of a mapping, and on `<<` where it is no key. A tag that would resolve such text makes the
 * library quote it.
 */
const RESERVED: ScalarTag = {
  tag: 'tag:yaml.org,2002:value',
  default: true,
  test: /^(=|<<)$/,
  identify: () => false,
  resolve: (text) => text,
};

/**
 * What a terminal obeys or does not show: controls, those of the direction of text, and what has no width.
 * Line breaks and tabs are no harm.
 */
const INVISIBLE = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u;

/** The library escapes some of them only. */
const ESCAPED: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => typeof value === 'string' && INVISIBLE.test(value),
  resolve: (text) => text,
  stringify: ({ value }) =>
    JSON.stringify(value).replaceAll(new RegExp(INVISIBLE, 'gu'), (character) => {
      const code = (character.codePointAt(0) ?? 0).toString(16);
      return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
    }),
};

/** The library writes `<<` with this tag, and so plain. */
function isMerge(tag: Tags[number]): boolean {
  return tag === 'merge' || (typeof tag !== 'string' && tag.tag === 'tag:yaml.org,2002:merge');
}

/** How the library writes: no line is folded, and no alias is written. */
export const YAML_OPTIONS = {
  version: '1.1',
  compat: 'core',
  customTags: (tags: Tags) => [ESCAPED, ...tags.filter((tag) => !isMerge(tag)), RESERVED],
  lineWidth: 0,
  aliasDuplicateObjects: false,
} as const;

/**
 * Objects as a stream of YAML documents: equal objects give equal text. Text that YAML 1.1, the version of
 * kubectl, or YAML 1.2 would read as another type (`on`, `010`, `0o17`, `1:30`) is quoted.
 */
export function toYaml(objects: readonly object[]): string {
  return objects.map((object) => `${itemText(object, '')}\n`).join('---\n');
}

/** Text that is no other type in any version of YAML. The library decides for all other. */
const PLAIN = /^[A-Za-z/][A-Za-z0-9_./-]{5,}$/;

/** What the library makes of scalars and keys: most of a manifest's texts are in many others. */
const written = new Map<string, string>();
const writtenKeys = new Map<string, string>();

/** What follows `key:`, as the library would write it; it takes three times as long for a document. */
function valueText(value: unknown, indent: string): string {
  if (isFilled(value)) return `\n${indent}${collectionText(value, indent)}`;
  return ` ${scalarText(value, indent.slice(2))}`;
}

/** What follows `- `, or is a whole document. */
function itemText(value: unknown, indent: string): string {
  return isFilled(value) ? collectionText(value, indent) : scalarText(value, indent.slice(2));
}

function collectionText(value: object, indent: string): string {
  const deeper = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((item: unknown) => `- ${itemText(item, deeper)}`)
    : fieldsOf(value).map(([key, field]) => `${keyText(key)}:${valueText(field, deeper)}`);
  return lines.join(`\n${indent}`);
}

/** Whether a value is a list with items, or an object with fields. */
function isFilled(value: unknown): value is object {
  if (Array.isArray(value)) return value.length > 0;
  return isPlain(value) && fieldsOf(value).length > 0;
}

function isPlain(value: unknown): value is object {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function fieldsOf(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(value).filter(([, field]) => field !== undefined);
}

/** @param indent of the lines that it may have after the first, less the two of a field */
function scalarText(value: unknown, indent: string): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return libraryText(value ?? null);
  if (PLAIN.test(value)) return value;
  let text = written.get(value);
  if (text === undefined) {
    text = libraryText(value);
    written.set(value, text);
  }
  return indent === '' ? text : text.replaceAll(/\n(?=[^\n])/g, `\n${indent}`);
}

function libraryText(value: unknown): string {
  if (Number.isSafeInteger(value) && value !== 0) return String(value);
  return stringify({ key: value }, YAML_OPTIONS).slice('key: '.length, -1);
}

function keyText(key: string): string {
  if (PLAIN.test(key)) return key;
  let text = writtenKeys.get(key);
  if (text === undefined) {
    text = stringify({ [key]: 0 }, YAML_OPTIONS).slice(0, -': 0\n'.length);
    writtenKeys.set(key, text);
  }
  return text;
}
