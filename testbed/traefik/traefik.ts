import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { cacheRoot, ensureBuilt } from '../controlplane/binaries.js';
import type { Catalog } from '../controlplane/build.js';
import type { OnProgress } from '../controlplane/progress.js';
import { cacheKey, pinned, pinsIn } from '../controlplane/versions.js';
import { projectRoot } from '../project-root.js';

const MODULE = 'github.com/traefik/traefik/v3';
const FOLDER = path.join(projectRoot(), 'testbed', 'traefik', 'go');

/**
 * Traefik, a controller of Ingresses and of the Gateway API, from the cache of the control plane's binaries;
 * built there the first time, which takes six minutes of two cores. So it is built only on demand: with
 * `E2E_TRAEFIK=1` in the environment.
 * @returns the program, or why it is not to be had here
 */
export async function traefik(
  onProgress?: OnProgress,
): Promise<{ readonly program: string } | { readonly skip: string }> {
  const catalog = catalogOf();
  if (process.env['E2E_TRAEFIK'] !== '1' && !(await isBuilt(catalog))) {
    return {
      skip: 'NOT TESTED: Traefik is not built here; E2E_TRAEFIK=1 builds it, in six minutes',
    };
  }
  return { program: (await ensureBuilt(catalog, ['traefik'], { onProgress })).traefik };
}

function catalogOf(): Catalog<'traefik'> {
  const pins = pinsIn(FOLDER);
  const version = pinned(pins[0] ?? '', MODULE);
  return {
    key: cacheKey(`traefik-${version}`, pins),
    recipes: {
      traefik: {
        module: FOLDER,
        package: `${MODULE}/cmd/traefik`,
        variables: { [`${MODULE}/pkg/version.Version`]: version.slice(1) },
      },
    },
  };
}

function isBuilt({ key }: Catalog<'traefik'>): Promise<boolean> {
  return access(path.join(cacheRoot(), key, 'traefik'), constants.X_OK).then(
    () => true,
    () => false,
  );
}
