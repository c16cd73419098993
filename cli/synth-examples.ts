/** The install manifest, and a preview of the custom resources in `examples/`: one file each. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ApiObject, type ApiObjectProps, App, Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { InstallChart } from '../constructs/install/chart.js';
import { IMAGE_REPOSITORY } from '../constructs/install/identity.js';
import { nameOf } from '../constructs/preview/manifest-error.js';
import { preview, type Preview } from '../constructs/preview/preview.js';
import { VERSION } from '../runner/version.js';
import { GENERATED, installManifest } from './commands/install/manifest.js';
import { readManifests } from './io/manifest-files.js';

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));

/** The children of custom resources, in a chart. */
class PreviewChart extends Chart {
  constructor(scope: Construct, id: string, { objects }: Preview) {
    super(scope, id, { disableResourceNameHashes: true });
    for (const object of objects) {
      const { name, namespace } = object.metadata;
      const props = object as unknown as ApiObjectProps;
      new ApiObject(this, [object.kind, namespace, name].join('-'), props);
    }
  }
}

/** @throws Error listing the problems of the examples */
function examples(): Preview {
  const { objects, problems } = readManifests([EXAMPLES], true);
  const manifests = new Map(objects.map((manifest) => [manifest.object, manifest]));
  const result = preview([...manifests.keys()]);
  const found = result.problems.map(
    ({ object, path, message }) =>
      `${manifests.get(object)?.at(path) ?? ''}: ${nameOf(object)}: ${path}: ${message}`,
  );
  if (problems.length + found.length > 0) throw new Error([...problems, ...found].join('\n'));
  return result;
}

/** @param manifestFile receives the install manifest as it is committed */
export function synthExamples(manifestFile: string | undefined): void {
  const app = new App();
  new InstallChart(app, 'install', { image: `${IMAGE_REPOSITORY}:${VERSION}` });
  new PreviewChart(app, 'examples', examples());
  app.synth();
  if (manifestFile !== undefined)
    writeFileSync(manifestFile, GENERATED + installManifest({ version: VERSION }));
}
