import { realpathSync } from 'node:fs';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { ImageDefinition } from '../node/image.js';
import { run } from '../controlplane/run.js';
import { projectRoot } from '../project-root.js';
import { buildDockerfile } from './dockerfile.js';

/** What the tests install in place of the image that `dist/install.yaml` names. */
export const OPERATOR_IMAGE = 'app-operator:e2e';

/** The operator's image: as in the repository's Dockerfile, on Debian with this Node.js. */
export async function operator(): Promise<ImageDefinition> {
  const { folder, config } = await buildDockerfile(projectRoot());
  return {
    name: OPERATOR_IMAGE,
    suite: 'bookworm',
    packages: ['ca-certificates', 'libstdc++6'],
    key: `${path.basename(folder)} ${process.version}`,
    fill: async (overlay) => {
      await run('cp', ['--archive', '--no-target-directory', folder, overlay]);
      const program = path.join(overlay, 'usr/local/bin/node');
      await mkdir(path.dirname(program), { recursive: true });
      await copyFile(realpathSync(process.execPath), program);
      await chmod(program, 0o755);
    },
    config: {
      ...config,
      Env: [
        'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        ...(config.Env ?? []),
      ],
    },
  };
}
