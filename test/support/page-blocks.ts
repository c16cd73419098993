import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { projectRoot } from '../../testbed/project-root.js';

const MAIN = fileURLToPath(new URL('../../app-operator/main.js', import.meta.url));

/** A block of commands that a page has for its reader. */
export interface Block {
  /** The page's heading above it. */
  readonly heading: string;
  readonly code: string;
}

/** The blocks of commands in a page of docs/, in order. */
export function shellBlocks(page: string): readonly Block[] {
  const text = readFileSync(path.join(projectRoot(), 'docs', page), 'utf8');
  const blocks: Block[] = [];
  let heading = '';
  for (const [, title, code] of text.matchAll(/^## (.*)$|^```sh\n([^]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else blocks.push({ heading, code: code ?? '' });
  }
  return blocks;
}

/** What a page has its reader apply: a block of YAML, or one command. */
export interface Step {
  /** Of the top folder, such as `docs/users.md`. */
  readonly page: string;
  readonly code: string;
  readonly isYaml: boolean;
}

/** The pages for users: the README, the pages of the index in its order, and then the rest. */
export function pagesInOrder(): readonly string[] {
  const docs = path.join(projectRoot(), 'docs');
  const index = readFileSync(path.join(docs, 'README.md'), 'utf8');
  const listed = [...index.matchAll(/\]\(([a-z/-]+\.md)/g)].map(([, file = '']) => file);
  const others = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !/^(adr|contributing)\//.test(file))
    .sort();
  return ['README.md', ...[...listed, ...others].map((file) => `docs/${file}`)].filter(
    (file, index_, all) => all.indexOf(file) === index_ && !file.startsWith('docs/contributing/'),
  );
}

/** What a page has its reader apply, in order; a block of commands is split. */
export function stepsOf(page: string): readonly Step[] {
  const text = readFileSync(path.join(projectRoot(), page), 'utf8');
  const blocks = text.matchAll(/^( *)```(yaml|sh)\n([^]*?)^ *```$/gm);
  return [...blocks].flatMap(([, indent = '', language, code = '']) => {
    const lines = code.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const isYaml = language === 'yaml';
    return (isYaml ? [lines] : commandsOf(lines)).map((one) => ({ page, code: one, isYaml }));
  });
}

/** Commands end at a line's end, but not within quotes, after a backslash, or before a here-document's end. */
function commandsOf(code: string): readonly string[] {
  const command = /(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|<<'EOF'\n[^]*?^EOF$|#.*$|[^\n])+/gm;
  return [...code.matchAll(command)].map(([one]) => one);
}

/** What a block needs that a control plane without nodes lacks; undefined where it can run. */
export function needOf({ code }: Block): string | undefined {
  if (/^docker /m.test(code)) return 'a builder of images';
  if (/^npm (ci|run build)/m.test(code)) return 'a clone that is not built';
  if (/port-forward|curl /.test(code)) return 'a node that runs pods';
  return undefined;
}

export interface ReaderProps {
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** Further programs, by name. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** A reader who types blocks in a clone of the repository, which is built. */
export class Reader {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'app-operator-reader-'));
  /** Of the commands. */
  readonly env: NodeJS.ProcessEnv;

  constructor({ kubectl, kubeconfig, programs = {} }: ReaderProps) {
    const root = projectRoot();
    for (const name of ['dist', 'examples']) symlinkSync(path.join(root, name), this.file(name));
    const bin = this.file('bin');
    mkdirSync(bin);
    for (const [name, file] of Object.entries({ kubectl, ...programs }))
      symlinkSync(file, path.join(bin, name));
    // `npm run app-operator` builds first; a build has just run.
    const npm = `#!/bin/sh\n[ "$1 $2 $3 $4" = "run -s app-operator --" ] || exit 64\nshift 4\nexec "${process.execPath}" "${MAIN}" "$@"\n`;
    writeFileSync(path.join(bin, 'npm'), npm);
    chmodSync(path.join(bin, 'npm'), 0o755);
    // The reader changes the namespace of the context.
    writeFileSync(this.file('kubeconfig'), readFileSync(kubeconfig), { mode: 0o600 });
    this.env = {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: this.folder,
      KUBECONFIG: this.file('kubeconfig'),
    };
  }

  file(name: string): string {
    return path.join(this.folder, name);
  }

  /** Types a block. @returns what it prints @throws Error with what it prints where a command fails */
  types({ heading, code }: Block, env: NodeJS.ProcessEnv = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { cwd: this.folder, env: { ...this.env, ...env }, maxBuffer: 2 ** 26 };
      execFile('bash', ['-e', '-o', 'pipefail', '-c', code], options, (error, out, err) => {
        if (error) reject(new Error(`${heading}:\n${code}\n${out}${err}`, { cause: error }));
        else resolve(out + err);
      });
    });
  }
}
