import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { type Binaries, cacheRoot, ensureBuilt } from '../controlplane/binaries.js';
import type { Catalog } from '../controlplane/build.js';
import type { OnProgress } from '../controlplane/progress.js';
import { cacheKey, pinned, pinsIn } from '../controlplane/versions.js';
import { projectRoot } from '../project-root.js';

const MODULE = 'github.com/kedacore/keda/v2';
const FOLDER = path.join(projectRoot(), 'testbed', 'keda', 'go');

/** KEDA's programs: the operator, and the server of external metrics. */
export const KEDA_PROGRAMS = ['operator', 'adapter'] as const;
export type KedaProgram = (typeof KEDA_PROGRAMS)[number];

/**
 * KEDA's programs from the cache of the control plane's binaries; built there the first time, which
 * takes ten minutes of two cores. So they are built only on demand: with `E2E_KEDA=1` in the
 * environment.
 * @returns the programs, or why they are not to be had here
 */
export async function keda(
  onProgress?: OnProgress,
): Promise<{ readonly programs: Binaries<KedaProgram> } | { readonly skip: string }> {
  const catalog = kedaCatalog();
  if (process.env['E2E_KEDA'] !== '1' && !(await isBuilt(catalog))) {
    return { skip: 'NOT TESTED: KEDA is not built here; E2E_KEDA=1 builds it, in ten minutes' };
  }
  return { programs: await ensureBuilt(catalog, KEDA_PROGRAMS, { onProgress }) };
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

async function isBuilt({ key }: Catalog<KedaProgram>): Promise<boolean> {
  const files = KEDA_PROGRAMS.map((program) => path.join(cacheRoot(), key, program));
  return Promise.all(files.map((file) => access(file, constants.X_OK))).then(
    () => true,
    () => false,
  );
}
