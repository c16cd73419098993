import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Schema } from '../../constructs/kit/definition.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { assertGolden } from './compare.js';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Holds the part of a page between `<!-- name -->` and `<!-- /name -->` to a text, or writes it. */
export function assertSection(file: string, name: string, text: string): void {
  const page = readFileSync(ROOT + file, 'utf8');
  const [start, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file} has no section ${name}`);
  assertGolden(
    ROOT + file,
    `${page.slice(0, from + start.length)}${ignored(text)}${page.slice(to)}`,
  );
}

/** Wide tables stay as they are: the formatter would fill them with blanks. */
function ignored(text: string): string {
  return `<!-- prettier-ignore-start -->\n${text}<!-- prettier-ignore-end -->\n`;
}

/** A table of Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ')).join(' | ')} |\n`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('');
}

/** The fields of a schema, one a row, in the order in which they are declared. */
export function fieldTable(schema: Schema, path: string): string {
  return table(['Field', 'Type', 'Default', 'Meaning'], rowsOf(schema, path));
}

function rowsOf(schema: Schema, path: string): readonly (readonly string[])[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}.${name}`;
    const required = schema.required?.includes(name) ? ', **required**' : '';
    const own = [
      `\`${at}\``,
      typeOf(field) + required,
      field.default === undefined || field.type === 'object' ? '' : code(field.default),
      meaningOf(field),
    ];
    if (isResources(field)) return [own];
    return [own, ...rowsOf(field, at), ...(field.items ? rowsOf(field.items, `${at}[]`) : [])];
  });
}

/** Requests and limits look the same everywhere. */
function isResources({ properties = {} }: Schema): boolean {
  return Object.keys(properties).sort().join() === 'limits,requests';
}

function typeOf(schema: Schema): string {
  const { additionalProperties: values, type = 'anything', maxLength, maxItems } = schema;
  if (schema.enum) return schema.enum.map(code).join(', ');
  if (isResources(schema)) return '`requests` and `limits`, maps to quantities';
  if (typeof values === 'object') return `map to ${values.type ?? 'anything'}`;
  if (type === 'array') return `list of ${schema.items?.type ?? 'anything'}${most(maxItems)}`;
  if (type === 'string') return `string${most(maxLength, ' characters')}`;
  return `${type}${rangeOf(schema)}`;
}

/** Bounds of a number, unless the upper one is that of its format. */
function rangeOf({ minimum, maximum }: Schema): string {
  const bounded = minimum !== undefined && maximum !== undefined && maximum < 2 ** 31 - 1;
  return bounded ? `, ${minimum} to ${maximum}` : '';
}

function most(limit: number | undefined, unit = ''): string {
  return limit === undefined ? '' : `, at most ${limit}${unit}`;
}

function meaningOf(schema: Schema): string {
  const rules = schema['x-kubernetes-validations']?.map(({ message }) => message) ?? [];
  return [schema.description ?? '', ...rules]
    .map((sentence) => sentence.replace(/^[a-z]/, (letter) => letter.toUpperCase()))
    .map((sentence) => sentence.replace(/[.]?$/, '.'))
    .join(' ');
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

/** The manifests in a page's blocks of YAML. */
export function manifestsIn(markdown: string): readonly KubeObject[] {
  return [...markdown.matchAll(/^```yaml\n([^]*?)^```$/gm)]
    .flatMap(([, text = '']) => parseAllDocuments(text))
    .map((document) => document.toJS() as KubeObject)
    .filter(({ kind }) => typeof kind === 'string');
}
