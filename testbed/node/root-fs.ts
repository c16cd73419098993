import { createHash } from 'node:crypto';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { cacheRoot } from '../controlplane/binaries.js';
import { withLock } from '../controlplane/lock.js';
import { type OnProgress, withProgress } from '../controlplane/progress.js';
import { run } from '../controlplane/run.js';
import { ensurePackages } from './machine.js';

const MIRROR = 'http://deb.debian.org/debian';
/** Left out, as in images of distributions: containers do not use them. */
const UNUSED = [
  'usr/share/doc/*',
  'usr/share/man/*',
  'usr/share/info/*',
  'usr/share/locale/*',
  'var/lib/apt/lists/*',
  'var/cache/apt/*',
  'var/log/*',
];

/**
 * A root file system of Debian with some packages, made once and kept in the cache; returns its
 * folder, which is read-only. Services of the packages are installed and never started.
 */
export async function ensureRootFs(
  suite: string,
  packages: readonly string[],
  onProgress?: OnProgress,
): Promise<string> {
  const base = await ensureFolder({
    suite,
    content: 'minimal',
    message: `debootstrap ${suite}`,
    onProgress,
    make: (folder) => bootstrap(suite, folder, onProgress),
  });
  if (packages.length === 0) return base;
  const wanted = [...packages].sort();
  return ensureFolder({
    suite,
    content: wanted.join(' '),
    message: `installing ${wanted.join(' ')}`,
    onProgress,
    make: (folder) => install(base, wanted, folder),
  });
}

interface CachedFolder {
  readonly suite: string;
  /** Names the content; part of the key of the cache. */
  readonly content: string;
  /** Of the progress. */
  readonly message: string;
  readonly onProgress: OnProgress | undefined;
  readonly make: (folder: string) => Promise<void>;
}

/** Makes a folder of the cache in one step: it exists with its whole content or not at all. */
async function ensureFolder(props: CachedFolder): Promise<string> {
  const { suite, content, message, onProgress, make } = props;
  const digest = createHash('sha256').update(`${content}\0${UNUSED.join()}`).digest('hex');
  const parent = path.join(cacheRoot(), 'images');
  const folder = path.join(parent, `${suite}-${digest.slice(0, 12)}`);
  await mkdir(parent, { recursive: true });
  await withLock(`${folder}.lock`, async () => {
    const exists = await access(folder).then(
      () => true,
      () => false,
    );
    if (exists) return;
    const draft = `${folder}.building`;
    await rm(draft, { recursive: true, force: true });
    await withProgress(message, onProgress, () => make(draft));
    await rename(draft, folder);
  });
  return folder;
}

async function bootstrap(suite: string, folder: string, onProgress?: OnProgress): Promise<void> {
  await ensurePackages(onProgress);
  await run('debootstrap', ['--variant=minbase', suite, folder, MIRROR]);
  // Packages start no services, and dpkg need not sync: an incomplete folder is deleted.
  await writeFile(path.join(folder, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', {
    mode: 0o755,
  });
  await writeFile(path.join(folder, 'etc/dpkg/dpkg.cfg.d/image'), 'force-unsafe-io\n');
  await writeFile(
    path.join(folder, 'etc/apt/apt.conf.d/image'),
    'APT::Install-Recommends "false";\n',
  );
  await removeUnused(folder);
}

async function install(base: string, packages: readonly string[], folder: string): Promise<void> {
  await run('cp', ['--archive', base, folder]);
  // Names are looked up as on this machine.
  await run('cp', ['--dereference', '/etc/resolv.conf', path.join(folder, 'etc/resolv.conf')]);
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const apt = (...args: readonly string[]): Promise<string> =>
    run('chroot', [folder, 'apt-get', '-qq', '--yes', ...args], { env: environment });
  await apt('update');
  await apt('install', ...packages);
  await removeUnused(folder);
}

async function removeUnused(folder: string): Promise<void> {
  // The shell expands the patterns.
  const script = `cd "$1" && rm -rf ${UNUSED.join(' ')}`;
  await run('sh', ['-ec', script, 'sh', folder]);
}
