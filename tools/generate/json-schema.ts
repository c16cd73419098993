import { readFileSync } from 'node:fs';
import { createFormatter, createParser, SchemaGenerator } from 'ts-json-schema-generator';
import type { CompletedConfig } from 'ts-json-schema-generator';
import ts from 'typescript';

/**
 * A node of JSON Schema as ts-json-schema-generator emits it, with `cel<n>` for each `@cel` tag.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The most `@cel` tags in all files together. */
const MAX_RULES = 1000;

/** Turns the interfaces of TypeScript files into JSON Schema, by type name. */
export interface SchemaSource {
  of(type: string): JsonSchema;
}

/**
 * Reads TypeScript files once and answers for any interface in them.
 * Every reference is inlined, so that markers of a type and of a property fall on one node;
 * where both have one, the property's wins.
 */
export function schemaSource(
  paths: readonly string[],
  overlay?: ReadonlyMap<string, string>,
): SchemaSource {
  const config: CompletedConfig = {
    expose: 'none',
    topRef: false,
    jsDoc: 'extended',
    markdownDescription: false,
    fullDescription: false,
    sortProps: false,
    strictTuples: false,
    skipTypeCheck: true,
    encodeRefs: true,
    extraTags: [
      'listType',
      'listMapKey',
      'preserveUnknownFields',
      ...Array.from({ length: MAX_RULES }, (_, i) => `cel${i}`),
    ],
    additionalProperties: false,
    discriminatorType: 'json-schema',
    functions: 'fail',
    minify: false,
  };
  const program = ts.createProgram([...paths], COMPILER_OPTIONS, markerHost(overlay));
  const generator = new SchemaGenerator(
    program,
    createParser(program, config),
    createFormatter(config),
    config,
  );
  return { of: (type) => generator.createSchema(type) as JsonSchema };
}

const COMPILER_OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  types: [],
};

/**
 * The reader of source text. It makes two markers digestible: the generator keeps one tag of a
 * name, so each `@cel` gets a number; and TypeScript itself takes `@type`, so it becomes `@asType`.
 */
function markerHost(overlay?: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(COMPILER_OPTIONS);
  let rules = 0;
  const text = (path: string): string | undefined => overlay?.get(path) ?? readText(path);
  const mark = (source: string): string =>
    withParts(source)
      .replace(/^(\s*(?:\/\*)?\*\s*)@cel\b/gm, (_, lead: string) => `${lead}@cel${rules++}`)
      .replace(/^(\s*(?:\/\*)?\*\s*)@type\b/gm, '$1@asType');
  host.fileExists = (path) => overlay?.has(path) === true || ts.sys.fileExists(path);
  host.getSourceFile = (path, options) => {
    if (path.endsWith('.d.ts')) return declarations(path, options);
    const source = text(path);
    return source === undefined ? undefined : ts.createSourceFile(path, mark(source), options);
  };
  return host;
}

/**
 * Lines such as `// <NAME> text` are parts of rules: `<NAME>` in an `@cel` tag of the file stands for the text,
 * and `<NAME oldSelf>` for what it says of the object before.
 */
function withParts(source: string): string {
  const lines = source.matchAll(/^\/\/ <([A-Z]+)> (.+)$/gm);
  const parts = new Map([...lines].map(([, name = '', text = '']) => [name, text]));
  const expand = (rule: string): string =>
    rule.replace(/<([A-Z]+)( oldSelf)?>/g, (_, name: string, before?: string) => {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`there is no line // <${name}>, which a rule uses`);
      return before ? expand(part).replace(/\bself\b/g, 'oldSelf') : expand(part);
    });
  return source.replace(/^.*@cel .*$/gm, expand);
}

const parsed = new Map<string, ts.SourceFile>();

/** Declaration files, TypeScript's own among them, parsed once a process: they are large. */
function declarations(
  path: string,
  options: ts.ScriptTarget | ts.CreateSourceFileOptions,
): ts.SourceFile | undefined {
  const known = parsed.get(path);
  const source = known ? undefined : readText(path);
  if (known || source === undefined) return known;
  const file = ts.createSourceFile(path, source, options);
  parsed.set(path, file);
  return file;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
