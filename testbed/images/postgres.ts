import { appendFile, chmod, copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { ImageDefinition } from '../node/image.js';
import { copyFiles, type ImageFile, keyOf } from './files.js';

const VERSION = '15';
const SAMPLE = `usr/share/postgresql/${VERSION}/postgresql.conf.sample`;
const LISTEN = "listen_addresses = '*'\n";

const FILES: readonly ImageFile[] = [
  {
    source: 'postgres/docker-entrypoint.sh',
    target: 'usr/local/bin/docker-entrypoint.sh',
    mode: 0o755,
  },
];

/** Debian's PostgreSQL with the contract of the official image. */
export const postgres: ImageDefinition = {
  name: 'postgres:15',
  suite: 'bookworm',
  packages: ['libnss-wrapper', `postgresql-${VERSION}`],
  key: keyOf(FILES, SAMPLE, LISTEN),
  fill: async (overlay, base) => {
    await copyFiles(FILES, overlay);
    await mkdir(path.join(overlay, path.dirname(SAMPLE)), { recursive: true });
    await copyFile(path.join(base, SAMPLE), path.join(overlay, SAMPLE));
    await appendFile(path.join(overlay, SAMPLE), LISTEN);
    for (const folder of ['var/lib/postgresql/data', 'run/postgresql']) {
      await mkdir(path.join(overlay, folder), { recursive: true });
      await chmod(path.join(overlay, folder), 0o1777);
    }
  },
  config: {
    Env: [
      `PATH=/usr/lib/postgresql/${VERSION}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      'LANG=C.UTF-8',
      'PGDATA=/var/lib/postgresql/data',
    ],
    Entrypoint: ['docker-entrypoint.sh'],
    Cmd: ['postgres'],
    Volumes: { '/var/lib/postgresql/data': {} },
    ExposedPorts: { '5432/tcp': {} },
  },
};
