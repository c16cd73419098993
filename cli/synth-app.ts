/**
 * The app behind `npx cdk8s synth`: the install manifest, and the preview of the custom resources in
 * `examples/`, a file each. See `cdk8s.yaml`.
 *
 *     node dist/lib/cli/synth-app.js [INSTALL-MANIFEST]
 *
 * The argument names a file that gets the install manifest as it is committed.
 */
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
import { readSources } from './io/manifest-files.js';

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

/** @throws Error where the examples have problems */
function examples(): Preview {
  const { sources, problems } = readSources([EXAMPLES], true);
  const places = new Map(sources.map((source) => [source.object, source]));
  const result = preview([...places.keys()]);
  const found = result.problems.map(
    ({ object, path, message }) =>
      `${places.get(object)?.at(path) ?? ''}: ${nameOf(object)}: ${path}: ${message}`,
  );
  if (problems.length + found.length > 0) throw new Error([...problems, ...found].join('\n'));
  return result;
}

const app = new App();
new InstallChart(app, 'install', { image: `${IMAGE_REPOSITORY}:${VERSION}` });
new PreviewChart(app, 'examples', examples());
app.synth();

const [, , manifest] = process.argv;
if (manifest !== undefined) {
  writeFileSync(manifest, GENERATED + installManifest({ version: VERSION }));
}
