import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { run } from '../controlplane/run.js';

/** What containers of an image run, in the words of the OCI image specification. */
export interface ImageConfig {
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly Volumes?: Readonly<Record<string, Readonly<Record<string, never>>>>;
  readonly ExposedPorts?: Readonly<Record<string, Readonly<Record<string, never>>>>;
  readonly Labels?: Readonly<Record<string, string>>;
}

export interface ImageSpec {
  /** Reference, such as `redis:7.2-alpine`; short ones mean Docker Hub, as everywhere. */
  readonly name: string;
  /** Further references to the same image. Default: none. */
  readonly aliases?: readonly string[];
  /**
   * Folders, each with the files of one layer; the last is on top. Owners and modes are kept, but
   * those of the folder itself.
   */
  readonly layers: readonly string[];
  readonly config: ImageConfig;
}

const OCI = 'application/vnd.oci.image.';
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Writes an image as an OCI archive, a tar that `ctr images import` takes, in one step. */
export async function buildImage(spec: ImageSpec, archive: string): Promise<void> {
  await mkdir(path.dirname(archive), { recursive: true });
  const layout = await mkdtemp(`${archive}.building-`);
  try {
    await writeLayout(spec, layout);
    await tar(layout, `${layout}.tar`);
    await rename(`${layout}.tar`, archive);
  } finally {
    await rm(layout, { recursive: true, force: true });
    await rm(`${layout}.tar`, { force: true });
  }
}

/** The full form of a reference: `docker.io/library/redis:7.2-alpine`. */
export function fullReference(name: string): string {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`;
}

async function writeLayout(
  { name, aliases = [], layers, config }: ImageSpec,
  layout: string,
): Promise<void> {
  const blobs = path.join(layout, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const descriptors: Descriptor[] = [];
  for (const folder of layers) descriptors.push(await layerBlob(folder, blobs));
  const platform = { architecture: ARCHITECTURES[process.arch] ?? process.arch, os: 'linux' };
  const configBlob = await jsonBlob(blobs, `${OCI}config.v1+json`, {
    ...platform,
    config,
    // Layers are not compressed: the digest of the blob is that of its content.
    rootfs: { type: 'layers', diff_ids: descriptors.map(({ digest }) => digest) },
  });
  const manifest = await jsonBlob(blobs, `${OCI}manifest.v1+json`, {
    schemaVersion: 2,
    mediaType: `${OCI}manifest.v1+json`,
    config: configBlob,
    layers: descriptors,
  });
  const manifests = [name, ...aliases].map((reference) => ({
    ...manifest,
    platform,
    annotations: { 'io.containerd.image.name': fullReference(reference) },
  }));
  const index = { schemaVersion: 2, manifests };
  await writeFile(path.join(layout, 'index.json'), JSON.stringify(index));
  await writeFile(path.join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

async function layerBlob(folder: string, blobs: string): Promise<Descriptor> {
  const draft = path.join(blobs, 'draft');
  await tar(folder, draft);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(draft, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer);
  }
  const digest = hash.digest('hex');
  const { size } = await stat(draft);
  await rename(draft, path.join(blobs, digest));
  return { mediaType: `${OCI}layer.v1.tar`, digest: `sha256:${digest}`, size };
}

async function jsonBlob(blobs: string, mediaType: string, value: unknown): Promise<Descriptor> {
  const text = JSON.stringify(value);
  const digest = createHash('sha256').update(text).digest('hex');
  await writeFile(path.join(blobs, digest), text);
  return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
}

/** What is in the folder, without the folder itself: its mode is that of a temporary one. */
async function tar(folder: string, file: string): Promise<void> {
  const options = ['--numeric-owner', '--sort=name', '--xattrs', '--format=pax'];
  const content = await run('find', [
    folder,
    '-mindepth',
    '1',
    '-maxdepth',
    '1',
    '-printf',
    '%P\\n',
  ]);
  await run('tar', [...options, '-C', folder, '-cf', file, '--files-from=-'], { input: content });
}
