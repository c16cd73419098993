import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';

import { projectRoot } from '../../../testbed/project-root.js';
import type { Manifest } from './objects.js';

/** CRDs of another project, or why they are not available here. */
export type Crds = { readonly crds: readonly Manifest[]; readonly skip: false } | NoCrds;
interface NoCrds {
  readonly crds: readonly [];
  readonly skip: string;
}

/**
 * Reads CRDs from the Go module, and in the version, that a file of ours in `imports/` was made from.
 * They are not committed; Go's module cache has them after the first time.
 */
export async function crdsOf(imports: string, files: readonly string[]): Promise<Crds> {
  const text = await readFile(path.join(projectRoot(), 'imports', imports), 'utf8');
  const [, module = '', version = ''] = /^\/\/ Source: (\S+) (v\S+)$/m.exec(text) ?? [];
  return crdsOfModule(`${module}@${version}`, files);
}

/** Reads CRDs from a Go module. @param name with its version: `example.com/module@v1.2.3` */
export async function crdsOfModule(name: string, files: readonly string[]): Promise<Crds> {
  try {
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', name], {
      cwd: '/',
    });
    const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
    const crds = files.map(
      async (file) => parse(await readFile(path.join(Dir, file), 'utf8')) as Manifest,
    );
    return { crds: await Promise.all(crds), skip: false };
  } catch (error) {
    return { crds: [], skip: `the Go module ${name} is not to be had here: ${String(error)}` };
  }
}
