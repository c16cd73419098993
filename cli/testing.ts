/**
 * Tests of your own manifests: every object of benches and sites as text, to compare with a snapshot in any
 * test runner.
 *
 *     import { renderFile } from 'app-operator/testing';
 *     test('our benches', (t) => t.assert.snapshot(renderFile('manifests')));
 */
import { DEFAULT_SETTINGS, type Settings } from '../constructs/kit/operator-settings.js';
import { ManifestError } from '../constructs/preview/manifest-error.js';
import { preview } from '../constructs/preview/preview.js';
import { render } from './commands/render/render.js';
import { optionalApisOf } from './commands/render/optional-apis.js';
import { readManifests } from './io/manifest-files.js';
import { toYaml } from './io/yaml.js';

/** How `renderFile` reads manifests and the cluster that they are for. */
export interface RenderOptions {
  /** API group of the custom resources. @default app-operator.io */
  readonly apiGroup?: string;
  /**
   * Operators that the cluster has: `keda`, `cert-manager`, `mariadb-operator` …; `[]` for none.
   * @default what the resources ask for by name
   */
  readonly serves?: readonly string[];
  /** The operator's settings that differ from the defaults. */
  readonly settings?: Partial<Settings>;
  /** Whether the folders in a folder are read too. @default false */
  readonly recursive?: boolean;
}

/**
 * Every object of the benches and sites in files or folders, as `app-operator render` prints it.
 * @throws Error listing the problems, each as `file:line: kind/name: path: message`
 */
export function renderFile(paths: string | readonly string[], options: RenderOptions = {}): string {
  const files = typeof paths === 'string' ? [paths] : paths;
  const { text, problems } = render(
    readManifests(files, options.recursive ?? false),
    previewOptions(options),
  );
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return text;
}

/**
 * Every object of the benches and sites among `objects`.
 * @throws ManifestError listing the problems, each as `kind/name: path: message`
 */
export function renderObjects(objects: readonly object[], options: RenderOptions = {}): string {
  const { objects: graph, problems } = preview(objects, previewOptions(options));
  if (problems.length > 0) throw new ManifestError(problems);
  return toYaml(graph);
}

function previewOptions({ apiGroup, serves, settings }: RenderOptions) {
  return {
    apiGroup,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    serves: serves && optionalApisOf(serves),
  };
}
