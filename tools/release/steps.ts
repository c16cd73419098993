import { copyFile, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PROJECT } from '../../constructs/project.js';
import { numberedSteps, printProgress, type RunStep } from '../../testbed/controlplane/progress.js';
import { run } from '../../testbed/controlplane/run.js';
import { Findings } from './accepted.js';
import { packageChart } from './chart.js';
import {
  helmOf,
  lintChart,
  lintForHub,
  lintWorkflows,
  scoreManifest,
  validateBundle,
  validateManifests,
} from './checks.js';
import {
  ARCHITECTURES,
  buildLayer,
  isReachable,
  platformsOf,
  pushBundle,
  type PushedImage,
  pushImage,
  saveImage,
  standInBase,
  validateImage,
} from './image.js';
import { PLUGIN, tryPlugin, writeKrewArchive, writeKrewManifest } from './krew.js';
import { bundleFiles } from './olm-bundle.js';
import { packPackage, stagePackage, tryPackage } from './package.js';
import { attest, copyImage, pushChart, rehearsalSigner, sign, workflowSigner } from './publish.js';
import { type Release, sha256, type Summary, writeChecksums } from './release.js';
import { SBOM, validateSbom, writeSbom } from './sbom.js';
import { ToolMissing } from './tools.js';

export interface Options {
  /** Whether the registry of this machine stands for the real one. */
  readonly dryRun: boolean;
  /** Whether a check that is left out fails the release. */
  readonly strict: boolean;
}

type Work = () => Promise<Summary>;

/** Runs steps in order, and prints one line for each. A step that is left out names its reason. */
class Progress {
  readonly left: string[] = [];
  readonly failed: string[] = [];
  readonly #run: RunStep;

  constructor(steps: number) {
    this.#run = numberedSteps(steps, printProgress);
  }

  /** @returns whether the step has succeeded */
  async step(name: string, work: Work): Promise<boolean> {
    const start = performance.now();
    try {
      const summary = await this.#run(name, work);
      this.#print('ok', name, summary, start);
      return true;
    } catch (error) {
      const left = error instanceof ToolMissing;
      this.#print(left ? 'LEFT OUT' : 'FAILED', name, (error as Error).message, start);
      (left ? this.left : this.failed).push(name);
      return false;
    }
  }

  #print(state: string, name: string, text: string, start: number): void {
    const seconds = ((performance.now() - start) / 1000).toFixed(1).padStart(6);
    console.log(`${seconds} s  ${state.padEnd(8)}  ${name}: ${text}`);
  }
}

/** What one step makes for later ones. */
interface Made {
  image?: PushedImage;
  bundle?: PushedImage;
  /** Folder of the program in the image, with its dependencies. */
  app?: string;
  chart?: string;
  /** References by digest: the image first. */
  pushed?: readonly string[];
  readonly assets: string[];
}

/** @returns the exit code */
export async function runSteps(release: Release, { dryRun, strict }: Options): Promise<number> {
  const findings = new Findings();
  const made: Made = { assets: [] };
  const all: readonly (readonly [string, Work])[] = [
    ...manifestSteps(release, findings, made),
    ...imageSteps(release, strict, made),
    ...packageSteps(release, findings, made),
    ['ah lint', () => lintPackages(release)],
    ...publishSteps(release, dryRun, made),
    ['kept findings', () => keptFindings(findings)],
    ['checksums', () => checksums(release, made)],
  ];
  const progress = new Progress(all.length);
  for (const [name, work] of all) {
    const passed = await progress.step(name, work);
    if (!passed && !dryRun) return 1;
  }
  return report(progress, strict);
}

function report({ failed, left }: Progress, strict: boolean): number {
  if (left.length > 0) console.log(`left out: ${left.join(', ')}`);
  if (failed.length > 0) console.log(`failed: ${failed.join(', ')}`);
  return failed.length > 0 || (strict && left.length > 0) ? 1 : 0;
}

function manifestSteps(
  release: Release,
  findings: Findings,
  made: Made,
): (readonly [string, Work])[] {
  return [
    ['manifests', () => writeManifests(release, made)],
    ['chart', () => makeChart(release, made)],
    ['actionlint', lintWorkflows],
    ['helm lint', () => lintChart(release, findings)],
    ['kubeconform', () => validateManifests(release, findings)],
    ['kube-score', () => scoreManifest(release, findings)],
  ];
}

function imageSteps(release: Release, strict: boolean, made: Made): (readonly [string, Work])[] {
  return [
    ['image', () => makeImage(release, strict, made)],
    [
      'SBOM',
      async () => {
        await writeSbom(release);
        made.assets.push(SBOM);
        return `${await validateSbom(release)} packages, valid SPDX 2.3`;
      },
    ],
  ];
}

function packageSteps(
  release: Release,
  findings: Findings,
  made: Made,
): (readonly [string, Work])[] {
  return [
    ['OLM bundle', () => makeBundle(release, findings, made)],
    ['Krew', () => makePlugin(release, made)],
    [
      'npm package',
      async () => {
        const archive = await packPackage(release, await stagePackage(release));
        await tryPackage(release, archive);
        return `${path.basename(archive)}, installed, compiled against and run`;
      },
    ],
  ];
}

function publishSteps(release: Release, dryRun: boolean, made: Made): (readonly [string, Work])[] {
  return [
    ['push', () => push(release, dryRun ? release.registry : PROJECT.registry, made)],
    [
      'signatures',
      async () => {
        const signer = dryRun ? await rehearsalSigner(release) : workflowSigner(release.version);
        const pushed = required(made.pushed, 'push');
        for (const reference of pushed) await sign(reference, signer);
        const [image = ''] = pushed;
        await attest(image, path.join(release.out, SBOM), signer);
        return `${pushed.length} artifacts signed and verified, and the SBOM of the image`;
      },
    ],
  ];
}

/** Pushes the image, the bundle and the chart, and writes their digests for the workflow. */
async function push(release: Release, registry: string, made: Made): Promise<Summary> {
  const image = await copyImage(release, required(made.image, 'image'), registry);
  const bundle = await copyImage(release, required(made.bundle, 'bundle'), registry);
  const chart = await pushChart(release, required(made.chart, 'chart'), registry);
  made.pushed = [image, bundle, chart];
  await writeFile(path.join(release.out, 'digests.txt'), [...made.pushed, ''].join('\n'));
  made.assets.push('digests.txt');
  return `image, bundle and chart, to ${registry}`;
}

async function writeManifests({ root, out }: Release, made: Made): Promise<Summary> {
  await copyFile(path.join(root, 'dist/install.yaml'), path.join(out, 'install.yaml'));
  const folder = path.join(root, 'dist/crds');
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
  await writeFile(path.join(out, 'crds.yaml'), texts.join('---\n'));
  made.assets.push('install.yaml', 'crds.yaml');
  return `install.yaml, crds.yaml with ${names.length} CRDs`;
}

/** Two archives must be one. */
async function makeChart(release: Release, made: Made): Promise<Summary> {
  const { root, out, scratch } = release;
  const helm = await helmOf(release);
  const chart = path.join(root, 'dist/chart');
  const again = await mkdtemp(path.join(scratch, 'again-'));
  const name = await packageChart(helm, { chart, out, scratch });
  await packageChart(helm, { chart, out: again, scratch });
  const [sum, other] = await Promise.all([out, again].map((to) => sha256(path.join(to, name))));
  if (sum !== other) throw new Error(`two archives of the chart differ: ${sum}, ${other}`);
  made.chart = path.join(out, name);
  made.assets.push(name);
  return `${name}; two archives, one sum`;
}

/** Two builds from nothing must be one image. */
async function makeImage(release: Release, strict: boolean, made: Made): Promise<Summary> {
  const reachable = await isReachable(release.base);
  if (!reachable && strict) throw new Error(`base image ${release.base} cannot be read`);
  const base = reachable ? release.base : await standInBase(release);
  const images: PushedImage[] = [];
  for (const tag of ['once', 'again']) {
    const { layer, build } = await buildLayer(release, tag);
    images.push(await pushImage(release, { layer, build, base, tag }));
    made.app = path.join(build.folder, 'app');
    if (tag === 'again')
      images.push(await pushImage(release, { layer, build, base, tag: release.version }));
  }
  const digests = new Set(images.map(({ digest }) => digest));
  if (digests.size !== 1) throw new Error(`two builds differ: ${[...digests].join(', ')}`);
  const image = required(images.at(-1), 'image');
  await validateImage(image);
  const platforms = await platformsOf(image);
  const expected = ARCHITECTURES.map((name) => `linux/${name}`);
  if (platforms.join() !== expected.join()) throw new Error(`platforms: ${platforms.join(', ')}`);
  await saveImage(image, path.join(release.out, 'image'));
  made.image = image;
  const on = reachable ? '' : ', on a stand-in: the registry of the base cannot be reached';
  return `${platforms.join(', ')}; two builds, one digest ${image.digest}${on}`;
}

async function makeBundle(release: Release, findings: Findings, made: Made): Promise<Summary> {
  const { root, out, version, date } = release;
  const folder = path.join(out, 'olm', PROJECT.name, version);
  for (const [name, text] of bundleFiles({ root, version, date })) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  made.bundle = await pushBundle(release, folder);
  return validateBundle(folder, findings);
}

/** Each package in the place where Artifact Hub looks for its kind. */
async function lintPackages({ root, out, scratch }: Release): Promise<Summary> {
  const plugins = path.join(scratch, 'krew-index', 'plugins');
  await mkdir(plugins, { recursive: true });
  await copyFile(path.join(out, `${PLUGIN}.yaml`), path.join(plugins, `${PLUGIN}.yaml`));
  await lintForHub('helm', path.join(root, 'dist', 'chart'));
  await lintForHub('olm', path.join(out, 'olm'));
  await lintForHub('krew', path.dirname(plugins));
  return 'the chart, the bundle and the plug-in can be listed';
}

async function makePlugin(release: Release, made: Made): Promise<Summary> {
  const archive = await writeKrewArchive(release, required(made.app, 'image'));
  const manifest = await writeKrewManifest(release, archive);
  made.assets.push(archive, manifest);
  await tryPlugin(release, { archive, manifest });
  return `kubectl ${PLUGIN} installed by Krew, and run`;
}

/** The list of kept findings has no entry that no linter reports any more. */
function keptFindings(findings: Findings): Promise<Summary> {
  const unused = findings.unused().map(({ tool, finding }) => `${tool}: ${finding.source}`);
  if (unused.length > 0) throw new Error(`no longer reported: ${unused.join(', ')}`);
  return Promise.resolve('each is still reported');
}

async function checksums({ out }: Release, { assets }: Made): Promise<Summary> {
  await writeChecksums(out, assets);
  await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: out });
  return `${assets.length} files`;
}

function required<T>(value: T | undefined, step: string): T {
  if (value === undefined) throw new Error(`${step} is missing`);
  return value;
}
