import { InstallChart, type InstallProps } from '../constructs/install/chart.js';
import { crdOf } from '../constructs/install/crd.js';
import { IMAGE_REPOSITORY } from '../constructs/install/identity.js';
import { synthesize } from '../constructs/kit/synth.js';
import { DEFINITIONS } from '../constructs/registry.js';
import { toYaml } from './yaml.js';

/** Properties of an installation; without an image it is the one of this release. */
export type ManifestProps = Omit<InstallProps, 'image'> & {
  readonly image?: string;
  readonly version: string;
};

/** The install manifest: one stream of documents, in the order in which they can be applied. */
export function installManifest({ version, image, ...props }: ManifestProps): string {
  const stages = synthesize(
    (scope, id) =>
      new InstallChart(scope, id, { ...props, image: image ?? `${IMAGE_REPOSITORY}:${version}` }),
  );
  return toYaml(stages.flatMap(({ objects }) => objects));
}

/** The CRDs of all kinds, as a stream of documents. */
export function crdManifest(apiGroup?: string): string {
  return toYaml(DEFINITIONS.map((definition) => crdOf(definition, apiGroup)));
}
