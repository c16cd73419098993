/**
 * Builds the documentation site into dist/site/public: `npm run docs [-- --check]`. Each Git tag
 * `v<version>` that has docs/ is built into a folder of its own, so that readers find the pages of
 * their release.
 */
import '../../runner/kit/require-node.js';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../testbed/project-root.js';
import { examplesPage, type Page, pageOf, pageText, sidebarOf, titleOf } from './pages.js';

/** What the site's configuration reads, from the file that `SITE` names. */
export interface SiteSettings {
  readonly source: string;
  readonly output: string;
  /** URL path that the site is served below, with `/` at both ends. */
  readonly base: string;
  readonly version: string;
  readonly versions: readonly { readonly text: string; readonly link: string }[];
  readonly sidebar: ReturnType<typeof sidebarOf>;
}

interface Version {
  readonly name: string;
  /** Undefined for the files of the work tree. */
  readonly tag?: string;
}

const ROOT = projectRoot();
const SITE = path.join(ROOT, 'tools/docs-site/site');
const OUTPUT = path.join(ROOT, 'dist/site');
const PUBLIC = path.join(OUTPUT, 'public');
/** Below the site's own folder, where pages find its modules. */
const PAGES = path.join(SITE, 'pages');
const TOP = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    base: { type: 'string', default: '/' },
  },
});

for (const folder of [OUTPUT, PAGES]) rmSync(folder, { recursive: true, force: true });
mkdirSync(OUTPUT, { recursive: true });
install();
const versions: readonly Version[] = [{ name: 'latest' }, ...tags()];
for (const [i, version] of versions.entries()) {
  console.error(`building the pages of ${version.name} (${i + 1} of ${versions.length})`);
  const { tag } = version;
  if (tag === undefined) build(version, ROOT);
  else
    withFilesOf(tag, (folder) => {
      build(version, folder);
    });
}
console.error(`the site is in ${path.relative(process.cwd(), PUBLIC)}`);
if (values.check) {
  run(path.join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.']);
  run(process.execPath, ['check.ts', PUBLIC, values.base]);
}

/** Builds one version into its folder. */
function build({ name, tag }: Version, folder: string): void {
  const source = path.join(PAGES, name);
  const sidebar = stage(folder, source);
  const settings: SiteSettings = {
    source,
    output: tag === undefined ? PUBLIC : path.join(PUBLIC, name),
    base: tag === undefined ? values.base : `${values.base}${name}/`,
    version: name,
    versions: versions.map((version) => ({
      text: version.name,
      link: version.tag === undefined ? values.base : `${values.base}${version.name}/`,
    })),
    sidebar,
  };
  const file = path.join(OUTPUT, `${name}.json`);
  writeFileSync(file, JSON.stringify(settings));
  run(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build'], { SITE: file });
}

/** Copies the pages of a folder of the repository. @returns their navigation */
function stage(folder: string, source: string): ReturnType<typeof sidebarOf> {
  const titles = new Map<string, string>();
  const exists = (file: string): boolean => existsSync(path.join(folder, file));
  const write = (page: Page, text: string): void => {
    titles.set(page.page, titleOf(page.file, text));
    const file = path.join(source, page.page);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const page of pagesIn(folder)) {
    const text = readFileSync(path.join(folder, page.file), 'utf8');
    write(page, pageText(page, text, exists));
  }
  write({ file: 'examples', page: 'examples.md' }, examplesPage(examplesIn(folder)));
  cpSync(path.join(folder, 'docs/pictures'), path.join(source, 'pictures'), { recursive: true });
  return sidebarOf(readFileSync(path.join(folder, 'docs/README.md'), 'utf8'), titles);
}

function pagesIn(folder: string): readonly Page[] {
  const docs = readdirSync(path.join(folder, 'docs'), { recursive: true, encoding: 'utf8' });
  return [...docs.map((file) => `docs/${file.split(path.sep).join('/')}`), ...TOP]
    .filter((file) => existsSync(path.join(folder, file)))
    .sort()
    .flatMap((file) => pageOf(file) ?? []);
}

function examplesIn(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(path.join(folder, 'examples')).filter((name) => name.endsWith('.yaml'));
  return Object.fromEntries(
    names.sort().map((name) => [name, readFileSync(path.join(folder, 'examples', name), 'utf8')]),
  );
}

function tags(): readonly Version[] {
  const names = git('tag', '--list', 'v*', '--sort=-version:refname').split('\n').filter(Boolean);
  return names
    .filter((tag) => git('ls-tree', '--name-only', tag, 'docs/README.md') !== '')
    .map((tag) => ({ name: tag, tag }));
}

function withFilesOf(tag: string, action: (folder: string) => void): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'app-operator-docs-'));
  try {
    const archive = execFileSync('git', ['archive', tag], { cwd: ROOT, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    action(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function install(): void {
  const installed = path.join(SITE, 'node_modules/.package-lock.json');
  if (existsSync(installed)) return;
  console.error('installing what builds the site');
  run('npm', ['ci', '--no-audit', '--no-fund']);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

/** Runs a command in the folder of the site. Ends this process if it fails. */
function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const { status } = spawnSync(command, args, {
    cwd: SITE,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exit(status ?? 1);
}
