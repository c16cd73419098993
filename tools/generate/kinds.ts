import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A kind's folder under `constructs/`, and its name. */
export interface KindFolder {
  readonly folder: string;
  readonly kind: string;
}

/**
 * Every kind whose schema, CRD and import are generated: each folder of `constructs/` with a
 * `definition.ts`. The name is read from the source: a kind need not be in the registry yet.
 */
export function kindFolders(root: string): readonly KindFolder[] {
  const constructs = join(root, 'constructs');
  return readdirSync(constructs)
    .sort()
    .filter((folder) => folder !== 'kit' && existsSync(join(constructs, folder, 'definition.ts')))
    .map((folder) => {
      const source = readFileSync(join(constructs, folder, 'definition.ts'), 'utf8');
      const kind = /^ {2}kind: '(\w+)',$/m.exec(source)?.[1];
      if (kind === undefined) throw new Error(`constructs/${folder}/definition.ts: no kind found`);
      return { folder, kind };
    });
}
