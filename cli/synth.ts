/** The app of `npx cdk8s synth`: the install manifest, and a preview of the user's custom resources. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { ApiObject, type ApiObjectProps, App, Chart } from 'cdk8s';
import { parse } from 'yaml';
import { InstallChart } from '../constructs/install/chart.js';
import { IMAGE_REPOSITORY } from '../constructs/project.js';
import { messageOf } from '../constructs/kit/errors.js';
import { isObject } from '../constructs/kit/json/is-object.js';
import type { KubeObject, Resource } from '../constructs/kit/object.js';
import type { PreviewedResource } from '../constructs/preview/preview.js';
import { DEFINITIONS } from '../constructs/registry.js';
import { VERSION } from '../runner/kit/version.js';
import { CliError } from './arguments/errors.js';
import { GENERATED, installManifest } from './commands/install/manifest.js';
import { optionalApisOf } from './commands/render/optional-apis.js';
import { render } from './commands/render/render.js';
import { readManifests } from './io/manifest-files.js';
import type { IOStreams } from './io/streams.js';

/** The file of cdk8s: our settings are under a key that it ignores. */
const CONFIG = 'cdk8s.yaml';
const KEY = 'appOperator';
const MANIFESTS = 'APP_OPERATOR_MANIFESTS';
const SERVES = 'APP_OPERATOR_SERVES';
const DEFAULT_MANIFESTS = 'examples';

interface Settings {
  /** Files and folders with custom resources. */
  readonly manifests: readonly string[];
  /** The optional APIs of the cluster; by default what the manifests name. */
  readonly serves: readonly string[] | undefined;
}

/**
 * Writes the charts to the folder that cdk8s names: the installation, and one for each bench and site.
 * @param manifestFile receives the install manifest as it is committed
 * @throws CliError listing the problems of the manifests
 */
export function synth(
  { env, notify }: Pick<IOStreams, 'env' | 'notify'>,
  manifestFile?: string,
): void {
  const { manifests, serves } = settingsFrom(env);
  const { resources, problems, notes } = render(readManifests(manifests, true), { serves });
  for (const note of notes) notify(note);
  if (problems.length > 0) throw new CliError(problems.join('\n'));
  const app = new App();
  new InstallChart(app, 'install', { image: `${IMAGE_REPOSITORY}:${VERSION}` });
  for (const [id, objects] of Map.groupBy(resources, chartOf))
    addChart(
      app,
      id,
      objects.flatMap((one) => one.objects),
    );
  app.synth();
  if (manifestFile !== undefined)
    writeFileSync(manifestFile, GENERATED + installManifest({ version: VERSION }));
}

function addChart(app: App, id: string, objects: readonly KubeObject[]): void {
  if (objects.length === 0) return;
  const chart = new Chart(app, id, { disableResourceNameHashes: true });
  for (const object of objects) {
    const { name } = object.metadata;
    new ApiObject(chart, `${object.kind}-${name}`, object as unknown as ApiObjectProps);
  }
}

/** A bench or site has a chart; backups, jobs and documents are in the chart of their site. */
function chartOf({ resource }: PreviewedResource): string {
  const { kind, metadata, spec } = resource as Resource<{ siteRef?: { readonly name: string } }>;
  const { namespace = 'default', name } = metadata;
  const own = DEFINITIONS.find((definition) => definition.kind === kind)?.singular ?? kind;
  const id = spec.siteRef ? `appsite-${spec.siteRef.name}` : `${own}-${name}`;
  return namespace === 'default' ? id : `${namespace}-${id}`;
}

/** The environment overrides the file. @throws CliError */
function settingsFrom(env: IOStreams['env']): Settings {
  const file = existsSync(CONFIG) ? (parse(readFileSync(CONFIG, 'utf8')) as unknown) : undefined;
  const ours = isObject(file) && isObject(file[KEY]) ? file[KEY] : {};
  const manifests = listOf(env[MANIFESTS]) ?? textsOf(ours['manifests'], 'manifests') ?? [];
  return {
    manifests: manifests.length > 0 ? manifests : defaultManifests(),
    serves: servedApis(listOf(env[SERVES]) ?? textsOf(ours['serves'], 'serves')),
  };
}

/** @throws CliError for an unknown integration */
function servedApis(names: readonly string[] | undefined): readonly string[] | undefined {
  try {
    return names && optionalApisOf(names);
  } catch (error) {
    throw new CliError(messageOf(error));
  }
}

function defaultManifests(): readonly string[] {
  if (existsSync(DEFAULT_MANIFESTS)) return [DEFAULT_MANIFESTS];
  throw new CliError(
    `nothing to preview: no folder ${DEFAULT_MANIFESTS}/; name yours as ${KEY}.manifests in ${CONFIG}, or in ${MANIFESTS}`,
  );
}

function listOf(text: string | undefined): readonly string[] | undefined {
  const entries = text
    ?.split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
  return entries && entries.length > 0 ? entries : undefined;
}

function textsOf(value: unknown, field: string): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const entries: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (entries.every((entry) => typeof entry === 'string')) return entries;
  throw new CliError(
    `${CONFIG}: ${KEY}.${field}: got ${JSON.stringify(value)}, allowed: a text or a list of texts`,
  );
}
