import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { ImageDefinition } from '../node/image.js';
import { keyOf } from './files.js';

/**
 * Debian's Redis; the operator starts it by its own script and uses nothing else of the official
 * image.
 */
export const redis: ImageDefinition = {
  name: 'redis:7.2-alpine',
  suite: 'bookworm',
  packages: ['redis-server'],
  key: keyOf([]),
  fill: async (overlay) => {
    await mkdir(path.join(overlay, 'data'), { recursive: true });
    await chmod(path.join(overlay, 'data'), 0o1777);
  },
  config: {
    Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    Cmd: ['redis-server'],
    WorkingDir: '/data',
    Volumes: { '/data': {} },
    ExposedPorts: { '6379/tcp': {} },
  },
};
