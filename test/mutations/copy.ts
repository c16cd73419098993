/** A copy of what is committed, with mutations. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { projectRoot } from '../../testbed/project-root.js';
import { linkFolder } from '../support/link-folder.js';
import type { Edit } from './table.js';

/** How often a text occurs in a file. */
export function occurrences({ file, find }: Edit, root = projectRoot()): number {
  return readFileSync(path.join(root, file), 'utf8').split(find).length - 1;
}

export class Copy {
  constructor(readonly folder: string) {}

  /** Makes the copy, with the compiled files of this tree: the compiler continues from them. */
  make(): void {
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(path.dirname(this.folder), { recursive: true });
    must('git', ['clone', '--quiet', projectRoot(), this.folder]);
    linkFolder(path.join(projectRoot(), 'node_modules'), path.join(this.folder, 'node_modules'));
    const compiled = path.join('dist', 'lib');
    cpSync(path.join(projectRoot(), compiled), path.join(this.folder, compiled), {
      recursive: true,
    });
  }

  /** @throws Error where a text does not occur exactly once */
  mutate(edits: readonly Edit[]): void {
    for (const edit of edits) {
      const count = occurrences(edit, this.folder);
      if (count !== 1) {
        throw new Error(`${edit.file}: found ${count} times, not once: ${edit.find}`);
      }
      const file = path.join(this.folder, edit.file);
      const [before = '', after = ''] = readFileSync(file, 'utf8').split(edit.find);
      writeFileSync(file, `${before}${edit.replace}${after}`);
    }
  }

  restore(): void {
    must('git', ['checkout', '--quiet', '.'], this.folder);
  }

  build(): void {
    must('npm', ['run', '-s', 'build'], this.folder);
  }
}

function must(command: string, args: readonly string[], cwd = projectRoot()): void {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: exit code ${status}`);
}
