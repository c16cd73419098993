import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { ImageDefinition } from '../node/image.js';
import { addUser, copyFiles, type ImageFile, keyOf } from './files.js';

const FILES: readonly ImageFile[] = [
  {
    source: 'mariadb/docker-entrypoint.sh',
    target: 'usr/local/bin/docker-entrypoint.sh',
    mode: 0o755,
  },
  { source: 'mariadb/healthcheck.sh', target: 'usr/local/bin/healthcheck.sh', mode: 0o755 },
  { source: 'mariadb/server.cnf', target: 'etc/mysql/mariadb.conf.d/99-image.cnf', mode: 0o644 },
];

/** Debian's MariaDB with the contract of the official image. */
export const mariadb: ImageDefinition = {
  name: 'mariadb:10.11',
  suite: 'bookworm',
  packages: ['mariadb-client', 'mariadb-server-core'],
  key: keyOf(FILES),
  fill: async (overlay, base) => {
    await copyFiles(FILES, overlay);
    await addUser(overlay, base, { name: 'mysql', id: 999, home: '/nonexistent' });
    for (const folder of ['var/lib/mysql', 'run/mysqld']) {
      await mkdir(path.join(overlay, folder), { recursive: true });
      // Any user may run it, as in the official image.
      await chmod(path.join(overlay, folder), 0o1777);
    }
  },
  config: {
    Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'LANG=C.UTF-8'],
    Entrypoint: ['docker-entrypoint.sh'],
    Cmd: ['mariadbd'],
    Volumes: { '/var/lib/mysql': {} },
    ExposedPorts: { '3306/tcp': {} },
  },
};
