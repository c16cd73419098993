import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PROJECT, SOURCE_URL } from '../../constructs/project.js';
import { run } from '../../testbed/controlplane/run.js';
import { type Build, buildDockerfile } from '../../testbed/images/dockerfile.js';
import type { Release } from './release.js';
import { writeTar, writeTarGz } from './tar.js';
import { ensureTool } from './external-tools.js';

export const ARCHITECTURES = ['amd64', 'arm64'] as const;

/** A path in a release's registry in place of the real one. */
function local({ registry }: Release, repository: string): string {
  return `${registry}/${repository.slice(repository.indexOf('/') + 1)}`;
}

/** Runs crane, and returns its last line: the reference by digest of what it has pushed. */
async function crane(...args: readonly string[]): Promise<string> {
  const output = await run(await ensureTool('crane'), args);
  return output.trim().split('\n').at(-1) ?? '';
}

/** The image that the Dockerfile names as base. @throws Error where it is not named by digest */
export function baseOf(dockerfile: string): string {
  const base = /^ARG NODE_IMAGE=(\S+@sha256:[0-9a-f]{64})$/m.exec(dockerfile)?.[1];
  if (base === undefined) throw new Error('Dockerfile: NODE_IMAGE is not an image by digest');
  return base;
}

/**
 * A base for the rehearsal, where no registry can be reached: one layer, the same for each architecture. The
 * tests on a real node run the program of this Dockerfile on a base that has Node.js.
 */
export async function standInBase(release: Release): Promise<string> {
  const folder = await mkdtemp(path.join(release.scratch, 'base-'));
  await mkdir(path.join(folder, 'etc'));
  await writeFile(path.join(folder, 'etc/os-release'), 'ID=stand-in\n');
  const layer = path.join(release.scratch, 'base.tar');
  await writeTar(layer, folder, ['.']);
  const repository = local(release, 'registry.example.com/base');
  const references: string[] = [];
  for (const architecture of ARCHITECTURES) {
    const to = `${repository}:${architecture}`;
    await crane('append', '--oci-empty-base', '--new_layer', layer, '--new_tag', to);
    const platform = `linux/${architecture}`;
    references.push(await crane('mutate', to, '--set-platform', platform, '--tag', to));
  }
  return index(`${repository}:stand-in`, references);
}

/** Whether a registry answers with the image. */
export async function isReachable(image: string): Promise<boolean> {
  return crane('manifest', image).then(
    () => true,
    () => false,
  );
}

/**
 * Builds what the Dockerfile says from nothing, as one layer for every architecture.
 * @throws Error where a file is of one architecture only
 */
export async function buildLayer(
  release: Release,
  name: string,
): Promise<{ readonly layer: string; readonly build: Build }> {
  const cache = await mkdtemp(path.join(release.scratch, 'steps-'));
  const build = await buildDockerfile(release.root, cache);
  const native = await run('find', [build.folder, '-name', '*.node', '-o', '-name', '*.so*']);
  if (native !== '') throw new Error(`image: files of one architecture only: ${native}`);
  const layer = path.join(release.scratch, `${name}.tar.gz`);
  await writeTarGz(layer, build.folder, ['.']);
  return { layer, build };
}

/** Pushes the image for each architecture, and an index of them. @returns its reference by digest */
export async function pushImage(
  release: Release,
  {
    layer,
    build,
    base,
    tag,
  }: {
    readonly layer: string;
    readonly build: Build;
    readonly base: string;
    readonly tag: string;
  },
): Promise<string> {
  const repository = local(release, `${PROJECT.registry}/${PROJECT.owner}/${PROJECT.name}`);
  const references: string[] = [];
  for (const architecture of ARCHITECTURES) {
    const to = `${repository}:${tag}-${architecture}`;
    const platform = ['--platform', `linux/${architecture}`];
    const append = ['append', '--base', base, ...platform, '--new_layer', layer];
    const appended = await crane(...append, '--new_tag', to);
    references.push(await crane('mutate', appended, ...configFlags(release, build), '--tag', to));
  }
  return index(`${repository}:${tag}`, references);
}

/** Checks each blob and digest of an image. */
export async function validateImage(image: string): Promise<void> {
  await crane('validate', '--remote', image);
}

/** The architectures of an index. */
export async function platformsOf(image: string): Promise<readonly string[]> {
  const manifest = JSON.parse(await run(await ensureTool('crane'), ['manifest', image])) as {
    readonly manifests: readonly { readonly platform: Readonly<Record<string, string>> }[];
  };
  return manifest.manifests.map(({ platform }) => `${platform['os']}/${platform['architecture']}`);
}

/** Copies an image from the registry of this machine. @returns its reference by digest */
export async function copyImage(
  release: Release,
  image: string,
  registry: string,
): Promise<string> {
  const to = image.replace(release.registry, registry);
  const tagged = to.replace(/@.*/, `:${release.version}`);
  if (to !== image) await crane('copy', image, tagged);
  return to;
}

/** Writes an image as an OCI layout. */
export async function saveImage(image: string, folder: string): Promise<void> {
  await crane('pull', '--format', 'oci', image, folder);
}

async function index(tag: string, references: readonly string[]): Promise<string> {
  const manifests = references.flatMap((reference) => ['--manifest', reference]);
  return crane('index', 'append', ...manifests, '--tag', tag);
}

function configFlags({ version, base }: Release, { config }: Build): string[] {
  const labels = {
    title: PROJECT.name,
    description: PROJECT.description,
    licenses: PROJECT.license,
    version,
    source: SOURCE_URL,
    'base.name': base,
  };
  return [
    ...(config.Env ?? []).flatMap((variable) => ['--env', variable]),
    ...Object.entries(labels).flatMap(([name, value]) => [
      '--label',
      `org.opencontainers.image.${name}=${value}`,
    ]),
    ...['--user', config.User ?? '', '--workdir', config.WorkingDir ?? '/'],
    ...['--entrypoint', (config.Entrypoint ?? []).join(',')],
    ...['8443', '8081'].flatMap((port) => ['--exposed-ports', `${port}/tcp`]),
  ];
}
