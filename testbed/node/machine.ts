import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';

import { type OnProgress, withProgress } from '../controlplane/progress.js';
import { run } from '../controlplane/run.js';

/** What a node needs of Debian: a file, and the package that has it. */
const PACKAGES: readonly (readonly [file: string, name: string])[] = [
  ['containerd', 'containerd'],
  ['runc', 'runc'],
  ['/usr/lib/cni/host-local', 'containernetworking-plugins'],
  ['iptables', 'iptables'],
  ['ipset', 'ipset'],
  ['nft', 'nftables'],
  ['conntrack', 'conntrack'],
  ['ip', 'iproute2'],
  ['nsenter', 'util-linux'],
  ['debootstrap', 'debootstrap'],
  ['tar', 'tar'],
];

/** Why this machine cannot run a real node; undefined where it can. */
export function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'a node needs Linux';
  if (process.getuid?.() !== 0) return 'a node needs root';
  if (!existsSync('/etc/debian_version')) {
    return 'the programs of a node and of its images come from Debian packages, and this is no Debian';
  }
  if (spawnSync('unshare', ['--net', '--mount', 'true']).status !== 0) {
    return 'no network or mount namespaces can be made here';
  }
  if (!isWritable('/sys/fs/cgroup')) return 'the control groups are read-only here';
  const missing = missingPackages();
  if (missing.length > 0 && find('apt-get') === undefined) {
    return `there is no apt-get to install ${missing.join(', ')}`;
  }
  return undefined;
}

/** Installs the Debian packages that are missing. */
export async function ensurePackages(onProgress?: OnProgress): Promise<void> {
  const missing = missingPackages();
  if (missing.length === 0) return;
  await withProgress(`installing ${missing.join(' ')}`, onProgress, async () => {
    await run('apt-get', ['update', '-qq']);
    const install = ['install', '--yes', '-qq', '--no-install-recommends', ...missing];
    // We run our own: nothing that the packages bring is started as a service.
    await run('apt-get', install, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    });
  });
}

function missingPackages(): string[] {
  return PACKAGES.filter(([file]) => find(file) === undefined).map(([, name]) => name);
}

/** Path of a program; administrators' folders count also where they are not on the PATH. */
function find(file: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  const candidates = path.isAbsolute(file) ? [file] : folders.map((f) => path.join(f, file));
  return candidates.find((candidate) => existsSync(candidate));
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
