import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of the repository: the compiled code lies below it, and files that are not code beside
 * it.
 */
export function projectRoot(): string {
  const start = path.dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = path.dirname(folder)) {
    if (isRoot(folder)) return folder;
    if (folder === path.dirname(folder)) {
      throw new Error(`no package.json of app-operator above ${start}`);
    }
  }
}

function isRoot(folder: string): boolean {
  const manifest = path.join(folder, 'package.json');
  if (!existsSync(manifest)) return false;
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: string };
  return name === 'app-operator';
}
