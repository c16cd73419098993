import path from 'node:path';
import { type Binaries, ensureOnDemand } from '../controlplane/binaries.js';
import type { Catalog } from '../controlplane/build.js';
import type { OnProgress } from '../controlplane/progress.js';
import { cacheKey, pinned, pinsIn } from '../controlplane/versions.js';
import { projectRoot } from '../project-root.js';

const MODULE = 'github.com/traefik/traefik/v3';
const FOLDER = path.join(projectRoot(), 'testbed', 'traefik', 'go');

/** Traefik, a controller of Ingresses and of the Gateway API, or why it is not to be had here. */
export function traefik(
  onProgress?: OnProgress,
): Promise<{ readonly programs: Binaries<'traefik'> } | { readonly skip: string }> {
  const onDemand = { what: 'Traefik', variable: 'E2E_TRAEFIK', minutes: 'six' };
  return ensureOnDemand(catalogOf(), onDemand, onProgress);
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
