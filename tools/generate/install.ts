import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATED, installManifest, installObjects } from '../../cli/commands/install/manifest.js';
import { toYaml } from '../../cli/io/yaml.js';
import { IMAGE_REPOSITORY } from '../../constructs/project.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { chartFiles } from './chart/chart.js';
import type { Files } from './output.js';
import { releaseOf } from './chart/changelog.js';
import { examplesOf } from './chart/examples.js';

/** `dist/install.yaml`, the base of kustomizations, and the chart. */
export function installFile(root: string, definitions: readonly KindDefinition[]): Files {
  const version = versionIn(root);
  const text = installManifest({ version, definitions });
  const { changes } = releaseOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const chart = chartFiles(
    {
      install: (props) => installObjects({ ...props, definitions }),
      yaml: (object) => toYaml([object]),
      repository: IMAGE_REPOSITORY,
    },
    { version, definitions, examples: examplesOf(root, definitions), changes },
  );
  return new Map([
    ['dist/install.yaml', GENERATED + text],
    ['dist/kustomization.yaml', GENERATED + KUSTOMIZATION],
    ...chart,
  ]);
}

/** The base of overlays: they replace the image, and patch what else differs. */
const KUSTOMIZATION = toYaml([
  {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: ['install.yaml'],
  },
]);

function versionIn(root: string): string {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
