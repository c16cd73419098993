import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureBuilt } from '../controlplane/binaries.js';
import type { OnProgress } from '../controlplane/progress.js';
import { cacheKey, pinned, pinsIn } from '../controlplane/versions.js';
import { projectRoot } from '../project-root.js';

const MODULE = 'helm.sh/helm/v3';

/** Builds Helm into the cache of the control plane's binaries; three minutes the first time. */
export async function ensureHelm(onProgress?: OnProgress): Promise<string> {
  const folder = path.join(projectRoot(), 'testbed', 'helm', 'go');
  const pins = pinsIn(folder);
  const version = pinned(pins[0] ?? '', MODULE);
  const key = cacheKey(`helm-${version}`, pins);
  const recipe = {
    module: folder,
    package: `${MODULE}/cmd/helm`,
    variables: variables(version, pins[0] ?? ''),
  };
  const catalog = { key, recipes: { helm: recipe } };
  return (await ensureBuilt(catalog, ['helm'], { onProgress })).helm;
}

/**
 * As Helm's own build sets them: without, it takes every cluster that it does not see for a very
 * old one.
 */
function variables(version: string, goMod: string): Readonly<Record<string, string>> {
  const [, minor = ''] = pinned(goMod, 'k8s.io/client-go').split('.');
  const kubernetes = ['lint/rules', 'chartutil'].flatMap((name) => [
    [`${MODULE}/pkg/${name}.k8sVersionMajor`, '1'],
    [`${MODULE}/pkg/${name}.k8sVersionMinor`, minor],
  ]);
  return {
    [`${MODULE}/internal/version.version`]: version,
    ...(Object.fromEntries(kubernetes) as Record<string, string>),
  };
}

/** How a call of Helm ended. */
export interface HelmOutcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Helm with its files in one folder: it neither reads nor changes the files of the user. */
export class Helm {
  constructor(
    private readonly binary: string,
    private readonly options: {
      /** Folder for its caches and settings. */
      readonly home: string;
      /** @default none: for commands that need no cluster */
      readonly kubeconfig?: string;
    },
  ) {}

  /** What a call prints. @throws with Helm's words where it fails */
  async run(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.try(...args);
    if (code !== 0) throw new Error(`helm ${args[0] ?? ''} ended with ${code}: ${err}`);
    return out;
  }

  /** As `run`, where a failure is an answer too. */
  async try(...args: readonly string[]): Promise<HelmOutcome> {
    const { home, kubeconfig = '/dev/null' } = this.options;
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      HELM_CACHE_HOME: path.join(home, 'cache'),
      HELM_CONFIG_HOME: path.join(home, 'config'),
      HELM_DATA_HOME: path.join(home, 'data'),
      KUBECONFIG: kubeconfig,
    };
    const options = { env, maxBuffer: 64 * 1024 * 1024 };
    try {
      const { stdout, stderr } = await promisify(execFile)(this.binary, [...args], options);
      return { code: 0, out: stdout, err: stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as Error & {
        readonly code?: unknown;
        readonly stdout?: string;
        readonly stderr?: string;
      };
      if (typeof code !== 'number') throw error;
      return { code, out: stdout ?? '', err: stderr ?? '' };
    }
  }
}
