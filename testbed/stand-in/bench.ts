/**
 * TEST CODE: fills the bench's folder of an image: apps, environment, assets, sites, as the
 * official image has them.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { compile, pythonPackages, realtimeModules } from './packages.js';
import { filesBelow, SOURCES } from './sources.js';

export interface BenchContent {
  /** Version of the framework, three numbers. */
  readonly version: string;
  /** Apps besides frappe → their versions. */
  readonly apps: Readonly<Record<string, string>>;
  /** The interpreter that will run it: its version, such as `3.11`, and its path inside. */
  readonly python: { readonly version: string; readonly program: string };
}

/** Apps that an app requires, as the real ones do. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = { hrms: ['frappe/erpnext'] };

/** Folders of the cache with the packages of a bench. */
export interface BenchPackages {
  readonly python: string;
  readonly realtime: string;
}

/** @throws when pip or npm cannot fetch the pinned packages */
export async function benchPackages(content: BenchContent): Promise<BenchPackages> {
  const major = Number(content.version.split('.')[0]);
  return {
    python: await pythonPackages(major, content.python.version),
    realtime: await realtimeModules(),
  };
}

/** Where a bench in `folder` has its packages: folder of the cache, folder of the bench. */
export function packageFolders(
  folder: string,
  content: BenchContent,
  packages: BenchPackages,
): readonly (readonly [from: string, to: string])[] {
  return [
    [packages.python, sitePackages(folder, content)],
    [path.join(packages.realtime, 'node_modules'), path.join(folder, 'apps/frappe/node_modules')],
  ];
}

/** Fills `folder` with a bench that will be found at `mountPath`, without its packages. */
export function fillBench(folder: string, mountPath: string, content: BenchContent): void {
  for (const name of ['apps', 'env', 'sites', 'logs', 'config/pids', 'assets']) {
    mkdirSync(path.join(folder, name), { recursive: true });
  }
  fillEnvironment(folder, mountPath, content);
  fillApps(folder, content);
  fillAssets(folder, content);
  compile(path.join(folder, 'apps'), `${mountPath}/apps`, content.python.version);
  const apps = ['frappe', ...Object.keys(content.apps)];
  writeFileSync(path.join(folder, 'sites/apps.txt'), apps.map((app) => `${app}\n`).join(''));
  writeFileSync(path.join(folder, 'sites/common_site_config.json'), '{}');
}

/**
 * Fills `apps/` of a bench with the sources of the framework and of the apps.
 * @param has which files of the framework the bench has, by their path in `apps/frappe`; all by
 *   default
 */
export function fillApps(
  folder: string,
  { version, apps }: Pick<BenchContent, 'version' | 'apps'>,
  has: (file: string) => boolean = () => true,
): void {
  fillFramework(folder, version, has);
  for (const [app, appVersion] of Object.entries(apps)) fillApp(folder, app, appVersion);
}

/** `/usr/local/bin`: the bench command and the entrypoints. */
export function copyPrograms(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const sources = path.join(SOURCES, 'bin');
  for (const name of readdirSync(sources)) {
    cpSync(path.join(sources, name), path.join(folder, name));
    chmodSync(path.join(folder, name), 0o755);
  }
}

function sitePackages(folder: string, { python }: BenchContent): string {
  return path.join(folder, 'env/lib', `python${python.version}`, 'site-packages');
}

/**
 * A virtual environment but its packages, written by hand: it must not know the machine that it was
 * made on. Also for a bench that is a copy of one at another path.
 */
export function fillEnvironment(folder: string, mountPath: string, content: BenchContent): void {
  const { apps, python } = content;
  const env = path.join(folder, 'env');
  const packages = sitePackages(folder, content);
  for (const name of [path.join(env, 'bin'), packages]) mkdirSync(name, { recursive: true });
  const paths = ['frappe', ...Object.keys(apps)].map((app) => `${mountPath}/apps/${app}\n`);
  writeFileSync(path.join(packages, 'apps.pth'), paths.join(''));
  const home = path.dirname(python.program);
  writeFileSync(
    path.join(env, 'pyvenv.cfg'),
    `home = ${home}\ninclude-system-site-packages = false\nversion = ${python.version}\n`,
  );
  for (const name of ['python', 'python3']) {
    rmSync(path.join(env, 'bin', name), { force: true });
    symlinkSync(python.program, path.join(env, 'bin', name));
  }
  const start = `#!${mountPath}/env/bin/python\nimport sys\n`;
  writeFileSync(
    path.join(env, 'bin/gunicorn'),
    `${start}from gunicorn.app.wsgiapp import run\nsys.exit(run())\n`,
    { mode: 0o755 },
  );
}

/** The framework of one version: fields and patches of other versions are left out. */
function fillFramework(folder: string, version: string, has: (file: string) => boolean): void {
  const sources = path.join(SOURCES, 'apps/frappe');
  for (const file of filesBelow(sources)) {
    if (!has(path.relative(sources, file))) continue;
    const target = path.join(folder, 'apps/frappe', path.relative(sources, file));
    const text = ofVersion(file, version);
    if (text === undefined) continue;
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

interface Field {
  readonly since?: string;
  readonly until?: string;
}

function ofVersion(file: string, version: string): string | undefined {
  const text = readFileSync(file, 'utf8');
  if (file.endsWith('frappe/frappe/__init__.py')) {
    return text.replace(/^__version__ = ".*"$/m, `__version__ = "${version}"`);
  }
  if (file.endsWith('patches.txt')) {
    const lines = text
      .split('\n')
      .filter((line) => !isLater(/\.v(\d+)_(\d+)\./.exec(line), version));
    return lines.join('\n');
  }
  if (isLater(/\/patches\/v(\d+)_(\d+)\//.exec(file), version)) return undefined;
  if (!/\/doctype\/[^/]+\/[^/]+\.json$/.test(file)) return text;
  const { since: first, ...doctype } = JSON.parse(text) as Field & {
    readonly fields: readonly Field[];
  };
  if (first && before(version, first)) return undefined;
  const fields = doctype.fields
    .filter(
      ({ since, until }) =>
        !(since && before(version, since)) && !(until && !before(version, until)),
    )
    .map(({ since: _since, until: _until, ...field }) => field);
  // A field that changed has two entries; the later one is meant.
  const byName = new Map(
    fields.map((field) => [(field as { fieldname?: string }).fieldname, field]),
  );
  return JSON.stringify({ ...doctype, fields: [...byName.values()] }, undefined, 1);
}

function isLater(match: RegExpExecArray | null, version: string): boolean {
  return match !== null && before(version, `${match[1] ?? '0'}.${match[2] ?? '0'}.0`);
}

/** Whether version `a` came before `b`. */
function before(a: string, b: string): boolean {
  const [left = [], right = []] = [a, b].map((text) => text.split('.').map(Number));
  const index = right.findIndex((number, at) => number !== left[at]);
  return index !== -1 && (left[index] ?? 0) < (right[index] ?? 0);
}

/** An app: a version, one table, its required apps, and what `apps/` has of it. */
function fillApp(folder: string, app: string, version: string): void {
  const root = path.join(folder, 'apps', app, app);
  const sources = path.join(SOURCES, 'apps', app, app);
  if (existsSync(sources)) cpSync(sources, root, { recursive: true });
  const stages = existsSync(path.join(sources, 'setup_wizard.py'))
    ? `setup_wizard_stages = ["${app}.setup_wizard.get_setup_stages"]\n`
    : '';
  const title = app.charAt(0).toUpperCase() + app.slice(1);
  const doctype = `${app}_entry`;
  const files: Readonly<Record<string, string>> = {
    '__init__.py': `__version__ = "${version}"\n`,
    'hooks.py': `app_name = "${app}"\nrequired_apps = ${JSON.stringify(REQUIRED[app] ?? [])}\nscheduler_events = {}\n${stages}`,
    'patches.txt': '[pre_model_sync]\n\n[post_model_sync]\n',
    'modules.txt': `${title}\n`,
    [`${app}/doctype/${doctype}/${doctype}.json`]: JSON.stringify({
      name: `${title} Entry`,
      fields: [{ fieldname: 'title', fieldtype: 'Data' }],
    }),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
}

/**
 * Bundles with a hash in their names, and the manifest that leads to them: other content, other
 * names.
 */
function fillAssets(folder: string, { version, apps }: BenchContent): void {
  const manifest: Record<string, string> = {};
  const bundle = (app: string, name: string, text: string): void => {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();
    const [stem, extension] = [name.replace(/\.[a-z]+$/, ''), path.extname(name)];
    const kind = extension.slice(1);
    const file = `assets/${app}/dist/${kind}/${stem}.${hash}${extension}`;
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
    manifest[name] = `/${file}`;
  };
  bundle('frappe', 'frappe-web.bundle.js', `window.frappe = { version: '${version}' };\n`);
  bundle('frappe', 'website.bundle.css', `body::after { content: '${version}'; }\n`);
  for (const [app, appVersion] of Object.entries(apps)) {
    bundle(app, `${app}.bundle.js`, `frappe.boot.${app} = '${appVersion}';\n`);
  }
  writeFileSync(path.join(folder, 'assets/assets.json'), JSON.stringify(manifest, undefined, 1));
  writeFileSync(path.join(folder, 'assets/assets-rtl.json'), '{}');
}
