import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { projectRoot } from '../project-root.js';

/** A file of this folder that becomes part of an image. */
export interface ImageFile {
  /** Path below this folder. */
  readonly source: string;
  /** Path in the image. */
  readonly target: string;
  readonly mode: number;
}

/** Changes with the content of the files and where they go. */
export function keyOf(files: readonly ImageFile[], ...more: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify([files, more]));
  for (const { source } of files) hash.update(readFileSync(pathOf(source)));
  return hash.digest('hex');
}

export async function copyFiles(files: readonly ImageFile[], overlay: string): Promise<void> {
  for (const { source, target, mode } of files) {
    const file = path.join(overlay, target);
    await mkdir(path.dirname(file), { recursive: true });
    await copyFile(pathOf(source), file);
    await chmod(file, mode);
  }
}

/** Adds a user with a group of the same name, as the packages of servers would. */
export async function addUser(
  overlay: string,
  base: string,
  { name, id, home }: { readonly name: string; readonly id: number; readonly home: string },
): Promise<void> {
  await mkdir(path.join(overlay, 'etc'), { recursive: true });
  const lines = { passwd: `${name}:x:${id}:${id}::${home}:/bin/false`, group: `${name}:x:${id}:` };
  for (const [file, line] of Object.entries(lines)) {
    const present = await readFile(path.join(base, 'etc', file), 'utf8');
    await writeFile(path.join(overlay, 'etc', file), `${present}${line}\n`);
  }
}

function pathOf(source: string): string {
  return path.join(projectRoot(), 'testbed', 'images', source);
}
