import { chmod, copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { Binaries } from '../controlplane/binaries.js';
import type { ImageDefinition } from '../node/image.js';
import { KEDA_PROGRAMS, type KedaProgram } from '../keda/keda.js';

export const KEDA_IMAGE = 'keda:e2e';

/** KEDA's programs, built from its Go module, as `/keda-operator` and `/keda-adapter`. */
export function kedaImage(programs: Binaries<KedaProgram>): ImageDefinition {
  return {
    name: KEDA_IMAGE,
    suite: 'bookworm',
    packages: ['ca-certificates'],
    // The folder's name has the version and the digest of all pins.
    key: path.basename(path.dirname(programs.operator)),
    fill: async (overlay) => {
      await mkdir(overlay, { recursive: true });
      for (const program of KEDA_PROGRAMS) {
        const file = path.join(overlay, `keda-${program}`);
        await copyFile(programs[program], file);
        await chmod(file, 0o755);
      }
    },
    config: { Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'], Cmd: ['/keda-operator'] },
  };
}
