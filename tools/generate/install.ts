import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { chartFiles } from './chart/files.js';
import type { Files } from './output.js';

/**
 * `dist/install.yaml` and the chart. What makes it imports every kind, so it is imported late, as
 * these are.
 */
export async function installFile(
  root: string,
  definitions: readonly KindDefinition[],
): Promise<Files> {
  const { GENERATED, installManifest, installObjects } =
    await import('../../cli/commands/install/manifest.js');
  const { IMAGE_REPOSITORY } = await import('../../constructs/install/identity.js');
  const { toYaml } = await import('../../cli/io/yaml.js');
  const version = versionIn(root);
  const text = installManifest({ version, definitions });
  const chart = chartFiles(
    {
      install: (props) => installObjects({ ...props, definitions }),
      yaml: (object) => toYaml([object]),
      repository: IMAGE_REPOSITORY,
    },
    version,
  );
  return new Map([['dist/install.yaml', GENERATED + text], ...chart]);
}

function versionIn(root: string): string {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
