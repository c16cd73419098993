import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Path of a file under `tools/controlplane` in the source tree. The compiler copies no assets to
 * `dist/lib`, so they are found from the root of the repository, by walking up from this module.
 */
export function asset(...segments: string[]): string {
  return path.join(repositoryRoot(), 'tools', 'controlplane', ...segments);
}

function repositoryRoot(): string {
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
  const parsed: unknown = JSON.parse(readFileSync(manifest, 'utf8'));
  return (
    typeof parsed === 'object' &&
    parsed !== null &&
    'name' in parsed &&
    parsed.name === 'app-operator'
  );
}
