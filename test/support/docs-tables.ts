import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { KindDefinition, Schema } from '../../constructs/kit/definition.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { assertGolden } from '../golden/compare.js';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/**
 * Compares the part of a page between `<!-- name: npm run goldens -->` and `<!-- /name -->` with a text, or
 * writes it.
 */
export function assertSection(file: string, name: string, text: string): void {
  const page = readFileSync(ROOT + file, 'utf8');
  const [start, end] = [`<!-- ${name}: npm run goldens -->\n`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file} has no section ${name}`);
  assertGolden(
    ROOT + file,
    `${page.slice(0, from + start.length)}${ignored(text)}${page.slice(to)}`,
  );
}

/** Keeps the formatter from padding wide tables. */
function ignored(text: string): string {
  return `<!-- prettier-ignore-start -->\n${text}<!-- prettier-ignore-end -->\n`;
}

/** A Markdown table. */
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

/** Whether a schema has `requests` and `limits`: these need no rows. */
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
  const refusals = schema['x-kubernetes-validations']?.map(({ message }) => `"${message}"`) ?? [];
  const sentences = [
    ...(schema.description ? [schema.description] : []),
    ...(refusals.length > 0 ? [`Refused with ${refusals.join(', or ')}`] : []),
  ];
  return sentences
    .map((sentence) => sentence.replace(/^[a-z]/, (letter) => letter.toUpperCase()))
    .map((sentence) => sentence.replace(/[.]?$/, '.'))
    .join(' ');
}

/** The fields of a kind that cannot change, with the words of the refusal. */
export function immutableRows({ kind, spec }: KindDefinition): readonly (readonly string[])[] {
  return immutableFields(spec, 'spec').map(([path, why]) => [kind, code(path), why]);
}

function immutableFields(schema: Schema, at: string): readonly (readonly [string, string])[] {
  const own = (schema['x-kubernetes-validations'] ?? []).flatMap(({ message }) => {
    const [, name = '', why = ''] =
      /^(\S+) (?:is immutable|cannot be added[^:]*): (.*)$/.exec(message) ?? [];
    if (name === '') return [];
    return [[pathOf(at, name), why] as const];
  });
  const fields = Object.entries(schema.properties ?? {});
  return [...own, ...fields.flatMap(([name, field]) => immutableFields(field, `${at}.${name}`))];
}

/** A rule is at the field that it names, at its parent, or at the object that is one reference. */
function pathOf(at: string, name: string): string {
  if (at.endsWith(`.${name}`)) return at;
  return name === 'runAsUser' ? `${at}.security.securityContext.runAsUser` : `${at}.${name}`;
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

/** The manifests in the YAML blocks of a page. */
export function manifestsIn(markdown: string): readonly KubeObject[] {
  return [...markdown.matchAll(/^```yaml\n([^]*?)^```$/gm)]
    .flatMap(([, text = '']) => parseAllDocuments(text))
    .map((document) => document.toJS() as KubeObject)
    .filter(({ kind }) => typeof kind === 'string');
}

/** The hand-written pages: those of `docs/` and of the top folder. */
export function markdownFiles(): readonly string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const pages = readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  return [...top, ...pages].sort();
}

/** The flags that `--help` prints, one a row. */
export function flagTable(help: string): string {
  const flags = [
    ...help.matchAll(
      /^ {2}--([a-z-]+)(?: <(.*?)>|\[=(.*?)\])(?: \(default (.*)\))?\n +(.*) \[(\w+)\]$/gm,
    ),
  ];
  return table(
    ['Flag', 'Environment variable', 'Default', 'Allowed', 'Meaning'],
    flags.map(([, name = '', allowed, choice, preset, meaning = '', env = '']) => [
      `\`--${name}\``,
      `\`${env}\``,
      preset === undefined ? '' : code(preset),
      allowed ?? choice ?? '',
      meaning,
    ]),
  );
}

/** The table of values in the chart's README. */
export function valueTable(readme: string): string {
  return readme
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => `${line}\n`)
    .join('');
}

/** Relative links of a page without a file, or without the heading that they name. */
export function brokenLinks(file: string): readonly string[] {
  const prose = withoutCode(readFileSync(ROOT + file, 'utf8'));
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [target = '', anchor] = link.split('#');
    const at = target === '' ? file : path.join(path.dirname(file), target);
    if (!existsSync(ROOT + at)) return true;
    return anchor !== undefined && !anchorsOf(at).includes(anchor);
  });
}

function anchorsOf(file: string): readonly string[] {
  const prose = withoutCode(readFileSync(ROOT + file, 'utf8'));
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The cells of a row of a table. A vertical bar in a cell is escaped. */
export function cellsOf(row: string): readonly string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Cells of more than 100 columns in tables that people write; a link counts with its text only. */
export function longCells(page: string): readonly string[] {
  return withoutCode(
    page.replace(/<!-- prettier-ignore-start -->[^]*?<!-- prettier-ignore-end -->/g, ''),
  )
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap(cellsOf)
    .map((cell) => cell.replace(/\]\([^)]*\)/g, ']'))
    .filter((cell) => cell.length > 100 && !/^-+$/.test(cell));
}

function withoutCode(page: string): string {
  return page.replace(/^ *```[^]*?^ *```$/gm, '');
}
