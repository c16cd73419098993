/**
 * TEST CODE: the image's Python and JavaScript packages: pinned, fetched once, kept in the cache.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot } from '../controlplane/binaries.js';
import { SOURCES } from './sources.js';

/** The interpreter of tests on this machine. */
export const PYTHON = '/usr/bin/python3';
const run = promisify(execFile);
const PLATFORMS: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/**
 * A folder with the Python packages of a version of the framework, for an interpreter such as
 * `3.11`. Only wheels are taken: nothing is compiled here.
 */
export async function pythonPackages(major: number, python: string): Promise<string> {
  const requirements = path.join(SOURCES, `requirements-${major >= 16 ? '16' : '15'}.txt`);
  return cached(`python${python}`, requirements, async (folder) => {
    const platform = `manylinux2014_${PLATFORMS[process.arch] ?? process.arch}`;
    await run('python3', [
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'],
      ...['--root-user-action=ignore', '--only-binary=:all:', '--implementation=cp'],
      ...[`--python-version=${python}`, `--platform=${platform}`],
      ...[`--target=${folder}`, `--requirement=${requirements}`],
    ]);
    compile(folder, 'site-packages', python);
  });
}

export type StandInPackages =
  | { readonly path: string; readonly skip?: undefined }
  | { readonly path: ''; readonly skip: string };

/** The packages for this machine's python3, or the reason to skip what needs them. */
export async function standInPackages(major = 15): Promise<StandInPackages> {
  const version = pythonVersion();
  if (version === undefined) return { path: '', skip: `NOT TESTED: ${PYTHON} is missing` };
  try {
    return { path: await pythonPackages(major, version) };
  } catch (error) {
    const reason = String(error).slice(0, 300);
    return {
      path: '',
      skip: `NOT TESTED: pip cannot fetch the packages of the stand-in: ${reason}`,
    };
  }
}

let knownVersion: string | undefined;

/** Version of this machine's interpreter, such as `3.11`; undefined where it is missing. */
export function pythonVersion(): string | undefined {
  if (knownVersion !== undefined) return knownVersion;
  const print = 'import sys; print("%d.%d" % sys.version_info[:2])';
  const { status, stdout } = spawnSync(PYTHON, ['-c', print], { encoding: 'utf8' });
  if (status === 0) knownVersion = stdout.trim();
  return knownVersion;
}

/**
 * Writes bytecode next to the sources, where this machine has the interpreter: processes start
 * twice as fast, and pods cannot write it themselves. A hash in it names its source, not the time
 * of files, which an archive may change. `checked` bytecode is ignored when its source changes.
 */
export function compile(
  folder: string,
  mountPath: string,
  python: string,
  mode: 'checked' | 'unchecked' = 'unchecked',
): void {
  const options = ['-m', 'compileall', '-qq', `--invalidation-mode=${mode}-hash`];
  const program = python === pythonVersion() ? PYTHON : `python${python}`;
  spawnSync(program, [...options, '-s', folder, '-p', mountPath, folder], {
    stdio: 'ignore',
  });
}

/** The `node_modules` of the realtime server. */
export async function realtimeModules(): Promise<string> {
  const sources = path.join(SOURCES, 'apps/frappe');
  return cached('realtime', path.join(sources, 'package-lock.json'), async (folder) => {
    const files = ['package.json', 'package-lock.json'];
    for (const file of files) await cp(path.join(sources, file), path.join(folder, file));
    const options = [
      '--omit=dev',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ];
    await run('npm', ['ci', ...options], { cwd: folder });
    for (const file of files) await rm(path.join(folder, file));
  });
}

/**
 * Fills a folder of the cache once for each content of `pins`; several processes may call it at the
 * same time.
 */
async function cached(
  name: string,
  pins: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(pins))
    .digest('hex')
    .slice(0, 12);
  const target = path.join(cacheRoot(), 'framework', `${name}-${process.arch}-${hash}`);
  if (existsSync(target)) return target;
  await mkdir(path.dirname(target), { recursive: true });
  const draft = await mkdtemp(`${target}.`);
  try {
    await fill(draft);
    await rename(draft, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return target;
}
