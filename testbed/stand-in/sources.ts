/** TEST CODE: where the image's sources lie, and the cache of what pip and npm fetch. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from '../project-root.js';

export const SOURCES = path.join(projectRoot(), 'testbed/stand-in/image');

/** Of every file's name and content. */
export function sourcesHash(): string {
  const hash = createHash('sha256');
  for (const file of filesBelow(SOURCES)) {
    hash
      .update(`${path.relative(SOURCES, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Source files below a folder, in one order; what interpreters leave behind is not one. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !/__pycache__|node_modules/.test(file))
    .sort();
}
