import type { KindFolder } from './kinds.js';
import { HEADER, type Files } from './output.js';

/** `constructs/api.generated.ts`: the types of all kinds, for the package's public API. */
export function apiFile(folders: readonly KindFolder[]): Files {
  const lines = folders.map(({ folder, kind }) => {
    const types = [kind, `${kind}Spec`, `${kind}Status`].join(', ');
    return `export type { ${types} } from './api/${folder}.js';\n`;
  });
  return new Map([['constructs/api.generated.ts', `${HEADER}\n${lines.join('')}`]]);
}
