import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';

import { projectRoot } from '../../../testbed/project-root.js';

const FOLDERS = ['constructs', 'imports', 'runner'];
const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2024,
  verbatimModuleSyntax: true,
};

const run = promisify(execFile);

/** A file of an earlier commit; undefined where the clone lacks that commit, as a shallow clone does. */
export async function fileOf(commit: string, file: string): Promise<string | undefined> {
  const options = { maxBuffer: 2 ** 24 };
  try {
    return (await run('git', ['-C', projectRoot(), 'show', `${commit}:${file}`], options)).stdout;
  } catch {
    return undefined;
  }
}

/**
 * Compiles the operator of an earlier commit into a folder without type checks, in a few seconds.
 * @returns the path of its `main.js`
 */
export async function operatorOf(commit: string, folder: string): Promise<string> {
  const root = projectRoot();
  await mkdir(folder, { recursive: true });
  const archive = path.join(folder, 'source.tar');
  const sources = [...FOLDERS, 'package.json'];
  await run('git', ['-C', root, 'archive', `--output=${archive}`, commit, ...sources]);
  await run('tar', ['-xf', archive, '-C', folder]);
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  for (const part of FOLDERS) {
    const files = await readdir(path.join(folder, part), { recursive: true });
    for (const file of files.filter((name) => name.endsWith('.ts'))) {
      const source = await readFile(path.join(folder, part, file), 'utf8');
      const target = path.join(folder, 'dist/lib', part, file.replace(/\.ts$/, '.js'));
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, ts.transpile(source, OPTIONS, file));
    }
  }
  return path.join(folder, 'dist/lib/runner/main.js');
}
