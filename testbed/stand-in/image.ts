/**
 * TEST CODE: the framework's image for the end-to-end tests: what of Debian it needs, its files,
 * its configuration. It keeps the contract of `frappe/erpnext`; docs/contributing/stand-in-image.md lists
 * the limits.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageDefinition } from '../node/image.js';
import {
  type BenchContent,
  benchPackages,
  copyPrograms,
  fillBench,
  packageFolders,
} from './bench.js';
import { sourcesHash } from './sources.js';

export const BENCH = '/home/frappe/frappe-bench';
export const UID = 1000;

/**
 * Versions with a difference in their patches: a migrate from the first to the second changes the
 * schema.
 */
export const VERSIONS = { first: '15.44.2', second: '15.45.0', next: '16.0.0' } as const;

export interface FrappeImageProps {
  /** Full name with its tag, e.g. `docker.io/frappe/erpnext:version-15`. */
  readonly name: string;
  /** @default the first of VERSIONS */
  readonly version?: string;
  /** Apps besides frappe → their versions. @default erpnext */
  readonly apps?: Readonly<Record<string, string>>;
}

/**
 * The test image of one version of the framework. `fill` uses pip and npm, and caches what they fetched.
 */
export function frappeImage(props: FrappeImageProps): ImageDefinition {
  const version = props.version ?? VERSIONS.first;
  const content: BenchContent = {
    version,
    apps: props.apps ?? { erpnext: '15.40.0' },
    python: { version: '3.11', program: '/usr/bin/python3' },
  };
  return {
    name: props.name,
    suite: 'bookworm',
    packages: [
      'bash',
      'ca-certificates',
      'curl',
      'file',
      'gpg',
      'jq',
      'less',
      'mariadb-client',
      'nginx-light',
      'nodejs',
      'postgresql-client',
      'python3',
      'wait-for-it',
    ],
    key: createHash('sha256').update(JSON.stringify(content)).update(sourcesHash()).digest('hex'),
    fill: async (overlay, base) => {
      addUser(overlay, base);
      const folder = path.join(overlay, BENCH);
      const packages = await benchPackages(content);
      fillBench(folder, BENCH, content);
      for (const [from, to] of packageFolders(folder, content, packages)) {
        cpSync(from, to, { recursive: true });
      }
      copyPrograms(path.join(overlay, 'usr/local/bin'));
      // Pods may run as any uid, whatever the umask was that wrote this.
      execFileSync('chmod', ['-R', 'go=u,go-w', overlay]);
      if (process.getuid?.() === 0) {
        execFileSync('chown', [
          '-R',
          `${String(UID)}:${String(UID)}`,
          path.join(overlay, 'home/frappe'),
        ]);
      }
    },
    config: {
      User: 'frappe',
      WorkingDir: BENCH,
      Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'LANG=C.UTF-8'],
      Entrypoint: ['/usr/local/bin/entrypoint.sh'],
      Cmd: ['start.sh'],
      Volumes: { [`${BENCH}/sites`]: {}, [`${BENCH}/logs`]: {} },
      ExposedPorts: { '8000/tcp': {}, '8080/tcp': {}, '9000/tcp': {} },
    },
  };
}

/** What `useradd -m -u 1000 frappe` writes. */
function addUser(overlay: string, base: string): void {
  const id = String(UID);
  mkdirSync(path.join(overlay, 'etc'), { recursive: true });
  for (const [file, line] of [
    ['etc/passwd', `frappe:x:${id}:${id}::/home/frappe:/bin/bash`],
    ['etc/group', `frappe:x:${id}:`],
  ] as const) {
    const text = readFileSync(path.join(base, file), 'utf8');
    writeFileSync(path.join(overlay, file), `${text.trimEnd()}\n${line}\n`);
  }
}
