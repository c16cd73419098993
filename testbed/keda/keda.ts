import path from 'node:path';
import { type Binaries, ensureOnDemand } from '../controlplane/binaries.js';
import type { Catalog } from '../controlplane/build.js';
import type { OnProgress } from '../controlplane/progress.js';
import { cacheKey, pinned, pinsIn } from '../controlplane/versions.js';
import { projectRoot } from '../project-root.js';

const MODULE = 'github.com/kedacore/keda/v2';
const FOLDER = path.join(projectRoot(), 'testbed', 'keda', 'go');

/** KEDA's programs: the operator, and the server of external metrics. */
export const KEDA_PROGRAMS = ['operator', 'adapter'] as const;
export type KedaProgram = (typeof KEDA_PROGRAMS)[number];

/** KEDA's programs, or why they are not to be had here. */
export function keda(
  onProgress?: OnProgress,
): Promise<{ readonly programs: Binaries<KedaProgram> } | { readonly skip: string }> {
  const onDemand = { what: 'KEDA', variable: 'E2E_KEDA', minutes: 'ten' };
  return ensureOnDemand(kedaCatalog(), onDemand, onProgress);
}

function kedaCatalog(): Catalog<KedaProgram> {
  const pins = pinsIn(FOLDER);
  const version = pinned(pins[0] ?? '', MODULE);
  const recipe = (program: KedaProgram) => ({
    module: FOLDER,
    package: `${MODULE}/cmd/${program}`,
    variables: { [`${MODULE}/version.Version`]: version.slice(1) },
  });
  return {
    key: cacheKey(`keda-${version}`, pins),
    recipes: { operator: recipe('operator'), adapter: recipe('adapter') },
  };
}
