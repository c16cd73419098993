import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATED, installManifest, installObjects } from '../../cli/commands/install/manifest.js';
import { toYaml } from '../../cli/io/yaml.js';
import { IMAGE_REPOSITORY } from '../../constructs/install/identity.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { chartFiles } from './chart/files.js';
import type { Files } from './output.js';

/** `dist/install.yaml` and the chart. */
export function installFile(root: string, definitions: readonly KindDefinition[]): Files {
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
