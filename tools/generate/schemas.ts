import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import type { Schema } from '../../constructs/kit/definition.js';
import { schemaSource } from './json-schema.js';
import type { KindFolder } from './kinds.js';
import { HEADER, type Files } from './output.js';
import { structural } from './structural.js';
import { structuralProblems } from './structural-check.js';

/** Structural schemas of a kind. */
export interface KindSchemas {
  readonly spec: Schema;
  readonly status: Schema;
}

/**
 * Schemas of every kind that has types in `constructs/api/`, by folder. Throws with everything that the checker
 * rejects.
 */
export function kindSchemas(root: string, kinds: readonly KindFolder[]): Map<string, KindSchemas> {
  const path = (kind: KindFolder): string => join(root, 'constructs/api', `${kind.folder}.ts`);
  const present = kinds.filter((kind) => existsSync(path(kind)));
  const source = schemaSource(present.map(path));
  const problems: string[] = [];
  const half = (kind: string, name: 'spec' | 'status', type: string): Schema => {
    const schema = structural(source.of(kind + type), `${kind} ${name}`);
    problems.push(...structuralProblems(schema, name).map((problem) => `${kind} ${problem}`));
    return schema;
  };
  const schemas = new Map(
    present.map(({ folder, kind }) => [
      folder,
      { spec: half(kind, 'spec', 'Spec'), status: half(kind, 'status', 'Status') },
    ]),
  );
  if (problems.length > 0)
    throw new Error(`the types in constructs/api/ need work:\n  ${problems.join('\n  ')}`);
  return schemas;
}

/** `constructs/<folder>/schema.generated.ts` of each kind. */
export async function schemaFiles(schemas: ReadonlyMap<string, KindSchemas>): Promise<Files> {
  const files = new Map<string, string>();
  for (const [folder, { spec, status }] of schemas) {
    const source = [
      HEADER,
      "import type { Schema } from '../../kit/definition.js';",
      '',
      `export const spec: Schema = ${JSON.stringify(spec)};`,
      '',
      `export const status: Schema = ${JSON.stringify(status)};`,
    ].join('\n');
    const text = await format(source, {
      parser: 'typescript',
      printWidth: 100,
      singleQuote: true,
      quoteProps: 'as-needed',
    });
    files.set(`constructs/kinds/${folder}/schema.generated.ts`, text);
  }
  return files;
}
