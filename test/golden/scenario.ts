import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { admit, type AdmitResult } from '../../constructs/kit/schema/admit.js';
import type { Health } from '../../constructs/kit/health.js';
import type { JobRun, ProbeResult } from '../../constructs/kit/kind.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/operator-settings.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { memoize } from '../support/memoize.js';

/** The folders of scenarios in the sources: what is compiled knows where it came from. */
export const SCENARIOS = fileURLToPath(
  new URL('../../../../test/golden/scenarios/', import.meta.url),
);
/** The files of a scenario: one `WRITTEN` by a person, the others `GENERATED` by the test. */
export const WRITTEN = 'scenario.yaml';
export const GENERATED = ['objects.yaml', 'status.yaml'];

/** The moment of every scenario. */
export const NOW = '2026-01-01T00:00:00Z';

/** The document of kind `Cluster`: settings, APIs and objects besides the resources. */
interface ClusterDocument {
  readonly kind: 'Cluster';
  /** Scenario that this one differs from: objects that are the same there are only named. */
  readonly base?: string;
  /** What the operator's administrator decided. */
  readonly settings?: Partial<Settings>;
  /** Optional APIs that the cluster serves, as `<apiVersion>/<kind>`. */
  readonly serves?: readonly string[];
  /** Further objects; ours are admitted like the resources of the scenario. */
  readonly objects?: readonly KubeObject[];
  /** Whether the resources are being deleted. */
  readonly deleting?: boolean;
  /** The earlier statuses of the resources. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** The document of kind `Observed`: what has become of the children. */
export interface Observed {
  /** `ready`: all that are not in `but`; `none`: not one is there. @default ready */
  readonly children?: 'ready' | 'none';
  /** The children with another health, by `<kind>/<name>`. */
  readonly but?: Readonly<Record<string, Health>>;
  /** What autoscalers made of workloads, by `<kind>/<name>`. */
  readonly replicas?: Readonly<
    Record<string, { readonly desired: number; readonly current: number }>
  >;
  /** What Jobs have left, as `Observation.runs`. @default that of the init Job of a bench, with a digest */
  readonly runs?: readonly JobRun[];
  /** What the HTTP checks found. @default all pass */
  readonly probes?: readonly ProbeResult[];
}

export interface Scenario {
  readonly name: string;
  /** The first line, a comment; empty if it is none. */
  readonly title: string;
  readonly base: string | undefined;
  readonly admissions: readonly AdmitResult[];
  readonly settings: Settings;
  readonly serves: readonly string[];
  readonly objects: readonly KubeObject[];
  readonly deleting: boolean;
  readonly observed: Observed;
}

export function scenarioNames(): readonly string[] {
  return readdirSync(SCENARIOS).sort();
}

export const readScenario = memoize((name: string): Scenario => {
  const documents = documentsOf(name);
  const cluster = documents.find(isCluster) ?? { kind: 'Cluster' };
  const { deleting = false, status } = cluster;
  const before = status ? { status } : {};
  return {
    name,
    title: titleOf(name),
    base: cluster.base,
    admissions: resourcesOf(documents).map((object, at) =>
      admitted({ ...object, ...before }, deleting, at),
    ),
    settings: { ...DEFAULT_SETTINGS, ...cluster.settings },
    serves: cluster.serves ?? [],
    objects: (cluster.objects ?? []).map((object, at) => clusterObject(object, at)),
    deleting,
    observed: documents.find(isObserved) ?? {},
  };
});

/** What scenarios and pages call a kind: `bench`, `site`, `siteuser` … */
export function wordOf({ singular }: KindDefinition): string {
  return singular.replace('app', '');
}

/** The spec of the scenario `<kind>-minimal`, as the user wrote it. */
export function minimalSpec(definition: KindDefinition): Readonly<Record<string, unknown>> {
  const [manifest] = resourcesOf(documentsOf(`${wordOf(definition)}-minimal`));
  if (!manifest) throw new Error('no resource');
  return (manifest as Resource).spec as Readonly<Record<string, unknown>>;
}

/** The fields that comments of the scenario `<kind>-everything` list below a line, sorted. */
export function listedFields(definition: KindDefinition, heading: string): readonly string[] {
  const [, below = ''] = read(`${wordOf(definition)}-everything`).split(`\n# ${heading}:\n`);
  const [own = ''] = below.split(/\n# [A-Z].*:\n|\n[^#]/);
  return [...own.matchAll(/^# - `(spec[^`]+)`/gm)].map(([, field = '']) => field).sort();
}

export function titleOf(name: string): string {
  return /^# (.*)/.exec(read(name))?.[1] ?? '';
}

function read(name: string): string {
  return readFileSync(`${SCENARIOS}${name}/${WRITTEN}`, 'utf8');
}

type Document = KubeObject | ClusterDocument | (Observed & { readonly kind: 'Observed' });

function documentsOf(name: string): readonly Document[] {
  return parseAllDocuments(read(name)).map((document) => document.toJS() as Document);
}

function isCluster(document: Document): document is ClusterDocument {
  return document.kind === 'Cluster';
}

function isObserved(document: Document): document is Observed & { readonly kind: 'Observed' } {
  return document.kind === 'Observed';
}

/** The resources that the scenario is about: all other documents. */
function resourcesOf(documents: readonly Document[]): readonly KubeObject[] {
  return documents.filter((one) => !isCluster(one) && !isObserved(one)) as readonly KubeObject[];
}

/** What the API server stores when a user applies a manifest in namespace `default`. */
function admitted(written: KubeObject, deleting: boolean, at: number): AdmitResult {
  const definition = DEFINITIONS.find(({ kind }) => kind === written.kind);
  if (!definition) throw new Error(`${written.kind} is none of our kinds`);
  const admission = admit(definition, written);
  const metadata = {
    namespace: 'default',
    uid: `00000000-0000-0000-0000-00000000000${at + 1}`,
    generation: 1,
    creationTimestamp: NOW,
    ...(deleting ? { deletionTimestamp: NOW } : {}),
    ...admission.object.metadata,
  };
  return { ...admission, object: { ...admission.object, metadata } };
}

function clusterObject(object: KubeObject, at: number): KubeObject {
  if (DEFINITIONS.some(({ kind }) => kind === object.kind)) {
    const { object: stored, problems } = admitted(object, false, 10 + at);
    if (problems.length > 0)
      throw new Error(`${object.metadata.name}: ${JSON.stringify(problems)}`);
    return stored;
  }
  return { ...object, metadata: { namespace: 'default', ...object.metadata } };
}
