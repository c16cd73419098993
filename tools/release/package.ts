import { cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SOURCE_URL } from '../../constructs/project.js';
import { run } from '../../testbed/controlplane/run.js';
import type { Release } from './release.js';

/** Folders of the compiled code that users run and import. */
const CODE = ['cli', 'constructs', 'imports', 'runner'];
/** The CLI with its libraries. */
const PROGRAMS = 'dist/lib/app-operator';
/** What a manifest of a published package does not have. */
const PRIVATE = ['private', 'scripts', 'devDependencies', 'allowScripts', 'files'];

type Manifest = Readonly<Record<string, unknown>>;

/**
 * The folder of the npm package: compiled code with its types, the CRDs, and the reference of the API.
 * Compiled files without a source are left out.
 */
export async function stagePackage({ root, scratch }: Release): Promise<string> {
  const stage = path.join(scratch, 'package');
  const sources = new Set<string>();
  for (const folder of CODE) {
    for (const file of await readdir(path.join(root, folder), { recursive: true })) {
      if (file.endsWith('.ts')) sources.add(path.join(folder, file.slice(0, -'.ts'.length)));
    }
  }
  for (const source of sources) {
    for (const suffix of ['.js', '.d.ts']) {
      const file = path.join('dist/lib', source + suffix);
      await mkdir(path.dirname(path.join(stage, file)), { recursive: true });
      await cp(path.join(root, file), path.join(stage, file));
    }
  }
  await cp(path.join(root, PROGRAMS), path.join(stage, PROGRAMS), { recursive: true });
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE', 'dist/crds', 'dist/install.yaml']) {
    await cp(path.join(root, name), path.join(stage, name), { recursive: true });
  }
  await writeManifest(root, stage);
  const typedoc = path.join(root, 'node_modules/typedoc/bin/typedoc');
  const args = [typedoc, '--logLevel', 'Error', '--out', path.join(stage, 'docs/api')];
  await run(process.execPath, args, { cwd: root });
  return stage;
}

async function writeManifest(root: string, stage: string): Promise<void> {
  const text = await readFile(path.join(root, 'package.json'), 'utf8');
  const fields = Object.entries(JSON.parse(text) as Manifest);
  const manifest = {
    ...Object.fromEntries(fields.filter(([name]) => !PRIVATE.includes(name))),
    homepage: SOURCE_URL,
    repository: { type: 'git', url: `git+${SOURCE_URL}.git` },
  };
  await writeFile(path.join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** Packs the folder. @returns the path of the archive */
export async function packPackage({ out }: Release, stage: string): Promise<string> {
  const folder = path.join(out, 'npm');
  await mkdir(folder, { recursive: true });
  const output = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: stage });
  const packed = JSON.parse(output) as
    | readonly { readonly filename: string }[]
    | Readonly<Record<string, { readonly filename: string }>>;
  const [first] = Object.values(packed);
  if (!first) throw new Error('npm pack: no archive');
  return path.join(folder, first.filename);
}

const CONSUMER = `import { App, YamlOutputType } from 'cdk8s';
import { InstallChart } from 'app-operator';
import { renderFile } from 'app-operator/testing';

const app = new App({ yamlOutputType: YamlOutputType.FILE_PER_APP });
new InstallChart(app, 'install', { image: 'registry.example.com/app-operator:1' });
const kinds: string[] = app.charts.flatMap((chart) => chart.toJson()).map(({ kind }) => kind);
console.log(kinds.filter((kind) => kind === 'CustomResourceDefinition').length, typeof renderFile);
`;

/** Installs the archive in an empty folder, as users do; compiles and runs what imports it. */
export async function tryPackage(
  { root, scratch, version }: Release,
  archive: string,
): Promise<void> {
  const folder = path.join(scratch, 'consumer');
  await mkdir(folder);
  const manifest = { name: 'consumer', type: 'module', private: true };
  await writeFile(path.join(folder, 'package.json'), JSON.stringify(manifest));
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', archive], {
    cwd: folder,
  });
  await writeFile(path.join(folder, 'main.ts'), CONSUMER);
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const strict = ['--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const types = ['--typeRoots', path.join(root, 'node_modules/@types')];
  await run(process.execPath, [tsc, ...strict, ...types, 'main.ts'], { cwd: folder });
  const printed = await run(process.execPath, ['main.js'], { cwd: folder });
  const crds = (await readdir(path.join(root, 'dist/crds'))).length;
  if (printed !== `${crds} function\n`) throw new Error(`npm package: printed ${printed}`);
  const program = path.join(folder, 'node_modules/.bin/app-operator');
  const help = await run(process.execPath, [await realpath(program), 'help']);
  if (!help.includes('app-operator')) throw new Error(`npm package ${version}: no help`);
}
