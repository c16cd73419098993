import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';

import { cacheRoot } from '../controlplane/binaries.js';
import { withLock } from '../controlplane/lock.js';
import { type OnProgress, withProgress } from '../controlplane/progress.js';
import { buildImage, type ImageConfig } from './oci.js';
import { ensureRootFs } from './root-fs.js';

/** Longer than a run takes between building an image and unpacking it. */
const KEPT_MS = 15 * 60_000;

/** The content of an image: Debian packages, and files on top. */
export interface ImageDefinition {
  /** Reference that pods name it by. */
  readonly name: string;
  /** Further references to the same image. Default: none. */
  readonly aliases?: readonly string[];
  /** Debian's release. */
  readonly suite: string;
  /** Its packages, besides a minimal system. */
  readonly packages: readonly string[];
  /** Changes with whatever `fill` writes. */
  readonly key: string;
  /**
   * Writes the image's own files into `overlay`, which stands for `/` on top of `base`, the root
   * file system with the packages. Owners and modes are kept.
   */
  readonly fill: (overlay: string, base: string) => Promise<void>;
  readonly config: ImageConfig;
}

/**
 * Builds an image once, and returns the path of its OCI archive in the cache (`images/` below the
 * folder of the binaries). Needs root and Debian's mirror, unless the cache has it.
 */
export async function ensureImage(
  definition: ImageDefinition,
  onProgress?: OnProgress,
): Promise<string> {
  const { name, aliases = [], suite, packages, key, fill, config } = definition;
  const images = path.join(cacheRoot(), 'images');
  const parts = JSON.stringify([name, aliases, suite, packages, key, config]);
  const digest = createHash('sha256').update(parts).digest('hex').slice(0, 12);
  const archive = path.join(images, `${name.replace(/[^a-z0-9.]+/gi, '-')}_${digest}.tar`);
  await mkdir(images, { recursive: true });
  await removeOld(images, archive);
  await withLock(`${archive}.lock`, async () => {
    const now = new Date();
    // Says when it was last used.
    if (await exists(archive)) return utimes(archive, now, now);
    const base = await ensureRootFs(suite, packages, onProgress);
    await withProgress(`building the image ${name}`, onProgress, async () => {
      const overlay = await mkdtemp(path.join(images, 'overlay-'));
      try {
        await fill(overlay, base);
        await buildImage({ name, aliases, layers: [base, overlay], config }, archive);
      } finally {
        await rm(overlay, { recursive: true, force: true });
      }
    });
  });
  return archive;
}

/** Removes what was built for this name from other files, and not used for a while. */
async function removeOld(images: string, archive: string): Promise<void> {
  const name = path.basename(archive).replace(/_[^_]*$/, '_');
  for (const file of await readdir(images)) {
    const old = path.join(images, file);
    if (!file.startsWith(name) || !file.endsWith('.tar') || old === archive) continue;
    // Another process may have removed it meanwhile.
    const found = await stat(old).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > KEPT_MS) await rm(old, { force: true });
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
