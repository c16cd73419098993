import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A kind's folder under `constructs/kinds/`, and its name. */
export interface KindFolder {
  readonly folder: string;
  readonly kind: string;
}

/**
 * Every kind whose schema, CRD and import are generated: each folder of `constructs/kinds/` with a
 * `definition.ts`. The name is read from the source: a kind need not be in the registry yet.
 */
export function kindFolders(root: string): readonly KindFolder[] {
  const kinds = join(root, 'constructs/kinds');
  return readdirSync(kinds)
    .sort()
    .filter((folder) => existsSync(join(kinds, folder, 'definition.ts')))
    .map((folder) => {
      const source = readFileSync(join(kinds, folder, 'definition.ts'), 'utf8');
      const kind = /^ {2}kind: '(\w+)',$/m.exec(source)?.[1];
      if (kind === undefined)
        throw new Error(`constructs/kinds/${folder}/definition.ts: no kind found`);
      return { folder, kind };
    });
}
