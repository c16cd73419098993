import { copyFile, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PROJECT } from '../../constructs/project.js';
import { numberedSteps, printProgress } from '../../testbed/controlplane/progress.js';
import { run } from '../../testbed/controlplane/run.js';
import { helmOf, packageChart, pushChart } from './chart.js';
import {
  ARCHITECTURES,
  buildLayer,
  copyImage,
  isReachable,
  platformsOf,
  pushImage,
  saveImage,
  standInBase,
  validateImage,
} from './image.js';
import { packPackage, stagePackage, tryPackage } from './package.js';
import { type Release, sha256, writeChecksums } from './release.js';

export interface Options {
  /** Whether the registry of this machine stands for the real one. */
  readonly dryRun: boolean;
  /** Whether the base image must be the real one. */
  readonly strict: boolean;
}

/** Makes, checks and pushes a release. Each step prints one line. @throws Error of the step that failed */
export async function runSteps(release: Release, { dryRun, strict }: Options): Promise<void> {
  const numbered = numberedSteps(5, printProgress);
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const result = await numbered(name, work);
    console.log(`ok  ${name}: ${String(result)}`);
    return result;
  };
  const manifests = await step('manifests', () => writeManifests(release));
  const chart = await step('chart', () => makeChart(release));
  const image = await step('image', () => makeImage(release, strict));
  await step('npm package', async () => {
    const archive = await packPackage(release, await stagePackage(release));
    await tryPackage(release, archive);
    return path.basename(archive);
  });
  await step('push and checksums', async () => {
    const registry = dryRun ? release.registry : PROJECT.registry;
    const digests = [
      await copyImage(release, image, registry),
      await pushChart(release, path.join(release.out, chart), registry),
    ];
    await writeFile(path.join(release.out, 'digests.txt'), [...digests, ''].join('\n'));
    const assets = [...manifests, chart, 'digests.txt'];
    await writeChecksums(release.out, assets);
    await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: release.out });
    return digests.join(', ');
  });
}

/** @returns the names of the files */
async function writeManifests({ root, out }: Release): Promise<readonly string[]> {
  await copyFile(path.join(root, 'dist/install.yaml'), path.join(out, 'install.yaml'));
  const folder = path.join(root, 'dist/crds');
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
  await writeFile(path.join(out, 'crds.yaml'), texts.join('---\n'));
  return ['install.yaml', 'crds.yaml'];
}

/** Two archives must be one. @returns the name of the archive */
async function makeChart(release: Release): Promise<string> {
  const { root, out, scratch } = release;
  const helm = await helmOf(release);
  const chart = path.join(root, 'dist/chart');
  await helm.run('lint', '--strict', chart);
  const again = await mkdtemp(path.join(scratch, 'again-'));
  const name = await packageChart(helm, { chart, out, scratch });
  await packageChart(helm, { chart, out: again, scratch });
  const [sum, other] = await Promise.all([out, again].map((to) => sha256(path.join(to, name))));
  if (sum !== other) throw new Error(`two archives of the chart differ: ${sum}, ${other}`);
  return name;
}

/** Two builds from nothing must be one image. @returns its reference by digest */
async function makeImage(release: Release, strict: boolean): Promise<string> {
  const reachable = await isReachable(release.base);
  if (!reachable && strict) throw new Error(`base image ${release.base} cannot be read`);
  const base = reachable ? release.base : await standInBase(release);
  const digests: string[] = [];
  let image = '';
  for (const tag of ['once', release.version]) {
    image = await pushImage(release, { ...(await buildLayer(release, tag)), base, tag });
    digests.push(image.slice(image.indexOf('@')));
  }
  if (new Set(digests).size !== 1) throw new Error(`two builds differ: ${digests.join(', ')}`);
  await validateImage(image);
  const platforms = await platformsOf(image);
  const expected = ARCHITECTURES.map((name) => `linux/${name}`);
  if (platforms.join() !== expected.join()) throw new Error(`platforms: ${platforms.join(', ')}`);
  await saveImage(image, path.join(release.out, 'image'));
  return image;
}
